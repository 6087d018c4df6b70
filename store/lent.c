/* See lent.h: both ends of the socket. */
#include "store/lent.h"

#include "base/hash.h"
#include "base/host.h"
#include "base/memory.h"
#include "store/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum what { WHAT_GET = 1, WHAT_CHECK, WHAT_PUT, WHAT_READ };

struct message { /* both ways */
    uint32_t what;
    char digest[STORE_DIGEST_SIZE];
    struct error error; /* of an answer; its code ERROR_OK: done */
};

/* ---- messages with at most one descriptor ---- */

static bool send_message(int socket, const struct message *message, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec data = {(void *)(uintptr_t)message, sizeof *message};
    struct msghdr head = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        head.msg_control = control.bytes;
        head.msg_controllen = sizeof control.bytes;
        control.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    }
    ssize_t n;
    int tries = 0;
    do
        n = sendmsg(socket, &head, MSG_NOSIGNAL);
    while (n < 0 && (errno == EINTR || host_pause(errno, &tries)));
    return n == (ssize_t)sizeof *message;
}

/* *fd: the descriptor that came with it (owned), or -1 */
static bool receive_message(int socket, struct message *message, int *fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {message, sizeof *message};
    struct msghdr head = {.msg_iov = &data,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof control.bytes};
    ssize_t n;
    *fd = -1;
    do
        n = recvmsg(socket, &head, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *first = n >= 0 ? CMSG_FIRSTHDR(&head) : NULL;
    if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS &&
        first->cmsg_len == CMSG_LEN(sizeof *fd))
        memcpy(fd, CMSG_DATA(first), sizeof *fd);
    if (n == (ssize_t)sizeof *message && !(head.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
        message->digest[sizeof message->digest - 1] = 0;
        message->error.pointer[sizeof message->error.pointer - 1] = 0;
        message->error.message[sizeof message->error.message - 1] = 0;
        return true;
    }
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return false;
}

static enum error_code map_whole(int fd, struct store_view *out, struct error *e)
{
    struct stat st;
    *out = (struct store_view){.bytes = ""};
    if (fstat(fd, &st) != 0)
        return error_set(e, ERROR_IO, "a blob cannot be read: %s", strerror(errno));
    if (st.st_size == 0)
        return ERROR_OK;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return error_set(e, ERROR_HOST, "there is no memory to map a blob of %lld bytes",
                         (long long)st.st_size);
    *out = (struct store_view){map, (size_t)st.st_size, map};
    return ERROR_OK;
}

/* a file in memory with these bytes that nobody can change any more; -1 */
static int sealed_file(const void *bytes, size_t size)
{
    int fd = memfd_create("toast-blob", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const char *at = bytes;
    for (size_t left = size; fd >= 0 && left;) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            close(fd);
            return -1;
        }
        at += n;
        left -= (size_t)n;
    }
    if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- who borrows ---- */

struct lent {
    struct store base;
    int socket;
};

static void lent_destroy(struct store *store)
{
    free(store);
}

static enum error_code ask(struct store *store, struct message *message, int fd, int *got, struct error *e)
{
    int socket = ((struct lent *)store)->socket, none;
    int *answer = got ? got : &none;
    *answer = -1;
    if (!send_message(socket, message, fd) || !receive_message(socket, message, answer))
        return error_set(e, ERROR_UNAVAILABLE, "the process that lends blobs is gone");
    if (message->error.code != ERROR_OK && e)
        *e = message->error;
    if (!got && none >= 0)
        close(none);
    return message->error.code;
}

/* Is what failed the host's doing and perhaps over in a moment? Of a task's dozens of blobs each that is
 * tried again by itself spares the whole task. *tries begins as 0. */
static bool again(enum error_code code, int *tries)
{
    enum { PAUSE_NS = 20000000, TRIES_MAX = 4 };
    if (!error_code_is_host(code) || ++*tries >= TRIES_MAX)
        return false;
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return true;
}

static enum error_code put_once(struct store *store, const void *bytes, size_t size,
                                char digest[STORE_DIGEST_SIZE], struct error *e)
{
    struct message message = {.what = WHAT_PUT};
    int fd = sealed_file(bytes, size);
    if (fd < 0)
        return error_set(e, ERROR_HOST, "no memory for a blob of %zu bytes: %s", size, strerror(errno));
    enum error_code code = ask(store, &message, fd, NULL, e);
    close(fd);
    memcpy(digest, message.digest, STORE_DIGEST_SIZE);
    return code;
}

static enum error_code lent_put(struct store *store, const void *bytes, size_t size,
                                char digest[STORE_DIGEST_SIZE], struct error *e)
{
    enum error_code code;
    int tries = 0;
    do
        code = put_once(store, bytes, size, digest, e);
    while (again(code, &tries));
    return code;
}

static enum error_code get_once(struct store *store, const char *digest, struct store_view *out,
                                struct error *e)
{
    struct message message = {.what = WHAT_GET};
    int fd;
    memcpy(message.digest, digest, STORE_DIGEST_SIZE);
    enum error_code code = ask(store, &message, -1, &fd, e);
    if (code != ERROR_OK)
        return code;
    code = map_whole(fd, out, e);
    close(fd);
    return code;
}

static enum error_code lent_get(struct store *store, const char *digest, struct store_view *out,
                                struct error *e)
{
    struct message message = {.what = WHAT_CHECK};
    uint8_t raw[32];
    char found[STORE_DIGEST_SIZE];
    enum error_code code;
    int tries = 0;
    do
        code = get_once(store, digest, out, e);
    while (again(code, &tries));
    if (code != ERROR_OK)
        return code;
    sha256_bytes(out->bytes, out->size, raw);
    sha256_format(raw, found);
    if (strcmp(found, digest) == 0)
        return ERROR_OK;
    store_view_release(out); /* who lends looks itself, and moves a damaged one aside */
    memcpy(message.digest, digest, STORE_DIGEST_SIZE);
    code = ask(store, &message, -1, NULL, e);
    return code != ERROR_OK ? code : error_set(e, ERROR_IO, "the blob sha256:%s is damaged", digest);
}

enum error_code store_lent_read(struct store *store, const char *digest, int *image, struct error *e)
{
    struct message message = {.what = WHAT_READ};
    *image = -1;
    if (!store_digest_valid(digest))
        return error_set(e, ERROR_NOT_FOUND, "not a blob's digest (64 lower-case hex digits)");
    memcpy(message.digest, digest, STORE_DIGEST_SIZE);
    enum error_code code = ask(store, &message, -1, image, e);
    return code == ERROR_OK && *image < 0 ? error_set(e, ERROR_INTERNAL, "no image came") : code;
}

void store_lent_create(int socket, struct store **out)
{
    static const struct store_calls calls = {lent_destroy, lent_put, lent_get, NULL, NULL, NULL, NULL};
    struct lent *lent = mem_zalloc(1, sizeof *lent);
    lent->base.calls = &calls;
    lent->socket = socket;
    *out = &lent->base;
}

/* ---- who lends ---- */

static enum error_code give(const struct store_lender *lender, const char *digest, int *fd, struct error *e)
{
    struct store_view view;
    size_t size;
    if (lender->store->calls->open)
        return store_open(lender->store, digest, fd, &size, e);
    enum error_code code = store_get(lender->store, digest, &view, e);
    if (code != ERROR_OK)
        return code;
    *fd = sealed_file(view.bytes, view.size);
    store_view_release(&view);
    return *fd >= 0 ? ERROR_OK : error_set(e, ERROR_HOST, "no memory for a blob: %s", strerror(errno));
}

static enum error_code take(const struct store_lender *lender, int fd, char digest[STORE_DIGEST_SIZE],
                            struct error *e)
{
    struct store_view view;
    int seals = fd >= 0 ? fcntl(fd, F_GET_SEALS) : -1, needed = F_SEAL_SHRINK | F_SEAL_WRITE;
    if (seals < 0 || (seals & needed) != needed)
        return error_set(e, ERROR_INTERNAL, "a blob came in a file that could change");
    enum error_code code = map_whole(fd, &view, e);
    if (code != ERROR_OK)
        return code;
    code = lender->put_bytes && view.size > lender->put_bytes
               ? error_set(e, ERROR_INTERNAL, "a blob of %zu bytes is too large", view.size)
               : store_put(lender->store, view.bytes, view.size, digest, e);
    store_view_release(&view);
    return code;
}

static enum error_code read_text(const struct store_lender *lender, const char *digest, int *image,
                                 struct error *e)
{
    struct store_view text;
    enum error_code code = store_get(lender->store, digest, &text, e);
    if (code != ERROR_OK)
        return code;
    code = lender->read(lender->user, digest, text.bytes, text.size, image, e);
    store_view_release(&text);
    return code;
}

enum error_code store_lend_answer(const struct store_lender *lender, int socket, struct error *e)
{
    struct message question, answer = {0};
    struct store_view view = {0};
    int came, goes = -1;
    if (!receive_message(socket, &question, &came))
        return error_set(e, ERROR_UNAVAILABLE, "the other process is gone or sends no message");
    struct error *why = &answer.error;
    enum error_code code = ERROR_OK;
    if (question.what != WHAT_PUT &&
        (!store_digest_valid(question.digest) || !lender->lent(lender->user, question.digest)))
        code = error_set(why, ERROR_INTERNAL, "a blob was asked for that is not of this task");
    else if (question.what == WHAT_GET)
        code = give(lender, question.digest, &goes, why);
    else if (question.what == WHAT_CHECK)
        code = store_get(lender->store, question.digest, &view, why);
    else if (question.what == WHAT_PUT)
        code = take(lender, came, answer.digest, why);
    else if (question.what == WHAT_READ)
        code = read_text(lender, question.digest, &goes, why);
    else
        code = error_set(why, ERROR_INTERNAL, "there is no such message");
    answer.what = question.what;
    answer.error.code = code;
    store_view_release(&view);
    if (came >= 0)
        close(came);
    bool sent = send_message(socket, &answer, goes);
    if (goes >= 0)
        close(goes);
    return sent ? ERROR_OK : error_set(e, ERROR_UNAVAILABLE, "the other process is gone");
}

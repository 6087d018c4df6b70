/* label: unit */
/* links: store */
/* A lent store: the borrower gets and puts blobs by descriptor; what was not lent, or could change under the
 * lender, is refused. The lender answers in a thread. */
#include "support.h"

#include "base/memory.h"
#include "store/backend.h"
#include "store/lent.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct fixture {
    char folder[64];
    struct store *files, *lent;
    struct store_lender lender;
    int sockets[2];
    char allowed[STORE_DIGEST_SIZE];
    pthread_t thread;
};

static bool is_lent(void *user, const char *digest)
{
    return strcmp(((struct fixture *)user)->allowed, digest) == 0;
}

static enum error_code read_text(void *user, const char *digest, const void *text, size_t size, int *image,
                                 struct error *e)
{
    (void)user;
    (void)digest;
    *image = memfd_create("image", 0);
    return *image >= 0 && write(*image, text, size) == (ssize_t)size
               ? ERROR_OK
               : error_set(e, ERROR_INTERNAL, "no memory");
}

static void *answer(void *user)
{
    struct fixture *fixture = user;
    struct error e;
    while (store_lend_answer(&fixture->lender, fixture->sockets[0], &e) == ERROR_OK)
        ;
    close(fixture->sockets[0]);
    return NULL;
}

static int setup(void **state)
{
    struct fixture *fixture = mem_zalloc(1, sizeof *fixture);
    struct error e;
    char address[80];
    snprintf(fixture->folder, sizeof fixture->folder, "/tmp/toast-lent-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(address, sizeof address, "dir:%s", fixture->folder);
    ASSERT_OK(store_create(address, NULL, &fixture->files, &e), &e);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fixture->sockets), 0);
    fixture->lender = (struct store_lender){
        .store = fixture->files, .lent = is_lent, .read = read_text, .user = fixture, .put_bytes = 1000};
    store_lent_create(fixture->sockets[1], &fixture->lent);
    assert_int_equal(pthread_create(&fixture->thread, NULL, answer, fixture), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    close(fixture->sockets[1]);
    pthread_join(fixture->thread, NULL);
    store_destroy(fixture->lent);
    store_destroy(fixture->files);
    char *command = mem_printf("rm -rf %s", fixture->folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(fixture);
    return 0;
}

static void test_put_and_get(void **state)
{
    struct fixture *fixture = *state;
    char digest[STORE_DIGEST_SIZE];
    struct store_view view;
    struct error e;
    int image;
    ASSERT_OK(store_put(fixture->lent, "hello", 5, digest, &e), &e);
    assert_int_equal(store_get(fixture->lent, digest, &view, &e), ERROR_INTERNAL); /* not lent */
    assert_int_equal(store_lent_read(fixture->lent, digest, &image, &e), ERROR_INTERNAL);
    memcpy(fixture->allowed, digest, sizeof digest);
    ASSERT_OK(store_get(fixture->lent, digest, &view, &e), &e);
    assert_int_equal(view.size, 5);
    assert_memory_equal(view.bytes, "hello", 5);
    store_view_release(&view);
    ASSERT_OK(store_lent_read(fixture->lent, digest, &image, &e), &e);
    close(image);
    char large[2000] = {0};
    assert_int_equal(store_put(fixture->lent, large, sizeof large, digest, &e), ERROR_INTERNAL);
    memset(fixture->allowed, 'a', STORE_DIGEST_SIZE - 1);
    assert_int_equal(store_get(fixture->lent, fixture->allowed, &view, &e), ERROR_NOT_FOUND);
}

/* damaged on disk: who lends moves it aside, so that it can be written again */
static void test_damaged(void **state)
{
    struct fixture *fixture = *state;
    struct store_view view;
    struct error e;
    ASSERT_OK(store_put(fixture->lent, "hello", 5, fixture->allowed, &e), &e);
    char *path = mem_printf("%s/blobs/%.2s/%.2s/%s", fixture->folder, fixture->allowed, fixture->allowed + 2,
                            fixture->allowed);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "jello", 5), 5);
    close(fd);
    assert_int_equal(store_get(fixture->lent, fixture->allowed, &view, &e), ERROR_IO);
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
}

/* what is no message ends the lending, and nothing else */
static void test_no_message(void **state)
{
    struct fixture *fixture = *state;
    struct store_view view;
    struct error e;
    assert_int_equal(send(fixture->sockets[1], "x", 1, 0), 1);
    memset(fixture->allowed, 'a', STORE_DIGEST_SIZE - 1);
    assert_int_equal(store_get(fixture->lent, fixture->allowed, &view, &e), ERROR_UNAVAILABLE);
}

/* ---- a store whose disk is full for some calls ---- */

struct full {
    struct store base;
    struct store *files;
    int fails; /* how many more calls do */
};

static enum error_code full_put(struct store *store, const void *bytes, size_t size,
                                char digest[STORE_DIGEST_SIZE], struct error *e)
{
    struct full *full = (struct full *)store;
    return full->fails-- > 0 ? error_set(e, ERROR_NO_SPACE, "full")
                             : store_put(full->files, bytes, size, digest, e);
}

static enum error_code full_open(struct store *store, const char *digest, int *fd, size_t *size,
                                 struct error *e)
{
    struct full *full = (struct full *)store;
    return full->fails-- > 0 ? error_set(e, ERROR_HOST, "no descriptor")
                             : store_open(full->files, digest, fd, size, e);
}

/* what the host refuses is asked for again three times, and then said */
static void test_host_fails(void **state)
{
    struct fixture *fixture = *state;
    static const struct store_calls calls = {.put = full_put, .open = full_open};
    struct full full = {{&calls}, fixture->files, 3};
    char none[STORE_DIGEST_SIZE];
    struct store_view view;
    struct error e;
    fixture->lender.store = &full.base;
    ASSERT_OK(store_put(fixture->lent, "hello", 5, fixture->allowed, &e), &e);
    full.fails = 3;
    ASSERT_OK(store_get(fixture->lent, fixture->allowed, &view, &e), &e);
    assert_memory_equal(view.bytes, "hello", 5);
    store_view_release(&view);
    full.fails = 4;
    assert_int_equal(store_put(fixture->lent, "hello", 5, none, &e), ERROR_NO_SPACE);
    assert_int_equal(full.fails, 0);
    full.fails = 4;
    assert_int_equal(store_get(fixture->lent, fixture->allowed, &view, &e), ERROR_HOST);
    assert_int_equal(full.fails, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_and_get, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_message, setup, teardown),
        cmocka_unit_test_setup_teardown(test_host_fails, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* See raw.h. The library receives with recv(2), and a shared library's call of a public function goes to the
 * program's own definition where there is one (as in refusal.c): that definition is here. It follows the
 * frame of each request by a state a connection:
 *
 *   START -> HEAD -> BYTES (Content-Length) -> START
 *                \-> SIZE -> DATA -> AFTER -> SIZE .. -> TRAILER -> START      (chunked)
 *   UNKNOWN      what the library refuses itself (a length or chunk size that is no number): not looked at
 *
 * It may be simpler than a reader of HTTP, because request.c refuses whatever two readers could frame
 * differently, and the connection ends there. Bytes up to the offending one go to the library, so that
 * earlier requests are answered; the next recv finds the connection bad, answers 400 and says that it is
 * broken. */
#include "server/http/raw.h"

#include "base/memory.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef ssize_t receive_function(int, void *, size_t, int);

enum state { START, HEAD, BYTES, SIZE, DATA, AFTER, TRAILER, UNKNOWN };
enum {
    DESCRIPTORS = 1 << 16, /* above the descriptors that 4096 connections and all else take */
    NAME_ROOM = 48,        /* of a line: a name that matters and a number */
    SIZE_DIGITS = 15       /* of a chunk: below 2^60 */
};

struct raw {
    struct MHD_Connection *connection;
    enum state state;
    bool bad, chunked;
    bool cr;              /* the byte before was a carriage return */
    bool extension;       /* SIZE: behind the number */
    int digits;           /* SIZE: of the number */
    uint64_t left;        /* of the body, of the chunk */
    size_t line;          /* bytes of the present line */
    char text[NAME_ROOM]; /* the first of them, in lower case */
};

static _Atomic(struct raw *) connections[DESCRIPTORS];
static void (*answer)(struct MHD_Connection *connection, const struct error *e);

void raw_install(void (*refuse)(struct MHD_Connection *connection, const struct error *e))
{
    answer = refuse;
}

void raw_begin(int fd, struct MHD_Connection *connection)
{
    struct raw *raw = mem_zalloc(1, sizeof *raw);
    raw->connection = connection;
    BASE_CHECK(fd >= 0 && fd < DESCRIPTORS);
    free(atomic_exchange(&connections[fd], raw));
}

void raw_end(int fd)
{
    free(atomic_exchange(&connections[fd], NULL));
}

/* ---- the states ---- */

/* a header's line is whole */
static void see_header(struct raw *raw)
{
    static const char coding[] = "transfer-encoding:", length[] = "content-length:";
    raw->text[raw->line < NAME_ROOM ? raw->line : NAME_ROOM - 1] = 0;
    if (strncmp(raw->text, coding, sizeof coding - 1) == 0)
        raw->chunked = true;
    if (strncmp(raw->text, length, sizeof length - 1) == 0)
        raw->left = strtoull(raw->text + sizeof length - 1, NULL, 10);
}

static void next_request(struct raw *raw)
{
    *raw = (struct raw){.connection = raw->connection};
}

static void head_ends(struct raw *raw)
{
    raw->line = 0;
    if (raw->chunked) {
        raw->state = SIZE;
        raw->left = 0;
    } else if (raw->left) {
        raw->state = BYTES;
    } else {
        next_request(raw);
    }
}

/* A byte of a line of the head or of a trailer. false: it does not belong there. */
static bool see_line(struct raw *raw, char byte, bool strict)
{
    if (byte == 0 || (raw->cr && byte != '\n') || (strict && byte == '\n' && !raw->cr))
        return false;
    raw->cr = byte == '\r';
    if (raw->cr)
        return true;
    if (byte != '\n') {
        if (raw->line < NAME_ROOM - 1)
            raw->text[raw->line] = (char)tolower((unsigned char)byte);
        raw->line++;
        return true;
    }
    if (raw->line && !strict)
        see_header(raw);
    else if (!raw->line && strict)
        next_request(raw);
    else if (!raw->line)
        head_ends(raw);
    raw->line = 0;
    return true;
}

/* a byte of a chunk's first line */
static bool see_size(struct raw *raw, char byte)
{
    if (byte == 0 || (raw->cr && byte != '\n') || (byte == '\n' && !raw->cr))
        return false;
    raw->cr = byte == '\r';
    if (byte == '\n') {
        raw->state = raw->left ? DATA : TRAILER;
        raw->extension = false;
        raw->digits = 0;
    } else if (!raw->cr && !raw->extension) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, tolower((unsigned char)byte));
        raw->extension = byte == ';' || byte == ' ' || byte == '\t';
        if (!raw->extension && (!at || ++raw->digits > SIZE_DIGITS))
            raw->state = UNKNOWN;
        else if (at)
            raw->left = raw->left * 16 + (uint64_t)(at - digits);
    }
    return true;
}

/* the two bytes behind a chunk */
static bool see_after(struct raw *raw, char byte)
{
    if (byte == '\n' && !raw->cr)
        return false;
    if (byte == '\n')
        raw->state = SIZE;
    else if (byte != '\r' || raw->cr)
        raw->state = UNKNOWN;
    raw->cr = byte == '\r';
    return true;
}

/* Looks at size bytes. -> how many of them are good; fewer: the next one is not. */
static size_t look(struct raw *raw, const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size) {
        bool good = true;
        if (raw->state == UNKNOWN)
            return size;
        if (raw->state == BYTES || raw->state == DATA) {
            uint64_t some = size - at < raw->left ? size - at : raw->left;
            raw->left -= some;
            at += (size_t)some;
            if (!raw->left && raw->state == DATA)
                raw->state = AFTER;
            else if (!raw->left)
                next_request(raw);
            continue;
        }
        char byte = bytes[at];
        if (raw->state == START && byte != '\r' && byte != '\n')
            raw->state = HEAD;
        if (raw->state == HEAD || raw->state == TRAILER)
            good = see_line(raw, byte, raw->state == TRAILER);
        else if (raw->state == SIZE)
            good = see_size(raw, byte);
        else if (raw->state == AFTER)
            good = see_after(raw, byte);
        if (!good)
            return at;
        at++;
    }
    return at;
}

/* ---- recv(2) ---- */

ssize_t raw_receive(int fd, void *buffer, size_t room, int flags)
{
    static _Atomic(receive_function *) library;
    receive_function *receive = atomic_load(&library);
    if (!receive) {
        *(void **)&receive = dlsym(RTLD_NEXT, "recv");
        BASE_CHECK(receive);
        atomic_store(&library, receive);
    }
    return receive(fd, buffer, room, flags);
}

static ssize_t refuse(struct raw *raw)
{
    struct error e;
    error_set(
        &e, ERROR_MALFORMED,
        "a header has a NUL in it, a line ends in a carriage return alone, or a line of the chunked body "
        "in a line feed alone");
    answer(raw->connection, &e);
    errno = ECONNRESET;
    return -1;
}

/* In place of the C library's, for all of the program; connections of the HTTP library are looked at. */
ssize_t recv(int fd, void *buffer, size_t room, int flags)
{
    ssize_t count = raw_receive(fd, buffer, room, flags);
    struct raw *raw =
        fd >= 0 && fd < DESCRIPTORS && !(flags & MSG_PEEK) ? atomic_load(&connections[fd]) : NULL;
    if (!raw || (count < 0 && !raw->bad))
        return count;
    if (raw->bad)
        return refuse(raw);
    size_t good = look(raw, buffer, (size_t)count);
    if (good == (size_t)count)
        return count;
    raw->bad = true;
    if (good == 0)
        return refuse(raw);
    shutdown(fd, SHUT_RD); /* so that the library comes back for what is not there */
    return (ssize_t)good;
}

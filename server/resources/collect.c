/* Collection of blobs: mark what Redis (and the archive in the store) refers to, sweep the rest.
 *
 * Mark and sweep and not reference counts: counts would live in Redis beside references that live in Redis
 * and files that do not, and a crash between two of the three leaves a count wrong for ever. The truth is
 * looked at anew each time, so a crash costs nothing but the look. What makes it safe beside live traffic: 1
 * whoever refers to a blob has written it or set its time just before (store/sweep.c); a blob younger than
 * the look's beginning less the grace period stays; 2 what was referred to when the look began is found by
 * the walk, or was moved by a script that noted it (queue/library_blobs.lua); 3 the note is read last, by
 * whoever still holds the lock; else nothing is removed. A jump of the clock makes ages wrong: then nothing
 * is removed for a grace period. */
#include "server/resources/resources.h"

#include "base/encode.h"
#include "base/log.h"
#include "queue/collect.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    EVERY_MS = 1000, /* how often Redis is asked whether a collection is due */
    JUMP_S = 30,     /* of the wall clock; NTP slews less, and files' ages are counted in minutes */
    NICE = 10        /* requests go first */
};

struct mark {
    unsigned char digest[32];
};

struct collection {
    struct server *server;
    VEC(struct mark) marks; /* sorted after the look */
    VEC(struct mark) archives;
};

static bool parse_mark(const char *hex, struct mark *out)
{
    return encode_from_hex(hex, out->digest, sizeof out->digest);
}

static int compare_marks(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct mark));
}

static void add_mark(void *user, const char *digest, bool archive)
{
    struct collection *collection = user;
    struct mark mark;
    if (!parse_mark(digest, &mark))
        return;
    VEC_PUSH(&collection->marks, mark);
    if (archive)
        VEC_PUSH(&collection->archives, mark);
}

/* every run of exactly 64 hex digits */
static void mark_text(struct collection *collection, const char *text, size_t size)
{
    char digest[STORE_DIGEST_SIZE];
    for (size_t i = 0; i < size;) {
        size_t n = 0;
        while (i + n < size &&
               ((text[i + n] >= '0' && text[i + n] <= '9') || (text[i + n] >= 'a' && text[i + n] <= 'f')))
            n++;
        if (n == STORE_DIGEST_SIZE - 1) {
            memcpy(digest, text + i, n);
            digest[n] = 0;
            add_mark(collection, digest, false);
        }
        i += n + 1;
    }
}

static enum error_code mark_archives(struct collection *collection, struct error *e)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < collection->archives.count; i++) {
        char digest[STORE_DIGEST_SIZE] = "";
        struct store_view view;
        for (int k = 0; k < 32; k++) {
            digest[2 * k] = hex[collection->archives.at[i].digest[k] >> 4];
            digest[2 * k + 1] = hex[collection->archives.at[i].digest[k] & 15];
        }
        enum error_code code = store_get(collection->server->store, digest, &view, e);
        if (code == ERROR_NOT_FOUND)
            /* deleted or started again since the walk; its references are in `moved` then */
            continue;
        if (code != ERROR_OK)
            return code;
        mark_text(collection, view.bytes, view.size);
        store_view_release(&view);
    }
    return ERROR_OK;
}

static enum error_code look(struct collection *collection, struct queue *queue, const char *token,
                            struct error *e)
{
    unsigned long long cursor = 0;
    enum error_code code;
    do
        code = queue_collect_walk(queue, token, &cursor, add_mark, collection, e);
    while (code == ERROR_OK && cursor && !atomic_load(&collection->server->stopped));
    if (code == ERROR_OK)
        code = mark_archives(collection, e);
    if (code == ERROR_OK)
        code = queue_collect_moved(queue, token, add_mark, collection, e);
    if (collection->marks.count)
        qsort(collection->marks.at, collection->marks.count, sizeof *collection->marks.at, compare_marks);
    return code;
}

static bool wanted(void *user, const char *digest)
{
    struct collection *collection = user;
    struct mark mark;
    return !parse_mark(digest, &mark) || !collection->marks.count ||
           bsearch(&mark, collection->marks.at, collection->marks.count, sizeof mark, compare_marks) != NULL;
}

static bool must_stop(void *user)
{
    return atomic_load(&((struct collection *)user)->server->stopped);
}

/* ---- when ---- */

struct clock_watch {
    double offset_s;     /* of the wall clock against one that does not jump */
    double not_before_s; /* on that one */
};

static double seconds(clockid_t clock)
{
    struct timespec when;
    clock_gettime(clock, &when);
    return (double)when.tv_sec + (double)when.tv_nsec * 1e-9;
}

/* whether ages of files can be trusted: the clock has not jumped for a grace period */
static bool clock_good(struct clock_watch *clock_watch, double grace_s)
{
    double now = seconds(CLOCK_BOOTTIME), offset = seconds(CLOCK_REALTIME) - now;
    if (offset - clock_watch->offset_s > JUMP_S || clock_watch->offset_s - offset > JUMP_S) {
        clock_watch->not_before_s = now + grace_s;
        log_event("clock_jumped", NULL);
    }
    clock_watch->offset_s = offset;
    return now >= clock_watch->not_before_s;
}

static enum error_code collect(struct server *server, struct queue *queue, const char *token,
                               struct clock_watch *clock_watch, struct error *e)
{
    struct collection collection = {.server = server};
    double grace_s = (double)server->resources->options->grace_ms * 1e-3;
    struct store_sweep sweep = {.wanted = wanted,
                                .stop = must_stop,
                                .user = &collection,
                                .before_s = (long long)(seconds(CLOCK_REALTIME) - grace_s)};
    enum error_code code = look(&collection, queue, token, e);
    bool whole = code == ERROR_OK && clock_good(clock_watch, grace_s) && !atomic_load(&server->stopped);
    if (whole)
        code = store_sweep(server->store, &sweep, e);
    VEC_FREE(&collection.marks);
    VEC_FREE(&collection.archives);
    struct queue_collected done = {whole && code == ERROR_OK && !atomic_load(&server->stopped), sweep.kept,
                                   sweep.kept_bytes, sweep.removed, sweep.removed_bytes};
    enum error_code ended = queue_collect_end(queue, token, &done, code == ERROR_OK ? e : NULL);
    if (sweep.removed) {
        char number[24];
        snprintf(number, sizeof number, "%zu", sweep.removed);
        log_event("blobs_removed", "count", number, NULL);
    }
    return code == ERROR_OK ? ended : code;
}

void *collect_run(void *server)
{
    struct server *running = server;
    struct queue *queue = pool_take(running);
    struct error e;
    char token[QUEUE_ID_SIZE];
    struct clock_watch clock_watch = {seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME), 0};
    queue_new_id(token); /* any text of our own */
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    for (; !atomic_load(&running->stopped); serve_pause(running, EVERY_MS)) {
        bool begun = false;
        if (!clock_good(&clock_watch, (double)running->resources->options->grace_ms * 1e-3))
            continue;
        enum error_code code =
            queue_collect_begin(queue, token, running->resources->options->collect_ms, &begun, &e);
        if (code == ERROR_OK && begun)
            code = collect(running, queue, token, &clock_watch, &e);
        if (code != ERROR_OK && code != ERROR_UNAVAILABLE)
            log_event("collection_failed", "reason", e.message, NULL);
    }
    pool_give(running, queue);
    return NULL;
}

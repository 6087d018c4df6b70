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

static int compare_marks(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct mark));
}

static void add_mark(void *user, const char *digest, bool archive)
{
    struct collection *c = user;
    struct mark m;
    if (!parse_mark(digest, &m))
        return;
    VEC_PUSH(&c->marks, m);
    if (archive)
        VEC_PUSH(&c->archives, m);
}

/* every run of exactly 64 hex digits */
static void mark_text(struct collection *c, const char *text, size_t size)
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
            add_mark(c, digest, false);
        }
        i += n + 1;
    }
}

static enum error_code mark_archives(struct collection *c, struct error *e)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < c->archives.count; i++) {
        char digest[STORE_DIGEST_SIZE] = "";
        struct store_view view;
        for (int k = 0; k < 32; k++) {
            digest[2 * k] = hex[c->archives.at[i].digest[k] >> 4];
            digest[2 * k + 1] = hex[c->archives.at[i].digest[k] & 15];
        }
        enum error_code code = store_get(c->server->store, digest, &view, e);
        if (code == ERROR_NOT_FOUND)
            /* deleted or started again since the walk; its references are in `moved` then */
            continue;
        if (code != ERROR_OK)
            return code;
        mark_text(c, view.bytes, view.size);
        store_view_release(&view);
    }
    return ERROR_OK;
}

static enum error_code look(struct collection *c, struct queue *q, const char *token, struct error *e)
{
    unsigned long long cursor = 0;
    enum error_code code;
    do
        code = queue_collect_walk(q, token, &cursor, add_mark, c, e);
    while (code == ERROR_OK && cursor && !atomic_load(&c->server->stopped));
    if (code == ERROR_OK)
        code = mark_archives(c, e);
    if (code == ERROR_OK)
        code = queue_collect_moved(q, token, add_mark, c, e);
    if (c->marks.count)
        qsort(c->marks.at, c->marks.count, sizeof *c->marks.at, compare_marks);
    return code;
}

static bool wanted(void *user, const char *digest)
{
    struct collection *c = user;
    struct mark m;
    return !parse_mark(digest, &m) || !c->marks.count ||
           bsearch(&m, c->marks.at, c->marks.count, sizeof m, compare_marks) != NULL;
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
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* whether ages of files can be trusted: the clock has not jumped for a grace period */
static bool clock_good(struct clock_watch *w, double grace_s)
{
    double now = seconds(CLOCK_BOOTTIME), offset = seconds(CLOCK_REALTIME) - now;
    if (offset - w->offset_s > JUMP_S || w->offset_s - offset > JUMP_S) {
        w->not_before_s = now + grace_s;
        log_event("clock_jumped", NULL);
    }
    w->offset_s = offset;
    return now >= w->not_before_s;
}

static enum error_code collect(struct server *s, struct queue *q, const char *token, struct clock_watch *w,
                               struct error *e)
{
    struct collection c = {.server = s};
    double grace_s = (double)s->resources->options->grace_ms * 1e-3;
    struct store_sweep sweep = {.wanted = wanted,
                                .stop = must_stop,
                                .user = &c,
                                .before_s = (long long)(seconds(CLOCK_REALTIME) - grace_s)};
    enum error_code code = look(&c, q, token, e);
    bool whole = code == ERROR_OK && clock_good(w, grace_s) && !atomic_load(&s->stopped);
    if (whole)
        code = store_sweep(s->store, &sweep, e);
    VEC_FREE(&c.marks);
    VEC_FREE(&c.archives);
    struct queue_collected done = {whole && code == ERROR_OK && !atomic_load(&s->stopped), sweep.kept,
                                   sweep.kept_bytes, sweep.removed, sweep.removed_bytes};
    enum error_code ended = queue_collect_end(q, token, &done, code == ERROR_OK ? e : NULL);
    if (sweep.removed) {
        char number[24];
        snprintf(number, sizeof number, "%zu", sweep.removed);
        log_event("blobs_removed", "count", number, NULL);
    }
    return code == ERROR_OK ? ended : code;
}

void *collect_run(void *server)
{
    struct server *s = server;
    struct queue *q = pool_take(s);
    struct error e;
    char token[QUEUE_ID_SIZE];
    struct clock_watch w = {seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME), 0};
    queue_new_id(token); /* any text of our own */
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    for (; !atomic_load(&s->stopped); serve_pause(s, EVERY_MS)) {
        bool begun = false;
        if (!clock_good(&w, (double)s->resources->options->grace_ms * 1e-3))
            continue;
        enum error_code code = queue_collect_begin(q, token, s->resources->options->collect_ms, &begun, &e);
        if (code == ERROR_OK && begun)
            code = collect(s, q, token, &w, &e);
        if (code != ERROR_OK && code != ERROR_UNAVAILABLE)
            log_event("collection_failed", "reason", e.message, NULL);
    }
    pool_give(s, q);
    return NULL;
}

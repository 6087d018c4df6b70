/* What becomes of jobs after their end: into the archive, out of the service, and their blobs off the disk.
 * Every server does this; each step is idempotent, so that several at once or a crash anywhere do no harm. */
#include "server/resources/archive.h"
#include "server/resources/resources.h"

#include "base/log.h"

enum {
    BATCH = 100,    /* jobs that one look archives, before the end of the server is looked for */
    EVERY_MS = 1000 /* between two looks */
};

/* everything that is due now */
static enum error_code archive_all(struct server *s, struct queue *q, struct error *e)
{
    enum error_code code = ERROR_OK;
    for (size_t done = BATCH; code == ERROR_OK && done == BATCH && !atomic_load(&s->stopped);)
        code = archive_due(s->store, q, BATCH, &done, e);
    return code;
}

void *janitor_run(void *server)
{
    struct server *s = server;
    struct queue *q = pool_take(s);
    struct error e;
    bool set = false, complained = false;
    while (!atomic_load(&s->stopped)) {
        enum error_code code = set ? ERROR_OK : queue_settings(q, &s->resources->options->times, &e);
        set = code == ERROR_OK;
        if (code == ERROR_OK)
            code = archive_all(s, q, &e);
        struct error other;
        if (set && code != ERROR_UNAVAILABLE) { /* a job that cannot be archived holds up nothing */
            enum error_code tidied = queue_tidy(q, code == ERROR_OK ? &e : &other);
            code = code == ERROR_OK ? tidied : code;
        }
        if (code != ERROR_OK && code != ERROR_UNAVAILABLE && !complained)
            log_event("janitor_failed", "reason", e.message, NULL);
        complained = code != ERROR_OK;
        serve_pause(s, EVERY_MS);
    }
    pool_give(s, q);
    return NULL;
}

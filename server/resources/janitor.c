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
static enum error_code archive_all(struct server *server, struct queue *queue, struct error *e)
{
    enum error_code code = ERROR_OK;
    for (size_t done = BATCH; code == ERROR_OK && done == BATCH && !atomic_load(&server->stopped);)
        code = archive_due(server->store, queue, BATCH, &done, e);
    return code;
}

void *janitor_run(void *server)
{
    struct server *running = server;
    struct queue *queue = pool_take(running);
    struct error e;
    bool set = false, complained = false;
    while (!atomic_load(&running->stopped)) {
        enum error_code code =
            set ? ERROR_OK : queue_settings(queue, &running->resources->options->times, &e);
        set = code == ERROR_OK;
        if (code == ERROR_OK)
            code = archive_all(running, queue, &e);
        struct error other;
        if (set && code != ERROR_UNAVAILABLE) { /* a job that cannot be archived holds up nothing */
            enum error_code tidied = queue_tidy(queue, code == ERROR_OK ? &e : &other);
            code = code == ERROR_OK ? tidied : code;
        }
        if (code != ERROR_OK && code != ERROR_UNAVAILABLE && !complained)
            log_event("janitor_failed", "reason", e.message, NULL);
        complained = code != ERROR_OK;
        serve_pause(running, EVERY_MS);
    }
    pool_give(running, queue);
    return NULL;
}

/* What happened to a job, wherever that is: in Redis while the job is there, in the store (a blob that the
 * field `history` names) of what was archived, in both of a job that was started again from the archive. */
#ifndef TOAST_SERVER_HISTORY_H
#define TOAST_SERVER_HISTORY_H

#include "queue/events.h"
#include "queue/observe.h"
#include "store/store.h"

/* kept of a job that was started again and again; QUEUE_EVENTS_KEPT events */
enum { HISTORY_TASKS = 1000 };

struct history {
    struct queue_events events;  /* oldest first */
    struct queue_done_list done; /* by end */
};
void history_release(struct history *history);
/* `job`: the fields of job `id`. A history that the store has lost is none. Errors of the store and of
 * Redis. */
enum error_code history_read(struct store *store, struct queue *queue, const char *id,
                             const struct queue_fields *job, struct history *out,
                             struct error *e) BASE_CHECKED;
/* as a blob of the store */
enum error_code history_write(struct store *store, const struct history *history,
                              char digest[STORE_DIGEST_SIZE], struct error *e) BASE_CHECKED;
/* Whether `id` may be a client's position: it is an event's, or older than what is left. */
bool history_knows(const struct history *history, struct queue_event_id id);
/* leaves out the events up to `id` */
void history_after(struct history *history, struct queue_event_id id);

#endif

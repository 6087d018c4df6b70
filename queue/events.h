/* What happened to jobs: the streams {t}:ev:<id>, which queue/library.lua writes in the transaction of each
 * transition. Reading only. Errors as in queue.h. */
#ifndef TOAST_QUEUE_EVENTS_H
#define TOAST_QUEUE_EVENTS_H

#include "queue/queue.h"

/* Position in a stream: Redis' entry id, milliseconds and a number within them. Zero is before everything. */
struct queue_event_id {
    uint64_t ms, number;
};
enum {
    QUEUE_EVENT_ID_SIZE = 42,
    QUEUE_EVENTS_KEPT = 1200
}; /* the streams are trimmed to about 1,000 entries */
/* "ms-number" in decimal without sign, blanks or leading zeros; nothing else is an id */
bool queue_event_id_parse(const char *text, struct queue_event_id *out);
void queue_event_id_format(struct queue_event_id id, char out[QUEUE_EVENT_ID_SIZE]);
int queue_event_id_compare(struct queue_event_id one, struct queue_event_id other);

struct queue_event {
    char job[QUEUE_ID_SIZE];
    char shown[72]; /* what clients call the job: its id or the name that they chose */
    struct queue_event_id id;
    char name[24];         /* "state", "step", "stop", "retry", "restarted" .. */
    long long version;     /* the job's, as this event left it */
    char *data, *progress; /* owned; never NULL. progress: JSON text of the worker, or "" */
};
struct queue_events {
    struct queue_event *at;
    size_t count;
};
void queue_events_release(struct queue_events *events);
/* whether the event says that the job ended */
bool queue_event_ends(const struct queue_event *event);

/* Events of one job after `after`, oldest first, at most QUEUE_EVENTS_KEPT. */
enum error_code queue_events_since(struct queue *queue, const char *job, struct queue_event_id after,
                                   struct queue_events *out, struct error *e) BASE_CHECKED;
/* Whether `id` is one of this job's events. *known: it is, or it is older than what a trimmed stream holds.
 */
enum error_code queue_event_known(struct queue *queue, const char *job, struct queue_event_id id, bool *known,
                                  struct error *e) BASE_CHECKED;
/* The last event's id; zero when there is none. *ended: it says that the job ended. */
enum error_code queue_event_last(struct queue *queue, const char *job, struct queue_event_id *last,
                                 bool *ended, struct error *e) BASE_CHECKED;

/* One connection following many jobs: what came after each place's `after`, for at most QUEUE_FOLLOW_MAX
 * places. Waits at most block_ms (0: not at all; at most 1000) for the first event. Places are not moved. */
enum { QUEUE_FOLLOW_MAX = 128 };
struct queue_place {
    char job[QUEUE_ID_SIZE];
    struct queue_event_id after;
};
enum error_code queue_events_follow(struct queue *queue, const struct queue_place *places, size_t count,
                                    int block_ms, struct queue_events *out, struct error *e) BASE_CHECKED;

#endif

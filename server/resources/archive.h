/* Jobs that ended a while ago: from Redis into the store, and back when somebody asks. */
#ifndef TOAST_SERVER_ARCHIVE_H
#define TOAST_SERVER_ARCHIVE_H

#include "queue/queue.h"
#include "store/store.h"

/* fields (owned) of an archived job */
enum error_code archive_read(struct store *store, const char *blob, struct queue_fields *out,
                             struct error *e) BASE_CHECKED;
/* what queue_job gave -> the whole job. ERROR_GONE */
enum error_code archive_expand(struct store *store, struct queue_fields *job, struct error *e) BASE_CHECKED;
/* Archives at most `limit` ended jobs that are due; *done: how many it archived. A job that cannot be
 * archived is left, and the first such error is returned after all were tried; only ERROR_UNAVAILABLE ends
 * it at once. */
enum error_code archive_due(struct store *store, struct queue *queue, size_t limit, size_t *done,
                            struct error *e) BASE_CHECKED;

#endif

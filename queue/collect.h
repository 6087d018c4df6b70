/* Which blobs Redis refers to, for a collection of the others (queue/library_blobs.lua,
 * server/resources/collect.c). */
#ifndef TOAST_QUEUE_COLLECT_H
#define TOAST_QUEUE_COLLECT_H

#include "queue/queue.h"

/* digests are 64 hex digits; `found` is called for each, with repetitions; archive: a blob that names others
 */
typedef void (*queue_digest_found)(void *user, const char *digest, bool archive);

/* *begun: this caller collects now, until queue_collect_end or a minute without a call. false: another does,
 * or did less than every_ms ago. token: any text of its own */
enum error_code queue_collect_begin(struct queue *queue, const char *token, long long every_ms, bool *begun,
                                    struct error *e) BASE_CHECKED;
/* One step of the walk through all keys: *cursor is 0 at first and again after the last. ERROR_CONFLICT:
 * another collects meanwhile; begin again. */
enum error_code queue_collect_walk(struct queue *queue, const char *token, unsigned long long *cursor,
                                   queue_digest_found found, void *user, struct error *e) BASE_CHECKED;
/* What the walk may have missed; after it nothing that was found becomes wrong. ERROR_CONFLICT as above. */
enum error_code queue_collect_moved(struct queue *queue, const char *token, queue_digest_found found,
                                    void *user, struct error *e) BASE_CHECKED;
struct queue_collected {
    bool whole;
    unsigned long long kept, kept_bytes, removed, removed_bytes;
};
enum error_code queue_collect_end(struct queue *queue, const char *token,
                                  const struct queue_collected *collected, struct error *e) BASE_CHECKED;

#endif

/* The outbox of webhooks (queue/library_webhooks.lua). Errors as of queue.h. */
#ifndef TOAST_QUEUE_WEBHOOKS_H
#define TOAST_QUEUE_WEBHOOKS_H

#include "queue/queue.h"

/* The next one that is due, the caller's for a minute: fields url, state, name, tenant, ended (ms), tries.
 * *found false: none. fields: owned */
enum error_code queue_webhook_due(struct queue *queue, char id[QUEUE_ID_SIZE], struct queue_fields *fields,
                                  bool *found, struct error *e) BASE_CHECKED;
/* outcome: "sent", "again" (after a pause, ten tries in all) or "refused" (not again). became: "sent",
 * "again" or "given_up" */
enum error_code queue_webhook_done(struct queue *queue, const char *id, const char *outcome, char became[16],
                                   struct error *e) BASE_CHECKED;

#endif

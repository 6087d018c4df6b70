/* The seven invariants of the service, looked at from Redis' side (queue/library_audit.lua judges each job
 * atomically, so this may run beside live traffic; blobs are the caller's to compare).
 *
 *   1 every acknowledged job exists and has ended, or each task of its step is done, leased or claimable
 *   2 exactly one terminal transition and one terminal event
 *   3 fences of commits strictly increase and are ones that the job gave out
 *   4 every blob that a job names is there, with its size and digest
 *   5 the version increases by 1 per visible change
 *   6 an ended job has no key without expiry, no key outlives its job, sets hold no ended jobs
 *   7 counters equal set sizes */
#ifndef TOAST_QUEUE_AUDIT_H
#define TOAST_QUEUE_AUDIT_H

#include "queue/queue.h"

enum { QUEUE_INVARIANTS = 7 };
const char *queue_invariant_text(int invariant); /* 1 to 7; static */

struct queue_violation {
    int invariant;
    char *subject, *text; /* owned: a job, key, task or counter; what is wrong with it */
};
struct queue_audit_blob {
    char *job, *name, *digest; /* owned; name: the job's field */
    long long size;            /* -1: not stated */
};
struct queue_audit_archived {
    char *job, *blob, *state, *version; /* owned; what Redis says of it */
};
struct queue_audit {
    VEC(struct queue_violation) violations;
    VEC(struct queue_audit_blob) blobs; /* all that jobs in Redis name, in no order, with repetitions */
    VEC(struct queue_audit_archived) archived;
    size_t jobs, keys; /* looked at */
};
void queue_audit_add(struct queue_audit *audit, int invariant, const char *subject, const char *text);
/* a blob that `job` names in its field `name`; value: its digest, or digest:size:media type as of an
 * artifact */
void queue_audit_add_blob(struct queue_audit *audit, const char *job, const char *name, const char *value);
void queue_audit_release(struct queue_audit *audit);

/* `expected`: ids that were acknowledged to somebody and must exist (borrowed). What concerns several keys of
 * which one changes meanwhile is looked at up to three times and reported when it is wrong each time. */
enum error_code queue_audit_run(struct queue *queue, const char *const *expected, size_t expected_count,
                                struct queue_audit *out, struct error *e) BASE_CHECKED;

#endif

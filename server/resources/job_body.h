/* A job's hash as the JSON that clients see (openapi.yaml, schema Job). */
#ifndef TOAST_SERVER_JOB_BODY_H
#define TOAST_SERVER_JOB_BODY_H

#include "queue/queue.h"
#include "store/store.h"

bool job_ended(const struct queue_fields *job);

struct job_artifact {
    char digest[STORE_DIGEST_SIZE], media_type[64];
    size_t size;
};
/* false: the job has no artifact of this name (yet) */
bool job_artifact(const struct queue_fields *job, const char *name, struct job_artifact *out);

/* appends one object */
void job_body(const char *id, const struct queue_fields *job, struct text *out);
void job_artifacts_body(const char *id, const struct queue_fields *job, struct text *out);

#endif

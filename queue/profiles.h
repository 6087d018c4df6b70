/* Device profiles of tenants: small JSON texts with versions, {t}:prof:<tenant>:<name> (hash: last, v:<n>,
 * at:<n>) and their names with the last version, {t}:profs:<tenant>. Versions are kept as long as they are
 * among the last PROFILES_VERSIONS; jobs carry what they were priced with. Errors as in queue.h. */
#ifndef TOAST_QUEUE_PROFILES_H
#define TOAST_QUEUE_PROFILES_H

#include "queue/queue.h"

enum { PROFILES_VERSIONS = 10, PROFILES_PER_TENANT = 100 };

/* Stores a version unless the last one is the same text. *version is what it is now, *was what it was (0: a
 * new name). ERROR_TOO_MANY_PROFILES. */
enum error_code queue_profile_put(struct queue *queue, const char *tenant, const char *name, const char *json,
                                  long long *version, long long *was, struct error *e) BASE_CHECKED;
/* version 0: the last. *json owned. ERROR_NOT_FOUND. */
enum error_code queue_profile_get(struct queue *queue, const char *tenant, const char *name,
                                  long long *version, char **json, struct error *e) BASE_CHECKED;
/* names with their last version as value */
enum error_code queue_profile_list(struct queue *queue, const char *tenant, struct queue_fields *out,
                                   struct error *e) BASE_CHECKED;

#endif

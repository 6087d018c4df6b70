/* What a tenant has: references to modules, which are its own although equal bytes are stored once.
 * {t}:blob:<tenant> is a hash: digest -> "size last_use_ms digest"; {t}:blobs a hash: tenant -> bytes of its
 * references. One that was not used for 30 days is forgotten. */
#ifndef TOAST_QUEUE_TENANTS_H
#define TOAST_QUEUE_TENANTS_H

#include "queue/keys.h"

/* The tenant has this module from now on. *existed: it had it before. *until_ms (may be NULL): when it
 * will be forgotten, unless it is used before. ERROR_UNAVAILABLE */
enum error_code queue_module_add(struct queue *queue, const char *tenant, const char *digest,
                                 size_t size_bytes, bool *existed, long long *until_ms,
                                 struct error *e) BASE_CHECKED;
/* ERROR_NOT_FOUND: the tenant does not have it (whoever else may); ERROR_UNAVAILABLE. Counts as a use. */
enum error_code queue_module_use(struct queue *queue, const char *tenant, const char *digest,
                                 long long *until_ms, struct error *e) BASE_CHECKED;
/* ERROR_NOT_FOUND, ERROR_UNAVAILABLE */
enum error_code queue_module_drop(struct queue *queue, const char *tenant, const char *digest,
                                  struct error *e) BASE_CHECKED;
/* The tenant's share of the workers relative to others', from now on: 1 to 1000; 1 is what a tenant has at
 * first. ERROR_UNAVAILABLE */
enum error_code queue_tenant_weigh(struct queue *queue, const char *tenant, int weight,
                                   struct error *e) BASE_CHECKED;
/* bytes and number of the tenant's references */
struct queue_usage {
    long long bytes, count;
};
enum error_code queue_module_usage(struct queue *queue, const char *tenant, struct queue_usage *out,
                                   struct error *e) BASE_CHECKED;

#endif

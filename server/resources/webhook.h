/* Webhooks: a job's end is told to an address that the request names, where the operator allows its host. */
#ifndef TOAST_SERVER_WEBHOOK_H
#define TOAST_SERVER_WEBHOOK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct webhook_options {
    const char *hosts[32]; /* "host" or "host:port", lower case; borrowed. None: there are no webhooks */
    size_t host_count;
    const char *secret;    /* signs; NULL: none */
    bool private_networks; /* addresses of private networks and http:// are allowed, too */
};
/* ERROR_INVALID_REQUEST (/webhook): no address, or one to a host that is not allowed. ERROR_NOT_AVAILABLE:
 * the operator allows none at all. */
enum error_code webhook_check(const struct webhook_options *options, const char *url,
                              struct error *e) BASE_CHECKED;
/* a thread until the server ends: sends what is due. `server`: a struct server */
void *webhook_run(void *server);

#endif

/* Options and environment -> addresses; see service_address.h. */
#include "cli/service_address.h"

#include "base/memory.h"
#include "cli/output.h"

#include <stdlib.h>
#include <unistd.h>

int service_address_check(const struct service_address *a, const char *command)
{
    return a->data && (a->redis || a->store)
               ? cli_usage(command,
                           "--data says where Redis and the store are; leave --redis and --store out")
               : -1;
}

char *service_address_redis(const struct service_address *a)
{
    static const char embedded[] = "toast-data/redis/redis.sock";
    const char *given = a->redis ? a->redis : getenv("TOAST_REDIS");
    if (a->data)
        return mem_printf("unix:%s/redis/redis.sock", a->data);
    if (given && *given)
        return mem_strdup(given);
    return access(embedded, F_OK) == 0 ? mem_printf("unix:%s", embedded)
                                       : mem_strdup("redis://127.0.0.1:6379");
}

char *service_address_store(const struct service_address *a)
{
    const char *given = a->store ? a->store : getenv("TOAST_STORE");
    if (a->data)
        return mem_printf("dir:%s", a->data);
    return mem_strdup(given && *given ? given : "dir:toast-data");
}

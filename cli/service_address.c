/* Options and environment -> addresses; see service_address.h. */
#include "cli/service_address.h"

#include "base/memory.h"
#include "base/secret.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int service_address_check(const struct service_address *service_address, const char *command)
{
    return service_address->data && (service_address->redis || service_address->store)
               ? cli_usage(command,
                           "--data says where Redis and the store are; leave --redis and --store out")
               : -1;
}

/* The command line is what every user of the machine sees of the process while it runs: the password goes. */
static void hide_password(char *address)
{
    char *at = strrchr(address, '@');
    char *colon = memchr(address + strlen("redis://"), ':', (size_t)(at - address) - strlen("redis://"));
    memset(colon + 1, '*', (size_t)(at - colon - 1));
    fputs("toast: --redis has a password, which other users of this machine could read: give it in "
          "TOAST_REDIS_PASSWORD, or\nin a file that TOAST_REDIS_PASSWORD_FILE names, and --redis "
          "redis://USER@HOST:PORT\n",
          stderr);
}

char *service_address_redis(struct service_address *service_address)
{
    static const char embedded[] = "toast-data/redis/redis.sock";
    const char *given = service_address->redis ? service_address->redis : getenv("TOAST_REDIS");
    if (service_address->data)
        return mem_printf("unix:%s/redis/redis.sock", service_address->data);
    if (given && *given) {
        char *kept = mem_strdup(given);
        if (given == service_address->redis && secret_in_address(given))
            hide_password(service_address->redis);
        return kept;
    }
    return access(embedded, F_OK) == 0 ? mem_printf("unix:%s", embedded)
                                       : mem_strdup("redis://127.0.0.1:6379");
}

char *service_address_store(const struct service_address *service_address)
{
    const char *given = service_address->store ? service_address->store : getenv("TOAST_STORE");
    if (service_address->data)
        return mem_printf("dir:%s", service_address->data);
    return mem_strdup(given && *given ? given : "dir:toast-data");
}

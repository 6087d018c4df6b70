/* Where the commands for operators (keys, fsck, dead, drain) find the service's Redis and store: from
 * --data, from --redis and --store, from the environment, in this order. Nothing is opened here. */
#ifndef TOAST_CLI_SERVICE_ADDRESS_H
#define TOAST_CLI_SERVICE_ADDRESS_H

/* what the command line says; NULL: nothing. Borrowed. */
struct service_address {
    const char *data; /* --data: the folder of toast serve, which has both */
    char *redis;      /* --redis, --store: those of separate processes; redis as it stands in argv */
    const char *store;
};

/* their lines of a command's --help */
#define SERVICE_ADDRESS_DATA_HELP                                                                            \
    "  --data    DIR      the folder of toast serve (its private Redis and its store)\n"
#define SERVICE_ADDRESS_REDIS_HELP                                                                           \
    "  --redis   ADDRESS  unix:PATH or redis://[USER@]HOST:PORT, as for toast-server (TOAST_REDIS; without " \
    "it\n"                                                                                                   \
    "                     toast-data when toast serve runs there, else redis://127.0.0.1:6379); its\n"       \
    "                     password in TOAST_REDIS_PASSWORD or in the file that "                             \
    "TOAST_REDIS_PASSWORD_FILE names\n"

/* -1, or the exit status when --data stands beside one of the others, after saying so */
int service_address_check(const struct service_address *service_address, const char *command);
/* Both owned. A password that stands in --redis is overwritten there, and stderr says where it belongs: ask
 * once. */
char *service_address_redis(struct service_address *service_address);
char *service_address_store(const struct service_address *service_address);

#endif

/* toast keys: API keys, written to the service's Redis by whoever may reach it (the operator). Servers follow
 * within a second. The key itself is printed once, alone on stdout. */
#include "base/log.h"
#include "cli/output.h"
#include "cli/service_address.h"
#include "queue/tenants.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: toast keys add [--tenant NAME] [--role ROLE] [--days N] [--note TEXT]\n"
    "       toast keys list [--json]\n"
    "       toast keys revoke ID [--last]\n"
    "       toast keys weight TENANT N\n"
    "       (all) [--data DIR | --redis ADDRESS]\n\n"
    "weight: the tenant's share of the workers relative to others', 1 to 1000 (1).\n"
    "Once there is a key, the service lets nobody in without one. Several keys of a tenant may be valid at "
    "once: to change\n"
    "a key, add a second one, hand it out, then revoke the first. Servers follow within about a "
    "second.\n\n" SERVICE_ADDRESS_DATA_HELP SERVICE_ADDRESS_REDIS_HELP
    "  --tenant  NAME     whose jobs and modules the key opens (default)\n"
    "  --role    ROLE     read: look; submit: also send, cancel, delete (default); admin: also the service's "
    "own pages\n"
    "  --days    N        valid so long; 0: for ever (365)\n"
    "  --note    TEXT     for the list, for example who has it\n"
    "  --last             revoke even the last key: on a loopback address the service is then open to "
    "everybody\n\n"
    "example:\n"
    "  export TOAST_KEY=$(toast keys add --data /var/lib/toast --tenant speech)\n";

struct options {
    const char *command, *id, *weight, *days, *role;
    struct service_address where;
    struct queue_key key;
    long share;
    bool json, last;
};

static bool take_value(struct options *options, const char *name, char *value)
{
    const struct {
        const char *name, **slot;
    } values[] = {{"--data", &options->where.data}, {"--days", &options->days}, {"--role", &options->role}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(name, values[i].name) == 0) {
            *values[i].slot = value;
            return true;
        }
    if (strcmp(name, "--redis") == 0) {
        options->where.redis = value;
        return true;
    }
    bool tenant = strcmp(name, "--tenant") == 0;
    if (!tenant && strcmp(name, "--note") != 0)
        return false;
    if (tenant)
        snprintf(options->key.tenant, sizeof options->key.tenant, "%s", value);
    else
        snprintf(options->key.note, sizeof options->key.note, "%s", value);
    if (tenant && strlen(value) >= sizeof options->key.tenant)
        options->key.tenant[0] = 0; /* too long: no tenant's name */
    return true;
}

/* which of the commands, and so many arguments after it */
static int check_command(struct options *options)
{
    static const struct {
        const char *name;
        int arguments;
    } commands[] = {{"add", 0}, {"list", 0}, {"revoke", 1}, {"weight", 2}};
    int given = (options->id != NULL) + (options->weight != NULL);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (options->command && strcmp(options->command, commands[i].name) == 0)
            return given == commands[i].arguments
                       ? -1
                       : cli_usage("keys", "%s takes %d arguments", options->command, commands[i].arguments);
    return cli_usage("keys", "say add, list, revoke or weight");
}

static int check_weight(struct options *options)
{
    char *end = "";
    options->share = options->weight ? strtol(options->weight, &end, 10) : 1;
    if (options->weight &&
        (*end || options->share < 1 || options->share > 1000 || !queue_tenant_valid(options->id)))
        return cli_usage("keys", "weight needs a tenant's name and a number from 1 to 1000");
    return -1;
}

static int check(struct options *options)
{
    char *end;
    long days = strtol(options->days, &end, 10);
    int status = check_command(options);
    if (status < 0)
        status = check_weight(options);
    if (status < 0)
        status = service_address_check(&options->where, "keys");
    if (status >= 0)
        return status;
    options->key.role = queue_role_from_text(options->role);
    if (options->key.role == QUEUE_ROLE_NONE)
        return cli_usage("keys", "--role is read, submit or admin");
    if (!queue_tenant_valid(options->key.tenant))
        return cli_usage("keys", "--tenant needs 1 to 63 of a-z 0-9 . _ -, beginning with a letter or digit");
    if (*end || end == options->days || days < 0 || days > 36500)
        return cli_usage("keys", "--days needs a number from 0 to 36500");
    for (char *at = options->key.note; *at; at++)
        *at = isprint((unsigned char)*at) ? *at : '?';
    if (days)
        options->key.expires_ms = ((long long)time(NULL) + days * 86400LL) * 1000;
    return -1;
}

static int take_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){.days = "365", .role = "submit", .key = {.tenant = "default"}};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0)
            options->json = true;
        else if (strcmp(argv[i], "--last") == 0)
            options->last = true;
        else if (i + 1 < argc && take_value(options, argv[i], argv[i + 1]))
            i++;
        else if (argv[i][0] == '-')
            return cli_usage("keys", "unknown option or missing value: '%s'", argv[i]);
        else if (!options->command)
            options->command = argv[i];
        else if (!options->id)
            options->id = argv[i];
        else if (!options->weight)
            options->weight = argv[i];
        else
            return cli_usage("keys", "one argument too many: '%s'", argv[i]);
    }
    return check(options);
}

static const char *day(long long ms, char out[16])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(out, 16, "%Y-%m-%d", &parts);
    return ms ? out : "never";
}

static enum error_code add(struct queue *queue, struct options *options, struct error *e)
{
    char text[QUEUE_KEY_TEXT_SIZE], expires[16];
    enum error_code code = queue_key_add(queue, &options->key, text, e);
    if (code != ERROR_OK)
        return code;
    fprintf(stderr, "key %s of tenant %s, role %s, expires %s; it is shown only now:\n", options->key.id,
            options->key.tenant, queue_role_text(options->key.role), day(options->key.expires_ms, expires));
    puts(text);
    return ERROR_OK;
}

static void print_json(const struct queue_keys *keys)
{
    struct text text = {0};
    for (size_t i = 0; i < keys->count; i++) {
        const struct queue_key *k = &keys->at[i];
        text_printf(&text,
                    "%s\n{\"id\":\"%s\",\"tenant\":\"%s\",\"role\":\"%s\",\"created_ms\":%lld,\"expires_ms\":"
                    "%lld,\"note\":",
                    i ? "," : "", k->id, k->tenant, queue_role_text(k->role), k->created_ms, k->expires_ms);
        log_json_string(&text, k->note, strlen(k->note));
        text_add(&text, "}");
    }
    printf("[%s\n]\n", text.size ? text.at : "");
    text_release(&text);
}

static enum error_code list(struct queue *queue, const struct options *options, struct error *e)
{
    struct queue_keys keys;
    char created[16], expires[16];
    enum error_code code = queue_keys_list(queue, &keys, e);
    if (code != ERROR_OK)
        return code;
    if (options->json) {
        print_json(&keys);
    } else {
        printf("%-10s %-20s %-8s %-12s %-12s %s\n", "ID", "TENANT", "ROLE", "CREATED", "EXPIRES", "NOTE");
        for (size_t i = 0; i < keys.count; i++) {
            const struct queue_key *k = &keys.at[i];
            bool gone = k->expires_ms && k->expires_ms / 1000 <= (long long)time(NULL);
            printf("%-10s %-20s %-8s %-12s %-12s %s\n", k->id, k->tenant, queue_role_text(k->role),
                   day(k->created_ms, created), gone ? "expired" : day(k->expires_ms, expires), k->note);
        }
    }
    queue_keys_release(&keys);
    return ERROR_OK;
}

int cmd_keys(int argc, char **argv)
{
    struct options options;
    struct error e;
    struct queue *queue = NULL;
    int status = take_options(&options, argc, argv);
    if (status >= 0)
        return status;
    signal(SIGPIPE, SIG_IGN);
    char *where = service_address_redis(&options.where);
    enum error_code code = queue_create(where, &queue, &e);
    free(where);
    if (code == ERROR_OK)
        code = strcmp(options.command, "add") == 0    ? add(queue, &options, &e)
               : strcmp(options.command, "list") == 0 ? list(queue, &options, &e)
               : strcmp(options.command, "weight") == 0
                   ? queue_tenant_weigh(queue, options.id, (int)options.share, &e)
                   : queue_key_revoke(queue, options.id, options.last, &e);
    queue_destroy(queue);
    return code == ERROR_OK ? 0 : cli_fail("keys", NULL, &e);
}

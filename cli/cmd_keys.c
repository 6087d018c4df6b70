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

static bool take_value(struct options *o, const char *name, const char *value)
{
    const struct {
        const char *name, **slot;
    } values[] = {
        {"--redis", &o->where.redis}, {"--data", &o->where.data}, {"--days", &o->days}, {"--role", &o->role}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(name, values[i].name) == 0) {
            *values[i].slot = value;
            return true;
        }
    bool tenant = strcmp(name, "--tenant") == 0;
    if (!tenant && strcmp(name, "--note") != 0)
        return false;
    if (tenant)
        snprintf(o->key.tenant, sizeof o->key.tenant, "%s", value);
    else
        snprintf(o->key.note, sizeof o->key.note, "%s", value);
    if (tenant && strlen(value) >= sizeof o->key.tenant)
        o->key.tenant[0] = 0; /* too long: no tenant's name */
    return true;
}

/* which of the commands, and so many arguments after it */
static int check_command(struct options *o)
{
    static const struct {
        const char *name;
        int arguments;
    } commands[] = {{"add", 0}, {"list", 0}, {"revoke", 1}, {"weight", 2}};
    int given = (o->id != NULL) + (o->weight != NULL);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (o->command && strcmp(o->command, commands[i].name) == 0)
            return given == commands[i].arguments
                       ? -1
                       : cli_usage("keys", "%s takes %d arguments", o->command, commands[i].arguments);
    return cli_usage("keys", "say add, list, revoke or weight");
}

static int check_weight(struct options *o)
{
    char *end = "";
    o->share = o->weight ? strtol(o->weight, &end, 10) : 1;
    if (o->weight && (*end || o->share < 1 || o->share > 1000 || !queue_tenant_valid(o->id)))
        return cli_usage("keys", "weight needs a tenant's name and a number from 1 to 1000");
    return -1;
}

static int check(struct options *o)
{
    char *end;
    long days = strtol(o->days, &end, 10);
    int status = check_command(o);
    if (status < 0)
        status = check_weight(o);
    if (status < 0)
        status = service_address_check(&o->where, "keys");
    if (status >= 0)
        return status;
    o->key.role = queue_role_from_text(o->role);
    if (o->key.role == QUEUE_ROLE_NONE)
        return cli_usage("keys", "--role is read, submit or admin");
    if (!queue_tenant_valid(o->key.tenant))
        return cli_usage("keys", "--tenant needs 1 to 63 of a-z 0-9 . _ -, beginning with a letter or digit");
    if (*end || end == o->days || days < 0 || days > 36500)
        return cli_usage("keys", "--days needs a number from 0 to 36500");
    for (char *c = o->key.note; *c; c++)
        *c = isprint((unsigned char)*c) ? *c : '?';
    if (days)
        o->key.expires_ms = ((long long)time(NULL) + days * 86400LL) * 1000;
    return -1;
}

static int take_options(struct options *o, int argc, char **argv)
{
    *o = (struct options){.days = "365", .role = "submit", .key = {.tenant = "default"}};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0)
            o->json = true;
        else if (strcmp(argv[i], "--last") == 0)
            o->last = true;
        else if (i + 1 < argc && take_value(o, argv[i], argv[i + 1]))
            i++;
        else if (argv[i][0] == '-')
            return cli_usage("keys", "unknown option or missing value: '%s'", argv[i]);
        else if (!o->command)
            o->command = argv[i];
        else if (!o->id)
            o->id = argv[i];
        else if (!o->weight)
            o->weight = argv[i];
        else
            return cli_usage("keys", "one argument too many: '%s'", argv[i]);
    }
    return check(o);
}

static const char *day(long long ms, char out[16])
{
    time_t s = (time_t)(ms / 1000);
    struct tm parts;
    gmtime_r(&s, &parts);
    strftime(out, 16, "%Y-%m-%d", &parts);
    return ms ? out : "never";
}

static enum error_code add(struct queue *q, struct options *o, struct error *e)
{
    char text[QUEUE_KEY_TEXT_SIZE], expires[16];
    enum error_code code = queue_key_add(q, &o->key, text, e);
    if (code != ERROR_OK)
        return code;
    fprintf(stderr, "key %s of tenant %s, role %s, expires %s; it is shown only now:\n", o->key.id,
            o->key.tenant, queue_role_text(o->key.role), day(o->key.expires_ms, expires));
    puts(text);
    return ERROR_OK;
}

static void print_json(const struct queue_keys *keys)
{
    struct text t = {0};
    for (size_t i = 0; i < keys->count; i++) {
        const struct queue_key *k = &keys->at[i];
        text_printf(&t,
                    "%s\n{\"id\":\"%s\",\"tenant\":\"%s\",\"role\":\"%s\",\"created_ms\":%lld,\"expires_ms\":"
                    "%lld,\"note\":",
                    i ? "," : "", k->id, k->tenant, queue_role_text(k->role), k->created_ms, k->expires_ms);
        log_json_string(&t, k->note, strlen(k->note));
        text_add(&t, "}");
    }
    printf("[%s\n]\n", t.size ? t.at : "");
    text_release(&t);
}

static enum error_code list(struct queue *q, const struct options *o, struct error *e)
{
    struct queue_keys keys;
    char created[16], expires[16];
    enum error_code code = queue_keys_list(q, &keys, e);
    if (code != ERROR_OK)
        return code;
    if (o->json) {
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
    struct options o;
    struct error e;
    struct queue *q = NULL;
    int status = take_options(&o, argc, argv);
    if (status >= 0)
        return status;
    signal(SIGPIPE, SIG_IGN);
    char *where = service_address_redis(&o.where);
    enum error_code code = queue_create(where, &q, &e);
    free(where);
    if (code == ERROR_OK)
        code = strcmp(o.command, "add") == 0      ? add(q, &o, &e)
               : strcmp(o.command, "list") == 0   ? list(q, &o, &e)
               : strcmp(o.command, "weight") == 0 ? queue_tenant_weigh(q, o.id, (int)o.share, &e)
                                                  : queue_key_revoke(q, o.id, o.last, &e);
    queue_destroy(q);
    return code == ERROR_OK ? 0 : cli_fail("keys", NULL, &e);
}

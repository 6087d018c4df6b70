/* toast dead: the jobs that were given up because their tasks ended their processes again and again;
 * lists them, queues them anew or forgets them. For operators: it works on Redis and the store
 * themselves, the service need not run. */
#include "base/log.h"
#include "base/memory.h"
#include "cli/output.h"
#include "cli/service_address.h"
#include "server/resources/archive.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: toast dead list [--json]\n"
    "       toast dead requeue JOB... | --all\n"
    "       toast dead discard JOB... | --all\n"
    "       (all) [--data DIR | --redis ADDRESS --store dir:PATH]\n\n"
    "A job is dead when one of its tasks ended its process three times, its hosts lost twelve attempts at "
    "one,\nor the job was started over five times.\n"
    "requeue lets it start again under its id; discard forgets it (its id then answers "
    "410).\n\n" SERVICE_ADDRESS_DATA_HELP SERVICE_ADDRESS_REDIS_HELP
    "  --store   ADDRESS  dir:PATH, for jobs that are archived (TOAST_STORE, dir:toast-data)\n"
    "  --all              every dead job\n"
    "  --json             the list as JSON\n\n"
    "examples:\n"
    "  toast dead list --data /var/lib/toast\n"
    "  toast dead requeue --all --redis redis://10.0.0.5:6379 --store dir:/var/lib/toast\n";

struct dead {
    struct service_address where;
    bool json, all;
    struct queue *queue;
    struct store *store;
    char (*ids)[QUEUE_ID_SIZE];
    size_t count;
};

static enum error_code open_both(struct dead *dead, struct error *e)
{
    char *redis = service_address_redis(&dead->where), *store = service_address_store(&dead->where);
    enum error_code code = queue_create(redis, &dead->queue, e);
    if (code == ERROR_OK)
        code = store_create(store, NULL, &dead->store, e);
    free(redis);
    free(store);
    return code == ERROR_OK ? queue_dead(dead->queue, &dead->ids, &dead->count, e) : code;
}

static bool is_dead(const struct dead *dead, const char *id)
{
    for (size_t i = 0; i < dead->count; i++)
        if (strcmp(dead->ids[i], id) == 0)
            return true;
    return false;
}

static void print_job(const struct dead *dead, const char *id, const struct queue_fields *job, bool first)
{
    static const char *const shown[] = {"tenant", "name", "module", "error"};
    struct text text = {0};
    char when[32];
    time_t ended = (time_t)(queue_number(job, "finished") / 1000);
    struct tm parts;
    gmtime_r(&ended, &parts);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (!dead->json) {
        text_printf(&text, "%s  %s  %s  %s  %s\n", id, when, queue_field(job, "tenant"),
                    queue_field(job, "name"), queue_field(job, "error"));
    } else {
        text_printf(&text, "%s\n  {\"id\":\"%s\",\"finished_at\":\"%s\"", first ? "" : ",", id, when);
        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
            const char *value = queue_field(job, shown[i]);
            if (!value[0])
                continue;
            text_printf(&text, ",\"%s\":", shown[i]);
            if (strcmp(shown[i], "error") == 0) /* JSON of our own worker */
                text_add(&text, value);
            else
                log_json_string(&text, value, strlen(value));
        }
        text_add(&text, "}");
    }
    fwrite(text.at, 1, text.size, stdout);
    text_release(&text);
}

static enum error_code list(struct dead *dead, struct error *e)
{
    bool first = true;
    enum error_code code = ERROR_OK;
    if (dead->json)
        printf("{\"jobs\":[");
    for (size_t i = 0; i < dead->count; i++) {
        struct queue_fields job;
        code = queue_job(dead->queue, dead->ids[i], &job, e);
        if (code == ERROR_NOT_FOUND)
            continue; /* requeued or forgotten meanwhile */
        if (code == ERROR_OK)
            code = archive_expand(dead->store, &job, e);
        if (code != ERROR_OK && code != ERROR_GONE)
            break;
        if (code == ERROR_OK) {
            print_job(dead, dead->ids[i], &job, first);
            first = false;
        }
        queue_fields_release(&job);
    }
    if (dead->json)
        printf("\n]}\n");
    return code == ERROR_NOT_FOUND || code == ERROR_GONE ? ERROR_OK : code;
}

static enum error_code requeue(struct dead *dead, const char *id, struct error *e)
{
    char blob[STORE_DIGEST_SIZE];
    struct queue_fields archived = {0};
    enum error_code code = queue_retry(dead->queue, id, 0, NULL, blob, e);
    if (code == ERROR_OK && blob[0]) {
        code = archive_read(dead->store, blob, &archived, e);
        if (code == ERROR_OK)
            code = queue_retry(dead->queue, id, 0, &archived, blob, e);
        queue_fields_release(&archived);
    }
    return code;
}

static enum error_code act(struct dead *dead, const char *command, const char *id, struct error *e)
{
    bool again = strcmp(command, "requeue") == 0;
    if (!is_dead(dead, id))
        return error_set(e, ERROR_NOT_FOUND, "%.64s is not among the dead jobs; toast dead list shows them",
                         id);
    enum error_code code = again ? requeue(dead, id, e) : queue_delete(dead->queue, id, NULL, 0, e);
    if (code == ERROR_OK)
        printf("%s %s\n", id, again ? "requeued" : "discarded");
    return code;
}

/* -1: go on, else the exit status */
static int take_options(struct dead *dead, int argc, char **argv)
{
    static const struct option options[] = {
        {"redis", 1, NULL, 'r'}, {"store", 1, NULL, 's'}, {"data", 1, NULL, 'd'}, {"json", 0, NULL, 'j'},
        {"all", 0, NULL, 'a'},   {"help", 0, NULL, 'h'},  {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        switch (c) {
        case 'r': dead->where.redis = optarg; break;
        case 's': dead->where.store = optarg; break;
        case 'd': dead->where.data = optarg; break;
        case 'j': dead->json = true; break;
        case 'a': dead->all = true; break;
        case 'h': fputs(usage, stdout); return 0;
        default: return cli_usage("dead", "unknown option");
        }
    return service_address_check(&dead->where, "dead");
}

int cmd_dead(int argc, char **argv)
{
    struct dead dead = {0};
    struct error e = {0};
    signal(SIGPIPE, SIG_IGN);
    int status = take_options(&dead, argc, argv);
    if (status >= 0)
        return status;
    const char *command = optind < argc ? argv[optind] : "";
    bool lists = strcmp(command, "list") == 0, some = argc - optind > 1;
    if (!lists && strcmp(command, "requeue") != 0 && strcmp(command, "discard") != 0)
        return cli_usage("dead", "list, requeue or discard is needed");
    if (lists ? some || dead.all : some == dead.all)
        return cli_usage("dead", lists ? "list takes no jobs" : "name jobs, or say --all");
    enum error_code code = open_both(&dead, &e);
    if (code == ERROR_OK && lists)
        code = list(&dead, &e);
    for (size_t i = 0; code == ERROR_OK && dead.all && i < dead.count; i++)
        code = act(&dead, command, dead.ids[i], &e);
    for (int i = optind + 1; code == ERROR_OK && i < argc; i++)
        code = act(&dead, command, argv[i], &e);
    status = code == ERROR_OK ? 0 : cli_fail("dead", NULL, &e);
    free(dead.ids);
    store_destroy(dead.store);
    queue_destroy(dead.queue);
    return status;
}

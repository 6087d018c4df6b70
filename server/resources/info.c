/* What the service tells about itself: liveness, readiness with what to do about each failure, metrics,
 * limits, devices, presets, its description (openapi.json). Only reads; /livez asks nobody. */
#include "server/http/watch.h"
#include "server/resources/follow.h"
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "api/bodies.h"
#include "base/log.h"

extern const unsigned char server_openapi[]; /* docs/openapi.json */
extern const size_t server_openapi_size;

void handle_livez(struct exchange *exchange)
{
    struct text text = {0};
    text_add(&text, "{\"status\":\"ok\"}");
    reply_json(exchange, 200, &text, NULL, 0);
}

static void check(struct text *text, bool *all, const char *name, bool good, const char *fix)
{
    text_printf(text, "%s{\"name\":\"%s\",\"ok\":%s", text->size ? "," : "", name, good ? "true" : "false");
    if (!good)
        text_printf(text, ",\"fix\":\"%s\"", fix);
    text_add(text, "}");
    *all &= good;
}

/* Our functions must be there; those of other builds may be, or no upgrade could roll. */
static void check_library(struct queue *queue, struct text *text, bool *all)
{
    struct queue_library library;
    struct error e;
    bool good = queue_library_check(queue, TOAST_VERSION, &library, &e) == ERROR_OK;
    check(text, all, "redis_functions", good,
          "let the server's user call FUNCTION LOAD and FCALL; Redis must be 7.0 or newer");
    text->size--; /* the brace */
    text_printf(text, ",\"version\":\"%s\"", library.version);
    if (good && library.newer[0]) {
        text_add(text, ",\"note\":");
        char *note =
            mem_printf("build %s, which is newer, has loaded its functions, too: replace this one (%s)",
                       library.newer, TOAST_VERSION);
        log_json_string(text, note, strlen(note));
        free(note);
    } else if (good && library.others) {
        text_printf(text,
                    ",\"note\":\"functions of %d older build%s are loaded, too: FUNCTION DELETE removes them "
                    "when no process of "
                    "%s is left\"",
                    library.others, library.others > 1 ? "s" : "", library.others > 1 ? "theirs" : "its");
    }
    text_add(text, "}");
}

void handle_readyz(struct exchange *exchange)
{
    struct queue_health health = {0};
    struct error e;
    struct text checks = {0}, text = {0};
    bool all = true;
    struct queue *queue = pool_take(exchange->server);
    bool reached = queue_check(queue, &health, &e) == ERROR_OK;
    check(&checks, &all, "redis", reached, "start Redis or correct its address");
    if (reached) {
        check(&checks, &all, "redis_primary", health.primary,
              "give the address of the primary, not of a replica");
        check(&checks, &all, "redis_append_only", health.append_only, "set appendonly yes");
        check(&checks, &all, "redis_append_fsync", health.append_always, "set appendfsync always");
        check(&checks, &all, "redis_no_eviction", health.no_eviction, "set maxmemory-policy noeviction");
        check(&checks, &all, "redis_max_memory", health.memory_bounded, "set maxmemory, for example 1gb");
        check(&checks, &all, "redis_memory", !atomic_load(&exchange->server->resources->memory_short),
              "free memory or raise maxmemory");
        check_library(queue, &checks, &all);
    }
    pool_give(exchange->server, queue);
    check(&checks, &all, "disk", store_free_share(exchange->server->store) >= SERVER_DISK_FREE_MIN,
          "free a tenth of the disk");
    check(&checks, &all, "accepting", !atomic_load(&exchange->server->draining),
          "this server is going away; use another");
    text_printf(&text, "{\"status\":\"%s\",\"checks\":[%s]}", all ? "ready" : "not_ready", checks.at);
    text_release(&checks);
    struct header retry = {"Retry-After", "2"};
    reply_json(exchange, all ? 200 : 503, &text, &retry, all ? 0 : 1);
}

/* Each stands from the first scrape on, at 0: the first event of all must show as an increase. */
static const struct {
    const char *name, *metric, *type, *help;
} plain[] = {
    {"submitted", "toast_jobs_submitted_total", "counter", "Jobs accepted"},
    {"rollouts", "toast_rollouts_total", "counter", "Rollouts of searches that were committed"},
    {"edges_dropped", "toast_edges_dropped_total", "counter",
     "Edges and prices of committed searches that did not fit into a task's result or the snapshot"},
    {"cached", "toast_jobs_cached_total", "counter", "Jobs answered by an equal one that had succeeded"},
    {"archived", "toast_jobs_archived_total", "counter", "Ended jobs that left Redis for the store"},
    {"deleted", "toast_jobs_deleted_total", "counter", "Jobs deleted by clients or forgotten in time"},
    {"collections", "toast_collections_total", "counter", "Looks for blobs to which nothing refers"},
    {"blobs_removed", "toast_blobs_removed_total", "counter", "Blobs removed by these"},
    {"blob_bytes_removed", "toast_blob_bytes_removed_total", "counter", "Bytes of the blobs removed"},
    {"blobs", "toast_blobs", "gauge", "Blobs in the store at the last look"},
    {"blob_bytes", "toast_blob_bytes", "gauge", "Bytes of the blobs in the store at the last look"},
    {"lease_lost", "toast_lease_lost_total", "counter", "Leases of tasks that ran out"},
    {"fenced", "toast_fenced_writes_total", "counter", "Late writes that were refused"},
    {"nondeterminism", "toast_nondeterminism_total", "counter",
     "Second runs of a task that gave other bytes"},
    {"assisted", "toast_tasks_assisted_total", "counter", "Tasks that an idle worker ran a second time"},
    {"resets", "toast_job_resets_total", "counter", "Jobs that began again, their blobs or build gone"},
    {"run", "toast_jobs_claimable", "gauge", "Jobs with tasks that nobody holds"},
    {"leases", "toast_tasks_held", "gauge", "Tasks with a lease"},
    {"workers", "toast_workers", "gauge", "Workers that beat within 15 seconds"},
    {"slots_wanted", "toast_slots_wanted", "gauge", "Tasks that could run now"},
};

static void write_counters(struct text *text, const struct queue_fields *n)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        const char *value = queue_field(n, plain[i].name);
        metrics_head(text, plain[i].metric, plain[i].type, plain[i].help);
        text_printf(text, "%s %s\n", plain[i].metric, value[0] ? value : "0");
    }
    metrics_head(text, "toast_job_queue_age_seconds", "gauge",
                 "How long the oldest of the claimable jobs has waited");
    text_printf(text, "toast_job_queue_age_seconds %.3f\n",
                (double)strtoll(queue_field(n, "queue_age_ms"), NULL, 10) * 1e-3);
}

/* each reason from the first scrape on, at 0, as those above */
static void write_deaths(struct text *text, const struct queue_fields *n)
{
    static const char *const reasons[] = {"fault",  "time_limit", "memory_limit", "oom",
                                          "killed", "exit",       "host",         "lease"};
    metrics_head(text, "toast_task_deaths_total", "counter", "Attempts at tasks that were lost, by reason");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char name[32];
        snprintf(name, sizeof name, "deaths:%s", reasons[i]);
        const char *value = queue_field(n, name);
        text_printf(text, "toast_task_deaths_total{reason=\"%s\"} %s\n", reasons[i], value[0] ? value : "0");
    }
}

/* task_ms:<kind> and task_timed:<kind>: from claim to result, waiting for the worker's report included */
static void write_task_times(struct text *text, const struct queue_fields *n)
{
    metrics_head(text, "toast_task_seconds", "summary", "From a task's claim to its result");
    for (size_t i = 0; i < n->count; i++) {
        const char *name = n->at[i].name;
        if (strncmp(name, "task_ms:", 8) == 0)
            text_printf(text, "toast_task_seconds_sum{kind=\"%s\"} %.3f\n", name + 8,
                        (double)strtoll(n->at[i].value, NULL, 10) * 1e-3);
        if (strncmp(name, "task_timed:", 11) == 0)
            text_printf(text, "toast_task_seconds_count{kind=\"%s\"} %s\n", name + 11, n->at[i].value);
    }
}

void handle_metrics(struct exchange *exchange)
{
    struct queue_fields n = {0};
    struct error e;
    struct text text = {0};
    struct queue *queue = pool_take(exchange->server);
    bool reached = queue_counters(queue, &n, &e) == ERROR_OK;
    pool_give(exchange->server, queue);
    metrics_write(exchange->server->metrics, &text);
    metrics_head(&text, "toast_redis_up", "gauge", "Whether this server reaches Redis");
    text_printf(&text, "toast_redis_up %d\n", reached);
    metrics_head(&text, "toast_event_streams", "gauge", "Open event streams of this server");
    text_printf(&text, "toast_event_streams %zu\n", follow_streams(exchange->server->resources->follow));
    metrics_head(&text, "toast_jobs", "gauge", "Jobs that are kept, by state");
    for (size_t i = 0; i < n.count; i++)
        if (strncmp(n.at[i].name, "jobs:", 5) == 0)
            text_printf(&text, "toast_jobs{state=\"%s\"} %s\n", n.at[i].name + 5, n.at[i].value);
    metrics_head(&text, "toast_tasks_total", "counter", "Tasks that ended, by kind and result");
    for (size_t i = 0; i < n.count; i++) {
        const char *kind = n.at[i].name + 6, *result = strrchr(n.at[i].name, ':');
        if (strncmp(n.at[i].name, "tasks:", 6) == 0 && result > kind)
            text_printf(&text, "toast_tasks_total{kind=\"%.*s\",result=\"%s\"} %s\n", (int)(result - kind),
                        kind, result + 1, n.at[i].value);
    }
    write_task_times(&text, &n);
    if (reached) { /* else unknown, which is not 0 */
        write_counters(&text, &n);
        write_deaths(&text, &n);
    }
    metrics_head(&text, "toast_redis_reconnects_total", "counter",
                 "Connections to Redis that this server made anew");
    text_printf(&text, "toast_redis_reconnects_total %lu\n", queue_reconnects_total());
    queue_fields_release(&n);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(text.size, text.at, MHD_RESPMEM_MUST_FREE);
    exchange->reply_bytes = text.size;
    reply_response(exchange, 200, response, "text/plain; version=0.0.4; charset=utf-8", NULL, 0);
}

void handle_openapi(struct exchange *exchange)
{
    reply_bytes(exchange, "application/json", server_openapi, server_openapi_size);
}

static void reply_text(struct exchange *exchange, char *json)
{
    reply_bytes(exchange, "application/json", json, strlen(json));
    free(json);
}

void handle_devices(struct exchange *exchange)
{
    reply_text(exchange, api_devices_json());
}

void handle_presets(struct exchange *exchange)
{
    reply_text(exchange, api_presets_json());
}

void handle_limits(struct exchange *exchange)
{
    const struct tenant_limits *tenant_limits = &exchange->server->access->options->limits;
    struct api_tenant_limits of_tenant = {.open_jobs = tenant_limits->open_jobs,
                                          .submits_per_s = tenant_limits->submits_per_s,
                                          .event_streams = FOLLOW_STREAMS_PER_TENANT,
                                          .module_bytes = tenant_limits->tenant_bytes};
    reply_text(exchange, api_limits_json(&of_tenant));
}

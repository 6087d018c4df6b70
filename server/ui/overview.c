/* /ui: is the service well, what does it do, how fast. Figures of the whole service, none of a tenant's
 * jobs by name. */
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

static const char *const states[] = {"queued",    "validating", "running",   "finalizing", "cancelling",
                                     "succeeded", "failed",     "cancelled", "expired",    "dead"};

struct overview {
    struct queue_fields counters;
    struct queue_redis redis;
    struct queue_health health;
    struct rate rates[RATES_MAX];
    size_t rate_count;
    double free_share;
};

static long long in_state(const struct overview *overview, const char *state)
{
    char name[32];
    snprintf(name, sizeof name, "jobs:%s", state);
    long long n = queue_number(&overview->counters, name);
    return n > 0 ? n : 0;
}

static void write_tiles(struct text *text, const struct overview *overview)
{
    char value[32], note[80], age[32];
    struct rate minute = {0}, *last = overview->rate_count ? &minute : NULL;
    size_t samples = 0;
    for (size_t i = overview->rate_count; i-- > 0 && samples < 6; samples++) {
        minute.jobs_per_min += overview->rates[i].jobs_per_min;
        minute.rollouts_per_min += overview->rates[i].rollouts_per_min;
    }
    minute.jobs_per_min /= samples ? (double)samples : 1;
    minute.rollouts_per_min /= samples ? (double)samples : 1;
    long long waiting = in_state(overview, "queued"), busy = in_state(overview, "validating") +
                                                             in_state(overview, "running") +
                                                             in_state(overview, "finalizing");
    ui_duration(queue_number(&overview->counters, "queue_age_ms"), age);
    text_add(text, "<dl class=\"tiles\">");
    html_count((uint64_t)busy, value);
    ui_tile(text, "Jobs running", value, "being read, searched or written");
    html_count((uint64_t)waiting, value);
    snprintf(note, sizeof note, "oldest with work to take: %s",
             queue_number(&overview->counters, "run") ? age : "none");
    ui_tile(text, "Jobs queued", value, note);
    snprintf(value, sizeof value, "%.3g", last ? last->jobs_per_min : 0);
    ui_tile(text, "Jobs ended a minute", last ? value : "–", "over the last minute");
    html_format_count(last ? last->rollouts_per_min : 0, value);
    ui_tile(text, "Rollouts a minute", last ? value : "–", "committed, all workers");
    html_count((uint64_t)queue_number(&overview->counters, "workers"), value);
    snprintf(note, sizeof note, "hold %lld tasks", queue_number(&overview->counters, "leases"));
    ui_tile(text, "Workers", value, note);
    html_format_bytes((double)overview->redis.used_bytes, value);
    snprintf(note, sizeof note, "%.0f %% of maxmemory",
             overview->redis.limit_bytes
                 ? 100.0 * (double)overview->redis.used_bytes / (double)overview->redis.limit_bytes
                 : 0);
    ui_tile(text, "Redis memory", value, note);
    snprintf(value, sizeof value, "%.2f ms", overview->redis.ping_s * 1e3);
    ui_tile(text, "Redis answers in", value, "one round trip, now");
    snprintf(value, sizeof value, "%.0f %%", overview->free_share * 100);
    ui_tile(text, "Disk free", value, "of the store's file system");
    text_add(text, "</dl>");
}

static void write_states(struct text *text, const struct overview *overview)
{
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        total += (uint64_t)in_state(overview, states[i]);
    ui_card(text, "states", "Jobs by state", false);
    text_add(text, "<table><tbody>");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        char n[32];
        html_count((uint64_t)in_state(overview, states[i]), n);
        text_add(text, "<tr><td>");
        ui_state(text, states[i]);
        text_add(text, "</td><td class=\"bar\">");
        ui_meter(text, states[i], total ? (double)in_state(overview, states[i]) / (double)total : 0, false);
        html_add(text,
                 "</td><td class=\"num\"><a href=\"/ui/jobs?state=%s\" aria-label=\"%s jobs: "
                 "%s\">%s</a></td></tr>",
                 states[i], states[i], n, n);
    }
    text_add(text, "</tbody></table>");
    ui_card_end(text);
}

static void ago_format(double value, char out[32])
{
    snprintf(out, 32, value < -0.05 ? "%.0f min" : "now", value);
}

static void rate_format(double value, char out[32])
{
    if (value < 100)
        snprintf(out, 32, "%.3g", value);
    else
        html_format_count(value, out);
}

static void write_rate(struct text *text, const struct overview *overview, bool jobs)
{
    double x[RATES_MAX], y[RATES_MAX], high = 0;
    size_t n = overview->rate_count;
    char now[32];
    for (size_t i = 0; i < n; i++) {
        x[i] = -overview->rates[i].minutes_ago;
        y[i] = jobs ? overview->rates[i].jobs_per_min : overview->rates[i].rollouts_per_min;
        high = y[i] > high ? y[i] : high;
    }
    const char *title = jobs ? "Jobs ended a minute" : "Rollouts a minute";
    if (n < 2) {
        ui_card(text, jobs ? "jobs-rate" : "rollouts-rate", title, false);
        text_add(text,
                 "<p class=\"empty\">This server has just started: rates come after twenty seconds.</p>");
        ui_card_end(text);
        return;
    }
    struct html_line line = {title, x, y, (uint32_t)n, jobs ? 2 : 0, false, true};
    struct html_plot other_html_plot = {.title = title,
                                        .x_name = "minutes ago",
                                        .x_format = ago_format,
                                        .y_format = rate_format,
                                        .x_low = x[0] < -5 ? x[0] : -5,
                                        .y_high = high > 0 ? high * 1.1 : 1,
                                        .lines = &line,
                                        .line_count = 1};
    struct text svg = {0};
    html_plot(&svg, &other_html_plot);
    html_figure(text, jobs ? "jobs-rate" : "rollouts-rate", title,
                "As this server has seen it, at most an hour.", &svg);
    html_details(text, "Numbers", (uint32_t)n);
    html_add(
        text,
        "<table><thead><tr><th class=\"num\">Minutes ago</th><th class=\"num\">%s</th></tr></thead><tbody>",
        title);
    for (size_t i = n; i-- > 0 && n - i <= 60;) {
        rate_format(y[i], now);
        html_add(text, "<tr><td class=\"num\">%.1f</td><td class=\"num\">%s</td></tr>", -x[i], now);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
    html_figure_end(text);
    text_release(&svg);
}

static void row(struct text *text, const char *name, const char *value, int good)
{
    html_add(text, "<tr><td>%s</td><td class=\"long\">%s</td><td>", name, value);
    if (good >= 0)
        html_add(text, "<span class=\"badge %s\">%s</span>", good ? "good" : "bad",
                 good ? "ok" : "look here");
    text_add(text, "</td></tr>");
}

static void write_health(struct text *text, const struct overview *overview, struct server *server)
{
    const struct queue_redis *redis = &overview->redis;
    char value[120], used[32], limit[32];
    ui_card(text, "health", "Redis, disk, this server", false);
    text_add(text, "<table><tbody>");
    html_format_bytes((double)redis->used_bytes, used);
    html_format_bytes((double)redis->limit_bytes, limit);
    snprintf(value, sizeof value, "%s of %s", used, redis->limit_bytes ? limit : "any size: set maxmemory");
    row(text, "Memory", value, redis->limit_bytes && !atomic_load(&server->resources->memory_short));
    html_format_bytes((double)redis->aof_bytes, used);
    snprintf(value, sizeof value, "%s, %s, %s", redis->append_only ? "on" : "off",
             overview->health.append_always ? "fsync always" : "fsync not always", used);
    row(text, "Append-only file", value,
        redis->append_only && overview->health.append_always && redis->aof_good);
    row(text, "Eviction", overview->health.no_eviction ? "noeviction" : "keys may be evicted",
        overview->health.no_eviction);
    row(text, "Role", overview->health.primary ? "primary" : "replica", overview->health.primary);
    snprintf(value, sizeof value, "%lld clients, %lld commands/s, Redis %s", redis->clients,
             redis->commands_per_s, redis->version);
    row(text, "Load", value, -1);
    snprintf(value, sizeof value, "%.0f %% free", overview->free_share * 100);
    row(text, "Store's disk", value, overview->free_share >= 0.1);
    snprintf(value, sizeof value, "%lld lost leases, %lld late results refused, %lld differing results",
             queue_number(&overview->counters, "lease_lost"), queue_number(&overview->counters, "fenced"),
             queue_number(&overview->counters, "nondeterminism"));
    row(text, "Since the beginning", value, queue_number(&overview->counters, "nondeterminism") == 0);
    text_add(
        text,
        "</tbody></table><p class=\"links\"><a href=\"/readyz\">readyz</a> <a href=\"/metrics\">metrics</a> "
        "<a href=\"/openapi.json\">openapi.json</a></p>");
    ui_card_end(text);
}

void handle_ui_overview(struct exchange *exchange)
{
    struct overview overview = {.free_share = store_free_share(exchange->server->store)};
    struct error e;
    struct ui_page page;
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_counters(queue, &overview.counters, &e);
    if (code == ERROR_OK)
        code = queue_redis_state(queue, &overview.redis, &e);
    if (code == ERROR_OK)
        code = queue_check(queue, &overview.health, &e);
    pool_give(exchange->server, queue);
    if (code != ERROR_OK) {
        queue_fields_release(&overview.counters);
        ui_problem(exchange, NULL, &e);
        return;
    }
    overview.rate_count = rates_read(exchange->server->rates, overview.rates);
    ui_begin(&page, exchange, UI_OVERVIEW, "Overview", 5);
    text_add(&page.text, "<header class=\"top\"><h1>Overview</h1></header>");
    ui_live(&page, NULL);
    write_tiles(&page.text, &overview);
    text_add(&page.text, "<div class=\"columns\">");
    write_states(&page.text, &overview);
    write_health(&page.text, &overview, exchange->server);
    write_rate(&page.text, &overview, true);
    write_rate(&page.text, &overview, false);
    text_add(&page.text, "</div>");
    ui_live_end(&page);
    queue_fields_release(&overview.counters);
    ui_end(&page, 200);
}

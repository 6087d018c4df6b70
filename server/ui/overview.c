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

static long long in_state(const struct overview *o, const char *state)
{
    char name[32];
    snprintf(name, sizeof name, "jobs:%s", state);
    long long n = queue_number(&o->counters, name);
    return n > 0 ? n : 0;
}

static void write_tiles(struct text *t, const struct overview *o)
{
    char value[32], note[80], age[32];
    struct rate minute = {0}, *last = o->rate_count ? &minute : NULL;
    size_t samples = 0;
    for (size_t i = o->rate_count; i-- > 0 && samples < 6; samples++) {
        minute.jobs_per_min += o->rates[i].jobs_per_min;
        minute.rollouts_per_min += o->rates[i].rollouts_per_min;
    }
    minute.jobs_per_min /= samples ? (double)samples : 1;
    minute.rollouts_per_min /= samples ? (double)samples : 1;
    long long waiting = in_state(o, "queued"),
              busy = in_state(o, "validating") + in_state(o, "running") + in_state(o, "finalizing");
    ui_duration(queue_number(&o->counters, "queue_age_ms"), age);
    text_add(t, "<dl class=\"tiles\">");
    html_count((uint64_t)busy, value);
    ui_tile(t, "Jobs running", value, "being read, searched or written");
    html_count((uint64_t)waiting, value);
    snprintf(note, sizeof note, "oldest with work to take: %s",
             queue_number(&o->counters, "run") ? age : "none");
    ui_tile(t, "Jobs queued", value, note);
    snprintf(value, sizeof value, "%.3g", last ? last->jobs_per_min : 0);
    ui_tile(t, "Jobs ended a minute", last ? value : "–", "over the last minute");
    html_format_count(last ? last->rollouts_per_min : 0, value);
    ui_tile(t, "Rollouts a minute", last ? value : "–", "committed, all workers");
    html_count((uint64_t)queue_number(&o->counters, "workers"), value);
    snprintf(note, sizeof note, "hold %lld tasks", queue_number(&o->counters, "leases"));
    ui_tile(t, "Workers", value, note);
    html_format_bytes((double)o->redis.used_bytes, value);
    snprintf(note, sizeof note, "%.0f %% of maxmemory",
             o->redis.limit_bytes ? 100.0 * (double)o->redis.used_bytes / (double)o->redis.limit_bytes : 0);
    ui_tile(t, "Redis memory", value, note);
    snprintf(value, sizeof value, "%.2f ms", o->redis.ping_s * 1e3);
    ui_tile(t, "Redis answers in", value, "one round trip, now");
    snprintf(value, sizeof value, "%.0f %%", o->free_share * 100);
    ui_tile(t, "Disk free", value, "of the store's file system");
    text_add(t, "</dl>");
}

static void write_states(struct text *t, const struct overview *o)
{
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        total += (uint64_t)in_state(o, states[i]);
    ui_card(t, "states", "Jobs by state", false);
    text_add(t, "<table><tbody>");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        char n[32];
        html_count((uint64_t)in_state(o, states[i]), n);
        text_add(t, "<tr><td>");
        ui_state(t, states[i]);
        text_add(t, "</td><td class=\"bar\">");
        ui_meter(t, states[i], total ? (double)in_state(o, states[i]) / (double)total : 0, false);
        html_add(t,
                 "</td><td class=\"num\"><a href=\"/ui/jobs?state=%s\" aria-label=\"%s jobs: "
                 "%s\">%s</a></td></tr>",
                 states[i], states[i], n, n);
    }
    text_add(t, "</tbody></table>");
    ui_card_end(t);
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

static void write_rate(struct text *t, const struct overview *o, bool jobs)
{
    double x[RATES_MAX], y[RATES_MAX], high = 0;
    size_t n = o->rate_count;
    char now[32];
    for (size_t i = 0; i < n; i++) {
        x[i] = -o->rates[i].minutes_ago;
        y[i] = jobs ? o->rates[i].jobs_per_min : o->rates[i].rollouts_per_min;
        high = y[i] > high ? y[i] : high;
    }
    const char *title = jobs ? "Jobs ended a minute" : "Rollouts a minute";
    if (n < 2) {
        ui_card(t, jobs ? "jobs-rate" : "rollouts-rate", title, false);
        text_add(t, "<p class=\"empty\">This server has just started: rates come after twenty seconds.</p>");
        ui_card_end(t);
        return;
    }
    struct html_line line = {title, x, y, (uint32_t)n, jobs ? 2 : 0, false, true};
    struct html_plot p = {.title = title,
                          .x_name = "minutes ago",
                          .x_format = ago_format,
                          .y_format = rate_format,
                          .x_low = x[0] < -5 ? x[0] : -5,
                          .y_high = high > 0 ? high * 1.1 : 1,
                          .lines = &line,
                          .line_count = 1};
    struct text svg = {0};
    html_plot(&svg, &p);
    html_figure(t, jobs ? "jobs-rate" : "rollouts-rate", title,
                "As this server has seen it, at most an hour.", &svg);
    html_details(t, "Numbers", (uint32_t)n);
    html_add(
        t,
        "<table><thead><tr><th class=\"num\">Minutes ago</th><th class=\"num\">%s</th></tr></thead><tbody>",
        title);
    for (size_t i = n; i-- > 0 && n - i <= 60;) {
        rate_format(y[i], now);
        html_add(t, "<tr><td class=\"num\">%.1f</td><td class=\"num\">%s</td></tr>", -x[i], now);
    }
    text_add(t, "</tbody></table>");
    html_details_end(t);
    html_figure_end(t);
    text_release(&svg);
}

static void row(struct text *t, const char *name, const char *value, int good)
{
    html_add(t, "<tr><td>%s</td><td class=\"long\">%s</td><td>", name, value);
    if (good >= 0)
        html_add(t, "<span class=\"badge %s\">%s</span>", good ? "good" : "bad", good ? "ok" : "look here");
    text_add(t, "</td></tr>");
}

static void write_health(struct text *t, const struct overview *o, struct server *s)
{
    const struct queue_redis *r = &o->redis;
    char value[120], used[32], limit[32];
    ui_card(t, "health", "Redis, disk, this server", false);
    text_add(t, "<table><tbody>");
    html_format_bytes((double)r->used_bytes, used);
    html_format_bytes((double)r->limit_bytes, limit);
    snprintf(value, sizeof value, "%s of %s", used, r->limit_bytes ? limit : "any size: set maxmemory");
    row(t, "Memory", value, r->limit_bytes && !atomic_load(&s->resources->memory_short));
    html_format_bytes((double)r->aof_bytes, used);
    snprintf(value, sizeof value, "%s, %s, %s", r->append_only ? "on" : "off",
             o->health.append_always ? "fsync always" : "fsync not always", used);
    row(t, "Append-only file", value, r->append_only && o->health.append_always && r->aof_good);
    row(t, "Eviction", o->health.no_eviction ? "noeviction" : "keys may be evicted", o->health.no_eviction);
    row(t, "Role", o->health.primary ? "primary" : "replica", o->health.primary);
    snprintf(value, sizeof value, "%lld clients, %lld commands/s, Redis %s", r->clients, r->commands_per_s,
             r->version);
    row(t, "Load", value, -1);
    snprintf(value, sizeof value, "%.0f %% free", o->free_share * 100);
    row(t, "Store's disk", value, o->free_share >= 0.1);
    snprintf(value, sizeof value, "%lld lost leases, %lld late results refused, %lld differing results",
             queue_number(&o->counters, "lease_lost"), queue_number(&o->counters, "fenced"),
             queue_number(&o->counters, "nondeterminism"));
    row(t, "Since the beginning", value, queue_number(&o->counters, "nondeterminism") == 0);
    text_add(
        t,
        "</tbody></table><p class=\"links\"><a href=\"/readyz\">readyz</a> <a href=\"/metrics\">metrics</a> "
        "<a href=\"/openapi.json\">openapi.json</a></p>");
    ui_card_end(t);
}

void handle_ui_overview(struct exchange *x)
{
    struct overview o = {.free_share = store_free_share(x->server->store)};
    struct error e;
    struct ui_page p;
    struct queue *q = pool_take(x->server);
    enum error_code code = queue_counters(q, &o.counters, &e);
    if (code == ERROR_OK)
        code = queue_redis_state(q, &o.redis, &e);
    if (code == ERROR_OK)
        code = queue_check(q, &o.health, &e);
    pool_give(x->server, q);
    if (code != ERROR_OK) {
        queue_fields_release(&o.counters);
        ui_problem(x, NULL, &e);
        return;
    }
    o.rate_count = rates_read(x->server->rates, o.rates);
    ui_begin(&p, x, UI_OVERVIEW, "Overview", 5);
    text_add(&p.t, "<header class=\"top\"><h1>Overview</h1></header>");
    ui_live(&p, NULL);
    write_tiles(&p.t, &o);
    text_add(&p.t, "<div class=\"columns\">");
    write_states(&p.t, &o);
    write_health(&p.t, &o, x->server);
    write_rate(&p.t, &o, true);
    write_rate(&p.t, &o, false);
    text_add(&p.t, "</div>");
    ui_live_end(&p);
    queue_fields_release(&o.counters);
    ui_end(&p, 200);
}

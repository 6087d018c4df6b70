/* The parts of a job's page that change while it runs: summary, search, tasks, events, artifacts. Each
 * takes a struct ui_job and writes HTML; none asks Redis or the store by itself. See ui.h. */
#include "server/ui/ui.h"

#include <time.h>

enum { SHOWN_EVENTS = 40, CURVE = 256 };

/* ---- summary ---- */

static void write_error(struct text *t, const struct ui_job *j)
{
    struct look *error = ui_field_look(&j->fields, "error");
    if (look_there(error)) {
        const char *said = look_text(look_get(error, "message"));
        html_add(t, "<section class=\"notice\"><h2>%s</h2><p>%s</p>", look_text(look_get(error, "code")),
                 said[0] ? said : look_text(look_get(error, "detail")));
        if (look_number(look_get(error, "line")) > 0)
            html_add(t, "<p>At line %.0f, column %.0f of the module.</p>",
                     look_number(look_get(error, "line")), look_number(look_get(error, "column")));
        if (look_text(look_get(error, "pointer"))[0])
            html_add(t, "<p>At <code>%s</code> of the request.</p>", look_text(look_get(error, "pointer")));
        text_add(t, "</section>");
    }
    look_release(error);
}

/* of the report once the job has ended, of the progress before */
static void write_best(struct text *t, const struct ui_job *j)
{
    const struct look *best = look_get(j->report ? j->report : j->progress, j->report ? "summary" : "best");
    double speedup = look_number(look_get(j->progress, "speedup_vs_best_baseline")),
           step = look_number(look_get(best, "step_ps")),
           before = look_number(look_get(j->progress, "best.step_ps"));
    char value[32];
    if (!best)
        return;
    html_format_time(step, value);
    ui_tile(t, "Best step time", value, look_text(look_get(best, "found_by")));
    html_format_bytes(look_number(look_get(best, "peak_bytes")), value);
    ui_tile(t, "Peak memory a device", value, look_true(look_get(best, "fits")) ? "fits" : "over the limit");
    snprintf(value, sizeof value, speedup > 0 && step > 0 ? "%.2f×" : "–",
             step > 0 ? speedup * before / step : 0);
    ui_tile(t, "Against the best expert plan", value, "more is faster");
}

void ui_job_summary(struct ui_page *p, const struct ui_job *j)
{
    struct text *t = &p->t;
    const struct queue_fields *f = &j->fields;
    long long created = queue_number(f, "created"), started = queue_number(f, "started"),
              ended = queue_number(f, "finished");
    bool over = job_ended(f);
    char value[32], note[100], waited[32];
    double fraction = over ? 1 : look_number(look_get(j->progress, "fraction"));
    const char *stage = look_text(look_get(j->progress, "stage"));
    text_add(t, "<div class=\"summary\">");
    ui_state(t, queue_field(f, "state"));
    ui_labels(t, queue_field(f, "labels"));
    if (queue_field(f, "stop")[0])
        html_add(t, "<span class=\"muted\">stopped by %s</span>", queue_field(f, "stop"));
    text_add(t, "</div>");
    write_error(t, j);
    text_add(t, "<dl class=\"tiles\">");
    snprintf(value, sizeof value, "%.0f %%", fraction * 100);
    snprintf(note, sizeof note, "%s, step %lld, %lld tasks done",
             over       ? "ended"
             : stage[0] ? stage
                        : "waiting for a worker",
             queue_number(f, "epoch"), queue_number(f, "tasks_done"));
    ui_tile(t, "Progress", value, note);
    write_best(t, j);
    html_format_count(look_number(look_get(j->progress, "rollouts")), value);
    html_format_count(look_number(look_get(j->progress, "evaluations")), waited);
    snprintf(note, sizeof note, "%s prices", waited);
    ui_tile(t, "Rollouts", value, note);
    ui_duration((ended ? ended : j->now_ms) - created, value);
    ui_duration(started ? started - created : 0, waited);
    snprintf(note, sizeof note, "%s of it waiting", waited);
    ui_tile(t, ended ? "Took" : "Age", value, started ? note : "not begun");
    snprintf(value, sizeof value, "%lld", queue_number(f, "attempt"));
    ui_tile(t, "Attempt", value, "once more after a change of build or a retry");
    text_add(t, "</dl>");
}

/* ---- search progress ---- */

struct curve {
    double x[CURVE + 1], y[CURVE + 1];
    uint32_t count;
    double expert; /* step time of the best expert plan; 0 unknown */
    char expert_name[120];
};

static void add_point(struct curve *c, double rollouts, double step)
{
    if (step <= 0 || c->count > CURVE || (c->count && rollouts < c->x[c->count - 1]))
        return;
    c->x[c->count] = rollouts;
    c->y[c->count++] = step;
}

/* from the report at the end, from the events before */
static void collect_curve(const struct ui_job *j, struct curve *c)
{
    const struct look *curve = look_get(j->report, "search.curve"),
                      *baselines = look_get(j->report, "baselines");
    for (size_t i = 0; i < look_count(curve); i++)
        add_point(c, look_number(look_get(look_item(curve, i), "rollouts")),
                  look_number(look_get(look_item(curve, i), "step_ps")));
    double least = 0;
    for (size_t i = 0; i < look_count(baselines); i++) {
        const struct look *b = look_item(baselines, i);
        double cost = look_number(look_get(b, "cost"));
        bool expert = strcmp(look_text(look_get(b, "name")), "cfn") != 0; /* other planners race as well */
        if (!expert || (c->expert > 0 && cost >= least))
            continue;
        least = cost;
        c->expert = look_number(look_get(b, "step_ps"));
        snprintf(c->expert_name, sizeof c->expert_name, "%.110s", look_text(look_get(b, "name")));
    }
    if (j->report) {
        add_point(c, look_number(look_get(j->report, "search.rollouts")),
                  look_number(look_get(j->report, "summary.step_ps")));
        return;
    }
    for (size_t i = 0; i < j->history.events.count; i++) {
        struct look *p =
            look_parse(j->history.events.at[i].progress, strlen(j->history.events.at[i].progress));
        double step = look_number(look_get(p, "best.step_ps")),
               speedup = look_number(look_get(p, "speedup_vs_best_baseline"));
        add_point(c, look_number(look_get(p, "rollouts")), step);
        if (speedup > 0) {
            c->expert = speedup * step;
            snprintf(c->expert_name, sizeof c->expert_name, "best expert plan");
        }
        look_release(p);
    }
}

static void draw_curve(struct text *t, const struct curve *c, bool fits, bool ended)
{
    char step[32], rollouts[32];
    double low = c->y[0], high = c->y[0];
    for (uint32_t i = 0; i < c->count; i++) {
        low = c->y[i] < low ? c->y[i] : low;
        high = c->y[i] > high ? c->y[i] : high;
    }
    bool shown = c->expert > 0 && c->expert < high * 3 && c->expert * 3 > low;
    if (shown) {
        low = c->expert < low ? c->expert : low;
        high = c->expert > high ? c->expert : high;
    }
    double margin = high > low ? (high - low) * 0.15 : high * 0.05;
    struct html_line line = {"best", c->x, c->y, c->count, 0, true, false};
    struct html_rule rule = {c->expert_name, c->expert, 1, false};
    struct html_plot plot = {.title = "Step time of the best plan by rollouts",
                             .x_name = "rollouts",
                             .x_format = html_format_count,
                             .y_format = html_format_time,
                             .x_high = c->x[c->count - 1] > 0 ? c->x[c->count - 1] : 1,
                             .y_low = low - margin > 0 ? low - margin : 0,
                             .y_high = high + margin,
                             .lines = &line,
                             .line_count = 1,
                             .rules = &rule,
                             .rule_count = shown,
                             .mark_x = c->x[c->count - 1],
                             .mark_y = c->y[c->count - 1],
                             .mark = ended ? "the plan" : "best so far"};
    struct text svg = {0};
    html_plot(&svg, &plot);
    html_figure(t, "search", "Search progress",
                fits ? "Step time of the best plan by rollouts, against the best expert plan."
                     : "Step time of the best plan by rollouts. While nothing fits, less memory is better "
                       "even where it takes longer.",
                &svg);
    html_details(t, "Numbers", c->count);
    text_add(
        t,
        "<table><thead><tr><th class=\"num\">Rollouts</th><th class=\"num\">Step</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < c->count; i++) {
        html_format_count(c->x[i], rollouts);
        html_format_time(c->y[i], step);
        html_add(t, "<tr><td class=\"num\">%s</td><td class=\"num\">%s</td></tr>", rollouts, step);
    }
    text_add(t, "</tbody></table>");
    html_details_end(t);
    html_figure_end(t);
    text_release(&svg);
}

void ui_job_search(struct ui_page *p, const struct ui_job *j)
{
    struct curve *c = mem_zalloc(1, sizeof *c);
    collect_curve(j, c);
    if (c->count) {
        draw_curve(&p->t, c, look_true(look_get(j->progress, "best.fits")), job_ended(&j->fields));
    } else {
        ui_card(&p->t, "search", "Search progress", false);
        html_add(&p->t, "<p class=\"empty\">%s</p>",
                 job_ended(&j->fields) ? "The job ended before a plan was priced."
                                       : "No plan has been priced yet.");
        ui_card_end(&p->t);
    }
    free(c);
}

/* ---- who works on it ---- */

void ui_job_tasks(struct ui_page *p, const struct ui_job *j)
{
    struct text *t = &p->t;
    const struct queue_fields *f = &j->fields;
    char left[32];
    if (job_ended(f))
        return;
    ui_card(t, "tasks", "Tasks now", false);
    long long tasks = queue_number(f, "tasks"), done = queue_number(f, "done");
    html_add(t, "<p class=\"muted\">Step %lld: %s, %lld of %lld done, %zu held.</p>",
             queue_number(f, "epoch"), queue_field(f, "kind"), done, tasks, j->held.count);
    ui_meter(t, "Tasks of this step", tasks ? (double)done / (double)tasks : 0, false);
    if (j->held.count == 0) {
        text_add(t, "<p class=\"empty\">Nobody holds a task of this job at this moment.</p>");
        ui_card_end(t);
        return;
    }
    text_add(t, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                "aria-label=\"Leases\"><table><thead><tr><th>Task</th><th>Worker</th><th "
                "class=\"num\">Lease ends in</th></tr></thead><tbody>");
    for (size_t i = 0; i < j->held.count; i++) {
        const struct queue_held *h = &j->held.at[i];
        ui_duration(h->until_ms - j->now_ms, left);
        html_add(t, "<tr><td>%s %u/%u</td><td class=\"long mono\">%s</td><td class=\"num\">%s</td></tr>",
                 h->kind, h->epoch, h->index, h->worker[0] ? h->worker : "given back", left);
    }
    text_add(t, "</tbody></table></div>");
    ui_card_end(t);
}

/* ---- events ---- */

static void write_event(struct text *t, const struct queue_event *v, long long created)
{
    char since[32];
    ui_duration((long long)v->id.ms - created, since);
    html_add(t, "<tr><td class=\"num\">+%s</td><td>%s</td><td class=\"long\">", since, v->name);
    if (strcmp(v->name, "state") == 0)
        ui_state(t, v->data);
    else
        html_text(t, v->data);
    html_add(t, "</td><td class=\"num\">v%lld</td></tr>", v->version);
}

void ui_job_events(struct ui_page *p, const struct ui_job *j)
{
    struct text *t = &p->t;
    size_t n = j->history.events.count;
    long long created = queue_number(&j->fields, "created");
    ui_card(t, "events", "Events", false);
    if (n == 0)
        text_add(t, "<p class=\"empty\">None are left.</p>");
    static const char head[] = "<table><thead><tr><th class=\"num\">After</th><th>Event</th><th>What</th><th "
                               "class=\"num\">Version</th></tr>"
                               "</thead><tbody>";
    if (n) {
        text_add(
            t,
            "<div class=\"scroll tall\" tabindex=\"0\" role=\"group\" aria-label=\"Events, newest first\">");
        text_add(t, head);
        for (size_t i = 0; i < n && i < SHOWN_EVENTS; i++)
            write_event(t, &j->history.events.at[n - 1 - i], created);
        text_add(t, "</tbody></table></div>");
    }
    if (n > SHOWN_EVENTS)
        html_add(t,
                 "<p class=\"muted\">%zu earlier ones: <a href=\"/v1/jobs/%s/events?format=json\">all as "
                 "JSON</a></p>",
                 n - SHOWN_EVENTS, j->id);
    ui_card_end(t);
}

/* ---- artifacts ---- */

void ui_job_artifacts(struct ui_page *p, const struct ui_job *j)
{
    static const struct {
        const char *name, *what;
    } known[] = {{"report.html", "the report, to read"},
                 {"plan.json", "shardings and decisions"},
                 {"report.json", "the report, to compute with"},
                 {"report.txt", "the report, for a terminal"},
                 {"annotated.mlir", "your module with sdy.sharding"},
                 {"manual.mlir", "explicit collectives, global signature"},
                 {"local.mlir", "explicit collectives, local signature"},
                 {"proof.json", "original and sharded run, compared"}};
    struct text *t = &p->t;
    struct job_artifact a;
    size_t shown = 0;
    char bytes[32];
    ui_card(t, "artifacts", "Artifacts", false);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!job_artifact(&j->fields, known[i].name, &a))
            continue;
        text_add(t, shown++ ? "" : "<table><tbody>");
        html_format_bytes((double)a.size, bytes);
        html_add(t,
                 "<tr><td><a href=\"/v1/jobs/%s/artifacts/%s\">%s</a></td><td class=\"muted\">%s</td><td "
                 "class=\"num\">%s</td></tr>",
                 j->id, known[i].name, known[i].name, known[i].what, bytes);
    }
    text_add(
        t, shown
               ? "</tbody></table>"
               : "<p class=\"empty\">They come when the job ends; plan.json as soon as there is a plan.</p>");
    ui_card_end(t);
}

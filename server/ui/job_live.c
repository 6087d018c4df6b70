/* The parts of a job's page that change while it runs: summary, search, tasks, events, artifacts. Each
 * takes a struct ui_job and writes HTML; none asks Redis or the store by itself. See ui.h. */
#include "server/ui/ui.h"

#include "planner/request.h"

#include <time.h>

enum { SHOWN_EVENTS = 40, CURVE = 256 };

/* ---- summary ---- */

static void write_error(struct text *text, const struct ui_job *j)
{
    struct look *error = ui_field_look(&j->fields, "error");
    if (look_there(error)) {
        const char *said = look_text(look_get(error, "message"));
        html_add(text, "<section class=\"notice\"><h2>%s</h2><p>%s</p>", look_text(look_get(error, "code")),
                 said[0] ? said : look_text(look_get(error, "detail")));
        if (look_number(look_get(error, "line")) > 0)
            html_add(text, "<p>At line %.0f, column %.0f of the module.</p>",
                     look_number(look_get(error, "line")), look_number(look_get(error, "column")));
        if (look_text(look_get(error, "pointer"))[0])
            html_add(text, "<p>At <code>%s</code> of the request.</p>",
                     look_text(look_get(error, "pointer")));
        text_add(text, "</section>");
    }
    look_release(error);
}

/* of the report once the job has ended, of the progress before */
static void write_best(struct text *text, const struct ui_job *j)
{
    const struct look *best = look_get(j->report ? j->report : j->progress, j->report ? "summary" : "best");
    double speedup = look_number(look_get(j->progress, "speedup_vs_best_baseline")),
           step = look_number(look_get(best, "step_ps")),
           before = look_number(look_get(j->progress, "best.step_ps"));
    char value[32];
    if (!best)
        return;
    html_format_time(step, value);
    ui_tile(text, "Best step time", value, look_text(look_get(best, "found_by")));
    html_format_bytes(look_number(look_get(best, "peak_bytes")), value);
    ui_tile(text, "Peak memory a device", value,
            look_true(look_get(best, "fits")) ? "fits" : "over the limit");
    snprintf(value, sizeof value, speedup > 0 && step > 0 ? "%.2f×" : "–",
             step > 0 ? speedup * before / step : 0);
    ui_tile(text, "Against the best expert plan", value, "more is faster");
}

void ui_job_summary(struct ui_page *page, const struct ui_job *j)
{
    struct text *text = &page->text;
    const struct queue_fields *fields = &j->fields;
    long long created = queue_number(fields, "created"), started = queue_number(fields, "started"),
              ended = queue_number(fields, "finished");
    bool over = job_ended(fields);
    char value[32], note[100], waited[32];
    double fraction = over ? 1 : look_number(look_get(j->progress, "fraction"));
    const char *stage = look_text(look_get(j->progress, "stage"));
    text_add(text, "<div class=\"summary\">");
    ui_state(text, queue_field(fields, "state"));
    ui_labels(text, queue_field(fields, "labels"));
    if (queue_field(fields, "stop")[0])
        html_add(text, "<span class=\"muted\">stopped by %s</span>", queue_field(fields, "stop"));
    text_add(text, "</div>");
    write_error(text, j);
    text_add(text, "<dl class=\"tiles\">");
    snprintf(value, sizeof value, "%.0f %%", fraction * 100);
    snprintf(note, sizeof note, "%s, step %lld, %lld tasks done",
             over       ? "ended"
             : stage[0] ? stage
                        : "waiting for a worker",
             queue_number(fields, "epoch"), queue_number(fields, "tasks_done"));
    ui_tile(text, "Progress", value, note);
    write_best(text, j);
    html_format_count(look_number(look_get(j->progress, "rollouts")), value);
    html_format_count(look_number(look_get(j->progress, "evaluations")), waited);
    snprintf(note, sizeof note, "%s prices", waited);
    ui_tile(text, "Rollouts", value, note);
    ui_duration((ended ? ended : j->now_ms) - created, value);
    ui_duration(started ? started - created : 0, waited);
    snprintf(note, sizeof note, "%s of it waiting", waited);
    ui_tile(text, ended ? "Took" : "Age", value, started ? note : "not begun");
    snprintf(value, sizeof value, "%lld", queue_number(fields, "attempt"));
    ui_tile(text, "Attempt", value, "once more after a change of build or a retry");
    text_add(text, "</dl>");
}

/* ---- search progress ---- */

struct curve {
    double x[CURVE + 1], y[CURVE + 1];
    uint32_t count;
    double expert; /* step time of the best expert plan; 0 unknown */
    char expert_name[120];
};

static void add_point(struct curve *curve, double rollouts, double step)
{
    if (step <= 0 || curve->count > CURVE || (curve->count && rollouts < curve->x[curve->count - 1]))
        return;
    curve->x[curve->count] = rollouts;
    curve->y[curve->count++] = step;
}

/* from the report at the end, from the events before */
static void collect_curve(const struct ui_job *j, struct curve *other_curve)
{
    const struct look *curve = look_get(j->report, "search.curve"),
                      *baselines = look_get(j->report, "baselines");
    for (size_t i = 0; i < look_count(curve); i++)
        add_point(other_curve, look_number(look_get(look_item(curve, i), "rollouts")),
                  look_number(look_get(look_item(curve, i), "step_ps")));
    double least = 0;
    for (size_t i = 0; i < look_count(baselines); i++) {
        const struct look *look = look_item(baselines, i);
        double cost = look_number(look_get(look, "cost"));
        const char *name = look_text(look_get(look, "name"));
        bool expert =
            strcmp(name, "cfn") != 0 && strcmp(name, "segments") != 0; /* other planners race as well */
        if (!expert || (other_curve->expert > 0 && cost >= least))
            continue;
        least = cost;
        other_curve->expert = look_number(look_get(look, "step_ps"));
        snprintf(other_curve->expert_name, sizeof other_curve->expert_name, "%.110s",
                 look_text(look_get(look, "name")));
    }
    if (j->report) {
        add_point(other_curve, look_number(look_get(j->report, "search.rollouts")),
                  look_number(look_get(j->report, "summary.step_ps")));
        return;
    }
    for (size_t i = 0; i < j->history.events.count; i++) {
        struct look *look =
            look_parse(j->history.events.at[i].progress, strlen(j->history.events.at[i].progress));
        double step = look_number(look_get(look, "best.step_ps")),
               speedup = look_number(look_get(look, "speedup_vs_best_baseline"));
        add_point(other_curve, look_number(look_get(look, "rollouts")), step);
        if (speedup > 0) {
            other_curve->expert = speedup * step;
            snprintf(other_curve->expert_name, sizeof other_curve->expert_name, "best expert plan");
        }
        look_release(look);
    }
}

static void draw_curve(struct text *text, const struct curve *curve, bool fits, bool ended)
{
    char step[32], rollouts[32];
    double low = curve->y[0], high = curve->y[0];
    for (uint32_t i = 0; i < curve->count; i++) {
        low = curve->y[i] < low ? curve->y[i] : low;
        high = curve->y[i] > high ? curve->y[i] : high;
    }
    bool shown = curve->expert > 0 && curve->expert < high * 3 && curve->expert * 3 > low;
    if (shown) {
        low = curve->expert < low ? curve->expert : low;
        high = curve->expert > high ? curve->expert : high;
    }
    double margin = high > low ? (high - low) * 0.15 : high * 0.05;
    struct html_line line = {"best", curve->x, curve->y, curve->count, 0, true, false};
    struct html_rule rule = {curve->expert_name, curve->expert, 1, false};
    struct html_plot plot = {.title = "Step time of the best plan by rollouts",
                             .x_name = "rollouts",
                             .x_format = html_format_count,
                             .y_format = html_format_time,
                             .x_high = curve->x[curve->count - 1] > 0 ? curve->x[curve->count - 1] : 1,
                             .y_low = low - margin > 0 ? low - margin : 0,
                             .y_high = high + margin,
                             .lines = &line,
                             .line_count = 1,
                             .rules = &rule,
                             .rule_count = shown,
                             .mark_x = curve->x[curve->count - 1],
                             .mark_y = curve->y[curve->count - 1],
                             .mark = ended ? "the plan" : "best so far"};
    struct text svg = {0};
    html_plot(&svg, &plot);
    html_figure(text, "search", "Search progress",
                fits ? "Step time of the best plan by rollouts, against the best expert plan."
                     : "Step time of the best plan by rollouts. While nothing fits, less memory is better "
                       "even where it takes longer.",
                &svg);
    html_details(text, "Numbers", curve->count);
    text_add(
        text,
        "<table><thead><tr><th class=\"num\">Rollouts</th><th class=\"num\">Step</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < curve->count; i++) {
        html_format_count(curve->x[i], rollouts);
        html_format_time(curve->y[i], step);
        html_add(text, "<tr><td class=\"num\">%s</td><td class=\"num\">%s</td></tr>", rollouts, step);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
    html_figure_end(text);
    text_release(&svg);
}

void ui_job_search(struct ui_page *page, const struct ui_job *j)
{
    struct curve *curve = mem_zalloc(1, sizeof *curve);
    collect_curve(j, curve);
    if (curve->count) {
        draw_curve(&page->text, curve, look_true(look_get(j->progress, "best.fits")), job_ended(&j->fields));
    } else {
        ui_card(&page->text, "search", "Search progress", false);
        html_add(&page->text, "<p class=\"empty\">%s</p>",
                 job_ended(&j->fields) ? "The job ended before a plan was priced."
                                       : "No plan has been priced yet.");
        ui_card_end(&page->text);
    }
    free(curve);
}

/* ---- who works on it ---- */

void ui_job_tasks(struct ui_page *page, const struct ui_job *j)
{
    struct text *text = &page->text;
    const struct queue_fields *fields = &j->fields;
    char left[32];
    if (job_ended(fields))
        return;
    ui_card(text, "tasks", "Tasks now", false);
    long long tasks = queue_number(fields, "tasks"), done = queue_number(fields, "done");
    html_add(text, "<p class=\"muted\">Step %lld: %s, %lld of %lld done, %zu held.</p>",
             queue_number(fields, "epoch"), queue_field(fields, "kind"), done, tasks, j->held.count);
    ui_meter(text, "Tasks of this step", tasks ? (double)done / (double)tasks : 0, false);
    if (j->held.count == 0) {
        text_add(text, "<p class=\"empty\">Nobody holds a task of this job at this moment.</p>");
        ui_card_end(text);
        return;
    }
    text_add(text, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                   "aria-label=\"Leases\"><table><thead><tr><th>Task</th><th>Worker</th><th "
                   "class=\"num\">Lease ends in</th></tr></thead><tbody>");
    for (size_t i = 0; i < j->held.count; i++) {
        const struct queue_held *held = &j->held.at[i];
        ui_duration(held->until_ms - j->now_ms, left);
        html_add(text, "<tr><td>%s %u/%u</td><td class=\"long mono\">%s</td><td class=\"num\">%s</td></tr>",
                 held->kind, held->epoch, held->index, held->worker[0] ? held->worker : "given back", left);
    }
    text_add(text, "</tbody></table></div>");
    ui_card_end(text);
}

/* ---- events ---- */

static void write_event(struct text *text, const struct queue_event *event, long long created)
{
    char since[32];
    ui_duration((long long)event->id.ms - created, since);
    html_add(text, "<tr><td class=\"num\">+%s</td><td>%s</td><td class=\"long\">", since, event->name);
    if (strcmp(event->name, "state") == 0)
        ui_state(text, event->data);
    else
        html_text(text, event->data);
    html_add(text, "</td><td class=\"num\">v%lld</td></tr>", event->version);
}

void ui_job_events(struct ui_page *page, const struct ui_job *j)
{
    struct text *text = &page->text;
    size_t n = j->history.events.count;
    long long created = queue_number(&j->fields, "created");
    ui_card(text, "events", "Events", false);
    if (n == 0)
        text_add(text, "<p class=\"empty\">None are left.</p>");
    static const char head[] = "<table><thead><tr><th class=\"num\">After</th><th>Event</th><th>What</th><th "
                               "class=\"num\">Version</th></tr>"
                               "</thead><tbody>";
    if (n) {
        text_add(
            text,
            "<div class=\"scroll tall\" tabindex=\"0\" role=\"group\" aria-label=\"Events, newest first\">");
        text_add(text, head);
        for (size_t i = 0; i < n && i < SHOWN_EVENTS; i++)
            write_event(text, &j->history.events.at[n - 1 - i], created);
        text_add(text, "</tbody></table></div>");
    }
    if (n > SHOWN_EVENTS)
        html_add(text,
                 "<p class=\"muted\">%zu earlier ones: <a href=\"/v1/jobs/%s/events?format=json\">all as "
                 "JSON</a></p>",
                 n - SHOWN_EVENTS, j->id);
    ui_card_end(text);
}

/* ---- artifacts ---- */

void ui_job_artifacts(struct ui_page *page, const struct ui_job *j)
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
                 {"trace.json", "every kernel of a step, for Perfetto"},
                 {"proof.json", "original and sharded run, compared"}};
    struct text *text = &page->text;
    struct job_artifact other_job_artifact;
    size_t shown = 0;
    char bytes[32];
    ui_card(text, "artifacts", "Artifacts", false);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!job_artifact(&j->fields, known[i].name, &other_job_artifact))
            continue;
        text_add(text, shown++ ? "" : "<table><tbody>");
        html_format_bytes((double)other_job_artifact.size, bytes);
        html_add(text,
                 "<tr><td><a href=\"/v1/jobs/%s/artifacts/%s\">%s</a></td><td class=\"muted\">%s</td><td "
                 "class=\"num\">%s</td></tr>",
                 j->id, known[i].name, known[i].name, known[i].what, bytes);
    }
    for (uint32_t k = 1; k <= PLANNER_MAX_ALTERNATIVES; k++) {
        char name[64];
        snprintf(name, sizeof name, "alternatives/%u/plan.json", k);
        if (!job_artifact(&j->fields, name, &other_job_artifact))
            break;
        html_format_bytes((double)other_job_artifact.size, bytes);
        html_add(
            text,
            "<tr><td><a href=\"/v1/jobs/%s/artifacts/%s\">alternative %u</a></td><td "
            "class=\"muted\">another plan, with its modules beside it</td><td class=\"num\">%s</td></tr>",
            j->id, name, k, bytes);
    }
    text_add(
        text,
        shown ? "</tbody></table>"
              : "<p class=\"empty\">They come when the job ends; plan.json as soon as there is a plan.</p>");
    ui_card_end(text);
}

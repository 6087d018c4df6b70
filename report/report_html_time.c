/* report.html: time. This plan beside the experts', what a step's time goes into, how the search got
 * there, what each decision is worth, and a table of all collectives. */
#include "report/report_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a picture or table shows; the page says how much more report.json has. SHOWN_RULES: levels of
 * baselines across the curve, so few that their names keep apart. */
enum { SHOWN_BASELINES = 11, SHOWN_COLLECTIVES = 400, SHOWN_DECISIONS = 24, SHOWN_RULES = 4 };
enum { TIME_ROWS = 2 + SPMD_PERMUTE - SPMD_ALL_GATHER + 1 }; /* two of compute, one a kind of collective */
enum { BLUE, ORANGE, GREEN, RED, PINK, SKY, OLIVE, GREY };

static void baseline_row(const struct report *r, const struct report_baseline *b, bool own, struct text *t)
{
    char step[32], peak[32], compute[32], exposed[32];
    bool fits = report_html_fits(r, &b->price);
    report_time(b->price.step_ps, step);
    report_time(b->price.compute_ps, compute);
    report_time(b->price.exposed_ps, exposed);
    report_bytes(b->price.peak_bytes, peak);
    html_add(t, "<tr%s", own ? " class=\"own\"" : "");
    html_add(t,
             "><td class=\"long\">%s</td><td class=\"num\">%s</td><td class=\"num\">%s</td><td "
             "class=\"num\">%s</td>",
             b->name, step, compute, exposed);
    html_add(t,
             "<td class=\"num\">%s</td><td><span class=\"badge %s\">%s</span></td><td "
             "class=\"num\">%.4f</td></tr>",
             peak, fits ? "good" : "bad", fits ? "yes" : "no", cost_value(b->cost));
}

static void baseline_table(const struct report *r, const struct report_baseline *all, struct text *t)
{
    html_details(t, "Numbers", r->baseline_count + 1);
    text_add(t, "<table><thead><tr><th>Plan</th><th class=\"num\">Step</th><th class=\"num\">Compute</th><th "
                "class=\"num\">Exposed "
                "communication</th><th class=\"num\">Peak</th><th>Fits</th><th "
                "class=\"num\">Cost</th></tr></thead><tbody>");
    for (uint32_t i = 0; i <= r->baseline_count; i++)
        baseline_row(r, &all[i], i == 0, t);
    text_add(t, "</tbody></table>");
    html_details_end(t);
}

void report_html_against(const struct report *r, struct text *t)
{
    static const struct html_key keys[] = {{"compute", BLUE, false},
                                           {"communication that blocks it", ORANGE, false},
                                           {"does not fit", GREY, true}};
    struct html_bar bars[SHOWN_BASELINES + 1];
    struct html_segment segments[SHOWN_BASELINES + 1][2];
    char notes[SHOWN_BASELINES + 1][80], step[32], peak[32];
    if (r->baseline_count == 0)
        return;
    struct report_baseline *sorted = report_baselines_sorted(r),
                           *all = mem_zalloc(r->baseline_count + 1, sizeof *all);
    memcpy(all + 1, sorted, r->baseline_count * sizeof *all);
    all[0] = (struct report_baseline){"This plan", r->price, r->cost};
    struct html_bars b = {.title = "Step time of this plan and of the experts' plans",
                          .bars = bars,
                          .keys = keys,
                          .key_count = 3};
    for (; b.count <= r->baseline_count && b.count <= SHOWN_BASELINES; b.count++) {
        const struct price *p = &all[b.count].price;
        bool fits = report_html_fits(r, p);
        report_time(p->step_ps, step);
        report_bytes(p->peak_bytes, peak);
        snprintf(notes[b.count], sizeof notes[0], "%s, %s", step, peak);
        segments[b.count][0] = (struct html_segment){(double)(p->step_ps - p->exposed_ps), BLUE, !fits};
        segments[b.count][1] = (struct html_segment){(double)p->exposed_ps, ORANGE, !fits};
        bars[b.count] =
            (struct html_bar){all[b.count].name, notes[b.count], segments[b.count], 2, b.count == 0};
        if ((double)p->step_ps > b.high &&
            (b.count < 2 || (double)p->step_ps < 4 * (double)all[0].price.step_ps))
            b.high =
                /* very slow ones run off the edge instead of making the rest a sliver */
                (double)p->step_ps;
    }
    struct text svg = {0};
    html_bars(&svg, &b);
    html_figure(t, "against", "Against the experts' plans", "Step time and peak memory, best first.", &svg);
    baseline_table(r, all, t);
    html_figure_end(t);
    text_release(&svg);
    free(all);
    free(sorted);
}

void report_html_time(const struct report *r, struct text *t)
{
    static const uint8_t colors[] = {ORANGE, PINK, SKY, OLIVE, RED};
    struct html_bar bars[TIME_ROWS];
    struct html_segment segments[TIME_ROWS];
    struct {
        const char *name;
        int64_t ps;
        uint8_t color;
    } rows[TIME_ROWS] = {{"matrix multiplications", r->price.matmul_ps, BLUE},
                         {"other compute", r->price.compute_ps - r->price.matmul_ps, GREEN}};
    char notes[TIME_ROWS][48], time[32];
    uint32_t count = 2;
    for (uint8_t k = SPMD_ALL_GATHER; k <= SPMD_PERMUTE; k++) {
        if (r->time_by_kind[k] == 0)
            continue;
        rows[count].name = report_kind_name(k);
        rows[count].ps = r->time_by_kind[k];
        rows[count++].color = colors[k - SPMD_ALL_GATHER];
    }
    struct html_bars b = {.title = "Time of a step by what it is spent on", .bars = bars, .count = count};
    double total = (double)(r->price.compute_ps + r->price.communication_ps);
    for (uint32_t i = 0; i < count; i++) {
        report_time(rows[i].ps, time);
        snprintf(notes[i], sizeof notes[i], "%s, %.1f %%", time,
                 total > 0 ? 100 * (double)rows[i].ps / total : 0);
        segments[i] = (struct html_segment){(double)rows[i].ps, rows[i].color, false};
        bars[i] = (struct html_bar){rows[i].name, notes[i], &segments[i], 1, false};
        b.high = (double)rows[i].ps > b.high ? (double)rows[i].ps : b.high;
    }
    struct text svg = {0};
    html_bars(&svg, &b);
    html_figure(t, "time", "Where a step's time goes",
                "Compute, and each kind of collective over all its runs.", &svg);
    html_details(t, "Numbers", 0);
    text_add(t, "<table><tbody>");
    const struct {
        const char *name;
        int64_t ps;
    } further[] = {{"compute", r->price.compute_ps},
                   {"communication", r->price.communication_ps},
                   {"communication that blocks compute", r->price.exposed_ps},
                   {"step (makespan)", r->price.step_ps},
                   {"critical path", r->price.critical_path_ps}};
    for (uint32_t i = 0; i < count + sizeof further / sizeof *further; i++) {
        report_time(i < count ? rows[i].ps : further[i - count].ps, time);
        html_add(t, "<tr><td>%s</td><td class=\"num\">%s</td></tr>",
                 i < count ? rows[i].name : further[i - count].name, time);
    }
    text_add(t, "</tbody></table>");
    html_details_end(t);
    html_figure_end(t);
    text_release(&svg);
}

/* ---- search ---- */

static void curve_table(const struct report *r, uint32_t count, struct text *t)
{
    char step[32], rollouts[32];
    html_details(t, "Numbers", count);
    text_add(t, "<table><thead><tr><th class=\"num\">Rollouts</th><th class=\"num\">Best cost</th><th "
                "class=\"num\">Step</th></tr></thead>"
                "<tbody>");
    for (uint32_t i = 0; i < count; i++) {
        report_time(r->search.curve[i].step_ps, step);
        html_count(r->search.curve[i].rollouts, rollouts);
        html_add(t, "<tr><td class=\"num\">%s</td><td class=\"num\">%.6f</td><td class=\"num\">%s</td></tr>",
                 rollouts, cost_value(r->search.curve[i].cost), step);
    }
    text_add(t, "</tbody></table>");
    html_details_end(t);
}

/* the best few baselines as levels, highest first (as html_plot wants them) */
static uint32_t curve_rules(const struct report_baseline *sorted, uint32_t count, double most,
                            struct html_rule *rules)
{
    uint32_t shown = 0;
    while (shown < count && shown < SHOWN_RULES && cost_value(sorted[shown].cost) <= most)
        shown++;
    for (uint32_t i = 0; i < shown; i++)
        rules[i] = (struct html_rule){sorted[shown - 1 - i].name, cost_value(sorted[shown - 1 - i].cost),
                                      i % 2 ? ORANGE : GREY, false};
    return shown;
}

void report_html_search(const struct report *r, struct text *t)
{
    const struct search_state *s = &r->search;
    uint32_t count = s->curve_count < SEARCH_CURVE ? s->curve_count : SEARCH_CURVE;
    double x[SEARCH_CURVE + 1], y[SEARCH_CURVE + 1], low, high;
    struct html_rule rules[SHOWN_RULES];
    char note[200], rollouts[32], evaluations[32];
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        x[i] = (double)s->curve[i].rollouts;
        y[i] = cost_value(s->curve[i].cost);
    }
    x[count] = (double)s->rollouts > x[count - 1] ? (double)s->rollouts : x[count - 1];
    y[count] = cost_value(r->cost);
    low = high = y[count];
    for (uint32_t i = 0; i < count; i++) {
        high = y[i] > high ? y[i] : high;
        low = y[i] < low ? y[i] : low;
    }
    struct report_baseline *sorted = report_baselines_sorted(r);
    uint32_t rule_count = curve_rules(sorted, r->baseline_count, high * 1.25, rules);
    if (rule_count && rules[0].y > high)
        high = rules[0].y;
    double margin = high > low ? (high - low) * 0.12 : high * 0.05;
    struct html_line line = {"best cost", x, y, count + 1, BLUE, true, false};
    struct html_plot p = {.title = "Best cost by rollouts, with the experts' plans as levels",
                          .x_name = "rollouts",
                          .x_format = html_format_count,
                          .y_format = html_format_number,
                          .x_high = x[count] > 0 ? x[count] : 1,
                          .y_low = low - margin > 0 ? low - margin : 0,
                          .y_high = high + margin,
                          .lines = &line,
                          .line_count = 1,
                          .rules = rules,
                          .rule_count = rule_count,
                          .mark_x = x[count],
                          .mark_y = y[count],
                          .mark = "this plan"};
    html_count(s->rollouts, rollouts);
    html_count(s->evaluations, evaluations);
    snprintf(note, sizeof note,
             "%s rollouts and %s prices in %u epochs; %u decisions offered, %u left out; stopped: %s.",
             rollouts, evaluations, s->epoch, r->offered, r->pruned, s->stop_reason);
    struct text svg = {0};
    html_plot(&svg, &p);
    html_figure(t, "search", "Search progress", note, &svg);
    curve_table(r, count, t);
    html_figure_end(t);
    text_release(&svg);
    free(sorted);
}

/* ---- decisions ---- */

void report_html_decisions(const struct report *r, struct text *t)
{
    struct html_bar bars[SHOWN_DECISIONS];
    struct html_segment segments[SHOWN_DECISIONS];
    char notes[SHOWN_DECISIONS][48];
    struct html_bars b = {.title = "What each decision is worth", .bars = bars};
    for (; b.count < r->decision_count && b.count < SHOWN_DECISIONS; b.count++) {
        int64_t w = r->decisions[b.count].worth_ps, size = w < 0 ? -w : w;
        report_worth(w, notes[b.count]);
        segments[b.count] = (struct html_segment){(double)size, w < 0 ? RED : GREEN, false};
        bars[b.count] =
            (struct html_bar){r->decisions[b.count].text, notes[b.count], &segments[b.count], 1, false};
        b.high = (double)size > b.high ? (double)size : b.high;
    }
    struct text svg = {0};
    if (b.count == 0) {
        html_add(t,
                 "<section class=\"card\" id=\"decisions\"><h2>Decisions</h2><p "
                 "class=\"muted\">%s</p></section>\n",
                 r->plan.factor_count
                     ? "None: the plan is made op by op, of single shardings that the cost-function network "
                       "chose; they stand in plan.json as factors."
                     : "None: the module stays as it is, pins apart.");
        return;
    }
    html_bars(&svg, &b);
    html_figure(t, "decisions", "Decisions, in order",
                "What a step would lose or gain without this one, the others as they are. One that costs "
                "time is there for memory.",
                &svg);
    html_details(t, "Numbers", r->decision_count);
    text_add(t, "<table><thead><tr><th class=\"num\">Nr</th><th>Decision</th><th class=\"num\">Worth, ps a "
                "step</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < r->decision_count; i++)
        html_add(t, "<tr><td class=\"num\">%u</td><td class=\"long\">%s</td><td class=\"num\">%lld</td></tr>",
                 i + 1, r->decisions[i].text, (long long)r->decisions[i].worth_ps);
    text_add(t, "</tbody></table>");
    html_details_end(t);
    html_figure_end(t);
    text_release(&svg);
}

void report_html_communication(const struct report *r, struct text *t)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    char bytes[32], time[32], axes[600], count[32];
    uint32_t i = 0;
    text_add(
        t, "<section class=\"card wide\" id=\"communication\"><h2>Communication, most expensive first</h2>");
    if (r->collective_count == 0) {
        text_add(t, "<p class=\"muted\">None.</p></section>\n");
        return;
    }
    html_details(t, "Collectives by kind, size and source line", r->collective_count);
    text_add(
        t, "<table><thead><tr><th>Kind</th><th>Axes</th><th class=\"num\">Runs</th><th class=\"num\">Bytes "
           "each</th><th "
           "class=\"num\">Time</th><th>Algorithm</th><th>Because of</th><th>Where</th></tr></thead><tbody>");
    for (; i < r->collective_count && i < SHOWN_COLLECTIVES && t->size < REPORT_HTML_ROOM; i++) {
        const struct report_collective *c = &r->collectives[i];
        report_bytes(c->bytes, bytes);
        report_time(c->time_ps, time);
        html_count((uint64_t)c->count, count);
        report_axes(m, c->axes, c->axis_count, axes, sizeof axes);
        html_add(t,
                 "<tr><td>%s</td><td>%s</td><td class=\"num\">%s</td><td class=\"num\">%s</td><td "
                 "class=\"num\">%s</td><td>%s</td>",
                 report_kind_name(c->kind), axes, count, bytes, time, c->algorithm ? c->algorithm : "none");
        html_add(t, "<td class=\"long\">%s</td><td class=\"long\"><code>%s</code></td></tr>",
                 report_cause(r, c), c->location);
    }
    text_add(t, "</tbody></table>");
    if (i < r->collective_count)
        html_add(t, "<p class=\"muted\">and %u more in report.json</p>", r->collective_count - i);
    html_details_end(t);
    text_add(t, "</section>\n");
}

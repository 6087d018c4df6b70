/* report.html: time. This plan beside the experts', what a step's time goes into, how the search got
 * there, what each decision is worth, and a table of all collectives. */
#include "report/causes.h"
#include "report/report_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a picture or table shows; the page says how much more report.json has. SHOWN_RULES: levels of
 * baselines across the curve, so few that their names keep apart. */
enum { SHOWN_BASELINES = 11, SHOWN_COLLECTIVES = 400, SHOWN_DECISIONS = 24, SHOWN_RULES = 4 };
enum { TIME_ROWS = 2 + SPMD_PERMUTE - SPMD_ALL_GATHER + 1 }; /* two of compute, one a kind of collective */
enum { BLUE, ORANGE, GREEN, RED, PINK, SKY, OLIVE, GREY };

static void baseline_row(const struct report *report, const struct report_baseline *baseline, bool own,
                         struct text *text)
{
    char step[32], peak[32], compute[32], exposed[32];
    bool fits = report_html_fits(report, &baseline->price);
    report_time(baseline->price.step_ps, step);
    report_time(baseline->price.compute_ps, compute);
    report_time(baseline->price.exposed_ps, exposed);
    report_bytes(baseline->price.peak_bytes, peak);
    html_add(text, "<tr%s", own ? " class=\"own\"" : "");
    html_add(text,
             "><td class=\"long\">%s</td><td class=\"num\">%s</td><td class=\"num\">%s</td><td "
             "class=\"num\">%s</td>",
             baseline->name, step, compute, exposed);
    html_add(text,
             "<td class=\"num\">%s</td><td><span class=\"badge %s\">%s</span></td><td "
             "class=\"num\">%.4f</td></tr>",
             peak, fits ? "good" : "bad", fits ? "yes" : "no", cost_value(baseline->cost));
}

static void baseline_table(const struct report *report, const struct report_baseline *all, struct text *text)
{
    html_details(text, "Numbers", report->baseline_count + 1);
    text_add(text,
             "<table><thead><tr><th>Plan</th><th class=\"num\">Step</th><th class=\"num\">Compute</th><th "
             "class=\"num\">Exposed "
             "communication</th><th class=\"num\">Peak</th><th>Fits</th><th "
             "class=\"num\">Cost</th></tr></thead><tbody>");
    for (uint32_t i = 0; i <= report->baseline_count; i++)
        baseline_row(report, &all[i], i == 0, text);
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

void report_html_against(const struct report *report, struct text *text)
{
    static const struct html_key keys[] = {{"compute", BLUE, false},
                                           {"communication that blocks it", ORANGE, false},
                                           {"does not fit", GREY, true}};
    struct html_bar bars[SHOWN_BASELINES + 1];
    struct html_segment segments[SHOWN_BASELINES + 1][2];
    char notes[SHOWN_BASELINES + 1][80], step[32], peak[32];
    if (report->baseline_count == 0)
        return;
    struct report_baseline *sorted = report_baselines_sorted(report),
                           *all = mem_zalloc(report->baseline_count + 1, sizeof *all);
    memcpy(all + 1, sorted, report->baseline_count * sizeof *all);
    all[0] = (struct report_baseline){"This plan", report->price, report->cost, false};
    struct html_bars chart = {.title = "Step time of this plan and of the experts' plans",
                              .bars = bars,
                              .keys = keys,
                              .key_count = 3};
    for (; chart.count <= report->baseline_count && chart.count <= SHOWN_BASELINES; chart.count++) {
        const struct price *price = &all[chart.count].price;
        bool fits = report_html_fits(report, price);
        report_time(price->step_ps, step);
        report_bytes(price->peak_bytes, peak);
        snprintf(notes[chart.count], sizeof notes[0], "%s, %s", step, peak);
        segments[chart.count][0] =
            (struct html_segment){(double)(price->step_ps - price->exposed_ps), BLUE, !fits};
        segments[chart.count][1] = (struct html_segment){(double)price->exposed_ps, ORANGE, !fits};
        bars[chart.count] = (struct html_bar){all[chart.count].name, notes[chart.count],
                                              segments[chart.count], 2, chart.count == 0};
        if ((double)price->step_ps > chart.high &&
            (chart.count < 2 || (double)price->step_ps < 4 * (double)all[0].price.step_ps))
            chart.high =
                /* very slow ones run off the edge instead of making the rest a sliver */
                (double)price->step_ps;
    }
    bool cut = false;
    for (uint32_t i = 0; i < chart.count; i++)
        cut |= (double)all[i].price.step_ps > chart.high;
    if (cut) /* whole bars end before those that are cut */
        chart.high *= 1.25;
    struct text svg = {0};
    html_bars(&svg, &chart);
    html_figure(text, "against", "Against the experts' plans",
                cut ? "Step time and peak memory, best first. A bar with a cut is longer than the picture."
                    : "Step time and peak memory, best first.",
                &svg);
    baseline_table(report, all, text);
    html_figure_end(text);
    text_release(&svg);
    free(all);
    free(sorted);
}

void report_html_time(const struct report *report, struct text *text)
{
    static const uint8_t colors[] = {ORANGE, PINK, SKY, OLIVE, RED};
    struct html_bar bars[TIME_ROWS];
    struct html_segment segments[TIME_ROWS];
    struct {
        const char *name;
        int64_t ps;
        uint8_t color;
    } rows[TIME_ROWS] = {{"matrix multiplications", report->price.matmul_ps, BLUE},
                         {"other compute", report->price.compute_ps - report->price.matmul_ps, GREEN}};
    char notes[TIME_ROWS][48], time[32];
    uint32_t count = 2;
    for (uint8_t k = SPMD_ALL_GATHER; k <= SPMD_PERMUTE; k++) {
        if (report->time_by_kind[k] == 0)
            continue;
        rows[count].name = report_kind_name(k);
        rows[count].ps = report->time_by_kind[k];
        rows[count++].color = colors[k - SPMD_ALL_GATHER];
    }
    struct html_bars chart = {.title = "Time of a step by what it is spent on", .bars = bars, .count = count};
    double total = (double)(report->price.compute_ps + report->price.communication_ps);
    for (uint32_t i = 0; i < count; i++) {
        report_time(rows[i].ps, time);
        snprintf(notes[i], sizeof notes[i], "%s, %.1f %%", time,
                 total > 0 ? 100 * (double)rows[i].ps / total : 0);
        segments[i] = (struct html_segment){(double)rows[i].ps, rows[i].color, false};
        bars[i] = (struct html_bar){rows[i].name, notes[i], &segments[i], 1, false};
        chart.high = (double)rows[i].ps > chart.high ? (double)rows[i].ps : chart.high;
    }
    struct text svg = {0};
    html_bars(&svg, &chart);
    html_figure(text, "time", "Where a step's time goes",
                "Compute, and each kind of collective over all its runs.", &svg);
    html_details(text, "Numbers", 0);
    text_add(text, "<table><tbody>");
    const struct {
        const char *name;
        int64_t ps;
    } further[] = {{"compute", report->price.compute_ps},
                   {"communication", report->price.communication_ps},
                   {"communication that blocks compute", report->price.exposed_ps},
                   {"step (makespan)", report->price.step_ps},
                   {"critical path", report->price.critical_path_ps}};
    for (uint32_t i = 0; i < count + sizeof further / sizeof *further; i++) {
        report_time(i < count ? rows[i].ps : further[i - count].ps, time);
        html_add(text, "<tr><td>%s</td><td class=\"num\">%s</td></tr>",
                 i < count ? rows[i].name : further[i - count].name, time);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
    html_figure_end(text);
    text_release(&svg);
}

/* ---- search ---- */

static void curve_table(const struct report *report, uint32_t count, struct text *text)
{
    char step[32], rollouts[32];
    html_details(text, "Numbers", count);
    text_add(text, "<table><thead><tr><th class=\"num\">Rollouts</th><th class=\"num\">Best cost</th><th "
                   "class=\"num\">Step</th></tr></thead>"
                   "<tbody>");
    for (uint32_t i = 0; i < count; i++) {
        report_time(report->search.curve[i].step_ps, step);
        html_count(report->search.curve[i].rollouts, rollouts);
        html_add(text,
                 "<tr><td class=\"num\">%s</td><td class=\"num\">%.6f</td><td class=\"num\">%s</td></tr>",
                 rollouts, cost_value(report->search.curve[i].cost), step);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
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

void report_html_search(const struct report *report, struct text *text)
{
    const struct search_state *state = &report->search;
    uint32_t count = state->curve_count < SEARCH_CURVE ? state->curve_count : SEARCH_CURVE;
    double x[SEARCH_CURVE + 1], y[SEARCH_CURVE + 1], low, high;
    struct html_rule rules[SHOWN_RULES];
    char note[200], rollouts[32], evaluations[32];
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        x[i] = (double)state->curve[i].rollouts;
        y[i] = cost_value(state->curve[i].cost);
    }
    x[count] = (double)state->rollouts > x[count - 1] ? (double)state->rollouts : x[count - 1];
    y[count] = cost_value(report->cost);
    low = high = y[count];
    for (uint32_t i = 0; i < count; i++) {
        high = y[i] > high ? y[i] : high;
        low = y[i] < low ? y[i] : low;
    }
    struct report_baseline *sorted = report_baselines_sorted(report);
    uint32_t rule_count = curve_rules(sorted, report->baseline_count, high * 1.25, rules);
    if (rule_count && rules[0].y > high)
        high = rules[0].y;
    double margin = high > low ? (high - low) * 0.12 : high * 0.05;
    struct html_line line = {"best cost", x, y, count + 1, BLUE, true, false};
    struct html_plot plot = {.title = "Best cost by rollouts, with the experts' plans as levels",
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
    html_count(state->rollouts, rollouts);
    html_count(state->evaluations, evaluations);
    snprintf(note, sizeof note,
             "%s rollouts and %s prices in %u epochs; %u decisions offered, %u left out; stopped: %s.",
             rollouts, evaluations, state->epoch, report->offered, report->pruned, state->stop_reason);
    struct text svg = {0};
    html_plot(&svg, &plot);
    html_figure(text, "search", "Search progress", note, &svg);
    curve_table(report, count, text);
    html_figure_end(text);
    text_release(&svg);
    free(sorted);
}

/* ---- decisions ---- */

void report_html_decisions(const struct report *report, struct text *text)
{
    struct html_bar bars[SHOWN_DECISIONS];
    struct html_segment segments[SHOWN_DECISIONS];
    char notes[SHOWN_DECISIONS][48];
    struct html_bars chart = {.title = "What each decision is worth", .bars = bars};
    for (; chart.count < report->decision_count && chart.count < SHOWN_DECISIONS; chart.count++) {
        int64_t w = report->decisions[chart.count].worth_ps, size = w < 0 ? -w : w;
        report_worth(w, notes[chart.count]);
        segments[chart.count] = (struct html_segment){(double)size, w < 0 ? RED : GREEN, false};
        bars[chart.count] = (struct html_bar){report->decisions[chart.count].text, notes[chart.count],
                                              &segments[chart.count], 1, false};
        chart.high = (double)size > chart.high ? (double)size : chart.high;
    }
    for (; report->decision_count == 0 && chart.count < report->choice_count && chart.count < SHOWN_DECISIONS;
         chart.count++) {
        const struct report_choice *choice = &report->choices[chart.count];
        int64_t w = choice->worth_ps, size = w < 0 ? -w : w;
        report_worth(w, notes[chart.count]);
        segments[chart.count] = (struct html_segment){(double)size, w < 0 ? RED : GREEN, false};
        bars[chart.count] =
            (struct html_bar){choice->text, notes[chart.count], &segments[chart.count], 1, false};
        chart.high = (double)size > chart.high ? (double)size : chart.high;
    }
    struct text svg = {0};
    if (chart.count == 0) {
        html_add(text,
                 "<section class=\"card\" id=\"decisions\"><h2>Decisions</h2><p "
                 "class=\"muted\">%s</p></section>\n",
                 "None: the module stays as it is, pins apart.");
        return;
    }
    html_bars(&svg, &chart);
    bool choices = report->decision_count == 0;
    html_figure(text, "decisions", choices ? "Choices of the network" : "Decisions, in order",
                choices
                    ? "The plan is made op by op, of single shardings that the cost-function network chose "
                      "(factors in plan.json). By dimension and axis: what a step would lose or gain "
                      "without them, the others as they are."
                    : "What a step would lose or gain without this one, the others as they are. One that "
                      "costs time is there for memory.",
                &svg);
    html_details(text, "Numbers", choices ? report->choice_count : report->decision_count);
    text_add(text,
             "<table><thead><tr><th class=\"num\">Nr</th><th>Decision</th><th class=\"num\">Worth, ps a "
             "step</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < report->decision_count; i++) {
        char dimension[300];
        report_dimension(plan_context_nda(evaluator_context(report->evaluator)),
                         report->decisions[i].decision.group, dimension, sizeof dimension);
        html_add(text,
                 "<tr><td class=\"num\">%u</td><td class=\"long\">%s<div class=\"muted\">%s</div></td><td "
                 "class=\"num\">%lld</td></tr>",
                 i + 1, report->decisions[i].text, dimension, (long long)report->decisions[i].worth_ps);
    }
    for (uint32_t i = 0; choices && i < report->choice_count; i++) {
        char worth[32] = "not measured";
        if (report->choices[i].measured)
            snprintf(worth, sizeof worth, "%lld", (long long)report->choices[i].worth_ps);
        html_add(text,
                 "<tr><td class=\"num\">%u</td><td class=\"long\">%s (%u of %u places)</td><td "
                 "class=\"num\">%s</td></tr>",
                 i + 1, report->choices[i].text, report->choices[i].factors, report->choices[i].offered,
                 worth);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
    html_figure_end(text);
    text_release(&svg);
}

static void write_causes(const struct report *report, struct text *text)
{
    uint32_t count;
    struct report_cause_row *rows = report_causes(report, &count);
    text_add(text,
             "<p class=\"muted\">By cause, what computation waits for longest first.</p>"
             "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Communication by cause\">"
             "<table><thead><tr><th>Because of</th><th class=\"num\">Collectives</th><th class=\"num\">"
             "Bytes</th><th class=\"num\">Time</th><th class=\"num\">Exposed</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < count && i < SHOWN_COLLECTIVES; i++) {
        char bytes[32], time[32], exposed[32], number[32];
        report_bytes(rows[i].bytes, bytes);
        report_time(rows[i].time_ps, time);
        report_time(rows[i].exposed_ps, exposed);
        html_count((uint64_t)rows[i].count, number);
        html_add(text,
                 "<tr><td class=\"long\">%s</td><td class=\"num\">%s</td><td class=\"num\">%s</td><td "
                 "class=\"num\">%s</td><td class=\"num\">%s</td></tr>",
                 rows[i].cause, number, bytes, time, exposed);
    }
    text_add(text, "</tbody></table></div>");
    free(rows);
}

void report_html_communication(const struct report *report, struct text *text)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    char bytes[32], time[32], exposed[32], axes[600], count[32];
    uint32_t i = 0;
    text_add(
        text,
        "<section class=\"card wide\" id=\"communication\"><h2>Communication, most expensive first</h2>");
    if (report->collective_count == 0) {
        text_add(text, "<p class=\"muted\">None.</p></section>\n");
        return;
    }
    write_causes(report, text);
    html_details(text, "Collectives by kind, size and source line", report->collective_count);
    text_add(text,
             "<table><thead><tr><th>Kind</th><th>Axes</th><th class=\"num\">Runs</th><th class=\"num\">Bytes "
             "each</th><th "
             "class=\"num\">Time</th><th class=\"num\">Exposed</th><th>Algorithm</th><th>Because "
             "of</th><th>Where</th></tr></thead><tbody>");
    for (; i < report->collective_count && i < SHOWN_COLLECTIVES && text->size < REPORT_HTML_ROOM; i++) {
        const struct report_collective *collective = &report->collectives[i];
        report_bytes(collective->bytes, bytes);
        report_time(collective->time_ps, time);
        report_time(collective->exposed_ps, exposed);
        html_count((uint64_t)collective->count, count);
        report_axes(mesh, collective->axes, collective->axis_count, axes, sizeof axes);
        html_add(text,
                 "<tr><td>%s</td><td>%s</td><td class=\"num\">%s</td><td class=\"num\">%s</td><td "
                 "class=\"num\">%s</td><td class=\"num\">%s</td><td>%s</td>",
                 report_kind_name(collective->kind), axes, count, bytes, time, exposed,
                 collective->algorithm ? collective->algorithm : "none");
        html_add(text, "<td class=\"long\">%s</td><td class=\"long\"><code>%s</code></td></tr>",
                 collective->cause, collective->location);
    }
    text_add(text, "</tbody></table>");
    if (i < report->collective_count)
        html_add(text, "<p class=\"muted\">and %u more in report.json</p>", report->collective_count - i);
    html_details_end(text);
    text_add(text, "</section>\n");
}

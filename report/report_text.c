/* report.txt: the report as a person reads it in a terminal of 110 columns. Most important first: does it
 * fit, how fast is it, compared with what, which dimension goes over which axis; then where time and
 * memory go, why, and what would change it. Equal reports give equal bytes. It decides nothing and
 * measures nothing: every figure stands in the report. */
#include "report/advice.h"
#include "report/causes.h"
#include "report/classes.h"
#include "report/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much of each list is shown. The whole should be read in a few screens of a terminal; the rest is in
 * report.json and plan.json, and the text says so. */
enum {
    SHOWN_COLLECTIVES = 20,
    SHOWN_TENSORS = 12,
    SHOWN_ARGUMENTS = 40, /* kinds of them */
    SHOWN_BASELINES = 12,
    SHOWN_CHOICES = 20,
    LEAST_PS = 1000000 /* a collective's start alone takes longer */
};
enum { MEMORY_ROWS = 16 }; /* the heading calls each a sixteenth */
enum { FAR_BELOW = 4 };    /* a peak that is less than this part of the limit has bars of its own scale */
enum { BAR = 50 };         /* characters of a full bar, beside a number in 110 columns */

static void heading(struct text *text, const char *title)
{
    text_printf(text, "\n%s\n", title);
    for (size_t i = 0; i < strlen(title); i++)
        text_add_char(text, '-');
    text_add_char(text, '\n');
}

static void write_summary(const struct report *report, struct text *text)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    char step[32], peak[32], limit[32], note[160];
    report_time(report->price.step_ps, step);
    report_bytes(report->price.peak_bytes, peak);
    report_bytes(report->memory_limit_bytes, limit);
    text_add(text, "TOAST report\n============\n");
    text_add(text, "mesh          ");
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        text_printf(text, "%s%s=%lld", axis ? " x " : "", mesh->axes[axis].name,
                    (long long)mesh->axes[axis].size);
    text_printf(text, " of %s\n", evaluator_machine(report->evaluator)->device.name);
    text_printf(text, "step time     %s (estimated)\n", step);
    text_printf(text, "peak memory   %s a device, limit %s: %s\n", peak, limit,
                report->smallest_budget_bytes ? "DOES NOT FIT" : "fits");
    report_cost_note(report, note, sizeof note);
    text_printf(text, "cost          %.6f: %s\n", cost_value(report->cost), note);
    text_printf(text, "found by      %s%s\n", report->plan.found_by,
                report->reproducible ? "" : " (cut by time: not reproducible)");
    if (report->cut) {
        report_cuts_text(report, note, sizeof note);
        text_printf(text, "cut by time   %s\n", note);
    }
    text_printf(text, "proof         %s%s%s", report->proof_status, *report->proof_reason ? ": " : "",
                report->proof_reason);
    if (strcmp(report->proof_status, "equal") == 0)
        text_printf(text, " (largest error %.3g)", report->proof_max_error);
    text_add(text, "\n");
}

/* a network's plan: no decisions, but by group and axis what its factors do */
static void write_choices(const struct report *report, struct text *text)
{
    text_printf(text,
                "none: %u single shardings (\"factors\" in plan.json) of the cost-function network. By "
                "dimension\nand axis, of the places that could be split so:\n",
                report->plan.factor_count);
    for (uint32_t i = 0; i < report->choice_count && i < SHOWN_CHOICES; i++) {
        const struct report_choice *choice = &report->choices[i];
        char worth[48];
        report_worth(choice->worth_ps, worth);
        text_printf(text, "%2u. %-40s %6u of %-6u %s\n", i + 1, choice->text, choice->factors,
                    choice->offered, choice->measured ? strcat(worth, " a step") : "not measured");
    }
    if (report->choice_count > SHOWN_CHOICES)
        text_printf(text, "… and %u more in report.json\n", report->choice_count - SHOWN_CHOICES);
}

/* does the decision speak of dimensions that none before it speaks of? */
static bool is_first(const struct report *report, uint32_t decision)
{
    for (uint32_t i = 0; i < decision; i++)
        if (report->decisions[i].decision.group == report->decisions[decision].decision.group)
            return false;
    return true;
}

static void write_decisions(const struct report *report, struct text *text)
{
    bool costly = false;
    heading(text, "Decisions, in order, and what each is worth");
    if (report->plan.factor_count)
        write_choices(report, text);
    else if (report->decision_count == 0)
        text_add(text, "none: the module stays as it is (pins apart)\n");
    for (uint32_t i = 0; i < report->decision_count; i++) {
        char worth[48];
        report_worth(report->decisions[i].worth_ps, worth);
        text_printf(text, "%2u. %-50s %s a step\n", i + 1, report->decisions[i].text, worth);
        if (is_first(report, i)) {
            char dimension[300];
            report_dimension(plan_context_nda(evaluator_context(report->evaluator)),
                             report->decisions[i].decision.group, dimension, sizeof dimension);
            text_printf(text, "    %s\n", dimension);
        }
        costly |= report->decisions[i].worth_ps <= 0;
    }
    if (costly)
        text_add(text, "One that costs time is there for memory, and so is one that saves none.\n");
}

static void write_baseline(const struct report *report, const struct report_baseline *baseline, int width,
                           struct text *text)
{
    char step[32], peak[32];
    report_time(baseline->price.step_ps, step);
    report_bytes(baseline->price.peak_bytes, peak);
    text_printf(text, "%-*s %12s %12s %6s %12.6f%s\n", width, baseline->name, step, peak,
                baseline->price.peak_bytes <= report->memory_limit_bytes ? "yes" : "no",
                cost_value(baseline->cost), baseline->estimated ? " ~" : "");
}

static void write_baselines(const struct report *report, struct text *text)
{
    uint32_t count, shown;
    int width = 48; /* more where a name is longer: the last words of a plan tell it from others */
    if (report->baseline_count == 0)
        return;
    heading(text, "Against the experts' plans, best first");
    struct report_baseline *sorted = report_baselines_distinct(report, &count);
    shown = count < SHOWN_BASELINES ? count : SHOWN_BASELINES;
    for (uint32_t i = 0; i < shown; i++)
        width = (int)strlen(sorted[i].name) > width ? (int)strlen(sorted[i].name) : width;
    text_printf(text, "%-*s %12s %12s %6s %12s\n", width, "plan", "step", "peak", "fits", "cost");
    write_baseline(report, &(struct report_baseline){"* this plan", report->price, report->cost, false},
                   width, text);
    for (uint32_t i = 0; i < shown; i++)
        write_baseline(report, &sorted[i], width, text);
    if (report->baseline_count > shown)
        text_printf(text, "… and %u more in report.json%s\n", report->baseline_count - shown,
                    count < report->baseline_count ? "; of experts with one price one stands here" : "");
    bool estimated = false;
    for (uint32_t i = 0; i < shown; i++)
        estimated |= sorted[i].estimated;
    if (estimated)
        text_add(text, "~ far behind: priced on the folded program alone\n");
    free(sorted);
}

static void write_time(const struct report *report, struct text *text)
{
    char a[32], b[32];
    heading(text, "Time of a step");
    report_time(report->price.compute_ps, a);
    report_time(report->price.matmul_ps, b);
    text_printf(text, "compute            %12s   (matrix multiplications %s)\n", a, b);
    for (uint8_t k = SPMD_ALL_GATHER; k <= SPMD_PERMUTE; k++) {
        if (report->time_by_kind[k] == 0)
            continue;
        report_time(report->time_by_kind[k], a);
        text_printf(text, "%-18s %12s\n", report_kind_name(k), a);
    }
    report_time(report->price.exposed_ps, a);
    if (report->collective_count)
        text_printf(text, "exposed            %12s   of the communication blocks compute\n", a);
    else
        text_add(text, "no communication\n");
}

static void write_alike(const struct report *report, const struct report_alike_row *row, struct text *text)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    char bytes[32], time[32], exposed[32], axes[200], place[64], last[64];
    report_place(row->first->location, place, sizeof place);
    report_place(row->last->location, last, sizeof last);
    report_bytes(row->first->bytes, bytes);
    report_time(row->time_ps, time);
    report_time(row->exposed_ps, exposed);
    report_axes(mesh, row->first->axes, row->first->axis_count, axes, sizeof axes);
    text_printf(text, "%-18s %-14s %6lld %10s %10s %10s  %-22s %s%s%s\n", report_kind_name(row->first->kind),
                axes, (long long)row->count, bytes, time, exposed, row->first->cause, place,
                strcmp(place, last) != 0 ? " to " : "", strcmp(place, last) != 0 ? last : "");
}

static uint32_t axes_of(const struct report_collective *collective)
{
    uint32_t axes = 0;
    for (uint32_t k = 0; k < collective->axis_count; k++)
        axes |= UINT32_C(1) << collective->axes[k];
    return axes;
}

/* Is the row's time another one's? What is sent together has one start, in the row of the first. */
static bool goes_along(const struct report_alike_row *rows, uint32_t count, uint32_t self)
{
    const struct report_collective *row = rows[self].first;
    for (uint32_t i = 0; i < count && rows[self].time_ps < LEAST_PS * rows[self].count; i++)
        if (rows[i].time_ps >= LEAST_PS * rows[i].count && rows[i].first->kind == row->kind &&
            axes_of(rows[i].first) == axes_of(row))
            return true;
    return false;
}

static void write_collectives(const struct report *report, struct text *text)
{
    uint32_t count;
    int64_t waiting = 0, along = 0;
    struct report_alike_row *rows = report_alike(report, &count);
    heading(text, "Communication, most expensive first");
    report_text_causes(report, text);
    if (count == 0)
        text_add(text, "none\n");
    else
        text_printf(text, "%-18s %-14s %6s %10s %10s %10s  %-22s %s\n", "kind", "axes", "count", "bytes each",
                    "time", "exposed", "because of", "where");
    for (uint32_t i = 0; i < count; i++) {
        waiting += rows[i].exposed_ps > rows[i].time_ps;
        if (i < SHOWN_COLLECTIVES) {
            along += goes_along(rows, count, i);
            write_alike(report, &rows[i], text);
        }
    }
    if (along)
        text_add(
            text,
            "Less than a microsecond: sent together with others of its kind and axes, whose time is that "
            "of all.\n");
    if (waiting)
        text_add(text, "More exposed than its time: it also waits for the collectives that are before it.\n");
    if (count > SHOWN_COLLECTIVES)
        text_printf(text, "… and %u more kinds; each collective stands in report.json\n",
                    count - SHOWN_COLLECTIVES);
    free(rows);
}

static void write_at_peak(const struct report *report, struct text *text)
{
    int64_t rest = report->price.peak_bytes;
    uint32_t shown = report->at_peak_count < SHOWN_TENSORS ? report->at_peak_count : SHOWN_TENSORS;
    char bytes[32], place[64], name[180];
    heading(text, "Alive at the peak, most bytes first (of one device, all that are alike together; types of "
                  "the whole)");
    for (uint32_t i = 0; i < shown; i++) {
        report_bytes(report->at_peak[i].bytes, bytes);
        report_place(report->at_peak[i].location, place, sizeof place);
        char many[16] = "";
        if (report->at_peak[i].count > 1)
            snprintf(many, sizeof many, "x %u", report->at_peak[i].count);
        snprintf(name, sizeof name, "%s%s", report->at_peak[i].gathered ? "gathered " : "",
                 report->at_peak[i].name);
        text_printf(text, "%10s %6s  %-36.36s %-27.27s %s\n", bytes, many, name, report->at_peak[i].type,
                    place);
        rest -= report->at_peak[i].bytes;
    }
    report_bytes(rest, bytes);
    if (shown && rest > 0)
        text_printf(text, "%10s %6s  all others\n", bytes, "");
}

static void write_rematerialised(const struct report *report, struct text *text)
{
    char again[32], peak[32];
    if (!report->price.rematerialised_bytes)
        return;
    report_bytes(report->price.rematerialised_bytes, again);
    report_bytes(report->price.peak_bytes, peak);
    text_printf(text, "of it %s are computed again near the limit, so that %s are left;\n", again, peak);
}

static void write_memory(const struct report *report, struct text *text)
{
    char program[32], depth_first[32], by_memory[32], title[120];
    report_bytes(report->price.program_peak_bytes, program);
    report_bytes(report->price.depth_first_peak_bytes, depth_first);
    uint32_t rows = report->timeline_count < MEMORY_ROWS ? report->timeline_count : MEMORY_ROWS;
    int64_t top = 0;
    for (uint32_t i = 0; i < report->timeline_count; i++)
        top = report->timeline[i] > top ? report->timeline[i] : top;
    bool far = top < report->memory_limit_bytes / FAR_BELOW; /* bars of the limit's scale would be empty */
    if (!far && top < report->memory_limit_bytes)
        top = report->memory_limit_bytes;
    snprintf(title, sizeof title, "Memory over the program (each row a %s; %s)",
             rows < MEMORY_ROWS ? "step" : "sixteenth of its steps",
             far ? "a full bar is the peak, far below the limit" : "| is the limit");
    heading(text, title);
    if (report->price.hiding_peak_bytes) {
        report_bytes(report->price.hiding_peak_bytes, by_memory);
        text_printf(text, "peak %s in program order, %s as the compiler hides collectives: that counts;\n",
                    program, by_memory);
        write_rematerialised(report, text);
    } else if (report->price.memory_peak_bytes) {
        report_bytes(report->price.memory_peak_bytes, by_memory);
        text_printf(text,
                    "peak %s in program order, %s depth first, %s by memory:\nthe compiler takes of the last "
                    "two the one that is less before it copies arguments;\n",
                    program, depth_first, by_memory);
    } else {
        text_printf(
            text, "peak %s in program order, %s depth first: a compiler may choose, so the larger counts;\n",
            program, depth_first);
        write_rematerialised(report, text);
    }
    text_printf(text, "below the steps %s\n", price_order_words(report->price.peak_order));
    for (uint32_t row = 0; row < rows; row++) {
        int64_t high = 0;
        for (uint32_t i = row * report->timeline_count / rows; i < (row + 1) * report->timeline_count / rows;
             i++)
            high = report->timeline[i] > high ? report->timeline[i] : high;
        char bytes[32];
        report_bytes(high, bytes);
        int filled = (int)((double)high / (double)top * BAR),
            limit = far ? -1 : (int)((double)report->memory_limit_bytes / (double)top * BAR);
        text_printf(text, "%10s ", bytes);
        for (int i = 0; i <= BAR; i++)
            text_add_char(text, i == limit ? '|' : i < filled ? '#' : ' ');
        text_add_char(text, '\n');
    }
    write_at_peak(report, text);
}

static void write_conflicts(const struct report *report, struct text *text)
{
    if (report->conflict_count == 0)
        return;
    heading(text, "Conflicts (dimensions that cannot be split alike everywhere)");
    for (uint32_t i = 0; i < report->conflict_count; i++) {
        struct report_conflict sum;
        const struct report_conflict *conflict = &sum;
        uint32_t bits = report_conflicts_alike(report, i, &sum);
        if (bits == 0)
            continue;
        text_printf(text, bits > 1 ? "%s, %u bits" : "%s bit %u", sum.group, bits > 1 ? bits : sum.bit);
        text_printf(text, ": %u conflict%s in %u set%s; ", sum.conflicts, sum.conflicts == 1 ? "" : "s",
                    sum.sets, sum.sets == 1 ? "" : "s");
        if (conflict->decision < 0) {
            text_add(text, conflict->by_choices ? "split op by op, on the side that pays there\n"
                                                : "not sharded, so no side had to be chosen\n");
            continue;
        }
        if (!conflict->priced) {
            text_printf(text, "side %u chosen; the other side was not priced, the time was over\n",
                        conflict->side);
            continue;
        }
        char step[32], peak[32];
        report_time(conflict->other_step_ps, step);
        report_bytes(conflict->other_peak_bytes, peak);
        text_printf(text, "side %u chosen; the other side: %s, %s\n", conflict->side, step, peak);
    }
}

static void write_arguments(const struct report *report, struct text *text)
{
    uint32_t count;
    int width = 40;
    struct report_kind *kinds = report_kinds(report, &count);
    heading(text, "Arguments, most bytes on a device first (* is any number)");
    for (uint32_t i = 0; i < count && i < SHOWN_ARGUMENTS; i++)
        width = (int)strlen(kinds[i].pattern) > width ? (int)strlen(kinds[i].pattern) : width;
    for (uint32_t i = 0; i < count && i < SHOWN_ARGUMENTS; i++) {
        char many[24] = "";
        if (kinds[i].count > 1)
            snprintf(many, sizeof many, "x %u", kinds[i].count);
        text_printf(text, "%-*s %6s  %-10s %-26s %s\n", width,
                    kinds[i].count > 1 ? kinds[i].pattern : kinds[i].first->name, many,
                    report_role_name(kinds[i].first->role), kinds[i].first->type, kinds[i].first->spec);
    }
    if (count > SHOWN_ARGUMENTS)
        text_printf(text, "… and %u more rows; every argument stands in plan.json\n",
                    count - SHOWN_ARGUMENTS);
    free(kinds);
}

static void write_fold(const struct report *report, struct text *text)
{
    const struct report_fold *fold = &report->fold;
    if (fold->kept)
        text_printf(
            text,
            "folded: %u layers as %u, checked on %u plans, worst %.2f %%; %u of %u random ones beyond "
            "0.5 %%\n",
            fold->layers, fold->kept, fold->checked, 100 * fold->worst, fold->beyond, fold->random);
    else if (fold->layers)
        text_printf(
            text,
            "priced with all %u layers: with fewer in their place the price of experts' plans was off "
            "by %.2f %%\n",
            fold->layers, 100 * fold->worst);
}

/* where rollouts ended: "3 decisions 120, 4 decisions 87" */
static void write_lengths(const struct search_state *state, struct text *text)
{
    uint64_t rollouts = 0, decisions = 0;
    for (uint32_t i = 0; i <= SEARCH_MAX_LIST; i++) {
        rollouts += state->lengths[i];
        decisions += i * state->lengths[i];
    }
    if (!rollouts)
        return;
    text_printf(text, "rollouts by decisions (mean %.1f):", (double)decisions / (double)rollouts);
    for (uint32_t i = 0; i <= SEARCH_MAX_LIST; i++)
        if (state->lengths[i])
            text_printf(text, "  %u: %llu", i, (unsigned long long)state->lengths[i]);
    text_add_char(text, '\n');
}

static void write_search(const struct report *report, struct text *text)
{
    const struct search_state *state = &report->search;
    if (state->rollouts == 0 && state->evaluations == 0)
        return;
    heading(text, "Search");
    text_printf(
        text,
        "%llu rollouts, %llu price%s, %u epoch%s; stopped: %s; %u decisions offered, %u left out (they split "
        "nothing, or too little)\n",
        (unsigned long long)state->rollouts, (unsigned long long)state->evaluations,
        state->evaluations == 1 ? "" : "s", state->epoch, state->epoch == 1 ? "" : "s", state->stop_reason,
        report->offered, report->pruned);
    write_lengths(state, text);
    write_fold(report, text);
    char before[64] = "";
    for (uint32_t i = 0; i < state->curve_count && i < SEARCH_CURVE; i++) { /* what it got better by */
        char step[32], now[64];
        report_time(state->curve[i].step_ps, step);
        snprintf(now, sizeof now, "cost %.6f  %s", cost_value(state->curve[i].cost), step);
        if (strcmp(now, before) != 0)
            text_printf(text, "%10llu rollouts  %s\n", (unsigned long long)state->curve[i].rollouts, now);
        snprintf(before, sizeof before, "%s", now);
    }
}

static void write_bound(const struct report *report, struct text *text)
{
    char bound[32];
    if (!report->has_bound)
        return;
    report_time(report->bound_ps, bound);
    text_printf(text,
                "No plan that fits takes less than %s (certified by the admissible network): this one is "
                "within a factor of %.3f.\n",
                bound, (double)report->price.step_ps / (double)(report->bound_ps > 0 ? report->bound_ps : 1));
}

void report_segments_parts(const struct report_segments *it, char out[REPORT_PARTS_SIZE])
{
    char computation[32], communication[32];
    out[0] = 0;
    if (it->computation_ps < 0)
        return;
    report_time(it->computation_ps, computation);
    report_time(it->composed_ps - it->computation_ps, communication);
    snprintf(out, REPORT_PARTS_SIZE, " (computation %s, communication %s)", computation, communication);
}

static void write_segments(const struct report *report, struct text *text)
{
    const struct report_segments *it = &report->segments;
    char composed[32], whole[32], parts[REPORT_PARTS_SIZE];
    if (!it->present)
        return;
    if (!it->blocks) {
        text_add(text, "The module has no contractions: segments say nothing of it.\n");
        return;
    }
    report_time(it->composed_ps, composed);
    report_time(it->step_ps, whole);
    report_segments_parts(it, parts);
    text_printf(
        text,
        "Segments: %u blocks in %u segments of %u kinds, %llu %s in tables; composed %s%s, whole price %s "
        "(%+.2f %%)%s%s.\n",
        it->blocks, it->segments, it->kinds, (unsigned long long)it->programs,
        it->measured ? "measured times" : "prices", composed, parts, whole,
        100 * ((double)it->composed_ps / (double)(it->step_ps > 0 ? it->step_ps : 1) - 1),
        it->proved ? "; proved best of the tables" : "",
        it->mixed ? "; equal segments have different configurations" : "");
}

void report_text(const struct report *report, struct text *text)
{
    write_summary(report, text);
    report_text_advice(report, text);
    write_decisions(report, text);
    write_baselines(report, text);
    write_bound(report, text);
    report_alternatives_text(report, text);
    report_referee_text(report, text);
    write_segments(report, text);
    write_time(report, text);
    write_collectives(report, text);
    write_memory(report, text);
    write_conflicts(report, text);
    report_text_whole(report, text);
    report_text_classes(report, text);
    write_arguments(report, text);
    report_text_constraints(report, text);
    write_search(report, text);
    if (report->warning_count)
        heading(text, "Warnings");
    for (uint32_t i = 0; i < report->warning_count; i++)
        text_printf(text, "- %s\n", report->warnings[i]);
}

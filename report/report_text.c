/* report.txt: the report as a person reads it in a terminal of 110 columns. Most important first: does it
 * fit, how fast is it, compared with what, which dimension goes over which axis; then where time and
 * memory go, why, and what would change it. Equal reports give equal bytes. It decides nothing and
 * measures nothing: every figure stands in the report. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much of each list is shown. The whole should be read in a few screens of a terminal; the rest is in
 * report.json and plan.json, and the text says so. */
enum { SHOWN_COLLECTIVES = 20, SHOWN_TENSORS = 12, SHOWN_ARGUMENTS = 60, SHOWN_BASELINES = 12 };
enum { MEMORY_ROWS = 16 }; /* the heading calls each a sixteenth */
enum { BAR = 50 };         /* characters of a full bar, beside a number in 110 columns */

static void heading(struct text *t, const char *title)
{
    text_printf(t, "\n%s\n", title);
    for (size_t i = 0; i < strlen(title); i++)
        text_add_char(t, '-');
    text_add_char(t, '\n');
}

static void write_summary(const struct report *r, struct text *t)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    char step[32], peak[32], limit[32];
    report_time(r->price.step_ps, step);
    report_bytes(r->price.peak_bytes, peak);
    report_bytes(r->memory_limit_bytes, limit);
    text_add(t, "TOAST report\n============\n");
    text_add(t, "mesh          ");
    for (uint32_t a = 0; a < m->axis_count; a++)
        text_printf(t, "%s%s=%lld", a ? " x " : "", m->axes[a].name, (long long)m->axes[a].size);
    text_printf(t, " of %s\n", evaluator_machine(r->evaluator)->device.name);
    text_printf(t, "step time     %s (estimated)\n", step);
    text_printf(t, "peak memory   %s a device, limit %s: %s\n", peak, limit,
                r->smallest_budget_bytes ? "DOES NOT FIT" : "fits");
    text_printf(t, "cost          %.6f of the unsharded module's\n", cost_value(r->cost));
    text_printf(t, "found by      %s%s\n", r->plan.found_by,
                r->reproducible ? "" : " (cut by time: not reproducible)");
    text_printf(t, "proof         %s%s%s", r->proof_status, *r->proof_reason ? ": " : "", r->proof_reason);
    if (strcmp(r->proof_status, "equal") == 0)
        text_printf(t, " (largest error %.3g)", r->proof_max_error);
    text_add(t, "\n");
}

static void write_nothing_fits(const struct report *r, struct text *t)
{
    if (!r->smallest_budget_bytes)
        return;
    char need[32], over[32];
    report_bytes(r->smallest_budget_bytes, need);
    report_bytes(r->smallest_budget_bytes - r->memory_limit_bytes, over);
    heading(t, "Nothing fits");
    text_printf(
        t,
        "The best plan found needs %s a device, %s over the limit. With --memory-limit %lld it fits.\n"
        "What holds the memory at the peak is listed below; more devices, a smaller batch, or\n"
        "rematerialisation (jax.checkpoint) of the largest of them are the usual ways out.\n",
        need, over, (long long)r->smallest_budget_bytes);
}

static void write_decisions(const struct report *r, struct text *t)
{
    bool costly = false;
    heading(t, "Decisions, in order, and what each is worth");
    if (r->plan.factor_count)
        text_printf(
            t,
            "none: op by op, %u single shardings (\"factors\" in plan.json) of the cost-function network\n",
            r->plan.factor_count);
    else if (r->decision_count == 0)
        text_add(t, "none: the module stays as it is (pins apart)\n");
    for (uint32_t i = 0; i < r->decision_count; i++) {
        char worth[48];
        report_worth(r->decisions[i].worth_ps, worth);
        text_printf(t, "%2u. %-50s %s a step\n", i + 1, r->decisions[i].text, worth);
        costly |= r->decisions[i].worth_ps < 0;
    }
    if (costly)
        text_add(t, "One that costs time is there for memory.\n");
}

static void write_baseline(const struct report *r, const struct report_baseline *b, int width, struct text *t)
{
    char step[32], peak[32];
    report_time(b->price.step_ps, step);
    report_bytes(b->price.peak_bytes, peak);
    text_printf(t, "%-*s %12s %12s %6s %12.6f\n", width, b->name, step, peak,
                b->price.peak_bytes <= r->memory_limit_bytes ? "yes" : "no", cost_value(b->cost));
}

static void write_baselines(const struct report *r, struct text *t)
{
    uint32_t shown = r->baseline_count < SHOWN_BASELINES ? r->baseline_count : SHOWN_BASELINES;
    int width = 48; /* more where a name is longer: the last words of a plan tell it from others */
    if (r->baseline_count == 0)
        return;
    heading(t, "Against the experts' plans, best first");
    struct report_baseline *sorted = report_baselines_sorted(r);
    for (uint32_t i = 0; i < shown; i++)
        width = (int)strlen(sorted[i].name) > width ? (int)strlen(sorted[i].name) : width;
    text_printf(t, "%-*s %12s %12s %6s %12s\n", width, "plan", "step", "peak", "fits", "cost");
    write_baseline(r, &(struct report_baseline){"* this plan", r->price, r->cost}, width, t);
    for (uint32_t i = 0; i < shown; i++)
        write_baseline(r, &sorted[i], width, t);
    if (r->baseline_count > shown)
        text_printf(t, "… and %u more in report.json\n", r->baseline_count - shown);
    free(sorted);
}

static void write_time(const struct report *r, struct text *t)
{
    char a[32], b[32];
    heading(t, "Time of a step");
    report_time(r->price.compute_ps, a);
    report_time(r->price.matmul_ps, b);
    text_printf(t, "compute            %12s   (matrix multiplications %s)\n", a, b);
    for (uint8_t k = SPMD_ALL_GATHER; k <= SPMD_PERMUTE; k++) {
        if (r->time_by_kind[k] == 0)
            continue;
        report_time(r->time_by_kind[k], a);
        text_printf(t, "%-18s %12s\n", report_kind_name(k), a);
    }
    report_time(r->price.exposed_ps, a);
    text_printf(t, "exposed            %12s   of the communication blocks compute\n", a);
}

static void write_collectives(const struct report *r, struct text *t)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    heading(t, "Communication, most expensive first");
    if (r->collective_count == 0)
        text_add(t, "none\n");
    else
        text_printf(t, "%-18s %-14s %6s %10s %10s  %-22s %s\n", "kind", "axes", "count", "bytes", "time",
                    "because of", "where");
    for (uint32_t i = 0; i < r->collective_count && i < SHOWN_COLLECTIVES; i++) {
        const struct report_collective *c = &r->collectives[i];
        char bytes[32], time[32], axes[200];
        report_bytes(c->bytes, bytes);
        report_time(c->time_ps, time);
        report_axes(m, c->axes, c->axis_count, axes, sizeof axes);
        text_printf(t, "%-18s %-14s %6lld %10s %10s  %-22.22s %s\n", report_kind_name(c->kind), axes,
                    (long long)c->count, bytes, time, report_cause(r, c), c->location);
    }
    if (r->collective_count > SHOWN_COLLECTIVES)
        text_printf(t, "… and %u more rows in report.json\n", r->collective_count - SHOWN_COLLECTIVES);
}

static void write_memory(const struct report *r, struct text *t)
{
    char program[32], depth_first[32];
    report_bytes(r->price.program_peak_bytes, program);
    report_bytes(r->price.depth_first_peak_bytes, depth_first);
    uint32_t rows = r->timeline_count < MEMORY_ROWS ? r->timeline_count : MEMORY_ROWS;
    heading(t, rows < MEMORY_ROWS
                   ? "Memory over the program (each row a step; | is the limit)"
                   : "Memory over the program (each row a sixteenth of its steps; | is the limit)");
    text_printf(t,
                "peak %s in program order, %s depth first: a compiler may choose, so the larger counts;\n"
                "below the steps %s\n",
                program, depth_first, r->peak_depth_first ? "depth first" : "in program order");
    int64_t top = r->memory_limit_bytes;
    for (uint32_t i = 0; i < r->timeline_count; i++)
        top = r->timeline[i] > top ? r->timeline[i] : top;
    for (uint32_t row = 0; row < rows; row++) {
        int64_t high = 0;
        for (uint32_t i = row * r->timeline_count / rows; i < (row + 1) * r->timeline_count / rows; i++)
            high = r->timeline[i] > high ? r->timeline[i] : high;
        char bytes[32];
        report_bytes(high, bytes);
        int filled = (int)((double)high / (double)top * BAR),
            limit = (int)((double)r->memory_limit_bytes / (double)top * BAR);
        text_printf(t, "%10s ", bytes);
        for (int i = 0; i <= BAR; i++)
            text_add_char(t, i == limit ? '|' : i < filled ? '#' : ' ');
        text_add_char(t, '\n');
    }
    heading(t, "Alive at the peak, largest first");
    for (uint32_t i = 0; i < r->at_peak_count && i < SHOWN_TENSORS; i++) {
        char bytes[32];
        report_bytes(r->at_peak[i].bytes, bytes);
        text_printf(t, "%10s  %-36.36s %-28.28s %s\n", bytes, r->at_peak[i].name, r->at_peak[i].type,
                    r->at_peak[i].location);
    }
}

static void write_conflicts(const struct report *r, struct text *t)
{
    if (r->conflict_count == 0)
        return;
    heading(t, "Conflicts (dimensions that cannot be split alike everywhere)");
    for (uint32_t i = 0; i < r->conflict_count; i++) {
        const struct report_conflict *c = &r->conflicts[i];
        text_printf(t, "%s bit %u: %u conflicts in %u sets; ", c->group, c->bit, c->conflicts, c->sets);
        if (c->decision < 0) {
            text_add(t, "not sharded, so no side had to be chosen\n");
            continue;
        }
        char step[32], peak[32];
        report_time(c->other_step_ps, step);
        report_bytes(c->other_peak_bytes, peak);
        text_printf(t, "side %u chosen; the other side: %s, %s\n", c->side, step, peak);
    }
}

static void write_arguments(const struct report *r, struct text *t)
{
    heading(t, "Arguments");
    for (uint32_t i = 0; i < r->argument_count && i < SHOWN_ARGUMENTS; i++)
        text_printf(t, "%-40.40s %-10s %-26.26s %s\n", r->arguments[i].name,
                    report_role_name(r->arguments[i].role), r->arguments[i].type, r->arguments[i].spec);
    if (r->argument_count > SHOWN_ARGUMENTS)
        text_printf(t, "… and %u more in plan.json\n", r->argument_count - SHOWN_ARGUMENTS);
}

static void write_search(const struct report *r, struct text *t)
{
    const struct search_state *s = &r->search;
    if (s->rollouts == 0 && s->evaluations == 0)
        return;
    heading(t, "Search");
    text_printf(
        t, "%llu rollouts, %llu evaluations, %u epochs; stopped: %s; %u decisions offered, %u left out\n",
        (unsigned long long)s->rollouts, (unsigned long long)s->evaluations, s->epoch, s->stop_reason,
        r->offered, r->pruned);
    for (uint32_t i = 0; i < s->curve_count && i < SEARCH_CURVE; i++) {
        char step[32];
        report_time(s->curve[i].step_ps, step);
        text_printf(t, "%10llu rollouts  cost %.6f  %s\n", (unsigned long long)s->curve[i].rollouts,
                    cost_value(s->curve[i].cost), step);
    }
}

static void write_bound(const struct report *r, struct text *t)
{
    char bound[32];
    if (!r->has_bound)
        return;
    report_time(r->bound_ps, bound);
    text_printf(t,
                "No plan that fits takes less than %s (certified by the admissible network): this one is "
                "within a factor of %.3f.\n",
                bound, (double)r->price.step_ps / (double)(r->bound_ps > 0 ? r->bound_ps : 1));
}

void report_text(const struct report *r, struct text *t)
{
    write_summary(r, t);
    write_nothing_fits(r, t);
    write_decisions(r, t);
    write_baselines(r, t);
    write_bound(r, t);
    write_time(r, t);
    write_collectives(r, t);
    write_memory(r, t);
    write_conflicts(r, t);
    write_arguments(r, t);
    write_search(r, t);
    if (r->warning_count)
        heading(t, "Warnings");
    for (uint32_t i = 0; i < r->warning_count; i++)
        text_printf(t, "- %s\n", r->warnings[i]);
}

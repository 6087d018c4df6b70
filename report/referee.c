/* A referee's rows, ranked and as text; see referee.h. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ranked {
    struct report_judged row;
    bool fits;
};

static int by_compiler(const void *left, const void *right)
{
    const struct ranked *one = left, *other = right;
    bool refused = one->row.refused[0] != 0, other_refused = other->row.refused[0] != 0;
    if (refused != other_refused)
        return refused ? 1 : -1;
    if (one->fits != other->fits)
        return one->fits ? -1 : 1;
    if (one->row.step_ps != other->row.step_ps)
        return one->row.step_ps < other->row.step_ps ? -1 : 1;
    if (one->row.peak_bytes != other->row.peak_bytes)
        return one->row.peak_bytes < other->row.peak_bytes ? -1 : 1;
    return one->row.plan < other->row.plan ? -1 : one->row.plan > other->row.plan;
}

void report_referee_rank(struct report *report)
{
    struct report_referee *referee = &report->referee;
    struct ranked ranked[REPORT_REFEREE_ROWS];
    uint32_t count = 0;
    referee->timed = referee->count > 0;
    for (uint32_t i = 0; i < referee->count; i++) {
        struct report_judged row = referee->rows[i];
        if (row.plan > report->alternative_count)
            continue;
        const struct price *price = row.plan ? &report->alternatives[row.plan - 1].price : &report->price;
        row.our_step_ps = price->step_ps;
        row.our_peak_bytes = price->peak_bytes;
        ranked[count++] = (struct ranked){row, row.peak_bytes <= report->memory_limit_bytes};
        referee->timed &= row.refused[0] || row.step_ps >= 0;
    }
    if (count)
        qsort(ranked, count, sizeof *ranked, by_compiler);
    for (uint32_t i = 0; i < count; i++)
        referee->rows[i] = ranked[i].row;
    referee->count = count;
}

static void add_row(const struct report *report, const struct report_judged *row, struct text *out)
{
    char name[32] = "this plan", ours[32], theirs[32] = "-", our_peak[32], peak[32];
    if (row->plan)
        snprintf(name, sizeof name, "alternative %u", row->plan);
    if (row->refused[0]) {
        text_printf(out, "%-16s refused: %s\n", name, row->refused);
        return;
    }
    report_time(row->our_step_ps, ours);
    if (row->step_ps >= 0)
        report_time(row->step_ps, theirs);
    report_bytes(row->our_peak_bytes, our_peak);
    report_bytes(row->peak_bytes, peak);
    text_printf(out, "%-16s %12s %12s %12s %12s %6s\n", name, ours, theirs, our_peak, peak,
                row->peak_bytes <= report->memory_limit_bytes ? "yes" : "no");
}

void report_referee_text(const struct report *report, struct text *out)
{
    const struct report_referee *referee = &report->referee;
    static const char title[] = "What the compiler says";
    if (!referee->name[0])
        return;
    text_printf(out, "\n%s\n", title);
    for (size_t i = 0; i + 1 < sizeof title; i++)
        text_add_char(out, '-');
    if (referee->reason[0]) {
        text_printf(out, "\n%s did not judge: %s\n", referee->name, referee->reason);
        return;
    }
    text_printf(out, "\n%s for %s (%s), best first%s\n", referee->name, referee->target, referee->compiler,
                referee->timed ? "" : "; it says no times, so by peak");
    text_printf(out, "%-16s %12s %12s %12s %12s %6s\n", "plan", "step, price", "compiler", "peak, price",
                "compiler", "fits");
    for (uint32_t i = 0; i < referee->count; i++)
        add_row(report, &referee->rows[i], out);
}

/* Alternatives as report.txt and report.html show them: one row each, and below it in what the plan
 * differs. */
#include "report/report.h"

#include "report/html.h"
#include "report/report_html.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_CLASSES = 6, SHOWN_TRAFFIC = 4, SHOWN_DECISIONS = 12 };

static void add_list(struct text *out, const char *what, char *const *list, uint32_t count)
{
    if (!count)
        return;
    text_printf(out, "   %s", what);
    for (uint32_t i = 0; i < count && i < SHOWN_DECISIONS; i++)
        text_printf(out, "%s%s", i ? ", " : " ", list[i]);
    if (count > SHOWN_DECISIONS)
        text_printf(out, " and %u more", count - SHOWN_DECISIONS);
    text_add(out, "\n");
}

static void add_traffic(struct text *out, const struct report *report, const struct report_traffic *row)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    char axes[200], before[32], after[32];
    report_axes(mesh, row->axes, row->axis_count, axes, sizeof axes);
    report_time(row->time_ps, before);
    report_time(row->other_time_ps, after);
    text_printf(out, "   %s over %s: %s in %lld, not %s in %lld\n", report_kind_name(row->kind), axes, after,
                (long long)row->other_count, before, (long long)row->count);
}

static void add_details(struct text *out, const struct report *report, const struct report_alternative *row)
{
    text_printf(out,
                "   shards %.0f %% of the bytes of arguments and %.0f %% of those of results otherwise\n",
                100 * row->argument_share, 100 * row->result_share);
    add_list(out, "with", row->added, row->added_count);
    add_list(out, "without", row->dropped, row->dropped_count);
    for (uint32_t i = 0; i < row->class_count && i < SHOWN_CLASSES; i++)
        text_printf(out, "   %s (%u): %s, not %s\n", row->classes[i].pattern, row->classes[i].count,
                    row->classes[i].other_spec, row->classes[i].spec);
    if (row->class_count > SHOWN_CLASSES)
        text_printf(out, "   and %u more classes of arguments\n", row->class_count - SHOWN_CLASSES);
    for (uint32_t i = 0; i < row->traffic_count && i < SHOWN_TRAFFIC; i++)
        add_traffic(out, report, &row->traffic[i]);
}

void report_alternatives_text(const struct report *report, struct text *out)
{
    static const char title[] = "Alternatives: the best plans that really differ";
    if (!report->alternatives_wanted)
        return;
    text_printf(out, "\n%s\n", title);
    for (size_t i = 0; i + 1 < sizeof title; i++)
        text_add_char(out, '-');
    text_printf(
        out,
        "\nEach shards at least %.0f %% of the bytes of arguments or results otherwise than any before it.\n",
        100 * report->alternatives_apart);
    if (report->alternative_count < report->alternatives_wanted)
        text_printf(out, "%u of %u: no other plan that was looked at differs so much.\n",
                    report->alternative_count, report->alternatives_wanted);
    for (uint32_t i = 0; i < report->alternative_count; i++) {
        const struct report_alternative *row = &report->alternatives[i];
        char step[32], peak[32];
        report_time(row->price.step_ps, step);
        report_bytes(row->price.peak_bytes, peak);
        text_printf(out, "%2u. %s, %s, %s, cost %.6f (%s)%s%s\n", i + 1, step, peak,
                    row->price.peak_bytes <= report->memory_limit_bytes ? "fits" : "does not fit",
                    cost_value(row->cost), row->found_by,
                    strcmp(row->proof_status, "not_run") ? ", proof " : "",
                    strcmp(row->proof_status, "not_run") ? row->proof_status : "");
        add_details(out, report, row);
    }
}

void report_html_alternatives(const struct report *report, struct text *text)
{
    if (!report->alternatives_wanted)
        return;
    html_add(
        text,
        "<section class=\"card wide\" id=\"alternatives\"><h2>Alternatives</h2><p class=\"muted\">The best "
        "plans that shard at least %.0f %% of the bytes of arguments or results otherwise than any before.",
        100 * report->alternatives_apart);
    if (report->alternative_count < report->alternatives_wanted)
        html_add(text, " %u of %u: no other plan that was looked at differs so much.",
                 report->alternative_count, report->alternatives_wanted);
    text_add(text,
             "</p><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Alternatives\"><table>"
             "<thead><tr><th class=\"num\">Plan</th><th class=\"num\">Step</th><th class=\"num\">Peak</th>"
             "<th>Fits</th><th>Found by</th><th>In what it differs</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < report->alternative_count; i++) {
        const struct report_alternative *row = &report->alternatives[i];
        struct text details = {0};
        char step[32], peak[32];
        report_time(row->price.step_ps, step);
        report_bytes(row->price.peak_bytes, peak);
        add_details(&details, report, row);
        html_add(text,
                 "<tr><td class=\"num\">%u</td><td class=\"num\">%s</td><td class=\"num\">%s</td><td>%s</td>"
                 "<td>%s</td><td class=\"long\"><details><summary>%.0f %% of arguments, %.0f %% of "
                 "results</summary><pre>%s</pre></details></td></tr>",
                 i + 1, step, peak, row->price.peak_bytes <= report->memory_limit_bytes ? "yes" : "no",
                 row->found_by, 100 * row->argument_share, 100 * row->result_share, details.at);
        text_release(&details);
    }
    text_add(text, "</tbody></table></div></section>\n");
}

void report_html_referee(const struct report *report, struct text *text)
{
    struct text words = {0};
    report_referee_text(report, &words);
    if (words.at)
        html_add(text,
                 "<section class=\"card wide\" id=\"referee\"><h2>Referee</h2><pre>%s</pre></section>\n",
                 words.at);
    text_release(&words);
}

/* Why not split, for people: a line a dimension in report.txt, a row of a table in report.html. Both have the
 * same words; never finds anything out (whole.c does). */
#include "report/report_html.h"
#include "report/whole.h"

#include <stdio.h>
#include <string.h>

/* percent of the step: what is less is printed as no change */
#define LEAST_CHANGE 0.05
#define LEAST_PLACES 0.005 /* less is none, as percents are printed */
enum { SHOWN_ROWS = 24 };  /* in report.txt; as many as whole.c prices */

static void text_price(const struct report *report, const struct report_whole *whole, struct text *text)
{
    const struct report_try *best = &whole->best;
    char step[32], peak[32];
    report_time(best->step_ps, step);
    report_bytes(best->peak_bytes, peak);
    double more =
        100 * ((double)best->step_ps / (double)(report->price.step_ps > 0 ? report->price.step_ps : 1) - 1);
    char change[32] = "the same time";
    if (more >= LEAST_CHANGE || more <= -LEAST_CHANGE)
        snprintf(change, sizeof change, "%+.1f %%", more);
    else if (whole->reason == REPORT_MISSED) /* better by more than 1e-6 */
        snprintf(change, sizeof change, "%+.2g %%", more);
    text_printf(text, "best try %s%s", best->text, best->first ? " first" : "");
    if (best->first && best->displaced[0])
        text_printf(text, " (%s)", best->displaced);
    else if (best->reach.ops < LEAST_PLACES)
        text_add(text,
                 best->reach.stored < LEAST_PLACES ? " (splits next to nothing)" : " (where it is stored)");
    else if (best->reach.ops < 1 - LEAST_PLACES)
        text_printf(text, " (splits %.0f %% of its work)", 100 * best->reach.ops);
    text_printf(text, ": %s (%s), %s%s", step, change, peak,
                best->peak_bytes > report->memory_limit_bytes ? ", which does not fit" : "");
}

/* gap: what stands between the halves of a reason that is too long for a line */
static void text_reason(const struct report *report, const struct report_whole *whole, const char *gap,
                        struct text *text)
{
    switch (whole->reason) {
    case REPORT_DOES_NOT_DIVIDE: text_printf(text, "does not divide: %s", whole->sizes); break;
    case REPORT_NO_RULE:
        if (whole->op[0]) {
            char place[100];
            report_place(whole->location, place, sizeof place);
            text_printf(text, "no rule: %s at %s takes it whole", whole->op, place);
        } else {
            text_printf(text, "no %sdecision has an effect: %s", whole->partly ? "other " : "",
                        whole->taken[0] ? whole->taken : "pins");
        }
        break;
    case REPORT_CONFLICT_LOST:
        text_printf(text, "conflict lost: %s;%s", whole->taken, gap);
        text_price(report, whole, text);
        break;
    case REPORT_NO_GAIN:
        text_add(text, "no gain: ");
        text_price(report, whole, text);
        break;
    case REPORT_MISSED:
        text_add(text, "better, and missed by this search (a longer one would try it): ");
        text_price(report, whole, text);
        break;
    case REPORT_NOT_TRIED:
        text_add(text, report->cut & REPORT_CUT_WHOLE ? "not tried: the time was over"
                                                      : "not tried: smaller parts are not priced");
        break;
    }
    if (whole->reason != REPORT_DOES_NOT_DIVIDE && whole->sizes[0])
        text_printf(text, ";%s%s", gap, whole->sizes);
}

static const char *example_words(const struct report_whole *whole)
{
    return whole->partly ? "split elsewhere; whole in " : "largest: ";
}

/* rows that say the same (height and width of an image): one, of both names; `from` is the first */
static uint32_t alike_rows(const struct report *report, uint32_t from)
{
    const struct report_whole *first = &report->whole[from];
    uint32_t end = from + 1;
    for (; end < report->whole_count; end++) {
        const struct report_whole *row = &report->whole[end];
        if (row->size != first->size || row->reason != first->reason || row->partly != first->partly ||
            row->memory != first->memory || row->time != first->time || row->tried != first->tried ||
            row->best.step_ps != first->best.step_ps || row->best.peak_bytes != first->best.peak_bytes ||
            strcmp(row->taken, first->taken) != 0 || strcmp(row->example, first->example) != 0 ||
            strcmp(row->location, first->location) != 0)
            break;
    }
    return end;
}

static void write_labels(const struct report *report, uint32_t from, uint32_t end, struct text *text)
{
    for (uint32_t i = from; i < end; i++)
        text_printf(text, "%s%.40s", i > from ? ", " : "", report->whole[i].label);
}

void report_text_whole(const struct report *report, struct text *text)
{
    uint32_t shown = 0, next = 0;
    if (report->whole_count == 0)
        return;
    text_add(text, "\nWhy not split (dimensions left whole, with their part of the peak and of the step)\n"
                   "----------------------------------------------------------------------------------\n");
    text_printf(text, "%-16s %8s %6s %6s  %s\n", "dimension", "size", "peak", "step", "why");
    for (; next < report->whole_count && shown < SHOWN_ROWS; shown++) {
        const struct report_whole *whole = &report->whole[next];
        struct text labels = {0};
        uint32_t end = alike_rows(report, next);
        write_labels(report, next, end, &labels);
        text_printf(text, "%-16s %8lld %4.0f %% %4.0f %%  ", labels.at, (long long)whole->size,
                    100 * whole->memory, 100 * whole->time);
        text_release(&labels);
        text_reason(report, whole, "\n                                        ", text);
        text_add_char(text, '\n');
        if (whole->example[0])
            text_printf(text, "%40s%s%s\n", "", example_words(whole), whole->example);
        next = end;
    }
    if (next < report->whole_count)
        text_printf(text, "… and %u more, each with less, in report.html and report.json\n",
                    report->whole_count - next);
}

void report_html_whole(const struct report *report, struct text *text)
{
    if (report->whole_count == 0)
        return;
    text_add(
        text,
        "<section class=\"card wide\" id=\"whole\"><h2>Why not split</h2><p class=\"muted\">Dimensions "
        "left whole, with the part of the peak's bytes and of the step's time that has them whole. Tensors "
        "have several: parts overlap.</p><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
        "aria-label=\"Why not split\"><table><thead><tr><th>Dimension</th><th class=\"num\">Size</th><th "
        "class=\"num\">Of the peak</th><th class=\"num\">Of the step</th><th>Why</th></tr></thead><tbody>");
    for (uint32_t i = 0, end; i < report->whole_count; i = end) {
        const struct report_whole *whole = &report->whole[i];
        char size[32];
        struct text why = {0}, labels = {0};
        end = alike_rows(report, i);
        write_labels(report, i, end, &labels);
        html_count((uint64_t)whole->size, size);
        text_reason(report, whole, " ", &why);
        html_add(text,
                 "<tr><td>%s</td><td class=\"num\">%s</td><td class=\"num\">%.0f %%</td><td "
                 "class=\"num\">%.0f %%</td><td class=\"long why\">%s",
                 labels.at, size, 100 * whole->memory, 100 * whole->time, why.at);
        if (whole->example[0])
            html_add(text, "<div class=\"muted\">%s<code>%s</code></div>", example_words(whole),
                     whole->example);
        text_add(text, "</td></tr>");
        text_release(&why);
        text_release(&labels);
    }
    text_add(text, "</tbody></table></div></section>\n");
}

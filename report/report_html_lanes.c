/* report.html: when one device computes and when it communicates, over the time of a step. */
#include "report/report_html.h"

#include <stdio.h>
#include <stdlib.h>

enum { TABLE_ROWS = 24 };

static void write_numbers(struct text *text, const double *compute, const double *communication,
                          uint32_t count, int64_t span_ps)
{
    char from[32];
    html_details(text, "Numbers", TABLE_ROWS);
    text_add(text, "<table><thead><tr><th class=\"num\">From</th><th class=\"num\">Computes</th><th "
                   "class=\"num\">Communicates</th></tr></thead><tbody>");
    for (uint32_t row = 0; row < TABLE_ROWS; row++) {
        uint32_t low = row * count / TABLE_ROWS, high = (row + 1) * count / TABLE_ROWS;
        double sums[2] = {0, 0};
        for (uint32_t i = low; i < high; i++) {
            sums[0] += compute[i];
            sums[1] += communication[i];
        }
        report_time(span_ps / TABLE_ROWS * row, from);
        html_add(text,
                 "<tr><td class=\"num\">%s</td><td class=\"num\">%.0f %%</td><td class=\"num\">%.0f "
                 "%%</td></tr>",
                 from, 100 * sums[0] / (high - low), 100 * sums[1] / (high - low));
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

void report_html_lanes(const struct report *report, struct text *text)
{
    const struct report_lanes *lanes = &report->lanes;
    double compute[REPORT_LANES], communication[REPORT_LANES];
    char note[200], hidden[32];
    struct text svg = {0};
    if (!lanes->count)
        return;
    for (uint32_t i = 0; i < lanes->count; i++) {
        compute[i] = lanes->compute[i] / 1000.0;
        communication[i] = lanes->communication[i] / 1000.0;
    }
    report_lanes_picture(compute, communication, lanes->count, 0, (double)lanes->span_ps, &svg);
    report_time(report->price.communication_ps - report->price.exposed_ps, hidden);
    snprintf(note, sizeof note,
             "Share of each span in which one device computes (filled) and communicates (line); %s of it is "
             "hidden. trace.json has every kernel (chrome://tracing, Perfetto).",
             hidden);
    html_figure(text, "lanes", "Compute and communication over a step", note, &svg);
    write_numbers(text, compute, communication, lanes->count, lanes->span_ps);
    html_figure_end(text);
    text_release(&svg);
}

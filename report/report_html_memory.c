/* report.html: the memory of one device over the program as a curve with the limit, and the tensors that
 * are alive where it is highest. */
#include "report/report_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_ROWS = 64 }; /* of the table behind the curve's (up to 512) points */
enum { NOTE = 400 };      /* bytes of the sentence below the picture */
enum { SHOWN_TENSORS = 10 };

static void write_note(const struct report *report, bool far, char note[NOTE])
{
    char limit[32], program[32], depth_first[32], by_memory[32];
    report_bytes(report->memory_limit_bytes, limit);
    report_bytes(report->price.program_peak_bytes, program);
    report_bytes(report->price.depth_first_peak_bytes, depth_first);
    report_bytes(report->price.memory_peak_bytes, by_memory);
    if (report->price.hiding_peak_bytes) {
        report_bytes(report->price.hiding_peak_bytes, by_memory);
        int written = snprintf(
            note, NOTE,
            "Bytes alive on one device in each step. The limit is %s%s. Peak in program order %s, as the "
            "compiler hides collectives %s: that counts and is drawn.",
            limit, far ? ", far above what is drawn" : "", program, by_memory);
        if (report->price.rematerialised_bytes && written > 0 && written < NOTE) {
            report_bytes(report->price.rematerialised_bytes, by_memory);
            snprintf(note + written, NOTE - (size_t)written,
                     " Near the limit the compiler computes %s of it again.", by_memory);
        }
        return;
    }
    bool tries = report->price.memory_peak_bytes > 0; /* orders, and takes the best */
    snprintf(
        note, NOTE,
        "Bytes alive on one device in each step. The limit is %s%s. Peak in program order %s, depth "
        "first %s%s%s: %s.",
        limit, far ? ", far above what is drawn" : "", program, depth_first, tries ? ", by memory " : "",
        tries ? by_memory : "",
        tries
            ? "the compiler tries the last two and takes the one that is less before it copies arguments; it "
              "is drawn"
            : "a compiler may choose, so the larger counts and is drawn");
}

/* the curve as a table; x: first step of each of its points */
static void write_numbers(struct text *text, const struct report *report, const double *x)
{
    uint32_t n = report->timeline_count, rows = n < TABLE_ROWS ? n : TABLE_ROWS;
    char bytes[32];
    html_details(text, "Numbers", rows);
    text_add(text, "<table><thead><tr><th class=\"num\">Steps from</th><th class=\"num\">Highest</th><th "
                   "class=\"num\">Of the limit</th></tr>"
                   "</thead><tbody>");
    for (uint32_t row = 0; row < rows; row++) {
        int64_t most = 0;
        for (uint32_t i = row * n / rows; i < (row + 1) * n / rows; i++)
            most = report->timeline[i] > most ? report->timeline[i] : most;
        report_bytes(most, bytes);
        html_add(
            text,
            "<tr><td class=\"num\">%.0f</td><td class=\"num\">%s</td><td class=\"num\">%.1f %%</td></tr>",
            x[row * n / rows], bytes, 100 * (double)most / (double)report->memory_limit_bytes);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

void report_html_memory(const struct report *report, struct text *text)
{
    uint32_t n = report->timeline_count;
    char peak[48], order[48], bytes[32], note[NOTE];
    if (n == 0)
        return;
    double *x = mem_zalloc(n + 1u, sizeof *x), *y = mem_zalloc(n + 1u, sizeof *y);
    uint32_t top = 0;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (double)i * report->timeline_steps / n;
        y[i] = (double)report->timeline[i];
        top = report->timeline[i] > report->timeline[top] ? i : top;
    }
    report_bytes(report->price.peak_bytes, bytes);
    snprintf(peak, sizeof peak, "peak %s", bytes);
    snprintf(order, sizeof order, "steps, %s", price_order_words(report->price.peak_order));
    double limit = (double)report->memory_limit_bytes, high = (limit > y[top] ? limit : y[top]) * 1.06;
    bool far = limit > 8 * y[top]; /* a limit far above would make the curve a line at the bottom */
    struct html_rule rule = {"limit", limit, 3, true};
    struct html_line line = {"alive", x, y, n, 0, true, true};
    struct html_plot plot = {.title = "Memory of one device over the program's steps, with the limit",
                             .x_name = order,
                             .x_format = html_format_count,
                             .y_format = html_format_bytes,
                             .x_high = report->timeline_steps ? report->timeline_steps : 1,
                             .y_high = far ? y[top] * 1.15 + 1 : high,
                             .lines = &line,
                             .line_count = 1,
                             .rules = &rule,
                             .rule_count = !far,
                             .mark_x = x[top],
                             .mark_y = y[top],
                             .mark = peak};
    struct text svg = {0};
    html_plot(&svg, &plot);
    write_note(report, far, note);
    html_figure(text, "memory", "Memory over the program", note, &svg);
    write_numbers(text, report, x);
    html_figure_end(text);
    text_release(&svg);
    free(x);
    free(y);
}

void report_html_peak(const struct report *report, struct text *text)
{
    struct html_bar bars[SHOWN_TENSORS];
    struct html_segment segments[SHOWN_TENSORS];
    char names[SHOWN_TENSORS][200], notes[SHOWN_TENSORS][32];
    struct html_bars chart = {.title = "The largest tensors alive at the peak", .bars = bars};
    if (report->at_peak_count == 0)
        return;
    for (; chart.count < report->at_peak_count && chart.count < SHOWN_TENSORS; chart.count++) {
        const struct report_tensor *tensor = &report->at_peak[chart.count];
        int at = snprintf(names[chart.count], sizeof names[0], "%s%.44s  %.30s",
                          tensor->gathered ? "gathered " : "", tensor->name, tensor->type);
        if (tensor->count > 1)
            snprintf(names[chart.count] + at, sizeof names[0] - (size_t)at, "  × %u", tensor->count);
        report_bytes(tensor->bytes, notes[chart.count]);
        segments[chart.count] = (struct html_segment){(double)tensor->bytes, 4, false};
        bars[chart.count] =
            (struct html_bar){names[chart.count], notes[chart.count], &segments[chart.count], 1, false};
        chart.high = (double)tensor->bytes > chart.high ? (double)tensor->bytes : chart.high;
    }
    struct text svg = {0};
    char note[160];
    html_bars(&svg, &chart);
    snprintf(
        note, sizeof note,
        "At step %u of %u: what a smaller peak has to begin with; what is alike is one bar. Types are those "
        "of the whole tensor.",
        report->price.peak_step, report->timeline_steps);
    html_figure(text, "peak", "Alive at the peak", note, &svg);
    html_details(text, "Numbers and source lines", report->at_peak_count);
    text_add(text, "<table><thead><tr><th "
                   "class=\"num\">Bytes</th><th "
                   "class=\"num\">Tensors</th><th>What</th><th>Type</th><th>Where</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < report->at_peak_count; i++) {
        const struct report_tensor *tensor = &report->at_peak[i];
        char bytes[32];
        report_bytes(tensor->bytes, bytes);
        html_add(text,
                 "<tr><td class=\"num\">%s</td><td class=\"num\">%u</td><td class=\"long\">%s%s</td><td "
                 "class=\"long\"><code>%s</code></td><td class=\"long\">"
                 "<code>%s</code></td></tr>",
                 bytes, tensor->count, tensor->gathered ? "gathered " : "", tensor->name, tensor->type,
                 tensor->location);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
    html_figure_end(text);
    text_release(&svg);
}

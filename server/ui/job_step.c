/* The parts of an ended job's page that show the plan's step on one device: when it computes and
 * communicates, and what it holds. Both from report.json, with their numbers as tables; the trace of every
 * kernel is an artifact. See ui.h. */
#include "server/ui/ui.h"

#include "report/lanes.h"

enum { ROWS = 24, POINTS_MAX = 4096 };

/* ---- compute and communication ---- */

static size_t read_lane(const struct look *list, double *out)
{
    size_t count = look_count(list) < POINTS_MAX ? look_count(list) : POINTS_MAX;
    for (size_t i = 0; i < count; i++)
        out[i] = look_number(look_item(list, i)) / 1000;
    return count;
}

/* what part of the step is looked at: 1 / 2^level of it, the index-th; "?zoom=level.index" */
struct zoom {
    unsigned level, index;
};
enum { ZOOM_MOST = 4 };

static struct zoom zoom_of(const struct exchange *exchange)
{
    char value[16] = "";
    struct zoom zoom = {0, 0};
    request_query(exchange, "zoom", value, sizeof value);
    if (sscanf(value, "%1u.%2u", &zoom.level, &zoom.index) != 2 || zoom.level > ZOOM_MOST ||
        zoom.index >= 1u << zoom.level)
        zoom = (struct zoom){0, 0};
    return zoom;
}

static void zoom_link(struct text *text, const struct ui_job *j, bool there, unsigned level, unsigned index,
                      const char *word)
{
    if (there)
        html_add(text, "<a class=\"button\" href=\"/ui/jobs/%s?zoom=%u.%u#lanes\">%s</a>", j->id, level,
                 index, word);
}

/* plain links, so that they work without script and stay while the page refreshes itself */
static void write_zoom(struct text *text, const struct ui_job *j, struct zoom zoom)
{
    bool in = zoom.level < ZOOM_MOST;
    text_add(text, "<div class=\"actions\" role=\"group\" aria-label=\"Zoom of the timeline\">");
    zoom_link(text, j, in, zoom.level + 1, zoom.index * 2, "First half");
    zoom_link(text, j, in, zoom.level + 1, zoom.index * 2 + 1, "Second half");
    zoom_link(text, j, zoom.index > 0, zoom.level, zoom.index - 1, "Earlier");
    zoom_link(text, j, zoom.index + 1 < 1u << zoom.level, zoom.level, zoom.index + 1, "Later");
    zoom_link(text, j, zoom.level > 0, 0, 0, "All");
    text_add(text, "</div>");
}

static void write_lane_numbers(struct text *text, const double *compute, const double *communication,
                               size_t count, double from_ps, double span_ps)
{
    char from[32];
    size_t rows = count < ROWS ? count : ROWS;
    html_details(text, "Numbers", (uint32_t)rows);
    text_add(text, "<table><thead><tr><th class=\"num\">From</th><th class=\"num\">Computes</th><th "
                   "class=\"num\">Communicates</th></tr></thead><tbody>");
    for (size_t row = 0; row < rows; row++) {
        size_t low = row * count / rows, high = (row + 1) * count / rows;
        double sums[2] = {0, 0};
        for (size_t i = low; i < high; i++) {
            sums[0] += compute[i];
            sums[1] += communication[i];
        }
        html_format_time(from_ps + span_ps * (double)low / (double)count, from);
        html_add(text,
                 "<tr><td class=\"num\">%s</td><td class=\"num\">%.0f %%</td><td class=\"num\">%.0f "
                 "%%</td></tr>",
                 from, 100 * sums[0] / (double)(high - low), 100 * sums[1] / (double)(high - low));
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

void ui_job_lanes(struct ui_page *page, const struct ui_job *j)
{
    struct text *text = &page->text, svg = {0};
    const struct look *time = look_get(j->report, "time"), *lanes = look_get(time, "timeline");
    double *compute = mem_zalloc(POINTS_MAX, sizeof *compute),
           *communication = mem_zalloc(POINTS_MAX, sizeof *communication);
    size_t count = read_lane(look_get(lanes, "compute"), compute),
           sent = read_lane(look_get(lanes, "communication"), communication);
    double span = look_number(look_get(lanes, "step_ps"));
    char note[200], hidden[32], all[32];
    if (count == sent && count > 0 && span > 0) {
        html_format_time(look_number(look_get(time, "hidden_ps")), hidden);
        html_format_time(look_number(look_get(time, "communication_ps")), all);
        snprintf(note, sizeof note,
                 "Shares of each span of the step: filled computes, the line communicates; %s of %s of "
                 "communication "
                 "are hidden.",
                 hidden, all);
        struct zoom zoom = zoom_of(page->exchange);
        size_t shown = count >> zoom.level, first = shown * zoom.index;
        double part = span * (double)shown / (double)count, from = span * (double)first / (double)count;
        report_lanes_picture(compute + first, communication + first, (uint32_t)shown, from, part, &svg);
        html_figure(text, "lanes", "Compute and communication of one device", note, &svg);
        write_zoom(text, j, zoom);
        write_lane_numbers(text, compute + first, communication + first, shown, from, part);
        html_add(text,
                 "<p><a href=\"/v1/jobs/%s/artifacts/trace.json\">trace.json</a> <span class=\"muted\">every "
                 "kernel, for chrome://tracing or Perfetto</span></p>",
                 j->id);
        html_figure_end(text);
    }
    text_release(&svg);
    free(compute);
    free(communication);
}

/* ---- memory ---- */

static void write_memory_numbers(struct text *text, const double *x, const double *y, size_t count,
                                 double limit)
{
    char bytes[32];
    size_t rows = count < ROWS ? count : ROWS;
    html_details(text, "Numbers", (uint32_t)rows);
    text_add(text, "<table><thead><tr><th class=\"num\">Steps from</th><th class=\"num\">Highest</th><th "
                   "class=\"num\">Of the limit</th></tr></thead><tbody>");
    for (size_t row = 0; row < rows; row++) {
        size_t low = row * count / rows, high = (row + 1) * count / rows;
        double most = 0;
        for (size_t i = low; i < high; i++)
            most = y[i] > most ? y[i] : most;
        html_format_bytes(most, bytes);
        html_add(
            text,
            "<tr><td class=\"num\">%.0f</td><td class=\"num\">%s</td><td class=\"num\">%.1f %%</td></tr>",
            x[low], bytes, limit > 0 ? 100 * most / limit : 0);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

static void draw_memory(struct text *text, const double *x, const double *y, size_t count, double steps,
                        double limit)
{
    size_t top = 0;
    char peak[48], bytes[32], note[160];
    for (size_t i = 0; i < count; i++)
        top = y[i] > y[top] ? i : top;
    html_format_bytes(y[top], bytes);
    snprintf(peak, sizeof peak, "peak %s", bytes);
    bool far = limit > 8 * y[top]; /* a limit far above would make the curve a line at the bottom */
    html_format_bytes(limit, bytes);
    snprintf(note, sizeof note, "Bytes alive in each step of the program. The limit is %s%s.", bytes,
             far ? ", far above what is drawn" : "");
    struct html_rule rule = {"limit", limit, 3, true};
    struct html_line line = {"alive", x, y, (uint32_t)count, 0, true, true};
    struct html_plot plot = {.title = "Memory of one device over the program's steps, with the limit",
                             .x_name = "steps",
                             .x_format = html_format_count,
                             .y_format = html_format_bytes,
                             .x_high = steps,
                             .y_high = far || y[top] > limit ? y[top] * 1.15 + 1 : limit * 1.06,
                             .lines = &line,
                             .line_count = 1,
                             .rules = &rule,
                             .rule_count = !far,
                             .mark_x = x[top],
                             .mark_y = y[top],
                             .mark = peak};
    struct text svg = {0};
    html_plot(&svg, &plot);
    html_figure(text, "memory", "Memory of one device", note, &svg);
    write_memory_numbers(text, x, y, count, limit);
    html_figure_end(text);
    text_release(&svg);
}

void ui_job_memory(struct ui_page *page, const struct ui_job *j)
{
    const struct look *memory = look_get(j->report, "memory"), *points = look_get(memory, "timeline");
    size_t count = look_count(points) < POINTS_MAX ? look_count(points) : POINTS_MAX;
    double steps = look_number(look_get(memory, "steps")),
           limit = look_number(look_get(memory, "limit_bytes"));
    if (count == 0 || steps <= 0)
        return;
    double *x = mem_zalloc(count, sizeof *x), *y = mem_zalloc(count, sizeof *y);
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)i * steps / (double)count;
        y[i] = look_number(look_item(points, i));
    }
    draw_memory(&page->text, x, y, count, steps, limit);
    free(x);
    free(y);
}

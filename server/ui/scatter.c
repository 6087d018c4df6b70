/* Of an ended job's page: every plan that report.json has a step time and a peak of, as a point: this plan,
 * the experts', alternatives, the other sides of conflicts, the best tries for dimensions that stayed whole.
 * See ui.h. */
#include "server/ui/ui.h"

enum { SEEN_MAX = 400, NAME_SIZE = 96 };

struct seen {
    struct html_point points[SEEN_MAX];
    char names[SEEN_MAX][NAME_SIZE];
    uint32_t count;
};

static void see(struct seen *seen, const struct look *priced, uint8_t color, const char *before,
                const char *name)
{
    double step = look_number(look_get(priced, "step_ps")),
           peak = look_number(look_get(priced, "peak_bytes"));
    if (step <= 0 || peak <= 0 || seen->count == SEEN_MAX)
        return;
    snprintf(seen->names[seen->count], NAME_SIZE, "%s%s", before, name);
    seen->points[seen->count] = (struct html_point){peak, step, color, seen->names[seen->count]};
    seen->count++;
}

/* each of a list; inside: the member that has the price, "" for the item itself */
static void see_all(struct seen *seen, const struct look *list, const char *inside, uint8_t color,
                    const char *before, const char *name)
{
    for (size_t i = 0; i < look_count(list); i++) {
        const struct look *item = look_item(list, i);
        see(seen, inside[0] ? look_get(item, inside) : item, color, before, look_text(look_get(item, name)));
    }
}

static void collect(const struct look *report, struct seen *seen)
{
    see(seen, look_get(report, "summary"), 3, "", "this plan");
    see_all(seen, look_get(report, "alternatives.plans"), "", 4, "alternative ", "found_by");
    see_all(seen, look_get(report, "baselines"), "", 0, "", "name");
    see_all(seen, look_get(report, "whole"), "best_try", 2, "try for ", "dimension");
    see_all(seen, look_get(report, "conflicts"), "other_side", 1, "other side of ", "group");
}

static void write_rows(struct text *text, const struct seen *seen)
{
    char step[32], peak[32];
    html_details(text, "Numbers", seen->count);
    text_add(
        text,
        "<table><thead><tr><th>Plan</th><th class=\"num\">Step</th><th class=\"num\">Peak</th></tr></thead>"
        "<tbody>");
    for (uint32_t i = 0; i < seen->count; i++) {
        html_format_time(seen->points[i].y, step);
        html_format_bytes(seen->points[i].x, peak);
        html_add(text,
                 "<tr><td class=\"long\">%s</td><td class=\"num\">%s</td><td class=\"num\">%s</td></tr>",
                 seen->names[i], step, peak);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

static void draw(struct text *text, const struct seen *seen)
{
    struct text svg = {0};
    struct html_plot plot = {.title =
                                 "Step time and peak memory of every plan that was priced for the report",
                             .x_name = "peak memory of a device",
                             .x_format = html_format_bytes,
                             .y_format = html_format_time,
                             .points = seen->points,
                             .point_count = seen->count};
    for (uint32_t i = 0; i < seen->count; i++) {
        plot.x_high = seen->points[i].x > plot.x_high ? seen->points[i].x : plot.x_high;
        plot.y_high = seen->points[i].y > plot.y_high ? seen->points[i].y : plot.y_high;
    }
    plot.x_high *= 1.05;
    plot.y_high *= 1.1;
    html_plot(&svg, &plot);
    html_figure(
        text, "scatter", "Step time and memory of all plans seen",
        "Red: this plan; blue: the experts' plans; pink: alternatives; orange: the other sides of conflicts; "
        "green: "
        "tries for dimensions left whole. Further left and lower is better; every name is in the numbers.",
        &svg);
    write_rows(text, seen);
    html_figure_end(text);
    text_release(&svg);
}

void ui_job_scatter(struct ui_page *page, const struct ui_job *j)
{
    struct seen *seen = mem_zalloc(1, sizeof *seen);
    collect(j->report, seen);
    if (seen->count)
        draw(&page->text, seen);
    free(seen);
}

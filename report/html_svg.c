/* Plots and bars as SVG; see html.h. Coordinates are written with one decimal: a tenth of a unit is not
 * seen, the text stays short, and no two machines round it differently. */
#include "report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LEFT = 64, /* of a plot: room for a label of the y axis such as "36.4 GB" */
    RIGHT = 12,
    TOP = 10,
    BOTTOM = 40,    /* room for labels and name of the x axis */
    HEIGHT = 260,   /* of a plot */
    ROW = 36,       /* of a bar: its line of text and the bar */
    KEY = 20,       /* of a line of the legend */
    LETTERS = 14,   /* between two lines of labels */
    RULE_NAMES = 18 /* and of names of levels, which narrow screens write larger */
};

static void begin(struct text *text, const char *title, int height)
{
    html_add(text,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" viewBox=\"0 0 %d %d\" role=\"img\" "
             "aria-label=\"%s\">",
             HTML_WIDTH, height, title);
}

/* 1, 2 or 5 times a power of ten: at most `most` steps over the range */
static double nice_step(double range, int most)
{
    static const double factors[] = {1, 2, 5, 10};
    double power = 1;
    while (power * most > range)
        power /= 10;
    while (power * 10 * most < range)
        power *= 10;
    for (int i = 0; i < 4; i++)
        if (factors[i] * power * most >= range)
            return factors[i] * power;
    return 10 * power;
}

struct frame {
    const struct html_plot *html_plot;
    double width, height; /* what the axes span, never 0 */
    double x_scale, y_scale;
};

/* an axis has fewer marks than this (a step that its numbers cannot resolve would never end) */
enum { MOST_MARKS = 16 };

static double place_x(const struct frame *frame, double x)
{
    return LEFT + (x - frame->html_plot->x_low) * frame->x_scale;
}

static double place_y(const struct frame *frame, double y)
{
    double at = HEIGHT - BOTTOM - (y - frame->html_plot->y_low) * frame->y_scale;
    return at < TOP ? TOP : at > HEIGHT - BOTTOM ? HEIGHT - BOTTOM : at;
}

static void draw_axes(struct text *text, const struct frame *frame)
{
    const struct html_plot *html_plot = frame->html_plot;
    char label[32];
    double step = nice_step(frame->height, 5), first = floor(html_plot->y_low / step);
    for (int k = 0; k < MOST_MARKS && (first + k) * step <= html_plot->y_high + step / 1e6; k++) {
        double y = (first + k) * step;
        if (y < html_plot->y_low - step / 1e6)
            continue;
        html_plot->y_format(y, label);
        html_add(text, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                 HTML_WIDTH - RIGHT, place_y(frame, y), place_y(frame, y));
        html_add(text, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>", LEFT - 6,
                 place_y(frame, y) + 4, label);
    }
    step = nice_step(frame->width, 6);
    first = floor(html_plot->x_low / step);
    for (int k = 0; k < MOST_MARKS && (first + k) * step <= html_plot->x_high + step / 1e6; k++) {
        double x = (first + k) * step;
        if (x < html_plot->x_low - step / 1e6)
            continue;
        html_plot->x_format(x, label);
        html_add(text, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>", place_x(frame, x),
                 HEIGHT - BOTTOM + 16,
                 place_x(frame, x) > HTML_WIDTH - 40 ? "end"
                 : place_x(frame, x) < LEFT + 20     ? "start" /* not under the lowest label of the y axis */
                                                     : "middle",
                 label);
    }
    html_add(text, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", LEFT, HTML_WIDTH - RIGHT,
             HEIGHT - BOTTOM, HEIGHT - BOTTOM);
    html_add(text, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>",
             (LEFT + HTML_WIDTH - RIGHT) / 2, HEIGHT - 6, html_plot->x_name);
}

static void draw_path(struct text *text, const struct frame *frame, const struct html_line *html_line,
                      bool area)
{
    html_add(text, "<path class=\"%s%d\" d=\"", area ? "area a" : "line l", html_line->color);
    for (uint32_t i = 0; i < html_line->count; i++) {
        double x = place_x(frame, html_line->x[i]), y = place_y(frame, html_line->y[i]);
        if (i && html_line->stepped)
            html_add(text, "H%.1f", x);
        html_add(text, "%c%.1f %.1f", i ? 'L' : 'M', x, y);
    }
    if (area)
        html_add(text, "V%d H%.1f Z", HEIGHT - BOTTOM, place_x(frame, html_line->x[0]));
    text_add(text, "\"/>");
}

/* where labels stand already */
struct labels {
    struct label {
        double left, right, y;
    } at[24];
    uint32_t count;
};

static bool overlaps(const struct labels *labels, double left, double right, double y)
{
    for (uint32_t i = 0; i < labels->count; i++)
        if (left < labels->at[i].right && right > labels->at[i].left && y < labels->at[i].y + LETTERS &&
            y > labels->at[i].y - LETTERS)
            return true;
    return false;
}

static bool covers_point(const struct frame *frame, uint32_t own, double left, double right, double y)
{
    for (uint32_t i = 0; i < frame->html_plot->point_count; i++) {
        double px = place_x(frame, frame->html_plot->points[i].x),
               py = place_y(frame, frame->html_plot->points[i].y);
        if (i != own && px > left - 4 && px < right + 4 && py > y - LETTERS && py < y + 6)
            return true;
    }
    return false;
}

/* beside its point where that is free of other labels and points, and inside; else the name stays in the
 * title. The first
 * point's label may cover points: it is what the picture is about. */
static void label_point(struct text *text, const struct frame *frame, struct labels *labels, uint32_t index)
{
    const struct html_point *point = &frame->html_plot->points[index];
    double wide = 6.8 * (double)strlen(point->name), x = place_x(frame, point->x),
           y = place_y(frame, point->y);
    for (int side = 0; side < 4 && labels->count < sizeof labels->at / sizeof *labels->at; side++) {
        double left = side % 2 ? x - 8 - wide : x + 8, base = side < 2 ? y + 4 : y + 18;
        if (left < LEFT || left + wide > HTML_WIDTH - RIGHT || base > HEIGHT - BOTTOM ||
            overlaps(labels, left, left + wide, base) ||
            (index && covers_point(frame, index, left, left + wide, base)))
            continue;
        labels->at[labels->count++] = (struct label){left, left + wide, base};
        html_add(text, "<text class=\"halo%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>",
                 index ? "" : " strong", side % 2 ? x - 8 : x + 8, base, side % 2 ? "end" : "start",
                 point->name);
        return;
    }
}

/* the first point on top */
static void draw_points(struct text *text, const struct frame *frame)
{
    const struct html_plot *plot = frame->html_plot;
    struct labels labels = {.count = 0};
    for (uint32_t k = 0; k < plot->point_count; k++) {
        const struct html_point *point = &plot->points[plot->point_count - 1 - k];
        html_add(text, "<circle class=\"c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>%s</title></circle>",
                 point->color, place_x(frame, point->x), place_y(frame, point->y),
                 k + 1 < plot->point_count ? 4 : 6, point->name);
    }
    for (uint32_t i = 0; i < plot->point_count; i++)
        label_point(text, frame, &labels, i);
}

/* Levels across the plot, in falling order: all lines first, so that none goes through a name; names that
 * would touch move down. */
static void draw_rules(struct text *text, const struct frame *frame)
{
    const struct html_plot *plot = frame->html_plot;
    double above = -100;
    for (uint32_t i = 0; i < plot->rule_count; i++)
        html_add(text, "<line class=\"rule%s l%d\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                 plot->rules[i].strong ? " strong" : "", plot->rules[i].color, LEFT, HTML_WIDTH - RIGHT,
                 place_y(frame, plot->rules[i].y), place_y(frame, plot->rules[i].y));
    for (uint32_t i = 0; i < plot->rule_count; i++) {
        double y = place_y(frame, plot->rules[i].y), name = y - 4 < TOP + 8 ? y + 13 : y - 4;
        if (name < above + RULE_NAMES)
            name = above + RULE_NAMES;
        above = name;
        html_add(text, "<text class=\"halo\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                 HTML_WIDTH - RIGHT - 4, name, plot->rules[i].name);
    }
}

void html_plot(struct text *text, const struct html_plot *plot)
{
    double width = plot->x_high > plot->x_low ? plot->x_high - plot->x_low : 1,
           height = plot->y_high > plot->y_low ? plot->y_high - plot->y_low : 1;
    struct frame frame = {plot, width, height, (HTML_WIDTH - LEFT - RIGHT) / width,
                          (HEIGHT - BOTTOM - TOP) / height};
    begin(text, plot->title, HEIGHT);
    draw_axes(text, &frame);
    for (uint32_t i = 0; i < plot->line_count; i++) {
        if (plot->lines[i].filled && plot->lines[i].count)
            draw_path(text, &frame, &plot->lines[i], true);
        if (plot->lines[i].count)
            draw_path(text, &frame, &plot->lines[i], false);
    }
    draw_rules(text, &frame);
    draw_points(text, &frame);
    if (plot->mark) {
        double x = place_x(&frame, plot->mark_x), y = place_y(&frame, plot->mark_y);
        bool right = x > HTML_WIDTH * 0.6;
        html_add(text, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>", x, y);
        html_add(text, "<text class=\"halo strong\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>",
                 right ? x - 8 : x + 8, y + 18 > HEIGHT - BOTTOM ? y - 8 : y + 16, right ? "end" : "start",
                 plot->mark);
    }
    text_add(text, "</svg>");
}

/* How wide an entry of the legend is: a square with gaps, and the name. Fonts are the reader's, so the
 * width of letters is not known here; 8.4 units each is generous at either size. */
static double key_width(const char *name)
{
    return 32 + 8.4 * (double)strlen(name);
}

static void draw_key(struct text *text, const struct html_key *key, double x, int y)
{
    html_add(text, "<rect class=\"%sc%d\" x=\"%.1f\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\"/>",
             key->pale ? "pale " : "", key->color, x, y + 2);
    html_add(text, "<text x=\"%.1f\" y=\"%d\">%s</text>", x + 17, y + 12, key->name);
}

/* Draws the legend, or with text NULL only measures it; returns its height. */
static int draw_keys(struct text *text, const struct html_bars *html_bars)
{
    double x = 0;
    int rows = 0;
    for (uint32_t i = 0; i < html_bars->key_count; i++) {
        double wide = key_width(html_bars->keys[i].name);
        if (i == 0 || x + wide > HTML_WIDTH) {
            x = 0;
            rows++;
        }
        if (text)
            draw_key(text, &html_bars->keys[i], x, (rows - 1) * KEY);
        x += wide;
    }
    return rows * KEY + (rows ? 8 : 0);
}

/* Both texts of a bar are on one line. Letters are 15 units high on narrow screens (style.css), where lines
 * of more than this are written smaller. */
enum { LINE_LETTERS = 62 };

static void draw_bar(struct text *text, const struct html_bar *bar, double y, double scale)
{
    const char *class = bar->strong ? "strong" : "name",
               *tight = strlen(bar->name) + strlen(bar->note) > LINE_LETTERS ? " tight" : "";
    html_add(text, "<text class=\"%s%s\" x=\"0\" y=\"%.1f\">%s</text>", class, tight, y + 11, bar->name);
    html_add(text, "<text class=\"%s%s\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>", class, tight,
             HTML_WIDTH, y + 11, bar->note);
    html_add(text, "<rect class=\"trough\" x=\"0\" y=\"%.1f\" width=\"%d\" height=\"12\" rx=\"2\"/>", y + 16,
             HTML_WIDTH);
    double x = 0, whole = 0;
    for (uint32_t s = 0; s < bar->count; s++) {
        double wide = bar->segments[s].value * scale;
        whole += wide;
        if (wide <= 0)
            continue;
        if (x + wide > HTML_WIDTH)
            wide = HTML_WIDTH - x;
        html_add(text, "<rect class=\"%sc%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\"/>",
                 bar->segments[s].pale ? "pale " : "", bar->segments[s].color, x, y + 16, wide);
        x += wide;
    }
    if (whole > HTML_WIDTH + 0.5)
        html_add(text,
                 "<path class=\"cut\" d=\"M%d %.1fl8 -16m6 0l-8 16\"><title>longer than this "
                 "picture</title></path>",
                 HTML_WIDTH - 40, y + 30);
}

void html_bars(struct text *text, const struct html_bars *chart)
{
    int top = draw_keys(NULL, chart);
    begin(text, chart->title, top + (int)chart->count * ROW + 2);
    draw_keys(text, chart);
    double scale = chart->high > 0 ? HTML_WIDTH / chart->high : 0;
    for (uint32_t i = 0; i < chart->count; i++)
        draw_bar(text, &chart->bars[i], top + (double)i * ROW, scale);
    if (chart->limit > 0 && chart->limit * scale <= HTML_WIDTH)
        html_add(text, "<line class=\"rule strong l3\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>",
                 chart->limit * scale, chart->limit * scale, top, top + (int)chart->count * ROW);
    text_add(text, "</svg>");
}

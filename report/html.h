/* HTML and SVG as reports and pages are made of: text is escaped by default, pictures come with their
 * table.
 *
 * Nothing written here needs a style attribute, a script or anything from elsewhere, so that pages work
 * under the Content-Security-Policy `default-src 'none'`. Colours are classes (c0 .. c7, see
 * report/svg.css): a colour-blind-safe palette in dark and light. */
#ifndef TOAST_REPORT_HTML_H
#define TOAST_REPORT_HTML_H

#include "base/memory.h"

#include <stdbool.h>

/* Appends text as content or quoted attribute value: & < > " ' escaped, control characters and damaged UTF-8
 * replaced. */
void html_text(struct text *text, const char *string);
/* printf for markup: every %s is escaped; %d %u %c %f %g %x with flags, width, precision and l, ll, z as
 * usual. Markup that was made elsewhere goes in with text_add. */
void html_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* <figure> around a picture: heading, one sentence, the svg inline, a link that saves it with its colours.
 * id: letters and '-', unique in the page; also the file's name. caption may be "". The caller goes on with
 * the text table, then html_figure_end. */
void html_figure(struct text *text, const char *id, const char *title, const char *caption,
                 const struct text *svg);
void html_figure_end(struct text *text);
/* <details><summary>..</summary> and a scrolling box for a table; count: rows, shown when > 0 */
void html_details(struct text *text, const char *summary, uint32_t count);
void html_details_end(struct text *text);
/* Gives the cells of all tables of five columns or more that were written from `from` on (with <thead>, <th>,
 * <td>, no spans) their column's name (data-column), which narrow screens show before them. */
void html_name_cells(struct text *text, size_t from);

/* ---- pictures; all lengths are SVG units of a drawing HTML_WIDTH wide ---- */
enum { HTML_WIDTH = 600 };
typedef void html_format(double value, char out[32]);

/* Lines over x. Points must rise in x. */
struct html_line {
    const char *name;
    const double *x, *y;
    uint32_t count;
    uint8_t color;        /* 0 .. 7 */
    bool stepped, filled; /* holds its value until the next point; area below */
};
struct html_rule { /* a level across the plot */
    const char *name;
    double y;
    uint8_t color;
    bool strong;
};
struct html_point {
    double x, y;
    uint8_t color;
    const char *name; /* shown beside it where there is room; always for those who point at it */
};
struct html_plot {
    const char *title; /* for those who do not see it */
    const char *x_name;
    html_format *x_format, *y_format;
    double x_low, x_high, y_low, y_high;
    const struct html_line *lines;
    uint32_t line_count;
    const struct html_rule *rules;
    uint32_t rule_count;
    const struct html_point *points; /* the first ones get their labels first */
    uint32_t point_count;
    double mark_x, mark_y; /* a dot, when mark is set; its label */
    const char *mark;
};
void html_plot(struct text *svg, const struct html_plot *other_html_plot);

/* Horizontal bars, one a row, stacked of segments, with a name above and a note at its end. */
struct html_segment {
    double value;
    uint8_t color;
    bool pale;
};
struct html_bar {
    const char *name, *note;
    const struct html_segment *segments;
    uint32_t count;
    bool strong;
};
struct html_bars {
    const char *title;
    const struct html_bar *bars;
    uint32_t count;
    const struct html_key {
        const char *name;
        uint8_t color;
        bool pale;
    } *keys;
    uint32_t key_count; /* legend; may be 0 */
    double high;        /* full width; what is longer is drawn cut */
    double limit;       /* a line across all bars when > 0 */
};
void html_bars(struct text *svg, const struct html_bars *other_html_bars);

/* "1,234,567"; for html_format: counts, bytes, picoseconds, plain numbers */
void html_count(uint64_t n, char out[32]);
void html_format_count(double value, char out[32]);
void html_format_bytes(double value, char out[32]);
void html_format_time(double value, char out[32]);
void html_format_number(double value, char out[32]);

#endif

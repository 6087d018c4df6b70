/* Blocks and segments as a picture: a column a segment, its blocks below each other with their strategies and
 * forward contractions, a curve a dependence. Every label is made of names of ops, numbers and letters, so
 * nothing is escaped. Coordinates are integers. */
#include "segments/internal.h"

#include "base/memory.h"

#include <stdlib.h>

enum {
    COLUMN = 300,
    BOX = 250, /* width of a block */
    MARGIN = 24,
    HEAD = 40, /* a segment's name */
    LINE = 18,
    PAD = 8,
    GAP = 14 /* between blocks */
};

struct place {
    int x, y; /* left end and middle of a contraction's line */
};

static const char STYLE[] =
    "<style>rect{fill:none;stroke:#5b6b7b}.segment{stroke-dasharray:4 3}text{font:12px "
    "sans-serif;fill:#1d2733}"
    "path{fill:none;stroke:#0b6bcb;stroke-opacity:.6}"
    "@media(prefers-color-scheme:dark){text{fill:#e6ebf0}path{stroke:#6db3ff}}</style>\n";

static uint32_t lines_of(const struct segments *segments, uint32_t block)
{
    return 1 + segments->blocks[block].forward_count;
}

static int height_of(const struct segments *segments, const struct segments_segment *segment)
{
    int height = HEAD;
    for (uint32_t block = segment->first; block < segment->first + segment->count; block++)
        height += (int)lines_of(segments, block) * LINE + 2 * PAD + GAP;
    return height;
}

/* the block's box from y on; where its contractions stand */
static void draw_block(const struct segments *segments, uint32_t block, int x, int y, struct place *places,
                       struct text *out)
{
    const struct segments_block *it = &segments->blocks[block];
    text_printf(out, "<rect class=\"block\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>", x, y,
                BOX, (int)lines_of(segments, block) * LINE + 2 * PAD);
    text_printf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">block %u:", x + PAD, y + PAD + 12, block);
    for (uint32_t i = 0; i < it->strategy_count; i++)
        text_printf(out, " %s",
                    segments_side_name((enum segments_side)segments->strategies[it->strategies + i].side));
    text_add(out, "</text>\n");
    y += PAD;
    for (uint32_t i = 0; i < segments->contraction_count; i++) {
        if (segments->contractions[i].block != block || segments->contractions[i].forward != NDA_NONE)
            continue;
        y += LINE;
        places[i] = (struct place){x, y + LINE / 2};
        text_printf(out, "<text x=\"%d\" y=\"%d\">", x + PAD, y + 12);
        segments_contraction_text(segments, i, out);
        text_add(out, "</text>\n");
    }
}

static void draw_segment(const struct segments *segments, uint32_t number, struct place *places,
                         struct text *out)
{
    const struct segments_segment *segment = &segments->segments[number];
    int x = MARGIN + (int)number * COLUMN, y = MARGIN;
    text_printf(out, "<rect class=\"segment\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\"/>",
                x - PAD, y, BOX + 2 * PAD, height_of(segments, segment));
    text_printf(out, "<text x=\"%d\" y=\"%d\">segment %u, ", x, y + 24, number);
    segments_kind_text(segment->kind, out);
    text_add(out, "</text>\n");
    y += HEAD;
    for (uint32_t block = segment->first; block < segment->first + segment->count; block++) {
        draw_block(segments, block, x, y, places, out);
        y += (int)lines_of(segments, block) * LINE + 2 * PAD + GAP;
    }
}

/* from the right end of the one to the left end of the other; in one column along its right side */
static void draw_dependence(struct place from, struct place to, struct text *out)
{
    int x = from.x + BOX, end = to.x == from.x ? to.x + BOX : to.x;
    int bend = to.x == from.x ? x + COLUMN - BOX - 2 * PAD : (x + end) / 2;
    text_printf(out, "<path d=\"M%d %dC%d %d %d %d %d %d\"/>\n", x, from.y, bend, from.y, bend, to.y, end,
                to.y);
}

void segments_svg(const struct segments *segments, struct text *out)
{
    struct place *places = mem_zalloc((size_t)segments->contraction_count + 1, sizeof *places);
    int height = HEAD;
    for (uint32_t i = 0; i < segments->segment_count; i++) {
        int own = height_of(segments, &segments->segments[i]);
        height = own > height ? own : height;
    }
    int width = 2 * MARGIN + (int)(segments->segment_count ? segments->segment_count : 1) * COLUMN;
    height += 2 * MARGIN;
    text_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                "role=\"img\" aria-label=\"blocks and segments\">\n",
                width, height, width, height);
    text_add(out, STYLE);
    for (uint32_t i = 0; i < segments->segment_count; i++)
        draw_segment(segments, i, places, out);
    for (uint32_t i = 0; i < segments->dependence_count; i++)
        draw_dependence(places[segments->dependences[i].from], places[segments->dependences[i].to], out);
    text_add(out, "</svg>\n");
    free(places);
}

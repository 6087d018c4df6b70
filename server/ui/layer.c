/* Of an ended job's page: one representative layer as a picture. Its parameters as tiles, cut as plan.json
 * says, the device's own tile filled; below, the step's collectives of report.json as arrows, wider where
 * more bytes move.
 *
 *   params/layer_00/wq
 *   +--+--+                  drawn by the last dimension and the one before it (or an earlier one that is
 *   |##|  |                  cut more); one dimension is a row. More than MOST_CUTS pieces are drawn as so
 *   +--+--+                  many.
 *   64 x 128/model
 *
 * The layer is the first of those that most parameters' names tell apart by a number. */
#include "server/ui/ui.h"

#include <ctype.h>

enum {
    TENSORS = 12, /* drawn */
    ARROWS = 8,
    COLUMNS = 3,
    CELL_WIDE = HTML_WIDTH / COLUMNS,
    CELL_HIGH = 118,
    TILE_TOP = 22, /* below the name */
    TILE_HIGH = 64,
    TILE_WIDE = 132,
    MOST_CUTS = 16,
    ARROW_HIGH = 40,
    MOST_LETTERS = 26, /* of 6.8 units: a cell's width */
    KINDS = 64
};

struct layer {
    const struct look *tensors[TENSORS];
    size_t count, more;
    size_t copies;   /* of layers that look like it */
    const char *job; /* id */
    char name[80];   /* of the layer: up to its number; "" where there are no layers */
};

/* "params/layer_00/wq" -> length of "params/layer_00" and of "params/layer_"; 0: no number before the last
 * part */
static size_t numbered(const char *name, size_t *stem)
{
    for (size_t i = 0; name[i]; i++) {
        if (!isdigit((unsigned char)name[i]) || (i && isdigit((unsigned char)name[i - 1])))
            continue;
        size_t end = i + strspn(name + i, "0123456789");
        if (strchr(name + end, '/')) {
            *stem = i;
            return end;
        }
    }
    return 0;
}

static bool is_parameter(const struct look *argument)
{
    return strcmp(look_text(look_get(argument, "role")), "parameter") == 0;
}

/* how many of the parameters have this stem, and which number comes first: the length of that layer's name */
static size_t members(const struct look *arguments, const char *stem, size_t stem_size)
{
    size_t count = 0, at;
    for (size_t i = 0; i < look_count(arguments); i++) {
        const struct look *argument = look_item(arguments, i);
        const char *name = look_text(look_get(argument, "name"));
        if (is_parameter(argument) && numbered(name, &at) && at == stem_size && strncmp(name, stem, at) == 0)
            count++;
    }
    return count;
}

/* the layer's name: of the stem that most parameters have, its first */
static void choose(const struct look *arguments, struct layer *layer)
{
    size_t most = 1, stem, own = 0;
    for (size_t i = 0; i < look_count(arguments) && i < 4 * KINDS; i++) {
        const struct look *argument = look_item(arguments, i);
        const char *name = look_text(look_get(argument, "name"));
        size_t end = is_parameter(argument) ? numbered(name, &stem) : 0;
        if (!end || end >= sizeof layer->name - 1)
            continue;
        size_t count = members(arguments, name, stem);
        if (count > most) {
            most = count;
            snprintf(layer->name, sizeof layer->name, "%.*s/", (int)end, name);
        }
    }
    for (size_t i = 0; layer->name[0] && i < look_count(arguments); i++)
        own += is_parameter(look_item(arguments, i)) &&
               strncmp(look_text(look_get(look_item(arguments, i), "name")), layer->name,
                       strlen(layer->name)) == 0;
    layer->copies = own ? most / own : 0;
}

/* the layer's parameters; without layers the first ones */
static void collect(const struct look *arguments, struct layer *layer)
{
    choose(arguments, layer);
    for (size_t i = 0; i < look_count(arguments); i++) {
        const struct look *argument = look_item(arguments, i);
        if (!is_parameter(argument) ||
            strncmp(look_text(look_get(argument, "name")), layer->name, strlen(layer->name)) != 0)
            continue;
        if (layer->count < TENSORS)
            layer->tensors[layer->count++] = argument;
        else
            layer->more++;
    }
}

/* into how many pieces the axes of a dimension cut it */
static long long pieces(const struct look *mesh, const struct look *axes)
{
    long long product = 1;
    for (size_t i = 0; i < look_count(axes); i++)
        for (size_t k = 0; k < look_count(mesh); k++)
            if (strcmp(look_text(look_get(look_item(mesh, k), "name")), look_text(look_item(axes, i))) == 0)
                product *= (long long)look_number(look_get(look_item(mesh, k), "size"));
    return product;
}

/* "f32[64,128]" and its axes -> "64 × 128/model·data"; each dimension that has a name leads to what it would
 * cost to cut it otherwise. How many letters one sees. */
static int write_shape(struct text *out, const struct layer *layer, const struct look *tensor)
{
    const struct look *dims = look_get(tensor, "dims"), *groups = look_get(tensor, "groups");
    const char *at = strchr(look_text(look_get(tensor, "type")), '[');
    int letters = 0;
    for (size_t dim = 0; at && dim < look_count(dims); dim++) {
        const char *group = look_text(look_item(look_item(groups, dim), 0));
        char extent[24];
        letters += snprintf(extent, sizeof extent, "%lld", strtoll(at + 1, (char **)(uintptr_t)&at, 10));
        letters += dim ? 3 : 0;
        text_add(out, dim ? " × " : "");
        if (group[0]) {
            html_add(out, "<a href=\"/ui/what-if?job=%s", layer->job);
            ui_query(out, "dimension", group);
            text_add(out, "\">");
        }
        text_add(out, extent);
        for (size_t k = 0; k < look_count(look_item(dims, dim)); k++) {
            const char *axis = look_text(look_item(look_item(dims, dim), k));
            html_add(out, "%s%s", k ? "·" : "/", axis);
            letters += 1 + (int)strlen(axis);
        }
        text_add(out, group[0] ? "</a>" : "");
    }
    return letters;
}

/* the two dimensions that are drawn, by their pieces: rows and columns */
static void cuts_of(const struct look *tensor, const struct look *mesh, long long *rows, long long *columns)
{
    const struct look *dims = look_get(tensor, "dims");
    size_t rank = look_count(dims), row = rank > 1 ? rank - 2 : 0, column = rank ? rank - 1 : 0;
    for (size_t dim = 0; rank > 2 && dim + 2 < rank; dim++)
        if (pieces(mesh, look_item(dims, dim)) > pieces(mesh, look_item(dims, row)))
            row = dim;
    *rows = rank > 1 ? pieces(mesh, look_item(dims, row)) : 1;
    *columns = rank ? pieces(mesh, look_item(dims, column)) : 1;
    *rows = *rows > MOST_CUTS ? MOST_CUTS : *rows;
    *columns = *columns > MOST_CUTS ? MOST_CUTS : *columns;
}

/* at most MOST_LETTERS letters: the end of a long name tells more */
static void write_short(struct text *svg, const char *class, double x, double y, const char *string)
{
    size_t letters = strlen(string);
    const char *from = letters > MOST_LETTERS ? string + letters - MOST_LETTERS + 1 : string;
    while (((unsigned char)*from & 0xC0) == 0x80)
        from++; /* not from the middle of a letter */
    html_add(svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s%s</text>", class, x, y,
             from == string ? "" : "…", from);
}

static void draw_tensor(struct text *svg, const struct layer *layer, size_t index, const struct look *mesh)
{
    const struct look *tensor = layer->tensors[index];
    size_t row_at = index / COLUMNS * CELL_HIGH;
    double x = (double)(index % COLUMNS) * CELL_WIDE + 2, y = (double)row_at;
    const char *name = look_text(look_get(tensor, "name"));
    long long rows, columns;
    cuts_of(tensor, mesh, &rows, &columns);
    double high = look_count(look_get(tensor, "dims")) > 1 ? TILE_HIGH : 20, top = y + TILE_TOP;
    write_short(svg, "name", x, y + 14, name + strlen(layer->name));
    html_add(svg, "<rect class=\"trough\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>", x, top,
             TILE_WIDE, high);
    html_add(svg,
             "<rect class=\"c0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s: "
             "%s</title></rect>",
             x, top, (double)TILE_WIDE / (double)columns, high / (double)rows, name,
             look_text(look_get(tensor, "type")));
    for (long long row = 0; row <= rows; row++)
        html_add(svg, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x,
                 x + TILE_WIDE, top + high * (double)row / (double)rows,
                 top + high * (double)row / (double)rows);
    for (long long column = 0; column <= columns; column++)
        html_add(svg, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                 x + TILE_WIDE * (double)column / (double)columns,
                 x + TILE_WIDE * (double)column / (double)columns, top, top + high);
    struct text shape = {0};
    int letters = write_shape(&shape, layer, tensor);
    html_add(svg, "<text class=\"shape\" x=\"%.1f\" y=\"%.1f\"", x, top + high + 15);
    if (letters > MOST_LETTERS)
        html_add(svg, " textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\"", CELL_WIDE - 8);
    text_printf(svg, ">%s</text>", shape.at ? shape.at : "");
    text_release(&shape);
}

/* the collectives of one kind over the same axes */
struct arrow {
    const struct look *first;
    double bytes, count, exposed_ps;
};

static size_t arrows_of(const struct look *collectives, struct arrow out[KINDS])
{
    size_t count = 0;
    for (size_t i = 0; i < look_count(collectives); i++) {
        const struct look *row = look_item(collectives, i);
        char *axes = look_compact(look_get(row, "axes"));
        size_t k = 0;
        for (; k < count; k++) {
            char *other = look_compact(look_get(out[k].first, "axes"));
            bool same = strcmp(axes, other) == 0 && strcmp(look_text(look_get(row, "kind")),
                                                           look_text(look_get(out[k].first, "kind"))) == 0;
            free(other);
            if (same)
                break;
        }
        free(axes);
        if (k == KINDS)
            continue;
        if (k == count)
            out[count++] = (struct arrow){.first = row};
        out[k].bytes += look_number(look_get(row, "bytes")) * look_number(look_get(row, "count"));
        out[k].count += look_number(look_get(row, "count"));
        out[k].exposed_ps += look_number(look_get(row, "exposed_ps"));
    }
    return count;
}

static void arrow_text(const struct arrow *arrow, char *out, size_t size)
{
    const struct look *axes = look_get(arrow->first, "axes");
    size_t used = (size_t)snprintf(out, size, "%s over ", look_text(look_get(arrow->first, "kind")));
    for (size_t i = 0; i < look_count(axes) && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", i ? "·" : "", look_text(look_item(axes, i)));
}

static int by_bytes(const void *left, const void *right)
{
    const struct arrow *a = left, *b = right;
    return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

/* what goes in on the left, what comes out on the right: pieces to a whole, terms to a sum .. */
static void draw_arrow(struct text *svg, const struct arrow *arrow, double y, double most)
{
    char name[160], bytes[32], count[32];
    double wide = 2 + 8 * (most > 0 ? arrow->bytes / most : 0);
    bool scatters = strcmp(look_text(look_get(arrow->first, "kind")), "reduce_scatter") == 0,
         gathers = strcmp(look_text(look_get(arrow->first, "kind")), "all_gather") == 0;
    arrow_text(arrow, name, sizeof name);
    html_format_bytes(arrow->bytes, bytes);
    html_count((uint64_t)arrow->count, count);
    html_add(svg, "<rect class=\"c0%s\" x=\"2\" y=\"%.1f\" width=\"%d\" height=\"16\"/>",
             gathers ? "" : " pale", y + 6, gathers ? 8 : 24);
    html_add(svg, "<path class=\"link l1\" stroke-width=\"%.1f\" d=\"M34 %.1fH74\"/>", wide, y + 14);
    html_add(svg, "<path class=\"c1\" d=\"M74 %.1fL86 %.1fL74 %.1fZ\"/>", y + 5, y + 14, y + 23);
    html_add(svg, "<rect class=\"c0\" x=\"92\" y=\"%.1f\" width=\"%d\" height=\"16\"/>", y + 6,
             scatters ? 8 : 24);
    html_add(svg, "<text class=\"name\" x=\"128\" y=\"%.1f\">%s</text>", y + 18, name);
    html_add(svg, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s × · %s a device and step</text>",
             HTML_WIDTH, y + 18, count, bytes);
}

static void write_rows(struct text *text, const struct layer *layer, const struct arrow *arrows, size_t count)
{
    char value[160], bytes[32];
    html_details(text, "Numbers", (uint32_t)(layer->count + count));
    text_add(
        text,
        "<table><thead><tr><th>Tensor or collective</th><th>Cut, or how often</th><th class=\"num\">Bytes a "
        "device</th></tr></thead><tbody>");
    for (size_t i = 0; i < layer->count; i++) {
        html_format_bytes(look_number(look_get(layer->tensors[i], "bytes_per_device")), bytes);
        html_add(text, "<tr><td class=\"long\">%s</td><td class=\"long\">",
                 look_text(look_get(layer->tensors[i], "name")));
        write_shape(text, layer, layer->tensors[i]);
        html_add(text, "</td><td class=\"num\">%s</td></tr>", bytes);
    }
    for (size_t i = 0; i < count; i++) {
        arrow_text(&arrows[i], value, sizeof value);
        html_format_bytes(arrows[i].bytes, bytes);
        html_add(text, "<tr><td class=\"long\">%s</td><td>%.0f ×</td><td class=\"num\">%s</td></tr>", value,
                 arrows[i].count, bytes);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

static void draw(struct text *text, const struct layer *layer, const struct look *mesh,
                 const struct arrow *arrows, size_t count)
{
    struct text svg = {0};
    char note[400];
    size_t shown = count < ARROWS ? count : ARROWS;
    size_t tiles_high = (layer->count + COLUMNS - 1) / COLUMNS * CELL_HIGH;
    double below = (double)tiles_high;
    html_add(
        &svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" viewBox=\"0 0 %d %.0f\" role=\"group\" "
        "aria-label=\"Parameters of a layer as tiles, collectives of the step as arrows\">",
        HTML_WIDTH, below + (double)shown * ARROW_HIGH);
    for (size_t i = 0; i < layer->count; i++)
        draw_tensor(&svg, layer, i, mesh);
    for (size_t i = 0; i < shown; i++)
        draw_arrow(&svg, &arrows[i], below + (double)i * ARROW_HIGH, arrows[0].bytes);
    text_add(&svg, "</svg>");
    snprintf(note, sizeof note,
             "%s%.79s%s Lines cut a tensor over the mesh, the filled tile is one device's. Arrows: the "
             "collectives of the "
             "whole step, wider where more bytes move. A dimension's number leads to what it costs cut "
             "otherwise.%s",
             layer->name[0] ? "Layer " : "Parameters.", layer->name,
             layer->copies > 1 ? " stands for all that look like it."
             : layer->name[0]  ? "."
                               : "",
             layer->more && count > shown ? " The first parameters and the largest collectives are drawn."
             : layer->more                ? " The first parameters are drawn."
             : count > shown              ? " The largest collectives are drawn."
                                          : "");
    html_figure(text, "layer", "One layer on the mesh", note, &svg);
    write_rows(text, layer, arrows, count);
    html_figure_end(text);
    text_release(&svg);
}

void ui_job_layer(struct ui_page *page, const struct ui_job *j)
{
    struct look *plan = j->report ? ui_artifact(page->exchange, &j->fields, "plan.json") : NULL;
    const struct look *mesh = look_get(plan, "mesh.axes");
    struct layer layer = {.job = j->id};
    struct arrow *arrows = mem_zalloc(KINDS, sizeof *arrows);
    collect(look_get(plan, "arguments"), &layer);
    size_t count = arrows_of(look_get(j->report, "collectives"), arrows);
    qsort(arrows, count, sizeof *arrows, by_bytes);
    if (layer.count && look_count(mesh))
        draw(&page->text, &layer, mesh, arrows, count);
    free(arrows);
    look_release(plan);
}

/* report.html: the mesh as devices and links. The last axis runs to the right, the one before it down;
 * the two axes before those repeat that block to the right and down; further axes are not drawn. Long
 * axes are cut short in the drawing. A link's colour and width say how many bytes a device sends over it
 * in a step, counted as rings would: all_gather, reduce_scatter and all_to_all (p-1)/p of the whole,
 * all_reduce twice that. */
#include "report/report_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_SIZE = 8,   /* devices of an inner axis that are drawn at most */
    SHOWN_BLOCKS = 3, /* blocks of an outer axis */
    SHOWN_AXES = 4,
    MARGIN = 26, /* room for the bows of outer links */
    TALLEST = 420,
    WIDEST_UNIT = 64 /* between two devices */
};

static void axis_bytes(const struct report *report, double bytes[MESH_MAX_AXES], int64_t runs[MESH_MAX_AXES])
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    memset(bytes, 0, MESH_MAX_AXES * sizeof *bytes);
    memset(runs, 0, MESH_MAX_AXES * sizeof *runs);
    for (uint32_t i = 0; i < report->collective_count; i++) {
        const struct report_collective *collective = &report->collectives[i];
        double p = 1, each = (double)collective->bytes;
        for (uint32_t axis = 0; axis < collective->axis_count; axis++)
            p *= (double)mesh->axes[collective->axes[axis]].size;
        if (collective->kind == SPMD_REDUCE_SCATTER)
            each *= p - 1; /* the result is a shard: the whole is p of it */
        else if (collective->kind != SPMD_PERMUTE)
            each *= (p - 1) / p * (collective->kind == SPMD_ALL_REDUCE ? 2 : 1);
        for (uint32_t axis = 0; axis < collective->axis_count; axis++) {
            bytes[collective->axes[axis]] += each * (double)collective->count;
            runs[collective->axes[axis]] += collective->count;
        }
    }
}

/* Where devices stand: axis a moves by (dx, dy) a device. */
struct layout {
    uint32_t axes, shown[MESH_MAX_AXES];
    double dx[MESH_MAX_AXES], dy[MESH_MAX_AXES], width, height, unit;
};

static void lay_out(const struct mesh *mesh, struct layout *layout)
{
    double wide = 1, tall = 1, gap[2] = {0.35, 0.35};
    *layout = (struct layout){.axes = mesh->axis_count};
    for (uint32_t k = 0; k < mesh->axis_count; k++) {
        uint32_t axis = mesh->axis_count - 1 - k, cap = k < 2 ? SHOWN_SIZE : SHOWN_BLOCKS;
        layout->shown[axis] = mesh->axes[axis].size < (int64_t)cap ? (uint32_t)mesh->axes[axis].size : cap;
        if (k >= SHOWN_AXES)
            layout->shown[axis] = 1; /* one block stands for all */
        double *extent = k % 2 ? &tall : &wide;
        double step = k < 2 ? 1 : *extent + gap[k % 2] * 2;
        (k % 2 ? layout->dy : layout->dx)[axis] = step;
        *extent += step * (layout->shown[axis] - 1);
    }
    double room = HTML_WIDTH - 2 * MARGIN;
    layout->unit = room / wide < WIDEST_UNIT ? room / wide : WIDEST_UNIT;
    if (layout->unit * tall > TALLEST)
        layout->unit = TALLEST / tall;
    layout->width = layout->unit * wide;
    layout->height = layout->unit * tall;
}

struct map {
    const struct layout *layout;
    int shade[MESH_MAX_AXES];
    bool far[MESH_MAX_AXES];
    double x0;
};

static void place(const struct map *map, const uint32_t *at, double *x, double *y)
{
    *x = map->x0 + map->layout->unit / 2;
    *y = MARGIN + map->layout->unit / 2;
    for (uint32_t axis = 0; axis < map->layout->axes; axis++) {
        *x += map->layout->dx[axis] * at[axis] * map->layout->unit;
        *y += map->layout->dy[axis] * at[axis] * map->layout->unit;
    }
}

static void draw_links(struct text *text, const struct map *map, const uint32_t *at, double x, double y)
{
    for (uint32_t axis = 0; axis < map->layout->axes; axis++) {
        uint32_t next[MESH_MAX_AXES];
        double u, v;
        if (at[axis] + 1 >= map->layout->shown[axis])
            continue;
        memcpy(next, at, sizeof next);
        next[axis]++;
        place(map, next, &u, &v);
        /* between blocks: only from their first devices, in a bow */
        bool outer = map->layout->axes - 1 - axis >= 2;
        bool first = true;
        for (uint32_t b = axis + 1; b < map->layout->axes; b++)
            first &= at[b] == 0;
        if (outer && !first)
            continue;
        html_add(text, "<path class=\"link%s h%d\" stroke-width=\"%d\" d=\"", map->far[axis] ? " far" : "",
                 map->shade[axis], 2 + map->shade[axis]);
        if (outer)
            html_add(text, "M%.1f %.1fQ%.1f %.1f %.1f %.1f\"/>", x, y,
                     (x + u) / 2 - (v > y ? map->layout->unit * 0.5 : 0),
                     (y + v) / 2 - (u > x ? map->layout->unit * 0.5 : 0), u, v);
        else
            html_add(text, "M%.1f %.1fL%.1f %.1f\"/>", x, y, u, v);
    }
}

/* every shown device once: links below, devices above */
static void draw_devices(struct text *text, const struct map *map, bool links)
{
    uint32_t at[MESH_MAX_AXES] = {0};
    double size = map->layout->unit * 0.34;
    for (;;) {
        double x, y;
        place(map, at, &x, &y);
        if (links)
            draw_links(text, map, at, x, y);
        else
            html_add(text,
                     "<rect class=\"device\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\"/>",
                     x - size / 2, y - size / 2, size, size);
        uint32_t axis = 0;
        while (axis < map->layout->axes && ++at[axis] == map->layout->shown[axis])
            at[axis++] = 0;
        if (axis == map->layout->axes)
            return;
    }
}

static int shade_of(double bytes, double most)
{
    double share = most > 0 ? bytes / most : 0;
    return bytes <= 0 ? 0 : share > 0.5 ? 4 : share > 0.1 ? 3 : share > 0.01 ? 2 : 1;
}

static int draw_key(struct text *text, const struct report *report, const struct map *map,
                    const double *bytes, double y)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    int rows = 0;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++, rows++) {
        char sent[32];
        report_bytes((int64_t)bytes[axis], sent);
        html_add(text, "<path class=\"link%s h%d\" stroke-width=\"%d\" d=\"M2 %.1fH34\"/>",
                 map->far[axis] ? " far" : "", map->shade[axis], 2 + map->shade[axis], y + rows * 20.0 + 8);
        html_add(text, "<text class=\"name\" x=\"44\" y=\"%.1f\">%s (%lld): %s a device and step%s</text>",
                 y + rows * 20.0 + 12, mesh->axes[axis].name, (long long)mesh->axes[axis].size, sent,
                 map->far[axis] ? ", between hosts" : "");
    }
    return rows * 20 + 6;
}

static void mesh_table(const struct report *report, const double *bytes, const int64_t *runs,
                       struct text *text)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    const struct cost_machine *machine = evaluator_machine(report->evaluator);
    html_details(text, "Numbers", mesh->axis_count);
    text_add(text,
             "<table><thead><tr><th>Axis</th><th class=\"num\">Size</th><th class=\"num\">Bytes a device "
             "and step</th><th "
             "class=\"num\">Collectives</th><th class=\"num\">Link a direction</th><th "
             "class=\"num\">Latency</th><th>Reach</th></tr>"
             "</thead><tbody>");
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++) {
        char sent[32], rate[32], latency[32], count[32];
        report_bytes((int64_t)bytes[axis], sent);
        report_bytes((int64_t)machine->links[axis].bytes_per_s, rate);
        report_time(machine->links[axis].latency_ps, latency);
        html_count((uint64_t)runs[axis], count);
        html_add(
            text,
            "<tr><td>%s</td><td class=\"num\">%lld</td><td class=\"num\">%s</td><td class=\"num\">%s</td>",
            mesh->axes[axis].name, (long long)mesh->axes[axis].size, sent, count);
        html_add(text, "<td class=\"num\">%s/s</td><td class=\"num\">%s</td><td>%s</td></tr>", rate, latency,
                 machine->links[axis].spans_hosts ? "between hosts" : "in a host");
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

void report_html_mesh(const struct report *report, struct text *text)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    double bytes[MESH_MAX_AXES], most = 0;
    int64_t runs[MESH_MAX_AXES], drawn = 1;
    struct layout layout;
    char note[160], devices[32];
    axis_bytes(report, bytes, runs);
    lay_out(mesh, &layout);
    struct map map = {.layout = &layout, .x0 = (HTML_WIDTH - layout.width) / 2};
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        most = bytes[axis] > most ? bytes[axis] : most;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++) {
        map.shade[axis] = shade_of(bytes[axis], most);
        map.far[axis] = evaluator_machine(report->evaluator)->links[axis].spans_hosts;
        drawn *= layout.shown[axis];
    }
    struct text svg = {0}, key = {0};
    double below = layout.height + 2 * MARGIN;
    int more = draw_key(&key, report, &map, bytes, below);
    html_add(
        &svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
        "aria-label=\"Devices and links, coloured by the bytes that a device sends over each axis\">",
        HTML_WIDTH, below + more);
    draw_devices(&svg, &map, true);
    draw_devices(&svg, &map, false);
    text_add_n(&svg, key.at, key.size);
    text_add(&svg, "</svg>");
    html_count((uint64_t)mesh_devices(mesh), devices);
    snprintf(note, sizeof note,
             "%s devices%s. Darker and wider: more bytes in a step; rings close where the drawing ends.",
             devices, drawn < mesh_devices(mesh) ? ", not all drawn" : "");
    html_figure(text, "mesh", "Mesh and traffic", note, &svg);
    mesh_table(report, bytes, runs, text);
    html_figure_end(text);
    text_release(&svg);
    text_release(&key);
}

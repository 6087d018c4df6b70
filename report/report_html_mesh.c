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

static void axis_bytes(const struct report *r, double bytes[MESH_MAX_AXES], int64_t runs[MESH_MAX_AXES])
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    memset(bytes, 0, MESH_MAX_AXES * sizeof *bytes);
    memset(runs, 0, MESH_MAX_AXES * sizeof *runs);
    for (uint32_t i = 0; i < r->collective_count; i++) {
        const struct report_collective *c = &r->collectives[i];
        double p = 1, each = (double)c->bytes;
        for (uint32_t a = 0; a < c->axis_count; a++)
            p *= (double)m->axes[c->axes[a]].size;
        if (c->kind == SPMD_REDUCE_SCATTER)
            each *= p - 1; /* the result is a shard: the whole is p of it */
        else if (c->kind != SPMD_PERMUTE)
            each *= (p - 1) / p * (c->kind == SPMD_ALL_REDUCE ? 2 : 1);
        for (uint32_t a = 0; a < c->axis_count; a++) {
            bytes[c->axes[a]] += each * (double)c->count;
            runs[c->axes[a]] += c->count;
        }
    }
}

/* Where devices stand: axis a moves by (dx, dy) a device. */
struct layout {
    uint32_t axes, shown[MESH_MAX_AXES];
    double dx[MESH_MAX_AXES], dy[MESH_MAX_AXES], width, height, unit;
};

static void lay_out(const struct mesh *m, struct layout *l)
{
    double wide = 1, tall = 1, gap[2] = {0.35, 0.35};
    *l = (struct layout){.axes = m->axis_count};
    for (uint32_t k = 0; k < m->axis_count; k++) {
        uint32_t a = m->axis_count - 1 - k, cap = k < 2 ? SHOWN_SIZE : SHOWN_BLOCKS;
        l->shown[a] = m->axes[a].size < (int64_t)cap ? (uint32_t)m->axes[a].size : cap;
        if (k >= SHOWN_AXES)
            l->shown[a] = 1; /* one block stands for all */
        double *extent = k % 2 ? &tall : &wide;
        double step = k < 2 ? 1 : *extent + gap[k % 2] * 2;
        (k % 2 ? l->dy : l->dx)[a] = step;
        *extent += step * (l->shown[a] - 1);
    }
    double room = HTML_WIDTH - 2 * MARGIN;
    l->unit = room / wide < WIDEST_UNIT ? room / wide : WIDEST_UNIT;
    if (l->unit * tall > TALLEST)
        l->unit = TALLEST / tall;
    l->width = l->unit * wide;
    l->height = l->unit * tall;
}

struct map {
    const struct layout *l;
    int shade[MESH_MAX_AXES];
    bool far[MESH_MAX_AXES];
    double x0;
};

static void place(const struct map *map, const uint32_t *at, double *x, double *y)
{
    *x = map->x0 + map->l->unit / 2;
    *y = MARGIN + map->l->unit / 2;
    for (uint32_t a = 0; a < map->l->axes; a++) {
        *x += map->l->dx[a] * at[a] * map->l->unit;
        *y += map->l->dy[a] * at[a] * map->l->unit;
    }
}

static void draw_links(struct text *t, const struct map *map, const uint32_t *at, double x, double y)
{
    for (uint32_t a = 0; a < map->l->axes; a++) {
        uint32_t next[MESH_MAX_AXES];
        double u, v;
        if (at[a] + 1 >= map->l->shown[a])
            continue;
        memcpy(next, at, sizeof next);
        next[a]++;
        place(map, next, &u, &v);
        /* between blocks: only from their first devices, in a bow */
        bool outer = map->l->axes - 1 - a >= 2;
        bool first = true;
        for (uint32_t b = a + 1; b < map->l->axes; b++)
            first &= at[b] == 0;
        if (outer && !first)
            continue;
        html_add(t, "<path class=\"link%s h%d\" stroke-width=\"%d\" d=\"", map->far[a] ? " far" : "",
                 map->shade[a], 2 + map->shade[a]);
        if (outer)
            html_add(t, "M%.1f %.1fQ%.1f %.1f %.1f %.1f\"/>", x, y,
                     (x + u) / 2 - (v > y ? map->l->unit * 0.5 : 0),
                     (y + v) / 2 - (u > x ? map->l->unit * 0.5 : 0), u, v);
        else
            html_add(t, "M%.1f %.1fL%.1f %.1f\"/>", x, y, u, v);
    }
}

/* every shown device once: links below, devices above */
static void draw_devices(struct text *t, const struct map *map, bool links)
{
    uint32_t at[MESH_MAX_AXES] = {0};
    double size = map->l->unit * 0.34;
    for (;;) {
        double x, y;
        place(map, at, &x, &y);
        if (links)
            draw_links(t, map, at, x, y);
        else
            html_add(t,
                     "<rect class=\"device\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\"/>",
                     x - size / 2, y - size / 2, size, size);
        uint32_t a = 0;
        while (a < map->l->axes && ++at[a] == map->l->shown[a])
            at[a++] = 0;
        if (a == map->l->axes)
            return;
    }
}

static int shade_of(double bytes, double most)
{
    double share = most > 0 ? bytes / most : 0;
    return bytes <= 0 ? 0 : share > 0.5 ? 4 : share > 0.1 ? 3 : share > 0.01 ? 2 : 1;
}

static int draw_key(struct text *t, const struct report *r, const struct map *map, const double *bytes,
                    double y)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    int rows = 0;
    for (uint32_t a = 0; a < m->axis_count; a++, rows++) {
        char sent[32];
        report_bytes((int64_t)bytes[a], sent);
        html_add(t, "<path class=\"link%s h%d\" stroke-width=\"%d\" d=\"M2 %.1fH34\"/>",
                 map->far[a] ? " far" : "", map->shade[a], 2 + map->shade[a], y + rows * 20.0 + 8);
        html_add(t, "<text class=\"name\" x=\"44\" y=\"%.1f\">%s (%lld): %s a device and step%s</text>",
                 y + rows * 20.0 + 12, m->axes[a].name, (long long)m->axes[a].size, sent,
                 map->far[a] ? ", between hosts" : "");
    }
    return rows * 20 + 6;
}

static void mesh_table(const struct report *r, const double *bytes, const int64_t *runs, struct text *t)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    const struct cost_machine *machine = evaluator_machine(r->evaluator);
    html_details(t, "Numbers", m->axis_count);
    text_add(t, "<table><thead><tr><th>Axis</th><th class=\"num\">Size</th><th class=\"num\">Bytes a device "
                "and step</th><th "
                "class=\"num\">Collectives</th><th class=\"num\">Link a direction</th><th "
                "class=\"num\">Latency</th><th>Reach</th></tr>"
                "</thead><tbody>");
    for (uint32_t a = 0; a < m->axis_count; a++) {
        char sent[32], rate[32], latency[32], count[32];
        report_bytes((int64_t)bytes[a], sent);
        report_bytes((int64_t)machine->links[a].bytes_per_s, rate);
        report_time(machine->links[a].latency_ps, latency);
        html_count((uint64_t)runs[a], count);
        html_add(
            t, "<tr><td>%s</td><td class=\"num\">%lld</td><td class=\"num\">%s</td><td class=\"num\">%s</td>",
            m->axes[a].name, (long long)m->axes[a].size, sent, count);
        html_add(t, "<td class=\"num\">%s/s</td><td class=\"num\">%s</td><td>%s</td></tr>", rate, latency,
                 machine->links[a].spans_hosts ? "between hosts" : "in a host");
    }
    text_add(t, "</tbody></table>");
    html_details_end(t);
}

void report_html_mesh(const struct report *r, struct text *t)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    double bytes[MESH_MAX_AXES], most = 0;
    int64_t runs[MESH_MAX_AXES], drawn = 1;
    struct layout l;
    char note[160], devices[32];
    axis_bytes(r, bytes, runs);
    lay_out(m, &l);
    struct map map = {.l = &l, .x0 = (HTML_WIDTH - l.width) / 2};
    for (uint32_t a = 0; a < m->axis_count; a++)
        most = bytes[a] > most ? bytes[a] : most;
    for (uint32_t a = 0; a < m->axis_count; a++) {
        map.shade[a] = shade_of(bytes[a], most);
        map.far[a] = evaluator_machine(r->evaluator)->links[a].spans_hosts;
        drawn *= l.shown[a];
    }
    struct text svg = {0}, key = {0};
    double below = l.height + 2 * MARGIN;
    int more = draw_key(&key, r, &map, bytes, below);
    html_add(
        &svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
        "aria-label=\"Devices and links, coloured by the bytes that a device sends over each axis\">",
        HTML_WIDTH, below + more);
    draw_devices(&svg, &map, true);
    draw_devices(&svg, &map, false);
    text_add_n(&svg, key.at, key.size);
    text_add(&svg, "</svg>");
    html_count((uint64_t)mesh_devices(m), devices);
    snprintf(note, sizeof note,
             "%s devices%s. Darker and wider: more bytes in a step; rings close where the drawing ends.",
             devices, drawn < mesh_devices(m) ? ", not all drawn" : "");
    html_figure(t, "mesh", "Mesh and traffic", note, &svg);
    mesh_table(r, bytes, runs, t);
    html_figure_end(t);
    text_release(&svg);
    text_release(&key);
}

/* The picture of a job's page that shows which worker did which task when: a row for every worker's child,
 * a bar for every task it finished, coloured by kind. A task that is held now is drawn up to now. See
 * ui.h. */
#include "server/ui/ui.h"

enum { LANES = 24, ROW = 24, LEFT = 130, TOP = 26, BOTTOM = 24, WIDE = 1200 };

static const struct {
    const char *kind;
    uint8_t color;
} kinds[] = {{"read", 7},    {"analyse", 2}, {"rollouts", 0}, {"merge", 1},
             {"network", 3}, {"emit", 4},    {"prove", 5}};

static uint8_t color_of(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].color;
    return 6;
}

struct lane {
    const char *worker;
    int slot;
    size_t tasks;
    long long busy_ms;
};
struct gantt {
    struct lane lanes[LANES];
    size_t count, dropped;
    long long from_ms, until_ms;
    double scale; /* units a ms */
};

/* the lane of a worker's child; LANES: there is no room */
static size_t lane_of(struct gantt *g, const char *worker, int slot)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->lanes[i].slot == slot && strcmp(g->lanes[i].worker, worker) == 0)
            return i;
    if (g->count == LANES) {
        g->dropped++;
        return LANES;
    }
    g->lanes[g->count] = (struct lane){worker, slot, 0, 0};
    return g->count++;
}

static void measure(struct gantt *g, const struct ui_job *j)
{
    for (size_t i = 0; i < j->history.done.count; i++) {
        const struct queue_done *d = &j->history.done.at[i];
        long long from = d->from_ms ? d->from_ms : d->until_ms;
        if (i == 0 || from < g->from_ms)
            g->from_ms = from;
        if (d->until_ms > g->until_ms)
            g->until_ms = d->until_ms;
    }
    if (!job_ended(&j->fields) && j->now_ms > g->until_ms)
        g->until_ms = j->now_ms;
    long long span = g->until_ms - g->from_ms;
    g->scale = (double)(WIDE - LEFT - 8) / (double)(span > 0 ? span : 1);
}

static void draw_bar(struct text *t, const struct gantt *g, size_t lane, const struct queue_done *d,
                     bool held)
{
    long long from = d->from_ms > g->from_ms ? d->from_ms : g->from_ms;
    double x = LEFT + (double)(from - g->from_ms) * g->scale, wide = (double)(d->until_ms - from) * g->scale;
    char took[32];
    ui_duration(d->until_ms - from, took);
    html_add(t,
             "<rect class=\"%sc%d\" x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"16\" rx=\"1\"><title>%s "
             "%u/%u, %s%s</title></rect>",
             held ? "pale " : "", color_of(d->kind), x, TOP + lane * ROW + 3, wide < 1 ? 1 : wide, d->kind,
             d->epoch, d->index, took, held ? " so far" : "");
}

static void draw_frame(struct text *t, const struct gantt *g)
{
    size_t bottom = TOP + g->count * ROW;
    double x = LEFT;
    char label[96];
    html_add(t,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture wide\" viewBox=\"0 0 %d %zu\" "
             "role=\"img\" "
             "aria-label=\"Tasks by worker over time\">",
             WIDE, bottom + BOTTOM);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        html_add(t,
                 "<rect class=\"c%d\" x=\"%.0f\" y=\"4\" width=\"12\" height=\"12\" rx=\"2\"/><text "
                 "x=\"%.0f\" y=\"14\">%s</text>",
                 kinds[i].color, x, x + 17, kinds[i].kind);
        x += 34 + 7 * (double)strlen(kinds[i].kind);
    }
    for (int i = 0; i <= 6; i++) {
        long long at = (g->until_ms - g->from_ms) * i / 6;
        double place = LEFT + (double)at * g->scale;
        ui_duration(at, label);
        html_add(t,
                 "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%zu\"/><text x=\"%.1f\" "
                 "y=\"%zu\" text-anchor=\"%s\">+%s</text>",
                 place, place, TOP, bottom, place, bottom + 16,
                 i == 6 ? "end"
                 : i    ? "middle"
                        : "start",
                 label);
    }
    for (size_t i = 0; i < g->count; i++) {
        size_t n = strlen(g->lanes[i].worker);
        snprintf(label, sizeof label, "%s%.16s #%d", n > 16 ? "…" : "",
                 g->lanes[i].worker + (n > 16 ? n - 16 : 0), g->lanes[i].slot);
        html_add(t, "<text class=\"name\" x=\"%d\" y=\"%zu\" text-anchor=\"end\">%s</text>", LEFT - 8,
                 TOP + i * ROW + 15, label);
    }
}

static void write_table(struct text *t, const struct gantt *g)
{
    char busy[32];
    html_details(t, "Numbers", (uint32_t)g->count);
    text_add(t, "<table><thead><tr><th>Worker</th><th class=\"num\">Child</th><th "
                "class=\"num\">Tasks</th><th class=\"num\">Busy</th><th "
                "class=\"num\">Of the time</th></tr></thead><tbody>");
    for (size_t i = 0; i < g->count; i++) {
        const struct lane *l = &g->lanes[i];
        ui_duration(l->busy_ms, busy);
        html_add(t,
                 "<tr><td class=\"long mono\">%s</td><td class=\"num\">%d</td><td class=\"num\">%zu</td><td "
                 "class=\"num\">%s</td><td "
                 "class=\"num\">%.0f %%</td></tr>",
                 l->worker, l->slot, l->tasks, busy,
                 g->until_ms > g->from_ms ? 100.0 * (double)l->busy_ms / (double)(g->until_ms - g->from_ms)
                                          : 0);
    }
    text_add(t, "</tbody></table>");
    html_details_end(t);
}

void ui_job_gantt(struct ui_page *p, const struct ui_job *j)
{
    struct gantt g = {0};
    struct text svg = {0}, bars = {0};
    char note[160];
    if (j->history.done.count == 0)
        return;
    measure(&g, j);
    for (size_t i = 0; i < j->history.done.count; i++) {
        const struct queue_done *d = &j->history.done.at[i];
        size_t lane = lane_of(&g, d->worker, d->slot);
        if (lane == LANES)
            continue;
        g.lanes[lane].tasks++;
        g.lanes[lane].busy_ms += d->from_ms ? d->until_ms - d->from_ms : 0;
        draw_bar(&bars, &g, lane, d, false);
    }
    for (size_t i = 0; i < j->held.count; i++) {
        const struct queue_held *h = &j->held.at[i];
        struct queue_done d = {
            .epoch = h->epoch, .index = h->index, .from_ms = h->since_ms, .until_ms = g.until_ms};
        size_t lane = h->since_ms && h->worker[0] ? lane_of(&g, h->worker, h->slot) : LANES;
        snprintf(d.kind, sizeof d.kind, "%s", h->kind);
        if (lane < LANES)
            draw_bar(&bars, &g, lane, &d, true);
    }
    draw_frame(&svg, &g);
    text_add_n(&svg, bars.at, bars.size);
    text_add(&svg, "</svg>");
    snprintf(note, sizeof note, "The last %zu finished tasks, a row for every worker's child%s.",
             j->history.done.count, g.dropped ? "; more workers than rows" : "");
    text_add(&p->t, "<div class=\"wide\">");
    html_figure(&p->t, "gantt", "Tasks by worker", note, &svg);
    write_table(&p->t, &g);
    html_figure_end(&p->t);
    text_add(&p->t, "</div>");
    text_release(&svg);
    text_release(&bars);
}

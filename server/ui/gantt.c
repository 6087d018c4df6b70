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
static size_t lane_of(struct gantt *gantt, const char *worker, int slot)
{
    for (size_t i = 0; i < gantt->count; i++)
        if (gantt->lanes[i].slot == slot && strcmp(gantt->lanes[i].worker, worker) == 0)
            return i;
    if (gantt->count == LANES) {
        gantt->dropped++;
        return LANES;
    }
    gantt->lanes[gantt->count] = (struct lane){worker, slot, 0, 0};
    return gantt->count++;
}

static void measure(struct gantt *gantt, const struct ui_job *j)
{
    for (size_t i = 0; i < j->history.done.count; i++) {
        const struct queue_done *done = &j->history.done.at[i];
        long long from = done->from_ms ? done->from_ms : done->until_ms;
        if (i == 0 || from < gantt->from_ms)
            gantt->from_ms = from;
        if (done->until_ms > gantt->until_ms)
            gantt->until_ms = done->until_ms;
    }
    if (!job_ended(&j->fields) && j->now_ms > gantt->until_ms)
        gantt->until_ms = j->now_ms;
    long long span = gantt->until_ms - gantt->from_ms;
    gantt->scale = (double)(WIDE - LEFT - 8) / (double)(span > 0 ? span : 1);
}

static void draw_bar(struct text *text, const struct gantt *gantt, size_t lane, const struct queue_done *done,
                     bool held)
{
    long long from = done->from_ms > gantt->from_ms ? done->from_ms : gantt->from_ms;
    double x = LEFT + (double)(from - gantt->from_ms) * gantt->scale,
           wide = (double)(done->until_ms - from) * gantt->scale;
    char took[32];
    ui_duration(done->until_ms - from, took);
    html_add(text,
             "<rect class=\"%sc%d\" x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"16\" rx=\"1\"><title>%s "
             "%u/%u, %s%s</title></rect>",
             held ? "pale " : "", color_of(done->kind), x, TOP + lane * ROW + 3, wide < 1 ? 1 : wide,
             done->kind, done->epoch, done->index, took, held ? " so far" : "");
}

static void draw_frame(struct text *text, const struct gantt *gantt)
{
    size_t bottom = TOP + gantt->count * ROW;
    double x = LEFT;
    char label[96];
    html_add(text,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture wide\" viewBox=\"0 0 %d %zu\" "
             "role=\"img\" "
             "aria-label=\"Tasks by worker over time\">",
             WIDE, bottom + BOTTOM);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        html_add(text,
                 "<rect class=\"c%d\" x=\"%.0f\" y=\"4\" width=\"12\" height=\"12\" rx=\"2\"/><text "
                 "x=\"%.0f\" y=\"14\">%s</text>",
                 kinds[i].color, x, x + 17, kinds[i].kind);
        x += 34 + 7 * (double)strlen(kinds[i].kind);
    }
    for (int i = 0; i <= 6; i++) {
        long long at = (gantt->until_ms - gantt->from_ms) * i / 6;
        double place = LEFT + (double)at * gantt->scale;
        ui_duration(at, label);
        html_add(text,
                 "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%zu\"/><text x=\"%.1f\" "
                 "y=\"%zu\" text-anchor=\"%s\">+%s</text>",
                 place, place, TOP, bottom, place, bottom + 16,
                 i == 6 ? "end"
                 : i    ? "middle"
                        : "start",
                 label);
    }
    for (size_t i = 0; i < gantt->count; i++) {
        size_t n = strlen(gantt->lanes[i].worker);
        snprintf(label, sizeof label, "%s%.16s #%d", n > 16 ? "…" : "",
                 gantt->lanes[i].worker + (n > 16 ? n - 16 : 0), gantt->lanes[i].slot);
        html_add(text, "<text class=\"name\" x=\"%d\" y=\"%zu\" text-anchor=\"end\">%s</text>", LEFT - 8,
                 TOP + i * ROW + 15, label);
    }
}

static void write_table(struct text *text, const struct gantt *gantt)
{
    char busy[32];
    html_details(text, "Numbers", (uint32_t)gantt->count);
    text_add(text, "<table><thead><tr><th>Worker</th><th class=\"num\">Child</th><th "
                   "class=\"num\">Tasks</th><th class=\"num\">Busy</th><th "
                   "class=\"num\">Of the time</th></tr></thead><tbody>");
    for (size_t i = 0; i < gantt->count; i++) {
        const struct lane *lane = &gantt->lanes[i];
        ui_duration(lane->busy_ms, busy);
        html_add(text,
                 "<tr><td class=\"long mono\">%s</td><td class=\"num\">%d</td><td class=\"num\">%zu</td><td "
                 "class=\"num\">%s</td><td "
                 "class=\"num\">%.0f %%</td></tr>",
                 lane->worker, lane->slot, lane->tasks, busy,
                 gantt->until_ms > gantt->from_ms
                     ? 100.0 * (double)lane->busy_ms / (double)(gantt->until_ms - gantt->from_ms)
                     : 0);
    }
    text_add(text, "</tbody></table>");
    html_details_end(text);
}

void ui_job_gantt(struct ui_page *page, const struct ui_job *j)
{
    struct gantt gantt = {0};
    struct text svg = {0}, bars = {0};
    char note[160];
    if (j->history.done.count == 0)
        return;
    measure(&gantt, j);
    for (size_t i = 0; i < j->history.done.count; i++) {
        const struct queue_done *done = &j->history.done.at[i];
        size_t lane = lane_of(&gantt, done->worker, done->slot);
        if (lane == LANES)
            continue;
        gantt.lanes[lane].tasks++;
        gantt.lanes[lane].busy_ms += done->from_ms ? done->until_ms - done->from_ms : 0;
        draw_bar(&bars, &gantt, lane, done, false);
    }
    for (size_t i = 0; i < j->held.count; i++) {
        const struct queue_held *held = &j->held.at[i];
        struct queue_done done = {.epoch = held->epoch,
                                  .index = held->index,
                                  .from_ms = held->since_ms,
                                  .until_ms = gantt.until_ms};
        size_t lane = held->since_ms && held->worker[0] ? lane_of(&gantt, held->worker, held->slot) : LANES;
        snprintf(done.kind, sizeof done.kind, "%s", held->kind);
        if (lane < LANES)
            draw_bar(&bars, &gantt, lane, &done, true);
    }
    draw_frame(&svg, &gantt);
    text_add_n(&svg, bars.at, bars.size);
    text_add(&svg, "</svg>");
    snprintf(note, sizeof note, "The last %zu finished tasks, a row for every worker's child%s.",
             j->history.done.count, gantt.dropped ? "; more workers than rows" : "");
    text_add(&page->text, "<div class=\"wide\">");
    html_figure(&page->text, "gantt", "Tasks by worker", note, &svg);
    write_table(&page->text, &gantt);
    html_figure_end(&page->text);
    text_add(&page->text, "</div>");
    text_release(&svg);
    text_release(&bars);
}

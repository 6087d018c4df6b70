/* Block-coordinate ascent over clusters of three nodes (D. Sontag, T. Meltzer, A. Globerson, T. Jaakkola, Y.
 * Weiss, "Tightening LP relaxations for MAP using message passing", UAI 2008), between passes of TRW-S:
 *
 *   pass     TRW-S under the best multipliers, and what each link's table keeps after it
 *   sweep    cluster by cluster: what its links keep, and what it moved before, is shared anew:
 *            a third of the least over its third node to link 01, half of what is then least to 12, all of
 *            what is then least to 02
 *   commit   in integers; in the end what goes to 02 is exactly what the other two leave, so that rounding
 *            wins nothing
 *
 *   link 01  0 at (a, b)    12  0 at (b, c)    02  9 at (a, c), 0 elsewhere
 *            what is least over c beside (a, b) is above 0 when all else is: the three links contradict each
 *            other, and the next pass finds it in the tables
 *
 * What a link keeps counts up to a multiple of the gap to the best answer, which has no such pair: forbidden
 * entries stay finite here. Steps are in float and only steer. */
#include "cfn/tighten.h"

#include "cfn/dual.h"
#include "cfn/kernel.h"

#include <math.h>
#include <stdlib.h>

enum {
    PASSES = 2, /* of TRW-S in a step, and one for what links keep */
    SWEEPS = 2,
    END_PASSES = 4, /* before the certificate */
    CELL_SHARE = 8, /* cells of a sweep that count as a table entry: least sums of floats, row by row */
};
static const double cap_gaps = 2;      /* what a link keeps counts up to so many gaps */
static const double least_gain = 1e-4; /* of the gap: a step that gains less is the last */

struct tightening { /* scratch of one phase */
    struct cfn_worker *worker;
    struct cfn_clusters *clusters;
    float *kept, *moved;                              /* as the relaxed entries, and as clusters->moved */
    size_t *offset;                                   /* by link, into kept */
    float *table[CFN_CLUSTER_LINKS], *turned, *least; /* of the cluster at hand */
    float cap;
};

void cfn_tighten_begin(struct cfn_worker *worker, double most_cells)
{
    worker->clusters = mem_zalloc(1, sizeof *worker->clusters);
    cfn_clusters_create(worker->model, most_cells, worker->excludes, worker->clusters);
    cfn_trws_move(&worker->trws, &worker->clusters->relaxed);
    worker->cluster_cells = most_cells;
}

void cfn_tighten_release(struct cfn_worker *worker)
{
    if (worker->clusters)
        cfn_clusters_release(worker->clusters);
    free(worker->clusters);
    worker->clusters = NULL;
    worker->cluster_cells = 0;
}

void cfn_tighten_end(struct cfn_worker *worker)
{
    if (!worker->clusters)
        return;
    cfn_trws_move(&worker->trws, worker->model);
    cfn_tighten_release(worker);
}

/* ---- one cluster ---- */

/* out[a][c] = min over b of x[a][b] + y[b][c] */
CFN_KERNEL static void least_sums(float *restrict out, const float *restrict x, int32_t x_width, int32_t rows,
                                  int32_t inner, const float *restrict y, int32_t width)
{
    for (int32_t a = 0; a < rows; a++) {
        float *row = out + (size_t)a * (size_t)width;
        for (int32_t c = 0; c < width; c++)
            row[c] = HUGE_VALF;
        for (int32_t b = 0; b < inner; b++) {
            float cost = x[(size_t)a * (size_t)x_width + (size_t)b];
            const float *from = y + (size_t)b * (size_t)width;
            for (int32_t c = 0; c < width; c++) {
                float sum = cost + from[c];
                row[c] = sum < row[c] ? sum : row[c];
            }
        }
    }
}

/* what the link keeps, up to the cap, with what was moved to it taken back */
CFN_KERNEL static void take(float *restrict table, const float *restrict kept, const float *restrict moved,
                            float cap, size_t size)
{
    for (size_t k = 0; k < size; k++)
        table[k] = (kept[k] < cap ? kept[k] : cap) - moved[k];
}

/* a share of what the cluster has at least beside each pair goes to the link */
CFN_KERNEL static void give(float *restrict table, const float *restrict least, float share, size_t size)
{
    for (size_t k = 0; k < size; k++)
        table[k] -= share * (table[k] + least[k]);
}

/* what was moved becomes what the cluster is left with, with the other sign; the link keeps the difference */
CFN_KERNEL static void settle(float *restrict kept, float *restrict moved, const float *restrict table,
                              size_t size)
{
    for (size_t k = 0; k < size; k++) {
        kept[k] -= table[k] + moved[k];
        moved[k] = -table[k];
    }
}

/* to[b][a] = from[a][b] */
static void turn(float *to, int32_t to_width, const float *from, int32_t from_width, int32_t rows,
                 int32_t columns)
{
    for (int32_t a = 0; a < rows; a++)
        for (int32_t b = 0; b < columns; b++)
            to[(size_t)b * (size_t)to_width + (size_t)a] = from[(size_t)a * (size_t)from_width + (size_t)b];
}

static void share_anew(struct tightening *step, const struct cfn_cluster *at)
{
    const struct cfn_model *model = step->worker->model;
    const struct cfn_relaxed_link *links = step->clusters->links;
    int32_t size[CFN_CLUSTER_LINKS], width[CFN_CLUSTER_LINKS];
    for (int k = 0; k < CFN_CLUSTER_LINKS; k++) {
        size[k] = model->size[at->node[k]];
        width[k] = model->width[at->node[k]];
    }
    size_t entries[] = {(size_t)size[0] * (size_t)width[1], (size_t)size[1] * (size_t)width[2],
                        (size_t)size[0] * (size_t)width[2]};
    float *const *table = step->table;
    for (int k = 0; k < CFN_CLUSTER_LINKS; k++)
        take(table[k], step->kept + links[at->link[k]].table, step->moved + at->moved[k], step->cap,
             entries[k]);
    turn(step->turned, width[1], table[1], width[2], size[1], size[2]);
    least_sums(step->least, table[2], width[2], size[0], size[2], step->turned, width[1]);
    give(table[0], step->least, 1.0f / 3, entries[0]);
    turn(step->turned, width[0], table[0], width[1], size[0], size[1]);
    least_sums(step->least, step->turned, width[0], size[1], size[0], table[2], width[2]);
    give(table[1], step->least, 0.5f, entries[1]);
    least_sums(step->least, table[0], width[1], size[0], size[1], table[1], width[2]);
    give(table[2], step->least, 1, entries[2]);
    for (int k = 0; k < CFN_CLUSTER_LINKS; k++)
        settle(step->kept + links[at->link[k]].table, step->moved + at->moved[k], table[k], entries[k]);
}

/* ---- in integers ---- */

static void round_table(struct tightening *step, const struct cfn_cluster *at, int k)
{
    const struct cfn_model *model = step->worker->model;
    const struct cfn_relaxed_link *link = &step->clusters->links[at->link[k]];
    size_t width = (size_t)model->width[link->second];
    for (size_t a = 0; a < (size_t)model->size[link->first]; a++)
        for (size_t b = 0; b < (size_t)model->size[link->second]; b++) {
            float moved = step->moved[at->moved[k] + a * width + b];
            step->clusters->moved[at->moved[k] + a * width + b] =
                moved > (float)CFN_MOST_MOVED    ? CFN_MOST_MOVED
                : moved < -(float)CFN_MOST_MOVED ? -CFN_MOST_MOVED
                                                 : (int64_t)moved;
        }
}

/* link 02 gets what the other two leave beside every value of the node between */
static void complete(struct tightening *step, const struct cfn_cluster *at)
{
    const struct cfn_model *model = step->worker->model;
    int64_t *moved = step->clusters->moved;
    size_t width = (size_t)model->width[at->node[1]], last_width = (size_t)model->width[at->node[2]];
    for (size_t a = 0; a < (size_t)model->size[at->node[0]]; a++)
        for (size_t c = 0; c < (size_t)model->size[at->node[2]]; c++) {
            int64_t most = INT64_MIN;
            for (size_t b = 0; b < (size_t)model->size[at->node[1]]; b++) {
                int64_t sum = moved[at->moved[0] + a * width + b] + moved[at->moved[1] + b * last_width + c];
                most = sum > most ? sum : most;
            }
            moved[at->moved[2] + a * last_width + c] = -most;
        }
}

/* into the relaxed tables; exactly: so that they bound */
static void commit(struct tightening *step, bool exactly)
{
    const struct cfn_clusters *clusters = step->clusters;
    for (int32_t k = 0; k < clusters->count; k++) {
        round_table(step, &clusters->at[k], 0);
        round_table(step, &clusters->at[k], 1);
        if (exactly)
            complete(step, &clusters->at[k]);
        else
            round_table(step, &clusters->at[k], 2);
    }
    if (exactly)
        step->worker->work += clusters->cells;
    cfn_clusters_load(step->clusters);
}

/* ---- the phase ---- */

static double pass(struct cfn_worker *worker, int passes)
{
    double bound = 0;
    for (int k = 0; k < passes; k++)
        bound = cfn_trws_iterate(&worker->trws);
    worker->work += (uint64_t)passes * (2 * worker->trws.model->table_work + worker->trws.model->forest_work);
    return bound;
}

static void begin(struct tightening *step, double gap)
{
    struct cfn_clusters *clusters = step->clusters;
    const struct cfn_model *relaxed = &clusters->relaxed;
    size_t largest = (size_t)relaxed->largest * (size_t)relaxed->largest;
    step->cap = (float)(cap_gaps * gap < (double)CFN_MOST_MOVED ? cap_gaps * gap : (double)CFN_MOST_MOVED);
    step->kept = mem_zalloc(clusters->entry_count + 1, sizeof *step->kept);
    step->moved = mem_zalloc(clusters->moved_count + 1, sizeof *step->moved);
    step->offset = mem_alloc(((size_t)relaxed->link_count + 1) * sizeof *step->offset);
    for (int k = 0; k < CFN_CLUSTER_LINKS; k++)
        step->table[k] = mem_zalloc(largest, sizeof(float));
    step->turned = mem_zalloc(largest, sizeof(float));
    step->least = mem_zalloc(largest, sizeof(float));
    for (int32_t k = 0; k < relaxed->link_count; k++)
        step->offset[k] = clusters->links[k].clustered ? clusters->links[k].table : SIZE_MAX;
    for (size_t k = 0; k < clusters->moved_count; k++)
        step->moved[k] = (float)clusters->moved[k];
}

static void end(struct tightening *step)
{
    free(step->kept);
    free(step->moved);
    free(step->offset);
    for (int k = 0; k < CFN_CLUSTER_LINKS; k++)
        free(step->table[k]);
    free(step->turned);
    free(step->least);
}

/* passes, and sweeps over what is left after them; -> the bound before the sweeps */
static double one_step(struct tightening *step)
{
    struct cfn_worker *worker = step->worker;
    const struct cfn_clusters *clusters = step->clusters;
    pass(worker, PASSES);
    double bound = cfn_trws_residuals(&worker->trws, step->offset, step->kept);
    worker->work += 2 * worker->trws.model->table_work + clusters->entry_count;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int32_t k = 0; k < clusters->count; k++)
            share_anew(step, &clusters->at[k]);
    worker->work += SWEEPS * clusters->cells / CELL_SHARE + 2 * clusters->moved_count;
    commit(step, false);
    return bound;
}

void cfn_tighten_phase(struct cfn_worker *worker)
{
    struct tightening step = {.worker = worker, .clusters = worker->clusters};
    double gap = (double)worker->best.cost - worker->best_estimate, before = -HUGE_VAL;
    if (!worker->has_best || !worker->clusters->count || !(gap > 0) || !(worker->best_estimate > -HUGE_VAL))
        return;
    begin(&step, gap);
    cfn_trws_price(&worker->trws, worker->best_lambda);
    while (!cfn_worker_done(worker)) {
        double bound = one_step(&step);
        if (bound - before < least_gain * gap)
            break;
        before = bound;
    }
    commit(&step, true);
    end(&step);
    if (worker->stopped)
        return;
    worker->best_estimate = pass(worker, END_PASSES);
    cfn_dual_certify(worker);
}

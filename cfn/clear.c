/* Small balls first: most of what is forbidden has a way around it within a few nodes, and small tables are
 * exact there. Each wide move is told what it may cost in all, so that a point with no way around costs as
 * much as a few passes and no more. */
#include "cfn/clear.h"

enum {
    FIRST_BALL = 16,      /* nodes; */
    GROWTH = 4,           /* the next so many times as many */
    MOST_SHARE = 16,      /* a point with more forbidden entries than one node in so many is left alone: */
    ALWAYS = 8,           /* but not with so few */
    PASSES = 4,           /* whose work it may take, */
    LEAST_WORK = 1 << 18, /* or so many table entries */
};
static const double largest = 1 << 14; /* entries of a move's largest table */

static bool touches_forbidden(const struct cfn_worker *worker, int32_t node)
{
    const struct cfn_model *model = worker->model;
    const int32_t *value = worker->point.value;
    for (uint32_t k = model->first_arc[node]; k < model->first_arc[node + 1]; k++) {
        const struct cfn_arc *arc = &model->arcs[k];
        if (cfn_infinite(arc->exact[(size_t)value[node] * arc->own + (size_t)value[arc->other] * arc->step]))
            return true;
    }
    return cfn_infinite(model->unary[model->offset[node] + (size_t)value[node]]);
}

/* a wide move around each node beside something forbidden; until work_end */
static void move_around(struct cfn_worker *worker, int32_t size, uint64_t work_end)
{
    const struct cfn_model *model = worker->model;
    for (int32_t i = 0; i < model->node_count; i++) {
        if (!touches_forbidden(worker, i))
            continue;
        if (cfn_worker_done(worker) || worker->work >= work_end)
            break;
        int32_t count = cfn_worker_ball(worker, i, size);
        cfn_wide_move(&worker->wide, &worker->rng, worker->ball, count, largest,
                      (double)(work_end - worker->work), worker->unary, worker->point.value, worker->changed,
                      worker->old);
    }
    worker->work += model->forest_work + cfn_point_work(model);
    cfn_point_evaluate(model, &worker->point, worker->profile);
    cfn_worker_spend(worker);
}

bool cfn_clear(struct cfn_worker *worker)
{
    const struct cfn_model *model = worker->model;
    int32_t most = model->node_count < CFN_WIDE_NODES ? model->node_count : CFN_WIDE_NODES;
    if (!worker->clears || worker->point.forbidden > model->node_count / MOST_SHARE + ALWAYS)
        return !worker->point.forbidden;
    uint64_t passes = PASSES * (2 * model->table_work + model->forest_work),
             end = worker->work + (passes > LEAST_WORK ? passes : LEAST_WORK);
    for (int32_t size = FIRST_BALL; worker->point.forbidden && worker->work < end && !worker->stopped;
         size *= GROWTH) {
        move_around(worker, size < most ? size : most, end);
        if (size >= most)
            break;
    }
    return !worker->point.forbidden;
}

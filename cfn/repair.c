/* Back within the limit, and then down in cost, one flip at a time.
 *
 * Repair looks at the worst time only. Of all flips that take usage off there, a batch with the least cost
 * per unit taken off is applied, each scored again first; usage beyond the excess is not counted, so that a
 * huge saving is not bought for a small violation. Then the worst time is another one. It gives up after
 * LEAST_FLIPS or more flips, or when a time has no flip left, and leaves the point where it is.
 *
 * Polish gives each node the value that lowers the cost most within the limit, until a pass changes nothing.
 * Both only flip to entries that are not forbidden, or no more so than before. */
#include "cfn/repair.h"

enum {
    LEAST_FLIPS = 400, /* before a repair gives up; more on large models: a node in FLIP_SHARE */
    FLIP_SHARE = 8,
    MAX_PASSES = 4, /* of polishing */
    BATCH = 48,     /* flips scored together for one time: scoring looks at every node */
    ASK = 64,       /* nodes polished between two questions whether to stop */
    /* table entries: an arc of a flip's cost, an item looked at */
    ARC_WORK = 8,
    ITEM_WORK = 4,
};

struct flip {
    int32_t node, value;
    double score; /* cost per unit of usage taken off, where more than the excess does not count */
};

/* usage at time t that going from one value to another takes off */
static int64_t relief(const struct cfn_model *model, int32_t i, int32_t from, int32_t to, int32_t t)
{
    int64_t less = 0;
    for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++)
        if (model->items[k].left <= t && t < model->items[k].right)
            less += model->items[k].use[from] - model->items[k].use[to];
    return less;
}

static bool covers(const struct cfn_model *model, int32_t i, int32_t t)
{
    for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++)
        if (model->items[k].left <= t && t < model->items[k].right)
            return true;
    return false;
}

/* ---- repair ---- */

/* false when the flip takes nothing off, or uses what is forbidden */
static bool score_flip(struct cfn_state *state, int32_t t, int64_t excess, struct flip *flip)
{
    const struct cfn_model *model = state->model;
    int64_t less = relief(model, flip->node, state->at.value[flip->node], flip->value, t);
    int32_t forbidden;
    if (less <= 0)
        return false;
    state->work += ARC_WORK * (model->first_arc[flip->node + 1] - model->first_arc[flip->node]);
    flip->score = (double)cfn_point_flip_cost(model, &state->at, flip->node, flip->value, &forbidden) /
                  (double)(less < excess ? less : excess);
    return forbidden <= 0;
}

/* the best flips at time t, one a node, ascending score */
static int best_flips(struct cfn_state *state, int32_t t, int64_t excess, struct flip *out)
{
    const struct cfn_model *model = state->model;
    int count = 0;
    for (int32_t i = 0; i < model->node_count; i++) {
        struct flip best = {.node = -1};
        if (!covers(model, i, t))
            continue;
        for (int32_t a = 0; a < model->size[i]; a++) {
            struct flip flip = {i, a, 0};
            if (score_flip(state, t, excess, &flip) && (best.node < 0 || flip.score < best.score))
                best = flip;
        }
        if (best.node < 0 || (count == BATCH && out[count - 1].score <= best.score))
            continue;
        int at = count < BATCH ? count++ : BATCH - 1;
        for (; at > 0 && out[at - 1].score > best.score; at--)
            out[at] = out[at - 1];
        out[at] = best;
    }
    state->work += (uint64_t)model->node_count + (uint64_t)ITEM_WORK * model->first_item[model->node_count];
    return count;
}

/* flips at time t until it is within the limit or the batch is used up; returns how many */
static int relieve(struct cfn_state *state, int32_t t)
{
    struct flip batch[BATCH];
    int64_t limit = state->model->limit, usage = cfn_usage_at(&state->usage, t);
    int count = best_flips(state, t, usage - limit, batch), flips = 0;
    for (int k = 0; k < count && usage > limit; k++) {
        struct flip now = batch[k]; /* earlier flips may have changed its worth */
        if (!score_flip(state, t, usage - limit, &now) ||
            (k > 0 && now.score > batch[count - 1].score && now.score > 0))
            continue;
        cfn_state_move(state, now.node, now.value);
        usage = cfn_usage_at(&state->usage, t);
        flips++;
    }
    return flips;
}

bool cfn_repair(struct cfn_state *state)
{
    int left = LEAST_FLIPS + state->model->node_count / FLIP_SHARE, flips = 1;
    if (state->at.worst > 0)
        cfn_state_sync(state);
    while (state->at.worst > 0 && left > 0 && flips > 0 && !(state->stop && state->stop(state->user))) {
        flips = relieve(state, cfn_usage_worst_time(&state->usage));
        left -= flips;
    }
    return state->at.worst <= 0;
}

/* ---- polish ---- */

static bool improve_node(struct cfn_state *state, int32_t i)
{
    const struct cfn_model *model = state->model;
    int64_t best = 0;
    int32_t value = -1;
    for (int32_t a = 0; a < model->size[i]; a++) {
        int32_t forbidden;
        if (a == state->at.value[i])
            continue;
        int64_t change = cfn_point_flip_cost(model, &state->at, i, a, &forbidden);
        if (change >= best || forbidden > 0 || !cfn_state_fits(state, i, a))
            continue;
        best = change;
        value = a;
    }
    state->work += (uint64_t)model->size[i] * (model->first_arc[i + 1] - model->first_arc[i]);
    if (value >= 0)
        cfn_state_move(state, i, value);
    return value >= 0;
}

void cfn_polish(struct cfn_state *state)
{
    bool any = true;
    for (int pass = 0; pass < MAX_PASSES && any; pass++) {
        any = false;
        for (int32_t i = 0; i < state->model->node_count; i++) {
            if (i % ASK == 0 && state->stop && state->stop(state->user))
                break;
            any = improve_node(state, i) || any;
        }
    }
}

/* A point under change. Costs follow the links of what moved: a link between two moved nodes is counted
 * once, from its end of the greater number. Usage follows in one of two ways, whichever is cheaper for the
 * size of the change:
 *
 *   few items    into the tree of maxima (usage.h), at the logarithm of the times each
 *   many items   into the list of steps, then one sweep over all times; the tree is rebuilt when next asked
 *
 * The list of steps is always right; `swept` says that the tree is behind it. One change can be taken back,
 * no more. */
#include "cfn/state.h"

#include <stdlib.h>
#include <string.h>

void cfn_state_create(const struct cfn_model *model, struct cfn_state *state)
{
    *state = (struct cfn_state){.model = model};
    cfn_point_create(model, &state->at);
    cfn_usage_create(&state->usage, model->time_count);
    state->step = mem_zalloc((size_t)model->time_count + 1, sizeof *state->step);
    state->former = mem_zalloc((size_t)model->node_count + 1, sizeof *state->former);
    state->stamp = mem_zalloc((size_t)model->node_count + 1, sizeof *state->stamp);
}

void cfn_state_release(struct cfn_state *state)
{
    cfn_point_release(&state->at);
    cfn_usage_release(&state->usage);
    free(state->step);
    free(state->former);
    free(state->stamp);
}

void cfn_state_load(struct cfn_state *state, const struct cfn_point *point)
{
    cfn_point_copy(state->model, &state->at, point);
    cfn_point_evaluate(state->model, &state->at, state->step);
    for (int32_t t = state->model->time_count; t-- > 0;) {
        state->step[t] -= state->model->base[t];
        if (t + 1 < state->model->time_count)
            state->step[t + 1] -= state->step[t];
    }
    cfn_usage_load(&state->usage, state->model->base, state->step);
    state->swept = false;
}

void cfn_state_sync(struct cfn_state *state)
{
    if (state->swept)
        cfn_usage_load(&state->usage, state->model->base, state->step);
    state->swept = false;
}

/* table entries that they count as */
enum { ARC_WORK = 4, ITEM_WORK = 2, TREE_WORK = 32 };
/* Moving an item in the tree costs about as much as SWEEP times do in a sweep. */
enum { SWEEP = 96 };

static void add(struct cfn_point *point, int64_t after, int64_t before)
{
    point->forbidden += cfn_infinite(after) - cfn_infinite(before);
    point->cost += (cfn_infinite(after) ? 0 : after) - (cfn_infinite(before) ? 0 : before);
}

static void price_node(struct cfn_state *state, int32_t i)
{
    const struct cfn_model *model = state->model;
    int32_t new = state->at.value[i], old = state->former[i];
    add(&state->at, model->unary[model->offset[i] + (size_t)new],
        model->unary[model->offset[i] + (size_t)old]);
    for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
        const struct cfn_arc *arc = &model->arcs[k];
        bool moved = state->stamp[arc->other] == state->now;
        int32_t there = state->at.value[arc->other], was = moved ? state->former[arc->other] : there;
        if (moved && arc->other > i)
            continue; /* counted from the other end */
        add(&state->at, arc->exact[(size_t)new * arc->own + (size_t)there * arc->step],
            arc->exact[(size_t)old * arc->own + (size_t)was * arc->step]);
    }
    state->work += (model->first_arc[i + 1] - model->first_arc[i]) * ARC_WORK;
}

/* node i's items from one value to another, in s->step and, when `tree`, in s->usage */
static void move_usage(struct cfn_state *state, int32_t i, int32_t from, int32_t to, bool tree)
{
    const struct cfn_model *model = state->model;
    for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++) {
        const struct cfn_model_item *item = &model->items[k];
        int64_t change = item->use[to] - item->use[from];
        state->step[item->left] += change;
        state->step[item->right] -= change;
        if (tree)
            cfn_usage_add(&state->usage, item->left, item->right, change);
    }
    state->work +=
        (model->first_item[i + 1] - model->first_item[i]) * (uint32_t)(tree ? TREE_WORK : ITEM_WORK);
}

static int64_t excess(const struct cfn_state *state)
{
    return state->model->time_count ? cfn_usage_most(&state->usage) - state->model->limit : INT64_MIN;
}

static int64_t worst_of(const struct cfn_state *state)
{
    int64_t sum = 0, worst = INT64_MIN;
    for (int32_t time = 0; time < state->model->time_count; time++) {
        sum += state->step[time];
        int64_t usage = state->model->base[time] + sum;
        worst = usage > worst ? usage : worst;
    }
    return state->model->time_count ? worst - state->model->limit : INT64_MIN;
}

void cfn_state_commit(struct cfn_state *state, const int32_t *nodes, const int32_t *old, int32_t count)
{
    const struct cfn_model *model = state->model;
    uint32_t items = 0;
    state->before.cost = state->at.cost;
    state->before.worst = state->at.worst;
    state->before.forbidden = state->at.forbidden;
    state->now++;
    for (int32_t k = 0; k < count; k++) {
        state->stamp[nodes[k]] = state->now;
        state->former[nodes[k]] = old[k];
        items += model->first_item[nodes[k] + 1] - model->first_item[nodes[k]];
    }
    bool sweep = items > (uint32_t)model->time_count / SWEEP;
    if (items)
        cfn_state_sync(state);
    for (int32_t k = 0; k < count; k++) {
        price_node(state, nodes[k]);
        move_usage(state, nodes[k], old[k], state->at.value[nodes[k]], !sweep);
    }
    if (!items)
        return;
    state->swept = sweep;
    state->at.worst = sweep ? worst_of(state) : excess(state);
    state->work += sweep ? (uint64_t)model->time_count : 0;
}

void cfn_state_revert(struct cfn_state *state, const int32_t *nodes, const int32_t *old, int32_t count)
{
    bool items = false;
    for (int32_t k = 0; k < count; k++) {
        items = items || state->model->first_item[nodes[k] + 1] > state->model->first_item[nodes[k]];
        move_usage(state, nodes[k], state->at.value[nodes[k]], old[k], !state->swept);
        state->at.value[nodes[k]] = old[k];
    }
    state->swept = state->swept && !items; /* the tree was not touched by a swept commit */
    state->at.cost = state->before.cost;
    state->at.worst = state->before.worst;
    state->at.forbidden = state->before.forbidden;
}

void cfn_state_move(struct cfn_state *state, int32_t node, int32_t value)
{
    int32_t old = state->at.value[node], forbidden;
    cfn_state_sync(state);
    state->at.cost += cfn_point_flip_cost(state->model, &state->at, node, value, &forbidden);
    state->at.forbidden += forbidden;
    state->at.value[node] = value;
    move_usage(state, node, old, value, true);
    state->at.worst = excess(state);
}

bool cfn_state_fits(struct cfn_state *state, int32_t node, int32_t value)
{
    int32_t old = state->at.value[node];
    cfn_state_sync(state);
    move_usage(state, node, old, value, true);
    bool fits = !state->model->time_count || cfn_usage_most(&state->usage) <= state->model->limit;
    move_usage(state, node, value, old, true);
    return fits;
}

/* An artificial landscape for the search's tests: ops that each can be sharded along some groups, one
 * group an axis. Applying (group, axis) takes the axis in every op that has the group and has not given
 * the axis away, so order is priority, as in the real thing; later decisions reach what is left. The
 * price: work split by the axes, a penalty for each op and group (communication), memory that must fit.
 * The best first step is often a trap. */
#ifndef TOAST_TESTS_LANDSCAPE_H
#define TOAST_TESTS_LANDSCAPE_H

#include <stdlib.h>
#include <string.h>

#include "mcts/core.h"

enum { LAND_OPS = 12, LAND_GROUPS = 8, LAND_AXES = 2 };

struct land {
    uint32_t groups;
    int64_t work[LAND_OPS], bytes[LAND_OPS];
    int64_t penalty[LAND_OPS][LAND_GROUPS]; /* -1: the op has not this group */
    int64_t limit;
};
struct land_state {
    uint8_t group[LAND_OPS][LAND_AXES]; /* 0: none; else group + 1 */
};

static void land_apply(const struct land *land, struct land_state *land_state, uint32_t decision,
                       uint32_t *changed)
{
    uint32_t group = decision / LAND_AXES, axis = decision % LAND_AXES;
    *changed = 0;
    for (int op = 0; op < LAND_OPS; op++)
        if (land->penalty[op][group] >= 0 && !land_state->group[op][axis]) {
            land_state->group[op][axis] = (uint8_t)(group + 1);
            ++*changed;
        }
}

static struct hash128 land_hash(const struct land_state *land_state)
{
    struct hash128 hash = {0, 0};
    for (uint64_t op = 0; op < LAND_OPS; op++)
        for (uint64_t axis = 0; axis < LAND_AXES; axis++)
            if (land_state->group[op][axis])
                hash =
                    hash128_xor(hash, hash_word(1 + land_state->group[op][axis] + (axis << 8) + (op << 16)));
    return hash;
}

static void land_replay(void *session, struct search_list *list, struct hash128 *hash)
{
    const struct land *land = *(const struct land **)session;
    struct land_state land_state = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t changed;
        land_apply(land, &land_state, list->at[i], &changed);
        if (changed)
            list->at[n++] = list->at[i];
    }
    list->count = n;
    *hash = land_hash(&land_state);
}

static struct cost land_cost(const struct land *land, const struct land_state *land_state,
                             struct price *price)
{
    int64_t time = 0, whole = 0, bytes = 0;
    for (int op = 0; op < LAND_OPS; op++) {
        int64_t shards = 1, penalty = 0;
        for (int axis = 0; axis < LAND_AXES; axis++)
            if (land_state->group[op][axis]) {
                shards *= 4;
                penalty += land->penalty[op][land_state->group[op][axis] - 1] / (axis + 1);
            }
        /* a group that its neighbour does not share on this axis has to be moved */
        for (int axis = 0; op > 0 && axis < LAND_AXES; axis++)
            if (land_state->group[op][axis] != land_state->group[op - 1][axis])
                penalty += 1500;
        time += land->work[op] / shards + penalty;
        whole += land->work[op];
        bytes += land->bytes[op] / shards;
    }
    *price = (struct price){.step_ps = time, .peak_bytes = bytes};
    struct cost cost = {.c = (int64_t)(((__int128)time << 32) / whole)};
    if (bytes > land->limit) {
        cost.over_steps = (bytes - land->limit) * 100 / land->limit + 1;
        cost.c += (int64_t)(((__int128)(bytes - land->limit) << 32) * 10 / land->limit);
    }
    return cost;
}

static enum error_code land_price(void *session, const struct search_list *list, int64_t beaten,
                                  struct price *price, struct cost *cost, struct error *e)
{
    const struct land *land = *(const struct land **)session;
    struct land_state land_state = {0};
    (void)e;
    (void)beaten;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t changed;
        land_apply(land, &land_state, list->at[i], &changed);
    }
    *cost = land_cost(land, &land_state, price);
    return ERROR_OK;
}

static void *land_session(const struct search_domain *domain, struct evaluator_session *evaluator)
{
    (void)evaluator;
    const struct land **session = mem_alloc(sizeof *session);
    *session = domain->self;
    return session;
}

static void land_session_end(void *session)
{
    free(session);
}

static void land_destroy(struct search_domain *domain)
{
    free(domain->self);
    free(domain->baselines);
    free(domain);
}

/* groups <= LAND_GROUPS; two baselines: nothing, and group 0 on both axes ("batch", which every op has) */
static struct search_domain *land_create(uint64_t seed, uint32_t groups)
{
    struct rng rng = {seed};
    struct land *land = mem_zalloc(1, sizeof *land);
    land->groups = groups;
    int64_t bytes = 0;
    for (int op = 0; op < LAND_OPS; op++) {
        land->work[op] = 20000 + (int64_t)rng_below(&rng, 100000);
        land->bytes[op] = 1000 + (int64_t)rng_below(&rng, 9000);
        bytes += land->bytes[op];
        for (uint32_t g = 0; g < groups; g++)
            land->penalty[op][g] = g == 0                   ? 4000
                                   : rng_below(&rng, 5) < 2 ? (int64_t)rng_below(&rng, 9000)
                                                            : -1;
    }
    land->limit = bytes / 8;
    struct search_domain *domain = mem_zalloc(1, sizeof *domain);
    *domain = (struct search_domain){.self = land,
                                     .decision_count = groups * LAND_AXES,
                                     .total_count = groups * LAND_AXES,
                                     .baseline_count = 2,
                                     .operations = 20000,
                                     .devices = 16,
                                     .destroy = land_destroy,
                                     .session_create = land_session,
                                     .session_destroy = land_session_end,
                                     .replay = land_replay,
                                     .price = land_price};
    domain->baselines = mem_zalloc(2, sizeof *domain->baselines);
    strcpy(domain->baselines[0].name, "replicated");
    strcpy(domain->baselines[1].name, "batch");
    domain->baselines[1].list = (struct search_list){2, {0, 1}};
    return domain;
}

/* Best over every plan that any list reaches (append-only closure over plans); plans visited. */
static inline uint32_t land_exhaust(const struct search_domain *domain, struct cost *best,
                                    struct hash128 *best_hash)
{
    struct tree seen = {0};
    VEC(struct search_list) lists = {NULL, 0, 0};
    struct search_list empty = {.count = 0};
    void *session = land_session(domain, NULL);
    struct hash128 hash;
    struct price price;
    land_replay(session, &empty, &hash);
    (void)land_price(session, &empty, 0, &price, best, NULL);
    *best_hash = hash;
    tree_node(&seen, tree_state(hash), NULL, 0);
    VEC_PUSH(&lists, empty);
    for (size_t i = 0; i < lists.count; i++) {
        for (uint32_t decision = 0; decision < domain->decision_count; decision++) {
            struct search_list next = lists.at[i];
            if (!core_list_insert(&next, next.count, (uint16_t)decision))
                continue;
            land_replay(session, &next, &hash);
            if (tree_find(&seen, tree_state(hash)) != TREE_NONE)
                continue;
            tree_node(&seen, tree_state(hash), next.at, next.count);
            VEC_PUSH(&lists, next);
            struct cost cost;
            (void)land_price(session, &next, 0, &price, &cost, NULL);
            if (cost_compare(cost, hash, *best, *best_hash) < 0) {
                *best = cost;
                *best_hash = hash;
            }
        }
    }
    uint32_t count = (uint32_t)lists.count;
    VEC_FREE(&lists);
    tree_release(&seen);
    land_session_end(session);
    return count;
}

#endif

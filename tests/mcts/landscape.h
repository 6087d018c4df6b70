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

static void land_apply(const struct land *l, struct land_state *s, uint32_t decision, uint32_t *changed)
{
    uint32_t group = decision / LAND_AXES, axis = decision % LAND_AXES;
    *changed = 0;
    for (int op = 0; op < LAND_OPS; op++)
        if (l->penalty[op][group] >= 0 && !s->group[op][axis]) {
            s->group[op][axis] = (uint8_t)(group + 1);
            ++*changed;
        }
}

static struct hash128 land_hash(const struct land_state *s)
{
    struct hash128 h = {0, 0};
    for (uint64_t op = 0; op < LAND_OPS; op++)
        for (uint64_t axis = 0; axis < LAND_AXES; axis++)
            if (s->group[op][axis])
                h = hash128_xor(h, hash_word(1 + s->group[op][axis] + (axis << 8) + (op << 16)));
    return h;
}

static void land_replay(void *session, struct search_list *list, struct hash128 *hash)
{
    const struct land *l = *(const struct land **)session;
    struct land_state s = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t changed;
        land_apply(l, &s, list->at[i], &changed);
        if (changed)
            list->at[n++] = list->at[i];
    }
    list->count = n;
    *hash = land_hash(&s);
}

static struct cost land_cost(const struct land *l, const struct land_state *s, struct price *p)
{
    int64_t time = 0, whole = 0, bytes = 0;
    for (int op = 0; op < LAND_OPS; op++) {
        int64_t shards = 1, penalty = 0;
        for (int axis = 0; axis < LAND_AXES; axis++)
            if (s->group[op][axis]) {
                shards *= 4;
                penalty += l->penalty[op][s->group[op][axis] - 1] / (axis + 1);
            }
        /* a group that its neighbour does not share on this axis has to be moved */
        for (int axis = 0; op > 0 && axis < LAND_AXES; axis++)
            if (s->group[op][axis] != s->group[op - 1][axis])
                penalty += 1500;
        time += l->work[op] / shards + penalty;
        whole += l->work[op];
        bytes += l->bytes[op] / shards;
    }
    *p = (struct price){.step_ps = time, .peak_bytes = bytes};
    struct cost c = {.c = (int64_t)(((__int128)time << 32) / whole)};
    if (bytes > l->limit) {
        c.over_steps = (bytes - l->limit) * 100 / l->limit + 1;
        c.c += (int64_t)(((__int128)(bytes - l->limit) << 32) * 10 / l->limit);
    }
    return c;
}

static enum error_code land_price(void *session, const struct search_list *list, struct price *price,
                                  struct cost *cost, struct error *e)
{
    const struct land *l = *(const struct land **)session;
    struct land_state s = {0};
    (void)e;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t changed;
        land_apply(l, &s, list->at[i], &changed);
    }
    *cost = land_cost(l, &s, price);
    return ERROR_OK;
}

static void *land_session(const struct search_domain *d, struct evaluator_session *evaluator)
{
    (void)evaluator;
    const struct land **session = mem_alloc(sizeof *session);
    *session = d->self;
    return session;
}

static void land_session_end(void *session)
{
    free(session);
}

static void land_destroy(struct search_domain *d)
{
    free(d->self);
    free(d->baselines);
    free(d);
}

/* groups <= LAND_GROUPS; two baselines: nothing, and group 0 on both axes ("batch", which every op has) */
static struct search_domain *land_create(uint64_t seed, uint32_t groups)
{
    struct rng r = {seed};
    struct land *l = mem_zalloc(1, sizeof *l);
    l->groups = groups;
    int64_t bytes = 0;
    for (int op = 0; op < LAND_OPS; op++) {
        l->work[op] = 20000 + (int64_t)rng_below(&r, 100000);
        l->bytes[op] = 1000 + (int64_t)rng_below(&r, 9000);
        bytes += l->bytes[op];
        for (uint32_t g = 0; g < groups; g++)
            l->penalty[op][g] = g == 0 ? 4000 : rng_below(&r, 5) < 2 ? (int64_t)rng_below(&r, 9000) : -1;
    }
    l->limit = bytes / 8;
    struct search_domain *d = mem_zalloc(1, sizeof *d);
    *d = (struct search_domain){.self = l,
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
    d->baselines = mem_zalloc(2, sizeof *d->baselines);
    strcpy(d->baselines[0].name, "replicated");
    strcpy(d->baselines[1].name, "batch");
    d->baselines[1].list = (struct search_list){2, {0, 1}};
    return d;
}

/* Best over every plan that any list reaches (append-only closure over plans); plans visited. */
static uint32_t land_exhaust(const struct search_domain *d, struct cost *best, struct hash128 *best_hash)
{
    struct tree seen = {0};
    VEC(struct search_list) lists = {NULL, 0, 0};
    struct search_list empty = {.count = 0};
    void *session = land_session(d, NULL);
    struct hash128 hash;
    struct price price;
    land_replay(session, &empty, &hash);
    (void)land_price(session, &empty, &price, best, NULL);
    *best_hash = hash;
    tree_node(&seen, tree_state(hash), NULL, 0);
    VEC_PUSH(&lists, empty);
    for (size_t i = 0; i < lists.count; i++) {
        for (uint32_t a = 0; a < d->decision_count; a++) {
            struct search_list next = lists.at[i];
            if (!core_list_insert(&next, next.count, (uint16_t)a))
                continue;
            land_replay(session, &next, &hash);
            if (tree_find(&seen, tree_state(hash)) != TREE_NONE)
                continue;
            tree_node(&seen, tree_state(hash), next.at, next.count);
            VEC_PUSH(&lists, next);
            struct cost c;
            (void)land_price(session, &next, &price, &c, NULL);
            if (cost_compare(c, hash, *best, *best_hash) < 0) {
                *best = c;
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

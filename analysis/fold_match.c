/* Which op stands at the same place of the next layer (fold.h).
 *
 *     contractions     a b c d a b c d a b c d .. h      the longest repeat: each maps to the one a period on
 *     seeds            a -> a', b -> b' ..
 *     grown            what they read at the same operand, and who uses the same result in the same way,
 *                      where ops are alike: equal opcode, attributes, types and regions
 *
 * Constants are alike when their types are: what they hold changes no price. The map is one to one; the first
 * reason to map an op wins. Time near linear: each op is mapped once and looked at once from each side. */
#include "analysis/fold_internal.h"

#include "base/hash.h"
#include "base/repeat.h"

#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_PERIOD = 128, /* contractions of one layer, forward or backward */
    MOST_USES = 64        /* a value with more uses belongs to no layer; its uses are not looked at */
};

/* ---- which ops are alike ---- */

static void find_keys(struct fold_map *map)
{
    const struct ir_program *program = map->nda->program;
    const struct ir_block *body = &program->blocks[map->nda->block];
    for (uint32_t i = 0; i + 1 < body->op_count; i++) {
        uint32_t op = program->block_ops[body->ops + i];
        map->key[op] = ir_op_key(program, op);
    }
    for (uint32_t i = 0; i < body->arg_count; i++)
        map->key[map->op_count + i] = hash_combine(1, program->values[body->args + i].type) | 1;
}

static void find_uses(struct fold_map *map)
{
    const struct ir_program *program = map->nda->program;
    const struct ir_block *body = &program->blocks[map->nda->block];
    uint32_t total = 0;
    for (uint32_t i = 0; i + 1 < body->op_count; i++)
        for (uint32_t op = program->block_ops[body->ops + i], k = 0; k < program->ops[op].operand_count; k++)
            map->use_start[ir_operand(program, op, k) + 1]++, total++;
    for (uint32_t value = 0; value < program->value_count; value++)
        map->use_start[value + 1] += map->use_start[value];
    map->uses = mem_zalloc((size_t)total + 1, sizeof *map->uses);
    uint32_t *filled = mem_zalloc((size_t)program->value_count + 1, sizeof *filled);
    for (uint32_t i = 0; i + 1 < body->op_count; i++)
        for (uint32_t op = program->block_ops[body->ops + i], k = 0; k < program->ops[op].operand_count;
             k++) {
            uint32_t value = ir_operand(program, op, k);
            map->uses[map->use_start[value] + filled[value]++] = (struct fold_use){op, k};
        }
    free(filled);
}

/* ---- growing ---- */

struct growth {
    struct fold_map *map;
    VEC(uint32_t) queue; /* mapped nodes whose surroundings are to be looked at */
};

static void pair(struct growth *growth, uint32_t node, uint32_t other)
{
    struct fold_map *map = growth->map;
    if (node == NDA_NONE || other == NDA_NONE || node == other || !map->key[node] ||
        map->key[node] != map->key[other] || map->next[node] != NDA_NONE || map->before[other] != NDA_NONE)
        return;
    map->next[node] = other;
    map->before[other] = node;
    VEC_PUSH(&growth->queue, node);
}

static uint64_t use_key(const struct fold_map *map, const struct fold_use *use)
{
    return hash_combine(map->key[use->op], use->operand);
}

/* Uses of one kind are paired in program order, where both values have as many of that kind. */
static void pair_uses(struct growth *growth, uint32_t value, uint32_t other)
{
    const struct fold_map *map = growth->map;
    const struct fold_use *mine = map->uses + map->use_start[value], *its = map->uses + map->use_start[other];
    uint32_t count = map->use_start[value + 1] - map->use_start[value],
             other_count = map->use_start[other + 1] - map->use_start[other];
    if (value == other || count > MOST_USES || other_count > MOST_USES)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = use_key(map, &mine[i]);
        uint32_t place = 0, of_mine = 0, of_its = 0, found = NDA_NONE;
        for (uint32_t k = 0; k < count; k++)
            if (use_key(map, &mine[k]) == key) {
                place = k == i ? of_mine : place;
                of_mine++;
            }
        for (uint32_t k = 0; k < other_count; k++)
            if (use_key(map, &its[k]) == key)
                found = of_its++ == place ? its[k].op : found;
        if (of_mine == of_its && found != NDA_NONE)
            pair(growth, mine[i].op, found);
    }
}

static void grow(struct growth *growth)
{
    const struct fold_map *map = growth->map;
    const struct ir_program *program = map->nda->program;
    uint32_t args = program->blocks[map->nda->block].args;
    for (size_t i = 0; i < growth->queue.count; i++) {
        uint32_t node = growth->queue.at[i], other = map->next[node];
        if (node >= map->op_count) {
            pair_uses(growth, args + node - map->op_count, args + other - map->op_count);
            continue;
        }
        for (uint32_t k = 0; k < program->ops[node].operand_count; k++)
            pair(growth, fold_node_of(map, ir_operand(program, node, k)),
                 fold_node_of(map, ir_operand(program, other, k)));
        for (uint32_t k = 0; k < program->ops[node].result_count; k++)
            pair_uses(growth, program->ops[node].results + k, program->ops[other].results + k);
    }
}

/* ---- seeds ---- */

bool fold_map_create(const struct nda *n, uint32_t least, struct fold_map *out)
{
    const struct ir_program *program = n->program;
    const struct ir_block *body = &program->blocks[n->block];
    struct fold_map *map = out;
    *map = (struct fold_map){
        .nda = n, .op_count = program->op_count, .node_count = program->op_count + body->arg_count};
    map->next = mem_alloc(((size_t)map->node_count + 1) * sizeof *map->next);
    map->before = mem_alloc(((size_t)map->node_count + 1) * sizeof *map->before);
    memset(map->next, 0xff, map->node_count * sizeof *map->next);
    memset(map->before, 0xff, map->node_count * sizeof *map->before);
    map->key = mem_zalloc((size_t)map->node_count + 1, sizeof *map->key);
    map->use_start = mem_zalloc((size_t)program->value_count + 2, sizeof *map->use_start);
    find_keys(map);
    VEC(uint32_t) contractions = {0};
    VEC(uint64_t) keys = {0};
    for (uint32_t i = 0; i + 1 < body->op_count; i++) {
        uint32_t op = program->block_ops[body->ops + i];
        if (nda_is_contraction(n, op)) {
            VEC_PUSH(&contractions, op);
            VEC_PUSH(&keys, map->key[op]);
        }
    }
    struct repeat repeat = repeat_best(keys.at, (uint32_t)keys.count, LONGEST_PERIOD);
    VEC_FREE(&keys);
    map->layers = repeat.times;
    if (repeat.times >= least) {
        struct growth growth = {.map = map};
        find_uses(map);
        for (uint32_t i = 0; i < repeat.period; i++)
            VEC_PUSH(&map->seeds, contractions.at[repeat.first + i]);
        for (uint32_t i = repeat.first; i < repeat.first + repeat.period * (repeat.times - 1); i++)
            pair(&growth, contractions.at[i], contractions.at[i + repeat.period]);
        grow(&growth);
        VEC_FREE(&growth.queue);
    }
    VEC_FREE(&contractions);
    return repeat.times >= least;
}

void fold_map_release(struct fold_map *map)
{
    free(map->next);
    free(map->before);
    free(map->key);
    free(map->use_start);
    free(map->uses);
    VEC_FREE(&map->seeds);
}

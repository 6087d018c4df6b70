/* The map from each layer of a program to the next, between the files of the fold. Internal to analysis/.
 *
 * A node is an op of @main's body (its number) or an argument (op_count + its number). */
#ifndef TOAST_ANALYSIS_FOLD_INTERNAL_H
#define TOAST_ANALYSIS_FOLD_INTERNAL_H

#include "analysis/fold.h"

struct fold_map {
    const struct nda *nda;
    uint32_t node_count, op_count;
    uint32_t *next, *before; /* by node: its like in the next layer, in the one before; NDA_NONE */
    uint64_t *key;           /* by node: equal for ops that are alike; 0: no node of the body */
    /* uses of value v by ops of the body: [use_start[v], use_start[v + 1]) */
    uint32_t *use_start;
    struct fold_use {
        uint32_t op, operand;
    } *uses;
    VEC(uint32_t) seeds; /* nodes of one layer's contractions: label 0 */
    uint32_t layers;     /* of the seeds */
};

/* fold_match.c: false when nothing repeats at least `least` times. Released either way. */
bool fold_map_create(const struct nda *n, uint32_t least, struct fold_map *out);
void fold_map_release(struct fold_map *map);

/* fold_layers.c: the layer of each node, 0 .. layers - 1 for most, FOLD_NO_LAYER for what is in none. Every
 * chain of nodes that has layers has all of 1 .. layers - 2. Owned (free). */
int32_t *fold_layers(const struct fold_map *map);

/* fold_shorter.c, of a fold that has its places */
void fold_shorten(struct fold *fold, uint32_t node_count);
void fold_shorter_release(struct fold *fold);

static inline uint32_t fold_node_of(const struct fold_map *map, uint32_t value)
{
    const struct ir_value *ir_value = &map->nda->program->values[value];
    if (ir_value->op != IR_NONE)
        return ir_value->op;
    return ir_value->block == map->nda->block ? map->op_count + ir_value->index : (uint32_t)NDA_NONE;
}

#endif

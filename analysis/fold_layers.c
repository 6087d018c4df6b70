/* In which layer each op is (fold.h).
 *
 * The map from each op to its like in the next layer makes chains. A chain's first node is in a layer that
 * follows from a neighbour: what the middle node of one chain reads, or who uses it, is in the same layer. So
 * layers spread from the seeds over whole chains, breadth first, and every chain is consistent in itself,
 * wherever the border between two layers comes to lie.
 *
 *     chain of a     a0 - a1 - a2 - a3        layer of its first node: 0 (a seed)
 *     chain of b          b1 - b2 - b3 - b4   b2 reads a2: layer of its first node is 1 */
#include "analysis/fold_internal.h"

#include <stdlib.h>

struct chains {
    const struct fold_map *map;
    uint32_t *chain, *place; /* by node: its chain, and where in it; chain NDA_NONE: mapped to nothing */
    uint32_t *first, *length;
    int32_t *layer; /* by chain: of its first node */
    uint32_t count;
    VEC(uint32_t) queue; /* chains whose layer is known */
};

static void find_chains(struct chains *chains)
{
    const struct fold_map *map = chains->map;
    chains->chain = mem_alloc(((size_t)map->node_count + 1) * sizeof *chains->chain);
    chains->place = mem_zalloc((size_t)map->node_count + 1, sizeof *chains->place);
    chains->first = mem_zalloc((size_t)map->node_count + 1, sizeof *chains->first);
    chains->length = mem_zalloc((size_t)map->node_count + 1, sizeof *chains->length);
    chains->layer = mem_zalloc((size_t)map->node_count + 1, sizeof *chains->layer);
    for (uint32_t node = 0; node < map->node_count; node++)
        chains->chain[node] = NDA_NONE;
    for (uint32_t node = 0; node < map->node_count; node++) {
        if (map->next[node] == NDA_NONE || map->before[node] != NDA_NONE)
            continue;
        uint32_t chain = chains->count++;
        chains->first[chain] = node;
        chains->layer[chain] = FOLD_NO_LAYER;
        for (uint32_t at = node; at != NDA_NONE; at = map->next[at]) {
            chains->chain[at] = chain;
            chains->place[at] = chains->length[chain]++;
        }
    }
}

static void reach(struct chains *chains, uint32_t node, int32_t layer)
{
    uint32_t chain = node == NDA_NONE ? (uint32_t)NDA_NONE : chains->chain[node];
    if (chain == NDA_NONE || chains->layer[chain] != FOLD_NO_LAYER)
        return;
    chains->layer[chain] = layer - (int32_t)chains->place[node];
    VEC_PUSH(&chains->queue, chain);
}

static void reach_uses(struct chains *chains, uint32_t value, int32_t layer)
{
    const struct fold_map *map = chains->map;
    for (uint32_t i = map->use_start[value]; i < map->use_start[value + 1]; i++)
        reach(chains, map->uses[i].op, layer);
}

/* from the middle of each chain, where no border is near */
static void spread(struct chains *chains)
{
    const struct fold_map *map = chains->map;
    const struct ir_program *program = map->nda->program;
    uint32_t args = program->blocks[map->nda->block].args;
    for (size_t i = 0; i < chains->queue.count; i++) {
        uint32_t chain = chains->queue.at[i], node = chains->first[chain];
        for (uint32_t k = 0; k < chains->length[chain] / 2; k++)
            node = map->next[node];
        int32_t layer = chains->layer[chain] + (int32_t)chains->place[node];
        if (node >= map->op_count) {
            reach_uses(chains, args + node - map->op_count, layer);
            continue;
        }
        for (uint32_t k = 0; k < program->ops[node].operand_count; k++)
            reach(chains, fold_node_of(map, ir_operand(program, node, k)), layer);
        for (uint32_t k = 0; k < program->ops[node].result_count; k++)
            reach_uses(chains, program->ops[node].results + k, layer);
    }
}

int32_t *fold_layers(const struct fold_map *map)
{
    struct chains chains = {.map = map};
    int32_t *layers = mem_alloc(((size_t)map->node_count + 1) * sizeof *layers),
            last = (int32_t)map->layers - 1;
    find_chains(&chains);
    for (size_t i = 0; i < map->seeds.count; i++)
        reach(&chains, map->seeds.at[i], 0);
    spread(&chains);
    for (uint32_t node = 0; node < map->node_count; node++) {
        uint32_t chain = chains.chain[node];
        layers[node] = FOLD_NO_LAYER;
        if (chain == NDA_NONE || chains.layer[chain] == FOLD_NO_LAYER || chains.layer[chain] > 1 ||
            chains.layer[chain] + (int32_t)chains.length[chain] - 1 < last - 1)
            continue;
        layers[node] = chains.layer[chain] + (int32_t)chains.place[node];
    }
    free(chains.chain);
    free(chains.place);
    free(chains.first);
    free(chains.length);
    free(chains.layer);
    VEC_FREE(&chains.queue);
    return layers;
}

/* Isomorphism classes of compatibility sets, and which side is side 0 (TOAST (Alabed et al., 2025),
 * section 3.6).
 *
 * A set's graph: the factors in its conflicts, the M edges among them, its conflict edges. A factor's first
 * label is what its op does with it: kind, and its place and the shape in every tensor (of groups of several
 * sizes, bundles.c, the place alone). Four rounds of
 * colour refinement follow. Side 0 is the one with the smaller sorted labels, so it is the same dimension
 * in every layer; sets with equal labels on both sides and equal groups are one class and share a bit. */
#include "analysis/stages.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4 };

struct graph {
    struct nda *n;
    uint32_t *out_first, *out;     /* M by source */
    uint32_t *set_first, *members; /* conflicts of each set */
    uint32_t *local;               /* factor -> node of the set at work, NDA_NONE */
    VEC(uint32_t) nodes;           /* factors */
    uint64_t *label, *next;        /* of the nodes */
    size_t room;
    VEC(uint64_t) side[2];
};

static uint64_t first_label(const struct nda *n, uint32_t factor_index)
{
    const struct nda_space *sp = &n->spaces[n->factors[factor_index].space];
    bool sized = !n->groups[n->colors[n->factors[factor_index].color].group].bundled;
    uint64_t h = hash_combine(sp->kind, sp->kind == NDA_SPACE_OP
                                            ? ir_opcode_number((enum ir_opcode)n->program->ops[sp->op].code)
                                            : 0);
    for (uint32_t slot = sp->slots; slot < sp->slots + sp->slot_count; slot++) {
        uint32_t value = n->slots[slot].value;
        const struct ir_type *type = ir_value_type(n->program, value);
        h = hash_combine(h, n->slots[slot].is_result);
        for (uint32_t k = 0; k < nda_atom_count(n, value); k++)
            if (nda_slot_factor(n, slot, k) == factor_index)
                h = hash_combine(h, 1u + nda_atoms(n, value)[k].dim * 64u + nda_atoms(n, value)[k].level);
        for (uint32_t dim = 0; sized && type->kind == IR_TYPE_TENSOR && dim < type->rank; dim++)
            h = hash_combine(h, (uint64_t)ir_type_dims(n->program, type)[dim]);
    }
    return h;
}

static void add_node(struct graph *graph, uint32_t factor_index)
{
    if (graph->local[factor_index] != NDA_NONE)
        return;
    graph->local[factor_index] = (uint32_t)graph->nodes.count;
    VEC_PUSH(&graph->nodes, factor_index);
}

static void take_nodes(struct graph *graph, uint32_t set)
{
    graph->nodes.count = 0;
    for (uint32_t i = graph->set_first[set]; i < graph->set_first[set + 1]; i++) {
        add_node(graph, graph->n->conflicts[graph->members[i]].a);
        add_node(graph, graph->n->conflicts[graph->members[i]].b);
    }
    if (graph->room < graph->nodes.count) {
        graph->room = graph->nodes.count * 2;
        graph->label = mem_realloc(graph->label, graph->room, sizeof *graph->label);
        graph->next = mem_realloc(graph->next, graph->room, sizeof *graph->next);
    }
}

/* neighbours add up, so that their order does not matter */
static void refine_labels(struct graph *graph, uint32_t set)
{
    uint64_t *t;
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph->next[i] = hash_mix(graph->label[i]);
    for (size_t i = 0; i < graph->nodes.count; i++)
        for (uint32_t x = graph->out_first[graph->nodes.at[i]]; x < graph->out_first[graph->nodes.at[i] + 1];
             x++) {
            uint32_t to = graph->local[graph->out[x]];
            if (to == NDA_NONE)
                continue;
            graph->next[i] += hash_combine(1, graph->label[to]);
            graph->next[to] += hash_combine(2, graph->label[i]);
        }
    for (uint32_t i = graph->set_first[set]; i < graph->set_first[set + 1]; i++) {
        uint32_t a = graph->local[graph->n->conflicts[graph->members[i]].a],
                 b = graph->local[graph->n->conflicts[graph->members[i]].b];
        graph->next[a] += hash_combine(3, graph->label[b]);
        graph->next[b] += hash_combine(3, graph->label[a]);
    }
    t = graph->label;
    graph->label = graph->next;
    graph->next = t;
}

static int compare_labels(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* key of the set, and its orientation */
static uint64_t set_key(struct graph *graph, uint32_t set)
{
    const struct nda *n = graph->n;
    uint64_t key = n->colors[n->sets[set].color].group;
    int order = 0;
    take_nodes(graph, set);
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph->label[i] = first_label(n, graph->nodes.at[i]);
    for (int round = 0; round < ROUNDS; round++)
        refine_labels(graph, set);
    graph->side[0].count = graph->side[1].count = 0;
    for (uint32_t i = graph->set_first[set]; i < graph->set_first[set + 1]; i++) {
        const struct nda_conflict *k = &n->conflicts[graph->members[i]];
        VEC_PUSH(&graph->side[k->flipped], graph->label[graph->local[k->a]]);
        VEC_PUSH(&graph->side[!k->flipped], graph->label[graph->local[k->b]]);
    }
    for (int s = 0; s < 2; s++)
        qsort(graph->side[s].at, graph->side[s].count, sizeof *graph->side[s].at, compare_labels);
    for (size_t i = 0; i < graph->side[0].count && order == 0; i++)
        order = compare_labels(&graph->side[0].at[i], &graph->side[1].at[i]);
    n->sets[set].flipped = order > 0; /* equal: a symmetric set keeps program order */
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < graph->side[s].count; i++)
            key = hash_combine(key, graph->side[order > 0 ? !s : s].at[i]);
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph->local[graph->nodes.at[i]] = NDA_NONE;
    return key;
}

static void index_graph(struct graph *graph)
{
    struct nda *n = graph->n;
    uint32_t *fill;
    graph->out_first = mem_zalloc((size_t)n->factor_count + 2, sizeof *graph->out_first);
    graph->out = mem_alloc(sizeof *graph->out * ((size_t)n->edge_count + 1));
    graph->local = mem_alloc(sizeof *graph->local * ((size_t)n->factor_count + 1));
    for (uint32_t i = 0; i < n->edge_count; i++)
        graph->out_first[n->edge_from[i] + 1]++;
    for (uint32_t i = 0; i < n->factor_count; i++) {
        graph->out_first[i + 1] += graph->out_first[i];
        graph->local[i] = NDA_NONE;
    }
    fill = mem_alloc(sizeof *fill * ((size_t)n->factor_count + 1));
    memcpy(fill, graph->out_first, sizeof *fill * n->factor_count);
    for (uint32_t i = 0; i < n->edge_count; i++)
        graph->out[fill[n->edge_from[i]]++] = n->edge_to[i];
    free(fill);
    graph->set_first = mem_zalloc((size_t)n->set_count + 2, sizeof *graph->set_first);
    graph->members = mem_alloc(sizeof *graph->members * ((size_t)n->conflict_count + 1));
    for (uint32_t set = 0; set < n->set_count; set++)
        graph->set_first[set + 1] = graph->set_first[set] + n->sets[set].conflict_count;
    fill = mem_alloc(sizeof *fill * ((size_t)n->set_count + 1));
    memcpy(fill, graph->set_first, sizeof *fill * n->set_count);
    for (uint32_t i = 0; i < n->conflict_count; i++)
        graph->members[fill[n->conflicts[i].set]++] = i;
    free(fill);
}

void stage_classes(struct nda *n)
{
    struct graph graph = {.n = n};
    uint64_t *keys = mem_alloc(sizeof *keys * ((size_t)n->set_count + 1));
    index_graph(&graph);
    n->classes = arena_alloc(n->arena, sizeof *n->classes * ((size_t)n->set_count + 1));
    for (uint32_t set = 0; set < n->set_count; set++) {
        uint64_t key = set_key(&graph, set);
        uint32_t class = 0;
        while (class < n->class_count && keys[class] != key)
            class ++;
        if (class == n->class_count) {
            struct nda_group *group = &n->groups[n->colors[n->sets[set].color].group];
            keys[class] = key;
            n->classes[n->class_count++] =
                (struct nda_class){.color_group = n->colors[n->sets[set].color].group, .bit = group->bits++};
        }
        n->sets[set].class_index = class;
        n->classes[class].set_count++;
    }
    free(keys);
    free(graph.out_first);
    free(graph.out);
    free(graph.set_first);
    free(graph.members);
    free(graph.local);
    VEC_FREE(&graph.nodes);
    free(graph.label);
    free(graph.next);
    VEC_FREE(&graph.side[0]);
    VEC_FREE(&graph.side[1]);
}

/* Isomorphism classes of compatibility sets, and which side is side 0 (TOAST (Alabed et al., 2025),
 * section 3.6).
 *
 * A set's graph: the factors in its conflicts, the M edges among them, its conflict edges. A factor's first
 * label is what its op does with it: kind, and its place and the shape in every tensor. Four rounds of
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
    uint64_t h = hash_combine(sp->kind, sp->kind == NDA_SPACE_OP ? n->program->ops[sp->op].code : 0u);
    for (uint32_t s = sp->slots; s < sp->slots + sp->slot_count; s++) {
        uint32_t value = n->slots[s].value;
        const struct ir_type *t = ir_value_type(n->program, value);
        h = hash_combine(h, n->slots[s].is_result);
        for (uint32_t k = 0; k < nda_atom_count(n, value); k++)
            if (nda_slot_factor(n, s, k) == factor_index)
                h = hash_combine(h, 1u + nda_atoms(n, value)[k].dim * 64u + nda_atoms(n, value)[k].level);
        for (uint32_t d = 0; t->kind == IR_TYPE_TENSOR && d < t->rank; d++)
            h = hash_combine(h, (uint64_t)ir_type_dims(n->program, t)[d]);
    }
    return h;
}

static void add_node(struct graph *g, uint32_t factor_index)
{
    if (g->local[factor_index] != NDA_NONE)
        return;
    g->local[factor_index] = (uint32_t)g->nodes.count;
    VEC_PUSH(&g->nodes, factor_index);
}

static void take_nodes(struct graph *g, uint32_t set)
{
    g->nodes.count = 0;
    for (uint32_t i = g->set_first[set]; i < g->set_first[set + 1]; i++) {
        add_node(g, g->n->conflicts[g->members[i]].a);
        add_node(g, g->n->conflicts[g->members[i]].b);
    }
    if (g->room < g->nodes.count) {
        g->room = g->nodes.count * 2;
        g->label = mem_realloc(g->label, g->room, sizeof *g->label);
        g->next = mem_realloc(g->next, g->room, sizeof *g->next);
    }
}

/* neighbours add up, so that their order does not matter */
static void refine_labels(struct graph *g, uint32_t set)
{
    uint64_t *t;
    for (size_t i = 0; i < g->nodes.count; i++)
        g->next[i] = hash_mix(g->label[i]);
    for (size_t i = 0; i < g->nodes.count; i++)
        for (uint32_t x = g->out_first[g->nodes.at[i]]; x < g->out_first[g->nodes.at[i] + 1]; x++) {
            uint32_t to = g->local[g->out[x]];
            if (to == NDA_NONE)
                continue;
            g->next[i] += hash_combine(1, g->label[to]);
            g->next[to] += hash_combine(2, g->label[i]);
        }
    for (uint32_t i = g->set_first[set]; i < g->set_first[set + 1]; i++) {
        uint32_t a = g->local[g->n->conflicts[g->members[i]].a],
                 b = g->local[g->n->conflicts[g->members[i]].b];
        g->next[a] += hash_combine(3, g->label[b]);
        g->next[b] += hash_combine(3, g->label[a]);
    }
    t = g->label;
    g->label = g->next;
    g->next = t;
}

static int compare_labels(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* key of the set, and its orientation */
static uint64_t set_key(struct graph *g, uint32_t set)
{
    const struct nda *n = g->n;
    uint64_t key = n->colors[n->sets[set].color].group;
    int order = 0;
    take_nodes(g, set);
    for (size_t i = 0; i < g->nodes.count; i++)
        g->label[i] = first_label(n, g->nodes.at[i]);
    for (int round = 0; round < ROUNDS; round++)
        refine_labels(g, set);
    g->side[0].count = g->side[1].count = 0;
    for (uint32_t i = g->set_first[set]; i < g->set_first[set + 1]; i++) {
        const struct nda_conflict *k = &n->conflicts[g->members[i]];
        VEC_PUSH(&g->side[k->flipped], g->label[g->local[k->a]]);
        VEC_PUSH(&g->side[!k->flipped], g->label[g->local[k->b]]);
    }
    for (int s = 0; s < 2; s++)
        qsort(g->side[s].at, g->side[s].count, sizeof *g->side[s].at, compare_labels);
    for (size_t i = 0; i < g->side[0].count && order == 0; i++)
        order = compare_labels(&g->side[0].at[i], &g->side[1].at[i]);
    n->sets[set].flipped = order > 0; /* equal: a symmetric set keeps program order */
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < g->side[s].count; i++)
            key = hash_combine(key, g->side[order > 0 ? !s : s].at[i]);
    for (size_t i = 0; i < g->nodes.count; i++)
        g->local[g->nodes.at[i]] = NDA_NONE;
    return key;
}

static void index_graph(struct graph *g)
{
    struct nda *n = g->n;
    uint32_t *fill;
    g->out_first = mem_zalloc((size_t)n->factor_count + 2, sizeof *g->out_first);
    g->out = mem_alloc(sizeof *g->out * ((size_t)n->edge_count + 1));
    g->local = mem_alloc(sizeof *g->local * ((size_t)n->factor_count + 1));
    for (uint32_t i = 0; i < n->edge_count; i++)
        g->out_first[n->edge_from[i] + 1]++;
    for (uint32_t i = 0; i < n->factor_count; i++) {
        g->out_first[i + 1] += g->out_first[i];
        g->local[i] = NDA_NONE;
    }
    fill = mem_alloc(sizeof *fill * ((size_t)n->factor_count + 1));
    memcpy(fill, g->out_first, sizeof *fill * n->factor_count);
    for (uint32_t i = 0; i < n->edge_count; i++)
        g->out[fill[n->edge_from[i]]++] = n->edge_to[i];
    free(fill);
    g->set_first = mem_zalloc((size_t)n->set_count + 2, sizeof *g->set_first);
    g->members = mem_alloc(sizeof *g->members * ((size_t)n->conflict_count + 1));
    for (uint32_t s = 0; s < n->set_count; s++)
        g->set_first[s + 1] = g->set_first[s] + n->sets[s].conflict_count;
    fill = mem_alloc(sizeof *fill * ((size_t)n->set_count + 1));
    memcpy(fill, g->set_first, sizeof *fill * n->set_count);
    for (uint32_t i = 0; i < n->conflict_count; i++)
        g->members[fill[n->conflicts[i].set]++] = i;
    free(fill);
}

void stage_classes(struct nda *n)
{
    struct graph g = {.n = n};
    uint64_t *keys = mem_alloc(sizeof *keys * ((size_t)n->set_count + 1));
    index_graph(&g);
    n->classes = arena_alloc(n->arena, sizeof *n->classes * ((size_t)n->set_count + 1));
    for (uint32_t s = 0; s < n->set_count; s++) {
        uint64_t key = set_key(&g, s);
        uint32_t c = 0;
        while (c < n->class_count && keys[c] != key)
            c++;
        if (c == n->class_count) {
            struct nda_group *group = &n->groups[n->colors[n->sets[s].color].group];
            keys[c] = key;
            n->classes[n->class_count++] =
                (struct nda_class){.color_group = n->colors[n->sets[s].color].group, .bit = group->bits++};
        }
        n->sets[s].class_index = c;
        n->classes[c].set_count++;
    }
    free(keys);
    free(g.out_first);
    free(g.out);
    free(g.set_first);
    free(g.members);
    free(g.local);
    VEC_FREE(&g.nodes);
    free(g.label);
    free(g.next);
    VEC_FREE(&g.side[0]);
    VEC_FREE(&g.side[1]);
}

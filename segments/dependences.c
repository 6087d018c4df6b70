/* What each contraction needs of earlier ones, and shapes of blocks made of that.
 *
 * From each forward contraction's result its factors are followed along M up to the next contractions: which
 * factor of the one becomes which of the other is the expression between them (CFP's equation 1), and its
 * hash the dependence's flow. Between blocks a dependence counts only where no contraction stands on another
 * way between the two: a residual stream depends on every layer before, and says nothing that the last one
 * does not.
 *
 * A block's shape covers its forward contractions (sizes and sides of their factors) and the dependences
 * among them; those on other blocks count where kinds are told apart (cover.c). */
#include "segments/internal.h"

#include <stdlib.h>
#include <string.h>

struct trace {
    struct segments_build *build;
    uint64_t *labels; /* per factor: of the source's factors */
    uint8_t *state;   /* per space: reached by a path of ops that are no contractions */
    uint64_t *above;  /* contractions x words: what each depends on through any way */
    size_t words;
    struct segments_front front;
    VEC(struct segments_dependence) all;
};

static uint64_t flow_of(const struct trace *trace, uint32_t space)
{
    const struct nda *n = trace->build->n;
    uint64_t hash = 7;
    for (uint32_t k = 0; k < n->spaces[space].factor_count; k++)
        hash = hash_combine(hash, trace->labels[n->spaces[space].factors + k]);
    return hash;
}

/* per operand: a value that comes in at both sides flows differently from one that comes in at one */
static uint64_t operands_reached(const struct trace *trace, uint32_t space)
{
    const struct segments_graph *graph = &trace->build->graph;
    const struct nda *n = trace->build->n;
    uint64_t mask = 0;
    for (uint32_t i = graph->in_start[space]; i < graph->in_start[space + 1]; i++) {
        uint32_t to = n->edge_to[graph->in[i]];
        if (!trace->state[n->factors[n->edge_from[graph->in[i]]].space])
            continue;
        for (uint32_t k = 0; k < n->spaces[space].slot_count; k++)
            for (uint32_t atom = 0; atom < nda_atom_count(n, n->slots[n->spaces[space].slots + k].value);
                 atom++)
                if (!n->slots[n->spaces[space].slots + k].is_result &&
                    nda_slot_factor(n, n->spaces[space].slots + k, atom) == to)
                    mask |= UINT64_C(1) << k;
    }
    return mask;
}

static void trace_from(struct trace *trace, uint32_t source)
{
    const struct segments_build *build = trace->build;
    const struct segments_graph *graph = &build->graph;
    const struct nda *n = build->n;
    uint32_t first = build->contractions.at[source].space;
    for (uint32_t k = 0; k < n->spaces[first].factor_count; k++)
        trace->labels[n->spaces[first].factors + k] = UINT64_C(1) << k;
    trace->state[first] = 1;
    segments_front_push(&trace->front, first);
    for (uint32_t space = first; segments_front_next(&trace->front, &space);) {
        bool reached = false;
        for (uint32_t i = graph->in_start[space]; i < graph->in_start[space + 1]; i++) {
            uint32_t edge = graph->in[i];
            if (!trace->state[n->factors[n->edge_from[edge]].space])
                continue;
            reached = true;
            trace->labels[n->edge_to[edge]] |= trace->labels[n->edge_from[edge]];
        }
        uint32_t at = graph->contraction_of[space];
        if (!reached)
            continue;
        if (at == NDA_NONE) {
            trace->state[space] = 1;
            segments_front_push(&trace->front, space);
        } else if (build->contractions.at[at].forward == NDA_NONE) {
            VEC_PUSH(&trace->all,
                     ((struct segments_dependence){
                         source, at, hash_combine(flow_of(trace, space), operands_reached(trace, space))}));
        }
    }
    segments_front_forget(&trace->front, first, trace->state, trace->labels);
}

static bool depends(const struct trace *trace, uint32_t on, uint32_t contraction)
{
    return trace->above[contraction * trace->words + on / 64] >> (on % 64) & 1;
}

static int by_end(const void *a, const void *b)
{
    const struct segments_dependence *one = a, *other = b;
    if (one->to != other->to)
        return one->to < other->to ? -1 : 1;
    return one->from < other->from ? -1 : one->from > other->from;
}

/* ancestors, then the dependences that no others imply */
static void reduce(struct trace *trace)
{
    struct segments_build *build = trace->build;
    size_t count = trace->all.count;
    qsort(trace->all.at, count, sizeof *trace->all.at, by_end);
    for (size_t i = 0; i < count; i++) { /* ascending `to`, and from < to: what is above `from` is known */
        const struct segments_dependence *it = &trace->all.at[i];
        for (size_t k = 0; k < trace->words; k++)
            trace->above[it->to * trace->words + k] |= trace->above[it->from * trace->words + k];
        trace->above[it->to * trace->words + it->from / 64] |= UINT64_C(1) << (it->from % 64);
    }
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && trace->all.at[end].to == trace->all.at[i].to;)
            end++;
        for (size_t k = i; k < end; k++) {
            const struct segments_dependence *it = &trace->all.at[k];
            bool inside = build->contractions.at[it->from].block == build->contractions.at[it->to].block;
            bool implied = false;
            for (size_t other = i; other < end && !inside && !implied; other++)
                implied = other != k && depends(trace, it->from, trace->all.at[other].from);
            if (!implied)
                VEC_PUSH(&build->dependences, *it);
        }
    }
}

static uint64_t shape_of(const struct segments_build *build, uint32_t contraction)
{
    const struct segments_contraction *it = &build->contractions.at[contraction];
    const struct nda *n = build->n;
    uint64_t hash = it->is_lookup;
    for (uint32_t k = 0; k < n->spaces[it->space].factor_count; k++) {
        uint32_t side = 0;
        while (side < SEGMENTS_SIDES && !(it->sides[side] >> k & 1))
            side++;
        hash = hash_combine(hash,
                            hash_combine((uint64_t)n->factors[n->spaces[it->space].factors + k].size, side));
    }
    return hash;
}

uint64_t segments_dependence_hash(const struct segments_build *build, const struct segments_dependence *it)
{
    return hash_combine(hash_combine(it->flow, build->contractions.at[it->from].ordinal),
                        build->contractions.at[it->to].ordinal);
}

static void find_shapes(struct segments_build *build)
{
    for (size_t i = 0; i < build->contractions.count; i++)
        if (build->contractions.at[i].forward == NDA_NONE) {
            struct segments_block *block = &build->blocks.at[build->contractions.at[i].block];
            block->shape = hash_combine(block->shape, shape_of(build, (uint32_t)i));
        }
    for (size_t i = 0; i < build->dependences.count; i++) {
        const struct segments_dependence *it = &build->dependences.at[i];
        uint32_t block = build->contractions.at[it->to].block;
        if (build->contractions.at[it->from].block == block)
            build->blocks.at[block].shape =
                hash_combine(build->blocks.at[block].shape, segments_dependence_hash(build, it));
    }
}

void segments_find_dependences(struct segments_build *build)
{
    const struct nda *n = build->n;
    size_t count = build->contractions.count;
    struct trace trace = {.build = build, .words = (count + 63) / 64};
    trace.labels = mem_zalloc((size_t)n->factor_count + 1, sizeof *trace.labels);
    trace.state = mem_zalloc((size_t)n->space_count + 1, 1);
    trace.above = mem_zalloc(count * trace.words + 1, sizeof *trace.above);
    segments_front_init(&trace.front, build);
    for (uint32_t i = 0; i < count; i++)
        if (build->contractions.at[i].forward == NDA_NONE)
            trace_from(&trace, i);
    reduce(&trace);
    find_shapes(build);
    free(trace.labels);
    free(trace.state);
    free(trace.above);
    segments_front_release(&trace.front);
    VEC_FREE(&trace.all);
}

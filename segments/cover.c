/* The least cover of the sequence of blocks by windows (CFP, section 4.1).
 *
 *   shapes          a b c d a b c d a b c d h          blocks by what they contract
 *   best repeat     (a b c d) x 3                      most blocks saved, then shortest, then first
 *   windows         | a b c d | a b c d | a b c d | h  what is left of it and right of it likewise
 *   kinds           | A       | B       | B       | C  the first depends on none
 *
 * Two windows are of a kind where blocks at equal places have equal shapes and strategies and depend on
 * blocks of equal shapes in equal ways, each as many blocks back (the layer before) or on the same one (what
 * all layers are conditioned on, an encoder's result).
 *
 * A window of more configurations than asked for is cut where its first block's shape comes
 * again (layers that alternate), else where it gets too large. */
#include "segments/internal.h"

#include "base/repeat.h"

#include <stdlib.h>

enum { LONGEST_PERIOD = 96 };

static uint64_t shape(const struct segments_build *build, uint32_t block)
{
    return build->blocks.at[block].shape;
}

static struct repeat best_repeat(const struct segments_build *build, uint32_t first, uint32_t end)
{
    uint64_t *shapes = mem_alloc(((size_t)(end - first) + 1) * sizeof *shapes);
    for (uint32_t i = first; i < end; i++)
        shapes[i - first] = shape(build, i);
    struct repeat best = repeat_best(shapes, end - first, LONGEST_PERIOD);
    best.first += first;
    free(shapes);
    return best;
}

static uint64_t strategies_of(const struct segments_build *build, uint32_t block)
{
    uint32_t count = build->blocks.at[block].strategy_count;
    return count ? count : 1;
}

static uint64_t configurations_of(const struct segments_build *build, uint32_t first, uint32_t count)
{
    uint64_t product = 1;
    for (uint32_t i = first; i < first + count; i++) {
        if (product > UINT32_MAX)
            return UINT64_MAX;
        product *= strategies_of(build, i);
    }
    return product;
}

static void add_window(struct segments_build *build, uint32_t first, uint32_t count)
{
    uint32_t from = first;
    bool large = configurations_of(build, first, count) > build->most;
    for (uint32_t i = first + 1; large && i < first + count; i++)
        if (shape(build, i) == shape(build, first) ||
            configurations_of(build, from, i + 1 - from) > build->most) {
            VEC_PUSH(&build->segments, ((struct segments_segment){from, i - from, NDA_NONE}));
            from = i;
        }
    VEC_PUSH(&build->segments, ((struct segments_segment){from, first + count - from, NDA_NONE}));
}

/* depth of the recursion: each level takes at least a period out */
static void cover(struct segments_build *build, uint32_t first, uint32_t end)
{
    while (first < end) {
        struct repeat repeat = best_repeat(build, first, end);
        if (!repeat.times) {
            add_window(build, first, end - first);
            return;
        }
        cover(build, first, repeat.first);
        for (uint32_t i = 0; i < repeat.times; i++)
            add_window(build, repeat.first + i * repeat.period, repeat.period);
        first = repeat.first + repeat.times * repeat.period;
    }
}

/* what each block depends on in other blocks: entries start[block] .. start[block + 1] of at */
struct incoming {
    uint32_t *start, *at; /* dependences */
};

static uint32_t block_from(const struct segments_build *build, uint32_t dependence)
{
    return build->contractions.at[build->dependences.at[dependence].from].block;
}

static uint32_t block_to(const struct segments_build *build, uint32_t dependence)
{
    return build->contractions.at[build->dependences.at[dependence].to].block;
}

static void list_incoming(const struct segments_build *build, struct incoming *out)
{
    size_t blocks = build->blocks.count, count = build->dependences.count;
    out->start = mem_zalloc(blocks + 2, sizeof *out->start);
    out->at = mem_alloc((count + 1) * sizeof *out->at);
    for (uint32_t i = 0; i < count; i++)
        out->start[block_to(build, i) + 2] += block_from(build, i) != block_to(build, i);
    for (size_t block = 2; block < blocks + 2; block++)
        out->start[block] += out->start[block - 1];
    for (uint32_t i = 0; i < count; i++)
        if (block_from(build, i) != block_to(build, i))
            out->at[out->start[block_to(build, i) + 1]++] = i;
}

static bool same_dependence(const struct segments_build *build, uint32_t one, uint32_t other)
{
    uint32_t from = block_from(build, one), other_from = block_from(build, other);
    return segments_dependence_hash(build, &build->dependences.at[one]) ==
               segments_dependence_hash(build, &build->dependences.at[other]) &&
           shape(build, from) == shape(build, other_from) &&
           (from == other_from || block_to(build, one) - from == block_to(build, other) - other_from);
}

static bool same_block(const struct segments_build *build, const struct incoming *incoming, uint32_t one,
                       uint32_t other)
{
    const struct segments_block *a = &build->blocks.at[one], *b = &build->blocks.at[other];
    const uint32_t *of_one = incoming->at + incoming->start[one],
                   *of_other = incoming->at + incoming->start[other];
    uint32_t count = incoming->start[one + 1] - incoming->start[one];
    if (a->shape != b->shape || a->strategy_count != b->strategy_count ||
        count != incoming->start[other + 1] - incoming->start[other])
        return false;
    for (uint32_t k = 0; k < a->strategy_count; k++) {
        const struct segments_strategy *x = &build->strategies.at[a->strategies + k],
                                       *y = &build->strategies.at[b->strategies + k];
        if (x->side != y->side || x->factor != y->factor)
            return false;
    }
    for (uint32_t k = 0; k < count; k++)
        if (!same_dependence(build, of_one[k], of_other[k]))
            return false;
    return true;
}

static bool same_kind(const struct segments_build *build, const struct incoming *incoming, uint32_t one,
                      uint32_t other)
{
    const struct segments_segment *a = &build->segments.at[one], *b = &build->segments.at[other];
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = same_block(build, incoming, a->first + i, b->first + i);
    return same;
}

static void find_kinds(struct segments_build *build)
{
    struct incoming incoming;
    list_incoming(build, &incoming);
    for (uint32_t i = 0; i < build->segments.count; i++) {
        struct segments_segment *segment = &build->segments.at[i];
        uint32_t kind = 0;
        while (kind < build->kinds.count && !same_kind(build, &incoming, build->kinds.at[kind].example, i))
            kind++;
        if (kind == build->kinds.count)
            VEC_PUSH(&build->kinds, ((struct segments_kind){.example = i,
                                                            .configurations = configurations_of(
                                                                build, segment->first, segment->count)}));
        segment->kind = kind;
        build->kinds.at[kind].instances++;
        /* an instance that stands between others is the better example */
        if (build->kinds.at[kind].instances == 2)
            build->kinds.at[kind].example = i;
    }
    free(incoming.start);
    free(incoming.at);
}

static void find_pairs(struct segments_build *build)
{
    const uint32_t *segment_of = build->out->segment_of;
    for (uint32_t i = 0; i < build->dependences.count; i++) {
        uint32_t from = block_from(build, i), to = block_to(build, i);
        const struct segments_segment *a = &build->segments.at[segment_of[from]],
                                      *b = &build->segments.at[segment_of[to]];
        struct segments_pair pair = {a->kind, from - a->first, b->kind, to - b->first, i, 1};
        uint32_t k = 0;
        if (a == b)
            continue;
        while (k < build->pairs.count &&
               (build->pairs.at[k].from_kind != pair.from_kind ||
                build->pairs.at[k].from_block != pair.from_block ||
                build->pairs.at[k].to_kind != pair.to_kind || build->pairs.at[k].to_block != pair.to_block))
            k++;
        if (k == build->pairs.count) {
            VEC_PUSH(&build->pairs, pair);
        } else if (++build->pairs.at[k].instances == 2) {
            build->pairs.at[k].example = i;
        }
    }
}

static uint64_t add_up(uint64_t sum, uint64_t more)
{
    return sum + more < sum ? UINT64_MAX : sum + more;
}

void segments_cover(struct segments_build *build)
{
    cover(build, 0, (uint32_t)build->blocks.count);
    build->out->segment_of =
        arena_alloc(build->out->arena, (build->blocks.count + 1) * sizeof *build->out->segment_of);
    for (uint32_t i = 0; i < build->segments.count; i++)
        for (uint32_t k = 0; k < build->segments.at[i].count; k++)
            build->out->segment_of[build->segments.at[i].first + k] = i;
    find_kinds(build);
    find_pairs(build);
    for (size_t i = 0; i < build->kinds.count; i++)
        build->out->programs = add_up(build->out->programs, build->kinds.at[i].configurations);
    for (size_t i = 0; i < build->pairs.count; i++) {
        const struct segments_pair *pair = &build->pairs.at[i];
        const struct segments_segment *from = &build->segments.at[build->kinds.at[pair->from_kind].example],
                                      *to = &build->segments.at[build->kinds.at[pair->to_kind].example];
        build->out->programs =
            add_up(build->out->programs, strategies_of(build, from->first + pair->from_block) *
                                             strategies_of(build, to->first + pair->to_block));
    }
}

/* Which spaces are alike, the candidates that are left, and what the others add to the hash (thin.h). */
#include "analysis/thin.h"

#include "analysis/context.h"

#include <stdlib.h>
#include <string.h>

enum { NEAR = 64 }; /* spaces between two ranges that are copied with them */
struct thin_range {
    uint32_t first, end;
};

struct thin {
    struct plan_context context; /* a view of the whole one: its own are group_first, candidates, words */
    const struct fold *fold;
    struct fold_pair *loose; /* pairs of spaces that may come to differ */
    uint32_t loose_count;
    VEC(struct thin_range)
    ranges; /* of spaces that are left, and what stands between them where that is little */
};

struct thinning {
    const struct plan_context *context;
    const struct fold *fold;
    struct thin *thin;
    uint32_t *candidate; /* by factor: its number among the whole context's; NDA_NONE */
    uint32_t *stands;    /* by space that is left out: the space that stands for it; NDA_NONE */
    uint32_t *left;      /* by candidate: its number among those that are left; NDA_NONE */
};

static bool same_cells(const struct plan *plan, struct fold_pair pair)
{
    return memcmp(plan_space(plan, pair.gone), plan_space(plan, pair.kept),
                  plan->axis_count * sizeof(struct plan_cell)) == 0;
}

/* do all decisions do the same to both factors? */
static bool factors_alike(const struct thinning *thinning, uint32_t one, uint32_t other)
{
    const struct plan_context *context = thinning->context;
    const struct nda *n = context->n;
    uint32_t number = thinning->candidate[one], other_number = thinning->candidate[other];
    if (context->partner[one] != NDA_NONE || context->partner[other] != NDA_NONE ||
        (number == NDA_NONE) != (other_number == NDA_NONE))
        return false;
    if (number == NDA_NONE)
        return true;
    const struct plan_candidate *mine = &context->candidates[number],
                                *its = &context->candidates[other_number];
    return n->colors[n->factors[one].color].group == n->colors[n->factors[other].color].group &&
           mine->size == its->size && mine->mask == its->mask && mine->value == its->value &&
           mine->factor == its->factor && mine->divides == its->divides && mine->update == its->update &&
           mine->stacked == its->stacked;
}

static bool spaces_alike(const struct thinning *thinning, struct fold_pair pair)
{
    const struct nda_space *gone = &thinning->context->n->spaces[pair.gone],
                           *kept = &thinning->context->n->spaces[pair.kept];
    if (gone->factor_count != kept->factor_count || !same_cells(&thinning->context->start, pair))
        return false;
    for (uint32_t i = 0; i < gone->factor_count; i++)
        if (!factors_alike(thinning, gone->factors + i, kept->factors + i))
            return false;
    return true;
}

static bool is_of_op(const struct nda_space *space)
{
    return space->kind != NDA_SPACE_ARGUMENT && space->kind != NDA_SPACE_RESULT;
}

/* is it of an op in a layer that is gone? A pair's first may also be the layer behind the cut. */
static bool is_left_out(const struct thinning *thinning, uint32_t space)
{
    const struct fold_places *places = &thinning->fold->places;
    const struct nda_space *at = &thinning->context->n->spaces[space];
    int32_t layer = is_of_op(at) ? places->layer[at->op] : FOLD_NO_LAYER;
    return layer != FOLD_NO_LAYER && layer >= places->from && layer < places->until;
}

/* false: a space of an op that is gone is not alike */
static bool sort_pairs(struct thinning *thinning)
{
    const struct fold *fold = thinning->fold;
    struct thin *thin = thinning->thin;
    for (uint32_t i = 0; i < fold->space_count; i++) {
        struct fold_pair pair = fold->spaces[i];
        bool alike = spaces_alike(thinning, pair);
        if (is_left_out(thinning, pair.gone)) {
            if (!alike)
                return false;
            thinning->stands[pair.gone] = pair.kept;
        } else if (!alike) {
            thin->loose[thin->loose_count++] = pair;
        }
    }
    return true;
}

static void keep_candidates(struct thinning *thinning)
{
    const struct plan_context *context = thinning->context;
    struct plan_context *thin = &thinning->thin->context;
    uint32_t kept = 0, groups = context->n->group_count;
    for (uint32_t group = 0; group < groups; group++) {
        thin->group_first[group] = kept;
        for (uint32_t i = context->group_first[group]; i < context->group_first[group + 1]; i++) {
            thinning->left[i] = NDA_NONE;
            if (thinning->stands[context->candidates[i].space] != NDA_NONE)
                continue;
            thinning->left[i] = kept;
            thin->candidates[kept++] = context->candidates[i];
        }
    }
    thin->group_first[groups] = kept;
    size_t axes = context->mesh.axis_count;
    thin->candidates = mem_realloc(thin->candidates, (size_t)kept + 1, sizeof *thin->candidates);
    thin->words = mem_zalloc(kept * axes * axes + 1, sizeof *thin->words);
}

/* the candidate of the thin context that sets this cell, or whose cell stands for it */
static uint32_t standing_for(const struct thinning *thinning, uint32_t candidate)
{
    const struct plan_context *context = thinning->context;
    const struct plan_candidate *at = &context->candidates[candidate];
    uint32_t space = thinning->stands[at->space];
    if (space == NDA_NONE)
        return thinning->left[candidate];
    return thinning->left[thinning->candidate[context->n->spaces[space].factors + at->factor]];
}

static void add_words(struct thinning *thinning)
{
    const struct plan_context *context = thinning->context;
    struct plan_context *thin = &thinning->thin->context;
    uint32_t axes = context->mesh.axis_count, count = context->group_first[context->n->group_count];
    for (uint32_t i = 0; i < count; i++) {
        struct hash128 *words = thin->words + (size_t)standing_for(thinning, i) * axes * axes;
        for (uint32_t axis = 0; axis < axes; axis++)
            for (uint32_t position = 0; position < axes; position++) {
                struct hash128 *word = &words[axis * axes + position];
                *word = hash128_xor(
                    *word, plan_cell_word(context, context->candidates[i].factor_index, axis, position));
            }
    }
}

static void number_candidates(struct thinning *thinning)
{
    const struct plan_context *context = thinning->context;
    const struct nda *n = context->n;
    thinning->candidate = mem_alloc(((size_t)n->factor_count + 1) * sizeof *thinning->candidate);
    thinning->stands = mem_alloc(((size_t)n->space_count + 1) * sizeof *thinning->stands);
    for (uint32_t i = 0; i < n->factor_count; i++)
        thinning->candidate[i] = NDA_NONE;
    for (uint32_t i = 0; i < n->space_count; i++)
        thinning->stands[i] = NDA_NONE;
    for (uint32_t i = 0; i < context->group_first[n->group_count]; i++)
        thinning->candidate[context->candidates[i].factor_index] = i;
}

static void list_ranges(struct thinning *thinning)
{
    struct thin *thin = thinning->thin;
    for (uint32_t space = 0; space < thinning->context->n->space_count; space++) {
        if (thinning->stands[space] != NDA_NONE)
            continue;
        size_t count = thin->ranges.count;
        if (count && space - thin->ranges.at[count - 1].end < NEAR)
            thin->ranges.at[count - 1].end = space + 1;
        else
            VEC_PUSH(&thin->ranges, ((struct thin_range){space, space + 1}));
    }
}

struct thin *thin_create(const struct plan_context *context, const struct fold *fold)
{
    const struct nda *n = context->n;
    uint32_t count = context->group_first[n->group_count];
    struct thin *thin = mem_zalloc(1, sizeof *thin);
    struct thinning thinning = {.context = context, .fold = fold, .thin = thin};
    thin->fold = fold;
    thin->context = *context;
    thin->context.group_first = mem_zalloc((size_t)n->group_count + 2, sizeof *thin->context.group_first);
    thin->context.candidates = mem_alloc(((size_t)count + 1) * sizeof *thin->context.candidates);
    thin->loose = mem_alloc(((size_t)fold->space_count + 1) * sizeof *thin->loose);
    number_candidates(&thinning);
    thinning.left = mem_alloc(((size_t)count + 1) * sizeof *thinning.left);
    if (sort_pairs(&thinning)) {
        keep_candidates(&thinning);
        add_words(&thinning);
        list_ranges(&thinning);
    } else {
        thin_destroy(thin);
        thin = NULL;
    }
    free(thinning.candidate);
    free(thinning.stands);
    free(thinning.left);
    return thin;
}

void thin_destroy(struct thin *thin)
{
    if (!thin)
        return;
    free(thin->context.group_first);
    free(thin->context.candidates);
    free(thin->context.words);
    free(thin->loose);
    VEC_FREE(&thin->ranges);
    free(thin);
}

const struct plan_context *thin_context(const struct thin *thin)
{
    return &thin->context;
}

bool thin_holds(const struct thin *thin, const struct plan *plan)
{
    for (uint32_t i = 0; i < thin->loose_count; i++)
        if (!same_cells(plan, thin->loose[i]))
            return false;
    return fold_arguments_hold(thin->fold, plan);
}

void thin_init_copy(const struct thin *thin, struct plan *plan, const struct plan *from)
{
    *plan = *from;
    plan->cells = mem_alloc(((size_t)from->space_count * from->axis_count + 1) * sizeof *plan->cells);
    plan->regather = mem_alloc((size_t)from->argument_count + 1);
    plan->whole = mem_alloc((size_t)from->group_count + 1);
    thin_copy(thin, plan, from);
}

void thin_copy(const struct thin *thin, struct plan *to, const struct plan *from)
{
    size_t axes = from->axis_count;
    for (size_t i = 0; i < thin->ranges.count; i++) {
        const struct thin_range *range = &thin->ranges.at[i];
        memcpy(to->cells + range->first * axes, from->cells + range->first * axes,
               (range->end - range->first) * axes * sizeof *to->cells);
    }
    memcpy(to->regather, from->regather, from->argument_count);
    memcpy(to->whole, from->whole, from->group_count);
    to->hash = from->hash;
}

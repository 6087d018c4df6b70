/* Roles, step 3: which results are state, that is, the next value or the gradient of an argument, where
 * donation (ties.c) does not say it; and which other results are only made of gradients.
 *
 * One weight is looked for whose result has a gradient's dataflow (roles_gradients.c); that also tells which
 * colors the examples have. The others follow: an update is made of its argument by elementwise ops;
 * gradients have their arguments' types and colors, in the same order. An argument with a color of the
 * examples is data, unless what it becomes is made of a sum over the others of them (a table of positions).
 *
 * A module in which no gradient is found is a train step all the same when some state feeds a contraction and
 * other state of its shape does not: weights and their moments. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

/* Arguments that one result is tried as the next value of. Elementwise updates read the weight, its moments
 * and a few scalars; chosen, not tuned. */
enum { MOST_FORMER = 8 };

static const struct ir_value *result_value(const struct nda *n, uint32_t k)
{
    return &n->program->values[n->slots[n->spaces[n->result_spaces[k]].slots].value];
}

static bool same_type(const struct nda *n, uint32_t argument, uint32_t result)
{
    return n->program->values[n->arguments[argument].value].type == result_value(n, result)->type;
}

static bool is_float(const struct nda *n, uint32_t argument, uint32_t least_rank)
{
    const struct ir_type *type = ir_value_type(n->program, n->arguments[argument].value);
    return type->kind == IR_TYPE_TENSOR && type->rank >= least_rank &&
           (ir_element_is_float((enum ir_element)type->element) || type->element == IR_C64 ||
            type->element == IR_C128);
}

static bool same_colors(const struct nda *n, uint32_t argument, uint32_t result)
{
    uint32_t slot = n->spaces[n->arguments[argument].space].slots,
             b = n->spaces[n->result_spaces[result]].slots;
    uint32_t count = nda_atom_count(n, n->slots[slot].value);
    bool same = count == nda_atom_count(n, n->slots[b].value);
    for (uint32_t k = 0; k < count && same; k++)
        same = nda_slot_color(n, slot, k) == nda_slot_color(n, b, k);
    return same;
}

static bool find_one(const struct nda *n, const uint8_t *direct, const uint8_t *taken, bool update,
                     enum roles_evidence evidence, uint8_t *examples)
{
    uint32_t tried = 0;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        if (n->arguments[i].becomes != NDA_NONE || !direct[n->arguments[i].value] || !is_float(n, i, 2))
            continue;
        for (uint32_t k = 0; k < n->result_count; k++) {
            if (taken[k] || !same_type(n, i, k) || !same_colors(n, i, k))
                continue;
            if (tried++ == ROLES_MOST_TRIED)
                return false;
            if (update ? roles_is_update(n, i, k, evidence, examples)
                       : roles_is_gradient(n, i, k, evidence, examples))
                return true;
        }
    }
    return false;
}

static void take(struct nda *n, uint8_t *taken, uint32_t argument, uint32_t result, bool updated)
{
    n->arguments[argument].becomes = result;
    n->arguments[argument].updated = updated;
    taken[result] = 1;
}

/* arguments that a result may be the next value of */
struct former {
    uint32_t count, at[MOST_FORMER];
};

/* The result is made, elementwise or moved, of a sum over colors of the examples that the argument has not,
 * which keeps one that it has: so is a table of positions, of its gradient for each position over the batch.
 */
static bool sums_other_examples(const struct nda *n, uint32_t result, uint32_t argument,
                                const uint8_t *examples)
{
    uint8_t *of = roles_made_of(n, result, ROLES_OR_MOVED);
    size_t size = (size_t)n->color_count + 1;
    uint8_t *own = mem_zalloc(size, 1), *others = mem_alloc(size);
    const struct nda_space *at = &n->spaces[n->arguments[argument].space];
    bool found = false;
    memcpy(others, examples, size);
    for (uint32_t k = at->factors; k < at->factors + at->factor_count; k++) {
        own[n->factors[k].color] = examples[n->factors[k].color];
        others[n->factors[k].color] = 0;
    }
    for (uint32_t space = 0; space < n->space_count && !found; space++) {
        const struct nda_space *sp = &n->spaces[space];
        found = sp->kind == NDA_SPACE_OP && sp->slot_count > 1 &&
                of[n->slots[sp->slots + sp->slot_count - 1].value] &&
                (nda_is_contraction(n, sp->op) ||
                 ir_opcode_family(n->program->ops[sp->op].code) == IR_FAMILY_REDUCE) &&
                roles_sums(n, sp, others) && roles_leaves(n, sp, own);
    }
    free(of);
    free(own);
    free(others);
    return found;
}

static bool may_become(const struct nda *n, uint32_t argument, uint32_t result, const uint8_t *examples)
{
    return !roles_argument_has(n, argument, examples) ||
           (is_float(n, argument, 2) && sums_other_examples(n, result, argument, examples));
}

static struct former *find_former(const struct nda *n, const uint8_t *taken, const uint8_t *examples)
{
    struct former *all = mem_zalloc((size_t)n->result_count + 1, sizeof *all);
    for (uint32_t k = 0; k < n->result_count; k++) {
        uint8_t *of = taken[k] ? NULL : roles_made_of(n, k, ROLES_ELEMENTWISE);
        for (uint32_t i = 0; of && i < n->argument_count && all[k].count < MOST_FORMER; i++)
            if (of[n->arguments[i].value] && n->arguments[i].becomes == NDA_NONE && same_type(n, i, k) &&
                may_become(n, i, k, examples))
                all[k].at[all[k].count++] = i;
        free(of);
    }
    return all;
}

/* the first that became nothing else yet; *left is how many of them there are */
static uint32_t first_left(const struct nda *n, const struct former *former, uint32_t *left)
{
    uint32_t first = NDA_NONE;
    *left = 0;
    for (uint32_t c = former->count; c-- > 0;)
        if (n->arguments[former->at[c]].becomes == NDA_NONE) {
            first = former->at[c];
            ++*left;
        }
    return first;
}

/* Moments are made of themselves only, weights of their moments too: what has one candidate goes first,
 * and leaves one to others. Where that ends, order decides. */
static void take_updates(struct nda *n, uint8_t *taken, const uint8_t *examples)
{
    struct former *all = find_former(n, taken, examples);
    for (bool again = true, guess = false; again || !guess;) {
        guess = !again;
        again = false;
        for (uint32_t k = 0; k < n->result_count && !(guess && again); k++) {
            uint32_t left, i = taken[k] ? NDA_NONE : first_left(n, &all[k], &left);
            if (i == NDA_NONE || (left > 1 && !guess))
                continue;
            take(n, taken, i, k, true);
            again = true;
        }
    }
    free(all);
}

/* a contraction sums over examples and leaves none: part of a gradient (attention sums over some, for each
 * of others) */
static bool sums_examples(const struct nda *n, const uint8_t *of, const uint8_t *examples)
{
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        uint32_t result = sp->slots + sp->slot_count - 1;
        if (sp->kind == NDA_SPACE_OP && nda_is_contraction(n, sp->op) && of[n->slots[result].value] &&
            roles_sums(n, sp, examples) && !roles_leaves(n, sp, examples))
            return true;
    }
    return false;
}

/* It stands where the argument's gradient would, behind that of the argument before, and sums over the
 * examples:
 * a dimension that comes of numbers (the gradient of a sum is ones) has no color in common with the
 * weight's. */
static bool in_place(const struct nda *n, uint32_t argument, uint32_t result, const uint8_t *examples)
{
    uint32_t before = argument ? n->arguments[argument - 1].becomes : NDA_NONE;
    if (before == NDA_NONE || before + 1 != result)
        return false;
    if (!is_float(n, argument, 1))
        return true; /* a number may be the loss: only here */
    uint8_t *of = roles_made_of(n, result, ROLES_ANY);
    bool sums = sums_examples(n, of, examples);
    free(of);
    return sums;
}

static void take_gradients(struct nda *n, uint8_t *taken, const uint8_t *examples)
{
    for (uint32_t i = 0; i < n->argument_count; i++) {
        if (n->arguments[i].becomes != NDA_NONE || !is_float(n, i, 0) || roles_argument_has(n, i, examples))
            continue;
        for (uint32_t k = 0; k < n->result_count; k++)
            if (!taken[k] && same_type(n, i, k) &&
                ((is_float(n, i, 1) && same_colors(n, i, k)) || in_place(n, i, k, examples))) {
                take(n, taken, i, k, false);
                break;
            }
    }
}

bool roles_find_state(struct nda *n, const uint8_t *direct)
{
    uint8_t *taken = mem_zalloc((size_t)n->result_count + 1, 1),
            *examples = mem_alloc((size_t)n->color_count + 1);
    bool update, gradient = false, tied = false;
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes != NDA_NONE) {
            taken[n->arguments[i].becomes] = 1;
            tied = true;
        }
    if (tied) {
        update = roles_find_update(n, direct, examples);
    } else {
        /* what is donated and not trained (weights that a loop hands back) is no example of a gradient */
        update = find_one(n, direct, taken, true, ROLES_COMPUTED, examples);
        gradient = !update && find_one(n, direct, taken, false, ROLES_COMPUTED, examples);
        update = update || (!gradient && find_one(n, direct, taken, true, ROLES_GIVEN, examples));
        gradient = gradient || (!update && find_one(n, direct, taken, false, ROLES_GIVEN, examples));
    }
    if (update)
        take_updates(n, taken, examples);
    if (gradient)
        take_gradients(n, taken, examples);
    free(taken);
    free(examples);
    return update || gradient;
}

uint8_t *roles_metrics(const struct nda *n, const uint8_t *direct)
{
    uint8_t *metrics = mem_zalloc((size_t)n->result_count + 1, 1),
            *state = mem_zalloc((size_t)n->result_count + 1, 1);
    uint8_t *examples = mem_alloc((size_t)n->color_count + 1);
    uint32_t others = 0, found = 0;
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes != NDA_NONE)
            state[n->arguments[i].becomes] = 1;
    for (uint32_t k = 0; k < n->result_count; k++)
        others += !state[k];
    bool look = others > 1 && others <= ROLES_MOST_TRIED && roles_find_update(n, direct, examples);
    for (uint32_t k = 0; k < n->result_count && look; k++) {
        uint8_t *of = state[k] ? NULL : roles_made_of(n, k, ROLES_ANY);
        metrics[k] = of && sums_examples(n, of, examples);
        found += metrics[k];
        free(of);
    }
    if (found == others) /* then none of them is the loss, or all are: as if none were metrics */
        memset(metrics, 0, (size_t)n->result_count + 1);
    free(state);
    free(examples);
    return metrics;
}

/* ---------------------------------------------------------------- moments */
static bool same_dims(const struct nda *n, uint32_t first, uint32_t second)
{
    const struct ir_type *one = ir_value_type(n->program, first), *other = ir_value_type(n->program, second);
    return one->kind == IR_TYPE_TENSOR && other->kind == IR_TYPE_TENSOR && one->rank == other->rank &&
           one->rank > 0 &&
           memcmp(ir_type_dims(n->program, one), ir_type_dims(n->program, other),
                  one->rank * sizeof(int64_t)) == 0;
}

bool roles_has_moments(const struct nda *n, const uint8_t *direct, const uint8_t *reaches)
{
    for (uint32_t i = 0; i < n->argument_count; i++) {
        if (n->arguments[i].becomes == NDA_NONE || !direct[n->arguments[i].value])
            continue;
        for (uint32_t j = 0; j < n->argument_count; j++)
            if (n->arguments[j].becomes != NDA_NONE && !reaches[n->arguments[j].value] &&
                same_dims(n, n->arguments[i].value, n->arguments[j].value))
                return true;
    }
    return false;
}

/* Which contractions are backward ones, and of which forward contraction.
 *
 * The gradient of a contraction y(M, N) = x(M, K) w(K, N) by one operand contracts the other operand with y's
 * gradient: it shares that operand's value, contracts what the forward contraction kept of it, and keeps what
 * that contracted. So two of the three factors are found again, whatever the ops are called:
 *
 *     forward    x: M kept, K contracted      w: N kept, K contracted
 *     dw         x: M contracted, K kept      dx         w: N contracted, K kept
 *
 * So are a convolution's batch and features; what a window runs over says nothing (forward the input's
 * positions are kept, in dw the window is as long as they are).
 *
 * Values are compared by their roots: what they are copied from by transposes, reshapes, converts, barriers,
 * reversals (of a kernel, in dx), or are computed again (recomputed.c). A contraction that is computed again
 * belongs to the one that it repeats.
 * Several forward contractions of one x (queries, keys, values apart) are told from each other by the weight
 * whose next value or gradient the result becomes, else by the colors of the result's factors. */
#include "segments/internal.h"

#include "ir/attrs.h"

#include <stdlib.h>
#include <string.h>

enum { NO_ATOM = 255 };

struct roots {
    uint32_t *value; /* per value */
    uint8_t *atom;   /* per value_atoms entry: atom of the root */
};

static bool copies(const struct nda *n, uint32_t op)
{
    const struct ir_op *it = &n->program->ops[op];
    enum ir_family family = ir_opcode_family((enum ir_opcode)it->code);
    return family == IR_FAMILY_BARRIER || (it->operand_count == 1 && it->result_count == 1 &&
                                           (family == IR_FAMILY_TRANSPOSE || family == IR_FAMILY_RESHAPE ||
                                            it->code == IR_CONVERT || it->code == IR_REVERSE));
}

/* elements change places along dimensions, and none changes its dimension */
static bool pass_reversed(const struct nda *n, struct roots *roots, uint32_t op)
{
    uint32_t value = ir_result(n->program, op, 0), source = ir_operand(n->program, op, 0),
             count = nda_atom_count(n, value);
    if (count != nda_atom_count(n, source))
        return false;
    for (uint32_t k = 0; k < count; k++)
        roots->atom[n->value_atoms[value] + k] = roots->atom[n->value_atoms[source] + k];
    roots->value[value] = roots->value[source];
    return true;
}

/* the root of one result of an op that copies; false: some atom is lost on the way */
static bool pass_root(const struct nda *n, struct roots *roots, uint32_t op, uint32_t result)
{
    bool barrier = ir_opcode_family((enum ir_opcode)n->program->ops[op].code) == IR_FAMILY_BARRIER;
    uint32_t value = ir_result(n->program, op, result), space = n->op_space[op];
    if (n->program->ops[op].code == IR_REVERSE)
        return pass_reversed(n, roots, op);
    if (space == NDA_NONE)
        return false;
    space += barrier ? result : 0;
    if (n->spaces[space].op != op || n->spaces[space].slot_count < 2)
        return false;
    uint32_t from = n->spaces[space].slots, to = from + n->spaces[space].slot_count - 1;
    uint32_t source = n->slots[from].value;
    if (n->slots[to].value != value)
        return false;
    for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
        uint8_t found = NO_ATOM;
        for (uint32_t r = 0; r < nda_atom_count(n, source); r++)
            if (nda_slot_factor(n, to, k) != NDA_NONE &&
                nda_slot_factor(n, from, r) == nda_slot_factor(n, to, k))
                found = roots->atom[n->value_atoms[source] + r];
        if (found == NO_ATOM)
            return false;
        roots->atom[n->value_atoms[value] + k] = found;
    }
    roots->value[value] = roots->value[source];
    return true;
}

/* what is computed again has the root of what it repeats */
static void pass_repeated(const struct nda *n, struct roots *roots, uint32_t value, uint32_t first)
{
    uint32_t count = nda_atom_count(n, value);
    if (first == value || count != nda_atom_count(n, first))
        return;
    for (uint32_t k = 0; k < count; k++)
        roots->atom[n->value_atoms[value] + k] = roots->atom[n->value_atoms[first] + k];
    roots->value[value] = roots->value[first];
}

static void find_roots(const struct nda *n, const uint32_t *first, struct roots *roots)
{
    const struct ir_program *program = n->program;
    roots->value = mem_alloc(((size_t)program->value_count + 1) * sizeof *roots->value);
    roots->atom = mem_alloc((size_t)n->value_atoms[program->value_count] + 1);
    for (uint32_t value = 0; value < program->value_count; value++) {
        roots->value[value] = value;
        for (uint32_t k = 0; k < nda_atom_count(n, value); k++)
            roots->atom[n->value_atoms[value] + k] = (uint8_t)k;
    }
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; i < program->ops[op].result_count; i++) {
            uint32_t value = ir_result(program, op, i);
            if (copies(n, op) && !pass_root(n, roots, op, i))
                for (uint32_t k = 0; k < nda_atom_count(n, value); k++)
                    roots->atom[n->value_atoms[value] + k] = (uint8_t)k;
            if (roots->value[value] == value)
                pass_repeated(n, roots, value, first[value]);
        }
}

/* the contraction that this one repeats; NDA_NONE: none */
static uint32_t repeated(const struct segments_build *build, const uint32_t *first, uint32_t contraction)
{
    const struct nda *n = build->n;
    uint32_t op = n->spaces[build->contractions.at[contraction].space].op,
             value = first[ir_result(n->program, op, 0)];
    if (value == ir_result(n->program, op, 0))
        return NDA_NONE;
    uint32_t space = n->op_space[n->program->values[value].op];
    uint32_t earlier = space == NDA_NONE ? NDA_NONE : build->graph.contraction_of[space];
    return earlier == NDA_NONE || build->contractions.at[earlier].forward == NDA_NONE
               ? earlier
               : build->contractions.at[earlier].forward;
}

/* dimensions of an operand, as bits, that a convolution's window runs over */
static uint64_t window_dims(const struct nda *n, uint32_t op, uint32_t operand)
{
    struct ir_conv conv;
    uint64_t bits = 0;
    if (n->program->ops[op].code != IR_CONVOLUTION || ir_conv(n->program, op, &conv) != 0)
        return 0;
    const struct ir_dims *dims = operand ? &conv.kernel_spatial : &conv.input_spatial;
    for (uint32_t i = 0; i < dims->count; i++)
        bits |= UINT64_C(1) << dims->at[i];
    return bits;
}

enum role { ROLE_NONE, ROLE_BATCH, ROLE_KEPT, ROLE_CONTRACTED, ROLE_WINDOW };

/* enum role per atom of the operand's root */
static void roles_of(const struct segments_build *build, const struct roots *roots, uint32_t contraction,
                     uint32_t operand, uint8_t roles[NO_ATOM])
{
    const struct nda *n = build->n;
    const struct segments_contraction *it = &build->contractions.at[contraction];
    uint32_t slot = n->spaces[it->space].slots + operand, value = n->slots[slot].value;
    uint64_t windows = window_dims(n, n->spaces[it->space].op, operand);
    memset(roles, ROLE_NONE, NO_ATOM);
    for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
        uint32_t factor = nda_slot_factor(n, slot, k);
        uint64_t bit = factor == NDA_NONE ? 0 : UINT64_C(1) << (factor - n->slots[slot].factors);
        roles[roots->atom[n->value_atoms[value] + k]] =
            windows >> nda_atoms(n, value)[k].dim & 1 ? ROLE_WINDOW
            : it->sides[SEGMENTS_BATCH] & bit         ? ROLE_BATCH
            : it->sides[SEGMENTS_CONTRACTED] & bit    ? ROLE_CONTRACTED
                                                      : ROLE_KEPT;
    }
}

/* does `later` keep what `earlier` contracts of the value that they share, and the other way round? */
static bool is_gradient(const struct segments_build *build, const struct roots *roots, uint32_t earlier,
                        uint32_t earlier_operand, uint32_t later, uint32_t later_operand)
{
    uint8_t one[NO_ATOM], other[NO_ATOM];
    bool any = false;
    roles_of(build, roots, earlier, earlier_operand, one);
    roles_of(build, roots, later, later_operand, other);
    for (uint32_t k = 0; k < NO_ATOM; k++) {
        uint8_t wanted = one[k] == ROLE_KEPT         ? ROLE_CONTRACTED
                         : one[k] == ROLE_CONTRACTED ? ROLE_KEPT
                                                     : one[k];
        if (one[k] == ROLE_WINDOW || other[k] == ROLE_WINDOW)
            continue;
        if (other[k] != wanted)
            return false;
        any |= one[k] >= ROLE_KEPT;
    }
    return any;
}

/* sum of the colors on one side: the same, whatever the order of the factors */
static uint64_t colors_of(const struct segments_build *build, uint32_t contraction, uint32_t slot)
{
    const struct nda *n = build->n;
    uint64_t sum = 0;
    slot += n->spaces[build->contractions.at[contraction].space].slots;
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[slot].value); k++)
        sum += hash_mix(nda_slot_color(n, slot, k));
    return sum;
}

static uint32_t root_of(const struct segments_build *build, const struct roots *roots, uint32_t contraction,
                        uint32_t operand)
{
    return roots->value
        [build->n->slots[build->n->spaces[build->contractions.at[contraction].space].slots + operand].value];
}

/* Marks the contractions whose results become, element by element, the next value or the gradient of a
 * weight: weight[contraction] is its argument's value. */
static void find_weights(const struct segments_build *build, uint32_t *weight)
{
    const struct nda *n = build->n;
    const struct ir_program *program = n->program;
    uint32_t *stamp = mem_zalloc((size_t)program->value_count + 1, sizeof *stamp);
    VEC(uint32_t) stack = {0};
    for (uint32_t i = 0; i < build->contractions.count; i++)
        weight[i] = NDA_NONE;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_argument *argument = &n->arguments[i];
        if (argument->becomes == NDA_NONE || argument->role != NDA_ROLE_PARAMETER)
            continue;
        int64_t elements = ir_type_elements(program, ir_value_type(program, argument->value));
        VEC_PUSH(&stack, n->slots[n->spaces[n->result_spaces[argument->becomes]].slots].value);
        while (stack.count) {
            uint32_t value = stack.at[--stack.count], op = program->values[value].op;
            if (stamp[value] == i + 1 || op == IR_NONE || program->ops[op].region_count)
                continue;
            stamp[value] = i + 1;
            uint32_t space = n->op_space[op];
            uint32_t contraction = space == NDA_NONE ? NDA_NONE : build->graph.contraction_of[space];
            if (contraction != NDA_NONE) {
                weight[contraction] = argument->value;
                continue;
            }
            for (uint32_t k = 0; k < program->ops[op].operand_count; k++) {
                uint32_t operand = ir_operand(program, op, k);
                const struct ir_type *type = ir_value_type(program, operand);
                if (type->kind == IR_TYPE_TENSOR && ir_type_elements(program, type) == elements)
                    VEC_PUSH(&stack, operand);
            }
        }
    }
    VEC_FREE(&stack);
    free(stamp);
}

/* how sure it is that `later` is a gradient of `earlier`: 0 not at all */
static int match(const struct segments_build *build, const struct roots *roots, const uint32_t *weight,
                 uint32_t earlier, uint32_t later)
{
    int best = 0;
    for (uint32_t a = 0; a < 2; a++)
        for (uint32_t b = 0; b < 2; b++) {
            if (root_of(build, roots, earlier, a) != root_of(build, roots, later, b) ||
                !is_gradient(build, roots, earlier, a, later, b))
                continue;
            bool same_weight =
                weight[later] != NDA_NONE && weight[later] == root_of(build, roots, earlier, 1 - a);
            bool same_colors = colors_of(build, earlier, 2) == colors_of(build, later, 1 - b) &&
                               colors_of(build, earlier, 1 - a) == colors_of(build, later, 2);
            int sure = same_weight ? 3 : same_colors ? 2 : 1;
            best = sure > best ? sure : best;
        }
    return best;
}

void segments_find_gradients(struct segments_build *build)
{
    const struct nda *n = build->n;
    struct roots roots;
    uint32_t count = (uint32_t)build->contractions.count;
    uint32_t *weight = mem_alloc(((size_t)count + 1) * sizeof *weight);
    uint32_t *last = mem_alloc(((size_t)n->program->value_count + 1) * sizeof *last);
    uint32_t *before =
        mem_alloc(2 * ((size_t)count + 1) * sizeof *before); /* per operand: previous of its root */
    uint32_t *first = segments_find_recomputed(n);
    find_roots(n, first, &roots);
    find_weights(build, weight);
    memset(last, 0xff, ((size_t)n->program->value_count + 1) * sizeof *last);
    for (uint32_t later = 0; later < count; later++) {
        int best = 0;
        build->contractions.at[later].forward = repeated(build, first, later);
        if (build->contractions.at[later].is_lookup || build->contractions.at[later].forward != NDA_NONE)
            continue;
        for (uint32_t b = 0; b < 2; b++)
            for (uint32_t user = last[root_of(build, &roots, later, b)]; user != NDA_NONE;
                 user = before[user]) {
                uint32_t earlier = user / 2;
                int sure = build->contractions.at[earlier].forward == NDA_NONE
                               ? match(build, &roots, weight, earlier, later)
                               : 0;
                if (sure > best) {
                    best = sure;
                    build->contractions.at[later].forward = earlier;
                }
            }
        for (uint32_t b = 0; b < 2; b++) {
            uint32_t root = root_of(build, &roots, later, b);
            before[2 * later + b] = last[root];
            last[root] = 2 * later + b;
        }
    }
    free(first);
    free(roots.value);
    free(roots.atom);
    free(weight);
    free(last);
    free(before);
}

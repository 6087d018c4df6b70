/* Roles, step 2: how a gradient is known, by its dataflow.
 *
 *        weight A     examples X
 *             \       /      \         1. A and X meet in a contraction (the forward pass). The colors that X
 *             dot(A, X)       \           brings into its result, and A has not, are those of the examples.
 *                 :            \
 *               loss  ..  -> dot(X, D) 2. A second contraction of X, without A, and a sum over the examples:
 *                                |        their result, in the shape of A, is the gradient.
 *        A  --------------->  A - r D'X 3. A result that is also made of A by elementwise ops is its update.
 *
 * Caches and carried states fail one of these: they are written in place, batched with X, or sums of other
 * weights. A pattern that is not found is never an error: the argument then counts as data or cache. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

/* it moves elements only: a sum along dimensions of one, too (what a broadcast of them gives back) */
static bool moves(const struct nda *n, const struct nda_space *sp)
{
    bool sums = ir_opcode_family(n->program->ops[sp->op].code) != IR_FAMILY_REDUCE;
    for (uint32_t k = sp->factors; k < sp->factors + sp->factor_count && !sums; k++)
        sums = n->factors[k].kind == NDA_CONTRACTING;
    return !sums || stage_moves_only(n, sp);
}

static bool passes(const struct nda *n, const struct nda_space *sp, enum roles_ops by)
{
    return by == ROLES_ANY || sp->kind != NDA_SPACE_OP ||
           ir_opcode_family(n->program->ops[sp->op].code) == IR_FAMILY_ELEMENTWISE ||
           (by == ROLES_OR_MOVED && moves(n, sp));
}

uint8_t *roles_made_of(const struct nda *n, uint32_t result, enum roles_ops by)
{
    uint8_t *of = mem_zalloc((size_t)n->program->value_count + 1, 1);
    of[n->slots[n->spaces[n->result_spaces[result]].slots].value] = 1;
    for (uint32_t space = n->space_count; space-- > 0;) {
        const struct nda_space *sp = &n->spaces[space];
        bool made = false;
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count && !made; k++)
            made = n->slots[k].is_result && of[n->slots[k].value];
        if (!made || !passes(n, sp, by))
            continue;
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++)
            if (!n->slots[k].is_result)
                of[n->slots[k].value] = 1;
    }
    return of;
}

/* what a loop's value was when the loop began, if the body hands it on as it is, or if that is an argument
 * of @main (weights that the loop trains); else NDA_NONE */
static uint32_t before_loop(const struct nda *n, uint32_t value)
{
    const struct ir_program *program = n->program;
    uint32_t op = program->regions[program->blocks[program->values[value].block].region].op,
             index = program->values[value].index, body, init;
    if (program->values[value].op != IR_NONE || program->ops[op].code != IR_WHILE)
        return NDA_NONE;
    body = ir_region_block(program, op, 1);
    init = ir_operand(program, op, index);
    return ir_operand(program, ir_block_terminator(program, body), index) ==
                       program->blocks[body].args + index ||
                   (program->values[init].op == IR_NONE && program->values[init].block == n->block)
               ? init
               : NDA_NONE;
}

/* what a loop writes into the stack that it returns (JAX keeps the backward pass's values so); else
 * NDA_NONE */
static uint32_t stacked(const struct nda *n, uint32_t value)
{
    const struct ir_program *program = n->program;
    uint32_t op = program->values[value].op,
             last = ir_block_terminator(program, ir_region_block(program, op, 1));
    uint32_t made = ir_operand(program, last, program->values[value].index), by = program->values[made].op;
    return by != IR_NONE && program->ops[by].code == IR_DYNAMIC_UPDATE_SLICE ? ir_operand(program, by, 1)
                                                                             : NDA_NONE;
}

/* where a value comes from, moves of its elements left out, through loops too */
static uint32_t origin(const struct nda *n, uint32_t value)
{
    const struct ir_program *program = n->program;
    for (;;) {
        uint32_t op = program->values[value].op, from = NDA_NONE;
        if (op == IR_NONE)
            from = before_loop(n, value);
        else if (program->ops[op].code == IR_WHILE)
            from = stacked(n, value);
        else if (n->op_space[op] == NDA_NONE || program->ops[op].operand_count == 0)
            return value;
        else if (program->ops[op].code == IR_OPTIMIZATION_BARRIER)
            from = ir_operand(program, op, program->values[value].index);
        else if (program->ops[op].code == IR_CONCATENATE && program->ops[op].operand_count > 1)
            return value; /* of several: a row before the examples' is not where they come from */
        else if (program->ops[op].region_count == 0 && stage_moves_only(n, &n->spaces[n->op_space[op]]))
            from = ir_operand(program, op, 0);
        if (from == NDA_NONE)
            return value;
        value = from;
    }
}

/* colors that the operand `other` brings into a contraction's result; false when both operands are batched
 * together */
static bool brought_colors(const struct nda *n, const struct nda_space *sp, uint32_t other, uint8_t *color)
{
    for (uint32_t factor = 0; factor < sp->factor_count; factor++) {
        uint32_t in = 0, factor_index = sp->factors + factor;
        for (uint32_t k = 0; k < 3; k++)
            for (uint32_t a = 0; a < nda_atom_count(n, n->slots[sp->slots + k].value); a++)
                in |= nda_slot_factor(n, sp->slots + k, a) == factor_index ? 1u << k : 0;
        if (in == 7)
            return false;
        if (in == ((1u << other) | 4))
            color[n->factors[factor_index].color] = 1;
    }
    return true;
}

static bool is_given(const struct nda *n, uint32_t value)
{
    return n->program->values[value].op == IR_NONE && n->program->values[value].block == n->block;
}

bool roles_sums(const struct nda *n, const struct nda_space *space, const uint8_t *colors)
{
    for (uint32_t f = 0; f < space->factor_count; f++) {
        const struct nda_factor *factor = &n->factors[space->factors + f];
        if (factor->kind == NDA_CONTRACTING && colors[factor->color])
            return true;
    }
    return false;
}

bool roles_leaves(const struct nda *n, const struct nda_space *space, const uint8_t *colors)
{
    uint32_t result = space->slots + space->slot_count - 1;
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[result].value); k++) {
        uint32_t color = nda_slot_color(n, result, k);
        if (color != NDA_NONE && colors[color])
            return true;
    }
    return false;
}

/* the result depends on another contraction of x, and on a sum over one of the colors; strict: and that
 * contraction leaves none of them */
static bool is_gradient(const struct nda *n, const uint8_t *of, uint32_t weight, uint32_t x, bool strict,
                        const uint8_t *color)
{
    bool again = false, summed = false;
    for (uint32_t space = 0; space < n->space_count && !(again && summed); space++) {
        const struct nda_space *sp = &n->spaces[space];
        if (sp->kind != NDA_SPACE_OP || !of[n->slots[sp->slots + sp->slot_count - 1].value])
            continue;
        summed |= roles_sums(n, sp, color);
        if (!nda_is_contraction(n, sp->op) || sp->slot_count != 3)
            continue;
        uint32_t a = origin(n, n->slots[sp->slots].value), b = origin(n, n->slots[sp->slots + 1].value);
        again |= (a == x || b == x) && a != weight && b != weight && (!strict || !roles_leaves(n, sp, color));
    }
    return again && summed;
}

/* The op gives, moved only, another result than `result`, in the type of an argument: another gradient. */
static bool is_other_gradient(const struct nda *n, uint32_t op, uint32_t result)
{
    for (uint32_t k = 0; k < n->result_count; k++) {
        uint32_t value = n->slots[n->spaces[n->result_spaces[k]].slots].value;
        if (k == result || n->program->values[origin(n, value)].op != op)
            continue;
        for (uint32_t i = 0; i < n->argument_count; i++)
            if (n->program->values[n->arguments[i].value].type == n->program->values[value].type)
                return true;
    }
    return false;
}

/* A contraction without x sums over one of the colors and leaves none: they are features of a hidden layer,
 * no examples. Attention, too, sums over a part of the examples, the keys' positions, but for each of the
 * others; and other gradients sum over them all. */
static bool is_summed_elsewhere(const struct nda *n, uint32_t x, uint32_t result, const uint8_t *color)
{
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        if (sp->kind != NDA_SPACE_OP || !nda_is_contraction(n, sp->op) || sp->slot_count != 3)
            continue;
        if (roles_sums(n, sp, color) && !roles_leaves(n, sp, color) &&
            origin(n, n->slots[sp->slots].value) != x && origin(n, n->slots[sp->slots + 1].value) != x &&
            !is_other_gradient(n, sp->op, result))
            return true;
    }
    return false;
}

bool roles_is_gradient(const struct nda *n, uint32_t argument, uint32_t result, enum roles_evidence evidence,
                       uint8_t *examples)
{
    uint32_t weight = n->arguments[argument].value;
    uint8_t *of = roles_made_of(n, result, ROLES_ANY);
    bool found = false;
    for (uint32_t space = 0; space < n->space_count && !found; space++) {
        const struct nda_space *sp = &n->spaces[space];
        if (sp->kind != NDA_SPACE_OP || !nda_is_contraction(n, sp->op) || sp->slot_count != 3)
            continue;
        uint32_t a = origin(n, n->slots[sp->slots].value), b = origin(n, n->slots[sp->slots + 1].value),
                 x = a == weight ? b : a;
        if ((a == weight) == (b == weight) || (evidence == ROLES_COMPUTED && is_given(n, x)))
            continue;
        memset(examples, 0, (size_t)n->color_count + 1);
        found = brought_colors(n, sp, a == weight ? 1 : 0, examples) &&
                is_gradient(n, of, weight, x, evidence != ROLES_TIED, examples) &&
                (evidence != ROLES_GIVEN || !is_summed_elsewhere(n, x, result, examples));
    }
    free(of);
    return found;
}

bool roles_is_update(const struct nda *n, uint32_t argument, uint32_t result, enum roles_evidence evidence,
                     uint8_t *examples)
{
    uint8_t *of = roles_made_of(n, result, ROLES_ELEMENTWISE);
    bool kept = of[n->arguments[argument].value];
    free(of);
    return kept && roles_is_gradient(n, argument, result, evidence, examples);
}

bool roles_find_update(const struct nda *n, const uint8_t *direct, uint8_t *examples)
{
    uint32_t tried = 0;
    for (uint32_t i = 0; i < n->argument_count && tried < ROLES_MOST_TRIED; i++) {
        const struct ir_type *type = ir_value_type(n->program, n->arguments[i].value);
        if (n->arguments[i].becomes == NDA_NONE || !direct[n->arguments[i].value] || type->rank < 2)
            continue;
        tried++;
        if (n->arguments[i].updated ? roles_is_update(n, i, n->arguments[i].becomes, ROLES_TIED, examples)
                                    : roles_is_gradient(n, i, n->arguments[i].becomes, ROLES_TIED, examples))
            return true;
    }
    return false;
}

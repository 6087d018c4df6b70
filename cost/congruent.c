/* Ops that compute the same from the same: the compiler keeps the first of them.
 *
 *     norm f32 --> convert bf16 --> queries' product          norm f32 --> convert bf16 --> queries' product
 *         '------> convert bf16 --> keys' product        is                      '--------> keys' product
 *
 * Libraries whose layers convert what they read write such ops; stored one by one they would be activations
 * that no device has. Which ops are congruent is a fact of the program (value numbering); whether a plan
 * leaves them so is asked of their steps: the same local values in, one form out. Ops far apart are masks and
 * tables that every layer makes again: small, and a layer stays a layer without them.
 *
 * Source: XLA's common subexpression elimination. */
#include "cost/internal.h"

#include <stdlib.h>

#include "base/hash.h"
#include "ir/attrs.h"

/* ---------------------------------------------------------------- of the program */
enum { NEAR = 16, LARGE = 1 << 16 }; /* ops; elements */
struct numbering {
    struct price_program *out;
    uint32_t *stands;  /* per value: that which it is another name of, or itself */
    bool *constant;    /* per value: made of constants alone */
    uint64_t *numbers; /* per op: what it computes, as a hash (so two are wrongly the same once in 2^64) */
    uint32_t *buckets; /* 1 + the last op of the number; 0: none */
    uint32_t *before;  /* per op: likewise, of those before it */
    uint32_t mask;
};

static const uint64_t families =
    UINT64_C(1) << IR_FAMILY_ELEMENTWISE | UINT64_C(1) << IR_FAMILY_CONSTANT | UINT64_C(1) << IR_FAMILY_IOTA |
    UINT64_C(1) << IR_FAMILY_BROADCAST | UINT64_C(1) << IR_FAMILY_TRANSPOSE |
    UINT64_C(1) << IR_FAMILY_RESHAPE | UINT64_C(1) << IR_FAMILY_DOT | UINT64_C(1) << IR_FAMILY_GATHER |
    UINT64_C(1) << IR_FAMILY_SLICE | UINT64_C(1) << IR_FAMILY_PAD | UINT64_C(1) << IR_FAMILY_CONCATENATE |
    UINT64_C(1) << IR_FAMILY_REVERSE | UINT64_C(1) << IR_FAMILY_REDUCE;

/* small values are not worth it, but for what constants make: large ones are made of those */
static bool may_be_congruent(const struct numbering *numbering, uint32_t op)
{
    const struct ir_program *program = numbering->out->nda->program;
    const struct ir_op *entry = &program->ops[op];
    if (entry->result_count != 1 ||
        (!numbering->constant[entry->results] &&
         ir_type_elements(program, ir_value_type(program, entry->results)) < LARGE))
        return false;
    return families >> ir_opcode_family((enum ir_opcode)entry->code) & 1 &&
           (entry->region_count == 0 ||
            (entry->region_count == 1 && ir_region_reducer(program, op, 0) != IR_UNKNOWN));
}

static bool is_constant(const struct numbering *numbering, uint32_t op)
{
    const struct ir_program *program = numbering->out->nda->program;
    if (program->ops[op].region_count)
        return false;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++)
        if (!numbering->constant[ir_operand(program, op, i)])
            return false;
    return families >> ir_opcode_family((enum ir_opcode)program->ops[op].code) & 1;
}

static void number_op(struct numbering *numbering, uint32_t op)
{
    const struct ir_program *program = numbering->out->nda->program;
    const struct ir_op *entry = &program->ops[op];
    uint64_t number = hash_combine(ir_op_content_key(program, op), entry->block);
    for (uint32_t i = 0; i < entry->operand_count; i++)
        number = hash_combine(number, numbering->stands[ir_operand(program, op, i)]);
    numbering->numbers[op] = number;
    uint32_t *bucket = &numbering->buckets[number & numbering->mask];
    for (uint32_t other = *bucket; other; other = numbering->before[other - 1])
        if (op - (other - 1) <= NEAR && numbering->numbers[other - 1] == number) {
            numbering->stands[entry->results] = program->ops[other - 1].results;
            numbering->out->ops[op].congruent = numbering->out->ops[other - 1].congruent = other;
            return;
        }
    numbering->before[op] = *bucket;
    *bucket = op + 1;
}

void price_find_congruent(struct price_program *out)
{
    const struct ir_program *program = out->nda->program;
    struct numbering numbering = {.out = out, .mask = 1};
    while (numbering.mask < program->op_count)
        numbering.mask = numbering.mask * 2 + 1;
    numbering.stands = mem_alloc(((size_t)program->value_count + 1) * sizeof *numbering.stands);
    numbering.constant = mem_zalloc((size_t)program->value_count + 1, sizeof *numbering.constant);
    numbering.numbers = mem_zalloc((size_t)program->op_count + 1, sizeof *numbering.numbers);
    numbering.buckets = mem_zalloc((size_t)numbering.mask + 1, sizeof *numbering.buckets);
    numbering.before = mem_zalloc((size_t)program->op_count + 1, sizeof *numbering.before);
    for (uint32_t value = 0; value < program->value_count; value++)
        numbering.stands[value] = value;
    for (uint32_t op = 0; op < program->op_count; op++) {
        if (program->ops[op].result_count == 1)
            numbering.constant[program->ops[op].results] = is_constant(&numbering, op);
        if (may_be_congruent(&numbering, op))
            number_op(&numbering, op);
    }
    free(numbering.stands);
    free(numbering.constant);
    free(numbering.numbers);
    free(numbering.buckets);
    free(numbering.before);
}

/* ---------------------------------------------------------------- of a plan */
static inline uint32_t stands_for(const struct price_scratch *scratch, const struct spmd_local *local,
                                  uint32_t value)
{
    uint32_t step = local->values[value].step;
    bool known = step != SPMD_NONE && local->steps[step].kind == SPMD_OP &&
                 step_info(scratch, &local->steps[step])->congruent;
    return known ? scratch->named[value] : value;
}

static bool computes_the_same(const struct price_scratch *scratch, const struct spmd_local *local,
                              const struct spmd_step *step, const struct spmd_step *other)
{
    if (step->depth != other->depth || step->operand_count != other->operand_count ||
        !spmd_form_equal(&local->values[step->results].form, &local->values[other->results].form))
        return false;
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (stands_for(scratch, local, local->operands[step->operands + i]) !=
            stands_for(scratch, local, local->operands[other->operands + i]))
            return false;
    return true;
}

void price_name_congruent(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    const struct spmd_step *entry = &local->steps[step];
    uint32_t number = step_info(scratch, entry)->congruent, *first = &scratch->congruent_step[number - 1];
    scratch->named[entry->results] = entry->results;
    if (*first >= step || local->steps[*first].kind != SPMD_OP ||
        step_info(scratch, &local->steps[*first])->congruent != number) /* of an earlier pricing */
        *first = step;
    else if (computes_the_same(scratch, local, &local->steps[*first], entry))
        scratch->named[entry->results] = scratch->named[local->steps[*first].results];
}

bool price_is_named(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    const struct recompute *again = &scratch->again[value];
    return scratch->named[value] != value &&
           (again->count == RECOMPUTE_ITSELF || again->total * 2 >= local->values[value].bytes);
}

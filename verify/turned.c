/* Branches of a program that seeded inputs do not take: a gradient is clipped only where its norm is
 * large, and with small inputs a norm that is wrong changes nothing. A proof therefore runs both programs
 * once more with such branches turned (prove.h): what is chosen by comparing two numbers is chosen the
 * other way round.
 *
 * Turned are selects whose predicate is one comparison of floats of rank 0, maybe broadcast or cut since, and
 * the larger or smaller of a float of rank 0 and a finite constant. Devices agree on numbers of rank 0 or the
 * module is wrong, and no lowering changes that rank; tensors of one element may be parts of larger ones. */
#include "verify/value.h"

#include <math.h>

#include "ir/attrs.h"

/* Ops between comparison and select, or constant and maximum; ops looked at behind a comparison. Chosen. */
enum { DEPTH = 12, STEPS = 64 };

static bool is_number(const struct ir_program *program, uint32_t value)
{
    const struct ir_type *type = ir_value_type(program, value);
    return type->kind == IR_TYPE_TENSOR && type->rank == 0 &&
           ir_element_is_float((enum ir_element)type->element);
}

/* the op behind what only moves elements; IR_NONE: an argument, or too far */
static uint32_t source(const struct ir_program *program, uint32_t value)
{
    for (int depth = 0; depth < DEPTH; depth++) {
        uint32_t op = program->values[value].op;
        if (op == IR_NONE)
            return IR_NONE;
        switch ((int)program->ops[op].code) {
        case IR_BROADCAST_IN_DIM:
        case IR_RESHAPE:
        case IR_TRANSPOSE:
        case IR_SLICE:
        case IR_DYNAMIC_SLICE:
        case IR_CONVERT:
        case IR_ALL_GATHER:
        case IR_SDY_SHARDING_CONSTRAINT: value = ir_operand(program, op, 0); break;
        default: return op;
        }
    }
    return IR_NONE;
}

static bool is_constant(const struct ir_program *program, uint32_t value, bool (*is)(double number))
{
    uint32_t op = source(program, value);
    if (op == IR_NONE || program->ops[op].code != IR_CONSTANT)
        return false;
    const struct ir_attr *attr = ir_attr_find(program, op, "value");
    return attr && attr->kind == IR_ATTR_DENSE && is(ir_constant_double(program, attr, 0));
}

/* what JAX answers where there is nothing to divide by */
static bool is_nan(double number)
{
    return isnan(number);
}

/* the larger of a number and -inf is no choice: softmax of a vector has one */
static bool is_finite(double number)
{
    return isfinite(number);
}

/* Made of constants alone (a count of elements that is compared with 0): inputs cannot turn it. `steps` is
 * what may still be looked at. */
static bool is_known(const struct ir_program *program, uint32_t value, uint32_t *steps)
{
    uint32_t op = program->values[value].op;
    if (op == IR_NONE || *steps == 0)
        return false;
    --*steps;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++)
        if (!is_known(program, ir_operand(program, op, i), steps))
            return false;
    return program->ops[op].region_count == 0;
}

bool verify_is_known(const struct ir_program *program, uint32_t value)
{
    uint32_t steps = STEPS;
    return is_known(program, value, &steps);
}

/* a comparison of numbers that depends on the inputs */
static bool compares(const struct ir_program *program, uint32_t op)
{
    uint32_t steps = STEPS;
    return op != IR_NONE && program->ops[op].code == IR_COMPARE &&
           is_number(program, ir_operand(program, op, 0)) &&
           !(is_known(program, ir_operand(program, op, 0), &steps) &&
             is_known(program, ir_operand(program, op, 1), &steps));
}

bool verify_turns(const struct ir_program *program, uint32_t op)
{
    enum ir_opcode code = (enum ir_opcode)program->ops[op].code;
    if (program->ops[op].result_count != 1)
        return false;
    if (code == IR_SELECT && program->ops[op].operand_count == 3) {
        if (is_constant(program, ir_operand(program, op, 1), is_nan) ||
            is_constant(program, ir_operand(program, op, 2), is_nan))
            return false;
        return compares(program, source(program, ir_operand(program, op, 0)));
    }
    if ((code != IR_MAXIMUM && code != IR_MINIMUM) || program->ops[op].operand_count != 2 ||
        !is_number(program, ir_result(program, op, 0)))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (is_constant(program, ir_operand(program, op, i), is_finite))
            return true;
    return false;
}

uint32_t verify_turned_count(const struct ir_program *program)
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < program->op_count; op++)
        count += verify_turns(program, op);
    return count;
}

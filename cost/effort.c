/* Two scales, both in bytes that an H100 moves meanwhile. Whether XLA:GPU computes something again in every
 * kernel that reads it follows its own cost model, which takes an exponential for 90 FLOPs: effort. How long
 * a kernel takes was measured (bench/hardware_log): functions of 2^26 elements run within a third of the
 * time of their bytes, whatever the function: work. */
#include "cost/effort.h"

#include "cost/internal.h"
#include "ir/attrs.h"

/* Inferred from what XLA's cost model of an H100 says of fused kernels (an exponential about 90 FLOPs, a
 * tangent 150, a sine 1,200), rounded; of chlo's functions by the ops that XLA has for them (erf: one; erfc:
 * 58 sums and products, two quotients, an exponential). */
uint8_t price_effort_of(uint16_t code)
{
    switch (code) {
    case IR_SQRT:
    case IR_RSQRT:
    case IR_CHLO_ERF: return 1;
    case IR_EXPONENTIAL:
    case IR_EXPONENTIAL_MINUS_ONE: return 4;
    case IR_TANH:
    case IR_LOGISTIC:
    case IR_LOG:
    case IR_LOG_PLUS_ONE: return 9;
    case IR_POWER:
    case IR_CBRT:
    case IR_ATAN2:
    case IR_CHLO_ACOS:
    case IR_CHLO_ASIN:
    case IR_CHLO_ATAN:
    case IR_CHLO_ERF_INV: return 20;
    case IR_CHLO_ACOSH:
    case IR_CHLO_ASINH:
    case IR_CHLO_ATANH: return 12;
    case IR_CHLO_COSH:
    case IR_CHLO_SINH: return 9;
    case IR_CHLO_DIGAMMA:
    case IR_CHLO_LGAMMA: return 40;
    case IR_CHLO_ERFC: return 14;
    case IR_SINE:
    case IR_COSINE:
    case IR_TAN:
    case IR_CHLO_TAN: return 60;
    default: return 0;
    }
}

enum { WORK_PLAIN = 1, WORK_ROOT = 2, WORK_FUNCTION = 8, WORK_LONG = 32 }; /* eighths of a byte */

uint8_t price_work_of(const struct ir_program *program, uint32_t op)
{
    uint16_t code = program->ops[op].code;
    if (ir_opcode_family((enum ir_opcode)code) != IR_FAMILY_ELEMENTWISE)
        return 0;
    bool whole =
        !ir_element_is_float((enum ir_element)ir_value_type(program, ir_result(program, op, 0))->element);
    switch (code) {
    case IR_DIVIDE: return whole ? WORK_PLAIN : WORK_ROOT;
    case IR_SQRT:
    case IR_RSQRT:
    case IR_EXPONENTIAL: return WORK_ROOT;
    case IR_CHLO_DIGAMMA:
    case IR_CHLO_LGAMMA: return WORK_LONG;
    default: return price_effort_of(code) ? WORK_FUNCTION : WORK_PLAIN;
    }
}

enum { LONG_WINDOW = 32, WINDOW_PASSES = 3, SORT_MOST = 40 };

/* A window as long as what it slides over (cumulative sums) is a tree of short ones. */
static bool accumulates(const struct ir_program *program, uint32_t op)
{
    struct ir_window window;
    if (ir_reduce_window(program, op, &window) != 0)
        return false;
    const struct ir_type *type = ir_value_type(program, ir_operand(program, op, 0));
    for (uint32_t i = 0; i < window.size.count; i++)
        if (window.size.at[i] >= LONG_WINDOW && window.size.at[i] == ir_type_dims(program, type)[i])
            return true;
    return false;
}

/* A row of 2^k elements is sorted in k (k + 1) / 2 rounds of comparisons, several of which run in one pass
 * over memory: 4,096 rows of 4,096 took as long as 37 passes, of 64 16. */
static uint8_t sorting_passes(const struct ir_program *program, uint32_t op)
{
    const struct ir_type *type = ir_value_type(program, ir_operand(program, op, 0));
    int64_t dim = program->ops[op].code == IR_SORT ? ir_int(program, op, "dimension", -1) : -1, rounds = 0;
    dim += dim < 0 ? type->rank : 0;
    if (dim < 0 || dim >= type->rank)
        return 1;
    while (rounds < 16 && INT64_C(1) << rounds < ir_type_dims(program, type)[dim])
        rounds++;
    int64_t passes = rounds * (rounds + 1) / 4 + 1;
    return (uint8_t)(passes < SORT_MOST ? passes : SORT_MOST);
}

uint8_t price_passes_of(const struct ir_program *program, uint32_t op)
{
    enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[op].code);
    if (family == IR_FAMILY_SORT)
        return sorting_passes(program, op);
    return family == IR_FAMILY_REDUCE_WINDOW && accumulates(program, op) ? WINDOW_PASSES : 1;
}

/* the only operand that is not one number everywhere; IR_NONE: there are more, or none */
static uint32_t array_operand(const struct ir_program *program, uint32_t op)
{
    uint32_t array = IR_NONE;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint32_t value = ir_operand(program, op, i), by = program->values[value].op;
        bool number = by != IR_NONE && program->ops[by].operand_count <= 1 &&
                      (program->ops[by].code == IR_CONSTANT ||
                       (ir_opcode_family((enum ir_opcode)program->ops[by].code) == IR_FAMILY_BROADCAST &&
                        ir_value_type(program, ir_operand(program, by, 0))->rank == 0));
        if (!number && array != IR_NONE)
            return IR_NONE;
        array = number ? array : value;
    }
    return array;
}

enum { ERFC_HOPS = 4 };

/* An exact GELU behind a bias: what an erfc is taken of is computed of several arrays. */
void price_find_arguments_of_erfc(struct price_program *out)
{
    const struct ir_program *program = out->nda->program;
    for (uint32_t op = 0; op < program->op_count; op++) {
        uint32_t by = program->ops[op].code == IR_CHLO_ERFC ? program->values[ir_operand(program, op, 0)].op
                                                            : IR_NONE,
                 behind = by;
        for (int hops = 0; hops < ERFC_HOPS && behind != IR_NONE; hops++) {
            if (out->ops[behind].class != OP_ELEMENTWISE)
                break;
            uint32_t array = array_operand(program, behind);
            out->ops[by].to_erfc |= array == IR_NONE;
            behind = array == IR_NONE ? IR_NONE : program->values[array].op;
        }
    }
}

bool price_only_multiplies(const struct ir_program *program, uint32_t op)
{
    struct ir_dot dot;
    return ir_opcode_family((enum ir_opcode)program->ops[op].code) == IR_FAMILY_DOT &&
           ir_dot(program, op, &dot) == 0 && dot.lhs_contract.count == 0;
}

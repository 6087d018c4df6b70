/* How many scalar operations a program takes, so that callers can refuse what would run for minutes
 * (verify_operations) and the interpreter can keep to its budget (verify_op_operations). Only reads the
 * text. */
#include "verify/value.h"

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) || r > INT64_MAX ? INT64_MAX : r;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a + b > INT64_MAX ? INT64_MAX : a + b;
}

static uint64_t elements(const struct ir_program *program, uint32_t value)
{
    const struct ir_type *type = ir_value_type(program, value);
    uint64_t n = 1;
    if (type->kind != IR_TYPE_TENSOR || (type->flags & IR_TYPE_UNRANKED))
        return 1;
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t size = program->ints[type->ints + i];
        n = multiply(n, size < 0 ? 1 : (uint64_t)size);
    }
    return n;
}

static uint64_t largest(const struct ir_program *program, uint32_t op)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint64_t n = elements(program, ir_operand(program, op, i));
        most = n > most ? n : most;
    }
    for (uint32_t i = 0; i < program->ops[op].result_count; i++) {
        uint64_t n = elements(program, ir_result(program, op, i));
        most = n > most ? n : most;
    }
    return most;
}

/* results x window positions */
static uint64_t windows(const struct ir_program *program, uint64_t n, const struct ir_window *window)
{
    for (uint32_t i = 0; i < window->size.count; i++)
        n = multiply(n, (uint64_t)window->size.at[i]);
    return n;
}

/* results x window positions; of a running sum the results */
static uint64_t reduced_windows(const struct ir_program *program, uint32_t op, uint64_t n,
                                const struct ir_window *window)
{
    uint32_t along;
    bool backwards;
    const struct ir_type *type = ir_value_type(program, ir_operand(program, op, 0));
    bool runs = type->rank == window->size.count &&
                verify_window_runs(window, ir_type_dims(program, type), &along, &backwards);
    return runs ? n : windows(program, n, window);
}

static uint64_t log2_above(uint64_t n)
{
    uint64_t bits = 1;
    while (bits < 63 && ((uint64_t)1 << bits) < n)
        bits++;
    return bits;
}

uint64_t verify_op_operations(const struct ir_program *program, uint32_t op)
{
    const struct ir_op *ir_op = &program->ops[op];
    uint64_t out = ir_op->result_count ? elements(program, ir_result(program, op, 0)) : 1;
    struct ir_dot dot;
    struct ir_conv conv;
    struct ir_window window;
    switch ((int)ir_op->code) {
    case IR_DOT:
    case IR_DOT_GENERAL:
        if (ir_dot(program, op, &dot) == 0)
            for (uint32_t i = 0; i < dot.lhs_contract.count; i++)
                out = multiply(
                    out,
                    (uint64_t)ir_type_dims(
                        program, ir_value_type(program, ir_operand(program, op, 0)))[dot.lhs_contract.at[i]]);
        return multiply(out, 2);
    case IR_CONVOLUTION:
        if (ir_conv(program, op, &conv) == 0)
            out =
                multiply(windows(program, out, &conv.window),
                         (uint64_t)ir_type_dims(
                             program, ir_value_type(program, ir_operand(program, op, 1)))[conv.kernel_input]);
        return multiply(out, 2);
    case IR_REDUCE_WINDOW:
        return ir_reduce_window(program, op, &window) == 0 ? reduced_windows(program, op, out, &window) : out;
    case IR_SELECT_AND_SCATTER:
        return ir_select_and_scatter(program, op, &window) == 0
                   ? add(out, windows(program, elements(program, ir_operand(program, op, 1)), &window))
                   : out;
    case IR_SORT:
    case IR_CHLO_TOP_K: return multiply(largest(program, op), log2_above(largest(program, op)));
    case IR_CHOLESKY:
    case IR_TRIANGULAR_SOLVE:
    case IR_FFT:
        return multiply(
            largest(program, op),
            (uint64_t)ir_type_dims(
                program,
                ir_value_type(
                    program,
                    ir_result(program, op, 0)))[ir_value_type(program, ir_result(program, op, 0))->rank - 1]);
    default: return largest(program, op);
    }
}

/* ---------------------------------------------------------------- trip counts */
/* the integer that a scalar constant holds, also behind converts and reshapes */
static bool constant_of(const struct ir_program *program, uint32_t value, int64_t *out)
{
    for (int depth = 0; depth < 8; depth++) {
        uint32_t op = program->values[value].op;
        if (op == IR_NONE)
            return false;
        const struct ir_attr *dense = ir_attr_find(program, op, "value");
        if (program->ops[op].code == IR_CONSTANT && dense && dense->kind == IR_ATTR_DENSE &&
            elements(program, value) == 1) {
            *out = ir_constant_int(program, dense, 0);
            return true;
        }
        if (program->ops[op].code != IR_CONVERT && program->ops[op].code != IR_RESHAPE)
            return false;
        value = ir_operand(program, op, 0);
    }
    return false;
}

/* The turns of a loop whose condition is `i < n` with a constant n, where i starts at a constant and grows
 * by a constant: what a scan looks like. */
static bool trip_count(const struct ir_program *program, uint32_t op, uint64_t *out)
{
    uint32_t cond = ir_region_block(program, op, 0), body = ir_region_block(program, op, 1);
    uint32_t last = cond == IR_NONE ? IR_NONE : ir_block_terminator(program, cond);
    uint32_t end = body == IR_NONE ? IR_NONE : ir_block_terminator(program, body);
    char direction[32];
    int64_t start, limit, step;
    if (last == IR_NONE || end == IR_NONE || program->ops[last].operand_count != 1)
        return false;
    uint32_t compare = program->values[ir_operand(program, last, 0)].op;
    if (compare == IR_NONE || program->ops[compare].code != IR_COMPARE)
        return false;
    ir_word(program, compare, "comparison_direction", direction);
    uint32_t counter = ir_operand(program, compare, 0);
    if (direction[0] != 'L' || direction[1] != 'T' || program->values[counter].op != IR_NONE ||
        program->values[counter].block != cond ||
        !constant_of(program, ir_operand(program, compare, 1), &limit))
        return false;
    uint32_t index = program->values[counter].index;
    if (index >= program->ops[end].operand_count ||
        !constant_of(program, ir_operand(program, op, index), &start))
        return false;
    uint32_t next = program->values[ir_operand(program, end, index)].op;
    if (next == IR_NONE || program->ops[next].code != IR_ADD ||
        !constant_of(program, ir_operand(program, next, 1), &step) || step < 1)
        return false;
    *out = limit <= start ? 0 : (uint64_t)((limit - start + step - 1) / step);
    return true;
}

static uint64_t count_block(const struct ir_program *program, uint32_t block, uint32_t *unknown, int depth)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; block != IR_NONE && depth < VERIFY_MAX_DEPTH && k < program->blocks[block].op_count;
         k++) {
        uint32_t op = program->block_ops[program->blocks[block].ops + k];
        const struct ir_op *ir_op = &program->ops[op];
        enum ir_family family = ir_opcode_family((enum ir_opcode)ir_op->code);
        sum = add(sum, verify_op_operations(program, op));
        const struct ir_attr *callee = ir_op->code == IR_CALL ? ir_attr_find(program, op, "callee")
                                       : ir_op->code == IR_COMPOSITE
                                           ? ir_attr_find(program, op, "decomposition")
                                           : NULL;
        uint32_t func = callee && callee->kind == IR_ATTR_SYMBOL
                            ? ir_function(program, ir_string(program, callee->first))
                            : IR_NONE;
        if (func != IR_NONE)
            sum = add(sum, count_block(program, ir_region_block(program, func, 0), unknown, depth + 1));
        if (family != IR_FAMILY_CONTROL && ir_op->code != IR_SDY_MANUAL_COMPUTATION)
            continue;
        uint64_t inner = 0, trips = 1;
        for (uint32_t region = 0; region < ir_op->region_count; region++)
            inner =
                add(inner, count_block(program, ir_region_block(program, op, region), unknown, depth + 1));
        if (ir_op->code == IR_WHILE && !trip_count(program, op, &trips)) {
            trips = 1;
            (*unknown)++;
        }
        sum = add(sum, multiply(inner, trips));
    }
    return sum;
}

uint64_t verify_operations(const struct ir_program *program, uint32_t *unknown_loops)
{
    uint32_t unknown = 0, func = ir_function(program, "main");
    uint64_t sum = func == IR_NONE ? 0 : count_block(program, ir_region_block(program, func, 0), &unknown, 0);
    if (unknown_loops)
        *unknown_loops = unknown;
    return sum;
}

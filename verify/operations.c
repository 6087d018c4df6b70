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

static uint64_t elements(const struct ir_program *p, uint32_t value)
{
    const struct ir_type *t = ir_value_type(p, value);
    uint64_t n = 1;
    if (t->kind != IR_TYPE_TENSOR || (t->flags & IR_TYPE_UNRANKED))
        return 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t size = p->ints[t->ints + i];
        n = multiply(n, size < 0 ? 1 : (uint64_t)size);
    }
    return n;
}

static uint64_t largest(const struct ir_program *p, uint32_t op)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < p->ops[op].operand_count; i++) {
        uint64_t n = elements(p, ir_operand(p, op, i));
        most = n > most ? n : most;
    }
    for (uint32_t i = 0; i < p->ops[op].result_count; i++) {
        uint64_t n = elements(p, ir_result(p, op, i));
        most = n > most ? n : most;
    }
    return most;
}

/* results x window positions */
static uint64_t windows(const struct ir_program *p, uint64_t n, const struct ir_window *w)
{
    for (uint32_t i = 0; i < w->size.count; i++)
        n = multiply(n, (uint64_t)w->size.at[i]);
    return n;
}

static uint64_t log2_above(uint64_t n)
{
    uint64_t bits = 1;
    while (bits < 63 && ((uint64_t)1 << bits) < n)
        bits++;
    return bits;
}

uint64_t verify_op_operations(const struct ir_program *p, uint32_t op)
{
    const struct ir_op *o = &p->ops[op];
    uint64_t out = o->result_count ? elements(p, ir_result(p, op, 0)) : 1;
    struct ir_dot dot;
    struct ir_conv conv;
    struct ir_window window;
    switch ((int)o->code) {
    case IR_DOT:
    case IR_DOT_GENERAL:
        if (ir_dot(p, op, &dot) == 0)
            for (uint32_t i = 0; i < dot.lhs_contract.count; i++)
                out = multiply(out, (uint64_t)ir_type_dims(
                                        p, ir_value_type(p, ir_operand(p, op, 0)))[dot.lhs_contract.at[i]]);
        return multiply(out, 2);
    case IR_CONVOLUTION:
        if (ir_conv(p, op, &conv) == 0)
            out = multiply(
                windows(p, out, &conv.window),
                (uint64_t)ir_type_dims(p, ir_value_type(p, ir_operand(p, op, 1)))[conv.kernel_input]);
        return multiply(out, 2);
    case IR_REDUCE_WINDOW: return ir_reduce_window(p, op, &window) == 0 ? windows(p, out, &window) : out;
    case IR_SELECT_AND_SCATTER:
        return ir_select_and_scatter(p, op, &window) == 0
                   ? add(out, windows(p, elements(p, ir_operand(p, op, 1)), &window))
                   : out;
    case IR_SORT:
    case IR_CHLO_TOP_K: return multiply(largest(p, op), log2_above(largest(p, op)));
    case IR_CHOLESKY:
    case IR_TRIANGULAR_SOLVE:
    case IR_FFT:
        return multiply(
            largest(p, op),
            (uint64_t)ir_type_dims(
                p, ir_value_type(p, ir_result(p, op, 0)))[ir_value_type(p, ir_result(p, op, 0))->rank - 1]);
    default: return largest(p, op);
    }
}

/* ---------------------------------------------------------------- trip counts */
/* the integer that a scalar constant holds, also behind converts and reshapes */
static bool constant_of(const struct ir_program *p, uint32_t value, int64_t *out)
{
    for (int depth = 0; depth < 8; depth++) {
        uint32_t op = p->values[value].op;
        if (op == IR_NONE)
            return false;
        const struct ir_attr *dense = ir_attr_find(p, op, "value");
        if (p->ops[op].code == IR_CONSTANT && dense && dense->kind == IR_ATTR_DENSE &&
            elements(p, value) == 1) {
            *out = ir_constant_int(p, dense, 0);
            return true;
        }
        if (p->ops[op].code != IR_CONVERT && p->ops[op].code != IR_RESHAPE)
            return false;
        value = ir_operand(p, op, 0);
    }
    return false;
}

/* The turns of a loop whose condition is `i < n` with a constant n, where i starts at a constant and grows
 * by a constant: what a scan looks like. */
static bool trip_count(const struct ir_program *p, uint32_t op, uint64_t *out)
{
    uint32_t cond = ir_region_block(p, op, 0), body = ir_region_block(p, op, 1);
    uint32_t last = cond == IR_NONE ? IR_NONE : ir_block_terminator(p, cond);
    uint32_t end = body == IR_NONE ? IR_NONE : ir_block_terminator(p, body);
    char direction[32];
    int64_t start, limit, step;
    if (last == IR_NONE || end == IR_NONE || p->ops[last].operand_count != 1)
        return false;
    uint32_t compare = p->values[ir_operand(p, last, 0)].op;
    if (compare == IR_NONE || p->ops[compare].code != IR_COMPARE)
        return false;
    ir_word(p, compare, "comparison_direction", direction);
    uint32_t counter = ir_operand(p, compare, 0);
    if (direction[0] != 'L' || direction[1] != 'T' || p->values[counter].op != IR_NONE ||
        p->values[counter].block != cond || !constant_of(p, ir_operand(p, compare, 1), &limit))
        return false;
    uint32_t index = p->values[counter].index;
    if (index >= p->ops[end].operand_count || !constant_of(p, ir_operand(p, op, index), &start))
        return false;
    uint32_t next = p->values[ir_operand(p, end, index)].op;
    if (next == IR_NONE || p->ops[next].code != IR_ADD || !constant_of(p, ir_operand(p, next, 1), &step) ||
        step < 1)
        return false;
    *out = limit <= start ? 0 : (uint64_t)((limit - start + step - 1) / step);
    return true;
}

static uint64_t count_block(const struct ir_program *p, uint32_t block, uint32_t *unknown, int depth)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; block != IR_NONE && depth < VERIFY_MAX_DEPTH && k < p->blocks[block].op_count; k++) {
        uint32_t op = p->block_ops[p->blocks[block].ops + k];
        const struct ir_op *o = &p->ops[op];
        enum ir_family family = ir_opcode_family((enum ir_opcode)o->code);
        sum = add(sum, verify_op_operations(p, op));
        const struct ir_attr *callee = o->code == IR_CALL        ? ir_attr_find(p, op, "callee")
                                       : o->code == IR_COMPOSITE ? ir_attr_find(p, op, "decomposition")
                                                                 : NULL;
        uint32_t func =
            callee && callee->kind == IR_ATTR_SYMBOL ? ir_function(p, ir_string(p, callee->first)) : IR_NONE;
        if (func != IR_NONE)
            sum = add(sum, count_block(p, ir_region_block(p, func, 0), unknown, depth + 1));
        if (family != IR_FAMILY_CONTROL && o->code != IR_SDY_MANUAL_COMPUTATION)
            continue;
        uint64_t inner = 0, trips = 1;
        for (uint32_t r = 0; r < o->region_count; r++)
            inner = add(inner, count_block(p, ir_region_block(p, op, r), unknown, depth + 1));
        if (o->code == IR_WHILE && !trip_count(p, op, &trips)) {
            trips = 1;
            (*unknown)++;
        }
        sum = add(sum, multiply(inner, trips));
    }
    return sum;
}

uint64_t verify_operations(const struct ir_program *p, uint32_t *unknown_loops)
{
    uint32_t unknown = 0, func = ir_function(p, "main");
    uint64_t sum = func == IR_NONE ? 0 : count_block(p, ir_region_block(p, func, 0), &unknown, 0);
    if (unknown_loops)
        *unknown_loops = unknown;
    return sum;
}

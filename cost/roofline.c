/* Facts of ops (once a program) and the time of every step.
 *
 * A dot or convolution takes max(FLOPs / rate, bytes / bandwidth), or where the backend says so FLOPs and a
 * share of the bytes; every other kernel its bytes / bandwidth, or its arithmetic (effort.c); all plus the
 * launch of a kernel. FLOPs on a device are the whole op's divided by the size of every axis that shards one
 * of its factors: an iteration space is the product of its factors. */
#include "cost/effort.h"
#include "cost/internal.h"
#include "cost/joining.h"
#include "ir/attrs.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- facts of ops */
static double dot_flops(const struct ir_program *program, uint32_t op)
{
    struct ir_dot dot;
    if (ir_dot(program, op, &dot) != 0)
        return 0;
    const struct ir_type *lhs = ir_value_type(program, ir_operand(program, op, 0));
    double flops = 2.0 * (double)ir_type_elements(program, ir_value_type(program, ir_result(program, op, 0)));
    for (uint32_t i = 0; i < dot.lhs_contract.count; i++)
        flops *= (double)ir_type_dims(program, lhs)[dot.lhs_contract.at[i]];
    return flops;
}

/* two FLOPs for every output element and kernel element of its output feature; zeros of a dilated input are
 * skipped */
static double convolution_flops(const struct ir_program *program, uint32_t op)
{
    struct ir_conv conv;
    if (ir_conv(program, op, &conv) != 0)
        return 0;
    const struct ir_type *kernel = ir_value_type(program, ir_operand(program, op, 1));
    int64_t features = ir_type_dims(program, kernel)[conv.kernel_output];
    double flops = 2.0 * (double)ir_type_elements(program, ir_value_type(program, ir_result(program, op, 0)));
    flops *= (double)ir_type_elements(program, kernel) / (double)(features > 0 ? features : 1);
    for (uint32_t i = 0; i < conv.window.base_dilation.count; i++)
        if (conv.window.base_dilation.at[i] > 1)
            flops /= (double)conv.window.base_dilation.at[i];
    return flops;
}

static uint8_t windows_of(const struct ir_program *program, uint32_t op)
{
    struct ir_conv conv;
    uint8_t windows = WINDOW_ANY;
    if (ir_conv(program, op, &conv) != 0)
        return 0;
    for (uint32_t i = 0; i < conv.window.stride.count; i++)
        windows |= conv.window.stride.at[i] > 1 ? WINDOW_APART : 0;
    return windows;
}

/* the words HIGH, HIGHEST of precision_config, the same for both operands in practice: the higher counts */
static int precision(const struct ir_program *program, uint32_t op)
{
    int level = 0;
    const struct ir_attr *attr = ir_attr_find(program, op, "precision_config");
    if (!attr || attr->kind != IR_ATTR_ARRAY)
        return 0;
    for (uint32_t i = 0; i < attr->count; i++) {
        const struct ir_attr *item = &program->attrs[attr->first + i];
        if (item->kind != IR_ATTR_TEXT && item->kind != IR_ATTR_STRING)
            continue;
        const char *word = ir_string(program, item->first);
        int found = strstr(word, "HIGHEST") ? 2 : strstr(word, "HIGH") ? 1 : 0;
        level = found > level ? found : level;
    }
    return level;
}

static enum cost_rate matmul_rate(const struct ir_program *program, uint32_t op)
{
    enum ir_element e = (enum ir_element)ir_value_type(program, ir_operand(program, op, 0))->element;
    unsigned bits = ir_element_bits(e);
    if (e == IR_F64 || e == IR_C128)
        return COST_RATE_F64;
    if (e == IR_F32 || e == IR_C64 || e == IR_TF32)
        return precision(program, op) == 0 ? COST_RATE_TF32 : COST_RATE_F32;
    if (e == IR_BF16)
        return COST_RATE_BF16;
    if (e == IR_F16)
        return COST_RATE_F16;
    if (ir_element_is_float(e))
        return bits <= 8 ? COST_RATE_F8 : COST_RATE_BF16;
    return bits <= 8 ? COST_RATE_I8 : COST_RATE_F32;
}

static bool costly_elementwise(uint16_t code)
{
    static const uint16_t cheap[] = {IR_ABS,
                                     IR_ADD,
                                     IR_AND,
                                     IR_CEIL,
                                     IR_CLAMP,
                                     IR_FLOOR,
                                     IR_MAXIMUM,
                                     IR_MINIMUM,
                                     IR_MULTIPLY,
                                     IR_NEGATE,
                                     IR_NOT,
                                     IR_OR,
                                     IR_SELECT,
                                     IR_SIGN,
                                     IR_SUBTRACT,
                                     IR_XOR,
                                     IR_SHIFT_LEFT,
                                     IR_SHIFT_RIGHT_ARITHMETIC,
                                     IR_SHIFT_RIGHT_LOGICAL,
                                     IR_CHLO_SQUARE};
    for (size_t i = 0; i < sizeof cheap / sizeof cheap[0]; i++)
        if (cheap[i] == code)
            return false;
    return true;
}

/* Does it read at most one array of its own size, broadcasts and constants apart? Then computing it again in
 * every kernel that uses it reads no more than reading the result would. */
static bool reads_one_array(const struct ir_program *program, uint32_t op)
{
    uint32_t seen = IR_NONE;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint32_t value = ir_operand(program, op, i), by = program->values[value].op;
        enum ir_family family =
            by == IR_NONE ? IR_FAMILY_UNKNOWN : ir_opcode_family((enum ir_opcode)program->ops[by].code);
        if (family == IR_FAMILY_BROADCAST || family == IR_FAMILY_CONSTANT || family == IR_FAMILY_IOTA ||
            value == seen)
            continue;
        if (seen != IR_NONE)
            return false;
        seen = value;
    }
    return true;
}

static bool reduces_short_row(const struct ir_program *program, uint32_t op)
{
    struct ir_dims dims;
    if (program->ops[op].code != IR_REDUCE || program->ops[op].result_count != 1 ||
        ir_dims(program, op, "dimensions", &dims) != 0 || dims.count != 1)
        return false;
    const struct ir_type *from = ir_value_type(program, ir_operand(program, op, 0));
    return dims.at[0] == (int64_t)from->rank - 1 && ir_type_dims(program, from)[dims.at[0]] <= ROW_MOST;
}

/* of one array, over outer dimensions alone */
static bool leaves_columns(const struct ir_program *program, uint32_t op)
{
    struct ir_dims dims;
    if (program->ops[op].code != IR_REDUCE || program->ops[op].result_count != 1 ||
        ir_dims(program, op, "dimensions", &dims) != 0)
        return false;
    int64_t innermost = (int64_t)ir_value_type(program, ir_operand(program, op, 0))->rank - 1;
    bool outer = innermost > 0;
    for (uint32_t i = 0; i < dims.count; i++)
        outer &= dims.at[i] != innermost;
    return outer;
}

/* over dimensions of one element, of one array: what differentiating a broadcast leaves */
static bool reduces_nothing(const struct ir_program *program, uint32_t op)
{
    struct ir_dims dims;
    if (program->ops[op].code != IR_REDUCE || program->ops[op].result_count != 1 ||
        ir_dims(program, op, "dimensions", &dims) != 0)
        return false;
    const int64_t *extents = ir_type_dims(program, ir_value_type(program, ir_operand(program, op, 0)));
    for (uint32_t i = 0; i < dims.count; i++)
        if (extents[dims.at[i]] != 1)
            return false;
    return true;
}

/* one element a row: every dimension but one is a batch's, and windows have none */
static bool scatters_elements(const struct ir_program *program, uint32_t op)
{
    struct ir_scatter scatter;
    if (program->ops[op].code != IR_SCATTER || ir_scatter(program, op, &scatter) != 0)
        return false;
    const struct ir_type *into = ir_value_type(program, ir_operand(program, op, 0)),
                         *updates = ir_value_type(program, ir_operand(program, op, 2));
    return scatter.input_count == 1 && scatter.update_window_dims.count == 0 &&
           scatter.inserted_window_dims.count == 1 && scatter.input_batch.count + 1 == into->rank &&
           updates->rank <= into->rank;
}

enum { SCORE_HOPS = 8 }; /* ops between a product and its scores: more is no attention */
enum product_order { PRODUCT_NONE, PRODUCT_AS_MADE, PRODUCT_TURNED };

/* the product that a value is computed from elementwise, or the transpose that stands behind it */
static enum product_order product_of_scores(const struct ir_program *program, uint32_t value, int hops)
{
    uint32_t by = program->values[value].op;
    if (by == IR_NONE || !hops)
        return PRODUCT_NONE;
    enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[by].code);
    if (family == IR_FAMILY_DOT || family == IR_FAMILY_TRANSPOSE)
        return family == IR_FAMILY_DOT ? PRODUCT_AS_MADE : PRODUCT_TURNED;
    enum product_order found = PRODUCT_NONE;
    for (uint32_t i = 0; i < program->ops[by].operand_count && family != IR_FAMILY_BROADCAST && !found; i++)
        found = product_of_scores(program, ir_operand(program, by, i), hops - 1);
    return found;
}

/* of a broadcast: the dimension that it adds between two of its operand's (keys that several heads share);
 * 0: none */
static uint8_t repeated_dim(const struct ir_program *program, uint32_t op)
{
    struct ir_dims dims;
    if (program->ops[op].code != IR_BROADCAST_IN_DIM ||
        ir_dims(program, op, "broadcast_dimensions", &dims) != 0)
        return 0;
    for (uint32_t i = 0; i + 1 < dims.count; i++)
        if (dims.at[i + 1] == dims.at[i] + 2)
            return (uint8_t)(dims.at[i] + 1);
    return 0;
}

/* An exponential of scores (less their row's maximum, float32), in the order in which their product makes
 * them: product, mask or other arithmetic, maximum, exponential and sum can be one kernel. Not of what was
 * converted right before: that is stored as it was. */
static bool is_of_scores(const struct ir_program *program, uint32_t op)
{
    const struct ir_type *type = ir_value_type(program, ir_result(program, op, 0));
    if (program->ops[op].code != IR_EXPONENTIAL || type->element != IR_F32 || type->rank < 3 ||
        ir_type_dims(program, type)[type->rank - 1] > SCORES_MOST)
        return false;
    uint32_t by = program->values[ir_operand(program, op, 0)].op;
    if (by == IR_NONE || program->ops[by].code != IR_SUBTRACT)
        return false;
    uint32_t scores = ir_operand(program, by, 0);
    by = program->values[scores].op;
    if (by == IR_NONE || program->ops[by].code == IR_CONVERT)
        return false;
    enum product_order order = product_of_scores(program, scores, SCORE_HOPS);
    return order == PRODUCT_AS_MADE || (order == PRODUCT_NONE && program->ops[by].code == IR_SELECT);
}

/* A rectifier's mask of rows alone. libtpu packs a mask's bits along a dimension outside of the two
 * innermost; where there is none what it is compared from is stored instead. */
enum { ROWS_RANK = 2 };
static bool is_mask_of_rows(const struct ir_program *program, uint32_t op)
{
    const struct ir_type *type = ir_value_type(program, ir_result(program, op, 0));
    return program->ops[op].code == IR_COMPARE && type->rank <= ROWS_RANK;
}

/* x less what a short row of x was reduced to; between the two only what gives the row x's shape again */
static bool is_centred(const struct ir_program *program, uint32_t op)
{
    if (program->ops[op].code != IR_SUBTRACT || program->ops[op].operand_count != 2)
        return false;
    uint32_t by = program->values[ir_operand(program, op, 1)].op;
    while (by != IR_NONE && program->ops[by].code != IR_REDUCE) {
        enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[by].code);
        uint32_t through = program->ops[by].code == IR_MAXIMUM ? 1 : 0; /* of the row and -inf */
        if (family != IR_FAMILY_BROADCAST && family != IR_FAMILY_RESHAPE && !through)
            return false;
        by = program->values[ir_operand(program, by, through)].op;
    }
    return by != IR_NONE && ir_operand(program, by, 0) == ir_operand(program, op, 0) &&
           reduces_short_row(program, by);
}

enum { NORMAL_HOPS = 8 }; /* ops from a row's reduction to the factor of its elements */

/* a broadcast of what is computed elementwise from a row's reduction */
static bool is_of_row(const struct ir_program *program, uint32_t value)
{
    uint32_t by = program->values[value].op;
    bool wide = false;
    for (int hop = 0; hop < NORMAL_HOPS && by != IR_NONE; hop++) {
        enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[by].code);
        if (program->ops[by].code == IR_REDUCE)
            return wide && reduces_short_row(program, by);
        if (family != IR_FAMILY_BROADCAST && family != IR_FAMILY_RESHAPE && family != IR_FAMILY_ELEMENTWISE)
            return false;
        wide |= family == IR_FAMILY_BROADCAST;
        by = program->values[ir_operand(program, by, 0)].op;
    }
    return false;
}

static bool is_made_by(const struct ir_program *program, uint32_t value, uint16_t code)
{
    uint32_t by = program->values[value].op;
    return by != IR_NONE && program->ops[by].code == code;
}

/* (x - mean) * f(variance), or that in another element type: what a layer norm has before its gain */
static bool is_normal(const struct ir_program *program, uint32_t op)
{
    uint16_t code = program->ops[op].code;
    if (code == IR_CONVERT && is_made_by(program, ir_operand(program, op, 0), IR_MULTIPLY))
        return is_normal(program, program->values[ir_operand(program, op, 0)].op);
    for (uint32_t i = 0; code == IR_MULTIPLY && i < 2; i++) {
        uint32_t centred = ir_operand(program, op, i);
        if (is_made_by(program, centred, IR_SUBTRACT) && is_of_row(program, ir_operand(program, op, 1 - i)))
            return is_of_row(program, ir_operand(program, program->values[centred].op, 1));
    }
    return false;
}

static uint8_t batch_dims(const struct ir_program *program, uint32_t op)
{
    struct ir_dot dot;
    return ir_dot(program, op, &dot) == 0 ? (uint8_t)dot.lhs_batch.count : 0;
}

/* bits: is operand 0, is operand 1, is the result (4) a row of matrices with one dimension each way? */
static uint8_t stacked_matrices(const struct ir_program *program, uint32_t op)
{
    struct ir_dot dot;
    if (ir_dot(program, op, &dot) != 0 || dot.lhs_batch.count != 1)
        return 0;
    bool left = ir_value_type(program, ir_operand(program, op, 0))->rank == dot.lhs_contract.count + 2,
         right = ir_value_type(program, ir_operand(program, op, 1))->rank == dot.rhs_contract.count + 2,
         single = dot.lhs_contract.count == 1;
    return (uint8_t)((left && single) | (right && single) << 1 | (left && right) << 2);
}

static bool reads_more_than_matrices(const struct ir_program *program, uint32_t op)
{
    bool more = false;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++)
        more |= ir_value_type(program, ir_operand(program, op, i))->rank > 2;
    return more;
}

static enum op_class elementwise_class(uint16_t code)
{
    return code == IR_CONVERT || code == IR_COMPARE || code == IR_REAL || code == IR_IMAG ? OP_CHEAP
                                                                                          : OP_ELEMENTWISE;
}

static enum op_class family_class(enum ir_family family, uint16_t code)
{
    switch (family) {
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_CONTROL: return OP_NOTHING;
    case IR_FAMILY_CONSTANT:
    case IR_FAMILY_IOTA: return OP_FREE;
    case IR_FAMILY_RESHAPE:
    case IR_FAMILY_BARRIER:
    case IR_FAMILY_SHARDY: return OP_ALIAS;
    case IR_FAMILY_TRANSPOSE: return OP_TRANSPOSE;
    case IR_FAMILY_BITCAST:
    case IR_FAMILY_BROADCAST:
    case IR_FAMILY_REVERSE:
    case IR_FAMILY_PAD: return OP_CHEAP;
    case IR_FAMILY_SLICE:
    case IR_FAMILY_DYNAMIC_SLICE: return OP_CUT;
    case IR_FAMILY_ELEMENTWISE: return elementwise_class(code);
    case IR_FAMILY_REDUCE:
    case IR_FAMILY_REDUCE_WINDOW: return OP_REDUCE;
    case IR_FAMILY_GATHER: return OP_GATHER;
    case IR_FAMILY_SCATTER:
    case IR_FAMILY_DYNAMIC_UPDATE: return OP_UPDATE;
    case IR_FAMILY_DOT:
    case IR_FAMILY_CONVOLUTION: return OP_MATMUL;
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILY_BATCH_NORM:
    case IR_FAMILY_CONCATENATE:
    case IR_FAMILY_SORT:
    case IR_FAMILY_RNG:
    case IR_FAMILY_LINALG:
    case IR_FAMILY_CUSTOM_CALL:
    case IR_FAMILY_COLLECTIVE:
    case IR_FAMILIES: break;
    }
    return OP_OTHER;
}

static struct op_info describe_op(const struct ir_program *program, uint32_t op)
{
    const struct ir_op *ir_op = &program->ops[op];
    enum ir_family family = ir_opcode_family((enum ir_opcode)ir_op->code);
    struct op_info info = {.class = (uint8_t)family_class(family, ir_op->code)};
    if (info.class == OP_ALIAS && ir_op->operand_count != ir_op->result_count)
        info.class = OP_OTHER;
    if (price_only_multiplies(program, op))
        info.class = OP_ELEMENTWISE;
    info.in_place = family == IR_FAMILY_ELEMENTWISE || info.class == OP_UPDATE || info.class == OP_ALIAS;
    if (info.class == OP_ELEMENTWISE)
        info.repeatable = !costly_elementwise(ir_op->code) && reads_one_array(program, op);
    info.effort = price_effort_of(ir_op->code);
    info.work = price_work_of(program, op);
    info.passes = price_passes_of(program, op);
    info.short_row = info.class == OP_REDUCE && reduces_short_row(program, op);
    info.columns = info.class == OP_REDUCE && leaves_columns(program, op);
    info.idle = info.class == OP_REDUCE && reduces_nothing(program, op);
    info.scores = is_of_scores(program, op);
    info.pools = family == IR_FAMILY_REDUCE_WINDOW;
    info.row_mask = is_mask_of_rows(program, op);
    info.joins = family == IR_FAMILY_CONCATENATE;
    info.barrier = family == IR_FAMILY_BARRIER && info.class == OP_ALIAS;
    info.repeats = repeated_dim(program, op);
    info.picks = info.class == OP_UPDATE && scatters_elements(program, op);
    info.centred = is_centred(program, op);
    info.normal = is_normal(program, op);
    if (info.class == OP_MATMUL) {
        info.dot = family == IR_FAMILY_DOT;
        info.reshapes = info.dot && reads_more_than_matrices(program, op);
        info.batch_dims = family == IR_FAMILY_DOT ? batch_dims(program, op) : 0;
        info.stacked = family == IR_FAMILY_DOT ? stacked_matrices(program, op) : 0;
        info.flops = family == IR_FAMILY_DOT ? dot_flops(program, op) : convolution_flops(program, op);
        info.rate = (uint8_t)matmul_rate(program, op);
        info.windows = family == IR_FAMILY_CONVOLUTION ? windows_of(program, op) : 0;
    }
    if (info.class == OP_UPDATE) {
        info.update = family == IR_FAMILY_DYNAMIC_UPDATE ? 1 : 2;
        if (ir_op->operand_count <= info.update || ir_op->result_count != 1)
            info.class = OP_OTHER;
    }
    return info;
}

/* Donation, as XLA takes it: tf.aliasing_output names the result; a jax.buffer_donor goes to the first free
 * result of its type. */
static void find_donations(struct price_program *out)
{
    const struct nda *n = out->nda;
    const struct ir_program *program = n->program;
    const struct ir_block *body = &program->blocks[n->block];
    uint32_t back = ir_block_terminator(program, n->block),
             results = back == IR_NONE ? 0 : program->ops[back].operand_count;
    out->alias_result = mem_alloc(((size_t)body->arg_count + 1) * sizeof *out->alias_result);
    out->alias_argument = mem_alloc(((size_t)results + 1) * sizeof *out->alias_argument);
    out->donated = mem_zalloc((size_t)body->arg_count + 1, 1);
    memset(out->alias_argument, 0xff, ((size_t)results + 1) * sizeof *out->alias_argument);
    for (uint32_t arg = 0; arg < body->arg_count; arg++) {
        out->alias_result[arg] = NDA_NONE;
        const struct ir_attr *attrs = ir_function_arg_attrs(program, n->function, arg);
        const struct ir_attr *to = attrs ? ir_attr_entry(program, attrs, "tf.aliasing_output") : NULL;
        if (to && to->kind == IR_ATTR_INT && to->value >= 0 && to->value < results &&
            out->alias_argument[to->value] == NDA_NONE) {
            out->alias_result[arg] = (uint32_t)to->value;
            out->alias_argument[to->value] = arg;
            out->donated[arg] = 1;
        }
    }
    for (uint32_t arg = 0; arg < body->arg_count; arg++) {
        const struct ir_attr *attrs = ir_function_arg_attrs(program, n->function, arg);
        if (out->donated[arg] || !attrs || !ir_attr_entry(program, attrs, "jax.buffer_donor"))
            continue;
        out->donated[arg] = 1;
        for (uint32_t r = 0; r < results; r++)
            if (out->alias_argument[r] == NDA_NONE && program->values[ir_operand(program, back, r)].type ==
                                                          program->values[body->args + arg].type) {
                out->alias_result[arg] = r;
                out->alias_argument[r] = arg;
                break;
            }
    }
}

struct price_program *price_program_create(const struct nda *n)
{
    struct price_program *program = mem_zalloc(1, sizeof *program);
    program->nda = n;
    program->ops = mem_zalloc((size_t)n->program->op_count + 1, sizeof *program->ops);
    for (uint32_t op = 0; op < n->program->op_count; op++) {
        program->ops[op] = describe_op(n->program, op);
        program->has_barriers |= program->ops[op].barrier;
    }
    price_find_arguments_of_erfc(program);
    find_donations(program);
    price_find_epilogues(program);
    price_find_turns(program);
    price_find_updates(program);
    price_find_added(program);
    price_find_congruent(program);
    price_find_outer(program);
    return program;
}

void price_program_destroy(struct price_program *program)
{
    if (!program)
        return;
    free(program->ops);
    free(program->alias_result);
    free(program->alias_argument);
    free(program->donated);
    free(program);
}

/* ---------------------------------------------------------------- times of steps */
struct price_rates price_rates_of(const struct cost_machine *machine)
{
    struct price_rates rates = {.weight = machine->fusion_weight, .launch_ps = machine->device.launch_ps};
    const struct cost_backend *backend = machine->backend;
    rates.columns_ps = backend->fusion & COST_FUSE_COLUMNS ? backend->columns_ps : 0;
    /* a profile's rates are what was achieved: over the device's own share they come out as they are */
    double fraction = backend->matmul_fraction > 0 && !machine->measured_flops
                          ? backend->matmul_fraction
                          : machine->device.flops_fraction;
    rates.matmul_bytes = backend->matmul_bytes;
    rates.matmul_fixed_ps = machine->volume_only       ? 0
                            : backend->matmul_fixed_ps ? backend->matmul_fixed_ps
                                                       : machine->device.launch_ps;
    for (int i = 0; i < COST_RATES; i++)
        rates.ps_per_flop[i] = 1e12 / (machine->device.rate_flops[i] * fraction);
    rates.ps_per_byte = 1e12 / (machine->device.memory_bytes_per_s * machine->device.memory_fraction);
    return rates;
}

/* bytes that a kernel moves: the buffers it reads and the results it writes */
static double kernel_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct kernel *k)
{
    const struct spmd_step *step = &local->steps[k->step];
    const struct op_info *info = step->kind == SPMD_OP ? step_info(scratch, step) : NULL;
    int64_t read = 0, write = 0;
    const struct root *roots = scratch->pool + k->roots;
    for (uint32_t i = 0; i < k->root_count; i++)
        read += roots[i].bytes;
    for (uint32_t i = 0; i < step->result_count; i++)
        write += stored_bytes(scratch, local, step->results + i);
    if (info && info->class == OP_UPDATE) { /* the block; all of it only where it is copied first */
        int64_t block = local->values[local->operands[step->operands + info->update]].bytes;
        return 2.0 * (double)block + (price_copies_operand(scratch, local, step) ? 2.0 * (double)write : 0);
    }
    return (double)read + (double)write;
}

/* The bytes that a device moves while a kernel computes, or more where it does not move them at full
 * speed. */
static double with_arithmetic(const struct price_scratch *scratch, const struct spmd_local *local,
                              const struct spmd_step *step, double bytes)
{
    const struct op_info *info = step->kind == SPMD_OP ? step_info(scratch, step) : NULL;
    bool makes = step->result_count && info && info->class != OP_UPDATE && info->class != OP_REDUCE;
    int64_t counted = scratch->work[step - local->steps];
    double work = counted < 0 ? scratch->kernel_bytes.rows * (double)(counted - PRICE_ROWS_WORK)
                              : scratch->effort_scale * (double)counted,
           least = makes ? scratch->kernel_bytes.element * (double)value_elements(local, step->results) : 0;
    work = work > least ? work : least;
    bytes *= info ? info->passes : 1;
    return bytes > work ? bytes : work;
}

/* a kernel that is no matmul */
static int64_t local_time(const struct price_scratch *scratch, const struct spmd_local *local,
                          const struct kernel *k, const struct price_rates *rates)
{
    const struct spmd_step *step = &local->steps[k->step];
    double bytes = kernel_bytes(scratch, local, k) - (double)k->shared_bytes;
    bool columns = step->kind == SPMD_OP && step_info(scratch, step)->columns;
    int64_t fixed = k->shared_bytes ? 0 : rates->launch_ps + (columns ? rates->columns_ps : 0);
    if (scratch->rules & COST_FUSE_WORK)
        bytes = with_arithmetic(scratch, local, step, bytes);
    return cost_round_ps(rates->weight * (bytes * rates->ps_per_byte + (double)fixed));
}

/* Blocks that are put in order are read and written. A matrix is not: a dot reads it in either order. */
static int64_t copy_time(const struct price_scratch *scratch, const struct spmd_local *local,
                         const struct spmd_step *step, const struct price_rates *rates)
{
    if (ir_value_type(local->nda->program, local->values[step->results].origin)->rank <= 2)
        return 0;
    return cost_round_ps(rates->weight * 2.0 * (double)price_ordered_copy(scratch, local, step) *
                         rates->ps_per_byte);
}

static int64_t matmul_time(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct kernel *k, const struct price_rates *rates)
{
    const struct spmd_step *step = &local->steps[k->step];
    const struct op_info *info = step_info(scratch, step);
    double flops = info->flops;
    if (step->cells != SPMD_NONE)
        for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++)
            if (local->cells[step->cells + axis].factor != NDA_NO_FACTOR)
                flops /= (double)local->mesh->axes[axis].size;
    double compute = flops * rates->ps_per_flop[info->rate],
           memory = kernel_bytes(scratch, local, k) * rates->ps_per_byte;
    return price_matmul_ps(rates, compute, memory);
}

static enum tuple_place place_of(const struct spmd_local *local, uint32_t step)
{
    uint32_t tuple = local->steps[step].combined;
    if (!tuple)
        return TUPLE_NONE;
    return step > 0 && local->steps[step - 1].combined == tuple ? TUPLE_NEXT : TUPLE_FIRST;
}

void price_times(struct price_scratch *scratch, const struct spmd_local *local,
                 const struct cost_machine *machine)
{
    struct price_rates rates = price_rates_of(machine);
    struct joining joining = {.count = 0};
    bool copies = scratch->rules & COST_FUSE_COPIES;
    if (machine->backend->hides)
        price_find_looped(scratch, local);
    price_note_weights(scratch, local);
    for (size_t i = 0; i < scratch->kernel_count; i++) {
        struct kernel *k = &scratch->kernels[i];
        const struct spmd_step *step = &local->steps[k->step];
        k->apart_ps = 0;
        if (spmd_step_is_collective(step)) {
            price_note_beside(scratch, local, machine, (uint32_t)i, &joining);
            price_collective(scratch, local, machine, scratch->kernels, (uint32_t)i, place_of(local, k->step),
                             &joining);
            k->copy_ps = copies ? copy_time(scratch, local, step, &rates) : 0;
        } else if (step->kind == SPMD_OP && step_info(scratch, step)->class == OP_MATMUL) {
            k->copy_ps = scratch->rules & COST_FUSE_STRIDED
                             ? cost_round_ps((double)price_strided_bytes(scratch, local, step) *
                                             rates.ps_per_byte * rates.weight)
                             : 0;
            k->ps = matmul_time(scratch, local, k, &rates) + k->copy_ps;
        } else if (step_is_local(step->kind)) {
            k->ps = local_time(scratch, local, k, &rates);
            if (k->traits & KERNEL_ROWS)
                k->apart_ps = k->ps;
            if (scratch->rules & COST_FUSE_BATCHED) {
                int64_t copies_ps = cost_round_ps((double)price_turned_bytes(scratch, local, k) *
                                                  rates.ps_per_byte * rates.weight);
                k->ps += copies_ps;
                k->apart_ps += copies_ps;
            }
        } else if (!k->looped) {
            joining.count = joining.chain_last = 0; /* nothing is combined across a mark */
        }
        if (k->looped)
            k->apart_ps = k->ps; /* XLA's schedule takes the whole loop as free */
    }
}

/* Inputs that make a comparison mean something: indices in range, optimizer moments that Adam could have,
 * positive numbers under roots and logarithms (verify_hints and verify_inputs in prove.h).
 *
 * What an argument is for is found by walking backwards, from the ops that reveal it (the indices of a
 * gather, roots and powers, divisions by square roots) through ops that hand a value on. A wrong guess
 * makes a proof weaker or leaves it without a verdict (NaN), never wrong: both programs get the same
 * inputs. */
#include "verify/prove.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "verify/value.h"

/* A walk goes through at most DEPTH ops and takes at most STEPS steps, so that a program whose values fan
 * out again and again costs no more than a linear one. What lies further away is not recognised. */
enum { DEPTH = 24, STEPS = 4096 };

struct tracer {
    const struct ir_program *program;
    uint32_t block; /* of @main */
    struct verify_hint *hints;
    unsigned char *simple; /* argument: every use multiplies it by a scalar */
    uint32_t steps;        /* of the current walk, bounded */
};

static int64_t count_of(const struct ir_program *program, uint32_t value)
{
    const struct ir_type *type = ir_value_type(program, value);
    return type->kind == IR_TYPE_TENSOR ? ir_type_elements(program, type) : 1;
}

/* the value handed on unchanged into a loop's or branch's region, or IR_NONE */
static uint32_t outside(const struct ir_program *program, uint32_t value)
{
    const struct ir_value *ir_value = &program->values[value];
    const struct ir_block *block = &program->blocks[ir_value->block];
    uint32_t op = program->regions[block->region].op;
    return program->ops[op].code == IR_WHILE && ir_value->index < program->ops[op].operand_count
               ? ir_operand(program, op, ir_value->index)
               : IR_NONE;
}

static bool is_argument(const struct tracer *tracer, uint32_t value)
{
    return tracer->program->values[value].op == IR_NONE &&
           tracer->program->values[value].block == tracer->block;
}

bool verify_scalar_like(const struct ir_program *program, uint32_t value)
{
    for (int depth = 0; depth < DEPTH; depth++) {
        uint32_t op = program->values[value].op;
        if (count_of(program, value) == 1)
            return true;
        if (op == IR_NONE)
            return false;
        if (program->ops[op].code == IR_CONSTANT) {
            const struct ir_attr *attr = ir_attr_find(program, op, "value");
            return attr && attr->kind == IR_ATTR_DENSE && program->constants[attr->first].splat;
        }
        if (program->ops[op].code != IR_BROADCAST_IN_DIM && program->ops[op].code != IR_CONVERT &&
            program->ops[op].code != IR_RESHAPE)
            return false;
        value = ir_operand(program, op, 0);
    }
    return false;
}

/* ---------------------------------------------------------------- indices */
static void bound(struct tracer *tracer, uint32_t value, int64_t limit, int depth);

static void bound_operands(struct tracer *tracer, uint32_t op, uint32_t first, uint32_t end, int64_t limit,
                           int depth)
{
    for (uint32_t i = first; i < end && i < tracer->program->ops[op].operand_count; i++)
        bound(tracer, ir_operand(tracer->program, op, i), limit, depth + 1);
}

/* Notes for every integer argument that reaches `value` that it should stay below `limit`. */
static void bound(struct tracer *tracer, uint32_t value, int64_t limit, int depth)
{
    uint32_t op = tracer->program->values[value].op;
    if (depth > DEPTH || limit < 1 || ++tracer->steps > STEPS)
        return;
    if (op == IR_NONE) {
        uint32_t from = is_argument(tracer, value) ? IR_NONE : outside(tracer->program, value);
        if (from != IR_NONE)
            bound(tracer, from, limit, depth + 1);
        if (!is_argument(tracer, value))
            return;
        struct verify_hint *hint = &tracer->hints[tracer->program->values[value].index];
        hint->bound = hint->bound == 0 || limit < hint->bound ? limit : hint->bound;
        return;
    }
    switch ((int)tracer->program->ops[op].code) {
    case IR_CONVERT:
    case IR_RESHAPE:
    case IR_BROADCAST_IN_DIM:
    case IR_TRANSPOSE:
    case IR_SLICE:
    case IR_REVERSE:
    case IR_DYNAMIC_SLICE:
    case IR_PAD: bound_operands(tracer, op, 0, 1, limit, depth); break;
    case IR_SELECT: bound_operands(tracer, op, 1, 3, limit, depth); break;
    case IR_CLAMP: bound_operands(tracer, op, 1, 2, limit, depth); break;
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_MAXIMUM:
    case IR_MINIMUM:
    case IR_CONCATENATE:
    case IR_OPTIMIZATION_BARRIER:
    case IR_SDY_SHARDING_CONSTRAINT:
        bound_operands(tracer, op, 0, tracer->program->ops[op].operand_count, limit, depth);
        break;
    default: break;
    }
}

/* An index vector: its component k looks up a dimension of size limits[k]. Where the vector is a
 * concatenation, each operand of that gets its own limit. */
static void bound_vector(struct tracer *tracer, uint32_t indices, int64_t vector_dim, const int64_t *limits,
                         uint32_t count)
{
    uint32_t op = tracer->program->values[indices].op;
    int64_t least = limits[0];
    tracer->steps = 0;
    for (uint32_t k = 1; k < count; k++)
        least = limits[k] < least ? limits[k] : least;
    if (count > 1 && op != IR_NONE && tracer->program->ops[op].code == IR_CONCATENATE &&
        ir_int(tracer->program, op, "dimension", -1) == vector_dim) {
        uint32_t k = 0;
        for (uint32_t i = 0; i < tracer->program->ops[op].operand_count; i++) {
            uint32_t part = ir_operand(tracer->program, op, i);
            int64_t width = ir_type_dims(tracer->program, ir_value_type(tracer->program, part))[vector_dim];
            int64_t limit = k < count ? limits[k] : 0;
            for (int64_t j = 0; j < width && k < count; j++, k++)
                limit = limits[k] < limit ? limits[k] : limit;
            bound(tracer, part, limit, 0);
        }
        return;
    }
    bound(tracer, indices, least, 0);
}

static void trace_indices(struct tracer *tracer, uint32_t op)
{
    const struct ir_program *program = tracer->program;
    const int64_t *dims = program->ops[op].operand_count
                              ? ir_type_dims(program, ir_value_type(program, ir_operand(program, op, 0)))
                              : NULL;
    int64_t limits[IR_MAX_RANK] = {0};
    struct ir_gather gather;
    struct ir_scatter scatter;
    if (program->ops[op].code == IR_GATHER && ir_gather(program, op, &gather) == 0 &&
        gather.start_index_map.count) {
        for (uint32_t k = 0; k < gather.start_index_map.count; k++)
            limits[k] =
                dims[gather.start_index_map.at[k]] - gather.slice_sizes.at[gather.start_index_map.at[k]] + 1;
        bound_vector(tracer, ir_operand(program, op, 1), gather.index_vector_dim, limits,
                     gather.start_index_map.count);
    } else if (program->ops[op].code == IR_SCATTER && ir_scatter(program, op, &scatter) == 0 &&
               scatter.dims_to_operand.count) {
        for (uint32_t k = 0; k < scatter.dims_to_operand.count; k++)
            limits[k] = dims[scatter.dims_to_operand.at[k]];
        bound_vector(tracer, ir_operand(program, op, scatter.input_count), scatter.index_vector_dim, limits,
                     scatter.dims_to_operand.count);
    } else if (program->ops[op].code == IR_DYNAMIC_SLICE ||
               program->ops[op].code == IR_DYNAMIC_UPDATE_SLICE) {
        bool slice = program->ops[op].code == IR_DYNAMIC_SLICE;
        const int64_t *part = ir_type_dims(
            program, ir_value_type(program, slice ? ir_result(program, op, 0) : ir_operand(program, op, 1)));
        for (uint32_t i = slice ? 1 : 2, dim = 0; i < program->ops[op].operand_count; i++, dim++) {
            tracer->steps = 0;
            bound(tracer, ir_operand(program, op, i), dims[dim] - part[dim] + 1, 0);
        }
    } else if (program->ops[op].code == IR_CASE) {
        tracer->steps = 0;
        bound(tracer, ir_operand(program, op, 0), program->ops[op].region_count, 0);
    }
}

/* A comparison with an iota is a one-hot encoding: the other operand holds labels below the iota's size. */
static void trace_one_hot(struct tracer *tracer, uint32_t op)
{
    for (uint32_t side = 0; side < 2 && tracer->program->ops[op].operand_count == 2; side++) {
        uint32_t value = ir_operand(tracer->program, op, side), from = IR_NONE;
        for (int depth = 0; depth < DEPTH; depth++) {
            from = tracer->program->values[value].op;
            if (from == IR_NONE || (tracer->program->ops[from].code != IR_BROADCAST_IN_DIM &&
                                    tracer->program->ops[from].code != IR_RESHAPE &&
                                    tracer->program->ops[from].code != IR_CONVERT))
                break;
            value = ir_operand(tracer->program, from, 0);
        }
        if (from == IR_NONE || tracer->program->ops[from].code != IR_IOTA)
            continue;
        int64_t dim = ir_int(tracer->program, from, "iota_dimension", 0);
        tracer->steps = 0;
        bound(tracer, ir_operand(tracer->program, op, 1 - side),
              ir_type_dims(tracer->program, ir_value_type(tracer->program, value))[dim], 0);
    }
}

/* ---------------------------------------------------------------- moments */
enum moment { POSITIVE, FIRST, SECOND, DENOMINATOR, FACTOR };

static bool is_square(const struct ir_program *program, uint32_t value)
{
    uint32_t op = program->values[value].op;
    return op != IR_NONE && program->ops[op].code == IR_MULTIPLY &&
           ir_operand(program, op, 0) == ir_operand(program, op, 1);
}

/* Marks as moments the arguments of `count` elements that reach `value` by being scaled and added only. Of a
 * denominator, also those of any size, through products, sums and shape ops, become positive: then so is the
 * denominator, and no sum in it cancels. Of a product in a denominator (a FACTOR), only what a step keeps for
 * each element: COCOB divides by the largest gradient so far, times another such. What a norm squares is no
 * such product: weights that are all positive leave gradients that are rounding alone. */
static void moments(struct tracer *tracer, uint32_t value, int64_t count, enum moment kind, int depth)
{
    const struct ir_program *program = tracer->program;
    uint32_t op = program->values[value].op;
    if (depth > DEPTH || ++tracer->steps > STEPS)
        return;
    if (op == IR_NONE) {
        uint32_t from = is_argument(tracer, value) ? IR_NONE : outside(program, value);
        if (from != IR_NONE)
            moments(tracer, from, count, kind, depth + 1);
        if (!is_argument(tracer, value) || (kind != DENOMINATOR && count_of(program, value) != count))
            return;
        uint32_t index = program->values[value].index;
        tracer->hints[index].positive |= kind != FIRST;
        tracer->hints[index].second |= kind == SECOND && tracer->simple[index];
        tracer->hints[index].first |= kind == FIRST && tracer->simple[index];
        return;
    }
    switch ((int)program->ops[op].code) {
    case IR_CONVERT:
    case IR_RESHAPE:
    case IR_BROADCAST_IN_DIM: moments(tracer, ir_operand(program, op, 0), count, kind, depth + 1); break;
    case IR_DOT_GENERAL:
    case IR_DOT:
        if (kind == DENOMINATOR)
            moments(tracer, ir_operand(program, op, 1), count, kind, depth + 1);
        if (kind == DENOMINATOR)
            moments(tracer, ir_operand(program, op, 0), count, kind, depth + 1);
        break;
    case IR_REDUCE:
        if (kind == DENOMINATOR && ir_region_reducer(program, op, 0) == IR_ADD)
            moments(tracer, ir_operand(program, op, 0), count, kind, depth + 1);
        break;
    case IR_TRANSPOSE:
    case IR_SLICE:
        if (kind == DENOMINATOR)
            moments(tracer, ir_operand(program, op, 0), count, kind, depth + 1);
        break;
    case IR_MULTIPLY:
        if (verify_scalar_like(program, ir_operand(program, op, 0)))
            moments(tracer, ir_operand(program, op, 1), count, kind, depth + 1);
        else if (verify_scalar_like(program, ir_operand(program, op, 1)))
            moments(tracer, ir_operand(program, op, 0), count, kind, depth + 1);
        else if ((kind == DENOMINATOR || kind == FACTOR) && !is_square(program, value))
            for (uint32_t i = 0; i < 2; i++)
                moments(tracer, ir_operand(program, op, i), count_of(program, value), FACTOR, depth + 1);
        break;
    case IR_DIVIDE:
        if (verify_scalar_like(program, ir_operand(program, op, 1)))
            moments(tracer, ir_operand(program, op, 0), count, kind, depth + 1);
        break;
    case IR_ADD:
    case IR_MAXIMUM: /* AMSGrad's largest second moment */
        moments(tracer, ir_operand(program, op, 0), count, kind, depth + 1);
        moments(tracer, ir_operand(program, op, 1), count, kind, depth + 1);
        break;
    case IR_SELECT:
        moments(tracer, ir_operand(program, op, 1), count, kind, depth + 1);
        moments(tracer, ir_operand(program, op, 2), count, kind, depth + 1);
        break;
    case IR_SUBTRACT: /* Yogi's second moment; a centered one, less the square of the first */
        if (kind == FIRST)
            break;
        moments(tracer, ir_operand(program, op, 0), count, kind, depth + 1);
        if (is_square(program, ir_operand(program, op, 1)))
            moments(tracer, ir_operand(program, program->values[ir_operand(program, op, 1)].op, 0), count,
                    FIRST, depth + 1);
        break;
    default: break;
    }
}

/* Is the denominator a square root, maybe with an epsilon added? */
static bool is_root(const struct ir_program *program, uint32_t value)
{
    for (int depth = 0; depth < 6; depth++) {
        uint32_t op = program->values[value].op;
        if (op == IR_NONE)
            return false;
        if (program->ops[op].code == IR_SQRT)
            return true;
        if (program->ops[op].code == IR_ADD && verify_scalar_like(program, ir_operand(program, op, 0)))
            value = ir_operand(program, op, 1);
        else if (program->ops[op].code == IR_ADD || program->ops[op].code == IR_CONVERT ||
                 program->ops[op].code == IR_BROADCAST_IN_DIM)
            value = ir_operand(program, op, 0);
        else
            return false;
    }
    return false;
}

static void trace_moments(struct tracer *tracer, uint32_t op)
{
    const struct ir_program *program = tracer->program;
    enum ir_opcode code = (enum ir_opcode)program->ops[op].code;
    tracer->steps = 0;
    bool power = code == IR_POWER && verify_scalar_like(program, ir_operand(program, op, 1));
    if (code == IR_SQRT || code == IR_RSQRT || code == IR_LOG || power) { /* Adafactor: v to the power -1/2 */
        uint32_t from = ir_operand(program, op, 0);
        moments(tracer, from, count_of(program, from), code == IR_LOG ? POSITIVE : SECOND, 0);
    } else if (code == IR_DIVIDE && count_of(program, ir_operand(program, op, 1)) > 1 &&
               is_root(program, ir_operand(program, op, 1))) {
        uint32_t from = ir_operand(program, op, 0);
        moments(tracer, from, count_of(program, from), FIRST, 0);
    } else if (code == IR_DIVIDE &&
               ir_element_is_float(
                   (enum ir_element)ir_value_type(program, ir_result(program, op, 0))->element)) {
        moments(tracer, ir_operand(program, op, 1), 0, DENOMINATOR, 0);
    }
}

static void find_simple(struct tracer *tracer)
{
    const struct ir_program *program = tracer->program;
    uint32_t count = program->blocks[tracer->block].arg_count;
    memset(tracer->simple, 1, count);
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
            uint32_t value = ir_operand(program, op, i);
            if (!is_argument(tracer, value))
                continue;
            bool scaled = program->ops[op].code == IR_MULTIPLY &&
                          verify_scalar_like(program, ir_operand(program, op, 1 - (i & 1)));
            bool handed = program->ops[op].code == IR_CONVERT || program->ops[op].code == IR_RESHAPE;
            if (!scaled && !handed)
                tracer->simple[program->values[value].index] = 0;
        }
}

struct verify_hint *verify_hints(const struct ir_program *program, uint32_t *count)
{
    uint32_t func = ir_function(program, "main");
    struct tracer tracer = {.program = program,
                            .block = func == IR_NONE ? IR_NONE : ir_region_block(program, func, 0)};
    *count = tracer.block == IR_NONE ? 0 : program->blocks[tracer.block].arg_count;
    tracer.hints = mem_zalloc(*count + 1, sizeof *tracer.hints);
    if (tracer.block == IR_NONE)
        return tracer.hints;
    tracer.simple = mem_zalloc(*count + 1, 1);
    find_simple(&tracer);
    for (uint32_t op = 0; op < program->op_count; op++) {
        trace_indices(&tracer, op);
        trace_moments(&tracer, op);
        if (program->ops[op].code == IR_COMPARE)
            trace_one_hot(&tracer, op);
    }
    free(tracer.simple);
    return tracer.hints;
}

/* ---------------------------------------------------------------- numbers */
/* First moments stay below sqrt(0.5e-4) = 0.0071, so that the square of none exceeds a second moment; and of
 * numbers in [1/4, 1/2] no square exceeds another. */
static double real_number(struct rng *rng, const struct verify_hint *hint, enum verify_inputs_mode mode)
{
    double u = rng_unit(rng);
    if (hint->second)
        return mode == VERIFY_INPUTS_MOMENTS ? 1 : 1e-4 * (0.5 + u);
    if (hint->first)
        return mode == VERIFY_INPUTS_MOMENTS ? 0 : 0.01 * (u - 0.5);
    if (mode == VERIFY_INPUTS_POSITIVE)
        return 0.25 * (1 + u);
    return hint->positive ? 0.5 + u : 0.5 * (u - 0.5);
}

static int64_t whole_number(struct rng *rng, const struct verify_hint *hint, enum verify_inputs_mode mode,
                            bool is_unsigned)
{
    int64_t n = hint->bound;
    if (n == 0)
        return 1 + (int64_t)rng_below(rng, 6);
    if (mode == VERIFY_INPUTS_NEGATIVE && !is_unsigned && rng_below(rng, 4) == 0)
        return -1 - (int64_t)rng_below(rng, (uint64_t)n);
    if (mode == VERIFY_INPUTS_WILD && rng_below(rng, 4) == 0)
        return is_unsigned || rng_below(rng, 2) ? n + (int64_t)rng_below(rng, (uint64_t)n + 2)
                                                : -1 - (int64_t)rng_below(rng, (uint64_t)n + 2);
    return (int64_t)rng_below(rng, (uint64_t)n);
}

static void fill(struct verify_tensor *tensor, const struct verify_hint *hint, enum verify_inputs_mode mode,
                 uint64_t seed)
{
    struct rng rng = {seed};
    int64_t n = verify_tensor_count(tensor);
    enum verify_store store = verify_store_of(tensor->element);
    if (store == VERIFY_C64 || store == VERIFY_C128)
        n *= 2;
    for (int64_t i = 0; i < n; i++) {
        switch (store) {
        case VERIFY_U8:
            ((uint8_t *)tensor->data)[i] =
                tensor->rank == 0 || rng_next(&rng) >> 63; /* a scalar is a switch: on */
            break;
        case VERIFY_I64:
            ((int64_t *)tensor->data)[i] =
                whole_number(&rng, hint, mode, verify_element_unsigned(tensor->element));
            break;
        case VERIFY_F32:
        case VERIFY_C64: ((float *)tensor->data)[i] = (float)real_number(&rng, hint, mode); break;
        case VERIFY_F64:
        case VERIFY_C128: ((double *)tensor->data)[i] = real_number(&rng, hint, mode); break;
        case VERIFY_NONE: break;
        }
    }
    if (store == VERIFY_I64 || store == VERIFY_F32)
        verify_round_all(tensor->element, tensor->data, n);
}

enum error_code verify_inputs(const struct ir_program *program, uint64_t seed, enum verify_inputs_mode mode,
                              struct verify_tensor *out, struct error *e)
{
    uint32_t count, func = ir_function(program, "main"),
                    block = func == IR_NONE ? IR_NONE : ir_region_block(program, func, 0);
    if (block == IR_NONE)
        return error_set(e, ERROR_INVALID_MODULE, "the module has no function @main");
    struct verify_hint *hints = verify_hints(program, &count);
    enum error_code code = ERROR_OK;
    uint32_t made = 0;
    for (; made < count && !code; made++) {
        code = verify_tensor_create(program, program->values[program->blocks[block].args + made].type,
                                    &out[made], e);
        if (!code)
            fill(&out[made], &hints[made], mode, hash_combine(seed, made));
    }
    for (uint32_t i = 0; i + 1 < made && code; i++)
        verify_tensor_release(&out[i]);
    free(hints);
    return code;
}

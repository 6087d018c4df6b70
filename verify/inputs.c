/* Inputs that make a comparison mean something: indices in range, optimizer moments that Adam could have,
 * positive numbers under roots and logarithms (verify_hints and verify_inputs in prove.h).
 *
 * What an argument is for is found by walking backwards, from the ops that reveal it (the indices of a
 * gather, square roots, divisions by square roots) through ops that hand a value on. A wrong guess makes a
 * proof weaker or leaves it without a verdict (NaN), never wrong: both programs get the same inputs. */
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
    const struct ir_program *p;
    uint32_t block; /* of @main */
    struct verify_hint *hints;
    unsigned char *simple; /* argument: every use multiplies it by a scalar */
    uint32_t steps;        /* of the current walk, bounded */
};

static int64_t count_of(const struct ir_program *p, uint32_t value)
{
    const struct ir_type *t = ir_value_type(p, value);
    return t->kind == IR_TYPE_TENSOR ? ir_type_elements(p, t) : 1;
}

/* the value handed on unchanged into a loop's or branch's region, or IR_NONE */
static uint32_t outside(const struct ir_program *p, uint32_t value)
{
    const struct ir_value *v = &p->values[value];
    const struct ir_block *b = &p->blocks[v->block];
    uint32_t op = p->regions[b->region].op;
    return p->ops[op].code == IR_WHILE && v->index < p->ops[op].operand_count ? ir_operand(p, op, v->index)
                                                                              : IR_NONE;
}

static bool is_argument(const struct tracer *t, uint32_t value)
{
    return t->p->values[value].op == IR_NONE && t->p->values[value].block == t->block;
}

/* one element, or a broadcast of one */
static bool scalar_like(const struct ir_program *p, uint32_t value)
{
    for (int depth = 0; depth < DEPTH; depth++) {
        uint32_t op = p->values[value].op;
        if (count_of(p, value) == 1)
            return true;
        if (op == IR_NONE)
            return false;
        if (p->ops[op].code == IR_CONSTANT) {
            const struct ir_attr *a = ir_attr_find(p, op, "value");
            return a && a->kind == IR_ATTR_DENSE && p->constants[a->first].splat;
        }
        if (p->ops[op].code != IR_BROADCAST_IN_DIM && p->ops[op].code != IR_CONVERT &&
            p->ops[op].code != IR_RESHAPE)
            return false;
        value = ir_operand(p, op, 0);
    }
    return false;
}

/* ---------------------------------------------------------------- indices */
static void bound(struct tracer *t, uint32_t value, int64_t limit, int depth);

static void bound_operands(struct tracer *t, uint32_t op, uint32_t first, uint32_t end, int64_t limit,
                           int depth)
{
    for (uint32_t i = first; i < end && i < t->p->ops[op].operand_count; i++)
        bound(t, ir_operand(t->p, op, i), limit, depth + 1);
}

/* Notes for every integer argument that reaches `value` that it should stay below `limit`. */
static void bound(struct tracer *t, uint32_t value, int64_t limit, int depth)
{
    uint32_t op = t->p->values[value].op;
    if (depth > DEPTH || limit < 1 || ++t->steps > STEPS)
        return;
    if (op == IR_NONE) {
        uint32_t from = is_argument(t, value) ? IR_NONE : outside(t->p, value);
        if (from != IR_NONE)
            bound(t, from, limit, depth + 1);
        if (!is_argument(t, value))
            return;
        struct verify_hint *h = &t->hints[t->p->values[value].index];
        h->bound = h->bound == 0 || limit < h->bound ? limit : h->bound;
        return;
    }
    switch ((int)t->p->ops[op].code) {
    case IR_CONVERT:
    case IR_RESHAPE:
    case IR_BROADCAST_IN_DIM:
    case IR_TRANSPOSE:
    case IR_SLICE:
    case IR_REVERSE:
    case IR_DYNAMIC_SLICE:
    case IR_PAD: bound_operands(t, op, 0, 1, limit, depth); break;
    case IR_SELECT: bound_operands(t, op, 1, 3, limit, depth); break;
    case IR_CLAMP: bound_operands(t, op, 1, 2, limit, depth); break;
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_MAXIMUM:
    case IR_MINIMUM:
    case IR_CONCATENATE:
    case IR_OPTIMIZATION_BARRIER:
    case IR_SDY_SHARDING_CONSTRAINT:
        bound_operands(t, op, 0, t->p->ops[op].operand_count, limit, depth);
        break;
    default: break;
    }
}

/* An index vector: its component k looks up a dimension of size limits[k]. Where the vector is a
 * concatenation, each operand of that gets its own limit. */
static void bound_vector(struct tracer *t, uint32_t indices, int64_t vector_dim, const int64_t *limits,
                         uint32_t count)
{
    uint32_t op = t->p->values[indices].op;
    int64_t least = limits[0];
    t->steps = 0;
    for (uint32_t k = 1; k < count; k++)
        least = limits[k] < least ? limits[k] : least;
    if (count > 1 && op != IR_NONE && t->p->ops[op].code == IR_CONCATENATE &&
        ir_int(t->p, op, "dimension", -1) == vector_dim) {
        uint32_t k = 0;
        for (uint32_t i = 0; i < t->p->ops[op].operand_count; i++) {
            uint32_t part = ir_operand(t->p, op, i);
            int64_t width = ir_type_dims(t->p, ir_value_type(t->p, part))[vector_dim];
            int64_t limit = k < count ? limits[k] : 0;
            for (int64_t j = 0; j < width && k < count; j++, k++)
                limit = limits[k] < limit ? limits[k] : limit;
            bound(t, part, limit, 0);
        }
        return;
    }
    bound(t, indices, least, 0);
}

static void trace_indices(struct tracer *t, uint32_t op)
{
    const struct ir_program *p = t->p;
    const int64_t *dims =
        p->ops[op].operand_count ? ir_type_dims(p, ir_value_type(p, ir_operand(p, op, 0))) : NULL;
    int64_t limits[IR_MAX_RANK] = {0};
    struct ir_gather g;
    struct ir_scatter c;
    if (p->ops[op].code == IR_GATHER && ir_gather(p, op, &g) == 0 && g.start_index_map.count) {
        for (uint32_t k = 0; k < g.start_index_map.count; k++)
            limits[k] = dims[g.start_index_map.at[k]] - g.slice_sizes.at[g.start_index_map.at[k]] + 1;
        bound_vector(t, ir_operand(p, op, 1), g.index_vector_dim, limits, g.start_index_map.count);
    } else if (p->ops[op].code == IR_SCATTER && ir_scatter(p, op, &c) == 0 && c.dims_to_operand.count) {
        for (uint32_t k = 0; k < c.dims_to_operand.count; k++)
            limits[k] = dims[c.dims_to_operand.at[k]];
        bound_vector(t, ir_operand(p, op, c.input_count), c.index_vector_dim, limits,
                     c.dims_to_operand.count);
    } else if (p->ops[op].code == IR_DYNAMIC_SLICE || p->ops[op].code == IR_DYNAMIC_UPDATE_SLICE) {
        bool slice = p->ops[op].code == IR_DYNAMIC_SLICE;
        const int64_t *part =
            ir_type_dims(p, ir_value_type(p, slice ? ir_result(p, op, 0) : ir_operand(p, op, 1)));
        for (uint32_t i = slice ? 1 : 2, d = 0; i < p->ops[op].operand_count; i++, d++) {
            t->steps = 0;
            bound(t, ir_operand(p, op, i), dims[d] - part[d] + 1, 0);
        }
    } else if (p->ops[op].code == IR_CASE) {
        t->steps = 0;
        bound(t, ir_operand(p, op, 0), p->ops[op].region_count, 0);
    }
}

/* A comparison with an iota is a one-hot encoding: the other operand holds labels below the iota's size. */
static void trace_one_hot(struct tracer *t, uint32_t op)
{
    for (uint32_t side = 0; side < 2 && t->p->ops[op].operand_count == 2; side++) {
        uint32_t value = ir_operand(t->p, op, side), from = IR_NONE;
        for (int depth = 0; depth < DEPTH; depth++) {
            from = t->p->values[value].op;
            if (from == IR_NONE || (t->p->ops[from].code != IR_BROADCAST_IN_DIM &&
                                    t->p->ops[from].code != IR_RESHAPE && t->p->ops[from].code != IR_CONVERT))
                break;
            value = ir_operand(t->p, from, 0);
        }
        if (from == IR_NONE || t->p->ops[from].code != IR_IOTA)
            continue;
        int64_t dim = ir_int(t->p, from, "iota_dimension", 0);
        t->steps = 0;
        bound(t, ir_operand(t->p, op, 1 - side), ir_type_dims(t->p, ir_value_type(t->p, value))[dim], 0);
    }
}

/* ---------------------------------------------------------------- moments */
enum moment { POSITIVE, FIRST, SECOND, DENOMINATOR };

/* Marks as moments the arguments of `count` elements that reach `value` by being scaled and added only. Of a
 * denominator, also those of any size, through products, sums and shape ops, become positive: then so is the
 * denominator, and no sum in it cancels. */
static void moments(struct tracer *t, uint32_t value, int64_t count, enum moment kind, int depth)
{
    const struct ir_program *p = t->p;
    uint32_t op = p->values[value].op;
    if (depth > DEPTH || ++t->steps > STEPS)
        return;
    if (op == IR_NONE) {
        uint32_t from = is_argument(t, value) ? IR_NONE : outside(p, value);
        if (from != IR_NONE)
            moments(t, from, count, kind, depth + 1);
        if (!is_argument(t, value) || (kind != DENOMINATOR && count_of(p, value) != count))
            return;
        uint32_t index = p->values[value].index;
        t->hints[index].positive |= kind != FIRST;
        t->hints[index].second |= kind == SECOND && t->simple[index];
        t->hints[index].first |= kind == FIRST && t->simple[index];
        return;
    }
    switch ((int)p->ops[op].code) {
    case IR_CONVERT:
    case IR_RESHAPE:
    case IR_BROADCAST_IN_DIM: moments(t, ir_operand(p, op, 0), count, kind, depth + 1); break;
    case IR_DOT_GENERAL:
    case IR_DOT:
        if (kind == DENOMINATOR)
            moments(t, ir_operand(p, op, 1), count, kind, depth + 1);
        if (kind == DENOMINATOR)
            moments(t, ir_operand(p, op, 0), count, kind, depth + 1);
        break;
    case IR_REDUCE:
        if (kind == DENOMINATOR && ir_region_reducer(p, op, 0) == IR_ADD)
            moments(t, ir_operand(p, op, 0), count, kind, depth + 1);
        break;
    case IR_TRANSPOSE:
    case IR_SLICE:
        if (kind == DENOMINATOR)
            moments(t, ir_operand(p, op, 0), count, kind, depth + 1);
        break;
    case IR_MULTIPLY:
        if (scalar_like(p, ir_operand(p, op, 0)))
            moments(t, ir_operand(p, op, 1), count, kind, depth + 1);
        else if (scalar_like(p, ir_operand(p, op, 1)))
            moments(t, ir_operand(p, op, 0), count, kind, depth + 1);
        break;
    case IR_DIVIDE:
        if (scalar_like(p, ir_operand(p, op, 1)))
            moments(t, ir_operand(p, op, 0), count, kind, depth + 1);
        break;
    case IR_ADD:
        moments(t, ir_operand(p, op, 0), count, kind, depth + 1);
        moments(t, ir_operand(p, op, 1), count, kind, depth + 1);
        break;
    default: break;
    }
}

/* Is the denominator a square root, maybe with an epsilon added? */
static bool is_root(const struct ir_program *p, uint32_t value)
{
    for (int depth = 0; depth < 6; depth++) {
        uint32_t op = p->values[value].op;
        if (op == IR_NONE)
            return false;
        if (p->ops[op].code == IR_SQRT)
            return true;
        if (p->ops[op].code == IR_ADD && scalar_like(p, ir_operand(p, op, 0)))
            value = ir_operand(p, op, 1);
        else if (p->ops[op].code == IR_ADD || p->ops[op].code == IR_CONVERT ||
                 p->ops[op].code == IR_BROADCAST_IN_DIM)
            value = ir_operand(p, op, 0);
        else
            return false;
    }
    return false;
}

static void trace_moments(struct tracer *t, uint32_t op)
{
    const struct ir_program *p = t->p;
    enum ir_opcode code = (enum ir_opcode)p->ops[op].code;
    t->steps = 0;
    if (code == IR_SQRT || code == IR_RSQRT || code == IR_LOG) {
        uint32_t from = ir_operand(p, op, 0);
        moments(t, from, count_of(p, from), code == IR_SQRT ? SECOND : POSITIVE, 0);
    } else if (code == IR_DIVIDE && count_of(p, ir_operand(p, op, 1)) > 1 &&
               is_root(p, ir_operand(p, op, 1))) {
        uint32_t from = ir_operand(p, op, 0);
        moments(t, from, count_of(p, from), FIRST, 0);
    } else if (code == IR_DIVIDE &&
               ir_element_is_float((enum ir_element)ir_value_type(p, ir_result(p, op, 0))->element)) {
        moments(t, ir_operand(p, op, 1), 0, DENOMINATOR, 0);
    }
}

static void find_simple(struct tracer *t)
{
    const struct ir_program *p = t->p;
    uint32_t count = p->blocks[t->block].arg_count;
    memset(t->simple, 1, count);
    for (uint32_t op = 0; op < p->op_count; op++)
        for (uint32_t i = 0; i < p->ops[op].operand_count; i++) {
            uint32_t v = ir_operand(p, op, i);
            if (!is_argument(t, v))
                continue;
            bool scaled = p->ops[op].code == IR_MULTIPLY && scalar_like(p, ir_operand(p, op, 1 - (i & 1)));
            bool handed = p->ops[op].code == IR_CONVERT || p->ops[op].code == IR_RESHAPE;
            if (!scaled && !handed)
                t->simple[p->values[v].index] = 0;
        }
}

struct verify_hint *verify_hints(const struct ir_program *p, uint32_t *count)
{
    uint32_t func = ir_function(p, "main");
    struct tracer t = {.p = p, .block = func == IR_NONE ? IR_NONE : ir_region_block(p, func, 0)};
    *count = t.block == IR_NONE ? 0 : p->blocks[t.block].arg_count;
    t.hints = mem_zalloc(*count + 1, sizeof *t.hints);
    if (t.block == IR_NONE)
        return t.hints;
    t.simple = mem_zalloc(*count + 1, 1);
    find_simple(&t);
    for (uint32_t op = 0; op < p->op_count; op++) {
        trace_indices(&t, op);
        trace_moments(&t, op);
        if (p->ops[op].code == IR_COMPARE)
            trace_one_hot(&t, op);
    }
    free(t.simple);
    return t.hints;
}

/* ---------------------------------------------------------------- numbers */
static double real_number(struct rng *r, const struct verify_hint *h, enum verify_inputs_mode mode)
{
    double u = rng_unit(r);
    if (h->second)
        return mode == VERIFY_INPUTS_MOMENTS ? 1 : 1e-4 * (0.5 + u);
    if (h->first)
        return mode == VERIFY_INPUTS_MOMENTS ? 0 : 0.02 * (u - 0.5);
    return h->positive ? 0.5 + u : 0.5 * (u - 0.5);
}

static int64_t whole_number(struct rng *r, const struct verify_hint *h, enum verify_inputs_mode mode,
                            bool is_unsigned)
{
    int64_t n = h->bound;
    if (n == 0)
        return 1 + (int64_t)rng_below(r, 6);
    if (mode == VERIFY_INPUTS_NEGATIVE && !is_unsigned && rng_below(r, 4) == 0)
        return -1 - (int64_t)rng_below(r, (uint64_t)n);
    if (mode == VERIFY_INPUTS_WILD && rng_below(r, 4) == 0)
        return is_unsigned || rng_below(r, 2) ? n + (int64_t)rng_below(r, (uint64_t)n + 2)
                                              : -1 - (int64_t)rng_below(r, (uint64_t)n + 2);
    return (int64_t)rng_below(r, (uint64_t)n);
}

static void fill(struct verify_tensor *t, const struct verify_hint *h, enum verify_inputs_mode mode,
                 uint64_t seed)
{
    struct rng r = {seed};
    int64_t n = verify_tensor_count(t);
    enum verify_store store = verify_store_of(t->element);
    if (store == VERIFY_C64 || store == VERIFY_C128)
        n *= 2;
    for (int64_t i = 0; i < n; i++) {
        switch (store) {
        case VERIFY_U8:
            ((uint8_t *)t->data)[i] = t->rank == 0 || rng_next(&r) >> 63; /* a scalar is a switch: on */
            break;
        case VERIFY_I64:
            ((int64_t *)t->data)[i] = whole_number(&r, h, mode, verify_element_unsigned(t->element));
            break;
        case VERIFY_F32:
        case VERIFY_C64: ((float *)t->data)[i] = (float)real_number(&r, h, mode); break;
        case VERIFY_F64:
        case VERIFY_C128: ((double *)t->data)[i] = real_number(&r, h, mode); break;
        case VERIFY_NONE: break;
        }
    }
    if (store == VERIFY_I64 || store == VERIFY_F32)
        verify_round_all(t->element, t->data, n);
}

enum error_code verify_inputs(const struct ir_program *p, uint64_t seed, enum verify_inputs_mode mode,
                              struct verify_tensor *out, struct error *e)
{
    uint32_t count, func = ir_function(p, "main"),
                    block = func == IR_NONE ? IR_NONE : ir_region_block(p, func, 0);
    if (block == IR_NONE)
        return error_set(e, ERROR_INVALID_MODULE, "the module has no function @main");
    struct verify_hint *hints = verify_hints(p, &count);
    enum error_code code = ERROR_OK;
    uint32_t made = 0;
    for (; made < count && !code; made++) {
        code = verify_tensor_create(p, p->values[p->blocks[block].args + made].type, &out[made], e);
        if (!code)
            fill(&out[made], &hints[made], mode, hash_combine(seed, made));
    }
    for (uint32_t i = 0; i + 1 < made && code; i++)
        verify_tensor_release(&out[i]);
    free(hints);
    return code;
}

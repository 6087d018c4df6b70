/* batch_norm_training, batch_norm_inference and batch_norm_grad by their definitions in the StableHLO
 * specification; sums and statistics in double. (A prepared program has only the second: ir/expand.h.) */
#include "verify/value.h"

#include <math.h>
#include <stdlib.h>

struct norm {
    int64_t features, inner, count; /* feature of element i is i / inner % features */
    double epsilon;
    double *sum, *mean, *variance, *other; /* one a feature */
};

static double get(const struct verify_value *value, int64_t i)
{
    i = value->splat ? 0 : i;
    return value->type->element == IR_F64 ? ((const double *)verify_data(value))[i]
                                          : (double)((const float *)verify_data(value))[i];
}

static void put(struct verify_value *value, int64_t i, double x)
{
    if (value->type->element == IR_F64)
        ((double *)verify_data(value))[i] = x;
    else
        ((float *)verify_data(value))[i] = value->type->element == IR_F32
                                               ? (float)x
                                               : verify_round((enum ir_element)value->type->element, x);
}

static void training(const struct norm *n, struct verify_value *in, struct verify_value *out)
{
    double each = (double)n->count / (double)n->features;
    for (int64_t i = 0; i < n->count; i++)
        n->sum[i / n->inner % n->features] += get(&in[0], i);
    for (int64_t f = 0; f < n->features; f++)
        n->mean[f] = n->sum[f] / each;
    for (int64_t i = 0; i < n->count; i++) {
        int64_t f = i / n->inner % n->features;
        double d = get(&in[0], i) - n->mean[f];
        n->variance[f] += d * d;
    }
    for (int64_t f = 0; f < n->features; f++) {
        n->variance[f] /= each;
        put(&out[1], f, n->mean[f]);
        put(&out[2], f, n->variance[f]);
    }
    for (int64_t i = 0; i < n->count; i++) {
        int64_t f = i / n->inner % n->features;
        put(&out[0], i,
            (get(&in[0], i) - n->mean[f]) / sqrt(n->variance[f] + n->epsilon) * get(&in[1], f) +
                get(&in[2], f));
    }
}

static void inference(const struct norm *n, struct verify_value *in, struct verify_value *out)
{
    for (int64_t i = 0; i < n->count; i++) {
        int64_t f = i / n->inner % n->features;
        double scaled = (get(&in[0], i) - get(&in[3], f)) / sqrt(get(&in[4], f) + n->epsilon);
        put(&out[0], i, scaled * get(&in[1], f) + get(&in[2], f));
    }
}

/* operands: input, scale, mean, variance, gradient of the output */
static void gradient(const struct norm *n, struct verify_value *in, struct verify_value *out)
{
    double each = (double)n->count / (double)n->features;
    for (int64_t i = 0; i < n->count; i++) {
        int64_t f = i / n->inner % n->features;
        n->sum[f] += get(&in[4], i);
        n->other[f] += get(&in[4], i) * (get(&in[0], i) - get(&in[2], f));
    }
    for (int64_t f = 0; f < n->features; f++) {
        put(&out[1], f, n->other[f] / sqrt(get(&in[3], f) + n->epsilon));
        put(&out[2], f, n->sum[f]);
    }
    for (int64_t i = 0; i < n->count; i++) {
        int64_t f = i / n->inner % n->features;
        double v = get(&in[3], f) + n->epsilon;
        double inner =
            each * get(&in[4], i) - n->sum[f] - (get(&in[0], i) - get(&in[2], f)) * n->other[f] / v;
        put(&out[0], i, get(&in[1], f) / sqrt(v) / each * inner);
    }
}

enum error_code verify_eval_batch_norm(struct verify_state *state, uint32_t op, struct verify_value *in,
                                       struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    int64_t dim = ir_int(state->program, op, "feature_index", -1);
    const struct ir_attr *epsilon = ir_attr_find(state->program, op, "epsilon");
    uint32_t operands = ir_op->code == IR_BATCH_NORM_TRAINING ? 3 : 5,
             results = ir_op->code == IR_BATCH_NORM_INFERENCE ? 1 : 3;
    if (ir_op->operand_count != operands || ir_op->result_count != results || dim < 0 ||
        dim >= in->type->rank || !epsilon || epsilon->kind != IR_ATTR_FLOAT)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "operands, feature_index or epsilon do not fit");
    struct norm n = {.features = ir_type_dims(state->program, in->type)[dim],
                     .inner = 1,
                     .count = verify_type_count(state, in->type)};
    n.epsilon = (double)strtof(ir_string(state->program, epsilon->first), NULL);
    for (uint32_t i = (uint32_t)dim + 1; i < in->type->rank; i++)
        n.inner *= ir_type_dims(state->program, in->type)[i];
    for (uint32_t i = 0; i < operands + results; i++) {
        struct verify_value *value = i < operands ? &in[i] : &out[i - operands];
        int64_t count = verify_type_count(state, value->type);
        enum verify_store store = verify_store_of((enum ir_element)value->type->element);
        if ((count != n.features && count != n.count) || (store != VERIFY_F32 && store != VERIFY_F64))
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand or result %u does not fit", i);
        if (i >= operands)
            verify_value_alloc(state, value, false);
    }
    double *memory = mem_zalloc((size_t)n.features * 4 + 1, sizeof *memory);
    n.sum = memory;
    n.mean = memory + n.features;
    n.variance = memory + 2 * n.features;
    n.other = memory + 3 * n.features;
    if (ir_op->code == IR_BATCH_NORM_TRAINING)
        training(&n, in, out);
    else if (ir_op->code == IR_BATCH_NORM_INFERENCE)
        inference(&n, in, out);
    else
        gradient(&n, in, out);
    free(memory);
    return ERROR_OK;
}

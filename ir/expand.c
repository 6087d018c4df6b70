/* batch_norm_training and batch_norm_grad by their definitions in the StableHLO specification, in sums and
 * elementwise ops, as compilers do before they partition. The sums can then be split along the batch like any
 * others, and no layer above needs to know the two ops. batch_norm_inference stays: it is elementwise as it
 * is. Elements of fewer than 32 bits are computed in f32 and converted back. */
#include "ir/expand.h"

#include "ir/attrs.h"

#include <stdlib.h>
#include <string.h>

struct expansion {
    struct ir_builder *b;
    struct ir_op_spec base;  /* line, column, location of every op made */
    enum ir_element element; /* computed in */
    uint32_t rank, feature;
    int64_t dims[IR_MAX_RANK], others; /* elements of one feature */
};

static uint32_t make(const struct expansion *x, const char *name, const uint32_t *operands, uint32_t count,
                     uint32_t type, const struct ir_attr *attr)
{
    struct ir_op_spec spec = x->base;
    spec.name = name;
    spec.operands = operands;
    spec.operand_count = count;
    spec.result_types = &type;
    spec.result_count = 1;
    spec.attrs = attr;
    spec.attr_count = attr ? 1 : 0;
    return ir_builder_result(x->b, ir_build_op(x->b, &spec), 0);
}

static uint32_t whole_type(const struct expansion *x, enum ir_element element)
{
    return ir_build_tensor_type(x->b, element, x->rank, x->dims);
}

static uint32_t feature_type(const struct expansion *x, enum ir_element element)
{
    return ir_build_tensor_type(x->b, element, 1, &x->dims[x->feature]);
}

static uint32_t binary(const struct expansion *x, const char *name, uint32_t a, uint32_t b)
{
    return make(x, name, (uint32_t[]){a, b}, 2, ir_builder_value_type(x->b, a), NULL);
}

static uint32_t convert(const struct expansion *x, uint32_t value, uint32_t type)
{
    return ir_builder_value_type(x->b, value) == type ? value
                                                      : make(x, "stablehlo.convert", &value, 1, type, NULL);
}

static uint32_t scalar(const struct expansion *x, double number)
{
    uint32_t type = ir_build_tensor_type(x->b, x->element, 0, NULL);
    float narrow = (float)number;
    const void *bytes = x->element == IR_F64 ? (const void *)&number : (const void *)&narrow;
    struct ir_attr value = ir_build_named(
        x->b, "value",
        ir_build_dense(x->b, type, bytes, x->element == IR_F64 ? sizeof number : sizeof narrow, true));
    return make(x, "stablehlo.constant", NULL, 0, type, &value);
}

static uint32_t spread(const struct expansion *x, uint32_t value, uint32_t type, const int64_t *dims,
                       uint32_t count)
{
    struct ir_attr to = ir_build_named(x->b, "broadcast_dimensions", ir_build_ints(x->b, dims, count));
    return make(x, "stablehlo.broadcast_in_dim", &value, 1, type, &to);
}

/* one number for every feature */
static uint32_t each(const struct expansion *x, double number)
{
    return spread(x, scalar(x, number), feature_type(x, x->element), NULL, 0);
}

/* of every feature to the whole shape */
static uint32_t over(const struct expansion *x, uint32_t value)
{
    int64_t dim = x->feature;
    return spread(x, value, whole_type(x, x->element), &dim, 1);
}

/* sum over all dims but the feature's */
static uint32_t sum(const struct expansion *x, uint32_t value)
{
    int64_t dims[IR_MAX_RANK];
    uint32_t count = 0, number = ir_build_tensor_type(x->b, x->element, 0, NULL),
             type = feature_type(x, x->element);
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != x->feature)
            dims[count++] = d;
    uint32_t operands[2] = {value, scalar(x, 0)};
    struct ir_attr over_dims = ir_build_named(x->b, "dimensions", ir_build_ints(x->b, dims, count));
    struct ir_op_spec spec = x->base;
    spec.name = "stablehlo.reduce";
    spec.operands = operands;
    spec.operand_count = 2;
    spec.result_types = &type;
    spec.result_count = 1;
    spec.attrs = &over_dims;
    spec.attr_count = 1;
    uint32_t op = ir_build_begin(x->b, &spec);
    ir_build_region(x->b);
    uint32_t first = ir_build_block(x->b, (uint32_t[]){number, number}, 2);
    uint32_t added = binary(x, "stablehlo.add", first, first + 1);
    spec = x->base;
    spec.name = "stablehlo.return";
    spec.operands = &added;
    spec.operand_count = 1;
    (void)ir_build_op(x->b, &spec);
    ir_build_end_block(x->b);
    ir_build_end_region(x->b);
    ir_build_end(x->b);
    return ir_builder_result(x->b, op, 0);
}

/* 1 / sqrt(variance + epsilon) */
static uint32_t inverse_deviation(const struct expansion *x, uint32_t variance, double epsilon)
{
    uint32_t moved = binary(x, "stablehlo.add", variance, each(x, epsilon));
    return make(x, "stablehlo.rsqrt", &moved, 1, feature_type(x, x->element), NULL);
}

/* in: operand, scale, offset; out: output, mean, variance */
static void expand_training(const struct expansion *x, double epsilon, const uint32_t *in, uint32_t *out)
{
    out[1] = binary(x, "stablehlo.divide", sum(x, in[0]), each(x, (double)x->others));
    uint32_t centred = binary(x, "stablehlo.subtract", in[0], over(x, out[1]));
    uint32_t squares = sum(x, binary(x, "stablehlo.multiply", centred, centred));
    out[2] = binary(x, "stablehlo.divide", squares, each(x, (double)x->others));
    uint32_t normal =
        binary(x, "stablehlo.multiply", centred, over(x, inverse_deviation(x, out[2], epsilon)));
    uint32_t scaled = binary(x, "stablehlo.multiply", normal, over(x, in[1]));
    out[0] = binary(x, "stablehlo.add", scaled, over(x, in[2]));
}

/* in: operand, scale, mean, variance, gradient dy of the output; out: gradients of operand, scale, offset.
 * With the centred operand c, the inverse deviation r and n elements a feature, the operand's gradient is
 * scale r (dy - sum(dy) / n - c r r sum(dy c) / n). */
static void expand_grad(const struct expansion *x, double epsilon, const uint32_t *in, uint32_t *out)
{
    uint32_t centred = binary(x, "stablehlo.subtract", in[0], over(x, in[2]));
    uint32_t r = inverse_deviation(x, in[3], epsilon), count = each(x, (double)x->others);
    uint32_t along = sum(x, binary(x, "stablehlo.multiply", in[4], centred));
    out[2] = sum(x, in[4]);
    out[1] = binary(x, "stablehlo.multiply", along, r);
    uint32_t slope = binary(x, "stablehlo.divide", binary(x, "stablehlo.multiply", out[1], r), count);
    uint32_t level = binary(x, "stablehlo.divide", out[2], each(x, (double)x->others));
    uint32_t rest = binary(x, "stablehlo.subtract", in[4], over(x, level));
    rest = binary(x, "stablehlo.subtract", rest, binary(x, "stablehlo.multiply", centred, over(x, slope)));
    out[0] = binary(x, "stablehlo.multiply", rest, over(x, binary(x, "stablehlo.multiply", in[1], r)));
}

/* Does the op pass what ir_verify will ask of it? If not, it stays as it is, so that the complaint is about
 * the op that the user wrote. */
static bool is_sound(const struct ir_program *p, uint32_t op, int64_t feature)
{
    const struct ir_op *o = &p->ops[op];
    if (o->operand_count != (o->code == IR_BATCH_NORM_TRAINING ? 3 : 5) || o->result_count != 3)
        return false;
    const struct ir_type *whole = ir_value_type(p, ir_operand(p, op, 0));
    if (whole->kind != IR_TYPE_TENSOR || whole->rank > IR_MAX_RANK || feature < 0 || feature >= whole->rank ||
        !ir_element_is_float((enum ir_element)whole->element) || ir_type_elements(p, whole) == 0)
        return false;
    for (uint32_t i = 1; i < o->operand_count; i++) {
        const struct ir_type *t = ir_value_type(p, ir_operand(p, op, i));
        bool same = p->values[ir_operand(p, op, i)].type == p->values[ir_operand(p, op, 0)].type;
        bool fits = t->kind == IR_TYPE_TENSOR && t->rank == 1 && t->element == whole->element &&
                    ir_type_dims(p, t)[0] == ir_type_dims(p, whole)[feature];
        if (!(i == 4 ? same : fits))
            return false;
    }
    return true;
}

bool ir_expand_op(struct ir_builder *b, const struct ir_program *p, uint32_t op, const uint32_t *operands,
                  uint32_t results[3])
{
    const struct ir_op *o = &p->ops[op];
    bool training = o->code == IR_BATCH_NORM_TRAINING;
    if (!training && o->code != IR_BATCH_NORM_GRAD)
        return false;
    const struct ir_attr *epsilon = ir_attr_find(p, op, "epsilon");
    int64_t feature = ir_int(p, op, "feature_index", -1);
    if (!epsilon || epsilon->kind != IR_ATTR_FLOAT || !is_sound(p, op, feature))
        return false;
    const struct ir_type *type = ir_value_type(p, ir_operand(p, op, 0));
    enum ir_element element = (enum ir_element)type->element;
    struct expansion x = {.b = b,
                          .base = {.line = o->line,
                                   .column = o->column,
                                   .location = o->location == IR_NONE ? NULL : ir_string(p, o->location)},
                          .element = ir_element_bits(element) < 32 ? IR_F32 : element,
                          .rank = type->rank,
                          .feature = (uint32_t)feature};
    memcpy(x.dims, ir_type_dims(p, type), type->rank * sizeof *x.dims);
    x.others = ir_type_elements(p, type) / x.dims[feature];
    uint32_t in[5], whole = whole_type(&x, x.element), features = feature_type(&x, x.element);
    for (uint32_t i = 0; i < o->operand_count; i++)
        in[i] = convert(&x, operands[i], i == 0 || i == 4 ? whole : features);
    (training ? expand_training : expand_grad)(&x, (double)strtof(ir_string(p, epsilon->first), NULL), in,
                                               results);
    for (uint32_t i = 0; i < 3; i++)
        results[i] = convert(&x, results[i], i ? feature_type(&x, element) : whole_type(&x, element));
    return true;
}

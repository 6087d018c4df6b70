/* Which ops are taken apart or said otherwise, and batch_norm_training and batch_norm_grad by their
 * definitions in the StableHLO specification, in sums and elementwise ops, as compilers do before they
 * partition. The sums can then be split along the batch like any others, and no layer above needs to know the
 * two ops.
 * batch_norm_inference stays: it is elementwise as it is. Elements of fewer than 32 bits are computed in
 * f32 and converted back. */
#include "ir/expand.h"

#include "ir/attrs.h"
#include "ir/expand_einsum.h"
#include "ir/expand_parts.h"

#include <stdlib.h>
#include <string.h>

struct expansion {
    struct ir_builder *builder;
    struct expand_parts parts;
    enum ir_element element; /* computed in */
    uint32_t rank, feature;
    int64_t dims[IR_MAX_RANK], others; /* elements of one feature */
};

static uint32_t make(const struct expansion *expansion, const char *name, const uint32_t *operands,
                     uint32_t count, uint32_t type, const struct ir_attr *attr)
{
    return expand_op(&expansion->parts, name, operands, count, type, attr, attr ? 1 : 0);
}

static uint32_t whole_type(const struct expansion *expansion, enum ir_element element)
{
    return ir_build_tensor_type(expansion->builder, element, expansion->rank, expansion->dims);
}

static uint32_t feature_type(const struct expansion *expansion, enum ir_element element)
{
    return ir_build_tensor_type(expansion->builder, element, 1, &expansion->dims[expansion->feature]);
}

static uint32_t binary(const struct expansion *expansion, const char *name, uint32_t a, uint32_t b)
{
    return make(expansion, name, (uint32_t[]){a, b}, 2, ir_builder_value_type(expansion->builder, a), NULL);
}

static uint32_t convert(const struct expansion *expansion, uint32_t value, uint32_t type)
{
    return ir_builder_value_type(expansion->builder, value) == type
               ? value
               : make(expansion, "stablehlo.convert", &value, 1, type, NULL);
}

static uint32_t scalar(const struct expansion *expansion, double number)
{
    uint32_t type = ir_build_tensor_type(expansion->builder, expansion->element, 0, NULL);
    float narrow = (float)number;
    const void *bytes = expansion->element == IR_F64 ? (const void *)&number : (const void *)&narrow;
    struct ir_attr value =
        ir_build_named(expansion->builder, "value",
                       ir_build_dense(expansion->builder, type, bytes,
                                      expansion->element == IR_F64 ? sizeof number : sizeof narrow, true));
    return make(expansion, "stablehlo.constant", NULL, 0, type, &value);
}

static uint32_t spread(const struct expansion *expansion, uint32_t value, uint32_t type, const int64_t *dims,
                       uint32_t count)
{
    struct ir_attr to = ir_build_named(expansion->builder, "broadcast_dimensions",
                                       ir_build_ints(expansion->builder, dims, count));
    return make(expansion, "stablehlo.broadcast_in_dim", &value, 1, type, &to);
}

/* one number for every feature */
static uint32_t each(const struct expansion *expansion, double number)
{
    return spread(expansion, scalar(expansion, number), feature_type(expansion, expansion->element), NULL, 0);
}

/* of every feature to the whole shape */
static uint32_t over(const struct expansion *expansion, uint32_t value)
{
    int64_t dim = expansion->feature;
    return spread(expansion, value, whole_type(expansion, expansion->element), &dim, 1);
}

/* sum over all dims but the feature's */
static uint32_t sum(const struct expansion *expansion, uint32_t value)
{
    int64_t dims[IR_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t dim = 0; dim < expansion->rank; dim++)
        if (dim != expansion->feature)
            dims[count++] = dim;
    return expand_sum(&expansion->parts, value, scalar(expansion, 0), dims, count,
                      feature_type(expansion, expansion->element));
}

/* 1 / sqrt(variance + epsilon) */
static uint32_t inverse_deviation(const struct expansion *expansion, uint32_t variance, double epsilon)
{
    uint32_t moved = binary(expansion, "stablehlo.add", variance, each(expansion, epsilon));
    return make(expansion, "stablehlo.rsqrt", &moved, 1, feature_type(expansion, expansion->element), NULL);
}

/* in: operand, scale, offset; out: output, mean, variance */
static void expand_training(const struct expansion *expansion, double epsilon, const uint32_t *in,
                            uint32_t *out)
{
    out[1] = binary(expansion, "stablehlo.divide", sum(expansion, in[0]),
                    each(expansion, (double)expansion->others));
    uint32_t centred = binary(expansion, "stablehlo.subtract", in[0], over(expansion, out[1]));
    uint32_t squares = sum(expansion, binary(expansion, "stablehlo.multiply", centred, centred));
    out[2] = binary(expansion, "stablehlo.divide", squares, each(expansion, (double)expansion->others));
    uint32_t normal = binary(expansion, "stablehlo.multiply", centred,
                             over(expansion, inverse_deviation(expansion, out[2], epsilon)));
    uint32_t scaled = binary(expansion, "stablehlo.multiply", normal, over(expansion, in[1]));
    out[0] = binary(expansion, "stablehlo.add", scaled, over(expansion, in[2]));
}

/* in: operand, scale, mean, variance, gradient dy of the output; out: gradients of operand, scale, offset.
 * With the centred operand c, the inverse deviation r and n elements a feature, the operand's gradient is
 * scale r (dy - sum(dy) / n - c r r sum(dy c) / n). */
static void expand_grad(const struct expansion *expansion, double epsilon, const uint32_t *in, uint32_t *out)
{
    uint32_t centred = binary(expansion, "stablehlo.subtract", in[0], over(expansion, in[2]));
    uint32_t r = inverse_deviation(expansion, in[3], epsilon),
             count = each(expansion, (double)expansion->others);
    uint32_t along = sum(expansion, binary(expansion, "stablehlo.multiply", in[4], centred));
    out[2] = sum(expansion, in[4]);
    out[1] = binary(expansion, "stablehlo.multiply", along, r);
    uint32_t slope =
        binary(expansion, "stablehlo.divide", binary(expansion, "stablehlo.multiply", out[1], r), count);
    uint32_t level =
        binary(expansion, "stablehlo.divide", out[2], each(expansion, (double)expansion->others));
    uint32_t rest = binary(expansion, "stablehlo.subtract", in[4], over(expansion, level));
    rest = binary(expansion, "stablehlo.subtract", rest,
                  binary(expansion, "stablehlo.multiply", centred, over(expansion, slope)));
    out[0] = binary(expansion, "stablehlo.multiply", rest,
                    over(expansion, binary(expansion, "stablehlo.multiply", in[1], r)));
}

/* Does the op pass what ir_verify will ask of it? If not, it stays as it is, so that the complaint is about
 * the op that the user wrote. */
static bool is_sound(const struct ir_program *program, uint32_t op, int64_t feature)
{
    const struct ir_op *ir_op = &program->ops[op];
    if (ir_op->operand_count != (ir_op->code == IR_BATCH_NORM_TRAINING ? 3 : 5) || ir_op->result_count != 3)
        return false;
    const struct ir_type *whole = ir_value_type(program, ir_operand(program, op, 0));
    if (whole->kind != IR_TYPE_TENSOR || whole->rank > IR_MAX_RANK || feature < 0 || feature >= whole->rank ||
        !ir_element_is_float((enum ir_element)whole->element) || ir_type_elements(program, whole) == 0)
        return false;
    for (uint32_t i = 1; i < ir_op->operand_count; i++) {
        const struct ir_type *type = ir_value_type(program, ir_operand(program, op, i));
        bool same = program->values[ir_operand(program, op, i)].type ==
                    program->values[ir_operand(program, op, 0)].type;
        bool fits = type->kind == IR_TYPE_TENSOR && type->rank == 1 && type->element == whole->element &&
                    ir_type_dims(program, type)[0] == ir_type_dims(program, whole)[feature];
        if (!(i == 4 ? same : fits))
            return false;
    }
    return true;
}

static bool expand_batch_norm(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                              struct ir_position position, const uint32_t *operands, uint32_t results[3])
{
    const struct ir_op *ir_op = &program->ops[op];
    bool training = ir_op->code == IR_BATCH_NORM_TRAINING;
    const struct ir_attr *epsilon = ir_attr_find(program, op, "epsilon");
    int64_t feature = ir_int(program, op, "feature_index", -1);
    if (!epsilon || epsilon->kind != IR_ATTR_FLOAT || !is_sound(program, op, feature))
        return false;
    const struct ir_type *type = ir_value_type(program, ir_operand(program, op, 0));
    enum ir_element element = (enum ir_element)type->element;
    struct expansion expansion = {.builder = builder,
                                  .parts = {builder, position},
                                  .element = ir_element_bits(element) < 32 ? IR_F32 : element,
                                  .rank = type->rank,
                                  .feature = (uint32_t)feature};
    memcpy(expansion.dims, ir_type_dims(program, type), type->rank * sizeof *expansion.dims);
    expansion.others = ir_type_elements(program, type) / expansion.dims[feature];
    uint32_t in[5], whole = whole_type(&expansion, expansion.element),
                    features = feature_type(&expansion, expansion.element);
    for (uint32_t i = 0; i < ir_op->operand_count; i++)
        in[i] = convert(&expansion, operands[i], i == 0 || i == 4 ? whole : features);
    (training ? expand_training : expand_grad)(
        &expansion, (double)strtof(ir_string(program, epsilon->first), NULL), in, results);
    for (uint32_t i = 0; i < 3; i++)
        results[i] = convert(&expansion, results[i],
                             i ? feature_type(&expansion, element) : whole_type(&expansion, element));
    return true;
}

/* GSPMD's word for sdy.sharding_constraint, which keeps what it says: `mhlo.sharding`, and in backend_config
 * which dimensions are open. A copy of its operand by no backend, so it must not be priced as a call. */
static bool expand_sharding(const struct expand_parts *parts, const struct ir_program *program, uint32_t op,
                            const uint32_t *operands, uint32_t *results)
{
    const struct ir_op *ir_op = &program->ops[op];
    const struct ir_attr *target = ir_attr_find(program, op, "call_target_name");
    if (ir_op->operand_count != 1 || ir_op->result_count != 1 || !target || target->kind != IR_ATTR_STRING ||
        strcmp(ir_string(program, target->first), "Sharding") != 0 ||
        program->values[ir_operand(program, op, 0)].type != program->values[ir_result(program, op, 0)].type)
        return false;
    static const char *const kept[] = {"mhlo.sharding", "backend_config"};
    struct ir_attr attrs[sizeof kept / sizeof *kept];
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const struct ir_attr *attr = ir_attr_find(program, op, kept[i]);
        if (attr)
            attrs[count++] = ir_build_copy_attr(parts->builder, program, attr);
    }
    results[0] = expand_op(parts, "sdy.sharding_constraint", operands, 1,
                           ir_builder_value_type(parts->builder, operands[0]), attrs, count);
    return true;
}

bool ir_expand_op(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                  struct ir_position position, const uint32_t *operands, uint32_t results[IR_EXPAND_RESULTS])
{
    struct expand_parts parts = {builder, position};
    enum ir_opcode code = (enum ir_opcode)program->ops[op].code;
    if (code == IR_BATCH_NORM_TRAINING || code == IR_BATCH_NORM_GRAD)
        return expand_batch_norm(builder, program, op, position, operands, results);
    if (code == IR_CUSTOM_CALL)
        return expand_sharding(&parts, program, op, operands, results);
    const char *name = code == IR_UNKNOWN ? ir_op_name(program, op) : "";
    if (strcmp(name, "stablehlo.einsum") == 0)
        return expand_einsum(&parts, program, op, 2, operands, results);
    if (strcmp(name, "stablehlo.unary_einsum") == 0)
        return expand_einsum(&parts, program, op, 1, operands, results);
    return strcmp(name, "stablehlo.torch_index_select") == 0 &&
           expand_index_select(&parts, program, op, operands, results);
}

/* Ops on empty tensors (simplify.h): an op without a result element becomes an empty constant, a
 * concatenate loses its empty parts, a pad of nothing becomes a broadcast of the padding. */
#include "ir/simplify.h"

#include "ir/attrs.h"

#include <stdlib.h>

static bool is_empty_type(const struct ir_program *program, const struct ir_type *type)
{
    return type->kind == IR_TYPE_TENSOR && ir_type_elements(program, type) == 0;
}

bool ir_is_empty(const struct ir_program *program, uint32_t op)
{
    const struct ir_op *ir_op = &program->ops[op];
    bool empty = ir_op->result_count > 0 && ir_op->code != IR_CUSTOM_CALL && ir_op->code != IR_CONSTANT;
    for (uint32_t i = 0; i < ir_op->result_count && empty; i++)
        empty = is_empty_type(program, ir_value_type(program, ir_op->results + i));
    return empty;
}

bool ir_drops_operand(const struct ir_program *program, uint32_t op, uint32_t operand)
{
    if (ir_is_empty(program, op))
        return true;
    if (program->ops[op].code != IR_CONCATENATE && (program->ops[op].code != IR_PAD || operand != 0))
        return false;
    return is_empty_type(program, ir_value_type(program, ir_operand(program, op, operand)));
}

static struct ir_op_spec spec_of(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                                 const char *name, const uint32_t *type)
{
    return (struct ir_op_spec){.name = name,
                               .result_types = type,
                               .result_count = 1,
                               .position = ir_build_position(builder, program, op)};
}

static uint32_t write_constant(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                               uint32_t type, uint32_t element)
{
    static const unsigned char zero[IR_ELEMENT_BYTES];
    struct ir_op_spec spec = spec_of(builder, program, op, "stablehlo.constant", &type);
    size_t bytes =
        ir_element_bits((enum ir_element)element) <= 8 ? 1 : ir_element_bits((enum ir_element)element) / 8;
    struct ir_attr value = ir_build_named(builder, "value", ir_build_dense(builder, type, zero, bytes, true));
    spec.attrs = &value;
    spec.attr_count = 1;
    return ir_builder_result(builder, ir_build_op(builder, &spec), 0);
}

static uint32_t write_broadcast(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                                uint32_t type, uint32_t padding)
{
    struct ir_op_spec spec = spec_of(builder, program, op, "stablehlo.broadcast_in_dim", &type);
    struct ir_attr dims = ir_build_named(builder, "broadcast_dimensions", ir_build_ints(builder, NULL, 0));
    spec.operands = &padding;
    spec.operand_count = 1;
    spec.attrs = &dims;
    spec.attr_count = 1;
    return ir_builder_result(builder, ir_build_op(builder, &spec), 0);
}

static uint32_t write_concatenate(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                                  uint32_t type, const uint32_t *operands)
{
    const struct ir_op *ir_op = &program->ops[op];
    uint32_t *kept = mem_alloc(sizeof *kept * ir_op->operand_count), count = 0, result;
    struct ir_op_spec spec = spec_of(builder, program, op, "stablehlo.concatenate", &type);
    for (uint32_t i = 0; i < ir_op->operand_count; i++)
        if (!ir_drops_operand(program, op, i))
            kept[count++] = operands[i];
    struct ir_attr along = ir_build_named(builder, "dimension",
                                          ir_build_int(builder, ir_int(program, op, "dimension", 0), "i64"));
    spec.operands = kept;
    spec.operand_count = count;
    spec.attrs = &along;
    spec.attr_count = 1;
    result = count == 1 ? kept[0] : ir_builder_result(builder, ir_build_op(builder, &spec), 0);
    free(kept);
    return result;
}

bool ir_simplify_op(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                    const uint32_t *operands, uint32_t *results)
{
    const struct ir_op *ir_op = &program->ops[op];
    bool drops = ir_is_empty(program, op);
    for (uint32_t i = 0; i < ir_op->operand_count && !drops; i++)
        drops = ir_drops_operand(program, op, i);
    for (uint32_t i = 0; i < ir_op->result_count && drops; i++) {
        uint32_t type = ir_build_copy_type(builder, program, program->values[ir_op->results + i].type);
        uint8_t element = ir_value_type(program, ir_op->results + i)->element;
        if (ir_is_empty(program, op))
            results[i] = write_constant(builder, program, op, type, element);
        else if (ir_op->code == IR_CONCATENATE)
            results[i] = write_concatenate(builder, program, op, type, operands);
        else
            results[i] = write_broadcast(builder, program, op, type, operands[1]);
    }
    return drops;
}

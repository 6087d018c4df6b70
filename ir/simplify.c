/* Ops on empty tensors (simplify.h): an op without a result element becomes an empty constant, a
 * concatenate loses its empty parts, a pad of nothing becomes a broadcast of the padding. */
#include "ir/simplify.h"

#include "ir/attrs.h"

#include <stdlib.h>

static bool is_empty_type(const struct ir_program *p, const struct ir_type *t)
{
    return t->kind == IR_TYPE_TENSOR && ir_type_elements(p, t) == 0;
}

bool ir_is_empty(const struct ir_program *p, uint32_t op)
{
    const struct ir_op *o = &p->ops[op];
    bool empty = o->result_count > 0 && o->code != IR_CUSTOM_CALL && o->code != IR_CONSTANT;
    for (uint32_t i = 0; i < o->result_count && empty; i++)
        empty = is_empty_type(p, ir_value_type(p, o->results + i));
    return empty;
}

bool ir_drops_operand(const struct ir_program *p, uint32_t op, uint32_t operand)
{
    if (ir_is_empty(p, op))
        return true;
    if (p->ops[op].code != IR_CONCATENATE && (p->ops[op].code != IR_PAD || operand != 0))
        return false;
    return is_empty_type(p, ir_value_type(p, ir_operand(p, op, operand)));
}

static struct ir_op_spec spec_of(const struct ir_program *p, uint32_t op, const char *name,
                                 const uint32_t *type)
{
    const struct ir_op *o = &p->ops[op];
    return (struct ir_op_spec){.name = name,
                               .result_types = type,
                               .result_count = 1,
                               .line = o->line,
                               .column = o->column,
                               .location = o->location == IR_NONE ? NULL : ir_string(p, o->location)};
}

static uint32_t write_constant(struct ir_builder *b, const struct ir_program *p, uint32_t op, uint32_t type,
                               uint32_t element)
{
    static const unsigned char zero[IR_ELEMENT_BYTES];
    struct ir_op_spec spec = spec_of(p, op, "stablehlo.constant", &type);
    size_t bytes =
        ir_element_bits((enum ir_element)element) <= 8 ? 1 : ir_element_bits((enum ir_element)element) / 8;
    struct ir_attr value = ir_build_named(b, "value", ir_build_dense(b, type, zero, bytes, true));
    spec.attrs = &value;
    spec.attr_count = 1;
    return ir_builder_result(b, ir_build_op(b, &spec), 0);
}

static uint32_t write_broadcast(struct ir_builder *b, const struct ir_program *p, uint32_t op, uint32_t type,
                                uint32_t padding)
{
    struct ir_op_spec spec = spec_of(p, op, "stablehlo.broadcast_in_dim", &type);
    struct ir_attr dims = ir_build_named(b, "broadcast_dimensions", ir_build_ints(b, NULL, 0));
    spec.operands = &padding;
    spec.operand_count = 1;
    spec.attrs = &dims;
    spec.attr_count = 1;
    return ir_builder_result(b, ir_build_op(b, &spec), 0);
}

static uint32_t write_concatenate(struct ir_builder *b, const struct ir_program *p, uint32_t op,
                                  uint32_t type, const uint32_t *operands)
{
    const struct ir_op *o = &p->ops[op];
    uint32_t *kept = mem_alloc(sizeof *kept * o->operand_count), count = 0, result;
    struct ir_op_spec spec = spec_of(p, op, "stablehlo.concatenate", &type);
    for (uint32_t i = 0; i < o->operand_count; i++)
        if (!ir_drops_operand(p, op, i))
            kept[count++] = operands[i];
    struct ir_attr along =
        ir_build_named(b, "dimension", ir_build_int(b, ir_int(p, op, "dimension", 0), "i64"));
    spec.operands = kept;
    spec.operand_count = count;
    spec.attrs = &along;
    spec.attr_count = 1;
    result = count == 1 ? kept[0] : ir_builder_result(b, ir_build_op(b, &spec), 0);
    free(kept);
    return result;
}

bool ir_simplify_op(struct ir_builder *b, const struct ir_program *p, uint32_t op, const uint32_t *operands,
                    uint32_t *results)
{
    const struct ir_op *o = &p->ops[op];
    bool drops = ir_is_empty(p, op);
    for (uint32_t i = 0; i < o->operand_count && !drops; i++)
        drops = ir_drops_operand(p, op, i);
    for (uint32_t i = 0; i < o->result_count && drops; i++) {
        uint32_t type = ir_build_copy_type(b, p, p->values[o->results + i].type);
        results[i] = ir_is_empty(p, op)
                         ? write_constant(b, p, op, type, ir_value_type(p, o->results + i)->element)
                     : o->code == IR_CONCATENATE ? write_concatenate(b, p, op, type, operands)
                                                 : write_broadcast(b, p, op, type, operands[1]);
    }
    return drops;
}

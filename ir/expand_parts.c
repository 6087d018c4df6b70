/* Single ops for expansions, and the one with a region that they share: a sum. */
#include "ir/expand_parts.h"

uint32_t expand_op(const struct expand_parts *parts, const char *name, const uint32_t *operands,
                   uint32_t operand_count, uint32_t type, const struct ir_attr *attrs, uint32_t attr_count)
{
    struct ir_op_spec spec = {.name = name,
                              .operands = operands,
                              .operand_count = operand_count,
                              .result_types = &type,
                              .result_count = 1,
                              .attrs = attrs,
                              .attr_count = attr_count,
                              .position = parts->position};
    return ir_builder_result(parts->builder, ir_build_op(parts->builder, &spec), 0);
}

uint32_t expand_sum(const struct expand_parts *parts, uint32_t value, uint32_t zero, const int64_t *dims,
                    uint32_t count, uint32_t type)
{
    uint32_t operands[2] = {value, zero}, number = ir_builder_value_type(parts->builder, zero);
    struct ir_attr over =
        ir_build_named(parts->builder, "dimensions", ir_build_ints(parts->builder, dims, count));
    struct ir_op_spec spec = {.name = "stablehlo.reduce",
                              .operands = operands,
                              .operand_count = 2,
                              .result_types = &type,
                              .result_count = 1,
                              .attrs = &over,
                              .attr_count = 1,
                              .position = parts->position};
    uint32_t op = ir_build_begin(parts->builder, &spec);
    ir_build_region(parts->builder);
    uint32_t first = ir_build_block(parts->builder, (uint32_t[]){number, number}, 2);
    uint32_t added = expand_op(parts, "stablehlo.add", (uint32_t[]){first, first + 1}, 2, number, NULL, 0);
    spec = (struct ir_op_spec){
        .name = "stablehlo.return", .operands = &added, .operand_count = 1, .position = parts->position};
    (void)ir_build_op(parts->builder, &spec);
    ir_build_end_block(parts->builder);
    ir_build_end_region(parts->builder);
    ir_build_end(parts->builder);
    return ir_builder_result(parts->builder, op, 0);
}

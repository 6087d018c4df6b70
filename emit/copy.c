/* Copies what the writers leave as the program has it: attributes, reducer bodies and whole regions. Leaves
 * out sharding annotations that the module came with, because the new module has its own. */
#include "emit/build.h"

#include <stdlib.h>
#include <string.h>

/* Annotations of the input speak of another partitioning (any mhlo.sharding turns Shardy off); torch_xla's
 * note of the result's shape would be wrong on a part. */
static bool is_annotation(const char *name)
{
    return strcmp(name, "mhlo.sharding") == 0 || strncmp(name, "sdy.", 4) == 0 ||
           strcmp(name, "xla_shape") == 0;
}

enum error_code emit_attrs(struct emit *e, uint32_t op, struct ir_attr *out, uint32_t *count,
                           struct error *error)
{
    const struct ir_op *ir_op = &e->program->ops[op];
    *count = 0;
    for (uint32_t i = 0; i < ir_op->attr_count; i++) {
        const struct ir_attr *attr = &e->program->attrs[ir_op->attrs + i];
        if (is_annotation(ir_string(e->program, attr->name)))
            continue;
        if (*count == EMIT_MAX_ATTRS - 4)
            return emit_reject(e, error, "more than %d attributes", EMIT_MAX_ATTRS - 4);
        out[(*count)++] = ir_build_copy_attr(e->builder, e->program, attr);
    }
    return ERROR_OK;
}

void emit_attr_set(struct emit *e, struct ir_attr *attrs, uint32_t *count, const char *name,
                   struct ir_attr attr)
{
    struct ir_attr named = ir_build_named(e->builder, name, attr);
    for (uint32_t i = 0; i < *count; i++)
        if (attrs[i].name == named.name) {
            attrs[i] = named;
            return;
        }
    BASE_CHECK(*count < EMIT_MAX_ATTRS);
    attrs[(*count)++] = named;
}

static enum error_code copy_op(struct emit *e, uint32_t op, struct error *error);

static enum error_code copy_region(struct emit *e, uint32_t op, uint32_t region, struct error *error)
{
    const struct ir_program *program = e->program;
    uint32_t block = ir_region_block(program, op, region);
    ir_build_region(e->builder);
    if (block != IR_NONE) {
        const struct ir_block *ir_block = &program->blocks[block];
        uint32_t *types = mem_alloc((ir_block->arg_count + 1) * sizeof *types);
        for (uint32_t i = 0; i < ir_block->arg_count; i++)
            types[i] = ir_build_copy_type(e->builder, program, program->values[ir_block->args + i].type);
        uint32_t first = ir_build_block(e->builder, types, ir_block->arg_count);
        free(types);
        for (uint32_t i = 0; i < ir_block->arg_count; i++) {
            ir_build_copy_value_location(e->builder, first + i, program, ir_block->args + i);
            emit_copied(e, ir_block->args + i, first + i);
        }
        enum error_code code = emit_block_ops(e, block, error);
        if (code)
            return code;
        ir_build_end_block(e->builder);
    }
    ir_build_end_region(e->builder);
    return ERROR_OK;
}

enum error_code emit_block_ops(struct emit *e, uint32_t block, struct error *error)
{
    const struct ir_block *ir_block = &e->program->blocks[block];
    for (uint32_t i = 0; i < ir_block->op_count; i++) {
        enum error_code code = copy_op(e, e->program->block_ops[ir_block->ops + i], error);
        if (code)
            return code;
    }
    return ERROR_OK;
}

enum error_code emit_regions(struct emit *e, uint32_t op, struct error *error)
{
    for (uint32_t region = 0; region < e->program->ops[op].region_count; region++) {
        enum error_code code = copy_region(e, op, region, error);
        if (code)
            return code;
    }
    return ERROR_OK;
}

static enum error_code copy_op(struct emit *e, uint32_t op, struct error *error)
{
    const struct ir_program *program = e->program;
    const struct ir_op *ir_op = &program->ops[op];
    struct ir_attr attrs[EMIT_MAX_ATTRS];
    uint32_t attr_count,
        outer = e->op, *values = mem_alloc((ir_op->operand_count + ir_op->result_count + 1) * sizeof *values);
    uint32_t *types = values + ir_op->operand_count;
    enum error_code code = ERROR_OK;
    e->op = op;
    for (uint32_t i = 0; i < ir_op->operand_count && !code; i++) {
        values[i] = emit_copied_use(e, op, i);
        if (values[i] == IR_NONE)
            code = emit_reject(e, error,
                               "a region uses a value of the program around it; only control flow may");
    }
    if (!code)
        code = emit_attrs(e, op, attrs, &attr_count, error);
    if (!code) {
        attr_count += constrained_forms(e, op, &attrs[attr_count]);
        for (uint32_t i = 0; i < ir_op->result_count; i++)
            types[i] = ir_build_copy_type(e->builder, program, program->values[ir_op->results + i].type);
        struct ir_op_spec spec = {ir_op_name(program, op), values, ir_op->operand_count, types,
                                  ir_op->result_count,     attrs,  attr_count,           emit_position(e)};
        uint32_t built = ir_build_begin(e->builder, &spec);
        code = emit_regions(e, op, error);
        if (!code)
            ir_build_end(e->builder);
        for (uint32_t i = 0; i < ir_op->result_count && !code; i++)
            emit_copied(e, ir_op->results + i, ir_builder_result(e->builder, built, i));
    }
    free(values);
    e->op = outer;
    return code;
}

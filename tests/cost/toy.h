/* Local programs by hand: ops on f32 vectors, one step each, and further steps in between. */
#ifndef TOAST_TESTS_TOY_H
#define TOAST_TESTS_TOY_H

#include "support.h"

#include "cost/price.h"
#include "ir/build.h"

#include <stdlib.h>
#include <string.h>

struct toy {
    struct ir_builder *builder;
    struct ir_program program;
    struct nda nda;
    struct mesh mesh;
    struct spmd_local local;
    struct cost_machine machine;
};

/* Arguments of the given numbers of floats; alias[i] >= 0: donated to that result. */
static inline void toy_begin(struct toy *toy, uint32_t arguments, const int64_t *floats, const int *alias)
{
    memset(toy, 0, sizeof *toy);
    toy->builder = ir_builder_create();
    toy->mesh = (struct mesh){.axis_count = 2, .axes = {{.name = "x", .size = 4}, {.name = "y", .size = 2}}};
    struct error e;
    ASSERT_OK(cost_machine_create(&toy->mesh, "a100-40", 0, &toy->machine, &e), &e);
    cost_machine_set_backend(&toy->machine, &toy->mesh,
                             COST_XLA_CPU); /* closed forms, nothing beside compute */
    struct ir_attr dictionaries[16];
    uint32_t types[16];
    for (uint32_t type = 0; type < arguments; type++) {
        types[type] = ir_build_tensor_type(toy->builder, IR_F32, 1, &floats[type]);
        struct ir_attr entry = ir_build_named(toy->builder, "tf.aliasing_output",
                                              ir_build_int(toy->builder, alias ? alias[type] : 0, "i32"));
        dictionaries[type] = ir_build_dictionary(toy->builder, &entry, alias && alias[type] >= 0 ? 1 : 0);
    }
    struct ir_attr attr =
        ir_build_named(toy->builder, "arg_attrs", ir_build_array(toy->builder, dictionaries, arguments));
    ir_build_begin(toy->builder, &(struct ir_op_spec){.name = "builtin.module"});
    ir_build_region(toy->builder);
    ir_build_block(toy->builder, NULL, 0);
    ir_build_begin(toy->builder, &(struct ir_op_spec){.name = "func.func", .attrs = &attr, .attr_count = 1});
    ir_build_region(toy->builder);
    ir_build_block(toy->builder, types, arguments);
    toy->local.mesh = &toy->mesh;
    struct spmd_local *local = &toy->local;
    local->steps = mem_zalloc(local->step_room = 64, sizeof *local->steps);
    local->values = mem_zalloc(local->value_room = 128, sizeof *local->values);
    local->operands = mem_zalloc(local->operand_room = 256, sizeof *local->operands);
    local->cells = mem_zalloc(local->cell_room = 128, sizeof *local->cells);
    for (uint32_t a = 0; a < arguments; a++)
        toy->local.values[toy->local.value_count++] =
            (struct spmd_value){.origin = a, .step = SPMD_NONE, .bytes = 4 * floats[a]};
    toy->local.argument_count = arguments;
}

/* A step with results of the given numbers of floats; returns its first result. */
static inline uint32_t toy_step(struct toy *toy, uint8_t kind, uint32_t op, const uint32_t *operands,
                                uint32_t count, uint32_t results, int64_t floats)
{
    struct spmd_local *local = &toy->local;
    struct spmd_step *step = &local->steps[local->step_count];
    *step = (struct spmd_step){.kind = kind,
                               .op = op,
                               .cells = SPMD_NONE,
                               .operands = local->operand_count,
                               .operand_count = count,
                               .results = local->value_count,
                               .result_count = results,
                               .trips = 1};
    for (uint32_t o = 0; o < count; o++)
        local->operands[local->operand_count++] = operands[o];
    for (uint32_t r = 0; r < results; r++)
        local->values[local->value_count++] =
            (struct spmd_value){.step = local->step_count, .bytes = 4 * floats};
    local->step_count++;
    return step->results;
}

/* An op of the program with one result, and its step. Operands are values of the local program; in the
 * program itself all ops read argument 0, which the price does not look at. */
static inline uint32_t toy_op(struct toy *toy, const char *name, const uint32_t *operands, uint32_t count,
                              int64_t floats)
{
    uint32_t type = ir_build_tensor_type(toy->builder, IR_F32, 1, &floats), zeros[8] = {0};
    uint32_t op = ir_build_op(toy->builder, &(struct ir_op_spec){.name = name,
                                                                 .operands = zeros,
                                                                 .operand_count = count,
                                                                 .result_types = &type,
                                                                 .result_count = 1});
    return toy_step(toy, SPMD_OP, op, operands, count, 1, floats);
}
#define TOY_OP(t, name, floats, ...)                                                                         \
    toy_op(t, "stablehlo." name, (uint32_t[]){__VA_ARGS__},                                                  \
           sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), floats)
#define TOY_STEP(t, kind, results, floats, ...)                                                              \
    toy_step(t, kind, 0, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),    \
             results, floats)

static inline void toy_end(struct toy *toy, const uint32_t *returns, uint32_t count)
{
    uint32_t zeros[16] = {0};
    ir_build_op(toy->builder,
                &(struct ir_op_spec){.name = "func.return", .operands = zeros, .operand_count = count});
    ir_build_end_block(toy->builder);
    ir_build_end_region(toy->builder);
    ir_build_end(toy->builder);
    ir_build_end_block(toy->builder);
    ir_build_end_region(toy->builder);
    ir_build_end(toy->builder);
    ir_builder_finish(toy->builder, NULL, &toy->program);
    toy->nda.program = &toy->program;
    toy->nda.function = 1;
    toy->nda.block = ir_region_block(&toy->program, 1, 0);
    toy->local.nda = &toy->nda;
    toy_step(toy, SPMD_RESULT, 0, returns, count, 0, 0);
}
#define TOY_END(t, ...)                                                                                      \
    toy_end(t, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static inline struct price toy_price(struct toy *toy)
{
    struct price_scratch *scratch = NULL;
    struct price price, again;
    price_local(&toy->local, &toy->machine, &scratch, NULL, &price);
    price_local(&toy->local, &toy->machine, &scratch, NULL, &again);
    assert_memory_equal(&price, &again, sizeof price);
    price_scratch_destroy(scratch);
    return price;
}

static inline void toy_release(struct toy *toy)
{
    free(toy->local.steps);
    free(toy->local.values);
    free(toy->local.operands);
    free(toy->local.cells);
    ir_program_release(&toy->program);
}

#endif

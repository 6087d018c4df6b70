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
static inline void toy_begin(struct toy *t, uint32_t arguments, const int64_t *floats, const int *alias)
{
    memset(t, 0, sizeof *t);
    t->builder = ir_builder_create();
    t->mesh = (struct mesh){.axis_count = 2, .axes = {{.name = "x", .size = 4}, {.name = "y", .size = 2}}};
    struct error e;
    ASSERT_OK(cost_machine_create(&t->mesh, "a100-40", 0, &t->machine, &e), &e);
    struct ir_attr dictionaries[16];
    uint32_t types[16];
    for (uint32_t a = 0; a < arguments; a++) {
        types[a] = ir_build_tensor_type(t->builder, IR_F32, 1, &floats[a]);
        struct ir_attr entry = ir_build_named(t->builder, "tf.aliasing_output",
                                              ir_build_int(t->builder, alias ? alias[a] : 0, "i32"));
        dictionaries[a] = ir_build_dictionary(t->builder, &entry, alias && alias[a] >= 0 ? 1 : 0);
    }
    struct ir_attr attr =
        ir_build_named(t->builder, "arg_attrs", ir_build_array(t->builder, dictionaries, arguments));
    ir_build_begin(t->builder, &(struct ir_op_spec){.name = "builtin.module"});
    ir_build_region(t->builder);
    ir_build_block(t->builder, NULL, 0);
    ir_build_begin(t->builder, &(struct ir_op_spec){.name = "func.func", .attrs = &attr, .attr_count = 1});
    ir_build_region(t->builder);
    ir_build_block(t->builder, types, arguments);
    t->local.mesh = &t->mesh;
    struct spmd_local *l = &t->local;
    l->steps = mem_zalloc(l->step_room = 64, sizeof *l->steps);
    l->values = mem_zalloc(l->value_room = 128, sizeof *l->values);
    l->operands = mem_zalloc(l->operand_room = 256, sizeof *l->operands);
    l->cells = mem_zalloc(l->cell_room = 128, sizeof *l->cells);
    for (uint32_t a = 0; a < arguments; a++)
        t->local.values[t->local.value_count++] =
            (struct spmd_value){.origin = a, .step = SPMD_NONE, .bytes = 4 * floats[a]};
    t->local.argument_count = arguments;
}

/* A step with results of the given numbers of floats; returns its first result. */
static inline uint32_t toy_step(struct toy *t, uint8_t kind, uint32_t op, const uint32_t *operands,
                                uint32_t count, uint32_t results, int64_t floats)
{
    struct spmd_local *l = &t->local;
    struct spmd_step *s = &l->steps[l->step_count];
    *s = (struct spmd_step){.kind = kind,
                            .op = op,
                            .cells = SPMD_NONE,
                            .operands = l->operand_count,
                            .operand_count = count,
                            .results = l->value_count,
                            .result_count = results,
                            .trips = 1};
    for (uint32_t o = 0; o < count; o++)
        l->operands[l->operand_count++] = operands[o];
    for (uint32_t r = 0; r < results; r++)
        l->values[l->value_count++] = (struct spmd_value){.step = l->step_count, .bytes = 4 * floats};
    l->step_count++;
    return s->results;
}

/* An op of the program with one result, and its step. Operands are values of the local program; in the
 * program itself all ops read argument 0, which the price does not look at. */
static inline uint32_t toy_op(struct toy *t, const char *name, const uint32_t *operands, uint32_t count,
                              int64_t floats)
{
    uint32_t type = ir_build_tensor_type(t->builder, IR_F32, 1, &floats), zeros[8] = {0};
    uint32_t op = ir_build_op(t->builder, &(struct ir_op_spec){.name = name,
                                                               .operands = zeros,
                                                               .operand_count = count,
                                                               .result_types = &type,
                                                               .result_count = 1});
    return toy_step(t, SPMD_OP, op, operands, count, 1, floats);
}
#define TOY_OP(t, name, floats, ...)                                                                         \
    toy_op(t, "stablehlo." name, (uint32_t[]){__VA_ARGS__},                                                  \
           sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), floats)
#define TOY_STEP(t, kind, results, floats, ...)                                                              \
    toy_step(t, kind, 0, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),    \
             results, floats)

static inline void toy_end(struct toy *t, const uint32_t *returns, uint32_t count)
{
    uint32_t zeros[16] = {0};
    ir_build_op(t->builder,
                &(struct ir_op_spec){.name = "func.return", .operands = zeros, .operand_count = count});
    ir_build_end_block(t->builder);
    ir_build_end_region(t->builder);
    ir_build_end(t->builder);
    ir_build_end_block(t->builder);
    ir_build_end_region(t->builder);
    ir_build_end(t->builder);
    ir_builder_finish(t->builder, NULL, &t->program);
    t->nda.program = &t->program;
    t->nda.function = 1;
    t->nda.block = ir_region_block(&t->program, 1, 0);
    t->local.nda = &t->nda;
    toy_step(t, SPMD_RESULT, 0, returns, count, 0, 0);
}
#define TOY_END(t, ...)                                                                                      \
    toy_end(t, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static inline struct price toy_price(struct toy *t)
{
    struct price_scratch *scratch = NULL;
    struct price p, again;
    price_local(&t->local, &t->machine, &scratch, &p);
    price_local(&t->local, &t->machine, &scratch, &again);
    assert_memory_equal(&p, &again, sizeof p);
    price_scratch_destroy(scratch);
    return p;
}

static inline void toy_release(struct toy *t)
{
    free(t->local.steps);
    free(t->local.values);
    free(t->local.operands);
    free(t->local.cells);
    ir_program_release(&t->program);
}

#endif

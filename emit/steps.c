/* Writes the steps of a local program in their order.
 *
 * A loop or a branch is one op with regions: its first step opens the op, and the steps up to its end go into
 * the region that is open. A stack of open ops says which one that is. Scalars that were computed in a region
 * (build.h) are forgotten when it closes, since nothing outside may name them. */
#include "emit/lower.h"

#include <stdlib.h>

struct open_op {
    uint32_t built;               /* builder's op */
    const struct spmd_step *step; /* LOOP or BRANCH */
    struct emit_scope outer;
    size_t mark;
};

struct walk {
    struct emit *e;
    VEC(struct open_op) stack;
};

static uint32_t use(struct emit *e, const struct spmd_step *step, uint32_t spmd_value)
{
    if (e->output != EMIT_ANNOTATED)
        return e->value_of[spmd_value];
    return step->kind == SPMD_LOOP_END ? annotate_carry(e, spmd_value) : annotate_use(e, spmd_value);
}

static uint32_t type_of(struct emit *e, uint32_t spmd_value)
{
    return e->output == EMIT_ANNOTATED ? annotate_type(e, spmd_value) : emit_value_type(e, spmd_value);
}

static void define(struct emit *e, uint32_t spmd_value, uint32_t built)
{
    if (e->output == EMIT_ANNOTATED)
        annotate_define(e, spmd_value, built);
    else
        e->value_of[spmd_value] = built;
}

/* builder values of a step's operands; owned */
static uint32_t *uses(struct emit *e, const struct spmd_step *step)
{
    uint32_t *values = mem_alloc((step->operand_count + 1) * sizeof *values);
    for (uint32_t i = 0; i < step->operand_count; i++)
        values[i] = use(e, step, spmd_operand(e->local, step, i));
    return values;
}

static void open_region(struct walk *walk, struct open_op *open_op)
{
    ir_build_region(walk->e->builder);
    emit_scope_open(walk->e, NULL);
    open_op->mark = walk->e->output == EMIT_ANNOTATED ? annotate_region_open(walk->e) : 0;
}

static void close_region(struct walk *walk, const struct spmd_step *step)
{
    uint32_t *values = uses(walk->e, step);
    emit_op(walk->e, "stablehlo.return", values, step->operand_count, NULL, 0, NULL, 0);
    free(values);
    ir_build_end_block(walk->e->builder);
    ir_build_end_region(walk->e->builder);
    struct open_op *open_op = &walk->stack.at[walk->stack.count - 1];
    if (walk->e->output == EMIT_ANNOTATED)
        annotate_region_close(walk->e, open_op->mark);
}

/* the END that belongs to a LOOP or BRANCH */
static const struct spmd_step *matching_end(const struct spmd_local *local, const struct spmd_step *step)
{
    uint32_t nested = 0;
    for (; step < local->steps + local->step_count; step++) {
        nested += step->kind == SPMD_LOOP || step->kind == SPMD_BRANCH;
        nested -= step->kind == SPMD_LOOP_END || step->kind == SPMD_BRANCH_END;
        if (!nested)
            return step;
    }
    return NULL;
}

static enum error_code open_op(struct walk *walk, const struct spmd_step *step, struct error *error)
{
    struct emit *e = walk->e;
    const struct spmd_step *end = matching_end(e->local, step);
    struct open_op open_op = {.step = step};
    struct ir_attr attrs[EMIT_MAX_ATTRS];
    uint32_t attr_count;
    enum error_code code = emit_attrs(e, step->op, attrs, &attr_count, error);
    if (code)
        return code;
    if (!end)
        return error_set(error, ERROR_INTERNAL, "a loop or branch of the local program has no end");
    uint32_t *values = uses(e, step), *types = mem_alloc((end->result_count + 1) * sizeof *types);
    for (uint32_t i = 0; i < end->result_count; i++)
        types[i] = type_of(e, end->results + i);
    struct ir_op_spec spec = {ir_op_name(e->program, step->op),
                              values,
                              step->operand_count,
                              types,
                              end->result_count,
                              attrs,
                              attr_count,
                              emit_position(e)};
    open_op.built = ir_build_begin(e->builder, &spec);
    free(values);
    free(types);
    open_op.outer = e->scope;
    open_region(walk, &open_op);
    VEC_PUSH(&walk->stack, open_op);
    return ERROR_OK;
}

/* opens a block whose arguments are the values first .. first + count */
static void open_block(struct walk *walk, uint32_t first, uint32_t count)
{
    uint32_t *types = mem_alloc((count + 1) * sizeof *types);
    for (uint32_t i = 0; i < count; i++)
        types[i] = type_of(walk->e, first + i);
    uint32_t args = ir_build_block(walk->e->builder, types, count);
    for (uint32_t i = 0; i < count; i++) {
        ir_build_copy_value_location(walk->e->builder, args + i, walk->e->program,
                                     walk->e->local->values[first + i].origin);
        define(walk->e, first + i, args + i);
    }
    free(types);
}

static void close_op(struct walk *walk, const struct spmd_step *step)
{
    close_region(walk, step);
    struct open_op *open_op = &walk->stack.at[--walk->stack.count];
    emit_scope_close(walk->e, &open_op->outer);
    ir_build_end(walk->e->builder);
    for (uint32_t i = 0; i < step->result_count; i++)
        define(walk->e, step->results + i, ir_builder_result(walk->e->builder, open_op->built, i));
}

static enum error_code control(struct walk *walk, const struct spmd_step *step, struct error *error)
{
    enum error_code code = ERROR_OK;
    walk->e->op = step->op;
    if (step->kind == SPMD_LOOP || step->kind == SPMD_BRANCH) {
        code = open_op(walk, step, error);
        if (!code)
            open_block(walk, step->results, step->kind == SPMD_LOOP ? step->operand_count : 0);
        return code;
    }
    if (!walk->stack.count)
        return error_set(error, ERROR_INTERNAL, "a step of the local program ends a region that is not open");
    struct open_op *other_open_op = &walk->stack.at[walk->stack.count - 1];
    if (step->kind == SPMD_LOOP_BODY || step->kind == SPMD_BRANCH_NEXT) {
        uint32_t count = step->kind == SPMD_LOOP_BODY ? other_open_op->step->operand_count : 0;
        close_region(walk, step);
        open_region(walk, other_open_op);
        open_block(walk, other_open_op->step->results + count, count);
    } else {
        close_op(walk, step);
    }
    return ERROR_OK;
}

static uint32_t combined_run(const struct spmd_local *local, uint32_t first)
{
    uint32_t n = 1, id = local->steps[first].combined;
    while (id && first + n < local->step_count && local->steps[first + n].combined == id)
        n++;
    return n;
}

static bool is_control(uint8_t kind)
{
    return kind >= SPMD_LOOP && kind <= SPMD_BRANCH_END;
}

enum error_code emit_steps(struct emit *e, uint32_t **results, uint32_t *count, struct error *error)
{
    struct walk walk = {.e = e};
    const struct spmd_local *local = e->local;
    enum error_code code = ERROR_OK;
    *results = NULL;
    *count = 0;
    emit_scope_open(e, NULL);
    for (uint32_t i = 0, n = 1; i < local->step_count && !code; i += n) {
        const struct spmd_step *step = &local->steps[i];
        n = 1;
        if (step->kind == SPMD_RESULT) {
            e->op = e->nda->function;
            *results = uses(e, step);
            *count = step->operand_count;
        } else if (is_control(step->kind)) {
            code = control(&walk, step, error);
        } else if (e->output == EMIT_ANNOTATED) {
            code = annotate_step(e, step, error);
        } else if (step->kind == SPMD_OP) {
            code = lower_step(e, step, error);
        } else {
            n = combined_run(local, i);
            code = emit_collective(e, i, n, error);
        }
    }
    VEC_FREE(&walk.stack);
    if (!code && !*results)
        code = error_set(error, ERROR_INTERNAL, "the local program has no results step");
    if (code) {
        free(*results);
        *results = NULL;
    }
    return code;
}

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

static uint32_t use(struct emit *e, const struct spmd_step *s, uint32_t spmd_value)
{
    if (e->output != EMIT_ANNOTATED)
        return e->value_of[spmd_value];
    return s->kind == SPMD_LOOP_END ? annotate_carry(e, spmd_value) : annotate_use(e, spmd_value);
}

/* builder values of a step's operands; owned */
static uint32_t *uses(struct emit *e, const struct spmd_step *s)
{
    uint32_t *values = mem_alloc((s->operand_count + 1) * sizeof *values);
    for (uint32_t i = 0; i < s->operand_count; i++)
        values[i] = use(e, s, spmd_operand(e->local, s, i));
    return values;
}

static void open_region(struct walk *w, struct open_op *o)
{
    ir_build_region(w->e->b);
    emit_scope_open(w->e, NULL);
    o->mark = w->e->output == EMIT_ANNOTATED ? annotate_region_open(w->e) : 0;
}

static void close_region(struct walk *w, const struct spmd_step *s)
{
    uint32_t *values = uses(w->e, s);
    emit_op(w->e, "stablehlo.return", values, s->operand_count, NULL, 0, NULL, 0);
    free(values);
    ir_build_end_block(w->e->b);
    ir_build_end_region(w->e->b);
    struct open_op *o = &w->stack.at[w->stack.count - 1];
    if (w->e->output == EMIT_ANNOTATED)
        annotate_region_close(w->e, o->mark);
}

/* the END that belongs to a LOOP or BRANCH */
static const struct spmd_step *matching_end(const struct spmd_local *l, const struct spmd_step *s)
{
    uint32_t nested = 0;
    for (; s < l->steps + l->step_count; s++) {
        nested += s->kind == SPMD_LOOP || s->kind == SPMD_BRANCH;
        nested -= s->kind == SPMD_LOOP_END || s->kind == SPMD_BRANCH_END;
        if (!nested)
            return s;
    }
    return NULL;
}

static enum error_code open_op(struct walk *w, const struct spmd_step *s, struct error *error)
{
    struct emit *e = w->e;
    const struct ir_op *p = &e->program->ops[s->op];
    const struct spmd_step *end = matching_end(e->local, s);
    struct open_op o = {.step = s};
    struct ir_attr attrs[EMIT_MAX_ATTRS];
    uint32_t attr_count;
    enum error_code code = emit_attrs(e, s->op, attrs, &attr_count, error);
    if (code)
        return code;
    if (!end)
        return error_set(error, ERROR_INTERNAL, "a loop or branch of the local program has no end");
    uint32_t *values = uses(e, s), *types = mem_alloc((end->result_count + 1) * sizeof *types);
    for (uint32_t i = 0; i < end->result_count; i++)
        types[i] = emit_value_type(e, end->results + i);
    struct ir_op_spec spec = {ir_op_name(e->program, s->op),
                              values,
                              s->operand_count,
                              types,
                              end->result_count,
                              attrs,
                              attr_count,
                              p->line,
                              p->column,
                              NULL};
    o.built = ir_build_begin(e->b, &spec);
    free(values);
    free(types);
    o.outer = e->scope;
    open_region(w, &o);
    VEC_PUSH(&w->stack, o);
    return ERROR_OK;
}

/* opens a block whose arguments are the values first .. first + count */
static void open_block(struct walk *w, uint32_t first, uint32_t count)
{
    uint32_t *types = mem_alloc((count + 1) * sizeof *types);
    for (uint32_t i = 0; i < count; i++)
        types[i] = emit_value_type(w->e, first + i);
    uint32_t args = ir_build_block(w->e->b, types, count);
    for (uint32_t i = 0; i < count; i++)
        w->e->value_of[first + i] = args + i;
    free(types);
}

static void close_op(struct walk *w, const struct spmd_step *s)
{
    close_region(w, s);
    struct open_op *o = &w->stack.at[--w->stack.count];
    emit_scope_close(w->e, &o->outer);
    ir_build_end(w->e->b);
    for (uint32_t i = 0; i < s->result_count; i++)
        w->e->value_of[s->results + i] = ir_builder_result(w->e->b, o->built, i);
}

static enum error_code control(struct walk *w, const struct spmd_step *s, struct error *error)
{
    enum error_code code = ERROR_OK;
    w->e->op = s->op;
    if (s->kind == SPMD_LOOP || s->kind == SPMD_BRANCH) {
        code = open_op(w, s, error);
        if (!code)
            open_block(w, s->results, s->kind == SPMD_LOOP ? s->operand_count : 0);
        return code;
    }
    if (!w->stack.count)
        return error_set(error, ERROR_INTERNAL, "a step of the local program ends a region that is not open");
    struct open_op *o = &w->stack.at[w->stack.count - 1];
    if (s->kind == SPMD_LOOP_BODY || s->kind == SPMD_BRANCH_NEXT) {
        uint32_t count = s->kind == SPMD_LOOP_BODY ? o->step->operand_count : 0;
        close_region(w, s);
        open_region(w, o);
        open_block(w, o->step->results + count, count);
    } else {
        close_op(w, s);
    }
    return ERROR_OK;
}

static uint32_t combined_run(const struct spmd_local *l, uint32_t first)
{
    uint32_t n = 1, id = l->steps[first].combined;
    while (id && first + n < l->step_count && l->steps[first + n].combined == id)
        n++;
    return n;
}

static bool is_control(uint8_t kind)
{
    return kind >= SPMD_LOOP && kind <= SPMD_BRANCH_END;
}

enum error_code emit_steps(struct emit *e, uint32_t **results, uint32_t *count, struct error *error)
{
    struct walk w = {.e = e};
    const struct spmd_local *l = e->local;
    enum error_code code = ERROR_OK;
    *results = NULL;
    *count = 0;
    emit_scope_open(e, NULL);
    for (uint32_t i = 0, n = 1; i < l->step_count && !code; i += n) {
        const struct spmd_step *s = &l->steps[i];
        n = 1;
        if (s->kind == SPMD_RESULT) {
            e->op = e->nda->function;
            *results = uses(e, s);
            *count = s->operand_count;
        } else if (is_control(s->kind)) {
            code = control(&w, s, error);
        } else if (e->output == EMIT_ANNOTATED) {
            code = annotate_step(e, s, error);
        } else if (s->kind == SPMD_OP) {
            code = lower_step(e, s, error);
        } else {
            n = combined_run(l, i);
            code = emit_collective(e, i, n, error);
        }
    }
    VEC_FREE(&w.stack);
    if (!code && !*results)
        code = error_set(error, ERROR_INTERNAL, "the local program has no results step");
    if (code) {
        free(*results);
        *results = NULL;
    }
    return code;
}

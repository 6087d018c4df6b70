/* The walk: makes the local program of a program under a plan (docs/design/planner.md).
 *
 * This file drives: it prepares the tables and the working memory, adds the arguments, goes through the ops
 * of a block in program order, adds the results and removes what turned out to be dead. walk.h has the
 * drawing of the whole.
 *
 * For every op, the cells of its space say in which form each operand is wanted and in which form each
 * result comes out. A partial result is completed where it is made, in the form that its first use wants,
 * unless defer.c lets it pass. Ops that cost next to nothing are skipped at their place in the program and
 * made where they are wanted, in the form that is wanted there.
 *
 * Invariants: all versions in a value's list are in scope; the operands of a step are defined before it. */
#include "spmd/walk.h"

#include <stdlib.h>
#include <string.h>

struct spmd_options spmd_default_options(const struct mesh *m)
{
    (void)m; /* links of mesh axes are the price's business; it fills axis_order when they differ */
    return (struct spmd_options){.defer_partials = 1};
}

static void release_scratch(struct spmd_scratch *s)
{
    if (!s)
        return;
    walk_table_release(&s->table);
    free(s->head);
    free(s->next);
    free(s->used);
    free(s->keep);
    free(s->part_of);
    free(s->list_at);
    VEC_FREE(&s->partials);
    VEC_FREE(&s->queue);
    VEC_FREE(&s->undo);
    VEC_FREE(&s->stack);
    VEC_FREE(&s->pending);
    VEC_FREE(&s->suspects);
    VEC_FREE(&s->remap);
    free(s);
}

void spmd_local_release(struct spmd_local *l)
{
    if (!l)
        return;
    free(l->steps);
    free(l->values);
    free(l->operands);
    free(l->cells);
    free(l->replicated_ops);
    release_scratch(l->scratch);
    memset(l, 0, sizeof *l);
}

/* Tables for this module: kept while walks are of the same one. */
static enum error_code ready_scratch(struct spmd_local *l, const struct nda *n, struct error *e)
{
    struct spmd_scratch *s = l->scratch;

    if (s && s->table.nda == n && s->table.program == n->program && s->table.space_count == n->space_count &&
        s->table.value_count == n->program->value_count)
        return ERROR_OK;
    release_scratch(s);
    l->scratch = NULL;
    s = mem_zalloc(1, sizeof *s);
    enum error_code code = walk_table_create(n, &s->table, e);
    if (code != ERROR_OK) {
        free(s);
        return code;
    }
    uint32_t values = n->program->value_count;
    s->head = mem_zalloc(values + 1, sizeof *s->head);
    s->keep = mem_zalloc(values + 1, 1);
    s->part_of = mem_zalloc(values + 1, 1);
    s->list_at = mem_zalloc(values + 1, sizeof *s->list_at);
    l->scratch = s;
    return ERROR_OK;
}

static void add_arguments(struct walk *w)
{
    const struct nda *n = w->nda;
    struct spmd_form f;

    for (uint32_t i = 0; i < n->argument_count; i++) {
        spmd_boundary_form(w->context, w->plan, n->arguments[i].space, &f);
        walk_add_version(w, walk_new_value(w, n->arguments[i].value, &f));
    }
    w->l->argument_count = n->argument_count;
}

/* One space a value: operand and result of each in the form of its own cells. */
static void emit_barrier(struct walk *w, uint32_t op)
{
    const struct ir_op *ir = &w->program->ops[op];
    uint32_t base = (uint32_t)w->s->stack.count, first = w->nda->op_space[op];
    struct spmd_form f;

    for (uint32_t i = 0; i < ir->operand_count; i++) {
        walk_wanted(w, ir->operands + i, 0, &f);
        uint32_t version = walk_obtain(w, w->program->operands[ir->operands + i], &f, op, first + i);
        VEC_PUSH(&w->s->stack, version);
    }
    for (size_t i = base; i < w->s->stack.count; i++)
        walk_settle(w, w->s->stack.at[i]);
    struct spmd_step *s = walk_new_step(w, SPMD_OP, op);
    walk_push_operands(w, s, base);
    s->result_count = ir->result_count;
    for (uint32_t i = 0; i < ir->result_count; i++) {
        f = spmd_operand_value(w->l, spmd_last_step(w->l), i)->form;
        uint32_t value = walk_new_value(w, ir->results + i, &f);
        w->l->values[value].step = w->l->step_count - 1;
        walk_add_version(w, value);
    }
}

static void emit_result(struct walk *w)
{
    uint32_t op = ir_block_terminator(w->program, w->nda->block), base = (uint32_t)w->s->stack.count;
    const struct ir_op *ir = &w->program->ops[op];
    struct spmd_form f;

    for (uint32_t i = 0; i < ir->operand_count; i++) {
        uint32_t space = w->nda->result_spaces[i];
        spmd_boundary_form(w->context, w->plan, space, &f);
        uint32_t version = walk_obtain(w, ir_operand(w->program, op, i), &f, op, space);
        VEC_PUSH(&w->s->stack, version);
    }
    walk_flush(w);
    struct spmd_step *s = walk_new_step(w, SPMD_RESULT, op);
    walk_push_operands(w, s, base);
}

/* A transpose or reshape of a value whose all_reduce is held back: made where it is wanted, so that it
 * does not force the all_reduce. */
static bool waits(const struct walk *w, uint32_t op)
{
    const struct walk_op *o = &w->t->ops[op];

    if (!w->s->pending.count || !(o->flags & WALK_REMAKE) || o->pass != WALK_PASS_LAYOUT ||
        w->s->part_of[ir_result(w->program, op, 0)])
        return false;
    uint32_t version = w->s->head[ir_operand(w->program, op, 0)];
    return version == SPMD_NONE || w->l->values[version].step == WALK_PENDING;
}

void walk_block(struct walk *w, uint32_t block)
{
    const struct ir_block *b = &w->program->blocks[block];
    struct plan_cell cells[MESH_MAX_AXES];

    for (uint32_t i = 0; i + 1 < b->op_count; i++) {
        uint32_t op = w->program->block_ops[b->ops + i];
        const struct walk_op *o = &w->t->ops[op];
        if (o->control != NDA_NONE) {
            if (w->program->ops[op].code == IR_WHILE)
                walk_while(w, op);
            else
                walk_branch(w, op);
        } else if (o->family == IR_FAMILY_BARRIER) {
            emit_barrier(w, op);
        } else if (!(o->flags & WALK_LAZY) && !waits(w, op)) {
            walk_op_cells(w, op, cells);
            walk_emit_op(w, op, cells);
        }
    }
}

/* The options' order when it is a permutation of the axes, else the mesh's (its last axis is the
 * innermost). */
void walk_order_axes(struct walk *w, const struct spmd_options *options)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < w->axes; i++)
        if (options->axis_order[i] < w->axes)
            seen |= 1u << options->axis_order[i];
    for (uint32_t i = 0; i < w->axes; i++)
        w->slow_first[i] = seen == (1u << w->axes) - 1 ? options->axis_order[i] : (uint8_t)i;
}

enum error_code spmd_walk(const struct plan_context *c, const struct plan *p,
                          const struct spmd_options *options, struct spmd_local *out, struct error *e)
{
    const struct nda *n = plan_context_nda(c);
    enum error_code code = ready_scratch(out, n, e);

    if (code != ERROR_OK)
        return code;
    struct spmd_scratch *s = out->scratch;
    out->nda = n;
    out->mesh = plan_context_mesh(c);
    out->options = options ? *options : spmd_default_options(out->mesh);
    out->step_count = out->value_count = out->operand_count = out->cell_count = out->replicated_op_count = 0;
    memset(s->head, 0xff, n->program->value_count * sizeof *s->head);
    s->undo.count = s->stack.count = s->pending.count = s->suspects.count = 0;

    struct walk w = {.context = c,
                     .plan = p,
                     .nda = n,
                     .program = n->program,
                     .mesh = out->mesh,
                     .l = out,
                     .s = s,
                     .t = &s->table,
                     .axes = out->mesh->axis_count,
                     .trips = 1,
                     .combine_bytes =
                         out->options.combine_bytes ? out->options.combine_bytes : SPMD_COMBINE_BYTES};
    for (uint32_t a = 0; a < w.axes; a++)
        w.size[a] = out->mesh->axes[a].size;
    walk_order_axes(&w, &out->options);
    w.regathers = out->options.regather;
    for (uint32_t i = 0; i < p->argument_count; i++)
        w.regathers |= p->regather[i] != 0;
    walk_defer(&w);
    add_arguments(&w);
    walk_block(&w, n->block);
    emit_result(&w);
    walk_remove_dead(&w);
    return ERROR_OK;
}

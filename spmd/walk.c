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

struct spmd_options spmd_default_options(const struct mesh *mesh)
{
    (void)mesh; /* links of mesh axes are the price's business; it fills axis_order when they differ */
    return (struct spmd_options){.defer_partials = 1};
}

static void release_scratch(struct spmd_scratch *scratch)
{
    if (!scratch)
        return;
    if (!scratch->lent)
        walk_table_release(&scratch->table);
    free(scratch->head);
    free(scratch->next);
    free(scratch->used);
    free(scratch->keep);
    free(scratch->part_of);
    free(scratch->list_at);
    VEC_FREE(&scratch->partials);
    VEC_FREE(&scratch->components);
    VEC_FREE(&scratch->queue);
    VEC_FREE(&scratch->undo);
    VEC_FREE(&scratch->stack);
    VEC_FREE(&scratch->pending);
    VEC_FREE(&scratch->suspects);
    VEC_FREE(&scratch->remap);
    walk_boundary_release(&scratch->boundary);
    free(scratch);
}

void spmd_local_rest(struct spmd_local *local)
{
    release_scratch(local->scratch);
    local->scratch = NULL;
}

void spmd_local_release(struct spmd_local *local)
{
    if (!local)
        return;
    free(local->steps);
    free(local->values);
    free(local->operands);
    free(local->cells);
    free(local->replicated_ops);
    release_scratch(local->scratch);
    memset(local, 0, sizeof *local);
}

/* of a scratch that has its table */
static void ready_values(struct spmd_scratch *scratch)
{
    uint32_t values = scratch->table.value_count;
    scratch->head = mem_zalloc(values + 1, sizeof *scratch->head);
    scratch->keep = mem_zalloc(values + 1, 1);
    scratch->part_of = mem_zalloc(values + 1, 1);
    scratch->list_at = mem_zalloc(values + 1, sizeof *scratch->list_at);
}

void walk_lend_table(const struct walk_table *table, struct spmd_local *local)
{
    release_scratch(local->scratch);
    local->scratch = mem_zalloc(1, sizeof *local->scratch);
    local->scratch->table = *table;
    local->scratch->lent = true;
    ready_values(local->scratch);
}

/* Tables for this module: kept while walks are of the same one. */
static enum error_code ready_scratch(struct spmd_local *local, const struct nda *n, struct error *e)
{
    struct spmd_scratch *scratch = local->scratch;

    if (scratch && scratch->table.nda == n && scratch->table.program == n->program &&
        scratch->table.space_count == n->space_count && scratch->table.value_count == n->program->value_count)
        return ERROR_OK;
    release_scratch(scratch);
    local->scratch = NULL;
    scratch = mem_zalloc(1, sizeof *scratch);
    enum error_code code = walk_table_create(n, &scratch->table, e);
    if (code != ERROR_OK) {
        free(scratch);
        return code;
    }
    ready_values(scratch);
    local->scratch = scratch;
    return ERROR_OK;
}

static void add_arguments(struct walk *walk)
{
    const struct nda *n = walk->nda;
    struct spmd_form form;

    for (uint32_t i = 0; i < n->argument_count; i++) {
        walk_boundary_form(walk, n->arguments[i].space, &form);
        walk_add_version(walk, walk_new_value(walk, n->arguments[i].value, &form));
    }
    walk->local->argument_count = n->argument_count;
}

/* One space a value: operand and result of each in the form of its own cells. */
static void emit_barrier(struct walk *walk, uint32_t op)
{
    const struct ir_op *ir = &walk->program->ops[op];
    uint32_t base = (uint32_t)walk->scratch->stack.count, first = walk->nda->op_space[op];
    struct spmd_form form;

    for (uint32_t i = 0; i < ir->operand_count; i++) {
        walk_wanted(walk, ir->operands + i, 0, &form);
        uint32_t version = walk_obtain(walk, walk->program->operands[ir->operands + i], &form, op, first + i);
        VEC_PUSH(&walk->scratch->stack, version);
    }
    for (size_t i = base; i < walk->scratch->stack.count; i++)
        walk_settle(walk, walk->scratch->stack.at[i]);
    struct spmd_step *step = walk_new_step(walk, SPMD_OP, op);
    walk_push_operands(walk, step, base);
    step->result_count = ir->result_count;
    for (uint32_t i = 0; i < ir->result_count; i++) {
        form = spmd_operand_value(walk->local, spmd_last_step(walk->local), i)->form;
        uint32_t value = walk_new_value(walk, ir->results + i, &form);
        walk->local->values[value].step = walk->local->step_count - 1;
        walk_add_version(walk, value);
    }
}

static void emit_result(struct walk *walk)
{
    uint32_t op = ir_block_terminator(walk->program, walk->nda->block),
             base = (uint32_t)walk->scratch->stack.count;
    const struct ir_op *ir = &walk->program->ops[op];
    struct spmd_form form;

    for (uint32_t i = 0; i < ir->operand_count; i++) {
        uint32_t space = walk->nda->result_spaces[i];
        walk_boundary_form(walk, space, &form);
        uint32_t version = walk_obtain(walk, ir_operand(walk->program, op, i), &form, op, space);
        VEC_PUSH(&walk->scratch->stack, version);
    }
    walk_flush(walk);
    struct spmd_step *step = walk_new_step(walk, SPMD_RESULT, op);
    walk_push_operands(walk, step, base);
}

/* A transpose or reshape of a value whose all_reduce is held back: made where it is wanted, so that it
 * does not force the all_reduce. */
static bool waits(const struct walk *walk, uint32_t op)
{
    const struct walk_op *walk_op = &walk->table->ops[op];

    if (!walk->scratch->pending.count || !(walk_op->flags & WALK_REMAKE) ||
        walk_op->pass != WALK_PASS_LAYOUT || walk->scratch->part_of[ir_result(walk->program, op, 0)])
        return false;
    uint32_t version = walk->scratch->head[ir_operand(walk->program, op, 0)];
    return version == SPMD_NONE || walk->local->values[version].step == WALK_PENDING;
}

void walk_block(struct walk *walk, uint32_t block)
{
    const struct ir_block *ir_block = &walk->program->blocks[block];
    struct plan_cell cells[MESH_MAX_AXES];

    for (uint32_t i = 0; i + 1 < ir_block->op_count; i++) {
        uint32_t op = walk->program->block_ops[ir_block->ops + i];
        const struct walk_op *walk_op = &walk->table->ops[op];
        if (walk_op->control != NDA_NONE) {
            if (walk->program->ops[op].code == IR_WHILE)
                walk_while(walk, op);
            else
                walk_branch(walk, op);
        } else if (walk_op->family == IR_FAMILY_BARRIER) {
            emit_barrier(walk, op);
        } else if (!(walk_op->flags & WALK_LAZY) && !waits(walk, op)) {
            walk_op_cells(walk, op, cells);
            walk_emit_op(walk, op, cells);
        }
    }
}

/* The options' order when it is a permutation of the axes, else the mesh's (its last axis is the
 * innermost). */
void walk_order_axes(struct walk *walk, const struct spmd_options *options)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < walk->axes; i++)
        if (options->axis_order[i] < walk->axes)
            seen |= 1u << options->axis_order[i];
    for (uint32_t i = 0; i < walk->axes; i++)
        walk->slow_first[i] = seen == (1u << walk->axes) - 1 ? options->axis_order[i] : (uint8_t)i;
}

enum error_code spmd_walk(const struct plan_context *context, const struct plan *plan,
                          const struct spmd_options *options, struct spmd_local *out, struct error *e)
{
    const struct nda *n = plan_context_nda(context);
    enum error_code code = ready_scratch(out, n, e);

    if (code != ERROR_OK)
        return code;
    struct spmd_scratch *scratch = out->scratch;
    out->nda = n;
    out->mesh = plan_context_mesh(context);
    out->options = options ? *options : spmd_default_options(out->mesh);
    out->order = 0;
    out->step_count = out->value_count = out->operand_count = out->cell_count = out->replicated_op_count = 0;
    memset(scratch->head, 0xff, n->program->value_count * sizeof *scratch->head);
    scratch->undo.count = scratch->stack.count = scratch->pending.count = scratch->suspects.count = 0;

    struct walk walk = {.context = context,
                        .plan = plan,
                        .nda = n,
                        .program = n->program,
                        .mesh = out->mesh,
                        .local = out,
                        .scratch = scratch,
                        .table = &scratch->table,
                        .axes = out->mesh->axis_count,
                        .trips = 1,
                        .combine_bytes = spmd_combine_bytes(&out->options)};
    for (uint32_t axis = 0; axis < walk.axes; axis++)
        walk.size[axis] = out->mesh->axes[axis].size;
    walk_order_axes(&walk, &out->options);
    walk.regathers = out->options.regather;
    for (uint32_t i = 0; i < plan->argument_count; i++)
        walk.regathers |= plan->regather[i] != 0;
    for (uint32_t i = 0; i < plan->group_count; i++)
        walk.wholes |= plan->whole[i] != 0;
    walk_ready_boundary(&walk);
    walk_defer(&walk);
    add_arguments(&walk);
    walk_block(&walk, n->block);
    emit_result(&walk);
    walk_remove_dead(&walk);
    return ERROR_OK;
}

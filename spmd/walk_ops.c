/* Steps of ordinary ops: finds the cells in force, has the operands brought into the forms that these want,
 * adds the step, and completes results that are partial and may not stay so. Also answers, for a use that
 * the walk has not reached yet, in which form it will want its operand (walk_wanted): what is completed or
 * carried through a loop is made in that form at once. Never decides where a partial passes: that is
 * defer.c. */
#include "spmd/walk.h"

void walk_op_cells(const struct walk *walk, uint32_t op, struct plan_cell *cells)
{
    walk_space_cells(walk, walk->table->ops[op].space, cells);
    if (walk->local->options.gather_everything) {
        for (uint32_t axis = 0; axis < walk->axes; axis++)
            cells[axis] = (struct plan_cell){NDA_NO_FACTOR, 0};
        return;
    }
    const struct walk_op *walk_op = &walk->table->ops[op];
    if (!walk->deferring || !walk_op->pass)
        return;
    uint32_t passing = 0;
    for (uint32_t i = 0; i < walk_op->operand_count; i++)
        passing |= walk->scratch->keep[walk->program->operands[walk_op->operands + i]];
    for (uint32_t a = 0; passing >> a; a++)
        if (passing >> a & 1)
            walk_drop_cell(walk, cells, a);
}

/* v, a candidate of the deferral where the mask is not 0, is partial on these axes */
static void make_partial(const struct walk *walk, uint32_t v, uint32_t mask, struct spmd_form *form)
{
    for (uint32_t a = 0; mask >> a; a++)
        if (mask >> a & 1)
            form->at[a] =
                (uint8_t)(SPMD_PARTIAL + walk->scratch->partials.at[walk->scratch->list_at[v] - 1].reducer);
}

void walk_keep_partial(const struct walk *walk, uint32_t v, struct spmd_form *form)
{
    if (walk->deferring)
        make_partial(walk, v, walk->scratch->keep[v], form);
}

/* operand of an ordinary op under these cells; a partial that passes stays partial */
static void operand_form(const struct walk *walk, uint32_t u, const struct plan_cell *cells,
                         struct spmd_form *form)
{
    uint32_t slot = walk->table->operand_slot[u];

    if (slot == NDA_NONE)
        *form = spmd_form_none;
    else
        walk_slot_form(walk, slot, cells, form);
    walk_keep_partial(walk, walk->program->operands[u], form);
}

static void warn_if_gathered(struct walk *walk, uint32_t op, uint32_t version, const struct spmd_form *wanted)
{
    struct spmd_local *local = walk->local;
    const struct spmd_form *have = &local->values[version].form;

    if (local->replicated_op_count && local->replicated_ops[local->replicated_op_count - 1] == op)
        return;
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        if (have->at[axis] < SPMD_PARTIAL && wanted->at[axis] == SPMD_REPLICATED) {
            local->replicated_op_count++;
            MEM_GROW(local->replicated_ops, local->replicated_op_room, local->replicated_op_count);
            local->replicated_ops[local->replicated_op_count - 1] = op;
            return;
        }
}

static bool counts_twice(const struct walk *walk, uint32_t space, const struct plan_cell *cells)
{
    for (uint32_t axis = 0; axis < walk->axes; axis++) {
        if (cells[axis].factor == NDA_NO_FACTOR)
            continue;
        const struct nda_factor *factor =
            &walk->nda->factors[walk->nda->spaces[space].factors + cells[axis].factor];
        if (factor->kind == NDA_CONTRACTING &&
            (factor->reducer == NDA_REDUCE_ADD || factor->reducer == NDA_REDUCE_MULTIPLY))
            return true;
    }
    return false;
}

/* Axes to place when a partial is completed: the partial ones, and replicated ones that stand before one
 * of them on the atom where the use wants both (cut out first, they cost nothing and keep the order). */
static uint32_t placed_axes(const struct walk *walk, const struct spmd_form *now, uint32_t partial,
                            const struct spmd_form *wanted)
{
    uint32_t mask = partial;

    for (uint32_t axis = 0; axis < walk->axes; axis++)
        for (uint32_t b = 0;
             b < walk->axes && now->at[axis] == SPMD_REPLICATED && wanted->at[axis] < SPMD_PARTIAL; b++)
            if ((partial >> b & 1) && wanted->at[b] == wanted->at[axis] &&
                wanted->position[b] > wanted->position[axis])
                mask |= 1u << axis;
    return mask;
}

/* Axes on which what use u reads is reduced whole, though u wants a piece: u is an update's, and the plan
 * says so of the group that the axis shards there (scope whole). */
static uint32_t whole_axes(const struct walk *walk, uint32_t u)
{
    uint32_t op = walk->table->operand_op[u], mask = 0;
    for (uint32_t depth = 0; (walk->table->ops[op].flags & WALK_LAZY) && depth < WALK_DEPTH; depth++) {
        uint32_t result = ir_result(walk->program, op, 0);
        if (walk->table->use_start[result] == walk->table->use_start[result + 1])
            return 0;
        op = walk->table->operand_op[walk->table->uses[walk->table->use_start[result]]];
    }
    uint32_t space = walk->table->ops[op].space;
    if (space == NDA_NONE || !plan_context_updates(walk->context, space))
        return 0;
    for (uint32_t axis = 0; axis < walk->axes; axis++) {
        uint8_t factor = plan_space(walk->plan, space)[axis].factor;
        if (factor == NDA_NO_FACTOR)
            continue;
        const struct nda_factor *nm = &walk->nda->factors[walk->nda->spaces[space].factors + factor];
        mask |= (uint32_t)(walk->plan->whole[walk->nda->colors[nm->color].group] >> axis & 1) << axis;
    }
    return mask;
}

void walk_reduce_result(struct walk *walk, uint32_t value)
{
    uint32_t origin = walk->local->values[value].origin;
    if (walk_form_is_none(&walk->local->values[value].form))
        return;
    const struct spmd_form now = walk->local->values[value].form;
    uint32_t keep = walk->deferring ? walk->scratch->keep[origin] : 0,
             partial = walk_partial_mask(&now, walk->axes) & ~keep;
    struct spmd_form target = now, wanted = spmd_form_none;
    const struct walk_table *table = walk->table;
    struct reshard reshard;

    if (!partial)
        return;
    if (table->use_start[origin] < table->use_start[origin + 1]) {
        uint32_t first = table->uses[table->use_start[origin]];
        walk_wanted(walk, first, 0, &wanted);
        uint32_t whole = walk->wholes ? whole_axes(walk, first) : 0;
        for (uint32_t axis = 0; whole >> axis; axis++)
            if (whole >> axis & 1)
                walk_form_drop(&wanted, walk->axes, axis);
    }
    const struct nda_atom *atoms = nda_atoms(walk->nda, origin);
    for (uint32_t axis = 0; axis < MESH_MAX_AXES; axis++)
        if (partial >> axis & 1)
            target.at[axis] = SPMD_REPLICATED;
    uint32_t placed = placed_axes(walk, &now, partial, &wanted);
    /* in the order of the wanted positions, behind the axes that are on the atom already */
    for (uint8_t position = 0; position < walk->axes; position++)
        for (uint32_t axis = 0; axis < walk->axes; axis++) {
            if (!(placed >> axis & 1) || wanted.at[axis] >= SPMD_PARTIAL || wanted.position[axis] != position)
                continue;
            int64_t left = atoms[wanted.at[axis]].size;
            uint8_t here = 0;
            for (uint32_t b = 0; b < walk->axes; b++)
                if (target.at[b] == wanted.at[axis]) {
                    left /= walk->size[b];
                    here++;
                }
            if (left % walk->size[axis] != 0)
                continue;
            target.at[axis] = wanted.at[axis];
            target.position[axis] = here;
        }
    walk_reshard(walk, origin, &now, &target, &reshard);
    uint32_t def = walk->program->values[origin].op;
    walk_emit_reshard(walk, &reshard, value, def, table->ops[def].space);
}

void walk_emit_op(struct walk *walk, uint32_t op, const struct plan_cell *cells)
{
    const struct walk_op *walk_op = &walk->table->ops[op];
    uint32_t base = (uint32_t)walk->scratch->stack.count;
    struct spmd_form form;

    walk->dots += walk_op->family == IR_FAMILY_DOT || walk_op->family == IR_FAMILY_CONVOLUTION;
    for (uint32_t i = 0; i < walk_op->operand_count; i++) {
        uint32_t u = walk_op->operands + i, value = walk->program->operands[u];
        operand_form(walk, u, cells, &form);
        if ((walk_op->flags & WALK_UNSUPPORTED) && walk->scratch->head[value] != SPMD_NONE)
            warn_if_gathered(walk, op, walk->scratch->head[value], &form);
        uint32_t version = walk_obtain(walk, value, &form, op, walk_op->space);
        VEC_PUSH(&walk->scratch->stack, version);
    }
    for (size_t i = base; walk->scratch->pending.count && i < walk->scratch->stack.count; i++)
        walk_settle(walk, walk->scratch->stack.at[i]);
    struct spmd_step *step = walk_new_step(walk, SPMD_OP, op);
    uint32_t index = walk->local->step_count - 1;
    walk_push_operands(walk, step, base);
    step->cells = walk->local->cell_count;
    walk->local->cell_count += walk->axes;
    MEM_GROW(walk->local->cells, walk->local->cell_room, walk->local->cell_count);
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        walk->local->cells[step->cells + axis] = cells[axis];
    step->mask_initial = (walk_op->flags & WALK_MASK) && counts_twice(walk, walk_op->space, cells);
    step->result_count = walk_op->result_count;
    for (uint32_t i = 0; i < walk_op->result_count; i++)
        step->rematerialised |= walk->scratch->head[walk_op->results + i] != SPMD_NONE;
    for (uint32_t i = 0; i < walk_op->result_count; i++) {
        uint32_t origin = walk_op->results + i, slot = walk->nda->value_def_slot[origin];
        if (slot == NDA_NONE)
            form = spmd_form_none;
        else
            walk_result_form(walk, op, slot, cells, &form);
        if (walk->deferring && walk_op->pass)
            make_partial(walk, origin, walk->scratch->part_of[origin], &form);
        uint32_t value = walk_new_value(walk, origin, &form);
        walk->local->values[value].step = index;
        walk_add_version(walk, value);
    }
    uint32_t results = walk->local->steps[index].results;
    for (uint32_t i = 0; i < walk_op->result_count; i++)
        walk_reduce_result(walk, results + i);
}

/* ------------------------------------------------------------------------------------------- wants */
/* how the plan shards it: where begin and end of a loop agree */
static void planned_form(const struct walk *walk, const struct walk_carried *carried, struct spmd_form *form)
{
    struct plan_cell cells[MESH_MAX_AXES];
    struct spmd_form begin;

    *form = spmd_form_none;
    if (carried->end_slot == NDA_NONE || walk->local->options.gather_everything)
        return;
    walk_space_cells(walk, carried->end, cells);
    walk_slot_form(walk, carried->end_slot, cells, form);
    if (carried->begin == NDA_NONE)
        return; /* a branch */
    if (carried->begin_slot == NDA_NONE) {
        *form = spmd_form_none;
        return;
    }
    walk_space_cells(walk, carried->begin, cells);
    walk_slot_form(walk, carried->begin_slot, cells, &begin);
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        if (form->at[axis] != begin.at[axis]) {
            walk_form_drop(form, walk->axes, axis);
            walk_form_drop(&begin, walk->axes, axis);
        }
    for (uint32_t axis = 0; axis < walk->axes;
         axis++) /* the same axes in another order: none of the atom's */
        if (form->at[axis] < SPMD_PARTIAL && form->position[axis] != begin.position[axis])
            for (uint32_t b = 0, atom = form->at[axis]; b < walk->axes; b++)
                if (form->at[b] == atom) {
                    form->at[b] = SPMD_REPLICATED;
                    form->position[b] = 0;
                }
}

void walk_carried_form(const struct walk *walk, const struct walk_carried *carried, struct spmd_form *form)
{
    planned_form(walk, carried, form);
    if (carried->argument != NDA_NONE)
        walk_keep_partial(walk, carried->argument, form);
}

void walk_initial_form(const struct walk *walk, const struct walk_carried *carried, uint32_t v,
                       struct spmd_form *form)
{
    planned_form(walk, carried, form);
    walk_keep_partial(walk, v, form);
}

void walk_wanted(const struct walk *walk, uint32_t u, uint32_t depth, struct spmd_form *form)
{
    uint32_t slot = walk->table->operand_slot[u], op = walk->table->operand_op[u];
    struct plan_cell cells[MESH_MAX_AXES];

    *form = spmd_form_none;
    if (slot == NDA_NONE || walk->local->options.gather_everything)
        return;
    const struct walk_op *walk_op = &walk->table->ops[op];
    if (walk_op->control != NDA_NONE) {
        const struct walk_control *control = &walk->table->controls[walk_op->control];
        walk_initial_form(walk,
                          &walk->table->carried[control->carried + (u - walk->program->ops[op].operands)],
                          walk->program->operands[u], form);
        return;
    }
    if (walk_op->space == NDA_NONE) { /* terminators and barriers: the form of the slot's own space */
        uint32_t s = walk->table->slots[slot].space;
        const struct nda_space *space = &walk->nda->spaces[s];
        if (space->kind == NDA_SPACE_RESULT) {
            walk_boundary_form(walk, s, form);
            walk_form_unwhole(form, walk->axes); /* cut by the result itself, last */
        } else if (space->kind == NDA_SPACE_BARRIER) {
            walk_space_cells(walk, s, cells);
            walk_slot_form(walk, slot, cells, form);
        } else {
            const struct walk_control *control = &walk->table->controls[walk->table->ops[space->op].control];
            walk_initial_form(walk, &walk->table->carried[control->carried + space->index],
                              walk->program->operands[u], form);
        }
        return;
    }
    if ((walk_op->flags & WALK_LAZY) && depth < WALK_DEPTH) {
        uint32_t result = ir_result(walk->program, op, 0), first = walk->table->use_start[result];
        struct spmd_form result_form;
        if (first == walk->table->use_start[result + 1])
            return;
        walk_wanted(walk, walk->table->uses[first], depth + 1, &result_form);
        walk_cells_for(walk, op, walk->nda->value_def_slot[result], &result_form, cells);
        walk_slot_form(walk, slot, cells, form);
        return;
    }
    walk_op_cells(walk, op, cells);
    operand_form(walk, u, cells, form);
}

/* Steps of ordinary ops: finds the cells in force, has the operands brought into the forms that these want,
 * adds the step, and completes results that are partial and may not stay so. Also answers, for a use that
 * the walk has not reached yet, in which form it will want its operand (walk_wanted): what is completed or
 * carried through a loop is made in that form at once. Never decides where a partial passes: that is
 * defer.c. */
#include "spmd/walk.h"

void walk_op_cells(const struct walk *w, uint32_t op, struct plan_cell *cells)
{
    walk_space_cells(w, w->t->ops[op].space, cells);
    if (w->l->options.gather_everything) {
        for (uint32_t a = 0; a < w->axes; a++)
            cells[a] = (struct plan_cell){NDA_NO_FACTOR, 0};
        return;
    }
    if (!w->deferring || !w->t->ops[op].pass)
        return;
    uint32_t passing = 0;
    for (uint32_t i = 0; i < w->program->ops[op].operand_count; i++)
        passing |= w->s->keep[ir_operand(w->program, op, i)];
    for (uint32_t a = 0; passing >> a; a++)
        if (passing >> a & 1)
            walk_drop_cell(w, cells, a);
}

/* v, a candidate of the deferral where the mask is not 0, is partial on these axes */
static void make_partial(const struct walk *w, uint32_t v, uint32_t mask, struct spmd_form *f)
{
    for (uint32_t a = 0; mask >> a; a++)
        if (mask >> a & 1)
            f->at[a] = (uint8_t)(SPMD_PARTIAL + w->s->partials.at[w->s->list_at[v] - 1].reducer);
}

void walk_keep_partial(const struct walk *w, uint32_t v, struct spmd_form *f)
{
    if (w->deferring)
        make_partial(w, v, w->s->keep[v], f);
}

/* operand of an ordinary op under these cells; a partial that passes stays partial */
static void operand_form(const struct walk *w, uint32_t u, const struct plan_cell *cells, struct spmd_form *f)
{
    uint32_t slot = w->t->operand_slot[u];

    if (slot == NDA_NONE)
        *f = spmd_form_none;
    else
        walk_slot_form(w, slot, cells, f);
    walk_keep_partial(w, w->program->operands[u], f);
}

static void warn_if_gathered(struct walk *w, uint32_t op, uint32_t version, const struct spmd_form *wanted)
{
    struct spmd_local *l = w->l;
    const struct spmd_form *have = &l->values[version].form;

    if (l->replicated_op_count && l->replicated_ops[l->replicated_op_count - 1] == op)
        return;
    for (uint32_t a = 0; a < w->axes; a++)
        if (have->at[a] < SPMD_PARTIAL && wanted->at[a] == SPMD_REPLICATED) {
            l->replicated_op_count++;
            MEM_GROW(l->replicated_ops, l->replicated_op_room, l->replicated_op_count);
            l->replicated_ops[l->replicated_op_count - 1] = op;
            return;
        }
}

static bool counts_twice(const struct walk *w, uint32_t space, const struct plan_cell *cells)
{
    for (uint32_t a = 0; a < w->axes; a++) {
        if (cells[a].factor == NDA_NO_FACTOR)
            continue;
        const struct nda_factor *factor = &w->nda->factors[w->nda->spaces[space].factors + cells[a].factor];
        if (factor->kind == NDA_CONTRACTING &&
            (factor->reducer == NDA_REDUCE_ADD || factor->reducer == NDA_REDUCE_MULTIPLY))
            return true;
    }
    return false;
}

/* Axes to place when a partial is completed: the partial ones, and replicated ones that stand before one
 * of them on the atom where the use wants both (cut out first, they cost nothing and keep the order). */
static uint32_t placed_axes(const struct walk *w, const struct spmd_form *now, uint32_t partial,
                            const struct spmd_form *wanted)
{
    uint32_t mask = partial;

    for (uint32_t a = 0; a < w->axes; a++)
        for (uint32_t b = 0; b < w->axes && now->at[a] == SPMD_REPLICATED && wanted->at[a] < SPMD_PARTIAL;
             b++)
            if ((partial >> b & 1) && wanted->at[b] == wanted->at[a] &&
                wanted->position[b] > wanted->position[a])
                mask |= 1u << a;
    return mask;
}

void walk_reduce_result(struct walk *w, uint32_t value)
{
    uint32_t origin = w->l->values[value].origin;
    if (walk_form_is_none(&w->l->values[value].form))
        return;
    const struct spmd_form now = w->l->values[value].form;
    uint32_t keep = w->deferring ? w->s->keep[origin] : 0, partial = walk_partial_mask(&now, w->axes) & ~keep;
    struct spmd_form target = now, wanted = spmd_form_none;
    const struct walk_table *t = w->t;
    struct reshard r;

    if (!partial)
        return;
    if (t->use_start[origin] < t->use_start[origin + 1])
        walk_wanted(w, t->uses[t->use_start[origin]], 0, &wanted);
    const struct nda_atom *atoms = nda_atoms(w->nda, origin);
    for (uint32_t a = 0; a < w->axes; a++)
        if (partial >> a & 1)
            target.at[a] = SPMD_REPLICATED;
    uint32_t placed = placed_axes(w, &now, partial, &wanted);
    /* in the order of the wanted positions, behind the axes that are on the atom already */
    for (uint8_t position = 0; position < w->axes; position++)
        for (uint32_t a = 0; a < w->axes; a++) {
            if (!(placed >> a & 1) || wanted.at[a] >= SPMD_PARTIAL || wanted.position[a] != position)
                continue;
            int64_t left = atoms[wanted.at[a]].size;
            uint8_t here = 0;
            for (uint32_t b = 0; b < w->axes; b++)
                if (target.at[b] == wanted.at[a]) {
                    left /= w->size[b];
                    here++;
                }
            if (left % w->size[a] != 0)
                continue;
            target.at[a] = wanted.at[a];
            target.position[a] = here;
        }
    walk_reshard(w, origin, &now, &target, &r);
    uint32_t def = w->program->values[origin].op;
    walk_emit_reshard(w, &r, value, def, t->ops[def].space);
}

void walk_emit_op(struct walk *w, uint32_t op, const struct plan_cell *cells)
{
    const struct walk_op *o = &w->t->ops[op];
    const struct ir_op *ir = &w->program->ops[op];
    uint32_t base = (uint32_t)w->s->stack.count;
    struct spmd_form f;

    w->dots += o->family == IR_FAMILY_DOT || o->family == IR_FAMILY_CONVOLUTION;
    for (uint32_t i = 0; i < ir->operand_count; i++) {
        uint32_t u = ir->operands + i, value = w->program->operands[u];
        operand_form(w, u, cells, &f);
        if ((o->flags & WALK_UNSUPPORTED) && w->s->head[value] != SPMD_NONE)
            warn_if_gathered(w, op, w->s->head[value], &f);
        uint32_t version = walk_obtain(w, value, &f, op, o->space);
        VEC_PUSH(&w->s->stack, version);
    }
    for (size_t i = base; w->s->pending.count && i < w->s->stack.count; i++)
        walk_settle(w, w->s->stack.at[i]);
    struct spmd_step *s = walk_new_step(w, SPMD_OP, op);
    uint32_t index = w->l->step_count - 1;
    walk_push_operands(w, s, base);
    s->cells = w->l->cell_count;
    w->l->cell_count += w->axes;
    MEM_GROW(w->l->cells, w->l->cell_room, w->l->cell_count);
    memcpy(w->l->cells + s->cells, cells, w->axes * sizeof *cells);
    s->mask_initial = (o->flags & WALK_MASK) && counts_twice(w, o->space, cells);
    s->result_count = ir->result_count;
    for (uint32_t i = 0; i < ir->result_count; i++)
        s->rematerialised |= w->s->head[ir->results + i] != SPMD_NONE;
    for (uint32_t i = 0; i < ir->result_count; i++) {
        uint32_t origin = ir->results + i, slot = w->nda->value_def_slot[origin];
        if (slot == NDA_NONE)
            f = spmd_form_none;
        else
            walk_result_form(w, op, slot, cells, &f);
        if (w->deferring && o->pass)
            make_partial(w, origin, w->s->part_of[origin], &f);
        uint32_t value = walk_new_value(w, origin, &f);
        w->l->values[value].step = index;
        walk_add_version(w, value);
    }
    uint32_t results = w->l->steps[index].results;
    for (uint32_t i = 0; i < ir->result_count; i++)
        walk_reduce_result(w, results + i);
}

/* ------------------------------------------------------------------------------------------- wants */
/* how the plan shards it: where begin and end of a loop agree */
static void planned_form(const struct walk *w, const struct walk_carried *c, struct spmd_form *f)
{
    struct plan_cell cells[MESH_MAX_AXES];
    struct spmd_form g;

    *f = spmd_form_none;
    if (c->end_slot == NDA_NONE || w->l->options.gather_everything)
        return;
    walk_space_cells(w, c->end, cells);
    walk_slot_form(w, c->end_slot, cells, f);
    if (c->begin == NDA_NONE)
        return; /* a branch */
    if (c->begin_slot == NDA_NONE) {
        *f = spmd_form_none;
        return;
    }
    walk_space_cells(w, c->begin, cells);
    walk_slot_form(w, c->begin_slot, cells, &g);
    for (uint32_t a = 0; a < w->axes; a++)
        if (f->at[a] != g.at[a]) {
            walk_form_drop(f, w->axes, a);
            walk_form_drop(&g, w->axes, a);
        }
    for (uint32_t a = 0; a < w->axes; a++) /* the same axes in another order: none of the atom's */
        if (f->at[a] < SPMD_PARTIAL && f->position[a] != g.position[a])
            for (uint32_t b = 0, atom = f->at[a]; b < w->axes; b++)
                if (f->at[b] == atom) {
                    f->at[b] = SPMD_REPLICATED;
                    f->position[b] = 0;
                }
}

void walk_carried_form(const struct walk *w, const struct walk_carried *c, struct spmd_form *f)
{
    planned_form(w, c, f);
    if (c->argument != NDA_NONE)
        walk_keep_partial(w, c->argument, f);
}

void walk_initial_form(const struct walk *w, const struct walk_carried *c, uint32_t v, struct spmd_form *f)
{
    planned_form(w, c, f);
    walk_keep_partial(w, v, f);
}

void walk_wanted(const struct walk *w, uint32_t u, uint32_t depth, struct spmd_form *f)
{
    uint32_t slot = w->t->operand_slot[u], op = w->t->operand_op[u];
    struct plan_cell cells[MESH_MAX_AXES];

    *f = spmd_form_none;
    if (slot == NDA_NONE || w->l->options.gather_everything)
        return;
    const struct walk_op *o = &w->t->ops[op];
    if (o->control != NDA_NONE) {
        const struct walk_control *c = &w->t->controls[o->control];
        walk_initial_form(w, &w->t->carried[c->carried + (u - w->program->ops[op].operands)],
                          w->program->operands[u], f);
        return;
    }
    if (o->space == NDA_NONE) { /* terminators and barriers: the form of the slot's own space */
        uint32_t s = w->t->slot_space[slot];
        const struct nda_space *space = &w->nda->spaces[s];
        if (space->kind == NDA_SPACE_RESULT) {
            spmd_boundary_form(w->context, w->plan, s, f);
            walk_form_unwhole(f, w->axes); /* cut by the result itself, last */
        } else if (space->kind == NDA_SPACE_BARRIER) {
            walk_space_cells(w, s, cells);
            walk_slot_form(w, slot, cells, f);
        } else {
            const struct walk_control *c = &w->t->controls[w->t->ops[space->op].control];
            walk_initial_form(w, &w->t->carried[c->carried + space->index], w->program->operands[u], f);
        }
        return;
    }
    if ((o->flags & WALK_LAZY) && depth < WALK_DEPTH) {
        uint32_t result = ir_result(w->program, op, 0), first = w->t->use_start[result];
        struct spmd_form g;
        if (first == w->t->use_start[result + 1])
            return;
        walk_wanted(w, w->t->uses[first], depth + 1, &g);
        walk_cells_for(w, op, w->nda->value_def_slot[result], &g, cells);
        walk_slot_form(w, slot, cells, f);
        return;
    }
    walk_op_cells(w, op, cells);
    operand_form(w, u, cells, f);
}

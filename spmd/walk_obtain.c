/* Versions of values. Every program value has a list of device-local versions, one a form; a version that is wanted
 * and missing is made the cheapest way known: resharded from one that is there, or (cheap and moving ops) by computing
 * the op again in the wanted form, which is how a gather gets above a broadcast or convert to the smallest source. */
#include "spmd/walk.h"

#include <stdlib.h>
#include <string.h>

enum {
    OBTAIN_DEPTH = 5,     /* how many ops a remade value may reach back */
    OBTAIN_WINDOW = 12    /* dots and convolutions: one layer of a transformer, forward or backward */
};
#define OBTAIN_NEVER (INT64_MAX / 4)

#define GROW(array, room, needed)                                                                             \
    do {                                                                                                      \
        if ((room) < (needed)) {                                                                              \
            (room) = (needed) > 2 * (room) ? (needed) + 64 : 2 * (room);                                      \
            (array) = mem_realloc((array), (room), sizeof *(array));                                          \
        }                                                                                                     \
    } while (0)

uint32_t walk_new_value(struct walk *w, uint32_t origin, const struct spmd_form *f)
{
    struct spmd_local *l = w->l;
    uint32_t v = l->value_count++;

    GROW(l->values, l->value_room, l->value_count);
    if (w->s->next_room < l->value_count) {
        w->s->next_room = 2 * w->s->next_room + 64;
        w->s->next = mem_realloc(w->s->next, w->s->next_room, sizeof *w->s->next);
        w->s->used = mem_realloc(w->s->used, w->s->next_room, sizeof *w->s->used);
    }
    l->values[v] = (struct spmd_value){origin, SPMD_NONE, *f, walk_bytes(w, origin, f)};
    w->s->next[v] = SPMD_NONE;
    w->s->used[v] = w->dots;
    return v;
}

void walk_add_version(struct walk *w, uint32_t value)
{
    uint32_t origin = w->l->values[value].origin;

    w->s->next[value] = w->s->head[origin];
    w->s->head[origin] = value;
    if (w->depth)
        VEC_PUSH(&w->s->undo, origin);
}

void walk_close_region(struct walk *w, uint32_t undo)
{
    while (w->s->undo.count > undo) {
        uint32_t origin = w->s->undo.at[--w->s->undo.count];
        w->s->head[origin] = w->s->next[w->s->head[origin]];
    }
}

struct spmd_step *walk_new_step(struct walk *w, enum spmd_step_kind kind, uint32_t op)
{
    struct spmd_local *l = w->l;

    l->step_count++;
    GROW(l->steps, l->step_room, l->step_count);
    struct spmd_step *s = &l->steps[l->step_count - 1];
    *s = (struct spmd_step){.kind = (uint8_t)kind,
                            .atom = 255,
                            .to_atom = 255,
                            .op = op,
                            .cells = SPMD_NONE,
                            .operands = l->operand_count,
                            .results = l->value_count,
                            .depth = w->depth,
                            .decision_space = NDA_NONE,
                            .trips = w->trips};
    return s;
}

static void push_operand(struct walk *w, uint32_t value)
{
    struct spmd_local *l = w->l;

    l->operand_count++;
    GROW(l->operands, l->operand_room, l->operand_count);
    l->operands[l->operand_count - 1] = value;
}

void walk_push_operands(struct walk *w, struct spmd_step *s, uint32_t base)
{
    for (size_t i = base; i < w->s->stack.count; i++)
        push_operand(w, w->s->stack.at[i]);
    s->operand_count = (uint32_t)(w->s->stack.count - base);
    w->s->stack.count = base;
}

/* ------------------------------------------------------------------------------------------- resharding */
static void emit_collective(struct walk *w, const struct reshard_step *r, uint32_t operand, uint32_t result,
                            uint32_t op, uint32_t space)
{
    struct spmd_step *s = walk_new_step(w, (enum spmd_step_kind)r->kind, op);

    s->reducer = r->reducer;
    s->axis_count = r->axis_count;
    memcpy(s->axes, r->axes, sizeof s->axes);
    s->atom = r->kind == SPMD_ALL_GATHER || r->kind == SPMD_ALL_TO_ALL ? r->atom : 255;
    s->to_atom = r->kind == SPMD_REDUCE_SCATTER || r->kind == SPMD_ALL_TO_ALL || r->kind == SPMD_SLICE ? r->to_atom : 255;
    s->decision_space = space;
    s->operand_count = 1;
    s->results = result;
    s->result_count = 1;
    push_operand(w, operand);
    w->l->values[result].step = w->l->step_count - 1;
}

static bool reduces(uint8_t kind)
{
    return kind == SPMD_ALL_REDUCE || kind == SPMD_REDUCE_SCATTER;
}

/* Reductions are charged to the op that left the partial, everything else to the use. */
static uint32_t emit_reshard(struct walk *w, const struct reshard *r, uint32_t from, uint32_t op, uint32_t space)
{
    uint32_t origin = w->l->values[from].origin, def = w->program->values[origin].op;

    walk_settle(w, from);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct reshard_step *step = &r->steps[i];
        bool by_def = reduces(step->kind) && def != IR_NONE;
        uint32_t cause = by_def ? def : op, cause_space = by_def ? w->t->ops[def].space : space;
        uint32_t result = walk_new_value(w, origin, &step->after);
        struct walk_pending p = {from, result, cause, cause_space, step->reducer, step->axis_count, {0},
                                 ir_value_type(w->program, origin)->element};
        memcpy(p.axes, step->axes, sizeof p.axes);
        walk_add_version(w, result);
        if (!(step->kind == SPMD_ALL_REDUCE && i + 1 == r->count && walk_hold(w, &p))) {
            walk_settle(w, from);
            emit_collective(w, step, from, result, cause, cause_space);
        }
        from = result;
    }
    return from;
}

/* ------------------------------------------------------------------------------------------- ops */
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

/* operand of an ordinary op under these cells; a partial that passes stays partial */
static void operand_form(const struct walk *w, uint32_t u, const struct plan_cell *cells, struct spmd_form *f)
{
    uint32_t slot = w->t->operand_slot[u];

    if (slot == NDA_NONE)
        *f = spmd_form_none;
    else
        walk_slot_form(w, slot, cells, f);
    if (!w->deferring)
        return;
    uint32_t value = w->program->operands[u], keep = w->s->keep[value];
    for (uint32_t a = 0; keep >> a; a++)
        if (keep >> a & 1)
            f->at[a] = (uint8_t)(SPMD_PARTIAL + w->s->partials.at[w->s->list_at[value] - 1].reducer);
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
            GROW(l->replicated_ops, l->replicated_op_room, l->replicated_op_count);
            l->replicated_ops[l->replicated_op_count - 1] = op;
            return;
        }
}

static bool counts_twice(const struct walk *w, uint32_t space, const struct plan_cell *cells)
{
    for (uint32_t a = 0; a < w->axes; a++) {
        if (cells[a].factor == NDA_NO_FACTOR)
            continue;
        const struct nda_name *name = &w->nda->names[w->nda->spaces[space].names + cells[a].factor];
        if (name->kind == NDA_CONTRACTING &&
            (name->reducer == NDA_REDUCE_ADD || name->reducer == NDA_REDUCE_MULTIPLY))
            return true;
    }
    return false;
}

/* Axes to place when a partial is completed: the partial ones, and replicated ones that stand before one of them on
 * the atom where the use wants both (cut out first, they cost nothing and keep the order). */
static uint32_t placed_axes(const struct walk *w, const struct spmd_form *now, uint32_t partial,
                            const struct spmd_form *wanted)
{
    uint32_t mask = partial;

    for (uint32_t a = 0; a < w->axes; a++)
        for (uint32_t b = 0; b < w->axes && now->at[a] == SPMD_REPLICATED && wanted->at[a] < SPMD_PARTIAL; b++)
            if ((partial >> b & 1) && wanted->at[b] == wanted->at[a] && wanted->position[b] > wanted->position[a])
                mask |= 1u << a;
    return mask;
}

/* A partial that no use takes as it is: completed at once, in the form in which its first use wants it. */
static void reduce_result(struct walk *w, uint32_t value)
{
    uint32_t origin = w->l->values[value].origin;
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
    emit_reshard(w, &r, value, def, t->ops[def].space);
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
    for (size_t i = base; i < w->s->stack.count; i++)
        walk_settle(w, w->s->stack.at[i]);
    struct spmd_step *s = walk_new_step(w, SPMD_OP, op);
    uint32_t index = w->l->step_count - 1;
    walk_push_operands(w, s, base);
    s->cells = w->l->cell_count;
    w->l->cell_count += w->axes;
    GROW(w->l->cells, w->l->cell_room, w->l->cell_count);
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
            for (uint32_t a = 0; w->s->part_of[origin] >> a; a++)
                if (w->s->part_of[origin] >> a & 1)
                    f.at[a] = (uint8_t)(SPMD_PARTIAL + w->s->partials.at[w->s->list_at[origin] - 1].reducer);
        uint32_t value = walk_new_value(w, origin, &f);
        w->l->values[value].step = index;
        walk_add_version(w, value);
    }
    uint32_t results = w->l->steps[index].results;
    for (uint32_t i = 0; i < ir->result_count; i++)
        reduce_result(w, results + i);
}

/* ------------------------------------------------------------------------------------------- wants */
void walk_carried_form(const struct walk *w, const struct walk_carried *c, struct spmd_form *f)
{
    struct plan_cell cells[MESH_MAX_AXES];
    struct spmd_form g;

    *f = spmd_form_none;
    if (c->end_slot == NDA_NONE || w->l->options.gather_everything)
        return;
    walk_space_cells(w, c->end, cells);
    walk_slot_form(w, c->end_slot, cells, f);
    if (c->begin == NDA_NONE)
        return;   /* a branch */
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
    for (uint32_t a = 0; a < w->axes; a++)   /* the same axes in another order: none of the atom's */
        if (f->at[a] < SPMD_PARTIAL && f->position[a] != g.position[a])
            for (uint32_t b = 0, atom = f->at[a]; b < w->axes; b++)
                if (f->at[b] == atom) {
                    f->at[b] = SPMD_REPLICATED;
                    f->position[b] = 0;
                }
}

static void op_result_form(const struct walk *w, uint32_t op, uint32_t value, struct spmd_form *f)
{
    struct plan_cell cells[MESH_MAX_AXES];

    walk_op_cells(w, op, cells);
    walk_result_form(w, op, w->nda->value_def_slot[value], cells, f);
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
        walk_carried_form(w, &w->t->carried[c->carried + (u - w->program->ops[op].operands)], f);
        return;
    }
    if (o->space == NDA_NONE) {   /* terminators and barriers: the form of the slot's own space */
        uint32_t s = w->t->slot_space[slot];
        const struct nda_space *space = &w->nda->spaces[s];
        if (space->kind == NDA_SPACE_RESULT) {
            spmd_boundary_form(w->context, w->plan, s, f);
        } else if (space->kind == NDA_SPACE_BARRIER) {
            walk_space_cells(w, s, cells);
            walk_slot_form(w, slot, cells, f);
        } else {
            const struct walk_control *c = &w->t->controls[w->t->ops[space->op].control];
            walk_carried_form(w, &w->t->carried[c->carried + space->index], f);
        }
        return;
    }
    if ((o->flags & WALK_LAZY) && depth < OBTAIN_DEPTH) {
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

/* ------------------------------------------------------------------------------------------- obtaining */
/* With `regather`, a gathered version is let go when as many dots passed since its last use as a layer has. */
static bool is_gone(const struct walk *w, uint32_t version)
{
    uint32_t step = w->l->values[version].step;

    return w->l->options.regather && step < WALK_PENDING && w->l->steps[step].kind == SPMD_ALL_GATHER &&
           w->dots - w->s->used[version] > OBTAIN_WINDOW;
}

static uint32_t find_version(const struct walk *w, uint32_t v, const struct spmd_form *f)
{
    uint32_t i = w->s->head[v];

    while (i != SPMD_NONE && !(spmd_form_equal(&w->l->values[i].form, f) && !is_gone(w, i)))
        i = w->s->next[i];
    return i;
}

/* cheapest version to reshard from; SPMD_NONE when there is none */
static uint32_t cheapest_version(const struct walk *w, uint32_t v, const struct spmd_form *f, struct reshard *best)
{
    uint32_t found = SPMD_NONE;
    struct reshard r;

    best->price = OBTAIN_NEVER;
    for (uint32_t i = w->s->head[v]; i != SPMD_NONE; i = w->s->next[i]) {
        if (is_gone(w, i))
            continue;
        walk_reshard(w, v, &w->l->values[i].form, f, &r);
        if (r.price < best->price) {
            *best = r;
            found = i;
        }
    }
    return found;
}

static int64_t price_of(const struct walk *w, uint32_t v, const struct spmd_form *f, uint32_t depth);

/* Price of computing op again so that its result has form f; OBTAIN_NEVER when it cannot. */
static int64_t remake_price(const struct walk *w, uint32_t op, uint32_t v, const struct spmd_form *f,
                            struct plan_cell *cells, uint32_t depth)
{
    const struct walk_op *o = &w->t->ops[op];
    const struct ir_op *ir = &w->program->ops[op];
    struct spmd_form g;
    int64_t price = 0;

    if (walk_cells_for(w, op, w->nda->value_def_slot[v], f, cells))
        return OBTAIN_NEVER;
    if (o->flags & WALK_CHEAP)
        return 0;
    for (uint32_t i = 0; i < ir->operand_count; i++) {
        uint32_t slot = w->t->operand_slot[ir->operands + i];
        g = spmd_form_none;
        if (slot != NDA_NONE)
            walk_slot_form(w, slot, cells, &g);
        int64_t part = price_of(w, ir_operand(w->program, op, i), &g, depth + 1);
        if (part >= OBTAIN_NEVER)
            return OBTAIN_NEVER;
        price += part;
    }
    return price;
}

/* Not what a partial passes through: that is in one form only. */
static bool remakes(const struct walk *w, uint32_t op)
{
    if (op == IR_NONE || !(w->t->ops[op].flags & (WALK_LAZY | WALK_REMAKE)) || w->l->options.gather_everything)
        return false;
    return !w->deferring || !w->s->part_of[ir_result(w->program, op, 0)];
}

static int64_t price_of(const struct walk *w, uint32_t v, const struct spmd_form *f, uint32_t depth)
{
    struct plan_cell cells[MESH_MAX_AXES];
    struct reshard r;
    uint32_t def = w->program->values[v].op;

    if (find_version(w, v, f) != SPMD_NONE)
        return 0;
    cheapest_version(w, v, f, &r);
    if (depth < OBTAIN_DEPTH && r.price > 0 && remakes(w, def)) {
        int64_t price = remake_price(w, def, v, f, cells, depth);
        return price < r.price ? price : r.price;
    }
    return r.price;
}

/* A lazy op without any version: in its first wanted form as far as it can give it, the rest by resharding. */
static void make_first(struct walk *w, uint32_t op, uint32_t v, const struct spmd_form *f)
{
    struct plan_cell cells[MESH_MAX_AXES], planned[MESH_MAX_AXES];
    struct spmd_form own;
    struct reshard r;

    if (w->l->options.gather_everything) {
        walk_op_cells(w, op, cells);
        walk_emit_op(w, op, cells);
        return;
    }
    int64_t direct = remake_price(w, op, v, f, cells, 0);
    if (direct > 0 && direct < OBTAIN_NEVER) {   /* the plan's own form may be cheaper, e.g. an all_to_all after instead of a gather before */
        walk_op_cells(w, op, planned);
        op_result_form(w, op, v, &own);
        walk_reshard(w, v, &own, f, &r);
        struct plan_cell again[MESH_MAX_AXES];
        int64_t before = remake_price(w, op, v, &own, again, 0);
        if (before < OBTAIN_NEVER && before + r.price < direct)
            memcpy(cells, planned, sizeof cells);
    }
    walk_emit_op(w, op, cells);
}

uint32_t walk_obtain(struct walk *w, uint32_t v, const struct spmd_form *f, uint32_t op, uint32_t space)
{
    uint32_t version = find_version(w, v, f), def;
    struct plan_cell cells[MESH_MAX_AXES];
    struct reshard r;

    if (version != SPMD_NONE) {
        walk_settle(w, version);
        w->s->used[version] = w->dots;
        return version;
    }
    def = w->program->values[v].op;
    if (w->s->head[v] == SPMD_NONE) {
        BASE_CHECK(def != IR_NONE && (w->t->ops[def].flags & (WALK_LAZY | WALK_REMAKE)));
        make_first(w, def, v, f);
        version = find_version(w, v, f);
        if (version != SPMD_NONE) {
            walk_settle(w, version);
            return version;
        }
    }
    version = cheapest_version(w, v, f, &r);
    bool free_remake = remakes(w, def) && (w->t->ops[def].flags & WALK_CHEAP);
    if (remakes(w, def) && (r.price > 0 || free_remake) && remake_price(w, def, v, f, cells, 0) <
        (free_remake ? 1 : r.price)) {
        if (!(w->t->ops[def].flags & WALK_LAZY))
            for (uint32_t i = w->s->head[v]; i != SPMD_NONE; i = w->s->next[i])
                if (w->l->values[i].step < WALK_PENDING)
                    VEC_PUSH(&w->s->suspects, w->l->values[i].step);
        walk_emit_op(w, def, cells);
        version = find_version(w, v, f);
        BASE_CHECK(version != SPMD_NONE);
        walk_settle(w, version);
        return version;
    }
    version = emit_reshard(w, &r, version, op, space);
    walk_settle(w, version);
    return version;
}

/* Obtains a program value in the form that somebody wants.
 *
 * Every program value has a list of versions: values of the local program, each in a form of its own. A
 * version that is wanted and there is used; one that is missing is made by the cheapest way known: resharded
 * from a version that is there, or computed again in the wanted form where the op is cheap or only moves
 * elements. The second way is how an all_gather moves above a broadcast or a convert, to the smallest
 * source.
 *
 * A gathered version may count as gone after a while (spmd_options.regather, or the plan's choice for a
 * parameter): then it is gathered again instead of being kept in memory. */
#include "spmd/walk.h"

#include <stdlib.h>
#include <string.h>

enum { OBTAIN_WINDOW = 12 }; /* dots and convolutions: one layer of a transformer, forward or backward */
#define OBTAIN_NEVER (INT64_MAX / 4)

uint32_t walk_new_value(struct walk *w, uint32_t origin, const struct spmd_form *f)
{
    struct spmd_local *l = w->l;
    uint32_t v = l->value_count++;

    MEM_GROW(l->values, l->value_room, l->value_count);
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
    MEM_GROW(l->steps, l->step_room, l->step_count);
    struct spmd_step *s = &l->steps[l->step_count - 1];
    *s = (struct spmd_step){.kind = (uint8_t)kind,
                            .atom = SPMD_NO_ATOM,
                            .to_atom = SPMD_NO_ATOM,
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
    MEM_GROW(l->operands, l->operand_room, l->operand_count);
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
    s->atom = r->kind == SPMD_ALL_GATHER || r->kind == SPMD_ALL_TO_ALL ? r->atom : SPMD_NO_ATOM;
    s->to_atom = r->kind == SPMD_REDUCE_SCATTER || r->kind == SPMD_ALL_TO_ALL || r->kind == SPMD_SLICE
                     ? r->to_atom
                     : SPMD_NO_ATOM;
    s->decision_space = space;
    s->operand_count = 1;
    s->results = result;
    s->result_count = 1;
    push_operand(w, operand);
    w->l->values[result].step = w->l->step_count - 1;
    walk_combine_last(w);
}

static bool reduces(uint8_t kind)
{
    return kind == SPMD_ALL_REDUCE || kind == SPMD_REDUCE_SCATTER;
}

/* the op that left value v partial; of a loop's result the one whose result the body returns */
static uint32_t left_partial(const struct walk *w, uint32_t v)
{
    uint32_t def = w->program->values[v].op;

    while (def != IR_NONE && w->t->ops[def].pass == WALK_PASS_INITIAL) {
        const struct walk_control *c = &w->t->controls[w->t->ops[def].control];
        v = w->program->operands[w->t->carried[c->carried + (v - w->program->ops[def].results)].returned];
        def = w->program->values[v].op;
    }
    return def;
}

/* Space of the op whose own factor makes the partial that def gives: its cells are what the plan decided.
 * Back through ops that pass a partial on, not round a loop again. */
static uint32_t source_space(const struct walk *w, uint32_t def)
{
    for (uint32_t before = w->deferring ? def : IR_NONE; before != IR_NONE;) {
        const struct ir_op *o = &w->program->ops[def = before];
        before = IR_NONE;
        for (uint32_t i = 0; w->t->ops[def].pass && i < o->operand_count && before == IR_NONE; i++) {
            uint32_t v = w->program->operands[o->operands + i];
            if (w->s->keep[v] && w->t->carried_of[v] == NDA_NONE)
                before = left_partial(w, v);
        }
    }
    return w->t->ops[def].space;
}

uint32_t walk_emit_reshard(struct walk *w, const struct reshard *r, uint32_t from, uint32_t op,
                           uint32_t space)
{
    uint32_t origin = w->l->values[from].origin, def = left_partial(w, origin);

    walk_settle(w, from);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct reshard_step *step = &r->steps[i];
        bool by_def = reduces(step->kind) && def != IR_NONE;
        uint32_t cause = by_def ? def : op, cause_space = by_def ? source_space(w, def) : space;
        uint32_t result = walk_new_value(w, origin, &step->after);
        struct walk_pending p = {
            from,          result,           cause, cause_space,
            step->reducer, step->axis_count, {0},   ir_value_type(w->program, origin)->element};
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

/* ------------------------------------------------------------------------------------------- obtaining */
static void op_result_form(const struct walk *w, uint32_t op, uint32_t value, struct spmd_form *f)
{
    struct plan_cell cells[MESH_MAX_AXES];

    walk_op_cells(w, op, cells);
    walk_result_form(w, op, w->nda->value_def_slot[value], cells, f);
}

/* A version that may be gathered again (all by the walk's option, a parameter's by the plan) is let go
 * when as many dots passed since its last use as a layer has. */
static bool is_gone(const struct walk *w, uint32_t version)
{
    uint32_t step = w->l->values[version].step;

    if (!w->regathers || step >= WALK_PENDING || w->l->steps[step].kind != SPMD_ALL_GATHER ||
        w->dots - w->s->used[version] <= OBTAIN_WINDOW)
        return false;
    uint32_t weight = w->t->weight_of[w->l->values[version].origin], axes = 0;
    for (uint32_t i = 0; weight != NDA_NONE && i < w->l->steps[step].axis_count; i++)
        axes |= 1u << w->l->steps[step].axes[i];
    return w->l->options.regather || (weight != NDA_NONE && (w->plan->regather[weight] & axes));
}

static uint32_t find_version(const struct walk *w, uint32_t v, const struct spmd_form *f)
{
    uint32_t i = w->s->head[v];

    while (i != SPMD_NONE && !(walk_form_same(&w->l->values[i].form, f) && !is_gone(w, i)))
        i = w->s->next[i];
    return i;
}

bool walk_gathers_inside(const struct walk *w, uint32_t v, const struct spmd_form *f)
{
    uint32_t weight = w->t->weight_of[v], axes = (1u << w->axes) - 1;

    if (!w->regathers || find_version(w, v, f) != SPMD_NONE)
        return false;
    if (!w->l->options.regather)
        axes = weight == NDA_NONE ? 0 : w->plan->regather[weight];
    uint32_t as_made = w->s->head[v]; /* of a convert that was not wanted yet: how its parameter lies */
    if (as_made == SPMD_NONE && weight != NDA_NONE)
        as_made = w->s->head[w->nda->arguments[weight].value];
    while (as_made != SPMD_NONE && w->s->next[as_made] != SPMD_NONE)
        as_made = w->s->next[as_made];
    for (uint32_t a = 0; as_made != SPMD_NONE && a < w->axes; a++)
        if ((axes >> a & 1) && w->l->values[as_made].form.at[a] < SPMD_PARTIAL && f->at[a] == SPMD_REPLICATED)
            return true;
    return false;
}

/* cheapest version to reshard from; SPMD_NONE when there is none */
static uint32_t cheapest_version(const struct walk *w, uint32_t v, const struct spmd_form *f,
                                 struct reshard *best)
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
    if (op == IR_NONE || !(w->t->ops[op].flags & (WALK_LAZY | WALK_REMAKE)) ||
        w->l->options.gather_everything)
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
    if (depth < WALK_DEPTH && r.price > 0 && remakes(w, def)) {
        int64_t price = remake_price(w, def, v, f, cells, depth);
        return price < r.price ? price : r.price;
    }
    return r.price;
}

/* A lazy op without any version: in its first wanted form as far as it can give it, the rest by
 * resharding. */
static void make_first(struct walk *w, uint32_t op, uint32_t v, const struct spmd_form *f)
{
    struct plan_cell cells[MESH_MAX_AXES], planned[MESH_MAX_AXES];
    struct spmd_form own;
    struct reshard r;

    /* what a partial passes has the plan's own */
    if (w->l->options.gather_everything || (w->deferring && w->s->part_of[v])) {
        walk_op_cells(w, op, cells);
        walk_emit_op(w, op, cells);
        return;
    }
    int64_t direct = remake_price(w, op, v, f, cells, 0);
    bool whole = false;
    for (uint32_t a = 0; a < w->axes; a++)
        whole |= spmd_is_whole(f->at[a]);
    if (whole && !(w->t->ops[op].flags & WALK_CHEAP))
        walk_op_cells(w, op, cells); /* no op gives this form: the plan's own, then resharded */
    /* the plan's own form may be cheaper, e.g. an all_to_all after instead of a gather before */
    if (direct > 0 && direct < OBTAIN_NEVER) {
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

/* A reshape or transpose of something that others use too: at equal price the form is made before it, so
 * that those that want the same (a further reshape of the same value) find it made. */
static bool shares_operand(const struct walk *w, uint32_t op)
{
    uint32_t value = ir_operand(w->program, op, 0);

    return w->t->ops[op].pass == WALK_PASS_LAYOUT && w->t->use_start[value + 1] - w->t->use_start[value] > 1;
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
    int64_t below = free_remake ? 1 : r.price + (remakes(w, def) && shares_operand(w, def));
    if (remakes(w, def) && (r.price > 0 || free_remake) && remake_price(w, def, v, f, cells, 0) < below) {
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
    version = walk_emit_reshard(w, &r, version, op, space);
    walk_settle(w, version);
    return version;
}

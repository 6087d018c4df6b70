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

uint32_t walk_new_value(struct walk *walk, uint32_t origin, const struct spmd_form *form)
{
    struct spmd_local *local = walk->local;
    uint32_t value = local->value_count++;

    MEM_GROW(local->values, local->value_room, local->value_count);
    if (walk->scratch->next_room < local->value_count) {
        walk->scratch->next_room = 2 * walk->scratch->next_room + 64;
        walk->scratch->next =
            mem_realloc(walk->scratch->next, walk->scratch->next_room, sizeof *walk->scratch->next);
        walk->scratch->used =
            mem_realloc(walk->scratch->used, walk->scratch->next_room, sizeof *walk->scratch->used);
    }
    local->values[value] = (struct spmd_value){origin, SPMD_NONE, *form, walk_bytes(walk, origin, form)};
    walk->scratch->next[value] = SPMD_NONE;
    walk->scratch->used[value] = walk->dots;
    return value;
}

void walk_add_version(struct walk *walk, uint32_t value)
{
    uint32_t origin = walk->local->values[value].origin;

    walk->scratch->next[value] = walk->scratch->head[origin];
    walk->scratch->head[origin] = value;
    if (walk->depth)
        VEC_PUSH(&walk->scratch->undo, origin);
}

void walk_close_region(struct walk *walk, uint32_t undo)
{
    while (walk->scratch->undo.count > undo) {
        uint32_t origin = walk->scratch->undo.at[--walk->scratch->undo.count];
        walk->scratch->head[origin] = walk->scratch->next[walk->scratch->head[origin]];
    }
}

struct spmd_step *walk_new_step(struct walk *walk, enum spmd_step_kind kind, uint32_t op)
{
    struct spmd_local *local = walk->local;

    local->step_count++;
    MEM_GROW(local->steps, local->step_room, local->step_count);
    struct spmd_step *step = &local->steps[local->step_count - 1];
    *step = (struct spmd_step){.kind = (uint8_t)kind,
                               .atom = SPMD_NO_ATOM,
                               .to_atom = SPMD_NO_ATOM,
                               .op = op,
                               .cells = SPMD_NONE,
                               .operands = local->operand_count,
                               .results = local->value_count,
                               .depth = walk->depth,
                               .decision_space = NDA_NONE,
                               .trips = walk->trips};
    return step;
}

static void push_operand(struct walk *walk, uint32_t value)
{
    struct spmd_local *local = walk->local;

    local->operand_count++;
    MEM_GROW(local->operands, local->operand_room, local->operand_count);
    local->operands[local->operand_count - 1] = value;
}

void walk_push_operands(struct walk *walk, struct spmd_step *step, uint32_t base)
{
    struct spmd_local *local = walk->local;
    uint32_t count = (uint32_t)(walk->scratch->stack.count - base), first = local->operand_count;

    local->operand_count += count;
    MEM_GROW(local->operands, local->operand_room, local->operand_count);
    for (uint32_t i = 0; i < count; i++)
        local->operands[first + i] = walk->scratch->stack.at[base + i];
    step->operand_count = count;
    walk->scratch->stack.count = base;
}

/* ------------------------------------------------------------------------------------------- resharding */
static void emit_collective(struct walk *walk, const struct reshard_step *reshard_step, uint32_t operand,
                            uint32_t result, uint32_t op, uint32_t space)
{
    struct spmd_step *step = walk_new_step(walk, (enum spmd_step_kind)reshard_step->kind, op);

    step->reducer = reshard_step->reducer;
    step->axis_count = reshard_step->axis_count;
    memcpy(step->axes, reshard_step->axes, sizeof step->axes);
    step->atom = reshard_step->kind == SPMD_ALL_GATHER || reshard_step->kind == SPMD_ALL_TO_ALL
                     ? reshard_step->atom
                     : SPMD_NO_ATOM;
    step->to_atom = reshard_step->kind == SPMD_REDUCE_SCATTER || reshard_step->kind == SPMD_ALL_TO_ALL ||
                            reshard_step->kind == SPMD_SLICE
                        ? reshard_step->to_atom
                        : SPMD_NO_ATOM;
    step->decision_space = space;
    step->operand_count = 1;
    step->results = result;
    step->result_count = 1;
    push_operand(walk, operand);
    walk->local->values[result].step = walk->local->step_count - 1;
    walk_combine_last(walk);
}

static bool reduces(uint8_t kind)
{
    return kind == SPMD_ALL_REDUCE || kind == SPMD_REDUCE_SCATTER;
}

/* the op that left value partial; of a loop's result the one whose result the body returns */
static uint32_t left_partial(const struct walk *walk, uint32_t value)
{
    uint32_t def = walk->program->values[value].op;

    while (def != IR_NONE && walk->table->ops[def].pass == WALK_PASS_INITIAL) {
        const struct walk_control *control = &walk->table->controls[walk->table->ops[def].control];
        value =
            walk->program->operands
                [walk->table->carried[control->carried + (value - walk->program->ops[def].results)].returned];
        def = walk->program->values[value].op;
    }
    return def;
}

/* Space of the op whose own factor makes the partial that def gives: its cells are what the plan decided.
 * Back through ops that pass a partial on, not round a loop again. */
static uint32_t source_space(const struct walk *walk, uint32_t def)
{
    for (uint32_t before = walk->deferring ? def : IR_NONE; before != IR_NONE;) {
        const struct ir_op *op = &walk->program->ops[def = before];
        before = IR_NONE;
        for (uint32_t i = 0; walk->table->ops[def].pass && i < op->operand_count && before == IR_NONE; i++) {
            uint32_t v = walk->program->operands[op->operands + i];
            if (walk->scratch->keep[v] && walk->table->carried_of[v] == NDA_NONE)
                before = left_partial(walk, v);
        }
    }
    return walk->table->ops[def].space;
}

uint32_t walk_emit_reshard(struct walk *walk, const struct reshard *reshard, uint32_t from, uint32_t op,
                           uint32_t space)
{
    uint32_t origin = walk->local->values[from].origin, def = left_partial(walk, origin);

    walk_settle(walk, from);
    for (uint32_t i = 0; i < reshard->count; i++) {
        const struct reshard_step *step = &reshard->steps[i];
        bool by_def = reduces(step->kind) && def != IR_NONE;
        uint32_t cause = by_def ? def : op, cause_space = by_def ? source_space(walk, def) : space;
        uint32_t result = walk_new_value(walk, origin, &step->after);
        struct walk_pending pending = {
            from,          result,           cause, cause_space,
            step->reducer, step->axis_count, {0},   ir_value_type(walk->program, origin)->element};
        memcpy(pending.axes, step->axes, sizeof pending.axes);
        walk_add_version(walk, result);
        if (!(step->kind == SPMD_ALL_REDUCE && i + 1 == reshard->count && walk_hold(walk, &pending))) {
            walk_settle(walk, from);
            emit_collective(walk, step, from, result, cause, cause_space);
        }
        from = result;
    }
    return from;
}

/* ------------------------------------------------------------------------------------------- obtaining */
static void op_result_form(const struct walk *walk, uint32_t op, uint32_t value, struct spmd_form *form)
{
    struct plan_cell cells[MESH_MAX_AXES];

    walk_op_cells(walk, op, cells);
    walk_result_form(walk, op, walk->nda->value_def_slot[value], cells, form);
}

/* A version that may be gathered again (all by the walk's option, a parameter's by the plan) is let go
 * when as many dots passed since its last use as a layer has. */
static bool is_gone(const struct walk *walk, uint32_t version)
{
    uint32_t step = walk->local->values[version].step;

    if (!walk->regathers || step >= WALK_PENDING || walk->local->steps[step].kind != SPMD_ALL_GATHER ||
        walk->dots - walk->scratch->used[version] <= OBTAIN_WINDOW)
        return false;
    uint32_t weight = walk->table->weight_of[walk->local->values[version].origin], axes = 0;
    for (uint32_t i = 0; weight != NDA_NONE && i < walk->local->steps[step].axis_count; i++)
        axes |= 1u << walk->local->steps[step].axes[i];
    return walk->local->options.regather || (weight != NDA_NONE && (walk->plan->regather[weight] & axes));
}

static uint32_t find_version(const struct walk *walk, uint32_t v, const struct spmd_form *form)
{
    uint32_t i = walk->scratch->head[v];

    while (i != SPMD_NONE && !(walk_form_same(&walk->local->values[i].form, form) && !is_gone(walk, i)))
        i = walk->scratch->next[i];
    return i;
}

bool walk_gathers_inside(const struct walk *walk, uint32_t v, const struct spmd_form *form)
{
    uint32_t weight = walk->table->weight_of[v], axes = (1u << walk->axes) - 1;

    if (!walk->regathers || find_version(walk, v, form) != SPMD_NONE)
        return false;
    if (!walk->local->options.regather)
        axes = weight == NDA_NONE ? 0 : walk->plan->regather[weight];
    uint32_t as_made =
        walk->scratch->head[v]; /* of a convert that was not wanted yet: how its parameter lies */
    if (as_made == SPMD_NONE && weight != NDA_NONE)
        as_made = walk->scratch->head[walk->nda->arguments[weight].value];
    while (as_made != SPMD_NONE && walk->scratch->next[as_made] != SPMD_NONE)
        as_made = walk->scratch->next[as_made];
    for (uint32_t axis = 0; as_made != SPMD_NONE && axis < walk->axes; axis++)
        if ((axes >> axis & 1) && walk->local->values[as_made].form.at[axis] < SPMD_PARTIAL &&
            form->at[axis] == SPMD_REPLICATED)
            return true;
    return false;
}

/* cheapest version to reshard from; SPMD_NONE when there is none */
static uint32_t cheapest_version(const struct walk *walk, uint32_t v, const struct spmd_form *form,
                                 struct reshard *best)
{
    uint32_t found = SPMD_NONE;
    struct reshard reshard;

    best->price = OBTAIN_NEVER;
    for (uint32_t i = walk->scratch->head[v]; i != SPMD_NONE; i = walk->scratch->next[i]) {
        if (is_gone(walk, i))
            continue;
        walk_reshard(walk, v, &walk->local->values[i].form, form, &reshard);
        if (reshard.price < best->price) {
            *best = reshard;
            found = i;
        }
    }
    return found;
}

static int64_t price_of(const struct walk *walk, uint32_t v, const struct spmd_form *form, uint32_t depth);

/* Price of computing op again so that its result has form; OBTAIN_NEVER when it cannot. */
static int64_t remake_price(const struct walk *walk, uint32_t op, uint32_t v, const struct spmd_form *form,
                            struct plan_cell *cells, uint32_t depth)
{
    const struct walk_op *walk_op = &walk->table->ops[op];
    struct spmd_form wanted;
    int64_t price = 0;

    if (walk_cells_for(walk, op, walk->nda->value_def_slot[v], form, cells))
        return OBTAIN_NEVER;
    if (walk_op->flags & WALK_CHEAP)
        return 0;
    for (uint32_t i = 0; i < walk_op->operand_count; i++) {
        uint32_t operand = walk_op->operands + i, slot = walk->table->operand_slot[operand];
        wanted = spmd_form_none;
        if (slot != NDA_NONE)
            walk_slot_form(walk, slot, cells, &wanted);
        int64_t part = price_of(walk, walk->program->operands[operand], &wanted, depth + 1);
        if (part >= OBTAIN_NEVER)
            return OBTAIN_NEVER;
        price += part;
    }
    return price;
}

/* Not what a partial passes through: that is in one form only. */
static bool remakes(const struct walk *walk, uint32_t op)
{
    if (op == IR_NONE || !(walk->table->ops[op].flags & (WALK_LAZY | WALK_REMAKE)) ||
        walk->local->options.gather_everything)
        return false;
    return !walk->deferring || !walk->scratch->part_of[walk->table->ops[op].results];
}

static int64_t price_of(const struct walk *walk, uint32_t value, const struct spmd_form *form, uint32_t depth)
{
    struct plan_cell cells[MESH_MAX_AXES];
    struct reshard reshard;
    uint32_t def = walk->program->values[value].op;

    if (find_version(walk, value, form) != SPMD_NONE)
        return 0;
    cheapest_version(walk, value, form, &reshard);
    if (depth < WALK_DEPTH && reshard.price > 0 && remakes(walk, def)) {
        int64_t price = remake_price(walk, def, value, form, cells, depth);
        return price < reshard.price ? price : reshard.price;
    }
    return reshard.price;
}

/* A lazy op without any version: in its first wanted form as far as it can give it, the rest by
 * resharding. */
static void make_first(struct walk *walk, uint32_t op, uint32_t v, const struct spmd_form *form)
{
    struct plan_cell cells[MESH_MAX_AXES], planned[MESH_MAX_AXES];
    struct spmd_form own;
    struct reshard reshard;

    /* what a partial passes has the plan's own */
    if (walk->local->options.gather_everything || (walk->deferring && walk->scratch->part_of[v])) {
        walk_op_cells(walk, op, cells);
        walk_emit_op(walk, op, cells);
        return;
    }
    int64_t direct = remake_price(walk, op, v, form, cells, 0);
    bool whole = false;
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        whole |= spmd_is_whole(form->at[axis]);
    if (whole && !(walk->table->ops[op].flags & WALK_CHEAP))
        walk_op_cells(walk, op, cells); /* no op gives this form: the plan's own, then resharded */
    /* the plan's own form may be cheaper, e.g. an all_to_all after instead of a gather before */
    if (direct > 0 && direct < OBTAIN_NEVER) {
        walk_op_cells(walk, op, planned);
        op_result_form(walk, op, v, &own);
        walk_reshard(walk, v, &own, form, &reshard);
        struct plan_cell again[MESH_MAX_AXES];
        int64_t before = remake_price(walk, op, v, &own, again, 0);
        if (before < OBTAIN_NEVER && before + reshard.price < direct)
            memcpy(cells, planned, sizeof cells);
    }
    walk_emit_op(walk, op, cells);
}

/* A reshape or transpose of something that others use too: at equal price the form is made before it, so
 * that those that want the same (a further reshape of the same value) find it made. */
static bool shares_operand(const struct walk *walk, uint32_t op)
{
    uint32_t value = ir_operand(walk->program, op, 0);

    return walk->table->ops[op].pass == WALK_PASS_LAYOUT &&
           walk->table->use_start[value + 1] - walk->table->use_start[value] > 1;
}

uint32_t walk_obtain(struct walk *walk, uint32_t value, const struct spmd_form *form, uint32_t op,
                     uint32_t space)
{
    uint32_t version = find_version(walk, value, form), def;
    struct plan_cell cells[MESH_MAX_AXES];
    struct reshard reshard;

    if (version != SPMD_NONE) {
        walk_settle(walk, version);
        walk->scratch->used[version] = walk->dots;
        return version;
    }
    def = walk->program->values[value].op;
    if (walk->scratch->head[value] == SPMD_NONE) {
        BASE_CHECK(def != IR_NONE && (walk->table->ops[def].flags & (WALK_LAZY | WALK_REMAKE)));
        make_first(walk, def, value, form);
        version = find_version(walk, value, form);
        if (version != SPMD_NONE) {
            walk_settle(walk, version);
            return version;
        }
    }
    version = cheapest_version(walk, value, form, &reshard);
    bool free_remake = remakes(walk, def) && (walk->table->ops[def].flags & WALK_CHEAP);
    int64_t below = free_remake ? 1 : reshard.price + (remakes(walk, def) && shares_operand(walk, def));
    if (remakes(walk, def) && (reshard.price > 0 || free_remake) &&
        remake_price(walk, def, value, form, cells, 0) < below) {
        if (!(walk->table->ops[def].flags & WALK_LAZY))
            for (uint32_t i = walk->scratch->head[value]; i != SPMD_NONE; i = walk->scratch->next[i])
                if (walk->local->values[i].step < WALK_PENDING)
                    VEC_PUSH(&walk->scratch->suspects, walk->local->values[i].step);
        walk_emit_op(walk, def, cells);
        version = find_version(walk, value, form);
        BASE_CHECK(version != SPMD_NONE);
        walk_settle(walk, version);
        return version;
    }
    version = walk_emit_reshard(walk, &reshard, version, op, space);
    walk_settle(walk, version);
    return version;
}

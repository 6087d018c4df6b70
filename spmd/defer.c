/* Decides which partial values stay partial through the ops that use them (docs/design/planner.md).
 *
 * A partial value is one whose devices hold summands (or other shares of a reduction). Adding two partial
 * sums and reducing the result once is cheaper than reducing both:
 *
 *       dot            dot                     dot            dot
 *        | partial      | partial               | partial      | partial
 *    all_reduce     all_reduce                   \            /
 *         \            /              or              add            one component: the two dots, the add
 *              add                                    | partial
 *               |                                 all_reduce
 *
 * Three passes. (1) Candidates grow forward from the ops that leave partials, through the ops that are
 * linear in them. (2) They shrink to a fixpoint: a value stays partial on an axis only if every use passes
 * it on; an add passes only if both operands do. (3) The rest falls into components: values joined by the
 * ops that pass them. A component is kept only if fewer bytes are reduced at its ends than at its sources,
 * each counted as often as the loops around it run. An op that passes a partial on ignores its own cell on
 * that axis. Before (3) a value is cut off whose results would be reduced as more bytes than itself.
 *
 * Loops. A carried value stays partial when the body returns it partial in the same place and every use in
 * the body passes it on. In `carry + gradient` each needs the other to be partial first; so the carried
 * value becomes a candidate as soon as a partial meets it, and the fixpoint decides. Its result is reduced
 * after the loop, or passes on there. Axes on which the plan shards the carried value are left alone: the
 * plan chose there to save memory by a reduce_scatter in every iteration.
 *
 * A convert to more bits passes only where its results are added up, more bytes of them than their sum has
 * (walk_facts.c), and only if its own result stays partial: reduced right behind the convert, it would be
 * more bytes than before it.
 *
 * Fills scratch.keep and scratch.part_of; makes no steps. */
#include "base/sets.h"
#include "spmd/walk.h"

#include <string.h>

static struct walk_partial *entry(const struct walk *walk, uint32_t value)
{
    uint32_t at = walk->scratch->list_at[value];

    return at ? &walk->scratch->partials.at[at - 1] : NULL;
}

static uint32_t kept(const struct walk *walk, uint32_t value, uint8_t reducer)
{
    const struct walk_partial *partial = entry(walk, value);

    return partial && partial->reducer == reducer ? partial->keep : 0;
}

static bool is_free(const struct walk *walk, uint32_t value)
{
    uint32_t def = walk->program->values[value].op;

    return nda_atom_count(walk->nda, value) == 0 ||
           (def != IR_NONE && (walk->table->ops[def].flags & WALK_CHEAP));
}

static bool is_zero(const struct walk *walk, uint32_t value)
{
    uint32_t def = walk->program->values[value].op;

    return def != IR_NONE && (walk->table->ops[def].flags & WALK_ZERO);
}

static bool is_unary(uint8_t pass)
{
    return pass == WALK_PASS_LAYOUT || pass == WALK_PASS_NEGATE || pass == WALK_PASS_SCALE;
}

/* axes on which the op's own space shards nothing: an operand beside the partial is replicated there
 * anyway */
static uint32_t open_axes(const struct walk *walk, uint32_t op)
{
    struct plan_cell cells[MESH_MAX_AXES];
    uint32_t mask = 0;

    walk_space_cells(walk, walk->table->ops[op].space, cells);
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        if (cells[axis].factor == NDA_NO_FACTOR)
            mask |= 1u << axis;
    return mask;
}

static uint32_t lattice(const struct walk *walk, uint32_t other, uint8_t reducer, enum nda_reducer of)
{
    return reducer == of ? kept(walk, other, reducer) : 0;
}

/* the loop's value that use u of an initial value, or of what the body returns, becomes */
static const struct walk_carried *fed_by(const struct walk *walk, uint32_t u)
{
    const struct ir_program *program = walk->program;
    uint32_t op = walk->table->operand_op[u], loop = op;

    if (walk->table->ops[op].pass == WALK_PASS_CARRY)
        loop = program->regions[program->blocks[program->ops[op].block].region].op;
    return &walk->table->carried[walk->table->controls[walk->table->ops[loop].control].carried +
                                 (u - program->ops[op].operands)];
}

/* the values that become partial where use u passes a partial on; returns how many */
static uint32_t passed_into(const struct walk *walk, uint32_t u, uint32_t into[2])
{
    uint32_t op = walk->table->operand_op[u];

    switch ((enum walk_pass)walk->table->ops[op].pass) {
    case WALK_PASS_INITIAL: into[0] = fed_by(walk, u)->argument; return 1;
    case WALK_PASS_CARRY:
        into[0] = fed_by(walk, u)->argument;
        into[1] = fed_by(walk, u)->result;
        return 2;
    case WALK_PASS_NONE:
    case WALK_PASS_LAYOUT:
    case WALK_PASS_NEGATE:
    case WALK_PASS_ADD:
    case WALK_PASS_SCALE:
    case WALK_PASS_SELECT:
    case WALK_PASS_MAX:
    case WALK_PASS_MIN:
    case WALK_PASS_AND:
    case WALK_PASS_OR:
    case WALK_PASS_UPDATE:
    case WALK_PASS_WIDEN: break;
    }
    into[0] = ir_result(walk->program, op, 0);
    return 1;
}

/* axes on which use u of a value passes it on partial, as things stand */
static uint32_t use_passes(const struct walk *walk, uint32_t u, uint8_t reducer)
{
    const struct ir_program *program = walk->program;
    uint32_t op = walk->table->operand_op[u], index = u - program->ops[op].operands;
    uint32_t all = (1u << walk->axes) - 1, value = program->operands[u];

    if (program->ops[op].block != program->values[value].block)
        return 0; /* reduced before the loop or branch that uses it */
    uint32_t other = program->ops[op].operand_count == 2 ? ir_operand(program, op, 1 - index) : value;
    switch ((enum walk_pass)walk->table->ops[op].pass) {
    case WALK_PASS_NONE: return 0;
    case WALK_PASS_LAYOUT: return all;
    case WALK_PASS_NEGATE: return reducer == NDA_REDUCE_ADD ? all : 0;
    case WALK_PASS_ADD: return lattice(walk, other, reducer, NDA_REDUCE_ADD);
    case WALK_PASS_SCALE:
        if (reducer != NDA_REDUCE_ADD || other == value || (program->ops[op].code == IR_DIVIDE && index != 0))
            return 0;
        return (is_free(walk, other) ? all : open_axes(walk, op)) & ~kept(walk, other, reducer);
    case WALK_PASS_SELECT: {
        if (index == 0)
            return 0;
        uint32_t on_true = ir_operand(program, op, 1), on_false = ir_operand(program, op, 2),
                 predicate = ir_operand(program, op, 0);
        other = index == 1 ? on_false : on_true;
        uint32_t passes = kept(walk, other, reducer);
        if (is_zero(walk, other) && reducer == NDA_REDUCE_ADD)
            passes = all;
        return passes & (is_free(walk, predicate) ? all : open_axes(walk, op));
    }
    case WALK_PASS_MAX: return lattice(walk, other, reducer, NDA_REDUCE_MAX);
    case WALK_PASS_MIN: return lattice(walk, other, reducer, NDA_REDUCE_MIN);
    case WALK_PASS_AND: return lattice(walk, other, reducer, NDA_REDUCE_AND);
    case WALK_PASS_OR: return lattice(walk, other, reducer, NDA_REDUCE_OR);
    case WALK_PASS_UPDATE: return index < 2 ? kept(walk, ir_operand(program, op, 1 - index), reducer) : 0;
    case WALK_PASS_WIDEN:
        return reducer == NDA_REDUCE_ADD ? kept(walk, ir_result(program, op, 0), reducer) : 0;
    case WALK_PASS_INITIAL:
    case WALK_PASS_CARRY: return kept(walk, fed_by(walk, u)->argument, reducer);
    }
    return 0;
}

static void push(struct walk *walk, uint32_t value, uint32_t own, uint32_t mask, uint8_t reducer)
{
    struct walk_partial partial = {value, (uint8_t)own, (uint8_t)mask, (uint8_t)mask, reducer, 0, 0};

    VEC_PUSH(&walk->scratch->components, (uint32_t)walk->scratch->partials.count);
    VEC_PUSH(&walk->scratch->partials, partial);
    walk->scratch->list_at[value] = (uint32_t)walk->scratch->partials.count;
    VEC_PUSH(&walk->scratch->queue, value);
}

/* ops whose own factors leave a partial result */
static void find_sources(struct walk *walk)
{
    struct plan_cell cells[MESH_MAX_AXES];
    struct spmd_form form;

    for (uint32_t i = 0; i < walk->table->source_count; i++) {
        uint32_t op = walk->table->sources[i], value = ir_result(walk->program, op, 0);
        const struct plan_cell *planned = plan_space(walk->plan, walk->table->ops[op].space);
        bool any = false;
        for (uint32_t axis = 0; axis < walk->axes; axis++)
            any |= planned[axis].factor != NDA_NO_FACTOR;
        if (!any)
            continue;
        walk_space_cells(walk, walk->table->ops[op].space, cells);
        walk_result_form(walk, op, walk->nda->value_def_slot[value], cells, &form);
        uint32_t mask = walk_partial_mask(&form, walk->axes);
        uint8_t reducer = 0;
        bool mixed = false;
        for (uint32_t axis = 0; axis < walk->axes; axis++)
            if (mask >> axis & 1) {
                mixed |= reducer && reducer != form.at[axis] - SPMD_PARTIAL;
                reducer = (uint8_t)(form.at[axis] - SPMD_PARTIAL);
            }
        if (mask && !mixed)
            push(walk, value, mask, mask, reducer);
    }
}

static void widen(struct walk *walk, uint32_t value, uint32_t mask, uint8_t reducer)
{
    struct walk_partial *partial = entry(walk, value);

    if (!mask)
        return;
    if (!partial) {
        push(walk, value, 0, mask, reducer);
    } else if (partial->reducer == reducer && (mask & ~partial->keep)) {
        partial->part = partial->keep = (uint8_t)(partial->keep | mask);
        VEC_PUSH(&walk->scratch->queue, value);
    }
}

/* A carried value becomes a candidate on the axes on which the plan does not shard it. */
static void offer(struct walk *walk, const struct walk_carried *carried, uint32_t mask, uint8_t reducer)
{
    struct spmd_form form;

    if (carried->steers)
        return;
    walk_carried_form(walk, carried, &form);
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        if (form.at[axis] != SPMD_REPLICATED)
            mask &= ~(1u << axis);
    widen(walk, carried->argument, mask, reducer);
}

/* the loop's carried value that value is, or is a layout or multiple of; NULL */
static const struct walk_carried *carried_under(const struct walk *walk, uint32_t value)
{
    for (uint32_t hops = 0; hops <= WALK_DEPTH; hops++) {
        uint32_t def = walk->program->values[value].op;
        if (walk->table->carried_of[value] != NDA_NONE)
            return &walk->table->carried[walk->table->carried_of[value]];
        if (def == IR_NONE)
            return NULL;
        uint8_t pass = walk->table->ops[def].pass;
        if (!is_unary(pass))
            return NULL;
        bool second = pass == WALK_PASS_SCALE && is_free(walk, ir_operand(walk->program, def, 0));
        value = ir_operand(walk->program, def, second);
    }
    return NULL;
}

/* Use u of a partial value meets a value that a loop carries, beside it in an op or as what its body
 * returns. */
static void meet_loop(struct walk *walk, uint32_t u, uint32_t mask, uint8_t reducer)
{
    const struct ir_program *program = walk->program;
    uint32_t op = walk->table->operand_op[u];

    if (walk->table->ops[op].pass == WALK_PASS_CARRY) {
        offer(walk, fed_by(walk, u), mask, reducer);
        return;
    }
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint32_t other = ir_operand(program, op, i);
        const struct walk_carried *carried =
            other == program->operands[u] ? NULL : carried_under(walk, other);
        if (carried)
            offer(walk, carried, mask, reducer);
    }
}

/* does the op, in a loop, bring partials of this reducer together, or return them? */
static bool may_meet_loop(const struct walk *walk, uint32_t op, uint8_t reducer)
{
    if (walk->program->ops[op].block == walk->nda->block)
        return false;
    switch ((enum walk_pass)walk->table->ops[op].pass) {
    case WALK_PASS_SELECT:
    case WALK_PASS_UPDATE:
    case WALK_PASS_CARRY: return true;
    case WALK_PASS_ADD: return reducer == NDA_REDUCE_ADD;
    case WALK_PASS_MAX: return reducer == NDA_REDUCE_MAX;
    case WALK_PASS_MIN: return reducer == NDA_REDUCE_MIN;
    case WALK_PASS_AND: return reducer == NDA_REDUCE_AND;
    case WALK_PASS_OR: return reducer == NDA_REDUCE_OR;
    case WALK_PASS_NONE:
    case WALK_PASS_LAYOUT:
    case WALK_PASS_NEGATE:
    case WALK_PASS_SCALE:
    case WALK_PASS_WIDEN:
    case WALK_PASS_INITIAL: break;
    }
    return false;
}

/* Adds what the uses of the queue's values can pass on. Adds need both operands: whichever comes last adds
 * it. A widening convert passes as much as its result will: all of it, until the fixpoint says. */
static void grow(struct walk *walk)
{
    for (size_t i = 0; i < walk->scratch->queue.count; i++) {
        uint32_t value = walk->scratch->queue.at[i];
        for (uint32_t k = walk->table->use_start[value]; k < walk->table->use_start[value + 1]; k++) {
            const struct walk_partial partial = *entry(walk, value);
            uint32_t u = walk->table->uses[k], into[2];
            if (may_meet_loop(walk, walk->table->operand_op[u], partial.reducer))
                meet_loop(walk, u, partial.keep, partial.reducer);
            bool widens = walk->table->ops[walk->table->operand_op[u]].pass == WALK_PASS_WIDEN &&
                          partial.reducer == NDA_REDUCE_ADD;
            uint32_t mask = widens ? partial.keep : partial.keep & use_passes(walk, u, partial.reducer);
            for (uint32_t r = mask ? passed_into(walk, u, into) : 0; r-- > 0;)
                widen(walk, into[r], mask, partial.reducer);
        }
    }
}

/* what the body returns in place of a carried value, as things stand */
static uint32_t returns(const struct walk *walk, const struct walk_carried *carried, uint8_t reducer)
{
    return kept(walk, walk->program->operands[carried->returned], reducer) &
           use_passes(walk, carried->returned, reducer);
}

/* what reaches a carried value, a loop's result or the result of a passing op, as things stand */
static uint32_t arrives(const struct walk *walk, const struct walk_partial *partial)
{
    uint32_t def = walk->program->values[partial->value].op, mask = partial->own;

    if (walk->table->carried_of[partial->value] != NDA_NONE)
        return returns(walk, &walk->table->carried[walk->table->carried_of[partial->value]],
                       partial->reducer);
    if (!walk->table->ops[def].pass)
        return mask;
    if (walk->table->ops[def].pass == WALK_PASS_INITIAL) {
        uint32_t index = partial->value - ir_result(walk->program, def, 0);
        return kept(walk,
                    walk->table->carried[walk->table->controls[walk->table->ops[def].control].carried + index]
                        .argument,
                    partial->reducer);
    }
    for (uint32_t i = 0; i < walk->program->ops[def].operand_count; i++) {
        uint32_t u = walk->program->ops[def].operands + i;
        mask |=
            kept(walk, walk->program->operands[u], partial->reducer) & use_passes(walk, u, partial->reducer);
    }
    return mask;
}

static void shrink(struct walk *walk)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = walk->scratch->partials.count; i-- > 0;) {
            struct walk_partial *partial = &walk->scratch->partials.at[i];
            uint32_t part = partial->part & arrives(walk, partial), keep = partial->keep & part;
            if (keep && walk->table->use_start[partial->value] == walk->table->use_start[partial->value + 1])
                keep = 0;
            for (uint32_t k = walk->table->use_start[partial->value];
                 keep && k < walk->table->use_start[partial->value + 1]; k++) {
                uint32_t u = walk->table->uses[k], into[2];
                keep &= use_passes(walk, u, partial->reducer);
                for (uint32_t n = keep ? passed_into(walk, u, into) : 0; n-- > 0;) {
                    const struct walk_partial *walk_partial = entry(walk, into[n]);
                    keep &=
                        walk_partial && walk_partial->reducer == partial->reducer ? walk_partial->part : 0;
                }
            }
            if (walk->table->carried_of[partial->value] != NDA_NONE)
                part = keep; /* not reduced in every iteration */
            changed |= part != partial->part || keep != partial->keep;
            partial->part = (uint8_t)part;
            partial->keep = (uint8_t)keep;
        }
    }
}

static void join(struct walk *walk, uint32_t i, uint32_t value)
{
    uint32_t at = walk->scratch->list_at[value];
    if (at)
        set_join(walk->scratch->components.at, i, at - 1);
}

/* bytes that are reduced where the partial results of a kept value end; of an op that two partials pass
 * through each is charged half */
static int64_t reduced_behind(const struct walk *walk, const struct walk_partial *partial)
{
    int64_t bytes = 0;
    uint32_t into[2];

    for (uint32_t k = walk->table->use_start[partial->value]; k < walk->table->use_start[partial->value + 1];
         k++) {
        uint32_t u = walk->table->uses[k], op = walk->table->operand_op[u];
        bool alone = is_unary(walk->table->ops[op].pass) || walk->table->ops[op].pass == WALK_PASS_WIDEN;
        for (uint32_t n = passed_into(walk, u, into); n-- > 0;) {
            const struct walk_partial *result = entry(walk, into[n]);
            bytes += result ? result->after / (alone ? 1 : 2) : 0;
        }
    }
    return bytes;
}

/* A value whose partial results would be reduced as more bytes than it has itself is reduced at once: in
 * x sigmoid(x) both x and -x are linear in it. Last results first; what a loop carries is left alone. */
static void cut(struct walk *walk)
{
    for (size_t i = walk->scratch->partials.count; i-- > 0;) {
        struct walk_partial *partial = &walk->scratch->partials.at[i];
        int64_t own = walk->table->value_bytes[partial->value] *
                      walk->table->block_trips[walk->program->values[partial->value].block];
        bool carried = walk->table->carried_of[partial->value] != NDA_NONE;
        partial->after = partial->keep && !carried ? reduced_behind(walk, partial) : own;
        if (partial->after > own && !carried) {
            partial->keep = 0;
            partial->after = own;
        }
    }
    shrink(walk);
    for (size_t i = 0; i < walk->scratch->partials.count; i++)
        walk->scratch->partials.at[i].after = 0;
}

/* Joins kept values with the results they pass into; drops components that would reduce as many bytes as
 * before. */
static void weigh(struct walk *walk)
{
    struct walk_partial *partial = walk->scratch->partials.at;
    uint32_t *components = walk->scratch->components.at;
    uint32_t count = (uint32_t)walk->scratch->partials.count, into[2];

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = walk->table->use_start[partial[i].value];
             partial[i].keep && k < walk->table->use_start[partial[i].value + 1]; k++)
            for (uint32_t n = passed_into(walk, walk->table->uses[k], into); n-- > 0;)
                join(walk, i, into[n]);
    for (uint32_t i = 0; i < count; i++) {
        struct walk_partial *root = &partial[set_find(components, i)];
        int64_t bytes = walk->table->value_bytes[partial[i].value] *
                        walk->table->block_trips[walk->program->values[partial[i].value].block];
        if (partial[i].own)
            root->before += bytes;
        if (partial[i].part & ~partial[i].keep)
            root->after += bytes;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct walk_partial *root = &partial[set_find(components, i)];
        if (root->after >= root->before) {
            partial[i].keep = 0;
            partial[i].part = partial[i].own;
        }
    }
}

/* Is the partial reduced behind nothing but unary ops, no smaller than `bytes`? */
static bool ends_alone(const struct walk *walk, uint32_t value, int64_t bytes, uint32_t depth)
{
    const struct walk_partial *partial = entry(walk, value);

    if (!partial || !partial->keep)
        return walk->table->value_bytes[value] >= bytes;
    for (uint32_t k = walk->table->use_start[value]; k < walk->table->use_start[value + 1]; k++) {
        uint32_t op = walk->table->operand_op[walk->table->uses[k]];
        if (depth == 0 || !is_unary(walk->table->ops[op].pass) ||
            !ends_alone(walk, ir_result(walk->program, op, 0), bytes, depth - 1))
            return false;
    }
    return true;
}

static void end_here(struct walk *walk, uint32_t value)
{
    struct walk_partial *partial = entry(walk, value);

    if (!partial || !partial->keep)
        return;
    partial->keep = 0;
    for (uint32_t k = walk->table->use_start[value]; k < walk->table->use_start[value + 1]; k++) {
        uint32_t result = ir_result(walk->program, walk->table->operand_op[walk->table->uses[k]], 0);
        end_here(walk, result);
        entry(walk, result)->part = entry(walk, result)->own;
    }
}

/* The results of a loop that gain nothing by waiting are reduced right after it: there they meet and
 * combine. */
static void end_at_loops(struct walk *walk)
{
    for (size_t i = 0; i < walk->scratch->partials.count; i++) {
        uint32_t value = walk->scratch->partials.at[i].value, def = walk->program->values[value].op;
        if (def != IR_NONE && walk->table->ops[def].pass == WALK_PASS_INITIAL &&
            ends_alone(walk, value, walk->table->value_bytes[value], WALK_DEPTH))
            end_here(walk, value);
    }
}

void walk_defer(struct walk *walk)
{
    struct spmd_scratch *scratch = walk->scratch;

    for (size_t i = 0; i < scratch->partials.count; i++) { /* of the walk before */
        uint32_t value = scratch->partials.at[i].value;
        scratch->list_at[value] = 0;
        scratch->keep[value] = scratch->part_of[value] = 0;
    }
    scratch->partials.count = scratch->components.count = scratch->queue.count = 0;
    walk->deferring = false;
    if (!walk->local->options.defer_partials || walk->local->options.gather_everything)
        return;
    find_sources(walk);
    if (!scratch->partials.count)
        return;
    grow(walk);
    if (scratch->partials.count == 0)
        return;
    shrink(walk);
    cut(walk);
    weigh(walk);
    end_at_loops(walk);
    for (size_t i = 0; i < scratch->partials.count; i++) {
        const struct walk_partial *partial = &scratch->partials.at[i];
        scratch->keep[partial->value] = partial->keep;
        scratch->part_of[partial->value] = partial->part & (uint8_t)~partial->own;
        walk->deferring |= partial->keep != 0;
    }
}

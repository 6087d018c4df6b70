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
 * that axis.
 *
 * Loops. A carried value stays partial when the body returns it partial in the same place and every use in
 * the body passes it on. In `carry + gradient` each needs the other to be partial first; so the carried
 * value becomes a candidate as soon as a partial meets it, and the fixpoint decides. Its result is reduced
 * after the loop, or passes on there. Axes on which the plan shards the carried value are left alone: the
 * plan chose there to save memory by a reduce_scatter in every iteration.
 *
 * A convert to more bits passes only where a loop adds up its results (walk_facts.c), and only if its own
 * result stays partial: reduced right behind the convert, it would be more bytes than before it.
 *
 * Fills scratch.keep and scratch.part_of; makes no steps. */
#include "spmd/walk.h"

#include <string.h>

static struct walk_partial *entry(const struct walk *w, uint32_t value)
{
    uint32_t at = w->s->list_at[value];

    return at ? &w->s->partials.at[at - 1] : NULL;
}

static uint32_t kept(const struct walk *w, uint32_t value, uint8_t reducer)
{
    const struct walk_partial *p = entry(w, value);

    return p && p->reducer == reducer ? p->keep : 0;
}

static bool is_free(const struct walk *w, uint32_t value)
{
    uint32_t def = w->program->values[value].op;

    return nda_atom_count(w->nda, value) == 0 || (def != IR_NONE && (w->t->ops[def].flags & WALK_CHEAP));
}

static bool is_zero(const struct walk *w, uint32_t value)
{
    uint32_t def = w->program->values[value].op;

    return def != IR_NONE && (w->t->ops[def].flags & WALK_ZERO);
}

static bool is_unary(uint8_t pass)
{
    return pass == WALK_PASS_LAYOUT || pass == WALK_PASS_NEGATE || pass == WALK_PASS_SCALE;
}

/* axes on which the op's own space shards nothing: an operand beside the partial is replicated there
 * anyway */
static uint32_t open_axes(const struct walk *w, uint32_t op)
{
    struct plan_cell cells[MESH_MAX_AXES];
    uint32_t mask = 0;

    walk_space_cells(w, w->t->ops[op].space, cells);
    for (uint32_t a = 0; a < w->axes; a++)
        if (cells[a].factor == NDA_NO_FACTOR)
            mask |= 1u << a;
    return mask;
}

static uint32_t lattice(const struct walk *w, uint32_t other, uint8_t reducer, enum nda_reducer of)
{
    return reducer == of ? kept(w, other, reducer) : 0;
}

/* the loop's value that use u of an initial value, or of what the body returns, becomes */
static const struct walk_carried *fed_by(const struct walk *w, uint32_t u)
{
    const struct ir_program *p = w->program;
    uint32_t op = w->t->operand_op[u], loop = op;

    if (w->t->ops[op].pass == WALK_PASS_CARRY)
        loop = p->regions[p->blocks[p->ops[op].block].region].op;
    return &w->t->carried[w->t->controls[w->t->ops[loop].control].carried + (u - p->ops[op].operands)];
}

/* the values that become partial where use u passes a partial on; returns how many */
static uint32_t passed_into(const struct walk *w, uint32_t u, uint32_t into[2])
{
    uint32_t op = w->t->operand_op[u];

    switch ((enum walk_pass)w->t->ops[op].pass) {
    case WALK_PASS_INITIAL: into[0] = fed_by(w, u)->argument; return 1;
    case WALK_PASS_CARRY:
        into[0] = fed_by(w, u)->argument;
        into[1] = fed_by(w, u)->result;
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
    into[0] = ir_result(w->program, op, 0);
    return 1;
}

/* axes on which use u of a value passes it on partial, as things stand */
static uint32_t use_passes(const struct walk *w, uint32_t u, uint8_t reducer)
{
    const struct ir_program *p = w->program;
    uint32_t op = w->t->operand_op[u], index = u - p->ops[op].operands;
    uint32_t all = (1u << w->axes) - 1, value = p->operands[u];

    if (p->ops[op].block != p->values[value].block)
        return 0; /* reduced before the loop or branch that uses it */
    uint32_t other = p->ops[op].operand_count == 2 ? ir_operand(p, op, 1 - index) : value;
    switch ((enum walk_pass)w->t->ops[op].pass) {
    case WALK_PASS_NONE: return 0;
    case WALK_PASS_LAYOUT: return all;
    case WALK_PASS_NEGATE: return reducer == NDA_REDUCE_ADD ? all : 0;
    case WALK_PASS_ADD: return lattice(w, other, reducer, NDA_REDUCE_ADD);
    case WALK_PASS_SCALE:
        if (reducer != NDA_REDUCE_ADD || other == value || (p->ops[op].code == IR_DIVIDE && index != 0))
            return 0;
        return (is_free(w, other) ? all : open_axes(w, op)) & ~kept(w, other, reducer);
    case WALK_PASS_SELECT: {
        if (index == 0)
            return 0;
        uint32_t on_true = ir_operand(p, op, 1), on_false = ir_operand(p, op, 2),
                 predicate = ir_operand(p, op, 0);
        other = index == 1 ? on_false : on_true;
        uint32_t passes = kept(w, other, reducer);
        if (is_zero(w, other) && reducer == NDA_REDUCE_ADD)
            passes = all;
        return passes & (is_free(w, predicate) ? all : open_axes(w, op));
    }
    case WALK_PASS_MAX: return lattice(w, other, reducer, NDA_REDUCE_MAX);
    case WALK_PASS_MIN: return lattice(w, other, reducer, NDA_REDUCE_MIN);
    case WALK_PASS_AND: return lattice(w, other, reducer, NDA_REDUCE_AND);
    case WALK_PASS_OR: return lattice(w, other, reducer, NDA_REDUCE_OR);
    case WALK_PASS_UPDATE: return index < 2 ? kept(w, ir_operand(p, op, 1 - index), reducer) : 0;
    case WALK_PASS_WIDEN: return reducer == NDA_REDUCE_ADD ? kept(w, ir_result(p, op, 0), reducer) : 0;
    case WALK_PASS_INITIAL:
    case WALK_PASS_CARRY: return kept(w, fed_by(w, u)->argument, reducer);
    }
    return 0;
}

static void push(struct walk *w, uint32_t value, uint32_t own, uint32_t mask, uint8_t reducer)
{
    struct walk_partial p = {
        value, (uint8_t)own, (uint8_t)mask, (uint8_t)mask, reducer, (uint32_t)w->s->partials.count, 0, 0};

    VEC_PUSH(&w->s->partials, p);
    w->s->list_at[value] = (uint32_t)w->s->partials.count;
    VEC_PUSH(&w->s->queue, value);
}

/* ops whose own factors leave a partial result */
static void find_sources(struct walk *w)
{
    struct plan_cell cells[MESH_MAX_AXES];
    struct spmd_form f;

    for (uint32_t i = 0; i < w->t->source_count; i++) {
        uint32_t op = w->t->sources[i], value = ir_result(w->program, op, 0);
        const struct plan_cell *planned = plan_space(w->plan, w->t->ops[op].space);
        bool any = false;
        for (uint32_t a = 0; a < w->axes; a++)
            any |= planned[a].factor != NDA_NO_FACTOR;
        if (!any)
            continue;
        walk_space_cells(w, w->t->ops[op].space, cells);
        walk_result_form(w, op, w->nda->value_def_slot[value], cells, &f);
        uint32_t mask = walk_partial_mask(&f, w->axes);
        uint8_t reducer = 0;
        bool mixed = false;
        for (uint32_t a = 0; a < w->axes; a++)
            if (mask >> a & 1) {
                mixed |= reducer && reducer != f.at[a] - SPMD_PARTIAL;
                reducer = (uint8_t)(f.at[a] - SPMD_PARTIAL);
            }
        if (mask && !mixed)
            push(w, value, mask, mask, reducer);
    }
}

static void widen(struct walk *w, uint32_t value, uint32_t mask, uint8_t reducer)
{
    struct walk_partial *r = entry(w, value);

    if (!mask)
        return;
    if (!r) {
        push(w, value, 0, mask, reducer);
    } else if (r->reducer == reducer && (mask & ~r->keep)) {
        r->part = r->keep = (uint8_t)(r->keep | mask);
        VEC_PUSH(&w->s->queue, value);
    }
}

/* A carried value becomes a candidate on the axes on which the plan does not shard it. */
static void offer(struct walk *w, const struct walk_carried *c, uint32_t mask, uint8_t reducer)
{
    struct spmd_form f;

    if (c->steers)
        return;
    walk_carried_form(w, c, &f);
    for (uint32_t a = 0; a < w->axes; a++)
        if (f.at[a] != SPMD_REPLICATED)
            mask &= ~(1u << a);
    widen(w, c->argument, mask, reducer);
}

/* the loop's carried value that v is, or is a layout or multiple of; NULL */
static const struct walk_carried *carried_under(const struct walk *w, uint32_t v)
{
    for (uint32_t hops = 0; hops <= WALK_DEPTH; hops++) {
        uint32_t def = w->program->values[v].op;
        if (w->t->carried_of[v] != NDA_NONE)
            return &w->t->carried[w->t->carried_of[v]];
        if (def == IR_NONE)
            return NULL;
        uint8_t pass = w->t->ops[def].pass;
        if (!is_unary(pass))
            return NULL;
        bool second = pass == WALK_PASS_SCALE && is_free(w, ir_operand(w->program, def, 0));
        v = ir_operand(w->program, def, second);
    }
    return NULL;
}

/* Use u of a partial value meets a value that a loop carries, beside it in an op or as what its body
 * returns. */
static void meet_loop(struct walk *w, uint32_t u, uint32_t mask, uint8_t reducer)
{
    const struct ir_program *p = w->program;
    uint32_t op = w->t->operand_op[u];

    if (w->t->ops[op].pass == WALK_PASS_CARRY) {
        offer(w, fed_by(w, u), mask, reducer);
        return;
    }
    for (uint32_t i = 0; i < p->ops[op].operand_count; i++) {
        uint32_t other = ir_operand(p, op, i);
        const struct walk_carried *c = other == p->operands[u] ? NULL : carried_under(w, other);
        if (c)
            offer(w, c, mask, reducer);
    }
}

/* does the op, in a loop, bring partials of this reducer together, or return them? */
static bool may_meet_loop(const struct walk *w, uint32_t op, uint8_t reducer)
{
    if (w->program->ops[op].block == w->nda->block)
        return false;
    switch ((enum walk_pass)w->t->ops[op].pass) {
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
static void grow(struct walk *w)
{
    for (size_t i = 0; i < w->s->queue.count; i++) {
        uint32_t value = w->s->queue.at[i];
        for (uint32_t k = w->t->use_start[value]; k < w->t->use_start[value + 1]; k++) {
            const struct walk_partial p = *entry(w, value);
            uint32_t u = w->t->uses[k], into[2];
            if (may_meet_loop(w, w->t->operand_op[u], p.reducer))
                meet_loop(w, u, p.keep, p.reducer);
            bool widens =
                w->t->ops[w->t->operand_op[u]].pass == WALK_PASS_WIDEN && p.reducer == NDA_REDUCE_ADD;
            uint32_t mask = widens ? p.keep : p.keep & use_passes(w, u, p.reducer);
            for (uint32_t r = mask ? passed_into(w, u, into) : 0; r-- > 0;)
                widen(w, into[r], mask, p.reducer);
        }
    }
}

/* what the body returns in place of a carried value, as things stand */
static uint32_t returns(const struct walk *w, const struct walk_carried *c, uint8_t reducer)
{
    return kept(w, w->program->operands[c->returned], reducer) & use_passes(w, c->returned, reducer);
}

/* what reaches a carried value, a loop's result or the result of a passing op, as things stand */
static uint32_t arrives(const struct walk *w, const struct walk_partial *p)
{
    uint32_t def = w->program->values[p->value].op, mask = p->own;

    if (w->t->carried_of[p->value] != NDA_NONE)
        return returns(w, &w->t->carried[w->t->carried_of[p->value]], p->reducer);
    if (!w->t->ops[def].pass)
        return mask;
    if (w->t->ops[def].pass == WALK_PASS_INITIAL) {
        uint32_t index = p->value - ir_result(w->program, def, 0);
        return kept(w, w->t->carried[w->t->controls[w->t->ops[def].control].carried + index].argument,
                    p->reducer);
    }
    for (uint32_t i = 0; i < w->program->ops[def].operand_count; i++) {
        uint32_t u = w->program->ops[def].operands + i;
        mask |= kept(w, w->program->operands[u], p->reducer) & use_passes(w, u, p->reducer);
    }
    return mask;
}

static void shrink(struct walk *w)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = w->s->partials.count; i-- > 0;) {
            struct walk_partial *p = &w->s->partials.at[i];
            uint32_t part = p->part & arrives(w, p), keep = p->keep & part;
            if (keep && w->t->use_start[p->value] == w->t->use_start[p->value + 1])
                keep = 0;
            for (uint32_t k = w->t->use_start[p->value]; keep && k < w->t->use_start[p->value + 1]; k++) {
                uint32_t u = w->t->uses[k], into[2];
                keep &= use_passes(w, u, p->reducer);
                for (uint32_t n = keep ? passed_into(w, u, into) : 0; n-- > 0;) {
                    const struct walk_partial *r = entry(w, into[n]);
                    keep &= r && r->reducer == p->reducer ? r->part : 0;
                }
            }
            if (w->t->carried_of[p->value] != NDA_NONE)
                part = keep; /* not reduced in every iteration */
            changed |= part != p->part || keep != p->keep;
            p->part = (uint8_t)part;
            p->keep = (uint8_t)keep;
        }
    }
}

static uint32_t find(struct walk *w, uint32_t i)
{
    struct walk_partial *p = w->s->partials.at;

    while (p[i].parent != i)
        i = p[i].parent = p[p[i].parent].parent;
    return i;
}

static void join(struct walk *w, uint32_t i, uint32_t value)
{
    uint32_t at = w->s->list_at[value];
    if (!at)
        return;
    uint32_t a = find(w, i), b = find(w, at - 1);
    if (a != b)
        w->s->partials.at[a > b ? a : b].parent = a > b ? b : a;
}

/* Joins kept values with the results they pass into; drops components that would reduce as many bytes as
 * before. */
static void weigh(struct walk *w)
{
    struct walk_partial *p = w->s->partials.at;
    uint32_t count = (uint32_t)w->s->partials.count, into[2];

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = w->t->use_start[p[i].value]; p[i].keep && k < w->t->use_start[p[i].value + 1]; k++)
            for (uint32_t n = passed_into(w, w->t->uses[k], into); n-- > 0;)
                join(w, i, into[n]);
    for (uint32_t i = 0; i < count; i++) {
        struct walk_partial *root = &p[find(w, i)];
        int64_t bytes =
            w->t->value_bytes[p[i].value] * w->t->block_trips[w->program->values[p[i].value].block];
        if (p[i].own)
            root->before += bytes;
        if (p[i].part & ~p[i].keep)
            root->after += bytes;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct walk_partial *root = &p[find(w, i)];
        if (root->after >= root->before) {
            p[i].keep = 0;
            p[i].part = p[i].own;
        }
    }
}

/* Is the partial reduced behind nothing but unary ops, no smaller than `bytes`? */
static bool ends_alone(const struct walk *w, uint32_t value, int64_t bytes, uint32_t depth)
{
    const struct walk_partial *p = entry(w, value);

    if (!p || !p->keep)
        return w->t->value_bytes[value] >= bytes;
    for (uint32_t k = w->t->use_start[value]; k < w->t->use_start[value + 1]; k++) {
        uint32_t op = w->t->operand_op[w->t->uses[k]];
        if (depth == 0 || !is_unary(w->t->ops[op].pass) ||
            !ends_alone(w, ir_result(w->program, op, 0), bytes, depth - 1))
            return false;
    }
    return true;
}

static void end_here(struct walk *w, uint32_t value)
{
    struct walk_partial *p = entry(w, value);

    if (!p || !p->keep)
        return;
    p->keep = 0;
    for (uint32_t k = w->t->use_start[value]; k < w->t->use_start[value + 1]; k++) {
        uint32_t result = ir_result(w->program, w->t->operand_op[w->t->uses[k]], 0);
        end_here(w, result);
        entry(w, result)->part = entry(w, result)->own;
    }
}

/* The results of a loop that gain nothing by waiting are reduced right after it: there they meet and
 * combine. */
static void end_at_loops(struct walk *w)
{
    for (size_t i = 0; i < w->s->partials.count; i++) {
        uint32_t value = w->s->partials.at[i].value, def = w->program->values[value].op;
        if (def != IR_NONE && w->t->ops[def].pass == WALK_PASS_INITIAL &&
            ends_alone(w, value, w->t->value_bytes[value], WALK_DEPTH))
            end_here(w, value);
    }
}

void walk_defer(struct walk *w)
{
    struct spmd_scratch *s = w->s;

    for (size_t i = 0; i < s->partials.count; i++) { /* of the walk before */
        uint32_t value = s->partials.at[i].value;
        s->list_at[value] = 0;
        s->keep[value] = s->part_of[value] = 0;
    }
    s->partials.count = s->queue.count = 0;
    w->deferring = false;
    if (!w->l->options.defer_partials || w->l->options.gather_everything)
        return;
    find_sources(w);
    if (!s->partials.count)
        return;
    grow(w);
    if (s->partials.count == 0)
        return;
    shrink(w);
    weigh(w);
    end_at_loops(w);
    for (size_t i = 0; i < s->partials.count; i++) {
        const struct walk_partial *p = &s->partials.at[i];
        s->keep[p->value] = p->keep;
        s->part_of[p->value] = p->part & (uint8_t)~p->own;
        w->deferring |= p->keep != 0;
    }
}

/* Which partial values stay partial through the ops that use them (planner.md section 5).
 *
 * Candidates grow forward from the ops that leave partials, through ops that are linear in them. Then they shrink to
 * a fixpoint: a value stays partial on an axis only if every use passes it on, an add only if both operands do. What
 * is left falls into components (values joined by the ops that pass them); a component is worth it only when fewer
 * bytes are reduced at its ends than at its sources. An op that passes ignores its own cell on that axis. */
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

    return nda_atom_count(w->nda, value) == 0 ||
           (def != IR_NONE && (w->t->ops[def].flags & WALK_CHEAP));
}

static bool is_zero(const struct walk *w, uint32_t value)
{
    uint32_t def = w->program->values[value].op;

    return def != IR_NONE && (w->t->ops[def].flags & WALK_ZERO);
}

/* axes on which the op's own space shards nothing: an operand beside the partial is replicated there anyway */
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

/* axes on which use u of a value passes it on partial, as things stand */
static uint32_t use_passes(const struct walk *w, uint32_t u, uint8_t reducer)
{
    const struct ir_program *p = w->program;
    uint32_t op = w->t->operand_op[u], index = u - p->ops[op].operands;
    uint32_t all = (1u << w->axes) - 1, value = p->operands[u];

    if (p->ops[op].block != p->values[value].block)
        return 0;   /* reduced before the loop or branch that uses it */
    uint32_t other = p->ops[op].operand_count == 2 ? ir_operand(p, op, 1 - index) : value;
    switch ((enum walk_pass)w->t->ops[op].pass) {
    case WALK_PASS_NONE:
        return 0;
    case WALK_PASS_LAYOUT:
        return all;
    case WALK_PASS_NEGATE:
        return reducer == NDA_REDUCE_ADD ? all : 0;
    case WALK_PASS_ADD:
        return lattice(w, other, reducer, NDA_REDUCE_ADD);
    case WALK_PASS_SCALE:
        if (reducer != NDA_REDUCE_ADD || other == value || (p->ops[op].code == IR_DIVIDE && index != 0))
            return 0;
        return (is_free(w, other) ? all : open_axes(w, op)) & ~kept(w, other, reducer);
    case WALK_PASS_SELECT: {
        if (index == 0)
            return 0;
        uint32_t on_true = ir_operand(p, op, 1), on_false = ir_operand(p, op, 2), predicate = ir_operand(p, op, 0);
        other = index == 1 ? on_false : on_true;
        uint32_t passes = kept(w, other, reducer);
        if (is_zero(w, other) && reducer == NDA_REDUCE_ADD)
            passes = all;
        return passes & (is_free(w, predicate) ? all : open_axes(w, op));
    }
    case WALK_PASS_MAX:
        return lattice(w, other, reducer, NDA_REDUCE_MAX);
    case WALK_PASS_MIN:
        return lattice(w, other, reducer, NDA_REDUCE_MIN);
    case WALK_PASS_AND:
        return lattice(w, other, reducer, NDA_REDUCE_AND);
    case WALK_PASS_OR:
        return lattice(w, other, reducer, NDA_REDUCE_OR);
    }
    return 0;
}

static void push(struct walk *w, uint32_t value, uint32_t own, uint32_t mask, uint8_t reducer)
{
    struct walk_partial p = {value, (uint8_t)own, (uint8_t)mask, (uint8_t)mask, reducer,
                             (uint32_t)w->s->partials.count, 0, 0};

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

/* Adds what the uses of the queue's values can pass on. Adds need both operands: whichever comes last adds it. */
static void grow(struct walk *w)
{
    for (size_t i = 0; i < w->s->queue.count; i++) {
        uint32_t value = w->s->queue.at[i];
        for (uint32_t k = w->t->use_start[value]; k < w->t->use_start[value + 1]; k++) {
            struct walk_partial *p = entry(w, value);
            uint32_t u = w->t->uses[k], op = w->t->operand_op[u];
            uint32_t mask = p->keep & use_passes(w, u, p->reducer);
            if (!mask)
                continue;
            uint32_t result = ir_result(w->program, op, 0);
            struct walk_partial *r = entry(w, result);
            if (!r) {
                push(w, result, 0, mask, p->reducer);
            } else if (r->reducer == p->reducer && (mask & ~r->keep)) {
                r->part = r->keep = (uint8_t)(r->keep | mask);
                VEC_PUSH(&w->s->queue, result);
            }
        }
    }
}

/* what reaches the result of a passing op, as things stand */
static uint32_t arrives(const struct walk *w, const struct walk_partial *p)
{
    uint32_t def = w->program->values[p->value].op, mask = p->own;

    if (!w->t->ops[def].pass)
        return mask;
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
                uint32_t u = w->t->uses[k];
                keep &= use_passes(w, u, p->reducer);
                if (keep) {
                    const struct walk_partial *r = entry(w, ir_result(w->program, w->t->operand_op[u], 0));
                    keep &= r && r->reducer == p->reducer ? r->part : 0;
                }
            }
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

/* Joins kept values with the results they pass into; drops components that would reduce as many bytes as before. */
static void weigh(struct walk *w)
{
    struct walk_partial *p = w->s->partials.at;
    uint32_t count = (uint32_t)w->s->partials.count;

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = w->t->use_start[p[i].value]; p[i].keep && k < w->t->use_start[p[i].value + 1]; k++) {
            uint32_t result = ir_result(w->program, w->t->operand_op[w->t->uses[k]], 0);
            uint32_t at = w->s->list_at[result];
            if (!at)
                continue;
            uint32_t a = find(w, i), b = find(w, at - 1);
            if (a != b)
                p[a > b ? a : b].parent = a > b ? b : a;
        }
    for (uint32_t i = 0; i < count; i++) {
        struct walk_partial *root = &p[find(w, i)];
        int64_t bytes = w->t->value_bytes[p[i].value];
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

void walk_defer(struct walk *w)
{
    struct spmd_scratch *s = w->s;

    for (size_t i = 0; i < s->partials.count; i++) {   /* of the walk before */
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
    for (size_t i = 0; i < s->partials.count; i++) {
        const struct walk_partial *p = &s->partials.at[i];
        s->keep[p->value] = p->keep;
        s->part_of[p->value] = p->part & (uint8_t)~p->own;
        w->deferring |= p->keep != 0;
    }
}

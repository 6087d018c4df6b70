/* Propagation over a whole program, and the plan that comes of it.
 *
 * Every value has a form, every constraint on some uses another (what stands behind the constraint), every
 * result of the function the one that the user gave it. A space's tensors are its slots, each with the form
 * that its value has there. */
#include "spmd/propagate.h"

#include "spmd/constraints.h"
#include "spmd/propagate_op.h"

#include <stdlib.h>
#include <string.h>

enum { STAGES = 5 };
enum kind { THROUGH, DYNAMIC, BROADCAST, OTHER };

struct propagate {
    const struct plan_context *context;
    const struct nda *n;
    const struct mesh *mesh;
    struct propagate_rules rules;
    const uint8_t *gone;          /* per space; NULL: none is */
    uint32_t *live, live_count;   /* spaces that are not */
    uint8_t *kinds;               /* per space: enum kind */
    uint8_t *single;              /* per space: no operand but scalars has another use */
    uint32_t *user_start, *users; /* spaces that a value is in */
    /* over dims, not atoms: values, then constraints on some uses, then results */
    struct spmd_form *forms;
    uint8_t *closed;
    uint32_t form_room, constraint_at, result_at;
    uint32_t *form_of;         /* per slot: its value, or a constraint on some uses */
    VEC(uint32_t) constrained; /* slots where it is one */
    struct boundary {          /* what the last one came to: runs of a list have the same */
        bool known;
        struct hash128 hash;
        struct spmd_form *arguments, *results;
        struct plan made;
    } boundary;
    uint32_t *stack, stack_count; /* spaces to be visited, the last one first */
    uint8_t *waits;               /* per space: it is among them */
    uint8_t *idle, *turns;        /* per space, bit s: nothing passes in stage s; other ways than before it */
    uint8_t *still; /* per space: its last visit gave nothing, and would not now; four visits of five */
    struct propagate_op op;
    uint32_t *tensor_form; /* of op.tensors */
    uint32_t tensor_room;
};

/* ---- what no plan changes ---- */

static enum kind kind_of(const struct nda *n, const struct nda_space *space)
{
    if (space->kind != NDA_SPACE_OP)
        return THROUGH;
    enum ir_family family = ir_opcode_family(n->program->ops[space->op].code);
    if (family == IR_FAMILY_ELEMENTWISE || family == IR_FAMILY_RESHAPE || family == IR_FAMILY_TRANSPOSE)
        return THROUGH;
    if (family == IR_FAMILY_DYNAMIC_SLICE || family == IR_FAMILY_DYNAMIC_UPDATE)
        return DYNAMIC;
    return family == IR_FAMILY_BROADCAST ? BROADCAST : OTHER;
}

/* the space of a loop's beginning that carries what this one of its end returns; NDA_NONE */
static uint32_t beginning_of(const struct nda *n, const struct nda_space *space)
{
    return space->kind == NDA_SPACE_LOOP_END ? n->op_space[space->op] + space->index : NDA_NONE;
}

static bool is_gone(const struct propagate *p, uint32_t space)
{
    return p->gone && p->gone[space];
}

static void list_live(struct propagate *p)
{
    p->live = mem_alloc(((size_t)p->n->space_count + 1) * sizeof *p->live);
    for (uint32_t space = 0; space < p->n->space_count; space++)
        if (!is_gone(p, space))
            p->live[p->live_count++] = space;
}

static void count_users(struct propagate *p, bool fill, uint32_t *at)
{
    const struct nda *n = p->n;
    for (uint32_t l = 0; l < p->live_count; l++) {
        uint32_t space = p->live[l], from[2] = {space, beginning_of(n, &n->spaces[space])};
        for (int i = 0; i < 2 && from[i] != NDA_NONE; i++)
            for (uint32_t k = 0; k < n->spaces[from[i]].slot_count; k++) {
                uint32_t value = n->slots[n->spaces[from[i]].slots + k].value;
                if (fill)
                    p->users[at[value]] = space;
                at[value]++;
            }
    }
}

static void list_users(struct propagate *p)
{
    uint32_t values = p->n->program->value_count, total = 0;
    uint32_t *counts = mem_zalloc((size_t)values + 1, sizeof *counts);
    count_users(p, false, counts);
    p->user_start = mem_alloc(((size_t)values + 1) * sizeof *p->user_start);
    for (uint32_t value = 0; value <= values; value++) {
        uint32_t here = value < values ? counts[value] : 0;
        p->user_start[value] = counts[value] = total;
        total += here;
    }
    p->users = mem_alloc(((size_t)total + 1) * sizeof *p->users);
    count_users(p, true, counts);
    free(counts);
}

static void judge_spaces(struct propagate *p)
{
    const struct nda *n = p->n;
    uint32_t *uses = mem_zalloc((size_t)n->program->value_count + 1, sizeof *uses);
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t k = 0; k < n->spaces[space].slot_count && !is_gone(p, space); k++) {
            const struct nda_slot *slot = &n->slots[n->spaces[space].slots + k];
            uses[slot->value] += !slot->is_result;
        }
    for (uint32_t space = 0; space < n->space_count; space++) {
        p->kinds[space] = (uint8_t)kind_of(n, &n->spaces[space]);
        p->single[space] = 1;
        for (uint32_t k = 0; k < n->spaces[space].slot_count; k++) {
            const struct nda_slot *slot = &n->slots[n->spaces[space].slots + k];
            if (!slot->is_result && uses[slot->value] > 1 && nda_atom_count(n, slot->value))
                p->single[space] = 0;
        }
    }
    free(uses);
}

static enum propagate_direction direction(const struct propagate *p, uint32_t space, uint32_t factor,
                                          uint32_t stage)
{
    enum kind kind = p->kinds[space];
    uint8_t what = p->rules.factors[p->rules.factor_start[space] + factor].kind;
    if (what == PROPAGATE_BLOCKED)
        return PROPAGATE_NONE;
    if (p->n->spaces[space].kind == NDA_SPACE_RESULT)
        return PROPAGATE_BOTH;
    if (kind == THROUGH)
        return stage > 0 || p->single[space] ? PROPAGATE_BOTH : PROPAGATE_NONE;
    if (kind == DYNAMIC && stage < 2)
        return stage > 0 || p->single[space] ? PROPAGATE_FORWARD : PROPAGATE_NONE;
    if (stage < 2 || (stage == 2 && what != PROPAGATE_PASS))
        return kind == DYNAMIC ? PROPAGATE_FORWARD : PROPAGATE_NONE;
    return kind == BROADCAST && stage < STAGES - 1 ? PROPAGATE_BACKWARD : PROPAGATE_BOTH;
}

/* What passes through a space in each stage is known before any sharding. */
static void judge_stages(struct propagate *p)
{
    for (uint32_t space = 0; space < p->n->space_count; space++)
        for (uint32_t stage = 0; stage < STAGES; stage++) {
            bool any = false, other = stage == 0;
            for (uint32_t factor = 0; factor < propagate_rules_count(&p->rules, space); factor++) {
                enum propagate_direction now = direction(p, space, factor, stage);
                any |= now != PROPAGATE_NONE;
                other |= stage > 0 && now != direction(p, space, factor, stage - 1);
            }
            p->idle[space] |= (uint8_t)(!any << stage);
            p->turns[space] |= (uint8_t)(other << stage);
        }
}

struct propagate *propagate_create(const struct plan_context *context, const uint8_t *gone)
{
    struct propagate *p = mem_zalloc(1, sizeof *p);
    const struct nda *n = plan_context_nda(context);
    p->context = context;
    p->gone = gone;
    p->n = n;
    p->mesh = p->op.mesh = plan_context_mesh(context);
    p->kinds = mem_zalloc(n->space_count + 1, 1);
    p->single = mem_zalloc(n->space_count + 1, 1);
    p->waits = mem_zalloc(n->space_count + 1, 1);
    p->idle = mem_zalloc(n->space_count + 1, 1);
    p->turns = mem_zalloc(n->space_count + 1, 1);
    p->still = mem_zalloc(n->space_count + 1, 1);
    p->stack = mem_alloc(((size_t)n->space_count + 1) * sizeof *p->stack);
    p->form_of = mem_alloc(((size_t)n->slot_count + 1) * sizeof *p->form_of);
    for (uint32_t slot = 0; slot < n->slot_count; slot++)
        p->form_of[slot] = n->slots[slot].value;
    p->boundary.arguments = mem_alloc(((size_t)n->argument_count + 1) * sizeof *p->boundary.arguments);
    p->boundary.results = mem_alloc(((size_t)n->result_count + 1) * sizeof *p->boundary.results);
    plan_init(&p->boundary.made, n, p->mesh);
    list_live(p);
    propagate_rules_create(n, gone, &p->rules);
    judge_spaces(p);
    judge_stages(p);
    list_users(p);
    return p;
}

void propagate_destroy(struct propagate *p)
{
    if (!p)
        return;
    propagate_rules_release(&p->rules);
    free(p->kinds);
    free(p->single);
    free(p->waits);
    free(p->idle);
    free(p->turns);
    free(p->still);
    free(p->stack);
    free(p->form_of);
    VEC_FREE(&p->constrained);
    free(p->live);
    free(p->boundary.arguments);
    free(p->boundary.results);
    plan_release(&p->boundary.made);
    free(p->user_start);
    free(p->users);
    free(p->forms);
    free(p->closed);
    free(p->op.tensors);
    free(p->tensor_form);
    free(p);
}

/* ---- what the user says ---- */

static struct spmd_form form_from(const struct plan_sharding *sharding)
{
    struct spmd_form form = spmd_form_none;
    for (uint32_t dim = 0; dim < sharding->rank; dim++)
        for (uint8_t i = 0; i < sharding->dims[dim].count; i++) {
            form.at[sharding->dims[dim].axes[i]] = (uint8_t)dim;
            form.position[sharding->dims[dim].axes[i]] = i;
        }
    return form;
}

static void close_form(struct propagate *p, uint32_t at, struct spmd_form form)
{
    p->forms[at] = form;
    p->closed[at] = 1;
}

static struct spmd_form boundary_form(const struct propagate *p, const struct plan *boundary, uint32_t space)
{
    struct plan_sharding sharding;
    plan_boundary_sharding(p->context, boundary, space, &sharding);
    return form_from(&sharding);
}

static void take_boundary(const struct propagate *p, const struct plan *boundary, uint32_t space,
                          struct plan *out)
{
    for (uint8_t position = 0; position < MESH_MAX_AXES; position++)
        for (uint32_t axis = 0; axis < p->mesh->axis_count; axis++) {
            const struct plan_cell *cell = &plan_space(boundary, space)[axis];
            if (cell->factor != NDA_NO_FACTOR && cell->position == position)
                (void)plan_apply_factor(p->context, out, space, cell->factor, axis);
        }
}

static void know_boundary(struct propagate *p, const struct plan *boundary)
{
    const struct nda *n = p->n;
    struct boundary *known = &p->boundary;
    if (known->known && hash128_compare(known->hash, boundary->hash) == 0)
        return;
    plan_copy(&known->made, plan_context_start(p->context));
    for (uint32_t i = 0; i < n->argument_count; i++) {
        known->arguments[i] = boundary_form(p, boundary, n->arguments[i].space);
        take_boundary(p, boundary, n->arguments[i].space, &known->made);
    }
    for (uint32_t i = 0; i < n->result_count; i++) {
        known->results[i] = boundary_form(p, boundary, n->result_spaces[i]);
        take_boundary(p, boundary, n->result_spaces[i], &known->made);
    }
    known->known = true;
    known->hash = boundary->hash;
}

/* no other constraint that stands says another form of the value */
static bool alone(const struct propagate_constraint *list, const bool *on, uint32_t count, uint32_t i)
{
    for (uint32_t k = 0; k < count; k++)
        if ((!on || on[k]) && list[k].value == list[i].value &&
            !spmd_form_equal(&list[k].form, &list[i].form))
            return false;
    return true;
}

static void state(struct propagate *p, const struct propagate_constraint *list, const bool *on,
                  uint32_t count)
{
    const struct nda *n = p->n;
    struct plan_sharding sharding;
    p->constraint_at = n->program->value_count;
    p->result_at = p->constraint_at + count;
    uint32_t forms = p->result_at + n->result_count + 1;
    MEM_GROW(p->forms, p->form_room, forms);
    p->closed = mem_realloc(p->closed, p->form_room, 1);
    memset(p->closed, 0, forms);
    for (uint32_t i = 0; i < forms; i++)
        p->forms[i] = spmd_form_none;
    for (size_t i = 0; i < p->constrained.count; i++)
        p->form_of[p->constrained.at[i]] = n->slots[p->constrained.at[i]].value;
    p->constrained.count = 0;
    for (uint32_t i = 0; i < n->argument_count; i++)
        close_form(p, n->arguments[i].value, p->boundary.arguments[i]);
    for (uint32_t i = 0; i < n->result_count; i++)
        close_form(p, p->result_at + i, p->boundary.results[i]);
    for (uint32_t i = 0; i < count; i++) {
        if (on && !on[i])
            continue;
        (void)spmd_form_sharding(n, p->mesh, list[i].value, &list[i].form, &sharding);
        if (list[i].uses && !p->closed[list[i].value] && alone(list, on, count, i))
            close_form(p, list[i].value, form_from(&sharding)); /* as Shardy does before it propagates */
        close_form(p, list[i].uses ? p->constraint_at + i : list[i].value, form_from(&sharding));
        for (uint32_t k = 0; list[i].uses && k < list[i].use_count; k++) {
            p->form_of[list[i].uses[k]] = p->constraint_at + i;
            VEC_PUSH(&p->constrained, list[i].uses[k]);
        }
    }
}

/* ---- one space ---- */

static void add_tensor(struct propagate *p, uint32_t form, uint32_t slot, bool result)
{
    struct propagate_op *op = &p->op;
    MEM_GROW(op->tensors, op->tensor_room, op->tensor_count + 1);
    MEM_GROW(p->tensor_form, p->tensor_room, op->tensor_count + 1);
    struct propagate_tensor *tensor = &op->tensors[op->tensor_count];
    tensor->form = &p->forms[form];
    tensor->closed = p->closed[form] != 0;
    tensor->result = result;
    tensor->changed = false;
    tensor->dim_of = p->rules.dims + p->rules.dim_start[slot];
    tensor->size = 1;
    for (uint32_t factor = 0; factor < op->factor_count; factor++)
        if (tensor->dim_of[factor] != PROPAGATE_NO_DIM)
            tensor->size *= (double)op->factors[factor].size;
    p->tensor_form[op->tensor_count++] = form;
}

/* false: nothing in it is split, or nothing has a factor */
static bool open_space(struct propagate *p, uint32_t space)
{
    const struct nda *n = p->n;
    const struct nda_space *at = &n->spaces[space];
    bool any = false;
    for (uint32_t k = 0; k < at->slot_count && !any; k++)
        any = !spmd_form_equal(&p->forms[p->form_of[at->slots + k]], &spmd_form_none);
    uint32_t beginning = beginning_of(n, at);
    if (beginning != NDA_NONE)
        for (uint32_t k = 0; k < n->spaces[beginning].slot_count && !any; k++)
            any = !spmd_form_equal(&p->forms[p->form_of[n->spaces[beginning].slots + k]], &spmd_form_none);
    if (at->kind == NDA_SPACE_RESULT)
        any |= !spmd_form_equal(&p->forms[p->result_at + at->index], &spmd_form_none);
    p->op.factors = p->rules.factors + p->rules.factor_start[space];
    p->op.factor_count = propagate_rules_count(&p->rules, space);
    if (!any || !p->op.factor_count || at->kind == NDA_SPACE_ARGUMENT)
        return false;
    p->op.tensor_count = 0;
    p->op.elementwise = at->kind == NDA_SPACE_OP && ir_opcode_family(n->program->ops[at->op].code) ==
                                                        (enum ir_family)IR_FAMILY_ELEMENTWISE;
    for (uint32_t k = 0; k < at->slot_count; k++)
        add_tensor(p, p->form_of[at->slots + k], at->slots + k, n->slots[at->slots + k].is_result);
    if (beginning != NDA_NONE) /* what the body reads next time is what it returned */
        for (uint32_t k = 1; k < n->spaces[beginning].slot_count; k++)
            add_tensor(p, p->form_of[n->spaces[beginning].slots + k], at->slots + at->slot_count - 1, true);
    if (at->kind == NDA_SPACE_RESULT)
        add_tensor(p, p->result_at + at->index, at->slots, true);
    propagate_op_open(&p->op);
    return true;
}

static void push(struct propagate *p, uint32_t space)
{
    if (p->waits[space])
        return;
    p->waits[space] = 1;
    p->stack[p->stack_count++] = space;
}

/* whoever sees a value that is split further: where it is made, then its uses, of which the first is next */
static void push_users(struct propagate *p, uint32_t value)
{
    uint32_t first = p->user_start[value], end = p->user_start[value + 1];
    for (uint32_t k = first; k < end; k++)
        p->still[p->users[k]] = 0;
    if (first < end)
        push(p, p->users[first]);
    for (uint32_t k = end; k-- > first + 1;)
        push(p, p->users[k]);
}

static void visit(struct propagate *p, uint32_t space, uint32_t stage)
{
    if (p->still[space] || p->idle[space] >> stage & 1)
        return;
    p->still[space] = 1;
    if (!open_space(p, space))
        return;
    for (uint32_t factor = 0; factor < p->op.factor_count; factor++)
        p->op.direction[factor] = (uint8_t)direction(p, space, factor, stage);
    propagate_op_run(&p->op);
    for (uint32_t i = 0; i < p->op.tensor_count; i++)
        if (p->op.tensors[i].changed && p->tensor_form[i] < p->constraint_at)
            push_users(p, p->tensor_form[i]);
}

/* what stands behind a constraint of some uses pulls at the value before it, as an identity would */
static bool pull(struct propagate *p, const struct propagate_constraint *list, const bool *on, uint32_t count)
{
    bool changed = false;
    for (uint32_t i = 0; i < count; i++) {
        struct spmd_form *form = &p->forms[list[i].value];
        if ((on && !on[i]) || !list[i].uses || p->closed[list[i].value] ||
            !spmd_form_equal(form, &spmd_form_none))
            continue;
        *form = p->forms[p->constraint_at + i];
        if (spmd_form_equal(form, &spmd_form_none))
            continue;
        for (uint32_t k = p->user_start[list[i].value]; k < p->user_start[list[i].value + 1]; k++)
            p->still[p->users[k]] = 0;
        changed = true;
    }
    return changed;
}

static void visit_results(struct propagate *p, uint32_t stage)
{
    for (uint32_t i = 0; i < p->n->result_count; i++)
        if (!is_gone(p, p->n->result_spaces[i]))
            visit(p, p->n->result_spaces[i], stage);
    while (p->stack_count)
        p->waits[p->stack[--p->stack_count]] = 0;
}

/* In Shardy's order, because the first to split a value wins: results, every space in program order but those
 * that see a change at once, results again. */
static void settle(struct propagate *p, uint32_t stage)
{
    visit_results(p, stage);
    for (uint32_t i = p->live_count; i-- > 0;)
        push(p, p->live[i]);
    while (p->stack_count) {
        uint32_t space = p->stack[--p->stack_count];
        p->waits[space] = 0;
        if (p->n->spaces[space].kind != NDA_SPACE_RESULT)
            visit(p, space, stage);
    }
    visit_results(p, stage);
}

/* ---- the plan ---- */

/* Dims' axes as atoms', major first; what cuts no atom evenly is left out. */
static void to_atoms(const struct propagate *p, uint32_t value, const struct spmd_form *from,
                     struct spmd_form *out)
{
    const struct nda_atom *atoms = nda_atoms(p->n, value);
    uint32_t count = nda_atom_count(p->n, value);
    *out = spmd_form_none;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && atoms[i].dim == atoms[i - 1].dim)
            continue;
        struct propagate_axes axes = propagate_axes_on(from, atoms[i].dim, p->mesh->axis_count);
        uint32_t atom = i;
        int64_t left = atoms[i].size;
        uint8_t position = 0;
        for (uint8_t k = 0; k < axes.count; k++) {
            int64_t size = p->mesh->axes[axes.at[k]].size;
            for (; left == 1 && atom + 1 < count && atoms[atom + 1].dim == atoms[i].dim; position = 0)
                left = atoms[++atom].size;
            if (left % size != 0)
                break;
            left /= size;
            out->at[axes.at[k]] = (uint8_t)atom;
            out->position[axes.at[k]] = position++;
        }
    }
}

struct side { /* a tensor of a space, over atoms */
    struct spmd_form form;
    uint32_t slot;
    bool result;
    double size;
};

static bool holds(const struct nda *n, const struct side *side, uint32_t factor, uint32_t *atom)
{
    const struct nda_slot *slot = &n->slots[side->slot];
    for (*atom = 0; *atom < nda_atom_count(n, slot->value); (*atom)++)
        if (n->factor_of[slot->map + *atom] == factor)
            return true;
    return false;
}

/* of a scatter: the slot of its indices; NDA_NONE */
static uint32_t index_slot(const struct nda *n, const struct nda_space *space)
{
    const struct ir_op *op = space->kind == NDA_SPACE_OP ? &n->program->ops[space->op] : NULL;
    if (!op || op->code != IR_SCATTER)
        return NDA_NONE;
    return space->slots + (op->operand_count - 1) / 2;
}

/* The factor that an axis splits: a contracting one that all its operands have, or that a scatter's indices
 * have (XLA slices the updates alike and adds up what is scattered), else what the results say, else a
 * contracting one that some operand has, else, but for products, what an operand says: XLA makes a product's
 * result as it is wanted and gathers operands for that. */
static uint8_t factor_for(const struct nda *n, const struct nda_space *space, const struct side *sides,
                          uint32_t side_count, uint32_t axis, uint8_t *position)
{
    double best = 0;
    uint8_t chosen = NDA_NO_FACTOR;
    uint32_t indices = index_slot(n, space);
    bool product = space->kind == NDA_SPACE_OP &&
                   ir_opcode_family((enum ir_opcode)n->program->ops[space->op].code) == IR_FAMILY_DOT;
    for (uint32_t factor = 0; factor < space->factor_count; factor++) {
        double size = 0;
        uint32_t holders = 0, agree = 0, in_results = 0, atom;
        uint8_t place = 0;
        bool by_indices = false;
        for (uint32_t i = 0; i < side_count; i++) {
            if (!holds(n, &sides[i], factor, &atom))
                continue;
            holders += !sides[i].result;
            if (sides[i].form.at[axis] != atom)
                continue;
            agree += !sides[i].result;
            by_indices |= sides[i].slot == indices;
            in_results += sides[i].result;
            size += sides[i].size;
            place = sides[i].form.position[axis];
        }
        bool contracts = n->factors[space->factors + factor].kind == NDA_CONTRACTING;
        if (agree + in_results == 0 || (product && !contracts && in_results == 0))
            continue;
        double weight = contracts && (agree == holders || by_indices) ? 3
                        : in_results                                  ? 2
                        : contracts                                   ? 1
                                                                      : 0.5;
        weight = weight * 1e30 + size;
        if (weight > best) {
            best = weight;
            chosen = (uint8_t)factor;
            *position = place;
        }
    }
    return chosen;
}

static struct side side_of(const struct propagate *p, uint32_t form, uint32_t slot, bool result)
{
    uint32_t value = p->n->slots[slot].value;
    struct side side = {.slot = slot, .result = result, .size = 1};
    to_atoms(p, value, &p->forms[form], &side.form);
    for (uint32_t i = 0; i < nda_atom_count(p->n, value); i++)
        side.size *= (double)nda_atoms(p->n, value)[i].size;
    return side;
}

/* *out: owned; how many */
static uint32_t list_sides(const struct propagate *p, uint32_t space, struct side **out)
{
    const struct nda *n = p->n;
    const struct nda_space *at = &n->spaces[space];
    uint32_t beginning = beginning_of(n, at), count = 0;
    uint32_t more = beginning == NDA_NONE ? 0 : n->spaces[beginning].slot_count;
    struct side *sides = mem_alloc((at->slot_count + more + 1) * sizeof *sides);
    for (uint32_t k = 0; k < at->slot_count; k++)
        sides[count++] =
            side_of(p, p->form_of[at->slots + k], at->slots + k, n->slots[at->slots + k].is_result);
    for (uint32_t k = 1; k < more; k++) /* what the body reads next time is what it returned */
        sides[count++] =
            side_of(p, p->form_of[n->spaces[beginning].slots + k], at->slots + at->slot_count - 1, true);
    *out = sides;
    return count;
}

static void split_space(struct propagate *p, uint32_t space, struct plan *out)
{
    uint8_t factors[MESH_MAX_AXES], positions[MESH_MAX_AXES] = {0};
    struct side *sides;
    uint32_t count = list_sides(p, space, &sides);
    for (uint32_t axis = 0; axis < p->mesh->axis_count; axis++)
        factors[axis] = factor_for(p->n, &p->n->spaces[space], sides, count, axis, &positions[axis]);
    free(sides);
    for (uint8_t position = 0; position < MESH_MAX_AXES; position++)
        for (uint32_t axis = 0; axis < p->mesh->axis_count; axis++)
            if (factors[axis] != NDA_NO_FACTOR && positions[axis] == position)
                (void)plan_apply_factor(p->context, out, space, factors[axis], axis);
}

void propagate_run(struct propagate *p, const struct plan *boundary, const struct propagate_constraint *list,
                   const bool *on, uint32_t count, struct plan *out)
{
    const struct nda *n = p->n;
    know_boundary(p, boundary);
    state(p, list, on, count);
    for (uint32_t stage = 0; stage < STAGES; stage++) {
        for (uint32_t i = 0; i < p->live_count; i++)
            p->still[p->live[i]] &= (uint8_t)~(p->turns[p->live[i]] >> stage);
        do
            settle(p, stage);
        while (pull(p, list, on, count));
    }
    plan_copy(out, &p->boundary.made);
    for (uint32_t i = 0; i < p->live_count; i++) {
        uint32_t space = p->live[i];
        if (n->spaces[space].kind != NDA_SPACE_ARGUMENT && n->spaces[space].kind != NDA_SPACE_RESULT)
            split_space(p, space, out);
    }
}

const struct spmd_form *propagate_forms(const struct propagate *p)
{
    return p->forms;
}

void propagate_slot_sharding(const struct propagate *p, uint32_t slot, struct plan_sharding *out)
{
    const struct ir_type *type = ir_value_type(p->n->program, p->n->slots[slot].value);
    memset(out, 0, sizeof *out);
    out->rank = type->kind == IR_TYPE_TENSOR ? type->rank : 0;
    for (uint32_t dim = 0; dim < out->rank; dim++) {
        struct propagate_axes axes =
            propagate_axes_on(&p->forms[p->form_of[slot]], (uint8_t)dim, p->mesh->axis_count);
        out->dims[dim].count = axes.count;
        memcpy(out->dims[dim].axes, axes.at, axes.count);
    }
}

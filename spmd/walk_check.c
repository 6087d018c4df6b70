/* Checks a local program against the protocol in local.h: the operands' scopes, the forms before and after
 * every collective, bytes, loops and branches.
 *
 * Written apart from the walk: it uses none of its functions or tables, so that a mistake there is not
 * repeated here. Reports the first step that breaks the protocol, as ERROR_INTERNAL. Changes nothing. For
 * tests. */
#include "spmd/local.h"

#include <stdlib.h>
#include <string.h>

enum { CHECK_MAX_DEPTH = 64 }; /* loops and branches inside each other; deeper programs fail the check */

struct check {
    const struct spmd_local *l;
    const struct nda *n;
    /* per value: index of the region that defined it, +1; 0: not yet, or out of scope */
    uint32_t *open;
    uint32_t regions[CHECK_MAX_DEPTH], depth, next_region;
    uint8_t *closed; /* per region number */
    uint32_t at;
    struct error *e;
    bool failed;
};

static void fail(struct check *c, const char *what)
{
    struct text t = {0};

    if (c->failed)
        return;
    c->failed = true;
    const struct spmd_step *s = &c->l->steps[c->at];
    text_printf(&t, "step %u, %s", c->at, spmd_step_kind_name((enum spmd_step_kind)s->kind));
    if (s->op != SPMD_NONE)
        text_printf(&t, " of %s (line %u)", ir_op_name(c->n->program, s->op), c->n->program->ops[s->op].line);
    (void)error_set(c->e, ERROR_INTERNAL, "Local program: %s: %s", t.at, what);
    text_release(&t);
}

#define EXPECT(c, x, what)                                                                                   \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            fail((c), (what));                                                                               \
    } while (0)

static bool partial_at(uint8_t at)
{
    return at >= SPMD_PARTIAL && at != SPMD_REPLICATED;
}

/* Axes on a whole dim: the dim divides, and what the axes on its atoms leave is one block. */
static void check_whole(struct check *c, const struct spmd_value *v, uint32_t dim)
{
    const struct ir_type *type = ir_value_type(c->n->program, v->origin);
    const struct nda_atom *atoms = nda_atoms(c->n, v->origin);
    const struct mesh *m = c->l->mesh;
    int64_t shards = 1, outer = 1;

    if (type->kind != IR_TYPE_TENSOR || dim >= type->rank) {
        fail(c, "whole dim out of range");
        return;
    }
    for (uint32_t i = 0; i < nda_atom_count(c->n, v->origin); i++) {
        int64_t here = 1;
        for (uint32_t a = 0; a < m->axis_count; a++)
            if (v->form.at[a] == i && atoms[i].dim == dim)
                here *= m->axes[a].size;
        if (atoms[i].dim != dim)
            continue;
        EXPECT(c, here == 1 || outer == 1, "a whole dim is cut that is not in one block");
        outer *= atoms[i].size / here;
        shards *= here;
    }
    for (uint32_t a = 0; a < m->axis_count; a++)
        shards *= v->form.at[a] == SPMD_WHOLE + dim ? m->axes[a].size : 1;
    EXPECT(c, ir_type_dims(c->n->program, type)[dim] % shards == 0, "whole dim does not divide");
}

static void check_form(struct check *c, const struct spmd_value *v)
{
    const struct spmd_form *f = &v->form;
    uint32_t count = nda_atom_count(c->n, v->origin), axes = c->l->mesh->axis_count;

    for (uint32_t a = 0; a < MESH_MAX_AXES; a++) {
        if (a >= axes || f->at[a] >= SPMD_PARTIAL) {
            EXPECT(c, f->position[a] == 0, "position of an axis that is on no atom");
            EXPECT(c, a < axes || f->at[a] == SPMD_REPLICATED, "axis beyond the mesh");
            EXPECT(c, f->at[a] == SPMD_REPLICATED || f->at[a] - SPMD_PARTIAL <= NDA_REDUCE_OR,
                   "unknown reducer");
            EXPECT(c, f->at[a] != SPMD_PARTIAL, "partial without a reducer");
            continue;
        }
        if (f->at[a] >= count && !spmd_is_whole(f->at[a])) {
            fail(c, "atom out of range");
            return;
        }
        int64_t shards = 1;
        uint32_t on = 0, seen = 0;
        for (uint32_t b = 0; b < axes; b++)
            if (f->at[b] == f->at[a]) {
                shards *= c->l->mesh->axes[b].size;
                on++;
                seen |= 1u << f->position[b];
            }
        EXPECT(c, seen == (1u << on) - 1, "positions on an atom are not 0 ..");
        if (spmd_is_whole(f->at[a]))
            check_whole(c, v, f->at[a] - SPMD_WHOLE);
        else
            EXPECT(c, nda_atoms(c->n, v->origin)[f->at[a]].size % shards == 0, "atom does not divide");
    }
    EXPECT(c, v->bytes == spmd_local_bytes(c->n, c->l->mesh, v->origin, f), "bytes of a value");
}

static const struct spmd_value *operand(struct check *c, const struct spmd_step *s, uint32_t i)
{
    return spmd_operand_value(c->l, s, i);
}

static bool has_partial(const struct check *c, const struct spmd_form *f)
{
    for (uint32_t a = 0; a < c->l->mesh->axis_count; a++)
        if (partial_at(f->at[a]))
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------- one step */
/* What a reshard does to the form of its operand, axis by axis. */
static void check_reshard(struct check *c, const struct spmd_step *s)
{
    EXPECT(c, s->operand_count == 1 && s->result_count == 1, "a reshard has one operand and one result");
    if (c->failed)
        return;
    const struct spmd_value *from = operand(c, s, 0), *to = &c->l->values[s->results];
    struct spmd_form f = from->form;
    uint32_t axes = c->l->mesh->axis_count;

    EXPECT(c, from->origin == to->origin, "origin changes");
    EXPECT(c, s->axis_count > 0, "no axes");
    /* boundary forms leave by gathers, come by slices; or exchanges */
    for (uint32_t a = 0; a < axes; a++)
        EXPECT(c,
               !spmd_is_whole(f.at[a]) ||
                   ((s->kind == SPMD_ALL_GATHER || s->kind == SPMD_ALL_TO_ALL) && spmd_is_whole(s->atom)) ||
                   ((s->kind == SPMD_SLICE || s->kind == SPMD_ALL_TO_ALL) && spmd_is_whole(s->to_atom)),
               "a reshard of a whole dim's blocks");
    if (s->kind == SPMD_PERMUTE) {
        for (uint32_t atom = 0; atom < nda_atom_count(c->n, from->origin); atom++) {
            int64_t a = 1, b = 1;
            for (uint32_t i = 0; i < axes; i++) {
                a *= f.at[i] == atom ? c->l->mesh->axes[i].size : 1;
                b *= to->form.at[i] == atom ? c->l->mesh->axes[i].size : 1;
            }
            EXPECT(c, a == b, "a permute changes local sizes");
        }
        for (uint32_t i = 0; i < axes; i++)
            EXPECT(c, !spmd_is_whole(f.at[i]) && !spmd_is_whole(to->form.at[i]), "a permute of whole dims");
        for (uint32_t i = 0; i < axes; i++)
            EXPECT(c,
                   (f.at[i] < SPMD_PARTIAL) == (to->form.at[i] < SPMD_PARTIAL) &&
                       (f.at[i] < SPMD_PARTIAL || f.at[i] == to->form.at[i]),
                   "a permute changes which axes shard");
        return;
    }
    bool leaves = s->kind == SPMD_ALL_GATHER || s->kind == SPMD_ALL_TO_ALL;
    bool enters = s->kind == SPMD_ALL_TO_ALL || s->kind == SPMD_SLICE || s->kind == SPMD_REDUCE_SCATTER;
    for (uint32_t k = s->axis_count; k-- > 0;) {
        uint8_t a = s->axes[k];
        if (leaves) {
            EXPECT(c, f.at[a] == s->atom, "axis is not on the atom that it leaves");
            for (uint32_t b = 0; b < axes; b++)
                EXPECT(c, f.at[b] != f.at[a] || f.position[b] <= f.position[a], "axis is not minor-most");
        } else if (s->kind == SPMD_SLICE) {
            EXPECT(c, f.at[a] == SPMD_REPLICATED, "sliced axis is not replicated");
        } else {
            EXPECT(c, f.at[a] == SPMD_PARTIAL + s->reducer, "reduced axis is not partial by the reducer");
        }
        f.at[a] = SPMD_REPLICATED;
        f.position[a] = 0;
    }
    for (uint32_t k = 0; enters && k < s->axis_count; k++) {
        uint8_t position = 0;
        for (uint32_t b = 0; b < axes; b++)
            position += f.at[b] == s->to_atom;
        f.at[s->axes[k]] = s->to_atom;
        f.position[s->axes[k]] = position;
    }
    EXPECT(c, spmd_form_equal(&f, &to->form), "result is not in the form that the step gives");
}

/* Replicated axes become partial: of a sum only where the value is zero elsewhere, of a product where it
 * is one. */
static void check_mask(struct check *c, const struct spmd_step *s)
{
    EXPECT(c, s->operand_count == 1 && s->result_count == 1 && s->axis_count > 0,
           "a mask has one operand and one result");
    if (c->failed)
        return;
    const struct spmd_value *from = operand(c, s, 0), *to = &c->l->values[s->results];
    struct spmd_form f = from->form;

    EXPECT(c, from->origin == to->origin, "origin changes");
    EXPECT(c,
           s->mask_initial ? s->reducer == NDA_REDUCE_ADD || s->reducer == NDA_REDUCE_MULTIPLY
                           : s->reducer != NDA_REDUCE_MULTIPLY,
           "masked for a reducer that counts as often as it likes, or not for a product");
    for (uint32_t k = 0; k < s->axis_count; k++) {
        EXPECT(c, f.at[s->axes[k]] == SPMD_REPLICATED, "masked axis is not replicated");
        f.at[s->axes[k]] = (uint8_t)(SPMD_PARTIAL + s->reducer);
    }
    EXPECT(c, spmd_form_equal(&f, &to->form), "result is not in the form that the step gives");
}

/* Form that an op's cells give a slot; `partial` where a factor is missing in a result. */
static struct spmd_form cell_form(const struct check *c, const struct nda_space *space,
                                  const struct nda_slot *slot, const struct plan_cell *cells,
                                  bool lookup_is_partial)
{
    struct spmd_form f;

    memset(f.at, SPMD_REPLICATED, sizeof f.at);
    memset(f.position, 0, sizeof f.position);
    for (uint32_t a = 0; a < c->l->mesh->axis_count; a++) {
        if (cells[a].factor == NDA_NO_FACTOR)
            continue;
        const struct nda_factor *factor = &c->n->factors[space->factors + cells[a].factor];
        for (uint32_t i = 0; i < nda_atom_count(c->n, slot->value); i++)
            if (c->n->factor_of[slot->map + i] == cells[a].factor) {
                f.at[a] = (uint8_t)i;
                f.position[a] = cells[a].position;
            }
        if (f.at[a] == SPMD_REPLICATED && slot->is_result &&
            (factor->kind == NDA_CONTRACTING || (factor->kind == NDA_LOOKUP && lookup_is_partial)))
            f.at[a] = (uint8_t)(SPMD_PARTIAL + (factor->reducer ? factor->reducer : NDA_REDUCE_ADD));
    }
    return f;
}

static bool passes(const struct check *c, uint32_t op)
{
    const struct ir_program *p = c->n->program;

    switch (p->ops[op].code) {
    case IR_CONVERT: /* exact: what the devices' parts add up to is not rounded */
        return ir_element_widens((enum ir_element)ir_value_type(p, ir_operand(p, op, 0))->element,
                                 (enum ir_element)ir_value_type(p, ir_result(p, op, 0))->element);
    case IR_TRANSPOSE:
    case IR_RESHAPE:
    case IR_SLICE:
    case IR_NEGATE:
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_MULTIPLY:
    case IR_DIVIDE:
    case IR_SELECT:
    case IR_MAXIMUM:
    case IR_MINIMUM:
    case IR_AND:
    case IR_OR:
    case IR_REDUCE:
    case IR_BROADCAST_IN_DIM:
    case IR_DYNAMIC_UPDATE_SLICE: return true;
    default: return false;
    }
}

/* Operands partial on an axis: the op must be one that passes it, with enough of its operands partial
 * alike. */
static void check_passing(struct check *c, const struct spmd_step *s, uint32_t axis,
                          const struct plan_cell *cells)
{
    uint32_t partial = 0;
    uint8_t at = SPMD_REPLICATED;

    for (uint32_t i = 0; i < s->operand_count; i++)
        if (partial_at(operand(c, s, i)->form.at[axis])) {
            EXPECT(c, !partial || at == operand(c, s, i)->form.at[axis], "partials of two reducers meet");
            at = operand(c, s, i)->form.at[axis];
            partial |= 1u << i;
        }
    const struct spmd_form *result = &c->l->values[s->results].form;
    if (!partial)
        return;
    EXPECT(c, passes(c, s->op), "a partial goes into an op that does not pass it");
    EXPECT(c, s->result_count == 1 && result->at[axis] == at, "a partial is lost in an op");
    EXPECT(c, cells[axis].factor == NDA_NO_FACTOR, "an axis passes partial and shards");
    switch (c->n->program->ops[s->op].code) {
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_MAXIMUM:
    case IR_MINIMUM:
    case IR_AND:
    case IR_OR:
    case IR_DYNAMIC_UPDATE_SLICE: EXPECT(c, partial == 3, "partial + replicated"); break;
    case IR_MULTIPLY: EXPECT(c, partial == 1 || partial == 2, "partial x partial"); break;
    case IR_REDUCE:
    case IR_BROADCAST_IN_DIM:
        EXPECT(c, partial == 1 && operand(c, s, 0)->bytes == c->l->values[s->results].bytes,
               "a reduction or broadcast of partials");
        break;
    case IR_DIVIDE: EXPECT(c, partial == 1, "division by a partial"); break;
    case IR_SELECT: EXPECT(c, !(partial & 1), "partial predicate"); break;
    default: break;
    }
}

static void check_op(struct check *c, const struct spmd_step *s)
{
    const struct ir_program *p = c->n->program;
    const struct ir_op *op = &p->ops[s->op];
    uint32_t axes = c->l->mesh->axis_count;

    EXPECT(c, s->operand_count == op->operand_count && s->result_count == op->result_count,
           "operands or results");
    for (uint32_t i = 0; !c->failed && i < s->operand_count; i++)
        EXPECT(c, operand(c, s, i)->origin == ir_operand(p, s->op, i), "operand of another value");
    for (uint32_t i = 0; !c->failed && i < s->result_count; i++)
        EXPECT(c, c->l->values[s->results + i].origin == op->results + i, "result of another value");
    if (c->failed)
        return;
    if (s->cells == SPMD_NONE) {
        EXPECT(c, op->code == IR_OPTIMIZATION_BARRIER, "no cells");
        for (uint32_t i = 0; i < s->operand_count; i++)
            EXPECT(c, spmd_form_equal(&operand(c, s, i)->form, &c->l->values[s->results + i].form),
                   "barrier's forms");
        return;
    }
    const struct nda_space *space = &c->n->spaces[c->n->op_space[s->op]];
    const struct plan_cell *cells = c->l->cells + s->cells;
    enum ir_family family = ir_opcode_family((enum ir_opcode)op->code);
    bool lookup = family == IR_FAMILY_GATHER || family == IR_FAMILY_DYNAMIC_SLICE;
    for (uint32_t a = 0; a < axes; a++) {
        EXPECT(c,
               cells[a].factor == NDA_NO_FACTOR || c->n->factors[space->factors + cells[a].factor].shardable,
               "a factor that may not be sharded");
        check_passing(c, s, a, cells);
    }
    for (uint32_t k = 0; k < space->slot_count; k++) {
        const struct nda_slot *slot = &c->n->slots[space->slots + k];
        const struct spmd_form *have = slot->is_result ? &c->l->values[s->results + slot->operand].form
                                                       : &operand(c, s, slot->operand)->form;
        struct spmd_form f = cell_form(c, space, slot, cells, lookup);
        for (uint32_t a = 0; a < axes; a++) {
            bool passing = partial_at(have->at[a]) && f.at[a] == SPMD_REPLICATED;
            EXPECT(c, passing || (have->at[a] == f.at[a] && have->position[a] == f.position[a]),
                   "a slot is not in the form of the cells");
            if (passing && slot->is_result) {
                bool from_operand = false;
                for (uint32_t i = 0; i < s->operand_count; i++)
                    from_operand |= operand(c, s, i)->form.at[a] == have->at[a];
                EXPECT(c, from_operand, "a partial out of nothing");
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------- scopes */
static void open_region(struct check *c)
{
    EXPECT(c, c->depth + 1 < CHECK_MAX_DEPTH, "nesting");
    if (!c->failed)
        c->regions[++c->depth] = c->next_region++;
}

static void close_region(struct check *c)
{
    EXPECT(c, c->depth > 0, "an end without a begin");
    if (!c->failed)
        c->closed[c->regions[c->depth--]] = 1;
}

static void no_partials(struct check *c, const struct spmd_step *s)
{
    for (uint32_t i = 0; i < s->operand_count; i++)
        EXPECT(c, !has_partial(c, &operand(c, s, i)->form), "a partial leaves a region");
}

static void replicated_operand(struct check *c, const struct spmd_step *s)
{
    EXPECT(c, s->operand_count == 1, "one predicate");
    for (uint32_t a = 0; !c->failed && a < c->l->mesh->axis_count; a++)
        EXPECT(c, operand(c, s, 0)->form.at[a] == SPMD_REPLICATED, "predicate is not replicated");
}

static void same_forms(struct check *c, const struct spmd_step *s, uint32_t results)
{
    for (uint32_t i = 0; !c->failed && i < s->operand_count; i++)
        EXPECT(c, spmd_form_equal(&operand(c, s, i)->form, &c->l->values[results + i].form),
               "carried value's form");
}

static void check_kind(struct check *c, const struct spmd_step *s)
{
    const struct ir_op *op = &c->n->program->ops[s->op];

    EXPECT(c, !s->combined || spmd_step_is_collective(s), "combined step that is no collective");
    switch ((enum spmd_step_kind)s->kind) {
    case SPMD_OP: check_op(c, s); break;
    case SPMD_ALL_GATHER:
    case SPMD_ALL_REDUCE:
    case SPMD_REDUCE_SCATTER:
    case SPMD_ALL_TO_ALL:
    case SPMD_PERMUTE:
    case SPMD_SLICE: check_reshard(c, s); break;
    case SPMD_MASK: check_mask(c, s); break;
    case SPMD_LOOP:
        EXPECT(c, s->operand_count == op->operand_count && s->result_count == 2 * op->operand_count,
               "carried values");
        same_forms(c, s, s->results);
        same_forms(c, s, s->results + s->operand_count);
        break;
    case SPMD_LOOP_BODY:
    case SPMD_BRANCH: replicated_operand(c, s); break;
    case SPMD_LOOP_END:
        EXPECT(c, s->result_count == op->result_count, "results");
        same_forms(c, s, s->results);
        break;
    case SPMD_BRANCH_END:
        EXPECT(c, s->result_count == op->result_count, "results");
        same_forms(c, s, s->results);
        no_partials(c, s);
        break;
    case SPMD_BRANCH_NEXT:
        EXPECT(c, s->operand_count == op->result_count, "branch results");
        no_partials(c, s);
        break;
    case SPMD_RESULT:
        EXPECT(c, c->at + 1 == c->l->step_count && c->depth == 0, "the result is the last step");
        no_partials(c, s);
        break;
    }
}

static void check_step(struct check *c, const struct spmd_step *s)
{
    const struct spmd_local *l = c->l;
    enum spmd_step_kind kind = (enum spmd_step_kind)s->kind;

    EXPECT(c, s->op < c->n->program->op_count, "op out of range");
    EXPECT(c, (uint64_t)s->operands + s->operand_count <= l->operand_count, "operands out of range");
    EXPECT(c, (uint64_t)s->results + s->result_count <= l->value_count, "results out of range");
    for (uint32_t i = 0; !c->failed && i < s->operand_count; i++) {
        uint32_t v = spmd_operand(l, s, i);
        EXPECT(c, v < l->value_count && c->open[v] && !c->closed[c->open[v] - 1],
               "operand is not defined here");
    }
    if (c->failed)
        return;
    check_kind(c, s);
    if (kind == SPMD_LOOP_END || kind == SPMD_LOOP_BODY || kind == SPMD_BRANCH_NEXT ||
        kind == SPMD_BRANCH_END)
        close_region(c);
    EXPECT(c, s->depth == c->depth + (kind == SPMD_LOOP_BODY || kind == SPMD_BRANCH_NEXT), "depth");
    uint32_t outer = c->failed ? 0 : c->regions[c->depth];
    if (kind == SPMD_LOOP || kind == SPMD_LOOP_BODY || kind == SPMD_BRANCH || kind == SPMD_BRANCH_NEXT)
        open_region(c);
    for (uint32_t i = 0; !c->failed && i < s->result_count; i++) {
        uint32_t v = s->results + i;
        EXPECT(c, v >= l->argument_count && !c->open[v] && l->values[v].step == c->at,
               "a value of two steps");
        /* a loop's block arguments: seen by cond and body; the body's region comes later, so they belong
         * outside */
        c->open[v] = (kind == SPMD_LOOP ? outer : c->regions[c->depth]) + 1;
        check_form(c, &l->values[v]);
    }
}

enum error_code spmd_local_check(const struct spmd_local *l, struct error *e)
{
    struct check c = {.l = l, .n = l->nda, .next_region = 1, .e = e};

    if (!l->step_count || l->steps[l->step_count - 1].kind != SPMD_RESULT)
        return error_set(e, ERROR_INTERNAL, "Local program: does not end in a result");
    c.open = mem_zalloc(l->value_count + 1, sizeof *c.open);
    c.closed = mem_zalloc(l->step_count + 2, 1);
    for (uint32_t v = 0; v < l->argument_count; v++)
        c.open[v] = 1;
    for (c.at = 0; c.at < l->step_count && !c.failed; c.at++)
        check_step(&c, &l->steps[c.at]);
    c.at = l->step_count - 1;
    EXPECT(&c, c.depth == 0, "a region is not closed");
    for (uint32_t v = 0; v < l->value_count && !c.failed; v++)
        EXPECT(&c, c.open[v], "a value without a step");
    free(c.open);
    free(c.closed);
    return c.failed ? ERROR_INTERNAL : ERROR_OK;
}

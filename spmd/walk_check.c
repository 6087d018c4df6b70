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
    const struct spmd_local *local;
    const struct nda *n;
    /* per value: index of the region that defined it, +1; 0: not yet, or out of scope */
    uint32_t *open;
    uint32_t regions[CHECK_MAX_DEPTH], depth, next_region;
    uint8_t *closed; /* per region number */
    uint32_t at;
    struct error *e;
    bool failed;
};

static void fail(struct check *check, const char *what)
{
    struct text text = {0};

    if (check->failed)
        return;
    check->failed = true;
    const struct spmd_step *step = &check->local->steps[check->at];
    text_printf(&text, "step %u, %s", check->at, spmd_step_kind_name((enum spmd_step_kind)step->kind));
    if (step->op != SPMD_NONE)
        text_printf(&text, " of %s (line %u)", ir_op_name(check->n->program, step->op),
                    check->n->program->ops[step->op].line);
    (void)error_set(check->e, ERROR_INTERNAL, "Local program: %s: %s", text.at, what);
    text_release(&text);
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
static void check_whole(struct check *check, const struct spmd_value *value, uint32_t dim)
{
    const struct ir_type *type = ir_value_type(check->n->program, value->origin);
    const struct nda_atom *atoms = nda_atoms(check->n, value->origin);
    const struct mesh *mesh = check->local->mesh;
    int64_t shards = 1, outer = 1;

    if (type->kind != IR_TYPE_TENSOR || dim >= type->rank) {
        fail(check, "whole dim out of range");
        return;
    }
    for (uint32_t i = 0; i < nda_atom_count(check->n, value->origin); i++) {
        int64_t here = 1;
        for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
            if (value->form.at[axis] == i && atoms[i].dim == dim)
                here *= mesh->axes[axis].size;
        if (atoms[i].dim != dim)
            continue;
        EXPECT(check, here == 1 || outer == 1, "a whole dim is cut that is not in one block");
        outer *= atoms[i].size / here;
        shards *= here;
    }
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        shards *= value->form.at[axis] == SPMD_WHOLE + dim ? mesh->axes[axis].size : 1;
    EXPECT(check, ir_type_dims(check->n->program, type)[dim] % shards == 0, "whole dim does not divide");
}

static void check_form(struct check *check, const struct spmd_value *value)
{
    const struct spmd_form *form = &value->form;
    uint32_t count = nda_atom_count(check->n, value->origin), axes = check->local->mesh->axis_count;

    for (uint32_t axis = 0; axis < MESH_MAX_AXES; axis++) {
        if (axis >= axes || form->at[axis] >= SPMD_PARTIAL) {
            EXPECT(check, form->position[axis] == 0, "position of an axis that is on no atom");
            EXPECT(check, axis < axes || form->at[axis] == SPMD_REPLICATED, "axis beyond the mesh");
            EXPECT(check, form->at[axis] == SPMD_REPLICATED || form->at[axis] - SPMD_PARTIAL <= NDA_REDUCE_OR,
                   "unknown reducer");
            EXPECT(check, form->at[axis] != SPMD_PARTIAL, "partial without a reducer");
            continue;
        }
        if (form->at[axis] >= count && !spmd_is_whole(form->at[axis])) {
            fail(check, "atom out of range");
            return;
        }
        int64_t shards = 1;
        uint32_t on = 0, seen = 0;
        for (uint32_t b = 0; b < axes; b++)
            if (form->at[b] == form->at[axis]) {
                shards *= check->local->mesh->axes[b].size;
                on++;
                seen |= 1u << form->position[b];
            }
        EXPECT(check, seen == (1u << on) - 1, "positions on an atom are not 0 ..");
        if (spmd_is_whole(form->at[axis]))
            check_whole(check, value, form->at[axis] - SPMD_WHOLE);
        else
            EXPECT(check, nda_atoms(check->n, value->origin)[form->at[axis]].size % shards == 0,
                   "atom does not divide");
    }
    EXPECT(check, value->bytes == spmd_local_bytes(check->n, check->local->mesh, value->origin, form),
           "bytes of a value");
}

static const struct spmd_value *operand(struct check *check, const struct spmd_step *step, uint32_t i)
{
    return spmd_operand_value(check->local, step, i);
}

static bool has_partial(const struct check *check, const struct spmd_form *form)
{
    for (uint32_t axis = 0; axis < check->local->mesh->axis_count; axis++)
        if (partial_at(form->at[axis]))
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------- one step */
/* What a reshard does to the form of its operand, axis by axis. */
static void check_reshard(struct check *check, const struct spmd_step *step)
{
    EXPECT(check, step->operand_count == 1 && step->result_count == 1,
           "a reshard has one operand and one result");
    if (check->failed)
        return;
    const struct spmd_value *from = operand(check, step, 0), *to = &check->local->values[step->results];
    struct spmd_form form = from->form;
    uint32_t axes = check->local->mesh->axis_count;

    EXPECT(check, from->origin == to->origin, "origin changes");
    EXPECT(check, step->axis_count > 0, "no axes");
    /* boundary forms leave by gathers, come by slices; or exchanges */
    for (uint32_t axis = 0; axis < axes; axis++)
        EXPECT(
            check,
            !spmd_is_whole(form.at[axis]) ||
                ((step->kind == SPMD_ALL_GATHER || step->kind == SPMD_ALL_TO_ALL) &&
                 spmd_is_whole(step->atom)) ||
                ((step->kind == SPMD_SLICE || step->kind == SPMD_ALL_TO_ALL) && spmd_is_whole(step->to_atom)),
            "a reshard of a whole dim's blocks");
    if (step->kind == SPMD_PERMUTE) {
        for (uint32_t atom = 0; atom < nda_atom_count(check->n, from->origin); atom++) {
            int64_t a = 1, b = 1;
            for (uint32_t i = 0; i < axes; i++) {
                a *= form.at[i] == atom ? check->local->mesh->axes[i].size : 1;
                b *= to->form.at[i] == atom ? check->local->mesh->axes[i].size : 1;
            }
            EXPECT(check, a == b, "a permute changes local sizes");
        }
        for (uint32_t i = 0; i < axes; i++)
            EXPECT(check, !spmd_is_whole(form.at[i]) && !spmd_is_whole(to->form.at[i]),
                   "a permute of whole dims");
        for (uint32_t i = 0; i < axes; i++)
            EXPECT(check,
                   (form.at[i] < SPMD_PARTIAL) == (to->form.at[i] < SPMD_PARTIAL) &&
                       (form.at[i] < SPMD_PARTIAL || form.at[i] == to->form.at[i]),
                   "a permute changes which axes shard");
        return;
    }
    bool leaves = step->kind == SPMD_ALL_GATHER || step->kind == SPMD_ALL_TO_ALL;
    bool enters =
        step->kind == SPMD_ALL_TO_ALL || step->kind == SPMD_SLICE || step->kind == SPMD_REDUCE_SCATTER;
    for (uint32_t k = step->axis_count; k-- > 0;) {
        uint8_t a = step->axes[k];
        if (leaves) {
            EXPECT(check, form.at[a] == step->atom, "axis is not on the atom that it leaves");
            for (uint32_t axis = 0; axis < axes; axis++)
                EXPECT(check, form.at[axis] != form.at[a] || form.position[axis] <= form.position[a],
                       "axis is not minor-most");
        } else if (step->kind == SPMD_SLICE) {
            EXPECT(check, form.at[a] == SPMD_REPLICATED, "sliced axis is not replicated");
        } else {
            EXPECT(check, form.at[a] == SPMD_PARTIAL + step->reducer,
                   "reduced axis is not partial by the reducer");
        }
        form.at[a] = SPMD_REPLICATED;
        form.position[a] = 0;
    }
    for (uint32_t k = 0; enters && k < step->axis_count; k++) {
        uint8_t position = 0;
        for (uint32_t axis = 0; axis < axes; axis++)
            position += form.at[axis] == step->to_atom;
        form.at[step->axes[k]] = step->to_atom;
        form.position[step->axes[k]] = position;
    }
    EXPECT(check, spmd_form_equal(&form, &to->form), "result is not in the form that the step gives");
}

/* Replicated axes become partial: of a sum only where the value is zero elsewhere, of a product where it
 * is one. */
static void check_mask(struct check *check, const struct spmd_step *step)
{
    EXPECT(check, step->operand_count == 1 && step->result_count == 1 && step->axis_count > 0,
           "a mask has one operand and one result");
    if (check->failed)
        return;
    const struct spmd_value *from = operand(check, step, 0), *to = &check->local->values[step->results];
    struct spmd_form form = from->form;

    EXPECT(check, from->origin == to->origin, "origin changes");
    EXPECT(check,
           step->mask_initial ? step->reducer == NDA_REDUCE_ADD || step->reducer == NDA_REDUCE_MULTIPLY
                              : step->reducer != NDA_REDUCE_MULTIPLY,
           "masked for a reducer that counts as often as it likes, or not for a product");
    for (uint32_t k = 0; k < step->axis_count; k++) {
        EXPECT(check, form.at[step->axes[k]] == SPMD_REPLICATED, "masked axis is not replicated");
        form.at[step->axes[k]] = (uint8_t)(SPMD_PARTIAL + step->reducer);
    }
    EXPECT(check, spmd_form_equal(&form, &to->form), "result is not in the form that the step gives");
}

/* Form that an op's cells give a slot; `partial` where a factor is missing in a result. */
static struct spmd_form cell_form(const struct check *check, const struct nda_space *space,
                                  const struct nda_slot *slot, const struct plan_cell *cells,
                                  bool lookup_is_partial)
{
    struct spmd_form form;

    memset(form.at, SPMD_REPLICATED, sizeof form.at);
    memset(form.position, 0, sizeof form.position);
    for (uint32_t axis = 0; axis < check->local->mesh->axis_count; axis++) {
        if (cells[axis].factor == NDA_NO_FACTOR)
            continue;
        const struct nda_factor *factor = &check->n->factors[space->factors + cells[axis].factor];
        for (uint32_t i = 0; i < nda_atom_count(check->n, slot->value); i++)
            if (check->n->factor_of[slot->map + i] == cells[axis].factor) {
                form.at[axis] = (uint8_t)i;
                form.position[axis] = cells[axis].position;
            }
        if (form.at[axis] == SPMD_REPLICATED && slot->is_result &&
            (factor->kind == NDA_CONTRACTING || (factor->kind == NDA_LOOKUP && lookup_is_partial)))
            form.at[axis] = (uint8_t)(SPMD_PARTIAL + (factor->reducer ? factor->reducer : NDA_REDUCE_ADD));
    }
    return form;
}

static bool passes(const struct check *check, uint32_t op)
{
    const struct ir_program *program = check->n->program;

    switch (program->ops[op].code) {
    case IR_CONVERT: /* exact: what the devices' parts add up to is not rounded */
        return ir_element_widens((enum ir_element)ir_value_type(program, ir_operand(program, op, 0))->element,
                                 (enum ir_element)ir_value_type(program, ir_result(program, op, 0))->element);
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
static void check_passing(struct check *check, const struct spmd_step *step, uint32_t axis,
                          const struct plan_cell *cells)
{
    uint32_t partial = 0;
    uint8_t at = SPMD_REPLICATED;

    for (uint32_t i = 0; i < step->operand_count; i++)
        if (partial_at(operand(check, step, i)->form.at[axis])) {
            EXPECT(check, !partial || at == operand(check, step, i)->form.at[axis],
                   "partials of two reducers meet");
            at = operand(check, step, i)->form.at[axis];
            partial |= 1u << i;
        }
    const struct spmd_form *result = &check->local->values[step->results].form;
    if (!partial)
        return;
    EXPECT(check, passes(check, step->op), "a partial goes into an op that does not pass it");
    EXPECT(check, step->result_count == 1 && result->at[axis] == at, "a partial is lost in an op");
    EXPECT(check, cells[axis].factor == NDA_NO_FACTOR, "an axis passes partial and shards");
    switch (check->n->program->ops[step->op].code) {
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_MAXIMUM:
    case IR_MINIMUM:
    case IR_AND:
    case IR_OR:
    case IR_DYNAMIC_UPDATE_SLICE: EXPECT(check, partial == 3, "partial + replicated"); break;
    case IR_MULTIPLY: EXPECT(check, partial == 1 || partial == 2, "partial x partial"); break;
    case IR_REDUCE:
    case IR_BROADCAST_IN_DIM:
        EXPECT(check,
               partial == 1 && operand(check, step, 0)->bytes == check->local->values[step->results].bytes,
               "a reduction or broadcast of partials");
        break;
    case IR_DIVIDE: EXPECT(check, partial == 1, "division by a partial"); break;
    case IR_SELECT: EXPECT(check, !(partial & 1), "partial predicate"); break;
    default: break;
    }
}

static void check_op(struct check *check, const struct spmd_step *step)
{
    const struct ir_program *program = check->n->program;
    const struct ir_op *op = &program->ops[step->op];
    uint32_t axes = check->local->mesh->axis_count;

    EXPECT(check, step->operand_count == op->operand_count && step->result_count == op->result_count,
           "operands or results");
    for (uint32_t i = 0; !check->failed && i < step->operand_count; i++)
        EXPECT(check, operand(check, step, i)->origin == ir_operand(program, step->op, i),
               "operand of another value");
    for (uint32_t i = 0; !check->failed && i < step->result_count; i++)
        EXPECT(check, check->local->values[step->results + i].origin == op->results + i,
               "result of another value");
    if (check->failed)
        return;
    if (step->cells == SPMD_NONE) {
        EXPECT(check, op->code == IR_OPTIMIZATION_BARRIER, "no cells");
        for (uint32_t i = 0; i < step->operand_count; i++)
            EXPECT(check,
                   spmd_form_equal(&operand(check, step, i)->form,
                                   &check->local->values[step->results + i].form),
                   "barrier's forms");
        return;
    }
    const struct nda_space *space = &check->n->spaces[check->n->op_space[step->op]];
    const struct plan_cell *cells = check->local->cells + step->cells;
    enum ir_family family = ir_opcode_family((enum ir_opcode)op->code);
    bool lookup = family == IR_FAMILY_GATHER || family == IR_FAMILY_DYNAMIC_SLICE;
    for (uint32_t axis = 0; axis < axes; axis++) {
        EXPECT(check,
               cells[axis].factor == NDA_NO_FACTOR ||
                   check->n->factors[space->factors + cells[axis].factor].shardable,
               "a factor that may not be sharded");
        check_passing(check, step, axis, cells);
    }
    for (uint32_t k = 0; k < space->slot_count; k++) {
        const struct nda_slot *slot = &check->n->slots[space->slots + k];
        const struct spmd_form *have = slot->is_result
                                           ? &check->local->values[step->results + slot->operand].form
                                           : &operand(check, step, slot->operand)->form;
        struct spmd_form form = cell_form(check, space, slot, cells, lookup);
        for (uint32_t axis = 0; axis < axes; axis++) {
            bool passing = partial_at(have->at[axis]) && form.at[axis] == SPMD_REPLICATED;
            EXPECT(check,
                   passing ||
                       (have->at[axis] == form.at[axis] && have->position[axis] == form.position[axis]),
                   "a slot is not in the form of the cells");
            if (passing && slot->is_result) {
                bool from_operand = false;
                for (uint32_t i = 0; i < step->operand_count; i++)
                    from_operand |= operand(check, step, i)->form.at[axis] == have->at[axis];
                EXPECT(check, from_operand, "a partial out of nothing");
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------- scopes */
static void open_region(struct check *check)
{
    EXPECT(check, check->depth + 1 < CHECK_MAX_DEPTH, "nesting");
    if (!check->failed)
        check->regions[++check->depth] = check->next_region++;
}

static void close_region(struct check *check)
{
    EXPECT(check, check->depth > 0, "an end without a begin");
    if (!check->failed)
        check->closed[check->regions[check->depth--]] = 1;
}

static void no_partials(struct check *check, const struct spmd_step *step)
{
    for (uint32_t i = 0; i < step->operand_count; i++)
        EXPECT(check, !has_partial(check, &operand(check, step, i)->form), "a partial leaves a region");
}

static void replicated_operand(struct check *check, const struct spmd_step *step)
{
    EXPECT(check, step->operand_count == 1, "one predicate");
    for (uint32_t axis = 0; !check->failed && axis < check->local->mesh->axis_count; axis++)
        EXPECT(check, operand(check, step, 0)->form.at[axis] == SPMD_REPLICATED,
               "predicate is not replicated");
}

static void same_forms(struct check *check, const struct spmd_step *step, uint32_t results)
{
    for (uint32_t i = 0; !check->failed && i < step->operand_count; i++)
        EXPECT(check,
               spmd_form_equal(&operand(check, step, i)->form, &check->local->values[results + i].form),
               "carried value's form");
}

static void check_kind(struct check *check, const struct spmd_step *step)
{
    const struct ir_op *op = &check->n->program->ops[step->op];

    EXPECT(check, !step->combined || spmd_step_is_collective(step), "combined step that is no collective");
    switch ((enum spmd_step_kind)step->kind) {
    case SPMD_OP: check_op(check, step); break;
    case SPMD_ALL_GATHER:
    case SPMD_ALL_REDUCE:
    case SPMD_REDUCE_SCATTER:
    case SPMD_ALL_TO_ALL:
    case SPMD_PERMUTE:
    case SPMD_SLICE: check_reshard(check, step); break;
    case SPMD_MASK: check_mask(check, step); break;
    case SPMD_LOOP:
        EXPECT(check, step->operand_count == op->operand_count && step->result_count == 2 * op->operand_count,
               "carried values");
        same_forms(check, step, step->results);
        same_forms(check, step, step->results + step->operand_count);
        break;
    case SPMD_LOOP_BODY:
    case SPMD_BRANCH: replicated_operand(check, step); break;
    case SPMD_LOOP_END:
        EXPECT(check, step->result_count == op->result_count, "results");
        same_forms(check, step, step->results);
        break;
    case SPMD_BRANCH_END:
        EXPECT(check, step->result_count == op->result_count, "results");
        same_forms(check, step, step->results);
        no_partials(check, step);
        break;
    case SPMD_BRANCH_NEXT:
        EXPECT(check, step->operand_count == op->result_count, "branch results");
        no_partials(check, step);
        break;
    case SPMD_RESULT:
        EXPECT(check, check->at + 1 == check->local->step_count && check->depth == 0,
               "the result is the last step");
        no_partials(check, step);
        break;
    }
}

static void check_step(struct check *check, const struct spmd_step *step)
{
    const struct spmd_local *local = check->local;
    enum spmd_step_kind kind = (enum spmd_step_kind)step->kind;

    EXPECT(check, step->op < check->n->program->op_count, "op out of range");
    EXPECT(check, (uint64_t)step->operands + step->operand_count <= local->operand_count,
           "operands out of range");
    EXPECT(check, (uint64_t)step->results + step->result_count <= local->value_count, "results out of range");
    for (uint32_t i = 0; !check->failed && i < step->operand_count; i++) {
        uint32_t value = spmd_operand(local, step, i);
        EXPECT(check,
               value < local->value_count && check->open[value] && !check->closed[check->open[value] - 1],
               "operand is not defined here");
    }
    if (check->failed)
        return;
    check_kind(check, step);
    if (kind == SPMD_LOOP_END || kind == SPMD_LOOP_BODY || kind == SPMD_BRANCH_NEXT ||
        kind == SPMD_BRANCH_END)
        close_region(check);
    EXPECT(check, step->depth == check->depth + (kind == SPMD_LOOP_BODY || kind == SPMD_BRANCH_NEXT),
           "depth");
    uint32_t outer = check->failed ? 0 : check->regions[check->depth];
    if (kind == SPMD_LOOP || kind == SPMD_LOOP_BODY || kind == SPMD_BRANCH || kind == SPMD_BRANCH_NEXT)
        open_region(check);
    for (uint32_t i = 0; !check->failed && i < step->result_count; i++) {
        uint32_t value = step->results + i;
        EXPECT(check,
               value >= local->argument_count && !check->open[value] &&
                   local->values[value].step == check->at,
               "a value of two steps");
        /* a loop's block arguments: seen by cond and body; the body's region comes later, so they belong
         * outside */
        check->open[value] = (kind == SPMD_LOOP ? outer : check->regions[check->depth]) + 1;
        check_form(check, &local->values[value]);
    }
}

enum error_code spmd_local_check(const struct spmd_local *local, struct error *e)
{
    struct check check = {.local = local, .n = local->nda, .next_region = 1, .e = e};

    if (!local->step_count || local->steps[local->step_count - 1].kind != SPMD_RESULT)
        return error_set(e, ERROR_INTERNAL, "Local program: does not end in a result");
    check.open = mem_zalloc(local->value_count + 1, sizeof *check.open);
    check.closed = mem_zalloc(local->step_count + 2, 1);
    for (uint32_t argument = 0; argument < local->argument_count; argument++)
        check.open[argument] = 1;
    for (check.at = 0; check.at < local->step_count && !check.failed; check.at++)
        check_step(&check, &local->steps[check.at]);
    check.at = local->step_count - 1;
    EXPECT(&check, check.depth == 0, "a region is not closed");
    for (uint32_t value = 0; value < local->value_count && !check.failed; value++)
        EXPECT(&check, check.open[value], "a value without a step");
    free(check.open);
    free(check.closed);
    return check.failed ? ERROR_INTERNAL : ERROR_OK;
}

/* A grouped convolution's operands are looked at one by one: which axes cut pieces within a dim, and which
 * ones neither operand has while others split the batch that is summed over. */
#include "emit/grouped.h"

#include "emit/lower.h"
#include "spmd/constraints.h"

#include <stdlib.h>

static bool holds(const struct emit_axes *axes, uint8_t axis)
{
    for (uint8_t i = 0; i < axes->count; i++)
        if (axes->at[i] == axis)
            return true;
    return false;
}

/* axes that shard inner pieces of a dim */
static void add_axes_of_pieces(const struct emit *e, uint32_t value, struct emit_axes *axes)
{
    const struct spmd_value *spmd_value = &e->local->values[value];
    for (uint32_t axis = 0; axis < e->mesh->axis_count; axis++) {
        if (holds(axes, (uint8_t)axis) || spmd_value->form.at[axis] >= SPMD_WHOLE)
            continue;
        uint32_t dim = nda_atoms(e->nda, spmd_value->origin)[spmd_value->form.at[axis]].dim;
        if (!emit_layout(e, spmd_value->origin, &spmd_value->form, dim).contiguous)
            axes->at[axes->count++] = (uint8_t)axis;
    }
}

struct spmd_form grouped_form(const struct emit *e, uint32_t value, const struct grouped *grouped)
{
    struct spmd_form form = e->local->values[value].form;
    uint8_t at = form.at[grouped->batch], position = 0;
    for (uint8_t i = 0; i < grouped->whole.count; i++)
        form.at[grouped->whole.at[i]] = SPMD_REPLICATED;
    for (uint8_t axis = 0; axis < e->mesh->axis_count; axis++)
        if (form.at[axis] == at && form.position[axis] >= position)
            position = (uint8_t)(form.position[axis] + 1);
    for (uint8_t i = 0; i < grouped->added.count; i++) {
        form.at[grouped->added.at[i]] = at;
        form.position[grouped->added.at[i]] = position++;
    }
    return form;
}

/* can each operand's batch be split over the added axes as well? */
static bool divides_batch(const struct emit *e, const struct spmd_step *step, const struct grouped *grouped)
{
    uint8_t batch = grouped->batch;
    for (uint32_t i = 0; i < step->operand_count; i++) {
        uint32_t value = spmd_operand(e->local, step, i), origin = e->local->values[value].origin;
        struct spmd_form form = e->local->values[value].form;
        if (form.at[batch] >= SPMD_WHOLE)
            return false;
        const struct nda_atom *atom = &nda_atoms(e->nda, origin)[form.at[batch]];
        form = grouped_form(e, value, grouped);
        int64_t devices = 1;
        for (uint8_t axis = 0; axis < e->mesh->axis_count; axis++)
            devices *= form.at[axis] == form.at[batch] ? e->mesh->axes[axis].size : 1;
        if (atom->size % devices != 0 || !emit_layout(e, origin, &form, atom->dim).contiguous)
            return false;
    }
    return step->operand_count > 0;
}

struct grouped grouped_of(const struct emit *e, const struct spmd_step *step)
{
    struct grouped out = {.whole.count = 0};
    if (step->kind != SPMD_OP || e->program->ops[step->op].code != IR_CONVOLUTION)
        return out;
    bool sums = ir_int(e->program, step->op, "batch_group_count", 1) > 1;
    if (!sums && ir_int(e->program, step->op, "feature_group_count", 1) == 1)
        return out;
    for (uint32_t i = 0; i < step->operand_count; i++)
        add_axes_of_pieces(e, spmd_operand(e->local, step, i), &out.whole);
    for (uint32_t i = 0; i < step->result_count; i++)
        add_axes_of_pieces(e, step->results + i, &out.whole);
    struct emit_axes batch = sums ? lower_contracting_axes(e, step) : (struct emit_axes){.count = 0};
    for (uint8_t i = 0; i < batch.count; i++)
        if (holds(&out.whole, batch.at[i]))
            batch.at[i--] = batch.at[--batch.count];
    out.batch = batch.at[0];
    for (uint8_t axis = 0; axis < e->mesh->axis_count && batch.count; axis++) {
        bool busy = e->mesh->axes[axis].size < 2;
        for (uint32_t i = 0; i < step->operand_count; i++)
            busy |= e->local->values[spmd_operand(e->local, step, i)].form.at[axis] < SPMD_WHOLE;
        if (!busy || holds(&out.whole, axis))
            out.added.at[out.added.count++] = axis;
    }
    if (out.added.count && !divides_batch(e, step, &out)) {
        out.added.count = 0;
        for (uint8_t i = 0; i < batch.count; i++)
            out.whole.at[out.whole.count++] = batch.at[i];
    }
    return out;
}

/* ---------------------------------------------------------------- for lists of constraints */
/* operand i's slot of the op's space; NDA_NONE */
static uint32_t slot_of_operand(const struct nda *n, uint32_t op, uint32_t i)
{
    uint32_t space = n->op_space[op];
    for (uint32_t k = 0; space != NDA_NONE && k < n->spaces[space].slot_count; k++) {
        const struct nda_slot *slot = &n->slots[n->spaces[space].slots + k];
        if (!slot->is_result && slot->operand == i)
            return n->spaces[space].slots + k;
    }
    return NDA_NONE;
}

bool spmd_emit_has_groups(const struct ir_program *program)
{
    for (uint32_t op = 0; op < program->op_count; op++)
        if (program->ops[op].code == IR_CONVOLUTION && (ir_int(program, op, "batch_group_count", 1) > 1 ||
                                                        ir_int(program, op, "feature_group_count", 1) > 1))
            return true;
    return false;
}

struct list {
    struct propagate_constraint *at;
    uint32_t count;
};

/* A use of which the list says something is no use of its any more; true: it has none left. */
static bool lose_use(struct propagate_constraint *constraint, uint32_t use)
{
    uint32_t *uses = (uint32_t *)(uintptr_t)constraint->uses, left = 0;
    for (uint32_t i = 0; i < constraint->use_count; i++)
        if (uses[i] != use)
            uses[left++] = uses[i];
    bool lost = uses && left < constraint->use_count && !left;
    constraint->use_count = left;
    return lost;
}

/* the list and behind it what grouped convolutions need, whatever else is said of those operands */
static void add_grouped(struct spmd_constraints *list, const struct list *grouped)
{
    uint32_t count = 0;
    list->list = mem_realloc(list->list, (size_t)list->count + grouped->count + 1, sizeof *list->list);
    for (uint32_t i = 0; i < list->count; i++) {
        bool gone = false;
        for (uint32_t k = 0; k < grouped->count && !gone; k++)
            gone = lose_use(&list->list[i], grouped->at[k].uses[0]);
        if (gone)
            free((void *)(uintptr_t)list->list[i].uses);
        else
            list->list[count++] = list->list[i];
    }
    for (uint32_t k = 0; k < grouped->count; k++)
        list->list[count++] = grouped->at[k];
    list->count = count;
}

static struct list list_operands(const struct emit *e)
{
    VEC(struct propagate_constraint) list = {0};
    for (uint32_t k = 0; k < e->local->step_count; k++) {
        const struct spmd_step *step = &e->local->steps[k];
        struct grouped grouped = grouped_of(e, step);
        for (uint32_t i = 0; grouped_is_other(&grouped) && i < step->operand_count; i++) {
            uint32_t value = spmd_operand(e->local, step, i), slot = slot_of_operand(e->nda, step->op, i);
            uint32_t origin = e->local->values[value].origin;
            struct spmd_form form = grouped_form(e, value, &grouped);
            struct plan_sharding sharding;
            if (slot == NDA_NONE || !spmd_form_sharding(e->nda, e->mesh, origin, &form, &sharding))
                continue; /* no PartitionSpec says it */
            uint32_t *uses = mem_alloc(sizeof *uses);
            *uses = slot;
            VEC_PUSH(&list, ((struct propagate_constraint){origin, form, uses, 1, -1}));
        }
    }
    return (struct list){list.at, (uint32_t)list.count};
}

uint32_t grouped_add(const struct emit *e, struct spmd_constraints *list)
{
    struct list grouped = list_operands(e);
    if (grouped.count)
        add_grouped(list, &grouped);
    free(grouped.at);
    return grouped.count;
}

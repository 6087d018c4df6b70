/* Forms: from cells to forms and back, local sizes, the boundary's contiguous blocks. */
#include "spmd/walk.h"

#include <string.h>

const struct spmd_form spmd_form_none = {
    {SPMD_REPLICATED, SPMD_REPLICATED, SPMD_REPLICATED, SPMD_REPLICATED, SPMD_REPLICATED, SPMD_REPLICATED,
     SPMD_REPLICATED, SPMD_REPLICATED},
    {0},
};

bool spmd_form_equal(const struct spmd_form *one, const struct spmd_form *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

void spmd_local_dims(const struct nda *n, const struct mesh *mesh, uint32_t origin,
                     const struct spmd_form *form, int64_t *dims)
{
    const struct ir_type *type = ir_value_type(n->program, origin);
    const int64_t *sizes = ir_type_dims(n->program, type);
    const struct nda_atom *atoms = nda_atoms(n, origin);

    for (uint32_t dim = 0; dim < type->rank; dim++)
        dims[dim] = sizes[dim];
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (form->at[axis] < SPMD_PARTIAL)
            dims[spmd_is_whole(form->at[axis]) ? form->at[axis] - SPMD_WHOLE : atoms[form->at[axis]].dim] /=
                mesh->axes[axis].size;
}

int64_t spmd_local_bytes(const struct nda *n, const struct mesh *mesh, uint32_t origin,
                         const struct spmd_form *form)
{
    const struct ir_type *type = ir_value_type(n->program, origin);
    int64_t bytes = type->kind == IR_TYPE_TENSOR ? ir_type_bytes(n->program, type) : 0;

    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (form->at[axis] < SPMD_PARTIAL)
            bytes /= mesh->axes[axis].size;
    return bytes;
}

int64_t walk_bytes(const struct walk *walk, uint32_t origin, const struct spmd_form *form)
{
    int64_t bytes = walk->table->value_bytes[origin], shards = 1;

    if (walk_form_is_none(form))
        return bytes;
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        if (form->at[axis] < SPMD_PARTIAL)
            shards *= walk->size[axis];
    /* mostly a power of two: a division takes as long as all the rest */
    return shards & (shards - 1) ? bytes / shards : bytes >> __builtin_ctzll((uint64_t)shards);
}

uint32_t walk_partial_mask(const struct spmd_form *form, uint32_t axes)
{
    uint32_t mask = 0;

    if (walk_form_is_none(form))
        return 0;
    for (uint32_t axis = 0; axis < axes; axis++)
        if (form->at[axis] >= SPMD_PARTIAL && form->at[axis] != SPMD_REPLICATED)
            mask |= 1u << axis;
    return mask;
}

void walk_form_unwhole(struct spmd_form *form, uint32_t axes)
{
    for (uint32_t axis = 0; axis < axes; axis++)
        if (spmd_is_whole(form->at[axis])) {
            form->at[axis] = SPMD_REPLICATED;
            form->position[axis] = 0;
        }
}

void walk_form_drop(struct spmd_form *form, uint32_t axes, uint32_t axis)
{
    uint8_t at = form->at[axis], position = form->position[axis];

    form->at[axis] = SPMD_REPLICATED;
    form->position[axis] = 0;
    if (at >= SPMD_PARTIAL)
        return;
    for (uint32_t axis = 0; axis < axes; axis++)
        if (form->at[axis] == at && form->position[axis] > position)
            form->position[axis]--;
}

void walk_drop_cell(const struct walk *walk, struct plan_cell *cells, uint32_t axis)
{
    uint8_t factor = cells[axis].factor, position = cells[axis].position;

    cells[axis] = (struct plan_cell){NDA_NO_FACTOR, 0};
    if (factor == NDA_NO_FACTOR)
        return;
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        if (cells[axis].factor == factor && cells[axis].position > position)
            cells[axis].position--;
}

void walk_result_form(const struct walk *walk, uint32_t op, uint32_t slot, const struct plan_cell *cells,
                      struct spmd_form *form)
{
    const struct walk_op *walk_op = &walk->table->ops[op];

    walk_slot_form(walk, slot, cells, form);
    for (uint32_t axis = 0; axis < walk->axes; axis++) {
        if (cells[axis].factor == NDA_NO_FACTOR || form->at[axis] != SPMD_REPLICATED)
            continue;
        uint32_t index = walk->nda->spaces[walk_op->space].factors + cells[axis].factor;
        if (walk->table->factor_ok[index] & WALK_FACTOR_PARALLEL)
            continue;
        const struct nda_factor *factor = &walk->nda->factors[index];
        if (factor->kind == NDA_CONTRACTING)
            form->at[axis] = (uint8_t)(SPMD_PARTIAL + factor->reducer);
        else if (factor->kind == NDA_LOOKUP && (walk_op->flags & WALK_PARTIAL_LOOKUP))
            form->at[axis] = (uint8_t)(SPMD_PARTIAL + (factor->reducer ? factor->reducer : NDA_REDUCE_ADD));
    }
}

/* An axis is missed with all others on its atom, so that the positions of the rest stay as they are. */
uint32_t walk_cells_for(const struct walk *walk, uint32_t op, uint32_t slot, const struct spmd_form *form,
                        struct plan_cell *cells)
{
    uint32_t missed = 0;

    if (walk_form_is_none(form)) {
        for (uint32_t axis = 0; axis < walk->axes; axis++)
            cells[axis] = (struct plan_cell){NDA_NO_FACTOR, 0};
        return 0;
    }
    const struct nda_space *space = &walk->nda->spaces[walk->table->ops[op].space];
    const uint8_t *map = walk->nda->factor_of + walk->table->slots[slot].map;

    for (uint32_t axis = 0; axis < walk->axes; axis++) {
        cells[axis] = (struct plan_cell){NDA_NO_FACTOR, 0};
        if (form->at[axis] == SPMD_REPLICATED)
            continue;
        uint8_t factor = form->at[axis] < SPMD_WHOLE ? map[form->at[axis]] : NDA_NO_FACTOR;
        if (factor == NDA_NO_FACTOR ||
            !(walk->table->factor_ok[space->factors + factor] & WALK_FACTOR_PARALLEL))
            missed |= 1u << axis;
        else
            cells[axis] = (struct plan_cell){factor, form->position[axis]};
    }
    return missed;
}

/* ------------------------------------------------------------------------------------------- the boundary */
/* Axes of each dim, major first, are placed on the dim's atoms from the outermost: the next atom is only
 * used when the ones outside it are used up (else the blocks would not be contiguous). From the first that
 * finds no place so, they are placed on the whole dim. */
void spmd_boundary_form(const struct plan_context *context, const struct plan *plan, uint32_t space,
                        struct spmd_form *out)
{
    const struct nda *n = plan_context_nda(context);
    const struct mesh *mesh = plan_context_mesh(context);
    struct plan_sharding sharding;
    uint32_t value = n->slots[n->spaces[space].slots].value;
    uint32_t count = nda_atom_count(n, value);
    const struct nda_atom *atoms = nda_atoms(n, value);

    *out = spmd_form_none;
    const struct plan_cell *cells = plan_space(plan, space);
    bool any = false;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        any |= cells[axis].factor != NDA_NO_FACTOR;
    if (!any)
        return;
    plan_boundary_sharding(context, plan, space, &sharding);
    for (uint32_t dim = 0; dim < sharding.rank; dim++) {
        uint32_t atom = 0;
        while (atom < count && atoms[atom].dim != dim)
            atom++;
        int64_t left = atom < count ? atoms[atom].size : 1;
        uint8_t position = 0;
        bool whole = false;
        for (uint32_t i = 0; i < sharding.dims[dim].count; i++) {
            uint8_t axis = sharding.dims[dim].axes[i];
            int64_t size = mesh->axes[axis].size;
            while (!whole && left == 1 && atom + 1 < count && atoms[atom + 1].dim == dim) {
                left = atoms[++atom].size;
                position = 0;
            }
            if (!whole && left % size != 0) {
                whole = true;
                position = 0;
            }
            out->at[axis] = (uint8_t)(whole ? SPMD_WHOLE + dim : atom);
            out->position[axis] = position++;
            left = whole ? left : left / size;
        }
    }
}

int64_t spmd_atom_devices(const struct spmd_local *local, uint32_t value, uint32_t atom)
{
    const struct spmd_value *of = &local->values[value];
    uint32_t dim = nda_atoms(local->nda, of->origin)[atom].dim;
    int64_t devices = 1;
    for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++)
        if (of->form.at[axis] == atom || of->form.at[axis] == SPMD_WHOLE + dim)
            devices *= local->mesh->axes[axis].size;
    return devices;
}

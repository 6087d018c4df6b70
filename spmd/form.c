/* Forms: from cells to forms and back, local sizes, the boundary's contiguous blocks. */
#include "spmd/walk.h"

#include <string.h>

const struct spmd_form spmd_form_none = {
    {SPMD_REPLICATED, SPMD_REPLICATED, SPMD_REPLICATED, SPMD_REPLICATED, SPMD_REPLICATED, SPMD_REPLICATED,
     SPMD_REPLICATED, SPMD_REPLICATED},
    {0},
};

bool spmd_form_equal(const struct spmd_form *a, const struct spmd_form *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

void spmd_local_dims(const struct nda *n, const struct mesh *m, uint32_t origin, const struct spmd_form *f,
                     int64_t *dims)
{
    const struct ir_type *type = ir_value_type(n->program, origin);
    const int64_t *sizes = ir_type_dims(n->program, type);
    const struct nda_atom *atoms = nda_atoms(n, origin);

    for (uint32_t d = 0; d < type->rank; d++)
        dims[d] = sizes[d];
    for (uint32_t a = 0; a < m->axis_count; a++)
        if (f->at[a] < SPMD_PARTIAL)
            dims[spmd_is_whole(f->at[a]) ? f->at[a] - SPMD_WHOLE : atoms[f->at[a]].dim] /= m->axes[a].size;
}

int64_t spmd_local_bytes(const struct nda *n, const struct mesh *m, uint32_t origin,
                         const struct spmd_form *f)
{
    const struct ir_type *type = ir_value_type(n->program, origin);
    int64_t bytes = type->kind == IR_TYPE_TENSOR ? ir_type_bytes(n->program, type) : 0;

    for (uint32_t a = 0; a < m->axis_count; a++)
        if (f->at[a] < SPMD_PARTIAL)
            bytes /= m->axes[a].size;
    return bytes;
}

int64_t walk_bytes(const struct walk *w, uint32_t origin, const struct spmd_form *f)
{
    int64_t bytes = w->t->value_bytes[origin], shards = 1;

    if (walk_form_is_none(f))
        return bytes;
    for (uint32_t a = 0; a < w->axes; a++)
        if (f->at[a] < SPMD_PARTIAL)
            shards *= w->size[a];
    return shards == 1 ? bytes : bytes / shards;
}

uint32_t walk_partial_mask(const struct spmd_form *f, uint32_t axes)
{
    uint32_t mask = 0;

    if (walk_form_is_none(f))
        return 0;
    for (uint32_t a = 0; a < axes; a++)
        if (f->at[a] >= SPMD_PARTIAL && f->at[a] != SPMD_REPLICATED)
            mask |= 1u << a;
    return mask;
}

void walk_form_unwhole(struct spmd_form *f, uint32_t axes)
{
    for (uint32_t a = 0; a < axes; a++)
        if (spmd_is_whole(f->at[a])) {
            f->at[a] = SPMD_REPLICATED;
            f->position[a] = 0;
        }
}

void walk_form_drop(struct spmd_form *f, uint32_t axes, uint32_t axis)
{
    uint8_t at = f->at[axis], position = f->position[axis];

    f->at[axis] = SPMD_REPLICATED;
    f->position[axis] = 0;
    if (at >= SPMD_PARTIAL)
        return;
    for (uint32_t b = 0; b < axes; b++)
        if (f->at[b] == at && f->position[b] > position)
            f->position[b]--;
}

void walk_drop_cell(const struct walk *w, struct plan_cell *cells, uint32_t axis)
{
    uint8_t factor = cells[axis].factor, position = cells[axis].position;

    cells[axis] = (struct plan_cell){NDA_NO_FACTOR, 0};
    if (factor == NDA_NO_FACTOR)
        return;
    for (uint32_t b = 0; b < w->axes; b++)
        if (cells[b].factor == factor && cells[b].position > position)
            cells[b].position--;
}

void walk_space_cells(const struct walk *w, uint32_t space, struct plan_cell *cells)
{
    const struct plan_cell *planned = plan_space(w->plan, space);
    const struct nda_space *s = &w->nda->spaces[space];

    memcpy(cells, planned, w->axes * sizeof *cells);
    for (uint32_t a = 0; a < w->axes; a++)
        if (cells[a].factor != NDA_NO_FACTOR && !w->t->factor_ok[s->factors + cells[a].factor])
            walk_drop_cell(w, cells, a);
}

/* atom of a slot's value that this factor of the space is in, or SPMD_REPLICATED */
static uint8_t atom_of(const struct walk *w, const struct nda_slot *slot, uint8_t factor)
{
    uint32_t count = nda_atom_count(w->nda, slot->value);
    const uint8_t *map = w->nda->factor_of + slot->map;

    for (uint32_t i = 0; i < count; i++)
        if (map[i] == factor)
            return (uint8_t)i;
    return SPMD_REPLICATED;
}

void walk_slot_form(const struct walk *w, uint32_t slot, const struct plan_cell *cells, struct spmd_form *f)
{
    const struct nda_slot *s = &w->nda->slots[slot];

    *f = spmd_form_none;
    for (uint32_t a = 0; a < w->axes; a++) {
        if (cells[a].factor == NDA_NO_FACTOR)
            continue;
        f->at[a] = atom_of(w, s, cells[a].factor);
        f->position[a] = f->at[a] == SPMD_REPLICATED ? 0 : cells[a].position;
    }
}

void walk_result_form(const struct walk *w, uint32_t op, uint32_t slot, const struct plan_cell *cells,
                      struct spmd_form *f)
{
    const struct walk_op *o = &w->t->ops[op];

    walk_slot_form(w, slot, cells, f);
    for (uint32_t a = 0; a < w->axes; a++) {
        if (cells[a].factor == NDA_NO_FACTOR || f->at[a] != SPMD_REPLICATED)
            continue;
        uint32_t index = w->nda->spaces[o->space].factors + cells[a].factor;
        if (w->t->factor_ok[index] & WALK_FACTOR_PARALLEL)
            continue;
        const struct nda_factor *factor = &w->nda->factors[index];
        if (factor->kind == NDA_CONTRACTING)
            f->at[a] = (uint8_t)(SPMD_PARTIAL + factor->reducer);
        else if (factor->kind == NDA_LOOKUP && (o->flags & WALK_PARTIAL_LOOKUP))
            f->at[a] = (uint8_t)(SPMD_PARTIAL + (factor->reducer ? factor->reducer : NDA_REDUCE_ADD));
    }
}

/* An axis is missed with all others on its atom, so that the positions of the rest stay as they are. */
uint32_t walk_cells_for(const struct walk *w, uint32_t op, uint32_t slot, const struct spmd_form *f,
                        struct plan_cell *cells)
{
    uint32_t missed = 0;

    if (walk_form_is_none(f)) {
        for (uint32_t a = 0; a < w->axes; a++)
            cells[a] = (struct plan_cell){NDA_NO_FACTOR, 0};
        return 0;
    }
    const struct nda_space *space = &w->nda->spaces[w->t->ops[op].space];
    const uint8_t *map = w->nda->factor_of + w->nda->slots[slot].map;

    for (uint32_t a = 0; a < w->axes; a++) {
        cells[a] = (struct plan_cell){NDA_NO_FACTOR, 0};
        if (f->at[a] == SPMD_REPLICATED)
            continue;
        uint8_t factor = f->at[a] < SPMD_WHOLE ? map[f->at[a]] : NDA_NO_FACTOR;
        if (factor == NDA_NO_FACTOR || !(w->t->factor_ok[space->factors + factor] & WALK_FACTOR_PARALLEL))
            missed |= 1u << a;
        else
            cells[a] = (struct plan_cell){factor, f->position[a]};
    }
    return missed;
}

/* ------------------------------------------------------------------------------------------- the boundary */
/* Axes of each dim, major first, are placed on the dim's atoms from the outermost: the next atom is only
 * used when the ones outside it are used up (else the blocks would not be contiguous). From the first that
 * finds no place so, they are placed on the whole dim. */
void spmd_boundary_form(const struct plan_context *c, const struct plan *p, uint32_t space,
                        struct spmd_form *out)
{
    const struct nda *n = plan_context_nda(c);
    const struct mesh *m = plan_context_mesh(c);
    struct plan_sharding sharding;
    uint32_t value = n->slots[n->spaces[space].slots].value;
    uint32_t count = nda_atom_count(n, value);
    const struct nda_atom *atoms = nda_atoms(n, value);

    *out = spmd_form_none;
    const struct plan_cell *cells = plan_space(p, space);
    bool any = false;
    for (uint32_t a = 0; a < m->axis_count; a++)
        any |= cells[a].factor != NDA_NO_FACTOR;
    if (!any)
        return;
    plan_boundary_sharding(c, p, space, &sharding);
    for (uint32_t d = 0; d < sharding.rank; d++) {
        uint32_t atom = 0;
        while (atom < count && atoms[atom].dim != d)
            atom++;
        int64_t left = atom < count ? atoms[atom].size : 1;
        uint8_t position = 0;
        bool whole = false;
        for (uint32_t i = 0; i < sharding.dims[d].count; i++) {
            uint8_t axis = sharding.dims[d].axes[i];
            int64_t size = m->axes[axis].size;
            while (!whole && left == 1 && atom + 1 < count && atoms[atom + 1].dim == d) {
                left = atoms[++atom].size;
                position = 0;
            }
            if (!whole && left % size != 0) {
                whole = true;
                position = 0;
            }
            out->at[axis] = (uint8_t)(whole ? SPMD_WHOLE + d : atom);
            out->position[axis] = position++;
            left = whole ? left : left / size;
        }
    }
}

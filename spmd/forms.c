/* The walk's own notions of form and reshard, for those who price without walking. */
#include "spmd/forms.h"

#include "spmd/walk.h"

#include <stdlib.h>

_Static_assert((int)SPMD_MAX_MOVES == (int)RESHARD_MAX_STEPS, "a reshard fits into its copy");

struct spmd_forms {
    struct walk_table table;
    struct walk walk; /* nothing of a plan in it */
};

enum error_code spmd_forms_create(const struct plan_context *context, const struct spmd_options *options,
                                  struct spmd_forms **out, struct error *e)
{
    struct spmd_forms *forms = mem_zalloc(1, sizeof *forms);
    const struct nda *n = plan_context_nda(context);
    enum error_code code = walk_table_create(n, &forms->table, e);
    if (code != ERROR_OK) {
        free(forms);
        return code;
    }
    forms->walk = (struct walk){.context = context,
                                .nda = n,
                                .program = n->program,
                                .mesh = plan_context_mesh(context),
                                .table = &forms->table,
                                .axes = plan_context_mesh(context)->axis_count};
    for (uint32_t axis = 0; axis < forms->walk.axes; axis++)
        forms->walk.size[axis] = forms->walk.mesh->axes[axis].size;
    walk_order_axes(&forms->walk, options);
    *out = forms;
    return ERROR_OK;
}

void spmd_forms_destroy(struct spmd_forms *forms)
{
    if (!forms)
        return;
    walk_table_release(&forms->table);
    free(forms);
}

void spmd_forms_lend(const struct spmd_forms *forms, struct spmd_local *local)
{
    walk_lend_table(&forms->table, local);
}

void spmd_forms_slot(const struct spmd_forms *forms, uint32_t space, uint32_t slot,
                     const struct plan_cell *cells, struct spmd_form *out)
{
    const struct nda_space *nda_space = &forms->walk.nda->spaces[space];
    struct plan_cell sound[MESH_MAX_AXES];
    memcpy(sound, cells, forms->walk.axes * sizeof *sound);
    for (uint32_t axis = 0; axis < forms->walk.axes; axis++)
        if (sound[axis].factor != NDA_NO_FACTOR &&
            !forms->table.factor_ok[nda_space->factors + sound[axis].factor])
            walk_drop_cell(&forms->walk, sound, axis);
    if (nda_space->kind == NDA_SPACE_OP && forms->walk.nda->slots[slot].is_result)
        walk_result_form(&forms->walk, nda_space->op, slot, sound, out);
    else
        walk_slot_form(&forms->walk, slot, sound, out);
}

enum spmd_freedom spmd_forms_freedom(const struct spmd_forms *forms, uint32_t op)
{
    uint8_t flags = forms->table.ops[op].flags;
    return flags & WALK_CHEAP ? SPMD_FREE : flags & (WALK_LAZY | WALK_REMAKE) ? SPMD_REMADE : SPMD_FIXED;
}

bool spmd_forms_passes_partials(const struct spmd_forms *forms, uint32_t op)
{
    return forms->table.ops[op].pass != WALK_PASS_NONE;
}

uint32_t spmd_forms_moves(const struct spmd_forms *forms, uint32_t value, const struct spmd_form *from,
                          const struct spmd_form *to, struct spmd_move out[SPMD_MAX_MOVES])
{
    struct reshard reshard;
    uint32_t count = 0;
    if (spmd_form_equal(from, to))
        return 0;
    walk_reshard(&forms->walk, value, from, to, &reshard);
    const struct spmd_form *before = from;
    for (uint32_t i = 0; i < reshard.count; before = &reshard.steps[i++].after) {
        const struct reshard_step *step = &reshard.steps[i];
        struct spmd_move *move = &out[count++];
        *move = (struct spmd_move){.kind = step->kind, .axis_count = step->axis_count};
        memcpy(move->axes, step->axes, step->axis_count);
        move->bytes =
            walk_bytes(&forms->walk, value,
                       step->kind == SPMD_ALL_GATHER || step->kind == SPMD_SLICE ? &step->after : before);
    }
    return count;
}

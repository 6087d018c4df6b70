/* The walk's own notions of form and reshard, for those who price without walking. */
#include "spmd/forms.h"

#include "spmd/walk.h"

#include <stdlib.h>

_Static_assert((int)SPMD_MAX_MOVES == (int)RESHARD_MAX_STEPS, "a reshard fits into its copy");

struct spmd_forms {
    struct walk_table table;
    struct walk walk; /* nothing of a plan in it */
};

enum error_code spmd_forms_create(const struct plan_context *c, const struct spmd_options *options,
                                  struct spmd_forms **out, struct error *e)
{
    struct spmd_forms *f = mem_zalloc(1, sizeof *f);
    const struct nda *n = plan_context_nda(c);
    enum error_code code = walk_table_create(n, &f->table, e);
    if (code != ERROR_OK) {
        free(f);
        return code;
    }
    f->walk = (struct walk){.context = c,
                            .nda = n,
                            .program = n->program,
                            .mesh = plan_context_mesh(c),
                            .t = &f->table,
                            .axes = plan_context_mesh(c)->axis_count};
    for (uint32_t a = 0; a < f->walk.axes; a++)
        f->walk.size[a] = f->walk.mesh->axes[a].size;
    walk_order_axes(&f->walk, options);
    *out = f;
    return ERROR_OK;
}

void spmd_forms_destroy(struct spmd_forms *f)
{
    if (!f)
        return;
    walk_table_release(&f->table);
    free(f);
}

void spmd_forms_slot(const struct spmd_forms *f, uint32_t space, uint32_t slot, const struct plan_cell *cells,
                     struct spmd_form *out)
{
    const struct nda_space *s = &f->walk.nda->spaces[space];
    struct plan_cell sound[MESH_MAX_AXES];
    memcpy(sound, cells, f->walk.axes * sizeof *sound);
    for (uint32_t a = 0; a < f->walk.axes; a++)
        if (sound[a].factor != NDA_NO_FACTOR && !f->table.factor_ok[s->factors + sound[a].factor])
            walk_drop_cell(&f->walk, sound, a);
    if (s->kind == NDA_SPACE_OP && f->walk.nda->slots[slot].is_result)
        walk_result_form(&f->walk, s->op, slot, sound, out);
    else
        walk_slot_form(&f->walk, slot, sound, out);
}

enum spmd_freedom spmd_forms_freedom(const struct spmd_forms *f, uint32_t op)
{
    uint8_t flags = f->table.ops[op].flags;
    return flags & WALK_CHEAP ? SPMD_FREE : flags & (WALK_LAZY | WALK_REMAKE) ? SPMD_REMADE : SPMD_FIXED;
}

bool spmd_forms_passes_partials(const struct spmd_forms *f, uint32_t op)
{
    return f->table.ops[op].pass != WALK_PASS_NONE;
}

uint32_t spmd_forms_moves(const struct spmd_forms *f, uint32_t value, const struct spmd_form *from,
                          const struct spmd_form *to, struct spmd_move out[SPMD_MAX_MOVES])
{
    struct reshard r;
    uint32_t count = 0;
    if (spmd_form_equal(from, to))
        return 0;
    walk_reshard(&f->walk, value, from, to, &r);
    const struct spmd_form *before = from;
    for (uint32_t i = 0; i < r.count; before = &r.steps[i++].after) {
        const struct reshard_step *step = &r.steps[i];
        struct spmd_move *m = &out[count++];
        *m = (struct spmd_move){.kind = step->kind, .axis_count = step->axis_count};
        memcpy(m->axes, step->axes, step->axis_count);
        m->bytes =
            walk_bytes(&f->walk, value,
                       step->kind == SPMD_ALL_GATHER || step->kind == SPMD_SLICE ? &step->after : before);
    }
    return count;
}

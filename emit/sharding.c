/* Writes a value's form as Shardy text: the names of the axes per dim, major first, every dim closed, so that
 * XLA's propagation adds no axis of its own. Never decides a form. */
#include "emit/build.h"

#include <stdlib.h>

static void add_axes(const struct emit *e, const struct emit_axes *axes, bool *first, struct text *out)
{
    for (uint8_t i = 0; i < axes->count; i++) {
        text_printf(out, "%s\"%s\"", *first ? "" : ", ", e->mesh->axes[axes->at[i]].name);
        *first = false;
    }
}

bool emit_sharding_text(const struct emit *e, uint32_t origin, const struct spmd_form *f, struct text *out)
{
    uint32_t rank = ir_value_type(e->program, origin)->rank;
    bool exact = true;
    text_add(out, "<@mesh, [");
    for (uint32_t d = 0; d < rank; d++) {
        struct emit_layout l = emit_layout(e, origin, f, d);
        bool first = true;
        text_add(out, d ? ", {" : "{");
        for (uint32_t i = 0; i < l.count; i++)
            add_axes(e, &l.at[i].axes, &first, out);
        add_axes(e, &l.whole, &first, out);
        text_add(out, "}");
        exact &= l.contiguous;
    }
    text_add(out, "]>");
    return exact;
}

void emit_atom_sharding_text(const struct emit *e, uint32_t origin, const struct spmd_form *f,
                             struct text *out)
{
    uint32_t count = nda_atom_count(e->nda, origin);
    text_add(out, "<@mesh, [");
    for (uint32_t i = 0; i < count; i++) {
        struct emit_axes axes = emit_atom_axes(e, f, (uint8_t)i);
        bool first = true;
        text_add(out, i ? ", {" : "{");
        add_axes(e, &axes, &first, out);
        text_add(out, "}");
    }
    text_add(out, "]>");
}

struct ir_attr emit_mesh_attr(struct emit *e)
{
    struct text t = {0};
    text_add(&t, "#sdy.mesh<[");
    for (uint32_t a = 0; a < e->mesh->axis_count; a++)
        text_printf(&t, "%s\"%s\"=%lld", a ? ", " : "", e->mesh->axes[a].name,
                    (long long)e->mesh->axes[a].size);
    text_add(&t, "]>");
    struct ir_attr attr = ir_build_named(e->b, "mesh", ir_build_text(e->b, t.at));
    text_release(&t);
    return attr;
}

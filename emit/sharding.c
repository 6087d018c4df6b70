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

bool emit_sharding_text(const struct emit *e, uint32_t origin, const struct spmd_form *form, struct text *out)
{
    uint32_t rank = ir_value_type(e->program, origin)->rank;
    bool exact = true;
    text_add(out, "<@mesh, [");
    for (uint32_t dim = 0; dim < rank; dim++) {
        struct emit_layout layout = emit_layout(e, origin, form, dim);
        bool first = true;
        text_add(out, dim ? ", {" : "{");
        for (uint32_t i = 0; i < layout.count; i++)
            add_axes(e, &layout.at[i].axes, &first, out);
        add_axes(e, &layout.whole, &first, out);
        text_add(out, "}");
        exact &= layout.contiguous;
    }
    text_add(out, "]>");
    return exact;
}

void emit_dims_sharding_text(const struct emit *e, uint32_t rank, const struct emit_axes *axes,
                             struct text *out)
{
    text_add(out, "<@mesh, [");
    for (uint32_t i = 0; i < rank; i++) {
        bool first = true;
        text_add(out, i ? ", {" : "{");
        add_axes(e, &axes[i], &first, out);
        text_add(out, "}");
    }
    text_add(out, "]>");
}

void emit_numbered_sharding_text(const struct emit *e, uint32_t rank, const struct spmd_form *form,
                                 struct text *out)
{
    struct emit_axes axes[EMIT_MAX_RANK];
    BASE_CHECK(rank <= EMIT_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = emit_atom_axes(e, form, (uint8_t)i);
    emit_dims_sharding_text(e, rank, axes, out);
}

struct ir_attr emit_mesh_attr(struct emit *e)
{
    struct text text = {0};
    text_add(&text, "#sdy.mesh<[");
    for (uint32_t axis = 0; axis < e->mesh->axis_count; axis++)
        text_printf(&text, "%s\"%s\"=%lld", axis ? ", " : "", e->mesh->axes[axis].name,
                    (long long)e->mesh->axes[axis].size);
    text_add(&text, "]>");
    struct ir_attr attr = ir_build_named(e->builder, "mesh", ir_build_text(e->builder, text.at));
    text_release(&text);
    return attr;
}

/* Values as arrays of their atoms, and keeping this device's block: the local part of reshards. */
#include "emit/build.h"

#include <string.h>

struct emit_tensor emit_local_tensor(const struct emit *e, uint32_t spmd_value)
{
    const struct spmd_value *value = &e->local->values[spmd_value];
    const struct ir_type *type = ir_value_type(e->program, value->origin);
    struct emit_tensor tensor = {
        .value = e->value_of[spmd_value], .element = (enum ir_element)type->element, .rank = type->rank};
    if (e->output == EMIT_ANNOTATED && type->kind == IR_TYPE_TENSOR && type->rank)
        memcpy(tensor.dims, ir_type_dims(e->program, type), type->rank * sizeof *tensor.dims);
    else if (type->kind == IR_TYPE_TENSOR)
        spmd_local_dims(e->nda, e->mesh, value->origin, &value->form, tensor.dims);
    return tensor;
}

uint32_t emit_value_type(struct emit *e, uint32_t spmd_value)
{
    uint32_t type = e->program->values[e->local->values[spmd_value].origin].type;
    if (e->program->types[type].kind != IR_TYPE_TENSOR)
        return ir_build_copy_type(e->builder, e->program, type);
    struct emit_tensor tensor = emit_local_tensor(e, spmd_value);
    return emit_type(e, tensor.element, tensor.rank, tensor.dims);
}

static uint32_t atom_dims(const struct emit *e, uint32_t origin, const struct spmd_form *form, int64_t *dims)
{
    const struct nda_atom *atoms = nda_atoms(e->nda, origin);
    uint32_t count = nda_atom_count(e->nda, origin);
    for (uint32_t i = 0; i < count; i++) {
        struct emit_axes axes = emit_atom_axes(e, form, (uint8_t)i);
        dims[i] = atoms[i].size / emit_shards(e, &axes);
    }
    return count;
}

struct emit_tensor emit_to_atoms(struct emit *e, struct emit_tensor tensor, uint32_t origin,
                                 const struct spmd_form *form)
{
    int64_t dims[EMIT_MAX_RANK];
    uint32_t count = atom_dims(e, origin, form, dims);
    return emit_reshape(e, tensor, count, dims);
}

struct emit_tensor emit_from_atoms(struct emit *e, struct emit_tensor tensor, uint32_t origin,
                                   const struct spmd_form *form)
{
    int64_t dims[EMIT_MAX_RANK];
    spmd_local_dims(e->nda, e->mesh, origin, form, dims);
    return emit_reshape(e, tensor, ir_value_type(e->program, origin)->rank, dims);
}

/* The axes that `to` adds to an atom after those of `from`; false when `to` is not `from` with minor axes
 * added. */
static bool added_axes(const struct emit *e, const struct spmd_form *from, const struct spmd_form *to,
                       uint8_t atom, struct emit_axes *added)
{
    struct emit_axes have = emit_atom_axes(e, from, atom), want = emit_atom_axes(e, to, atom);
    if (want.count < have.count || memcmp(have.at, want.at, have.count) != 0)
        return false;
    added->count = (uint8_t)(want.count - have.count);
    memcpy(added->at, want.at + have.count, added->count);
    return true;
}

enum error_code emit_keep_block(struct emit *e, struct emit_tensor tensor, uint32_t origin,
                                const struct spmd_form *from, const struct spmd_form *to,
                                struct emit_tensor *out, struct error *error)
{
    uint32_t count = nda_atom_count(e->nda, origin);
    struct emit_tensor starts[EMIT_MAX_RANK], zero = emit_integer(e, IR_I32, 0, 0, NULL);
    int64_t sizes[EMIT_MAX_RANK];
    if (count > EMIT_MAX_RANK)
        return emit_reject(e, error, "a value has more than %d atomic factors", EMIT_MAX_RANK);
    atom_dims(e, origin, to, sizes);
    tensor = emit_to_atoms(e, tensor, origin, from);
    for (uint32_t i = 0; i < count; i++) {
        struct emit_axes added;
        if (!added_axes(e, from, to, (uint8_t)i, &added))
            return emit_reject(e, error, "a slice would have to reorder the blocks of a dimension");
        starts[i] = zero;
        if (!added.count)
            continue;
        /* also by 1: what is written is the same at all sizes, so that proofs at smaller ones are of it */
        starts[i] = emit_block_index(e, &added);
        starts[i] =
            emit_binary(e, "stablehlo.multiply", starts[i], emit_integer(e, IR_I32, sizes[i], 0, NULL));
    }
    tensor = emit_dynamic_slice(e, tensor, starts, sizes);
    *out = emit_from_atoms(e, tensor, origin, to);
    return ERROR_OK;
}

struct emit_tensor emit_keep_range(struct emit *e, struct emit_tensor tensor, const struct spmd_form *to,
                                   uint8_t whole)
{
    struct emit_axes axes = emit_atom_axes(e, to, whole);
    struct emit_tensor starts[EMIT_MAX_RANK], zero = emit_integer(e, IR_I32, 0, 0, NULL);
    int64_t sizes[EMIT_MAX_RANK];
    uint32_t dim = (uint32_t)(whole - SPMD_WHOLE);
    for (uint32_t dim = 0; dim < tensor.rank; dim++) {
        starts[dim] = zero;
        sizes[dim] = tensor.dims[dim];
    }
    sizes[dim] /= emit_shards(e, &axes);
    starts[dim] = emit_binary(e, "stablehlo.multiply", emit_block_index(e, &axes),
                              emit_integer(e, IR_I32, sizes[dim], 0, NULL));
    return emit_dynamic_slice(e, tensor, starts, sizes);
}

/* Where this device stands: coordinates on the mesh, blocks of atoms, offsets, replica groups.
 *
 * Devices are numbered row-major over the axes, the last axis innermost. `manual` is partition style and
 * `local` replica style: each has its own op that gives the device's number, and the other one's is silently
 * 0. */
#include "emit/build.h"

#include <stdlib.h>
#include <string.h>

void emit_scope_open(struct emit *e, struct emit_scope *saved)
{
    if (saved)
        *saved = e->scope;
    e->scope.device = IR_NONE;
    e->scope.block_count = 0;
    for (int axis = 0; axis < MESH_MAX_AXES; axis++)
        e->scope.coordinate[axis] = IR_NONE;
}

void emit_scope_close(struct emit *e, const struct emit_scope *saved)
{
    e->scope = *saved;
}

static struct emit_tensor scalar(uint32_t value)
{
    return (struct emit_tensor){.value = value, .element = IR_I32};
}

static struct emit_tensor number(struct emit *e, int64_t value)
{
    return emit_integer(e, IR_I32, value, 0, NULL);
}

static struct emit_tensor device(struct emit *e)
{
    if (e->scope.device == IR_NONE) {
        const char *name = e->output == EMIT_MANUAL ? "stablehlo.partition_id" : "stablehlo.replica_id";
        struct emit_tensor id = emit_one(e, name, NULL, 0, IR_UI32, 0, NULL, NULL, 0);
        e->scope.device = emit_convert(e, id, IR_I32).value;
    }
    return scalar(e->scope.device);
}

struct emit_tensor emit_coordinate(struct emit *e, uint8_t axis)
{
    if (e->scope.coordinate[axis] == IR_NONE) {
        struct emit_tensor tensor = device(e);
        int64_t stride = mesh_axis_stride(e->mesh, axis);
        if (stride > 1)
            tensor = emit_binary(e, "stablehlo.divide", tensor, number(e, stride));
        if (stride * e->mesh->axes[axis].size < mesh_devices(e->mesh))
            tensor = emit_binary(e, "stablehlo.remainder", tensor, number(e, e->mesh->axes[axis].size));
        e->scope.coordinate[axis] = tensor.value;
    }
    return scalar(e->scope.coordinate[axis]);
}

static bool same_axes(const struct emit_axes *axes, const struct emit_axes *emit_axes)
{
    return axes->count == emit_axes->count && memcmp(axes->at, emit_axes->at, axes->count) == 0;
}

struct emit_tensor emit_block_index(struct emit *e, const struct emit_axes *axes)
{
    for (uint32_t i = 0; i < e->scope.block_count; i++)
        if (same_axes(&e->scope.blocks[i].axes, axes))
            return scalar(e->scope.blocks[i].value);
    struct emit_tensor tensor = axes->count ? emit_coordinate(e, axes->at[0]) : number(e, 0);
    for (uint8_t i = 1; i < axes->count; i++) {
        struct emit_tensor next = emit_coordinate(e, axes->at[i]);
        tensor = emit_binary(e, "stablehlo.multiply", tensor, number(e, e->mesh->axes[axes->at[i]].size));
        tensor = emit_binary(e, "stablehlo.add", tensor, next);
    }
    if (e->scope.block_count < EMIT_SCOPE_BLOCKS) {
        e->scope.blocks[e->scope.block_count].axes = *axes;
        e->scope.blocks[e->scope.block_count++].value = tensor.value;
    }
    return tensor;
}

struct emit_tensor emit_is_first(struct emit *e, const struct emit_axes *axes)
{
    return emit_compare(e, "EQ", emit_block_index(e, axes), number(e, 0));
}

struct emit_axes emit_atom_axes(const struct emit *e, const struct spmd_form *form, uint8_t atom)
{
    struct emit_axes axes = {0};
    for (uint8_t position = 0; position < e->mesh->axis_count; position++)
        for (uint8_t axis = 0; axis < e->mesh->axis_count; axis++)
            if (form->at[axis] == atom && form->position[axis] == position)
                axes.at[axes.count++] = axis;
    return axes;
}

int64_t emit_shards(const struct emit *e, const struct emit_axes *axes)
{
    int64_t n = 1;
    for (uint8_t i = 0; i < axes->count; i++)
        n *= e->mesh->axes[axes->at[i]].size;
    return n;
}

/* one row a group, in the order of its first device; within it the first listed axis is major */
struct ir_attr emit_replica_groups(struct emit *e, const struct emit_axes *axes)
{
    for (uint32_t i = 0; i < e->group_count; i++)
        if (same_axes(&e->groups[i].axes, axes))
            return e->groups[i].attr;
    int64_t devices = mesh_devices(e->mesh), members = emit_shards(e, axes), groups = devices / members;
    int64_t *table = mem_alloc((size_t)devices * sizeof *table), row = 0;
    for (int64_t first = 0; first < devices; first++) {
        bool leads = true;
        for (uint8_t i = 0; i < axes->count; i++)
            leads &= first / mesh_axis_stride(e->mesh, axes->at[i]) % e->mesh->axes[axes->at[i]].size == 0;
        for (int64_t k = 0; leads && k < members; k++) {
            int64_t id = first, rest = k;
            for (uint8_t i = axes->count; i-- > 0; rest /= e->mesh->axes[axes->at[i]].size)
                id += rest % e->mesh->axes[axes->at[i]].size * mesh_axis_stride(e->mesh, axes->at[i]);
            table[row * members + k] = id;
        }
        row += leads;
    }
    int64_t dims[2] = {groups, members};
    uint32_t type = emit_type(e, IR_I64, 2, dims);
    struct ir_attr attr =
        ir_build_named(e->builder, "replica_groups",
                       ir_build_dense(e->builder, type, table, (size_t)devices * sizeof *table, false));
    free(table);
    if (e->group_count < sizeof e->groups / sizeof *e->groups) {
        e->groups[e->group_count].axes = *axes;
        e->groups[e->group_count++].attr = attr;
    }
    return attr;
}

/* ---------------------------------------------------------------- layouts */
struct emit_layout emit_layout(const struct emit *e, uint32_t origin, const struct spmd_form *form,
                               uint32_t dim)
{
    struct emit_layout layout = {.size = 1, .local = 1, .contiguous = true};
    const struct nda_atom *atoms = nda_atoms(e->nda, origin);
    uint32_t count = nda_atom_count(e->nda, origin);
    for (uint32_t i = 0; i < count; i++) {
        if (atoms[i].dim != dim || layout.count == EMIT_MAX_RANK)
            continue;
        struct emit_axes axes = emit_atom_axes(e, form, (uint8_t)i);
        int64_t local = atoms[i].size / emit_shards(e, &axes);
        layout.contiguous &= axes.count == 0 || layout.local == 1;
        layout.sharded |= axes.count != 0;
        layout.at[layout.count].size = atoms[i].size;
        layout.at[layout.count].local = local;
        layout.at[layout.count++].axes = axes;
        layout.size *= atoms[i].size;
        layout.local *= local;
    }
    layout.whole = emit_atom_axes(e, form, (uint8_t)(SPMD_WHOLE + dim));
    layout.sharded |= layout.whole.count != 0;
    layout.local /= emit_shards(e, &layout.whole);
    if (ir_type_dims(e->program, ir_value_type(e->program, origin))[dim] == 0)
        layout.size = layout.local = 0; /* an empty dim has no atoms, as one of 1 */
    int64_t stride = 1;
    for (uint32_t i = layout.count; i-- > 0; stride *= layout.at[i].size)
        layout.at[i].stride = stride;
    return layout;
}

static struct emit_tensor scaled(struct emit *e, struct emit_tensor tensor, int64_t by)
{
    return by == 1 ? tensor : emit_binary(e, "stablehlo.multiply", tensor, number(e, by));
}

struct emit_tensor emit_layout_offset(struct emit *e, const struct emit_layout *layout)
{
    struct emit_tensor sum = {.value = IR_NONE};
    for (uint32_t i = 0; i < layout->count; i++) {
        if (!layout->at[i].axes.count)
            continue;
        struct emit_tensor tensor =
            scaled(e, emit_block_index(e, &layout->at[i].axes), layout->at[i].local * layout->at[i].stride);
        sum = sum.value == IR_NONE ? tensor : emit_binary(e, "stablehlo.add", sum, tensor);
    }
    return sum.value == IR_NONE ? number(e, 0) : sum;
}

static struct emit_tensor spread_as(struct emit *e, struct emit_tensor tensor, const struct emit_tensor *like)
{
    return emit_spread(e, emit_convert(e, tensor, like->element), like->rank, like->dims);
}

static struct emit_tensor splat_as(struct emit *e, int64_t value, const struct emit_tensor *like)
{
    return emit_integer(e, like->element, value, like->rank, like->dims);
}

/* lo <= x < lo + size, where lo is an int32 scalar; *shifted = x - lo */
static struct emit_tensor within(struct emit *e, struct emit_tensor tensor, struct emit_tensor lo,
                                 int64_t size, struct emit_tensor *shifted)
{
    struct emit_tensor low = spread_as(e, lo, &tensor);
    struct emit_tensor high = spread_as(e, emit_binary(e, "stablehlo.add", lo, number(e, size)), &tensor);
    *shifted = emit_binary(e, "stablehlo.subtract", tensor, low);
    return emit_binary(e, "stablehlo.and", emit_compare(e, "GE", tensor, low),
                       emit_compare(e, "LT", tensor, high));
}

void emit_localize(struct emit *e, const struct emit_layout *layout, struct emit_tensor tensor,
                   struct emit_tensor *local, struct emit_tensor *inside)
{
    if (layout->contiguous) {
        *inside = within(e, tensor, emit_layout_offset(e, layout), layout->local, local);
        return;
    }
    struct emit_tensor zero = splat_as(e, 0, &tensor), rest;
    *inside = within(e, tensor, number(e, 0), layout->size, &rest);
    rest = emit_select(e, *inside, tensor, zero);
    *local = zero;
    int64_t stride = 1;
    for (uint32_t i = layout->count; i-- > 0; stride *= layout->at[i].local) {
        struct emit_tensor size = splat_as(e, layout->at[i].size, &tensor), digit = rest;
        if (i > 0) {
            digit = emit_binary(e, "stablehlo.remainder", rest, size);
            rest = emit_binary(e, "stablehlo.divide", rest, size);
        }
        if (layout->at[i].axes.count) {
            struct emit_tensor lo = scaled(e, emit_block_index(e, &layout->at[i].axes), layout->at[i].local);
            *inside =
                emit_binary(e, "stablehlo.and", *inside, within(e, digit, lo, layout->at[i].local, &digit));
        }
        if (stride > 1)
            digit = emit_binary(e, "stablehlo.multiply", digit, splat_as(e, stride, &tensor));
        *local = emit_binary(e, "stablehlo.add", *local, digit);
    }
}

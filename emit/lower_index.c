/* Gather, scatter, dynamic slice and update along sharded dims.
 *
 * Reading (gather, dynamic_slice): a position is clamped to the global bound first, as the op itself would,
 * then made local; where it lies on another device the result is 0, *selected*, never multiplied (0 x NaN).
 * The walk adds the devices' results. Writing (scatter): a position that is not on this device, and so any
 * that is out of range, becomes the local size, which the op drops. Positions that count along a split
 * dimension are in none of this: lower_counted.c. */
#include "emit/lower.h"

#include <string.h>

/* Integers wide enough for positions: narrow types are widened, others keep their type (and signedness). */
static struct emit_tensor widened(struct emit *e, struct emit_tensor tensor)
{
    return ir_element_bits(tensor.element) < 32 ? emit_convert(e, tensor, IR_I32) : tensor;
}

static struct emit_tensor clamped(struct emit *e, struct emit_tensor tensor, int64_t highest)
{
    struct emit_tensor operands[3] = {emit_integer(e, tensor.element, 0, 0, NULL), tensor,
                                      emit_integer(e, tensor.element, highest, 0, NULL)};
    return emit_one(e, "stablehlo.clamp", operands, 3, tensor.element, tensor.rank, tensor.dims, NULL, 0);
}

/* emit_localize for a position that is read: clamped here as well. The op would do it, but XLA merges slices
 * of slices by adding their starts before it clamps (jaxlib 0.10.2), so a start out of range may read another
 * block. */
static void localize_read(struct emit *e, const struct emit_layout *layout, struct emit_tensor tensor,
                          struct emit_tensor *local, struct emit_tensor *inside)
{
    emit_localize(e, layout, clamped(e, tensor, layout->size - 1), local, inside);
    *local = clamped(e, *local, layout->local - 1);
}

/* ---------------------------------------------------------------- index vectors of gather and scatter */
/* component c of the index vectors, the vector dim kept as size 1 (or absent when vectors are implicit) */
static struct emit_tensor component(struct emit *e, struct emit_tensor indices, int64_t vector_dim,
                                    uint32_t c)
{
    return vector_dim < indices.rank ? emit_slice(e, indices, (uint32_t)vector_dim, c, c + 1) : indices;
}

static struct emit_tensor drop_dim(struct emit *e, struct emit_tensor tensor, int64_t dim)
{
    int64_t dims[EMIT_MAX_RANK];
    uint32_t rank = 0;
    if (dim >= tensor.rank)
        return tensor;
    for (uint32_t d = 0; d < tensor.rank; d++)
        if (d != dim)
            dims[rank++] = tensor.dims[d];
    return emit_reshape(e, tensor, rank, dims);
}

struct lookup {                /* rewriting of the components whose operand dim is sharded */
    const struct ir_dims *map; /* component -> operand dim */
    int64_t vector_dim;
    bool reads;
    bool any;                  /* out: some component was rewritten */
    struct emit_tensor inside; /* out: i1 of the index batch dims: all of them lie here */
};

/* Rewrites in[at] so that the components of sharded dims are local positions. in[0] is the indexed operand.
 */
static enum error_code localize_indices(struct emit *e, struct lower_op *lower, uint32_t at, struct lookup *k,
                                        const bool *whole, struct error *error)
{
    struct emit_tensor parts[IR_MAX_RANK], indices = widened(e, lower->in[at]);
    k->any = false;
    for (uint32_t c = 0; c < k->map->count; c++) {
        uint32_t dim = (uint32_t)k->map->at[c];
        struct emit_layout layout = lower_in_layout(e, lower, 0, dim);
        parts[c] = component(e, indices, k->vector_dim, c);
        if (!layout.sharded || whole[dim])
            continue;
        if (layout.size > INT32_MAX)
            return emit_reject(e, error, "dimension %u is sharded and has more than 2^31 elements", dim);
        struct emit_tensor inside, local, tensor = parts[c];
        if (k->reads)
            localize_read(e, &layout, tensor, &local, &inside);
        else
            emit_localize(e, &layout, tensor, &local, &inside);
        parts[c] = k->reads
                       ? local
                       : emit_select(e, inside, local,
                                     emit_integer(e, tensor.element, layout.local, tensor.rank, tensor.dims));
        inside = drop_dim(e, inside, k->vector_dim);
        k->inside = k->any ? emit_binary(e, "stablehlo.and", k->inside, inside) : inside;
        k->any = true;
    }
    if (k->any)
        lower->in[at] = k->vector_dim < indices.rank
                            ? emit_concatenate(e, parts, k->map->count, (uint32_t)k->vector_dim)
                            : parts[0];
    return ERROR_OK;
}

enum error_code lower_gather(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_gather gather;
    if (lower_count_gather(e, lower, &gather) != 0)
        return emit_reject(e, error, "its dimension numbers cannot be read");
    bool whole[EMIT_MAX_RANK] = {false};
    for (uint32_t dim = 0; dim < lower->in[0].rank; dim++) {
        struct emit_layout layout = lower_in_layout(e, lower, 0, dim);
        whole[dim] = gather.slice_sizes.at[dim] == layout.size;
        if (layout.sharded && whole[dim] && layout.size > 1)
            gather.slice_sizes.at[dim] = layout.local;
        else if (layout.sharded && gather.slice_sizes.at[dim] != 1)
            return emit_reject(e, error, "dimension %u is sharded and read in slices of %lld", dim,
                               (long long)gather.slice_sizes.at[dim]);
        else if (layout.sharded && !ir_dims_has(&gather.start_index_map, dim) &&
                 !ir_dims_has(&gather.operand_batch, dim))
            return emit_reject(e, error, "dimension %u is sharded, but only its first element is read", dim);
    }
    lower_set_ints(e, lower, "slice_sizes", gather.slice_sizes.at, gather.slice_sizes.count);
    struct lookup k = {.map = &gather.start_index_map, .vector_dim = gather.index_vector_dim, .reads = true};
    enum error_code code = localize_indices(e, lower, 1, &k, whole, error);
    if (!code && k.any)
        emit_attr_set(e, lower->attrs, &lower->attr_count, "indices_are_sorted",
                      ir_build_bool(e->builder, false));
    if (!code)
        code = lower_as_is(e, lower, error);
    if (code || !k.any)
        return code;
    int64_t map[EMIT_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t dim = 0; dim < lower->out[0].rank; dim++)
        if (!ir_dims_has(&gather.offset_dims, dim))
            map[n++] = dim;
    struct emit_tensor *out = &lower->out[0], mask = emit_broadcast(e, k.inside, out->rank, out->dims, map);
    *out = emit_select(e, mask, *out, emit_zeros(e, out->element, out->rank, out->dims));
    return ERROR_OK;
}

/* Windows over a sharded dim are either the whole of it (local here too: they fit at position 0 only, there
 * as here) or one element. */
static enum error_code scatter_windows(struct emit *e, struct lower_op *lower,
                                       const struct ir_scatter *scatter, bool *whole, struct error *error)
{
    uint32_t window = 0, updates = scatter->input_count + 1;
    const struct ir_type *type = ir_value_type(e->program, ir_operand(e->program, lower->op, updates));
    const int64_t *sizes = ir_type_dims(e->program, type);
    for (uint32_t dim = 0; dim < lower->in[0].rank; dim++) {
        whole[dim] = false;
        bool outside_window =
            ir_dims_has(&scatter->inserted_window_dims, dim) || ir_dims_has(&scatter->input_batch, dim);
        struct emit_layout layout = lower_in_layout(e, lower, 0, dim);
        int64_t size = outside_window ? 1 : sizes[scatter->update_window_dims.at[window]];
        int64_t local = outside_window ? 1 : lower->in[updates].dims[scatter->update_window_dims.at[window]];
        window += !outside_window;
        if (!layout.sharded || ir_dims_has(&scatter->input_batch, dim))
            continue;
        whole[dim] = size == layout.size && local == layout.local;
        if (!whole[dim] && size != 1)
            return emit_reject(e, error, "dimension %u is sharded and written in windows of %lld", dim,
                               (long long)size);
        if (!whole[dim] && !ir_dims_has(&scatter->dims_to_operand, dim))
            return emit_reject(e, error, "dimension %u is sharded, but only its first element is written",
                               dim);
    }
    return ERROR_OK;
}

enum error_code lower_scatter(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_scatter scatter;
    bool whole[EMIT_MAX_RANK];
    if (lower_count_scatter(e, lower, &scatter) != 0)
        return emit_reject(e, error, "its dimension numbers cannot be read");
    enum error_code code = scatter_windows(e, lower, &scatter, whole, error);
    struct lookup k = {.map = &scatter.dims_to_operand, .vector_dim = scatter.index_vector_dim};
    if (!code)
        code = localize_indices(e, lower, scatter.input_count, &k, whole, error);
    if (!code && k.any) { /* all positions of other devices are now the same one, which is dropped */
        emit_attr_set(e, lower->attrs, &lower->attr_count, "indices_are_sorted",
                      ir_build_bool(e->builder, false));
        emit_attr_set(e, lower->attrs, &lower->attr_count, "unique_indices",
                      ir_build_bool(e->builder, false));
    }
    for (uint32_t i = 0; i < scatter.input_count && !code && lower->step->mask_initial; i++)
        code = lower_mask_initial(e, lower, i, error);
    return code ? code : lower_as_is(e, lower, error);
}

/* ---------------------------------------------------------------- dynamic slice and update */
enum error_code lower_dynamic_slice(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_dims sizes;
    struct emit_tensor inside = {.value = IR_NONE};
    if (ir_dims(e->program, lower->op, "slice_sizes", &sizes) != 0)
        return emit_reject(e, error, "its sizes cannot be read");
    for (uint32_t d = 0; d < sizes.count; d++) {
        struct emit_layout layout = lower_in_layout(e, lower, 0, d);
        if (!layout.sharded)
            continue;
        if (sizes.at[d] == layout.size) { /* the op clamps its start to 0, globally and here */
            sizes.at[d] = layout.local;
            lower->in[d + 1] = emit_integer(e, lower->in[d + 1].element, 0, 0, NULL);
            continue;
        }
        if (sizes.at[d] != 1 || layout.size > INT32_MAX)
            return emit_reject(e, error, "dimension %u is sharded and read in slices of %lld", d,
                               (long long)sizes.at[d]);
        struct emit_tensor here;
        localize_read(e, &layout, widened(e, lower->in[d + 1]), &lower->in[d + 1], &here);
        inside = inside.value == IR_NONE ? here : emit_binary(e, "stablehlo.and", inside, here);
    }
    /* positions are one type for all dims */
    for (uint32_t d = 0; d < sizes.count && inside.value != IR_NONE; d++)
        lower->in[d + 1] = widened(e, lower->in[d + 1]);
    lower_set_ints(e, lower, "slice_sizes", sizes.at, sizes.count);
    enum error_code code = lower_as_is(e, lower, error);
    if (!code && inside.value != IR_NONE)
        lower->out[0] =
            emit_select(e, inside, lower->out[0],
                        emit_zeros(e, lower->out[0].element, lower->out[0].rank, lower->out[0].dims));
    return code;
}

/* Updates of one element along every sharded touched dim: where the position is not here, what stands at some
 * position here is written back. The operand stays updatable in place. */
static struct emit_tensor update_element(struct emit *e, const struct lower_op *lower,
                                         struct emit_tensor inside)
{
    struct emit_tensor old = emit_dynamic_slice(e, lower->in[0], lower->in + 2, lower->in[1].dims);
    return emit_dynamic_update(e, lower->in[0], emit_select(e, inside, lower->in[1], old), lower->in + 2);
}

/* A block of several elements may lie across devices: written into the local part widened by the block's size
 * on both sides, of which the middle is kept. Positions further out clamp into the margins. */
static enum error_code update_block(struct emit *e, struct lower_op *lower, uint32_t dim,
                                    const struct emit_layout *layout, struct error *error)
{
    int64_t width = lower->in[1].dims[dim];
    struct emit_tensor tensor = emit_pad_zeros(e, lower->in[0], dim, width, width);
    struct emit_tensor start = clamped(e, lower->in[dim + 2], layout->size - width);
    if (!layout->contiguous)
        return emit_reject(e, error, "a block of dimension %u is written whose elements do not lie together",
                           dim);
    start = emit_convert(e, start, IR_I32);
    start = emit_binary(e, "stablehlo.subtract", start, emit_layout_offset(e, layout));
    start = emit_binary(e, "stablehlo.add", start, emit_integer(e, IR_I32, width, 0, NULL));
    start = clamped(e, start, layout->local + width);
    for (uint32_t d = 0; d < tensor.rank; d++)
        lower->in[d + 2] = d == dim ? start : emit_convert(e, lower->in[d + 2], IR_I32);
    tensor = emit_dynamic_update(e, tensor, lower->in[1], lower->in + 2);
    lower->out[0] = emit_slice(e, tensor, dim, width, width + layout->local);
    return ERROR_OK;
}

enum error_code lower_dynamic_update(struct emit *e, struct lower_op *lower, struct error *error)
{
    const struct ir_type *type = ir_value_type(e->program, ir_operand(e->program, lower->op, 1));
    const int64_t *width = ir_type_dims(e->program, type);
    struct emit_tensor inside = {.value = IR_NONE};
    uint32_t block = IR_NONE, elements = 0;
    struct emit_layout block_layout;
    for (uint32_t dim = 0; dim < lower->in[0].rank; dim++) {
        struct emit_layout layout = lower_in_layout(e, lower, 0, dim);
        lower->in[dim + 2] = widened(e, lower->in[dim + 2]);
        if (layout.sharded && width[dim] == layout.size)
            lower->in[dim + 2] = emit_integer(e, lower->in[dim + 2].element, 0, 0, NULL);
        if (!layout.sharded || width[dim] == layout.size)
            continue;
        if (lower_in_layout(e, lower, 1, dim).sharded || layout.size > INT32_MAX)
            return emit_reject(e, error, "dimension %u of the update is sharded", dim);
        if (width[dim] > 1) {
            if (block != IR_NONE)
                return emit_reject(e, error, "blocks across two sharded dimensions are written");
            block = dim;
            block_layout = layout;
            continue;
        }
        struct emit_tensor here;
        localize_read(e, &layout, lower->in[dim + 2], &lower->in[dim + 2], &here);
        inside = elements++ ? emit_binary(e, "stablehlo.and", inside, here) : here;
    }
    if (block != IR_NONE && elements)
        return emit_reject(e, error, "blocks across two sharded dimensions are written");
    if (block != IR_NONE)
        return update_block(e, lower, block, &block_layout, error);
    if (!elements)
        return lower_as_is(e, lower, error);
    lower->out[0] = update_element(e, lower, inside);
    return ERROR_OK;
}

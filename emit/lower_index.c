/* Gather, scatter, dynamic slice and update along sharded dims.
 *
 * Reading (gather, dynamic_slice): a position is clamped to the global bound first, as the op itself would,
 * then made local; where it lies on another device the result is 0, *selected*, never multiplied (0 x NaN).
 * The walk adds the devices' results. Writing (scatter): a position that is not on this device, and so any
 * that is out of range, becomes the local size, which the op drops. */
#include "emit/lower.h"

#include <string.h>

/* Integers wide enough for positions: narrow types are widened, others keep their type (and signedness). */
static struct emit_tensor widened(struct emit *e, struct emit_tensor x)
{
    return ir_element_bits(x.element) < 32 ? emit_convert(e, x, IR_I32) : x;
}

static struct emit_tensor clamped(struct emit *e, struct emit_tensor x, int64_t highest)
{
    struct emit_tensor operands[3] = {emit_integer(e, x.element, 0, 0, NULL), x,
                                      emit_integer(e, x.element, highest, 0, NULL)};
    return emit_one(e, "stablehlo.clamp", operands, 3, x.element, x.rank, x.dims, NULL, 0);
}

/* emit_localize for a position that is read: clamped here as well. The op would do it, but XLA merges slices
 * of slices by adding their starts before it clamps (jaxlib 0.10.2), so a start out of range may read another
 * block. */
static void localize_read(struct emit *e, const struct emit_layout *l, struct emit_tensor x,
                          struct emit_tensor *local, struct emit_tensor *inside)
{
    emit_localize(e, l, clamped(e, x, l->size - 1), local, inside);
    *local = clamped(e, *local, l->local - 1);
}

static bool contains(const struct ir_dims *list, int64_t dim)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i] == dim)
            return true;
    return false;
}

/* ---------------------------------------------------------------- index vectors of gather and scatter */
/* component c of the index vectors, the vector dim kept as size 1 (or absent when vectors are implicit) */
static struct emit_tensor component(struct emit *e, struct emit_tensor indices, int64_t vector_dim,
                                    uint32_t c)
{
    return vector_dim < indices.rank ? emit_slice(e, indices, (uint32_t)vector_dim, c, c + 1) : indices;
}

static struct emit_tensor drop_dim(struct emit *e, struct emit_tensor x, int64_t dim)
{
    int64_t dims[EMIT_MAX_RANK];
    uint32_t rank = 0;
    if (dim >= x.rank)
        return x;
    for (uint32_t d = 0; d < x.rank; d++)
        if (d != dim)
            dims[rank++] = x.dims[d];
    return emit_reshape(e, x, rank, dims);
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
static enum error_code localize_indices(struct emit *e, struct lower_op *o, uint32_t at, struct lookup *k,
                                        const bool *whole, struct error *error)
{
    struct emit_tensor parts[IR_MAX_RANK], indices = widened(e, o->in[at]);
    k->any = false;
    for (uint32_t c = 0; c < k->map->count; c++) {
        uint32_t dim = (uint32_t)k->map->at[c];
        struct emit_layout l = lower_in_layout(e, o, 0, dim);
        parts[c] = component(e, indices, k->vector_dim, c);
        if (!l.sharded || whole[dim])
            continue;
        if (l.size > INT32_MAX)
            return emit_reject(e, error, "dimension %u is sharded and has more than 2^31 elements", dim);
        struct emit_tensor inside, local, x = parts[c];
        if (k->reads)
            localize_read(e, &l, x, &local, &inside);
        else
            emit_localize(e, &l, x, &local, &inside);
        parts[c] = k->reads
                       ? local
                       : emit_select(e, inside, local, emit_integer(e, x.element, l.local, x.rank, x.dims));
        inside = drop_dim(e, inside, k->vector_dim);
        k->inside = k->any ? emit_binary(e, "stablehlo.and", k->inside, inside) : inside;
        k->any = true;
    }
    if (k->any)
        o->in[at] = k->vector_dim < indices.rank
                        ? emit_concatenate(e, parts, k->map->count, (uint32_t)k->vector_dim)
                        : parts[0];
    return ERROR_OK;
}

enum error_code lower_gather(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_gather g;
    if (ir_gather(e->program, o->op, &g) != 0)
        return emit_reject(e, error, "its dimension numbers cannot be read");
    bool whole[EMIT_MAX_RANK] = {false};
    for (uint32_t d = 0; d < o->in[0].rank; d++) {
        struct emit_layout l = lower_in_layout(e, o, 0, d);
        whole[d] = g.slice_sizes.at[d] == l.size;
        if (l.sharded && whole[d] && l.size > 1)
            g.slice_sizes.at[d] = l.local;
        else if (l.sharded && g.slice_sizes.at[d] != 1)
            return emit_reject(e, error, "dimension %u is sharded and read in slices of %lld", d,
                               (long long)g.slice_sizes.at[d]);
        else if (l.sharded && !contains(&g.start_index_map, d) && !contains(&g.operand_batch, d))
            return emit_reject(e, error, "dimension %u is sharded, but only its first element is read", d);
    }
    lower_set_ints(e, o, "slice_sizes", g.slice_sizes.at, g.slice_sizes.count);
    struct lookup k = {.map = &g.start_index_map, .vector_dim = g.index_vector_dim, .reads = true};
    enum error_code code = localize_indices(e, o, 1, &k, whole, error);
    if (!code && k.any)
        emit_attr_set(e, o->attrs, &o->attr_count, "indices_are_sorted", ir_build_bool(e->b, false));
    if (!code)
        code = lower_as_is(e, o, error);
    if (code || !k.any)
        return code;
    int64_t map[EMIT_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < o->out[0].rank; d++)
        if (!contains(&g.offset_dims, d))
            map[n++] = d;
    struct emit_tensor *out = &o->out[0], mask = emit_broadcast(e, k.inside, out->rank, out->dims, map);
    *out = emit_select(e, mask, *out, emit_zeros(e, out->element, out->rank, out->dims));
    return ERROR_OK;
}

/* Windows over a sharded dim are either the whole of it (local here too: they fit at position 0 only, there
 * as here) or one element. */
static enum error_code scatter_windows(struct emit *e, struct lower_op *o, const struct ir_scatter *s,
                                       bool *whole, struct error *error)
{
    uint32_t window = 0, updates = s->input_count + 1;
    const struct ir_type *t = ir_value_type(e->program, ir_operand(e->program, o->op, updates));
    const int64_t *sizes = ir_type_dims(e->program, t);
    for (uint32_t d = 0; d < o->in[0].rank; d++) {
        whole[d] = false;
        bool outside_window = contains(&s->inserted_window_dims, d) || contains(&s->input_batch, d);
        struct emit_layout l = lower_in_layout(e, o, 0, d);
        int64_t size = outside_window ? 1 : sizes[s->update_window_dims.at[window]];
        int64_t local = outside_window ? 1 : o->in[updates].dims[s->update_window_dims.at[window]];
        window += !outside_window;
        if (!l.sharded || contains(&s->input_batch, d))
            continue;
        whole[d] = size == l.size && local == l.local;
        if (!whole[d] && size != 1)
            return emit_reject(e, error, "dimension %u is sharded and written in windows of %lld", d,
                               (long long)size);
        if (!whole[d] && !contains(&s->dims_to_operand, d))
            return emit_reject(e, error, "dimension %u is sharded, but only its first element is written", d);
    }
    return ERROR_OK;
}

enum error_code lower_scatter(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_scatter s;
    bool whole[EMIT_MAX_RANK];
    if (ir_scatter(e->program, o->op, &s) != 0)
        return emit_reject(e, error, "its dimension numbers cannot be read");
    enum error_code code = scatter_windows(e, o, &s, whole, error);
    struct lookup k = {.map = &s.dims_to_operand, .vector_dim = s.index_vector_dim};
    if (!code)
        code = localize_indices(e, o, s.input_count, &k, whole, error);
    if (!code && k.any) { /* all positions of other devices are now the same one, which is dropped */
        emit_attr_set(e, o->attrs, &o->attr_count, "indices_are_sorted", ir_build_bool(e->b, false));
        emit_attr_set(e, o->attrs, &o->attr_count, "unique_indices", ir_build_bool(e->b, false));
    }
    for (uint32_t i = 0; i < s.input_count && !code && o->step->mask_initial; i++)
        code = lower_mask_initial(e, o, i, error);
    return code ? code : lower_as_is(e, o, error);
}

/* ---------------------------------------------------------------- dynamic slice and update */
enum error_code lower_dynamic_slice(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_dims sizes;
    struct emit_tensor inside = {.value = IR_NONE};
    if (ir_dims(e->program, o->op, "slice_sizes", &sizes) != 0)
        return emit_reject(e, error, "its sizes cannot be read");
    for (uint32_t d = 0; d < sizes.count; d++) {
        struct emit_layout l = lower_in_layout(e, o, 0, d);
        if (!l.sharded)
            continue;
        if (sizes.at[d] == l.size) { /* the op clamps its start to 0, globally and here */
            sizes.at[d] = l.local;
            o->in[d + 1] = emit_integer(e, o->in[d + 1].element, 0, 0, NULL);
            continue;
        }
        if (sizes.at[d] != 1 || l.size > INT32_MAX)
            return emit_reject(e, error, "dimension %u is sharded and read in slices of %lld", d,
                               (long long)sizes.at[d]);
        struct emit_tensor here;
        localize_read(e, &l, widened(e, o->in[d + 1]), &o->in[d + 1], &here);
        inside = inside.value == IR_NONE ? here : emit_binary(e, "stablehlo.and", inside, here);
    }
    /* positions are one type for all dims */
    for (uint32_t d = 0; d < sizes.count && inside.value != IR_NONE; d++)
        o->in[d + 1] = widened(e, o->in[d + 1]);
    lower_set_ints(e, o, "slice_sizes", sizes.at, sizes.count);
    enum error_code code = lower_as_is(e, o, error);
    if (!code && inside.value != IR_NONE)
        o->out[0] = emit_select(e, inside, o->out[0],
                                emit_zeros(e, o->out[0].element, o->out[0].rank, o->out[0].dims));
    return code;
}

/* Updates of one element along every sharded touched dim: where the position is not here, what stands at some
 * position here is written back. The operand stays updatable in place. */
static struct emit_tensor update_element(struct emit *e, const struct lower_op *o, struct emit_tensor inside)
{
    struct emit_tensor old = emit_dynamic_slice(e, o->in[0], o->in + 2, o->in[1].dims);
    return emit_dynamic_update(e, o->in[0], emit_select(e, inside, o->in[1], old), o->in + 2);
}

/* A block of several elements may lie across devices: written into the local part widened by the block's size
 * on both sides, of which the middle is kept. Positions further out clamp into the margins. */
static enum error_code update_block(struct emit *e, struct lower_op *o, uint32_t dim,
                                    const struct emit_layout *l, struct error *error)
{
    int64_t width = o->in[1].dims[dim];
    struct emit_tensor x = emit_pad_zeros(e, o->in[0], dim, width, width);
    struct emit_tensor start = clamped(e, o->in[dim + 2], l->size - width);
    if (!l->contiguous)
        return emit_reject(e, error, "a block of dimension %u is written whose elements do not lie together",
                           dim);
    start = emit_convert(e, start, IR_I32);
    start = emit_binary(e, "stablehlo.subtract", start, emit_layout_offset(e, l));
    start = emit_binary(e, "stablehlo.add", start, emit_integer(e, IR_I32, width, 0, NULL));
    start = clamped(e, start, l->local + width);
    for (uint32_t d = 0; d < x.rank; d++)
        o->in[d + 2] = d == dim ? start : emit_convert(e, o->in[d + 2], IR_I32);
    x = emit_dynamic_update(e, x, o->in[1], o->in + 2);
    o->out[0] = emit_slice(e, x, dim, width, width + l->local);
    return ERROR_OK;
}

enum error_code lower_dynamic_update(struct emit *e, struct lower_op *o, struct error *error)
{
    const struct ir_type *t = ir_value_type(e->program, ir_operand(e->program, o->op, 1));
    const int64_t *width = ir_type_dims(e->program, t);
    struct emit_tensor inside = {.value = IR_NONE};
    uint32_t block = IR_NONE, elements = 0;
    struct emit_layout block_layout;
    for (uint32_t d = 0; d < o->in[0].rank; d++) {
        struct emit_layout l = lower_in_layout(e, o, 0, d);
        o->in[d + 2] = widened(e, o->in[d + 2]);
        if (l.sharded && width[d] == l.size)
            o->in[d + 2] = emit_integer(e, o->in[d + 2].element, 0, 0, NULL);
        if (!l.sharded || width[d] == l.size)
            continue;
        if (lower_in_layout(e, o, 1, d).sharded || l.size > INT32_MAX)
            return emit_reject(e, error, "dimension %u of the update is sharded", d);
        if (width[d] > 1) {
            if (block != IR_NONE)
                return emit_reject(e, error, "blocks across two sharded dimensions are written");
            block = d;
            block_layout = l;
            continue;
        }
        struct emit_tensor here;
        localize_read(e, &l, o->in[d + 2], &o->in[d + 2], &here);
        inside = elements++ ? emit_binary(e, "stablehlo.and", inside, here) : here;
    }
    if (block != IR_NONE && elements)
        return emit_reject(e, error, "blocks across two sharded dimensions are written");
    if (block != IR_NONE)
        return update_block(e, o, block, &block_layout, error);
    if (!elements)
        return lower_as_is(e, o, error);
    o->out[0] = update_element(e, o, inside);
    return ERROR_OK;
}

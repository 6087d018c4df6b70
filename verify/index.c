/* gather and scatter.
 *
 * Both walk over index positions (the dimensions of `indices` without index_vector_dim); the index vector
 * at each places a window in the operand. gather copies the window to the batched side, scatter combines it
 * the other way:
 *
 *     indices[position] -> start -> window in the operand <-- scatter | gather --> batched side
 *
 * A gather clamps its window into the operand; a scatter drops a window that does not lie wholly inside, as
 * XLA does. Scatters apply updates in row-major order of the positions; sums of floats are kept in double
 * and rounded once. */
#include "verify/value.h"

#include <stdlib.h>
#include <string.h>

struct walk {
    /* index positions: indices' dimensions without index_vector_dim, and the batched side's dimensions for
     * them */
    uint32_t positions_rank;
    int64_t sizes[IR_MAX_RANK], index_strides[IR_MAX_RANK], side_strides[IR_MAX_RANK];
    int64_t vector_stride;
    uint32_t vector_count;
    int64_t vector_dim[IR_MAX_RANK]; /* operand dimension of each index component */
    uint32_t batch_count;
    uint32_t batch_position[IR_MAX_RANK]; /* i-th batching pair: a coordinate of the position .. */
    int64_t batch_dim[IR_MAX_RANK];       /* .. is the coordinate in this operand dimension */
    /* window: operand dimensions that the window spans */
    uint32_t window_rank;
    int64_t window[IR_MAX_RANK], operand_window[IR_MAX_RANK], side_window[IR_MAX_RANK];
    int64_t operand_strides[IR_MAX_RANK],
        least_room[IR_MAX_RANK]; /* dims - window size, per operand dimension */
    uint32_t operand_rank;
};

struct numbers { /* dimension numbers, which gather and scatter name differently */
    const struct ir_dims *side_window_dims, *dropped, *operand_batch, *indices_batch, *map;
    int64_t vector_dim;
    const int64_t *window_sizes; /* per operand dimension */
};

static bool contains(const struct ir_dims *list, int64_t dim)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i] == dim)
            return true;
    return false;
}

/* false: the shapes do not fit */
static bool walk_windows(struct walk *w, const struct numbers *n, const int64_t *dims, uint32_t rank,
                         const int64_t *side_strides, const int64_t *side_dims)
{
    uint32_t at = 0;
    w->operand_rank = rank;
    verify_strides(rank, dims, w->operand_strides);
    for (uint32_t d = 0; d < rank; d++) {
        bool gone = contains(n->dropped, d) || contains(n->operand_batch, d);
        int64_t size = gone ? 1 : n->window_sizes[d];
        w->least_room[d] = dims[d] - size;
        if (size > dims[d] && dims[d] > 0)
            return false;
        if (gone)
            continue;
        if (at >= n->side_window_dims->count || side_dims[n->side_window_dims->at[at]] != size)
            return false;
        w->window[at] = size;
        w->operand_window[at] = w->operand_strides[d];
        w->side_window[at] = side_strides[n->side_window_dims->at[at]];
        at++;
    }
    w->window_rank = at;
    return at == n->side_window_dims->count;
}

static bool walk_make(const struct verify_state *s, struct walk *w, const struct numbers *n,
                      const struct verify_value *operand, const struct verify_value *indices,
                      const struct ir_type *side)
{
    const int64_t *index_dims = ir_type_dims(s->p, indices->type), *side_dims = ir_type_dims(s->p, side);
    int64_t index_strides[IR_MAX_RANK], side_strides[IR_MAX_RANK];
    uint32_t at = 0;
    memset(w, 0, sizeof *w);
    verify_strides(indices->type->rank, index_dims, index_strides);
    verify_strides(side->rank, side_dims, side_strides);
    uint32_t position_of[IR_MAX_RANK] = {0};
    for (uint32_t d = 0; d < indices->type->rank; d++) {
        if (d == (uint32_t)n->vector_dim)
            continue;
        position_of[d] = w->positions_rank;
        w->sizes[w->positions_rank] = index_dims[d];
        w->index_strides[w->positions_rank++] = index_strides[d];
    }
    for (uint32_t d = 0; d < side->rank; d++)
        if (!contains(n->side_window_dims, d)) {
            if (at >= w->positions_rank || side_dims[d] != w->sizes[at])
                return false;
            w->side_strides[at++] = side_strides[d];
        }
    bool implicit = n->vector_dim == indices->type->rank;
    w->vector_stride = implicit ? 0 : index_strides[n->vector_dim];
    w->vector_count = n->map->count;
    memcpy(w->vector_dim, n->map->at, sizeof w->vector_dim);
    w->batch_count = n->operand_batch->count;
    for (uint32_t i = 0; i < w->batch_count; i++) {
        w->batch_dim[i] = n->operand_batch->at[i];
        w->batch_position[i] = position_of[n->indices_batch->at[i]];
    }
    return at == w->positions_rank &&
           (implicit ? 1 : index_dims[n->vector_dim]) == (int64_t)w->vector_count &&
           walk_windows(w, n, ir_type_dims(s->p, operand->type), operand->type->rank, side_strides,
                        side_dims);
}

/* operand offset of the window at these coordinates; clamped, or -1 when it does not lie inside */
static int64_t window_at(const struct walk *w, const struct verify_value *indices, const int64_t *at,
                         bool clamp)
{
    int64_t from = 0, offset = 0;
    for (uint32_t i = 0; i < w->positions_rank; i++)
        from += at[i] * w->index_strides[i];
    for (uint32_t i = 0; i < w->batch_count; i++)
        offset += at[w->batch_position[i]] * w->operand_strides[w->batch_dim[i]];
    for (uint32_t i = 0; i < w->vector_count; i++) {
        int64_t d = w->vector_dim[i], room = w->least_room[d];
        int64_t x = verify_value_int(indices, from + (int64_t)i * w->vector_stride);
        if (indices->type->element == IR_UI64 && x < 0)
            x = INT64_MAX;
        if (!clamp && (x < 0 || x > room))
            return -1;
        offset += (x < 0 ? 0 : x > room ? room : x) * w->operand_strides[d];
    }
    return offset;
}

static bool next_position(const struct walk *w, int64_t *at, int64_t *side)
{
    for (uint32_t i = w->positions_rank; i-- > 0;) {
        *side += w->side_strides[i];
        if (++at[i] < w->sizes[i])
            return true;
        *side -= w->side_strides[i] * w->sizes[i];
        at[i] = 0;
    }
    return false;
}

static bool empty(const struct walk *w)
{
    for (uint32_t i = 0; i < w->positions_rank; i++)
        if (w->sizes[i] == 0)
            return true;
    for (uint32_t i = 0; i < w->window_rank; i++)
        if (w->window[i] == 0)
            return true;
    return false;
}

enum error_code verify_eval_gather(struct verify_state *s, uint32_t op, struct verify_value *in,
                                   struct verify_value *out, struct error *e)
{
    struct ir_gather g;
    struct walk w;
    if (s->p->ops[op].operand_count != 2 || ir_gather(s->p, op, &g) != 0)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "dimension numbers are missing or malformed");
    struct numbers n = {&g.offset_dims,     &g.collapsed_dims,  &g.operand_batch, &g.indices_batch,
                        &g.start_index_map, g.index_vector_dim, g.slice_sizes.at};
    if (!walk_make(s, &w, &n, &in[0], &in[1], out->type))
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "shapes do not fit the dimension numbers");
    verify_value_dense(s, &in[0]);
    verify_value_dense(s, &in[1]);
    verify_value_alloc(s, out, false);
    int64_t at[IR_MAX_RANK] = {0}, side = 0;
    size_t size = verify_element_size((enum ir_element)out->type->element);
    if (empty(&w))
        return ERROR_OK;
    do {
        int64_t from = window_at(&w, &in[1], at, true);
        verify_copy(size, w.window_rank, w.window, (char *)verify_data(out) + side * (int64_t)size,
                    w.side_window, (char *)verify_data(&in[0]) + from * (int64_t)size, w.operand_window);
    } while (next_position(&w, at, &side));
    return ERROR_OK;
}

/* ---------------------------------------------------------------- scatter */
/* sum of a float scatter, in double */
static void scatter_sum(struct verify_state *s, const struct walk *w, struct verify_value *in,
                        struct verify_value *out)
{
    enum ir_element element = (enum ir_element)out->type->element;
    int64_t n = verify_type_count(s, out->type), m = 1, own[IR_MAX_RANK];
    struct verify_buffer *owners[3];
    for (uint32_t i = 0; i < w->window_rank; i++)
        m *= w->window[i];
    double *sums = verify_scratch(s, (size_t)(n + 1) * sizeof *sums, &owners[0]);
    double *add = verify_scratch(s, (size_t)(m + 1) * sizeof *add, &owners[1]);
    void *raw = verify_scratch(s, (size_t)(m + 1) * sizeof *add, &owners[2]);
    int64_t *offsets = mem_alloc((size_t)(m + 1) * sizeof *offsets);
    verify_convert(element, verify_data(&in[0]), IR_F64, sums, n);
    verify_strides(w->window_rank, w->window, own);
    for (int64_t i = 0; i < m; i++) {
        int64_t rest = i;
        offsets[i] = 0;
        for (uint32_t d = 0; d < w->window_rank; d++) {
            offsets[i] += rest / own[d] * w->operand_window[d];
            rest %= own[d];
        }
    }
    int64_t at[IR_MAX_RANK] = {0}, side = 0;
    size_t size = verify_element_size(element);
    do {
        int64_t to = window_at(w, &in[1], at, false);
        if (to < 0)
            continue;
        verify_copy(size, w->window_rank, w->window, raw, own,
                    (char *)verify_data(&in[2]) + side * (int64_t)size, w->side_window);
        verify_convert(element, raw, IR_F64, add, m);
        for (int64_t i = 0; i < m; i++)
            sums[to + offsets[i]] += add[i];
    } while (next_position(w, at, &side));
    verify_value_alloc(s, out, false);
    verify_convert(IR_F64, sums, element, verify_data(out), n);
    for (int i = 0; i < 3; i++)
        verify_scratch_drop(s, owners[i]);
    free(offsets);
}

/* any combining body: the elements of the window and of the updates, side by side, through the lanes */
static void scatter_lanes(struct verify_state *s, const struct walk *w, struct verify_lanes *lanes,
                          uint32_t count, struct verify_value *in, struct verify_value *out)
{
    struct verify_array args[2 * IR_MAX_RANK];
    void *results[IR_MAX_RANK];
    struct verify_buffer *owners[2 * IR_MAX_RANK];
    int64_t m = 1, own[IR_MAX_RANK], at[IR_MAX_RANK] = {0}, side = 0;
    for (uint32_t i = 0; i < w->window_rank; i++)
        m *= w->window[i];
    verify_strides(w->window_rank, w->window, own);
    for (uint32_t k = 0; k < 2 * count; k++) {
        void *line = verify_scratch(s, (size_t)(m + 1) * IR_ELEMENT_BYTES, &owners[k]);
        args[k] = (struct verify_array){(enum ir_element)out[k % count].type->element, false, line};
        if (k < count)
            results[k] = line;
    }
    do {
        int64_t to = window_at(w, &in[count], at, false);
        if (to < 0)
            continue;
        for (uint32_t k = 0; k < 2 * count; k++) {
            int64_t size = (int64_t)verify_element_size(args[k].element);
            char *line = (char *)(uintptr_t)args[k].data;
            if (k < count)
                verify_copy((size_t)size, w->window_rank, w->window, line, own,
                            (char *)verify_data(&out[k]) + to * size, w->operand_window);
            else
                verify_copy((size_t)size, w->window_rank, w->window, line, own,
                            (char *)verify_data(&in[k + 1]) + side * size, w->side_window);
        }
        verify_lanes_run(lanes, args, m, results);
        for (uint32_t k = 0; k < count; k++) {
            int64_t size = (int64_t)verify_element_size(args[k].element);
            verify_copy((size_t)size, w->window_rank, w->window, (char *)verify_data(&out[k]) + to * size,
                        w->operand_window, results[k], own);
        }
    } while (next_position(w, at, &side));
    for (uint32_t k = 0; k < 2 * count; k++)
        verify_scratch_drop(s, owners[k]);
}

enum error_code verify_eval_scatter(struct verify_state *s, uint32_t op, struct verify_value *in,
                                    struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    struct ir_scatter c;
    struct walk w;
    int64_t sizes[IR_MAX_RANK];
    uint32_t at = 0;
    if (ir_scatter(s->p, op, &c) != 0 || c.input_count < 1 || c.input_count > IR_MAX_RANK / 2 ||
        o->operand_count != 2 * c.input_count + 1 || o->result_count != c.input_count)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e,
                           "operands, results and dimension numbers do not fit");
    const struct ir_type *updates = in[c.input_count + 1].type;
    for (uint32_t d = 0; d < in->type->rank; d++) {
        bool gone = contains(&c.inserted_window_dims, d) || contains(&c.input_batch, d);
        bool there = !gone && at < c.update_window_dims.count;
        sizes[d] = there ? ir_type_dims(s->p, updates)[c.update_window_dims.at[at++]] : 1;
    }
    struct numbers n = {&c.update_window_dims, &c.inserted_window_dims, &c.input_batch, &c.indices_batch,
                        &c.dims_to_operand,    c.index_vector_dim,      sizes};
    if (!walk_make(s, &w, &n, &in[0], &in[c.input_count], updates))
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "shapes do not fit the dimension numbers");
    for (uint32_t i = 0; i < o->operand_count; i++)
        verify_value_dense(s, &in[i]);
    enum verify_store store = verify_store_of((enum ir_element)in->type->element);
    bool nothing = empty(&w);
    if (!nothing && c.input_count == 1 && ir_region_reducer(s->p, op, 0) == IR_ADD &&
        (store == VERIFY_F32 || store == VERIFY_F64)) {
        scatter_sum(s, &w, in, out);
        return ERROR_OK;
    }
    struct verify_lanes *lanes = NULL;
    enum error_code code = verify_lanes_create(s, op, 0, &lanes, e);
    for (uint32_t k = 0; k < c.input_count && !code; k++) {
        verify_value_alloc(s, &out[k], false);
        memcpy(verify_data(&out[k]), verify_data(&in[k]),
               (size_t)verify_type_count(s, out[k].type) *
                   verify_element_size((enum ir_element)out[k].type->element));
    }
    if (!code && !nothing)
        scatter_lanes(s, &w, lanes, c.input_count, in, out);
    verify_lanes_destroy(s, lanes);
    return code;
}

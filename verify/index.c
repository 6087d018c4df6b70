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

/* false: the shapes do not fit */
static bool walk_windows(struct walk *walk, const struct numbers *n, const int64_t *dims, uint32_t rank,
                         const int64_t *side_strides, const int64_t *side_dims)
{
    uint32_t at = 0;
    walk->operand_rank = rank;
    verify_strides(rank, dims, walk->operand_strides);
    for (uint32_t dim = 0; dim < rank; dim++) {
        bool gone = ir_dims_has(n->dropped, dim) || ir_dims_has(n->operand_batch, dim);
        int64_t size = gone ? 1 : n->window_sizes[dim];
        walk->least_room[dim] = dims[dim] - size;
        if (size > dims[dim] && dims[dim] > 0)
            return false;
        if (gone)
            continue;
        if (at >= n->side_window_dims->count || side_dims[n->side_window_dims->at[at]] != size)
            return false;
        walk->window[at] = size;
        walk->operand_window[at] = walk->operand_strides[dim];
        walk->side_window[at] = side_strides[n->side_window_dims->at[at]];
        at++;
    }
    walk->window_rank = at;
    return at == n->side_window_dims->count;
}

static bool walk_make(const struct verify_state *state, struct walk *walk, const struct numbers *n,
                      const struct verify_value *operand, const struct verify_value *indices,
                      const struct ir_type *side)
{
    const int64_t *index_dims = ir_type_dims(state->program, indices->type),
                  *side_dims = ir_type_dims(state->program, side);
    int64_t index_strides[IR_MAX_RANK], side_strides[IR_MAX_RANK];
    uint32_t at = 0;
    memset(walk, 0, sizeof *walk);
    verify_strides(indices->type->rank, index_dims, index_strides);
    verify_strides(side->rank, side_dims, side_strides);
    uint32_t position_of[IR_MAX_RANK] = {0};
    for (uint32_t dim = 0; dim < indices->type->rank; dim++) {
        if (dim == (uint32_t)n->vector_dim)
            continue;
        position_of[dim] = walk->positions_rank;
        walk->sizes[walk->positions_rank] = index_dims[dim];
        walk->index_strides[walk->positions_rank++] = index_strides[dim];
    }
    for (uint32_t dim = 0; dim < side->rank; dim++)
        if (!ir_dims_has(n->side_window_dims, dim)) {
            if (at >= walk->positions_rank || side_dims[dim] != walk->sizes[at])
                return false;
            walk->side_strides[at++] = side_strides[dim];
        }
    bool implicit = n->vector_dim == indices->type->rank;
    walk->vector_stride = implicit ? 0 : index_strides[n->vector_dim];
    walk->vector_count = n->map->count;
    memcpy(walk->vector_dim, n->map->at, sizeof walk->vector_dim);
    walk->batch_count = n->operand_batch->count;
    for (uint32_t i = 0; i < walk->batch_count; i++) {
        walk->batch_dim[i] = n->operand_batch->at[i];
        walk->batch_position[i] = position_of[n->indices_batch->at[i]];
    }
    return at == walk->positions_rank &&
           (implicit ? 1 : index_dims[n->vector_dim]) == (int64_t)walk->vector_count &&
           walk_windows(walk, n, ir_type_dims(state->program, operand->type), operand->type->rank,
                        side_strides, side_dims);
}

/* operand offset of the window at these coordinates; clamped, or -1 when it does not lie inside */
static int64_t window_at(const struct walk *walk, const struct verify_value *indices, const int64_t *at,
                         bool clamp)
{
    int64_t from = 0, offset = 0;
    for (uint32_t i = 0; i < walk->positions_rank; i++)
        from += at[i] * walk->index_strides[i];
    for (uint32_t i = 0; i < walk->batch_count; i++)
        offset += at[walk->batch_position[i]] * walk->operand_strides[walk->batch_dim[i]];
    for (uint32_t i = 0; i < walk->vector_count; i++) {
        int64_t d = walk->vector_dim[i], room = walk->least_room[d];
        int64_t x = verify_value_int(indices, from + (int64_t)i * walk->vector_stride);
        if (indices->type->element == IR_UI64 && x < 0)
            x = INT64_MAX;
        if (!clamp && (x < 0 || x > room))
            return -1;
        offset += (x < 0 ? 0 : x > room ? room : x) * walk->operand_strides[d];
    }
    return offset;
}

static bool next_position(const struct walk *walk, int64_t *at, int64_t *side)
{
    for (uint32_t i = walk->positions_rank; i-- > 0;) {
        *side += walk->side_strides[i];
        if (++at[i] < walk->sizes[i])
            return true;
        *side -= walk->side_strides[i] * walk->sizes[i];
        at[i] = 0;
    }
    return false;
}

static bool empty(const struct walk *walk)
{
    for (uint32_t i = 0; i < walk->positions_rank; i++)
        if (walk->sizes[i] == 0)
            return true;
    for (uint32_t i = 0; i < walk->window_rank; i++)
        if (walk->window[i] == 0)
            return true;
    return false;
}

enum error_code verify_eval_gather(struct verify_state *state, uint32_t op, struct verify_value *in,
                                   struct verify_value *out, struct error *e)
{
    struct ir_gather gather;
    struct walk walk;
    if (state->program->ops[op].operand_count != 2 || ir_gather(state->program, op, &gather) != 0)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "dimension numbers are missing or malformed");
    struct numbers n = {&gather.offset_dims,   &gather.collapsed_dims,  &gather.operand_batch,
                        &gather.indices_batch, &gather.start_index_map, gather.index_vector_dim,
                        gather.slice_sizes.at};
    if (!walk_make(state, &walk, &n, &in[0], &in[1], out->type))
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "shapes do not fit the dimension numbers");
    verify_value_dense(state, &in[0]);
    verify_value_dense(state, &in[1]);
    verify_value_alloc(state, out, false);
    int64_t at[IR_MAX_RANK] = {0}, side = 0;
    size_t size = verify_element_size((enum ir_element)out->type->element);
    if (empty(&walk))
        return ERROR_OK;
    do {
        int64_t from = window_at(&walk, &in[1], at, true);
        verify_copy(size, walk.window_rank, walk.window, (char *)verify_data(out) + side * (int64_t)size,
                    walk.side_window, (char *)verify_data(&in[0]) + from * (int64_t)size,
                    walk.operand_window);
    } while (next_position(&walk, at, &side));
    return ERROR_OK;
}

/* ---------------------------------------------------------------- scatter */
/* sum of a float scatter, in double */
static void scatter_sum(struct verify_state *state, const struct walk *walk, struct verify_value *in,
                        struct verify_value *out)
{
    enum ir_element element = (enum ir_element)out->type->element;
    int64_t n = verify_type_count(state, out->type), m = 1, own[IR_MAX_RANK];
    struct verify_buffer *owners[3];
    for (uint32_t i = 0; i < walk->window_rank; i++)
        m *= walk->window[i];
    double *sums = verify_scratch(state, (size_t)(n + 1) * sizeof *sums, &owners[0]);
    double *add = verify_scratch(state, (size_t)(m + 1) * sizeof *add, &owners[1]);
    void *raw = verify_scratch(state, (size_t)(m + 1) * sizeof *add, &owners[2]);
    int64_t *offsets = mem_alloc((size_t)(m + 1) * sizeof *offsets);
    verify_convert(element, verify_data(&in[0]), IR_F64, sums, n);
    verify_strides(walk->window_rank, walk->window, own);
    for (int64_t i = 0; i < m; i++) {
        int64_t rest = i;
        offsets[i] = 0;
        for (uint32_t d = 0; d < walk->window_rank; d++) {
            offsets[i] += rest / own[d] * walk->operand_window[d];
            rest %= own[d];
        }
    }
    int64_t at[IR_MAX_RANK] = {0}, side = 0;
    size_t size = verify_element_size(element);
    do {
        int64_t to = window_at(walk, &in[1], at, false);
        if (to < 0)
            continue;
        verify_copy(size, walk->window_rank, walk->window, raw, own,
                    (char *)verify_data(&in[2]) + side * (int64_t)size, walk->side_window);
        verify_convert(element, raw, IR_F64, add, m);
        for (int64_t i = 0; i < m; i++)
            sums[to + offsets[i]] += add[i];
    } while (next_position(walk, at, &side));
    verify_value_alloc(state, out, false);
    verify_convert(IR_F64, sums, element, verify_data(out), n);
    for (int i = 0; i < 3; i++)
        verify_scratch_drop(state, owners[i]);
    free(offsets);
}

/* any combining body: the elements of the window and of the updates, side by side, through the lanes */
static void scatter_lanes(struct verify_state *state, const struct walk *walk, struct verify_lanes *lanes,
                          uint32_t count, struct verify_value *in, struct verify_value *out)
{
    struct verify_array args[2 * IR_MAX_RANK];
    void *results[IR_MAX_RANK];
    struct verify_buffer *owners[2 * IR_MAX_RANK];
    int64_t m = 1, own[IR_MAX_RANK], at[IR_MAX_RANK] = {0}, side = 0;
    for (uint32_t i = 0; i < walk->window_rank; i++)
        m *= walk->window[i];
    verify_strides(walk->window_rank, walk->window, own);
    for (uint32_t k = 0; k < 2 * count; k++) {
        void *line = verify_scratch(state, (size_t)(m + 1) * IR_ELEMENT_BYTES, &owners[k]);
        args[k] = (struct verify_array){(enum ir_element)out[k % count].type->element, false, line};
        if (k < count)
            results[k] = line;
    }
    do {
        int64_t to = window_at(walk, &in[count], at, false);
        if (to < 0)
            continue;
        for (uint32_t k = 0; k < 2 * count; k++) {
            int64_t size = (int64_t)verify_element_size(args[k].element);
            char *line = (char *)(uintptr_t)args[k].data;
            if (k < count)
                verify_copy((size_t)size, walk->window_rank, walk->window, line, own,
                            (char *)verify_data(&out[k]) + to * size, walk->operand_window);
            else
                verify_copy((size_t)size, walk->window_rank, walk->window, line, own,
                            (char *)verify_data(&in[k + 1]) + side * size, walk->side_window);
        }
        verify_lanes_run(lanes, args, m, results);
        for (uint32_t k = 0; k < count; k++) {
            int64_t size = (int64_t)verify_element_size(args[k].element);
            verify_copy((size_t)size, walk->window_rank, walk->window,
                        (char *)verify_data(&out[k]) + to * size, walk->operand_window, results[k], own);
        }
    } while (next_position(walk, at, &side));
    for (uint32_t k = 0; k < 2 * count; k++)
        verify_scratch_drop(state, owners[k]);
}

enum error_code verify_eval_scatter(struct verify_state *state, uint32_t op, struct verify_value *in,
                                    struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    struct ir_scatter scatter;
    struct walk walk;
    int64_t sizes[IR_MAX_RANK];
    uint32_t at = 0;
    if (ir_scatter(state->program, op, &scatter) != 0 || scatter.input_count < 1 ||
        scatter.input_count > IR_MAX_RANK / 2 || ir_op->operand_count != 2 * scatter.input_count + 1 ||
        ir_op->result_count != scatter.input_count)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "operands, results and dimension numbers do not fit");
    const struct ir_type *updates = in[scatter.input_count + 1].type;
    for (uint32_t dim = 0; dim < in->type->rank; dim++) {
        bool gone = ir_dims_has(&scatter.inserted_window_dims, dim) || ir_dims_has(&scatter.input_batch, dim);
        bool there = !gone && at < scatter.update_window_dims.count;
        sizes[dim] = there ? ir_type_dims(state->program, updates)[scatter.update_window_dims.at[at++]] : 1;
    }
    struct numbers n = {&scatter.update_window_dims,
                        &scatter.inserted_window_dims,
                        &scatter.input_batch,
                        &scatter.indices_batch,
                        &scatter.dims_to_operand,
                        scatter.index_vector_dim,
                        sizes};
    if (!walk_make(state, &walk, &n, &in[0], &in[scatter.input_count], updates))
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "shapes do not fit the dimension numbers");
    for (uint32_t i = 0; i < ir_op->operand_count; i++)
        verify_value_dense(state, &in[i]);
    enum verify_store store = verify_store_of((enum ir_element)in->type->element);
    bool nothing = empty(&walk);
    if (!nothing && scatter.input_count == 1 && ir_region_reducer(state->program, op, 0) == IR_ADD &&
        (store == VERIFY_F32 || store == VERIFY_F64)) {
        scatter_sum(state, &walk, in, out);
        return ERROR_OK;
    }
    struct verify_lanes *lanes = NULL;
    enum error_code code = verify_lanes_create(state, op, 0, &lanes, e);
    for (uint32_t k = 0; k < scatter.input_count && !code; k++) {
        verify_value_alloc(state, &out[k], false);
        memcpy(verify_data(&out[k]), verify_data(&in[k]),
               (size_t)verify_type_count(state, out[k].type) *
                   verify_element_size((enum ir_element)out[k].type->element));
    }
    if (!code && !nothing)
        scatter_lanes(state, &walk, lanes, scatter.input_count, in, out);
    verify_lanes_destroy(state, lanes);
    return code;
}

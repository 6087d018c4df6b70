/* Checks of gather and scatter: their dimension numbers against the operands' shapes (check.h). Index
 * *values* are data and never checked here. */
#include "ir/check.h"

static bool holds(const struct ir_dims *d, int64_t x)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->at[i] == x)
            return true;
    return false;
}

/* sizes of the index array without the index vector dimension; its length is returned in *vector */
static enum error_code index_shape(const struct ir_check *c, const struct ir_type *t, int64_t vector_dim,
                                   struct ir_dims *batch, int64_t *vector)
{
    IR_NEED(vector_dim >= 0 && vector_dim <= t->rank, "index_vector_dim %lld is out of range",
            (long long)vector_dim);
    batch->count = 0;
    *vector = vector_dim == t->rank ? 1 : dims_of(c, t)[vector_dim];
    for (uint32_t d = 0; d < t->rank; d++)
        if (d != vector_dim)
            batch->at[batch->count++] = dims_of(c, t)[d];
    return ERROR_OK;
}

enum error_code ir_check_gather(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 2, 1));
    struct ir_gather g;
    struct ir_dims batch;
    int64_t vector, sizes[2 * IR_MAX_RANK];
    const struct ir_type *in = operand_type(c, 0), *out = result_type(c, 0);
    IR_NEED(ir_gather(c->p, c->op, &g) == 0, "dimension_numbers or slice_sizes are missing or malformed");
    TRY(index_shape(c, operand_type(c, 1), g.index_vector_dim, &batch, &vector));
    IR_NEED(g.slice_sizes.count == in->rank, "slice_sizes needs an entry for each operand dimension");
    TRY(ir_need_dims(c, "start_index_map", &g.start_index_map, in->rank));
    TRY(ir_need_dims(c, "collapsed_slice_dims", &g.collapsed_dims, in->rank));
    TRY(ir_need_dims(c, "operand_batching_dims", &g.operand_batch, in->rank));
    TRY(ir_need_dims(c, "start_indices_batching_dims", &g.indices_batch, operand_type(c, 1)->rank));
    TRY(ir_need_dims(c, "offset_dims", &g.offset_dims, out->rank));
    IR_NEED((uint64_t)vector == g.start_index_map.count && g.operand_batch.count == g.indices_batch.count,
            "start_index_map or batching dimensions do not fit the indices");
    uint32_t window = 0, index = 0;
    struct ir_dims kept = {.count = 0};
    for (uint32_t d = 0; d < in->rank; d++) {
        bool dropped = holds(&g.collapsed_dims, d) || holds(&g.operand_batch, d);
        IR_NEED(g.slice_sizes.at[d] >= 0 && g.slice_sizes.at[d] <= dims_of(c, in)[d] &&
                    (!dropped || g.slice_sizes.at[d] <= 1),
                "slice size %lld of dimension %u is out of range", (long long)g.slice_sizes.at[d], d);
        IR_NEED(!(holds(&g.collapsed_dims, d) && holds(&g.operand_batch, d)),
                "dimension %u is both collapsed and batching", d);
        if (!dropped)
            kept.at[kept.count++] = g.slice_sizes.at[d];
    }
    for (uint32_t i = 0; i < g.indices_batch.count; i++)
        IR_NEED(g.indices_batch.at[i] != g.index_vector_dim &&
                    dims_of(c, operand_type(c, 1))[g.indices_batch.at[i]] ==
                        dims_of(c, in)[g.operand_batch.at[i]],
                "batching dimension %u differs in size", i);
    IR_NEED(kept.count == g.offset_dims.count && out->rank == kept.count + batch.count,
            "offset_dims do not fit the slices");
    for (uint32_t d = 0; d < out->rank; d++)
        sizes[d] = holds(&g.offset_dims, d) ? kept.at[window++] : batch.at[index++];
    return ir_need_result(c, 0, out->rank, sizes);
}

enum error_code ir_check_scatter(const struct ir_check *c)
{
    struct ir_scatter s;
    struct ir_dims batch;
    int64_t vector;
    IR_NEED(ir_scatter(c->p, c->op, &s) == 0 && c->o->result_count == s.input_count,
            "scatter_dimension_numbers, operands or results are malformed");
    const struct ir_type *in = operand_type(c, 0), *indices = operand_type(c, s.input_count);
    const struct ir_type *updates = operand_type(c, s.input_count + 1);
    TRY(index_shape(c, indices, s.index_vector_dim, &batch, &vector));
    TRY(ir_need_dims(c, "update_window_dims", &s.update_window_dims, updates->rank));
    TRY(ir_need_dims(c, "inserted_window_dims", &s.inserted_window_dims, in->rank));
    TRY(ir_need_dims(c, "input_batching_dims", &s.input_batch, in->rank));
    TRY(ir_need_dims(c, "scatter_indices_batching_dims", &s.indices_batch, indices->rank));
    TRY(ir_need_dims(c, "scatter_dims_to_operand_dims", &s.dims_to_operand, in->rank));
    IR_NEED((uint64_t)vector == s.dims_to_operand.count && s.input_batch.count == s.indices_batch.count,
            "scatter_dims_to_operand_dims or batching dimensions do not fit the indices");
    IR_NEED(s.update_window_dims.count + s.inserted_window_dims.count + s.input_batch.count == in->rank &&
                updates->rank == batch.count + s.update_window_dims.count,
            "window dimensions do not add up to the operand's rank");
    for (uint32_t i = 0; i < s.indices_batch.count; i++)
        IR_NEED(s.indices_batch.at[i] != s.index_vector_dim &&
                    dims_of(c, indices)[s.indices_batch.at[i]] == dims_of(c, in)[s.input_batch.at[i]],
                "batching dimension %u differs in size", i);
    uint32_t window = 0, index = 0;
    for (uint32_t d = 0; d < updates->rank; d++) {
        if (!holds(&s.update_window_dims, d)) {
            IR_NEED(dims_of(c, updates)[d] == batch.at[index++],
                    "update dimension %u does not fit the indices", d);
            continue;
        }
        while (window < in->rank && (holds(&s.inserted_window_dims, window) || holds(&s.input_batch, window)))
            window++;
        IR_NEED(window < in->rank && dims_of(c, updates)[d] <= dims_of(c, in)[window],
                "update dimension %u exceeds the operand", d);
        window++;
    }
    for (uint32_t i = 0; i < s.input_count; i++) {
        IR_NEED(same_shape(c, operand_type(c, i), in) && same_shape(c, result_type(c, i), in) &&
                    same_shape(c, operand_type(c, s.input_count + 1 + i), updates),
                "inputs, updates or results differ in shape");
    }
    return ir_need_region(c, 0, 2 * s.input_count, s.input_count);
}

/* Checks of gather and scatter: their dimension numbers against the operands' shapes (check.h). Index
 * *values* are data and never checked here. */
#include "ir/check.h"

/* sizes of the index array without the index vector dimension; its length is returned in *vector */
static enum error_code index_shape(const struct ir_check *check, const struct ir_type *type,
                                   int64_t vector_dim, struct ir_dims *batch, int64_t *vector)
{
    IR_NEED(vector_dim >= 0 && vector_dim <= type->rank, "index_vector_dim %lld is out of range",
            (long long)vector_dim);
    batch->count = 0;
    *vector = vector_dim == type->rank ? 1 : dims_of(check, type)[vector_dim];
    for (uint32_t dim = 0; dim < type->rank; dim++)
        if (dim != vector_dim)
            batch->at[batch->count++] = dims_of(check, type)[dim];
    return ERROR_OK;
}

enum error_code ir_check_gather(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 2, 1));
    struct ir_gather gather;
    struct ir_dims batch;
    int64_t vector, sizes[2 * IR_MAX_RANK];
    const struct ir_type *in = operand_type(check, 0), *out = result_type(check, 0);
    IR_NEED(ir_gather(check->program, check->op, &gather) == 0,
            "dimension_numbers or slice_sizes are missing or malformed");
    TRY(index_shape(check, operand_type(check, 1), gather.index_vector_dim, &batch, &vector));
    IR_NEED(gather.slice_sizes.count == in->rank, "slice_sizes needs an entry for each operand dimension");
    TRY(ir_need_dims(check, "start_index_map", &gather.start_index_map, in->rank));
    TRY(ir_need_dims(check, "collapsed_slice_dims", &gather.collapsed_dims, in->rank));
    TRY(ir_need_dims(check, "operand_batching_dims", &gather.operand_batch, in->rank));
    TRY(ir_need_dims(check, "start_indices_batching_dims", &gather.indices_batch,
                     operand_type(check, 1)->rank));
    TRY(ir_need_dims(check, "offset_dims", &gather.offset_dims, out->rank));
    IR_NEED((uint64_t)vector == gather.start_index_map.count &&
                gather.operand_batch.count == gather.indices_batch.count,
            "start_index_map or batching dimensions do not fit the indices");
    uint32_t window = 0, index = 0;
    struct ir_dims kept = {.count = 0};
    for (uint32_t dim = 0; dim < in->rank; dim++) {
        bool dropped = ir_dims_has(&gather.collapsed_dims, dim) || ir_dims_has(&gather.operand_batch, dim);
        IR_NEED(gather.slice_sizes.at[dim] >= 0 && gather.slice_sizes.at[dim] <= dims_of(check, in)[dim] &&
                    (!dropped || gather.slice_sizes.at[dim] <= 1),
                "slice size %lld of dimension %u is out of range", (long long)gather.slice_sizes.at[dim],
                dim);
        IR_NEED(!(ir_dims_has(&gather.collapsed_dims, dim) && ir_dims_has(&gather.operand_batch, dim)),
                "dimension %u is both collapsed and batching", dim);
        if (!dropped)
            kept.at[kept.count++] = gather.slice_sizes.at[dim];
    }
    for (uint32_t i = 0; i < gather.indices_batch.count; i++)
        IR_NEED(gather.indices_batch.at[i] != gather.index_vector_dim &&
                    dims_of(check, operand_type(check, 1))[gather.indices_batch.at[i]] ==
                        dims_of(check, in)[gather.operand_batch.at[i]],
                "batching dimension %u differs in size", i);
    IR_NEED(kept.count == gather.offset_dims.count && out->rank == kept.count + batch.count,
            "offset_dims do not fit the slices");
    for (uint32_t dim = 0; dim < out->rank; dim++)
        sizes[dim] = ir_dims_has(&gather.offset_dims, dim) ? kept.at[window++] : batch.at[index++];
    return ir_need_result(check, 0, out->rank, sizes);
}

enum error_code ir_check_scatter(const struct ir_check *check)
{
    struct ir_scatter scatter;
    struct ir_dims batch;
    int64_t vector;
    IR_NEED(ir_scatter(check->program, check->op, &scatter) == 0 &&
                check->ir_op->result_count == scatter.input_count,
            "scatter_dimension_numbers, operands or results are malformed");
    const struct ir_type *in = operand_type(check, 0), *indices = operand_type(check, scatter.input_count);
    const struct ir_type *updates = operand_type(check, scatter.input_count + 1);
    TRY(index_shape(check, indices, scatter.index_vector_dim, &batch, &vector));
    TRY(ir_need_dims(check, "update_window_dims", &scatter.update_window_dims, updates->rank));
    TRY(ir_need_dims(check, "inserted_window_dims", &scatter.inserted_window_dims, in->rank));
    TRY(ir_need_dims(check, "input_batching_dims", &scatter.input_batch, in->rank));
    TRY(ir_need_dims(check, "scatter_indices_batching_dims", &scatter.indices_batch, indices->rank));
    TRY(ir_need_dims(check, "scatter_dims_to_operand_dims", &scatter.dims_to_operand, in->rank));
    IR_NEED((uint64_t)vector == scatter.dims_to_operand.count &&
                scatter.input_batch.count == scatter.indices_batch.count,
            "scatter_dims_to_operand_dims or batching dimensions do not fit the indices");
    IR_NEED(scatter.update_window_dims.count + scatter.inserted_window_dims.count +
                        scatter.input_batch.count ==
                    in->rank &&
                updates->rank == batch.count + scatter.update_window_dims.count,
            "window dimensions do not add up to the operand's rank");
    for (uint32_t i = 0; i < scatter.indices_batch.count; i++)
        IR_NEED(scatter.indices_batch.at[i] != scatter.index_vector_dim &&
                    dims_of(check, indices)[scatter.indices_batch.at[i]] ==
                        dims_of(check, in)[scatter.input_batch.at[i]],
                "batching dimension %u differs in size", i);
    uint32_t window = 0, index = 0;
    for (uint32_t dim = 0; dim < updates->rank; dim++) {
        if (!ir_dims_has(&scatter.update_window_dims, dim)) {
            IR_NEED(dims_of(check, updates)[dim] == batch.at[index++],
                    "update dimension %u does not fit the indices", dim);
            continue;
        }
        while (window < in->rank && (ir_dims_has(&scatter.inserted_window_dims, window) ||
                                     ir_dims_has(&scatter.input_batch, window)))
            window++;
        IR_NEED(window < in->rank && dims_of(check, updates)[dim] <= dims_of(check, in)[window],
                "update dimension %u exceeds the operand", dim);
        window++;
    }
    for (uint32_t i = 0; i < scatter.input_count; i++) {
        IR_NEED(same_shape(check, operand_type(check, i), in) &&
                    same_shape(check, result_type(check, i), in) &&
                    same_shape(check, operand_type(check, scatter.input_count + 1 + i), updates),
                "inputs, updates or results differ in shape");
    }
    return ir_need_region(check, 0, 2 * scatter.input_count, scatter.input_count);
}

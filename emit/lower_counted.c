/* Gather and scatter whose index vectors count (ir/counted.h), where a counted dimension is split: written
 * with batching dims and without the components that count. Each device then looks up in its own rows by its
 * own vectors; as they were, the positions of a block would have to be moved to where the block begins, and
 * XLA's partitioner would not know that they stay in it. */
#include "emit/lower.h"
#include "ir/counted.h"

/* the index vectors without the components in `counted`, which are not all there are */
static struct emit_tensor without(struct emit *e, struct emit_tensor indices, int64_t vector_dim,
                                  const struct ir_dims *counted)
{
    struct emit_tensor parts[IR_MAX_RANK];
    uint32_t count = 0, dim = (uint32_t)vector_dim;
    for (int64_t c = 0, end; c < indices.dims[dim]; c = end + 1) {
        for (end = c; end < indices.dims[dim] && !ir_dims_has(counted, end);)
            end++;
        if (end > c)
            parts[count++] = emit_slice(e, indices, dim, c, end);
    }
    return count == 1 ? parts[0] : emit_concatenate(e, parts, count, dim);
}

static bool splits_any(const struct emit *e, const struct lower_op *lower, const struct ir_dims *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if (lower_in_layout(e, lower, 0, (uint32_t)batch->at[i]).sharded)
            return true;
    return false;
}

/* the numbers that `text` begins with; the order of the vectors is another one now */
static void set_numbers(struct emit *e, struct lower_op *lower, const char *name, struct text *text,
                        int64_t index_vector_dim)
{
    if (index_vector_dim)
        text_printf(text, ", index_vector_dim = %lld", (long long)index_vector_dim);
    text_add(text, ">");
    emit_attr_set(e, lower->attrs, &lower->attr_count, name, ir_build_text(e->builder, text->at));
    text_release(text);
    emit_attr_set(e, lower->attrs, &lower->attr_count, "indices_are_sorted",
                  ir_build_bool(e->builder, false));
}

void lower_set_scatter(struct emit *e, struct lower_op *lower, const struct ir_scatter *scatter)
{
    struct text text = {0};
    text_add(&text, "#stablehlo.scatter<");
    annotate_add_dims(&text, "update_window_dims", &scatter->update_window_dims);
    annotate_add_dims(&text, "inserted_window_dims", &scatter->inserted_window_dims);
    annotate_add_dims(&text, "input_batching_dims", &scatter->input_batch);
    annotate_add_dims(&text, "scatter_indices_batching_dims", &scatter->indices_batch);
    annotate_add_dims(&text, "scatter_dims_to_operand_dims", &scatter->dims_to_operand);
    set_numbers(e, lower, "scatter_dimension_numbers", &text, scatter->index_vector_dim);
}

static void set_gather(struct emit *e, struct lower_op *lower, const struct ir_gather *gather)
{
    struct text text = {0};
    text_add(&text, "#stablehlo.gather<");
    annotate_add_dims(&text, "offset_dims", &gather->offset_dims);
    annotate_add_dims(&text, "collapsed_slice_dims", &gather->collapsed_dims);
    annotate_add_dims(&text, "operand_batching_dims", &gather->operand_batch);
    annotate_add_dims(&text, "start_indices_batching_dims", &gather->indices_batch);
    annotate_add_dims(&text, "start_index_map", &gather->start_index_map);
    set_numbers(e, lower, "dimension_numbers", &text, gather->index_vector_dim);
}

int lower_count_gather(struct emit *e, struct lower_op *lower, struct ir_gather *gather)
{
    struct ir_dims counted;
    if (ir_gather_counted(e->program, lower->op, gather, &counted) != 0)
        return -1;
    if (!counted.count || !splits_any(e, lower, &gather->operand_batch))
        return ir_gather(e->program, lower->op, gather);
    lower->in[1] = without(e, lower->in[1], gather->index_vector_dim, &counted);
    set_gather(e, lower, gather);
    return 0;
}

int lower_count_scatter(struct emit *e, struct lower_op *lower, struct ir_scatter *scatter)
{
    struct ir_dims counted;
    if (ir_scatter_counted(e->program, lower->op, scatter, &counted) != 0)
        return -1;
    if (!counted.count || !splits_any(e, lower, &scatter->input_batch))
        return ir_scatter(e->program, lower->op, scatter);
    uint32_t at = scatter->input_count;
    lower->in[at] = without(e, lower->in[at], scatter->index_vector_dim, &counted);
    lower_set_scatter(e, lower, scatter);
    return 0;
}

/* What windows demand of dimensions that shrink (shrink_finder.h): convolutions, reduce_window and
 * select_and_scatter. */
#include "analysis/shrink_finder.h"

#include "ir/attrs.h"

/* a dim of an input and the dim of what windows over it give, whose sizes are in the ratio of stride and
 * dilation: padding and window make up for each other at any size */
static void relate_windowed(struct shrink_finder *finder, uint32_t k, uint32_t dim, uint32_t l,
                            uint32_t other)
{
    shrink_relate_begin(finder);
    bool both = shrink_relate_dim(finder, k, dim);
    both = shrink_relate_dim(finder, l, other) && both;
    shrink_relate_end(finder, both, 0);
}

/* Of the three dims of a window two may shrink: input and result, or, where a kernel's gradient is summed,
 * input and kernel. */
static void find_spatial(struct shrink_finder *finder, const struct ir_conv *conv, uint32_t i)
{
    uint32_t input = (uint32_t)conv->input_spatial.at[i], kernel = (uint32_t)conv->kernel_spatial.at[i],
             output = (uint32_t)conv->output_spatial.at[i];
    const struct ir_window *window = &conv->window;
    int64_t n = shrink_dim_size(finder, 0, input) * window->base_dilation.at[i];
    struct shrink_range range;
    if (!shrink_dim_atoms(finder, 0, input, &range)) { /* one element */
        shrink_keep_dim(finder, 1, kernel);
        shrink_keep_dim(finder, 2, output);
        return;
    }
    if (!shrink_is_loose(finder, 0, range.first))
        return; /* a window that is one element wide ties its dims by itself */
    bool by_result = n == shrink_dim_size(finder, 2, output) * window->stride.at[i];
    bool by_kernel = !by_result && window->stride.at[i] == 1 &&
                     n == shrink_dim_size(finder, 1, kernel) * window->window_dilation.at[i];
    if (by_result)
        relate_windowed(finder, 0, input, 2, output);
    else if (by_kernel)
        relate_windowed(finder, 0, input, 1, kernel);
    else
        shrink_keep_dim(finder, 0, input);
    if (!by_kernel)
        shrink_keep_dim(finder, 1, kernel);
    if (!by_result)
        shrink_keep_dim(finder, 2, output);
}

/* batch and features: what groups of them leave untied stays (its sizes stand in the number of groups, which
 * follows from what is tied) */
static void find_features(struct shrink_finder *finder, const struct ir_conv *conv)
{
    int64_t dims[3][2] = {{conv->input_batch, conv->input_feature},
                          {conv->kernel_input, conv->kernel_output},
                          {conv->output_batch, conv->output_feature}};
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < 2; i++) {
            struct shrink_range range;
            if (!shrink_dim_atoms(finder, k, (uint32_t)dims[k][i], &range))
                continue;
            for (uint32_t at = range.first; at <= range.last; at++)
                if (shrink_is_loose(finder, k, at))
                    shrink_keep_atom(finder, at);
        }
}

void shrink_find_convolution(struct shrink_finder *finder)
{
    struct ir_conv conv;
    if (ir_conv(finder->n->program, finder->space->op, &conv) != 0) {
        shrink_keep_space(finder, true);
        return;
    }
    find_features(finder, &conv);
    for (uint32_t i = 0; i < conv.input_spatial.count; i++)
        find_spatial(finder, &conv, i);
}

/* One dim of a window: slot `large` is windowed over, `small` is what that gives. A window as long as its
 * operand is a running sum, which is as long, or takes all of it: its attribute is written anew. */
static void find_window(struct shrink_finder *finder, const struct ir_window *window, uint32_t large,
                        uint32_t small, uint32_t dim)
{
    int64_t n = shrink_dim_size(finder, large, dim), m = shrink_dim_size(finder, small, dim);
    bool plain = window->stride.at[dim] == 1 && window->base_dilation.at[dim] == 1 &&
                 window->window_dilation.at[dim] == 1 && window->size.at[dim] == n;
    int64_t low = window->low.at[dim], high = window->high.at[dim];
    if (plain && n == m && (low == 0 || high == 0) && low + high == n - 1)
        shrink_join_dims(finder, large, small, dim);
    else if (plain && m == 1 && low == 0 && high == 0)
        return;
    else if (n * window->base_dilation.at[dim] == m * window->stride.at[dim] && window->size.at[dim] < n)
        relate_windowed(finder, large, dim, small, dim);
    else {
        shrink_keep_dim(finder, large, dim);
        shrink_keep_dim(finder, small, dim);
    }
}

/* operands are alike, and so are results; of a select_and_scatter the result is as its operand */
void shrink_find_reduce_window(struct shrink_finder *finder)
{
    const struct ir_op *op = &finder->n->program->ops[finder->space->op];
    bool scatter = op->code == IR_SELECT_AND_SCATTER;
    uint32_t inputs = scatter ? 1 : op->operand_count / 2, result = op->operand_count;
    struct ir_window window;
    if (finder->space->slot_count != op->operand_count + op->result_count ||
        ir_reduce_window(finder->n->program, finder->space->op, &window) != 0) {
        shrink_keep_space(finder, false);
        return;
    }
    for (uint32_t dim = 0; dim < window.size.count; dim++) {
        struct shrink_range range;
        if (shrink_dim_atoms(finder, 0, dim, &range) && !shrink_is_loose(finder, 0, range.first))
            continue; /* a window of one element */
        for (uint32_t k = 1; k < inputs; k++) {
            shrink_join_dims(finder, 0, k, dim);
            shrink_join_dims(finder, result, result + k, dim);
        }
        if (scatter)
            shrink_join_dims(finder, 0, result, dim);
        find_window(finder, &window, 0, scatter ? 1 : result, dim);
    }
}

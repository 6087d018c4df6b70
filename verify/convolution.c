/* convolution in full: strides, padding (also negative), both dilations, reversal, feature and batch groups.
 *
 * For each group it is a matrix product (verify_gemm):
 *   rows      the group's output features
 *   columns   output positions of all batch elements
 *   depth     kernel positions x input features
 * The packed input has a zero where the window lies on padding or between dilated elements. */
#include "verify/value.h"

#include <stdlib.h>
#include <string.h>

struct conv {
    struct ir_conv conv;
    uint32_t spatial;
    int64_t in_size[IR_MAX_RANK], out_size[IR_MAX_RANK], window; /* window = product of kernel sizes */
    int64_t in_stride[IR_MAX_RANK], in_batch, in_feature;        /* strides in elements */
    int64_t kernel_stride[IR_MAX_RANK], kernel_in, kernel_out;
    int64_t batches, positions, features_in, features_out; /* of one group */
    int64_t batch_first, feature_first, out_first;         /* of the current group */
    const float *in32, *kernel32;
    const double *in64, *kernel64;
    int64_t *steps[IR_MAX_RANK];
};

#define NOWHERE INT64_MIN

static double load(const float *f32, const double *f64, int64_t at)
{
    return f32 ? (double)f32[at] : f64[at];
}

static void pack_kernel(const void *context, int64_t first, int64_t count, int64_t width, double *panel)
{
    const struct conv *conv = context;
    for (int64_t w = 0; w < conv->window; w++) {
        int64_t place = 0, rest = w;
        for (uint32_t i = conv->spatial; i-- > 0;) {
            place += rest % conv->conv.window.size.at[i] * conv->kernel_stride[i];
            rest /= conv->conv.window.size.at[i];
        }
        for (int64_t f = 0; f < conv->features_in; f++, panel += width)
            for (int64_t i = 0; i < width; i++)
                panel[i] =
                    i < count
                        ? load(conv->kernel32, conv->kernel64,
                               place + f * conv->kernel_in + (conv->out_first + first + i) * conv->kernel_out)
                        : 0;
    }
}

/* steps[spatial dimension][output position * kernel size + kernel position]: the input offset, or NOWHERE
 * on padding and between dilated elements */
static void make_steps(struct conv *conv)
{
    for (uint32_t i = 0; i < conv->spatial; i++) {
        const struct ir_window *window = &conv->conv.window;
        int64_t size = window->size.at[i];
        conv->steps[i] = mem_alloc((size_t)(conv->out_size[i] * size + 1) * sizeof(int64_t));
        for (int64_t p = 0; p < conv->out_size[i]; p++)
            for (int64_t w = 0; w < size; w++) {
                int64_t k = window->reversal.count > i && window->reversal.at[i] ? size - 1 - w : w;
                int64_t x = p * window->stride.at[i] + k * window->window_dilation.at[i] - window->low.at[i];
                bool there = x >= 0 && x % window->base_dilation.at[i] == 0 &&
                             x / window->base_dilation.at[i] < conv->in_size[i];
                conv->steps[i][p * size + w] =
                    there ? x / window->base_dilation.at[i] * conv->in_stride[i] : NOWHERE;
            }
    }
}

/* input offset of window position w for the column at these positions, or NOWHERE */
static int64_t input_at(const struct conv *conv, const int64_t *position, int64_t w)
{
    int64_t at = 0;
    for (uint32_t i = conv->spatial; i-- > 0;) {
        int64_t size = conv->conv.window.size.at[i], step = conv->steps[i][position[i] * size + w % size];
        w /= size;
        if (step == NOWHERE)
            return NOWHERE;
        at += step;
    }
    return at;
}

static void pack_input(const void *context, int64_t first, int64_t count, int64_t width, double *panel)
{
    const struct conv *conv = context;
    int64_t position[VERIFY_PANEL_WIDTH][IR_MAX_RANK], base[VERIFY_PANEL_WIDTH], at[VERIFY_PANEL_WIDTH];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = (first + i) % conv->positions;
        base[i] = (conv->batch_first + (first + i) / conv->positions) * conv->in_batch +
                  conv->feature_first * conv->in_feature;
        for (uint32_t d = conv->spatial; d-- > 0;) {
            position[i][d] = rest % conv->out_size[d];
            rest /= conv->out_size[d];
        }
    }
    for (int64_t w = 0; w < conv->window; w++) {
        for (int64_t i = 0; i < width; i++) {
            at[i] = i < count ? input_at(conv, position[i], w) : NOWHERE;
            at[i] += at[i] == NOWHERE ? 0 : base[i];
        }
        for (int64_t f = 0, step = 0; f < conv->features_in; f++, panel += width, step += conv->in_feature)
            for (int64_t i = 0; i < width; i++)
                panel[i] = at[i] == NOWHERE ? 0 : load(conv->in32, conv->in64, at[i] + step);
    }
}

/* Writes sums[feature][batch][position] of the current group to their places in the output. `rounded` is
 * scratch for as many elements as sums has. */
static void put(const struct conv *conv, const double *sums, void *rounded, const int64_t *out_strides,
                struct verify_value *out)
{
    enum ir_element element = (enum ir_element)out->type->element;
    size_t size = verify_element_size(element);
    int64_t dims[IR_MAX_RANK] = {conv->features_out, conv->batches}, from[IR_MAX_RANK];
    int64_t to[IR_MAX_RANK] = {out_strides[conv->conv.output_feature], out_strides[conv->conv.output_batch]};
    for (uint32_t i = 0; i < conv->spatial; i++) {
        dims[2 + i] = conv->out_size[i];
        to[2 + i] = out_strides[conv->conv.output_spatial.at[i]];
    }
    verify_store_sums(element, sums, rounded, conv->features_out * conv->batches * conv->positions);
    verify_strides(conv->spatial + 2, dims, from);
    verify_copy(size, conv->spatial + 2, dims,
                (char *)verify_data(out) + (size_t)(conv->out_first * to[0]) * size, to, rounded, from);
}

static bool setup(const struct verify_state *state, struct conv *conv, const struct verify_value *in,
                  const struct verify_value *out)
{
    int64_t strides[IR_MAX_RANK];
    const int64_t *dims = ir_type_dims(state->program, in[0].type),
                  *kernel = ir_type_dims(state->program, in[1].type);
    const int64_t *result = ir_type_dims(state->program, out->type);
    int64_t fg = conv->conv.feature_groups, bg = conv->conv.batch_groups;
    conv->spatial = conv->conv.input_spatial.count;
    if (in[0].type->rank != conv->spatial + 2 || in[1].type->rank != conv->spatial + 2 ||
        out->type->rank != conv->spatial + 2 || fg < 1 || bg < 1 || (fg > 1 && bg > 1))
        return false;
    verify_strides(in[0].type->rank, dims, strides);
    conv->in_batch = strides[conv->conv.input_batch];
    conv->in_feature = strides[conv->conv.input_feature];
    conv->window = conv->positions = 1;
    for (uint32_t i = 0; i < conv->spatial; i++) {
        conv->in_size[i] = dims[conv->conv.input_spatial.at[i]];
        conv->in_stride[i] = strides[conv->conv.input_spatial.at[i]];
        conv->out_size[i] = result[conv->conv.output_spatial.at[i]];
        conv->positions *= conv->out_size[i];
        conv->window *= conv->conv.window.size.at[i];
        if (conv->conv.window.size.at[i] != kernel[conv->conv.kernel_spatial.at[i]])
            return false;
    }
    verify_strides(in[1].type->rank, kernel, strides);
    conv->kernel_in = strides[conv->conv.kernel_input];
    conv->kernel_out = strides[conv->conv.kernel_output];
    for (uint32_t i = 0; i < conv->spatial; i++)
        conv->kernel_stride[i] = strides[conv->conv.kernel_spatial.at[i]];
    conv->batches = dims[conv->conv.input_batch] / bg;
    conv->features_in = kernel[conv->conv.kernel_input];
    conv->features_out = kernel[conv->conv.kernel_output] / (fg * bg);
    return conv->batches * bg == dims[conv->conv.input_batch] &&
           conv->features_in * fg == dims[conv->conv.input_feature] &&
           conv->features_out * fg * bg == result[conv->conv.output_feature] &&
           result[conv->conv.output_batch] == conv->batches;
}

enum error_code verify_eval_convolution(struct verify_state *state, uint32_t op, struct verify_value *in,
                                        struct verify_value *out, struct error *e)
{
    struct conv conv = {0};
    int64_t out_strides[IR_MAX_RANK];
    if (ir_conv(state->program, op, &conv.conv) != 0 || !setup(state, &conv, in, out))
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "shapes do not fit the dimension numbers");
    for (int i = 0; i < 3; i++) {
        enum ir_element element = (enum ir_element)(i < 2 ? in[i].type : out->type)->element;
        if (verify_store_of(element) != VERIFY_F32 && verify_store_of(element) != VERIFY_F64)
            return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "element type %s is not interpreted",
                               ir_element_name(element));
        if (i < 2)
            verify_value_dense(state, &in[i]);
    }
    *(in[0].type->element == IR_F64 ? (const void **)&conv.in64 : (const void **)&conv.in32) =
        verify_data(&in[0]);
    *(in[1].type->element == IR_F64 ? (const void **)&conv.kernel64 : (const void **)&conv.kernel32) =
        verify_data(&in[1]);
    verify_value_alloc(state, out, false);
    verify_strides(out->type->rank, ir_type_dims(state->program, out->type), out_strides);
    make_steps(&conv);
    struct verify_buffer *owner, *owner_rounded;
    int64_t columns = conv.batches * conv.positions;
    double *sums = verify_scratch(state, (size_t)(conv.features_out * columns + 8) * sizeof(double), &owner);
    void *rounded =
        verify_scratch(state, (size_t)(conv.features_out * columns + 8) * sizeof(double), &owner_rounded);
    for (int64_t g = 0; g < conv.conv.feature_groups * conv.conv.batch_groups; g++) {
        conv.out_first = g * conv.features_out;
        conv.batch_first = conv.conv.batch_groups > 1 ? g * conv.batches : 0;
        conv.feature_first = conv.conv.feature_groups > 1 ? g * conv.features_in : 0;
        verify_gemm(state, conv.features_out, columns, conv.window * conv.features_in, pack_kernel, &conv,
                    pack_input, &conv, sums);
        put(&conv, sums, rounded, out_strides, out);
    }
    verify_scratch_drop(state, owner);
    verify_scratch_drop(state, owner_rounded);
    for (uint32_t i = 0; i < conv.spatial; i++)
        free(conv.steps[i]);
    return ERROR_OK;
}

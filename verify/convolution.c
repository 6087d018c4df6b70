/* convolution in full: strides, padding (also negative), both dilations, reversal, feature and batch groups.
 *
 * For each group a matrix product: rows are the group's output features, columns the output positions of all batch
 * elements, the depth runs over kernel positions and input features. A column's row of the packed input is zero
 * where the window lies on padding or between dilated elements. */
#include "verify/value.h"

#include <string.h>

struct conv {
    struct ir_conv a;
    uint32_t spatial;
    int64_t in_size[IR_MAX_RANK], out_size[IR_MAX_RANK], window;          /* window = product of kernel sizes */
    int64_t in_stride[IR_MAX_RANK], in_batch, in_feature;                 /* strides in elements */
    int64_t kernel_stride[IR_MAX_RANK], kernel_in, kernel_out;
    int64_t batches, positions, features_in, features_out;                /* of one group */
    int64_t batch_first, feature_first, out_first;                        /* of the current group */
    const float *in32, *kernel32;
    const double *in64, *kernel64;
};

static void kernel_row(const void *context, int64_t index, double *out, int64_t stride)
{
    const struct conv *c = context;
    int64_t feature = (c->out_first + index) * c->kernel_out;
    for (int64_t w = 0; w < c->window; w++) {
        int64_t at = feature, rest = w;
        for (uint32_t i = c->spatial; i-- > 0;) {
            at += rest % c->a.window.size.at[i] * c->kernel_stride[i];
            rest /= c->a.window.size.at[i];
        }
        for (int64_t f = 0; f < c->features_in; f++, out += stride)
            *out = c->kernel32 ? (double)c->kernel32[at + f * c->kernel_in] : c->kernel64[at + f * c->kernel_in];
    }
}

/* input offset of window position w at output position p, or -1 where there is no element */
static int64_t input_at(const struct conv *c, const int64_t *position, int64_t w)
{
    int64_t at = 0;
    for (uint32_t i = c->spatial; i-- > 0;) {
        const struct ir_window *v = &c->a.window;
        int64_t k = w % v->size.at[i];
        w /= v->size.at[i];
        if (v->reversal.count > i && v->reversal.at[i])
            k = v->size.at[i] - 1 - k;
        int64_t x = position[i] * v->stride.at[i] + k * v->window_dilation.at[i] - v->low.at[i];
        if (x < 0 || x % v->base_dilation.at[i] != 0 || x / v->base_dilation.at[i] >= c->in_size[i])
            return -1;
        at += x / v->base_dilation.at[i] * c->in_stride[i];
    }
    return at;
}

static void input_row(const void *context, int64_t index, double *out, int64_t stride)
{
    const struct conv *c = context;
    int64_t position[IR_MAX_RANK], rest = index % c->positions;
    int64_t base = (c->batch_first + index / c->positions) * c->in_batch + c->feature_first * c->in_feature;
    for (uint32_t i = c->spatial; i-- > 0;) {
        position[i] = rest % c->out_size[i];
        rest /= c->out_size[i];
    }
    for (int64_t w = 0; w < c->window; w++) {
        int64_t at = input_at(c, position, w);
        if (at < 0) {
            for (int64_t f = 0; f < c->features_in; f++, out += stride)
                *out = 0;
            continue;
        }
        at += base;
        if (c->in32)
            for (int64_t f = 0; f < c->features_in; f++, out += stride)
                *out = (double)c->in32[at + f * c->in_feature];
        else
            for (int64_t f = 0; f < c->features_in; f++, out += stride)
                *out = c->in64[at + f * c->in_feature];
    }
}

/* sums[feature * columns + batch * positions + position] into the output's own layout */
static void put(const struct conv *c, const double *sums, const int64_t *out_strides, struct verify_value *out)
{
    enum ir_element element = (enum ir_element)out->type->element;
    for (int64_t f = 0; f < c->features_out; f++)
        for (int64_t b = 0; b < c->batches; b++)
            for (int64_t p = 0; p < c->positions; p++, sums++) {
                int64_t rest = p, at = b * out_strides[c->a.output_batch] +
                                       (c->out_first + f) * out_strides[c->a.output_feature];
                for (uint32_t i = c->spatial; i-- > 0;) {
                    at += rest % c->out_size[i] * out_strides[c->a.output_spatial.at[i]];
                    rest /= c->out_size[i];
                }
                if (element == IR_F64)
                    ((double *)verify_data(out))[at] = *sums;
                else
                    ((float *)verify_data(out))[at] =
                        element == IR_F32 ? (float)*sums : verify_round(element, *sums);
            }
}

static bool setup(const struct verify_state *s, struct conv *c, const struct verify_value *in,
                  const struct verify_value *out)
{
    int64_t strides[IR_MAX_RANK];
    const int64_t *dims = ir_type_dims(s->p, in[0].type), *kernel = ir_type_dims(s->p, in[1].type);
    const int64_t *result = ir_type_dims(s->p, out->type);
    int64_t fg = c->a.feature_groups, bg = c->a.batch_groups;
    c->spatial = c->a.input_spatial.count;
    if (in[0].type->rank != c->spatial + 2 || in[1].type->rank != c->spatial + 2 || out->type->rank != c->spatial + 2 ||
        fg < 1 || bg < 1 || (fg > 1 && bg > 1))
        return false;
    verify_strides(in[0].type->rank, dims, strides);
    c->in_batch = strides[c->a.input_batch];
    c->in_feature = strides[c->a.input_feature];
    c->window = c->positions = 1;
    for (uint32_t i = 0; i < c->spatial; i++) {
        c->in_size[i] = dims[c->a.input_spatial.at[i]];
        c->in_stride[i] = strides[c->a.input_spatial.at[i]];
        c->out_size[i] = result[c->a.output_spatial.at[i]];
        c->positions *= c->out_size[i];
        c->window *= c->a.window.size.at[i];
        if (c->a.window.size.at[i] != kernel[c->a.kernel_spatial.at[i]])
            return false;
    }
    verify_strides(in[1].type->rank, kernel, strides);
    c->kernel_in = strides[c->a.kernel_input];
    c->kernel_out = strides[c->a.kernel_output];
    for (uint32_t i = 0; i < c->spatial; i++)
        c->kernel_stride[i] = strides[c->a.kernel_spatial.at[i]];
    c->batches = dims[c->a.input_batch] / bg;
    c->features_in = kernel[c->a.kernel_input];
    c->features_out = kernel[c->a.kernel_output] / (fg * bg);
    return c->batches * bg == dims[c->a.input_batch] && c->features_in * fg == dims[c->a.input_feature] &&
           c->features_out * fg * bg == result[c->a.output_feature] && result[c->a.output_batch] == c->batches;
}

enum error_code verify_eval_convolution(struct verify_state *s, uint32_t op, struct verify_value *in,
                                        struct verify_value *out, struct error *e)
{
    struct conv c = {0};
    int64_t out_strides[IR_MAX_RANK];
    if (ir_conv(s->p, op, &c.a) != 0 || !setup(s, &c, in, out))
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "shapes do not fit the dimension numbers");
    for (int i = 0; i < 3; i++) {
        enum ir_element element = (enum ir_element)(i < 2 ? in[i].type : out->type)->element;
        if (verify_store_of(element) != VERIFY_F32 && verify_store_of(element) != VERIFY_F64)
            return verify_fail(s, op, ERROR_NOT_AVAILABLE, e, "element type %s is not interpreted",
                               ir_element_name(element));
        if (i < 2)
            verify_value_dense(s, &in[i]);
    }
    *(in[0].type->element == IR_F64 ? (const void **)&c.in64 : (const void **)&c.in32) = verify_data(&in[0]);
    *(in[1].type->element == IR_F64 ? (const void **)&c.kernel64 : (const void **)&c.kernel32) = verify_data(&in[1]);
    verify_value_alloc(s, out, false);
    verify_strides(out->type->rank, ir_type_dims(s->p, out->type), out_strides);
    struct verify_buffer *owner;
    int64_t columns = c.batches * c.positions;
    double *sums = verify_scratch(s, (size_t)(c.features_out * columns + 8) * sizeof(double), &owner);
    for (int64_t g = 0; g < c.a.feature_groups * c.a.batch_groups; g++) {
        c.out_first = g * c.features_out;
        c.batch_first = c.a.batch_groups > 1 ? g * c.batches : 0;
        c.feature_first = c.a.feature_groups > 1 ? g * c.features_in : 0;
        verify_gemm(s, c.features_out, columns, c.window * c.features_in, kernel_row, &c, input_row, &c, sums);
        put(&c, sums, out_strides, out);
    }
    verify_scratch_drop(s, owner);
    return ERROR_OK;
}

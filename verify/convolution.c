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
    struct ir_conv a;
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
    const struct conv *c = context;
    for (int64_t w = 0; w < c->window; w++) {
        int64_t place = 0, rest = w;
        for (uint32_t i = c->spatial; i-- > 0;) {
            place += rest % c->a.window.size.at[i] * c->kernel_stride[i];
            rest /= c->a.window.size.at[i];
        }
        for (int64_t f = 0; f < c->features_in; f++, panel += width)
            for (int64_t i = 0; i < width; i++)
                panel[i] = i < count
                               ? load(c->kernel32, c->kernel64,
                                      place + f * c->kernel_in + (c->out_first + first + i) * c->kernel_out)
                               : 0;
    }
}

/* steps[spatial dimension][output position * kernel size + kernel position]: the input offset, or NOWHERE
 * on padding and between dilated elements */
static void make_steps(struct conv *c)
{
    for (uint32_t i = 0; i < c->spatial; i++) {
        const struct ir_window *v = &c->a.window;
        int64_t size = v->size.at[i];
        c->steps[i] = mem_alloc((size_t)(c->out_size[i] * size + 1) * sizeof(int64_t));
        for (int64_t p = 0; p < c->out_size[i]; p++)
            for (int64_t w = 0; w < size; w++) {
                int64_t k = v->reversal.count > i && v->reversal.at[i] ? size - 1 - w : w;
                int64_t x = p * v->stride.at[i] + k * v->window_dilation.at[i] - v->low.at[i];
                bool there =
                    x >= 0 && x % v->base_dilation.at[i] == 0 && x / v->base_dilation.at[i] < c->in_size[i];
                c->steps[i][p * size + w] = there ? x / v->base_dilation.at[i] * c->in_stride[i] : NOWHERE;
            }
    }
}

/* input offset of window position w for the column at these positions, or NOWHERE */
static int64_t input_at(const struct conv *c, const int64_t *position, int64_t w)
{
    int64_t at = 0;
    for (uint32_t i = c->spatial; i-- > 0;) {
        int64_t size = c->a.window.size.at[i], step = c->steps[i][position[i] * size + w % size];
        w /= size;
        if (step == NOWHERE)
            return NOWHERE;
        at += step;
    }
    return at;
}

static void pack_input(const void *context, int64_t first, int64_t count, int64_t width, double *panel)
{
    const struct conv *c = context;
    int64_t position[VERIFY_PANEL_WIDTH][IR_MAX_RANK], base[VERIFY_PANEL_WIDTH], at[VERIFY_PANEL_WIDTH];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = (first + i) % c->positions;
        base[i] =
            (c->batch_first + (first + i) / c->positions) * c->in_batch + c->feature_first * c->in_feature;
        for (uint32_t d = c->spatial; d-- > 0;) {
            position[i][d] = rest % c->out_size[d];
            rest /= c->out_size[d];
        }
    }
    for (int64_t w = 0; w < c->window; w++) {
        for (int64_t i = 0; i < width; i++) {
            at[i] = i < count ? input_at(c, position[i], w) : NOWHERE;
            at[i] += at[i] == NOWHERE ? 0 : base[i];
        }
        for (int64_t f = 0, step = 0; f < c->features_in; f++, panel += width, step += c->in_feature)
            for (int64_t i = 0; i < width; i++)
                panel[i] = at[i] == NOWHERE ? 0 : load(c->in32, c->in64, at[i] + step);
    }
}

/* Writes sums[feature][batch][position] of the current group to their places in the output. `rounded` is
 * scratch for as many elements as sums has. */
static void put(const struct conv *c, const double *sums, void *rounded, const int64_t *out_strides,
                struct verify_value *out)
{
    enum ir_element element = (enum ir_element)out->type->element;
    size_t size = verify_element_size(element);
    int64_t dims[IR_MAX_RANK] = {c->features_out, c->batches}, from[IR_MAX_RANK];
    int64_t to[IR_MAX_RANK] = {out_strides[c->a.output_feature], out_strides[c->a.output_batch]};
    for (uint32_t i = 0; i < c->spatial; i++) {
        dims[2 + i] = c->out_size[i];
        to[2 + i] = out_strides[c->a.output_spatial.at[i]];
    }
    verify_store_sums(element, sums, rounded, c->features_out * c->batches * c->positions);
    verify_strides(c->spatial + 2, dims, from);
    verify_copy(size, c->spatial + 2, dims, (char *)verify_data(out) + (size_t)(c->out_first * to[0]) * size,
                to, rounded, from);
}

static bool setup(const struct verify_state *s, struct conv *c, const struct verify_value *in,
                  const struct verify_value *out)
{
    int64_t strides[IR_MAX_RANK];
    const int64_t *dims = ir_type_dims(s->p, in[0].type), *kernel = ir_type_dims(s->p, in[1].type);
    const int64_t *result = ir_type_dims(s->p, out->type);
    int64_t fg = c->a.feature_groups, bg = c->a.batch_groups;
    c->spatial = c->a.input_spatial.count;
    if (in[0].type->rank != c->spatial + 2 || in[1].type->rank != c->spatial + 2 ||
        out->type->rank != c->spatial + 2 || fg < 1 || bg < 1 || (fg > 1 && bg > 1))
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
           c->features_out * fg * bg == result[c->a.output_feature] &&
           result[c->a.output_batch] == c->batches;
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
    *(in[1].type->element == IR_F64 ? (const void **)&c.kernel64 : (const void **)&c.kernel32) =
        verify_data(&in[1]);
    verify_value_alloc(s, out, false);
    verify_strides(out->type->rank, ir_type_dims(s->p, out->type), out_strides);
    make_steps(&c);
    struct verify_buffer *owner, *owner_rounded;
    int64_t columns = c.batches * c.positions;
    double *sums = verify_scratch(s, (size_t)(c.features_out * columns + 8) * sizeof(double), &owner);
    void *rounded =
        verify_scratch(s, (size_t)(c.features_out * columns + 8) * sizeof(double), &owner_rounded);
    for (int64_t g = 0; g < c.a.feature_groups * c.a.batch_groups; g++) {
        c.out_first = g * c.features_out;
        c.batch_first = c.a.batch_groups > 1 ? g * c.batches : 0;
        c.feature_first = c.a.feature_groups > 1 ? g * c.features_in : 0;
        verify_gemm(s, c.features_out, columns, c.window * c.features_in, pack_kernel, &c, pack_input, &c,
                    sums);
        put(&c, sums, rounded, out_strides, out);
    }
    verify_scratch_drop(s, owner);
    verify_scratch_drop(s, owner_rounded);
    for (uint32_t i = 0; i < c.spatial; i++)
        free(c.steps[i]);
    return ERROR_OK;
}

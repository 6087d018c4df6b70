/* dot_general and dot. Operands are read through tables of offsets, one for free and one for contracted
 * positions, so nothing is transposed first:
 *
 *     element (i, k) of the left operand of batch b = data[base(b) + rows[i] + depth[k]]
 *
 * Floats go through verify_gemm in double; integers, booleans and complex numbers through plain loops. */
#include "verify/value.h"

#include <stdlib.h>
#include <string.h>

struct side { /* one operand of one batch element */
    const float *f32;
    const double *f64;
    const int64_t *rows, *depth; /* offsets of free and of contracted positions */
    int64_t count_depth, base;
};

static void pack(const void *context, int64_t first, int64_t count, int64_t width, double *panel)
{
    const struct side *side = context;
    int64_t base[VERIFY_PANEL_WIDTH];
    for (int64_t i = 0; i < width; i++) /* missing rows repeat the first and are cleared below */
        base[i] = side->base + side->rows[first + (i < count ? i : 0)];
    for (int64_t k = 0; k < side->count_depth; k++) {
        double *to = panel + k * width;
        int64_t at = side->depth[k];
        if (side->f32)
            for (int64_t i = 0; i < width; i++)
                to[i] = (double)side->f32[base[i] + at];
        else
            for (int64_t i = 0; i < width; i++)
                to[i] = side->f64[base[i] + at];
        for (int64_t i = count; i < width; i++)
            to[i] = 0;
    }
}

/* offsets of every position of the listed dimensions, row-major */
static int64_t *offsets(const int64_t *dims, const int64_t *strides, const struct ir_dims *list,
                        int64_t *count)
{
    *count = 1;
    for (uint32_t i = 0; i < list->count; i++)
        *count *= dims[list->at[i]];
    int64_t *table = mem_alloc((size_t)(*count + 1) * sizeof *table), n = 1;
    table[0] = 0;
    for (uint32_t i = 0; i < list->count;
         i++) { /* each offset so far becomes `size` offsets, one a position of this dimension */
        int64_t size = dims[list->at[i]];
        for (int64_t j = n; j-- > 0 && size > 0;)
            for (int64_t k = size; k-- > 0;)
                table[j * size + k] = table[j] + k * strides[list->at[i]];
        n *= size;
    }
    return table;
}

static void free_dims(uint32_t rank, const struct ir_dims *batch, const struct ir_dims *contract,
                      struct ir_dims *out)
{
    out->count = 0;
    for (uint32_t dim = 0; dim < rank; dim++) {
        if (!ir_dims_has(batch, dim) && !ir_dims_has(contract, dim))
            out->at[out->count++] = dim;
    }
}

struct tables {
    int64_t *batch[2], *rows[2], *depth[2];
    int64_t batches, counts[2], k;
};

static bool tables_make(const struct verify_state *state, const struct ir_dot *dot,
                        const struct verify_value *in, struct tables *tables)
{
    const struct ir_dims *batch[2] = {&dot->lhs_batch, &dot->rhs_batch};
    const struct ir_dims *contract[2] = {&dot->lhs_contract, &dot->rhs_contract};
    int64_t batches[2], k[2];
    for (int i = 0; i < 2; i++) {
        int64_t strides[IR_MAX_RANK];
        struct ir_dims rest;
        const int64_t *dims = ir_type_dims(state->program, in[i].type);
        verify_strides(in[i].type->rank, dims, strides);
        free_dims(in[i].type->rank, batch[i], contract[i], &rest);
        tables->batch[i] = offsets(dims, strides, batch[i], &batches[i]);
        tables->rows[i] = offsets(dims, strides, &rest, &tables->counts[i]);
        tables->depth[i] = offsets(dims, strides, contract[i], &k[i]);
    }
    tables->batches = batches[0];
    tables->k = k[0];
    return batches[0] == batches[1] && k[0] == k[1];
}

static void tables_free(struct tables *tables)
{
    for (int i = 0; i < 2; i++) {
        free(tables->batch[i]);
        free(tables->rows[i]);
        free(tables->depth[i]);
    }
}

static void dot_real(struct verify_state *state, const struct tables *tables, const struct verify_value *in,
                     struct verify_value *out)
{
    struct verify_buffer *owner;
    enum ir_element element = (enum ir_element)out->type->element;
    int64_t n = tables->counts[0] * tables->counts[1];
    double *sums = verify_scratch(state, (size_t)(n + 8) * sizeof(double), &owner);
    for (int64_t b = 0; b < tables->batches; b++) {
        struct side sides[2];
        for (int i = 0; i < 2; i++) {
            bool f64 = in[i].type->element == IR_F64;
            sides[i] = (struct side){f64 ? NULL : verify_data(&in[i]),
                                     f64 ? verify_data(&in[i]) : NULL,
                                     tables->rows[i],
                                     tables->depth[i],
                                     tables->k,
                                     tables->batch[i][b]};
        }
        verify_gemm(state, tables->counts[0], tables->counts[1], tables->k, pack, &sides[0], pack, &sides[1],
                    sums);
        verify_store_sums(element, sums,
                          (char *)verify_data(out) + (size_t)(b * n) * verify_element_size(element), n);
    }
    verify_scratch_drop(state, owner);
}

static void dot_whole(const struct tables *tables, const struct verify_value *in, struct verify_value *out)
{
    bool boolean = out->type->element == IR_I1;
    int64_t at = 0;
    for (int64_t b = 0; b < tables->batches; b++)
        for (int64_t m = 0; m < tables->counts[0]; m++)
            for (int64_t n = 0; n < tables->counts[1]; n++, at++) {
                uint64_t sum = 0;
                for (int64_t k = 0; k < tables->k; k++)
                    sum += (uint64_t)verify_value_int(&in[0], tables->batch[0][b] + tables->rows[0][m] +
                                                                  tables->depth[0][k]) *
                           (uint64_t)verify_value_int(&in[1], tables->batch[1][b] + tables->rows[1][n] +
                                                                  tables->depth[1][k]);
                if (boolean)
                    ((uint8_t *)verify_data(out))[at] = sum != 0;
                else
                    ((uint64_t *)verify_data(out))[at] = sum;
            }
    verify_round_all((enum ir_element)out->type->element, verify_data(out), at);
}

static void dot_complex(const struct tables *tables, const struct verify_value *in, struct verify_value *out)
{
    bool wide = out->type->element == IR_C128;
    int64_t at = 0;
    for (int64_t b = 0; b < tables->batches; b++)
        for (int64_t m = 0; m < tables->counts[0]; m++)
            for (int64_t n = 0; n < tables->counts[1]; n++, at++) {
                double re = 0, im = 0;
                for (int64_t k = 0; k < tables->k; k++) {
                    int64_t i = tables->batch[0][b] + tables->rows[0][m] + tables->depth[0][k];
                    int64_t j = tables->batch[1][b] + tables->rows[1][n] + tables->depth[1][k];
                    double x[4];
                    for (int c = 0; c < 2; c++) {
                        x[c] = wide ? ((double *)verify_data(&in[0]))[2 * i + c]
                                    : (double)((float *)verify_data(&in[0]))[2 * i + c];
                        x[2 + c] = wide ? ((double *)verify_data(&in[1]))[2 * j + c]
                                        : (double)((float *)verify_data(&in[1]))[2 * j + c];
                    }
                    re += x[0] * x[2] - x[1] * x[3];
                    im += x[0] * x[3] + x[1] * x[2];
                }
                if (wide) {
                    ((double *)verify_data(out))[2 * at] = re;
                    ((double *)verify_data(out))[2 * at + 1] = im;
                } else {
                    ((float *)verify_data(out))[2 * at] = (float)re;
                    ((float *)verify_data(out))[2 * at + 1] = (float)im;
                }
            }
}

enum error_code verify_eval_dot(struct verify_state *state, uint32_t op, struct verify_value *in,
                                struct verify_value *out, struct error *e)
{
    struct ir_dot dot;
    struct tables tables;
    enum verify_store from = verify_store_of((enum ir_element)in[0].type->element);
    enum verify_store other = verify_store_of((enum ir_element)in[1].type->element);
    enum verify_store to = verify_store_of((enum ir_element)out->type->element);
    if (ir_dot(state->program, op, &dot) != 0)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "dimension numbers are missing or malformed");
    bool real = (from == VERIFY_F32 || from == VERIFY_F64) && (to == VERIFY_F32 || to == VERIFY_F64) &&
                (other == VERIFY_F32 || other == VERIFY_F64);
    bool whole = from <= VERIFY_I64 && other <= VERIFY_I64 && to <= VERIFY_I64;
    if (!real && !whole && !(from == to && other == to && from >= VERIFY_C64))
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "these element types are not interpreted");
    verify_value_dense(state, &in[0]);
    verify_value_dense(state, &in[1]);
    bool fits = tables_make(state, &dot, in, &tables);
    enum error_code code = ERROR_OK;
    if (!fits ||
        tables.batches * tables.counts[0] * tables.counts[1] != verify_type_count(state, out->type)) {
        code = verify_fail(state, op, ERROR_INVALID_MODULE, e, "shapes do not fit the dimension numbers");
    } else {
        verify_value_alloc(state, out, false);
        if (real)
            dot_real(state, &tables, in, out);
        else if (whole)
            dot_whole(&tables, in, out);
        else
            dot_complex(&tables, in, out);
    }
    tables_free(&tables);
    return code;
}

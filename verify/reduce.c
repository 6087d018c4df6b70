/* reduce and map.
 *
 * A recognised reducer (add, max ..) runs over the operand in memory order with one accumulator a result
 * element. Neighbouring dimensions that are all kept or all reduced are merged into runs; the innermost run
 * is either folded into one accumulator or merged into consecutive ones. Floats accumulate in double. Any
 * other body runs by lanes.c: one step a reduced position, over all result elements at once. The initial
 * value counts once. */
#include "verify/value.h"

#include <stdlib.h>
#include <string.h>

struct run {
    int64_t size, in, out; /* strides; out = 0: reduced */
};

/* dimensions of the operand, major first, merged */
static uint32_t make_runs(const int64_t *dims, uint32_t rank, const bool *reduced, struct run *runs)
{
    int64_t in[IR_MAX_RANK], out = 1;
    uint32_t count = 0;
    struct run back[IR_MAX_RANK + 1];
    verify_strides(rank, dims, in);
    for (uint32_t i = rank; i-- > 0;) { /* from minor to major: out strides grow */
        if (dims[i] == 1)
            continue;
        struct run *last = count ? &back[count - 1] : NULL;
        if (last && (last->out == 0) == reduced[i]) {
            last->size *= dims[i];
        } else {
            back[count++] = (struct run){dims[i], in[i], reduced[i] ? 0 : out};
        }
        if (!reduced[i])
            out *= dims[i];
    }
    for (uint32_t i = 0; i < count; i++)
        runs[i] = back[count - 1 - i];
    if (count == 0)
        runs[count++] = (struct run){1, 1, 0};
    return count;
}

#define OVER(update)                                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        const double y = (double)x[i];                                                                       \
        update;                                                                                              \
    }                                                                                                        \
    break
#define REAL_KERNELS(T, name)                                                                                \
    static double fold_##name(int code, const T *x, int64_t n, double a)                                     \
    {                                                                                                        \
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                               \
        int64_t k = 0;                                                                                       \
        switch (code) {                                                                                      \
        case IR_ADD:                                                                                         \
            for (; k + 4 <= n; k += 4) {                                                                     \
                s0 += (double)x[k];                                                                          \
                s1 += (double)x[k + 1];                                                                      \
                s2 += (double)x[k + 2];                                                                      \
                s3 += (double)x[k + 3];                                                                      \
            }                                                                                                \
            for (; k < n; k++)                                                                               \
                s0 += (double)x[k];                                                                          \
            a += (s0 + s1) + (s2 + s3);                                                                      \
            break;                                                                                           \
        case IR_MULTIPLY: OVER(a *= y);                                                                      \
        case IR_MAXIMUM: OVER(a = a > y || a != a ? a : y);                                                  \
        default: OVER(a = a < y || a != a ? a : y);                                                          \
        }                                                                                                    \
        return a;                                                                                            \
    }                                                                                                        \
    static void merge_##name(int code, const T *x, int64_t n, double *a)                                     \
    {                                                                                                        \
        switch (code) {                                                                                      \
        case IR_ADD: OVER(a[i] += y);                                                                        \
        case IR_MULTIPLY: OVER(a[i] *= y);                                                                   \
        case IR_MAXIMUM: OVER(a[i] = a[i] > y || a[i] != a[i] ? a[i] : y);                                   \
        default: OVER(a[i] = a[i] < y || a[i] != a[i] ? a[i] : y);                                           \
        }                                                                                                    \
    }
REAL_KERNELS(float, f32)
REAL_KERNELS(double, f64)

static int64_t combine_int(int code, bool is_unsigned, int64_t a, int64_t y)
{
    uint64_t ua = (uint64_t)a, uy = (uint64_t)y;
    switch (code) {
    case IR_ADD: return (int64_t)(ua + uy);
    case IR_MULTIPLY: return (int64_t)(ua * uy);
    case IR_MAXIMUM: return is_unsigned ? (int64_t)(ua > uy ? ua : uy) : a > y ? a : y;
    case IR_MINIMUM: return is_unsigned ? (int64_t)(ua < uy ? ua : uy) : a < y ? a : y;
    case IR_AND: return a & y;
    case IR_OR: return a | y;
    default: return a ^ y;
    }
}

bool verify_reducer_known(enum ir_opcode reducer, enum ir_element element)
{
    enum verify_store store = verify_store_of(element);
    bool arithmetic =
        reducer == IR_ADD || reducer == IR_MULTIPLY || reducer == IR_MAXIMUM || reducer == IR_MINIMUM;
    bool bits = reducer == IR_AND || reducer == IR_OR || reducer == IR_XOR;
    return (arithmetic && store >= VERIFY_U8 && store <= VERIFY_F64) ||
           (bits && (store == VERIFY_U8 || store == VERIFY_I64));
}

/* one innermost run; acc is double or int64_t */
static void reduce_run(int code, enum ir_element element, const void *data, const struct run *run, int64_t in,
                       void *acc, int64_t out)
{
    double *real = acc;
    int64_t *whole = acc;
    switch (verify_store_of(element)) {
    case VERIFY_F32:
        if (run->out)
            merge_f32(code, (const float *)data + in, run->size, real + out);
        else
            real[out] = fold_f32(code, (const float *)data + in, run->size, real[out]);
        break;
    case VERIFY_F64:
        if (run->out)
            merge_f64(code, (const double *)data + in, run->size, real + out);
        else
            real[out] = fold_f64(code, (const double *)data + in, run->size, real[out]);
        break;
    case VERIFY_U8: /* on i1 addition is `or` and multiplication is `and` */
        code = code == IR_ADD ? IR_OR : code == IR_MULTIPLY ? IR_AND : code;
        for (int64_t i = 0; i < run->size; i++)
            whole[out + i * run->out] =
                combine_int(code, true, whole[out + i * run->out], ((const uint8_t *)data)[in + i]);
        break;
    case VERIFY_I64:
        for (int64_t i = 0; i < run->size; i++)
            whole[out + i * run->out] =
                combine_int(code, verify_element_unsigned(element), whole[out + i * run->out],
                            ((const int64_t *)data)[in + i]);
        break;
    case VERIFY_NONE:
    case VERIFY_C64:
    case VERIFY_C128: break;
    }
}

static void store(enum ir_element element, const void *acc, void *to, int64_t n)
{
    bool real = ir_element_is_float(element);
    verify_convert(real ? IR_F64 : IR_I64, acc, element, to, n);
}

static void reduce_known(struct verify_state *state, int code, const struct verify_value *in,
                         const struct verify_value *init, const bool *reduced, struct verify_value *out)
{
    struct run runs[IR_MAX_RANK + 1];
    const int64_t *dims = ir_type_dims(state->program, in->type);
    uint32_t count = make_runs(dims, in->type->rank, reduced, runs);
    enum ir_element element = (enum ir_element)in->type->element;
    int64_t n = verify_type_count(state, out->type), total = verify_type_count(state, in->type);
    struct verify_buffer *owner;
    double *acc = verify_scratch(state, (size_t)(n + 1) * sizeof(double), &owner);
    verify_convert(element, verify_data(init), ir_element_is_float(element) ? IR_F64 : IR_I64, acc, 1);
    for (int64_t i = 1; i < n; i++)
        acc[i] = acc[0];
    int64_t at[IR_MAX_RANK + 1] = {0}, from = 0, to = 0, done = 0;
    const struct run *inner = &runs[count - 1];
    while (done < total) {
        reduce_run(code, element, verify_data(in), inner, from, acc, to);
        done += inner->size;
        for (uint32_t i = count - 1; i-- > 0;) {
            from += runs[i].in;
            to += runs[i].out;
            if (++at[i] < runs[i].size)
                break;
            from -= runs[i].in * runs[i].size;
            to -= runs[i].out * runs[i].size;
            at[i] = 0;
        }
    }
    store(element, acc, verify_data(out), n);
    verify_scratch_drop(state, owner);
}

/* Any body and number of operands: acc = body(acc, element) at every reduced position, all results
 * at once. */
static void reduce_lanes(struct verify_state *state, struct verify_lanes *lanes, uint32_t count,
                         const struct verify_value *in, const bool *reduced, struct verify_value *out)
{
    const int64_t *dims = ir_type_dims(state->program, in->type);
    uint32_t rank = in->type->rank, kept = 0;
    int64_t strides[IR_MAX_RANK], keep_dims[IR_MAX_RANK], keep_strides[IR_MAX_RANK], own[IR_MAX_RANK];
    int64_t steps = 1, at[IR_MAX_RANK] = {0}, n = verify_type_count(state, out->type);
    struct verify_array args[4 * IR_MAX_RANK];
    void *results[2 * IR_MAX_RANK];
    struct verify_buffer *owners[2 * IR_MAX_RANK];
    verify_strides(rank, dims, strides);
    for (uint32_t i = 0; i < rank; i++) {
        if (reduced[i]) {
            steps *= dims[i];
        } else {
            keep_dims[kept] = dims[i];
            keep_strides[kept++] = strides[i];
        }
    }
    verify_strides(kept, keep_dims, own);
    for (uint32_t k = 0; k < count; k++) {
        enum ir_element element = (enum ir_element)in[k].type->element;
        void *line = verify_scratch(state, (size_t)(n + 1) * IR_ELEMENT_BYTES, &owners[k]);
        results[k] = verify_data(&out[k]);
        args[k] = (struct verify_array){element, false, results[k]};
        args[count + k] = (struct verify_array){element, false, line};
    }
    for (int64_t step = 0, from = 0; step < steps && n > 0; step++) {
        for (uint32_t k = 0; k < count; k++) {
            size_t size = verify_element_size((enum ir_element)in[k].type->element);
            verify_copy(size, kept, keep_dims, (void *)(uintptr_t)args[count + k].data, own,
                        (const char *)verify_data(&in[k]) + from * (int64_t)size, keep_strides);
        }
        verify_lanes_run(lanes, args, n, results);
        for (uint32_t i = rank; i-- > 0;) {
            if (!reduced[i])
                continue;
            from += strides[i];
            if (++at[i] < dims[i])
                break;
            from -= strides[i] * dims[i];
            at[i] = 0;
        }
    }
    for (uint32_t k = 0; k < count; k++)
        verify_scratch_drop(state, owners[k]);
}

enum error_code verify_eval_reduce(struct verify_state *state, uint32_t op, struct verify_value *in,
                                   struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    uint32_t count = ir_op->operand_count / 2;
    struct ir_dims list;
    bool reduced[IR_MAX_RANK] = {false};
    if (count == 0 || ir_op->operand_count % 2 || ir_op->result_count != count || count > IR_MAX_RANK ||
        ir_dims(state->program, op, "dimensions", &list) != 0)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operands, results and dimensions do not fit");
    for (uint32_t i = 0; i < list.count; i++) {
        if (list.at[i] < 0 || list.at[i] >= in->type->rank)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "dimension out of range");
        reduced[list.at[i]] = true;
    }
    int64_t n = verify_type_count(state, in->type), m = verify_type_count(state, out->type), kept = 1;
    for (uint32_t i = 0; i < in->type->rank; i++)
        kept *= reduced[i] ? 1 : ir_type_dims(state->program, in->type)[i];
    for (uint32_t k = 0; k < count; k++) {
        if (verify_type_count(state, in[k].type) != n || kept != m ||
            verify_type_count(state, in[count + k].type) != 1 ||
            in[k].type->element != out[k].type->element ||
            in[count + k].type->element != out[k].type->element)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand %u does not fit the result", k);
        verify_value_dense(state, &in[k]);
    }
    enum ir_opcode reducer = count == 1 ? ir_region_reducer(state->program, op, 0) : IR_UNKNOWN;
    if (reducer != IR_UNKNOWN && verify_reducer_known(reducer, (enum ir_element)in->type->element)) {
        verify_value_alloc(state, out, false);
        reduce_known(state, (int)reducer, in, &in[1], reduced, out);
        return ERROR_OK;
    }
    struct verify_lanes *lanes = NULL;
    enum error_code code = verify_lanes_create(state, op, 0, &lanes, e);
    for (uint32_t k = 0; k < count && !code; k++) { /* results start as the initial values */
        verify_value_share(&out[k], &in[count + k]);
        out[k].splat = true;
        verify_value_dense(state, &out[k]);
    }
    if (!code)
        reduce_lanes(state, lanes, count, in, reduced, out);
    verify_lanes_destroy(state, lanes);
    return code;
}

enum error_code verify_eval_map(struct verify_state *state, uint32_t op, struct verify_value *in,
                                struct verify_value *out, struct error *e)
{
    struct verify_array args[2 * IR_MAX_RANK];
    uint32_t count = state->program->ops[op].operand_count;
    struct verify_lanes *lanes = NULL;
    int64_t n = verify_type_count(state, out->type);
    if (count > 2 * IR_MAX_RANK)
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "too many operands");
    for (uint32_t i = 0; i < count; i++) {
        if (verify_type_count(state, in[i].type) != n)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                               "operand %u has another shape than the result", i);
        args[i] =
            (struct verify_array){(enum ir_element)in[i].type->element, in[i].splat, verify_data(&in[i])};
    }
    enum error_code code = verify_lanes_create(state, op, 0, &lanes, e);
    if (!code) {
        verify_value_alloc(state, out, false);
        void *results[1] = {verify_data(out)};
        verify_lanes_run(lanes, args, n, results);
    }
    verify_lanes_destroy(state, lanes);
    return code;
}

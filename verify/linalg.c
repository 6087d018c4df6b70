/* fft, cholesky and triangular_solve: batched, by their definitions, in double. An fft is a sum over all
 * pairs of positions. The bits of rng_bit_generator are the implementation's own: here a hash of the state
 * and of each element's place stands for them, the same on both sides of a comparison. rng has no state, and
 * is refused. */
#include "verify/value.h"

#include "base/hash.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef CMPLX /* clang leaves it out */
#define CMPLX(re, im) ((double complex){(re), (im)})
#endif

double complex verify_number(const struct verify_value *value, int64_t i)
{
    switch (verify_store_of((enum ir_element)value->type->element)) {
    case VERIFY_F32: return (double)((const float *)verify_data(value))[i];
    case VERIFY_F64: return ((const double *)verify_data(value))[i];
    case VERIFY_C64:
        return CMPLX((double)((const float *)verify_data(value))[2 * i],
                     (double)((const float *)verify_data(value))[2 * i + 1]);
    case VERIFY_C128:
        return CMPLX(((const double *)verify_data(value))[2 * i],
                     ((const double *)verify_data(value))[2 * i + 1]);
    case VERIFY_U8:
    case VERIFY_I64:
    case VERIFY_NONE: break;
    }
    return 0;
}

void verify_set_number(struct verify_value *value, int64_t i, double complex x)
{
    switch ((int)verify_store_of((enum ir_element)value->type->element)) {
    case VERIFY_F32:
        ((float *)verify_data(value))[i] = verify_round((enum ir_element)value->type->element, creal(x));
        break;
    case VERIFY_F64: ((double *)verify_data(value))[i] = creal(x); break;
    case VERIFY_C64:
        ((float *)verify_data(value))[2 * i] = (float)creal(x);
        ((float *)verify_data(value))[2 * i + 1] = (float)cimag(x);
        break;
    default:
        ((double *)verify_data(value))[2 * i] = creal(x);
        ((double *)verify_data(value))[2 * i + 1] = cimag(x);
    }
}

/* ---------------------------------------------------------------- fft */
/* one line in place: sign -1 forward, +1 inverse (then divided by n) */
static void transform(double complex *line, double complex *spare, int64_t n, int64_t stride, int sign)
{
    for (int64_t k = 0; k < n; k++) {
        spare[k] = 0;
        for (int64_t j = 0; j < n; j++)
            spare[k] += line[j * stride] * cexp(sign * 2 * M_PI * I * (double)(k * j % n) / (double)n);
    }
    for (int64_t k = 0; k < n; k++)
        line[k * stride] = sign > 0 ? spare[k] / (double)n : spare[k];
}

/* all lines along one dimension of a box of `count` elements */
static void transform_dim(double complex *box, double complex *spare, int64_t count, int64_t n,
                          int64_t stride, int sign)
{
    for (int64_t outer = 0; outer < count; outer += n * stride)
        for (int64_t inner = 0; inner < stride; inner++)
            transform(box + outer + inner, spare, n, stride, sign);
}

static enum error_code fft(struct verify_state *state, uint32_t op, struct verify_value *in,
                           struct verify_value *out, struct error *e)
{
    struct ir_dims length;
    char kind[32];
    int64_t strides[IR_MAX_RANK], full = 1, n_in = verify_type_count(state, in->type),
                                  n_out = verify_type_count(state, out->type);
    uint32_t rank = in->type->rank;
    ir_word(state->program, op, "fft_type", kind);
    bool real_in = strcmp(kind, "RFFT") == 0, real_out = strcmp(kind, "IRFFT") == 0;
    bool inverse = real_out || strcmp(kind, "IFFT") == 0;
    if (ir_dims(state->program, op, "fft_length", &length) != 0 || length.count < 1 || length.count > rank ||
        out->type->rank != rank)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "fft_length does not fit");
    for (uint32_t i = 0; i < length.count; i++)
        full *= length.at[i];
    int64_t last = length.at[length.count - 1], half = last / 2 + 1,
            per_in = real_out ? full / last * half : full;
    int64_t per_out = real_in ? full / last * half : full;
    if (full < 1 || n_in % per_in || n_out % per_out || n_in / per_in != n_out / per_out)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand and result do not fit fft_length");
    verify_value_dense(state, in);
    verify_value_alloc(state, out, false);
    double complex *box = mem_zalloc((size_t)(full + last) + 1, sizeof *box);
    int64_t most = last;
    for (uint32_t i = 0; i < length.count; i++)
        most = length.at[i] > most ? length.at[i] : most;
    double complex *spare = mem_alloc((size_t)(most + 1) * sizeof *spare);
    verify_strides(length.count, length.at, strides);
    for (int64_t b = 0; b < n_in / per_in; b++) {
        int64_t row = real_out ? half : last;
        for (int64_t i = 0; i < per_in; i++)
            box[i / row * last + i % row] = verify_number(in, b * per_in + i);
        /* the outer dimensions of a half spectrum first, then its other half by symmetry of each line */
        for (uint32_t d = 0; d < length.count; d++) {
            if (real_out && d + 1 == length.count)
                for (int64_t line = 0; line < full; line += last)
                    for (int64_t k = half; k < last; k++)
                        box[line + k] = conj(box[line + last - k]);
            transform_dim(box, spare, full, length.at[d], strides[d], inverse ? 1 : -1);
        }
        row = real_in ? half : last;
        for (int64_t i = 0; i < per_out; i++)
            verify_set_number(out, b * per_out + i, box[i / row * last + i % row]);
    }
    free(box);
    free(spare);
    return ERROR_OK;
}

/* ---------------------------------------------------------------- triangular matrices */
static enum error_code cholesky(struct verify_state *state, uint32_t op, struct verify_value *in,
                                struct verify_value *out, struct error *e)
{
    uint32_t rank = in->type->rank;
    bool lower = ir_int(state->program, op, "lower", 0) != 0;
    int64_t n = rank < 2 ? 0 : ir_type_dims(state->program, in->type)[rank - 1];
    if (rank < 2 || ir_type_dims(state->program, in->type)[rank - 2] != n)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "the operand is not square");
    verify_value_dense(state, in);
    verify_value_alloc(state, out, false);
    double complex *l = mem_zalloc((size_t)(n * n) + 1, sizeof *l);
    for (int64_t base = 0, total = verify_type_count(state, in->type); base < total; base += n * n) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) {
                double complex sum =
                    lower ? verify_number(in, base + i * n + j) : conj(verify_number(in, base + j * n + i));
                for (int64_t k = 0; k < j; k++)
                    sum -= l[i * n + k] * conj(l[j * n + k]);
                l[i * n + j] = i == j ? (creal(sum) < 0 ? NAN : sqrt(creal(sum))) : sum / l[j * n + j];
            }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                verify_set_number(out, base + i * n + j,
                                  lower ? (j <= i ? l[i * n + j] : 0) : (j >= i ? conj(l[j * n + i]) : 0));
    }
    free(l);
    return ERROR_OK;
}

struct solve {
    bool left, lower, unit;
    char transpose; /* 'N', 'T' or 'A' (adjoint) */
    int64_t n, m;   /* matrix n x n, right-hand sides m */
};

/* element (i, j) of op(a); lower says which triangle op(a) has */
static double complex coefficient(const struct solve *solve, const struct verify_value *value, int64_t base,
                                  int64_t i, int64_t j)
{
    double complex v = solve->transpose == 'N' ? verify_number(value, base + i * solve->n + j)
                                               : verify_number(value, base + j * solve->n + i);
    return solve->transpose == 'A' ? conj(v) : v;
}

/* one vector in place: op(a) y = b (left) or y op(a) = b (right) */
static void substitute(const struct solve *solve, const struct verify_value *value, int64_t base,
                       double complex *y)
{
    bool lower = solve->lower == (solve->transpose == 'N');
    bool forward = lower == solve->left;
    for (int64_t step = 0; step < solve->n; step++) {
        int64_t i = forward ? step : solve->n - 1 - step;
        for (int64_t before = 0; before < step; before++) {
            int64_t j = forward ? before : solve->n - 1 - before;
            y[i] -= (solve->left ? coefficient(solve, value, base, i, j)
                                 : coefficient(solve, value, base, j, i)) *
                    y[j];
        }
        if (!solve->unit)
            y[i] /= coefficient(solve, value, base, i, i);
    }
}

static enum error_code triangular_solve(struct verify_state *state, uint32_t op, struct verify_value *in,
                                        struct verify_value *out, struct error *e)
{
    uint32_t rank = in[0].type->rank;
    char word[32];
    ir_word(state->program, op, "transpose_a", word);
    struct solve solve = {.left = ir_int(state->program, op, "left_side", 1),
                          .lower = ir_int(state->program, op, "lower", 0),
                          .unit = ir_int(state->program, op, "unit_diagonal", 0),
                          .transpose = word[0] ? word[0] : 'N'};
    if (rank < 2 || in[1].type->rank != rank || in[1].type->element != in[0].type->element)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operands do not fit");
    const int64_t *a = ir_type_dims(state->program, in[0].type),
                  *b = ir_type_dims(state->program, in[1].type);
    solve.n = a[rank - 1];
    solve.m = solve.left ? b[rank - 1] : b[rank - 2];
    int64_t total = verify_type_count(state, in[1].type), each = solve.n * solve.m;
    if (a[rank - 2] != solve.n || b[solve.left ? rank - 2 : rank - 1] != solve.n || each == 0 ||
        verify_type_count(state, in[0].type) / (solve.n * solve.n) != total / each)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "shapes do not fit");
    verify_value_dense(state, &in[0]);
    verify_value_dense(state, &in[1]);
    verify_value_alloc(state, out, false);
    double complex *y = mem_alloc((size_t)(solve.n + 1) * sizeof *y);
    int64_t step = solve.left ? solve.m : 1, next = solve.left ? 1 : solve.n;
    for (int64_t batch = 0; batch < total / each; batch++)
        for (int64_t k = 0; k < solve.m; k++) {
            int64_t base = batch * each + k * next;
            for (int64_t i = 0; i < solve.n; i++)
                y[i] = verify_number(&in[1], base + i * step);
            substitute(&solve, &in[0], batch * solve.n * solve.n, y);
            for (int64_t i = 0; i < solve.n; i++)
                verify_set_number(out, base + i * step, y[i]);
        }
    free(y);
    return ERROR_OK;
}

enum error_code verify_eval_linalg(struct verify_state *state, uint32_t op, struct verify_value *in,
                                   struct verify_value *out, struct error *e)
{
    enum verify_store store = verify_store_of((enum ir_element)in->type->element);
    if (store < VERIFY_F32)
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e,
                           "only real and complex numbers are interpreted");
    switch ((int)state->program->ops[op].code) {
    case IR_FFT: return fft(state, op, in, out, e);
    case IR_CHOLESKY: return cholesky(state, op, in, out, e);
    default: return triangular_solve(state, op, in, out, e);
    }
}

/* number i drawn from a state: any function of both will do, as long as it is one */
static uint64_t drawn(uint64_t state, uint64_t stream, int64_t i)
{
    return hash_combine(hash_combine(state, stream), (uint64_t)i);
}

static void draw(struct verify_state *state, uint64_t from, uint64_t stream, struct verify_value *out)
{
    int64_t n = verify_type_count(state, out->type), *numbers;
    verify_value_alloc(state, out, false);
    numbers = verify_data(out);
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (int64_t)drawn(from, stream, i);
    verify_round_all((enum ir_element)out->type->element, numbers, n);
}

enum error_code verify_eval_rng(struct verify_state *state, uint32_t op, struct verify_value *in,
                                struct verify_value *out, struct error *e)
{
    if (state->program->ops[op].code != IR_RNG_BIT_GENERATOR)
        return verify_fail(
            state, op, ERROR_NOT_AVAILABLE, e,
            "random numbers without a state are the implementation's own and are not interpreted");
    if (state->program->ops[op].operand_count != 1 || state->program->ops[op].result_count != 2)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "expected a state, and a state and bits");
    for (uint32_t i = 0; i < 3; i++) {
        const struct ir_type *type = i ? out[i - 1].type : in[0].type;
        if (type->kind != IR_TYPE_TENSOR || verify_store_of((enum ir_element)type->element) != VERIFY_I64)
            return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "only integer bits are interpreted");
    }
    verify_value_dense(state, &in[0]);
    const int64_t *words = verify_data(&in[0]);
    uint64_t from = 0;
    for (int64_t i = 0; i < verify_type_count(state, in[0].type); i++)
        from = hash_combine(from, (uint64_t)words[i]);
    draw(state, from, 0, &out[0]);
    draw(state, from, 1, &out[1]);
    return ERROR_OK;
}

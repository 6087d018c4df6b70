/* Custom calls of LAPACK, as JAX makes them for CPUs (lapack_spotrf_ffi ..) and, where cuSOLVER has the same
 * results, for GPUs (cusolver_potrf_ffi ..), and of XLA for TPUs (Qr, Eigh, LuDecomposition ..): batched,
 * real, by textbook algorithms in double. Signs and
 * pivots are chosen as LAPACK does where it says how (Householder's reflections, partial pivoting);
 * eigenvectors have their largest component positive, since LAPACK leaves that open. Both sides of a
 * comparison run this code: it must be a function of its operands that small changes change little.
 * General eigenvalues and complex numbers are not interpreted. Source: Golub and Van Loan, Matrix
 * Computations, chapters 3 to 5 and 8. */
#include "verify/value.h"

#include "ir/attrs.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sweeps of Jacobi's method: convergence is quadratic, some ten are enough for any size. */
enum { SWEEPS = 30 };

struct call {
    struct verify_state *state;
    uint32_t op;
    struct verify_value *in, *out;
    uint32_t operands; /* of trsm 3 where b is scaled first, as older JAX has it */
    int64_t m, n;      /* of one matrix of the first operand */
};

/* a word of the call's options, 'L' of {uplo = 76 : ui8}; 0: it has none */
static char option(const struct call *call, const char *name)
{
    const struct ir_program *program = call->state->program;
    const struct ir_attr *options = ir_attr_find(program, call->op, "mhlo.backend_config");
    const struct ir_attr *word =
        options && options->kind == IR_ATTR_DICTIONARY ? ir_attr_entry(program, options, name) : NULL;
    return word && word->kind == IR_ATTR_INT ? (char)word->value : 0;
}

/* what TPUs' Eigh is told: "lower,sorted,iterations,tolerance"; NULL: no text */
static const char *text_option(const struct call *call)
{
    const struct ir_attr *text = ir_attr_find(call->state->program, call->op, "backend_config");
    return text && text->kind == IR_ATTR_STRING ? ir_string(call->state->program, text->first) : NULL;
}

/* which triangle: {uplo = 85 : ui8} is LAPACK's upper one, {lower = false} cuSOLVER's, "0,.." TPUs' */
static bool is_lower(const struct call *call)
{
    const struct ir_program *program = call->state->program;
    const char *text = text_option(call);
    if (text && (text[0] == '0' || text[0] == '1'))
        return text[0] == '1';
    const struct ir_attr *options = ir_attr_find(program, call->op, "mhlo.backend_config");
    const struct ir_attr *lower =
        options && options->kind == IR_ATTR_DICTIONARY ? ir_attr_entry(program, options, "lower") : NULL;
    return lower && lower->kind == IR_ATTR_BOOL ? lower->value != 0 : option(call, "uplo") != 'U';
}

static double *matrix(const struct verify_value *value, int64_t at, int64_t elements)
{
    double *a = mem_alloc((size_t)(elements + 1) * sizeof *a);
    for (int64_t i = 0; i < elements; i++)
        a[i] = creal(verify_number(value, at * elements + i));
    return a;
}

static void store(struct verify_value *value, int64_t at, int64_t elements, const double *a)
{
    for (int64_t i = 0; i < elements; i++)
        verify_set_number(value, at * elements + i, a[i]);
}

static void store_integer(const struct call *call, uint32_t result, int64_t i, int64_t x)
{
    if (result < call->state->program->ops[call->op].result_count)
        ((int64_t *)verify_data(&call->out[result]))[i] = x;
}

/* ---------------------------------------------------------------- factorisations of one matrix */
/* a = l l' in the lower triangle; the place of a pivot that is not positive, from 1, or 0 */
static int64_t factor_positive(double *a, int64_t n, bool lower)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double *here = lower ? &a[i * n + j] : &a[j * n + i], sum = *here;
            for (int64_t k = 0; k < j; k++)
                sum -= lower ? a[i * n + k] * a[j * n + k] : a[k * n + i] * a[k * n + j];
            if (i == j && !(sum > 0))
                return j + 1;
            *here = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return 0;
}

static void potrf(struct call *call, int64_t at)
{
    double *a = matrix(&call->in[0], at, call->n * call->n);
    int64_t bad = factor_positive(a, call->n, is_lower(call));
    store(&call->out[0], at, call->n * call->n, a);
    store_integer(call, 1, at, bad);
    free(a);
}

static void swap_rows(double *a, int64_t n, int64_t i, int64_t k)
{
    for (int64_t j = 0; j < n && i != k; j++) {
        double kept = a[i * n + j];
        a[i * n + j] = a[k * n + j];
        a[k * n + j] = kept;
    }
}

/* a = p l u in its place; the rows that were exchanged with each, counted from 0. Gives the place of the
 * first pivot that is 0, from 1, or 0. */
static int64_t factor_pivoted(double *a, int64_t m, int64_t n, int64_t *pivots)
{
    int64_t least = m < n ? m : n, bad = 0;
    for (int64_t k = 0; k < least; k++) {
        int64_t pivot = k;
        for (int64_t i = k; i < m; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        pivots[k] = pivot;
        swap_rows(a, n, k, pivot);
        if (a[k * n + k] == 0) {
            bad = bad ? bad : k + 1;
            continue;
        }
        for (int64_t i = k + 1; i < m; i++) {
            a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
    }
    return bad;
}

/* LAPACK counts pivots from 1; TPUs from 0, and give the rows' order in place of an info. */
static void factor_rows(struct call *call, int64_t at, bool tpu)
{
    int64_t m = call->m, n = call->n, least = m < n ? m : n;
    double *a = matrix(&call->in[0], at, m * n);
    int64_t *pivots = mem_zalloc((size_t)least + 1, sizeof *pivots),
            *order = mem_zalloc((size_t)m + 1, sizeof *order);
    int64_t bad = factor_pivoted(a, m, n, pivots);
    for (int64_t i = 0; i < m; i++)
        order[i] = i;
    for (int64_t k = 0; k < least; k++) {
        int64_t kept = order[k];
        order[k] = order[pivots[k]];
        order[pivots[k]] = kept;
        store_integer(call, 1, at * least + k, pivots[k] + !tpu);
    }
    store(&call->out[0], at, m * n, a);
    if (!tpu)
        store_integer(call, 2, at, bad);
    for (int64_t i = 0; i < m && tpu; i++)
        store_integer(call, 2, at * m + i, order[i]);
    free(order);
    free(pivots);
    free(a);
}

static void getrf(struct call *call, int64_t at)
{
    factor_rows(call, at, false);
}

static void lu_decomposition(struct call *call, int64_t at)
{
    factor_rows(call, at, true);
}

/* (I - tau v v') from the left on the columns first .. n of a; v is 1 and then column k below its diagonal
 * of q */
static void reflect(double *a, int64_t m, int64_t n, int64_t first, const double *q, int64_t width, int64_t k,
                    double tau)
{
    for (int64_t j = first; j < n; j++) {
        double sum = a[k * n + j];
        for (int64_t i = k + 1; i < m; i++)
            sum += q[i * width + k] * a[i * n + j];
        a[k * n + j] -= tau * sum;
        for (int64_t i = k + 1; i < m; i++)
            a[i * n + j] -= tau * sum * q[i * width + k];
    }
}

static void geqrf(struct call *call, int64_t at)
{
    int64_t m = call->m, n = call->n, least = m < n ? m : n;
    double *a = matrix(&call->in[0], at, m * n);
    for (int64_t k = 0; k < least; k++) {
        double norm = 0, tau = 0, head = a[k * n + k];
        for (int64_t i = k; i < m; i++)
            norm += a[i * n + k] * a[i * n + k];
        norm = head >= 0 ? -sqrt(norm) : sqrt(norm);
        if (norm != head && k + 1 < m) {
            tau = (norm - head) / norm;
            for (int64_t i = k + 1; i < m; i++)
                a[i * n + k] /= head - norm;
            a[k * n + k] = norm;
            reflect(a, m, n, k + 1, a, n, k, tau);
        }
        verify_set_number(&call->out[1], at * least + k, tau);
    }
    store(&call->out[0], at, m * n, a);
    free(a);
}

/* the first n columns of the product of the reflections of geqrf */
static void orgqr(struct call *call, int64_t at)
{
    int64_t m = call->m, n = call->n;
    const struct ir_type *type = call->in[1].type;
    int64_t count = ir_type_dims(call->state->program, type)[type->rank - 1];
    double *v = matrix(&call->in[0], at, m * n), *q = mem_zalloc((size_t)(m * n) + 1, sizeof *q);
    for (int64_t i = 0; i < n && i < m; i++)
        q[i * n + i] = 1;
    for (int64_t k = count < n ? count : n; k-- > 0;)
        reflect(q, m, n, k, v, n, k, creal(verify_number(&call->in[1], at * count + k)));
    store(&call->out[0], at, m * n, q);
    free(v);
    free(q);
}

/* ---------------------------------------------------------------- eigenvalues */
/* one rotation of Jacobi's that clears a[p][q], of a and of the vectors' columns */
static void rotate(double *a, double *vectors, int64_t n, int64_t p, int64_t q)
{
    double off = a[p * n + q], theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1),
           s = t * c;
    for (int64_t k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int64_t k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
        x = vectors[k * n + p];
        y = vectors[k * n + q];
        vectors[k * n + p] = c * x - s * y;
        vectors[k * n + q] = s * x + c * y;
    }
}

static void diagonalise(double *a, double *vectors, int64_t n)
{
    double scale = 0;
    for (int64_t i = 0; i < n * n; i++)
        scale = fabs(a[i]) > scale ? fabs(a[i]) : scale;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        bool clear = true;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-15 * scale) {
                    rotate(a, vectors, n, p, q);
                    clear = false;
                }
        if (clear)
            return;
    }
}

/* the place of the next larger eigenvalue among those not taken */
static int64_t least_left(const double *a, int64_t n, const uint8_t *taken)
{
    int64_t least = -1;
    for (int64_t i = 0; i < n; i++)
        if (!taken[i] && (least < 0 || a[i * n + i] < a[least * n + least]))
            least = i;
    return least;
}

/* column `from` of the vectors, its largest component positive, as column `to` of the result */
static void store_vector(struct verify_value *out, int64_t at, int64_t n, const double *vectors, int64_t from,
                         int64_t to)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabs(vectors[i * n + from]) > fabs(vectors[largest * n + from]) * (1 + 1e-6))
            largest = i;
    double sign = vectors[largest * n + from] < 0 ? -1 : 1;
    for (int64_t i = 0; i < n; i++)
        verify_set_number(out, (at * n + i) * n + to, sign * vectors[i * n + from]);
}

static void syevd(struct call *call, int64_t at)
{
    int64_t n = call->n;
    bool lower = is_lower(call);
    double *a = matrix(&call->in[0], at, n * n), *vectors = mem_zalloc((size_t)(n * n) + 1, sizeof *vectors);
    uint8_t *taken = mem_zalloc((size_t)n + 1, 1);
    for (int64_t i = 0; i < n; i++) {
        vectors[i * n + i] = 1;
        for (int64_t k = 0; k < i; k++)
            a[i * n + k] = a[k * n + i] = lower ? a[i * n + k] : a[k * n + i];
    }
    diagonalise(a, vectors, n);
    for (int64_t k = 0; k < n; k++) {
        int64_t from = least_left(a, n, taken);
        taken[from] = 1;
        verify_set_number(&call->out[1], at * n + k, a[from * n + from]);
        store_vector(&call->out[0], at, n, vectors, from, k);
    }
    store_integer(call, 2, at, 0);
    free(a);
    free(vectors);
    free(taken);
}

/* ---------------------------------------------------------------- triangular systems */
/* op(a) x = b for one column of b, `step` apart; a is read as its transpose where `turned` */
static void substitute(const double *a, int64_t n, bool lower, bool turned, bool unit, double *b,
                       int64_t step)
{
    bool forward = lower != turned;
    for (int64_t k = 0; k < n; k++) {
        int64_t i = forward ? k : n - 1 - k;
        double sum = b[i * step];
        for (int64_t j = forward ? 0 : i + 1; j < (forward ? i : n); j++)
            sum -= (turned ? a[j * n + i] : a[i * n + j]) * b[j * step];
        b[i * step] = unit ? sum : sum / a[i * n + i];
    }
}

static void trsm(struct call *call, int64_t at)
{
    const struct ir_type *type = call->in[1].type;
    const int64_t *dims = ir_type_dims(call->state->program, type);
    int64_t rows = dims[type->rank - 2], columns = dims[type->rank - 1];
    bool left = option(call, "side") != 'R', lower = is_lower(call),
         turned = option(call, "trans_x") == 'T' || option(call, "trans_x") == 'C';
    double *a = matrix(&call->in[0], at, call->n * call->n), *b = matrix(&call->in[1], at, rows * columns);
    double scale = call->operands > 2 ? creal(verify_number(&call->in[2], 0)) : 1;
    for (int64_t i = 0; i < rows * columns; i++)
        b[i] *= scale;
    for (int64_t k = 0; k < (left ? columns : rows); k++) /* x a = b is a' x' = b' */
        substitute(a, call->n, lower, left ? turned : !turned, option(call, "diag") == 'U',
                   left ? b + k : b + k * columns, left ? columns : 1);
    store(&call->out[0], at, rows * columns, b);
    free(a);
    free(b);
}

/* ---------------------------------------------------------------- singular values */
struct svd {               /* a (or its transpose) = left diag(values) right', values descending */
    int64_t rows, columns; /* rows >= columns */
    double *left;          /* rows x rows */
    double *values;        /* columns */
    double *right;         /* columns x columns */
};

static void turn_columns(double *a, int64_t rows, int64_t width, int64_t p, int64_t q, double c, double s)
{
    for (int64_t i = 0; i < rows; i++) {
        double x = a[i * width + p], y = a[i * width + q];
        a[i * width + p] = c * x - s * y;
        a[i * width + q] = s * x + c * y;
    }
}

static double columns_product(const double *a, int64_t rows, int64_t width, int64_t p, int64_t q)
{
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += a[i * width + p] * a[i * width + q];
    return sum;
}

/* Jacobi's method from one side: the columns of w become orthogonal, v collects the rotations */
static void orthogonalise(double *w, double *v, int64_t rows, int64_t columns)
{
    bool clear = false;
    for (int sweep = 0; sweep < SWEEPS && !clear; sweep++) {
        clear = true;
        for (int64_t p = 0; p < columns; p++)
            for (int64_t q = p + 1; q < columns; q++) {
                double x = columns_product(w, rows, columns, p, p),
                       y = columns_product(w, rows, columns, q, q),
                       off = columns_product(w, rows, columns, p, q);
                if (fabs(off) <= 1e-15 * sqrt(x) * sqrt(y))
                    continue;
                double zeta = (y - x) / (2 * off);
                double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(zeta * zeta + 1)),
                       c = 1 / sqrt(t * t + 1);
                turn_columns(w, rows, columns, p, q, c, c * t);
                turn_columns(v, columns, columns, p, q, c, c * t);
                clear = false;
            }
    }
}

/* column k: of unit length and orthogonal to those before it, out of the first unit vector that allows it */
static void complete_column(double *a, int64_t rows, int64_t k)
{
    for (int64_t unit = 0; unit < rows; unit++) {
        for (int64_t i = 0; i < rows; i++)
            a[i * rows + k] = i == unit;
        for (int pass = 0; pass < 2; pass++) /* the second takes off what rounding left */
            for (int64_t j = 0; j < k; j++) {
                double part = columns_product(a, rows, rows, j, k);
                for (int64_t i = 0; i < rows; i++)
                    a[i * rows + k] -= part * a[i * rows + j];
            }
        double norm = sqrt(columns_product(a, rows, rows, k, k));
        if (norm * norm * 2 * (double)rows < 1)
            continue; /* some unit vector keeps 1 / rows of its square */
        for (int64_t i = 0; i < rows; i++)
            a[i * rows + k] /= norm;
        return;
    }
}

/* column `from` of w and v as column `to` of the result */
static void take_column(struct svd *svd, const double *w, const double *v, int64_t from, int64_t to)
{
    int64_t columns = svd->columns, largest = 0;
    for (int64_t i = 0; i < columns; i++)
        if (fabs(v[i * columns + from]) > fabs(v[largest * columns + from]) * (1 + 1e-6))
            largest = i;
    double sign = v[largest * columns + from] < 0 ? -1 : 1;
    for (int64_t i = 0; i < columns; i++)
        svd->right[i * columns + to] = sign * v[i * columns + from];
    svd->values[to] = sqrt(columns_product(w, svd->rows, columns, from, from));
    if (svd->values[to] <= 1e-14 * svd->values[0]) {
        complete_column(svd->left, svd->rows, to);
        return;
    }
    for (int64_t i = 0; i < svd->rows; i++)
        svd->left[i * svd->rows + to] = sign * w[i * columns + from] / svd->values[to];
}

/* w (rows x columns) is used up */
static void decompose(struct svd *svd, double *w)
{
    int64_t columns = svd->columns;
    double *v = mem_zalloc((size_t)(columns * columns) + 1, sizeof *v),
           *norm = mem_zalloc((size_t)columns + 1, sizeof *norm);
    for (int64_t i = 0; i < columns; i++)
        v[i * columns + i] = 1;
    orthogonalise(w, v, svd->rows, columns);
    for (int64_t i = 0; i < columns; i++)
        norm[i] = columns_product(w, svd->rows, columns, i, i);
    for (int64_t to = 0; to < columns; to++) {
        int64_t from = 0;
        for (int64_t i = 1; i < columns; i++)
            if (norm[i] > norm[from])
                from = i;
        take_column(svd, w, v, from, to);
        norm[from] = -1;
    }
    for (int64_t k = columns; k < svd->rows; k++)
        complete_column(svd->left, svd->rows, k);
    free(v);
    free(norm);
}

/* results: a (used up by LAPACK, zeros here), values, u, v', info; mode N: u and v' are not wanted */
static void gesdd(struct call *call, int64_t at)
{
    int64_t m = call->m, n = call->n;
    bool turned = m < n;
    struct svd svd = {.rows = turned ? n : m, .columns = turned ? m : n};
    double *a = matrix(&call->in[0], at, m * n), *w = mem_alloc((size_t)(m * n + 1) * sizeof *w);
    svd.left = mem_zalloc((size_t)(svd.rows * svd.rows) + 1, sizeof *svd.left);
    svd.values = mem_zalloc((size_t)svd.columns + 1, sizeof *svd.values);
    svd.right = mem_zalloc((size_t)(svd.columns * svd.columns) + 1, sizeof *svd.right);
    for (int64_t i = 0; i < svd.rows; i++)
        for (int64_t j = 0; j < svd.columns; j++)
            w[i * svd.columns + j] = turned ? a[j * n + i] : a[i * n + j];
    decompose(&svd, w);
    store(&call->out[1], at, svd.columns, svd.values);
    if (option(call, "mode") != 'N') {
        int64_t wide = option(call, "mode") == 'A' ? m : svd.columns,
                high = option(call, "mode") == 'A' ? n : svd.columns;
        const double *u = turned ? svd.right : svd.left, *v = turned ? svd.left : svd.right;
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < wide; k++)
                verify_set_number(&call->out[2], (at * m + i) * wide + k, u[i * m + k]);
        for (int64_t k = 0; k < high; k++)
            for (int64_t j = 0; j < n; j++)
                verify_set_number(&call->out[3], (at * high + k) * n + j, v[j * n + k]);
    }
    free(a);
    free(w);
    free(svd.left);
    free(svd.values);
    free(svd.right);
}

/* ---------------------------------------------------------------- calls */
static const struct routine {
    const char *name; /* without lapack_ and the letter of the type, or cusolver_, and _ffi */
    uint32_t operands, results;
    bool square, on_gpus; /* cuSOLVER's has the same operands and results */
    void (*run)(struct call *call, int64_t at);
} routines[] = {{"potrf", 1, 2, true, true, potrf},  {"getrf", 1, 3, false, true, getrf},
                {"geqrf", 1, 2, false, true, geqrf}, {"orgqr", 2, 1, false, true, orgqr},
                {"syevd", 1, 3, true, true, syevd},  {"trsm", 2, 1, true, false, trsm},
                {"gesdd", 1, 5, false, false, gesdd}};

static const struct routine tpu_routines[] = {/* by their whole names */
                                              {"Qr", 1, 2, false, false, geqrf},
                                              {"ProductOfElementaryHouseholderReflectors", 2, 1, false, false,
                                               orgqr},
                                              {"Eigh", 1, 2, true, false, syevd},
                                              {"LuDecomposition", 1, 3, false, false, lu_decomposition}};

static const struct routine *tpu_routine_named(const char *target)
{
    for (size_t i = 0; i < sizeof tpu_routines / sizeof *tpu_routines; i++)
        if (strcmp(target, tpu_routines[i].name) == 0)
            return &tpu_routines[i];
    return NULL;
}

bool verify_is_lapack(const char *target)
{
    return strncmp(target, "lapack_", strlen("lapack_")) == 0 ||
           strncmp(target, "cusolver_", strlen("cusolver_")) == 0 || tpu_routine_named(target);
}

static const struct routine *routine_named(const char *target)
{
    static const char CUSOLVER[] = "cusolver_";
    bool gpu = strncmp(target, CUSOLVER, sizeof CUSOLVER - 1) == 0;
    bool known = gpu || target[7] == 's' || target[7] == 'd'; /* cuSOLVER's names have no letter of a type */
    const char *name = target + (gpu ? sizeof CUSOLVER - 1 : 8);
    for (size_t i = 0; i < sizeof routines / sizeof *routines && known; i++) {
        size_t size = strlen(routines[i].name);
        if (strncmp(name, routines[i].name, size) == 0 && strcmp(name + size, "_ffi") == 0 &&
            (routines[i].on_gpus || !gpu))
            return &routines[i];
    }
    return NULL;
}

/* elements of a value in one of `batches` matrices; 0: they do not divide, or are no numbers */
static int64_t each(const struct call *call, const struct verify_value *value, int64_t batches)
{
    int64_t count = verify_type_count(call->state, value->type);
    return value->type->kind == IR_TYPE_TENSOR && batches && count % batches == 0 ? count / batches : 0;
}

/* the shapes of operands and results fit the routine */
static bool fits(const struct call *call, const struct routine *routine, int64_t batches)
{
    int64_t least = call->m < call->n ? call->m : call->n;
    const struct ir_type *other = routine->operands > 1 ? call->in[1].type : NULL;
    bool solves = routine->run == trsm;
    if (routine->square && call->m != call->n)
        return false;
    for (uint32_t i = 0; i < call->operands; i++)
        if (!each(call, &call->in[i], i < routine->operands ? batches : 1) ||
            verify_store_of((enum ir_element)call->in[i].type->element) < VERIFY_F32)
            return false;
    if (solves) {
        const int64_t *dims = ir_type_dims(call->state->program, other);
        char side = option(call, "side");
        return (call->operands == 2 || verify_type_count(call->state, call->in[2].type) == 1) &&
               other->rank >= 2 && dims[other->rank - (side == 'R' ? 1 : 2)] == call->n &&
               each(call, &call->out[0], batches) == each(call, &call->in[1], batches);
    }
    if (other && (other->rank < 1 || each(call, &call->in[1], batches) !=
                                         ir_type_dims(call->state->program, other)[other->rank - 1]))
        return false;
    if (each(call, &call->out[0], batches) != call->m * call->n)
        return false;
    if (routine->run == gesdd && option(call, "mode") != 'N') {
        bool all = option(call, "mode") == 'A';
        if ((!all && option(call, "mode") != 'S') ||
            each(call, &call->out[2], batches) != call->m * (all ? call->m : least) ||
            each(call, &call->out[3], batches) != call->n * (all ? call->n : least))
            return false;
    }
    const char *text = text_option(call);
    if (text && routine->run == syevd && strlen(text) > 2 && text[2] == '0')
        return false; /* in any order */
    int64_t second = routine->run == potrf ? 1 : routine->run == syevd ? call->n : least;
    return routine->results < 2 || each(call, &call->out[1], batches) == second;
}

enum error_code verify_eval_lapack(struct verify_state *state, uint32_t op, struct verify_value *in,
                                   struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    const char *target =
        ir_string(state->program, ir_attr_find(state->program, op, "call_target_name")->first);
    const struct routine *routine = tpu_routine_named(target);
    const struct ir_type *type = ir_op->operand_count ? in[0].type : NULL;
    routine = routine ? routine : routine_named(target);
    if (!routine)
        return verify_fail(
            state, op, ERROR_NOT_AVAILABLE, e,
            "custom call target '%s' is not interpreted: leave the proof out, or plan a module that "
            "takes its result as an argument",
            target);
    bool scaled = routine->run == trsm && ir_op->operand_count == 3;
    if ((ir_op->operand_count != routine->operands && !scaled) || ir_op->result_count != routine->results ||
        type->rank < 2)
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "'%s' with other operands or results", target);
    const int64_t *dims = ir_type_dims(state->program, type);
    struct call call = {state, op, in, out, ir_op->operand_count, dims[type->rank - 2], dims[type->rank - 1]};
    int64_t batches = call.m && call.n ? verify_type_count(state, type) / (call.m * call.n) : 0;
    if (!fits(&call, routine, batches))
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "'%s' with other shapes", target);
    for (uint32_t i = 0; i < call.operands; i++)
        verify_value_dense(state, &in[i]);
    for (uint32_t i = 0; i < routine->results; i++) {
        verify_value_alloc(state, &out[i], false);
        memset(verify_data(&out[i]), 0,
               (size_t)verify_type_count(state, out[i].type) *
                   verify_element_size((enum ir_element)out[i].type->element));
    }
    for (int64_t at = 0; at < batches; at++)
        routine->run(&call, at);
    return ERROR_OK;
}

/* cu_lu_pivots_to_permutation: the rows' order after exchanging row i with row pivots[i], counted from 0 */
enum error_code verify_eval_permutation(struct verify_state *state, uint32_t op, struct verify_value *in,
                                        struct verify_value *out, struct error *e)
{
    const struct ir_type *from = in[0].type, *to = out[0].type;
    int64_t pivots = from->rank ? ir_type_dims(state->program, from)[from->rank - 1] : 0,
            rows = to->rank ? ir_type_dims(state->program, to)[to->rank - 1] : 0;
    int64_t batches = rows ? verify_type_count(state, to) / rows : 0;
    if (pivots > rows || batches * pivots != verify_type_count(state, from))
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "pivots and permutation of other shapes");
    verify_value_dense(state, &in[0]);
    verify_value_alloc(state, &out[0], false);
    for (int64_t at = 0; at < batches; at++) {
        int64_t *order = (int64_t *)verify_data(&out[0]) + at * rows;
        for (int64_t i = 0; i < rows; i++)
            order[i] = i;
        for (int64_t i = 0; i < pivots; i++) {
            int64_t other = verify_value_int(&in[0], at * pivots + i), kept = order[i];
            if (other < 0 || other >= rows)
                continue; /* of a matrix that could not be factored */
            order[i] = order[other];
            order[other] = kept;
        }
    }
    return ERROR_OK;
}

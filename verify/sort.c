/* sort (any comparator, several operands) and top_k: a merge sort of the indices of one slice after
 * another. Always stable, also where the op does not ask for it, so that runs are reproducible. */
#include "verify/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct order { /* one slice being sorted */
    struct verify_lanes *lanes;
    struct verify_array *args; /* 2 an operand */
    const char **base;         /* first element of the slice, per operand */
    size_t *size;
    int64_t stride;
    uint32_t count;
};

/* whether element b of the slice must come before element a */
static bool before(const struct order *order, int64_t b, int64_t a)
{
    uint8_t yes = 0;
    void *results[1] = {&yes};
    for (uint32_t k = 0; k < order->count; k++) {
        order->args[2 * k].data = order->base[k] + (size_t)(b * order->stride) * order->size[k];
        order->args[2 * k + 1].data = order->base[k] + (size_t)(a * order->stride) * order->size[k];
    }
    verify_lanes_run(order->lanes, order->args, 1, results);
    return yes;
}

static void merge_sort(const struct order *order, int64_t *index, int64_t *spare, int64_t n)
{
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t first = 0; first < n; first += 2 * width) {
            int64_t middle = first + width < n ? first + width : n,
                    end = first + 2 * width < n ? first + 2 * width : n;
            int64_t a = first, b = middle;
            for (int64_t i = first; i < end; i++)
                spare[i] =
                    b >= end || (a < middle && !before(order, index[b], index[a])) ? index[a++] : index[b++];
        }
        memcpy(index, spare, (size_t)n * sizeof *index);
    }
}

static void sort_all(struct verify_state *state, struct order *order, uint32_t dim, struct verify_value *in,
                     struct verify_value *out)
{
    const int64_t *dims = ir_type_dims(state->program, in->type);
    int64_t n = dims[dim], inner = 1, outer = 1;
    for (uint32_t i = 0; i < in->type->rank; i++)
        *(i < dim ? &outer : &inner) *= i == dim ? 1 : dims[i];
    order->stride = inner;
    int64_t *index = mem_alloc((size_t)(2 * n + 1) * sizeof *index);
    for (int64_t a = 0; a < outer; a++)
        for (int64_t b = 0; b < inner; b++) {
            int64_t start = a * n * inner + b;
            for (int64_t i = 0; i < n; i++)
                index[i] = i;
            for (uint32_t k = 0; k < order->count; k++)
                order->base[k] = (const char *)verify_data(&in[k]) + (size_t)start * order->size[k];
            merge_sort(order, index, index + n, n);
            for (uint32_t k = 0; k < order->count; k++)
                for (int64_t i = 0; i < n; i++)
                    memcpy((char *)verify_data(&out[k]) + (size_t)(start + i * inner) * order->size[k],
                           order->base[k] + (size_t)(index[i] * inner) * order->size[k], order->size[k]);
        }
    free(index);
}

enum error_code verify_eval_sort(struct verify_state *state, uint32_t op, struct verify_value *in,
                                 struct verify_value *out, struct error *e)
{
    const struct ir_op *op_ = &state->program->ops[op];
    uint32_t count = op_->operand_count, rank = in->type->rank;
    int64_t dim = ir_int(state->program, op, "dimension", -1);
    struct verify_array args[2 * IR_MAX_RANK];
    const char *base[IR_MAX_RANK];
    size_t size[IR_MAX_RANK];
    dim = dim < 0 ? dim + rank : dim;
    if (count > IR_MAX_RANK || op_->result_count != count || dim < 0 || dim >= rank)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operands, results and dimension do not fit");
    struct order order = {.args = args, .base = base, .size = size, .count = count};
    for (uint32_t k = 0; k < count; k++) {
        if (verify_type_count(state, in[k].type) != verify_type_count(state, in->type) ||
            in[k].type->element != out[k].type->element)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand %u does not fit", k);
        verify_value_dense(state, &in[k]);
        size[k] = verify_element_size((enum ir_element)in[k].type->element);
        args[2 * k] = args[2 * k + 1] =
            (struct verify_array){(enum ir_element)in[k].type->element, false, NULL};
    }
    enum error_code code = verify_lanes_create(state, op, 0, &order.lanes, e);
    if (!code) {
        for (uint32_t k = 0; k < count; k++)
            verify_value_alloc(state, &out[k], false);
        sort_all(state, &order, (uint32_t)dim, in, out);
    }
    verify_lanes_destroy(state, order.lanes);
    return code;
}

/* ---------------------------------------------------------------- top_k */
struct ranked {
    double value;
    int64_t whole, index;
};

static int by_rank(const void *left, const void *right)
{
    const struct ranked *ranked = left, *other_ranked = right;
    bool nx = isnan(ranked->value), ny = isnan(other_ranked->value);
    if (nx != ny)
        return nx ? -1 : 1; /* NaN counts as the largest */
    if (ranked->value != other_ranked->value && !nx)
        return ranked->value > other_ranked->value ? -1 : 1;
    if (ranked->whole != other_ranked->whole)
        return ranked->whole > other_ranked->whole ? -1 : 1;
    return ranked->index < other_ranked->index ? -1 : ranked->index > other_ranked->index;
}

enum error_code verify_eval_top_k(struct verify_state *state, uint32_t op, struct verify_value *in,
                                  struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    enum ir_element element = (enum ir_element)in->type->element;
    const struct ir_attr *attributes = ir_attr_find(state->program, op, "mhlo.attributes");
    const struct ir_attr *largest = attributes ? ir_attr_entry(state->program, attributes, "largest") : NULL;
    uint32_t rank = in->type->rank;
    if (ir_op->operand_count != 1 || ir_op->result_count != 2 || rank < 1 || out[0].type->rank != rank ||
        verify_type_count(state, out[0].type) != verify_type_count(state, out[1].type) ||
        out[0].type->element != in->type->element ||
        verify_store_of((enum ir_element)out[1].type->element) != VERIFY_I64)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand and results do not fit");
    if (verify_store_of(element) >= VERIFY_C64 || (largest && largest->value == 0))
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "only the largest real values are interpreted");
    int64_t n = ir_type_dims(state->program, in->type)[rank - 1],
            k = ir_type_dims(state->program, out->type)[rank - 1];
    int64_t slices = n ? verify_type_count(state, in->type) / n : 0;
    if (k > n || slices * k != verify_type_count(state, out->type))
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "k is larger than the last dimension");
    verify_value_dense(state, in);
    verify_value_alloc(state, &out[0], false);
    verify_value_alloc(state, &out[1], false);
    struct ranked *line = mem_alloc((size_t)(n + 1) * sizeof *line);
    size_t size = verify_element_size(element);
    bool whole = verify_store_of(element) == VERIFY_I64;
    for (int64_t a = 0; a < slices; a++) {
        for (int64_t i = 0; i < n; i++) {
            line[i] = (struct ranked){0, 0, i};
            if (whole)
                line[i].whole =
                    ((int64_t *)verify_data(in))[a * n + i] ^ (element == IR_UI64 ? INT64_MIN : 0);
            else
                verify_convert(element, (char *)verify_data(in) + (size_t)(a * n + i) * size, IR_F64,
                               &line[i].value, 1);
        }
        qsort(line, (size_t)n, sizeof *line, by_rank);
        for (int64_t i = 0; i < k; i++) {
            memcpy((char *)verify_data(&out[0]) + (size_t)(a * k + i) * size,
                   (char *)verify_data(in) + (size_t)(a * n + line[i].index) * size, size);
            ((int64_t *)verify_data(&out[1]))[a * k + i] = line[i].index;
        }
    }
    free(line);
    return ERROR_OK;
}

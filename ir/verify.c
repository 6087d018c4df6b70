/* What the layers above rely on, checked once: MLIR does not know StableHLO, so counts, ranks, ranges and shapes are ours
 * to check. One function a family; every complaint names the op and what is wrong, at its line and column. */
#include "ir/attrs.h"
#include "ir/prepare.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct check {
    const struct ir_program *p;
    uint32_t op;
    const struct ir_op *o;
    struct error *e;
};

#define NEED(condition, ...)                                                                                  \
    do {                                                                                                      \
        if (!(condition))                                                                                     \
            return complain(c, __VA_ARGS__);                                                                  \
    } while (0)

static enum error_code __attribute__((format(printf, 2, 3))) complain(const struct check *c, const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return error_set_at(c->e, ERROR_INVALID_MODULE, (int)c->o->line, (int)c->o->column, "%.80s: %s", ir_op_name(c->p, c->op), what);
}

static const struct ir_type *operand_type(const struct check *c, uint32_t i)
{
    return ir_value_type(c->p, ir_operand(c->p, c->op, i));
}

static const struct ir_type *result_type(const struct check *c, uint32_t i)
{
    return ir_value_type(c->p, c->o->results + i);
}

static const int64_t *dims_of(const struct check *c, const struct ir_type *t)
{
    return ir_type_dims(c->p, t);
}

static bool same_shape(const struct check *c, const struct ir_type *a, const struct ir_type *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(dims_of(c, a), dims_of(c, b), a->rank * sizeof(int64_t)) == 0);
}

/* ------------------------------------------------------------------ counts and tensors */
static enum error_code need_counts(const struct check *c, uint32_t operands, uint32_t results)
{
    NEED(c->o->operand_count == operands, "has %u operands, needs %u", c->o->operand_count, operands);
    NEED(c->o->result_count == results, "has %u results, needs %u", c->o->result_count, results);
    return ERROR_OK;
}

static enum error_code need_tensors(const struct check *c)
{
    for (uint32_t i = 0; i < c->o->operand_count; i++)
        NEED(operand_type(c, i)->kind == IR_TYPE_TENSOR, "operand %u is not a tensor", i);
    for (uint32_t i = 0; i < c->o->result_count; i++)
        NEED(result_type(c, i)->kind == IR_TYPE_TENSOR, "result %u is not a tensor", i);
    return ERROR_OK;
}

/* every entry in [0, rank), no entry twice */
static enum error_code need_dims(const struct check *c, const char *name, const struct ir_dims *d, uint32_t rank)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        NEED(d->at[i] >= 0 && d->at[i] < rank, "%s: dimension %lld is out of range for rank %u", name, (long long)d->at[i], rank);
        NEED(!(seen >> d->at[i] & 1), "%s: dimension %lld stands twice", name, (long long)d->at[i]);
        seen |= (uint64_t)1 << d->at[i];
    }
    return ERROR_OK;
}

static enum error_code need_list(const struct check *c, const char *name, struct ir_dims *out, uint32_t count)
{
    NEED(ir_attr_find(c->p, c->op, name) && ir_dims(c->p, c->op, name, out) == 0, "%s is missing or malformed", name);
    NEED(out->count == count, "%s has %u entries, needs %u", name, out->count, count);
    return ERROR_OK;
}

static enum error_code need_result(const struct check *c, uint32_t i, uint32_t rank, const int64_t *dims)
{
    const struct ir_type *t = result_type(c, i);
    NEED(t->rank == rank, "result %u has rank %u, needs %u", i, t->rank, rank);
    for (uint32_t d = 0; d < rank; d++)
        NEED(dims_of(c, t)[d] == dims[d], "result %u: dimension %u has size %lld, needs %lld", i, d,
             (long long)dims_of(c, t)[d], (long long)dims[d]);
    return ERROR_OK;
}

static enum error_code need_region(const struct check *c, uint32_t g, uint32_t args, uint32_t results)
{
    NEED(g < c->o->region_count, "region %u is missing", g);
    uint32_t block = ir_region_block(c->p, c->op, g);
    NEED(block != IR_NONE, "region %u needs one block", g);
    uint32_t end = ir_block_terminator(c->p, block);
    NEED(end != IR_NONE, "region %u is empty", g);
    NEED(c->p->blocks[block].arg_count == args, "region %u has %u arguments, needs %u", g, c->p->blocks[block].arg_count, args);
    NEED(c->p->ops[end].operand_count == results, "region %u returns %u values, needs %u", g, c->p->ops[end].operand_count,
         results);
    return ERROR_OK;
}

/* ------------------------------------------------------------------ families */
static enum error_code check_elementwise(const struct check *c)
{
    NEED(c->o->operand_count >= 1 && c->o->operand_count <= 3 && c->o->result_count == 1, "operand or result count is wrong");
    for (uint32_t i = 0; i < c->o->operand_count; i++) {
        bool scalar = operand_type(c, i)->rank == 0 && ((c->o->code == IR_SELECT && i == 0) || (c->o->code == IR_CLAMP && i != 1));
        NEED(scalar || same_shape(c, operand_type(c, i), result_type(c, 0)), "operand %u has another shape than the result", i);
    }
    if (c->o->code == IR_SELECT || c->o->code == IR_CLAMP)
        return need_counts(c, 3, 1);
    return ERROR_OK;
}

static enum error_code check_constant(const struct check *c)
{
    TRY(need_counts(c, 0, 1));
    const struct ir_attr *value = ir_attr_find(c->p, c->op, "value");
    NEED(value && value->type != IR_NONE, "value is missing");
    NEED(value->kind == IR_ATTR_DENSE || value->kind == IR_ATTR_TEXT, "value is not a constant");
    NEED(c->p->types[value->type].kind == IR_TYPE_TENSOR && same_shape(c, &c->p->types[value->type], result_type(c, 0)),
         "value has another shape than the result");
    return ERROR_OK;
}

static enum error_code check_iota(const struct check *c)
{
    TRY(need_counts(c, 0, 1));
    int64_t d = ir_int(c->p, c->op, "iota_dimension", -1);
    NEED(d >= 0 && d < result_type(c, 0)->rank, "iota_dimension %lld is out of range", (long long)d);
    return ERROR_OK;
}

static enum error_code check_broadcast(const struct check *c)
{
    TRY(need_counts(c, 1, 1));
    struct ir_dims dims;
    const struct ir_type *in = operand_type(c, 0), *out = result_type(c, 0);
    if (c->o->code == IR_BROADCAST) {
        NEED(out->rank >= in->rank, "the result's rank is below the operand's");
        TRY(need_list(c, "broadcast_sizes", &dims, out->rank - in->rank));
        for (uint32_t d = 0; d < in->rank; d++)
            NEED(dims_of(c, in)[d] == dims_of(c, out)[dims.count + d], "dimension %u changes its size", d);
        return ERROR_OK;
    }
    TRY(need_list(c, "broadcast_dimensions", &dims, in->rank));
    TRY(need_dims(c, "broadcast_dimensions", &dims, out->rank));
    for (uint32_t d = 0; d < in->rank; d++)
        NEED(dims_of(c, in)[d] == 1 || dims_of(c, in)[d] == dims_of(c, out)[dims.at[d]],
             "operand dimension %u of size %lld does not broadcast to %lld", d, (long long)dims_of(c, in)[d],
             (long long)dims_of(c, out)[dims.at[d]]);
    return ERROR_OK;
}

static enum error_code check_transpose(const struct check *c)
{
    TRY(need_counts(c, 1, 1));
    struct ir_dims dims;
    const struct ir_type *in = operand_type(c, 0), *out = result_type(c, 0);
    TRY(need_list(c, "permutation", &dims, in->rank));
    TRY(need_dims(c, "permutation", &dims, in->rank));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t d = 0; d < in->rank; d++)
        sizes[d] = dims_of(c, in)[dims.at[d]];
    (void)out;
    return need_result(c, 0, in->rank, sizes);
}

static enum error_code check_reshape(const struct check *c)
{
    TRY(need_counts(c, 1, 1));
    NEED(ir_type_elements(c->p, operand_type(c, 0)) == ir_type_elements(c->p, result_type(c, 0)),
         "operand and result have different numbers of elements");
    return ERROR_OK;
}

static enum error_code check_dot(const struct check *c)
{
    TRY(need_counts(c, 2, 1));
    struct ir_dot dot;
    const struct ir_type *l = operand_type(c, 0), *r = operand_type(c, 1);
    NEED(ir_dot(c->p, c->op, &dot) == 0, "dot_dimension_numbers are missing or malformed");
    if (c->o->code == IR_DOT)
        NEED(l->rank >= 1 && l->rank <= 2 && r->rank >= 1 && r->rank <= 2, "needs operands of rank 1 or 2");
    struct ir_dims left = dot.lhs_batch, right = dot.rhs_batch;
    for (uint32_t i = 0; i < dot.lhs_contract.count; i++) {
        NEED(left.count < IR_MAX_RANK, "too many dimensions");
        left.at[left.count++] = dot.lhs_contract.at[i];
        right.at[right.count++] = dot.rhs_contract.at[i];
    }
    TRY(need_dims(c, "lhs dimensions", &left, l->rank));
    TRY(need_dims(c, "rhs dimensions", &right, r->rank));
    int64_t sizes[3 * IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < left.count; i++)
        NEED(dims_of(c, l)[left.at[i]] == dims_of(c, r)[right.at[i]], "lhs dimension %lld and rhs dimension %lld differ in size",
             (long long)left.at[i], (long long)right.at[i]);
    for (uint32_t i = 0; i < dot.lhs_batch.count; i++)
        sizes[rank++] = dims_of(c, l)[dot.lhs_batch.at[i]];
    for (int side = 0; side < 2; side++) {
        const struct ir_type *t = side ? r : l;
        const struct ir_dims *used = side ? &right : &left;
        for (uint32_t d = 0; d < t->rank; d++) {
            bool free_dim = true;
            for (uint32_t i = 0; i < used->count; i++)
                free_dim = free_dim && used->at[i] != d;
            if (free_dim)
                sizes[rank++] = dims_of(c, t)[d];
        }
    }
    return need_result(c, 0, rank, sizes);
}

/* size of a windowed dimension after dilation, padding and stride; -1 when it is empty */
static int64_t windowed(int64_t size, const struct ir_window *w, uint32_t i)
{
    int64_t base = size ? (size - 1) * w->base_dilation.at[i] + 1 : 0;
    int64_t window = w->size.at[i] ? (w->size.at[i] - 1) * w->window_dilation.at[i] + 1 : 0;
    int64_t padded = base + w->low.at[i] + w->high.at[i];
    return padded < window || padded < 0 ? 0 : (padded - window) / w->stride.at[i] + 1;
}

static enum error_code check_window(const struct check *c, const struct ir_window *w)
{
    for (uint32_t i = 0; i < w->size.count; i++)
        NEED(w->stride.at[i] > 0 && w->base_dilation.at[i] > 0 && w->window_dilation.at[i] > 0 && w->size.at[i] >= 0 &&
                 w->low.at[i] > -((int64_t)1 << 40) && w->low.at[i] < (int64_t)1 << 40 &&
                 w->high.at[i] > -((int64_t)1 << 40) && w->high.at[i] < (int64_t)1 << 40 &&
                 w->stride.at[i] < (int64_t)1 << 31 && w->base_dilation.at[i] < (int64_t)1 << 20 &&
                 w->window_dilation.at[i] < (int64_t)1 << 20,
             "window dimension %u has a stride, dilation or padding out of range", i);
    return ERROR_OK;
}

static enum error_code check_convolution(const struct check *c)
{
    TRY(need_counts(c, 2, 1));
    struct ir_conv v;
    const struct ir_type *in = operand_type(c, 0), *kernel = operand_type(c, 1), *out = result_type(c, 0);
    NEED(ir_conv(c->p, c->op, &v) == 0, "dimension_numbers or window attributes are missing or malformed");
    uint32_t rank = v.input_spatial.count + 2;
    NEED(in->rank == rank && kernel->rank == rank && out->rank == rank, "ranks do not fit dimension_numbers");
    TRY(check_window(c, &v.window));
    struct ir_dims lists[3] = {v.input_spatial, v.kernel_spatial, v.output_spatial};
    int64_t ends[3][2] = {{v.input_batch, v.input_feature}, {v.kernel_input, v.kernel_output}, {v.output_batch, v.output_feature}};
    for (int k = 0; k < 3; k++) {
        NEED(lists[k].count + 2 <= IR_MAX_RANK, "too many dimensions");
        lists[k].at[lists[k].count++] = ends[k][0];
        lists[k].at[lists[k].count++] = ends[k][1];
        TRY(need_dims(c, "dimension_numbers", &lists[k], rank));
    }
    const int64_t *i = dims_of(c, in), *w = dims_of(c, kernel), *o = dims_of(c, out);
    NEED(v.feature_groups > 0 && v.batch_groups > 0 && i[v.input_batch] % v.batch_groups == 0 &&
             i[v.input_feature] % v.feature_groups == 0 && w[v.kernel_output] % v.feature_groups == 0 &&
             w[v.kernel_output] % v.batch_groups == 0,
         "feature_group_count or batch_group_count does not divide");
    NEED(w[v.kernel_input] == i[v.input_feature] / v.feature_groups, "the kernel's input features do not fit the input's");
    NEED(o[v.output_batch] == i[v.input_batch] / v.batch_groups && o[v.output_feature] == w[v.kernel_output],
         "the result's batch or feature size is wrong");
    for (uint32_t d = 0; d < v.output_spatial.count; d++)
        NEED(o[v.output_spatial.at[d]] == windowed(i[v.input_spatial.at[d]], &v.window, d), "spatial dimension %u has a wrong size",
             d);
    return ERROR_OK;
}

static enum error_code check_reduce(const struct check *c)
{
    uint32_t n = c->o->result_count;
    NEED(n >= 1 && c->o->operand_count == 2 * n, "needs as many initial values as operands");
    struct ir_dims dims;
    NEED(ir_attr_find(c->p, c->op, "dimensions") && ir_dims(c->p, c->op, "dimensions", &dims) == 0,
         "dimensions are missing or malformed");
    const struct ir_type *in = operand_type(c, 0);
    TRY(need_dims(c, "dimensions", &dims, in->rank));
    int64_t sizes[IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < in->rank; d++) {
        bool kept = true;
        for (uint32_t i = 0; i < dims.count; i++)
            kept = kept && dims.at[i] != d;
        if (kept)
            sizes[rank++] = dims_of(c, in)[d];
    }
    for (uint32_t i = 0; i < n; i++) {
        NEED(same_shape(c, operand_type(c, i), in), "operand %u has another shape than the first", i);
        NEED(operand_type(c, n + i)->rank == 0, "initial value %u is not a scalar", i);
        TRY(need_result(c, i, rank, sizes));
    }
    return need_region(c, 0, 2 * n, n);
}

static enum error_code check_reduce_window(const struct check *c)
{
    struct ir_window w;
    if (c->o->code == IR_SELECT_AND_SCATTER) {
        TRY(need_counts(c, 3, 1));
        NEED(ir_select_and_scatter(c->p, c->op, &w) == 0 && w.size.count == operand_type(c, 0)->rank,
             "window attributes are malformed");
        NEED(same_shape(c, operand_type(c, 0), result_type(c, 0)), "the result has another shape than the operand");
        NEED(operand_type(c, 1)->rank == operand_type(c, 0)->rank && operand_type(c, 2)->rank == 0,
             "source or initial value has a wrong rank");
        TRY(check_window(c, &w));
        for (uint32_t d = 0; d < w.size.count; d++)
            NEED(dims_of(c, operand_type(c, 1))[d] == windowed(dims_of(c, operand_type(c, 0))[d], &w, d),
                 "source dimension %u has a wrong size", d);
        TRY(need_region(c, 0, 2, 1));
        return need_region(c, 1, 2, 1);
    }
    uint32_t n = c->o->result_count;
    NEED(n >= 1 && c->o->operand_count == 2 * n, "needs as many initial values as operands");
    const struct ir_type *in = operand_type(c, 0);
    NEED(ir_reduce_window(c->p, c->op, &w) == 0 && w.size.count == in->rank, "window attributes are missing or malformed");
    TRY(check_window(c, &w));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t d = 0; d < in->rank; d++)
        sizes[d] = windowed(dims_of(c, in)[d], &w, d);
    for (uint32_t i = 0; i < n; i++) {
        NEED(same_shape(c, operand_type(c, i), in), "operand %u has another shape than the first", i);
        NEED(operand_type(c, n + i)->rank == 0, "initial value %u is not a scalar", i);
        TRY(need_result(c, i, in->rank, sizes));
    }
    return need_region(c, 0, 2 * n, n);
}

static enum error_code check_batch_norm(const struct check *c)
{
    uint32_t operands = c->o->code == IR_BATCH_NORM_TRAINING ? 3 : 5, results = c->o->code == IR_BATCH_NORM_INFERENCE ? 1 : 3;
    TRY(need_counts(c, operands, results));
    int64_t f = ir_int(c->p, c->op, "feature_index", -1);
    const struct ir_type *in = operand_type(c, 0);
    NEED(f >= 0 && f < in->rank, "feature_index %lld is out of range", (long long)f);
    for (uint32_t i = 1; i < operands; i++) {
        const struct ir_type *t = operand_type(c, i);
        if (c->o->code == IR_BATCH_NORM_GRAD && i == 4)
            NEED(same_shape(c, t, in), "grad_output has another shape than the operand");
        else
            NEED(t->rank == 1 && dims_of(c, t)[0] == dims_of(c, in)[f], "operand %u needs the feature dimension's size", i);
    }
    NEED(same_shape(c, result_type(c, 0), in), "result 0 has another shape than the operand");
    for (uint32_t i = 1; i < results; i++)
        NEED(result_type(c, i)->rank == 1 && dims_of(c, result_type(c, i))[0] == dims_of(c, in)[f],
             "result %u needs the feature dimension's size", i);
    return ERROR_OK;
}

static bool holds(const struct ir_dims *d, int64_t x)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->at[i] == x)
            return true;
    return false;
}

/* sizes of the index array without the index vector dimension; its length is returned in *vector */
static enum error_code index_shape(const struct check *c, const struct ir_type *t, int64_t vector_dim, struct ir_dims *batch,
                                   int64_t *vector)
{
    NEED(vector_dim >= 0 && vector_dim <= t->rank, "index_vector_dim %lld is out of range", (long long)vector_dim);
    batch->count = 0;
    *vector = vector_dim == t->rank ? 1 : dims_of(c, t)[vector_dim];
    for (uint32_t d = 0; d < t->rank; d++)
        if (d != vector_dim)
            batch->at[batch->count++] = dims_of(c, t)[d];
    return ERROR_OK;
}

static enum error_code check_gather(const struct check *c)
{
    TRY(need_counts(c, 2, 1));
    struct ir_gather g;
    struct ir_dims batch;
    int64_t vector, sizes[2 * IR_MAX_RANK];
    const struct ir_type *in = operand_type(c, 0), *out = result_type(c, 0);
    NEED(ir_gather(c->p, c->op, &g) == 0, "dimension_numbers or slice_sizes are missing or malformed");
    TRY(index_shape(c, operand_type(c, 1), g.index_vector_dim, &batch, &vector));
    NEED(g.slice_sizes.count == in->rank, "slice_sizes needs an entry for each operand dimension");
    TRY(need_dims(c, "start_index_map", &g.start_index_map, in->rank));
    TRY(need_dims(c, "collapsed_slice_dims", &g.collapsed_dims, in->rank));
    TRY(need_dims(c, "operand_batching_dims", &g.operand_batch, in->rank));
    TRY(need_dims(c, "start_indices_batching_dims", &g.indices_batch, operand_type(c, 1)->rank));
    TRY(need_dims(c, "offset_dims", &g.offset_dims, out->rank));
    NEED((uint64_t)vector == g.start_index_map.count && g.operand_batch.count == g.indices_batch.count,
         "start_index_map or batching dimensions do not fit the indices");
    uint32_t window = 0, index = 0;
    struct ir_dims kept = {.count = 0};
    for (uint32_t d = 0; d < in->rank; d++) {
        bool dropped = holds(&g.collapsed_dims, d) || holds(&g.operand_batch, d);
        NEED(g.slice_sizes.at[d] >= 0 && g.slice_sizes.at[d] <= dims_of(c, in)[d] && (!dropped || g.slice_sizes.at[d] <= 1),
             "slice size %lld of dimension %u is out of range", (long long)g.slice_sizes.at[d], d);
        NEED(!(holds(&g.collapsed_dims, d) && holds(&g.operand_batch, d)), "dimension %u is both collapsed and batching", d);
        if (!dropped)
            kept.at[kept.count++] = g.slice_sizes.at[d];
    }
    for (uint32_t i = 0; i < g.indices_batch.count; i++)
        NEED(g.indices_batch.at[i] != g.index_vector_dim && dims_of(c, operand_type(c, 1))[g.indices_batch.at[i]] ==
                                                                dims_of(c, in)[g.operand_batch.at[i]],
             "batching dimension %u differs in size", i);
    NEED(kept.count == g.offset_dims.count && out->rank == kept.count + batch.count, "offset_dims do not fit the slices");
    for (uint32_t d = 0; d < out->rank; d++)
        sizes[d] = holds(&g.offset_dims, d) ? kept.at[window++] : batch.at[index++];
    return need_result(c, 0, out->rank, sizes);
}

static enum error_code check_scatter(const struct check *c)
{
    struct ir_scatter s;
    struct ir_dims batch;
    int64_t vector;
    NEED(ir_scatter(c->p, c->op, &s) == 0 && c->o->result_count == s.input_count,
         "scatter_dimension_numbers, operands or results are malformed");
    const struct ir_type *in = operand_type(c, 0), *indices = operand_type(c, s.input_count);
    const struct ir_type *updates = operand_type(c, s.input_count + 1);
    TRY(index_shape(c, indices, s.index_vector_dim, &batch, &vector));
    TRY(need_dims(c, "update_window_dims", &s.update_window_dims, updates->rank));
    TRY(need_dims(c, "inserted_window_dims", &s.inserted_window_dims, in->rank));
    TRY(need_dims(c, "input_batching_dims", &s.input_batch, in->rank));
    TRY(need_dims(c, "scatter_indices_batching_dims", &s.indices_batch, indices->rank));
    TRY(need_dims(c, "scatter_dims_to_operand_dims", &s.dims_to_operand, in->rank));
    NEED((uint64_t)vector == s.dims_to_operand.count && s.input_batch.count == s.indices_batch.count,
         "scatter_dims_to_operand_dims or batching dimensions do not fit the indices");
    NEED(s.update_window_dims.count + s.inserted_window_dims.count + s.input_batch.count == in->rank &&
             updates->rank == batch.count + s.update_window_dims.count,
         "window dimensions do not add up to the operand's rank");
    for (uint32_t i = 0; i < s.indices_batch.count; i++)
        NEED(s.indices_batch.at[i] != s.index_vector_dim &&
                 dims_of(c, indices)[s.indices_batch.at[i]] == dims_of(c, in)[s.input_batch.at[i]],
             "batching dimension %u differs in size", i);
    uint32_t window = 0, index = 0;
    for (uint32_t d = 0; d < updates->rank; d++) {
        if (!holds(&s.update_window_dims, d)) {
            NEED(dims_of(c, updates)[d] == batch.at[index++], "update dimension %u does not fit the indices", d);
            continue;
        }
        while (window < in->rank && (holds(&s.inserted_window_dims, window) || holds(&s.input_batch, window)))
            window++;
        NEED(window < in->rank && dims_of(c, updates)[d] <= dims_of(c, in)[window], "update dimension %u exceeds the operand", d);
        window++;
    }
    for (uint32_t i = 0; i < s.input_count; i++) {
        NEED(same_shape(c, operand_type(c, i), in) && same_shape(c, result_type(c, i), in) &&
                 same_shape(c, operand_type(c, s.input_count + 1 + i), updates),
             "inputs, updates or results differ in shape");
    }
    return need_region(c, 0, 2 * s.input_count, s.input_count);
}

static enum error_code check_slice(const struct check *c)
{
    TRY(need_counts(c, 1, 1));
    struct ir_dims start, limit, stride;
    const struct ir_type *in = operand_type(c, 0);
    TRY(need_list(c, "start_indices", &start, in->rank));
    TRY(need_list(c, "limit_indices", &limit, in->rank));
    TRY(need_list(c, "strides", &stride, in->rank));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t d = 0; d < in->rank; d++) {
        NEED(start.at[d] >= 0 && start.at[d] <= limit.at[d] && limit.at[d] <= dims_of(c, in)[d] && stride.at[d] > 0,
             "dimension %u: start, limit or stride is out of range", d);
        sizes[d] = (limit.at[d] - start.at[d] + stride.at[d] - 1) / stride.at[d];
    }
    return need_result(c, 0, in->rank, sizes);
}

static enum error_code check_pad(const struct check *c)
{
    TRY(need_counts(c, 2, 1));
    struct ir_dims low, high, interior;
    const struct ir_type *in = operand_type(c, 0);
    TRY(need_list(c, "edge_padding_low", &low, in->rank));
    TRY(need_list(c, "edge_padding_high", &high, in->rank));
    TRY(need_list(c, "interior_padding", &interior, in->rank));
    NEED(operand_type(c, 1)->rank == 0, "the padding value is not a scalar");
    int64_t sizes[IR_MAX_RANK], bound = (int64_t)1 << 40;
    for (uint32_t d = 0; d < in->rank; d++) {
        int64_t n = dims_of(c, in)[d];
        NEED(interior.at[d] >= 0 && interior.at[d] < bound / (n + 1) && low.at[d] > -bound && low.at[d] < bound &&
                 high.at[d] > -bound && high.at[d] < bound,
             "dimension %u: padding is out of range", d);
        sizes[d] = low.at[d] + high.at[d] + n + (n > 0 ? (n - 1) * interior.at[d] : 0);
    }
    return need_result(c, 0, in->rank, sizes);
}

static enum error_code check_concatenate(const struct check *c)
{
    NEED(c->o->operand_count >= 1 && c->o->result_count == 1, "needs an operand and one result");
    const struct ir_type *first = operand_type(c, 0);
    int64_t d = ir_int(c->p, c->op, "dimension", -1), total = 0, sizes[IR_MAX_RANK];
    NEED(d >= 0 && d < first->rank, "dimension %lld is out of range", (long long)d);
    memcpy(sizes, dims_of(c, first), first->rank * sizeof *sizes);
    for (uint32_t i = 0; i < c->o->operand_count; i++) {
        const struct ir_type *t = operand_type(c, i);
        NEED(t->rank == first->rank, "operand %u has another rank", i);
        for (uint32_t k = 0; k < t->rank; k++)
            NEED(k == d || dims_of(c, t)[k] == sizes[k], "operand %u differs in dimension %u", i, k);
        total += dims_of(c, t)[d];
    }
    sizes[d] = total;
    return need_result(c, 0, first->rank, sizes);
}

static enum error_code check_reverse(const struct check *c)
{
    TRY(need_counts(c, 1, 1));
    struct ir_dims dims;
    NEED(ir_attr_find(c->p, c->op, "dimensions") && ir_dims(c->p, c->op, "dimensions", &dims) == 0,
         "dimensions are missing or malformed");
    TRY(need_dims(c, "dimensions", &dims, operand_type(c, 0)->rank));
    NEED(same_shape(c, operand_type(c, 0), result_type(c, 0)), "the result has another shape than the operand");
    return ERROR_OK;
}

static enum error_code check_starts(const struct check *c, uint32_t first, uint32_t rank)
{
    NEED(c->o->operand_count == first + rank, "needs a start index for each of %u dimensions", rank);
    for (uint32_t i = first; i < c->o->operand_count; i++)
        NEED(operand_type(c, i)->rank == 0, "start index %u is not a scalar", i - first);
    return ERROR_OK;
}

static enum error_code check_dynamic_slice(const struct check *c)
{
    NEED(c->o->operand_count >= 1 && c->o->result_count == 1, "operand or result count is wrong");
    const struct ir_type *in = operand_type(c, 0);
    struct ir_dims sizes;
    TRY(check_starts(c, 1, in->rank));
    TRY(need_list(c, "slice_sizes", &sizes, in->rank));
    for (uint32_t d = 0; d < in->rank; d++)
        NEED(sizes.at[d] >= 0 && sizes.at[d] <= dims_of(c, in)[d], "slice size of dimension %u is out of range", d);
    return need_result(c, 0, in->rank, sizes.at);
}

static enum error_code check_dynamic_update(const struct check *c)
{
    NEED(c->o->operand_count >= 2 && c->o->result_count == 1, "operand or result count is wrong");
    const struct ir_type *in = operand_type(c, 0), *update = operand_type(c, 1);
    TRY(check_starts(c, 2, in->rank));
    NEED(update->rank == in->rank, "the update has another rank than the operand");
    for (uint32_t d = 0; d < in->rank; d++)
        NEED(dims_of(c, update)[d] <= dims_of(c, in)[d], "the update exceeds the operand in dimension %u", d);
    NEED(same_shape(c, in, result_type(c, 0)), "the result has another shape than the operand");
    return ERROR_OK;
}

static enum error_code check_sort(const struct check *c)
{
    if (c->o->code != IR_SORT) {
        TRY(need_counts(c, 1, 2));
        const struct ir_type *in = operand_type(c, 0);
        int64_t k = ir_int(c->p, c->op, "k", -1), sizes[IR_MAX_RANK];
        NEED(in->rank >= 1 && k >= 0 && k <= dims_of(c, in)[in->rank - 1], "k is out of range");
        memcpy(sizes, dims_of(c, in), in->rank * sizeof *sizes);
        sizes[in->rank - 1] = k;
        TRY(need_result(c, 0, in->rank, sizes));
        return need_result(c, 1, in->rank, sizes);
    }
    uint32_t n = c->o->operand_count;
    NEED(n >= 1 && c->o->result_count == n, "needs as many results as operands");
    const struct ir_type *first = operand_type(c, 0);
    int64_t d = ir_int(c->p, c->op, "dimension", -1);
    NEED(first->rank == 0 || (d >= -(int64_t)first->rank && d < first->rank), "dimension %lld is out of range", (long long)d);
    for (uint32_t i = 0; i < n; i++)
        NEED(same_shape(c, operand_type(c, i), first) && same_shape(c, result_type(c, i), first), "operand %u has another shape", i);
    return need_region(c, 0, 2 * n, 1);
}

static enum error_code check_carried(const struct check *c, uint32_t region, bool results_too)
{
    uint32_t block = ir_region_block(c->p, c->op, region), end = ir_block_terminator(c->p, block);
    for (uint32_t i = 0; i < c->o->operand_count; i++) {
        uint32_t type = c->p->values[ir_operand(c->p, c->op, i)].type;
        NEED(c->p->values[c->p->blocks[block].args + i].type == type, "region %u: argument %u has another type than operand", region, i);
        NEED(c->p->values[c->o->results + i].type == type, "result %u has another type than its operand", i);
        if (results_too)
            NEED(c->p->values[ir_operand(c->p, end, i)].type == type, "region %u returns value %u of another type", region, i);
    }
    return ERROR_OK;
}

static enum error_code check_control(const struct check *c)
{
    if (c->o->code == IR_WHILE) {
        NEED(c->o->result_count == c->o->operand_count && c->o->region_count == 2, "needs two regions and a result for each operand");
        TRY(need_region(c, 0, c->o->operand_count, 1));
        TRY(need_region(c, 1, c->o->operand_count, c->o->operand_count));
        TRY(check_carried(c, 0, false));
        return check_carried(c, 1, true);
    }
    NEED(c->o->operand_count == 1 && operand_type(c, 0)->kind == IR_TYPE_TENSOR && operand_type(c, 0)->rank == 0,
         "needs one scalar index or predicate");
    NEED(c->o->region_count >= 1 && (c->o->code != IR_IF || c->o->region_count == 2), "has a wrong number of branches");
    for (uint32_t g = 0; g < c->o->region_count; g++) {
        TRY(need_region(c, g, 0, c->o->result_count));
        uint32_t end = ir_block_terminator(c->p, ir_region_block(c->p, c->op, g));
        for (uint32_t i = 0; i < c->o->result_count; i++)
            NEED(c->p->values[ir_operand(c->p, end, i)].type == c->p->values[c->o->results + i].type,
                 "branch %u returns value %u of another type", g, i);
    }
    return ERROR_OK;
}

static enum error_code check_barrier(const struct check *c)
{
    NEED(c->o->result_count == c->o->operand_count, "needs a result for each operand");
    for (uint32_t i = 0; i < c->o->operand_count; i++)
        NEED(c->p->values[ir_operand(c->p, c->op, i)].type == c->p->values[c->o->results + i].type,
             "result %u has another type than its operand", i);
    return ERROR_OK;
}

static enum error_code check_function(const struct check *c)
{
    if (c->o->code != IR_FUNC)
        return ERROR_OK;
    for (uint32_t g = 0; g < c->o->region_count; g++) {
        uint32_t block = ir_region_block(c->p, c->op, g);
        uint32_t end = block == IR_NONE ? IR_NONE : ir_block_terminator(c->p, block);
        NEED(end == IR_NONE || c->p->ops[end].code == IR_FUNC_RETURN || c->p->ops[end].code == IR_RETURN,
             "the body does not end in return");
    }
    return ERROR_OK;
}

static enum error_code check_family(const struct check *c, enum ir_family family)
{
    switch (family) {
    case IR_FAMILY_ELEMENTWISE:
        return check_elementwise(c);
    case IR_FAMILY_CONSTANT:
        return check_constant(c);
    case IR_FAMILY_IOTA:
        return check_iota(c);
    case IR_FAMILY_BROADCAST:
        return check_broadcast(c);
    case IR_FAMILY_TRANSPOSE:
        return check_transpose(c);
    case IR_FAMILY_RESHAPE:
        return check_reshape(c);
    case IR_FAMILY_DOT:
        return check_dot(c);
    case IR_FAMILY_CONVOLUTION:
        return check_convolution(c);
    case IR_FAMILY_REDUCE:
        return check_reduce(c);
    case IR_FAMILY_REDUCE_WINDOW:
        return check_reduce_window(c);
    case IR_FAMILY_BATCH_NORM:
        return check_batch_norm(c);
    case IR_FAMILY_GATHER:
        return check_gather(c);
    case IR_FAMILY_SCATTER:
        return check_scatter(c);
    case IR_FAMILY_SLICE:
        return check_slice(c);
    case IR_FAMILY_PAD:
        return check_pad(c);
    case IR_FAMILY_CONCATENATE:
        return check_concatenate(c);
    case IR_FAMILY_REVERSE:
        return check_reverse(c);
    case IR_FAMILY_DYNAMIC_SLICE:
        return check_dynamic_slice(c);
    case IR_FAMILY_DYNAMIC_UPDATE:
        return check_dynamic_update(c);
    case IR_FAMILY_SORT:
        return check_sort(c);
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILY_RNG:
    case IR_FAMILY_LINALG:
    case IR_FAMILY_BITCAST:
    case IR_FAMILY_CUSTOM_CALL:
    case IR_FAMILY_COLLECTIVE:
    case IR_FAMILY_SHARDY:
    case IR_FAMILIES:
        break;
    }
    return ERROR_OK;   /* replicated and passed through as they are */
}

/* sizes whose product, in bytes, stays far from overflow */
static enum error_code check_types(const struct ir_program *p, struct error *e)
{
    for (uint32_t i = 0; i < p->type_count; i++) {
        const struct ir_type *t = &p->types[i];
        if (t->kind != IR_TYPE_TENSOR || t->flags)
            continue;
        if (t->rank > IR_MAX_RANK)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, 1, 1, "type %.100s has more than %d dimensions",
                                ir_string(p, t->text), IR_MAX_RANK);
        unsigned __int128 total = 16;
        for (uint32_t d = 0; d < t->rank; d++) {
            int64_t size = ir_type_dims(p, t)[d];
            total *= size > 0 ? (unsigned __int128)size : 1;
            if (size < 0 || total > (unsigned __int128)1 << 60)
                return error_set_at(e, ERROR_INVALID_MODULE, 1, 1, "type %.100s is larger than 2^60 bytes", ir_string(p, t->text));
        }
    }
    return ERROR_OK;
}

enum error_code ir_verify(const struct ir_program *p, struct error *e)
{
    TRY(check_types(p, e));
    for (uint32_t op = 0; op < p->op_count; op++) {
        struct check check = {p, op, &p->ops[op], e};
        const struct check *c = &check;
        enum ir_family family = ir_opcode_family((enum ir_opcode)p->ops[op].code);
        if (family == IR_FAMILY_CONTROL)
            TRY(check_control(c));
        else if (family == IR_FAMILY_BARRIER)
            TRY(check_barrier(c));
        else if (family == IR_FAMILY_STRUCTURE)
            TRY(check_function(c));
        else if (family != IR_FAMILY_UNKNOWN && family != IR_FAMILY_CUSTOM_CALL) {
            TRY(need_tensors(c));
            TRY(check_family(c, family));
        }
    }
    return ERROR_OK;
}

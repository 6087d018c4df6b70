/* Rules of the ops that look elements up or see them in order: gather, scatter, sort, linear algebra, custom
 * calls. A dimension in which order or position matters is replicated unless a mask or a shift makes sharding
 * it exact. Index vectors that count (`logits[arange(n), labels]`) are batches (ir/counted.h). */
#include "analysis/rule.h"
#include "ir/counted.h"

#include <string.h>

/* the i-th dimension of a slot that is not in the list */
static int64_t nth_outside(const struct ir_dims *list, int64_t also, uint32_t rank, uint32_t i)
{
    for (uint32_t dim = 0; dim < rank; dim++)
        if (rule_has(list, dim) < 0 && dim != also && i-- == 0)
            return dim;
    return -1;
}

/* Indices: all dimensions but index_vector_dim; `outer` is the slot that has them outside its window dims
 * (the gather's result, the scatter's updates). A batching dim is the operand's too. */
static void index_dims(struct rule *rule, uint32_t indices, int64_t vector_dim, uint32_t outer,
                       const struct ir_dims *window, const struct ir_dims *operand_batch,
                       const struct ir_dims *indices_batch, enum nda_factor_kind kind,
                       enum nda_reducer reducer, bool on_result)
{
    struct ir_dims none = {.count = 0};
    for (uint32_t i = 0;; i++) {
        int64_t d = nth_outside(&none, vector_dim, rule->slots.at[indices].rank, i), o;
        int batch = d < 0 ? -1 : rule_has(indices_batch, d);
        uint32_t f;
        if (d < 0)
            return;
        if (kind == NDA_REPLICATE && batch < 0)
            continue;
        o = nth_outside(window, -1, rule->slots.at[outer].rank, i);
        f = rule_factor(rule, batch >= 0 ? NDA_PARALLEL : kind, batch >= 0 ? NDA_REDUCE_NONE : reducer,
                        rule_size(rule, indices, d));
        if (batch >= 0 && (uint32_t)batch < operand_batch->count)
            rule_put(rule, f, 0, operand_batch->at[batch]);
        rule_put(rule, f, indices, d);
        rule_put(rule, f, outer, o);
        if (batch >= 0 && on_result && (uint32_t)batch < operand_batch->count)
            rule_put(rule, f, rule_result_slot(rule, 0), operand_batch->at[batch]);
    }
}

void rule_gather(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0), window = 0;
    enum nda_reducer partial = ir_value_type(rule->program, rule->slots.at[0].value)->element == IR_I1
                                   ? NDA_REDUCE_OR
                                   : NDA_REDUCE_ADD;
    struct ir_gather gather;
    struct ir_dims counted;
    if (ir_gather_counted(rule->program, rule->op, &gather, &counted) != 0)
        return;
    index_dims(rule, 1, gather.index_vector_dim, result, &gather.offset_dims, &gather.operand_batch,
               &gather.indices_batch, NDA_PARALLEL, NDA_REDUCE_NONE, false);
    for (uint32_t dim = 0; dim < rule->slots.at[0].rank; dim++) {
        if (rule_has(&gather.operand_batch, dim) >= 0)
            continue;
        if (rule_has(&gather.collapsed_dims, dim) >= 0) {
            if (rule_has(&gather.start_index_map, dim) >= 0)
                rule_put(rule, rule_factor(rule, NDA_LOOKUP, partial, rule_size(rule, 0, dim)), 0, dim);
        } else if (window < gather.offset_dims.count) {
            rule_tie(rule, 0, dim, result,
                     gather.offset_dims.at[window++]); /* only where the window is whole */
        }
    }
}

void rule_scatter(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0), window = 0, indices = 1, updates = 2;
    enum nda_reducer reducer = NDA_REDUCE_NONE;
    struct ir_scatter scatter;
    struct ir_dims counted;
    if (ir_scatter_counted(rule->program, rule->op, &scatter, &counted) != 0 || scatter.input_count != 1 ||
        rule->operand_count != 3)
        return;
    reducer = rule_reducer(ir_region_reducer(rule->program, rule->op, 0), rule_element(rule, 0));
    index_dims(rule, indices, scatter.index_vector_dim, updates, &scatter.update_window_dims,
               &scatter.input_batch, &scatter.indices_batch,
               reducer == NDA_REDUCE_NONE ? NDA_REPLICATE : NDA_CONTRACTING, reducer, true);
    for (uint32_t dim = 0; dim < rule->slots.at[0].rank; dim++) {
        uint32_t f;
        int64_t n = rule_size(rule, 0, dim), w;
        enum nda_factor_kind kind = NDA_REPLICATE;
        if (rule_has(&scatter.input_batch, dim) >= 0)
            continue;
        if (rule_has(&scatter.inserted_window_dims, dim) >= 0) {
            if (rule_has(&scatter.dims_to_operand, dim) >= 0)
                kind = NDA_LOOKUP;
            w = -1;
        } else {
            w = window < scatter.update_window_dims.count ? scatter.update_window_dims.at[window++] : -1;
            if (rule_size(rule, updates, w) == n)
                kind = NDA_PARALLEL;
        }
        f = rule_factor(rule, kind, NDA_REDUCE_NONE, n);
        rule_put(rule, f, 0, dim);
        rule_put(rule, f, updates, w);
        rule_put(rule, f, result, dim);
    }
}

/* every dimension but [from, rank) and `except` is parallel in all slots of the first one's rank */
static void parallel_dims(struct rule *rule, uint32_t from, int64_t except)
{
    uint32_t rank = rule->slots.at[0].rank;
    for (uint32_t dim = 0; dim < rank && dim < from; dim++) {
        uint32_t f;
        if (dim == except)
            continue;
        f = rule_factor(rule, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(rule, 0, dim));
        for (uint32_t s = 0; s < rule->slots.count; s++)
            if (rule->slots.at[s].rank == rank)
                rule_put(rule, f, s, dim);
    }
}

void rule_sort(struct rule *rule)
{
    uint32_t rank = rule->slots.at[0].rank;
    int64_t along = rule->program->ops[rule->op].code == IR_SORT
                        ? ir_int(rule->program, rule->op, "dimension", -1)
                        : (int64_t)rank - 1;
    parallel_dims(rule, rank, along < 0 ? along + rank : along);
}

void rule_linalg(struct rule *rule)
{
    uint32_t rank = rule->slots.at[0].rank, last = 2;
    struct ir_dims lengths;
    if (rule->program->ops[rule->op].code == IR_FFT)
        last = ir_dims(rule->program, rule->op, "fft_length", &lengths) == 0 ? lengths.count : rank;
    parallel_dims(rule, rank > last ? rank - last : 0, -1);
}

/* targets that act on each element alone */
static bool target_is_elementwise(const char *target)
{
    static const char *const known[] = {"mhlo.erf",   "mhlo.tan",    "mhlo.asin", "mhlo.acos",
                                        "mhlo.atan",  "mhlo.sinh",   "mhlo.cosh", "mhlo.asinh",
                                        "mhlo.acosh", "mhlo.atanh",  "Sharding",  "annotate_device_placement",
                                        "MoveToHost", "MoveToDevice"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(target, known[i]) == 0)
            return true;
    return false;
}

void rule_custom_call(struct rule *rule)
{
    const struct ir_attr *attr = ir_attr_find(rule->program, rule->op, "call_target_name");
    const char *target = attr && attr->kind == IR_ATTR_STRING ? ir_string(rule->program, attr->first) : "";
    if (rule->operand_count > 0 && target_is_elementwise(target))
        rule_elementwise(rule);
    else if (rule->operand_count == 1 && strcmp(target, "mhlo.topk") == 0)
        parallel_dims(rule, rule->slots.at[0].rank - (rule->slots.at[0].rank > 0), -1);
    else
        switch (rule_given(rule)) {
        case RULE_FITS: break;
        case RULE_NONE: rule->warning = "calls a target without a sharding rule: replicated"; break;
        case RULE_MISFITS:
            rule->warning =
                "has a sharding rule of other tensors, dimensions or sizes than its own: replicated";
            break;
        }
}

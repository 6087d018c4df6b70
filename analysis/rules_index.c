/* Rules of the ops that look elements up or see them in order: gather, scatter, sort, linear algebra, custom
 * calls. A dimension in which order or position matters is replicated unless a mask or a shift makes sharding
 * it exact. */
#include "analysis/rule.h"

#include <string.h>

/* the i-th dimension of a slot that is not in the list */
static int64_t nth_outside(const struct ir_dims *list, int64_t also, uint32_t rank, uint32_t i)
{
    for (uint32_t d = 0; d < rank; d++)
        if (rule_has(list, d) < 0 && d != also && i-- == 0)
            return d;
    return -1;
}

/* Indices: all dimensions but index_vector_dim; `outer` is the slot that has them outside its window dims
 * (the gather's result, the scatter's updates). A batching dim is the operand's too. */
static void index_dims(struct rule *r, uint32_t indices, int64_t vector_dim, uint32_t outer,
                       const struct ir_dims *window, const struct ir_dims *operand_batch,
                       const struct ir_dims *indices_batch, enum nda_factor_kind kind,
                       enum nda_reducer reducer, bool on_result)
{
    struct ir_dims none = {.count = 0};
    for (uint32_t i = 0;; i++) {
        int64_t d = nth_outside(&none, vector_dim, r->slots.at[indices].rank, i), o;
        int batch = d < 0 ? -1 : rule_has(indices_batch, d);
        uint32_t f;
        if (d < 0)
            return;
        if (kind == NDA_REPLICATE && batch < 0)
            continue;
        o = nth_outside(window, -1, r->slots.at[outer].rank, i);
        f = rule_factor(r, batch >= 0 ? NDA_PARALLEL : kind, batch >= 0 ? NDA_REDUCE_NONE : reducer,
                        rule_size(r, indices, d));
        if (batch >= 0 && (uint32_t)batch < operand_batch->count)
            rule_put(r, f, 0, operand_batch->at[batch]);
        rule_put(r, f, indices, d);
        rule_put(r, f, outer, o);
        if (batch >= 0 && on_result && (uint32_t)batch < operand_batch->count)
            rule_put(r, f, rule_result_slot(r, 0), operand_batch->at[batch]);
    }
}

void rule_gather(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0), window = 0;
    enum nda_reducer partial =
        ir_value_type(r->program, r->slots.at[0].value)->element == IR_I1 ? NDA_REDUCE_OR : NDA_REDUCE_ADD;
    struct ir_gather g;
    if (ir_gather(r->program, r->op, &g) != 0)
        return;
    index_dims(r, 1, g.index_vector_dim, result, &g.offset_dims, &g.operand_batch, &g.indices_batch,
               NDA_PARALLEL, NDA_REDUCE_NONE, false);
    for (uint32_t d = 0; d < r->slots.at[0].rank; d++) {
        if (rule_has(&g.operand_batch, d) >= 0)
            continue;
        if (rule_has(&g.collapsed_dims, d) >= 0) {
            if (rule_has(&g.start_index_map, d) >= 0)
                rule_put(r, rule_factor(r, NDA_LOOKUP, partial, rule_size(r, 0, d)), 0, d);
        } else if (window < g.offset_dims.count) {
            rule_tie(r, 0, d, result, g.offset_dims.at[window++]); /* only where the window is whole */
        }
    }
}

void rule_scatter(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0), window = 0, indices = 1, updates = 2;
    enum nda_reducer reducer = NDA_REDUCE_NONE;
    struct ir_scatter s;
    if (ir_scatter(r->program, r->op, &s) != 0 || s.input_count != 1 || r->operand_count != 3)
        return;
    reducer = rule_reducer(ir_region_reducer(r->program, r->op, 0), rule_element(r, 0));
    index_dims(r, indices, s.index_vector_dim, updates, &s.update_window_dims, &s.input_batch,
               &s.indices_batch, reducer == NDA_REDUCE_NONE ? NDA_REPLICATE : NDA_CONTRACTING, reducer, true);
    for (uint32_t d = 0; d < r->slots.at[0].rank; d++) {
        uint32_t f;
        int64_t n = rule_size(r, 0, d), w;
        enum nda_factor_kind kind = NDA_REPLICATE;
        if (rule_has(&s.input_batch, d) >= 0)
            continue;
        if (rule_has(&s.inserted_window_dims, d) >= 0) {
            if (rule_has(&s.dims_to_operand, d) >= 0)
                kind = NDA_LOOKUP;
            w = -1;
        } else {
            w = window < s.update_window_dims.count ? s.update_window_dims.at[window++] : -1;
            if (rule_size(r, updates, w) == n)
                kind = NDA_PARALLEL;
        }
        f = rule_factor(r, kind, NDA_REDUCE_NONE, n);
        rule_put(r, f, 0, d);
        rule_put(r, f, updates, w);
        rule_put(r, f, result, d);
    }
}

/* every dimension but [from, rank) and `except` is parallel in all slots of the first one's rank */
static void parallel_dims(struct rule *r, uint32_t from, int64_t except)
{
    uint32_t rank = r->slots.at[0].rank;
    for (uint32_t d = 0; d < rank && d < from; d++) {
        uint32_t f;
        if (d == except)
            continue;
        f = rule_factor(r, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(r, 0, d));
        for (uint32_t s = 0; s < r->slots.count; s++)
            if (r->slots.at[s].rank == rank)
                rule_put(r, f, s, d);
    }
}

void rule_sort(struct rule *r)
{
    uint32_t rank = r->slots.at[0].rank;
    int64_t along = r->program->ops[r->op].code == IR_SORT ? ir_int(r->program, r->op, "dimension", -1)
                                                           : (int64_t)rank - 1;
    parallel_dims(r, rank, along < 0 ? along + rank : along);
}

void rule_linalg(struct rule *r)
{
    uint32_t rank = r->slots.at[0].rank, last = 2;
    struct ir_dims lengths;
    if (r->program->ops[r->op].code == IR_FFT)
        last = ir_dims(r->program, r->op, "fft_length", &lengths) == 0 ? lengths.count : rank;
    parallel_dims(r, rank > last ? rank - last : 0, -1);
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

void rule_custom_call(struct rule *r)
{
    const struct ir_attr *a = ir_attr_find(r->program, r->op, "call_target_name");
    const char *target = a && a->kind == IR_ATTR_STRING ? ir_string(r->program, a->first) : "";
    if (r->operand_count > 0 && target_is_elementwise(target))
        rule_elementwise(r);
    else if (r->operand_count == 1 && strcmp(target, "mhlo.topk") == 0)
        parallel_dims(r, r->slots.at[0].rank - (r->slots.at[0].rank > 0), -1);
    else if (!rule_given(r))
        r->warning = "calls a target without a sharding rule: replicated";
}

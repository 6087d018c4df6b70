/* Rules of the ops that combine elements along dimensions: dots, convolutions, reductions, batch norms. Their
 * contracting factors name the reducer that combines partial results. */
#include "analysis/rule.h"

void rule_dot(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0);
    int64_t next = 0;
    struct ir_dot dot;
    if (ir_dot(rule->program, rule->op, &dot) != 0)
        return;
    for (uint32_t i = 0; i < dot.lhs_batch.count; i++, next++) {
        uint32_t f =
            rule_factor(rule, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(rule, 0, dot.lhs_batch.at[i]));
        rule_put(rule, f, 0, dot.lhs_batch.at[i]);
        rule_put(rule, f, 1, dot.rhs_batch.at[i]);
        rule_put(rule, f, result, next);
    }
    for (uint32_t dim = 0; dim < rule->slots.at[0].rank; dim++)
        if (rule_has(&dot.lhs_batch, dim) < 0 && rule_has(&dot.lhs_contract, dim) < 0)
            rule_tie(rule, 0, dim, result, next++);
    for (uint32_t i = 0; i < dot.lhs_contract.count; i++) {
        uint32_t f =
            rule_factor(rule, NDA_CONTRACTING, NDA_REDUCE_ADD, rule_size(rule, 0, dot.lhs_contract.at[i]));
        rule_put(rule, f, 0, dot.lhs_contract.at[i]);
        rule_put(rule, f, 1, dot.rhs_contract.at[i]);
    }
    for (uint32_t dim = 0; dim < rule->slots.at[1].rank; dim++)
        if (rule_has(&dot.rhs_batch, dim) < 0 && rule_has(&dot.rhs_contract, dim) < 0)
            rule_tie(rule, 1, dim, result, next++);
}

/* A dimension split into [groups, rest], groups major. */
static void put_group(struct rule *rule, uint32_t factor, uint32_t slot, int64_t dim, int64_t groups)
{
    int64_t n = rule_size(rule, slot, dim);
    rule_put_part(rule, factor, slot, dim, n / groups, n);
}

static void put_within_group(struct rule *rule, uint32_t factor, uint32_t slot, int64_t dim, int64_t groups)
{
    int64_t n = rule_size(rule, slot, dim);
    if (n / groups > 1)
        rule_put_part(rule, factor, slot, dim, 1, n / groups);
}

/* feature_group_count: input features [g, i], kernel input [i], kernel output and output features [g, o] */
static void feature_groups(struct rule *rule, const struct ir_conv *conv)
{
    uint32_t result = rule_result_slot(rule, 0), link = rule_link(rule), group, in, out;
    int64_t g = conv->feature_groups, inputs = rule_size(rule, 0, conv->input_feature);
    int64_t outputs = rule_size(rule, 1, conv->kernel_output);
    if (inputs % g || outputs % g || rule_size(rule, result, conv->output_feature) != outputs)
        return;
    group = rule_linked_factor(rule, link, NDA_PARALLEL, NDA_REDUCE_NONE, g);
    put_group(rule, group, 0, conv->input_feature, g);
    put_group(rule, group, 1, conv->kernel_output, g);
    put_group(rule, group, result, conv->output_feature, g);
    in = rule_linked_factor(rule, link, NDA_CONTRACTING, NDA_REDUCE_ADD, inputs / g);
    put_within_group(rule, in, 0, conv->input_feature, g);
    if (in != RULE_NO_FACTOR)
        rule_put_part(rule, in, 1, conv->kernel_input, 1, inputs / g);
    out = rule_linked_factor(rule, link, NDA_PARALLEL, NDA_REDUCE_NONE, outputs / g);
    put_within_group(rule, out, 1, conv->kernel_output, g);
    put_within_group(rule, out, result, conv->output_feature, g);
}

/* batch_group_count: input batch [g, b], output batch [b], kernel output and output features [g, o] */
static void batch_groups(struct rule *rule, const struct ir_conv *conv)
{
    uint32_t result = rule_result_slot(rule, 0), link = rule_link(rule), group, batch, out, in;
    int64_t g = conv->batch_groups, inputs = rule_size(rule, 0, conv->input_batch);
    int64_t outputs = rule_size(rule, 1, conv->kernel_output);
    if (inputs % g || outputs % g || rule_size(rule, result, conv->output_feature) != outputs)
        return;
    group = rule_linked_factor(rule, link, NDA_PARALLEL, NDA_REDUCE_NONE, g);
    put_group(rule, group, 0, conv->input_batch, g);
    put_group(rule, group, 1, conv->kernel_output, g);
    put_group(rule, group, result, conv->output_feature, g);
    batch = rule_linked_factor(rule, link, NDA_PARALLEL, NDA_REDUCE_NONE, inputs / g);
    put_within_group(rule, batch, 0, conv->input_batch, g);
    if (batch != RULE_NO_FACTOR && rule_size(rule, result, conv->output_batch) == inputs / g)
        rule_put_part(rule, batch, result, conv->output_batch, 1, inputs / g);
    out = rule_linked_factor(rule, link, NDA_PARALLEL, NDA_REDUCE_NONE, outputs / g);
    put_within_group(rule, out, 1, conv->kernel_output, g);
    put_within_group(rule, out, result, conv->output_feature, g);
    in = rule_factor(rule, NDA_CONTRACTING, NDA_REDUCE_ADD, rule_size(rule, 0, conv->input_feature));
    rule_put(rule, in, 0, conv->input_feature);
    rule_put(rule, in, 1, conv->kernel_input);
}

/* the window is one element wide and goes everywhere */
static bool plain(const struct ir_window *window, uint32_t i)
{
    return window->size.at[i] == 1 && window->stride.at[i] == 1 && window->low.at[i] == 0 &&
           window->high.at[i] == 0 && window->base_dilation.at[i] == 1;
}

static void windowed(struct rule *rule, uint32_t slot, int64_t dim)
{
    rule_put(rule, rule_factor(rule, NDA_WINDOWED, NDA_REDUCE_NONE, rule_size(rule, slot, dim)), slot, dim);
}

void rule_convolution(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0);
    struct ir_conv conv;
    if (ir_conv(rule->program, rule->op, &conv) != 0)
        return;
    if (conv.feature_groups > 1 && conv.batch_groups > 1)
        return;
    if (conv.batch_groups == 1)
        rule_tie(rule, 0, conv.input_batch, result, conv.output_batch);
    if (conv.feature_groups > 1) {
        feature_groups(rule, &conv);
    } else if (conv.batch_groups > 1) {
        batch_groups(rule, &conv);
    } else {
        uint32_t f =
            rule_factor(rule, NDA_CONTRACTING, NDA_REDUCE_ADD, rule_size(rule, 0, conv.input_feature));
        rule_put(rule, f, 0, conv.input_feature);
        rule_put(rule, f, 1, conv.kernel_input);
        rule_tie(rule, 1, conv.kernel_output, result, conv.output_feature);
    }
    for (uint32_t i = 0; i < conv.input_spatial.count; i++) {
        if (plain(&conv.window, i)) {
            rule_tie(rule, 0, conv.input_spatial.at[i], result, conv.output_spatial.at[i]);
            continue;
        }
        windowed(rule, 0, conv.input_spatial.at[i]);
        windowed(rule, 1, conv.kernel_spatial.at[i]);
        windowed(rule, result, conv.output_spatial.at[i]);
    }
}

void rule_reduce(struct rule *rule)
{
    uint32_t inputs = rule->operand_count / 2, rank = rule->slots.at[0].rank;
    int64_t next = 0;
    enum nda_reducer reducer = NDA_REDUCE_NONE;
    struct ir_dims dims;
    if (inputs == 0 || ir_dims(rule->program, rule->op, "dimensions", &dims) != 0)
        return;
    if (inputs == 1)
        reducer = rule_reducer(ir_region_reducer(rule->program, rule->op, 0), rule_element(rule, 0));
    for (uint32_t dim = 0; dim < rank; dim++) {
        bool reduced = rule_has(&dims, dim) >= 0;
        uint32_t f;
        if (reduced && reducer == NDA_REDUCE_NONE)
            continue; /* argmax and opaque bodies see all elements at once */
        f = rule_factor(rule, reduced ? NDA_CONTRACTING : NDA_PARALLEL, reduced ? reducer : NDA_REDUCE_NONE,
                        rule_size(rule, 0, dim));
        for (uint32_t i = 0; i < inputs; i++)
            rule_put(rule, f, i, dim);
        for (uint32_t i = 0; !reduced && i < rule_result_count(rule); i++)
            rule_put(rule, f, rule_result_slot(rule, i), next);
        next += !reduced;
    }
}

void rule_reduce_window(struct rule *rule)
{
    bool scatter = rule->program->ops[rule->op].code == IR_SELECT_AND_SCATTER;
    struct ir_window window;
    if ((scatter ? ir_select_and_scatter : ir_reduce_window)(rule->program, rule->op, &window) != 0)
        return;
    for (uint32_t d = 0; d < window.size.count; d++) {
        uint32_t f = RULE_NO_FACTOR;
        bool whole = plain(&window, d);
        if (whole)
            f = rule_factor(rule, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(rule, 0, d));
        for (uint32_t s = 0; s < rule->slots.count; s++) {
            if (whole)
                rule_put(rule, f, s, d);
            else
                windowed(rule, s, d);
        }
    }
}

/* The feature dimension is parallel in everything. inference is elementwise in the others. training and
 * grad, which need statistics over them, are met here only in programs that were not prepared
 * (ir/expand.c). The dimension goes through, so operand and result share the factor. */
void rule_batch_norm(struct rule *rule)
{
    int64_t feature = ir_int(rule->program, rule->op, "feature_index", 0);
    enum nda_factor_kind rest =
        rule->program->ops[rule->op].code == IR_BATCH_NORM_INFERENCE ? NDA_PARALLEL : NDA_REPLICATE;
    uint32_t rank = rule->slots.at[0].rank;
    for (uint32_t dim = 0; dim < rank; dim++) {
        uint32_t f =
            rule_factor(rule, dim == feature ? NDA_PARALLEL : rest, NDA_REDUCE_NONE, rule_size(rule, 0, dim));
        for (uint32_t s = 0; s < rule->slots.count; s++) {
            if (rule->slots.at[s].rank == rank && (rank > 1 || dim == feature))
                rule_put(rule, f, s, dim);
            else if (dim == feature)
                rule_put(rule, f, s, 0);
        }
    }
}

/* Rules of the ops that combine elements along dimensions: dots, convolutions, reductions, batch norms. Their
 * contracting factors name the reducer that combines partial results. */
#include "analysis/rule.h"

void rule_dot(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0);
    int64_t next = 0;
    struct ir_dot dot;
    if (ir_dot(r->program, r->op, &dot) != 0)
        return;
    for (uint32_t i = 0; i < dot.lhs_batch.count; i++, next++) {
        uint32_t f = rule_factor(r, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(r, 0, dot.lhs_batch.at[i]));
        rule_put(r, f, 0, dot.lhs_batch.at[i]);
        rule_put(r, f, 1, dot.rhs_batch.at[i]);
        rule_put(r, f, result, next);
    }
    for (uint32_t d = 0; d < r->slots.at[0].rank; d++)
        if (rule_has(&dot.lhs_batch, d) < 0 && rule_has(&dot.lhs_contract, d) < 0)
            rule_tie(r, 0, d, result, next++);
    for (uint32_t i = 0; i < dot.lhs_contract.count; i++) {
        uint32_t f = rule_factor(r, NDA_CONTRACTING, NDA_REDUCE_ADD, rule_size(r, 0, dot.lhs_contract.at[i]));
        rule_put(r, f, 0, dot.lhs_contract.at[i]);
        rule_put(r, f, 1, dot.rhs_contract.at[i]);
    }
    for (uint32_t d = 0; d < r->slots.at[1].rank; d++)
        if (rule_has(&dot.rhs_batch, d) < 0 && rule_has(&dot.rhs_contract, d) < 0)
            rule_tie(r, 1, d, result, next++);
}

/* A dimension split into [groups, rest], groups major. */
static void put_group(struct rule *r, uint32_t factor, uint32_t slot, int64_t dim, int64_t groups)
{
    int64_t n = rule_size(r, slot, dim);
    rule_put_part(r, factor, slot, dim, n / groups, n);
}

static void put_within_group(struct rule *r, uint32_t factor, uint32_t slot, int64_t dim, int64_t groups)
{
    int64_t n = rule_size(r, slot, dim);
    if (n / groups > 1)
        rule_put_part(r, factor, slot, dim, 1, n / groups);
}

/* feature_group_count: input features [g, i], kernel input [i], kernel output and output features [g, o] */
static void feature_groups(struct rule *r, const struct ir_conv *c)
{
    uint32_t result = rule_result_slot(r, 0), link = rule_link(r), group, in, out;
    int64_t g = c->feature_groups, inputs = rule_size(r, 0, c->input_feature);
    int64_t outputs = rule_size(r, 1, c->kernel_output);
    if (inputs % g || outputs % g || rule_size(r, result, c->output_feature) != outputs)
        return;
    group = rule_linked_factor(r, link, NDA_PARALLEL, NDA_REDUCE_NONE, g);
    put_group(r, group, 0, c->input_feature, g);
    put_group(r, group, 1, c->kernel_output, g);
    put_group(r, group, result, c->output_feature, g);
    in = rule_linked_factor(r, link, NDA_CONTRACTING, NDA_REDUCE_ADD, inputs / g);
    put_within_group(r, in, 0, c->input_feature, g);
    if (in != RULE_NO_FACTOR)
        rule_put_part(r, in, 1, c->kernel_input, 1, inputs / g);
    out = rule_linked_factor(r, link, NDA_PARALLEL, NDA_REDUCE_NONE, outputs / g);
    put_within_group(r, out, 1, c->kernel_output, g);
    put_within_group(r, out, result, c->output_feature, g);
}

/* batch_group_count: input batch [g, b], output batch [b], kernel output and output features [g, o] */
static void batch_groups(struct rule *r, const struct ir_conv *c)
{
    uint32_t result = rule_result_slot(r, 0), link = rule_link(r), group, batch, out, in;
    int64_t g = c->batch_groups, inputs = rule_size(r, 0, c->input_batch);
    int64_t outputs = rule_size(r, 1, c->kernel_output);
    if (inputs % g || outputs % g || rule_size(r, result, c->output_feature) != outputs)
        return;
    group = rule_linked_factor(r, link, NDA_PARALLEL, NDA_REDUCE_NONE, g);
    put_group(r, group, 0, c->input_batch, g);
    put_group(r, group, 1, c->kernel_output, g);
    put_group(r, group, result, c->output_feature, g);
    batch = rule_linked_factor(r, link, NDA_PARALLEL, NDA_REDUCE_NONE, inputs / g);
    put_within_group(r, batch, 0, c->input_batch, g);
    if (batch != RULE_NO_FACTOR && rule_size(r, result, c->output_batch) == inputs / g)
        rule_put_part(r, batch, result, c->output_batch, 1, inputs / g);
    out = rule_linked_factor(r, link, NDA_PARALLEL, NDA_REDUCE_NONE, outputs / g);
    put_within_group(r, out, 1, c->kernel_output, g);
    put_within_group(r, out, result, c->output_feature, g);
    in = rule_factor(r, NDA_CONTRACTING, NDA_REDUCE_ADD, rule_size(r, 0, c->input_feature));
    rule_put(r, in, 0, c->input_feature);
    rule_put(r, in, 1, c->kernel_input);
}

/* the window is one element wide and goes everywhere */
static bool plain(const struct ir_window *w, uint32_t i)
{
    return w->size.at[i] == 1 && w->stride.at[i] == 1 && w->low.at[i] == 0 && w->high.at[i] == 0 &&
           w->base_dilation.at[i] == 1;
}

static void windowed(struct rule *r, uint32_t slot, int64_t dim)
{
    rule_put(r, rule_factor(r, NDA_WINDOWED, NDA_REDUCE_NONE, rule_size(r, slot, dim)), slot, dim);
}

void rule_convolution(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0);
    struct ir_conv c;
    if (ir_conv(r->program, r->op, &c) != 0)
        return;
    if (c.feature_groups > 1 && c.batch_groups > 1)
        return;
    if (c.batch_groups == 1)
        rule_tie(r, 0, c.input_batch, result, c.output_batch);
    if (c.feature_groups > 1) {
        feature_groups(r, &c);
    } else if (c.batch_groups > 1) {
        batch_groups(r, &c);
    } else {
        uint32_t f = rule_factor(r, NDA_CONTRACTING, NDA_REDUCE_ADD, rule_size(r, 0, c.input_feature));
        rule_put(r, f, 0, c.input_feature);
        rule_put(r, f, 1, c.kernel_input);
        rule_tie(r, 1, c.kernel_output, result, c.output_feature);
    }
    for (uint32_t i = 0; i < c.input_spatial.count; i++) {
        if (plain(&c.window, i)) {
            rule_tie(r, 0, c.input_spatial.at[i], result, c.output_spatial.at[i]);
            continue;
        }
        windowed(r, 0, c.input_spatial.at[i]);
        windowed(r, 1, c.kernel_spatial.at[i]);
        windowed(r, result, c.output_spatial.at[i]);
    }
}

void rule_reduce(struct rule *r)
{
    uint32_t inputs = r->operand_count / 2, rank = r->slots.at[0].rank;
    int64_t next = 0;
    enum nda_reducer reducer = NDA_REDUCE_NONE;
    struct ir_dims dims;
    if (inputs == 0 || ir_dims(r->program, r->op, "dimensions", &dims) != 0)
        return;
    if (inputs == 1)
        reducer = rule_reducer(ir_region_reducer(r->program, r->op, 0), rule_element(r, 0));
    for (uint32_t d = 0; d < rank; d++) {
        bool reduced = rule_has(&dims, d) >= 0;
        uint32_t f;
        if (reduced && reducer == NDA_REDUCE_NONE)
            continue; /* argmax and opaque bodies see all elements at once */
        f = rule_factor(r, reduced ? NDA_CONTRACTING : NDA_PARALLEL, reduced ? reducer : NDA_REDUCE_NONE,
                        rule_size(r, 0, d));
        for (uint32_t i = 0; i < inputs; i++)
            rule_put(r, f, i, d);
        for (uint32_t i = 0; !reduced && i < rule_result_count(r); i++)
            rule_put(r, f, rule_result_slot(r, i), next);
        next += !reduced;
    }
}

void rule_reduce_window(struct rule *r)
{
    bool scatter = r->program->ops[r->op].code == IR_SELECT_AND_SCATTER;
    struct ir_window w;
    if ((scatter ? ir_select_and_scatter : ir_reduce_window)(r->program, r->op, &w) != 0)
        return;
    for (uint32_t d = 0; d < w.size.count; d++) {
        uint32_t f = RULE_NO_FACTOR;
        bool whole = plain(&w, d);
        if (whole)
            f = rule_factor(r, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(r, 0, d));
        for (uint32_t s = 0; s < r->slots.count; s++) {
            if (whole)
                rule_put(r, f, s, d);
            else
                windowed(r, s, d);
        }
    }
}

/* The feature dimension is parallel in everything. inference is elementwise in the others. training and
 * grad, which need statistics over them, are met here only in programs that were not prepared
 * (ir/expand.c). The dimension goes through, so operand and result share the factor. */
void rule_batch_norm(struct rule *r)
{
    int64_t feature = ir_int(r->program, r->op, "feature_index", 0);
    enum nda_factor_kind rest =
        r->program->ops[r->op].code == IR_BATCH_NORM_INFERENCE ? NDA_PARALLEL : NDA_REPLICATE;
    uint32_t rank = r->slots.at[0].rank;
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t f = rule_factor(r, d == feature ? NDA_PARALLEL : rest, NDA_REDUCE_NONE, rule_size(r, 0, d));
        for (uint32_t s = 0; s < r->slots.count; s++) {
            if (r->slots.at[s].rank == rank && (rank > 1 || d == feature))
                rule_put(r, f, s, d);
            else if (d == feature)
                rule_put(r, f, s, 0);
        }
    }
}

/* What all rules share: making factors, putting dimensions and parts of them in, reducers. Nothing here knows
 * an op; rules_run.c has the switch. */
#include "analysis/rule.h"

#include <stdlib.h>

uint32_t rule_linked_factor(struct rule *rule, uint32_t link, enum nda_factor_kind kind,
                            enum nda_reducer reducer, int64_t size)
{
    if (size < 2)
        return RULE_NO_FACTOR;
    VEC_PUSH(&rule->factors,
             ((struct rule_factor){
                 .size = size, .link = link, .kind = (uint8_t)kind, .reducer = (uint8_t)reducer}));
    if (link != RULE_NO_LINK)
        rule->factors.at[rule->factors.count - 1].flow = rule->next_flow++;
    return (uint32_t)rule->factors.count - 1;
}

uint32_t rule_factor(struct rule *rule, enum nda_factor_kind kind, enum nda_reducer reducer, int64_t size)
{
    return rule_linked_factor(rule, RULE_NO_LINK, kind, reducer, size);
}

uint32_t rule_link(struct rule *rule)
{
    return rule->next_link++;
}

void rule_put_part(struct rule *rule, uint32_t factor, uint32_t slot, int64_t dim, int64_t lo, int64_t hi)
{
    if (factor == RULE_NO_FACTOR || rule_size(rule, slot, dim) < 2)
        return;
    rule->slots.at[slot].covered |= 1u << dim;
    VEC_PUSH(&rule->parts, ((struct rule_part){lo, hi, factor, slot, (uint8_t)dim}));
}

void rule_put(struct rule *rule, uint32_t factor, uint32_t slot, int64_t dim)
{
    if (factor == RULE_NO_FACTOR || rule_size(rule, slot, dim) != rule->factors.at[factor].size ||
        rule->slots.at[slot].covered & 1u << dim)
        return;
    rule_put_part(rule, factor, slot, dim, 1, rule->factors.at[factor].size);
}

void rule_tie(struct rule *rule, uint32_t slot_a, int64_t dim_a, uint32_t slot_b, int64_t dim_b)
{
    uint32_t f;
    if (rule_size(rule, slot_a, dim_a) != rule_size(rule, slot_b, dim_b))
        return;
    f = rule_factor(rule, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(rule, slot_a, dim_a));
    rule_put(rule, f, slot_a, dim_a);
    rule_put(rule, f, slot_b, dim_b);
}

void rule_elementwise(struct rule *rule)
{
    uint32_t widest = 0;
    for (uint32_t s = 1; s < rule->slots.count; s++)
        if (rule->slots.at[s].rank > rule->slots.at[widest].rank)
            widest = s;
    for (uint32_t dim = 0; rule->slots.count && dim < rule->slots.at[widest].rank; dim++) {
        uint32_t f = rule_factor(rule, NDA_PARALLEL, NDA_REDUCE_NONE, rule->slots.at[widest].dims[dim]);
        for (uint32_t s = 0; s < rule->slots.count; s++)
            if (rule->slots.at[s].rank == rule->slots.at[widest].rank)
                rule_put(rule, f, s, dim);
    }
}

enum nda_reducer rule_reducer(enum ir_opcode body, enum ir_element element)
{
    if ((body == IR_AND || body == IR_OR) && element != IR_I1)
        return NDA_REDUCE_NONE;
    if (body == IR_ADD)
        return NDA_REDUCE_ADD;
    if (body == IR_MULTIPLY)
        return NDA_REDUCE_MULTIPLY;
    if (body == IR_MAXIMUM)
        return NDA_REDUCE_MAX;
    if (body == IR_MINIMUM)
        return NDA_REDUCE_MIN;
    if (body == IR_AND)
        return NDA_REDUCE_AND;
    return body == IR_OR ? NDA_REDUCE_OR : NDA_REDUCE_NONE;
}

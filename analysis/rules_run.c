/* The rule of a space: the switch over families of ops, and what becomes of what a rule leaves out. Every op
 * gets a rule: one that nothing is known of is replicated, with a warning that names it. */
#include "analysis/rule.h"

#include <stdlib.h>

static void run_family(struct rule *rule)
{
    switch (ir_opcode_family(rule->program->ops[rule->op].code)) {
    case IR_FAMILY_ELEMENTWISE: rule_elementwise(rule); return;
    case IR_FAMILY_CONSTANT: rule_constant(rule); return;
    case IR_FAMILY_IOTA: rule_iota(rule); return;
    case IR_FAMILY_BROADCAST: rule_broadcast(rule); return;
    case IR_FAMILY_TRANSPOSE: rule_transpose(rule); return;
    case IR_FAMILY_RESHAPE: rule_reshape(rule); return;
    case IR_FAMILY_DOT: rule_dot(rule); return;
    case IR_FAMILY_CONVOLUTION: rule_convolution(rule); return;
    case IR_FAMILY_REDUCE: rule_reduce(rule); return;
    case IR_FAMILY_REDUCE_WINDOW: rule_reduce_window(rule); return;
    case IR_FAMILY_BATCH_NORM: rule_batch_norm(rule); return;
    case IR_FAMILY_GATHER: rule_gather(rule); return;
    case IR_FAMILY_SCATTER: rule_scatter(rule); return;
    case IR_FAMILY_SLICE: rule_slice(rule); return;
    case IR_FAMILY_PAD: rule_pad(rule); return;
    case IR_FAMILY_CONCATENATE: rule_concatenate(rule); return;
    case IR_FAMILY_REVERSE: rule_reverse(rule); return;
    case IR_FAMILY_DYNAMIC_SLICE: rule_dynamic_slice(rule); return;
    case IR_FAMILY_DYNAMIC_UPDATE: rule_dynamic_update(rule); return;
    case IR_FAMILY_SORT: rule_sort(rule); return;
    case IR_FAMILY_LINALG: rule_linalg(rule); return;
    case IR_FAMILY_BITCAST: rule_bitcast(rule); return;
    case IR_FAMILY_CUSTOM_CALL: rule_custom_call(rule); return;
    case IR_FAMILY_RNG:
        rule->warning = "draws its whole result on every device (a sharded use takes its slice)";
        return;
    case IR_FAMILY_SHARDY:
        if (rule->program->ops[rule->op].code == IR_SDY_MANUAL_COMPUTATION)
            rule->warning = "is planned around: its operands and results are replicated";
        else
            rule_elementwise(rule);
        return;
    case IR_FAMILY_COLLECTIVE: rule->warning = "is a collective of the program as given: replicated"; return;
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILIES: rule->warning = "has no sharding rule: replicated"; return;
    }
}

/* what no part covers: one factor a tensor, which ends a color there */
static void replicate_rest(struct rule *rule)
{
    for (uint32_t s = 0; s < rule->slots.count; s++)
        for (uint32_t dim = 0; dim < rule->slots.at[s].rank; dim++)
            if (!(rule->slots.at[s].covered & 1u << dim))
                rule_put(rule, rule_factor(rule, NDA_REPLICATE, NDA_REDUCE_NONE, rule->slots.at[s].dims[dim]),
                         s, dim);
}

void rule_run(struct rule *rule, const struct nda *n, uint32_t space)
{
    const struct nda_space *sp = &n->spaces[space];
    rule->program = n->program;
    rule->nda = n;
    rule->op = sp->op;
    rule->operand_count = 0;
    rule->slots.count = rule->factors.count = rule->parts.count = 0;
    rule->warning = NULL;
    for (uint32_t s = sp->slots; s < sp->slots + sp->slot_count; s++) {
        const struct nda_slot *slot = &n->slots[s];
        const struct ir_type *type = ir_value_type(n->program, slot->value);
        bool tensor = type->kind == IR_TYPE_TENSOR;
        struct rule_slot rs = {.dims = tensor ? ir_type_dims(n->program, type) : NULL,
                               .value = slot->value,
                               .operand = slot->operand,
                               .is_result = slot->is_result,
                               .rank = (uint8_t)(tensor ? type->rank : 0)};
        VEC_PUSH(&rule->slots, rs);
        rule->operand_count += !slot->is_result;
    }
    if (sp->kind == NDA_SPACE_OP)
        run_family(rule);
    else
        rule_elementwise(rule);
    replicate_rest(rule);
}

void rule_release(struct rule *rule)
{
    VEC_FREE(&rule->slots);
    VEC_FREE(&rule->factors);
    VEC_FREE(&rule->parts);
}

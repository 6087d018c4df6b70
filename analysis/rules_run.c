/* The rule of a space: the switch over families of ops, and what becomes of what a rule leaves out. Every op
 * gets a rule: one that nothing is known of is replicated, with a warning that names it. */
#include "analysis/rule.h"

#include <stdlib.h>

static void run_family(struct rule *r)
{
    switch (ir_opcode_family(r->program->ops[r->op].code)) {
    case IR_FAMILY_ELEMENTWISE: rule_elementwise(r); return;
    case IR_FAMILY_CONSTANT: rule_constant(r); return;
    case IR_FAMILY_IOTA: rule_iota(r); return;
    case IR_FAMILY_BROADCAST: rule_broadcast(r); return;
    case IR_FAMILY_TRANSPOSE: rule_transpose(r); return;
    case IR_FAMILY_RESHAPE: rule_reshape(r); return;
    case IR_FAMILY_DOT: rule_dot(r); return;
    case IR_FAMILY_CONVOLUTION: rule_convolution(r); return;
    case IR_FAMILY_REDUCE: rule_reduce(r); return;
    case IR_FAMILY_REDUCE_WINDOW: rule_reduce_window(r); return;
    case IR_FAMILY_BATCH_NORM: rule_batch_norm(r); return;
    case IR_FAMILY_GATHER: rule_gather(r); return;
    case IR_FAMILY_SCATTER: rule_scatter(r); return;
    case IR_FAMILY_SLICE: rule_slice(r); return;
    case IR_FAMILY_PAD: rule_pad(r); return;
    case IR_FAMILY_CONCATENATE: rule_concatenate(r); return;
    case IR_FAMILY_REVERSE: rule_reverse(r); return;
    case IR_FAMILY_DYNAMIC_SLICE: rule_dynamic_slice(r); return;
    case IR_FAMILY_DYNAMIC_UPDATE: rule_dynamic_update(r); return;
    case IR_FAMILY_SORT: rule_sort(r); return;
    case IR_FAMILY_LINALG: rule_linalg(r); return;
    case IR_FAMILY_BITCAST: rule_bitcast(r); return;
    case IR_FAMILY_CUSTOM_CALL: rule_custom_call(r); return;
    case IR_FAMILY_RNG:
        r->warning = "draws its whole result on every device (a sharded use takes its slice)";
        return;
    case IR_FAMILY_SHARDY:
        if (r->program->ops[r->op].code == IR_SDY_MANUAL_COMPUTATION)
            r->warning = "is planned around: its operands and results are replicated";
        else
            rule_elementwise(r);
        return;
    case IR_FAMILY_COLLECTIVE: r->warning = "is a collective of the program as given: replicated"; return;
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILIES: r->warning = "has no sharding rule: replicated"; return;
    }
}

/* what no part covers: one factor a tensor, which ends a color there */
static void replicate_rest(struct rule *r)
{
    for (uint32_t s = 0; s < r->slots.count; s++)
        for (uint32_t d = 0; d < r->slots.at[s].rank; d++)
            if (!(r->slots.at[s].covered & 1u << d))
                rule_put(r, rule_factor(r, NDA_REPLICATE, NDA_REDUCE_NONE, r->slots.at[s].dims[d]), s, d);
}

void rule_run(struct rule *r, const struct nda *n, uint32_t space)
{
    const struct nda_space *sp = &n->spaces[space];
    r->program = n->program;
    r->op = sp->op;
    r->operand_count = 0;
    r->slots.count = r->factors.count = r->parts.count = 0;
    r->warning = NULL;
    for (uint32_t s = sp->slots; s < sp->slots + sp->slot_count; s++) {
        const struct nda_slot *slot = &n->slots[s];
        const struct ir_type *t = ir_value_type(n->program, slot->value);
        bool tensor = t->kind == IR_TYPE_TENSOR;
        struct rule_slot rs = {.dims = tensor ? ir_type_dims(n->program, t) : NULL,
                               .value = slot->value,
                               .operand = slot->operand,
                               .is_result = slot->is_result,
                               .rank = (uint8_t)(tensor ? t->rank : 0)};
        VEC_PUSH(&r->slots, rs);
        r->operand_count += !slot->is_result;
    }
    if (sp->kind == NDA_SPACE_OP)
        run_family(r);
    else
        rule_elementwise(r);
    replicate_rest(r);
}

void rule_release(struct rule *r)
{
    VEC_FREE(&r->slots);
    VEC_FREE(&r->factors);
    VEC_FREE(&r->parts);
}

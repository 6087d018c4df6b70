/* Roles, step 5: what the ops of the forward pass, arguments and results say about each color (struct facts).
 *
 * One pass over the spaces in program order; every space only adds to the facts of its factors' colors.
 * Nothing is decided here. */
#include "analysis/roles.h"

#include <stdlib.h>

static double space_flops(const struct nda *n, const struct nda_space *sp)
{
    double f = 2;
    for (uint32_t k = 0; k < sp->factor_count; k++)
        f *= (double)n->factors[sp->factors + k].size;
    return f;
}

static bool result_forward(const struct roles *roles, const struct nda_space *sp)
{
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++)
        if (roles->n->slots[k].is_result && roles->forward[roles->n->slots[k].value])
            return true;
    return false;
}

static void contraction_facts(struct roles *roles, const struct nda_space *sp)
{
    const struct nda *n = roles->n;
    uint32_t result = sp->slots + sp->slot_count - 1;
    double flops = space_flops(n, sp);
    for (uint32_t factor = 0; factor < sp->factor_count; factor++)
        if (n->factors[sp->factors + factor].kind == NDA_CONTRACTING)
            roles->facts[n->factors[sp->factors + factor].color].contracted = 1;
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[result].value); k++) {
        uint32_t factor_index = nda_slot_factor(n, result, k);
        if (factor_index == NDA_NONE)
            continue;
        roles->facts[n->factors[factor_index].color].flops += flops;
        roles->facts[n->factors[factor_index].color].results++;
    }
}

/* A weight that is 16 times narrower on one side than on the other leads through a bottleneck (an adapter's
 * rank, a router's experts), which nobody shards as Megatron does. Chosen, not tuned: ranks are 32 times and
 * more below the width, grouped keys up to 8 times. */
enum { BOTTLENECK = 16 };

/* which sides of the weight (operand o) are no bottleneck */
static void width_facts(struct roles *roles, const struct nda_space *sp, uint32_t o)
{
    const struct nda *n = roles->n;
    uint8_t in[NDA_MAX_FACTORS] = {0}; /* of each factor: which of the two operands and the result have it */
    double brought = 1, contracted = 1;
    for (uint32_t slot = 0; slot < 3; slot++)
        for (uint32_t k = 0; k < nda_atom_count(n, n->slots[sp->slots + slot].value); k++) {
            uint32_t factor_index = nda_slot_factor(n, sp->slots + slot, k);
            if (factor_index != NDA_NONE)
                in[factor_index - sp->factors] |= (uint8_t)(1u << slot);
        }
    for (uint32_t k = 0; k < sp->factor_count; k++) {
        brought *= in[k] == ((1u << o) | 4) ? (double)n->factors[sp->factors + k].size : 1;
        contracted *= in[k] == 3 ? (double)n->factors[sp->factors + k].size : 1;
    }
    for (uint32_t k = 0; k < sp->factor_count; k++) {
        struct facts *facts = &roles->facts[n->factors[sp->factors + k].color];
        facts->wide |= in[k] == ((1u << o) | 4) && brought * BOTTLENECK > contracted;
        facts->wide |= in[k] == 3 && contracted * BOTTLENECK > brought;
    }
}

/* which operands of a forward contraction are parameters, and what they do there */
static void parameter_facts(struct roles *roles, const struct nda_space *sp, const uint8_t *weight)
{
    const struct nda *n = roles->n;
    uint32_t result = sp->slots + sp->slot_count - 1, operands[2] = {sp->slots, sp->slots + 1};
    bool weights[2] = {weight[n->slots[operands[0]].value], weight[n->slots[operands[1]].value]};
    uint32_t value = n->slots[result].value;
    bool sums = false; /* what sums up nothing is elementwise, no attention */
    for (uint32_t factor = 0; factor < sp->factor_count; factor++)
        sums |= n->factors[sp->factors + factor].kind == NDA_CONTRACTING;
    /* a convolution's groups are no experts */
    bool dot = ir_opcode_family(n->program->ops[sp->op].code) == IR_FAMILY_DOT;
    for (uint32_t o = 0; o < 2; o++)
        if (weights[o])
            width_facts(roles, sp, o);
    for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
        uint32_t factor_index = nda_slot_factor(n, result, k), in = 0;
        if (factor_index == NDA_NONE)
            continue;
        for (uint32_t o = 0; o < 2; o++)
            for (uint32_t j = 0; j < nda_atom_count(n, n->slots[operands[o]].value); j++)
                if (nda_slot_factor(n, operands[o], j) == factor_index)
                    in |= 1u << o;
        if (in != 3) {
            roles->facts[n->factors[factor_index].color].produced |= weights[in >> 1];
            roles->facts[n->factors[factor_index].color].attention |= sums && !weights[0] && !weights[1];
        } else if (weights[0] || weights[1]) {
            roles->facts[n->factors[factor_index].color].parameter_batch |= dot;
        } else if (sums) {
            roles->facts[n->factors[factor_index].color].attention = 1;
            roles->facts[n->factors[factor_index].color].beside = 1;
        }
    }
}

static bool has_color(const struct nda *n, uint32_t slot, uint32_t color)
{
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[slot].value); k++) {
        uint32_t factor_index = nda_slot_factor(n, slot, k);
        if (factor_index != NDA_NONE && n->factors[factor_index].color == color)
            return true;
    }
    return false;
}

static void index_facts(struct roles *roles, const struct nda_space *sp, const uint8_t *weight)
{
    const struct nda *n = roles->n;
    bool table = weight[n->slots[sp->slots].value];
    for (uint32_t factor = 0; factor < sp->factor_count; factor++)
        roles->facts[n->factors[sp->factors + factor].color].lookup |=
            table && n->factors[sp->factors + factor].kind == NDA_LOOKUP;
    for (uint32_t k = 0; table && k < nda_atom_count(n, n->slots[sp->slots].value); k++) {
        uint32_t factor_index = nda_slot_factor(n, sp->slots, k);
        if (factor_index != NDA_NONE && n->factors[factor_index].kind == NDA_PARALLEL)
            roles->facts[n->factors[factor_index].color].found = 1;
    }
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[sp->slots + 1].value); k++) {
        uint32_t factor_index = nda_slot_factor(n, sp->slots + 1, k);
        if (factor_index == NDA_NONE || n->factors[factor_index].kind != NDA_PARALLEL)
            continue;
        uint32_t color = n->factors[factor_index].color;
        roles->facts[color].looked_up |= table;
        /* a loss takes from each position's scores that of its target: positions are no edges */
        roles->facts[color].gather_batch |= !table && !has_color(n, sp->slots, color);
    }
}

/* the dimension along which a value counts, as broadcast or converted; NDA_NONE: it is no such */
static uint32_t counting_dim(const struct ir_program *program, uint32_t value)
{
    uint32_t op = program->values[value].op, code = op == IR_NONE ? 0 : program->ops[op].code;
    struct ir_dims to;
    if (op == IR_NONE)
        return NDA_NONE;
    if (code == IR_IOTA)
        return (uint32_t)ir_int(program, op, "iota_dimension", 0);
    if (code != IR_CONVERT && code != IR_BROADCAST_IN_DIM)
        return NDA_NONE;
    uint32_t dim = counting_dim(program, ir_operand(program, op, 0));
    if (dim == NDA_NONE || code == IR_CONVERT)
        return dim;
    return ir_dims(program, op, "broadcast_dimensions", &to) == 0 && dim < to.count ? (uint32_t)to.at[dim]
                                                                                    : NDA_NONE;
}

/* A choice, one hot: positions of a dimension are compared with what is no position. */
static void choice_facts(struct roles *roles, const struct nda_space *sp)
{
    const struct nda *n = roles->n;
    uint32_t dims[2], result = sp->slots + sp->slot_count - 1;
    for (uint32_t i = 0; i < 2; i++)
        dims[i] = counting_dim(n->program, ir_operand(n->program, sp->op, i));
    if ((dims[0] == NDA_NONE) == (dims[1] == NDA_NONE))
        return;
    uint32_t dim = dims[0] == NDA_NONE ? dims[1] : dims[0];
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[result].value); k++) {
        uint32_t factor = nda_slot_factor(n, result, k);
        if (factor != NDA_NONE && nda_atoms(n, n->slots[result].value)[k].dim == dim)
            roles->facts[n->factors[factor].color].chosen = 1;
    }
}

/* A cache is written at a position: dynamic_update_slice of what is narrower there, scatter at indices. */
static void write_facts(struct roles *roles, const struct nda_space *sp)
{
    const struct nda *n = roles->n;
    uint32_t code = n->program->ops[sp->op].code;
    if (code != IR_DYNAMIC_UPDATE_SLICE && code != IR_SCATTER)
        return;
    uint32_t update = sp->slots + (code == IR_SCATTER ? n->program->ops[sp->op].operand_count - 1 : 1);
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[sp->slots].value); k++) {
        uint32_t factor = nda_slot_factor(n, sp->slots, k);
        bool has = false;
        for (uint32_t j = 0; j < nda_atom_count(n, n->slots[update].value); j++)
            has |= nda_slot_factor(n, update, j) == factor;
        if (factor != NDA_NONE && !has)
            roles->facts[n->factors[factor].color].written = 1;
    }
}

void roles_collect_facts(struct roles *roles)
{
    struct nda *n = roles->n;
    uint8_t *weight = roles_weight_values(n, roles->batch);
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        enum ir_family family = ir_opcode_family(n->program->ops[sp->op].code);
        bool op = sp->kind == NDA_SPACE_OP, argument = sp->kind == NDA_SPACE_ARGUMENT;
        bool untied = sp->kind == NDA_SPACE_RESULT;
        for (uint32_t i = 0; untied && i < n->argument_count; i++)
            untied = n->arguments[i].becomes != sp->index;
        untied &= !(untied && roles->metrics && roles->metrics[sp->index]);
        for (uint32_t factor = 0; factor < sp->factor_count; factor++) {
            struct facts *facts = &roles->facts[n->factors[sp->factors + factor].color];
            facts->shardable |= n->factors[sp->factors + factor].shardable;
            facts->given |= argument && n->arguments[sp->index].role == NDA_ROLE_DATA;
            facts->argument_dims += argument;
            facts->cached |= argument && n->arguments[sp->index].role == NDA_ROLE_CACHE;
            facts->kept |= sp->kind == NDA_SPACE_RESULT && !untied;
            facts->seen |= untied || (op && family == IR_FAMILY_REDUCE && result_forward(roles, sp) &&
                                      n->factors[sp->factors + factor].kind == NDA_CONTRACTING);
            facts->weighed |= op && family == IR_FAMILY_REDUCE && result_forward(roles, sp) &&
                              n->factors[sp->factors + factor].kind == NDA_CONTRACTING &&
                              n->factors[sp->factors + factor].reducer == NDA_REDUCE_MAX;
            if (!argument || n->arguments[sp->index].role != NDA_ROLE_PARAMETER)
                continue;
            facts->parameter_dims++;
            facts->stacked |= ir_value_type(n->program, n->arguments[sp->index].value)->rank > 2;
            for (uint32_t g = 0; g < factor; g++)
                facts->square |= n->factors[sp->factors + factor].color == n->factors[sp->factors + g].color;
        }
        if (op)
            write_facts(roles, sp);
        if (!op || !result_forward(roles, sp))
            continue;
        if (nda_is_contraction(n, sp->op) && sp->slot_count == 3) {
            contraction_facts(roles, sp);
            parameter_facts(roles, sp, weight);
        } else if (n->program->ops[sp->op].code == IR_GATHER) {
            index_facts(roles, sp, weight);
        } else if (n->program->ops[sp->op].code == IR_COMPARE) {
            choice_facts(roles, sp);
        }
    }
    free(weight);
}

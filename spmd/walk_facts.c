/* Facts of single ops that no plan changes: which ops can be made anywhere in any form, which pass a partial
 * value on, which have an initial value that may count only once. And of sums that loops carry: which
 * converts to a wider type belong to the sum. The second half of the facts table; walk_table.c calls it. */
#include "spmd/walk.h"

#include "ir/attrs.h"

#include <stdlib.h>

static const struct ir_attr *splat_of(const struct ir_program *p, uint32_t value)
{
    for (uint32_t hops = 0; hops < 8 && p->values[value].op != IR_NONE; hops++) {
        uint32_t op = p->values[value].op;
        switch (p->ops[op].code) {
        case IR_BROADCAST_IN_DIM:
        case IR_BROADCAST:
        case IR_RESHAPE:
        case IR_TRANSPOSE:
        case IR_CONVERT: value = ir_operand(p, op, 0); continue;
        case IR_CONSTANT: {
            const struct ir_attr *a = ir_attr_find(p, op, "value");
            if (!a || a->kind != IR_ATTR_DENSE)
                return NULL;
            const struct ir_constant *c = &p->constants[a->first];
            return c->splat || c->size == c->element_bytes ? a : NULL;
        }
        default: return NULL;
        }
    }
    return NULL;
}

static bool is_splat(const struct ir_program *p, uint32_t value, double of)
{
    const struct ir_attr *a = splat_of(p, value);

    return a && ir_constant_double(p, a, 0) == of;
}

static bool same_elements(const struct ir_program *p, uint32_t op)
{
    return ir_type_elements(p, ir_value_type(p, ir_operand(p, op, 0))) ==
           ir_type_elements(p, ir_value_type(p, ir_result(p, op, 0)));
}

/* a sum from zero over dims of one element: a reshape (so the gradient of a broadcast bias ends) */
static bool sums_nothing(const struct ir_program *p, uint32_t op)
{
    return p->ops[op].operand_count == 2 && p->ops[op].result_count == 1 &&
           ir_region_reducer(p, op, 0) == IR_ADD && same_elements(p, op) &&
           is_splat(p, ir_operand(p, op, 1), 0);
}

static uint8_t pass_of(const struct ir_program *p, uint32_t op)
{
    enum ir_element e = (enum ir_element)ir_value_type(p, ir_result(p, op, 0))->element;
    bool numeric = e != IR_I1;

    switch (p->ops[op].code) {
    case IR_TRANSPOSE:
    case IR_RESHAPE:
    case IR_SLICE: return WALK_PASS_LAYOUT;
    case IR_NEGATE: return numeric ? WALK_PASS_NEGATE : WALK_PASS_NONE;
    case IR_BROADCAST_IN_DIM: /* adds dims of one element */
        return numeric && same_elements(p, op) ? WALK_PASS_NEGATE : WALK_PASS_NONE;
    case IR_REDUCE: return numeric && sums_nothing(p, op) ? WALK_PASS_NEGATE : WALK_PASS_NONE;
    case IR_ADD:
    case IR_SUBTRACT: return numeric ? WALK_PASS_ADD : WALK_PASS_NONE;
    case IR_MULTIPLY: return numeric ? WALK_PASS_SCALE : WALK_PASS_NONE;
    case IR_DIVIDE: return ir_element_is_float(e) ? WALK_PASS_SCALE : WALK_PASS_NONE; /* integers truncate */
    case IR_SELECT: return WALK_PASS_SELECT;
    case IR_DYNAMIC_UPDATE_SLICE: return numeric ? WALK_PASS_UPDATE : WALK_PASS_NONE;
    case IR_MAXIMUM: return WALK_PASS_MAX;
    case IR_MINIMUM: return WALK_PASS_MIN;
    case IR_AND: return WALK_PASS_AND;
    case IR_OR: return WALK_PASS_OR;
    default: return WALK_PASS_NONE;
    }
}

/* inits and operands that only one device may keep: sums and products, unless known to be the identity */
static bool needs_mask(const struct walk_table *t, const struct nda *n, uint32_t op)
{
    const struct ir_program *p = n->program;
    const struct nda_space *s = &n->spaces[t->ops[op].space];
    uint8_t family = t->ops[op].family;

    if (family != IR_FAMILY_REDUCE && family != IR_FAMILY_REDUCE_WINDOW && family != IR_FAMILY_SCATTER)
        return false;
    uint32_t count = p->ops[op].operand_count;
    uint32_t first = family == IR_FAMILY_SCATTER || p->ops[op].code == IR_SELECT_AND_SCATTER ? 0 : count / 2;
    uint32_t last = count;
    if (family == IR_FAMILY_SCATTER)
        last = (count - 1) / 2; /* inputs, indices, updates */
    else if (p->ops[op].code == IR_SELECT_AND_SCATTER)
        first = count - 1; /* operand, source, init */
    for (uint32_t f = 0; f < s->factor_count; f++) {
        const struct nda_factor *factor = &n->factors[s->factors + f];
        bool counts = factor->reducer == NDA_REDUCE_ADD || factor->reducer == NDA_REDUCE_MULTIPLY;
        if (factor->kind != NDA_CONTRACTING || !counts)
            continue;
        for (uint32_t i = first; i < last; i++)
            if (!is_splat(p, ir_operand(p, op, i), factor->reducer == NDA_REDUCE_ADD ? 0 : 1))
                return true;
    }
    return false;
}

static bool all_operands_cheap(const struct walk_table *t, const struct nda *n, uint32_t op)
{
    const struct ir_program *p = n->program;

    for (uint32_t i = 0; i < p->ops[op].operand_count; i++) {
        uint32_t v = ir_operand(p, op, i), def = p->values[v].op;
        if (nda_atom_count(n, v) == 0)
            continue;
        if (def == IR_NONE || !(t->ops[def].flags & WALK_CHEAP))
            return false;
    }
    return true;
}

/* a rule that lets every dimension be split (a known custom call): nothing to warn about */
static bool all_shardable(const struct nda *n, uint32_t op)
{
    if (n->op_space[op] == NDA_NONE)
        return false;
    const struct nda_space *s = &n->spaces[n->op_space[op]];
    for (uint32_t f = 0; f < s->factor_count; f++)
        if (!n->factors[s->factors + f].shardable)
            return false;
    return s->factor_count > 0;
}

static uint8_t flags_of(const struct walk_table *t, const struct nda *n, uint32_t op)
{
    const struct ir_program *p = n->program;
    const struct ir_op *o = &p->ops[op];
    uint8_t flags = 0;
    bool shaped = o->result_count == 1 && nda_atom_count(n, o->results) > 0;
    bool cheap = shaped && all_operands_cheap(t, n, op);

    switch ((enum ir_family)t->ops[op].family) {
    case IR_FAMILY_CONSTANT:
    case IR_FAMILY_IOTA: flags = shaped ? WALK_LAZY | WALK_CHEAP : 0; break;
    case IR_FAMILY_BROADCAST:
        flags = (shaped ? WALK_LAZY | WALK_REMAKE : 0) | (cheap ? WALK_CHEAP : 0);
        break;
    case IR_FAMILY_ELEMENTWISE:
        if (cheap)
            flags = WALK_LAZY | WALK_CHEAP;
        else if (o->code == IR_CONVERT && shaped)
            flags = WALK_REMAKE |
                    (t->value_bytes[o->results] > t->value_bytes[ir_operand(p, op, 0)] ? WALK_LAZY : 0);
        break;
    case IR_FAMILY_RESHAPE:
    case IR_FAMILY_TRANSPOSE:
        flags = (shaped ? WALK_REMAKE : 0) | (cheap ? WALK_LAZY | WALK_CHEAP : 0);
        break;
    case IR_FAMILY_GATHER:
    case IR_FAMILY_DYNAMIC_SLICE: flags = WALK_PARTIAL_LOOKUP; break;
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILY_CUSTOM_CALL:
    case IR_FAMILY_LINALG:
    case IR_FAMILY_RNG:
    case IR_FAMILY_COLLECTIVE: flags = all_shardable(n, op) ? 0 : WALK_UNSUPPORTED; break;
    case IR_FAMILY_SHARDY:
    case IR_FAMILY_BITCAST:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_DOT:
    case IR_FAMILY_CONVOLUTION:
    case IR_FAMILY_REDUCE:
    case IR_FAMILY_REDUCE_WINDOW:
    case IR_FAMILY_BATCH_NORM:
    case IR_FAMILY_SCATTER:
    case IR_FAMILY_SLICE:
    case IR_FAMILY_PAD:
    case IR_FAMILY_CONCATENATE:
    case IR_FAMILY_REVERSE:
    case IR_FAMILY_DYNAMIC_UPDATE:
    case IR_FAMILY_SORT:
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILIES: break;
    }
    if (o->result_count == 1 && is_splat(p, o->results, 0))
        flags |= WALK_ZERO;
    return flags;
}

static bool gives_partial(const struct walk_table *t, const struct nda *n, uint32_t op)
{
    const struct nda_space *s = &n->spaces[t->ops[op].space];

    for (uint32_t f = 0; f < s->factor_count; f++)
        if (t->factor_ok[s->factors + f] &&
            (n->factors[s->factors + f].kind == NDA_CONTRACTING ||
             (n->factors[s->factors + f].kind == NDA_LOOKUP && (t->ops[op].flags & WALK_PARTIAL_LOOKUP))))
            return n->program->ops[op].result_count == 1;
    return false;
}

void walk_table_ops(struct walk_table *t, const struct nda *n)
{
    const struct ir_program *p = n->program;

    t->sources = mem_zalloc(p->op_count + 1, sizeof *t->sources);
    for (uint32_t op = 0; op < p->op_count; op++) {
        struct walk_op *o = &t->ops[op];
        if (!o->reachable || o->space == NDA_NONE)
            continue;
        o->flags = flags_of(t, n, op);
        o->pass = p->ops[op].result_count == 1 ? pass_of(p, op) : WALK_PASS_NONE;
        if (needs_mask(t, n, op))
            o->flags |= WALK_MASK;
        if (gives_partial(t, n, op))
            t->sources[t->source_count++] = op;
    }
}

/* ------------------------------------------------------------------------------------------- accumulators */
/* What the body of a loop adds to a value that the loop carries. */
struct terms {
    struct walk_table *t;
    const struct ir_program *p;
    uint32_t argument; /* the carried value, in the body */
    int64_t outside;   /* trip counts of the loops around this one */
    int64_t bytes;     /* of what is converted, in all iterations */
    bool found;        /* it is in the sum */
    VEC(uint32_t) converts;
};
enum { TERMS_DEPTH = 64 }; /* ops from what the body returns to a term: a stack frame each */

static bool is_cheap(const struct terms *s, const struct nda *n, uint32_t value)
{
    uint32_t def = s->p->values[value].op;

    return nda_atom_count(n, value) == 0 || (def != IR_NONE && (s->t->ops[def].flags & WALK_CHEAP));
}

static bool widens(const struct terms *s, uint32_t op)
{
    const struct ir_program *p = s->p;

    return p->ops[op].code == IR_CONVERT && s->t->ops[op].space != NDA_NONE &&
           ir_element_widens((enum ir_element)ir_value_type(p, ir_operand(p, op, 0))->element,
                             (enum ir_element)ir_value_type(p, ir_result(p, op, 0))->element);
}

/* Sums, multiples, layouts, stacks that inner loops fill: back from what the body returns, as long as
 * nothing else uses what stands between. */
static void find_terms(struct terms *s, const struct nda *n, uint32_t value, uint32_t depth)
{
    const struct ir_program *p = s->p;
    uint32_t op = p->values[value].op, first = s->t->use_start[value];

    s->found |= value == s->argument;
    if (op == IR_NONE || depth == 0 || s->t->use_start[value + 1] != first + 1)
        return;
    switch ((enum walk_pass)s->t->ops[op].pass) {
    case WALK_PASS_NONE:
    case WALK_PASS_WIDEN:
        if (widens(s, op)) {
            s->bytes +=
                s->t->value_bytes[ir_operand(p, op, 0)] * (s->t->block_trips[p->ops[op].block] / s->outside);
            VEC_PUSH(&s->converts, op);
        }
        return;
    case WALK_PASS_LAYOUT:
    case WALK_PASS_NEGATE: find_terms(s, n, ir_operand(p, op, 0), depth - 1); return;
    case WALK_PASS_ADD:
    case WALK_PASS_UPDATE:
        find_terms(s, n, ir_operand(p, op, 0), depth - 1);
        find_terms(s, n, ir_operand(p, op, 1), depth - 1);
        return;
    case WALK_PASS_SCALE:
        find_terms(s, n, ir_operand(p, op, is_cheap(s, n, ir_operand(p, op, 0))), depth - 1);
        return;
    case WALK_PASS_INITIAL: {
        const struct walk_carried *c =
            &s->t->carried[s->t->controls[s->t->ops[op].control].carried + (value - p->ops[op].results)];
        find_terms(s, n, p->operands[p->ops[op].operands + (value - p->ops[op].results)], depth - 1);
        find_terms(s, n, p->operands[c->returned], depth - 1);
        return;
    }
    case WALK_PASS_SELECT:
    case WALK_PASS_MAX:
    case WALK_PASS_MIN:
    case WALK_PASS_AND:
    case WALK_PASS_OR:
    case WALK_PASS_CARRY: return;
    }
}

/* Gradients of fewer bits than the sum of them over microbatches: the sum is more bytes than one of them,
 * fewer than all. Elsewhere a convert ends a partial: passed on it would be more bytes to reduce. */
void walk_table_widening(struct walk_table *t, const struct nda *n)
{
    struct terms s = {.t = t, .p = n->program};

    for (uint32_t i = 0; i < t->carried_count; i++) {
        const struct walk_carried *c = &t->carried[i];
        if (c->argument == NDA_NONE || c->steers)
            continue;
        s.argument = c->argument;
        s.outside = t->block_trips[n->program->ops[n->program->values[c->result].op].block];
        s.bytes = 0;
        s.found = false;
        s.converts.count = 0;
        find_terms(&s, n, n->program->operands[c->returned], TERMS_DEPTH);
        bool pays = s.found && t->value_bytes[s.argument] < s.bytes;
        for (size_t k = 0; pays && k < s.converts.count; k++)
            t->ops[s.converts.at[k]].pass = WALK_PASS_WIDEN;
    }
    VEC_FREE(&s.converts);
}

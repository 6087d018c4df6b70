/* Facts of single ops that no plan changes: which ops can be made anywhere in any form, which pass a partial
 * value on, which have an initial value that may count only once. And of sums that loops carry: which
 * converts to a wider type belong to the sum. The second half of the facts table; walk_table.c calls it. */
#include "spmd/walk.h"

#include "ir/attrs.h"

#include <stdlib.h>

static const struct ir_attr *splat_of(const struct ir_program *program, uint32_t value)
{
    for (uint32_t hops = 0; hops < 8 && program->values[value].op != IR_NONE; hops++) {
        uint32_t op = program->values[value].op;
        switch (program->ops[op].code) {
        case IR_BROADCAST_IN_DIM:
        case IR_BROADCAST:
        case IR_RESHAPE:
        case IR_TRANSPOSE:
        case IR_CONVERT: value = ir_operand(program, op, 0); continue;
        case IR_CONSTANT: {
            const struct ir_attr *attr = ir_attr_find(program, op, "value");
            if (!attr || attr->kind != IR_ATTR_DENSE)
                return NULL;
            const struct ir_constant *constant = &program->constants[attr->first];
            return constant->splat || constant->size == constant->element_bytes ? attr : NULL;
        }
        default: return NULL;
        }
    }
    return NULL;
}

static bool is_splat(const struct ir_program *program, uint32_t value, double of)
{
    const struct ir_attr *attr = splat_of(program, value);

    return attr && ir_constant_double(program, attr, 0) == of;
}

static bool same_elements(const struct ir_program *program, uint32_t op)
{
    return ir_type_elements(program, ir_value_type(program, ir_operand(program, op, 0))) ==
           ir_type_elements(program, ir_value_type(program, ir_result(program, op, 0)));
}

/* a sum from zero over dims of one element: a reshape (so the gradient of a broadcast bias ends) */
static bool sums_nothing(const struct ir_program *program, uint32_t op)
{
    return program->ops[op].operand_count == 2 && program->ops[op].result_count == 1 &&
           ir_region_reducer(program, op, 0) == IR_ADD && same_elements(program, op) &&
           is_splat(program, ir_operand(program, op, 1), 0);
}

static uint8_t pass_of(const struct ir_program *program, uint32_t op)
{
    enum ir_element e = (enum ir_element)ir_value_type(program, ir_result(program, op, 0))->element;
    bool numeric = e != IR_I1;

    switch (program->ops[op].code) {
    case IR_TRANSPOSE:
    case IR_RESHAPE:
    case IR_SLICE: return WALK_PASS_LAYOUT;
    case IR_NEGATE: return numeric ? WALK_PASS_NEGATE : WALK_PASS_NONE;
    case IR_BROADCAST_IN_DIM: /* adds dims of one element */
        return numeric && same_elements(program, op) ? WALK_PASS_NEGATE : WALK_PASS_NONE;
    case IR_REDUCE: return numeric && sums_nothing(program, op) ? WALK_PASS_NEGATE : WALK_PASS_NONE;
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
static bool needs_mask(const struct walk_table *table, const struct nda *n, uint32_t op)
{
    const struct ir_program *program = n->program;
    const struct nda_space *space = &n->spaces[table->ops[op].space];
    uint8_t family = table->ops[op].family;

    if (family != IR_FAMILY_REDUCE && family != IR_FAMILY_REDUCE_WINDOW && family != IR_FAMILY_SCATTER)
        return false;
    uint32_t count = program->ops[op].operand_count;
    uint32_t first =
        family == IR_FAMILY_SCATTER || program->ops[op].code == IR_SELECT_AND_SCATTER ? 0 : count / 2;
    uint32_t last = count;
    if (family == IR_FAMILY_SCATTER)
        last = (count - 1) / 2; /* inputs, indices, updates */
    else if (program->ops[op].code == IR_SELECT_AND_SCATTER)
        first = count - 1; /* operand, source, init */
    for (uint32_t f = 0; f < space->factor_count; f++) {
        const struct nda_factor *factor = &n->factors[space->factors + f];
        bool counts = factor->reducer == NDA_REDUCE_ADD || factor->reducer == NDA_REDUCE_MULTIPLY;
        if (factor->kind != NDA_CONTRACTING || !counts)
            continue;
        for (uint32_t i = first; i < last; i++)
            if (!is_splat(program, ir_operand(program, op, i), factor->reducer == NDA_REDUCE_ADD ? 0 : 1))
                return true;
    }
    return false;
}

static bool all_operands_cheap(const struct walk_table *table, const struct nda *n, uint32_t op)
{
    const struct ir_program *program = n->program;

    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint32_t value = ir_operand(program, op, i), def = program->values[value].op;
        if (nda_atom_count(n, value) == 0)
            continue;
        if (def == IR_NONE || !(table->ops[def].flags & WALK_CHEAP))
            return false;
    }
    return true;
}

/* a rule that lets every dimension be split (a known custom call): nothing to warn about */
static bool all_shardable(const struct nda *n, uint32_t op)
{
    if (n->op_space[op] == NDA_NONE)
        return false;
    const struct nda_space *space = &n->spaces[n->op_space[op]];
    for (uint32_t factor = 0; factor < space->factor_count; factor++)
        if (!n->factors[space->factors + factor].shardable)
            return false;
    return space->factor_count > 0;
}

static uint8_t flags_of(const struct walk_table *table, const struct nda *n, uint32_t op)
{
    const struct ir_program *program = n->program;
    const struct ir_op *ir_op = &program->ops[op];
    uint8_t flags = 0;
    bool shaped = ir_op->result_count == 1 && nda_atom_count(n, ir_op->results) > 0;
    bool cheap = shaped && all_operands_cheap(table, n, op);

    switch ((enum ir_family)table->ops[op].family) {
    case IR_FAMILY_CONSTANT:
    case IR_FAMILY_IOTA: flags = shaped ? WALK_LAZY | WALK_CHEAP : 0; break;
    case IR_FAMILY_BROADCAST:
        flags = (shaped ? WALK_LAZY | WALK_REMAKE : 0) | (cheap ? WALK_CHEAP : 0);
        break;
    case IR_FAMILY_ELEMENTWISE:
        if (cheap)
            flags = WALK_LAZY | WALK_CHEAP;
        else if (ir_op->code == IR_CONVERT && shaped)
            flags = WALK_REMAKE |
                    (table->value_bytes[ir_op->results] > table->value_bytes[ir_operand(program, op, 0)]
                         ? WALK_LAZY
                         : 0);
        break;
    case IR_FAMILY_RESHAPE:
    case IR_FAMILY_TRANSPOSE:
    case IR_FAMILY_REVERSE: flags = (shaped ? WALK_REMAKE : 0) | (cheap ? WALK_LAZY | WALK_CHEAP : 0); break;
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
    case IR_FAMILY_DYNAMIC_UPDATE:
    case IR_FAMILY_SORT:
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILIES: break;
    }
    if (ir_op->result_count == 1 && is_splat(program, ir_op->results, 0))
        flags |= WALK_ZERO;
    return flags;
}

static bool gives_partial(const struct walk_table *table, const struct nda *n, uint32_t op)
{
    const struct nda_space *space = &n->spaces[table->ops[op].space];

    for (uint32_t factor = 0; factor < space->factor_count; factor++)
        if (table->factor_ok[space->factors + factor] &&
            (n->factors[space->factors + factor].kind == NDA_CONTRACTING ||
             (n->factors[space->factors + factor].kind == NDA_LOOKUP &&
              (table->ops[op].flags & WALK_PARTIAL_LOOKUP))))
            return n->program->ops[op].result_count == 1;
    return false;
}

void walk_table_ops(struct walk_table *table, const struct nda *n)
{
    const struct ir_program *program = n->program;

    table->sources = mem_zalloc(program->op_count + 1, sizeof *table->sources);
    for (uint32_t op = 0; op < program->op_count; op++) {
        struct walk_op *walk_op = &table->ops[op];
        if (!walk_op->reachable || walk_op->space == NDA_NONE)
            continue;
        walk_op->flags = flags_of(table, n, op);
        walk_op->pass = program->ops[op].result_count == 1 ? pass_of(program, op) : WALK_PASS_NONE;
        if (needs_mask(table, n, op))
            walk_op->flags |= WALK_MASK;
        if (gives_partial(table, n, op))
            table->sources[table->source_count++] = op;
    }
}

/* ------------------------------------------------------------------------------------------- accumulators */
/* What a sum adds up; what the body of a loop adds to a value that the loop carries. */
struct terms {
    struct walk_table *table;
    const struct ir_program *program;
    uint32_t argument; /* the carried value, in the body; NDA_NONE of a sum */
    int64_t outside;   /* trip counts of the loops around */
    int64_t bytes;     /* of terms that may be partial, converted or as wide as the sum, in all iterations */
    bool found;        /* it is in the sum */
    VEC(uint32_t) converts;
};
enum { TERMS_DEPTH = 512 }; /* ops from the sum to a term: a stack frame each */

static bool is_cheap(const struct terms *terms, const struct nda *n, uint32_t value)
{
    uint32_t def = terms->program->values[value].op;

    return nda_atom_count(n, value) == 0 || (def != IR_NONE && (terms->table->ops[def].flags & WALK_CHEAP));
}

static bool widens(const struct terms *terms, uint32_t op)
{
    const struct ir_program *program = terms->program;

    return program->ops[op].code == IR_CONVERT && terms->table->ops[op].space != NDA_NONE &&
           ir_element_widens((enum ir_element)ir_value_type(program, ir_operand(program, op, 0))->element,
                             (enum ir_element)ir_value_type(program, ir_result(program, op, 0))->element);
}

static void begin_terms(struct terms *terms, uint32_t argument, uint32_t op)
{
    terms->argument = argument;
    terms->outside = terms->table->block_trips[terms->program->ops[op].block];
    terms->bytes = 0;
    terms->found = false;
    terms->converts.count = 0;
}

/* Sums, multiples, layouts, stacks that inner loops fill: back from what the body returns, as long as
 * nothing else uses what stands between. */
static void find_terms(struct terms *terms, const struct nda *n, uint32_t value, uint32_t depth)
{
    const struct ir_program *program = terms->program;
    uint32_t op = program->values[value].op, first = terms->table->use_start[value];

    terms->found |= value == terms->argument;
    if (op == IR_NONE || depth == 0 || terms->table->use_start[value + 1] != first + 1)
        return;
    switch ((enum walk_pass)terms->table->ops[op].pass) {
    case WALK_PASS_NONE:
    case WALK_PASS_WIDEN:
        if (widens(terms, op)) {
            terms->bytes += terms->table->value_bytes[ir_operand(program, op, 0)] *
                            (terms->table->block_trips[program->ops[op].block] / terms->outside);
            VEC_PUSH(&terms->converts, op);
        } else if (terms->table->ops[op].space != NDA_NONE && gives_partial(terms->table, n, op)) {
            terms->bytes += terms->table->value_bytes[value] *
                            (terms->table->block_trips[program->ops[op].block] / terms->outside);
        }
        return;
    case WALK_PASS_LAYOUT:
    case WALK_PASS_NEGATE: find_terms(terms, n, ir_operand(program, op, 0), depth - 1); return;
    case WALK_PASS_ADD:
    case WALK_PASS_UPDATE:
        find_terms(terms, n, ir_operand(program, op, 0), depth - 1);
        find_terms(terms, n, ir_operand(program, op, 1), depth - 1);
        return;
    case WALK_PASS_SCALE:
        find_terms(terms, n, ir_operand(program, op, is_cheap(terms, n, ir_operand(program, op, 0))),
                   depth - 1);
        return;
    case WALK_PASS_INITIAL: {
        const struct walk_carried *carried =
            &terms->table->carried[terms->table->controls[terms->table->ops[op].control].carried +
                                   (value - program->ops[op].results)];
        find_terms(terms, n,
                   program->operands[program->ops[op].operands + (value - program->ops[op].results)],
                   depth - 1);
        find_terms(terms, n, program->operands[carried->returned], depth - 1);
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

/* the converts among the terms pass partials on where `sum` is fewer bytes than all that may be partial */
static void mark_converts(struct terms *terms, uint32_t sum)
{
    bool pays = terms->table->value_bytes[sum] < terms->bytes;

    for (size_t k = 0; pays && k < terms->converts.count; k++)
        terms->table->ops[terms->converts.at[k]].pass = WALK_PASS_WIDEN;
}

/* what the bodies of loops add to what they carry */
static void mark_carried(struct terms *terms, const struct nda *n)
{
    struct walk_table *table = terms->table;

    for (uint32_t i = 0; i < table->carried_count; i++) {
        const struct walk_carried *carried = &table->carried[i];
        if (carried->argument == NDA_NONE || carried->steers)
            continue;
        begin_terms(terms, carried->argument, n->program->values[carried->result].op);
        find_terms(terms, n, n->program->operands[carried->returned], TERMS_DEPTH);
        if (terms->found)
            mark_converts(terms, carried->argument);
    }
}

/* is the op a sum that is no term of another? */
static bool is_whole_sum(const struct walk_table *table, const struct ir_program *program, uint32_t op)
{
    if (table->ops[op].pass != WALK_PASS_ADD)
        return false;
    uint32_t sum = ir_result(program, op, 0), first = table->use_start[sum];
    return table->use_start[sum + 1] != first + 1 ||
           table->ops[table->operand_op[table->uses[first]]].pass != WALK_PASS_ADD;
}

/* what a parameter that is used several times, by layers that share it or by microbatches that no loop runs,
 * is given by each */
static void mark_sums(struct terms *terms, const struct nda *n)
{
    const struct ir_program *program = n->program;

    for (uint32_t op = 0; op < program->op_count; op++) {
        if (!is_whole_sum(terms->table, program, op))
            continue;
        begin_terms(terms, NDA_NONE, op);
        for (uint32_t i = 0; i < 2; i++)
            find_terms(terms, n, ir_operand(program, op, i), TERMS_DEPTH);
        mark_converts(terms, ir_result(program, op, 0));
    }
}

/* Gradients of fewer bits than the sum of them: the sum is more bytes than one of them, fewer than all.
 * Elsewhere a convert ends a partial: passed on it would be more bytes to reduce. */
void walk_table_widening(struct walk_table *table, const struct nda *n)
{
    struct terms terms = {.table = table, .program = n->program};

    mark_carried(&terms, n);
    mark_sums(&terms, n);
    VEC_FREE(&terms.converts);
}

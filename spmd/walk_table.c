/* The table of a module: facts about its ops, values and uses that no plan changes. */
#include "spmd/walk.h"

#include "ir/attrs.h"

#include <stdlib.h>
#include <string.h>

/* Visits the ops of @main in program order, control regions included, reducer bodies not. */
struct visit {
    struct walk_table *t;
    const struct ir_program *p;
    struct error *e;
    enum error_code code;
};

static bool family_is_control(uint8_t family)
{
    return family == IR_FAMILY_CONTROL;
}

/* value is made in the region of this op, or deeper */
static bool defined_inside(const struct ir_program *p, uint32_t value, uint32_t op)
{
    uint32_t block = p->values[value].block;

    while (block != IR_NONE) {
        uint32_t parent = p->regions[p->blocks[block].region].op;
        if (parent == op)
            return true;
        if (parent == IR_NONE)
            return false;
        block = p->ops[parent].block;
    }
    return false;
}

/* an opaque op whose body (reducer, comparator) uses values of the function around it cannot be cloned */
static void check_closed(struct visit *v, uint32_t op, uint32_t region_op)
{
    const struct ir_op *o = &v->p->ops[region_op];

    for (uint32_t r = 0; r < o->region_count; r++) {
        uint32_t block = ir_region_block(v->p, region_op, r);
        if (block == IR_NONE)
            continue;
        const struct ir_block *b = &v->p->blocks[block];
        for (uint32_t i = 0; i < b->op_count; i++) {
            uint32_t inner = v->p->block_ops[b->ops + i];
            for (uint32_t k = 0; k < v->p->ops[inner].operand_count; k++)
                if (!defined_inside(v->p, ir_operand(v->p, inner, k), op) && v->code == ERROR_OK)
                    v->code = error_set_at(v->e, ERROR_UNSUPPORTED_MODULE, (int)v->p->ops[op].line,
                                           (int)v->p->ops[op].column,
                                           "The body of %s uses a value defined outside it; pass it as an operand.",
                                           ir_op_name(v->p, op));
            check_closed(v, op, inner);
        }
    }
}

static void visit_block(struct visit *v, uint32_t block)
{
    const struct ir_block *b = &v->p->blocks[block];

    for (uint32_t i = 0; i < b->op_count; i++) {
        uint32_t op = v->p->block_ops[b->ops + i];
        struct walk_op *o = &v->t->ops[op];
        const struct ir_op *ir = &v->p->ops[op];
        o->reachable = 1;
        o->family = (uint8_t)ir_opcode_family((enum ir_opcode)ir->code);
        if (family_is_control(o->family)) {
            for (uint32_t r = 0; r < ir->region_count; r++) {
                uint32_t inner = ir_region_block(v->p, op, r);
                if (inner != IR_NONE)
                    visit_block(v, inner);
            }
        } else if (ir->region_count) {
            check_closed(v, op, op);
        }
    }
}

/* ------------------------------------------------------------------------------------------- slots */
static void set_operand_slot(struct walk_table *t, uint32_t operand, uint32_t slot)
{
    t->operand_slot[operand] = slot;
}

static void terminator_slot(struct walk_table *t, const struct ir_program *p, uint32_t op, uint32_t region,
                            uint32_t index, uint32_t slot)
{
    uint32_t block = ir_region_block(p, op, region);
    uint32_t end = block == IR_NONE ? IR_NONE : ir_block_terminator(p, block);

    if (end != IR_NONE && index < p->ops[end].operand_count)
        set_operand_slot(t, p->ops[end].operands + index, slot);
}

static void fill_slots(struct walk_table *t, const struct nda *n)
{
    const struct ir_program *p = n->program;
    uint32_t result = 0;

    for (uint32_t s = 0; s < n->space_count; s++) {
        const struct nda_space *space = &n->spaces[s];
        const struct ir_op *op = &p->ops[space->op];
        uint32_t branch = 0;
        for (uint32_t k = 0; k < space->slot_count; k++) {
            uint32_t slot = space->slots + k;
            t->slot_space[slot] = s;
            if (n->slots[slot].is_result)
                continue;
            switch ((enum nda_space_kind)space->kind) {
            case NDA_SPACE_OP:
                if (n->slots[slot].operand < op->operand_count)
                    set_operand_slot(t, op->operands + n->slots[slot].operand, slot);
                break;
            case NDA_SPACE_BARRIER:
            case NDA_SPACE_LOOP_BEGIN:
                set_operand_slot(t, op->operands + space->index, slot);
                break;
            case NDA_SPACE_LOOP_END:
                terminator_slot(t, p, space->op, 1, space->index, slot);
                break;
            case NDA_SPACE_BRANCH:
                terminator_slot(t, p, space->op, branch++, space->index, slot);
                break;
            case NDA_SPACE_RESULT:
                terminator_slot(t, p, n->function, 0, result++, slot);
                break;
            case NDA_SPACE_ARGUMENT:
                break;
            }
        }
        if (space->kind == NDA_SPACE_OP)
            t->ops[space->op].space = s;
    }
}

static void fill_uses(struct walk_table *t, const struct ir_program *p)
{
    t->use_start = mem_zalloc((size_t)t->value_count + 1, sizeof *t->use_start);
    t->operand_op = mem_zalloc(p->operand_count + 1, sizeof *t->operand_op);
    uint32_t total = 0;
    for (uint32_t op = 0; op < p->op_count; op++) {
        if (!t->ops[op].reachable)
            continue;
        for (uint32_t i = 0; i < p->ops[op].operand_count; i++) {
            t->operand_op[p->ops[op].operands + i] = op;
            t->use_start[ir_operand(p, op, i)]++;
            total++;
        }
    }
    t->uses = mem_zalloc(total + 1, sizeof *t->uses);
    uint32_t sum = 0;
    for (uint32_t v = 0; v <= t->value_count; v++) {
        uint32_t count = v < t->value_count ? t->use_start[v] : 0;
        t->use_start[v] = sum;
        sum += count;
    }
    uint32_t *at = mem_zalloc((size_t)t->value_count + 1, sizeof *at);
    for (uint32_t op = 0; op < p->op_count; op++)
        for (uint32_t i = 0; t->ops[op].reachable && i < p->ops[op].operand_count; i++) {
            uint32_t v = ir_operand(p, op, i);
            t->uses[t->use_start[v] + at[v]++] = p->ops[op].operands + i;
        }
    free(at);
}

/* ------------------------------------------------------------------------------------------- factors */
static const struct nda_slot *slot_with(const struct nda *n, const struct nda_space *s, uint32_t factor,
                                        bool results)
{
    for (uint32_t k = 0; k < s->slot_count; k++) {
        const struct nda_slot *slot = &n->slots[s->slots + k];
        if (slot->is_result != results)
            continue;
        for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++)
            if (n->factor_of[slot->map + i] == factor)
                return slot;
    }
    return NULL;
}

/* Every slot holds the factor in at most one atom, of the factor's size. */
static bool factor_fits(const struct nda *n, const struct nda_space *s, uint32_t factor)
{
    for (uint32_t k = 0; k < s->slot_count; k++) {
        const struct nda_slot *slot = &n->slots[s->slots + k];
        uint32_t found = 0;
        for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++)
            if (n->factor_of[slot->map + i] == factor) {
                found++;
                if (nda_atoms(n, slot->value)[i].size != n->names[s->names + factor].size)
                    return false;
            }
        if (found > 1)
            return false;
    }
    return true;
}

/* The walk's own guard: what it could not lower soundly is not sharded, whatever the plan says. */
static bool factor_sound(const struct walk_table *t, const struct nda *n, const struct nda_space *s, uint32_t factor)
{
    const struct nda_name *name = &n->names[s->names + factor];

    if (!name->shardable || !factor_fits(n, s, factor))
        return false;
    switch ((enum nda_factor_kind)name->kind) {
    case NDA_PARALLEL:
        for (uint32_t k = 0; s->kind == NDA_SPACE_OP && k < s->slot_count; k++) {
            const struct nda_slot *slot = &n->slots[s->slots + k];
            bool found = !slot->is_result || ir_value_type(n->program, slot->value)->kind != IR_TYPE_TENSOR;
            for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++)
                found |= n->factor_of[slot->map + i] == factor;
            if (!found)
                return false;   /* that result would need all of the dimension */
        }
        return true;
    case NDA_CONTRACTING:
        return name->reducer != NDA_REDUCE_NONE && !slot_with(n, s, factor, true) &&
               t->ops[s->op].family != IR_FAMILY_BATCH_NORM;
    case NDA_LOOKUP:
    case NDA_UPDATE:
        return true;
    case NDA_WINDOWED:
    case NDA_REPLICATE:
        return false;
    }
    return false;
}

static void fill_names(struct walk_table *t, const struct nda *n)
{
    t->name_ok = mem_zalloc(n->name_count + 1, 1);
    for (uint32_t s = 0; s < n->space_count; s++)
        for (uint32_t f = 0; f < n->spaces[s].name_count; f++)
            t->name_ok[n->spaces[s].names + f] = factor_sound(t, n, &n->spaces[s], f);
}

/* ------------------------------------------------------------------------------------------- ops */
static const struct ir_attr *splat_of(const struct ir_program *p, uint32_t value)
{
    for (uint32_t hops = 0; hops < 8 && p->values[value].op != IR_NONE; hops++) {
        uint32_t op = p->values[value].op;
        switch (p->ops[op].code) {
        case IR_BROADCAST_IN_DIM:
        case IR_BROADCAST:
        case IR_RESHAPE:
        case IR_TRANSPOSE:
        case IR_CONVERT:
            value = ir_operand(p, op, 0);
            continue;
        case IR_CONSTANT: {
            const struct ir_attr *a = ir_attr_find(p, op, "value");
            if (!a || a->kind != IR_ATTR_DENSE)
                return NULL;
            const struct ir_constant *c = &p->constants[a->first];
            return c->splat || c->size == c->element_bytes ? a : NULL;
        }
        default:
            return NULL;
        }
    }
    return NULL;
}

static bool is_splat(const struct ir_program *p, uint32_t value, double of)
{
    const struct ir_attr *a = splat_of(p, value);

    return a && ir_constant_double(p, a, 0) == of;
}

static uint8_t pass_of(const struct ir_program *p, uint32_t op)
{
    enum ir_element e = (enum ir_element)ir_value_type(p, ir_result(p, op, 0))->element;
    bool numeric = e != IR_I1;

    switch (p->ops[op].code) {
    case IR_TRANSPOSE:
    case IR_RESHAPE:
    case IR_SLICE:
        return WALK_PASS_LAYOUT;
    case IR_NEGATE:
        return numeric ? WALK_PASS_NEGATE : WALK_PASS_NONE;
    case IR_ADD:
    case IR_SUBTRACT:
        return numeric ? WALK_PASS_ADD : WALK_PASS_NONE;
    case IR_MULTIPLY:
        return numeric ? WALK_PASS_SCALE : WALK_PASS_NONE;
    case IR_DIVIDE:
        return ir_element_is_float(e) ? WALK_PASS_SCALE : WALK_PASS_NONE;   /* integers truncate */
    case IR_SELECT:
        return WALK_PASS_SELECT;
    case IR_MAXIMUM:
        return WALK_PASS_MAX;
    case IR_MINIMUM:
        return WALK_PASS_MIN;
    case IR_AND:
        return WALK_PASS_AND;
    case IR_OR:
        return WALK_PASS_OR;
    default:
        return WALK_PASS_NONE;
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
        last = (count - 1) / 2;   /* inputs, indices, updates */
    else if (p->ops[op].code == IR_SELECT_AND_SCATTER)
        first = count - 1;        /* operand, source, init */
    for (uint32_t f = 0; f < s->name_count; f++) {
        const struct nda_name *name = &n->names[s->names + f];
        bool counts = name->reducer == NDA_REDUCE_ADD || name->reducer == NDA_REDUCE_MULTIPLY;
        if (name->kind != NDA_CONTRACTING || !counts)
            continue;
        for (uint32_t i = first; i < last; i++)
            if (!is_splat(p, ir_operand(p, op, i), name->reducer == NDA_REDUCE_ADD ? 0 : 1))
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

static uint8_t flags_of(const struct walk_table *t, const struct nda *n, uint32_t op)
{
    const struct ir_program *p = n->program;
    const struct ir_op *o = &p->ops[op];
    uint8_t flags = 0;
    bool shaped = o->result_count == 1 && nda_atom_count(n, o->results) > 0;
    bool cheap = shaped && all_operands_cheap(t, n, op);

    switch ((enum ir_family)t->ops[op].family) {
    case IR_FAMILY_CONSTANT:
    case IR_FAMILY_IOTA:
        flags = shaped ? WALK_LAZY | WALK_CHEAP : 0;
        break;
    case IR_FAMILY_BROADCAST:
        flags = (shaped ? WALK_LAZY | WALK_REMAKE : 0) | (cheap ? WALK_CHEAP : 0);
        break;
    case IR_FAMILY_ELEMENTWISE:
        if (cheap)
            flags = WALK_LAZY | WALK_CHEAP;
        else if (o->code == IR_CONVERT && shaped)
            flags = WALK_REMAKE | (t->value_bytes[o->results] > t->value_bytes[ir_operand(p, op, 0)] ? WALK_LAZY : 0);
        break;
    case IR_FAMILY_RESHAPE:
    case IR_FAMILY_TRANSPOSE:
        flags = (shaped ? WALK_REMAKE : 0) | (cheap ? WALK_LAZY | WALK_CHEAP : 0);
        break;
    case IR_FAMILY_GATHER:
    case IR_FAMILY_DYNAMIC_SLICE:
        flags = WALK_PARTIAL_LOOKUP;
        break;
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILY_CUSTOM_CALL:
    case IR_FAMILY_LINALG:
    case IR_FAMILY_RNG:
    case IR_FAMILY_COLLECTIVE:
        flags = WALK_UNSUPPORTED;
        break;
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
    case IR_FAMILIES:
        break;
    }
    if (o->result_count == 1 && is_splat(p, o->results, 0))
        flags |= WALK_ZERO;
    return flags;
}

static bool gives_partial(const struct walk_table *t, const struct nda *n, uint32_t op)
{
    const struct nda_space *s = &n->spaces[t->ops[op].space];

    for (uint32_t f = 0; f < s->name_count; f++)
        if (t->name_ok[s->names + f] && (n->names[s->names + f].kind == NDA_CONTRACTING ||
                                         (n->names[s->names + f].kind == NDA_LOOKUP &&
                                          (t->ops[op].flags & WALK_PARTIAL_LOOKUP))))
            return n->program->ops[op].result_count == 1;
    return false;
}

static void fill_ops(struct walk_table *t, const struct nda *n)
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

/* ------------------------------------------------------------------------------------------- control flow */
static bool same_atoms(const struct nda *n, uint32_t a, uint32_t b)
{
    uint32_t count = nda_atom_count(n, a);

    if (count != nda_atom_count(n, b))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (nda_atoms(n, a)[i].size != nda_atoms(n, b)[i].size || nda_atoms(n, a)[i].dim != nda_atoms(n, b)[i].dim)
            return false;
    return true;
}

/* the slot of a space that stands for its form, when all its values have the same atoms as `like` */
static uint32_t common_slot(const struct nda *n, uint32_t space, uint32_t like)
{
    const struct nda_space *s = &n->spaces[space];
    uint32_t slot = NDA_NONE;

    for (uint32_t k = 0; k < s->slot_count; k++) {
        if (!same_atoms(n, n->slots[s->slots + k].value, like))
            return NDA_NONE;
        slot = s->slots + k;   /* the last one is a result */
    }
    return slot;
}

static void collect_captures(struct walk_table *t, const struct ir_program *p, uint32_t control, uint32_t block)
{
    const struct ir_block *b = &p->blocks[block];
    struct walk_control *c = &t->controls[control];

    for (uint32_t i = 0; i < b->op_count; i++) {
        uint32_t op = p->block_ops[b->ops + i];
        for (uint32_t k = 0; k < p->ops[op].operand_count; k++) {
            if (defined_inside(p, ir_operand(p, op, k), c->op))
                continue;
            if (t->capture_count == t->capture_room) {
                t->capture_room = t->capture_room ? 2 * t->capture_room : 64;
                t->captures = mem_realloc(t->captures, t->capture_room, sizeof *t->captures);
            }
            t->captures[t->capture_count++] = p->ops[op].operands + k;
            c->capture_count++;
        }
        if (!family_is_control(t->ops[op].family))
            continue;
        for (uint32_t r = 0; r < p->ops[op].region_count; r++)
            if (ir_region_block(p, op, r) != IR_NONE)
                collect_captures(t, p, control, ir_region_block(p, op, r));
    }
}

static void fill_controls(struct walk_table *t, const struct nda *n)
{
    const struct ir_program *p = n->program;

    for (uint32_t op = 0; op < p->op_count; op++) {
        if (!t->ops[op].reachable || !family_is_control(t->ops[op].family))
            continue;
        if (t->control_count == t->control_room) {
            t->control_room = t->control_room ? 2 * t->control_room : 8;
            t->controls = mem_realloc(t->controls, t->control_room, sizeof *t->controls);
        }
        t->ops[op].control = t->control_count;
        t->controls[t->control_count++] = (struct walk_control){op, t->carried_count, p->ops[op].result_count, 0, 0};
        uint32_t needed = t->carried_count + p->ops[op].result_count;
        if (needed > t->carried_room) {
            t->carried_room = 2 * needed;
            t->carried = mem_realloc(t->carried, t->carried_room, sizeof *t->carried);
        }
        for (uint32_t i = 0; i < p->ops[op].result_count; i++)
            t->carried[t->carried_count++] = (struct walk_carried){NDA_NONE, NDA_NONE, NDA_NONE, NDA_NONE};
    }
    for (uint32_t s = 0; s < n->space_count; s++) {
        const struct nda_space *space = &n->spaces[s];
        if (space->kind != NDA_SPACE_LOOP_BEGIN && space->kind != NDA_SPACE_LOOP_END && space->kind != NDA_SPACE_BRANCH)
            continue;
        struct walk_carried *c = &t->carried[t->controls[t->ops[space->op].control].carried + space->index];
        uint32_t slot = common_slot(n, s, ir_result(p, space->op, space->index));
        if (space->kind == NDA_SPACE_LOOP_BEGIN) {
            c->begin = s;
            c->begin_slot = slot;
        } else {
            c->end = s;
            c->end_slot = slot;
        }
    }
    for (uint32_t i = 0; i < t->control_count; i++) {
        uint32_t op = t->controls[i].op;
        t->controls[i].captures = t->capture_count;
        for (uint32_t r = 0; r < p->ops[op].region_count; r++)
            if (ir_region_block(p, op, r) != IR_NONE)
                collect_captures(t, p, i, ir_region_block(p, op, r));
    }
}

enum error_code walk_table_create(const struct nda *n, struct walk_table *t, struct error *e)
{
    const struct ir_program *p = n->program;

    memset(t, 0, sizeof *t);
    t->nda = n;
    t->program = p;
    t->space_count = n->space_count;
    t->value_count = p->value_count;
    t->ops = mem_zalloc(p->op_count + 1, sizeof *t->ops);
    for (uint32_t op = 0; op < p->op_count; op++)
        t->ops[op].space = t->ops[op].control = NDA_NONE;
    struct visit v = {t, p, e, ERROR_OK};
    visit_block(&v, n->block);
    if (v.code != ERROR_OK) {
        walk_table_release(t);
        return v.code;
    }
    t->operand_slot = mem_alloc((p->operand_count + 1) * sizeof *t->operand_slot);
    memset(t->operand_slot, 0xff, (p->operand_count + 1) * sizeof *t->operand_slot);
    t->slot_space = mem_zalloc(n->slot_count + 1, sizeof *t->slot_space);
    t->value_bytes = mem_zalloc(p->value_count + 1, sizeof *t->value_bytes);
    for (uint32_t i = 0; i < p->value_count; i++)
        if (ir_value_type(p, i)->kind == IR_TYPE_TENSOR)
            t->value_bytes[i] = ir_type_bytes(p, ir_value_type(p, i));
    fill_slots(t, n);
    fill_names(t, n);
    fill_ops(t, n);
    fill_uses(t, p);
    fill_controls(t, n);
    return ERROR_OK;
}

void walk_table_release(struct walk_table *t)
{
    free(t->ops);
    free(t->name_ok);
    free(t->value_bytes);
    free(t->operand_slot);
    free(t->operand_op);
    free(t->slot_space);
    free(t->use_start);
    free(t->uses);
    free(t->sources);
    free(t->controls);
    free(t->carried);
    free(t->captures);
    memset(t, 0, sizeof *t);
}

/* The facts table of a module: what the walk asks about ops, values and uses and no plan changes.
 *
 * Made once per module and kept between walks, because a search walks the same module thousands of times.
 * Read-only once made. ERROR_UNSUPPORTED_MODULE, with the op's position, for an op with regions that is
 * neither known control flow nor opaque as a whole: the only refusal of the walk. */
#include "spmd/walk.h"

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
                    v->code = error_set_at(
                        v->e, ERROR_UNSUPPORTED_MODULE, (int)v->p->ops[op].line, (int)v->p->ops[op].column,
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
            case NDA_SPACE_LOOP_BEGIN: set_operand_slot(t, op->operands + space->index, slot); break;
            case NDA_SPACE_LOOP_END: terminator_slot(t, p, space->op, 1, space->index, slot); break;
            case NDA_SPACE_BRANCH: terminator_slot(t, p, space->op, branch++, space->index, slot); break;
            case NDA_SPACE_RESULT: terminator_slot(t, p, n->function, 0, result++, slot); break;
            case NDA_SPACE_ARGUMENT: break;
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
                if (nda_atoms(n, slot->value)[i].size != n->factors[s->factors + factor].size)
                    return false;
            }
        if (found > 1)
            return false;
    }
    return true;
}

/* The walk's own guard: what it could not lower soundly is not sharded, whatever the plan says. */
static bool factor_sound(const struct walk_table *t, const struct nda *n, const struct nda_space *s,
                         uint32_t factor)
{
    const struct nda_factor *info = &n->factors[s->factors + factor];

    if (!info->shardable || !factor_fits(n, s, factor))
        return false;
    switch ((enum nda_factor_kind)info->kind) {
    case NDA_PARALLEL:
        for (uint32_t k = 0; s->kind == NDA_SPACE_OP && k < s->slot_count; k++) {
            const struct nda_slot *slot = &n->slots[s->slots + k];
            bool found = !slot->is_result || ir_value_type(n->program, slot->value)->kind != IR_TYPE_TENSOR;
            for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++)
                found |= n->factor_of[slot->map + i] == factor;
            if (!found)
                return false; /* that result would need all of the dimension */
        }
        return true;
    case NDA_CONTRACTING:
        return info->reducer != NDA_REDUCE_NONE && !slot_with(n, s, factor, true) &&
               t->ops[s->op].family != IR_FAMILY_BATCH_NORM;
    case NDA_LOOKUP:
    case NDA_UPDATE: return true;
    case NDA_WINDOWED:
    case NDA_REPLICATE: return false;
    }
    return false;
}

static void fill_factors(struct walk_table *t, const struct nda *n)
{
    t->factor_ok = mem_zalloc(n->factor_count + 1, 1);
    for (uint32_t s = 0; s < n->space_count; s++)
        for (uint32_t f = 0; f < n->spaces[s].factor_count; f++)
            if (factor_sound(t, n, &n->spaces[s], f)) {
                uint32_t factor_index = n->spaces[s].factors + f;
                t->factor_ok[factor_index] = n->factors[factor_index].kind == NDA_PARALLEL
                                                 ? WALK_FACTOR_OK | WALK_FACTOR_PARALLEL
                                                 : WALK_FACTOR_OK;
            }
}

/* ------------------------------------------------------------------------------------------- control flow */
static bool same_atoms(const struct nda *n, uint32_t a, uint32_t b)
{
    uint32_t count = nda_atom_count(n, a);

    if (count != nda_atom_count(n, b))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (nda_atoms(n, a)[i].size != nda_atoms(n, b)[i].size ||
            nda_atoms(n, a)[i].dim != nda_atoms(n, b)[i].dim)
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
        slot = s->slots + k; /* the last one is a result */
    }
    return slot;
}

static void collect_captures(struct walk_table *t, const struct ir_program *p, uint32_t control,
                             uint32_t block)
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

/* what becomes of a while's carried values: the initial ones, the body's arguments, what it returns, the
 * results */
static void tie_loop(struct walk_table *t, const struct ir_program *p, const struct walk_control *control)
{
    uint32_t op = control->op, condition = ir_region_block(p, op, 0), body = ir_region_block(p, op, 1);
    uint32_t back = ir_block_terminator(p, body);

    t->ops[op].pass = WALK_PASS_INITIAL;
    t->ops[back].pass = WALK_PASS_CARRY;
    for (uint32_t i = 0; i < control->carried_count; i++) {
        struct walk_carried *c = &t->carried[control->carried + i];
        uint32_t read = p->blocks[condition].args + i;
        c->argument = p->blocks[body].args + i;
        c->result = ir_result(p, op, i);
        c->returned = p->ops[back].operands + i;
        c->steers = t->use_start[read] < t->use_start[read + 1];
        t->carried_of[c->argument] = control->carried + i;
    }
}

/* product of the trip counts of the loops around a block; an unknown count is one */
static int64_t trips_around(const struct nda *n, uint32_t block)
{
    const struct ir_program *p = n->program;
    int64_t trips = 1;

    for (uint32_t op; (op = p->regions[p->blocks[block].region].op) != IR_NONE; block = p->ops[op].block) {
        int64_t times = p->ops[op].code == IR_WHILE && n->trip_count[op] > 0 ? n->trip_count[op] : 1;
        trips = times < WALK_MOST_TRIPS / trips ? trips * times : WALK_MOST_TRIPS;
        if (p->ops[op].block == IR_NONE)
            break;
    }
    return trips;
}

static void fill_loops(struct walk_table *t, const struct nda *n)
{
    const struct ir_program *p = n->program;

    t->carried_of = mem_alloc((p->value_count + 1) * sizeof *t->carried_of);
    memset(t->carried_of, 0xff, (p->value_count + 1) * sizeof *t->carried_of);
    for (uint32_t i = 0; i < t->control_count; i++)
        if (p->ops[t->controls[i].op].code == IR_WHILE)
            tie_loop(t, p, &t->controls[i]);
    t->block_trips = mem_zalloc(p->block_count + 1, sizeof *t->block_trips);
    for (uint32_t block = 0; block < p->block_count; block++)
        t->block_trips[block] = trips_around(n, block);
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
        t->controls[t->control_count++] =
            (struct walk_control){op, t->carried_count, p->ops[op].result_count, 0, 0};
        uint32_t needed = t->carried_count + p->ops[op].result_count;
        if (needed > t->carried_room) {
            t->carried_room = 2 * needed;
            t->carried = mem_realloc(t->carried, t->carried_room, sizeof *t->carried);
        }
        for (uint32_t i = 0; i < p->ops[op].result_count; i++)
            t->carried[t->carried_count++] = (struct walk_carried){NDA_NONE, NDA_NONE, NDA_NONE, NDA_NONE,
                                                                   NDA_NONE, NDA_NONE, NDA_NONE, 0};
    }
    for (uint32_t s = 0; s < n->space_count; s++) {
        const struct nda_space *space = &n->spaces[s];
        if (space->kind != NDA_SPACE_LOOP_BEGIN && space->kind != NDA_SPACE_LOOP_END &&
            space->kind != NDA_SPACE_BRANCH)
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

/* Parameters through reshapes, transposes and converts: what is gathered of them may be let go and
 * gathered again. */
static void fill_weights(struct walk_table *t, const struct nda *n)
{
    const struct ir_program *p = n->program;

    t->weight_of = mem_alloc((p->value_count + 1) * sizeof *t->weight_of);
    memset(t->weight_of, 0xff, (p->value_count + 1) * sizeof *t->weight_of);
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].role == NDA_ROLE_PARAMETER)
            t->weight_of[n->arguments[i].value] = i;
    const struct ir_block *b = &p->blocks[n->block];
    for (uint32_t i = 0; i < b->op_count; i++) {
        uint32_t op = p->block_ops[b->ops + i];
        uint16_t code = p->ops[op].code;
        if (code == IR_RESHAPE || code == IR_TRANSPOSE || code == IR_CONVERT)
            t->weight_of[ir_result(p, op, 0)] = t->weight_of[ir_operand(p, op, 0)];
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
    fill_factors(t, n);
    walk_table_ops(t, n);
    fill_uses(t, p);
    fill_controls(t, n);
    fill_loops(t, n);
    walk_table_widening(t, n);
    fill_weights(t, n);
    return ERROR_OK;
}

void walk_table_release(struct walk_table *t)
{
    free(t->ops);
    free(t->factor_ok);
    free(t->value_bytes);
    free(t->weight_of);
    free(t->carried_of);
    free(t->block_trips);
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

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
    struct walk_table *table;
    const struct ir_program *program;
    struct error *e;
    enum error_code code;
};

static bool family_is_control(uint8_t family)
{
    return family == IR_FAMILY_CONTROL;
}

/* value is made in the region of this op, or deeper */
static bool defined_inside(const struct ir_program *program, uint32_t value, uint32_t op)
{
    uint32_t block = program->values[value].block;

    while (block != IR_NONE) {
        uint32_t parent = program->regions[program->blocks[block].region].op;
        if (parent == op)
            return true;
        if (parent == IR_NONE)
            return false;
        block = program->ops[parent].block;
    }
    return false;
}

/* an opaque op whose body (reducer, comparator) uses values of the function around it cannot be cloned */
static void check_closed(struct visit *visit, uint32_t op, uint32_t region_op)
{
    const struct ir_op *ir_op = &visit->program->ops[region_op];

    for (uint32_t region = 0; region < ir_op->region_count; region++) {
        uint32_t block = ir_region_block(visit->program, region_op, region);
        if (block == IR_NONE)
            continue;
        const struct ir_block *ir_block = &visit->program->blocks[block];
        for (uint32_t i = 0; i < ir_block->op_count; i++) {
            uint32_t inner = visit->program->block_ops[ir_block->ops + i];
            for (uint32_t k = 0; k < visit->program->ops[inner].operand_count; k++)
                if (!defined_inside(visit->program, ir_operand(visit->program, inner, k), op) &&
                    visit->code == ERROR_OK)
                    visit->code =
                        error_set_at(visit->e, ERROR_UNSUPPORTED_MODULE, (int)visit->program->ops[op].line,
                                     (int)visit->program->ops[op].column,
                                     "The body of %s uses a value defined outside it; pass it as an operand.",
                                     ir_op_name(visit->program, op));
            check_closed(visit, op, inner);
        }
    }
}

static void visit_block(struct visit *visit, uint32_t block)
{
    const struct ir_block *ir_block = &visit->program->blocks[block];

    for (uint32_t i = 0; i < ir_block->op_count; i++) {
        uint32_t op = visit->program->block_ops[ir_block->ops + i];
        struct walk_op *walk_op = &visit->table->ops[op];
        const struct ir_op *ir = &visit->program->ops[op];
        walk_op->reachable = 1;
        walk_op->operands = ir->operands;
        walk_op->operand_count = ir->operand_count;
        walk_op->results = ir->results;
        walk_op->result_count = ir->result_count;
        walk_op->family = (uint8_t)ir_opcode_family((enum ir_opcode)ir->code);
        if (family_is_control(walk_op->family)) {
            for (uint32_t region = 0; region < ir->region_count; region++) {
                uint32_t inner = ir_region_block(visit->program, op, region);
                if (inner != IR_NONE)
                    visit_block(visit, inner);
            }
        } else if (ir->region_count) {
            check_closed(visit, op, op);
        }
    }
}

/* ------------------------------------------------------------------------------------------- slots */
static void set_operand_slot(struct walk_table *table, uint32_t operand, uint32_t slot)
{
    table->operand_slot[operand] = slot;
}

static void terminator_slot(struct walk_table *table, const struct ir_program *program, uint32_t op,
                            uint32_t region, uint32_t index, uint32_t slot)
{
    uint32_t block = ir_region_block(program, op, region);
    uint32_t end = block == IR_NONE ? IR_NONE : ir_block_terminator(program, block);

    if (end != IR_NONE && index < program->ops[end].operand_count)
        set_operand_slot(table, program->ops[end].operands + index, slot);
}

static void fill_slots(struct walk_table *table, const struct nda *n)
{
    const struct ir_program *program = n->program;
    uint32_t result = 0;

    for (uint32_t s = 0; s < n->space_count; s++) {
        const struct nda_space *space = &n->spaces[s];
        const struct ir_op *op = &program->ops[space->op];
        uint32_t branch = 0;
        for (uint32_t k = 0; k < space->slot_count; k++) {
            uint32_t slot = space->slots + k;
            table->slots[slot] =
                (struct walk_slot){s, n->slots[slot].map, nda_atom_count(n, n->slots[slot].value)};
            if (n->slots[slot].is_result)
                continue;
            switch ((enum nda_space_kind)space->kind) {
            case NDA_SPACE_OP:
                if (n->slots[slot].operand < op->operand_count)
                    set_operand_slot(table, op->operands + n->slots[slot].operand, slot);
                break;
            case NDA_SPACE_BARRIER:
            case NDA_SPACE_LOOP_BEGIN: set_operand_slot(table, op->operands + space->index, slot); break;
            case NDA_SPACE_LOOP_END: terminator_slot(table, program, space->op, 1, space->index, slot); break;
            case NDA_SPACE_BRANCH:
                terminator_slot(table, program, space->op, branch++, space->index, slot);
                break;
            case NDA_SPACE_RESULT: terminator_slot(table, program, n->function, 0, result++, slot); break;
            case NDA_SPACE_ARGUMENT: break;
            }
        }
        if (space->kind == NDA_SPACE_OP)
            table->ops[space->op].space = s;
    }
}

static void fill_uses(struct walk_table *table, const struct ir_program *program)
{
    table->use_start = mem_zalloc((size_t)table->value_count + 1, sizeof *table->use_start);
    table->operand_op = mem_zalloc(program->operand_count + 1, sizeof *table->operand_op);
    uint32_t total = 0;
    for (uint32_t op = 0; op < program->op_count; op++) {
        if (!table->ops[op].reachable)
            continue;
        for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
            table->operand_op[program->ops[op].operands + i] = op;
            table->use_start[ir_operand(program, op, i)]++;
            total++;
        }
    }
    table->uses = mem_zalloc(total + 1, sizeof *table->uses);
    uint32_t sum = 0;
    for (uint32_t v = 0; v <= table->value_count; v++) {
        uint32_t count = v < table->value_count ? table->use_start[v] : 0;
        table->use_start[v] = sum;
        sum += count;
    }
    uint32_t *at = mem_zalloc((size_t)table->value_count + 1, sizeof *at);
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; table->ops[op].reachable && i < program->ops[op].operand_count; i++) {
            uint32_t v = ir_operand(program, op, i);
            table->uses[table->use_start[v] + at[v]++] = program->ops[op].operands + i;
        }
    free(at);
}

/* ------------------------------------------------------------------------------------------- factors */
static const struct nda_slot *slot_with(const struct nda *n, const struct nda_space *space, uint32_t factor,
                                        bool results)
{
    for (uint32_t k = 0; k < space->slot_count; k++) {
        const struct nda_slot *slot = &n->slots[space->slots + k];
        if (slot->is_result != results)
            continue;
        for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++)
            if (n->factor_of[slot->map + i] == factor)
                return slot;
    }
    return NULL;
}

/* Every slot holds the factor in at most one atom, of the factor's size. */
static bool factor_fits(const struct nda *n, const struct nda_space *space, uint32_t factor)
{
    for (uint32_t k = 0; k < space->slot_count; k++) {
        const struct nda_slot *slot = &n->slots[space->slots + k];
        uint32_t found = 0;
        for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++)
            if (n->factor_of[slot->map + i] == factor) {
                found++;
                if (nda_atoms(n, slot->value)[i].size != n->factors[space->factors + factor].size)
                    return false;
            }
        if (found > 1)
            return false;
    }
    return true;
}

/* The walk's own guard: what it could not lower soundly is not sharded, whatever the plan says. */
static bool factor_sound(const struct walk_table *table, const struct nda *n, const struct nda_space *space,
                         uint32_t factor)
{
    const struct nda_factor *info = &n->factors[space->factors + factor];

    if (!info->shardable || !factor_fits(n, space, factor))
        return false;
    switch ((enum nda_factor_kind)info->kind) {
    case NDA_PARALLEL:
        for (uint32_t k = 0; space->kind == NDA_SPACE_OP && k < space->slot_count; k++) {
            const struct nda_slot *slot = &n->slots[space->slots + k];
            bool found = !slot->is_result || ir_value_type(n->program, slot->value)->kind != IR_TYPE_TENSOR;
            for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++)
                found |= n->factor_of[slot->map + i] == factor;
            if (!found)
                return false; /* that result would need all of the dimension */
        }
        return true;
    case NDA_CONTRACTING:
        return info->reducer != NDA_REDUCE_NONE && !slot_with(n, space, factor, true) &&
               table->ops[space->op].family != IR_FAMILY_BATCH_NORM;
    case NDA_LOOKUP:
    case NDA_UPDATE: return true;
    case NDA_WINDOWED:
    case NDA_REPLICATE: return false;
    }
    return false;
}

static void fill_factors(struct walk_table *table, const struct nda *n)
{
    table->factor_ok = mem_zalloc(n->factor_count + 1, 1);
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t factor = 0; factor < n->spaces[space].factor_count; factor++)
            if (factor_sound(table, n, &n->spaces[space], factor)) {
                uint32_t factor_index = n->spaces[space].factors + factor;
                table->factor_ok[factor_index] = n->factors[factor_index].kind == NDA_PARALLEL
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
    const struct nda_space *nda_space = &n->spaces[space];
    uint32_t slot = NDA_NONE;

    for (uint32_t k = 0; k < nda_space->slot_count; k++) {
        if (!same_atoms(n, n->slots[nda_space->slots + k].value, like))
            return NDA_NONE;
        slot = nda_space->slots + k; /* the last one is a result */
    }
    return slot;
}

static void collect_captures(struct walk_table *table, const struct ir_program *program, uint32_t control,
                             uint32_t block)
{
    const struct ir_block *ir_block = &program->blocks[block];
    struct walk_control *walk_control = &table->controls[control];

    for (uint32_t i = 0; i < ir_block->op_count; i++) {
        uint32_t op = program->block_ops[ir_block->ops + i];
        for (uint32_t k = 0; k < program->ops[op].operand_count; k++) {
            if (defined_inside(program, ir_operand(program, op, k), walk_control->op))
                continue;
            if (table->capture_count == table->capture_room) {
                table->capture_room = table->capture_room ? 2 * table->capture_room : 64;
                table->captures = mem_realloc(table->captures, table->capture_room, sizeof *table->captures);
            }
            table->captures[table->capture_count++] = program->ops[op].operands + k;
            walk_control->capture_count++;
        }
        if (!family_is_control(table->ops[op].family))
            continue;
        for (uint32_t region = 0; region < program->ops[op].region_count; region++)
            if (ir_region_block(program, op, region) != IR_NONE)
                collect_captures(table, program, control, ir_region_block(program, op, region));
    }
}

/* what becomes of a while's carried values: the initial ones, the body's arguments, what it returns, the
 * results */
static void tie_loop(struct walk_table *table, const struct ir_program *program,
                     const struct walk_control *control)
{
    uint32_t op = control->op, condition = ir_region_block(program, op, 0),
             body = ir_region_block(program, op, 1);
    uint32_t back = ir_block_terminator(program, body);

    table->ops[op].pass = WALK_PASS_INITIAL;
    table->ops[back].pass = WALK_PASS_CARRY;
    for (uint32_t i = 0; i < control->carried_count; i++) {
        struct walk_carried *carried = &table->carried[control->carried + i];
        uint32_t read = program->blocks[condition].args + i;
        carried->argument = program->blocks[body].args + i;
        carried->result = ir_result(program, op, i);
        carried->returned = program->ops[back].operands + i;
        carried->steers = table->use_start[read] < table->use_start[read + 1];
        table->carried_of[carried->argument] = control->carried + i;
    }
}

/* product of the trip counts of the loops around a block; an unknown count is one */
static int64_t trips_around(const struct nda *n, uint32_t block)
{
    const struct ir_program *program = n->program;
    int64_t trips = 1;

    for (uint32_t op; (op = program->regions[program->blocks[block].region].op) != IR_NONE;
         block = program->ops[op].block) {
        int64_t times = program->ops[op].code == IR_WHILE && n->trip_count[op] > 0 ? n->trip_count[op] : 1;
        trips = times < WALK_MOST_TRIPS / trips ? trips * times : WALK_MOST_TRIPS;
        if (program->ops[op].block == IR_NONE)
            break;
    }
    return trips;
}

static void fill_loops(struct walk_table *table, const struct nda *n)
{
    const struct ir_program *program = n->program;

    table->carried_of = mem_alloc((program->value_count + 1) * sizeof *table->carried_of);
    memset(table->carried_of, 0xff, (program->value_count + 1) * sizeof *table->carried_of);
    for (uint32_t i = 0; i < table->control_count; i++)
        if (program->ops[table->controls[i].op].code == IR_WHILE)
            tie_loop(table, program, &table->controls[i]);
    table->block_trips = mem_zalloc(program->block_count + 1, sizeof *table->block_trips);
    for (uint32_t block = 0; block < program->block_count; block++)
        table->block_trips[block] = trips_around(n, block);
}

static void fill_controls(struct walk_table *table, const struct nda *n)
{
    const struct ir_program *program = n->program;

    for (uint32_t op = 0; op < program->op_count; op++) {
        if (!table->ops[op].reachable || !family_is_control(table->ops[op].family))
            continue;
        if (table->control_count == table->control_room) {
            table->control_room = table->control_room ? 2 * table->control_room : 8;
            table->controls = mem_realloc(table->controls, table->control_room, sizeof *table->controls);
        }
        table->ops[op].control = table->control_count;
        table->controls[table->control_count++] =
            (struct walk_control){op, table->carried_count, program->ops[op].result_count, 0, 0};
        uint32_t needed = table->carried_count + program->ops[op].result_count;
        if (needed > table->carried_room) {
            table->carried_room = 2 * needed;
            table->carried = mem_realloc(table->carried, table->carried_room, sizeof *table->carried);
        }
        for (uint32_t i = 0; i < program->ops[op].result_count; i++)
            table->carried[table->carried_count++] = (struct walk_carried){
                NDA_NONE, NDA_NONE, NDA_NONE, NDA_NONE, NDA_NONE, NDA_NONE, NDA_NONE, 0};
    }
    for (uint32_t s = 0; s < n->space_count; s++) {
        const struct nda_space *space = &n->spaces[s];
        if (space->kind != NDA_SPACE_LOOP_BEGIN && space->kind != NDA_SPACE_LOOP_END &&
            space->kind != NDA_SPACE_BRANCH)
            continue;
        if (table->ops[space->op].control == NDA_NONE) /* a loop of a layer that the fold leaves out */
            continue;
        struct walk_carried *carried =
            &table->carried[table->controls[table->ops[space->op].control].carried + space->index];
        uint32_t slot = common_slot(n, s, ir_result(program, space->op, space->index));
        if (space->kind == NDA_SPACE_LOOP_BEGIN) {
            carried->begin = s;
            carried->begin_slot = slot;
        } else {
            carried->end = s;
            carried->end_slot = slot;
        }
    }
    for (uint32_t i = 0; i < table->control_count; i++) {
        uint32_t op = table->controls[i].op;
        table->controls[i].captures = table->capture_count;
        for (uint32_t region = 0; region < program->ops[op].region_count; region++)
            if (ir_region_block(program, op, region) != IR_NONE)
                collect_captures(table, program, i, ir_region_block(program, op, region));
    }
}

/* Parameters through reshapes, transposes, reversals and converts: what is gathered of them may be let go and
 * gathered again. */
static void fill_weights(struct walk_table *table, const struct nda *n)
{
    const struct ir_program *program = n->program;

    table->weight_of = mem_alloc((program->value_count + 1) * sizeof *table->weight_of);
    memset(table->weight_of, 0xff, (program->value_count + 1) * sizeof *table->weight_of);
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].role == NDA_ROLE_PARAMETER)
            table->weight_of[n->arguments[i].value] = i;
    const struct ir_block *block = &program->blocks[n->block];
    for (uint32_t i = 0; i < block->op_count; i++) {
        uint32_t op = program->block_ops[block->ops + i];
        uint16_t code = program->ops[op].code;
        if (code == IR_RESHAPE || code == IR_TRANSPOSE || code == IR_CONVERT || code == IR_REVERSE)
            table->weight_of[ir_result(program, op, 0)] = table->weight_of[ir_operand(program, op, 0)];
    }
}

enum error_code walk_table_create(const struct nda *n, struct walk_table *table, struct error *e)
{
    const struct ir_program *program = n->program;

    memset(table, 0, sizeof *table);
    table->nda = n;
    table->program = program;
    table->space_count = n->space_count;
    table->value_count = program->value_count;
    table->ops = mem_zalloc(program->op_count + 1, sizeof *table->ops);
    for (uint32_t op = 0; op < program->op_count; op++)
        table->ops[op].space = table->ops[op].control = NDA_NONE;
    struct visit visit = {table, program, e, ERROR_OK};
    visit_block(&visit, n->block);
    if (visit.code != ERROR_OK) {
        walk_table_release(table);
        return visit.code;
    }
    table->operand_slot = mem_alloc((program->operand_count + 1) * sizeof *table->operand_slot);
    memset(table->operand_slot, 0xff, (program->operand_count + 1) * sizeof *table->operand_slot);
    table->slots = mem_zalloc(n->slot_count + 1, sizeof *table->slots);
    table->value_bytes = mem_zalloc(program->value_count + 1, sizeof *table->value_bytes);
    for (uint32_t i = 0; i < program->value_count; i++)
        if (ir_value_type(program, i)->kind == IR_TYPE_TENSOR)
            table->value_bytes[i] = ir_type_bytes(program, ir_value_type(program, i));
    fill_slots(table, n);
    fill_factors(table, n);
    walk_table_ops(table, n);
    fill_uses(table, program);
    fill_controls(table, n);
    fill_loops(table, n);
    walk_table_widening(table, n);
    fill_weights(table, n);
    return ERROR_OK;
}

void walk_table_release(struct walk_table *table)
{
    free(table->ops);
    free(table->factor_ok);
    free(table->value_bytes);
    free(table->weight_of);
    free(table->carried_of);
    free(table->block_trips);
    free(table->operand_slot);
    free(table->operand_op);
    free(table->slots);
    free(table->use_start);
    free(table->uses);
    free(table->sources);
    free(table->controls);
    free(table->carried);
    free(table->captures);
    memset(table, 0, sizeof *table);
}

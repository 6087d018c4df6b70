/* Loops and branches: carried values have one form from start to end, predicates are replicated (a
 * predicate that differed between devices would part them at the next collective), and what a loop's body
 * takes from outside is brought into its form before the loop, once. A value to which every iteration only
 * adds may be carried partial (defer.c): its initial value is masked, so that it counts once, and the
 * loop's result is reduced. */
#include "spmd/walk.h"

static uint32_t carried_count(const struct walk *walk, uint32_t op)
{
    return walk->program->ops[op].result_count;
}

static const struct walk_carried *carried(const struct walk *walk, uint32_t op, uint32_t i)
{
    return &walk->table->carried[walk->table->controls[walk->table->ops[op].control].carried + i];
}

/* new values of consecutive program values or of one program value each, as results of the newest step */
static void add_results(struct walk *walk, uint32_t first_value, uint32_t op, uint32_t count)
{
    struct spmd_form form;

    for (uint32_t i = 0; i < count; i++) {
        walk_carried_form(walk, carried(walk, op, i), &form);
        uint32_t value = walk_new_value(walk, first_value + i, &form);
        walk->local->values[value].step = walk->local->step_count - 1;
        walk_add_version(walk, value);
    }
    walk->local->steps[walk->local->step_count - 1].result_count += count;
}

static bool is_zero(const struct walk *walk, uint32_t value)
{
    uint32_t def = walk->program->values[value].op;

    return def != IR_NONE && (walk->table->ops[def].flags & WALK_ZERO);
}

/* the step that makes a version, replicated on some axes, the partial that form has there */
static uint32_t mask(struct walk *walk, uint32_t op, uint32_t version, const struct spmd_form *form)
{
    const struct spmd_value from = walk->local->values[version];
    uint32_t base = (uint32_t)walk->scratch->stack.count;
    struct spmd_step *step = walk_new_step(walk, SPMD_MASK, op);

    for (uint32_t axis = 0; axis < walk->axes; axis++)
        if (form->at[axis] != from.form.at[axis]) {
            step->axes[step->axis_count++] = (uint8_t)axis;
            step->reducer = (uint8_t)(form->at[axis] - SPMD_PARTIAL);
        }
    step->mask_initial = (step->reducer == NDA_REDUCE_ADD && !is_zero(walk, from.origin)) ||
                         step->reducer == NDA_REDUCE_MULTIPLY;
    step->result_count = 1;
    VEC_PUSH(&walk->scratch->stack, version);
    walk_push_operands(walk, step, base);
    uint32_t value = walk_new_value(walk, from.origin, form);
    walk->local->values[value].step = walk->local->step_count - 1;
    return value;
}

/* operands from program operand index `first` on, in the carried forms, onto the stack */
static void obtain_carried(struct walk *walk, uint32_t op, uint32_t first, uint32_t count)
{
    struct spmd_form initial, kept;
    size_t base = walk->scratch->stack.count;

    for (uint32_t i = 0; i < count; i++) {
        const struct walk_carried *walk_carried = carried(walk, op, i);
        uint32_t value = walk->program->operands[first + i],
                 space = walk_carried->begin == NDA_NONE ? walk_carried->end : walk_carried->begin;
        walk_initial_form(walk, walk_carried, value, &initial);
        walk_carried_form(walk, walk_carried, &kept);
        uint32_t version = walk_obtain(walk, value, &initial, op, space);
        if (!walk_form_same(&initial, &kept))
            version = mask(walk, op, version, &kept);
        VEC_PUSH(&walk->scratch->stack, version);
    }
    for (size_t i = base; i < walk->scratch->stack.count; i++)
        walk_settle(walk, walk->scratch->stack.at[i]);
}

static void obtain_replicated(struct walk *walk, uint32_t op, uint32_t value)
{
    uint32_t version = walk_obtain(walk, value, &spmd_form_none, op, NDA_NONE);

    walk_settle(walk, version);
    VEC_PUSH(&walk->scratch->stack, version);
}

static struct spmd_step *emit_mark(struct walk *walk, enum spmd_step_kind kind, uint32_t op, uint32_t base)
{
    walk_flush(walk);
    struct spmd_step *step = walk_new_step(walk, kind, op);
    walk_push_operands(walk, step, base);
    return step;
}

/* What the regions take from outside, in the forms they want: made here it is made once. Values that cost
 * nothing to make, and those that are to be let go between their uses, are left to the region. */
static void obtain_captures(struct walk *walk, uint32_t op)
{
    const struct walk_control *control = &walk->table->controls[walk->table->ops[op].control];
    struct spmd_form form;

    for (uint32_t i = 0; i < control->capture_count; i++) {
        uint32_t u = walk->table->captures[control->captures + i], value = walk->program->operands[u];
        uint32_t def = walk->program->values[value].op;
        if (def != IR_NONE && (walk->table->ops[def].flags & WALK_CHEAP))
            continue;
        walk_wanted(walk, u, 0, &form);
        uint32_t user = walk->table->operand_op[u];
        if (!walk_gathers_inside(walk, value, &form))
            walk_obtain(walk, value, &form, user, walk->table->ops[user].space);
    }
}

void walk_while(struct walk *walk, uint32_t op)
{
    const struct ir_program *program = walk->program;
    uint32_t count = carried_count(walk, op), base = (uint32_t)walk->scratch->stack.count;
    uint32_t cond = ir_region_block(program, op, 0), body = ir_region_block(program, op, 1);
    int64_t trips = walk->trips, times = walk->nda->trip_count[op];

    obtain_captures(walk, op);
    obtain_carried(walk, op, program->ops[op].operands, count);
    emit_mark(walk, SPMD_LOOP, op, base);

    uint32_t undo = (uint32_t)walk->scratch->undo.count;
    walk->depth++;
    walk->trips = trips * (times > 0 ? times : 1);
    add_results(walk, program->blocks[cond].args, op, count);
    add_results(walk, program->blocks[body].args, op, count);
    walk_block(walk, cond);
    obtain_replicated(walk, op, ir_operand(program, ir_block_terminator(program, cond), 0));
    emit_mark(walk, SPMD_LOOP_BODY, op, base);
    walk_close_region(walk, undo);
    /* the body's arguments were defined by LOOP: put back as versions of this region */
    uint32_t loop = walk->local->step_count;
    while (walk->local->steps[--loop].kind != SPMD_LOOP || walk->local->steps[loop].op != op)
        continue;
    for (uint32_t i = 0; i < count; i++)
        walk_add_version(walk, walk->local->steps[loop].results + count + i);
    walk_block(walk, body);
    obtain_carried(walk, op, program->ops[ir_block_terminator(program, body)].operands, count);
    walk_close_region(walk, undo);
    walk_flush(walk);
    walk->depth--;
    walk->trips = trips;
    emit_mark(walk, SPMD_LOOP_END, op, base);
    add_results(walk, ir_result(program, op, 0), op, count);
    uint32_t results = walk->local->steps[walk->local->step_count - 1].results;
    for (uint32_t i = 0; i < count; i++)
        walk_reduce_result(walk, results + i);
}

void walk_branch(struct walk *walk, uint32_t op)
{
    const struct ir_program *program = walk->program;
    uint32_t count = carried_count(walk, op), base = (uint32_t)walk->scratch->stack.count;

    obtain_replicated(walk, op, ir_operand(program, op, 0));
    emit_mark(walk, SPMD_BRANCH, op, base);
    uint32_t undo = (uint32_t)walk->scratch->undo.count, regions = program->ops[op].region_count;
    walk->depth++;
    for (uint32_t r = 0; r < regions; r++) {
        uint32_t block = ir_region_block(program, op, r);
        walk_block(walk, block);
        obtain_carried(walk, op, program->ops[ir_block_terminator(program, block)].operands, count);
        walk_flush(walk);
        walk_close_region(walk, undo);
        if (r + 1 == regions)
            walk->depth--;
        emit_mark(walk, r + 1 == regions ? SPMD_BRANCH_END : SPMD_BRANCH_NEXT, op, base);
    }
    add_results(walk, ir_result(program, op, 0), op, count);
}

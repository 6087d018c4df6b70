/* Loops and branches: carried values have one form from start to end, predicates are replicated (a
 * predicate that differed between devices would part them at the next collective), and what a loop's body
 * takes from outside is brought into its form before the loop, once. A value to which every iteration only
 * adds may be carried partial (defer.c): its initial value is masked, so that it counts once, and the
 * loop's result is reduced. */
#include "spmd/walk.h"

static uint32_t carried_count(const struct walk *w, uint32_t op)
{
    return w->program->ops[op].result_count;
}

static const struct walk_carried *carried(const struct walk *w, uint32_t op, uint32_t i)
{
    return &w->t->carried[w->t->controls[w->t->ops[op].control].carried + i];
}

/* new values of consecutive program values or of one program value each, as results of the newest step */
static void add_results(struct walk *w, uint32_t first_value, uint32_t op, uint32_t count)
{
    struct spmd_form f;

    for (uint32_t i = 0; i < count; i++) {
        walk_carried_form(w, carried(w, op, i), &f);
        uint32_t value = walk_new_value(w, first_value + i, &f);
        w->l->values[value].step = w->l->step_count - 1;
        walk_add_version(w, value);
    }
    w->l->steps[w->l->step_count - 1].result_count += count;
}

static bool is_zero(const struct walk *w, uint32_t value)
{
    uint32_t def = w->program->values[value].op;

    return def != IR_NONE && (w->t->ops[def].flags & WALK_ZERO);
}

/* the step that makes a version, replicated on some axes, the partial that f has there */
static uint32_t mask(struct walk *w, uint32_t op, uint32_t version, const struct spmd_form *f)
{
    const struct spmd_value from = w->l->values[version];
    uint32_t base = (uint32_t)w->s->stack.count;
    struct spmd_step *s = walk_new_step(w, SPMD_MASK, op);

    for (uint32_t a = 0; a < w->axes; a++)
        if (f->at[a] != from.form.at[a]) {
            s->axes[s->axis_count++] = (uint8_t)a;
            s->reducer = (uint8_t)(f->at[a] - SPMD_PARTIAL);
        }
    s->mask_initial =
        (s->reducer == NDA_REDUCE_ADD && !is_zero(w, from.origin)) || s->reducer == NDA_REDUCE_MULTIPLY;
    s->result_count = 1;
    VEC_PUSH(&w->s->stack, version);
    walk_push_operands(w, s, base);
    uint32_t value = walk_new_value(w, from.origin, f);
    w->l->values[value].step = w->l->step_count - 1;
    return value;
}

/* operands from program operand index `first` on, in the carried forms, onto the stack */
static void obtain_carried(struct walk *w, uint32_t op, uint32_t first, uint32_t count)
{
    struct spmd_form f, g;
    size_t base = w->s->stack.count;

    for (uint32_t i = 0; i < count; i++) {
        const struct walk_carried *c = carried(w, op, i);
        uint32_t value = w->program->operands[first + i], space = c->begin == NDA_NONE ? c->end : c->begin;
        walk_initial_form(w, c, value, &f);
        walk_carried_form(w, c, &g);
        uint32_t version = walk_obtain(w, value, &f, op, space);
        if (!walk_form_same(&f, &g))
            version = mask(w, op, version, &g);
        VEC_PUSH(&w->s->stack, version);
    }
    for (size_t i = base; i < w->s->stack.count; i++)
        walk_settle(w, w->s->stack.at[i]);
}

static void obtain_replicated(struct walk *w, uint32_t op, uint32_t value)
{
    uint32_t version = walk_obtain(w, value, &spmd_form_none, op, NDA_NONE);

    walk_settle(w, version);
    VEC_PUSH(&w->s->stack, version);
}

static struct spmd_step *emit_mark(struct walk *w, enum spmd_step_kind kind, uint32_t op, uint32_t base)
{
    walk_flush(w);
    struct spmd_step *s = walk_new_step(w, kind, op);
    walk_push_operands(w, s, base);
    return s;
}

/* What the regions take from outside, in the forms they want: made here it is made once. Values that cost
 * nothing to make, and those that are to be let go between their uses, are left to the region. */
static void obtain_captures(struct walk *w, uint32_t op)
{
    const struct walk_control *c = &w->t->controls[w->t->ops[op].control];
    struct spmd_form f;

    for (uint32_t i = 0; i < c->capture_count; i++) {
        uint32_t u = w->t->captures[c->captures + i], value = w->program->operands[u];
        uint32_t def = w->program->values[value].op;
        if (def != IR_NONE && (w->t->ops[def].flags & WALK_CHEAP))
            continue;
        walk_wanted(w, u, 0, &f);
        uint32_t user = w->t->operand_op[u];
        if (!walk_gathers_inside(w, value, &f))
            walk_obtain(w, value, &f, user, w->t->ops[user].space);
    }
}

void walk_while(struct walk *w, uint32_t op)
{
    const struct ir_program *p = w->program;
    uint32_t count = carried_count(w, op), base = (uint32_t)w->s->stack.count;
    uint32_t cond = ir_region_block(p, op, 0), body = ir_region_block(p, op, 1);
    int64_t trips = w->trips, times = w->nda->trip_count[op];

    obtain_captures(w, op);
    obtain_carried(w, op, p->ops[op].operands, count);
    emit_mark(w, SPMD_LOOP, op, base);

    uint32_t undo = (uint32_t)w->s->undo.count;
    w->depth++;
    w->trips = trips * (times > 0 ? times : 1);
    add_results(w, p->blocks[cond].args, op, count);
    add_results(w, p->blocks[body].args, op, count);
    walk_block(w, cond);
    obtain_replicated(w, op, ir_operand(p, ir_block_terminator(p, cond), 0));
    emit_mark(w, SPMD_LOOP_BODY, op, base);
    walk_close_region(w, undo);
    /* the body's arguments were defined by LOOP: put back as versions of this region */
    uint32_t loop = w->l->step_count;
    while (w->l->steps[--loop].kind != SPMD_LOOP || w->l->steps[loop].op != op)
        continue;
    for (uint32_t i = 0; i < count; i++)
        walk_add_version(w, w->l->steps[loop].results + count + i);
    walk_block(w, body);
    obtain_carried(w, op, p->ops[ir_block_terminator(p, body)].operands, count);
    walk_close_region(w, undo);
    walk_flush(w);
    w->depth--;
    w->trips = trips;
    emit_mark(w, SPMD_LOOP_END, op, base);
    add_results(w, ir_result(p, op, 0), op, count);
    uint32_t results = w->l->steps[w->l->step_count - 1].results;
    for (uint32_t i = 0; i < count; i++)
        walk_reduce_result(w, results + i);
}

void walk_branch(struct walk *w, uint32_t op)
{
    const struct ir_program *p = w->program;
    uint32_t count = carried_count(w, op), base = (uint32_t)w->s->stack.count;

    obtain_replicated(w, op, ir_operand(p, op, 0));
    emit_mark(w, SPMD_BRANCH, op, base);
    uint32_t undo = (uint32_t)w->s->undo.count, regions = p->ops[op].region_count;
    w->depth++;
    for (uint32_t r = 0; r < regions; r++) {
        uint32_t block = ir_region_block(p, op, r);
        walk_block(w, block);
        obtain_carried(w, op, p->ops[ir_block_terminator(p, block)].operands, count);
        walk_flush(w);
        walk_close_region(w, undo);
        if (r + 1 == regions)
            w->depth--;
        emit_mark(w, r + 1 == regions ? SPMD_BRANCH_END : SPMD_BRANCH_NEXT, op, base);
    }
    add_results(w, ir_result(p, op, 0), op, count);
}

/* The annotated output: the program at its own sizes, with constraints where XLA would else have a choice.
 *
 * A reshard step writes nothing: its result remembers whose version it is, and the first use of it writes one
 * sdy.sharding_constraint of the definition (so a chain of reshards is one constraint). Results of dot,
 * convolution, reduce, gather and scatter are constrained at their definition as well; a result that is
 * partial over one axis first in its own form, so that XLA sees reduction and slice and makes a
 * reduce_scatter of them; over several axes, or of a scatter, straight in the form its use wants. Forms whose
 * blocks are not ranges of a dim (an inner atom is sharded) are constrained as the array of atoms; so that
 * XLA need not join the pieces in between, whole chains of ops are written on atoms (annotate_atoms.c).
 *
 * XLA's partitioner counts the initial value of a reduce once per device of a sharded dim, or never (jaxlib
 * 0.10.2: 1.5 became 12 on 8 devices). Where it is not neutral, the reduce starts from the neutral value and
 * the initial one is added after it. */
#include "emit/lower.h"

#include <stdlib.h>

enum { WHOLE, ATOMS, SHAPES }; /* a value as its own dims, or as an array of its atoms */

struct annotate {
    uint32_t *root;                /* spmd value -> the version that was defined */
    uint32_t *plain[SHAPES];       /* root -> builder value, IR_NONE; plain[WHOLE] is e->value_of */
    uint32_t *constrained[SHAPES]; /* spmd value -> builder value in its own form, IR_NONE */
    VEC(uint32_t *) made;          /* entries made in the regions that are open */
};

static uint32_t *nothing_yet(uint32_t count)
{
    uint32_t *at = mem_alloc((count + 1) * sizeof *at);
    for (uint32_t i = 0; i < count; i++)
        at[i] = IR_NONE;
    return at;
}

struct annotate *annotate_create(const struct emit *e)
{
    struct annotate *a = mem_zalloc(1, sizeof *a);
    uint32_t count = e->local->value_count;
    a->root = mem_alloc((count + 1) * sizeof *a->root);
    for (uint32_t i = 0; i < count; i++)
        a->root[i] = i;
    a->plain[WHOLE] = e->value_of;
    a->plain[ATOMS] = nothing_yet(count);
    a->constrained[WHOLE] = nothing_yet(count);
    a->constrained[ATOMS] = nothing_yet(count);
    return a;
}

void annotate_destroy(struct annotate *a)
{
    if (!a)
        return;
    free(a->root);
    free(a->plain[ATOMS]);
    free(a->constrained[WHOLE]);
    free(a->constrained[ATOMS]);
    VEC_FREE(&a->made);
    free(a);
}

size_t annotate_region_open(struct emit *e)
{
    return e->annotate->made.count;
}

void annotate_region_close(struct emit *e, size_t mark)
{
    struct annotate *a = e->annotate;
    while (a->made.count > mark)
        *a->made.at[--a->made.count] = IR_NONE;
}

static uint32_t keep(struct annotate *a, uint32_t *entry, uint32_t value)
{
    *entry = value;
    VEC_PUSH(&a->made, entry);
    return value;
}

static uint32_t partial_axes(const struct emit *e, const struct spmd_form *f)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < e->mesh->axis_count; a++)
        n += f->at[a] >= SPMD_PARTIAL && f->at[a] != SPMD_REPLICATED;
    return n;
}

static bool same_sharding(const struct emit *e, const struct spmd_form *f, const struct spmd_form *g)
{
    for (uint32_t a = 0; a < e->mesh->axis_count; a++) {
        bool in_f = f->at[a] < SPMD_PARTIAL, in_g = g->at[a] < SPMD_PARTIAL;
        if (in_f != in_g || (in_f && (f->at[a] != g->at[a] || f->position[a] != g->position[a])))
            return false;
    }
    return true;
}

/* Are the blocks of every dim ranges of it? */
static bool in_ranges(const struct emit *e, uint32_t v)
{
    const struct spmd_value *s = &e->local->values[v];
    uint32_t rank = ir_value_type(e->program, s->origin)->rank;
    for (uint32_t d = 0; d < rank; d++)
        if (!emit_layout(e, s->origin, &s->form, d).contiguous)
            return false;
    return true;
}

static struct emit_tensor shaped(const struct emit *e, uint32_t v, int shape, uint32_t value)
{
    struct emit_tensor x = emit_local_tensor(e, v);
    uint32_t origin = e->local->values[v].origin;
    x.value = value;
    if (shape == ATOMS) {
        x.rank = nda_atom_count(e->nda, origin);
        for (uint32_t i = 0; i < x.rank; i++)
            x.dims[i] = nda_atoms(e->nda, origin)[i].size;
    }
    return x;
}

static uint32_t reshaped(struct emit *e, uint32_t v, int shape, uint32_t value)
{
    struct emit_tensor to = shaped(e, v, shape, IR_NONE);
    return emit_reshape(e, shaped(e, v, shape == WHOLE ? ATOMS : WHOLE, value), to.rank, to.dims).value;
}

static uint32_t plain(struct emit *e, uint32_t root, int shape)
{
    struct annotate *a = e->annotate;
    if (a->plain[shape][root] != IR_NONE)
        return a->plain[shape][root];
    return keep(a, &a->plain[shape][root], reshaped(e, root, shape, a->plain[1 - shape][root]));
}

/* x, in the given shape, constrained to v's form */
static uint32_t constrain_to(struct emit *e, uint32_t v, const struct spmd_form *form, int shape, uint32_t x)
{
    struct text sharding = {0};
    const struct spmd_value *s = &e->local->values[v];
    text_add(&sharding, "#sdy.sharding");
    if (shape == ATOMS)
        emit_atom_sharding_text(e, s->origin, form, &sharding);
    else
        (void)emit_sharding_text(e, s->origin, form, &sharding);
    struct ir_attr attr = ir_build_named(e->b, "sharding", ir_build_text(e->b, sharding.at));
    struct emit_tensor y = shaped(e, v, shape, x);
    y = emit_one(e, "sdy.sharding_constraint", &y, 1, y.element, y.rank, y.dims, &attr, 1);
    text_release(&sharding);
    return y.value;
}

static uint32_t constrain(struct emit *e, uint32_t v, int shape, uint32_t x)
{
    return constrain_to(e, v, &e->local->values[v].form, shape, x);
}

/* the shape in which v's form can be said, WHOLE where possible; SHAPES when in none */
static int shape_for(const struct emit *e, uint32_t v, int wanted)
{
    for (uint32_t i = 0; i < e->mesh->axis_count; i++)
        if (spmd_is_whole(e->local->values[v].form.at[i]))
            return WHOLE; /* cut across atoms */
    if (nda_atom_count(e->nda, e->local->values[v].origin) > EMIT_MAX_RANK)
        return in_ranges(e, v) ? WHOLE : SHAPES;
    return in_ranges(e, v) ? wanted : ATOMS;
}

/* constants and broadcasts cost nothing in any form */
static bool is_free(const struct emit *e, uint32_t origin)
{
    const struct ir_value *v = &e->program->values[origin];
    const struct ir_type *t = ir_value_type(e->program, origin);
    if (t->kind != IR_TYPE_TENSOR || t->rank == 0)
        return true;
    if (v->op == IR_NONE)
        return false;
    enum ir_family family = ir_opcode_family((enum ir_opcode)e->program->ops[v->op].code);
    return family == IR_FAMILY_CONSTANT || family == IR_FAMILY_IOTA || family == IR_FAMILY_BROADCAST;
}

static uint32_t read_as(struct emit *e, uint32_t v, int shape)
{
    struct annotate *a = e->annotate;
    uint32_t root = a->root[v];
    const struct spmd_value *values = e->local->values;
    if (a->constrained[shape][v] != IR_NONE)
        return a->constrained[shape][v];
    if (a->constrained[1 - shape][v] != IR_NONE)
        return keep(a, &a->constrained[shape][v], reshaped(e, v, shape, a->constrained[1 - shape][v]));
    bool reduced = partial_axes(e, &values[root].form) > partial_axes(e, &values[v].form);
    bool same = same_sharding(e, &values[root].form, &values[v].form);
    bool own = a->constrained[WHOLE][root] != IR_NONE || a->constrained[ATOMS][root] != IR_NONE;
    int said = shape_for(e, v, shape);
    if (is_free(e, values[v].origin) || (!reduced && same) || said == SHAPES)
        return plain(e, root, shape);
    if (own && same)
        return read_as(e, root, shape);
    uint32_t x = own ? read_as(e, root, said) : plain(e, root, said);
    keep(a, &a->constrained[said][v], constrain(e, v, said, x));
    return read_as(e, v, shape);
}

uint32_t annotate_use(struct emit *e, uint32_t v)
{
    return read_as(e, v, WHOLE);
}

/* Is the op's result constrained where it is defined? */
static bool constrains_definition(const struct emit *e, const struct spmd_step *s, uint32_t v)
{
    uint32_t partial = partial_axes(e, &e->local->values[v].form);
    enum ir_family family = ir_opcode_family((enum ir_opcode)e->program->ops[s->op].code);
    if (family == IR_FAMILY_DOT || family == IR_FAMILY_CONVOLUTION || family == IR_FAMILY_REDUCE)
        return partial <= 1;
    return family == IR_FAMILY_GATHER || (family == IR_FAMILY_SCATTER && partial == 0);
}

/* One operand, its dims sharded, an initial value that counts: starts from the neutral value instead. */
static bool starts_neutral(struct emit *e, struct lower_op *o, enum nda_reducer *reducer,
                           struct emit_tensor *initial)
{
    *reducer = lower_contracting_reducer(e, o);
    if (e->program->ops[o->op].code != IR_REDUCE || o->in_count != 2 || *reducer == NDA_REDUCE_NONE ||
        lower_is_identity(e, o, 1, *reducer))
        return false;
    *initial = emit_local_tensor(e, spmd_operand(e->local, o->step, 1));
    initial->value = o->in[1].value;
    return emit_identity(e, *reducer, initial->element, 0, NULL, &o->in[1]);
}

/* Some operand or result lies in pieces of a dim: the op is written on atoms where its family allows it. */
static bool in_pieces(const struct emit *e, const struct lower_op *o)
{
    for (uint32_t i = 0; i < o->in_count; i++)
        if (!in_ranges(e, spmd_operand(e->local, o->step, i)))
            return true;
    for (uint32_t i = 0; i < o->out_count; i++)
        if (!in_ranges(e, o->step->results + i))
            return true;
    return false;
}

/* Windows slide over dims that the plan keeps whole. Left alone, XLA may shard them by what stands near, and
 * its partitioner then computes some gradients of convolutions wrongly (jaxlib 0.10.2, found on a U-Net by
 * the truth tests), so operands of windowed ops are constrained even where definition and use agree. */
static bool slides(const struct emit *e, uint32_t op)
{
    enum ir_family family = ir_opcode_family((enum ir_opcode)e->program->ops[op].code);
    return family == IR_FAMILY_CONVOLUTION || family == IR_FAMILY_REDUCE_WINDOW;
}

static void constrain_own(struct emit *e, uint32_t v)
{
    struct annotate *a = e->annotate;
    int said = shape_for(e, v, WHOLE);
    if (a->constrained[WHOLE][v] != IR_NONE || a->constrained[ATOMS][v] != IR_NONE || said == SHAPES ||
        is_free(e, e->local->values[v].origin))
        return;
    uint32_t x = read_as(e, v, said);
    if (a->constrained[said][v] == IR_NONE)
        keep(a, &a->constrained[said][v], constrain(e, v, said, x));
}

/* A value carried partial: XLA has no such sharding, so it is held to be replicated there, as it would be
 * if every iteration reduced what it adds; XLA's own pass moves these all_reduces out of the loop. */
uint32_t annotate_carry(struct emit *e, uint32_t v)
{
    if (partial_axes(e, &e->local->values[v].form))
        constrain_own(e, v);
    return annotate_use(e, v);
}

/* axes that shard inner pieces of a dim */
static void add_axes_of_pieces(const struct emit *e, uint32_t v, struct emit_axes *axes)
{
    const struct spmd_value *s = &e->local->values[v];
    for (uint32_t a = 0; a < e->mesh->axis_count; a++) {
        bool there = false;
        for (uint8_t i = 0; i < axes->count; i++)
            there |= axes->at[i] == a;
        if (there || s->form.at[a] >= SPMD_WHOLE)
            continue;
        uint32_t dim = nda_atoms(e->nda, s->origin)[s->form.at[a]].dim;
        if (!emit_layout(e, s->origin, &s->form, dim).contiguous)
            axes->at[axes->count++] = (uint8_t)a;
    }
}

/* Axes along which a grouped convolution is not split in the annotated output. XLA's partitioner (jaxlib
 * 0.10.2, found by the truth tests) adds up too much where a sum over the batch in groups (the weights'
 * gradient) is split over some axes and not over others, and ends itself where features within a group are
 * split. */
static struct emit_axes unsplit_axes(const struct emit *e, const struct lower_op *o)
{
    struct emit_axes axes = {.count = 0};
    if (e->program->ops[o->op].code != IR_CONVOLUTION)
        return axes;
    if (ir_int(e->program, o->op, "batch_group_count", 1) > 1)
        axes = lower_contracting_axes(e, o);
    else if (ir_int(e->program, o->op, "feature_group_count", 1) == 1)
        return axes;
    for (uint32_t i = 0; i < o->in_count; i++)
        add_axes_of_pieces(e, spmd_operand(e->local, o->step, i), &axes);
    for (uint32_t i = 0; i < o->out_count; i++)
        add_axes_of_pieces(e, o->step->results + i, &axes);
    return axes;
}

static uint32_t whole_along(struct emit *e, uint32_t v, const struct emit_axes *axes, int shape, uint32_t x)
{
    struct spmd_form form = e->local->values[v].form;
    for (uint8_t i = 0; i < axes->count; i++)
        form.at[axes->at[i]] = SPMD_REPLICATED;
    return constrain_to(e, v, &form, shape, x);
}

static void read_operands(struct emit *e, struct lower_op *o, int shape)
{
    struct emit_axes unsplit = unsplit_axes(e, o);
    for (uint32_t i = 0; i < o->in_count; i++) {
        uint32_t v = spmd_operand(e->local, o->step, i);
        if (slides(e, o->op))
            constrain_own(e, v);
        o->in[i] = shaped(e, v, shape, IR_NONE);
        o->in[i].value = read_as(e, v, shape);
        if (unsplit.count)
            o->in[i].value = whole_along(e, v, &unsplit, shape, o->in[i].value);
    }
}

/* results as read later, constrained now where definitions are */
static void define(struct emit *e, struct lower_op *o, uint32_t i, int shape)
{
    uint32_t v = o->step->results + i;
    struct emit_tensor as = shaped(e, v, shape, IR_NONE);
    /* differs after a slice of one piece */
    uint32_t x = emit_reshape(e, o->out[i], as.rank, as.dims).value;
    struct emit_axes unsplit = unsplit_axes(e, o);
    if (unsplit.count)
        x = whole_along(e, v, &unsplit, shape, x);
    e->annotate->plain[shape][v] = x;
    if (!constrains_definition(e, o->step, v) || !o->out[i].rank)
        return;
    int said = shape_for(e, v, shape);
    if (said != SHAPES)
        keep(e->annotate, &e->annotate->constrained[said][v], constrain(e, v, said, plain(e, v, said)));
}

static enum error_code annotate_op(struct emit *e, const struct spmd_step *s, struct error *error)
{
    struct lower_op o = {.step = s, .op = s->op, .in_count = s->operand_count, .out_count = s->result_count};
    bool passes = lower_passes_value(e, s->op);
    struct emit_tensor initial;
    enum nda_reducer reducer;
    e->op = s->op;
    o.in = mem_zalloc(o.in_count + o.out_count + 1, sizeof *o.in);
    o.out = o.in + o.in_count;
    for (uint32_t i = 0; i < o.out_count; i++)
        o.out[i] = emit_local_tensor(e, s->results + i);
    enum error_code code = emit_attrs(e, s->op, o.attrs, &o.attr_count, error);
    if (!code && passes && o.in_count < o.out_count)
        code = emit_reject(e, error, "cannot stand inside a module that is partitioned again");
    int shape = !code && !passes && in_pieces(e, &o) && annotate_in_atoms(e, &o) ? ATOMS : WHOLE;
    bool same = shape == ATOMS && e->program->ops[s->op].code == IR_RESHAPE; /* the same array of atoms */
    if (!code)
        read_operands(e, &o, shape);
    bool neutral = !code && starts_neutral(e, &o, &reducer, &initial);
    if (!code && !passes && !same)
        code = lower_as_is(e, &o, error);
    if (!code && neutral)
        o.out[0] =
            emit_reduce_op(e, reducer, o.out[0], emit_spread(e, initial, o.out[0].rank, o.out[0].dims));
    for (uint32_t i = 0; i < o.out_count && !code; i++) {
        if (passes || same)
            o.out[i].value = o.in[i].value;
        define(e, &o, i, shape);
    }
    free(o.in);
    return code;
}

enum error_code annotate_step(struct emit *e, const struct spmd_step *s, struct error *error)
{
    if (s->kind == SPMD_OP)
        return annotate_op(e, s, error);
    for (uint32_t i = 0; i < s->result_count; i++)
        e->annotate->root[s->results + i] = e->annotate->root[spmd_operand(e->local, s, i)];
    return ERROR_OK;
}

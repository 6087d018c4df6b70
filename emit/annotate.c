/* The annotated output: the program at its own sizes, with constraints where XLA would else have a choice.
 *
 * A reshard step writes nothing: its result remembers whose version it is, and the first use of it writes
 * one sdy.sharding_constraint of the definition (so a chain of reshards is one constraint). Results of
 * dot, convolution, reduce, gather and scatter are constrained at their definition as well; a result that
 * is partial over one axis first in its own form (as its local slice where that is all that is read of
 * it), so that XLA sees reduction and slice and makes a reduce_scatter of them; over several axes, or of a
 * scatter, straight in the form its use wants. Forms whose blocks are not ranges of a dim (an inner atom
 * is sharded) are constrained as the array of atoms; so that XLA need not join the pieces in between,
 * whole chains of ops are written on atoms (annotate_atoms.c).
 *
 * A version of a definition that is not partial is read through a constraint of the definition in its own
 * form: Shardy gives what a constraint reads the constraint's sharding where it has none, and the other uses
 * of the definition would move it back.
 *
 * XLA's partitioner counts the initial value of a reduce once per device of a sharded dim, or never (jaxlib
 * 0.10.2: 1.5 became 12 on 8 devices). Where it is not neutral, the reduce starts from the neutral value and
 * the initial one is added after it. */
#include "emit/annotate_summands.h"
#include "emit/grouped.h"

#include <stdlib.h>

enum { WHOLE, ATOMS, SHAPES }; /* a value as its own dims, or as an array of its atoms */

struct annotate {
    uint32_t *root;                /* spmd value -> the version that was defined */
    uint32_t *plain[SHAPES];       /* root -> builder value, IR_NONE; plain[WHOLE] is e->value_of */
    uint32_t *constrained[SHAPES]; /* spmd value -> builder value in its own form, IR_NONE */
    uint32_t *sliced;              /* spmd value -> its local slice where nothing else reads it, SPMD_NONE */
    VEC(uint32_t *) made;          /* entries made in the regions that are open */
    struct summands *summands;     /* partial sums that meet */
};

static uint32_t *nothing_yet(uint32_t count)
{
    uint32_t *at = mem_alloc((count + 1) * sizeof *at);
    for (uint32_t i = 0; i < count; i++)
        at[i] = IR_NONE;
    return at;
}

/* by value the slice that is all that is read of it */
static uint32_t *find_slices(const struct spmd_local *local)
{
    uint32_t *sliced = mem_alloc((local->value_count + 1) * sizeof *sliced);
    bool *read = mem_zalloc((size_t)local->value_count + 1, sizeof *read);
    for (uint32_t i = 0; i < local->value_count; i++)
        sliced[i] = SPMD_NONE;
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        for (uint32_t k = 0; k < step->operand_count; k++) {
            uint32_t value = local->operands[step->operands + k];
            sliced[value] = !read[value] && step->kind == SPMD_SLICE ? step->results : SPMD_NONE;
            read[value] = true;
        }
    }
    free(read);
    return sliced;
}

struct annotate *annotate_create(struct emit *e)
{
    struct annotate *annotate = mem_zalloc(1, sizeof *annotate);
    uint32_t count = e->local->value_count;
    annotate->root = mem_alloc((count + 1) * sizeof *annotate->root);
    for (uint32_t i = 0; i < count; i++)
        annotate->root[i] = i;
    annotate->plain[WHOLE] = e->value_of;
    annotate->plain[ATOMS] = nothing_yet(count);
    annotate->constrained[WHOLE] = nothing_yet(count);
    annotate->constrained[ATOMS] = nothing_yet(count);
    annotate->sliced = find_slices(e->local);
    annotate->summands = summands_create(e);
    return annotate;
}

void annotate_destroy(struct annotate *annotate)
{
    if (!annotate)
        return;
    free(annotate->root);
    free(annotate->plain[ATOMS]);
    free(annotate->constrained[WHOLE]);
    free(annotate->constrained[ATOMS]);
    free(annotate->sliced);
    VEC_FREE(&annotate->made);
    summands_destroy(annotate->summands);
    free(annotate);
}

size_t annotate_region_open(struct emit *e)
{
    return e->annotate->made.count;
}

void annotate_region_close(struct emit *e, size_t mark)
{
    struct annotate *annotate = e->annotate;
    while (annotate->made.count > mark)
        *annotate->made.at[--annotate->made.count] = IR_NONE;
}

static uint32_t keep(struct annotate *annotate, uint32_t *entry, uint32_t value)
{
    *entry = value;
    VEC_PUSH(&annotate->made, entry);
    return value;
}

static uint32_t partial_axes(const struct emit *e, const struct spmd_form *form)
{
    uint32_t n = 0;
    for (uint32_t axis = 0; axis < e->mesh->axis_count; axis++)
        n += form->at[axis] >= SPMD_PARTIAL && form->at[axis] != SPMD_REPLICATED;
    return n;
}

static bool same_sharding(const struct emit *e, const struct spmd_form *one, const struct spmd_form *other)
{
    for (uint32_t axis = 0; axis < e->mesh->axis_count; axis++) {
        bool in_one = one->at[axis] < SPMD_PARTIAL, in_other = other->at[axis] < SPMD_PARTIAL;
        if (in_one != in_other ||
            (in_one && (one->at[axis] != other->at[axis] || one->position[axis] != other->position[axis])))
            return false;
    }
    return true;
}

/* Are the blocks of every dim ranges of it? */
static bool in_ranges(const struct emit *e, uint32_t value)
{
    const struct spmd_value *spmd_value = &e->local->values[value];
    uint32_t rank = ir_value_type(e->program, spmd_value->origin)->rank;
    for (uint32_t dim = 0; dim < rank; dim++)
        if (!emit_layout(e, spmd_value->origin, &spmd_value->form, dim).contiguous)
            return false;
    return true;
}

static struct emit_tensor shaped(const struct emit *e, uint32_t v, int shape, uint32_t value)
{
    struct emit_tensor tensor = emit_local_tensor(e, v);
    uint32_t origin = e->local->values[v].origin;
    tensor.value = value;
    if (shape == ATOMS) {
        tensor.rank = nda_atom_count(e->nda, origin);
        for (uint32_t i = 0; i < tensor.rank; i++)
            tensor.dims[i] = nda_atoms(e->nda, origin)[i].size;
    }
    return tensor;
}

static uint32_t reshaped(struct emit *e, uint32_t v, int shape, uint32_t value)
{
    struct emit_tensor to = shaped(e, v, shape, IR_NONE);
    return emit_reshape(e, shaped(e, v, shape == WHOLE ? ATOMS : WHOLE, value), to.rank, to.dims).value;
}

static uint32_t plain(struct emit *e, uint32_t root, int shape)
{
    struct annotate *annotate = e->annotate;
    if (annotate->plain[shape][root] != IR_NONE)
        return annotate->plain[shape][root];
    return keep(annotate, &annotate->plain[shape][root],
                reshaped(e, root, shape, annotate->plain[1 - shape][root]));
}

/* x, in the given shape, constrained to v's form */
static uint32_t constrain_to(struct emit *e, uint32_t value, const struct spmd_form *form, int shape,
                             uint32_t x)
{
    struct text sharding = {0};
    const struct spmd_value *spmd_value = &e->local->values[value];
    text_add(&sharding, "#sdy.sharding");
    if (shape == ATOMS)
        emit_numbered_sharding_text(e, nda_atom_count(e->nda, spmd_value->origin), form, &sharding);
    else
        (void)emit_sharding_text(e, spmd_value->origin, form, &sharding);
    struct ir_attr attr = ir_build_named(e->builder, "sharding", ir_build_text(e->builder, sharding.at));
    struct emit_tensor other = shaped(e, value, shape, x);
    e->moved = spmd_value->origin;
    other =
        emit_one(e, "sdy.sharding_constraint", &other, 1, other.element, other.rank, other.dims, &attr, 1);
    e->moved = IR_NONE;
    text_release(&sharding);
    return other.value;
}

static uint32_t constrain(struct emit *e, uint32_t value, int shape, uint32_t x)
{
    return constrain_to(e, value, &e->local->values[value].form, shape, x);
}

/* the shape in which v's form can be said, WHOLE where possible; SHAPES when in none */
static int shape_for(const struct emit *e, uint32_t value, int wanted)
{
    for (uint32_t i = 0; i < e->mesh->axis_count; i++)
        if (spmd_is_whole(e->local->values[value].form.at[i]))
            return WHOLE; /* cut across atoms */
    if (nda_atom_count(e->nda, e->local->values[value].origin) > EMIT_MAX_RANK)
        return in_ranges(e, value) ? WHOLE : SHAPES;
    return in_ranges(e, value) ? wanted : ATOMS;
}

/* constants and broadcasts cost nothing in any form */
static bool is_free(const struct emit *e, uint32_t origin)
{
    const struct ir_value *value = &e->program->values[origin];
    const struct ir_type *type = ir_value_type(e->program, origin);
    if (type->kind != IR_TYPE_TENSOR || type->rank == 0)
        return true;
    if (value->op == IR_NONE)
        return false;
    enum ir_family family = ir_opcode_family((enum ir_opcode)e->program->ops[value->op].code);
    return family == IR_FAMILY_CONSTANT || family == IR_FAMILY_IOTA || family == IR_FAMILY_BROADCAST;
}

static void constrain_own(struct emit *e, uint32_t value);

static uint32_t read_as(struct emit *e, uint32_t value, int shape)
{
    struct annotate *annotate = e->annotate;
    uint32_t root = annotate->root[value];
    const struct spmd_value *values = e->local->values;
    if (annotate->constrained[shape][value] != IR_NONE)
        return annotate->constrained[shape][value];
    if (annotate->constrained[1 - shape][value] != IR_NONE)
        return keep(annotate, &annotate->constrained[shape][value],
                    reshaped(e, value, shape, annotate->constrained[1 - shape][value]));
    bool reduced = partial_axes(e, &values[root].form) > partial_axes(e, &values[value].form);
    bool same = same_sharding(e, &values[root].form, &values[value].form);
    bool own = annotate->constrained[WHOLE][root] != IR_NONE || annotate->constrained[ATOMS][root] != IR_NONE;
    int said = shape_for(e, value, shape);
    if (is_free(e, values[value].origin) || (!reduced && same) || said == SHAPES)
        return plain(e, root, shape);
    if (!own && root >= e->local->argument_count && partial_axes(e, &values[root].form) == 0) {
        constrain_own(e, root);
        own = annotate->constrained[WHOLE][root] != IR_NONE || annotate->constrained[ATOMS][root] != IR_NONE;
    }
    if (own && same)
        return read_as(e, root, shape);
    uint32_t x = own ? read_as(e, root, said) : plain(e, root, said);
    keep(annotate, &annotate->constrained[said][value], constrain(e, value, said, x));
    return read_as(e, value, shape);
}

uint32_t annotate_use(struct emit *e, uint32_t v)
{
    if (summands_has(e->annotate->summands, v))
        return summands_tensor(e, e->annotate->summands, v).value;
    return read_as(e, v, WHOLE);
}

/* Is the op's result constrained where it is defined? */
static bool constrains_definition(const struct emit *e, const struct spmd_step *step, uint32_t value)
{
    uint32_t partial = partial_axes(e, &e->local->values[value].form);
    enum ir_family family = ir_opcode_family((enum ir_opcode)e->program->ops[step->op].code);
    if (family == IR_FAMILY_DOT || family == IR_FAMILY_CONVOLUTION || family == IR_FAMILY_REDUCE)
        return partial <= 1;
    return family == IR_FAMILY_GATHER || (family == IR_FAMILY_SCATTER && partial == 0);
}

/* One operand, its dims sharded, an initial value that counts: starts from the neutral value instead. */
static bool starts_neutral(struct emit *e, struct lower_op *lower, enum nda_reducer *reducer,
                           struct emit_tensor *initial)
{
    *reducer = lower_contracting_reducer(e, lower);
    if (e->program->ops[lower->op].code != IR_REDUCE || lower->in_count != 2 || *reducer == NDA_REDUCE_NONE ||
        lower_is_identity(e, lower, 1, *reducer))
        return false;
    *initial = emit_local_tensor(e, spmd_operand(e->local, lower->step, 1));
    initial->value = lower->in[1].value;
    return emit_identity(e, *reducer, initial->element, 0, NULL, &lower->in[1]);
}

/* Some operand or result lies in pieces of a dim: the op is written on atoms where its family allows it. */
static bool in_pieces(const struct emit *e, const struct lower_op *lower)
{
    for (uint32_t i = 0; i < lower->in_count; i++)
        if (!in_ranges(e, spmd_operand(e->local, lower->step, i)))
            return true;
    for (uint32_t i = 0; i < lower->out_count; i++)
        if (!in_ranges(e, lower->step->results + i))
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

static void constrain_own(struct emit *e, uint32_t value)
{
    struct annotate *annotate = e->annotate;
    int said = shape_for(e, value, WHOLE);
    if (annotate->constrained[WHOLE][value] != IR_NONE || annotate->constrained[ATOMS][value] != IR_NONE ||
        said == SHAPES || is_free(e, e->local->values[value].origin))
        return;
    uint32_t x = read_as(e, value, said);
    if (annotate->constrained[said][value] == IR_NONE)
        keep(annotate, &annotate->constrained[said][value], constrain(e, value, said, x));
}

/* A value carried partial is carried as its summands. Where some op cannot be written so: XLA has no such
 * sharding, so it is held to be replicated there, as it would be if every iteration reduced what it adds;
 * XLA's own pass, where it runs, moves these all_reduces out of the loop. */
uint32_t annotate_carry(struct emit *e, uint32_t value)
{
    if (!summands_has(e->annotate->summands, value) && partial_axes(e, &e->local->values[value].form))
        constrain_own(e, value);
    return annotate_use(e, value);
}

uint32_t annotate_type(struct emit *e, uint32_t value)
{
    if (!summands_has(e->annotate->summands, value))
        return emit_value_type(e, value);
    struct emit_tensor tensor = summands_tensor(e, e->annotate->summands, value);
    return emit_type(e, tensor.element, tensor.rank, tensor.dims);
}

void annotate_define(struct emit *e, uint32_t value, uint32_t built)
{
    if (summands_has(e->annotate->summands, value))
        summands_define(e->annotate->summands, value, built);
    else
        e->value_of[value] = built;
}

/* x, the value in this shape, as a grouped convolution reads or makes it; most ops have nothing to change */
static uint32_t regrouped_value(struct emit *e, uint32_t value, const struct grouped *grouped, int shape,
                                uint32_t x)
{
    if (!grouped_is_other(grouped))
        return x;
    struct spmd_form form = grouped_form(e, value, grouped);
    return constrain_to(e, value, &form, shape, x);
}

static void read_operands(struct emit *e, struct lower_op *lower, int shape)
{
    struct grouped grouped = grouped_of(e, lower->step);
    for (uint32_t i = 0; i < lower->in_count; i++) {
        uint32_t v = spmd_operand(e->local, lower->step, i);
        if (slides(e, lower->op))
            constrain_own(e, v);
        lower->in[i] = shaped(e, v, shape, IR_NONE);
        lower->in[i].value = regrouped_value(e, v, &grouped, shape, read_as(e, v, shape));
    }
}

/* The version in which a result is constrained where it is defined. Partial sums that are sliced before they
 * are reduced as the slice: XLA, which knows no partial form, would reduce the whole first. */
static uint32_t defined_as(const struct emit *e, uint32_t value)
{
    const struct spmd_value *values = e->local->values;
    uint32_t as = value;
    while (partial_axes(e, &values[as].form) && e->annotate->sliced[as] != SPMD_NONE)
        as = e->annotate->sliced[as];
    return as;
}

/* results as read later, constrained now where definitions are */
static void define(struct emit *e, struct lower_op *lower, uint32_t i, int shape)
{
    uint32_t v = lower->step->results + i;
    struct emit_tensor as = shaped(e, v, shape, IR_NONE);
    /* differs after a slice of one piece */
    uint32_t x = emit_reshape(e, lower->out[i], as.rank, as.dims).value;
    struct grouped grouped = grouped_of(e, lower->step);
    grouped.added.count = 0;
    x = regrouped_value(e, v, &grouped, shape, x);
    e->annotate->plain[shape][v] = x;
    if (!constrains_definition(e, lower->step, v) || !lower->out[i].rank)
        return;
    uint32_t defined = defined_as(e, v);
    int said = shape_for(e, defined, shape);
    if (said != SHAPES)
        keep(e->annotate, &e->annotate->constrained[said][v], constrain(e, defined, said, plain(e, v, said)));
}

/* XLA's partitioner sees a batch in dims that are called so, as a rule not in positions that count */
static enum error_code count_in_lookups(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_gather gather;
    struct ir_scatter scatter;
    enum ir_opcode code = (enum ir_opcode)e->program->ops[lower->op].code;
    bool read = code == IR_GATHER    ? lower_count_gather(e, lower, &gather) == 0
                : code == IR_SCATTER ? lower_count_scatter(e, lower, &scatter) == 0
                                     : true;
    return read ? ERROR_OK : emit_reject(e, error, "its dimension numbers cannot be read");
}

/* the op as it is, or on atoms; operands are read and results defined as forms say */
static enum error_code write_op(struct emit *e, struct lower_op *lower, struct error *error)
{
    bool passes = lower_passes_value(e, lower->op);
    struct emit_tensor initial;
    enum nda_reducer reducer;
    if (passes && lower->in_count < lower->out_count)
        return emit_reject(e, error, "cannot stand inside a module that is partitioned again");
    int shape = !passes && in_pieces(e, lower) && annotate_in_atoms(e, lower) ? ATOMS : WHOLE;
    bool same = shape == ATOMS && e->program->ops[lower->op].code == IR_RESHAPE; /* the same array of atoms */
    read_operands(e, lower, shape);
    if (shape == ATOMS)
        annotate_join_pieces(e, lower);
    bool neutral = starts_neutral(e, lower, &reducer, &initial);
    enum error_code code = shape == ATOMS ? ERROR_OK : count_in_lookups(e, lower, error);
    if (!code && !passes && !same)
        code = lower_as_is(e, lower, error);
    if (!code && neutral)
        lower->out[0] = emit_reduce_op(e, reducer, lower->out[0],
                                       emit_spread(e, initial, lower->out[0].rank, lower->out[0].dims));
    for (uint32_t i = 0; i < lower->out_count && !code; i++) {
        if (passes || same)
            lower->out[i].value = lower->in[i].value;
        define(e, lower, i, shape);
    }
    return code;
}

static enum error_code annotate_op(struct emit *e, const struct spmd_step *step, struct error *error)
{
    struct lower_op lower = {
        .step = step, .op = step->op, .in_count = step->operand_count, .out_count = step->result_count};
    struct summands *summands = e->annotate->summands;
    e->op = step->op;
    lower.in = mem_zalloc(lower.in_count + lower.out_count + 1, sizeof *lower.in);
    lower.out = lower.in + lower.in_count;
    for (uint32_t i = 0; i < lower.out_count; i++)
        lower.out[i] = emit_local_tensor(e, step->results + i);
    enum error_code code = emit_attrs(e, step->op, lower.attrs, &lower.attr_count, error);
    if (!code && lower.out_count == 1 && summands_has(summands, step->results))
        code = summands_step(e, summands, &lower, error);
    else if (!code)
        code = write_op(e, &lower, error);
    free(lower.in);
    return code;
}

/* The reduction of summands: the one sum, constrained as a dot's partial result is where it is defined. */
static void define_sum(struct emit *e, uint32_t value)
{
    struct annotate *annotate = e->annotate;
    if (!summands_has(annotate->summands, value) || annotate->plain[WHOLE][value] != IR_NONE)
        return;
    e->op = e->local->steps[e->local->values[value].step].op;
    annotate->plain[WHOLE][value] = summands_sum(e, annotate->summands, value);
    if (partial_axes(e, &e->local->values[value].form) == 1)
        constrain_own(e, value);
}

enum error_code annotate_step(struct emit *e, const struct spmd_step *step, struct error *error)
{
    if (step->kind == SPMD_OP)
        return annotate_op(e, step, error);
    if (step->result_count == 1 && summands_has(e->annotate->summands, step->results)) {
        summands_move(e, e->annotate->summands, step);
        return ERROR_OK;
    }
    for (uint32_t i = 0; i < step->result_count; i++) {
        define_sum(e, spmd_operand(e->local, step, i));
        e->annotate->root[step->results + i] = e->annotate->root[spmd_operand(e->local, step, i)];
    }
    return ERROR_OK;
}

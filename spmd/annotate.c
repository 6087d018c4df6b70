/* The annotated form: the program at its own sizes, with constraints where XLA would else have a choice.
 *
 * A reshard step writes nothing: its result remembers whose version it is, and the first use of it writes one
 * sdy.sharding_constraint of the definition (so a chain of reshards is one constraint). Results of dot,
 * convolution, reduce, gather and scatter are constrained at their definition as well; a result that is
 * partial over one axis first in its own form, so that XLA sees reduction and slice and makes a
 * reduce_scatter of them; over several axes, or of a scatter, straight in the form its use wants. Forms whose
 * blocks are not ranges of a dim (an inner atom is sharded) are constrained as the array of atoms, between
 * two reshapes.
 *
 * XLA's partitioner counts the initial value of a reduce once per device of a sharded dim, or never (jaxlib
 * 0.10.2: 1.5 became 12 on 8 devices). Where it is not neutral, the reduce starts from the neutral value and
 * the initial one is added after it. */
#include "spmd/lower.h"

#include <stdlib.h>

struct annotate {
    uint32_t *root;        /* spmd value -> the version that was defined */
    uint32_t *constrained; /* spmd value -> builder value in its own form, IR_NONE */
    VEC(uint32_t) made;    /* values constrained in the regions that are open */
};

struct annotate *annotate_create(const struct emit *e)
{
    struct annotate *a = mem_zalloc(1, sizeof *a);
    uint32_t count = e->local->value_count;
    a->root = mem_alloc((count + 1) * sizeof *a->root);
    a->constrained = mem_alloc((count + 1) * sizeof *a->constrained);
    for (uint32_t i = 0; i < count; i++) {
        a->root[i] = i;
        a->constrained[i] = IR_NONE;
    }
    return a;
}

void annotate_destroy(struct annotate *a)
{
    if (!a)
        return;
    free(a->root);
    free(a->constrained);
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
        a->constrained[a->made.at[--a->made.count]] = IR_NONE;
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

static uint32_t constrain(struct emit *e, struct emit_tensor x, uint32_t origin, const struct spmd_form *f)
{
    struct text sharding = {0};
    text_add(&sharding, "#sdy.sharding");
    bool ranges = emit_sharding_text(e, origin, f, &sharding);
    struct emit_tensor y = x;
    uint32_t count = nda_atom_count(e->nda, origin);
    if (!ranges && count > EMIT_MAX_RANK) { /* no array has that many dims: XLA chooses */
        text_release(&sharding);
        return x.value;
    }
    if (!ranges) {
        int64_t dims[EMIT_MAX_RANK];
        for (uint32_t i = 0; i < count; i++)
            dims[i] = nda_atoms(e->nda, origin)[i].size;
        y = emit_reshape(e, x, count, dims);
        sharding.size = 0;
        text_add(&sharding, "#sdy.sharding");
        emit_atom_sharding_text(e, origin, f, &sharding);
    }
    struct ir_attr attr = ir_build_named(e->b, "sharding", ir_build_text(e->b, sharding.at));
    y = emit_one(e, "sdy.sharding_constraint", &y, 1, y.element, y.rank, y.dims, &attr, 1);
    text_release(&sharding);
    return emit_reshape(e, y, x.rank, x.dims).value;
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

uint32_t annotate_use(struct emit *e, uint32_t v)
{
    struct annotate *a = e->annotate;
    uint32_t root = a->root[v];
    const struct spmd_value *values = e->local->values;
    if (a->constrained[v] != IR_NONE)
        return a->constrained[v];
    bool reduced = partial_axes(e, &values[root].form) > partial_axes(e, &values[v].form);
    if (is_free(e, values[v].origin) || (!reduced && same_sharding(e, &values[root].form, &values[v].form)))
        return e->value_of[root];
    struct emit_tensor x = emit_local_tensor(e, root);
    uint32_t own = a->constrained[root];
    if (own != IR_NONE)
        x.value = own;
    if (own != IR_NONE && same_sharding(e, &values[root].form, &values[v].form))
        return own;
    a->constrained[v] = constrain(e, x, values[v].origin, &values[v].form);
    VEC_PUSH(&a->made, v);
    return a->constrained[v];
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
    *initial = emit_local_tensor(e, e->local->operands[o->step->operands + 1]);
    initial->value = o->in[1].value;
    return emit_identity(e, *reducer, initial->element, 0, NULL, &o->in[1]);
}

static enum error_code annotate_op(struct emit *e, const struct spmd_step *s, struct error *error)
{
    struct lower_op o = {.step = s, .op = s->op, .in_count = s->operand_count, .out_count = s->result_count};
    bool shardy = lower_passes_value(e, s->op);
    e->op = s->op;
    o.in = mem_zalloc(o.in_count + o.out_count + 1, sizeof *o.in);
    o.out = o.in + o.in_count;
    for (uint32_t i = 0; i < o.in_count; i++)
        o.in[i].value = annotate_use(e, e->local->operands[s->operands + i]);
    for (uint32_t i = 0; i < o.out_count; i++)
        o.out[i] = emit_local_tensor(e, s->results + i);
    enum error_code code = emit_attrs(e, s->op, o.attrs, &o.attr_count, error);
    if (!code && shardy && o.in_count < o.out_count)
        code = emit_reject(e, error, "cannot stand inside a module that is partitioned again");
    struct emit_tensor initial;
    enum nda_reducer reducer;
    bool neutral = starts_neutral(e, &o, &reducer, &initial);
    if (!code && !shardy)
        code = lower_as_is(e, &o, error);
    if (!code && neutral)
        o.out[0] =
            emit_reduce_op(e, reducer, o.out[0], emit_spread(e, initial, o.out[0].rank, o.out[0].dims));
    for (uint32_t i = 0; i < o.out_count && !code; i++) {
        uint32_t v = s->results + i;
        e->value_of[v] = shardy ? o.in[i].value : o.out[i].value;
        if (!shardy && constrains_definition(e, s, v) && o.out[i].rank) {
            struct emit_tensor x = emit_local_tensor(e, v);
            e->annotate->constrained[v] =
                constrain(e, x, e->local->values[v].origin, &e->local->values[v].form);
            VEC_PUSH(&e->annotate->made, v);
        }
    }
    free(o.in);
    return code;
}

enum error_code annotate_step(struct emit *e, const struct spmd_step *s, struct error *error)
{
    if (s->kind == SPMD_OP)
        return annotate_op(e, s, error);
    for (uint32_t i = 0; i < s->result_count; i++)
        e->annotate->root[s->results + i] = e->annotate->root[e->local->operands[s->operands + i]];
    return ERROR_OK;
}

/* From a step to its family's lowering; what the families share. */
#include "emit/lower.h"

#include <stdlib.h>
#include <string.h>

static uint32_t operand_value(const struct emit *e, const struct lower_op *o, uint32_t i)
{
    return spmd_operand(e->local, o->step, i);
}

struct emit_layout lower_in_layout(const struct emit *e, const struct lower_op *o, uint32_t i, uint32_t dim)
{
    const struct spmd_value *v = &e->local->values[operand_value(e, o, i)];
    return emit_layout(e, v->origin, &v->form, dim);
}

struct emit_layout lower_out_layout(const struct emit *e, const struct lower_op *o, uint32_t i, uint32_t dim)
{
    const struct spmd_value *v = &e->local->values[o->step->results + i];
    return emit_layout(e, v->origin, &v->form, dim);
}

enum error_code lower_as_is(struct emit *e, struct lower_op *o, struct error *error)
{
    const struct ir_op *p = &e->program->ops[o->op];
    uint32_t *values = mem_alloc((o->in_count + o->out_count + 1) * sizeof *values),
             *types = values + o->in_count;
    for (uint32_t i = 0; i < o->in_count; i++)
        values[i] = o->in[i].value;
    for (uint32_t i = 0; i < o->out_count; i++) {
        uint32_t type = e->program->values[p->results + i].type;
        types[i] = e->program->types[type].kind == IR_TYPE_TENSOR
                       ? emit_type(e, o->out[i].element, o->out[i].rank, o->out[i].dims)
                       : ir_build_copy_type(e->b, e->program, type);
    }
    struct ir_op_spec spec = {ir_op_name(e->program, o->op),
                              values,
                              o->in_count,
                              types,
                              o->out_count,
                              o->attrs,
                              o->attr_count,
                              p->line,
                              p->column,
                              p->location == IR_NONE ? NULL : ir_string(e->program, p->location)};
    uint32_t built = ir_build_begin(e->b, &spec);
    free(values);
    enum error_code code = emit_regions(e, o->op, error);
    if (code)
        return code;
    ir_build_end(e->b);
    for (uint32_t i = 0; i < o->out_count; i++)
        o->out[i].value = ir_builder_result(e->b, built, i);
    return ERROR_OK;
}

void lower_set_ints(struct emit *e, struct lower_op *o, const char *name, const int64_t *ints, uint32_t count)
{
    emit_attr_set(e, o->attrs, &o->attr_count, name, ir_build_ints(e->b, ints, count));
}

void lower_set_int(struct emit *e, struct lower_op *o, const char *name, int64_t value)
{
    emit_attr_set(e, o->attrs, &o->attr_count, name, ir_build_int(e->b, value, "i64"));
}

struct emit_axes lower_contracting_axes(const struct emit *e, const struct lower_op *o)
{
    struct emit_axes axes = {0};
    uint32_t space = e->nda->op_space[o->op];
    if (o->step->cells == SPMD_NONE || space == NDA_NONE)
        return axes;
    const struct plan_cell *cells = e->local->cells + o->step->cells;
    const struct nda_factor *factors = e->nda->factors + e->nda->spaces[space].factors;
    for (uint8_t a = 0; a < e->mesh->axis_count; a++)
        if (cells[a].factor != NDA_NO_FACTOR && factors[cells[a].factor].kind == NDA_CONTRACTING)
            axes.at[axes.count++] = a;
    return axes;
}

enum nda_reducer lower_contracting_reducer(const struct emit *e, const struct lower_op *o)
{
    struct emit_axes axes = lower_contracting_axes(e, o);
    if (!axes.count)
        return NDA_REDUCE_NONE;
    uint32_t factor = e->local->cells[o->step->cells + axes.at[0]].factor;
    return (enum nda_reducer)e->nda->factors[e->nda->spaces[e->nda->op_space[o->op]].factors + factor]
        .reducer;
}

bool lower_is_identity(const struct emit *e, const struct lower_op *o, uint32_t i, enum nda_reducer reducer)
{
    const struct ir_program *p = e->program;
    uint32_t value = ir_operand(p, o->op, i), op = p->values[value].op;
    enum ir_element element = (enum ir_element)ir_value_type(p, value)->element;
    unsigned char bytes[16];
    if (op != IR_NONE && p->ops[op].code == IR_BROADCAST_IN_DIM)
        op = p->values[ir_operand(p, op, 0)].op;
    const struct ir_attr *a =
        op != IR_NONE && p->ops[op].code == IR_CONSTANT ? ir_attr_find(p, op, "value") : NULL;
    if (!a || a->kind != IR_ATTR_DENSE || !emit_identity_bytes(reducer, element, bytes))
        return false;
    const struct ir_constant *c = &p->constants[a->first];
    bool one = c->splat || c->size == c->element_bytes;
    return one && memcmp(p->bytes + c->offset, bytes, c->element_bytes < 16 ? c->element_bytes : 16) == 0;
}

enum error_code lower_mask_initial(struct emit *e, struct lower_op *o, uint32_t i, struct error *error)
{
    struct emit_axes axes = lower_contracting_axes(e, o);
    enum nda_reducer reducer = lower_contracting_reducer(e, o);
    struct emit_tensor identity;
    if (!axes.count)
        return emit_reject(e, error,
                           "initial values are to count once, but no contracting factor is sharded");
    if (lower_is_identity(e, o, i, reducer))
        return ERROR_OK;
    if (!emit_identity(e, reducer, o->in[i].element, o->in[i].rank, o->in[i].dims, &identity))
        return emit_reject(e, error, "no neutral element of this reducer for element type %s",
                           ir_element_name(o->in[i].element));
    o->in[i] = emit_select(e, emit_is_first(e, &axes), o->in[i], identity);
    return ERROR_OK;
}

static bool call_target_is(const struct emit *e, uint32_t op, const char *target)
{
    const struct ir_attr *a = ir_attr_find(e->program, op, "call_target_name");
    return a && a->kind == IR_ATTR_STRING && strcmp(ir_string(e->program, a->first), target) == 0;
}

bool lower_passes_value(const struct emit *e, uint32_t op)
{
    enum ir_family family = ir_opcode_family((enum ir_opcode)e->program->ops[op].code);
    return family == IR_FAMILY_SHARDY ||
           (family == IR_FAMILY_CUSTOM_CALL && call_target_is(e, op, "Sharding"));
}

static enum error_code lower_custom_call(struct emit *e, struct lower_op *o, struct error *error)
{
    const struct ir_attr *called = ir_attr_find(e->program, o->op, "called_computations");
    if (called && called->count)
        return emit_reject(e, error, "calls functions of the module by name, which are inlined and gone");
    if (call_target_is(e, o->op, "SPMDFullToShardShape") || call_target_is(e, o->op, "SPMDShardToFullShape"))
        return emit_reject(e, error, "the module is partitioned by hand already");
    return lower_as_is(e, o, error);
}

/* sharding_constraint and the like: the plan has them as pins; the value passes */
static enum error_code lower_pass(struct emit *e, struct lower_op *o, struct error *error)
{
    if (o->in_count < o->out_count)
        return emit_reject(e, error, "cannot stand inside a module that is partitioned again");
    for (uint32_t i = 0; i < o->out_count; i++) {
        if (memcmp(o->in[i].dims, o->out[i].dims, o->out[i].rank * sizeof *o->in[i].dims) != 0)
            return emit_reject(e, error, "operand and result lie differently on the devices");
        o->out[i].value = o->in[i].value;
    }
    return ERROR_OK;
}

static enum error_code lower_unknown(struct emit *e, struct lower_op *o, struct error *error)
{
    for (uint32_t i = 0; i < o->in_count; i++)
        for (uint32_t d = 0; d < o->in[i].rank; d++)
            if (lower_in_layout(e, o, i, d).sharded)
                return emit_reject(e, error, "operand %u is sharded, but the op's rule is not known", i);
    return lower_as_is(e, o, error);
}

/* what every lowering looks like */
typedef enum error_code lower_fn(struct emit *e, struct lower_op *o, struct error *error);

static enum error_code lower_collective(struct emit *e, struct lower_op *o, struct error *error)
{
    (void)o;
    return emit_reject(e, error, "a module with collectives of its own is partitioned already");
}

/* NULL: has no place as a step */
static lower_fn *lowering_of(enum ir_family family)
{
    switch (family) {
    case IR_FAMILY_ELEMENTWISE:
    case IR_FAMILY_TRANSPOSE:
    case IR_FAMILY_BARRIER: return lower_as_is;
    case IR_FAMILY_CUSTOM_CALL: return lower_custom_call;
    case IR_FAMILY_REVERSE:
    case IR_FAMILY_SORT:
    case IR_FAMILY_LINALG:
    case IR_FAMILY_BITCAST: return lower_whole_dims;
    case IR_FAMILY_CONSTANT: return lower_constant;
    case IR_FAMILY_IOTA: return lower_iota;
    case IR_FAMILY_BROADCAST: return lower_broadcast;
    case IR_FAMILY_RESHAPE: return lower_reshape;
    case IR_FAMILY_DOT: return lower_dot;
    case IR_FAMILY_CONVOLUTION: return lower_convolution;
    case IR_FAMILY_REDUCE: return lower_reduce;
    case IR_FAMILY_REDUCE_WINDOW: return lower_reduce_window;
    case IR_FAMILY_BATCH_NORM: return lower_batch_norm;
    case IR_FAMILY_GATHER: return lower_gather;
    case IR_FAMILY_SCATTER: return lower_scatter;
    case IR_FAMILY_SLICE: return lower_slice;
    case IR_FAMILY_PAD: return lower_pad;
    case IR_FAMILY_CONCATENATE: return lower_concatenate;
    case IR_FAMILY_DYNAMIC_SLICE: return lower_dynamic_slice;
    case IR_FAMILY_DYNAMIC_UPDATE: return lower_dynamic_update;
    case IR_FAMILY_RNG: return lower_rng;
    case IR_FAMILY_SHARDY: return lower_pass;
    case IR_FAMILY_UNKNOWN: return lower_unknown;
    case IR_FAMILY_COLLECTIVE: return lower_collective;
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_CONTROL:
    case IR_FAMILIES: break;
    }
    return NULL;
}

static enum error_code by_family(struct emit *e, struct lower_op *o, struct error *error)
{
    enum ir_opcode code = (enum ir_opcode)e->program->ops[o->op].code;
    lower_fn *lowering = lower_passes_value(e, o->op) ? lower_pass : lowering_of(ir_opcode_family(code));
    return lowering ? lowering(e, o, error)
                    : emit_reject(e, error, "has no place as a step of a local program");
}

enum error_code lower_step(struct emit *e, const struct spmd_step *s, struct error *error)
{
    struct lower_op o = {.step = s, .op = s->op, .in_count = s->operand_count, .out_count = s->result_count};
    e->op = s->op;
    o.in = mem_zalloc(o.in_count + o.out_count + 1, sizeof *o.in);
    o.out = o.in + o.in_count;
    for (uint32_t i = 0; i < o.in_count; i++)
        o.in[i] = emit_local_tensor(e, operand_value(e, &o, i));
    for (uint32_t i = 0; i < o.out_count; i++)
        o.out[i] = emit_local_tensor(e, s->results + i);
    enum error_code code = emit_attrs(e, s->op, o.attrs, &o.attr_count, error);
    if (!code)
        code = by_family(e, &o, error);
    for (uint32_t i = 0; i < o.out_count && !code; i++)
        e->value_of[s->results + i] = o.out[i].value;
    free(o.in);
    return code;
}

/* From a step to its family's lowering; what the families share. */
#include "emit/lower.h"

#include <stdlib.h>
#include <string.h>

static uint32_t operand_value(const struct emit *e, const struct lower_op *lower, uint32_t i)
{
    return spmd_operand(e->local, lower->step, i);
}

struct emit_layout lower_in_layout(const struct emit *e, const struct lower_op *lower, uint32_t i,
                                   uint32_t dim)
{
    const struct spmd_value *value = &e->local->values[operand_value(e, lower, i)];
    return emit_layout(e, value->origin, &value->form, dim);
}

struct emit_layout lower_out_layout(const struct emit *e, const struct lower_op *lower, uint32_t i,
                                    uint32_t dim)
{
    const struct spmd_value *value = &e->local->values[lower->step->results + i];
    return emit_layout(e, value->origin, &value->form, dim);
}

enum error_code lower_as_is(struct emit *e, struct lower_op *lower, struct error *error)
{
    const struct ir_op *op = &e->program->ops[lower->op];
    uint32_t *values = mem_alloc((lower->in_count + lower->out_count + 1) * sizeof *values),
             *types = values + lower->in_count;
    for (uint32_t i = 0; i < lower->in_count; i++)
        values[i] = lower->in[i].value;
    for (uint32_t i = 0; i < lower->out_count; i++) {
        uint32_t type = e->program->values[op->results + i].type;
        types[i] = e->program->types[type].kind == IR_TYPE_TENSOR
                       ? emit_type(e, lower->out[i].element, lower->out[i].rank, lower->out[i].dims)
                       : ir_build_copy_type(e->builder, e->program, type);
    }
    struct ir_op_spec spec = {ir_op_name(e->program, lower->op),
                              values,
                              lower->in_count,
                              types,
                              lower->out_count,
                              lower->attrs,
                              lower->attr_count,
                              emit_position(e)};
    uint32_t built = ir_build_begin(e->builder, &spec);
    free(values);
    enum error_code code = emit_regions(e, lower->op, error);
    if (code)
        return code;
    ir_build_end(e->builder);
    for (uint32_t i = 0; i < lower->out_count; i++)
        lower->out[i].value = ir_builder_result(e->builder, built, i);
    return ERROR_OK;
}

void lower_set_ints(struct emit *e, struct lower_op *lower, const char *name, const int64_t *ints,
                    uint32_t count)
{
    emit_attr_set(e, lower->attrs, &lower->attr_count, name, ir_build_ints(e->builder, ints, count));
}

void lower_set_int(struct emit *e, struct lower_op *lower, const char *name, int64_t value)
{
    emit_attr_set(e, lower->attrs, &lower->attr_count, name, ir_build_int(e->builder, value, "i64"));
}

struct emit_axes lower_contracting_axes(const struct emit *e, const struct spmd_step *step)
{
    struct emit_axes axes = {0};
    uint32_t space = e->nda->op_space[step->op];
    if (step->cells == SPMD_NONE || space == NDA_NONE)
        return axes;
    const struct plan_cell *cells = e->local->cells + step->cells;
    const struct nda_factor *factors = e->nda->factors + e->nda->spaces[space].factors;
    for (uint8_t axis = 0; axis < e->mesh->axis_count; axis++)
        if (cells[axis].factor != NDA_NO_FACTOR && factors[cells[axis].factor].kind == NDA_CONTRACTING)
            axes.at[axes.count++] = axis;
    return axes;
}

enum nda_reducer lower_contracting_reducer(const struct emit *e, const struct lower_op *lower)
{
    struct emit_axes axes = lower_contracting_axes(e, lower->step);
    if (!axes.count)
        return NDA_REDUCE_NONE;
    uint32_t factor = e->local->cells[lower->step->cells + axes.at[0]].factor;
    return (enum nda_reducer)e->nda->factors[e->nda->spaces[e->nda->op_space[lower->op]].factors + factor]
        .reducer;
}

bool lower_is_identity(const struct emit *e, const struct lower_op *lower, uint32_t i,
                       enum nda_reducer reducer)
{
    const struct ir_program *program = e->program;
    uint32_t value = ir_operand(program, lower->op, i), op = program->values[value].op;
    enum ir_element element = (enum ir_element)ir_value_type(program, value)->element;
    unsigned char bytes[16];
    if (op != IR_NONE && program->ops[op].code == IR_BROADCAST_IN_DIM)
        op = program->values[ir_operand(program, op, 0)].op;
    const struct ir_attr *attr =
        op != IR_NONE && program->ops[op].code == IR_CONSTANT ? ir_attr_find(program, op, "value") : NULL;
    if (!attr || attr->kind != IR_ATTR_DENSE || !emit_identity_bytes(reducer, element, bytes))
        return false;
    const struct ir_constant *constant = &program->constants[attr->first];
    bool one = constant->splat || constant->size == constant->element_bytes;
    return one && memcmp(program->bytes + constant->offset, bytes,
                         constant->element_bytes < 16 ? constant->element_bytes : 16) == 0;
}

enum error_code lower_mask_initial(struct emit *e, struct lower_op *lower, uint32_t i, struct error *error)
{
    struct emit_axes axes = lower_contracting_axes(e, lower->step);
    enum nda_reducer reducer = lower_contracting_reducer(e, lower);
    struct emit_tensor identity;
    if (!axes.count)
        return emit_reject(e, error,
                           "initial values are to count once, but no contracting factor is sharded");
    if (lower_is_identity(e, lower, i, reducer))
        return ERROR_OK;
    if (!emit_identity(e, reducer, lower->in[i].element, lower->in[i].rank, lower->in[i].dims, &identity))
        return emit_reject(e, error, "no neutral element of this reducer for element type %s",
                           ir_element_name(lower->in[i].element));
    lower->in[i] = emit_select(e, emit_is_first(e, &axes), lower->in[i], identity);
    return ERROR_OK;
}

static bool call_target_is(const struct emit *e, uint32_t op, const char *target)
{
    const struct ir_attr *attr = ir_attr_find(e->program, op, "call_target_name");
    return attr && attr->kind == IR_ATTR_STRING && strcmp(ir_string(e->program, attr->first), target) == 0;
}

bool lower_passes_value(const struct emit *e, uint32_t op)
{
    enum ir_family family = ir_opcode_family((enum ir_opcode)e->program->ops[op].code);
    return family == IR_FAMILY_SHARDY ||
           (family == IR_FAMILY_CUSTOM_CALL && call_target_is(e, op, "Sharding"));
}

static enum error_code lower_custom_call(struct emit *e, struct lower_op *lower, struct error *error)
{
    const struct ir_attr *called = ir_attr_find(e->program, lower->op, "called_computations");
    if (called && called->count)
        return emit_reject(e, error, "calls functions of the module by name, which are inlined and gone");
    if (call_target_is(e, lower->op, "SPMDFullToShardShape") ||
        call_target_is(e, lower->op, "SPMDShardToFullShape"))
        return emit_reject(e, error, "the module is partitioned by hand already");
    return lower_as_is(e, lower, error);
}

/* sharding_constraint and the like: the plan has them as pins; the value passes */
static enum error_code lower_pass(struct emit *e, struct lower_op *lower, struct error *error)
{
    if (lower->in_count < lower->out_count)
        return emit_reject(e, error, "cannot stand inside a module that is partitioned again");
    for (uint32_t i = 0; i < lower->out_count; i++) {
        if (memcmp(lower->in[i].dims, lower->out[i].dims, lower->out[i].rank * sizeof *lower->in[i].dims) !=
            0)
            return emit_reject(e, error, "operand and result lie differently on the devices");
        lower->out[i].value = lower->in[i].value;
    }
    return ERROR_OK;
}

static enum error_code lower_unknown(struct emit *e, struct lower_op *lower, struct error *error)
{
    for (uint32_t i = 0; i < lower->in_count; i++)
        for (uint32_t dim = 0; dim < lower->in[i].rank; dim++)
            if (lower_in_layout(e, lower, i, dim).sharded)
                return emit_reject(e, error, "operand %u is sharded, but the op's rule is not known", i);
    return lower_as_is(e, lower, error);
}

/* what every lowering looks like */
typedef enum error_code lower_fn(struct emit *e, struct lower_op *o, struct error *error);

static enum error_code lower_collective(struct emit *e, struct lower_op *lower, struct error *error)
{
    (void)lower;
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

static enum error_code by_family(struct emit *e, struct lower_op *lower, struct error *error)
{
    enum ir_opcode code = (enum ir_opcode)e->program->ops[lower->op].code;
    lower_fn *lowering = lower_passes_value(e, lower->op) ? lower_pass : lowering_of(ir_opcode_family(code));
    return lowering ? lowering(e, lower, error)
                    : emit_reject(e, error, "has no place as a step of a local program");
}

enum error_code lower_step(struct emit *e, const struct spmd_step *step, struct error *error)
{
    struct lower_op lower = {
        .step = step, .op = step->op, .in_count = step->operand_count, .out_count = step->result_count};
    e->op = step->op;
    lower.in = mem_zalloc(lower.in_count + lower.out_count + 1, sizeof *lower.in);
    lower.out = lower.in + lower.in_count;
    for (uint32_t i = 0; i < lower.in_count; i++)
        lower.in[i] = emit_local_tensor(e, operand_value(e, &lower, i));
    for (uint32_t i = 0; i < lower.out_count; i++)
        lower.out[i] = emit_local_tensor(e, step->results + i);
    enum error_code code = emit_attrs(e, step->op, lower.attrs, &lower.attr_count, error);
    if (!code)
        code = by_family(e, &lower, error);
    for (uint32_t i = 0; i < lower.out_count && !code; i++)
        e->value_of[step->results + i] = lower.out[i].value;
    free(lower.in);
    return code;
}

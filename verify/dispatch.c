/* From an op to the code that computes it.
 *
 * verify_eval_op asks three questions in turn: is it a pure op, a function of its operands on one device
 * (most are)? Control flow? A collective, which sees the operands of all devices at once? Anything else is
 * refused by name.
 *
 * A pure op runs once for each *different* tuple of operand buffers: a device whose operands are the very
 * buffers of an earlier device's gets that device's results. So work that is replicated over 8 devices costs
 * as much as on one. An op whose region names values from outside is excluded, as those may differ between
 * devices although the operands do not.
 *
 * This file knows which family an op belongs to; it never computes an element (identity, constants and
 * custom calls that are one of these apart). */
#include "verify/driver.h"
#include "verify/elementwise.h"

#include <stdlib.h>
#include <string.h>

/* Ops between two questions to the caller's `cancelled`, which may read a clock or a socket. */
enum { OPS_PER_CANCEL_CHECK = 64 };

typedef enum error_code family(struct verify_state *, uint32_t, struct verify_value *, struct verify_value *,
                               struct error *);

static enum error_code eval_constant(struct verify_state *s, uint32_t op, struct verify_value *in,
                                     struct verify_value *out, struct error *e)
{
    return verify_constant(s, op, ir_attr_find(s->p, op, "value"), out, e);
}

/* ops that hand their operands on as results: reshape (the layout is row-major on both sides), barriers,
 * annotations of Shardy */
static enum error_code eval_identity(struct verify_state *s, uint32_t op, struct verify_value *in,
                                     struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    if (o->result_count > o->operand_count)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "more results than operands");
    for (uint32_t i = 0; i < o->result_count; i++) {
        if (in[i].type->kind == IR_TYPE_TENSOR &&
            verify_type_count(s, in[i].type) != verify_type_count(s, out[i].type))
            return verify_fail(s, op, ERROR_INVALID_MODULE, e, "operand and result differ in elements");
        verify_value_share(&out[i], &in[i]);
    }
    return ERROR_OK;
}

static enum error_code eval_custom_call(struct verify_state *s, uint32_t op, struct verify_value *in,
                                        struct verify_value *out, struct error *e)
{
    const struct ir_attr *name = ir_attr_find(s->p, op, "call_target_name");
    const char *target = name ? ir_string(s->p, name->first) : "";
    const struct ir_op *o = &s->p->ops[op];
    if (o->operand_count == 1 && o->result_count == 1) {
        struct verify_elementwise erf = {.code = IR_CHLO_ERF};
        struct verify_array a = {(enum ir_element)in->type->element, false, verify_data(in)};
        int64_t n = verify_type_count(s, out->type);
        if (strcmp(target, "mhlo.erf") == 0 && n == verify_type_count(s, in->type)) {
            verify_value_alloc(s, out, in->splat);
            if (verify_elementwise_run(&erf, &a, 1, (enum ir_element)out->type->element, verify_data(out),
                                       in->splat ? 1 : n))
                return ERROR_OK;
        }
        if (strcmp(target, "Sharding") == 0 || strcmp(target, "annotate_device_placement") == 0)
            return eval_identity(s, op, in, out, e);
    }
    if (strcmp(target, "mhlo.topk") == 0)
        return verify_eval_top_k(s, op, in, out, e);
    return verify_fail(s, op, ERROR_NOT_AVAILABLE, e, "custom call target '%s' is not interpreted", target);
}

/* family of a pure op, NULL when the op is something else */
static family *family_of(const struct verify_state *s, uint32_t op)
{
    enum ir_opcode code = (enum ir_opcode)s->p->ops[op].code;
    switch (ir_opcode_family(code)) {
    case IR_FAMILY_ELEMENTWISE: return verify_eval_elementwise;
    case IR_FAMILY_CONSTANT: return eval_constant;
    case IR_FAMILY_IOTA: return verify_eval_iota;
    case IR_FAMILY_BROADCAST: return verify_eval_broadcast;
    case IR_FAMILY_TRANSPOSE: return verify_eval_transpose;
    case IR_FAMILY_RESHAPE:
    case IR_FAMILY_BARRIER: return eval_identity;
    case IR_FAMILY_DOT: return verify_eval_dot;
    case IR_FAMILY_CONVOLUTION: return verify_eval_convolution;
    case IR_FAMILY_REDUCE: return verify_eval_reduce;
    case IR_FAMILY_REDUCE_WINDOW:
        return code == IR_REDUCE_WINDOW ? verify_eval_reduce_window : verify_eval_select_and_scatter;
    case IR_FAMILY_BATCH_NORM: return verify_eval_batch_norm;
    case IR_FAMILY_GATHER: return verify_eval_gather;
    case IR_FAMILY_SCATTER: return verify_eval_scatter;
    case IR_FAMILY_SLICE: return verify_eval_slice;
    case IR_FAMILY_PAD: return verify_eval_pad;
    case IR_FAMILY_CONCATENATE: return verify_eval_concatenate;
    case IR_FAMILY_REVERSE: return verify_eval_reverse;
    case IR_FAMILY_DYNAMIC_SLICE: return verify_eval_dynamic_slice;
    case IR_FAMILY_DYNAMIC_UPDATE: return verify_eval_dynamic_update;
    case IR_FAMILY_SORT: return code == IR_SORT ? verify_eval_sort : verify_eval_top_k;
    case IR_FAMILY_RNG: return verify_eval_rng;
    case IR_FAMILY_LINALG: return verify_eval_linalg;
    case IR_FAMILY_BITCAST: return verify_eval_bitcast;
    case IR_FAMILY_CUSTOM_CALL: return eval_custom_call;
    case IR_FAMILY_SHARDY:
        return code == IR_SDY_MANUAL_COMPUTATION || code == IR_SDY_MESH ? NULL : eval_identity;
    case IR_FAMILY_UNKNOWN: return code == IR_MAP ? verify_eval_map : NULL;
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_COLLECTIVE:
    case IR_FAMILIES: break;
    }
    return NULL;
}

enum error_code verify_count_operations(struct verify_state *s, uint32_t op, struct error *e)
{
    uint64_t most = s->options.max_operations ? s->options.max_operations : VERIFY_MAX_OPERATIONS;
    s->statistics.operations += verify_op_operations(s->p, op);
    s->statistics.ops_executed++;
    if (s->statistics.operations > most)
        return verify_fail(s, op, ERROR_TOO_LARGE, e,
                           "more than %llu operations: the module is too large to interpret",
                           (unsigned long long)most);
    if (s->options.cancelled && s->statistics.ops_executed % OPS_PER_CANCEL_CHECK == 0 &&
        s->options.cancelled(s->options.cancel_context))
        return error_set(e, ERROR_CANCELLED, "the interpretation was cancelled");
    return ERROR_OK;
}

/* whether a region of op names values from outside, which may differ between devices with equal operands */
static bool captures(const struct ir_program *p, uint32_t op)
{
    for (uint32_t r = 0; r < p->ops[op].region_count; r++) {
        uint32_t block = ir_region_block(p, op, r);
        for (uint32_t k = 0; block != IR_NONE && k < p->blocks[block].op_count; k++) {
            uint32_t inner = p->block_ops[p->blocks[block].ops + k];
            if (p->ops[inner].region_count)
                return true;
            for (uint32_t i = 0; i < p->ops[inner].operand_count; i++)
                if (p->values[ir_operand(p, inner, i)].block != block)
                    return true;
        }
    }
    return false;
}

/* the earlier device whose operands are the same buffers, or `d` */
static uint32_t same_as(struct verify_buffer *const *keys, uint32_t operands, uint32_t devices, uint32_t d)
{
    for (uint32_t other = 0; other < d; other++) {
        bool same = true;
        for (uint32_t i = 0; i < operands && same; i++)
            same = keys[i * devices + d] == keys[i * devices + other];
        if (same)
            return other;
    }
    return d;
}

static enum error_code eval_pure(struct verify_state *s, uint32_t op, uint32_t devices, family *f,
                                 struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    uint32_t operands = o->operand_count, results = o->result_count;
    struct verify_value *one = mem_zalloc(operands + results + 1, sizeof *one);
    struct verify_buffer **keys = mem_alloc((operands * devices + 1) * sizeof *keys);
    bool shares = devices > 1 && !captures(s->p, op);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < operands * devices; i++)
        keys[i] = in[i].buffer;
    for (uint32_t d = 0; d < devices && !code; d++) {
        uint32_t other = shares ? same_as(keys, operands, devices, d) : d;
        if (other < d) {
            for (uint32_t r = 0; r < results; r++)
                verify_value_share(&out[r * devices + d], &out[r * devices + other]);
            s->statistics.ops_shared++;
            continue;
        }
        code = verify_count_operations(s, op, e);
        if (code)
            break;
        s->device = d;
        for (uint32_t i = 0; i < operands; i++) {
            one[i] = in[i * devices + d];
            in[i * devices + d].buffer = NULL;
            if (one[i].type->kind == IR_TYPE_TENSOR && !one[i].buffer)
                code = verify_fail(s, op, ERROR_INTERNAL, e, "operand %u has no value", i);
        }
        for (uint32_t r = 0; r < results; r++)
            one[operands + r] = out[r * devices + d];
        if (!code)
            code = f(s, op, one, one + operands, e);
        for (uint32_t r = 0; r < results && !code && s->options.shake; r++)
            verify_shake(s, op, &one[operands + r]);
        for (uint32_t r = 0; r < results; r++)
            out[r * devices + d] = one[operands + r];
        verify_values_drop(s, one, operands);
    }
    free(keys);
    free(one);
    return code;
}

enum error_code verify_eval_op(struct verify_state *s, uint32_t op, uint32_t devices, struct verify_value *in,
                               struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    family *f = family_of(s, op);
    if (f)
        return eval_pure(s, op, devices, f, in, out, e);
    switch ((int)o->code) {
    case IR_WHILE: return verify_eval_while(s, op, devices, in, out, e);
    case IR_CASE:
    case IR_IF: return verify_eval_branch(s, op, devices, in, out, e);
    case IR_CALL:
    case IR_COMPOSITE: return verify_eval_call(s, op, devices, in, out, e);
    case IR_SDY_MANUAL_COMPUTATION:
        if (devices != 1)
            return verify_fail(s, op, ERROR_NOT_AVAILABLE, e,
                               "nested manual computations are not interpreted");
        return verify_eval_manual(s, op, in, out, e);
    default: break;
    }
    if (ir_opcode_family((enum ir_opcode)o->code) == IR_FAMILY_COLLECTIVE) {
        enum error_code code = verify_count_operations(s, op, e);
        s->statistics.collectives += o->code != IR_PARTITION_ID && o->code != IR_REPLICA_ID;
        return code ? code : verify_eval_collective(s, op, devices, in, out, e);
    }
    return verify_fail(s, op, ERROR_NOT_AVAILABLE, e, "the interpreter does not know this op");
}

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

static enum error_code eval_constant(struct verify_state *state, uint32_t op, struct verify_value *in,
                                     struct verify_value *out, struct error *e)
{
    return verify_constant(state, op, ir_attr_find(state->program, op, "value"), out, e);
}

/* ops that hand their operands on as results: reshape (the layout is row-major on both sides), barriers,
 * annotations of Shardy */
static enum error_code eval_identity(struct verify_state *state, uint32_t op, struct verify_value *in,
                                     struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    if (ir_op->result_count > ir_op->operand_count)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "more results than operands");
    for (uint32_t i = 0; i < ir_op->result_count; i++) {
        if (in[i].type->kind == IR_TYPE_TENSOR &&
            verify_type_count(state, in[i].type) != verify_type_count(state, out[i].type))
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand and result differ in elements");
        verify_value_share(&out[i], &in[i]);
    }
    return ERROR_OK;
}

/* What the host is told by jax.debug.print and its like: no results, so nothing to compute. */
static bool is_callback(const char *target, const struct ir_op *op)
{
    static const char *const names[] = {
        "xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback",
        "xla_ffi_python_gpu_callback", "xla_ffi_partitioned_python_gpu_callback",
        "xla_python_cpu_callback",     "xla_python_gpu_callback"};
    for (size_t i = 0; i < sizeof names / sizeof *names && op->result_count == 0; i++)
        if (strcmp(target, names[i]) == 0)
            return true;
    return false;
}

static enum error_code eval_custom_call(struct verify_state *state, uint32_t op, struct verify_value *in,
                                        struct verify_value *out, struct error *e)
{
    const struct ir_attr *name = ir_attr_find(state->program, op, "call_target_name");
    const char *target = name ? ir_string(state->program, name->first) : "";
    const struct ir_op *ir_op = &state->program->ops[op];
    if (ir_op->operand_count == 1 && ir_op->result_count == 1) {
        struct verify_elementwise erf = {.code = IR_CHLO_ERF};
        struct verify_array array = {(enum ir_element)in->type->element, false, verify_data(in)};
        int64_t n = verify_type_count(state, out->type);
        if (strcmp(target, "mhlo.erf") == 0 && n == verify_type_count(state, in->type)) {
            verify_value_alloc(state, out, in->splat);
            if (verify_elementwise_run(&erf, &array, 1, (enum ir_element)out->type->element, verify_data(out),
                                       in->splat ? 1 : n))
                return ERROR_OK;
        }
        if (strcmp(target, "Sharding") == 0 || strcmp(target, "annotate_device_placement") == 0)
            return eval_identity(state, op, in, out, e);
    }
    if (strcmp(target, "mhlo.topk") == 0)
        return verify_eval_top_k(state, op, in, out, e);
    if (is_callback(target, ir_op))
        return ERROR_OK;
    if (strcmp(target, "cu_lu_pivots_to_permutation") == 0 && ir_op->operand_count == 1 &&
        ir_op->result_count == 1)
        return verify_eval_permutation(state, op, in, out, e);
    if (verify_is_lapack(target))
        return verify_eval_lapack(state, op, in, out, e);
    return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "custom call target '%s' is not interpreted",
                       target);
}

/* family of a pure op, NULL when the op is something else */
static family *family_of(const struct verify_state *state, uint32_t op)
{
    enum ir_opcode code = (enum ir_opcode)state->program->ops[op].code;
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

enum error_code verify_count_operations(struct verify_state *state, uint32_t op, struct error *e)
{
    uint64_t most = state->options.max_operations ? state->options.max_operations : VERIFY_MAX_OPERATIONS;
    state->statistics.operations += verify_op_operations(state->program, op);
    state->statistics.ops_executed++;
    if (state->statistics.operations > most)
        return verify_fail(state, op, ERROR_TOO_LARGE, e,
                           "more than %llu operations: the module is too large to interpret",
                           (unsigned long long)most);
    if (state->options.cancelled && state->statistics.ops_executed % OPS_PER_CANCEL_CHECK == 0 &&
        state->options.cancelled(state->options.cancel_context))
        return error_set(e, ERROR_CANCELLED, "the interpretation was cancelled");
    return ERROR_OK;
}

/* whether a region of op names values from outside, which may differ between devices with equal operands */
static bool captures(const struct ir_program *program, uint32_t op)
{
    for (uint32_t region = 0; region < program->ops[op].region_count; region++) {
        uint32_t block = ir_region_block(program, op, region);
        for (uint32_t k = 0; block != IR_NONE && k < program->blocks[block].op_count; k++) {
            uint32_t inner = program->block_ops[program->blocks[block].ops + k];
            if (program->ops[inner].region_count)
                return true;
            for (uint32_t i = 0; i < program->ops[inner].operand_count; i++)
                if (program->values[ir_operand(program, inner, i)].block != block)
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

static enum error_code eval_pure(struct verify_state *state, uint32_t op, uint32_t devices, family *f,
                                 struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    uint32_t operands = ir_op->operand_count, results = ir_op->result_count;
    struct verify_value *one = mem_zalloc(operands + results + 1, sizeof *one);
    struct verify_buffer **keys = mem_alloc((operands * devices + 1) * sizeof *keys);
    bool shares = devices > 1 && !captures(state->program, op);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < operands * devices; i++)
        keys[i] = in[i].buffer;
    for (uint32_t d = 0; d < devices && !code; d++) {
        uint32_t other = shares ? same_as(keys, operands, devices, d) : d;
        if (other < d) {
            for (uint32_t r = 0; r < results; r++)
                verify_value_share(&out[r * devices + d], &out[r * devices + other]);
            state->statistics.ops_shared++;
            continue;
        }
        code = verify_count_operations(state, op, e);
        if (code)
            break;
        state->device = d;
        for (uint32_t i = 0; i < operands; i++) {
            one[i] = in[i * devices + d];
            in[i * devices + d].buffer = NULL;
            if (one[i].type->kind == IR_TYPE_TENSOR && !one[i].buffer)
                code = verify_fail(state, op, ERROR_INTERNAL, e, "operand %u has no value", i);
        }
        for (uint32_t r = 0; r < results; r++)
            one[operands + r] = out[r * devices + d];
        if (!code && state->options.magnitudes)
            verify_note_summed(state, op, one);
        if (!code)
            code = f(state, op, one, one + operands, e);
        if (!code && state->options.magnitudes && results)
            verify_note_largest(state, op, &one[operands]);
        for (uint32_t r = 0; r < results && !code && state->options.shake; r++)
            verify_shake(state, op, &one[operands + r]);
        for (uint32_t r = 0; r < results; r++)
            out[r * devices + d] = one[operands + r];
        verify_values_drop(state, one, operands);
    }
    free(keys);
    free(one);
    return code;
}

enum error_code verify_eval_op(struct verify_state *state, uint32_t op, uint32_t devices,
                               struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    family *f = family_of(state, op);
    if (f)
        return eval_pure(state, op, devices, f, in, out, e);
    switch ((int)ir_op->code) {
    case IR_WHILE: return verify_eval_while(state, op, devices, in, out, e);
    case IR_CASE:
    case IR_IF: return verify_eval_branch(state, op, devices, in, out, e);
    case IR_CALL:
    case IR_COMPOSITE: return verify_eval_call(state, op, devices, in, out, e);
    case IR_SDY_MANUAL_COMPUTATION:
        if (devices != 1)
            return verify_fail(state, op, ERROR_NOT_AVAILABLE, e,
                               "nested manual computations are not interpreted");
        return verify_eval_manual(state, op, in, out, e);
    default: break;
    }
    if (ir_opcode_family((enum ir_opcode)ir_op->code) == IR_FAMILY_COLLECTIVE) {
        enum error_code code = verify_count_operations(state, op, e);
        state->statistics.collectives += ir_op->code != IR_PARTITION_ID && ir_op->code != IR_REPLICA_ID;
        return code ? code : verify_eval_collective(state, op, devices, in, out, e);
    }
    return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "the interpreter does not know this op");
}

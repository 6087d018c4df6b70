/* The driver: walks blocks op by op, all devices in lock-step, and hands each op to its family.
 *
 * An op that is a function of its operands alone is computed once for all devices that hold the same operand
 * buffers. Values are dropped after their last use (found once per program), so a family may update a buffer
 * in place when it holds the only reference. Control flow needs one predicate for all devices. */
#include "verify/elementwise.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- last uses */
/* the op of `block` that contains (or is) op; IR_NONE when op lies elsewhere */
static uint32_t enclosing(const struct ir_program *p, uint32_t op, uint32_t block)
{
    while (op != IR_NONE && p->ops[op].block != block) {
        if (p->ops[op].block == IR_NONE)
            return IR_NONE;
        op = p->regions[p->blocks[p->ops[op].block].region].op;
    }
    return op;
}

/* s->release lists, for each op, the values whose last use it is, or which it defines and nobody uses */
static void find_last_uses(struct verify_state *s)
{
    const struct ir_program *p = s->p;
    uint32_t *last = mem_alloc((p->value_count + 1) * sizeof *last);
    uint32_t *rank = mem_zalloc(p->op_count + 1, sizeof *rank); /* position of an op in its block */
    for (uint32_t b = 0; b < p->block_count; b++)
        for (uint32_t k = 0; k < p->blocks[b].op_count; k++)
            rank[p->block_ops[p->blocks[b].ops + k]] = k;
    for (uint32_t v = 0; v < p->value_count; v++)
        last[v] = p->values[v].op;
    for (uint32_t o = 0; o < p->op_count; o++)
        for (uint32_t i = 0; i < p->ops[o].operand_count; i++) {
            uint32_t v = ir_operand(p, o, i), at = enclosing(p, o, p->values[v].block);
            if (at != IR_NONE && (last[v] == IR_NONE || rank[at] >= rank[last[v]]))
                last[v] = at;
        }
    uint32_t *first = mem_zalloc(p->op_count + 2, sizeof *first),
             *list = mem_alloc((p->value_count + 1) * sizeof *list);
    for (uint32_t v = 0; v < p->value_count; v++)
        if (last[v] != IR_NONE)
            first[last[v] + 1]++;
    for (uint32_t o = 0; o < p->op_count; o++)
        first[o + 1] += first[o];
    uint32_t *next = mem_alloc((p->op_count + 1) * sizeof *next);
    memcpy(next, first, (p->op_count + 1) * sizeof *next);
    for (uint32_t v = 0; v < p->value_count; v++)
        if (last[v] != IR_NONE)
            list[next[last[v]]++] = v;
    s->release = list;
    s->release_at = first;
    free(next);
    free(last);
    free(rank);
}

/* ---------------------------------------------------------------- slots */
static void slot_clear(struct verify_state *s, uint32_t value)
{
    struct verify_slot *slot = &s->slots[value];
    for (uint32_t d = 0; d < slot->devices; d++)
        verify_value_drop(s, &slot->at[d]);
    slot->devices = 0;
}

/* takes the values over */
static void slot_set(struct verify_state *s, uint32_t value, uint32_t devices,
                     const struct verify_value *values)
{
    struct verify_slot *slot = &s->slots[value];
    slot_clear(s, value);
    slot->at = mem_realloc(slot->at, devices, sizeof *slot->at);
    slot->devices = devices;
    memcpy(slot->at, values, devices * sizeof *values);
}

static void release_after(struct verify_state *s, uint32_t op)
{
    for (uint32_t i = s->release_at[op]; i < s->release_at[op + 1]; i++)
        slot_clear(s, s->release[i]);
}

static void drop_all(struct verify_state *s, struct verify_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        verify_value_drop(s, &values[i]);
}

/* operands of all devices, [i * devices + d]; moved out of their slots when this is their last use and they
 * do not occur twice */
static enum error_code fetch(struct verify_state *s, uint32_t op, uint32_t devices, struct verify_value *in,
                             struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    for (uint32_t i = 0; i < o->operand_count; i++) {
        uint32_t v = ir_operand(s->p, op, i);
        struct verify_slot *slot = &s->slots[v];
        if (slot->devices != devices && slot->devices != 1)
            return verify_fail(s, op, ERROR_INVALID_MODULE, e, "operand %u is not there", i);
        for (uint32_t d = 0; d < devices; d++) {
            struct verify_value *from = &slot->at[slot->devices == 1 ? 0 : d];
            in[i * devices + d].type = ir_value_type(s->p, v);
            verify_value_share(&in[i * devices + d], from);
        }
    }
    /* so that a family may hold the only reference; regions may name the values too and keep them until the
     * end */
    for (uint32_t i = s->release_at[op]; i < s->release_at[op + 1] && o->region_count == 0; i++)
        if (s->p->values[s->release[i]].op != op)
            slot_clear(s, s->release[i]);
    return ERROR_OK;
}

/* ---------------------------------------------------------------- ops of one device */
typedef enum error_code family(struct verify_state *, uint32_t, struct verify_value *, struct verify_value *,
                               struct error *);

static enum error_code eval_constant(struct verify_state *s, uint32_t op, struct verify_value *in,
                                     struct verify_value *out, struct error *e)
{
    return verify_constant(s, op, ir_attr_find(s->p, op, "value"), out, e);
}

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

static enum error_code count_operations(struct verify_state *s, uint32_t op, struct error *e)
{
    uint64_t most = s->options.max_operations ? s->options.max_operations : 20000000000u;
    s->statistics.operations += verify_op_operations(s->p, op);
    s->statistics.ops_executed++;
    if (s->statistics.operations > most)
        return verify_fail(s, op, ERROR_TOO_LARGE, e,
                           "more than %llu operations: the module is too large to interpret",
                           (unsigned long long)most);
    if (s->options.cancelled && s->statistics.ops_executed % 64 == 0 &&
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
        code = count_operations(s, op, e);
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
        drop_all(s, one, operands);
    }
    free(keys);
    free(one);
    return code;
}

/* ---------------------------------------------------------------- control flow */
/* one integer for all devices; a difference is a deadlock on real ones */
static enum error_code uniform(struct verify_state *s, uint32_t op, const struct verify_value *values,
                               uint32_t devices, const char *what, int64_t *out, struct error *e)
{
    if (verify_store_of((enum ir_element)values->type->element) > VERIFY_I64 ||
        verify_type_count(s, values->type) != 1)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "%s is no scalar integer", what);
    *out = verify_value_int(&values[0], 0);
    for (uint32_t d = 1; d < devices; d++)
        if (verify_value_int(&values[d], 0) != *out)
            return verify_fail(s, op, ERROR_INVALID_MODULE, e,
                               "%s is %lld on device 0 and %lld on device %u: the devices would deadlock",
                               what, (long long)*out, (long long)verify_value_int(&values[d], 0), d);
    return ERROR_OK;
}

static void share_all(const struct verify_value *from, struct verify_value *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        if (to[i].buffer)
            to[i].buffer->uses++;
    }
}

static enum error_code eval_while(struct verify_state *s, uint32_t op, uint32_t devices,
                                  struct verify_value *in, struct verify_value *out, struct error *e)
{
    uint32_t cond = ir_region_block(s->p, op, 0), body = ir_region_block(s->p, op, 1);
    size_t count = s->p->ops[op].operand_count, all = count * devices;
    if (cond == IR_NONE || body == IR_NONE || s->p->blocks[cond].arg_count != count ||
        s->p->blocks[body].arg_count != count || s->p->ops[op].result_count != count)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "regions do not fit the operands");
    struct verify_value *args = mem_zalloc(all + 1, sizeof *args), *test = mem_zalloc(devices, sizeof *test);
    enum error_code code = ERROR_OK;
    memcpy(out, in, all * sizeof *in); /* the carried values live in out */
    memset(in, 0, all * sizeof *in);
    for (;;) {
        int64_t go = 0;
        share_all(out, args, all);
        code = verify_block(s, cond, devices, args, test, e);
        if (code)
            break;
        code = uniform(s, op, test, devices, "the loop's condition", &go, e);
        drop_all(s, test, devices);
        code = code ? code : count_operations(s, op, e);
        if (code || !go)
            break;
        memcpy(args, out, all * sizeof *out);
        memset(out, 0, all * sizeof *out);
        code = verify_block(s, body, devices, args, out, e);
        if (code)
            break;
    }
    drop_all(s, test, devices);
    free(args);
    free(test);
    return code;
}

static enum error_code eval_branch(struct verify_state *s, uint32_t op, uint32_t devices,
                                   struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    int64_t which = 0;
    enum error_code code = uniform(s, op, in, devices, "the branch index", &which, e);
    if (code)
        return code;
    if (o->code == IR_IF)
        which = which ? 0 : 1;
    else if (which < 0 || which >= (int64_t)o->region_count)
        which = (int64_t)o->region_count - 1;
    uint32_t block = ir_region_block(s->p, op, (uint32_t)which);
    if (block == IR_NONE || s->p->blocks[block].arg_count)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "branch %lld is empty or takes arguments",
                           (long long)which);
    return verify_block(s, block, devices, NULL, out, e);
}

static enum error_code eval_call(struct verify_state *s, uint32_t op, uint32_t devices,
                                 struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    const struct ir_attr *callee =
        ir_attr_find(s->p, op, o->code == IR_COMPOSITE ? "decomposition" : "callee");
    uint32_t func = callee && (callee->kind == IR_ATTR_SYMBOL)
                        ? ir_function(s->p, ir_string(s->p, callee->first))
                        : IR_NONE;
    uint32_t block = func == IR_NONE ? IR_NONE : ir_region_block(s->p, func, 0);
    if (block == IR_NONE || s->p->blocks[block].arg_count != o->operand_count)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e,
                           "the callee is unknown, empty or takes other arguments");
    if (s->active[func])
        return verify_fail(s, op, ERROR_UNSUPPORTED_MODULE, e, "recursive calls are not interpreted");
    s->active[func] = 1;
    struct verify_value *args = mem_zalloc((size_t)o->operand_count * devices + 1, sizeof *args);
    memcpy(args, in, (size_t)o->operand_count * devices * sizeof *args);
    memset(in, 0, (size_t)o->operand_count * devices * sizeof *args);
    enum error_code code = verify_block(s, block, devices, args, out, e);
    free(args);
    s->active[func] = 0;
    return code;
}

static enum error_code eval_op(struct verify_state *s, uint32_t op, uint32_t devices, struct verify_value *in,
                               struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    family *f = family_of(s, op);
    if (f)
        return eval_pure(s, op, devices, f, in, out, e);
    switch ((int)o->code) {
    case IR_WHILE: return eval_while(s, op, devices, in, out, e);
    case IR_CASE:
    case IR_IF: return eval_branch(s, op, devices, in, out, e);
    case IR_CALL:
    case IR_COMPOSITE: return eval_call(s, op, devices, in, out, e);
    case IR_SDY_MANUAL_COMPUTATION:
        if (devices != 1)
            return verify_fail(s, op, ERROR_NOT_AVAILABLE, e,
                               "nested manual computations are not interpreted");
        return verify_eval_manual(s, op, in, out, e);
    default: break;
    }
    if (ir_opcode_family((enum ir_opcode)o->code) == IR_FAMILY_COLLECTIVE) {
        enum error_code code = count_operations(s, op, e);
        s->statistics.collectives += o->code != IR_PARTITION_ID && o->code != IR_REPLICA_ID;
        return code ? code : verify_eval_collective(s, op, devices, in, out, e);
    }
    return verify_fail(s, op, ERROR_NOT_AVAILABLE, e, "the interpreter does not know this op");
}

/* ---------------------------------------------------------------- blocks */
static enum error_code run_op(struct verify_state *s, uint32_t op, uint32_t devices, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    size_t in_count = (size_t)o->operand_count * devices, out_count = (size_t)o->result_count * devices;
    struct verify_value *in = mem_zalloc(in_count + 1, sizeof *in),
                        *out = mem_zalloc(out_count + 1, sizeof *out);
    for (uint32_t r = 0; r < o->result_count; r++) {
        const struct ir_type *t = ir_value_type(s->p, ir_result(s->p, op, r));
        for (uint32_t d = 0; d < devices; d++)
            out[r * devices + d].type = t;
    }
    enum error_code code = fetch(s, op, devices, in, e);
    for (uint32_t r = 0; r < o->result_count && !code; r++)
        if (out[r * devices].type->kind == IR_TYPE_TENSOR &&
            ((out[r * devices].type->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED | IR_TYPE_QUANTIZED)) ||
             verify_element_size((enum ir_element)out[r * devices].type->element) == 0))
            code = verify_fail(s, op, ERROR_NOT_AVAILABLE, e, "values of type %s cannot be interpreted",
                               ir_string(s->p, out[r * devices].type->text));
    code = code ? code : eval_op(s, op, devices, in, out, e);
    drop_all(s, in, in_count);
    if (code) {
        drop_all(s, out, out_count);
    } else {
        for (uint32_t r = 0; r < o->result_count; r++) {
            const struct ir_type *t = ir_value_type(s->p, ir_result(s->p, op, r));
            for (uint32_t d = 0; d < devices; d++)
                out[r * devices + d].type = t;
            slot_set(s, ir_result(s->p, op, r), devices, out + r * devices);
        }
        release_after(s, op);
    }
    free(in);
    free(out);
    return code;
}

static enum error_code terminate(struct verify_state *s, uint32_t op, uint32_t devices,
                                 struct verify_value *results, struct error *e)
{
    if (ir_opcode_family((enum ir_opcode)s->p->ops[op].code) != IR_FAMILY_STRUCTURE)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "a block must end with a return");
    enum error_code code = fetch(s, op, devices, results, e);
    release_after(s, op);
    return code;
}

enum error_code verify_block(struct verify_state *s, uint32_t block, uint32_t devices,
                             struct verify_value *args, struct verify_value *results, struct error *e)
{
    const struct ir_block *b = &s->p->blocks[block];
    uint32_t last = ir_block_terminator(s->p, block);
    if (last == IR_NONE || s->depth >= VERIFY_MAX_DEPTH) {
        drop_all(s, args, (size_t)b->arg_count * devices);
        return error_set(e, ERROR_INVALID_MODULE,
                         last == IR_NONE ? "an empty block" : "regions nest too deeply");
    }
    for (uint32_t i = 0; i < b->arg_count; i++)
        slot_set(s, b->args + i, devices, args + i * devices);
    s->depth++;
    enum error_code code = ERROR_OK;
    for (uint32_t k = 0; k + 1 < b->op_count && !code; k++)
        code = run_op(s, s->p->block_ops[b->ops + k], devices, e);
    if (!code)
        code = terminate(s, last, devices, results, e);
    for (uint32_t i = 0; i < b->arg_count; i++) /* those that nobody uses */
        slot_clear(s, b->args + i);
    s->depth--;
    return code;
}

/* ---------------------------------------------------------------- entry */
static enum error_code bind(struct verify_state *s, uint32_t func, uint32_t block, uint32_t devices,
                            const struct verify_tensor *inputs, struct verify_value *args, struct error *e)
{
    const struct ir_block *b = &s->p->blocks[block];
    for (uint32_t i = 0; i < b->arg_count; i++)
        for (uint32_t d = 0; d < devices; d++) {
            const struct verify_tensor *t = &inputs[d * b->arg_count + i];
            struct verify_value *v = &args[i * devices + d];
            v->type = ir_value_type(s->p, b->args + i);
            bool fits = v->type->kind == IR_TYPE_TENSOR && t->data &&
                        t->element == (enum ir_element)v->type->element && t->rank == v->type->rank &&
                        verify_element_size(t->element) > 0;
            for (uint32_t k = 0; k < t->rank && fits; k++)
                fits = t->dims[k] == ir_type_dims(s->p, v->type)[k];
            if (!fits)
                return verify_fail(s, func, ERROR_INVALID_MODULE, e,
                                   "the input for argument %u of device %u is not a %s", i, d,
                                   ir_string(s->p, v->type->text));
            if (d > 0 && inputs[(d - 1) * b->arg_count + i].data == t->data) {
                verify_value_share(v, &args[i * devices + d - 1]);
                continue;
            }
            verify_value_alloc(s, v, false);
            memcpy(verify_data(v), t->data, (size_t)verify_tensor_count(t) * verify_element_size(t->element));
        }
    return ERROR_OK;
}

static void unbind(struct verify_state *s, uint32_t count, uint32_t devices, struct verify_value *results,
                   struct verify_tensor *outputs)
{
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t d = 0; d < devices; d++) {
            struct verify_value *v = &results[r * devices + d];
            struct verify_tensor t = {(enum ir_element)v->type->element, v->type->rank, {0}, NULL};
            memcpy(t.dims, ir_type_dims(s->p, v->type), t.rank * sizeof *t.dims);
            verify_value_dense(s, v);
            size_t bytes = (size_t)verify_tensor_count(&t) * verify_element_size(t.element);
            t.data = mem_alloc(bytes + 16);
            memcpy(t.data, verify_data(v), bytes);
            outputs[d * count + r] = t;
            verify_value_drop(s, v);
        }
}

enum error_code verify_run(const struct ir_program *p, const char *function, uint32_t devices,
                           const struct verify_tensor *inputs, struct verify_tensor *outputs,
                           const struct verify_options *options, struct verify_statistics *statistics,
                           struct error *e)
{
    struct verify_state s = {.p = p};
    uint32_t func = ir_function(p, function), block = func == IR_NONE ? IR_NONE : ir_region_block(p, func, 0);
    if (block == IR_NONE || devices < 1)
        return error_set(e, ERROR_INVALID_MODULE, "the module has no function @%s with one block", function);
    if (options)
        s.options = *options;
    s.style = s.options.style;
    s.statistics.divergent_result = IR_NONE;
    s.slots = mem_zalloc(p->value_count + 1, sizeof *s.slots);
    s.active = mem_zalloc(p->op_count + 1, 1);
    s.active[func] = 1;
    find_last_uses(&s);
    uint32_t last = ir_block_terminator(p, block), count = last == IR_NONE ? 0 : p->ops[last].operand_count;
    size_t arg_count = (size_t)p->blocks[block].arg_count * devices;
    struct verify_value *args = mem_zalloc(arg_count + 1, sizeof *args);
    struct verify_value *results = mem_zalloc((size_t)count * devices + 1, sizeof *results);
    enum error_code code = bind(&s, func, block, devices, inputs, args, e);
    if (code)
        drop_all(&s, args, arg_count);
    else
        code = verify_block(&s, block, devices, args, results, e);
    for (uint32_t r = 0; r < count && !code; r++)
        if (!results[r * devices].buffer)
            code = verify_fail(&s, last, ERROR_NOT_AVAILABLE, e, "result %u is no tensor", r);
    if (!code)
        unbind(&s, count, devices, results, outputs);
    drop_all(&s, results, (size_t)count * devices);
    if (statistics)
        *statistics = s.statistics;
    verify_state_release(&s);
    free(args);
    free(results);
    return code;
}

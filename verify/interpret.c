/* The interpreter's driver: binds inputs to @main's arguments, walks blocks op by op with all devices in
 * lock-step, and copies the results out.
 *
 *     verify_run          inputs -> slots of the arguments
 *       verify_block      one block on all devices; nested for regions and calls
 *         run_op          slots -> operands -> verify_eval_op -> results -> slots
 *                           |                     dispatch.c: a family of pure ops, a collective, or
 *                           slots.c               control.c, which opens blocks again
 *       results -> outputs
 *
 * Operands and results of an op for all devices are one array, [i * devices + d]: the copies of operand i lie
 * side by side.
 *
 * Promises: outputs are written only when the run succeeds; every value is dropped on every way out. Never
 * reads files, clocks or globals; a run is deterministic. */
#include "verify/driver.h"

#include <stdlib.h>
#include <string.h>

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
    enum error_code code = verify_slots_fetch(s, op, devices, in, e);
    for (uint32_t r = 0; r < o->result_count && !code; r++)
        if (out[r * devices].type->kind == IR_TYPE_TENSOR &&
            ((out[r * devices].type->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED | IR_TYPE_QUANTIZED)) ||
             verify_element_size((enum ir_element)out[r * devices].type->element) == 0))
            code = verify_fail(s, op, ERROR_NOT_AVAILABLE, e, "values of type %s cannot be interpreted",
                               ir_string(s->p, out[r * devices].type->text));
    code = code ? code : verify_eval_op(s, op, devices, in, out, e);
    verify_values_drop(s, in, in_count);
    if (code) {
        verify_values_drop(s, out, out_count);
    } else {
        for (uint32_t r = 0; r < o->result_count; r++) {
            const struct ir_type *t = ir_value_type(s->p, ir_result(s->p, op, r));
            for (uint32_t d = 0; d < devices; d++)
                out[r * devices + d].type = t;
            verify_slot_set(s, ir_result(s->p, op, r), devices, out + r * devices);
        }
        verify_slots_release(s, op);
    }
    free(in);
    free(out);
    return code;
}

/* the block's last op: its operands are the block's results */
static enum error_code terminate(struct verify_state *s, uint32_t op, uint32_t devices,
                                 struct verify_value *results, struct error *e)
{
    if (ir_opcode_family((enum ir_opcode)s->p->ops[op].code) != IR_FAMILY_STRUCTURE)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "a block must end with a return");
    enum error_code code = verify_slots_fetch(s, op, devices, results, e);
    verify_slots_release(s, op);
    return code;
}

enum error_code verify_block(struct verify_state *s, uint32_t block, uint32_t devices,
                             struct verify_value *args, struct verify_value *results, struct error *e)
{
    const struct ir_block *b = &s->p->blocks[block];
    uint32_t last = ir_block_terminator(s->p, block);
    if (last == IR_NONE || s->depth >= VERIFY_MAX_DEPTH) {
        verify_values_drop(s, args, (size_t)b->arg_count * devices);
        return error_set(e, ERROR_INVALID_MODULE,
                         last == IR_NONE ? "an empty block" : "regions nest too deeply");
    }
    for (uint32_t i = 0; i < b->arg_count; i++)
        verify_slot_set(s, b->args + i, devices, args + i * devices);
    s->depth++;
    enum error_code code = ERROR_OK;
    for (uint32_t k = 0; k + 1 < b->op_count && !code; k++)
        code = run_op(s, s->p->block_ops[b->ops + k], devices, e);
    if (!code)
        code = terminate(s, last, devices, results, e);
    for (uint32_t i = 0; i < b->arg_count; i++) /* those that nobody uses */
        verify_slot_clear(s, b->args + i);
    s->depth--;
    return code;
}

/* inputs -> arguments; an input that two neighbouring devices have at one address is copied once
 * and shared */
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

/* results -> outputs, dense and owned by the caller */
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
            t.data = mem_alloc(bytes + IR_ELEMENT_BYTES);
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
    verify_slots_plan(&s);
    uint32_t last = ir_block_terminator(p, block), count = last == IR_NONE ? 0 : p->ops[last].operand_count;
    size_t arg_count = (size_t)p->blocks[block].arg_count * devices;
    struct verify_value *args = mem_zalloc(arg_count + 1, sizeof *args);
    struct verify_value *results = mem_zalloc((size_t)count * devices + 1, sizeof *results);
    enum error_code code = bind(&s, func, block, devices, inputs, args, e);
    if (code)
        verify_values_drop(&s, args, arg_count);
    else
        code = verify_block(&s, block, devices, args, results, e);
    for (uint32_t r = 0; r < count && !code; r++)
        if (!results[r * devices].buffer)
            code = verify_fail(&s, last, ERROR_NOT_AVAILABLE, e, "result %u is no tensor", r);
    if (!code)
        unbind(&s, count, devices, results, outputs);
    verify_values_drop(&s, results, (size_t)count * devices);
    if (statistics)
        *statistics = s.statistics;
    verify_state_release(&s);
    free(args);
    free(results);
    return code;
}

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

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds a watched number to what was computed of it before. Weights are multiples of the golden ratio: no two
 * times have the same. */
static void watch(struct verify_state *state, uint32_t value, uint32_t devices,
                  const struct verify_value *values)
{
    uint32_t number = state->options.watch->number[value];
    if (!number)
        return;
    double weight = 1 + fmod((double)state->times[number - 1]++ * 0.6180339887498949, 1);
    for (uint32_t d = 0; d < devices; d++) {
        double x = creal(verify_number(&values[d], 0));
        state->watched[(number - 1) * devices + d] += weight * (isfinite(x) ? x : 1);
    }
}

static enum error_code run_op(struct verify_state *state, uint32_t op, uint32_t devices, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    size_t in_count = (size_t)ir_op->operand_count * devices,
           out_count = (size_t)ir_op->result_count * devices;
    struct verify_value *in = mem_zalloc(in_count + 1, sizeof *in),
                        *out = mem_zalloc(out_count + 1, sizeof *out);
    for (uint32_t result = 0; result < ir_op->result_count; result++) {
        const struct ir_type *type = ir_value_type(state->program, ir_result(state->program, op, result));
        for (uint32_t d = 0; d < devices; d++)
            out[result * devices + d].type = type;
    }
    enum error_code code = verify_slots_fetch(state, op, devices, in, e);
    for (uint32_t result = 0; result < ir_op->result_count && !code; result++)
        if (out[result * devices].type->kind == IR_TYPE_TENSOR &&
            ((out[result * devices].type->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED | IR_TYPE_QUANTIZED)) ||
             verify_element_size((enum ir_element)out[result * devices].type->element) == 0))
            code = verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "values of type %s cannot be interpreted",
                               ir_string(state->program, out[result * devices].type->text));
    code = code ? code : verify_eval_op(state, op, devices, in, out, e);
    verify_values_drop(state, in, in_count);
    if (code) {
        verify_values_drop(state, out, out_count);
    } else {
        for (uint32_t result = 0; result < ir_op->result_count; result++) {
            const struct ir_type *type = ir_value_type(state->program, ir_result(state->program, op, result));
            for (uint32_t d = 0; d < devices; d++)
                out[result * devices + d].type = type;
            if (state->watched)
                watch(state, ir_result(state->program, op, result), devices, out + result * devices);
            verify_slot_set(state, ir_result(state->program, op, result), devices, out + result * devices);
        }
        verify_slots_release(state, op);
    }
    free(in);
    free(out);
    return code;
}

/* the block's last op: its operands are the block's results */
static enum error_code terminate(struct verify_state *state, uint32_t op, uint32_t devices,
                                 struct verify_value *results, struct error *e)
{
    if (ir_opcode_family((enum ir_opcode)state->program->ops[op].code) != IR_FAMILY_STRUCTURE)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "a block must end with a return");
    enum error_code code = verify_slots_fetch(state, op, devices, results, e);
    verify_slots_release(state, op);
    return code;
}

enum error_code verify_block(struct verify_state *state, uint32_t block, uint32_t devices,
                             struct verify_value *args, struct verify_value *results, struct error *e)
{
    const struct ir_block *ir_block = &state->program->blocks[block];
    uint32_t last = ir_block_terminator(state->program, block);
    if (last == IR_NONE || state->depth >= VERIFY_MAX_DEPTH) {
        verify_values_drop(state, args, (size_t)ir_block->arg_count * devices);
        return error_set(e, ERROR_INVALID_MODULE,
                         last == IR_NONE ? "an empty block" : "regions nest too deeply");
    }
    for (uint32_t i = 0; i < ir_block->arg_count; i++)
        verify_slot_set(state, ir_block->args + i, devices, args + i * devices);
    state->depth++;
    enum error_code code = ERROR_OK;
    for (uint32_t k = 0; k + 1 < ir_block->op_count && !code; k++)
        code = run_op(state, state->program->block_ops[ir_block->ops + k], devices, e);
    if (!code)
        code = terminate(state, last, devices, results, e);
    for (uint32_t i = 0; i < ir_block->arg_count; i++) /* those that nobody uses */
        verify_slot_clear(state, ir_block->args + i);
    state->depth--;
    return code;
}

/* inputs -> arguments; an input that two neighbouring devices have at one address is copied once
 * and shared */
static enum error_code bind(struct verify_state *state, uint32_t func, uint32_t block, uint32_t devices,
                            const struct verify_tensor *inputs, struct verify_value *args, struct error *e)
{
    const struct ir_block *ir_block = &state->program->blocks[block];
    for (uint32_t i = 0; i < ir_block->arg_count; i++)
        for (uint32_t d = 0; d < devices; d++) {
            const struct verify_tensor *tensor = &inputs[d * ir_block->arg_count + i];
            struct verify_value *value = &args[i * devices + d];
            value->type = ir_value_type(state->program, ir_block->args + i);
            bool fits = value->type->kind == IR_TYPE_TENSOR && tensor->data &&
                        tensor->element == (enum ir_element)value->type->element &&
                        tensor->rank == value->type->rank && verify_element_size(tensor->element) > 0;
            for (uint32_t k = 0; k < tensor->rank && fits; k++)
                fits = tensor->dims[k] == ir_type_dims(state->program, value->type)[k];
            if (!fits)
                return verify_fail(state, func, ERROR_INVALID_MODULE, e,
                                   "the input for argument %u of device %u is not a %s", i, d,
                                   ir_string(state->program, value->type->text));
            if (d > 0 && inputs[(d - 1) * ir_block->arg_count + i].data == tensor->data) {
                verify_value_share(value, &args[i * devices + d - 1]);
                continue;
            }
            verify_value_alloc(state, value, false);
            memcpy(verify_data(value), tensor->data,
                   (size_t)verify_tensor_count(tensor) * verify_element_size(tensor->element));
        }
    return ERROR_OK;
}

/* what was watched, behind the results of each device */
static void unbind_watched(const struct verify_state *state, uint32_t count, uint32_t devices,
                           struct verify_tensor *outputs)
{
    uint32_t watched = state->options.watch->count, all = count + watched;
    for (uint32_t k = 0; k < watched; k++)
        for (uint32_t d = 0; d < devices; d++) {
            double *number = mem_zalloc(1, sizeof *number + IR_ELEMENT_BYTES);
            *number = state->watched[k * devices + d];
            outputs[d * all + count + k] = (struct verify_tensor){.element = IR_F64, .data = number};
        }
}

/* results -> outputs, dense and owned by the caller; stride: outputs of a device */
static void unbind(struct verify_state *state, uint32_t count, uint32_t stride, uint32_t devices,
                   struct verify_value *results, struct verify_tensor *outputs)
{
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t d = 0; d < devices; d++) {
            struct verify_value *value = &results[r * devices + d];
            struct verify_tensor tensor = {
                (enum ir_element)value->type->element, value->type->rank, {0}, NULL};
            memcpy(tensor.dims, ir_type_dims(state->program, value->type), tensor.rank * sizeof *tensor.dims);
            verify_value_dense(state, value);
            size_t bytes = (size_t)verify_tensor_count(&tensor) * verify_element_size(tensor.element);
            tensor.data = mem_alloc(bytes + IR_ELEMENT_BYTES);
            memcpy(tensor.data, verify_data(value), bytes);
            outputs[d * stride + r] = tensor;
            verify_value_drop(state, value);
        }
}

enum error_code verify_run(const struct ir_program *program, const char *function, uint32_t devices,
                           const struct verify_tensor *inputs, struct verify_tensor *outputs,
                           const struct verify_options *options, struct verify_statistics *statistics,
                           struct error *e)
{
    struct verify_state state = {.program = program};
    uint32_t func = ir_function(program, function),
             block = func == IR_NONE ? IR_NONE : ir_region_block(program, func, 0);
    if (block == IR_NONE || devices < 1)
        return error_set(e, ERROR_INVALID_MODULE, "the module has no function @%s with one block", function);
    if (options)
        state.options = *options;
    state.style = state.options.style;
    state.statistics.divergent_result = IR_NONE;
    state.slots = mem_zalloc(program->value_count + 1, sizeof *state.slots);
    state.active = mem_zalloc(program->op_count + 1, 1);
    state.active[func] = 1;
    verify_slots_plan(&state);
    uint32_t watched = state.options.watch ? state.options.watch->count : 0;
    state.watched = watched ? mem_zalloc((size_t)watched * devices, sizeof *state.watched) : NULL;
    state.times = watched ? mem_zalloc(watched, sizeof *state.times) : NULL;
    uint32_t last = ir_block_terminator(program, block),
             count = last == IR_NONE ? 0 : program->ops[last].operand_count;
    size_t arg_count = (size_t)program->blocks[block].arg_count * devices;
    struct verify_value *args = mem_zalloc(arg_count + 1, sizeof *args);
    struct verify_value *results = mem_zalloc((size_t)count * devices + 1, sizeof *results);
    enum error_code code = bind(&state, func, block, devices, inputs, args, e);
    if (code)
        verify_values_drop(&state, args, arg_count);
    else
        code = verify_block(&state, block, devices, args, results, e);
    for (uint32_t r = 0; r < count && !code; r++)
        if (!results[r * devices].buffer)
            code = verify_fail(&state, last, ERROR_NOT_AVAILABLE, e, "result %u is no tensor", r);
    if (!code)
        unbind(&state, count, count + watched, devices, results, outputs);
    if (!code && watched)
        unbind_watched(&state, count, devices, outputs);
    verify_values_drop(&state, results, (size_t)count * devices);
    if (statistics)
        *statistics = state.statistics;
    verify_state_release(&state);
    free(state.watched);
    free(state.times);
    free(args);
    free(results);
    return code;
}

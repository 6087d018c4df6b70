/* Control flow: while, if, case, call and composite.
 *
 * All devices run one block together, op by op, so they must take the same branch: the predicate is compared
 * across devices, and a difference is an error. On real devices it would be a deadlock as soon as one branch
 * holds a collective. The stack of C calls is the stack of blocks:
 *
 *     verify_block(@main) -> verify_eval_while -> verify_block(body) -> verify_eval_call -> verify_block(@f)
 *
 * Promises: at most VERIFY_MAX_DEPTH blocks are open (verify_block refuses more), a function that is being
 * run is never entered again, and each turn of a loop is charged to the budget and asks for cancellation, so
 * a loop without end stops. */
#include "verify/driver.h"

#include <stdlib.h>
#include <string.h>

/* One integer that all devices agree on, of `values` (one a device). ERROR_INVALID_MODULE when they differ or
 * it is not a scalar integer; `what` names it in the message. */
static enum error_code uniform(struct verify_state *state, uint32_t op, const struct verify_value *values,
                               uint32_t devices, const char *what, int64_t *out, struct error *e)
{
    if (verify_store_of((enum ir_element)values->type->element) > VERIFY_I64 ||
        verify_type_count(state, values->type) != 1)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "%s is no scalar integer", what);
    *out = verify_value_int(&values[0], 0);
    for (uint32_t value = 1; value < devices; value++)
        if (verify_value_int(&values[value], 0) != *out)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                               "%s is %lld on device 0 and %lld on device %u: the devices would deadlock",
                               what, (long long)*out, (long long)verify_value_int(&values[value], 0), value);
    return ERROR_OK;
}

/* a second reference to each value */
static void share_all(const struct verify_value *from, struct verify_value *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        if (to[i].buffer)
            to[i].buffer->uses++;
    }
}

/* `out` holds the carried values between turns. The condition gets its own references to them; the body takes
 * them over and leaves the next ones. */
enum error_code verify_eval_while(struct verify_state *state, uint32_t op, uint32_t devices,
                                  struct verify_value *in, struct verify_value *out, struct error *e)
{
    uint32_t cond = ir_region_block(state->program, op, 0), body = ir_region_block(state->program, op, 1);
    size_t count = state->program->ops[op].operand_count, all = count * devices;
    if (cond == IR_NONE || body == IR_NONE || state->program->blocks[cond].arg_count != count ||
        state->program->blocks[body].arg_count != count || state->program->ops[op].result_count != count)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "regions do not fit the operands");
    struct verify_value *args = mem_zalloc(all + 1, sizeof *args), *test = mem_zalloc(devices, sizeof *test);
    enum error_code code = ERROR_OK;
    memcpy(out, in, all * sizeof *in); /* the carried values live in out */
    memset(in, 0, all * sizeof *in);
    for (;;) {
        int64_t go = 0;
        share_all(out, args, all);
        code = verify_block(state, cond, devices, args, test, e);
        if (code)
            break;
        code = uniform(state, op, test, devices, "the loop's condition", &go, e);
        verify_values_drop(state, test, devices);
        code = code ? code : verify_count_operations(state, op, e);
        if (!code && go && ++state->statistics.turns > VERIFY_MAX_TURNS)
            code =
                verify_fail(state, op, ERROR_TOO_LARGE, e, "loops take more than %u turns", VERIFY_MAX_TURNS);
        if (code || !go)
            break;
        memcpy(args, out, all * sizeof *out);
        memset(out, 0, all * sizeof *out);
        code = verify_block(state, body, devices, args, out, e);
        if (code)
            break;
    }
    verify_values_drop(state, test, devices);
    free(args);
    free(test);
    return code;
}

/* `if` takes region 0 when its predicate is true; `case` takes its last region for an index out of range. */
enum error_code verify_eval_branch(struct verify_state *state, uint32_t op, uint32_t devices,
                                   struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    int64_t which = 0;
    enum error_code code = uniform(state, op, in, devices, "the branch index", &which, e);
    if (code)
        return code;
    if (ir_op->code == IR_IF)
        which = which ? 0 : 1;
    else if (which < 0 || which >= (int64_t)ir_op->region_count)
        which = (int64_t)ir_op->region_count - 1;
    uint32_t block = ir_region_block(state->program, op, (uint32_t)which);
    if (block == IR_NONE || state->program->blocks[block].arg_count)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "branch %lld is empty or takes arguments",
                           (long long)which);
    return verify_block(state, block, devices, NULL, out, e);
}

enum error_code verify_eval_call(struct verify_state *state, uint32_t op, uint32_t devices,
                                 struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    const struct ir_attr *callee =
        ir_attr_find(state->program, op, ir_op->code == IR_COMPOSITE ? "decomposition" : "callee");
    uint32_t func = callee && (callee->kind == IR_ATTR_SYMBOL)
                        ? ir_function(state->program, ir_string(state->program, callee->first))
                        : IR_NONE;
    uint32_t block = func == IR_NONE ? IR_NONE : ir_region_block(state->program, func, 0);
    if (block == IR_NONE || state->program->blocks[block].arg_count != ir_op->operand_count)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "the callee is unknown, empty or takes other arguments");
    if (state->active[func])
        return verify_fail(state, op, ERROR_UNSUPPORTED_MODULE, e, "recursive calls are not interpreted");
    state->active[func] = 1;
    struct verify_value *args = mem_zalloc((size_t)ir_op->operand_count * devices + 1, sizeof *args);
    memcpy(args, in, (size_t)ir_op->operand_count * devices * sizeof *args);
    memset(in, 0, (size_t)ir_op->operand_count * devices * sizeof *args);
    enum error_code code = verify_block(state, block, devices, args, out, e);
    free(args);
    state->active[func] = 0;
    return code;
}

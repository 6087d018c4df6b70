/* The bodies of reduce, scatter, sort, map and all_reduce, run over many lanes at once.
 *
 * Such a body computes scalars from scalars. Run over arrays it does the same for each lane:
 *
 *     body (%a, %b) { %c = multiply %b, %two; %d = add %a, %c; return %d }
 *     slots   0: %a   1: %b   2: %two (splat)   3: %c   4: %d         each CHUNK lanes
 *     steps   3 = multiply(1, 2)    4 = add(0, 3)                     decoded once
 *
 * Constants and values captured from outside are splats. A body with anything but elementwise ops is
 * refused when the lanes are created, not in the middle of a run. */
#include "verify/elementwise.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 256, /* lanes at a time: the slots of a body stay in the first-level cache (256 x 8 bytes each) */
    MOST_OPERANDS = 3 /* of an elementwise op: select, clamp */
};

struct step {
    struct verify_elementwise decoded;
    uint32_t in[MOST_OPERANDS], count, out; /* slots */
};

struct slot {
    uint32_t value; /* of the program */
    enum ir_element element;
    bool splat;
    void *data; /* own array of CHUNK elements, NULL for arguments */
    struct verify_value constant;
};

struct verify_lanes {
    struct verify_state *state;
    VEC(struct step) steps;
    VEC(struct slot) slots; /* the arguments come first */
    uint32_t args, results[2 * IR_MAX_RANK], result_count;
    void *staged; /* CHUNK elements of each result: results may overwrite the arguments they come from */
};

static uint32_t find_slot(const struct verify_lanes *lanes, uint32_t value)
{
    for (uint32_t i = 0; i < lanes->slots.count; i++)
        if (lanes->slots.at[i].value == value)
            return i;
    return IR_NONE;
}

static struct slot new_slot(const struct verify_state *state, uint32_t value)
{
    return (struct slot){.value = value,
                         .element = (enum ir_element)ir_value_type(state->program, value)->element};
}

/* the slot of an operand: known already, or captured from outside */
static enum error_code operand_slot(struct verify_lanes *lanes, uint32_t op, uint32_t value, uint32_t *out,
                                    struct error *e)
{
    struct verify_state *state = lanes->state;
    *out = find_slot(lanes, value);
    if (*out != IR_NONE)
        return ERROR_OK;
    struct verify_slot *outer = &state->slots[value];
    if (outer->devices == 0 || verify_type_count(state, ir_value_type(state->program, value)) != 1)
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e,
                           "an operand comes from outside the region and is no scalar");
    struct slot slot = new_slot(state, value);
    slot.splat = true;
    slot.constant.type = ir_value_type(state->program, value);
    verify_value_share(&slot.constant, &outer->at[outer->devices == 1 ? 0 : state->device]);
    slot.data = verify_data(&slot.constant);
    *out = (uint32_t)lanes->slots.count;
    VEC_PUSH(&lanes->slots, slot);
    return ERROR_OK;
}

static enum error_code add_constant(struct verify_lanes *lanes, uint32_t op, struct error *e)
{
    struct slot slot = new_slot(lanes->state, ir_result(lanes->state->program, op, 0));
    slot.splat = true;
    slot.constant.type = ir_value_type(lanes->state->program, slot.value);
    enum error_code code = verify_constant(lanes->state, op, ir_attr_find(lanes->state->program, op, "value"),
                                           &slot.constant, e);
    if (code)
        return code;
    slot.data = verify_data(&slot.constant);
    VEC_PUSH(&lanes->slots, slot);
    return slot.constant.splat
               ? ERROR_OK
               : verify_fail(lanes->state, op, ERROR_NOT_AVAILABLE, e, "not a scalar inside a reducer");
}

static enum error_code add_step(struct verify_lanes *lanes, uint32_t op, struct error *e)
{
    const struct ir_op *ir_op = &lanes->state->program->ops[op];
    struct step step = {.count = ir_op->operand_count};
    if (step.count > MOST_OPERANDS || ir_op->result_count != 1 || ir_op->region_count)
        return verify_fail(lanes->state, op, ERROR_NOT_AVAILABLE, e, "not interpreted inside a reducer");
    for (uint32_t i = 0; i < step.count; i++) {
        enum error_code code =
            operand_slot(lanes, op, ir_operand(lanes->state->program, op, i), &step.in[i], e);
        if (code)
            return code;
    }
    if (ir_op->code == IR_RESHAPE || ir_op->code == IR_BROADCAST_IN_DIM ||
        ir_op->code == IR_OPTIMIZATION_BARRIER) {
        struct slot slot =
            lanes->slots.at[step.in[0]]; /* broadcast or reshape of a scalar to a scalar: the same slot */
        if (verify_type_count(lanes->state, ir_value_type(lanes->state->program,
                                                          ir_result(lanes->state->program, op, 0))) != 1)
            return verify_fail(lanes->state, op, ERROR_NOT_AVAILABLE, e, "not a scalar inside a reducer");
        step.decoded.code = IR_CONVERT;
        slot = new_slot(lanes->state, ir_result(lanes->state->program, op, 0));
        slot.data = mem_alloc(CHUNK * IR_ELEMENT_BYTES);
        step.out = (uint32_t)lanes->slots.count;
        VEC_PUSH(&lanes->slots, slot);
        VEC_PUSH(&lanes->steps, step);
        return ERROR_OK;
    }
    enum error_code code = verify_elementwise_decode(lanes->state, op, &step.decoded, e);
    if (code)
        return code;
    struct slot slot = new_slot(lanes->state, ir_result(lanes->state->program, op, 0));
    slot.data = mem_alloc(CHUNK * IR_ELEMENT_BYTES);
    step.out = (uint32_t)lanes->slots.count;
    VEC_PUSH(&lanes->slots, slot);
    VEC_PUSH(&lanes->steps, step);
    return ERROR_OK;
}

static enum error_code decode(struct verify_lanes *lanes, uint32_t op, uint32_t block, struct error *e)
{
    const struct ir_program *program = lanes->state->program;
    const struct ir_block *ir_block = &program->blocks[block];
    enum error_code code = ERROR_OK;
    lanes->args = ir_block->arg_count;
    for (uint32_t i = 0; i < ir_block->arg_count; i++)
        VEC_PUSH(&lanes->slots, new_slot(lanes->state, ir_block->args + i));
    for (uint32_t k = 0; k < ir_block->op_count && !code; k++) {
        uint32_t inner = program->block_ops[ir_block->ops + k];
        const struct ir_op *ir_op = &program->ops[inner];
        if (k + 1 == ir_block->op_count) {
            lanes->result_count = ir_op->operand_count;
            if (lanes->result_count > 2 * IR_MAX_RANK)
                return verify_fail(lanes->state, op, ERROR_NOT_AVAILABLE, e, "too many results");
            for (uint32_t i = 0; i < lanes->result_count && !code; i++)
                code = operand_slot(lanes, inner, ir_operand(program, inner, i), &lanes->results[i], e);
        } else if (ir_op->code == IR_CONSTANT || ir_op->code == IR_CHLO_CONSTANT) {
            code = add_constant(lanes, inner, e);
        } else {
            code = add_step(lanes, inner, e);
        }
    }
    return code;
}

/* runs the body once on ones, so that element types without a kernel are found before the real run */
static bool try_run(struct verify_lanes *lanes)
{
    for (size_t i = 0; i < lanes->steps.count; i++) {
        struct step *step = &lanes->steps.at[i];
        struct verify_array in[MOST_OPERANDS];
        static const double ones[2] = {0, 0};
        for (uint32_t k = 0; k < step->count; k++)
            in[k] = (struct verify_array){lanes->slots.at[step->in[k]].element, false, ones};
        if (!verify_elementwise_run(&step->decoded, in, step->count, lanes->slots.at[step->out].element,
                                    lanes->slots.at[step->out].data, 1))
            return false;
    }
    return true;
}

enum error_code verify_lanes_create(struct verify_state *state, uint32_t op, uint32_t region,
                                    struct verify_lanes **out, struct error *e)
{
    struct verify_lanes *lanes = mem_zalloc(1, sizeof *lanes);
    uint32_t block = ir_region_block(state->program, op, region);
    lanes->state = state;
    *out = lanes;
    if (block == IR_NONE)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "the region is empty");
    enum error_code code = decode(lanes, op, block, e);
    lanes->staged = mem_zalloc(lanes->result_count + 1, CHUNK * IR_ELEMENT_BYTES);
    if (!code && !try_run(lanes))
        code =
            verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "the region's element types are not interpreted");
    return code;
}

void verify_lanes_destroy(struct verify_state *state, struct verify_lanes *lanes)
{
    if (!lanes)
        return;
    for (size_t i = 0; i < lanes->slots.count; i++) {
        if (lanes->slots.at[i].constant.buffer)
            verify_value_drop(state, &lanes->slots.at[i].constant);
        else
            free(lanes->slots.at[i].data);
    }
    VEC_FREE(&lanes->slots);
    VEC_FREE(&lanes->steps);
    free(lanes->staged);
    free(lanes);
}

static struct verify_array slot_array(const struct verify_lanes *lanes, const struct verify_array *args,
                                      uint32_t slot, int64_t first)
{
    const struct slot *other_slot = &lanes->slots.at[slot];
    if (slot >= lanes->args)
        return (struct verify_array){other_slot->element, other_slot->splat, other_slot->data};
    size_t skip = args[slot].splat ? 0 : (size_t)first * verify_element_size(other_slot->element);
    return (struct verify_array){other_slot->element, args[slot].splat, (const char *)args[slot].data + skip};
}

static void spread(const struct verify_array *from, void *to, int64_t n)
{
    size_t size = verify_element_size(from->element);
    if (!from->splat) {
        memcpy(to, from->data, (size_t)n * size);
        return;
    }
    unsigned char one[IR_ELEMENT_BYTES];
    memcpy(one, from->data, size);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to + (size_t)i * size, one, size);
}

static void run_step(const struct verify_lanes *lanes, const struct step *step,
                     const struct verify_array *args, int64_t first, int64_t n)
{
    struct verify_array in[MOST_OPERANDS];
    double dense[CHUNK * 2];
    bool all = true;
    for (uint32_t k = 0; k < step->count; k++) {
        in[k] = slot_array(lanes, args, step->in[k], first);
        all = all && in[k].splat;
    }
    if (all && n > 1) { /* kernels want one dense operand */
        spread(&in[0], dense, n);
        in[0] = (struct verify_array){in[0].element, false, dense};
    }
    if (!verify_elementwise_run(&step->decoded, in, step->count, lanes->slots.at[step->out].element,
                                lanes->slots.at[step->out].data, n))
        base_check_failed(__FILE__, __LINE__, "a kernel that ran once runs again");
}

void verify_lanes_run(struct verify_lanes *lanes, const struct verify_array *args, int64_t n,
                      void *const *results)
{
    for (int64_t first = 0; first < n; first += CHUNK) {
        int64_t some = n - first < CHUNK ? n - first : CHUNK;
        for (size_t i = 0; i < lanes->steps.count; i++)
            run_step(lanes, &lanes->steps.at[i], args, first, some);
        for (uint32_t i = 0; i < lanes->result_count; i++) {
            struct verify_array from = slot_array(lanes, args, lanes->results[i], first);
            spread(&from, (char *)lanes->staged + (size_t)i * CHUNK * IR_ELEMENT_BYTES, some);
        }
        for (uint32_t i = 0; i < lanes->result_count; i++) {
            size_t size = verify_element_size(lanes->slots.at[lanes->results[i]].element);
            memcpy((char *)results[i] + (size_t)first * size,
                   (char *)lanes->staged + (size_t)i * CHUNK * IR_ELEMENT_BYTES, (size_t)some * size);
        }
    }
}

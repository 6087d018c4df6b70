/* How large the numbers are that make up each result (verify_magnitudes in prove.h).
 *
 * A sum that cancels is small beside what it added up, and its rounding is the rounding of that: the gradient
 * of a bias that the loss does not depend on is 0 on paper and 1e-7 in a computer. The program is run once
 * more; sums note what they add up, and a walk backwards from each result carries that through what scales,
 * adds and reshapes. Where it meets another op, the op's own largest number counts. */
#include <math.h>
#include <stdlib.h>

#include "verify/prove.h"
#include "verify/value.h"

enum { DEPTH = 24, STEPS = 4096 }; /* of one walk; beyond, an op's own magnitude counts */

static double element_at(const struct verify_value *value, enum verify_store store, int64_t i)
{
    const void *data = verify_data(value);
    return store == VERIFY_F32   ? (double)((const float *)data)[i]
           : store == VERIFY_F64 ? ((const double *)data)[i]
                                 : 0;
}

/* mean and largest magnitude of the finite elements; complex numbers are left out */
static void sizes(const struct verify_state *state, const struct verify_value *value, double *mean,
                  double *largest)
{
    enum verify_store store = value->type->kind == IR_TYPE_TENSOR
                                  ? verify_store_of((enum ir_element)value->type->element)
                                  : VERIFY_NONE;
    *mean = *largest = 0;
    if ((store != VERIFY_F32 && store != VERIFY_F64) || !value->buffer)
        return;
    int64_t count = value->splat ? 1 : verify_type_count(state, value->type);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double size = fabs(element_at(value, store, i));
        if (!isfinite(size))
            continue;
        sum += size;
        *largest = size > *largest ? size : *largest;
    }
    *mean = count ? sum / (double)count : 0;
}

void verify_note_summed(struct verify_state *state, uint32_t op, const struct verify_value *in)
{
    const struct ir_program *program = state->program;
    enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[op].code);
    bool sum = family == IR_FAMILY_REDUCE && ir_region_reducer(program, op, 0) == IR_ADD;
    bool product = family == IR_FAMILY_DOT || family == IR_FAMILY_CONVOLUTION;
    if ((!sum && !product) || program->ops[op].operand_count < 2)
        return;
    double mean, largest, other = 1;
    double results = (double)verify_type_count(state, ir_value_type(program, ir_result(program, op, 0)));
    sizes(state, &in[0], &mean, &largest);
    if (product)
        sizes(state, &in[1], &other, &largest);
    /* a multiply-add counts as two operations */
    double added = product ? (double)verify_op_operations(program, op) / 2
                           : (double)verify_type_count(state, in[0].type);
    double summed = results > 0 ? mean * other * added / results : 0;
    struct verify_magnitude *note = &state->options.magnitudes[op];
    note->summed = summed > note->summed ? summed : note->summed;
}

void verify_note_largest(struct verify_state *state, uint32_t op, const struct verify_value *out)
{
    double mean, largest;
    struct verify_magnitude *note = &state->options.magnitudes[op];
    sizes(state, out, &mean, &largest);
    note->largest = largest > note->largest ? largest : note->largest;
}

/* ---- backwards from a result */
struct tracer {
    const struct ir_program *program;
    const struct verify_magnitude *notes;
    uint32_t steps;
};

static double largest_of(const struct tracer *tracer, uint32_t value)
{
    uint32_t op = tracer->program->values[value].op;
    return op == IR_NONE ? 0 : tracer->notes[op].largest;
}

static double trace(struct tracer *tracer, uint32_t value, int depth);

/* what a scaled or reshaped operand was made of, in the units of the result */
static double scaled(struct tracer *tracer, uint32_t value, uint32_t operand, int depth)
{
    double own = largest_of(tracer, value), of = largest_of(tracer, operand);
    return of > 0 ? trace(tracer, operand, depth) * (own / of) : own;
}

static double trace(struct tracer *tracer, uint32_t value, int depth)
{
    const struct ir_program *program = tracer->program;
    uint32_t op = program->values[value].op;
    if (op == IR_NONE)
        return 0;
    double own = tracer->notes[op].largest;
    if (depth > DEPTH || ++tracer->steps > STEPS)
        return own;
    own = fmax(own, tracer->notes[op].summed);
    switch ((int)program->ops[op].code) {
    case IR_REDUCE: /* of a sum, maybe over nothing: JAX sums what a broadcast of size 1 gave */
        return ir_region_reducer(program, op, 0) == IR_ADD
                   ? fmax(own,
                          trace(tracer, ir_operand(program, op, program->values[value].index), depth + 1))
                   : own;
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_SELECT: /* gradients clipped where their norm is large */
        for (uint32_t i = program->ops[op].operand_count - 2; i < program->ops[op].operand_count; i++)
            own = fmax(own, trace(tracer, ir_operand(program, op, i), depth + 1));
        return own;
    case IR_CONVERT:
    case IR_RESHAPE:
    case IR_TRANSPOSE:
    case IR_NEGATE:
    case IR_BROADCAST_IN_DIM: return fmax(own, scaled(tracer, value, ir_operand(program, op, 0), depth + 1));
    case IR_MULTIPLY:
        if (verify_scalar_like(program, ir_operand(program, op, 0)))
            return fmax(own, scaled(tracer, value, ir_operand(program, op, 1), depth + 1));
        if (verify_scalar_like(program, ir_operand(program, op, 1)))
            return fmax(own, scaled(tracer, value, ir_operand(program, op, 0), depth + 1));
        return own;
    case IR_DIVIDE:
        if (verify_scalar_like(program, ir_operand(program, op, 1)))
            return fmax(own, scaled(tracer, value, ir_operand(program, op, 0), depth + 1));
        return own;
    case IR_WHILE: {
        uint32_t last = ir_block_terminator(program, ir_region_block(program, op, 1));
        return last == IR_NONE
                   ? own
                   : fmax(own,
                          trace(tracer, ir_operand(program, last, program->values[value].index), depth + 1));
    }
    default: return own;
    }
}

enum error_code verify_magnitudes(const struct ir_program *program, const struct verify_tensor *inputs,
                                  uint32_t results, const struct verify_options *given, double *magnitude,
                                  struct error *e)
{
    struct verify_options options = given ? *given : (struct verify_options){0};
    struct verify_tensor *out = mem_zalloc(results + 1, sizeof *out);
    uint32_t last = ir_block_terminator(program, ir_region_block(program, ir_function(program, "main"), 0));
    options.magnitudes = mem_zalloc((size_t)program->op_count + 1, sizeof *options.magnitudes);
    enum error_code code = verify_run(program, "main", 1, inputs, out, &options, NULL, e);
    for (uint32_t k = 0; k < results && !code; k++) {
        struct tracer tracer = {.program = program, .notes = options.magnitudes};
        bool returned = k < program->ops[last].operand_count; /* otherwise watched */
        magnitude[k] = returned ? trace(&tracer, ir_operand(program, last, k), 0) : 0;
        verify_tensor_release(&out[k]);
    }
    free(options.magnitudes);
    free(out);
    return code;
}

/* What a step adds to what it keeps (verify_added in prove.h): a parameter is 0.25 and its update 1e-5, so
 * that beside the parameter an update that is twice as large differs by no more than rounding may. */
#include <math.h>

#include "verify/prove.h"
#include "verify/value.h"

/* One walk; beyond, a result goes on from nothing. Arguments that one goes on from. Elements from which
 * on a factor is told from the numbers, rather than made to fit them. Chosen. */
enum { DEPTH = 24, STEPS = 256, SOURCES = 4, FITTED = 16 };

struct tracer {
    const struct ir_program *program;
    uint32_t block, steps, count;
    struct ir_type type;
    uint32_t sources[SOURCES];
};

/* the arguments of the result's type that reach it by being added to and scaled */
static void trace(struct tracer *tracer, uint32_t value, int depth)
{
    const struct ir_program *program = tracer->program;
    uint32_t op = program->values[value].op;
    if (depth > DEPTH || ++tracer->steps > STEPS || tracer->count == SOURCES)
        return;
    if (op == IR_NONE) {
        if (program->values[value].block == tracer->block &&
            ir_value_type(program, value)->element == tracer->type.element &&
            ir_type_elements(program, ir_value_type(program, value)) ==
                ir_type_elements(program, &tracer->type))
            tracer->sources[tracer->count++] = program->values[value].index;
        return;
    }
    switch ((int)program->ops[op].code) {
    case IR_CONVERT:
    case IR_RESHAPE: trace(tracer, ir_operand(program, op, 0), depth + 1); break;
    case IR_OPTIMIZATION_BARRIER:
    case IR_WHILE: trace(tracer, ir_operand(program, op, program->values[value].index), depth + 1); break;
    case IR_MULTIPLY:
        for (uint32_t i = 0; i < 2; i++)
            if (verify_scalar_like(program, ir_operand(program, op, 1 - i)))
                trace(tracer, ir_operand(program, op, i), depth + 1);
        break;
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_SELECT:
        for (uint32_t i = program->ops[op].operand_count - 2; i < program->ops[op].operand_count; i++)
            trace(tracer, ir_operand(program, op, i), depth + 1);
        break;
    default: break;
    }
}

double verify_distance(const struct verify_tensor *a, const struct verify_tensor *b)
{
    double sum = 0;
    int64_t count = verify_tensor_count(a);
    for (int64_t i = 0; i < count; i++) {
        double off = fabs(verify_element(a, i) - (b ? verify_element(b, i) : 0));
        sum += isfinite(off) ? off : 0;
    }
    return sum;
}

/* What an average keeps of an argument (0.9 of it, say): the factor that leaves least, in squares. */
static double kept(const struct verify_tensor *input, const struct verify_tensor *output)
{
    double both = 0, own = 0;
    int64_t count = verify_tensor_count(output);
    for (int64_t i = 0; i < count; i++) {
        double x = verify_element(input, i), y = verify_element(output, i);
        both += isfinite(x) && isfinite(y) ? x * y : 0;
        own += isfinite(x) && isfinite(y) ? x * x : 0;
    }
    return count < FITTED || !(own > 0) || !isfinite(both / own) ? 1 : both / own;
}

/* what is left of the result without that */
static double left_of(const struct verify_tensor *input, const struct verify_tensor *output)
{
    double sum = 0, factor = kept(input, output);
    int64_t count = verify_tensor_count(output);
    for (int64_t i = 0; i < count; i++) {
        double left = fabs(verify_element(output, i) - factor * verify_element(input, i));
        sum += isfinite(left) ? left : 0;
    }
    return sum;
}

double verify_added(const struct ir_program *program, uint32_t result, const struct verify_tensor *inputs,
                    const struct verify_tensor *output)
{
    uint32_t block = ir_region_block(program, ir_function(program, "main"), 0);
    uint32_t value = ir_operand(program, ir_block_terminator(program, block), result);
    struct tracer tracer = {.program = program, .block = block, .type = *ir_value_type(program, value)};
    double least = INFINITY;
    enum verify_store store = verify_store_of(output->element);
    if (store != VERIFY_F32 && store != VERIFY_F64)
        return least;
    trace(&tracer, value, 0);
    for (uint32_t i = 0; i < tracer.count; i++)
        least = fmin(least, left_of(&inputs[tracer.sources[i]], output));
    return least;
}

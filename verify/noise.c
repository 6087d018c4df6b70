/* How far rounding alone moves a program's results (verify_noise in prove.h): the program is run again with
 * the last bit of every input and of every rounded number drawn anew, which is Monte Carlo arithmetic
 * (D. Stott Parker: Monte Carlo Arithmetic: exploiting randomness in floating-point arithmetic, UCLA
 * CSD-970002, 1997).
 *
 * Sums that cancel (the gradient of a softmax over rows that are nearly equal) keep few correct digits, and
 * a sharded module that adds in another order has other wrong ones. No comparison can tell results apart
 * that lie within this noise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "verify/prove.h"
#include "verify/value.h"

/* Runs with moved bits; the noise of a result is the largest move in any of them. Few do, as prove.c
 * multiplies what it gets (NOISES), but for quotients by what is rounding itself: of these the next sample is
 * larger than many times the three before too often, and MORE_RUNS are drawn. */
enum { RUNS = 3, MORE_RUNS = 12 };

static bool rounds(const struct verify_state *state, uint32_t op)
{
    enum ir_opcode code = (enum ir_opcode)state->program->ops[op].code;
    enum ir_family f = ir_opcode_family(code);
    /* The elementwise ops that compute a rounded number. The others choose, copy or give whole numbers, and
     * comparisons rely on these being exact. */
    if (f == IR_FAMILY_ELEMENTWISE)
        return code == IR_ADD || code == IR_SUBTRACT || code == IR_MULTIPLY || code == IR_DIVIDE ||
               code == IR_EXPONENTIAL || code == IR_LOG || code == IR_TANH || code == IR_LOGISTIC ||
               code == IR_POWER || code == IR_SQRT || code == IR_RSQRT || code == IR_EXPONENTIAL_MINUS_ONE ||
               code == IR_LOG_PLUS_ONE || code == IR_SINE || code == IR_COSINE;
    return f == IR_FAMILY_DOT || f == IR_FAMILY_CONVOLUTION ||
           (f == IR_FAMILY_REDUCE && ir_region_reducer(state->program, op, 0) == IR_ADD);
}

/* a number of the type moved by one unit in its last place, down, up, or not */
static double shaken(enum ir_element element, double x, uint64_t bits)
{
    double to = bits % 3 == 0 ? -INFINITY : INFINITY;
    if (bits % 3 == 2 || x == 0 || !isfinite(x))
        return x;
    if (element == IR_F64 || element == IR_C128)
        return nextafter(x, to);
    if (element == IR_F32 || element == IR_C64)
        return (double)nextafterf((float)x, (float)to);
    /* 2^-8 and 2^-11 of a number are a half to a whole unit of formats of 8 and 11 digits: away from 0 that
     * rounds to the neighbour, or, from exactly half way, to the number itself */
    double moved = x + (to > 0 ? 1 : -1) * fabs(x) * (element == IR_BF16 ? 0x1.02p-8 : 0x1.02p-11);
    return verify_round(element, moved);
}

static bool moves(enum ir_element element)
{
    return element == IR_F64 || element == IR_F32 || element == IR_C64 || element == IR_C128 ||
           element == IR_BF16 || element == IR_F16;
}

static void shake_all(enum ir_element element, void *data, int64_t count, struct rng *rng)
{
    bool wide = element == IR_F64 || element == IR_C128;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = rng_next(rng) >> 32;
        if (wide)
            ((double *)data)[i] = shaken(element, ((double *)data)[i], bits);
        else
            ((float *)data)[i] = (float)shaken(element, ((float *)data)[i], bits);
    }
}

void verify_shake(struct verify_state *state, uint32_t op, struct verify_value *out)
{
    enum verify_store store = out->type->kind == IR_TYPE_TENSOR
                                  ? verify_store_of((enum ir_element)out->type->element)
                                  : VERIFY_NONE;
    enum ir_element element = (enum ir_element)out->type->element;
    struct rng rng = {.state = state->options.shake};
    if (store == VERIFY_NONE || !moves(element) || !out->buffer || out->buffer->uses != 1 ||
        !rounds(state, op))
        return;
    shake_all(element, verify_data(out),
              (out->splat ? 1 : verify_type_count(state, out->type)) * (store >= VERIFY_C64 ? 2 : 1), &rng);
    state->options.shake = rng.state | 1;
}

/* the inputs, each number moved by its last bit or not */
static void shake_inputs(const struct verify_tensor *inputs, uint32_t count, uint64_t seed,
                         struct verify_tensor *out)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rng rng = {.state = hash_combine(seed, i)};
        int64_t elements =
            verify_tensor_count(&inputs[i]) * (verify_store_of(inputs[i].element) >= VERIFY_C64 ? 2 : 1);
        size_t bytes = (size_t)verify_tensor_count(&inputs[i]) * verify_element_size(inputs[i].element);
        out[i] = inputs[i];
        out[i].data = mem_alloc(bytes + 16);
        memcpy(out[i].data, inputs[i].data, bytes);
        if (moves(inputs[i].element))
            shake_all(inputs[i].element, out[i].data, elements, &rng);
    }
}

enum error_code verify_noise(const struct ir_program *program, const struct verify_tensor *inputs,
                             uint32_t arguments, const struct verify_tensor *outputs, uint32_t results,
                             const struct verify_options *given, bool more, double *noise, double *moved,
                             struct error *e)
{
    struct verify_options options = given ? *given : (struct verify_options){0};
    struct verify_tensor *out = mem_zalloc(results + 1, sizeof *out);
    struct verify_tensor *in = mem_zalloc(arguments + 1, sizeof *in);
    enum error_code code = ERROR_OK;
    for (uint32_t k = 0; k < results && !more; k++)
        noise[k] = moved[k] = 0;
    for (uint64_t run = more ? RUNS + 1 : 1; run <= (more ? RUNS + MORE_RUNS : RUNS) && !code; run++) {
        options.shake = run;
        shake_inputs(inputs, arguments, run, in);
        code = verify_run(program, "main", 1, in, out, &options, NULL, e);
        for (uint32_t i = 0; i < arguments; i++)
            verify_tensor_release(&in[i]);
        for (uint32_t k = 0; k < results && !code; k++) {
            noise[k] = fmax(noise[k], verify_compare(&outputs[k], &out[k], 1, INFINITY, 0).worst);
            moved[k] = fmax(moved[k], verify_distance(&outputs[k], &out[k]));
            verify_tensor_release(&out[k]);
        }
    }
    free(in);
    free(out);
    return code;
}

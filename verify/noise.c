/* How far rounding alone moves a program's results (verify_noise in prove.h): the program is run again with
 * the last bit of every rounded number drawn anew, which is Monte Carlo arithmetic (D. Stott Parker: Monte
 * Carlo Arithmetic: exploiting randomness in floating-point arithmetic, UCLA CSD-970002, 1997).
 *
 * Sums that cancel (the gradient of a softmax over rows that are nearly equal) keep few correct digits, and
 * a sharded module that adds in another order has other wrong ones. No comparison can tell results apart
 * that lie within this noise. */
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "verify/prove.h"
#include "verify/value.h"

/* Runs with moved bits; the noise of a result is the largest move in any of them. A large sample is not
 * needed, as prove.c multiplies what it gets (NOISES). */
enum { RUNS = 3 };

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

static double shaken(double x, uint64_t bits, bool wide)
{
    double to = bits % 3 == 0 ? -INFINITY : INFINITY;
    if (bits % 3 == 2 || x == 0 || !isfinite(x))
        return x;
    return wide ? nextafter(x, to) : (double)nextafterf((float)x, (float)to);
}

void verify_shake(struct verify_state *state, uint32_t op, struct verify_value *out)
{
    enum verify_store store = out->type->kind == IR_TYPE_TENSOR
                                  ? verify_store_of((enum ir_element)out->type->element)
                                  : VERIFY_NONE;
    bool wide = store == VERIFY_F64 || store == VERIFY_C128,
         narrow = out->type->element == IR_F32 || store == VERIFY_C64;
    struct rng rng = {.state = state->options.shake};
    if (!(wide || narrow) || !out->buffer || out->buffer->uses != 1 || !rounds(state, op))
        return;
    int64_t n = (out->splat ? 1 : verify_type_count(state, out->type)) * (store >= VERIFY_C64 ? 2 : 1);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = rng_next(&rng) >> 32;
        if (wide)
            ((double *)verify_data(out))[i] = shaken(((double *)verify_data(out))[i], bits, true);
        else
            ((float *)verify_data(out))[i] = (float)shaken(((float *)verify_data(out))[i], bits, false);
    }
    state->options.shake = rng.state | 1;
}

enum error_code verify_noise(const struct ir_program *program, const struct verify_tensor *inputs,
                             const struct verify_tensor *outputs, uint32_t results,
                             const struct verify_options *given, double *noise, struct error *e)
{
    struct verify_options options = given ? *given : (struct verify_options){0};
    struct verify_tensor *out = mem_zalloc(results + 1, sizeof *out);
    enum error_code code = ERROR_OK;
    for (uint32_t k = 0; k < results; k++)
        noise[k] = 0;
    for (uint64_t run = 1; run <= RUNS && !code; run++) {
        options.shake = run;
        code = verify_run(program, "main", 1, inputs, out, &options, NULL, e);
        for (uint32_t k = 0; k < results && !code; k++) {
            noise[k] = fmax(noise[k], verify_compare(&outputs[k], &out[k], 1, INFINITY, 0).worst);
            verify_tensor_release(&out[k]);
        }
    }
    free(out);
    return code;
}

/* The original of a proof: inputs and results of every mode that gave no NaN, computed once and compared with
 * any number of sharded modules (prove.h). */
#include "verify/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "verify/value.h"

enum { SEEDS_TRIED = 3 };

void verify_tensors_free(struct verify_tensor *tensor, size_t count)
{
    for (size_t i = 0; tensor && i < count; i++)
        verify_tensor_release(&tensor[i]);
    free(tensor);
}

void verify_reference_destroy(struct verify_reference *reference)
{
    if (!reference)
        return;
    for (uint32_t i = 0; i < reference->runs; i++) {
        verify_tensors_free(reference->run[i].inputs, reference->arguments);
        verify_tensors_free(reference->run[i].outputs, reference->run[i].results);
    }
    verify_wide_release(&reference->wide);
    verify_watch_release(&reference->watch);
    free(reference);
}

uint32_t verify_reference_runs(const struct verify_reference *reference)
{
    return reference->runs;
}

static struct verify_tensor copied(const struct verify_tensor *from)
{
    struct verify_tensor to = *from;
    size_t bytes = (size_t)verify_tensor_count(from) * verify_element_size(from->element);
    to.data = mem_alloc(bytes + 16);
    memcpy(to.data, from->data, bytes);
    return to;
}

/* Inputs of the run's mode, in the program's own types, or in f64 where the run is. */
static enum error_code make_inputs(const struct verify_reference *reference, uint64_t seed,
                                   const struct verify_options *options, struct verify_trial_run *run,
                                   struct error *e)
{
    run->inputs = mem_zalloc(reference->arguments + 1, sizeof *run->inputs);
    enum error_code code = ERROR_OK;
    if (run->mode == VERIFY_INPUTS_GIVEN)
        for (uint32_t i = 0; i < reference->arguments; i++)
            run->inputs[i] = copied(&options->given[i]);
    else
        code = verify_inputs(reference->original, seed, run->mode, run->inputs, e);
    for (uint32_t i = 0; i < reference->arguments && run->wide && !code; i++) {
        struct verify_tensor narrow = run->inputs[i];
        run->inputs[i] = verify_wide_tensor(&narrow);
        verify_tensor_release(&narrow);
    }
    if (code)
        free(run->inputs);
    return code;
}

/* the caller's options, for one of the run's programs */
struct verify_options verify_run_options(const struct verify_trial_run *run, const struct ir_program *narrow,
                                         const struct verify_watch *watch, const struct verify_options *given)
{
    struct verify_options options = given ? *given : (struct verify_options){0};
    options.turned = run->mode == VERIFY_INPUTS_TURNED;
    options.narrow = run->wide ? narrow->types : NULL;
    options.watch = run->wide && watch->count ? watch : NULL;
    return options;
}

/* The run's results of its inputs; *usable is false when they hold NaN, and both are freed then. */
enum error_code verify_run_original(const struct verify_reference *reference,
                                    const struct verify_options *options, struct verify_trial_run *run,
                                    bool *usable, struct error *e)
{
    struct verify_options own = verify_run_options(run, reference->original, &reference->watch, options);
    run->program = run->wide ? &reference->wide.program : reference->original;
    run->tolerance = run->wide ? verify_tolerance(run->program) : reference->tolerance;
    run->returned = reference->results + (run->wide ? reference->compared : 0);
    run->results = run->returned + (run->wide ? reference->watch.count : 0);
    run->outputs = mem_zalloc(run->results + 1, sizeof *run->outputs);
    enum error_code code = verify_run(run->program, "main", 1, run->inputs, run->outputs, &own, NULL, e);
    *usable = !code && verify_compare(run->outputs, run->outputs, run->results, 0, 0).verdict == VERIFY_EQUAL;
    if (!*usable) {
        verify_tensors_free(run->inputs, reference->arguments);
        verify_tensors_free(run->outputs, run->results);
        run->inputs = run->outputs = NULL;
    }
    return code;
}

/* The runs, in order. Rounding hides least in f64; at least one run has the types of the module itself. */
static const struct kind {
    enum verify_inputs_mode mode;
    bool wide, only_first_narrow; /* left out where a run before it had the module's own types */
} kinds[VERIFY_RUNS] = {{VERIFY_INPUTS_PLAIN, true, false},
                        {VERIFY_INPUTS_MOMENTS, false, false},
                        {VERIFY_INPUTS_WILD, false, false},
                        {VERIFY_INPUTS_PLAIN, false, true},
                        {VERIFY_INPUTS_TURNED, true, false}};

static bool wanted(const struct ir_program *program, enum verify_inputs_mode mode)
{
    uint32_t count;
    if (mode == VERIFY_INPUTS_TURNED)
        return verify_turned_count(program) > 0;
    struct verify_hint *hints = verify_hints(program, &count);
    bool moments = false, indices = false;
    for (uint32_t i = 0; i < count; i++) {
        moments = moments || hints[i].second;
        indices = indices || hints[i].bound > 0;
    }
    free(hints);
    return mode == VERIFY_INPUTS_PLAIN || (mode == VERIFY_INPUTS_MOMENTS ? moments : indices);
}

static bool has_narrow(const struct verify_reference *reference)
{
    bool narrow = false;
    for (uint32_t i = 0; i < reference->runs; i++)
        narrow |= !reference->run[i].wide;
    return narrow;
}

/* one run more, if any of the seeds gives no NaN */
static enum error_code add_run(struct verify_reference *reference, enum verify_inputs_mode mode, bool wide,
                               uint64_t seed, const struct verify_options *options, struct error *e)
{
    struct verify_trial_run *run = &reference->run[reference->runs];
    bool usable = false;
    int attempts = mode == VERIFY_INPUTS_GIVEN ? 1 : SEEDS_TRIED;
    *run = (struct verify_trial_run){.mode = mode, .wide = wide};
    for (int attempt = 0; attempt < attempts && !usable; attempt++) {
        if (mode == VERIFY_INPUTS_WILD && attempt > 0)
            run->mode = VERIFY_INPUTS_NEGATIVE;
        if (mode == VERIFY_INPUTS_PLAIN && attempt + 1 == SEEDS_TRIED)
            run->mode = VERIFY_INPUTS_POSITIVE;
        TRY(make_inputs(reference, hash_combine(hash_combine(seed, (uint64_t)mode), (uint64_t)attempt),
                        options, run, e));
        TRY(verify_run_original(reference, options, run, &usable, e));
    }
    reference->runs += usable;
    return ERROR_OK;
}

enum error_code verify_reference_create(const struct ir_program *original, uint64_t seed,
                                        const struct verify_options *options, struct verify_reference **out,
                                        struct error *e)
{
    uint32_t func = ir_function(original, "main"),
             block = func == IR_NONE ? IR_NONE : ir_region_block(original, func, 0);
    uint32_t last = block == IR_NONE ? IR_NONE : ir_block_terminator(original, block);
    if (last == IR_NONE)
        return error_set(e, ERROR_INVALID_MODULE, "the module has no function @main with a body");
    struct verify_reference *reference = mem_zalloc(1, sizeof *reference);
    enum error_code code = ERROR_OK;
    reference->arguments = original->blocks[block].arg_count;
    reference->results = original->ops[last].operand_count;
    reference->original = original;
    reference->tolerance = verify_tolerance(original);
    reference->widens = verify_wide_make(original, &reference->wide);
    reference->compared = reference->widens ? verify_compared_count(original) : 0;
    if (reference->compared)
        verify_wide_return_compared(&reference->wide);
    if (reference->widens)
        verify_watch_make(original, &reference->watch);
    if (options && options->given)
        code = add_run(reference, VERIFY_INPUTS_GIVEN, false, seed, options, e);
    for (int kind = 0; kind < VERIFY_RUNS && !code && !(options && options->given); kind++)
        if (wanted(original, kinds[kind].mode) && !(kinds[kind].only_first_narrow && has_narrow(reference)) &&
            !(kinds[kind].mode == VERIFY_INPUTS_TURNED && reference->runs == 0))
            code = add_run(reference, kinds[kind].mode, kinds[kind].wide && reference->widens, seed, options,
                           e); /* turned choices alone prove nothing */
    if (code) {
        verify_reference_destroy(reference);
        reference = NULL;
    }
    *out = reference;
    return code;
}

/* Running any number of sharded modules against an original (prove.h): each gets the inputs of the
 * reference's runs, cut as it wants them, and its joined results are judged. A module is never called equal
 * without at least one run. */
#include "verify/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/value.h"

static enum error_code run_local(const struct verify_reference *reference, const struct verify_trial_run *run,
                                 const struct ir_program *program, const struct verify_boundary *boundary,
                                 const struct verify_options *given, struct verify_tensor *outputs,
                                 uint32_t results, struct verify_statistics *statistics, struct error *e)
{
    uint32_t devices = boundary->mesh->devices;
    struct verify_tensor *in = mem_zalloc((size_t)reference->arguments * devices + 1, sizeof *in);
    struct verify_tensor *out = mem_zalloc((size_t)results * devices + 1, sizeof *out);
    struct verify_tensor *parts = mem_zalloc(devices + 1, sizeof *parts);
    struct verify_options options = given ? *given : (struct verify_options){0};
    enum error_code code = ERROR_OK;
    options.style = VERIFY_STYLE_REPLICA;
    for (uint32_t i = 0; i < reference->arguments && !code; i++) {
        code = verify_shard(boundary->mesh, &boundary->arguments[i], &run->inputs[i], parts, e);
        for (uint32_t d = 0; d < devices && !code; d++)
            in[(size_t)d * reference->arguments + i] = parts[d];
    }
    if (!code)
        code = verify_run(program, "main", devices, in, out, &options, statistics, e);
    for (uint32_t i = 0; i < results && !code; i++) {
        static const struct verify_sharding whole = {.rank = 0}; /* of a number that is compared */
        const struct verify_sharding *sharding = i < reference->results ? &boundary->results[i] : &whole;
        double divergence = 0;
        for (uint32_t d = 0; d < devices; d++)
            parts[d] = out[(size_t)d * results + i];
        code = verify_unshard(boundary->mesh, sharding, parts, &outputs[i], &divergence, e);
        if (divergence > statistics->divergence) {
            statistics->divergence = divergence;
            statistics->divergent_result = i;
        }
    }
    verify_tensors_free(in, (size_t)reference->arguments * devices);
    verify_tensors_free(out, (size_t)results * devices);
    free(parts);
    return code;
}

/* same numbers of arguments and results as the original */
static bool fits(const struct verify_reference *reference, const struct ir_program *program)
{
    uint32_t func = ir_function(program, "main"),
             block = func == IR_NONE ? IR_NONE : ir_region_block(program, func, 0);
    uint32_t last = block == IR_NONE ? IR_NONE : ir_block_terminator(program, block);
    return last != IR_NONE && program->blocks[block].arg_count == reference->arguments &&
           program->ops[last].operand_count == reference->results;
}
/* Is run i left out? Turned choices, which come last and only find errors, go with the run before them. */
static bool left_out(const struct verify_reference *reference, const struct ir_program *lowered, uint32_t i,
                     uint32_t only_run)
{
    bool turned = reference->run[i].mode == VERIFY_INPUTS_TURNED;
    uint32_t judging = reference->runs - (reference->run[reference->runs - 1].mode == VERIFY_INPUTS_TURNED);
    if (turned && verify_turned_count(lowered) != verify_turned_count(reference->original))
        return true;
    return only_run && (turned ? i - 1 : i) != (only_run - 1) % judging;
}

/* the sharded module, as it is and in f64 */
struct lowered {
    const struct ir_program *program;
    struct verify_wide wide;
    const struct verify_boundary *boundary; /* NULL: of global signature */
    uint32_t compared;                      /* numbers that the wide one returns more */
    struct verify_watch watch;              /* and numbers that its loops compare */
};

/* The numbers that a manual module compares stand in its body, where none can return them. */
static void widen(const struct verify_reference *reference, struct lowered *lowered)
{
    (void)verify_wide_make(lowered->program, &lowered->wide);
    if (!lowered->boundary || verify_compared_count(lowered->program) != reference->compared)
        return;
    lowered->compared = reference->compared;
    verify_wide_return_compared(&lowered->wide);
    verify_watch_release(&lowered->watch);
    verify_watch_make(lowered->program, &lowered->watch);
    if (lowered->watch.count != reference->watch.count)
        lowered->watch.count = 0;
}

/* Numbers that are compared in another order are no others: each that is not the original's changes places
 * with one that is. */
static void order_compared(const struct verify_reference *reference, struct verify_trial *trial)
{
    const struct verify_tensor *want = trial->run->outputs;
    double tolerance = trial->run->tolerance;
    for (uint32_t k = reference->results; k < trial->results; k++)
        for (uint32_t j = k + 1;
             j < trial->results && verify_compare(&want[k], &trial->outputs[k], 1, tolerance, 0).verdict; j++)
            if (verify_compare(&want[k], &trial->outputs[j], 1, tolerance, 0).verdict == VERIFY_EQUAL) {
                struct verify_tensor other = trial->outputs[k];
                trial->outputs[k] = trial->outputs[j];
                trial->outputs[j] = other;
            }
}

/* Runs the sharded module on the run's inputs, and judges. outputs: owned by the trial. */
static enum error_code try_run(const struct verify_reference *reference, struct lowered *lowered,
                               const struct verify_trial_run *run, const struct verify_options *given,
                               struct verify_trial *trial, struct error *e)
{
    if (run->wide && !lowered->wide.types)
        widen(reference, lowered);
    struct verify_options options = verify_run_options(run, lowered->program, &lowered->watch, given);
    const struct ir_program *program = run->wide ? &lowered->wide.program : lowered->program;
    *trial = (struct verify_trial){.run = run, .results = reference->results};
    trial->results += run->wide ? lowered->compared + lowered->watch.count : 0;
    trial->outputs = mem_zalloc(trial->results + 1, sizeof *trial->outputs);
    enum error_code code =
        lowered->boundary
            ? run_local(reference, run, program, lowered->boundary, &options, trial->outputs, trial->results,
                        &trial->statistics, e)
            : verify_run(program, "main", 1, run->inputs, trial->outputs, &options, &trial->statistics, e);
    if (!code)
        order_compared(reference, trial);
    if (!code)
        verify_judge(reference, given, trial);
    return code;
}

/* the run's inputs in the other types */
static struct verify_trial_run turned_over(const struct verify_reference *reference,
                                           const struct verify_trial_run *from)
{
    struct verify_trial_run run = {.mode = from->mode, .wide = !from->wide};
    uint32_t block = ir_region_block(reference->original, ir_function(reference->original, "main"), 0);
    run.inputs = mem_zalloc(reference->arguments + 1, sizeof *run.inputs);
    for (uint32_t i = 0; i < reference->arguments; i++) {
        uint32_t argument = reference->original->blocks[block].args + i;
        run.inputs[i] = run.wide
                            ? verify_wide_tensor(&from->inputs[i])
                            : verify_narrow_tensor(&from->inputs[i],
                                                   ir_value_type(reference->original, argument)->element);
    }
    return run;
}

/* The trial once more in the other types, *run, and that is the trial then. It stays as it was where that
 * cannot be had. */
static enum error_code try_again(const struct verify_reference *reference, struct lowered *lowered,
                                 const struct verify_options *options, struct verify_trial *trial,
                                 struct verify_trial_run *run, struct error *e)
{
    struct verify_trial before = *trial;
    bool usable = false;
    *run = turned_over(reference, trial->run);
    enum error_code code = verify_run_original(reference, options, run, &usable, e);
    if (!usable)
        return code == ERROR_CANCELLED ? code : ERROR_OK;
    code = try_run(reference, lowered, run, options, trial, e);
    verify_tensors_free(before.outputs, before.results);
    return code;
}

/* One run in full: tried, and reported. Tried again in f64 is what is rounding in the module's own types, as
 * it may be more than that; and in the module's own what differs in f64, if the sharded module has constants
 * that the original has not: another tool folds constants, and rounds them. */
static enum error_code prove_run(const struct verify_reference *reference, struct lowered *lowered,
                                 const struct verify_trial_run *run, const struct verify_options *options,
                                 struct verify_report *report, struct error *e)
{
    struct verify_trial trial = {.outputs = NULL};
    struct verify_trial_run again = {.inputs = NULL};
    enum error_code code = try_run(reference, lowered, run, options, &trial, e);
    enum verify_status status = code ? VERIFY_PROOF_NOT_RUN : trial.judgement.status;
    if ((status == VERIFY_PROOF_INCONCLUSIVE && !run->wide && reference->widens) ||
        (status == VERIFY_PROOF_DIFFERENT && run->wide &&
         verify_constants_differ(reference->original, lowered->program)))
        code = try_again(reference, lowered, options, &trial, &again, e);
    if (!code)
        verify_report_trial(reference, options, &trial, report);
    verify_tensors_free(trial.outputs, trial.results);
    verify_tensors_free(again.inputs, reference->arguments);
    verify_tensors_free(again.outputs, again.results);
    return code;
}

enum error_code verify_prove(const struct verify_reference *reference, const struct ir_program *program,
                             const struct verify_boundary *boundary, const struct verify_options *options,
                             struct verify_report *report, struct error *e)
{
    struct lowered lowered = {.program = program, .boundary = boundary};
    enum error_code code = ERROR_OK;
    memset(report, 0, sizeof *report);
    report->tolerance = reference->tolerance;
    if (reference->runs == 0) {
        report->status = VERIFY_PROOF_NOT_RUN;
        snprintf(report->reason, sizeof report->reason,
                 "inconclusive: the original's results hold NaN with every seed tried");
    } else if (!fits(reference, program)) {
        report->status = VERIFY_PROOF_DIFFERENT;
        snprintf(report->reason, sizeof report->reason, "the sharded module has other arguments or results");
    }
    for (uint32_t i = 0;
         i < reference->runs && !code &&
         (report->status == VERIFY_PROOF_EQUAL || report->status == VERIFY_PROOF_INCONCLUSIVE);
         i++) {
        struct error own = {0};
        if (left_out(reference, program, i, options ? options->only_run : 0))
            continue;
        code = prove_run(reference, &lowered, &reference->run[i], options, report, &own);
        if (code == ERROR_CANCELLED && e)
            *e = own;
        if (code && code != ERROR_CANCELLED) {
            report->status = code == ERROR_NOT_AVAILABLE || code == ERROR_TOO_LARGE ? VERIFY_PROOF_NOT_RUN
                                                                                    : VERIFY_PROOF_DIFFERENT;
            report->too_large = code == ERROR_TOO_LARGE;
            snprintf(report->reason, sizeof report->reason, "line %d: %.300s", own.line, own.message);
            code = ERROR_OK;
        }
    }
    verify_wide_release(&lowered.wide);
    verify_watch_release(&lowered.watch);
    return code;
}

enum error_code verify_prove_modules(const struct ir_program *original, const struct ir_program *lowered,
                                     const struct verify_boundary *boundary, uint64_t seed,
                                     const struct verify_options *options, struct verify_report *report,
                                     struct error *e)
{
    struct verify_reference *reference = NULL;
    enum error_code code = verify_reference_create(original, seed, options, &reference, e);
    if (!code)
        code = verify_prove(reference, lowered, boundary, options, report, e);
    verify_reference_destroy(reference);
    return code;
}

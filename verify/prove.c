/* Running the original once and any number of sharded modules against it (prove.h). The reference keeps
 * inputs and results of every mode that gave no NaN; a sharded module gets the same inputs, cut as it wants
 * them, and its joined results are compared. A module is never called equal without at least one run. */
#include "verify/prove.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "verify/value.h"

enum { RUNS = 5, SEEDS_TRIED = 3 };
/* A result may be off by this many times its noise: the noise is the largest of three samples, and
 * the largest of many would be several times as large. */
#define NOISES 8
/* But never by more than this, relative to the result's largest magnitude: a wrong plan (a forgotten sum, a
 * wrong block) is off by far more than a hundredth. */
#define MOST_NOISE 1e-2
/* A result that rounding alone moves by a tenth of its magnitude and more is not determined by its inputs: a
 * quotient by rounding has moves without a bound, a hundred times the largest of some samples in one of some
 * hundreds. Wrong sums of what should cancel are off by a million times: a part of it does not. Chosen. */
#define UNDETERMINED 0.1
#define NOISES_UNDETERMINED 1000
/* What a step adds may be off by this part, or by this many times the tolerance where types are narrow: an
 * eighth of it that is missing or double is more. And a result by this many roundings. Chosen. */
#define MOST_OF_ADDED 0.05
#define TOLERANCES_OF_ADDED 8
#define ROUNDINGS 8

struct run {
    enum verify_inputs_mode mode;
    bool wide;                        /* in f64 */
    const struct ir_program *program; /* the original, or that of the reference's `wide` */
    double tolerance;
    uint32_t results; /* of the program: in f64 also the numbers that it compares */
    struct verify_tensor *inputs, *outputs;
};

struct verify_reference {
    const struct ir_program *original; /* borrowed */
    struct verify_wide wide;           /* of it */
    bool widens;                       /* that is another program */
    uint32_t arguments, results, runs;
    uint32_t compared; /* numbers that the wide one returns more */
    struct run run[RUNS];
    double tolerance;
};

const char *verify_status_text(enum verify_status s)
{
    static const char *const texts[] = {"equal", "different", "not_run", "inconclusive"};
    return texts[s];
}

static void tensors_free(struct verify_tensor *tensor, size_t count)
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
        tensors_free(reference->run[i].inputs, reference->arguments);
        tensors_free(reference->run[i].outputs, reference->run[i].results);
    }
    verify_wide_release(&reference->wide);
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
                                   const struct verify_options *options, struct run *run, struct error *e)
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
static struct verify_options options_of(const struct run *run, const struct ir_program *narrow,
                                        const struct verify_options *given)
{
    struct verify_options options = given ? *given : (struct verify_options){0};
    options.turned = run->mode == VERIFY_INPUTS_TURNED;
    options.narrow = run->wide ? narrow->types : NULL;
    return options;
}

/* The run's results of its inputs; *usable is false when they hold NaN, and both are freed then. */
static enum error_code run_original(const struct verify_reference *reference,
                                    const struct verify_options *options, struct run *run, bool *usable,
                                    struct error *e)
{
    struct verify_options own = options_of(run, reference->original, options);
    run->program = run->wide ? &reference->wide.program : reference->original;
    run->tolerance = run->wide ? verify_tolerance(run->program) : reference->tolerance;
    run->results = reference->results + (run->wide ? reference->compared : 0);
    run->outputs = mem_zalloc(run->results + 1, sizeof *run->outputs);
    enum error_code code = verify_run(run->program, "main", 1, run->inputs, run->outputs, &own, NULL, e);
    *usable = !code && verify_compare(run->outputs, run->outputs, run->results, 0, 0).verdict == VERIFY_EQUAL;
    if (!*usable) {
        tensors_free(run->inputs, reference->arguments);
        tensors_free(run->outputs, run->results);
        run->inputs = run->outputs = NULL;
    }
    return code;
}

/* The runs, in order. Rounding hides least in f64; at least one run has the types of the module itself. */
static const struct kind {
    enum verify_inputs_mode mode;
    bool wide, only_first_narrow; /* left out where a run before it had the module's own types */
} kinds[RUNS] = {{VERIFY_INPUTS_PLAIN, true, false},
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
    struct run *run = &reference->run[reference->runs];
    bool usable = false;
    int attempts = mode == VERIFY_INPUTS_GIVEN ? 1 : SEEDS_TRIED;
    *run = (struct run){.mode = mode, .wide = wide};
    for (int attempt = 0; attempt < attempts && !usable; attempt++) {
        if (mode == VERIFY_INPUTS_WILD && attempt > 0)
            run->mode = VERIFY_INPUTS_NEGATIVE;
        if (mode == VERIFY_INPUTS_PLAIN && attempt + 1 == SEEDS_TRIED)
            run->mode = VERIFY_INPUTS_POSITIVE;
        TRY(make_inputs(reference, hash_combine(hash_combine(seed, (uint64_t)mode), (uint64_t)attempt),
                        options, run, e));
        TRY(run_original(reference, options, run, &usable, e));
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
    if (options && options->given)
        code = add_run(reference, VERIFY_INPUTS_GIVEN, false, seed, options, e);
    for (int kind = 0; kind < RUNS && !code && !(options && options->given); kind++)
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

/* ---------------------------------------------------------------- the sharded module */
static enum error_code run_local(const struct verify_reference *reference, const struct run *run,
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
    tensors_free(in, (size_t)reference->arguments * devices);
    tensors_free(out, (size_t)results * devices);
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

/* ---- judging one run */
struct judgement {
    enum verify_status status;
    double tolerance;                    /* the widest that was used */
    struct verify_difference difference; /* of the result that decided */
    double noise;                        /* of that result */
    double worst;                        /* error over all results, each by what it is judged by */
    double off;                          /* of what the step added, where that decided; 0: it did not */
    uint32_t cancelled;                  /* results judged by what they were summed from */
    uint32_t results;                    /* judged */
};

/* Is a result off by more than its noise explains? Where it is not determined, what is rounding may also be
 * exactly 0, and a quotient by it infinite. */
static bool is_beyond(double off, double noise)
{
    return noise >= UNDETERMINED ? isfinite(off) && off > NOISES_UNDETERMINED * noise
                                 : !(off <= NOISES * noise);
}

/* One result that is off by more than the tolerance: what is left of that beside its rounding (prove.h). */
static void judge_result(const struct run *run, const struct verify_tensor *outputs, uint32_t result,
                         double noise, double magnitude, struct judgement *judgement)
{
    const struct verify_tensor *original = &run->outputs[result], *candidate = &outputs[result];
    struct verify_difference difference = verify_compare(original, candidate, 1, run->tolerance, 0);
    double worst = judgement->worst;
    judgement->worst = fmax(worst, difference.worst);
    if (difference.verdict == VERIFY_EQUAL)
        return;
    enum verify_status status = VERIFY_PROOF_INCONCLUSIVE;
    if (is_beyond(difference.worst, noise)) {
        status = VERIFY_PROOF_DIFFERENT;
    } else if (difference.worst <= MOST_NOISE) {
        judgement->tolerance = fmax(judgement->tolerance, fmin(MOST_NOISE, NOISES * noise));
        return;
    } else {
        struct verify_difference summed = verify_compare(original, candidate, 1, run->tolerance, magnitude);
        if (summed.verdict == VERIFY_EQUAL) {
            judgement->worst = fmax(worst, summed.worst);
            judgement->cancelled++;
            return;
        }
    }
    if (judgement->status != VERIFY_PROOF_DIFFERENT &&
        (status == VERIFY_PROOF_DIFFERENT || judgement->status == VERIFY_PROOF_EQUAL)) {
        judgement->status = status;
        judgement->noise = noise;
        judgement->difference = difference;
        judgement->difference.result = result;
    }
}

static void judge_results(const struct verify_reference *reference, const struct run *run,
                          const struct verify_tensor *outputs, const double *noise, const double *magnitude,
                          struct judgement *judgement)
{
    judgement->status = VERIFY_PROOF_EQUAL;
    judgement->worst = 0;
    judgement->cancelled = 0;
    for (uint32_t k = 0; k < judgement->results; k++)
        judge_result(run, outputs, k, noise[k], magnitude[k], judgement);
}

/* Every result by its own noise, one that moved and is off by more than its moves by more of them; where
 * noise cannot be had, the difference stands. */
static void judge_noise(const struct verify_reference *reference, const struct run *run,
                        const struct verify_tensor *outputs, const struct verify_options *options,
                        const struct verify_statistics *statistics, struct judgement *judgement)
{
    double *noise = mem_zalloc((size_t)run->results + 1, sizeof *noise),
           *moved = mem_zalloc((size_t)run->results + 1, sizeof *moved),
           *magnitude = mem_zalloc((size_t)run->results + 1, sizeof *magnitude);
    struct error e = {0};
    if (verify_noise(run->program, run->inputs, reference->arguments, run->outputs, run->results, options,
                     false, noise, moved, &e) == ERROR_OK &&
        verify_magnitudes(run->program, run->inputs, run->results, options, magnitude, &e) == ERROR_OK) {
        judge_results(reference, run, outputs, noise, magnitude, judgement);
        if (judgement->status == VERIFY_PROOF_DIFFERENT && judgement->noise > run->tolerance &&
            verify_noise(run->program, run->inputs, reference->arguments, run->outputs, run->results, options,
                         true, noise, moved, &e) == ERROR_OK)
            judge_results(reference, run, outputs, noise, magnitude, judgement);
        if (statistics->divergent_result < run->results)
            judgement->tolerance = fmax(judgement->tolerance, NOISES * noise[statistics->divergent_result]);
    }
    free(noise);
    free(moved);
    free(magnitude);
}

static double unit_of(enum ir_element element)
{
    return element == IR_F64 ? 0x1p-53 : element == IR_F32 ? 0x1p-24 : element == IR_F16 ? 0x1p-11 : 0x1p-8;
}

/* By how much result k is off beside what the step added; 0 where that is within rounding, or the result does
 * not go on from an argument. */
static double off_of_added(const struct run *run, const struct verify_tensor *outputs, uint32_t k)
{
    const struct verify_tensor *original = &run->outputs[k];
    enum verify_store store = verify_store_of(original->element);
    if (store != VERIFY_F32 && store != VERIFY_F64)
        return 0;
    double off = verify_distance(original, &outputs[k]);
    if (off <= ROUNDINGS * unit_of(original->element) * verify_distance(original, NULL))
        return 0;
    double added = verify_added(run->program, k, run->inputs, original);
    double most = fmax(MOST_OF_ADDED, TOLERANCES_OF_ADDED * run->tolerance);
    return off > most * added ? off / fmax(added, off * 1e-9) : 0;
}

/* Results within the tolerance, beside what the step added to its arguments (prove.h): the first that is off
 * by more than its noise is different. */
static void judge_added(const struct verify_reference *reference, const struct run *run,
                        const struct verify_tensor *outputs, const struct verify_options *options,
                        struct judgement *judgement)
{
    double *noise = mem_zalloc((size_t)run->results + 1, sizeof *noise),
           *moved = mem_zalloc((size_t)run->results + 1, sizeof *moved);
    bool sampled = false;
    struct error e = {0};
    for (uint32_t k = 0; k < judgement->results && judgement->status != VERIFY_PROOF_DIFFERENT; k++) {
        struct verify_difference difference =
            verify_compare(&run->outputs[k], &outputs[k], 1, run->tolerance, 0);
        double off = difference.verdict == VERIFY_EQUAL ? off_of_added(run, outputs, k) : 0;
        for (int more = 0; more < 2 && off > 0 && !sampled; more++)
            if (verify_noise(run->program, run->inputs, reference->arguments, run->outputs, run->results,
                             options, more, noise, moved, &e) != ERROR_OK)
                goto out;
        sampled = sampled || off > 0;
        if (off > 0 && verify_distance(&run->outputs[k], &outputs[k]) > NOISES * moved[k]) {
            judgement->status = VERIFY_PROOF_DIFFERENT;
            judgement->off = off;
            judgement->difference = difference;
            judgement->difference.result = k;
        }
    }
out:
    free(noise);
    free(moved);
}

/* "result 3 (params/w1)"; `results`: the original's, behind which the numbers that it compares stand */
static void add_result(const struct verify_options *options, uint32_t result, uint32_t results,
                       struct text *text)
{
    if (result >= results)
        text_printf(text, "number %u of those that choices compare", result - results);
    else
        text_printf(text, "result %u", result);
    if (result < results && options && options->result_names)
        text_printf(text, " (%.80s)", options->result_names[result]);
}

/* How many elements of the result are off by more than the tolerance: one wrong element, one block and
 * everything are errors of different kinds. */
static int64_t count_beyond(const struct verify_tensor *original, const struct verify_tensor *candidate,
                            double tolerance)
{
    int64_t beyond = 0, count = verify_tensor_count(original);
    size_t size = verify_element_size(original->element);
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(verify_element(original, i)))
            most = fmax(most, fabs(verify_element(original, i)));
    for (int64_t i = 0; i < count; i++) {
        double x = verify_element(original, i), y = verify_element(candidate, i);
        bool same = memcmp((const char *)original->data + (size_t)i * size,
                           (const char *)candidate->data + (size_t)i * size, size) == 0;
        beyond += !same && !(fabs(x - y) <= tolerance * most);
    }
    return beyond;
}

/* "result 3 (params/w1) is 0.5 instead of 0.25 at [4, 7], 64 of 512 elements differ" */
static void describe(const struct run *run, const struct verify_tensor *outputs,
                     const struct verify_options *options, double tolerance, uint32_t results,
                     struct verify_difference *difference)
{
    struct text text = {0};
    const struct verify_tensor *original = &run->outputs[difference->result],
                               *candidate = &outputs[difference->result];
    int64_t place[IR_MAX_RANK], left = difference->index;
    bool complex_number = original->element == IR_C64 || original->element == IR_C128;
    if (original->element != candidate->element || original->rank != candidate->rank ||
        memcmp(original->dims, candidate->dims, original->rank * sizeof *original->dims) != 0)
        return;
    add_result(options, difference->result, results, &text);
    text_printf(&text, " is %.9g instead of %.9g", difference->candidate, difference->reference);
    left = complex_number ? left / 2 : left;
    for (uint32_t dim = original->rank; dim-- > 0; left /= original->dims[dim])
        place[dim] = left % original->dims[dim];
    for (uint32_t dim = 0; dim < original->rank; dim++)
        text_printf(&text, "%s%lld%s", dim ? ", " : " at [", (long long)place[dim],
                    dim + 1 == original->rank ? "]" : "");
    if (!complex_number && original->rank)
        text_printf(&text, ", %lld of %lld elements differ",
                    (long long)count_beyond(original, candidate, tolerance),
                    (long long)verify_tensor_count(original));
    snprintf(difference->what, sizeof difference->what, "%s", text.at);
    text_release(&text);
}

/* one run of a sharded module: its joined results, what the run did, and what they are */
struct trial {
    const struct run *run;
    struct verify_tensor *outputs;
    uint32_t results; /* the original's, or, in f64 where both compare as many numbers, these, too */
    struct verify_statistics statistics;
    struct judgement judgement;
};

static void judge(const struct verify_reference *reference, const struct verify_options *given,
                  struct trial *trial)
{
    const struct run *run = trial->run;
    struct judgement *judgement = &trial->judgement;
    struct verify_options options = options_of(run, reference->original, given);
    *judgement = (struct judgement){
        .difference = verify_compare(run->outputs, trial->outputs, trial->results, run->tolerance, 0),
        .tolerance = run->tolerance,
        .results = trial->results};
    judgement->worst = judgement->difference.worst;
    if (judgement->difference.verdict != VERIFY_EQUAL) {
        judgement->status = VERIFY_PROOF_DIFFERENT;
        judge_noise(reference, run, trial->outputs, &options, &trial->statistics, judgement);
    }
    if (judgement->status != VERIFY_PROOF_DIFFERENT)
        judge_added(reference, run, trial->outputs, &options, judgement);
}

/* "plain inputs, in f64" */
static void add_run_name(const struct run *run, struct text *text)
{
    static const char *const modes[] = {"plain",    "moments", "wild", "negative",
                                        "positive", "turned",  "given"};
    text_printf(text, "%s inputs%s", modes[run->mode], run->wide ? ", in f64" : "");
}

/* why the trial's results are not equal */
static void add_reason(const struct verify_reference *reference, const struct verify_options *options,
                       struct trial *trial, struct text *text)
{
    struct judgement *judgement = &trial->judgement;
    describe(trial->run, trial->outputs, options, trial->run->tolerance, reference->results,
             &judgement->difference);
    text_add(text, judgement->status == VERIFY_PROOF_INCONCLUSIVE ? "rounding: " : "");
    add_run_name(trial->run, text);
    text_printf(text, ": %s", judgement->difference.what);
    if (judgement->status == VERIFY_PROOF_INCONCLUSIVE)
        text_printf(text,
                    " (error %.3g), and rounding alone moves that result of the original by %.3g of its "
                    "magnitude",
                    judgement->difference.worst, judgement->noise);
    else if (judgement->off > 0)
        text_printf(text, " (what the step adds to it is off by %.3g of its size, more than rounding)",
                    judgement->off);
    else
        text_printf(text, " (error %.3g, tolerance %.3g)", judgement->difference.worst,
                    trial->run->tolerance);
}

/* What the trial adds to the report: turned choices only find errors. */
static void report_trial(const struct verify_reference *reference, const struct verify_options *options,
                         struct trial *trial, struct verify_report *report)
{
    const struct verify_statistics *statistics = &trial->statistics;
    struct judgement *judgement = &trial->judgement;
    struct text reason = {0};
    report->runs++;
    report->operations += statistics->operations;
    report->collectives += statistics->collectives;
    report->divergence = fmax(report->divergence, statistics->divergence);
    if (trial->run->mode == VERIFY_INPUTS_TURNED && judgement->status != VERIFY_PROOF_DIFFERENT)
        return;
    report->max_error = fmax(report->max_error, judgement->worst);
    report->cancelled = judgement->cancelled > report->cancelled ? judgement->cancelled : report->cancelled;
    report->tolerance = fmax(report->tolerance, fmin(MOST_NOISE, judgement->tolerance));
    if (judgement->status == VERIFY_PROOF_DIFFERENT ||
        (judgement->status == VERIFY_PROOF_INCONCLUSIVE && report->status == VERIFY_PROOF_EQUAL)) {
        report->status = judgement->status;
        add_reason(reference, options, trial, &reason);
    }
    if (report->status != VERIFY_PROOF_DIFFERENT && statistics->divergence > judgement->tolerance) {
        report->status = VERIFY_PROOF_DIFFERENT;
        text_release(&reason);
        add_run_name(trial->run, &reason);
        text_add(&reason, ": copies of ");
        add_result(options, statistics->divergent_result, reference->results, &reason);
        text_printf(&reason, " on different devices differ by %.3g", statistics->divergence);
    }
    if (reason.size)
        snprintf(report->reason, sizeof report->reason, "%s", reason.at);
    text_release(&reason);
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
};

/* The numbers that a manual module compares stand in its body, where none can return them. */
static void widen(const struct verify_reference *reference, struct lowered *lowered)
{
    (void)verify_wide_make(lowered->program, &lowered->wide);
    if (!lowered->boundary || verify_compared_count(lowered->program) != reference->compared)
        return;
    lowered->compared = reference->compared;
    verify_wide_return_compared(&lowered->wide);
}

/* Numbers that are compared in another order are no others: each that is not the original's changes places
 * with one that is. */
static void order_compared(const struct verify_reference *reference, struct trial *trial)
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
                               const struct run *run, const struct verify_options *given, struct trial *trial,
                               struct error *e)
{
    struct verify_options options = options_of(run, lowered->program, given);
    if (run->wide && !lowered->wide.types)
        widen(reference, lowered);
    const struct ir_program *program = run->wide ? &lowered->wide.program : lowered->program;
    *trial = (struct trial){.run = run, .results = reference->results};
    trial->results += run->wide ? lowered->compared : 0;
    trial->outputs = mem_zalloc(trial->results + 1, sizeof *trial->outputs);
    enum error_code code =
        lowered->boundary
            ? run_local(reference, run, program, lowered->boundary, &options, trial->outputs, trial->results,
                        &trial->statistics, e)
            : verify_run(program, "main", 1, run->inputs, trial->outputs, &options, &trial->statistics, e);
    if (!code)
        order_compared(reference, trial);
    if (!code)
        judge(reference, given, trial);
    return code;
}

/* the run's inputs in the other types */
static struct run turned_over(const struct verify_reference *reference, const struct run *from)
{
    struct run run = {.mode = from->mode, .wide = !from->wide};
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
                                 const struct verify_options *options, struct trial *trial, struct run *run,
                                 struct error *e)
{
    struct trial before = *trial;
    bool usable = false;
    *run = turned_over(reference, trial->run);
    enum error_code code = run_original(reference, options, run, &usable, e);
    if (!usable)
        return code == ERROR_CANCELLED ? code : ERROR_OK;
    code = try_run(reference, lowered, run, options, trial, e);
    tensors_free(before.outputs, before.results);
    return code;
}

/* One run in full: tried, and reported. Tried again in f64 is what is rounding in the module's own types, as
 * it may be more than that; and in the module's own what differs in f64, if the sharded module has constants
 * that the original has not: another tool folds constants, and rounds them. */
static enum error_code prove_run(const struct verify_reference *reference, struct lowered *lowered,
                                 const struct run *run, const struct verify_options *options,
                                 struct verify_report *report, struct error *e)
{
    struct trial trial = {.outputs = NULL};
    struct run again = {.inputs = NULL};
    enum error_code code = try_run(reference, lowered, run, options, &trial, e);
    enum verify_status status = code ? VERIFY_PROOF_NOT_RUN : trial.judgement.status;
    if ((status == VERIFY_PROOF_INCONCLUSIVE && !run->wide && reference->widens) ||
        (status == VERIFY_PROOF_DIFFERENT && run->wide &&
         verify_constants_differ(reference->original, lowered->program)))
        code = try_again(reference, lowered, options, &trial, &again, e);
    if (!code)
        report_trial(reference, options, &trial, report);
    tensors_free(trial.outputs, trial.results);
    tensors_free(again.inputs, reference->arguments);
    tensors_free(again.outputs, again.results);
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

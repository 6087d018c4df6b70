/* Judging what a sharded module computed (prove.h has the rules): by the tolerance, by the original's own
 * noise, by what a result was summed from, and by what a step adds. */
#include "verify/trial.h"

#include <math.h>
#include <stdlib.h>

#include "verify/value.h"

/* A result may be off by this many times its noise: the noise is the largest of three samples, and
 * the largest of many would be several times as large. */
#define NOISES 8
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

/* Is a result off by more than its noise explains? Where it is not determined, what is rounding may also be
 * exactly 0, and a quotient by it infinite. */
static bool is_beyond(double off, double noise)
{
    return noise >= UNDETERMINED ? isfinite(off) && off > NOISES_UNDETERMINED * noise
                                 : !(off <= NOISES * noise);
}

/* One result that is off by more than the tolerance: what is left of that beside its rounding (prove.h). */
static void judge_result(const struct verify_trial_run *run, const struct verify_tensor *outputs,
                         uint32_t result, double noise, double magnitude, struct verify_judgement *judgement)
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
    } else if (difference.worst <= VERIFY_MOST_NOISE) {
        judgement->tolerance = fmax(judgement->tolerance, fmin(VERIFY_MOST_NOISE, NOISES * noise));
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

static void judge_results(const struct verify_reference *reference, const struct verify_trial_run *run,
                          const struct verify_tensor *outputs, const double *noise, const double *magnitude,
                          struct verify_judgement *judgement)
{
    judgement->status = VERIFY_PROOF_EQUAL;
    judgement->worst = 0;
    judgement->cancelled = 0;
    for (uint32_t k = 0; k < judgement->results; k++)
        judge_result(run, outputs, k, noise[k], magnitude[k], judgement);
}

/* Every result by its own noise, one that moved and is off by more than its moves by more of them; where
 * noise cannot be had, the difference stands. */
static void judge_noise(const struct verify_reference *reference, const struct verify_trial_run *run,
                        const struct verify_tensor *outputs, const struct verify_options *options,
                        const struct verify_statistics *statistics, struct verify_judgement *judgement)
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
static double off_of_added(const struct verify_trial_run *run, const struct verify_tensor *outputs,
                           uint32_t k)
{
    const struct verify_tensor *original = &run->outputs[k];
    enum verify_store store = verify_store_of(original->element);
    if ((store != VERIFY_F32 && store != VERIFY_F64) || k >= run->returned)
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
static void judge_added(const struct verify_reference *reference, const struct verify_trial_run *run,
                        const struct verify_tensor *outputs, const struct verify_options *options,
                        struct verify_judgement *judgement)
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

void verify_judge(const struct verify_reference *reference, const struct verify_options *given,
                  struct verify_trial *trial)
{
    const struct verify_trial_run *run = trial->run;
    struct verify_judgement *judgement = &trial->judgement;
    struct verify_options options = verify_run_options(run, reference->original, &reference->watch, given);
    *judgement = (struct verify_judgement){
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
/* What a trial of a sharded module adds to the report of a proof: figures, status, the reason in words. */
#include "verify/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/value.h"

const char *verify_status_text(enum verify_status s)
{
    static const char *const texts[] = {"equal", "different", "not_run", "inconclusive"};
    return texts[s];
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
static void describe(const struct verify_trial_run *run, const struct verify_tensor *outputs,
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

/* "plain inputs, in f64" */
static void add_run_name(const struct verify_trial_run *run, struct text *text)
{
    static const char *const modes[] = {"plain",    "moments", "wild", "negative",
                                        "positive", "turned",  "given"};
    text_printf(text, "%s inputs%s", modes[run->mode], run->wide ? ", in f64" : "");
}

/* why the trial's results are not equal */
static void add_reason(const struct verify_reference *reference, const struct verify_options *options,
                       struct verify_trial *trial, struct text *text)
{
    struct verify_judgement *judgement = &trial->judgement;
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

void verify_report_trial(const struct verify_reference *reference, const struct verify_options *options,
                         struct verify_trial *trial, struct verify_report *report)
{
    const struct verify_statistics *statistics = &trial->statistics;
    struct verify_judgement *judgement = &trial->judgement;
    struct text reason = {0};
    report->runs++;
    report->operations += statistics->operations;
    report->collectives += statistics->collectives;
    report->divergence = fmax(report->divergence, statistics->divergence);
    if (trial->run->mode == VERIFY_INPUTS_TURNED && judgement->status != VERIFY_PROOF_DIFFERENT)
        return;
    report->max_error = fmax(report->max_error, judgement->worst);
    report->cancelled = judgement->cancelled > report->cancelled ? judgement->cancelled : report->cancelled;
    report->tolerance = fmax(report->tolerance, fmin(VERIFY_MOST_NOISE, judgement->tolerance));
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

/* What a finished search gives: the report, the module in the forms that were asked for, the proof. */
#include "planner/parts.h"

#include "emit/emit.h"
#include "ir/print.h"
#include "planner/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void planner_outcome_release(struct planner_outcome *outcome)
{
    report_destroy(outcome->report);
    for (uint32_t i = 0; i < outcome->module_count; i++)
        free(outcome->modules[i].text);
    plan_cfn_destroy(outcome->problem);
    text_release(&outcome->segments);
    memset(outcome, 0, sizeof *outcome);
}

/* ---- modules and proof ---- */

struct lowered {
    struct plan plan;
    struct spmd_local local;
};

static enum error_code lower(const struct planner_job *j, const struct report *report,
                             struct lowered *lowered, struct error *e)
{
    plan_init(&lowered->plan, j->nda, &j->request->mesh);
    if (!search_plan_replay(j->context, &report->plan, &lowered->plan))
        return error_set(e, ERROR_INTERNAL, "the best plan's decisions do not replay to its hash");
    return spmd_walk(j->context, &lowered->plan, evaluator_options(j->evaluator), &lowered->local, e);
}

static enum error_code add_module(const struct planner_job *j, const struct lowered *lowered,
                                  enum emit_output form, enum planner_output bit, struct planner_outcome *out,
                                  struct error *e)
{
    struct ir_program module = {0};
    TRY(spmd_emit(j->context, &lowered->plan, &lowered->local, form, &module, e));
    struct text text = {0};
    ir_print(&module, &text);
    ir_program_release(&module);
    out->modules[out->module_count++] = (struct planner_module){bit, text.at, text.size};
    return ERROR_OK;
}

/* `rng` draws other numbers on every device: no module of one device's program means what the original does.
 * A job that asks for the annotated form besides gets that one and a warning; another is refused where the
 * form is emitted. */
static bool only_annotated(const struct planner_job *j, struct report *report)
{
    static const char sentence[] =
        "manual and local form are not written: stablehlo.rng draws other numbers on every device";
    const uint32_t own = PLANNER_OUTPUT_MANUAL | PLANNER_OUTPUT_LOCAL;
    bool draws = false;
    for (uint32_t op = 0; op < j->prepared.op_count && !draws; op++)
        draws = j->prepared.ops[op].code == IR_RNG;
    if (!draws || !(j->request->outputs & own) || !(j->request->outputs & PLANNER_OUTPUT_ANNOTATED))
        return false;
    char **warnings = arena_alloc(report->arena, sizeof *warnings * (report->warning_count + 1));
    if (report->warning_count)
        memcpy(warnings, report->warnings, sizeof *warnings * report->warning_count);
    warnings[report->warning_count++] = arena_strndup(report->arena, sentence, sizeof sentence - 1);
    report->warnings = warnings;
    return true;
}

static enum error_code add_modules(const struct planner_job *j, const struct lowered *lowered,
                                   struct planner_outcome *out, struct error *e)
{
    static const struct {
        enum planner_output bit;
        enum emit_output form;
    } forms[PLANNER_FORMS] = {{PLANNER_OUTPUT_ANNOTATED, EMIT_ANNOTATED},
                              {PLANNER_OUTPUT_MANUAL, EMIT_MANUAL},
                              {PLANNER_OUTPUT_LOCAL, EMIT_LOCAL}};
    uint32_t wanted = j->request->outputs;
    if (only_annotated(j, out->report))
        wanted &= ~(uint32_t)(PLANNER_OUTPUT_MANUAL | PLANNER_OUTPUT_LOCAL);
    for (size_t i = 0; i < PLANNER_FORMS; i++)
        if (wanted & forms[i].bit)
            TRY(add_module(j, lowered, forms[i].form, forms[i].bit, out, e));
    return ERROR_OK;
}

static enum error_code add_proof(const struct planner_job *j, const struct lowered *lowered,
                                 struct planner_outcome *out, struct error *e)
{
    struct report *report = out->report;
    struct planner_proof *proof = &out->proof;
    TRY(planner_proof_run(&j->prepared, j->context, &lowered->plan, &lowered->local, j->request->seed, NULL,
                          proof, e));
    out->proved = true;
    snprintf(report->proof_status, sizeof report->proof_status, "%s", verify_status_text(proof->status));
    snprintf(report->proof_reason, sizeof report->proof_reason, "%.190s", proof->reason);
    report->proof_max_error =
        proof->manual.max_error > proof->local.max_error ? proof->manual.max_error : proof->local.max_error;
    return ERROR_OK;
}

static enum error_code add_lowered(const struct planner_job *j, struct planner_outcome *out, struct error *e)
{
    struct lowered lowered = {0};
    enum error_code code = lower(j, out->report, &lowered, e);
    if (code == ERROR_OK && j->request->outputs & PLANNER_OUTPUT_PROBLEM)
        code = plan_cfn_create(j->evaluator, PLAN_CFN_SHARED, &out->problem, e);
    if (code == ERROR_OK)
        code = add_modules(j, &lowered, out, e);
    if (code == ERROR_OK && j->request->outputs & PLANNER_OUTPUT_SEGMENTS)
        code = planner_archive_write(j->context, out->report->module_digest, j->request->proof,
                                     j->request->seed, &out->segments, e);
    if (code == ERROR_OK && j->request->proof)
        code = add_proof(j, &lowered, out, e);
    spmd_local_release(&lowered.local);
    plan_release(&lowered.plan);
    return code;
}

/* ---- reports ---- */

static void describe(const struct planner_job *j, bool whole, struct report *report)
{
    sha256_format(j->image->digest, report->module_digest);
    report->seed = j->request->seed;
    report->reproducible = whole;
    report->fold = (struct report_fold){j->fold.layers, j->fold.kept,   j->fold.checked,
                                        j->fold.worst,  j->fold.random, j->fold.beyond};
    report->no_module_pins = j->request->annotations != PLANNER_ANNOTATIONS_PIN && j->annotations.pins > 0;
    report->pins_completed = j->request->method == PLANNER_PROPAGATE;
}

static void add_segments(const struct planner_job *j, struct report *report)
{
    const struct segments_answer *answer = &j->segments;
    report_add_baseline(report, "segments", &answer->plan.price, answer->plan.cost);
    report->segments = (struct report_segments){.present = true,
                                                .blocks = answer->blocks,
                                                .segments = answer->segments,
                                                .kinds = answer->kinds,
                                                .programs = answer->programs,
                                                .inner = answer->inner,
                                                .composed_ps = answer->composed_ps,
                                                .composed_bytes = answer->composed_bytes,
                                                .step_ps = answer->plan.price.step_ps,
                                                .peak_bytes = answer->plan.price.peak_bytes,
                                                .proved = answer->proved,
                                                .mixed = answer->mixed};
}

static enum error_code make_report(const struct planner_job *j, const struct search_state *state, bool whole,
                                   struct report **out, struct error *e)
{
    struct search_plan best;
    planner_job_best(j, state, whole, &best);
    TRY(report_create(j->evaluator, j->search, state, &best, out, e));
    if (j->has_network) {
        report_add_baseline(*out, "cfn", &j->network.price, j->network.cost);
        (*out)->has_bound = j->network.has_bound;
        (*out)->bound_ps = j->network.bound_ps;
    }
    if (j->has_segments)
        add_segments(j, *out);
    planner_job_tell_annotations(j, *out);
    describe(j, whole, *out);
    return ERROR_OK;
}

enum error_code planner_job_finish(const struct planner_job *j, const struct search_state *state, bool whole,
                                   struct planner_outcome *out, struct error *e)
{
    memset(out, 0, sizeof *out);
    TRY(make_report(j, state, whole, &out->report, e));
    enum error_code code = add_lowered(j, out, e);
    if (code != ERROR_OK) {
        planner_outcome_release(out);
        return code;
    }
    out->fits = out->report->smallest_budget_bytes == 0;
    return ERROR_OK;
}

enum error_code planner_job_report(const struct planner_job *j, const struct search_state *state, bool whole,
                                   struct report **out, struct error *e)
{
    struct search_plan best;
    planner_job_best(j, state, whole, &best);
    TRY(report_create_plan(j->evaluator, &best, out, e));
    describe(j, whole, *out);
    return ERROR_OK;
}

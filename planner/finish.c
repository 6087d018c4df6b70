/* What a finished search gives: the report, the module in the forms that were asked for, the proof. */
#include "planner/parts.h"

#include "base/threads.h"
#include "emit/emit.h"
#include "ir/print.h"
#include "planner/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void release_modules(struct planner_module *modules, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(modules[i].text);
}

void planner_outcome_release(struct planner_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->alternative_count; i++) {
        report_destroy(outcome->alternatives[i].report);
        release_modules(outcome->alternatives[i].modules, outcome->alternatives[i].module_count);
    }
    report_destroy(outcome->report);
    release_modules(outcome->modules, outcome->module_count);
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
                                  enum emit_output form, struct planner_module *out, struct error *e)
{
    struct ir_program module = {0};
    TRY(spmd_emit(j->context, &lowered->plan, &lowered->local, form, &module, e));
    struct text text = {0};
    ir_print_as_read(&module, &text);
    ir_program_release(&module);
    out->text = text.at;
    out->size = text.size;
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
                                   struct report *report, struct planner_module *modules, uint32_t *count,
                                   struct error *e)
{
    static const struct {
        enum planner_output bit;
        enum emit_output form;
    } forms[PLANNER_FORMS] = {{PLANNER_OUTPUT_ANNOTATED, EMIT_ANNOTATED},
                              {PLANNER_OUTPUT_MANUAL, EMIT_MANUAL},
                              {PLANNER_OUTPUT_LOCAL, EMIT_LOCAL}};
    uint32_t wanted = j->request->outputs;
    if (only_annotated(j, report))
        wanted &= ~(uint32_t)(PLANNER_OUTPUT_MANUAL | PLANNER_OUTPUT_LOCAL);
    for (size_t i = 0; i < PLANNER_FORMS; i++)
        if (wanted & forms[i].bit) {
            modules[*count].bit = forms[i].bit;
            TRY(add_module(j, lowered, forms[i].form, &modules[*count], e));
            (*count)++;
        }
    return ERROR_OK;
}

static enum error_code add_proof(const struct planner_job *j, const struct lowered *lowered,
                                 struct report *report, struct planner_proof *proof, struct error *e)
{
    TRY(planner_proof_any_size(&j->prepared, j->context, &lowered->plan, &lowered->local, j->request->seed,
                               NULL, proof, e));
    snprintf(report->proof_status, sizeof report->proof_status, "%s", verify_status_text(proof->status));
    struct text reason = {0};
    text_add(&reason, proof->reason);
    if (*proof->reason && proof->shrunken.instead)
        text_add(&reason, "; ");
    planner_proof_sizes_text(proof, &reason);
    snprintf(report->proof_reason, sizeof report->proof_reason, "%.470s%s", reason.at,
             reason.size > 470 ? " .." : "");
    text_release(&reason);
    report->proof_max_error =
        proof->manual.max_error > proof->local.max_error ? proof->manual.max_error : proof->local.max_error;
    return ERROR_OK;
}

static enum error_code write_lowered(const struct planner_job *j, const struct lowered *lowered,
                                     struct report *report, struct planner_module *modules, uint32_t *count,
                                     struct planner_proof *proof, struct error *e)
{
    planner_stage(j->request, "modules");
    TRY(add_modules(j, lowered, report, modules, count, e));
    if (j->request->proof)
        planner_stage(j->request, "proof");
    return j->request->proof ? add_proof(j, lowered, report, proof, e) : ERROR_OK;
}

enum error_code planner_job_write(const struct planner_job *j, struct report *report,
                                  struct planner_module *modules, uint32_t *count,
                                  struct planner_proof *proof, struct error *e)
{
    struct lowered lowered = {0};
    enum error_code code = lower(j, report, &lowered, e);
    if (code == ERROR_OK)
        code = write_lowered(j, &lowered, report, modules, count, proof, e);
    if (code != ERROR_OK) {
        release_modules(modules, *count);
        *count = 0;
    }
    spmd_local_release(&lowered.local);
    plan_release(&lowered.plan);
    return code;
}

/* ---- reports ---- */

void planner_job_describe(const struct planner_job *j, bool whole, struct report *report)
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
                                                .measured = answer->measured,
                                                .composed_ps = answer->composed_ps,
                                                .composed_bytes = answer->composed_bytes,
                                                .step_ps = answer->plan.price.step_ps,
                                                .peak_bytes = answer->plan.price.peak_bytes,
                                                .proved = answer->proved,
                                                .mixed = answer->mixed};
}

/* all but its constraints */
static enum error_code make_report(const struct planner_job *j, const struct search_state *state, bool whole,
                                   const struct search_plan *best, struct report **out, struct error *e)
{
    planner_stage(j->request, "report");
    TRY(report_create(j->evaluator, j->search, state, best, out, e));
    if (j->has_network) {
        report_add_baseline(*out, "cfn", &j->network.price, j->network.cost);
        (*out)->has_bound = j->network.has_bound;
        (*out)->bound_ps = j->network.bound_ps;
    }
    if (j->has_segments)
        add_segments(j, *out);
    planner_job_tell_annotations(j, *out);
    if (j->given_is_other)
        report_add_warning(*out,
                           "the plan of constraints_from_plan was made for another module, mesh or build: "
                           "the shardings of its arguments and results count, the plan does not race");
    TRY(report_add_classes(*out, j->has_yours ? &j->yours : NULL, e));
    TRY(planner_find_larger(j, *out, e));
    planner_job_describe(j, whole, *out);
    return ERROR_OK;
}

static enum error_code make_files(const struct planner_job *j, struct planner_outcome *out, struct error *e)
{
    if (j->request->outputs & PLANNER_OUTPUT_PROBLEM)
        TRY(plan_cfn_create(j->evaluator, PLAN_CFN_SHARED, &out->problem, e));
    if (j->request->outputs & PLANNER_OUTPUT_SEGMENTS)
        TRY(planner_archive_write(j->context, out->report->module_digest, j->request->proof, j->request->seed,
                                  &out->segments, e));
    return planner_job_write(j, out->report, out->modules, &out->module_count, &out->proof, e);
}

/* The report and the modules, and what has to be written into the model: both are of the plan alone, and as
 * long as each other. */
struct finishing {
    const struct planner_job *j;
    const struct search_state *state;
    bool whole;
    struct search_plan best;
    struct plan_factors factors; /* what best.factors may refer to */
    bool last;                   /* its tries are not looked at */
    struct planner_outcome *out;
    struct spmd_constraints constraints;
    enum error_code codes[2];
    struct error errors[2];
};

static void finish_part(void *user, uint32_t number)
{
    struct finishing *finishing = user;
    const struct planner_job *j = finishing->j;
    enum error_code *code = &finishing->codes[number];
    if (number == 1) {
        *code = report_find_constraints(j->evaluator, &finishing->best, &finishing->constraints,
                                        &finishing->errors[1]);
        return;
    }
    *code = make_report(j, finishing->state, finishing->whole, &finishing->best, &finishing->out->report,
                        &finishing->errors[0]);
    if (!*code && (finishing->last || !planner_better_try(finishing->out->report)))
        *code = make_files(j, finishing->out, &finishing->errors[0]);
    planner_stage(j->request, "constraints"); /* or the rest of their time */
}

static enum error_code finish_parts(struct finishing *finishing, struct error *e)
{
    if (finishing->j->request->threads > 1)
        threads_run(2, finish_part, finishing);
    for (uint32_t i = 0; i < 2 && finishing->j->request->threads <= 1; i++)
        finish_part(finishing, i);
    for (uint32_t i = 0; i < 2; i++)
        if (finishing->codes[i]) {
            *e = finishing->errors[i];
            return finishing->codes[i];
        }
    return ERROR_OK;
}

/* a search that was cut short has no time for more */
static bool searches_on(const struct finishing *finishing)
{
    enum planner_method method = finishing->j->request->method;
    return finishing->whole && (method == PLANNER_AUTO || method == PLANNER_MCTS || method == PLANNER_CFN);
}

enum { BETTER = 8 }; /* times that the answer gives way to a better one that its report came upon */

static enum error_code finish_best(struct finishing *finishing, struct error *e)
{
    for (uint32_t round = 0;; round++) {
        finishing->last |= round == BETTER || !searches_on(finishing);
        TRY(finish_parts(finishing, e));
        const struct report_whole *better = planner_better_try(finishing->out->report);
        if (finishing->last || !better)
            return ERROR_OK;
        finishing->last =
            !planner_job_take_better(finishing->j, better, &finishing->best, &finishing->factors);
        spmd_constraints_release(&finishing->constraints);
        planner_outcome_release(finishing->out);
    }
}

static enum error_code finish(const struct planner_job *j, const struct search_state *state,
                              const struct search_blob *snapshot, bool whole, struct planner_outcome *out,
                              struct error *e)
{
    struct finishing finishing = {.j = j, .state = state, .whole = whole, .out = out};
    planner_job_best(j, state, whole, &finishing.best);
    enum error_code code = finish_best(&finishing, e);
    if (code == ERROR_OK)
        report_add_constraints(out->report, &finishing.constraints);
    spmd_constraints_release(&finishing.constraints);
    free(finishing.factors.at);
    if (code != ERROR_OK)
        return code;
    out->proved = j->request->proof;
    out->fits = out->report->smallest_budget_bytes == 0;
    if (j->request->alternatives)
        planner_stage(j->request, "alternatives");
    return j->request->alternatives ? planner_job_alternatives(j, snapshot, whole, out, e) : ERROR_OK;
}

enum error_code planner_job_finish(const struct planner_job *j, const struct search_state *state,
                                   const struct search_blob *snapshot, bool whole,
                                   struct planner_outcome *out, struct error *e)
{
    memset(out, 0, sizeof *out);
    enum error_code code = finish(j, state, snapshot, whole, out, e);
    if (code != ERROR_OK)
        planner_outcome_release(out);
    return code;
}

enum error_code planner_job_report(const struct planner_job *j, const struct search_state *state, bool whole,
                                   struct report **out, struct error *e)
{
    struct search_plan best;
    planner_job_best(j, state, whole, &best);
    TRY(report_create_plan(j->evaluator, &best, out, e));
    planner_job_describe(j, whole, *out);
    return ERROR_OK;
}

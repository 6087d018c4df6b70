/* What a finished search gives: the report, the module in the forms that were asked for, the proof. */
#include "planner/parts.h"

#include "base/threads.h"
#include "emit/emit.h"
#include "ir/print.h"
#include "planner/archive.h"

#include <pthread.h>
#include <stdatomic.h>
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

static enum error_code lower(const struct planner_job *j, const struct search_plan *plan,
                             struct lowered *lowered, struct error *e)
{
    plan_init(&lowered->plan, j->nda, &j->request->mesh);
    if (!search_plan_replay(j->context, plan, &lowered->plan))
        return error_set(e, ERROR_INTERNAL, "the best plan's decisions do not replay to its hash");
    TRY(spmd_walk(j->context, &lowered->plan, evaluator_options(j->evaluator), &lowered->local, e));
    spmd_local_rest(&lowered->local);
    return ERROR_OK;
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
enum { OWN_FORMS = PLANNER_OUTPUT_MANUAL | PLANNER_OUTPUT_LOCAL };

static bool only_annotated(const struct planner_job *j)
{
    bool draws = false;
    for (uint32_t op = 0; op < j->prepared.op_count && !draws; op++)
        draws = j->prepared.ops[op].code == IR_RNG;
    return draws && (j->request->outputs & OWN_FORMS) && (j->request->outputs & PLANNER_OUTPUT_ANNOTATED);
}

static uint32_t wanted_forms(const struct planner_job *j)
{
    const uint32_t asked = j->request->outputs & (OWN_FORMS | PLANNER_OUTPUT_ANNOTATED);
    return only_annotated(j) ? PLANNER_OUTPUT_ANNOTATED : asked;
}

static void warn_of_forms(const struct planner_job *j, struct report *report)
{
    if (only_annotated(j))
        report_add_warning(report, "manual and local form are not written: stablehlo.rng draws other numbers "
                                   "on every device");
}

static enum error_code add_modules(const struct planner_job *j, const struct lowered *lowered, uint32_t forms,
                                   struct planner_module *modules, uint32_t *count, struct error *e)
{
    static const struct {
        enum planner_output bit;
        enum emit_output form;
    } all[PLANNER_FORMS] = {{PLANNER_OUTPUT_ANNOTATED, EMIT_ANNOTATED},
                            {PLANNER_OUTPUT_MANUAL, EMIT_MANUAL},
                            {PLANNER_OUTPUT_LOCAL, EMIT_LOCAL}};
    for (size_t i = 0; i < PLANNER_FORMS; i++)
        if (forms & all[i].bit) {
            modules[*count].bit = all[i].bit;
            TRY(add_module(j, lowered, all[i].form, &modules[*count], e));
            (*count)++;
        }
    return ERROR_OK;
}

static bool report_late(void *user)
{
    const struct planner_job *j = user;
    return planner_late(j->request, PLANNER_SHARE_REPORT);
}

static void leave_proof_out(struct report *report)
{
    report->cut |= REPORT_CUT_PROOF;
    report->reproducible = false;
    snprintf(report->proof_reason, sizeof report->proof_reason, "deadline");
}

/* one that has begun ends when the time is over, too */
static enum error_code add_proof(const struct planner_job *j, const struct lowered *lowered,
                                 struct report *report, struct planner_proof *proof, struct error *e)
{
    const struct verify_options options = {.cancelled = j->request->late ? report_late : NULL,
                                           .cancel_context = (void *)(uintptr_t)j};
    enum error_code code = planner_proof_any_size(&j->prepared, j->context, &lowered->plan, &lowered->local,
                                                  j->request->seed, &options, proof, e);
    if (code == ERROR_CANCELLED && options.cancelled) {
        leave_proof_out(report);
        return ERROR_OK;
    }
    TRY(code);
    snprintf(report->proof_status, sizeof report->proof_status, "%s", verify_status_text(proof->status));
    struct text reason = {0};
    text_add(&reason, proof->reason);
    if (*proof->reason && planner_proof_is_smaller(proof))
        text_add(&reason, "; ");
    planner_proof_sizes_text(proof, &reason);
    snprintf(report->proof_reason, sizeof report->proof_reason, "%.470s%s", reason.at,
             reason.size > 470 ? " .." : "");
    text_release(&reason);
    report->proof_max_error =
        proof->manual.max_error > proof->local.max_error ? proof->manual.max_error : proof->local.max_error;
    return ERROR_OK;
}

static void release_lowered(struct lowered *lowered)
{
    spmd_local_release(&lowered->local);
    plan_release(&lowered->plan);
}

/* adds those forms; *count: 0 after an error */
static enum error_code write_forms(const struct planner_job *j, const struct lowered *lowered, uint32_t forms,
                                   struct planner_module *modules, uint32_t *count, struct error *e)
{
    enum error_code code = add_modules(j, lowered, forms, modules, count, e);
    if (code != ERROR_OK) {
        release_modules(modules, *count);
        *count = 0;
    }
    return code;
}

static enum error_code write_modules(const struct planner_job *j, const struct search_plan *plan,
                                     struct planner_module *modules, uint32_t *count, struct error *e)
{
    struct lowered lowered = {0};
    enum error_code code = lower(j, plan, &lowered, e);
    if (code == ERROR_OK)
        code = write_forms(j, &lowered, wanted_forms(j), modules, count, e);
    release_lowered(&lowered);
    return code;
}

static enum error_code write_proof(const struct planner_job *j, struct report *report,
                                   struct planner_proof *proof, struct error *e)
{
    struct lowered lowered = {0};
    planner_stage(j->request, "proof");
    enum error_code code = lower(j, &report->plan, &lowered, e);
    if (code == ERROR_OK)
        code = add_proof(j, &lowered, report, proof, e);
    release_lowered(&lowered);
    return code;
}

enum error_code planner_job_write(const struct planner_job *j, struct report *report,
                                  struct planner_module *modules, uint32_t *count,
                                  struct planner_proof *proof, struct error *e)
{
    TRY(write_modules(j, &report->plan, modules, count, e));
    warn_of_forms(j, report);
    enum error_code code = j->request->proof ? write_proof(j, report, proof, e) : ERROR_OK;
    if (code != ERROR_OK) {
        release_modules(modules, *count);
        *count = 0;
    }
    return code;
}

/* ---- reports ---- */

void planner_job_describe(const struct planner_job *j, bool whole, struct report *report)
{
    sha256_format(j->image->digest, report->module_digest);
    report->seed = j->request->seed;
    report->cut |= search_experts_cut(j->search) ? REPORT_CUT_EXPERTS : 0;
    report->cut |= whole ? 0 : REPORT_CUT_SEARCH;
    if (j->request->method == PLANNER_AUTO && !j->has_network && !j->has_segments &&
        (!whole || planner_late(j->request, PLANNER_SHARE_NETWORK)))
        report->cut |= REPORT_CUT_NETWORK;
    report->reproducible = whole && !report->cut;
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
                                                .computation_ps = answer->computation_ps,
                                                .step_ps = answer->plan.price.step_ps,
                                                .peak_bytes = answer->plan.price.peak_bytes,
                                                .proved = answer->proved,
                                                .mixed = answer->mixed};
}

/* What has to be done for the plan that leads, and, where that is not solved yet, the network. The plan's
 * parts depend on it alone: each is begun by whichever thread is free, in this order, which is that of their
 * times, and all of them beside the network. Where that wins they are thrown away. What takes most memory, a
 * report's whole price, is over, as a rule, before there are modules or a network. */
enum part { PART_CONSTRAINTS, PART_REPORT, PART_NETWORK, PART_ANNOTATED, PART_OWN, PARTS };

struct finishing {
    const struct planner_job *j;
    const struct search_state *state;
    bool whole;
    struct search_plan best;
    struct plan_factors factors; /* what best.factors may refer to */
    bool last;                   /* its tries are not looked at */
    bool solved;                 /* the network, or there is none */
    struct planner_outcome *out; /* report: as report_create made it, until it is completed */
    bool unsaid;                 /* there was time for constraints: */
    struct report_unsaid constraints;
    pthread_mutex_t lock; /* of what follows: whichever part writes modules first lowers for both */
    bool is_lowered;
    struct lowered lowered;
    struct planner_module own[PLANNER_FORMS]; /* modules of PART_OWN, until all parts are there */
    uint32_t own_count;
    struct search_blob network;
    atomic_uint next; /* part */
    enum error_code codes[PARTS];
    struct error errors[PARTS];
};

static bool network_late(void *user)
{
    const struct planner_job *j = user;
    return planner_late(j->request, PLANNER_SHARE_NETWORK);
}

/* no bytes: its time was over; under cfn that is what was asked for, and has all of it */
static enum error_code make_network(const struct planner_job *j, const struct search_state *state,
                                    int threads, struct search_blob *out, struct error *e)
{
    bool bounded = j->request->late && j->request->method == PLANNER_AUTO;
    enum error_code code =
        planner_job_network(j, state, threads, bounded ? network_late : NULL, (void *)(uintptr_t)j, out, e);
    return code == ERROR_CANCELLED && bounded ? ERROR_OK : code;
}

static enum error_code finish_forms(struct finishing *finishing, uint32_t forms,
                                    struct planner_module *modules, uint32_t *count, struct error *e)
{
    enum error_code code = ERROR_OK;
    forms &= wanted_forms(finishing->j);
    if (!forms)
        return ERROR_OK;
    pthread_mutex_lock(&finishing->lock);
    if (!finishing->is_lowered) {
        release_lowered(&finishing->lowered); /* of a try that failed */
        code = lower(finishing->j, &finishing->best, &finishing->lowered, e);
        finishing->is_lowered = code == ERROR_OK;
    }
    pthread_mutex_unlock(&finishing->lock);
    return code ? code : write_forms(finishing->j, &finishing->lowered, forms, modules, count, e);
}

static enum error_code finish_report(struct finishing *finishing, struct error *e)
{
    const struct planner_job *j = finishing->j;
    const struct search_control control = {report_late, (void *)(uintptr_t)j};
    enum error_code code = report_create(j->evaluator, j->search, finishing->state, &finishing->best,
                                         &control, &finishing->out->report, e);
    evaluator_rest(j->evaluator); /* what follows needs as much memory */
    return code;
}

static enum error_code finish_constraints(struct finishing *finishing, struct error *e)
{
    const struct planner_job *j = finishing->j;
    const struct spmd_constraints_limits limits = {.late = report_late, .late_user = (void *)(uintptr_t)j};
    enum error_code code = ERROR_CANCELLED;
    if (!report_late(limits.late_user))
        code = report_find_constraints(j->evaluator, &finishing->best, &limits, &finishing->constraints, e);
    finishing->unsaid = code == ERROR_OK;
    return code == ERROR_CANCELLED ? ERROR_OK : code;
}

static enum error_code finish_network(struct finishing *finishing, struct error *e)
{
    const struct planner_job *j = finishing->j;
    enum error_code code = make_network(j, finishing->state, 1, &finishing->network, e);
    evaluator_rest(j->evaluator);
    return code;
}

static enum error_code finish_part(struct finishing *finishing, enum part part, struct error *e)
{
    struct planner_outcome *out = finishing->out;
    switch (part) {
    case PART_CONSTRAINTS: return finish_constraints(finishing, e);
    case PART_REPORT: return finish_report(finishing, e);
    case PART_NETWORK: return finishing->solved ? ERROR_OK : finish_network(finishing, e);
    case PART_ANNOTATED:
        return finish_forms(finishing, PLANNER_OUTPUT_ANNOTATED, out->modules, &out->module_count, e);
    case PART_OWN: return finish_forms(finishing, OWN_FORMS, finishing->own, &finishing->own_count, e);
    case PARTS: break;
    }
    return ERROR_OK;
}

static void finish_parts(void *user, uint32_t number)
{
    struct finishing *finishing = user;
    for (uint32_t part; (part = atomic_fetch_add(&finishing->next, 1)) < PARTS;)
        finishing->codes[part] = finish_part(finishing, (enum part)part, &finishing->errors[part]);
}

static enum error_code run_parts(struct finishing *finishing, struct error *e)
{
    memset(finishing->codes, 0, sizeof finishing->codes);
    atomic_store(&finishing->next, 0);
    pthread_mutex_init(&finishing->lock, NULL);
    threads_run(finishing->j->request->threads > 1 ? 2 : 1, finish_parts, finishing);
    pthread_mutex_destroy(&finishing->lock);
    release_lowered(&finishing->lowered);
    finishing->lowered = (struct lowered){0};
    finishing->is_lowered = false;
    for (uint32_t i = 0; i < finishing->own_count; i++)
        finishing->out->modules[finishing->out->module_count++] = finishing->own[i];
    finishing->own_count = 0;
    for (uint32_t part = 0; part < PARTS; part++)
        if (finishing->codes[part]) {
            *e = finishing->errors[part];
            return finishing->codes[part];
        }
    return ERROR_OK;
}

static void release_parts(struct finishing *finishing)
{
    report_unsaid_release(&finishing->constraints);
    planner_outcome_release(finishing->out);
}

/* where nothing fits */
static enum error_code find_advice(const struct planner_job *j, struct report *report, struct error *e)
{
    if (!report->smallest_budget_bytes)
        return ERROR_OK;
    if (planner_late(j->request, PLANNER_SHARE_REPORT)) {
        report->cut |= REPORT_CUT_ADVICE;
        return ERROR_OK;
    }
    TRY(planner_find_larger(j, report, e));
    return planner_find_smaller(j, report, e);
}

/* what the report says of the job beside the plan */
static enum error_code complete_report(const struct finishing *finishing, struct error *e)
{
    const struct planner_job *j = finishing->j;
    struct report *report = finishing->out->report;
    if (j->has_network) {
        report_add_baseline(report, "cfn", &j->network.price, j->network.cost);
        report->has_bound = j->network.has_bound;
        report->bound_ps = j->network.bound_ps;
    }
    if (j->has_segments)
        add_segments(j, report);
    planner_job_tell_annotations(j, report);
    if (j->given_is_other)
        report_add_warning(report,
                           "the plan of constraints_from_plan was made for another module, mesh or build: "
                           "the shardings of its arguments and results count, the plan does not race");
    TRY(report_add_classes(report, j->has_yours ? &j->yours : NULL, e));
    TRY(find_advice(j, report, e));
    report->cut |= finishing->unsaid ? 0 : REPORT_CUT_CONSTRAINTS;
    planner_job_describe(j, finishing->whole, report);
    warn_of_forms(j, report);
    if (finishing->unsaid)
        report_add_constraints(report, &finishing->constraints);
    evaluator_rest(j->evaluator);
    return ERROR_OK;
}

static enum error_code make_files(const struct planner_job *j, struct planner_outcome *out, struct error *e)
{
    if (j->request->outputs & PLANNER_OUTPUT_PROBLEM)
        TRY(plan_cfn_create(j->evaluator, PLAN_CFN_SHARED, &out->problem, e));
    if (j->request->outputs & PLANNER_OUTPUT_SEGMENTS)
        TRY(planner_archive_write(j->context, out->report->module_digest, j->request->proof, j->request->seed,
                                  &out->segments, e));
    if (!j->request->proof || !planner_late(j->request, PLANNER_SHARE_REPORT))
        return j->request->proof ? write_proof(j, out->report, &out->proof, e) : ERROR_OK;
    leave_proof_out(out->report);
    return ERROR_OK;
}

/* a search that was cut short has no time for more */
static bool searches_on(const struct finishing *finishing)
{
    enum planner_method method = finishing->j->request->method;
    return finishing->whole && (method == PLANNER_AUTO || method == PLANNER_MCTS || method == PLANNER_CFN);
}

enum { BETTER = 8 }; /* times that the answer gives way to a better one that its report came upon */

/* begun: the parts are there already */
static enum error_code finish_best(struct finishing *finishing, bool begun, struct error *e)
{
    for (uint32_t round = 0;; round++) {
        finishing->last |= round == BETTER || !searches_on(finishing) ||
                           (round && planner_late(finishing->j->request, PLANNER_SHARE_REPORT));
        if (!begun || round)
            TRY(run_parts(finishing, e));
        struct planner_better better;
        if (finishing->last || !planner_better_try(finishing->out->report, &better))
            return ERROR_OK;
        finishing->last =
            !planner_job_take_better(finishing->j, &better, &finishing->best, &finishing->factors);
        release_parts(finishing);
    }
}

static enum error_code finish(struct finishing *finishing, const struct search_blob *snapshot, bool begun,
                              struct error *e)
{
    const struct planner_job *j = finishing->j;
    struct planner_outcome *out = finishing->out;
    planner_stage(j->request, "report");
    TRY(finish_best(finishing, begun, e));
    TRY(complete_report(finishing, e));
    TRY(make_files(j, out, e));
    out->proved = j->request->proof && !(out->report->cut & REPORT_CUT_PROOF);
    out->fits = out->report->smallest_budget_bytes == 0;
    if (j->request->alternatives && planner_late(j->request, PLANNER_SHARE_REPORT)) {
        out->report->cut |= REPORT_CUT_ALTERNATIVES;
        out->report->reproducible = false;
        return ERROR_OK;
    }
    if (j->request->alternatives)
        planner_stage(j->request, "alternatives");
    return j->request->alternatives ? planner_job_alternatives(j, snapshot, finishing->whole, out, e)
                                    : ERROR_OK;
}

static enum error_code end(struct finishing *finishing, enum error_code code)
{
    report_unsaid_release(&finishing->constraints);
    free(finishing->network.bytes);
    free(finishing->factors.at);
    if (code != ERROR_OK)
        planner_outcome_release(finishing->out);
    return code;
}

enum error_code planner_job_finish(const struct planner_job *j, const struct search_state *state,
                                   const struct search_blob *snapshot, bool whole,
                                   struct planner_outcome *out, struct error *e)
{
    struct finishing finishing = {.j = j, .state = state, .whole = whole, .solved = true, .out = out};
    memset(out, 0, sizeof *out);
    evaluator_rest(j->evaluator);
    planner_job_best(j, state, whole, &finishing.best);
    return end(&finishing, finish(&finishing, snapshot, false, e));
}

/* Does the plan that led before the network lead behind it, under the same name and decisions? */
static bool still_leads(const struct finishing *finishing, const struct search_plan *best)
{
    const struct search_plan *before = &finishing->best;
    return hash128_compare(before->hash, best->hash) == 0 && before->count == best->count &&
           memcmp(before->decisions, best->decisions, best->count * sizeof *best->decisions) == 0 &&
           before->factor_count == best->factor_count && strcmp(before->found_by, best->found_by) == 0;
}

static enum error_code solve_network(struct planner_job *j, const struct search_state *state, struct error *e)
{
    struct search_blob answer = {0};
    enum error_code code = make_network(j, state, j->request->threads > 1 ? 2 : 1, &answer, e);
    if (code == ERROR_OK && answer.bytes)
        code = planner_job_take_network(j, answer.bytes, answer.size, e);
    free(answer.bytes);
    return code;
}

static enum error_code end_beside_network(struct planner_job *j, struct finishing *finishing,
                                          const struct search_blob *snapshot, struct error *e)
{
    struct search_plan best;
    planner_job_best(j, finishing->state, finishing->whole, &finishing->best);
    TRY(run_parts(finishing, e));
    finishing->solved = true;
    if (finishing->network.bytes)
        TRY(planner_job_take_network(j, finishing->network.bytes, finishing->network.size, e));
    planner_job_best(j, finishing->state, finishing->whole, &best);
    bool leads = still_leads(finishing, &best);
    if (!leads)
        release_parts(finishing);
    finishing->best = best;
    return finish(finishing, snapshot, leads, e);
}

enum error_code planner_job_end(struct planner_job *j, const struct search_state *state,
                                const struct search_blob *snapshot, bool whole, struct planner_outcome *out,
                                struct error *e)
{
    struct finishing finishing = {.j = j, .state = state, .whole = whole, .out = out};
    memset(out, 0, sizeof *out);
    if (!planner_job_wants_network(j, whole))
        return planner_job_finish(j, state, snapshot, whole, out, e);
    planner_stage(j->request, "network");
    evaluator_rest(j->evaluator);
    /* the quick network is mostly one thread's work, and seldom wins; others take longer than all else. Of
     * large programs both at once take too much memory, unless a report's prices are of the fold. */
    if (j->request->threads > 1 && j->request->method == PLANNER_AUTO &&
        (j->prepared.op_count < PLANNER_BESIDE_OPERATIONS || evaluator_trusts_fold(j->evaluator)))
        return end(&finishing, end_beside_network(j, &finishing, snapshot, e));
    TRY(solve_network(j, state, e));
    if (j->prepared.op_count >= PLANNER_BESIDE_OPERATIONS && !j->request->alternatives &&
        !evaluator_trusts_fold(j->evaluator))
        evaluator_fold(j->evaluator, 0); /* of 96 layers 16 MB: all that follows is priced whole */
    return planner_job_finish(j, state, snapshot, whole, out, e);
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

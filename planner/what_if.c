/* A given plan -> price and report; see what_if.h. */
#include "planner/what_if.h"

#include "planner/machine.h"
#include "planner/pins.h"

#include "ir/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* everything between image and answer; the report refers to the evaluator, and that to the rest */
struct planner_pricing {
    struct ir_program prepared;
    struct nda *nda;
    struct cost_machine machine;
    struct plan_context *context;
    struct spmd_options walk;
    struct evaluator *evaluator;
    struct plan plan;
    struct search_plan decisions; /* what the report replays */
    struct plan_factors beyond;   /* its factors */
};

void planner_answer_release(struct planner_answer *answer)
{
    struct planner_pricing *pricing = answer->inside;
    report_destroy(answer->report);
    if (pricing) {
        free(pricing->beyond.at);
        plan_release(&pricing->plan);
        evaluator_destroy(pricing->evaluator);
        plan_context_destroy(pricing->context);
        nda_destroy(pricing->nda);
        ir_program_release(&pricing->prepared);
        free(pricing);
    }
    *answer = (struct planner_answer){0};
}

static enum error_code take_plan(const struct planner_plan *from, struct planner_pricing *pricing,
                                 struct error *e)
{
    struct search_plan *plan = &pricing->decisions;
    pricing->walk = from->walk;
    TRY(planner_plan_apply(from, pricing->nda, &pricing->context, &pricing->plan, e));
    snprintf(plan->found_by, sizeof plan->found_by, "plan");
    return planner_plan_list(from, pricing->context, plan, &pricing->beyond, e);
}

static enum error_code take_baseline(const char *name, struct planner_pricing *pricing, struct error *e)
{
    struct search_plan *plan = &pricing->decisions;
    struct plan_baseline baseline;
    if (plan_baseline_find(pricing->context, name, &baseline, e) != ERROR_OK)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/baseline",
                                 "there is no expert plan of this name on this mesh");
    plan_replay(pricing->context, baseline.decisions, &baseline.count, &pricing->plan);
    memcpy(plan->decisions, baseline.decisions,
           sizeof baseline.decisions < sizeof plan->decisions ? sizeof baseline.decisions
                                                              : sizeof plan->decisions);
    plan->count = baseline.count;
    snprintf(plan->found_by, sizeof plan->found_by, "baseline %.140s", name);
    return ERROR_OK;
}

static enum error_code choose_plan(const struct planner_what_if *what_if, struct planner_pricing *pricing,
                                   struct error *e)
{
    const struct planner_request *request = what_if->request;
    if (what_if->plan)
        return take_plan(what_if->plan, pricing, e);
    TRY(planner_context_create(
        request->constraints, request->constraint_count, request->annotations == PLANNER_ANNOTATIONS_PIN,
        request->method == PLANNER_PROPAGATE, pricing->nda, &request->mesh, &pricing->context, e));
    plan_init(&pricing->plan, pricing->nda, &request->mesh);
    plan_copy(&pricing->plan, plan_context_start(pricing->context));
    snprintf(pricing->decisions.found_by, sizeof pricing->decisions.found_by, "constraints");
    return what_if->baseline[0] ? take_baseline(what_if->baseline, pricing, e) : ERROR_OK;
}

static enum error_code price_plan(struct planner_pricing *pricing, struct error *e)
{
    struct search_plan *plan = &pricing->decisions;
    struct evaluator_session *evaluator_session = evaluator_session_create(pricing->evaluator);
    enum error_code code = evaluator_price(evaluator_session, &pricing->plan, &plan->price, &plan->cost, e);
    evaluator_session_destroy(evaluator_session);
    plan->hash = pricing->plan.hash;
    return code;
}

static void warn_of_stated(const struct planner_plan *plan, struct planner_answer *out)
{
    char pointer[80], text[320];
    if (!planner_plan_differs(plan, out->inside->context, &out->inside->plan, pointer, sizeof pointer))
        return;
    snprintf(
        text, sizeof text,
        "%s of the posted plan is not what its decisions give, and maybe further dims; the decisions were "
        "priced. To plan with the dims send the plan as constraints_from_plan",
        pointer);
    report_add_warning(out->report, text);
}

static enum error_code add_report(const struct planner_what_if *what_if, const struct ir_program *image,
                                  struct planner_answer *out, struct error *e)
{
    TRY(report_create(out->inside->evaluator, NULL, NULL, &out->inside->decisions, NULL, &out->report, e));
    sha256_format(image->digest, out->report->module_digest);
    out->report->seed = what_if->request->seed;
    out->report->reproducible = true;
    out->report->no_module_pins = what_if->plan ? what_if->plan->no_module_pins
                                                : what_if->request->annotations != PLANNER_ANNOTATIONS_PIN &&
                                                      planner_count_annotations(out->inside->nda).pins > 0;
    out->report->pins_completed = what_if->request->method == PLANNER_PROPAGATE;
    if (what_if->plan && !what_if->plan->has_hash && !what_if->cut_count)
        warn_of_stated(what_if->plan, out);
    return ERROR_OK;
}

static enum error_code run(const struct planner_what_if *what_if, const struct ir_program *image,
                           struct planner_answer *out, struct error *e)
{
    const struct planner_request *request = what_if->request;
    struct planner_pricing *pricing = out->inside;
    TRY(ir_prepare_entry(image, request->entry[0] ? request->entry : NULL, &pricing->prepared, e));
    struct nda_options analysis = request->analysis;
    if (what_if->plan && what_if->plan->role_count) {
        analysis.roles = what_if->plan->roles;
        analysis.role_count = what_if->plan->role_count;
    }
    if (what_if->plan && what_if->plan->rule_count) {
        analysis.rules = what_if->plan->rules;
        analysis.rule_count = what_if->plan->rule_count;
    }
    TRY(nda_create(&pricing->prepared, &analysis, &pricing->nda, e));
    TRY(planner_machine_create(request, &pricing->machine, e));
    pricing->walk = spmd_default_options(&request->mesh);
    pricing->walk.combine_bytes = request->combine_bytes;
    cost_walk_options(&pricing->machine, &request->mesh, &pricing->walk);
    TRY(choose_plan(what_if, pricing, e));
    if (what_if->cut_count)
        TRY(planner_cuts_apply(what_if->cuts, what_if->cut_count, pricing->context, &pricing->decisions,
                               &pricing->beyond, &pricing->plan, e));
    TRY(evaluator_create(pricing->context, &pricing->machine, &pricing->walk, &pricing->evaluator, e));
    TRY(price_plan(pricing, e));
    out->price = pricing->decisions.price;
    out->cost = pricing->decisions.cost;
    out->hash = pricing->plan.hash;
    out->memory_limit_bytes = pricing->machine.memory_limit_bytes;
    out->unsharded = *evaluator_unsharded(pricing->evaluator);
    return what_if->report ? add_report(what_if, image, out, e) : ERROR_OK;
}

enum error_code planner_what_if_run(const struct planner_what_if *what_if, const struct ir_program *image,
                                    struct planner_answer *out, struct error *e)
{
    *out = (struct planner_answer){.inside = mem_zalloc(1, sizeof *out->inside)};
    enum error_code code = run(what_if, image, out, e);
    if (code != ERROR_OK)
        planner_answer_release(out);
    return code;
}

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

void planner_answer_release(struct planner_answer *a)
{
    struct planner_pricing *p = a->inside;
    report_destroy(a->report);
    if (p) {
        free(p->beyond.at);
        plan_release(&p->plan);
        evaluator_destroy(p->evaluator);
        plan_context_destroy(p->context);
        nda_destroy(p->nda);
        ir_program_release(&p->prepared);
        free(p);
    }
    *a = (struct planner_answer){0};
}

static enum error_code take_plan(const struct planner_plan *from, struct planner_pricing *p, struct error *e)
{
    struct search_plan *d = &p->decisions;
    p->walk = from->walk;
    TRY(planner_plan_apply(from, p->nda, &p->context, &p->plan, e));
    TRY(planner_plan_decisions(from, p->context, d->decisions, SEARCH_MAX_LIST, &d->count, e));
    snprintf(d->found_by, sizeof d->found_by, "plan");
    if (from->factor_count)
        planner_plan_factors(from, p->context, &p->beyond);
    d->factors = p->beyond.at;
    d->factor_count = p->beyond.count;
    return ERROR_OK;
}

static enum error_code take_baseline(const char *name, struct planner_pricing *p, struct error *e)
{
    struct search_plan *d = &p->decisions;
    struct plan_baseline b;
    if (plan_baseline_find(p->context, name, &b, e) != ERROR_OK)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/baseline",
                                 "there is no expert plan of this name on this mesh");
    plan_replay(p->context, b.decisions, &b.count, &p->plan);
    memcpy(d->decisions, b.decisions,
           sizeof b.decisions < sizeof d->decisions ? sizeof b.decisions : sizeof d->decisions);
    d->count = b.count;
    snprintf(d->found_by, sizeof d->found_by, "baseline %.140s", name);
    return ERROR_OK;
}

static enum error_code choose_plan(const struct planner_what_if *w, struct planner_pricing *p,
                                   struct error *e)
{
    const struct planner_request *r = w->request;
    if (w->plan)
        return take_plan(w->plan, p, e);
    TRY(planner_context_create(r->constraints, r->constraint_count, r->method == PLANNER_PROPAGATE, p->nda,
                               &r->mesh, &p->context, e));
    plan_init(&p->plan, p->nda, &r->mesh);
    plan_copy(&p->plan, plan_context_start(p->context));
    snprintf(p->decisions.found_by, sizeof p->decisions.found_by, "constraints");
    return w->baseline[0] ? take_baseline(w->baseline, p, e) : ERROR_OK;
}

static enum error_code price_plan(struct planner_pricing *p, struct error *e)
{
    struct search_plan *d = &p->decisions;
    struct evaluator_session *s = evaluator_session_create(p->evaluator);
    enum error_code code = evaluator_price(s, &p->plan, &d->price, &d->cost, e);
    evaluator_session_destroy(s);
    d->hash = p->plan.hash;
    return code;
}

static enum error_code add_report(const struct planner_what_if *w, const struct ir_program *image,
                                  struct planner_answer *out, struct error *e)
{
    TRY(report_create(out->inside->evaluator, NULL, NULL, &out->inside->decisions, &out->report, e));
    sha256_format(image->digest, out->report->module_digest);
    out->report->seed = w->request->seed;
    out->report->reproducible = true;
    out->report->pins_completed = w->request->method == PLANNER_PROPAGATE;
    return ERROR_OK;
}

static enum error_code run(const struct planner_what_if *w, const struct ir_program *image,
                           struct planner_answer *out, struct error *e)
{
    const struct planner_request *r = w->request;
    struct planner_pricing *p = out->inside;
    TRY(ir_prepare(image, &p->prepared, e));
    TRY(nda_create(&p->prepared, &r->analysis, &p->nda, e));
    TRY(planner_machine_create(r, &p->machine, e));
    p->walk = spmd_default_options(&r->mesh);
    cost_axis_order(&p->machine, &r->mesh, p->walk.axis_order);
    TRY(choose_plan(w, p, e));
    TRY(evaluator_create(p->context, &p->machine, &p->walk, &p->evaluator, e));
    TRY(price_plan(p, e));
    out->price = p->decisions.price;
    out->cost = p->decisions.cost;
    out->hash = p->plan.hash;
    out->memory_limit_bytes = p->machine.memory_limit_bytes;
    out->unsharded = *evaluator_unsharded(p->evaluator);
    return w->report ? add_report(w, image, out, e) : ERROR_OK;
}

enum error_code planner_what_if_run(const struct planner_what_if *w, const struct ir_program *image,
                                    struct planner_answer *out, struct error *e)
{
    *out = (struct planner_answer){.inside = mem_zalloc(1, sizeof *out->inside)};
    enum error_code code = run(w, image, out, e);
    if (code != ERROR_OK)
        planner_answer_release(out);
    return code;
}

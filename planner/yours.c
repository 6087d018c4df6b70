/* What a job does about the shardings that its module brings: pins of every plan, an expert's plan called
 * `yours`, or nothing; and what it says about what it does not use. */
#include "planner/parts.h"

#include <stdio.h>
#include <stdlib.h>

/* The plan that pins and propagation make, as factors on the job's own context. */
static enum error_code take(struct planner_job *j, const struct plan *completed, struct error *e)
{
    struct plan plan;
    struct search_plan *yours = &j->yours;
    plan_factors_list(j->context, completed, &j->yours_factors);
    plan_init(&plan, j->nda, &j->request->mesh);
    plan_copy(&plan, plan_context_start(j->context));
    enum error_code code = ERROR_OK;
    if (!plan_factors_apply(j->context, j->yours_factors.at, j->yours_factors.count, &plan)) {
        snprintf(j->yours_problem, sizeof j->yours_problem, "they do not go with the request's constraints");
    } else {
        struct evaluator_session *session = evaluator_session_create(j->evaluator);
        *yours = (struct search_plan){.hash = plan.hash,
                                      .factors = j->yours_factors.at,
                                      .factor_count = j->yours_factors.count,
                                      .found_by = "yours"};
        code = evaluator_price(session, &plan, &yours->price, &yours->cost, e);
        evaluator_session_destroy(session);
        j->has_yours = code == ERROR_OK;
    }
    plan_release(&plan);
    return code;
}

enum error_code planner_job_make_yours(struct planner_job *j, struct error *e)
{
    const struct planner_request *request = j->request;
    struct plan_context *context = NULL;
    struct error inner = {0};
    j->annotations = planner_count_annotations(j->nda);
    if (request->annotations != PLANNER_ANNOTATIONS_BASELINE || j->annotations.pins == 0)
        return ERROR_OK;
    if (planner_context_create(request->constraints, request->constraint_count, true, true, j->nda,
                               &request->mesh, &context, &inner) != ERROR_OK) {
        if (inner.line)
            snprintf(j->yours_problem, sizeof j->yours_problem, "line %d: %.370s", inner.line, inner.message);
        else
            snprintf(j->yours_problem, sizeof j->yours_problem, "%.60s: %.320s", inner.pointer,
                     inner.message);
        return ERROR_OK;
    }
    enum error_code code = take(j, plan_context_start(context), e);
    plan_context_destroy(context);
    return code;
}

void planner_job_tell_annotations(const struct planner_job *j, struct report *report)
{
    char text[640];
    uint32_t pins = j->annotations.pins;
    if (j->has_yours)
        report_add_baseline(report, "yours", &j->yours.price, j->yours.cost);
    if (j->yours_problem[0]) {
        snprintf(
            text, sizeof text,
            "the module's %u shardings do not race as `yours`: %.400s; \"annotations\": \"pin\" would refuse "
            "them",
            pins, j->yours_problem);
        report_add_warning(report, text);
    }
    if (pins && j->request->annotations == PLANNER_ANNOTATIONS_IGNORE) {
        snprintf(text, sizeof text, "the module's %u shardings are ignored, as the request says", pins);
        report_add_warning(report, text);
    }
    if (j->annotations.priorities) {
        snprintf(text, sizeof text, "%u priorities of the module's shardings are not used",
                 j->annotations.priorities);
        report_add_warning(report, text);
    }
    if (j->annotations.unused) {
        snprintf(text, sizeof text,
                 "%u sharding groups and propagation barriers of the module are not read and have no effect",
                 j->annotations.unused);
        report_add_warning(report, text);
    }
}

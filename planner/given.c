/* The plan whose shardings a request's constraints are (constraints_from_plan): it races against what the
 * search finds under them, so that no answer is worse than what was sent, and where nothing is better the
 * answer is that plan. */
#include "planner/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As decisions where they give the plan here, too; else as the cells that it has beyond the constraints. */
static bool express(struct planner_job *j, const struct planner_plan *from, const struct plan *wanted)
{
    struct search_plan *given = &j->given;
    struct plan reached;
    struct error unfit;
    *given = (struct search_plan){.hash = wanted->hash, .found_by = "constraints_from_plan"};
    plan_init(&reached, j->nda, &j->request->mesh);
    bool good =
        !from->factor_count && planner_plan_decisions(from, j->context, given->decisions, SEARCH_MAX_LIST,
                                                      &given->count, &unfit) == ERROR_OK;
    good = good && search_plan_replay(j->context, given, &reached);
    if (!good) {
        given->count = 0;
        plan_factors_list(j->context, wanted, &j->given_factors);
        given->factors = j->given_factors.at;
        given->factor_count = j->given_factors.count;
        good = search_plan_replay(j->context, given, &reached);
    }
    plan_release(&reached);
    return good;
}

static bool same_mesh(const struct mesh *mesh, const struct mesh *other)
{
    for (uint32_t axis = 0; axis < mesh->axis_count && axis < other->axis_count; axis++)
        if (strcmp(mesh->axes[axis].name, other->axes[axis].name) != 0 ||
            mesh->axes[axis].size != other->axes[axis].size)
            return false;
    return mesh->axis_count == other->axis_count;
}

enum error_code planner_job_make_given(struct planner_job *j, struct error *e)
{
    const struct planner_plan *from = j->request->given;
    struct plan_context *own = NULL;
    struct plan plan, reached;
    struct error unfit; /* of another module or mesh: then its constraints alone count, or are refused */
    if (!from)
        return ERROR_OK;
    if (!same_mesh(&from->mesh, &j->request->mesh) ||
        planner_plan_apply(from, j->nda, &own, &plan, &unfit) != ERROR_OK) {
        j->given_is_other = true;
        return ERROR_OK;
    }
    enum error_code code = ERROR_OK;
    if (express(j, from, &plan)) {
        struct evaluator_session *session = evaluator_session_create(j->evaluator);
        plan_init(&reached, j->nda, &j->request->mesh);
        j->has_given = search_plan_replay(j->context, &j->given, &reached);
        code = evaluator_price(session, &reached, &j->given.price, &j->given.cost, e);
        plan_release(&reached);
        evaluator_session_destroy(session);
    }
    plan_release(&plan);
    plan_context_destroy(own);
    return code;
}

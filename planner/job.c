/* A planning job: what is made once of module and request (analysis, context, machine, evaluator,
 * search). The race between planners is in race.c, the results in finish.c. */
#include "planner/parts.h"

#include "planner/machine.h"
#include "planner/pins.h"

#include "ir/prepare.h"

#include <stdlib.h>

void planner_job_destroy(struct planner_job *j)
{
    if (!j)
        return;
    plan_cfn_answer_release(&j->network);
    segments_answer_release(&j->segments);
    free(j->incumbent_factors.at);
    free(j->yours_factors.at);
    free(j->given_factors.at);
    search_destroy(j->search);
    evaluator_destroy(j->evaluator);
    plan_context_destroy(j->context);
    nda_destroy(j->nda);
    ir_program_release(&j->prepared);
    free(j);
}

/* Refuses a limit that no plan can keep: a device holds at least its part of every argument. */
static enum error_code check_memory(const struct planner_job *j, struct error *e)
{
    int64_t devices = mesh_devices(&j->request->mesh), least = 0, limit = j->machine.memory_limit_bytes;
    for (uint32_t argument = 0; argument < j->nda->argument_count; argument++) {
        const struct ir_type *type = ir_value_type(&j->prepared, j->nda->arguments[argument].value);
        if (type->kind == IR_TYPE_TENSOR)
            least += ir_type_bytes(&j->prepared, type) / devices;
    }
    if (limit >= least)
        return ERROR_OK;
    double whole = (double)least * (double)devices;
    int64_t needed = limit < 1 ? MESH_MAX_DEVICES : (int64_t)(whole / (double)limit);
    needed += (double)needed * (double)limit < whole && limit > 0;
    return error_set_pointer(e, ERROR_MEMORY_LIMIT_TOO_SMALL, "/memory_limit_bytes",
                             "the module's arguments alone take %lld bytes a device when split over all %lld "
                             "devices; the limit is "
                             "%lld: raise it or use more devices (%lld at least)",
                             (long long)least, (long long)devices, (long long)limit, (long long)needed);
}

static bool experts_late(void *user)
{
    return planner_late(user, PLANNER_SHARE_EXPERTS);
}

/* sessions: one a thread, NULL before, owned by the caller */
static enum error_code make_search(struct planner_job *j, uint32_t threads,
                                   struct evaluator_session **sessions, struct error *e)
{
    const struct planner_request *request = j->request;
    planner_stage(request, "fold");
    if (!request->no_fold && (request->method == PLANNER_AUTO || request->method == PLANNER_MCTS ||
                              request->method == PLANNER_CFN))
        TRY(planner_fold_choose(j->evaluator, threads, sessions, &j->fold, e));
    TRY(planner_job_make_yours(j, e));
    TRY(planner_job_make_given(j, e));
    struct search_options search = {.seed = request->seed,
                                    .rollouts = request->rollouts,
                                    .parallelism = request->parallelism,
                                    .no_baselines = request->no_baselines,
                                    .threads = (uint8_t)threads,
                                    .sessions = sessions[0] ? sessions : NULL,
                                    .control = {experts_late, (void *)(uintptr_t)request}};
    if (request->method == PLANNER_BASELINES || request->method == PLANNER_SEGMENTS)
        search.method = SEARCH_BASELINES;
    else if (request->method == PLANNER_PROPAGATE)
        search.method = SEARCH_START;
    planner_stage(request, "experts");
    return search_create(j->evaluator, &search, &j->search, e);
}

static enum error_code make(struct planner_job *j, struct error *e)
{
    const struct planner_request *request = j->request;
    planner_stage(request, "analysis");
    TRY(ir_prepare_entry(j->image, request->entry[0] ? request->entry : NULL, &j->prepared, e));
    TRY(nda_create(&j->prepared, &request->analysis, &j->nda, e));
    TRY(planner_machine_create(request, &j->machine, e));
    TRY(check_memory(j, e));
    TRY(planner_context_create(request->constraints, request->constraint_count,
                               request->annotations == PLANNER_ANNOTATIONS_PIN,
                               request->method == PLANNER_PROPAGATE, j->nda, &request->mesh, &j->context, e));
    struct spmd_options walk = spmd_default_options(&request->mesh);
    cost_walk_options(&j->machine, &request->mesh, &walk);
    walk.combine_bytes = request->combine_bytes;
    TRY(evaluator_create(j->context, &j->machine, &walk, &j->evaluator, e));
    struct evaluator_session *sessions[SEARCH_THREADS] = {NULL};
    uint32_t threads = request->threads > 1 ? SEARCH_THREADS : 1;
    enum error_code code = make_search(j, threads, sessions, e);
    for (uint32_t i = 0; i < SEARCH_THREADS; i++)
        evaluator_session_destroy(sessions[i]);
    return code;
}

enum error_code planner_job_create(const struct planner_request *request, const struct ir_program *image,
                                   struct planner_job **out, struct error *e)
{
    struct planner_job *j = mem_zalloc(1, sizeof *j);
    j->request = request;
    j->image = image;
    enum error_code code = make(j, e);
    if (code != ERROR_OK) {
        planner_job_destroy(j);
        return code;
    }
    *out = j;
    return ERROR_OK;
}

const struct search *planner_job_search(const struct planner_job *j)
{
    return j->search;
}

const struct evaluator *planner_job_evaluator(const struct planner_job *j)
{
    return j->evaluator;
}

const struct plan_context *planner_job_context(const struct planner_job *j)
{
    return j->context;
}

const struct nda *planner_job_nda(const struct planner_job *j)
{
    return j->nda;
}

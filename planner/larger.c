/* Advice that was tried: where nothing fits, the smallest of some larger meshes on which a plan does.
 *
 * report/advice.c says how many devices would do if all that is held split further; that may be too few. From
 * there on the device count is doubled DOUBLINGS times at most; each time every axis of the mesh is made
 * larger by itself, then all of them, and on it are priced the plan found, the EXPERTS of least memory here
 * and the mesh's own experts, as many as a program of this size has time for. */
#include "planner/parts.h"

#include "base/threads.h"
#include "planner/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPERTS = 3, DOUBLINGS = 3 };
/* experts of a mesh that are priced: OPS over the program's ops, within these. Chosen: 3 s for t2b's 21,000
 * */
enum { OPS = 1 << 18, LEAST = 4, MOST = 176 };

/* the experts of least memory, least first; how many */
static uint32_t choose(const struct report *report, const struct report_baseline *out[EXPERTS])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->baseline_count; i++) {
        const struct report_baseline *baseline = &report->baselines[i];
        uint32_t at = count;
        if (!strchr(baseline->name, ':')) /* another planner's plan, or replicated */
            continue;
        while (at > 0 && out[at - 1]->price.peak_bytes > baseline->price.peak_bytes)
            at--;
        if (at == EXPERTS)
            continue;
        count += count < EXPERTS;
        memmove(out + at + 1, out + at, sizeof *out * (count - at - 1));
        out[at] = baseline;
    }
    return count;
}

struct trial {
    const struct planner_job *j;
    struct planner_request request; /* the job's, on another mesh */
    struct cost_machine machine;
    struct plan_context *context;
    struct spmd_options walk;
    struct evaluator *evaluator;
    struct evaluator_session *session;
};

static enum error_code trial_open(struct trial *trial, struct error *e)
{
    const struct planner_request *request = &trial->request;
    TRY(planner_machine_create(request, &trial->machine, e));
    TRY(planner_context_create(
        request->constraints, request->constraint_count, request->annotations == PLANNER_ANNOTATIONS_PIN,
        request->method == PLANNER_PROPAGATE, trial->j->nda, &request->mesh, &trial->context, e));
    trial->walk = spmd_default_options(&request->mesh);
    trial->walk.combine_bytes = request->combine_bytes;
    cost_walk_options(&trial->machine, &request->mesh, &trial->walk);
    TRY(evaluator_create(trial->context, &trial->machine, &trial->walk, &trial->evaluator, e));
    trial->session = evaluator_session_create(trial->evaluator);
    return ERROR_OK;
}

static void trial_close(struct trial *trial)
{
    evaluator_session_destroy(trial->session);
    evaluator_destroy(trial->evaluator);
    plan_context_destroy(trial->context);
}

static void write_mesh(const struct mesh *mesh, char *out, size_t room)
{
    struct text text = {0};
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        text_printf(&text, "%s%s=%lld", axis ? "," : "", mesh->axes[axis].name,
                    (long long)mesh->axes[axis].size);
    snprintf(out, room, "%s", text.at);
    text_release(&text);
}

/* prices the decisions on the trial's mesh; where they fit and are the fastest so far they are the advice */
static enum error_code price(struct trial *trial, const char *name, const struct plan_decision *decisions,
                             uint32_t count, struct report_larger *best, struct error *e)
{
    struct plan_decision list[PLAN_BASELINE_LIST];
    struct plan plan = {0};
    struct price price;
    struct cost cost;
    if (count > PLAN_BASELINE_LIST)
        return ERROR_OK;
    memcpy(list, decisions, count * sizeof *list);
    plan_init(&plan, trial->j->nda, &trial->request.mesh);
    plan_replay(trial->context, list, &count, &plan);
    enum error_code code = evaluator_price(trial->session, &plan, &price, &cost, e);
    plan_release(&plan);
    if (code || price.peak_bytes > trial->machine.memory_limit_bytes ||
        (best->mesh[0] && best->step_ps <= price.step_ps))
        return code;
    *best = (struct report_larger){.devices = mesh_devices(&trial->request.mesh),
                                   .step_ps = price.step_ps,
                                   .peak_bytes = price.peak_bytes};
    snprintf(best->plan, sizeof best->plan, "%s", name);
    write_mesh(&trial->request.mesh, best->mesh, sizeof best->mesh);
    return ERROR_OK;
}

static enum error_code price_all(struct trial *trial, const struct report *report,
                                 const struct report_baseline *const *experts, uint32_t count,
                                 struct report_larger *best, struct error *e)
{
    for (uint32_t i = 0; i < count; i++) {
        struct plan_baseline baseline;
        struct error none;
        if (plan_baseline_find(trial->context, experts[i]->name, &baseline, &none) == ERROR_OK)
            TRY(price(trial, baseline.name, baseline.decisions, baseline.count, best, e));
    }
    uint32_t own, room = OPS / (trial->j->prepared.op_count + 1);
    struct plan_baseline *baselines = plan_baselines(trial->context, &own);
    enum error_code code = ERROR_OK;
    room = room < LEAST ? LEAST : room > MOST ? MOST : room;
    for (uint32_t i = 0; i < own && i < room && !code; i++)
        code = price(trial, baselines[i].name, baselines[i].decisions, baselines[i].count, best, e);
    free(baselines);
    if (code || report->plan.factor_count) /* made of factors: not to be had on another mesh */
        return code;
    return price(trial, "", report->plan.decisions, report->plan.count, best, e);
}

/* One axis `times` as large; axis = their number: the smallest one doubled, and again, until they make up for
 * it together. */
static void enlarge(struct mesh *mesh, uint32_t axis, int64_t times)
{
    if (axis < mesh->axis_count) {
        mesh->axes[axis].size *= times;
        return;
    }
    for (; times > 1; times /= 2) {
        uint32_t smallest = 0;
        for (uint32_t i = 1; i < mesh->axis_count; i++)
            if (mesh->axes[i].size < mesh->axes[smallest].size)
                smallest = i;
        mesh->axes[smallest].size *= 2;
    }
}

/* the enlarged mesh; meshes that the request's devices or pins do not fit are left out */
static enum error_code try_axis(const struct planner_job *j, uint32_t axis, int64_t times,
                                const struct report *report, const struct report_baseline *const *experts,
                                uint32_t count, struct report_larger *best, struct error *e)
{
    struct trial *trial = mem_zalloc(1, sizeof *trial);
    struct error own = {0};
    trial->j = j;
    trial->request = *j->request;
    enlarge(&trial->request.mesh, axis, times);
    enum error_code code = mesh_check(&trial->request.mesh, &own), priced = ERROR_OK;
    if (!code)
        code = trial_open(trial, &own);
    if (!code)
        priced = price_all(trial, report, experts, count, best, e);
    trial_close(trial);
    free(trial);
    return priced;
}

/* One size of mesh: the ways to enlarge it, shared by two threads. */
struct size {
    const struct planner_job *j;
    const struct report *report;
    const struct report_baseline *const *experts;
    uint32_t count, ways, threads;
    int64_t times;
    struct report_larger best[MESH_MAX_AXES + 1]; /* by way */
    enum error_code codes[MESH_MAX_AXES + 1];
    struct error errors[MESH_MAX_AXES + 1];
};

static void try_ways(void *user, uint32_t number)
{
    struct size *size = user;
    for (uint32_t way = number; way < size->ways; way += size->threads)
        size->codes[way] = try_axis(size->j, way, size->times, size->report, size->experts, size->count,
                                    &size->best[way], &size->errors[way]);
}

/* the fastest of all ways, of equals the first */
static enum error_code try_size(struct size *size, struct report_larger *best, struct error *e)
{
    memset(size->best, 0, sizeof size->best);
    threads_run(size->threads, try_ways, size);
    for (uint32_t way = 0; way < size->ways; way++) {
        if (size->codes[way]) {
            *e = size->errors[way];
            return size->codes[way];
        }
        if (size->best[way].mesh[0] && (!best->mesh[0] || size->best[way].step_ps < best->step_ps))
            *best = size->best[way];
    }
    return ERROR_OK;
}

enum error_code planner_find_larger(const struct planner_job *j, struct report *report, struct error *e)
{
    const struct report_baseline *experts[EXPERTS + 1];
    int64_t now = mesh_devices(&j->request->mesh), devices = report->advice.devices;
    bool two = j->request->threads > 1 && j->prepared.op_count < PLANNER_BESIDE_OPERATIONS;
    uint32_t count = choose(report, experts);
    struct report_larger best = {.devices = 0};
    if (!report->smallest_budget_bytes || devices <= now)
        return ERROR_OK;
    for (uint32_t i = 0; i < DOUBLINGS && devices <= MESH_MAX_DEVICES && !best.mesh[0]; i++) {
        uint32_t axes = j->request->mesh.axis_count;
        struct size size = {.j = j,
                            .report = report,
                            .experts = experts,
                            .count = count,
                            .ways = axes + (axes > 1 && devices / now > 2),
                            .threads = two ? 2 : 1,
                            .times = devices / now};
        TRY(try_size(&size, &best, e));
        best.devices = best.mesh[0] ? best.devices : devices; /* tried so far */
        devices *= 2;
    }
    report->advice.larger = best;
    return ERROR_OK;
}

/* A planning job: what is made once (analysis, context, evaluator, search) and what a finished search
 * gives. */
#include "api/job.h"

#include "api/encode.h"
#include "api/machine.h"
#include "api/pins.h"
#include "api/proof.h"
#include "emit/emit.h"
#include "ir/prepare.h"
#include "ir/print.h"
#include "plan_cfn/plan_cfn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK_NETWORK_PASSES = 200, FULL_NETWORK_PASSES = 2000 };

struct api_job {
    const struct api_request *request; /* borrowed */
    struct ir_program prepared;
    const struct ir_program *image; /* borrowed */
    char module_digest[65];
    struct nda *nda;
    struct plan_context *context;
    struct cost_machine machine;
    struct evaluator *evaluator;
    struct search *search;
    json_t *pins; /* the request's constraints, as they stand in plan.json */
    bool has_network;
    struct plan_cfn_answer network; /* planner cfn */
    bool has_incumbent;
    struct search_plan incumbent; /* of a job that started over */
    struct plan_factors incumbent_factors;
};

void api_job_destroy(struct api_job *j)
{
    if (!j)
        return;
    plan_cfn_answer_release(&j->network);
    free(j->incumbent_factors.at);
    search_destroy(j->search);
    evaluator_destroy(j->evaluator);
    plan_context_destroy(j->context);
    nda_destroy(j->nda);
    ir_program_release(&j->prepared);
    json_decref(j->pins);
    free(j);
}

/* No plan can hold less than the arguments split over all devices. */
static enum error_code check_memory(const struct api_job *j, struct error *e)
{
    int64_t devices = mesh_devices(&j->request->mesh), least = 0;
    for (uint32_t a = 0; a < j->nda->argument_count; a++) {
        const struct ir_type *t = ir_value_type(&j->prepared, j->nda->arguments[a].value);
        if (t->kind == IR_TYPE_TENSOR)
            least += ir_type_bytes(&j->prepared, t) / devices;
    }
    if (j->machine.memory_limit_bytes >= least)
        return ERROR_OK;
    return error_set_pointer(e, ERROR_MEMORY_LIMIT_TOO_SMALL, "/memory_limit_bytes",
                             "the module's arguments alone take %lld bytes a device when split over all %lld "
                             "devices; the limit is "
                             "%lld: raise it or use more devices",
                             (long long)least, (long long)devices, (long long)j->machine.memory_limit_bytes);
}

static enum error_code make_context(struct api_job *j, struct error *e)
{
    const struct api_request *r = j->request;
    struct plan_pin *pins = NULL;
    uint32_t count = 0;
    TRY(pins_create(r->constraints, r->constraint_count, j->nda, &r->mesh, &pins, &count, e));
    enum error_code code = plan_context_create(j->nda, &r->mesh, pins, count, &j->context, e);
    free(pins);
    if (code == ERROR_OK && r->planner == API_PLANNER_PROPAGATE)
        plan_context_complete(j->context);
    return code;
}

static enum error_code make(struct api_job *j, struct error *e)
{
    const struct api_request *r = j->request;
    struct nda_options options = {.argument_names = r->argument_names,
                                  .argument_name_count = r->argument_name_count,
                                  .trip_counts = (const void *)r->trip_counts,
                                  .trip_count_count = r->trip_count_count};
    TRY(ir_prepare(j->image, &j->prepared, e));
    TRY(nda_create(&j->prepared, &options, &j->nda, e));
    TRY(api_machine_create(r, &j->machine, e));
    TRY(check_memory(j, e));
    TRY(make_context(j, e));
    struct spmd_options walk = spmd_default_options(&r->mesh);
    cost_axis_order(&j->machine, &r->mesh, walk.axis_order);
    TRY(evaluator_create(j->context, &j->machine, &walk, &j->evaluator, e));
    struct search_options search = {.seed = r->seed,
                                    .rollouts = r->rollouts,
                                    .parallelism = r->parallelism,
                                    .no_baselines = r->no_baselines};
    if (r->planner == API_PLANNER_BASELINES)
        search.method = SEARCH_BASELINES;
    else if (r->planner == API_PLANNER_PROPAGATE)
        search.method = SEARCH_START;
    return search_create(j->evaluator, &search, &j->search, e);
}

enum error_code api_job_create(const struct api_request *r, const struct ir_program *image,
                               struct api_job **out, struct error *e)
{
    struct api_job *j = mem_zalloc(1, sizeof *j);
    j->request = r;
    j->image = image;
    sha256_format(image->digest, j->module_digest);
    json_t *canonical = json_loads(r->canonical, 0, NULL);
    json_t *pins = json_object_get(canonical, "constraints");
    j->pins = pins ? json_incref(pins) : json_array();
    json_decref(canonical);
    enum error_code code = make(j, e);
    if (code != ERROR_OK) {
        api_job_destroy(j);
        return code;
    }
    *out = j;
    return ERROR_OK;
}

const struct search *api_job_search(const struct api_job *j)
{
    return j->search;
}

const struct evaluator *api_job_evaluator(const struct api_job *j)
{
    return j->evaluator;
}

const struct plan_context *api_job_context(const struct api_job *j)
{
    return j->context;
}

const struct nda *api_job_nda(const struct api_job *j)
{
    return j->nda;
}

bool api_job_wants_network(const struct api_job *j, bool whole)
{
    return j->request->planner == API_PLANNER_CFN || (whole && j->request->planner == API_PLANNER_AUTO);
}

enum error_code api_job_network(const struct api_job *j, const struct search_state *state, int threads,
                                bool (*cancelled)(void *user), void *user, struct search_blob *out,
                                struct error *e)
{
    bool quick = j->request->planner == API_PLANNER_AUTO;
    struct plan_cfn_budget budget = {.passes = quick ? QUICK_NETWORK_PASSES : FULL_NETWORK_PASSES,
                                     .seed = j->request->seed,
                                     .quick = quick,
                                     .known = &state->best.cost,
                                     .threads = threads,
                                     .cancelled = cancelled,
                                     .user = user};
    struct plan_cfn_answer answer;
    enum error_code code = plan_cfn_solve(j->evaluator, &budget, &answer, e);
    if (code == ERROR_OK)
        plan_cfn_answer_write(&answer, &out->bytes, &out->size);
    plan_cfn_answer_release(&answer);
    return code;
}

enum error_code api_job_take_network(struct api_job *j, const void *bytes, size_t size, struct error *e)
{
    plan_cfn_answer_release(&j->network);
    enum error_code code = plan_cfn_answer_read(j->evaluator, bytes, size, &j->network, e);
    j->has_network = code == ERROR_OK;
    return code;
}

/* the file's decisions, which the report names, and the factors that they do not give */
static enum error_code describe_incumbent(struct api_job *j, const struct api_plan_file *f,
                                          const struct plan *p, struct error *e)
{
    uint32_t factors = 0;
    struct search_plan *s = &j->incumbent;
    TRY(api_plan_decisions(f, j->context, s->decisions, SEARCH_MAX_LIST, &s->count, &factors, e));
    s->hash = p->hash;
    snprintf(s->found_by, sizeof s->found_by, "%s", api_plan_found_by(f));
    if (factors) {
        api_plan_factors(f, j->context, &j->incumbent_factors);
        s->factors = j->incumbent_factors.at;
        s->factor_count = j->incumbent_factors.count;
    }
    struct evaluator_session *session = evaluator_session_create(j->evaluator);
    enum error_code code = evaluator_price(session, p, &s->price, &s->cost, e);
    evaluator_session_destroy(session);
    return code;
}

enum error_code api_job_take_incumbent(struct api_job *j, const char *json, size_t size, struct error *e)
{
    struct api_plan_file *f;
    struct plan p;
    free(j->incumbent_factors.at);
    j->incumbent_factors = (struct plan_factors){0};
    j->incumbent = (struct search_plan){0};
    j->has_incumbent = false;
    TRY(api_plan_parse(json, size, &f, e));
    plan_init(&p, j->nda, &j->request->mesh);
    enum error_code code = api_plan_replay(f, j->context, &p, e);
    if (code == ERROR_OK)
        code = describe_incumbent(j, f, &p, e);
    j->has_incumbent = code == ERROR_OK;
    plan_release(&p);
    api_plan_file_destroy(f);
    return code;
}

void api_artifacts_release(struct api_artifacts *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        free(a->at[i].bytes);
    memset(a, 0, sizeof *a);
}

static void add_artifact(struct api_artifacts *a, const char *name, const char *media_type, char *bytes,
                         size_t size)
{
    BASE_CHECK(a->count < sizeof a->at / sizeof *a->at);
    a->at[a->count++] = (struct api_artifact){name, media_type, bytes, size};
}

/* ------------------------------------------------------------------ modules and proof */
struct lowered {
    struct plan plan;
    struct spmd_local local;
};

static enum error_code add_module(const struct api_job *j, const struct lowered *l, enum emit_output form,
                                  const char *name, struct api_artifacts *out, struct error *e)
{
    struct ir_program module = {0};
    TRY(spmd_emit(j->context, &l->plan, &l->local, form, &module, e));
    struct text t = {0};
    ir_print(&module, &t);
    ir_program_release(&module);
    add_artifact(out, name, "text/plain; charset=utf-8", t.at, t.size);
    return ERROR_OK;
}

static enum error_code lower(const struct api_job *j, const struct report *r, struct lowered *l,
                             struct error *e)
{
    plan_init(&l->plan, j->nda, &j->request->mesh);
    if (!search_plan_replay(j->context, &r->plan, &l->plan))
        return error_set(e, ERROR_INTERNAL, "the best plan's decisions do not replay to its hash");
    return spmd_walk(j->context, &l->plan, evaluator_options(j->evaluator), &l->local, e);
}

static enum error_code add_problem(const struct api_job *j, struct api_artifacts *out, struct error *e)
{
    struct plan_cfn *n;
    struct text t = {0};
    TRY(plan_cfn_create(j->evaluator, PLAN_CFN_SHARED, &n, e));
    plan_cfn_write(n, j->module_digest, &t);
    plan_cfn_destroy(n);
    add_artifact(out, "problem.json", "application/json", t.at, t.size);
    return ERROR_OK;
}

/* `rng` draws on each device what it likes: no module of one device's program means what the original
 * does. Jobs that ask for the annotated form, too, get that and are told; others are refused. */
static bool only_annotated(const struct api_job *j, struct report *r)
{
    static const char sentence[] =
        "manual and local form are not written: stablehlo.rng draws other numbers on every device";
    const uint32_t own = API_OUTPUT_MANUAL | API_OUTPUT_LOCAL;
    bool draws = false;
    for (uint32_t op = 0; op < j->prepared.op_count && !draws; op++)
        draws = j->prepared.ops[op].code == IR_RNG;
    if (!draws || !(j->request->outputs & own) || !(j->request->outputs & API_OUTPUT_ANNOTATED))
        return false;
    char **warnings = arena_alloc(r->arena, sizeof *warnings * (r->warning_count + 1));
    if (r->warning_count)
        memcpy(warnings, r->warnings, sizeof *warnings * r->warning_count);
    warnings[r->warning_count++] = arena_strndup(r->arena, sentence, sizeof sentence - 1);
    r->warnings = warnings;
    return true;
}

static enum error_code add_modules(const struct api_job *j, struct report *r, struct api_artifacts *out,
                                   struct error *e)
{
    static const struct {
        uint32_t bit;
        enum emit_output form;
        const char *name;
    } forms[] = {{API_OUTPUT_ANNOTATED, EMIT_ANNOTATED, "annotated.mlir"},
                 {API_OUTPUT_MANUAL, EMIT_MANUAL, "manual.mlir"},
                 {API_OUTPUT_LOCAL, EMIT_LOCAL, "local.mlir"}};
    struct lowered l = {0};
    enum error_code code = lower(j, r, &l, e);
    uint32_t wanted =
        j->request->outputs & ~(only_annotated(j, r) ? API_OUTPUT_MANUAL | API_OUTPUT_LOCAL : 0u);
    if (code == ERROR_OK && j->request->outputs & API_OUTPUT_PROBLEM)
        code = add_problem(j, out, e);
    for (size_t i = 0; code == ERROR_OK && i < sizeof forms / sizeof *forms; i++)
        if (wanted & forms[i].bit)
            code = add_module(j, &l, forms[i].form, forms[i].name, out, e);
    if (code == ERROR_OK && j->request->proof) {
        struct proof_result proof;
        code = proof_run(&j->prepared, j->context, &l.plan, &l.local, j->request->seed, NULL, &proof, e);
        if (code == ERROR_OK) {
            snprintf(r->proof_status, sizeof r->proof_status, "%s", verify_status_text(proof.status));
            snprintf(r->proof_reason, sizeof r->proof_reason, "%.190s", proof.reason);
            r->proof_max_error = proof.manual.max_error > proof.local.max_error ? proof.manual.max_error
                                                                                : proof.local.max_error;
            char *text = proof_json(&proof);
            add_artifact(out, "proof.json", "application/json", text, strlen(text));
        }
    }
    spmd_local_release(&l.local);
    plan_release(&l.plan);
    return code;
}

/* ------------------------------------------------------------------ results */
static bool network_wins(const struct api_job *j, const struct search_plan *best)
{
    if (cost_compare(j->network.cost, j->network.hash, best->cost, best->hash) >= 0)
        return false;
    return j->request->planner == API_PLANNER_CFN || j->network.cost.over_steps < best->cost.over_steps ||
           j->network.cost.c < best->cost.c - best->cost.c / 200;
}

void api_job_best(const struct api_job *j, const struct search_state *state, bool whole,
                  struct search_plan *out)
{
    *out = state->best;
    if (j->has_network && network_wins(j, out))
        *out = (struct search_plan){.hash = j->network.hash,
                                    .cost = j->network.cost,
                                    .price = j->network.price,
                                    .found_by = "cfn",
                                    .factors = j->network.factors.at,
                                    .factor_count = j->network.factors.count};
    /* a whole search's bytes depend on nothing but the request */
    if (!whole && j->has_incumbent &&
        cost_compare(j->incumbent.cost, j->incumbent.hash, out->cost, out->hash) < 0)
        *out = j->incumbent;
}

static void describe(const struct api_job *j, bool reproducible, struct report *r)
{
    snprintf(r->module_digest, sizeof r->module_digest, "%s", j->module_digest);
    r->seed = j->request->seed;
    r->reproducible = reproducible;
    r->pins_completed = j->request->planner == API_PLANNER_PROPAGATE;
}

static enum error_code make_report(const struct api_job *j, const struct search_state *state,
                                   bool reproducible, struct report **out, struct error *e)
{
    struct search_plan best;
    api_job_best(j, state, reproducible, &best);
    TRY(report_create(j->evaluator, j->search, state, &best, out, e));
    if (j->has_network) {
        report_add_baseline(*out, "cfn", &j->network.price, j->network.cost);
        (*out)->has_bound = j->network.has_bound;
        (*out)->bound_ps = j->network.bound_ps;
    }
    describe(j, reproducible, *out);
    return ERROR_OK;
}

static char *plan_text(const struct api_job *j, const struct report *r)
{
    json_t *plan = encode_plan(r, j->pins);
    char *text = json_pretty(plan);
    json_decref(plan);
    return text;
}

static void add_reports(const struct api_job *j, const struct report *r, struct api_artifacts *out)
{
    if (j->request->outputs & API_OUTPUT_PLAN) {
        char *plan = plan_text(j, r);
        add_artifact(out, "plan.json", "application/json", plan, strlen(plan));
    }
    if (!(j->request->outputs & API_OUTPUT_REPORT))
        return;
    json_t *report = encode_report(r);
    char *json = json_pretty(report);
    json_decref(report);
    add_artifact(out, "report.json", "application/json", json, strlen(json));
    struct text t = {0};
    report_text(r, &t);
    add_artifact(out, "report.txt", "text/plain; charset=utf-8", t.at, t.size);
    t = (struct text){0};
    report_html(r, &t);
    add_artifact(out, "report.html", "text/html; charset=utf-8", t.at, t.size);
}

enum error_code api_job_finish(const struct api_job *j, const struct search_state *state, bool reproducible,
                               struct api_artifacts *out, struct api_outcome *outcome, struct error *e)
{
    struct report *r = NULL;
    memset(out, 0, sizeof *out);
    TRY(make_report(j, state, reproducible, &r, e));
    enum error_code code = add_modules(j, r, out, e);
    if (code != ERROR_OK) {
        report_destroy(r);
        api_artifacts_release(out);
        return code;
    }
    add_reports(j, r, out);
    *outcome =
        (struct api_outcome){.fits = r->smallest_budget_bytes == 0, .price = r->price, .cost = r->cost};
    snprintf(outcome->found_by, sizeof outcome->found_by, "%s", r->plan.found_by);
    snprintf(outcome->proof, sizeof outcome->proof, "%s", r->proof_status);
    hash128_format(r->plan.hash, outcome->plan_hash);
    report_destroy(r);
    return ERROR_OK;
}

enum error_code api_job_plan(const struct api_job *j, const struct search_state *state, bool reproducible,
                             char **json, struct error *e)
{
    struct report *r;
    struct search_plan best;
    api_job_best(j, state, reproducible, &best);
    TRY(report_create_plan(j->evaluator, &best, &r, e));
    describe(j, reproducible, r);
    *json = plan_text(j, r);
    report_destroy(r);
    return ERROR_OK;
}

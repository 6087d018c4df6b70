/* See what_if.h. */
#include "api/what_if.h"

#include "api/encode.h"
#include "api/job.h"
#include "api/machine.h"
#include "api/pins.h"
#include "ir/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct api_what_if {
    struct api_request *request;
    struct api_plan_file *plan; /* NULL: none */
    char baseline[160];         /* "": none */
    bool report, dry;           /* dry: no price, a job's checks */
    char *forward, *plan_text;  /* owned */
    size_t plan_size;
};

void api_what_if_destroy(struct api_what_if *w)
{
    if (!w)
        return;
    api_request_destroy(w->request);
    api_plan_file_destroy(w->plan);
    free(w->forward);
    free(w->plan_text);
    free(w);
}

const struct api_request *api_what_if_request(const struct api_what_if *w)
{
    return w->request;
}

const char *api_what_if_forward(const struct api_what_if *w, const char **plan, size_t *plan_size)
{
    *plan = w->plan_text;
    *plan_size = w->plan_size;
    return w->forward;
}

static const char *const plan_brings[] = {"mesh", "constraints", "planner", NULL};

static char *text_to_forward(const json_t *request, bool plan)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)request); /* members are shared */
    json_object_del(copy, "module");
    for (int i = 0; plan && plan_brings[i]; i++)
        json_object_del(copy, plan_brings[i]);
    char *text = json_compact(copy);
    json_decref(copy);
    return text;
}

/* the plan's device, with the profile that it was made with */
static json_t *plan_device(const struct api_what_if *w, const json_t *plan)
{
    const char *profile = json_string_value(json_object_get(json_object_get(plan, "machine"), "profile"));
    return profile ? json_pack("{s:s, s:s}", "base", api_plan_device(w->plan), "profile", profile)
                   : json_string(api_plan_device(w->plan));
}

/* What the plan says and the request may not contradict (mesh, pins) or need not repeat (module, device,
 * limit). The plan has been read already: its parts are of the right types. */
static enum error_code merge_plan(struct api_what_if *w, json_t *request, const json_t *plan, bool has_module,
                                  struct error *e)
{
    struct json_at root = {request, ""};
    for (int i = 0; plan_brings[i]; i++)
        if (json_object_get(request, plan_brings[i]))
            return json_refuse_to(e, json_member(&root, plan_brings[i]), ERROR_INVALID_REQUEST,
                                  "the plan brings its own %s", plan_brings[i]);
    json_object_set(request, "mesh", json_object_get(plan, "mesh"));
    if (json_object_get(plan, "pins"))
        json_object_set(request, "constraints", json_object_get(plan, "pins"));
    if (!json_object_get(request, "module") && !has_module && json_object_get(plan, "module"))
        json_object_set(request, "module", json_object_get(plan, "module"));
    if (!json_object_get(request, "device") && api_plan_device(w->plan)[0])
        json_object_set_new(request, "device", plan_device(w, plan));
    if (!json_object_get(request, "memory_limit_bytes") && api_plan_memory_limit(w->plan) > 0)
        json_object_set_new(request, "memory_limit_bytes", json_integer(api_plan_memory_limit(w->plan)));
    return ERROR_OK;
}

static enum error_code take_plan(struct api_what_if *w, json_t *request, json_t **plan, const char *text,
                                 size_t size, struct error *e)
{
    struct json_at root = {request, ""}, at = json_member(&root, "plan");
    char *own = NULL;
    if (at.value && text)
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "the plan is there twice: here and as a part");
    if (!at.value && !text)
        return ERROR_OK;
    if (at.value && !json_is_object(at.value))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST,
                              "a plan is an object: what a job's plan.json holds");
    if (at.value) {
        own = json_compact(at.value);
        text = own;
        size = strlen(own);
    }
    enum error_code code = api_plan_parse(text, size, &w->plan, e);
    if (code == ERROR_OK)
        code = json_parse(text, size, 20000000, plan, e);
    else if (code == ERROR_INVALID_REQUEST)
        code = ERROR_INVALID_PLAN;
    if (code != ERROR_OK && e && own) { /* pointers of the plan are below /plan here */
        char pointer[sizeof e->pointer];
        snprintf(pointer, sizeof pointer, "/plan%.150s", e->pointer);
        snprintf(e->pointer, sizeof e->pointer, "%s", pointer);
    }
    if (code != ERROR_OK && e)
        e->code = code;
    w->plan_text = own ? own : mem_strndup(text, size);
    w->plan_size = size;
    json_object_del(request, "plan");
    return code;
}

static enum error_code read(struct api_what_if *w, json_t *request, const char *plan_text, size_t plan_size,
                            const char *module, bool module_optional, struct error *e)
{
    struct json_at root = {request, ""};
    json_t *plan = NULL;
    const char *baseline = NULL;
    static const char *const known[] = {"module",
                                        "mesh",
                                        "device",
                                        "memory_limit_bytes",
                                        "constraints",
                                        "constraints_from_plan",
                                        "argument_names",
                                        "trip_counts",
                                        "planner",
                                        "plan",
                                        "baseline",
                                        "report",
                                        NULL};
    TRY(json_only(&root, known, e));
    TRY(json_text(json_member(&root, "baseline"), sizeof w->baseline - 1, &baseline, e));
    w->report = true;
    TRY(json_bool(json_member(&root, "report"), &w->report, e));
    if (baseline) {
        if (json_object_get(request, "plan") || plan_text)
            return json_refuse_to(e, json_member(&root, "baseline"), ERROR_INVALID_REQUEST,
                                  "one of plan and baseline, not both");
        snprintf(w->baseline, sizeof w->baseline, "%s", baseline);
    }
    TRY(take_plan(w, request, &plan, plan_text, plan_size, e));
    enum error_code code = plan ? merge_plan(w, request, plan, module || module_optional, e) : ERROR_OK;
    json_decref(plan);
    TRY(code);
    w->forward = text_to_forward(request, w->plan != NULL);
    json_object_del(request, "baseline");
    json_object_del(request, "report");
    char *text = json_compact(request);
    code = api_request_parse(text, strlen(text), module, module_optional, &w->request, e);
    free(text);
    TRY(code);
    if (w->request->planner != API_PLANNER_AUTO && w->request->planner != API_PLANNER_PROPAGATE)
        return error_set_pointer(
            e, ERROR_INVALID_REQUEST, "/planner",
            "nothing is searched here; the planner may be propagate, which completes the constraints");
    return ERROR_OK;
}

enum error_code api_what_if_parse(const char *json, size_t size, const char *plan, size_t plan_size,
                                  const char *module_digest, bool module_optional, struct api_what_if **out,
                                  struct error *e)
{
    json_t *request = NULL;
    TRY(json_parse(json, size, API_MAX_JSON_KEYS, &request, e));
    struct api_what_if *w = mem_zalloc(1, sizeof *w);
    enum error_code code = read(w, request, plan, plan_size, module_digest, module_optional, e);
    json_decref(request);
    if (code != ERROR_OK) {
        api_what_if_destroy(w);
        return code;
    }
    *out = w;
    return ERROR_OK;
}

/* ------------------------------------------------------------------ dry runs */
enum error_code api_what_if_dry_run(const struct api_request *r, struct api_what_if **out, struct error *e)
{
    json_t *request = NULL;
    TRY(json_parse(r->canonical, strlen(r->canonical), API_MAX_JSON_KEYS, &request, e));
    struct api_what_if *w = mem_zalloc(1, sizeof *w);
    json_object_del(request, "module"); /* the other process is told its digest */
    json_object_set_new(request, "dry_run", json_true());
    w->dry = true;
    w->forward = json_compact(request);
    json_decref(request);
    *out = w;
    return ERROR_OK;
}

enum error_code api_what_if_parse_forwarded(const char *json, size_t size, const char *plan, size_t plan_size,
                                            const char *module_digest, struct api_what_if **out,
                                            struct error *e)
{
    json_t *request = NULL;
    TRY(json_parse(json, size, API_MAX_JSON_KEYS, &request, e));
    bool dry = json_is_true(json_object_get(request, "dry_run"));
    json_decref(request);
    if (!dry)
        return api_what_if_parse(json, size, plan, plan_size, module_digest, false, out, e);
    struct api_what_if *w = mem_zalloc(1, sizeof *w);
    w->dry = true;
    enum error_code code = api_request_parse(json, size, module_digest, false, &w->request, e);
    if (code != ERROR_OK) {
        api_what_if_destroy(w);
        return code;
    }
    *out = w;
    return ERROR_OK;
}

static enum error_code run_dry(const struct api_what_if *w, const struct ir_program *image, char **json,
                               struct error *e)
{
    const struct api_request *r = w->request;
    struct api_job *job;
    char digest[65], module[80];
    TRY(api_job_create(r, image, &job, e));
    const struct nda *n = api_job_nda(job);
    api_request_digest(r, r->module_digest, digest);
    snprintf(module, sizeof module, "sha256:%s", r->module_digest);
    json_t *out = json_pack(
        "{s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "dry_run", 1, "module", module, "digest", digest,
        "build", api_build(), "devices", (json_int_t)mesh_devices(&r->mesh), "operations",
        (json_int_t)image->op_count, "arguments", (json_int_t)n->argument_count, "rollouts",
        (json_int_t)search_budget(api_job_search(job)), "request", json_loads(r->canonical, 0, NULL));
    *json = json_compact(out);
    json_decref(out);
    api_job_destroy(job);
    return ERROR_OK;
}

/* ------------------------------------------------------------------ pricing */
/* everything between image and answer */
struct pricing {
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

static void pricing_release(struct pricing *p)
{
    free(p->beyond.at);
    plan_release(&p->plan);
    evaluator_destroy(p->evaluator);
    plan_context_destroy(p->context);
    nda_destroy(p->nda);
    ir_program_release(&p->prepared);
}

static enum error_code choose_plan(const struct api_what_if *w, struct pricing *p, struct error *e)
{
    struct search_plan *d = &p->decisions;
    if (w->plan) {
        uint32_t factors;
        p->walk = *api_plan_walk(w->plan);
        TRY(api_plan_apply(w->plan, p->nda, &p->context, &p->plan, e));
        TRY(api_plan_decisions(w->plan, p->context, d->decisions, SEARCH_MAX_LIST, &d->count, &factors, e));
        snprintf(d->found_by, sizeof d->found_by, "plan");
        if (factors)
            api_plan_factors(w->plan, p->context, &p->beyond);
        d->factors = p->beyond.at;
        d->factor_count = p->beyond.count;
        return ERROR_OK;
    }
    const struct api_request *r = w->request;
    struct plan_pin *pins = NULL;
    uint32_t count = 0;
    TRY(pins_create(r->constraints, r->constraint_count, p->nda, &r->mesh, &pins, &count, e));
    enum error_code code = plan_context_create(p->nda, &r->mesh, pins, count, &p->context, e);
    free(pins);
    TRY(code);
    if (r->planner == API_PLANNER_PROPAGATE)
        plan_context_complete(p->context);
    plan_init(&p->plan, p->nda, &r->mesh);
    plan_copy(&p->plan, plan_context_start(p->context));
    snprintf(d->found_by, sizeof d->found_by, "constraints");
    if (!w->baseline[0])
        return ERROR_OK;
    struct plan_baseline b;
    code = plan_baseline_find(p->context, w->baseline, &b, e);
    if (code != ERROR_OK)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/baseline",
                                 "there is no expert plan of this name on this mesh");
    plan_replay(p->context, b.decisions, &b.count, &p->plan);
    memcpy(d->decisions, b.decisions,
           sizeof b.decisions < sizeof d->decisions ? sizeof b.decisions : sizeof d->decisions);
    d->count = b.count;
    snprintf(d->found_by, sizeof d->found_by, "baseline %.140s", w->baseline);
    return ERROR_OK;
}

static enum error_code price_plan(struct pricing *p, struct error *e)
{
    struct search_plan *d = &p->decisions;
    struct evaluator_session *s = evaluator_session_create(p->evaluator);
    enum error_code code = evaluator_price(s, &p->plan, &d->price, &d->cost, e);
    evaluator_session_destroy(s);
    d->hash = p->plan.hash;
    return code;
}

static enum error_code add_report(const struct api_what_if *w, const struct pricing *p,
                                  const struct ir_program *image, json_t *out, struct error *e)
{
    struct report *r = NULL;
    TRY(report_create(p->evaluator, NULL, NULL, &p->decisions, &r, e));
    sha256_format(image->digest, r->module_digest);
    r->seed = w->request->seed;
    r->reproducible = true;
    r->pins_completed = w->request->planner == API_PLANNER_PROPAGATE;
    json_t *canonical = json_loads(w->request->canonical, 0, NULL);
    json_object_set_new(out, "plan", encode_plan(r, json_object_get(canonical, "constraints")));
    json_object_set_new(out, "report", encode_report(r));
    json_decref(canonical);
    report_destroy(r);
    return ERROR_OK;
}

static json_t *encode_whole_price(const struct pricing *p)
{
    const struct price *x = &p->decisions.price, *alone = evaluator_unsharded(p->evaluator);
    json_t *price = encode_price(x, p->decisions.cost, p->machine.memory_limit_bytes);
    const struct {
        const char *name;
        int64_t value;
    } more[] = {{"compute_ps", x->compute_ps},
                {"matmul_ps", x->matmul_ps},
                {"communication_ps", x->communication_ps},
                {"exposed_ps", x->exposed_ps},
                {"critical_path_ps", x->critical_path_ps},
                {"argument_bytes", x->argument_bytes},
                {"output_bytes", x->output_bytes},
                {"memory_limit_bytes", p->machine.memory_limit_bytes},
                {"unsharded_step_ps", alone->step_ps},
                {"unsharded_peak_bytes", alone->peak_bytes}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        json_object_set_new(price, more[i].name, json_integer(more[i].value));
    return price;
}

static enum error_code run(const struct api_what_if *w, const struct ir_program *image, struct pricing *p,
                           json_t *out, struct error *e)
{
    const struct api_request *r = w->request;
    struct nda_options options = {.argument_names = r->argument_names,
                                  .argument_name_count = r->argument_name_count,
                                  .trip_counts = (const void *)r->trip_counts,
                                  .trip_count_count = r->trip_count_count};
    TRY(ir_prepare(image, &p->prepared, e));
    TRY(nda_create(&p->prepared, &options, &p->nda, e));
    TRY(api_machine_create(r, &p->machine, e));
    p->walk = spmd_default_options(&r->mesh);
    cost_axis_order(&p->machine, &r->mesh, p->walk.axis_order);
    TRY(choose_plan(w, p, e));
    TRY(evaluator_create(p->context, &p->machine, &p->walk, &p->evaluator, e));
    TRY(price_plan(p, e));
    char hash[33];
    hash128_format(p->plan.hash, hash);
    json_object_set_new(out, "price", encode_whole_price(p));
    json_object_set_new(out, "plan_hash", json_string(hash));
    return w->report ? add_report(w, p, image, out, e) : ERROR_OK;
}

enum error_code api_what_if_run(const struct api_what_if *w, const struct ir_program *image, char **json,
                                struct error *e)
{
    if (w->dry)
        return run_dry(w, image, json, e);
    struct pricing p = {0};
    json_t *out = json_object();
    enum error_code code = run(w, image, &p, out, e);
    if (code == ERROR_OK)
        *json = json_compact(out);
    json_decref(out);
    pricing_release(&p);
    return code;
}

/* What-if requests: text -> planner/what_if.h -> text; see what_if.h. */
#include "api/what_if.h"

#include "api/encode.h"
#include "api/plan_file.h"
#include "planner/job.h"
#include "planner/what_if.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct api_what_if {
    struct api_request *request;
    struct planner_plan *plan; /* NULL: none */
    char baseline[160];        /* "": none */
    struct planner_cut *cuts;  /* of the request's arena */
    uint32_t cut_count;
    bool report, dry;          /* dry: no price, a job's checks */
    char *forward, *plan_text; /* owned */
    size_t plan_size;
};

void api_what_if_destroy(struct api_what_if *what_if)
{
    if (!what_if)
        return;
    api_request_destroy(what_if->request);
    planner_plan_destroy(what_if->plan);
    free(what_if->forward);
    free(what_if->plan_text);
    free(what_if);
}

const struct api_request *api_what_if_request(const struct api_what_if *what_if)
{
    return what_if->request;
}

const char *api_what_if_forward(const struct api_what_if *what_if, const char **plan, size_t *plan_size)
{
    *plan = what_if->plan_text;
    *plan_size = what_if->plan_size;
    return what_if->forward;
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

/* the plan's device, with the profile and for the compiler that it was made with */
static json_t *plan_device(const struct api_what_if *what_if, const json_t *plan)
{
    const json_t *machine = json_object_get(plan, "machine");
    const char *profile = json_string_value(json_object_get(machine, "profile")),
               *backend = json_string_value(json_object_get(machine, "backend"));
    json_t *device = json_pack("{s:s}", "base", what_if->plan->device);
    if (profile)
        json_object_set_new(device, "profile", json_string(profile));
    if (backend)
        json_object_set_new(device, "backend", json_string(backend));
    return device;
}

/* What the plan says and the request may not contradict (mesh, pins) or need not repeat (module, device,
 * limit). The plan has been read already: its parts are of the right types. */
static enum error_code merge_plan(struct api_what_if *what_if, json_t *request, const json_t *plan,
                                  bool has_module, struct error *e)
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
    if (!json_object_get(request, "device") && what_if->plan->device[0])
        json_object_set_new(request, "device", plan_device(what_if, plan));
    const char *overlap = json_string_value(json_object_get(json_object_get(plan, "machine"), "overlap"));
    if (!json_object_get(request, "overlap") && overlap && strcmp(overlap, "none") == 0)
        json_object_set_new(request, "overlap", json_string(overlap));
    const char *price = json_string_value(json_object_get(json_object_get(plan, "machine"), "price"));
    if (!json_object_get(request, "price") && price)
        json_object_set_new(request, "price", json_string(price));
    if (!json_object_get(request, "memory_limit_bytes") && what_if->plan->memory_limit_bytes > 0)
        json_object_set_new(request, "memory_limit_bytes", json_integer(what_if->plan->memory_limit_bytes));
    return ERROR_OK;
}

static enum error_code take_plan(struct api_what_if *what_if, json_t *request, json_t **plan,
                                 const char *text, size_t size, struct error *e)
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
    enum error_code code = api_plan_parse(text, size, &what_if->plan, e);
    if (code == ERROR_OK)
        code = json_parse(text, size, API_PLAN_MAX_KEYS, plan, e);
    else if (code == ERROR_INVALID_REQUEST)
        code = ERROR_INVALID_PLAN;
    if (code != ERROR_OK && e && own) { /* pointers of the plan are below /plan here */
        char pointer[sizeof e->pointer];
        snprintf(pointer, sizeof pointer, "/plan%.150s", e->pointer);
        snprintf(e->pointer, sizeof e->pointer, "%s", pointer);
    }
    if (code != ERROR_OK && e)
        e->code = code;
    what_if->plan_text = own ? own : mem_strndup(text, size);
    what_if->plan_size = size;
    json_object_del(request, "plan");
    return code;
}

/* {"ffn": ["model"], "heads": []}: dimensions, and the axes to cut them over */
static enum error_code read_cuts(struct api_what_if *what_if, struct json_at at, struct arena *arena,
                                 struct error *e)
{
    const char *group;
    json_t *value;
    if (!at.value)
        return ERROR_OK;
    if (!json_is_object(at.value))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST,
                              "an object of dimensions is needed: {\"ffn\": [\"model\"]}");
    what_if->cuts = arena_alloc(arena, (json_object_size(at.value) + 1) * sizeof *what_if->cuts);
    json_object_foreach(at.value, group, value)
    {
        struct planner_cut *cut = &what_if->cuts[what_if->cut_count++];
        struct json_at list = json_member(&at, group);
        size_t axes;
        TRY(json_list(list, MESH_MAX_AXES, &axes, e));
        cut->group = arena_strndup(arena, group, strlen(group));
        cut->axis_count = (uint32_t)axes;
        for (size_t i = 0; i < axes; i++) {
            TRY(json_text(json_item(&list, i), 63, &cut->axes[i], e));
            cut->axes[i] = arena_strndup(arena, cut->axes[i], strlen(cut->axes[i]));
        }
    }
    return ERROR_OK;
}

static enum error_code read(struct api_what_if *what_if, json_t *request, const char *plan_text,
                            size_t plan_size, const char *module, bool module_optional, struct error *e)
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
                                        "entry",
                                        "planner",
                                        "plan",
                                        "baseline",
                                        "report",
                                        "cut",
                                        NULL};
    TRY(json_only(&root, known, e));
    TRY(json_text(json_member(&root, "baseline"), sizeof what_if->baseline - 1, &baseline, e));
    what_if->report = true;
    TRY(json_bool(json_member(&root, "report"), &what_if->report, e));
    if (baseline) {
        if (json_object_get(request, "plan") || plan_text)
            return json_refuse_to(e, json_member(&root, "baseline"), ERROR_INVALID_REQUEST,
                                  "one of plan and baseline, not both");
        snprintf(what_if->baseline, sizeof what_if->baseline, "%s", baseline);
    }
    TRY(take_plan(what_if, request, &plan, plan_text, plan_size, e));
    enum error_code code = plan ? merge_plan(what_if, request, plan, module || module_optional, e) : ERROR_OK;
    json_decref(plan);
    TRY(code);
    what_if->forward = text_to_forward(request, what_if->plan != NULL);
    json_object_del(request, "baseline");
    json_object_del(request, "report");
    struct json_at cut = json_member(&root, "cut");
    json_incref(cut.value);
    json_object_del(request, "cut");
    char *text = json_compact(request);
    code = api_request_parse(text, strlen(text), module, module_optional, &what_if->request, e);
    free(text);
    if (code == ERROR_OK)
        code = read_cuts(what_if, cut, what_if->request->arena, e);
    json_decref(cut.value);
    TRY(code);
    if (what_if->request->planning.method != PLANNER_AUTO &&
        what_if->request->planning.method != PLANNER_PROPAGATE)
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
    struct api_what_if *what_if = mem_zalloc(1, sizeof *what_if);
    enum error_code code = read(what_if, request, plan, plan_size, module_digest, module_optional, e);
    json_decref(request);
    if (code != ERROR_OK) {
        api_what_if_destroy(what_if);
        return code;
    }
    *out = what_if;
    return ERROR_OK;
}

/* ---- dry runs ---- */

enum error_code api_what_if_dry_run(const struct api_request *api_request, struct api_what_if **out,
                                    struct error *e)
{
    json_t *request = NULL;
    TRY(json_parse(api_request->canonical, strlen(api_request->canonical), API_MAX_JSON_KEYS, &request, e));
    struct api_what_if *what_if = mem_zalloc(1, sizeof *what_if);
    json_object_del(request, "module"); /* the other process is told its digest */
    json_object_set_new(request, "dry_run", json_true());
    what_if->dry = true;
    what_if->forward = json_compact(request);
    json_decref(request);
    *out = what_if;
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
    struct api_what_if *what_if = mem_zalloc(1, sizeof *what_if);
    what_if->dry = true;
    enum error_code code = api_request_parse(json, size, module_digest, false, &what_if->request, e);
    if (code != ERROR_OK) {
        api_what_if_destroy(what_if);
        return code;
    }
    *out = what_if;
    return ERROR_OK;
}

static enum error_code run_dry(const struct api_what_if *what_if, const struct ir_program *image, char **json,
                               struct error *e)
{
    const struct api_request *request = what_if->request;
    struct planner_job *job;
    char digest[65], module[80];
    TRY(planner_job_create(&request->planning, image, &job, e));
    const struct nda *n = planner_job_nda(job);
    api_request_digest(request, request->module_digest, digest);
    snprintf(module, sizeof module, "sha256:%s", request->module_digest);
    json_t *out =
        json_pack("{s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "dry_run", 1, "module", module, "digest",
                  digest, "build", api_build(), "devices", (json_int_t)mesh_devices(&request->planning.mesh),
                  "operations", (json_int_t)image->op_count, "arguments", (json_int_t)n->argument_count,
                  "rollouts", (json_int_t)search_budget(planner_job_search(job)), "request",
                  json_loads(request->canonical, 0, NULL));
    *json = json_compact(out);
    json_decref(out);
    planner_job_destroy(job);
    return ERROR_OK;
}

/* ---- pricing ---- */

static json_t *encode_whole_price(const struct planner_answer *answer)
{
    const struct price *other_price = &answer->price;
    json_t *price = encode_price(other_price, answer->cost, answer->memory_limit_bytes);
    const struct {
        const char *name;
        int64_t value;
    } more[] = {{"compute_ps", other_price->compute_ps},
                {"matmul_ps", other_price->matmul_ps},
                {"communication_ps", other_price->communication_ps},
                {"exposed_ps", other_price->exposed_ps},
                {"critical_path_ps", other_price->critical_path_ps},
                {"argument_bytes", other_price->argument_bytes},
                {"output_bytes", other_price->output_bytes},
                {"memory_limit_bytes", answer->memory_limit_bytes},
                {"unsharded_step_ps", answer->unsharded.step_ps},
                {"unsharded_peak_bytes", answer->unsharded.peak_bytes}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        json_object_set_new(price, more[i].name, json_integer(more[i].value));
    return price;
}

static json_t *encode_answer(const struct api_what_if *what_if, const struct planner_answer *answer)
{
    json_t *out = json_object();
    char hash[33];
    hash128_format(answer->hash, hash);
    json_object_set_new(out, "price", encode_whole_price(answer));
    json_object_set_new(out, "plan_hash", json_string(hash));
    if (answer->report) {
        json_t *canonical = json_loads(what_if->request->canonical, 0, NULL);
        json_object_set_new(out, "plan", encode_plan(answer->report, canonical));
        json_object_set_new(out, "report", encode_report(answer->report));
        json_decref(canonical);
    }
    return out;
}

enum error_code api_what_if_run(const struct api_what_if *what_if, const struct ir_program *image,
                                char **json, struct error *e)
{
    if (what_if->dry)
        return run_dry(what_if, image, json, e);
    struct planner_what_if question = {.request = &what_if->request->planning,
                                       .plan = what_if->plan,
                                       .baseline = what_if->baseline,
                                       .cuts = what_if->cuts,
                                       .cut_count = what_if->cut_count,
                                       .report = what_if->report};
    struct planner_answer answer;
    TRY(planner_what_if_run(&question, image, &answer, e));
    json_t *out = encode_answer(what_if, &answer);
    planner_answer_release(&answer);
    *json = json_compact(out);
    json_decref(out);
    return ERROR_OK;
}

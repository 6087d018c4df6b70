/* Request JSON -> struct; see request.h. One decode_ function a member, in the order of the text's
 * documentation. */
#include "api/request.h"

#include "api/json.h"
#include "api/plan_file.h"
#include "api/plan_pins.h"
#include "api/profile_read.h"
#include "base/hash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *api_build(void)
{
    return "toast " TOAST_VERSION;
}

static bool is_digest(const char *string)
{
    for (int i = 0; i < 64; i++)
        if (!(string[i] >= '0' && string[i] <= '9') && !(string[i] >= 'a' && string[i] <= 'f'))
            return false;
    return string[64] == 0;
}

static enum error_code not_built(struct json_at at, const char *what, struct error *e)
{
    return json_refuse_to(e, at, ERROR_NOT_AVAILABLE, "%s is not available in this build", what);
}

static enum error_code decode_module(struct api_request *request, struct json_at at, const char *given,
                                     struct error *e)
{
    if (given)
        snprintf(request->module_digest, sizeof request->module_digest, "%s", given);
    if (!at.value)
        return ERROR_OK;
    if (json_is_object(at.value)) {
        static const char *const known[] = {"inline", NULL};
        TRY(json_only(&at, known, e));
        struct json_at text = json_member(&at, "inline");
        if (!json_is_string(text.value))
            return json_refuse_to(e, text, ERROR_INVALID_REQUEST, "the module's text is needed here");
        if (given)
            return json_refuse_to(e, at, ERROR_INVALID_REQUEST,
                                  "a module was sent beside the request too; send it once");
        request->module_inline_size = json_string_length(text.value);
        request->module_inline =
            arena_strndup(request->arena, json_string_value(text.value), request->module_inline_size);
        uint8_t digest[32];
        sha256_bytes(request->module_inline, request->module_inline_size, digest);
        sha256_format(digest, request->module_digest);
        return ERROR_OK;
    }
    const char *text = NULL;
    TRY(json_text(at, 80, &text, e));
    if (strncmp(text, "sha256:", 7) != 0 || strlen(text) != 71 || !is_digest(text + 7))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST,
                              "a module is \"sha256:\" and 64 lower-case hex digits, or {\"inline\": text}");
    if (given && strcmp(given, text + 7) != 0)
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST,
                              "the module sent beside the request has another digest");
    snprintf(request->module_digest, sizeof request->module_digest, "%s", text + 7);
    return ERROR_OK;
}

static enum error_code decode_axis(struct mesh_axis *axis, struct json_at member, struct error *e)
{
    static const char *const known[] = {"name", "size", "link", NULL};
    TRY(json_only(&member, known, e));
    const char *name = NULL;
    struct json_at at = json_member(&member, "name");
    TRY(json_text(at, sizeof axis->name - 1, &name, e));
    if (!name)
        return json_refuse_to(e, at, ERROR_INVALID_MESH, "an axis needs a name");
    snprintf(axis->name, sizeof axis->name, "%s", name);
    at = json_member(&member, "size");
    if (!at.value)
        return json_refuse_to(e, at, ERROR_INVALID_MESH, "an axis needs a size");
    TRY(json_int(at, INT64_MIN, INT64_MAX, &axis->size, e));
    struct json_at link = json_member(&member, "link");
    if (!link.value)
        return ERROR_OK;
    static const char *const link_known[] = {"gigabytes_per_s", "latency_us", NULL};
    TRY(json_only(&link, link_known, e));
    double rate = 0, latency = 0;
    TRY(json_number(json_member(&link, "gigabytes_per_s"), 1e-3, 1e6, &rate, e));
    TRY(json_number(json_member(&link, "latency_us"), 0, 1e6, &latency, e));
    axis->link_bytes_per_s = (int64_t)(rate * 1e9);
    axis->link_latency_ps = (int64_t)(latency * 1e6);
    return ERROR_OK;
}

static enum error_code decode_mesh(struct mesh *mesh, struct json_at at, struct error *e)
{
    if (!at.value)
        return json_refuse_to(e, at, ERROR_INVALID_MESH,
                              "a mesh is needed: {\"axes\": [{\"name\": \"data\", \"size\": 4}]}");
    static const char *const known[] = {"axes", "devices_per_host", "devices", NULL};
    TRY(json_only(&at, known, e));
    if (json_member(&at, "devices").value)
        return not_built(json_member(&at, "devices"), "a sweep over mesh shapes", e);
    struct json_at axes = json_member(&at, "axes");
    size_t count;
    TRY(json_list(axes, MESH_MAX_AXES, &count, e));
    if (count == 0)
        return json_refuse_to(e, axes, ERROR_INVALID_MESH, "a mesh needs 1 to %d axes", MESH_MAX_AXES);
    for (size_t i = 0; i < count; i++)
        TRY(decode_axis(&mesh->axes[i], json_item(&axes, i), e));
    mesh->axis_count = (uint32_t)count;
    TRY(json_int(json_member(&at, "devices_per_host"), 1, MESH_MAX_DEVICES, &mesh->devices_per_host, e));
    struct error inner;
    if (mesh_check(mesh, &inner) != ERROR_OK)
        return json_refuse_to(e, axes, ERROR_INVALID_MESH, "%s", inner.message);
    return ERROR_OK;
}

/* a name, to be looked up by whoever has profiles, or the profile itself */
static enum error_code decode_profile(struct api_request *request, struct json_at at, struct error *e)
{
    char name[API_PROFILE_NAME_SIZE];
    long long version;
    if (json_is_object(at.value)) {
        struct planner_profile *profile;
        TRY(profile_read(at, request->arena, &profile, e));
        request->planning.profile = profile;
        return ERROR_OK;
    }
    const char *ref = NULL;
    if (!at.value || json_is_string(at.value))
        TRY(json_text(at, sizeof request->planning.profile_ref - 1, &ref, e));
    if (!at.value)
        return ERROR_OK;
    if (!ref || !api_profile_ref_parse(ref, name, &version))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST,
                              "a profile's name, name@version, or a profile is needed");
    snprintf(request->planning.profile_ref, sizeof request->planning.profile_ref, "%s", ref);
    return ERROR_OK;
}

static enum error_code decode_backend(struct planner_overrides *overrides, struct json_at at, struct error *e)
{
    const char *name = NULL;
    if (!at.value)
        return ERROR_OK;
    TRY(json_text(at, 60, &name, e));
    enum cost_compiler compiler;
    if (cost_backend_find(name, &compiler)) {
        overrides->has_compiler = true;
        overrides->compiler = (uint8_t)compiler;
        return ERROR_OK;
    }
    return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "there is no such backend; known are %s",
                          cost_backend_names());
}

static enum error_code decode_device(struct api_request *request, struct json_at at, struct error *e)
{
    struct json_at name_at = at;
    if (json_is_object(at.value)) {
        static const char *const known[] = {
            "base", "memory_bytes", "memory_bytes_per_s", "flops", "profile", "backend", NULL};
        TRY(json_only(&at, known, e));
        TRY(decode_profile(request, json_member(&at, "profile"), e));
        TRY(decode_backend(&request->planning.overrides, json_member(&at, "backend"), e));
        TRY(json_int(json_member(&at, "memory_bytes"), 1, INT64_MAX / 4,
                     &request->planning.overrides.memory_bytes, e));
        TRY(json_number(json_member(&at, "memory_bytes_per_s"), 1, 1e18,
                        &request->planning.overrides.memory_bytes_per_s, e));
        struct json_at flops = json_member(&at, "flops");
        if (flops.value) {
            TRY(json_only(&flops, api_rate_names, e));
            for (int i = 0; i < COST_RATES; i++)
                TRY(json_number(json_member(&flops, api_rate_names[i]), 1, 1e21,
                                &request->planning.overrides.rate_flops[i], e));
        }
        name_at = json_member(&at, "base");
    }
    const char *name = NULL;
    TRY(json_text(name_at, sizeof request->planning.device - 1, &name, e));
    const struct cost_device *device = name ? cost_device_find(name) : NULL;
    if (device) {
        snprintf(request->planning.device, sizeof request->planning.device, "%s", device->name);
        return ERROR_OK;
    }
    struct text list = {0};
    uint32_t count;
    const struct cost_device *devices = cost_devices(&count);
    for (uint32_t i = 0; i < count; i++)
        text_printf(&list, "%s%s", i ? ", " : "", devices[i].name);
    enum error_code code =
        json_refuse_to(e, name_at, ERROR_UNKNOWN_DEVICE, "%s; known devices: %s",
                       name ? "this device is not in the catalogue" : "a device is needed", list.at);
    text_release(&list);
    return code;
}

static enum error_code decode_constraint_dim(struct api_request *request,
                                             struct planner_constraint *constraint, uint32_t dim,
                                             struct json_at member, struct error *e)
{
    if (json_is_null(member.value)) {
        constraint->dims[dim].open = 1;
        return ERROR_OK;
    }
    size_t axes;
    TRY(json_list(member, MESH_MAX_AXES, &axes, e));
    for (size_t axis = 0; axis < axes; axis++) {
        struct json_at at = json_item(&member, axis);
        const char *name = "";
        TRY(json_text(at, 63, &name, e));
        if (mesh_axis_find(&request->planning.mesh, name) < 0)
            return json_refuse_to(e, at, ERROR_INVALID_CONSTRAINT, "the mesh has no axis of this name");
        constraint->dims[dim].axes[constraint->dims[dim].count++] =
            arena_strndup(request->arena, name, strlen(name));
    }
    return ERROR_OK;
}

/* has a wildcard of fnmatch: may stand for many tensors */
static bool is_pattern(const char *text)
{
    for (; *text; text++) {
        if (strchr("*?[", *text))
            return true;
        if (*text == '\\' && text[1])
            text++;
    }
    return false;
}

/* one of the request's own ({"argument": pattern, ..}) */
static enum error_code decode_constraint(struct api_request *request, struct json_at item,
                                         struct planner_constraint *constraint, struct error *e)
{
    static const char *const known[] = {"argument", "result", "dims", NULL};
    TRY(json_only(&item, known, e));
    struct json_at argument = json_member(&item, "argument"), result = json_member(&item, "result");
    if (!argument.value == !result.value)
        return json_refuse_to(e, item, ERROR_INVALID_CONSTRAINT,
                              "exactly one of \"argument\" and \"result\" is needed");
    const char *pattern = NULL;
    TRY(json_text(argument.value ? argument : result, 1000, &pattern, e));
    constraint->pattern = arena_strndup(request->arena, pattern, strlen(pattern));
    constraint->is_result = result.value != NULL;
    return ERROR_OK;
}

static enum error_code decode_constraint_dims(struct api_request *request, struct json_at item,
                                              struct planner_constraint *constraint, struct error *e)
{
    struct json_at dims = json_member(&item, "dims");
    size_t rank;
    TRY(json_list(dims, IR_MAX_RANK, &rank, e));
    if (!dims.value)
        return json_refuse_to(e, dims, ERROR_INVALID_CONSTRAINT,
                              "\"dims\" is needed: one list of axes (or null) a dimension");
    constraint->pointer = arena_strndup(request->arena, item.pointer, strlen(item.pointer));
    constraint->rank = (uint32_t)rank;
    for (uint32_t dim = 0; dim < rank; dim++)
        TRY(decode_constraint_dim(request, constraint, dim, json_item(&dims, dim), e));
    return ERROR_OK;
}

/* arguments or results of constraints_from_plan, checked by plan_pins_keep */
static enum error_code decode_plan_list(struct api_request *request, struct json_at list, bool results,
                                        struct error *e)
{
    size_t count = json_array_size(list.value);
    for (size_t i = 0; i < count; i++) {
        struct planner_constraint *constraint =
            &request->planning.constraints[request->planning.constraint_count++];
        struct json_at item = json_item(&list, i);
        const char *name = json_string_value(json_object_get(item.value, "name"));
        constraint->pattern = arena_strndup(request->arena, name, strlen(name));
        constraint->exact = true;
        constraint->is_result = results;
        TRY(decode_constraint_dims(request, item, constraint, e));
    }
    return ERROR_OK;
}

/* a plan's first, then the request's own */
static enum error_code decode_constraints(struct api_request *request, struct json_at from_plan,
                                          struct json_at own, struct error *e)
{
    struct json_at arguments = json_member(&from_plan, "arguments"),
                   results = json_member(&from_plan, "results");
    size_t count, patterns = 0, given = json_array_size(arguments.value) + json_array_size(results.value);
    /* exact names are bounded by the module's tensors, patterns by this */
    TRY(json_list(own, API_MAX_CONSTRAINTS + PLAN_PINS_MAX, &count, e));
    request->planning.constraints =
        arena_alloc(request->arena, (given + count + 1) * sizeof *request->planning.constraints);
    TRY(decode_plan_list(request, arguments, false, e));
    TRY(decode_plan_list(request, results, true, e));
    for (size_t i = 0; i < count; i++) {
        struct json_at item = json_item(&own, i);
        struct planner_constraint *constraint = &request->planning.constraints[given + i];
        TRY(decode_constraint(request, item, constraint, e));
        if (is_pattern(constraint->pattern) && ++patterns > API_MAX_CONSTRAINTS)
            return json_refuse_to(e, own, ERROR_INVALID_REQUEST, "at most %d patterns", API_MAX_CONSTRAINTS);
        TRY(decode_constraint_dims(request, item, constraint, e));
    }
    request->planning.constraint_count = (uint32_t)(given + count);
    return ERROR_OK;
}

static enum error_code decode_names(struct api_request *request, struct json_at names, struct json_at trips,
                                    struct error *e)
{
    size_t count;
    TRY(json_list(names, 100000, &count, e));
    const char **kept = arena_alloc(request->arena, (count + 1) * sizeof *kept);
    for (size_t i = 0; i < count; i++) {
        const char *name = NULL;
        TRY(json_text(json_item(&names, i), 1000, &name, e));
        kept[i] = arena_strndup(request->arena, name, strlen(name));
    }
    request->planning.analysis.argument_names = kept;
    request->planning.analysis.argument_name_count = (uint32_t)count;
    if (!trips.value)
        return ERROR_OK;
    if (!json_is_object(trips.value))
        return json_refuse_to(e, trips, ERROR_INVALID_REQUEST,
                              "an object is needed: {\"while@file:line\": iterations}");
    struct nda_trip_count *list =
        arena_alloc(request->arena, (json_object_size(trips.value) + 1) * sizeof *list);
    uint32_t list_count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(trips.value, key, value)
    {
        struct json_at at = json_member(&trips, key);
        int64_t n = 0;
        TRY(json_int(at, 1, INT32_MAX, &n, e));
        list[list_count++] = (struct nda_trip_count){arena_strndup(request->arena, key, strlen(key)), n};
    }
    request->planning.analysis.trip_counts = list;
    request->planning.analysis.trip_count_count = list_count;
    return ERROR_OK;
}

static enum error_code decode_choice(struct json_at at, const char *const *built, const char *const *later,
                                     int *out, struct error *e)
{
    const char *text = NULL;
    TRY(json_text(at, 40, &text, e));
    for (int i = 0; text && built[i]; i++)
        if (strcmp(text, built[i]) == 0) {
            *out = i;
            return ERROR_OK;
        }
    for (int i = 0; text && later[i]; i++)
        if (strcmp(text, later[i]) == 0)
            return not_built(at, later[i], e);
    if (!text)
        return ERROR_OK;
    struct text list = {0};
    for (int i = 0; built[i]; i++)
        text_printf(&list, "%s%s", i ? ", " : "", built[i]);
    enum error_code code =
        json_refuse_to(e, at, ERROR_INVALID_REQUEST, "one of these is needed: %s", list.at);
    text_release(&list);
    return code;
}

/* {"params/<star>": "parameter"}, in the order of the object */
static enum error_code decode_roles(struct api_request *request, struct json_at at, struct error *e)
{
    static const char *const none[] = {NULL};
    const char *const roles[] = {nda_role_name(NDA_ROLE_PARAMETER), nda_role_name(NDA_ROLE_OPTIMIZER),
                                 nda_role_name(NDA_ROLE_DATA), nda_role_name(NDA_ROLE_CACHE), NULL};
    const char *key;
    json_t *value;
    if (!at.value)
        return ERROR_OK;
    if (!json_is_object(at.value))
        return json_refuse_to(
            e, at, ERROR_INVALID_REQUEST,
            "an object is needed: {\"params/*\": \"parameter\"}, roles are parameter, optimizer, "
            "data, cache");
    struct nda_role_choice *list =
        arena_alloc(request->arena, (json_object_size(at.value) + 1) * sizeof *list);
    uint32_t count = 0;
    json_object_foreach(at.value, key, value)
    {
        int role = -1;
        TRY(decode_choice(json_member(&at, key), roles, none, &role, e));
        list[count++] =
            (struct nda_role_choice){arena_strndup(request->arena, key, strlen(key)), 0, (uint8_t)role};
    }
    request->planning.analysis.roles = list;
    request->planning.analysis.role_count = count;
    return ERROR_OK;
}

static enum error_code decode_outputs(struct api_request *request, struct json_at at, struct error *e)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } outputs[] = {{"annotated", PLANNER_OUTPUT_ANNOTATED}, {"manual", PLANNER_OUTPUT_MANUAL},
                   {"local", PLANNER_OUTPUT_LOCAL},         {"report", PLANNER_OUTPUT_REPORT},
                   {"plan", PLANNER_OUTPUT_PLAN},           {"problem", PLANNER_OUTPUT_PROBLEM},
                   {"segments", PLANNER_OUTPUT_SEGMENTS}};
    size_t count;
    TRY(json_list(at, 16, &count, e));
    if (!at.value)
        return ERROR_OK;
    request->planning.outputs = 0;
    for (size_t i = 0; i < count; i++) {
        struct json_at item = json_item(&at, i);
        const char *name = "";
        TRY(json_text(item, 40, &name, e));
        uint32_t bit = 0;
        for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++)
            if (strcmp(outputs[k].name, name) == 0)
                bit = outputs[k].bit;
        if (!bit)
            return json_refuse_to(e, item, ERROR_INVALID_REQUEST,
                                  "outputs are annotated, manual, local, report, plan, problem, segments");
        request->planning.outputs |= bit;
    }
    return ERROR_OK;
}

static enum error_code decode_referee(struct planner_request *planning, struct json_at at, struct error *e)
{
    const char *name = NULL;
    enum cost_compiler compiler;
    TRY(json_text(at, sizeof planning->referee - 1, &name, e));
    if (!name)
        return ERROR_OK;
    if (!cost_backend_find(name, &compiler))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "there is no such referee; known are %s",
                              cost_backend_names());
    const uint32_t needed = PLANNER_OUTPUT_MANUAL | PLANNER_OUTPUT_REPORT;
    if ((planning->outputs & needed) != needed)
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST,
                              "a referee needs manual and report among the outputs");
    snprintf(planning->referee, sizeof planning->referee, "%s", name);
    return ERROR_OK;
}

static enum error_code decode_rest(struct api_request *request, const struct json_at *root, struct error *e)
{
    static const char *const methods[] = {"auto", "mcts", "baselines", "propagate", "cfn", "segments", NULL};
    static const char *const objectives[] = {"step_time", NULL};
    static const char *const objectives_later[] = {"min_memory", "pareto", "min_devices", NULL};
    static const char *const deadlines[] = {"best", "fail", NULL};
    static const char *const overlaps[] = {"auto", "none", NULL};
    static const char *const prices[] = {"full", "volume", NULL};
    static const char *const folds[] = {"auto", "off", NULL};
    static const char *const none[] = {NULL};
    int method = 0, objective = 0, deadline = 0, overlap = 0, fold = 0, price = 0;
    TRY(decode_choice(json_member(root, "planner"), methods, none, &method, e));
    TRY(decode_choice(json_member(root, "objective"), objectives, objectives_later, &objective, e));
    TRY(decode_choice(json_member(root, "on_deadline"), deadlines, none, &deadline, e));
    TRY(decode_choice(json_member(root, "overlap"), overlaps, none, &overlap, e));
    TRY(decode_choice(json_member(root, "fold"), folds, none, &fold, e));
    TRY(decode_choice(json_member(root, "price"), prices, none, &price, e));
    request->planning.volume_price = price == 1;
    request->planning.no_overlap = overlap == 1;
    request->planning.no_fold = fold == 1;
    request->planning.method = (enum planner_method)method;
    static const char *const annotations[] = {"pin", "baseline", "ignore", NULL};
    /* what is completed are the module's own pins: they are not dropped there */
    int annotation = request->planning.method == PLANNER_PROPAGATE ? PLANNER_ANNOTATIONS_PIN
                                                                   : PLANNER_ANNOTATIONS_BASELINE;
    TRY(decode_choice(json_member(root, "annotations"), annotations, none, &annotation, e));
    request->planning.annotations = (enum planner_annotations)annotation;
    request->deadline_fail = deadline == 1;
    int64_t parallelism = 16, seed = 1, rollouts = 0, priority = 0, alternatives = 0;
    TRY(json_int(json_member(root, "memory_limit_bytes"), 1, INT64_MAX / 4,
                 &request->planning.memory_limit_bytes, e));
    TRY(json_int(json_member(root, "parallelism"), 1, 256, &parallelism, e));
    TRY(json_int(json_member(root, "seed"), 0, INT64_MAX, &seed, e));
    TRY(json_int(json_member(root, "priority"), 0, 9, &priority, e));
    TRY(json_int(json_member(root, "alternatives"), 0, PLANNER_MAX_ALTERNATIVES, &alternatives, e));
    request->planning.alternatives = (uint32_t)alternatives;
    TRY(decode_referee(&request->planning, json_member(root, "referee"), e));
    struct json_at budget = json_member(root, "budget");
    if (budget.value) {
        static const char *const known[] = {"rollouts", "seconds", NULL};
        TRY(json_only(&budget, known, e));
        TRY(json_int(json_member(&budget, "rollouts"), 1, 100000000, &rollouts, e));
        TRY(json_number(json_member(&budget, "seconds"), 0.001, 1e7, &request->seconds, e));
    }
    request->planning.parallelism = (uint32_t)parallelism;
    request->priority = (int)priority;
    request->planning.seed = (uint64_t)seed;
    request->planning.rollouts = (uint32_t)rollouts;
    TRY(json_number(json_member(root, "deadline_s"), 0.001, 1e7, &request->deadline_s, e));
    TRY(json_bool(json_member(root, "proof"), &request->planning.proof, e));
    TRY(json_bool(json_member(root, "dry_run"), &request->dry_run, e));
    TRY(json_bool(json_member(root, "no_baselines"), &request->planning.no_baselines, e));
    const char *webhook = NULL;
    TRY(json_text(json_member(root, "webhook"), 1000, &webhook, e));
    if (webhook)
        request->webhook = arena_strndup(request->arena, webhook, strlen(webhook));
    struct json_at labels = json_member(root, "labels");
    if (labels.value) {
        const char *key;
        json_t *value;
        if (!json_is_object(labels.value) || json_object_size(labels.value) > 64)
            return json_refuse_to(e, labels, ERROR_INVALID_REQUEST,
                                  "labels are an object of at most 64 strings");
        json_object_foreach(labels.value, key, value)
        {
            const char *text;
            TRY(json_text(json_member(&labels, key), 1000, &text, e));
        }
        char *text = json_compact(labels.value);
        request->labels = arena_strndup(request->arena, text, strlen(text));
        free(text);
    }
    return ERROR_OK;
}

static void canonicalise(struct api_request *request, json_t *root)
{
    json_object_del(root, "labels");
    json_object_del(root, "priority");
    json_object_del(root, "webhook");
    json_object_del(root, "module");
    json_object_del(root, "dry_run"); /* a dry run says the digest of the run */
    if (request->module_digest[0]) {
        char text[80];
        snprintf(text, sizeof text, "sha256:%s", request->module_digest);
        json_object_set_new(root, "module", json_string(text));
    }
    char *text = json_compact(root);
    request->canonical = arena_strndup(request->arena, text, strlen(text));
    free(text);
}

/* The plan that the constraints come from. One that cannot be read any more gives its constraints alone. */
static void decode_given(struct api_request *request, json_t *root)
{
    json_t *plan = json_object_get(root, "constraints_from_plan"), *made_by = plan_pins_made_by(plan);
    struct error unread;
    const char *key;
    json_t *value;
    if (!made_by)
        return;
    char *text = json_compact(made_by);
    if (api_plan_parse(text, strlen(text), &request->given, &unread) != ERROR_OK) {
        json_object_foreach(made_by, key, value)
        {
            json_object_del(plan, key);
        }
    }
    free(text);
    json_decref(made_by);
    request->planning.given = request->given;
}

static enum error_code decode(struct api_request *request, json_t *value, const char *module_digest,
                              bool module_optional, struct error *e)
{
    static const char *const known[] = {"module",
                                        "mesh",
                                        "device",
                                        "memory_limit_bytes",
                                        "objective",
                                        "planner",
                                        "constraints",
                                        "constraints_from_plan",
                                        "argument_names",
                                        "trip_counts",
                                        "budget",
                                        "parallelism",
                                        "seed",
                                        "outputs",
                                        "proof",
                                        "on_deadline",
                                        "deadline_s",
                                        "labels",
                                        "dry_run",
                                        "no_baselines",
                                        "priority",
                                        "overlap",
                                        "annotations",
                                        "entry",
                                        "alternatives",
                                        "referee",
                                        "webhook",
                                        "roles",
                                        "rules",
                                        "combine_bytes",
                                        "fold",
                                        "price",
                                        NULL};
    struct json_at root = {value, ""};
    TRY(json_only(&root, known, e));
    TRY(plan_pins_keep(value, e));
    decode_given(request, value);
    TRY(decode_module(request, json_member(&root, "module"), module_digest, e));
    if (!request->module_digest[0] && !module_optional)
        return json_refuse_to(e, json_member(&root, "module"), ERROR_INVALID_REQUEST,
                              "a module is needed: \"sha256:…\" of an uploaded one, {\"inline\": text}, or a "
                              "part named module");
    TRY(decode_mesh(&request->planning.mesh, json_member(&root, "mesh"), e));
    TRY(decode_device(request, json_member(&root, "device"), e));
    TRY(decode_constraints(request, json_member(&root, "constraints_from_plan"),
                           json_member(&root, "constraints"), e));
    TRY(decode_names(request, json_member(&root, "argument_names"), json_member(&root, "trip_counts"), e));
    TRY(decode_roles(request, json_member(&root, "roles"), e));
    TRY(json_given_rules(json_member(&root, "rules"), request->arena, &request->planning.analysis.rules,
                         &request->planning.analysis.rule_count, e));
    TRY(json_int(json_member(&root, "combine_bytes"), 1, INT64_MAX / 4, &request->planning.combine_bytes, e));
    TRY(decode_outputs(request, json_member(&root, "outputs"), e));
    const char *entry = "";
    TRY(json_text(json_member(&root, "entry"), sizeof request->planning.entry - 1, &entry, e));
    snprintf(request->planning.entry, sizeof request->planning.entry, "%s", entry + (entry[0] == '@'));
    TRY(decode_rest(request, &root, e));
    canonicalise(request, value);
    return ERROR_OK;
}

enum error_code api_request_parse(const char *json, size_t size, const char *module_digest,
                                  bool module_optional, struct api_request **out, struct error *e)
{
    json_t *value = NULL;
    *out = NULL;
    if (module_digest && !is_digest(module_digest))
        return error_set(e, ERROR_INVALID_REQUEST, "a module digest is 64 lower-case hex digits");
    TRY(json_parse(json, size, API_MAX_JSON_KEYS, &value, e));
    struct arena *arena = arena_create();
    struct api_request *request = arena_alloc(arena, sizeof *request);
    request->arena = arena;
    request->planning.outputs = PLANNER_OUTPUT_ANNOTATED | PLANNER_OUTPUT_MANUAL | PLANNER_OUTPUT_LOCAL |
                                PLANNER_OUTPUT_REPORT | PLANNER_OUTPUT_PLAN;
    enum error_code code = decode(request, value, module_digest, module_optional, e);
    json_decref(value);
    if (code != ERROR_OK) {
        api_request_destroy(request);
        return code;
    }
    *out = request;
    return ERROR_OK;
}

void api_request_destroy(struct api_request *request)
{
    if (!request)
        return;
    planner_plan_destroy(request->given);
    arena_destroy(request->arena);
}

void api_request_digest(const struct api_request *request, const char *module_digest, char out[65])
{
    struct sha256 *sha = sha256_create();
    sha256_add(sha, module_digest, strlen(module_digest));
    sha256_add(sha, "\n", 1);
    sha256_add(sha, request->canonical, strlen(request->canonical));
    sha256_add(sha, "\n", 1);
    sha256_add(sha, api_build(), strlen(api_build()));
    uint8_t digest[32];
    sha256_finish(sha, digest);
    sha256_format(digest, out);
}

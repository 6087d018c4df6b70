/* plan.json -> struct planner_plan; see plan_file.h. */
#include "api/plan_file.h"

#include "api/json.h"
#include "api/request.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AXIS_NAME_MAX = 63,    /* as of mesh_axis.name */
    MAX_DECISIONS = 10000, /* a replay takes SEARCH_MAX_LIST of them and says so; this bounds the reading */
    MAX_FACTORS = 10000000 /* bounds what a file makes this process allocate: some GB */
};

/* what the file calls the arguments or the results, by number */
static const char **read_names(struct planner_plan *plan, const json_t *list, uint32_t *count)
{
    *count = (uint32_t)json_array_size(list);
    const char **names = arena_alloc(plan->arena, ((size_t)*count + 1) * sizeof *names);
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        const json_t *index = json_object_get(item, "index");
        json_int_t number = index ? json_integer_value(index) : (json_int_t)i;
        if (name && number >= 0 && number < *count)
            names[number] = arena_strndup(plan->arena, name, strlen(name));
    }
    return names;
}

/* mesh and pins are what a request calls mesh and constraints: one decoder for both */
static enum error_code read_request_part(struct planner_plan **out, const struct json_at *root,
                                         struct error *e)
{
    char device[sizeof(*out)->device] = "";
    const char *name = NULL;
    struct json_at machine = json_member(root, "machine");
    if (machine.value) {
        if (!json_is_object(machine.value))
            return json_refuse_to(e, machine, ERROR_INVALID_PLAN, "an object is needed here");
        TRY(json_text(json_member(&machine, "device"), sizeof device - 1, &name, e));
        snprintf(device, sizeof device, "%s", name ? name : "");
    }
    json_t *request = json_object(), *mesh = json_object_get(root->value, "mesh"),
           *pins = json_object_get(root->value, "pins");
    uint32_t device_count;
    if (mesh)
        json_object_set(request, "mesh", mesh);
    if (pins)
        json_object_set(request, "constraints", pins);
    bool known = device[0] && cost_device_find(device);
    json_object_set_new(request, "device", json_string(known ? device : cost_devices(&device_count)[0].name));
    char *text = json_compact(request);
    json_decref(request);
    struct api_request *api_request;
    enum error_code code = api_request_parse(text, strlen(text), NULL, true, &api_request, e);
    free(text);
    if (code != ERROR_OK)
        return code;
    struct planner_plan *plan = *out =
        arena_alloc(api_request->arena, sizeof *plan); /* and r->arena becomes the plan's */
    plan->arena = api_request->arena;
    plan->mesh = api_request->planning.mesh;
    plan->constraints = api_request->planning.constraints;
    plan->constraint_count = api_request->planning.constraint_count;
    uint32_t counts[2];
    const char **names[] = {read_names(plan, json_object_get(root->value, "arguments"), &counts[0]),
                            read_names(plan, json_object_get(root->value, "results"), &counts[1])};
    for (uint32_t i = 0; i < plan->constraint_count; i++) {
        struct planner_constraint *pin = &api_request->planning.constraints[i];
        pin->pointer = arena_printf(plan->arena, "/pins/%u", i);
        pin->names = names[pin->is_result];
        pin->name_count = counts[pin->is_result];
    }
    memcpy(plan->device, device, sizeof device);
    return ERROR_OK;
}

static enum error_code keep_text(const struct planner_plan *plan, struct json_at at, size_t max_size,
                                 const char **out, struct error *e)
{
    if (!at.value)
        return ERROR_OK;
    TRY(json_text(at, max_size, out, e));
    *out = arena_strndup(plan->arena, *out, strlen(*out));
    return ERROR_OK;
}

/* {"all", "arguments"}; what stands under arguments follows from the decisions. A text: "region" and
 * "never", as plans had it. */
static enum error_code read_regather(struct json_at at, uint8_t *out, struct error *e)
{
    static const char *const known[] = {"all", "arguments", NULL};
    const char *text = NULL;
    bool all = *out;
    size_t count;
    if (!at.value)
        return ERROR_OK;
    if (json_is_string(at.value)) {
        TRY(json_text(at, 20, &text, e));
        if (strcmp(text, "region") != 0 && strcmp(text, "never") != 0)
            return json_refuse_to(e, at, ERROR_INVALID_PLAN,
                                  "regather is {\"all\": true or false, \"arguments\": [..]}");
        *out = strcmp(text, "region") == 0;
        return ERROR_OK;
    }
    TRY(json_only(&at, known, e));
    TRY(json_bool(json_member(&at, "all"), &all, e));
    TRY(json_list(json_member(&at, "arguments"), SIZE_MAX, &count, e));
    *out = all;
    return ERROR_OK;
}

static enum error_code read_walk(struct planner_plan *plan, const struct json_at *root, struct error *e)
{
    plan->walk = spmd_default_options(&plan->mesh);
    struct json_at walk = json_member(root, "walk");
    if (!walk.value)
        return ERROR_OK;
    static const char *const known[] = {"combine_bytes",  "axis_order",   "regather",
                                        "defer_partials", "keep_layouts", NULL};
    TRY(json_only(&walk, known, e));
    bool defer = plan->walk.defer_partials, keep = plan->walk.keep_layouts;
    size_t axes;
    TRY(json_int(json_member(&walk, "combine_bytes"), 0, INT64_MAX / 4, &plan->walk.combine_bytes, e));
    TRY(json_bool(json_member(&walk, "defer_partials"), &defer, e));
    TRY(json_bool(json_member(&walk, "keep_layouts"), &keep, e));
    TRY(read_regather(json_member(&walk, "regather"), &plan->walk.regather, e));
    struct json_at order = json_member(&walk, "axis_order");
    TRY(json_list(order, MESH_MAX_AXES, &axes, e));
    if (axes && axes != plan->mesh.axis_count)
        return json_refuse_to(e, order, ERROR_INVALID_PLAN, "every axis of the mesh is needed once");
    for (size_t i = 0; i < axes; i++) {
        const char *name = "";
        TRY(json_text(json_item(&order, i), AXIS_NAME_MAX, &name, e));
        int axis = mesh_axis_find(&plan->mesh, name);
        for (size_t k = 0; k < i; k++)
            if (axis == plan->walk.axis_order[k])
                axis = -1;
        if (axis < 0)
            return json_refuse_to(e, json_item(&order, i), ERROR_INVALID_PLAN,
                                  "every axis of the mesh is needed once");
        plan->walk.axis_order[i] = (uint8_t)axis;
    }
    plan->walk.defer_partials = defer;
    plan->walk.keep_layouts = keep;
    return ERROR_OK;
}

static enum error_code read_decisions(struct planner_plan *plan, const struct json_at *root, struct error *e)
{
    size_t count;
    struct json_at list = json_member(root, "decisions");
    TRY(json_list(list, MAX_DECISIONS, &count, e));
    struct planner_decision *decisions = arena_alloc(plan->arena, (count + 1) * sizeof *decisions);
    plan->decisions = decisions;
    for (size_t i = 0; i < count; i++) {
        static const char *const known[] = {"group", "axis", "bits", "scope", "at", "worth_ps", NULL};
        struct json_at item = json_item(&list, i);
        struct planner_decision *decision = &decisions[plan->decision_count++];
        *decision = (struct planner_decision){"", "", "", "all"};
        TRY(json_only(&item, known, e));
        TRY(keep_text(plan, json_member(&item, "group"), 200, &decision->group, e));
        TRY(keep_text(plan, json_member(&item, "axis"), AXIS_NAME_MAX, &decision->axis, e));
        TRY(keep_text(plan, json_member(&item, "bits"), 40, &decision->bits, e));
        TRY(keep_text(plan, json_member(&item, "scope"), 20, &decision->scope, e));
    }
    return ERROR_OK;
}

/* A plan may have millions of factors: the names of their axes are the mesh's own. A name that the mesh has
 * not is kept for the message that refuses it at the replay. */
static enum error_code read_axis(const struct planner_plan *plan, struct json_at at, const char **out,
                                 struct error *e)
{
    const char *name = "";
    TRY(json_text(at, AXIS_NAME_MAX, &name, e));
    int axis = mesh_axis_find(&plan->mesh, name);
    *out = axis < 0 ? arena_strndup(plan->arena, name, strlen(name)) : plan->mesh.axes[axis].name;
    return ERROR_OK;
}

static enum error_code read_factors(struct planner_plan *plan, const struct json_at *root, struct error *e)
{
    size_t count, axes;
    struct json_at list = json_member(root, "factors");
    TRY(json_list(list, MAX_FACTORS, &count, e));
    struct planner_factor *factors = arena_alloc(plan->arena, (count + 1) * sizeof *factors);
    plan->factors = factors;
    for (size_t i = 0; i < count; i++) {
        static const char *const known[] = {"op", "factor", "axes", NULL};
        struct json_at item = json_item(&list, i);
        struct planner_factor *out = &factors[plan->factor_count++];
        int64_t op = -1, factor = -1;
        TRY(json_only(&item, known, e));
        TRY(json_int(json_member(&item, "op"), 0, UINT32_MAX - 1, &op, e));
        TRY(json_int(json_member(&item, "factor"), 0, 254, &factor, e));
        struct json_at names = json_member(&item, "axes");
        TRY(json_list(names, MESH_MAX_AXES, &axes, e));
        if (op < 0 || factor < 0 || axes == 0)
            return json_refuse_to(e, item, ERROR_INVALID_PLAN, "\"op\", \"factor\" and \"axes\" are needed");
        out->op = (uint32_t)op;
        out->factor = (uint32_t)factor;
        for (size_t k = 0; k < axes; k++)
            TRY(read_axis(plan, json_item(&names, k), &out->axes[k], e));
        out->axis_count = (uint32_t)axes;
    }
    return ERROR_OK;
}

static enum error_code read_dims(const struct planner_plan *plan, struct json_at at,
                                 struct plan_sharding *out, struct error *e)
{
    size_t rank, axes;
    TRY(json_list(at, IR_MAX_RANK, &rank, e));
    out->rank = (uint32_t)rank;
    for (size_t dim = 0; dim < rank; dim++) {
        struct json_at list = json_item(&at, dim);
        TRY(json_list(list, MESH_MAX_AXES, &axes, e));
        out->dims[dim].count = (uint8_t)axes;
        for (size_t i = 0; i < axes; i++) {
            const char *name = "";
            TRY(json_text(json_item(&list, i), AXIS_NAME_MAX, &name, e));
            int axis = mesh_axis_find(&plan->mesh, name);
            if (axis < 0)
                return json_refuse_to(e, json_item(&list, i), ERROR_INVALID_PLAN,
                                      "the mesh has no axis of this name");
            out->dims[dim].axes[i] = (uint8_t)axis;
        }
    }
    return ERROR_OK;
}

/* An entry whose dims and partition_spec contradict each other was edited: nobody would price the edit. */
static enum error_code check_spec(const struct planner_plan *plan, const struct planner_stated *stated,
                                  const struct json_at *item, struct error *e)
{
    const char *text = json_string_value(json_member(item, "partition_spec").value);
    char spec[256];
    if (!text)
        return ERROR_OK;
    report_spec(&stated->sharding, &plan->mesh, spec, sizeof spec);
    if (strcmp(spec, text) == 0)
        return ERROR_OK;
    return json_refuse_to(
        e, json_member(item, "dims"), ERROR_INVALID_PLAN,
        "these dims and their partition_spec contradict each other; both are there to be read. "
        "Edit pins, decisions or factors, or send the plan as constraints_from_plan: then the "
        "dims are what is planned with");
}

static enum error_code read_stated_list(struct planner_plan *plan, struct json_at list, bool is_result,
                                        struct planner_stated *out, struct error *e)
{
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        struct json_at item = json_item(&list, i), dims = json_member(&item, "dims");
        struct planner_stated *stated = &out[plan->stated_count];
        int64_t index = (int64_t)i;
        if (!json_is_object(item.value))
            return json_refuse_to(e, item, ERROR_INVALID_PLAN, "an object is needed here");
        if (!dims.value)
            continue;
        TRY(json_int(json_member(&item, "index"), 0, UINT32_MAX, &index, e));
        *stated =
            (struct planner_stated){.index = (uint32_t)index, .is_result = is_result, .place = (uint32_t)i};
        TRY(read_dims(plan, dims, &stated->sharding, e));
        TRY(check_spec(plan, stated, &item, e));
        plan->stated_count++;
    }
    return ERROR_OK;
}

static enum error_code read_stated(struct planner_plan *plan, const struct json_at *root, struct error *e)
{
    struct json_at arguments = json_member(root, "arguments"), results = json_member(root, "results");
    size_t argument_count, result_count;
    TRY(json_list(arguments, SIZE_MAX, &argument_count, e));
    TRY(json_list(results, SIZE_MAX, &result_count, e));
    struct planner_stated *stated =
        arena_alloc(plan->arena, (argument_count + result_count + 1) * sizeof *stated);
    plan->stated = stated;
    TRY(read_stated_list(plan, arguments, false, stated, e));
    return read_stated_list(plan, results, true, stated, e);
}

static enum error_code read_roles(struct planner_plan *plan, const struct json_at *root, struct error *e)
{
    static const char *const known[] = {"argument", "role", NULL};
    size_t count;
    struct json_at list = json_member(root, "roles");
    TRY(json_list(list, MAX_FACTORS, &count, e));
    struct nda_role_choice *roles = arena_alloc(plan->arena, (count + 1) * sizeof *roles);
    plan->roles = roles;
    for (size_t i = 0; i < count; i++) {
        struct json_at item = json_item(&list, i);
        int64_t argument = -1;
        const char *name = "";
        TRY(json_only(&item, known, e));
        TRY(json_int(json_member(&item, "argument"), 0, UINT32_MAX - 1, &argument, e));
        TRY(json_text(json_member(&item, "role"), 20, &name, e));
        int role = NDA_ROLE_CACHE;
        while (role >= 0 && strcmp(nda_role_name((enum nda_role)role), name) != 0)
            role--;
        if (argument < 0 || role < 0)
            return json_refuse_to(e, item, ERROR_INVALID_PLAN,
                                  "\"argument\" and \"role\" (parameter, optimizer, data, cache) are needed");
        roles[plan->role_count++] = (struct nda_role_choice){NULL, (uint32_t)argument, (uint8_t)role};
    }
    return ERROR_OK;
}

/* *out is set as soon as there is something to destroy */
static enum error_code read_plan(json_t *value, struct planner_plan **out, struct error *e)
{
    struct json_at root = {value, ""};
    static const char *const known[] = {
        "format",         "mesh",      "module",       "arguments", "results",     "pins",
        "pins_completed", "decisions", "factors",      "walk",      "machine",     "memory_limit_bytes",
        "hash",           "found_by",  "reproducible", "build",     "module_pins", "constraints",
        "sums",           "roles",     "rules",        NULL};
    int64_t format = 1;
    const char *hash = NULL, *found_by = json_string_value(json_object_get(value, "found_by"));
    TRY(json_only(&root, known, e));
    TRY(json_int(json_member(&root, "format"), 1, 1, &format, e));
    TRY(read_request_part(out, &root, e));
    struct planner_plan *plan = *out;
    TRY(read_walk(plan, &root, e));
    TRY(json_int(json_member(&root, "memory_limit_bytes"), 1, INT64_MAX / 4, &plan->memory_limit_bytes, e));
    TRY(json_bool(json_member(&root, "pins_completed"), &plan->pins_completed, e));
    bool module_pins = true;
    TRY(json_bool(json_member(&root, "module_pins"), &module_pins, e));
    plan->no_module_pins = !module_pins;
    TRY(read_roles(plan, &root, e));
    TRY(json_given_rules(json_member(&root, "rules"), plan->arena, &plan->rules, &plan->rule_count, e));
    TRY(read_decisions(plan, &root, e));
    TRY(read_factors(plan, &root, e));
    TRY(read_stated(plan, &root, e));
    TRY(json_text(json_member(&root, "hash"), 64, &hash, e));
    if (hash && hash128_parse(hash, &plan->hash) != 0)
        return json_refuse_to(e, json_member(&root, "hash"), ERROR_INVALID_PLAN,
                              "32 lower-case hex digits are needed");
    plan->has_hash = hash != NULL;
    plan->found_by = found_by ? arena_strndup(plan->arena, found_by, strlen(found_by)) : "";
    return ERROR_OK;
}

enum error_code api_plan_parse(const char *json, size_t size, struct planner_plan **out, struct error *e)
{
    json_t *value = NULL;
    struct planner_plan *plan = NULL;
    TRY(json_parse(json, size, API_PLAN_MAX_KEYS, &value, e));
    enum error_code code = read_plan(value, &plan, e);
    json_decref(value);
    if (code != ERROR_OK) {
        planner_plan_destroy(plan);
        return code;
    }
    *out = plan;
    return ERROR_OK;
}

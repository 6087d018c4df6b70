/* plan.json read back: replays pins, decisions and factors and must reach the hash that stands in the
 * file. */
#include "api/job.h"

#include "api/encode.h"
#include "api/pins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct api_plan_file {
    struct api_request *request; /* mesh and pins, decoded by the request's own decoder */
    struct spmd_options walk;
    int64_t memory_limit_bytes;
    char device[64];
    bool has_hash, pins_completed;
    struct hash128 hash;
    struct api_decision *decisions;
    struct api_factor *factors;
    uint32_t decision_count, factor_count;
    json_t *root; /* strings of decisions and factors lie in it */
};

void api_plan_file_destroy(struct api_plan_file *f)
{
    if (!f)
        return;
    api_request_destroy(f->request);
    free(f->decisions);
    free(f->factors);
    json_decref(f->root);
    free(f);
}

/* mesh and pins are what a request calls mesh and constraints: one decoder for both */
static enum error_code read_request_part(struct api_plan_file *f, const struct json_at *root, struct error *e)
{
    const char *device = NULL;
    struct json_at machine = json_member(root, "machine");
    if (machine.value) {
        if (!json_is_object(machine.value))
            return json_refuse_to(e, machine, ERROR_INVALID_PLAN, "an object is needed here");
        TRY(json_text(json_member(&machine, "device"), sizeof f->device - 1, &device, e));
        snprintf(f->device, sizeof f->device, "%s", device ? device : "");
    }
    json_t *request = json_object(), *mesh = json_object_get(root->value, "mesh"),
           *pins = json_object_get(root->value, "pins");
    uint32_t device_count;
    if (mesh)
        json_object_set(request, "mesh", mesh);
    if (pins)
        json_object_set(request, "constraints", pins);
    bool known = f->device[0] && cost_device_find(f->device);
    json_object_set_new(request, "device",
                        json_string(known ? f->device : cost_devices(&device_count)[0].name));
    char *text = json_compact(request);
    json_decref(request);
    enum error_code code = api_request_parse(text, strlen(text), NULL, true, &f->request, e);
    free(text);
    return code;
}

/* {"all", "arguments"}; what stands under arguments follows from the decisions. A text: "region" and
 * "never", as plans had it. */
static enum error_code read_regather(struct json_at v, uint8_t *out, struct error *e)
{
    static const char *const known[] = {"all", "arguments", NULL};
    const char *text = NULL;
    bool all = *out;
    size_t count;
    if (!v.value)
        return ERROR_OK;
    if (json_is_string(v.value)) {
        TRY(json_text(v, 20, &text, e));
        if (strcmp(text, "region") != 0 && strcmp(text, "never") != 0)
            return json_refuse_to(e, v, ERROR_INVALID_PLAN,
                                  "regather is {\"all\": true or false, \"arguments\": [..]}");
        *out = strcmp(text, "region") == 0;
        return ERROR_OK;
    }
    TRY(json_only(&v, known, e));
    TRY(json_bool(json_member(&v, "all"), &all, e));
    TRY(json_list(json_member(&v, "arguments"), SIZE_MAX, &count, e));
    *out = all;
    return ERROR_OK;
}

static enum error_code read_walk(struct api_plan_file *f, const struct json_at *root, struct error *e)
{
    f->walk = spmd_default_options(&f->request->mesh);
    struct json_at walk = json_member(root, "walk");
    if (!walk.value)
        return ERROR_OK;
    static const char *const known[] = {"combine_bytes", "axis_order", "regather", "defer_partials", NULL};
    TRY(json_only(&walk, known, e));
    bool defer = f->walk.defer_partials;
    size_t axes;
    TRY(json_int(json_member(&walk, "combine_bytes"), 0, INT64_MAX / 4, &f->walk.combine_bytes, e));
    TRY(json_bool(json_member(&walk, "defer_partials"), &defer, e));
    TRY(read_regather(json_member(&walk, "regather"), &f->walk.regather, e));
    struct json_at order = json_member(&walk, "axis_order");
    TRY(json_list(order, MESH_MAX_AXES, &axes, e));
    if (axes && axes != f->request->mesh.axis_count)
        return json_refuse_to(e, order, ERROR_INVALID_PLAN, "every axis of the mesh is needed once");
    for (size_t i = 0; i < axes; i++) {
        const char *name = "";
        TRY(json_text(json_item(&order, i), 63, &name, e));
        int axis = mesh_axis_find(&f->request->mesh, name);
        for (size_t k = 0; k < i; k++)
            if (axis == f->walk.axis_order[k])
                axis = -1;
        if (axis < 0)
            return json_refuse_to(e, json_item(&order, i), ERROR_INVALID_PLAN,
                                  "every axis of the mesh is needed once");
        f->walk.axis_order[i] = (uint8_t)axis;
    }
    f->walk.defer_partials = defer;
    return ERROR_OK;
}

static enum error_code read_decisions(struct api_plan_file *f, const struct json_at *root, struct error *e)
{
    size_t count;
    struct json_at list = json_member(root, "decisions");
    TRY(json_list(list, 10000, &count, e));
    f->decisions = mem_zalloc(count + 1, sizeof *f->decisions);
    for (size_t i = 0; i < count; i++) {
        static const char *const known[] = {"group", "axis", "bits", "scope", "at", "worth_ps", NULL};
        struct json_at item = json_item(&list, i);
        struct api_decision *d = &f->decisions[f->decision_count++];
        *d = (struct api_decision){"", "", "", "all"};
        TRY(json_only(&item, known, e));
        TRY(json_text(json_member(&item, "group"), 200, &d->group, e));
        TRY(json_text(json_member(&item, "axis"), 63, &d->axis, e));
        TRY(json_text(json_member(&item, "bits"), 40, &d->bits, e));
        TRY(json_text(json_member(&item, "scope"), 20, &d->scope, e));
    }
    return ERROR_OK;
}

static enum error_code read_factors(struct api_plan_file *f, const struct json_at *root, struct error *e)
{
    size_t count, axes;
    struct json_at list = json_member(root, "factors");
    TRY(json_list(list, 10000000, &count, e));
    f->factors = mem_zalloc(count + 1, sizeof *f->factors);
    for (size_t i = 0; i < count; i++) {
        static const char *const known[] = {"op", "factor", "axes", NULL};
        struct json_at item = json_item(&list, i);
        struct api_factor *out = &f->factors[f->factor_count++];
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
        for (size_t a = 0; a < axes; a++) {
            out->axes[a] = "";
            TRY(json_text(json_item(&names, a), 63, &out->axes[a], e));
        }
        out->axis_count = (uint32_t)axes;
    }
    return ERROR_OK;
}

static enum error_code read_plan(struct api_plan_file *f, struct error *e)
{
    struct json_at root = {f->root, ""};
    static const char *const known[] = {
        "format",         "mesh",      "module",       "arguments", "results", "pins",
        "pins_completed", "decisions", "factors",      "walk",      "machine", "memory_limit_bytes",
        "hash",           "found_by",  "reproducible", "build",     NULL};
    int64_t format = 1;
    const char *hash = NULL;
    TRY(json_only(&root, known, e));
    TRY(json_int(json_member(&root, "format"), 1, 1, &format, e));
    TRY(read_request_part(f, &root, e));
    TRY(read_walk(f, &root, e));
    TRY(json_int(json_member(&root, "memory_limit_bytes"), 1, INT64_MAX / 4, &f->memory_limit_bytes, e));
    TRY(json_bool(json_member(&root, "pins_completed"), &f->pins_completed, e));
    TRY(read_decisions(f, &root, e));
    TRY(read_factors(f, &root, e));
    TRY(json_text(json_member(&root, "hash"), 64, &hash, e));
    if (hash && hash128_parse(hash, &f->hash) != 0)
        return json_refuse_to(e, json_member(&root, "hash"), ERROR_INVALID_PLAN,
                              "32 lower-case hex digits are needed");
    f->has_hash = hash != NULL;
    return ERROR_OK;
}

enum error_code api_plan_parse(const char *json, size_t size, struct api_plan_file **out, struct error *e)
{
    struct api_plan_file *f = mem_zalloc(1, sizeof *f);
    enum error_code code = json_parse(json, size, 20000000, &f->root, e);
    if (code == ERROR_OK)
        code = read_plan(f, e);
    if (code != ERROR_OK) {
        api_plan_file_destroy(f);
        return code;
    }
    *out = f;
    return ERROR_OK;
}

const struct mesh *api_plan_mesh(const struct api_plan_file *f)
{
    return &f->request->mesh;
}

const char *api_plan_device(const struct api_plan_file *f)
{
    return f->device;
}

const struct spmd_options *api_plan_walk(const struct api_plan_file *f)
{
    return &f->walk;
}

int64_t api_plan_memory_limit(const struct api_plan_file *f)
{
    return f->memory_limit_bytes;
}

enum error_code api_plan_replay(const struct api_plan_file *f, const struct plan_context *c, struct plan *p,
                                struct error *e)
{
    const struct nda *n = plan_context_nda(c);
    plan_copy(p, plan_context_start(c));
    for (uint32_t i = 0; i < f->decision_count; i++) {
        const struct api_decision *d = &f->decisions[i];
        struct plan_decision decision;
        TRY(plan_decision_find(c, d->group, d->axis, d->bits, d->scope, &decision, e));
        plan_apply(c, p, decision);
    }
    for (uint32_t i = 0; i < f->factor_count; i++) {
        const struct api_factor *x = &f->factors[i];
        if (x->op >= n->space_count || x->factor >= n->spaces[x->op].factor_count)
            return error_set(e, ERROR_INVALID_PLAN,
                             "factors/%u: there is no factor %u of space %u in this module", i, x->factor,
                             x->op);
        for (uint32_t a = 0; a < x->axis_count; a++) {
            int axis = mesh_axis_find(plan_context_mesh(c), x->axes[a]);
            if (axis < 0)
                return error_set(e, ERROR_INVALID_PLAN, "factors/%u: the mesh has no axis '%s'", i,
                                 x->axes[a]);
            if (!plan_apply_factor(c, p, x->op, x->factor, (uint32_t)axis))
                return error_set(e, ERROR_INVALID_PLAN,
                                 "factors/%u: axis '%s' cannot shard factor %u of space %u (in use, does not "
                                 "divide, or not "
                                 "shardable)",
                                 i, x->axes[a], x->factor, x->op);
        }
    }
    if (f->has_hash && hash128_compare(f->hash, p->hash) != 0) {
        char reached[33];
        hash128_format(p->hash, reached);
        return error_set(e, ERROR_INVALID_PLAN,
                         "replaying this plan gives %s, not the hash it states: it was made for another "
                         "module, mesh or build "
                         "(remove \"hash\" to use it all the same)",
                         reached);
    }
    return ERROR_OK;
}

const char *api_plan_found_by(const struct api_plan_file *f)
{
    const char *text = json_string_value(json_object_get(f->root, "found_by"));
    return text ? text : "";
}

enum error_code api_plan_apply(const struct api_plan_file *f, const struct nda *n,
                               struct plan_context **context, struct plan *plan, struct error *e)
{
    struct plan_pin *pins = NULL;
    uint32_t count = 0;
    struct plan_context *c = NULL;
    TRY(pins_create(f->request->constraints, f->request->constraint_count, n, &f->request->mesh, &pins,
                    &count, e));
    enum error_code code = plan_context_create(n, &f->request->mesh, pins, count, &c, e);
    free(pins);
    if (code != ERROR_OK)
        return code;
    if (f->pins_completed)
        plan_context_complete(c);
    plan_init(plan, n, &f->request->mesh);
    code = api_plan_replay(f, c, plan, e);
    if (code != ERROR_OK) {
        plan_release(plan);
        plan_context_destroy(c);
        return code;
    }
    *context = c;
    return ERROR_OK;
}

enum error_code api_plan_decisions(const struct api_plan_file *f, const struct plan_context *c,
                                   struct plan_decision *out, uint32_t room, uint32_t *count,
                                   uint32_t *factors, struct error *e)
{
    *factors = f->factor_count;
    *count = 0;
    if (f->decision_count > room)
        return error_set_pointer(e, ERROR_INVALID_PLAN, "/decisions", "a plan has at most %u decisions",
                                 room);
    for (; *count < f->decision_count; (*count)++) {
        const struct api_decision *d = &f->decisions[*count];
        TRY(plan_decision_find(c, d->group, d->axis, d->bits, d->scope, &out[*count], e));
    }
    return ERROR_OK;
}

void api_plan_factors(const struct api_plan_file *f, const struct plan_context *c, struct plan_factors *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->factor_count; i++)
        count += f->factors[i].axis_count;
    *out = (struct plan_factors){.at = mem_alloc((count + 1) * sizeof *out->at)};
    for (uint32_t i = 0; i < f->factor_count; i++)
        for (uint32_t a = 0; a < f->factors[i].axis_count; a++) {
            const struct api_factor *x = &f->factors[i];
            out->at[out->count++] =
                (struct plan_factor){.space = x->op,
                                     .factor = (uint8_t)x->factor,
                                     .axis = (uint8_t)mesh_axis_find(plan_context_mesh(c), x->axes[a])};
        }
}

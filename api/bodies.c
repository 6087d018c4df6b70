/* Small JSON bodies; see bodies.h. */
#include "api/bodies.h"

#include "api/encode.h"
#include "api/limits.h"
#include "api/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *finish(json_t *value)
{
    char *text = json_compact(value);
    json_decref(value);
    return text;
}

char *api_problem_json(const struct error *e, int http_status, const char *instance, const char *request_id)
{
    json_t *json = json_object();
    char type[100];
    snprintf(type, sizeof type, "urn:toast:problem:%s", error_code_text(e->code));
    json_object_set_new(json, "type", json_string(type));
    json_object_set_new(json, "title", json_string(api_problem_title(e->code)));
    json_object_set_new(json, "status", json_integer(http_status));
    json_object_set_new(json, "detail", json_safe(e->message));
    json_object_set_new(json, "code", json_string(error_code_text(e->code)));
    if (instance)
        json_object_set_new(json, "instance", json_safe(instance));
    if (request_id)
        json_object_set_new(json, "request_id", json_safe(request_id));
    if (e->pointer[0])
        json_object_set_new(
            json, "errors",
            json_pack("[{s:o, s:o}]", "pointer", json_safe(e->pointer), "reason", json_safe(e->message)));
    if (e->line) {
        json_object_set_new(json, "line", json_integer(e->line));
        json_object_set_new(json, "column", json_integer(e->column));
    }
    return finish(json);
}

char *api_error_json(const struct error *e)
{
    json_t *json =
        json_pack("{s:s, s:o}", "code", error_code_text(e->code), "message", json_safe(e->message));
    if (e->line) {
        json_object_set_new(json, "line", json_integer(e->line));
        json_object_set_new(json, "column", json_integer(e->column));
    }
    if (e->pointer[0])
        json_object_set_new(json, "pointer", json_safe(e->pointer));
    return finish(json);
}

char *api_progress_stage_json(const char *stage, const char *before)
{
    json_t *json = json_pack("{s:s}", "stage", stage),
           *old = json_loads(before, JSON_REJECT_DUPLICATES, NULL);
    json_t *best = json_object_get(old, "best");
    if (best)
        json_object_set(json, "best", best);
    json_decref(old);
    return finish(json);
}

char *api_progress_json(const struct planner_progress *progress, const char *stage)
{
    const struct price *best = &progress->best;
    json_t *json = json_pack("{s:s}", "stage", stage);
    json_object_set_new(json, "epoch", json_integer(progress->epoch));
    json_object_set_new(json, "rollouts", json_integer((json_int_t)progress->rollouts));
    json_object_set_new(json, "evaluations", json_integer((json_int_t)progress->evaluations));
    json_object_set_new(json, "fraction", json_real(progress->fraction));
    json_object_set_new(json, "best",
                        json_pack("{s:I, s:I, s:b, s:s}", "step_ps", (json_int_t)best->step_ps, "peak_bytes",
                                  (json_int_t)best->peak_bytes, "fits", progress->fits, "found_by",
                                  progress->found_by));
    if (progress->best_baseline_ps && best->step_ps)
        json_object_set_new(json, "speedup_vs_best_baseline",
                            json_real((double)progress->best_baseline_ps / (double)best->step_ps));
    return finish(json);
}

static json_t *other_names(const struct cost_device *device)
{
    json_t *list = json_array();
    for (int i = 0; i < COST_DEVICE_NAMES && device->also[i]; i++)
        json_array_append_new(list, json_string(device->also[i]));
    return list;
}

char *api_devices_json(void)
{
    uint32_t count;
    const struct cost_device *device = cost_devices(&count);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s, s:o, s:I, s:f, s:f, s:f, s:I, s:f, s:f, s:s}", "name",
                                              device[i].name, "also", other_names(&device[i]), "memory_bytes",
                                              (json_int_t)device[i].memory_bytes, "bf16_flops",
                                              device[i].rate_flops[COST_RATE_BF16], "f32_flops",
                                              device[i].rate_flops[COST_RATE_F32], "memory_bytes_per_s",
                                              device[i].memory_bytes_per_s, "devices_per_host",
                                              (json_int_t)device[i].devices_per_host, "host_link_bytes_per_s",
                                              device[i].host_link_bytes_per_s, "network_bytes_per_s",
                                              device[i].network_bytes_per_s, "source", device[i].source));
    return finish(json_pack("{s:o}", "devices", list));
}

char *api_presets_json(void)
{
    uint32_t count;
    const struct cost_device *device = cost_devices(&count);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        for (int hosts = 1; hosts <= 4; hosts += 3) {
            char name[100], text[160];
            int inside = (int)device[i].devices_per_host, across = hosts;
            snprintf(name, sizeof name, "%.60s-x%d", device[i].name, hosts * inside);
            snprintf(text, sizeof text, "%d %s of %d %.60s", hosts, hosts > 1 ? "hosts" : "host", inside,
                     device[i].name);
            if (hosts == 1 && inside >= 4) { /* two axes to choose between */
                across = inside / 2;
                inside = 2;
            }
            json_array_append_new(list, json_pack("{s:s, s:s, s:{s:s, s:{s:[{s:s, s:i}, {s:s, s:i}], s:i}}}",
                                                  "name", name, "description", text, "request", "device",
                                                  device[i].name, "mesh", "axes", "name", "data", "size",
                                                  across, "name", "model", "size", inside, "devices_per_host",
                                                  (int)device[i].devices_per_host));
        }
    return finish(json_pack("{s:o}", "presets", list));
}

char *api_limits_json(const struct api_tenant_limits *tenant_limits)
{
    const struct {
        const char *name;
        long long value;
    } all[] = {{"module_bytes", LIMIT_MODULE},
               {"problem_bytes", (long long)LIMIT_PROBLEM},
               {"profile_bytes", API_PROFILE_MAX_BYTES},
               {"json_bytes", LIMIT_JSON},
               {"header_bytes", LIMIT_HEADERS},
               {"url_bytes", LIMIT_URI},
               {"mesh_axes", MESH_MAX_AXES},
               {"devices", MESH_MAX_DEVICES},
               {"constraints", API_MAX_CONSTRAINTS},
               {"nesting", 256},
               {"tenant_modules", LIMIT_TENANT_MODULES}};
    json_t *limits = json_object();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_object_set_new(limits, all[i].name, json_integer(all[i].value));
    json_object_set_new(limits, "tenant_open_jobs", json_integer(tenant_limits->open_jobs));
    json_object_set_new(limits, "tenant_submits_per_s", json_integer(tenant_limits->submits_per_s));
    json_object_set_new(limits, "tenant_event_streams", json_integer(tenant_limits->event_streams));
    json_object_set_new(limits, "tenant_module_bytes", json_integer(tenant_limits->module_bytes));
    return finish(limits);
}

enum error_code api_key_parse(const char *json, size_t size, char **key, struct error *e)
{
    static const char *const known[] = {"key", NULL};
    const char *text = NULL;
    struct json_at root = {0};
    enum error_code code = json_parse(json, size, 4, &root.value, e);
    if (code != ERROR_OK)
        return code;
    code = json_only(&root, known, e);
    if (code == ERROR_OK)
        code = json_text(json_member(&root, "key"), size, &text, e);
    if (code == ERROR_OK && !text)
        code = error_set_pointer(e, ERROR_INVALID_REQUEST, "/key", "the key is missing");
    if (code == ERROR_OK)
        *key = mem_strdup(text);
    json_decref(root.value);
    return code;
}

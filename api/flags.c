/* Flags -> request JSON; see flags.h. */
#include "api/flags.h"

#include "api/json.h"
#include "base/size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int api_flags_take(struct api_flags *flags, int argc, char **argv, int *i, struct error *e)
{
    const char *flag = argv[*i], **value = NULL;
#define FLAG_VALUE(field, name, unit, help)                                                                  \
    if (strcmp(flag, name) == 0)                                                                             \
        value = &flags->field;
    API_FLAG_TABLE(FLAG_VALUE)
#undef FLAG_VALUE
    if (strcmp(flag, "--no-baselines") == 0)
        return flags->no_baselines = true, 1;
    if (strcmp(flag, "--proof") == 0)
        return flags->proof = true, 1;
    if (strcmp(flag, "--pin") == 0) {
        if (flags->pin_count == sizeof flags->pins / sizeof *flags->pins)
            return error_set(e, ERROR_USAGE, "more than %zu --pin; use --request",
                             sizeof flags->pins / sizeof *flags->pins),
                   -1;
        value = &flags->pins[flags->pin_count];
    }
    if (!value)
        return 0;
    if (*i + 1 >= argc)
        return error_set(e, ERROR_USAGE, "%s needs a value", flag), -1;
    *value = argv[++*i];
    if (value == &flags->pins[flags->pin_count])
        flags->pin_count++;
    return 1;
}

void api_flags_help(struct text *out)
{
#define FLAG_VALUE(field, name, unit, help) text_printf(out, "  %-18s %-6s %s\n", name, unit, help);
    API_FLAG_TABLE(FLAG_VALUE)
#undef FLAG_VALUE
    text_printf(out, "  %-18s %-6s %s\n", "--pin", "PIN",
                "NAME=AXES per dimension: 'params/*/wq=model,-,?' (- replicated, ? open, a+b)");
    text_printf(out, "  %-18s %-6s %s\n", "--no-baselines", "",
                "do not start the search from the experts' plans");
    text_printf(out, "  %-18s %-6s %s\n", "--proof", "", "run original and sharded module and compare");
}

static enum error_code set_integer(json_t *root, const char *key, const char *flag, const char *text,
                                   struct error *e)
{
    if (!text)
        return ERROR_OK;
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return error_set(e, ERROR_USAGE, "%s needs a whole number, not '%.40s'", flag, text);
    json_object_set_new(root, key, json_integer(n));
    return ERROR_OK;
}

static enum error_code set_size(json_t *root, const char *key, const char *flag, const char *text,
                                struct error *e)
{
    int64_t bytes;
    if (!text)
        return ERROR_OK;
    TRY(size_option(flag, text, &bytes, e));
    json_object_set_new(root, key, json_integer(bytes));
    return ERROR_OK;
}

static enum error_code set_mesh(json_t *root, const struct api_flags *flags, struct error *e)
{
    if (flags->mesh) {
        struct mesh mesh = {0};
        TRY(mesh_parse(flags->mesh, &mesh, e));
        json_t *axes = json_array();
        for (uint32_t axis = 0; axis < mesh.axis_count; axis++)
            json_array_append_new(axes, json_pack("{s:s, s:I}", "name", mesh.axes[axis].name, "size",
                                                  (json_int_t)mesh.axes[axis].size));
        json_object_set_new(root, "mesh", json_pack("{s:o}", "axes", axes));
    }
    if (!flags->devices_per_host)
        return ERROR_OK;
    json_t *mesh = json_object_get(root, "mesh");
    if (!mesh)
        return error_set(e, ERROR_USAGE, "--devices-per-host needs --mesh");
    return set_integer(mesh, "devices_per_host", "--devices-per-host", flags->devices_per_host, e);
}

/* "a+b" -> ["a", "b"]; "-" -> []; "?" -> null */
static json_t *pin_dim(const char *text, size_t size)
{
    if (size == 1 && *text == '?')
        return json_null();
    json_t *axes = json_array();
    if (size == 1 && *text == '-')
        return axes;
    while (size) {
        size_t n = 0;
        while (n < size && text[n] != '+')
            n++;
        json_array_append_new(axes, json_stringn(text, n));
        text += n + (n < size);
        size -= n + (n < size);
    }
    return axes;
}

static enum error_code add_pin(json_t *list, const char *pin, struct error *e)
{
    const char *equals = strrchr(pin, '=');
    if (!equals || equals == pin)
        return error_set(e, ERROR_USAGE, "--pin needs NAME=AXES, e.g. 'params/*/wq=model,-,?', not '%.60s'",
                         pin);
    json_t *dims = json_array();
    for (const char *string = equals + 1; *string;) {
        size_t n = strcspn(string, ",");
        json_array_append_new(dims, pin_dim(string, n));
        string += n + (string[n] == ',');
    }
    json_array_append_new(
        list, json_pack("{s:o, s:o}", "argument", json_stringn(pin, (size_t)(equals - pin)), "dims", dims));
    return ERROR_OK;
}

static enum error_code set_lists(json_t *root, const struct api_flags *flags, struct error *e)
{
    if (flags->pin_count) {
        json_t *list = json_object_get(root, "constraints");
        if (!json_is_array(list)) {
            list = json_array();
            json_object_set_new(root, "constraints", list);
        }
        for (uint32_t i = 0; i < flags->pin_count; i++)
            TRY(add_pin(list, flags->pins[i], e));
    }
    if (flags->outputs) {
        json_t *list = json_array();
        for (const char *string = flags->outputs; *string;) {
            size_t n = strcspn(string, ",");
            json_array_append_new(list, json_stringn(string, n));
            string += n + (string[n] == ',');
        }
        json_object_set_new(root, "outputs", list);
    }
    return ERROR_OK;
}

static enum error_code set_budget(json_t *root, const struct api_flags *flags, struct error *e)
{
    if (!flags->rollouts && !flags->seconds)
        return ERROR_OK;
    json_t *budget = json_object_get(root, "budget");
    if (!json_is_object(budget)) {
        budget = json_object();
        json_object_set_new(root, "budget", budget);
    }
    TRY(set_integer(budget, "rollouts", "--rollouts", flags->rollouts, e));
    if (flags->seconds) {
        char *end;
        double s = strtod(flags->seconds, &end);
        if (end == flags->seconds || *end || !(s > 0 && s < 1e7))
            return error_set(e, ERROR_USAGE, "--seconds needs a positive number, not '%.40s'",
                             flags->seconds);
        json_object_set_new(budget, "seconds", json_real(s));
    }
    return ERROR_OK;
}

/* what every request needs, said as the command line says it */
static enum error_code check_needed(const json_t *root, const struct api_flags *flags, struct error *e)
{
    static const struct {
        const char *member, *flag, *example;
    } needed[] = {{"mesh", "--mesh", "data=4,model=2"},
                  {"device", "--device", "a100-40"}}; /* in this order */
    bool plan_has_mesh = json_object_get(json_object_get(root, "constraints_from_plan"), "mesh");
    for (size_t i = plan_has_mesh; i < sizeof needed / sizeof *needed; i++)
        if (!json_object_get(root, needed[i].member))
            return error_set(e, ERROR_USAGE, "%s is missing, e.g. %s %s%s%s", needed[i].flag, needed[i].flag,
                             needed[i].example,
                             flags->request ? "; the request has none either: its member is " : "",
                             flags->request ? needed[i].member : "");
    return ERROR_OK;
}

/* --backend h: "device": "h100" becomes {"base": "h100", "backend": h} */
static enum error_code set_backend(json_t *root, const struct api_flags *flags, struct error *e)
{
    json_t *device = json_object_get(root, "device");
    if (!flags->backend)
        return ERROR_OK;
    if (json_is_string(device)) {
        json_object_set_new(root, "device", json_pack("{s:O}", "base", device));
        device = json_object_get(root, "device");
    }
    if (!json_is_object(device))
        return error_set(e, ERROR_USAGE, "--backend needs --device");
    json_object_set_new(device, "backend", json_string(flags->backend));
    return ERROR_OK;
}

/* the same with the device's profile: the file's text, judged by the decoder of requests */
static enum error_code set_profile(json_t *root, const struct api_flags *flags, struct error *e)
{
    json_t *device = json_object_get(root, "device"), *profile = NULL;
    if (!flags->profile)
        return ERROR_OK;
    struct error inner = {0};
    if (json_parse(flags->profile, flags->profile_size, API_MAX_JSON_KEYS, &profile, &inner) != ERROR_OK)
        return error_set(e, ERROR_USAGE, "--profile: line %u, column %u: %.200s", inner.line, inner.column,
                         inner.message);
    if (json_is_string(device)) {
        json_object_set_new(root, "device", json_pack("{s:O}", "base", device));
        device = json_object_get(root, "device");
    }
    if (!json_is_object(device)) {
        json_decref(profile);
        return error_set(e, ERROR_USAGE, "--profile needs --device");
    }
    json_object_set_new(device, "profile", profile);
    return ERROR_OK;
}

/* "params/<star>=parameter,kv=cache" -> {"params/<star>": "parameter", "kv": "cache"} */
static enum error_code set_roles(json_t *root, const struct api_flags *flags, struct error *e)
{
    if (!flags->roles)
        return ERROR_OK;
    json_t *roles = json_object();
    json_object_set_new(root, "roles", roles);
    for (const char *string = flags->roles; *string;) {
        size_t size = strcspn(string, ","), name = size;
        while (name > 0 && string[name - 1] != '=')
            name--;
        if (name < 2)
            return error_set(e, ERROR_USAGE,
                             "--roles needs NAME=ROLE, e.g. 'params/*=parameter', not '%.60s'", string);
        char *key = mem_strndup(string, name - 1);
        json_object_set_new(roles, key, json_stringn(string + name, size - name));
        free(key);
        string += size + (string[size] == ',');
    }
    return ERROR_OK;
}

/* flags whose words are a request's as they are */
static void set_words(json_t *root, const struct api_flags *flags)
{
    const struct {
        const char *name, *word;
    } words[] = {{"overlap", flags->overlap}, {"price", flags->price},
                 {"fold", flags->fold},       {"entry", flags->entry},
                 {"planner", flags->planner}, {"annotations", flags->annotations}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].word)
            json_object_set_new(root, words[i].name, json_string(words[i].word));
}

static enum error_code fill(json_t *root, const struct api_flags *flags, struct error *e)
{
    if (!json_is_object(root))
        return error_set(e, ERROR_INVALID_REQUEST, "a request is a JSON object");
    TRY(set_mesh(root, flags, e));
    if (flags->device)
        json_object_set_new(root, "device", json_string(flags->device));
    TRY(set_backend(root, flags, e));
    TRY(set_profile(root, flags, e));
    set_words(root, flags);
    TRY(set_roles(root, flags, e));
    TRY(set_size(root, "combine_bytes", "--combine-bytes", flags->combine_bytes, e));
    TRY(set_size(root, "memory_limit_bytes", "--memory-limit", flags->memory_limit, e));
    TRY(set_integer(root, "seed", "--seed", flags->seed, e));
    TRY(set_integer(root, "parallelism", "--parallelism", flags->parallelism, e));
    TRY(set_integer(root, "alternatives", "--alternatives", flags->alternatives, e));
    TRY(set_budget(root, flags, e));
    TRY(set_lists(root, flags, e));
    if (flags->no_baselines)
        json_object_set_new(root, "no_baselines", json_true());
    if (flags->proof)
        json_object_set_new(root, "proof", json_true());
    return check_needed(root, flags, e);
}

enum error_code api_flags_request(const struct api_flags *flags, char **json, struct error *e)
{
    json_t *root = NULL;
    if (flags->request)
        TRY(json_parse(flags->request, flags->request_size, API_MAX_JSON_KEYS, &root, e));
    else
        root = json_object();
    enum error_code code = fill(root, flags, e);
    if (code == ERROR_OK)
        *json = json_compact(root);
    json_decref(root);
    return code;
}

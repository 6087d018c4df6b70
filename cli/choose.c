/* Options -> analysis, context and plan; see choose.h. */
#include "cli/choose.h"

#include "api/plan_file.h"
#include "base/file.h"
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char **cli_choice_option(struct cli_choice *c, const char *name)
{
    const struct {
        const char *name;
        const char **at;
    } table[] = {{"--plan", &c->plan},
                 {"--mesh", &c->mesh},
                 {"--decisions", &c->decisions},
                 {"--baseline", &c->baseline},
                 {"--random-plan", &c->seed},
                 {"--device", &c->device},
                 {"--memory-limit", &c->memory_limit},
                 {"--devices-per-host", &c->devices_per_host}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0)
            return table[i].at;
    return NULL;
}

enum error_code cli_decision_parse(const struct plan_context *c, char *text, struct plan_decision *out,
                                   struct error *e)
{
    char *at = strrchr(text, '@');
    if (!at || at == text)
        return error_set(e, ERROR_INVALID_PLAN, "decision '%.100s' is not group@axis", text);
    *at = 0;
    const char *scope = "all", *group = text, *bits = "";
    for (uint8_t s = PLAN_SCOPE_UPDATE; s <= PLAN_SCOPE_REGATHER; s++) {
        size_t size = strlen(plan_scope_name(s));
        if (strncmp(text, plan_scope_name(s), size) == 0 && text[size] == ':') {
            scope = plan_scope_name(s);
            group = text + size + 1;
        }
    }
    char *bracket = strrchr(text, '[');
    if (bracket && at[-1] == ']') {
        *bracket = 0;
        at[-1] = 0;
        bits = bracket + 1;
    }
    return plan_decision_find(c, group, at + 1, bits, scope, out, e);
}

static enum error_code apply_decisions(const struct plan_context *c, const char *list, struct plan *p,
                                       struct error *e)
{
    char *copy = mem_strdup(list), *rest = copy, *item;
    enum error_code code = ERROR_OK;
    while (!code && (item = strsep(&rest, ", ")) != NULL) {
        struct plan_decision d;
        if (!*item)
            continue;
        char *name = mem_strdup(item);
        code = cli_decision_parse(c, item, &d, e);
        if (!code && plan_apply(c, p, d) == 0)
            fprintf(stderr, "warning: decision %s has no effect here\n", name);
        free(name);
    }
    free(copy);
    return code;
}

static enum error_code whole_number(const char *option, const char *text, int64_t *out, struct error *e)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || *end || end == text || n < 0)
        return error_set(e, ERROR_USAGE, "%s needs a whole number of at least 0, not '%.40s'", option, text);
    *out = n;
    return ERROR_OK;
}

static enum error_code from_file(struct cli_choice *c, struct error *e)
{
    struct planner_plan *file = NULL;
    char *json = NULL;
    size_t size = 0;
    enum error_code code = file_read(c->plan, CLI_PLAN_MAX_BYTES, &json, &size, e);
    if (!code)
        code = api_plan_parse(json, size, &file, e);
    if (!code)
        code = planner_plan_apply(file, c->nda, &c->context, &c->chosen, e);
    if (!code) {
        c->walk = file->walk;
        c->axes = *plan_context_mesh(c->context);
        if (!c->device_name[0])
            snprintf(c->device_name, sizeof c->device_name, "%s", file->device);
        if (!c->memory_limit)
            c->memory_limit_bytes = file->memory_limit_bytes;
    }
    planner_plan_destroy(file);
    free(json);
    return code;
}

static enum error_code order_axes(struct cli_choice *c, struct error *e)
{
    struct cost_machine machine;
    if (!c->device_name[0])
        return ERROR_OK;
    enum error_code code = cost_machine_create(&c->axes, c->device_name, c->memory_limit_bytes, &machine, e);
    if (!code)
        cost_axis_order(&machine, &c->axes, c->walk.axis_order);
    return code;
}

static enum error_code from_options(struct cli_choice *c, struct error *e)
{
    enum error_code code = mesh_parse(c->mesh, &c->axes, e);
    if (!code && c->devices_per_host)
        code = whole_number("--devices-per-host", c->devices_per_host, &c->axes.devices_per_host, e);
    if (!code)
        code = plan_context_create(c->nda, &c->axes, NULL, 0, &c->context, e);
    if (code)
        return code;
    const struct mesh *m = plan_context_mesh(c->context);
    c->walk = spmd_default_options(m);
    plan_init(&c->chosen, c->nda, m);
    plan_copy(&c->chosen, plan_context_start(c->context));
    code = order_axes(c, e);
    if (!code && c->decisions)
        code = apply_decisions(c->context, c->decisions, &c->chosen, e);
    if (!code && c->baseline) {
        struct plan_baseline b;
        code = plan_baseline_find(c->context, c->baseline, &b, e);
        if (!code)
            plan_replay(c->context, b.decisions, &b.count, &c->chosen);
    }
    if (!code && c->seed) {
        int64_t seed = 0;
        code = whole_number("--random-plan", c->seed, &seed, e);
        struct rng r = {.state = (uint64_t)seed};
        if (!code)
            plan_random(c->context, &r, &c->chosen);
    }
    return code;
}

enum error_code cli_choose(struct cli_choice *c, const struct ir_program *prepared, struct error *e)
{
    int sources = !!c->decisions + !!c->baseline + !!c->seed + !!c->plan;
    if (!c->plan == !c->mesh)
        return error_set(e, ERROR_USAGE, "give --mesh, or --plan, which brings its own mesh");
    if (sources > 1)
        return error_set(e, ERROR_USAGE, "give one of --plan, --decisions, --baseline and --random-plan");
    enum error_code code = ERROR_OK;
    if (c->device)
        snprintf(c->device_name, sizeof c->device_name, "%s", c->device);
    if (c->memory_limit)
        code = whole_number("--memory-limit", c->memory_limit, &c->memory_limit_bytes, e);
    if (!code)
        code = nda_create(prepared, NULL, &c->nda, e);
    if (!code)
        code = c->plan ? from_file(c, e) : from_options(c, e);
    return code;
}

void cli_choice_release(struct cli_choice *c)
{
    plan_release(&c->chosen);
    plan_context_destroy(c->context);
    nda_destroy(c->nda);
    c->context = NULL;
    c->nda = NULL;
}

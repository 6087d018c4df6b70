/* Options -> analysis, context and plan; see choose.h. */
#include "cli/choose.h"

#include "api/plan_file.h"
#include "base/file.h"
#include "base/size.h"
#include "cli/output.h"
#include "planner/cuts.h"
#include "planner/pins.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char **cli_choice_option(struct cli_choice *choice, const char *name)
{
    const struct {
        const char *name;
        const char **at;
    } table[] = {{"--plan", &choice->plan},
                 {"--mesh", &choice->mesh},
                 {"--decisions", &choice->decisions},
                 {"--baseline", &choice->baseline},
                 {"--random-plan", &choice->seed},
                 {"--cut", &choice->cut},
                 {"--device", &choice->device},
                 {"--entry", &choice->entry},
                 {"--memory-limit", &choice->memory_limit},
                 {"--devices-per-host", &choice->devices_per_host}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0)
            return table[i].at;
    return NULL;
}

enum error_code cli_decision_parse(const struct plan_context *context, char *text, struct plan_decision *out,
                                   struct error *e)
{
    char *at = strrchr(text, '@');
    if (!at || at == text)
        return error_set(e, ERROR_INVALID_PLAN, "decision '%.100s' is not group@axis", text);
    *at = 0;
    const char *scope = "all", *group = text, *bits = "";
    for (uint8_t s = PLAN_SCOPE_UPDATE; s < PLAN_SCOPES; s++) {
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
    return plan_decision_find(context, group, at + 1, bits, scope, out, e);
}

/* what the plan was made of, for --cut to edit; NULL without it */
struct made_of {
    struct search_plan decisions;
    struct plan_factors beyond;
};

static enum error_code note_decision(struct made_of *made, struct plan_decision decision, struct error *e)
{
    if (!made)
        return ERROR_OK;
    if (made->decisions.count == SEARCH_MAX_LIST)
        return error_set(e, ERROR_INVALID_PLAN, "a plan has at most %d decisions", SEARCH_MAX_LIST);
    made->decisions.decisions[made->decisions.count++] = decision;
    return ERROR_OK;
}

static enum error_code apply_decisions(const struct plan_context *context, const char *list,
                                       struct plan *plan, struct made_of *made, struct error *e)
{
    char *copy = mem_strdup(list), *rest = copy, *item;
    enum error_code code = ERROR_OK;
    while (!code && (item = strsep(&rest, ", ")) != NULL) {
        struct plan_decision decision;
        if (!*item)
            continue;
        char *name = mem_strdup(item);
        code = cli_decision_parse(context, item, &decision, e);
        if (!code && plan_apply(context, plan, decision) == 0)
            fprintf(stderr, "warning: decision %s has no effect here\n", name);
        if (!code)
            code = note_decision(made, decision, e);
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

static enum error_code from_file(struct cli_choice *choice, const struct ir_program *prepared,
                                 struct made_of *made, struct error *e)
{
    struct planner_plan *file = NULL;
    char *json = NULL;
    size_t size = 0;
    enum error_code code = file_read(choice->plan, CLI_PLAN_MAX_BYTES, &json, &size, e);
    if (!code)
        code = api_plan_parse(json, size, &file, e);
    if (!code) {
        struct nda_options options = {.roles = file->roles,
                                      .role_count = file->role_count,
                                      .rules = file->rules,
                                      .rule_count = file->rule_count};
        code = nda_create(prepared, &options, &choice->nda, e);
    }
    if (!code)
        code = planner_plan_apply(file, choice->nda, &choice->context, &choice->chosen, e);
    if (!code && made)
        code = planner_plan_list(file, choice->context, &made->decisions, &made->beyond, e);
    if (!code) {
        choice->walk = file->walk;
        choice->axes = *plan_context_mesh(choice->context);
        if (!choice->device_name[0])
            snprintf(choice->device_name, sizeof choice->device_name, "%s", file->device);
        if (!choice->memory_limit)
            choice->memory_limit_bytes = file->memory_limit_bytes;
    }
    planner_plan_destroy(file);
    free(json);
    return code;
}

static enum error_code take_machine(struct cli_choice *choice, struct error *e)
{
    struct cost_machine machine;
    if (!choice->device_name[0])
        return ERROR_OK;
    enum error_code code =
        cost_machine_create(&choice->axes, choice->device_name, choice->memory_limit_bytes, &machine, e);
    if (!code)
        cost_walk_options(&machine, &choice->axes, &choice->walk);
    return code;
}

static enum error_code take_baseline(struct cli_choice *choice, struct made_of *made, struct error *e)
{
    struct plan_baseline baseline;
    enum error_code code = plan_baseline_find(choice->context, choice->baseline, &baseline, e);
    if (code)
        return code;
    plan_replay(choice->context, baseline.decisions, &baseline.count, &choice->chosen);
    for (uint32_t i = 0; i < baseline.count && !code; i++)
        code = note_decision(made, baseline.decisions[i], e);
    return code;
}

static enum error_code take_random(struct cli_choice *choice, struct made_of *made, struct error *e)
{
    int64_t seed = 0;
    enum error_code code = whole_number("--random-plan", choice->seed, &seed, e);
    struct rng rng = {.state = (uint64_t)seed};
    if (code)
        return code;
    plan_random(choice->context, &rng, &choice->chosen);
    if (made)
        plan_factors_list(choice->context, &choice->chosen, &made->beyond);
    return ERROR_OK;
}

/* the context as `toast plan` has it of the module's own shardings: as pins, or completed as `yours` */
static enum error_code make_context(struct cli_choice *choice, struct error *e)
{
    const char *as = choice->annotations ? choice->annotations : "ignore";
    bool pins = strcmp(as, "pin") == 0, yours = strcmp(as, "baseline") == 0;
    if (!pins && !yours && strcmp(as, "ignore") != 0)
        return error_set(e, ERROR_USAGE, "--annotations is pin, baseline or ignore, not '%.60s'", as);
    if (yours && (choice->decisions || choice->baseline || choice->seed))
        return error_set(e, ERROR_USAGE, "--annotations baseline is a plan of its own: the module's");
    if ((pins || yours) && planner_count_annotations(choice->nda).pins == 0)
        return error_set(e, ERROR_USAGE, "--annotations %s: the module says nothing about shardings", as);
    return planner_context_create(NULL, 0, pins || yours, yours, choice->nda, &choice->axes, &choice->context,
                                  e);
}

static enum error_code from_options(struct cli_choice *choice, struct made_of *made, struct error *e)
{
    enum error_code code = mesh_parse(choice->mesh, &choice->axes, e);
    if (!code && choice->devices_per_host)
        code =
            whole_number("--devices-per-host", choice->devices_per_host, &choice->axes.devices_per_host, e);
    if (!code)
        code = make_context(choice, e);
    if (code)
        return code;
    const struct mesh *mesh = plan_context_mesh(choice->context);
    choice->walk = spmd_default_options(mesh);
    plan_init(&choice->chosen, choice->nda, mesh);
    plan_copy(&choice->chosen, plan_context_start(choice->context));
    code = take_machine(choice, e);
    if (!code && choice->decisions)
        code = apply_decisions(choice->context, choice->decisions, &choice->chosen, made, e);
    if (!code && choice->baseline)
        code = take_baseline(choice, made, e);
    if (!code && choice->seed)
        code = take_random(choice, made, e);
    return code;
}

#define MAX_CUTS 64

/* one item of --cut, "ffn@data+model" or "ffn@" (whole); cuts of one dimension may stand once */
static enum error_code parse_cut(char *text, struct planner_cut *out, struct error *e)
{
    char *at = strrchr(text, '@');
    if (!at || at == text)
        return error_set(e, ERROR_USAGE,
                         "--cut needs DIMENSION@AXIS, DIMENSION@AXIS+AXIS or DIMENSION@, not '%.100s'", text);
    *at++ = 0;
    *out = (struct planner_cut){.group = text};
    for (char *axes = *at ? at : NULL; axes;) {
        if (out->axis_count == MESH_MAX_AXES)
            return error_set(e, ERROR_USAGE, "--cut %.80s: a mesh has at most %d axes", text, MESH_MAX_AXES);
        out->axes[out->axis_count++] = strsep(&axes, "+");
    }
    return ERROR_OK;
}

static enum error_code apply_cuts(struct cli_choice *choice, struct made_of *made, struct error *e)
{
    struct planner_cut cuts[MAX_CUTS];
    uint32_t count = 0;
    char *copy = mem_strdup(choice->cut), *rest = copy, *item;
    enum error_code code = ERROR_OK;
    while (!code && (item = strsep(&rest, ", ")) != NULL) {
        if (!*item)
            continue;
        if (count == MAX_CUTS)
            code = error_set(e, ERROR_USAGE, "--cut takes at most %d dimensions", MAX_CUTS);
        else
            code = parse_cut(item, &cuts[count++], e);
    }
    if (!code)
        code = planner_cuts_apply(cuts, count, choice->context, &made->decisions, &made->beyond,
                                  &choice->chosen, e);
    free(copy);
    return code;
}

enum error_code cli_choose(struct cli_choice *choice, const struct ir_program *prepared, struct error *e)
{
    int sources = !!choice->decisions + !!choice->baseline + !!choice->seed + !!choice->plan;
    if (!choice->plan == !choice->mesh)
        return error_set(e, ERROR_USAGE, "give --mesh, or --plan, which brings its own mesh");
    if (sources > 1)
        return error_set(e, ERROR_USAGE, "give one of --plan, --decisions, --baseline and --random-plan");
    if (choice->plan && choice->annotations)
        return error_set(e, ERROR_USAGE,
                         "--annotations goes with --mesh: a plan.json has taken them already");
    enum error_code code = ERROR_OK;
    if (choice->device)
        snprintf(choice->device_name, sizeof choice->device_name, "%s", choice->device);
    if (choice->memory_limit)
        code = size_option("--memory-limit", choice->memory_limit, &choice->memory_limit_bytes, e);
    if (code)
        return code;
    struct made_of made = {0}, *noted = choice->cut ? &made : NULL;
    if (choice->plan)
        code = from_file(choice, prepared, noted, e);
    else
        code = nda_create(prepared, NULL, &choice->nda, e);
    if (!code && !choice->plan)
        code = from_options(choice, noted, e);
    if (!code && choice->cut)
        code = apply_cuts(choice, &made, e);
    if (!code && choice->combine_bytes)
        code = size_option("--combine-bytes", choice->combine_bytes, &choice->walk.combine_bytes, e);
    if (!code && choice->combine_bytes && choice->walk.combine_bytes < 1)
        code = error_set(e, ERROR_USAGE, "--combine-bytes is at least 1: joins nothing");
    free(made.beyond.at);
    return code;
}

void cli_choice_release(struct cli_choice *choice)
{
    plan_release(&choice->chosen);
    plan_context_destroy(choice->context);
    nda_destroy(choice->nda);
    choice->context = NULL;
    choice->nda = NULL;
}

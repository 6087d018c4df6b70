/* An outcome as files; see artifacts.h. */
#include "api/artifacts.h"

#include "api/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char JSON_TYPE[] = "application/json", TEXT_TYPE[] = "text/plain; charset=utf-8",
                  HTML_TYPE[] = "text/html; charset=utf-8";

void api_artifacts_release(struct api_artifacts *artifacts)
{
    for (uint32_t i = 0; i < artifacts->count; i++)
        free(artifacts->at[i].bytes);
    memset(artifacts, 0, sizeof *artifacts);
}

static void add(struct api_artifacts *artifacts, const char *name, const char *media_type, char *bytes,
                size_t size)
{
    BASE_CHECK(artifacts->count < sizeof artifacts->at / sizeof *artifacts->at);
    struct api_artifact *artifact = &artifacts->at[artifacts->count++];
    *artifact = (struct api_artifact){.media_type = media_type, .bytes = bytes, .size = size};
    snprintf(artifact->name, sizeof artifact->name, "%s", name);
}

static void add_text(struct api_artifacts *artifacts, const char *name, const char *media_type, char *text)
{
    add(artifacts, name, media_type, text, strlen(text));
}

static void add_modules(const char *folder, struct planner_module *modules, uint32_t count,
                        struct api_artifacts *out)
{
    for (uint32_t i = 0; i < count; i++) {
        char path[64];
        struct planner_module *module = &modules[i];
        const char *name = module->bit == PLANNER_OUTPUT_ANNOTATED ? "annotated.mlir"
                           : module->bit == PLANNER_OUTPUT_MANUAL  ? "manual.mlir"
                                                                   : "local.mlir";
        snprintf(path, sizeof path, "%s%s", folder, name);
        add(out, path, TEXT_TYPE, module->text, module->size);
        module->text = NULL;
    }
}

char *api_plan_text(const struct api_request *request, const struct report *report)
{
    json_t *canonical = json_loads(request->canonical, 0, NULL);
    json_t *plan = encode_plan(report, canonical);
    char *text = json_pretty(plan);
    json_decref(plan);
    json_decref(canonical);
    return text;
}

static void add_report(const struct report *other_report, struct api_artifacts *out)
{
    json_t *report = encode_report(other_report);
    add_text(out, "report.json", JSON_TYPE, json_pretty(report));
    json_decref(report);
    struct text text = {0};
    report_text(other_report, &text);
    add(out, "report.txt", TEXT_TYPE, text.at, text.size);
    text = (struct text){0};
    report_html(other_report, &text);
    add(out, "report.html", HTML_TYPE, text.at, text.size);
    text = (struct text){0};
    report_trace(other_report, &text);
    add(out, "trace.json", JSON_TYPE, text.at, text.size);
}

/* plan.json and report.json whatever the outputs: who compares plans needs both */
static void add_alternative(const struct api_request *request, uint32_t number,
                            struct planner_alternative *alternative, struct api_artifacts *out)
{
    char folder[32], path[64];
    snprintf(folder, sizeof folder, "alternatives/%u/", number);
    add_modules(folder, alternative->modules, alternative->module_count, out);
    snprintf(path, sizeof path, "%splan.json", folder);
    add_text(out, path, JSON_TYPE, api_plan_text(request, alternative->report));
    json_t *report = encode_report(alternative->report);
    snprintf(path, sizeof path, "%sreport.json", folder);
    add_text(out, path, JSON_TYPE, json_pretty(report));
    json_decref(report);
}

void api_artifacts_create(const struct api_request *request, struct planner_outcome *outcome,
                          struct api_artifacts *out)
{
    memset(out, 0, sizeof *out);
    if (outcome->problem) {
        struct text text = {0};
        plan_cfn_write(outcome->problem, outcome->report->module_digest, &text);
        add(out, "problem.json", JSON_TYPE, text.at, text.size);
    }
    if (outcome->segments.size) {
        add(out, "segments.tar", "application/x-tar", outcome->segments.at, outcome->segments.size);
        outcome->segments = (struct text){0};
    }
    add_modules("", outcome->modules, outcome->module_count, out);
    if (outcome->proved)
        add_text(out, "proof.json", JSON_TYPE, api_proof_json(&outcome->proof));
    if (request->planning.outputs & PLANNER_OUTPUT_PLAN)
        add_text(out, "plan.json", JSON_TYPE, api_plan_text(request, outcome->report));
    if (request->planning.outputs & PLANNER_OUTPUT_REPORT)
        add_report(outcome->report, out);
    for (uint32_t i = 0; i < outcome->alternative_count; i++)
        add_alternative(request, i + 1, &outcome->alternatives[i], out);
}

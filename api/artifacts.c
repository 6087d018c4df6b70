/* An outcome as files; see artifacts.h. */
#include "api/artifacts.h"

#include "api/encode.h"

#include <stdlib.h>
#include <string.h>

static const char JSON_TYPE[] = "application/json", TEXT_TYPE[] = "text/plain; charset=utf-8",
                  HTML_TYPE[] = "text/html; charset=utf-8";

void api_artifacts_release(struct api_artifacts *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        free(a->at[i].bytes);
    memset(a, 0, sizeof *a);
}

static void add(struct api_artifacts *a, const char *name, const char *media_type, char *bytes, size_t size)
{
    BASE_CHECK(a->count < sizeof a->at / sizeof *a->at);
    a->at[a->count++] = (struct api_artifact){name, media_type, bytes, size};
}

static void add_text(struct api_artifacts *a, const char *name, const char *media_type, char *text)
{
    add(a, name, media_type, text, strlen(text));
}

static void add_modules(struct planner_outcome *outcome, struct api_artifacts *out)
{
    for (uint32_t i = 0; i < outcome->module_count; i++) {
        struct planner_module *m = &outcome->modules[i];
        const char *name = m->bit == PLANNER_OUTPUT_ANNOTATED ? "annotated.mlir"
                           : m->bit == PLANNER_OUTPUT_MANUAL  ? "manual.mlir"
                                                              : "local.mlir";
        add(out, name, TEXT_TYPE, m->text, m->size);
        m->text = NULL;
    }
}

char *api_plan_text(const struct api_request *r, const struct report *report)
{
    json_t *canonical = json_loads(r->canonical, 0, NULL);
    json_t *plan = encode_plan(report, json_object_get(canonical, "constraints"));
    char *text = json_pretty(plan);
    json_decref(plan);
    json_decref(canonical);
    return text;
}

static void add_report(const struct report *r, struct api_artifacts *out)
{
    json_t *report = encode_report(r);
    add_text(out, "report.json", JSON_TYPE, json_pretty(report));
    json_decref(report);
    struct text t = {0};
    report_text(r, &t);
    add(out, "report.txt", TEXT_TYPE, t.at, t.size);
    t = (struct text){0};
    report_html(r, &t);
    add(out, "report.html", HTML_TYPE, t.at, t.size);
}

void api_artifacts_create(const struct api_request *r, struct planner_outcome *outcome,
                          struct api_artifacts *out)
{
    memset(out, 0, sizeof *out);
    if (outcome->problem) {
        struct text t = {0};
        plan_cfn_write(outcome->problem, outcome->report->module_digest, &t);
        add(out, "problem.json", JSON_TYPE, t.at, t.size);
    }
    add_modules(outcome, out);
    if (outcome->proved)
        add_text(out, "proof.json", JSON_TYPE, api_proof_json(&outcome->proof));
    if (r->planning.outputs & PLANNER_OUTPUT_PLAN)
        add_text(out, "plan.json", JSON_TYPE, api_plan_text(r, outcome->report));
    if (r->planning.outputs & PLANNER_OUTPUT_REPORT)
        add_report(outcome->report, out);
}

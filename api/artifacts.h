/* What a finished job writes: struct planner_outcome -> files, each a name, a media type and bytes. Equal
 * outcomes give equal bytes. */
#ifndef TOAST_API_ARTIFACTS_H
#define TOAST_API_ARTIFACTS_H

#include "api/request.h"
#include "planner/job.h"

struct api_artifact {
    char name[64]; /* "plan.json", "report.html", "annotated.mlir", "alternatives/1/plan.json", .. */
    const char *media_type;
    char *bytes; /* owned */
    size_t size;
};
enum { API_MAX_ARTIFACTS = 12 + PLANNER_MAX_ALTERNATIVES * (PLANNER_FORMS + 2) };
struct api_artifacts {
    struct api_artifact at[API_MAX_ARTIFACTS];
    uint32_t count;
};
/* Those of the outputs that request asks for and the proof, if there was one. The modules' texts are moved
 * out of *outcome, which stays the caller's to release. */
void api_artifacts_create(const struct api_request *request, struct planner_outcome *outcome,
                          struct api_artifacts *out);
void api_artifacts_release(struct api_artifacts *artifacts);

/* plan.json of a report (of report_create or report_create_plan), with the constraints of its request. Owned
 * text. */
char *api_plan_text(const struct api_request *request, const struct report *report);
/* proof.json; owned text */
char *api_proof_json(const struct planner_proof *proof);

#endif

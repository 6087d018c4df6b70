/* Several plans side by side: what differs, and what each costs, from the plan.json and report.json that
 * jobs wrote. For GET /v1/compare and `toast diff`. Nothing is planned or priced anew, and nothing is
 * judged beyond "best": the plan that fits and costs least. Pure. */
#ifndef TOAST_API_COMPARE_H
#define TOAST_API_COMPARE_H

#include "base/error.h"

#include <stddef.h>

enum { API_COMPARE_MIN = 2, API_COMPARE_MAX = 8 }; /* plans; each is a column */

struct api_compare_item {
    const char *name;  /* a job's id, a file's name */
    const char *state; /* of the job; NULL: none */
    const char *plan;  /* text of plan.json, or NULL */
    size_t plan_size;
    const char *report; /* text of report.json, or NULL */
    size_t report_size;
};

/* *json (owned text): {"items": [name, mesh, device, summary ..], "best": index or null, and lists of
 * rows with one value a plan: "decisions" and "collectives" (all), "tensors" (arguments and results
 * sharded differently)}. ERROR_INVALID_PLAN: a text is no JSON object. */
enum error_code api_compare(const struct api_compare_item *items, size_t count, char **json,
                            struct error *e) BASE_CHECKED;
/* the same for people: tables of at most 110 columns for two plans (owned text) */
char *api_compare_text(const char *json);

#endif

/* proof.json: what planner/proof.h found, form by form. */
#include "api/artifacts.h"

#include "api/encode.h"

static json_t *encode_form(const struct verify_report *report)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:i, s:I, s:I, s:o}", "status", verify_status_text(report->status),
                     "max_error", report->max_error, "tolerance", report->tolerance, "divergence_of_copies",
                     report->divergence, "runs", (int)report->runs, "operations",
                     (json_int_t)report->operations, "collectives", (json_int_t)report->collectives, "reason",
                     json_safe(report->reason));
}

char *api_proof_json(const struct planner_proof *proof)
{
    json_t *json = json_pack("{s:s, s:o, s:I, s:I, s:o, s:o}", "status", verify_status_text(proof->status),
                             "reason", json_safe(proof->reason), "operations", (json_int_t)proof->operations,
                             "seed", (json_int_t)proof->seed, "manual", encode_form(&proof->manual), "local",
                             encode_form(&proof->local));
    BASE_CHECK(json);
    char *text = json_pretty(json);
    json_decref(json);
    return text;
}

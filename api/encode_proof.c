/* proof.json: what planner/proof.h found, form by form. */
#include "api/artifacts.h"

#include "api/encode.h"

static json_t *encode_form(const struct verify_report *r)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:i, s:I, s:I, s:o}", "status", verify_status_text(r->status),
                     "max_error", r->max_error, "tolerance", r->tolerance, "divergence_of_copies",
                     r->divergence, "runs", (int)r->runs, "operations", (json_int_t)r->operations,
                     "collectives", (json_int_t)r->collectives, "reason", json_safe(r->reason));
}

char *api_proof_json(const struct planner_proof *r)
{
    json_t *p =
        json_pack("{s:s, s:o, s:I, s:I, s:o, s:o}", "status", verify_status_text(r->status), "reason",
                  json_safe(r->reason), "operations", (json_int_t)r->operations, "seed", (json_int_t)r->seed,
                  "manual", encode_form(&r->manual), "local", encode_form(&r->local));
    BASE_CHECK(p);
    char *text = json_pretty(p);
    json_decref(p);
    return text;
}

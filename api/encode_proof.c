/* proof.json: what planner/proof.h found, form by form. */
#include "api/artifacts.h"

#include "api/encode.h"

#include <math.h>

/* null where it is infinite: integers differ */
static json_t *encode_error(double error)
{
    return isfinite(error) ? json_real(error) : json_null();
}

static json_t *encode_form(const struct verify_report *report)
{
    return json_pack("{s:s, s:o, s:i, s:o, s:o, s:i, s:I, s:I, s:o}", "status",
                     verify_status_text(report->status), "max_error", encode_error(report->max_error),
                     "cancelled", (int)report->cancelled, "tolerance", encode_error(report->tolerance),
                     "divergence_of_copies", encode_error(report->divergence), "runs", (int)report->runs,
                     "operations", (json_int_t)report->operations, "collectives",
                     (json_int_t)report->collectives, "reason", json_safe(report->reason));
}

/* null: the module itself was proved */
static json_t *encode_shrunken(const struct planner_proof_shrunken *shrunken)
{
    if (!shrunken->instead)
        return json_null();
    json_t *factors = json_array();
    for (uint32_t i = 0; i < shrunken->factor_count; i++)
        json_array_append_new(factors,
                              json_pack("{s:o, s:I, s:I}", "factor", json_safe(shrunken->factors[i].name),
                                        "from", (json_int_t)shrunken->factors[i].from, "to",
                                        (json_int_t)shrunken->factors[i].to));
    json_t *loops = json_array();
    for (uint32_t i = 0; i < shrunken->loop_count; i++)
        json_array_append_new(loops, json_pack("{s:i, s:I, s:I}", "line", (int)shrunken->loops[i].line,
                                               "from", (json_int_t)shrunken->loops[i].from, "to",
                                               (json_int_t)shrunken->loops[i].to));
    return json_pack("{s:o, s:o, s:b, s:b, s:i, s:i, s:I}", "factors", factors, "loops", loops, "in_f32",
                     shrunken->widened, "same_lowering", shrunken->same, "ops", (int)shrunken->ops,
                     "collectives", (int)shrunken->collectives, "operations",
                     (json_int_t)shrunken->operations);
}

char *api_proof_json(const struct planner_proof *proof)
{
    json_t *json =
        json_pack("{s:s, s:o, s:I, s:I, s:o, s:o, s:o}", "status", verify_status_text(proof->status),
                  "reason", json_safe(proof->reason), "operations", (json_int_t)proof->operations, "seed",
                  (json_int_t)proof->seed, "manual", encode_form(&proof->manual), "local",
                  encode_form(&proof->local), "shrunken", encode_shrunken(&proof->shrunken));
    BASE_CHECK(json);
    char *text = json_pretty(json);
    json_decref(json);
    return text;
}

/* report.json: everything that report/report.h measured, member by member. No figure is computed here
 * that the report does not have, but sums. */
#include "api/encode.h"

#include <stdio.h>
#include <string.h>

json_t *encode_price(const struct price *p, struct cost c, int64_t limit)
{
    return json_pack("{s:I, s:I, s:b, s:f}", "step_ps", (json_int_t)p->step_ps, "peak_bytes",
                     (json_int_t)p->peak_bytes, "fits", p->peak_bytes <= limit, "cost", cost_value(c));
}

static json_t *encode_summary(const struct report *r)
{
    json_t *summary = encode_price(&r->price, r->cost, r->memory_limit_bytes);
    json_object_set_new(summary, "memory_limit_bytes", json_integer(r->memory_limit_bytes));
    json_object_set_new(summary, "found_by", json_string(r->plan.found_by));
    return summary;
}

static json_t *encode_baselines(const struct report *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->baseline_count; i++) {
        json_t *b = encode_price(&r->baselines[i].price, r->baselines[i].cost, r->memory_limit_bytes);
        json_object_set_new(b, "name", json_string(r->baselines[i].name));
        json_array_append_new(list, b);
    }
    return list;
}

static json_t *encode_collectives(const struct report *r)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->collective_count; i++) {
        const struct report_collective *c = &r->collectives[i];
        json_t *row = json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:s, s:o}", "kind", report_kind_name(c->kind),
                                "axes", encode_axes(m, c->axes, c->axis_count), "bytes", (json_int_t)c->bytes,
                                "count", (json_int_t)c->count, "members", (json_int_t)c->members, "time_ps",
                                (json_int_t)c->time_ps, "algorithm", c->algorithm ? c->algorithm : "none",
                                "location", json_safe(c->location));
        BASE_CHECK(row);
        json_t *members = json_array();
        for (int64_t k = 0; k < c->members; k++)
            json_array_append_new(members, json_integer(c->member_bytes[k]));
        json_object_set_new(row, "member_bytes", members);
        json_object_set_new(row, "decision",
                            c->decision >= 0 ? json_safe(r->decisions[c->decision].text) : json_null());
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *encode_time(const struct report *r)
{
    json_t *kinds = json_object();
    for (uint8_t k = SPMD_ALL_GATHER; k <= SPMD_PERMUTE; k++)
        json_object_set_new(kinds, report_kind_name(k), json_integer(r->time_by_kind[k]));
    /* what changes a tensor's sharding; the others sum partial results */
    int64_t reshards =
        r->time_by_kind[SPMD_ALL_GATHER] + r->time_by_kind[SPMD_ALL_TO_ALL] + r->time_by_kind[SPMD_PERMUTE];
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "compute_ps", (json_int_t)r->price.compute_ps,
        "matmul_ps", (json_int_t)r->price.matmul_ps, "communication_ps",
        (json_int_t)r->price.communication_ps, "exposed_ps", (json_int_t)r->price.exposed_ps, "hidden_ps",
        (json_int_t)(r->price.communication_ps - r->price.exposed_ps), "critical_path_ps",
        (json_int_t)r->price.critical_path_ps, "reshards_ps", (json_int_t)reshards, "collectives", kinds);
}

static json_t *encode_tensors(const struct report *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->at_peak_count; i++)
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:I}", "name", json_safe(r->at_peak[i].name),
                                              "type", json_safe(r->at_peak[i].type), "location",
                                              json_safe(r->at_peak[i].location), "bytes",
                                              (json_int_t)r->at_peak[i].bytes));
    return list;
}

static json_t *encode_memory(const struct report *r)
{
    json_t *points = json_array();
    for (uint32_t i = 0; i < r->timeline_count; i++)
        json_array_append_new(points, json_integer(r->timeline[i]));
    json_t *orders = json_pack("{s:I, s:I}", "program", (json_int_t)r->price.program_peak_bytes,
                               "depth_first", (json_int_t)r->price.depth_first_peak_bytes);
    return json_pack("{s:I, s:I, s:o, s:s, s:I, s:I, s:I, s:I, s:i, s:o, s:o}", "limit_bytes",
                     (json_int_t)r->memory_limit_bytes, "peak_bytes", (json_int_t)r->price.peak_bytes,
                     "peak_bytes_by_order", orders, "order", r->peak_depth_first ? "depth_first" : "program",
                     "peak_step", (json_int_t)r->price.peak_step, "argument_bytes",
                     (json_int_t)r->price.argument_bytes, "output_bytes", (json_int_t)r->price.output_bytes,
                     "alias_bytes", (json_int_t)r->price.alias_bytes, "steps", (int)r->timeline_steps,
                     "timeline", points, "at_peak", encode_tensors(r));
}

static json_t *encode_conflicts(const struct report *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->conflict_count; i++) {
        const struct report_conflict *c = &r->conflicts[i];
        json_t *row = json_pack("{s:o, s:i, s:i, s:i}", "group", json_safe(c->group), "bit", (int)c->bit,
                                "sets", (int)c->sets, "conflicts", (int)c->conflicts);
        if (c->decision >= 0) {
            json_object_set_new(row, "side", json_integer(c->side));
            json_object_set_new(row, "decision", json_safe(r->decisions[c->decision].text));
            json_object_set_new(row, "other_side",
                                json_pack("{s:I, s:I}", "step_ps", (json_int_t)c->other_step_ps, "peak_bytes",
                                          (json_int_t)c->other_peak_bytes));
        } else {
            json_object_set_new(row, "side", json_null());
        }
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *encode_search(const struct report *r)
{
    json_t *curve = json_array();
    for (uint32_t i = 0; i < r->search.curve_count && i < SEARCH_CURVE; i++)
        json_array_append_new(curve, json_pack("{s:I, s:f, s:I}", "rollouts",
                                               (json_int_t)r->search.curve[i].rollouts, "cost",
                                               cost_value(r->search.curve[i].cost), "step_ps",
                                               (json_int_t)r->search.curve[i].step_ps));
    return json_pack("{s:I, s:I, s:i, s:s, s:i, s:i, s:o}", "rollouts", (json_int_t)r->search.rollouts,
                     "evaluations", (json_int_t)r->search.evaluations, "epochs", (int)r->search.epoch,
                     "stop_reason", r->search.stop_reason, "offered", (int)r->offered, "pruned",
                     (int)r->pruned, "curve", curve);
}

static json_t *encode_nothing_fits(const struct report *r)
{
    if (!r->smallest_budget_bytes)
        return json_null();
    return json_pack("{s:I, s:o}", "smallest_budget_bytes", (json_int_t)r->smallest_budget_bytes,
                     "largest_tensors", encode_tensors(r));
}

/* only where a network was solved: the bound, and how far above it the plan may be at most */
static json_t *encode_bound(const struct report *r)
{
    if (!r->has_bound)
        return json_null();
    return json_pack("{s:I, s:f, s:s}", "value_ps", (json_int_t)r->bound_ps, "gap",
                     1 - (double)r->bound_ps / (double)(r->price.step_ps > 0 ? r->price.step_ps : 1),
                     "network", "admissible");
}

json_t *encode_report(const struct report *r)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    json_t *out = json_object(), *decisions = json_array(), *warnings = json_array();
    for (uint32_t i = 0; i < r->decision_count; i++)
        json_array_append_new(decisions, json_pack("{s:o, s:I}", "decision", json_safe(r->decisions[i].text),
                                                   "worth_ps", (json_int_t)r->decisions[i].worth_ps));
    for (uint32_t i = 0; i < r->warning_count; i++)
        json_array_append_new(warnings, json_safe(r->warnings[i]));
    char hash[33];
    hash128_format(r->plan.hash, hash);
    json_object_set_new(out, "format", json_integer(1));
    json_object_set_new(out, "summary", encode_summary(r));
    json_object_set_new(out, "baselines", encode_baselines(r));
    json_object_set_new(out, "collectives", encode_collectives(r));
    json_t *proof = json_pack("{s:s, s:o}", "status", r->proof_status, "reason", json_safe(r->proof_reason));
    json_object_set_new(proof, "max_error",
                        strcmp(r->proof_status, "not_run") ? json_real(r->proof_max_error) : json_null());
    json_object_set_new(out, "proof", proof);
    json_object_set_new(out, "time", encode_time(r));
    json_object_set_new(out, "memory", encode_memory(r));
    json_object_set_new(out, "decisions", decisions);
    json_object_set_new(out, "conflicts", encode_conflicts(r));
    json_object_set_new(out, "search", encode_search(r));
    json_object_set_new(out, "bound", encode_bound(r));
    json_object_set_new(out, "warnings", warnings);
    json_object_set_new(out, "if_nothing_fits", encode_nothing_fits(r));
    json_object_set_new(out, "provenance",
                        json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:b}", "build", api_build(), "module",
                                  r->module_digest, "plan", hash, "mesh", encode_mesh(m), "machine",
                                  encode_machine(evaluator_machine(r->evaluator), m), "seed",
                                  (json_int_t)r->seed, "reproducible", r->reproducible));
    return out;
}

/* report.json: everything that report/report.h measured, member by member. No figure is computed here
 * that the report does not have, but sums. */
#include "api/encode.h"
#include "report/whole.h"

#include <stdio.h>
#include <string.h>

json_t *encode_price(const struct price *price, struct cost cost, int64_t limit)
{
    return json_pack("{s:I, s:I, s:b, s:f}", "step_ps", (json_int_t)price->step_ps, "peak_bytes",
                     (json_int_t)price->peak_bytes, "fits", price->peak_bytes <= limit, "cost",
                     cost_value(cost));
}

static json_t *encode_summary(const struct report *report)
{
    json_t *summary = encode_price(&report->price, report->cost, report->memory_limit_bytes);
    json_object_set_new(summary, "memory_limit_bytes", json_integer(report->memory_limit_bytes));
    json_object_set_new(summary, "found_by", json_string(report->plan.found_by));
    return summary;
}

static json_t *encode_baselines(const struct report *report)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->baseline_count; i++) {
        json_t *json =
            encode_price(&report->baselines[i].price, report->baselines[i].cost, report->memory_limit_bytes);
        json_object_set_new(json, "name", json_string(report->baselines[i].name));
        json_object_set_new(json, "estimated", json_boolean(report->baselines[i].estimated));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *encode_collectives(const struct report *report)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->collective_count; i++) {
        const struct report_collective *collective = &report->collectives[i];
        json_t *row = json_pack(
            "{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:o}", "kind", report_kind_name(collective->kind),
            "axes", encode_axes(mesh, collective->axes, collective->axis_count), "bytes",
            (json_int_t)collective->bytes, "count", (json_int_t)collective->count, "members",
            (json_int_t)collective->members, "time_ps", (json_int_t)collective->time_ps, "exposed_ps",
            (json_int_t)collective->exposed_ps, "algorithm",
            collective->algorithm ? collective->algorithm : "none", "location",
            json_safe(collective->location));
        BASE_CHECK(row);
        json_t *members = json_array();
        for (int64_t k = 0; k < collective->members; k++)
            json_array_append_new(members, json_integer(collective->member_bytes[k]));
        json_object_set_new(row, "member_bytes", members);
        json_object_set_new(row, "decision",
                            collective->decision >= 0
                                ? json_safe(report->decisions[collective->decision].text)
                                : json_null());
        json_object_set_new(row, "because", json_safe(collective->cause));
        json_array_append_new(list, row);
    }
    return list;
}

/* thousandths of each of equal spans of the step in which one device computes, in which it communicates */
static json_t *encode_lanes(const struct report_lanes *lanes)
{
    json_t *compute = json_array(), *communication = json_array();
    for (uint32_t i = 0; i < lanes->count; i++) {
        json_array_append_new(compute, json_integer(lanes->compute[i]));
        json_array_append_new(communication, json_integer(lanes->communication[i]));
    }
    return json_pack("{s:I, s:o, s:o}", "step_ps", (json_int_t)lanes->span_ps, "compute", compute,
                     "communication", communication);
}

static json_t *encode_time(const struct report *report)
{
    json_t *kinds = json_object();
    for (uint8_t k = SPMD_ALL_GATHER; k <= SPMD_PERMUTE; k++)
        json_object_set_new(kinds, report_kind_name(k), json_integer(report->time_by_kind[k]));
    /* what changes a tensor's sharding; the others sum partial results */
    int64_t reshards = report->time_by_kind[SPMD_ALL_GATHER] + report->time_by_kind[SPMD_ALL_TO_ALL] +
                       report->time_by_kind[SPMD_PERMUTE];
    json_t *out = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "compute_ps", (json_int_t)report->price.compute_ps,
        "matmul_ps", (json_int_t)report->price.matmul_ps, "communication_ps",
        (json_int_t)report->price.communication_ps, "exposed_ps", (json_int_t)report->price.exposed_ps,
        "hidden_ps", (json_int_t)(report->price.communication_ps - report->price.exposed_ps),
        "critical_path_ps", (json_int_t)report->price.critical_path_ps, "reshards_ps", (json_int_t)reshards,
        "collectives", kinds);
    json_object_set_new(out, "timeline", encode_lanes(&report->lanes));
    return out;
}

static json_t *encode_tensors(const struct report *report)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->at_peak_count; i++)
        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:I, s:I, s:b}", "name", json_safe(report->at_peak[i].name), "type",
                      json_safe(report->at_peak[i].type), "location", json_safe(report->at_peak[i].location),
                      "bytes", (json_int_t)report->at_peak[i].bytes, "count",
                      (json_int_t)report->at_peak[i].count, "gathered", (int)report->at_peak[i].gathered));
    return list;
}

static json_t *encode_memory(const struct report *report)
{
    json_t *points = json_array();
    for (uint32_t i = 0; i < report->timeline_count; i++)
        json_array_append_new(points, json_integer(report->timeline[i]));
    json_t *orders = json_pack("{s:I}", "program", (json_int_t)report->price.program_peak_bytes);
    if (report->price.depth_first_peak_bytes)
        json_object_set_new(orders, "depth_first", json_integer(report->price.depth_first_peak_bytes));
    if (report->price.hiding_peak_bytes)
        json_object_set_new(orders, "hiding", json_integer(report->price.hiding_peak_bytes));
    if (report->price.memory_peak_bytes)
        json_object_set_new(orders, "memory", json_integer(report->price.memory_peak_bytes));
    return json_pack(
        "{s:I, s:I, s:o, s:s, s:I, s:I, s:I, s:I, s:i, s:o, s:o}", "limit_bytes",
        (json_int_t)report->memory_limit_bytes, "peak_bytes", (json_int_t)report->price.peak_bytes,
        "peak_bytes_by_order", orders, "order", price_order_name(report->price.peak_order), "peak_step",
        (json_int_t)report->price.peak_step, "argument_bytes", (json_int_t)report->price.argument_bytes,
        "output_bytes", (json_int_t)report->price.output_bytes, "alias_bytes",
        (json_int_t)report->price.alias_bytes, "steps", (int)report->timeline_steps, "timeline", points,
        "at_peak", encode_tensors(report));
}

/* of a network's plan: its factors by group and axis */
static json_t *encode_choices(const struct report *report)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->choice_count; i++) {
        const struct report_choice *choice = &report->choices[i];
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:i, s:i}", "choice", json_safe(choice->text), "worth_ps",
                                        choice->measured ? json_integer(choice->worth_ps) : json_null(),
                                        "factors", (int)choice->factors, "of", (int)choice->offered));
    }
    return list;
}

/* of weights and activations; null where there is no such plan */
static json_t *encode_classes(const struct report *report)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->class_count; i++) {
        const struct report_layout_row *class = &report->classes[i];
        json_t *row = json_pack("{s:s, s:o, s:o, s:i, s:I, s:o}", "kind",
                                class->weight ? "weight" : "activation", "name", json_safe(class->name),
                                "type", json_safe(class->type), "count", (int)class->count, "bytes",
                                (json_int_t) class->bytes, "ours", json_safe(class->layouts[REPORT_OURS]));
        json_object_set_new(row, "expert",
                            *report->class_expert ? json_safe(class->layouts[REPORT_EXPERT]) : json_null());
        json_object_set_new(row, "yours",
                            report->has_yours ? json_safe(class->layouts[REPORT_YOURS]) : json_null());
        json_array_append_new(list, row);
    }
    json_t *alike = report->unlike ? json_pack("{s:i, s:I, s:I}", "unlike", (int)report->unlike, "step_ps",
                                               (json_int_t)report->alike_step_ps, "peak_bytes",
                                               (json_int_t)report->alike_peak_bytes)
                                   : json_null();
    return json_pack("{s:o, s:o, s:o}", "expert",
                     *report->class_expert ? json_safe(report->class_expert) : json_null(), "rows", list,
                     "alike", alike);
}

static json_t *encode_conflicts(const struct report *report)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->conflict_count; i++) {
        const struct report_conflict *conflict = &report->conflicts[i];
        json_t *row =
            json_pack("{s:o, s:i, s:i, s:i}", "group", json_safe(conflict->group), "bit", (int)conflict->bit,
                      "sets", (int)conflict->sets, "conflicts", (int)conflict->conflicts);
        if (conflict->decision >= 0) {
            json_object_set_new(row, "side", json_integer(conflict->side));
            json_object_set_new(row, "decision", json_safe(report->decisions[conflict->decision].text));
            json_object_set_new(row, "other_side",
                                conflict->priced
                                    ? json_pack("{s:I, s:I}", "step_ps", (json_int_t)conflict->other_step_ps,
                                                "peak_bytes", (json_int_t)conflict->other_peak_bytes)
                                    : json_null());
        } else {
            json_object_set_new(row, "side", json_null());
            json_object_set_new(row, "by_choices", json_boolean(conflict->by_choices));
        }
        json_array_append_new(list, row);
    }
    return list;
}

/* null: the search priced every plan on the whole program */
static json_t *encode_fold(const struct report_fold *fold)
{
    if (!fold->kept)
        return json_null();
    return json_pack("{s:i, s:i, s:i, s:f, s:i, s:i}", "layers", (int)fold->layers, "kept", (int)fold->kept,
                     "checked", (int)fold->checked, "worst_error", fold->worst, "random", (int)fold->random,
                     "random_beyond", (int)fold->beyond);
}

/* up to the longest */
static json_t *encode_lengths(const struct search_state *search)
{
    json_t *lengths = json_array();
    uint32_t count = SEARCH_MAX_LIST + 1;
    while (count && !search->lengths[count - 1])
        count--;
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(lengths, json_integer((json_int_t)search->lengths[i]));
    return lengths;
}

static json_t *encode_search(const struct report *report)
{
    json_t *curve = json_array();
    for (uint32_t i = 0; i < report->search.curve_count && i < SEARCH_CURVE; i++)
        json_array_append_new(curve, json_pack("{s:I, s:f, s:I}", "rollouts",
                                               (json_int_t)report->search.curve[i].rollouts, "cost",
                                               cost_value(report->search.curve[i].cost), "step_ps",
                                               (json_int_t)report->search.curve[i].step_ps));
    return json_pack("{s:I, s:I, s:i, s:s, s:i, s:i, s:o, s:o, s:o}", "rollouts",
                     (json_int_t)report->search.rollouts, "evaluations",
                     (json_int_t)report->search.evaluations, "epochs", (int)report->search.epoch,
                     "stop_reason", report->search.stop_reason, "offered", (int)report->offered, "pruned",
                     (int)report->pruned, "fold", encode_fold(&report->fold), "lengths",
                     encode_lengths(&report->search), "curve", curve);
}

static json_t *encode_nothing_fits(const struct report *report)
{
    if (!report->smallest_budget_bytes)
        return json_null();
    const struct report_advice *advice = &report->advice;
    json_t *batch =
        !advice->batch ? json_null()
                       : json_pack("{s:I, s:I, s:o}", "now", (json_int_t)advice->batch, "at_most",
                                   (json_int_t)advice->smaller_batch, "peak_bytes",
                                   !advice->batch_tried ? json_null()
                                                        : json_integer((json_int_t)advice->batch_peak_bytes));
    json_t *parts = json_pack(
        "{s:I, s:I, s:I, s:I, s:I}", "parameters", (json_int_t)advice->parts[REPORT_PART_PARAMETERS],
        "optimizer", (json_int_t)advice->parts[REPORT_PART_OPTIMIZER], "data",
        (json_int_t)advice->parts[REPORT_PART_DATA], "gathered",
        (json_int_t)advice->parts[REPORT_PART_GATHERED], "made", (json_int_t)advice->parts[REPORT_PART_MADE]);
    const struct report_larger *larger = &advice->larger;
    json_t *tried = !larger->mesh[0] ? json_null()
                                     : json_pack("{s:s, s:I, s:s, s:I, s:I}", "mesh", larger->mesh, "devices",
                                                 (json_int_t)larger->devices, "plan", larger->plan, "step_ps",
                                                 (json_int_t)larger->step_ps, "peak_bytes",
                                                 (json_int_t)larger->peak_bytes);
    char confirm[300];
    report_confirming(report, "DIR/", confirm, sizeof confirm);
    return json_pack("{s:I, s:o, s:o, s:I, s:I, s:o, s:b, s:o, s:s}", "smallest_budget_bytes",
                     (json_int_t)report->smallest_budget_bytes, "largest_tensors", encode_tensors(report),
                     "parts", parts, "computed_again_bytes", (json_int_t)report->price.rematerialised_bytes,
                     "devices", (json_int_t)advice->devices, "larger", tried, "rematerialisation_may_do",
                     advice->kept_bytes < report->memory_limit_bytes, "batch", batch, "confirm", confirm);
}

/* only where a network was solved: the bound, and how far above it the plan may be at most */
static json_t *encode_bound(const struct report *report)
{
    if (!report->has_bound)
        return json_null();
    return json_pack("{s:I, s:f, s:s}", "value_ps", (json_int_t)report->bound_ps, "gap",
                     1 - (double)report->bound_ps /
                             (double)(report->price.step_ps > 0 ? report->price.step_ps : 1),
                     "network", "admissible");
}

/* only where segments were composed */
static json_t *encode_segments(const struct report *report)
{
    const struct report_segments *it = &report->segments;
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    if (!it->present)
        return json_null();
    json_t *axes = json_array();
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (it->inner >> axis & 1)
            json_array_append_new(axes, json_string(mesh->axes[axis].name));
    json_t *computation = it->computation_ps < 0 ? json_null() : json_integer(it->computation_ps);
    return json_pack("{s:i, s:i, s:i, s:I, s:i, s:o, s:I, s:o, s:I, s:I, s:I, s:b, s:b}", "blocks",
                     (int)it->blocks, "segments", (int)it->segments, "kinds", (int)it->kinds, "programs",
                     (json_int_t)it->programs, "measured", (int)it->measured, "axes", axes, "composed_ps",
                     (json_int_t)it->composed_ps, "computation_ps", computation, "composed_bytes",
                     (json_int_t)it->composed_bytes, "step_ps", (json_int_t)it->step_ps, "peak_bytes",
                     (json_int_t)it->peak_bytes, "proved", it->proved, "mixed", it->mixed);
}

static json_t *named_or_null(const char *text)
{
    return *text ? json_safe(text) : json_null();
}

/* dimensions left whole, and why */
static json_t *encode_whole(const struct report *report)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->whole_count; i++) {
        const struct report_whole *whole = &report->whole[i];
        json_t *best =
            !whole->tried
                ? json_null()
                : json_pack("{s:s, s:b, s:f, s:f, s:o, s:I, s:I}", "decision", whole->best.text, "first",
                            whole->best.first, "splits", whole->best.reach.ops, "splits_stored",
                            whole->best.reach.stored, "displaced", named_or_null(whole->best.displaced),
                            "step_ps", (json_int_t)whole->best.step_ps, "peak_bytes",
                            (json_int_t)whole->best.peak_bytes);
        json_array_append_new(
            list,
            json_pack("{s:o, s:I, s:f, s:f, s:b, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "dimension",
                      json_safe(whole->label), "size", (json_int_t)whole->size, "memory", whole->memory,
                      "time", whole->time, "partly", whole->partly, "example", named_or_null(whole->example),
                      "reason", report_reason_name(whole->reason), "sizes", named_or_null(whole->sizes),
                      "taken", named_or_null(whole->taken), "op", named_or_null(whole->op), "location",
                      whole->op[0] ? json_safe(whole->location) : json_null(), "best_try", best));
    }
    return list;
}

/* how many values plan.json's `constraints` name, and what they save */
static json_t *encode_constrained(const struct report *report)
{
    if (!report->has_constraints)
        return json_null();
    return json_pack("{s:i, s:i, s:i, s:{s:I, s:I, s:I, s:I, s:I}}", "count", (int)report->constraint_count,
                     "candidates", (int)report->constraint_candidates, "sums", (int)report->sum_count,
                     "moved_bytes", "plan", (json_int_t)report->moved_plan_bytes, "specs",
                     (json_int_t)report->moved_specs_bytes, "constraints",
                     (json_int_t)report->moved_list_bytes, "sums", (json_int_t)report->moved_sums_bytes,
                     "annotated", (json_int_t)report->moved_annotated_bytes);
}

static json_t *encode_cuts(const struct report *report)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < REPORT_CUT_COUNT; i++)
        if (report->cut >> i & 1)
            json_array_append_new(list, json_string(report_cut_name(i)));
    return list;
}

json_t *encode_report(const struct report *report)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    json_t *out = json_object(), *decisions = json_array(), *warnings = json_array();
    for (uint32_t i = 0; i < report->decision_count; i++)
        json_array_append_new(decisions,
                              json_pack("{s:o, s:I}", "decision", json_safe(report->decisions[i].text),
                                        "worth_ps", (json_int_t)report->decisions[i].worth_ps));
    for (uint32_t i = 0; i < report->warning_count; i++)
        json_array_append_new(warnings, json_safe(report->warnings[i]));
    char hash[33];
    hash128_format(report->plan.hash, hash);
    json_object_set_new(out, "format", json_integer(1));
    json_object_set_new(out, "summary", encode_summary(report));
    json_object_set_new(out, "baselines", encode_baselines(report));
    json_object_set_new(out, "collectives", encode_collectives(report));
    json_t *proof =
        json_pack("{s:s, s:o}", "status", report->proof_status, "reason", json_safe(report->proof_reason));
    json_object_set_new(proof, "max_error",
                        strcmp(report->proof_status, "not_run") ? json_real(report->proof_max_error)
                                                                : json_null());
    json_object_set_new(out, "proof", proof);
    json_object_set_new(out, "time", encode_time(report));
    json_object_set_new(out, "memory", encode_memory(report));
    json_object_set_new(out, "decisions", decisions);
    json_object_set_new(out, "choices", encode_choices(report));
    json_object_set_new(out, "classes", encode_classes(report));
    json_object_set_new(out, "conflicts", encode_conflicts(report));
    json_object_set_new(out, "whole", encode_whole(report));
    json_object_set_new(out, "constraints", encode_constrained(report));
    json_object_set_new(out, "search", encode_search(report));
    json_object_set_new(out, "bound", encode_bound(report));
    json_object_set_new(out, "segments", encode_segments(report));
    json_object_set_new(out, "alternatives", encode_alternatives(report));
    json_object_set_new(out, "referee", encode_referee(report));
    json_object_set_new(out, "warnings", warnings);
    json_object_set_new(out, "if_nothing_fits", encode_nothing_fits(report));
    json_object_set_new(out, "provenance",
                        json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:b, s:o}", "build", api_build(), "module",
                                  report->module_digest, "plan", hash, "mesh", encode_mesh(mesh), "machine",
                                  encode_machine(evaluator_machine(report->evaluator), mesh), "seed",
                                  (json_int_t)report->seed, "reproducible", report->reproducible, "cut",
                                  encode_cuts(report)));
    return out;
}

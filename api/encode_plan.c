/* plan.json: mesh, pins, decisions and factors, from which the plan is made again, and beside them what
 * people want to read (shardings, worths, machine, who found it). */
#include "api/encode.h"

#include "api/plan_pins.h"

#include <stdio.h>
#include <string.h>

json_t *encode_axes(const struct mesh *mesh, const uint8_t *axes, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t axis = 0; axis < count; axis++)
        json_array_append_new(list, json_string(mesh->axes[axes[axis]].name));
    return list;
}

json_t *encode_mesh(const struct mesh *shape)
{
    json_t *axes = json_array(), *mesh = json_object();
    for (uint32_t a = 0; a < shape->axis_count; a++) {
        json_t *axis =
            json_pack("{s:s, s:I}", "name", shape->axes[a].name, "size", (json_int_t)shape->axes[a].size);
        if (shape->axes[a].link_bytes_per_s)
            json_object_set_new(axis, "link",
                                json_pack("{s:f, s:f}", "gigabytes_per_s",
                                          (double)shape->axes[a].link_bytes_per_s / 1e9, "latency_us",
                                          (double)shape->axes[a].link_latency_ps / 1e6));
        json_array_append_new(axes, axis);
    }
    json_object_set_new(mesh, "axes", axes);
    if (shape->devices_per_host)
        json_object_set_new(mesh, "devices_per_host", json_integer(shape->devices_per_host));
    return mesh;
}

json_t *encode_machine(const struct cost_machine *machine, const struct mesh *mesh)
{
    json_t *links = json_array();
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        json_array_append_new(links, json_pack("{s:s, s:f, s:I, s:b}", "axis", mesh->axes[axis].name,
                                               "gigabytes_per_s", machine->links[axis].bytes_per_s / 1e9,
                                               "latency_ps", (json_int_t)machine->links[axis].latency_ps,
                                               "between_hosts", machine->links[axis].spans_hosts));
    json_t *out = json_pack(
        "{s:s, s:s, s:I, s:f, s:f, s:f, s:s, s:o}", "device", machine->device.name, "backend",
        machine->backend->name, "memory_bytes", (json_int_t)machine->device.memory_bytes, "bf16_flops",
        machine->device.rate_flops[COST_RATE_BF16], "f32_flops", machine->device.rate_flops[COST_RATE_F32],
        "memory_bytes_per_s", machine->device.memory_bytes_per_s, "overlap",
        machine->asynchronous ? "asynchronous" : "none", "links", links);
    if (machine->volume_only)
        json_object_set_new(out, "price", json_string("volume"));
    if (machine->profile)
        json_object_set_new(out, "profile", json_safe(machine->profile));
    return out;
}

/* all: every weight; arguments: those for which decisions of scope regather say so, over which axes */
static json_t *encode_regather(const struct report *report, const struct spmd_options *options,
                               const struct mesh *mesh)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->argument_count; i++) {
        const struct report_argument *argument = &report->arguments[i];
        uint8_t axes[MESH_MAX_AXES];
        uint32_t count = 0;
        for (uint32_t k = 0; k < mesh->axis_count; k++)
            if (argument->regather >> k & 1)
                axes[count++] = (uint8_t)k;
        if (count)
            json_array_append_new(list, json_pack("{s:i, s:o, s:o}", "index", (int)argument->index, "name",
                                                  json_safe(argument->name), "axes",
                                                  encode_axes(mesh, axes, count)));
    }
    return json_pack("{s:b, s:o}", "all", options->regather != 0, "arguments", list);
}

static json_t *encode_walk(const struct report *report)
{
    const struct spmd_options *options = evaluator_options(report->evaluator);
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    return json_pack("{s:I, s:o, s:o, s:b, s:b}", "combine_bytes", (json_int_t)spmd_combine_bytes(options),
                     "axis_order", encode_axes(mesh, options->axis_order, mesh->axis_count), "regather",
                     encode_regather(report, options, mesh), "defer_partials", options->defer_partials,
                     "keep_layouts", options->keep_layouts);
}

/* a list a dimension: what a decision that cuts it names as its group */
static json_t *encode_groups(const struct nda *n, const struct report_argument *argument)
{
    json_t *dims = json_array();
    for (uint32_t dim = 0; dim < argument->sharding.rank; dim++) {
        const char *names[IR_MAX_RANK];
        uint32_t count = report_dim_groups(n, argument->index, dim, names, IR_MAX_RANK);
        json_t *list = json_array();
        for (uint32_t i = 0; i < count; i++)
            json_array_append_new(list, json_safe(names[i]));
        json_array_append_new(dims, list);
    }
    return dims;
}

static json_t *encode_arguments(const struct report_argument *list, uint32_t count, const struct mesh *mesh,
                                const struct nda *n)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const struct report_argument *argument = &list[i];
        json_t *dims = json_array();
        for (uint32_t dim = 0; dim < argument->sharding.rank; dim++)
            json_array_append_new(dims, encode_axes(mesh, argument->sharding.dims[dim].axes,
                                                    argument->sharding.dims[dim].count));
        json_t *item = json_pack("{s:i, s:o, s:o, s:o, s:o, s:I}", "index", (int)argument->index, "name",
                                 json_safe(argument->name), "type", json_safe(argument->type), "dims", dims,
                                 "partition_spec", json_safe(argument->spec), "bytes_per_device",
                                 (json_int_t)argument->bytes_per_device);
        BASE_CHECK(item);
        if (argument->role >= 0) {
            json_object_set_new(item, "role", json_string(report_role_name(argument->role)));
            json_object_set_new(item, "role_by",
                                json_string(nda_voter_name((enum nda_voter)argument->role_by)));
            json_object_set_new(item, "groups", encode_groups(n, argument));
        }
        json_array_append_new(out, item);
    }
    return out;
}

static json_t *encode_decisions(const struct report *report)
{
    const struct plan_context *context = evaluator_context(report->evaluator);
    const struct nda *n = plan_context_nda(context);
    json_t *out = json_array();
    for (uint32_t i = 0; i < report->decision_count; i++) {
        struct plan_decision decision = report->decisions[i].decision;
        char bits[40] = "";
        uint32_t length = n->groups[decision.group].bits;
        for (uint32_t b = 0; b < length && b < 32; b++)
            bits[b] = decision.bits >> b & 1 ? '1' : '0';
        json_array_append_new(out, json_pack("{s:o, s:s, s:s, s:s, s:s, s:I}", "group",
                                             json_safe(n->groups[decision.group].label), "axis",
                                             plan_context_mesh(context)->axes[decision.axis].name, "bits",
                                             bits, "scope", plan_scope_name(decision.scope), "at", "last",
                                             "worth_ps", (json_int_t)report->decisions[i].worth_ps));
    }
    return out;
}

/* one entry a factor, its axes major first */
static json_t *encode_factors(const struct report *report)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    json_t *out = json_array();
    for (uint32_t i = 0; i < report->plan.factor_count; i++) {
        const struct plan_factor *factor = &report->plan.factors[i];
        json_t *axes = NULL;
        /* the entries of one space stand together */
        for (size_t k = json_array_size(out); k > 0 && !axes; k--) {
            json_t *entry = json_array_get(out, k - 1);
            if (json_integer_value(json_object_get(entry, "op")) != factor->space)
                break;
            if (json_integer_value(json_object_get(entry, "factor")) == factor->factor)
                axes = json_object_get(entry, "axes");
        }
        if (!axes) {
            axes = json_array();
            json_array_append_new(out, json_pack("{s:I, s:i, s:o}", "op", (json_int_t)factor->space, "factor",
                                                 (int)factor->factor, "axes", axes));
        }
        json_array_append_new(axes, json_string(mesh->axes[factor->axis].name));
    }
    return out;
}

static json_t *encode_uses(const struct report_constraint *constraint)
{
    if (!constraint->at_uses)
        return json_null();
    json_t *uses = json_array();
    for (uint32_t i = 0; i < constraint->use_count; i++)
        json_array_append_new(uses, json_pack("{s:s, s:o, s:o}", "op", constraint->uses[i].op, "location",
                                              json_safe(constraint->uses[i].location), "name",
                                              json_safe(constraint->uses[i].name)));
    return uses;
}

static json_t *encode_dims(const struct mesh *mesh, const struct plan_sharding *sharding)
{
    json_t *dims = json_array();
    for (uint32_t dim = 0; dim < sharding->rank; dim++)
        json_array_append_new(dims, encode_axes(mesh, sharding->dims[dim].axes, sharding->dims[dim].count));
    return dims;
}

static json_t *encode_constraint(const struct mesh *mesh, const struct report_constraint *constraint)
{
    json_t *arguments = json_array();
    for (uint32_t k = 0; k < constraint->argument_count; k++)
        json_array_append_new(arguments, json_safe(constraint->arguments[k]));
    return json_pack("{s:s, s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:o}", "op", constraint->op, "location",
                     json_safe(constraint->location), "name", json_safe(constraint->name), "result",
                     (int)constraint->result, "occurrence", (int)constraint->occurrence, "alike",
                     (int)constraint->alike, "type", json_safe(constraint->type), "dims",
                     encode_dims(mesh, &constraint->sharding), "partition_spec", json_safe(constraint->spec),
                     "arguments", arguments);
}

/* what to write into the model; read by people and by clients, not when the plan is posted back */
static json_t *encode_constraints(const struct report *report)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    json_t *out = json_array();
    for (uint32_t i = 0; i < report->constraint_count; i++) {
        json_t *constraint = encode_constraint(mesh, &report->constraints[i]);
        json_object_set_new(constraint, "uses", encode_uses(&report->constraints[i]));
        json_object_set_new(constraint, "worth_bytes",
                            report->constraints[i].worth_bytes < 0
                                ? json_null()
                                : json_integer(report->constraints[i].worth_bytes));
        json_array_append_new(out, constraint);
    }
    return out;
}

/* how operands are split, and from which of their dims leading ones (their numbers) are cut */
static json_t *encode_cuts(const struct mesh *mesh, const struct emit_sum *sum)
{
    json_t *cuts = json_array();
    for (uint32_t i = 0; i < sum->cut_count; i++) {
        const struct plan_sharding *from = &sum->cuts[i].from;
        json_t *cut = json_array();
        for (uint32_t dim = 0; dim < from->rank; dim++) {
            json_t *leading = json_array();
            for (uint32_t k = 0; k < from->dims[dim].count; k++)
                json_array_append_new(leading, json_integer(from->dims[dim].axes[k]));
            json_array_append_new(cut, leading);
        }
        json_array_append_new(cuts, json_pack("{s:i, s:o, s:o}", "operand", (int)sum->cuts[i].operand, "dims",
                                              encode_dims(mesh, &sum->cuts[i].sharding), "leading", cut));
    }
    return cuts;
}

/* what plan.constrain() keeps as summands; for clients */
static json_t *encode_sums(const struct report *report)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    json_t *out = json_array();
    for (uint32_t i = 0; i < report->sum_count; i++) {
        const struct report_sum *sum = &report->sums[i];
        json_t *value = encode_constraint(mesh, &sum->value);
        json_object_set_new(value, "leading", encode_dims(mesh, &sum->sum.leading));
        json_object_set_new(value, "cuts", encode_cuts(mesh, &sum->sum));
        json_array_append_new(out, value);
    }
    return out;
}

/* what name or request decided: whoever reads the plan has neither */
static json_t *encode_roles(const struct report *report)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < report->argument_count; i++) {
        const struct report_argument *argument = &report->arguments[i];
        if (argument->role_by == NDA_BY_NAME || argument->role_by == NDA_BY_REQUEST)
            json_array_append_new(out, json_pack("{s:i, s:s}", "argument", (int)argument->index, "role",
                                                 report_role_name(argument->role)));
    }
    return out;
}

json_t *encode_plan(const struct report *report, const json_t *request)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    char hash[33], module[80];
    hash128_format(report->plan.hash, hash);
    snprintf(module, sizeof module, "sha256:%s", report->module_digest);
    json_t *plan = json_object();
    json_object_set_new(plan, "format", json_integer(1));
    json_object_set_new(plan, "mesh", encode_mesh(mesh));
    json_object_set_new(plan, "module", json_string(module));
    const struct nda *n = plan_context_nda(evaluator_context(report->evaluator));
    json_object_set_new(plan, "arguments",
                        encode_arguments(report->arguments, report->argument_count, mesh, n));
    json_object_set_new(plan, "results", encode_arguments(report->results, report->result_count, mesh, n));
    json_t *roles = encode_roles(report);
    if (json_array_size(roles))
        json_object_set(plan, "roles", roles);
    json_decref(roles);
    if (n->given_rule_count) {
        json_t *rules = json_object();
        for (uint32_t i = 0; i < n->given_rule_count; i++)
            json_object_set_new(rules, n->given_rules[i].target, json_string(n->given_rules[i].text));
        json_object_set_new(plan, "rules", rules);
    }
    json_object_set_new(plan, "pins", plan_pins_of(request));
    if (report->no_module_pins)
        json_object_set_new(plan, "module_pins", json_false());
    if (report->pins_completed)
        json_object_set_new(plan, "pins_completed", json_true());
    json_object_set_new(plan, "decisions", encode_decisions(report));
    json_object_set_new(plan, "factors", encode_factors(report));
    json_object_set_new(plan, "walk", encode_walk(report));
    if (report->has_constraints) {
        json_object_set_new(plan, "constraints", encode_constraints(report));
        json_object_set_new(plan, "sums", encode_sums(report));
    }
    json_object_set_new(plan, "machine", encode_machine(evaluator_machine(report->evaluator), mesh));
    json_object_set_new(plan, "memory_limit_bytes", json_integer(report->memory_limit_bytes));
    json_object_set_new(plan, "hash", json_string(hash));
    json_object_set_new(plan, "found_by", json_string(report->plan.found_by));
    json_object_set_new(plan, "reproducible", json_boolean(report->reproducible));
    json_object_set_new(plan, "build", json_string(api_build()));
    return plan;
}

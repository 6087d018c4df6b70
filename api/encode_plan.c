/* plan.json: mesh, pins, decisions and factors, from which the plan is made again, and beside them what
 * people want to read (shardings, worths, machine, who found it). */
#include "api/encode.h"

#include <stdio.h>
#include <string.h>

json_t *encode_axes(const struct mesh *m, const uint8_t *axes, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t a = 0; a < count; a++)
        json_array_append_new(list, json_string(m->axes[axes[a]].name));
    return list;
}

json_t *encode_mesh(const struct mesh *m)
{
    json_t *axes = json_array(), *mesh = json_object();
    for (uint32_t a = 0; a < m->axis_count; a++) {
        json_t *axis = json_pack("{s:s, s:I}", "name", m->axes[a].name, "size", (json_int_t)m->axes[a].size);
        if (m->axes[a].link_bytes_per_s)
            json_object_set_new(axis, "link",
                                json_pack("{s:f, s:f}", "gigabytes_per_s",
                                          (double)m->axes[a].link_bytes_per_s / 1e9, "latency_us",
                                          (double)m->axes[a].link_latency_ps / 1e6));
        json_array_append_new(axes, axis);
    }
    json_object_set_new(mesh, "axes", axes);
    if (m->devices_per_host)
        json_object_set_new(mesh, "devices_per_host", json_integer(m->devices_per_host));
    return mesh;
}

json_t *encode_machine(const struct cost_machine *machine, const struct mesh *m)
{
    json_t *links = json_array();
    for (uint32_t a = 0; a < m->axis_count; a++)
        json_array_append_new(links, json_pack("{s:s, s:f, s:I, s:b}", "axis", m->axes[a].name,
                                               "gigabytes_per_s", machine->links[a].bytes_per_s / 1e9,
                                               "latency_ps", (json_int_t)machine->links[a].latency_ps,
                                               "between_hosts", machine->links[a].spans_hosts));
    json_t *out = json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:o}", "device", machine->device.name,
                            "memory_bytes", (json_int_t)machine->device.memory_bytes, "bf16_flops",
                            machine->device.rate_flops[COST_RATE_BF16], "f32_flops",
                            machine->device.rate_flops[COST_RATE_F32], "memory_bytes_per_s",
                            machine->device.memory_bytes_per_s, "overlap", machine->overlap, "links", links);
    if (machine->profile)
        json_object_set_new(out, "profile", json_safe(machine->profile));
    return out;
}

/* all: every weight; arguments: those for which decisions of scope regather say so, over which axes */
static json_t *encode_regather(const struct report *r, const struct spmd_options *o, const struct mesh *m)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const struct report_argument *a = &r->arguments[i];
        uint8_t axes[MESH_MAX_AXES];
        uint32_t count = 0;
        for (uint32_t k = 0; k < m->axis_count; k++)
            if (a->regather >> k & 1)
                axes[count++] = (uint8_t)k;
        if (count)
            json_array_append_new(list, json_pack("{s:i, s:o, s:o}", "index", (int)a->index, "name",
                                                  json_safe(a->name), "axes", encode_axes(m, axes, count)));
    }
    return json_pack("{s:b, s:o}", "all", o->regather != 0, "arguments", list);
}

static json_t *encode_walk(const struct report *r)
{
    const struct spmd_options *o = evaluator_options(r->evaluator);
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    return json_pack("{s:I, s:o, s:o, s:b}", "combine_bytes",
                     (json_int_t)(o->combine_bytes ? o->combine_bytes : SPMD_COMBINE_BYTES), "axis_order",
                     encode_axes(m, o->axis_order, m->axis_count), "regather", encode_regather(r, o, m),
                     "defer_partials", o->defer_partials);
}

static json_t *encode_arguments(const struct report_argument *list, uint32_t count, const struct mesh *m)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const struct report_argument *a = &list[i];
        json_t *dims = json_array();
        for (uint32_t d = 0; d < a->sharding.rank; d++)
            json_array_append_new(dims, encode_axes(m, a->sharding.dims[d].axes, a->sharding.dims[d].count));
        json_t *item =
            json_pack("{s:i, s:o, s:o, s:o, s:o, s:I}", "index", (int)a->index, "name", json_safe(a->name),
                      "type", json_safe(a->type), "dims", dims, "partition_spec", json_safe(a->spec),
                      "bytes_per_device", (json_int_t)a->bytes_per_device);
        BASE_CHECK(item);
        if (a->role >= 0)
            json_object_set_new(item, "role", json_string(report_role_name(a->role)));
        json_array_append_new(out, item);
    }
    return out;
}

static json_t *encode_decisions(const struct report *r)
{
    const struct plan_context *c = evaluator_context(r->evaluator);
    const struct nda *n = plan_context_nda(c);
    json_t *out = json_array();
    for (uint32_t i = 0; i < r->decision_count; i++) {
        struct plan_decision d = r->decisions[i].decision;
        char bits[40] = "";
        uint32_t length = n->groups[d.group].bits;
        for (uint32_t b = 0; b < length && b < 32; b++)
            bits[b] = d.bits >> b & 1 ? '1' : '0';
        json_array_append_new(out, json_pack("{s:o, s:s, s:s, s:s, s:s, s:I}", "group",
                                             json_safe(n->groups[d.group].label), "axis",
                                             plan_context_mesh(c)->axes[d.axis].name, "bits", bits, "scope",
                                             plan_scope_name(d.scope), "at", "last", "worth_ps",
                                             (json_int_t)r->decisions[i].worth_ps));
    }
    return out;
}

/* one entry a factor, its axes major first */
static json_t *encode_factors(const struct report *r)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    json_t *out = json_array();
    for (uint32_t i = 0; i < r->plan.factor_count; i++) {
        const struct plan_factor *f = &r->plan.factors[i];
        json_t *axes = NULL;
        /* the entries of one space stand together */
        for (size_t k = json_array_size(out); k > 0 && !axes; k--) {
            json_t *entry = json_array_get(out, k - 1);
            if (json_integer_value(json_object_get(entry, "op")) != f->space)
                break;
            if (json_integer_value(json_object_get(entry, "factor")) == f->factor)
                axes = json_object_get(entry, "axes");
        }
        if (!axes) {
            axes = json_array();
            json_array_append_new(out, json_pack("{s:I, s:i, s:o}", "op", (json_int_t)f->space, "factor",
                                                 (int)f->factor, "axes", axes));
        }
        json_array_append_new(axes, json_string(m->axes[f->axis].name));
    }
    return out;
}

json_t *encode_plan(const struct report *r, const json_t *pins)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    char hash[33], module[80];
    hash128_format(r->plan.hash, hash);
    snprintf(module, sizeof module, "sha256:%s", r->module_digest);
    json_t *plan = json_object();
    json_object_set_new(plan, "format", json_integer(1));
    json_object_set_new(plan, "mesh", encode_mesh(m));
    json_object_set_new(plan, "module", json_string(module));
    json_object_set_new(plan, "arguments", encode_arguments(r->arguments, r->argument_count, m));
    json_object_set_new(plan, "results", encode_arguments(r->results, r->result_count, m));
    json_object_set_new(plan, "pins", pins ? json_deep_copy(pins) : json_array());
    if (r->pins_completed)
        json_object_set_new(plan, "pins_completed", json_true());
    json_object_set_new(plan, "decisions", encode_decisions(r));
    json_object_set_new(plan, "factors", encode_factors(r));
    json_object_set_new(plan, "walk", encode_walk(r));
    json_object_set_new(plan, "machine", encode_machine(evaluator_machine(r->evaluator), m));
    json_object_set_new(plan, "memory_limit_bytes", json_integer(r->memory_limit_bytes));
    json_object_set_new(plan, "hash", json_string(hash));
    json_object_set_new(plan, "found_by", json_string(r->plan.found_by));
    json_object_set_new(plan, "reproducible", json_boolean(r->reproducible));
    json_object_set_new(plan, "build", json_string(api_build()));
    return plan;
}

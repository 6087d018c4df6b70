/* `alternatives` and `referee` of report.json: in what each further plan differs from the report's, and
 * what the compiler itself said of them. */
#include "api/encode.h"

static json_t *encode_texts(char *const *list, uint32_t count)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(out, json_safe(list[i]));
    return out;
}

static json_t *encode_classes(const struct report_alternative *row)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < row->class_count; i++)
        json_array_append_new(
            out, json_pack("{s:o, s:i, s:I, s:o, s:o}", "arguments", json_safe(row->classes[i].pattern),
                           "count", (int)row->classes[i].count, "bytes_per_device",
                           (json_int_t)row->classes[i].bytes, "here", json_safe(row->classes[i].other_spec),
                           "plan", json_safe(row->classes[i].spec)));
    return out;
}

static json_t *encode_totals(int64_t count, int64_t bytes, int64_t time_ps)
{
    return json_pack("{s:I, s:I, s:I}", "count", (json_int_t)count, "bytes", (json_int_t)bytes, "time_ps",
                     (json_int_t)time_ps);
}

static json_t *encode_traffic(const struct report_alternative *row, const struct mesh *mesh)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < row->traffic_count; i++) {
        const struct report_traffic *it = &row->traffic[i];
        json_array_append_new(out,
                              json_pack("{s:s, s:o, s:o, s:o}", "kind", report_kind_name(it->kind), "axes",
                                        encode_axes(mesh, it->axes, it->axis_count), "here",
                                        encode_totals(it->other_count, it->other_bytes, it->other_time_ps),
                                        "plan", encode_totals(it->count, it->bytes, it->time_ps)));
    }
    return out;
}

static json_t *encode_alternative(const struct report *report, uint32_t number)
{
    const struct report_alternative *row = &report->alternatives[number];
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    char hash[33];
    hash128_format(row->hash, hash);
    json_t *out = encode_price(&row->price, row->cost, report->memory_limit_bytes);
    json_object_set_new(out, "number", json_integer(number + 1));
    json_object_set_new(out, "plan", json_string(hash));
    json_object_set_new(out, "found_by", json_safe(row->found_by));
    json_object_set_new(out, "argument_share", json_real(row->argument_share));
    json_object_set_new(out, "result_share", json_real(row->result_share));
    json_object_set_new(out, "nearest_share", json_real(row->nearest_share));
    json_object_set_new(out, "proof", json_string(row->proof_status));
    json_object_set_new(out, "decisions",
                        json_pack("{s:o, s:o}", "added", encode_texts(row->added, row->added_count),
                                  "dropped", encode_texts(row->dropped, row->dropped_count)));
    json_object_set_new(out, "shardings", encode_classes(row));
    json_object_set_new(out, "collectives", encode_traffic(row, mesh));
    return out;
}

json_t *encode_alternatives(const struct report *report)
{
    if (!report->alternatives_wanted)
        return json_null();
    json_t *plans = json_array();
    for (uint32_t i = 0; i < report->alternative_count; i++)
        json_array_append_new(plans, encode_alternative(report, i));
    return json_pack("{s:i, s:f, s:o}", "wanted", (int)report->alternatives_wanted, "least_share",
                     report->alternatives_apart, "plans", plans);
}

static json_t *number_or_null(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *encode_judged(const struct report *report, const struct report_judged *row)
{
    json_t *out =
        json_pack("{s:i, s:I, s:I}", "plan", (int)row->plan, "price_step_ps", (json_int_t)row->our_step_ps,
                  "price_peak_bytes", (json_int_t)row->our_peak_bytes);
    bool refused = row->refused[0] != 0;
    json_object_set_new(out, "refused", refused ? json_safe(row->refused) : json_null());
    json_object_set_new(out, "step_ps", number_or_null(row->step_ps));
    json_object_set_new(out, "exposed_ps", number_or_null(row->exposed_ps));
    json_object_set_new(out, "peak_bytes", number_or_null(row->peak_bytes));
    json_object_set_new(out, "fits",
                        refused ? json_null() : json_boolean(row->peak_bytes <= report->memory_limit_bytes));
    return out;
}

json_t *encode_referee(const struct report *report)
{
    const struct report_referee *referee = &report->referee;
    if (!referee->name[0])
        return json_null();
    json_t *plans = json_array();
    for (uint32_t i = 0; i < referee->count; i++)
        json_array_append_new(plans, encode_judged(report, &referee->rows[i]));
    json_t *out =
        json_pack("{s:s, s:o, s:o, s:o}", "referee", referee->name, "target", json_safe(referee->target),
                  "compiler", json_safe(referee->compiler), "plans", plans);
    json_object_set_new(out, "not_judged", referee->reason[0] ? json_safe(referee->reason) : json_null());
    return out;
}

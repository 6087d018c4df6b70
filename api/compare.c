/* Plans side by side; see compare.h. Rows are matched by what they are about: an argument's index and
 * name, a decision's group, axis, bits and scope, a collective's kind and axes. */
#include "api/compare.h"

#include "api/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a plan.json and a report.json together have at most so many members */
enum { MAX_KEYS = 20000000 };

struct side {
    const struct api_compare_item *item;
    json_t *plan, *report; /* NULL: none */
};

static json_t *member(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(member(object, name));
    return text ? text : "";
}

static json_t *copy_or_null(const json_t *value)
{
    return value ? json_deep_copy(value) : json_null();
}

static enum error_code read_text(const struct api_compare_item *item, const char *what, const char *text,
                                 size_t size, json_t **out, struct error *e)
{
    if (!text)
        return ERROR_OK;
    enum error_code code = json_parse(text, size, MAX_KEYS, out, e);
    if (code == ERROR_OK && json_is_object(*out))
        return ERROR_OK;
    return error_set(e, ERROR_INVALID_PLAN, "%.100s has no %s that can be read", item->name, what);
}

/* ---- one item a plan ---- */

static json_t *encode_item(const struct side *side)
{
    json_t *out = json_object(), *provenance = member(side->report, "provenance");
    json_t *machine =
        member(side->plan, "machine") ? member(side->plan, "machine") : member(provenance, "machine");
    json_t *mesh = member(side->plan, "mesh") ? member(side->plan, "mesh") : member(provenance, "mesh");
    json_object_set_new(out, "name", json_safe(side->item->name));
    if (side->item->state)
        json_object_set_new(out, "state", json_string(side->item->state));
    json_object_set_new(out, "module", copy_or_null(member(side->plan, "module")));
    json_object_set_new(out, "mesh", copy_or_null(mesh));
    json_object_set_new(out, "device", copy_or_null(member(machine, "device")));
    json_object_set_new(out, "summary", copy_or_null(member(side->report, "summary")));
    json_object_set_new(out, "time", copy_or_null(member(side->report, "time")));
    json_object_set_new(out, "plan_hash", copy_or_null(member(side->plan, "hash")));
    return out;
}

/* the plan to take: fits first, then least cost; -1 when none has a price */
static int best_of(const struct side *sides, size_t count)
{
    int best = -1;
    bool best_fits = false;
    double best_cost = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *summary = member(sides[i].report, "summary");
        if (!summary)
            continue;
        bool fits = json_is_true(member(summary, "fits"));
        double cost = json_number_value(member(summary, "cost"));
        if (best < 0 || fits > best_fits || (fits == best_fits && cost < best_cost)) {
            best = (int)i;
            best_fits = fits;
            best_cost = cost;
        }
    }
    return best;
}

/* ---- rows: one a thing that plans may have in common, with a list `values` of one entry a plan ---- */

/* The list of rows is in the order in which things were first met; by_key finds the row of a thing, whose
 * key is its compact JSON. */
struct rows {
    json_t *list, *by_key;
    size_t sides;
};

static json_t *row_for(struct rows *rows, const char *key, const json_t *about)
{
    json_t *row = member(rows->by_key, key);
    if (row)
        return row;
    row = json_deep_copy(about);
    json_t *values = json_array();
    for (size_t i = 0; i < rows->sides; i++)
        json_array_append_new(values, json_null());
    json_object_set_new(row, "values", values);
    json_array_append_new(rows->list, row);
    json_object_set(rows->by_key, key, row);
    return row;
}

static void put_value(struct rows *rows, const json_t *about, size_t side, json_t *value)
{
    char *key = json_compact(about);
    json_array_set_new(member(row_for(rows, key, about), "values"), side, value);
    free(key);
}

/* keeps those whose values are not all equal, unless all are wanted */
static json_t *rows_finish(struct rows *rows, bool all)
{
    json_t *out = json_array(), *row;
    size_t i;
    json_array_foreach(rows->list, i, row)
    {
        json_t *values = member(row, "values"), *first = json_array_get(values, 0);
        bool equal = true;
        for (size_t k = 1; k < json_array_size(values); k++)
            equal &= json_equal(first, json_array_get(values, k)) == 1;
        if (all || !equal)
            json_array_append(out, row);
    }
    json_decref(rows->list);
    json_decref(rows->by_key);
    return out;
}

static struct rows rows_begin(size_t sides)
{
    return (struct rows){json_array(), json_object(), sides};
}

static json_t *compare_decisions(const struct side *sides, size_t count)
{
    struct rows rows = rows_begin(count);
    for (size_t s = 0; s < count; s++) {
        json_t *json;
        size_t i;
        json_array_foreach(member(sides[s].plan, "decisions"), i, json)
        {
            json_t *about = json_pack("{s:s, s:s, s:s, s:s}", "group", text_of(json, "group"), "axis",
                                      text_of(json, "axis"), "bits", text_of(json, "bits"), "scope",
                                      text_of(json, "scope"));
            json_t *value = json_pack("{s:i, s:I}", "position", (int)i, "worth_ps",
                                      (json_int_t)json_integer_value(member(json, "worth_ps")));
            if (about)
                put_value(&rows, about, s, value);
            json_decref(about);
        }
    }
    return rows_finish(&rows, true);
}

static void add_tensors(struct rows *rows, const json_t *list, const char *kind, size_t side)
{
    json_t *json;
    size_t i;
    json_array_foreach(list, i, json)
    {
        json_t *about = json_pack("{s:s, s:i, s:s, s:s}", "kind", kind, "index",
                                  (int)json_integer_value(member(json, "index")), "name",
                                  text_of(json, "name"), "type", text_of(json, "type"));
        if (about)
            put_value(rows, about, side, copy_or_null(member(json, "dims")));
        json_decref(about);
    }
}

static json_t *compare_tensors(const struct side *sides, size_t count)
{
    struct rows rows = rows_begin(count);
    for (size_t s = 0; s < count; s++) {
        add_tensors(&rows, member(sides[s].plan, "arguments"), "argument", s);
        add_tensors(&rows, member(sides[s].plan, "results"), "result", s);
    }
    return rows_finish(&rows, false);
}

/* the sums of each kind over the same axes */
static json_t *compare_collectives(const struct side *sides, size_t count)
{
    static const char *const sums[] = {"count", "bytes", "time_ps"};
    struct rows rows = rows_begin(count);
    for (size_t s = 0; s < count; s++) {
        json_t *json;
        size_t i;
        json_array_foreach(member(sides[s].report, "collectives"), i, json)
        {
            json_t *about = json_object();
            json_object_set_new(about, "kind", json_string(text_of(json, "kind")));
            json_object_set_new(about, "axes", copy_or_null(member(json, "axes")));
            char *key = json_compact(about);
            json_t *values = member(row_for(&rows, key, about), "values"), *had = json_array_get(values, s),
                   *now = json_object();
            json_int_t times = json_integer_value(member(json, "count"));
            for (size_t k = 0; k < 3; k++) { /* bytes are of one collective, time of all */
                json_int_t more = json_integer_value(member(json, sums[k])) * (k == 1 ? times : 1);
                json_object_set_new(now, sums[k],
                                    json_integer(json_integer_value(member(had, sums[k])) + more));
            }
            json_array_set_new(values, s, now);
            free(key);
            json_decref(about);
        }
    }
    return rows_finish(&rows, true);
}

enum error_code api_compare(const struct api_compare_item *items, size_t count, char **json, struct error *e)
{
    struct side sides[API_COMPARE_MAX] = {0};
    enum error_code code = ERROR_OK;
    BASE_CHECK(count <= API_COMPARE_MAX);
    for (size_t i = 0; i < count && code == ERROR_OK; i++) {
        sides[i].item = &items[i];
        code = read_text(&items[i], "plan", items[i].plan, items[i].plan_size, &sides[i].plan, e);
        if (code == ERROR_OK)
            code = read_text(&items[i], "report", items[i].report, items[i].report_size, &sides[i].report, e);
    }
    if (code == ERROR_OK) {
        json_t *out = json_object(), *list = json_array();
        int best = best_of(sides, count);
        for (size_t i = 0; i < count; i++)
            json_array_append_new(list, encode_item(&sides[i]));
        json_object_set_new(out, "items", list);
        json_object_set_new(out, "best", best < 0 ? json_null() : json_integer(best));
        json_object_set_new(out, "decisions", compare_decisions(sides, count));
        json_object_set_new(out, "tensors", compare_tensors(sides, count));
        json_object_set_new(out, "collectives", compare_collectives(sides, count));
        *json = json_compact(out);
        json_decref(out);
    }
    for (size_t i = 0; i < count; i++) {
        json_decref(sides[i].plan);
        json_decref(sides[i].report);
    }
    return code;
}

/* api_compare's JSON as tables for a terminal: one column a plan; decisions and collectives that any plan
 * has, tensors only where the plans differ. */
#include "api/compare.h"

#include "api/json.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_SHOWN = 40 };      /* the rest is counted in one line: api_compare has all */
enum { LABEL = 40, COLUMN = 22 }; /* characters; a label and three columns make 110 */

static void add_cell(struct text *text, const char *cell, int width)
{
    char clean[64];
    snprintf(clean, sizeof clean, "%.60s", cell);
    for (char *at = clean; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at == 0x7f)
            *at = ' ';
    text_printf(text, "%-*.*s ", width, width, clean);
}

static void end_line(struct text *text)
{
    while (text->size && text->at[text->size - 1] == ' ')
        text->at[--text->size] = 0;
    text_add(text, "\n");
}

/* "data,model|-|.." of a list of lists of axes */
static void dims_text(const json_t *dims, char *out, size_t room)
{
    size_t at = 0, d, a;
    json_t *axes, *axis;
    if (!json_is_array(dims)) {
        snprintf(out, room, "none");
        return;
    }
    snprintf(out, room, json_array_size(dims) ? "" : "scalar");
    json_array_foreach(dims, d, axes)
    {
        at += (size_t)snprintf(out + at, at < room ? room - at : 0, "%s%s", d ? " | " : "",
                               json_array_size(axes) ? "" : "-");
        at = at < room ? at : room - 1;
        json_array_foreach(axes, a, axis)
        {
            const char *name = json_string_value(axis);
            at += (size_t)snprintf(out + at, room - at, "%s%s", a ? "," : "", name ? name : "?");
            at = at < room ? at : room - 1;
        }
    }
}

static void add_summary(struct text *text, const json_t *items)
{
    static const char *const rows[] = {"step", "peak", "fits", "C", "found by"};
    json_t *item;
    size_t i;
    add_cell(text, "", LABEL);
    json_array_foreach(items, i, item)
        add_cell(text, json_string_value(json_object_get(item, "name")), COLUMN);
    end_line(text);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        add_cell(text, rows[r], LABEL);
        json_array_foreach(items, i, item)
        {
            const json_t *json = json_object_get(item, "summary");
            const char *found_by = json_string_value(json_object_get(json, "found_by"));
            char cell[64] = "";
            if (r == 0)
                report_time(json_integer_value(json_object_get(json, "step_ps")), cell);
            else if (r == 1)
                report_bytes(json_integer_value(json_object_get(json, "peak_bytes")), cell);
            else if (r == 3)
                snprintf(cell, sizeof cell, "%.6f", json_number_value(json_object_get(json, "cost")));
            else
                snprintf(cell, sizeof cell, "%.60s",
                         r == 2 ? (json_is_true(json_object_get(json, "fits")) ? "yes" : "no")
                                : (found_by ? found_by : ""));
            add_cell(text, json_is_object(json) ? cell : "?", COLUMN);
        }
        end_line(text);
    }
}

static void row_label(const json_t *row, const char *section, char out[LABEL + 1])
{
    char axes[64] = "";
    const char *kind = json_string_value(json_object_get(row, "kind")),
               *group = json_string_value(json_object_get(row, "group"));
    const char *name = json_string_value(json_object_get(row, "name")),
               *axis = json_string_value(json_object_get(row, "axis"));
    const char *bits = json_string_value(json_object_get(row, "bits")),
               *scope = json_string_value(json_object_get(row, "scope"));
    if (strcmp(section, "decisions") == 0) {
        /* update:embed@data, as everywhere else */
        bool part = scope && *scope && strcmp(scope, "all") != 0;
        snprintf(out, LABEL + 1, "%.8s%s%.14s%s%.6s%s@%.7s", part ? scope : "", part ? ":" : "", group,
                 bits && *bits ? "[" : "", bits, bits && *bits ? "]" : "", axis);
    } else if (strcmp(section, "collectives") == 0) {
        json_t *list = json_pack("[O]", json_object_get(row, "axes"));
        dims_text(list, axes, sizeof axes);
        json_decref(list);
        snprintf(out, LABEL + 1, "%.20s %.18s", kind, axes);
    } else {
        snprintf(out, LABEL + 1, "%.39s", name);
    }
}

static void add_section(struct text *text, const json_t *whole, const char *section, const char *title)
{
    const json_t *list = json_object_get(whole, section);
    json_t *row, *value;
    size_t i, k;
    if (json_array_size(list))
        text_printf(text, "\n%s\n", title);
    json_array_foreach(list, i, row)
    {
        char label[LABEL + 1];
        if (i == TENSORS_SHOWN && strcmp(section, "tensors") == 0) {
            text_printf(text, ".. and %zu more\n", json_array_size(list) - i);
            break;
        }
        row_label(row, section, label);
        add_cell(text, label, LABEL);
        json_array_foreach(json_object_get(row, "values"), k, value)
        {
            char cell[64] = "-", time[48];
            const json_t *worth = json_object_get(value, "worth_ps"), *ps = json_object_get(value, "time_ps");
            if (strcmp(section, "tensors") == 0) {
                dims_text(value, cell, sizeof cell);
            } else if (worth || ps) {
                if (worth)
                    report_worth(json_integer_value(worth), cell);
                else
                    report_time(json_integer_value(ps), time);
                if (ps)
                    snprintf(cell, sizeof cell, "%lld x, %s",
                             (long long)json_integer_value(json_object_get(value, "count")), time);
            }
            add_cell(text, cell, COLUMN);
        }
        end_line(text);
    }
}

char *api_compare_text(const char *json)
{
    struct text text = {0};
    json_t *whole = json_loads(json, 0, NULL);
    add_summary(&text, json_object_get(whole, "items"));
    add_section(&text, whole, "decisions", "decisions");
    add_section(&text, whole, "collectives", "collectives a step");
    add_section(&text, whole, "tensors", "arguments and results that are sharded differently");
    json_decref(whole);
    return text.at;
}

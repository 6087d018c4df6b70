/* report.html: the sharding grid. Arguments and results that are named alike up to numbers, of one type and
 * one sharding, are one row; the rows that hold most bytes come first; the full list follows in a table of
 * its own. */
#include "report/report_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_ROWS = 28 }; /* of the grid */

static void write_dim(const struct report *report, const struct report_argument *argument, uint32_t dim,
                      int64_t size, struct text *text)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    bool cut = dim < argument->sharding.rank && argument->sharding.dims[dim].count;
    html_add(text, "<td class=\"dim%s\"><span class=\"size\">%lld</span>", cut ? " cut" : "",
             (long long)size);
    for (uint32_t k = 0; cut && k < argument->sharding.dims[dim].count; k++)
        html_add(text, "<span class=\"axis-chip x%d\">%s</span>", argument->sharding.dims[dim].axes[k],
                 mesh->axes[argument->sharding.dims[dim].axes[k]].name);
    text_add(text, "</td>");
}

static void write_kind(const struct report *report, const struct report_kind *k, uint32_t rank,
                       struct text *text)
{
    const struct nda *n = plan_context_nda(evaluator_context(report->evaluator));
    const struct ir_type *type = ir_value_type(n->program, n->arguments[k->first->index].value);
    char bytes[32];
    report_bytes(k->bytes, bytes);
    html_add(text, "<tr><td class=\"long\">%s", k->count > 1 ? k->pattern : k->first->name);
    if (k->count > 1)
        html_add(text, " <span class=\"count\">× %u</span>", k->count);
    html_add(text, "</td><td>%s</td>", report_role_name(k->first->role));
    for (uint32_t dim = 0; dim < rank; dim++) {
        if (type->kind == IR_TYPE_TENSOR && dim < type->rank)
            write_dim(report, k->first, dim, ir_type_dims(n->program, type)[dim], text);
        else
            text_add(text, "<td class=\"dim\"></td>");
    }
    html_add(text, "<td class=\"num\">%s</td></tr>", bytes);
}

void report_html_shards(const struct report *report, struct text *text)
{
    const struct nda *n = plan_context_nda(evaluator_context(report->evaluator));
    uint32_t count, rank = 0;
    struct report_kind *kinds = report_kinds(report, &count);
    for (uint32_t i = 0; i < count && i < SHOWN_ROWS; i++) {
        const struct ir_type *type = ir_value_type(n->program, n->arguments[kinds[i].first->index].value);
        if (type->kind == IR_TYPE_TENSOR && type->rank > rank)
            rank = type->rank;
    }
    text_add(text, "<section class=\"card wide\" id=\"shards\"><h2>Sharding</h2><p class=\"muted\">Which "
                   "dimension of which argument is cut over "
                   "which mesh axis. Largest on a device first; numbers in names stand as *.</p><div "
                   "class=\"scroll\" tabindex=\"0\" "
                   "role=\"group\" aria-label=\"Sharding grid\"><table "
                   "class=\"shards\"><thead><tr><th>Arguments</th><th>Role</th>");
    for (uint32_t dim = 0; dim < rank; dim++)
        html_add(text, "<th>dim %u</th>", dim);
    text_add(text, "<th class=\"num\">Bytes a device</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < count && i < SHOWN_ROWS; i++)
        write_kind(report, &kinds[i], rank, text);
    text_add(text, "</tbody></table></div>");
    if (count > SHOWN_ROWS)
        html_add(text,
                 "<p class=\"muted\">and %u smaller rows; every argument stands in the table at the end</p>",
                 count - SHOWN_ROWS);
    text_add(text, "</section>\n");
    free(kinds);
}

static void boundary_table(const char *title, const struct report_argument *list, uint32_t count,
                           struct text *text)
{
    uint32_t i = 0;
    html_details(text, title, count);
    text_add(text, "<table><thead><tr><th "
                   "class=\"num\">Nr</th><th>Name</th><th>Role</th><th>Type</th><th>PartitionSpec</th><th "
                   "class=\"num\">Bytes a device</th></tr></thead><tbody>");
    for (; i < count && text->size < REPORT_HTML_ROOM; i++) {
        char bytes[32];
        report_bytes(list[i].bytes_per_device, bytes);
        html_add(text,
                 "<tr><td class=\"num\">%u</td><td class=\"long\">%s</td><td>%s</td><td "
                 "class=\"long\"><code>%s</code></td>",
                 i, list[i].name, report_role_name(list[i].role), list[i].type);
        html_add(text, "<td class=\"long\"><code>%s</code></td><td class=\"num\">%s</td></tr>", list[i].spec,
                 bytes);
    }
    text_add(text, "</tbody></table>");
    if (i < count)
        html_add(text, "<p class=\"muted\">and %u more in plan.json</p>", count - i);
    html_details_end(text);
}

void report_html_boundary(const struct report *report, struct text *text)
{
    text_add(text, "<section class=\"card wide\" id=\"boundary\"><h2>Every argument and result</h2>");
    boundary_table("Arguments", report->arguments, report->argument_count, text);
    boundary_table("Results", report->results, report->result_count, text);
    text_add(text, "</section>\n");
}

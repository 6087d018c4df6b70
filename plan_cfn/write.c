/* The network as the contest's JSON, on one line: what `toast solve` and other solvers of the contest read.
 * Matrices are written out for every edge, as the format knows no sharing. */
#include "plan_cfn/internal.h"

#include <stdio.h>

static void add_numbers(struct text *out, const int64_t *at, uint64_t count)
{
    char digits[24];
    text_add_char(out, '[');
    for (uint64_t i = 0; i < count; i++) {
        int size = snprintf(digits, sizeof digits, i ? ",%lld" : "%lld", (long long)at[i]);
        text_add_n(out, digits, (size_t)size);
    }
    text_add_char(out, ']');
}

static void add_node_lists(struct text *out, const struct cfn_problem *problem, const int64_t *values)
{
    text_add_char(out, '[');
    for (uint32_t i = 0; i < problem->node_count; i++) {
        text_add(out, i ? "," : "");
        add_numbers(out, values + problem->nodes[i].first_value, (uint64_t)problem->nodes[i].domain);
    }
    text_add_char(out, ']');
}

void plan_cfn_write(const struct plan_cfn *n, const char *name, struct text *out)
{
    const struct cfn_problem *problem = &n->problem;
    text_printf(out, "{\"problem\":{\"name\":\"%s\",\"edges\":{\"nodes\":[", name);
    for (uint32_t i = 0; i < problem->edge_count; i++)
        text_printf(out, i ? ",[%d,%d]" : "[%d,%d]", problem->edges[i].first, problem->edges[i].second);
    text_add(out, "],\"costs\":[");
    for (uint32_t i = 0; i < problem->edge_count; i++) {
        const struct cfn_matrix *matrix = &problem->matrices[problem->edges[i].matrix];
        text_add(out, i ? "," : "");
        add_numbers(out, problem->entries + matrix->start, matrix->count);
    }
    text_add(out, "]},\"nodes\":{\"intervals\":[");
    for (uint32_t i = 0; i < problem->node_count; i++)
        text_printf(out, i ? ",[%lld,%lld]" : "[%lld,%lld]", (long long)problem->nodes[i].lower,
                    (long long)problem->nodes[i].upper);
    text_add(out, "],\"costs\":");
    add_node_lists(out, problem, problem->costs);
    text_add(out, ",\"usages\":");
    add_node_lists(out, problem, problem->usages);
    text_printf(out, "},\"usage_limit\":%lld}}\n", (long long)problem->limit);
}

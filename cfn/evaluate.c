/* The referee. Costs are summed from the problem in 128 bits, usage is one sweep over the sorted starts and
 * ends of intervals:
 *
 *   time     0     2     4     5
 *   node 0   [-----------)            events (0,+u0) (4,-u0)
 *   node 1         [-----------)      events (2,+u1) (5,-u1)
 *
 * At equal times all changes are summed before the peak is looked at. It knows nothing of networks, models
 * or bounds: an error in the solver cannot hide here. Reads no file, writes nothing. */
#include "cfn/evaluate.h"

#include "base/memory.h"
#include "cfn/json.h"

#include <stdlib.h>
#include <string.h>

struct event {
    int64_t time, delta;
};

static int event_order(const void *left, const void *right)
{
    const struct event *event = left, *other_event = right;
    return event->time != other_event->time ? (event->time < other_event->time ? -1 : 1) : 0;
}

static __int128 total_cost(const struct cfn_problem *problem, const int32_t *values)
{
    __int128 cost = 0;
    for (uint32_t i = 0; i < problem->node_count; i++)
        cost += problem->costs[problem->nodes[i].first_value + (uint64_t)values[i]];
    for (uint32_t i = 0; i < problem->edge_count; i++) {
        const struct cfn_edge *edge = &problem->edges[i];
        uint64_t index = (uint64_t)values[edge->first];
        if (edge->second != CFN_NO_NODE)
            index = index * (uint64_t)problem->nodes[edge->second].domain + (uint64_t)values[edge->second];
        cost += problem->entries[problem->matrices[edge->matrix].start + index];
    }
    return cost;
}

static void sweep(const struct cfn_problem *problem, struct event *events, size_t count,
                  struct cfn_verdict *out)
{
    __int128 usage = 0;
    qsort(events, count, sizeof *events, event_order);
    for (size_t i = 0; i < count;) {
        int64_t time = events[i].time;
        for (; i < count && events[i].time == time; i++)
            usage += events[i].delta;
        if (usage > out->peak) {
            out->peak = usage;
            out->peak_time = time;
        }
        if (problem->has_limit && usage > problem->limit && out->feasible) {
            out->feasible = false;
            out->violated_time = time;
            out->violated_usage = usage;
        }
    }
}

enum error_code cfn_evaluate(const struct cfn_problem *problem, const int32_t *values,
                             struct cfn_verdict *out, struct error *e)
{
    *out = (struct cfn_verdict){.feasible = true};
    for (uint32_t i = 0; i < problem->node_count; i++)
        if (values[i] < 0 || values[i] >= problem->nodes[i].domain)
            return error_set(e, ERROR_INVALID_REQUEST, "node %u has no value %d: it has %d", i, values[i],
                             problem->nodes[i].domain);
    struct event *events = mem_zalloc((size_t)problem->node_count * 2 + 1, sizeof *events);
    size_t count = 0;
    for (uint32_t i = 0; i < problem->node_count; i++) {
        const struct cfn_node *n = &problem->nodes[i];
        int64_t usage = problem->usages[n->first_value + (uint64_t)values[i]];
        if (n->lower >= n->upper)
            continue;
        events[count++] = (struct event){n->lower, usage};
        events[count++] = (struct event){n->upper, -usage};
    }
    sweep(problem, events, count, out);
    free(events);
    out->cost = total_cost(problem, values);
    return ERROR_OK;
}

enum error_code cfn_solution_read(const struct cfn_problem *problem, const char *text, size_t size,
                                  int32_t **values, struct error *e)
{
    const char *at = text + size;
    *values = NULL;
    while (at > text && !(at[-1] == '[' && (at - 1 == text || at[-2] == '\n')))
        at--;
    struct cfn_json j = {.start = text, .at = at > text ? at - 1 : text, .end = text + size, .e = e};
    int32_t *read = mem_zalloc((size_t)problem->node_count + 1, sizeof *read);
    uint32_t count = 0;
    for (bool more = cfn_json_array_begin(&j); more; more = cfn_json_array_next(&j)) {
        int64_t v = cfn_json_integer(&j);
        if (count < problem->node_count && (v < 0 || v >= problem->nodes[count].domain))
            cfn_json_reject(&j, ERROR_INVALID_REQUEST, NULL, "node %u has no such value: it has %d", count,
                            problem->nodes[count].domain);
        else if (count < problem->node_count)
            read[count] = (int32_t)v;
        count++;
    }
    if (!cfn_json_failed(&j) && cfn_json_peek(&j))
        cfn_json_reject(&j, ERROR_INVALID_JSON, NULL, "text after the list");
    if (count != problem->node_count)
        cfn_json_reject(&j, ERROR_INVALID_REQUEST, NULL, "%u values where the problem has %u nodes", count,
                        problem->node_count);
    if (cfn_json_failed(&j))
        free(read);
    else
        *values = read;
    return j.code;
}

char *cfn_format_wide(__int128 value, char *out)
{
    char digits[48];
    int count = 0, used = 0;
    unsigned __int128 rest = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    do
        digits[count++] = (char)('0' + (int)(rest % 10));
    while (rest /= 10);
    if (value < 0)
        out[used++] = '-';
    while (count)
        out[used++] = digits[--count];
    out[used] = 0;
    return out;
}

/* In what two plans differ, from their reports; see alternatives.h. */
#include "report/report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- decisions ---- */

static bool has_decision(const struct report *report, const char *text)
{
    for (uint32_t i = 0; i < report->decision_count; i++)
        if (strcmp(report->decisions[i].text, text) == 0)
            return true;
    return false;
}

static char **decisions_only(struct arena *arena, const struct report *here, const struct report *there,
                             uint32_t *count)
{
    char **list = arena_alloc(arena, (here->decision_count + 1) * sizeof *list);
    for (uint32_t i = 0; i < here->decision_count; i++)
        if (!has_decision(there, here->decisions[i].text))
            list[(*count)++] = arena_strndup(arena, here->decisions[i].text, strlen(here->decisions[i].text));
    return list;
}

/* ---- arguments ---- */

/* every run of digits becomes one star */
static void pattern_of(const char *name, char *out, size_t room)
{
    size_t n = 0;
    for (; *name && n + 1 < room; name++) {
        if (!isdigit((unsigned char)*name))
            out[n++] = *name;
        else if (n == 0 || out[n - 1] != '*')
            out[n++] = '*';
    }
    out[n] = 0;
}

static struct report_class *find_class(struct report_alternative *out, const char *pattern, const char *spec,
                                       const char *other)
{
    for (uint32_t i = 0; i < out->class_count; i++) {
        struct report_class *it = &out->classes[i];
        if (strcmp(it->pattern, pattern) == 0 && strcmp(it->spec, spec) == 0 &&
            strcmp(it->other_spec, other) == 0)
            return it;
    }
    struct report_class *it = &out->classes[out->class_count++];
    snprintf(it->pattern, sizeof it->pattern, "%s", pattern);
    snprintf(it->spec, sizeof it->spec, "%s", spec);
    snprintf(it->other_spec, sizeof it->other_spec, "%s", other);
    return it;
}

static int by_bytes(const void *left, const void *right)
{
    const struct report_class *one = left, *other = right;
    if (one->bytes != other->bytes)
        return one->bytes > other->bytes ? -1 : 1;
    return strcmp(one->pattern, other->pattern);
}

static uint32_t set_of(const uint8_t *axes, uint32_t count)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < count; i++)
        set |= 1u << axes[i];
    return set;
}

/* the order of axes on one dimension does not count */
static bool shards_alike(const struct report_argument *one, const struct report_argument *other)
{
    for (uint32_t dim = 0; dim < one->sharding.rank; dim++)
        if (set_of(one->sharding.dims[dim].axes, one->sharding.dims[dim].count) !=
            set_of(other->sharding.dims[dim].axes, other->sharding.dims[dim].count))
            return false;
    return one->regather == other->regather;
}

/* its spec, and, where the two differ in that, whether it is gathered again between distant uses */
static void spec_of(const struct report_argument *argument, const struct report_argument *other, char *out,
                    size_t room)
{
    const char *how = argument->regather == other->regather ? ""
                      : argument->regather                  ? " gathered again"
                                                            : " gathered once";
    snprintf(out, room, "%s%s", argument->spec, how);
}

static void compare_arguments(const struct report *plan, const struct report *other, struct arena *arena,
                              struct report_alternative *out)
{
    out->classes = arena_alloc(arena, (plan->argument_count + 1) * sizeof *out->classes);
    for (uint32_t i = 0; i < plan->argument_count && i < other->argument_count; i++) {
        const struct report_argument *one = &plan->arguments[i], *two = &other->arguments[i];
        char pattern[160], here[288], there[288];
        if (shards_alike(one, two))
            continue;
        pattern_of(one->name, pattern, sizeof pattern);
        spec_of(one, two, here, sizeof here);
        spec_of(two, one, there, sizeof there);
        struct report_class *it = find_class(out, pattern, here, there);
        it->count++;
        it->bytes += one->bytes_per_device;
    }
    qsort(out->classes, out->class_count, sizeof *out->classes, by_bytes);
}

/* ---- collectives ---- */

/* by kind and set of axes: their order names the same groups */
static struct report_traffic *find_traffic(struct report_alternative *out,
                                           const struct report_collective *row)
{
    for (uint32_t i = 0; i < out->traffic_count; i++) {
        struct report_traffic *it = &out->traffic[i];
        if (it->kind == row->kind && set_of(it->axes, it->axis_count) == set_of(row->axes, row->axis_count))
            return it;
    }
    struct report_traffic *it = &out->traffic[out->traffic_count++];
    it->kind = row->kind;
    it->axis_count = row->axis_count;
    memcpy(it->axes, row->axes, sizeof it->axes);
    return it;
}

static int64_t distance_ps(const struct report_traffic *row)
{
    return llabs((long long)(row->time_ps - row->other_time_ps));
}

static int by_difference(const void *left, const void *right)
{
    const struct report_traffic *one = left, *other = right;
    if (distance_ps(one) != distance_ps(other))
        return distance_ps(one) > distance_ps(other) ? -1 : 1;
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    return memcmp(one->axes, other->axes, sizeof one->axes);
}

static void compare_collectives(const struct report *plan, const struct report *other, struct arena *arena,
                                struct report_alternative *out)
{
    uint32_t kept = 0;
    out->traffic =
        arena_alloc(arena, (plan->collective_count + other->collective_count + 1) * sizeof *out->traffic);
    for (uint32_t i = 0; i < plan->collective_count; i++) {
        const struct report_collective *row = &plan->collectives[i];
        struct report_traffic *it = find_traffic(out, row);
        it->count += row->count;
        it->bytes += row->bytes * row->count;
        it->time_ps += row->time_ps;
    }
    for (uint32_t i = 0; i < other->collective_count; i++) {
        const struct report_collective *row = &other->collectives[i];
        struct report_traffic *it = find_traffic(out, row);
        it->other_count += row->count;
        it->other_bytes += row->bytes * row->count;
        it->other_time_ps += row->time_ps;
    }
    for (uint32_t i = 0; i < out->traffic_count; i++) {
        const struct report_traffic *it = &out->traffic[i];
        if (it->count != it->other_count || it->bytes != it->other_bytes || it->time_ps != it->other_time_ps)
            out->traffic[kept++] = *it;
    }
    out->traffic_count = kept;
    qsort(out->traffic, kept, sizeof *out->traffic, by_difference);
}

void report_alternative_describe(struct report *plan, const struct report *other,
                                 struct report_alternative *out)
{
    out->hash = other->plan.hash;
    out->price = other->price;
    out->cost = other->cost;
    snprintf(out->found_by, sizeof out->found_by, "%s", other->plan.found_by);
    snprintf(out->proof_status, sizeof out->proof_status, "%s", other->proof_status);
    out->added = decisions_only(plan->arena, other, plan, &out->added_count);
    out->dropped = decisions_only(plan->arena, plan, other, &out->dropped_count);
    compare_arguments(plan, other, plan->arena, out);
    compare_collectives(plan, other, plan->arena, out);
}

/* Communication by cause; see causes.h. */
#include "report/causes.h"

#include <stdlib.h>
#include <string.h>

/* up to its axis: "batch" of "batch@data" */
static size_t stem(const char *name)
{
    const char *at = strrchr(name, '@');
    return at ? (size_t)(at - name) : strlen(name);
}

static bool same_stem(const char *one, const char *other)
{
    return stem(one) == stem(other) && strncmp(one, other, stem(one)) == 0;
}

const char *report_join_causes(struct arena *arena, const char *const *names, uint32_t count)
{
    struct text text = {0};
    for (uint32_t i = 0; i < count; i++) {
        bool said = false;
        for (uint32_t k = 0; k < i; k++)
            said |= same_stem(names[k], names[i]);
        if (said)
            continue;
        text_printf(&text, "%s%s", text.size ? ", " : "", names[i]);
        for (uint32_t k = i + 1; k < count; k++)
            if (same_stem(names[k], names[i]))
                text_printf(&text, "+%s", names[k] + stem(names[k]) + (names[k][stem(names[k])] == '@'));
    }
    const char *joined = text.at ? arena_strndup(arena, text.at, text.size) : "a pin";
    text_release(&text);
    return joined;
}

static int by_exposed(const void *left, const void *right)
{
    const struct report_cause_row *one = left, *other = right;
    if (one->exposed_ps != other->exposed_ps)
        return one->exposed_ps > other->exposed_ps ? -1 : 1;
    if (one->time_ps != other->time_ps)
        return one->time_ps > other->time_ps ? -1 : 1;
    return strcmp(one->cause, other->cause);
}

struct report_cause_row *report_causes(const struct report *report, uint32_t *count)
{
    struct report_cause_row *rows = mem_zalloc((size_t)report->collective_count + 1, sizeof *rows);
    *count = 0;
    for (uint32_t i = 0; i < report->collective_count; i++) {
        const struct report_collective *collective = &report->collectives[i];
        const char *cause = collective->cause;
        uint32_t k = 0;
        while (k < *count && strcmp(rows[k].cause, cause) != 0)
            k++;
        *count += k == *count;
        rows[k].cause = cause;
        rows[k].count += collective->count;
        rows[k].bytes += collective->bytes * collective->count;
        rows[k].time_ps += collective->time_ps;
        rows[k].exposed_ps += collective->exposed_ps;
    }
    qsort(rows, *count, sizeof *rows, by_exposed);
    return rows;
}

static bool alike(const struct report *report, const struct report_collective *one,
                  const struct report_collective *other)
{
    return one->kind == other->kind && one->bytes == other->bytes && one->axis_count == other->axis_count &&
           memcmp(one->axes, other->axes, one->axis_count) == 0 && strcmp(one->cause, other->cause) == 0 &&
           report_same_place(one->location, other->location);
}

static int by_time(const void *left, const void *right)
{
    const struct report_alike_row *one = left, *other = right;
    if (one->time_ps != other->time_ps)
        return one->time_ps > other->time_ps ? -1 : 1;
    return report_compare_places(one->first->location, other->first->location);
}

struct report_alike_row *report_alike(const struct report *report, uint32_t *count)
{
    struct report_alike_row *rows = mem_zalloc((size_t)report->collective_count + 1, sizeof *rows);
    *count = 0;
    for (uint32_t i = 0; i < report->collective_count; i++) {
        const struct report_collective *collective = &report->collectives[i];
        uint32_t k = 0;
        while (k < *count && !alike(report, rows[k].first, collective))
            k++;
        if (k == *count)
            rows[(*count)++] = (struct report_alike_row){.first = collective, .last = collective};
        if (report_compare_places(collective->location, rows[k].first->location) < 0)
            rows[k].first = collective;
        if (report_compare_places(collective->location, rows[k].last->location) > 0)
            rows[k].last = collective;
        rows[k].count += collective->count;
        rows[k].time_ps += collective->time_ps;
        rows[k].exposed_ps += collective->exposed_ps;
    }
    qsort(rows, *count, sizeof *rows, by_time);
    return rows;
}

void report_text_causes(const struct report *report, struct text *text)
{
    uint32_t count;
    struct report_cause_row *rows = report_causes(report, &count);
    if (count)
        text_printf(text, "by cause, what computation waits for longest first:\n%-50s %10s %10s %10s %10s\n",
                    "because of", "count", "bytes", "time", "exposed");
    for (uint32_t i = 0; i < count; i++) {
        char bytes[32], time[32], exposed[32];
        report_bytes(rows[i].bytes, bytes);
        report_time(rows[i].time_ps, time);
        report_time(rows[i].exposed_ps, exposed);
        text_printf(text, "%-50s %10lld %10s %10s %10s\n", rows[i].cause, (long long)rows[i].count, bytes,
                    time, exposed);
    }
    if (count)
        text_add(text, "\none by one, those that are alike together:\n");
    free(rows);
}

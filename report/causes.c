/* Communication by cause; see causes.h. */
#include "report/causes.h"

#include <stdlib.h>
#include <string.h>

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
        const char *cause = report_cause(report, collective);
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
        text_add(text, "\none by one:\n");
    free(rows);
}

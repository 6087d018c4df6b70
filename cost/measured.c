/* Measured collectives (machine.h, struct cost_table): they win over the closed forms of collectives.c. Only
 * the four operations on doubles, so that prices are the same on every CPU. */
#include "cost/machine.h"

static const struct cost_table *find_table(const struct cost_machine *machine, uint8_t kind, int64_t devices,
                                           bool spans_hosts)
{
    const struct cost_table *either = NULL;
    for (uint32_t i = 0; i < machine->table_count; i++) {
        const struct cost_table *t = &machine->tables[i];
        if (t->kind != kind || t->devices != devices || t->count == 0)
            continue;
        if (t->spans_hosts == (int8_t)spans_hosts)
            return t;
        if (t->spans_hosts < 0)
            either = t;
    }
    return either;
}

bool cost_measured_price(const struct cost_machine *machine, uint8_t kind, int64_t devices, bool spans_hosts,
                         double bytes, double *ps)
{
    const struct cost_table *t = find_table(machine, kind, devices, spans_hosts);
    if (!t)
        return false;
    const struct cost_point *p = t->points, *last = &t->points[t->count - 1];
    if (bytes <= (double)p->bytes) {
        *ps = (double)p->time_ps;
        return true;
    }
    if (bytes >= (double)last->bytes) {
        *ps = (double)last->time_ps * (bytes / (double)last->bytes);
        return true;
    }
    while (bytes > (double)p[1].bytes)
        p++;
    double share = (bytes - (double)p->bytes) / (double)(p[1].bytes - p->bytes);
    *ps = (double)p->time_ps + share * (double)(p[1].time_ps - p->time_ps);
    return true;
}

/* Measured collectives (machine.h, struct cost_table): they win over the closed forms of collectives.c. Only
 * the four operations on doubles, so that prices are the same on every CPU. */
#include "cost/machine.h"

static const struct cost_table *find_table(const struct cost_machine *machine, uint8_t kind, int64_t devices,
                                           bool spans_hosts)
{
    const struct cost_table *either = NULL;
    for (uint32_t i = 0; i < machine->table_count; i++) {
        const struct cost_table *table = &machine->tables[i];
        if (table->kind != kind || table->devices != devices || table->count == 0)
            continue;
        if (table->spans_hosts == (int8_t)spans_hosts)
            return table;
        if (table->spans_hosts < 0)
            either = table;
    }
    return either;
}

bool cost_measured_price(const struct cost_machine *machine, uint8_t kind, int64_t devices, bool spans_hosts,
                         double bytes, double *ps)
{
    const struct cost_table *table = find_table(machine, kind, devices, spans_hosts);
    if (!table)
        return false;
    const struct cost_point *point = table->points, *last = &table->points[table->count - 1];
    if (bytes <= (double)point->bytes) {
        *ps = (double)point->time_ps;
        return true;
    }
    if (bytes >= (double)last->bytes) {
        *ps = (double)last->time_ps * (bytes / (double)last->bytes);
        return true;
    }
    while (bytes > (double)point[1].bytes)
        point++;
    double share = (bytes - (double)point->bytes) / (double)(point[1].bytes - point->bytes);
    *ps = (double)point->time_ps + share * (double)(point[1].time_ps - point->time_ps);
    return true;
}

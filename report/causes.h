/* Communication by cause: what each decision (or choice of a network's plan) makes the devices exchange, and
 * how long computation waits for it. */
#ifndef TOAST_REPORT_CAUSES_H
#define TOAST_REPORT_CAUSES_H

#include "report/report.h"

/* Texts of decisions or choices over as many axes as one, in arena: those that differ in their axis alone
 * together, "batch@data+model"; "a pin" of none. */
const char *report_join_causes(struct arena *arena, const char *const *names, uint32_t count);

struct report_cause_row {
    const char *cause; /* a collective's; borrowed from the report */
    int64_t count;     /* collectives in a step, trip counts included */
    int64_t bytes;     /* of their results on a device, together */
    int64_t time_ps, exposed_ps;
};
/* what computation waits for longest first; owned (free), refers to the report */
struct report_cause_row *report_causes(const struct report *report, uint32_t *count);
/* Collectives that are alike: of one kind, size, axes, cause and place of the source. */
struct report_alike_row {
    const struct report_collective *first, *last; /* by place; borrowed from the report */
    int64_t count;                                /* in a step, trip counts included */
    int64_t time_ps, exposed_ps;
};
/* longest time first; owned (free), refers to the report */
struct report_alike_row *report_alike(const struct report *report, uint32_t *count);
/* its part of the communication's section of report.txt; nothing without collectives */
void report_text_causes(const struct report *report, struct text *text);

#endif

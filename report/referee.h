/* What the compiler itself said of a plan and its alternatives, as a report has it. A referee
 * (clients/python/src/toast_referee) finds it out; here it is kept, ranked and shown. Pure. */
#ifndef TOAST_REPORT_REFEREE_H
#define TOAST_REPORT_REFEREE_H

#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

enum { REPORT_REFEREE_ROWS = 17 }; /* the plan and its alternatives */

struct report_judged {
    uint32_t plan;       /* 0: the plan, k: alternative k */
    char refused[200];   /* why the compiler takes it not; "" */
    int64_t step_ps;     /* by the compiler (or measured); -1: it says none */
    int64_t exposed_ps;  /* of it, waited for collectives; -1 */
    int64_t peak_bytes;  /* of one device */
    int64_t our_step_ps; /* the price */
    int64_t our_peak_bytes;
};
struct report_referee {
    char name[16];     /* "xla_gpu": what the request asked for; "": nothing was */
    char target[64];   /* "h100", "here" */
    char compiler[96]; /* as it names itself */
    char reason[120];  /* why nobody judged; "" when somebody did */
    struct report_judged rows[REPORT_REFEREE_ROWS]; /* best first, once ranked */
    uint32_t count;
    bool timed; /* rows have steps */
};

struct report;
/* Puts ours beside theirs and the rows in the compiler's order: those that fit, the faster, the one that
 * takes less memory; refused ones last. Rows of plans that the report has not are dropped. */
void report_referee_rank(struct report *report);
/* the section of report.txt; nothing where no referee was asked for */
void report_referee_text(const struct report *report, struct text *out);

#endif

/* When one device computes and when it communicates, over the time of a step: as shares of equal spans for
 * a picture, and every kernel as a trace that chrome://tracing and Perfetto open. From price_trace
 * (cost/price.h). */
#ifndef TOAST_REPORT_LANES_H
#define TOAST_REPORT_LANES_H

#include "cost/price.h"

enum { REPORT_LANES = 240 }; /* spans of a step: some pixels each */

struct report_lanes {
    uint32_t count;                                              /* REPORT_LANES; 0: nothing takes time */
    int64_t span_ps;                                             /* of them all */
    uint16_t compute[REPORT_LANES], communication[REPORT_LANES]; /* busy, thousandths of a span */
};
/* local: in program order */
void report_lanes_make(const struct spmd_local *local, const struct cost_machine *machine,
                       struct report_lanes *out);
/* the Trace Event Format: microseconds, thread 1 computes, thread 2 communicates */
void report_trace_text(const struct spmd_local *local, const struct cost_machine *machine,
                       const struct ir_program *program, struct text *out);
/* the picture: two curves of shares over `span_ps` of a step that begin at `from_ps`; shares: `count` values
 * of 0 to 1 each */
void report_lanes_picture(const double *compute, const double *communication, uint32_t count, double from_ps,
                          double span_ps, struct text *svg);

struct report;
/* trace.json of the report's plan, which is walked once more */
enum error_code report_trace(const struct report *report, struct text *out, struct error *e) BASE_CHECKED;

#endif

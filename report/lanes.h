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
void report_lanes_make(const struct spmd_local *local, const struct price_interval *trace, uint32_t count,
                       struct report_lanes *out);
/* A kernel of the trace. kind: enum spmd_step_kind; op: of the program, whose line it stands for; SPMD_NONE:
 * of none */
struct report_kernel {
    struct price_interval interval;
    uint8_t kind;
    uint32_t op;
};
/* the kernels that take time, in program order; how many. out: room for `count` */
uint32_t report_kernels_find(const struct spmd_local *local, const struct price_interval *trace,
                             uint32_t count, struct report_kernel *out);
/* the Trace Event Format: microseconds, thread 1 computes, thread 2 communicates */
void report_trace_text(const struct spmd_local *local, const struct cost_machine *machine,
                       const struct ir_program *program, struct text *out);
/* the picture: two curves of shares over `span_ps` of a step that begin at `from_ps`; shares: `count` values
 * of 0 to 1 each */
void report_lanes_picture(const double *compute, const double *communication, uint32_t count, double from_ps,
                          double span_ps, struct text *svg);

struct report;
/* trace.json of the report's plan, of whose kernels a report of report_create_plan has none */
void report_trace(const struct report *report, struct text *out);

#endif

/* See lanes.h. */
#include "report/report.h"

#include "report/html.h"

#include <stdio.h>
#include <stdlib.h>

static void add_span(uint16_t *lane, int64_t span_ps, int64_t from_ps, int64_t until_ps)
{
    double wide = (double)span_ps / REPORT_LANES;
    uint32_t first = (uint32_t)((double)from_ps / wide), last = (uint32_t)((double)until_ps / wide);
    for (uint32_t i = first; i <= last && i < REPORT_LANES; i++) {
        double low = (double)i * wide, high = low + wide;
        double begin = (double)from_ps > low ? (double)from_ps : low,
               end = (double)until_ps < high ? (double)until_ps : high;
        double share = end > begin ? 1000 * (end - begin) / wide : 0;
        double sum = lane[i] + share + 0.5;
        lane[i] = (uint16_t)(sum < 1000 ? sum : 1000);
    }
}

void report_lanes_make(const struct spmd_local *local, const struct price_interval *trace, uint32_t count,
                       struct report_lanes *out)
{
    *out = (struct report_lanes){0};
    for (uint32_t i = 0; i < count; i++)
        out->span_ps = trace[i].end_ps > out->span_ps ? trace[i].end_ps : out->span_ps;
    out->count = out->span_ps > 0 ? REPORT_LANES : 0;
    for (uint32_t i = 0; i < count && out->count; i++) {
        bool sends = spmd_step_is_collective(&local->steps[trace[i].step]);
        if (trace[i].end_ps > trace[i].start_ps)
            add_span(sends ? out->communication : out->compute, out->span_ps, trace[i].start_ps,
                     trace[i].end_ps);
    }
}

uint32_t report_kernels_find(const struct spmd_local *local, const struct price_interval *trace,
                             uint32_t count, struct report_kernel *out)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct spmd_step *step = &local->steps[trace[i].step];
        if (trace[i].end_ps > trace[i].start_ps)
            out[found++] = (struct report_kernel){trace[i], step->kind, step->op};
    }
    return found;
}

static void add_kernel(const struct ir_program *program, const struct report_kernel *kernel, struct text *out)
{
    const struct price_interval *at = &kernel->interval;
    enum spmd_step_kind kind = (enum spmd_step_kind)kernel->kind;
    const char *name = kind == SPMD_OP ? ir_op_name(program, kernel->op) : spmd_step_kind_name(kind);
    text_printf(out,
                ",\n{\"name\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.6f, \"dur\": "
                "%.6f, \"args\": {\"step\": %u, \"line\": %u, \"exposed_us\": %.6f}}",
                name, spmd_kind_is_collective(kind) ? 2 : 1, (double)at->start_ps / 1e6,
                (double)(at->end_ps - at->start_ps) / 1e6, at->step,
                kernel->op == SPMD_NONE ? 0 : program->ops[kernel->op].line, (double)at->exposed_ps / 1e6);
}

static void add_kernels(const struct ir_program *program, const struct report_kernel *kernels, uint32_t count,
                        struct text *out)
{
    text_add(out, "[{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"args\": {\"name\": "
                  "\"compute\"}},\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 2, "
                  "\"args\": {\"name\": \"communication\"}}");
    for (uint32_t i = 0; i < count; i++)
        add_kernel(program, &kernels[i], out);
    text_add(out, "]\n");
}

void report_trace_text(const struct spmd_local *local, const struct cost_machine *machine,
                       const struct ir_program *program, struct text *out)
{
    uint32_t count;
    struct price_interval *trace = price_trace(local, machine, &count);
    struct report_kernel *kernels = mem_alloc(((size_t)count + 1) * sizeof *kernels);
    count = report_kernels_find(local, trace, count, kernels);
    add_kernels(program, kernels, count, out);
    free(kernels);
    free(trace);
}

void report_trace(const struct report *report, struct text *out)
{
    const struct plan_context *context = evaluator_context(report->evaluator);
    add_kernels(plan_context_nda(context)->program, report->kernels, report->kernel_count, out);
}

static void format_share(double value, char out[32])
{
    snprintf(out, 32, "%.0f %%", 100 * value);
}

void report_lanes_picture(const double *compute, const double *communication, uint32_t count, double from_ps,
                          double span_ps, struct text *svg)
{
    double *x = mem_zalloc((size_t)count + 1, sizeof *x);
    for (uint32_t i = 0; i < count; i++)
        x[i] = from_ps + span_ps * i / count;
    const struct html_line lines[] = {{"compute", x, compute, count, 0, true, true},
                                      {"communication", x, communication, count, 1, true, false}};
    struct html_plot plot = {.title = "How busy computation and communication of one device are over a step",
                             .x_name = "time of a step",
                             .x_format = html_format_time,
                             .y_format = format_share,
                             .x_low = from_ps,
                             .x_high = from_ps + (span_ps > 0 ? span_ps : 1),
                             .y_high = 1.05,
                             .lines = lines,
                             .line_count = 2};
    html_plot(svg, &plot);
    free(x);
}

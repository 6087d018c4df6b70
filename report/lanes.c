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

void report_lanes_make(const struct spmd_local *local, const struct cost_machine *machine,
                       struct report_lanes *out)
{
    uint32_t count;
    struct price_interval *trace = price_trace(local, machine, &count);
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
    free(trace);
}

void report_trace_text(const struct spmd_local *local, const struct cost_machine *machine,
                       const struct ir_program *program, struct text *out)
{
    uint32_t count;
    struct price_interval *trace = price_trace(local, machine, &count);
    text_add(out, "[{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"args\": {\"name\": "
                  "\"compute\"}},\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 2, "
                  "\"args\": {\"name\": \"communication\"}}");
    for (uint32_t i = 0; i < count; i++) {
        const struct spmd_step *step = &local->steps[trace[i].step];
        if (trace[i].end_ps <= trace[i].start_ps)
            continue;
        const char *name = step->kind == SPMD_OP ? ir_op_name(program, step->op)
                                                 : spmd_step_kind_name((enum spmd_step_kind)step->kind);
        text_printf(out,
                    ",\n{\"name\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.6f, \"dur\": "
                    "%.6f, \"args\": {\"step\": %u, \"line\": %u, \"exposed_us\": %.6f}}",
                    name, spmd_step_is_collective(step) ? 2 : 1, (double)trace[i].start_ps / 1e6,
                    (double)(trace[i].end_ps - trace[i].start_ps) / 1e6, trace[i].step,
                    step->op == SPMD_NONE ? 0 : program->ops[step->op].line,
                    (double)trace[i].exposed_ps / 1e6);
    }
    text_add(out, "]\n");
    free(trace);
}

enum error_code report_trace(const struct report *report, struct text *out, struct error *e)
{
    const struct plan_context *context = evaluator_context(report->evaluator);
    const struct nda *n = plan_context_nda(context);
    struct plan plan;
    struct spmd_local local = {0};
    plan_init(&plan, n, plan_context_mesh(context));
    enum error_code code = search_plan_replay(context, &report->plan, &plan)
                               ? spmd_walk(context, &plan, evaluator_options(report->evaluator), &local, e)
                               : error_set(e, ERROR_INTERNAL, "the plan does not replay to its hash");
    if (code == ERROR_OK)
        report_trace_text(&local, evaluator_machine(report->evaluator), n->program, out);
    spmd_local_release(&local);
    plan_release(&plan);
    return code;
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

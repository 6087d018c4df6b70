/* toast price: what any plan costs, by the price that the search uses (cost/price.h): step time, peak
 * memory, collectives; the experts' plans, the memory timeline and what is alive at the peak on request. */
#include "cli/choose.h"
#include "cli/output.h"
#include "cost/price.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: toast price MODULE --mesh data=4,model=4 --device a100-40 [--decisions LIST | --baseline NAME]\n"
    "       toast price MODULE --plan plan.json [--device NAME]\n"
    "       toast price MODULE --mesh AXES --device NAME --baselines\n\n"
    "  --mesh AXES           mesh axes, outermost first\n"
    "  --device NAME         of the catalogue: a100-40, h100, tpu-v5e ..\n"
    "  --decisions LIST      e.g. \"batch@data,ffn@model,sequence[1]@model,update:embed@data\", in order of "
    "priority;\n"
    "                        regather:GROUP@AXIS: its weights are gathered again, not kept\n"
    "  --baseline NAME       an expert plan, e.g. fsdp:data+megatron:model\n"
    "  --random-plan SEED    a seeded random plan\n"
    "  --plan FILE           plan.json of `toast plan` (brings its own mesh and device)\n"
    "  --baselines           a table of every expert plan\n"
    "  --memory-limit BYTES  per device; default: the device's less 10 %\n"
    "  --devices-per-host N  how many devices share a host's fast links\n"
    "  --matmuls-only        count no other computation, as the paper does\n"
    "  --order O             how the device orders the steps: program (as emitted), depth-first (as XLA "
    "does\n"
    "                        for CPUs), memory (what frees most first); default: either (times in program\n"
    "                        order, memory the larger of that and depth first)\n"
    "  --timeline            bytes alive in each step, one a line, in the order that takes most\n"
    "  --live                the tensors that make up the peak in that order\n"
    "  --json                for programs\n\n"
    "Without a plan the module is priced unsharded.\n"
    "exit status: 0 fits, 3 does not fit, 1 internal error, 2 usage, 6 module refused\n\n"
    "example:\n"
    "  toast price model.mlir --mesh data=4,model=2 --device a100-40 --baselines\n";

struct command {
    struct cli_choice choice;
    const char *module;
    bool json, baselines, matmuls_only, timeline, live;
    const char *order;
    struct cost_machine machine;
    struct evaluator *evaluator;
    struct spmd_local local;
    struct price price;
    struct cost cost;
};

static enum error_code parse(struct command *c, int argc, char **argv, struct error *e)
{
    const struct {
        const char *name;
        bool *at;
    } switches[] = {{"--json", &c->json},
                    {"--baselines", &c->baselines},
                    {"--matmuls-only", &c->matmuls_only},
                    {"--timeline", &c->timeline},
                    {"--live", &c->live}};
    for (int i = 1; i < argc; i++) {
        const char **value =
            strcmp(argv[i], "--order") == 0 ? &c->order : cli_choice_option(&c->choice, argv[i]);
        size_t s = 0;
        while (s < sizeof switches / sizeof *switches && strcmp(argv[i], switches[s].name) != 0)
            s++;
        if (value) {
            if (i + 1 == argc)
                return error_set(e, ERROR_USAGE, "%s needs a value", argv[i]);
            *value = argv[++i];
        } else if (s < sizeof switches / sizeof *switches) {
            *switches[s].at = true;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return error_set(e, ERROR_USAGE, "there is no option %.60s; toast price --help lists them",
                             argv[i]);
        } else if (c->module) {
            return error_set(e, ERROR_USAGE, "one module, not two: '%.200s' and '%.200s'", c->module,
                             argv[i]);
        } else {
            c->module = argv[i];
        }
    }
    if (!c->module)
        return error_set(e, ERROR_USAGE, "a module is needed; see toast price --help");
    if (!c->choice.plan && !c->choice.device)
        return error_set(e, ERROR_USAGE, "--device is needed; see toast price --help");
    return ERROR_OK;
}

/* ---------------------------------------------------------------- for people */
/* "12.345 ms": the unit that leaves one to three digits before the point */
static const char *scaled(char out[32], double x, const char *const *units, double step)
{
    int u = 0;
    while (units[u + 1] && x >= step) {
        x /= step;
        u++;
    }
    snprintf(out, 32, "%.3f %s", x, units[u]);
    return out;
}

static const char *seconds_text(char out[32], int64_t ps)
{
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    return scaled(out, (double)ps * 1e-3, units, 1000);
}

static const char *bytes_text(char out[32], int64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", NULL};
    return scaled(out, (double)bytes, units, 1000);
}

static void print_seconds(const char *label, int64_t ps)
{
    char text[32];
    printf("  %-22s %14s\n", label, seconds_text(text, ps));
}

static void print_bytes(const char *label, int64_t bytes)
{
    char text[32];
    printf("  %-22s %14s\n", label, bytes_text(text, bytes));
}

struct sum {
    uint8_t kind, axis_count, axes[MESH_MAX_AXES];
    int64_t count, bytes, ps;
    const char *algorithm; /* of the largest */
    int64_t largest;
};

/* collectives by kind and axes; a tuple counts once. Owned. */
static struct sum *sum_collectives(const struct command *c, uint32_t *count)
{
    const struct spmd_local *l = &c->local;
    int64_t *times = price_step_times(l, &c->machine);
    VEC(struct sum) sums = {0};
    for (uint32_t i = 0; i < l->step_count; i++) {
        const struct spmd_step *s = &l->steps[i];
        if (!spmd_step_is_collective(s))
            continue;
        size_t at = 0;
        while (at < sums.count && (sums.at[at].kind != s->kind || sums.at[at].axis_count != s->axis_count ||
                                   memcmp(sums.at[at].axes, s->axes, s->axis_count) != 0))
            at++;
        if (at == sums.count) {
            struct sum fresh = {.kind = s->kind, .axis_count = s->axis_count};
            memcpy(fresh.axes, s->axes, sizeof fresh.axes);
            VEC_PUSH(&sums, fresh);
        }
        struct sum *sum = &sums.at[at];
        sum->count += s->combined && i && l->steps[i - 1].combined == s->combined ? 0 : s->trips;
        sum->bytes += l->values[s->results].bytes * s->trips;
        sum->ps += times[i] * s->trips;
        if (times[i] >= sum->largest) {
            sum->largest = times[i];
            sum->algorithm = cost_collective_price(&c->machine, l->mesh, s->kind, s->axes, s->axis_count,
                                                   l->values[l->operands[s->operands]].bytes)
                                 .algorithm;
        }
    }
    free(times);
    *count = (uint32_t)sums.count;
    return sums.at;
}

static void axes_text(const struct mesh *m, const uint8_t *axes, uint32_t count, struct text *out)
{
    for (uint32_t a = 0; a < count; a++)
        text_printf(out, "%s%s", a ? "," : "", m->axes[axes[a]].name);
}

static void print_collectives(const struct command *c)
{
    uint32_t count;
    struct sum *sums = sum_collectives(c, &count);
    if (count)
        printf("\n%-16s %-16s %7s %14s %14s  %s\n", "collective", "axes", "count", "bytes", "time",
               "largest by");
    for (uint32_t i = 0; i < count; i++) {
        struct text axes = {0};
        axes_text(c->local.mesh, sums[i].axes, sums[i].axis_count, &axes);
        char bytes[32], time[32];
        printf("%-16s %-16s %7" PRId64 " %14s %14s  %s\n",
               spmd_step_kind_name((enum spmd_step_kind)sums[i].kind), axes.at ? axes.at : "", sums[i].count,
               bytes_text(bytes, sums[i].bytes), seconds_text(time, sums[i].ps), sums[i].algorithm);
        text_release(&axes);
    }
    free(sums);
}

static void print_table(const struct command *c)
{
    const struct price *p = &c->price, *u = evaluator_unsharded(c->evaluator);
    int64_t limit = c->machine.memory_limit_bytes;
    printf("step on %s\n", c->machine.device.name);
    print_seconds("step", p->step_ps);
    print_seconds("dots, convolutions", p->matmul_ps);
    print_seconds("other computation", p->compute_ps - p->matmul_ps);
    print_seconds("collectives", p->communication_ps);
    print_seconds("of them exposed", p->exposed_ps);
    print_seconds("longest chain", p->critical_path_ps);
    print_seconds("unsharded", u->step_ps);
    printf("\nmemory of one device\n");
    print_bytes("peak", p->peak_bytes);
    if (c->machine.order == COST_ORDER_EITHER) {
        print_bytes("in program order", p->program_peak_bytes);
        print_bytes("depth first", p->depth_first_peak_bytes);
    }
    print_bytes("arguments", p->argument_bytes);
    print_bytes("results", p->output_bytes);
    print_bytes("of them in arguments", p->alias_bytes);
    print_bytes("temporary at the peak",
                p->peak_bytes - p->argument_bytes - p->output_bytes + p->alias_bytes);
    print_bytes("limit", limit);
    print_bytes("unsharded", u->peak_bytes);
    printf("  %s\n", p->peak_bytes <= limit ? "fits" : "does not fit");
    printf("\ncost C                   %12.6f\n", cost_value(c->cost));
    print_collectives(c);
}

/* ---------------------------------------------------------------- for programs */
static void price_json(const struct price *p, struct cost cost, int64_t limit, struct text *out)
{
    text_printf(
        out,
        "\"step_ps\": %" PRId64 ", \"compute_ps\": %" PRId64 ", \"matmul_ps\": %" PRId64
        ", \"communication_ps\": %" PRId64 ", \"exposed_ps\": %" PRId64 ", \"critical_path_ps\": %" PRId64
        ", \"peak_bytes\": %" PRId64 ", \"program_peak_bytes\": %" PRId64
        ", \"depth_first_peak_bytes\": %" PRId64 ", \"peak_step\": %" PRIu32 ", \"argument_bytes\": %" PRId64
        ", \"output_bytes\": %" PRId64 ", \"alias_bytes\": %" PRId64 ", \"memory_limit_bytes\": %" PRId64
        ", \"fits\": %s, \"cost\": %.9f",
        p->step_ps, p->compute_ps, p->matmul_ps, p->communication_ps, p->exposed_ps, p->critical_path_ps,
        p->peak_bytes, p->program_peak_bytes, p->depth_first_peak_bytes, p->peak_step, p->argument_bytes,
        p->output_bytes, p->alias_bytes, limit, p->peak_bytes <= limit ? "true" : "false", cost_value(cost));
}

static void print_json(const struct command *c)
{
    struct text t = {0};
    uint32_t count;
    struct sum *sums = sum_collectives(c, &count);
    text_add(&t, "{");
    price_json(&c->price, c->cost, c->machine.memory_limit_bytes, &t);
    text_add(&t, ",\n \"collectives\": [");
    for (uint32_t i = 0; i < count; i++) {
        text_printf(&t, "%s{\"kind\": \"%s\", \"axes\": [", i ? ",\n  " : "",
                    spmd_step_kind_name((enum spmd_step_kind)sums[i].kind));
        for (uint32_t a = 0; a < sums[i].axis_count; a++)
            text_printf(&t, "%s\"%s\"", a ? ", " : "", c->local.mesh->axes[sums[i].axes[a]].name);
        text_printf(&t,
                    "], \"count\": %" PRId64 ", \"bytes\": %" PRId64 ", \"time_ps\": %" PRId64
                    ", \"algorithm\": \"%s\"}",
                    sums[i].count, sums[i].bytes, sums[i].ps, sums[i].algorithm);
    }
    text_add(&t, "]}\n");
    fputs(t.at, stdout);
    text_release(&t);
    free(sums);
}

/* ---------------------------------------------------------------- baselines, timeline, peak */
static enum error_code print_baselines(struct command *c, struct error *e)
{
    uint32_t count;
    const struct plan_context *context = c->choice.context;
    struct plan_baseline *all = plan_baselines(context, &count);
    struct evaluator_session *s = evaluator_session_create(c->evaluator);
    struct plan p;
    struct text json = {0};
    enum error_code code = ERROR_OK;
    plan_init(&p, c->choice.nda, plan_context_mesh(context));
    if (!c->json)
        printf("%-44s %11s %11s %11s %11s %11s %10s\n", "plan", "step", "matmul", "other", "collectives",
               "peak", "C");
    for (uint32_t i = 0; i < count && !code; i++) {
        struct price r;
        struct cost cost;
        plan_copy(&p, plan_context_start(context));
        plan_replay(context, all[i].decisions, &all[i].count, &p);
        code = evaluator_price(s, &p, &r, &cost, e);
        if (code)
            break;
        if (c->json) {
            text_printf(&json, "%s{\"name\": \"%s\", ", i ? ",\n " : "[", all[i].name);
            price_json(&r, cost, c->machine.memory_limit_bytes, &json);
            text_add(&json, "}");
        } else {
            char t[5][32];
            printf("%-44s %11s %11s %11s %11s %11s %10.4f\n", all[i].name, seconds_text(t[0], r.step_ps),
                   seconds_text(t[1], r.matmul_ps), seconds_text(t[2], r.compute_ps - r.matmul_ps),
                   seconds_text(t[3], r.communication_ps), bytes_text(t[4], r.peak_bytes), cost_value(cost));
        }
    }
    if (c->json && !code)
        printf("%s]\n", json.at ? json.at : "[");
    text_release(&json);
    plan_release(&p);
    evaluator_session_destroy(s);
    free(all);
    return code;
}

static void print_timeline(const struct command *c)
{
    int64_t *alive = price_timeline(&c->local, &c->machine);
    printf("\nstep  bytes alive\n");
    for (uint32_t i = 0; i < c->local.step_count; i++)
        printf("%" PRIu32 " %" PRId64 "\n", i, alive[i]);
    free(alive);
}

static int larger(const void *a, const void *b)
{
    const struct price_live *x = a, *y = b;
    return x->bytes != y->bytes  ? (x->bytes < y->bytes ? 1 : -1)
           : x->value < y->value ? -1
                                 : x->value > y->value;
}

static void print_live(const struct command *c)
{
    uint32_t count;
    const struct ir_program *p = c->choice.nda->program;
    struct price_live *live = price_live_at(&c->local, &c->machine, c->price.peak_step, &count);
    qsort(live, count, sizeof *live, larger);
    printf("\nalive at step %" PRIu32 ", largest first\n", c->price.peak_step);
    for (uint32_t i = 0; i < count; i++) {
        const struct spmd_value *v = &c->local.values[live[i].value];
        const struct ir_value *origin = &p->values[v->origin];
        const char *by = v->step == SPMD_NONE ? "argument"
                         : c->local.steps[v->step].kind == SPMD_OP && origin->op != IR_NONE
                             ? ir_op_name(p, origin->op)
                             : spmd_step_kind_name((enum spmd_step_kind)c->local.steps[v->step].kind);
        printf("%14" PRId64 "  %-10s %-34s %s\n", live[i].bytes, v->step == SPMD_NONE ? "" : "temporary", by,
               ir_string(p, p->types[origin->type].text));
    }
    free(live);
}

static bool order_of(const char *name, uint8_t *order)
{
    static const char *const names[] = {"either", "program", "depth-first", "memory"};
    for (uint8_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *order = i;
            return true;
        }
    return !name;
}

static enum error_code run(struct command *c, const struct ir_program *prepared, struct error *e)
{
    struct cli_choice *choice = &c->choice;
    enum error_code code = cli_choose(choice, prepared, e);
    if (!code && !choice->device_name[0])
        code = error_set(e, ERROR_USAGE, "the plan names no device; give --device");
    if (!code)
        code = cost_machine_create(&choice->axes, choice->device_name, choice->memory_limit_bytes,
                                   &c->machine, e);
    if (code)
        return code;
    if (c->matmuls_only)
        c->machine.fusion_weight = 0;
    if (!order_of(c->order, &c->machine.order))
        return error_set(e, ERROR_USAGE, "--order is either, program, depth-first or memory, not '%.60s'",
                         c->order);
    code = evaluator_create(choice->context, &c->machine, &choice->walk, &c->evaluator, e);
    if (!code && c->baselines)
        return print_baselines(c, e);
    if (!code)
        code = spmd_walk(choice->context, &choice->chosen, &choice->walk, &c->local, e);
    if (code)
        return code;
    struct price_scratch *scratch = NULL;
    price_reorder(&c->local, &scratch, (enum cost_order)c->machine.order);
    price_local(&c->local, &c->machine, &scratch, &c->price);
    price_scratch_destroy(scratch);
    c->cost = price_cost(&c->price, evaluator_unsharded(c->evaluator), c->machine.memory_limit_bytes);
    if (c->json)
        print_json(c);
    else
        print_table(c);
    if ((c->timeline || c->live) && price_reorder_to_peak(&c->local, &c->machine, &c->price))
        printf("\nsteps below: depth first\n");
    if (c->timeline)
        print_timeline(c);
    if (c->live)
        print_live(c);
    return ERROR_OK;
}

int cmd_price(int argc, char **argv)
{
    struct command c = {0};
    struct error e = {0};
    struct ir_program prepared = {0};
    if (cli_help(argc, argv, usage))
        return 0;
    enum error_code code = parse(&c, argc, argv, &e);
    if (!code)
        code = cli_prepare_module(c.module, &prepared, &e);
    if (!code)
        code = run(&c, &prepared, &e);
    int status = code ? cli_fail("price", code == ERROR_USAGE ? NULL : c.module, &e)
                 : c.price.peak_bytes > c.machine.memory_limit_bytes ? 3
                                                                     : 0;
    spmd_local_release(&c.local);
    evaluator_destroy(c.evaluator);
    cli_choice_release(&c.choice);
    ir_program_release(&prepared);
    return status;
}

/* toast price: what any plan costs, by the price that the search uses (cost/price.h): step time, peak
 * memory, collectives; the experts' plans, the memory timeline and what is alive at the peak on request. */
#include "base/file.h"
#include "cli/choose.h"
#include "cli/output.h"
#include "cost/price.h"
#include "report/report.h"

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
    "                        regather:GROUP@AXIS: its weights are gathered again, not kept;\n"
    "                        whole:GROUP@AXIS: its gradients are reduced whole, not scattered;\n"
    "                        stacked:GROUP@AXIS: only where it stacks weights (experts)\n"
    "  --baseline NAME       an expert plan, e.g. fsdp:data+megatron:model\n"
    "  --cut LIST            the plan edited: \"ffn@model,embed@data+model,heads@\" cuts ffn over model and\n"
    "                        embed over both, leaves heads whole; what else it says follows where it can\n"
    "  --entry FUNC          the function that is meant; default: @main, or the only public one\n"
    "  --random-plan SEED    a seeded random plan\n"
    "  --plan FILE           plan.json of `toast plan` (brings its own mesh and device)\n"
    "  --baselines           a table of every expert plan\n"
    "  --annotations A       the module's own shardings: pin (plans keep them), baseline (they are the\n"
    "                        plan, as `yours` of toast plan) or ignore (default)\n"
    "  --combine-bytes SIZE  collectives are joined up to this; 1: never\n"
    "  --memory-limit SIZE   per device, as 36GiB; default: the device's less 10 %\n"
    "  --devices-per-host N  how many devices share a host's fast links\n"
    "  --matmuls-only        count no other computation, as the paper does\n"
    "  --order O             how the device orders the steps: program (as emitted), depth-first (as XLA "
    "does\n"
    "                        for CPUs), memory (what frees most first); default: either (times and\n"
    "                        memory as the backend orders them)\n"
    "  --backend NAME        compiler that runs the plan: xla_gpu, xla_tpu, xla_cpu; default: the device's\n"
    "  --overlap O           auto: collectives run beside computation where the backend does so; none\n"
    "  --trace FILE          who computes and communicates when, on one device (Chrome trace, Perfetto)\n"
    "  --timeline            bytes alive in each step, one a line, in the order that takes most\n"
    "  --live                the tensors that make up the peak in that order\n"
    "  --json                for programs\n\n"
    "Without a plan the module is priced unsharded.\n"
    "exit status: 0 fits, 3 does not fit, 1 internal error, 2 usage, 6 module refused\n\n"
    "example:\n"
    "  toast price model.mlir --mesh data=4,model=2 --device a100-40 --baselines\n"
    "  toast price model.mlir --plan out/plan.json --cut ffn@model     (what if)\n";

struct command {
    struct cli_choice choice;
    const char *module;
    bool json, baselines, matmuls_only, timeline, live;
    const char *order, *backend, *overlap, *trace;
    struct cost_machine machine;
    struct evaluator *evaluator;
    struct spmd_local local;
    struct price price;
    struct cost cost;
};

static enum error_code parse(struct command *command, int argc, char **argv, struct error *e)
{
    const struct {
        const char *name;
        bool *at;
    } switches[] = {{"--json", &command->json},
                    {"--baselines", &command->baselines},
                    {"--matmuls-only", &command->matmuls_only},
                    {"--timeline", &command->timeline},
                    {"--live", &command->live}};
    for (int i = 1; i < argc; i++) {
        const char **value = strcmp(argv[i], "--order") == 0         ? &command->order
                             : strcmp(argv[i], "--backend") == 0     ? &command->backend
                             : strcmp(argv[i], "--overlap") == 0     ? &command->overlap
                             : strcmp(argv[i], "--trace") == 0       ? &command->trace
                             : strcmp(argv[i], "--annotations") == 0 ? &command->choice.annotations
                             : strcmp(argv[i], "--combine-bytes") == 0
                                 ? &command->choice.combine_bytes
                                 : cli_choice_option(&command->choice, argv[i]);
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
        } else if (command->module) {
            return error_set(e, ERROR_USAGE, "one module, not two: '%.200s' and '%.200s'", command->module,
                             argv[i]);
        } else {
            command->module = argv[i];
        }
    }
    if (!command->module)
        return error_set(e, ERROR_USAGE, "a module is needed; see toast price --help");
    if (!command->choice.plan && !command->choice.device)
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
static struct sum *sum_collectives(const struct command *command, uint32_t *count)
{
    const struct spmd_local *local = &command->local;
    int64_t *times = price_step_times(local, &command->machine);
    VEC(struct sum) sums = {0};
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        if (!spmd_step_is_collective(step))
            continue;
        size_t at = 0;
        while (at < sums.count &&
               (sums.at[at].kind != step->kind || sums.at[at].axis_count != step->axis_count ||
                memcmp(sums.at[at].axes, step->axes, step->axis_count) != 0))
            at++;
        if (at == sums.count) {
            struct sum fresh = {.kind = step->kind, .axis_count = step->axis_count};
            memcpy(fresh.axes, step->axes, sizeof fresh.axes);
            VEC_PUSH(&sums, fresh);
        }
        struct sum *sum = &sums.at[at];
        sum->count += step->combined && i && local->steps[i - 1].combined == step->combined ? 0 : step->trips;
        sum->bytes += local->values[step->results].bytes * step->trips;
        sum->ps += times[i] * step->trips;
        if (times[i] >= sum->largest) {
            sum->largest = times[i];
            sum->algorithm =
                cost_collective_price(&command->machine, local->mesh, step->kind, step->axes,
                                      step->axis_count, local->values[local->operands[step->operands]].bytes)
                    .algorithm;
        }
    }
    free(times);
    *count = (uint32_t)sums.count;
    return sums.at;
}

static void axes_text(const struct mesh *mesh, const uint8_t *axes, uint32_t count, struct text *out)
{
    for (uint32_t axis = 0; axis < count; axis++)
        text_printf(out, "%s%s", axis ? "," : "", mesh->axes[axes[axis]].name);
}

static void print_collectives(const struct command *command)
{
    uint32_t count;
    struct sum *sums = sum_collectives(command, &count);
    if (count)
        printf("\n%-16s %-16s %7s %14s %14s  %s\n", "collective", "axes", "count", "bytes", "time",
               "largest by");
    for (uint32_t i = 0; i < count; i++) {
        struct text axes = {0};
        axes_text(command->local.mesh, sums[i].axes, sums[i].axis_count, &axes);
        char bytes[32], time[32];
        printf("%-16s %-16s %7" PRId64 " %14s %14s  %s\n",
               spmd_step_kind_name((enum spmd_step_kind)sums[i].kind), axes.at ? axes.at : "", sums[i].count,
               bytes_text(bytes, sums[i].bytes), seconds_text(time, sums[i].ps), sums[i].algorithm);
        text_release(&axes);
    }
    free(sums);
}

static void print_table(const struct command *command)
{
    const struct price *price = &command->price, *other_price = evaluator_unsharded(command->evaluator);
    int64_t limit = command->machine.memory_limit_bytes;
    printf("step on %s\n", command->machine.device.name);
    print_seconds("step", price->step_ps);
    print_seconds("dots, convolutions", price->matmul_ps);
    print_seconds("other computation", price->compute_ps - price->matmul_ps);
    print_seconds("collectives", price->communication_ps);
    print_seconds("of them exposed", price->exposed_ps);
    print_seconds("longest chain", price->critical_path_ps);
    print_seconds("unsharded", other_price->step_ps);
    printf("\nmemory of one device\n");
    print_bytes("peak", price->peak_bytes);
    if (command->machine.order == COST_ORDER_EITHER) {
        print_bytes("in program order", price->program_peak_bytes);
        if (price->depth_first_peak_bytes)
            print_bytes("depth first", price->depth_first_peak_bytes);
        if (price->hiding_peak_bytes)
            print_bytes("as collectives are hidden", price->hiding_peak_bytes);
        if (price->memory_peak_bytes)
            print_bytes("by memory", price->memory_peak_bytes);
    }
    if (price->rematerialised_bytes)
        print_bytes("computed again", price->rematerialised_bytes);
    print_bytes("arguments", price->argument_bytes);
    print_bytes("results", price->output_bytes);
    print_bytes("of them in arguments", price->alias_bytes);
    print_bytes("temporary at the peak",
                price->peak_bytes - price->argument_bytes - price->output_bytes + price->alias_bytes);
    print_bytes("limit", limit);
    print_bytes("unsharded", other_price->peak_bytes);
    printf("  %s\n", price->peak_bytes <= limit ? "fits" : "does not fit");
    printf("\ncost C                   %12.6f   the step time beside one device's",
           cost_value(command->cost));
    if (price->peak_bytes > limit)
        printf(", and %d for each limit's worth of bytes over the limit", COST_OVER_LIMIT);
    printf("\n");
    print_collectives(command);
}

/* ---------------------------------------------------------------- for programs */
static void price_json(const struct price *price, struct cost cost, int64_t limit, struct text *out)
{
    text_printf(out,
                "\"step_ps\": %" PRId64 ", \"compute_ps\": %" PRId64 ", \"matmul_ps\": %" PRId64
                ", \"communication_ps\": %" PRId64 ", \"exposed_ps\": %" PRId64
                ", \"critical_path_ps\": %" PRId64 ", \"peak_bytes\": %" PRId64
                ", \"program_peak_bytes\": %" PRId64 ", \"depth_first_peak_bytes\": %" PRId64
                ", \"memory_peak_bytes\": %" PRId64 ", \"hiding_peak_bytes\": %" PRId64
                ", \"rematerialised_bytes\": %" PRId64 ", \"peak_step\": %" PRIu32
                ", \"argument_bytes\": %" PRId64 ", \"output_bytes\": %" PRId64 ", \"alias_bytes\": %" PRId64
                ", \"memory_limit_bytes\": %" PRId64 ", \"fits\": %s, \"cost\": %.9f",
                price->step_ps, price->compute_ps, price->matmul_ps, price->communication_ps,
                price->exposed_ps, price->critical_path_ps, price->peak_bytes, price->program_peak_bytes,
                price->depth_first_peak_bytes, price->memory_peak_bytes, price->hiding_peak_bytes,
                price->rematerialised_bytes, price->peak_step, price->argument_bytes, price->output_bytes,
                price->alias_bytes, limit, price->peak_bytes <= limit ? "true" : "false", cost_value(cost));
}

static void print_json(const struct command *command)
{
    struct text text = {0};
    uint32_t count;
    struct sum *sums = sum_collectives(command, &count);
    text_add(&text, "{");
    price_json(&command->price, command->cost, command->machine.memory_limit_bytes, &text);
    text_add(&text, ",\n \"collectives\": [");
    for (uint32_t i = 0; i < count; i++) {
        text_printf(&text, "%s{\"kind\": \"%s\", \"axes\": [", i ? ",\n  " : "",
                    spmd_step_kind_name((enum spmd_step_kind)sums[i].kind));
        for (uint32_t axis = 0; axis < sums[i].axis_count; axis++)
            text_printf(&text, "%s\"%s\"", axis ? ", " : "",
                        command->local.mesh->axes[sums[i].axes[axis]].name);
        text_printf(&text,
                    "], \"count\": %" PRId64 ", \"bytes\": %" PRId64 ", \"time_ps\": %" PRId64
                    ", \"algorithm\": \"%s\"}",
                    sums[i].count, sums[i].bytes, sums[i].ps, sums[i].algorithm);
    }
    text_add(&text, "]}\n");
    fputs(text.at, stdout);
    text_release(&text);
    free(sums);
}

/* ---------------------------------------------------------------- baselines, timeline, peak */
static enum error_code print_baselines(struct command *command, struct error *e)
{
    uint32_t count;
    const struct plan_context *context = command->choice.context;
    struct plan_baseline *all = plan_baselines(context, &count);
    struct evaluator_session *evaluator_session = evaluator_session_create(command->evaluator);
    struct plan plan;
    struct text json = {0};
    enum error_code code = ERROR_OK;
    plan_init(&plan, command->choice.nda, plan_context_mesh(context));
    if (!command->json)
        printf("%-44s %11s %11s %11s %11s %11s %10s\n", "plan", "step", "matmul", "other", "collectives",
               "peak", "C");
    for (uint32_t i = 0; i < count && !code; i++) {
        struct price price;
        struct cost cost;
        plan_copy(&plan, plan_context_start(context));
        plan_replay(context, all[i].decisions, &all[i].count, &plan);
        code = evaluator_price(evaluator_session, &plan, &price, &cost, e);
        if (code)
            break;
        if (command->json) {
            text_printf(&json, "%s{\"name\": \"%s\", ", i ? ",\n " : "[", all[i].name);
            price_json(&price, cost, command->machine.memory_limit_bytes, &json);
            text_add(&json, "}");
        } else {
            char t[5][32];
            printf("%-44s %11s %11s %11s %11s %11s %10.4f\n", all[i].name, seconds_text(t[0], price.step_ps),
                   seconds_text(t[1], price.matmul_ps),
                   seconds_text(t[2], price.compute_ps - price.matmul_ps),
                   seconds_text(t[3], price.communication_ps), bytes_text(t[4], price.peak_bytes),
                   cost_value(cost));
        }
    }
    if (command->json && !code)
        printf("%s]\n", json.at ? json.at : "[");
    text_release(&json);
    plan_release(&plan);
    evaluator_session_destroy(evaluator_session);
    free(all);
    return code;
}

static void print_timeline(const struct command *command)
{
    int64_t *alive = price_timeline(&command->local, &command->machine);
    printf("\nstep  bytes alive\n");
    for (uint32_t i = 0; i < command->local.step_count; i++)
        printf("%" PRIu32 " %" PRId64 "\n", i, alive[i]);
    free(alive);
}

static int larger(const void *left, const void *right)
{
    const struct price_live *one = left, *other = right;
    return one->bytes != other->bytes  ? (one->bytes < other->bytes ? 1 : -1)
           : one->value < other->value ? -1
                                       : one->value > other->value;
}

static void print_live(const struct command *command)
{
    uint32_t count;
    const struct ir_program *program = command->choice.nda->program;
    struct price_live *live =
        price_live_at(&command->local, &command->machine, command->price.peak_step, &count);
    qsort(live, count, sizeof *live, larger);
    printf("\nalive at step %" PRIu32 ", largest first\n", command->price.peak_step);
    for (uint32_t i = 0; i < count; i++) {
        const struct spmd_value *value = &command->local.values[live[i].value];
        const struct ir_value *origin = &program->values[value->origin];
        const char *by =
            value->step == SPMD_NONE ? "argument"
            : command->local.steps[value->step].kind == SPMD_OP && origin->op != IR_NONE
                ? ir_op_name(program, origin->op)
                : spmd_step_kind_name((enum spmd_step_kind)command->local.steps[value->step].kind);
        printf("%14" PRId64 "  %-10s %-34s %s\n", live[i].bytes, value->step == SPMD_NONE ? "" : "temporary",
               by, ir_string(program, program->types[origin->type].text));
    }
    free(live);
}

static enum error_code write_trace(const struct command *command, struct error *e)
{
    struct text out = {0};
    report_trace_text(&command->local, &command->machine, command->choice.nda->program, &out);
    enum error_code code = file_write(command->trace, out.at, out.size, e);
    text_release(&out);
    return code;
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

/* --backend and --overlap over what the device and its backend say */
static enum error_code choose_backend(struct command *command, struct error *e)
{
    enum cost_compiler compiler;
    if (command->backend && !cost_backend_find(command->backend, &compiler))
        return error_set(e, ERROR_USAGE, "--backend is one of %s, not '%.60s'", cost_backend_names(),
                         command->backend);
    if (command->overlap && strcmp(command->overlap, "auto") != 0 && strcmp(command->overlap, "none") != 0)
        return error_set(e, ERROR_USAGE, "--overlap is auto or none, not '%.60s'", command->overlap);
    if (command->backend)
        cost_machine_set_backend(&command->machine, &command->choice.axes, compiler);
    if (command->overlap && strcmp(command->overlap, "none") == 0)
        command->machine.asynchronous = false;
    return ERROR_OK;
}

static enum error_code run(struct command *command, const struct ir_program *prepared, struct error *e)
{
    struct cli_choice *choice = &command->choice;
    enum error_code code = cli_choose(choice, prepared, e);
    if (!code && !choice->device_name[0])
        code = error_set(e, ERROR_USAGE, "the plan names no device; give --device");
    if (!code)
        code = cost_machine_create(&choice->axes, choice->device_name, choice->memory_limit_bytes,
                                   &command->machine, e);
    if (code)
        return code;
    if (command->matmuls_only)
        command->machine.fusion_weight = 0;
    if (!code)
        code = choose_backend(command, e);
    if (code)
        return code;
    if (!order_of(command->order, &command->machine.order))
        return error_set(e, ERROR_USAGE, "--order is either, program, depth-first or memory, not '%.60s'",
                         command->order);
    code = evaluator_create(choice->context, &command->machine, &choice->walk, &command->evaluator, e);
    if (!code && command->baselines)
        return print_baselines(command, e);
    if (!code)
        code = spmd_walk(choice->context, &choice->chosen, &choice->walk, &command->local, e);
    if (code)
        return code;
    struct price_scratch *scratch = NULL;
    price_reorder(&command->local, &command->machine, &scratch, (enum cost_order)command->machine.order);
    price_local(&command->local, &command->machine, &scratch, NULL, &command->price);
    price_scratch_destroy(scratch);
    command->cost = price_cost(&command->price, evaluator_unsharded(command->evaluator),
                               command->machine.memory_limit_bytes);
    if (command->json)
        print_json(command);
    else
        print_table(command);
    if ((command->timeline || command->live) &&
        price_reorder_to_peak(&command->local, &command->machine, &command->price))
        printf("\nsteps below: %s\n", price_order_words(command->price.peak_order));
    if (command->timeline)
        print_timeline(command);
    if (command->live)
        print_live(command);
    return command->trace ? write_trace(command, e) : ERROR_OK;
}

int cmd_price(int argc, char **argv)
{
    struct command command = {0};
    struct error e = {0};
    struct ir_program prepared = {0};
    if (cli_help(argc, argv, usage))
        return 0;
    enum error_code code = parse(&command, argc, argv, &e);
    if (!code)
        code = cli_prepare_module(command.module, command.choice.entry, &prepared, &e);
    if (!code)
        code = run(&command, &prepared, &e);
    int status = code ? cli_fail("price", code == ERROR_USAGE ? NULL : command.module, &e)
                 : command.price.peak_bytes > command.machine.memory_limit_bytes ? 3
                                                                                 : 0;
    spmd_local_release(&command.local);
    evaluator_destroy(command.evaluator);
    cli_choice_release(&command.choice);
    ir_program_release(&prepared);
    return status;
}

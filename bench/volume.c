/* Which plan a price of communication volume alone picks, and what the full price says of it. See HELP. */
#include "bench/usage.h"
#include "segments/compose.h"
#include "tests/support/subject.h"

static const char HELP[] = "usage: bench_volume [--mesh data=8] [--device a100-40] MODULE..\n\n"
                           "Prices the experts' plans and the plans of uniform segments twice on each of "
                           "three platforms: by the bytes\n"
                           "that collectives move over the links' bandwidth, nothing else (no computation, "
                           "no latency, no choice of\n"
                           "algorithm by size: Alpa's way), and in full. Platforms: pcie (16 GB/s between "
                           "the devices of a host), nvlink\n"
                           "(the catalogue's), two nodes (half of the devices on each of two hosts). A row "
                           "says which plan each price\n"
                           "picks and the full price of both.\n\n"
                           "Example: bench_volume --mesh data=8 gpt.mlir moe.mlir\n";

enum { PLATFORMS = 3 };
static const char *const platforms[PLATFORMS] = {"pcie", "nvlink", "two nodes"};

struct pick {
    char name[200];
    struct price full;
    double volume_ms;
    struct cost cost;
    bool any;
};
struct bench {
    struct subject subject;
    struct evaluator *volume;
    struct evaluator_session *full_session, *volume_session;
    struct pick by_volume, by_full;
};

/* the same links without anything else that takes time */
static struct cost_device without_the_rest(struct cost_device device)
{
    for (int i = 0; i < COST_RATES; i++)
        device.rate_flops[i] *= 1e9;
    device.memory_bytes_per_s *= 1e9;
    device.launch_ps = 0;
    device.host_latency_ps = device.network_latency_ps = 0;
    return device;
}

static struct cost_device platform_device(const char *name, int platform, int64_t devices)
{
    struct cost_device device = *cost_device_find(name);
    if (platform == 0) {
        device.host_link_bytes_per_s = 16e9; /* PCIe 4.0 x16 is 32 GB/s, shared both ways through a switch */
        device.host_latency_ps = 8000000;
    } else if (platform == 2) {
        device.devices_per_host = devices / 2;
    }
    return device;
}

static enum error_code offer(struct bench *bench, const struct plan *plan, const char *name, struct error *e)
{
    struct price full, volume;
    struct cost full_cost, volume_cost;
    TRY(evaluator_price(bench->full_session, plan, &full, &full_cost, e));
    TRY(evaluator_price(bench->volume_session, plan, &volume, &volume_cost, e));
    if (full_cost.over_steps) /* neither may take what does not fit */
        return ERROR_OK;
    struct pick now = {.full = full, .volume_ms = (double)volume.communication_ps / 1e9, .any = true};
    snprintf(now.name, sizeof now.name, "%s", name);
    if (!bench->by_volume.any || now.volume_ms < bench->by_volume.volume_ms)
        bench->by_volume = now;
    if (!bench->by_full.any || now.full.step_ps < bench->by_full.full.step_ps)
        bench->by_full = now;
    return ERROR_OK;
}

static enum error_code offer_experts(struct bench *bench, struct error *e)
{
    const struct plan_context *context = bench->subject.context;
    uint32_t count;
    struct plan_baseline *experts = plan_baselines(context, &count);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < count && code == ERROR_OK; i++) {
        struct plan plan;
        if (strcmp(experts[i].name, "replicated") == 0) /* moves nothing at all */
            continue;
        plan_init(&plan, bench->subject.nda, &bench->subject.mesh);
        plan_replay(context, experts[i].decisions, &experts[i].count, &plan);
        code = offer(bench, &plan, experts[i].name, e);
        plan_release(&plan);
    }
    free(experts);
    return code;
}

static void name_sides(const struct segments *segments, uint32_t segment, uint64_t number, struct text *out)
{
    text_add(out, "segments");
    for (uint32_t i = 0; i < segments->segments[segment].count; i++) {
        const struct segments_block *block = &segments->blocks[segments->segments[segment].first + i];
        uint32_t digit = segments_digit(segments, segment, number, i);
        text_printf(out, "%s%s", i ? "," : " ",
                    block->strategy_count
                        ? segments_side_name(segments->strategies[block->strategies + digit].side)
                        : "none");
    }
}

/* every configuration of the largest kind, alike in all segments with as many */
static enum error_code offer_segments(struct bench *bench, struct error *e)
{
    const struct subject *subject = &bench->subject;
    struct segments *segments;
    uint32_t all, inner[SEGMENTS_LAYOUTS], largest = 0;
    segments_layouts(&subject->mesh, &all, inner);
    segments_of_layout(subject->nda, &subject->mesh, inner[0], 0, 0, &segments);
    uint32_t *configurations = mem_zalloc((size_t)segments->segment_count + 1, sizeof *configurations);
    for (uint32_t i = 0; i < segments->kind_count; i++)
        if (segments->kinds[i].configurations > segments->kinds[largest].configurations)
            largest = i;
    enum error_code code = ERROR_OK;
    for (uint64_t number = 0; number < segments->kinds[largest].configurations && code == ERROR_OK;
         number++) {
        struct plan plan;
        struct text name = {0};
        segments_base(segments, configurations);
        for (uint32_t i = 0; i < segments->segment_count; i++)
            if (segments->kinds[segments->segments[i].kind].configurations ==
                segments->kinds[largest].configurations)
                configurations[i] = (uint32_t)number;
        plan_init(&plan, subject->nda, &subject->mesh);
        segments_plan(segments, subject->context, all & ~inner[0], inner[0], configurations, &plan);
        name_sides(segments, segments->kinds[largest].example, number, &name);
        code = offer(bench, &plan, name.at, e);
        text_release(&name);
        plan_release(&plan);
    }
    free(configurations);
    segments_destroy(segments);
    return code;
}

static enum error_code run_platform(struct bench *bench, const char *model, const char *device, int platform,
                                    struct error *e)
{
    struct subject *subject = &bench->subject;
    struct cost_device full = platform_device(device, platform, mesh_devices(&subject->mesh)),
                       bare = without_the_rest(full);
    struct spmd_options walk = spmd_default_options(&subject->mesh);
    struct cost_machine volume;
    bench->by_volume = bench->by_full = (struct pick){0};
    TRY(cost_machine_create_device(&subject->mesh, &full, 0, &subject->machine, e));
    TRY(cost_machine_create_device(&subject->mesh, &bare, 0, &volume, e));
    TRY(subject_evaluator(subject, e));
    cost_walk_options(&volume, &subject->mesh, &walk);
    TRY(evaluator_create(subject->context, &volume, &walk, &bench->volume, e));
    bench->full_session = evaluator_session_create(subject->evaluator);
    bench->volume_session = evaluator_session_create(bench->volume);
    enum error_code code = offer_experts(bench, e);
    if (code == ERROR_OK)
        code = offer_segments(bench, e);
    if (code == ERROR_OK)
        printf("| %s | %s | %s | %.1f ms | %s | %.1f ms | %.2f |\n", model, platforms[platform],
               bench->by_volume.name, (double)bench->by_volume.full.step_ps / 1e9, bench->by_full.name,
               (double)bench->by_full.full.step_ps / 1e9,
               (double)bench->by_volume.full.step_ps / (double)bench->by_full.full.step_ps);
    evaluator_session_destroy(bench->full_session);
    evaluator_session_destroy(bench->volume_session);
    evaluator_destroy(bench->volume);
    return code;
}

static enum error_code run_model(const char *path, const char *mesh, const char *device, struct error *e)
{
    struct bench bench = {0};
    const char *slash = strrchr(path, '/');
    enum error_code code = subject_file(&bench.subject, path, e);
    if (code == ERROR_OK)
        code = subject_mesh(&bench.subject, mesh, e);
    for (int platform = 0; platform < PLATFORMS && code == ERROR_OK; platform++)
        code = run_platform(&bench, slash ? slash + 1 : path, device, platform, e);
    subject_close(&bench.subject);
    return code;
}

int main(int argc, char **argv)
{
    struct error e = {0};
    const char *mesh = "data=8", *device = "a100-40";
    usage_help(argc, argv, HELP);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--mesh") == 0) {
            mesh = usage_value(argc, argv, &i);
        } else if (strcmp(argv[i], "--device") == 0) {
            device = usage_value(argc, argv, &i);
        } else {
            usage_operand(argv[i]);
        }
        if (!cost_device_find(device))
            usage_refuse(device, "no device of the catalogue");
    }
    printf("| model | platform | by volume | its full price | by the full price | its full price | ratio |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            i++;
            continue;
        }
        if (run_model(argv[i], mesh, device, &e) != ERROR_OK) {
            fprintf(stderr, "bench_volume: %s: %s\n", argv[i], e.message);
            return 1;
        }
    }
    return 0;
}

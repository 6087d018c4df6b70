/* Uniform configurations of a module's segments: every layer alike, embedding and head as the base; their
 * whole price, collectives, and the programs whose times compose each. See HELP. */
#include "base/hash.h"
#include "bench/usage.h"
#include "emit/emit.h"
#include "ir/print.h"
#include "segments/choice.h"
#include "segments/programs.h"
#include "tests/support/subject.h"

#include <math.h>

static const char HELP[] =
    "usage: bench_segments MODULE [--mesh data=8] [--device a100-40] [--only N,N,..] [--write DIR]\n"
    "                      [--composed N [--alone]]\n\n"
    "Prints a line of JSON for every configuration that all segments of the largest kinds take alike (the "
    "others\n"
    "are data parallel): its strategies, the whole price in microseconds with its parts, collectives by "
    "kind, the\n"
    "bytes that a device sends in rings, and the digests of the programs that compose it (segments.tar), "
    "each with how often it counts. --write puts "
    "the\n"
    "whole module's manual form of each into DIR/N.mlir: what the composed time is measured against.\n"
    "--composed: instead of these, for every layout of the mesh, how far what is composed of tables by price "
    "is "
    "from\n"
    "the whole price, in percent of it: of N random plans whose equal segments are alike, of as many whose "
    "segments\nare not. --alone: of tables of one segment that deviates, not of all of a kind.\n\n"
    "Example: bench_segments gpt_2.mlir --mesh data=8 --only 0,40,80 --write whole/\n";

struct bench {
    struct subject subject;
    struct segments_programs programs;
    char (*digests)[SEGMENTS_DIGEST_SIZE];
    const char *directory, *only;
    uint64_t largest; /* configurations of the kinds that vary */
    uint32_t composed;
    bool alone;
};

static enum error_code write_digests(struct bench *bench, struct error *e)
{
    bench->digests = mem_zalloc((size_t)bench->programs.count + 1, sizeof *bench->digests);
    for (uint32_t i = 0; i < bench->programs.count; i++) {
        struct text text = {0};
        enum error_code code = segments_program_write(&bench->programs, i, &text, bench->digests[i], e);
        text_release(&text);
        if (code != ERROR_OK)
            return code;
    }
    return ERROR_OK;
}

/* how many crossings between different segments a pair has: one for each two segments */
static uint32_t crossings_of(const struct segments *segments, uint32_t pair)
{
    const struct segments_pair *it = &segments->pairs[pair];
    uint32_t count = 0;
    for (uint32_t i = 0; i < segments->dependence_count; i++) {
        uint32_t from = segments->contractions[segments->dependences[i].from].block,
                 to = segments->contractions[segments->dependences[i].to].block;
        const struct segments_segment *a = &segments->segments[segments->segment_of[from]],
                                      *b = &segments->segments[segments->segment_of[to]];
        bool is_new = a != b && a->kind == it->from_kind && from - a->first == it->from_block &&
                      b->kind == it->to_kind && to - b->first == it->to_block;
        for (uint32_t k = 0; k < i && is_new; k++)
            is_new = segments->contractions[segments->dependences[k].from].block != from ||
                     segments->contractions[segments->dependences[k].to].block != to;
        count += is_new;
    }
    return count;
}

static uint32_t number_of(const struct bench *bench, bool is_pair, uint32_t of, uint32_t number)
{
    for (uint32_t i = 0; i < bench->programs.count; i++)
        if (bench->programs.at[i].is_pair == is_pair && bench->programs.at[i].of == of &&
            bench->programs.at[i].number == number)
            return i;
    return 0;
}

static void print_programs(const struct bench *bench, const uint32_t *configurations)
{
    const struct segments *segments = bench->programs.segments;
    const char *comma = "";
    printf("\"programs\": [");
    for (uint32_t i = 0; i < segments->segment_count; i++, comma = ", ")
        printf("%s[\"%s\", 1]", comma,
               bench->digests[number_of(bench, false, segments->segments[i].kind, configurations[i])]);
    for (uint32_t pair = 0; pair < segments->pair_count; pair++) {
        const struct segments_original *original = &bench->programs.pairs[pair];
        uint32_t digits[2], columns = segments_strategy_count(segments, original->blocks[1]);
        for (int end = 0; end < 2; end++) {
            uint32_t segment = original->segments[end];
            digits[end] = segments_digit(segments, segment, configurations[segment],
                                         original->blocks[end] - segments->segments[segment].first);
        }
        printf(", [\"%s\", %u]",
               bench->digests[number_of(bench, true, pair, digits[0] * columns + digits[1])],
               crossings_of(segments, pair));
    }
    printf("]");
}

static enum error_code write_whole(const struct bench *bench, const struct plan *plan,
                                   const struct spmd_local *local, uint64_t number, struct error *e)
{
    struct ir_program module = {0};
    struct text text = {0};
    TRY(spmd_emit(bench->subject.context, plan, local, EMIT_MANUAL, &module, e));
    ir_print(&module, &text);
    char *path = mem_printf("%s/%llu.mlir", bench->directory, (unsigned long long)number);
    enum error_code code = file_write(path, text.at, text.size, e);
    free(path);
    text_release(&text);
    ir_program_release(&module);
    return code;
}

static void print_sides(const struct segments *segments, uint32_t segment, uint64_t number)
{
    for (uint32_t i = 0; i < segments->segments[segment].count; i++) {
        const struct segments_block *block = &segments->blocks[segments->segments[segment].first + i];
        uint32_t digit = segments_digit(segments, segment, number, i);
        printf("%s\"%s\"", i ? ", " : "",
               block->strategy_count
                   ? segments_side_name(segments->strategies[block->strategies + digit].side)
                   : "none");
    }
}

/* bytes that a device sends in rings: what a model of volume adds up */
static double volume_of(const struct spmd_local *local, const struct mesh *mesh)
{
    enum { SUMS = 256 };
    struct spmd_collective_sum sums[SUMS];
    uint32_t count = spmd_collective_sums(local, sums, SUMS);
    double bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        double devices = 1, result = (double)sums[i].bytes;
        for (uint32_t k = 0; k < sums[i].axis_count; k++)
            devices *= (double)mesh->axes[sums[i].axes[k]].size;
        bytes += sums[i].kind == SPMD_ALL_REDUCE       ? 2 * result * (devices - 1) / devices
                 : sums[i].kind == SPMD_REDUCE_SCATTER ? result * (devices - 1)
                 : sums[i].kind == SPMD_PERMUTE        ? result
                                                       : result * (devices - 1) / devices;
    }
    return bytes;
}

static enum error_code run_one(struct bench *bench, uint64_t number, struct error *e)
{
    const struct segments *segments = bench->programs.segments;
    const struct segments_programs *programs = &bench->programs;
    struct plan plan = {0};
    struct spmd_local local = {0};
    struct price price;
    struct price_scratch *scratch = NULL;
    uint32_t counts[SPMD_PERMUTE + 1] = {0}, example = 0;
    uint32_t *configurations = mem_zalloc((size_t)segments->segment_count + 1, sizeof *configurations);
    memcpy(configurations, programs->base, segments->segment_count * sizeof *configurations);
    for (uint32_t i = 0; i < segments->segment_count; i++)
        if (segments->kinds[segments->segments[i].kind].configurations == bench->largest) {
            configurations[i] = (uint32_t)number;
            example = i;
        }
    plan_init(&plan, bench->subject.nda, &bench->subject.mesh);
    segments_plan(segments, bench->subject.context, programs->outer, programs->inner, configurations, &plan);
    enum error_code code =
        spmd_walk(bench->subject.context, &plan, evaluator_options(bench->subject.evaluator), &local, e);
    if (code == ERROR_OK) {
        price_local(&local, &bench->subject.machine, &scratch, NULL, &price);
        for (uint32_t i = 0; i < local.step_count; i++)
            counts[local.steps[i].kind <= SPMD_PERMUTE ? local.steps[i].kind : 0]++;
        printf("{\"configuration\": %llu, \"strategies\": [", (unsigned long long)number);
        print_sides(segments, example, number);
        printf("], \"price_us\": %.3f, \"compute_us\": %.3f, \"communication_us\": %.3f, \"collectives\": {",
               (double)price.step_ps / 1e6, (double)price.compute_ps / 1e6,
               (double)price.communication_ps / 1e6);
        for (uint8_t kind = SPMD_ALL_GATHER; kind <= SPMD_PERMUTE; kind++)
            printf("%s\"%s\": %u", kind > SPMD_ALL_GATHER ? ", " : "", spmd_step_kind_name(kind),
                   counts[kind]);
        printf("}, \"volume_bytes\": %.0f, ", volume_of(&local, &bench->subject.mesh));
        print_programs(bench, configurations);
        printf("}\n");
        if (bench->directory)
            code = write_whole(bench, &plan, &local, number, e);
    }
    price_scratch_destroy(scratch);
    spmd_local_release(&local);
    plan_release(&plan);
    free(configurations);
    return code;
}

static bool is_wanted(const struct bench *bench, uint64_t number)
{
    if (!bench->only)
        return true;
    for (const char *at = bench->only; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strtoull(at, NULL, 10) == number)
            return true;
    return false;
}

/* ---- what is composed against the whole ---- */

static void draw(struct segments_choice *choice, bool alike, struct rng *rng)
{
    const struct segments *segments = choice->segments;
    for (uint32_t kind = 0; kind < segments->kind_count; kind++) {
        uint64_t count = segments->kinds[kind].configurations, one = rng_below(rng, count);
        for (uint32_t i = 0; i < segments->segment_count; i++)
            if (segments->segments[i].kind == kind)
                choice->now[i] = (uint32_t)(alike ? one : rng_below(rng, count));
    }
}

static enum error_code compare(struct segments_choice *choice, bool alike, uint32_t count, struct error *e)
{
    struct rng rng = {.state = 1};
    double mean = 0, worst = 0, bias = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct price price;
        struct cost cost;
        draw(choice, alike, &rng);
        TRY(segments_choice_price(choice, &price, &cost, e));
        double off =
            100 * ((double)segments_composed_ps(&choice->tables, choice->now) / (double)price.step_ps - 1);
        bias += off / count;
        mean += fabs(off) / count;
        worst = fabs(off) > fabs(worst) ? off : worst;
    }
    printf("\"%s\": {\"mean_percent\": %.2f, \"bias_percent\": %.2f, \"worst_percent\": %.2f}",
           alike ? "alike" : "apart", mean, bias, worst);
    return ERROR_OK;
}

static enum error_code run_composed(struct bench *bench, struct error *e)
{
    struct segments_budget budget = {.seed = 1, .threads = 1};
    uint32_t all, layouts[SEGMENTS_LAYOUTS], count = segments_layouts(&bench->subject.mesh, &all, layouts);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < count && code == ERROR_OK; i++) {
        struct segments_choice choice;
        segments_choice_open(bench->subject.evaluator, &budget, 0, all, layouts[i], &choice);
        code = segments_choice_tables(&choice, bench->alone, e);
        printf("{\"axes\": %u, \"kinds\": %u, \"base_ms\": %.2f, ", layouts[i], choice.segments->kind_count,
               (double)choice.base_ps / 1e9);
        if (code == ERROR_OK)
            code = compare(&choice, true, bench->composed, e);
        printf(", ");
        if (code == ERROR_OK)
            code = compare(&choice, false, bench->composed, e);
        printf("}\n");
        segments_choice_close(&choice);
    }
    return code;
}

static enum error_code run(struct bench *bench, const char *module, const char *mesh, const char *device,
                           struct error *e)
{
    TRY(subject_file(&bench->subject, module, e));
    TRY(subject_mesh(&bench->subject, mesh, e));
    TRY(subject_device(&bench->subject, device, 0, e));
    if (bench->composed)
        return run_composed(bench, e);
    TRY(segments_programs_create(bench->subject.context, &bench->programs, e));
    TRY(write_digests(bench, e));
    if (bench->directory)
        TRY(file_make_directory(bench->directory, e));
    for (uint32_t i = 0; i < bench->programs.segments->kind_count; i++)
        if (bench->programs.segments->kinds[i].configurations > bench->largest)
            bench->largest = bench->programs.segments->kinds[i].configurations;
    for (uint64_t number = 0; number < bench->largest; number++)
        if (is_wanted(bench, number))
            TRY(run_one(bench, number, e));
    return ERROR_OK;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct error e = {0};
    const char *module = NULL, *mesh = "data=8", *device = "a100-40";
    usage_help(argc, argv, HELP);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--mesh") == 0)
            mesh = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--device") == 0)
            device = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--only") == 0)
            bench.only = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--composed") == 0)
            bench.composed = (uint32_t)strtoul(usage_value(argc, argv, &i), NULL, 10);
        else if (strcmp(argv[i], "--alone") == 0)
            bench.alone = true;
        else if (strcmp(argv[i], "--write") == 0)
            bench.directory = usage_value(argc, argv, &i);
        else
            module = usage_operand(argv[i]);
    if (!module)
        usage_refuse("MODULE", "is missing");
    enum error_code code = run(&bench, module, mesh, device, &e);
    if (code != ERROR_OK)
        fprintf(stderr, "bench_segments: %s\n", e.message);
    free(bench.digests);
    segments_programs_release(&bench.programs);
    subject_close(&bench.subject);
    return code == ERROR_OK ? 0 : 1;
}

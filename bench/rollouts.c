/* One search as one line of JSON, with what the papers' ablations vary. See HELP. */
#include "bench/usage.h"
#include "mcts/core.h"
#include "tests/support/subject.h"

#include <sys/resource.h>

static const char HELP[] =
    "usage: bench_rollouts MODULE [--mesh data=8] [--device a100-40] [--rollouts N] [--seed N] [--threads "
    "N]\n"
    "                      [--parallelism N] [--no-baselines] [--by color|argument] [--any-length] "
    "[--apart]\n"
    "                      [--no-polish] [--seconds N] [--replays N]\n\n"
    "One search, printed as one line of JSON: the best plan's C, step, peak and hash, rollouts, evaluations\n"
    "(plans priced), seconds of the processor, the mean length of trajectories and their histogram, why the\n"
    "search stopped, and the curve of best C by rollouts.\n\n"
    "  --by argument   a decision is a dimension of one argument, propagated through the program after each\n"
    "                  (AutoMap's way), not a color\n"
    "  --any-length    short trajectories are worth no more than long ones\n"
    "  --apart         no task sees what the others' epochs before it found\n"
    "  --no-polish     no local search at the end\n"
    "  --seconds N     by the clock: the best plan so far then, stop reason `seconds`\n"
    "  --replays N     search nothing: seconds of N random lists of 4 decisions each applied from the "
    "start\n\n"
    "Example: bench_rollouts tests/models/t2b_scan.mlir.gz --mesh data=4,model=4 --no-baselines "
    "--any-length\n";

struct bench {
    const char *path, *mesh, *device;
    struct search_options options;
    struct core_tuning tuning;
    uint32_t threads, replays, seconds;
    struct subject subject;
};

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void must(enum error_code code, const struct error *e)
{
    if (code == ERROR_OK)
        return;
    fprintf(stderr, "bench_rollouts: %s: %s (line %d)\n", error_code_text(code), e->message, e->line);
    exit(1);
}

static double cost_of(struct cost cost)
{
    return (double)cost.c * 0x1p-32;
}

static void print_lengths(const struct search_state *state)
{
    uint64_t rollouts = 0, decisions = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i <= SEARCH_MAX_LIST; i++) {
        rollouts += state->lengths[i];
        decisions += i * state->lengths[i];
        last = state->lengths[i] ? i : last;
    }
    printf(", \"mean_length\": %.4f, \"lengths\": [", rollouts ? (double)decisions / (double)rollouts : 0.0);
    for (uint32_t i = 0; i <= last; i++)
        printf("%s%llu", i ? ", " : "", (unsigned long long)state->lengths[i]);
    printf("]");
}

static void print_state(const struct search_state *state, double seconds)
{
    const struct search_plan *best = &state->best;
    printf("{\"c\": %.9f, \"over_steps\": %lld, \"step_ms\": %.6f, \"peak_bytes\": %lld, \"decisions\": %u, ",
           cost_of(best->cost), (long long)best->cost.over_steps, (double)best->price.step_ps / 1e9,
           (long long)best->price.peak_bytes, best->count);
    printf("\"hash\": \"%016llx%016llx\", \"found_by\": \"%s\", \"rollouts\": %llu, \"evaluations\": %llu, ",
           (unsigned long long)best->hash.hi, (unsigned long long)best->hash.lo, best->found_by,
           (unsigned long long)state->rollouts, (unsigned long long)state->evaluations);
    printf("\"cpu_s\": %.3f, \"stop_reason\": \"%s\"", seconds, state->stop_reason);
    print_lengths(state);
    printf(", \"curve\": [");
    for (uint32_t i = 0; i < state->curve_count; i++)
        printf("%s[%llu, %.9f, %lld]", i ? ", " : "", (unsigned long long)state->curve[i].rollouts,
               cost_of(state->curve[i].cost), (long long)state->curve[i].cost.over_steps);
    printf("]}\n");
}

static void run_search(struct bench *bench)
{
    struct search *search;
    struct search_state *state = mem_alloc(sizeof *state);
    struct error e;
    double before = cpu_s();
    must(search_create(bench->subject.evaluator, &bench->options, &search, &e), &e);
    core_tune(search, bench->tuning);
    must(search_run(search, bench->threads, bench->seconds, NULL, NULL, state, NULL, NULL, &e), &e);
    print_state(state, cpu_s() - before);
    search_destroy(search);
    free(state);
}

/* what an action costs before its plan is priced */
static void run_replays(struct bench *bench)
{
    enum { ACTIONS = 4 };
    struct search_domain *domain;
    struct error e;
    struct rng rng = {bench->options.seed};

    must(bench->options.method == SEARCH_PER_ACTION
             ? search_domain_create_per_action(bench->subject.evaluator, &domain, &e)
             : search_domain_create(bench->subject.evaluator, &domain, &e),
         &e);
    struct evaluator_session *evaluator = evaluator_session_create(bench->subject.evaluator);
    void *session = domain->session_create(domain, evaluator);
    double before = cpu_s();
    for (uint32_t i = 0; i < bench->replays; i++) {
        struct search_list list = {.count = ACTIONS};
        struct hash128 hash;
        for (uint32_t k = 0; k < ACTIONS; k++)
            list.at[k] = (uint16_t)rng_below(&rng, domain->decision_count);
        domain->replay(session, &list, &hash);
    }
    printf("{\"replays\": %u, \"actions\": %d, \"cpu_s\": %.6f, \"offered\": %u}\n", bench->replays, ACTIONS,
           cpu_s() - before, domain->decision_count);
    domain->session_destroy(session);
    evaluator_session_destroy(evaluator);
    domain->destroy(domain);
}

static void parse_by(const char *word, struct bench *bench)
{
    if (strcmp(word, "argument") == 0)
        bench->options.method = SEARCH_PER_ACTION;
    else if (strcmp(word, "color") != 0)
        usage_refuse(word, "--by is color or argument");
}

static bool parse_flag(const char *option, struct bench *bench)
{
    const struct {
        const char *option;
        uint8_t *set;
    } flags[] = {{"--no-baselines", &bench->options.no_baselines},
                 {"--any-length", &bench->tuning.any_length},
                 {"--apart", &bench->tuning.apart},
                 {"--no-polish", &bench->tuning.no_polish}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(option, flags[i].option) == 0) {
            *flags[i].set = 1;
            return true;
        }
    return false;
}

static void parse(int argc, char **argv, struct bench *bench)
{
    for (int i = 1; i < argc; i++) {
        if (parse_flag(argv[i], bench))
            continue;
        if (strcmp(argv[i], "--mesh") == 0)
            bench->mesh = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--device") == 0)
            bench->device = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--rollouts") == 0)
            bench->options.rollouts = (uint32_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--seed") == 0)
            bench->options.seed = usage_number(argc, argv, &i, 0);
        else if (strcmp(argv[i], "--threads") == 0)
            bench->threads = (uint32_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--parallelism") == 0)
            bench->options.parallelism = (uint32_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--replays") == 0)
            bench->replays = (uint32_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--seconds") == 0)
            bench->seconds = (uint32_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--by") == 0)
            parse_by(usage_value(argc, argv, &i), bench);
        else
            bench->path = usage_operand(argv[i]);
    }
    if (!bench->path)
        usage_refuse("bench_rollouts", "a module is needed");
}

int main(int argc, char **argv)
{
    struct error e = {0};
    struct bench bench = {
        .mesh = "data=8", .device = "a100-40", .threads = 1, .tuning = core_tuning_default()};
    usage_help(argc, argv, HELP);
    parse(argc, argv, &bench);
    if (!cost_device_find(bench.device))
        usage_refuse(bench.device, "no device of the catalogue");
    must(subject_file(&bench.subject, bench.path, &e), &e);
    must(subject_mesh(&bench.subject, bench.mesh, &e), &e);
    must(subject_device(&bench.subject, bench.device, 0, &e), &e);
    if (bench.replays)
        run_replays(&bench);
    else
        run_search(&bench);
    subject_close(&bench.subject);
    return 0;
}

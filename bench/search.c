/* The search, measured: against every baseline, random and greedy search at equal evaluations, exhaustion
 * on tiny programs; best price by rollouts; threads; what each part of it is worth.
 *
 * Meshes and devices are those of the table below: plans fit there, so that time decides. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/usage.h"
#include "mcts/core.h"
#include "tests/support/subject.h"

static const struct bench_module {
    const char *name, *mesh, *device;
} modules[] = {
    {"mlp.mlir", "data=4,model=2", "a100-40"},          {"paper_attention.mlir", "data=4,model=2", "a100-40"},
    {"t2b.mlir.gz", "data=8,model=8", "a100-40"},       {"t2b_16k.mlir.gz", "data=8,model=8", "a100-80"},
    {"t2b_remat.mlir.gz", "data=8,model=8", "a100-40"}, {"t2b_scan.mlir.gz", "data=8,model=8", "a100-40"},
    {"t2b_flat.mlir.gz", "data=8,model=8", "a100-40"},  {"gpt_torch.mlir.gz", "data=4,model=4", "a100-40"},
    {"t7b.mlir.gz", "data=8,model=8", "a100-80"},       {"gpt.mlir.gz", "data=8,model=8", "a100-40"},
    {"gns.mlir.gz", "data=4,model=4", "a100-40"},       {"unet.mlir.gz", "data=4,model=4", "a100-40"},
    {"itx.mlir.gz", "data=4,model=4", "a100-40"},
};
enum { MODULES = sizeof modules / sizeof *modules };

static double now_s(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return (double)when.tv_sec + 1e-9 * (double)when.tv_nsec;
}

static void must(enum error_code code, const struct error *e)
{
    if (code == ERROR_OK)
        return;
    fprintf(stderr, "bench_search: %s: %s (line %d)\n", error_code_text(code), e->message, e->line);
    exit(1);
}

static void subject_open(const struct bench_module *bench_module, const char *folder, struct subject *subject)
{
    struct error e;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, bench_module->name);
    must(subject_file(subject, path, &e), &e);
    must(subject_mesh(subject, bench_module->mesh, &e), &e);
    must(subject_device(subject, bench_module->device, 0, &e), &e);
}

struct outcome {
    struct search_state state;
    double seconds;
};

static struct outcome solve(const struct subject *subject, struct search_options options,
                            const struct core_tuning *tuning, uint32_t threads)
{
    struct search *search;
    struct error e;
    struct outcome out;
    must(search_create(subject->evaluator, &options, &search, &e), &e);
    if (tuning)
        core_tune(search, *tuning);
    double start = now_s();
    must(search_run(search, threads, 0, NULL, NULL, &out.state, NULL, NULL, &e), &e);
    out.seconds = now_s() - start;
    search_destroy(search);
    return out;
}

static double cost_of(const struct search_plan *plan)
{
    return (double)plan->cost.c * 0x1p-32;
}

/* how much dearer search_plan is than a, in percent of C; bytes over the limit count first */
static double worse(const struct search_plan *plan, const struct search_plan *search_plan)
{
    if (plan->cost.over_steps != search_plan->cost.over_steps)
        return plan->cost.over_steps < search_plan->cost.over_steps ? 999 : -999;
    return 100 * (cost_of(search_plan) / cost_of(plan) - 1);
}

static struct search_plan best_baseline(const struct subject *subject)
{
    struct search *search;
    struct error e;
    struct search_options options = {.method = SEARCH_BASELINES};
    must(search_create(subject->evaluator, &options, &search, &e), &e);
    BASE_CHECK(search_baseline_count(search) > 0);
    struct search_plan best = *search_baseline(search, 0);
    for (uint32_t i = 1; i < search_baseline_count(search); i++) {
        const struct search_plan *plan = search_baseline(search, i);
        if (cost_compare(plan->cost, plan->hash, best.cost, best.hash) < 0)
            best = *plan;
    }
    search_destroy(search);
    return best;
}

static void print_decisions(const struct subject *subject, const struct search_plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        struct text text = {0};
        plan_decision_text(subject->context, plan->decisions[i], &text);
        printf("%s%s", i ? " " : "", text.at);
        text_release(&text);
    }
    printf("\n");
}

static void table_quality(const struct subject *subject, const struct bench_module *bench_module,
                          struct search_options options)
{
    struct search_plan expert = best_baseline(subject);
    struct outcome with = solve(subject, options, NULL, 2);
    struct search_options other = options;
    other.no_baselines = 1;
    struct outcome without = solve(subject, other, NULL, 2);
    other.rollouts = (uint32_t)without.state.evaluations;
    other.method = SEARCH_RANDOM;
    struct outcome random = solve(subject, other, NULL, 1);
    other.method = SEARCH_GREEDY;
    struct outcome greedy = solve(subject, other, NULL, 1);
    const struct search_plan *best = &with.state.best;
    printf("| %s | %s %s | %.4f | %.1f ms | %.1f GiB%s | %+.2f %% | %+.2f %% | %+.2f %% | %+.2f %% | %lu / "
           "%lu | %.1f s |\n",
           bench_module->name, bench_module->mesh, bench_module->device, cost_of(best),
           (double)best->price.step_ps * 1e-9, (double)best->price.peak_bytes / (1 << 30),
           best->cost.over_steps ? " (too much)" : "", worse(best, &expert), worse(best, &without.state.best),
           worse(&without.state.best, &random.state.best), worse(&without.state.best, &greedy.state.best),
           (unsigned long)with.state.rollouts, (unsigned long)with.state.evaluations, with.seconds);
    printf("|   | %s; %s; best expert %s | | | | | | | | | |\n|   | ", best->found_by, with.state.stop_reason,
           expert.found_by);
    print_decisions(subject, best);
    fflush(stdout);
}

static void table_curve(const struct subject *subject, const struct bench_module *bench_module,
                        struct search_options options)
{
    struct outcome outcome = solve(subject, options, NULL, 2);
    printf("| %s |", bench_module->name);
    for (uint32_t i = 0; i < outcome.state.curve_count; i++)
        printf(" %lu: %.4f", (unsigned long)outcome.state.curve[i].rollouts,
               (double)outcome.state.curve[i].cost.c * 0x1p-32);
    printf(" |\n");
    fflush(stdout);
}

/* member by member: between them lie bytes that nobody sets */
static bool same_result(const struct search_state *state, const struct search_state *search_state)
{
    bool same = state->epoch == search_state->epoch && state->phase == search_state->phase &&
                state->tasks == search_state->tasks && state->rollouts == search_state->rollouts &&
                state->evaluations == search_state->evaluations && state->dropped == search_state->dropped &&
                cost_compare(state->best.cost, state->best.hash, search_state->best.cost,
                             search_state->best.hash) == 0 &&
                strcmp(state->best.found_by, search_state->best.found_by) == 0 &&
                strcmp(state->stop_reason, search_state->stop_reason) == 0 &&
                state->curve_count == search_state->curve_count;
    for (uint32_t i = 0; same && i < state->curve_count; i++)
        same = state->curve[i].rollouts == search_state->curve[i].rollouts &&
               state->curve[i].cost.c == search_state->curve[i].cost.c &&
               state->curve[i].step_ps == search_state->curve[i].step_ps;
    return same;
}

static void table_threads(const struct subject *subject, const struct bench_module *bench_module,
                          struct search_options options)
{
    struct outcome one = solve(subject, options, NULL, 1), two = solve(subject, options, NULL, 2);
    bool same = same_result(&one.state, &two.state);
    printf("| %s | %lu | %lu | %.2f s | %.0f/s | %.2f s | %.0f/s | %.2f | %s |\n", bench_module->name,
           (unsigned long)one.state.rollouts, (unsigned long)one.state.evaluations, one.seconds,
           (double)one.state.rollouts / one.seconds, two.seconds, (double)two.state.rollouts / two.seconds,
           one.seconds / two.seconds, same ? "same" : "DIFFERENT");
    fflush(stdout);
}

/* Every plan that any list of decisions reaches, if there are at most `most` of them. */
static uint32_t exhaust(const struct subject *subject, uint32_t most, struct cost *best,
                        struct hash128 *best_hash)
{
    struct search_domain *domain;
    struct error e;
    must(search_domain_create(subject->evaluator, &domain, &e), &e);
    struct evaluator_session *evaluator = evaluator_session_create(subject->evaluator);
    void *session = domain->session_create(domain, evaluator);
    struct tree seen = {0};
    VEC(struct search_list) lists = {NULL, 0, 0};
    struct search_list empty = {.count = 0};
    struct price price;
    domain->replay(session, &empty, best_hash);
    must(domain->price(session, &empty, 0, &price, best, &e), &e);
    tree_node(&seen, tree_state(*best_hash), NULL, 0);
    VEC_PUSH(&lists, empty);
    for (size_t i = 0; i < lists.count && lists.count <= most; i++) {
        for (uint32_t decision = 0; decision < domain->decision_count; decision++) {
            struct search_list next = lists.at[i];
            struct hash128 hash;
            struct cost cost;
            if (!core_list_insert(&next, next.count, (uint16_t)decision))
                continue;
            domain->replay(session, &next, &hash);
            if (tree_find(&seen, tree_state(hash)) != TREE_NONE)
                continue;
            tree_node(&seen, tree_state(hash), next.at, next.count);
            VEC_PUSH(&lists, next);
            must(domain->price(session, &next, 0, &price, &cost, &e), &e);
            if (cost_compare(cost, hash, *best, *best_hash) < 0) {
                *best = cost;
                *best_hash = hash;
            }
        }
    }
    uint32_t count = (uint32_t)lists.count;
    VEC_FREE(&lists);
    tree_release(&seen);
    domain->session_destroy(session);
    evaluator_session_destroy(evaluator);
    domain->destroy(domain);
    return count;
}

static void table_tiny(const struct subject *subject, const struct bench_module *bench_module,
                       struct search_options options)
{
    enum { MOST = 20000 };
    struct cost best;
    struct hash128 hash;
    uint32_t plans = exhaust(subject, MOST, &best, &hash);
    if (plans > MOST) {
        printf("| %s | more than %d plans | | |\n", bench_module->name, MOST);
        return;
    }
    options.no_baselines = 1;
    struct outcome outcome = solve(subject, options, NULL, 2);
    bool equal = outcome.state.best.cost.c == best.c && outcome.state.best.cost.over_steps == best.over_steps;
    printf("| %s | %u | %.6f | %.6f %s after %lu evaluations |\n", bench_module->name, plans,
           (double)best.c * 0x1p-32, cost_of(&outcome.state.best), equal ? "equal" : "WORSE",
           (unsigned long)outcome.state.evaluations);
    fflush(stdout);
}

enum { PARTS = 13, SEEDS = 3 };

static struct core_tuning without_part(uint32_t i)
{
    struct core_tuning tuning = core_tuning_default();
    tuning.walkers = i == 1 ? 0 : i == 2 ? 8 : tuning.walkers;
    tuning.playout = i == 3 ? 0 : tuning.playout;
    tuning.explore = i == 4 ? tuning.explore / 2 : i == 5 ? tuning.explore * 2 : tuning.explore;
    tuning.mean_only = i == 6;
    tuning.uniform_prior = i == 7;
    tuning.last_only = i == 8;
    tuning.no_polish = i == 9;
    tuning.apart = i == 10;
    tuning.strangers = i == 11 ? 0 : tuning.strangers;
    tuning.slacks = i == 12 ? 1 : tuning.slacks;
    return tuning;
}

static void table_parts(const struct subject *subject, const struct bench_module *bench_module,
                        struct search_options options)
{
    static const char *const names[PARTS] = {"as shipped",       "no walkers",    "walkers alone",
                                             "no playout",       "explore x 1/2", "explore x 2",
                                             "mean only",        "uniform prior", "append only",
                                             "no polish",        "tasks apart",   "walks from the best only",
                                             "walks uphill only"};
    static struct outcome outcome[PARTS][SEEDS];
    options.no_baselines = 1;
    const struct search_plan *best = NULL;
    for (uint32_t i = 0; i < PARTS; i++) {
        struct core_tuning tuning = without_part(i);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            options.seed = seed;
            outcome[i][seed] = solve(subject, options, &tuning, 2);
            const struct search_plan *found = &outcome[i][seed].state.best;
            if (!best || cost_compare(found->cost, found->hash, best->cost, best->hash) < 0)
                best = found;
        }
    }
    for (uint32_t i = 0; i < PARTS; i++) {
        double sum = 0, most = 0, evaluations = 0;
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            double dearer = worse(best, &outcome[i][seed].state.best);
            sum += dearer / SEEDS;
            most = dearer > most ? dearer : most;
            evaluations += (double)outcome[i][seed].state.evaluations / SEEDS;
        }
        printf("| %s | %s | %+.2f %% | %+.2f %% | %.0f |\n", bench_module->name, names[i], sum, most,
               evaluations);
    }
    fflush(stdout);
}

static void table_action(const struct subject *subject, const struct bench_module *bench_module,
                         struct search_options options)
{
    struct outcome ours = solve(subject, options, NULL, 2);
    options.method = SEARCH_PER_ACTION;
    struct outcome theirs = solve(subject, options, NULL, 2);
    printf("| %s | %.4f | %lu | %.2f s | %.4f | %lu | %.2f s |\n", bench_module->name,
           cost_of(&ours.state.best), (unsigned long)ours.state.evaluations, ours.seconds,
           cost_of(&theirs.state.best), (unsigned long)theirs.state.evaluations, theirs.seconds);
    fflush(stdout);
}

static double merge_ms(const struct search *search, const struct search_blob *snapshot,
                       const struct search_blob *deltas, uint32_t count, struct search_blob *next)
{
    double least = 1e9;
    for (int i = 0; i < 5; i++) {
        struct error e;
        free(next->bytes);
        double start = now_s();
        must(search_merge(search, snapshot->bytes, snapshot->size, deltas, count, next, &e), &e);
        double took = 1e3 * (now_s() - start);
        least = took < least ? took : least;
    }
    return least;
}

/* the first epochs with so many tasks each: what the merge of each of them takes (best of five) */
static void table_merge(const struct subject *subject, const struct bench_module *bench_module,
                        struct search_options options)
{
    enum { EPOCHS = 4 };
    static const uint32_t parallelism[] = {16, 64, 256};
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    for (size_t k = 0; k < sizeof parallelism / sizeof *parallelism; k++) {
        struct search *search;
        struct error e;
        uint32_t count = parallelism[k];
        struct search_blob snapshot, next, *deltas = mem_zalloc(count, sizeof *deltas);
        options.parallelism = count;
        must(search_create(subject->evaluator, &options, &search, &e), &e);
        search_begin(search, &snapshot);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            size_t bytes = 0;
            for (uint32_t i = 0; i < count; i++) {
                must(search_task(search, snapshot.bytes, snapshot.size, i, session, NULL, &deltas[i], &e),
                     &e);
                bytes += deltas[i].size;
            }
            next = (struct search_blob){0};
            double ms = merge_ms(search, &snapshot, deltas, count, &next);
            printf("| %s | %u | %d | %.1f | %.0f | %.0f |\n", bench_module->name, count, epoch, ms,
                   1e-3 * (double)bytes, 1e-3 * (double)next.size);
            fflush(stdout);
            for (uint32_t i = 0; i < count; i++)
                free(deltas[i].bytes);
            free(snapshot.bytes);
            snapshot = next;
        }
        free(snapshot.bytes);
        free(deltas);
        search_destroy(search);
    }
    evaluator_session_destroy(session);
}

static const struct {
    const char *name, *head;
    void (*run)(const struct subject *p, const struct bench_module *m, struct search_options o);
} tables[] = {
    {"quality",
     "| module | mesh | best C | step | peak | best expert | no baselines | random | greedy | rollouts / "
     "evaluations | time |\n"
     "|---|---|---|---|---|---|---|---|---|---|---|",
     table_quality},
    {"curve", "| module | best C by rollouts |\n|---|---|", table_curve},
    {"threads",
     "| module | rollouts | evaluations | 1 thread | | 2 threads | | speed-up | result "
     "|\n|---|---|---|---|---|---|---|---|---|",
     table_threads},
    {"tiny", "| module | plans | best of all | search |\n|---|---|---|---|", table_tiny},
    {"parts",
     "| module | search | dearer than the best of all, mean of 3 seeds | worst | evaluations "
     "|\n|---|---|---|---|---|",
     table_parts},
    {"action",
     "| module | decisions by color: C | evaluations | time | by argument: C | evaluations | time "
     "|\n|---|---|---|---|---|---|---|",
     table_action},
    {"merge", "| module | tasks | epoch | merge ms | deltas kB | snapshot kB |\n|---|---|---|---|---|---|",
     table_merge},
};
enum { TABLES = sizeof tables / sizeof *tables };

static bool listed(const char *list, const char *name)
{
    size_t size = strcspn(name, ".");
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strcspn(at, ",") == size && strncmp(at, name, size) == 0)
            return true;
    return false;
}

static const char help[] =
    "usage: bench_search [--table NAME] [--models a,b,..] [--rollouts N] [--seed N] [--mesh AXES] [--device "
    "NAME]\n"
    "                    [--folder DIR]\n"
    "\n"
    "The search, measured on the modules of tests/models, each on a mesh and device where plans fit. "
    "Tables:\n"
    "  quality   best C against experts, without them, random and greedy search at equal evaluations "
    "(default)\n"
    "  curve     best C by rollouts\n"
    "  threads   one thread against two: time, and whether the result is the same\n"
    "  tiny      against every plan that a list of decisions reaches (small programs only)\n"
    "  parts     what each part of the search is worth: means of three seeds with one part off\n"
    "  action    decisions by color against decisions by argument\n"
    "  merge     milliseconds of the merge of 16, 64 and 256 tasks\n"
    "  all       all of them\n"
    "\n"
    "  --models a,b,..   names without ending; default: all thirteen\n"
    "  --rollouts N      budget of each search; default: the planner's own\n"
    "  --mesh, --device  in place of the table's\n"
    "  --folder DIR      where the modules are; default tests/models\n"
    "\n"
    "examples:\n"
    "  build/release/bin/bench_search --table quality --models mlp,t2b\n"
    "  build/release/bin/bench_search --table tiny --models mlp,paper_attention\n";

int main(int argc, char **argv)
{
    const char *only = NULL, *table = "quality", *folder = "tests/models", *mesh = NULL, *device = NULL;
    struct search_options options = {0};
    bool known = false;
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--models") == 0)
            only = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--table") == 0)
            table = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--folder") == 0)
            folder = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--mesh") == 0)
            mesh = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--device") == 0)
            device = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--seed") == 0)
            options.seed = usage_number(argc, argv, &i, 0);
        else if (strcmp(argv[i], "--rollouts") == 0)
            options.rollouts = (uint32_t)usage_number(argc, argv, &i, 1);
        else
            usage_refuse(argv[i], "no such option");
    }
    for (int t = 0; t < TABLES; t++)
        known |= strcmp(table, "all") == 0 || strcmp(table, tables[t].name) == 0;
    if (!known)
        usage_refuse(table, "no such table");
    for (int t = 0; t < TABLES; t++) {
        if (strcmp(table, "all") && strcmp(table, tables[t].name))
            continue;
        printf("\n%s\n", tables[t].head);
        for (int i = 0; i < MODULES; i++) {
            struct bench_module bench_module = modules[i];
            if (only && !listed(only, bench_module.name))
                continue;
            bench_module.mesh = mesh ? mesh : bench_module.mesh;
            bench_module.device = device ? device : bench_module.device;
            struct subject subject;
            subject_open(&bench_module, folder, &subject);
            tables[t].run(&subject, &bench_module, options);
            subject_close(&subject);
        }
    }
    return 0;
}

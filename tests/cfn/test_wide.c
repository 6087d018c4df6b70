/* links: cfn */
/* label: unit */
/* Wide moves: on small networks one move finds what trying all assignments finds, under any prices of usage;
 * with small tables it is exact over the nodes that it frees, and the others stay; ties keep present values;
 * tables and work stay within what was allowed, and nothing is allocated. In the search: one thread and two
 * give the same bytes, answers are within the limit and never below the optimum, and better than with forest
 * moves alone. */
#include "tests/cfn/grid_problem.h"
#include "tests/cfn/random_problem.h"

#include "cfn/kernel.h"
#include "cfn/load.h"
#include "cfn/reduce.h"
#include "cfn/solve.h"

#include <math.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
static int allocations;
void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}
#else
#define COUNTS_ALLOCATIONS 0
static int allocations;
#endif

/* whole numbers so small that sums of floats are exact */
static const struct random_shape sparse = {8, 4, 9, 0.1, 0.15, 0.2, 50, 1, 1};
static const struct random_shape dense = {8, 3, 26, 0.02, 0.0, 0.0, 1000, 0, 1};
static const struct random_shape equal = {8, 3, 16, 0.0, 0.0, 0.0, 2, 0, 1}; /* many ties */
static const struct random_shape *const shapes[] = {&sparse, &dense, &equal};

struct core {
    struct cfn_problem problem;
    struct cfn_network *n;
    struct cfn_model model;
    struct cfn_wide wide;
    float *unary;
    int32_t *value, *nodes, *changed, *old;
};

/* reduced only where that leaves cycles; usage has prices that are whole numbers. false: nothing is left */
static bool make_core(struct core *core, struct rng *rng, const struct random_shape *shape)
{
    struct error e;
    random_problem(rng, shape, &core->problem);
    ASSERT_OK(cfn_network_create(&core->problem, true, &core->n, &e), &e);
    cfn_reduce(core->n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
    if (core->n->wiped) {
        cfn_network_destroy(core->n);
        cfn_problem_release(&core->problem);
        return false;
    }
    struct cfn_model *model = &core->model;
    cfn_model_create(core->n, model);
    cfn_wide_create(model, &core->wide);
    size_t n = (size_t)model->node_count + 1;
    double *prices = mem_zalloc((size_t)model->time_count + 1, sizeof *prices);
    for (int32_t t = 0; t < model->time_count; t++)
        prices[t + 1] = prices[t] + (double)rng_below(rng, 4);
    core->unary = mem_zalloc(model->value_count + 16, sizeof *core->unary);
    cfn_price_unary(model, prices, 1, core->unary);
    free(prices);
    core->value = mem_zalloc(n, sizeof *core->value);
    core->nodes = mem_zalloc(n, sizeof *core->nodes);
    core->changed = mem_zalloc(n, sizeof *core->changed);
    core->old = mem_zalloc(n, sizeof *core->old);
    for (int32_t i = 0; i < model->node_count; i++) {
        core->nodes[i] = i;
        core->value[i] = (int32_t)rng_below(rng, (uint64_t)model->size[i]);
    }
    return true;
}

static void release_core(struct core *core)
{
    cfn_wide_release(&core->wide);
    cfn_model_release(&core->model);
    cfn_network_destroy(core->n);
    cfn_problem_release(&core->problem);
    free(core->unary);
    free(core->value);
    free(core->nodes);
    free(core->changed);
    free(core->old);
}

/* under the priced costs, by the model's rows */
static double cost_of(const struct core *core, const int32_t *value)
{
    const struct cfn_model *model = &core->model;
    double sum = 0;
    for (int32_t i = 0; i < model->node_count; i++) {
        sum += core->unary[model->offset[i] + (size_t)value[i]];
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            const struct cfn_arc *arc = &model->arcs[k];
            if (arc->other > i)
                sum += arc->rows[(size_t)value[i] * (size_t)arc->row_width + (size_t)value[arc->other]];
        }
    }
    return sum;
}

/* the least cost of all assignments that differ from `from` at most where free is set */
static double least_of(const struct core *core, const int32_t *from, const bool *freed)
{
    const struct cfn_model *model = &core->model;
    int32_t *value = mem_zalloc((size_t)model->node_count + 1, sizeof *value),
            *sizes = mem_zalloc((size_t)model->node_count + 1, sizeof *sizes);
    double best = HUGE_VAL;
    for (int32_t i = 0; i < model->node_count; i++) {
        sizes[i] = freed[i] ? model->size[i] : 0;
        value[i] = freed[i] ? 0 : from[i];
    }
    do {
        for (int32_t i = 0; i < model->node_count; i++)
            value[i] = freed[i] ? value[i] : from[i]; /* next_assignment sets what does not move to 0 */
        double cost = cost_of(core, value);
        best = cost < best ? cost : best;
    } while (next_assignment(sizes, (uint32_t)model->node_count, value));
    free(value);
    free(sizes);
    return best;
}

/* one move; the nodes it freed -> freed. What a move promises is checked. */
static int32_t move(struct core *core, struct rng *rng, double largest, double total, bool *freed)
{
    const struct cfn_model *model = &core->model;
    struct cfn_wide *wide = &core->wide;
    int32_t *before = mem_zalloc((size_t)model->node_count + 1, sizeof *before);
    memcpy(before, core->value, (size_t)model->node_count * sizeof *before);
    uint64_t work = wide->work;
    int made = allocations;
    int32_t changes = cfn_wide_move(wide, rng, core->nodes, model->node_count, largest, total, core->unary,
                                    core->value, core->changed, core->old);
    assert_int_equal(allocations, made);
    memset(freed, 0, (size_t)model->node_count * sizeof *freed);
    double cells = 0;
    for (int32_t k = 0; k < wide->eliminated; k++) {
        const struct cfn_wide_node *at = &wide->at[wide->order[k]];
        assert_false(freed[at->node]);
        freed[at->node] = true;
        assert_true(at->cells <= largest);
        cells += at->scope_count ? at->cells : 0;
    }
    assert_true(cells <= total && (double)(wide->work - work) >= cells);
    int32_t differ = 0;
    for (int32_t i = 0; i < model->node_count; i++) {
        assert_int_equal(wide->place[i], -1);
        differ += core->value[i] != before[i];
        assert_true(freed[i] || core->value[i] == before[i]);
    }
    assert_int_equal(differ, changes);
    for (int32_t k = 0; k < changes; k++)
        assert_true(before[core->changed[k]] == core->old[k] &&
                    core->value[core->changed[k]] != core->old[k]);
    double now = cost_of(core, core->value), then = cost_of(core, before),
           least = least_of(core, before, freed);
    if (least < (double)CFN_HUGE / 2) /* nothing forbidden: whole numbers */
        assert_true(now == least);
    else
        assert_true(now <= then * (1 + 1e-6));
    if (then == least && least < (double)CFN_HUGE / 2)
        assert_int_equal(changes, 0); /* the present answer is as good as any */
    free(before);
    return changes;
}

static void one_move_finds_the_optimum(void **state)
{
    uint64_t start = support_seed(1201);
    int moved = 0, cycles = 0;
    (void)state;
    for (int round = 0; round < 900; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct core core;
        bool freed[16];
        if (!make_core(&core, &rng, shapes[round % 3]))
            continue;
        int32_t changes = move(&core, &rng, CFN_WIDE_CELLS, CFN_WIDE_CELLS, freed);
        assert_int_equal(core.wide.eliminated, core.model.node_count);
        moved += changes > 0;
        cycles += core.model.link_count >= core.model.node_count && core.model.node_count > 2;
        assert_int_equal(move(&core, &rng, CFN_WIDE_CELLS, CFN_WIDE_CELLS, freed), 0);
        release_core(&core);
    }
    print_message("%d moved, %d had cycles\n", moved, cycles);
    assert_true(moved > 400 && cycles > 150);
}

/* tables too small for the network: some nodes stay, the others are exact beside them */
static void small_tables_are_exact_on_what_they_free(void **state)
{
    uint64_t start = support_seed(1211);
    int part = 0, moved = 0, none = 0;
    (void)state;
    for (int round = 0; round < 900; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct core core;
        bool freed[16];
        if (!make_core(&core, &rng, shapes[round % 3]))
            continue;
        for (int k = 0; k < 4; k++) {
            double largest = 4 + (double)rng_below(&rng, 60), total = (double)rng_below(&rng, 300);
            moved += move(&core, &rng, largest, total, freed) > 0;
            part += core.wide.eliminated > 0 && core.wide.eliminated < core.model.node_count;
            none += core.wide.eliminated == 0;
        }
        release_core(&core);
    }
    print_message("%d freed a part, %d none; %d moved\n", part, none, moved);
    assert_true(part > 500 && moved > 300 && none > 0);
}

static void nothing_is_allocated(void **state)
{
    (void)state;
    if (!COUNTS_ALLOCATIONS)
        skip();
    int before = allocations; /* what move() compares does move */
    free(mem_alloc(100));
    assert_true(allocations > before);
}

/* ---- in the search ---- */

/* a grid of random tables */
static int64_t any_entry(struct rng *rng, int a, int b)
{
    (void)a, (void)b;
    return (int64_t)rng_below(rng, 1000);
}

static void grid(struct rng *rng, bool limit, struct cfn_problem *problem)
{
    grid_problem(rng, 10, 1000, any_entry, limit ? 100 : INT64_MAX, problem);
}

static const unsigned moves_alone = CFN_WITHOUT_DUAL | CFN_WITHOUT_CROSSOVER | CFN_WITHOUT_PROVE |
                                    CFN_WITHOUT_DIVES | CFN_WITHOUT_BRANCH | CFN_WITHOUT_REDUCTION;

static void same_with_one_thread_and_two(void **state)
{
    uint64_t start = support_seed(1221);
    (void)state;
    for (int round = 0; round < 4; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        grid(&rng, round % 2, &problem);
        assert_true(solve_alike(
            &problem,
            (struct cfn_budget){.units = 60, .seed = start, .without = round / 2 ? moves_alone : 0}));
        cfn_problem_release(&problem);
    }
}

/* equal work; without a limit a wide move is exact on what it frees */
static void wide_moves_find_better_answers(void **state)
{
    uint64_t start = support_seed(1231);
    int better = 0, worse = 0;
    (void)state;
    for (int round = 0; round < 12; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        grid(&rng, false, &problem);
        struct cfn_budget budget = {.units = 15, .seed = start, .threads = 1, .without = moves_alone};
        struct cfn_answer with = solve(&problem, budget);
        budget.without |= CFN_WITHOUT_WIDE;
        struct cfn_answer lacking = solve(&problem, budget);
        better += with.verdict.cost < lacking.verdict.cost;
        worse += with.verdict.cost > lacking.verdict.cost;
        cfn_answer_release(&with);
        cfn_answer_release(&lacking);
        cfn_problem_release(&problem);
    }
    print_message("of 12: wide moves better %d, forest moves alone %d\n", better, worse);
    assert_true(better >= 6 && worse <= 1);
}

/* under a limit: what moves alone find is within it, never below the optimum, and mostly the optimum */
static void answers_keep_the_limit(void **state)
{
    uint64_t start = support_seed(1241);
    int checked = 0, optimal = 0;
    (void)state;
    for (int round = 0; round < 150; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        random_problem(&rng, shapes[round % 3], &problem);
        struct cfn_budget budget = {.units = 10, .seed = start, .threads = 1, .without = moves_alone};
        struct cfn_answer answer = solve(&problem, budget);
        __int128 best = 0;
        bool possible = brute_force(&problem, &best);
        if (answer.values) {
            assert_true(possible && answer.verdict.feasible && answer.verdict.cost >= best);
            checked++;
            optimal += answer.verdict.cost == best;
        }
        cfn_answer_release(&answer);
        cfn_problem_release(&problem);
    }
    print_message("%d answers, %d optimal\n", checked, optimal);
    assert_true(checked > 100 && optimal * 10 >= checked * 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_allocated),
                                       cmocka_unit_test(one_move_finds_the_optimum),
                                       cmocka_unit_test(small_tables_are_exact_on_what_they_free),
                                       cmocka_unit_test(same_with_one_thread_and_two),
                                       cmocka_unit_test(wide_moves_find_better_answers),
                                       cmocka_unit_test(answers_keep_the_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

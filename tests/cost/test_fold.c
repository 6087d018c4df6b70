/* timeout: 300 */
/* Folded programs: the same plans hold on them, their prices are near the whole program's, what a search on
 * them publishes is the whole program's, and its bytes do not depend on threads. */
#include "subject.h"
#include "support.h"

#include "analysis/fold.h"
#include "mcts/search.h"
#include "planner/fold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sample {
    const char *path, *mesh, *device;
    uint32_t layers, plans;
    double mean, share; /* of the errors of step time; of plans of which peak and step are within 0.5 % */
} samples[] = {
    /* what lies idle in libtpu's heap is that of the layers that are there, and its two orders may be so near
     * each other that the fold's peak is of the other one; of t2b's plans most run depth first, where holes
     * differ most */
    {"/tests/models/t2b.mlir.gz", "data=8,model=8", "tpu-v5p", 18, 60, 0.0005, 0.88},
    {"/tests/models/gpt.mlir.gz", "data=8,model=8", "tpu-v5p", 32, 40, 0.0005, 0.9},
    {"/tests/models/gpt_torch.mlir.gz", "data=4,model=4", "tpu-v5p", 8, 200, 0.002, 0.9},
    /* all layers' kernels in the order that hides collectives; of equal ones another may go first */
    {"/tests/models/t2b.mlir.gz", "data=8,model=8", "a100-40", 18, 60, 0.0005, 0.9},
    {"/tests/models/gpt.mlir.gz", "data=4,model=4", "h100", 32, 40, 0.001, 0.85},
};

/* limit_bytes: of a device's memory; 0: what it has */
static void open_limited(const struct sample *sample, int64_t limit_bytes, struct subject *subject)
{
    char path[600];
    struct error e;
    snprintf(path, sizeof path, "%s%s", TOAST_SOURCE_DIR, sample->path);
    ASSERT_OK(subject_file(subject, path, &e), &e);
    ASSERT_OK(subject_mesh(subject, sample->mesh, &e), &e);
    ASSERT_OK(subject_device(subject, sample->device, limit_bytes, &e), &e);
}

static void open_sample(const struct sample *sample, struct subject *subject)
{
    open_limited(sample, 0, subject);
}

static double apart(int64_t folded, int64_t whole)
{
    return fabs((double)folded / (double)whole - 1);
}

/* random lists of decisions, each of which leaves the layers alike */
static void prices_are_near(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct subject subject;
        struct plan plan;
        struct error e;
        struct rng rng = {11 + i};
        open_sample(&samples[i], &subject);
        struct fold *fold = fold_create(subject.nda, 4);
        assert_non_null(fold);
        assert_int_equal(fold->layers, samples[i].layers);
        assert_int_equal(fold->copies, samples[i].layers - 4);
        assert_true(evaluator_fold(subject.evaluator, 4));
        struct evaluator_session *session = evaluator_session_create(subject.evaluator);
        uint32_t count, near = 0;
        const struct plan_decision *decisions = plan_context_decisions(subject.context, &count);
        plan_init(&plan, subject.nda, &subject.mesh);
        double sum = 0, worst = 0;
        for (uint32_t k = 0; k < samples[i].plans; k++) {
            struct price whole, folded;
            plan_copy(&plan, plan_context_start(subject.context));
            for (uint64_t n = 1 + rng_below(&rng, 8); n-- > 0;)
                plan_apply(subject.context, &plan, decisions[rng_below(&rng, count)]);
            assert_true(fold_holds(fold, &plan));
            ASSERT_OK(evaluator_price(session, &plan, &whole, NULL, &e), &e);
            ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &folded, NULL, &e), &e);
            assert_int_equal(folded.argument_bytes, whole.argument_bytes);
            assert_int_equal(folded.output_bytes, whole.output_bytes);
            sum += apart(folded.step_ps, whole.step_ps);
            worst = fmax(worst, apart(folded.peak_bytes, whole.peak_bytes));
            near += apart(folded.step_ps, whole.step_ps) <= 0.005 &&
                    apart(folded.peak_bytes, whole.peak_bytes) <= 0.005;
        }
        print_message("%s on %s: mean error of steps %.3f %%, %u of %u within 0.5 %%, peaks %.1f %%\n",
                      samples[i].path, samples[i].device, 100 * sum / samples[i].plans, near,
                      samples[i].plans, 100 * worst);
        assert_true(sum / samples[i].plans <= samples[i].mean);
        assert_true(near >= samples[i].share * samples[i].plans);
        assert_true(worst <= 0.1); /* idle bytes, and reductions that libtpu combines over layers */
        plan_release(&plan);
        evaluator_session_destroy(session);
        fold_destroy(fold);
        subject_close(&subject);
    }
}

/* a plan whose layers differ is priced on the whole program */
static void unlike_layers_are_priced_whole(void **state)
{
    (void)state;
    struct subject subject;
    struct plan plan;
    struct price whole, folded;
    struct error e;
    open_sample(&samples[2], &subject);
    struct fold *fold = fold_create(subject.nda, 4);
    assert_non_null(fold);
    assert_true(evaluator_fold(subject.evaluator, 4));
    struct evaluator_session *session = evaluator_session_create(subject.evaluator);
    plan_init(&plan, subject.nda, &subject.mesh);
    plan_copy(&plan, plan_context_start(subject.context));
    bool changed = false;
    for (uint32_t i = 0; i < fold->space_count && !changed; i++)
        for (uint32_t factor = 0; factor < subject.nda->spaces[fold->spaces[i].gone].factor_count && !changed;
             factor++)
            changed = plan_apply_factor(subject.context, &plan, fold->spaces[i].gone, factor, 0) > 0;
    assert_true(changed);
    assert_false(fold_holds(fold, &plan));
    ASSERT_OK(evaluator_price(session, &plan, &whole, NULL, &e), &e);
    ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &folded, NULL, &e), &e);
    assert_memory_equal(&whole, &folded, sizeof whole);
    plan_release(&plan);
    evaluator_session_destroy(session);
    fold_destroy(fold);
    subject_close(&subject);
}

/* every published price is evaluator_price's, but those of experts far behind; threads change nothing */
static void searches_publish_whole_prices(void **state)
{
    (void)state;
    struct subject subject;
    struct plan plan;
    struct error e;
    struct search *search;
    struct search_state one, two;
    struct planner_fold fold;
    open_sample(&samples[2], &subject);
    ASSERT_OK(planner_fold_choose(subject.evaluator, 1, NULL, &fold, &e), &e);
    assert_int_equal(fold.kept, 4);
    assert_true(fold.worst <= 0.005 && fold.checked > 0);
    struct search_options options = {.seed = 3, .rollouts = 600};
    ASSERT_OK(search_create(subject.evaluator, &options, &search, &e), &e);
    ASSERT_OK(search_run(search, 1, 0, NULL, NULL, &one, NULL, NULL, &e), &e);
    ASSERT_OK(search_run(search, 2, 0, NULL, NULL, &two, NULL, NULL, &e), &e);
    assert_memory_equal(&one.best.hash, &two.best.hash, sizeof one.best.hash);
    assert_int_equal(one.best.cost.c, two.best.cost.c);
    assert_int_equal(one.evaluations, two.evaluations);
    struct evaluator_session *session = evaluator_session_create(subject.evaluator);
    plan_init(&plan, subject.nda, &subject.mesh);
    uint32_t estimated = 0;
    for (uint32_t i = 0; i <= search_baseline_count(search); i++) {
        const struct search_plan *from = i ? search_baseline(search, i - 1) : &one.best;
        struct price price;
        struct cost cost;
        assert_true(search_plan_replay(subject.context, from, &plan));
        if (from->estimated) { /* far behind */
            ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &price, &cost, &e), &e);
            assert_true((double)cost.c > 1.015 * (double)one.best.cost.c || cost.over_steps > 0);
            estimated++;
        } else {
            ASSERT_OK(evaluator_price(session, &plan, &price, &cost, &e), &e);
        }
        assert_int_equal(price.step_ps, from->price.step_ps);
        assert_int_equal(price.peak_bytes, from->price.peak_bytes);
        assert_int_equal(cost.c, from->cost.c);
        assert_true(i == 0 || cost_compare(one.best.cost, one.best.hash, from->cost, from->hash) <= 0);
    }
    assert_in_range(estimated, 1, search_baseline_count(search) - 1);
    plan_release(&plan);
    evaluator_session_destroy(session);
    search_destroy(search);
    subject_close(&subject);
}

/* nothing is computed again, as near a device's limit */
static const struct sample roomier = {"/tests/models/t2b.mlir.gz", "data=8,model=8", "h200", 18, 60, 0, 0};

/* where nothing is hidden memory is priced in program order and depth first */
static void open_blocking(const struct sample *sample, int64_t limit_bytes, struct subject *subject)
{
    struct error e;
    open_limited(sample, limit_bytes, subject);
    struct spmd_options options = *evaluator_options(subject->evaluator);
    evaluator_destroy(subject->evaluator);
    subject->machine.asynchronous = false;
    ASSERT_OK(evaluator_create(subject->context, &subject->machine, &options, &subject->evaluator, &e), &e);
}

/* where the order of the fold's ends holds much more than the program's, the peak is the whole program's */
static void memory_that_the_fold_cannot_tell_is_priced_whole(void **state)
{
    (void)state;
    struct subject subject;
    struct plan plan;
    struct error e;
    struct rng rng = {7};
    uint32_t count, far = 0;
    open_blocking(&roomier, 0, &subject);
    assert_true(evaluator_fold(subject.evaluator, 4));
    struct evaluator_session *session = evaluator_session_create(subject.evaluator);
    const struct plan_decision *decisions = plan_context_decisions(subject.context, &count);
    plan_init(&plan, subject.nda, &subject.mesh);
    for (uint32_t k = 0; k < 200; k++) {
        struct price whole, folded;
        plan_copy(&plan, plan_context_start(subject.context));
        for (uint64_t n = 1 + rng_below(&rng, 8); n-- > 0;)
            plan_apply(subject.context, &plan, decisions[rng_below(&rng, count)]);
        ASSERT_OK(evaluator_price(session, &plan, &whole, NULL, &e), &e);
        ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &folded, NULL, &e), &e);
        far += apart(folded.peak_bytes, whole.peak_bytes) > 0.005;
        assert_true(apart(folded.peak_bytes, whole.peak_bytes) <= 0.2);
    }
    /* reduce_scatters of 30 MiB, in the order of the results, are of more layers than a fold has */
    assert_true(far <= 1);
    plan_release(&plan);
    evaluator_session_destroy(session);
    subject_close(&subject);
}

struct near {
    uint32_t fit, same, near,
        off; /* plans that fit; whose peaks are alike; near the limit; other prices there */
};

/* one plan both ways, on the same side of the limit */
static void price_near(struct evaluator_session *session, const struct plan *plan, int64_t limit,
                       struct near *sums)
{
    struct price whole, folded;
    struct error e;
    ASSERT_OK(evaluator_price(session, plan, &whole, NULL, &e), &e);
    ASSERT_OK(evaluator_price_folded(session, plan, NULL, &folded, NULL, &e), &e);
    assert_int_equal(whole.peak_order, COST_ORDER_HIDING);
    assert_int_equal(whole.peak_bytes <= limit, folded.peak_bytes <= limit);
    sums->fit += whole.peak_bytes <= limit;
    sums->same += apart(folded.peak_bytes, whole.peak_bytes) <= 0.005;
    if (!price_near_limit(&whole, limit))
        return;
    sums->near++;
    sums->off += apart(folded.hiding_peak_bytes, whole.hiding_peak_bytes) > 1e-6 ||
                 apart(folded.step_ps, whole.step_ps) > 1e-4;
}

/* No step is hopeless, or none is beaten: the time is found before the peak and behind it, the second as if
 * it were alone. */
static void price_hopeful(struct evaluator_session *session, struct evaluator_session *limited,
                          const struct plan *plan, bool unbeaten)
{
    const struct price_limits hopeful = {INT64_C(1) << 42, INT64_MAX, INT64_MAX,
                                         unbeaten ? INT64_C(1) << 42 : 0};
    struct price once, twice;
    struct error e;
    ASSERT_OK(evaluator_price_folded(session, plan, NULL, &once, NULL, &e), &e);
    ASSERT_OK(evaluator_price_folded(limited, plan, &hopeful, &twice, NULL, &e), &e);
    assert_memory_equal(&once, &twice, sizeof once);
}

/* of an order that hides collectives: near the limit all layers' peak is found of the fold; where that is
 * doubted, the whole program's price is taken */
static void near_the_limit_all_layers_are_held(void **state)
{
    (void)state;
    static const int64_t limits[] = {0, INT64_C(70000000000), INT64_C(110000000000), INT64_C(90000000000)};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct subject subject;
        struct plan plan;
        struct near sums = {0};
        struct rng rng = {7};
        uint32_t count;
        open_limited(&samples[3], limits[i], &subject);
        assert_true(evaluator_fold(subject.evaluator, 4));
        if (i == 3)
            evaluator_doubt_peaks(subject.evaluator);
        struct evaluator_session *session = evaluator_session_create(subject.evaluator),
                                 *limited = evaluator_session_create(subject.evaluator);
        const struct plan_decision *decisions = plan_context_decisions(subject.context, &count);
        plan_init(&plan, subject.nda, &subject.mesh);
        for (uint32_t k = 0; k < 200; k++) {
            plan_copy(&plan, plan_context_start(subject.context));
            for (uint64_t n = 1 + rng_below(&rng, 8); n-- > 0;)
                plan_apply(subject.context, &plan, decisions[rng_below(&rng, count)]);
            price_near(session, &plan, subject.machine.memory_limit_bytes, &sums);
            price_hopeful(session, limited, &plan, k % 2);
        }
        print_message("%u plans fit, %u are near the limit, of which %u have another price than the whole\n",
                      sums.fit, sums.near, sums.off);
        assert_in_range(sums.fit, 1, 199);
        assert_true(sums.same >= 180);
        assert_true(sums.near >= 10 && sums.off == 0);
        plan_release(&plan);
        evaluator_session_destroy(session);
        evaluator_session_destroy(limited);
        subject_close(&subject);
    }
}

/* a list of decisions, some of which gather weights again */
static void draw_with_regathers(const struct subject *subject, struct rng *rng, struct plan *plan)
{
    uint32_t count, again;
    const struct plan_decision *decisions = plan_context_decisions(subject->context, &count),
                               *regathers = plan_context_regathers(subject->context, &again);
    plan_copy(plan, plan_context_start(subject->context));
    for (uint64_t n = 2 + rng_below(rng, 8); n-- > 0;)
        plan_apply(subject->context, plan,
                   again && rng_below(rng, 4) == 0 ? regathers[rng_below(rng, again)]
                                                   : decisions[rng_below(rng, count)]);
}

/* .. and wherever it is asked for: products of different layers are not taken for products of one array, what
 * is returned of layers that are gone is read, and their arguments are their own; so with three layers left,
 * two of which are the program's first */
static void unfolded_prices_are_the_whole_programs(void **state)
{
    (void)state;
    static const struct {
        struct sample sample;
        uint32_t kept;
    } exact[] = {{{"/tests/models/t2b.mlir.gz", "data=8,model=8", "a100-40", 18, 60, 0, 0}, 4},
                 {{"/tests/models/t2b.mlir.gz", "data=8,model=8", "h100", 18, 60, 0, 0}, 3},
                 {{"/tests/models/t7b.mlir.gz", "data=4,model=4", "h100", 28, 60, 0, 0}, 4},
                 {{"/tests/models/t7b.mlir.gz", "data=4,model=4", "h100", 28, 60, 0, 0}, 3},
                 /* its products read what is reshaped for them */
                 {{"/tests/models/gpt_torch.mlir.gz", "data=4,model=4", "h100", 8, 60, 0, 0}, 4},
                 {{"/tests/models/gpt_torch.mlir.gz", "data=4,model=4", "h100", 8, 60, 0, 0}, 3}};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        const struct sample *sample = &exact[i].sample;
        struct subject subject;
        struct plan plan;
        struct error e;
        struct rng rng = {11};
        uint32_t other = 0;
        open_sample(sample, &subject);
        assert_true(evaluator_fold(subject.evaluator, exact[i].kept));
        evaluator_trust_fold(subject.evaluator);
        struct evaluator_session *session = evaluator_session_create(subject.evaluator);
        plan_init(&plan, subject.nda, &subject.mesh);
        for (uint32_t k = 0; k < sample->plans; k++) {
            struct price whole, unfolded, alike;
            bool priced;
            draw_with_regathers(&subject, &rng, &plan);
            ASSERT_OK(evaluator_price_unfolded(session, &plan, false, &priced, &unfolded, NULL, &e), &e);
            ASSERT_OK(evaluator_price_alike(session, &plan, &alike, NULL, &e), &e);
            ASSERT_OK(evaluator_price(session, &plan, &whole, NULL, &e), &e);
            assert_true(priced);
            assert_memory_equal(&alike, &unfolded, sizeof alike);
            other += unfolded.step_ps != whole.step_ps || unfolded.peak_bytes != whole.peak_bytes;
        }
        print_message("%s: %u of %u prices are others than the whole's\n", sample->path, other,
                      sample->plans);
        assert_int_equal(other, 0);
        plan_release(&plan);
        evaluator_session_destroy(session);
        subject_close(&subject);
    }
}

/* a fold that is trusted and errs: whoever prices a plan both ways finds out */
static void a_fold_that_errs_is_doubted(void **state)
{
    (void)state;
    struct subject subject;
    struct plan plan;
    struct error e;
    struct rng rng = {7};
    uint32_t doubted = 0;
    open_sample(&samples[4], &subject);
    assert_true(evaluator_fold(subject.evaluator, 4));
    evaluator_trust_fold(subject.evaluator);
    plan_init(&plan, subject.nda, &subject.mesh);
    for (uint32_t k = 0; k < 20; k++) {
        struct price both, whole, before, after;
        struct evaluator_session *session = evaluator_session_create(subject.evaluator);
        draw_with_regathers(&subject, &rng, &plan);
        ASSERT_OK(evaluator_price_alike(session, &plan, &before, NULL, &e), &e);
        ASSERT_OK(evaluator_price(session, &plan, &whole, NULL, &e), &e);
        ASSERT_OK(evaluator_price_both(session, &plan, &both, NULL, &e), &e);
        ASSERT_OK(evaluator_price_alike(session, &plan, &after, NULL, &e), &e);
        assert_memory_equal(&both, &whole, sizeof whole);
        doubted += before.step_ps != whole.step_ps || before.peak_bytes != whole.peak_bytes;
        assert_int_equal(after.step_ps, whole.step_ps);
        assert_int_equal(after.peak_bytes, whole.peak_bytes);
        evaluator_session_destroy(session);
    }
    print_message("%u of 20 plans of gpt have another price on the fold\n", doubted);
    assert_in_range(doubted, 1, 20);
    plan_release(&plan);
    subject_close(&subject);
}

#define ROOMY (INT64_C(1) << 42) /* any plan of t2b fits */
/* .. but where a plan that fits costs too much: then it is the most that it may hold, and the same cost */
static void memory_of_a_hopeless_plan_is_left_open(void **state)
{
    (void)state;
    const struct price_limits all = {0, INT64_MAX, INT64_MAX, 0}, none = {INT64_MAX, INT64_MAX, INT64_MAX, 0};
    struct subject subject;
    struct plan plan;
    struct error e;
    struct rng rng = {7};
    uint32_t count, left_open = 0;
    open_blocking(&roomier, ROOMY, &subject);
    assert_true(evaluator_fold(subject.evaluator, 4));
    struct evaluator_session *session = evaluator_session_create(subject.evaluator);
    const struct plan_decision *decisions = plan_context_decisions(subject.context, &count);
    plan_init(&plan, subject.nda, &subject.mesh);
    for (uint32_t k = 0; k < 200; k++) {
        struct price known, hopeless, hopeful;
        struct cost cost, rough;
        plan_copy(&plan, plan_context_start(subject.context));
        for (uint64_t n = 1 + rng_below(&rng, 8); n-- > 0;)
            plan_apply(subject.context, &plan, decisions[rng_below(&rng, count)]);
        ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &known, &cost, &e), &e);
        ASSERT_OK(evaluator_price_folded(session, &plan, &none, &hopeful, NULL, &e), &e);
        ASSERT_OK(evaluator_price_folded(session, &plan, &all, &hopeless, &rough, &e), &e);
        assert_memory_equal(&known, &hopeful, sizeof known);
        if (known.peak_bytes == hopeless.peak_bytes && known.step_ps == hopeless.step_ps)
            continue;
        left_open++;
        assert_int_equal(rough.over_steps, cost.over_steps);
        assert_true(apart(rough.c, cost.c) <= 0.005);
        assert_true((double)hopeless.peak_bytes >= 0.995 * (double)known.peak_bytes);
    }
    assert_in_range(left_open, 1, 199);
    plan_release(&plan);
    evaluator_session_destroy(session);
    subject_close(&subject);
}

/* lists of decisions, and what they come to */
enum { LIMITED = 80, LIMITED_LONGEST = 8 };
struct limited {
    struct plan_decision decisions[LIMITED_LONGEST];
    uint32_t count;
    struct price whole, known, limited; /* known: evaluator_price_folded without limits */
    struct cost cost, estimate;         /* of whole and known */
};

static void make_limited(const struct subject *subject, struct plan *plan, const struct limited *from)
{
    plan_copy(plan, plan_context_start(subject->context));
    for (uint32_t i = 0; i < from->count; i++)
        plan_apply(subject->context, plan, from->decisions[i]);
}

/* twice the cheapest plan, twice the one that takes least */
static struct price_limits price_unlimited(const struct subject *subject, struct limited *lists)
{
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    struct price_limits limits = {INT64_MAX, INT64_MAX / 2, INT64_MAX / 2, 0};
    struct plan plan;
    struct error e;
    struct rng rng = {31};
    uint32_t count;
    const struct plan_decision *decisions = plan_context_decisions(subject->context, &count);
    plan_init(&plan, subject->nda, &subject->mesh);
    for (uint32_t k = 0; k < LIMITED; k++) {
        for (uint64_t n = 1 + rng_below(&rng, LIMITED_LONGEST); n-- > 0;)
            lists[k].decisions[lists[k].count++] = decisions[rng_below(&rng, count)];
        make_limited(subject, &plan, &lists[k]);
        ASSERT_OK(evaluator_price(session, &plan, &lists[k].whole, &lists[k].cost, &e), &e);
        ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &lists[k].known, &lists[k].estimate, &e), &e);
        limits.far = lists[k].cost.c < limits.far ? lists[k].cost.c : limits.far;
        limits.far_bytes =
            lists[k].whole.peak_bytes < limits.far_bytes ? lists[k].whole.peak_bytes : limits.far_bytes;
    }
    plan_release(&plan);
    evaluator_session_destroy(session);
    return (struct price_limits){INT64_MAX, 2 * limits.far, 2 * limits.far_bytes, 0};
}

static bool is_same(const struct price *one, const struct price *other)
{
    return one->step_ps == other->step_ps && one->compute_ps == other->compute_ps &&
           one->communication_ps == other->communication_ps && one->peak_bytes == other->peak_bytes &&
           one->critical_path_ps == other->critical_path_ps;
}

/* Compared with one of the plans, those that are not slower have the price that they have without it,
 * whatever they were compared with before; of others the memory may be left open, and they are dearer. */
static void compare_with_one(const struct subject *subject, const struct limited *lists, int64_t beaten)
{
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    const struct price_limits all = {INT64_MAX, INT64_MAX, INT64_MAX, 1 << 20},
                              some = {INT64_MAX, INT64_MAX, INT64_MAX, beaten};
    uint32_t left_open = 0, better = 0;
    struct plan plan;
    struct error e;
    plan_init(&plan, subject->nda, &subject->mesh);
    for (uint32_t k = 0; k < LIMITED; k++) {
        struct price price;
        struct cost cost;
        make_limited(subject, &plan, &lists[k]);
        ASSERT_OK(evaluator_price_folded(session, &plan, &all, &price, NULL, &e), &e);
        assert_int_equal(price.peak_bytes, 0);
        ASSERT_OK(evaluator_price_folded(session, &plan, &some, &price, &cost, &e), &e);
        if (lists[k].estimate.c > beaten && price.peak_bytes == 0) {
            assert_true(cost.c > beaten);
            left_open++;
            continue;
        }
        assert_memory_equal(&price, &lists[k].known, sizeof price);
        better++;
    }
    assert_true(left_open && better);
    plan_release(&plan);
    evaluator_session_destroy(session);
}

static void limits_leave_open_what_cannot_win(const struct sample *sample, bool folds)
{
    struct subject subject;
    struct plan plan;
    struct error e;
    struct limited *lists = mem_zalloc(LIMITED, sizeof *lists);
    uint32_t by_time = 0, by_memory = 0, exact = 0;
    open_limited(sample, ROOMY, &subject);
    assert_int_equal(evaluator_fold(subject.evaluator, folds ? 4 : 0), folds);
    struct price_limits limits = price_unlimited(&subject, lists);
    struct evaluator_session *session = evaluator_session_create(subject.evaluator);
    plan_init(&plan, subject.nda, &subject.mesh);
    for (uint32_t k = 0; k < LIMITED; k++) {
        struct price *limited = &lists[k].limited, again;
        make_limited(&subject, &plan, &lists[k]);
        ASSERT_OK(evaluator_price_folded(session, &plan, &limits, limited, NULL, &e), &e);
        if (is_same(limited, &lists[k].known)) {
            exact++;
        } else if (limited->peak_bytes == 0) {
            assert_true((double)lists[k].cost.c > 0.995 * (double)limits.far);
            by_time++;
        } else {
            assert_true((double)lists[k].whole.peak_bytes > 0.995 * (double)limits.far_bytes);
            by_memory++;
        }
        /* who asks without limits gets the price without limits */
        ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &again, NULL, &e), &e);
        assert_memory_equal(&again, &lists[k].known, sizeof again);
    }
    assert_true(by_time && by_memory && exact);
    compare_with_one(&subject, lists, lists[0].estimate.c);
    plan_release(&plan);
    evaluator_session_destroy(session);
    subject_close(&subject);
    free(lists);
}

static void limits_leave_open_what_cannot_win_on_folds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        limits_leave_open_what_cannot_win(&samples[i], true);
}

static void limits_leave_open_what_cannot_win_on_programs(void **state)
{
    (void)state;
    const struct sample loops = {
        .path = "/tests/models/t2b_scan.mlir.gz", .mesh = "data=8,model=8", .device = "h100"};
    limits_leave_open_what_cannot_win(&samples[2], false);
    limits_leave_open_what_cannot_win(&loops, false);
}

/* a decision has the effect, the hash and the price on a thin plan that it has on the plan with all cells */
static void thin_plans_are_the_same_plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct subject subject;
        struct plan thin, whole;
        struct error e;
        struct rng rng = {23 + i};
        uint32_t count_priced = 0;
        open_sample(&samples[i], &subject);
        assert_true(evaluator_fold(subject.evaluator, 4));
        const struct plan_context *context = evaluator_thin_context(subject.evaluator);
        assert_non_null(context);
        struct evaluator_session *session = evaluator_session_create(subject.evaluator),
                                 *other = evaluator_session_create(subject.evaluator);
        uint32_t count;
        const struct plan_decision *decisions = plan_context_decisions(subject.context, &count);
        evaluator_init_thin(subject.evaluator, &thin, plan_context_start(context));
        plan_init(&whole, subject.nda, &subject.mesh);
        for (uint32_t k = 0; k < 20; k++) {
            struct price one, two;
            bool priced;
            evaluator_copy_thin(subject.evaluator, &thin, plan_context_start(context));
            plan_copy(&whole, plan_context_start(subject.context));
            for (uint64_t n = 1 + rng_below(&rng, 8); n-- > 0;) {
                struct plan_decision decision = decisions[rng_below(&rng, count)];
                assert_int_equal(plan_apply(context, &thin, decision) > 0,
                                 plan_apply(subject.context, &whole, decision) > 0);
                assert_int_equal(hash128_compare(thin.hash, whole.hash), 0);
            }
            ASSERT_OK(evaluator_price_thin(session, &thin, NULL, &priced, &one, NULL, &e), &e);
            ASSERT_OK(evaluator_price_folded(other, &whole, NULL, &two, NULL, &e), &e);
            if (priced)
                assert_memory_equal(&one, &two, sizeof one);
            count_priced += priced;
        }
        assert_true(count_priced >= 15);
        assert_memory_not_equal(thin.cells, whole.cells,
                                (size_t)whole.space_count * whole.axis_count * sizeof *whole.cells);
        plan_release(&thin);
        plan_release(&whole);
        evaluator_session_destroy(session);
        evaluator_session_destroy(other);
        subject_close(&subject);
    }
}

/* one layer's weight is pinned: its ops are not those of the others, and no plan is thin */
static void a_layer_of_its_own_makes_no_plan_thin(void **state)
{
    (void)state;
    struct subject subject;
    struct plan_context *context;
    struct evaluator *evaluator;
    struct error e;
    open_sample(&samples[2], &subject);
    struct fold *fold = fold_create(subject.nda, 4);
    assert_non_null(fold);
    struct plan_pin *pins = mem_zalloc(subject.nda->slot_count, sizeof *pins);
    uint32_t pin_count = 0; /* the result of an op that is gone, in one piece */
    for (uint32_t i = 0; i < fold->space_count && !pin_count; i++) {
        const struct nda_space *space = &subject.nda->spaces[fold->spaces[i].gone];
        int32_t layer = space->kind == NDA_SPACE_OP ? fold->places.layer[space->op] : FOLD_NO_LAYER;
        const struct nda_slot *slot = &subject.nda->slots[space->slots + space->slot_count - 1];
        const struct ir_type *type = ir_value_type(subject.nda->program, slot->value);
        if (layer >= fold->places.from && layer < fold->places.until && slot->is_result && type->rank > 1)
            pins[pin_count++] = (struct plan_pin){.value = slot->value, .rank = type->rank};
    }
    assert_int_equal(pin_count, 1);
    ASSERT_OK(plan_context_create(subject.nda, &subject.mesh, pins, pin_count, &context, &e), &e);
    ASSERT_OK(evaluator_create(context, evaluator_machine(subject.evaluator),
                               evaluator_options(subject.evaluator), &evaluator, &e),
              &e);
    assert_true(evaluator_fold(evaluator, 4));
    assert_null(evaluator_thin_context(evaluator));
    evaluator_destroy(evaluator);
    plan_context_destroy(context);
    free(pins);
    fold_destroy(fold);
    subject_close(&subject);
}

/* two threads find in the fold's check, and price of the experts, what one does */
static void threads_change_no_expert(void **state)
{
    (void)state;
    struct search *searches[2];
    struct subject subjects[2];
    struct error e;
    for (uint32_t i = 0; i < 2; i++) {
        struct evaluator_session *sessions[SEARCH_THREADS] = {NULL};
        struct planner_fold fold;
        open_sample(&samples[2], &subjects[i]);
        ASSERT_OK(planner_fold_choose(subjects[i].evaluator, i + 1, sessions, &fold, &e), &e);
        assert_int_equal(fold.kept, 4);
        assert_int_equal(fold.random, 16);
        struct search_options options = {.threads = (uint8_t)(i + 1), .sessions = sessions};
        ASSERT_OK(search_create(subjects[i].evaluator, &options, &searches[i], &e), &e);
        for (uint32_t k = 0; k < SEARCH_THREADS; k++)
            evaluator_session_destroy(sessions[k]);
    }
    assert_int_equal(search_baseline_count(searches[0]), search_baseline_count(searches[1]));
    for (uint32_t i = 0; i < search_baseline_count(searches[0]); i++) {
        const struct search_plan *one = search_baseline(searches[0], i),
                                 *two = search_baseline(searches[1], i);
        assert_string_equal(one->found_by, two->found_by);
        assert_int_equal(hash128_compare(one->hash, two->hash), 0);
        assert_memory_equal(&one->price, &two->price, sizeof one->price);
        assert_int_equal(one->estimated, two->estimated);
    }
    for (uint32_t i = 0; i < 2; i++) {
        search_destroy(searches[i]);
        subject_close(&subjects[i]);
    }
}

/* a loop over layers, and what does not repeat: whole */
static void what_does_not_repeat_stays_whole(void **state)
{
    (void)state;
    static const char *const paths[] = {"/tests/models/small/t2b_scan.mlir", "/tests/models/mlp.mlir",
                                        "/tests/models/small/unet.mlir"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct sample sample = {.path = paths[i], .mesh = "data=2", .device = "tpu-v5p"};
        struct subject subject;
        struct planner_fold fold;
        struct error e;
        open_sample(&sample, &subject);
        ASSERT_OK(planner_fold_choose(subject.evaluator, 1, NULL, &fold, &e), &e);
        assert_int_equal(fold.kept, 0);
        assert_int_equal(evaluator_fold_layers(subject.evaluator), 0);
        subject_close(&subject);
    }
}

/* the backend that orders the program to hide collectives is folded, too: to three layers where that is sure,
 * to four where memory is short */
static void hidden_collectives_fold(void **state)
{
    (void)state;
    const int64_t limits_bytes[] = {0, INT64_C(20000000000)};
    for (uint32_t i = 0; i < 2; i++) {
        struct subject subject;
        struct planner_fold fold;
        struct error e;
        open_limited(&samples[3], limits_bytes[i], &subject);
        assert_true(evaluator_machine(subject.evaluator)->backend->hides);
        ASSERT_OK(planner_fold_choose(subject.evaluator, 1, NULL, &fold, &e), &e);
        assert_int_equal(fold.kept, 3 + i);
        assert_int_equal(fold.layers, samples[3].layers);
        assert_int_equal(fold.beyond, 0);
        assert_true(fold.worst <= 0.0005);
        subject_close(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prices_are_near),
                                       cmocka_unit_test(unlike_layers_are_priced_whole),
                                       cmocka_unit_test(searches_publish_whole_prices),
                                       cmocka_unit_test(what_does_not_repeat_stays_whole),
                                       cmocka_unit_test(hidden_collectives_fold),
                                       cmocka_unit_test(limits_leave_open_what_cannot_win_on_folds),
                                       cmocka_unit_test(limits_leave_open_what_cannot_win_on_programs),
                                       cmocka_unit_test(thin_plans_are_the_same_plans),
                                       cmocka_unit_test(memory_that_the_fold_cannot_tell_is_priced_whole),
                                       cmocka_unit_test(near_the_limit_all_layers_are_held),
                                       cmocka_unit_test(unfolded_prices_are_the_whole_programs),
                                       cmocka_unit_test(a_fold_that_errs_is_doubted),
                                       cmocka_unit_test(memory_of_a_hopeless_plan_is_left_open),
                                       cmocka_unit_test(a_layer_of_its_own_makes_no_plan_thin),
                                       cmocka_unit_test(threads_change_no_expert)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

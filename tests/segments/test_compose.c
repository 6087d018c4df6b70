/* timeout: 480 */
/* Composition against all choices: random chains and nets, three segments of 81 configurations from real
 * tables; tight memory; tables against the walk; bytes of an answer. */
#include "support.h"

#include "segments/choice.h"
#include "subject.h"

#include <string.h>

enum { KINDS = 3, MOST_SEGMENTS = 5 };

/* a module's segments without the module: kinds of one or two blocks of 1 to 4 strategies each, a chain of
 * them, now and then a dependence that skips one */
struct chain {
    struct segments segments;
    struct segments_contraction contractions[2 * MOST_SEGMENTS];
    struct segments_block blocks[2 * MOST_SEGMENTS];
    struct segments_dependence dependences[2 * MOST_SEGMENTS];
    struct segments_segment list[MOST_SEGMENTS];
    uint32_t segment_of[2 * MOST_SEGMENTS];
    struct segments_kind kinds[KINDS];
    struct segments_pair pairs[KINDS * KINDS];
};

static void add_dependence(struct chain *chain, uint32_t from, uint32_t to)
{
    struct segments *segments = &chain->segments;
    const struct segments_segment *a = &chain->list[chain->segment_of[from]],
                                  *b = &chain->list[chain->segment_of[to]];
    chain->dependences[segments->dependence_count] = (struct segments_dependence){from, to, 0};
    struct segments_pair pair = {
        a->kind, from - a->first, b->kind, to - b->first, segments->dependence_count++, 1};
    for (uint32_t i = 0; i < segments->pair_count; i++)
        if (chain->pairs[i].from_kind == pair.from_kind && chain->pairs[i].to_kind == pair.to_kind &&
            chain->pairs[i].from_block == pair.from_block && chain->pairs[i].to_block == pair.to_block)
            return;
    chain->pairs[segments->pair_count++] = pair;
}

static void make_chain(struct chain *chain, struct rng *rng)
{
    struct segments *segments = &chain->segments;
    uint32_t strategies[KINDS][2], blocks[KINDS];
    memset(chain, 0, sizeof *chain);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        blocks[kind] = 1 + (uint32_t)rng_below(rng, 2);
        chain->kinds[kind].configurations = 1;
        chain->kinds[kind].example = NDA_NONE;
        for (uint32_t i = 0; i < blocks[kind]; i++)
            chain->kinds[kind].configurations *= strategies[kind][i] = 1 + (uint32_t)rng_below(rng, 4);
    }
    segments->segment_count = 2 + (uint32_t)rng_below(rng, MOST_SEGMENTS - 1);
    for (uint32_t i = 0; i < segments->segment_count; i++) {
        uint32_t kind = (uint32_t)rng_below(rng, KINDS);
        chain->list[i] = (struct segments_segment){segments->block_count, blocks[kind], kind};
        if (chain->kinds[kind].example == NDA_NONE)
            chain->kinds[kind].example = i;
        for (uint32_t k = 0; k < blocks[kind]; k++) {
            chain->segment_of[segments->block_count] = i;
            chain->contractions[segments->block_count].block = segments->block_count;
            chain->blocks[segments->block_count++].strategy_count = strategies[kind][k];
        }
    }
    for (uint32_t kind = 0; kind < KINDS; kind++)
        if (chain->kinds[kind].example == NDA_NONE)
            chain->kinds[kind] = (struct segments_kind){.configurations = 1};
    segments->kind_count = KINDS;
    segments->contraction_count = segments->block_count;
    segments->contractions = chain->contractions;
    segments->blocks = chain->blocks;
    segments->dependences = chain->dependences;
    segments->segments = chain->list;
    segments->segment_of = chain->segment_of;
    segments->kinds = chain->kinds;
    segments->pairs = chain->pairs;
    for (uint32_t i = 1; i < segments->segment_count; i++) {
        add_dependence(chain, chain->list[i].first - 1, chain->list[i].first);
        if (i > 1 && rng_below(rng, 4) == 0)
            add_dependence(chain, chain->list[i - 2].first, chain->list[i].first + chain->list[i].count - 1);
    }
}

static void fill_tables(struct segments_tables *tables, struct rng *rng)
{
    const struct segments *segments = tables->segments;
    tables->base_ps = 1000;
    tables->base_bytes = 500;
    for (uint32_t kind = 0; kind < segments->kind_count; kind++)
        for (uint64_t i = 0; i < segments->kinds[kind].configurations; i++) {
            tables->time_ps[kind][i] = (int64_t)rng_below(rng, 200) - 100;
            tables->bytes[kind][i] = (int64_t)rng_below(rng, 100) - 50;
        }
    for (uint32_t pair = 0; pair < segments->pair_count; pair++) {
        const struct segments_pair *it = &segments->pairs[pair];
        uint32_t from = segments->segments[segments->kinds[it->from_kind].example].first + it->from_block;
        uint32_t to = segments->segments[segments->kinds[it->to_kind].example].first + it->to_block;
        for (uint32_t i = 0; i < segments->blocks[from].strategy_count * segments->blocks[to].strategy_count;
             i++)
            tables->reshard_ps[pair][i] = (int64_t)rng_below(rng, 120) - 30;
    }
}

/* least composed time of all choices within the limit; false: none is. uniform: equal segments alike */
static bool all_choices(const struct segments_tables *tables, int64_t limit, bool uniform, int64_t *best)
{
    const struct segments *segments = tables->segments;
    uint32_t now[MOST_SEGMENTS] = {0};
    bool found = false;
    for (;;) {
        bool counts = segments_composed_bytes(tables, now) <= limit;
        for (uint32_t i = 0; uniform && i < segments->segment_count; i++)
            for (uint32_t k = 0; k < i; k++)
                counts =
                    counts && (segments->segments[i].kind != segments->segments[k].kind || now[i] == now[k]);
        int64_t ps = counts ? segments_composed_ps(tables, now) : 0;
        if (counts && (!found || ps < *best)) {
            *best = ps;
            found = true;
        }
        uint32_t at = 0;
        while (at < segments->segment_count &&
               ++now[at] == segments->kinds[segments->segments[at].kind].configurations)
            now[at++] = 0;
        if (at == segments->segment_count)
            return found;
    }
}

/* false: nothing within the limit */
static bool solve(const struct segments_tables *tables, int64_t limit, int64_t *ps, bool *proved)
{
    struct cfn_problem problem;
    struct cfn_answer answer = {0};
    struct cfn_budget budget = {.units = 64, .threads = 1, .seed = 1};
    struct error e = {0};
    int64_t shift;
    uint32_t configurations[MOST_SEGMENTS];
    bool possible = segments_problem(tables, limit, &problem, &shift);
    ASSERT_OK(cfn_solve(&problem, &budget, &answer, &e), &e);
    bool found = possible && answer.values != NULL;
    for (uint32_t i = 0; found && i < problem.node_count; i++)
        configurations[i] = (uint32_t)answer.values[i];
    *proved = answer.status == CFN_STATUS_OPTIMAL;
    if (found) {
        *ps = segments_composed_ps(tables, configurations);
        assert_int_equal(*ps, (int64_t)answer.verdict.cost + shift);
        assert_true(segments_composed_bytes(tables, configurations) <= limit);
    }
    cfn_answer_release(&answer);
    cfn_problem_release(&problem);
    return found;
}

static void random_chains(void **state)
{
    uint64_t seed = support_seed(1);
    struct rng rng = {seed};
    uint32_t feasible = 0, proved_count = 0, mixed = 0;
    for (int i = 0; i < 1000; i++) {
        struct chain chain;
        struct segments_tables tables;
        int64_t best = 0, mine = 0, alike = 0;
        bool proved;
        make_chain(&chain, &rng);
        segments_tables_create(&chain.segments, &tables);
        fill_tables(&tables, &rng);
        int64_t limit = i % 3 ? 400 + (int64_t)rng_below(&rng, 200) : INT64_MAX / 8;
        bool possible = all_choices(&tables, limit, false, &best);
        if (solve(&tables, limit, &mine, &proved) != possible || (possible && mine != best))
            fail_msg("chain %d of seed %llu: %lld, of all choices %lld", i, (unsigned long long)seed,
                     (long long)mine, (long long)best);
        feasible += possible;
        proved_count += possible && proved;
        if (possible && all_choices(&tables, limit, true, &alike))
            mixed += best < alike;
        segments_tables_release(&tables);
    }
    print_message("%u of 1000 chains have an answer, %u are proved, %u are better mixed than alike\n",
                  feasible, proved_count, mixed);
    assert_int_equal(proved_count, feasible);
    assert_true(mixed > 0);
}

/* tables of a real layer: time and memory of 81 configurations, reshards; three instances, all 531,441
 * choices */
static void open_model(struct subject *subject, const char *path, int64_t memory)
{
    struct error e = {0};
    ASSERT_OK(subject_file(subject, path, &e), &e);
    ASSERT_OK(subject_mesh(subject, "model=4", &e), &e);
    ASSERT_OK(subject_device(subject, "a100-40", memory, &e), &e);
}

static void open_gpt(struct subject *subject, int64_t memory)
{
    open_model(subject, SUPPORT_MODELS "segments/gpt_6.mlir.gz", memory);
}

static void three_of_81(void **state)
{
    struct chain chain;
    struct segments_tables tables;
    struct rng rng = {7};
    memset(&chain, 0, sizeof chain);
    struct segments *segments = &chain.segments;
    chain.kinds[0] = (struct segments_kind){.example = 0, .instances = 3, .configurations = 81};
    *segments = (struct segments){.contractions = chain.contractions,
                                  .blocks = chain.blocks,
                                  .dependences = chain.dependences,
                                  .segments = chain.list,
                                  .segment_of = chain.segment_of,
                                  .kinds = chain.kinds,
                                  .pairs = chain.pairs,
                                  .segment_count = 3,
                                  .kind_count = 1};
    struct segments_block blocks[12] = {0};
    struct segments_contraction contractions[12] = {0};
    uint32_t segment_of[12];
    segments->blocks = blocks;
    segments->contractions = contractions;
    segments->segment_of = segment_of;
    segments->block_count = segments->contraction_count = 12;
    for (uint32_t i = 0; i < 12; i++) {
        blocks[i].strategy_count = 3;
        contractions[i].block = i;
        segment_of[i] = i / 4;
    }
    for (uint32_t i = 0; i < 3; i++)
        chain.list[i] = (struct segments_segment){4 * i, 4, 0};
    for (uint32_t i = 0; i < 2; i++)
        chain.dependences[i] = (struct segments_dependence){4 * i + 3, 4 * i + 4, 0};
    segments->dependence_count = 2;
    chain.pairs[0] = (struct segments_pair){0, 3, 0, 0, 0, 2};
    segments->pair_count = 1;
    segments_tables_create(segments, &tables);
    fill_tables(&tables, &rng);
    int64_t limits[] = {INT64_MAX / 8, 450, 400, 380}, best, alike, mine;
    for (int i = 0; i < 4; i++) {
        bool proved;
        assert_true(all_choices(&tables, limits[i], false, &best));
        assert_true(solve(&tables, limits[i], &mine, &proved));
        assert_true(proved);
        assert_int_equal(mine, best);
        bool any = all_choices(&tables, limits[i], true, &alike);
        assert_true(!any || best <= alike);
    }
    segments_tables_release(&tables);
}

/* Without memory in the way the sum says nearly what the whole walk does, also where collectives hide behind
 * other work: tables are of all segments of a kind at once. */
static void sums_are_the_walk(void **state)
{
    for (int overlap = 0; overlap < 2; overlap++) {
        struct subject subject;
        struct segments_answer answer;
        struct segments_budget budget = {.seed = 1, .threads = 1};
        struct error e = {0};
        open_gpt(&subject, 0);
        subject.machine.asynchronous = overlap;
        ASSERT_OK(subject_evaluator(&subject, &e), &e);
        ASSERT_OK(segments_solve(subject.evaluator, &budget, &answer, &e), &e);
        double ratio = (double)answer.composed_ps / (double)answer.plan.price.step_ps;
        print_message("composed %.4f of whole\n", ratio);
        assert_true(ratio > 0.97 && ratio < 1.03);
        segments_answer_release(&answer);
        subject_close(&subject);
    }
}

/* all segments of the kind, or its example alone */
static void deviate(struct segments_choice *choice, uint32_t kind, uint32_t configuration, bool alone)
{
    const struct segments *segments = choice->segments;
    memcpy(choice->now, choice->base, segments->segment_count * sizeof *choice->now);
    for (uint32_t i = 0; i < segments->segment_count; i++)
        if (segments->segments[i].kind == kind && (!alone || i == segments->kinds[kind].example))
            choice->now[i] = configuration;
}

/* Around data parallel the sum is exact of plans in which one kind deviates, all its segments alike, or, by
 * the other tables, one segment alone, also where collectives hide: what is rounded off is less than a
 * picosecond a segment. */
static void one_deviation_is_exact(void **state)
{
    struct subject subject;
    struct segments_budget budget = {.seed = 1, .threads = 1};
    struct error e = {0};
    uint32_t all, layouts[SEGMENTS_LAYOUTS];
    open_model(&subject, SUPPORT_MODELS "segments/gpt_6.mlir.gz", 0);
    ASSERT_OK(subject_mesh(&subject, "data=4,model=4", &e), &e);
    ASSERT_OK(subject_device(&subject, "a100-40", 0, &e), &e);
    assert_int_equal(segments_layouts(&subject.mesh, &all, layouts), 3);
    for (int alone = 0; alone < 2; alone++) {
        struct segments_choice choice;
        uint32_t apart = 0;
        segments_choice_open(subject.evaluator, &budget, 0, all, layouts[0], &choice);
        ASSERT_OK(segments_choice_tables(&choice, alone, &e), &e);
        const struct segments *segments = choice.segments;
        for (uint32_t kind = 0; kind < segments->kind_count; kind++)
            for (uint32_t k = 0; k < segments->kinds[kind].configurations; k += 7) {
                struct price price;
                struct cost cost;
                deviate(&choice, kind, k, alone);
                ASSERT_OK(segments_choice_price(&choice, &price, &cost, &e), &e);
                int64_t off_ps = segments_composed_ps(&choice.tables, choice.now) - price.step_ps;
                assert_true(alone ? off_ps == 0
                                  : off_ps > -(int64_t)segments->segment_count &&
                                        off_ps < segments->segment_count);
                apart += price.step_ps != choice.base_ps;
            }
        assert_true(apart > 10);
        segments_choice_close(&choice);
    }
    subject_close(&subject);
}

/* the answer's plan is priced by the whole walk, whatever the number of threads, and can be kept; where
 * nothing hides behind anything it is proved */
static void against_the_walk(void **state)
{
    struct subject subject;
    struct segments_answer answer, again, back;
    struct segments_budget budget = {.seed = 1, .threads = 1};
    struct error e = {0};
    unsigned char *bytes;
    size_t size;
    open_gpt(&subject, 0);
    subject.machine.asynchronous = false;
    ASSERT_OK(subject_evaluator(&subject, &e), &e);
    ASSERT_OK(segments_solve(subject.evaluator, &budget, &answer, &e), &e);
    assert_int_equal(answer.blocks, 26);
    assert_true(answer.proved);
    budget.threads = 2;
    ASSERT_OK(segments_solve(subject.evaluator, &budget, &again, &e), &e);
    assert_int_equal(hash128_compare(answer.plan.hash, again.plan.hash), 0);
    segments_answer_write(&answer, &bytes, &size);
    ASSERT_OK(segments_answer_read(subject.evaluator, bytes, size, &back, &e), &e);
    assert_int_equal(back.composed_ps, answer.composed_ps);
    assert_int_equal(back.plan.price.step_ps, answer.plan.price.step_ps);
    segments_answer_release(&back);
    bytes[size - 90] ^= 1;
    assert_int_equal(segments_answer_read(subject.evaluator, bytes, size - 1, &back, &e), ERROR_INTERNAL);
    segments_answer_release(&back);
    free(bytes);
    segments_answer_release(&answer);
    segments_answer_release(&again);
    subject_close(&subject);
}

/* What is composed is the whole price of the plan that it chose, also where deviations from data parallel say
 * little of it: recomputed layers, and a net whose collectives other work hides. */
static void close_to_the_whole(void **state)
{
    static const char *const models[] = {"small/t2b_remat.mlir", "small/gns.mlir"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct subject subject;
        struct segments_answer answer;
        struct segments_budget budget = {.seed = 1, .threads = 1};
        struct error e = {0};
        char *path = mem_printf(SUPPORT_MODELS "%s", models[i]);
        ASSERT_OK(subject_file(&subject, path, &e), &e);
        ASSERT_OK(subject_mesh(&subject, "data=8,model=8", &e), &e);
        ASSERT_OK(subject_device(&subject, "a100-40", 0, &e), &e);
        ASSERT_OK(segments_solve(subject.evaluator, &budget, &answer, &e), &e);
        double ratio = (double)answer.composed_ps / (double)answer.plan.price.step_ps;
        print_message("%s: composed / whole %.4f\n", models[i], ratio);
        assert_true(answer.proved);
        assert_true(ratio > 0.98 && ratio < 1.02);
        segments_answer_release(&answer);
        subject_close(&subject);
        free(path);
    }
}

/* No configuration that all layers take alike fits in less time than that, whatever embedding and head have
 * (but for a five hundredth); none fits where that does not. How many fit; *least_ps: the fastest of them. */
enum { ACROSS_PARTS = 500 };
static uint32_t check_uniform(const struct subject *subject, const struct price *mixed, int64_t *least_ps)
{
    *least_ps = INT64_MAX;
    struct error e = {0};
    struct segments *segments;
    uint32_t all, layouts[SEGMENTS_LAYOUTS], fits = 0;
    uint32_t count = segments_layouts(&subject->mesh, &all, layouts);
    int64_t limit = subject->machine.memory_limit_bytes;
    assert_int_equal(count, 1);
    segments_of_layout(subject->nda, &subject->mesh, all, 0, 0, &segments);
    uint32_t *configurations = mem_zalloc(segments->segment_count, sizeof *configurations);
    uint64_t most = 0;
    for (uint32_t i = 0; i < segments->kind_count; i++)
        most = segments->kinds[i].configurations > most ? segments->kinds[i].configurations : most;
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    uint32_t last = segments->segment_count - 1;
    uint64_t first_count = segments->kinds[segments->segments[0].kind].configurations,
             last_count = segments->kinds[segments->segments[last].kind].configurations;
    for (uint64_t number = 0; number < most * first_count * last_count; number++) {
        struct price price;
        struct cost cost;
        struct plan plan;
        segments_base(segments, configurations);
        for (uint32_t i = 0; i < segments->segment_count; i++)
            if (segments->kinds[segments->segments[i].kind].configurations == most)
                configurations[i] = (uint32_t)(number % most);
        configurations[0] = (uint32_t)(number / most % first_count);
        configurations[last] = (uint32_t)(number / most / first_count);
        plan_init(&plan, subject->nda, &subject->mesh);
        segments_plan(segments, subject->context, 0, all, configurations, &plan);
        ASSERT_OK(evaluator_price(session, &plan, &price, &cost, &e), &e);
        fits += price.peak_bytes <= limit;
        if (price.peak_bytes <= limit && price.step_ps < *least_ps)
            *least_ps = price.step_ps;
        /* segments are composed of their own prices, which do not say what hides across them */
        assert_true(
            price.peak_bytes > limit ||
            (mixed->peak_bytes <= limit && price.step_ps >= mixed->step_ps - mixed->step_ps / ACROSS_PARTS));
        plan_release(&plan);
    }
    evaluator_session_destroy(session);
    free(configurations);
    segments_destroy(segments);
    return fits;
}

/* With `percent` less memory than the best plan needs. *beaten: whether equal segments are in different
 * configurations, in less time than all that are alike. */
static void with_less(struct subject *subject, const struct price *loose, int percent, bool *beaten)
{
    struct segments_answer tight;
    struct segments_budget budget = {.seed = 1, .threads = 1};
    struct error e = {0};
    subject->machine.memory_limit_bytes = loose->peak_bytes - loose->peak_bytes / 100 * percent;
    ASSERT_OK(subject_evaluator(subject, &e), &e);
    ASSERT_OK(segments_solve(subject->evaluator, &budget, &tight, &e), &e);
    int64_t least_ps;
    uint32_t fits = check_uniform(subject, &tight.plan.price, &least_ps);
    print_message("%d %% less: %.3f ms (%s), without a limit %.3f ms; %u uniform ones fit\n", percent,
                  (double)tight.plan.price.step_ps / 1e9, tight.mixed ? "mixed" : "alike",
                  (double)loose->step_ps / 1e9, fits);
    *beaten = tight.mixed && fits && tight.plan.price.step_ps < least_ps;
    if (fits)
        print_message("  the fastest of these %.3f ms%s\n", (double)least_ps / 1e9,
                      *beaten ? ", slower" : "");
    segments_answer_release(&tight);
}

/* Less memory than the best plan needs: an answer that fits where any that is alike fits, in no more time. Of
 * BERT some have equal segments in different configurations and are faster than all that are alike. */
static void tight_memory(void **state)
{
    static const struct {
        const char *path;
        bool overlap;
        int less[3];
    } cases[] = {{SUPPORT_MODELS "segments/gpt_6.mlir.gz", true, {2, 6, 9}},
                 {SUPPORT_MODELS "segments/bert_6.mlir.gz", false, {1, 4, 8}}};
    uint32_t count = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct subject subject;
        struct segments_answer loose;
        struct segments_budget budget = {.seed = 1, .threads = 1};
        struct error e = {0};
        open_model(&subject, cases[k].path, 0);
        subject.machine.asynchronous = cases[k].overlap;
        ASSERT_OK(subject_evaluator(&subject, &e), &e);
        ASSERT_OK(segments_solve(subject.evaluator, &budget, &loose, &e), &e);
        for (int i = 0; i < 3; i++) {
            bool beaten;
            with_less(&subject, &loose.plan.price, cases[k].less[i], &beaten);
            count += beaten;
        }
        segments_answer_release(&loose);
        subject_close(&subject);
    }
    assert_true(count > 0);
}

static bool always(void *user)
{
    return true;
}

static void ends_early(void **state)
{
    struct subject subject;
    struct segments_answer answer;
    struct segments_budget budget = {.seed = 1, .threads = 1, .cancelled = always};
    struct error e = {0};
    open_gpt(&subject, 0);
    assert_int_equal(segments_solve(subject.evaluator, &budget, &answer, &e), ERROR_CANCELLED);
    segments_answer_release(&answer);
    subject_close(&subject);
}

static bool count_calls(void *user)
{
    ++*(uint64_t *)user;
    return false;
}

/* A number of prices is kept, whatever it is: segments are cut until tables take no more, and where they
 * cannot there is no answer. Every price asks whether it is cancelled. */
static void keeps_its_prices(void **state)
{
    static const uint64_t budgets[] = {2, 40, 100, 150, 300, 1000};
    enum { COUNT = sizeof budgets / sizeof *budgets };
    struct subject subject;
    struct error e = {0};
    struct segments_answer answers[COUNT];
    open_gpt(&subject, 0);
    for (int i = 0; i < COUNT; i++) {
        uint64_t calls = 0;
        struct segments_budget budget = {
            .seed = 1, .threads = 1, .prices = budgets[i], .cancelled = count_calls, .user = &calls};
        ASSERT_OK(segments_solve(subject.evaluator, &budget, &answers[i], &e), &e);
        print_message("%llu prices: %u segments, %llu programs, %.3f ms, asked %llu times\n",
                      (unsigned long long)budgets[i], answers[i].segments,
                      (unsigned long long)answers[i].programs, (double)answers[i].plan.price.step_ps / 1e9,
                      (unsigned long long)calls);
        assert_true(calls < budgets[i]); /* one more is of the pins alone */
        assert_int_equal(answers[i].blocks, budgets[i] < 150 ? 0 : 26);
    }
    assert_true(answers[3].segments > answers[4].segments);
    assert_int_equal(hash128_compare(answers[4].plan.hash, answers[5].plan.hash), 0);
    for (int i = 0; i < COUNT; i++)
        segments_answer_release(&answers[i]);
    subject_close(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_its_prices),
                                       cmocka_unit_test(random_chains),
                                       cmocka_unit_test(three_of_81),
                                       cmocka_unit_test(sums_are_the_walk),
                                       cmocka_unit_test(one_deviation_is_exact),
                                       cmocka_unit_test(against_the_walk),
                                       cmocka_unit_test(close_to_the_whole),
                                       cmocka_unit_test(tight_memory),
                                       cmocka_unit_test(ends_early)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

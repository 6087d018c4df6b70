/* links: cfn */
/* label: unit */
/* A search taken apart: after every phase all that is known goes into bytes, each worker's part of the next
 * phase runs in a session of its own, a third joins them; the answer is byte for byte that of one session run
 * through. Damaged bytes are refused. */
#include "tests/cfn/random_problem.h"

#include "base/memory.h"
#include "cfn/best.h"
#include "cfn/saved.h"
#include "cfn/solve.h"

static const struct cfn_budget budget = {
    .units = 40, .threads = 1, .seed = 5, .without = CFN_WITHOUT_BRANCH | CFN_WITHOUT_REDUCTION};

static void resume(struct cfn_session *s, const struct cfn_problem *p, const struct text *from)
{
    struct error e;
    ASSERT_OK(cfn_session_begin(s, p, &budget, &e), &e);
    ASSERT_OK(cfn_session_read(s, from->at, from->size, &e), &e);
}

static struct text keep(struct cfn_session *s)
{
    struct text t = {0};
    cfn_session_write(s, &t);
    cfn_session_release(s);
    return t;
}

/* one worker's part of the phase at hand */
static struct text part_of(const struct cfn_problem *p, const struct text *from, int worker)
{
    struct cfn_session s;
    struct text t = {0};
    resume(&s, p, from);
    cfn_search_work(&s.search, worker);
    cfn_saved_write_worker(&s.search.worker[worker], &t);
    cfn_session_release(&s);
    return t;
}

static struct text next_state(const struct cfn_problem *p, const struct text *from, bool *over)
{
    struct cfn_session s;
    struct error e;
    struct text parts[CFN_WORKERS];
    for (int k = CFN_WORKERS; k-- > 0;)
        parts[k] = part_of(p, from, k);
    resume(&s, p, from);
    for (int k = 0; k < CFN_WORKERS; k++) {
        ASSERT_OK(cfn_saved_read_worker(parts[k].at, parts[k].size, &s.search.worker[k], &e), &e);
        text_release(&parts[k]);
    }
    cfn_search_join(&s.search);
    ASSERT_OK(cfn_session_next(&s, &e), &e);
    *over = s.over;
    return keep(&s);
}

static void check_damage(const struct cfn_problem *p, const struct text *state, struct rng *r)
{
    struct cfn_session s;
    struct error e;
    ASSERT_OK(cfn_session_begin(&s, p, &budget, &e), &e);
    assert_int_not_equal(cfn_session_read(&s, state->at, rng_below(r, state->size), &e), ERROR_OK);
    cfn_session_release(&s);
}

/* phases done; the answer is compared with that of one process */
static int solve_apart(const struct cfn_problem *p, struct rng *r)
{
    struct cfn_session s;
    struct cfn_answer whole;
    struct error e;
    struct text state;
    int phases = 0;
    ASSERT_OK(cfn_solve(p, &budget, &whole, &e), &e);
    ASSERT_OK(cfn_session_begin(&s, p, &budget, &e), &e);
    ASSERT_OK(cfn_session_next(&s, &e), &e);
    bool over = s.over;
    for (state = keep(&s); !over; phases++) {
        struct text next = next_state(p, &state, &over);
        if (phases % 8 == 0)
            check_damage(p, &state, r);
        text_release(&state);
        state = next;
    }
    resume(&s, p, &state);
    assert_true(s.over);
    assert_int_equal(s.answer.status, whole.status);
    assert_true(s.answer.has_bound == whole.has_bound && (!whole.has_bound || s.answer.bound == whole.bound));
    assert_true(s.answer.units == whole.units && s.answer.reproducible == whole.reproducible);
    if (whole.values)
        assert_memory_equal(s.answer.values, whole.values, p->node_count * sizeof *whole.values);
    text_release(&state);
    cfn_session_release(&s);
    cfn_answer_release(&whole);
    return phases;
}

static void apart_is_the_same(void **state)
{
    static const struct random_shape shapes[] = {{60, 8, 140, 0.02, 0.0, 0.05, 1000, 0, 1},
                                                 {6, 3, 9, 0.5, 0.0, 0.0, 1000000000, 0, 1}};
    uint64_t start = support_seed(61);
    int phases = 0;
    for (int round = 0; round < 24; round++) {
        struct rng r = {start + (uint64_t)round};
        struct cfn_problem p;
        random_problem(&r, &shapes[round % 2], &p);
        phases += solve_apart(&p, &r);
        cfn_problem_release(&p);
    }
    print_message("%d phases\n", phases);
    assert_true(phases > 40);
}

/* a session in the middle of its search */
static void half_way(const struct cfn_problem *p, int phases, struct cfn_session *s)
{
    struct error e;
    ASSERT_OK(cfn_session_begin(s, p, &budget, &e), &e);
    ASSERT_OK(cfn_session_next(s, &e), &e);
    for (int i = 0; i < phases && !s->over; i++) {
        for (int k = 0; k < CFN_WORKERS; k++)
            cfn_search_work(&s->search, k);
        cfn_search_join(&s->search);
        ASSERT_OK(cfn_session_next(s, &e), &e);
    }
}

static void check_best_bytes(const struct cfn_problem *p, const struct cfn_best *best)
{
    struct text t = {0};
    struct cfn_best back, none = {0};
    struct error e;
    cfn_best_write(best, p, &t);
    ASSERT_OK(cfn_best_read(p, t.at, t.size, &back, &e), &e);
    assert_true(back.cost == best->cost && back.has_bound == best->has_bound && back.bound == best->bound);
    assert_memory_equal(back.values, best->values, p->node_count * sizeof *best->values);
    assert_false(cfn_best_merge(&back, &none)); /* nothing is no better */
    cfn_best_release(&back);
    for (size_t size = 0; size < t.size; size++)
        assert_int_equal(cfn_best_read(p, t.at, size, &back, &e), ERROR_INVALID_REQUEST);
    t.at[t.size - 4] = (char)200; /* out of the last node's range */
    assert_int_equal(cfn_best_read(p, t.at, t.size, &back, &e), ERROR_INVALID_REQUEST);
    assert_null(back.values);
    text_release(&t);
}

/* What a search knew half way is not lost on one that begins anew and is cut at once; one that runs to its
 * end needs none of it. */
static void the_best_outlives_its_session(void **state)
{
    static const struct random_shape shape = {60, 8, 140, 0.02, 0.0, 0.05, 1000, 0, 1};
    uint64_t start = support_seed(71);
    int better = 0;
    (void)state;
    for (int round = 0; round < 8; round++) {
        struct rng r = {start + (uint64_t)round};
        struct cfn_problem p;
        struct cfn_session s;
        struct cfn_best best, now;
        struct error e;
        random_problem(&r, &shape, &p);
        half_way(&p, 6, &s);
        ASSERT_OK(cfn_best_of(&s, &best, &e), &e);
        cfn_session_release(&s);
        if (best.values) {
            check_best_bytes(&p, &best);
            half_way(&p, 0, &s); /* begun anew, cut */
            ASSERT_OK(cfn_best_of(&s, &now, &e), &e);
            better += best.cost < now.cost;
            cfn_best_release(&now);
            ASSERT_OK(cfn_session_settle(&s, true, &e), &e);
            ASSERT_OK(cfn_best_offer(&best, &s, &e), &e);
            assert_true(s.answer.verdict.cost <= best.cost && !s.answer.reproducible);
            assert_true(!best.has_bound || (s.answer.has_bound && s.answer.bound >= best.bound));
            cfn_session_release(&s);
            half_way(&p, 1 << 20, &s); /* to its end */
            ASSERT_OK(cfn_best_offer(&best, &s, &e), &e);
            assert_true(s.over && s.answer.reproducible);
            cfn_session_release(&s);
        }
        cfn_best_release(&best);
        cfn_problem_release(&p);
    }
    print_message("%d were better than what a search begins with\n", better);
    assert_true(better > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(apart_is_the_same),
                                       cmocka_unit_test(the_best_outlives_its_session)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

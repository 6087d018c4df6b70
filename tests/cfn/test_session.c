/* links: cfn */
/* label: unit */
/* A search taken apart: after every phase all that is known goes into bytes, each worker's part of the next
 * phase runs in a session of its own, a third joins them; the answer is byte for byte that of one session run
 * through. A session that has gone on can go back. Damaged bytes are refused. */
#include "tests/cfn/random_problem.h"

#include "base/memory.h"
#include "cfn/best.h"
#include "cfn/saved.h"
#include "cfn/solve.h"

static const struct cfn_budget budget = {
    .units = 40, .threads = 1, .seed = 5, .without = CFN_WITHOUT_BRANCH | CFN_WITHOUT_REDUCTION};

static void resume(struct cfn_session *session, const struct cfn_problem *problem, const struct text *from)
{
    struct error e;
    ASSERT_OK(cfn_session_begin(session, problem, &budget, &e), &e);
    ASSERT_OK(cfn_session_read(session, from->at, from->size, &e), &e);
}

static struct text keep(struct cfn_session *session)
{
    struct text text = {0};
    cfn_session_write(session, &text);
    cfn_session_release(session);
    return text;
}

/* one worker's part of the phase at hand */
static struct text part_of(const struct cfn_problem *problem, const struct text *from, int worker)
{
    struct cfn_session session;
    struct text text = {0};
    resume(&session, problem, from);
    cfn_search_work(&session.search, worker);
    cfn_saved_write_worker(&session.search.worker[worker], &text);
    cfn_session_release(&session);
    return text;
}

static struct text next_state(const struct cfn_problem *problem, const struct text *from, bool *over)
{
    struct cfn_session session;
    struct error e;
    struct text parts[CFN_WORKERS];
    for (int k = CFN_WORKERS; k-- > 0;)
        parts[k] = part_of(problem, from, k);
    resume(&session, problem, from);
    for (int k = 0; k < CFN_WORKERS; k++) {
        ASSERT_OK(cfn_saved_read_worker(parts[k].at, parts[k].size, &session.search.worker[k], &e), &e);
        text_release(&parts[k]);
    }
    cfn_search_join(&session.search);
    ASSERT_OK(cfn_session_next(&session, &e), &e);
    *over = session.over;
    return keep(&session);
}

static void check_damage(const struct cfn_problem *problem, const struct text *state, struct rng *rng)
{
    struct cfn_session session;
    struct error e;
    ASSERT_OK(cfn_session_begin(&session, problem, &budget, &e), &e);
    assert_int_not_equal(cfn_session_read(&session, state->at, rng_below(rng, state->size), &e), ERROR_OK);
    cfn_session_release(&session);
}

/* a session that is at a later state reads an earlier one, without clusters or with other ones */
static void check_going_back(const struct cfn_problem *problem, const struct text *later,
                             const struct text *earlier)
{
    struct cfn_session session;
    struct error e;
    resume(&session, problem, later);
    ASSERT_OK(cfn_session_read(&session, earlier->at, earlier->size, &e), &e);
    struct text again = keep(&session);
    assert_int_equal(again.size, earlier->size);
    assert_memory_equal(again.at, earlier->at, earlier->size);
    text_release(&again);
}

/* phases done; the answer is compared with that of one process */
static int solve_apart(const struct cfn_problem *problem, struct rng *rng)
{
    struct cfn_session session;
    struct cfn_answer whole;
    struct error e;
    struct text state;
    int phases = 0;
    ASSERT_OK(cfn_solve(problem, &budget, &whole, &e), &e);
    ASSERT_OK(cfn_session_begin(&session, problem, &budget, &e), &e);
    ASSERT_OK(cfn_session_next(&session, &e), &e);
    bool over = session.over;
    for (state = keep(&session); !over; phases++) {
        struct text next = next_state(problem, &state, &over);
        if (phases % 8 == 0)
            check_damage(problem, &state, rng);
        if (!over)
            check_going_back(problem, &next, &state);
        text_release(&state);
        state = next;
    }
    resume(&session, problem, &state);
    assert_true(session.over);
    assert_int_equal(session.answer.status, whole.status);
    assert_true(session.answer.has_bound == whole.has_bound &&
                (!whole.has_bound || session.answer.bound == whole.bound));
    assert_true(session.answer.units == whole.units && session.answer.reproducible == whole.reproducible);
    if (whole.values)
        assert_memory_equal(session.answer.values, whole.values, problem->node_count * sizeof *whole.values);
    text_release(&state);
    cfn_session_release(&session);
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
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        random_problem(&rng, &shapes[round % 2], &problem);
        phases += solve_apart(&problem, &rng);
        cfn_problem_release(&problem);
    }
    print_message("%d phases\n", phases);
    assert_true(phases > 40);
}

/* a session in the middle of its search */
static void half_way(const struct cfn_problem *problem, int phases, struct cfn_session *session)
{
    struct error e;
    ASSERT_OK(cfn_session_begin(session, problem, &budget, &e), &e);
    ASSERT_OK(cfn_session_next(session, &e), &e);
    for (int i = 0; i < phases && !session->over; i++) {
        for (int k = 0; k < CFN_WORKERS; k++)
            cfn_search_work(&session->search, k);
        cfn_search_join(&session->search);
        ASSERT_OK(cfn_session_next(session, &e), &e);
    }
}

static void check_best_bytes(const struct cfn_problem *problem, const struct cfn_best *best)
{
    struct text text = {0};
    struct cfn_best back, none = {0};
    struct error e;
    cfn_best_write(best, problem, &text);
    ASSERT_OK(cfn_best_read(problem, text.at, text.size, &back, &e), &e);
    assert_true(back.cost == best->cost && back.has_bound == best->has_bound && back.bound == best->bound);
    assert_memory_equal(back.values, best->values, problem->node_count * sizeof *best->values);
    assert_false(cfn_best_merge(&back, &none)); /* nothing is no better */
    cfn_best_release(&back);
    for (size_t size = 0; size < text.size; size++)
        assert_int_equal(cfn_best_read(problem, text.at, size, &back, &e), ERROR_INVALID_REQUEST);
    text.at[text.size - 4] = (char)200; /* out of the last node's range */
    assert_int_equal(cfn_best_read(problem, text.at, text.size, &back, &e), ERROR_INVALID_REQUEST);
    assert_null(back.values);
    text_release(&text);
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
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        struct cfn_session session;
        struct cfn_best best, now;
        struct error e;
        random_problem(&rng, &shape, &problem);
        half_way(&problem, 6, &session);
        ASSERT_OK(cfn_best_of(&session, &best, &e), &e);
        cfn_session_release(&session);
        if (best.values) {
            check_best_bytes(&problem, &best);
            half_way(&problem, 0, &session); /* begun anew, cut */
            ASSERT_OK(cfn_best_of(&session, &now, &e), &e);
            better += best.cost < now.cost;
            cfn_best_release(&now);
            ASSERT_OK(cfn_session_settle(&session, true, &e), &e);
            ASSERT_OK(cfn_best_offer(&best, &session, &e), &e);
            assert_true(session.answer.verdict.cost <= best.cost && !session.answer.reproducible);
            assert_true(!best.has_bound || (session.answer.has_bound && session.answer.bound >= best.bound));
            cfn_session_release(&session);
            half_way(&problem, 1 << 20, &session); /* to its end */
            ASSERT_OK(cfn_best_offer(&best, &session, &e), &e);
            assert_true(session.over && session.answer.reproducible);
            cfn_session_release(&session);
        }
        cfn_best_release(&best);
        cfn_problem_release(&problem);
    }
    print_message("%d were better than what a search begins with\n", better);
    assert_true(better > 2);
}

/* bytes that differ from this build's by the number in their magic alone */
static void earlier_builds_are_named(void **state)
{
    static const struct random_shape shape = {60, 8, 140, 0.02, 0.0, 0.05, 1000, 0, 1};
    struct rng rng = {support_seed(71)};
    struct cfn_problem problem;
    struct cfn_session session;
    struct text text = {0}, part = {0};
    struct error e;
    (void)state;
    random_problem(&rng, &shape, &problem);
    for (half_way(&problem, 2, &session); session.over; half_way(&problem, 2, &session)) {
        cfn_session_release(&session); /* too easy: another one */
        cfn_problem_release(&problem);
        random_problem(&rng, &shape, &problem);
    }
    cfn_saved_write(&session.search, &text);
    cfn_saved_write_worker(&session.search.worker[0], &part);
    ASSERT_OK(cfn_saved_read(text.at, text.size, &session.search, &e), &e);
    ASSERT_OK(cfn_saved_read_worker(part.at, part.size, &session.search.worker[0], &e), &e);
    assert_memory_equal(text.at, "cfs9", 4);
    for (char digit = '1'; digit < '9'; digit++) {
        text.at[3] = digit;
        assert_int_equal(cfn_saved_read(text.at, text.size, &session.search, &e), ERROR_INVALID_REQUEST);
        assert_non_null(strstr(e.message, "earlier build"));
    }
    assert_memory_equal(part.at, "cfw7", 4);
    for (char digit = '1'; digit < '7'; digit++) {
        part.at[3] = digit;
        assert_int_equal(cfn_saved_read_worker(part.at, part.size, &session.search.worker[0], &e),
                         ERROR_INVALID_REQUEST);
        assert_non_null(strstr(e.message, "earlier build"));
    }
    part.at[3] = '9';
    assert_int_equal(cfn_saved_read_worker(part.at, part.size, &session.search.worker[0], &e),
                     ERROR_INVALID_REQUEST);
    assert_null(strstr(e.message, "earlier build"));
    text_release(&text);
    text_release(&part);
    cfn_session_release(&session);
    cfn_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(apart_is_the_same),
                                       cmocka_unit_test(earlier_builds_are_named),
                                       cmocka_unit_test(the_best_outlives_its_session)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

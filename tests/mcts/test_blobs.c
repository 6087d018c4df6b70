/* links: mcts */
/* Snapshots and deltas of the search on artificial landscapes: what is damaged or says what no search does is
 * refused or harmless, merging replays little, a task ends when it is told to. */
#include "support.h"

#include "created.h"

static void first_snapshot(const struct search *search, struct core_snapshot *out)
{
    struct search_blob begin;
    struct error e;
    search_begin(search, &begin);
    ASSERT_OK(core_snapshot_read(search, begin.bytes, begin.size, out, &e), &e);
    free(begin.bytes);
}

/* written, it is not read again; releases it */
static void expect_refused(const struct search *search, struct core_snapshot *snapshot)
{
    struct search_blob blob;
    struct core_snapshot again;
    struct error e;
    core_snapshot_write(search, snapshot, &blob);
    assert_int_equal(core_snapshot_read(search, blob.bytes, blob.size, &again, &e), ERROR_INVALID_REQUEST);
    free(blob.bytes);
    core_snapshot_release(snapshot);
}

/* a stage that ends beyond the budget would be rollouts beyond it */
static void stages_beyond_the_budget_are_refused(void **state)
{
    (void)state;
    struct search *search = create(7, LAND_GROUPS, (struct search_options){.seed = 1, .rollouts = 2000});
    struct core_snapshot p;
    first_snapshot(search, &p);
    assert_true(p.stage_end > 0 && p.stage_end <= 2000);
    p.stage_end = 2001;
    expect_refused(search, &p);
    search_destroy(search);
}

static void reseal(struct search_blob *blob)
{
    uint64_t check = hash_bytes(blob->bytes + 24, blob->size - 24, blob->size);
    for (int i = 0; i < 8; i++) {
        blob->bytes[8 + i] = (unsigned char)(blob->size >> 8 * i);
        blob->bytes[16 + i] = (unsigned char)(check >> 8 * i);
    }
}

static void damaged_blobs_are_refused_or_harmless(void **state)
{
    (void)state;
    struct search *search =
        create(7, LAND_GROUPS, (struct search_options){.seed = 1, .rollouts = 4000, .parallelism = 2});
    struct rng rng = {support_seed(1)};
    struct search_blob snapshot, next, deltas[2];
    struct error e;
    search_begin(search, &snapshot);
    for (int epoch = 0; epoch < 4; epoch++) {
        for (uint32_t i = 0; i < 2; i++)
            ASSERT_OK(search_task(search, snapshot.bytes, snapshot.size, i, NULL, NULL, &deltas[i], &e), &e);
        if (epoch == 3)
            break;
        ASSERT_OK(search_merge(search, snapshot.bytes, snapshot.size, deltas, 2, &next, &e), &e);
        free(snapshot.bytes);
        free(deltas[0].bytes);
        free(deltas[1].bytes);
        snapshot = next;
    }
    uint32_t refused = 0, accepted = 0;
    for (int i = 0; i < 4000; i++) {
        struct search_blob bad = copy(i % 2 ? snapshot : deltas[0]);
        if (rng_below(&rng, 8) == 0)
            bad.size = rng_below(&rng, bad.size);
        else
            for (uint64_t k = 1 + rng_below(&rng, 3); k > 0; k--)
                bad.bytes[rng_below(&rng, rng_below(&rng, 2) ? bad.size : 400)] ^=
                    (unsigned char)(1 + rng_below(&rng, 255));
        bool sealed = rng_below(&rng, 4) != 0 && bad.size >= 32;
        if (sealed)
            reseal(&bad);
        enum error_code code;
        if (i % 2) {
            struct search_state out;
            struct search_blob delta = {0};
            code = search_open(search, bad.bytes, bad.size, &out, &e);
            if (!code && !sealed)
                assert_memory_equal(bad.bytes, snapshot.bytes, snapshot.size);
            if (search_task(search, bad.bytes, bad.size, 1, NULL, NULL, &delta, &e) == ERROR_OK)
                free(delta.bytes);
        } else {
            struct search_blob both[2] = {bad, deltas[1]};
            code = search_merge(search, snapshot.bytes, snapshot.size, both, 2, &next, &e);
            if (!code)
                free(next.bytes);
        }
        refused += code != ERROR_OK;
        accepted += code == ERROR_OK;
        free(bad.bytes);
    }
    assert_true(refused > 500);
    assert_true(accepted > 100); /* sealed damage within range: other numbers, no harm */
    struct search_blob swapped[2] = {deltas[1], deltas[0]};
    assert_int_equal(search_merge(search, snapshot.bytes, snapshot.size, swapped, 2, &next, &e),
                     ERROR_INVALID_REQUEST);
    assert_int_equal(search_merge(search, snapshot.bytes, snapshot.size, deltas, 1, &next, &e),
                     ERROR_INVALID_REQUEST);
    free(snapshot.bytes);
    free(deltas[0].bytes);
    free(deltas[1].bytes);
    search_destroy(search);
}

static uint32_t replays;

static void count_replay(void *session, struct search_list *list, struct hash128 *hash)
{
    replays++;
    land_replay(session, list, hash);
}

/* Most deltas have the best plan of the epoch's snapshot: to check it costs one replay, not one a delta. */
static void a_merge_replays_equal_best_plans_once(void **state)
{
    (void)state;
    enum { TASKS = 64 };
    struct search_domain *land = land_create(7, LAND_GROUPS);
    struct search_options options = {.seed = 1, .rollouts = 20000, .parallelism = TASKS};
    struct search_blob snapshot, next, deltas[TASKS];
    struct search *search;
    struct error e;
    land->replay = count_replay;
    ASSERT_OK(search_create_on(land, &options, &search, &e), &e);
    search_begin(search, &snapshot);
    for (int epoch = 0; epoch < 3; epoch++) {
        /* of the best plan from one delta to the next; one more for the merged one */
        uint32_t changes = 1;
        struct core_plan before = {.hash = {0, 0}};
        for (uint32_t i = 0; i < TASKS; i++) {
            struct core_delta delta;
            ASSERT_OK(search_task(search, snapshot.bytes, snapshot.size, i, NULL, NULL, &deltas[i], &e), &e);
            ASSERT_OK(core_delta_read(search, deltas[i].bytes, deltas[i].size, &delta, &e), &e);
            const struct core_plan *best = &delta.elites.at[0];
            changes +=
                hash128_compare(before.hash, best->hash) != 0 ||
                tree_list_compare(before.list.at, before.list.count, best->list.at, best->list.count) != 0;
            before = *best;
            core_delta_release(&delta);
        }
        replays = 0;
        ASSERT_OK(search_merge(search, snapshot.bytes, snapshot.size, deltas, TASKS, &next, &e), &e);
        assert_in_range(replays, 1, changes);
        for (uint32_t i = 0; i < TASKS; i++)
            free(deltas[i].bytes);
        free(snapshot.bytes);
        snapshot = next;
        if (epoch == 2)
            assert_true(changes < TASKS / 2);
    }
    free(snapshot.bytes);
    search_destroy(search);
}

static bool stop_at_once(void *user)
{
    ++*(int *)user;
    return true;
}

static void control_cancels(void **state)
{
    (void)state;
    struct search *search = create(7, LAND_GROUPS, (struct search_options){.seed = 1});
    struct search_blob snapshot, delta;
    struct error e;
    int asked = 0;
    struct search_control control = {stop_at_once, &asked};
    search_begin(search, &snapshot);
    assert_int_equal(search_task(search, snapshot.bytes, snapshot.size, 0, NULL, &control, &delta, &e),
                     ERROR_CANCELLED);
    assert_null(delta.bytes);
    assert_int_equal(asked, 1);
    assert_int_equal(search_task(search, snapshot.bytes, snapshot.size, 16, NULL, NULL, &delta, &e),
                     ERROR_INVALID_REQUEST);
    free(snapshot.bytes);
    search_destroy(search);
}

/* what a damaged snapshot may say: the places of the tasks behind the last offset must not begin at 0
 * again */
static void polish_behind_its_candidates_ends_at_once(void **state)
{
    (void)state;
    struct search *search = create(7, LAND_GROUPS, (struct search_options){.seed = 1});
    struct search_blob begin, snapshot, delta;
    struct core_snapshot p;
    struct error e;
    int asked = 0;
    struct search_control control = {stop_at_once, &asked};
    search_begin(search, &begin);
    ASSERT_OK(core_snapshot_read(search, begin.bytes, begin.size, &p, &e), &e);
    p.phase = SEARCH_POLISH;
    p.polish_offset = UINT32_MAX;
    core_snapshot_write(search, &p, &snapshot);
    ASSERT_OK(search_task(search, snapshot.bytes, snapshot.size, 1, NULL, &control, &delta, &e), &e);
    assert_int_equal(asked, 0);
    core_snapshot_release(&p);
    free(delta.bytes);
    free(snapshot.bytes);
    free(begin.bytes);
    search_destroy(search);
}

static void costs_below_nothing_are_refused(void **state)
{
    (void)state;
    struct search *search = create(7, LAND_GROUPS, (struct search_options){.seed = 1});
    struct core_snapshot p;
    first_snapshot(search, &p);
    p.elites.at[0].cost.c = INT64_MIN;
    expect_refused(search, &p);
    search_destroy(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_beyond_the_budget_are_refused),
        cmocka_unit_test(damaged_blobs_are_refused_or_harmless),
        cmocka_unit_test(a_merge_replays_equal_best_plans_once),
        cmocka_unit_test(control_cancels),
        cmocka_unit_test(polish_behind_its_candidates_ends_at_once),
        cmocka_unit_test(costs_below_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

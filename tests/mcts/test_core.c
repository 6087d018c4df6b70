/* links: mcts */
/* The search on artificial landscapes: optimum, determinism, merging, the comparison methods. */
#include "support.h"

#include <stdatomic.h>
#include <stdio.h>

#include "created.h"

static struct search_state run(const struct search *search, uint32_t threads)
{
    struct search_state state;
    struct error e;
    bool reproducible = false;
    ASSERT_OK(search_run(search, threads, 0, NULL, NULL, &state, NULL, &reproducible, &e), &e);
    assert_true(reproducible);
    assert_int_equal(state.phase, SEARCH_DONE);
    return state;
}

static void logarithm_is_exact_at_powers_and_monotone(void **state)
{
    (void)state;
    for (int i = 0; i < 64; i++)
        assert_int_equal(reward_log2((uint64_t)1 << i), (int64_t)i << 32);
    /* log2(3) = 1.5849625007211561815 */
    assert_in_range(reward_log2(3), (uint64_t)(1.58496250072 * 4294967296.0) - 2,
                    (uint64_t)(1.58496250073 * 4294967296.0) + 2);
    int64_t last = -1;
    for (uint64_t x = 1; x < (uint64_t)1 << 62; x += 1 + x / 64) {
        assert_true(reward_log2(x) > last);
        last = reward_log2(x);
    }
}

static void reward_is_zero_at_the_root_and_falls_with_cost(void **state)
{
    (void)state;
    const int64_t one = (int64_t)1 << 32;
    assert_int_equal(reward_value(one, one, 16), 0);
    assert_int_equal(reward_value(one, one / 32, 16), REWARD_ONE); /* 2 x devices times faster */
    assert_int_equal(reward_value(one, one / 4096, 16), REWARD_ONE);
    assert_true(reward_value(one * 300, one / 16, 16) < REWARD_ONE);
    int32_t last = INT32_MAX;
    for (int64_t c = one / 16; c < one * 300; c += c / 50) {
        int32_t r = reward_value(one * 300, c, 16);
        assert_true(r < last);
        last = r;
    }
    assert_int_equal(reward_value(one, 0, 16), REWARD_ONE);
    assert_int_equal(reward_value(one, INT64_MAX, 1), -REWARD_ONE);
}

static void reward_orders_plans_as_cost_compare_does(void **state)
{
    (void)state;
    struct rng rng = {support_seed(1)};
    const struct hash128 same = {0, 0};
    for (int i = 0; i < 200000; i++) {
        struct cost cost[2];
        for (int k = 0; k < 2; k++) {
            /* in 2^-10 of the limit */
            int64_t over = rng_below(&rng, 2) ? 0 : (int64_t)rng_below(&rng, 1 << rng_below(&rng, 12));
            cost[k].over_steps = (over * 100 + 1023) / 1024;
            cost[k].c = ((over * 10) << 22) + (int64_t)(rng_next(&rng) >> (30 + rng_below(&rng, 20)));
        }
        int64_t a = reward_cost(cost[0].c, cost[0].over_steps),
                b = reward_cost(cost[1].c, cost[1].over_steps);
        int order = cost_compare(cost[0], same, cost[1], same);
        if ((order < 0 && a > b) || (order > 0 && a < b))
            fail_msg("(%ld, %ld) and (%ld, %ld) give %ld and %ld", (long)cost[0].over_steps, (long)cost[0].c,
                     (long)cost[1].over_steps, (long)cost[1].c, (long)a, (long)b);
    }
    assert_int_equal(reward_cost((int64_t)1 << 30, 0), (int64_t)1 << 30);
    assert_true(reward_cost(INT64_MAX, 0) < reward_cost(1, 1));
    assert_true(reward_cost(INT64_MAX, INT64_MAX) > 0);
}

static void lists_move_as_they_say(void **state)
{
    (void)state;
    struct search_list list = {3, {10, 20, 30}};
    assert_true(core_list_insert(&list, 0, 5));
    assert_true(core_list_move(&list, 0, 3));
    const uint16_t moved[] = {10, 20, 30, 5};
    assert_memory_equal(list.at, moved, sizeof moved);
    assert_true(core_list_move(&list, 3, 1));
    assert_true(core_list_delete(&list, 0));
    const uint16_t rest[] = {5, 20, 30};
    assert_int_equal(list.count, 3);
    assert_memory_equal(list.at, rest, sizeof rest);
    assert_false(core_list_replace(&list, 1, 20));
    assert_false(core_list_delete(&list, 3));
    list.count = SEARCH_MAX_DEPTH;
    assert_false(core_list_insert(&list, 0, 1));
}

static void a_node_keeps_the_least_list(void **state)
{
    (void)state;
    struct tree tree = {0};
    const uint16_t longer[] = {1, 2, 3}, later[] = {2, 1}, least[] = {1, 2};
    uint32_t a = tree_node(&tree, 77, longer, 3);
    assert_int_equal(tree_node(&tree, 77, later, 2), a);
    tree_node(&tree, 77, least, 2);
    tree_node(&tree, 77, later, 2);
    struct search_list list;
    tree_node_list(&tree, a, &list);
    assert_int_equal(list.count, 2);
    assert_memory_equal(list.at, least, sizeof least);
    for (uint64_t i = 0; i < 1000; i++)
        tree_node(&tree, i * 4096, least, 2);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_not_equal(tree_find(&tree, i * 4096), TREE_NONE);
    assert_int_equal(tree_find(&tree, 4095), TREE_NONE);
    tree_release(&tree);
}

static void small_landscapes_are_solved(void **state)
{
    (void)state;
    uint64_t seed = support_seed(1);
    for (uint64_t i = 0; i < 12; i++) {
        for (uint8_t no_baselines = 0; no_baselines < 2; no_baselines++) {
            struct search_domain *domain = land_create(seed + i, 4);
            struct cost best;
            struct hash128 hash;
            uint32_t plans = land_exhaust(domain, &best, &hash);
            struct search *search;
            struct error e;
            struct search_options options = {.seed = i, .rollouts = 4000, .no_baselines = no_baselines};
            ASSERT_OK(search_create_on(domain, &options, &search, &e), &e);
            struct search_state found = run(search, 2);
            if (cost_compare(found.best.cost, found.best.hash, best, hash) != 0)
                fail_msg("landscape %lu of %u plans: %ld, best %ld (%lu evaluations)",
                         (unsigned long)(seed + i), plans, (long)found.best.cost.c, (long)best.c,
                         (unsigned long)found.evaluations);
            search_destroy(search);
        }
    }
}

static void never_worse_than_baselines_random_or_greedy(void **state)
{
    (void)state;
    uint64_t seed = support_seed(1);
    uint32_t better = 0;
    for (uint64_t i = 0; i < 6; i++) {
        struct search *search = create(seed + 100 + i, LAND_GROUPS, (struct search_options){.seed = 3});
        struct search_state found = run(search, 2);
        for (uint32_t b = 0; b < search_baseline_count(search); b++) {
            const struct search_plan *plan = search_baseline(search, b);
            assert_true(cost_compare(found.best.cost, found.best.hash, plan->cost, plan->hash) <= 0);
        }
        search_destroy(search);
        for (uint8_t method = SEARCH_RANDOM; method <= SEARCH_GREEDY; method++) {
            struct search_options options = {
                .seed = 3, .method = method, .rollouts = (uint32_t)found.evaluations};
            search = create(seed + 100 + i, LAND_GROUPS, options);
            struct search_state other = run(search, 1);
            assert_true(other.evaluations <= found.evaluations);
            assert_true(cost_compare(found.best.cost, found.best.hash, other.best.cost, other.best.hash) <=
                        0);
            better += (double)found.best.cost.c < 0.995 * (double)other.best.cost.c;
            search_destroy(search);
        }
    }
    assert_true(better >= 4);
}

/* ---- determinism ---- */

/* As worker processes would: tasks in any order, each on a search of its own; blobs are all they share. */
static struct search_blob run_apart(struct search *const *workers, uint32_t count, struct rng *rng)
{
    struct search_blob snapshot;
    struct error e;
    search_begin(workers[0], &snapshot);
    for (;;) {
        struct search_state state;
        ASSERT_OK(search_open(workers[0], snapshot.bytes, snapshot.size, &state, &e), &e);
        if (state.phase == SEARCH_DONE)
            return snapshot;
        struct search_blob *deltas = mem_zalloc(state.tasks, sizeof *deltas);
        uint32_t offset = (uint32_t)rng_below(rng, state.tasks);
        for (uint32_t i = 0; i < state.tasks; i++) {
            uint32_t task = (i + offset) % state.tasks;
            struct search_blob mine = copy(snapshot);
            ASSERT_OK(search_task(workers[rng_below(rng, count)], mine.bytes, mine.size, task, NULL, NULL,
                                  &deltas[task], &e),
                      &e);
            free(mine.bytes);
        }
        struct search_blob next;
        ASSERT_OK(search_merge(workers[rng_below(rng, count)], snapshot.bytes, snapshot.size, deltas,
                               state.tasks, &next, &e),
                  &e);
        for (uint32_t i = 0; i < state.tasks; i++)
            free(deltas[i].bytes);
        free(deltas);
        free(snapshot.bytes);
        snapshot = next;
    }
}

static void threads_and_processes_give_the_same(void **state)
{
    (void)state;
    struct search_options options = {.seed = 9, .rollouts = 3000};
    struct search *search = create(5, LAND_GROUPS, options), *workers[3];
    struct rng rng = {support_seed(1)};
    for (int i = 0; i < 3; i++)
        workers[i] = create(5, LAND_GROUPS, options);
    struct search_state one = run(search, 1), two = run(search, 2), five = run(search, 5);
    struct search_blob blob = run_apart(workers, 1, &rng), search_blob = run_apart(workers, 3, &rng);
    assert_int_equal(blob.size, search_blob.size);
    assert_memory_equal(blob.bytes, search_blob.bytes, blob.size);
    struct search_state apart;
    struct error e;
    ASSERT_OK(search_open(search, blob.bytes, blob.size, &apart, &e), &e);
    assert_memory_equal(&one, &two, sizeof one);
    assert_memory_equal(&one, &five, sizeof one);
    assert_memory_equal(&one, &apart, sizeof one);
    assert_true(one.rollouts <= 3000 + 0);
    assert_true(one.curve_count > 1);
    free(blob.bytes);
    free(search_blob.bytes);
    search_destroy(search);
    for (int i = 0; i < 3; i++)
        search_destroy(workers[i]);
}

static atomic_uint wholes; /* asked for */

/* a little more than the estimate, by a rule that reorders what is close */
static enum error_code price_exactly(void *session, const struct search_list *list, struct price *price,
                                     struct cost *cost, struct error *e)
{
    enum error_code code = land_price(session, list, 0, price, cost, e);
    uint64_t grain = (uint64_t)cost->c * HASH_GOLDEN >> 58;
    atomic_fetch_add(&wholes, 1);
    cost->c += cost->c / 1000 * (int64_t)grain / 64;
    price->step_ps += price->step_ps / 1000 * (int64_t)grain / 64;
    return code;
}

/* What settles the best plan is priced by two threads ahead of time, or in turn by one: the same states, and
 * the same plan. */
static void exact_prices_are_made_ahead(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct search_state states[2];
        uint32_t asked[2];
        for (uint32_t threads = 1; threads <= 2; threads++) {
            struct search_domain *domain = land_create(seed, LAND_GROUPS);
            struct search_options options = {.seed = seed, .rollouts = 600, .threads = (uint8_t)threads};
            struct search *search = NULL;
            bool reproducible;
            struct error e = {0};
            domain->price_whole = price_exactly;
            atomic_store(&wholes, 0);
            ASSERT_OK(search_create_on(domain, &options, &search, &e), &e);
            ASSERT_OK(search_run(search, 2, 0, NULL, NULL, &states[threads - 1], NULL, &reproducible, &e),
                      &e);
            asked[threads - 1] = atomic_load(&wholes);
            search_destroy(search);
        }
        assert_memory_equal(&states[0], &states[1], sizeof states[0]);
        assert_in_range(asked[1], asked[0], asked[0] + states[0].best.count + CORE_ELITES);
    }
}

static void seed_and_parallelism_are_part_of_the_result(void **state)
{
    (void)state;
    struct search *search = create(5, LAND_GROUPS, (struct search_options){.seed = 1, .rollouts = 2000});
    struct search *other_search =
        create(5, LAND_GROUPS, (struct search_options){.seed = 2, .rollouts = 2000});
    struct search_blob snapshot;
    struct search_state state_b;
    struct error e;
    search_begin(search, &snapshot);
    assert_int_equal(search_open(other_search, snapshot.bytes, snapshot.size, &state_b, &e),
                     ERROR_INVALID_REQUEST);
    assert_non_null(strstr(e.message, "another search"));
    free(snapshot.bytes);
    struct search_state search_state = run(search, 1), y = run(other_search, 1);
    assert_int_not_equal(search_state.evaluations, y.evaluations);
    search_destroy(search);
    search_destroy(other_search);
}

static void the_budget_is_kept_exactly(void **state)
{
    (void)state;
    for (uint32_t rollouts = 1; rollouts < 3000; rollouts = rollouts * 3 + 1) {
        struct search *search =
            create(6, 5, (struct search_options){.seed = 1, .rollouts = rollouts, .parallelism = 7});
        struct search_state state = run(search, 2);
        assert_true(state.rollouts == rollouts ||
                    (state.rollouts < rollouts && strcmp(state.stop_reason, "no_gain") == 0));
        search_destroy(search);
    }
}

/* 2^27 operations; from 2^16 on, which no cache holds, fewer: prices take longer in proportion */
static void the_budget_falls_with_the_program(void **state)
{
    (void)state;
    static const struct {
        uint64_t operations, rollouts;
    } rows[] = {{1, 20000},     {1 << 13, 16384}, {1 << 16, 2048},
                {1 << 17, 512}, {1 << 18, 128},   {1 << 24, 128}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct search_domain *domain = land_create(1, 4);
        struct search *search;
        struct error e;
        domain->operations = rows[i].operations;
        ASSERT_OK(search_create_on(domain, NULL, &search, &e), &e);
        assert_int_equal(search_budget(search), rows[i].rollouts);
        search_destroy(search);
    }
}

static bool at_once(void *user)
{
    (void)user;
    return true;
}

/* sixteen of forty experts are priced however short the time is, and the search goes on from them */
static void experts_race_until_their_time_is_over(void **state)
{
    (void)state;
    enum { EXPERTS = 40, LEAST = 16 };
    for (int stopped = 0; stopped < 2; stopped++) {
        struct search_domain *domain = land_create(1, 4);
        struct search_options options = {.seed = 1, .rollouts = 50, .threads = 2};
        struct search *search;
        struct error e;
        domain->baselines = mem_realloc(domain->baselines, EXPERTS, sizeof *domain->baselines);
        for (uint32_t i = domain->baseline_count; i < EXPERTS; i++)
            domain->baselines[i] = domain->baselines[i % 2];
        domain->baseline_count = EXPERTS;
        options.control.stop = stopped ? at_once : NULL;
        ASSERT_OK(search_create_on(domain, &options, &search, &e), &e);
        assert_int_equal(search_baseline_count(search), stopped ? LEAST : EXPERTS);
        assert_int_equal(search_experts_cut(search), stopped);
        struct search_state end = run(search, 2);
        assert_true(end.best.cost.c <= search_baseline(search, 1)->cost.c);
        search_destroy(search);
    }
}

/* the next snapshot in place of this one, by one task */
static void step(const struct search *search, struct search_blob *snapshot)
{
    struct search_blob delta, next;
    struct error e;
    ASSERT_OK(search_task(search, snapshot->bytes, snapshot->size, 0, NULL, NULL, &delta, &e), &e);
    ASSERT_OK(search_merge(search, snapshot->bytes, snapshot->size, &delta, 1, &next, &e), &e);
    free(delta.bytes);
    free(snapshot->bytes);
    *snapshot = next;
}

/* Rollouts, local search, rollouts again ..: a search of one landscape. Nothing is polished twice, and what
 * the last stage began with is the best plan. Returns the stages. */
static uint32_t run_stages(uint64_t land_seed)
{
    struct search *search = create(land_seed, LAND_GROUPS,
                                   (struct search_options){.seed = 1, .rollouts = 20000, .parallelism = 1});
    struct search_blob snapshot;
    struct search_state before, after;
    struct error e;
    uint32_t polishes = 0, stages = 1;
    search_begin(search, &snapshot);
    ASSERT_OK(search_open(search, snapshot.bytes, snapshot.size, &after, &e), &e);
    struct hash128 at_stage = after.best.hash;
    while (after.phase != SEARCH_DONE) {
        before = after;
        step(search, &snapshot);
        ASSERT_OK(search_open(search, snapshot.bytes, snapshot.size, &after, &e), &e);
        if (before.phase == SEARCH_EPOCHS && after.phase == SEARCH_POLISH)
            assert_true(++polishes == 1 || hash128_compare(at_stage, after.best.hash) != 0);
        if (before.phase == SEARCH_POLISH && after.phase == SEARCH_EPOCHS) {
            stages++;
            at_stage = after.best.hash;
        }
    }
    assert_true(polishes >= 1);
    assert_string_equal(after.stop_reason, "no_gain");
    assert_int_equal(hash128_compare(at_stage, after.best.hash), 0);
    assert_true(after.rollouts < 20000);
    free(snapshot.bytes);
    search_destroy(search);
    return stages;
}

static void a_stage_without_a_better_plan_ends_the_search(void **state)
{
    (void)state;
    uint32_t most = 0;
    for (uint64_t land_seed = 100; land_seed < 104; land_seed++) {
        uint32_t stages = run_stages(land_seed);
        most = stages > most ? stages : most;
    }
    assert_true(most >= 2);
}

/* the snapshot that a search begins with; core_snapshot_release */
/* The first epochs climb, within their share of the rollouts. On landscapes made of traps not all come
 * to something better than the experts. */
static void climbs_come_first_and_keep_their_share(void **state)
{
    (void)state;
    uint32_t better = 0;
    for (uint64_t land_seed = 100; land_seed < 106; land_seed++) {
        struct search *search = create(
            land_seed, LAND_GROUPS, (struct search_options){.seed = 1, .rollouts = 20000, .parallelism = 1});
        struct search_blob snapshot;
        struct search_state now;
        struct error e;
        search_begin(search, &snapshot);
        ASSERT_OK(search_open(search, snapshot.bytes, snapshot.size, &now, &e), &e);
        struct search_plan expert = now.best;
        for (uint32_t round = 0; round < search->climb_rounds; round++) {
            assert_int_equal(now.phase, SEARCH_EPOCHS);
            step(search, &snapshot);
            ASSERT_OK(search_open(search, snapshot.bytes, snapshot.size, &now, &e), &e);
            assert_in_range(now.rollouts, 1, (round + 1) * search->climb_round);
        }
        better += strcmp(now.best.found_by, "climb") == 0 &&
                  cost_compare(now.best.cost, now.best.hash, expert.cost, expert.hash) < 0;
        free(snapshot.bytes);
        search_destroy(search);
    }
    assert_true(better >= 2);
}

/* Of all lists one change away those are exchanges that are as long and have a decision of other dimensions,
 * or of another axis, in the place of one. */
static void an_exchange_is_of_other_dimensions(void **state)
{
    (void)state;
    struct plan_decision decisions[] = {{.group = 0, .axis = 0},
                                        {.group = 0, .axis = 0, .bits = 1},
                                        {.group = 0, .axis = 1},
                                        {.group = 1, .axis = 0}};
    const struct search_domain domain = {.decisions = decisions, .decision_count = 4};
    const uint16_t order[] = {2, 0, 3, 1};
    const struct search_list from = {2, {0, 3}};
    uint32_t exchanges = 0, alike = 0;
    for (uint64_t k = 0; k < core_list_changes(&from, domain.decision_count); k++) {
        struct search_list to = from;
        if (!core_list_change(&to, k, order, domain.decision_count))
            continue;
        uint32_t apart = 0, at = 0;
        for (uint32_t i = 0; i < from.count && to.count == from.count; i++)
            if (to.at[i] != from.at[i]) {
                at = i;
                apart++;
            }
        const struct plan_decision *in = &decisions[to.at[at]], *out = &decisions[from.at[at]];
        bool other = in->group != out->group || in->axis != out->axis;
        assert_int_equal(core_list_exchanges(&domain, &from, k, order), apart == 1 && other);
        exchanges += apart == 1 && other;
        alike += apart == 1 && !other;
    }
    assert_int_equal(exchanges, 5); /* 2 and 3 for 0; 0, 1 and 2 for 3 */
    assert_int_equal(alike, 1);     /* 1 for 0 */
}

/* What a search without climbs and rollouts to spare ends with no change makes cheaper, exchanges apart. */
static void a_polished_plan_stands_on_a_hill(void **state)
{
    (void)state;
    struct search *search =
        create(11, LAND_GROUPS, (struct search_options){.seed = 1, .rollouts = 2000, .parallelism = 4});
    struct search_state last;
    struct search_blob snapshot;
    struct error e;
    ASSERT_OK(search_run(search, 1, 0, NULL, NULL, &last, &snapshot, NULL, &e), &e);
    struct core_snapshot p;
    ASSERT_OK(core_snapshot_read(search, snapshot.bytes, snapshot.size, &p, &e), &e);
    const struct core_plan *best = &p.elites.at[0];
    struct search_domain *domain = search->domain;
    void *session = domain->session_create(domain, NULL);
    for (uint64_t k = 0; k < core_list_changes(&best->list, domain->decision_count); k++) {
        struct core_plan plan = {.list = best->list};
        if (core_list_exchanges(domain, &best->list, k, NULL) ||
            !core_list_change(&plan.list, k, NULL, domain->decision_count))
            continue;
        ASSERT_OK(core_price_list(search, session, &plan, &e), &e);
        assert_true(cost_compare(plan.cost, plan.hash, best->cost, best->hash) >= 0);
    }
    domain->session_destroy(session);
    core_snapshot_release(&p);
    free(snapshot.bytes);
    search_destroy(search);
}

enum { IDLE_GROUP = LAND_GROUPS - 1 }; /* below: its decisions make other plans that cost the same */

static enum error_code price_without_idle(void *session, const struct search_list *list, int64_t beaten,
                                          struct price *price, struct cost *cost, struct error *e)
{
    struct search_list rest = {.count = 0};
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i] / LAND_AXES != IDLE_GROUP)
            rest.at[rest.count++] = list->at[i];
    return land_price(session, &rest, beaten, price, cost, e);
}

static void what_saves_nothing_is_left_out(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct search_domain *land = land_create(seed, LAND_GROUPS);
        struct search_options options = {.seed = seed, .rollouts = 3000};
        struct search_state found;
        struct search_blob last;
        struct core_snapshot end;
        struct search *search;
        struct error e;
        land->price = price_without_idle;
        land->baselines[1].list = (struct search_list){3, {IDLE_GROUP * LAND_AXES, 0, 1}};
        ASSERT_OK(search_create_on(land, &options, &search, &e), &e);
        ASSERT_OK(search_run(search, 1, 0, NULL, NULL, &found, &last, NULL, &e), &e);
        ASSERT_OK(core_snapshot_read(search, last.bytes, last.size, &end, &e), &e);
        for (uint32_t i = 0; i < end.best.list.count; i++)
            assert_int_not_equal(end.best.list.at[i] / LAND_AXES, IDLE_GROUP);
        core_snapshot_release(&end);
        free(last.bytes);
        search_destroy(search);
    }
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    struct search *search;
    struct error e;
    struct search_options options = {.parallelism = 257};
    assert_int_equal(search_create_on(land_create(1, 4), &options, &search, &e), ERROR_INVALID_REQUEST);
}

static void nothing_to_decide_ends_at_once(void **state)
{
    (void)state;
    struct search_domain *domain = land_create(1, 1);
    domain->decision_count = 0;
    struct search *search;
    struct error e;
    ASSERT_OK(search_create_on(domain, NULL, &search, &e), &e);
    struct search_state search_state = run(search, 2);
    assert_string_equal(search_state.stop_reason, "exhausted");
    assert_string_equal(search_state.best.found_by, "baseline batch");
    search_destroy(search);
}

static void without_search_the_baselines_race_or_the_pins_stand(void **state)
{
    (void)state;
    struct search *search = create(1, 4, (struct search_options){.method = SEARCH_BASELINES});
    struct search_state search_state = run(search, 1);
    assert_string_equal(search_state.best.found_by, "baseline batch");
    assert_int_equal(search_state.rollouts, 0);
    search_destroy(search);
    search = create(1, 4, (struct search_options){.method = SEARCH_START});
    search_state = run(search, 1);
    assert_int_equal(search_state.best.count, 0);
    assert_int_equal(search_baseline_count(search), 0);
    search_destroy(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm_is_exact_at_powers_and_monotone),
        cmocka_unit_test(reward_is_zero_at_the_root_and_falls_with_cost),
        cmocka_unit_test(reward_orders_plans_as_cost_compare_does),
        cmocka_unit_test(lists_move_as_they_say),
        cmocka_unit_test(a_node_keeps_the_least_list),
        cmocka_unit_test(small_landscapes_are_solved),
        cmocka_unit_test(never_worse_than_baselines_random_or_greedy),
        cmocka_unit_test(threads_and_processes_give_the_same),
        cmocka_unit_test(exact_prices_are_made_ahead),
        cmocka_unit_test(seed_and_parallelism_are_part_of_the_result),
        cmocka_unit_test(the_budget_is_kept_exactly),
        cmocka_unit_test(the_budget_falls_with_the_program),
        cmocka_unit_test(experts_race_until_their_time_is_over),
        cmocka_unit_test(a_stage_without_a_better_plan_ends_the_search),
        cmocka_unit_test(climbs_come_first_and_keep_their_share),
        cmocka_unit_test(an_exchange_is_of_other_dimensions),
        cmocka_unit_test(a_polished_plan_stands_on_a_hill),
        cmocka_unit_test(what_saves_nothing_is_left_out),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(nothing_to_decide_ends_at_once),
        cmocka_unit_test(without_search_the_baselines_race_or_the_pins_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* label: service */
/* timeout: 300 */
/* links: simulation */
/* Deterministic simulation of the service (world.h): a thousand schedules in which anything may go wrong find
 * nothing (TOAST_SCHEDULES, TOAST_SEED; bench/simulate runs millions), each is found again from its seed and
 * from its choices, and each planted bug is found within a minute (by count, so that a busy machine changes
 * nothing) and shrunk to a schedule that still shows it. All of this is done with the stand-in for Redis
 * (mini.h), which is held against a real one: each reply, and each key at the end. */
#include "engine.h"
#include "run.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FOUND_WITHIN = 5000 }; /* schedules: a quarter of a minute on one idle core */

static uint64_t first_seed(void)
{
    const char *seed = getenv("TOAST_SEED");
    return seed ? strtoull(seed, NULL, 10) : 1;
}

static void test_schedules(void **state)
{
    const char *count = getenv("TOAST_SCHEDULES");
    long long schedules = count ? strtoll(count, NULL, 10) : 1000;
    run_prepare(NULL);
    struct run_search search = {.first = first_seed(), .count = schedules};
    run_search(&search);
    if (search.failing) {
        struct run_report report;
        run_seed(search.failing, false, &report);
        run_shrink(&report, 2000);
        char *choices = choices_text(&report.list);
        fail_msg("seed %llu: %s\n%s--replay %s", (unsigned long long)search.failing, report.failure,
                 report.story, choices);
    }
    printf("%lld schedules from seed %llu\n", schedules, (unsigned long long)first_seed());
}

/* what long runs found: an answer's task and an assist under tokens that a late claim has, a retry's answer
 * that comes after the archive, a task of a second that Redis lost; and what the judge took for an error, a
 * job that its client comes to know by another id */
static void test_once_found(void **state)
{
    static const uint64_t seeds[] = {12347, 50898, 58180, 180719, 186167, 246147, 878723};
    run_prepare(NULL);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct run_report report;
        run_seed(seeds[i], false, &report);
        if (report.failed)
            fail_msg("seed %llu: %s", (unsigned long long)seeds[i], report.failure);
        run_report_release(&report);
    }
}

static void test_replays(void **state)
{
    run_prepare(NULL);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct run_report once, again, listed;
        run_seed(seed, true, &once);
        run_seed(seed, true, &again);
        run_list(&once.list, true, &listed);
        assert_string_equal(once.story, again.story);
        assert_string_equal(once.story, listed.story);
        assert_true(strlen(once.story) > 100);
        run_report_release(&once);
        run_report_release(&again);
        run_report_release(&listed);
    }
}

/* every reply of the stand-in is Redis', every key at the end (engine.h ENGINE_BOTH), and so is the story */
static void test_same_as_redis(void **state)
{
    enum { STORIES = 10, COMPARED = 150 };
    char *stories[STORIES];
    struct run_report report;
    for (int kind = ENGINE_REDIS; kind <= ENGINE_BOTH; kind++) {
        engine_start((enum engine_kind)kind);
        run_prepare(NULL);
        for (int i = 0; i < STORIES; i++) {
            run_seed(first_seed() + (uint64_t)i, true, &report);
            if (kind == ENGINE_BOTH)
                assert_string_equal(report.story, stories[i]);
            else
                stories[i] = mem_strdup(report.story);
            run_report_release(&report);
        }
        struct run_search search = {.first = first_seed() + 1000000, .count = COMPARED};
        if (kind == ENGINE_BOTH)
            run_search(&search);
        assert_int_equal(search.failing, 0);
        engine_stop();
    }
    for (int i = 0; i < STORIES; i++)
        free(stories[i]);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void find(const struct wire_plant *plant)
{
    double began = now_s();
    struct run_search search = {.first = first_seed(), .count = FOUND_WITHIN};
    struct run_report report;
    run_prepare(plant);
    run_search(&search);
    if (!search.failing)
        fail_msg("%s: not found in %lld schedules", plant->name, search.done);
    double took_s = now_s() - began;
    run_seed(search.failing, false, &report);
    assert_true(report.failed);
    size_t before = report.list.count;
    run_shrink(&report, 300);
    printf("%s: %lld schedules, %.2f s; %zu choices of %zu: %s\n", plant->name, search.done, took_s,
           report.list.count, before, report.failure);
    assert_true(report.failed);
    run_report_release(&report);
}

static void test_planted_bugs(void **state)
{
    for (int i = 0; i < run_plant_count; i++)
        find(&run_plants[i]);
}

static int start(void **state)
{
    engine_start(ENGINE_MINI);
    return 0;
}

static int stop(void **state)
{
    engine_stop();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_schedules, start, stop),
                                       cmocka_unit_test_setup_teardown(test_once_found, start, stop),
                                       cmocka_unit_test_setup_teardown(test_replays, start, stop),
                                       cmocka_unit_test_setup_teardown(test_planted_bugs, start, stop),
                                       cmocka_unit_test(test_same_as_redis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

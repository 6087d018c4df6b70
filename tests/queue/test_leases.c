/* label: service */
/* timeout: 60 */
/* links: queue */
/* What keeps work moving when workers are slow, crash or go: second runs, pauses after deaths, starting over,
 * drain, and a Redis whose clock was set back. */
#include "queue_counter.h"
#include "queue_fixture.h"

static long long raw(struct fixture *fixture, int argc, const char **argv)
{
    struct error e;
    redisReply *reply = NULL;
    ASSERT_OK(redis_command(fixture->raw, argc, argv, NULL, &reply, &e), &e);
    long long n = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : reply->integer;
    freeReplyObject(reply);
    return n;
}

static long long now_ms(struct fixture *fixture)
{
    struct error e;
    redisReply *reply = NULL;
    const char *argv[] = {"TIME"};
    ASSERT_OK(redis_command(fixture->raw, 1, argv, NULL, &reply, &e), &e);
    long long ms =
        strtoll(reply->element[0]->str, NULL, 10) * 1000 + strtoll(reply->element[1]->str, NULL, 10) / 1000;
    freeReplyObject(reply);
    return ms;
}

static long long lease_end(struct fixture *fixture, const char *member)
{
    const char *argv[] = {"ZSCORE", "{t}:lease", member};
    return raw(fixture, 3, argv);
}

static void submit(struct fixture *fixture, char id[QUEUE_ID_SIZE])
{
    struct error e;
    bool existed;
    struct queue_pair fields[] = {{"request", "r"}, {"module", "m"}};
    queue_new_id(id);
    struct queue_submission submission = {
        .id = id, .tenant = "default", .first_kind = "read", .fields = fields, .field_count = 2};
    ASSERT_OK(queue_submit(fixture->queue, &submission, &existed, &e), &e);
}

static void claim(struct fixture *fixture, const char *token, struct queue_task *task)
{
    struct error e;
    bool found;
    ASSERT_OK(queue_claim(fixture->queue, token, "build1", "", task, &found, &e), &e);
    assert_true(found);
}

static bool assist(struct fixture *fixture, const char *token, struct queue_task *task)
{
    struct error e;
    bool found;
    ASSERT_OK(queue_assist(fixture->queue, token, "build1", task, &found, &e), &e);
    return found;
}

/* a job at a step of `tasks` tasks, the first of which is t's */
static void begin(struct fixture *fixture, char id[QUEUE_ID_SIZE], uint32_t tasks, struct queue_task *task)
{
    struct error e;
    bool found;
    struct queue_task first;
    struct queue_step step = {.kind = "rollouts",
                              .tasks = tasks,
                              .join = "merge",
                              .wrap = "emit",
                              .state = "running",
                              .progress = "{}"};
    submit(fixture, id);
    claim(fixture, "w0", &first);
    ASSERT_OK(queue_commit(fixture->queue, &first, &step, "w1", task, &found, &e), &e);
    assert_true(found);
    queue_task_release(&first);
}

static void test_stragglers(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct queue_task slow, task, again, next;
    bool drain;
    struct error e;
    begin(fixture, id, 3, &slow);
    assert_false(assist(fixture, "h1", &again)); /* nothing is done yet: nobody knows what is slow */
    for (int i = 0; i < 2; i++) {
        claim(fixture, i ? "w3" : "w2", &task);
        assert_false(done(fixture->queue, &task, "x", "", &next));
        queue_task_release(&task);
    }
    assert_false(assist(fixture, "h1", &again)); /* it has not run for long */
    char *k = mem_printf("{t}:k:%s:1", id), *since = mem_printf("%lld", now_ms(fixture) - 5000);
    const char *earlier[] = {"HSET", k, "s:0", since};
    raw(fixture, 4, earlier);
    assert_true(assist(fixture, "h1", &again));
    assert_string_equal(again.member, slow.member);
    struct queue_task third;
    assert_false(assist(fixture, "h2", &third)); /* once is enough */
    struct queue_lease both[] = {{slow.member, slow.token, false}, {again.member, again.token, false}};
    ASSERT_OK(queue_beat(fixture->queue, "w", "build1", "host", 1, both, 2, &drain, &e), &e);
    assert_true(both[0].held && both[1].held && !drain);
    /* the helper is first and gets the join; the slow one's differing result is seen although its step is
     * over */
    assert_true(done(fixture->queue, &again, "same", "h1b", &next));
    assert_string_equal(next.kind, "merge");
    assert_false(done(fixture->queue, &slow, "same", "w4", &task));
    assert_int_equal(counter(fixture->queue, "nondeterminism"), 0);
    assert_false(done(fixture->queue, &slow, "other", "w4", &task));
    assert_int_equal(counter(fixture->queue, "nondeterminism"), 1);
    assert_int_equal(counter(fixture->queue, "assisted"), 1);
    ASSERT_OK(queue_beat(fixture->queue, "w", "build1", "host", 1, both, 2, &drain, &e), &e);
    assert_false(both[0].held || both[1].held);
    free(k);
    free(since);
    queue_task_release(&slow);
    queue_task_release(&again);
    queue_task_release(&next);
}

/* a helper that gives up takes nothing from the holder */
static void test_helper_leaves(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct queue_task slow, task, again, next;
    struct error e;
    bool drain;
    begin(fixture, id, 2, &slow);
    claim(fixture, "w2", &task);
    assert_false(done(fixture->queue, &task, "x", "", &next));
    char *k = mem_printf("{t}:k:%s:1", id);
    const char *earlier[] = {"HSET", k, "s:0", "1"};
    raw(fixture, 4, earlier);
    assert_true(assist(fixture, "h1", &again));
    ASSERT_OK(queue_release(fixture->queue, &again, &e), &e);
    struct queue_lease lease[] = {{slow.member, slow.token, false}};
    ASSERT_OK(queue_beat(fixture->queue, "w", "build1", "host", 1, lease, 1, &drain, &e), &e);
    assert_true(lease[0].held);
    queue_task_release(&again);
    assert_true(assist(fixture, "h2", &again)); /* another may help now */
    free(k);
    queue_task_release(&slow);
    queue_task_release(&again);
    queue_task_release(&task);
}

/* pauses: 1 to 4 s after the first death, 1 to 16 s after the second */
static void test_pauses(void **state)
{
    struct fixture *fixture = *state;
    static const uint32_t random[2][2] = {{0, 0xffff}, {0, 0xffff}};
    for (int high = 0; high < 2; high++) {
        char id[QUEUE_ID_SIZE];
        struct queue_task task;
        struct error e;
        submit(fixture, id);
        for (int death = 1; death <= 2; death++) {
            claim(fixture, "w", &task);
            long long before = now_ms(fixture);
            ASSERT_OK(queue_died(fixture->queue, &task, "{}", "fault", random[death - 1][high], &e), &e);
            long long pause = lease_end(fixture, task.member) - before;
            long long expected = !high ? 1000 : death == 1 ? 4000 : 16000;
            assert_in_range(pause, expected - 50, expected + 2000);
            const char *expire[] = {"ZADD", "{t}:lease", "XX", "1", task.member};
            ASSERT_OK(queue_reap(fixture->queue, &e), &e); /* the first after a silence only extends */
            raw(fixture, 5, expire);
            ASSERT_OK(queue_reap(fixture->queue, &e), &e);
            queue_task_release(&task);
        }
        claim(fixture, high ? "w" : "v", &task); /* a third attempt, which lives */
        queue_task_release(&task);
    }
}

/* What hosts do to a task counts towards a cap of its own, leases that run out with it: after a dozen the job
 * is dead and says by what. The pauses double from a second to a minute. */
static void test_host_deaths(void **state)
{
    struct fixture *fixture = *state;
    enum { CAP = 12 };
    char id[QUEUE_ID_SIZE];
    struct queue_task task;
    struct queue_fields job;
    struct error e;
    submit(fixture, id);
    for (int death = 1; death <= CAP; death++) {
        ASSERT_OK(queue_job(fixture->queue, id, &job, &e), &e);
        assert_true(strcmp(queue_field(&job, "state"), "dead") != 0);
        queue_fields_release(&job);
        claim(fixture, "w", &task);
        const char *expire[] = {"ZADD", "{t}:lease", "XX", "1", task.member};
        ASSERT_OK(queue_reap(fixture->queue, &e), &e); /* the first after a silence only extends */
        if (death != 3) {                              /* the third time its worker is gone */
            long long before = now_ms(fixture), pause = 500LL << death;
            ASSERT_OK(queue_died(fixture->queue, &task, "{\"message\":\"signal \\\"9\\\"\"}",
                                 death == 1 ? "host" : "oom", 0xffff, &e),
                      &e);
            if (death < CAP)
                assert_in_range(lease_end(fixture, task.member) - before,
                                (pause < 60000 ? pause : 60000) - 50, (pause < 60000 ? pause : 60000) + 2000);
        }
        raw(fixture, 5, expire);
        ASSERT_OK(queue_reap(fixture->queue, &e), &e);
        queue_task_release(&task);
    }
    ASSERT_OK(queue_job(fixture->queue, id, &job, &e), &e);
    assert_string_equal(queue_field(&job, "state"), "dead");
    assert_non_null(strstr(queue_field(&job, "error"), "\"code\":\"host_fault\""));
    assert_non_null(strstr(queue_field(&job, "error"), "lost 12 attempts (oom 10, host 1, lease 1)"));
    assert_non_null(strstr(queue_field(&job, "error"), "signal \\\"9\\\""));
    queue_fields_release(&job);
    ASSERT_OK(queue_counters(fixture->queue, &job, &e), &e);
    assert_int_equal(queue_number(&job, "deaths:oom"), 10);
    assert_int_equal(queue_number(&job, "deaths:lease"), 1);
    queue_fields_release(&job);
}

static void test_start_over(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct queue_task task;
    struct queue_fields job;
    struct error e;
    for (int attempt = 1; attempt <= 5; attempt++) {
        if (attempt == 1) {
            begin(fixture, id, 3, &task);
        } else {
            claim(fixture, "w", &task);
            assert_string_equal(task.kind, "read");
        }
        ASSERT_OK(queue_job(fixture->queue, id, &job, &e), &e);
        assert_int_equal(queue_number(&job, "attempt"), attempt);
        assert_string_equal(queue_field(&job, "b:snapshot"), "");
        queue_fields_release(&job);
        ASSERT_OK(queue_reset(fixture->queue, &task, "{\"code\":\"not_found\"}", &e), &e);
        ASSERT_OK(queue_reset(fixture->queue, &task, "{\"code\":\"not_found\"}", &e),
                  &e); /* the second says nothing new */
        queue_task_release(&task);
    }
    ASSERT_OK(queue_job(fixture->queue, id, &job, &e), &e);
    assert_string_equal(queue_field(&job, "state"), "dead");
    assert_string_equal(queue_field(&job, "error"), "{\"code\":\"not_found\"}");
    queue_fields_release(&job);
}

static void test_drain(void **state)
{
    struct fixture *fixture = *state;
    struct error e;
    bool drain, known;
    ASSERT_OK(queue_drain(fixture->queue, "nobody", true, &known, &e), &e);
    assert_false(known);
    ASSERT_OK(queue_beat(fixture->queue, "w", "build1", "host", 1, NULL, 0, &drain, &e), &e);
    assert_false(drain);
    ASSERT_OK(queue_drain(fixture->queue, "w", true, &known, &e), &e);
    assert_true(known);
    ASSERT_OK(queue_beat(fixture->queue, "w", "build1", "host", 1, NULL, 0, &drain, &e), &e);
    assert_true(drain);
    ASSERT_OK(queue_drain(fixture->queue, "w", false, &known, &e), &e);
    ASSERT_OK(queue_beat(fixture->queue, "w", "build1", "host", 1, NULL, 0, &drain, &e), &e);
    assert_false(drain);
}

/* leases and beats that lie an hour ahead are what a clock that was set back leaves behind */
static void test_clock_set_back(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct queue_task task;
    struct error e;
    bool drain;
    submit(fixture, id);
    claim(fixture, "w", &task);
    ASSERT_OK(queue_beat(fixture->queue, "w", "build1", "host", 1, NULL, 0, &drain, &e), &e);
    char *ahead = mem_printf("%lld", now_ms(fixture) + 3600000);
    const char *lease[] = {"ZADD", "{t}:lease", ahead, task.member},
               *build[] = {"ZADD", "{t}:builds", ahead, "build1"},
               *seen[] = {"ZSCORE", "{t}:builds", "build1"};
    raw(fixture, 4, lease);
    raw(fixture, 4, build);
    ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    assert_in_range(lease_end(fixture, task.member) - now_ms(fixture), 5000, 10000);
    assert_true(raw(fixture, 3, seen) <= now_ms(fixture));
    free(ahead);
    queue_task_release(&task);
}

static bool claimed(struct fixture *fixture, const char *token, struct queue_task *task)
{
    struct error e;
    bool found;
    queue_task_release(task);
    ASSERT_OK(queue_claim(fixture->queue, token, "build1", "", task, &found, &e), &e);
    return found;
}

static long long leases(struct fixture *fixture)
{
    const char *argv[] = {"ZCARD", "{t}:lease"};
    return raw(fixture, 2, argv);
}

/* the answer to a claim is lost: the token is given its task again, and never a second one */
static void test_claim_again(void **state)
{
    struct fixture *fixture = *state;
    char first_id[QUEUE_ID_SIZE], second_id[QUEUE_ID_SIZE];
    struct queue_task task = {0}, again = {0}, next = {0};
    struct error e;
    submit(fixture, first_id);
    submit(fixture, second_id);
    assert_true(claimed(fixture, "w:1#0.5", &task));
    const char *short_lease[] = {"ZADD", "{t}:lease", "XX", "1", task.member};
    raw(fixture, 5, short_lease);
    assert_true(claimed(fixture, "w:1#0.5", &again));
    assert_string_equal(again.member, task.member);
    assert_string_equal(again.token, "w:1#0.5");
    assert_string_equal(queue_field(&again.job, "fence"), "1");
    assert_int_equal(leases(fixture), 1);
    assert_in_range(lease_end(fixture, task.member) - now_ms(fixture), 5000, 10000); /* it is renewed */
    assert_false(claimed(fixture, "w:1#0.4", &again)); /* an earlier one comes too late */
    assert_int_equal(leases(fixture), 1);
    assert_true(claimed(fixture, "w:1#1.1", &again)); /* another slot's */
    assert_string_not_equal(again.member, task.member);
    ASSERT_OK(queue_finish(fixture->queue, &task, "failed", "{}", "", NULL, 0, &(bool){false}, &e), &e);
    submit(fixture, first_id);
    assert_false(claimed(fixture, "w:1#0.5", &next)); /* what this token was given is over */
    assert_int_equal(leases(fixture), 1);
    queue_task_release(&task);
    queue_task_release(&again);
}

/* a slot that claims under a later token has nothing: what the earlier one was given is free at once */
static void test_claim_anew(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct queue_task task = {0}, next = {0};
    struct error e;
    submit(fixture, id);
    assert_true(claimed(fixture, "w#0.1", &task));
    assert_true(claimed(fixture, "w#0.2", &next));
    assert_string_equal(next.member, task.member);
    assert_string_equal(next.token, "w#0.2");
    assert_int_equal(leases(fixture), 1);
    assert_int_equal(counter(fixture->queue, "lease_lost"), 1);
    ASSERT_OK(queue_unclaim(fixture->queue, "w#0.2", &e), &e); /* it leaves and has heard nothing */
    assert_int_equal(leases(fixture), 0);
    assert_false(claimed(fixture, "w#0.2", &next));            /* .. and the claim comes once more */
    ASSERT_OK(queue_unclaim(fixture->queue, "w#1.7", &e), &e); /* before it was claimed with */
    assert_false(claimed(fixture, "w#1.7", &next));
    assert_true(claimed(fixture, "w#1.8", &next));
    queue_task_release(&task);
    queue_task_release(&next);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stragglers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_helper_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pauses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_host_deaths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_start_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drain, setup, teardown),
        cmocka_unit_test_setup_teardown(test_claim_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_claim_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clock_set_back, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* label: service */
/* timeout: 60 */
/* links: queue */
/* The queue's transitions against a real Redis: a job's whole chain, fences, late results, deaths, cancel,
 * deadlines, and that nothing is lost when Redis is killed. */
#include "queue_counter.h"
#include "queue_fixture.h"

#include "queue/observe.h"

#include <pthread.h>

static void submit(struct queue *queue, char id[QUEUE_ID_SIZE], long long deadline_ms)
{
    struct error e;
    bool existed;
    struct queue_pair fields[] = {{"request", "r"}, {"module", "m"}};
    queue_new_id(id);
    struct queue_submission submission = {.id = id,
                                          .tenant = "default",
                                          .first_kind = "read",
                                          .deadline_ms = deadline_ms,
                                          .fields = fields,
                                          .field_count = 2};
    ASSERT_OK(queue_submit(queue, &submission, &existed, &e), &e);
    assert_false(existed);
    ASSERT_OK(queue_submit(queue, &submission, &existed, &e), &e);
    assert_true(existed);
}

static void expect_state(struct queue *queue, const char *id, const char *state)
{
    struct error e;
    struct queue_fields job;
    ASSERT_OK(queue_job(queue, id, &job, &e), &e);
    assert_string_equal(queue_field(&job, "state"), state);
    queue_fields_release(&job);
}

static void claim(struct queue *queue, const char *token, struct queue_task *task, bool expected)
{
    struct error e;
    bool found;
    ASSERT_OK(queue_claim(queue, token, "build1", "", task, &found, &e), &e);
    assert_int_equal(found, expected);
}

static bool commit(struct queue *queue, const struct queue_task *task, const char *kind, uint32_t tasks,
                   const char *token, struct queue_task *next)
{
    struct error e;
    bool found;
    struct queue_pair fields[] = {{"b:snapshot", "digest"}};
    struct queue_step step = {.kind = kind,
                              .tasks = tasks,
                              .join = tasks > 1 ? "merge" : "",
                              .wrap = "emit",
                              .state = "running",
                              .progress = "{}",
                              .rollouts = 5,
                              .dropped = 7,
                              .fields = fields,
                              .field_count = 1};
    ASSERT_OK(queue_commit(queue, task, &step, token, next, &found, &e), &e);
    return found;
}

/* -> how many ids are not above the one before */
static void *make_ids(void *falls)
{
    char id[QUEUE_ID_SIZE], last[QUEUE_ID_SIZE] = "";
    for (int i = 0; i < 200000; i++) { /* some milliseconds */
        queue_new_id(id);
        *(int *)falls += !queue_id_valid(id) || strcmp(id, last) <= 0;
        memcpy(last, id, sizeof last);
    }
    return NULL;
}

static void test_ids(void **state)
{
    pthread_t threads[4];
    int falls[4] = {0}, all = 0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_ids, &falls[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        all += falls[i];
    }
    assert_int_equal(all, 0);
    (void)state;
}

static void test_chain(void **state)
{
    struct fixture *fixture = *state;
    struct error e;
    char id[QUEUE_ID_SIZE];
    struct queue_task task, queue_task, next;
    assert_true((queue_new_id(id), queue_id_valid(id)));
    assert_false(queue_id_valid("j_../../etc/passwd"));
    submit(fixture->queue, id, 0);
    expect_state(fixture->queue, id, "queued");
    claim(fixture->queue, "w1", &task, true);
    assert_string_equal(task.id, id);
    assert_string_equal(task.kind, "read");
    assert_string_equal(queue_field(&task.job, "module"), "m");
    expect_state(fixture->queue, id, "validating");
    struct queue_task none;
    claim(fixture->queue, "w2", &none, false);
    assert_true(commit(fixture->queue, &task, "rollouts", 2, "w1b", &next));
    assert_string_equal(next.kind, "rollouts");
    assert_int_equal(next.index, 0);
    /* the reply was lost: asking again gives the same task, nothing moves */
    struct queue_task again;
    assert_true(commit(fixture->queue, &task, "rollouts", 2, "w1b", &again));
    /* of the job so far: saying it again adds nothing */
    assert_int_equal(counter(fixture->queue, "edges_dropped"), 7);
    assert_string_equal(again.member, next.member);
    queue_task_release(&again);
    claim(fixture->queue, "w2", &queue_task, true);
    assert_int_equal(queue_task.index, 1);
    queue_task_release(&task);
    assert_false(done(fixture->queue, &queue_task, "digest-1", "w2b", &task));
    assert_true(done(fixture->queue, &next, "digest-0", "w1c", &task));
    assert_string_equal(task.kind, "merge");
    struct queue_fields results;
    ASSERT_OK(queue_results(fixture->queue, id, task.epoch, &results, &e), &e);
    assert_int_equal(results.count, 2);
    assert_string_equal(queue_field(&results, "0"), "digest-0");
    queue_fields_release(&results);
    queue_task_release(&next);
    assert_true(commit(fixture->queue, &task, "emit", 1, "w1d", &next));
    bool fenced;
    struct queue_pair artifacts[] = {{"a:plan.json", "abc:10"}};
    ASSERT_OK(queue_finish(fixture->queue, &next, "succeeded", "", "{\"done\":1}", artifacts, 1, &fenced, &e),
              &e);
    assert_false(fenced);
    ASSERT_OK(queue_finish(fixture->queue, &next, "succeeded", "", "", artifacts, 1, &fenced, &e), &e);
    assert_false(fenced);
    expect_state(fixture->queue, id, "succeeded");
    assert_int_equal(counter(fixture->queue, "jobs:succeeded"), 1);
    assert_int_equal(counter(fixture->queue, "jobs:running"), 0);
    assert_int_equal(counter(fixture->queue, "leases"), 0);
    assert_int_equal(counter(fixture->queue, "run"), 0);
    queue_task_release(&task);
    queue_task_release(&queue_task);
    queue_task_release(&next);
}

static void test_late_results(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct error e;
    struct queue_task task, queue_task, other_task, next;
    submit(fixture->queue, id, 0);
    claim(fixture->queue, "w1", &task, true);
    assert_true(commit(fixture->queue, &task, "rollouts", 3, "w1b", &queue_task));
    assert_false(
        commit(fixture->queue, &task, "rollouts", 3, "w9", &next)); /* the step is over for anyone else */
    assert_int_equal(counter(fixture->queue, "fenced"), 1);
    /* a releases its task, other_task does it, a's late result must be equal and is counted when it is not */
    ASSERT_OK(queue_release(fixture->queue, &queue_task, &e), &e);
    claim(fixture->queue, "w2", &other_task, true);
    assert_int_equal(other_task.index, queue_task.index);
    assert_false(done(fixture->queue, &other_task, "x", "", &next));
    assert_false(done(fixture->queue, &queue_task, "x", "w1c", &next));
    assert_int_equal(counter(fixture->queue, "nondeterminism"), 0);
    assert_false(done(fixture->queue, &queue_task, "y", "w1d", &next));
    assert_int_equal(counter(fixture->queue, "nondeterminism"), 1);
    bool drain;
    struct queue_lease lost[] = {{queue_task.member, queue_task.token, true}};
    ASSERT_OK(queue_beat(fixture->queue, "worker", "build1", "host", 1, lost, 1, &drain, &e), &e);
    assert_false(lost[0].held);
    queue_task_release(&task);
    queue_task_release(&queue_task);
    queue_task_release(&other_task);
}

/* the answer to a result brings another task of the step, where a claim would give one of this job */
static void test_another_task(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE], urgent[QUEUE_ID_SIZE];
    struct error e;
    bool existed;
    struct queue_task task, queue_task, other_task, again, c;
    submit(fixture->queue, id, 0);
    claim(fixture->queue, "w1", &task, true);
    assert_true(commit(fixture->queue, &task, "rollouts", 4, "w1b", &queue_task));
    assert_true(done(fixture->queue, &queue_task, "x", "w1c", &other_task));
    assert_string_equal(other_task.kind, "rollouts");
    assert_int_equal(other_task.index, 1);
    assert_string_equal(other_task.token, "w1c");
    /* the reply was lost: the same task, and nothing moves */
    assert_true(done(fixture->queue, &queue_task, "x", "w1c", &again));
    assert_string_equal(again.member, other_task.member);
    assert_int_equal(counter(fixture->queue, "tasks:rollouts:ok"), 1);
    assert_int_equal(counter(fixture->queue, "tasks:rollouts:duplicate"), 0);
    assert_int_equal(counter(fixture->queue, "leases"), 1);
    queue_new_id(urgent);
    struct queue_pair fields[] = {{"request", "r"}, {"module", "m"}, {"priority", "9"}};
    struct queue_submission submission = {
        .id = urgent, .tenant = "default", .first_kind = "read", .fields = fields, .field_count = 3};
    ASSERT_OK(queue_submit(fixture->queue, &submission, &existed, &e), &e);
    assert_false(
        done(fixture->queue, &other_task, "y", "w1d", &c)); /* another job of the tenant is before this one */
    claim(fixture->queue, "w1d", &c, true);
    assert_string_equal(c.id, urgent);
    queue_task_release(&task);
    queue_task_release(&queue_task);
    queue_task_release(&other_task);
    queue_task_release(&again);
    queue_task_release(&c);
}

/* one of several tasks fails the job (too little memory, say): its event has a fence of its own */
static void test_failed_in_the_middle(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct error e;
    bool fenced;
    struct queue_task task, queue_task, other_task;
    struct queue_fields before, after;
    submit(fixture->queue, id, 0);
    claim(fixture->queue, "w1", &task, true);
    assert_true(commit(fixture->queue, &task, "rollouts", 2, "w1b", &queue_task));
    claim(fixture->queue, "w2", &other_task, true);
    ASSERT_OK(queue_job(fixture->queue, id, &before, &e), &e);
    ASSERT_OK(queue_finish(fixture->queue, &other_task, "failed", "{}", "", NULL, 0, &fenced, &e), &e);
    assert_false(fenced);
    expect_state(fixture->queue, id, "failed");
    ASSERT_OK(queue_finish(fixture->queue, &queue_task, "failed", "{}", "", NULL, 0, &fenced, &e), &e);
    assert_true(fenced);
    ASSERT_OK(queue_job(fixture->queue, id, &after, &e), &e);
    assert_int_equal(queue_number(&after, "fence"), queue_number(&before, "fence") + 1);
    struct queue_done_list list; /* who did what: the task that failed, not another of its step */
    ASSERT_OK(queue_done_tasks(fixture->queue, id, &list, &e), &e);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.at[1].kind, "rollouts");
    assert_int_equal(list.at[1].index, other_task.index);
    assert_int_not_equal(list.at[1].from_ms, 0);
    queue_done_release(&list);
    queue_fields_release(&before);
    queue_fields_release(&after);
    queue_task_release(&task);
    queue_task_release(&queue_task);
    queue_task_release(&other_task);
}

static void test_deaths(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct error e;
    submit(fixture->queue, id, 0);
    for (int i = 0; i < 3; i++) {
        struct queue_task task;
        claim(fixture->queue, "w1", &task, true);
        ASSERT_OK(queue_died(fixture->queue, &task, "{\"code\":\"internal\"}", "fault", 0, &e), &e);
        queue_task_release(&task);
        usleep(3000);
        ASSERT_OK(queue_reap(fixture->queue, &e),
                  &e); /* the first reap after a silence only extends leases */
        redisReply *reply = NULL;
        struct redis *raw;
        ASSERT_OK(redis_create(fixture->redis.address, &raw, &e), &e);
        char member[96];
        snprintf(member, sizeof member, "%s/read/0/0", id);
        const char *expire[] = {"ZADD", "{t}:lease", "XX", "1", member};
        ASSERT_OK(redis_command(raw, 5, expire, NULL, &reply, &e), &e);
        freeReplyObject(reply);
        redis_destroy(raw);
        ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    }
    expect_state(fixture->queue, id, "dead");
    assert_int_equal(counter(fixture->queue, "tasks:read:died"), 3);
    assert_int_equal(counter(fixture->queue, "leases"), 0);
}

static void test_cancel(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE], text[32];
    struct error e;
    bool terminal, fenced;
    struct queue_task task, queue_task, other_task;
    submit(fixture->queue, id, 0);
    ASSERT_OK(queue_cancel(fixture->queue, id, false, text, &terminal, &e), &e);
    assert_false(terminal);
    expect_state(fixture->queue, id, "cancelled"); /* nothing to keep yet */
    submit(fixture->queue, id, 0);
    claim(fixture->queue, "w1", &task, true);
    assert_true(commit(fixture->queue, &task, "rollouts", 4, "w1b", &queue_task));
    ASSERT_OK(queue_cancel(fixture->queue, id, false, text, &terminal, &e), &e);
    assert_string_equal(text, "cancelling");
    bool drain;
    struct queue_lease lost[] = {{queue_task.member, queue_task.token, true}};
    ASSERT_OK(queue_beat(fixture->queue, "worker", "build1", "host", 1, lost, 1, &drain, &e), &e);
    assert_false(lost[0].held);
    claim(fixture->queue, "w2", &other_task, true);
    assert_string_equal(other_task.kind, "emit");
    assert_string_equal(queue_field(&other_task.job, "stop"), "cancel");
    ASSERT_OK(queue_finish(fixture->queue, &other_task, "succeeded", "", "", NULL, 0, &fenced, &e), &e);
    expect_state(fixture->queue, id, "cancelled");
    ASSERT_OK(queue_cancel(fixture->queue, id, false, text, &terminal, &e), &e);
    assert_true(terminal);
    assert_int_equal(queue_cancel(fixture->queue, "j_00000000000000000000000000", false, text, &terminal, &e),
                     ERROR_NOT_FOUND);
    queue_task_release(&task);
    queue_task_release(&queue_task);
    queue_task_release(&other_task);
}

static void test_deadline(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    struct error e;
    submit(fixture->queue, id, 20);
    usleep(40000);
    ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    expect_state(fixture->queue, id, "expired");
}

/* a job whose artifacts are being written when its deadline passes: `best` begins them again, so that
 * they leave out what takes time, and refuses what was begun before; `fail` ends the job */
static void test_deadline_at_the_end(void **state)
{
    struct fixture *fixture = *state;
    static const char *const wanted[] = {"best", "fail"};
    for (int i = 0; i < 2; i++) {
        char id[QUEUE_ID_SIZE];
        struct error e;
        struct queue_task task, emit;
        bool found, existed, fenced;
        struct queue_pair fields[] = {{"request", "r"}, {"module", "m"}, {"on_deadline", wanted[i]}},
                          plan[] = {{"a:plan.json", "p"}};
        queue_new_id(id);
        struct queue_submission submission = {.id = id,
                                              .tenant = "default",
                                              .first_kind = "read",
                                              .deadline_ms = 200,
                                              .fields = fields,
                                              .field_count = 3};
        ASSERT_OK(queue_submit(fixture->queue, &submission, &existed, &e), &e);
        claim(fixture->queue, "w1", &task, true);
        struct queue_step step = {
            .kind = "emit", .tasks = 1, .join = "", .wrap = "", .state = "finalizing", .progress = "{}"};
        ASSERT_OK(queue_commit(fixture->queue, &task, &step, "w2", &emit, &found, &e), &e);
        assert_true(found);
        usleep(250000);
        ASSERT_OK(queue_reap(fixture->queue, &e), &e);
        expect_state(fixture->queue, id, i ? "expired" : "finalizing");
        ASSERT_OK(queue_finish(fixture->queue, &emit, "succeeded", "", "{}", plan, 1, &fenced, &e), &e);
        assert_true(fenced);
        if (i == 0) {
            queue_task_release(&emit);
            claim(fixture->queue, "w3", &emit, true);
            assert_string_equal(emit.kind, "emit");
            assert_string_equal(queue_field(&emit.job, "stop"), "deadline");
            ASSERT_OK(queue_finish(fixture->queue, &emit, "succeeded", "", "{}", plan, 1, &fenced, &e), &e);
            assert_false(fenced);
        }
        expect_state(fixture->queue, id, i ? "expired" : "succeeded");
        queue_task_release(&task);
        queue_task_release(&emit);
    }
}

/* A job that waits for its referee is being finalized, as it was before: a cancel ends the wait, not the job,
 * and its artifacts are written. */
static void test_stop_at_the_referee(void **state)
{
    struct fixture *fixture = *state;
    struct queue_pair fields[] = {{"request", "r"}, {"module", "m"}, {"referee", "xla_cpu"}};
    struct queue_task task, emit, last;
    struct error e;
    bool found, existed, over;
    char id[QUEUE_ID_SIZE], now[32];
    queue_new_id(id);
    struct queue_submission submission = {
        .id = id, .tenant = "default", .first_kind = "read", .fields = fields, .field_count = 3};
    ASSERT_OK(queue_submit(fixture->queue, &submission, &existed, &e), &e);
    claim(fixture->queue, "w1", &task, true);
    struct queue_step step = {
        .kind = "emit", .tasks = 1, .join = "", .wrap = "", .state = "finalizing", .progress = "{}"};
    ASSERT_OK(queue_commit(fixture->queue, &task, &step, "w2", &emit, &found, &e), &e);
    assert_true(found);
    step.kind = "referee";
    step.wrap = "emit";
    ASSERT_OK(queue_commit(fixture->queue, &emit, &step, "w3", &last, &found, &e), &e);
    assert_false(found); /* it is no planning worker's */
    expect_state(fixture->queue, id, "finalizing");
    ASSERT_OK(queue_cancel(fixture->queue, id, false, now, &over, &e), &e);
    expect_state(fixture->queue, id, "cancelling");
    claim(fixture->queue, "w4", &last, true);
    assert_string_equal(last.kind, "emit");
    ASSERT_OK(queue_finish(fixture->queue, &last, "succeeded", "", "{}", NULL, 0, &over, &e), &e);
    expect_state(fixture->queue, id, "cancelled");
    queue_task_release(&task);
    queue_task_release(&emit);
    queue_task_release(&last);
}

/* seconds cut the search first: by the deadline a job that may not be late has ended all the same */
static void test_deadline_after_seconds(void **state)
{
    struct fixture *fixture = *state;
    struct error e;
    struct queue_task task, rollouts;
    bool found, existed;
    char id[QUEUE_ID_SIZE];
    struct queue_pair fields[] = {
        {"request", "r"}, {"module", "m"}, {"on_deadline", "fail"}, {"seconds_ms", "100"}};
    queue_new_id(id);
    struct queue_submission submission = {.id = id,
                                          .tenant = "default",
                                          .first_kind = "read",
                                          .deadline_ms = 400,
                                          .fields = fields,
                                          .field_count = 4};
    ASSERT_OK(queue_submit(fixture->queue, &submission, &existed, &e), &e);
    claim(fixture->queue, "w1", &task, true);
    struct queue_step step = {.kind = "rollouts",
                              .tasks = 2,
                              .join = "merge",
                              .wrap = "emit",
                              .state = "running",
                              .progress = "{}"};
    ASSERT_OK(queue_commit(fixture->queue, &task, &step, "w2", &rollouts, &found, &e), &e);
    assert_true(found);
    usleep(150000);
    ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    expect_state(fixture->queue, id, "finalizing");
    struct queue_audit audit; /* whose look at the deadline is one of invariant 1 */
    ASSERT_OK(queue_audit_run(fixture->queue, NULL, 0, &audit, &e), &e);
    assert_int_equal(audit.violations.count, 0);
    queue_audit_release(&audit);
    usleep(300000);
    ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    expect_state(fixture->queue, id, "expired");
    queue_task_release(&task);
    queue_task_release(&rollouts);
}

/* nobody writes the artifacts in the time after the deadline (a tenth of what the job was given, at least 5
 * s): the best plan that it has shown is the answer and says so; what seconds or a cancel cut short is
 * bounded, too */
static void test_deadline_bounds_the_end(void **state)
{
    struct fixture *fixture = *state;
    static const char *const ends[] = {"expired", "expired", "cancelled"};
    char ids[3][QUEUE_ID_SIZE], text[32];
    struct error e;
    struct queue_task tasks[3], rollouts[3], others[3];
    bool found, existed;
    struct queue_audit audit;
    for (int i = 0; i < 3; i++) {
        struct queue_pair fields[] = {
            {"request", "r"}, {"module", "m"}, {"on_deadline", "best"}, {"seconds_ms", "100"}};
        struct queue_pair plan[] = {{"a:plan.json", "0123456789:5:application/json"}};
        queue_new_id(ids[i]);
        struct queue_submission submission = {.id = ids[i],
                                              .tenant = "default",
                                              .first_kind = "read",
                                              .deadline_ms = 300,
                                              .fields = fields,
                                              .field_count = i == 1 ? 4 : 3};
        ASSERT_OK(queue_submit(fixture->queue, &submission, &existed, &e), &e);
        claim(fixture->queue, "w1", &tasks[i], true);
        struct queue_step step = {.kind = "rollouts",
                                  .tasks = 2,
                                  .join = "merge",
                                  .wrap = "emit",
                                  .state = "running",
                                  .progress = "{}",
                                  .fields = plan,
                                  .field_count = i == 0 ? 0 : 1};
        ASSERT_OK(queue_commit(fixture->queue, &tasks[i], &step, "w2", &rollouts[i], &found, &e), &e);
        snprintf(text, sizeof text, "w3#%d", i);
        claim(fixture->queue, text, &others[i], true); /* so that the next claim is the next job's */
    }
    usleep(150000);
    ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    expect_state(fixture->queue, ids[1], "finalizing"); /* by seconds */
    ASSERT_OK(queue_cancel(fixture->queue, ids[2], false, text, &found, &e), &e);
    usleep(250000);
    ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    expect_state(fixture->queue, ids[0], "finalizing");
    ASSERT_OK(queue_audit_run(fixture->queue, NULL, 0, &audit, &e), &e);
    assert_int_equal(audit.violations.count, 0);
    queue_audit_release(&audit);
    for (int second = 0; second < 6; second++) { /* all reap, as always */
        usleep(900000);
        ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    }
    for (int i = 0; i < 3; i++) {
        struct queue_fields job;
        expect_state(fixture->queue, ids[i], ends[i]);
        ASSERT_OK(queue_job(fixture->queue, ids[i], &job, &e), &e);
        assert_string_equal(queue_field(&job, "stop"), i == 2 ? "cancel" : "deadline");
        assert_int_equal(queue_field(&job, "a:plan.json")[0] != 0, i != 0);
        if (i < 2)
            assert_non_null(strstr(queue_field(&job, "error"), i ? "best plan by then" : "a plan was ready"));
        queue_fields_release(&job);
        queue_task_release(&tasks[i]);
        queue_task_release(&rollouts[i]);
        queue_task_release(&others[i]);
    }
}

static void test_redis_killed(void **state)
{
    struct fixture *fixture = *state;
    struct error e;
    char ids[20][QUEUE_ID_SIZE];
    struct queue_task task, next;
    for (int i = 0; i < 20; i++)
        submit(fixture->queue, ids[i], 0);
    claim(fixture->queue, "w1", &task, true);
    redis_server_kill(&fixture->redis);
    bool found;
    assert_int_equal(queue_claim(fixture->queue, "w2", "build1", "", &next, &found, &e), ERROR_UNAVAILABLE);
    redis_server_start(&fixture->redis);
    assert_true(commit(fixture->queue, &task, "rollouts", 2, "w1b",
                       &next)); /* the lease and the function library outlive it */
    for (int i = 0; i < 20; i++) {
        struct queue_fields job;
        ASSERT_OK(queue_job(fixture->queue, ids[i], &job, &e), &e);
        queue_fields_release(&job);
    }
    struct queue_page page;
    struct queue_filter filter = {.tenant = "default"};
    size_t seen = 0, pages = 0;
    do {
        ASSERT_OK(queue_list(fixture->queue, &filter, 7, &page, &e), &e);
        seen += page.count;
        pages++;
        filter.before_ms = page.last_ms;
        memcpy(filter.before_id, page.last_id, QUEUE_ID_SIZE);
        found = page.more;
        queue_page_release(&page);
    } while (found);
    assert_int_equal(pages, 3);
    assert_int_equal(seen, 20);
    struct queue_health health;
    ASSERT_OK(queue_check(fixture->queue, &health, &e), &e);
    assert_true(health.primary && health.append_only && health.append_always && health.no_eviction);
    queue_task_release(&task);
    queue_task_release(&next);
}

/* each build's functions stand beside the others'; who came last is the newer one */
static void test_libraries(void **state)
{
    struct fixture *fixture = *state;
    struct error e;
    struct queue_library library;
    ASSERT_OK(queue_library_check(fixture->queue, "0.2.0", &library, &e), &e);
    assert_int_equal(strlen(library.version), 12);
    assert_int_equal(library.others, 0);
    assert_string_equal(library.newer, "");
    redis_server_command(
        &fixture->redis,
        "FUNCTION LOAD \"#!lua name=toast_aaaaaaaaaaaa\\nredis.register_function('a', function() end)\"");
    redis_server_command(&fixture->redis, "HSET {t}:libs aaaaaaaaaaaa \"1 0.1.0\"");
    /* deleted since */
    redis_server_command(&fixture->redis, "HSET {t}:libs cccccccccccc \"9999999999999 0.4.0\"");
    ASSERT_OK(queue_library_check(fixture->queue, "0.2.0", &library, &e), &e);
    assert_int_equal(library.others, 1);
    assert_string_equal(library.newer, "");
    redis_server_command(
        &fixture->redis,
        "FUNCTION LOAD \"#!lua name=toast_bbbbbbbbbbbb\\nredis.register_function('b', function() end)\"");
    redis_server_command(&fixture->redis, "HSET {t}:libs bbbbbbbbbbbb \"9999999999998 0.3.0\"");
    ASSERT_OK(queue_library_check(fixture->queue, "0.2.0", &library, &e), &e);
    assert_int_equal(library.others, 2);
    assert_string_equal(library.newer, "0.3.0");
    redis_server_command(&fixture->redis, "FUNCTION FLUSH"); /* ours comes back by itself */
    ASSERT_OK(queue_library_check(fixture->queue, "0.2.0", &library, &e), &e);
    assert_int_equal(library.others, 0);
    assert_string_equal(library.newer, "");
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as every process of ours that talks to Redis */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test_setup_teardown(test_chain, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_results, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_task, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failed_in_the_middle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deaths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline_at_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop_at_the_referee, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline_after_seconds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline_bounds_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_redis_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_libraries, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* label: service */
/* timeout: 120 */
/* links: queue */
/* Whose turn it is: two tenants under unequal load, tasks of unequal length, weights, newcomers, priority and
 * age. Workers are played here: a slot claims, holds its task for some milliseconds and finishes it. */
#include "queue_fixture.h"

#include "queue/call.h"
#include "queue/tenants.h"

#include <time.h>

enum { SLOTS = 4, TICK_MS = 5 };

static void sleep_ms(long ms)
{
    struct timespec when = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&when, NULL);
}

static double now_ms(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return (double)when.tv_sec * 1e3 + (double)when.tv_nsec * 1e-6;
}

static void submit(struct queue *queue, const char *tenant, const char *priority, char id[QUEUE_ID_SIZE])
{
    struct error e;
    bool existed;
    struct queue_pair fields[] = {{"priority", priority}};
    queue_new_id(id);
    struct queue_submission submission = {
        .id = id, .tenant = tenant, .first_kind = "read", .fields = fields, .field_count = 1};
    ASSERT_OK(queue_submit(queue, &submission, &existed, &e), &e);
}

static bool claim(struct queue *queue, const char *last, struct queue_task *task)
{
    static unsigned long tokens;
    struct error e;
    bool found;
    char token[24];
    snprintf(token, sizeof token, "t%lu", tokens++);
    ASSERT_OK(queue_claim(queue, token, "b", last, task, &found, &e), &e);
    return found;
}

static void finish(struct queue *queue, struct queue_task *task)
{
    struct error e;
    bool fenced;
    ASSERT_OK(queue_finish(queue, task, "succeeded", "", "", NULL, 0, &fenced, &e), &e);
    assert_false(fenced);
    queue_task_release(task);
}

/* Runs SLOTS workers for `ms` over what is queued; times of tenant "a" are a_ms a task, of others b_ms. ->
 * share of the slots' time that went to a. *last says whether workers tell whose task they did before. */
static double share_of_a(struct queue *queue, double ms, double a_ms, double b_ms, bool sticky)
{
    struct {
        struct queue_task task;
        double began, lasts;
        char tenant[8];
        bool busy;
    } slots[SLOTS] = {0};
    double spent[2] = {0};
    for (double start = now_ms(); now_ms() - start < ms; sleep_ms(TICK_MS))
        for (int i = 0; i < SLOTS; i++) {
            if (slots[i].busy && now_ms() - slots[i].began >= slots[i].lasts) {
                spent[strcmp(slots[i].tenant, "a") != 0] += now_ms() - slots[i].began;
                finish(queue, &slots[i].task);
                slots[i].busy = false;
            }
            if (slots[i].busy)
                continue;
            assert_true(
                /* the backlog must outlast the test */
                claim(queue, sticky ? slots[i].tenant : "", &slots[i].task));
            snprintf(slots[i].tenant, sizeof slots[i].tenant, "%s",
                     queue_field(&slots[i].task.job, "tenant"));
            slots[i].began = now_ms();
            slots[i].lasts = strcmp(slots[i].tenant, "a") == 0 ? a_ms : b_ms;
            slots[i].busy = true;
        }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].busy)
            finish(queue, &slots[i].task);
    return spent[0] / (spent[0] + spent[1]);
}

static void fill(struct queue *queue, const char *tenant, int jobs)
{
    char id[QUEUE_ID_SIZE];
    for (int i = 0; i < jobs; i++)
        submit(queue, tenant, "0", id);
}

struct trial {
    int a_jobs, b_jobs;
    double ms, a_ms, b_ms, low, high; /* the share of a must lie between */
    bool sticky, late;                /* late: b comes when a has been alone for a while */
    int a_weight;
};

/* A stall of this process counts as work of whoever holds the slots just then, and the trial may end before
 * that is made good: on a busy machine a trial has three attempts. */
static void try_shares(struct queue *queue, const struct trial *trial)
{
    struct error e;
    double share = -1;
    for (int attempt = 0; attempt < 3 && !(share > trial->low && share < trial->high); attempt++) {
        redisReply *reply = NULL;
        const char *argv[] = {"FLUSHALL"};
        ASSERT_OK(call_read(queue, 1, argv, &reply, &e), &e);
        freeReplyObject(reply);
        if (trial->a_weight)
            ASSERT_OK(queue_tenant_weigh(queue, "a", trial->a_weight, &e), &e);
        fill(queue, "a", trial->a_jobs);
        if (trial->late)
            assert_true(share_of_a(queue, trial->ms / 2, trial->a_ms, trial->b_ms, trial->sticky) > 0.99);
        fill(queue, "b", trial->b_jobs);
        share = share_of_a(queue, trial->ms, trial->a_ms, trial->b_ms, trial->sticky);
        print_message("share of a: %.3f\n", share);
    }
    assert_true(share > trial->low && share < trial->high);
}

/* ten times as many jobs of a, all of them older */
static void test_ten_to_one(void **state)
{
    struct fixture *fixture = *state;
    struct trial trial = {600, 60, 500, 20, 20, 0.4, 0.6, .sticky = false};
    try_shares(fixture->queue, &trial);
}

/* the same time, not the same number of tasks */
static void test_unequal_tasks(void **state)
{
    struct fixture *fixture = *state;
    struct trial trial = {60, 200, 1500, 80, 20, 0.4, 0.6, .sticky = false};
    try_shares(fixture->queue, &trial);
}

/* workers that stay with a tenant for a slice (1 s of work) share alike over several slices */
static void test_slices(void **state)
{
    struct fixture *fixture = *state;
    struct trial trial = {150, 150, 5000, 100, 100, 0.4, 0.6, .sticky = true};
    try_shares(fixture->queue, &trial);
}

static void test_weight(void **state)
{
    struct fixture *fixture = *state;
    struct trial trial = {150, 80, 700, 20, 20, 0.65, 0.85, .a_weight = 3};
    try_shares(fixture->queue, &trial);
}

/* who was away has saved nothing up: it gets half from now on, not everything */
static void test_newcomer(void **state)
{
    struct fixture *fixture = *state;
    struct trial trial = {250, 80, 600, 20, 20, 0.4, 0.6, .late = true};
    try_shares(fixture->queue, &trial);
}

static void expect(struct queue *queue, const char *id)
{
    struct queue_task task;
    assert_true(claim(queue, "", &task));
    assert_string_equal(task.id, id);
    finish(queue, &task);
}

static void test_priority_and_age(void **state)
{
    struct fixture *fixture = *state;
    char ids[4][QUEUE_ID_SIZE];
    const char *const priorities[] = {"0", "0", "9", "5"};
    for (int i = 0; i < 4; i++) {
        submit(fixture->queue, "a", priorities[i], ids[i]);
        sleep_ms(2);
    }
    expect(fixture->queue, ids[2]);
    expect(fixture->queue, ids[3]);
    expect(fixture->queue, ids[0]);
    expect(fixture->queue, ids[1]);
    struct queue_task none;
    assert_false(claim(fixture->queue, "", &none));
}

/* a job that only {t}:run knows (an older library put it there) is found again */
static void test_mend(void **state)
{
    struct fixture *fixture = *state;
    struct error e;
    redisReply *reply = NULL;
    char id[QUEUE_ID_SIZE];
    struct queue_task none;
    submit(fixture->queue, "a", "0", id);
    const char *argv[] = {"DEL", "{t}:r:a", "{t}:vt"};
    ASSERT_OK(call_read(fixture->queue, 3, argv, &reply, &e), &e);
    freeReplyObject(reply);
    assert_false(claim(fixture->queue, "", &none));
    ASSERT_OK(queue_reap(fixture->queue, &e), &e);
    expect(fixture->queue, id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ten_to_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unequal_tasks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slices, setup, teardown),
        cmocka_unit_test_setup_teardown(test_weight, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newcomer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_priority_and_age, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mend, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

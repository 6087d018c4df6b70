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
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void submit(struct queue *q, const char *tenant, const char *priority, char id[QUEUE_ID_SIZE])
{
    struct error e;
    bool existed;
    struct queue_pair fields[] = {{"priority", priority}};
    queue_new_id(id);
    struct queue_submission s = {
        .id = id, .tenant = tenant, .first_kind = "read", .fields = fields, .field_count = 1};
    ASSERT_OK(queue_submit(q, &s, &existed, &e), &e);
}

static bool claim(struct queue *q, const char *last, struct queue_task *t)
{
    static unsigned long tokens;
    struct error e;
    bool found;
    char token[24];
    snprintf(token, sizeof token, "t%lu", tokens++);
    ASSERT_OK(queue_claim(q, token, "b", last, t, &found, &e), &e);
    return found;
}

static void finish(struct queue *q, struct queue_task *t)
{
    struct error e;
    bool fenced;
    ASSERT_OK(queue_finish(q, t, "succeeded", "", "", NULL, 0, &fenced, &e), &e);
    assert_false(fenced);
    queue_task_release(t);
}

/* Runs SLOTS workers for `ms` over what is queued; times of tenant "a" are a_ms a task, of others b_ms. ->
 * share of the slots' time that went to a. *last says whether workers tell whose task they did before. */
static double share_of_a(struct queue *q, double ms, double a_ms, double b_ms, bool sticky)
{
    struct {
        struct queue_task t;
        double began, lasts;
        char tenant[8];
        bool busy;
    } slots[SLOTS] = {0};
    double spent[2] = {0};
    for (double start = now_ms(); now_ms() - start < ms; sleep_ms(TICK_MS))
        for (int i = 0; i < SLOTS; i++) {
            if (slots[i].busy && now_ms() - slots[i].began >= slots[i].lasts) {
                spent[strcmp(slots[i].tenant, "a") != 0] += now_ms() - slots[i].began;
                finish(q, &slots[i].t);
                slots[i].busy = false;
            }
            if (slots[i].busy)
                continue;
            assert_true(
                /* the backlog must outlast the test */
                claim(q, sticky ? slots[i].tenant : "", &slots[i].t));
            snprintf(slots[i].tenant, sizeof slots[i].tenant, "%s", queue_field(&slots[i].t.job, "tenant"));
            slots[i].began = now_ms();
            slots[i].lasts = strcmp(slots[i].tenant, "a") == 0 ? a_ms : b_ms;
            slots[i].busy = true;
        }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].busy)
            finish(q, &slots[i].t);
    return spent[0] / (spent[0] + spent[1]);
}

static void fill(struct queue *q, const char *tenant, int jobs)
{
    char id[QUEUE_ID_SIZE];
    for (int i = 0; i < jobs; i++)
        submit(q, tenant, "0", id);
}

struct trial {
    int a_jobs, b_jobs;
    double ms, a_ms, b_ms, low, high; /* the share of a must lie between */
    bool sticky, late;                /* late: b comes when a has been alone for a while */
    int a_weight;
};

/* A stall of this process counts as work of whoever holds the slots just then, and the trial may end before
 * that is made good: on a busy machine a trial has three attempts. */
static void try_shares(struct queue *q, const struct trial *t)
{
    struct error e;
    double share = -1;
    for (int attempt = 0; attempt < 3 && !(share > t->low && share < t->high); attempt++) {
        redisReply *r = NULL;
        const char *argv[] = {"FLUSHALL"};
        ASSERT_OK(call_read(q, 1, argv, &r, &e), &e);
        freeReplyObject(r);
        if (t->a_weight)
            ASSERT_OK(queue_tenant_weigh(q, "a", t->a_weight, &e), &e);
        fill(q, "a", t->a_jobs);
        if (t->late)
            assert_true(share_of_a(q, t->ms / 2, t->a_ms, t->b_ms, t->sticky) > 0.99);
        fill(q, "b", t->b_jobs);
        share = share_of_a(q, t->ms, t->a_ms, t->b_ms, t->sticky);
        print_message("share of a: %.3f\n", share);
    }
    assert_true(share > t->low && share < t->high);
}

/* ten times as many jobs of a, all of them older */
static void test_ten_to_one(void **state)
{
    struct fixture *f = *state;
    struct trial t = {600, 60, 500, 20, 20, 0.4, 0.6, .sticky = false};
    try_shares(f->q, &t);
}

/* the same time, not the same number of tasks */
static void test_unequal_tasks(void **state)
{
    struct fixture *f = *state;
    struct trial t = {60, 200, 1500, 80, 20, 0.4, 0.6, .sticky = false};
    try_shares(f->q, &t);
}

/* workers that stay with a tenant for a slice (1 s of work) share alike over several slices */
static void test_slices(void **state)
{
    struct fixture *f = *state;
    struct trial t = {150, 150, 5000, 100, 100, 0.4, 0.6, .sticky = true};
    try_shares(f->q, &t);
}

static void test_weight(void **state)
{
    struct fixture *f = *state;
    struct trial t = {150, 80, 700, 20, 20, 0.65, 0.85, .a_weight = 3};
    try_shares(f->q, &t);
}

/* who was away has saved nothing up: it gets half from now on, not everything */
static void test_newcomer(void **state)
{
    struct fixture *f = *state;
    struct trial t = {250, 80, 600, 20, 20, 0.4, 0.6, .late = true};
    try_shares(f->q, &t);
}

static void expect(struct queue *q, const char *id)
{
    struct queue_task t;
    assert_true(claim(q, "", &t));
    assert_string_equal(t.id, id);
    finish(q, &t);
}

static void test_priority_and_age(void **state)
{
    struct fixture *f = *state;
    char ids[4][QUEUE_ID_SIZE];
    const char *const priorities[] = {"0", "0", "9", "5"};
    for (int i = 0; i < 4; i++) {
        submit(f->q, "a", priorities[i], ids[i]);
        sleep_ms(2);
    }
    expect(f->q, ids[2]);
    expect(f->q, ids[3]);
    expect(f->q, ids[0]);
    expect(f->q, ids[1]);
    struct queue_task none;
    assert_false(claim(f->q, "", &none));
}

/* a job that only {t}:run knows (an older library put it there) is found again */
static void test_mend(void **state)
{
    struct fixture *f = *state;
    struct error e;
    redisReply *r = NULL;
    char id[QUEUE_ID_SIZE];
    struct queue_task none;
    submit(f->q, "a", "0", id);
    const char *argv[] = {"DEL", "{t}:r:a", "{t}:vt"};
    ASSERT_OK(call_read(f->q, 3, argv, &r, &e), &e);
    freeReplyObject(r);
    assert_false(claim(f->q, "", &none));
    ASSERT_OK(queue_reap(f->q, &e), &e);
    expect(f->q, id);
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

/* label: service */
/* timeout: 60 */
/* links: queue */
/* Several submissions in one round trip against a real Redis: each has its own outcome, and neither a
 * missing function library nor a broken connection loses one or makes one twice. */
#include "redis_server.h"

#include "queue/queue.h"
#include "queue/redis.h"
#include "queue/tenants.h"

enum { MANY = 12 };

struct fixture {
    struct redis_server redis;
    struct queue *queue;
    struct redis *plain;
};

static int setup(void **state)
{
    struct fixture *fixture = mem_zalloc(1, sizeof *fixture);
    struct error e;
    redis_server_create(&fixture->redis);
    ASSERT_OK(queue_create(fixture->redis.address, &fixture->queue, &e), &e);
    ASSERT_OK(redis_create(fixture->redis.address, &fixture->plain, &e), &e);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    redis_destroy(fixture->plain);
    queue_destroy(fixture->queue);
    redis_server_destroy(&fixture->redis);
    free(fixture);
    return 0;
}

/* one command; the number that it gives, as a number or in a text */
static long long command(struct fixture *fixture, int argc, const char **argv)
{
    struct error e;
    redisReply *reply;
    ASSERT_OK(redis_command(fixture->plain, argc, argv, NULL, &reply, &e), &e);
    long long n = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : reply->integer;
    freeReplyObject(reply);
    return n;
}

static long long submitted(struct fixture *fixture)
{
    return command(fixture, 3, (const char *[]){"HGET", "{t}:n", "submitted"});
}

struct batch {
    char ids[MANY][QUEUE_ID_SIZE], keys[MANY][16];
    struct queue_pair fields[2];
    struct queue_submission submissions[MANY];
    struct queue_accepting items[MANY], *list[MANY];
};

static void make(struct batch *batch)
{
    *batch = (struct batch){.fields = {{"module", "m"}, {"priority", "3"}}};
    for (int i = 0; i < MANY; i++) {
        queue_new_id(batch->ids[i]);
        snprintf(batch->keys[i], sizeof batch->keys[i], "key%d", i);
        batch->submissions[i] = (struct queue_submission){.id = batch->ids[i],
                                                          .tenant = "default",
                                                          .first_kind = "read",
                                                          .fields = batch->fields,
                                                          .field_count = 2,
                                                          .key = batch->keys[i],
                                                          .print = "print"};
        batch->items[i].submission = &batch->submissions[i];
        batch->list[i] = &batch->items[i];
    }
}

static void release(struct batch *batch)
{
    for (int i = 0; i < MANY; i++)
        queue_fields_release(&batch->items[i].accepted.job);
}

/* what came back with the answer is what the queue says of the job */
static void expect_job(struct fixture *fixture, const struct queue_accepting *accepting)
{
    struct error e;
    struct queue_fields job;
    ASSERT_OK(queue_job(fixture->queue, accepting->accepted.id, &job, &e), &e);
    assert_int_equal(accepting->accepted.job.count, job.count);
    for (size_t i = 0; i < job.count; i++)
        assert_string_equal(queue_field(&accepting->accepted.job, job.at[i].name), job.at[i].value);
    assert_string_equal(queue_field(&job, "state"), "queued");
    assert_int_equal(queue_number(&job, "ver"), 1);
    queue_fields_release(&job);
}

static void expect_all_accepted(struct fixture *fixture, struct batch *batch)
{
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(batch->items[i].code, ERROR_OK);
        assert_int_equal(batch->items[i].accepted.outcome, QUEUE_ACCEPTED);
        assert_string_equal(batch->items[i].accepted.id, batch->ids[i]);
        expect_job(fixture, &batch->items[i]);
    }
    assert_int_equal(submitted(fixture), MANY);
}

/* the library is not there before the first batch, which needs it for each of its calls */
static void test_library_missing(void **state)
{
    struct fixture *fixture = *state;
    struct batch batch;
    make(&batch);
    queue_accept_many(fixture->queue, batch.list, MANY);
    expect_all_accepted(fixture, &batch);
    release(&batch);
}

static void test_own_outcomes(void **state)
{
    struct fixture *fixture = *state;
    struct batch batch;
    struct error e;
    bool existed;
    static const char has[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                      other[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    ASSERT_OK(queue_module_add(fixture->queue, "default", has, 1, &existed, NULL, &e), &e);
    ASSERT_OK(queue_module_add(fixture->queue, "another", other, 1, &existed, NULL, &e), &e);
    make(&batch);
    batch.submissions[0].module = has;
    batch.submissions[1].module = other;      /* another tenant's */
    batch.submissions[3].key = batch.keys[2]; /* a repeat in the same batch */
    batch.submissions[4].key = batch.keys[2],
    batch.submissions[4].print = "another";                                  /* the key for something else */
    batch.submissions[6].id = batch.ids[5], batch.submissions[6].key = NULL; /* a lost answer */
    queue_accept_many(fixture->queue, batch.list, 7);
    static const enum queue_outcome wanted[7] = {QUEUE_ACCEPTED, QUEUE_NO_MODULE, QUEUE_ACCEPTED,
                                                 QUEUE_REPLAYED, QUEUE_MISMATCH,  QUEUE_ACCEPTED,
                                                 QUEUE_EXISTS};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(batch.items[i].code, ERROR_OK);
        assert_int_equal(batch.items[i].accepted.outcome, wanted[i]);
        if (wanted[i] == QUEUE_ACCEPTED)
            expect_job(fixture, &batch.items[i]);
        else
            assert_int_equal(batch.items[i].accepted.job.count, 0);
    }
    assert_string_equal(batch.items[3].accepted.id, batch.ids[2]);
    assert_int_equal(submitted(fixture), 3);
    release(&batch);
}

/* the connection was closed, and Redis had done half of the batch before (as when it broke between the
 * answers) */
static void test_broken_connection(void **state)
{
    struct fixture *fixture = *state;
    struct batch batch;
    make(&batch);
    queue_accept_many(fixture->queue, batch.list, MANY / 2);
    for (int i = 0; i < MANY / 2; i++)
        queue_fields_release(&batch.items[i].accepted.job);
    command(fixture, 4, (const char *[]){"CLIENT", "KILL", "TYPE", "normal"});
    queue_accept_many(fixture->queue, batch.list, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(batch.items[i].code, ERROR_OK);
        assert_int_equal(batch.items[i].accepted.outcome, i < MANY / 2 ? QUEUE_REPLAYED : QUEUE_ACCEPTED);
        assert_string_equal(batch.items[i].accepted.id, batch.ids[i]);
    }
    redis_destroy(fixture->plain); /* its connection was closed, too */
    struct error e;
    ASSERT_OK(redis_create(fixture->redis.address, &fixture->plain, &e), &e);
    assert_int_equal(submitted(fixture), MANY);
    release(&batch);
}

static void test_redis_away(void **state)
{
    struct fixture *fixture = *state;
    struct batch batch;
    make(&batch);
    redis_server_kill(&fixture->redis);
    queue_accept_many(fixture->queue, batch.list, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(batch.items[i].code, ERROR_UNAVAILABLE);
        assert_non_null(strstr(batch.items[i].error.message, "Redis"));
    }
    redis_server_start(&fixture->redis);
    queue_accept_many(fixture->queue, batch.list, MANY);
    expect_all_accepted(fixture, &batch);
    release(&batch);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as every process of ours that talks to Redis */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_library_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_outcomes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_redis_away, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

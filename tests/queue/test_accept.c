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
    struct queue *q;
    struct redis *plain;
};

static int setup(void **state)
{
    struct fixture *f = mem_zalloc(1, sizeof *f);
    struct error e;
    redis_server_create(&f->redis);
    ASSERT_OK(queue_create(f->redis.address, &f->q, &e), &e);
    ASSERT_OK(redis_create(f->redis.address, &f->plain, &e), &e);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    redis_destroy(f->plain);
    queue_destroy(f->q);
    redis_server_destroy(&f->redis);
    free(f);
    return 0;
}

/* one command; the number that it gives, as a number or in a text */
static long long command(struct fixture *f, int argc, const char **argv)
{
    struct error e;
    redisReply *r;
    ASSERT_OK(redis_command(f->plain, argc, argv, NULL, &r, &e), &e);
    long long n = r->type == REDIS_REPLY_STRING ? strtoll(r->str, NULL, 10) : r->integer;
    freeReplyObject(r);
    return n;
}

static long long submitted(struct fixture *f)
{
    return command(f, 3, (const char *[]){"HGET", "{t}:n", "submitted"});
}

struct batch {
    char ids[MANY][QUEUE_ID_SIZE], keys[MANY][16];
    struct queue_pair fields[2];
    struct queue_submission submissions[MANY];
    struct queue_accepting items[MANY], *list[MANY];
};

static void make(struct batch *b)
{
    *b = (struct batch){.fields = {{"module", "m"}, {"priority", "3"}}};
    for (int i = 0; i < MANY; i++) {
        queue_new_id(b->ids[i]);
        snprintf(b->keys[i], sizeof b->keys[i], "key%d", i);
        b->submissions[i] = (struct queue_submission){.id = b->ids[i],
                                                      .tenant = "default",
                                                      .first_kind = "read",
                                                      .fields = b->fields,
                                                      .field_count = 2,
                                                      .key = b->keys[i],
                                                      .print = "print"};
        b->items[i].submission = &b->submissions[i];
        b->list[i] = &b->items[i];
    }
}

static void release(struct batch *b)
{
    for (int i = 0; i < MANY; i++)
        queue_fields_release(&b->items[i].accepted.job);
}

/* what came back with the answer is what the queue says of the job */
static void expect_job(struct fixture *f, const struct queue_accepting *a)
{
    struct error e;
    struct queue_fields job;
    ASSERT_OK(queue_job(f->q, a->accepted.id, &job, &e), &e);
    assert_int_equal(a->accepted.job.count, job.count);
    for (size_t i = 0; i < job.count; i++)
        assert_string_equal(queue_field(&a->accepted.job, job.at[i].name), job.at[i].value);
    assert_string_equal(queue_field(&job, "state"), "queued");
    assert_int_equal(queue_number(&job, "ver"), 1);
    queue_fields_release(&job);
}

static void expect_all_accepted(struct fixture *f, struct batch *b)
{
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(b->items[i].code, ERROR_OK);
        assert_int_equal(b->items[i].accepted.outcome, QUEUE_ACCEPTED);
        assert_string_equal(b->items[i].accepted.id, b->ids[i]);
        expect_job(f, &b->items[i]);
    }
    assert_int_equal(submitted(f), MANY);
}

/* the library is not there before the first batch, which needs it for each of its calls */
static void test_library_missing(void **state)
{
    struct fixture *f = *state;
    struct batch b;
    make(&b);
    queue_accept_many(f->q, b.list, MANY);
    expect_all_accepted(f, &b);
    release(&b);
}

static void test_own_outcomes(void **state)
{
    struct fixture *f = *state;
    struct batch b;
    struct error e;
    bool existed;
    static const char has[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                      other[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    ASSERT_OK(queue_module_add(f->q, "default", has, 1, &existed, NULL, &e), &e);
    ASSERT_OK(queue_module_add(f->q, "another", other, 1, &existed, NULL, &e), &e);
    make(&b);
    b.submissions[0].module = has;
    b.submissions[1].module = other;                                      /* another tenant's */
    b.submissions[3].key = b.keys[2];                                     /* a repeat in the same batch */
    b.submissions[4].key = b.keys[2], b.submissions[4].print = "another"; /* the key for something else */
    b.submissions[6].id = b.ids[5], b.submissions[6].key = NULL;          /* a lost answer */
    queue_accept_many(f->q, b.list, 7);
    static const enum queue_outcome wanted[7] = {QUEUE_ACCEPTED, QUEUE_NO_MODULE, QUEUE_ACCEPTED,
                                                 QUEUE_REPLAYED, QUEUE_MISMATCH,  QUEUE_ACCEPTED,
                                                 QUEUE_EXISTS};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(b.items[i].code, ERROR_OK);
        assert_int_equal(b.items[i].accepted.outcome, wanted[i]);
        if (wanted[i] == QUEUE_ACCEPTED)
            expect_job(f, &b.items[i]);
        else
            assert_int_equal(b.items[i].accepted.job.count, 0);
    }
    assert_string_equal(b.items[3].accepted.id, b.ids[2]);
    assert_int_equal(submitted(f), 3);
    release(&b);
}

/* the connection was closed, and Redis had done half of the batch before (as when it broke between the
 * answers) */
static void test_broken_connection(void **state)
{
    struct fixture *f = *state;
    struct batch b;
    make(&b);
    queue_accept_many(f->q, b.list, MANY / 2);
    for (int i = 0; i < MANY / 2; i++)
        queue_fields_release(&b.items[i].accepted.job);
    command(f, 4, (const char *[]){"CLIENT", "KILL", "TYPE", "normal"});
    queue_accept_many(f->q, b.list, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(b.items[i].code, ERROR_OK);
        assert_int_equal(b.items[i].accepted.outcome, i < MANY / 2 ? QUEUE_REPLAYED : QUEUE_ACCEPTED);
        assert_string_equal(b.items[i].accepted.id, b.ids[i]);
    }
    redis_destroy(f->plain); /* its connection was closed, too */
    struct error e;
    ASSERT_OK(redis_create(f->redis.address, &f->plain, &e), &e);
    assert_int_equal(submitted(f), MANY);
    release(&b);
}

static void test_redis_away(void **state)
{
    struct fixture *f = *state;
    struct batch b;
    make(&b);
    redis_server_kill(&f->redis);
    queue_accept_many(f->q, b.list, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(b.items[i].code, ERROR_UNAVAILABLE);
        assert_non_null(strstr(b.items[i].error.message, "Redis"));
    }
    redis_server_start(&f->redis);
    queue_accept_many(f->q, b.list, MANY);
    expect_all_accepted(f, &b);
    release(&b);
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

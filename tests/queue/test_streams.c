/* label: service */
/* timeout: 60 */
/* links: queue */
/* Event streams of a tenant, counted over servers of which some have died. */
#include "queue_fixture.h"

#include "queue/streams.h"

static bool opened(struct fixture *fixture, const char *server, size_t here)
{
    struct error e;
    bool room;
    ASSERT_OK(queue_stream_open(fixture->queue, server, "default", here, 10, &room, &e), &e);
    return room;
}

static long long servers(struct fixture *fixture)
{
    struct error e;
    redisReply *reply;
    ASSERT_OK(redis_command(fixture->raw, 2, (const char *[]){"HLEN", "{t}:es:default"}, NULL, &reply, &e),
              &e);
    long long n = reply->integer;
    freeReplyObject(reply);
    return n;
}

/* `server` said ago_ms ago that it has seven */
static void said(struct fixture *fixture, const char *server, long long ago_ms)
{
    static const char script[] =
        "local t = redis.call('TIME') return redis.call('HSET', '{t}:es:default', ARGV[1], "
        "string.format('7 %.0f', t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[2]))";
    struct error e;
    redisReply *reply;
    char ago[24];
    snprintf(ago, sizeof ago, "%lld", ago_ms);
    ASSERT_OK(
        redis_command(fixture->raw, 5, (const char *[]){"EVAL", script, "0", server, ago}, NULL, &reply, &e),
        &e);
    freeReplyObject(reply);
}

static void test_limit_over_servers(void **state)
{
    struct fixture *fixture = *state;
    said(fixture, "another", 0);
    assert_true(opened(fixture, "this", 3));
    assert_false(opened(fixture, "this", 4));
    said(fixture, "another", 6000); /* silent for longer than a living one ever is */
    assert_true(opened(fixture, "this", 10));
    assert_false(opened(fixture, "this", 11));
}

/* while somebody watches the key lives on: servers that died long ago must not pile up in it */
static void test_dead_servers_are_forgotten(void **state)
{
    struct fixture *fixture = *state;
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "dead%d", i);
        said(fixture, name, 60000);
    }
    assert_true(opened(fixture, "this", 1));
    assert_int_equal(servers(fixture), 1);
    said(fixture, "silent", 6000); /* it may have been stopped for a moment */
    assert_true(opened(fixture, "this", 1));
    assert_int_equal(servers(fixture), 2);
    struct error e;
    const struct queue_streams none = {.tenant = "default", .count = 0};
    ASSERT_OK(queue_streams_beat(fixture->queue, "this", &none, 1, &e), &e);
    assert_int_equal(servers(fixture), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_limit_over_servers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dead_servers_are_forgotten, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

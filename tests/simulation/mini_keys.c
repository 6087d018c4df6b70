/* Commands of mini.h: keys, strings, hashes, sets. */
#include "mini_reply.h"

#include "engine.h"

/* ---- keys ---- */

static void del(const struct mini_call *call)
{
    long long gone = 0;
    for (int i = 1; i < call->argc; i++)
        gone += mini_delete(call->argv[i]);
    mini_put_integer(call->out, gone);
}

static void exists(const struct mini_call *call)
{
    long long there = 0;
    for (int i = 1; i < call->argc; i++)
        there += mini_find(call->argv[i]) != NULL;
    mini_put_integer(call->out, there);
}

static void type(const struct mini_call *call)
{
    static const char *const names[] = {"string", "hash", "set", "zset", "stream"};
    const struct mini_value *value = mini_find(call->argv[1]);
    mini_put_status(call->out, value ? names[value->kind] : "none");
}

static void expire_in(const struct mini_call *call, long long unit_ms)
{
    struct mini_value *value = mini_find(call->argv[1]);
    if (value)
        value->expires_ms = mini_now_us / 1000 + mini_number(call->argv[2]) * unit_ms;
    mini_put_integer(call->out, value != NULL);
}

static void expire(const struct mini_call *call)
{
    expire_in(call, 1000);
}

static void pexpire(const struct mini_call *call)
{
    expire_in(call, 1);
}

static void persist(const struct mini_call *call)
{
    struct mini_value *value = mini_find(call->argv[1]);
    bool expires = value && value->expires_ms;
    if (expires)
        value->expires_ms = 0;
    mini_put_integer(call->out, expires);
}

/* ms, or -1: never, -2: there is no key */
static long long left_ms(struct bytes key)
{
    const struct mini_value *value = mini_find(key);
    return !value ? -2 : !value->expires_ms ? -1 : value->expires_ms - mini_now_us / 1000;
}

static void ttl(const struct mini_call *call)
{
    long long left = left_ms(call->argv[1]);
    mini_put_integer(call->out, left < 0 ? left : (left + 500) / 1000);
}

static void pttl(const struct mini_call *call)
{
    mini_put_integer(call->out, left_ms(call->argv[1]));
}

static void count_key(struct mini_value *value, void *user)
{
    ++*(size_t *)user;
}

static void put_key(struct mini_value *value, void *user)
{
    mini_put_bytes(user, value->key);
}

/* everything in one go; only a pattern that all our keys have */
static void scan(const struct mini_call *call)
{
    size_t count = 0;
    if (call->argc > 2 && !(mini_is(call, 2, "MATCH") && bytes_are(call->argv[3], "{t}:*")))
        engine_die("SCAN with another pattern");
    mini_each(count_key, &count);
    mini_put_array(call->out, 2);
    mini_put_text(call->out, "0");
    mini_put_array(call->out, count);
    mini_each(put_key, call->out);
}

static void time_now(const struct mini_call *call)
{
    char room[BYTES_NUMBER];
    mini_put_array(call->out, 2);
    mini_put_bytes(call->out, bytes_of_number(mini_now_us / 1000000, room));
    mini_put_bytes(call->out, bytes_of_number(mini_now_us % 1000000, room));
}

/* ---- strings ---- */

static void get(const struct mini_call *call)
{
    const struct mini_value *value = mini_find(call->argv[1]);
    if (value)
        mini_put_bytes(call->out, value->string);
    else
        mini_put_nil(call->out);
}

static void set(const struct mini_call *call)
{
    struct mini_value *value = mini_find_or_make(call->argv[1], MINI_STRING);
    bytes_replace(&value->string, call->argv[2]);
    value->expires_ms = 0;
    if (call->argc == 5 && (mini_is(call, 3, "PX") || mini_is(call, 3, "EX")))
        value->expires_ms =
            mini_now_us / 1000 + mini_number(call->argv[4]) * (mini_is(call, 3, "EX") ? 1000 : 1);
    else if (call->argc != 3)
        engine_die("SET with another option");
    mini_put_status(call->out, "OK");
}

static void incr(const struct mini_call *call)
{
    char room[BYTES_NUMBER];
    struct mini_value *value = mini_find_or_make(call->argv[1], MINI_STRING);
    long long number = (value->string.at ? mini_number(value->string) : 0) + 1;
    bytes_replace(&value->string, bytes_of_number(number, room));
    mini_put_integer(call->out, number);
}

const struct mini_command mini_key_commands[] = {
    {"DEL", del}, {"EXISTS", exists}, {"TYPE", type}, {"EXPIRE", expire}, {"PEXPIRE", pexpire},
    {"TTL", ttl}, {"PTTL", pttl},     {"SCAN", scan}, {"TIME", time_now}, {"PERSIST", persist},
    {"GET", get}, {"SET", set},       {"INCR", incr}, {NULL, NULL}};

/* ---- hashes ---- */

static void put_field(const struct mini_call *call, const struct mini_value *value, struct bytes name)
{
    int index = value ? mini_field_index(value, name) : -1;
    if (index < 0)
        mini_put_nil(call->out);
    else
        mini_put_bytes(call->out, value->fields.at[index].value);
}

static void hget(const struct mini_call *call)
{
    put_field(call, mini_find(call->argv[1]), call->argv[2]);
}

static void hmget(const struct mini_call *call)
{
    const struct mini_value *value = mini_find(call->argv[1]);
    mini_put_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        put_field(call, value, call->argv[i]);
}

static void put_fields(const struct mini_call *call, bool names, bool values)
{
    const struct mini_value *value = mini_find(call->argv[1]);
    size_t count = value ? value->fields.count : 0;
    mini_put_array(call->out, count * (size_t)(names + values));
    for (size_t i = 0; i < count; i++) {
        if (names)
            mini_put_bytes(call->out, value->fields.at[i].name);
        if (values)
            mini_put_bytes(call->out, value->fields.at[i].value);
    }
}

static void hgetall(const struct mini_call *call)
{
    put_fields(call, true, true);
}

static void hvals(const struct mini_call *call)
{
    put_fields(call, false, true);
}

static void put_count(const struct mini_call *call)
{
    const struct mini_value *value = mini_find(call->argv[1]);
    mini_put_integer(call->out, value ? (long long)value->fields.count : 0);
}

static void hset(const struct mini_call *call)
{
    struct mini_value *value = mini_find_or_make(call->argv[1], MINI_HASH);
    long long added = 0;
    for (int i = 2; i + 1 < call->argc; i += 2)
        added += mini_field_set(value, call->argv[i], call->argv[i + 1]);
    mini_put_integer(call->out, added);
}

static void hsetnx(const struct mini_call *call)
{
    struct mini_value *value = mini_find_or_make(call->argv[1], MINI_HASH);
    bool there = mini_field_index(value, call->argv[2]) >= 0;
    if (!there)
        mini_field_set(value, call->argv[2], call->argv[3]);
    mini_put_integer(call->out, !there);
}

static void remove_all(const struct mini_call *call)
{
    struct mini_value *value = mini_find(call->argv[1]);
    long long gone = 0;
    for (int i = 2; value && i < call->argc; i++)
        gone += mini_field_remove(value, call->argv[i]);
    if (value)
        mini_drop_empty(value);
    mini_put_integer(call->out, gone);
}

static void has_field(const struct mini_call *call)
{
    const struct mini_value *value = mini_find(call->argv[1]);
    mini_put_integer(call->out, value && mini_field_index(value, call->argv[2]) >= 0);
}

static void hincrby(const struct mini_call *call)
{
    char room[BYTES_NUMBER];
    struct mini_value *value = mini_find_or_make(call->argv[1], MINI_HASH);
    int index = mini_field_index(value, call->argv[2]);
    long long number = mini_number(call->argv[3]);
    if (index >= 0)
        number += mini_number(value->fields.at[index].value);
    mini_field_set(value, call->argv[2], bytes_of_number(number, room));
    mini_put_integer(call->out, number);
}

/* of one field: any is as random as another */
static void hrandfield(const struct mini_call *call)
{
    const struct mini_value *value = mini_find(call->argv[1]);
    if (call->argc != 2)
        engine_die("HRANDFIELD with a count");
    if (value)
        mini_put_bytes(call->out, value->fields.at[0].name);
    else
        mini_put_nil(call->out);
}

/* ---- sets ---- */

static void sadd(const struct mini_call *call)
{
    static const struct bytes none = {"", 0};
    struct mini_value *value = mini_find_or_make(call->argv[1], MINI_SET);
    long long added = 0;
    for (int i = 2; i < call->argc; i++)
        added += mini_field_set(value, call->argv[i], none);
    mini_put_integer(call->out, added);
}

static void smembers(const struct mini_call *call)
{
    put_fields(call, true, false);
}

const struct mini_command mini_hash_commands[] = {{"HGET", hget},
                                                  {"HMGET", hmget},
                                                  {"HGETALL", hgetall},
                                                  {"HVALS", hvals},
                                                  {"HLEN", put_count},
                                                  {"HSET", hset},
                                                  {"HSETNX", hsetnx},
                                                  {"HDEL", remove_all},
                                                  {"HEXISTS", has_field},
                                                  {"HINCRBY", hincrby},
                                                  {"HRANDFIELD", hrandfield},
                                                  {"SADD", sadd},
                                                  {"SREM", remove_all},
                                                  {"SCARD", put_count},
                                                  {"SMEMBERS", smembers},
                                                  {"SISMEMBER", has_field},
                                                  {NULL, NULL}};

/* Commands of mini.h: streams. */
#include "mini_reply.h"

#include "engine.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int compare_ids(struct mini_id a, struct mini_id b)
{
    return a.ms != b.ms ? (a.ms < b.ms ? -1 : 1) : (a.number > b.number) - (a.number < b.number);
}

static void put_id(struct mini_out *out, struct mini_id id)
{
    char text[2 * BYTES_NUMBER], room[BYTES_NUMBER];
    struct bytes ms = bytes_of_number((long long)id.ms, room);
    memcpy(text, ms.at, ms.size);
    text[ms.size] = '-';
    size_t begin = ms.size + 1;
    struct bytes number = bytes_of_number((long long)id.number, room);
    memcpy(text + begin, number.at, number.size + 1);
    mini_put_bytes(out, (struct bytes){text, begin + number.size});
}

static void put_entry(struct mini_out *out, const struct mini_entry *entry)
{
    mini_put_array(out, 2);
    put_id(out, entry->id);
    mini_put_array(out, 2 * entry->fields.count);
    for (size_t i = 0; i < entry->fields.count; i++) {
        mini_put_bytes(out, entry->fields.at[i].name);
        mini_put_bytes(out, entry->fields.at[i].value);
    }
}

/* entries from..to of the stream, `most` at most, or backwards from the last one */
static void put_entries(struct mini_out *out, const struct mini_value *value, struct mini_id from,
                        struct mini_id to, size_t most, bool backwards)
{
    size_t first = 0, count = 0;
    for (size_t i = 0; value && i < value->entries.count; i++)
        if (compare_ids(value->entries.at[i].id, from) >= 0 &&
            compare_ids(value->entries.at[i].id, to) <= 0 && count++ == 0)
            first = i;
    size_t put = count < most ? count : most;
    mini_put_array(out, put);
    for (size_t i = 0; i < put; i++)
        put_entry(out, &value->entries.at[backwards ? first + count - 1 - i : first + i]);
}

static struct mini_id id_of(struct bytes text)
{
    struct mini_id id = {0};
    char *end;
    id.ms = strtoull(text.at, &end, 10);
    if (*end != '-')
        engine_die("a stream's id %s", text.at);
    id.number = strtoull(end + 1, NULL, 10);
    return id;
}

static struct mini_id after(struct mini_id id)
{
    return (struct mini_id){id.ms, id.number + 1};
}

/* "-", "+", an id, or "(" and an id (of a beginning) */
static struct mini_id bound_of(struct bytes text)
{
    if (bytes_are(text, "-"))
        return (struct mini_id){0};
    if (bytes_are(text, "+"))
        return (struct mini_id){ULLONG_MAX, ULLONG_MAX};
    if (text.at[0] == '(')
        return after(id_of((struct bytes){text.at + 1, text.size - 1}));
    return id_of(text);
}

static void trim(struct mini_value *value, size_t keep)
{
    size_t gone = value->entries.count > keep ? value->entries.count - keep : 0;
    for (size_t i = 0; i < gone; i++)
        mini_fields_release(&value->entries.at[i].fields);
    value->entries.count -= gone;
    if (gone)
        memmove(value->entries.at, value->entries.at + gone,
                value->entries.count * sizeof *value->entries.at);
}

/* XADD key [MAXLEN ~ count] * field value ... "About so many": as Redis may, it leaves twice as many. */
static void xadd(const struct mini_call *call)
{
    size_t most = SIZE_MAX;
    int i = 2;
    if (mini_is(call, i, "MAXLEN") && mini_is(call, i + 1, "~")) {
        most = (size_t)mini_number(call->argv[i + 2]);
        i += 3;
    }
    if (!mini_is(call, i, "*"))
        engine_die("XADD with option or id %s", call->argv[i].at);
    struct mini_value *value = mini_find_or_make(call->argv[1], MINI_STREAM);
    struct mini_entry entry = {.id = {(unsigned long long)mini_now_us / 1000, 0}};
    if (entry.id.ms <= value->last.ms)
        entry.id = after(value->last);
    for (i++; i + 1 < call->argc; i += 2) {
        struct mini_field field = {bytes_copy(call->argv[i]), bytes_copy(call->argv[i + 1])};
        VEC_PUSH(&entry.fields, field);
    }
    VEC_PUSH(&value->entries, entry);
    value->last = entry.id;
    value->added++;
    if (value->entries.count / 2 > most)
        trim(value, most);
    put_id(call->out, entry.id);
}

static void xlen(const struct mini_call *call)
{
    const struct mini_value *value = mini_find(call->argv[1]);
    mini_put_integer(call->out, value ? (long long)value->entries.count : 0);
}

static void xtrim(const struct mini_call *call)
{
    struct mini_value *value = mini_find(call->argv[1]);
    size_t before = value ? value->entries.count : 0;
    if (call->argc != 4 || !mini_is(call, 2, "MAXLEN"))
        engine_die("XTRIM with another option");
    if (value)
        trim(value, (size_t)mini_number(call->argv[3]));
    mini_put_integer(call->out, value ? (long long)(before - value->entries.count) : 0);
}

static void xdel(const struct mini_call *call)
{
    struct mini_value *value = mini_find(call->argv[1]);
    struct mini_id id = id_of(call->argv[2]);
    long long gone = 0;
    for (size_t i = 0; value && i < value->entries.count && !gone; i++)
        if (compare_ids(value->entries.at[i].id, id) == 0) {
            struct mini_entry *at = &value->entries.at[i];
            mini_fields_release(&at->fields);
            memmove(at, at + 1, (--value->entries.count - i) * sizeof *at);
            gone = 1;
        }
    mini_put_integer(call->out, gone);
}

static size_t count_of(const struct mini_call *call, int i)
{
    return mini_is(call, i, "COUNT") ? (size_t)mini_number(call->argv[i + 1]) : SIZE_MAX;
}

static void xrange(const struct mini_call *call)
{
    put_entries(call->out, mini_find(call->argv[1]), bound_of(call->argv[2]), bound_of(call->argv[3]),
                count_of(call, 4), false);
}

static void xrevrange(const struct mini_call *call)
{
    put_entries(call->out, mini_find(call->argv[1]), bound_of(call->argv[3]), bound_of(call->argv[2]),
                count_of(call, 4), true);
}

static void put_stream(struct mini_out *out, const struct mini_value *value, struct mini_id from, size_t most)
{
    mini_put_array(out, 2);
    mini_put_bytes(out, value->key);
    put_entries(out, value, from, (struct mini_id){ULLONG_MAX, ULLONG_MAX}, most, false);
}

/* XREAD [COUNT n] STREAMS key id: one stream, without waiting */
static void xread(const struct mini_call *call)
{
    size_t most = count_of(call, 1);
    int at = most == SIZE_MAX ? 1 : 3;
    if (!mini_is(call, at, "STREAMS") || call->argc != at + 3)
        engine_die("XREAD of several streams");
    const struct mini_value *value = mini_find(call->argv[at + 1]);
    struct mini_id from = after(id_of(call->argv[at + 2]));
    if (!value || compare_ids(value->last, from) < 0 || !value->entries.count ||
        compare_ids(value->entries.at[value->entries.count - 1].id, from) < 0) {
        mini_put_nil(call->out);
        return;
    }
    mini_put_array(call->out, 1);
    put_stream(call->out, value, from, most);
}

static struct mini_group *group_of(struct mini_value *value, struct bytes name)
{
    for (size_t i = 0; value && i < value->groups.count; i++)
        if (bytes_equal(value->groups.at[i].name, name))
            return &value->groups.at[i];
    return NULL;
}

/* XREADGROUP GROUP group consumer NOACK COUNT 1 STREAMS key > */
static void xreadgroup(const struct mini_call *call)
{
    if (call->argc != 10 || !mini_is(call, 4, "NOACK") || !bytes_are(call->argv[6], "1") ||
        !bytes_are(call->argv[9], ">"))
        engine_die("XREADGROUP with other options");
    struct mini_value *value = mini_find(call->argv[8]);
    struct mini_group *group = group_of(value, call->argv[2]);
    if (!group) {
        mini_put_error(call->out, "NOGROUP No such key or consumer group");
        return;
    }
    for (size_t i = 0; i < value->entries.count; i++)
        if (compare_ids(value->entries.at[i].id, group->delivered) > 0) {
            struct mini_id from = value->entries.at[i].id;
            group->delivered = from;
            mini_put_array(call->out, 1);
            put_stream(call->out, value, from, 1);
            return;
        }
    mini_put_nil(call->out);
}

/* XGROUP CREATE key group 0 MKSTREAM */
static void xgroup(const struct mini_call *call)
{
    if (call->argc != 6 || !mini_is(call, 1, "CREATE") || !bytes_are(call->argv[4], "0") ||
        !mini_is(call, 5, "MKSTREAM"))
        engine_die("XGROUP with other options");
    struct mini_value *value = mini_find_or_make(call->argv[2], MINI_STREAM);
    if (group_of(value, call->argv[3])) {
        mini_put_error(call->out, "BUSYGROUP Consumer Group name already exists");
        return;
    }
    struct mini_group group = {.name = bytes_copy(call->argv[3])};
    VEC_PUSH(&value->groups, group);
    mini_put_status(call->out, "OK");
}

/* XINFO GROUPS key: names alone; XINFO STREAM key: what is asked for here */
static void xinfo(const struct mini_call *call)
{
    const struct mini_value *value = mini_find(call->argv[2]);
    if (!value) {
        mini_put_error(call->out, "ERR no such key");
        return;
    }
    if (mini_is(call, 1, "GROUPS")) {
        mini_put_array(call->out, value->groups.count);
        for (size_t i = 0; i < value->groups.count; i++) {
            mini_put_array(call->out, 2);
            mini_put_text(call->out, "name");
            mini_put_bytes(call->out, value->groups.at[i].name);
        }
        return;
    }
    mini_put_array(call->out, 4);
    mini_put_text(call->out, "length");
    mini_put_integer(call->out, (long long)value->entries.count);
    mini_put_text(call->out, "entries-added");
    mini_put_integer(call->out, value->added);
}

const struct mini_command mini_stream_commands[] = {
    {"XADD", xadd},     {"XLEN", xlen},           {"XTRIM", xtrim}, {"XDEL", xdel},
    {"XRANGE", xrange}, {"XREVRANGE", xrevrange}, {"XREAD", xread}, {"XREADGROUP", xreadgroup},
    {"XGROUP", xgroup}, {"XINFO", xinfo},         {NULL, NULL}};

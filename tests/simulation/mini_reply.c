/* See mini_reply.h. */
#include "mini_reply.h"

#include "engine.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- a value comes ---- */

static redisReply *new_reply(int type)
{
    redisReply *reply = calloc(1, sizeof *reply); /* hiredis frees it */
    if (!reply)
        engine_die("no memory");
    reply->type = type;
    return reply;
}

/* it becomes an element of the innermost array, and so does each array that is full by it */
static void place(struct mini_out *out, redisReply *reply)
{
    while (out->depth) {
        struct mini_level *level = &out->levels[out->depth - 1];
        if (out->lua)
            lua_rawseti(out->lua, -2, (int)++level->filled);
        else
            level->reply->element[level->filled++] = reply;
        if (level->filled < level->count)
            return;
        reply = level->reply;
        out->depth--;
    }
    out->root = reply;
}

static void place_text(struct mini_out *out, int type, struct bytes bytes)
{
    redisReply *reply = new_reply(type);
    reply->str = malloc(bytes.size + 1);
    if (!reply->str)
        engine_die("no memory");
    memcpy(reply->str, bytes.at, bytes.size);
    reply->str[bytes.size] = 0;
    reply->len = bytes.size;
    place(out, reply);
}

void mini_put_integer(struct mini_out *out, long long number)
{
    redisReply *reply = NULL;
    if (out->lua) {
        lua_pushnumber(out->lua, (lua_Number)number);
    } else {
        reply = new_reply(REDIS_REPLY_INTEGER);
        reply->integer = number;
    }
    place(out, reply);
}

void mini_put_bytes(struct mini_out *out, struct bytes bytes)
{
    if (!out->lua) {
        place_text(out, REDIS_REPLY_STRING, bytes);
        return;
    }
    lua_pushlstring(out->lua, bytes.at, bytes.size);
    place(out, NULL);
}

void mini_put_text(struct mini_out *out, const char *text)
{
    mini_put_bytes(out, (struct bytes){text, strlen(text)});
}

void mini_put_score(struct mini_out *out, double score)
{
    char text[40], room[BYTES_NUMBER];
    if (fabs(score) < 4e18 && score == (double)(long long)score) {
        mini_put_bytes(out, bytes_of_number((long long)score, room));
        return;
    }
    snprintf(text, sizeof text, "%.17g", score); /* inf, -inf */
    mini_put_text(out, text);
}

void mini_put_nil(struct mini_out *out)
{
    if (out->lua)
        lua_pushboolean(out->lua, false);
    place(out, out->lua ? NULL : new_reply(REDIS_REPLY_NIL));
}

void mini_put_array(struct mini_out *out, size_t count)
{
    redisReply *reply = NULL;
    if (out->lua) {
        luaL_checkstack(out->lua, 4, "a reply is too deep");
        lua_createtable(out->lua, (int)count, 0);
    } else {
        reply = new_reply(REDIS_REPLY_ARRAY);
        reply->elements = count;
        reply->element = calloc(count ? count : 1, sizeof(redisReply *));
        if (!reply->element)
            engine_die("no memory");
    }
    if (count == 0)
        place(out, reply);
    else if (out->depth == MINI_DEPTH)
        engine_die("a reply is too deep");
    else
        out->levels[out->depth++] = (struct mini_level){reply, count, 0};
}

static void put_named(struct mini_out *out, const char *name, int type, const char *text)
{
    if (!out->lua) {
        place_text(out, type, (struct bytes){text, strlen(text)});
        return;
    }
    lua_createtable(out->lua, 0, 1);
    lua_pushstring(out->lua, text);
    lua_setfield(out->lua, -2, name);
    place(out, NULL);
}

void mini_put_status(struct mini_out *out, const char *text)
{
    put_named(out, "ok", REDIS_REPLY_STATUS, text);
}

void mini_put_error(struct mini_out *out, const char *text)
{
    out->failed = true;
    put_named(out, "err", REDIS_REPLY_ERROR, text);
}

/* ---- commands ---- */

bool mini_is(const struct mini_call *call, int i, const char *word)
{
    return i < call->argc && call->argv[i].size == strlen(word) && strcasecmp(call->argv[i].at, word) == 0;
}

long long mini_number(struct bytes bytes)
{
    return strtoll(bytes.at, NULL, 10);
}

enum { SLOTS = 512 };
static const struct mini_command *known[SLOTS];

static size_t slot_of(const char *name, size_t size)
{
    size_t hash = size;
    for (size_t i = 0; i < size; i++)
        hash = hash * 31 + (unsigned char)name[i];
    return hash % SLOTS;
}

static void learn(const struct mini_command *commands)
{
    for (; commands->name; commands++) {
        size_t slot = slot_of(commands->name, strlen(commands->name));
        while (known[slot])
            slot = (slot + 1) % SLOTS;
        known[slot] = commands;
    }
}

const struct mini_command *mini_command_of(struct bytes name)
{
    if (!known[slot_of("GET", 3)]) {
        learn(mini_key_commands);
        learn(mini_hash_commands);
        learn(mini_sorted_commands);
        learn(mini_stream_commands);
    }
    size_t slot = slot_of(name.at, name.size);
    while (known[slot] && !bytes_are(name, known[slot]->name))
        slot = (slot + 1) % SLOTS;
    if (!known[slot])
        engine_die("mini.h has no command %s", name.at);
    return known[slot];
}

/* The interpreter of mini.h: what Redis' functions see of Redis (Redis 7.0, "Lua API reference" and "Redis
 * functions"): redis.call, redis.register_function, cjson. Integers come as numbers, nil as false, a status
 * as a table {ok}; the other way numbers lose their fractions and an array ends at its first nil. */
#include "mini_reply.h"

#include "engine.h"

#include <jansson.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBER = 40,
    GC_PAUSE = 1000 /* % of what is in use: worlds are small */,
    BLOCK_BYTES = 16,
    SMALL_BYTES = 512
};

static lua_State *lua;
static const char functions[] = "mini.functions"; /* in the registry: name -> function */

/* ---- redis ---- */

static bool is_whole(lua_Number number)
{
    return number > -1e15 && number < 1e15 && number == (lua_Number)(long long)number &&
           (number != 0 || 1 / number > 0); /* minus zero has a sign */
}

/* as %.17g writes it: Lua's own format has fewer digits */
static struct bytes number_text(lua_Number number, char room[NUMBER])
{
    if (is_whole(number))
        return bytes_of_number((long long)number, room);
    return (struct bytes){room, (size_t)snprintf(room, NUMBER, "%.17g", number)};
}

/* redis.call(command, ...) */
static int redis_call(lua_State *state)
{
    static char numbers[MINI_ARGUMENTS][NUMBER];
    struct bytes argv[MINI_ARGUMENTS];
    int argc = lua_gettop(state);
    if (argc > MINI_ARGUMENTS)
        engine_die("a call with %d arguments", argc);
    for (int i = 0; i < argc; i++) {
        int type = lua_type(state, i + 1);
        if (type == LUA_TNUMBER)
            argv[i] = number_text(lua_tonumber(state, i + 1), numbers[i]);
        else if (type == LUA_TSTRING)
            argv[i].at = lua_tolstring(state, i + 1, &argv[i].size);
        else
            return luaL_error(state, "Command arguments must be strings or integers");
    }
    struct mini_out out = {.lua = state};
    const struct mini_call call = {argc, argv, &out};
    mini_command_of(argv[0])->run(&call);
    if (out.failed) {
        lua_getfield(state, -1, "err");
        return lua_error(state);
    }
    return 1;
}

static int register_function(lua_State *state)
{
    lua_getfield(state, LUA_REGISTRYINDEX, functions);
    lua_getfield(state, 1, "function_name");
    lua_getfield(state, 1, "callback");
    lua_settable(state, -3);
    return 0;
}

/* string.format, of which the library mostly wants whole numbers; the other formats are Lua's own
 * (upvalue) */
static int format(lua_State *state)
{
    char room[BYTES_NUMBER];
    if (lua_gettop(state) == 2 && lua_type(state, 2) == LUA_TNUMBER &&
        strcmp(lua_tostring(state, 1), "%.0f") == 0 && is_whole(lua_tonumber(state, 2))) {
        struct bytes text = bytes_of_number((long long)lua_tonumber(state, 2), room);
        lua_pushlstring(state, text.at, text.size);
        return 1;
    }
    lua_pushvalue(state, lua_upvalueindex(1));
    lua_insert(state, 1);
    lua_call(state, lua_gettop(state) - 1, 1);
    return 1;
}

/* ---- cjson, as far as it goes here ---- */

static int json_encode(lua_State *state)
{
    size_t size;
    const char *text = luaL_checklstring(state, 1, &size);
    static const char from[] = "\"\\/\b\t\n\f\r", to[] = "\"\\/btnfr";
    luaL_Buffer buffer;
    luaL_buffinit(state, &buffer);
    luaL_addchar(&buffer, '"');
    for (size_t i = 0; i < size; i++) {
        const char *special = text[i] ? strchr(from, text[i]) : NULL;
        char code[8];
        if (special)
            snprintf(code, sizeof code, "\\%c", to[special - from]);
        else if ((unsigned char)text[i] < 32 || text[i] == 127)
            snprintf(code, sizeof code, "\\u%04x", (unsigned char)text[i]);
        else
            snprintf(code, sizeof code, "%c", text[i]);
        luaL_addstring(&buffer, code);
    }
    luaL_addchar(&buffer, '"');
    luaL_pushresult(&buffer);
    return 1;
}

static void push_json(lua_State *state, const json_t *json)
{
    const char *key;
    json_t *member;
    size_t i;
    luaL_checkstack(state, 4, "JSON is too deep");
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        lua_newtable(state);
        json_object_foreach((json_t *)(uintptr_t)json, key, member)
        {
            push_json(state, member);
            lua_setfield(state, -2, key);
        }
        break;
    case JSON_ARRAY:
        lua_newtable(state);
        json_array_foreach(json, i, member)
        {
            push_json(state, member);
            lua_rawseti(state, -2, (int)i + 1);
        }
        break;
    case JSON_STRING: lua_pushlstring(state, json_string_value(json), json_string_length(json)); break;
    case JSON_INTEGER:
    case JSON_REAL: lua_pushnumber(state, json_number_value(json)); break;
    case JSON_TRUE: lua_pushboolean(state, true); break;
    case JSON_FALSE: lua_pushboolean(state, false); break;
    case JSON_NULL: lua_pushlightuserdata(state, NULL); break;
    }
}

static int json_decode(lua_State *state)
{
    size_t size;
    const char *text = luaL_checklstring(state, 1, &size);
    json_t *json = json_loadb(text, size, JSON_DECODE_ANY, NULL);
    if (!json)
        return luaL_error(state, "Expected value but found invalid token");
    push_json(state, json);
    json_decref(json);
    return 1;
}

/* ---- replies of functions ---- */

static size_t length_of(lua_State *state, int table)
{
    size_t count = 0;
    for (;; count++) {
        lua_rawgeti(state, table, (int)count + 1);
        bool ends = lua_isnil(state, -1);
        lua_pop(state, 1);
        if (ends)
            return count;
    }
}

static void put_value(lua_State *state, struct mini_out *out);

static void put_table(lua_State *state, struct mini_out *out)
{
    int table = lua_gettop(state);
    size_t count = length_of(state, table);
    lua_getfield(state, table, "err");
    lua_getfield(state, table, "ok");
    if (!lua_isnil(state, -1) || !lua_isnil(state, -2))
        engine_die("a function replies with a status");
    lua_pop(state, 2);
    mini_put_array(out, count);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(state, table, (int)i + 1);
        put_value(state, out);
    }
}

/* the value on top, which is taken off */
static void put_value(lua_State *state, struct mini_out *out)
{
    struct bytes bytes;
    luaL_checkstack(state, 4, "a reply is too deep");
    switch (lua_type(state, -1)) {
    case LUA_TSTRING:
        bytes.at = lua_tolstring(state, -1, &bytes.size);
        mini_put_bytes(out, bytes);
        break;
    case LUA_TNUMBER: mini_put_integer(out, (long long)lua_tonumber(state, -1)); break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(state, -1))
            mini_put_integer(out, 1);
        else
            mini_put_nil(out);
        break;
    case LUA_TTABLE: put_table(state, out); break;
    default: mini_put_nil(out);
    }
    lua_pop(state, 1);
}

/* ---- the library ---- */

/* Small blocks are kept by size and given again: what Lua allocates is nearly all strings and small
 * tables. */
static struct block {
    struct block *next;
} *blocks[SMALL_BYTES / BLOCK_BYTES + 1];

static void *take_block(size_t size)
{
    if (size > SMALL_BYTES)
        return malloc(size);
    struct block **list = &blocks[(size + BLOCK_BYTES - 1) / BLOCK_BYTES], *block = *list;
    if (!block)
        return malloc((size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES);
    *list = block->next;
    return block;
}

static void give_block(void *at, size_t size)
{
    struct block *block = at;
    if (!at || size > SMALL_BYTES) {
        free(at);
        return;
    }
    struct block **list = &blocks[(size + BLOCK_BYTES - 1) / BLOCK_BYTES];
    block->next = *list;
    *list = block;
}

static void *allocate(void *user, void *old, size_t old_size, size_t size)
{
    if (old && size > SMALL_BYTES && old_size > SMALL_BYTES)
        return realloc(old, size);
    void *block = size ? take_block(size) : NULL;
    if (old && (block || !size)) {
        if (size)
            memcpy(block, old, old_size < size ? old_size : size);
        give_block(old, old_size);
    }
    return block;
}

static void set_format(void)
{
    lua_getglobal(lua, "string");
    lua_getfield(lua, -1, "format");
    lua_pushcclosure(lua, format, 1);
    lua_setfield(lua, -2, "format");
}

void mini_lua_start(void)
{
    lua = lua_newstate(allocate, NULL);
    if (!lua)
        engine_die("no interpreter");
    luaL_openlibs(lua);
    lua_gc(lua, LUA_GCSETPAUSE, GC_PAUSE);
    lua_newtable(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, functions);
    static const luaL_Reg redis[] = {
        {"call", redis_call}, {"register_function", register_function}, {NULL, NULL}};
    static const luaL_Reg cjson[] = {{"encode", json_encode}, {"decode", json_decode}, {NULL, NULL}};
    luaL_register(lua, "redis", redis);
    luaL_register(lua, "cjson", cjson);
    set_format();
    lua_settop(lua, 0);
}

void mini_lua_stop(void)
{
    if (lua)
        lua_close(lua);
    lua = NULL;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (struct block *block; (block = blocks[i]); free(block))
            blocks[i] = block->next;
}

void mini_lua_flush(void)
{
    lua_newtable(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, functions);
}

void mini_lua_load(struct bytes text, struct mini_out *out)
{
    const char *body = strchr(text.at, '\n'); /* the first line names the library */
    if (!body || luaL_loadbuffer(lua, body, text.size - (size_t)(body - text.at), "library") != 0 ||
        lua_pcall(lua, 0, 0, 0) != 0)
        engine_die("the library is refused: %s", body ? lua_tostring(lua, -1) : text.at);
    mini_put_text(out, "library");
}

static void push_arguments(const struct bytes *argv, int count)
{
    lua_createtable(lua, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushlstring(lua, argv[i].at, argv[i].size);
        lua_rawseti(lua, -2, i + 1);
    }
}

/* FCALL name keys key ... argument ... */
void mini_lua_call(int argc, const struct bytes *argv, struct mini_out *out)
{
    int keys = (int)mini_number(argv[2]);
    lua_getfield(lua, LUA_REGISTRYINDEX, functions);
    lua_getfield(lua, -1, argv[1].at);
    if (lua_isnil(lua, -1)) {
        mini_put_error(out, "ERR Function not found");
    } else {
        push_arguments(argv + 3, keys);
        push_arguments(argv + 3 + keys, argc - 3 - keys);
        if (lua_pcall(lua, 2, 1, 0) == 0) {
            put_value(lua, out);
        } else {
            char text[300];
            snprintf(text, sizeof text, "ERR %.250s", lua_tostring(lua, -1));
            mini_put_error(out, text);
        }
    }
    lua_settop(lua, 0);
}

/* Where a command of mini.h puts its reply: into a redisReply or onto Lua's stack. An array is announced with
 * its count and its elements follow. Also what commands are given, and their tables. */
#ifndef TOAST_TESTS_SIMULATION_MINI_REPLY_H
#define TOAST_TESTS_SIMULATION_MINI_REPLY_H

#include "mini_data.h"

#include <hiredis/hiredis.h>
#include <lua.h>

enum { MINI_DEPTH = 8, MINI_ARGUMENTS = 300 };
struct mini_out {
    lua_State *lua;   /* or */
    redisReply *root; /* owned; NULL until something came */
    struct mini_level {
        redisReply *reply; /* not with Lua, whose tables are on the stack */
        size_t count, filled;
    } levels[MINI_DEPTH]; /* arrays that are not full */
    int depth;
    bool failed; /* an error was put */
};
void mini_put_integer(struct mini_out *out, long long number);
void mini_put_bytes(struct mini_out *out, struct bytes bytes);
void mini_put_text(struct mini_out *out, const char *text);
void mini_put_score(struct mini_out *out, double score); /* as Redis writes doubles */
void mini_put_nil(struct mini_out *out);
void mini_put_array(struct mini_out *out, size_t count);
void mini_put_status(struct mini_out *out, const char *text);
void mini_put_error(struct mini_out *out, const char *text);

struct mini_call {
    int argc; /* with the command's name */
    const struct bytes *argv;
    struct mini_out *out;
};
bool mini_is(const struct mini_call *call, int i, const char *word); /* without regard to case */
long long mini_number(struct bytes bytes);

struct mini_command {
    const char *name;
    void (*run)(const struct mini_call *call);
};
/* each ends with {NULL} */
extern const struct mini_command mini_key_commands[], mini_hash_commands[], mini_sorted_commands[],
    mini_stream_commands[];
const struct mini_command *mini_command_of(struct bytes name); /* ends the process when there is none */

/* ---- mini_lua.c ---- */
void mini_lua_start(void);
void mini_lua_stop(void);
void mini_lua_load(struct bytes text, struct mini_out *out);
void mini_lua_flush(void);
void mini_lua_call(int argc, const struct bytes *argv, struct mini_out *out); /* FCALL .. */

#endif

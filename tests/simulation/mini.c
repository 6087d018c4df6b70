/* See mini.h. */
#include "mini.h"

#include "engine.h"
#include "mini_reply.h"

#include <string.h>

void mini_start(void)
{
    mini_lua_start();
}

void mini_stop(void)
{
    mini_delete_all();
    mini_lua_stop();
}

void mini_clock(int64_t now_us)
{
    mini_now_us = now_us;
}

static void flush(const struct mini_call *call)
{
    mini_delete_all();
    mini_put_status(call->out, "OK");
}

static void function(const struct mini_call *call)
{
    if (mini_is(call, 1, "LOAD") && mini_is(call, 2, "REPLACE") && call->argc == 4)
        mini_lua_load(call->argv[3], call->out);
    else if (mini_is(call, 1, "FLUSH"))
        mini_lua_flush();
    else
        engine_die("FUNCTION %s", call->argv[1].at);
    if (!call->out->root)
        mini_put_status(call->out, "OK");
}

redisReply *mini_command(int argc, const char **argv, const size_t *sizes)
{
    struct bytes words[MINI_ARGUMENTS];
    struct mini_out out = {0};
    if (argc > MINI_ARGUMENTS)
        engine_die("%s has %d arguments", argv[0], argc);
    for (int i = 0; i < argc; i++)
        words[i] = (struct bytes){argv[i], sizes ? sizes[i] : strlen(argv[i])};
    const struct mini_call call = {argc, words, &out};
    if (strcmp(argv[0], "FCALL") == 0)
        mini_lua_call(argc, words, &out);
    else if (strcmp(argv[0], "FUNCTION") == 0)
        function(&call);
    else if (strcmp(argv[0], "FLUSHDB") == 0)
        flush(&call);
    else
        mini_command_of(words[0])->run(&call);
    return out.root;
}

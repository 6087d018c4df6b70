/* See wire.h. */
#include "wire.h"

#include "base/memory.h"
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_UP = -77 }; /* the descriptor of a context that is ours */

struct sent { /* a request, and its reply once there is one */
    struct wire_call call;
    redisReply *reply;
};
struct line { /* a made-up connection */
    redisContext context;
    VEC(struct sent) sent;
    size_t answered; /* replies that were taken */
    bool flown;
};

static struct {
    const struct wire_world *world;
    const struct wire_plant *plant;
    VEC(struct wire_call) late;
    unsigned long long calls;
} wire;

int __real_redisAppendCommandArgv(redisContext *context, int argc, const char **argv, const size_t *sizes);
int __real_redisGetReply(redisContext *context, void **reply);
void __real_redisFree(redisContext *context);
int __real_redisSetTimeout(redisContext *context, const struct timeval limit);

/* what the linker gives our code instead of hiredis' functions */
redisContext *__wrap_redisConnectUnixWithTimeout(const char *path, const struct timeval limit);
int __wrap_redisAppendCommandArgv(redisContext *context, int argc, const char **argv, const size_t *sizes);
int __wrap_redisGetReply(redisContext *context, void **reply);
void *__wrap_redisCommandArgv(redisContext *context, int argc, const char **argv, const size_t *sizes);
void __wrap_redisFree(redisContext *context);
int __wrap_redisSetTimeout(redisContext *context, const struct timeval limit);

/* ---- calls ---- */

static void call_make(struct wire_call *call, int argc, const char **argv, const size_t *sizes)
{
    *call = (struct wire_call){.argc = argc};
    call->argv = mem_alloc((size_t)argc * sizeof *call->argv);
    call->sizes = mem_alloc((size_t)argc * sizeof *call->sizes);
    for (int i = 0; i < argc; i++) {
        size_t size = sizes ? sizes[i] : strlen(argv[i]);
        char *copy = mem_alloc(size + 1);
        memcpy(copy, argv[i], size);
        copy[size] = 0;
        call->argv[i] = copy;
        call->sizes[i] = size;
    }
    call->function = strcmp(argv[0], "FCALL") == 0;
    if (!call->function) {
        snprintf(call->name, sizeof call->name, "%s", argv[0]);
        return;
    }
    const char *name = call->argv[1] + strlen("toast_"), *version = strrchr(name, '_');
    snprintf(call->name, sizeof call->name, "%.*s", (int)(version - name), name);
}

static void call_release(struct wire_call *call)
{
    for (int i = 0; i < call->argc; i++)
        free((void *)(uintptr_t)call->argv[i]);
    free(call->argv);
    free(call->sizes);
    *call = (struct wire_call){0};
}

const char *wire_argument(const struct wire_call *call, int i)
{
    return call->function && i + 4 < call->argc ? call->argv[i + 4] : "";
}

/* ---- doing them ---- */

static void append(int argc, const char **argv, const size_t *sizes)
{
    if (__real_redisAppendCommandArgv(engine_context(), argc, argv, sizes) != REDIS_OK)
        engine_die("a request cannot be written");
}

static redisReply *receive(void)
{
    void *reply = NULL;
    if (__real_redisGetReply(engine_context(), &reply) != REDIS_OK)
        engine_die("redis-server is gone: %s", engine_context()->errstr);
    return reply;
}

/* XREADGROUP .. BLOCK ms: time does not pass inside a call */
static void append_call(const struct wire_call *call)
{
    const char *argv[16];
    int argc = 0;
    if (strcmp(call->name, "XREADGROUP") != 0) {
        append(call->argc, call->argv, call->sizes);
        return;
    }
    for (int i = 0; i < call->argc; i++)
        if (strcmp(call->argv[i], "BLOCK") == 0)
            i++;
        else
            argv[argc++] = call->argv[i];
    append(argc, argv, NULL);
}

static redisReply *perform(const struct wire_call *call)
{
    struct wire_look before[WIRE_LOOKS], after[WIRE_LOOKS];
    redisReply *seen_before[WIRE_LOOKS] = {0}, *seen_after[WIRE_LOOKS] = {0};
    const struct wire_world *world = call->function ? wire.world : NULL;
    int befores = world ? world->before(world->user, call, before) : 0;
    int afters = world ? world->after(world->user, call, after) : 0;
    for (int i = 0; i < befores; i++)
        append(before[i].argc, before[i].argv, NULL);
    append_call(call);
    for (int i = 0; i < afters; i++)
        if (after[i].argc)
            append(after[i].argc, after[i].argv, NULL);
    for (int i = 0; i < befores; i++)
        seen_before[i] = receive();
    redisReply *reply = receive();
    for (int i = 0; i < afters; i++)
        seen_after[i] = after[i].argc ? receive() : NULL;
    wire.calls++;
    if (world)
        world->seen(world->user, call, reply, seen_before, seen_after);
    for (int i = 0; i < befores; i++)
        freeReplyObject(seen_before[i]);
    for (int i = 0; i < afters; i++)
        freeReplyObject(seen_after[i]);
    return reply;
}

static int break_line(struct line *line)
{
    line->context.err = REDIS_ERR_EOF;
    snprintf(line->context.errstr, sizeof line->context.errstr, "simulated");
    return REDIS_ERR;
}

/* everything that was sent, as one; the weather is its first request's */
static int fly(struct line *line)
{
    line->flown = true;
    enum wire_fault fault = wire.world && line->sent.count
                                ? wire.world->weather(wire.world->user, &line->sent.at[0].call)
                                : WIRE_GOOD;
    for (size_t i = 0; i < line->sent.count; i++) {
        struct sent *sent = &line->sent.at[i];
        if (fault == WIRE_LATE && sent->call.function) {
            VEC_PUSH(&wire.late, sent->call);
            sent->call = (struct wire_call){0};
        } else if (fault != WIRE_REQUEST_LOST && fault != WIRE_LATE) {
            sent->reply = perform(&sent->call);
            if (fault == WIRE_DOUBLED) {
                freeReplyObject(sent->reply);
                sent->reply = perform(&sent->call);
            }
        }
    }
    return fault == WIRE_GOOD || fault == WIRE_DOUBLED ? REDIS_OK : break_line(line);
}

static void clear(struct line *line)
{
    for (size_t i = 0; i < line->sent.count; i++) {
        if (i >= line->answered && line->sent.at[i].reply)
            freeReplyObject(line->sent.at[i].reply);
        call_release(&line->sent.at[i].call);
    }
    line->sent.count = line->answered = 0;
    line->flown = false;
}

/* ---- what hiredis' callers get ---- */

static struct line *line_of(redisContext *context)
{
    return (struct line *)context;
}

redisContext *__wrap_redisConnectUnixWithTimeout(const char *path, const struct timeval limit)
{
    struct line *line = mem_zalloc(1, sizeof *line);
    line->context.fd = MADE_UP;
    return &line->context;
}

void __wrap_redisFree(redisContext *context)
{
    if (context->fd != MADE_UP) {
        __real_redisFree(context);
        return;
    }
    struct line *line = line_of(context);
    clear(line);
    VEC_FREE(&line->sent);
    free(line);
}

int __wrap_redisSetTimeout(redisContext *context, const struct timeval limit)
{
    return context->fd == MADE_UP ? REDIS_OK : __real_redisSetTimeout(context, limit);
}

int __wrap_redisAppendCommandArgv(redisContext *context, int argc, const char **argv, const size_t *sizes)
{
    struct line *line = line_of(context);
    struct sent sent = {0};
    if (line->flown)
        clear(line);
    call_make(&sent.call, argc, argv, sizes);
    VEC_PUSH(&line->sent, sent);
    return REDIS_OK;
}

int __wrap_redisGetReply(redisContext *context, void **reply)
{
    struct line *line = line_of(context);
    *reply = NULL;
    if (!line->flown && fly(line) != REDIS_OK)
        return REDIS_ERR;
    if (line->context.err)
        return REDIS_ERR;
    *reply = line->sent.at[line->answered++].reply;
    return REDIS_OK;
}

/* ---- the library on its way ---- */

static char *planted(const char *text)
{
    const struct wire_plant *plant = wire.plant;
    const char *at = strstr(text, plant->from);
    if (!at || strstr(at + 1, plant->from))
        engine_die("%s: what is to be changed does not stand in the library once", plant->name);
    return mem_printf("%.*s%s%s", (int)(at - text), text, plant->to, at + strlen(plant->from));
}

void *__wrap_redisCommandArgv(redisContext *context, int argc, const char **argv, const size_t *sizes)
{
    void *reply = NULL;
    if (argc == 4 && strcmp(argv[0], "FUNCTION") == 0) { /* LOAD REPLACE text */
        char *text = wire.plant ? planted(argv[3]) : mem_strdup(argv[3]);
        const char *changed[] = {argv[0], argv[1], argv[2], text};
        append(4, changed, NULL);
        free(text);
        redisReply *loaded = receive();
        if (loaded->type == REDIS_REPLY_ERROR)
            engine_die("the library is refused: %s", loaded->str);
        return loaded;
    }
    __wrap_redisAppendCommandArgv(context, argc, argv, sizes);
    return __wrap_redisGetReply(context, &reply) == REDIS_OK ? reply : NULL;
}

void wire_plant(const struct wire_plant *plant)
{
    const char *flush[] = {"FUNCTION", "FLUSH"};
    wire.plant = plant;
    append(2, flush, NULL);
    freeReplyObject(receive());
}

void wire_attach(const struct wire_world *wire_world)
{
    for (size_t i = 0; i < wire.late.count; i++)
        call_release(&wire.late.at[i]);
    wire.late.count = 0;
    wire.world = wire_world;
}

size_t wire_late_count(void)
{
    return wire.late.count;
}

void wire_deliver(size_t i)
{
    struct wire_call call = wire.late.at[i];
    for (size_t k = i + 1; k < wire.late.count; k++)
        wire.late.at[k - 1] = wire.late.at[k];
    wire.late.count--;
    freeReplyObject(perform(&call));
    call_release(&call);
}

unsigned long long wire_calls_total(void)
{
    return wire.calls;
}

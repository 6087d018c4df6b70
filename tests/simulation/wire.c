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

struct kept { /* what was done, and when */
    struct wire_call call;
    int64_t now_us;
};
struct wire { /* of one lane */
    const struct wire_world *world;
    VEC(struct wire_call) late;
    VEC(struct kept) kept;
};
static struct wire wires[ENGINE_LANES];
static const struct wire_plant *planted_now;
static unsigned long long calls_total;

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

static struct wire *wire_now(void)
{
    return &wires[engine_lane()];
}

/* XREADGROUP .. BLOCK ms: time does not pass inside a call */
static void append_call(const struct wire_call *call)
{
    const char *argv[16];
    int argc = 0;
    if (strcmp(call->name, "XREADGROUP") != 0) {
        engine_append(call->argc, call->argv, call->sizes);
        return;
    }
    for (int i = 0; i < call->argc; i++)
        if (strcmp(call->argv[i], "BLOCK") == 0)
            i++;
        else
            argv[argc++] = call->argv[i];
    engine_append(argc, argv, NULL);
}

static void append_looks(const struct wire_look *looks, int count)
{
    for (int i = 0; i < count; i++)
        if (looks[i].argc)
            engine_append(looks[i].argc, (const char **)(uintptr_t)looks[i].argv, NULL);
}

/* the replies of looks, in order, from *taken on */
static void spread(redisReply *const *taken, const struct wire_look *looks, int count, redisReply **out)
{
    for (int i = 0; i < count; i++)
        out[i] = looks[i].argc ? *taken++ : NULL;
}

static int looks_asked(const struct wire_look *looks, int count)
{
    int asked = 0;
    for (int i = 0; i < count; i++)
        asked += looks[i].argc != 0;
    return asked;
}

static void keep(struct wire *wire, const struct wire_call *call)
{
    struct kept kept = {.now_us = *wire->world->now_us};
    call_make(&kept.call, call->argc, call->argv, call->sizes);
    VEC_PUSH(&wire->kept, kept);
}

static redisReply *perform(const struct wire_call *call)
{
    struct wire_look before[WIRE_LOOKS], after[WIRE_LOOKS];
    redisReply *replies[2 * WIRE_LOOKS + 1], *seen_before[WIRE_LOOKS], *seen_after[WIRE_LOOKS];
    const struct wire_world *attached = wire_now()->world, *world = call->function ? attached : NULL;
    int befores = world ? world->before(world->user, call, before) : 0;
    int afters = world ? world->after(world->user, call, after) : 0;
    int first = looks_asked(before, befores), all = first + 1 + looks_asked(after, afters);
    engine_begin(attached ? *attached->now_us : 1700000000000000);
    append_looks(before, befores);
    append_call(call);
    append_looks(after, afters);
    engine_exchange(replies, (size_t)all);
    calls_total++;
    if (attached && attached->loses)
        keep(wire_now(), call);
    spread(replies, before, befores, seen_before);
    spread(replies + first + 1, after, afters, seen_after);
    if (world)
        world->seen(world->user, call, replies[first], seen_before, seen_after);
    for (int i = 0; i < all; i++)
        if (i != first)
            freeReplyObject(replies[i]);
    return replies[first];
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
    const struct wire_world *world = wire_now()->world;
    enum wire_fault fault =
        world && line->sent.count ? world->weather(world->user, &line->sent.at[0].call) : WIRE_GOOD;
    for (size_t i = 0; i < line->sent.count; i++) {
        struct sent *sent = &line->sent.at[i];
        if (fault == WIRE_LATE && sent->call.function) {
            VEC_PUSH(&wire_now()->late, sent->call);
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
    const struct wire_plant *plant = planted_now;
    const char *at = strstr(text, plant->from);
    if (!at || strstr(at + 1, plant->from))
        engine_die("%s: what is to be changed does not stand in the library once", plant->name);
    return mem_printf("%.*s%s%s", (int)(at - text), text, plant->to, at + strlen(plant->from));
}

void *__wrap_redisCommandArgv(redisContext *context, int argc, const char **argv, const size_t *sizes)
{
    void *reply = NULL;
    if (argc == 4 && strcmp(argv[0], "FUNCTION") == 0) { /* LOAD REPLACE text */
        char *text = planted_now ? planted(argv[3]) : mem_strdup(argv[3]);
        const char *changed[] = {argv[0], argv[1], argv[2], text};
        redisReply *loaded = engine_command(4, changed);
        free(text);
        return loaded;
    }
    __wrap_redisAppendCommandArgv(context, argc, argv, sizes);
    return __wrap_redisGetReply(context, &reply) == REDIS_OK ? reply : NULL;
}

void wire_plant(const struct wire_plant *plant)
{
    const char *flush[] = {"FUNCTION", "FLUSH"};
    planted_now = plant;
    freeReplyObject(engine_command(2, flush));
}

void wire_attach(const struct wire_world *wire_world)
{
    struct wire *wire = wire_now();
    for (size_t i = 0; i < wire->late.count; i++)
        call_release(&wire->late.at[i]);
    VEC_FREE(&wire->late);
    for (size_t i = 0; i < wire->kept.count; i++)
        call_release(&wire->kept.at[i].call);
    VEC_FREE(&wire->kept);
    wire->world = wire_world;
}

/* A server that reads its log back: the clock is at each command's time again, so that what it did it does
 * again. */
size_t wire_lose(int64_t since_us)
{
    struct wire *wire = wire_now();
    size_t left = wire->kept.count, lost;
    while (left > 0 && wire->kept.at[left - 1].now_us >= since_us)
        left--;
    lost = wire->kept.count - left;
    engine_flush();
    for (size_t i = 0; i < wire->kept.count; i++) {
        redisReply *reply;
        if (i < left) {
            engine_begin(wire->kept.at[i].now_us);
            append_call(&wire->kept.at[i].call);
            engine_exchange(&reply, 1);
            freeReplyObject(reply);
        } else {
            call_release(&wire->kept.at[i].call);
        }
    }
    wire->kept.count = left;
    return lost;
}

size_t wire_late_count(void)
{
    return wire_now()->late.count;
}

void wire_deliver(size_t i)
{
    struct wire *wire = wire_now();
    struct wire_call call = wire->late.at[i];
    for (size_t k = i + 1; k < wire->late.count; k++)
        wire->late.at[k - 1] = wire->late.at[k];
    wire->late.count--;
    freeReplyObject(perform(&call));
    call_release(&call);
}

unsigned long long wire_calls_total(void)
{
    return calls_total;
}

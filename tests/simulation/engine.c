/* See engine.h. Lanes are contexts of ucontext(3); only the hub waits for Redis. */
#include "engine.h"

#include "base/memory.h"
#include "mini.h"
#include "same.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

enum { STACK_BYTES = 512 << 10, BEGIN_REPLIES = 2 };

int __real_redisAppendCommandArgv(redisContext *context, int argc, const char **argv, const size_t *sizes);
int __real_redisGetReply(redisContext *context, void **reply);

struct lane {
    ucontext_t context;
    char *stack;
    bool alive, waits;
    redisReply **replies; /* where they go */
    size_t count;
};

static struct {
    enum engine_kind kind;
    VEC(redisReply *) minis; /* replies of the stand-in that nobody has taken; owned */
    VEC(char *) names;       /* of ENGINE_BOTH: their commands; owned */
    char folder[64], socket[96];
    pid_t pid;
    redisContext *context;
    int64_t now_us;
    struct lane lanes[ENGINE_LANES];
    int lane, waiting[ENGINE_LANES], waiting_count; /* in the order of their requests */
    bool hub;                                       /* lanes are run */
    ucontext_t home;
    void (*run)(int lane, void *user);
    void *user;
} engine;

void engine_die(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    printf("simulation: ");
    vprintf(format, values);
    printf("\n");
    fflush(stdout);
    va_end(values);
    engine_stop();
    exit(3);
}

/* ---- the server ---- */

static void spawn(void)
{
    static char clock[] = TOAST_BINARY_DIR "/../tests/libsimulation_clock.so";
    static const char *const settings[] = {"--port", "0", "--save", "", "--appendonly", "no", "--databases",
                                           "64", "--enable-debug-command", "yes", "--maxmemory", "256mb",
                                           "--maxmemory-policy", "noeviction", "--hz", "1",
                                           /* it waits by a wall clock, and this one stands */
                                           "--jemalloc-bg-thread", "no"};
    enum { SETTINGS = sizeof settings / sizeof *settings };
    char *argv[SETTINGS + 8] = {"redis-server", "--unixsocket", engine.socket, "--dir",
                                engine.folder,  "--loadmodule", clock};
    for (int i = 0; i < SETTINGS; i++)
        argv[7 + i] = (char *)(uintptr_t)settings[i];
    char *preload = mem_printf("LD_PRELOAD=%s", clock);
    char *path = mem_printf("PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin");
    char *environment[] = {preload, path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (access(clock, R_OK) != 0 ||
        posix_spawnp(&engine.pid, "redis-server", &actions, NULL, argv, environment) != 0)
        engine_die("redis-server or %s is missing", clock);
    posix_spawn_file_actions_destroy(&actions);
    free(path);
    free(preload);
}

static void start_redis(void)
{
    signal(SIGPIPE, SIG_IGN);
    snprintf(engine.folder, sizeof engine.folder, "%s/toast-simulation-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(engine.folder))
        engine_die("no scratch folder");
    snprintf(engine.socket, sizeof engine.socket, "%s/s", engine.folder);
    spawn();
    for (int i = 0; i < 1000 && !engine.context; i++) {
        redisContext *context = redisConnectUnix(engine.socket);
        if (context && !context->err)
            engine.context = context;
        else if (context)
            redisFree(context);
        if (!engine.context)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    if (!engine.context)
        engine_die("redis-server does not start");
    /* what expires does so when it is looked at */
    freeReplyObject(redisCommand(engine.context, "DEBUG SET-ACTIVE-EXPIRE 0"));
}

void engine_start(enum engine_kind kind)
{
    engine.kind = kind;
    engine.now_us = 1700000000000000;
    if (kind != ENGINE_MINI)
        start_redis();
    if (kind != ENGINE_REDIS)
        mini_start();
}

void engine_stop(void)
{
    if (engine.context)
        redisFree(engine.context);
    if (engine.pid) {
        kill(engine.pid, SIGKILL);
        waitpid(engine.pid, NULL, 0);
    }
    if (engine.folder[0]) {
        unlink(engine.socket);
        rmdir(engine.folder);
    }
    if (engine.kind != ENGINE_REDIS)
        mini_stop();
    VEC_FREE(&engine.minis);
    VEC_FREE(&engine.names);
    for (int i = 0; i < ENGINE_LANES; i++)
        free(engine.lanes[i].stack);
    memset(&engine, 0, sizeof engine);
}

/* ---- exchanges ---- */

static redisReply *receive(void)
{
    void *reply = NULL;
    if (__real_redisGetReply(engine.context, &reply) != REDIS_OK)
        engine_die("redis-server is gone: %s", engine.context->errstr);
    return reply;
}

static void receive_all(struct lane *lane)
{
    for (int i = 0; i < BEGIN_REPLIES; i++)
        freeReplyObject(receive());
    for (size_t i = 0; i < lane->count; i++)
        lane->replies[i] = receive();
}

void engine_append(int argc, const char **argv, const size_t *sizes)
{
    if (engine.kind != ENGINE_REDIS)
        VEC_PUSH(&engine.minis, mini_command(argc, argv, sizes));
    if (engine.kind == ENGINE_BOTH)
        VEC_PUSH(&engine.names, mem_strdup(argv[0]));
    if (engine.kind != ENGINE_MINI &&
        __real_redisAppendCommandArgv(engine.context, argc, argv, sizes) != REDIS_OK)
        engine_die("a request cannot be written");
}

void engine_begin(int64_t now_us)
{
    char database[16], clock[32];
    engine.now_us = now_us;
    if (engine.kind != ENGINE_REDIS)
        mini_clock(now_us);
    if (engine.kind == ENGINE_MINI)
        return;
    snprintf(database, sizeof database, "%d", engine.lane);
    snprintf(clock, sizeof clock, "%lld", (long long)now_us);
    const char *select[] = {"SELECT", database}, *set[] = {"SIMULATION.CLOCK", clock};
    if (__real_redisAppendCommandArgv(engine.context, 2, select, NULL) != REDIS_OK ||
        __real_redisAppendCommandArgv(engine.context, 2, set, NULL) != REDIS_OK)
        engine_die("a request cannot be written");
}

/* the stand-in's replies, in place of Redis' (taken) or compared with them */
static void take_minis(redisReply **replies, size_t count)
{
    if (engine.minis.count != count)
        engine_die("%zu replies of %zu", engine.minis.count, count);
    for (size_t i = 0; i < count; i++) {
        if (engine.kind == ENGINE_BOTH) {
            replies_same(engine.names.at[i], replies[i], engine.minis.at[i]);
            freeReplyObject(engine.minis.at[i]);
            free(engine.names.at[i]);
        } else {
            replies[i] = engine.minis.at[i];
        }
    }
    engine.minis.count = engine.names.count = 0;
}

void engine_exchange(redisReply **replies, size_t count)
{
    struct lane *lane = &engine.lanes[engine.lane];
    lane->replies = replies;
    lane->count = count;
    if (!engine.hub && engine.kind != ENGINE_MINI)
        receive_all(lane);
    if (engine.kind != ENGINE_REDIS)
        take_minis(replies, count);
    if (!engine.hub)
        return;
    lane->waits = true;
    engine.waiting[engine.waiting_count++] = engine.lane;
    if (swapcontext(&lane->context, &engine.home) != 0)
        engine_die("lanes cannot be switched");
}

redisReply *engine_command(int argc, const char **argv)
{
    redisReply *reply;
    engine_begin(engine.now_us);
    engine_append(argc, argv, NULL);
    engine_exchange(&reply, 1);
    if (reply->type == REDIS_REPLY_ERROR)
        engine_die("%s: %s", argv[0], reply->str);
    return reply;
}

void engine_flush(void)
{
    const char *flush[] = {"FLUSHDB", "SYNC"};
    freeReplyObject(engine_command(2, flush));
}

static const char *reader_of(const char *type)
{
    static const char *const readers[][2] = {{"string", "GET"}, {"hash", "HGETALL"}, {"set", "SMEMBERS"}};
    for (int i = 0; i < 3; i++)
        if (strcmp(type, readers[i][0]) == 0)
            return readers[i][1];
    return NULL;
}

static void compare_key(const char *key)
{
    const char *type[] = {"TYPE", key}, *left[] = {"PTTL", key};
    redisReply *reply = engine_command(2, type);
    const char *reader = reader_of(reply->str), *plain[] = {reader, key};
    const char *stream[] = {"XRANGE", key, "-", "+"}, *sorted[] = {"ZRANGE", key, "0", "-1", "WITHSCORES"};
    freeReplyObject(engine_command(2, left));
    if (reader)
        freeReplyObject(engine_command(2, plain));
    else if (strcmp(reply->str, "stream") == 0)
        freeReplyObject(engine_command(4, stream));
    else
        freeReplyObject(engine_command(5, sorted));
    freeReplyObject(reply);
}

void engine_compare(void)
{
    const char *all[] = {"SCAN", "0", "MATCH", "{t}:*", "COUNT", "100000"};
    if (engine.kind != ENGINE_BOTH)
        return;
    redisReply *keys = engine_command(6, all);
    for (size_t i = 0; i < keys->element[1]->elements; i++)
        compare_key(keys->element[1]->element[i]->str);
    freeReplyObject(keys);
}

/* ---- lanes ---- */

int engine_lane(void)
{
    return engine.lane;
}

static void lane_main(void)
{
    int lane = engine.lane;
    engine.run(lane, engine.user);
    engine.lanes[lane].alive = false;
    setcontext(&engine.home);
}

static void lane_make(struct lane *lane)
{
    lane->stack = lane->stack ? lane->stack : mem_alloc(STACK_BYTES);
    lane->alive = true;
    lane->waits = false;
    if (getcontext(&lane->context) != 0)
        engine_die("lanes cannot be made");
    lane->context.uc_stack = (stack_t){.ss_sp = lane->stack, .ss_size = STACK_BYTES};
    makecontext(&lane->context, lane_main, 0);
}

/* every lane that can go on does so, until it waits or ends; -> whether one is left */
static bool run_lanes(int lanes)
{
    bool left = false;
    for (int i = 0; i < lanes; i++) {
        struct lane *lane = &engine.lanes[i];
        if (lane->alive && !lane->waits) {
            engine.lane = i;
            if (swapcontext(&engine.home, &lane->context) != 0)
                engine_die("lanes cannot be switched");
        }
        left |= lane->alive;
    }
    return left;
}

void engine_run(int lanes, void (*run)(int lane, void *user), void *user)
{
    if (engine.kind != ENGINE_REDIS || lanes == 1) {
        run(0, user);
        return;
    }
    engine.hub = true;
    engine.run = run;
    engine.user = user;
    for (int i = 0; i < lanes; i++)
        lane_make(&engine.lanes[i]);
    while (run_lanes(lanes)) {
        int count = engine.waiting_count;
        engine.waiting_count = 0;
        for (int i = 0; i < count; i++) {
            struct lane *lane = &engine.lanes[engine.waiting[i]];
            receive_all(lane);
            lane->waits = false;
        }
    }
    engine.hub = false;
    engine.lane = 0;
}

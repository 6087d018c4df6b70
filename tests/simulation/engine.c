/* See engine.h. */
#include "engine.h"

#include "base/memory.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static struct {
    char folder[64], socket[96], clock[96];
    pid_t pid;
    int64_t *now_us;
    redisContext *context;
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

static void make_clock(void)
{
    snprintf(engine.clock, sizeof engine.clock, "%s/clock", engine.folder);
    int fd = open(engine.clock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *engine.now_us) != 0)
        engine_die("no clock in %s", engine.folder);
    engine.now_us = mmap(NULL, sizeof *engine.now_us, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (engine.now_us == MAP_FAILED)
        engine_die("the clock cannot be mapped");
    close(fd);
}

static void spawn(void)
{
    char *argv[] = {"redis-server",
                    "--port",
                    "0",
                    "--unixsocket",
                    engine.socket,
                    "--dir",
                    engine.folder,
                    "--save",
                    "",
                    "--appendonly",
                    "no",
                    "--enable-debug-command",
                    "yes",
                    "--daemonize",
                    "no",
                    "--maxmemory",
                    "256mb",
                    "--maxmemory-policy",
                    "noeviction",
                    "--hz",
                    "1",
                    NULL};
    const char *const preload = TOAST_BINARY_DIR "/../tests/libsimulation_clock.so";
    char *set = mem_printf("LD_PRELOAD=%s", preload),
         *clock = mem_printf("SIMULATION_CLOCK=%s", engine.clock);
    char *path = mem_printf("PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin");
    char *environment[] = {set, clock, path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (access(preload, R_OK) != 0 ||
        posix_spawnp(&engine.pid, "redis-server", &actions, NULL, argv, environment) != 0)
        engine_die("redis-server or %s is missing", preload);
    posix_spawn_file_actions_destroy(&actions);
    free(path);
    free(clock);
    free(set);
}

static void command(const char *text)
{
    redisReply *reply = redisCommand(engine.context, text);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        engine_die("%s: %s", text, reply ? reply->str : engine.context->errstr);
    freeReplyObject(reply);
}

void engine_start(void)
{
    signal(SIGPIPE, SIG_IGN);
    snprintf(engine.folder, sizeof engine.folder, "%s/toast-simulation-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(engine.folder))
        engine_die("no scratch folder");
    snprintf(engine.socket, sizeof engine.socket, "%s/s", engine.folder);
    make_clock();
    engine_set_us(1700000000000000);
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
    command("DEBUG SET-ACTIVE-EXPIRE 0"); /* what expires does so when it is looked at */
}

void engine_stop(void)
{
    if (engine.context)
        redisFree(engine.context);
    if (engine.pid) {
        kill(engine.pid, SIGKILL);
        waitpid(engine.pid, NULL, 0);
    }
    if (engine.now_us)
        munmap(engine.now_us, sizeof *engine.now_us);
    unlink(engine.socket);
    unlink(engine.clock);
    rmdir(engine.folder);
    memset(&engine, 0, sizeof engine);
}

void engine_set_us(int64_t now_us)
{
    *(volatile int64_t *)engine.now_us = now_us;
}

redisContext *engine_context(void)
{
    return engine.context;
}

void engine_flush(void)
{
    command("FLUSHDB SYNC");
}

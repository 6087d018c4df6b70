/* The clock of a simulation's redis-server, of which this file is both preloaded library and module: the
 * wall clock stands at what the last SIMULATION.CLOCK command said (microseconds since 1970), the
 * monotonic clock is the machine's. The library under test is thus the text that ships, what expires does
 * so in virtual time, and requests of several worlds can go out together, each behind its own time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

static int64_t virtual_us = 1700000000000000;

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static int (*real_gettime)(clockid_t, struct timespec *);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        *out = (struct timespec){.tv_sec = virtual_us / 1000000, .tv_nsec = virtual_us % 1000000 * 1000};
        return 0;
    }
    if (!real_gettime)
        *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    return real_gettime(clock, out);
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    *out = (struct timeval){.tv_sec = virtual_us / 1000000, .tv_usec = virtual_us % 1000000};
    return 0;
}

time_t time(time_t *out)
{
    if (out)
        *out = virtual_us / 1000000;
    return virtual_us / 1000000;
}

/* ---- the module: what of Redis' interface is needed (Redis 7.0, "Modules API reference") ---- */

typedef int module_command(void *context, void **argv, int argc);
static int (*string_to_number)(const void *string, long long *out);
static int (*reply_number)(void *context, long long number);

static int set_clock(void *context, void **argv, int argc)
{
    long long now_us = 0;
    if (argc == 2 && string_to_number(argv[1], &now_us) == 0)
        virtual_us = now_us;
    return reply_number(context, now_us);
}

int RedisModule_OnLoad(void *context, void **argv, int argc);
int RedisModule_OnLoad(void *context, void **argv, int argc)
{
    int (*interface)(const char *, void *) = NULL;
    void (*name_module)(void *, const char *, int, int) = NULL;
    int (*create_command)(void *, const char *, module_command *, const char *, int, int, int) = NULL;
    *(void **)&interface = *(void **)context; /* a context begins with the function that gives the others */
    interface("RedisModule_SetModuleAttribs", &name_module);
    interface("RedisModule_CreateCommand", &create_command);
    interface("RedisModule_StringToLongLong", &string_to_number);
    interface("RedisModule_ReplyWithLongLong", &reply_number);
    name_module(context, "simulation", 1, 1);
    return create_command(context, "simulation.clock", set_clock, "fast", 0, 0, 0);
}

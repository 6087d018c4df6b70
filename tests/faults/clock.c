/* Preloaded into a process of the fault tests: its wall clock (not its monotonic clock) is off by the seconds
 * that the file $FAULT_CLOCK says for its program, one "NAME SECONDS" a line, read anew every 20 ms. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset_s(void)
{
    static __thread long offset, read_at_ms = -1000;
    static const char *const programs[] = {"redis-server", "toast-server", "toast-worker"};
    const char *path = getenv("FAULT_CLOCK");
    int mine = 0; /* the sandboxed reader must open nothing */
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        mine |= strcmp(program_invocation_short_name, programs[i]) == 0;
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    long now_ms = t.tv_sec * 1000 + t.tv_nsec / 1000000;
    if (!mine || !path || now_ms - read_at_ms < 20)
        return offset;
    char text[256] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    char *line = n > 0 ? strstr(text, program_invocation_short_name) : NULL;
    offset = line ? strtol(line + strlen(program_invocation_short_name), NULL, 10) : 0;
    read_at_ms = now_ms;
    return offset;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = (int)syscall(SYS_clock_gettime, clock, t);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        t->tv_sec += offset_s();
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

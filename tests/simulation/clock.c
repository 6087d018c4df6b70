/* Preloaded into the redis-server of a simulation: its wall clock is the number of microseconds that the
 * file $SIMULATION_CLOCK holds (mapped, so that setting it is one store of the simulation), its monotonic
 * clock the machine's. The library under test is thus the text that ships, and what expires does so in
 * virtual time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *virtual_us;
static int (*real_gettime)(clockid_t, struct timespec *);

static void __attribute__((constructor)) begin(void)
{
    const char *path = getenv("SIMULATION_CLOCK");
    *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapping = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *virtual_us, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    virtual_us = mapping == MAP_FAILED ? NULL : mapping;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!virtual_us || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) {
        if (!real_gettime)
            *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
        return real_gettime(clock, out);
    }
    int64_t now_us = *virtual_us;
    *out = (struct timespec){.tv_sec = now_us / 1000000, .tv_nsec = now_us % 1000000 * 1000};
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
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

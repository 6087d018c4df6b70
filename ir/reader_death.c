/* See reader_death.h. What speaks for each verdict:
 *
 *     SIGXCPU, SIGKILL and the processor time used up        the limit of processor time
 *     READER_NO_MEMORY, SIGXFSZ, "out of memory" printed     the limit of memory, or of the answer's size
 *     SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS       the reader's own fault
 *     any other signal; READER_HOST, READER_NOT_LOADED       somebody else's: the host
 *
 * SIGXCPU and SIGKILL can be sent by anyone, so the time that the kernel has counted decides. */
#include "ir/reader_death.h"

#include "ir/reader_protocol.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* The kernel samples the time that it holds against the limit and counts the time that it reports: on a busy
 * machine the two differ, by some per cent mostly. SIGXCPU is hardly ever anybody's else. */
static bool used_up(const struct reader_death *death, int signal_number)
{
    double share = signal_number == SIGXCPU ? 0.5 : signal_number == SIGKILL ? 0.9 : INFINITY;
    return death->cpu_seconds && death->cpu_s >= share * death->cpu_seconds;
}

static enum error_code killed_by_host(const struct reader_death *death, int signal_number, struct error *e)
{
    long long mib = death->peak_bytes >> 20;
    if (signal_number == SIGKILL && death->oom_killed)
        return error_set(e, ERROR_HOST,
                         "this machine ran out of memory and ended the reader, which had used %lld MiB: try "
                         "again, or where there is more memory",
                         mib);
    return error_set(e, ERROR_HOST,
                     "the reader was ended from outside (signal %d) after %.2f s of processor time and %lld "
                     "MiB; no limit was reached: try again",
                     signal_number, death->cpu_s, mib);
}

enum error_code reader_death_judge(const struct reader_death *death, struct error *e)
{
    int signal_number = WIFSIGNALED(death->status) ? WTERMSIG(death->status) : 0;
    int status = WIFEXITED(death->status) ? WEXITSTATUS(death->status) : 0;
    if (used_up(death, signal_number))
        return error_set(e, ERROR_RESOURCE, "reading this module takes more than %u s of processor time",
                         death->cpu_seconds);
    if (status == READER_HOST || status == READER_NOT_LOADED)
        return error_set(e, ERROR_HOST, "the reader could not work here (status %d): %.200s", status,
                         death->tail[0] ? death->tail : "no memory or descriptors left");
    switch (signal_number) {
    case 0:
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGXFSZ: break;
    case SIGSYS:
        return error_set(e, ERROR_INTERNAL, "the reader tried what its sandbox forbids and was ended");
    default: return killed_by_host(death, signal_number, e);
    }
    if (status == READER_NO_MEMORY || strstr(death->tail, "out of memory") ||
        strstr(death->tail, "bad_alloc") || strstr(death->tail, "Cannot allocate") ||
        signal_number == SIGXFSZ)
        return error_set(e, ERROR_RESOURCE, "reading this module takes more than %zu MiB of memory",
                         death->memory_bytes >> 20);
    if (signal_number)
        return error_set(e, ERROR_INTERNAL, "the reader died of signal %d", signal_number);
    return error_set(e, ERROR_INTERNAL, "the reader failed with status %d", status);
}

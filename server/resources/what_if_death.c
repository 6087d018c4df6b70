/* How a pricing child's end is judged; see what_if_child.h. What speaks for each verdict:
 *
 *     ended by us, and processor time used up       the limit of time
 *     ended by us otherwise                         the host: it was stopped, or had no processor
 *     WHAT_IF_MEMORY                                the limit of memory
 *     WHAT_IF_BROKEN, 127 (not started)             the host
 *     SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS   the child's own fault
 *     any other signal, any other status            somebody else's: the host */
#include "server/resources/what_if_child.h"

#include <signal.h>
#include <sys/wait.h>

/* of the wall's time: with less on a processor something else took the rest */
static const double SHARE = 0.5;

static enum error_code judge_signal(const struct what_if_end *end, int number, struct error *e)
{
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT: return error_set(e, ERROR_INTERNAL, "pricing this module died of signal %d", number);
    case SIGSYS: return error_set(e, ERROR_INTERNAL, "pricing tried what its sandbox forbids and was ended");
    default: break;
    }
    if (number == SIGKILL && end->oom_killed)
        return error_set(e, ERROR_HOST, "this machine ran out of memory and ended pricing; try again");
    return error_set(e, ERROR_UNAVAILABLE,
                     "pricing was ended from outside (signal %d) after %.2f s of processor time; try again",
                     number, end->cpu_s);
}

enum error_code what_if_judge(const struct what_if_end *end, int seconds, struct error *e)
{
    if (end->late && end->cpu_s >= SHARE * seconds)
        return error_set(e, ERROR_RESOURCE, "pricing this module takes more than %d s", seconds);
    if (end->late)
        return error_set(
            e, ERROR_HOST,
            "pricing did not end within %d s and had %.2f s of processor time in them; try again", seconds,
            end->cpu_s);
    if (WIFSIGNALED(end->status))
        return judge_signal(end, WTERMSIG(end->status), e);
    if (WEXITSTATUS(end->status) == WHAT_IF_MEMORY)
        return error_set(e, ERROR_RESOURCE, "pricing this module takes more than %zu MiB of memory",
                         end->memory_bytes >> 20);
    return error_set(e, ERROR_HOST, "pricing could not work here (status %d); try again",
                     WEXITSTATUS(end->status));
}

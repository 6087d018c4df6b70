/* Entering the sandbox (sandbox.h): resource limits, then a watch for exhausted memory, then no new
 * privileges and no files (base/confine.h), then a seccomp filter narrower than that of other children, in
 * this order, as each closes the door on what the ones before need. */
#include "ir/reader/sandbox.h"

#include "base/confine.h"
#include "base/sanitizer.h"
#include "ir/reader_protocol.h"

#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static int limit(int what, size_t value)
{
    struct rlimit rlimit = {value, value};
    return setrlimit((__rlimit_resource_t)what, &rlimit);
}

/* What remains allowed: writing (to stderr and the answer), memory without PROT_EXEC, threads' waiting,
 * signals to itself, random bytes, the clock and the exit. There is no open, no socket, no exec, and no read:
 * the text is mapped. */
static int filter(void)
{
    static const int allowed[] = {
        SCMP_SYS(write),         SCMP_SYS(pwrite64),     SCMP_SYS(ftruncate),    SCMP_SYS(brk),
        SCMP_SYS(munmap),        SCMP_SYS(mremap),       SCMP_SYS(madvise),      SCMP_SYS(futex),
        SCMP_SYS(exit),          SCMP_SYS(exit_group),   SCMP_SYS(getrandom),    SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(gettid),        SCMP_SYS(getpid),       SCMP_SYS(rt_sigreturn), SCMP_SYS(sched_yield),
        SCMP_SYS(clock_gettime), SCMP_SYS(rt_sigaction),
    };
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int failed = c ? 0 : -1;
    for (unsigned i = 0; !failed && i < sizeof allowed / sizeof *allowed; i++)
        failed = seccomp_rule_add(c, SCMP_ACT_ALLOW, allowed[i], 0);
    if (!failed)
        failed =
            seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (!failed)
        failed = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (!failed) /* raise, abort: to itself only */
        failed = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)getpid()));
    if (!failed)
        failed = seccomp_load(c);
    seccomp_release(c);
    return failed;
}

enum { PROBE_BYTES = 16 << 20 };

/* A process out of address space ends by an exception, an abort, or a fault where the stack could not grow.
 * These look like bugs; the difference is that a request for a little more memory fails as well. */
static void out_of_memory(int signal_number)
{
    void *more = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED)
        _exit(READER_NO_MEMORY);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static int watch_memory(void)
{
    static char stack[64 << 10];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = out_of_memory, .sa_flags = SA_ONSTACK | SA_NODEFER};
    if (SANITIZED)
        return 0;
    return sigaltstack(&own, NULL) || sigaction(SIGSEGV, &action, NULL) || sigaction(SIGBUS, &action, NULL) ||
           sigaction(SIGABRT, &action, NULL);
}

int sandbox_enter(size_t memory_bytes, unsigned cpu_seconds)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits for the answer then */
    if (close_range(READER_ANSWER_FD + 1, ~0u, 0) != 0)
        return -1;
    if (memory_bytes && !SANITIZED && limit(RLIMIT_AS, memory_bytes) != 0)
        return -1;
    /* SIGXCPU at the limit, SIGKILL a second later */
    struct rlimit cpu = {cpu_seconds, cpu_seconds + 1};
    if (setrlimit(RLIMIT_CPU, &cpu) != 0 || limit(RLIMIT_CORE, 0) != 0 || limit(RLIMIT_NPROC, 0) != 0)
        return -1;
    if (memory_bytes && limit(RLIMIT_FSIZE, memory_bytes) != 0)
        return -1;
    if (confine_files(NULL) != 0) /* which needs a descriptor for a moment */
        return -1;
    if (!SANITIZED && limit(RLIMIT_NOFILE, READER_ANSWER_FD + 1) != 0)
        return -1;
    if (watch_memory() != 0)
        return -1;
    return SANITIZED ? 0 : filter(); /* the sanitizers' runtimes open files */
}

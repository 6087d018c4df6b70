/* See confine.h. Landlock is asked for by its system calls: libc has no functions for them. */
#include "base/confine.h"

#include "base/sanitizer.h"

#include <errno.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* landlock_create_ruleset's argument, as of its fourth version; older kernels take its beginning */
struct landlock_rules {
    uint64_t files, network;
};
enum { LANDLOCK_ASK_VERSION = 1 };

static int landlock_version(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_ASK_VERSION);
}

bool confine_landlock(void)
{
    return landlock_version() > 0;
}

/* every right on files that this version of Landlock can take away (13 at first), connecting and
 * listening by TCP. No rule gives any of them back. */
static int landlock(bool *landlocked)
{
    static const int rights[] = {13, 14, 15, 15, 16};
    int version = landlock_version();
    *landlocked = version > 0;
    if (version <= 0)
        return 0; /* a kernel without it, or one where it is switched off */
    struct landlock_rules rules = {.files = (1u << rights[version > 5 ? 4 : version - 1]) - 1,
                                   .network = version >= 4 ? 3 : 0};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules,
                               version >= 4 ? sizeof rules : sizeof rules.files, 0);
    if (ruleset < 0)
        return -1;
    int failed = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return failed;
}

int confine_files(bool *landlocked)
{
    bool have = false;
    struct rlimit none = {0, 0};
    int failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || setrlimit(RLIMIT_CORE, &none) != 0;
    if (!failed && !SANITIZED)
        failed = landlock(&have) != 0;
    if (landlocked)
        *landlocked = have;
    return failed ? -1 : 0;
}

static const int allowed[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(close),
    SCMP_SYS(fcntl),
    SCMP_SYS(ftruncate),
    SCMP_SYS(memfd_create),
    SCMP_SYS(sendto),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(getrandom),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sched_yield),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(nanosleep),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(pause),
    SCMP_SYS(rseq), /* a thread that begins */
    SCMP_SYS(set_robust_list),
};
static const int absent[] = {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(access), SCMP_SYS(readlink),
                             SCMP_SYS(stat)};

int confine_calls(void)
{
    if (SANITIZED)
        return 0;
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int failed = c ? seccomp_attr_set(c, SCMP_FLTATR_CTL_TSYNC, 1) : -1;
    for (unsigned i = 0; !failed && i < sizeof allowed / sizeof *allowed; i++)
        failed = seccomp_rule_add(c, SCMP_ACT_ALLOW, allowed[i], 0);
    for (unsigned i = 0; !failed && i < sizeof absent / sizeof *absent; i++)
        failed = seccomp_rule_add(c, SCMP_ACT_ERRNO(EACCES), absent[i], 0);
    static const int mapping[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
    for (unsigned i = 0; !failed && i < 2; i++)
        failed =
            seccomp_rule_add(c, SCMP_ACT_ALLOW, mapping[i], 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (!failed) /* raise, abort: to itself only */
        failed = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)getpid()));
    if (!failed)
        failed = seccomp_load(c);
    seccomp_release(c);
    return failed ? -1 : 0;
}

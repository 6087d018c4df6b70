/* The child of one slot: started, ended, and what its end means (the task's own fault, its memory limit,
 * or something from outside). Never waits for a child that may live on. See internal.h. */
#include "workers/internal.h"

#include "base/host.h"
#include "base/log.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    SHORT_LIFE_MS = 1000, /* a child that ends sooner did not come to work */
    SHORT_LIVES_FREE = 2, /* from so many in a row on there is a pause, twice as long each time: 0.4 s .. */
    SHORT_LIVES_MAX = 6,  /* .. 6.4 s, then PAUSE_MAX_MS */
    PAUSE_MAX_MS = 8000,
    DYING_MS = 500,
    DYING_TICK_MS = 5,
    PATIENCE_S = 30 /* with a child in the middle of a frame */
};

static long long age_ms(const struct process *process)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - process->started.tv_sec) * 1000LL +
           (now.tv_nsec - process->started.tv_nsec) / 1000000;
}

/* a child that ends at once (no store, no memory to start in) would otherwise be started hundreds of times a
 * second */
static void pause_before(const struct process *process, const atomic_bool *leaving)
{
    int left = process->short_lives < SHORT_LIVES_FREE  ? 0
               : process->short_lives > SHORT_LIVES_MAX ? PAUSE_MAX_MS
                                                        : WORKER_RETRY_MS << (process->short_lives - 1);
    for (; left > 0 && !atomic_load(leaving); left -= WORKER_TICK_MS)
        worker_sleep_ms(WORKER_TICK_MS);
}

enum { KEPT = 8 };

/* nothing of ours: not the passwords and tokens that stand there; slots start their children at the same
 * time */
static char **child_environment(char *kept[KEPT])
{
    static char locale[] = "LC_ALL=C";
    static const char *const sanitizers[] = {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};
    size_t count = 0;
    kept[count++] = locale;
    for (size_t i = 0; SANITIZED && i < sizeof sanitizers / sizeof *sanitizers; i++)
        for (char **at = environ; *at; at++)
            if (count < KEPT - 1 && strncmp(*at, sanitizers[i], strlen(sanitizers[i])) == 0)
                kept[count++] = *at;
    kept[count] = NULL;
    return kept;
}

enum { ASIDE_FD = 10 }; /* above the descriptors that a child is given */

static int spawn(pid_t *pid, const struct worker_options *worker_options, int socket, int blobs)
{
    char memory[24], niceness[16], *environment[KEPT];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    snprintf(memory, sizeof memory, "%lld", (long long)worker_options->memory_bytes);
    snprintf(niceness, sizeof niceness, "%d", worker_options->nice);
    char *argv[] = {"toast-worker", "--child", memory, niceness, NULL};
    sigemptyset(&none);
    sigfillset(&all);
    int aside[] = {fcntl(socket, F_DUPFD_CLOEXEC, ASIDE_FD), fcntl(blobs, F_DUPFD_CLOEXEC, ASIDE_FD)};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, aside[0], WORKER_SOCKET);
    posix_spawn_file_actions_adddup2(&actions, aside[1], WORKER_BLOBS);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0); /* a terminal's ^C is for the supervisor */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int result = aside[0] < 0 || aside[1] < 0 ? errno
                                              : posix_spawn(pid, "/proc/self/exe", &actions, &attributes,
                                                            argv, child_environment(environment));
    for (int i = 0; i < 2; i++)
        if (aside[i] >= 0)
            close(aside[i]);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

static void set_pid(struct process *process, pid_t pid)
{
    pthread_mutex_lock(&process->lock);
    process->pid = pid;
    pthread_mutex_unlock(&process->lock);
}

void process_init(struct process *process)
{
    *process = (struct process){.fd = -1, .blobs = -1};
    pthread_mutex_init(&process->lock, NULL);
}

void process_kill(struct process *process)
{
    pthread_mutex_lock(&process->lock);
    if (process->pid)
        kill(process->pid, SIGKILL);
    pthread_mutex_unlock(&process->lock);
}

void process_start(struct process *process, const struct worker_options *worker_options,
                   const atomic_bool *leaving)
{
    int pair[2] = {-1, -1}, blobs[2] = {-1, -1}, result = 0;
    pid_t pid = 0;
    pause_before(process, leaving);
    process->fd = process->blobs = -1;
    process->broken = false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, blobs) != 0) {
        result = errno;
    } else {
        struct timeval patience = {.tv_sec = PATIENCE_S};
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(blobs[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        result = spawn(&pid, worker_options, pair[1], blobs[1]);
        set_pid(process, result == 0 ? pid : 0);
    }
    for (int i = 0; i < 2; i++) { /* our ends, and the child's */
        int ours = i ? blobs[0] : pair[0], theirs = i ? blobs[1] : pair[1];
        if (theirs >= 0)
            close(theirs);
        if (result == 0)
            *(i ? &process->blobs : &process->fd) = ours;
        else if (ours >= 0)
            close(ours);
    }
    clock_gettime(CLOCK_MONOTONIC, &process->started);
    process->oom_kills = host_oom_kills();
    if (result != 0) {
        log_event("child_not_started", "reason", strerror(result), NULL);
        process->short_lives++;
    }
}

const char *process_verdict_text(enum process_verdict verdict)
{
    static const char *const names[] = {
        [PROCESS_FAULT] = "fault", [PROCESS_LATE] = "time_limit", [PROCESS_MEMORY] = "memory_limit",
        [PROCESS_OOM] = "oom",     [PROCESS_KILLED] = "killed",   [PROCESS_EXIT] = "exit",
        [PROCESS_HOST] = "host",   [PROCESS_BROKEN] = "host"};
    return names[verdict];
}

/* Only what a process does to itself is the task's own; an exit is one of ours (the store's address is wrong,
 * the supervisor is gone). */
static enum process_verdict judge(const struct process *process, int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status) == WORKER_EXIT_MEMORY ? PROCESS_MEMORY : PROCESS_EXIT;
    switch (WTERMSIG(status)) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGSYS:
    case SIGXCPU: return PROCESS_FAULT;
    case SIGKILL: return host_oom_kills() > process->oom_kills ? PROCESS_OOM : PROCESS_KILLED;
    default: return PROCESS_KILLED;
    }
}

/* whether the child has died by itself, or does so in a moment: its connections end before it does */
static bool dies(const struct process *process)
{
    siginfo_t how = {0};
    for (int waited = 0; waited <= DYING_MS; waited += DYING_TICK_MS) {
        if (waitid(P_PID, (id_t)process->pid, &how, WEXITED | WNOWAIT | WNOHANG) == 0 && how.si_pid)
            return true;
        worker_sleep_ms(DYING_TICK_MS);
    }
    return false;
}

struct process_end process_end(struct process *process, bool kill_it)
{
    struct process_end end = {0};
    struct rusage used = {0};
    if (process->fd < 0)
        return end;
    bool ours = process->broken && !dies(process);
    if (kill_it)
        process_kill(process);
    close(process->fd);
    close(process->blobs);
    process->fd = process->blobs = -1;
    while (waitid(P_PID, (id_t)process->pid, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&process->lock); /* the child is dead: waiting for it returns at once */
    while (wait4(process->pid, &end.status, 0, &used) < 0 && errno == EINTR)
        ;
    process->pid = 0;
    pthread_mutex_unlock(&process->lock);
    end.verdict = ours ? PROCESS_BROKEN : judge(process, end.status);
    end.cpu_s = (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    end.resident_bytes = (int64_t)used.ru_maxrss * 1024;
    process->short_lives = age_ms(process) > SHORT_LIFE_MS ? 0 : process->short_lives + 1;
    return end;
}

char *process_end_text(const struct process_end *end)
{
    char *how = end->verdict == PROCESS_LATE  ? mem_strdup("its time limit (--task-limit)")
                : end->verdict == PROCESS_OOM ? mem_strdup("the host's out-of-memory killer")
                : end->verdict == PROCESS_BROKEN
                    ? mem_strdup("its worker, because their connection was broken,")
                : WIFSIGNALED(end->status)
                    ? mem_printf("signal %d (%s)", WTERMSIG(end->status), strsignal(WTERMSIG(end->status)))
                    : mem_printf("exit status %d", WEXITSTATUS(end->status));
    char *text = mem_printf("%s after %.2f s of processor time and %lld MiB", how, end->cpu_s,
                            (long long)(end->resident_bytes >> 20));
    free(how);
    return text;
}

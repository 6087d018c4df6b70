/* Preloaded into every process of the service by syscalls.py: one in so many of its calls that start a
 * process, map, open, write, sync, rename or send fails with an error number that the kernel may give for it.
 *
 *   FAULT_RATES    "worker=200,child=60": one in 200 calls of a worker, in 60 of its children; others none
 *   FAULT_CALLS    "open,fsync": only these (all without it)
 *   FAULT_SEED     begins each process' random numbers, with how many processes there were before it
 *   FAULT_COUNTS   a file of 64-bit numbers, mapped by all: processes begun, then how often each kind's
 *                  calls failed with each error (COUNT below), which syscalls.py reads
 *
 * Children of the service are given no environment: posix_spawn puts these variables there. A process says
 * its kind by its program's name and first argument. Behind a filter of system calls it makes none that the
 * call it stands for does not make (a reader may not even fstat). Static programs would not be reached; there
 * are none. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { SERVER, WHAT_IF, WORKER, CHILD, READER, REDIS, KINDS };
static const char *const kind_names[KINDS] = {"server", "what_if", "worker", "child", "reader", "redis"};
enum call { FORK, MMAP, OPEN, WRITE, FSYNC, RENAME, SEND, CALLS };
static const char *const call_names[CALLS] = {"fork", "mmap", "open", "write", "fsync", "rename", "send"};
enum { ERRNOS = 160, COUNT = 1 + KINDS * CALLS * ERRNOS, VARIABLES = 5 };

static enum kind kind = KINDS; /* KINDS: a process of another program, whose calls do not fail */
static uint64_t rate, seed;
static bool chosen[CALLS];
static _Atomic uint64_t *counts; /* COUNT of them */
static _Atomic uint64_t drawn;
static char *variables[VARIABLES + 1]; /* of the environment: ours and the preload */

/* splitmix64 */
static uint64_t draw(void)
{
    uint64_t bits = seed + (atomic_fetch_add(&drawn, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

/* true: this call is to fail, with errno set to one of the zero-ended list */
static bool fails(enum call call, const int *errors)
{
    int saved = errno;
    if (kind == KINDS || !rate || !chosen[call] || draw() % rate != 0)
        return false;
    size_t count = 0;
    while (errors[count])
        count++;
    errno = count ? errors[draw() % count] : saved;
    if (count && counts)
        atomic_fetch_add(&counts[1 + ((size_t)kind * CALLS + call) * ERRNOS + (size_t)errno], 1);
    return count != 0;
}

static void find_kind(void)
{
    char line[256] = "", *name = line;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : (ssize_t)syscall(SYS_read, fd, line, sizeof line - 2);
    if (fd >= 0)
        syscall(SYS_close, fd);
    const char *first = size > 0 ? line + strlen(line) + 1 : "";
    if (strrchr(line, '/'))
        name = strrchr(line, '/') + 1;
    kind = strcmp(name, "toast-server") == 0        ? strcmp(first, "--what-if") == 0 ? WHAT_IF : SERVER
           : strcmp(name, "toast-worker") == 0      ? strcmp(first, "--child") == 0 ? CHILD : WORKER
           : strcmp(name, "toast-read") == 0        ? READER
           : strncmp(name, "redis-server", 12) == 0 ? REDIS
                                                    : KINDS;
}

static bool named(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : "")
        if (strncmp(at, name, size) == 0 && (at[size] == ',' || at[size] == 0 || at[size] == '='))
            return true;
    return false;
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[VARIABLES] = {"LD_PRELOAD", "FAULT_RATES", "FAULT_CALLS", "FAULT_SEED",
                                                 "FAULT_COUNTS"};
    const char *rates = getenv("FAULT_RATES"), *calls = getenv("FAULT_CALLS"), *path = getenv("FAULT_COUNTS");
    size_t count = 0;
    for (size_t i = 0; i < VARIABLES; i++)
        if (getenv(names[i]) && asprintf(&variables[count], "%s=%s", names[i], getenv(names[i])) >= 0)
            count++;
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED
                       : (void *)syscall(SYS_mmap, NULL, COUNT * sizeof *counts, PROT_READ | PROT_WRITE,
                                         MAP_SHARED, fd, 0);
    if (fd >= 0)
        syscall(SYS_close, fd);
    counts = map == MAP_FAILED ? NULL : map;
    const char *number = getenv("FAULT_SEED");
    seed = (number ? strtoull(number, NULL, 10) : 1) << 32;
    seed += counts ? atomic_fetch_add(&counts[0], 1) : (uint64_t)getpid();
    for (size_t i = 0; i < CALLS; i++)
        chosen[i] = !calls || !*calls || named(calls, call_names[i]);
    find_kind();
    for (const char *at = rates; kind != KINDS && at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : "")
        if (strncmp(at, kind_names[kind], strlen(kind_names[kind])) == 0 &&
            at[strlen(kind_names[kind])] == '=')
            rate = strtoull(at + strlen(kind_names[kind]) + 1, NULL, 10);
}

/* the function that ours stands before */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* ---- starting a process or a thread ---- */

static const int no_process[] = {EAGAIN, ENOMEM, 0}, no_thread[] = {EAGAIN, 0};

/* the child's environment is the caller's and ours; a child made by fork has it anyway */
static int spawn(int (*next)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                             const posix_spawnattr_t *, char *const *, char *const *),
                 pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
    size_t count = 0, mine = 0;
    if (fails(FORK, no_process))
        return errno;
    while (environment[count])
        count++;
    char **both = calloc(count + VARIABLES + 1, sizeof *both);
    if (!both)
        return ENOMEM;
    for (size_t i = 0; i < count; i++)
        both[i] = environment[i];
    for (; variables[mine]; mine++)
        both[count + mine] = variables[mine];
    int result = next(pid, path, actions, attributes, argv, both);
    free(both);
    return result;
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
    return spawn(NEXT(posix_spawn), pid, path, actions, attributes, argv, environment);
}

pid_t fork(void)
{
    return fails(FORK, no_process) ? -1 : NEXT(fork)();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user)
{
    return fails(FORK, no_thread) ? errno : NEXT(pthread_create)(thread, attributes, run, user);
}

/* ---- memory and descriptors ---- */

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    static const int of_file[] = {ENOMEM, ENFILE, 0}, of_memory[] = {ENOMEM, 0};
    if (fails(MMAP, flags & MAP_ANONYMOUS ? of_memory : of_file))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

static const int no_file[] = {EMFILE, ENFILE, ENOMEM, EIO, 0},
                 no_new_file[] = {EMFILE, ENFILE, ENOMEM, EIO, ENOSPC, 0},
                 no_descriptor[] = {EMFILE, ENFILE, ENOMEM, 0};

static bool open_fails(int flags)
{
    return fails(OPEN, flags & O_CREAT ? no_new_file : no_file);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    return open_fails(flags) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}
int openat64(int, const char *, int, ...) __attribute__((alias("openat")));

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    return open_fails(flags) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *, int, ...) __attribute__((alias("open")));

FILE *fopen(const char *path, const char *mode)
{
    return open_fails(*mode == 'r' ? 0 : O_CREAT) ? NULL : NEXT(fopen)(path, mode);
}
FILE *fopen64(const char *, const char *) __attribute__((alias("fopen")));

int mkostemp(char *path, int flags)
{
    return open_fails(O_CREAT) ? -1 : NEXT(mkostemp)(path, flags);
}
int mkostemp64(char *, int) __attribute__((alias("mkostemp")));

int memfd_create(const char *name, unsigned flags)
{
    return fails(OPEN, no_descriptor) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int pipe2(int pair[2], int flags)
{
    return fails(OPEN, no_descriptor) ? -1 : (int)syscall(SYS_pipe2, pair, flags);
}

int socketpair(int domain, int type, int protocol, int pair[2])
{
    return fails(OPEN, no_descriptor) ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, pair);
}

int socket(int domain, int type, int protocol)
{
    return fails(OPEN, no_descriptor) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict size, int flags)
{
    return fails(OPEN, no_descriptor) ? -1 : (int)syscall(SYS_accept4, fd, address, size, flags);
}

int fcntl(int fd, int command, ...)
{
    static const int no_number[] = {EMFILE, 0};
    va_list more;
    va_start(more, command);
    long argument = va_arg(more, long);
    va_end(more);
    bool duplicates = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    return duplicates && fails(OPEN, no_number) ? -1 : (int)syscall(SYS_fcntl, fd, command, argument);
}
int fcntl64(int, int, ...) __attribute__((alias("fcntl")));

/* ---- files ---- */

enum sort { SORT_FILE, SORT_MEMORY, SORT_STREAM };

static enum sort sort_of(int fd)
{
    struct stat st;
    if (kind == READER)
        return SORT_MEMORY;
    if (syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) != 0 || !S_ISREG(st.st_mode))
        return SORT_STREAM;
    return kind == CHILD || kind == WHAT_IF ? SORT_MEMORY : SORT_FILE; /* these hold no others */
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    static const int all[][5] = {{EIO, ENOSPC, EINTR}, {ENOSPC, ENOMEM, EINTR}, {EINTR, ENOMEM}};
    if (fd > STDERR_FILENO && fails(WRITE, all[sort_of(fd)]))
        return -1;
    if (fd > STDERR_FILENO && size > 1 && rate && kind != KINDS && chosen[WRITE] && draw() % rate == 0)
        size = 1 + draw() % (size - 1); /* a short one */
    return (ssize_t)syscall(SYS_write, fd, bytes, size);
}

static const int not_durable[] = {EIO, ENOSPC, 0};

int fsync(int fd)
{
    return fails(FSYNC, not_durable) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails(FSYNC, not_durable) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int rename(const char *from, const char *to)
{
    static const int not_renamed[] = {EIO, ENOSPC, ENOMEM, 0};
    return fails(RENAME, not_renamed) ? -1 : (int)syscall(SYS_rename, from, to);
}

/* ---- connections ---- */

/* A reset ends the connection for both sides. EAGAIN is not given: what waits for the edge that follows it
 * would wait for ever, as no queue was full. */
static bool send_fails(int fd)
{
    static const int outside[] = {EINTR, ECONNRESET, ENOMEM, ENOBUFS, 0},
                     inside[] = {EINTR, ENOMEM, ENOBUFS, 0};
    bool confined = kind == CHILD || kind == WHAT_IF || kind == READER;
    if (!fails(SEND, confined ? inside : outside))
        return false;
    if (errno == ECONNRESET) {
        syscall(SYS_shutdown, fd, SHUT_RDWR);
        errno = ECONNRESET;
    }
    return true;
}

ssize_t sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *address,
               socklen_t length)
{
    return send_fails(fd) ? -1 : (ssize_t)syscall(SYS_sendto, fd, bytes, size, flags, address, length);
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    return send_fails(fd) ? -1 : (ssize_t)syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    return send_fails(fd) ? -1 : (ssize_t)syscall(SYS_sendmsg, fd, message, flags);
}

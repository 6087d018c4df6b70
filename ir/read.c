/* The parent's side of reading text (read.h): starts the sandboxed reader, waits for it, and judges what it
 * left behind (ir/reader_protocol.h).
 *
 *     this process                                    toast-read
 *       memfd: the text           -- descriptor 3 -->   maps it, rewrites, parses, walks
 *       memfd: the answer         <- descriptor 4 --    a program image, or a refusal
 *       memfd: messages           <- 1 and 2 -------    what MLIR or libc print when the child dies
 *
 * The child's answer is untrusted: an image is checked in full (ir_image_open), a refusal is cut to printable
 * text, and a death is judged by evidence (ir/reader_death.h). Never parses StableHLO itself. */
#include "ir/read.h"

#include "base/file.h"
#include "base/host.h"
#include "ir/reader_death.h"
#include "ir/reader_protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* set once, before threads exist */
static const char *reader_program;

void ir_read_program(const char *path)
{
    reader_program = path;
}

struct child {
    int text, answer, messages; /* memfds; -1 */
    size_t size, memory;
    unsigned cpu_seconds;
    int status;
    struct rusage usage;
    bool oom_killed;
};

static enum error_code system_error(struct error *e, const char *what)
{
    /* EIO: a page of the file in memory was swapped out and cannot be had back */
    return error_set(e, host_fault(errno) || errno == EIO ? ERROR_HOST : ERROR_INTERNAL,
                     "the reader could not be started: %s: %s", what, strerror(errno));
}

static int memory_file(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC);
}

static bool fill(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static char *find_program(void)
{
    if (reader_program)
        return mem_strdup(reader_program);
    char *folder = file_program_directory(), *path = mem_printf("%s/toast-read", folder);
    const char *named = getenv("TOAST_READER");
    if (access(path, X_OK) != 0 && named) {
        free(path);
        path = mem_strdup(named);
    }
    if (access(path, X_OK) != 0) { /* tests and benchmarks lie beside bin */
        char *beside = mem_printf("%s/../bin/toast-read", folder);
        if (access(beside, X_OK) == 0) {
            free(path);
            path = beside;
        } else {
            free(beside);
        }
    }
    free(folder);
    return path;
}

/* malloc settings of the child. MLIR makes millions of small objects and hash tables of hundreds of
 * megabytes: huge pages save a fifth of the time on 100 MB of text, no fast bins and 4 MiB at a time from
 * the system save calls. */
#define ALLOCATION "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.mxfast=0:glibc.malloc.top_pad=4194304"

static enum error_code spawn(struct child *child, const char *program, pid_t *pid, struct error *e)
{
    char numbers[3][32];
    snprintf(numbers[0], sizeof numbers[0], "%zu", child->size);
    snprintf(numbers[1], sizeof numbers[1], "%zu", child->memory);
    snprintf(numbers[2], sizeof numbers[2], "%u", child->cpu_seconds);
    char name[] = "toast-read", locale[] = "LC_ALL=C", allocation[] = ALLOCATION;
    char *argv[] = {name, numbers[0], numbers[1], numbers[2], NULL},
         *environment[] = {locale, allocation, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    /* The three descriptors may themselves be 0 to 4: duplicate them above that range first, then into
     * place. */
    int text = fcntl(child->text, F_DUPFD_CLOEXEC, 10), answer = fcntl(child->answer, F_DUPFD_CLOEXEC, 10);
    int messages = fcntl(child->messages, F_DUPFD_CLOEXEC, 10);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, messages, 1);
    posix_spawn_file_actions_adddup2(&actions, messages, 2);
    posix_spawn_file_actions_adddup2(&actions, text, READER_TEXT_FD);
    posix_spawn_file_actions_adddup2(&actions, answer, READER_ANSWER_FD);
    int failed = text < 0 || answer < 0 || messages < 0
                     ? errno
                     : posix_spawn(pid, program, &actions, &attributes, argv, environment);
    close(text);
    close(answer);
    close(messages);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    errno = failed;
    return failed ? system_error(e, program) : ERROR_OK;
}

enum { LOOK_MS = 100 }; /* how late a cancel is noticed */

/* Until the child has ended; true: it was ended here because `limits` said so. */
static bool wait_or_cancel(pid_t pid, const struct ir_read_limits *limits)
{
    int handle = limits->cancelled ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    bool cancelled = false;
    while (handle >= 0 && !cancelled) {
        struct pollfd pollfd = {.fd = handle, .events = POLLIN};
        if (poll(&pollfd, 1, LOOK_MS) > 0)
            break;
        cancelled = limits->cancelled(limits->user);
    }
    if (cancelled)
        kill(pid, SIGKILL);
    if (handle >= 0)
        close(handle);
    return cancelled;
}

static enum error_code run(struct child *child, const char *text, const struct ir_read_limits *limits,
                           struct error *e)
{
    pid_t pid;
    child->text = memory_file("toast-text");
    child->answer = memory_file("toast-image");
    child->messages = memory_file("toast-messages");
    if (child->text < 0 || child->answer < 0 || child->messages < 0)
        return system_error(e, "memfd_create");
    if (!fill(child->text, text, child->size))
        return system_error(e, "memory for the text");
    int64_t oom_kills = host_oom_kills();
    char *program = find_program();
    enum error_code code = spawn(child, program, &pid, e);
    free(program);
    if (code != ERROR_OK)
        return code;
    bool cancelled = wait_or_cancel(pid, limits);
    while (wait4(pid, &child->status, 0, &child->usage) < 0)
        if (errno != EINTR)
            return system_error(e, "wait4");
    child->oom_killed = host_oom_kills() > oom_kills;
    return cancelled ? error_set(e, ERROR_CANCELLED, "reading was told to stop") : ERROR_OK;
}

static enum error_code died(const struct child *child, struct error *e)
{
    char tail[4096];
    off_t end = lseek(child->messages, 0, SEEK_END);
    ssize_t n = pread(child->messages, tail, sizeof tail - 1,
                      end > (off_t)sizeof tail ? end - (off_t)sizeof tail + 1 : 0);
    tail[n > 0 ? n : 0] = 0;
    const struct rusage *usage = &child->usage;
    struct reader_death death = {.status = child->status,
                                 .peak_bytes = (long long)usage->ru_maxrss * 1024,
                                 .oom_killed = child->oom_killed,
                                 .cpu_seconds = child->cpu_seconds,
                                 .memory_bytes = child->memory,
                                 .tail = tail};
    death.cpu_s = (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
                  (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
    return reader_death_judge(&death, e);
}

static enum error_code refused(const struct child *child, struct error *e)
{
    struct reader_refusal reader_refusal;
    if (pread(child->answer, &reader_refusal, sizeof reader_refusal, 0) != (ssize_t)sizeof reader_refusal ||
        memcmp(reader_refusal.magic, READER_REFUSAL_MAGIC, 8) != 0 || reader_refusal.line < 0 ||
        reader_refusal.column < 0 || !memchr(reader_refusal.message, 0, sizeof reader_refusal.message))
        return error_set(e, ERROR_INTERNAL, "the reader's answer is damaged");
    enum error_code code =
        reader_refusal.code == ERROR_UNSUPPORTED_MODULE || reader_refusal.code == ERROR_MODULE_TOO_LARGE
            ? (enum error_code)reader_refusal.code
            : ERROR_INVALID_MODULE;
    for (char *at = reader_refusal.message; *at; at++) /* MLIR quotes the user's text unescaped */
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            *at = *at == '\n' ? ' ' : '?';
    return error_set_at(e, code, reader_refusal.line, reader_refusal.column, "%s", reader_refusal.message);
}

enum error_code ir_read_map(int fd, struct ir_program *out, struct error *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size <= 0)
        return error_set(e, ERROR_INTERNAL, "the reader left no program image");
    void *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        return error_set(e, ERROR_HOST, "no memory to map a program image of %lld bytes",
                         (long long)st.st_size);
    enum error_code code = ir_image_open(image, (size_t)st.st_size, out, e);
    if (code != ERROR_OK)
        munmap(image, (size_t)st.st_size);
    return code;
}

enum error_code ir_read_file(const char *text, size_t size, const struct ir_read_limits *limits, int *image,
                             struct error *e)
{
    struct ir_read_limits read_limits = limits ? *limits : (struct ir_read_limits){0};
    struct child child = {.text = -1, .answer = -1, .messages = -1, .size = size};
    *image = -1;
    if (read_limits.text_bytes == 0)
        read_limits.text_bytes = IR_READ_TEXT_BYTES;
    if (size > read_limits.text_bytes || size >= UINT32_MAX)
        return error_set(e, ERROR_MODULE_TOO_LARGE, "the module has %zu bytes of text; the limit is %zu",
                         size, read_limits.text_bytes);
    child.memory = read_limits.memory_bytes ? read_limits.memory_bytes
                                            : (size_t)IR_READ_MEMORY_BYTES + IR_READ_MEMORY_FACTOR * size;
    child.cpu_seconds =
        read_limits.cpu_seconds ? read_limits.cpu_seconds : IR_READ_CPU_SECONDS + (unsigned)(size >> 20);
    enum error_code code = run(&child, text, &read_limits, e);
    if (code == ERROR_OK) {
        if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == READER_REFUSED)
            code = refused(&child, e);
        else if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0)
            code = died(&child, e);
    }
    if (code == ERROR_OK) {
        *image = child.answer;
        child.answer = -1;
    }
    int fds[] = {child.text, child.answer, child.messages};
    for (unsigned i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return code;
}

enum error_code ir_read(const char *text, size_t size, const struct ir_read_limits *limits,
                        struct ir_program *out, struct error *e)
{
    int image;
    memset(out, 0, sizeof *out);
    enum error_code code = ir_read_file(text, size, limits, &image, e);
    if (code != ERROR_OK)
        return code;
    code = ir_read_map(image, out, e);
    close(image);
    return code;
}

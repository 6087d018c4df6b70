/* label: unit */
/* What a confined process can still do, and what ends it: one child an attempt. */
#include "support.h"

#include "base/confine.h"
#include "base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void nothing(void)
{
}

static void open_file(void)
{
    _exit(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 0 : 1);
}

static void connect_anywhere(void)
{
    _exit(socket(AF_INET, SOCK_STREAM, 0) >= 0);
}

static void start_process(void)
{
    _exit(fork() >= 0);
}

static void run_memory(void)
{
    _exit(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

static void signal_parent(void)
{
    _exit((int)syscall(SYS_tgkill, getppid(), getppid(), 0) == 0);
}

static void signal_itself(void)
{
    signal(SIGUSR1, SIG_IGN);
    _exit(raise(SIGUSR1));
}

static void file_in_memory(void)
{
    int fd = memfd_create("test", 0);
    _exit(fd < 0 || write(fd, "x", 1) != 1);
}

static void privileges(void)
{
    signal(SIGSYS, SIG_DFL);
    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); /* not among what is allowed */
}

static int status_of(void (*attempt)(void))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (confine_files(NULL) != 0 || confine_calls() != 0)
            _exit(99);
        attempt();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_confined(void **state)
{
    (void)state;
    static void (*const allowed[])(void) = {nothing, open_file, signal_itself, file_in_memory};
    static void (*const ended[])(void) = {connect_anywhere, start_process, run_memory, signal_parent,
                                          privileges};
    if (SANITIZED)
        return;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        assert_int_equal(status_of(allowed[i]), 0);
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) {
        int status = status_of(ended[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_confined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

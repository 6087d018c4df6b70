/* label: unit */
/* How the reader's death is judged: by what the kernel has counted, never by the signal alone. This program
 * is its own reader: the text says how it dies. */
#include "support.h"

#include "ir/read.h"
#include "ir/reader_protocol.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static enum error_code read_text(const char *text, const struct ir_read_limits *limits, struct error *e)
{
    struct ir_program program;
    *e = (struct error){0};
    enum error_code code = ir_read(text, strlen(text), limits, &program, e);
    ir_program_release(&program);
    return code;
}

/* nobody's limit was reached: the host ended it, and the text may be read again */
static void test_signals_from_outside(void **state)
{
    (void)state;
    static const char *const outside[] = {"signal 9", "signal 15", "signal 1", "signal 2", "signal 24"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        struct error e;
        assert_int_equal(read_text(outside[i], NULL, &e), ERROR_HOST);
        assert_null(strstr(e.message, "more than"));
    }
}

static void test_own_faults(void **state)
{
    (void)state;
    static const char *const own[] = {"signal 11", "signal 6",  "signal 7", "signal 4",
                                      "signal 8",  "signal 31", "exit 3"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct error e;
        assert_int_equal(read_text(own[i], NULL, &e), ERROR_INTERNAL);
    }
}

static void test_limits_that_were_reached(void **state)
{
    (void)state;
    struct error e;
    struct ir_read_limits second = {.cpu_seconds = 1};
    enum error_code got = read_text("spin", &second, &e);
    if (got != ERROR_RESOURCE)
        print_error("%s\n", e.message);
    assert_int_equal(got, ERROR_RESOURCE);
    assert_non_null(strstr(e.message, "1 s of processor time"));
    assert_int_equal(read_text("spin and signal 9", &second, &e), ERROR_RESOURCE);
    assert_int_equal(read_text("exit 7", NULL, &e), ERROR_RESOURCE);
    assert_non_null(strstr(e.message, "MiB of memory"));
}

/* in place of libc's: the host refuses to write */
static int refused; /* errno; 0: it writes */
ssize_t write(int fd, const void *bytes, size_t size)
{
    if (!refused)
        return syscall(SYS_write, fd, bytes, size);
    errno = refused;
    return -1;
}

static void test_host_refuses_to_write(void **state)
{
    (void)state;
    static const int errors[] = {EIO, ENOMEM, ENOSPC};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct error e;
        refused = errors[i];
        enum error_code code = read_text("exit 0", NULL, &e);
        refused = 0;
        assert_int_equal(code, ERROR_HOST);
    }
}

static void test_host_refuses(void **state)
{
    (void)state;
    struct error e;
    struct rlimit before, few;
    assert_int_equal(read_text("exit 8", NULL, &e), ERROR_HOST);   /* before the text */
    assert_int_equal(read_text("exit 127", NULL, &e), ERROR_HOST); /* the loader */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){3, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    enum error_code code = read_text("exit 0", NULL, &e);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(code, ERROR_HOST);
    assert_non_null(strstr(e.message, "Too many open files"));
    assert_int_equal(error_code_exit_status(ERROR_HOST), 5); /* the same again may succeed */
}

static bool always(void *user)
{
    return ++*(int *)user > 1;
}

static void test_cancelled(void **state)
{
    (void)state;
    struct error e;
    int asked = 0;
    struct ir_read_limits limits = {.cancelled = always, .user = &asked};
    assert_int_equal(read_text("sleep", &limits, &e), ERROR_CANCELLED);
}

static void die(void)
{
    static char text[64];
    memcpy(text, mmap(NULL, 4096, PROT_READ, MAP_SHARED, READER_TEXT_FD, 0), 63);
    const char *number = strpbrk(text, "0123456789");
    if (strncmp(text, "spin", 4) == 0) {
        struct timespec used = {0};
        struct rlimit one = {1, 2};
        setrlimit(RLIMIT_CPU, &one);
        signal(SIGXCPU, number ? SIG_IGN : SIG_DFL);
        while (!number || used.tv_sec < 1)
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    }
    if (strcmp(text, "sleep") == 0)
        for (;;)
            pause();
    if (strstr(text, "signal"))
        kill(getpid(), atoi(number));
    _exit(number ? atoi(number) : 0);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "toast-read") == 0)
        die();
    ir_read_program("/proc/self/exe");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_from_outside),     cmocka_unit_test(test_own_faults),
        cmocka_unit_test(test_limits_that_were_reached), cmocka_unit_test(test_host_refuses),
        cmocka_unit_test(test_host_refuses_to_write),    cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

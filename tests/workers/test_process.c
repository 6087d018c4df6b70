/* label: unit */
/* links: workers */
/* The child of a slot: one thread starts and ends it, another kills it at any moment (a worker that gives
 * up its slots does), and never anybody who has its number after it. The program is its own child. */
#include "support.h"

#include "workers/internal.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 60 };

struct shared {
    struct process child;
    atomic_bool stop;
    atomic_int kills;
};

static void *kill_always(void *user)
{
    struct shared *shared = user;
    while (!atomic_load(&shared->stop)) {
        process_kill(&shared->child);
        atomic_fetch_add(&shared->kills, 1);
        worker_sleep_ms(1);
    }
    return NULL;
}

static void test_killed_while_it_comes_and_goes(void **state)
{
    (void)state;
    const struct worker_options worker_options = {.store = "dir:/nonexistent"};
    const atomic_bool leaving = true; /* no pauses between children that live shortly */
    struct shared shared = {0};
    pthread_t killer;
    process_init(&shared.child);
    assert_int_equal(pthread_create(&killer, NULL, kill_always, &shared), 0);
    for (int i = 0; i < ROUNDS; i++) {
        process_start(&shared.child, &worker_options, &leaving);
        assert_true(shared.child.fd >= 0);
        struct process_end end = process_end(&shared.child, i % 3 == 0);
        assert_int_equal(end.verdict, i % 3 == 0 || WIFSIGNALED(end.status) ? PROCESS_KILLED : PROCESS_EXIT);
        assert_int_equal(shared.child.fd, -1);
        assert_int_equal(shared.child.pid, 0); /* whoever is killed from here on is nobody */
    }
    atomic_store(&shared.stop, true);
    pthread_join(killer, NULL);
    assert_true(atomic_load(&shared.kills) > 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* all were waited for */
}

static void test_killed_child_is_reported(void **state)
{
    (void)state;
    const struct worker_options worker_options = {.store = "dir:/nonexistent"};
    const atomic_bool leaving = true;
    struct process process;
    process_init(&process);
    process_kill(&process); /* there is none */
    process_start(&process, &worker_options, &leaving);
    assert_true(process.fd >= 0 && process.pid > 0);
    process_kill(&process);
    struct process_end end = process_end(&process, false);
    assert_true(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL);
    process_kill(&process);
}

int main(int argc, char **argv)
{
    char byte;
    if (argc > 1 && strcmp(argv[1], "--child") == 0) /* until the supervisor has gone */
        return read(3, &byte, 1) > 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_while_it_comes_and_goes),
        cmocka_unit_test(test_killed_child_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

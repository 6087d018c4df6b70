/* label: service */
/* timeout: 300 */
/* links: workers */
/* Workers with a deterministic toy job (epochs of hashing) against a real Redis: whatever is killed, started
 * or restarted while it runs, the job ends with the same bytes. The program is its own worker: `--worker
 * REDIS STORE THREADS`. */
#include "queue_counter.h"
#include "redis_server.h"

#include "workers/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { EPOCHS = 12, TASKS = 8, TASK_MS = 15 };

/* ---- the toy: state = 32 bytes; task i gives H(state, i) drawn out to `size` bytes; merge gives H(all, in
 * order) ---- */

static enum error_code toy_open(const struct tasks_task *task, void **context, struct error *e)
{
    *context = mem_strdup(queue_field(task->fields, "request"));
    return ERROR_OK;
}

static enum error_code toy_task(const struct tasks_task *task, const char *request, struct tasks_result *out,
                                struct error *e)
{
    struct store_view state;
    struct text bytes = {0};
    uint8_t digest[32];
    enum error_code code = tasks_blob(task, "state", &state, e);
    if (code != ERROR_OK)
        return code;
    size_t size = strstr(request, "large") ? 100000 : 64;
    for (uint32_t round = 0; bytes.size < size; round++) {
        struct sha256 *sha = sha256_create();
        sha256_add(sha, state.bytes, state.size);
        sha256_add(sha, &task->index, sizeof task->index);
        sha256_add(sha, &round, sizeof round);
        sha256_finish(sha, digest);
        text_add_n(&bytes, (char *)digest, sizeof digest);
    }
    store_view_release(&state);
    if (strstr(request, "deaf"))
        sleep(60);
    for (int i = 0; i < TASK_MS; i++) {
        struct timespec ms = {0, 1000000};
        nanosleep(&ms, NULL);
        if (task->stopping(task->user)) {
            text_release(&bytes);
            return error_set(e, ERROR_CANCELLED, "stopped");
        }
    }
    tasks_output_add(out, "delta", "", bytes.at, bytes.size, false);
    return ERROR_OK;
}

static void toy_state(const struct tasks_task *task, struct tasks_result *out)
{
    struct sha256 *sha = sha256_create();
    char *digest = mem_alloc(32);
    sha256_add(sha, task->kind, strlen(task->kind));
    for (uint32_t i = 0; i < task->part_count; i++)
        sha256_add(sha, task->parts[i].bytes, task->parts[i].size);
    sha256_finish(sha, (uint8_t *)digest);
    tasks_output_add(out, "state", "", digest, 32, false);
}

static void toy_next(struct tasks_result *out, const char *kind, uint32_t tasks, uint64_t epoch)
{
    out->kind = kind;
    out->tasks = tasks;
    out->join = "merge";
    out->wrap = "emit";
    out->state = tasks > 1 ? "running" : "finalizing";
    out->rollouts = epoch;
    out->progress = mem_printf("{\"epoch\":%llu}", (unsigned long long)epoch);
}

static enum error_code toy_run(void *context, const struct tasks_task *task, struct tasks_result *out,
                               struct error *e)
{
    const char *request = context;
    uint64_t epoch = (uint64_t)queue_number(task->fields, "rollouts");
    if (strcmp(task->kind, "rollouts") == 0)
        return toy_task(task, request, out, e);
    if (strcmp(task->kind, "emit") == 0) {
        struct store_view state;
        enum error_code code = tasks_blob(task, "state", &state, e);
        if (code != ERROR_OK)
            return code;
        char *bytes = mem_alloc(state.size);
        memcpy(bytes, state.bytes, state.size);
        tasks_output_add(out, "result", "application/octet-stream", bytes, state.size, true);
        store_view_release(&state);
        out->finished = true;
        return ERROR_OK;
    }
    if (strstr(request, "crash"))
        abort();
    if (strstr(request, "refuse"))
        return error_set_at(e, ERROR_INVALID_MODULE, 3, 4, "not a module");
    toy_state(task, out);
    bool more = epoch < (strstr(request, "long") ? 100000 : EPOCHS);
    toy_next(out, more ? "rollouts" : "emit", more ? TASKS : 1, epoch + 1);
    return ERROR_OK;
}

static char *toy_error(const struct error *e)
{
    return mem_printf("{\"code\":\"%s\",\"line\":%d}", error_code_text(e->code), e->line);
}

static const struct tasks_table toy = {"toy 1", toy_open, free, toy_run, toy_error};

/* ---- processes ---- */

struct fixture {
    struct redis_server redis;
    char *store;
    struct queue *queue;
    pid_t workers[32]; /* all that were started, so that a failed test leaves none */
    int worker_count;
};

static pid_t start_worker(struct fixture *fixture, const char *threads)
{
    char *argv[] = {"test", "--worker", fixture->redis.address, fixture->store, (char *)threads, NULL};
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    assert_true(fixture->worker_count < 32);
    fixture->workers[fixture->worker_count++] = pid;
    return pid;
}

static int end_worker(pid_t pid, int signal)
{
    int status;
    kill(pid, signal);
    waitpid(pid, &status, 0);
    return status;
}

static int setup(void **state)
{
    struct fixture *fixture = mem_zalloc(1, sizeof *fixture);
    struct error e;
    redis_server_create(&fixture->redis);
    fixture->store = mem_printf("dir:%s/store", fixture->redis.folder);
    ASSERT_OK(queue_create(fixture->redis.address, &fixture->queue, &e), &e);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < fixture->worker_count; i++)
        /* else it was waited for, or is nobody's child */
        if (waitpid(fixture->workers[i], NULL, WNOHANG) == 0) {
            kill(fixture->workers[i], SIGKILL);
            waitpid(fixture->workers[i], NULL, 0);
        }
    queue_destroy(fixture->queue);
    redis_server_destroy(&fixture->redis);
    free(fixture->store);
    free(fixture);
    return 0;
}

static void submit(struct fixture *fixture, const char *request, char id[QUEUE_ID_SIZE])
{
    struct error e;
    bool existed;
    struct queue_pair fields[] = {{"request", request}};
    struct queue_submission submission = {
        .id = id, .tenant = "default", .first_kind = "read", .fields = fields, .field_count = 1};
    queue_new_id(id);
    ASSERT_OK(queue_submit(fixture->queue, &submission, &existed, &e), &e);
}

/* the job's field once `state` is reached (or, with state NULL, any end); owned */
static char *wait_for(struct fixture *fixture, const char *id, const char *state, const char *field,
                      int seconds)
{
    for (int i = 0; i < seconds * 50; i++) {
        struct queue_fields job;
        if (queue_job(fixture->queue, id, &job, NULL) == ERROR_OK) {
            char *value = mem_strdup(queue_field(&job, field));
            bool there = strcmp(queue_field(&job, "state"), state) == 0;
            bool over = queue_field(&job, "finished")[0] != 0;
            if (over && !there)
                fail_msg("the job ended as %s, not %s", queue_field(&job, "state"), state);
            queue_fields_release(&job);
            if (there)
                return value;
            free(value);
        }
        usleep(20000);
    }
    fail_msg("the job did not reach %s in %d s", state, seconds);
    return NULL;
}

static void wait_epoch(struct fixture *fixture, const char *id, long long epoch)
{
    for (int i = 0; i < 6000; i++) {
        struct queue_fields job;
        if (queue_job(fixture->queue, id, &job, NULL) == ERROR_OK) {
            long long at = queue_number(&job, "rollouts");
            queue_fields_release(&job);
            if (at >= epoch)
                return;
        }
        usleep(10000);
    }
    fail_msg("the job stands still");
}

static char *undisturbed(struct fixture *fixture, const char *request)
{
    char id[QUEUE_ID_SIZE];
    pid_t pid = start_worker(fixture, "1");
    submit(fixture, request, id);
    char *result = wait_for(fixture, id, "succeeded", "a:result", 90);
    assert_true(strlen(result) > 64);
    assert_int_equal(end_worker(pid, SIGTERM), 0);
    return result;
}

/* ---- tests ---- */

static void test_killed_workers(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    char *expected = undisturbed(fixture, "plain");
    pid_t pid = start_worker(fixture, "2"), b = start_worker(fixture, "1");
    submit(fixture, "plain", id);
    wait_epoch(fixture, id, 3);
    /* b holds one: a holds the other */
    for (kill(pid, SIGSTOP); counter(fixture->queue, "leases") < 2; kill(pid, SIGSTOP)) {
        kill(pid, SIGCONT);
        usleep(5000);
    }
    end_worker(pid, SIGKILL); /* its tasks come back when their leases end; b goes on */
    wait_epoch(fixture, id, 4);
    pid = start_worker(fixture, "2"); /* joins in mid-job */
    char *result = wait_for(fixture, id, "succeeded", "a:result", 90);
    assert_string_equal(result, expected);
    assert_true(counter(fixture->queue, "lease_lost") + counter(fixture->queue, "assisted") >=
                1); /* whoever is idle does not wait for the lease */
    assert_int_equal(counter(fixture->queue, "nondeterminism"), 0);
    assert_int_equal(end_worker(pid, SIGTERM), 0);
    assert_int_equal(end_worker(b, SIGTERM), 0);
    assert_int_equal(counter(fixture->queue, "leases"), 0);
    free(result);
    free(expected);
}

static void test_all_leave(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    char *expected = undisturbed(fixture, "large");
    pid_t pid = start_worker(fixture, "2");
    submit(fixture, "large", id);
    for (int i = 0; i < 4; i++) { /* SIGTERM gives tasks back: no lease has to run out */
        wait_epoch(fixture, id, 2 * i + 1);
        assert_int_equal(end_worker(pid, SIGTERM), 0);
        pid = start_worker(fixture, "2");
    }
    char *result = wait_for(fixture, id, "succeeded", "a:result", 90);
    assert_string_equal(result, expected);
    assert_int_equal(counter(fixture->queue, "lease_lost"), 0);
    end_worker(pid, SIGTERM);
    free(result);
    free(expected);
}

static void test_redis_restart(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE];
    char *expected = undisturbed(fixture, "plain");
    pid_t pid = start_worker(fixture, "2");
    submit(fixture, "plain", id);
    for (int i = 0; i < 3; i++) {
        wait_epoch(fixture, id, 3 * i + 1);
        redis_server_kill(&fixture->redis);
        usleep(300000);
        redis_server_start(&fixture->redis);
    }
    char *result = wait_for(fixture, id, "succeeded", "a:result", 90);
    assert_string_equal(result, expected);
    assert_int_equal(counter(fixture->queue, "nondeterminism"), 0);
    end_worker(pid, SIGTERM);
    free(result);
    free(expected);
}

static void test_bad_jobs(void **state)
{
    struct fixture *fixture = *state;
    char refused[QUEUE_ID_SIZE], crashed[QUEUE_ID_SIZE], good[QUEUE_ID_SIZE];
    pid_t pid = start_worker(fixture, "2");
    submit(fixture, "refuse", refused);
    submit(fixture, "crash", crashed);
    submit(fixture, "plain", good);
    char *result = wait_for(fixture, refused, "failed", "error", 60);
    assert_string_equal(result, "{\"code\":\"invalid_module\",\"line\":3}");
    free(result);
    free(wait_for(fixture, good, "succeeded", "a:result", 90));
    result = wait_for(fixture, crashed, "dead", "error", 60);
    assert_non_null(strstr(result, "signal 6"));
    free(result);
    assert_int_equal(counter(fixture->queue, "tasks:read:died"), 3);
    end_worker(pid, SIGTERM);
}

static void test_cancel(void **state)
{
    struct fixture *fixture = *state;
    char id[QUEUE_ID_SIZE], text[32];
    struct error e;
    bool terminal;
    pid_t pid = start_worker(fixture, "2");
    submit(fixture, "long", id);
    wait_epoch(fixture, id, 3);
    ASSERT_OK(queue_cancel(fixture->queue, id, false, text, &terminal, &e), &e);
    char *result = wait_for(fixture, id, "cancelled", "a:result", 4);
    assert_true(strlen(result) > 64); /* the best so far was kept */
    free(result);
    submit(fixture, "long", id);
    wait_epoch(fixture, id, 3);
    ASSERT_OK(queue_cancel(fixture->queue, id, true, text, &terminal, &e), &e);
    result = wait_for(fixture, id, "cancelled", "a:result", 4);
    assert_string_equal(result, "");
    free(result);
    end_worker(pid, SIGTERM);
    /* a task that does not listen is ended, and its thread is free for others */
    pid = start_worker(fixture, "1");
    submit(fixture, "deaf", id);
    wait_epoch(fixture, id, 1);
    usleep(300000);
    ASSERT_OK(queue_cancel(fixture->queue, id, true, text, &terminal, &e), &e);
    submit(fixture, "plain", id);
    free(wait_for(fixture, id, "succeeded", "a:result", 20));
    assert_int_equal(end_worker(pid, SIGTERM), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return worker_child_run(argc, argv, &toy);
    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        struct worker_options worker_options = {.redis = argv[2], .store = argv[3], .threads = atoi(argv[4])};
        return worker_run(&worker_options, &toy);
    }
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_leave, setup, teardown),
        cmocka_unit_test_setup_teardown(test_redis_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

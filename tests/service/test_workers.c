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

static enum error_code toy_open(const struct tasks_task *t, void **context, struct error *e)
{
    *context = mem_strdup(queue_field(t->fields, "request"));
    return ERROR_OK;
}

static enum error_code toy_task(const struct tasks_task *t, const char *request, struct tasks_result *out,
                                struct error *e)
{
    struct store_view state;
    struct text bytes = {0};
    uint8_t digest[32];
    enum error_code code = tasks_blob(t, "state", &state, e);
    if (code != ERROR_OK)
        return code;
    size_t size = strstr(request, "large") ? 100000 : 64;
    for (uint32_t round = 0; bytes.size < size; round++) {
        struct sha256 *s = sha256_create();
        sha256_add(s, state.bytes, state.size);
        sha256_add(s, &t->index, sizeof t->index);
        sha256_add(s, &round, sizeof round);
        sha256_finish(s, digest);
        text_add_n(&bytes, (char *)digest, sizeof digest);
    }
    store_view_release(&state);
    if (strstr(request, "deaf"))
        sleep(60);
    for (int i = 0; i < TASK_MS; i++) {
        struct timespec ms = {0, 1000000};
        nanosleep(&ms, NULL);
        if (t->stopping(t->user)) {
            text_release(&bytes);
            return error_set(e, ERROR_CANCELLED, "stopped");
        }
    }
    tasks_output_add(out, "delta", "", bytes.at, bytes.size, false);
    return ERROR_OK;
}

static void toy_state(const struct tasks_task *t, struct tasks_result *out)
{
    struct sha256 *s = sha256_create();
    char *digest = mem_alloc(32);
    sha256_add(s, t->kind, strlen(t->kind));
    for (uint32_t i = 0; i < t->part_count; i++)
        sha256_add(s, t->parts[i].bytes, t->parts[i].size);
    sha256_finish(s, (uint8_t *)digest);
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

static enum error_code toy_run(void *context, const struct tasks_task *t, struct tasks_result *out,
                               struct error *e)
{
    const char *request = context;
    uint64_t epoch = (uint64_t)queue_number(t->fields, "rollouts");
    if (strcmp(t->kind, "rollouts") == 0)
        return toy_task(t, request, out, e);
    if (strcmp(t->kind, "emit") == 0) {
        struct store_view state;
        enum error_code code = tasks_blob(t, "state", &state, e);
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
    toy_state(t, out);
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
    struct queue *q;
    pid_t workers[32]; /* all that were started, so that a failed test leaves none */
    int worker_count;
};

static pid_t start_worker(struct fixture *f, const char *threads)
{
    char *argv[] = {"test", "--worker", f->redis.address, f->store, (char *)threads, NULL};
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    assert_true(f->worker_count < 32);
    f->workers[f->worker_count++] = pid;
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
    struct fixture *f = mem_zalloc(1, sizeof *f);
    struct error e;
    redis_server_create(&f->redis);
    f->store = mem_printf("dir:%s/store", f->redis.folder);
    ASSERT_OK(queue_create(f->redis.address, &f->q, &e), &e);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < f->worker_count; i++)
        /* else it was waited for, or is nobody's child */
        if (waitpid(f->workers[i], NULL, WNOHANG) == 0) {
            kill(f->workers[i], SIGKILL);
            waitpid(f->workers[i], NULL, 0);
        }
    queue_destroy(f->q);
    redis_server_destroy(&f->redis);
    free(f->store);
    free(f);
    return 0;
}

static void submit(struct fixture *f, const char *request, char id[QUEUE_ID_SIZE])
{
    struct error e;
    bool existed;
    struct queue_pair fields[] = {{"request", request}};
    struct queue_submission s = {
        .id = id, .tenant = "default", .first_kind = "read", .fields = fields, .field_count = 1};
    queue_new_id(id);
    ASSERT_OK(queue_submit(f->q, &s, &existed, &e), &e);
}

/* the job's field once `state` is reached (or, with state NULL, any end); owned */
static char *wait_for(struct fixture *f, const char *id, const char *state, const char *field, int seconds)
{
    for (int i = 0; i < seconds * 50; i++) {
        struct queue_fields job;
        if (queue_job(f->q, id, &job, NULL) == ERROR_OK) {
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

static void wait_epoch(struct fixture *f, const char *id, long long epoch)
{
    for (int i = 0; i < 6000; i++) {
        struct queue_fields job;
        if (queue_job(f->q, id, &job, NULL) == ERROR_OK) {
            long long at = queue_number(&job, "rollouts");
            queue_fields_release(&job);
            if (at >= epoch)
                return;
        }
        usleep(10000);
    }
    fail_msg("the job stands still");
}

static char *undisturbed(struct fixture *f, const char *request)
{
    char id[QUEUE_ID_SIZE];
    pid_t w = start_worker(f, "1");
    submit(f, request, id);
    char *result = wait_for(f, id, "succeeded", "a:result", 90);
    assert_true(strlen(result) > 64);
    assert_int_equal(end_worker(w, SIGTERM), 0);
    return result;
}

/* ---- tests ---- */

static void test_killed_workers(void **state)
{
    struct fixture *f = *state;
    char id[QUEUE_ID_SIZE];
    char *expected = undisturbed(f, "plain");
    pid_t a = start_worker(f, "2"), b = start_worker(f, "1");
    submit(f, "plain", id);
    wait_epoch(f, id, 3);
    /* b holds one: a holds the other */
    for (kill(a, SIGSTOP); counter(f->q, "leases") < 2; kill(a, SIGSTOP)) {
        kill(a, SIGCONT);
        usleep(5000);
    }
    end_worker(a, SIGKILL); /* its tasks come back when their leases end; b goes on */
    wait_epoch(f, id, 4);
    a = start_worker(f, "2"); /* joins in mid-job */
    char *result = wait_for(f, id, "succeeded", "a:result", 90);
    assert_string_equal(result, expected);
    assert_true(counter(f->q, "lease_lost") + counter(f->q, "assisted") >=
                1); /* whoever is idle does not wait for the lease */
    assert_int_equal(counter(f->q, "nondeterminism"), 0);
    assert_int_equal(end_worker(a, SIGTERM), 0);
    assert_int_equal(end_worker(b, SIGTERM), 0);
    assert_int_equal(counter(f->q, "leases"), 0);
    free(result);
    free(expected);
}

static void test_all_leave(void **state)
{
    struct fixture *f = *state;
    char id[QUEUE_ID_SIZE];
    char *expected = undisturbed(f, "large");
    pid_t a = start_worker(f, "2");
    submit(f, "large", id);
    for (int i = 0; i < 4; i++) { /* SIGTERM gives tasks back: no lease has to run out */
        wait_epoch(f, id, 2 * i + 1);
        assert_int_equal(end_worker(a, SIGTERM), 0);
        a = start_worker(f, "2");
    }
    char *result = wait_for(f, id, "succeeded", "a:result", 90);
    assert_string_equal(result, expected);
    assert_int_equal(counter(f->q, "lease_lost"), 0);
    end_worker(a, SIGTERM);
    free(result);
    free(expected);
}

static void test_redis_restart(void **state)
{
    struct fixture *f = *state;
    char id[QUEUE_ID_SIZE];
    char *expected = undisturbed(f, "plain");
    pid_t a = start_worker(f, "2");
    submit(f, "plain", id);
    for (int i = 0; i < 3; i++) {
        wait_epoch(f, id, 3 * i + 1);
        redis_server_kill(&f->redis);
        usleep(300000);
        redis_server_start(&f->redis);
    }
    char *result = wait_for(f, id, "succeeded", "a:result", 90);
    assert_string_equal(result, expected);
    assert_int_equal(counter(f->q, "nondeterminism"), 0);
    end_worker(a, SIGTERM);
    free(result);
    free(expected);
}

static void test_bad_jobs(void **state)
{
    struct fixture *f = *state;
    char refused[QUEUE_ID_SIZE], crashed[QUEUE_ID_SIZE], good[QUEUE_ID_SIZE];
    pid_t a = start_worker(f, "2");
    submit(f, "refuse", refused);
    submit(f, "crash", crashed);
    submit(f, "plain", good);
    char *result = wait_for(f, refused, "failed", "error", 60);
    assert_string_equal(result, "{\"code\":\"invalid_module\",\"line\":3}");
    free(result);
    free(wait_for(f, good, "succeeded", "a:result", 90));
    result = wait_for(f, crashed, "dead", "error", 60);
    assert_non_null(strstr(result, "signal 6"));
    free(result);
    assert_int_equal(counter(f->q, "tasks:read:died"), 3);
    end_worker(a, SIGTERM);
}

static void test_cancel(void **state)
{
    struct fixture *f = *state;
    char id[QUEUE_ID_SIZE], text[32];
    struct error e;
    bool terminal;
    pid_t a = start_worker(f, "2");
    submit(f, "long", id);
    wait_epoch(f, id, 3);
    ASSERT_OK(queue_cancel(f->q, id, false, text, &terminal, &e), &e);
    char *result = wait_for(f, id, "cancelled", "a:result", 4);
    assert_true(strlen(result) > 64); /* the best so far was kept */
    free(result);
    submit(f, "long", id);
    wait_epoch(f, id, 3);
    ASSERT_OK(queue_cancel(f->q, id, true, text, &terminal, &e), &e);
    result = wait_for(f, id, "cancelled", "a:result", 4);
    assert_string_equal(result, "");
    free(result);
    end_worker(a, SIGTERM);
    /* a task that does not listen is ended, and its thread is free for others */
    a = start_worker(f, "1");
    submit(f, "deaf", id);
    wait_epoch(f, id, 1);
    usleep(300000);
    ASSERT_OK(queue_cancel(f->q, id, true, text, &terminal, &e), &e);
    submit(f, "plain", id);
    free(wait_for(f, id, "succeeded", "a:result", 20));
    assert_int_equal(end_worker(a, SIGTERM), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return worker_child_run(argc, argv, &toy);
    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        struct worker_options o = {.redis = argv[2], .store = argv[3], .threads = atoi(argv[4])};
        return worker_run(&o, &toy);
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

/* A worker's supervisor. One thread a slot: claims a task, hands it to the slot's child, reports what came of
 * it; its calls to Redis are idempotent and repeated until Redis answers. One thread beats: leases forward,
 * cancellations back, and takes up what others lost. The main thread waits for SIGTERM. */
#include "workers/worker.h"

#include "base/log.h"
#include "workers/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    BEAT_MS = 2000,
    TICK_MS = 100,
    GRACE_MS = 3000, /* SIGTERM: a task under way may take so long to end; then it is given back */
    RETRY_MS = 200,
    BACKOFF_MS = 1000,
    DEAF_MS =
        2000, /* a child told to stop that does not answer for so long is killed: its task is another's now */
};

struct supervisor;

struct slot {
    struct supervisor *s;
    int index, fd;
    pid_t pid;
    unsigned long tokens;
    struct queue *queue;
    pthread_t thread;
    pthread_mutex_t lock; /* guards member, token, lost: read by the beat */
    char *member, *token; /* NULL: no task */
    bool lost;
};

struct supervisor {
    const struct worker_options *options;
    const struct tasks_table *table;
    char name[96], host[64];
    struct slot *slots;
    atomic_bool stopping, stopped;
    struct timespec stop_at;
};

static void sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static bool leaving(const struct supervisor *s)
{
    return atomic_load(&s->stopping);
}

/* SIGTERM came and the grace is over */
static bool must_leave(const struct supervisor *s)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return leaving(s) &&
           (now.tv_sec - s->stop_at.tv_sec) * 1000 + (now.tv_nsec - s->stop_at.tv_nsec) / 1000000 > GRACE_MS;
}

/* after a failed call to Redis: whether to try again */
static bool again(const struct slot *slot, enum error_code code)
{
    if (code != ERROR_UNAVAILABLE || must_leave(slot->s))
        return false;
    sleep_ms(RETRY_MS);
    return true;
}

/* ---- the child ---- */

static void start_child(struct slot *slot)
{
    struct supervisor *s = slot->s;
    int pair[2];
    char memory[24], niceness[16], store[4096];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    BASE_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    snprintf(memory, sizeof memory, "%lld", (long long)s->options->memory_bytes);
    snprintf(niceness, sizeof niceness, "%d", s->options->nice);
    snprintf(store, sizeof store, "%s", s->options->store);
    char *argv[] = {"toast-worker", "--child", store, memory, niceness, NULL};
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], 3);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0); /* a terminal's ^C is for the supervisor */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int result = posix_spawn(&slot->pid, "/proc/self/exe", &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    slot->fd = pair[0];
    if (result != 0) {
        log_event("child_not_started", "reason", strerror(result), NULL);
        close(slot->fd);
        slot->fd = -1;
        sleep_ms(BACKOFF_MS);
    }
}

/* ends the child (when it has not died by itself) and says how it ended */
static int end_child(struct slot *slot, bool kill_it)
{
    int status = 0;
    if (slot->fd < 0)
        return 0;
    if (kill_it)
        kill(slot->pid, SIGKILL);
    close(slot->fd);
    slot->fd = -1;
    while (waitpid(slot->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Only these ends are the task's own fault; SIGKILL and SIGTERM come from elsewhere and count for nothing. */
static bool own_fault(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status) != 0;
    switch (WTERMSIG(status)) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGSYS:
    case SIGXCPU:
        return true;
    default:
        return false;
    }
}

/* ---- one task ---- */

static char *new_token(struct slot *slot)
{
    return mem_printf("%s#%d.%lu", slot->s->name, slot->index, ++slot->tokens);
}

static void hold(struct slot *slot, const struct queue_task *t)
{
    pthread_mutex_lock(&slot->lock);
    free(slot->member);
    free(slot->token);
    slot->member = t ? mem_strdup(t->member) : NULL;
    slot->token = t ? mem_strdup(t->token) : NULL;
    slot->lost = false;
    pthread_mutex_unlock(&slot->lock);
}

static bool is_lost(struct slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    bool lost = slot->lost;
    pthread_mutex_unlock(&slot->lock);
    return lost;
}

static void give_back(struct slot *slot, const struct queue_task *t)
{
    struct error e;
    while (again(slot, queue_release(slot->queue, t, &e)))
        ;
}

static enum error_code send_task(struct slot *slot, const struct queue_task *t, struct error *e)
{
    struct frame f = {0};
    struct queue_fields parts = {0};
    enum error_code code;
    /* a single task after a step of several is its join; there is nothing to see for others */
    while (again(slot, code = queue_results(slot->queue, t->id, t->epoch, &parts, e)))
        ;
    if (code != ERROR_OK)
        return code;
    frame_add_text(&f, "op", "task");
    frame_add_text(&f, "task-job", t->id);
    frame_add_text(&f, "task-kind", t->kind);
    frame_add_number(&f, "task-epoch", t->epoch);
    frame_add_number(&f, "task-index", t->index);
    frame_add_number(&f, "parts", parts.count);
    for (size_t i = 0; i < parts.count; i++) {
        char name[32];
        snprintf(name, sizeof name, "d:%s", parts.at[i].name);
        frame_add(&f, name, parts.at[i].value, parts.at[i].size);
    }
    for (size_t i = 0; i < t->job.count; i++)
        frame_add(&f, t->job.at[i].name, t->job.at[i].value, t->job.at[i].size);
    code = frame_write(slot->fd, &f, e);
    frame_release(&f);
    queue_fields_release(&parts);
    return code;
}

enum waited { WAITED_ANSWER, WAITED_DEATH, WAITED_LEAVE, WAITED_DEAF };

static void tell_stop(struct slot *slot)
{
    struct frame cancel = {0};
    struct error e;
    frame_add_text(&cancel, "op", "cancel");
    if (frame_write(slot->fd, &cancel, &e) != ERROR_OK)
        log_event("child_gone", "reason", e.message, NULL);
    frame_release(&cancel);
}

/* until the child answers, dies, or we must leave; passes a lost lease on as a cancel */
static enum waited wait_child(struct slot *slot, struct frame *answer)
{
    int told_ms = -1; /* since the child was told to stop */
    for (;;) {
        struct pollfd p = {.fd = slot->fd, .events = POLLIN};
        int ready = poll(&p, 1, TICK_MS);
        if (ready > 0)
            return frame_read(slot->fd, answer, NULL) == ERROR_OK ? WAITED_ANSWER : WAITED_DEATH;
        if (must_leave(slot->s))
            return WAITED_LEAVE;
        if (told_ms >= 0)
            told_ms += TICK_MS;
        if (told_ms > DEAF_MS)
            return WAITED_DEAF;
        if (told_ms < 0 && is_lost(slot)) {
            tell_stop(slot);
            told_ms = 0;
        }
    }
}

static void report_death(struct slot *slot, const struct queue_task *t, int status)
{
    struct error e;
    bool counted = own_fault(status);
    char *how = WIFSIGNALED(status) ? mem_printf("signal %d", WTERMSIG(status))
                                    : mem_printf("exit status %d", WEXITSTATUS(status));
    log_event("child_died", "task", t->member, "how", how, "counted", counted ? "yes" : "no", NULL);
    if (!counted) {
        give_back(slot, t);
    } else {
        char *json = mem_printf(
            "{\"code\":\"internal\",\"message\":\"task %s ended its process three times, last by %s\"}",
            t->kind, how);
        while (again(slot, queue_died(slot->queue, t, json, BACKOFF_MS, &e)))
            ;
        free(json);
    }
    free(how);
}

static struct queue_pair *pairs_of(const struct frame *answer, size_t *count)
{
    struct queue_pair *pairs = mem_zalloc(answer->fields.count + 1, sizeof *pairs);
    *count = 0;
    for (size_t i = 0; i < answer->fields.count; i++) {
        const struct queue_field *f = &answer->fields.at[i];
        if ((f->name[0] == 'a' || f->name[0] == 'b') && f->name[1] == ':')
            pairs[(*count)++] = (struct queue_pair){f->name, f->value};
    }
    return pairs;
}

/* what the child said -> Redis; *found: `next` is a task that came with the answer */
static enum error_code report(struct slot *slot, const struct queue_task *t, const struct frame *answer,
                              struct queue_task *next, bool *found, struct error *e)
{
    const struct queue_fields *f = &answer->fields;
    const char *outcome = queue_field(f, "outcome");
    size_t count;
    bool fenced = false;
    enum error_code code;
    struct queue_pair *pairs = pairs_of(answer, &count);
    char *token = new_token(slot);
    *found = false;
    do {
        if (strcmp(outcome, "done") == 0) {
            size_t size = 0;
            for (size_t i = 0; i < f->count; i++)
                if (strcmp(f->at[i].name, "payload") == 0)
                    size = f->at[i].size;
            code = queue_task_done(slot->queue, t, queue_field(f, "digest"), queue_field(f, "payload"), size,
                                   token, next, found, e);
        } else if (strcmp(outcome, "step") == 0) {
            struct queue_step step = {.kind = queue_field(f, "kind"),
                                      .join = queue_field(f, "join"),
                                      .wrap = queue_field(f, "wrap"),
                                      .tasks = (uint32_t)queue_number(f, "tasks"),
                                      .state = queue_field(f, "state"),
                                      .progress = queue_field(f, "progress"),
                                      .rollouts = (uint64_t)queue_number(f, "rollouts"),
                                      .fields = pairs,
                                      .field_count = count};
            code = queue_commit(slot->queue, t, &step, token, next, found, e);
        } else if (strcmp(outcome, "finish") == 0) {
            code = queue_finish(slot->queue, t, "succeeded", "", queue_field(f, "progress"), pairs, count,
                                &fenced, e);
        } else if (strcmp(outcome, "fail") == 0) {
            code = queue_finish(slot->queue, t, "failed", queue_field(f, "error"), "", NULL, 0, &fenced, e);
        } else { /* cancelled, or the store did not answer: somebody does it again, where that still means
                    something */
            code = queue_release(slot->queue, t, e);
            if (strcmp(outcome, "again") == 0)
                log_event("task_again", "task", t->member, "error", queue_field(f, "error"), NULL);
        }
    } while (again(slot, code));
    if (code == ERROR_OK && (strcmp(outcome, "finish") == 0 || strcmp(outcome, "fail") == 0))
        log_event("job_ended", "job", t->id, "outcome", fenced ? "too late" : outcome, "error",
                  queue_field(f, "error"), NULL);
    if (strcmp(outcome, "again") == 0)
        sleep_ms(RETRY_MS);
    free(token);
    free(pairs);
    return code;
}

/* one task from claim to report; consumes *t and leaves the next in it when one came with the answer */
static bool work(struct slot *slot, struct queue_task *t)
{
    struct error e;
    struct frame answer = {0};
    struct queue_task next = {0};
    bool found = false;
    hold(slot, t);
    if (slot->fd < 0)
        start_child(slot);
    if (slot->fd < 0 || send_task(slot, t, &e) != ERROR_OK) {
        end_child(slot, true);
        give_back(slot, t);
        hold(slot, NULL);
        queue_task_release(t);
        return false;
    }
    switch (wait_child(slot, &answer)) {
    case WAITED_ANSWER:
        if (report(slot, t, &answer, &next, &found, &e) != ERROR_OK)
            log_event("not_reported", "task", t->member, "reason", e.message, NULL);
        break;
    case WAITED_DEATH:
        report_death(slot, t, end_child(slot, false));
        break;
    case WAITED_LEAVE:
        give_back(slot, t);
        break;
    case WAITED_DEAF:
        end_child(slot, true);
        break;
    }
    hold(slot, NULL);
    frame_release(&answer);
    queue_task_release(t);
    *t = next;
    return found;
}

static void *run_slot(void *user)
{
    struct slot *slot = user;
    struct error e;
    struct queue_task t = {0};
    bool found = false, silent = false;
    start_child(slot); /* ready before its first task */
    while (!leaving(slot->s) || found) {
        if (found && leaving(slot->s)) {
            give_back(slot, &t);
            queue_task_release(&t);
            break;
        }
        if (found) {
            found = work(slot, &t);
            continue;
        }
        char *token = new_token(slot);
        enum error_code code = queue_claim(slot->queue, token, slot->s->table->build, &t, &found, &e);
        free(token);
        if (code == ERROR_OK && !found)
            code = queue_wait(slot->queue, 500, &e);
        if (code != ERROR_OK) {
            if (!silent)
                log_event("redis_unavailable", "reason", e.message, NULL);
            sleep_ms(RETRY_MS);
        }
        silent = code != ERROR_OK;
    }
    end_child(slot, true);
    return NULL;
}

/* ---- the heartbeat ---- */

static void beat(struct supervisor *s, struct queue *q)
{
    struct error e;
    int threads = s->options->threads;
    struct queue_lease *leases = mem_zalloc((size_t)threads, sizeof *leases);
    struct slot **owners = mem_zalloc((size_t)threads, sizeof *owners);
    char *copies[2 * WORKER_MAX_THREADS];
    size_t count = 0;
    for (int i = 0; i < threads; i++) {
        struct slot *slot = &s->slots[i];
        pthread_mutex_lock(&slot->lock);
        if (slot->member) {
            copies[2 * count] = mem_strdup(slot->member);
            copies[2 * count + 1] = mem_strdup(slot->token);
            owners[count] = slot;
            leases[count] = (struct queue_lease){copies[2 * count], copies[2 * count + 1], true};
            count++;
        }
        pthread_mutex_unlock(&slot->lock);
    }
    if (queue_beat(q, s->name, s->table->build, s->host, threads, leases, count, &e) == ERROR_OK)
        for (size_t i = 0; i < count; i++) {
            struct slot *slot = owners[i];
            pthread_mutex_lock(&slot->lock);
            if (!leases[i].held && slot->token && strcmp(slot->token, leases[i].token) == 0)
                slot->lost = true;
            pthread_mutex_unlock(&slot->lock);
        }
    for (size_t i = 0; i < 2 * count; i++)
        free(copies[i]);
    free(owners);
    free(leases);
}

static void *run_beat(void *user)
{
    struct supervisor *s = user;
    struct queue *q;
    struct error e;
    if (queue_create(s->options->redis, &q, &e) != ERROR_OK)
        return NULL;
    for (int tick = 0; !atomic_load(&s->stopped); tick++) {
        if (tick % (BEAT_MS / TICK_MS) == 0)
            beat(s, q);
        if (tick % (1000 / TICK_MS) == 5 && queue_reap(q, &e) != ERROR_OK)
            sleep_ms(RETRY_MS);
        sleep_ms(TICK_MS);
    }
    queue_destroy(q);
    return NULL;
}

/* ---- life ---- */

static enum error_code prepare(struct supervisor *s, struct error *e)
{
    unsigned random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (unsigned)time(NULL);
    if (gethostname(s->host, sizeof s->host - 1) != 0)
        snprintf(s->host, sizeof s->host, "unknown");
    snprintf(s->name, sizeof s->name, "%.40s:%d:%08x", s->host, (int)getpid(), random);
    s->slots = mem_zalloc((size_t)s->options->threads, sizeof *s->slots);
    for (int i = 0; i < s->options->threads; i++) {
        s->slots[i] = (struct slot){.s = s, .index = i, .fd = -1};
        pthread_mutex_init(&s->slots[i].lock, NULL);
        enum error_code code = queue_create(s->options->redis, &s->slots[i].queue, e);
        if (code != ERROR_OK)
            return code;
    }
    return ERROR_OK;
}

int worker_run(const struct worker_options *o, const struct tasks_table *table)
{
    struct supervisor s = {.options = o, .table = table};
    struct error e;
    sigset_t ends;
    pthread_t beater;
    int got;
    if (prepare(&s, &e) != ERROR_OK) {
        fprintf(stderr, "toast-worker: %s\n", e.message);
        return error_code_exit_status(e.code);
    }
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    BASE_CHECK(pthread_create(&beater, NULL, run_beat, &s) == 0);
    for (int i = 0; i < o->threads; i++)
        BASE_CHECK(pthread_create(&s.slots[i].thread, NULL, run_slot, &s.slots[i]) == 0);
    log_event("worker_started", "worker", s.name, "build", table->build, NULL);
    sigwait(&ends, &got);
    clock_gettime(CLOCK_MONOTONIC, &s.stop_at);
    atomic_store(&s.stopping, true);
    for (int i = 0; i < o->threads; i++) {
        pthread_join(s.slots[i].thread, NULL);
        queue_destroy(s.slots[i].queue);
    }
    atomic_store(&s.stopped, true);
    pthread_join(beater, NULL);
    free(s.slots);
    log_event("worker_stopped", "worker", s.name, NULL);
    return 0;
}

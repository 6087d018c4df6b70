/* A worker's supervisor. One thread a slot works (slot.c). One thread beats every BEAT_MS: it renews
 * leases, passes on what was cancelled or drained, and gives tasks free that other workers lost. The main
 * thread waits for SIGTERM; 5 s after it the process is gone, whatever hangs. */
#include "workers/internal.h"

#include "base/confine.h"
#include "base/log.h"
#include "base/secret.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BEAT_MS = 2000,  /* a lease lasts 10 s (LEASE_MS in queue/library.lua): four beats may fail */
    REAP_MS = 1000,  /* tasks that nobody holds any more are looked for so often, by every worker */
    REAP_TICK = 5,   /* between two beats, so that the two do not come together */
    GRACE_MS = 3000, /* SIGTERM: a task under way may take so long to end; then it is given back */
    LEAVE_MS = 4500, /* .. and whatever hangs, the worker is gone after 5 s */
    LEAVE_TICK_MS = 2,
};

void worker_sleep_ms(int ms)
{
    struct timespec when = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&when, NULL);
}

bool worker_leaving(const struct supervisor *supervisor)
{
    return atomic_load(&supervisor->stopping);
}

static long long leaving_ms(const struct supervisor *supervisor)
{
    return supervisor->hands->now_ms(supervisor) - supervisor->stop_ms;
}

bool worker_must_leave(const struct supervisor *supervisor)
{
    return worker_leaving(supervisor) && leaving_ms(supervisor) > GRACE_MS;
}

/* ---- the heartbeat ---- */

static void beat(struct supervisor *supervisor, struct queue *queue)
{
    struct error e;
    int threads = supervisor->options->threads;
    struct queue_lease *leases = mem_zalloc((size_t)threads, sizeof *leases);
    struct slot **owners = mem_zalloc((size_t)threads, sizeof *owners);
    char *copies[2 * WORKER_MAX_THREADS];
    size_t count = 0;
    bool drain = false;
    for (int i = 0; i < threads; i++) {
        struct slot *slot = &supervisor->slots[i];
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
    if (queue_beat(queue, supervisor->name, supervisor->table->build, supervisor->host, threads, leases,
                   count, &drain, &e) == ERROR_OK) {
        if (atomic_exchange(&supervisor->draining, drain) != drain)
            log_event(drain ? "draining" : "taking_tasks", "worker", supervisor->name, NULL);
        for (size_t i = 0; i < count; i++) {
            struct slot *slot = owners[i];
            pthread_mutex_lock(&slot->lock);
            if (!leases[i].held && slot->token && strcmp(slot->token, leases[i].token) == 0)
                slot->lost = true;
            pthread_mutex_unlock(&slot->lock);
        }
    }
    for (size_t i = 0; i < 2 * count; i++)
        free(copies[i]);
    free(owners);
    free(leases);
}

static bool beats(int tick)
{
    return tick % (BEAT_MS / WORKER_TICK_MS) == 0;
}

static bool reaps(int tick)
{
    return tick % (REAP_MS / WORKER_TICK_MS) == REAP_TICK;
}

int worker_tick(struct supervisor *supervisor, struct queue *queue, int tick, struct error *e)
{
    int ticks = 1;
    e->code = ERROR_OK;
    if (beats(tick))
        beat(supervisor, queue);
    if (reaps(tick))
        e->code = queue_reap(queue, e);
    while (!beats(tick + ticks) && !reaps(tick + ticks))
        ticks++;
    return ticks;
}

static void *run_beat(void *user)
{
    struct supervisor *supervisor = user;
    struct queue *queue;
    struct error e;
    if (queue_create(supervisor->options->redis, &queue, &e) != ERROR_OK)
        return NULL;
    for (int tick = 0; !atomic_load(&supervisor->stopped);) {
        int next = tick + worker_tick(supervisor, queue, tick, &e);
        if (e.code != ERROR_OK)
            worker_sleep_ms(WORKER_RETRY_MS);
        for (; tick < next && !atomic_load(&supervisor->stopped); tick++)
            worker_sleep_ms(WORKER_TICK_MS);
    }
    queue_destroy(queue);
    return NULL;
}

/* a slot's thread, until the worker leaves */
static void *run_slot(void *user)
{
    struct slot *slot = user;
    struct supervisor *supervisor = slot->supervisor;
    supervisor->hands->ready(slot); /* before its first task */
    while (!worker_leaving(supervisor) || !slot_idle(slot)) {
        int pause_ms = slot_step(slot);
        if (pause_ms)
            worker_sleep_ms(pause_ms);
    }
    supervisor->hands->end(slot);
    atomic_store(&slot->ended, true);
    return NULL;
}

/* ---- life ---- */

static enum error_code prepare(struct supervisor *supervisor, struct error *e)
{
    unsigned random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (unsigned)time(NULL);
    if (gethostname(supervisor->host, sizeof supervisor->host - 1) != 0)
        snprintf(supervisor->host, sizeof supervisor->host, "unknown");
    snprintf(supervisor->name, sizeof supervisor->name, "%.40s:%d:%08x", supervisor->host, (int)getpid(),
             random);
    char *token;
    TRY(secret_read("TOAST_WORKER_TOKEN", &token, e));
    struct store_options store = {.cache_folder = getenv("TOAST_CACHE"),
                                  .cache_bytes = supervisor->options->cache_bytes,
                                  .token = token};
    enum error_code created = store_create(supervisor->options->store, &store, &supervisor->store, e);
    free(token);
    TRY(created);
    supervisor->slots = mem_zalloc((size_t)supervisor->options->threads, sizeof *supervisor->slots);
    for (int i = 0; i < supervisor->options->threads; i++) {
        slot_init(&supervisor->slots[i], supervisor, i);
        enum error_code code = queue_create(supervisor->options->redis, &supervisor->slots[i].queue, e);
        if (code != ERROR_OK)
            return code;
    }
    return ERROR_OK;
}

/* false: a slot does not come back in time; its child is ended */
static bool join_slots(struct supervisor *supervisor)
{
    bool all = true;
    for (int i = 0; i < supervisor->options->threads; i++) {
        struct slot *slot = &supervisor->slots[i];
        while (!atomic_load(&slot->ended) && leaving_ms(supervisor) < LEAVE_MS)
            worker_sleep_ms(LEAVE_TICK_MS);
        if (atomic_load(&slot->ended)) {
            pthread_join(slot->thread, NULL);
            continue;
        }
        process_kill(&slot->child);
        all = false;
    }
    return all;
}

int worker_run(const struct worker_options *worker_options, const struct tasks_table *table)
{
    struct supervisor supervisor = {.options = worker_options, .table = table, .hands = &worker_hands};
    struct error e;
    sigset_t ends;
    pthread_t beater;
    int got;
    umask(077); /* modules and plans are for nobody else on this machine */
    if (prepare(&supervisor, &e) != ERROR_OK) {
        fprintf(stderr, "toast-worker: %s\n", e.message);
        return error_code_exit_status(e.code);
    }
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    BASE_CHECK(pthread_create(&beater, NULL, run_beat, &supervisor) == 0);
    for (int i = 0; i < worker_options->threads; i++)
        BASE_CHECK(pthread_create(&supervisor.slots[i].thread, NULL, run_slot, &supervisor.slots[i]) == 0);
    log_event("worker_started", "worker", supervisor.name, "build", table->build, "landlock",
              confine_landlock() ? "yes" : "not in this kernel", NULL);
    sigwait(&ends, &got);
    supervisor.stop_ms = supervisor.hands->now_ms(&supervisor);
    atomic_store(&supervisor.stopping, true);
    if (!join_slots(&supervisor)) { /* Redis hangs in the middle of a call: leases will run out */
        log_event("worker_stopped", "worker", supervisor.name, "reason",
                  "tasks could not be given back in time", NULL);
        _exit(0);
    }
    atomic_store(&supervisor.stopped, true);
    pthread_join(beater, NULL);
    for (int i = 0; i < worker_options->threads; i++)
        slot_release(&supervisor.slots[i]);
    free(supervisor.slots);
    store_destroy(supervisor.store);
    log_event("worker_stopped", "worker", supervisor.name, NULL);
    return 0;
}

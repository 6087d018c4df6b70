/* A worker process of the simulation: the slot and the heartbeat that ship (workers/slot.c, supervisor.c),
 * whose hands reach into the simulated world. The child is the answerer that ships over simulated work;
 * what befalls it is decided when it is given its task. */
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TASK_LIMIT_S = 30,
    LOST_TICK_MS = 100,
    LOOK_MS = 2000,
    DOORBELL_MS = 300,
    IDLE_LOOK_MS = 5000,
    IDLE_BEAT_MS = 2500,
    CALM_LOOK_MS = 40000,
    CALM_BEAT_MS = 20000
};

/* ---- hands ---- */

static struct worker *worker_of(const struct slot *slot)
{
    return slot->hand;
}

static long long now_ms(const struct supervisor *supervisor)
{
    const struct worker *worker = supervisor->world;
    return worker->world->mono_ms;
}

static uint32_t random_number(struct slot *slot)
{
    return choose(&worker_of(slot)->world->choices, 4) << 14;
}

static bool ready(struct slot *slot)
{
    return !choose_rarely(&worker_of(slot)->world->choices, 60); /* no process to be had */
}

/* what earlier steps left, where they left anything, is lost */
static void lose_blob(struct world *world, const struct frame *task)
{
    static const char *const names[] = {"b:snapshot", "b:session", "b:image", "b:network"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (memory_store_lose(world->store, queue_field(&task->fields, names[i]))) {
            world->lost_blobs++;
            tell(world, "  blob %s of %s is lost", names[i], queue_field(&task->fields, "task-job"));
            return;
        }
}

static enum fate choose_fate(struct world *world, const struct job *job, const struct frame *task)
{
    static const enum fate rare[] = {FATE_DIES,     FATE_IS_KILLED, FATE_IS_KILLED,
                                     FATE_HANGS,    FATE_IS_DEAF,   FATE_REJECTS,
                                     FATE_NO_STORE, FATE_NO_HOST,   FATE_OUT_OF_MEMORY};
    enum { OFTEN = 30, RARE = sizeof rare / sizeof *rare };
    if (job && job->poison && strcmp(queue_field(&task->fields, "task-kind"), job->poison_kind) == 0)
        return job->poison;
    uint32_t number = choose(&world->choices, OFTEN + RARE + 1);
    if (number == OFTEN + RARE)
        lose_blob(world, task);
    if (number < OFTEN || number == OFTEN + RARE)
        return FATE_DOES;
    enum fate fate = rare[number - OFTEN];
    bool ends_job = fate == FATE_REJECTS || fate == FATE_OUT_OF_MEMORY;
    return ends_job && choose(&world->choices, 3) ? FATE_DOES : fate;
}

static enum error_code send_frame(struct slot *slot, const struct frame *frame, struct error *e)
{
    static const int often_ms[] = {20, 40, 100, 300, 300, 1000, 3000, 9000};
    struct worker *worker = worker_of(slot);
    struct world *world = worker->world;
    struct child *child = &worker->child;
    if (strcmp(queue_field(&frame->fields, "op"), "cancel") == 0) {
        child->told = true;
        return ERROR_OK;
    }
    frame_release(&child->task);
    for (size_t i = 0; i < frame->fields.count; i++)
        frame_add(&child->task, frame->fields.at[i].name, frame->fields.at[i].value,
                  frame->fields.at[i].size);
    child->busy = true;
    child->told = false;
    child->fate = choose_fate(world, job_of(world, slot->task.id), frame);
    child->done_ms = world->mono_ms + often_ms[choose(&world->choices, 8)];
    static const char *const fates[] = {"",
                                        ", its child will die",
                                        ", its child will be killed",
                                        ", its child hangs",
                                        ", its child is deaf",
                                        ", which it rejects",
                                        ", but has no store",
                                        ", but its host fails",
                                        ", which takes its memory"};
    tell(world, "%s has %s%s", worker->supervisor.name, slot->task.member, fates[child->fate]);
    return ERROR_OK;
}

static bool stopping(void *user)
{
    const struct child *child = user;
    return child->told;
}

static enum hand_event look(struct slot *slot, struct frame *answer)
{
    struct worker *worker = worker_of(slot);
    struct child *child = &worker->child;
    bool stops = child->told && child->fate != FATE_IS_DEAF;
    bool never = child->fate == FATE_HANGS || child->fate == FATE_IS_DEAF;
    if (!stops && (never || worker->world->mono_ms < child->done_ms))
        return HAND_BUSY;
    child->busy = false;
    bool dies =
        child->fate == FATE_DIES || child->fate == FATE_IS_KILLED || child->fate == FATE_OUT_OF_MEMORY;
    if (!stops && dies)
        return HAND_DEATH;
    work_fails(child->fate == FATE_REJECTS    ? ERROR_INVALID_REQUEST
               : child->fate == FATE_NO_STORE ? ERROR_UNAVAILABLE
               : child->fate == FATE_NO_HOST  ? ERROR_HOST
                                              : ERROR_OK);
    *answer = (struct frame){0};
    answer_task(&child->answerer, &child->task, answer);
    work_fails(ERROR_OK);
    return HAND_ANSWER;
}

static struct process_end end_child(struct slot *slot)
{
    struct worker *worker = worker_of(slot);
    static const enum process_verdict by_host[] = {PROCESS_KILLED, PROCESS_OOM, PROCESS_EXIT, PROCESS_BROKEN};
    struct child *child = &worker->child;
    child->busy = false;
    enum process_verdict verdict = child->fate == FATE_IS_KILLED ? by_host[choose(&worker->world->choices, 4)]
                                   : child->fate == FATE_OUT_OF_MEMORY ? PROCESS_MEMORY
                                                                       : PROCESS_FAULT;
    return (struct process_end){.verdict = verdict, .status = SIGSEGV};
}

static const struct worker_hands hands = {now_ms, random_number, ready, send_frame, look, end_child};

/* ---- life ---- */

void worker_begin(struct world *world, struct worker *worker)
{
    struct error e;
    worker->world = world;
    worker->options = (struct worker_options){
        .redis = "unix:simulated", .threads = 1, .task_limit_s = TASK_LIMIT_S, .memory_bytes = 1 << 30};
    worker->supervisor = (struct supervisor){.options = &worker->options,
                                             .table = work_table(worker->build),
                                             .hands = &hands,
                                             .world = worker,
                                             .host = "host",
                                             .slots = &worker->slot,
                                             .store = world->store};
    snprintf(worker->supervisor.name, sizeof worker->supervisor.name, "w%d.%d", worker->number,
             ++worker->generation);
    slot_init(&worker->slot, &worker->supervisor, 0);
    worker->slot.hand = worker;
    worker->child = (struct child){.answerer = {.table = worker->supervisor.table,
                                                .store = world->store,
                                                .stopping = stopping,
                                                .user = &worker->child}};
    worker->tick = 0;
    worker->slot_ms = worker->beat_ms = world->mono_ms;
    worker->paused_ms = 0;
    worker->idle_at = ~0ull;
    if (queue_create(worker->options.redis, &worker->slot.queue, &e) != ERROR_OK ||
        queue_create(worker->options.redis, &worker->beat_queue, &e) != ERROR_OK)
        abort();
}

void worker_end(struct worker *worker)
{
    slot_release(&worker->slot);
    queue_destroy(worker->beat_queue);
    frame_release(&worker->child.task);
    answerer_release(&worker->child.answerer);
}

long long worker_due(const struct worker *worker, bool beat)
{
    long long due = beat ? worker->beat_ms : worker->slot_ms;
    /* who has no task is late as a rule: it would find nothing twice a second, and renew nothing */
    bool calm = choices_over(&worker->world->choices);
    if (beat && worker->slot.phase == SLOT_FREE)
        due += calm ? CALM_BEAT_MS : IDLE_BEAT_MS;
    if (!beat && worker->slot.phase == SLOT_FREE && worker->idle_at == worker->world->changes)
        due += calm ? CALM_LOOK_MS : IDLE_LOOK_MS;
    return due > worker->paused_ms ? due : worker->paused_ms;
}

static void slot_act(struct worker *worker)
{
    struct world *world = worker->world;
    struct slot *slot = &worker->slot;
    if (slot_idle(slot) && worker_leaving(&worker->supervisor)) {
        tell(world, "%s has left", worker->supervisor.name);
        worker_end(worker);
        worker_begin(world, worker);
        return;
    }
    int pause_ms = slot_step(slot);
    worker->slot_ms = world->mono_ms + pause_ms;
    worker->idle_at = slot->phase == SLOT_FREE && slot->idle > 1 ? world->changes : ~0ull;
    if (slot->phase == SLOT_FREE && slot->idle > 0)
        worker->slot_ms += DOORBELL_MS; /* it waited for the doorbell in vain */
    if (slot->phase != SLOT_WORKING)
        return;
    bool hurry = slot->told_ms || slot_lost(slot) || worker_leaving(&worker->supervisor);
    long long next = world->mono_ms + (hurry ? LOST_TICK_MS : LOOK_MS);
    bool never = worker->child.fate == FATE_HANGS || worker->child.fate == FATE_IS_DEAF;
    worker->slot_ms = never || worker->child.done_ms > next ? next : worker->child.done_ms;
}

void worker_act(struct worker *worker, bool beat)
{
    struct error e;
    if (!beat) {
        slot_act(worker);
        return;
    }
    int ticks = worker_tick(&worker->supervisor, worker->beat_queue, worker->tick, &e);
    worker->tick += ticks;
    worker->beat_ms = worker->world->mono_ms + (long long)ticks * WORKER_TICK_MS;
    if (slot_lost(&worker->slot) && worker->slot_ms > worker->world->mono_ms + LOST_TICK_MS)
        worker->slot_ms = worker->world->mono_ms + LOST_TICK_MS;
}

/* A referee of the simulation: what comes over HTTP (server/resources/referee.c) as the calls of
 * queue/referee.h. It claims, beats, and says what it found, or that its attempt is lost, or is gone. */
#include "world.h"

#include "queue/referee.h"

#include <stdio.h>

enum { LOOK_MS = 3000, BEAT_MS = 2000 };

static const struct queue_referee who = {.worker = "referee", .names = {"xla_cpu"}, .count = 1};

static void let_go(struct referee *referee)
{
    queue_task_release(&referee->task);
    referee->has = false;
}

static void begin(struct world *world, struct referee *referee)
{
    struct error e;
    char token[32];
    snprintf(token, sizeof token, "referee%d.%d", referee->generation, referee->tokens + 1);
    referee->due_ms = world->mono_ms + LOOK_MS;
    if (queue_referee_claim(referee->queue, &who, token, &referee->task, &referee->has, &e) != ERROR_OK)
        return; /* the same token again */
    referee->tokens++;
    if (!referee->has)
        return;
    referee->done_ms = world->mono_ms + 100 + 1500 * (long long)choose(&world->choices, 6);
    referee->due_ms = world->mono_ms + 100;
    tell(world, "the referee has %s", referee->task.member);
}

static void end(struct world *world, struct referee *referee)
{
    struct error e;
    char digest[STORE_DIGEST_SIZE];
    bool late = false;
    enum error_code code = ERROR_OK;
    uint32_t how = choose(&world->choices, 8);
    if (how == 7) {
        tell(world, "the referee is gone");
        referee->generation++; /* the next one is another slot */
    } else if (how >= 5) {
        code = queue_died(referee->queue, &referee->task, "{\"code\":\"host_fault\"}", "host", 0, &e);
    } else {
        if (store_put(world->store, "judged", 6, digest, &e) == ERROR_OK)
            code = queue_referee_done(referee->queue, &referee->task, digest, &late, &e);
        tell(world, "the referee says what it found: %s",
             code != ERROR_OK ? "no answer"
             : late           ? "too late"
                              : "yes");
    }
    referee->due_ms = world->mono_ms + (how == 7 ? 10 * LOOK_MS : LOOK_MS / 10);
    if (code != ERROR_UNAVAILABLE)
        let_go(referee);
}

void referee_act(struct world *world)
{
    struct referee *referee = &world->referee;
    struct error e;
    bool held = true;
    if (!referee->has) {
        begin(world, referee);
    } else if (world->mono_ms >= referee->done_ms) {
        end(world, referee);
    } else {
        enum error_code code = queue_referee_beat(referee->queue, &who, &referee->task, &held, &e);
        referee->due_ms = world->mono_ms + BEAT_MS;
        if (referee->due_ms > referee->done_ms)
            referee->due_ms = referee->done_ms;
        if (code == ERROR_OK && !held)
            let_go(referee);
    }
}

void referee_begin(struct world *world)
{
    struct error e;
    if (queue_create("unix:simulated", &world->referee.queue, &e) != ERROR_OK)
        world->referee.queue = NULL;
}

void referee_end(struct world *world)
{
    let_go(&world->referee);
    queue_destroy(world->referee.queue);
}

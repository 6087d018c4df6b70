/* See run.h. The scheduler: at each step whoever is due earliest goes on, or anybody else (then the others
 * are late); time passes to when that one was due; and mischief may be done. When the choices are over
 * nothing unusual happens any more, and the world must come to rest. */
#include "run.h"

#include "base/sanitizer.h"
#include "engine.h"
#include "look.h"

#include <stdlib.h>
#include <string.h>

enum {
    CALM_STEPS = 4000,
    DEADLINE_GRANTS_MS = 5000 + 4 * 2800, /* grace; what one server is late */
    ACTORS = 2 * WORKERS + 2 * SERVERS + 2
};

/* what the linker gives the code that ships: nobody reads its log, and the audit need not wait */
void __wrap_log_event(const char *event, ...);
void __wrap_log_event(const char *event, ...)
{
}
int __wrap_usleep(unsigned us);
int __wrap_usleep(unsigned us)
{
    return 0;
}

/* ---- who goes on ---- */

struct actor {
    enum { SLOT, BEAT, HOUSE, JANITOR, REFEREE, CLIENT } kind;
    int number;
    long long due_ms;
};

static int actors_of(struct world *world, struct actor *out)
{
    int count = 0;
    for (int i = 0; i < world->worker_count; i++) {
        out[count++] = (struct actor){SLOT, i, worker_due(&world->workers[i], false)};
        out[count++] = (struct actor){BEAT, i, worker_due(&world->workers[i], true)};
    }
    /* in the end one server keeps house alone */
    for (int i = 0; i < (choices_over(&world->choices) ? 1 : world->server_count); i++) {
        out[count++] = (struct actor){HOUSE, i, world->servers[i].house_ms};
        out[count++] = (struct actor){JANITOR, i, world->servers[i].janitor_ms};
    }
    if (world->referees || world->referee.has)
        out[count++] = (struct actor){REFEREE, 0, world->referee.due_ms};
    if (!world->job_count || !choices_over(&world->choices))
        out[count++] = (struct actor){CLIENT, 0, world->client_ms};
    return count;
}

static struct actor next_actor(struct world *world)
{
    struct actor actors[ACTORS];
    int count = actors_of(world, actors);
    struct actor first = actors[0];
    for (int i = 1; i < count; i++)
        if (actors[i].due_ms < first.due_ms)
            first = actors[i];
    if (!world->job_count)
        return actors[count - 1]; /* a client begins */
    return choose(&world->choices, 6) < 5 ? first : actors[choose(&world->choices, (uint32_t)count)];
}

static void act(struct world *world, const struct actor *actor)
{
    switch (actor->kind) {
    case SLOT:
    case BEAT: worker_act(&world->workers[actor->number], actor->kind == BEAT); break;
    case HOUSE:
    case JANITOR: server_act(world, &world->servers[actor->number], actor->kind == JANITOR); break;
    case REFEREE: referee_act(world); break;
    case CLIENT: client_act(world); break;
    }
}

/* as if it had not waited for its turn; never the same thread, whose calls come one after the other */
void world_interrupt(struct world *world)
{
    struct actor actors[ACTORS];
    if (!world->acting || world->nested || !choose_rarely(&world->choices, 30))
        return;
    int count = actors_of(world, actors);
    struct actor other = actors[choose(&world->choices, (uint32_t)count)];
    const struct worker *worker = other.kind <= BEAT ? &world->workers[other.number] : NULL;
    /* one that leaves may take the process with it that is at work */
    if ((worker && (worker->paused_ms > world->mono_ms || worker_leaving(&worker->supervisor))) ||
        ((int)other.kind == world->actor_kind && other.number == world->actor_number))
        return;
    world->nested = true;
    advance(world, 1);
    tell(world, "  meanwhile:");
    act(world, &other);
    world->nested = false;
}

/* ---- mischief ---- */

static void kill_worker(struct world *world, struct worker *worker)
{
    tell(world, "%s is killed", worker->supervisor.name);
    if (choose_rarely(&world->choices, 8))
        worker->build = !worker->build; /* and started again as another build */
    worker_end(worker);
    worker_begin(world, worker);
}

static void stop_worker(struct world *world, struct worker *worker)
{
    static const int often_ms[] = {1000, 3000, 9000, 25000};
    worker->paused_ms = world->mono_ms + often_ms[choose(&world->choices, 4)];
    tell(world, "%s is stopped for %.0f s", worker->supervisor.name,
         (double)(worker->paused_ms - world->mono_ms) * 1e-3);
}

static void end_worker(struct world *world, struct worker *worker)
{
    if (worker_leaving(&worker->supervisor))
        return;
    tell(world, "%s is told to leave", worker->supervisor.name);
    worker->supervisor.stop_ms = world->mono_ms;
    atomic_store(&worker->supervisor.stopping, true);
}

static void jump_clock(struct world *world)
{
    static const long long often_ms[] = {5000, -5000, 60000, -60000, 3600000, -3600000};
    jump(world, often_ms[choose(&world->choices, 6)]);
}

static void deliver(struct world *world)
{
    if (!wire_late_count())
        return;
    tell(world, "a late request arrives");
    wire_deliver(choose(&world->choices, (uint32_t)wire_late_count()));
}

/* at most once, and never where the clock was set: the log is read back by its times */
static void lose(struct world *world)
{
    if (!world->loses)
        return;
    world->loses = false;
    int64_t since_us = world->now_us - 50000 * (1 + (int64_t)choose(&world->choices, 20));
    size_t lost = wire_lose(since_us);
    world->away_ms = world->mono_ms + 300;
    tell(world, "Redis ends and is without its last %zu calls", lost);
    judge_go_back(world);
    judge_attach(world);
}

static void drain(struct world *world, struct worker *worker, bool drains)
{
    struct error e;
    bool known;
    if (queue_drain(world->client, worker->supervisor.name, drains, &known, &e) == ERROR_OK)
        tell(world, "%s %s tasks", worker->supervisor.name, drains ? "is to take no more" : "may take");
}

static void mischief(struct world *world)
{
    enum { QUIET = 80 };
    struct worker *worker = &world->workers[choose(&world->choices, (uint32_t)world->worker_count)];
    switch (choose(&world->choices, QUIET + 12)) {
    case QUIET:
    case QUIET + 1: kill_worker(world, worker); break;
    case QUIET + 2: stop_worker(world, worker); break;
    case QUIET + 3: end_worker(world, worker); break;
    case QUIET + 4:
        if (!world->loses)
            jump_clock(world);
        break;
    case QUIET + 5:
        world->away_ms = world->mono_ms + 500 * (1 + (long long)choose(&world->choices, 40));
        break;
    case QUIET + 6:
    case QUIET + 7:
    case QUIET + 8:
    case QUIET + 9: deliver(world); break;
    case QUIET + 10:
        if (world->loses)
            lose(world);
        else
            drain(world, worker, true);
        break;
    case QUIET + 11:
        if (world->loses)
            lose(world);
        else
            drain(world, worker, false);
        break;
    default: break;
    }
}

static void act_alone(struct world *world, const struct actor *actor)
{
    world->acting = true;
    world->actor_kind = (int)actor->kind;
    world->actor_number = actor->number;
    act(world, actor);
    world->acting = false;
}

static void step(struct world *world)
{
    static const int late_ms[] = {200, 2000, 8000, 15000};
    struct actor actor = next_actor(world);
    long long wait_ms = actor.due_ms > world->mono_ms ? actor.due_ms - world->mono_ms : 1;
    if (choose_rarely(&world->choices, 40))
        wait_ms += late_ms[choose(&world->choices, 4)];
    advance(world, wait_ms);
    if (!choices_over(&world->choices))
        mischief(world);
    if (actor.kind > BEAT || world->workers[actor.number].paused_ms <= world->mono_ms)
        act_alone(world, &actor);
    world->steps++;
}

/* ---- a run ---- */

static struct world *world_create(void)
{
    struct world *world = mem_zalloc(1, sizeof *world);
    world->store = memory_store_create();
    world->now_us = 1700000000000000;
    advance(world, 0);
    engine_flush();
    return world;
}

static void world_begin(struct world *world)
{
    struct error e;
    world->worker_count = 2 + (int)choose(&world->choices, WORKERS - 1);
    world->server_count = 1 + (int)choose(&world->choices, SERVERS);
    world->quick = choose(&world->choices, 4) == 3;
    world->loses = choose(&world->choices, 6) == 5;
    for (int i = 0; i < world->worker_count; i++) {
        world->workers[i].number = i + 1;
        worker_begin(world, &world->workers[i]);
    }
    for (int i = 0; i < world->server_count; i++) {
        world->servers[i].house_ms = 400 + 250 * i;
        world->servers[i].janitor_ms = 2000 + 2000 * i;
        if (queue_create("unix:simulated", &world->servers[i].house, &e) != ERROR_OK ||
            queue_create("unix:simulated", &world->servers[i].janitor, &e) != ERROR_OK)
            abort();
    }
    if (queue_create("unix:simulated", &world->client, &e) != ERROR_OK)
        abort();
    referee_begin(world);
    judge_attach(world);
}

static void world_destroy(struct world *world)
{
    wire_attach(NULL);
    for (int i = 0; i < world->worker_count; i++)
        worker_end(&world->workers[i]);
    for (int i = 0; i < world->server_count; i++) {
        queue_destroy(world->servers[i].house);
        queue_destroy(world->servers[i].janitor);
    }
    referee_end(world);
    queue_destroy(world->client);
    store_destroy(world->store);
    VEC_FREE(&world->choices.list);
    free(world);
}

/* a deadline bounds everything, and this world has waited for longer than any and what it grants */
static void judge_deadlines(struct world *world, long long calm_ms)
{
    for (int i = 0; i < world->job_count; i++) {
        const struct job *job = &world->jobs[i];
        bool late = job->deadline_ms && world->mono_ms > calm_ms + job->deadline_ms + DEADLINE_GRANTS_MS;
        if (late && !world->jumped && job->seen.present && !job->seen.gone && !look_terminal(job->seen.state))
            blame(world, "%s is %s long after its deadline", job->id, job->seen.state);
    }
}

/* the trouble is over: whatever is late arrives, whoever was stopped goes on at its time */
static void settle(struct world *world)
{
    tell(world, "from here on nothing goes wrong");
    long long calm_ms = world->mono_ms;
    world->away_ms = 0;
    while (wire_late_count() && !world->failure[0])
        wire_deliver(0);
    for (int i = 0; i < world->worker_count && !world->failure[0]; i++)
        drain(world, &world->workers[i], false);
    for (int i = 0; i < CALM_STEPS && !world->failure[0]; i++) {
        if (judge_at_rest(world))
            return;
        step(world);
        judge_deadlines(world, calm_ms);
    }
    for (int i = 0; i < world->job_count && !world->failure[0]; i++)
        if (world->jobs[i].seen.present && !judge_at_rest(world))
            blame(world, "%s does not end: it is %s, step %lld %s", world->jobs[i].id,
                  world->jobs[i].seen.state, world->jobs[i].seen.epoch, world->jobs[i].seen.kind);
}

static void run(struct world *world, struct run_report *out)
{
    world_begin(world);
    do
        step(world);
    while (!choices_over(&world->choices) && !world->failure[0]);
    if (!world->failure[0])
        settle(world);
    if (!world->failure[0])
        judge_end(world);
    engine_compare();
    *out = (struct run_report){.failed = world->failure[0] != 0,
                               .story = world->story ? world->story : mem_strdup(""),
                               .steps = world->steps,
                               .virtual_ms = world->mono_ms};
    memcpy(out->failure, world->failure, sizeof out->failure);
    out->list = world->choices.list;
    world->choices.list = (choice_list){0};
    world_destroy(world);
}

void run_seed(uint64_t seed, bool telling, struct run_report *out)
{
    struct world *world = world_create();
    world->telling = telling;
    world->choices.state = seed * 0x9e3779b97f4a7c15u;
    /* most are short: what goes wrong late goes wrong early with other choices */
    world->choices.most = 80u << (choices_random(&world->choices) % 16 / 5);
    run(world, out);
}

void run_list(const choice_list *list, bool telling, struct run_report *out)
{
    struct world *world = world_create();
    world->telling = telling;
    world->choices.replay = true;
    for (size_t i = 0; i < list->count; i++)
        VEC_PUSH(&world->choices.list, list->at[i]);
    run(world, out);
}

void run_report_release(struct run_report *report)
{
    free(report->story);
    VEC_FREE(&report->list);
    *report = (struct run_report){0};
}

struct searching {
    struct run_search *search;
    long long next;
};

static void search_lane(int lane, void *user)
{
    struct searching *searching = user;
    struct run_search *search = searching->search;
    while (!search->failing && searching->next < search->count &&
           (!search->go_on || search->go_on(search->user))) {
        uint64_t seed = search->first + (uint64_t)searching->next++;
        struct run_report report;
        run_seed(seed, false, &report);
        search->done++;
        search->steps += report.steps;
        search->virtual_ms += report.virtual_ms;
        if (report.failed && (!search->failing || seed < search->failing))
            search->failing = seed;
        run_report_release(&report);
    }
}

void run_search(struct run_search *search)
{
    struct searching searching = {.search = search};
    if (SANITIZED) /* they know nothing of lanes */
        search_lane(0, &searching);
    else
        engine_run(ENGINE_LANES, search_lane, &searching);
}

static bool still_fails(const choice_list *list, void *user)
{
    struct run_report report;
    run_list(list, false, &report);
    bool failed = report.failed;
    run_report_release(&report);
    return failed;
}

void run_shrink(struct run_report *report, int runs)
{
    choice_list list = report->list;
    report->list = (choice_list){0};
    run_report_release(report);
    choices_shrink(&list, still_fails, NULL, runs);
    run_list(&list, true, report);
    VEC_FREE(&list);
}

/* ---- planted bugs ---- */

void run_prepare(const struct wire_plant *plant)
{
    struct queue *queue;
    struct error e;
    wire_plant(plant);
    if (queue_create("unix:simulated", &queue, &e) != ERROR_OK || queue_reap(queue, &e) != ERROR_OK)
        engine_die("the library does not run: %s", e.message);
    queue_destroy(queue);
}

const struct wire_plant run_plants[] = {
    {"fence",
     "if call('HGET', P .. 'k:' .. id .. ':' .. epoch, 'o:' .. index) ~= token then return nil, job end", ""},
    {"lease", "local mine = who[1] == args[i + 1] and call('ZSCORE', P .. 'lease', args[i])",
     "local mine = who[1] and call('ZSCORE', P .. 'lease', args[i])"},
    {"twice", "    if before then\n        local again = resume(job, next_token)",
     "    if before and before ~= digest then\n        local again = resume(job, next_token)"},
    {"event", "event(job, 'retry', job.kind)", "call('HINCRBY', P .. 'j:' .. job.id, 'ver', 1)"},
    {"cap", "(own and TASK_DEATHS or TASK_HOST_DEATHS)", "(own and 1000 or TASK_HOST_DEATHS)"},
};
const int run_plant_count = sizeof run_plants / sizeof *run_plants;

const struct wire_plant *run_plant(const char *name)
{
    for (int i = 0; i < run_plant_count; i++)
        if (strcmp(run_plants[i].name, name) == 0)
            return &run_plants[i];
    return NULL;
}

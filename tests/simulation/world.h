/* The simulated world: virtual time, one Redis, worker processes and servers as the state machines that
 * ship, clients, and the jobs with what the judge has seen of each. Everything is decided by struct
 * choices; nothing waits, nothing looks at a real clock. run.h moves it. */
#ifndef TOAST_TESTS_SIMULATION_WORLD_H
#define TOAST_TESTS_SIMULATION_WORLD_H

#include "choices.h"
#include "memory_store.h"
#include "wire.h"
#include "work.h"

#include "queue/events.h"
#include "queue/queue.h"
#include "workers/internal.h"

enum { JOBS = 3, WORKERS = 3, SERVERS = 2, STORY_MAX = 1 << 16, DEATHS = 24, SEEN = 64, GIVEN = 32 };

/* What the child of a slot will do with its task; 0 is to do it. */
enum fate {
    FATE_DOES,
    FATE_DIES,
    FATE_IS_KILLED,
    FATE_HANGS,
    FATE_IS_DEAF,
    FATE_REJECTS,
    FATE_NO_STORE,
    FATE_NO_HOST,
    FATE_OUT_OF_MEMORY
};

struct child {
    struct frame task;
    bool busy, told;
    long long done_ms;
    enum fate fate;
    struct answerer answerer;
};

/* one worker process of one slot; a crash makes another */
struct worker {
    struct world *world;
    struct supervisor supervisor;
    struct worker_options options;
    struct slot slot;
    struct child child;
    struct queue *beat_queue;
    int number, generation, build, tick;
    long long slot_ms, beat_ms; /* when it goes on */
    long long paused_ms;        /* until then it is stopped */
    unsigned long long idle_at; /* changes of the world when it last found nothing */
};

struct server {
    struct queue *house, *janitor; /* of two threads */
    long long house_ms, janitor_ms;
    bool set; /* its settings were made */
};

struct referee { /* one, beside the workers */
    struct queue *queue;
    struct queue_task task; /* while it has one */
    bool has;
    int generation, tokens;
    long long due_ms, done_ms;
};

struct job_seen { /* as Redis has it after a call */
    bool present, archived, gone;
    char state[16], stop[12], retried[32], artifact[STORE_DIGEST_SIZE], kind[16], error[200];
    long long version, attempt, fence, epoch, done, tasks;
};
struct job {
    char id[QUEUE_ID_SIZE], tenant[8], module[STORE_DIGEST_SIZE], request[STORE_DIGEST_SIZE], key[16],
        name[16], print[16];
    struct work_shape shape;
    enum fate poison; /* of every child that gets its .. */
    char poison_kind[16];
    long long deadline_ms;
    int seconds_ms;
    bool fails_late; /* on_deadline */
    bool submitted, acknowledged, deleted;
    struct job_seen seen;
    int lives;
    char lived_by[32]; /* token of the retry that began this life */
    struct {           /* deaths by its own fault, of one task */
        char member[96];
        int count;
    } deaths[DEATHS];
    int death_count;
    struct queue_event_id follow; /* where its follower is */
    long long followed[SEEN];     /* versions of events that it was sent */
    int followed_count;
};

struct world {
    struct choices choices;
    struct wire_world wire;
    int64_t now_us;    /* Redis' clock, which jumps */
    long long mono_ms; /* everybody's clock that does not */
    long long away_ms; /* until then Redis cannot be reached */
    struct store *store;
    struct worker workers[WORKERS];
    int worker_count;
    struct server servers[SERVERS];
    int server_count, job_count, steps, lost_blobs;
    struct job jobs[JOBS];
    struct referee referee;
    struct queue *client;
    bool acting; /* somebody is at work: */
    int actor_kind, actor_number;
    bool nested; /* somebody works between two calls of another */
    long long client_ms;
    struct given { /* what claims were given lately */
        char token[48], member[96];
    } given[GIVEN];
    int given_count;
    bool referees;              /* a job wants one, and one looks for work */
    bool jumped;                /* Redis' clock was set */
    bool loses;                 /* Redis may lose what it did last, once */
    bool lost;                  /* .. and has */
    bool quick;                 /* ended jobs are archived and forgotten soon */
    unsigned long long changes; /* calls that changed anything, about */
    char failure[512];          /* "": none yet */
    bool telling;
    char *story; /* of a world that is told of; owned */
    size_t told;
};

void __attribute__((format(printf, 2, 3))) tell(struct world *world, const char *format, ...);
/* the first one counts */
void __attribute__((format(printf, 2, 3))) blame(struct world *world, const char *format, ...);
/* time passes for everybody */
void advance(struct world *world, long long ms);
void jump(struct world *world, long long ms); /* for Redis' clock alone */
struct job *job_of(struct world *world, const char *id);

/* ---- run.c ---- */
/* between two calls of the actor at work: another one may come in between */
void world_interrupt(struct world *world);

/* ---- worker.c ---- */
void worker_begin(struct world *world, struct worker *worker);
void worker_end(struct worker *worker); /* at once: kill -9 */
long long worker_due(const struct worker *worker, bool beat);
void worker_act(struct worker *worker, bool beat);

/* ---- client.c ---- */
void client_act(struct world *world);
void server_act(struct world *world, struct server *server, bool janitor);

/* ---- referee.c ---- */
void referee_begin(struct world *world);
void referee_end(struct world *world);
void referee_act(struct world *world);

/* ---- judge.c ---- */
void judge_attach(struct world *world); /* calls are seen from now on */
/* Redis went back to an earlier state, so do the judge's notes. What was acknowledged and is gone was
 * lost. */
void judge_go_back(struct world *world);
bool judge_at_rest(const struct world *world);
void judge_audit(struct world *world); /* at any time */
void judge_end(struct world *world);   /* when everything has come to rest */

#endif

/* Inside a worker: supervisor.c (life, heartbeat) and slot.c (one task after the other), which have no clock
 * and no process of their own but go through struct worker_hands; hand.c, process.c and lend.c, which are
 * those hands; and answer.c, what a child makes of a task. */
#ifndef TOAST_WORKERS_INTERNAL_H
#define TOAST_WORKERS_INTERNAL_H

#include "workers/frame.h"
#include "workers/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

enum {
    WORKER_TICK_MS = 100,    /* how late a thread may notice a lost lease or SIGTERM */
    WORKER_RETRY_MS = 200,   /* until Redis, the store or a child is tried again */
    WORKER_SOCKET = 3,       /* a child's end of the socket pair that tasks go through */
    WORKER_BLOBS = 4,        /* and of the one that blobs go through (store/lent.h) */
    WORKER_EXIT_MEMORY = 86, /* exit status of a child that came to its memory limit */
};

/* ---- process.c ---- */

/* Its slot's thread's own, but for process_kill. */
struct process {
    int fd;    /* our end of the socket pair; -1: no child */
    int blobs; /* our end of the other one */
    /* guards pid: once a child was waited for, its number may be another process's, not to be killed */
    pthread_mutex_t lock;
    pid_t pid; /* 0: there is none, or it was waited for */
    /* a connection ended, or carried what is no message: a death of its own is waited for a moment */
    bool broken;
    struct timespec started;
    int64_t oom_kills; /* host_oom_kills at its start */
    int short_lives;   /* children in a row that ended within a second of their start */
};
/* Why an attempt was lost, as the queue counts it (queue_died); process_verdict_text gives its names. */
enum process_verdict {
    PROCESS_FAULT,  /* SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGXCPU: the task's own */
    PROCESS_LATE,   /* ended by us: over its time limit; the task's own, too */
    PROCESS_MEMORY, /* came to its memory limit */
    PROCESS_OOM,    /* SIGKILL while the host's out-of-memory killer struck */
    PROCESS_KILLED, /* another signal from elsewhere */
    PROCESS_EXIT,   /* an exit: no store, no memory to start in */
    PROCESS_HOST,   /* it lives, but said that the host refused what it needs */
    PROCESS_BROKEN, /* ended by us, alive: nothing could be sent to it, or what it sent was no message */
};
const char *process_verdict_text(enum process_verdict verdict);
struct process_end {
    enum process_verdict verdict;
    int status; /* as waitpid gives it */
    double cpu_s;
    int64_t resident_bytes; /* at most */
};
void process_init(struct process *process);
/* p->fd stays -1 when there is no starting it (logged). A child that keeps ending at once is started more and
 * more slowly; the pause ends early when *leaving is set. */
void process_start(struct process *process, const struct worker_options *worker_options,
                   const atomic_bool *leaving);
/* Ends the child (when it has not died by itself) and says how it ended. */
struct process_end process_end(struct process *process, bool kill_it);
/* Ends the child where there is one; from any thread, beside all of the above. */
void process_kill(struct process *process);
/* "signal 11 (Segmentation fault) after 1.20 s of processor time and 35 MiB"; owned */
char *process_end_text(const struct process_end *end);

/* ---- what slots and the heartbeat need of the world ---- */

struct supervisor;
struct slot;

enum hand_event {
    HAND_BUSY, /* nothing yet; the call may have waited WORKER_TICK_MS */
    HAND_ANSWER,
    HAND_DEATH, /* the child is gone, or sends what is no answer: it is to be ended */
};
/* hand.c has a worker's; tests/simulation has those of a world without time. `slot` is borrowed. */
struct worker_hands {
    long long (*now_ms)(const struct supervisor *supervisor); /* a clock that nobody sets */
    uint32_t (*random)(struct slot *slot);
    bool (*ready)(struct slot *slot); /* the slot has a child, which was started if need be (else logged) */
    enum error_code (*send)(struct slot *slot, const struct frame *frame, struct error *e); /* to it */
    enum hand_event (*look)(struct slot *slot, struct frame *answer);
    struct process_end (*end)(struct slot *slot); /* of the child, as of process_end */
};
extern const struct worker_hands worker_hands;

/* ---- lend.c ---- */

/* What the child may see while it works on a task: the blobs that the task's fields and parts name. */
struct lend {
    struct slot *slot;
    const struct queue_task *task;
    struct queue_fields parts; /* what the tasks of the step before left; owned */
    long long began_ms;
};
/* the task has taken longer than --task-limit */
bool lend_late(const struct lend *lend);
/* Answers the message that the child's socket for blobs has. ERROR_UNAVAILABLE: the child is to be ended. */
enum error_code lend_answer(struct lend *lend, struct error *e) BASE_CHECKED;

/* ---- slot.c ---- */

/*  FREE --found--> GIVEN --held--> SENDING --> WORKING --answer, death--> REPORTING --> FREE, or GIVEN with
 *                    |               |                                    |    ^        what came with it
 *                    +---- resting --+-- no child, no parts --------------+----+ */
enum slot_phase {
    SLOT_FREE,
    SLOT_GIVEN,     /* a task that nobody beats for */
    SLOT_SENDING,   /* held; its child does not have it yet */
    SLOT_WORKING,   /* its child has it */
    SLOT_REPORTING, /* Redis is told, until it answers */
};
enum slot_report { SLOT_REPORT_ANSWER, SLOT_REPORT_DEATH, SLOT_REPORT_BACK };

/* Made by slot_init, moved by slot_step. */
struct slot {
    struct supervisor *supervisor;
    int index;
    struct process child; /* hand.c's */
    void *hand;           /* of another's hands; not used here */
    unsigned long tokens;
    struct queue *queue;
    struct store *store; /* what its child sees of it: lend.c */
    pthread_t thread;
    atomic_bool ended;    /* the thread is done with all of this */
    pthread_mutex_t lock; /* guards member, token, lost: read by the beat */
    char *member, *token; /* NULL: no task */
    bool lost;
    char tenant[64]; /* whose task was the last; "" at first */

    enum slot_phase phase;
    struct queue_task task; /* but in FREE */
    struct lend lend;       /* SENDING, WORKING */
    long long told_ms;      /* WORKING: when the child was told to stop; 0: it was not */
    enum slot_report what;  /* REPORTING */
    struct frame answer;    /* .. an answer; owned */
    struct process_end end; /* .. a death */
    char *next_token;       /* .. the same for each try: what came with a lost reply comes again */
    int idle;               /* FREE: looks in a row that found nothing */
    bool silent;            /* FREE: Redis was away at the last one */
    char *claim_token;      /* FREE: of a claim that Redis has not answered; owned */
};

void slot_init(struct slot *slot, struct supervisor *supervisor, int index);
void slot_release(struct slot *slot);
/* Does what comes next, at most one change of Redis' data; -> ms until the next step. */
int slot_step(struct slot *slot);
/* it has no task, and cannot have been given one */
bool slot_idle(const struct slot *slot);
/* the lease of the slot's task is gone; from any thread */
bool slot_lost(struct slot *slot);

/* ---- supervisor.c ---- */

struct supervisor {
    const struct worker_options *options;
    const struct tasks_table *table;
    const struct worker_hands *hands;
    void *world; /* of the hands */
    char name[96], host[64];
    struct slot *slots;
    struct store *store; /* of all slots; children are lent its blobs */
    atomic_bool stopping, stopped, draining;
    long long stop_ms; /* when stopping was set */
};

void worker_sleep_ms(int ms);
/* SIGTERM came */
bool worker_leaving(const struct supervisor *supervisor);
/* .. and the time to end tasks in is over */
bool worker_must_leave(const struct supervisor *supervisor);
/* The heartbeat's tick number `tick`, from 0: beats or reaps. -> ticks of WORKER_TICK_MS until the next one
 * that does; e->code: why expired leases were not looked for, or ERROR_OK */
int worker_tick(struct supervisor *supervisor, struct queue *queue, int tick, struct error *e);

/* ---- answer.c ---- */

enum { ANSWER_CONTEXTS = 2 }; /* jobs whose parsed state is kept */
struct answerer {
    const struct tasks_table *table;
    struct store *store;
    bool (*stopping)(void *user); /* the task at hand is to be left */
    void *user;
    struct answerer_kept {
        char job[QUEUE_ID_SIZE];
        void *context; /* NULL: none */
        uint64_t used;
    } kept[ANSWER_CONTEXTS];
    uint64_t clock;
};
/* The task in `frame`, as a slot sends it, is done; *answer (zeroed, owned) is what the slot is sent. */
void answer_task(struct answerer *answerer, const struct frame *frame, struct frame *answer);
void answerer_release(struct answerer *answerer);

#endif

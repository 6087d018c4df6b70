/* The search over one model: two logical workers through a schedule of phases, exchanging at their ends. */
#ifndef TOAST_CFN_SEARCH_H
#define TOAST_CFN_SEARCH_H

#include "cfn/worker.h"

#include <pthread.h>

enum cfn_technique {
    CFN_WITHOUT_DUAL = 1, /* no multipliers, no bound beyond the start's */
    CFN_WITHOUT_LNS = 2,
    CFN_WITHOUT_CROSSOVER = 4,
    CFN_WITHOUT_REDUCTION = 8, /* only consistency and memory pruning */
    CFN_WITHOUT_BRANCH = 16,   /* no branch and bound on small remainders */
    CFN_WITHOUT_PROVE = 32,    /* no branch and bound under multipliers */
    CFN_WITHOUT_DIVES = 64,
    CFN_WITHOUT_GOING_ON = 128,   /* dual phases end where there is nothing to move, after four passes */
    CFN_WITHOUT_IMPLIED = 256,    /* times that others imply stay */
    CFN_WITHOUT_FIXING = 512,     /* no values are left out by what a pass certifies of each */
    CFN_WITHOUT_WIDE = 1024,      /* neighbourhood search frees forests only */
    CFN_WITHOUT_CLUSTERS = 2048,  /* bounds are of links alone */
    CFN_WITHOUT_CLEARING = 4096,  /* points with forbidden entries are dropped */
    CFN_WITHOUT_CONFLICTS = 8192, /* bounds know of usage by its price alone */
    CFN_WITHOUT_LIKELY = 16384,   /* moves are always among all values */
};

enum cfn_method {
    CFN_METHOD_SEARCH, /* this file */
    CFN_METHOD_UCR,    /* ucr.h */
};

struct cfn_budget {
    uint64_t units; /* a unit is 2^20 table entries, per worker; 0: not limited */
    double seconds; /* by `clock`; 0: not limited. When units is 0 phases are measured out in time */
    double (*clock)(void *user);   /* seconds since the start of it all; needed when seconds > 0 */
    bool (*cancelled)(void *user); /* may be NULL; asked from both threads */
    /* a new best answer, or a higher bound of the same; INT64_MIN: none yet. Calls never overlap; may be
     * NULL */
    void (*progress)(void *user, int64_t cost, int64_t bound);
    void *user;
    int threads; /* 1 or 2 */
    uint64_t seed;
    enum cfn_method method;
    unsigned without; /* a sum of enum cfn_technique */
};

struct cfn_found {
    int32_t *values; /* of the problem's nodes; owned; NULL: none */
    int64_t cost;    /* as the model has it; the referee decides */
    int64_t bound;   /* certified for the network of the model; INT64_MIN when none */
    uint64_t units;  /* spent by each worker */
    bool cut;        /* by the clock or cancelled: not reproducible */
};

/* Where the search is in its schedule (search.c). */
enum cfn_part {
    CFN_PART_FIRST,
    CFN_PART_START,
    CFN_PART_DUAL,
    CFN_PART_TIGHTEN,
    CFN_PART_BRANCH,
    CFN_PART_DIVE,
    CFN_PART_LNS,
    CFN_PART_CROSS,
    CFN_PART_LNS_SHORT,
    CFN_PART_PROVE,
    CFN_PART_LAST_CROSS,
    CFN_PART_LAST_LNS,
    CFN_PART_OVER,
};

enum { CFN_WORKERS = 2 };

/* A search as a chain of phases. A phase is one call of cfn_search_work for each worker, anywhere and in any
 * order, then cfn_search_join; between phases all of it fits into bytes (saved.h), so that whoever has them,
 * the model and the budget can go on. */
struct cfn_search {
    const struct cfn_model *model;
    const struct cfn_budget *budget;
    struct cfn_worker worker[CFN_WORKERS];
    enum cfn_part part; /* of the phase at hand */
    int32_t round;
    double units;           /* of the phase at hand */
    double position, total; /* in units of each worker */
    double rate;            /* units a second */
    double reserve_s;       /* kept for writing the answer */
    double give_up_without;
    int32_t idle;          /* phases of branching in a row that did not raise the bound */
    int32_t tighten_from;  /* the round in which clusters may be tried next */
    int64_t bound, before; /* before: bound when the last dual phase began */
    struct cfn_pool hall;  /* best answers of the runs so far; the workers' own are of the present run */
    int64_t run_best;      /* of the present run at the last round's end; INT64_MAX */
    int32_t stale;         /* rounds since it got better */
    bool joint;            /* the present run has begun with the answers of the others */
    int64_t shown;         /* best cost reported */
    pthread_mutex_t lock;  /* of shown and the progress call */
    bool begun, any_shown;
};

/* give_up_without: ends early with nothing when no answer is known after this share (0..1) of the budget */
void cfn_search_create(const struct cfn_model *model, const struct cfn_budget *budget, double give_up_without,
                       struct cfn_search *search);
void cfn_search_release(struct cfn_search *search);
bool cfn_search_next(struct cfn_search *search); /* the next phase; false: the search is over */
void cfn_search_work(struct cfn_search *search, int worker);
void cfn_search_join(struct cfn_search *search);
double cfn_search_spent(const struct cfn_search *search); /* share of the budget; 1 when it is over */
void cfn_search_result(const struct cfn_search *search, struct cfn_found *out);

/* all phases that are left, in up to two threads */
void cfn_search_run(struct cfn_search *search);

#endif

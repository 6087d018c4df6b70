/* The search over one model: two logical workers through a schedule of phases, exchanging at their ends. */
#ifndef TOAST_CFN_SEARCH_H
#define TOAST_CFN_SEARCH_H

#include "cfn/worker.h"

enum cfn_technique {
    CFN_WITHOUT_DUAL = 1, /* no multipliers, no bound beyond the start's */
    CFN_WITHOUT_LNS = 2,
    CFN_WITHOUT_CROSSOVER = 4,
    CFN_WITHOUT_REDUCTION = 8, /* only consistency and memory pruning */
    CFN_WITHOUT_BRANCH = 16,   /* no branch and bound on small remainders */
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
    void (*progress)(void *user, int64_t cost,
                     int64_t bound); /* new best; calls never overlap; may be NULL */
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

/* give_up_without: ends early with nothing when no answer is known after this share (0..1) of the budget */
void cfn_search(const struct cfn_model *m, const struct cfn_budget *budget, double give_up_without,
                struct cfn_found *out);

#endif

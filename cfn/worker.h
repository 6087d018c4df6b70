/* A logical worker: everything one thread of the search owns. Workers share the model (read only) and,
 * between phases, the best answer, the pool of elites and the best multipliers; so an answer depends on the
 * seed and the work, not on how many threads ran. Progress leaves through `found` as it happens. */
#ifndef TOAST_CFN_WORKER_H
#define TOAST_CFN_WORKER_H

#include "cfn/clusters.h"
#include "cfn/forest.h"
#include "cfn/leaves.h"
#include "cfn/state.h"
#include "cfn/trws.h"
#include "cfn/wide.h"

enum { CFN_POOL = 24 };

/* what moves of one kind gained of late, and the work that took: both fade at the same rate */
struct cfn_reward {
    double gain, work;
};

struct cfn_pool {
    struct cfn_point at[CFN_POOL]; /* ascending cost, distinct costs */
    int count;
};

struct cfn_worker {
    const struct cfn_model *model; /* borrowed */
    int number;
    struct rng rng;
    uint64_t work, phase_end; /* table entries */
    bool (*stop)(void *user); /* deadline or interrupt; may be NULL */
    void (*found)(void *user, int number, int64_t cost,
                  const struct cfn_point *p); /* may be NULL; locks by itself */
    void *user;
    bool stopped;
    bool fixes;    /* the proof leaves out values by what a pass certifies (CFN_WITHOUT_FIXING clears it) */
    bool goes_on;  /* dual phases go on where there is nothing to move (CFN_WITHOUT_GOING_ON clears it) */
    bool widens;   /* neighbourhood search makes wide moves, too (CFN_WITHOUT_WIDE clears it) */
    bool clears;   /* points have what is forbidden moved out of them (CFN_WITHOUT_CLEARING clears it) */
    bool excludes; /* bounds see which values do not fit beside each other (CFN_WITHOUT_CONFLICTS) */
    unsigned asked;

    struct cfn_trws trws;          /* over model, or over what clusters relax it to */
    struct cfn_clusters *clusters; /* owned; NULL: none yet (tighten.h) */
    double cluster_cells;          /* that they may have at most; 0: none yet */
    struct cfn_forest forest;
    struct cfn_wide wide;
    struct cfn_state state;
    struct cfn_point point, best; /* best: feasible when has_best */
    bool has_best;
    struct cfn_pool pool; /* elites as of the last exchange, and this phase's own */
    double *lambda, *best_lambda, *rate, *average;
    int32_t *sign;                    /* of the last steps of lambda, with their count */
    int sign_steps;                   /* of the dual phases so far */
    double best_estimate;             /* bound at best_lambda, uncertified; -HUGE_VAL when none */
    double level, level_estimate;     /* how far steps aim above best_estimate, and that estimate last time */
    int level_steps;                  /* without a better one */
    int64_t bound;                    /* certified; INT64_MIN when none */
    struct cfn_leaves leaves;         /* of the proof's tree */
    double rho;                       /* price of a unit of violation in large-neighbourhood search */
    struct cfn_reward forests, wides; /* its moves */
    float *unary;                     /* costs with penalties for moves */
    int32_t *all, *ball, *changed, *old, *seen;
    int32_t seen_now;
    int64_t *profile;
    double *shifted; /* running sums of multipliers, time_count + 1 */
};

void cfn_worker_create(const struct cfn_model *model, int number, uint64_t seed, struct cfn_worker *worker);
void cfn_worker_release(struct cfn_worker *worker);
/* A phase starts from what the searches share and what saved.c keeps, nothing else: scratch is reset. */
void cfn_worker_begin(struct cfn_worker *worker);
void cfn_worker_spend(struct cfn_worker *worker); /* collects the parts' work counters */
bool cfn_worker_done(struct cfn_worker *worker);  /* phase over, or stopped */
/* what a value costs more that is not to be taken: far above every answer that is worth having */
double cfn_worker_drop_cost(const struct cfn_worker *worker);
/* keeps a feasible point as elite and, when better, as best */
void cfn_worker_record(struct cfn_worker *worker, const struct cfn_point *point);
void cfn_pool_add(const struct cfn_model *model, struct cfn_pool *pool, const struct cfn_point *point);
/* w->ball: nodes around start, breadth first; -> how many, at most size */
int32_t cfn_worker_ball(struct cfn_worker *worker, int32_t start, int32_t size);
/* repairs and polishes a copy of point (in w->state), records it; true when it became feasible */
bool cfn_worker_finish(struct cfn_worker *worker, const struct cfn_point *point);
/* w->x by at most `most` forest moves over all nodes under w->unary, until few values change; then priced */
void cfn_worker_improve(struct cfn_worker *worker, int most);

#endif

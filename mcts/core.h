/* Inside of the search: what a snapshot and a delta hold, and what a task works with. Only mcts/ includes
 * this.
 *
 *   search.c    create: budget, root, baselines            snapshot.c  snapshot and delta <-> checked bytes
 *   task.c      one task: open, run, collect the delta      rollout.c   PUCT trajectories, walkers
 *   polish.c    systematic local search                     methods.c   random and greedy, to compare with
 *   merge.c     deltas -> next snapshot, when to stop       run.c       threads of this process
 *   prior.c     which action first                          memo.c      prices known to this process
 *   list.c      ordered lists, best plans                   domain.c    plans and evaluators
 *   seen.c      every plan of a snapshot, best first
 *   value.c     a list -> its priced node                   tree.c      nodes and edges
 *   whole.c     exact prices of what estimates found       experts.c   the race of the experts
 *   descent.c   from what does not fit to what does        pricers.c   threads that price before any task
 *   climbs.c    hill climbs from several of the best
 */
#ifndef TOAST_MCTS_CORE_H
#define TOAST_MCTS_CORE_H

#include "mcts/domain.h"
#include "mcts/reward.h"
#include "mcts/tree.h"

#include <stdatomic.h>

enum {
    CORE_DESCENTS = 3, /* chosen, not tuned */
    CORE_ELITES = 8,   /* best plans kept; walks begin at them. Chosen, not tuned */
    CORE_CURVE = SEARCH_CURVE,
    CORE_DELTA_EDGES = 1024,       /* of largest increment: 36 KiB of a delta. Chosen, not tuned */
    CORE_DELTA_VALUES = 1024,      /* priced plans beside those of the edges */
    CORE_SNAPSHOT_EDGES = 1 << 18, /* 8 MiB of a snapshot at 32 bytes an edge; the least visited go */
    CORE_MAX_TASKS = 256,          /* of one epoch. Chosen, not tuned */
    CORE_MAX_ROLLOUTS = 1 << 28,   /* so that no sum of rewards (2^30 each) leaves 64 bits */
    CORE_RUINED = 3,               /* the round of climbs that begin at ruins, if there is one */
    CORE_CLIMB_ROUNDS = 4,         /* the first epochs. Chosen, not tuned */
    CORE_FEW_CLIMB_ROUNDS = 2,     /* of large programs (docs/search.md, Climbs) */
    CORE_IDLE_EPOCHS = 2,          /* epochs without a better plan end a stage (docs/performance.md) */
    CORE_BARREN_STAGES = 1         /* stages without a better plan end the search (docs/performance.md) */
};

enum core_found {
    FOUND_START,
    FOUND_BASELINE,
    FOUND_MCTS,
    FOUND_POLISH,
    FOUND_RANDOM,
    FOUND_GREEDY,
    FOUND_PER_ACTION,
    FOUND_DESCENT,
    FOUND_CLIMB
};
enum core_stop { STOP_NONE, STOP_BUDGET, STOP_NO_GAIN, STOP_CANCELLED, STOP_SECONDS, STOP_EXHAUSTED };

struct core_plan {
    struct search_list list;
    struct hash128 hash;
    struct cost cost;
    struct price price;
    uint16_t found, baseline;
};
/* best plans seen, best first, no two of about the same cost (list.c) */
struct core_elites {
    uint32_t count;
    struct core_plan at[CORE_ELITES];
};
/* true when the best one changed */
bool core_elites_offer(struct core_elites *e, const struct core_plan *plan);

struct core_curve {
    uint64_t rollouts;
    struct cost cost;
    int64_t step_ps;
};

struct core_snapshot {
    uint32_t epoch, phase, tasks, idle, stop;
    /* candidates of the round before the offset were tried */
    uint32_t polish_round, polish_offset;
    /* of the stage: rollouts at which it ends, and whether it found a better plan; stages in a row before it
     * that found none */
    uint32_t stage_end, stage_gained, barren;
    uint64_t rollouts, evaluations, polish_evaluations, cut;
    struct core_elites elites;
    /* the best plan by its exact price: the elites' first where prices are exact */
    struct core_plan best;
    uint32_t curve_count;
    struct core_curve curve[CORE_CURVE];
    /* by decision: reward(decision alone) - reward(root), or TREE_UNKNOWN */
    int32_t *gains;
    struct tree tree;
};
void core_snapshot_release(struct core_snapshot *snapshot);

struct core_gain {
    uint16_t decision;
    int32_t gain;
};
struct core_delta_node {
    uint64_t state;
    int32_t value;
    struct search_list list;
};
struct core_delta_edge {
    uint64_t state, child;
    int64_t dw;
    uint32_t action, dn;
    int32_t best;
};
struct core_delta {
    uint32_t epoch, phase, index, polish_tried; /* candidates looked at */
    uint64_t rollouts, evaluations, cut;
    struct core_elites elites;
    VEC(struct core_gain) gains;
    VEC(struct core_delta_node) nodes;
    VEC(struct core_delta_edge) edges;
};
void core_delta_release(struct core_delta *delta);

enum { TUNING_EIGHTHS = 8, TUNING_SIXTEENTHS = 16 };
/* What bench/search varies; all else runs with core_tuning_default. Part of the search's identity. */
struct core_tuning {
    uint32_t walkers; /* of TUNING_EIGHTHS rollouts, how many are walkers' */
    uint32_t playout; /* of TUNING_SIXTEENTHS: chance that a playout goes one action on */
    uint32_t explore; /* weight of PUCT's second term, in quarters */
    uint32_t widen;   /* a node of n visits tries this, in quarters, x sqrt(n) actions */
    /* of TUNING_EIGHTHS walks, how many begin at the root or a baseline, not at a best plan */
    uint32_t strangers;
    uint32_t slacks;      /* 1 .. 4: how much worse a walker's step may be */
    uint32_t walk_length; /* steps, mean */
    uint8_t mean_only;    /* Q without the maximum */
    uint8_t uniform_prior;
    uint8_t last_only;  /* decisions are only appended */
    uint8_t any_length; /* short trajectories are worth no more than long ones */
    uint8_t no_polish;
    uint8_t no_climbs;
    uint8_t apart; /* every task starts from an empty snapshot */
};
struct core_tuning core_tuning_default(void);

struct core_memo;
struct search {
    struct search_domain *domain;  /* owned */
    struct search_options options; /* with defaults put in */
    struct core_tuning tuning;
    /* of problem and options: blobs of another search are refused */
    uint64_t id;
    uint32_t first_rollouts;          /* of a task of epoch 0 */
    uint32_t first_stage, next_stage; /* rollouts before the first local search, and between two */
    uint64_t polish_budget;           /* evaluations */
    /* of climbs (climbs.c), and rollouts of one round, at most */
    uint32_t climb_rounds, climb_round;
    struct core_plan root, root_whole; /* whole: with its exact price */
    struct core_plan *baselines;       /* in the domain's order */
    struct core_plan *wholes;          /* the same with exact prices */
    struct search_plan *baseline_plans;
    struct cost best_baseline; /* before any climb */
    atomic_bool experts_cut;   /* options.control said stop before the experts' race was over */
    /* where the fastest experts do not fit: plans that fit, made of them (descent.c), and the same with exact
     * prices */
    struct core_plan descents[CORE_DESCENTS], whole_descents[CORE_DESCENTS];
    uint32_t descent_count;
    int32_t root_reward;
    struct core_memo *memo;       /* prices, or estimates */
    struct core_memo *whole_memo; /* exact prices beside estimates */
};
/* before search_begin: other tuning, and the identity that goes with it */
void core_tune(struct search *search, struct core_tuning tuning);
/* tree and best plans as at the beginning */
void core_snapshot_reset(const struct search *search, struct core_snapshot *snapshot);
static inline uint64_t core_clamp(uint64_t x, uint64_t low, uint64_t high)
{
    return x < low ? low : x > high ? high : x;
}
/* prices root and experts (experts.c) */
enum error_code core_race_experts(struct search *search, struct error *e) BASE_CHECKED;

/* is the time of the experts' race over? Notes that it was cut */
static inline bool core_experts_over(struct search *search)
{
    bool over = search_stops(&search->options.control);
    if (over)
        atomic_store(&search->experts_cut, true);
    return over;
}

/* Plans priced at the same time, a thread each: sessions of the domain over the evaluator's. */
struct core_pricers {
    uint32_t count;
    bool own; /* the evaluator's are theirs */
    struct evaluator_session *evaluators[SEARCH_THREADS];
    void *sessions[SEARCH_THREADS];
};
void core_pricers_open(const struct search *search, struct core_pricers *pricers);
void core_pricers_close(const struct search *search, const struct core_pricers *pricers);
/* one(user, session, i) for each i below count: by thread i modulo the threads where that is free, so that it
 * meets what is known there (threads_share) */
typedef enum error_code core_pricing(void *user, void *session, uint32_t i, struct error *e);
enum error_code core_pricers_run(const struct core_pricers *pricers, uint32_t count, core_pricing *one,
                                 void *user, struct error *e) BASE_CHECKED;
/* price_limits.beaten of plans that are worth nothing unless they are better than this one; 0 where memory is
 * tight */
int64_t core_to_beat(const struct search *search, const struct core_plan *plan);
/* price and cost of a plan that has its hash, from the memo where it is there */
enum error_code core_price_plan(const struct search *search, void *session, int64_t beaten,
                                struct core_plan *plan, struct error *e) BASE_CHECKED;
/* the same once its list is replayed, which gives the hash */
enum error_code core_price_list(const struct search *search, void *session, struct core_plan *plan,
                                struct error *e) BASE_CHECKED;
/* .. within limits that do not last: a rough price is remembered apart */
enum error_code core_price_apart(const struct search *search, void *session, struct core_plan *plan,
                                 struct error *e) BASE_CHECKED;
/* Of the first `count` experts the cheapest by C (by_step: the fastest) that does not fit, where it beats all
 * that do, and has nothing in common with where others began; UINT32_MAX: there is none. */
uint32_t core_best_over(const struct search *search, const uint32_t *starts, uint32_t begun, uint32_t count,
                        bool by_step);
/* fills search->descents */
enum error_code core_descend(struct search *search, const struct core_pricers *pricers,
                             struct error *e) BASE_CHECKED;
int32_t core_reward(const struct search *search, struct cost cost);
/* stages of rollouts, each followed by a local search where it found a better plan; else one task does all */
static inline bool core_is_staged(const struct search *search)
{
    return search->options.method != SEARCH_RANDOM && search->options.method != SEARCH_GREEDY;
}
/* The exact price of a plan that has an estimate; *session is made at need, released by core_whole_end. */
struct core_whole {
    const struct search *search;
    struct evaluator_session *evaluator;
    void *session;
};
enum error_code core_whole_price(struct core_whole *whole, struct core_plan *plan,
                                 struct error *e) BASE_CHECKED;
void core_whole_end(struct core_whole *whole);
/* snapshot->best among itself and the elites: the first, or once the search is done all of them */
enum error_code core_best_settle(const struct search *search, struct core_snapshot *snapshot,
                                 struct error *e) BASE_CHECKED;
void core_plan_publish(const struct search *search, const struct core_plan *plan, struct search_plan *out);
/* rollouts of task `index` in the snapshot's epoch */
uint64_t core_task_rollouts(const struct search *search, const struct core_snapshot *snapshot,
                            uint32_t index);

/* bytes; *out owned (free) */
void core_snapshot_write(const struct search *search, const struct core_snapshot *snapshot,
                         struct search_blob *out);
enum error_code core_snapshot_read(const struct search *search, const void *bytes, size_t size,
                                   struct core_snapshot *snapshot, struct error *e) BASE_CHECKED;
void core_delta_write(const struct search *search, const struct core_delta *delta, struct search_blob *out);
enum error_code core_delta_read(const struct search *search, const void *bytes, size_t size,
                                struct core_delta *delta, struct error *e) BASE_CHECKED;
/* The best plan's decisions must lead to its hash. checked (may be NULL; zeroed at first): the plan that
 * was found good last, which is not replayed again: most deltas of an epoch have the best plan of its
 * snapshot. */
struct core_checked {
    struct search_list list;
    struct hash128 hash;
    bool any;
};
enum error_code core_best_check(const struct search *search, const struct core_elites *elites,
                                struct core_checked *checked, struct error *e) BASE_CHECKED;

/* Prices by plan hash (and by what had to be beaten), shared by this process' threads. It changes what a
 * pricing takes, never what comes out. */
struct core_memo *core_memo_create(void);
void core_memo_destroy(struct core_memo *memo);
bool core_memo_find(struct core_memo *memo, struct hash128 hash, struct price *price, struct cost *cost);
void core_memo_put(struct core_memo *memo, struct hash128 hash, const struct price *price, struct cost cost);

/* A task at work. */
struct core_task {
    const struct search *search;
    struct core_snapshot *snapshot; /* its tree and elites take up what the task finds */
    void *session;
    const struct search_control *control;
    struct rng rng;
    uint32_t index;
    uint64_t rollouts, evaluations, quota;
    VEC(struct core_gain) gains;
    uint32_t polish_tried;
    /* Of what is priced now (price_limits.beaten). A function of the snapshot and of what the task met, so
     * that a price is the same whoever runs the task. */
    int64_t beaten;
    double *prior;         /* by action (decision x 2 + place), sums to 1 */
    uint32_t *order;       /* actions by prior, best first */
    uint32_t *mark, stamp; /* scratch of selection */
};
static inline uint32_t core_action_count(const struct search *search)
{
    return search->domain->decision_count * 2;
}
/* fills prior and order; noise from the task's generator */
void core_prior_fill(struct core_task *task);
uint32_t core_prior_draw(struct core_task *task); /* an action, by prior */

/* ERROR_CANCELLED when control says so */
enum error_code core_task_check(const struct core_task *task, struct error *e) BASE_CHECKED;
/* Node and value of a list (already replayed to hash); prices it if nobody has. A better best keeps
 * `found`. */
enum error_code core_task_value(struct core_task *task, const struct search_list *list, struct hash128 hash,
                                enum core_found found, uint32_t *node, struct error *e) BASE_CHECKED;
enum error_code core_rollouts(struct core_task *task, struct error *e) BASE_CHECKED;
/* Is the snapshot's epoch one of climbs, not of rollouts? */
static inline bool core_climbing(const struct search *search, const struct core_snapshot *snapshot)
{
    return snapshot->phase == SEARCH_EPOCHS && snapshot->epoch < search->climb_rounds;
}
uint32_t core_climb_count(uint32_t round);
enum error_code core_climbs(struct core_task *task, struct error *e) BASE_CHECKED;
enum error_code core_polish(struct core_task *task, struct error *e) BASE_CHECKED;
uint32_t core_polish_candidates(const struct search *search, const struct core_plan *best);
/* candidates of one round, all tasks together */
uint32_t core_polish_window(const struct search *search);
enum error_code core_random(struct core_task *task, struct error *e) BASE_CHECKED;
enum error_code core_greedy(struct core_task *task, struct error *e) BASE_CHECKED;

/* Moves on ordered lists. Each returns false when it does not apply (list full, empty ..). */
bool core_list_insert(struct search_list *list, uint32_t at, uint16_t decision);
bool core_list_delete(struct search_list *list, uint32_t at);
bool core_list_move(struct search_list *list, uint32_t from, uint32_t to);
bool core_list_replace(struct search_list *list, uint32_t at, uint16_t decision);
/* Lists one change away, by number: deletions, moves, then by decision insertions and replacements. order
 * (may be NULL): of the decisions. */
uint64_t core_list_changes(const struct search_list *list, uint32_t decisions);
bool core_list_change(struct search_list *list, uint64_t k, const uint16_t *order, uint32_t decisions);
/* Does that change put a decision of other dimensions, or on another axis, in the place of one? */
bool core_list_exchanges(const struct search_domain *domain, const struct search_list *list, uint64_t k,
                         const uint16_t *order);
/* list after an action of the tree */
bool core_list_act(struct search_list *list, uint32_t action);

#endif

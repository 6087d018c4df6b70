/* The search: Monte Carlo tree search over plans, cut into
 * deterministic tasks that threads of one process or worker processes run, with the
 * same bytes as result.
 *
 *   epoch e:  tasks 0 .. parallelism-1, each search_task(snapshot_e, e, index) -> delta   (pure; anywhere)
 *             search_merge(snapshot_e, deltas in index order) -> snapshot_e+1
 *   climbs    the first epochs: from several experts' plans to the cheapest around (the same functions)
 *   stages    of some epochs, each followed by epochs of a local search (the same functions) where it found
 *             a better plan; until one finds none or the budget is spent (phase SEARCH_DONE)
 *
 * Snapshots and deltas are position-independent byte blobs with a checksum, checked when opened (they come
 * over a network). Nothing here reads a clock but search_run: seconds and cancel come in as callbacks that
 * can only end things early. Source: TOAST (Alabed et al., 2025), sections 4.1 to 4.4; docs/search.md,
 * docs/design/planner.md. */
#ifndef TOAST_MCTS_SEARCH_H
#define TOAST_MCTS_SEARCH_H

#include "cost/price.h"

struct search_control {       /* asked at least once a second */
    bool (*stop)(void *user); /* NULL: never */
    void *user;
};
/* does it say stop? NULL: never */
static inline bool search_stops(const struct search_control *control)
{
    return control && control->stop && control->stop(control->user);
}

struct search_options {
    uint64_t seed;
    uint32_t rollouts;    /* 0: clamp(2^27 / ops, 128, 20000), fewer from 2^16 ops on */
    uint32_t parallelism; /* tasks an epoch; 0: 16; at most 256 */
    /* ablation: do not start from or seed with baselines (they are still priced) */
    uint8_t no_baselines;
    uint8_t method; /* enum search_method, for bench/search */
    /* Experts are priced by that many threads, at most SEARCH_THREADS; 0: by one. No result depends on it.
     * sessions: of the evaluator, one a thread, borrowed by search_create, which asks them for what they may
     * have priced already; NULL: it makes its own. */
    uint8_t threads;
    struct evaluator_session *const *sessions;
    /* Of the experts' race: sixteen are priced whatever it says, further ones and what is climbed to until it
     * says stop. The search is another one then (search_experts_cut). */
    struct search_control control;
};
enum { SEARCH_THREADS = 2 }; /* beyond, the climb from the best of them takes longest */
enum search_method {
    SEARCH_MCTS,
    SEARCH_RANDOM,
    SEARCH_GREEDY,
    SEARCH_PER_ACTION,
    SEARCH_BASELINES /* only races the baselines */,
    SEARCH_START /* only prices the pins */
};
enum {
    SEARCH_MAX_DEPTH = 30,                /* decisions of what the search makes (the paper, section 4.2) */
    SEARCH_MAX_LIST = PLAN_BASELINE_LIST, /* of any plan: a baseline over many axes may be longer */
    SEARCH_CURVE = 256                    /* points of the curve; a full one loses every other point */
};

struct search_plan { /* ordered decisions that replay to `hash` */
    struct plan_decision decisions[SEARCH_MAX_LIST];
    uint32_t count;
    struct hash128 hash;
    struct cost cost;
    struct price price;
    char found_by[160]; /* "mcts", "polish", "baseline fsdp:data", "greedy" .. */
    /* of other planners' plans: applied after the decisions; borrowed */
    const struct plan_factor *factors;
    uint32_t factor_count;
    bool estimated; /* an expert's, far from the best: cost and price are of the folded program */
};
/* pins + decisions + factors -> the plan, which must be initialised; false when it does not reach its hash */
bool search_plan_replay(const struct plan_context *context, const struct search_plan *from, struct plan *out);

/* What tasks run against; immutable, shared by threads. The evaluator must outlive it. Baselines are
 * priced here (or taken from a blob of search_baselines_pack). */
struct search;
enum error_code search_create(const struct evaluator *evaluator, const struct search_options *options,
                              struct search **out, struct error *e) BASE_CHECKED;
void search_destroy(struct search *search);
uint64_t search_budget(const struct search *search); /* rollouts at most */
uint32_t search_baseline_count(const struct search *search);
/* options.control said stop before all experts were priced and climbed from */
bool search_experts_cut(const struct search *search);
/* named in found_by without "baseline " */
const struct search_plan *search_baseline(const struct search *search, uint32_t i);

struct search_blob {
    unsigned char *bytes;
    size_t size;
}; /* owned; release with free(bytes) */

enum search_phase { SEARCH_EPOCHS, SEARCH_POLISH, SEARCH_DONE };
struct search_state {             /* read from a snapshot */
    uint32_t epoch, phase, tasks; /* tasks of the present epoch or polish round */
    uint64_t rollouts, evaluations;
    /* edges and prices that did not fit into deltas and snapshots so far */
    uint64_t dropped;
    struct search_plan best;
    char stop_reason[32]; /* "budget", "no_gain", "cancelled" .. when done */
    uint32_t curve_count; /* best cost by rollouts, for the report */
    struct {
        uint64_t rollouts;
        struct cost cost;
        int64_t step_ps;
    } curve[SEARCH_CURVE];
    /* by decisions of the plan where they ended: rollouts, of edges that the snapshot has */
    uint64_t lengths[SEARCH_MAX_LIST + 1];
};

void search_begin(const struct search *search, struct search_blob *snapshot);
enum error_code search_open(const struct search *search, const void *snapshot, size_t size,
                            struct search_state *out, struct error *e) BASE_CHECKED;
/* One task: pure function of (search, snapshot, index). ERROR_CANCELLED when control (may be NULL) says
 * stop. */
enum error_code search_task(const struct search *search, const void *snapshot, size_t size, uint32_t index,
                            struct evaluator_session *session, const struct search_control *control,
                            struct search_blob *delta, struct error *e) BASE_CHECKED;
/* deltas[i] of task i; all present. Gives the next snapshot (next epoch, polish round, or done). */
enum error_code search_merge(const struct search *search, const void *snapshot, size_t size,
                             const struct search_blob *deltas, uint32_t delta_count, struct search_blob *next,
                             struct error *e) BASE_CHECKED;

/* The plans that were priced and that the snapshot still has, best first (seen.c), until visit says false.
 * decisions: borrowed during the visit; replayed in order they give the plan. Errors: of the snapshot. */
typedef bool (*search_seen_visit)(const struct plan_decision *decisions, uint32_t count, void *user);
enum error_code search_seen(const struct search *search, const void *snapshot, size_t size,
                            search_seen_visit visit, void *user, struct error *e) BASE_CHECKED;

/* All of it in this process with `threads` threads; progress (may be NULL) is called on the caller's
 * thread after each epoch. seconds 0 = no limit; when it cuts, *reproducible becomes false and the best so
 * far is given. last (may be NULL; owned by the caller): the last snapshot that was whole. */
enum error_code search_run(const struct search *search, uint32_t threads, double seconds,
                           void (*progress)(const struct search_state *state, void *user), void *user,
                           struct search_state *out, struct search_blob *last, bool *reproducible,
                           struct error *e) BASE_CHECKED;

#endif

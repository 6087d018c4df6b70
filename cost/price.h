/* The price of a local program on a machine: step time in picoseconds, peak memory in bytes, the cost C(s) of
 * both.
 *
 * Integers throughout, and the same for equal inputs on every CPU. Nothing here changes a program, but for
 * the two reorders. A program that can be walked can be priced: no pricing fails by itself. Source: TOAST
 * (Alabed et al., 2025), section 4.5; docs/design/price.md. */
#ifndef TOAST_COST_PRICE_H
#define TOAST_COST_PRICE_H

#include "cost/machine.h"
#include "spmd/local.h"

struct price {
    int64_t step_ps;    /* makespan: one stream that computes, one that communicates (price.c) */
    int64_t compute_ps; /* dot, convolution and the rest by bytes moved */
    int64_t matmul_ps;
    int64_t communication_ps; /* all collectives */
    int64_t exposed_ps;       /* of it, what blocks compute */
    int64_t critical_path_ps; /* the paper's measure, beside the makespan */
    /* live ranges with donation, in-place reuse and fusion, in the order that takes more */
    int64_t peak_bytes;
    /* in each order; 0 when the machine's order names one */
    int64_t program_peak_bytes, depth_first_peak_bytes;
    /* and by memory, of a backend that takes the order of the least peak; else 0 */
    int64_t memory_peak_bytes;
    /* and as collectives are hidden, of a backend whose scheduler does; else 0 */
    int64_t hiding_peak_bytes;
    int64_t rematerialised_bytes; /* what those take more than peak_bytes: the compiler computes it again */
    uint8_t peak_order;           /* enum cost_order: the one that peak_bytes is of; never EITHER */
    uint32_t peak_step;           /* step in which the larger peak stands, whatever ran before it */
    int64_t argument_bytes, output_bytes, alias_bytes; /* per device */
};

/* what is there all the time: arguments, and results that lie in none of them */
static inline int64_t price_boundary(const struct price *price)
{
    return price->argument_bytes + price->output_bytes - price->alias_bytes;
}

/* Of a fold, in the order that hides collectives: may the whole program be on the other side of the limit? */
static inline bool price_near_limit(const struct price *price, int64_t memory_limit_bytes)
{
    return price->peak_bytes > memory_limit_bytes / 20 * 17 && price->peak_bytes < memory_limit_bytes / 5 * 6;
}

/* Scratch that a search reuses from one evaluation to the next (one a thread; zeroed at first). */
struct price_scratch;
void price_scratch_destroy(struct price_scratch *scratch);

/* Of a program with layers left out (analysis/fold.h): part 1 or 2 of the ops whose layers stand for the
 * copies that are gone (both for memory, the first for time); FOLD_ELSEWHERE of other layers' ops, 0 of those
 * in no layer. */
struct fold_places;
struct fold_shorter;
struct price_fold {
    const uint8_t *part, *value_part; /* by op, by value; borrowed */
    int64_t copies;
    const struct fold_places *places; /* borrowed */
    /* borrowed; of a deep program FOLD_SHORTER of them, from which the peak near the limit is told; NULL:
     * of all layers */
    const struct fold_shorter *shorter;
    bool doubted;  /* evaluator_doubt_peaks */
    bool unfolded; /* in an order that hides collectives: the peak of all layers, near the limit or not */
};
/* Full pricing of a local program: the time of its steps as they stand; the memory in that order, and of
 * COST_ORDER_EITHER also depth first (schedule.c), for a compiler may choose: an order in the text binds
 * none. *scratch may point to NULL: it is created. Integers throughout: bit for bit the same for equal
 * inputs on every CPU. fold: NULL, or the program is walked from a fold, and what comes out is what the whole
 * would take, as far as its layers are alike. */
void price_local(const struct spmd_local *local, const struct cost_machine *machine,
                 struct price_scratch **scratch, const struct price_fold *fold, struct price *out);

/* Puts the steps of local in another order that means the same (schedule.c); COST_ORDER_EITHER and _PROGRAM
 * leave them. */
void price_reorder(struct spmd_local *local, const struct cost_machine *machine,
                   struct price_scratch **scratch, enum cost_order order);
/* Puts the steps in the order in which *price has its peak, and peak_step where it stands then: for
 * price_timeline and price_live_at, which take steps as they stand. true: they were moved. */
bool price_reorder_to_peak(struct spmd_local *local, const struct cost_machine *machine, struct price *price);
/* enum cost_order. "in program order", "depth first", "by memory": for people; "program", "depth_first",
 * "memory": for report.json */
const char *price_order_words(uint8_t order);
const char *price_order_name(uint8_t order);

/* Time of one step (compute or collective), once (not x trips); algorithm (may be NULL) names the
 * collective's. */
int64_t price_step(const struct spmd_local *local, const struct cost_machine *machine, uint32_t step,
                   const char **algorithm);
/* the name of the algorithm alone; "none" of what is no collective */
const char *price_algorithm(const struct spmd_local *local, const struct cost_machine *machine,
                            uint32_t step);
/* Times of all steps at once (owned, step_count entries): members of a combined collective add up to the
 * tuple's time. */
int64_t *price_step_times(const struct spmd_local *local, const struct cost_machine *machine);
/* Who did what when on one device (owned, one entry a kernel, in program order): collectives, computations
 * and marks, which take no time. exposed_ps, of collectives: how long computation stood still for what it
 * brought; a wait behind another collective counts for the one that was waited for. Times in a loop are of
 * all trips together. */
struct price_interval {
    uint32_t step;
    int64_t start_ps, end_ps, exposed_ps;
};
struct price_interval *price_trace(const struct spmd_local *local, const struct cost_machine *machine,
                                   uint32_t *count);
/* bytes alive in each step (owned, step_count entries), steps as they stand; in a step that is no kernel
 * what the last kernel before it left. For the report's timeline; price_live_at: the tensors alive in one
 * step. */
int64_t *price_timeline(const struct spmd_local *local, const struct cost_machine *machine);
struct price_live {
    uint32_t value;
    int64_t bytes;
};
struct price_live *price_live_at(const struct spmd_local *local, const struct cost_machine *machine,
                                 uint32_t step, uint32_t *count);

/* What is alive when kernels run in one of the orders that the price tries, as it places them: the steps of
 * price_reorder_to_peak may do otherwise where barriers hold them. */
struct price_held {
    int64_t *alive;       /* bytes at each place of the order, `count` of them */
    uint32_t count, peak; /* the place at which most is alive; what is alive there is in `live` */
    struct price_live *live;
    uint32_t live_count;
};

/* What a report shows of one plan: price_step_times, price_trace, and what is held in one of the orders that
 * the price tries. Owned (price_measured_release). */
struct price_measured {
    int64_t *step_times;
    struct price_interval *trace;
    uint32_t trace_count;
    struct price_held held;
};
void price_measured_release(struct price_measured *measured);

/* C(s) = RT + MP relative to the unsharded module, in 2^-32 fixed point (int64). MP = 10 (peak - limit) /
 * limit above it: the paper's constant C; chosen, not tuned. */
enum { COST_OVER_LIMIT = 10 };
struct cost {
    int64_t c;
    int64_t over_steps; /* bytes over the limit, rounded up, in 1 % of it; 0 = fits */
};
/* C as a number: 1 is the unsharded module's where that fits */
static inline double cost_value(struct cost cost)
{
    return (double)cost.c / 4294967296.0; /* 2^32 */
}
struct cost price_cost(const struct price *price, const struct price *unsharded, int64_t memory_limit_bytes);
/* the order of plans: (over_steps, c, hash); < 0 when a is better */
int cost_compare(struct cost cost, struct hash128 ha, struct cost other_cost, struct hash128 hb);

/* Everything a planner needs to price plans: immutable, shared by threads. */
struct evaluator;
enum error_code evaluator_create(const struct plan_context *context, const struct cost_machine *machine,
                                 const struct spmd_options *options, struct evaluator **out,
                                 struct error *e) BASE_CHECKED;
void evaluator_destroy(struct evaluator *evaluator);
/* gives back the working memory of large programs that sessions share; the next price makes it anew */
void evaluator_rest(const struct evaluator *evaluator);
const struct plan_context *evaluator_context(const struct evaluator *evaluator);
const struct cost_machine *evaluator_machine(const struct evaluator *evaluator);
const struct spmd_options *evaluator_options(const struct evaluator *evaluator);
struct cost_estimate;
/* times and lives of single ops (estimate.h), borrowed */
const struct cost_estimate *evaluator_estimate(const struct evaluator *evaluator);
const struct price *evaluator_unsharded(const struct evaluator *evaluator);
/* of a walk of the whole program */
void evaluator_measure(const struct evaluator *evaluator, const struct spmd_local *local,
                       enum cost_order order, struct price_measured *out);
/* Lets evaluator_price_folded price the program with its repeated layers cut to `kept` (analysis/fold.h;
 * at least 3), or as a whole where kept is 0. false: it does not fold so; it is priced as a whole then.
 * Before any session of the evaluator is created. */
bool evaluator_fold(struct evaluator *evaluator, uint32_t kept);
/* Of the fold, where collectives are hidden: plans near the limit are priced as a whole from now on, not only
 * where all layers' peak cannot be found. Until the next evaluator_fold. */
void evaluator_doubt_peaks(struct evaluator *evaluator);
/* Of the fold: its prices were the whole program's, to the picosecond and the byte, wherever both were found:
 * from now on evaluator_price_alike takes them. Until the next evaluator_fold. */
void evaluator_trust_fold(struct evaluator *evaluator);
bool evaluator_trusts_fold(const struct evaluator *evaluator);
struct fold;
const struct fold *evaluator_fold_of(const struct evaluator *evaluator); /* borrowed; NULL: not folded */
uint32_t evaluator_fold_layers(const struct evaluator *evaluator); /* of the program; 0: it is not folded */

/* One evaluation: walk + price. A session belongs to one thread and remembers prices by plan hash and
 * parts of walks; the evaluator outlives it. Its working memory of a fold goes to the next session. */
struct evaluator_session;
struct evaluator_session *evaluator_session_create(const struct evaluator *evaluator);
void evaluator_session_destroy(struct evaluator_session *evaluator_session);
/* evaluator_rest, and the session's own working memory with it; its prices stay */
void evaluator_session_rest(struct evaluator_session *session);
enum error_code evaluator_price(struct evaluator_session *evaluator_session, const struct plan *plan,
                                struct price *out, struct cost *cost, struct error *e) BASE_CHECKED;
/* What need not be known exactly of plans that cannot win: their prices are then rough, found sooner, and
 * still beyond the limit that they were beyond. INT64_MAX: no such limit.
 *
 *   hopeless   C of plans that fit: of what costs more the fold's memory is good enough, near the limit too
 *   far        C: of what costs more by its matrix products alone, found from the cells, or by the bytes that
 *              its collectives move, found from the walk, nothing else is found: the time is estimated from
 *              them, there is no memory in the price
 *   far_bytes  peak: of what takes more, in the program's order, too, the time is a sum of its kernels',
 *              without their order, and the fold's memory is good enough
 *   beaten     C of a plan that fits, of which alone it is asked whether others are better: of what takes
 *              longer there is no memory in the price, and no longest chain. 0: no such plan */
struct price_limits {
    int64_t hopeless, far, far_bytes, beaten;
};
/* The same from the folded program: an estimate of evaluator_price, far sooner where many layers are gone. Of
 * plans for which the fold does not hold (fold_holds) or whose memory it cannot tell (evaluator.c), and
 * without a fold, it is evaluator_price itself, within the limits, of which NULL is none. */
enum error_code evaluator_price_folded(struct evaluator_session *session, const struct plan *plan,
                                       const struct price_limits *limits, struct price *out,
                                       struct cost *cost, struct error *e) BASE_CHECKED;
/* What makes thin plans (analysis/thin.h): decisions are applied in less time, hashes are the same. NULL: the
 * program is not folded, or its layers are not alike. Borrowed. */
const struct plan_context *evaluator_thin_context(const struct evaluator *evaluator);
/* thin_init_copy and thin_copy, of plans of that context */
void evaluator_init_thin(const struct evaluator *evaluator, struct plan *plan, const struct plan *from);
void evaluator_copy_thin(const struct evaluator *evaluator, struct plan *to, const struct plan *from);
/* evaluator_price_folded of a thin plan. *priced: false where the fold does not hold for it or cannot tell:
 * the caller then makes the whole plan and asks evaluator_price. */
enum error_code evaluator_price_thin(struct evaluator_session *session, const struct plan *thin,
                                     const struct price_limits *limits, bool *priced, struct price *out,
                                     struct cost *cost, struct error *e) BASE_CHECKED;
/* The price of a plan, whole or thin, as all layers have it, in about a fifth of evaluator_price's time where
 * many are gone: the fold's, with the peak of the unfolded program in an order that hides collectives.
 * *priced: false where the fold does not hold for it or cannot tell. Steps are counted by the fold
 * (peak_step). */
enum error_code evaluator_price_unfolded(struct evaluator_session *session, const struct plan *plan,
                                         bool thin, bool *priced, struct price *out, struct cost *cost,
                                         struct error *e) BASE_CHECKED;
/* evaluator_price, from the unfolded program where the evaluator trusts its fold and that can tell: for what
 * a plan that is priced whole is compared with. */
enum error_code evaluator_price_alike(struct evaluator_session *session, const struct plan *plan,
                                      struct price *out, struct cost *cost, struct error *e) BASE_CHECKED;
/* evaluator_price of that plan. Where evaluator_price_alike has another step time or peak for it, that is
 * evaluator_price, too, in this session from now on. */
enum error_code evaluator_price_both(struct evaluator_session *session, const struct plan *plan,
                                     struct price *out, struct cost *cost, struct error *e) BASE_CHECKED;

#endif

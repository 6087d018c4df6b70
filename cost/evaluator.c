/* Walk + price with everything that can be shared shared: the program's facts by all threads, working memory
 * and prices already known by all evaluations of a session.
 *
 * Prices are remembered by plan hash in a table of fixed size: a slot per hash, the newest wins. What is
 * remembered is exact, so results do not depend on what was evaluated before. */
#include "analysis/thin.h"
#include "cost/estimate.h"
#include "cost/internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMO_BITS = 12
}; /* 4,096 prices a session, 1 MiB: a search makes a few thousand, and knows those itself. Not tuned */

/* the price of steps that were walked before, and what the scratch said of it */
struct equal {
    struct hash128 key;
    struct price price;
    bool used, left_open, hiding_known;
};

/* working memory for one program */
struct workshop {
    struct spmd_local local;
    struct price_scratch *scratch; /* NULL: not made yet */
    struct equal *equals;          /* 1 << MEMO_BITS; NULL: none yet */
};

/* Workshops of the fold that no session has: the next one finds its arrays grown and its tables made. */
enum { IDLE_MOST = 4 };
struct idle {
    pthread_mutex_t lock;
    struct workshop workshops[IDLE_MOST];
    uint32_t count;
};

/* From so many ops on all sessions of an evaluator price the whole program in one workshop, one at a time: of
 * 96 layers each takes 40 MB, and next to all prices are of the fold. */
enum { SHARED_OPERATIONS = 1 << 15 };

struct evaluator {
    const struct plan_context *context; /* borrowed */
    struct cost_machine machine;
    struct spmd_options options;
    struct price_program *program;
    struct price unsharded;
    struct cost_estimate *estimate; /* of the same */
    /* the program with layers left out; NULL: priced as a whole */
    struct fold *fold;
    struct plan_context *folded_context;
    struct thin *thin; /* NULL: layers are not alike */
    struct price_program *folded_program;
    bool doubted; /* its peaks near the limit */
    bool trusted; /* it says what the whole program would */
    struct price_least *least, *folded_least;
    struct idle *idle;
    /* of large programs; else NULL */
    struct shared {
        pthread_mutex_t lock;
        struct workshop whole;
    } *shared;
};

struct memo {
    struct hash128 hash;
    struct price price;
    bool used;
    bool refused;               /* a fold's price that is not to be believed */
    bool rough;                 /* not exact, as it is beyond the limits */
    struct price_limits limits; /* that it was found within */
};

struct evaluator_session {
    const struct evaluator *evaluator;
    struct workshop whole, folded; /* whole: unless it is shared */
    struct memo *memo;
    bool doubts; /* the fold that the evaluator trusts */
};

/* A program to walk, and what is known of it. */
struct stage {
    const struct plan_context *context;
    const struct price_fold *fold; /* NULL: the whole program */
    const struct price_least *least;
};

static struct cost cost_of(const struct evaluator *evaluator, const struct price *price)
{
    return price_cost(price, &evaluator->unsharded, evaluator->machine.memory_limit_bytes);
}

/* Does the plan cost too much by what its products and its collectives take? A step is no shorter than
 * either, where nothing runs beside a collective than both. */
static bool is_far(const struct evaluator *evaluator, const struct price_limits *limits, int64_t products_ps,
                   int64_t moved_ps, struct price *out)
{
    int64_t longer = products_ps > moved_ps ? products_ps : moved_ps;
    *out = (struct price){.step_ps = evaluator->machine.asynchronous ? longer : products_ps + moved_ps,
                          .compute_ps = products_ps,
                          .matmul_ps = products_ps,
                          .communication_ps = moved_ps,
                          .peak_order = COST_ORDER_PROGRAM};
    if (cost_of(evaluator, out).c <= limits->far)
        return false;
    out->step_ps = products_ps + products_ps / 2 + moved_ps; /* with what else computes, about */
    return true;
}

/* the step of a plan that fits and costs that much; 0: there is no such limit */
static int64_t step_of(const struct evaluator *evaluator, int64_t cost)
{
    const double one = 4294967296.0; /* 2^32 */
    double step_ps = (double)cost / one * (double)evaluator->unsharded.step_ps;
    return step_ps < 9e18 ? (int64_t)step_ps : 0;
}

/* The price of what was walked. A sixth of the plans of a search walk to steps that another one had. */
static void price_walked(const struct evaluator *evaluator, const struct stage *stage,
                         const struct price_limits *limits, struct workshop *workshop, struct price *out)
{
    const struct cost_machine *machine = &evaluator->machine;
    struct price_scratch *scratch = workshop->scratch;
    struct hash128 key = price_identity(&workshop->local);
    scratch->far_bytes = limits ? limits->far_bytes : INT64_MAX;
    scratch->hopeless_ps = limits ? step_of(evaluator, limits->hopeless) : 0;
    scratch->beaten_ps =
        limits && limits->beaten ? step_of(evaluator, limits->beaten + 1) : 0; /* C is rounded */
    key.lo = hash_combine(key.lo, (uint64_t)scratch->far_bytes);
    key.hi = hash_combine(hash_combine(key.hi, (uint64_t)scratch->hopeless_ps), (uint64_t)scratch->beaten_ps);
    key.lo ^= stage->fold ? (uint64_t)stage->fold->unfolded + 2 * (uint64_t)stage->fold->doubted : 0;
    if (!workshop->equals)
        workshop->equals = mem_zalloc((size_t)1 << MEMO_BITS, sizeof *workshop->equals);
    struct equal *equal = &workshop->equals[key.lo & (((uint64_t)1 << MEMO_BITS) - 1)];
    if (!equal->used || hash128_compare(equal->key, key) != 0) {
        price_reorder(&workshop->local, machine, &workshop->scratch, (enum cost_order)machine->order);
        price_local(&workshop->local, machine, &workshop->scratch, stage->fold, out);
        *equal = (struct equal){key, *out, true, scratch->left_open, scratch->hiding_known};
    }
    *out = equal->price;
    scratch->left_open = equal->left_open;
    scratch->hiding_known = equal->hiding_known;
}

/* one walk and its price; *rough: within the limits (may be NULL) it is a rough one */
static enum error_code price_once(const struct evaluator *evaluator, const struct stage *stage,
                                  const struct plan *plan, const struct price_limits *limits,
                                  struct workshop *workshop, struct price *out, bool *rough, struct error *e)
{
    const struct cost_machine *machine = &evaluator->machine;
    bool bounded = limits && limits->far < INT64_MAX;
    int64_t products_ps = bounded ? price_least_ps(stage->least, plan_context_mesh(stage->context), plan) : 0;
    *rough = bounded && is_far(evaluator, limits, products_ps, 0, out);
    if (*rough)
        return ERROR_OK;
    TRY(spmd_walk(stage->context, plan, &evaluator->options, &workshop->local, e));
    *rough = bounded && is_far(evaluator, limits, products_ps,
                               price_least_moved_ps(&workshop->local, machine, stage->fold), out);
    if (*rough)
        return ERROR_OK;
    price_walked(evaluator, stage, limits, workshop, out);
    *rough = workshop->scratch->left_open || (limits && price_least_peak(out) > limits->far_bytes);
    return ERROR_OK;
}

static void release_workshop(struct workshop *workshop)
{
    spmd_local_release(&workshop->local);
    price_scratch_destroy(workshop->scratch);
    free(workshop->equals);
    workshop->scratch = NULL;
    workshop->equals = NULL;
}

/* price_once of the whole program, in the session's workshop or the one that all share */
static enum error_code price_whole_once(const struct evaluator *evaluator, const struct plan *plan,
                                        const struct price_limits *limits, struct workshop *own,
                                        struct price *out, bool *rough, struct error *e)
{
    struct stage stage = {evaluator->context, NULL, evaluator->least};
    struct workshop *workshop = evaluator->shared ? &evaluator->shared->whole : own;
    if (evaluator->shared)
        pthread_mutex_lock(&evaluator->shared->lock);
    if (!workshop->scratch)
        workshop->scratch = price_scratch_create(evaluator->program);
    enum error_code code = price_once(evaluator, &stage, plan, limits, workshop, out, rough, e);
    if (evaluator->shared)
        pthread_mutex_unlock(&evaluator->shared->lock);
    return code;
}

/* from what pricing the unsharded program left, which is priced again where a machine's order moved steps */
static enum error_code make_estimate(struct evaluator *evaluator, const struct plan *nothing,
                                     struct workshop *workshop, struct error *e)
{
    const struct cost_machine *machine = &evaluator->machine;
    struct price ignored;
    if (machine->order != COST_ORDER_EITHER && machine->order != COST_ORDER_PROGRAM) {
        TRY(spmd_walk(evaluator->context, nothing, &evaluator->options, &workshop->local, e));
        price_local(&workshop->local, machine, &workshop->scratch, NULL, &ignored);
    }
    evaluator->estimate =
        cost_estimate_create(evaluator->program, machine, workshop->scratch, &workshop->local);
    return ERROR_OK;
}

static enum error_code price_unsharded(struct evaluator *evaluator, struct error *e)
{
    struct plan nothing;
    plan_init(&nothing, plan_context_nda(evaluator->context), plan_context_mesh(evaluator->context));
    struct workshop workshop = {0};
    bool rough;
    enum error_code code =
        price_whole_once(evaluator, &nothing, NULL, &workshop, &evaluator->unsharded, &rough, e);
    if (code == ERROR_OK)
        code =
            make_estimate(evaluator, &nothing, evaluator->shared ? &evaluator->shared->whole : &workshop, e);
    release_workshop(&workshop);
    plan_release(&nothing);
    return code;
}

enum error_code evaluator_create(const struct plan_context *context, const struct cost_machine *machine,
                                 const struct spmd_options *options, struct evaluator **out, struct error *e)
{
    struct evaluator *evaluator = mem_zalloc(1, sizeof *evaluator);
    evaluator->context = context;
    evaluator->machine = *machine;
    evaluator->options = *options;
    evaluator->program = price_program_create(plan_context_nda(context));
    evaluator->least = price_least_create(evaluator->program, machine, NULL);
    evaluator->idle = mem_zalloc(1, sizeof *evaluator->idle);
    pthread_mutex_init(&evaluator->idle->lock, NULL);
    if (plan_context_nda(context)->program->op_count >= SHARED_OPERATIONS) {
        evaluator->shared = mem_zalloc(1, sizeof *evaluator->shared);
        pthread_mutex_init(&evaluator->shared->lock, NULL);
    }
    enum error_code code = price_unsharded(evaluator, e);
    if (code != ERROR_OK) {
        evaluator_destroy(evaluator);
        return code;
    }
    *out = evaluator;
    return ERROR_OK;
}

void evaluator_destroy(struct evaluator *evaluator)
{
    if (!evaluator)
        return;
    evaluator_fold(evaluator, 0);
    price_least_destroy(evaluator->least);
    cost_estimate_destroy(evaluator->estimate);
    evaluator_rest(evaluator);
    if (evaluator->shared)
        pthread_mutex_destroy(&evaluator->shared->lock);
    free(evaluator->shared);
    pthread_mutex_destroy(&evaluator->idle->lock);
    free(evaluator->idle);
    price_program_destroy(evaluator->program);
    free(evaluator);
}

static void release_idle(const struct evaluator *evaluator)
{
    struct idle *idle = evaluator->idle;
    pthread_mutex_lock(&idle->lock);
    while (idle->count)
        release_workshop(&idle->workshops[--idle->count]);
    pthread_mutex_unlock(&idle->lock);
}

void evaluator_rest(const struct evaluator *evaluator)
{
    if (!evaluator->shared)
        return;
    release_idle(evaluator);
    pthread_mutex_lock(&evaluator->shared->lock);
    release_workshop(&evaluator->shared->whole);
    pthread_mutex_unlock(&evaluator->shared->lock);
}

bool evaluator_fold(struct evaluator *evaluator, uint32_t kept)
{
    release_idle(evaluator);
    price_least_destroy(evaluator->folded_least);
    price_program_destroy(evaluator->folded_program);
    free(evaluator->folded_context);
    thin_destroy(evaluator->thin);
    fold_destroy(evaluator->fold);
    evaluator->folded_least = NULL;
    evaluator->folded_program = NULL;
    evaluator->folded_context = NULL;
    evaluator->thin = NULL;
    evaluator->doubted = evaluator->trusted = false;
    evaluator->fold = kept ? fold_create(plan_context_nda(evaluator->context), kept) : NULL;
    if (!evaluator->fold)
        return false;
    evaluator->folded_context = plan_context_view(evaluator->context, &evaluator->fold->nda);
    evaluator->folded_program = price_program_create(&evaluator->fold->nda);
    evaluator->folded_least = price_least_create(evaluator->program, &evaluator->machine, evaluator->fold);
    evaluator->thin = thin_create(evaluator->context, evaluator->fold);
    return true;
}

void evaluator_doubt_peaks(struct evaluator *evaluator)
{
    evaluator->doubted = true;
}

void evaluator_trust_fold(struct evaluator *evaluator)
{
    evaluator->trusted = evaluator->fold != NULL;
}

bool evaluator_trusts_fold(const struct evaluator *evaluator)
{
    return evaluator->trusted;
}

const struct fold *evaluator_fold_of(const struct evaluator *evaluator)
{
    return evaluator->fold;
}

uint32_t evaluator_fold_layers(const struct evaluator *evaluator)
{
    return evaluator->fold ? evaluator->fold->layers : 0;
}

const struct plan_context *evaluator_context(const struct evaluator *evaluator)
{
    return evaluator->context;
}

const struct cost_machine *evaluator_machine(const struct evaluator *evaluator)
{
    return &evaluator->machine;
}

const struct spmd_options *evaluator_options(const struct evaluator *evaluator)
{
    return &evaluator->options;
}

void evaluator_measure(const struct evaluator *evaluator, const struct spmd_local *local,
                       enum cost_order order, struct price_measured *out)
{
    struct price_scratch *scratch = price_scratch_create(evaluator->program);
    price_measure(scratch, local, &evaluator->machine, order, out);
    price_scratch_destroy(scratch);
}

const struct cost_estimate *evaluator_estimate(const struct evaluator *evaluator)
{
    return evaluator->estimate;
}

const struct price *evaluator_unsharded(const struct evaluator *evaluator)
{
    return &evaluator->unsharded;
}

struct evaluator_session *evaluator_session_create(const struct evaluator *evaluator)
{
    struct evaluator_session *evaluator_session = mem_zalloc(1, sizeof *evaluator_session);
    evaluator_session->evaluator = evaluator;
    evaluator_session->memo = mem_zalloc((size_t)1 << MEMO_BITS, sizeof *evaluator_session->memo);
    return evaluator_session;
}

/* a workshop of the fold for a session that has none */
static void take_workshop(struct evaluator_session *session)
{
    struct idle *idle = session->evaluator->idle;
    if (session->folded.scratch)
        return;
    pthread_mutex_lock(&idle->lock);
    if (idle->count)
        session->folded = idle->workshops[--idle->count];
    pthread_mutex_unlock(&idle->lock);
    if (!session->folded.scratch)
        session->folded.scratch = price_scratch_create(session->evaluator->folded_program);
}

static void give_back(struct evaluator_session *session)
{
    struct idle *idle = session->evaluator->idle;
    pthread_mutex_lock(&idle->lock);
    if (session->folded.scratch && session->evaluator->fold && idle->count < IDLE_MOST) {
        idle->workshops[idle->count++] = session->folded;
        session->folded = (struct workshop){0};
    }
    pthread_mutex_unlock(&idle->lock);
    release_workshop(&session->folded);
}

void evaluator_session_destroy(struct evaluator_session *evaluator_session)
{
    if (!evaluator_session)
        return;
    release_workshop(&evaluator_session->whole);
    give_back(evaluator_session);
    free(evaluator_session->memo);
    free(evaluator_session);
}

void evaluator_session_rest(struct evaluator_session *session)
{
    if (!session->evaluator->shared)
        return;
    release_workshop(&session->folded);
    evaluator_rest(session->evaluator);
}

static struct memo *slot_of(struct evaluator_session *evaluator_session, struct hash128 key)
{
    return &evaluator_session->memo[key.lo & (((uint64_t)1 << MEMO_BITS) - 1)];
}

static void answer(const struct evaluator *evaluator, const struct memo *memo, struct price *out,
                   struct cost *cost)
{
    *out = memo->price;
    if (cost)
        *cost = cost_of(evaluator, out);
}

static const struct price_limits NO_LIMITS = {INT64_MAX, INT64_MAX, INT64_MAX, 0};

static bool are_same_limits(const struct price_limits *a, const struct price_limits *b)
{
    return a->hopeless == b->hopeless && a->far == b->far && a->far_bytes == b->far_bytes &&
           a->beaten == b->beaten;
}

/* What is remembered within limits is no answer to who has none. In the other way round a search would have a
 * price that another process has not: who asks with limits always does, and gets what was found with them. */
static bool is_known(const struct memo *memo, struct hash128 key, const struct price_limits *limits)
{
    return memo->used && hash128_compare(memo->hash, key) == 0 &&
           (limits ? are_same_limits(&memo->limits, limits) : !memo->rough);
}

static struct memo fresh_memo(struct hash128 key, const struct price_limits *limits)
{
    return (struct memo){.hash = key, .used = true, .limits = limits ? *limits : NO_LIMITS};
}

static enum error_code price_whole(struct evaluator_session *session, const struct plan *plan,
                                   const struct price_limits *limits, struct price *out, struct cost *cost,
                                   struct error *e)
{
    const struct evaluator *evaluator = session->evaluator;
    struct memo *memo = slot_of(session, plan->hash);
    if (!is_known(memo, plan->hash, limits)) {
        struct memo fresh = fresh_memo(plan->hash, limits);
        TRY(price_whole_once(evaluator, plan, limits, &session->whole, &fresh.price, &fresh.rough, e));
        *memo = fresh;
    }
    answer(evaluator, memo, out, cost);
    return ERROR_OK;
}

enum error_code evaluator_price(struct evaluator_session *evaluator_session, const struct plan *plan,
                                struct price *out, struct cost *cost, struct error *e)
{
    return price_whole(evaluator_session, plan, NULL, out, cost, e);
}

/* Where what the depth-first order holds is that much above what the program's does, the layers at the cut
 * hold what the fold's own ends made them hold, and no other layer need do the same: up to 30 % too much was
 * seen, and 3 of 188 plans of t2b on GPUs are beyond this, all of them wrong (bench/fold.c). */
static const double BELIEVED = 1.1;

/* An order that hides collectives puts off what a fold's few layers have less of: up to 24 % apart were seen.
 * That matters near the limit alone, where it is found of all layers (unfold_memory.c). */
static bool is_believed(const struct price_scratch *scratch, const struct price *price)
{
    return price->peak_order == COST_ORDER_HIDING
               ? scratch->hiding_known
               : (double)price->depth_first_peak_bytes <= BELIEVED * (double)price->program_peak_bytes;
}

/* Is a price that is not to be believed good enough? The fold says too much of what a plan holds, never too
 * little: where even that fits, memory adds nothing to the cost, and of a plan that costs too much nobody
 * needs to know how much it holds. Nor of one that is far above the limit in the program's order, too. */
static bool is_hopeless(const struct evaluator *evaluator, const struct price *fresh,
                        const struct price_limits *limits)
{
    struct cost cost = cost_of(evaluator, fresh);
    bool fits = cost.over_steps == 0 && !fresh->rematerialised_bytes;
    return limits && (fits ? cost.c > limits->hopeless : price_least_peak(fresh) > limits->far_bytes);
}

/* Of a plan, whole or thin, for which the fold holds. *priced: false where what the fold says of it is not to
 * be believed. unfolded: price_fold.unfolded, without limits */
static enum error_code price_fold(struct evaluator_session *session, const struct plan *plan,
                                  const struct price_limits *limits, bool unfolded, bool *priced,
                                  struct price *out, struct cost *cost, struct error *e)
{
    const struct evaluator *evaluator = session->evaluator;
    /* the plan's own is of the whole */
    struct hash128 key = {~plan->hash.hi, unfolded ? plan->hash.lo : ~plan->hash.lo};
    struct memo *memo = slot_of(session, key);
    if (!is_known(memo, key, limits)) {
        bool told = evaluator->fold->deep && !unfolded;
        struct price_fold fold = {evaluator->fold->part,
                                  evaluator->fold->value_part,
                                  evaluator->fold->copies,
                                  &evaluator->fold->places,
                                  told ? evaluator->fold->shorter : NULL,
                                  evaluator->doubted && !unfolded,
                                  unfolded};
        struct stage stage = {evaluator->folded_context, &fold, evaluator->folded_least};
        struct memo fresh = fresh_memo(key, limits);
        take_workshop(session);
        TRY(price_once(evaluator, &stage, plan, limits, &session->folded, &fresh.price, &fresh.rough, e));
        fresh.refused = !is_believed(session->folded.scratch, &fresh.price);
        *memo = fresh;
    }
    *priced = !memo->refused || is_hopeless(evaluator, &memo->price, limits);
    if (*priced)
        answer(evaluator, memo, out, cost);
    return ERROR_OK;
}

enum error_code evaluator_price_folded(struct evaluator_session *session, const struct plan *plan,
                                       const struct price_limits *limits, struct price *out,
                                       struct cost *cost, struct error *e)
{
    const struct fold *fold = session->evaluator->fold;
    bool priced = false;
    if (fold && fold_holds(fold, plan))
        TRY(price_fold(session, plan, limits, false, &priced, out, cost, e));
    return priced ? ERROR_OK : price_whole(session, plan, fold ? NULL : limits, out, cost, e);
}

const struct plan_context *evaluator_thin_context(const struct evaluator *evaluator)
{
    return evaluator->thin ? thin_context(evaluator->thin) : NULL;
}

void evaluator_init_thin(const struct evaluator *evaluator, struct plan *plan, const struct plan *from)
{
    thin_init_copy(evaluator->thin, plan, from);
}

void evaluator_copy_thin(const struct evaluator *evaluator, struct plan *to, const struct plan *from)
{
    thin_copy(evaluator->thin, to, from);
}

enum error_code evaluator_price_thin(struct evaluator_session *session, const struct plan *thin,
                                     const struct price_limits *limits, bool *priced, struct price *out,
                                     struct cost *cost, struct error *e)
{
    *priced = thin_holds(session->evaluator->thin, thin);
    return *priced ? price_fold(session, thin, limits, false, priced, out, cost, e) : ERROR_OK;
}

enum error_code evaluator_price_unfolded(struct evaluator_session *session, const struct plan *plan,
                                         bool thin, bool *priced, struct price *out, struct cost *cost,
                                         struct error *e)
{
    const struct evaluator *evaluator = session->evaluator;
    /* in other orders the fold's peak is all there is */
    bool unfolded = evaluator->machine.asynchronous && evaluator->machine.backend->hides;
    *priced =
        evaluator->fold && (thin ? thin_holds(evaluator->thin, plan) : fold_holds(evaluator->fold, plan));
    return *priced ? price_fold(session, plan, NULL, unfolded, priced, out, cost, e) : ERROR_OK;
}

enum error_code evaluator_price_alike(struct evaluator_session *session, const struct plan *plan,
                                      struct price *out, struct cost *cost, struct error *e)
{
    bool priced = false;
    if (session->evaluator->trusted && !session->doubts)
        TRY(evaluator_price_unfolded(session, plan, false, &priced, out, cost, e));
    return priced ? ERROR_OK : evaluator_price(session, plan, out, cost, e);
}

enum error_code evaluator_price_both(struct evaluator_session *session, const struct plan *plan,
                                     struct price *out, struct cost *cost, struct error *e)
{
    struct price alike;
    TRY(evaluator_price_alike(session, plan, &alike, NULL, e));
    evaluator_session_rest(session);
    TRY(evaluator_price(session, plan, out, cost, e));
    evaluator_session_rest(session);
    session->doubts |= alike.step_ps != out->step_ps || alike.peak_bytes != out->peak_bytes;
    return ERROR_OK;
}

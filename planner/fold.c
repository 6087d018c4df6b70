/* The check of folded prices, before a search relies on them.
 *
 * The experts' plans are priced on the fold, and the best of them, which are near to what a search will look
 * at, on the whole program as well; so are some random lists of decisions. Where step time or peak of one of
 * the former is off by more than MOST_WRONG, or of more than MOST_BEYOND of the latter, more layers are kept;
 * where that is no better, the program is priced as a whole.
 *
 * Where collectives are hidden, so that even the peak is found of all layers' kernels, and the first SURE of
 * either come out the same, to the picosecond and the byte, no others are priced whole: t2b's, t7b's and
 * Llamas' do, and so do the 106 plans that four searches on them had priced whole at their ends, but one,
 * whose step is 0.0014 % apart. What is only compared with another plan is not priced whole there either
 * (evaluator_price_alike). */
#include "planner/fold.h"

#include "analysis/fold.h"
#include "base/threads.h"
#include "mcts/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST_KEPT = 4,
    FEWEST_SURE = 3, /* where that is sure, and one of the first experts leaves a part of the memory */
    FIRST = 16,
    ROOM_PART = 4, /* chosen, not tuned */
    MOST_KEPT = 8, /* beyond that little is saved on the depths that there are */
    CHECKED = 8,
    RANDOM = 16,
    SURE = 4,
    AT_ONCE = 2, /* of these */
    MOST_BEYOND = 2,
    MOST_DECISIONS = 8, /* of a random list */
    MOST_EXPERTS = 128
};
static const double MOST_WRONG = 0.005;

struct candidate {
    uint32_t index;
    struct cost cost;
};

static int cheaper(const void *left, const void *right)
{
    const struct candidate *one = left, *other = right;
    if (one->cost.over_steps != other->cost.over_steps)
        return one->cost.over_steps < other->cost.over_steps ? -1 : 1;
    if (one->cost.c != other->cost.c)
        return one->cost.c < other->cost.c ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

/* A plan's whole price, which all folds are checked against. */
struct known {
    struct price price;
    bool there;
};

struct wholes {
    struct known experts[MOST_EXPERTS], random[RANDOM];
};

/* A plan to price, and what it was priced at. */
struct trial {
    const struct plan_decision *decisions;
    uint32_t count;
    struct known *known;
    struct price folded, whole, unfolded;
    bool alike;       /* unfolded is there, and as the whole */
    struct cost cost; /* of the fold */
};

/* the ways to price a trial, as bits */
enum { ON_FOLD = 1, ON_WHOLE = 2, UNFOLDED = 4 };

struct check {
    const struct evaluator *evaluator;
    const struct plan_context *context;
    uint32_t threads;
    struct evaluator_session *sessions[SEARCH_THREADS];
    struct plan plans[SEARCH_THREADS];
    /* the round that is under way; experts by thread i modulo the threads where they can, as the search has
     * them, and finds them in its sessions */
    struct trial *trials;
    unsigned ways;
    struct wholes *wholes; /* borrowed */
    bool doubted;          /* peaks near the limit */
    bool sure, only_sure;  /* only_sure: else it is of no use */
    enum error_code codes[SEARCH_THREADS];
    struct error errors[SEARCH_THREADS];
};

/* Is it the same to whoever compares plans? */
static bool same_price(const struct price *one, const struct price *other)
{
    return one->step_ps == other->step_ps && one->compute_ps == other->compute_ps &&
           one->communication_ps == other->communication_ps && one->peak_bytes == other->peak_bytes &&
           one->rematerialised_bytes == other->rematerialised_bytes;
}

static enum error_code price_whole(struct evaluator_session *session, const struct plan *plan,
                                   struct trial *trial, struct error *e)
{
    if (!trial->known->there)
        TRY(evaluator_price(session, plan, &trial->known->price, NULL, e));
    trial->known->there = true;
    trial->whole = trial->known->price;
    return ERROR_OK;
}

static enum error_code price_trial(struct check *check, uint32_t thread, struct trial *trial, struct error *e)
{
    struct evaluator_session *session = check->sessions[thread];
    struct plan *plan = &check->plans[thread];
    plan_copy(plan, plan_context_start(check->context));
    for (uint32_t i = 0; i < trial->count; i++)
        plan_apply(check->context, plan, trial->decisions[i]);
    if (check->ways & ON_FOLD)
        TRY(evaluator_price_folded(session, plan, NULL, &trial->folded, &trial->cost, e));
    if (check->ways & UNFOLDED)
        TRY(evaluator_price_unfolded(session, plan, false, &trial->alike, &trial->unfolded, NULL, e));
    if (check->ways & ON_WHOLE)
        TRY(price_whole(session, plan, trial, e));
    trial->alike = trial->alike && same_price(&trial->unfolded, &trial->whole);
    return ERROR_OK;
}

static void price_one(void *user, uint32_t number, uint32_t i)
{
    struct check *check = user;
    if (!check->codes[number])
        check->codes[number] = price_trial(check, number, &check->trials[i], &check->errors[number]);
}

static enum error_code price_trials(struct check *check, struct trial *trials, uint32_t count, unsigned ways,
                                    struct error *e)
{
    check->trials = trials;
    check->ways = ways;
    memset(check->codes, 0, sizeof check->codes);
    threads_share(check->threads, count, price_one, check);
    for (uint32_t i = 0; i < check->threads; i++)
        if (check->codes[i]) {
            *e = check->errors[i];
            return check->codes[i];
        }
    return ERROR_OK;
}

static double apart(int64_t folded, int64_t whole)
{
    return whole ? fabs((double)folded / (double)whole - 1) : 0;
}

/* Peaks of an order that hides collectives, and the time of what is computed again, matter near the limit
 * alone. Where they are wrong there, they are not asked of folds any more. */
static double error_of(struct check *check, const struct price *folded, const struct price *whole)
{
    int64_t limit = evaluator_machine(check->evaluator)->memory_limit_bytes;
    double step = apart(folded->step_ps, whole->step_ps),
           either = fmax(step, apart(folded->peak_bytes, whole->peak_bytes));
    bool again = folded->rematerialised_bytes || whole->rematerialised_bytes;
    if (folded->peak_order != COST_ORDER_HIDING || whole->peak_order != COST_ORDER_HIDING)
        return either;
    if (price_near_limit(folded, limit) && either > MOST_WRONG)
        check->doubted = true;
    return again ? 0 : step;
}

/* Is even a peak found of all layers' kernels? */
static bool hides(const struct evaluator *evaluator)
{
    const struct cost_machine *machine = evaluator_machine(evaluator);
    return machine->asynchronous && machine->backend->hides;
}

/* random lists of decisions; how many */
static uint32_t draw(const struct check *check, struct trial trials[RANDOM],
                     struct plan_decision lists[RANDOM][MOST_DECISIONS])
{
    struct rng rng = {1};
    uint32_t count;
    const struct plan_decision *decisions = plan_context_decisions(check->context, &count);
    for (uint32_t i = 0; i < RANDOM && count; i++) {
        trials[i].decisions = lists[i];
        trials[i].known = &check->wholes->random[i];
        for (uint64_t k = 1 + rng_below(&rng, MOST_DECISIONS); k-- > 0;)
            lists[i][trials[i].count++] = decisions[rng_below(&rng, count)];
    }
    return count ? RANDOM : 0;
}

static enum error_code compare_random(struct check *check, struct trial *trials, struct planner_fold *out,
                                      struct error *e)
{
    TRY(price_trials(check, trials, out->random, ON_FOLD | ON_WHOLE, e));
    for (uint32_t i = 0; i < out->random; i++)
        out->beyond += error_of(check, &trials[i].folded, &trials[i].whole) > MOST_WRONG;
    return ERROR_OK;
}

/* Are the first SURE of them the same unfolded and whole? A few at a time: most that are not show it soon. */
static enum error_code compare_alike(struct check *check, const struct trial *first, struct error *e)
{
    struct trial trials[SURE];
    memcpy(trials, first, sizeof trials);
    for (uint32_t at = 0; at < SURE && check->sure; at += AT_ONCE) {
        TRY(price_trials(check, trials + at, AT_ONCE, UNFOLDED | ON_WHOLE, e));
        for (uint32_t i = at; i < at + AT_ONCE; i++)
            check->sure &= trials[i].alike;
    }
    return ERROR_OK;
}

/* of experts priced on the fold, where nobody can be sure */
static enum error_code compare_near(struct check *check, struct trial *best, struct trial *random,
                                    struct planner_fold *out, struct error *e)
{
    TRY(price_trials(check, best, out->checked, ON_WHOLE, e));
    for (uint32_t i = 0; i < out->checked && out->worst <= MOST_WRONG; i++)
        out->worst = fmax(out->worst, error_of(check, &best[i].folded, &best[i].whole));
    return out->worst <= MOST_WRONG ? compare_random(check, random, out, e) : ERROR_OK;
}

/* the experts that are cheapest on the fold */
static enum error_code find_best(struct check *check, const struct plan_baseline *experts, uint32_t count,
                                 struct trial best[CHECKED], struct planner_fold *out, struct error *e)
{
    struct candidate candidates[MOST_EXPERTS];
    struct trial trials[MOST_EXPERTS] = {0};
    count = count < MOST_EXPERTS ? count : MOST_EXPERTS;
    for (uint32_t i = 0; i < count; i++)
        trials[i] = (struct trial){.decisions = experts[i].decisions,
                                   .count = experts[i].count,
                                   .known = &check->wholes->experts[i]};
    TRY(price_trials(check, trials, count, ON_FOLD, e));
    for (uint32_t i = 0; i < count; i++)
        candidates[i] = (struct candidate){.index = i, .cost = trials[i].cost};
    qsort(candidates, count, sizeof *candidates, cheaper);
    out->checked = count < CHECKED ? count : CHECKED;
    for (uint32_t i = 0; i < out->checked; i++)
        best[i] = trials[candidates[i].index];
    return ERROR_OK;
}

/* Does one of the first experts leave a part of the memory? */
static enum error_code look_for_room(struct check *check, const struct plan_baseline *experts, uint32_t count,
                                     bool *room, struct error *e)
{
    struct trial trials[FIRST] = {0};
    int64_t limit = evaluator_machine(check->evaluator)->memory_limit_bytes;
    count = count < FIRST ? count : FIRST;
    for (uint32_t i = 0; i < count; i++)
        trials[i] = (struct trial){.decisions = experts[i].decisions, .count = experts[i].count};
    TRY(price_trials(check, trials, count, ON_FOLD, e));
    *room = false;
    for (uint32_t i = 0; i < count; i++)
        *room |= trials[i].folded.peak_bytes <= limit - limit / ROOM_PART;
    return ERROR_OK;
}

static enum error_code compare(struct check *check, const struct plan_baseline *experts, uint32_t count,
                               struct planner_fold *out, struct error *e)
{
    struct trial best[CHECKED], random[RANDOM] = {0};
    struct plan_decision lists[RANDOM][MOST_DECISIONS];
    const struct planner_fold none = {.layers = out->layers, .random = draw(check, random, lists)};
    *out = none;
    check->sure = hides(check->evaluator) && none.random >= SURE && count >= SURE;
    if (check->sure && check->only_sure)
        TRY(look_for_room(check, experts, count, &check->sure, e));
    if (check->sure)
        TRY(compare_alike(check, random, e));
    if (check->only_sure && !check->sure)
        return ERROR_OK;
    TRY(find_best(check, experts, count, best, out, e));
    if (check->sure)
        TRY(compare_alike(check, best, e));
    if (check->sure)
        out->checked = out->random = SURE;
    else if (check->only_sure)
        *out = none;
    else
        return compare_near(check, best, random, out, e);
    return ERROR_OK;
}

static bool is_good(const struct planner_fold *fold)
{
    return fold->checked && fold->worst <= MOST_WRONG && fold->beyond <= MOST_BEYOND;
}

/* sessions: filled where the fold is good enough */
static enum error_code try_fold(struct evaluator *evaluator, struct wholes *wholes, bool only_sure,
                                uint32_t threads, struct evaluator_session **sessions,
                                struct planner_fold *out, struct error *e)
{
    struct check check = {.evaluator = evaluator,
                          .context = evaluator_context(evaluator),
                          .threads = threads,
                          .wholes = wholes,
                          .only_sure = only_sure};
    uint32_t count;
    const struct plan_context *thin = evaluator_thin_context(evaluator);
    struct plan_baseline *experts = plan_baselines(thin ? thin : check.context, &count);
    for (uint32_t i = 0; i < threads; i++) {
        check.sessions[i] = evaluator_session_create(evaluator);
        plan_init(&check.plans[i], plan_context_nda(check.context), plan_context_mesh(check.context));
    }
    enum error_code code = compare(&check, experts, count, out, e);
    for (uint32_t i = 0; i < threads; i++) {
        plan_release(&check.plans[i]);
        if (code == ERROR_OK && is_good(out) && sessions && !check.doubted)
            sessions[i] = check.sessions[i];
        else
            evaluator_session_destroy(check.sessions[i]);
    }
    if (check.doubted)
        evaluator_doubt_peaks(evaluator);
    if (check.sure) { /* next to nothing is priced whole from now on */
        evaluator_trust_fold(evaluator);
        evaluator_rest(evaluator);
    }
    free(experts);
    return code;
}

static enum error_code choose(struct evaluator *evaluator, struct wholes *wholes, uint32_t threads,
                              struct evaluator_session **sessions, struct planner_fold *out, struct error *e)
{
    double least = 0;
    for (uint32_t kept = hides(evaluator) ? FEWEST_SURE : FEWEST_KEPT; kept <= MOST_KEPT;
         kept += kept < FEWEST_KEPT ? FEWEST_KEPT - kept : 2) {
        if (!evaluator_fold(evaluator, kept))
            break;
        bool only_sure = kept < FEWEST_KEPT;
        if (only_sure && evaluator_fold_of(evaluator)->deep) /* the walk is a tenth of what a price takes */
            continue;
        out->layers = evaluator_fold_layers(evaluator);
        enum error_code code = try_fold(evaluator, wholes, only_sure, threads, sessions, out, e);
        if (code != ERROR_OK || is_good(out)) {
            out->kept = kept;
            return code;
        }
        if (only_sure) /* as if it had not been tried */
            *out = (struct planner_fold){0};
        else
            least = least == 0 || out->worst < least ? out->worst : least;
    }
    evaluator_fold(evaluator, 0);
    *out = (struct planner_fold){
        .layers = out->layers, .worst = least, .random = out->random, .beyond = out->beyond};
    return ERROR_OK;
}

enum error_code planner_fold_choose(struct evaluator *evaluator, uint32_t threads,
                                    struct evaluator_session **sessions, struct planner_fold *out,
                                    struct error *e)
{
    struct wholes *wholes = mem_zalloc(1, sizeof *wholes);
    *out = (struct planner_fold){0};
    enum error_code code = choose(evaluator, wholes, threads, sessions, out, e);
    free(wholes);
    return code;
}

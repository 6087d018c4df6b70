/* The search's domain over an evaluator: lists are replayed into plans, plans are walked and priced.
 *
 * A session keeps the plans of every prefix of the last list, because the next list mostly shares one:
 * appending a decision costs one plan_apply. Where the program folds these plans are thin (analysis/thin.h),
 * and a plan with all cells is made only where it is priced as a whole. Decisions without effect are dropped,
 * one by one, as plan_replay does. The domain is immutable and shared; sessions belong to one thread. */
#include "mcts/domain.h"
#include "mcts/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DECISIONS = 16384 }; /* what 16 bits hold, with room for the baselines' */

struct evaluated {
    const struct evaluator *evaluator;
    const struct plan_context *context;
    /* per-action propagation instead of decisions; NULL otherwise */
    struct spread *spread;
};

struct replayer {
    const struct search_domain *domain;
    const struct evaluated *on;
    const struct plan_context *context;     /* of plans[] */
    bool thin;                              /* they are thin */
    uint32_t *queue;                        /* for spread */
    struct evaluator_session *evaluator;    /* borrowed; NULL: replay only */
    struct search_list done;                /* effective decisions so far */
    struct plan plans[SEARCH_MAX_LIST + 1]; /* plans[k]: start + done.at[0 .. k) */
    uint8_t ready[SEARCH_MAX_LIST + 1];     /* plans[k] is initialised */
    struct plan whole;                      /* of a thin one; made at first use */
};

static void init_plan(struct replayer *replayer, uint32_t at, const struct plan *from)
{
    if (replayer->thin)
        evaluator_init_thin(replayer->on->evaluator, &replayer->plans[at], from);
    else
        plan_init_copy(&replayer->plans[at], from);
    replayer->ready[at] = 1;
}

static void *replayer_create(const struct search_domain *domain, struct evaluator_session *evaluator)
{
    struct evaluated *self = domain->self;
    struct replayer *replayer = mem_zalloc(1, sizeof *replayer);
    replayer->domain = domain;
    replayer->on = self;
    if (self->spread)
        replayer->queue = mem_zalloc(spread_queue_size(self->spread), sizeof *replayer->queue);
    replayer->context = self->spread ? NULL : evaluator_thin_context(self->evaluator);
    replayer->thin = replayer->context != NULL;
    if (!replayer->thin)
        replayer->context = self->context;
    replayer->evaluator = evaluator;
    init_plan(replayer, 0, plan_context_start(replayer->context));
    return replayer;
}

static void replayer_destroy(void *session)
{
    struct replayer *replayer = session;
    for (uint32_t i = 0; i <= SEARCH_MAX_LIST; i++)
        if (replayer->ready[i])
            plan_release(&replayer->plans[i]);
    plan_release(&replayer->whole);
    free(replayer->queue);
    free(replayer);
}

static uint32_t apply(struct replayer *replayer, struct plan *plan, uint32_t decision)
{
    if (replayer->on->spread)
        return spread_apply(replayer->on->spread, plan, decision, replayer->queue);
    return plan_apply(replayer->context, plan, replayer->domain->decisions[decision]);
}

/* plans[to] becomes what the one before it is */
static void copy_plan(struct replayer *replayer, uint32_t to)
{
    struct plan *plan = &replayer->plans[to];
    if (!replayer->ready[to])
        init_plan(replayer, to, plan - 1);
    else if (replayer->thin)
        evaluator_copy_thin(replayer->on->evaluator, plan, plan - 1);
    else
        plan_copy(plan, plan - 1);
}

static void replay(void *session, struct search_list *list, struct hash128 *hash)
{
    struct replayer *replayer = session;
    uint32_t shared = 0;
    while (shared < replayer->done.count && shared < list->count &&
           replayer->done.at[shared] == list->at[shared])
        shared++;
    uint32_t k = shared;
    for (uint32_t i = shared; i < list->count; i++) {
        copy_plan(replayer, k + 1);
        if (apply(replayer, &replayer->plans[k + 1], list->at[i]))
            replayer->done.at[k++] = list->at[i];
    }
    replayer->done.count = k;
    *list = replayer->done;
    *hash = replayer->plans[k].hash;
}

/* *plan: borrowed from the session until its next list */
static enum error_code plan_of(struct replayer *replayer, const struct search_list *list,
                               const struct plan **plan, struct error *e)
{
    struct search_list copy = *list;
    struct hash128 hash;
    if (!replayer->evaluator)
        return error_set(e, ERROR_INTERNAL, "a replaying session was asked for a price");
    replay(replayer, &copy, &hash);
    *plan = &replayer->plans[copy.count];
    return ERROR_OK;
}

/* the same with all cells */
static enum error_code fill(struct replayer *replayer, const struct plan **plan, struct error *e)
{
    const struct plan_context *context = replayer->on->context;
    if (!replayer->thin)
        return ERROR_OK;
    if (replayer->whole.cells)
        plan_copy(&replayer->whole, plan_context_start(context));
    else
        plan_init_copy(&replayer->whole, plan_context_start(context));
    for (uint32_t i = 0; i < replayer->done.count; i++)
        plan_apply(context, &replayer->whole, replayer->domain->decisions[replayer->done.at[i]]);
    if (hash128_compare(replayer->whole.hash, (*plan)->hash) != 0)
        return error_set(e, ERROR_INTERNAL, "a plan of the fold has another hash than that of the whole");
    *plan = &replayer->whole;
    return ERROR_OK;
}

static enum error_code price_whole(void *session, const struct search_list *list, struct price *price,
                                   struct cost *cost, struct error *e)
{
    struct replayer *replayer = session;
    const struct plan *plan;
    bool priced = false;
    TRY(plan_of(replayer, list, &plan, e));
    if (evaluator_trusts_fold(replayer->on->evaluator))
        TRY(evaluator_price_unfolded(replayer->evaluator, plan, replayer->thin, &priced, price, cost, e));
    if (priced)
        return ERROR_OK;
    TRY(fill(replayer, &plan, e));
    return evaluator_price(replayer->evaluator, plan, price, cost, e);
}

/* the domain's and that one; NULL: there are none. No step is shorter than its products. */
static const struct price_limits *limits_with(const struct search_domain *domain, int64_t beaten,
                                              struct price_limits *out)
{
    *out = domain->has_limits ? domain->limits : (struct price_limits){INT64_MAX, INT64_MAX, INT64_MAX, 0};
    out->beaten = beaten;
    out->far = beaten && beaten < out->far ? beaten : out->far;
    return domain->has_limits || beaten ? out : NULL;
}

static enum error_code price(void *session, const struct search_list *list, int64_t beaten,
                             struct price *price, struct cost *cost, struct error *e)
{
    struct replayer *replayer = session;
    const struct plan *plan = NULL;
    struct price_limits room;
    const struct price_limits *limits = limits_with(replayer->domain, beaten, &room);
    bool priced = false;
    TRY(plan_of(replayer, list, &plan, e));
    if (!replayer->thin)
        return evaluator_price_folded(replayer->evaluator, plan, limits, price, cost, e);
    TRY(evaluator_price_thin(replayer->evaluator, plan, limits, &priced, price, cost, e));
    return priced ? ERROR_OK : price_whole(session, list, price, cost, e);
}

static struct evaluator_session *evaluator_for_thread(const struct search_domain *domain)
{
    struct evaluated *self = domain->self;
    return evaluator_session_create(self->evaluator);
}

static void destroy(struct search_domain *domain)
{
    if (!domain)
        return;
    spread_destroy(((struct evaluated *)domain->self)->spread);
    free(domain->self);
    free(domain->decisions);
    free(domain->baselines);
    free(domain);
}

static bool same(struct plan_decision one, struct plan_decision other)
{
    return one.group == other.group && one.bits == other.bits && one.axis == other.axis &&
           one.scope == other.scope;
}

/* number of a decision; one that is not offered (a baseline's, below min_effect) gets a number behind
 * those offered */
static uint16_t number(struct search_domain *domain, struct plan_decision decision)
{
    for (uint32_t i = 0; i < domain->total_count; i++)
        if (same(domain->decisions[i], decision))
            return (uint16_t)i;
    domain->decisions = mem_realloc(domain->decisions, domain->total_count + 1, sizeof *domain->decisions);
    domain->decisions[domain->total_count] = decision;
    return (uint16_t)domain->total_count++;
}

static void take_baseline(struct search_domain *domain, const struct plan_baseline *from,
                          struct search_domain_baseline *to)
{
    snprintf(to->name, sizeof to->name, "%s", from->name);
    for (uint32_t k = 0; k < from->count && k < SEARCH_MAX_LIST; k++)
        to->list.at[to->list.count++] = number(domain, from->decisions[k]);
}

/* what experts are built on: their decisions are the same with thin plans */
static const struct plan_context *building_context(const struct evaluated *self)
{
    const struct plan_context *thin = evaluator_thin_context(self->evaluator);
    return thin ? thin : self->context;
}

static void add_baselines(struct search_domain *domain)
{
    uint32_t count;
    struct plan_baseline *baselines = plan_baselines(building_context(domain->self), &count);
    domain->baselines = mem_zalloc(count, sizeof *domain->baselines);
    domain->baseline_count = count;
    for (uint32_t i = 0; i < count; i++)
        take_baseline(domain, &baselines[i], &domain->baselines[i]);
    free(baselines);
}

static struct search_domain_baseline *variants(struct search_domain *domain, const char *name, uint32_t turn,
                                               bool again, uint32_t *count)
{
    const struct evaluated *self = domain->self;
    struct plan_baseline *around = plan_baseline_variants(building_context(self), name, turn, again, count);
    struct search_domain_baseline *list = mem_zalloc((size_t)*count + 1, sizeof *list);
    for (uint32_t i = 0; i < *count; i++)
        take_baseline(domain, &around[i], &list[i]);
    free(around);
    return list;
}

static bool join(struct search_domain *domain, const char *name, const char *one, const char *other,
                 struct search_domain_baseline *out)
{
    const struct evaluated *self = domain->self;
    struct plan_baseline joined;
    if (!plan_baseline_join(building_context(self), name, one, other, &joined))
        return false;
    take_baseline(domain, &joined, out);
    return true;
}

static struct search_domain *create(const struct evaluator *evaluator)
{
    const struct plan_context *context = evaluator_context(evaluator);
    struct search_domain *domain = mem_zalloc(1, sizeof *domain);
    struct evaluated *self = mem_zalloc(1, sizeof *self);
    *self = (struct evaluated){.evaluator = evaluator, .context = context};
    domain->self = self;
    domain->operations = plan_context_nda(context)->program->op_count;
    domain->devices = (uint64_t)mesh_devices(plan_context_mesh(context));
    domain->memory_limit_bytes = evaluator_machine(evaluator)->memory_limit_bytes;
    domain->destroy = destroy;
    domain->session_create = replayer_create;
    domain->session_destroy = replayer_destroy;
    domain->evaluator_create = evaluator_for_thread;
    domain->evaluator_destroy = evaluator_session_destroy;
    domain->replay = replay;
    domain->price = price;
    domain->price_whole = evaluator_fold_layers(evaluator) ? price_whole : NULL;
    return domain;
}

enum error_code search_domain_create(const struct evaluator *evaluator, struct search_domain **out,
                                     struct error *e)
{
    const struct plan_context *context = evaluator_context(evaluator);
    uint32_t count, again;
    const struct plan_decision *offered = plan_context_decisions(context, &count),
                               *regathers = plan_context_regathers(context, &again);
    if (count + again > MAX_DECISIONS)
        return error_set(e, ERROR_UNSUPPORTED_MODULE, "%u decisions are more than the search's %u", count,
                         MAX_DECISIONS);
    struct search_domain *domain = create(evaluator);
    domain->decisions = mem_zalloc(count + again, sizeof *domain->decisions);
    if (count)
        memcpy(domain->decisions, offered, count * sizeof *offered);
    if (again)
        memcpy(domain->decisions + count, regathers, again * sizeof *regathers);
    domain->decision_count = count;
    domain->regather_count = again;
    domain->total_count = count + again;
    add_baselines(domain);
    domain->variants = variants;
    domain->join = join;
    domain->variant_turns = plan_context_mesh(context)->axis_count + 1;
    *out = domain;
    return ERROR_OK;
}

enum error_code search_domain_create_per_action(const struct evaluator *evaluator, struct search_domain **out,
                                                struct error *e)
{
    struct spread *spread = spread_create(evaluator_context(evaluator));
    uint32_t count = spread_decision_count(spread);
    if (count > MAX_DECISIONS) {
        spread_destroy(spread);
        return error_set(e, ERROR_UNSUPPORTED_MODULE, "%u decisions are more than the search's %u", count,
                         MAX_DECISIONS);
    }
    struct search_domain *domain = create(evaluator);
    ((struct evaluated *)domain->self)->spread = spread;
    domain->decision_count = domain->total_count = count;
    *out = domain;
    return ERROR_OK;
}

enum error_code search_create(const struct evaluator *evaluator, const struct search_options *options,
                              struct search **out, struct error *e)
{
    struct search_domain *domain;
    enum error_code code = options && options->method == SEARCH_PER_ACTION
                               ? search_domain_create_per_action(evaluator, &domain, e)
                               : search_domain_create(evaluator, &domain, e);
    return code ? code : search_create_on(domain, options, out, e);
}

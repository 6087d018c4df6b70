/* The search's domain over an evaluator: lists are replayed into plans, plans are walked and priced.
 *
 * A session keeps the plans of every prefix of the last list, because the next list mostly shares one:
 * appending a decision costs one plan_apply. Dropping decisions without effect is done here, one by one, as
 * plan_replay does. The domain is immutable and shared; sessions belong to one thread. */
#include "mcts/domain.h"
#include "mcts/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DECISIONS = 16384 }; /* what 16 bits hold, with room for the baselines' */

struct evaluated {
    const struct evaluator *v;
    const struct plan_context *c;
    /* per-action propagation instead of decisions; NULL otherwise */
    struct spread *spread;
};

struct replayer {
    const struct search_domain *d;
    const struct evaluated *on;
    const struct plan_context *c;
    uint32_t *queue;                        /* for spread */
    struct evaluator_session *evaluator;    /* borrowed; NULL: replay only */
    struct search_list done;                /* effective decisions so far */
    struct plan plans[SEARCH_MAX_LIST + 1]; /* plans[k]: start + done.at[0 .. k) */
    uint8_t ready[SEARCH_MAX_LIST + 1];     /* plans[k] is initialised */
};

static void *replayer_create(const struct search_domain *d, struct evaluator_session *evaluator)
{
    struct evaluated *self = d->self;
    struct replayer *r = mem_zalloc(1, sizeof *r);
    r->d = d;
    r->on = self;
    if (self->spread)
        r->queue = mem_zalloc(spread_queue_size(self->spread), sizeof *r->queue);
    r->c = self->c;
    r->evaluator = evaluator;
    plan_init(&r->plans[0], plan_context_nda(r->c), plan_context_mesh(r->c));
    plan_copy(&r->plans[0], plan_context_start(r->c));
    r->ready[0] = 1;
    return r;
}

static void replayer_destroy(void *session)
{
    struct replayer *r = session;
    for (uint32_t i = 0; i <= SEARCH_MAX_LIST; i++)
        if (r->ready[i])
            plan_release(&r->plans[i]);
    free(r->queue);
    free(r);
}

static uint32_t apply(struct replayer *r, struct plan *p, uint32_t decision)
{
    if (r->on->spread)
        return spread_apply(r->on->spread, p, decision, r->queue);
    return plan_apply(r->c, p, r->d->decisions[decision]);
}

static void replay(void *session, struct search_list *list, struct hash128 *hash)
{
    struct replayer *r = session;
    uint32_t shared = 0;
    while (shared < r->done.count && shared < list->count && r->done.at[shared] == list->at[shared])
        shared++;
    uint32_t k = shared;
    for (uint32_t i = shared; i < list->count; i++) {
        if (!r->ready[k + 1]) {
            plan_init(&r->plans[k + 1], plan_context_nda(r->c), plan_context_mesh(r->c));
            r->ready[k + 1] = 1;
        }
        plan_copy(&r->plans[k + 1], &r->plans[k]);
        if (apply(r, &r->plans[k + 1], list->at[i]))
            r->done.at[k++] = list->at[i];
    }
    r->done.count = k;
    *list = r->done;
    *hash = r->plans[k].hash;
}

static enum error_code price(void *session, const struct search_list *list, struct price *price,
                             struct cost *cost, struct error *e)
{
    struct replayer *r = session;
    struct search_list copy = *list;
    struct hash128 hash;
    if (!r->evaluator)
        return error_set(e, ERROR_INTERNAL, "a replaying session was asked for a price");
    replay(session, &copy, &hash);
    return evaluator_price(r->evaluator, &r->plans[copy.count], price, cost, e);
}

static struct evaluator_session *evaluator_for_thread(const struct search_domain *d)
{
    struct evaluated *self = d->self;
    return evaluator_session_create(self->v);
}

static void destroy(struct search_domain *d)
{
    if (!d)
        return;
    spread_destroy(((struct evaluated *)d->self)->spread);
    free(d->self);
    free(d->decisions);
    free(d->baselines);
    free(d);
}

static bool same(struct plan_decision a, struct plan_decision b)
{
    return a.group == b.group && a.bits == b.bits && a.axis == b.axis && a.scope == b.scope;
}

/* number of a decision; one that is not offered (a baseline's, below min_effect) gets a number behind
 * those offered */
static uint16_t number(struct search_domain *d, struct plan_decision x)
{
    for (uint32_t i = 0; i < d->total_count; i++)
        if (same(d->decisions[i], x))
            return (uint16_t)i;
    d->decisions = mem_realloc(d->decisions, d->total_count + 1, sizeof *d->decisions);
    d->decisions[d->total_count] = x;
    return (uint16_t)d->total_count++;
}

static void add_baselines(struct search_domain *d, const struct plan_context *c)
{
    uint32_t count;
    struct plan_baseline *baselines = plan_baselines(c, &count);
    d->baselines = mem_zalloc(count, sizeof *d->baselines);
    d->baseline_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct search_domain_baseline *b = &d->baselines[i];
        snprintf(b->name, sizeof b->name, "%s", baselines[i].name);
        for (uint32_t k = 0; k < baselines[i].count && k < SEARCH_MAX_LIST; k++)
            b->list.at[b->list.count++] = number(d, baselines[i].decisions[k]);
    }
    free(baselines);
}

static struct search_domain *create(const struct evaluator *v)
{
    const struct plan_context *c = evaluator_context(v);
    struct search_domain *d = mem_zalloc(1, sizeof *d);
    struct evaluated *self = mem_zalloc(1, sizeof *self);
    *self = (struct evaluated){.v = v, .c = c};
    d->self = self;
    d->operations = plan_context_nda(c)->program->op_count;
    d->devices = (uint64_t)mesh_devices(plan_context_mesh(c));
    d->destroy = destroy;
    d->session_create = replayer_create;
    d->session_destroy = replayer_destroy;
    d->evaluator_create = evaluator_for_thread;
    d->evaluator_destroy = evaluator_session_destroy;
    d->replay = replay;
    d->price = price;
    return d;
}

enum error_code search_domain_create(const struct evaluator *v, struct search_domain **out, struct error *e)
{
    const struct plan_context *c = evaluator_context(v);
    uint32_t count, again;
    const struct plan_decision *offered = plan_context_decisions(c, &count),
                               *regathers = plan_context_regathers(c, &again);
    if (count + again > MAX_DECISIONS)
        return error_set(e, ERROR_UNSUPPORTED_MODULE, "%u decisions are more than the search's %u", count,
                         MAX_DECISIONS);
    struct search_domain *d = create(v);
    d->decisions = mem_zalloc(count + again, sizeof *d->decisions);
    if (count)
        memcpy(d->decisions, offered, count * sizeof *offered);
    if (again)
        memcpy(d->decisions + count, regathers, again * sizeof *regathers);
    d->decision_count = count;
    d->regather_count = again;
    d->total_count = count + again;
    add_baselines(d, c);
    *out = d;
    return ERROR_OK;
}

enum error_code search_domain_create_per_action(const struct evaluator *v, struct search_domain **out,
                                                struct error *e)
{
    struct spread *spread = spread_create(evaluator_context(v));
    uint32_t count = spread_decision_count(spread);
    if (count > MAX_DECISIONS) {
        spread_destroy(spread);
        return error_set(e, ERROR_UNSUPPORTED_MODULE, "%u decisions are more than the search's %u", count,
                         MAX_DECISIONS);
    }
    struct search_domain *d = create(v);
    ((struct evaluated *)d->self)->spread = spread;
    d->decision_count = d->total_count = count;
    *out = d;
    return ERROR_OK;
}

enum error_code search_create(const struct evaluator *v, const struct search_options *options,
                              struct search **out, struct error *e)
{
    struct search_domain *d;
    enum error_code code = options && options->method == SEARCH_PER_ACTION
                               ? search_domain_create_per_action(v, &d, e)
                               : search_domain_create(v, &d, e);
    return code ? code : search_create_on(d, options, out, e);
}

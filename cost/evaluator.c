/* Walk + price with everything that can be shared shared: the program's facts by all threads, working memory
 * and prices already known by all evaluations of a session.
 *
 * Prices are remembered by plan hash in a table of fixed size: a slot per hash, the newest wins. What is
 * remembered is exact, so results do not depend on what was evaluated before. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MEMO_BITS = 14
}; /* 16,384 prices a session, 2 MiB: a search makes at most a few thousand. Not tuned */

struct evaluator {
    const struct plan_context *context; /* borrowed */
    struct cost_machine machine;
    struct spmd_options options;
    struct price_program *program;
    struct price unsharded;
};

struct memo {
    struct hash128 hash;
    struct price price;
    bool used;
};

struct evaluator_session {
    const struct evaluator *evaluator;
    struct spmd_local local;
    struct price_scratch *scratch;
    struct memo *memo;
};

static enum error_code price_unsharded(struct evaluator *v, struct error *e)
{
    struct plan nothing;
    plan_init(&nothing, plan_context_nda(v->context), plan_context_mesh(v->context));
    struct evaluator_session *s = evaluator_session_create(v);
    enum error_code code = spmd_walk(v->context, &nothing, &v->options, &s->local, e);
    if (code == ERROR_OK) {
        price_reorder(&s->local, &s->scratch, (enum cost_order)v->machine.order);
        price_local(&s->local, &v->machine, &s->scratch, &v->unsharded);
    }
    evaluator_session_destroy(s);
    plan_release(&nothing);
    return code;
}

enum error_code evaluator_create(const struct plan_context *c, const struct cost_machine *machine,
                                 const struct spmd_options *options, struct evaluator **out, struct error *e)
{
    struct evaluator *v = mem_zalloc(1, sizeof *v);
    v->context = c;
    v->machine = *machine;
    v->options = *options;
    v->program = price_program_create(plan_context_nda(c));
    enum error_code code = price_unsharded(v, e);
    if (code != ERROR_OK) {
        evaluator_destroy(v);
        return code;
    }
    *out = v;
    return ERROR_OK;
}

void evaluator_destroy(struct evaluator *v)
{
    if (!v)
        return;
    price_program_destroy(v->program);
    free(v);
}

const struct plan_context *evaluator_context(const struct evaluator *v)
{
    return v->context;
}

const struct cost_machine *evaluator_machine(const struct evaluator *v)
{
    return &v->machine;
}

const struct spmd_options *evaluator_options(const struct evaluator *v)
{
    return &v->options;
}

const struct price *evaluator_unsharded(const struct evaluator *v)
{
    return &v->unsharded;
}

struct evaluator_session *evaluator_session_create(const struct evaluator *v)
{
    struct evaluator_session *s = mem_zalloc(1, sizeof *s);
    s->evaluator = v;
    s->scratch = price_scratch_create(v->program);
    s->memo = mem_zalloc((size_t)1 << MEMO_BITS, sizeof *s->memo);
    return s;
}

void evaluator_session_destroy(struct evaluator_session *s)
{
    if (!s)
        return;
    spmd_local_release(&s->local);
    price_scratch_destroy(s->scratch);
    free(s->memo);
    free(s);
}

enum error_code evaluator_price(struct evaluator_session *s, const struct plan *p, struct price *out,
                                struct cost *cost, struct error *e)
{
    const struct evaluator *v = s->evaluator;
    struct memo *m = &s->memo[p->hash.lo & (((uint64_t)1 << MEMO_BITS) - 1)];
    if (!m->used || hash128_compare(m->hash, p->hash) != 0) {
        struct price fresh;
        enum error_code code = spmd_walk(v->context, p, &v->options, &s->local, e);
        if (code != ERROR_OK)
            return code;
        price_reorder(&s->local, &s->scratch, (enum cost_order)v->machine.order);
        price_local(&s->local, &v->machine, &s->scratch, &fresh);
        *m = (struct memo){p->hash, fresh, true};
    }
    *out = m->price;
    if (cost)
        *cost = price_cost(out, &v->unsharded, v->machine.memory_limit_bytes);
    return ERROR_OK;
}

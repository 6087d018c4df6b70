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

static enum error_code price_unsharded(struct evaluator *evaluator, struct error *e)
{
    struct plan nothing;
    plan_init(&nothing, plan_context_nda(evaluator->context), plan_context_mesh(evaluator->context));
    struct evaluator_session *evaluator_session = evaluator_session_create(evaluator);
    enum error_code code =
        spmd_walk(evaluator->context, &nothing, &evaluator->options, &evaluator_session->local, e);
    if (code == ERROR_OK) {
        price_reorder(&evaluator_session->local, &evaluator->machine, &evaluator_session->scratch,
                      (enum cost_order)evaluator->machine.order);
        price_local(&evaluator_session->local, &evaluator->machine, &evaluator_session->scratch,
                    &evaluator->unsharded);
    }
    evaluator_session_destroy(evaluator_session);
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
    price_program_destroy(evaluator->program);
    free(evaluator);
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

const struct price *evaluator_unsharded(const struct evaluator *evaluator)
{
    return &evaluator->unsharded;
}

struct evaluator_session *evaluator_session_create(const struct evaluator *evaluator)
{
    struct evaluator_session *evaluator_session = mem_zalloc(1, sizeof *evaluator_session);
    evaluator_session->evaluator = evaluator;
    evaluator_session->scratch = price_scratch_create(evaluator->program);
    evaluator_session->memo = mem_zalloc((size_t)1 << MEMO_BITS, sizeof *evaluator_session->memo);
    return evaluator_session;
}

void evaluator_session_destroy(struct evaluator_session *evaluator_session)
{
    if (!evaluator_session)
        return;
    spmd_local_release(&evaluator_session->local);
    price_scratch_destroy(evaluator_session->scratch);
    free(evaluator_session->memo);
    free(evaluator_session);
}

enum error_code evaluator_price(struct evaluator_session *evaluator_session, const struct plan *plan,
                                struct price *out, struct cost *cost, struct error *e)
{
    const struct evaluator *evaluator = evaluator_session->evaluator;
    struct memo *memo = &evaluator_session->memo[plan->hash.lo & (((uint64_t)1 << MEMO_BITS) - 1)];
    if (!memo->used || hash128_compare(memo->hash, plan->hash) != 0) {
        struct price fresh;
        enum error_code code =
            spmd_walk(evaluator->context, plan, &evaluator->options, &evaluator_session->local, e);
        if (code != ERROR_OK)
            return code;
        price_reorder(&evaluator_session->local, &evaluator->machine, &evaluator_session->scratch,
                      (enum cost_order)evaluator->machine.order);
        price_local(&evaluator_session->local, &evaluator->machine, &evaluator_session->scratch, &fresh);
        *memo = (struct memo){plan->hash, fresh, true};
    }
    *out = memo->price;
    if (cost)
        *cost = price_cost(out, &evaluator->unsharded, evaluator->machine.memory_limit_bytes);
    return ERROR_OK;
}

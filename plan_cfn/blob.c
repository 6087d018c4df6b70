/* An answer as bytes: what the task `network` leaves for the one that writes the artifacts.
 *
 *   head (magic, sizes, bound, the plan's hash, a check over all) | factors: space, factor, axis each
 *
 * Factors only: a price is never taken from bytes. The reader applies the factors, compares the plan's hash
 * and prices the plan again, so damaged or foreign bytes are refused and equal answers have equal bytes
 * (padding is zero). */
#include "plan_cfn/plan_cfn.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1 };

struct head {
    char magic[8];
    uint32_t format, count, rounds, has_bound;
    int64_t bound_ps;
    uint64_t hash_hi, hash_lo, check; /* check: of the factors and of this head with check 0 */
};

static uint64_t check_of(struct head head, const struct plan_factor *at)
{
    head.check = 0;
    uint64_t sum = hash_bytes(&head, sizeof head, 1);
    for (uint32_t i = 0; i < head.count; i++)
        sum = hash_combine(sum, (uint64_t)at[i].space << 16 | (uint64_t)at[i].factor << 8 | at[i].axis);
    return sum;
}

void plan_cfn_answer_write(const struct plan_cfn_answer *cfn_answer, unsigned char **bytes, size_t *size)
{
    struct head head = {.magic = "network",
                        .format = FORMAT,
                        .count = cfn_answer->factors.count,
                        .rounds = cfn_answer->rounds,
                        .has_bound = cfn_answer->has_bound,
                        .bound_ps = cfn_answer->bound_ps,
                        .hash_hi = cfn_answer->hash.hi,
                        .hash_lo = cfn_answer->hash.lo};
    head.check = check_of(head, cfn_answer->factors.at);
    *size = sizeof head + cfn_answer->factors.count * sizeof *cfn_answer->factors.at;
    *bytes = mem_zalloc(*size, 1);
    memcpy(*bytes, &head, sizeof head);
    for (uint32_t i = 0; i < head.count; i++) { /* field by field: padding stays zero */
        unsigned char *at = *bytes + sizeof head + i * sizeof *cfn_answer->factors.at;
        memcpy(at + offsetof(struct plan_factor, space), &cfn_answer->factors.at[i].space,
               sizeof cfn_answer->factors.at[i].space);
        at[offsetof(struct plan_factor, factor)] = cfn_answer->factors.at[i].factor;
        at[offsetof(struct plan_factor, axis)] = cfn_answer->factors.at[i].axis;
    }
}

static enum error_code price_again(const struct evaluator *evaluator, struct plan_cfn_answer *cfn_answer,
                                   struct error *e)
{
    const struct plan_context *context = evaluator_context(evaluator);
    struct plan plan;
    plan_init(&plan, plan_context_nda(context), plan_context_mesh(context));
    plan_copy(&plan, plan_context_start(context));
    enum error_code code = ERROR_OK;
    if (!plan_factors_apply(context, cfn_answer->factors.at, cfn_answer->factors.count, &plan) ||
        hash128_compare(plan.hash, cfn_answer->hash) != 0)
        code = error_set(e, ERROR_INTERNAL, "a network's answer does not lead to its plan");
    if (code == ERROR_OK) {
        struct evaluator_session *evaluator_session = evaluator_session_create(evaluator);
        code = evaluator_price_alike(evaluator_session, &plan, &cfn_answer->price, &cfn_answer->cost, e);
        evaluator_session_destroy(evaluator_session);
    }
    plan_release(&plan);
    return code;
}

enum error_code plan_cfn_answer_read(const struct evaluator *evaluator, const void *bytes, size_t size,
                                     struct plan_cfn_answer *out, struct error *e)
{
    struct head head;
    *out = (struct plan_cfn_answer){0};
    if (size < sizeof head)
        return error_set(e, ERROR_INTERNAL, "a network's answer is too short");
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.magic, "network", 8) != 0 || head.format != FORMAT || head.has_bound > 1 ||
        size != sizeof head + (size_t)head.count * sizeof *out->factors.at)
        return error_set(e, ERROR_INTERNAL, "a network's answer has another form");
    out->factors.at = mem_alloc((size_t)head.count * sizeof *out->factors.at + 1);
    out->factors.count = head.count;
    memcpy(out->factors.at, (const unsigned char *)bytes + sizeof head,
           (size_t)head.count * sizeof *out->factors.at);
    out->hash = (struct hash128){head.hash_hi, head.hash_lo};
    out->rounds = head.rounds;
    out->has_bound = head.has_bound;
    out->bound_ps = head.bound_ps;
    enum error_code code = head.check == check_of(head, out->factors.at)
                               ? price_again(evaluator, out, e)
                               : error_set(e, ERROR_INTERNAL, "a network's answer was damaged");
    if (code != ERROR_OK)
        plan_cfn_answer_release(out);
    return code;
}

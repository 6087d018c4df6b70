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

static uint64_t check_of(struct head h, const struct plan_factor *at)
{
    h.check = 0;
    uint64_t sum = hash_bytes(&h, sizeof h, 1);
    for (uint32_t i = 0; i < h.count; i++)
        sum = hash_combine(sum, (uint64_t)at[i].space << 16 | (uint64_t)at[i].factor << 8 | at[i].axis);
    return sum;
}

void plan_cfn_answer_write(const struct plan_cfn_answer *a, unsigned char **bytes, size_t *size)
{
    struct head h = {.magic = "network",
                     .format = FORMAT,
                     .count = a->factors.count,
                     .rounds = a->rounds,
                     .has_bound = a->has_bound,
                     .bound_ps = a->bound_ps,
                     .hash_hi = a->hash.hi,
                     .hash_lo = a->hash.lo};
    h.check = check_of(h, a->factors.at);
    *size = sizeof h + a->factors.count * sizeof *a->factors.at;
    *bytes = mem_zalloc(*size, 1);
    memcpy(*bytes, &h, sizeof h);
    for (uint32_t i = 0; i < h.count; i++) { /* field by field: padding stays zero */
        unsigned char *at = *bytes + sizeof h + i * sizeof *a->factors.at;
        memcpy(at + offsetof(struct plan_factor, space), &a->factors.at[i].space,
               sizeof a->factors.at[i].space);
        at[offsetof(struct plan_factor, factor)] = a->factors.at[i].factor;
        at[offsetof(struct plan_factor, axis)] = a->factors.at[i].axis;
    }
}

static enum error_code price_again(const struct evaluator *v, struct plan_cfn_answer *a, struct error *e)
{
    const struct plan_context *c = evaluator_context(v);
    struct plan p;
    plan_init(&p, plan_context_nda(c), plan_context_mesh(c));
    plan_copy(&p, plan_context_start(c));
    enum error_code code = ERROR_OK;
    if (!plan_factors_apply(c, a->factors.at, a->factors.count, &p) || hash128_compare(p.hash, a->hash) != 0)
        code = error_set(e, ERROR_INTERNAL, "a network's answer does not lead to its plan");
    if (code == ERROR_OK) {
        struct evaluator_session *s = evaluator_session_create(v);
        code = evaluator_price(s, &p, &a->price, &a->cost, e);
        evaluator_session_destroy(s);
    }
    plan_release(&p);
    return code;
}

enum error_code plan_cfn_answer_read(const struct evaluator *v, const void *bytes, size_t size,
                                     struct plan_cfn_answer *out, struct error *e)
{
    struct head h;
    *out = (struct plan_cfn_answer){0};
    if (size < sizeof h)
        return error_set(e, ERROR_INTERNAL, "a network's answer is too short");
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, "network", 8) != 0 || h.format != FORMAT || h.has_bound > 1 ||
        size != sizeof h + (size_t)h.count * sizeof *out->factors.at)
        return error_set(e, ERROR_INTERNAL, "a network's answer has another form");
    out->factors.at = mem_alloc((size_t)h.count * sizeof *out->factors.at + 1);
    out->factors.count = h.count;
    memcpy(out->factors.at, (const unsigned char *)bytes + sizeof h,
           (size_t)h.count * sizeof *out->factors.at);
    out->hash = (struct hash128){h.hash_hi, h.hash_lo};
    out->rounds = h.rounds;
    out->has_bound = h.has_bound;
    out->bound_ps = h.bound_ps;
    enum error_code code = h.check == check_of(h, out->factors.at)
                               ? price_again(v, out, e)
                               : error_set(e, ERROR_INTERNAL, "a network's answer was damaged");
    if (code != ERROR_OK)
        plan_cfn_answer_release(out);
    return code;
}

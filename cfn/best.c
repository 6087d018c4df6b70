/* The best answer and the best bound of all attempts at one problem, kept apart from the session that found
 * them.
 *
 * A job that lost its worker begins anew and must end with the bytes it would have had at first, so the new
 * session never sees what was known before. This file holds that knowledge beside it, merges (cheaper
 * assignment, higher bound, both may come from different attempts) and offers it to the answer once the
 * session is over.
 *
 * Every assignment passes the referee again on its way in, also from bytes: what is read back claims a cost,
 * and the claim is not believed. */
#include "cfn/best.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* takes values where the referee finds them feasible and cheaper than what b has */
static enum error_code add(struct cfn_best *b, const struct cfn_problem *p, int32_t *values, struct error *e)
{
    struct cfn_verdict v;
    enum error_code code = cfn_evaluate(p, values, &v, e);
    if (code != ERROR_OK || !v.feasible || (b->values && v.cost >= b->cost)) {
        free(values);
        return code;
    }
    free(b->values);
    b->values = values;
    b->cost = v.cost;
    return ERROR_OK;
}

static int32_t *copy(const struct cfn_problem *p, const int32_t *values)
{
    size_t size = (size_t)p->node_count * sizeof *values;
    int32_t *out = mem_alloc(size + sizeof *out);
    memcpy(out, values, size);
    return out;
}

static bool raise(struct cfn_best *b, __int128 bound)
{
    bool higher = !b->has_bound || bound > b->bound;
    if (higher)
        b->bound = bound;
    b->has_bound = true;
    return higher;
}

enum error_code cfn_best_of(const struct cfn_session *s, struct cfn_best *out, struct error *e)
{
    struct cfn_found found;
    const struct cfn_answer *a = &s->answer;
    *out = (struct cfn_best){.has_bound = a->has_bound, .bound = a->bound};
    if (a->values && a->status != CFN_STATUS_INFEASIBLE) {
        out->values = copy(s->problem, a->values);
        out->cost = a->verdict.cost;
    }
    if (s->over || !s->search.m)
        return ERROR_OK;
    cfn_search_result(&s->search, &found);
    if (found.bound != INT64_MIN) /* the first reading knows nothing of what uses large costs */
        raise(out, s->reading == 0 && found.bound > s->large ? s->large : found.bound);
    enum error_code code = found.values ? add(out, s->problem, found.values, e) : ERROR_OK;
    if (code != ERROR_OK)
        cfn_best_release(out);
    return code;
}

bool cfn_best_merge(struct cfn_best *into, struct cfn_best *from)
{
    bool better = from->values && (!into->values || from->cost < into->cost);
    bool higher = from->has_bound && raise(into, from->bound);
    if (better) {
        free(into->values);
        into->values = from->values;
        into->cost = from->cost;
        from->values = NULL;
    }
    cfn_best_release(from);
    return better || higher;
}

void cfn_best_release(struct cfn_best *b)
{
    free(b->values);
    *b = (struct cfn_best){0};
}

/* ---- bytes: the bound, then the values when there are some ---- */

struct kept {
    __int128 bound;
    uint64_t has_bound;
    uint64_t nodes;
};

void cfn_best_write(const struct cfn_best *b, const struct cfn_problem *p, struct text *out)
{
    struct kept k = {.bound = b->has_bound ? b->bound : 0,
                     .has_bound = b->has_bound,
                     .nodes = b->values ? p->node_count : 0};
    text_add_n(out, (const char *)&k, sizeof k);
    if (k.nodes)
        text_add_n(out, (const char *)b->values, (size_t)k.nodes * sizeof *b->values);
}

enum error_code cfn_best_read(const struct cfn_problem *p, const void *bytes, size_t size,
                              struct cfn_best *out, struct error *e)
{
    struct kept k;
    *out = (struct cfn_best){0};
    if (size < sizeof k)
        return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of an answer");
    memcpy(&k, bytes, sizeof k);
    if (k.has_bound > 1 || (k.nodes && k.nodes != p->node_count) ||
        size != sizeof k + (size_t)k.nodes * sizeof *out->values)
        return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of an answer to this problem");
    if (k.nodes) {
        enum error_code code = add(out, p, copy(p, (const int32_t *)((const char *)bytes + sizeof k)), e);
        if (code == ERROR_OK && !out->values)
            code = error_set(e, ERROR_INVALID_REQUEST, "this answer is not feasible");
        if (code != ERROR_OK)
            return code;
    }
    out->has_bound = k.has_bound;
    out->bound = k.bound;
    return ERROR_OK;
}

enum error_code cfn_best_offer(const struct cfn_best *b, struct cfn_session *s, struct error *e)
{
    struct cfn_answer *a = &s->answer;
    struct cfn_best own;
    enum error_code code = cfn_best_of(s, &own, e);
    if (code != ERROR_OK)
        return code;
    bool better = b->values && (!own.values || b->cost < own.cost),
         higher = b->has_bound && raise(&own, b->bound);
    cfn_best_release(&own);
    if (better) {
        free(a->values);
        a->values = copy(s->problem, b->values);
        code = cfn_evaluate(s->problem, a->values, &a->verdict, e);
    }
    if (higher) {
        a->has_bound = true;
        a->bound = b->bound;
    }
    if (!better && !higher)
        return code;
    s->cut = true;
    a->reproducible = false;
    if (a->has_bound && a->values && a->verdict.cost <= a->bound)
        a->status = CFN_STATUS_OPTIMAL;
    return code;
}

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

/* takes values where the referee finds them feasible and cheaper than what best has */
static enum error_code add(struct cfn_best *best, const struct cfn_problem *problem, int32_t *values,
                           struct error *e)
{
    struct cfn_verdict verdict;
    enum error_code code = cfn_evaluate(problem, values, &verdict, e);
    if (code != ERROR_OK || !verdict.feasible || (best->values && verdict.cost >= best->cost)) {
        free(values);
        return code;
    }
    free(best->values);
    best->values = values;
    best->cost = verdict.cost;
    return ERROR_OK;
}

static int32_t *copy(const struct cfn_problem *problem, const int32_t *values)
{
    size_t size = (size_t)problem->node_count * sizeof *values;
    int32_t *out = mem_alloc(size + sizeof *out);
    memcpy(out, values, size);
    return out;
}

static bool raise(struct cfn_best *best, __int128 bound)
{
    bool higher = !best->has_bound || bound > best->bound;
    if (higher)
        best->bound = bound;
    best->has_bound = true;
    return higher;
}

enum error_code cfn_best_of(const struct cfn_session *session, struct cfn_best *out, struct error *e)
{
    struct cfn_found found;
    const struct cfn_answer *answer = &session->answer;
    *out = (struct cfn_best){.has_bound = answer->has_bound, .bound = answer->bound};
    if (answer->values && answer->status != CFN_STATUS_INFEASIBLE) {
        out->values = copy(session->problem, answer->values);
        out->cost = answer->verdict.cost;
    }
    if (session->over || !session->search.model)
        return ERROR_OK;
    cfn_search_result(&session->search, &found);
    if (found.bound != INT64_MIN) /* the first reading knows nothing of what uses large costs */
        raise(out, session->reading == 0 && found.bound > session->large ? session->large : found.bound);
    enum error_code code = found.values ? add(out, session->problem, found.values, e) : ERROR_OK;
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

void cfn_best_release(struct cfn_best *best)
{
    free(best->values);
    *best = (struct cfn_best){0};
}

/* ---- bytes: the bound, then the values when there are some ---- */

struct kept {
    __int128 bound;
    uint64_t has_bound;
    uint64_t nodes;
};

void cfn_best_write(const struct cfn_best *best, const struct cfn_problem *problem, struct text *out)
{
    struct kept k = {.bound = best->has_bound ? best->bound : 0,
                     .has_bound = best->has_bound,
                     .nodes = best->values ? problem->node_count : 0};
    text_add_n(out, (const char *)&k, sizeof k);
    if (k.nodes)
        text_add_n(out, (const char *)best->values, (size_t)k.nodes * sizeof *best->values);
}

enum error_code cfn_best_read(const struct cfn_problem *problem, const void *bytes, size_t size,
                              struct cfn_best *out, struct error *e)
{
    struct kept k;
    *out = (struct cfn_best){0};
    if (size < sizeof k)
        return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of an answer");
    memcpy(&k, bytes, sizeof k);
    if (k.has_bound > 1 || (k.nodes && k.nodes != problem->node_count) ||
        size != sizeof k + (size_t)k.nodes * sizeof *out->values)
        return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of an answer to this problem");
    if (k.nodes) {
        enum error_code code =
            add(out, problem, copy(problem, (const int32_t *)((const char *)bytes + sizeof k)), e);
        if (code == ERROR_OK && !out->values)
            code = error_set(e, ERROR_INVALID_REQUEST, "this answer is not feasible");
        if (code != ERROR_OK)
            return code;
    }
    out->has_bound = k.has_bound;
    out->bound = k.bound;
    return ERROR_OK;
}

enum error_code cfn_best_offer(const struct cfn_best *best, struct cfn_session *session, struct error *e)
{
    struct cfn_answer *answer = &session->answer;
    struct cfn_best own;
    enum error_code code = cfn_best_of(session, &own, e);
    if (code != ERROR_OK)
        return code;
    bool better = best->values && (!own.values || best->cost < own.cost),
         higher = best->has_bound && raise(&own, best->bound);
    cfn_best_release(&own);
    if (better) {
        free(answer->values);
        answer->values = copy(session->problem, best->values);
        code = cfn_evaluate(session->problem, answer->values, &answer->verdict, e);
    }
    if (higher) {
        answer->has_bound = true;
        answer->bound = best->bound;
    }
    if (!better && !higher)
        return code;
    session->cut = true;
    answer->reproducible = false;
    if (answer->has_bound && answer->values && answer->verdict.cost <= answer->bound)
        answer->status = CFN_STATUS_OPTIMAL;
    return code;
}

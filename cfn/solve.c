#include "cfn/solve.h"

#include "cfn/branch.h"
#include "cfn/ucr.h"

#include <stdlib.h>
#include <string.h>

static const double patience =
    0.5; /* of the budget, before costs of CFN_LARGE and above are taken as finite */

struct solving {
    const struct cfn_problem *p;
    const struct cfn_budget *budget;
    struct cfn_answer *answer;
    struct error *e;
    bool cut;
};

/* every node at its least usage, the cheapest of those; owned */
static int32_t *least_usage(const struct cfn_problem *p)
{
    int32_t *values = mem_zalloc((size_t)p->node_count + 1, sizeof *values);
    for (uint32_t i = 0; i < p->node_count; i++) {
        const int64_t *use = p->usages + p->nodes[i].first_value, *cost = p->costs + p->nodes[i].first_value;
        for (int32_t a = 1; a < p->nodes[i].domain; a++)
            if (use[a] < use[values[i]] || (use[a] == use[values[i]] && cost[a] < cost[values[i]]))
                values[i] = a;
    }
    return values;
}

/* takes over values when the referee finds them feasible and cheaper */
static enum error_code offer(struct solving *s, int32_t *values)
{
    struct cfn_verdict v;
    enum error_code code = cfn_evaluate(s->p, values, &v, s->e);
    if (code == ERROR_OK && v.feasible && (!s->answer->values || v.cost < s->answer->verdict.cost)) {
        free(s->answer->values);
        s->answer->values = values;
        s->answer->verdict = v;
        return ERROR_OK;
    }
    free(values);
    return code;
}

static void raise_bound(struct cfn_answer *a, __int128 bound)
{
    if (!a->has_bound || bound > a->bound)
        a->bound = bound;
    a->has_bound = true;
}

/* No assignment that uses a cost of CFN_LARGE or above costs less than this: the rest at its most negative.
 */
static __int128 least_with_large(const struct cfn_problem *p)
{
    __int128 sum = CFN_LARGE;
    int64_t *least = mem_zalloc((size_t)p->matrix_count + 1, sizeof *least);
    for (uint32_t m = 0; m < p->matrix_count; m++)
        for (uint64_t k = 0; k < p->matrices[m].count; k++) {
            int64_t c = p->entries[p->matrices[m].start + k];
            least[m] = c < least[m] ? c : least[m];
        }
    for (uint32_t i = 0; i < p->edge_count; i++)
        sum += least[p->edges[i].matrix];
    for (uint64_t k = 0; k < p->value_count; k++)
        sum += p->costs[k] < 0 ? p->costs[k] : 0; /* below the sum of minima: still a bound */
    free(least);
    return sum;
}

static const double reduction_share = 0.4; /* of the time, reading included; the rest is for the search */

static bool interrupted(void *user)
{
    const struct cfn_budget *b = user;
    return (b->cancelled && b->cancelled(b->user)) ||
           (b->seconds > 0 && b->clock(b->user) > reduction_share * b->seconds);
}

static const uint64_t branch_steps = 20000; /* of at most 4096 values each: under a tenth of a second */

/* by branch and bound; true when that settled it */
static bool settle_small(struct solving *s, const struct cfn_model *m, struct cfn_found *out)
{
    struct cfn_point best;
    cfn_point_create(m, &best);
    enum cfn_branch_result result =
        s->budget->without & CFN_WITHOUT_BRANCH ? CFN_BRANCH_OPEN : cfn_branch(m, branch_steps, &best);
    if (result == CFN_BRANCH_OPTIMAL) {
        out->values = mem_zalloc((size_t)s->p->node_count + 1, sizeof *out->values);
        cfn_point_expand(m, &best, out->values);
        out->bound = best.cost;
    }
    if (result == CFN_BRANCH_EMPTY)
        out->bound = INT64_MAX; /* attempt lowers it to what costs above CFN_LARGE leave possible */
    cfn_point_release(&best);
    return result != CFN_BRANCH_OPEN;
}

/* one reading of the costs: reduce, lay out, search, undo, referee */
static enum error_code attempt(struct solving *s, bool use_infinite, __int128 large)
{
    struct cfn_network *n = NULL;
    struct cfn_model m = {0};
    struct cfn_found found = {.bound = INT64_MIN};
    unsigned rules = CFN_RULE_ALL;
    if (s->budget->without & CFN_WITHOUT_REDUCTION)
        rules = CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY;
    enum error_code code = cfn_network_create(s->p, use_infinite, &n, s->e);
    if (code != ERROR_OK)
        goto out;
    cfn_reduce(n, rules, interrupted, (void *)(uintptr_t)s->budget);
    s->answer->reduced = cfn_reduce_size(n);
    if (n->wiped) { /* only the infinite reading can empty a feasible network */
        if (use_infinite)
            raise_bound(s->answer, large);
        goto out;
    }
    cfn_model_create(n, &m);
    if (m.node_count == 0) {
        found.values = mem_zalloc((size_t)s->p->node_count + 1, sizeof *found.values);
        cfn_undo_apply(&n->undo, found.values);
        found.bound = n->constant;
    } else if (s->budget->method == CFN_METHOD_UCR) {
        code = cfn_ucr_search(&m, s->budget, &found, s->e);
        s->cut = s->cut || found.cut;
        s->answer->units += found.units;
    } else if (!settle_small(s, &m, &found)) {
        cfn_search(&m, s->budget, use_infinite ? patience : 1, &found);
        s->cut = s->cut || found.cut;
        s->answer->units += found.units;
    }
    if (found.bound != INT64_MIN)
        raise_bound(s->answer, use_infinite && found.bound > large ? large : found.bound);
    if (found.values && code == ERROR_OK)
        code = offer(s, found.values);
out:
    cfn_model_release(&m);
    cfn_network_destroy(n);
    return code;
}

enum error_code cfn_solve(const struct cfn_problem *p, const struct cfn_budget *budget,
                          struct cfn_answer *out, struct error *e)
{
    struct solving s = {p, budget, out, e, false};
    *out = (struct cfn_answer){.status = CFN_STATUS_FEASIBLE};
    int32_t *least = least_usage(p);
    enum error_code code = cfn_evaluate(p, least, &out->verdict, e);
    if (code != ERROR_OK || !out->verdict.feasible) {
        out->status = CFN_STATUS_INFEASIBLE;
        out->reproducible = true;
        free(least);
        return code;
    }
    out->values = least;
    __int128 large = least_with_large(p);
    code = attempt(&s, true, large);
    if (code == ERROR_OK && out->verdict.cost >= large)
        code = attempt(&s, false, large);
    out->reproducible = !s.cut;
    if (out->has_bound && out->verdict.cost <= out->bound)
        out->status = CFN_STATUS_OPTIMAL;
    return code;
}

void cfn_answer_release(struct cfn_answer *a)
{
    free(a->values);
    *a = (struct cfn_answer){0};
}

/* One problem from its beginning to its answer, in pieces that may be put aside between two phases.
 *
 *   least usage        feasible or nothing is (a node has one interval): decided before anything else
 *   reading 0          costs of CFN_LARGE and above are infinite: more values go, tables become functional
 *       reduce         wiped: no answer without large costs; empty: solved; small: branch; else search
 *   reading 1          all costs finite: only when reading 0 found no answer that it can vouch for
 *
 * Every assignment passes the referee in `offer`. A bound of reading 0 says nothing of assignments with a
 * large cost, so it is cut at `large`, the least that one of those could cost. */
#include "cfn/session.h"

#include "cfn/branch.h"
#include "cfn/load.h"
#include "cfn/saved.h"
#include "cfn/ucr.h"

#include <stdlib.h>
#include <string.h>

static const double patience =
    0.5; /* of the budget, before costs of CFN_LARGE and above are taken as finite */
static const double reduction_share = 0.4;  /* of the time, reading included; the rest is for the search */
static const uint64_t branch_steps = 20000; /* of at most 4096 values each: under a tenth of a second */

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

static bool interrupted(void *user)
{
    const struct cfn_budget *b = user;
    return (b->cancelled && b->cancelled(b->user)) ||
           (b->seconds > 0 && b->clock(b->user) > reduction_share * b->seconds);
}

/* ---- what is known ---- */

/* takes over values when the referee finds them feasible and cheaper */
static enum error_code offer(struct cfn_session *s, int32_t *values, struct error *e)
{
    struct cfn_verdict v;
    enum error_code code = cfn_evaluate(s->problem, values, &v, e);
    if (code == ERROR_OK && v.feasible && (!s->answer.values || v.cost < s->answer.verdict.cost)) {
        free(s->answer.values);
        s->answer.values = values;
        s->answer.verdict = v;
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

static enum error_code take(struct cfn_session *s, struct cfn_found *found, struct error *e)
{
    s->cut = s->cut || found->cut;
    s->answer.units += found->units;
    if (found->bound != INT64_MIN)
        raise_bound(&s->answer, s->reading == 0 && found->bound > s->large ? s->large : found->bound);
    return found->values ? offer(s, found->values, e) : ERROR_OK;
}

static void conclude(struct cfn_session *s)
{
    struct cfn_answer *a = &s->answer;
    s->over = true;
    a->reproducible = !s->cut;
    if (a->has_bound && a->values && a->verdict.cost <= a->bound)
        a->status = CFN_STATUS_OPTIMAL;
}

/* ---- one reading ---- */

static void drop_reading(struct cfn_session *s)
{
    if (s->search.m)
        cfn_search_release(&s->search);
    s->search = (struct cfn_search){0};
    cfn_model_release(&s->model);
    cfn_network_destroy(s->network);
    s->network = NULL;
}

/* by branch and bound; true when that settled it */
static bool settle_small(struct cfn_session *s, struct cfn_found *out)
{
    const struct cfn_model *m = &s->model;
    struct cfn_point best;
    cfn_point_create(m, &best);
    enum cfn_branch_result result =
        s->budget->without & CFN_WITHOUT_BRANCH ? CFN_BRANCH_OPEN : cfn_branch(m, branch_steps, &best);
    if (result == CFN_BRANCH_OPTIMAL) {
        out->values = mem_zalloc((size_t)s->problem->node_count + 1, sizeof *out->values);
        cfn_point_expand(m, &best, out->values);
        out->bound = best.cost;
    }
    if (result == CFN_BRANCH_EMPTY)
        out->bound = INT64_MAX; /* take lowers it to what costs above CFN_LARGE leave possible */
    cfn_point_release(&best);
    return result != CFN_BRANCH_OPEN;
}

/* what needs no search; true when that was all */
static bool settle_at_once(struct cfn_session *s, struct cfn_found *out)
{
    if (s->network->wiped) { /* only the infinite reading can empty a feasible network */
        out->bound = s->reading == 0 ? INT64_MAX : INT64_MIN;
        return true;
    }
    cfn_model_create(s->network, &s->model);
    if (s->model.node_count == 0) {
        out->values = mem_zalloc((size_t)s->problem->node_count + 1, sizeof *out->values);
        cfn_undo_apply(&s->network->undo, out->values);
        out->bound = s->network->constant;
        return true;
    }
    return s->budget->method == CFN_METHOD_SEARCH && settle_small(s, out);
}

/* reduce, lay out, and solve when that is quick; *open: a search is to follow */
static enum error_code read_costs(struct cfn_session *s, bool *open, struct error *e)
{
    struct cfn_found found = {.bound = INT64_MIN};
    unsigned rules =
        s->budget->without & CFN_WITHOUT_REDUCTION ? CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY : CFN_RULE_ALL;
    enum error_code code = cfn_network_create(s->problem, s->reading == 0, &s->network, e);
    *open = false;
    if (code != ERROR_OK)
        return code;
    cfn_reduce(s->network, rules, interrupted, (void *)(uintptr_t)s->budget);
    s->answer.reduced = cfn_reduce_size(s->network);
    if (!settle_at_once(s, &found)) {
        if (s->budget->method == CFN_METHOD_SEARCH) {
            *open = true;
            cfn_search_create(&s->model, s->budget, s->reading == 0 ? patience : 1, &s->search);
            return ERROR_OK;
        }
        code = cfn_ucr_search(&s->model, s->budget, &found, e);
    }
    return code == ERROR_OK ? take(s, &found, e) : code;
}

/* readings until one needs a search, or there is none left */
static enum error_code go_on(struct cfn_session *s, struct error *e)
{
    bool open;
    enum error_code code = read_costs(s, &open, e);
    while (code == ERROR_OK && !open) {
        drop_reading(s);
        if (s->reading == 1 || s->answer.verdict.cost < s->large) {
            conclude(s);
            return ERROR_OK;
        }
        s->reading = 1;
        code = read_costs(s, &open, e);
    }
    return code;
}

enum error_code cfn_session_begin(struct cfn_session *s, const struct cfn_problem *p,
                                  const struct cfn_budget *budget, struct error *e)
{
    *s = (struct cfn_session){.problem = p, .budget = budget, .answer = {.status = CFN_STATUS_FEASIBLE}};
    int32_t *least = least_usage(p);
    enum error_code code = cfn_evaluate(p, least, &s->answer.verdict, e);
    if (code != ERROR_OK || !s->answer.verdict.feasible) {
        s->answer.status = CFN_STATUS_INFEASIBLE;
        free(least);
        conclude(s);
        return code;
    }
    s->answer.values = least;
    s->large = least_with_large(p);
    return go_on(s, e);
}

enum error_code cfn_session_settle(struct cfn_session *s, bool early, struct error *e)
{
    struct cfn_found found;
    if (s->over)
        return ERROR_OK;
    cfn_search_result(&s->search, &found);
    s->cut = s->cut || early;
    enum error_code code = take(s, &found, e);
    drop_reading(s);
    if (code != ERROR_OK)
        return code;
    if (early || s->reading == 1 || s->answer.verdict.cost < s->large) {
        conclude(s);
        return ERROR_OK;
    }
    s->reading = 1;
    return go_on(s, e);
}

enum error_code cfn_session_next(struct cfn_session *s, struct error *e)
{
    enum error_code code = ERROR_OK;
    while (code == ERROR_OK && !s->over && !cfn_search_next(&s->search))
        code = cfn_session_settle(s, false, e);
    return code;
}

void cfn_session_release(struct cfn_session *s)
{
    drop_reading(s);
    cfn_answer_release(&s->answer);
}

/* ---- put aside ---- */

struct kept { /* the head of a session's bytes; values of the answer and the search's bytes follow */
    uint64_t nodes;
    __int128 bound;
    uint64_t units;
    int32_t reading;
    uint8_t has_bound, cut, over, status;
};

void cfn_session_write(const struct cfn_session *s, struct text *out)
{
    struct kept k;
    memset(&k, 0, sizeof k); /* padding too: equal sessions have equal bytes */
    k.nodes = s->answer.values ? s->problem->node_count : 0;
    k.bound = s->answer.bound;
    k.units = s->answer.units;
    k.reading = s->reading;
    k.has_bound = s->answer.has_bound;
    k.cut = s->cut;
    k.over = s->over;
    k.status = (uint8_t)s->answer.status;
    text_add_n(out, (const char *)&k, sizeof k);
    if (k.nodes)
        text_add_n(out, (const char *)s->answer.values, (size_t)k.nodes * sizeof *s->answer.values);
    if (!s->over)
        cfn_saved_write(&s->search, out);
}

static bool values_valid(const struct cfn_problem *p, const int32_t *values)
{
    for (uint32_t i = 0; i < p->node_count; i++)
        if (values[i] < 0 || values[i] >= p->nodes[i].domain)
            return false;
    return true;
}

/* the answer so far; *at moves past it */
static bool read_answer(struct cfn_session *s, const struct kept *k, const char **at, const char *end)
{
    size_t size = (size_t)k->nodes * sizeof *s->answer.values;
    struct cfn_answer *a = &s->answer;
    if ((k->nodes && k->nodes != s->problem->node_count) || (size_t)(end - *at) < size ||
        k->status > CFN_STATUS_INFEASIBLE)
        return false;
    if (k->nodes && !a->values)
        return false; /* infeasible is known from the beginning */
    if (k->nodes) {
        memcpy(a->values, *at, size);
        if (!values_valid(s->problem, a->values) ||
            cfn_evaluate(s->problem, a->values, &a->verdict, NULL) != ERROR_OK)
            return false;
    }
    *at += size;
    a->has_bound = k->has_bound;
    a->bound = k->bound;
    a->units = k->units;
    a->status = (enum cfn_status)k->status;
    s->cut = k->cut;
    return true;
}

enum error_code cfn_session_read(struct cfn_session *s, const void *data, size_t size, struct error *e)
{
    const char *at = data, *end = at + size;
    struct kept k;
    enum error_code code = ERROR_OK;
    memset(&k, 0, sizeof k);
    if (size < sizeof k)
        return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of this session");
    memcpy(&k, at, sizeof k);
    at += sizeof k;
    if (!s->over && (k.over || k.reading != s->reading)) {
        bool open = true;
        drop_reading(s);
        s->reading = k.reading == 1;
        if (!k.over)
            code = read_costs(s, &open, e);
        s->over = k.over || !open;
    }
    if (code != ERROR_OK)
        return code;
    if (!read_answer(s, &k, &at, end))
        return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of this session");
    s->answer.reproducible = !s->cut;
    return s->over ? ERROR_OK : cfn_saved_read(at, (size_t)(end - at), &s->search, e);
}

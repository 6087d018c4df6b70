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
static int32_t *least_usage(const struct cfn_problem *problem)
{
    int32_t *values = mem_zalloc((size_t)problem->node_count + 1, sizeof *values);
    for (uint32_t i = 0; i < problem->node_count; i++) {
        const int64_t *use = problem->usages + problem->nodes[i].first_value,
                      *cost = problem->costs + problem->nodes[i].first_value;
        for (int32_t a = 1; a < problem->nodes[i].domain; a++)
            if (use[a] < use[values[i]] || (use[a] == use[values[i]] && cost[a] < cost[values[i]]))
                values[i] = a;
    }
    return values;
}

/* No assignment that uses a cost of CFN_LARGE or above costs less than this: the rest at its most negative.
 */
static __int128 least_with_large(const struct cfn_problem *problem)
{
    __int128 sum = CFN_LARGE;
    int64_t *least = mem_zalloc((size_t)problem->matrix_count + 1, sizeof *least);
    for (uint32_t matrix = 0; matrix < problem->matrix_count; matrix++)
        for (uint64_t k = 0; k < problem->matrices[matrix].count; k++) {
            int64_t c = problem->entries[problem->matrices[matrix].start + k];
            least[matrix] = c < least[matrix] ? c : least[matrix];
        }
    for (uint32_t i = 0; i < problem->edge_count; i++)
        sum += least[problem->edges[i].matrix];
    for (uint64_t k = 0; k < problem->value_count; k++)
        sum += problem->costs[k] < 0 ? problem->costs[k] : 0; /* below the sum of minima: still a bound */
    free(least);
    return sum;
}

static bool interrupted(void *user)
{
    const struct cfn_budget *budget = user;
    return (budget->cancelled && budget->cancelled(budget->user)) ||
           (budget->seconds > 0 && budget->clock(budget->user) > reduction_share * budget->seconds);
}

/* ---- what is known ---- */

/* takes over values when the referee finds them feasible and cheaper */
static enum error_code offer(struct cfn_session *session, int32_t *values, struct error *e)
{
    struct cfn_verdict verdict;
    enum error_code code = cfn_evaluate(session->problem, values, &verdict, e);
    if (code == ERROR_OK && verdict.feasible &&
        (!session->answer.values || verdict.cost < session->answer.verdict.cost)) {
        free(session->answer.values);
        session->answer.values = values;
        session->answer.verdict = verdict;
        return ERROR_OK;
    }
    free(values);
    return code;
}

static void raise_bound(struct cfn_answer *answer, __int128 bound)
{
    if (!answer->has_bound || bound > answer->bound)
        answer->bound = bound;
    answer->has_bound = true;
}

static enum error_code take(struct cfn_session *session, struct cfn_found *found, struct error *e)
{
    session->cut = session->cut || found->cut;
    session->answer.units += found->units;
    if (found->bound != INT64_MIN)
        raise_bound(&session->answer,
                    session->reading == 0 && found->bound > session->large ? session->large : found->bound);
    return found->values ? offer(session, found->values, e) : ERROR_OK;
}

static void conclude(struct cfn_session *session)
{
    struct cfn_answer *answer = &session->answer;
    session->over = true;
    answer->reproducible = !session->cut;
    if (answer->has_bound && answer->values && answer->verdict.cost <= answer->bound)
        answer->status = CFN_STATUS_OPTIMAL;
}

/* ---- one reading ---- */

static void drop_reading(struct cfn_session *session)
{
    if (session->search.model)
        cfn_search_release(&session->search);
    session->search = (struct cfn_search){0};
    cfn_model_release(&session->model);
    cfn_network_destroy(session->network);
    session->network = NULL;
}

/* by branch and bound; true when that settled it */
static bool settle_small(struct cfn_session *session, struct cfn_found *out)
{
    const struct cfn_model *model = &session->model;
    struct cfn_point best;
    cfn_point_create(model, &best);
    enum cfn_branch_result result = session->budget->without & CFN_WITHOUT_BRANCH
                                        ? CFN_BRANCH_OPEN
                                        : cfn_branch(model, branch_steps, &best);
    if (result == CFN_BRANCH_OPTIMAL) {
        out->values = mem_zalloc((size_t)session->problem->node_count + 1, sizeof *out->values);
        cfn_point_expand(model, &best, out->values);
        out->bound = best.cost;
    }
    if (result == CFN_BRANCH_EMPTY)
        out->bound = INT64_MAX; /* take lowers it to what costs above CFN_LARGE leave possible */
    cfn_point_release(&best);
    return result != CFN_BRANCH_OPEN;
}

/* what needs no search; true when that was all */
static bool settle_at_once(struct cfn_session *session, struct cfn_found *out)
{
    if (session->network->wiped) { /* only the infinite reading can empty a feasible network */
        out->bound = session->reading == 0 ? INT64_MAX : INT64_MIN;
        return true;
    }
    cfn_model_create(session->network, &session->model);
    if (session->model.node_count == 0) {
        out->values = mem_zalloc((size_t)session->problem->node_count + 1, sizeof *out->values);
        cfn_undo_apply(&session->network->undo, out->values);
        out->bound = session->network->constant;
        return true;
    }
    return session->budget->method == CFN_METHOD_SEARCH && settle_small(session, out);
}

/* reduce, lay out, and solve when that is quick; *open: a search is to follow */
static enum error_code read_costs(struct cfn_session *session, bool *open, struct error *e)
{
    struct cfn_found found = {.bound = INT64_MIN};
    unsigned without = session->budget->without,
             rules = without & CFN_WITHOUT_REDUCTION ? CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY : CFN_RULE_ALL;
    if (without & CFN_WITHOUT_IMPLIED)
        rules &= ~(unsigned)CFN_RULE_IMPLY;
    enum error_code code = cfn_network_create(session->problem, session->reading == 0, &session->network, e);
    *open = false;
    if (code != ERROR_OK)
        return code;
    cfn_reduce(session->network, rules, interrupted, (void *)(uintptr_t)session->budget);
    session->answer.reduced = cfn_reduce_size(session->network);
    if (!settle_at_once(session, &found)) {
        if (session->budget->method == CFN_METHOD_SEARCH) {
            *open = true;
            cfn_search_create(&session->model, session->budget, session->reading == 0 ? patience : 1,
                              &session->search);
            return ERROR_OK;
        }
        code = cfn_ucr_search(&session->model, session->budget, &found, e);
    }
    return code == ERROR_OK ? take(session, &found, e) : code;
}

/* readings until one needs a search, or there is none left */
static enum error_code go_on(struct cfn_session *session, struct error *e)
{
    bool open;
    enum error_code code = read_costs(session, &open, e);
    while (code == ERROR_OK && !open) {
        drop_reading(session);
        if (session->reading == 1 || session->answer.verdict.cost < session->large) {
            conclude(session);
            return ERROR_OK;
        }
        session->reading = 1;
        code = read_costs(session, &open, e);
    }
    return code;
}

enum error_code cfn_session_begin(struct cfn_session *session, const struct cfn_problem *problem,
                                  const struct cfn_budget *budget, struct error *e)
{
    *session =
        (struct cfn_session){.problem = problem, .budget = budget, .answer = {.status = CFN_STATUS_FEASIBLE}};
    int32_t *least = least_usage(problem);
    enum error_code code = cfn_evaluate(problem, least, &session->answer.verdict, e);
    if (code != ERROR_OK || !session->answer.verdict.feasible) {
        session->answer.status = CFN_STATUS_INFEASIBLE;
        free(least);
        conclude(session);
        return code;
    }
    session->answer.values = least;
    session->large = least_with_large(problem);
    return go_on(session, e);
}

enum error_code cfn_session_settle(struct cfn_session *session, bool early, struct error *e)
{
    struct cfn_found found;
    if (session->over)
        return ERROR_OK;
    cfn_search_result(&session->search, &found);
    session->cut = session->cut || early;
    enum error_code code = take(session, &found, e);
    drop_reading(session);
    if (code != ERROR_OK)
        return code;
    if (early || session->reading == 1 || session->answer.verdict.cost < session->large) {
        conclude(session);
        return ERROR_OK;
    }
    session->reading = 1;
    return go_on(session, e);
}

enum error_code cfn_session_next(struct cfn_session *session, struct error *e)
{
    enum error_code code = ERROR_OK;
    while (code == ERROR_OK && !session->over && !cfn_search_next(&session->search))
        code = cfn_session_settle(session, false, e);
    return code;
}

void cfn_session_release(struct cfn_session *session)
{
    drop_reading(session);
    cfn_answer_release(&session->answer);
}

/* ---- put aside ---- */

struct kept { /* the head of a session's bytes; values of the answer and the search's bytes follow */
    uint64_t nodes;
    __int128 bound;
    uint64_t units;
    int32_t reading;
    uint8_t has_bound, cut, over, status;
};

void cfn_session_write(const struct cfn_session *session, struct text *out)
{
    struct kept k;
    memset(&k, 0, sizeof k); /* padding too: equal sessions have equal bytes */
    k.nodes = session->answer.values ? session->problem->node_count : 0;
    k.bound = session->answer.bound;
    k.units = session->answer.units;
    k.reading = session->reading;
    k.has_bound = session->answer.has_bound;
    k.cut = session->cut;
    k.over = session->over;
    k.status = (uint8_t)session->answer.status;
    text_add_n(out, (const char *)&k, sizeof k);
    if (k.nodes)
        text_add_n(out, (const char *)session->answer.values,
                   (size_t)k.nodes * sizeof *session->answer.values);
    if (!session->over)
        cfn_saved_write(&session->search, out);
}

static bool values_valid(const struct cfn_problem *problem, const int32_t *values)
{
    for (uint32_t i = 0; i < problem->node_count; i++)
        if (values[i] < 0 || values[i] >= problem->nodes[i].domain)
            return false;
    return true;
}

/* the answer so far; *at moves past it */
static bool read_answer(struct cfn_session *session, const struct kept *k, const char **at, const char *end)
{
    size_t size = (size_t)k->nodes * sizeof *session->answer.values;
    struct cfn_answer *answer = &session->answer;
    if ((k->nodes && k->nodes != session->problem->node_count) || (size_t)(end - *at) < size ||
        k->status > CFN_STATUS_INFEASIBLE)
        return false;
    if (k->nodes && !answer->values)
        return false; /* infeasible is known from the beginning */
    if (k->nodes) {
        memcpy(answer->values, *at, size);
        if (!values_valid(session->problem, answer->values) ||
            cfn_evaluate(session->problem, answer->values, &answer->verdict, NULL) != ERROR_OK)
            return false;
    }
    *at += size;
    answer->has_bound = k->has_bound;
    answer->bound = k->bound;
    answer->units = k->units;
    answer->status = (enum cfn_status)k->status;
    session->cut = k->cut;
    return true;
}

enum error_code cfn_session_read(struct cfn_session *session, const void *data, size_t size, struct error *e)
{
    const char *at = data, *end = at + size;
    struct kept k;
    enum error_code code = ERROR_OK;
    memset(&k, 0, sizeof k);
    if (size < sizeof k)
        return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of this session");
    memcpy(&k, at, sizeof k);
    at += sizeof k;
    if (!session->over && (k.over || k.reading != session->reading)) {
        bool open = true;
        drop_reading(session);
        session->reading = k.reading == 1;
        if (!k.over)
            code = read_costs(session, &open, e);
        session->over = k.over || !open;
    }
    if (code != ERROR_OK)
        return code;
    if (!read_answer(session, &k, &at, end))
        return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of this session");
    session->answer.reproducible = !session->cut;
    return session->over ? ERROR_OK : cfn_saved_read(at, (size_t)(end - at), &session->search, e);
}

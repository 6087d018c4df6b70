/* The race of the experts: all are priced, the cheapest are climbed from, and what may be the best gets its
 * exact price. */
#include "mcts/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The best expert is climbed to: from the cheapest of the list, with axes that are alike at once and axis by
 * axis, over plans that differ in what an axis does, in the side of a sequence's conflict or in what is
 * gathered again, while that pays. The steps of the climb join the list. */
enum {
    /* plans priced for that, in all: clamp(2^22 / ops, 250, 1000), of modules beyond 67,000 ops 2^24 / ops,
     * but 64; t2b has 21,000 ops */
    CLIMBING_OPERATIONS = 1 << 22,
    WIDE_OPERATIONS = 1 << 24,
    FEWEST_CLIMBING = 64,
    LEAST_CLIMBING = 250,
    MOST_CLIMBING = 1000,
    CLIMBS = 2, /* that it is shared by; what they leave is for further starts */
    ORDERS = 4, /* a quarter more: other orders of the axes, and climbing on from the first that pays */
    STARTS = 6,
    /* this one of them is the cheapest that does not fit, the next the fastest such, the next the one that is
     * least above the limit of those that are faster than what fits */
    START_OVER = 1,
    LEAST_PRICED = 16, /* of the list, however short the time is: a plan is needed. Chosen, not tuned */
    JOINING = 2,       /* plans of a step, at most */
    NEAR = 6, /* of each turn the cheapest that are dearer: where none is cheaper, two of them at once */
    TURNS = MESH_MAX_AXES + 1
};

/* of a turn, the cheapest plans that are dearer than the one that they are around, ascending */
struct near {
    uint32_t count;
    struct {
        struct cost cost;
        struct search_domain_baseline baseline;
    } at[NEAR];
};

static enum error_code price_baseline(struct search *search, void *session,
                                      const struct search_domain_baseline *from, uint32_t index,
                                      struct core_plan *plan, struct error *e)
{
    *plan = (struct core_plan){.list = from->list, .found = FOUND_BASELINE, .baseline = (uint16_t)index};
    return search->domain->has_limits ? core_price_apart(search, session, plan, e)
                                      : core_price_list(search, session, plan, e);
}

/* Experts are priced exactly where they may be the best, by their prices on the fold: those that are further
 * behind than a fold errs by far, which is by half a percent at most. */
enum {
    NEAR_BEST = 50,
    NEAR_STEPS = 4, /* 1/50 of C; steps of 1 % over the limit */
    FAR_BEST = 10,
    FAR_STEPS = 10 /* the same of plans that nobody needs to know better. Chosen, not tuned */
};

static bool deserves_whole(const struct search *search, uint32_t index)
{
    const struct cost *cost = &search->baselines[index].cost, *best = &search->best_baseline;
    return cost->c <= best->c + best->c / NEAR_BEST && cost->over_steps <= best->over_steps + NEAR_STEPS;
}

static void note_best(struct search *search)
{
    for (uint32_t i = 0; i < search->domain->baseline_count; i++) {
        const struct cost *cost = &search->baselines[i].cost;
        bool better = cost->over_steps != search->best_baseline.over_steps
                          ? cost->over_steps < search->best_baseline.over_steps
                          : cost->c < search->best_baseline.c;
        if (i == 0 || better)
            search->best_baseline = *cost;
    }
}

/* its exact price, if it may be the best, and its row of the table */
static enum error_code publish_baseline(struct search *search, void *session, uint32_t index, struct error *e)
{
    const struct search_domain *domain = search->domain;
    struct search_plan *out = &search->baseline_plans[index];
    struct core_plan *whole = &search->wholes[index];
    *whole = search->baselines[index];
    bool estimated = domain->price_whole && !deserves_whole(search, index);
    enum error_code code = domain->price_whole && !estimated
                               ? domain->price_whole(session, &whole->list, &whole->price, &whole->cost, e)
                               : ERROR_OK;
    core_plan_publish(search, whole, out);
    out->estimated = estimated;
    snprintf(out->found_by, sizeof out->found_by, "%s", domain->baselines[index].name);
    return code;
}

/* experts that are priced at once */
struct round {
    struct search *search;
    const struct search_domain_baseline *list;
    struct core_plan *plans; /* of list */
    uint8_t *priced;         /* of list: what there was time for */
};

static enum error_code price_one(void *user, void *session, uint32_t i, struct error *e)
{
    struct round *round = user;
    bool first = i < LEAST_PRICED && round->list == round->search->domain->baselines;
    round->priced[i] = first || !core_experts_over(round->search);
    if (!round->priced[i])
        return ERROR_OK;
    return price_baseline(round->search, session, &round->list[i], i, &round->plans[i], e);
}

static enum error_code publish_one(void *user, void *session, uint32_t i, struct error *e)
{
    struct round *round = user;
    return publish_baseline(round->search, session, i, e);
}

static enum error_code append_baseline(struct search *search, void *session,
                                       const struct search_domain_baseline *from, struct core_plan plan,
                                       struct error *e)
{
    struct search_domain *domain = search->domain;
    uint32_t index = domain->baseline_count++;
    domain->baselines = mem_realloc(domain->baselines, index + 1, sizeof *domain->baselines);
    search->baselines = mem_realloc(search->baselines, index + 1, sizeof *search->baselines);
    search->baseline_plans = mem_realloc(search->baseline_plans, index + 1, sizeof *search->baseline_plans);
    search->wholes = mem_realloc(search->wholes, index + 1, sizeof *search->wholes);
    domain->baselines[index] = *from;
    plan.baseline = (uint16_t)index;
    search->baselines[index] = plan;
    return publish_baseline(search, session, index, e);
}

/* the number of an expert plan that is there; UINT32_MAX: none */
static uint32_t baseline_with(const struct search *search, struct hash128 hash)
{
    for (uint32_t i = 0; i < search->domain->baseline_count; i++)
        if (hash128_compare(search->baselines[i].hash, hash) == 0)
            return i;
    return UINT32_MAX;
}

static void note_near(struct near *near, const struct search_domain_baseline *baseline, struct cost cost)
{
    static const struct hash128 same;
    uint32_t at = 0;
    while (at < near->count && cost_compare(near->at[at].cost, same, cost, same) < 0)
        at++;
    if (at == NEAR)
        return;
    if (at < near->count && cost_compare(near->at[at].cost, same, cost, same) == 0)
        return; /* likely the same plan by another name */
    near->count += near->count < NEAR;
    memmove(near->at + at + 1, near->at + at, (near->count - at - 1) * sizeof near->at[0]);
    near->at[at].cost = cost;
    near->at[at].baseline = *baseline;
}

/* A climb under way: the number of the plan it stands at, what it may still price, and what is near it. */
struct climb {
    struct search *search;
    const struct core_pricers *pricers;
    uint32_t index, left, left_orders;
    bool again; /* it began above the limit: layouts are also tried with weights that are gathered again */
    struct near near[TURNS];
    uint32_t ends[STARTS], end_count; /* where earlier climbs ended */
};

/* what a plan need not be priced beyond, where it is compared with one that costs so much; over: the least
 * steps that a plan is above the limit */
static struct price_limits limits_beside(const struct search *search, struct cost than, int64_t over)
{
    struct price_limits limits = {INT64_MAX, INT64_MAX, INT64_MAX, 0};
    int64_t limit = search->domain->memory_limit_bytes;
    /* where none fits, memory orders the plans, and none is hopeless by its time */
    if (than.over_steps == 0) {
        limits.hopeless = than.c + than.c / NEAR_BEST;
        limits.far = than.c + than.c / FAR_BEST;
    }
    if (limit > 0)
        limits.far_bytes = limit + limit / 100 * (over + FAR_STEPS);
    return limits;
}

/* prices what is listed: cheaper plans into `out`, dearer ones into `near`, if any */
static enum error_code price_around(struct climb *climb, const struct search_domain_baseline *list,
                                    uint32_t count, struct near *near, struct core_elites *out,
                                    struct error *e)
{
    static const struct hash128 same;
    const struct core_plan *than = &climb->search->baselines[climb->index];
    struct core_plan *plans = mem_zalloc((size_t)count + 1, sizeof *plans);
    count = count < climb->left ? count : climb->left;
    climb->left -= count;
    uint8_t *priced = mem_zalloc((size_t)count + 1, 1);
    struct round round = {climb->search, list, plans, priced};
    struct search_domain *domain = climb->search->domain;
    domain->has_limits = than->cost.over_steps == 0;
    domain->limits = limits_beside(climb->search, than->cost, 0);
    if (near) /* those are told apart by their time */
        domain->limits.far = INT64_MAX;
    enum error_code code = core_pricers_run(climb->pricers, count, price_one, &round, e);
    domain->has_limits = false;
    for (uint32_t i = 0; i < count && !code; i++)
        if (!priced[i])
            climb->left = climb->left_orders = 0;
        else if (cost_compare(plans[i].cost, plans[i].hash, than->cost, than->hash) < 0 &&
                 (plans[i].cost.c < than->cost.c || plans[i].cost.over_steps < than->cost.over_steps))
            core_elites_offer(out, &plans[i]);
        else if (near && cost_compare(plans[i].cost, same, than->cost, same) > 0)
            note_near(near, &list[i], plans[i].cost);
    free(priced);
    free(plans);
    return code;
}

/* To the cheapest of the plans listed that is cheaper than where it stands. It and the next join the experts,
 * because a fold's price is not the whole program's. */
static enum error_code climb_among(struct climb *climb, const struct search_domain_baseline *list,
                                   uint32_t count, struct near *near, bool *climbed, struct error *e)
{
    struct search *search = climb->search;
    struct core_elites found = {.count = 0};
    enum error_code code = price_around(climb, list, count, near, &found, e);
    *climbed = !code && found.count;
    for (uint32_t k = 0; k < found.count && k < JOINING && !code; k++) {
        if (baseline_with(search, found.at[k].hash) == UINT32_MAX)
            code = append_baseline(search, climb->pricers->sessions[0], &list[found.at[k].baseline],
                                   found.at[k], e);
        if (k == 0)
            climb->index = baseline_with(search, found.at[k].hash);
    }
    for (uint32_t turn = 0; turn < TURNS && *climbed; turn++)
        climb->near[turn].count = 0;
    return code;
}

static enum error_code climb_once(struct climb *climb, uint32_t turn, bool *climbed, struct error *e)
{
    uint32_t count = 0;
    struct search_domain *domain = climb->search->domain;
    struct search_domain_baseline *list =
        domain->variants(domain, domain->baselines[climb->index].name, turn, climb->again, &count);
    climb->near[turn].count = 0;
    enum error_code code = climb_among(climb, list, count, &climb->near[turn], climbed, e);
    free(list);
    return code;
}

/* Where no change of an axis pays, another order of the axes may: tried any earlier it leads up lower hills
 * (a fixture on 2x16x2 ended 1.7 times as dear). */
static enum error_code climb_by_order(struct climb *climb, bool *climbed, struct error *e)
{
    uint32_t count = 0, left = climb->left;
    struct search_domain *domain = climb->search->domain;
    struct search_domain_baseline *list = domain->variants(domain, domain->baselines[climb->index].name,
                                                           domain->variant_turns, climb->again, &count);
    climb->left = climb->left_orders;
    enum error_code code = climb_among(climb, list, count, NULL, climbed, e);
    climb->left_orders = *climbed ? 0 : climb->left;
    climb->left = *climbed ? left + climb->left : left;
    free(list);
    return code;
}

/* what is near of two turns, at once */
static uint32_t join_turns(const struct climb *climb, const struct near *one, const struct near *other,
                           struct search_domain_baseline *list)
{
    struct search_domain *domain = climb->search->domain;
    uint32_t count = 0;
    for (uint32_t i = 0; i < one->count; i++)
        for (uint32_t k = 0; k < other->count; k++) {
            list[count] = (struct search_domain_baseline){.name = ""};
            count += domain->join(domain, domain->baselines[climb->index].name, one->at[i].baseline.name,
                                  other->at[k].baseline.name, &list[count]);
        }
    return count;
}

static enum error_code climb_by_two(struct climb *climb, bool *climbed, struct error *e)
{
    struct search_domain_baseline *list = mem_alloc((NEAR * NEAR + 1) * sizeof *list);
    enum error_code code = ERROR_OK;
    *climbed = false;
    for (uint32_t turn = 1; turn < climb->search->domain->variant_turns && !code && !*climbed; turn++)
        for (uint32_t other = 0; other < turn && climb->left && !code && !*climbed; other++) {
            uint32_t count = join_turns(climb, &climb->near[turn], &climb->near[other], list);
            code = climb_among(climb, list, count, NULL, climbed, e);
        }
    free(list);
    return code;
}

/* whether two experts do the same on some axis: a word of a name is strategy:axis */
static bool have_in_common(const char *name, const char *other)
{
    for (size_t size; *name; name += size + (name[size] == '+')) {
        size = strcspn(name, "+");
        for (const char *at = other; *at; at += strcspn(at, "+"), at += *at == '+')
            if (strcspn(at, "+") == size && strncmp(at, name, size) == 0)
                return true;
    }
    return false;
}

/* nothing in common with where others began, as neighbours end where they do */
static bool is_apart(const struct search *search, const uint32_t *starts, uint32_t begun, uint32_t i)
{
    const struct search_domain_baseline *list = search->domain->baselines;
    for (uint32_t k = 0; k < begun; k++)
        if (starts[k] == i || have_in_common(list[starts[k]].name, list[i].name))
            return false;
    return true;
}

/* the cheapest; UINT32_MAX: none is left */
static uint32_t cheapest_apart(const struct search *search, const uint32_t *starts, uint32_t begun,
                               uint32_t count)
{
    const struct core_plan *plans = search->baselines;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if ((best == UINT32_MAX ||
             cost_compare(plans[i].cost, plans[i].hash, plans[best].cost, plans[best].hash) < 0) &&
            is_apart(search, starts, begun, i))
            best = i;
    return best;
}

static int64_t worth(const struct core_plan *plan, bool by_step)
{
    return by_step ? plan->price.step_ps : plan->cost.c;
}

uint32_t core_best_over(const struct search *search, const uint32_t *starts, uint32_t begun, uint32_t count,
                        bool by_step)
{
    const struct core_plan *plans = search->baselines;
    uint32_t best = UINT32_MAX;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (plans[i].cost.over_steps == 0 && worth(&plans[i], by_step) < least)
            least = worth(&plans[i], by_step);
    for (uint32_t i = 0; i < count; i++)
        if (plans[i].cost.over_steps > 0 && worth(&plans[i], by_step) < least &&
            is_apart(search, starts, begun, i)) {
            least = worth(&plans[i], by_step);
            best = i;
        }
    return best;
}

/* of those that are above the limit and faster than all that fit the one that is least above, then the
 * fastest; UINT32_MAX: none, or where a climb has begun */
static uint32_t nearest_over(const struct search *search, const uint32_t *starts, uint32_t begun,
                             uint32_t count)
{
    const struct core_plan *plans = search->baselines;
    int64_t fastest_ps = INT64_MAX;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (plans[i].cost.over_steps == 0 && plans[i].price.step_ps < fastest_ps)
            fastest_ps = plans[i].price.step_ps;
    for (uint32_t i = 0; i < count; i++) {
        int64_t over = plans[i].cost.over_steps, least = best == UINT32_MAX ? 0 : plans[best].cost.over_steps;
        if (over > 0 && plans[i].price.step_ps < fastest_ps &&
            (best == UINT32_MAX || over < least ||
             (over == least && plans[i].price.step_ps < plans[best].price.step_ps)))
            best = i;
    }
    for (uint32_t k = 0; k < begun; k++)
        if (starts[k] == best)
            return UINT32_MAX;
    return best;
}

static uint32_t choose_start(const struct search *search, const uint32_t *starts, uint32_t begun,
                             uint32_t count)
{
    uint32_t over = UINT32_MAX;
    if (begun == START_OVER || begun == START_OVER + 1)
        over = core_best_over(search, starts, begun, count, begun > START_OVER);
    if (begun == START_OVER + 2)
        over = nearest_over(search, starts, begun, count);
    return over != UINT32_MAX ? over : cheapest_apart(search, starts, begun, count);
}

/* whether it stands where an earlier climb ended */
static bool meets_another(const struct climb *climb)
{
    for (uint32_t k = 0; k < climb->end_count; k++)
        if (climb->ends[k] == climb->index)
            return true;
    return false;
}

static enum error_code climb_from(struct climb *climb, struct error *e)
{
    uint32_t turns = climb->search->domain->variant_turns;
    enum error_code code = ERROR_OK;
    bool climbed = true;
    while (climbed && climb->left && !code) {
        for (uint32_t turn = turns - 1, idle = 0;
             idle < turns && climb->left && !code && !meets_another(climb); turn = (turn + 1) % turns) {
            code = climb_once(climb, turn, &climbed, e);
            idle = climbed ? 0 : idle + 1;
        }
        climbed = false;
        if (!code && climb->left_orders && !meets_another(climb))
            code = climb_by_order(climb, &climbed, e);
        if (!code && !climbed && !meets_another(climb))
            code = climb_by_two(climb, &climbed, e);
    }
    return code;
}

static enum error_code climb_experts(struct search *search, const struct core_pricers *pricers,
                                     struct error *e)
{
    uint32_t first = search->domain->baseline_count, starts[STARTS];
    struct climb *climb = mem_zalloc(1, sizeof *climb);
    uint64_t operations = search->domain->operations + 1;
    uint64_t least = core_clamp(WIDE_OPERATIONS / operations, FEWEST_CLIMBING, LEAST_CLIMBING);
    uint64_t most = core_clamp(CLIMBING_OPERATIONS / operations, least, MOST_CLIMBING);
    enum error_code code = ERROR_OK;
    climb->search = search;
    climb->pricers = pricers;
    climb->left_orders = (uint32_t)(most / ORDERS);
    for (uint32_t k = 0; k < STARTS && !code && most > 0 && search->domain->variants; k++) {
        uint32_t share = (uint32_t)(k + 1 < CLIMBS ? most / CLIMBS : most);
        climb->index = starts[k] = choose_start(search, starts, k, first);
        climb->left = share;
        if (climb->index == UINT32_MAX)
            break;
        climb->again = k == START_OVER + 2 && search->baselines[climb->index].cost.over_steps > 0;
        code = climb_from(climb, e);
        climb->ends[k] = climb->index;
        climb->end_count = k + 1;
        most = most - share + climb->left;
    }
    free(climb);
    return code;
}

static enum error_code price_root(struct search *search, void *session, struct error *e)
{
    search->root.found = FOUND_START;
    enum error_code code = core_price_list(search, session, &search->root, e);
    search->root_whole = search->root;
    if (!code && search->domain->price_whole)
        code = search->domain->price_whole(session, &search->root_whole.list, &search->root_whole.price,
                                           &search->root_whole.cost, e);
    search->root_reward = code ? 0 : core_reward(search, search->root.cost);
    return code;
}

/* of all that was priced, the least that a plan is above the limit */
static int64_t least_over(const struct search *search)
{
    int64_t least = search->best_baseline.over_steps;
    for (uint32_t i = 0; i < search->domain->baseline_count; i++)
        least = search->baselines[i].cost.over_steps < least ? search->baselines[i].cost.over_steps : least;
    for (uint32_t i = 0; i < search->descent_count; i++)
        least = search->descents[i].cost.over_steps < least ? search->descents[i].cost.over_steps : least;
    return least;
}

/* With margins: what is dearer than an expert that was priced cannot win, however the fold errs. */
static void set_limits(struct search *search)
{
    struct search_domain *domain = search->domain;
    domain->has_limits = domain->baseline_count && !search->options.no_baselines;
    domain->limits = limits_beside(search, search->best_baseline, least_over(search));
}

/* the experts that there was no time for are none of this search */
static void keep_priced(struct search *search, const uint8_t *priced)
{
    struct search_domain *domain = search->domain;
    uint32_t count = 0;
    for (uint32_t i = 0; i < domain->baseline_count; i++) {
        if (!priced[i])
            continue;
        domain->baselines[count] = domain->baselines[i];
        search->baselines[count] = search->baselines[i];
        search->baselines[count].baseline = (uint16_t)count;
        count++;
    }
    domain->baseline_count = count;
}

static enum error_code price_experts(struct search *search, const struct core_pricers *pricers,
                                     struct error *e)
{
    uint32_t count = search->domain->baseline_count;
    struct round round = {search, search->domain->baselines, search->baselines,
                          mem_zalloc((size_t)count + 1, 1)};
    enum error_code code = core_pricers_run(pricers, count, price_one, &round, e);
    if (!code)
        keep_priced(search, round.priced);
    free(round.priced);
    note_best(search);
    return code ? code : core_pricers_run(pricers, search->domain->baseline_count, publish_one, &round, e);
}

enum error_code core_race_experts(struct search *search, struct error *e)
{
    struct core_pricers pricers;
    core_pricers_open(search, &pricers);
    enum error_code code = price_root(search, pricers.sessions[0], e);
    if (!code)
        code = price_experts(search, &pricers, e);
    if (!code)
        code = climb_experts(search, &pricers, e);
    if (!code)
        code = core_descend(search, &pricers, e);
    set_limits(search);
    core_pricers_close(search, &pricers);
    search->options.sessions = NULL;
    return code;
}

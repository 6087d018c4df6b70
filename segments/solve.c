/* From a module to the plan of the best composed configurations: a layout of the axes, its segments, their
 * tables by the walk's price, the network, the plan, its price. */
#include "base/memory.h"
#include "segments/choice.h"

#include <stdlib.h>
#include <string.h>

/* FAR_OFF: a part of the step; BASES: how often tables are made for one layout; NEAR: a part of the cost */
enum { SOLVER_UNITS = 256, BASES = 3, FAR_OFF = 50, NEAR = 16 };

/* ---- choice ---- */

/* the network's answer under the limit into choice->now; where nothing fits, the least memory */
static enum error_code choose(struct segments_choice *choice, int64_t limit, bool *proved, struct error *e)
{
    struct cfn_problem problem;
    struct cfn_answer answer = {0};
    int64_t shift;
    struct cfn_budget budget = {.units = SOLVER_UNITS,
                                .threads = choice->budget->threads == 2 ? 2 : 1,
                                .seed = choice->budget->seed,
                                .cancelled = choice->budget->cancelled,
                                .user = choice->budget->user};
    bool possible = segments_problem(&choice->tables, limit, &problem, &shift);
    enum error_code code = cfn_solve(&problem, &budget, &answer, e);
    *proved = code == ERROR_OK && possible && answer.status == CFN_STATUS_OPTIMAL;
    for (uint32_t i = 0; code == ERROR_OK && i < problem.node_count; i++) {
        int32_t least = 0;
        for (int32_t k = 1; k < problem.nodes[i].domain; k++)
            if (problem.usages[problem.nodes[i].first_value + (uint64_t)k] <
                problem.usages[problem.nodes[i].first_value + (uint64_t)least])
                least = k;
        choice->now[i] = (uint32_t)(answer.values ? answer.values[i] : least);
    }
    cfn_answer_release(&answer);
    cfn_problem_release(&problem);
    return code;
}

static bool is_mixed(const struct segments_choice *choice)
{
    for (uint32_t i = 0; i < choice->segments->segment_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (choice->segments->segments[i].kind == choice->segments->segments[k].kind &&
                choice->now[i] != choice->now[k])
                return true;
    return false;
}

void segments_choice_keep(struct segments_choice *choice, const struct price *price, struct cost cost,
                          bool proved, struct segments_answer *out)
{
    uint32_t rounds = out->plan.rounds;
    free(out->plan.factors.at);
    *out = (struct segments_answer){
        .plan = {.hash = choice->plan.hash, .price = *price, .cost = cost, .rounds = rounds},
        .blocks = choice->segments->block_count,
        .segments = choice->segments->segment_count,
        .kinds = choice->segments->kind_count,
        .programs = choice->segments->programs,
        .inner = choice->inner,
        .composed_ps = segments_composed_ps(&choice->tables, choice->now),
        .composed_bytes = segments_composed_bytes(&choice->tables, choice->now),
        .computation_ps = segments_composed_computation_ps(&choice->tables, choice->now),
        .measured = choice->budget->timings ? (uint32_t)choice->segments->programs : 0,
        .proved = proved,
        .mixed = is_mixed(choice)};
    plan_factors_list(evaluator_context(choice->evaluator), &choice->plan, &out->plan.factors);
    memcpy(choice->best, choice->now, choice->segments->segment_count * sizeof *choice->best);
    choice->has_best = true;
}

/* Peaks of segments' programs add up to more than the module's: what the answer's sum and its whole walk say
 * is the measure of the next round's limit. */
static enum error_code measured_rounds(struct segments_choice *choice, struct segments_answer *out,
                                       struct error *e)
{
    int64_t limit = evaluator_machine(choice->evaluator)->memory_limit_bytes, now = INT64_MAX / 4;
    TRY(segments_tables_measured(evaluator_context(choice->evaluator), choice->budget->timings,
                                 &choice->tables, e));
    for (int i = 0; i < SEGMENTS_LIMIT_ROUNDS; i++) {
        struct price price;
        struct cost cost;
        bool proved;
        TRY(choose(choice, now, &proved, e));
        TRY(segments_choice_price(choice, &price, &cost, e));
        if (!out->blocks || cost.over_steps < out->plan.cost.over_steps)
            segments_choice_keep(choice, &price, cost, proved, out);
        out->plan.rounds = (uint32_t)i + 1;
        if (price.peak_bytes <= limit)
            break;
        int64_t sum = segments_composed_bytes(&choice->tables, choice->now);
        now = (int64_t)((double)sum * ((double)limit / (double)price.peak_bytes) * 0.99);
    }
    return ERROR_OK;
}

static enum error_code rounds(struct segments_choice *choice, struct segments_answer *out, struct error *e)
{
    int64_t limit = evaluator_machine(choice->evaluator)->memory_limit_bytes, now = limit;
    for (int i = 0; i < SEGMENTS_LIMIT_ROUNDS; i++) {
        struct price price;
        struct cost cost;
        bool proved;
        TRY(choose(choice, now, &proved, e));
        TRY(segments_choice_price(choice, &price, &cost, e));
        out->plan.rounds++;
        if (!out->blocks || cost_compare(cost, choice->plan.hash, out->plan.cost, out->plan.hash) <= 0)
            segments_choice_keep(choice, &price, cost, proved, out);
        choice->now_ps = price.step_ps;
        if (price.peak_bytes <= limit)
            break;
        choice->tight = true;
        now -= price.peak_bytes - limit + limit / 100;
    }
    return ERROR_OK;
}

/* Where the tables were far off the plan that they chose, they are made anew around it: deviations from a
 * plan say nothing of deviations from another whose collectives are hidden by other work. */
static enum error_code rounds_by(struct segments_choice *choice, bool alone, struct segments_answer *out,
                                 struct error *e)
{
    segments_base(choice->segments, choice->base);
    for (int i = 0; i < (choice->budget->prices ? 1 : BASES); i++) {
        TRY(segments_choice_tables(choice, alone, e));
        TRY(rounds(choice, out, e));
        int64_t composed_ps = segments_composed_ps(&choice->tables, choice->now),
                error_ps = composed_ps - choice->now_ps;
        bool is_near = (error_ps < 0 ? -error_ps : error_ps) <= choice->now_ps / FAR_OFF,
             is_kept = hash128_compare(choice->plan.hash, out->plan.hash) == 0;
        if (is_near || (!is_kept && composed_ps > out->plan.price.step_ps))
            break; /* or another layout has a better plan than these tables promise */
        memcpy(choice->base, choice->now, choice->segments->segment_count * sizeof *choice->now);
    }
    return ERROR_OK;
}

/* Is it worth looking around an answer of this layout? What is far behind the best does not come up to it. */
static bool is_near(const struct segments_answer *own, const struct segments_answer *best)
{
    return own->blocks && (own->plan.cost.over_steps < best->plan.cost.over_steps ||
                           (own->plan.cost.over_steps == best->plan.cost.over_steps &&
                            own->plan.cost.c - best->plan.cost.c <= best->plan.cost.c / NEAR));
}

/* *out becomes the better one; the other is released */
static void take_better(struct segments_answer *own, struct segments_answer *out)
{
    uint32_t rounds = own->plan.rounds + out->plan.rounds;
    if (own->blocks &&
        (!out->blocks || cost_compare(own->plan.cost, own->plan.hash, out->plan.cost, out->plan.hash) < 0)) {
        struct segments_answer worse = *out;
        *out = *own;
        *own = worse;
    }
    out->plan.rounds = rounds;
    segments_answer_release(own);
}

/* The other tables, of segments that deviate alone, on their own: what they choose may be behind, and what
 * lies around it ahead. */
static enum error_code solve_alone(struct segments_choice *choice, struct segments_answer *out,
                                   struct error *e)
{
    struct segments_answer own = {.computation_ps = -1};
    choice->has_best = false;
    enum error_code code = rounds_by(choice, true, &own, e);
    if (!code && is_near(&own, out))
        code = segments_choice_alike(choice, &own, e);
    take_better(&own, out);
    return code;
}

/* prices: of this layout; 0: no limit */
static enum error_code solve_layout(const struct evaluator *evaluator, const struct segments_budget *budget,
                                    uint64_t prices, uint32_t all, uint32_t inner,
                                    struct segments_answer *out, struct error *e)
{
    struct segments_choice choice;
    enum error_code code = ERROR_OK;
    segments_choice_open(evaluator, budget, prices, all, inner, &choice);
    if (!prices || segments_prices(choice.segments) <= prices)
        code = budget->timings ? measured_rounds(&choice, out, e) : rounds_by(&choice, false, out, e);
    if (!code && !budget->timings && !prices)
        code = segments_choice_alike(&choice, out, e);
    if (!code && !budget->timings && !prices)
        code = solve_alone(&choice, out, e);
    segments_choice_close(&choice);
    return code;
}

enum error_code segments_solve(const struct evaluator *evaluator, const struct segments_budget *budget,
                               struct segments_answer *out, struct error *e)
{
    const struct plan_context *context = evaluator_context(evaluator);
    const struct mesh *mesh = plan_context_mesh(context);
    uint32_t all, layouts[SEGMENTS_LAYOUTS], count = segments_layouts(mesh, &all, layouts);
    *out = (struct segments_answer){.computation_ps = -1};
    struct evaluator_session *session =
        evaluator_session_create(evaluator); /* the pins alone: always there */
    enum error_code code =
        evaluator_price(session, plan_context_start(context), &out->plan.price, &out->plan.cost, e);
    evaluator_session_destroy(session);
    out->plan.hash = plan_context_start(context)->hash;
    count = budget->timings && count ? 1 : count;
    count = budget->prices && budget->prices <= count ? 0 : count;
    uint64_t share = budget->prices ? (budget->prices - 1) / (count ? count : 1) : 0;
    for (uint32_t i = 0; i < count && code == ERROR_OK; i++)
        code = solve_layout(evaluator, budget, share, all, layouts[i], out, e);
    return code;
}

/* ---- bytes ---- */

struct tail {
    char magic[8];
    uint32_t blocks, segments, kinds, inner;
    uint64_t programs, measured;
    int64_t composed_ps, composed_bytes, computation_ps;
    uint64_t proved, mixed;
};

void segments_answer_release(struct segments_answer *answer)
{
    plan_cfn_answer_release(&answer->plan);
    *answer = (struct segments_answer){0};
}

void segments_answer_write(const struct segments_answer *answer, unsigned char **bytes, size_t *size)
{
    struct tail tail = {"segmen2",
                        answer->blocks,
                        answer->segments,
                        answer->kinds,
                        answer->inner,
                        answer->programs,
                        answer->measured,
                        answer->composed_ps,
                        answer->composed_bytes,
                        answer->computation_ps,
                        answer->proved,
                        answer->mixed};
    plan_cfn_answer_write(&answer->plan, bytes, size);
    *bytes = mem_realloc(*bytes, *size + sizeof tail, 1);
    memcpy(*bytes + *size, &tail, sizeof tail);
    *size += sizeof tail;
}

bool segments_answer_is(const void *bytes, size_t size)
{
    struct tail tail;
    if (size < sizeof tail)
        return false;
    memcpy(&tail, (const unsigned char *)bytes + size - sizeof tail, sizeof tail);
    return memcmp(tail.magic, "segmen2", 8) == 0;
}

enum error_code segments_answer_read(const struct evaluator *evaluator, const void *bytes, size_t size,
                                     struct segments_answer *out, struct error *e)
{
    struct tail tail;
    *out = (struct segments_answer){0};
    if (!segments_answer_is(bytes, size))
        return error_set(e, ERROR_INTERNAL, "an answer of segments is too short or has another form");
    memcpy(&tail, (const unsigned char *)bytes + size - sizeof tail, sizeof tail);
    TRY(plan_cfn_answer_read(evaluator, bytes, size - sizeof tail, &out->plan, e));
    out->blocks = tail.blocks;
    out->segments = tail.segments;
    out->kinds = tail.kinds;
    out->inner = tail.inner;
    out->programs = tail.programs;
    out->measured = (uint32_t)tail.measured;
    out->composed_ps = tail.composed_ps;
    out->composed_bytes = tail.composed_bytes;
    out->computation_ps = tail.computation_ps;
    out->proved = tail.proved != 0;
    out->mixed = tail.mixed != 0;
    return ERROR_OK;
}

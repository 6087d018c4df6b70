/* From a module to the plan of the best composed configurations: a layout of the axes, its segments, their
 * tables by the walk's price, the network, the plan, its price. */
#include "segments/compose.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* FAR_OFF: a part of the step; BASES: how often tables are made for one layout */
enum { LIMIT_ROUNDS = 3, SOLVER_UNITS = 256, BASES = 3, FAR_OFF = 50, ALIKE_ROUNDS = 3 };

/* ---- tables ---- */

struct layout {
    const struct evaluator *evaluator;
    const struct segments_budget *budget;
    struct evaluator_session *session;
    struct segments *segments;
    struct segments_tables tables;
    uint32_t outer, inner;
    uint32_t *base, *now, *best;         /* configuration of each segment; best: of the answer */
    bool has_best;                       /* the answer is of this layout */
    int64_t base_ps, base_bytes, now_ps; /* whole prices */
    struct plan plan;
};

static enum error_code price_now(struct layout *layout, struct price *price, struct cost *cost,
                                 struct error *e)
{
    if (layout->budget->cancelled && layout->budget->cancelled(layout->budget->user))
        return error_set(e, ERROR_CANCELLED, "cancelled");
    segments_plan(layout->segments, evaluator_context(layout->evaluator), layout->outer, layout->inner,
                  layout->now, &layout->plan);
    return evaluator_price(layout->session, &layout->plan, price, cost, e);
}

static enum error_code price_kind(struct layout *layout, uint32_t kind, struct error *e)
{
    uint32_t example = layout->segments->kinds[kind].example;
    for (uint32_t i = 0; i < layout->segments->kinds[kind].configurations; i++) {
        struct price price;
        struct cost cost;
        layout->now[example] = i;
        TRY(price_now(layout, &price, &cost, e));
        layout->tables.time_ps[kind][i] = price.step_ps - layout->base_ps;
        layout->tables.bytes[kind][i] = price.peak_bytes - layout->base_bytes;
    }
    layout->now[example] = layout->base[example];
    return ERROR_OK;
}

/* what it costs that one block of a segment takes each of its strategies, the others the base's */
static enum error_code price_block(struct layout *layout, uint32_t block, int64_t *time_ps, struct error *e)
{
    const struct segments *segments = layout->segments;
    uint32_t segment = segments->segment_of[block], number = block - segments->segments[segment].first;
    for (uint32_t i = 0; i < segments_strategy_count(segments, block); i++) {
        struct price price;
        struct cost cost;
        layout->now[segment] = segments_with_digit(segments, segment, layout->base[segment], number, i);
        TRY(price_now(layout, &price, &cost, e));
        time_ps[i] = price.step_ps - layout->base_ps;
    }
    layout->now[segment] = layout->base[segment];
    return ERROR_OK;
}

/* What both cost alone is priced where the pair stands, not taken from their kinds' examples: these stand
 * elsewhere, where other work hides their collectives, and a small difference would count for every layer. */
static enum error_code price_pair(struct layout *layout, uint32_t number, struct error *e)
{
    const struct segments *segments = layout->segments;
    const struct segments_pair *pair = &segments->pairs[number];
    const struct segments_dependence *it = &segments->dependences[pair->example];
    uint32_t from = segments->contractions[it->from].block, to = segments->contractions[it->to].block;
    uint32_t one = segments->segment_of[from], other = segments->segment_of[to];
    uint32_t rows = segments_strategy_count(segments, from), columns = segments_strategy_count(segments, to);
    int64_t alone[2][SEGMENTS_SIDES];
    TRY(price_block(layout, from, alone[0], e));
    TRY(price_block(layout, to, alone[1], e));
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < columns; k++) {
            struct price price;
            struct cost cost;
            layout->now[one] = segments_with_digit(segments, one, layout->base[one], pair->from_block, i);
            layout->now[other] = segments_with_digit(segments, other, layout->base[other], pair->to_block, k);
            TRY(price_now(layout, &price, &cost, e));
            layout->tables.reshard_ps[number][i * columns + k] =
                price.step_ps - layout->base_ps - alone[0][i] - alone[1][k];
        }
    layout->now[one] = layout->base[one];
    layout->now[other] = layout->base[other];
    return ERROR_OK;
}

/* around layout->base; what is composed of the base is its whole price, whatever its segments have */
static enum error_code fill_tables(struct layout *layout, struct error *e)
{
    struct price price;
    struct cost cost;
    memcpy(layout->now, layout->base, layout->segments->segment_count * sizeof *layout->now);
    TRY(price_now(layout, &price, &cost, e));
    layout->base_ps = price.step_ps;
    layout->base_bytes = price.peak_bytes;
    for (uint32_t kind = 0; kind < layout->segments->kind_count; kind++)
        TRY(price_kind(layout, kind, e));
    for (uint32_t pair = 0; pair < layout->segments->pair_count; pair++)
        TRY(price_pair(layout, pair, e));
    layout->tables.base_ps = layout->tables.base_bytes = 0;
    layout->tables.base_ps = layout->base_ps - segments_composed_ps(&layout->tables, layout->base);
    layout->tables.base_bytes = layout->base_bytes - segments_composed_bytes(&layout->tables, layout->base);
    return ERROR_OK;
}

/* ---- choice ---- */

/* the network's answer under the limit into layout->now; where nothing fits, the least memory */
static enum error_code choose(struct layout *layout, int64_t limit, bool *proved, struct error *e)
{
    struct cfn_problem problem;
    struct cfn_answer answer = {0};
    int64_t shift;
    struct cfn_budget budget = {.units = SOLVER_UNITS,
                                .threads = layout->budget->threads == 2 ? 2 : 1,
                                .seed = layout->budget->seed,
                                .cancelled = layout->budget->cancelled,
                                .user = layout->budget->user};
    bool possible = segments_problem(&layout->tables, limit, &problem, &shift);
    enum error_code code = cfn_solve(&problem, &budget, &answer, e);
    *proved = code == ERROR_OK && possible && answer.status == CFN_STATUS_OPTIMAL;
    for (uint32_t i = 0; code == ERROR_OK && i < problem.node_count; i++) {
        int32_t least = 0;
        for (int32_t k = 1; k < problem.nodes[i].domain; k++)
            if (problem.usages[problem.nodes[i].first_value + (uint64_t)k] <
                problem.usages[problem.nodes[i].first_value + (uint64_t)least])
                least = k;
        layout->now[i] = (uint32_t)(answer.values ? answer.values[i] : least);
    }
    cfn_answer_release(&answer);
    cfn_problem_release(&problem);
    return code;
}

static bool is_mixed(const struct layout *layout)
{
    for (uint32_t i = 0; i < layout->segments->segment_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (layout->segments->segments[i].kind == layout->segments->segments[k].kind &&
                layout->now[i] != layout->now[k])
                return true;
    return false;
}

static void keep(struct layout *layout, const struct price *price, struct cost cost, bool proved,
                 struct segments_answer *out)
{
    uint32_t rounds = out->plan.rounds;
    free(out->plan.factors.at);
    *out = (struct segments_answer){
        .plan = {.hash = layout->plan.hash, .price = *price, .cost = cost, .rounds = rounds},
        .blocks = layout->segments->block_count,
        .segments = layout->segments->segment_count,
        .kinds = layout->segments->kind_count,
        .programs = layout->segments->programs,
        .inner = layout->inner,
        .composed_ps = segments_composed_ps(&layout->tables, layout->now),
        .composed_bytes = segments_composed_bytes(&layout->tables, layout->now),
        .measured = layout->budget->timings ? (uint32_t)layout->segments->programs : 0,
        .proved = proved,
        .mixed = is_mixed(layout)};
    plan_factors_list(evaluator_context(layout->evaluator), &layout->plan, &out->plan.factors);
    memcpy(layout->best, layout->now, layout->segments->segment_count * sizeof *layout->best);
    layout->has_best = true;
}

/* Peaks of segments' programs add up to more than the module's: what the answer's sum and its whole walk say
 * is the measure of the next round's limit. */
static enum error_code measured_rounds(struct layout *layout, struct segments_answer *out, struct error *e)
{
    int64_t limit = evaluator_machine(layout->evaluator)->memory_limit_bytes, now = INT64_MAX / 4;
    TRY(segments_tables_measured(evaluator_context(layout->evaluator), layout->budget->timings,
                                 &layout->tables, e));
    for (int i = 0; i < LIMIT_ROUNDS; i++) {
        struct price price;
        struct cost cost;
        bool proved;
        TRY(choose(layout, now, &proved, e));
        TRY(price_now(layout, &price, &cost, e));
        if (!out->blocks || cost.over_steps < out->plan.cost.over_steps)
            keep(layout, &price, cost, proved, out);
        out->plan.rounds = (uint32_t)i + 1;
        if (price.peak_bytes <= limit)
            break;
        int64_t sum = segments_composed_bytes(&layout->tables, layout->now);
        now = (int64_t)((double)sum * ((double)limit / (double)price.peak_bytes) * 0.99);
    }
    return ERROR_OK;
}

static enum error_code rounds(struct layout *layout, struct segments_answer *out, struct error *e)
{
    int64_t limit = evaluator_machine(layout->evaluator)->memory_limit_bytes, now = limit;
    for (int i = 0; i < LIMIT_ROUNDS; i++) {
        struct price price;
        struct cost cost;
        bool proved;
        TRY(choose(layout, now, &proved, e));
        TRY(price_now(layout, &price, &cost, e));
        out->plan.rounds++;
        if (!out->blocks || cost_compare(cost, layout->plan.hash, out->plan.cost, out->plan.hash) <= 0)
            keep(layout, &price, cost, proved, out);
        layout->now_ps = price.step_ps;
        if (price.peak_bytes <= limit)
            break;
        now -= price.peak_bytes - limit + limit / 100;
    }
    return ERROR_OK;
}

/* Where the tables were far off the plan that they chose, they are made anew around it: deviations from a
 * plan say nothing of deviations from another whose collectives are hidden by other work. */
static enum error_code priced_rounds(struct layout *layout, struct segments_answer *out, struct error *e)
{
    segments_base(layout->segments, layout->base);
    for (int i = 0; i < BASES; i++) {
        TRY(fill_tables(layout, e));
        TRY(rounds(layout, out, e));
        int64_t composed_ps = segments_composed_ps(&layout->tables, layout->now),
                error_ps = composed_ps - layout->now_ps;
        bool is_near = (error_ps < 0 ? -error_ps : error_ps) <= layout->now_ps / FAR_OFF,
             is_kept = hash128_compare(layout->plan.hash, out->plan.hash) == 0;
        if (is_near || (!is_kept && composed_ps > out->plan.price.step_ps))
            break; /* or another layout has a better plan than these tables promise */
        memcpy(layout->base, layout->now, layout->segments->segment_count * sizeof *layout->now);
    }
    return ERROR_OK;
}

/* the layout's best with all segments of a kind in one configuration, kept where that is better */
static enum error_code try_alike(struct layout *layout, uint32_t kind, uint32_t configuration,
                                 struct segments_answer *out, bool *better, struct error *e)
{
    const struct segments *segments = layout->segments;
    struct price price;
    struct cost cost;
    memcpy(layout->now, layout->best, segments->segment_count * sizeof *layout->now);
    for (uint32_t i = 0; i < segments->segment_count; i++)
        if (segments->segments[i].kind == kind)
            layout->now[i] = configuration;
    TRY(price_now(layout, &price, &cost, e));
    if (cost_compare(cost, layout->plan.hash, out->plan.cost, out->plan.hash) < 0) {
        keep(layout, &price, cost, false, out);
        *better = true;
    }
    return ERROR_OK;
}

/* Tables add up what does not add: hidden collectives, peaks. So each configuration is tried in all segments
 * of a kind by the price of the whole, from the layout's best on, until none is better. */
static enum error_code alike_rounds(struct layout *layout, struct segments_answer *out, struct error *e)
{
    bool better = layout->has_best;
    for (int round = 0; round < ALIKE_ROUNDS && better; round++) {
        better = false;
        for (uint32_t kind = 0; kind < layout->segments->kind_count; kind++)
            for (uint32_t i = 0; i < layout->segments->kinds[kind].configurations; i++)
                TRY(try_alike(layout, kind, i, out, &better, e));
    }
    return ERROR_OK;
}

static enum error_code solve_layout(const struct evaluator *evaluator, const struct segments_budget *budget,
                                    uint32_t all, uint32_t inner, struct segments_answer *out,
                                    struct error *e)
{
    const struct plan_context *context = evaluator_context(evaluator);
    const struct mesh *mesh = plan_context_mesh(context);
    struct layout layout = {.evaluator = evaluator, .budget = budget, .outer = all & ~inner, .inner = inner};
    segments_of_layout(plan_context_nda(context), mesh, inner, budget->timings ? 0 : budget->programs,
                       &layout.segments);
    layout.session = evaluator_session_create(evaluator);
    layout.base = mem_zalloc((size_t)layout.segments->segment_count + 1, sizeof *layout.base);
    layout.now = mem_zalloc((size_t)layout.segments->segment_count + 1, sizeof *layout.now);
    layout.best = mem_zalloc((size_t)layout.segments->segment_count + 1, sizeof *layout.best);
    plan_init(&layout.plan, plan_context_nda(context), mesh);
    segments_tables_create(layout.segments, &layout.tables);
    enum error_code code =
        budget->timings ? measured_rounds(&layout, out, e) : priced_rounds(&layout, out, e);
    if (!code && !budget->timings)
        code = alike_rounds(&layout, out, e);
    segments_tables_release(&layout.tables);
    plan_release(&layout.plan);
    free(layout.base);
    free(layout.now);
    free(layout.best);
    evaluator_session_destroy(layout.session);
    segments_destroy(layout.segments);
    return code;
}

enum error_code segments_solve(const struct evaluator *evaluator, const struct segments_budget *budget,
                               struct segments_answer *out, struct error *e)
{
    const struct plan_context *context = evaluator_context(evaluator);
    const struct mesh *mesh = plan_context_mesh(context);
    uint32_t all, layouts[SEGMENTS_LAYOUTS], count = segments_layouts(mesh, &all, layouts);
    *out = (struct segments_answer){0};
    struct evaluator_session *session =
        evaluator_session_create(evaluator); /* the pins alone: always there */
    enum error_code code =
        evaluator_price(session, plan_context_start(context), &out->plan.price, &out->plan.cost, e);
    evaluator_session_destroy(session);
    out->plan.hash = plan_context_start(context)->hash;
    count = budget->timings && count ? 1 : count;
    for (uint32_t i = 0; i < count && code == ERROR_OK; i++)
        code = solve_layout(evaluator, budget, all, layouts[i], out, e);
    return code;
}

/* ---- bytes ---- */

struct tail {
    char magic[8];
    uint32_t blocks, segments, kinds, inner;
    uint64_t programs, measured;
    int64_t composed_ps, composed_bytes;
    uint64_t proved, mixed;
};

void segments_answer_release(struct segments_answer *answer)
{
    plan_cfn_answer_release(&answer->plan);
    *answer = (struct segments_answer){0};
}

void segments_answer_write(const struct segments_answer *answer, unsigned char **bytes, size_t *size)
{
    struct tail tail = {"segment",        answer->blocks,      answer->segments,
                        answer->kinds,    answer->inner,       answer->programs,
                        answer->measured, answer->composed_ps, answer->composed_bytes,
                        answer->proved,   answer->mixed};
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
    return memcmp(tail.magic, "segment", 8) == 0;
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
    out->proved = tail.proved != 0;
    out->mixed = tail.mixed != 0;
    return ERROR_OK;
}

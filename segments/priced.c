/* Tables by the walk's price of the whole program, around choice->base (compose.h says what they add up to).
 *
 *   reshards         of two blocks, where their pair stands: what both cost beyond each of them alone
 *   configurations   of all segments of a kind at once: the whole price less the base's and less the reshards
 *                    between these segments, each one's share of it
 *
 * All at once, as collectives of one segment hide behind the work of the others until there are too many of
 * them, and gradients that one segment no longer reduces are no time saved while the others' are on the
 * link. So sums are exact of every plan in which one kind deviates, whatever overlaps.
 *
 * Or alone: of one segment that deviates, the kind's example. Which one is nearer is another from module to
 * module (docs/segments.md), so both are solved. */
#include "base/memory.h"
#include "segments/choice.h"

#include <stdlib.h>
#include <string.h>

void segments_choice_open(const struct evaluator *evaluator, const struct segments_budget *budget,
                          uint64_t prices, uint32_t all, uint32_t inner, struct segments_choice *out)
{
    const struct plan_context *context = evaluator_context(evaluator);
    const struct mesh *mesh = plan_context_mesh(context);
    *out = (struct segments_choice){
        .evaluator = evaluator, .budget = budget, .outer = all & ~inner, .inner = inner};
    segments_of_layout(plan_context_nda(context), mesh, inner, budget->timings ? 0 : budget->programs, prices,
                       &out->segments);
    size_t count = (size_t)out->segments->segment_count + 1;
    out->session = evaluator_session_create(evaluator);
    out->base = mem_zalloc(count, sizeof *out->base);
    out->now = mem_zalloc(count, sizeof *out->now);
    out->best = mem_zalloc(count, sizeof *out->best);
    plan_init(&out->plan, plan_context_nda(context), mesh);
    segments_tables_create(out->segments, &out->tables);
    segments_base(out->segments, out->base);
}

void segments_choice_close(struct segments_choice *choice)
{
    segments_tables_release(&choice->tables);
    plan_release(&choice->plan);
    free(choice->base);
    free(choice->now);
    free(choice->best);
    evaluator_session_destroy(choice->session);
    segments_destroy(choice->segments);
    *choice = (struct segments_choice){.evaluator = NULL};
}

enum error_code segments_choice_price(struct segments_choice *choice, struct price *price, struct cost *cost,
                                      struct error *e)
{
    if (choice->budget->cancelled && choice->budget->cancelled(choice->budget->user))
        return error_set(e, ERROR_CANCELLED, "cancelled");
    segments_plan(choice->segments, evaluator_context(choice->evaluator), choice->outer, choice->inner,
                  choice->now, &choice->plan);
    return evaluator_price(choice->session, &choice->plan, price, cost, e);
}

/* what it costs that one block of a segment takes each of its strategies, the others the base's */
static enum error_code price_block(struct segments_choice *choice, uint32_t block, int64_t *time_ps,
                                   struct error *e)
{
    const struct segments *segments = choice->segments;
    uint32_t segment = segments->segment_of[block], number = block - segments->segments[segment].first;
    for (uint32_t i = 0; i < segments_strategy_count(segments, block); i++) {
        struct price price;
        struct cost cost;
        choice->now[segment] = segments_with_digit(segments, segment, choice->base[segment], number, i);
        TRY(segments_choice_price(choice, &price, &cost, e));
        time_ps[i] = price.step_ps - choice->base_ps;
    }
    choice->now[segment] = choice->base[segment];
    return ERROR_OK;
}

/* What both cost alone is priced where the pair stands, not taken from their kinds' examples: these stand
 * elsewhere, where other work hides their collectives, and a small difference would count for every layer. */
static enum error_code price_pair(struct segments_choice *choice, uint32_t number, struct error *e)
{
    const struct segments *segments = choice->segments;
    const struct segments_pair *pair = &segments->pairs[number];
    const struct segments_dependence *it = &segments->dependences[pair->example];
    uint32_t from = segments->contractions[it->from].block, to = segments->contractions[it->to].block;
    uint32_t one = segments->segment_of[from], other = segments->segment_of[to];
    uint32_t rows = segments_strategy_count(segments, from), columns = segments_strategy_count(segments, to);
    int64_t alone[2][SEGMENTS_SIDES];
    TRY(price_block(choice, from, alone[0], e));
    TRY(price_block(choice, to, alone[1], e));
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < columns; k++) {
            struct price price;
            struct cost cost;
            choice->now[one] = segments_with_digit(segments, one, choice->base[one], pair->from_block, i);
            choice->now[other] = segments_with_digit(segments, other, choice->base[other], pair->to_block, k);
            TRY(segments_choice_price(choice, &price, &cost, e));
            choice->tables.reshard_ps[number][i * columns + k] =
                price.step_ps - choice->base_ps - alone[0][i] - alone[1][k];
        }
    choice->now[one] = choice->base[one];
    choice->now[other] = choice->base[other];
    return ERROR_OK;
}

static void set_kind(struct segments_choice *choice, uint32_t kind, uint32_t configuration)
{
    for (uint32_t i = 0; i < choice->segments->segment_count; i++)
        if (choice->segments->segments[i].kind == kind)
            choice->now[i] = configuration;
}

/* With the pairs' tables there, and nothing in the kinds' yet that crossings would count */
static enum error_code price_kind(struct segments_choice *choice, uint32_t kind, bool alone, struct error *e)
{
    const struct segments *segments = choice->segments;
    int64_t instances = alone ? 1 : segments->kinds[kind].instances;
    int64_t base_ps = segments_reshards_ps(&choice->tables, choice->base);
    for (uint32_t i = 0; i < segments->kinds[kind].configurations; i++) {
        struct price price;
        struct cost cost;
        if (alone)
            choice->now[segments->kinds[kind].example] = i;
        else
            set_kind(choice, kind, i);
        TRY(segments_choice_price(choice, &price, &cost, e));
        int64_t reshards_ps = segments_reshards_ps(&choice->tables, choice->now) - base_ps;
        choice->tables.time_ps[kind][i] = (price.step_ps - choice->base_ps - reshards_ps) / instances;
        choice->tables.bytes[kind][i] = (price.peak_bytes - choice->base_bytes) / instances;
    }
    memcpy(choice->now, choice->base, segments->segment_count * sizeof *choice->now);
    return ERROR_OK;
}

enum error_code segments_choice_tables(struct segments_choice *choice, bool alone, struct error *e)
{
    struct price price;
    struct cost cost;
    memcpy(choice->now, choice->base, choice->segments->segment_count * sizeof *choice->now);
    TRY(segments_choice_price(choice, &price, &cost, e));
    choice->base_ps = price.step_ps;
    choice->base_bytes = price.peak_bytes;
    for (uint32_t pair = 0; pair < choice->segments->pair_count; pair++)
        TRY(price_pair(choice, pair, e));
    for (uint32_t kind = 0; kind < choice->segments->kind_count; kind++)
        TRY(price_kind(choice, kind, alone, e));
    choice->tables.base_ps = choice->tables.base_bytes = 0;
    choice->tables.base_ps = choice->base_ps - segments_composed_ps(&choice->tables, choice->base);
    choice->tables.base_bytes = choice->base_bytes - segments_composed_bytes(&choice->tables, choice->base);
    return ERROR_OK;
}

/* Tables add up what does not add: hidden collectives, peaks. So plans whose equal segments are alike are
 * tried by the price of the whole, from the layout's best on:
 *
 *   each in turn   every configuration in all segments of a kind, until none is better; then of a group
 *   all            where memory binds and there are few enough: every choice of a configuration for each
 *                  group; then none of them is better than the answer
 *   between two    the fastest of those that do not fit beside the best one that does: as many segments as
 *                  fit take the former's configurations, the others the latter's
 *
 * A group is one kind of segments, or, where that makes too many choices, all that have the same blocks: as
 * many, with equal strategies. */
#include "segments/choice.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3, MOST_PRICES = 2048, MOST_PAIRS = 64 };

/* one configuration for each group, as a number in mixed radix, the first group's the major digit */
struct uniform {
    uint64_t number;
    int64_t step_ps;
};
struct alike {
    struct segments_choice *choice;
    struct segments_answer *out;
    uint32_t group_count, *group_of;      /* by kind */
    uint64_t *configurations;             /* by group */
    uint64_t count;                       /* choices of all; UINT64_MAX: beyond */
    struct uniform too_large[MOST_PAIRS]; /* the fastest that do not fit, ascending time */
    uint32_t too_large_count;
};

/* ---- groups ---- */

static bool same_block(const struct segments *segments, uint32_t one, uint32_t other)
{
    const struct segments_block *a = &segments->blocks[one], *b = &segments->blocks[other];
    bool same = a->strategy_count == b->strategy_count;
    for (uint32_t i = 0; same && i < a->strategy_count; i++)
        same = segments->strategies[a->strategies + i].side == segments->strategies[b->strategies + i].side;
    return same;
}

static bool same_kind(const struct segments *segments, uint32_t one, uint32_t other)
{
    const struct segments_segment *a = &segments->segments[segments->kinds[one].example],
                                  *b = &segments->segments[segments->kinds[other].example];
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = same_block(segments, a->first + i, b->first + i);
    return same;
}

/* kinds of `joined` configurations or more are in one group with those that have the same blocks; each other
 * one is a group of its own */
static void find_groups(struct alike *alike, uint64_t joined)
{
    const struct segments *segments = alike->choice->segments;
    alike->group_count = 0;
    alike->count = 1;
    for (uint32_t kind = 0; kind < segments->kind_count; kind++) {
        uint64_t count = segments->kinds[kind].configurations;
        uint32_t like = count >= joined ? 0 : kind;
        while (like < kind && !same_kind(segments, like, kind))
            like++;
        alike->group_of[kind] = like < kind ? alike->group_of[like] : alike->group_count;
        if (like < kind)
            continue;
        alike->configurations[alike->group_count++] = count;
        alike->count = count && alike->count > UINT64_MAX / count ? UINT64_MAX : alike->count * count;
    }
}

/* Groups with `most` choices or fewer in all, as fine as can be: those that have more configurations are
 * joined first. */
static void choose_groups(struct alike *alike, uint64_t most)
{
    const struct segments *segments = alike->choice->segments;
    uint64_t joined = UINT64_MAX;
    find_groups(alike, joined);
    while (alike->count > most && joined) {
        uint64_t next = 0;
        for (uint32_t kind = 0; kind < segments->kind_count; kind++)
            if (segments->kinds[kind].configurations < joined && segments->kinds[kind].configurations > next)
                next = segments->kinds[kind].configurations;
        joined = next;
        find_groups(alike, joined);
    }
}

/* ---- candidates ---- */

/* the price of choice->now; the answer becomes it where that is better */
static enum error_code try_now(struct alike *alike, struct price *price, bool *better, struct error *e)
{
    struct segments_choice *choice = alike->choice;
    struct cost cost;
    TRY(segments_choice_price(choice, price, &cost, e));
    *better = cost_compare(cost, choice->plan.hash, alike->out->plan.cost, alike->out->plan.hash) < 0;
    if (*better)
        segments_choice_keep(choice, price, cost, false, alike->out);
    return ERROR_OK;
}

/* choice->now: the layout's best, with this configuration in all segments of the kind, or of its group */
static void set_alike(struct alike *alike, uint32_t kind, bool group, uint32_t configuration)
{
    struct segments_choice *choice = alike->choice;
    const struct segments *segments = choice->segments;
    memcpy(choice->now, choice->best, segments->segment_count * sizeof *choice->now);
    for (uint32_t i = 0; i < segments->segment_count; i++) {
        uint32_t other = segments->segments[i].kind;
        if (other == kind || (group && alike->group_of[other] == alike->group_of[kind]))
            choice->now[i] = configuration;
    }
}

static bool first_of_group(const struct alike *alike, uint32_t kind)
{
    for (uint32_t other = 0; other < kind; other++)
        if (alike->group_of[other] == alike->group_of[kind])
            return false;
    return true;
}

static enum error_code each_in_turn(struct alike *alike, bool group, struct error *e)
{
    const struct segments *segments = alike->choice->segments;
    bool any = !group || alike->group_count < segments->kind_count;
    for (int round = 0; round < ROUNDS && any; round++) {
        any = false;
        for (uint32_t kind = 0; kind < segments->kind_count; kind++)
            for (uint32_t k = 0; k < segments->kinds[kind].configurations; k++) {
                struct price price;
                bool better;
                if (group && !first_of_group(alike, kind))
                    continue;
                set_alike(alike, kind, group, k);
                TRY(try_now(alike, &price, &better, e));
                any = any || better;
            }
    }
    return ERROR_OK;
}

static void set_uniform(struct alike *alike, uint64_t number, uint32_t *configurations)
{
    const struct segments *segments = alike->choice->segments;
    for (uint32_t i = 0; i < segments->segment_count; i++) {
        uint64_t rest = number;
        for (uint32_t k = alike->group_count - 1; k > alike->group_of[segments->segments[i].kind]; k--)
            rest /= alike->configurations[k];
        configurations[i] =
            (uint32_t)(rest % alike->configurations[alike->group_of[segments->segments[i].kind]]);
    }
}

/* among the fastest that do not fit, when it is */
static void note_too_large(struct alike *alike, uint64_t number, int64_t step_ps)
{
    uint32_t at = alike->too_large_count;
    if (at == MOST_PAIRS && step_ps >= alike->too_large[at - 1].step_ps)
        return;
    at = at == MOST_PAIRS ? at - 1 : alike->too_large_count++;
    for (; at > 0 && alike->too_large[at - 1].step_ps > step_ps; at--)
        alike->too_large[at] = alike->too_large[at - 1];
    alike->too_large[at] = (struct uniform){number, step_ps};
}

static enum error_code all(struct alike *alike, struct error *e)
{
    struct segments_choice *choice = alike->choice;
    int64_t limit = evaluator_machine(choice->evaluator)->memory_limit_bytes;
    for (uint64_t number = 0; number < alike->count; number++) {
        struct price price;
        bool better;
        set_uniform(alike, number, choice->now);
        TRY(try_now(alike, &price, &better, e));
        if (price.peak_bytes > limit)
            note_too_large(alike, number, price.step_ps);
    }
    return ERROR_OK;
}

/* Bisection for the most segments, the first ones or (from_end) the last ones, that may take the faster
 * plan's configurations. */
static enum error_code between(struct alike *alike, const uint32_t *fits, const uint32_t *faster,
                               bool from_end, struct error *e)
{
    struct segments_choice *choice = alike->choice;
    int64_t limit = evaluator_machine(choice->evaluator)->memory_limit_bytes;
    uint32_t count = choice->segments->segment_count, low = 0, high = count;
    while (high - low > 1) { /* low of them fit, high do not */
        struct price price;
        bool better;
        uint32_t middle = low + (high - low) / 2;
        for (uint32_t i = 0; i < count; i++)
            choice->now[i] = (from_end ? count - 1 - i : i) < middle ? faster[i] : fits[i];
        TRY(try_now(alike, &price, &better, e));
        if (price.peak_bytes <= limit)
            low = middle;
        else
            high = middle;
    }
    return ERROR_OK;
}

static enum error_code between_two(struct alike *alike, struct error *e)
{
    struct segments_choice *choice = alike->choice;
    size_t count = choice->segments->segment_count;
    uint32_t *fits = mem_zalloc(count + 1, sizeof *fits), *faster = mem_zalloc(count + 1, sizeof *faster);
    enum error_code code = ERROR_OK;
    memcpy(fits, choice->best, count * sizeof *fits);
    for (uint32_t i = 0; i < 2 * alike->too_large_count && !code; i++) {
        const struct uniform *it = &alike->too_large[i / 2];
        if (it->step_ps >= alike->out->plan.price.step_ps)
            break;
        set_uniform(alike, it->number, faster);
        code = between(alike, fits, faster, i % 2 == 1, e);
    }
    free(fits);
    free(faster);
    return code;
}

enum error_code segments_choice_alike(struct segments_choice *choice, struct segments_answer *out,
                                      struct error *e)
{
    struct alike alike = {.choice = choice, .out = out};
    uint64_t most = choice->budget->programs ? choice->budget->programs : MOST_PRICES;
    if (!choice->has_best || !choice->segments->segment_count)
        return ERROR_OK;
    alike.group_of = mem_zalloc((size_t)choice->segments->kind_count + 1, sizeof *alike.group_of);
    alike.configurations = mem_zalloc((size_t)choice->segments->kind_count + 1, sizeof *alike.configurations);
    choose_groups(&alike, most);
    enum error_code code = each_in_turn(&alike, false, e);
    code = code ? code : each_in_turn(&alike, true, e);
    if (!code && choice->tight && alike.count <= most) {
        code = all(&alike, e);
        if (!code && out->plan.price.peak_bytes <= evaluator_machine(choice->evaluator)->memory_limit_bytes)
            code = between_two(&alike, e);
    }
    free(alike.group_of);
    free(alike.configurations);
    return code;
}

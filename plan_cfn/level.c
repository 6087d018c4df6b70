/* Equal layers are split equally: a network's plan is made op by op, and where two ways cost nearly the same
 * it takes one here and the other there, which no reader can follow.
 *
 * Spaces are alike when they and what surrounds them for some steps of dataflow are (colour refinement):
 * first by op, sizes and kinds of factors, then by the classes of the spaces that make their operands and
 * use their results. Each space of a class takes what most of the class have. The fewer steps, the more is
 * alike; the first plan that costs no more than 1 % over the given one is kept, and levelled again; without
 * one the given plan stays. */
#include "plan_cfn/internal.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t STEPS[] = {1, 2, 4, 8}; /* of dataflow */
enum { LEVELS = sizeof STEPS / sizeof *STEPS, MOST_PASSES = 8 };
static const double MOST_COST = 1.01;

struct leveller {
    const struct plan_context *context;
    const struct nda *n;
    uint64_t *class, *next; /* per space */
    uint64_t *made, *used;  /* per value: of the space that makes it; sum over those that use it */
    uint32_t steps;         /* that classes look ahead */
    struct plan levelled;
};

/* what a space is by itself; where it lies is left out */
static uint64_t own_class(const struct nda *n, uint32_t index)
{
    const struct nda_space *space = &n->spaces[index];
    bool op = space->kind == NDA_SPACE_OP;
    uint64_t hash =
        hash_combine(space->kind, op ? ir_opcode_number((enum ir_opcode)n->program->ops[space->op].code) : 0);
    if (space->kind == NDA_SPACE_ARGUMENT)
        hash = hash_combine(hash, (uint64_t)n->arguments[space->index].role);
    for (uint32_t i = 0; i < space->factor_count; i++) {
        const struct nda_factor *factor = &n->factors[space->factors + i];
        hash =
            hash_combine(hash_combine(hash, (uint64_t)factor->size),
                         (uint64_t)factor->kind << 16 | (uint64_t)factor->reducer << 8 | factor->shardable);
        hash = hash_combine(hash, n->colors[factor->color].group);
    }
    return hash;
}

static void refine(struct leveller *leveller)
{
    const struct nda *n = leveller->n;
    memset(leveller->made, 0, sizeof *leveller->made * n->program->value_count);
    memset(leveller->used, 0, sizeof *leveller->used * n->program->value_count);
    for (uint32_t i = 0; i < n->space_count; i++)
        for (uint32_t k = 0; k < n->spaces[i].slot_count; k++) {
            const struct nda_slot *slot = &n->slots[n->spaces[i].slots + k];
            if (slot->is_result)
                leveller->made[slot->value] = leveller->class[i];
            else
                leveller->used[slot->value] += hash_combine(leveller->class[i], slot->operand);
        }
    for (uint32_t i = 0; i < n->space_count; i++) {
        uint64_t hash = leveller->class[i];
        for (uint32_t k = 0; k < n->spaces[i].slot_count; k++) {
            const struct nda_slot *slot = &n->slots[n->spaces[i].slots + k];
            hash = hash_combine(hash,
                                slot->is_result ? leveller->used[slot->value] : leveller->made[slot->value]);
        }
        leveller->next[i] = hash;
    }
    memcpy(leveller->class, leveller->next, sizeof *leveller->class * n->space_count);
}

struct keyed {
    uint64_t class, cells;
    uint32_t space;
};

static int by_class(const void *left, const void *right)
{
    const struct keyed *one = left, *other = right;
    if (one->class != other->class)
        return one->class < other->class ? -1 : 1;
    if (one->cells != other->cells)
        return one->cells < other->cells ? -1 : 1;
    return one->space < other->space ? -1 : one->space > other->space;
}

/* the cells of space `from` of the given plan, as factors of space `to` of *out */
static void take(const struct leveller *leveller, const struct plan *given, uint32_t from, uint32_t to,
                 struct plan *out)
{
    for (uint32_t position = 0; position < given->axis_count; position++)
        for (uint32_t axis = 0; axis < given->axis_count; axis++) {
            struct plan_cell cell = plan_space(given, from)[axis];
            if (cell.factor != NDA_NO_FACTOR && cell.position == position)
                plan_apply_factor(leveller->context, out, to, cell.factor, axis);
        }
}

/* every space of a class as most of the class, of equally many the first */
static void level(const struct leveller *leveller, const struct plan *given, struct plan *out)
{
    const struct nda *n = leveller->n;
    struct keyed *list = mem_alloc(sizeof *list * ((size_t)n->space_count + 1));
    for (uint32_t i = 0; i < n->space_count; i++)
        list[i] = (struct keyed){
            leveller->class[i],
            hash_bytes(plan_space(given, i), sizeof(struct plan_cell) * given->axis_count, 1), i};
    qsort(list, n->space_count, sizeof *list, by_class);
    uint32_t *like = mem_alloc(sizeof *like * ((size_t)n->space_count + 1));
    for (uint32_t i = 0, end; i < n->space_count; i = end) {
        uint32_t most = 0, best = i;
        for (end = i; end < n->space_count && list[end].class == list[i].class;) {
            uint32_t first = end;
            while (end < n->space_count && list[end].class == list[first].class &&
                   list[end].cells == list[first].cells)
                end++;
            if (end - first > most || (end - first == most && list[first].space < list[best].space)) {
                most = end - first;
                best = first;
            }
        }
        for (uint32_t k = i; k < end; k++)
            like[list[k].space] = list[best].space;
    }
    plan_copy(out, plan_context_start(leveller->context));
    for (uint32_t i = 0; i < n->space_count; i++)
        take(leveller, given, like[i], i, out);
    free(like);
    free(list);
}

static struct leveller create(const struct plan_context *context)
{
    const struct nda *n = plan_context_nda(context);
    size_t spaces = (size_t)n->space_count + 1, values = (size_t)n->program->value_count + 1;
    struct leveller leveller = {.context = context,
                                .n = n,
                                .class = mem_alloc(sizeof(uint64_t) * spaces),
                                .next = mem_alloc(sizeof(uint64_t) * spaces),
                                .made = mem_alloc(sizeof(uint64_t) * values),
                                .used = mem_alloc(sizeof(uint64_t) * values)};
    for (uint32_t i = 0; i < n->space_count; i++)
        leveller.class[i] = own_class(n, i);
    plan_init(&leveller.levelled, n, plan_context_mesh(context));
    return leveller;
}

static void release(struct leveller *leveller)
{
    plan_release(&leveller->levelled);
    free(leveller->class);
    free(leveller->next);
    free(leveller->made);
    free(leveller->used);
}

/* leveller->levelled: with what is alike for STEPS[i] steps split alike; i ascends. false: it is the plan */
static bool level_at(struct leveller *leveller, const struct plan *plan, uint32_t i)
{
    for (; leveller->steps < STEPS[i]; leveller->steps++)
        refine(leveller);
    level(leveller, plan, &leveller->levelled);
    return hash128_compare(leveller->levelled.hash, plan->hash) != 0;
}

/* one pass over the levels: *kept where the levelled plan took the given one's place */
static enum error_code level_once(struct leveller *leveller, struct evaluator_session *session,
                                  struct cost most, struct plan *plan, struct price *price, struct cost *cost,
                                  bool *kept, struct error *e)
{
    enum error_code code = ERROR_OK;
    *kept = false;
    for (uint32_t i = 0; i < LEVELS && !*kept && !code; i++) {
        struct price other;
        struct cost other_cost;
        if (!level_at(leveller, plan, i))
            break;
        code = evaluator_price_alike(session, &leveller->levelled, &other, &other_cost, e);
        *kept = !code && (other_cost.over_steps < most.over_steps || /* nearer to what fits */
                          (other_cost.over_steps == most.over_steps &&
                           (double)other_cost.c <= MOST_COST * (double)most.c));
        if (*kept) {
            plan_copy(plan, &leveller->levelled);
            *price = other;
            *cost = other_cost;
        }
    }
    return code;
}

/* what a class takes changes what is most of others: again, until nothing does */
enum error_code plan_cfn_level(const struct plan_context *context, struct evaluator_session *session,
                               struct plan *plan, struct price *price, struct cost *cost, struct error *e)
{
    const struct cost given = *cost;
    enum error_code code = ERROR_OK;
    bool kept = true;
    for (uint32_t pass = 0; pass < MOST_PASSES && kept && !code; pass++) {
        struct leveller leveller = create(context);
        code = level_once(&leveller, session, given, plan, price, cost, &kept, e);
        release(&leveller);
    }
    return code;
}

/* arguments and contractions that the levelled plan splits otherwise */
static uint32_t count_others(const struct leveller *leveller, const struct plan *plan)
{
    const struct nda *n = leveller->n;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->space_count; i++) {
        const struct nda_space *space = &n->spaces[i];
        bool shown = space->kind == NDA_SPACE_ARGUMENT ||
                     (space->kind == NDA_SPACE_OP && nda_is_contraction(n, space->op));
        count += shown && memcmp(plan_space(plan, i), plan_space(&leveller->levelled, i),
                                 sizeof(struct plan_cell) * plan->axis_count) != 0;
    }
    return count;
}

enum error_code plan_cfn_alike(const struct plan_context *context, struct evaluator_session *session,
                               const struct plan *plan, struct plan_cfn_alike *out, struct error *e)
{
    struct leveller leveller = create(context);
    enum error_code code = ERROR_OK;
    *out = (struct plan_cfn_alike){0};
    for (uint32_t i = 0; i < LEVELS && !code; i++) {
        struct plan_cfn_alike other = {0};
        struct hash128 hash = leveller.levelled.hash;
        if (!level_at(&leveller, plan, i))
            break;
        other.others = count_others(&leveller, plan);
        if (!other.others || (i && hash128_compare(hash, leveller.levelled.hash) == 0))
            continue;
        code = evaluator_price(session, &leveller.levelled, &other.price, &other.cost, e);
        if (!code && (!out->others || cost_compare(other.cost, leveller.levelled.hash, out->cost, hash) < 0))
            *out = other;
    }
    release(&leveller);
    return code;
}

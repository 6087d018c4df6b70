/* Expert plans around one: another layout of an axis, another side, exchanged axes, two of these at once; and
 * where two axes are after the same dimensions, the axis first or last. */
#include "analysis/experts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VARIANTS = 256 };

struct variants {
    struct builder builder;
    struct hash128 own;
    struct plan_baseline *list;
    struct hash128 hashes[MOST_VARIANTS];
    uint32_t count;
    bool again;        /* each layout gathered again and not */
    bool orders;       /* each layout in other orders of the axes alone */
    uint32_t scarce;   /* claims on dimensions that not all axes can have that could alone */
    struct plan usual; /* of the last layout, before that */
};

static void build_variant(struct variants *variants)
{
    variants->builder.out = &variants->list[variants->count];
    expert_build(&variants->builder);
}

/* unless it is there */
static void keep_variant(struct variants *variants)
{
    struct hash128 hash = variants->builder.plan.hash;
    bool seen = hash128_compare(hash, variants->own) == 0;
    for (uint32_t i = 0; i < variants->count && !seen; i++)
        seen = hash128_compare(variants->hashes[i], hash) == 0;
    if (!seen)
        variants->hashes[variants->count++] = hash;
}

static void enter_variant(struct variants *variants)
{
    if (variants->count == MOST_VARIANTS)
        return;
    build_variant(variants);
    keep_variant(variants);
}

/* ------------------------------------------------------------------ order of the axes */
/* the model's dimensions, what parameters or state are stored by, the examples, or a strategy's own */
static uint32_t claims(const struct layout *layout)
{
    uint32_t all = 0;
    const uint8_t strategies[] = {layout->first, layout->second};
    for (uint32_t i = 0; i < 2; i++) {
        uint8_t strategy = strategies[i] >= STRATEGIES ? MEGATRON
                           : strategies[i] == STACKED  ? EXPERT
                                                       : strategies[i];
        bool stores = strategy >= FSDP && strategy <= ZERO2;
        if (strategy != REPLICATED)
            all |= 1u << (stores ? FSDP : strategy) | (stores ? 1u << BATCH : 0);
    }
    return all;
}

/* what may be after a group's dimensions, as claims has it */
static uint32_t claims_on(const struct nda *n, uint32_t group)
{
    uint32_t roles = n->groups[group].roles;
    return 1u << FSDP | 1u << MEGATRON | (roles & NDA_COLOR_BATCH ? 1u << BATCH : 0) |
           (roles & NDA_COLOR_SEQUENCE ? 1u << SEQUENCE : 0) | (roles & NDA_COLOR_EDGE ? 1u << EDGE : 0) |
           (roles & NDA_COLOR_EXPERT ? 1u << EXPERT : 0);
}

/* Claims on groups with a dimension that two axes divide, each alone, but not all axes at once. Where there
 * is none, every axis gets what it is after in any order. */
static uint32_t scarce_claims(const struct plan_context *context)
{
    uint32_t claimed = 0;
    int64_t devices = mesh_devices(&context->mesh);
    for (uint32_t group = 0; group < context->n->group_count; group++)
        for (uint32_t i = context->group_first[group]; i < context->group_first[group + 1]; i++) {
            const struct plan_candidate *candidate = &context->candidates[i];
            if (candidate->size % devices == 0 || __builtin_popcount(candidate->divides) < 2)
                continue;
            claimed |= claims_on(context->n, group);
            break;
        }
    return claimed;
}

/* whether another axis is after the same scarce dimensions, so that it matters which is decided first */
static bool is_rivalled(const struct builder *builder, uint32_t scarce, uint32_t axis)
{
    for (uint32_t k = 0; k < builder->context->mesh.axis_count; k++)
        if (k != axis && builder->context->mesh.axes[k].size > 1 &&
            claims(&builder->layouts[k]) & claims(&builder->layouts[axis]) & scarce)
            return true;
    return false;
}

/* the same factors on the same axes, in whatever position among the axes of a factor */
static bool splits_alike(const struct plan *plan, const struct plan *other)
{
    for (size_t i = 0; i < (size_t)plan->space_count * plan->axis_count; i++)
        if (plan->cells[i].factor != other->cells[i].factor)
            return false;
    return true;
}

static void move_axis(struct builder *builder, uint32_t axis, bool last)
{
    uint32_t axes = builder->context->mesh.axis_count, filled = 0;
    uint8_t order[MESH_MAX_AXES];
    if (!last)
        order[filled++] = (uint8_t)axis;
    for (uint32_t i = 0; i < axes; i++)
        if (builder->order[i] != axis)
            order[filled++] = builder->order[i];
    if (last)
        order[filled++] = (uint8_t)axis;
    memcpy(builder->order, order, sizeof *order * axes);
}

/* The axis decided first or last, where it takes what another axis would have, or leaves it: two heads are
 * for one of two axes. */
static void enter_orders(struct variants *variants, uint32_t axis)
{
    struct builder *builder = &variants->builder;
    uint8_t order[MESH_MAX_AXES];
    if (variants->count == MOST_VARIANTS || !is_rivalled(builder, variants->scarce, axis))
        return;
    build_variant(variants);
    plan_copy(&variants->usual, &builder->plan);
    memcpy(order, builder->order, sizeof order);
    for (int last = 0; last < 2 && variants->count < MOST_VARIANTS; last++) {
        move_axis(builder, axis, last);
        if (memcmp(order, builder->order, sizeof *order * builder->context->mesh.axis_count) != 0) {
            build_variant(variants);
            if (!splits_alike(&builder->plan, &variants->usual))
                keep_variant(variants);
        }
        memcpy(builder->order, order, sizeof order);
    }
}

/* ------------------------------------------------------------------ one change */
static bool is_same(struct layout layout, struct layout other)
{
    return layout.first == other.first && layout.second == other.second;
}

/* every axis that is laid out (and split to the sides) as this one, changed alike */
static void set_alike(struct builder *builder, const struct builder *before, uint32_t axis, bool alone,
                      struct layout layout, uint32_t sides)
{
    for (uint32_t k = 0; k < builder->context->mesh.axis_count; k++)
        if (k == axis ||
            (!alone && builder->context->mesh.axes[k].size > 1 &&
             is_same(before->layouts[k], before->layouts[axis]) && before->sides[k] == before->sides[axis])) {
            builder->layouts[k] = layout;
            builder->sides[k] = sides;
        }
}

static void restore(struct builder *builder, const struct builder *before)
{
    memcpy(builder->layouts, before->layouts, sizeof builder->layouts);
    memcpy(builder->sides, before->sides, sizeof builder->sides);
    memcpy(builder->regather, before->regather, sizeof builder->regather);
}

static void vary_sides(struct variants *variants, const struct builder *before, uint32_t axis, bool alone,
                       struct layout layout)
{
    uint32_t bits = variants->builder.bits[expert_sided(&variants->builder, layout)];
    for (uint32_t i = 0; i < (bits ? bits + 2 : 1); i++) {
        set_alike(&variants->builder, before, axis, alone, layout, expert_side(bits, i));
        if (variants->orders)
            enter_orders(variants, axis);
        else
            enter_variant(variants);
    }
}

static void vary_layouts(struct variants *variants, const struct builder *before, uint32_t axis, bool alone)
{
    struct builder *builder = &variants->builder;
    for (uint32_t layout = 0; layout < EXPERT_LAYOUTS; layout++)
        if (expert_works(builder, layout) && !expert_layouts[layout].other)
            vary_sides(variants, before, axis, alone, expert_layouts[layout]);
    for (uint8_t i = 0; i < builder->group_count; i++)
        for (uint8_t how = 0; how < 3; how++) { /* alone, behind the batch, before it */
            uint8_t group = STRATEGIES + i, batch = builder->works[BATCH] ? BATCH : REPLICATED;
            struct layout layout = {how == 1 ? batch : group, how == 1 ? group : how == 2 ? batch : 0, 0};
            vary_sides(variants, before, axis, alone, layout);
        }
    restore(builder, before);
}

/* One axis, alone or with all that are like it: another layout, other sides, gathered again or not. */
static void vary_axis(struct variants *variants, uint32_t axis, bool alone)
{
    struct builder *builder = &variants->builder;
    struct builder before = *builder;
    vary_layouts(variants, &before, axis, alone);
    builder->regather[axis] = !builder->regather[axis];
    enter_variant(variants);
    if (variants->again) {
        struct builder gathered = before;
        gathered.regather[axis] = !before.regather[axis];
        restore(builder, &gathered);
        vary_layouts(variants, &gathered, axis, alone);
    }
    restore(builder, &before);
}

/* two axes change places */
static void swap_axes(struct variants *variants, uint32_t i, uint32_t k)
{
    struct builder *builder = &variants->builder;
    struct builder before = *builder;
    builder->layouts[i] = before.layouts[k];
    builder->layouts[k] = before.layouts[i];
    builder->sides[i] = before.sides[k];
    builder->sides[k] = before.sides[i];
    builder->regather[i] = before.regather[k];
    builder->regather[k] = before.regather[i];
    enter_variant(variants);
    restore(builder, &before);
}

static void vary(struct variants *variants, uint32_t turn)
{
    const struct mesh *mesh = &variants->builder.context->mesh;
    uint32_t axes = mesh->axis_count;
    struct builder before = variants->builder;
    variants->orders = turn > axes;
    variants->scarce = variants->orders ? scarce_claims(variants->builder.context) : 0;
    for (uint32_t axis = 0; axis < axes && variants->orders; axis++)
        if (mesh->axes[axis].size > 1)
            vary_layouts(variants, &before, axis, true);
    for (uint32_t axis = 0; axis < axes; axis++)
        if (mesh->axes[axis].size > 1 && (turn == axis || (turn == axes && axes > 1)))
            vary_axis(variants, axis, turn < axes);
    for (uint32_t i = 0; i < axes && turn == axes; i++)
        for (uint32_t k = i + 1; k < axes; k++)
            swap_axes(variants, i, k);
}

struct plan_baseline *plan_baseline_variants(const struct plan_context *context, const char *name,
                                             uint32_t turn, bool again, uint32_t *count)
{
    struct variants variants = {.again = again};
    struct plan_baseline self;
    struct error e = {0};
    expert_init(&variants.builder, context);
    plan_init(&variants.usual, context->n, &context->mesh);
    variants.list = mem_alloc(sizeof *variants.list * (MOST_VARIANTS + 1));
    if (expert_parse(&variants.builder, name, &e) == ERROR_OK) {
        variants.builder.out = &self;
        expert_build(&variants.builder);
        variants.own = variants.builder.plan.hash;
        vary(&variants, turn);
    }
    plan_release(&variants.builder.plan);
    plan_release(&variants.usual);
    *count = variants.count;
    return variants.list;
}

/* ------------------------------------------------------------------ two changes at once */
static bool differs(const struct builder *builder, const struct builder *other, uint32_t axis)
{
    return !is_same(builder->layouts[axis], other->layouts[axis]) ||
           builder->sides[axis] != other->sides[axis] || builder->regather[axis] != other->regather[axis];
}

/* what `from` does on the axes where it differs from `base`; false: the builder differs from it there, too */
static bool take_changes(struct builder *builder, const struct builder *base, const struct builder *from)
{
    for (uint32_t axis = 0; axis < base->context->mesh.axis_count; axis++) {
        if (!differs(base, from, axis))
            continue;
        if (differs(base, builder, axis))
            return false;
        builder->layouts[axis] = from->layouts[axis];
        builder->sides[axis] = from->sides[axis];
        builder->regather[axis] = from->regather[axis];
    }
    bool moved = memcmp(base->order, from->order, sizeof base->order) != 0;
    if (moved && memcmp(base->order, builder->order, sizeof base->order) != 0)
        return false;
    if (moved)
        memcpy(builder->order, from->order, sizeof base->order);
    return true;
}

/* what a name says, in place of what the builder had; false: it is no baseline's */
static bool read_name(struct builder *builder, const char *name)
{
    struct error e;
    memset(builder->layouts, 0, sizeof builder->layouts);
    memset(builder->sides, 0, sizeof builder->sides);
    memset(builder->regather, 0, sizeof builder->regather);
    return expert_parse(builder, name, &e) == ERROR_OK;
}

bool plan_baseline_join(const struct plan_context *context, const char *name, const char *one,
                        const char *other, struct plan_baseline *out)
{
    struct builder builder, base, changed;
    expert_init(&builder, context);
    bool joined = read_name(&builder, name);
    base = builder;
    joined = joined && read_name(&builder, other);
    changed = builder;
    joined = joined && read_name(&builder, one) && take_changes(&builder, &base, &changed);
    if (joined) {
        builder.out = out;
        expert_build(&builder);
    }
    plan_release(&builder.plan);
    return joined;
}

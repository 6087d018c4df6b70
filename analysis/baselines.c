/* Expert plans by name, from roles: every combination of strategies over the mesh axes
 * (docs/design/planner.md).
 *
 * replicated | batch | fsdp = batch and all parameters stored sharded | fsdp-large = the same without small
 * parameters, as a persistence threshold has it | zero1, zero2 = batch and the optimizer's state stored
 * sharded, with gradients all_reduced and whole until the update, or reduce_scattered where they are made |
 * zero3 is another name of fsdp | megatron = feed-forward, heads and vocabulary dims | one of these groups by
 * its label (ffn, heads) |
 * sequence | edge | expert, and two of them on one axis: megatron+sequence, edge+batch, ffn+batch ..
 * stacked = expert in scope stacked alone: with the batch behind it on the same axis tokens go to the experts
 * by all_to_all, as GShard has it.
 * sequence[01] takes the other side of the second class of conflicts of a sequence; regather lets go between
 * distant uses what is gathered over an axis. Whatever the axes, decisions come in the order batch, model
 * dims, storage, update, sequence, regather: order is priority, and experts write it so. Only of two
 * strategies on one axis that are named the other way round (sequence, then batch where the sequence is not)
 * the first comes before all. Within each of these the axes come as they are named first: where two heads
 * are for one of two axes, megatron:inner+megatron:outer gives them to the inner one. */
#include "analysis/experts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BASELINES = 176, /* different plans; each is priced once, about 2 ms for t2b */
    MOST_LAID_OUT = 160,  /* of them of the layouts that race in all combinations */
    USUAL = 128,          /* of them in the usual layouts */
    MOST_TRIES = 4096,    /* combinations built, most of which give a plan that is there already */
    MOST_DECISIONS = PLAN_BASELINE_LIST, /* of one plan */
    MOST_RUNS = 3,                       /* layouts of one plan over more than two axes */
    LARGE_GROUP = 64,                    /* a group on more than this part of the parameters' bytes */
    PERSISTENT = 64 /* fsdp-large: what is in all less than this part of its role's bytes stays whole */
}; /* chosen, not tuned */

enum { MODEL_ROLES = NDA_COLOR_MODEL | NDA_COLOR_VOCABULARY };

static const char *const strategy_names[] = {"replicated", "batch",  "fsdp",     "fsdp-large",
                                             "zero1",      "zero2",  "megatron", "sequence",
                                             "edge",       "expert", "stacked"};

/* the first of these race in all combinations, the others where the cheapest of those are climbed from */
const struct layout expert_layouts[EXPERT_LAYOUTS] = {{REPLICATED, 0, 0},
                                                      {BATCH, 0, 0},
                                                      {FSDP, 0, 0},
                                                      {ZERO2, 0, 0},
                                                      {MEGATRON, 0, 0},
                                                      {SEQUENCE, 0, 0},
                                                      {SEQUENCE, 0, 1},
                                                      {MEGATRON, SEQUENCE, 0},
                                                      {MEGATRON, SEQUENCE, 1},
                                                      {EDGE, 0, 0},
                                                      {EXPERT, 0, 0},
                                                      {STACKED, BATCH, 0},
                                                      {STACKED, FSDP, 0},
                                                      {STACKED, 0, 0},
                                                      {FSDP_LARGE, 0, 0},
                                                      {BATCH, MEGATRON, 0},
                                                      {BATCH, SEQUENCE, 0},
                                                      {BATCH, EDGE, 0},
                                                      {BATCH, EXPERT, 0},
                                                      {FSDP, SEQUENCE, 0},
                                                      {FSDP_LARGE, SEQUENCE, 0},
                                                      {EDGE, BATCH, 0},
                                                      {EDGE, FSDP, 0},
                                                      {EDGE, FSDP_LARGE, 0},
                                                      {EXPERT, BATCH, 0},
                                                      {EXPERT, FSDP, 0},
                                                      {MEGATRON, BATCH, 0},
                                                      {SEQUENCE, BATCH, 0},
                                                      {SEQUENCE, FSDP, 0},
                                                      {SEQUENCE, FSDP_LARGE, 0},
                                                      {SEQUENCE, MEGATRON, 0},
                                                      {ZERO1, 0, 0}};
enum { RACED = 13, ZERO1_LAYOUT = EXPERT_LAYOUTS - 1 };

/* appends a decision when it changes something */
static uint32_t decide_side(struct builder *builder, uint32_t group, uint32_t bits, uint32_t axis,
                            enum plan_scope scope)
{
    struct plan_decision decision = {group, bits, (uint8_t)axis, (uint8_t)scope};
    uint32_t changed = 0;
    if (builder->out->count < MOST_DECISIONS)
        changed = plan_apply(builder->context, &builder->plan, decision);
    if (changed)
        builder->out->decisions[builder->out->count++] = decision;
    return changed;
}

static uint32_t decide(struct builder *builder, uint32_t group, uint32_t axis, enum plan_scope scope)
{
    return decide_side(builder, group, 0, axis, scope);
}

uint8_t expert_sided(const struct builder *builder, struct layout layout)
{
    return layout.second == SEQUENCE || !builder->bits[layout.first] ? layout.second : layout.first;
}

/* on the sides that are chosen for the axis, where they are the strategy's */
static void decide_for(struct builder *builder, uint8_t strategy, uint32_t group, uint32_t axis)
{
    uint32_t all = expert_side(builder->context->n->groups[group].bits, 1);
    bool chosen = expert_sided(builder, builder->layouts[axis]) == strategy;
    decide_side(builder, group, chosen ? builder->sides[axis] & all : 0, axis,
                strategy == STACKED ? PLAN_SCOPE_STACKED : PLAN_SCOPE_ALL);
}

/* whatever parameters hold over the axis by now */
static void decide_regather(struct builder *builder, uint32_t axis)
{
    uint32_t count;
    const struct plan_decision *list = plan_context_regathers(builder->context, &count);
    for (uint32_t i = 0; i < count; i++)
        if (list[i].axis == axis)
            decide(builder, list[i].group, axis, PLAN_SCOPE_REGATHER);
}

static void decide_role(struct builder *builder, uint8_t strategy, uint32_t roles, uint32_t axis)
{
    const struct nda *n = builder->context->n;
    for (uint32_t group = 0; group < n->group_count; group++)
        if (n->groups[group].roles & roles)
            decide_for(builder, strategy, group, axis);
}

/* what is left of the factor on one device */
static int64_t local_size(const struct builder *builder, uint32_t space, uint32_t factor)
{
    const struct mesh *mesh = &builder->context->mesh;
    const struct plan_cell *cells = plan_space(&builder->plan, space);
    int64_t size = builder->context->n->factors[factor].size;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (cells[axis].factor != NDA_NO_FACTOR &&
            builder->context->n->spaces[space].factors + cells[axis].factor == factor)
            size /= mesh->axes[axis].size;
    return size;
}

/* With so many more parts of the factor, is a device's part of the argument one block of it? Shardings of
 * arguments can say nothing else: [8, 112] channels with two axes over one dimension, the first leaving 2 of
 * the 8, would be exchanged before every use and behind every update. */
static bool is_block(const struct builder *builder, const struct nda_argument *argument, uint32_t factor,
                     int64_t parts)
{
    const struct nda *n = builder->context->n;
    const struct nda_atom *atoms = nda_atoms(n, argument->value);
    uint32_t slot = n->spaces[argument->space].slots;
    bool split = false; /* an outer part of the dimension is left, so that none of it may be split inside */
    for (uint32_t atom = 0; atom < nda_atom_count(n, argument->value); atom++) {
        uint32_t of = nda_slot_factor(n, slot, atom);
        int64_t left = of == NDA_NONE ? atoms[atom].size : local_size(builder, argument->space, of);
        left = of == factor ? left / parts : left;
        if (atoms[atom].level == 0)
            split = false;
        if (split && left < atoms[atom].size)
            return false;
        split |= left > 1;
    }
    return true;
}

/* Bytes of the arguments of a role that hold each group and have no cell on the axis yet; blocks: of those
 * that would be blocks on it. */
static void unsharded_bytes(const struct builder *builder, enum nda_role role, uint32_t axis, bool blocks,
                            int64_t *bytes)
{
    const struct nda *n = builder->context->n;
    memset(bytes, 0, sizeof *bytes * ((size_t)n->group_count + 1));
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        if (n->arguments[i].role != role ||
            plan_space(&builder->plan, n->arguments[i].space)[axis].factor != NDA_NO_FACTOR)
            continue;
        for (uint32_t factor = 0; factor < sp->factor_count; factor++) {
            const struct nda_factor *nm = &n->factors[sp->factors + factor];
            if (nm->shardable && nm->size % builder->context->mesh.axes[axis].size == 0 &&
                (!blocks || is_block(builder, &n->arguments[i], sp->factors + factor,
                                     builder->context->mesh.axes[axis].size)))
                bytes[n->colors[nm->color].group] +=
                    ir_type_bytes(n->program, ir_value_type(n->program, n->arguments[i].value));
        }
    }
}

static bool serves_role(const struct nda *n, uint32_t group)
{
    return (n->groups[group].roles & (NDA_COLOR_BATCH | NDA_COLOR_SEQUENCE)) != 0;
}

static int64_t bytes_of_role(const struct nda *n, enum nda_role role)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].role == role)
            bytes += ir_type_bytes(n->program, ir_value_type(n->program, n->arguments[i].value));
    return bytes;
}

enum storage { STORE_ALL, STORE_LARGE, STORE_WHOLE_GRADIENTS };

/* the group on most unsharded bytes that is not done; NDA_NONE: none on more than the least */
static uint32_t best_stored(const struct builder *builder, const uint8_t *done, const int64_t *bytes,
                            int64_t least)
{
    const struct nda *n = builder->context->n;
    uint32_t best = NDA_NONE;
    for (uint32_t group = 0; group < n->group_count; group++)
        if (!done[group] && bytes[group] > least && !serves_role(n, group) &&
            (best == NDA_NONE || bytes[group] > bytes[best]))
            best = group;
    return best;
}

/* Stores every argument of a role sharded: the group on most unsharded bytes first, until no group helps, or,
 * of what is large alone, helps much; what leaves blocks goes before what does not. With whole gradients each
 * group is followed by its decision `whole`. */
static void store_sharded(struct builder *builder, enum nda_role role, uint32_t axis, enum plan_scope scope,
                          enum storage storage)
{
    const struct nda *n = builder->context->n;
    int64_t least = storage == STORE_LARGE ? bytes_of_role(n, role) / PERSISTENT : 0;
    int64_t *bytes = mem_alloc(sizeof *bytes * ((size_t)n->group_count + 1));
    uint8_t *done = mem_zalloc((size_t)n->group_count + 1, 1);
    for (;;) {
        unsharded_bytes(builder, role, axis, true, bytes);
        uint32_t best = best_stored(builder, done, bytes, least);
        if (best == NDA_NONE) {
            unsharded_bytes(builder, role, axis, false, bytes);
            best = best_stored(builder, done, bytes, least);
        }
        if (best == NDA_NONE || builder->out->count == MOST_DECISIONS)
            break;
        done[best] = 1;
        decide(builder, best, axis, scope);
        if (storage == STORE_WHOLE_GRADIENTS)
            decide(builder, best, axis, PLAN_SCOPE_WHOLE);
    }
    free(bytes);
    free(done);
}

static const char *name_of(const struct builder *builder, uint32_t strategy)
{
    const struct nda *n = builder->context->n;
    return strategy < STRATEGIES ? strategy_names[strategy]
                                 : n->groups[builder->groups[strategy - STRATEGIES]].label;
}

static void write_strategy(const struct builder *builder, uint8_t strategy, uint32_t axis, struct text *name)
{
    if (strategy == REPLICATED)
        return;
    text_printf(name, "%s%s", name->size ? "+" : "", name_of(builder, strategy));
    if (builder->sides[axis] && strategy == expert_sided(builder, builder->layouts[axis])) {
        text_add_char(name, '[');
        for (uint32_t i = 0; i < builder->bits[strategy]; i++)
            text_add_char(name, builder->sides[axis] >> i & 1 ? '1' : '0');
        text_add_char(name, ']');
    }
    text_printf(name, ":%s", builder->context->mesh.axes[axis].name);
}

static void write_name(const struct builder *builder, struct text *name)
{
    const struct mesh *mesh = &builder->context->mesh;
    for (uint32_t i = 0; i < mesh->axis_count; i++) {
        uint32_t axis = builder->order[i];
        write_strategy(builder, builder->layouts[axis].first, axis, name);
        write_strategy(builder, builder->layouts[axis].second, axis, name);
        if (builder->regather[axis])
            text_printf(name, "%sregather:%s", name->size ? "+" : "", mesh->axes[axis].name);
    }
}

/* when a strategy's first decisions come */
static int phase(uint8_t strategy)
{
    return strategy == SEQUENCE ? 2 : strategy >= MEGATRON ? 1 : 0;
}

/* the first of two that are named the other way round */
static uint8_t early(struct layout layout)
{
    return layout.second != REPLICATED && phase(layout.first) > phase(layout.second) ? layout.first
                                                                                     : REPLICATED;
}

/* in its usual place */
static bool has(const struct builder *builder, uint32_t axis, uint8_t strategy)
{
    struct layout layout = builder->layouts[axis];
    return layout.second == strategy || (layout.first == strategy && early(layout) == REPLICATED);
}

static void decide_strategy(struct builder *builder, uint8_t strategy, uint32_t axis)
{
    static const uint32_t roles[STRATEGIES] = {
        [MEGATRON] = MODEL_ROLES,    [SEQUENCE] = NDA_COLOR_SEQUENCE, [EDGE] = NDA_COLOR_EDGE,
        [EXPERT] = NDA_COLOR_EXPERT, [STACKED] = NDA_COLOR_EXPERT,
    };
    if (strategy >= STRATEGIES)
        decide_for(builder, strategy, builder->groups[strategy - STRATEGIES], axis);
    else if (roles[strategy])
        decide_role(builder, strategy, roles[strategy], axis);
}

static bool is_fsdp(const struct builder *builder, uint32_t axis)
{
    return has(builder, axis, FSDP) || has(builder, axis, FSDP_LARGE);
}

static bool is_zero(const struct builder *builder, uint32_t axis)
{
    return has(builder, axis, ZERO1) || has(builder, axis, ZERO2);
}

/* parameters, then the optimizer's state */
static void decide_storage(struct builder *builder)
{
    uint32_t axes = builder->context->mesh.axis_count;
    for (uint32_t i = 0; i < axes; i++) {
        uint32_t axis = builder->order[i];
        if (is_fsdp(builder, axis))
            store_sharded(builder, NDA_ROLE_PARAMETER, axis, PLAN_SCOPE_ALL,
                          has(builder, axis, FSDP_LARGE) ? STORE_LARGE : STORE_ALL);
    }
    for (uint32_t i = 0; i < axes; i++) {
        uint32_t axis = builder->order[i];
        if (is_fsdp(builder, axis))
            store_sharded(builder, NDA_ROLE_OPTIMIZER, axis, PLAN_SCOPE_ALL,
                          has(builder, axis, FSDP_LARGE) ? STORE_LARGE : STORE_ALL);
        if (is_zero(builder, axis))
            store_sharded(builder, NDA_ROLE_OPTIMIZER, axis, PLAN_SCOPE_UPDATE,
                          has(builder, axis, ZERO1) ? STORE_WHOLE_GRADIENTS : STORE_ALL);
    }
}

static void decide_all(struct builder *builder)
{
    uint32_t axes = builder->context->mesh.axis_count;
    const uint8_t *order = builder->order;
    for (uint32_t i = 0; i < axes; i++)
        decide_strategy(builder, early(builder->layouts[order[i]]), order[i]);
    for (uint32_t i = 0; i < axes; i++)
        if (has(builder, order[i], BATCH) || is_fsdp(builder, order[i]) || is_zero(builder, order[i]))
            decide_role(builder, BATCH, NDA_COLOR_BATCH, order[i]);
    for (uint32_t i = 0; i < axes; i++)
        for (uint8_t strategy = REPLICATED + 1; strategy < STRATEGIES + builder->group_count; strategy++)
            if (phase(strategy) == 1 && has(builder, order[i], strategy))
                decide_strategy(builder, strategy, order[i]);
    decide_storage(builder);
    for (uint32_t i = 0; i < axes; i++)
        if (has(builder, order[i], SEQUENCE))
            decide_strategy(builder, SEQUENCE, order[i]);
    for (uint32_t i = 0; i < axes; i++)
        if (builder->regather[order[i]])
            decide_regather(builder, order[i]);
}

void expert_build(struct builder *builder)
{
    struct text name = {0};
    builder->out->count = 0;
    plan_copy(&builder->plan, &builder->context->start);
    decide_all(builder);
    write_name(builder, &name);
    snprintf(builder->out->name, sizeof builder->out->name, "%s", name.size ? name.at : "replicated");
    text_release(&name);
}

static uint32_t side_bits(const struct nda *n, uint32_t group)
{
    return n->groups[group].bits < 32 ? n->groups[group].bits : 32;
}

/* the first of the groups on most bytes */
static uint32_t largest(const int64_t *bytes, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t group = 1; group < count; group++)
        best = bytes[group] > bytes[best] ? group : best;
    return best;
}

/* The model's, of which one would be megatron itself; what parameters are stored by, on most of their bytes;
 * and others by bytes: layers that hand on from one width to another, and convolutions, may be split by every
 * other width, too. A kernel has no parameters, but data. */
static void list_groups(struct builder *builder)
{
    const struct nda *n = builder->context->n;
    int64_t total = bytes_of_role(n, NDA_ROLE_PARAMETER);
    enum nda_role role = total ? NDA_ROLE_PARAMETER : NDA_ROLE_DATA;
    int64_t *bytes = mem_alloc(sizeof *bytes * ((size_t)n->group_count + 1));
    int64_t least = (total ? total : bytes_of_role(n, role)) / LARGE_GROUP;
    unsharded_bytes(builder, role, 0, false, bytes);
    uint32_t stored = largest(bytes, n->group_count), room = MOST_GROUPS;
    /* where many tables have rows of their own (a recommender's), their width is what others split them by */
    if (n->group_count && !(n->groups[stored].roles & MODEL_ROLES) && !serves_role(n, stored))
        room--;
    for (uint32_t group = 0; group < n->group_count; group++) {
        bool model = n->groups[group].roles & MODEL_ROLES;
        if (model && builder->group_count < room)
            builder->groups[builder->group_count++] = group;
        if (model || serves_role(n, group))
            bytes[group] = 0;
    }
    if (builder->group_count == 1)
        builder->group_count = 0;
    while (builder->group_count < MOST_GROUPS) {
        uint32_t group = largest(bytes, n->group_count);
        if (bytes[group] == 0 || (group != stored && bytes[group] <= least))
            break;
        builder->groups[builder->group_count++] = group;
        bytes[group] = 0;
    }
    free(bytes);
    for (uint32_t i = 0; i < builder->group_count; i++) {
        builder->works[STRATEGIES + i] = true;
        builder->bits[STRATEGIES + i] = side_bits(n, builder->groups[i]);
    }
}

/* The axes that are named in that order, each of the others before the first of those that it is outside of:
 * what names the outer axes first, or one alone, leaves the order of the mesh. */
static void expert_order(struct builder *builder, const uint8_t *named, uint32_t count)
{
    uint32_t axes = builder->context->mesh.axis_count, filled = 0;
    bool taken[MESH_MAX_AXES] = {false};
    for (uint32_t i = 0; i < count; i++)
        taken[named[i]] = true;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t end = i < count ? named[i] : axes;
        for (uint8_t axis = 0; axis < end; axis++)
            if (!taken[axis]) {
                builder->order[filled++] = axis;
                taken[axis] = true;
            }
        if (i < count)
            builder->order[filled++] = named[i];
    }
}

void expert_init(struct builder *builder, const struct plan_context *context)
{
    const struct nda *n = context->n;
    uint32_t roles = 0;
    bool parameters = false, optimizer = false;
    *builder = (struct builder){.context = context};
    plan_init(&builder->plan, n, &context->mesh);
    expert_order(builder, NULL, 0);
    for (uint32_t group = 0; group < n->group_count; group++) {
        uint32_t bits = side_bits(n, group);
        roles |= n->groups[group].roles;
        if (n->groups[group].roles & NDA_COLOR_SEQUENCE && bits > builder->bits[SEQUENCE])
            builder->bits[SEQUENCE] = bits;
        if (n->groups[group].roles & NDA_COLOR_BATCH && bits > builder->bits[BATCH])
            builder->bits[BATCH] = bits;
    }
    for (uint32_t i = 0; i < n->argument_count; i++) {
        parameters |= n->arguments[i].role == NDA_ROLE_PARAMETER;
        optimizer |= n->arguments[i].role == NDA_ROLE_OPTIMIZER;
    }
    builder->works[REPLICATED] = true;
    builder->works[BATCH] = roles & NDA_COLOR_BATCH;
    builder->works[FSDP] = builder->works[FSDP_LARGE] = builder->works[BATCH] && parameters;
    builder->works[ZERO1] = builder->works[ZERO2] = builder->works[BATCH] && optimizer;
    builder->works[MEGATRON] = roles & MODEL_ROLES;
    builder->works[SEQUENCE] = roles & NDA_COLOR_SEQUENCE;
    builder->works[EDGE] = roles & NDA_COLOR_EDGE;
    builder->works[EXPERT] = roles & NDA_COLOR_EXPERT;
    for (uint32_t group = 0; group < n->group_count; group++)
        builder->works[STACKED] |=
            n->groups[group].roles & NDA_COLOR_EXPERT && plan_context_stacks(context, group);
    list_groups(builder);
}

bool expert_works(const struct builder *builder, uint32_t layout)
{
    return builder->works[expert_layouts[layout].first] && builder->works[expert_layouts[layout].second] &&
           (!expert_layouts[layout].other || builder->bits[SEQUENCE]);
}

/* both sides of all conflicts at once, then of each class alone */
uint32_t expert_side(uint32_t bits, uint32_t i)
{
    return i == 0 ? 0 : i == 1 ? (bits >= 32 ? UINT32_MAX : (1u << bits) - 1) : 1u << (i - 2);
}

/* ------------------------------------------------------------------ which combinations race */
struct race {
    struct builder builder;
    struct plan_baseline *list;
    struct hash128 hashes[MOST_BASELINES + 1];
    /* of more than one device: the others would only give other names */
    uint32_t axes[MESH_MAX_AXES], axis_count;
    uint8_t of_axis[MESH_MAX_AXES]; /* number of the layout of each of them */
    uint32_t count, tries, most;
    bool in_order;
};

static bool is_full(const struct race *race)
{
    return race->count >= race->most || race->tries == MOST_TRIES;
}

static void enter(struct race *race)
{
    uint32_t i = 0;
    if (is_full(race))
        return;
    race->tries++;
    race->builder.out = &race->list[race->count];
    for (uint32_t k = 0; k < race->axis_count; k++) {
        race->builder.layouts[race->axes[k]] = expert_layouts[race->of_axis[k]];
        race->builder.sides[race->axes[k]] =
            expert_side(race->builder.bits[SEQUENCE], expert_layouts[race->of_axis[k]].other);
    }
    expert_build(&race->builder);
    while (i < race->count && hash128_compare(race->hashes[i], race->builder.plan.hash) != 0)
        i++;
    if (i == race->count)
        race->hashes[race->count++] = race->builder.plan.hash;
}

/* the next combination in order, first axis slowest; false after the last */
static bool next_combination(struct race *race)
{
    for (uint32_t a = race->axis_count; a-- > 0;) {
        do
            race->of_axis[a]++;
        while (race->of_axis[a] < RACED && !expert_works(&race->builder, race->of_axis[a]));
        if (race->of_axis[a] < RACED)
            return true;
        race->of_axis[a] = 0;
    }
    return false;
}

/* how far inside (on how fast links) a layout is used to be */
static int depth(int layout)
{
    uint8_t strategy = expert_layouts[layout].first;
    return strategy == REPLICATED ? 2 : phase(strategy) == 0 ? 0 : 1;
}

/* Layouts for the axes from `first` on, in so many runs of neighbours that share one. In order: what
 * splits the examples comes first, what splits the model next, unused axes last. */
static void enter_runs(struct race *race, uint32_t first, uint32_t runs)
{
    uint32_t axes = race->axis_count;
    int before = first ? race->of_axis[first - 1] : -1;
    for (int s = 0; s < RACED && !is_full(race); s++) {
        if (!expert_works(&race->builder, (uint32_t)s) || s == before ||
            (race->in_order && expert_layouts[s].other))
            continue;
        if (race->in_order && (first ? depth(s) < depth(before) : runs > 1 && depth(s) > 0))
            continue;
        for (uint32_t end = runs == 1 ? axes : first + 1; end <= axes - (runs - 1); end++) {
            memset(race->of_axis + first, s, end - first);
            if (runs == 1)
                enter(race);
            else
                enter_runs(race, end, runs - 1);
        }
    }
}

/* One layout on every set of so many axes, the others unused. */
static void enter_sets(struct race *race, uint32_t size)
{
    for (uint32_t set = 1; set < 1u << race->axis_count; set++) {
        if ((uint32_t)__builtin_popcount(set) != size)
            continue;
        for (uint8_t layout = 0; layout < RACED; layout++) {
            if (!expert_works(&race->builder, layout))
                continue;
            for (uint32_t axis = 0; axis < race->axis_count; axis++)
                race->of_axis[axis] = set >> axis & 1 ? layout : 0;
            enter(race);
        }
    }
}

/* ZeRO-1 on the outer axes, the inner ones unused, for the batch alone, or for the model as Megatron's
 * distributed optimizer has it: its neighbours are the variants of these. */
static void enter_zero1(struct race *race)
{
    static const uint8_t inner[] = {0, 1, 4}; /* of layouts: unused, batch, megatron */
    for (uint32_t outer = race->axis_count; expert_works(&race->builder, ZERO1_LAYOUT) && outer > 0; outer--)
        for (uint32_t i = 0; i < (outer < race->axis_count ? sizeof inner : 1); i++) {
            if (!expert_works(&race->builder, inner[i]))
                continue;
            for (uint32_t axis = 0; axis < race->axis_count; axis++)
                race->of_axis[axis] = axis < outer ? ZERO1_LAYOUT : inner[i];
            enter(race);
        }
}

/* Over one or two axes every combination races. Over more there are too many: one strategy on all axes, two
 * and three strategies on neighbouring axes as people lay them out, then one strategy on all axes but one,
 * the others in any layout, and one strategy on fewer axes. */
struct plan_baseline *plan_baselines(const struct plan_context *context, uint32_t *count)
{
    struct race race = {.most = MOST_LAID_OUT,
                        .list = mem_alloc(sizeof(struct plan_baseline) * (MOST_BASELINES + 1))};
    expert_init(&race.builder, context);
    for (uint32_t axis = 0; axis < context->mesh.axis_count; axis++)
        if (context->mesh.axes[axis].size > 1)
            race.axes[race.axis_count++] = axis;
    if (race.axis_count <= 2) {
        do
            enter(&race);
        while (!is_full(&race) && next_combination(&race));
    } else {
        enter_sets(&race, race.axis_count);
        for (int pass = 0; pass < 2; pass++) {
            race.in_order = pass == 0;
            race.most = pass == 0 ? USUAL : MOST_LAID_OUT;
            for (uint32_t runs = 2; runs <= MOST_RUNS; runs++)
                enter_runs(&race, 0, runs);
            if (pass == 0) {
                race.most = MOST_LAID_OUT;
                enter_sets(&race, race.axis_count - 1);
            }
        }
        for (uint32_t size = race.axis_count - 2; size > 0; size--)
            enter_sets(&race, size);
    }
    race.most = MOST_BASELINES;
    race.tries = 0;
    enter_zero1(&race);
    plan_release(&race.builder.plan);
    *count = race.count;
    return race.list;
}

static int strategy_of(const struct builder *builder, const char *word, size_t size)
{
    if (size == 5 && strncmp(word, "zero3", size) == 0)
        return FSDP;
    for (uint32_t s = 0; s < STRATEGIES + builder->group_count; s++)
        if (strlen(name_of(builder, s)) == size && strncmp(name_of(builder, s), word, size) == 0)
            return (int)s;
    return -1;
}

/* "sequence[01]" -> the strategy and its sides; -1: no strategy */
static int read_word(const struct builder *builder, const char *word, size_t size, uint32_t *sides)
{
    size_t plain = strcspn(word, "[");
    *sides = 0;
    if (plain >= size)
        return strategy_of(builder, word, size);
    int strategy = strategy_of(builder, word, plain);
    if (strategy < 0 || word[size - 1] != ']' || size - plain < 3 ||
        size - plain - 2 != builder->bits[strategy])
        return -1;
    for (uint32_t i = 0; i < builder->bits[strategy]; i++) {
        if (word[plain + 1 + i] != '0' && word[plain + 1 + i] != '1')
            return -1;
        *sides |= (uint32_t)(word[plain + 1 + i] - '0') << i;
    }
    return strategy;
}

static int read_axis(const struct mesh *mesh, const char *at, size_t size)
{
    for (uint32_t k = 0; size && k < mesh->axis_count; k++)
        if (strlen(mesh->axes[k].name) == size && strncmp(mesh->axes[k].name, at, size) == 0)
            return (int)k;
    return -1;
}

static enum error_code add_word(struct builder *builder, const char *name, uint8_t strategy, uint32_t sides,
                                uint32_t axis, struct error *e)
{
    struct layout *layout = &builder->layouts[axis];
    if (layout->second != REPLICATED || layout->first == strategy)
        return error_set(e, ERROR_INVALID_PLAN, "baseline '%.80s' uses axis '%s' %s", name,
                         builder->context->mesh.axes[axis].name,
                         layout->second != REPLICATED ? "for more than two strategies" : "twice");
    if (!builder->works[strategy])
        return error_set(e, ERROR_INVALID_PLAN, "the module has no dimension that '%s' could shard",
                         name_of(builder, strategy));
    if (layout->first == REPLICATED)
        layout->first = strategy;
    else
        layout->second = strategy;
    bool sided = expert_sided(builder, *layout) == strategy;
    if (sided ? builder->sides[axis] != 0 : sides != 0)
        return error_set(e, ERROR_INVALID_PLAN, "baseline '%.80s' has sides of two strategies on axis '%s'",
                         name, builder->context->mesh.axes[axis].name);
    if (sided)
        builder->sides[axis] = sides;
    return ERROR_OK;
}

/* "megatron:model+sequence:model": by name, also those that plan_baselines leaves out as duplicates */
enum error_code expert_parse(struct builder *builder, const char *name, struct error *e)
{
    const struct mesh *mesh = &builder->context->mesh;
    const char *at = name;
    uint8_t named[MESH_MAX_AXES];
    uint32_t count = 0;
    while (strcmp(name, "replicated") != 0 && *at) {
        size_t size = strcspn(at, ":+");
        size_t axis_size = at[size] == ':' ? strcspn(at + size + 1, "+") : 0;
        uint32_t sides;
        int axis = read_axis(mesh, at + size + 1, axis_size);
        bool regather = size == 8 && strncmp(at, "regather", 8) == 0;
        int s = regather ? REPLICATED : read_word(builder, at, size, &sides);
        if (s < 0 || axis < 0)
            return error_set(
                e, ERROR_INVALID_PLAN,
                "a baseline is written strategy:axis+strategy:axis with batch, fsdp, fsdp-large, "
                "zero1, zero2, zero3 (fsdp), megatron, sequence, edge, expert, stacked, regather or a large "
                "group's "
                "label, sides of a conflict behind it (sequence[1]:model), and axes of the mesh; '%.80s' is "
                "not",
                name);
        if (regather)
            builder->regather[axis] = true;
        else if (s != REPLICATED)
            TRY(add_word(builder, name, (uint8_t)s, sides, (uint32_t)axis, e));
        if (!memchr(named, axis, count))
            named[count++] = (uint8_t)axis;
        at += size + 1 + axis_size;
        at += *at == '+';
    }
    expert_order(builder, named, count);
    return ERROR_OK;
}

enum error_code plan_baseline_find(const struct plan_context *context, const char *name,
                                   struct plan_baseline *out, struct error *e)
{
    struct builder builder;
    enum error_code code;
    expert_init(&builder, context);
    code = expert_parse(&builder, name, e);
    if (code == ERROR_OK) {
        builder.out = out;
        expert_build(&builder);
    }
    plan_release(&builder.plan);
    return code;
}

/* Expert plans by name, from roles: every combination of strategies over the mesh axes
 * (docs/design/planner.md).
 *
 * replicated | batch | fsdp = batch and all parameters stored sharded | zero1 = batch and the optimizer's
 * state stored sharded | megatron = feed-forward, heads and vocabulary dims | sequence | edge | expert,
 * and megatron+sequence on one axis. sequence[01] takes the other side of the second class of conflicts of a
 * sequence; regather lets go between distant uses what is gathered over an axis. Whatever the axes, decisions
 * come in the order batch, model dims, storage, update, sequence, regather: order is priority, and experts
 * write it so. */
#include "analysis/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum strategy {
    REPLICATED,
    BATCH,
    FSDP,
    ZERO1,
    MEGATRON,
    SEQUENCE,
    MEGATRON_SEQUENCE,
    EDGE,
    EXPERT,
    STRATEGIES
};
enum {
    MOST_BASELINES = 128, /* different plans; each is priced once, about 2 ms for t2b */
    MOST_TRIES = 4096,    /* combinations built, most of which give a plan that is there already */
    MOST_DECISIONS = PLAN_BASELINE_LIST, /* of one plan */
    MOST_RUNS = 3                        /* strategies of one plan over more than two axes */
}; /* chosen, not tuned */

static const char *const strategy_names[] = {"replicated", "batch",    "fsdp", "zero1", "megatron",
                                             "sequence",   "megatron", "edge", "expert"};

struct builder {
    const struct plan_context *context;
    struct plan plan;
    struct plan_baseline *out;
    bool works[STRATEGIES]; /* the module has what the strategy needs */
    uint32_t side_bits;     /* classes of conflicts of the sequence group that has most */
    uint32_t sides[MESH_MAX_AXES];
    bool regather[MESH_MAX_AXES];
};

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

static void decide_sequence(struct builder *builder, uint32_t axis)
{
    const struct nda *n = builder->context->n;
    for (uint32_t group = 0; group < n->group_count; group++)
        if (n->groups[group].roles & NDA_COLOR_SEQUENCE) {
            uint32_t bits = n->groups[group].bits;
            uint32_t mask = bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
            decide_side(builder, group, builder->sides[axis] & mask, axis, PLAN_SCOPE_ALL);
        }
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

static void decide_role(struct builder *builder, uint32_t roles, uint32_t axis)
{
    const struct nda *n = builder->context->n;
    for (uint32_t group = 0; group < n->group_count; group++)
        if (n->groups[group].roles & roles)
            decide(builder, group, axis, PLAN_SCOPE_ALL);
}

/* Bytes of the arguments of a role that hold each group and have no cell on the axis yet. */
static void unsharded_bytes(const struct builder *builder, enum nda_role role, uint32_t axis, int64_t *bytes)
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
            if (nm->shardable && nm->size % builder->context->mesh.axes[axis].size == 0)
                bytes[n->colors[nm->color].group] +=
                    ir_type_bytes(n->program, ir_value_type(n->program, n->arguments[i].value));
        }
    }
}

static bool serves_role(const struct nda *n, uint32_t group)
{
    return (n->groups[group].roles & (NDA_COLOR_BATCH | NDA_COLOR_SEQUENCE)) != 0;
}

/* Stores every argument of a role sharded: the group on most unsharded bytes first, until no group helps. */
static void store_sharded(struct builder *builder, enum nda_role role, uint32_t axis, enum plan_scope scope)
{
    const struct nda *n = builder->context->n;
    int64_t *bytes = mem_alloc(sizeof *bytes * ((size_t)n->group_count + 1));
    uint8_t *done = mem_zalloc((size_t)n->group_count + 1, 1);
    for (;;) {
        uint32_t best = NDA_NONE;
        unsharded_bytes(builder, role, axis, bytes);
        for (uint32_t group = 0; group < n->group_count; group++)
            if (!done[group] && bytes[group] > 0 && !serves_role(n, group) &&
                (best == NDA_NONE || bytes[group] > bytes[best]))
                best = group;
        if (best == NDA_NONE || builder->out->count == MOST_DECISIONS)
            break;
        done[best] = 1;
        decide(builder, best, axis, scope);
    }
    free(bytes);
    free(done);
}

static void write_name(const struct builder *builder, const uint8_t *strategy, struct text *name)
{
    const struct mesh *mesh = &builder->context->mesh;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++) {
        int kind = strategy[axis];
        if (kind == REPLICATED)
            continue;
        text_printf(name, "%s%s", name->size ? "+" : "", strategy_names[kind]);
        if (kind == MEGATRON_SEQUENCE)
            text_printf(name, ":%s+sequence", mesh->axes[axis].name);
        if ((kind == SEQUENCE || kind == MEGATRON_SEQUENCE) && builder->sides[axis]) {
            text_add_char(name, '[');
            for (uint32_t i = 0; i < builder->side_bits; i++)
                text_add_char(name, builder->sides[axis] >> i & 1 ? '1' : '0');
            text_add_char(name, ']');
        }
        text_printf(name, ":%s", mesh->axes[axis].name);
        if (builder->regather[axis])
            text_printf(name, "+regather:%s", mesh->axes[axis].name);
    }
}

static void build(struct builder *builder, const uint8_t *strategy)
{
    uint32_t axes = builder->context->mesh.axis_count;
    struct text name = {0};
    builder->out->count = 0;
    plan_copy(&builder->plan, &builder->context->start);
    for (uint32_t axis = 0; axis < axes; axis++)
        if (strategy[axis] == BATCH || strategy[axis] == FSDP || strategy[axis] == ZERO1)
            decide_role(builder, NDA_COLOR_BATCH, axis);
    for (uint32_t axis = 0; axis < axes; axis++) {
        if (strategy[axis] == MEGATRON || strategy[axis] == MEGATRON_SEQUENCE)
            decide_role(builder, NDA_COLOR_MODEL | NDA_COLOR_VOCABULARY, axis);
        if (strategy[axis] == EDGE)
            decide_role(builder, NDA_COLOR_EDGE, axis);
        if (strategy[axis] == EXPERT)
            decide_role(builder, NDA_COLOR_EXPERT, axis);
    }
    for (uint32_t axis = 0; axis < axes; axis++)
        if (strategy[axis] == FSDP)
            store_sharded(builder, NDA_ROLE_PARAMETER, axis, PLAN_SCOPE_ALL);
    for (uint32_t axis = 0; axis < axes; axis++)
        if (strategy[axis] == FSDP || strategy[axis] == ZERO1)
            store_sharded(builder, NDA_ROLE_OPTIMIZER, axis,
                          strategy[axis] == FSDP ? PLAN_SCOPE_ALL : PLAN_SCOPE_UPDATE);
    for (uint32_t axis = 0; axis < axes; axis++)
        if (strategy[axis] == SEQUENCE || strategy[axis] == MEGATRON_SEQUENCE)
            decide_sequence(builder, axis);
    for (uint32_t axis = 0; axis < axes; axis++)
        if (builder->regather[axis])
            decide_regather(builder, axis);
    write_name(builder, strategy, &name);
    snprintf(builder->out->name, sizeof builder->out->name, "%s", name.size ? name.at : "replicated");
    text_release(&name);
}

static void builder_init(struct builder *builder, const struct plan_context *context)
{
    const struct nda *n = context->n;
    uint32_t roles = 0;
    bool parameters = false, optimizer = false;
    *builder = (struct builder){.context = context};
    plan_init(&builder->plan, n, &context->mesh);
    for (uint32_t group = 0; group < n->group_count; group++) {
        uint32_t bits = n->groups[group].bits < 32 ? n->groups[group].bits : 32;
        roles |= n->groups[group].roles;
        if (n->groups[group].roles & NDA_COLOR_SEQUENCE && bits > builder->side_bits)
            builder->side_bits = bits;
    }
    for (uint32_t i = 0; i < n->argument_count; i++) {
        parameters |= n->arguments[i].role == NDA_ROLE_PARAMETER;
        optimizer |= n->arguments[i].role == NDA_ROLE_OPTIMIZER;
    }
    builder->works[REPLICATED] = true;
    builder->works[BATCH] = roles & NDA_COLOR_BATCH;
    builder->works[FSDP] = builder->works[BATCH] && parameters;
    builder->works[ZERO1] = builder->works[BATCH] && optimizer;
    builder->works[MEGATRON] = roles & (NDA_COLOR_MODEL | NDA_COLOR_VOCABULARY);
    builder->works[SEQUENCE] = roles & NDA_COLOR_SEQUENCE;
    builder->works[MEGATRON_SEQUENCE] = builder->works[MEGATRON] && builder->works[SEQUENCE];
    builder->works[EDGE] = roles & NDA_COLOR_EDGE;
    builder->works[EXPERT] = roles & NDA_COLOR_EXPERT;
}

/* ------------------------------------------------------------------ which combinations race */
struct race {
    struct builder builder;
    struct plan_baseline *list;
    struct hash128 hashes[MOST_BASELINES + 1];
    uint8_t strategy[MESH_MAX_AXES];
    /* of more than one device: the others would only give other names */
    uint32_t axes[MESH_MAX_AXES], axis_count;
    uint8_t of_axis[MESH_MAX_AXES]; /* strategy of each of them */
    uint32_t count, tries;
    bool in_order;
};

static bool is_full(const struct race *race)
{
    return race->count == MOST_BASELINES || race->tries == MOST_TRIES;
}

static void enter(struct race *race)
{
    uint32_t i = 0;
    if (is_full(race))
        return;
    race->tries++;
    race->builder.out = &race->list[race->count];
    memset(race->strategy, REPLICATED, sizeof race->strategy);
    for (uint32_t k = 0; k < race->axis_count; k++)
        race->strategy[race->axes[k]] = race->of_axis[k];
    build(&race->builder, race->strategy);
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
        while (race->of_axis[a] < STRATEGIES && !race->builder.works[race->of_axis[a]]);
        if (race->of_axis[a] < STRATEGIES)
            return true;
        race->of_axis[a] = REPLICATED;
    }
    return false;
}

/* how far inside (on how fast links) a strategy is used to be */
static int depth(int strategy)
{
    return strategy == REPLICATED ? 2 : strategy == BATCH || strategy == FSDP || strategy == ZERO1 ? 0 : 1;
}

/* Strategies for the axes from `first` on, in so many runs of neighbours that share one. In order: what
 * splits the examples comes first, what splits the model next, unused axes last. */
static void enter_runs(struct race *race, uint32_t first, uint32_t runs)
{
    uint32_t axes = race->axis_count;
    int before = first ? race->of_axis[first - 1] : -1;
    for (int s = 0; s < STRATEGIES && !is_full(race); s++) {
        if (!race->builder.works[s] || s == before)
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

/* Over one or two axes every combination races. Over more there are too many: the same strategy on all
 * axes, then two and three strategies on neighbouring axes as people lay them out, then in any layout. */
struct plan_baseline *plan_baselines(const struct plan_context *context, uint32_t *count)
{
    struct race race = {.list = mem_alloc(sizeof(struct plan_baseline) * (MOST_BASELINES + 1))};
    builder_init(&race.builder, context);
    for (uint32_t axis = 0; axis < context->mesh.axis_count; axis++)
        if (context->mesh.axes[axis].size > 1)
            race.axes[race.axis_count++] = axis;
    if (race.axis_count <= 2) {
        do
            enter(&race);
        while (!is_full(&race) && next_combination(&race));
    } else {
        enter_runs(&race, 0, 1);
        for (int pass = 0; pass < 2; pass++) {
            race.in_order = pass == 0;
            for (uint32_t runs = 2; runs <= MOST_RUNS; runs++)
                enter_runs(&race, 0, runs);
        }
    }
    plan_release(&race.builder.plan);
    *count = race.count;
    return race.list;
}

static int strategy_of(const char *word, size_t size)
{
    for (int s = 0; s < STRATEGIES; s++)
        if (strlen(strategy_names[s]) == size && strncmp(strategy_names[s], word, size) == 0)
            return s;
    return -1;
}

/* "sequence[01]" -> SEQUENCE and its sides; -1: no strategy */
static int read_word(const struct builder *builder, const char *word, size_t size, uint32_t *sides)
{
    size_t plain = strcspn(word, "[");
    *sides = 0;
    if (plain >= size)
        return strategy_of(word, size);
    if (strategy_of(word, plain) != SEQUENCE || word[size - 1] != ']' ||
        size - plain - 2 != builder->side_bits)
        return -1;
    for (uint32_t i = 0; i < builder->side_bits; i++) {
        if (word[plain + 1 + i] != '0' && word[plain + 1 + i] != '1')
            return -1;
        *sides |= (uint32_t)(word[plain + 1 + i] - '0') << i;
    }
    return SEQUENCE;
}

static int read_axis(const struct mesh *mesh, const char *at, size_t size)
{
    for (uint32_t k = 0; size && k < mesh->axis_count; k++)
        if (strlen(mesh->axes[k].name) == size && strncmp(mesh->axes[k].name, at, size) == 0)
            return (int)k;
    return -1;
}

/* "megatron:model+sequence:model": by name, also those that plan_baselines leaves out as duplicates */
static enum error_code parse_name(struct builder *builder, const char *name, uint8_t *strategy,
                                  struct error *e)
{
    const struct mesh *mesh = &builder->context->mesh;
    const char *at = name;
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
                "a baseline is written strategy:axis+strategy:axis with batch, fsdp, "
                "zero1, megatron, sequence, edge, expert, regather and axes of the mesh; '%.80s' "
                "is not",
                name);
        if (regather) {
            builder->regather[axis] = true;
        } else {
            if (strategy[axis] == MEGATRON && s == SEQUENCE)
                s = MEGATRON_SEQUENCE;
            else if (strategy[axis] != REPLICATED)
                return error_set(e, ERROR_INVALID_PLAN, "baseline '%.80s' uses axis '%s' twice", name,
                                 mesh->axes[axis].name);
            if (!builder->works[s])
                return error_set(e, ERROR_INVALID_PLAN, "the module has no dimension that '%s' could shard",
                                 strategy_names[s]);
            strategy[axis] = (uint8_t)s;
            builder->sides[axis] = sides;
        }
        at += size + 1 + axis_size;
        at += *at == '+';
    }
    return ERROR_OK;
}

/* ------------------------------------------------------------------ around one plan */
enum { MOST_VARIANTS = 256 };

struct variants {
    struct builder builder;
    uint8_t strategy[MESH_MAX_AXES];
    struct hash128 own;
    struct plan_baseline *list;
    struct hash128 hashes[MOST_VARIANTS];
    uint32_t count;
};

static void enter_variant(struct variants *variants)
{
    if (variants->count == MOST_VARIANTS)
        return;
    variants->builder.out = &variants->list[variants->count];
    build(&variants->builder, variants->strategy);
    struct hash128 hash = variants->builder.plan.hash;
    bool seen = hash128_compare(hash, variants->own) == 0;
    for (uint32_t i = 0; i < variants->count && !seen; i++)
        seen = hash128_compare(variants->hashes[i], hash) == 0;
    if (!seen)
        variants->hashes[variants->count++] = hash;
}

/* both sides of all conflicts at once, then of each class alone */
static uint32_t side_of(uint32_t bits, uint32_t i)
{
    return i == 0 ? 0 : i == 1 ? (bits >= 32 ? UINT32_MAX : (1u << bits) - 1) : 1u << (i - 2);
}

static void vary_axis(struct variants *variants, uint32_t axis)
{
    struct builder *builder = &variants->builder;
    uint8_t kept = variants->strategy[axis];
    uint32_t sides = builder->sides[axis], bits = builder->side_bits;
    for (uint8_t s = 0; s < STRATEGIES; s++) {
        bool sequence = s == SEQUENCE || s == MEGATRON_SEQUENCE;
        for (uint32_t i = 0; builder->works[s] && i < (sequence && bits ? bits + 2 : 1); i++) {
            variants->strategy[axis] = s;
            builder->sides[axis] = sequence ? side_of(bits, i) : 0;
            enter_variant(variants);
        }
    }
    variants->strategy[axis] = kept;
    builder->sides[axis] = sides;
    builder->regather[axis] = !builder->regather[axis];
    enter_variant(variants);
    builder->regather[axis] = !builder->regather[axis];
}

/* two axes change places */
static void swap_axes(struct variants *variants, uint32_t i, uint32_t k)
{
    struct builder *builder = &variants->builder;
    uint8_t strategy = variants->strategy[i];
    uint32_t sides = builder->sides[i];
    bool regather = builder->regather[i];
    variants->strategy[i] = variants->strategy[k];
    variants->strategy[k] = strategy;
    builder->sides[i] = builder->sides[k];
    builder->sides[k] = sides;
    builder->regather[i] = builder->regather[k];
    builder->regather[k] = regather;
}

struct plan_baseline *plan_baseline_variants(const struct plan_context *context, const char *name,
                                             uint32_t *count)
{
    const struct mesh *mesh = &context->mesh;
    struct variants variants = {0};
    struct plan_baseline self;
    struct error e = {0};
    builder_init(&variants.builder, context);
    variants.list = mem_alloc(sizeof *variants.list * (MOST_VARIANTS + 1));
    if (parse_name(&variants.builder, name, variants.strategy, &e) == ERROR_OK) {
        variants.builder.out = &self;
        build(&variants.builder, variants.strategy);
        variants.own = variants.builder.plan.hash;
        for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
            if (mesh->axes[axis].size > 1)
                vary_axis(&variants, axis);
        for (uint32_t i = 0; i < mesh->axis_count; i++)
            for (uint32_t k = i + 1; k < mesh->axis_count; k++) {
                swap_axes(&variants, i, k);
                enter_variant(&variants);
                swap_axes(&variants, i, k);
            }
    }
    plan_release(&variants.builder.plan);
    *count = variants.count;
    return variants.list;
}

enum error_code plan_baseline_find(const struct plan_context *context, const char *name,
                                   struct plan_baseline *out, struct error *e)
{
    uint8_t strategy[MESH_MAX_AXES] = {0};
    struct builder builder;
    enum error_code code;
    builder_init(&builder, context);
    code = parse_name(&builder, name, strategy, e);
    if (code == ERROR_OK) {
        builder.out = out;
        build(&builder, strategy);
    }
    plan_release(&builder.plan);
    return code;
}

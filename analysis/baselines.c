/* Expert plans by name, from roles: every combination of strategies over the mesh axes
 * (docs/design/planner.md).
 *
 * replicated | batch | fsdp = batch and all parameters stored sharded | zero1 = batch and the optimizer's
 * state stored sharded | megatron = feed-forward, heads and vocabulary dims | sequence | edge | expert,
 * and megatron+sequence on one axis. Whatever the axes, decisions come in the order batch, model dims,
 * storage, update, sequence: order is priority, and experts write it so. */
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
    const struct plan_context *c;
    struct plan plan;
    struct plan_baseline *out;
    bool works[STRATEGIES]; /* the module has what the strategy needs */
};

/* appends a decision when it changes something */
static uint32_t decide(struct builder *b, uint32_t group, uint32_t axis, enum plan_scope scope)
{
    struct plan_decision d = {group, 0, (uint8_t)axis, (uint8_t)scope};
    uint32_t changed = 0;
    if (b->out->count < MOST_DECISIONS)
        changed = plan_apply(b->c, &b->plan, d);
    if (changed)
        b->out->decisions[b->out->count++] = d;
    return changed;
}

static void decide_role(struct builder *b, uint32_t roles, uint32_t axis)
{
    const struct nda *n = b->c->n;
    for (uint32_t g = 0; g < n->group_count; g++)
        if (n->groups[g].roles & roles)
            decide(b, g, axis, PLAN_SCOPE_ALL);
}

/* Bytes of the arguments of a role that hold each group and have no cell on the axis yet. */
static void unsharded_bytes(const struct builder *b, enum nda_role role, uint32_t axis, int64_t *bytes)
{
    const struct nda *n = b->c->n;
    memset(bytes, 0, sizeof *bytes * ((size_t)n->group_count + 1));
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        if (n->arguments[i].role != role ||
            plan_space(&b->plan, n->arguments[i].space)[axis].factor != NDA_NO_FACTOR)
            continue;
        for (uint32_t f = 0; f < sp->factor_count; f++) {
            const struct nda_factor *nm = &n->factors[sp->factors + f];
            if (nm->shardable && nm->size % b->c->mesh.axes[axis].size == 0)
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
static void store_sharded(struct builder *b, enum nda_role role, uint32_t axis, enum plan_scope scope)
{
    const struct nda *n = b->c->n;
    int64_t *bytes = mem_alloc(sizeof *bytes * ((size_t)n->group_count + 1));
    uint8_t *done = mem_zalloc((size_t)n->group_count + 1, 1);
    for (;;) {
        uint32_t best = NDA_NONE;
        unsharded_bytes(b, role, axis, bytes);
        for (uint32_t g = 0; g < n->group_count; g++)
            if (!done[g] && bytes[g] > 0 && !serves_role(n, g) &&
                (best == NDA_NONE || bytes[g] > bytes[best]))
                best = g;
        if (best == NDA_NONE || b->out->count == MOST_DECISIONS)
            break;
        done[best] = 1;
        decide(b, best, axis, scope);
    }
    free(bytes);
    free(done);
}

static void build(struct builder *b, const uint8_t *strategy)
{
    uint32_t axes = b->c->mesh.axis_count;
    struct text name = {0};
    b->out->count = 0;
    plan_copy(&b->plan, &b->c->start);
    for (uint32_t a = 0; a < axes; a++)
        if (strategy[a] == BATCH || strategy[a] == FSDP || strategy[a] == ZERO1)
            decide_role(b, NDA_COLOR_BATCH, a);
    for (uint32_t a = 0; a < axes; a++) {
        if (strategy[a] == MEGATRON || strategy[a] == MEGATRON_SEQUENCE)
            decide_role(b, NDA_COLOR_MODEL | NDA_COLOR_VOCABULARY, a);
        if (strategy[a] == EDGE)
            decide_role(b, NDA_COLOR_EDGE, a);
        if (strategy[a] == EXPERT)
            decide_role(b, NDA_COLOR_EXPERT, a);
    }
    for (uint32_t a = 0; a < axes; a++)
        if (strategy[a] == FSDP)
            store_sharded(b, NDA_ROLE_PARAMETER, a, PLAN_SCOPE_ALL);
    for (uint32_t a = 0; a < axes; a++)
        if (strategy[a] == FSDP || strategy[a] == ZERO1)
            store_sharded(b, NDA_ROLE_OPTIMIZER, a, strategy[a] == FSDP ? PLAN_SCOPE_ALL : PLAN_SCOPE_UPDATE);
    for (uint32_t a = 0; a < axes; a++)
        if (strategy[a] == SEQUENCE || strategy[a] == MEGATRON_SEQUENCE)
            decide_role(b, NDA_COLOR_SEQUENCE, a);
    for (uint32_t a = 0; a < axes; a++) {
        if (strategy[a] == REPLICATED)
            continue;
        text_printf(&name, "%s%s:%s", name.size ? "+" : "", strategy_names[strategy[a]],
                    b->c->mesh.axes[a].name);
        if (strategy[a] == MEGATRON_SEQUENCE)
            text_printf(&name, "+sequence:%s", b->c->mesh.axes[a].name);
    }
    snprintf(b->out->name, sizeof b->out->name, "%s", name.size ? name.at : "replicated");
    text_release(&name);
}

static void builder_init(struct builder *b, const struct plan_context *c)
{
    const struct nda *n = c->n;
    uint32_t roles = 0;
    bool parameters = false, optimizer = false;
    *b = (struct builder){.c = c};
    plan_init(&b->plan, n, &c->mesh);
    for (uint32_t g = 0; g < n->group_count; g++)
        roles |= n->groups[g].roles;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        parameters |= n->arguments[i].role == NDA_ROLE_PARAMETER;
        optimizer |= n->arguments[i].role == NDA_ROLE_OPTIMIZER;
    }
    b->works[REPLICATED] = true;
    b->works[BATCH] = roles & NDA_COLOR_BATCH;
    b->works[FSDP] = b->works[BATCH] && parameters;
    b->works[ZERO1] = b->works[BATCH] && optimizer;
    b->works[MEGATRON] = roles & (NDA_COLOR_MODEL | NDA_COLOR_VOCABULARY);
    b->works[SEQUENCE] = roles & NDA_COLOR_SEQUENCE;
    b->works[MEGATRON_SEQUENCE] = b->works[MEGATRON] && b->works[SEQUENCE];
    b->works[EDGE] = roles & NDA_COLOR_EDGE;
    b->works[EXPERT] = roles & NDA_COLOR_EXPERT;
}

/* ------------------------------------------------------------------ which combinations race */
struct race {
    struct builder b;
    struct plan_baseline *list;
    struct hash128 hashes[MOST_BASELINES + 1];
    uint8_t strategy[MESH_MAX_AXES];
    /* of more than one device: the others would only give other names */
    uint32_t axes[MESH_MAX_AXES], axis_count;
    uint8_t of_axis[MESH_MAX_AXES]; /* strategy of each of them */
    uint32_t count, tries;
    bool in_order;
};

static bool is_full(const struct race *r)
{
    return r->count == MOST_BASELINES || r->tries == MOST_TRIES;
}

static void enter(struct race *r)
{
    uint32_t i = 0;
    if (is_full(r))
        return;
    r->tries++;
    r->b.out = &r->list[r->count];
    memset(r->strategy, REPLICATED, sizeof r->strategy);
    for (uint32_t k = 0; k < r->axis_count; k++)
        r->strategy[r->axes[k]] = r->of_axis[k];
    build(&r->b, r->strategy);
    while (i < r->count && hash128_compare(r->hashes[i], r->b.plan.hash) != 0)
        i++;
    if (i == r->count)
        r->hashes[r->count++] = r->b.plan.hash;
}

/* the next combination in order, first axis slowest; false after the last */
static bool next_combination(struct race *r)
{
    for (uint32_t a = r->axis_count; a-- > 0;) {
        do
            r->of_axis[a]++;
        while (r->of_axis[a] < STRATEGIES && !r->b.works[r->of_axis[a]]);
        if (r->of_axis[a] < STRATEGIES)
            return true;
        r->of_axis[a] = REPLICATED;
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
static void enter_runs(struct race *r, uint32_t first, uint32_t runs)
{
    uint32_t axes = r->axis_count;
    int before = first ? r->of_axis[first - 1] : -1;
    for (int s = 0; s < STRATEGIES && !is_full(r); s++) {
        if (!r->b.works[s] || s == before)
            continue;
        if (r->in_order && (first ? depth(s) < depth(before) : runs > 1 && depth(s) > 0))
            continue;
        for (uint32_t end = runs == 1 ? axes : first + 1; end <= axes - (runs - 1); end++) {
            memset(r->of_axis + first, s, end - first);
            if (runs == 1)
                enter(r);
            else
                enter_runs(r, end, runs - 1);
        }
    }
}

/* Over one or two axes every combination races. Over more there are too many: the same strategy on all
 * axes, then two and three strategies on neighbouring axes as people lay them out, then in any layout. */
struct plan_baseline *plan_baselines(const struct plan_context *c, uint32_t *count)
{
    struct race r = {.list = mem_alloc(sizeof(struct plan_baseline) * (MOST_BASELINES + 1))};
    builder_init(&r.b, c);
    for (uint32_t a = 0; a < c->mesh.axis_count; a++)
        if (c->mesh.axes[a].size > 1)
            r.axes[r.axis_count++] = a;
    if (r.axis_count <= 2) {
        do
            enter(&r);
        while (!is_full(&r) && next_combination(&r));
    } else {
        enter_runs(&r, 0, 1);
        for (int pass = 0; pass < 2; pass++) {
            r.in_order = pass == 0;
            for (uint32_t runs = 2; runs <= MOST_RUNS; runs++)
                enter_runs(&r, 0, runs);
        }
    }
    plan_release(&r.b.plan);
    *count = r.count;
    return r.list;
}

static int strategy_of(const char *word, size_t size)
{
    for (int s = 0; s < STRATEGIES; s++)
        if (strlen(strategy_names[s]) == size && strncmp(strategy_names[s], word, size) == 0)
            return s;
    return -1;
}

/* "megatron:model+sequence:model": by name, also those that plan_baselines leaves out as duplicates */
static enum error_code parse_name(const struct builder *b, const char *name, uint8_t *strategy,
                                  struct error *e)
{
    const struct mesh *m = &b->c->mesh;
    const char *at = name;
    while (strcmp(name, "replicated") != 0 && *at) {
        size_t size = strcspn(at, ":+"), axis_size;
        int s = strategy_of(at, size), a = -1;
        axis_size = at[size] == ':' ? strcspn(at + size + 1, "+") : 0;
        for (uint32_t k = 0; k < m->axis_count; k++)
            if (axis_size && strlen(m->axes[k].name) == axis_size &&
                strncmp(m->axes[k].name, at + size + 1, axis_size) == 0)
                a = (int)k;
        if (s < 0 || a < 0)
            return error_set(e, ERROR_INVALID_PLAN,
                             "a baseline is written strategy:axis+strategy:axis with batch, fsdp, "
                             "zero1, megatron, sequence, edge, expert and axes of the mesh; '%.80s' is not",
                             name);
        if (strategy[a] == MEGATRON && s == SEQUENCE)
            s = MEGATRON_SEQUENCE;
        else if (strategy[a] != REPLICATED)
            return error_set(e, ERROR_INVALID_PLAN, "baseline '%.80s' uses axis '%s' twice", name,
                             m->axes[a].name);
        if (!b->works[s])
            return error_set(e, ERROR_INVALID_PLAN, "the module has no dimension that '%s' could shard",
                             strategy_names[s]);
        strategy[a] = (uint8_t)s;
        at += size + 1 + axis_size;
        at += *at == '+';
    }
    return ERROR_OK;
}

enum error_code plan_baseline_find(const struct plan_context *c, const char *name, struct plan_baseline *out,
                                   struct error *e)
{
    uint8_t strategy[MESH_MAX_AXES] = {0};
    struct builder b;
    enum error_code code;
    builder_init(&b, c);
    code = parse_name(&b, name, strategy, e);
    if (code == ERROR_OK) {
        b.out = out;
        build(&b, strategy);
    }
    plan_release(&b.plan);
    return code;
}

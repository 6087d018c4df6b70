/* Atomic factors: every dimension becomes a list of atoms, the same wherever it flows
 * (docs/design/analysis.md).
 *
 *     size 24      cut points 4, 12           24 = 2 x 3 x 4: suffix products 12 and 4
 *     atoms        [2] [3] [4]   major first  a reshape to 6 x 4 ties [2][3] to one side and [4] to the other
 *
 * Dimensions that a rule puts whole into one factor form a class (union-find over all dimensions of all
 * values; equal sizes by construction), and so do carried values around a loop and donated arguments with
 * their results. A class has *cut points*: suffix products 1 < c1 < c2 .. < n, each dividing the next, at
 * which its dimensions fall apart. A link (a reshape's group, a slice at multiples of its size) wants cuts
 * at the ends of its parts, and the cuts inside one part of a factor in all other parts of it. Links are
 * visited forward and backward until nothing changes; a link whose cuts form no divisor chain with those
 * already there is switched off for good (earlier links win). */
#include "analysis/stages.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CUTS = 62 }; /* a divisor chain of 63-bit sizes is no longer */

struct part {
    int64_t lo, hi;
    uint32_t dim; /* index over all dimensions of all values */
};
struct flow { /* the parts of one linked factor */
    uint32_t first, count, link;
    bool piece;
};
struct join { /* result: of the concatenate; flow: its linked factor when it is a stack, else NDA_NONE */
    uint32_t dim, result, flow;
};
struct cuts {
    uint8_t count;
    int64_t *at; /* ascending, in the arena of the atoms' scratch */
};
struct atoms {
    struct nda *n;
    uint32_t *dim_base; /* of each value */
    uint32_t *parent;
    int64_t *size;     /* of each dimension */
    struct cuts *cuts; /* of each root */
    VEC(struct part) parts;
    VEC(struct flow) flows;
    uint8_t *off; /* of each link */
    uint8_t *flow_off;
    VEC(uint32_t) windowed;  /* dimensions in windowed factors */
    VEC(struct join) joined; /* dimensions that concatenates join along */
    struct arena *scratch;
    bool changed;
};

uint32_t set_find(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

void set_join(uint32_t *parent, uint32_t a, uint32_t b)
{
    a = set_find(parent, a);
    b = set_find(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

uint32_t *set_create(uint32_t count)
{
    uint32_t *parent = mem_alloc(sizeof *parent * ((size_t)count + 1));
    for (uint32_t i = 0; i < count; i++)
        parent[i] = i;
    return parent;
}

static uint32_t value_rank(const struct ir_program *p, uint32_t value)
{
    const struct ir_type *t = ir_value_type(p, value);
    return t->kind == IR_TYPE_TENSOR ? t->rank : 0;
}

static void number_dims(struct atoms *a)
{
    const struct ir_program *p = a->n->program;
    uint32_t total = 0;
    a->dim_base = mem_alloc(sizeof *a->dim_base * ((size_t)p->value_count + 1));
    for (uint32_t v = 0; v < p->value_count; v++) {
        a->dim_base[v] = total;
        total += value_rank(p, v);
    }
    a->dim_base[p->value_count] = total;
    a->parent = set_create(total);
    a->size = mem_alloc(sizeof *a->size * ((size_t)total + 1));
    a->cuts = mem_zalloc((size_t)total + 1, sizeof *a->cuts);
    for (uint32_t v = 0; v < p->value_count; v++)
        if (value_rank(p, v))
            memcpy(a->size + a->dim_base[v], ir_type_dims(p, ir_value_type(p, v)),
                   sizeof *a->size * value_rank(p, v));
}

/* same type: dimension by dimension; used for what is one value in several places */
static void join_values(struct atoms *a, uint32_t v, uint32_t w)
{
    uint32_t rank = value_rank(a->n->program, v);
    if (rank != value_rank(a->n->program, w))
        return;
    for (uint32_t d = 0; d < rank; d++)
        if (a->size[a->dim_base[v] + d] == a->size[a->dim_base[w] + d])
            set_join(a->parent, a->dim_base[v] + d, a->dim_base[w] + d);
}

static void collect_factor(struct atoms *a, const struct rule *r, uint32_t f, uint32_t *first_dim)
{
    uint32_t link = r->factors.at[f].link;
    if (link != RULE_NO_LINK)
        VEC_PUSH(&a->flows, ((struct flow){(uint32_t)a->parts.count, 0, link, r->factors.at[f].piece}));
    *first_dim = UINT32_MAX;
    for (size_t i = 0; i < r->parts.count; i++) {
        const struct rule_part *part = &r->parts.at[i];
        uint32_t dim = a->dim_base[r->slots.at[part->slot].value] + part->dim;
        if (part->factor != f)
            continue;
        if (r->factors.at[f].kind == NDA_WINDOWED)
            VEC_PUSH(&a->windowed, dim);
        if (link != RULE_NO_LINK) {
            VEC_PUSH(&a->parts, ((struct part){part->lo, part->hi, dim}));
            a->flows.at[a->flows.count - 1].count++;
        } else if (*first_dim == UINT32_MAX) {
            *first_dim = dim;
        } else {
            set_join(a->parent, *first_dim, dim);
        }
    }
}

static void collect_joined(struct atoms *a, const struct rule *r)
{
    int64_t along = ir_int(r->program, r->op, "dimension", 0);
    uint32_t result = a->dim_base[r->slots.at[rule_result_slot(r, 0)].value] + (uint32_t)along;
    uint32_t flow = rule_is_stack(r, along) ? (uint32_t)a->flows.count - 1 : (uint32_t)NDA_NONE;
    for (uint32_t s = 0; s < r->slots.count; s++)
        if (rule_size(r, s, along) > 1)
            VEC_PUSH(&a->joined,
                     ((struct join){a->dim_base[r->slots.at[s].value] + (uint32_t)along, result, flow}));
}

static void collect(struct atoms *a)
{
    struct nda *n = a->n;
    struct rule r = {0};
    uint32_t first;
    for (uint32_t s = 0; s < n->space_count; s++) {
        rule_run(&r, n, s);
        for (uint32_t f = 0; f < r.factors.count; f++)
            collect_factor(a, &r, f, &first);
        if (n->spaces[s].kind == NDA_SPACE_OP && n->program->ops[n->spaces[s].op].code == IR_CONCATENATE)
            collect_joined(a, &r);
        if (n->spaces[s].kind == NDA_SPACE_LOOP_END) {
            uint32_t begin = n->op_space[n->spaces[s].op] + n->spaces[s].index;
            join_values(a, n->slots[n->spaces[begin].slots].value, n->slots[n->spaces[s].slots].value);
        }
    }
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].tied_result != NDA_NONE)
            join_values(a, n->arguments[i].value,
                        n->slots[n->spaces[n->result_spaces[n->arguments[i].tied_result]].slots].value);
    a->off = mem_zalloc((size_t)r.next_link + 1, 1);
    rule_release(&r);
}

/* Can `cut` stand beside the cuts of the class? 1 = it is there or an end already, 0 = yes, -1 = no. */
static int cut_fits(const struct cuts *c, int64_t size, int64_t cut)
{
    if (cut == 1 || cut == size)
        return 1;
    if (size % cut)
        return -1;
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->at[i] == cut)
            return 1;
        if (c->at[i] < cut ? cut % c->at[i] : c->at[i] % cut)
            return -1;
    }
    return 0;
}

static void cut_add(struct atoms *a, struct cuts *c, int64_t cut)
{
    uint32_t i;
    if (!c->at)
        c->at = arena_alloc(a->scratch, sizeof *c->at * (MAX_CUTS + 1));
    BASE_CHECK(c->count < MAX_CUTS);
    for (i = c->count; i > 0 && c->at[i - 1] > cut; i--)
        c->at[i] = c->at[i - 1];
    c->at[i] = cut;
    c->count++;
    a->changed = true;
}

/* Cuts of a part, relative to its low end, into list; the ends are not among them. */
static uint32_t relative_cuts(const struct cuts *c, const struct part *part, int64_t *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->at[i] > part->lo && c->at[i] < part->hi && c->at[i] % part->lo == 0)
            list[count++] = c->at[i] / part->lo;
    return count;
}

/* Adds (or, with add false, only tests) every cut that the flow wants. false: some cut does not fit. */
static bool flow_apply(struct atoms *a, const struct flow *flow, bool add)
{
    int64_t list[MAX_CUTS];
    for (uint32_t i = 0; i < flow->count; i++) {
        const struct part *from = &a->parts.at[flow->first + i];
        struct cuts *cf = &a->cuts[set_find(a->parent, from->dim)];
        uint32_t count = relative_cuts(cf, from, list);
        for (uint32_t j = 0; j < flow->count; j++) {
            const struct part *to = &a->parts.at[flow->first + j];
            struct cuts *ct = &a->cuts[set_find(a->parent, to->dim)];
            int64_t size = a->size[to->dim];
            for (uint32_t k = 0; k < count + 2; k++) {
                int64_t cut = k < count ? to->lo * list[k] : k == count ? to->lo : to->hi;
                int fits = cut_fits(ct, size, cut);
                if (fits < 0)
                    return false;
                if (fits == 0 && add)
                    cut_add(a, ct, cut);
            }
        }
    }
    return true;
}

/* The first slice or pad at multiples of its size that a class is in. */
static uint32_t *first_pieces(struct atoms *a, size_t dims)
{
    uint32_t *first = mem_alloc((dims + 1) * sizeof *first);
    memset(first, 0xff, (dims + 1) * sizeof *first);
    for (size_t k = a->flows.count; k-- > 0;)
        for (uint32_t i = 0; i < a->flows.at[k].count && a->flows.at[k].piece; i++)
            first[set_find(a->parent, a->parts.at[a->flows.at[k].first + i].dim)] = (uint32_t)k;
    return first;
}

/* Windowed dimensions cannot be sharded, so a flattened dimension is not cut at them: the height and width
 * of an image flattened for attention stay one atom, with one conflict where two would be. A concatenate
 * of different things (skip connections, rotary halves, nodes with edges) would tie them through the
 * slices of its gradient: no piece is tied there. It is the gradient of a fused projection when the slices
 * come first. */
static void leave_out(struct atoms *a)
{
    size_t dims = a->dim_base[a->n->program->value_count];
    uint8_t *mark = mem_zalloc(dims + 1, 1);
    uint32_t *piece = first_pieces(a, dims);
    a->flow_off = mem_zalloc(a->flows.count + 1, 1);
    for (size_t i = 0; i < a->windowed.count; i++)
        mark[set_find(a->parent, a->windowed.at[i])] |= 1;
    for (size_t i = 0; i < a->joined.count; i++) {
        const struct join *j = &a->joined.at[i];
        if (j->flow != NDA_NONE && piece[set_find(a->parent, j->result)] < j->flow)
            continue;
        mark[set_find(a->parent, j->dim)] |= 2;
        if (j->flow != NDA_NONE)
            a->off[a->flows.at[j->flow].link] = 1;
    }
    for (size_t k = 0; k < a->flows.count; k++)
        for (uint32_t i = 0; i < a->flows.at[k].count; i++) {
            uint8_t m = mark[set_find(a->parent, a->parts.at[a->flows.at[k].first + i].dim)];
            a->flow_off[k] |= m & 1;
            a->off[a->flows.at[k].link] |= m & 2 && a->flows.at[k].piece;
        }
    free(mark);
    free(piece);
}

static void refine(struct atoms *a)
{
    bool backward = false;
    leave_out(a);
    do {
        a->changed = false;
        for (size_t k = 0; k < a->flows.count; k++) {
            const struct flow *f = &a->flows.at[backward ? a->flows.count - 1 - k : k];
            if (a->off[f->link] || a->flow_off[f - a->flows.at])
                continue;
            if (!flow_apply(a, f, false) || !flow_apply(a, f, true)) {
                a->off[f->link] = 1;
                a->changed = true;
            }
        }
        backward = !backward;
    } while (a->changed);
    for (size_t k = 0; k < a->flows.count; k++)
        a->flow_off[k] |= a->off[a->flows.at[k].link];
}

static void write_atoms(struct atoms *a)
{
    struct nda *n = a->n;
    const struct ir_program *p = n->program;
    size_t total = 0;
    n->value_atoms = arena_alloc(n->arena, sizeof *n->value_atoms * ((size_t)p->value_count + 1));
    for (uint32_t v = 0; v < p->value_count; v++)
        for (uint32_t d = 0; d < value_rank(p, v); d++)
            if (a->size[a->dim_base[v] + d] > 1)
                total += 1u + a->cuts[set_find(a->parent, a->dim_base[v] + d)].count;
    n->atoms = arena_alloc(n->arena, sizeof *n->atoms * (total + 1));
    total = 0;
    for (uint32_t v = 0; v < p->value_count; v++) {
        n->value_atoms[v] = (uint32_t)total;
        for (uint32_t d = 0; d < value_rank(p, v); d++) {
            int64_t outer = a->size[a->dim_base[v] + d];
            const struct cuts *c = &a->cuts[set_find(a->parent, a->dim_base[v] + d)];
            if (outer < 2)
                continue;
            for (uint32_t k = 0; k <= c->count; k++) {
                int64_t inner = k < c->count ? c->at[c->count - 1 - k] : 1;
                n->atoms[total++] = (struct nda_atom){outer / inner, (uint8_t)d, (uint8_t)k};
                outer = inner;
            }
        }
    }
    n->value_atoms[p->value_count] = (uint32_t)total;
}

uint8_t *stage_atoms(struct nda *n)
{
    struct atoms a = {.n = n, .scratch = arena_create()};
    number_dims(&a);
    collect(&a);
    refine(&a);
    write_atoms(&a);
    free(a.dim_base);
    free(a.parent);
    free(a.size);
    free(a.cuts);
    VEC_FREE(&a.parts);
    VEC_FREE(&a.flows);
    VEC_FREE(&a.windowed);
    VEC_FREE(&a.joined);
    free(a.off);
    arena_destroy(a.scratch);
    return a.flow_off;
}

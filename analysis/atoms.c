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

static uint32_t value_rank(const struct ir_program *program, uint32_t value)
{
    const struct ir_type *type = ir_value_type(program, value);
    return type->kind == IR_TYPE_TENSOR ? type->rank : 0;
}

static void number_dims(struct atoms *atoms)
{
    const struct ir_program *program = atoms->n->program;
    uint32_t total = 0;
    atoms->dim_base = mem_alloc(sizeof *atoms->dim_base * ((size_t)program->value_count + 1));
    for (uint32_t value = 0; value < program->value_count; value++) {
        atoms->dim_base[value] = total;
        total += value_rank(program, value);
    }
    atoms->dim_base[program->value_count] = total;
    atoms->parent = set_create(total);
    atoms->size = mem_alloc(sizeof *atoms->size * ((size_t)total + 1));
    atoms->cuts = mem_zalloc((size_t)total + 1, sizeof *atoms->cuts);
    for (uint32_t value = 0; value < program->value_count; value++)
        if (value_rank(program, value))
            memcpy(atoms->size + atoms->dim_base[value], ir_type_dims(program, ir_value_type(program, value)),
                   sizeof *atoms->size * value_rank(program, value));
}

/* same type: dimension by dimension; used for what is one value in several places */
static void join_values(struct atoms *atoms, uint32_t v, uint32_t w)
{
    uint32_t rank = value_rank(atoms->n->program, v);
    if (rank != value_rank(atoms->n->program, w))
        return;
    for (uint32_t dim = 0; dim < rank; dim++)
        if (atoms->size[atoms->dim_base[v] + dim] == atoms->size[atoms->dim_base[w] + dim])
            set_join(atoms->parent, atoms->dim_base[v] + dim, atoms->dim_base[w] + dim);
}

static void collect_factor(struct atoms *atoms, const struct rule *rule, uint32_t f, uint32_t *first_dim)
{
    uint32_t link = rule->factors.at[f].link;
    if (link != RULE_NO_LINK)
        VEC_PUSH(&atoms->flows,
                 ((struct flow){(uint32_t)atoms->parts.count, 0, link, rule->factors.at[f].piece}));
    *first_dim = UINT32_MAX;
    for (size_t i = 0; i < rule->parts.count; i++) {
        const struct rule_part *part = &rule->parts.at[i];
        uint32_t dim = atoms->dim_base[rule->slots.at[part->slot].value] + part->dim;
        if (part->factor != f)
            continue;
        if (rule->factors.at[f].kind == NDA_WINDOWED)
            VEC_PUSH(&atoms->windowed, dim);
        if (link != RULE_NO_LINK) {
            VEC_PUSH(&atoms->parts, ((struct part){part->lo, part->hi, dim}));
            atoms->flows.at[atoms->flows.count - 1].count++;
        } else if (*first_dim == UINT32_MAX) {
            *first_dim = dim;
        } else {
            set_join(atoms->parent, *first_dim, dim);
        }
    }
}

static void collect_joined(struct atoms *atoms, const struct rule *rule)
{
    int64_t along = ir_int(rule->program, rule->op, "dimension", 0);
    uint32_t result = atoms->dim_base[rule->slots.at[rule_result_slot(rule, 0)].value] + (uint32_t)along;
    uint32_t flow = rule_is_stack(rule, along) ? (uint32_t)atoms->flows.count - 1 : (uint32_t)NDA_NONE;
    for (uint32_t s = 0; s < rule->slots.count; s++)
        if (rule_size(rule, s, along) > 1)
            VEC_PUSH(
                &atoms->joined,
                ((struct join){atoms->dim_base[rule->slots.at[s].value] + (uint32_t)along, result, flow}));
}

static void collect(struct atoms *atoms)
{
    struct nda *n = atoms->n;
    struct rule rule = {0};
    uint32_t first;
    for (uint32_t space = 0; space < n->space_count; space++) {
        rule_run(&rule, n, space);
        for (uint32_t f = 0; f < rule.factors.count; f++)
            collect_factor(atoms, &rule, f, &first);
        if (n->spaces[space].kind == NDA_SPACE_OP &&
            n->program->ops[n->spaces[space].op].code == IR_CONCATENATE)
            collect_joined(atoms, &rule);
        if (n->spaces[space].kind == NDA_SPACE_LOOP_END) {
            uint32_t begin = n->op_space[n->spaces[space].op] + n->spaces[space].index;
            join_values(atoms, n->slots[n->spaces[begin].slots].value,
                        n->slots[n->spaces[space].slots].value);
        }
    }
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].tied_result != NDA_NONE)
            join_values(atoms, n->arguments[i].value,
                        n->slots[n->spaces[n->result_spaces[n->arguments[i].tied_result]].slots].value);
    atoms->off = mem_zalloc((size_t)rule.next_link + 1, 1);
    rule_release(&rule);
}

/* Can `cut` stand beside the cuts of the class? 1 = it is there or an end already, 0 = yes, -1 = no. */
static int cut_fits(const struct cuts *cuts, int64_t size, int64_t cut)
{
    if (cut == 1 || cut == size)
        return 1;
    if (size % cut)
        return -1;
    for (uint32_t i = 0; i < cuts->count; i++) {
        if (cuts->at[i] == cut)
            return 1;
        if (cuts->at[i] < cut ? cut % cuts->at[i] : cuts->at[i] % cut)
            return -1;
    }
    return 0;
}

static void cut_add(struct atoms *atoms, struct cuts *cuts, int64_t cut)
{
    uint32_t i;
    if (!cuts->at)
        cuts->at = arena_alloc(atoms->scratch, sizeof *cuts->at * (MAX_CUTS + 1));
    BASE_CHECK(cuts->count < MAX_CUTS);
    for (i = cuts->count; i > 0 && cuts->at[i - 1] > cut; i--)
        cuts->at[i] = cuts->at[i - 1];
    cuts->at[i] = cut;
    cuts->count++;
    atoms->changed = true;
}

/* Cuts of a part, relative to its low end, into list; the ends are not among them. */
static uint32_t relative_cuts(const struct cuts *cuts, const struct part *part, int64_t *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cuts->count; i++)
        if (cuts->at[i] > part->lo && cuts->at[i] < part->hi && cuts->at[i] % part->lo == 0)
            list[count++] = cuts->at[i] / part->lo;
    return count;
}

/* Adds (or, with add false, only tests) every cut that the flow wants. false: some cut does not fit. */
static bool flow_apply(struct atoms *atoms, const struct flow *flow, bool add)
{
    int64_t list[MAX_CUTS];
    for (uint32_t i = 0; i < flow->count; i++) {
        const struct part *from = &atoms->parts.at[flow->first + i];
        struct cuts *cf = &atoms->cuts[set_find(atoms->parent, from->dim)];
        uint32_t count = relative_cuts(cf, from, list);
        for (uint32_t j = 0; j < flow->count; j++) {
            const struct part *to = &atoms->parts.at[flow->first + j];
            struct cuts *ct = &atoms->cuts[set_find(atoms->parent, to->dim)];
            int64_t size = atoms->size[to->dim];
            for (uint32_t k = 0; k < count + 2; k++) {
                int64_t cut = k < count ? to->lo * list[k] : k == count ? to->lo : to->hi;
                int fits = cut_fits(ct, size, cut);
                if (fits < 0)
                    return false;
                if (fits == 0 && add)
                    cut_add(atoms, ct, cut);
            }
        }
    }
    return true;
}

/* The first slice or pad at multiples of its size that a class is in. */
static uint32_t *first_pieces(struct atoms *atoms, size_t dims)
{
    uint32_t *first = mem_alloc((dims + 1) * sizeof *first);
    memset(first, 0xff, (dims + 1) * sizeof *first);
    for (size_t k = atoms->flows.count; k-- > 0;)
        for (uint32_t i = 0; i < atoms->flows.at[k].count && atoms->flows.at[k].piece; i++)
            first[set_find(atoms->parent, atoms->parts.at[atoms->flows.at[k].first + i].dim)] = (uint32_t)k;
    return first;
}

/* Windowed dimensions cannot be sharded, so a flattened dimension is not cut at them: the height and width
 * of an image flattened for attention stay one atom, with one conflict where two would be. A concatenate
 * of different things (skip connections, rotary halves, nodes with edges) would tie them through the
 * slices of its gradient: no piece is tied there. It is the gradient of a fused projection when the slices
 * come first. */
static void leave_out(struct atoms *atoms)
{
    size_t dims = atoms->dim_base[atoms->n->program->value_count];
    uint8_t *mark = mem_zalloc(dims + 1, 1);
    uint32_t *piece = first_pieces(atoms, dims);
    atoms->flow_off = mem_zalloc(atoms->flows.count + 1, 1);
    for (size_t i = 0; i < atoms->windowed.count; i++)
        mark[set_find(atoms->parent, atoms->windowed.at[i])] |= 1;
    for (size_t i = 0; i < atoms->joined.count; i++) {
        const struct join *j = &atoms->joined.at[i];
        if (j->flow != NDA_NONE && piece[set_find(atoms->parent, j->result)] < j->flow)
            continue;
        mark[set_find(atoms->parent, j->dim)] |= 2;
        if (j->flow != NDA_NONE)
            atoms->off[atoms->flows.at[j->flow].link] = 1;
    }
    for (size_t k = 0; k < atoms->flows.count; k++)
        for (uint32_t i = 0; i < atoms->flows.at[k].count; i++) {
            uint8_t m = mark[set_find(atoms->parent, atoms->parts.at[atoms->flows.at[k].first + i].dim)];
            atoms->flow_off[k] |= m & 1;
            atoms->off[atoms->flows.at[k].link] |= m & 2 && atoms->flows.at[k].piece;
        }
    free(mark);
    free(piece);
}

static void refine(struct atoms *atoms)
{
    bool backward = false;
    leave_out(atoms);
    do {
        atoms->changed = false;
        for (size_t k = 0; k < atoms->flows.count; k++) {
            const struct flow *flow = &atoms->flows.at[backward ? atoms->flows.count - 1 - k : k];
            if (atoms->off[flow->link] || atoms->flow_off[flow - atoms->flows.at])
                continue;
            if (!flow_apply(atoms, flow, false) || !flow_apply(atoms, flow, true)) {
                atoms->off[flow->link] = 1;
                atoms->changed = true;
            }
        }
        backward = !backward;
    } while (atoms->changed);
    for (size_t k = 0; k < atoms->flows.count; k++)
        atoms->flow_off[k] |= atoms->off[atoms->flows.at[k].link];
}

static void write_atoms(struct atoms *atoms)
{
    struct nda *n = atoms->n;
    const struct ir_program *program = n->program;
    size_t total = 0;
    n->value_atoms = arena_alloc(n->arena, sizeof *n->value_atoms * ((size_t)program->value_count + 1));
    for (uint32_t value = 0; value < program->value_count; value++)
        for (uint32_t d = 0; d < value_rank(program, value); d++)
            if (atoms->size[atoms->dim_base[value] + d] > 1)
                total += 1u + atoms->cuts[set_find(atoms->parent, atoms->dim_base[value] + d)].count;
    n->atoms = arena_alloc(n->arena, sizeof *n->atoms * (total + 1));
    total = 0;
    for (uint32_t value = 0; value < program->value_count; value++) {
        n->value_atoms[value] = (uint32_t)total;
        for (uint32_t d = 0; d < value_rank(program, value); d++) {
            int64_t outer = atoms->size[atoms->dim_base[value] + d];
            const struct cuts *cuts = &atoms->cuts[set_find(atoms->parent, atoms->dim_base[value] + d)];
            if (outer < 2)
                continue;
            for (uint32_t k = 0; k <= cuts->count; k++) {
                int64_t inner = k < cuts->count ? cuts->at[cuts->count - 1 - k] : 1;
                n->atoms[total++] = (struct nda_atom){outer / inner, (uint8_t)d, (uint8_t)k};
                outer = inner;
            }
        }
    }
    n->value_atoms[program->value_count] = (uint32_t)total;
}

uint8_t *stage_atoms(struct nda *n)
{
    struct atoms atoms = {.n = n, .scratch = arena_create()};
    number_dims(&atoms);
    collect(&atoms);
    refine(&atoms);
    write_atoms(&atoms);
    free(atoms.dim_base);
    free(atoms.parent);
    free(atoms.size);
    free(atoms.cuts);
    VEC_FREE(&atoms.parts);
    VEC_FREE(&atoms.flows);
    VEC_FREE(&atoms.windowed);
    VEC_FREE(&atoms.joined);
    free(atoms.off);
    arena_destroy(atoms.scratch);
    return atoms.flow_off;
}

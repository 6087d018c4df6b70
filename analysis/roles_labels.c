/* Roles, step 9: a label for every group, unique within the module: what plans, reports and people call it.
 *
 * The label is the group's role; without one "embed" for the color on most parameters, "sequence" for what
 * tokens are looked up along (a model without attention has it, too), for a cache's positions, which a step
 * attends to and writes at or sums over (one token's step has no other sequence), and for positions of keys,
 * "heads" for what is gone through one by one, "embed_2" for rows of another table; then the field's term for
 * what it does (roles_terms.c), and what it is a part of, or made of parts of; else its size ("dim256", of
 * groups of several "dim8to96"). Equal ones are numbered in group order ("ffn", "ffn_2"). The same module
 * always gets the same labels. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

static bool label_taken(const struct nda *n, uint32_t self, const char *label)
{
    for (uint32_t group = 0; group < n->group_count; group++)
        if (group != self && n->groups[group].label && strcmp(n->groups[group].label, label) == 0)
            return true;
    return false;
}

static bool is_kept(const struct facts *facts)
{
    return facts->cached && facts->attention && (facts->written || facts->contracted) && !facts->produced;
}

/* What attention sums over and no parameter has: keys' positions, of another length than the queries'. */
static bool is_attended(const struct facts *facts)
{
    return facts->attention && facts->weighed && facts->contracted && !facts->produced &&
           !facts->parameter_dims;
}

static const char *size_label(const struct nda *n, const struct nda_group *group)
{
    return group->bundled && group->least_size < group->most_size
               ? arena_printf(n->arena, "dim%lldto%lld", (long long)group->least_size,
                              (long long)group->most_size)
               : arena_printf(n->arena, "dim%lld", (long long)group->size);
}

/* what the group is called before equal labels are numbered; NULL: nothing tells */
static const char *base_of(const struct roles *roles, uint32_t g, uint32_t embed, const char *const *terms)
{
    const struct nda *n = roles->n;
    const struct nda_group *group = &n->groups[g];
    bool heads = false, positions = false, one_by_one = false, found = false, inner = false;
    const char *term = NULL;
    for (uint32_t i = 0; i < group->color_count; i++) {
        uint32_t color = n->group_colors[group->colors + i];
        const struct facts *facts = &roles->facts[color];
        heads |= facts->attention;
        positions |= !facts->parameter_dims && ((facts->looked_up && facts->results) || is_kept(facts));
        positions |= is_attended(facts) || (facts->looked_up && facts->attention && !facts->lookup);
        one_by_one |= facts->beside && facts->parameter_dims;
        found |= facts->found;
        term = term ? term : terms[color];
    }
    inner = term && (strcmp(term, "head_dim") == 0 || strcmp(term, "top_k") == 0);
    return group->roles & NDA_COLOR_BATCH                     ? "batch"
           : group->roles & NDA_COLOR_SEQUENCE                ? "sequence"
           : group->roles & NDA_COLOR_EDGE                    ? (inner            ? term
                                                                 : roles->mixture ? "assignments"
                                                                                  : "edges")
           : group->roles & NDA_COLOR_EXPERT                  ? "experts"
           : group->roles & NDA_COLOR_VOCABULARY              ? "vocab"
           : group->roles & NDA_COLOR_MODEL                   ? (inner   ? term
                                                                 : heads ? "heads"
                                                                         : "ffn")
           : embed != NDA_NONE && n->colors[embed].group == g ? "embed"
           : positions                                        ? "sequence"
           : one_by_one                                       ? "heads"
           : found && embed != NDA_NONE && (!inner)           ? "embed"
                                                              : term;
}

/* The outermost atom of a dimension of what stands in a slot. */
static uint32_t outermost(const struct nda *n, uint32_t slot, uint32_t dim)
{
    const struct nda_atom *atoms = nda_atoms(n, n->slots[slot].value);
    uint32_t k = 0;
    while (atoms[k].dim != dim || atoms[k].level)
        k++;
    return k;
}

/* of an atom; NDA_NONE: it has none */
static uint32_t group_at(const struct nda *n, uint32_t slot, uint32_t atom)
{
    uint32_t color = nda_slot_color(n, slot, atom);
    return color == NDA_NONE ? (uint32_t)NDA_NONE : n->colors[color].group;
}

/* Are the dimensions alike inside of their outermost atoms? */
static bool alike_inside(const struct nda *n, uint32_t slot, uint32_t other, uint32_t dim)
{
    uint32_t k = outermost(n, slot, dim) + 1, i = outermost(n, other, dim) + 1;
    uint32_t end = nda_atom_count(n, n->slots[slot].value), last = nda_atom_count(n, n->slots[other].value);
    const struct nda_atom *atoms = nda_atoms(n, n->slots[slot].value),
                          *others = nda_atoms(n, n->slots[other].value);
    for (; k < end && i < last && atoms[k].dim == dim && others[i].dim == dim; k++, i++)
        if (group_at(n, slot, k) != group_at(n, other, i))
            return false;
    return (k == end || atoms[k].dim != dim) && (i == last || others[i].dim != dim);
}

static int64_t size_of(const struct nda *n, uint32_t slot, uint32_t dim)
{
    return n->program->ints[ir_value_type(n->program, n->slots[slot].value)->ints + dim];
}

/* a product with a parameter makes it */
static bool is_made(const struct roles *roles, uint32_t g)
{
    const struct nda *n = roles->n;
    for (uint32_t i = 0; i < n->groups[g].color_count; i++)
        if (roles->facts[n->group_colors[n->groups[g].colors + i]].produced)
            return true;
    return false;
}

/* the dimension of the one slot is cut of that of the other, or joined into it */
static void name_part(const struct roles *roles, uint32_t slot, uint32_t other, uint32_t dim,
                      const char **bases)
{
    static const char *const named[] = {"heads", "head_dim", "ffn", "hidden", "sequence", "spatial"};
    const struct nda *n = roles->n;
    if (size_of(n, slot, dim) == size_of(n, other, dim) || size_of(n, slot, dim) < 2 ||
        size_of(n, other, dim) < 2)
        return;
    uint32_t from = group_at(n, slot, outermost(n, slot, dim)),
             to = group_at(n, other, outermost(n, other, dim));
    if (from == NDA_NONE || to == NDA_NONE || !bases[from] == !bases[to] ||
        !alike_inside(n, slot, other, dim))
        return;
    const char *base = bases[from] ? bases[from] : bases[to];
    if (strcmp(base, "features") == 0 && is_made(roles, bases[from] ? to : from))
        base = bases[from] = bases[to] = "hidden"; /* a gate and what it gates, made by one product */
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(base, named[i]) == 0)
            bases[bases[from] ? to : from] = base;
}

/* Parts that an op of the forward pass cuts a dimension into, or joins, are called as the whole is, and the
 * whole as its parts: heads of queries, keys and values, positions behind a class token. */
static void name_parts(const struct roles *roles, const char **bases)
{
    const struct nda *n = roles->n;
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        uint32_t code = n->program->ops[sp->op].code, result = sp->slots + sp->slot_count - 1;
        if (sp->kind != NDA_SPACE_OP || (code != IR_SLICE && code != IR_CONCATENATE) ||
            !roles->forward[n->slots[result].value])
            continue;
        uint32_t rank = ir_value_type(n->program, n->slots[result].value)->rank;
        for (uint32_t slot = sp->slots; slot < result; slot++)
            for (uint32_t dim = 0; dim < rank; dim++)
                name_part(roles, slot, result, dim, bases);
    }
}

/* What stands outside of positions in one dimension, and has no name: blocks (or windows) of them. */
static void name_blocks(const struct nda *n, const char **bases)
{
    for (uint32_t slot = 0; slot < n->slot_count; slot++) {
        const struct nda_atom *atoms = nda_atoms(n, n->slots[slot].value);
        for (uint32_t k = 1; k < nda_atom_count(n, n->slots[slot].value); k++) {
            uint32_t outer = group_at(n, slot, k - 1), inner = group_at(n, slot, k);
            if (outer != NDA_NONE && inner != NDA_NONE && atoms[k - 1].dim == atoms[k].dim && !bases[outer] &&
                bases[inner] && strcmp(bases[inner], "sequence") == 0)
                bases[outer] = "blocks";
        }
    }
}

/* the label of a group that is called base, by how many others are */
static const char *numbered(const struct nda *n, const char *const *bases, uint32_t self, const char *base)
{
    uint32_t number = 1;
    for (uint32_t other = 0; bases[self] && other < n->group_count; other++)
        number += n->groups[other].label && bases[other] && strcmp(bases[other], base) == 0;
    const char *label = base;
    for (; number > 1 || label_taken(n, self, label); number++) {
        number += number == 1;
        label = arena_printf(n->arena, "%s_%u", base, number);
        if (!label_taken(n, self, label))
            break;
    }
    return label;
}

void roles_label_groups(struct roles *roles)
{
    struct nda *n = roles->n;
    const char **terms = roles_terms(roles), **bases = mem_zalloc((size_t)n->group_count + 1, sizeof *bases);
    uint32_t embed = NDA_NONE;
    for (uint32_t color = 0; color < n->color_count; color++)
        if (!n->colors[color].roles && roles->facts[color].parameter_dims &&
            (embed == NDA_NONE || roles->facts[color].parameter_dims > roles->facts[embed].parameter_dims))
            embed = color;
    for (uint32_t g = 0; g < n->group_count; g++) {
        n->groups[g].label = NULL;
        bases[g] = base_of(roles, g, embed, terms);
    }
    for (int hops = 0; hops < 2; hops++) /* of what is cut again */
        name_parts(roles, bases);
    name_blocks(n, bases);
    for (int others = 0; others < 2; others++) /* what has a role has the first number */
        for (uint32_t g = 0; g < n->group_count; g++) {
            struct nda_group *group = &n->groups[g];
            bool first = group->roles || (embed != NDA_NONE && n->colors[embed].group == g);
            if (first == others)
                continue;
            const char *base = bases[g] ? bases[g] : size_label(n, group);
            group->label = numbered(n, bases, g, base);
        }
    free(bases);
    free(terms);
}

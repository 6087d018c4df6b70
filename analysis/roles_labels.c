/* Roles, step 8: a label for every group, unique within the module: what plans, reports and people call it.
 *
 * The label is the group's role; without one "embed" for the color on most parameters, "sequence" for what
 * tokens are looked up along (a model without attention has it, too), for a cache's positions, which a step
 * attends to and writes at or sums over (one token's step has no other sequence), and for positions of keys
 * that queries of another length attend to, "heads" for what is gone through one by one, "embed_2" for rows
 * of another table; else its size ("dim256", of groups of several "dim8to96"). Equal ones are numbered in
 * group order ("ffn", "ffn_2"). The same module always gets the same labels. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

static bool label_taken(const struct nda *n, uint32_t count, const char *label)
{
    for (uint32_t group = 0; group < count; group++)
        if (strcmp(n->groups[group].label, label) == 0)
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
    return facts->attention && facts->weighed && facts->contracted && facts->given && !facts->produced &&
           !facts->parameter_dims;
}

static const char *size_label(const struct nda *n, const struct nda_group *group)
{
    return group->bundled && group->least_size < group->most_size
               ? arena_printf(n->arena, "dim%lldto%lld", (long long)group->least_size,
                              (long long)group->most_size)
               : arena_printf(n->arena, "dim%lld", (long long)group->size);
}

void roles_label_groups(struct roles *roles)
{
    struct nda *n = roles->n;
    uint32_t embed = NDA_NONE, *used = mem_zalloc((size_t)n->group_count + 1, sizeof *used);
    for (uint32_t color = 0; color < n->color_count; color++)
        if (!n->colors[color].roles && roles->facts[color].parameter_dims &&
            (embed == NDA_NONE || roles->facts[color].parameter_dims > roles->facts[embed].parameter_dims))
            embed = color;
    for (uint32_t g = 0; g < n->group_count; g++) {
        struct nda_group *group = &n->groups[g];
        bool heads = false, positions = false, one_by_one = false, found = false;
        const char *base;
        for (uint32_t i = 0; i < group->color_count; i++) {
            const struct facts *facts = &roles->facts[n->group_colors[group->colors + i]];
            heads |= facts->attention;
            positions |= !facts->parameter_dims && ((facts->looked_up && facts->results) || is_kept(facts));
            positions |= is_attended(facts);
            one_by_one |= facts->beside && facts->parameter_dims;
            found |= facts->found;
        }
        base = group->roles & NDA_COLOR_BATCH                     ? "batch"
               : group->roles & NDA_COLOR_SEQUENCE                ? "sequence"
               : group->roles & NDA_COLOR_EDGE                    ? "edges"
               : group->roles & NDA_COLOR_EXPERT                  ? "experts"
               : group->roles & NDA_COLOR_VOCABULARY              ? "vocab"
               : group->roles & NDA_COLOR_MODEL                   ? (heads ? "heads" : "ffn")
               : embed != NDA_NONE && n->colors[embed].group == g ? "embed"
               : positions                                        ? "sequence"
               : one_by_one                                       ? "heads"
               : found && embed != NDA_NONE                       ? "embed"
                                                                  : size_label(n, group);
        group->label = base;
        bool other = strcmp(base, "embed") == 0 && n->colors[embed].group != g; /* that one is "embed" */
        for (uint32_t k = 2; other || label_taken(n, g, group->label); k++, other = false)
            group->label = arena_printf(n->arena, "%s_%u", base, k);
    }
    free(used);
}

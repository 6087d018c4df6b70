/* Who has the axes that a dimension does not get; see taken.h. */
#include "report/taken.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

#define LEAST_SHARE 0.005 /* of places: less is not told */

static uint32_t factor_group(const struct nda *n, uint32_t space, uint32_t factor)
{
    return n->colors[n->factors[n->spaces[space].factors + factor].color].group;
}

/* of what an operand or result has alone (what slides, what is cut or joined): its elements in this one */
static double alone_size(const struct nda *n, uint32_t slot)
{
    double size = 1;
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[slot].value); k++) {
        uint32_t factor = nda_slot_factor(n, slot, k);
        if (factor != NDA_NONE && n->factors[factor].kind >= NDA_WINDOWED)
            size *= (double)n->factors[factor].size;
    }
    return size;
}

/* Points that the space goes over. What operands have alone is no loop around what results have alone: an
 * image that a convolution makes smaller is gone over once, not once for each point of the smaller one. */
static double space_size(const struct nda *n, uint32_t space)
{
    const struct nda_space *sp = &n->spaces[space];
    double size = 1, alone = 1;
    for (uint32_t k = 0; k < sp->factor_count; k++)
        size *=
            n->factors[sp->factors + k].kind < NDA_WINDOWED ? (double)n->factors[sp->factors + k].size : 1;
    for (uint32_t slot = sp->slots; slot < sp->slots + sp->slot_count; slot++) {
        double here = alone_size(n, slot);
        alone = here > alone ? here : alone;
    }
    return size * alone;
}

/* the group that an axis splits in a space; NDA_NONE: none */
static uint32_t on_axis(const struct nda *n, const struct plan *plan, uint32_t space, uint32_t axis)
{
    uint8_t factor = plan_space(plan, space)[axis].factor;
    return factor == NDA_NO_FACTOR ? (uint32_t)NDA_NONE : factor_group(n, space, factor);
}

static bool has_group(const struct nda *n, uint32_t space, uint32_t group)
{
    for (uint32_t k = 0; k < n->spaces[space].factor_count; k++)
        if (factor_group(n, space, k) == group)
            return true;
    return false;
}

static bool splits(const struct nda *n, const struct mesh *mesh, const struct plan *plan, uint32_t space,
                   uint32_t group)
{
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (mesh->axes[axis].size > 1 && on_axis(n, plan, space, axis) == group)
            return true;
    return false;
}

static bool leaves_whole(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                         uint32_t space, uint32_t group)
{
    return has_group(n, space, group) && !splits(n, mesh, plan, space, group);
}

struct report_reach report_reach(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                                 const struct plan *trial, uint32_t group)
{
    double whole[2] = {0, 0}, reached[2] = {0, 0};
    for (uint32_t space = 0; space < n->space_count; space++) {
        int op = n->spaces[space].kind == NDA_SPACE_OP;
        if (!leaves_whole(n, mesh, plan, space, group))
            continue;
        whole[op] += space_size(n, space);
        reached[op] += splits(n, mesh, trial, space, group) ? space_size(n, space) : 0;
    }
    return (struct report_reach){.ops = whole[1] > 0 ? reached[1] / whole[1] : 0,
                                 .stored = whole[0] > 0 ? reached[0] / whole[0] : 0};
}

static uint32_t largest(const double *weights, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (weights[i] > weights[best])
            best = i;
    return best;
}

/* by_group: of what leaves the group whole, how much has the axis for each group. Returns how much all is. */
static double weigh_axis(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                         uint32_t group, uint32_t axis, double *by_group)
{
    double all = 0;
    for (uint32_t i = 0; i < n->group_count; i++)
        by_group[i] = 0;
    for (uint32_t space = 0; space < n->space_count; space++) {
        if (!leaves_whole(n, mesh, plan, space, group))
            continue;
        uint32_t other = on_axis(n, plan, space, axis);
        all += space_size(n, space);
        if (other != NDA_NONE)
            by_group[other] += space_size(n, space);
    }
    return all;
}

struct taker {
    uint32_t group; /* NDA_NONE: nothing has the axis, or hardly */
    int percent;
};

static struct taker find_taker(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                               uint32_t group, uint32_t axis, double *by_group)
{
    double all = mesh->axes[axis].size < 2 ? 0 : weigh_axis(n, mesh, plan, group, axis, by_group);
    uint32_t most = all > 0 ? largest(by_group, n->group_count) : 0;
    if (all <= 0 || by_group[most] < LEAST_SHARE * all)
        return (struct taker){.group = NDA_NONE};
    return (struct taker){.group = most, .percent = (int)(100 * by_group[most] / all + 0.5)};
}

uint32_t report_taken_by(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                         uint32_t group, char *out, size_t room)
{
    uint32_t free_axes = 0;
    double *by_group = mem_zalloc(n->group_count + 1, sizeof *by_group);
    struct text text = {0};
    struct taker before = {.group = NDA_NONE};
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++) {
        struct taker taker = find_taker(n, mesh, plan, group, axis, by_group);
        if (taker.group == NDA_NONE) {
            free_axes |= mesh->axes[axis].size > 1 ? 1u << axis : 0;
            continue;
        }
        if (taker.group == before.group)
            text_printf(&text, " and %s", mesh->axes[axis].name);
        else
            text_printf(&text, "%s%.40s has %s", text.size ? ", " : "", n->groups[taker.group].label,
                        mesh->axes[axis].name);
        if (taker.percent < 100)
            text_printf(&text, " (in %d %% of it)", taker.percent);
        before = taker;
    }
    snprintf(out, room, "%s", text.size ? text.at : "");
    text_release(&text);
    free(by_group);
    return free_axes;
}

void report_displaced(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                      const struct plan *trial, uint32_t axis, char *out, size_t room)
{
    double *had = mem_zalloc(n->group_count + 1, sizeof *had),
           *lost = mem_zalloc(n->group_count + 1, sizeof *lost);
    for (uint32_t space = 0; space < n->space_count; space++) {
        uint32_t group = on_axis(n, plan, space, axis);
        if (group == NDA_NONE)
            continue;
        had[group] += space_size(n, space);
        lost[group] += on_axis(n, trial, space, axis) != group ? space_size(n, space) : 0;
    }
    uint32_t most = largest(lost, n->group_count);
    double kept = had[most] > 0 ? 1 - lost[most] / had[most] : 1;
    out[0] = 0;
    if (n->group_count && kept < LEAST_SHARE)
        snprintf(out, room, "%.40s loses %s", n->groups[most].label, mesh->axes[axis].name);
    else if (n->group_count && kept < 1 - LEAST_SHARE)
        snprintf(out, room, "%.40s keeps %s in %.0f %% of its places", n->groups[most].label,
                 mesh->axes[axis].name, 100 * kept);
    free(had);
    free(lost);
}

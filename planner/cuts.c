/* Cuts asked of a plan; see cuts.h. */
#include "planner/cuts.h"

#include <stdio.h>
#include <string.h>

struct edit {
    const struct planner_cut *cuts;
    uint32_t cut_count;
    const struct plan_context *context;
    const struct nda *n;
    const struct search_plan *before;
    struct search_plan *after;
    struct plan *plan;
};

static bool is_cut(const struct edit *edit, uint32_t group)
{
    for (uint32_t i = 0; i < edit->cut_count; i++)
        if (strcmp(edit->cuts[i].group, edit->n->groups[group].label) == 0)
            return true;
    return false;
}

static enum error_code keep(struct edit *edit, struct plan_decision decision, struct error *e)
{
    if (edit->after->count == SEARCH_MAX_LIST)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/cut", "a plan has at most %d decisions",
                                 SEARCH_MAX_LIST);
    edit->after->decisions[edit->after->count++] = decision;
    return ERROR_OK;
}

/* the side of its conflicts that the plan has chosen for the group; both are tried where it says none */
static bool own_bits(const struct edit *edit, uint32_t group, uint32_t *bits)
{
    for (uint32_t i = 0; i < edit->before->count; i++)
        if (edit->before->decisions[i].group == group && edit->before->decisions[i].scope == PLAN_SCOPE_ALL) {
            *bits = edit->before->decisions[i].bits;
            return true;
        }
    return false;
}

static enum error_code cut_axis(struct edit *edit, const struct planner_cut *cut, uint32_t group,
                                uint32_t number, struct error *e)
{
    char pointer[sizeof e->pointer];
    int axis = mesh_axis_find(plan_context_mesh(edit->context), cut->axes[number]);
    snprintf(pointer, sizeof pointer, "/cut/%.100s/%u", cut->group, number);
    if (axis < 0)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, pointer, "the mesh has no axis '%.64s'",
                                 cut->axes[number]);
    struct plan_decision decision = {.group = group, .axis = (uint8_t)axis, .scope = PLAN_SCOPE_ALL};
    bool chosen = own_bits(edit, group, &decision.bits);
    uint32_t changed = plan_apply(edit->context, edit->plan, decision);
    if (!changed && !chosen && edit->n->groups[group].bits) {
        decision.bits = (uint32_t)((UINT64_C(1) << edit->n->groups[group].bits) - 1);
        changed = plan_apply(edit->context, edit->plan, decision);
    }
    if (!changed)
        return error_set_pointer(
            e, ERROR_INVALID_REQUEST, pointer,
            "'%.80s' (%lld) cannot be cut over '%s' (%lld): the size does not divide, or a pin or an earlier "
            "cut has the axis",
            cut->group, (long long)edit->n->groups[group].size, cut->axes[number],
            (long long)plan_context_mesh(edit->context)->axes[axis].size);
    return keep(edit, decision, e);
}

static enum error_code cut_group(struct edit *edit, const struct planner_cut *cut, struct error *e)
{
    char pointer[sizeof e->pointer];
    uint32_t group = 0;
    while (group < edit->n->group_count && strcmp(edit->n->groups[group].label, cut->group) != 0)
        group++;
    snprintf(pointer, sizeof pointer, "/cut/%.100s", cut->group);
    if (group == edit->n->group_count)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, pointer,
                                 "the module has no dimension named '%.80s'; the arguments in plan.json name "
                                 "theirs under groups, toast analyze lists all",
                                 cut->group);
    for (uint32_t i = 0; i < cut->axis_count; i++)
        TRY(cut_axis(edit, cut, group, i, e));
    return ERROR_OK;
}

static uint32_t factor_group(const struct nda *n, const struct plan_factor *factor)
{
    return n->colors[n->factors[n->spaces[factor->space].factors + factor->factor].color].group;
}

enum error_code planner_cuts_apply(const struct planner_cut *cuts, uint32_t cut_count,
                                   const struct plan_context *context, struct search_plan *decisions,
                                   struct plan_factors *factors, struct plan *plan, struct error *e)
{
    const struct search_plan before = *decisions;
    struct edit edit = {.cuts = cuts,
                        .cut_count = cut_count,
                        .context = context,
                        .n = plan_context_nda(context),
                        .before = &before,
                        .after = decisions,
                        .plan = plan};
    uint32_t kept = 0;
    plan_copy(plan, plan_context_start(context));
    decisions->count = 0;
    for (uint32_t i = 0; i < cut_count; i++)
        TRY(cut_group(&edit, &cuts[i], e));
    for (uint32_t i = 0; i < before.count; i++)
        if (!is_cut(&edit, before.decisions[i].group)) {
            plan_apply(context, plan, before.decisions[i]);
            TRY(keep(&edit, before.decisions[i], e));
        }
    for (uint32_t i = 0; i < factors->count; i++) {
        const struct plan_factor *factor = &factors->at[i];
        if (!is_cut(&edit, factor_group(edit.n, factor)) &&
            plan_apply_factor(context, plan, factor->space, factor->factor, factor->axis))
            factors->at[kept++] = *factor;
    }
    factors->count = kept;
    decisions->factors = factors->at;
    decisions->factor_count = kept;
    decisions->hash = plan->hash;
    return ERROR_OK;
}

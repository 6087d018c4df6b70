/* Decisions: which are offered, and their text ("batch@data", "sequence[1]@model", "update:embed@data").
 *
 * Offered and text depend on module, mesh and pins only; the order is groups, axes, resolutions, and never
 * changes for the same module and mesh: plan files and snapshots hold decisions by it. */
#include "analysis/experts.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANY_BITS = 4, /* up to 2^4 = 16 resolutions of a group are all offered; chosen, not tuned */
    /* a decision must change this many factors to be offered (TOAST (Alabed et al., 2025), section 4.2: 10),
     * or a 20th of all factors where that is less: small modules; chosen, not tuned */
    FEWEST = 10,
    FEWEST_SHARE = 20,
    /* or its group is on arguments of a 100th of all arguments' bytes: an embedding is in few operations, and
     * most of what a device holds; chosen, not tuned */
    LARGE_SHARE = 100
};

/* All resolutions of up to four classes; above that, side 0 everywhere, side 1 everywhere and each class
 * alone at 1. */
static uint32_t resolutions(uint32_t bits)
{
    return bits <= MANY_BITS ? 1u << bits : bits + 2;
}

static uint32_t resolution(uint32_t bits, uint32_t i)
{
    return bits <= MANY_BITS ? i : expert_side(bits, i);
}

/* groups on arguments of a role: of optimizer state what scope `update` is for, of parameters what
 * `regather` is for */
static uint8_t *role_groups(const struct nda *n, enum nda_role role)
{
    uint8_t *state = mem_zalloc((size_t)n->group_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        for (uint32_t factor = 0; factor < sp->factor_count && n->arguments[i].role == role; factor++)
            state[n->colors[n->factors[sp->factors + factor].color].group] = 1;
    }
    return state;
}

void context_regathers(struct plan_context *context)
{
    VEC(struct plan_decision) list = {0};
    uint8_t *parameters = role_groups(context->n, NDA_ROLE_PARAMETER);
    for (uint32_t group = 0; group < context->n->group_count; group++)
        for (uint32_t axis = 0; axis < context->mesh.axis_count && parameters[group]; axis++)
            if (context->mesh.axes[axis].size > 1)
                VEC_PUSH(&list, ((struct plan_decision){group, 0, (uint8_t)axis, PLAN_SCOPE_REGATHER}));
    free(parameters);
    context->regathers = list.at;
    context->regather_count = (uint32_t)list.count;
}

/* tokens[:, :-1] leaves the sequence on no argument; it is worth a decision all the same */
static bool worth_deciding(const struct plan_context *context, uint32_t group)
{
    const struct nda_group *nda_group = &context->n->groups[group];
    return (nda_group->touches_argument || nda_group->roles & (NDA_COLOR_BATCH | NDA_COLOR_SEQUENCE)) &&
           context->group_first[group] != context->group_first[group + 1];
}

/* groups on arguments that take LARGE_SHARE of the bytes of all */
static uint8_t *large_groups(const struct nda *n)
{
    uint8_t *large = mem_zalloc((size_t)n->group_count + 1, 1);
    uint64_t *bytes = mem_zalloc((size_t)n->group_count + 1, sizeof *bytes), all = 0;
    uint32_t *last = mem_zalloc((size_t)n->group_count + 1, sizeof *last); /* argument counted, plus 1 */
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        uint64_t size = ir_type_bytes(n->program, ir_value_type(n->program, n->arguments[i].value));
        all += size;
        for (uint32_t factor = 0; factor < sp->factor_count; factor++) {
            uint32_t group = n->colors[n->factors[sp->factors + factor].color].group;
            bytes[group] += last[group] == i + 1 ? 0 : size;
            last[group] = i + 1;
        }
    }
    for (uint32_t group = 0; group < n->group_count; group++)
        large[group] = bytes[group] > 0 && bytes[group] >= all / LARGE_SHARE;
    free(bytes);
    free(last);
    return large;
}

bool plan_context_stacks(const struct plan_context *context, uint32_t group)
{
    uint32_t stacked = 0, first = context->group_first[group], end = context->group_first[group + 1];
    for (uint32_t k = first; k < end; k++)
        stacked += context->candidates[k].stacked;
    return stacked > 0 && stacked < end - first;
}

/* of the i-th decision of a group on an axis */
static enum plan_scope offered_scope(uint32_t i, uint32_t sides, bool state)
{
    return i < sides ? PLAN_SCOPE_ALL : i < sides + state ? PLAN_SCOPE_UPDATE : PLAN_SCOPE_STACKED;
}

/* Every group, axis and resolution, once in scope update where the group is on optimizer state, and once in
 * scope stacked where that is a part of it: offered or counted as pruned. */
void context_decisions(struct plan_context *context)
{
    const struct nda *n = context->n;
    uint32_t least = n->factor_count / FEWEST_SHARE < FEWEST ? n->factor_count / FEWEST_SHARE : FEWEST;
    VEC(struct plan_decision) offered = {0};
    uint8_t *state = role_groups(n, NDA_ROLE_OPTIMIZER), *large = large_groups(n);
    struct plan alone;
    plan_init(&alone, n, &context->mesh);
    for (uint32_t group = 0; group < n->group_count; group++) {
        uint32_t sides = resolutions(n->groups[group].bits);
        bool worth = worth_deciding(context, group), stacks = plan_context_stacks(context, group);
        for (uint32_t axis = 0; axis < context->mesh.axis_count; axis++) {
            if (context->mesh.axes[axis].size == 1)
                continue;
            /* nothing in an update is in a conflict worth a choice */
            for (uint32_t i = 0; i < sides + state[group] + stacks; i++) {
                struct plan_decision decision = {group, i < sides ? resolution(n->groups[group].bits, i) : 0,
                                                 (uint8_t)axis,
                                                 (uint8_t)offered_scope(i, sides, state[group])};
                uint32_t changed = 0;
                if (worth) {
                    plan_copy(&alone, &context->start);
                    changed = plan_apply(context, &alone, decision);
                }
                if (changed > 0 && (changed >= least || large[group]))
                    VEC_PUSH(&offered, decision);
                else
                    context->pruned_count++;
            }
        }
    }
    plan_release(&alone);
    free(state);
    free(large);
    context->decisions = offered.at;
    context->decision_count = (uint32_t)offered.count;
}

static const char *const scopes[PLAN_SCOPES] = {[PLAN_SCOPE_ALL] = "all",
                                                [PLAN_SCOPE_UPDATE] = "update",
                                                [PLAN_SCOPE_REGATHER] = "regather",
                                                [PLAN_SCOPE_WHOLE] = "whole",
                                                [PLAN_SCOPE_STACKED] = "stacked"};

static bool has_sides(uint8_t scope)
{
    return scope != PLAN_SCOPE_REGATHER && scope != PLAN_SCOPE_WHOLE;
}

const char *plan_scope_name(uint8_t scope)
{
    return scopes[scope];
}

void plan_decision_text(const struct plan_context *context, struct plan_decision decision, struct text *out)
{
    const struct nda_group *group = &context->n->groups[decision.group];
    if (decision.scope != PLAN_SCOPE_ALL)
        text_printf(out, "%s:", scopes[decision.scope]);
    text_add(out, group->label);
    if (group->bits && has_sides(decision.scope)) {
        text_add_char(out, '[');
        for (uint32_t i = 0; i < group->bits; i++)
            text_add_char(out, i < 32 && decision.bits >> i & 1 ? '1' : '0');
        text_add_char(out, ']');
    }
    text_printf(out, "@%s", context->mesh.axes[decision.axis].name);
}

enum error_code plan_decision_find(const struct plan_context *context, const char *group, const char *axis,
                                   const char *bits, const char *scope, struct plan_decision *out,
                                   struct error *e)
{
    struct plan_decision decision = {0};
    int a = mesh_axis_find(&context->mesh, axis);
    size_t given = bits ? strlen(bits) : 0;
    if (a < 0)
        return error_set(e, ERROR_INVALID_PLAN, "the mesh has no axis '%.64s'", axis);
    while (decision.group < context->n->group_count &&
           strcmp(context->n->groups[decision.group].label, group) != 0)
        decision.group++;
    if (decision.group == context->n->group_count)
        return error_set(e, ERROR_INVALID_PLAN,
                         "the module has no group of dimensions named '%.80s'; toast analyze "
                         "lists them",
                         group);
    if (given != 0 && given != context->n->groups[decision.group].bits)
        return error_set(e, ERROR_INVALID_PLAN, "group '%.80s' takes %u resolution bits, not %zu", group,
                         context->n->groups[decision.group].bits, given);
    for (size_t i = 0; i < given; i++) {
        if (bits[i] != '0' && bits[i] != '1')
            return error_set(e, ERROR_INVALID_PLAN, "resolution bits of group '%.80s' are 0s and 1s", group);
        if (i < 32)
            decision.bits |= (uint32_t)(bits[i] - '0') << i;
    }
    while (scope && decision.scope < PLAN_SCOPES && strcmp(scopes[decision.scope], scope) != 0)
        decision.scope++;
    if (decision.scope == PLAN_SCOPES)
        return error_set(
            e, ERROR_INVALID_PLAN,
            "the scope of a decision is 'all', 'update', 'regather', 'whole' or 'stacked', not '%.40s'",
            scope);
    if (!has_sides(decision.scope))
        decision.bits = 0;
    decision.axis = (uint8_t)a;
    *out = decision;
    return ERROR_OK;
}

/* Decisions: which are offered, and their text ("batch@data", "sequence[1]@model", "update:embed@data").
 *
 * Offered and text depend on module, mesh and pins only; the order is groups, axes, resolutions, and never
 * changes for the same module and mesh: plan files and snapshots hold decisions by it. */
#include "analysis/context.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANY_BITS = 4, /* up to 2^4 = 16 resolutions of a group are all offered; chosen, not tuned */
    /* a decision must change this many factors to be offered (TOAST (Alabed et al., 2025), section 4.2: 10),
     * or a 20th of all factors where that is less: small modules; chosen, not tuned */
    FEWEST = 10,
    FEWEST_SHARE = 20
};

/* All resolutions of up to four classes; above that, side 0 everywhere, side 1 everywhere and each class
 * alone at 1. */
static uint32_t resolutions(uint32_t bits)
{
    return bits <= MANY_BITS ? 1u << bits : bits + 2;
}

static uint32_t resolution(uint32_t bits, uint32_t i)
{
    if (bits <= MANY_BITS)
        return i;
    if (i < 2)
        return i ? bits >= 32 ? UINT32_MAX : (1u << bits) - 1 : 0;
    return 1u << (i - 2);
}

/* groups on arguments of a role: of optimizer state what scope `update` is for, of parameters what
 * `regather` is for */
static uint8_t *role_groups(const struct nda *n, enum nda_role role)
{
    uint8_t *state = mem_zalloc((size_t)n->group_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        for (uint32_t f = 0; f < sp->factor_count && n->arguments[i].role == role; f++)
            state[n->colors[n->factors[sp->factors + f].color].group] = 1;
    }
    return state;
}

void context_regathers(struct plan_context *c)
{
    VEC(struct plan_decision) list = {0};
    uint8_t *parameters = role_groups(c->n, NDA_ROLE_PARAMETER);
    for (uint32_t g = 0; g < c->n->group_count; g++)
        for (uint32_t axis = 0; axis < c->mesh.axis_count && parameters[g]; axis++)
            if (c->mesh.axes[axis].size > 1)
                VEC_PUSH(&list, ((struct plan_decision){g, 0, (uint8_t)axis, PLAN_SCOPE_REGATHER}));
    free(parameters);
    c->regathers = list.at;
    c->regather_count = (uint32_t)list.count;
}

/* tokens[:, :-1] leaves the sequence on no argument; it is worth a decision all the same */
static bool worth_deciding(const struct plan_context *c, uint32_t group)
{
    const struct nda_group *g = &c->n->groups[group];
    return (g->touches_argument || g->roles & (NDA_COLOR_BATCH | NDA_COLOR_SEQUENCE)) &&
           c->group_first[group] != c->group_first[group + 1];
}

/* Every group, axis and resolution, and once in scope update where the group is on optimizer state:
 * offered or counted as pruned. */
void context_decisions(struct plan_context *c)
{
    const struct nda *n = c->n;
    uint32_t least = n->factor_count / FEWEST_SHARE < FEWEST ? n->factor_count / FEWEST_SHARE : FEWEST;
    VEC(struct plan_decision) offered = {0};
    uint8_t *state = role_groups(n, NDA_ROLE_OPTIMIZER);
    struct plan alone;
    plan_init(&alone, n, &c->mesh);
    for (uint32_t g = 0; g < n->group_count; g++) {
        uint32_t sides = resolutions(n->groups[g].bits);
        bool worth = worth_deciding(c, g);
        for (uint32_t axis = 0; axis < c->mesh.axis_count; axis++) {
            if (c->mesh.axes[axis].size == 1)
                continue;
            /* nothing in an update is in a conflict worth a choice */
            for (uint32_t i = 0; i < sides + state[g]; i++) {
                struct plan_decision d = {g, i < sides ? resolution(n->groups[g].bits, i) : 0, (uint8_t)axis,
                                          i < sides ? PLAN_SCOPE_ALL : PLAN_SCOPE_UPDATE};
                uint32_t changed = 0;
                if (worth) {
                    plan_copy(&alone, &c->start);
                    changed = plan_apply(c, &alone, d);
                }
                if (changed > 0 && changed >= least)
                    VEC_PUSH(&offered, d);
                else
                    c->pruned_count++;
            }
        }
    }
    plan_release(&alone);
    free(state);
    c->decisions = offered.at;
    c->decision_count = (uint32_t)offered.count;
}

static const char *const scopes[] = {
    [PLAN_SCOPE_ALL] = "all", [PLAN_SCOPE_UPDATE] = "update", [PLAN_SCOPE_REGATHER] = "regather"};

const char *plan_scope_name(uint8_t scope)
{
    return scopes[scope];
}

void plan_decision_text(const struct plan_context *c, struct plan_decision d, struct text *out)
{
    const struct nda_group *g = &c->n->groups[d.group];
    if (d.scope != PLAN_SCOPE_ALL)
        text_printf(out, "%s:", scopes[d.scope]);
    text_add(out, g->label);
    if (g->bits && d.scope != PLAN_SCOPE_REGATHER) {
        text_add_char(out, '[');
        for (uint32_t i = 0; i < g->bits; i++)
            text_add_char(out, i < 32 && d.bits >> i & 1 ? '1' : '0');
        text_add_char(out, ']');
    }
    text_printf(out, "@%s", c->mesh.axes[d.axis].name);
}

enum error_code plan_decision_find(const struct plan_context *c, const char *group, const char *axis,
                                   const char *bits, const char *scope, struct plan_decision *out,
                                   struct error *e)
{
    struct plan_decision d = {0};
    int a = mesh_axis_find(&c->mesh, axis);
    size_t given = bits ? strlen(bits) : 0;
    if (a < 0)
        return error_set(e, ERROR_INVALID_PLAN, "the mesh has no axis '%.64s'", axis);
    while (d.group < c->n->group_count && strcmp(c->n->groups[d.group].label, group) != 0)
        d.group++;
    if (d.group == c->n->group_count)
        return error_set(e, ERROR_INVALID_PLAN,
                         "the module has no group of dimensions named '%.80s'; toast analyze "
                         "lists them",
                         group);
    if (given != 0 && given != c->n->groups[d.group].bits)
        return error_set(e, ERROR_INVALID_PLAN, "group '%.80s' takes %u resolution bits, not %zu", group,
                         c->n->groups[d.group].bits, given);
    for (size_t i = 0; i < given; i++) {
        if (bits[i] != '0' && bits[i] != '1')
            return error_set(e, ERROR_INVALID_PLAN, "resolution bits of group '%.80s' are 0s and 1s", group);
        if (i < 32)
            d.bits |= (uint32_t)(bits[i] - '0') << i;
    }
    while (scope && d.scope <= PLAN_SCOPE_REGATHER && strcmp(scopes[d.scope], scope) != 0)
        d.scope++;
    if (d.scope > PLAN_SCOPE_REGATHER)
        return error_set(e, ERROR_INVALID_PLAN,
                         "the scope of a decision is 'all', 'update' or 'regather', not '%.40s'", scope);
    if (d.scope == PLAN_SCOPE_REGATHER)
        d.bits = 0;
    d.axis = (uint8_t)a;
    *out = d;
    return ERROR_OK;
}

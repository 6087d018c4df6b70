/* Replay of a parsed plan; see plan.h. */
#include "planner/plan.h"

#include "planner/pins.h"

#include <stdlib.h>

void planner_plan_destroy(struct planner_plan *p)
{
    if (p)
        arena_destroy(p->arena);
}

static enum error_code replay_factor(const struct planner_factor *factor, uint32_t number,
                                     const struct plan_context *c, struct plan *out, struct error *e)
{
    const struct nda *n = plan_context_nda(c);
    if (factor->op >= n->space_count || factor->factor >= n->spaces[factor->op].factor_count)
        return error_set(e, ERROR_INVALID_PLAN,
                         "factors/%u: there is no factor %u of space %u in this module", number,
                         factor->factor, factor->op);
    for (uint32_t i = 0; i < factor->axis_count; i++) {
        int axis = mesh_axis_find(plan_context_mesh(c), factor->axes[i]);
        if (axis < 0)
            return error_set(e, ERROR_INVALID_PLAN, "factors/%u: the mesh has no axis '%s'", number,
                             factor->axes[i]);
        if (!plan_apply_factor(c, out, factor->op, factor->factor, (uint32_t)axis))
            return error_set(e, ERROR_INVALID_PLAN,
                             "factors/%u: axis '%s' cannot shard factor %u of space %u (in use, does not "
                             "divide, or not "
                             "shardable)",
                             number, factor->axes[i], factor->factor, factor->op);
    }
    return ERROR_OK;
}

enum error_code planner_plan_replay(const struct planner_plan *p, const struct plan_context *c,
                                    struct plan *out, struct error *e)
{
    plan_copy(out, plan_context_start(c));
    for (uint32_t i = 0; i < p->decision_count; i++) {
        const struct planner_decision *d = &p->decisions[i];
        struct plan_decision decision;
        TRY(plan_decision_find(c, d->group, d->axis, d->bits, d->scope, &decision, e));
        plan_apply(c, out, decision);
    }
    for (uint32_t i = 0; i < p->factor_count; i++)
        TRY(replay_factor(&p->factors[i], i, c, out, e));
    if (p->has_hash && hash128_compare(p->hash, out->hash) != 0) {
        char reached[33];
        hash128_format(out->hash, reached);
        return error_set(e, ERROR_INVALID_PLAN,
                         "replaying this plan gives %s, not the hash it states: it was made for another "
                         "module, mesh or build "
                         "(remove \"hash\" to use it all the same)",
                         reached);
    }
    return ERROR_OK;
}

enum error_code planner_plan_apply(const struct planner_plan *p, const struct nda *n,
                                   struct plan_context **context, struct plan *out, struct error *e)
{
    struct plan_context *c = NULL;
    TRY(planner_context_create(p->constraints, p->constraint_count, p->pins_completed, n, &p->mesh, &c, e));
    plan_init(out, n, &p->mesh);
    enum error_code code = planner_plan_replay(p, c, out, e);
    if (code != ERROR_OK) {
        plan_release(out);
        plan_context_destroy(c);
        return code;
    }
    *context = c;
    return ERROR_OK;
}

enum error_code planner_plan_decisions(const struct planner_plan *p, const struct plan_context *c,
                                       struct plan_decision *out, uint32_t room, uint32_t *count,
                                       struct error *e)
{
    *count = 0;
    if (p->decision_count > room)
        return error_set_pointer(e, ERROR_INVALID_PLAN, "/decisions", "a plan has at most %u decisions",
                                 room);
    for (; *count < p->decision_count; (*count)++) {
        const struct planner_decision *d = &p->decisions[*count];
        TRY(plan_decision_find(c, d->group, d->axis, d->bits, d->scope, &out[*count], e));
    }
    return ERROR_OK;
}

void planner_plan_factors(const struct planner_plan *p, const struct plan_context *c,
                          struct plan_factors *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->factor_count; i++)
        count += p->factors[i].axis_count;
    *out = (struct plan_factors){.at = mem_alloc((count + 1) * sizeof *out->at)};
    for (uint32_t i = 0; i < p->factor_count; i++)
        for (uint32_t k = 0; k < p->factors[i].axis_count; k++) {
            const struct planner_factor *factor = &p->factors[i];
            int axis = mesh_axis_find(plan_context_mesh(c), factor->axes[k]);
            out->at[out->count++] = (struct plan_factor){
                .space = factor->op, .factor = (uint8_t)factor->factor, .axis = (uint8_t)axis};
        }
}

/* Replay of a parsed plan; see plan.h. */
#include "planner/plan.h"

#include "planner/pins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void planner_plan_destroy(struct planner_plan *plan)
{
    if (plan)
        arena_destroy(plan->arena);
}

static enum error_code replay_factor(const struct planner_factor *factor, uint32_t number,
                                     const struct plan_context *context, struct plan *out, struct error *e)
{
    const struct nda *n = plan_context_nda(context);
    if (factor->op >= n->space_count || factor->factor >= n->spaces[factor->op].factor_count)
        return error_set(e, ERROR_INVALID_PLAN,
                         "factors/%u: there is no factor %u of space %u in this module", number,
                         factor->factor, factor->op);
    for (uint32_t i = 0; i < factor->axis_count; i++) {
        int axis = mesh_axis_find(plan_context_mesh(context), factor->axes[i]);
        if (axis < 0)
            return error_set(e, ERROR_INVALID_PLAN, "factors/%u: the mesh has no axis '%s'", number,
                             factor->axes[i]);
        if (!plan_apply_factor(context, out, factor->op, factor->factor, (uint32_t)axis))
            return error_set(e, ERROR_INVALID_PLAN,
                             "factors/%u: axis '%s' cannot shard factor %u of space %u (in use, does not "
                             "divide, or not "
                             "shardable)",
                             number, factor->axes[i], factor->factor, factor->op);
    }
    return ERROR_OK;
}

static bool same_sharding(const struct plan_sharding *one, const struct plan_sharding *other)
{
    for (uint32_t dim = 0; dim < one->rank; dim++)
        if (one->dims[dim].count != other->dims[dim].count ||
            memcmp(one->dims[dim].axes, other->dims[dim].axes, one->dims[dim].count) != 0)
            return false;
    return one->rank == other->rank;
}

/* The decisions are those of the hash; so are the shardings that stand beside them, unless they were
 * edited. */
static enum error_code check_stated(const struct planner_plan *plan, const struct plan_context *context,
                                    const struct plan *reached, struct error *e)
{
    const struct nda *n = plan_context_nda(context);
    for (uint32_t i = 0; i < plan->stated_count; i++) {
        const struct planner_stated *stated = &plan->stated[i];
        const char *list = stated->is_result ? "results" : "arguments";
        uint32_t count = stated->is_result ? n->result_count : n->argument_count;
        struct plan_sharding reached_sharding;
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/%s/%u/dims", list, stated->place);
        if (stated->index >= count)
            return error_set_pointer(e, ERROR_INVALID_PLAN, pointer, "the module has %u %s", count, list);
        plan_boundary_sharding(context, reached,
                               stated->is_result ? n->result_spaces[stated->index]
                                                 : n->arguments[stated->index].space,
                               &reached_sharding);
        if (!same_sharding(&stated->sharding, &reached_sharding))
            return error_set_pointer(
                e, ERROR_INVALID_PLAN, pointer,
                "these dims are not what the plan's decisions give; they are there to be read. Edit pins, "
                "decisions or factors (and remove \"hash\"), or send the plan as constraints_from_plan: then "
                "the dims are what is planned with");
    }
    return ERROR_OK;
}

bool planner_plan_differs(const struct planner_plan *plan, const struct plan_context *context,
                          const struct plan *reached, char *pointer, size_t room)
{
    struct error e;
    bool differs = check_stated(plan, context, reached, &e) != ERROR_OK;
    if (differs)
        snprintf(pointer, room, "%s", e.pointer);
    return differs;
}

enum error_code planner_plan_replay(const struct planner_plan *plan, const struct plan_context *context,
                                    struct plan *out, struct error *e)
{
    plan_copy(out, plan_context_start(context));
    for (uint32_t i = 0; i < plan->decision_count; i++) {
        const struct planner_decision *planner_decision = &plan->decisions[i];
        struct plan_decision decision;
        TRY(plan_decision_find(context, planner_decision->group, planner_decision->axis,
                               planner_decision->bits, planner_decision->scope, &decision, e));
        plan_apply(context, out, decision);
    }
    for (uint32_t i = 0; i < plan->factor_count; i++)
        TRY(replay_factor(&plan->factors[i], i, context, out, e));
    if (plan->has_hash && hash128_compare(plan->hash, out->hash) != 0) {
        char reached[33];
        hash128_format(out->hash, reached);
        return error_set(e, ERROR_INVALID_PLAN,
                         "replaying this plan gives %s, not the hash it states: it was made for another "
                         "module, mesh or build "
                         "(remove \"hash\" to use it all the same)",
                         reached);
    }
    return plan->has_hash ? check_stated(plan, context, out, e) : ERROR_OK;
}

enum error_code planner_plan_apply(const struct planner_plan *plan, const struct nda *n,
                                   struct plan_context **context, struct plan *out, struct error *e)
{
    struct plan_context *plan_context = NULL;
    TRY(planner_context_create(plan->constraints, plan->constraint_count, !plan->no_module_pins,
                               plan->pins_completed, n, &plan->mesh, &plan_context, e));
    plan_init(out, n, &plan->mesh);
    enum error_code code = planner_plan_replay(plan, plan_context, out, e);
    if (code != ERROR_OK) {
        plan_release(out);
        plan_context_destroy(plan_context);
        return code;
    }
    *context = plan_context;
    return ERROR_OK;
}

enum error_code planner_plan_decisions(const struct planner_plan *plan, const struct plan_context *context,
                                       struct plan_decision *out, uint32_t room, uint32_t *count,
                                       struct error *e)
{
    *count = 0;
    if (plan->decision_count > room)
        return error_set_pointer(e, ERROR_INVALID_PLAN, "/decisions", "a plan has at most %u decisions",
                                 room);
    for (; *count < plan->decision_count; (*count)++) {
        const struct planner_decision *decision = &plan->decisions[*count];
        TRY(plan_decision_find(context, decision->group, decision->axis, decision->bits, decision->scope,
                               &out[*count], e));
    }
    return ERROR_OK;
}

void planner_plan_factors(const struct planner_plan *plan, const struct plan_context *context,
                          struct plan_factors *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->factor_count; i++)
        count += plan->factors[i].axis_count;
    *out = (struct plan_factors){.at = mem_alloc((count + 1) * sizeof *out->at)};
    for (uint32_t i = 0; i < plan->factor_count; i++)
        for (uint32_t k = 0; k < plan->factors[i].axis_count; k++) {
            const struct planner_factor *factor = &plan->factors[i];
            int axis = mesh_axis_find(plan_context_mesh(context), factor->axes[k]);
            out->at[out->count++] = (struct plan_factor){
                .space = factor->op, .factor = (uint8_t)factor->factor, .axis = (uint8_t)axis};
        }
}

enum error_code planner_plan_list(const struct planner_plan *plan, const struct plan_context *context,
                                  struct search_plan *out, struct plan_factors *beyond, struct error *e)
{
    TRY(planner_plan_decisions(plan, context, out->decisions, SEARCH_MAX_LIST, &out->count, e));
    if (plan->factor_count)
        planner_plan_factors(plan, context, beyond);
    out->factors = beyond->at;
    out->factor_count = beyond->count;
    return ERROR_OK;
}

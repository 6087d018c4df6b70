/* The context that plans are made against: made once from module, mesh and pins, in the order of
 * plan_context_create, and read only after that. */
#include "analysis/context.h"

#include <stdlib.h>

enum error_code plan_context_create(const struct nda *n, const struct mesh *mesh, const struct plan_pin *pins,
                                    uint32_t pin_count, struct plan_context **out, struct error *e)
{
    struct plan_context *context;
    enum error_code code = mesh_check(mesh, e);
    if (code != ERROR_OK)
        return code;
    context = mem_zalloc(1, sizeof *context);
    context->n = n;
    context->mesh = *mesh;
    plan_init(&context->start, n, mesh);
    context_words(context);
    context->closed = mem_zalloc((size_t)n->factor_count + 1, 1);
    context_partners(context, pins, pin_count);
    context_update_scope(context);
    context_stacked_scope(context);
    code = context_pins(context, pins, pin_count, e);
    if (code != ERROR_OK) {
        plan_context_destroy(context);
        return code;
    }
    context_candidates(context);
    context_decisions(context);
    context_regathers(context);
    *out = context;
    return ERROR_OK;
}

void plan_context_destroy(struct plan_context *context)
{
    if (!context)
        return;
    plan_release(&context->start);
    free(context->group_first);
    free(context->candidates);
    free(context->partner);
    free(context->kept);
    free(context->closed);
    free(context->update);
    free(context->stacked);
    free(context->word);
    free(context->decisions);
    free(context->regathers);
    free(context);
}

struct plan_context *plan_context_view(const struct plan_context *context, const struct nda *n)
{
    struct plan_context *view = mem_alloc(sizeof *view);
    *view = *context;
    view->n = n;
    return view;
}

const struct nda *plan_context_nda(const struct plan_context *context)
{
    return context->n;
}

const struct mesh *plan_context_mesh(const struct plan_context *context)
{
    return &context->mesh;
}

const struct plan *plan_context_start(const struct plan_context *context)
{
    return &context->start;
}

uint32_t plan_context_pruned(const struct plan_context *context)
{
    return context->pruned_count;
}

bool plan_context_updates(const struct plan_context *context, uint32_t space)
{
    return context->update[space];
}

const struct plan_decision *plan_context_regathers(const struct plan_context *context, uint32_t *count)
{
    *count = context->regather_count;
    return context->regathers;
}

const struct plan_decision *plan_context_decisions(const struct plan_context *context, uint32_t *count)
{
    *count = context->decision_count;
    return context->decisions;
}

/* The context that plans are made against: made once from module, mesh and pins, in the order of
 * plan_context_create, and read only after that. */
#include "analysis/context.h"

#include <stdlib.h>

enum error_code plan_context_create(const struct nda *n, const struct mesh *m, const struct plan_pin *pins,
                                    uint32_t pin_count, struct plan_context **out, struct error *e)
{
    struct plan_context *c;
    enum error_code code = mesh_check(m, e);
    if (code != ERROR_OK)
        return code;
    c = mem_zalloc(1, sizeof *c);
    c->n = n;
    c->mesh = *m;
    plan_init(&c->start, n, m);
    context_words(c);
    c->closed = mem_zalloc((size_t)n->factor_count + 1, 1);
    context_partners(c, pins, pin_count);
    context_update_scope(c);
    code = context_pins(c, pins, pin_count, e);
    if (code != ERROR_OK) {
        plan_context_destroy(c);
        return code;
    }
    context_candidates(c);
    context_decisions(c);
    context_regathers(c);
    *out = c;
    return ERROR_OK;
}

void plan_context_destroy(struct plan_context *c)
{
    if (!c)
        return;
    plan_release(&c->start);
    free(c->group_first);
    free(c->candidates);
    free(c->partner);
    free(c->kept);
    free(c->closed);
    free(c->update);
    free(c->word);
    free(c->decisions);
    free(c->regathers);
    free(c);
}

const struct nda *plan_context_nda(const struct plan_context *c)
{
    return c->n;
}

const struct mesh *plan_context_mesh(const struct plan_context *c)
{
    return &c->mesh;
}

const struct plan *plan_context_start(const struct plan_context *c)
{
    return &c->start;
}

uint32_t plan_context_pruned(const struct plan_context *c)
{
    return c->pruned_count;
}

const struct plan_decision *plan_context_regathers(const struct plan_context *c, uint32_t *count)
{
    *count = c->regather_count;
    return c->regathers;
}

const struct plan_decision *plan_context_decisions(const struct plan_context *c, uint32_t *count)
{
    *count = c->decision_count;
    return c->decisions;
}

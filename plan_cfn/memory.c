/* When a node's values take memory, and how much: the lives that they have in the unsharded program.
 * Arguments and results take theirs throughout, a donated argument and its result once. In the admissible
 * network arguments alone count, at the first step: that they are there together is sure for every plan, and
 * nothing else is. */
#include "plan_cfn/internal.h"

#include <stdlib.h>

static int64_t option_bytes(const struct plan_cfn *n, uint32_t space, const struct plan_cell *cells)
{
    const struct nda_space *sp = &n->nda->spaces[space];
    int64_t bytes = 0;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        struct spmd_form form;
        uint32_t value = n->nda->slots[k].value;
        struct cost_life life = cost_estimate_life(n->estimate, value);
        if (sp->kind != NDA_SPACE_ARGUMENT && sp->kind != NDA_SPACE_RESULT &&
            (!n->nda->slots[k].is_result || life.from >= life.until))
            continue;
        spmd_forms_slot(n->forms, space, k, cells, &form);
        bytes += spmd_local_bytes(n->nda, n->mesh, value, &form);
    }
    return bytes;
}

static bool is_donated_result(const struct plan_cfn *n, uint32_t result)
{
    for (uint32_t i = 0; i < n->nda->argument_count; i++)
        if (n->nda->arguments[i].tied_result == result)
            return true;
    return false;
}

struct cost_life plan_cfn_life(const struct plan_cfn *n, uint32_t space)
{
    const struct nda_space *sp = &n->nda->spaces[space];
    struct cost_life all = {0, cost_estimate_steps(n->estimate)}, none = {0, 0}, life = none;
    /* when the step begins all arguments are there, and nothing else is sure to be */
    if (sp->kind == NDA_SPACE_ARGUMENT)
        return n->kind == PLAN_CFN_ADMISSIBLE ? (struct cost_life){0, 1} : all;
    if (n->kind == PLAN_CFN_ADMISSIBLE)
        return none;
    if (sp->kind == NDA_SPACE_RESULT)
        return is_donated_result(n, sp->index) ? none : all;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        struct cost_life one = cost_estimate_life(n->estimate, n->nda->slots[k].value);
        if (!n->nda->slots[k].is_result || one.from >= one.until)
            continue;
        bool first = life.from == life.until;
        life.from = first || one.from < life.from ? one.from : life.from;
        life.until = first || one.until > life.until ? one.until : life.until;
    }
    return life;
}

void plan_cfn_memory(struct plan_cfn *n)
{
    for (uint32_t i = 0; i < n->problem.node_count; i++) {
        const struct plan_cfn_spaces *shared = n->shared ? &n->shared[i] : NULL;
        struct cost_life life = shared ? shared->life : plan_cfn_life(n, n->space_of[i]);
        int64_t together = shared ? shared->together : 1;
        n->problem.nodes[i].lower = life.from;
        n->problem.nodes[i].upper = life.until;
        for (uint32_t k = 0; k < plan_cfn_domain(n, i); k++)
            n->problem.usages[n->first_option[i] + k] =
                life.from < life.until ? together * option_bytes(n, n->space_of[i], plan_cfn_option(n, i, k))
                                       : 0;
    }
    n->problem.has_limit = 1;
    n->problem.limit = n->machine->memory_limit_bytes;
}

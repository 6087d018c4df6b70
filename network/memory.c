/* When a node's results are alive and what they take. Time is the order of the spaces. A result that is only another name
 * of an operand's buffer keeps that alive; one that is computed where it is used keeps its operands alive as long. */
#include "network/internal.h"

#include <stdlib.h>

struct lives {
    const struct network *n;
    int64_t *last; /* per program value: time of the last use */
};

static enum cost_storage storage(const struct network *n, uint32_t space)
{
    const struct nda_space *s = &n->nda->spaces[space];
    switch ((enum nda_space_kind)s->kind) {
    case NDA_SPACE_OP:
        return cost_estimate_storage(n->estimate, s->op);
    case NDA_SPACE_ARGUMENT:
        return COST_STORED;
    case NDA_SPACE_RESULT:
    case NDA_SPACE_LOOP_BEGIN:
    case NDA_SPACE_LOOP_END:
    case NDA_SPACE_BRANCH:
    case NDA_SPACE_BARRIER:
        break;
    }
    return COST_ALIAS;
}

/* backward: every space extends its operands to itself, and to its results' last use where it does not store them */
static void find_lives(struct lives *l)
{
    const struct nda *a = l->n->nda;
    for (uint32_t s = a->space_count; s-- > 0;) {
        const struct nda_space *sp = &a->spaces[s];
        int64_t until = sp->kind == NDA_SPACE_RESULT ? a->space_count : s;
        if (storage(l->n, s) != COST_STORED)
            for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++)
                if (a->slots[k].is_result && l->last[a->slots[k].value] > until)
                    until = l->last[a->slots[k].value];
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++)
            if (!a->slots[k].is_result && l->last[a->slots[k].value] < until)
                l->last[a->slots[k].value] = until;
    }
}

static int64_t option_bytes(const struct network *n, uint32_t space, const struct plan_cell *cells)
{
    const struct nda_space *sp = &n->nda->spaces[space];
    int64_t bytes = 0;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        struct spmd_form f;
        if (!n->nda->slots[k].is_result)
            continue;
        spmd_forms_slot(n->forms, space, k, cells, &f);
        bytes += spmd_local_bytes(n->nda, n->mesh, n->nda->slots[k].value, &f);
    }
    return bytes;
}

static void set_interval(const struct lives *l, uint32_t node)
{
    const struct network *n = l->n;
    uint32_t space = n->space_of[node];
    const struct nda_space *sp = &n->nda->spaces[space];
    struct cfn_node *out = &n->problem.nodes[node];
    out->lower = out->upper = space;
    if (storage(n, space) != COST_STORED || (n->kind == NETWORK_ADMISSIBLE && sp->kind != NDA_SPACE_ARGUMENT))
        return;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++)
        if (n->nda->slots[k].is_result && l->last[n->nda->slots[k].value] + 1 > out->upper)
            out->upper = l->last[n->nda->slots[k].value] + 1;
    if (sp->kind != NDA_SPACE_ARGUMENT)
        return;
    out->lower = 0;
    if (n->kind == NETWORK_ADMISSIBLE)
        out->upper = 1; /* when the step begins all arguments are there, and nothing else is sure to be */
    else if (n->nda->arguments[sp->index].tied_result == NDA_NONE)
        out->upper = n->nda->space_count; /* the caller's: never given back */
}

void network_memory(struct network *n)
{
    struct lives l = {n, mem_zalloc((size_t)n->nda->program->value_count + 1, sizeof *l.last)};
    find_lives(&l);
    for (uint32_t i = 0; i < n->problem.node_count; i++) {
        set_interval(&l, i);
        for (uint32_t k = 0; k < network_domain(n, i); k++)
            n->problem.usages[n->first_option[i] + k] =
                n->problem.nodes[i].upper > n->problem.nodes[i].lower
                    ? option_bytes(n, n->space_of[i], network_option(n, i, k))
                    : 0;
    }
    free(l.last);
    n->problem.has_limit = 1;
    n->problem.limit = n->machine->memory_limit_bytes;
}

/* Roles: what arguments are for, what colors do, and labels of groups. The conductor; the order and the
 * drawing are in roles.h. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

/* Which results are state, and whether the module is a train step. Two questions, the second only where the
 * first finds no gradient: then weights are known by their moments. */
static void find_state(struct roles *r)
{
    r->train = roles_find_state(r->n, r->direct);
    if (r->train) {
        roles_set_apart(r, false);
        r->metrics = roles_metrics(r->n, r->direct);
    } else {
        r->train = roles_has_moments(r->n, r->direct, r->reaches);
    }
}

void stage_roles(struct nda *n)
{
    size_t values = (size_t)n->program->value_count + 1;
    struct roles r = {.n = n};
    r.direct = mem_zalloc(values, 1);
    r.reaches = mem_zalloc(values, 1);
    r.forward = mem_zalloc(values, 1);
    r.ends = mem_zalloc(values, 1);
    r.facts = mem_zalloc((size_t)n->color_count + 1, sizeof *r.facts);
    r.batch = mem_zalloc((size_t)n->color_count + 1, 1);
    roles_set_apart(&r, false);
    find_state(&r);
    memset(r.forward, !r.train, values); /* without training there is no backward pass */
    roles_flow(&r);
    if (roles_find_batches(&r))
        roles_set_apart(&r, true);
    roles_find_facts(&r); /* inputs hold the batch, parameters do not */
    roles_of_colors(&r);
    roles_label_groups(&r);
    free(r.direct);
    free(r.reaches);
    free(r.forward);
    free(r.metrics);
    free(r.ends);
    free(r.apart);
    free(r.facts);
    free(r.batch);
}

/* Roles: what arguments are for, what colors do, and labels of groups. The conductor; the order and the
 * drawing are in roles.h. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

/* Which results are state, and whether the module is a train step. Two questions, the second only where the
 * first finds no gradient: then weights are known by their moments. */
static void find_state(struct roles *roles)
{
    roles->train = roles_find_state(roles->n, roles->direct);
    if (roles->train) {
        roles_set_apart(roles, false);
        roles->metrics = roles_metrics(roles->n, roles->direct);
    } else {
        roles->train = roles_has_moments(roles->n, roles->direct, roles->reaches);
    }
}

void stage_roles(struct nda *n, const struct nda_options *options)
{
    size_t values = (size_t)n->program->value_count + 1;
    struct roles roles = {.n = n, .options = options};
    roles.dataflow = mem_zalloc((size_t)n->argument_count + 1, 1);
    roles.direct = mem_zalloc(values, 1);
    roles.met = mem_zalloc(values, 1);
    roles.reaches = mem_zalloc(values, 1);
    roles.forward = mem_zalloc(values, 1);
    roles.ends = mem_zalloc(values, 1);
    roles.facts = mem_zalloc((size_t)n->color_count + 1, sizeof *roles.facts);
    roles.batch = mem_zalloc((size_t)n->color_count + 1, 1);
    roles_set_apart(&roles, false);
    find_state(&roles);
    memset(roles.forward, !roles.train, values); /* without training there is no backward pass */
    roles_flow(&roles);
    if (roles_find_batches(&roles))
        roles_set_apart(&roles, true);
    roles_find_facts(&roles); /* inputs hold the batch, parameters do not */
    roles_of_colors(&roles);
    roles_label_groups(&roles);
    roles_tell_votes(&roles);
    free(roles.dataflow);
    free(roles.direct);
    free(roles.met);
    free(roles.reaches);
    free(roles.forward);
    free(roles.metrics);
    free(roles.ends);
    free(roles.apart);
    free(roles.facts);
    free(roles.batch);
}

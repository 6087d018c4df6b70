/* Forest moves: of the nodes offered, a random induced forest is re-optimised exactly (min-plus over its
 * trees) while everything else stays fixed. Ties keep the present value.
 *
 *       * - * - .        * in the forest: no cycle among them
 *       |   |   |        . fixed: the row of its value adds to its neighbours' costs
 *       .   * - .
 *
 * Costs are the model's float rows, at or below the exact ones; work is counted in table entries. Scratch is
 * owned here: one thread at a time. */
#ifndef TOAST_CFN_FOREST_H
#define TOAST_CFN_FOREST_H

#include "base/hash.h"
#include "cfn/model.h"

struct cfn_forest {
    const struct cfn_model *model; /* borrowed */
    int32_t *root;                 /* union-find over the nodes; -1: not in the forest */
    int32_t *parent, *stamp;
    const struct cfn_arc **up; /* arc to the parent in its tree */
    int32_t *chosen, *order, *late;
    float *belief; /* m->value_count */
    float *scratch;
    float *gumbel; /* samples of the Gumbel distribution */
    int32_t now;   /* of stamp */
    uint64_t work; /* table entries touched so far */
};

void cfn_forest_create(const struct cfn_model *model, struct cfn_forest *forest);
void cfn_forest_release(struct cfn_forest *forest);
/* One move over nodes[0..count), which is shuffled. unary: costs with penalties (cfn_price_unary). noise: 0,
 * or the scale of Gumbel noise subtracted from each choice. changed (room for count) receives the nodes whose
 * value changed and old (may be NULL) their former values; returns how many. */
int32_t cfn_forest_move(struct cfn_forest *forest, struct rng *rng, int32_t *nodes, int32_t count,
                        const float *unary, double noise, int32_t *value, int32_t *changed, int32_t *old);

#endif

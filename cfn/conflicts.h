/* Pairs of values that no answer has together, for want of room: beside the least usage of everyone else the
 * two exceed the limit at some time.
 *
 *       limit  - - - - - - - - - - - -
 *              |  i at a   |          the limit is of all nodes alive, so no link says so: multipliers see
 *              |-----------|  j at b  usage on average, of which half of (a, b) and half of (a', b') is
 *              |///////////////////|  within the limit
 *              |/ least of all  ///|
 *
 * What is left out so is exact: every assignment within the limit stays. */
#ifndef TOAST_CFN_CONFLICTS_H
#define TOAST_CFN_CONFLICTS_H

#include "cfn/model.h"

struct cfn_conflict { /* two nodes, one < other, with pairs of values that exclude each other */
    int32_t one, other;
    size_t never; /* where their table begins: rows of one, not 0 where both are never together */
    double share; /* of its entries that are not 0 */
};

struct cfn_conflicts {
    struct cfn_conflict *at; /* descending share */
    int32_t count;
    uint8_t *never; /* tables of all */
    uint64_t work;  /* table entries that it took */
};

/* Those of pairs of nodes with at least `least_share` of their table, the largest shares first, until their
 * tables have most_entries. None on a model with too many times and values for it. */
void cfn_conflicts_create(const struct cfn_model *model, double least_share, double most_entries,
                          struct cfn_conflicts *conflicts);
void cfn_conflicts_release(struct cfn_conflicts *conflicts); /* zeroed is fine */

#endif

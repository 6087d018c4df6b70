/* The contest winner's method, for comparison: usage-constrained relaxation. The usage limit becomes a weight
 * on every node's usage above its least; an exact solver (toulbar2) takes the rest; weights fall while its
 * answers are feasible and rise in the stretches they violate (their Algorithm 1), and every feasible answer
 * is polished by single flips. Gives no bound. */
#ifndef TOAST_CFN_UCR_H
#define TOAST_CFN_UCR_H

#include "cfn/search.h"

enum { CFN_UCR_UNITS = 250 }; /* of the budget, that an iteration counts as */

/* Takes the place of the search. Two logical workers with seeds and starting weights of their own. With units
 * alone reproducible: the exact solver is then limited in backtracks. ERROR_NOT_AVAILABLE: toulbar2 is not
 * installed. ERROR_IO. */
enum error_code cfn_ucr_search(const struct cfn_model *model, const struct cfn_budget *budget,
                               struct cfn_found *out, struct error *e) BASE_CHECKED;

#endif

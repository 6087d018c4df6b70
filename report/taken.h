/* Who has the axes that a dimension does not get, and what another plan changes about it. Places are the ops,
 * arguments and results that have the dimension (spaces of the analysis), weighed by their size: the product
 * of all their dimensions, of a contraction its multiplications. */
#ifndef TOAST_REPORT_TAKEN_H
#define TOAST_REPORT_TAKEN_H

#include "analysis/plan.h"

/* Of the places where the plan leaves the group whole, the part that the trial splits, 0 to 1: of ops, and of
 * arguments and results (what is stored). */
struct report_reach {
    double ops, stored;
};
struct report_reach report_reach(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                                 const struct plan *trial, uint32_t group);
/* "batch has data and model", "batch has data (in 60 % of it), heads has model": for each axis the dimension
 * that has it in most of the places where the group is whole; "": none has any. Returns the axes that nobody
 * has there, a bit each. */
uint32_t report_taken_by(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                         uint32_t group, char *out, size_t room);
/* "batch keeps model in 40 % of its places", "batch loses model": what loses most of the axis in the trial;
 * "": nothing does. */
void report_displaced(const struct nda *n, const struct mesh *mesh, const struct plan *plan,
                      const struct plan *trial, uint32_t axis, char *out, size_t room);

#endif

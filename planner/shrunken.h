/* A program with smaller dimensions, and a plan's local program on it: what can be proved of a module that is
 * too large to be interpreted.
 *
 *   program  -> sizes (analysis/shrink.h) -> smaller program: op for op the same, with types, constants
 *                                              and limits of slices and loops cut; analysed again it must
 *                                              have the same spaces, factors and atoms
 *   local    -> the same steps, forms and collectives, over the smaller program
 *
 * The plan is not searched or walked anew: its cells and the walk's steps hold no sizes, so that what is
 * written of the smaller program is the lowering of the larger one at other sizes. */
#ifndef TOAST_PLANNER_SHRUNKEN_H
#define TOAST_PLANNER_SHRUNKEN_H

#include "analysis/shrink.h"
#include "spmd/local.h"

struct planner_shrunken {
    struct ir_program program;
    struct nda *nda;
    struct plan_context *context; /* a view of the original's, which must outlive it */
    struct spmd_local local;      /* a view likewise: nothing of it is owned */
};
/* sizes: of every class of `shrink`. ERROR_NOT_AVAILABLE with a sentence: what is left of the program is
 * another one to the analysis. */
enum error_code planner_shrunken_create(const struct nda_shrink *shrink, const int64_t *sizes, bool widen,
                                        const struct plan_context *context, const struct spmd_local *local,
                                        struct planner_shrunken *out, struct error *e) BASE_CHECKED;
void planner_shrunken_release(struct planner_shrunken *shrunken); /* zeroed is fine */

/* The program of nda's with atoms of these sizes, by atom of nda->atoms; owned. widen: floats of fewer than
 * 32 bits become f32, so that a difference is not taken for rounding. Loops whose counter walks
 * along a dimension that shrinks, or that is read in no way, run fewer times. Errors are ir_verify's. */
enum error_code planner_shrink_program(const struct nda *n, const int64_t *atoms, bool widen,
                                       struct ir_program *out, struct error *e) BASE_CHECKED;
/* for each atom of nda->atoms, how many devices split it anywhere in the local program; owned (free) */
int64_t *planner_shrink_shards(const struct spmd_local *local);

#endif

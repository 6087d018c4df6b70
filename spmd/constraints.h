/* Which values a user has to constrain (with_sharding_constraint) besides giving the plan's shardings of
 * arguments and results, so that XLA does what the plan says: a short list, found by leaving constraints out
 * against our model of propagation (propagate.h) as long as no more bytes move.
 *
 * Promises: the same list for the same plan; constraints that a user can write (blocks that are ranges of
 * dims). Never changes the plan. What is counted: result bytes of collectives on one device, trip counts
 * included, a reduce_scatter as the all_reduce that it is where a compiler has none. */
#ifndef TOAST_SPMD_CONSTRAINTS_H
#define TOAST_SPMD_CONSTRAINTS_H

#include "spmd/propagate.h"

struct spmd_constraints {
    struct propagate_constraint *list; /* in program order; owned, with its uses */
    uint32_t count, candidates;        /* how many there would be without leaving any out */
    /* bytes moved: by the plan itself; with the shardings of arguments and results alone, and with this list,
     * by a compiler that reduces each partial sum where it is made (XLA); with all candidates and sums
     * deferred as in the plan: the annotated module; with this list and sums deferred; with all candidates
     * and no sum deferred */
    int64_t plan_bytes, specs_bytes, list_bytes, all_bytes, deferred_bytes, reduced_bytes;
    uint32_t runs; /* of the model */
};

/* effort: ops visited at most, over all runs of the model (0: as many as a report affords). late: is the time
 * over? asked before each run; a list that is good by then is the answer, shortened or not; NULL: never. */
struct spmd_constraints_limits {
    int64_t effort;
    bool (*late)(void *user);
    void *late_user;
};

struct fold;
/* plan, fold: borrowed during the call; fold: of context's program, where there is one already, else NULL.
 * limits: NULL: none of its own. Errors: of the walk; ERROR_CANCELLED: late before there was a good list. */
enum error_code spmd_constraints_find(const struct plan_context *context, const struct plan *plan,
                                      const struct spmd_options *options, const struct fold *fold,
                                      const struct spmd_constraints_limits *limits,
                                      struct spmd_constraints *out, struct error *e) BASE_CHECKED;
void spmd_constraints_release(struct spmd_constraints *constraints); /* zeroed is fine */

/* axes of each dim of a value under a form, major first; false: its blocks are no ranges of the dims, so that
 * no PartitionSpec says it */
bool spmd_form_sharding(const struct nda *n, const struct mesh *mesh, uint32_t value,
                        const struct spmd_form *form, struct plan_sharding *out);

#endif

/* The proof of a plan: the original module and the device-local modules that the plan makes of it are
 * interpreted on the same inputs and compared (verify/).
 *
 * It answers "equal", "different", "inconclusive" or "not run" with a reason; it never answers "equal" for
 * something that it did not run, and what is too large is found out before anything of that size is made. */
#ifndef TOAST_PLANNER_PROOF_H
#define TOAST_PLANNER_PROOF_H

#include "spmd/local.h"
#include "verify/prove.h"

struct planner_proof {
    struct verify_report manual, local; /* one for each device-local form */
    enum verify_status status;          /* of both: the worse */
    char reason[400];
    uint64_t operations; /* scalar operations of the original, as verify_operations counts */
    uint64_t seed;       /* of the inputs */
};
/* Emits both device-local forms and proves each. A module that is too large or has an op that is not
 * interpreted is no error but VERIFY_PROOF_NOT_RUN, with reason "too_large" or what is missing; an error is a
 * bug of ours. options may be NULL. */
enum error_code planner_proof_run(const struct ir_program *prepared, const struct plan_context *context,
                                  const struct plan *plan, const struct spmd_local *local, uint64_t seed,
                                  const struct verify_options *options, struct planner_proof *out,
                                  struct error *e) BASE_CHECKED;
/* The same against results of the original that the caller keeps: for many plans of one module. */
enum error_code planner_proof_against(const struct verify_reference *reference,
                                      const struct plan_context *context, const struct plan *plan,
                                      const struct spmd_local *local, const struct verify_options *options,
                                      struct planner_proof *out, struct error *e) BASE_CHECKED;

#endif

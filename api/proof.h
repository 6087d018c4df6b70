/* The proof: original and device-local modules interpreted on the same inputs and compared (verify/).
 * Internal to api/. */
#ifndef TOAST_API_PROOF_H
#define TOAST_API_PROOF_H

#include "spmd/local.h"
#include "verify/prove.h"

struct proof_result {
    struct verify_report manual, local; /* one for each device-local form */
    enum verify_status status;          /* of both: the worse */
    char reason[400];
    uint64_t operations, seed;
};
/* Emits both device-local forms and proves each. Fails only for reasons that are bugs; a module that is
 * too large or has an op that is not interpreted is VERIFY_PROOF_NOT_RUN with reason "too_large" or what
 * is missing. options may be NULL. */
enum error_code proof_run(const struct ir_program *prepared, const struct plan_context *c,
                          const struct plan *p, const struct spmd_local *l, uint64_t seed,
                          const struct verify_options *options, struct proof_result *out,
                          struct error *e) BASE_CHECKED;
/* The same against results of the original that the caller keeps: for many plans of one module. */
enum error_code proof_against(const struct verify_reference *reference, const struct plan_context *c,
                              const struct plan *p, const struct spmd_local *l,
                              const struct verify_options *options, struct proof_result *out,
                              struct error *e) BASE_CHECKED;
char *proof_json(const struct proof_result *r); /* owned text */

#endif

/* The proof: original and device-local module interpreted on the same inputs and compared (verify/). Internal to api/. */
#ifndef TOAST_API_PROOF_H
#define TOAST_API_PROOF_H

#include "spmd/local.h"

struct proof_result {
    char status[16];          /* "equal", "failed", "not_run" */
    char reason[200];         /* "" | "too_large" | what differs | what could not be interpreted */
    double max_error;
    int64_t operations;       /* of the original */
    uint64_t seed;
};
/* Fails only for reasons that are bugs; a module too large or with an op that is not interpreted is not_run. */
enum error_code proof_run(const struct ir_program *image, const struct ir_program *prepared, const struct plan_context *c,
                          const struct plan *p, const struct spmd_local *l, uint64_t seed, struct proof_result *out,
                          struct error *e) BASE_CHECKED;
char *proof_json(const struct proof_result *r);   /* owned text */

#endif

/* The proof of a plan: the original module and the device-local modules that the plan makes of it are
 * interpreted on the same inputs and compared (verify/).
 *
 * It answers "equal", "different", "inconclusive" or "not run" with a reason; it never answers "equal" for
 * something that it did not run, and what is too large is found out before anything of that size is made. */
#ifndef TOAST_PLANNER_PROOF_H
#define TOAST_PLANNER_PROOF_H

#include "spmd/local.h"
#include "verify/prove.h"

/* A dimension that was cut for the proof of a module that is too large: the group of the analysis that it
 * belongs to ("batch", "ffn", ..), its elements before and after. */
struct planner_proof_factor {
    char name[64];
    int64_t from, to;
};
/* A loop that runs fewer times there. */
struct planner_proof_loop {
    uint32_t line;    /* of the module; 0: unknown */
    int64_t from, to; /* iterations */
};
enum { PLANNER_PROOF_FACTORS = 64, PLANNER_PROOF_LOOPS = 64 };
/* What was proved instead of a module that is too large: some dimension is cut or some loop. */
struct planner_proof_shrunken {
    bool instead; /* false: the module itself was, or nothing; all else is zero then */
    struct planner_proof_factor factors[PLANNER_PROOF_FACTORS]; /* that became smaller, none twice */
    uint32_t factor_count;
    struct planner_proof_loop loops[PLANNER_PROOF_LOOPS];
    uint32_t loop_count;
    uint64_t operations;  /* of the smaller original */
    uint32_t ops;         /* of the manual form */
    uint32_t collectives; /* of these */
    bool widened;         /* floats of fewer bits were computed in f32 */
    /* the smaller manual form is the larger one op for op, operands and collectives alike */
    bool same;
};

struct planner_proof {
    struct verify_report manual, local; /* one for each device-local form */
    enum verify_status status;          /* of both: the worse */
    bool too_large;                     /* not run, for it would take too long or too much memory */
    char reason[400];
    uint64_t operations; /* scalar operations of the original, as verify_operations counts */
    uint64_t seed;       /* of the inputs */
    struct planner_proof_shrunken shrunken;
};
/* Emits both device-local forms and proves each. A module that is too large or has an op that is not
 * interpreted is no error but VERIFY_PROOF_NOT_RUN, with reason "too_large: .." or what is missing; an error
 * is a bug of ours. options may be NULL. */
enum error_code planner_proof_run(const struct ir_program *prepared, const struct plan_context *context,
                                  const struct plan *plan, const struct spmd_local *local, uint64_t seed,
                                  const struct verify_options *options, struct planner_proof *out,
                                  struct error *e) BASE_CHECKED;
/* planner_proof_run, and where that answers "too_large: ..", the proof of the module at smaller sizes:
 * dimensions cut by factor (analysis/shrink.h), the plan's own steps over them (planner/shrunken.h). The
 * verdict is then of the smaller module, which out->shrunken describes; where none is small enough it is
 * NOT_RUN with the reason "too_large: .." and what stands in the way. A smaller lowering that is not the
 * larger one op for op is NOT_RUN too, never equal. */
enum error_code planner_proof_any_size(const struct ir_program *prepared, const struct plan_context *context,
                                       const struct plan *plan, const struct spmd_local *local, uint64_t seed,
                                       const struct verify_options *options, struct planner_proof *out,
                                       struct error *e) BASE_CHECKED;
/* is the verdict, or the reason that there is none, that of the module at smaller sizes? */
static inline bool planner_proof_is_smaller(const struct planner_proof *proof)
{
    return proof->shrunken.factor_count || proof->shrunken.loop_count;
}
/* "at smaller sizes: vocab 256128 -> 16, embed 2048 -> 32, .., 2 loops run fewer times"; nothing where the
 * module itself was proved */
void planner_proof_sizes_text(const struct planner_proof *proof, struct text *out);
/* A module that somebody lowered for this plan, or edited after `toast lower` wrote it, against the original:
 * annotated, manual (a manual_computation in it) or local (several replicas), as the module itself says. The
 * other form's report is NOT_RUN with the reason "not given". Errors as planner_proof_run; a module that is
 * no such lowering is DIFFERENT, with the reason. */
enum error_code planner_proof_lowered(const struct ir_program *prepared, const struct plan_context *context,
                                      const struct plan *plan, const struct ir_program *lowered,
                                      uint64_t seed, const struct verify_options *options,
                                      struct planner_proof *out, struct error *e) BASE_CHECKED;
/* whether the module is refused as it is, whatever the plan: nothing of its size is to be made for a proof */
bool planner_proof_is_large(const struct ir_program *prepared, const struct plan_context *context);
/* The same as planner_proof_run against results of the original that the caller keeps: for many plans of
 * one module. */
enum error_code planner_proof_against(const struct verify_reference *reference,
                                      const struct plan_context *context, const struct plan *plan,
                                      const struct spmd_local *local, const struct verify_options *options,
                                      struct planner_proof *out, struct error *e) BASE_CHECKED;

#endif

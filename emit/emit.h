/* Writes a local program as a StableHLO module. The result is an ir program; ir_print gives its text.
 *
 * Three outputs of the same local program:
 *
 *   annotated   global shapes. The prepared module with sdy.mesh, sdy.sharding on arguments and results, and
 *               sdy.sharding_constraint on every intermediate where XLA would else have a choice
 *               (docs/design/xla.md): uses that differ from their definition, and the results of dot,
 *               convolution, reduce, gather and scatter. Never mixed with GSPMD attributes.
 *   manual      global signature. One sdy.manual_computation with all axes manual; partition style: channel
 *               handles, use_global_device_ids, partition_id.
 *   local       local signature, nothing around it; replica style: no channels, replica_id;
 *               mhlo.num_replicas = N.
 *
 * All three keep the signature's attributes: donation (tf.aliasing_output, jax.buffer_donor) and
 * jax.result_info.
 *
 * The writers decide nothing about shardings: every form and every collective is the local program's, and
 * they never change it. *out belongs to the caller. ERROR_UNSUPPORTED_MODULE: an op cannot be written
 * exactly; the message has its position. Other errors: the local program breaks the protocol of
 * spmd/local.h. On an error *out is not to be used. */
#ifndef TOAST_EMIT_EMIT_H
#define TOAST_EMIT_EMIT_H

#include "spmd/constraints.h"

enum emit_output { EMIT_ANNOTATED, EMIT_MANUAL, EMIT_LOCAL };
enum { EMIT_SUM_CUTS = 2 };

enum error_code spmd_emit(const struct plan_context *context, const struct plan *plan,
                          const struct spmd_local *local, enum emit_output output, struct ir_program *out,
                          struct error *e) BASE_CHECKED;

/* A partial sum that the annotated output writes as summands (docs/forms.md, Sums that meet): what an op
 * leaves partial that sums over dims that axes shard, or what a loop carries. Leading dims stand before its
 * own, one for each entry of `leading`, over these axes. */
struct emit_sum {
    uint32_t value;               /* of the prepared program; the argument of a loop's body */
    struct plan_sharding leading; /* rank: how many leading dims */
    struct plan_sharding sharding;
    /* of an op, not of a loop: how its operands are split, and from which of their dims leading dims are cut;
     * the axes of `from` are numbers of leading dims, the first cut the outermost */
    struct {
        uint32_t operand;
        struct plan_sharding sharding, from;
    } cuts[EMIT_SUM_CUTS];
    uint32_t cut_count;
};
struct emit_sums {
    struct emit_sum *at; /* in program order; owned */
    uint32_t count;
    /* no partial sum that meets another one, or that a loop carries, is left to XLA, which reduces each where
     * it is made: the annotated output reduces as often as the local program */
    bool all;
};

/* Writes nothing. Errors: as spmd_emit's; *out is then zeroed. */
enum error_code spmd_emit_list_sums(const struct plan_context *context, const struct spmd_local *local,
                                    struct emit_sums *out, struct error *e) BASE_CHECKED;
void spmd_emit_sums_release(struct emit_sums *sums); /* zeroed is fine */

/* Adds to a list of constraints, at its end, operands of grouped convolutions that XLA's partitioner reads
 * rightly in another form than the plan's alone (grouped.h): one use each, of which nothing else in the list
 * says anything any more. *added: how many. Errors: as spmd_emit's; the list is then as it was. */
enum error_code spmd_emit_add_grouped(const struct plan_context *context, const struct spmd_local *local,
                                      struct spmd_constraints *list, uint32_t *added,
                                      struct error *e) BASE_CHECKED;
bool spmd_emit_has_groups(const struct ir_program *program); /* any convolution that has */

/* The prepared module with the plan's shardings of arguments and results and these constraints, nothing
 * else: what somebody compiles who writes them into the model (spmd/constraints.h). forms: of every value
 * over dims, written
 * beside the op that makes it (what a model of the propagation says, for tests); NULL: none. Errors as
 * above. */
enum error_code spmd_emit_constrained(const struct plan_context *context, const struct spmd_local *local,
                                      const struct propagate_constraint *list, uint32_t count,
                                      const struct spmd_form *forms, struct ir_program *out,
                                      struct error *e) BASE_CHECKED;

#endif

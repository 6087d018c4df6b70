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

#include "spmd/propagate.h"

enum emit_output { EMIT_ANNOTATED, EMIT_MANUAL, EMIT_LOCAL };

enum error_code spmd_emit(const struct plan_context *context, const struct plan *plan,
                          const struct spmd_local *local, enum emit_output output, struct ir_program *out,
                          struct error *e) BASE_CHECKED;

/* Does the annotated output reduce as often as the local program (docs/forms.md, Sums that meet)? *keeps: no
 * partial sum that meets another one, or that a loop carries, is left to XLA, which reduces each where it is
 * made. Errors: as spmd_emit's. */
enum error_code spmd_emit_keeps_sums(const struct plan_context *context, const struct spmd_local *local,
                                     bool *keeps, struct error *e) BASE_CHECKED;

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

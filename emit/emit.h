/* Writing a local program as StableHLO, and a plan as annotations. The result is an ir program; ir_print
 * gives text.
 *
 * annotated: the prepared module with sdy.mesh, argument and result sdy.sharding, and sdy.sharding_constraint
 * on every intermediate where XLA would else have a choice (xla-notes: constraints at uses that differ from
 * their definition, results of dot, convolution, reduce, gather, scatter). Never mixed with GSPMD attributes.
 * manual:    one sdy.manual_computation with all axes manual, global signature, partition style (channel
 * handles, use_global_device_ids, partition_id). local:     bare, local signature, replica style (no
 * channels, replica_id); mhlo.num_replicas = N. Signature, argument attributes (donation: tf.aliasing_output,
 * jax.buffer_donor; jax.result_info) are kept. */
#ifndef TOAST_EMIT_EMIT_H
#define TOAST_EMIT_EMIT_H

#include "spmd/local.h"

enum spmd_output { SPMD_ANNOTATED, SPMD_MANUAL, SPMD_LOCAL };

enum error_code spmd_emit(const struct plan_context *c, const struct plan *p, const struct spmd_local *l,
                          enum spmd_output form, struct ir_program *out, struct error *e) BASE_CHECKED;

#endif

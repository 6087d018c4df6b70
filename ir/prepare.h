/* From the module as read to the program that is planned: one function, only live ops, nothing shared by
 * accident.
 *
 * Order (planner.md section 1): refuse dynamic and quantized types with the op's position; inline `call`,
 * `func.call`, `sdy.named_computation` and `stablehlo.composite` (through its decomposition);
 * batch_norm_training and batch_norm_grad become sums and elementwise ops (expand.h); drop dead code; what
 * a loop carries unchanged and uses is taken from outside of it (invariants.h; other carried values stay,
 * also unused ones); ops on empty tensors become constants (simplify.h); then clone every broadcast and
 * every constant-derived value (constant, iota, and what only these feed: masks, their broadcasts,
 * compares, converts ..) for each use, so that a shared scalar's broadcast ties no unrelated parameters.
 * The result is a module with the original's module attributes and a single func.func @main (public),
 * whose signature, argument and result attributes are the original's. Other top-level ops (sdy.mesh) are
 * kept. Ops keep line, column and location of the op they come from; inlined ops those of the callee's
 * body. */
#ifndef TOAST_IR_PREPARE_H
#define TOAST_IR_PREPARE_H

#include "ir/program.h"

/* ERROR_UNSUPPORTED_MODULE (dynamic or quantized types, a manual_computation, no @main, unknown callee,
 * recursion, several blocks in a region) with line and column. */
enum error_code ir_prepare(const struct ir_program *read, struct ir_program *out,
                           struct error *e) BASE_CHECKED;

/* Shapes, element types and attribute ranges of every op that the layers above rely on are checked (MLIR
 * does not know StableHLO): operand and result counts, dims in range, contracting sizes equal, window
 * sizes ... Called by ir_prepare. ERROR_INVALID_MODULE with line and column. */
enum error_code ir_verify(const struct ir_program *p, struct error *e) BASE_CHECKED;

#endif

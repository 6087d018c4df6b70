/* From the module as read to the program that is planned: one function, only live ops, and no cheap value
 * shared by uses that have nothing to do with each other.
 *
 * In this order ("Reading" in docs/design/planner.md):
 *   - dynamic and quantized types are refused, with the op's line and column;
 *   - `call`, `func.call`, `sdy.named_computation` and `stablehlo.composite` (through its decomposition) are
 *     inlined; batch norms of training become sums and elementwise ops, einsums products, torch_index_select
 *     a gather, custom calls @Sharding sharding constraints (expand.h);
 *   - dead code goes;
 *   - what a loop carries unchanged and uses is taken from outside of it (invariants.h); other carried values
 *     stay, also unused ones; what is taken out of a tuple is what went in;
 *   - of an argument's casts to one type the first stays (casts.h);
 *   - ops on empty tensors become constants (simplify.h);
 *   - every broadcast and every constant-derived value (constants, iotas, and what only these feed: masks,
 *     their broadcasts, compares, converts ..) is cloned for each use, so that one shared scalar does not
 *     tie parameters together that have nothing to do with each other.
 *
 * The result is a module with the original's attributes and one function, a public func.func @main with the
 * original's signature, argument and result attributes. Other top-level ops (sdy.mesh) are kept. Ops keep
 * line, column and location of the op that they come from; inlined ops those of the callee's body. */
#ifndef TOAST_IR_PREPARE_H
#define TOAST_IR_PREPARE_H

#include "ir/program.h"

/* `read` is borrowed and may be released afterwards; `out` is owned (ir_program_release), untouched on
 * failure. ERROR_UNSUPPORTED_MODULE: dynamic or quantized types, a manual_computation, no @main, recursion,
 * several blocks in a region. ERROR_INVALID_MODULE: an unknown callee, a call that does not fit, or what
 * ir_verify complains of. ERROR_MODULE_TOO_LARGE: inlining would multiply the program. All with line and
 * column. */
enum error_code ir_prepare(const struct ir_program *read, struct ir_program *out,
                           struct error *e) BASE_CHECKED;
/* The same for the function that is named `entry`, which becomes @main. NULL: @main, or, in a module that
 * has none, the only public function with a body; several are refused by their names. */
enum error_code ir_prepare_entry(const struct ir_program *read, const char *entry, struct ir_program *out,
                                 struct error *e) BASE_CHECKED;

/* Checks what the layers above rely on, since MLIR does not know StableHLO: operand and result counts,
 * shapes, element types, dimensions in range, contracted sizes equal, window sizes .. Called by ir_prepare.
 * ERROR_INVALID_MODULE (more than IR_MAX_RANK dimensions: ERROR_UNSUPPORTED_MODULE) with line and column. */
enum error_code ir_verify(const struct ir_program *program, struct error *e) BASE_CHECKED;

#endif

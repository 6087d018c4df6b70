/* Casts of an argument that the module repeats: every use has the first one's.
 *
 *     %w: f32 --> convert bf16 --> layer 0            %w: f32 --> convert bf16 --> layer 0
 *         '-----> convert bf16 --> layer 1     is                      '---------> layer 1
 *
 * Libraries cast a weight where they use it, so one that several layers or microbatches share has many casts.
 * As one value it is gathered once, as XLA would gather it (common subexpression elimination). */
#ifndef TOAST_IR_CASTS_H
#define TOAST_IR_CASTS_H

#include "ir/program.h"

/* Sets same[v], for the result v of each such op of @main but the first, to the first one's result. `same`,
 * by value, has what each always equals so far (invariants.h), without chains, and is left so. */
void ir_casts_share(const struct ir_program *program, uint32_t *same);

#endif

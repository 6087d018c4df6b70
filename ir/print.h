/* Printing a program as StableHLO text.
 *
 *     generic   %2 = "stablehlo.add"(%0, %1) {..} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
 *     pretty    %2 = stablehlo.add %0, %1 : tensor<4xf32>
 *
 * Either reads back as an equal program, by jaxlib and by ir_read. What has no pretty form (gather, scatter,
 * sort, collectives ..), or attributes that a pretty form cannot say, stands in generic form among pretty
 * ops. Large constants are printed as hex, i1 constants as lists; values are numbered %0, %1 .. in program
 * order, in pretty form arguments of blocks %arg0, %arg1 .. apart from them. Locations are printed as aliases
 * where the program has any. Text is appended to `out`; nothing here fails. */
#ifndef TOAST_IR_PRINT_H
#define TOAST_IR_PRINT_H

#include "ir/program.h"

void ir_print(const struct ir_program *program, struct text *out); /* generic */
void ir_print_pretty(const struct ir_program *program, struct text *out);
/* pretty where most ops of the text stood so that the program was read from, or made of (IR_PRETTY) */
void ir_print_as_read(const struct ir_program *program, struct text *out);
/* one type or attribute, as it stands in the text */
void ir_print_type(const struct ir_program *program, uint32_t type, struct text *out);
void ir_print_attr(const struct ir_program *program, const struct ir_attr *attr, struct text *out);

#endif

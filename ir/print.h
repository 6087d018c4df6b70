/* Printing a program as StableHLO text in MLIR's generic form: `"stablehlo.add"(%0, %1) <{..}> : (..) -> ..`.
 *
 * The text reads back as an equal program, by jaxlib and by ir_read. Large constants are printed as hex, i1
 * constants as lists; values are numbered %0, %1 .. in program order. Locations are printed as aliases where
 * the program has any. Text is appended to `out`; nothing here fails. */
#ifndef TOAST_IR_PRINT_H
#define TOAST_IR_PRINT_H

#include "ir/program.h"

void ir_print(const struct ir_program *program, struct text *out);
/* one type or attribute, as it stands in the text */
void ir_print_type(const struct ir_program *program, uint32_t type, struct text *out);
void ir_print_attr(const struct ir_program *program, const struct ir_attr *attr, struct text *out);

#endif

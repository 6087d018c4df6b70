/* What arithmetic takes beside what it reads and writes (effort.c), in bytes that an H100 moves meanwhile. */
#ifndef TOAST_COST_EFFORT_H
#define TOAST_COST_EFFORT_H

#include "ir/program.h"

struct price_program;

/* A row that stays in a block of threads makes the kernel Triton's, which XLA's estimate takes as free and
 * whose arithmetic takes longer: added to any kernel's work it stays negative. */
#define PRICE_ROWS_WORK (-(INT64_C(1) << 60))

/* bytes that an element of an op of this code counts where it may be computed again */
uint8_t price_effort_of(uint16_t code);
/* eighths of a byte that each element of an elementwise op takes; of others 0 */
uint8_t price_work_of(const struct ir_program *program, uint32_t op);
/* Is the op a product that sums nothing up (einsum's mask of heads on attention's probabilities)? For every
 * compiler it is a multiplication. Source: XLA's algebraic simplifier; final HLO of BERTs, jax 0.10.2. */
bool price_only_multiplies(const struct ir_program *program, uint32_t op);
/* how often an op passes over its operands and results: 1 or, of sorts and sums of all before, more */
uint8_t price_passes_of(const struct ir_program *program, uint32_t op);
/* notes of the program's ops what an erfc is taken of and is computed of several arrays (internal.h) */
void price_find_arguments_of_erfc(struct price_program *program);

#endif

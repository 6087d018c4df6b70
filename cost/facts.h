/* What is found of a program's ops once, and what it means for the steps of a plan: products' cones and
 * turns, updates, sums of scattered rows, congruent ops. Part of internal.h, which has the types. */
#ifndef TOAST_COST_FACTS_H
#define TOAST_COST_FACTS_H

#include "spmd/local.h"

struct price_program;
struct price_scratch;

/* epilogue.c: which ops end the cone of a product, once a program */
void price_find_epilogues(struct price_program *program);
/* updates.c: whose results are outlived by what they are written over, once a program */
void price_find_updates(struct price_program *program);
/* congruent.c: which ops are congruent, once a program */
void price_find_congruent(struct price_program *program);
/* congruent.c: notes what a step's result is another name of, if others are congruent to its op */
void price_name_congruent(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step);
/* congruent.c, after price_weigh: is it another name? What little makes is made again. */
bool price_is_named(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value);
/* added.c: which sums add a scatter's rows, once a program */
void price_find_added(struct price_program *program);
/* added.c, by COST_FUSE_ADDED: the step of the scatter that the sum is another name of; SPMD_NONE: of none */
uint32_t price_added_by(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *sum);
/* added.c: what an update writes into, once the uses of its result are noted: operand 0, or the array that
 * its rows are added to */
uint32_t price_written_into(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *update);
/* updates.c: does the compiler copy what the update writes into a part of? */
bool price_copies_operand(const struct price_scratch *scratch, const struct spmd_local *local,
                          const struct spmd_step *update);
/* order.c: turns of the program's dots, once a program */
void price_find_turns(struct price_program *program);
/* order.c, by COST_FUSE_STRIDED: bytes that a dot's turned operands and result move beyond their own */
int64_t price_strided_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *step);
/* order.c, likewise: the operand made anew, as an earlier dot has it in another order; or SPMD_NONE */
uint32_t price_made_anew(const struct price_scratch *scratch, const struct spmd_local *local,
                         const struct spmd_step *step);
/* order.c, likewise: is the dot's result turned by a kernel that stores it in float32? */
bool price_turns_wide(const struct price_scratch *scratch, const struct spmd_local *local,
                      const struct spmd_step *step);

#endif

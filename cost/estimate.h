/* Times and lives of single ops, taken from the unsharded local program: what planners that price ops one
 * by one ask. What fuses and what shares memory there is taken to do so under every plan; the real price
 * of a plan is price_local's. Immutable once created; shared by threads. */
#ifndef TOAST_COST_ESTIMATE_H
#define TOAST_COST_ESTIMATE_H

#include "cost/machine.h"
#include "spmd/local.h"

struct cost_estimate;
struct price_program;
struct price_scratch;
/* local: the unsharded program in its own order, scratch: as pricing it left that; both borrowed during the
 * call, program for as long as the estimate lives. An evaluator makes one (evaluator_estimate). */
struct cost_estimate *cost_estimate_create(const struct price_program *program,
                                           const struct cost_machine *machine,
                                           const struct price_scratch *scratch,
                                           const struct spmd_local *local);
void cost_estimate_destroy(struct cost_estimate *estimate);

/* One run of the op on one device whose axes divide its iteration space by `shards`, in picoseconds: of a
 * matmul the greater of FLOPs and bytes given, of another kernel its share of the bytes it moves
 * unsharded; 0 of what is no kernel. */
int64_t cost_estimate_op(const struct cost_estimate *estimate, uint32_t op, int64_t shards,
                         int64_t operand_bytes, int64_t result_bytes);
/* What no local program can do the op in less than: FLOPs alone; 0 of everything but matmuls. */
int64_t cost_estimate_floor(const struct cost_estimate *estimate, uint32_t op, int64_t shards);

/* a kernel that copies so many bytes out of a larger value */
int64_t cost_estimate_slice(const struct cost_estimate *estimate, int64_t bytes);

/* Steps of the unsharded program in which a value takes memory of its own; from == until: none (arguments
 * and results take theirs throughout). */
struct cost_life {
    uint32_t from, until;
};
struct cost_life cost_estimate_life(const struct cost_estimate *estimate, uint32_t value);
uint32_t cost_estimate_steps(const struct cost_estimate *estimate);
#endif

/* Times of single ops without a local program: what planners that price ops one by one ask. Nothing fuses here but by
 * the estimate's own rule; the real price of a plan is price_local's. Immutable once created; shared by threads. */
#ifndef TOAST_COST_ESTIMATE_H
#define TOAST_COST_ESTIMATE_H

#include "cost/machine.h"

struct cost_estimate;
struct cost_estimate *cost_estimate_create(const struct nda *n, const struct cost_machine *machine);
void cost_estimate_destroy(struct cost_estimate *s);

/* One run of the op on one device, in picoseconds: a matmul whose FLOPs are divided by `shards` and that reads and writes
 * the given bytes; of other kernels the bytes that a chain of fused ones would move for it. */
int64_t cost_estimate_op(const struct cost_estimate *s, uint32_t op, int64_t shards, int64_t operand_bytes,
                         int64_t result_bytes);
/* What no local program can do the op in less than: FLOPs alone; 0 of everything but matmuls. */
int64_t cost_estimate_floor(const struct cost_estimate *s, uint32_t op, int64_t shards);

enum cost_storage {
    COST_STORED,  /* its results take memory of their own */
    COST_ALIAS,   /* its result is its operand's buffer, which it keeps alive */
    COST_UNSTORED /* computed where it is used */
};
enum cost_storage cost_estimate_storage(const struct cost_estimate *s, uint32_t op);

#endif

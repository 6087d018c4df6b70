/* The makespan of a pricing, before its memory where that is all that need be known (beaten.c). */
#ifndef TOAST_COST_BEATEN_H
#define TOAST_COST_BEATEN_H

#include "cost/internal.h"

/* the makespan of the pricing that is under way: once */
struct price_timed {
    struct price_unfolded *unfolded; /* NULL: not made */
    bool known;                      /* the price has its times */
};
/* Does the machine's compiler order the program to hide collectives? */
static inline bool price_hides(const struct cost_machine *machine)
{
    return machine->asynchronous && machine->backend->hides;
}
/* before the memory: is the step beyond beaten_ps, whatever the plan holds? Then *out has the times, or those
 * of price_sum_kernels where they are enough to know. */
bool price_is_beaten(struct price_scratch *scratch, const struct spmd_local *local,
                     const struct cost_machine *machine, struct price_timed *timed, struct price *out);
/* the times of the kernels in their order, of a fold as all layers have them; nothing else of *out changes */
void price_time(struct price_scratch *scratch, const struct spmd_local *local,
                const struct cost_machine *machine, struct price_timed *timed, struct price *out);
/* price.c: the time of kernels that nobody needs in their order: computations, of a fold those of all layers,
 * and half of what collectives take, which is about as much as computes beside them */
void price_sum_kernels(const struct price_scratch *scratch, const struct spmd_local *local,
                       struct price *out);
/* makespan.c: the makespan of the kernels, once a pricing. trace: NULL, or room for one interval a kernel. */
void price_run_kernels(struct price_scratch *scratch, const struct spmd_local *local,
                       const struct cost_machine *machine, struct price_interval *trace, struct price *out);
/* hidden_time.c: the same of a backend that orders the program to hide collectives */
void price_run_hiding(struct price_scratch *scratch, const struct spmd_local *local,
                      struct price_interval *trace, struct price *out);

#endif

/* What the times of collectives share that the compiler runs as one, although they stand apart in the
 * program: joining.c. In loops, too: those of one body. */
#ifndef TOAST_COST_JOINING_H
#define TOAST_COST_JOINING_H

#include "cost/internal.h"

/* Collectives that run as one: the members of a tuple op, or those that the compiler combines. */
struct joined {
    int64_t bytes, ps; /* what those so far move and take */
    int64_t result_bytes;
    uint32_t axes;   /* bit a: axis a */
    uint32_t number; /* 1 .., of those begun */
    uint32_t first;  /* the kernel that it was begun for */
    uint8_t kind, role;
};
enum { JOINED_KINDS = 16 }; /* kinds x sets of axes x roles that wait at a time; more start anew */
/* times of collectives that were asked for: those of equal layers are asked for again and again */
enum { KNOWN_TIMES = 8 };
struct known_time {
    int64_t bytes, ps; /* bytes 0: none */
    uint8_t kind, axis_count, axes[MESH_MAX_AXES];
};
struct joining {
    struct joined tuple, alone, open[JOINED_KINDS];
    struct known_time known[KNOWN_TIMES]; /* of one machine */
    uint32_t count, begun;
    /* 1 + the first and the last of the chain's all_reduces that run as one; 0: none since the last mark */
    uint32_t chain_first, chain_last;
};
enum tuple_place { TUPLE_NONE, TUPLE_FIRST, TUPLE_NEXT }; /* among the members of a tuple op */

/* that one collective moves, as cost_collective_price counts them */
int64_t price_collective_bytes(const struct spmd_local *local, const struct spmd_step *step);
/* Before any of the others: which buffers are of weights alone; of what a loop carries after any number of
 * turns. */
void price_note_weights(struct price_scratch *scratch, const struct spmd_local *local);
/* Sets `beside` of the kernel: two sums that products wait for run as one where nothing between them reads
 * the first (a batch norm's). */
void price_note_beside(struct price_scratch *scratch, const struct spmd_local *local,
                       const struct cost_machine *machine, uint32_t at, struct joining *joining);
/* Sets what the collective `at` of the kernels takes beside those that it runs with, in the order of the
 * calls, its `joined` or `led_by`: of gathers that run as one the first takes all of their time. The kernel's
 * step is a step of local. */
void price_collective(const struct price_scratch *scratch, const struct spmd_local *local,
                      const struct cost_machine *machine, struct kernel *kernels, uint32_t at,
                      enum tuple_place place, struct joining *joining);

#endif

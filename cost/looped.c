/* Loops that send nothing: collectives run beside them, as beside any computation (random numbers, scans),
 * and are combined across them. */
#include "cost/internal.h"

void price_find_looped(struct price_scratch *scratch, const struct spmd_local *local)
{
    enum { DEPTH = 16 };
    uint32_t open[DEPTH], depth = 0, sent = 0; /* sent: 1 + the last kernel that lets no loop around it be */
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        uint8_t kind = local->steps[scratch->kernels[i].step].kind;
        scratch->kernels[i].looped = false;
        if (kind == SPMD_LOOP) {
            if (depth < DEPTH)
                open[depth] = i;
            depth++;
        } else if (kind == SPMD_LOOP_END && depth > 0) {
            uint32_t first = --depth < DEPTH ? open[depth] : i;
            for (uint32_t k = first; sent <= first && k < i + 1 && first < i; k++)
                scratch->kernels[k].looped = true;
        } else if (!step_is_local(kind) && kind != SPMD_LOOP_BODY) {
            sent = i + 1;
        }
    }
}

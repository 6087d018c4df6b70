/* What libtpu's gathers read: see gathered.h. */
#include "cost/gathered.h"

bool price_gathers_tiles(const struct spmd_local *local, const struct spmd_step *gather)
{
    int64_t block = price_innermost_size(local, local->operands[gather->operands]);
    return block == price_innermost_size(local, gather->results) || block % TILE_LANES == 0;
}

int64_t price_gathered_copy(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *step)
{
    if (!(scratch->rules & COST_FUSE_PRODUCTS) || step->kind != SPMD_OP ||
        step_info(scratch, step)->class != OP_GATHER)
        return 0;
    uint32_t from = local->operands[step->operands], buffer = buffer_of(scratch, from),
             made = buffer == NDA_NONE ? SPMD_NONE : local->values[buffer].step;
    if (made != SPMD_NONE && local->steps[made].kind == SPMD_ALL_GATHER)
        return price_gathers_tiles(local, &local->steps[made]) ? 0 : stored_bytes(scratch, local, buffer);
    return scratch->values[from].state == VALUE_FUSED ? local->values[from].bytes : 0;
}

/* does a kernel sum up, column by column, what it computes of all that the value is computed of? */
static bool is_summed_by_column(const struct price_scratch *scratch, const struct spmd_local *local,
                                const struct value_work *value)
{
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        const struct kernel *kernel = &scratch->kernels[i];
        if (!(kernel->traits & KERNEL_REDUCES) || !step_info(scratch, &local->steps[kernel->step])->columns)
            continue;
        uint32_t read = 0;
        for (uint32_t r = kernel->roots; r < kernel->roots + kernel->root_count; r++)
            for (uint32_t v = value->roots; v < value->roots + value->root_count; v++)
                read += scratch->pool[r].value == scratch->pool[v].value;
        if (read == value->root_count)
            return true;
    }
    return false;
}

uint32_t price_gathered_by(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step)
{
    const struct value_work *from = &scratch->values[local->operands[step->operands]];
    uint32_t by = local->values[step->results].step;
    int64_t most = 0;
    if (from->state == VALUE_FUSED && from->root_count > 1 && is_summed_by_column(scratch, local, from))
        return by;
    for (uint32_t r = from->roots; from->state == VALUE_FUSED && r < from->roots + from->root_count; r++) {
        uint32_t made = local->values[scratch->pool[r].value].step;
        if (made == SPMD_NONE || scratch->pool[r].bytes <= most)
            continue;
        most = scratch->pool[r].bytes;
        by = made;
    }
    return by;
}

enum { GATHER_HOPS = 4 };
bool price_gather_waits(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *gather)
{
    uint32_t value = gather->results;
    for (int hop = 0; hop < GATHER_HOPS && scratch->uses[value].uses == 1; hop++) {
        const struct spmd_step *user = &local->steps[scratch->uses[value].user];
        if (user->kind == SPMD_ALL_REDUCE || user->result_count != 1)
            return user->kind == SPMD_ALL_REDUCE;
        value = user->results;
    }
    return false;
}

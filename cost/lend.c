/* Results' memory before they are written. It serves temporaries that fit in: from the beginning, or, of a
 * result that takes an argument's buffer, since that was read for the last time; until the first of the
 * buffers that become the result.
 *
 *   time          0        home_free                  written_at         end
 *   result        |argument|......... lent ...........|#### the result ###|
 *   temporary          .        |###### fits ######|        takes no memory of its own
 *
 * The largest results lend first, to the largest temporaries first, each place to one at a time. */
#include "cost/internal.h"

#include <stdlib.h>

enum {
    LENDERS = 8,       /* the largest results; others lend nothing. Chosen, not tuned */
    SMALLEST_PART = 64 /* what is smaller than a 64th of one stays out: it would cost time and save little */
};

/* a result's memory while it holds nothing, or what may lie in it: a buffer, or the blocks of one before
 * they are in order */
struct lender {
    struct live_range free;
    uint32_t value;
    bool blocks;
    int64_t bytes;
};

static int larger_lender(const void *left, const void *right)
{
    const struct lender *lender = left, *other_lender = right;
    return lender->bytes != other_lender->bytes ? (lender->bytes < other_lender->bytes ? 1 : -1)
           : lender->free.from != other_lender->free.from
               ? (lender->free.from < other_lender->free.from ? -1 : 1)
           : lender->free.until != other_lender->free.until
               ? (lender->free.until < other_lender->free.until ? -1 : 1)
           : lender->blocks != other_lender->blocks ? (lender->blocks ? -1 : 1)
           : lender->value < other_lender->value    ? -1
                                                    : lender->value > other_lender->value;
}

struct tenants {
    VEC(struct lender) fit;
    VEC(struct live_range) placed;
};

static bool may_lie_in(const struct lender *tenant, const struct lender *result)
{
    return tenant->free.from < tenant->free.until && tenant->free.from >= result->free.from &&
           tenant->free.until <= result->free.until && tenant->bytes <= result->bytes;
}

static bool overlaps(struct live_range live_range, struct live_range other_live_range)
{
    return live_range.from < other_live_range.until && other_live_range.from < live_range.until;
}

/* everything that the kernels of a range begin and that is gone when it ends, by size */
static void find_tenants(const struct price_scratch *scratch, const struct spmd_local *local,
                         const struct lender *result, struct tenants *out)
{
    int64_t least = result->bytes / SMALLEST_PART;
    out->fit.count = out->placed.count = 0;
    for (uint32_t i = result->free.from; i < result->free.until; i++) {
        const struct spmd_step *step = step_at(scratch, local, i);
        for (uint32_t value = step->results; value < step->results + step->result_count; value++) {
            struct lender tenant = {scratch->ranges[value], value, false,
                                    stored_bytes(scratch, local, value)};
            if (is_buffer(scratch, value) && may_lie_in(&tenant, result) && tenant.bytes >= least)
                VEC_PUSH(&out->fit, tenant);
        }
        int64_t copied =
            step->combined ? 0 : price_held_copy(scratch, local, step); /* a tuple's are not counted */
        struct lender blocks = {{i, i + 1}, step->results, true, copied};
        if (blocks.bytes && blocks.bytes >= least && !scratch->values[step->results].lent &&
            may_lie_in(&blocks, result))
            VEC_PUSH(&out->fit, blocks);
    }
    if (out->fit.count)
        qsort(out->fit.at, out->fit.count, sizeof *out->fit.at, larger_lender);
}

/* first fit, largest first */
static void lend(struct price_scratch *scratch, const struct spmd_local *local, const struct lender *result,
                 struct tenants *tenants)
{
    find_tenants(scratch, local, result, tenants);
    for (size_t i = 0; i < tenants->fit.count; i++) {
        const struct lender *lender = &tenants->fit.at[i];
        bool taken = false;
        for (size_t k = 0; k < tenants->placed.count && !taken; k++)
            taken = overlaps(tenants->placed.at[k], lender->free);
        if (taken)
            continue;
        VEC_PUSH(&tenants->placed, lender->free);
        add_range(scratch, part_of(scratch, local, &local->steps[local->values[lender->value].step]),
                  -lender->bytes, lender->free);
        if (lender->blocks)
            scratch->values[lender->value].lent = 1;
        else
            scratch->ranges[lender->value] = (struct live_range){0, 0};
    }
}

/* what was in a buffer's memory right before it, on the way to the same result; NDA_NONE: nothing */
static uint32_t predecessor(const struct price_scratch *scratch, const struct spmd_local *local,
                            uint32_t buffer)
{
    uint32_t step = local->values[buffer].step, before = NDA_NONE;
    const struct spmd_step *entry = &local->steps[step];
    if (entry->kind == SPMD_LOOP_END)
        before =
            local->steps[scratch->loop_end[step]].results + entry->result_count + (buffer - entry->results);
    else if (entry->kind == SPMD_LOOP)
        before = buffer_of(
            scratch, local->operands[entry->operands + (buffer - entry->results) % entry->operand_count]);
    else if (entry->kind == SPMD_OP && step_info(scratch, entry)->class == OP_UPDATE)
        before = buffer_of(scratch, price_written_into(scratch, local, entry));
    bool homed = before != NDA_NONE && before >= local->argument_count && is_buffer(scratch, before) &&
                 scratch->values[before].homed;
    return homed ? before : NDA_NONE;
}

/* when a result's memory begins to hold what becomes the result */
static uint32_t written_at(const struct price_scratch *scratch, const struct spmd_local *local,
                           uint32_t buffer)
{
    for (uint32_t before; (before = predecessor(scratch, local, buffer)) != NDA_NONE;)
        buffer = before;
    uint32_t step = local->values[buffer].step;
    return scratch->at[local->steps[step].kind == SPMD_BRANCH_END ? scratch->loop_end[step] : step];
}

void price_lend(struct price_scratch *scratch, const struct spmd_local *local, int64_t boundary_bytes)
{
    struct lender largest[LENDERS + 1];
    struct tenants tenants = {0};
    uint32_t count = 0;
    const struct spmd_step *step = local->step_count ? &local->steps[local->step_count - 1] : NULL;
    for (uint32_t operand = 0; step && step->kind == SPMD_RESULT && operand < step->operand_count;
         operand++) {
        uint32_t value = local->operands[step->operands + operand], buffer = buffer_of(scratch, value);
        if (buffer == NDA_NONE || buffer < local->argument_count || !scratch->values[buffer].homed ||
            local->values[value].bytes < boundary_bytes / SMALLEST_PART)
            continue;
        struct live_range free = {scratch->values[buffer].home_free, written_at(scratch, local, buffer)};
        if (free.from >= free.until)
            continue;
        largest[count++] = (struct lender){free, value, false, local->values[value].bytes};
        qsort(largest, count, sizeof *largest, larger_lender);
        count = count > LENDERS ? LENDERS : count;
    }
    for (uint32_t i = 0; i < count; i++)
        lend(scratch, local, &largest[i], &tenants);
    VEC_FREE(&tenants.fit);
    VEC_FREE(&tenants.placed);
}

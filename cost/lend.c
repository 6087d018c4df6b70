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

static int larger_lender(const void *a, const void *b)
{
    const struct lender *x = a, *y = b;
    return x->bytes != y->bytes             ? (x->bytes < y->bytes ? 1 : -1)
           : x->free.from != y->free.from   ? (x->free.from < y->free.from ? -1 : 1)
           : x->free.until != y->free.until ? (x->free.until < y->free.until ? -1 : 1)
           : x->blocks != y->blocks         ? (x->blocks ? -1 : 1)
           : x->value < y->value            ? -1
                                            : x->value > y->value;
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

static bool overlaps(struct live_range a, struct live_range b)
{
    return a.from < b.until && b.from < a.until;
}

/* everything that the kernels of a range begin and that is gone when it ends, by size */
static void find_tenants(const struct price_scratch *s, const struct spmd_local *l,
                         const struct lender *result, struct tenants *out)
{
    int64_t least = result->bytes / SMALLEST_PART;
    out->fit.count = out->placed.count = 0;
    for (uint32_t i = result->free.from; i < result->free.until; i++) {
        const struct spmd_step *t = step_at(s, l, i);
        for (uint32_t v = t->results; v < t->results + t->result_count; v++) {
            struct lender tenant = {s->ranges[v], v, false, l->values[v].bytes};
            if (is_buffer(s, v) && may_lie_in(&tenant, result) && tenant.bytes >= least)
                VEC_PUSH(&out->fit, tenant);
        }
        int64_t copied = t->combined ? 0 : price_ordered_copy(s, l, t); /* a tuple's are not counted */
        struct lender blocks = {{i, i + 1}, t->results, true, copied};
        if (blocks.bytes && blocks.bytes >= least && !s->values[t->results].lent &&
            may_lie_in(&blocks, result))
            VEC_PUSH(&out->fit, blocks);
    }
    if (out->fit.count)
        qsort(out->fit.at, out->fit.count, sizeof *out->fit.at, larger_lender);
}

/* first fit, largest first */
static void lend(struct price_scratch *s, const struct spmd_local *l, const struct lender *result,
                 struct tenants *tenants)
{
    find_tenants(s, l, result, tenants);
    for (size_t i = 0; i < tenants->fit.count; i++) {
        const struct lender *t = &tenants->fit.at[i];
        bool taken = false;
        for (size_t k = 0; k < tenants->placed.count && !taken; k++)
            taken = overlaps(tenants->placed.at[k], t->free);
        if (taken)
            continue;
        VEC_PUSH(&tenants->placed, t->free);
        add_range(s, -t->bytes, t->free);
        if (t->blocks)
            s->values[t->value].lent = 1;
        else
            s->ranges[t->value] = (struct live_range){0, 0};
    }
}

/* what was in a buffer's memory right before it, on the way to the same result; NDA_NONE: nothing */
static uint32_t predecessor(const struct price_scratch *s, const struct spmd_local *l, uint32_t buffer)
{
    uint32_t step = l->values[buffer].step, before = NDA_NONE;
    const struct spmd_step *t = &l->steps[step];
    if (t->kind == SPMD_LOOP_END)
        before = l->steps[s->loop_end[step]].results + t->result_count + (buffer - t->results);
    else if (t->kind == SPMD_LOOP)
        before = buffer_of(s, l->operands[t->operands + (buffer - t->results) % t->operand_count]);
    else if (t->kind == SPMD_OP && step_info(s, t)->class == OP_UPDATE)
        before = buffer_of(s, l->operands[t->operands]);
    bool homed =
        before != NDA_NONE && before >= l->argument_count && is_buffer(s, before) && s->values[before].homed;
    return homed ? before : NDA_NONE;
}

/* when a result's memory begins to hold what becomes the result */
static uint32_t written_at(const struct price_scratch *s, const struct spmd_local *l, uint32_t buffer)
{
    for (uint32_t before; (before = predecessor(s, l, buffer)) != NDA_NONE;)
        buffer = before;
    uint32_t step = l->values[buffer].step;
    return s->at[l->steps[step].kind == SPMD_BRANCH_END ? s->loop_end[step] : step];
}

void price_lend(struct price_scratch *s, const struct spmd_local *l, int64_t boundary_bytes)
{
    struct lender largest[LENDERS + 1];
    struct tenants tenants = {0};
    uint32_t count = 0;
    const struct spmd_step *t = l->step_count ? &l->steps[l->step_count - 1] : NULL;
    for (uint32_t r = 0; t && t->kind == SPMD_RESULT && r < t->operand_count; r++) {
        uint32_t value = l->operands[t->operands + r], buffer = buffer_of(s, value);
        if (buffer == NDA_NONE || buffer < l->argument_count || !s->values[buffer].homed ||
            l->values[value].bytes < boundary_bytes / SMALLEST_PART)
            continue;
        struct live_range free = {s->values[buffer].home_free, written_at(s, l, buffer)};
        if (free.from >= free.until)
            continue;
        largest[count++] = (struct lender){free, value, false, l->values[value].bytes};
        qsort(largest, count, sizeof *largest, larger_lender);
        count = count > LENDERS ? LENDERS : count;
    }
    for (uint32_t i = 0; i < count; i++)
        lend(s, l, &largest[i], &tenants);
    VEC_FREE(&tenants.fit);
    VEC_FREE(&tenants.placed);
}

/* Places of temporaries: what lies idle between them.
 *
 * libtpu gives every buffer a place when the program comes to it: the smallest hole that it fits in, of
 * equals the lowest, or behind everything that is in use. Nothing is moved afterwards. So the heap takes more
 * than what is alive at the same time:
 *
 *   time      0        1        2        3
 *             |aaaa|bb|         |aaaa|  |ccccccc|       c is longer than the hole that b left
 *   extent    6        6        4 ..
 *
 * A buffer that is written over another one keeps its place. Read in what libtpu 0.0.51 assigned: of 44
 * programs' buffers of a hundredth of the heap and more 82 % lie where this rule puts them.
 *
 * A fold's heap is that of the layers that it has. Nothing allocates once the arrays have grown. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

enum { NO_BLOCK = 0 }; /* blocks are numbered from 1 on */

struct block {
    int64_t at, bytes;
    uint32_t until;
    uint32_t next_begun, next_ended; /* of those that begin, end at the same time */
    uint32_t value;                  /* NDA_NONE: of none */
    bool placed;
};

struct hole {
    int64_t at, bytes;
};

/* other memory than buffers */
struct extra {
    uint32_t blocks_of; /* a value; or NDA_NONE */
    int64_t bytes;
    struct live_range live_range;
};

struct price_heap {
    VEC(struct block) blocks;
    VEC(struct hole) holes; /* by place; none touches another one or the end */
    VEC(struct extra) extras;
    int64_t end;             /* of the last block in use */
    uint32_t *begun, *ended; /* per time: a block, or NO_BLOCK */
    size_t begun_room, ended_room;
    uint32_t *heirs; /* per value: 1 + what is written where it lies; 0: nothing */
    size_t heir_room;
    int64_t *extents; /* per time */
    size_t extent_room;
};

void price_heap_destroy(struct price_heap *heap)
{
    if (!heap)
        return;
    VEC_FREE(&heap->blocks);
    VEC_FREE(&heap->holes);
    VEC_FREE(&heap->extras);
    free(heap->begun);
    free(heap->ended);
    free(heap->heirs);
    free(heap->extents);
    free(heap);
}

void price_heap_begin(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (!scratch->best_fit)
        return;
    if (!scratch->heap)
        scratch->heap = mem_zalloc(1, sizeof *scratch->heap);
    struct price_heap *heap = scratch->heap;
    heap->extras.count = 0;
    GROW(heap->heirs, heap->heir_room, local->value_count + 1);
    memset(heap->heirs, 0, ((size_t)local->value_count + 1) * sizeof *heap->heirs);
}

void price_heap_add(struct price_scratch *scratch, uint32_t blocks_of, int64_t bytes,
                    struct live_range live_range)
{
    if (bytes && scratch->best_fit)
        VEC_PUSH(&scratch->heap->extras, ((struct extra){blocks_of, bytes, live_range}));
}

void price_heap_inherit(struct price_scratch *scratch, uint32_t donor, uint32_t value)
{
    if (scratch->best_fit)
        scratch->heap->heirs[donor] = value + 1;
}

/* ---------------------------------------------------------------- blocks */
static void add_block(struct price_heap *heap, uint32_t value, int64_t bytes, struct live_range live_range)
{
    if (live_range.from >= live_range.until || !bytes)
        return;
    VEC_PUSH(&heap->blocks, ((struct block){.bytes = bytes,
                                            .until = live_range.until,
                                            .value = value,
                                            .next_begun = heap->begun[live_range.from]}));
    heap->begun[live_range.from] = (uint32_t)heap->blocks.count - 1;
}

/* all blocks, in lists by when they begin; those of one time: copies of arguments, what is no buffer, then
 * buffers in the order of the program */
static void find_blocks(struct price_scratch *scratch, const struct spmd_local *local)
{
    struct price_heap *heap = scratch->heap;
    size_t times = scratch->kernel_count + 2;
    GROW(heap->begun, heap->begun_room, times);
    GROW(heap->ended, heap->ended_room, times);
    GROW(heap->extents, heap->extent_room, times);
    memset(heap->begun, 0, times * sizeof *heap->begun);
    memset(heap->ended, 0, times * sizeof *heap->ended);
    heap->blocks.count = heap->holes.count = 0;
    heap->end = 0;
    VEC_PUSH(&heap->blocks, ((struct block){.bytes = 0})); /* NO_BLOCK */
    for (size_t kernel = scratch->kernel_count; kernel-- > 0;) {
        const struct spmd_step *step = step_at(scratch, local, (uint32_t)kernel);
        for (uint32_t value = step->results + step->result_count; value-- > step->results;)
            if (is_buffer(scratch, value))
                add_block(heap, value, stored_bytes(scratch, local, value), scratch->ranges[value]);
    }
    for (size_t i = heap->extras.count; i-- > 0;) {
        const struct extra *extra = &heap->extras.at[i];
        if (extra->blocks_of == NDA_NONE || !scratch->values[extra->blocks_of].lent)
            add_block(heap, NDA_NONE, extra->bytes, extra->live_range);
    }
    for (uint32_t argument = 0; argument < local->argument_count; argument++) /* copies of them */
        if (scratch->ranges[argument].until)
            add_block(heap, argument, scratch->copied_bytes[argument], scratch->ranges[argument]);
}

/* ---------------------------------------------------------------- places */
/* the smallest hole of so many bytes; or the number of holes */
static size_t best_hole(const struct price_heap *heap, int64_t bytes)
{
    size_t best = heap->holes.count;
    for (size_t i = 0; i < heap->holes.count; i++)
        if (heap->holes.at[i].bytes >= bytes &&
            (best == heap->holes.count || heap->holes.at[i].bytes < heap->holes.at[best].bytes))
            best = i;
    return best;
}

static void remove_hole(struct price_heap *heap, size_t i)
{
    heap->holes.count--;
    memmove(heap->holes.at + i, heap->holes.at + i + 1, (heap->holes.count - i) * sizeof *heap->holes.at);
}

static void place(struct price_heap *heap, struct block *block)
{
    size_t i = best_hole(heap, block->bytes);
    if (i == heap->holes.count) {
        block->at = heap->end;
        heap->end += block->bytes;
        return;
    }
    struct hole *hole = &heap->holes.at[i];
    block->at = hole->at;
    hole->at += block->bytes;
    hole->bytes -= block->bytes;
    if (!hole->bytes)
        remove_hole(heap, i);
}

static void give_back(struct price_heap *heap, const struct block *block)
{
    struct hole gone = {block->at, block->bytes};
    size_t i = heap->holes.count;
    while (i > 0 && heap->holes.at[i - 1].at > gone.at)
        i--;
    if (i < heap->holes.count && heap->holes.at[i].at == gone.at + gone.bytes) {
        gone.bytes += heap->holes.at[i].bytes;
        remove_hole(heap, i);
    }
    if (i > 0 && heap->holes.at[i - 1].at + heap->holes.at[i - 1].bytes == gone.at) {
        gone.at = heap->holes.at[i - 1].at;
        gone.bytes += heap->holes.at[i - 1].bytes;
        remove_hole(heap, --i);
    }
    if (gone.at + gone.bytes == heap->end) {
        heap->end = gone.at;
        return;
    }
    VEC_PUSH(&heap->holes, gone);
    memmove(heap->holes.at + i + 1, heap->holes.at + i, (heap->holes.count - 1 - i) * sizeof *heap->holes.at);
    heap->holes.at[i] = gone;
}

/* the block that begins now for the value; or NO_BLOCK */
static uint32_t begun_now(const struct price_heap *heap, uint32_t time, uint32_t value)
{
    uint32_t block = heap->begun[time];
    while (block != NO_BLOCK && heap->blocks.at[block].value != value)
        block = heap->blocks.at[block].next_begun;
    return block;
}

/* a block's place is free, or has what is written over it from now on */
static void end_block(struct price_heap *heap, uint32_t time, struct block *block)
{
    uint32_t heir = block->value == NDA_NONE ? 0 : heap->heirs[block->value],
             other = heir ? begun_now(heap, time, heir - 1) : NO_BLOCK;
    if (other == NO_BLOCK || heap->blocks.at[other].bytes > block->bytes) {
        give_back(heap, block);
        return;
    }
    struct block *next = &heap->blocks.at[other];
    next->at = block->at;
    if (next->bytes < block->bytes) {
        struct block rest = {.at = block->at + next->bytes, .bytes = block->bytes - next->bytes};
        give_back(heap, &rest);
    }
    next->placed = true;
}

const int64_t *price_heap_extents(struct price_scratch *scratch, const struct spmd_local *local)
{
    find_blocks(scratch, local);
    struct price_heap *heap = scratch->heap;
    for (uint32_t time = 0; time < scratch->kernel_count; time++) {
        for (uint32_t i = heap->ended[time]; i != NO_BLOCK; i = heap->blocks.at[i].next_ended)
            end_block(heap, time, &heap->blocks.at[i]);
        for (uint32_t i = heap->begun[time]; i != NO_BLOCK; i = heap->blocks.at[i].next_begun) {
            struct block *block = &heap->blocks.at[i];
            if (!block->placed)
                place(heap, block);
            block->next_ended = heap->ended[block->until];
            heap->ended[block->until] = i;
        }
        heap->extents[time] = heap->end;
    }
    return heap->extents;
}

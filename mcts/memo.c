/* Prices known to this process: an open-addressed table, the 128-bit plan hash as key, so that its low bits
 * serve as the slot. Nothing is ever dropped; entries are exact, so a hit changes how long a pricing takes,
 * never its result.
 *
 *   slots    [ 0 | 3 | 0 | 1 | 2 | .. ]   entry index + 1, 0 = free; at most half full, doubled then
 *   entries  [ e0 | e1 | e2 | .. ] */
#include "mcts/core.h"

#include <pthread.h>
#include <stdlib.h>

struct entry {
    struct hash128 hash;
    struct price price;
    struct cost cost;
};
struct core_memo {
    pthread_mutex_t lock;
    VEC(struct entry) entries;
    uint32_t *slots, slot_count;
};

struct core_memo *core_memo_create(void)
{
    struct core_memo *memo = mem_zalloc(1, sizeof *memo);
    pthread_mutex_init(&memo->lock, NULL);
    memo->slot_count = 1024;
    memo->slots = mem_zalloc(memo->slot_count, sizeof *memo->slots);
    return memo;
}

void core_memo_destroy(struct core_memo *memo)
{
    if (!memo)
        return;
    pthread_mutex_destroy(&memo->lock);
    VEC_FREE(&memo->entries);
    free(memo->slots);
    free(memo);
}

static uint32_t slot_of(const struct core_memo *memo, struct hash128 hash)
{
    uint32_t i = (uint32_t)hash.lo & (memo->slot_count - 1);
    while (memo->slots[i] && hash128_compare(memo->entries.at[memo->slots[i] - 1].hash, hash) != 0)
        i = (i + 1) & (memo->slot_count - 1);
    return i;
}

bool core_memo_find(struct core_memo *memo, struct hash128 hash, struct price *price, struct cost *cost)
{
    pthread_mutex_lock(&memo->lock);
    uint32_t s = memo->slots[slot_of(memo, hash)];
    if (s) {
        *price = memo->entries.at[s - 1].price;
        *cost = memo->entries.at[s - 1].cost;
    }
    pthread_mutex_unlock(&memo->lock);
    return s != 0;
}

void core_memo_put(struct core_memo *memo, struct hash128 hash, const struct price *price, struct cost cost)
{
    pthread_mutex_lock(&memo->lock);
    uint32_t i = slot_of(memo, hash);
    if (!memo->slots[i]) {
        struct entry fresh = {hash, *price, cost};
        VEC_PUSH(&memo->entries, fresh);
        memo->slots[i] = (uint32_t)memo->entries.count;
        if (memo->entries.count * 2 > memo->slot_count) {
            free(memo->slots);
            memo->slot_count *= 2;
            memo->slots = mem_zalloc(memo->slot_count, sizeof *memo->slots);
            for (uint32_t k = 0; k < memo->entries.count; k++)
                memo->slots[slot_of(memo, memo->entries.at[k].hash)] = k + 1;
        }
    }
    pthread_mutex_unlock(&memo->lock);
}

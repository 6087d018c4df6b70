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
    struct core_memo *m = mem_zalloc(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->slot_count = 1024;
    m->slots = mem_zalloc(m->slot_count, sizeof *m->slots);
    return m;
}

void core_memo_destroy(struct core_memo *m)
{
    if (!m)
        return;
    pthread_mutex_destroy(&m->lock);
    VEC_FREE(&m->entries);
    free(m->slots);
    free(m);
}

static uint32_t slot_of(const struct core_memo *m, struct hash128 hash)
{
    uint32_t i = (uint32_t)hash.lo & (m->slot_count - 1);
    while (m->slots[i] && hash128_compare(m->entries.at[m->slots[i] - 1].hash, hash) != 0)
        i = (i + 1) & (m->slot_count - 1);
    return i;
}

bool core_memo_find(struct core_memo *m, struct hash128 hash, struct price *price, struct cost *cost)
{
    pthread_mutex_lock(&m->lock);
    uint32_t s = m->slots[slot_of(m, hash)];
    if (s) {
        *price = m->entries.at[s - 1].price;
        *cost = m->entries.at[s - 1].cost;
    }
    pthread_mutex_unlock(&m->lock);
    return s != 0;
}

void core_memo_put(struct core_memo *m, struct hash128 hash, const struct price *price, struct cost cost)
{
    pthread_mutex_lock(&m->lock);
    uint32_t i = slot_of(m, hash);
    if (!m->slots[i]) {
        struct entry fresh = {hash, *price, cost};
        VEC_PUSH(&m->entries, fresh);
        m->slots[i] = (uint32_t)m->entries.count;
        if (m->entries.count * 2 > m->slot_count) {
            free(m->slots);
            m->slot_count *= 2;
            m->slots = mem_zalloc(m->slot_count, sizeof *m->slots);
            for (uint32_t k = 0; k < m->entries.count; k++)
                m->slots[slot_of(m, m->entries.at[k].hash)] = k + 1;
        }
    }
    pthread_mutex_unlock(&m->lock);
}

/* What the targets of the search share: a small search on an artificial landscape, and a header put right. */
#ifndef TOAST_TESTS_FUZZ_SEARCH_H
#define TOAST_TESTS_FUZZ_SEARCH_H

#include "fuzz.h"

#include "../mcts/landscape.h"

static inline struct search *fuzz_search(void)
{
    struct search *search;
    struct search_options options = {.seed = 3, .rollouts = 64, .parallelism = 2};
    struct error e = {0};
    (void)land_exhaust;
    FUZZ_CHECK(search_create_on(land_create(11, 6), &options, &search, &e) == ERROR_OK);
    return search;
}

/* size, checksum and the search's identity, as in the head of snapshot.c; owned */
static inline unsigned char *fuzz_mend(const struct search *search, const uint8_t *data, size_t size,
                                       uint64_t magic)
{
    unsigned char *copy = mem_alloc(size ? size : 1);
    memcpy(copy, data, size);
    if (size < 32)
        return copy;
    uint64_t length = size, sum;
    memcpy(copy, &magic, 8);
    memcpy(copy + 8, &length, 8);
    memcpy(copy + 24, &search->id, 8);
    sum = hash_bytes(copy + 24, size - 24, size);
    memcpy(copy + 16, &sum, 8);
    return copy;
}

#endif

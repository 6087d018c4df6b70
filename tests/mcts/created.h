/* Searches on artificial landscapes, and copies of what they pass on. */
#ifndef TOAST_TESTS_CREATED_H
#define TOAST_TESTS_CREATED_H

#include "support.h"

#include "landscape.h"

static inline struct search_blob copy(struct search_blob blob)
{
    struct search_blob search_blob = {mem_alloc(blob.size), blob.size};
    memcpy(search_blob.bytes, blob.bytes, blob.size);
    return search_blob;
}

static inline struct search *create(uint64_t land_seed, uint32_t groups, struct search_options options)
{
    struct search *search;
    struct error e;
    ASSERT_OK(search_create_on(land_create(land_seed, groups), &options, &search, &e), &e);
    return search;
}

#endif

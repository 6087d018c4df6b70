/* See sets.h. */
#include "base/sets.h"

#include "base/memory.h"

uint32_t set_find(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

void set_join(uint32_t *parent, uint32_t a, uint32_t b)
{
    a = set_find(parent, a);
    b = set_find(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

uint32_t *set_create(uint32_t count)
{
    uint32_t *parent = mem_alloc(sizeof *parent * ((size_t)count + 1));
    for (uint32_t i = 0; i < count; i++)
        parent[i] = i;
    return parent;
}

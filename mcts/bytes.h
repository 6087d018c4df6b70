/* Little-endian bytes, written and read with bounds. Reading past the end gives zeros and sets `bad`. */
#ifndef TOAST_MCTS_BYTES_H
#define TOAST_MCTS_BYTES_H

#include <string.h>

#include "base/memory.h"

struct bytes_writer {
    VEC(unsigned char) out;
};
struct bytes_reader {
    const unsigned char *at;
    size_t left;
    int bad;
};

static inline void bytes_put(struct bytes_writer *w, uint64_t x, uint32_t width)
{
    VEC_RESERVE(&w->out, w->out.count + width);
    for (uint32_t i = 0; i < width; i++)
        w->out.at[w->out.count++] = (unsigned char)(x >> 8 * i);
}
static inline uint64_t bytes_get(struct bytes_reader *r, uint32_t width)
{
    if (r->left < width) {
        r->bad = 1;
        r->left = 0;
        return 0;
    }
    uint64_t x = 0;
    for (uint32_t i = 0; i < width; i++)
        x |= (uint64_t)r->at[i] << 8 * i;
    r->at += width;
    r->left -= width;
    return x;
}
static inline int32_t bytes_get_i32(struct bytes_reader *r)
{
    return (int32_t)(uint32_t)bytes_get(r, 4);
}
/* a count of things of at least `least` bytes each that must still be there: no allocation beyond the
 * input's size */
static inline uint32_t bytes_get_count(struct bytes_reader *r, size_t least)
{
    uint64_t n = bytes_get(r, 4);
    if (n * least > r->left) {
        r->bad = 1;
        return 0;
    }
    return (uint32_t)n;
}

#endif

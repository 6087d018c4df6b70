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

static inline void bytes_put(struct bytes_writer *bytes_writer, uint64_t x, uint32_t width)
{
    VEC_RESERVE(&bytes_writer->out, bytes_writer->out.count + width);
    for (uint32_t i = 0; i < width; i++)
        bytes_writer->out.at[bytes_writer->out.count++] = (unsigned char)(x >> 8 * i);
}
static inline uint64_t bytes_get(struct bytes_reader *bytes_reader, uint32_t width)
{
    if (bytes_reader->left < width) {
        bytes_reader->bad = 1;
        bytes_reader->left = 0;
        return 0;
    }
    uint64_t x = 0;
    for (uint32_t i = 0; i < width; i++)
        x |= (uint64_t)bytes_reader->at[i] << 8 * i;
    bytes_reader->at += width;
    bytes_reader->left -= width;
    return x;
}
static inline int32_t bytes_get_i32(struct bytes_reader *bytes_reader)
{
    return (int32_t)(uint32_t)bytes_get(bytes_reader, 4);
}
/* a count of things of at least `least` bytes each that must still be there: no allocation beyond the
 * input's size */
static inline uint32_t bytes_get_count(struct bytes_reader *bytes_reader, size_t least)
{
    uint64_t n = bytes_get(bytes_reader, 4);
    if (n * least > bytes_reader->left) {
        bytes_reader->bad = 1;
        return 0;
    }
    return (uint32_t)n;
}

#endif

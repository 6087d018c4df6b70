/* Copying boxes between strided arrays (verify_copy): what broadcasts, transposes, slices, pads and
 * collectives are made of. Strides are in elements and may be 0 or negative.
 *
 * Dimensions of size 1 are dropped and neighbours that are contiguous in both arrays are merged; the
 * innermost loop is then a memcpy, a fill, or a strided walk specialised by element size. */
#include "verify/value.h"

#include <string.h>

void verify_strides(uint32_t rank, const int64_t *dims, int64_t *strides)
{
    int64_t n = 1;
    for (uint32_t i = rank; i-- > 0;) {
        strides[i] = n;
        n *= dims[i];
    }
}

struct box {
    uint32_t rank;
    int64_t dims[IR_MAX_RANK], to[IR_MAX_RANK], from[IR_MAX_RANK];
};

/* false: the box is empty */
static bool coalesce(struct box *box, uint32_t rank, const int64_t *dims, const int64_t *to,
                     const int64_t *from)
{
    box->rank = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] <= 0)
            return false;
        if (dims[i] == 1)
            continue;
        uint32_t last = box->rank - 1;
        if (box->rank > 0 && box->to[last] == to[i] * dims[i] && box->from[last] == from[i] * dims[i]) {
            box->dims[last] *= dims[i];
            box->to[last] = to[i];
            box->from[last] = from[i];
            continue;
        }
        box->dims[box->rank] = dims[i];
        box->to[box->rank] = to[i];
        box->from[box->rank++] = from[i];
    }
    return true;
}

#define LINE(T)                                                                                              \
    {                                                                                                        \
        T *t = to;                                                                                           \
        const T *f = from;                                                                                   \
        if (ts == 1 && fs == 0) {                                                                            \
            const T x = *f;                                                                                  \
            for (int64_t i = 0; i < n; i++)                                                                  \
                t[i] = x;                                                                                    \
        } else if (ts == 1) {                                                                                \
            for (int64_t i = 0; i < n; i++)                                                                  \
                t[i] = f[i * fs];                                                                            \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++)                                                                  \
                t[i * ts] = f[i * fs];                                                                       \
        }                                                                                                    \
        return;                                                                                              \
    }

struct wide {
    uint64_t at[2];
};

static void copy_line(size_t element, int64_t n, void *to, int64_t ts, const void *from, int64_t fs)
{
    if (ts == 1 && fs == 1) {
        memcpy(to, from, (size_t)n * element);
        return;
    }
    switch (element) {
    case 1: LINE(uint8_t)
    case 4: LINE(uint32_t)
    case 8: LINE(uint64_t)
    default: LINE(struct wide)
    }
}

void verify_copy(size_t element, uint32_t rank, const int64_t *dims, void *to, const int64_t *to_strides,
                 const void *from, const int64_t *from_strides)
{
    struct box box;
    if (!coalesce(&box, rank, dims, to_strides, from_strides))
        return;
    if (box.rank == 0) {
        memcpy(to, from, element);
        return;
    }
    uint32_t inner = box.rank - 1;
    int64_t at[IR_MAX_RANK] = {0};
    char *text = to;
    const char *f = from;
    int64_t size = (int64_t)element;
    for (;;) {
        copy_line(element, box.dims[inner], text, box.to[inner], f, box.from[inner]);
        uint32_t i = inner;
        for (; i-- > 0;) {
            text += box.to[i] * size;
            f += box.from[i] * size;
            if (++at[i] < box.dims[i])
                break;
            text -= box.to[i] * box.dims[i] * size;
            f -= box.from[i] * box.dims[i] * size;
            at[i] = 0;
        }
        if (i == UINT32_MAX)
            return;
    }
}

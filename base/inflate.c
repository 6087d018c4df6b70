/* gzip by zlib, a piece at a time (inflate.h). Holds one zlib state and one buffer, however long the data
 * is. */
#include "base/inflate.h"

#include "base/memory.h"

#include <stdlib.h>
#include <zlib.h>

/* output to input, and the output from which the ratio is looked at (short texts of blanks are no attack) */
enum { RATIO_MAX = 200, RATIO_FROM = 1 << 20 };

/* zlib's windowBits: the largest window, 2^15 bytes, and 16 more for "a gzip header and nothing else" */
enum { GZIP_WINDOW_BITS = 15 + 16 };

struct inflater {
    z_stream z;
    size_t in, out, max_bytes;
    bool ended; /* at the end of a member */
    enum error_code (*sink)(void *user, const void *bytes, size_t size, struct error *e);
    void *user;
};

struct inflater *inflater_create(size_t max_bytes,
                                 enum error_code (*sink)(void *user, const void *bytes, size_t size,
                                                         struct error *e),
                                 void *user)
{
    struct inflater *i = mem_zalloc(1, sizeof *i);
    i->max_bytes = max_bytes;
    i->sink = sink;
    i->user = user;
    BASE_CHECK(inflateInit2(&i->z, GZIP_WINDOW_BITS) == Z_OK);
    return i;
}

void inflater_destroy(struct inflater *i)
{
    if (!i)
        return;
    inflateEnd(&i->z);
    free(i);
}

static enum error_code expand(struct inflater *i, struct error *e)
{
    unsigned char chunk[1 << 15];
    for (;;) {
        i->z.next_out = chunk;
        i->z.avail_out = sizeof chunk;
        size_t before = i->z.avail_in;
        int status = inflate(&i->z, Z_NO_FLUSH);
        size_t made = sizeof chunk - i->z.avail_out;
        i->in += before - i->z.avail_in;
        i->out += made;
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            return error_set(
                e, ERROR_INVALID_GZIP,
                "gzip data is damaged at byte %zu (%s); compress it again, or send it uncompressed", i->in,
                i->z.msg ? i->z.msg : "no gzip");
        if (i->out > i->max_bytes)
            return error_set(e, ERROR_TOO_LARGE, "gzip data expands to more than %zu bytes", i->max_bytes);
        if (i->out > RATIO_FROM && i->out / RATIO_MAX > i->in)
            return error_set(e, ERROR_INVALID_GZIP, "gzip data expands more than %d:1; send it uncompressed",
                             RATIO_MAX);
        enum error_code code = made ? i->sink(i->user, chunk, made, e) : ERROR_OK;
        if (code != ERROR_OK)
            return code;
        i->ended = status == Z_STREAM_END;
        if (i->ended || i->z.avail_out != 0)
            return ERROR_OK;
    }
}

enum error_code inflater_add(struct inflater *i, const void *bytes, size_t size, struct error *e)
{
    i->z.next_in = (Bytef *)(uintptr_t)bytes;
    while (size) {
        size_t part = size > (1u << 30) ? 1u << 30 : size;
        i->z.avail_in = (uInt)part;
        size -= part;
        while (i->z.avail_in) {
            if (i->ended && (*i->z.next_in != 0x1f || inflateReset(&i->z) != Z_OK))
                return error_set(
                    e, ERROR_INVALID_GZIP,
                    "the gzip data ends at byte %zu and other bytes follow; send the gzip data alone", i->in);
            enum error_code code = expand(i, e);
            if (code != ERROR_OK)
                return code;
        }
    }
    return ERROR_OK;
}

enum error_code inflater_finish(struct inflater *i, struct error *e)
{
    return i->ended ? ERROR_OK
                    : error_set(e, ERROR_INVALID_GZIP,
                                "gzip data ends early, after %zu bytes; send the whole of it", i->in);
}

/* zlib's windowBits for a stream without a header: minus the largest window */
enum { RAW_WINDOW_BITS = -15 };

bool inflate_raw(const void *bytes, size_t size, void *out, size_t room)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .next_out = out};
    size_t in = 0, made = 0;
    int status = Z_OK;
    if (inflateInit2(&z, RAW_WINDOW_BITS) != Z_OK)
        return false;
    while (status == Z_OK) {
        /* zlib counts in 32 bits */
        z.avail_in = (uInt)(size - in < 1u << 30 ? size - in : 1u << 30);
        z.avail_out = (uInt)(room - made < 1u << 30 ? room - made : 1u << 30);
        uInt given = z.avail_in, place = z.avail_out;
        status = inflate(&z, Z_NO_FLUSH);
        in += given - z.avail_in;
        made += place - z.avail_out;
        if (given == z.avail_in && place == z.avail_out)
            break;
    }
    inflateEnd(&z);
    return status == Z_STREAM_END && made == room;
}

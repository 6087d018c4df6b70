/* tries: 1000 */
/* gzip: the same verdict and the same bytes however it is cut into pieces; never more than was allowed. */
#include "fuzz.h"

#include "base/inflate.h"

enum { LIMIT = 4 << 20 };
struct output {
    size_t size;
    uint64_t hash;
};

static enum error_code take(void *user, const void *bytes, size_t size, struct error *e)
{
    struct output *output = user;
    const unsigned char *p = bytes;
    (void)e;
    output->size += size;
    for (size_t i = 0; i < size; i++)
        output->hash = (output->hash ^ p[i]) * 0x100000001b3u;
    FUZZ_CHECK(output->size <= LIMIT);
    return ERROR_OK;
}

static enum error_code expand(const uint8_t *data, size_t size, size_t piece, struct output *output)
{
    struct error e = {0};
    struct inflater *i = inflater_create(LIMIT, take, output);
    enum error_code code = ERROR_OK;
    for (size_t at = 0; code == ERROR_OK && at < size; at += piece)
        code = inflater_add(i, data + at, size - at < piece ? size - at : piece, &e);
    if (code == ERROR_OK)
        code = inflater_finish(i, &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0]));
    inflater_destroy(i);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct output whole = {0}, pieces = {0};
    enum error_code a = expand(data, size, size + 1, &whole), b = expand(data, size, 7, &pieces);
    FUZZ_CHECK(a == b);
    FUZZ_CHECK(a != ERROR_OK || (whole.size == pieces.size && whole.hash == pieces.hash));
    return 0;
}

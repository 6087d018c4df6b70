/* Range, If-Range, Prefer and traceparent: text "size\nheader", what is taken lies where it must, whatever
 * was sent. */
/* links: server/http */
#include "fuzz.h"

#include "server/http/headers.h"

enum { WAIT_MAX = 60 };

static void check_range(const char *text, size_t size)
{
    size_t from = 0, length = 0;
    int got = header_range(text, size, &from, &length);
    FUZZ_CHECK(got >= -1 && got <= 1);
    FUZZ_CHECK(got == 0 || strncmp(text, "bytes=", 6) == 0);
    if (got == 1)
        FUZZ_CHECK(length >= 1 && from < size && length <= size - from);
    if (got == -1) /* of nothing; at or behind the end; or the last 0 bytes */
        FUZZ_CHECK(size == 0 || text[6] == '-' || strtoull(text + 6, NULL, 10) >= size);
}

static void check_trace(const char *text)
{
    if (!header_traceparent_valid(text))
        return;
    FUZZ_CHECK(strlen(text) >= 55 && text[2] == '-' && text[35] == '-' && text[52] == '-');
    FUZZ_CHECK(strspn(text + 3, "0123456789abcdef") == 32 && strspn(text + 3, "0") < 32);
    FUZZ_CHECK(strspn(text + 36, "0123456789abcdef") == 16 && strspn(text + 36, "0") < 16);
    FUZZ_CHECK(strlen(text) == 55 || (text[55] == '-' && strncmp(text, "00", 2) != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size), *end, *header;
    unsigned long long of = strtoull(text, &end, 10);
    header = *end == '\n' ? end + 1 : text;
    check_range(header, (size_t)of);
    check_range(header, 10);
    int wait = header_wait_s(header, WAIT_MAX);
    FUZZ_CHECK(wait >= 0 && wait <= WAIT_MAX);
    FUZZ_CHECK(wait == 0 || strchr(header, '='));
    check_trace(header);
    FUZZ_CHECK(header_if_range(NULL, header) && header_if_range(header, header));
    free(text);
    return 0;
}

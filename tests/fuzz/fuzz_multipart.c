/* multipart/form-data: the first line is the Content-Type, the rest the body. Parts lie in the body, in
 * order. */
/* links: server/http */
#include "fuzz.h"

#include "server/http/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    struct part parts[MULTIPART_MAX];
    struct error e = {0};
    size_t count;
    if (!end)
        return 0;
    char *type = mem_strndup((const char *)data, (size_t)(end - data)), *boundary = multipart_boundary(type);
    free(type);
    if (!boundary)
        return 0;
    FUZZ_CHECK(strlen(boundary) >= 1 && strlen(boundary) <= 70);
    size_t length = size - (size_t)(end + 1 - data);
    char *body = mem_alloc(length), *at = body; /* exactly as long as it is */
    memcpy(body, end + 1, length);
    enum error_code code = multipart_parse(body, length, boundary, parts, &count, &e);
    FUZZ_CHECK(code == ERROR_OK || (code == ERROR_MALFORMED && e.message[0]));
    for (size_t i = 0; code == ERROR_OK && i < count; i++) {
        FUZZ_CHECK(parts[i].bytes >= at && parts[i].bytes + parts[i].size <= body + length);
        FUZZ_CHECK(parts[i].name[0] && memchr(parts[i].name, 0, sizeof parts[i].name));
        at = (char *)(uintptr_t)parts[i].bytes + parts[i].size;
    }
    free(body);
    free(boundary);
    return 0;
}

/* Job requests: refused with a place, or taken; what is taken is taken again from its canonical form, which
 * stays. */
#include "fuzz.h"

#include "api/request.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void parse(const uint8_t *data, size_t size, const char *module, bool optional)
{
    struct api_request *request = NULL, *again = NULL;
    struct error e = {0};
    char first[65], second[65];
    enum error_code code = api_request_parse((const char *)data, size, module, optional, &request, &e);
    fuzz_check_error(code, &e, data, size);
    FUZZ_CHECK(code != ERROR_INTERNAL && (code == ERROR_OK) == (request != NULL));
    if (code != ERROR_OK)
        return;
    const char *digest = request->module_digest[0] ? request->module_digest : DIGEST;
    code = api_request_parse(request->canonical, strlen(request->canonical), NULL, true, &again, &e);
    if (code != ERROR_OK)
        fprintf(stderr, "%s\n%s: %s\n", request->canonical, e.pointer, e.message);
    FUZZ_CHECK(code == ERROR_OK && strcmp(request->canonical, again->canonical) == 0);
    api_request_digest(request, digest, first);
    api_request_digest(again, digest, second);
    FUZZ_CHECK(strcmp(first, second) == 0);
    api_request_destroy(again);
    api_request_destroy(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size, NULL, false);
    parse(data, size, DIGEST, true);
    return 0;
}

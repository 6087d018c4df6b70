/* Job requests: refused with a place, or taken; what is taken is taken again from its canonical form, which
 * stays. */
#include "fuzz.h"

#include "api/request.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void parse(const uint8_t *data, size_t size, const char *module, bool optional)
{
    struct api_request *r = NULL, *again = NULL;
    struct error e = {0};
    char first[65], second[65];
    enum error_code code = api_request_parse((const char *)data, size, module, optional, &r, &e);
    fuzz_check_error(code, &e, data, size);
    FUZZ_CHECK(code != ERROR_INTERNAL && (code == ERROR_OK) == (r != NULL));
    if (code != ERROR_OK)
        return;
    const char *digest = r->module_digest[0] ? r->module_digest : DIGEST;
    code = api_request_parse(r->canonical, strlen(r->canonical), NULL, true, &again, &e);
    if (code != ERROR_OK)
        fprintf(stderr, "%s\n%s: %s\n", r->canonical, e.pointer, e.message);
    FUZZ_CHECK(code == ERROR_OK && strcmp(r->canonical, again->canonical) == 0);
    api_request_digest(r, digest, first);
    api_request_digest(again, digest, second);
    FUZZ_CHECK(strcmp(first, second) == 0);
    api_request_destroy(again);
    api_request_destroy(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size, NULL, false);
    parse(data, size, DIGEST, true);
    return 0;
}

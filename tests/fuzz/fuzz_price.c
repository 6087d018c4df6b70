/* What-if: a request, and behind a NUL perhaps a plan.json -> the price of tests/models/mlp.mlir, or a
 * refusal. */
#include "reader.h"

#include "api/what_if.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct ir_program image;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_model(&image);
    return 0;
}

static struct api_what_if *parse(const char *json, size_t size, const char *plan, size_t plan_size)
{
    struct api_what_if *what_if = NULL;
    struct error e = {0};
    enum error_code code = api_what_if_parse(json, size, plan, plan_size, DIGEST, true, &what_if, &e);
    FUZZ_CHECK((code == ERROR_OK) == (what_if != NULL));
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0] && code != ERROR_INTERNAL));
    return what_if;
}

static char *price(const struct api_what_if *what_if, enum error_code *code)
{
    char *json = NULL;
    struct error e = {0};
    *code = api_what_if_run(what_if, &image, &json, &e);
    FUZZ_CHECK((*code == ERROR_OK) == (json != NULL));
    FUZZ_CHECK(*code == ERROR_OK || (e.code == *code && e.message[0] && *code != ERROR_INTERNAL));
    return json;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size, plan_size = 0;
    const char *plan = end ? (const char *)end + 1 : NULL;
    struct api_what_if *what_if = parse((const char *)data, length, plan, end ? size - length - 1 : 0),
                       *again;
    enum error_code code, same;
    if (!what_if)
        return 0;
    char *first = price(what_if, &code), *second;
    /* what another process is sent gives the same */
    const char *forward = api_what_if_forward(what_if, &plan, &plan_size);
    again = parse(forward, strlen(forward), plan, plan_size);
    FUZZ_CHECK(again);
    second = price(again, &same);
    FUZZ_CHECK(code == same && (code != ERROR_OK || strcmp(first, second) == 0));
    free(first);
    free(second);
    api_what_if_destroy(again);
    api_what_if_destroy(what_if);
    return 0;
}

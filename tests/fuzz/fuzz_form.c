/* What a browser posts to begin a session: a form or JSON with a key. */
/* links: server/http */
#include "fuzz.h"

#include "api/job.h"
#include "server/http/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *body = mem_alloc(size), *key = form_field(memcpy(body, data, size), size, "key"), *type;
    struct error e = {0};
    FUZZ_CHECK(!key || strlen(key) <= size);
    free(key);
    key = NULL;
    enum error_code code = api_key_parse(body, size, &key, &e);
    fuzz_check_error(code, &e, data, size);
    FUZZ_CHECK((code == ERROR_OK) == (key != NULL));
    free(key);
    type = mem_strndup(body, size);
    (void)form_is_type(type);
    free(type);
    free(body);
    return 0;
}

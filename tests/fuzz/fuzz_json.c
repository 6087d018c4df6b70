/* JSON: what is refused is refused inside the text, what is taken prints to JSON that is taken and prints the
 * same. */
#include "fuzz.h"

#include "api/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value = NULL, *again = NULL;
    struct error e = {0};
    enum error_code code = json_parse((const char *)data, size, 1000, &value, &e);
    fuzz_check_error(code, &e, data, size);
    if (code != ERROR_OK) {
        FUZZ_CHECK(code == ERROR_INVALID_JSON && e.line >= 1 && e.column >= 1);
        return 0;
    }
    char *text = json_compact(value), *pretty = json_pretty(value);
    FUZZ_CHECK(json_parse(text, strlen(text), 1000, &again, &e) == ERROR_OK);
    char *second = json_compact(again);
    FUZZ_CHECK(strcmp(text, second) == 0);
    json_decref(again);
    FUZZ_CHECK(json_parse(pretty, strlen(pretty), 1000, &again, &e) == ERROR_OK);
    json_decref(again);
    json_decref(value);
    free(text);
    free(pretty);
    free(second);
    /* a text of any bytes becomes a string value */
    char *any = mem_strndup((const char *)data, size);
    value = json_safe(any);
    FUZZ_CHECK(json_is_string(value));
    json_decref(value);
    free(any);
    return 0;
}

/* Archived jobs and their histories: what is read is written as it was, whatever the order. */
#include "fuzz.h"

#include "api/archive.h"

static void release(struct api_archive_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(fields[i].name);
        free(fields[i].value);
    }
    free(fields);
}

static void try_history(const uint8_t *data, size_t size)
{
    struct api_history history, again;
    struct error e = {0};
    enum error_code code = api_history_parse((const char *)data, size, &history, &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0]));
    if (code != ERROR_OK)
        return;
    char *first = api_history_json(&history), *second;
    FUZZ_CHECK(api_history_parse(first, strlen(first), &again, &e) == ERROR_OK);
    FUZZ_CHECK(again.event_count == history.event_count && again.task_count == history.task_count);
    second = api_history_json(&again);
    FUZZ_CHECK(strcmp(first, second) == 0);
    free(first);
    free(second);
    api_history_release(&history);
    api_history_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct api_archive_field *fields = NULL, *again = NULL;
    size_t count = 0, same = 0;
    struct error e = {0};
    try_history(data, size);
    enum error_code code = api_archive_parse((const char *)data, size, &fields, &count, &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0]));
    if (code != ERROR_OK)
        return 0;
    char *first = api_archive_json(fields, count), *second;
    FUZZ_CHECK(api_archive_parse(first, strlen(first), &again, &same, &e) == ERROR_OK && same == count);
    second = api_archive_json(again, same);
    FUZZ_CHECK(strcmp(first, second) == 0);
    free(first);
    free(second);
    release(fields, count);
    release(again, same);
    return 0;
}

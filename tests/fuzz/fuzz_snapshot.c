/* Snapshots of a search: refused, or written again as they are, opened, worked on and merged. */
#include "search.h"

static struct search *search;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct search_blob at, next, deltas[2];
    struct error e = {0};
    (void)argc, (void)argv;
    search = fuzz_search();
    search_begin(search, &at);
    for (int epoch = 0; epoch < 4; epoch++) {
        struct search_state state;
        char name[24];
        snprintf(name, sizeof name, "epoch%d", epoch);
        fuzz_seed(name, at.bytes, at.size);
        FUZZ_CHECK(search_open(search, at.bytes, at.size, &state, &e) == ERROR_OK);
        if (state.phase == SEARCH_DONE || state.tasks > 2)
            break;
        for (uint32_t i = 0; i < state.tasks; i++)
            FUZZ_CHECK(search_task(search, at.bytes, at.size, i, NULL, NULL, &deltas[i], &e) == ERROR_OK);
        FUZZ_CHECK(search_merge(search, at.bytes, at.size, deltas, state.tasks, &next, &e) == ERROR_OK);
        for (uint32_t i = 0; i < state.tasks; i++)
            free(deltas[i].bytes);
        free(at.bytes);
        at = next;
    }
    free(at.bytes);
    return 0;
}

/* one epoch from here on: may be refused, must not crash */
static void go_on(const unsigned char *bytes, size_t size, uint32_t tasks)
{
    struct search_blob deltas[2] = {{NULL, 0}, {NULL, 0}}, next = {NULL, 0};
    struct error e = {0};
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < tasks && code == ERROR_OK; i++)
        code = search_task(search, bytes, size, i, NULL, NULL, &deltas[i], &e);
    if (code == ERROR_OK)
        code = search_merge(search, bytes, size, deltas, tasks, &next, &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0]));
    free(next.bytes);
    free(deltas[0].bytes);
    free(deltas[1].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct core_snapshot snapshot, again;
    struct search_blob first, second;
    struct search_state state;
    struct error e = {0};
    unsigned char *copy = fuzz_mend(search, data, size, 0x31504e5354534f54u);
    enum error_code code = core_snapshot_read(search, copy, size, &snapshot, &e);
    FUZZ_CHECK(code == ERROR_OK || (code == ERROR_INVALID_REQUEST && e.message[0]));
    if (code == ERROR_OK) {
        core_snapshot_write(search, &snapshot, &first);
        FUZZ_CHECK(core_snapshot_read(search, first.bytes, first.size, &again, &e) == ERROR_OK);
        core_snapshot_write(search, &again, &second);
        FUZZ_CHECK(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
        if (search_open(search, copy, size, &state, &e) == ERROR_OK && state.tasks <= 2)
            go_on(copy, size, state.tasks);
        core_snapshot_release(&again);
        core_snapshot_release(&snapshot);
        free(first.bytes);
        free(second.bytes);
    }
    free(copy);
    return 0;
}

/* Deltas of a search: refused, or written again as they are and merged into the snapshot that they say they
 * extend. */
#include "search.h"

static struct search *search;
static struct search_blob snapshot, other;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct search_blob delta;
    struct error e = {0};
    (void)argc, (void)argv;
    search = fuzz_search();
    search_begin(search, &snapshot);
    FUZZ_CHECK(search_task(search, snapshot.bytes, snapshot.size, 0, NULL, NULL, &delta, &e) == ERROR_OK);
    FUZZ_CHECK(search_task(search, snapshot.bytes, snapshot.size, 1, NULL, NULL, &other, &e) == ERROR_OK);
    fuzz_seed("task0", delta.bytes, delta.size);
    free(delta.bytes);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct core_delta delta, again;
    struct search_blob first, second, next = {NULL, 0};
    struct search_state state;
    struct error e = {0};
    unsigned char *copy = fuzz_mend(search, data, size, 0x31544c4454534f54u);
    enum error_code code = core_delta_read(search, copy, size, &delta, &e);
    FUZZ_CHECK(code == ERROR_OK || (code == ERROR_INVALID_REQUEST && e.message[0]));
    if (code == ERROR_OK) {
        core_delta_write(search, &delta, &first);
        FUZZ_CHECK(core_delta_read(search, first.bytes, first.size, &again, &e) == ERROR_OK);
        core_delta_write(search, &again, &second);
        FUZZ_CHECK(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
        core_delta_release(&again);
        core_delta_release(&delta);
        free(first.bytes);
        free(second.bytes);
        struct search_blob both[2] = {{copy, size}, other};
        code = search_merge(search, snapshot.bytes, snapshot.size, both, 2, &next, &e);
        if (code == ERROR_OK && search_open(search, next.bytes, next.size, &state, &e) != ERROR_OK) {
            fprintf(stderr, "%s\n", e.message); /* a snapshot that was made is one that is taken */
            FUZZ_CHECK(false);
        }
        free(next.bytes);
    }
    free(copy);
    return 0;
}

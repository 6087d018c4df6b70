/* links: store */
/* The directory back end: round trips, names, damage, refusals, streams. */
#include "support.h"

#include "store/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct store *fresh(char **folder)
{
    struct store *store;
    struct error e;
    *folder = support_scratch();
    char *address = mem_printf("dir:%s", *folder);
    ASSERT_OK(store_create(address, NULL, &store, &e), &e);
    free(address);
    return store;
}

static void test_round_trip(void **state)
{
    char *folder, digest[STORE_DIGEST_SIZE], again[STORE_DIGEST_SIZE];
    struct error e;
    struct store_view view;
    struct store *store = fresh(&folder);
    ASSERT_OK(store_put(store, "abc", 3, digest, &e), &e);
    assert_string_equal(digest,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); /* FIPS 180 */
    ASSERT_OK(store_put(store, "abc", 3, again, &e), &e);
    ASSERT_OK(store_get(store, digest, &view, &e), &e);
    assert_int_equal(view.size, 3);
    assert_memory_equal(view.bytes, "abc", 3);
    store_view_release(&view);
    ASSERT_OK(store_put(store, "", 0, digest, &e), &e);
    ASSERT_OK(store_get(store, digest, &view, &e), &e);
    assert_int_equal(view.size, 0);
    store_view_release(&view);
    memset(digest, 'a', 64);
    assert_int_equal(store_get(store, digest, &view, &e), ERROR_NOT_FOUND);
    assert_int_equal(store_get(store, "../../../etc/passwd", &view, &e), ERROR_NOT_FOUND);
    assert_true(store_free_share(store) > 0);
    store_destroy(store);
    free(folder);
}

static void test_damage(void **state)
{
    char *folder, digest[STORE_DIGEST_SIZE];
    struct error e;
    struct store_view view;
    struct store *store = fresh(&folder);
    ASSERT_OK(store_put(store, "abc", 3, digest, &e), &e);
    char *path = mem_printf("%s/blobs/ba/78/%s", folder, digest);
    chmod(path, 0600);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("abd", file);
    fclose(file);
    assert_int_equal(store_get(store, digest, &view, &e), ERROR_IO);
    /* moved aside: can be written again */
    assert_int_equal(store_get(store, digest, &view, &e), ERROR_NOT_FOUND);
    ASSERT_OK(store_put(store, "abc", 3, digest, &e), &e);
    ASSERT_OK(store_get(store, digest, &view, &e), &e);
    store_view_release(&view);
    free(path);
    store_destroy(store);
    free(folder);
}

static void test_stream(void **state)
{
    char *folder, digest[STORE_DIGEST_SIZE], wrong[STORE_DIGEST_SIZE] = "";
    struct error e;
    struct store *store = fresh(&folder);
    struct store_writer *writer;
    bool existed;
    ASSERT_OK(store_writer_begin(store, &writer, &e), &e);
    ASSERT_OK(store_writer_add(writer, "ab", 2, &e), &e);
    ASSERT_OK(store_writer_add(writer, "c", 1, &e), &e);
    ASSERT_OK(store_writer_finish(writer, NULL, digest, &existed, &e), &e);
    assert_false(existed);
    ASSERT_OK(store_writer_begin(store, &writer, &e), &e);
    ASSERT_OK(store_writer_add(writer, "abc", 3, &e), &e);
    ASSERT_OK(store_writer_finish(writer, digest, digest, &existed, &e), &e);
    assert_true(existed);
    memset(wrong, '0', 64);
    ASSERT_OK(store_writer_begin(store, &writer, &e), &e);
    ASSERT_OK(store_writer_add(writer, "xyz", 3, &e), &e);
    assert_int_equal(store_writer_finish(writer, wrong, digest, &existed, &e), ERROR_INVALID_REQUEST);
    ASSERT_OK(store_writer_begin(store, &writer, &e), &e);
    store_writer_abandon(writer);
    char *temporary = mem_printf("%s/tmp", folder);
    assert_int_equal(rmdir(temporary), 0); /* empty: nothing was left behind */
    free(temporary);
    store_destroy(store);
    free(folder);
}

/* what was used last stays, what was used longest ago leaves, and the folder stays near its limit */
static void test_cache(void **state)
{
    enum { BLOBS = 64, SIZE = 64 << 10, LIMIT = 1 << 20 };
    char *folder = support_scratch(), digests[BLOBS][STORE_DIGEST_SIZE], *bytes = mem_zalloc(1, SIZE);
    struct error e;
    struct store *store;
    struct store_view view;
    int there = 0;
    ASSERT_OK(store_cache_create(folder, LIMIT, &store, &e), &e);
    for (int i = 0; i < BLOBS; i++) {
        bytes[0] = (char)i;
        ASSERT_OK(store_put(store, bytes, SIZE, digests[i], &e), &e);
        usleep(2000); /* uses are told apart by the clock of the file system */
        ASSERT_OK(store_get(store, digests[0], &view, &e), &e);
        store_view_release(&view);
    }
    for (int i = 0; i < BLOBS; i++)
        if (store_get(store, digests[i], &view, NULL) == ERROR_OK) {
            there++;
            store_view_release(&view);
        }
    assert_in_range(there, LIMIT / SIZE / 2, LIMIT / SIZE + 2);
    ASSERT_OK(store_get(store, digests[0], &view, &e), &e); /* used all along */
    ASSERT_OK(store_get(store, digests[BLOBS - 1], &view, &e), &e);
    assert_int_equal(store_get(store, digests[1], &view, NULL), ERROR_NOT_FOUND);
    store_destroy(store);
    free(bytes);
    free(folder);
}

static void test_addresses(void **state)
{
    struct store *store;
    struct error e;
    assert_int_equal(store_create("ftp://x", NULL, &store, &e), ERROR_USAGE);
    assert_int_equal(store_create("dir:/proc/nowhere", NULL, &store, &e), ERROR_IO);
}

/* a process out of descriptors cannot look; that is no word about the blob */
static void test_no_descriptors(void **state)
{
    char folder[] = "/tmp/toast-store-XXXXXX", digest[STORE_DIGEST_SIZE];
    struct store *store;
    struct error e = {0};
    struct rlimit before, few;
    assert_non_null(mkdtemp(folder));
    char *address = mem_printf("dir:%s", folder);
    ASSERT_OK(store_create(address, NULL, &store, &e), &e);
    ASSERT_OK(store_put(store, "bytes", 5, digest, &e), &e);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    close(next);
    few = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    enum error_code kept = store_keep(store, digest, &e), put = store_put(store, "bytes", 5, digest, &e);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(kept, ERROR_HOST);
    assert_int_equal(put, ERROR_HOST);
    ASSERT_OK(store_keep(store, digest, &e), &e);
    digest[0] = digest[0] == '0' ? '1' : '0';
    assert_int_equal(store_keep(store, digest, &e), ERROR_NOT_FOUND);
    store_destroy(store);
    free(address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damage),         cmocka_unit_test(test_stream),
        cmocka_unit_test(test_cache),          cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

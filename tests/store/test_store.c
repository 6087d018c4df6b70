/* links: store */
/* The directory back end: round trips, names, damage, refusals, streams. */
#include "support.h"

#include "store/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct store *fresh(char **folder)
{
    struct store *s;
    struct error e;
    *folder = support_scratch();
    char *address = mem_printf("dir:%s", *folder);
    ASSERT_OK(store_create(address, NULL, &s, &e), &e);
    free(address);
    return s;
}

static void test_round_trip(void **state)
{
    char *folder, digest[STORE_DIGEST_SIZE], again[STORE_DIGEST_SIZE];
    struct error e;
    struct store_view v;
    struct store *s = fresh(&folder);
    ASSERT_OK(store_put(s, "abc", 3, digest, &e), &e);
    assert_string_equal(digest,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); /* FIPS 180 */
    ASSERT_OK(store_put(s, "abc", 3, again, &e), &e);
    ASSERT_OK(store_get(s, digest, &v, &e), &e);
    assert_int_equal(v.size, 3);
    assert_memory_equal(v.bytes, "abc", 3);
    store_view_release(&v);
    ASSERT_OK(store_put(s, "", 0, digest, &e), &e);
    ASSERT_OK(store_get(s, digest, &v, &e), &e);
    assert_int_equal(v.size, 0);
    store_view_release(&v);
    memset(digest, 'a', 64);
    assert_int_equal(store_get(s, digest, &v, &e), ERROR_NOT_FOUND);
    assert_int_equal(store_get(s, "../../../etc/passwd", &v, &e), ERROR_NOT_FOUND);
    assert_true(store_free_share(s) > 0);
    store_destroy(s);
    free(folder);
}

static void test_damage(void **state)
{
    char *folder, digest[STORE_DIGEST_SIZE];
    struct error e;
    struct store_view v;
    struct store *s = fresh(&folder);
    ASSERT_OK(store_put(s, "abc", 3, digest, &e), &e);
    char *path = mem_printf("%s/blobs/ba/78/%s", folder, digest);
    chmod(path, 0600);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("abd", file);
    fclose(file);
    assert_int_equal(store_get(s, digest, &v, &e), ERROR_IO);
    /* moved aside: can be written again */
    assert_int_equal(store_get(s, digest, &v, &e), ERROR_NOT_FOUND);
    ASSERT_OK(store_put(s, "abc", 3, digest, &e), &e);
    ASSERT_OK(store_get(s, digest, &v, &e), &e);
    store_view_release(&v);
    free(path);
    store_destroy(s);
    free(folder);
}

static void test_stream(void **state)
{
    char *folder, digest[STORE_DIGEST_SIZE], wrong[STORE_DIGEST_SIZE] = "";
    struct error e;
    struct store *s = fresh(&folder);
    struct store_writer *w;
    bool existed;
    ASSERT_OK(store_writer_begin(s, &w, &e), &e);
    ASSERT_OK(store_writer_add(w, "ab", 2, &e), &e);
    ASSERT_OK(store_writer_add(w, "c", 1, &e), &e);
    ASSERT_OK(store_writer_finish(w, NULL, digest, &existed, &e), &e);
    assert_false(existed);
    ASSERT_OK(store_writer_begin(s, &w, &e), &e);
    ASSERT_OK(store_writer_add(w, "abc", 3, &e), &e);
    ASSERT_OK(store_writer_finish(w, digest, digest, &existed, &e), &e);
    assert_true(existed);
    memset(wrong, '0', 64);
    ASSERT_OK(store_writer_begin(s, &w, &e), &e);
    ASSERT_OK(store_writer_add(w, "xyz", 3, &e), &e);
    assert_int_equal(store_writer_finish(w, wrong, digest, &existed, &e), ERROR_INVALID_REQUEST);
    ASSERT_OK(store_writer_begin(s, &w, &e), &e);
    store_writer_abandon(w);
    char *temporary = mem_printf("%s/tmp", folder);
    assert_int_equal(rmdir(temporary), 0); /* empty: nothing was left behind */
    free(temporary);
    store_destroy(s);
    free(folder);
}

/* what was used last stays, what was used longest ago leaves, and the folder stays near its limit */
static void test_cache(void **state)
{
    enum { BLOBS = 64, SIZE = 64 << 10, LIMIT = 1 << 20 };
    char *folder = support_scratch(), digests[BLOBS][STORE_DIGEST_SIZE], *bytes = mem_zalloc(1, SIZE);
    struct error e;
    struct store *s;
    struct store_view v;
    int there = 0;
    ASSERT_OK(store_cache_create(folder, LIMIT, &s, &e), &e);
    for (int i = 0; i < BLOBS; i++) {
        bytes[0] = (char)i;
        ASSERT_OK(store_put(s, bytes, SIZE, digests[i], &e), &e);
        usleep(2000); /* uses are told apart by the clock of the file system */
        ASSERT_OK(store_get(s, digests[0], &v, &e), &e);
        store_view_release(&v);
    }
    for (int i = 0; i < BLOBS; i++)
        if (store_get(s, digests[i], &v, NULL) == ERROR_OK) {
            there++;
            store_view_release(&v);
        }
    assert_in_range(there, LIMIT / SIZE / 2, LIMIT / SIZE + 2);
    ASSERT_OK(store_get(s, digests[0], &v, &e), &e); /* used all along */
    ASSERT_OK(store_get(s, digests[BLOBS - 1], &v, &e), &e);
    assert_int_equal(store_get(s, digests[1], &v, NULL), ERROR_NOT_FOUND);
    store_destroy(s);
    free(bytes);
    free(folder);
}

static void test_addresses(void **state)
{
    struct store *s;
    struct error e;
    assert_int_equal(store_create("ftp://x", NULL, &s, &e), ERROR_USAGE);
    assert_int_equal(store_create("dir:/proc/nowhere", NULL, &s, &e), ERROR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damage),    cmocka_unit_test(test_stream),
        cmocka_unit_test(test_cache),      cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

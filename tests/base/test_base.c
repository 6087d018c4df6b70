/* base: error table, arena, vectors, text, hashing, files and gzip. */
#include "support.h"

#include "base/encode.h"
#include "base/size.h"
#include "base/threads.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void errors_have_one_text_each(void **state)
{
    (void)state;
    for (int i = 0; i < ERROR_CODES; i++) {
        assert_int_equal(error_code_from_text(error_code_text((enum error_code)i)), i);
        assert_in_range(error_code_http_status((enum error_code)i), 200, 599);
    }
    struct error e;
    assert_int_equal(error_set_at(&e, ERROR_INVALID_MODULE, 3, 7, "bad %s", "op"), ERROR_INVALID_MODULE);
    assert_int_equal(e.line, 3);
    assert_string_equal(e.message, "bad op");
}

static void add_share(void *user, uint32_t number)
{
    uint32_t *sums = user;
    sums[number] += number + 1;
}

static void every_thread_does_its_share_once(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= THREADS_MOST; count += 9) {
        uint32_t sums[THREADS_MOST] = {0};
        threads_run(count, add_share, sums);
        for (uint32_t i = 0; i < THREADS_MOST; i++)
            assert_int_equal(sums[i], i < count ? i + 1 : 0);
    }
}

struct shared {
    atomic_uint done, calls[100];
    uint32_t waits; /* for so many to be done before its first: for others to take what is left */
    uint32_t by[100];
};

static void take_one(void *user, uint32_t number, uint32_t i)
{
    struct shared *shared = user;
    while (i == 0 && atomic_load(&shared->done) < shared->waits)
        ;
    shared->by[i] = number;
    atomic_fetch_add(&shared->calls[i], 1);
    atomic_fetch_add(&shared->done, 1);
}

/* Alone a thread does all; while the first is busy the other does what is left; each is done once. */
static void what_is_shared_is_done_once(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++)
        for (uint32_t count = 0; count <= 100; count += 25) {
            struct shared shared = {.waits = threads > 1 && count ? count - 1 : 0};
            threads_share(threads, count, take_one, &shared);
            for (uint32_t i = 0; i < 100; i++)
                assert_int_equal(shared.calls[i], i < count);
            for (uint32_t i = 1; i < count && shared.by[0] == 0; i++)
                assert_int_equal(shared.by[i], threads - 1);
        }
}

static void arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    uint64_t seed = support_seed(1);
    struct rng r = {seed};
    for (int i = 0; i < 2000; i++) {
        size_t n = rng_below(&r, i % 100 == 0 ? 300000 : 300);
        unsigned char *p = arena_alloc(a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(p[k], 0);
        memset(p, 0xff, n);
    }
    arena_destroy(a);
}

static void text_and_vectors_grow(void **state)
{
    (void)state;
    struct text t = {0};
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) {
        text_printf(&t, "%d,", i);
        VEC_PUSH(&v, i);
    }
    assert_int_equal(t.size, strlen(t.at));
    assert_int_equal(v.at[999], 999);
    text_release(&t);
    VEC_FREE(&v);
}

static void sha256_matches_the_standard(void **state)
{
    (void)state;
    uint8_t digest[32];
    char hex[65];
    sha256_bytes("abc", 3, digest);
    sha256_format(digest, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void percent_escapes_are_whole_or_refused(void **state)
{
    static const char *const broken[] = {"%", "%4", "%4g", "%g4", "%%4", "% 4", "%:0", "%@0", "%`0"};
    (void)state;
    for (int i = 0; i < 256; i++) {
        char lower[4], upper[4];
        snprintf(lower, sizeof lower, "%%%02x", (unsigned)i);
        snprintf(upper, sizeof upper, "%%%02X", (unsigned)i);
        assert_int_equal(encode_from_percent(lower, 3), i);
        assert_int_equal(encode_from_percent(upper, 3), i);
        /* what stands behind the end does not count */
        assert_int_equal(encode_from_percent(upper, 2), -1);
    }
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_int_equal(encode_from_percent(broken[i], strlen(broken[i])), -1);
}

static void hash128_round_trips(void **state)
{
    (void)state;
    char text[33];
    struct hash128 h = hash_word(42), back;
    hash128_format(h, text);
    assert_int_equal(hash128_parse(text, &back), 0);
    assert_int_equal(hash128_compare(h, back), 0);
    text[3] = 'x';
    assert_int_equal(hash128_parse(text, &back), -1);
}

static size_t compress_with_gzip(const void *data, size_t size, unsigned char *out, size_t room)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static void gzip_is_expanded_and_bombs_refused(void **state)
{
    (void)state;
    static unsigned char packed[1 << 16];
    char *out = NULL;
    size_t size;
    struct error e;
    size_t n = compress_with_gzip("hello", 5, packed, sizeof packed);
    ASSERT_OK(gzip_expand(packed, n, 100, &out, &size, &e), &e);
    assert_int_equal(size, 5);
    assert_string_equal(out, "hello");
    free(out);
    assert_int_equal(gzip_expand(packed, n, 4, &out, &size, &e), ERROR_TOO_LARGE);
    assert_int_equal(gzip_expand(packed, n - 3, 100, &out, &size, &e), ERROR_INVALID_GZIP);
    /* of 10 of header, 7 of data, 8 of trailer */
    assert_non_null(strstr(e.message, "ends early, after 22 bytes"));
    packed[n] = 'x';
    assert_int_equal(gzip_expand(packed, n + 1, 100, &out, &size, &e), ERROR_INVALID_GZIP);
    packed[n - 6] ^= 1;
    assert_int_equal(gzip_expand(packed, n, 100, &out, &size, &e), ERROR_INVALID_GZIP);
    assert_non_null(strstr(e.message, "damaged at byte ")); /* where, what, and what to do */
    assert_non_null(strstr(e.message, "(incorrect data check); compress it again"));
    char *zeros = mem_zalloc(1, 8 << 20);
    n = compress_with_gzip(zeros, 8 << 20, packed, sizeof packed);
    assert_int_equal(gzip_expand(packed, n, (size_t)1 << 30, &out, &size, &e), ERROR_INVALID_GZIP);
    free(zeros);
}

static void files_are_replaced_whole(void **state)
{
    (void)state;
    char *dir = support_scratch();
    char *deep = mem_printf("%s/a/b/c", dir);
    char *path = mem_printf("%s/f", deep);
    char *bytes;
    size_t size;
    struct error e;
    ASSERT_OK(file_make_directory(deep, &e), &e);
    ASSERT_OK(file_write(path, "one", 3, &e), &e);
    ASSERT_OK(file_write(path, "second", 6, &e), &e);
    ASSERT_OK(file_read(path, 100, &bytes, &size, &e), &e);
    assert_string_equal(bytes, "second");
    free(bytes);
    assert_int_equal(file_read(path, 5, &bytes, &size, &e), ERROR_TOO_LARGE);
    assert_int_equal(file_read(deep, 5, &bytes, &size, &e), ERROR_USAGE);
    free(dir);
    free(deep);
    free(path);
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"0", 0},
                {"1500000", 1500000},
                {"7B", 7},
                {"40GB", 40000000000},
                {"40gb", 40000000000},
                {"36GiB", 38654705664},
                {"1.5KiB", 1536},
                {"0.0015kB", 1},
                {"2TiB", INT64_C(2) << 40},
                {"4611686018427387904", INT64_C(1) << 62}};
    static const char *const bad[] = {"",      "-1",   " 1",   "1 ",  "GB",         "1.5",
                                      "1.5B",  "1.GB", ".5GB", "40G", "40Gi",       "1e9",
                                      "1e3GB", "0x10", "1GBs", "1bB", "9999999TiB", "99999999999999999999",
                                      "nan",   "1,5GB"};
    int64_t bytes;
    struct error e = {0};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(size_parse(good[i].text, &bytes));
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (size_parse(bad[i], &bytes))
            fail_msg("'%s' is %ld", bad[i], (long)bytes);
    assert_int_equal(size_option("--memory-limit", "40G", &bytes, &e), ERROR_USAGE);
    assert_string_equal(e.message, "--memory-limit needs bytes, as 1500000, 40GB or 37.5GiB, not '40G'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_one_text_each),
        cmocka_unit_test(every_thread_does_its_share_once),
        cmocka_unit_test(what_is_shared_is_done_once),
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(text_and_vectors_grow),
        cmocka_unit_test(sha256_matches_the_standard),
        cmocka_unit_test(percent_escapes_are_whole_or_refused),
        cmocka_unit_test(hash128_round_trips),
        cmocka_unit_test(gzip_is_expanded_and_bombs_refused),
        cmocka_unit_test(files_are_replaced_whole),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

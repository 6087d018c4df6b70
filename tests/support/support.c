#include "support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *support_read(const char *path, size_t *size)
{
    char *bytes = NULL;
    struct error e;
    size_t n = 0;
    ASSERT_OK(file_read(path, (size_t)1 << 32, &bytes, &n, &e), &e);
    if (size)
        *size = n;
    return bytes;
}

static char *scratch[64];
static int scratch_count;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *FTW)
{
    (void)st, (void)type, (void)FTW;
    return remove(path);
}

static void remove_scratch(void)
{
    for (int i = 0; i < scratch_count; i++) {
        nftw(scratch[i], remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        free(scratch[i]);
    }
}

char *support_scratch(void)
{
    const char *base = getenv("TMPDIR");
    char *path = mem_printf("%s/toast-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    assert_true(scratch_count < 64);
    if (scratch_count == 0)
        atexit(remove_scratch);
    scratch[scratch_count++] = path;
    return mem_strdup(path);
}

uint64_t support_seed(uint64_t standard)
{
    const char *given = getenv("TOAST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : standard;
    printf("seed %llu (TOAST_SEED)\n", (unsigned long long)seed);
    return seed;
}

/* links: store */
/* Power loss at every moment: the store's calls that change the disk are recorded (this program's own
 * write, fsync, rename .. stand before the C library's), and after each of them a model says what a crash
 * may leave:
 *   - bytes of a file are there for sure after an fsync of the file, a name after an fsync of its folder,
 * and that of
 *     a folder only together with those above it;
 *   - whatever was not synced may be there or not, each on its own.
 * At each such moment: a blob whose name may be there has its bytes for sure (never half of one under its
 * digest), and one that the store has acknowledged is there for sure. Writers also die after every number
 * of calls, and another one puts the same. Then each kind of fsync is left out in turn, and the model must
 * notice. */
#include "support.h"

#include "store/backend.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAMES = 256, FORGET_NOTHING = -1, NEVER = 1 << 30 };
enum kind {
    SYNC_FILE,
    SYNC_LEAF,
    SYNC_MIDDLE,
    SYNC_ROOT,
    KINDS
}; /* of fsync: a file; blobs/ab/cd; blobs/ab; above */

/* a name in a folder */
struct name {
    char path[256];
    bool folder, sure;        /* sure: synced in its folder */
    bool bytes_sure;          /* of a file: nothing was written since its fsync */
    bool there, acknowledged; /* there: as the running system sees it */
};

static struct {
    struct name at[NAMES];
    int count, calls, dies_after, forget;
    char root[128];
    const char *wrong; /* what a crash at some moment would have left; NULL: nothing yet */
} disk;

static struct name *find(const char *path)
{
    for (int i = 0; i < disk.count; i++)
        if (strcmp(disk.at[i].path, path) == 0)
            return &disk.at[i];
    return NULL;
}

static bool ours(const char *path)
{
    return disk.root[0] && strncmp(path, disk.root, strlen(disk.root)) == 0;
}

static struct name *appear(const char *path, bool folder)
{
    struct name *name = find(path);
    if (!name) {
        assert_true(disk.count < NAMES);
        name = &disk.at[disk.count++];
        *name = (struct name){.folder = folder};
        snprintf(name->path, sizeof name->path, "%s", path);
    }
    name->there = true;
    return name;
}

/* the name is there after a crash whatever else is lost */
static bool certain(const char *path)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", path);
    for (; strlen(folder) > strlen(disk.root); *strrchr(folder, '/') = 0) {
        const struct name *name = find(folder);
        if (!name || !name->sure)
            return false;
    }
    return true;
}

/* the power is lost now: what may be wrong */
static void crash(void)
{
    for (int i = 0; i < disk.count && !disk.wrong; i++) {
        const struct name *name = &disk.at[i];
        if (name->folder || !strstr(name->path, "/blobs/") || strstr(name->path, ".lock"))
            continue;
        if (name->there && !name->bytes_sure)
            disk.wrong = "a blob's name without its bytes";
        else if (name->acknowledged && !certain(name->path))
            disk.wrong = "an acknowledged blob is gone";
    }
}

/* one more call that changes the disk; false: the writer is dead */
static bool next_call(void)
{
    crash();
    if (disk.calls++ < disk.dies_after)
        return true;
    errno = EIO;
    return false;
}

static bool path_of(int fd, char out[256])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, out, 255);
    out[size > 0 ? size : 0] = 0;
    return size > 0 && ours(out);
}

/* ---- in place of the C library's ---- */

ssize_t write(int fd, const void *bytes, size_t size)
{
    char path[256];
    if (path_of(fd, path)) {
        if (!next_call())
            return -1;
        struct name *name = appear(path, false);
        name->bytes_sure = false;
    }
    return syscall(SYS_write, fd, bytes, size);
}

static enum kind kind_of(const char *path, bool folder)
{
    int depth = 0;
    for (const char *at = path + strlen(disk.root); *at; at++)
        depth += *at == '/';
    return !folder ? SYNC_FILE : depth == 3 ? SYNC_LEAF : depth == 2 ? SYNC_MIDDLE : SYNC_ROOT;
}

int fsync(int fd)
{
    char path[256];
    struct stat st;
    if (!path_of(fd, path))
        return 0;
    if (!next_call())
        return -1;
    assert_int_equal(fstat(fd, &st), 0);
    bool folder = S_ISDIR(st.st_mode);
    if ((int)kind_of(path, folder) == disk.forget)
        return 0;
    if (!folder) {
        appear(path, false)->bytes_sure = true;
        return 0;
    }
    size_t length = strlen(path);
    for (int i = 0; i < disk.count; i++) {
        struct name *name = &disk.at[i];
        if (strncmp(name->path, path, length) == 0 && name->path[length] == '/' &&
            !strchr(name->path + length + 1, '/'))
            name->sure = name->there;
    }
    return 0;
}

int rename(const char *from, const char *to)
{
    if (ours(to)) {
        if (!next_call())
            return -1;
        struct name *old = find(from);
        bool bytes_sure = old && old->bytes_sure;
        if (old)
            old->there = false;
        appear(to, false)->bytes_sure = bytes_sure;
    }
    return (int)syscall(SYS_rename, from, to);
}

int mkdir(const char *path, mode_t mode)
{
    if (ours(path) && strlen(path) > strlen(disk.root) && access(path, F_OK) != 0) {
        if (!next_call())
            return -1;
        appear(path, true);
    }
    return (int)syscall(SYS_mkdir, path, mode);
}

int unlink(const char *path)
{
    struct name *name = find(path);
    if (name)
        name->there = false;
    return (int)syscall(SYS_unlink, path);
}

/* ---- schedules ---- */

static struct store *begin(void)
{
    struct store *store;
    struct error e;
    static char *scratch;
    static int number;
    if (!scratch)
        scratch = support_scratch(); /* there are 64 of them at most */
    char *folder = mem_printf("%s/%d", scratch, number++), *address;
    memset(&disk, 0, sizeof disk);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_non_null(realpath(folder, disk.root));
    disk.dies_after = NEVER;
    disk.forget = FORGET_NOTHING;
    address = mem_printf("dir:%s", disk.root);
    ASSERT_OK(store_create(address, NULL, &store, &e), &e);
    free(address);
    free(folder);
    return store;
}

static struct store *another(void)
{
    struct store *store;
    struct error e;
    char *address = mem_printf("dir:%s", disk.root);
    ASSERT_OK(store_create(address, NULL, &store, &e), &e);
    free(address);
    return store;
}

static void acknowledge(const char *digest)
{
    char path[256];
    snprintf(path, sizeof path, "%s/blobs/%.2s/%.2s/%s", disk.root, digest, digest + 2, digest);
    struct name *name = find(path);
    assert_non_null(name);
    name->acknowledged = true;
    crash();
}

static bool put(struct store *store, const char *text, bool stream)
{
    char digest[STORE_DIGEST_SIZE];
    struct error e;
    bool existed;
    struct store_writer *writer = NULL;
    enum error_code code;
    if (!stream) {
        code = store_put(store, text, strlen(text), digest, &e);
    } else {
        code = store_writer_begin(store, &writer, &e);
        for (const char *at = text; code == ERROR_OK && *at; at++) {
            code = store_writer_add(writer, at, 1, &e);
            if (code != ERROR_OK)
                store_writer_abandon(writer);
        }
        if (code == ERROR_OK)
            code = store_writer_finish(writer, NULL, digest, &existed, &e);
    }
    if (code == ERROR_OK)
        acknowledge(digest);
    return code == ERROR_OK;
}

/* blobs in new folders, one in a folder that is there, one that is there itself, a stream. -> calls that
 * changed the disk */
static int work(struct store *store)
{
    char text[24];
    for (int i = 0; i < 6; i++) {
        snprintf(text, sizeof text, "blob %d", i);
        put(store, text, i % 2 == 1);
    }
    put(store, "blob 3", false);
    return disk.calls;
}

static void test_every_moment(void **state)
{
    struct store *store = begin();
    int calls = work(store);
    assert_true(calls > 40);
    assert_null(disk.wrong);
    store_destroy(store);
    printf("%d moments\n", calls);
}

/* the first writer dies after every number of calls; another process puts the same blobs and acknowledges
 * them */
static void test_after_a_death(void **state)
{
    int moments = 0;
    for (int dies = 1;; dies++) {
        struct store *store = begin();
        disk.calls = 0;
        disk.dies_after = dies;
        int calls = work(store);
        store_destroy(store);
        disk.dies_after = NEVER;
        store = another();
        work(store);
        store_destroy(store);
        if (disk.wrong)
            fail_msg("a writer died after %d calls: %s", dies, disk.wrong);
        moments += disk.calls;
        if (calls <= dies)
            break;
    }
    printf("%d moments\n", moments);
}

static void test_the_model_notices(void **state)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct store *store = begin();
        disk.forget = kind;
        work(store);
        store_destroy(store);
        if (!disk.wrong)
            fail_msg("without fsync of kind %d nothing is wrong", kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_moment),
                                       cmocka_unit_test(test_after_a_death),
                                       cmocka_unit_test(test_the_model_notices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

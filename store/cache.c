/* The cache of a worker on another host: the directory back end with an upper bound. A blob's modification
 * time is when it was last used. Bytes are counted as they are added; when a sixteenth of the limit has come
 * (from this process; others may share the folder) the folder is looked through, and the longest unused leave
 * until nine tenths are left. */
#include "store/backend.h"

#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_BYTES 2000000000LL

struct cache {
    struct store base;
    struct store *files;
    char *folder;
    long long limit_bytes;
    pthread_mutex_t lock;
    long long added_bytes; /* under lock: since the folder was looked through */
};

struct entry {
    char *path;
    long long size;
    struct timespec used;
};
struct entries {
    VEC(struct entry) list;
    long long total_bytes;
};

static void find_files(const char *folder, int depth, struct entries *out)
{
    DIR *list = opendir(folder);
    for (struct dirent *at; list && (at = readdir(list));) {
        struct stat st;
        if (at->d_name[0] == '.' || fstatat(dirfd(list), at->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        char *path = mem_printf("%s/%s", folder, at->d_name);
        if (S_ISDIR(st.st_mode) && depth < 2) {
            find_files(path, depth + 1, out);
        } else if (S_ISREG(st.st_mode) && depth == 2) {
            struct entry e = {path, (long long)st.st_blocks * 512, st.st_mtim};
            VEC_PUSH(&out->list, e);
            out->total_bytes += e.size;
            continue;
        }
        free(path);
    }
    if (list)
        closedir(list);
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct entry *)a)->used, *y = &((const struct entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static void make_room(const struct cache *c)
{
    struct entries found = {0};
    char *blobs = mem_printf("%s/blobs", c->folder);
    find_files(blobs, 0, &found);
    free(blobs);
    if (found.total_bytes > c->limit_bytes && found.list.count)
        qsort(found.list.at, found.list.count, sizeof *found.list.at, by_use);
    bool over = found.total_bytes > c->limit_bytes;
    for (size_t i = 0; i < found.list.count; i++) {
        if (over && found.total_bytes > c->limit_bytes / 10 * 9 && unlink(found.list.at[i].path) == 0)
            found.total_bytes -= found.list.at[i].size;
        free(found.list.at[i].path);
    }
    VEC_FREE(&found.list);
}

static void cache_destroy(struct store *s)
{
    struct cache *c = (struct cache *)s;
    store_destroy(c->files);
    pthread_mutex_destroy(&c->lock);
    free(c->folder);
    free(c);
}

static void touch(const struct cache *c, const char *digest)
{
    char *path = mem_printf("%s/blobs/%.2s/%.2s/%s", c->folder, digest, digest + 2, digest);
    utimensat(AT_FDCWD, path, NULL, 0); /* it may have left meanwhile */
    free(path);
}

static enum error_code cache_put(struct store *s, const void *bytes, size_t size,
                                 char digest[STORE_DIGEST_SIZE], struct error *e)
{
    struct cache *c = (struct cache *)s;
    if ((long long)size > c->limit_bytes / 2) /* would push out everything else for one blob */
        return ERROR_OK;
    enum error_code code = store_put(c->files, bytes, size, digest, e);
    if (code != ERROR_OK)
        return code;
    pthread_mutex_lock(&c->lock);
    c->added_bytes += (long long)size;
    bool look = c->added_bytes > c->limit_bytes / 16;
    if (look)
        c->added_bytes = 0;
    pthread_mutex_unlock(&c->lock);
    if (look)
        make_room(c);
    return ERROR_OK;
}

static enum error_code cache_get(struct store *s, const char *digest, struct store_view *out, struct error *e)
{
    struct cache *c = (struct cache *)s;
    enum error_code code = store_get(c->files, digest, out, e);
    if (code == ERROR_OK)
        touch(c, digest);
    return code;
}

enum error_code store_cache_create(const char *folder, long long limit_bytes, struct store **out,
                                   struct error *e)
{
    static const struct store_calls calls = {cache_destroy, cache_put, cache_get, NULL, NULL, NULL, NULL};
    struct cache *c = mem_zalloc(1, sizeof *c);
    enum error_code code = store_directory_create(folder, &c->files, e);
    if (code != ERROR_OK) {
        free(c);
        return code;
    }
    c->base.calls = &calls;
    c->folder = mem_strdup(folder);
    c->limit_bytes = limit_bytes > 0 ? limit_bytes : DEFAULT_BYTES;
    pthread_mutex_init(&c->lock, NULL);
    make_room(c);
    *out = &c->base;
    return ERROR_OK;
}

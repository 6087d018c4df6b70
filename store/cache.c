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

static int by_use(const void *left, const void *right)
{
    const struct timespec *when = &((const struct entry *)left)->used,
                          *time = &((const struct entry *)right)->used;
    if (when->tv_sec != time->tv_sec)
        return when->tv_sec < time->tv_sec ? -1 : 1;
    return (when->tv_nsec > time->tv_nsec) - (when->tv_nsec < time->tv_nsec);
}

static void make_room(const struct cache *cache)
{
    struct entries found = {0};
    char *blobs = mem_printf("%s/blobs", cache->folder);
    find_files(blobs, 0, &found);
    free(blobs);
    if (found.total_bytes > cache->limit_bytes && found.list.count)
        qsort(found.list.at, found.list.count, sizeof *found.list.at, by_use);
    bool over = found.total_bytes > cache->limit_bytes;
    for (size_t i = 0; i < found.list.count; i++) {
        if (over && found.total_bytes > cache->limit_bytes / 10 * 9 && unlink(found.list.at[i].path) == 0)
            found.total_bytes -= found.list.at[i].size;
        free(found.list.at[i].path);
    }
    VEC_FREE(&found.list);
}

static void cache_destroy(struct store *store)
{
    struct cache *cache = (struct cache *)store;
    store_destroy(cache->files);
    pthread_mutex_destroy(&cache->lock);
    free(cache->folder);
    free(cache);
}

static void touch(const struct cache *cache, const char *digest)
{
    char *path = mem_printf("%s/blobs/%.2s/%.2s/%s", cache->folder, digest, digest + 2, digest);
    utimensat(AT_FDCWD, path, NULL, 0); /* it may have left meanwhile */
    free(path);
}

static enum error_code cache_put(struct store *store, const void *bytes, size_t size,
                                 char digest[STORE_DIGEST_SIZE], struct error *e)
{
    struct cache *cache = (struct cache *)store;
    if ((long long)size > cache->limit_bytes / 2) /* would push out everything else for one blob */
        return ERROR_OK;
    enum error_code code = store_put(cache->files, bytes, size, digest, e);
    if (code != ERROR_OK)
        return code;
    pthread_mutex_lock(&cache->lock);
    cache->added_bytes += (long long)size;
    bool look = cache->added_bytes > cache->limit_bytes / 16;
    if (look)
        cache->added_bytes = 0;
    pthread_mutex_unlock(&cache->lock);
    if (look)
        make_room(cache);
    return ERROR_OK;
}

static enum error_code cache_get(struct store *store, const char *digest, struct store_view *out,
                                 struct error *e)
{
    struct cache *cache = (struct cache *)store;
    enum error_code code = store_get(cache->files, digest, out, e);
    if (code == ERROR_OK)
        touch(cache, digest);
    return code;
}

enum error_code store_cache_create(const char *folder, long long limit_bytes, struct store **out,
                                   struct error *e)
{
    static const struct store_calls calls = {cache_destroy, cache_put, cache_get, NULL, NULL, NULL, NULL};
    struct cache *cache = mem_zalloc(1, sizeof *cache);
    enum error_code code = store_directory_create(folder, &cache->files, e);
    if (code != ERROR_OK) {
        free(cache);
        return code;
    }
    cache->base.calls = &calls;
    cache->folder = mem_strdup(folder);
    cache->limit_bytes = limit_bytes > 0 ? limit_bytes : DEFAULT_BYTES;
    pthread_mutex_init(&cache->lock, NULL);
    make_room(cache);
    *out = &cache->base;
    return ERROR_OK;
}

/* The directory back end. A blob's life:
 *
 *   tmp/XXXXXX        begin: a temporary file; bytes are added and hashed
 *       | finish: mode 0400, fsync of the file
 *       v
 *   rename            in one step, so that blobs/ab/cd/<digest> is whole or absent after a crash
 *       | fsync of the folder and the two above it: the name survives a crash, too, in new folders as well
 *       v
 *   blobs/ab/cd/<digest>       read only; store_get maps it and checks the digest
 *       | written again, or kept: only its time becomes now
 *       v
 *   unlink            by a collection, when nobody refers to it and it is old (sweep.c)
 *
 * Where the blob is there already, finish removes the temporary file instead of renaming it, and syncs the
 * folders where this process has not yet: who wrote it may have died before that. A crash before
 * the rename leaves a file in tmp/; those older than an hour are removed at start. The two levels of 256
 * folders keep folders small. Never writes into a file under blobs/. */
#include "store/backend.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
    LEVELS = 3,       /* blobs/ab/cd: folders whose entries a blob's name needs */
    REMEMBERED = 4096 /* blobs whose names this process knows to be durable */
};

struct directory {
    struct store base;
    char *folder;
    _Atomic uint64_t durable[REMEMBERED]; /* first digits of digests, each in the place that they say */
};

struct store_writer {
    struct directory *store;
    struct sha256 *hash;
    char *path;
    int fd;
};

static char *blob_path(const struct directory *directory, const char *digest)
{
    return mem_printf("%s/blobs/%.2s/%.2s/%s", directory->folder, digest, digest + 2, digest);
}

/* errno; a full disk is one that the client is told about (507) */
static enum error_code failed(const char *what, struct error *e)
{
    return error_set(e, file_error(errno), "the blob store cannot %s: %s", what, strerror(errno));
}

/* Whether the blob is there; its time is then now, so that a collection whose look at the references is older
 * leaves it alone. The lock orders this and the collection's "old? then remove". What cannot be looked at (no
 * descriptors, no memory) is an error and never an absent blob. */
static enum error_code keep_there(const struct directory *directory, const char *digest, bool *there,
                                  struct error *e)
{
    char *path = blob_path(directory, digest);
    enum error_code code = ERROR_OK;
    *there = access(path, F_OK) == 0;
    if (*there) {
        int lock = directory_lock(directory->folder, true);
        *there = lock >= 0 && utimensat(AT_FDCWD, path, NULL, 0) == 0;
        if (!*there && errno != ENOENT)
            code = failed("look at a blob", e);
        directory_unlock(lock);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        code = failed("look for a blob", e);
    }
    free(path);
    return code;
}

static enum error_code directory_collect(struct store *store, struct store_sweep *sweep, struct error *e)
{
    return directory_sweep(((struct directory *)store)->folder, sweep, e);
}

static void directory_destroy(struct store *store)
{
    struct directory *directory = (struct directory *)store;
    free(directory->folder);
    free(directory);
}

static enum error_code sync_folder(const char *path, struct error *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return result == 0 ? ERROR_OK : failed("make a folder durable", e);
}

/* The name of a blob that is there survives a power loss. Whoever put it there may have been killed before it
 * synced the folders, so this is not only for new ones; once a blob and process. */
static enum error_code keep_name(struct directory *directory, const char *digest, struct error *e)
{
    char first[17];
    snprintf(first, sizeof first, "%.16s", digest);
    uint64_t bits = strtoull(first, NULL, 16);
    _Atomic uint64_t *place = &directory->durable[bits % REMEMBERED];
    if (bits && atomic_load(place) == bits)
        return ERROR_OK;
    char *folder = blob_path(directory, digest);
    enum error_code code = ERROR_OK;
    for (int level = 0; code == ERROR_OK && level < LEVELS; level++) {
        *strrchr(folder, '/') = 0;
        code = sync_folder(folder, e);
    }
    free(folder);
    if (code == ERROR_OK)
        atomic_store(place, bits);
    return code;
}

static enum error_code directory_keep(struct store *store, const char *digest, struct error *e)
{
    struct directory *directory = (struct directory *)store;
    bool there;
    enum error_code code = keep_there(directory, digest, &there, e);
    if (code != ERROR_OK)
        return code;
    return there ? keep_name(directory, digest, e)
                 : error_set(e, ERROR_NOT_FOUND, "there is no blob sha256:%s", digest);
}

enum error_code store_writer_begin(struct store *store, struct store_writer **out, struct error *e)
{
    struct directory *directory = (struct directory *)store;
    char *path = mem_printf("%s/tmp/XXXXXX", directory->folder);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        free(path);
        return failed("make a temporary file", e);
    }
    struct store_writer *writer = mem_zalloc(1, sizeof *writer);
    *writer = (struct store_writer){.store = directory, .hash = sha256_create(), .path = path, .fd = fd};
    *out = writer;
    return ERROR_OK;
}

enum error_code store_writer_add(struct store_writer *writer, const void *bytes, size_t size, struct error *e)
{
    const char *at = bytes;
    sha256_add(writer->hash, bytes, size);
    while (size) {
        ssize_t n = write(writer->fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed("write", e);
        at += n;
        size -= (size_t)n;
    }
    return ERROR_OK;
}

void store_writer_abandon(struct store_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->path)
        unlink(writer->path);
    sha256_destroy(writer->hash);
    free(writer->path);
    free(writer);
}

/* renames the finished temporary file into its place */
static enum error_code publish(struct store_writer *writer, const char *digest, struct error *e)
{
    char *path = blob_path(writer->store, digest), *folder = mem_strdup(path);
    *strrchr(folder, '/') = 0;
    enum error_code code = ERROR_OK;
    if (fchmod(writer->fd, 0400) != 0 || fsync(writer->fd) != 0)
        code = failed("make a blob durable", e);
    if (code == ERROR_OK && access(folder, F_OK) != 0)
        code = file_make_directory(folder, e);
    if (code == ERROR_OK && rename(writer->path, path) != 0)
        code = failed("put a blob into its place", e);
    if (code == ERROR_OK)
        code = keep_name(writer->store, digest, e);
    free(folder);
    free(path);
    return code;
}

enum error_code store_writer_finish(struct store_writer *writer, const char *expected,
                                    char digest[STORE_DIGEST_SIZE], bool *existed, struct error *e)
{
    uint8_t raw[32];
    enum error_code code = ERROR_OK;
    sha256_finish(writer->hash, raw);
    writer->hash = NULL;
    sha256_format(raw, digest);
    *existed = false;
    if (expected && strcmp(expected, digest) != 0) {
        code = error_set(e, ERROR_INVALID_REQUEST,
                         "the bytes have the SHA-256 %s, which is not the one named", digest);
    } else {
        code = keep_there(writer->store, digest, existed, e);
        if (code == ERROR_OK)
            code = *existed ? keep_name(writer->store, digest, e) : publish(writer, digest, e);
    }
    store_writer_abandon(writer); /* after a rename the temporary name is gone already */
    return code;
}

static enum error_code directory_put(struct store *store, const void *bytes, size_t size,
                                     char digest[STORE_DIGEST_SIZE], struct error *e)
{
    uint8_t raw[32];
    struct store_writer *writer;
    bool existed;
    sha256_bytes(bytes, size, raw);
    sha256_format(raw, digest);
    enum error_code code = keep_there((struct directory *)store, digest, &existed, e);
    if (code == ERROR_OK && existed)
        return keep_name((struct directory *)store, digest, e);
    if (code == ERROR_OK)
        code = store_writer_begin(store, &writer, e);
    if (code != ERROR_OK)
        return code;
    code = store_writer_add(writer, bytes, size, e);
    if (code == ERROR_OK)
        return store_writer_finish(writer, NULL, digest, &existed, e);
    store_writer_abandon(writer);
    return code;
}

static enum error_code directory_open(struct store *store, const char *digest, int *fd, size_t *size,
                                      struct error *e)
{
    char *path = blob_path((struct directory *)store, digest);
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (*fd < 0 && errno == ENOENT)
        return error_set(e, ERROR_NOT_FOUND, "there is no blob sha256:%s", digest);
    if (*fd < 0)
        return failed("open a blob", e);
    if (fstat(*fd, &st) != 0) {
        close(*fd);
        return failed("read a blob", e);
    }
    *size = (size_t)st.st_size;
    return ERROR_OK;
}

static enum error_code directory_get(struct store *store, const char *digest, struct store_view *out,
                                     struct error *e)
{
    int fd;
    uint8_t raw[32];
    char found[STORE_DIGEST_SIZE];
    enum error_code code = directory_open(store, digest, &fd, &out->size, e);
    if (code != ERROR_OK)
        return code;
    if (out->size) {
        out->mapping = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (out->mapping == MAP_FAILED) {
            close(fd);
            *out = (struct store_view){0};
            return failed("map a blob", e);
        }
    }
    close(fd);
    out->bytes = out->size ? out->mapping : "";
    sha256_bytes(out->bytes, out->size, raw);
    sha256_format(raw, found);
    if (strcmp(found, digest) == 0)
        return ERROR_OK;
    char *path = blob_path((struct directory *)store, digest), *aside = mem_printf("%s.damaged", path);
    rename(path, aside);
    free(aside);
    free(path);
    store_view_release(out);
    return error_set(e, ERROR_IO, "the blob sha256:%s is damaged on disk; it was moved aside", digest);
}

static double directory_free_share(const struct store *store)
{
    struct statvfs space;
    if (statvfs(((const struct directory *)store)->folder, &space) != 0 || space.f_blocks == 0)
        return 0;
    return (double)space.f_bavail / (double)space.f_blocks;
}

static void remove_old_temporaries(const char *folder)
{
    DIR *list = opendir(folder);
    time_t now = time(NULL);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        struct stat st;
        if (entry->d_name[0] != '.' && fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && now - st.st_mtime > 3600)
            unlinkat(dirfd(list), entry->d_name, 0);
    }
    if (list)
        closedir(list);
}

enum error_code store_directory_create(const char *folder, struct store **out, struct error *e)
{
    static const struct store_calls calls = {directory_destroy, directory_put,        directory_get,
                                             directory_open,    directory_free_share, directory_keep,
                                             directory_collect};
    char *blobs = mem_printf("%s/blobs", folder), *temporary = mem_printf("%s/tmp", folder);
    mode_t mask = umask(077); /* for nobody else on this machine */
    enum error_code code = file_make_directory(blobs, e);
    if (code == ERROR_OK)
        code = file_make_directory(temporary, e);
    umask(mask);
    if (code == ERROR_OK) { /* an older service made them for all to see; another owner's stay as they are */
        (void)!chmod(blobs, 0700);
        (void)!chmod(temporary, 0700);
    }
    if (code == ERROR_OK)
        code = sync_folder(folder, e);
    if (code == ERROR_OK) {
        remove_old_temporaries(temporary);
        struct directory *directory = mem_zalloc(1, sizeof *directory);
        directory->base.calls = &calls;
        directory->folder = mem_strdup(folder);
        *out = &directory->base;
    }
    free(temporary);
    free(blobs);
    return code;
}

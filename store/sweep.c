/* Collection of blobs in a folder: what nobody refers to and nobody has written or kept for a while.
 *
 * Whoever is about to refer to a blob writes it or sets its time to now (directory.c), and only then writes
 * the reference. Who collects notes the time, then looks at all references, then removes what was not among
 * them and is older than that time less the grace period. So a blob whose reference came after the look is
 * too young, provided a request takes less than the grace period from its blob to its reference. The lock
 * makes "old? then remove" and "there? then young" exclude each other. A crash at any point leaves blobs too
 * many, never too few. */
#include "store/backend.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int directory_lock(const char *folder, bool shared)
{
    /* toast serve holds DIR/serve.lock as long as it runs */
    char *path = mem_printf("%s/blobs.lock", folder);
    /* its own open file: the lock belongs to that */
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(path);
    while (fd >= 0 && flock(fd, shared ? LOCK_SH : LOCK_EX) != 0)
        if (errno != EINTR) {
            close(fd);
            fd = -1;
        }
    return fd;
}

void directory_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* looks again under the lock */
static bool remove_old(const char *folder, int at, const char *name, const struct store_sweep *sweep)
{
    struct stat st;
    int lock = directory_lock(folder, false);
    bool removed = lock >= 0 && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   st.st_mtime < sweep->before_s && unlinkat(at, name, 0) == 0;
    directory_unlock(lock);
    return removed;
}

static void sweep_folder(const char *folder, const char *path, struct store_sweep *sweep)
{
    DIR *list = opendir(path);
    for (struct dirent *entry; list && (entry = readdir(list)) && !sweep->stop(sweep->user);) {
        struct stat st;
        if (!store_digest_valid(entry->d_name) ||
            fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        bool old = st.st_mtime < sweep->before_s;
        if (old && !sweep->wanted(sweep->user, entry->d_name) &&
            remove_old(folder, dirfd(list), entry->d_name, sweep)) {
            sweep->removed++;
            sweep->removed_bytes += (unsigned long long)st.st_size;
        } else {
            sweep->kept++;
            sweep->kept_bytes += (unsigned long long)st.st_size;
        }
    }
    if (list)
        closedir(list);
}

/* uploads that were cut by a crash; one that goes on is written to all the time */
static void sweep_temporaries(const char *folder, const struct store_sweep *sweep)
{
    char *path = mem_printf("%s/tmp", folder);
    DIR *list = opendir(path);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        struct stat st;
        if (entry->d_name[0] != '.' && fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_mtime < sweep->before_s)
            unlinkat(dirfd(list), entry->d_name, 0);
    }
    if (list)
        closedir(list);
    free(path);
}

static bool is_fan(const char *name)
{
    return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

enum error_code directory_sweep(const char *folder, struct store_sweep *sweep, struct error *e)
{
    char *blobs = mem_printf("%s/blobs", folder);
    DIR *outer = opendir(blobs);
    if (!outer) {
        free(blobs);
        return error_set(e, ERROR_IO, "the blob store cannot be listed: %s", strerror(errno));
    }
    for (struct dirent *first; (first = readdir(outer)) && !sweep->stop(sweep->user);) {
        if (!is_fan(first->d_name))
            continue;
        char *middle = mem_printf("%s/%s", blobs, first->d_name);
        DIR *inner = opendir(middle);
        for (struct dirent *second; inner && (second = readdir(inner)) && !sweep->stop(sweep->user);) {
            if (!is_fan(second->d_name))
                continue;
            char *path = mem_printf("%s/%s", middle, second->d_name);
            sweep_folder(folder, path, sweep);
            free(path);
        }
        if (inner)
            closedir(inner);
        free(middle);
    }
    closedir(outer);
    free(blobs);
    sweep_temporaries(folder, sweep);
    return ERROR_OK;
}

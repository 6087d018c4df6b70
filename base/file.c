/* Whole files in and out (file.h). What is written replaces the old file at once, by rename, or not at all;
 * what is read is never larger than the caller allows, also after decompression. */
#include "base/file.h"

#include "base/host.h"
#include "base/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum error_code read_all(int fd, const char *path, size_t max_bytes, struct text *out, struct error *e)
{
    char chunk[1 << 16];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ERROR_IO, "%s: %s", path, strerror(errno));
        if (n == 0)
            return ERROR_OK;
        if (out->size + (size_t)n > max_bytes)
            return error_set(e, ERROR_TOO_LARGE, "%s: more than %zu bytes", path, max_bytes);
        text_add_n(out, chunk, (size_t)n);
    }
}

enum error_code file_read(const char *path, size_t max_bytes, char **bytes, size_t *size, struct error *e)
{
    struct text raw = {0};
    struct stat st;
    bool standard_input = strcmp(path, "-") == 0;
    int fd = standard_input ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(e, ERROR_USAGE, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return error_set(e, ERROR_USAGE, "%s: is a folder, not a file", path);
    }
    enum error_code code = read_all(fd, path, max_bytes, &raw, e);
    close(fd);
    if (code == ERROR_OK && raw.size >= 2 && (unsigned char)raw.at[0] == 0x1f &&
        (unsigned char)raw.at[1] == 0x8b) {
        struct error inner = {0};
        code = gzip_expand(raw.at, raw.size, max_bytes, bytes, size, &inner);
        text_release(&raw);
        if (code == ERROR_INVALID_GZIP) /* of a file that the user named it is the request that is wrong */
            code = ERROR_INVALID_REQUEST;
        return code == ERROR_OK ? code : error_set(e, code, "%s: %s", path, inner.message);
    }
    if (code != ERROR_OK) {
        text_release(&raw);
        return code;
    }
    text_add_n(&raw, "", 0);
    *bytes = raw.at;
    *size = raw.size;
    return ERROR_OK;
}

enum error_code file_error(int number)
{
    return number == ENOSPC || number == EDQUOT ? ERROR_NO_SPACE : host_fault(number) ? ERROR_HOST : ERROR_IO;
}

static enum error_code write_all(int fd, const char *path, const char *bytes, size_t size, struct error *e)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, file_error(errno), "%s: %s", path, strerror(errno));
        bytes += n;
        size -= (size_t)n;
    }
    return ERROR_OK;
}

/* devices and pipes (/dev/stdout, /dev/null) are written to, never replaced by a file */
static enum error_code write_special(const char *path, const void *bytes, size_t size, struct error *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(e, ERROR_IO, "%s: %s", path, strerror(errno));
    enum error_code code = write_all(fd, path, bytes, size, e);
    close(fd);
    return code;
}

enum error_code file_write(const char *path, const void *bytes, size_t size, struct error *e)
{
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return write_special(path, bytes, size, e);
    char *temporary = mem_printf("%s.XXXXXX", path);
    int fd = mkstemp(temporary);
    if (fd < 0) {
        error_set(e, ERROR_IO, "%s: %s", path, strerror(errno));
        free(temporary);
        return ERROR_IO;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    enum error_code code = write_all(fd, path, bytes, size, e);
    if (code == ERROR_OK && fsync(fd) != 0)
        code = error_set(e, ERROR_IO, "%s: %s", path, strerror(errno));
    close(fd);
    if (code == ERROR_OK && rename(temporary, path) != 0)
        code = error_set(e, ERROR_IO, "%s: %s", path, strerror(errno));
    if (code != ERROR_OK)
        unlink(temporary);
    free(temporary);
    return code;
}

enum error_code file_make_directory(const char *path, struct error *e)
{
    char *copy = mem_strdup(path);
    for (char *at = copy + 1;; at++) {
        if (*at && *at != '/')
            continue;
        char end = *at;
        *at = 0;
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            enum error_code code = error_set(e, file_error(errno), "%s: %s", copy, strerror(errno));
            free(copy);
            return code;
        }
        *at = end;
        if (!end)
            break;
    }
    free(copy);
    return ERROR_OK;
}

static enum error_code add_expanded(void *user, const void *bytes, size_t size, struct error *e)
{
    struct text *out = user;
    (void)e;
    text_add_n(out, bytes, size);
    return ERROR_OK;
}

enum error_code gzip_expand(const void *data, size_t size, size_t max_bytes, char **bytes, size_t *out_size,
                            struct error *e)
{
    struct text out = {0};
    struct inflater *i = inflater_create(max_bytes, add_expanded, &out);
    enum error_code code = inflater_add(i, data, size, e);
    if (code == ERROR_OK)
        code = inflater_finish(i, e);
    inflater_destroy(i);
    if (code != ERROR_OK) {
        text_release(&out);
        return code;
    }
    text_add_n(&out, "", 0);
    *bytes = out.at;
    *out_size = out.size;
    return ERROR_OK;
}

char *file_program_directory(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return mem_strdup(".");
    path[n] = 0;
    return mem_strdup(dirname(path));
}

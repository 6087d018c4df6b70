/* Files and gzip (zlib). */
#ifndef TOAST_BASE_FILE_H
#define TOAST_BASE_FILE_H

#include "base/error.h"
#include "base/memory.h"

/* A whole file into memory (owned, NUL-terminated after *size bytes); gzip is recognised by its first two
 * bytes and decompressed. "-" reads standard input. ERROR_USAGE when it cannot be opened (not there, not
 * allowed, a folder), ERROR_IO, ERROR_TOO_LARGE above max_bytes (decompressed), ERROR_INVALID_REQUEST when
 * the gzip data is damaged or ends early. Messages begin with the path and a colon. */
enum error_code file_read(const char *path, size_t max_bytes, char **bytes, size_t *size,
                          struct error *e) BASE_CHECKED;

/* Writes through a temporary file beside it, fsync and rename: readers see the old file or the new one
 * (devices and pipes are written to directly). ERROR_IO. */
enum error_code file_write(const char *path, const void *bytes, size_t size, struct error *e) BASE_CHECKED;

/* mkdir -p. ERROR_IO. */
enum error_code file_make_directory(const char *path, struct error *e) BASE_CHECKED;

/* gzip data -> owned bytes. Refuses more than max_bytes, a ratio above 200:1 past the first MiB, damage,
 * an early end and trailing bytes (a second member is allowed by RFC 1952 and read). ERROR_INVALID_GZIP,
 * ERROR_TOO_LARGE. */
enum error_code gzip_expand(const void *data, size_t size, size_t max_bytes, char **bytes, size_t *out_size,
                            struct error *e) BASE_CHECKED;

/* The folder of the running program, without a slash at its end (owned). */
char *file_program_directory(void);

#endif

/* Whole files and gzip data (zlib). Sizes are in bytes; what is returned is owned by the caller (free()). */
#ifndef TOAST_BASE_FILE_H
#define TOAST_BASE_FILE_H

#include "base/error.h"
#include "base/memory.h"

/* A whole file into memory (owned, with a NUL after its *size bytes). gzip is recognised by its first two
 * bytes and decompressed. "-" reads standard input. ERROR_USAGE when it cannot be opened (absent, not
 * allowed, a folder); ERROR_IO when reading fails; ERROR_TOO_LARGE above max_bytes, counted after
 * decompression; ERROR_INVALID_REQUEST when the gzip data is damaged or ends early. Messages begin with the
 * path and a colon. */
enum error_code file_read(const char *path, size_t max_bytes, char **bytes, size_t *size,
                          struct error *e) BASE_CHECKED;

/* Writes a temporary file beside `path`, then fsync and rename: readers see the old file or the new one,
 * never a part. Devices and pipes are written to directly. ERROR_IO. */
enum error_code file_write(const char *path, const void *bytes, size_t size, struct error *e) BASE_CHECKED;

/* mkdir -p. ERROR_IO. */
enum error_code file_make_directory(const char *path, struct error *e) BASE_CHECKED;

/* gzip data -> bytes (owned, NUL-terminated after *out_size). Limits as for struct inflater (inflate.h).
 * ERROR_TOO_LARGE: more than max_bytes. ERROR_INVALID_GZIP: damaged, ends early, bytes after the end (a
 * second member is allowed by RFC 1952 and read), or expands like a bomb. */
enum error_code gzip_expand(const void *data, size_t size, size_t max_bytes, char **bytes, size_t *out_size,
                            struct error *e) BASE_CHECKED;

/* The folder of the running program, without a slash at its end (owned). */
char *file_program_directory(void);

/* what an errno of writing means: ERROR_NO_SPACE for a full disk or quota, else ERROR_IO */
enum error_code file_error(int number);

#endif

/* gzip as it arrives (zlib): bytes in, expanded bytes out through a function, in constant memory. */
#ifndef TOAST_BASE_INFLATE_H
#define TOAST_BASE_INFLATE_H

#include "base/error.h"

#include <stddef.h>

struct inflater;
/* Refuses more than max_bytes out (ERROR_TOO_LARGE), and a ratio above 200:1 past the first MiB
 * (ERROR_INVALID_GZIP): a real module is far below it, a bomb reaches 1030:1. sink's errors end the
 * expansion. */
struct inflater *inflater_create(size_t max_bytes,
                                 enum error_code (*sink)(void *user, const void *bytes, size_t size,
                                                         struct error *e),
                                 void *user);
void inflater_destroy(struct inflater *i); /* NULL is fine */
/* ERROR_INVALID_GZIP: damaged, or bytes after the end (a further gzip member is read, RFC 1952) */
enum error_code inflater_add(struct inflater *i, const void *bytes, size_t size,
                             struct error *e) BASE_CHECKED;
/* ERROR_INVALID_GZIP: the data ended early */
enum error_code inflater_finish(struct inflater *i, struct error *e) BASE_CHECKED;

#endif

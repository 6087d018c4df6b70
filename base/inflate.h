/* gzip as it arrives (zlib, RFC 1952): compressed bytes in, expanded bytes out through a function, in
 * constant memory. Not thread-safe: one inflater a stream. */
#ifndef TOAST_BASE_INFLATE_H
#define TOAST_BASE_INFLATE_H

#include "base/error.h"

#include <stddef.h>

struct inflater;
/* Ends with ERROR_TOO_LARGE beyond max_bytes of output, and with ERROR_INVALID_GZIP when the output is more
 * than 200 times the input once it exceeds 1 MiB: StableHLO text shrinks far less than that, while DEFLATE
 * can reach 1030:1, so such data is made to fill memory. `sink` borrows the bytes for the call; its error
 * ends the expansion and is passed on. */
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

/* A DEFLATE stream without any header (RFC 1951; members of zip archives) into exactly `room` bytes at `out`.
 * False: damaged, or another size. */
bool inflate_raw(const void *bytes, size_t size, void *out, size_t room);

#endif

/* Blobs by content: a name is the SHA-256 of the bytes (64 lower-case hex digits), so a blob never changes
 * and any copy is as good as another. Modules, program images, snapshots and artifacts live here, never in
 * Redis.
 *
 * Two back ends behind one interface, chosen by the address:
 *   "dir:/path"            blobs under /path/blobs/ab/cd/<digest>; written to /path/tmp, fsync, rename,
 *                          fsync of the folder
 *   "http://host:port"     the server's internal endpoints (workers on other hosts), with a cache folder of
 *                          its own
 * A store may be used from several threads at once. */
#ifndef TOAST_STORE_STORE_H
#define TOAST_STORE_STORE_H

#include "base/error.h"

#include <stddef.h>

enum { STORE_DIGEST_SIZE = 65 }; /* hex digits and NUL */

struct store;
struct store_options {
    const char *cache_folder; /* http: where blobs are kept; NULL: none (read each time) */
    long long cache_bytes;    /* http: what the cache folder may hold, oldest use leaves first; 0: 2 GB */
    const char *token;        /* http: worker token sent as Bearer; NULL: none */
};
/* ERROR_USAGE (an address of neither form), ERROR_IO (folder cannot be made). options may be NULL. */
enum error_code store_create(const char *address, const struct store_options *options, struct store **out,
                             struct error *e) BASE_CHECKED;
void store_destroy(struct store *store);

bool store_digest_valid(const char *digest);

/* ERROR_IO, ERROR_NO_SPACE, ERROR_UNAVAILABLE (http). Writing what is there already is cheap and changes
 * nothing. */
enum error_code store_put(struct store *store, const void *bytes, size_t size, char digest[STORE_DIGEST_SIZE],
                          struct error *e) BASE_CHECKED;

/* A blob mapped read-only; the bytes were checked against the digest. Release with store_view_release.
 * ERROR_NOT_FOUND, ERROR_IO (damaged: the file is moved away so that it can be written again). */
struct store_view {
    const void *bytes;
    size_t size;
    void *mapping;
};
enum error_code store_get(struct store *store, const char *digest, struct store_view *out,
                          struct error *e) BASE_CHECKED;
void store_view_release(struct store_view *view);

/* Streams in: begin, add .., then finish (gives the digest) or abandon. Directory back end only (the
 * server's). */
struct store_writer;
enum error_code store_writer_begin(struct store *store, struct store_writer **out,
                                   struct error *e) BASE_CHECKED;
enum error_code store_writer_add(struct store_writer *writer, const void *bytes, size_t size,
                                 struct error *e) BASE_CHECKED;
/* destroys writer in every case; *existed: the blob was there. expected may be NULL; ERROR_INVALID_REQUEST
 * when it differs. */
enum error_code store_writer_finish(struct store_writer *writer, const char *expected,
                                    char digest[STORE_DIGEST_SIZE], bool *existed,
                                    struct error *e) BASE_CHECKED;
void store_writer_abandon(struct store_writer *writer); /* NULL is fine */

/* Directory back end only: an open descriptor (owned; for sendfile), not checked again. ERROR_NOT_FOUND,
 * ERROR_IO. */
enum error_code store_open(struct store *store, const char *digest, int *fd, size_t *size,
                           struct error *e) BASE_CHECKED;

/* Directory back end only: the blob is there, and no collection removes it for the grace period from now on:
 * what will refer to it may be written. ERROR_NOT_FOUND. store_put and store_writer_finish do the same for
 * what they find there. */
enum error_code store_keep(struct store *store, const char *digest, struct error *e) BASE_CHECKED;

/* Directory back end only: removes every blob for which `wanted` says false and that was not written or kept
 * since `before` (seconds since 1970), and temporary files that were not written since. Safe beside any
 * number of writers, also in other processes. Stops early when `stop` says true. ERROR_IO */
struct store_sweep {
    bool (*wanted)(void *user, const char *digest);
    bool (*stop)(void *user);
    void *user;
    long long before_s;
    size_t kept, removed;                         /* out: blobs */
    unsigned long long kept_bytes, removed_bytes; /* out */
};
enum error_code store_sweep(struct store *store, struct store_sweep *sweep, struct error *e) BASE_CHECKED;

/* share of the disk that is free, 0 to 1 (directory back end; 1 otherwise) */
double store_free_share(const struct store *store);

#endif

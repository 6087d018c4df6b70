/* The front of the store: chooses the back end by the address, checks digests before they reach it, and
 * passes calls on. See store.h; the back ends are directory.c and remote.c. */
#include "store/store.h"

#include "base/memory.h"
#include "store/backend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool store_digest_valid(const char *digest)
{
    return strlen(digest) == STORE_DIGEST_SIZE - 1 &&
           strspn(digest, "0123456789abcdef") == STORE_DIGEST_SIZE - 1;
}

enum error_code store_create(const char *address, const struct store_options *options, struct store **out,
                             struct error *e)
{
    if (strncmp(address, "dir:", 4) == 0 && address[4])
        return store_directory_create(address + 4, out, e);
    if (strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0)
        return store_remote_create(address, options, out, e);
    return error_set(e, ERROR_USAGE, "the store's address must be dir:PATH or http://HOST:PORT");
}

void store_destroy(struct store *store)
{
    if (store)
        store->calls->destroy(store);
}

enum error_code store_put(struct store *store, const void *bytes, size_t size, char digest[STORE_DIGEST_SIZE],
                          struct error *e)
{
    return store->calls->put(store, bytes, size, digest, e);
}

enum error_code store_get(struct store *store, const char *digest, struct store_view *out, struct error *e)
{
    *out = (struct store_view){0};
    if (!store_digest_valid(digest))
        return error_set(e, ERROR_NOT_FOUND, "not a blob's digest (64 lower-case hex digits)");
    return store->calls->get(store, digest, out, e);
}

void store_view_release(struct store_view *view)
{
    if (view->mapping)
        munmap(view->mapping, view->size);
    *view = (struct store_view){0};
}

enum error_code store_open(struct store *store, const char *digest, int *fd, size_t *size, struct error *e)
{
    if (!store_digest_valid(digest))
        return error_set(e, ERROR_NOT_FOUND, "not a blob's digest (64 lower-case hex digits)");
    if (!store->calls->open)
        return error_set(e, ERROR_INTERNAL, "this store does not give descriptors");
    return store->calls->open(store, digest, fd, size, e);
}

enum error_code store_keep(struct store *store, const char *digest, struct error *e)
{
    if (!store_digest_valid(digest))
        return error_set(e, ERROR_NOT_FOUND, "not a blob's digest (64 lower-case hex digits)");
    if (!store->calls->keep)
        return error_set(e, ERROR_INTERNAL, "this store does not collect");
    return store->calls->keep(store, digest, e);
}

enum error_code store_sweep(struct store *store, struct store_sweep *sweep, struct error *e)
{
    if (!store->calls->sweep)
        return error_set(e, ERROR_INTERNAL, "this store does not collect");
    return store->calls->sweep(store, sweep, e);
}

double store_free_share(const struct store *store)
{
    return store->calls->free_share ? store->calls->free_share(store) : 1.0;
}

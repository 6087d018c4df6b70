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

void store_destroy(struct store *s)
{
    if (s)
        s->calls->destroy(s);
}

enum error_code store_put(struct store *s, const void *bytes, size_t size, char digest[STORE_DIGEST_SIZE],
                          struct error *e)
{
    return s->calls->put(s, bytes, size, digest, e);
}

enum error_code store_get(struct store *s, const char *digest, struct store_view *out, struct error *e)
{
    *out = (struct store_view){0};
    if (!store_digest_valid(digest))
        return error_set(e, ERROR_NOT_FOUND, "not a blob's digest (64 lower-case hex digits)");
    return s->calls->get(s, digest, out, e);
}

void store_view_release(struct store_view *v)
{
    if (v->mapping)
        munmap(v->mapping, v->size);
    *v = (struct store_view){0};
}

enum error_code store_open(struct store *s, const char *digest, int *fd, size_t *size, struct error *e)
{
    if (!store_digest_valid(digest))
        return error_set(e, ERROR_NOT_FOUND, "not a blob's digest (64 lower-case hex digits)");
    if (!s->calls->open)
        return error_set(e, ERROR_INTERNAL, "this store does not give descriptors");
    return s->calls->open(s, digest, fd, size, e);
}

enum error_code store_keep(struct store *s, const char *digest, struct error *e)
{
    if (!store_digest_valid(digest))
        return error_set(e, ERROR_NOT_FOUND, "not a blob's digest (64 lower-case hex digits)");
    if (!s->calls->keep)
        return error_set(e, ERROR_INTERNAL, "this store does not collect");
    return s->calls->keep(s, digest, e);
}

enum error_code store_sweep(struct store *s, struct store_sweep *sweep, struct error *e)
{
    if (!s->calls->sweep)
        return error_set(e, ERROR_INTERNAL, "this store does not collect");
    return s->calls->sweep(s, sweep, e);
}

double store_free_share(const struct store *s)
{
    return s->calls->free_share ? s->calls->free_share(s) : 1.0;
}

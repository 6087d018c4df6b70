/* See memory_store.h. Views are borrowed: a blob's bytes stay until the store is destroyed, also when it was
 * lost, as a file that somebody has mapped. */
#include "memory_store.h"

#include "base/hash.h"
#include "base/memory.h"
#include "store/backend.h"

#include <stdlib.h>
#include <string.h>

struct blob {
    char digest[STORE_DIGEST_SIZE];
    char *bytes;
    size_t size;
    bool lost;
};
struct memory_store {
    struct store store; /* first */
    VEC(struct blob) blobs;
};

static struct blob *find(struct store *store, const char *digest)
{
    struct memory_store *memory = (struct memory_store *)store;
    for (size_t i = 0; i < memory->blobs.count; i++)
        if (strcmp(memory->blobs.at[i].digest, digest) == 0)
            return &memory->blobs.at[i];
    return NULL;
}

static void destroy(struct store *store)
{
    struct memory_store *memory = (struct memory_store *)store;
    for (size_t i = 0; i < memory->blobs.count; i++)
        free(memory->blobs.at[i].bytes);
    VEC_FREE(&memory->blobs);
    free(memory);
}

static enum error_code put(struct store *store, const void *bytes, size_t size,
                           char digest[STORE_DIGEST_SIZE], struct error *e)
{
    struct memory_store *memory = (struct memory_store *)store;
    uint8_t raw[32];
    sha256_bytes(bytes, size, raw);
    sha256_format(raw, digest);
    struct blob *there = find(store, digest);
    if (there) {
        there->lost = false;
        return ERROR_OK;
    }
    struct blob blob = {.bytes = mem_alloc(size + 1), .size = size};
    memcpy(blob.digest, digest, sizeof blob.digest);
    memcpy(blob.bytes, bytes, size);
    blob.bytes[size] = 0;
    VEC_PUSH(&memory->blobs, blob);
    return ERROR_OK;
}

static enum error_code get(struct store *store, const char *digest, struct store_view *out, struct error *e)
{
    struct blob *blob = find(store, digest);
    if (!blob || blob->lost)
        return error_set(e, ERROR_NOT_FOUND, "blob %s is not there", digest);
    *out = (struct store_view){.bytes = blob->bytes, .size = blob->size};
    return ERROR_OK;
}

struct store *memory_store_create(void)
{
    static const struct store_calls calls = {.destroy = destroy, .put = put, .get = get};
    struct memory_store *memory = mem_zalloc(1, sizeof *memory);
    memory->store.calls = &calls;
    return &memory->store;
}

bool memory_store_lose(struct store *store, const char *digest)
{
    struct blob *blob = find(store, digest);
    if (blob)
        blob->lost = true;
    return blob != NULL;
}

bool memory_store_has(struct store *store, const char *digest)
{
    struct blob *blob = find(store, digest);
    return blob && !blob->lost;
}

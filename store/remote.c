/* clang-format off */
/* The remote back end: blobs through the server's internal endpoints, so that workers need no common
 * directory.
 *
 *   GET /internal/blobs/<digest>      200 and the bytes, 404
 *   PUT /internal/blobs/<digest>      201 (new) or 200 (was there)
 *
 * What was read or written is kept in the cache folder, where there is one (cache.c). Cannot stream, open,
 * keep or collect: those belong to the server that has the directory. */
/* clang-format on */
#include "store/backend.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "http/client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOB_MAX_BYTES = 1 << 30 };

struct remote {
    struct store base;
    char *url, *token;
    struct store *cache; /* NULL: none */
};

static void remote_destroy(struct store *store)
{
    struct remote *remote = (struct remote *)store;
    store_destroy(remote->cache);
    free(remote->url);
    free(remote->token);
    free(remote);
}

static char *blob_url(const struct remote *remote, const char *digest)
{
    return mem_printf("%s/internal/blobs/%s", remote->url, digest);
}

static enum error_code exchange(struct remote *remote, const char *method, const char *digest,
                                const void *body, size_t size, struct http_reply *reply, struct error *e)
{
    char *url = blob_url(remote, digest);
    struct http_request request = {.method = method,
                                   .url = url,
                                   .token = remote->token,
                                   .body = body,
                                   .body_size = size,
                                   .content_type = "application/octet-stream",
                                   .max_reply_bytes = BLOB_MAX_BYTES,
                                   .timeout_s = 120,
                                   .stall_s = 20};
    enum error_code code = http_exchange(&request, reply, e);
    free(url);
    return code;
}

/* a full disk of the cache costs time, not the task */
static void keep(struct remote *remote, const void *bytes, size_t size)
{
    char digest[STORE_DIGEST_SIZE];
    struct error e;
    if (store_put(remote->cache, bytes, size, digest, &e) != ERROR_OK)
        log_event("cache_not_written", "reason", e.message, NULL);
}

static enum error_code remote_put(struct store *store, const void *bytes, size_t size,
                                  char digest[STORE_DIGEST_SIZE], struct error *e)
{
    struct remote *remote = (struct remote *)store;
    struct http_reply reply;
    uint8_t raw[32];
    sha256_bytes(bytes, size, raw);
    sha256_format(raw, digest);
    enum error_code code = exchange(remote, "PUT", digest, bytes, size, &reply, e);
    if (code != ERROR_OK)
        return code;
    if (reply.status != 200 && reply.status != 201)
        code =
            error_set(e, ERROR_UNAVAILABLE, "the server answered %d to a blob that was sent", reply.status);
    http_reply_release(&reply);
    if (code == ERROR_OK && remote->cache)
        keep(remote, bytes, size);
    return code;
}

/* the body becomes an anonymous mapping, so that a view is released the same way whatever it came from */
static enum error_code view_of(const struct http_reply *reply, const char *digest, struct store_view *out,
                               struct error *e)
{
    uint8_t raw[32];
    char found[STORE_DIGEST_SIZE];
    sha256_bytes(reply->body, reply->size, raw);
    sha256_format(raw, found);
    if (strcmp(found, digest) != 0)
        return error_set(e, ERROR_UNAVAILABLE, "the server sent other bytes than the blob sha256:%s", digest);
    out->bytes = "";
    out->size = reply->size;
    if (!reply->size)
        return ERROR_OK;
    out->mapping = mmap(NULL, reply->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out->mapping == MAP_FAILED) {
        *out = (struct store_view){0};
        return error_set(e, ERROR_IO, "no memory for a blob of %zu bytes", reply->size);
    }
    memcpy(out->mapping, reply->body, reply->size);
    out->bytes = out->mapping;
    return ERROR_OK;
}

static enum error_code remote_get(struct store *store, const char *digest, struct store_view *out,
                                  struct error *e)
{
    struct remote *remote = (struct remote *)store;
    struct http_reply reply;
    if (remote->cache && store_get(remote->cache, digest, out, NULL) == ERROR_OK)
        return ERROR_OK;
    enum error_code code = exchange(remote, "GET", digest, NULL, 0, &reply, e);
    if (code != ERROR_OK)
        return code;
    if (reply.status == 404)
        code = error_set(e, ERROR_NOT_FOUND, "there is no blob sha256:%s", digest);
    else if (reply.status != 200)
        code =
            error_set(e, ERROR_UNAVAILABLE, "the server answered %d to a request for a blob", reply.status);
    else
        code = view_of(&reply, digest, out, e);
    if (code == ERROR_OK && remote->cache)
        keep(remote, out->bytes, out->size);
    http_reply_release(&reply);
    return code;
}

enum error_code store_remote_create(const char *url, const struct store_options *options, struct store **out,
                                    struct error *e)
{
    static const struct store_calls calls = {remote_destroy, remote_put, remote_get, NULL, NULL, NULL, NULL};
    struct remote *remote = mem_zalloc(1, sizeof *remote);
    remote->base.calls = &calls;
    remote->url = mem_strdup(url);
    for (size_t n = strlen(remote->url); n && remote->url[n - 1] == '/'; n--)
        remote->url[n - 1] = 0;
    if (options && options->token)
        remote->token = mem_strdup(options->token);
    if (options && options->cache_folder) {
        enum error_code code =
            store_cache_create(options->cache_folder, options->cache_bytes, &remote->cache, e);
        if (code != ERROR_OK) {
            remote_destroy(&remote->base);
            return code;
        }
    }
    *out = &remote->base;
    return ERROR_OK;
}

/* Modules: blobs by the SHA-256 of their (uncompressed) text. Not parsed here: what is wrong in one is the
 * job's error. */
#include "server/internal.h"

/* "sha256:<hex>" or "<hex>"; NULL: neither */
static const char *digest_of(const char *name)
{
    if (strncmp(name, "sha256:", 7) == 0)
        name += 7;
    return store_digest_valid(name) ? name : NULL;
}

static void no_digest(struct exchange *x)
{
    struct error e;
    error_set(
        &e, ERROR_MALFORMED,
        "a module is named by the SHA-256 of its text: 64 lower-case hex digits, after sha256: or alone");
    reply_problem(x, &e);
}

static void put(struct exchange *x, const char *expected)
{
    char digest[STORE_DIGEST_SIZE], location[96];
    struct error e;
    struct text t = {0};
    bool existed;
    size_t size = x->body.decoded;
    if (body_store(x, expected, digest, &existed, &e) != ERROR_OK) {
        reply_problem(x, &e);
        return;
    }
    snprintf(location, sizeof location, "/v1/modules/%s", digest);
    text_printf(&t, "{\"module\":\"sha256:%s\",\"size_bytes\":%zu}", digest, size);
    struct header h = {"Location", location};
    reply_json(x, existed ? 200 : 201, &t, &h, 1);
}

void handle_module_post(struct exchange *x)
{
    put(x, NULL);
}

void handle_module_put(struct exchange *x)
{
    const char *digest = digest_of(x->params[0]);
    if (digest)
        put(x, digest);
    else
        no_digest(x);
}

void handle_module_get(struct exchange *x)
{
    const char *digest = digest_of(x->params[0]);
    if (digest)
        reply_blob(x, digest, "text/plain; charset=utf-8", NULL);
    else
        no_digest(x);
}

/* ---- workers on other hosts (auth.c has checked their token) ---- */

void handle_blob_get(struct exchange *x)
{
    if (store_digest_valid(x->params[0]))
        reply_blob(x, x->params[0], "application/octet-stream", NULL);
    else
        no_digest(x);
}

void handle_blob_put(struct exchange *x)
{
    if (store_digest_valid(x->params[0]))
        put(x, x->params[0]);
    else
        no_digest(x);
}

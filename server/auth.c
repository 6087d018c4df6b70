/* Who asks: a key in `Authorization: Bearer`, or nobody. The table of keys is read from Redis when its
 * version changes (looked at once a second), so that a request costs no question to Redis and a revoked key
 * works for a second at most. Redis out of reach for MAX_AGE_MS: nobody is let in any more.
 *
 * Without any key a server on a loopback address is open: everybody is `default` with the role admin. */
#include "server/internal.h"

#include "base/encode.h"
#include "base/hash.h"

#include <strings.h>
#include <time.h>

enum { MAX_AGE_MS = 20000 };

struct auth {
    bool closed;
    pthread_rwlock_t lock; /* of what follows */
    struct queue_keys keys;
    long long version;
    bool known;
    long long read_ms; /* monotonic: when the keys were last known to be these */
};

static long long now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

struct auth *auth_create(bool closed)
{
    struct auth *a = mem_zalloc(1, sizeof *a);
    a->closed = closed;
    pthread_rwlock_init(&a->lock, NULL);
    return a;
}

void auth_destroy(struct auth *a)
{
    if (!a)
        return;
    pthread_rwlock_destroy(&a->lock);
    queue_keys_release(&a->keys);
    free(a);
}

/* The version is read first: a change in between is read again the next time. Only one thread refreshes. */
enum error_code auth_refresh(struct auth *a, struct queue *q, struct error *e)
{
    long long version;
    struct queue_keys keys = {0};
    enum error_code code = queue_keys_version(q, &version, e);
    bool changed = code == ERROR_OK && (!a->known || version != a->version);
    if (changed)
        code = queue_keys_list(q, &keys, e);
    if (code != ERROR_OK)
        return code;
    pthread_rwlock_wrlock(&a->lock);
    if (changed) {
        queue_keys_release(&a->keys);
        a->keys = keys;
        a->version = version;
        a->known = true;
    }
    a->read_ms = now_ms(CLOCK_MONOTONIC);
    pthread_rwlock_unlock(&a->lock);
    return ERROR_OK;
}

bool auth_any(struct auth *a)
{
    pthread_rwlock_rdlock(&a->lock);
    bool any = a->keys.count > 0;
    pthread_rwlock_unlock(&a->lock);
    return any;
}

bool auth_required(struct auth *a)
{
    return a->closed || auth_any(a);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(a, ((const struct queue_key *)b)->id);
}

/* The id is public and finds the record; the secret takes part only in a digest that is compared in constant
 * time. */
bool auth_find_digest(struct auth *a, const char *id, const unsigned char digest[32], struct queue_key *out)
{
    bool good = false;
    pthread_rwlock_rdlock(&a->lock);
    const struct queue_key *k =
        a->keys.count ? bsearch(id, a->keys.at, a->keys.count, sizeof *a->keys.at, by_id) : NULL;
    if (k && encode_equal_bytes(k->digest, digest, sizeof k->digest) &&
        (k->expires_ms == 0 || k->expires_ms > now_ms(CLOCK_REALTIME))) {
        *out = *k;
        good = true;
    }
    pthread_rwlock_unlock(&a->lock);
    return good;
}

bool auth_find(struct auth *a, const char *text, struct queue_key *out)
{
    char id[QUEUE_KEY_ID_SIZE];
    unsigned char digest[32];
    if (!queue_key_id(text, id))
        return false;
    sha256_bytes(text, strlen(text), digest);
    return auth_find_digest(a, id, digest, out);
}

/* the credentials of `Authorization: Bearer`; NULL: none */
static const char *bearer(struct exchange *x)
{
    const char *given = request_header(x, "Authorization");
    if (!given || strncasecmp(given, "Bearer", 6) != 0 || (given[6] && given[6] != ' '))
        return NULL;
    given += 6;
    return given + strspn(given, " ");
}

static enum error_code check_worker(struct exchange *x, struct error *e)
{
    const char *token = x->server->options->worker_token, *given = bearer(x);
    if (token && given && encode_equal_secret(given, token))
        return ERROR_OK;
    return error_set(e, ERROR_NOT_FOUND, "there is nothing at this path; see /openapi.json");
}

static void be(struct exchange *x, const struct queue_key *k)
{
    snprintf(x->tenant, sizeof x->tenant, "%s", k->tenant);
    snprintf(x->key_id, sizeof x->key_id, "%s", k->id);
    x->role = k->role;
}

/* who asks; false: that cannot be told now */
static bool identify(struct exchange *x)
{
    struct auth *a = x->server->auth;
    const char *given = bearer(x);
    struct queue_key key;
    enum error_code code = !given                      ? session_identify(x, &key)
                           : auth_find(a, given, &key) ? ERROR_OK
                                                       : ERROR_UNAUTHORIZED;
    if (code == ERROR_OK) {
        be(x, &key);
    } else if (!auth_required(a)) {
        snprintf(x->tenant, sizeof x->tenant, "default");
        x->role = QUEUE_ROLE_ADMIN;
    } else if (code == ERROR_UNAVAILABLE) {
        return false;
    }
    return true;
}

/* Who is let in without a key in the request itself (a cookie; no keys at all) might be a browser that obeys
 * another site's page. */
static enum error_code check_browser(struct exchange *x, struct error *e)
{
    bool writes = strcmp(x->method, "GET") != 0 && strcmp(x->method, "HEAD") != 0;
    bool ambient = x->csrf[0] || !x->key_id[0];
    /* without a cookie: nothing that the page does not know itself */
    bool welcome = !x->csrf[0] && origin_allowed(x);
    if (writes && ambient && !welcome && session_from_elsewhere(x))
        return error_set(e, ERROR_FORBIDDEN, "another site's page may not change anything here");
    if (writes && x->csrf[0] && !session_csrf_good(x))
        return error_set(e, ERROR_FORBIDDEN,
                         "the session's CSRF token is missing (X-CSRF-Token, or csrf= in the query)");
    return ERROR_OK;
}

static bool usable(struct auth *a)
{
    pthread_rwlock_rdlock(&a->lock);
    bool good = a->known && now_ms(CLOCK_MONOTONIC) - a->read_ms <= MAX_AGE_MS;
    pthread_rwlock_unlock(&a->lock);
    return good;
}

enum error_code auth_check(struct exchange *x, struct error *e)
{
    enum access wanted = x->route->access;
    if (wanted == ACCESS_WORKER)
        return check_worker(x, e);
    bool known = usable(x->server->auth) && identify(x);
    if ((unsigned)x->role >= (unsigned)wanted)
        return wanted == ACCESS_PUBLIC ? ERROR_OK : check_browser(x, e);
    if (!known)
        return error_set(e, ERROR_UNAVAILABLE, "Redis cannot be reached, so nobody's key can be checked");
    if (x->role != QUEUE_ROLE_NONE)
        return error_set(e, ERROR_FORBIDDEN, "this key has the role %s; this request needs %s",
                         queue_role_text(x->role), queue_role_text((enum queue_role)wanted));
    if (!request_header(x, "Authorization"))
        return error_set(
            e, ERROR_UNAUTHORIZED,
            "this service needs a key: send Authorization: Bearer KEY (TOAST_KEY for the command line)");
    return error_set(e, ERROR_UNAUTHORIZED, "this key is not known here, was revoked, or has expired");
}

/* Who asks: a key in `Authorization: Bearer`, a browser's session, or nobody; and whether that is enough for
 * the route. Decided from the request's headers alone, before a byte of the body is read.
 *
 * Without any key a server on a loopback address is open: everybody is `default` with the role admin. */
#include "server/access/access.h"
#include "server/http/request.h"

#include "base/encode.h"

#include <strings.h>

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
    const char *token = x->server->access->options->worker_token, *given = bearer(x);
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

/* fills who asks; false: Redis cannot be reached, so a session's owner is not known */
static bool identify(struct exchange *x)
{
    struct keys *k = x->server->access->keys;
    const char *given = bearer(x);
    struct queue_key key;
    enum error_code code = !given                      ? session_identify(x, &key)
                           : keys_find(k, given, &key) ? ERROR_OK
                                                       : ERROR_UNAUTHORIZED;
    if (code == ERROR_OK) {
        be(x, &key);
    } else if (!keys_required(k)) {
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
    /* a named origin's page without a cookie: it can do nothing here that it could not do by itself */
    bool welcome = !x->csrf[0] && origin_allowed(x);
    if (writes && ambient && !welcome && session_from_elsewhere(x))
        return error_set(e, ERROR_FORBIDDEN, "another site's page may not change anything here");
    if (writes && x->csrf[0] && !session_csrf_good(x))
        return error_set(e, ERROR_FORBIDDEN,
                         "the session's CSRF token is missing (X-CSRF-Token, or csrf= in the query)");
    return ERROR_OK;
}

static enum error_code check(struct exchange *x, struct error *e)
{
    enum access wanted = x->route->access;
    if (wanted == ACCESS_WORKER)
        return check_worker(x, e);
    bool known = keys_usable(x->server->access->keys) && identify(x);
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

enum error_code access_admit(struct exchange *x, struct error *e)
{
    enum error_code code = origin_check_host(x, e);
    return code == ERROR_OK ? check(x, e) : code;
}

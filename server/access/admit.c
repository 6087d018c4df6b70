/* Who asks: a key in `Authorization: Bearer`, a browser's session, or nobody; and whether that is enough for
 * the route. Decided from the request's headers alone, before a byte of the body is read.
 *
 * Without any key a server on a loopback address is open: everybody is `default` with the role admin. */
#include "server/access/access.h"
#include "server/http/request.h"

#include "base/encode.h"

#include <strings.h>

/* the credentials of `Authorization: Bearer`; NULL: none */
static const char *bearer(struct exchange *exchange)
{
    const char *given = request_header(exchange, "Authorization");
    if (!given || strncasecmp(given, "Bearer", 6) != 0 || (given[6] && given[6] != ' '))
        return NULL;
    given += 6;
    return given + strspn(given, " ");
}

static enum error_code check_worker(struct exchange *exchange, struct error *e)
{
    const char *token = exchange->server->access->options->worker_token, *given = bearer(exchange);
    if (token && given && encode_equal_secret(given, token))
        return ERROR_OK;
    return error_set(e, ERROR_NOT_FOUND, "there is nothing at this path; see /openapi.json");
}

static void be(struct exchange *exchange, const struct queue_key *k)
{
    snprintf(exchange->tenant, sizeof exchange->tenant, "%s", k->tenant);
    snprintf(exchange->key_id, sizeof exchange->key_id, "%s", k->id);
    exchange->role = k->role;
}

/* fills who asks; false: Redis cannot be reached, so a session's owner is not known */
static bool identify(struct exchange *exchange)
{
    struct keys *k = exchange->server->access->keys;
    const char *given = bearer(exchange);
    struct queue_key key;
    enum error_code code = !given                      ? session_identify(exchange, &key)
                           : keys_find(k, given, &key) ? ERROR_OK
                                                       : ERROR_UNAUTHORIZED;
    if (code == ERROR_OK) {
        be(exchange, &key);
    } else if (!keys_required(k)) {
        snprintf(exchange->tenant, sizeof exchange->tenant, "default");
        exchange->role = QUEUE_ROLE_ADMIN;
    } else if (code == ERROR_UNAVAILABLE) {
        return false;
    }
    return true;
}

/* Who is let in without a key in the request itself (a cookie; no keys at all) might be a browser that obeys
 * another site's page. */
static enum error_code check_browser(struct exchange *exchange, struct error *e)
{
    bool writes = strcmp(exchange->method, "GET") != 0 && strcmp(exchange->method, "HEAD") != 0;
    bool ambient = exchange->csrf[0] || !exchange->key_id[0];
    /* a named origin's page without a cookie: it can do nothing here that it could not do by itself */
    bool welcome = !exchange->csrf[0] && origin_allowed(exchange);
    if (writes && ambient && !welcome && session_from_elsewhere(exchange))
        return error_set(e, ERROR_FORBIDDEN, "another site's page may not change anything here");
    if (writes && exchange->csrf[0] && !session_csrf_good(exchange))
        return error_set(e, ERROR_FORBIDDEN,
                         "the session's CSRF token is missing (X-CSRF-Token, or csrf= in the query)");
    return ERROR_OK;
}

static enum error_code check(struct exchange *exchange, struct error *e)
{
    enum access wanted = exchange->route->access;
    if (wanted == ACCESS_WORKER)
        return check_worker(exchange, e);
    bool known = keys_usable(exchange->server->access->keys) && identify(exchange);
    if ((unsigned)exchange->role >= (unsigned)wanted)
        return wanted == ACCESS_PUBLIC ? ERROR_OK : check_browser(exchange, e);
    if (!known)
        return error_set(e, ERROR_UNAVAILABLE, "Redis cannot be reached, so nobody's key can be checked");
    if (exchange->role != QUEUE_ROLE_NONE)
        return error_set(e, ERROR_FORBIDDEN, "this key has the role %s; this request needs %s",
                         queue_role_text(exchange->role), queue_role_text((enum queue_role)wanted));
    if (!request_header(exchange, "Authorization"))
        return error_set(
            e, ERROR_UNAUTHORIZED,
            "this service needs a key: send Authorization: Bearer KEY (TOAST_KEY for the command line)");
    return error_set(e, ERROR_UNAUTHORIZED, "this key is not known here, was revoked, or has expired");
}

enum error_code access_admit(struct exchange *exchange, struct error *e)
{
    enum error_code code = origin_check_host(exchange, e);
    return code == ERROR_OK ? check(exchange, e) : code;
}

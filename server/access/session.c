/* Sessions of browsers, which cannot send a key with an EventSource or a link: POST /ui/session trades a key
 * for a cookie (HttpOnly, SameSite=Strict, 8 h at most). A session is no more than its key: revoked or
 * expired, it ends.
 *
 * A cookie is sent by the browser whoever made the request, so a request that changes something and stands on
 * a cookie needs the session's CSRF token as well (X-CSRF-Token, or csrf= in the query for forms), and must
 * not come from another site. The token is a hash of the cookie: nothing more is kept. */
#include "server/access/access.h"
#include "server/http/form.h"
#include "server/http/reply.h"
#include "server/http/request.h"

#include "api/bodies.h"
#include "base/encode.h"
#include "base/hash.h"
#include "queue/sessions.h"

static const char cookie_name[] = "toast_session";

static void csrf_of(const char *id, char out[SESSION_CSRF_SIZE])
{
    char *text = mem_printf("csrf %s", id), hex[65];
    unsigned char digest[32];
    sha256_bytes(text, strlen(text), digest);
    sha256_format(digest, hex);
    snprintf(out, SESSION_CSRF_SIZE, "%s", hex);
    free(text);
}

static const char *cookie(struct exchange *exchange)
{
    const char *id = MHD_lookup_connection_value(exchange->connection, MHD_COOKIE_KIND, cookie_name);
    return id && queue_session_valid(id) ? id : NULL;
}

enum error_code session_identify(struct exchange *exchange, struct queue_key *out)
{
    const char *id = cookie(exchange);
    char key_id[QUEUE_KEY_ID_SIZE];
    unsigned char digest[32];
    struct error e;
    if (!id)
        return ERROR_UNAUTHORIZED;
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_session_find(queue, id, key_id, digest, &e);
    pool_give(exchange->server, queue);
    if (code == ERROR_UNAVAILABLE)
        return code;
    if (code != ERROR_OK || !keys_find_digest(exchange->server->access->keys, key_id, digest, out))
        return ERROR_UNAUTHORIZED;
    csrf_of(id, exchange->csrf);
    return ERROR_OK;
}

/* does a browser say that another site made this request? (Fetch Metadata; Origin, RFC 6454) */
bool session_from_elsewhere(struct exchange *exchange)
{
    const char *site = request_header(exchange, "Sec-Fetch-Site"),
               *origin = request_header(exchange, "Origin"), *host = request_header(exchange, "Host");
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return true;
    if (!origin)
        return false;
    const char *authority = strstr(origin, "://");
    return !authority || !host || strcmp(authority + 3, host) != 0;
}

bool session_csrf_good(struct exchange *exchange)
{
    char given[SESSION_CSRF_SIZE + 1] = "";
    const char *header = request_header(exchange, "X-CSRF-Token");
    if (!header)
        request_query(exchange, "csrf", given, sizeof given);
    return exchange->csrf[0] && encode_equal_secret(header ? header : given, exchange->csrf);
}

/* ---- POST /ui/session: JSON {"key": ..}, a form with key=.., or Authorization: Bearer ---- */

static void set_cookie(struct exchange *exchange, const char *id, long seconds, char *out, size_t room)
{
    const char *forwarded = request_header(exchange, "X-Forwarded-Proto");
    snprintf(out, room, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%ld%s", cookie_name, id, seconds,
             forwarded && strcmp(forwarded, "https") == 0 ? "; Secure" : "");
}

static void go_to(struct exchange *exchange, const char *where, const char *set)
{
    struct header extra[2] = {{"Location", where}, {"Set-Cookie", set}};
    reply_empty(exchange, 303, extra, set ? 2 : 1);
}

static bool is_form(const struct exchange *exchange)
{
    return exchange->content_type && form_is_type(exchange->content_type);
}

static enum error_code find_key(struct exchange *exchange, struct queue_key *out, struct error *e)
{
    const char *authorization = request_header(exchange, "Authorization"), *body = exchange->body.memory.at;
    char *key = NULL;
    enum error_code code = ERROR_OK;
    if (is_form(exchange))
        key = form_field(body, exchange->body.memory.size, "key");
    else if (exchange->body.memory.size)
        code = api_key_parse(body, exchange->body.memory.size, &key, e);
    else if (authorization && strncmp(authorization, "Bearer ", 7) == 0)
        key = mem_strdup(authorization + 7);
    if (code == ERROR_OK && !(key && keys_find(exchange->server->access->keys, key, out)))
        code = error_set(e, ERROR_UNAUTHORIZED, "this key is not known here, was revoked, or has expired");
    free(key);
    return code;
}

void handle_session_post(struct exchange *exchange)
{
    struct queue_key key;
    struct error e;
    char id[QUEUE_SESSION_SIZE], csrf[SESSION_CSRF_SIZE], set[160];
    long seconds;
    if (session_from_elsewhere(exchange)) {
        error_set(&e, ERROR_FORBIDDEN, "a session is begun from this service's own pages only");
        reply_problem(exchange, &e);
        return;
    }
    if (find_key(exchange, &key, &e) != ERROR_OK) {
        if (is_form(exchange))
            go_to(exchange, "/ui/login?failed=1", NULL);
        else
            reply_problem(exchange, &e);
        return;
    }
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_session_add(queue, &key, id, &seconds, &e);
    pool_give(exchange->server, queue);
    if (code != ERROR_OK) {
        reply_problem(exchange, &e);
        return;
    }
    csrf_of(id, csrf);
    set_cookie(exchange, id, seconds, set, sizeof set);
    if (is_form(exchange)) {
        go_to(exchange, "/ui", set);
        return;
    }
    struct header extra[] = {{"Set-Cookie", set}, {"X-CSRF-Token", csrf}};
    reply_empty(exchange, 204, extra, 2);
}

/* who the caller is; pages and scripts of /ui take the CSRF token from here */
void handle_session_get(struct exchange *exchange)
{
    struct text text = {0};
    text_printf(&text, "{\"tenant\":\"%s\",\"role\":\"%s\",\"key_id\":\"%s\",\"csrf\":\"%s\"}",
                exchange->tenant, queue_role_text(exchange->role), exchange->key_id, exchange->csrf);
    reply_json(exchange, 200, &text, NULL, 0);
}

static enum error_code end_session(struct exchange *exchange, char *set, size_t room, struct error *e)
{
    const char *id = cookie(exchange);
    set_cookie(exchange, "", 0, set, room);
    if (!id)
        return ERROR_OK;
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_session_end(queue, id, e);
    pool_give(exchange->server, queue);
    return code;
}

void handle_session_delete(struct exchange *exchange)
{
    struct error e;
    char set[160];
    if (end_session(exchange, set, sizeof set, &e) != ERROR_OK) {
        reply_problem(exchange, &e);
        return;
    }
    struct header extra = {"Set-Cookie", set};
    reply_empty(exchange, 204, &extra, 1);
}

/* the same for a form, which knows GET and POST only */
void handle_session_end(struct exchange *exchange)
{
    struct error e;
    char set[160];
    if (end_session(exchange, set, sizeof set, &e) != ERROR_OK)
        reply_problem(exchange, &e);
    else
        go_to(exchange, "/ui/login", set);
}

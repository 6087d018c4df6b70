/* Who asks, and what they may: keys, browsers' sessions, origins, and what a tenant's modules may take. It
 * fills tenant, role, key_id and csrf of an exchange before anything else sees it; it knows no jobs. */
#ifndef TOAST_SERVER_ACCESS_H
#define TOAST_SERVER_ACCESS_H

#include "server/http/http.h"

/* Of each tenant; shown at /v1/limits. */
struct tenant_limits {
    int open_jobs, submits_per_s; /* 0: as many as it likes */
    long long tenant_bytes;       /* of the modules it has; what is under way may exceed it */
};

/* texts of the command line, borrowed */
struct access_names {
    const char *at[32];
    size_t count;
};

struct access_options {
    struct tenant_limits limits;
    const char *worker_token;         /* lets workers use /internal; NULL: closed */
    struct access_names host_names;   /* of this server beside localhost, for Host while there are no keys */
    struct access_names cors_origins; /* whose pages may use the API, "https://host[:port]" */
};

struct access_state {
    const struct access_options *options;
    struct keys *keys;
    bool loopback; /* the server listens where only this machine reaches it */
};

/* ---- keys.c: the keys, read from Redis when they change, never per request; any thread ---- */
/* closed: nobody is let in without a key even while there is none */
struct keys *keys_create(bool closed);
void keys_destroy(struct keys *k); /* NULL is fine */
/* once a second: keys that were added, revoked. Errors of Redis; the known keys stay. */
enum error_code keys_refresh(struct keys *k, struct queue *queue, struct error *e) BASE_CHECKED;
bool keys_any(struct keys *k);      /* there are keys, as far as is known */
bool keys_required(struct keys *k); /* there are, or nobody is let in without */
bool keys_usable(struct keys *k);   /* they were read from Redis, and not too long ago */
/* the valid key with this text (or with this id and digest); false: none */
bool keys_find(struct keys *k, const char *text, struct queue_key *out);
bool keys_find_digest(struct keys *k, const char *id, const unsigned char digest[32], struct queue_key *out);

/* ---- admit.c ---- */
/* Fills tenant, role and key_id of exchange, or says why exchange may not use its route: ERROR_MISDIRECTED
 * (Host), ERROR_UNAUTHORIZED, ERROR_FORBIDDEN, ERROR_NOT_FOUND (worker routes), ERROR_UNAVAILABLE (keys could
 * not be read from Redis yet, or not for long). A struct http_hooks' admit. */
enum error_code access_admit(struct exchange *exchange, struct error *e) BASE_CHECKED;

/* ---- origin.c: browsers' pages ---- */
/* While nobody needs a key: Host must be a name of this server's own. ERROR_MISDIRECTED */
enum error_code origin_check_host(const struct exchange *exchange, struct error *e) BASE_CHECKED;
/* "https://host[:port]" in lower case, nothing behind it */
bool origin_valid(const char *text);
/* the request comes from a page of an origin that the operator named, to a path that it may use */
bool origin_allowed(const struct exchange *exchange);
/* CORS headers of a reply; a struct http_hooks' add_headers */
void origin_add_headers(const struct exchange *exchange, struct MHD_Response *response);
/* answers a CORS preflight; false: it is none, or one of an origin that is not named */
bool origin_preflight(struct exchange *exchange);

/* ---- session.c: browsers ---- */
enum { SESSION_CSRF_SIZE = 65 };
/* The valid key that the cookie stands for; fills x->csrf. ERROR_UNAUTHORIZED (no cookie, session or key
 * any more), ERROR_UNAVAILABLE (Redis cannot be asked) */
enum error_code session_identify(struct exchange *exchange, struct queue_key *out) BASE_CHECKED;
bool session_csrf_good(struct exchange *exchange);
/* a browser says that another site's page made this request */
bool session_from_elsewhere(struct exchange *exchange);
void handle_session_post(struct exchange *exchange);
void handle_session_get(struct exchange *exchange);
void handle_session_delete(struct exchange *exchange);
void handle_session_end(struct exchange *exchange);

/* ---- tenant.c: x's tenant has modules of its own, although equal bytes are stored once.
 * until_ms (may be NULL): when the module will be forgotten, ms since 1970. ---- */
/* before a module is taken. ERROR_QUOTA */
enum error_code tenant_room(struct exchange *exchange, struct error *e) BASE_CHECKED;
/* a module that is in the store becomes the tenant's; *existed: it was */
enum error_code tenant_module_add(struct exchange *exchange, const char *digest, bool *existed,
                                  long long *until_ms, struct error *e) BASE_CHECKED;
/* tenant_room, body_store_module, tenant_module_add. ERROR_FORBIDDEN: the caller may only read. */
enum error_code tenant_module_store(struct exchange *exchange, const char *part, const void *bytes,
                                    size_t size, char digest[STORE_DIGEST_SIZE],
                                    struct error *e) BASE_CHECKED;
/* ERROR_NOT_FOUND: the tenant does not have it, whoever else may */
enum error_code tenant_module_use(struct exchange *exchange, const char *digest, long long *until_ms,
                                  struct error *e) BASE_CHECKED;
/* the same for a request's member /module, which the store then keeps: ERROR_INVALID_REQUEST */
enum error_code tenant_module_named(struct exchange *exchange, const char *digest,
                                    struct error *e) BASE_CHECKED;
/* the error of a request whose member /module names what the tenant does not have */
enum error_code tenant_module_missing(const char *digest, struct error *e);

#endif

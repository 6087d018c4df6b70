/* Inside the server: one exchange (a request and its reply), routes, bodies, replies. Not for other folders.
 */
#ifndef TOAST_SERVER_INTERNAL_H
#define TOAST_SERVER_INTERNAL_H

#include "server/archive.h"
#include "server/server.h"

#include "api/limits.h"
#include "base/inflate.h"
#include "base/memory.h"
#include "queue/keys.h"
#include "queue/queue.h"
#include "store/store.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER_CONNECTIONS = 4096, JOB_NAME_MAX = 64 };

enum body_kind {
    BODY_NONE,    /* a body is refused */
    BODY_MODULE,  /* streamed into the store, gunzipped on the way */
    BODY_BLOB,    /* the same without a look at the bytes (workers) */
    BODY_SUBMIT,  /* JSON in memory, or multipart/form-data in an unlinked file */
    BODY_PROBLEM, /* like a module, up to LIMIT_PROBLEM */
    BODY_SMALL    /* in memory, any type: forms, small JSON */
};

/* Who may use a route. A key's role is one of the first four; each may also do what the one before may. */
enum access {
    ACCESS_PUBLIC = QUEUE_ROLE_NONE, /* everybody, also without a key */
    ACCESS_READ = QUEUE_ROLE_READ,
    ACCESS_SUBMIT = QUEUE_ROLE_SUBMIT,
    ACCESS_ADMIN = QUEUE_ROLE_ADMIN,
    ACCESS_WORKER, /* the holder of the worker token; for others the path does not exist */
};

struct exchange;
struct route {
    const char *method, *pattern; /* '*' stands for one or more characters other than '/' */
    void (*handle)(struct exchange *x);
    enum body_kind body;
    enum access access;
    const char *query; /* names of its parameters, see routes.def */
};
/* the route for method and path; NULL with *known true: another method is allowed (named in allow) */
const struct route *route_find(const char *method, const char *path, char params[2][256],
                               const struct route **known);
void route_allow(const struct route *known, char *out, size_t room);
const struct route *route_table(size_t *count);

struct watched; /* watch.c: a connection and its deadlines */

/* What is received of a body. */
struct body {
    enum body_kind kind;
    size_t received, limit;
    struct text memory;
    int fd; /* multipart: the file; -1 otherwise */
    struct store_writer *writer;
    struct inflater *inflater; /* NULL: not compressed */
    bool looked;               /* the first bytes were looked at */
    size_t decoded;
    unsigned char first[2]; /* of the decoded bytes */
    struct error error;     /* code not ok: the rest is swallowed, the reply says why */
};

struct job_showing {            /* how an answer shows a job */
    int status;                 /* 202: with Location */
    bool conditional, replayed; /* If-None-Match counts; Idempotency-Replayed is said */
    char name[JOB_NAME_MAX + 1];
};

struct exchange {
    struct server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    struct watched *watched;
    char *uri; /* raw, as it came */
    char method[16], path[1024], params[2][256], request_id[33];
    const char *query;              /* in uri, after '?'; "" when none */
    char *content_type, *boundary;  /* owned */
    char tenant[QUEUE_TENANT_SIZE]; /* whose jobs, modules and limits these are; "" when nobody is known */
    enum queue_role role; /* what the caller may do; QUEUE_ROLE_NONE on public routes without a key */
    char key_id[QUEUE_KEY_ID_SIZE]; /* "" when no key was used */
    char csrf[65]; /* the caller is a browser's session: what its writes must carry; else "" */
    bool begun, replied, close, gzip;
    char trace[56]; /* W3C traceparent of what this request causes */
    size_t reply_bytes;
    size_t range_size; /* of what a refused Range was asked of */
    bool streaming;    /* the reply lasts as long as its job */
    bool waiting;      /* suspended; again() follows */
    void (*again)(struct exchange *x);
    char wait_id[QUEUE_ID_SIZE]; /* what it waits for */
    int wait_default_s;          /* what is waited when the client has no preference */
    int wait_s;                  /* of Prefer: wait, once it was applied */
    struct job_showing showing;  /* again */
    /* when the tenant's module that was sent or named last will be forgotten */
    long long module_until_ms;
    char sunset[32];                /* for the header of that name (RFC 8594); "" none */
    bool in_flight;                 /* key is in flights */
    char key[65];                   /* hash of the Idempotency-Key, or "" */
    struct what_if_result *what_if; /* owned; what again() answers */
    struct submission *submission;  /* owned; the same */
    struct body body;
    struct timespec began;
    int status;
};

struct server {
    const struct server_options *options;
    struct store *store;
    bool loopback; /* it listens where only this machine reaches it */
    char *spool;   /* folder of unlinked files */
    struct MHD_Daemon *daemon;
    pthread_mutex_t pool_lock;
    VEC(struct queue *) pool; /* idle connections to Redis */
    atomic_bool draining, memory_short, disk_short, stopped;
    atomic_int under_way;
    struct metrics *metrics;
    struct watch *watch;
    struct auth *auth;
    struct follow *follow;
    struct what_if_pool *what_ifs;
    struct ui_history *history;
    struct flights *flights;
    struct acceptor *acceptor;
    char secret[65]; /* of page tokens; under pool_lock, "" until asked for */
};

/* ---- pool.c ---- */
/* a connection to Redis for this thread, until given back */
struct queue *pool_take(struct server *s);
void pool_give(struct server *s, struct queue *q);

/* ---- request.c ---- */
/* Checks the request line and headers and finds the route; fills x. On refusal e says why (x->close is set).
 */
enum error_code request_check(struct exchange *x, const char *method, const char *version,
                              struct error *e) BASE_CHECKED;
const char *request_header(const struct exchange *x, const char *name); /* NULL: absent */

/* ---- query.c ---- */
/* Percent-decodes n bytes into out. false: a damaged escape, anything but printable ASCII, an escaped '/',
 * '\\' or '%', or more than fits. */
bool query_decode(const char *from, size_t n, char *out, size_t room);
/* Every parameter is one that x's route has, has a value with whole escapes, and comes once (see routes.def).
 * ERROR_UNKNOWN_PARAMETER: unknown or repeated; ERROR_MALFORMED: no value, damaged escape. */
enum error_code query_check(const struct exchange *x, struct error *e) BASE_CHECKED;
/* value of a parameter into out; false: absent. What query_decode refuses gives an empty value. */
bool request_query(const struct exchange *x, const char *name, char *out, size_t room);
bool request_query_empty(const struct exchange *x, const char *name); /* there, with nothing behind '=' */
/* the same for one that is true or false; *out stays when it is absent. ERROR_MALFORMED: anything else */
enum error_code request_query_flag(const struct exchange *x, const char *name, bool *out,
                                   struct error *e) BASE_CHECKED;

/* ---- auth.c: keys, read from Redis when they change, never per request ---- */
/* closed: nobody is let in without a key even while there is none */
struct auth *auth_create(bool closed);
void auth_destroy(struct auth *a);
/* once a second: keys that were added, revoked */
enum error_code auth_refresh(struct auth *a, struct queue *q, struct error *e) BASE_CHECKED;
bool auth_any(struct auth *a);      /* there are keys, as far as is known */
bool auth_required(struct auth *a); /* there are, or nobody is let in without */
/* Fills tenant, role and key_id of x, or says why x may not use its route: ERROR_UNAUTHORIZED,
 * ERROR_FORBIDDEN, ERROR_NOT_FOUND (worker routes), ERROR_UNAVAILABLE (keys could not be read from Redis yet,
 * or not for long). */
enum error_code auth_check(struct exchange *x, struct error *e) BASE_CHECKED;
/* the valid key with this text (or with this id and digest); false: none */
bool auth_find(struct auth *a, const char *text, struct queue_key *out);
bool auth_find_digest(struct auth *a, const char *id, const unsigned char digest[32], struct queue_key *out);

/* ---- origin.c: browsers' pages ---- */
/* While nobody needs a key: Host must be a name of this server's own. ERROR_MISDIRECTED */
enum error_code origin_check_host(const struct exchange *x, struct error *e) BASE_CHECKED;
/* "https://host[:port]" in lower case, nothing behind it */
bool origin_valid(const char *text);
/* the request comes from a page of an origin that the operator named, to a path that it may use */
bool origin_allowed(const struct exchange *x);
void origin_add_headers(const struct exchange *x, struct MHD_Response *r);
/* answers a CORS preflight; false: it is none, or one of an origin that is not named */
bool origin_preflight(struct exchange *x);

/* ---- modules.c ---- */
/* before the body of a module or a problem: a tenant that has it, or has room. ERROR_QUOTA */
enum error_code modules_begin(struct exchange *x, struct error *e) BASE_CHECKED;

/* ---- tenant.c: x's tenant has modules of its own, although equal bytes are stored once ---- */
/* before a module is taken. ERROR_QUOTA */
enum error_code tenant_room(struct exchange *x, struct error *e) BASE_CHECKED;
/* a module that is in the store becomes the tenant's; *existed: it was */
enum error_code tenant_module_add(struct exchange *x, const char *digest, bool *existed,
                                  struct error *e) BASE_CHECKED;
/* tenant_room, body_store_module, tenant_module_add. ERROR_FORBIDDEN: the caller may only read. */
enum error_code tenant_module_store(struct exchange *x, const char *part, const void *bytes, size_t size,
                                    char digest[STORE_DIGEST_SIZE], struct error *e) BASE_CHECKED;
/* ERROR_NOT_FOUND: the tenant does not have it, whoever else may */
enum error_code tenant_module_use(struct exchange *x, const char *digest, struct error *e) BASE_CHECKED;
/* the same for a request's member /module, which the store then keeps: ERROR_INVALID_REQUEST */
enum error_code tenant_module_named(struct exchange *x, const char *digest, struct error *e) BASE_CHECKED;
/* says so */
enum error_code tenant_module_missing(const char *digest, struct error *e);

/* ---- session.c: browsers ---- */
enum { SESSION_CSRF_SIZE = 65 };
/* The valid key that the cookie stands for; fills x->csrf. ERROR_UNAUTHORIZED (no cookie, session or key
 * any more), ERROR_UNAVAILABLE (Redis cannot be asked) */
enum error_code session_identify(struct exchange *x, struct queue_key *out) BASE_CHECKED;
bool session_csrf_good(struct exchange *x);
bool session_from_elsewhere(
    struct exchange *x); /* a browser says that another site's page made this request */

/* ---- trace.c ---- */
/* X-Request-Id and traceparent of the client where they are well-formed, else new ones (into request_id
 * and trace) */
void trace_begin(struct exchange *x);
/* one line for a request that is over */
void trace_log(const struct exchange *x, double seconds);

/* ---- body.c ---- */
enum error_code body_begin(struct exchange *x, struct error *e) BASE_CHECKED;
void body_add(struct exchange *x, const char *bytes, size_t size); /* errors stay in x->body.error */
void body_release(struct body *b);
/* BODY_MODULE, BODY_PROBLEM, BODY_BLOB: ends the stream. expected may be NULL. */
enum error_code body_store(struct exchange *x, const char *expected, char digest[STORE_DIGEST_SIZE],
                           bool *existed, struct error *e) BASE_CHECKED;
/* BODY_SUBMIT, BODY_SMALL with Content-Encoding gzip -> owned bytes. ERROR_INVALID_GZIP, ERROR_TOO_LARGE */
enum error_code body_expand(const struct body *b, char **json, size_t *size, struct error *e) BASE_CHECKED;
/* bytes (perhaps gzip) -> module in the store. part: what of the request they are, "module" or a JSON
 * pointer. ERROR_INVALID_MODULE: empty; ERROR_INVALID_GZIP: damaged, a bomb, gzip in gzip. */
enum error_code body_store_module(struct server *s, const char *part, const void *bytes, size_t size,
                                  char digest[STORE_DIGEST_SIZE], struct error *e) BASE_CHECKED;

/* ---- multipart.c (RFC 7578): names and bytes are borrowed from the body ---- */
struct part {
    char name[32];
    const char *bytes;
    size_t size;
};
enum { MULTIPART_MAX = 8 };
enum error_code multipart_parse(const char *body, size_t size, const char *boundary,
                                struct part parts[MULTIPART_MAX], size_t *count,
                                struct error *e) BASE_CHECKED;
/* the boundary of a Content-Type (owned); NULL: none or not valid */
char *multipart_boundary(const char *content_type);

/* ---- profiles.c ---- */
/* *out (owned): json with the profile that r (decoded from it) names put inline; NULL when it names none.
 * ERROR_INVALID_REQUEST: the tenant has no such profile. */
struct api_request;
enum error_code profile_resolve(struct exchange *x, const struct api_request *r, const char *json,
                                size_t size, char **out, struct error *e) BASE_CHECKED;

/* ---- events.c ---- */
/* WAIT_BEGUN: the client prefers to wait for the job's end; the exchange is suspended and again(x) answers
 * it. WAIT_OVER: the job has ended meanwhile: look again. WAIT_NONE: answer now. */
enum wait_result { WAIT_NONE, WAIT_BEGUN, WAIT_OVER };
enum wait_result wait_begin(struct exchange *x, const char *id, void (*again)(struct exchange *x));

/* ---- reply.c: exactly one of these per exchange ---- */
struct header {
    const char *name, *value;
};
void reply_json(struct exchange *x, int status, struct text *json, const struct header *extra,
                size_t count); /* takes json */
void reply_empty(struct exchange *x, int status, const struct header *extra, size_t count);
/* any response of the library (taken) */
void reply_response(struct exchange *x, int status, struct MHD_Response *r, const char *media_type,
                    const struct header *extra, size_t count);
void reply_problem(struct exchange *x, const struct error *e);
/* bytes of a blob with ETag, Range, Content-Digest; name: for Content-Disposition, NULL none */
void reply_blob(struct exchange *x, const char *digest, const char *media_type, const char *name);
/* bytes (copied) that change with the build only: ETag, max-age */
void reply_bytes(struct exchange *x, const char *media_type, const void *bytes, size_t size);
/* answers 304 when If-None-Match says so; caching: the Cache-Control that a 200 would have */
bool reply_not_modified(struct exchange *x, const char *etag, const char *caching);

/* ---- find.c ---- */
/* an id that a client may choose: see JOB_NAME_MAX, docs/service.md */
bool job_name_valid(const char *name);
/* what a path says -> the id in Redis; false: nothing that could be a job */
bool job_resolve(const struct exchange *x, const char *name, char id[QUEUE_ID_SIZE]);
/* The caller's job of this id or name, archived or not: all its fields (owned). ERROR_NOT_FOUND (also another
 * tenant's), ERROR_GONE (deleted, or its time was over). *job is empty then. */
enum error_code job_load(struct exchange *x, const char *name, char id[QUEUE_ID_SIZE],
                         struct queue_fields *job, struct error *e) BASE_CHECKED;

/* ---- submit.c, jobs.c: what pages do as well; answered by the caller ---- */
/* a job of the caller's from a request's JSON; errors as of POST /v1/jobs */
enum error_code job_submit(struct exchange *x, const char *json, size_t size, char id[QUEUE_ID_SIZE],
                           struct error *e) BASE_CHECKED;
struct submission;
void submission_destroy(struct submission *s); /* NULL is fine */
/* starts a failed or dead job, archived or not, again; the job was found to be the caller's */
enum error_code job_retry(struct exchange *x, const char *id, struct error *e) BASE_CHECKED;

/* ---- jobs.c ---- */
/* answers with the job as it is now, or when the client's Prefer: wait is over (x->showing) */
void job_show(struct exchange *x, const char *name, struct job_showing how);
/* the same with fields that the caller has (taken) of the job of this id */
void job_show_fields(struct exchange *x, const char *name, const char *id, struct queue_fields *job,
                     struct job_showing how);

/* ---- list.c ---- */
/* RFC 3339: 2026-11-21T03:04:05.678Z, fraction optional, or an offset -> ms since 1970 */
bool list_time_parse(const char *text, long long *ms);

/* ---- janitor.c ---- */
/* a thread that archives, forgets and collects until s->stopped */
void *janitor_run(void *server);

/* ---- collect.c ---- */
/* a thread that removes blobs to which nothing refers, until s->stopped */
void *collect_run(void *server);

/* ---- flight.c ---- */
struct flights *flights_create(void);
void flights_destroy(struct flights *f); /* NULL is fine */
/* Takes the Idempotency-Key of a request whose headers are here (x->key). ERROR_MALFORMED, ERROR_IN_FLIGHT.
 */
enum error_code flight_begin(struct exchange *x, struct error *e) BASE_CHECKED;
void flight_end(struct exchange *x); /* any number of times */

/* ---- watch.c: deadlines of connections, which the library does not keep ---- */
struct watch *watch_create(struct server *s);
void watch_destroy(struct watch *w);
void watch_connection(void *user, struct MHD_Connection *c, void **context,
                      enum MHD_ConnectionNotificationCode code);
void watch_headers(struct watched *w, struct exchange *x); /* a request line came */
/* headers are complete; so much of the body is here */
void watch_body(struct watched *w, size_t received);
void watch_reply(struct watched *w);                      /* everything is here */
void watch_idle(struct watched *w);                       /* the exchange is over */
struct exchange *watch_exchange(const struct watched *w); /* under way on this connection, or NULL */
struct server *watch_server(const struct watched *w);

/* connections so far */
size_t watch_started(struct watch *w);
/* connections on which bytes of a further request wait that nobody has read */
size_t watch_unread(struct watch *w);

/* ---- drain.c ---- */
/* SIGTERM came: takes no more connections, answers all that there are within 10 s, ends the daemon */
void server_drain(struct server *s);

/* ---- server.c ---- */
/* The library could not read the request on c: e is sent, counted and logged as its answer. The caller
 * closes c. */
void server_refuse(struct MHD_Connection *c, const struct error *e);

/* ---- refusal.c ---- */
/* the library's MHD_queue_response: only this sends what we answer */
enum MHD_Result refusal_pass(struct MHD_Connection *c, unsigned status, struct MHD_Response *r);
/* Writes a problem to a socket beside the library, as far as that goes without waiting, and ends our side
 * of it. request_id may be NULL. */
void refusal_send(int fd, const struct error *e, const char *request_id);

/* ---- metrics.c ---- */
struct metrics *metrics_create(void);
void metrics_destroy(struct metrics *m);
void metrics_request(struct metrics *m, const struct route *route, const char *method, int status,
                     double seconds);
/* "# HELP" and "# TYPE"; help without its full stop */
void metrics_head(struct text *out, const char *name, const char *type, const char *help);
void metrics_write(struct metrics *m, struct text *out);

/* ---- handlers, named in routes.def ---- */
#define SERVER_ROUTE(method, pattern, handler, body, access, query) void handle_##handler(struct exchange *x);
#include "server/routes.def"
#undef SERVER_ROUTE

#endif

/* What the service has for its clients: jobs, modules, profiles, prices, events; and the threads that keep
 * them. One endpoint or two a file (handlers.h lists them); state of a server and of an exchange is here. */
#ifndef TOAST_SERVER_RESOURCES_H
#define TOAST_SERVER_RESOURCES_H

#include "server/access/access.h"
#include "server/http/http.h"
#include "server/http/reply.h"
#include "server/http/request.h"
#include "server/resources/webhook.h"

enum { JOB_NAME_MAX = 64 };

struct resource_options {
    int event_streams;              /* open here at once, of all tenants; a connection each */
    long long grace_ms, collect_ms; /* blobs: how long nobody needs to refer to one; how often is looked */
    struct queue_times times;       /* how long ended jobs are kept; zeroed: the defaults */
    struct webhook_options webhooks;
};

struct resource_state {
    const struct resource_options *options;
    atomic_bool memory_short; /* Redis is nearly full: no job is taken */
    struct follow *follow;
    struct what_if_pool *what_ifs;
    struct flights *flights;
    struct acceptor *acceptor;
    pthread_mutex_t secret_lock;
    char secret[65]; /* of page tokens; "" until asked for */
};

struct job_showing {            /* how an answer shows a job */
    int status;                 /* 202: with Location */
    bool conditional, replayed; /* If-None-Match counts; the header Idempotency-Replayed is sent */
    char name[JOB_NAME_MAX + 1];
};

/* What the handlers here remember of an exchange while it is suspended, or until its end. */
struct errand {
    char wait_id[QUEUE_ID_SIZE];    /* the job whose end is waited for */
    int wait_default_s;             /* what is waited when the client has no preference */
    int wait_s;                     /* of Prefer: wait, once it was applied */
    struct job_showing showing;     /* for when the wait is over */
    struct what_if_result *what_if; /* owned; what again() answers */
    struct submission *submission;  /* owned; the same */
    char key[65];                   /* hash of the Idempotency-Key, or "" */
    bool in_flight;                 /* key is in flights */
};
void errand_begin(struct exchange *exchange); /* a struct http_hooks' begin and end */
void errand_end(struct exchange *exchange);

/* ---- find.c ---- */
/* an id that a client may choose: see JOB_NAME_MAX, docs/service.md */
bool job_name_valid(const char *name);
/* what a path says -> the id in Redis; false: nothing that could be a job */
bool job_resolve(const struct exchange *exchange, const char *name, char id[QUEUE_ID_SIZE]);
/* The caller's job of this id or name, archived or not: all its fields (owned). ERROR_NOT_FOUND (also another
 * tenant's), ERROR_GONE (deleted, or its time was over). *job is empty then. */
enum error_code job_load(struct exchange *exchange, const char *name, char id[QUEUE_ID_SIZE],
                         struct queue_fields *job, struct error *e) BASE_CHECKED;

/* ---- profiles.c ---- */
/* *out (owned): json with the profile that r (decoded from it) names put inline; NULL when it names none.
 * ERROR_INVALID_REQUEST: the tenant has no such profile. */
struct api_request;
enum error_code profile_resolve(struct exchange *exchange, const struct api_request *request,
                                const char *json, size_t size, char **out, struct error *e) BASE_CHECKED;

/* ---- referee.c ---- */
/* ERROR_NO_REFEREE (/referee): no worker of this name was heard of lately */
enum error_code referee_check(struct exchange *exchange, const char *name, struct error *e) BASE_CHECKED;

/* ---- events.c ---- */
/* WAIT_BEGUN: the client prefers to wait for the job's end; the exchange is suspended and again(x) answers
 * it. WAIT_OVER: the job has ended meanwhile: look again. WAIT_NONE: answer now. */
enum wait_result { WAIT_NONE, WAIT_BEGUN, WAIT_OVER };
enum wait_result wait_begin(struct exchange *exchange, const char *id,
                            void (*again)(struct exchange *other_exchange));

/* ---- submit.c, jobs.c: what pages do as well; answered by the caller ---- */
/* a job of the caller's from a request's JSON; errors as of POST /v1/jobs */
enum error_code job_submit(struct exchange *exchange, const char *json, size_t size, char id[QUEUE_ID_SIZE],
                           struct error *e) BASE_CHECKED;
/* ERROR_UNAVAILABLE: Redis is nearly full, so no job is taken */
enum error_code job_memory_check(struct exchange *exchange, struct error *e) BASE_CHECKED;
struct submission;
void submission_destroy(struct submission *submission); /* NULL is fine */
/* starts a failed or dead job, archived or not, again; the job was found to be the caller's */
enum error_code job_retry(struct exchange *exchange, const char *id, struct error *e) BASE_CHECKED;

/* ---- jobs.c ---- */
/* answers with the job as it is now, or when the client's Prefer: wait is over (errand->showing) */
void job_show(struct exchange *exchange, const char *name, struct job_showing how);
/* the same with fields that the caller has (taken) of the job of this id */
void job_show_fields(struct exchange *exchange, const char *name, const char *id, struct queue_fields *job,
                     struct job_showing how);

/* ---- list.c ---- */
/* RFC 3339: 2026-11-21T03:04:05.678Z, fraction optional, or an offset -> ms since 1970 */
bool list_time_parse(const char *text, long long *ms);

/* ---- flight.c ---- */
struct flights *flights_create(void);
void flights_destroy(struct flights *flights); /* NULL is fine */
/* any number of times */
void flight_end(struct exchange *exchange);

/* ---- janitor.c, collect.c: threads that run until s->stopped; `server`: a struct server ---- */
/* archives ended jobs, forgets old ones */
void *janitor_run(void *server);
/* removes blobs to which nothing refers */
void *collect_run(void *server);

#endif

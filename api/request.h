/* Job requests (openapi.yaml, JobRequest): JSON text -> struct, canonical form, digest.
 *
 * Decoding is strict: unknown fields, wrong types, `1.0` for an integer, duplicate keys and trailing
 * bytes are refused with a JSON pointer. Words of the request's language that this build cannot serve are
 * ERROR_NOT_AVAILABLE (422), never ignored. Nothing is compared with a module here: planner_job_create
 * does that. Pure. */
#ifndef TOAST_API_REQUEST_H
#define TOAST_API_REQUEST_H

#include "planner/request.h"

enum {
    API_MAX_CONSTRAINTS = 1000,   /* patterns; each is matched with every argument or result */
    API_MAX_JSON_BYTES = 1 << 20, /* of a request on the command line, as LIMIT_JSON */
    API_MAX_JSON_KEYS = 20000     /* members; each takes some hundred bytes of memory once parsed */
};

/* What is planned, and around it what concerns the job alone. Everything is in the arena. */
struct api_request {
    struct planner_request planning;
    char module_digest[65]; /* "" when inline or sent beside the request */
    const char *module_inline;
    size_t module_inline_size; /* NULL: none */
    double seconds;            /* of the search at most; 0: no limit */
    bool dry_run;
    bool deadline_fail;         /* on_deadline */
    double deadline_s;          /* 0: none */
    struct arena *arena;        /* owns the request and all that it refers to */
    int priority;               /* 0 to 9, more is earlier; never part of the digest */
    struct planner_plan *given; /* owned; what planning.given refers to */
    char *webhook;              /* address that is told of the job's end, or NULL; never part of the digest */
    char *labels;               /* JSON object text or NULL; never part of the digest */
    /* sorted compact JSON without labels, priority and inline module, with "module": digest when known */
    char *canonical;
};

/* Text of a request -> struct (owned). module_digest may be given (hex) for a module sent beside the
 * request: it is then what "module" means (and "module" must be absent or equal). A request without any
 * module is ERROR_INVALID_REQUEST /module unless module_optional. ERROR_INVALID_JSON (with line, column),
 * ERROR_INVALID_REQUEST, ERROR_INVALID_MESH, ERROR_UNKNOWN_DEVICE, ERROR_NOT_AVAILABLE with pointer. */
enum error_code api_request_parse(const char *json, size_t size, const char *module_digest,
                                  bool module_optional, struct api_request **out,
                                  struct error *e) BASE_CHECKED;
void api_request_destroy(struct api_request *request); /* NULL is fine */

/* H(module digest, canonical request, build): equal requests have equal digests. */
void api_request_digest(const struct api_request *request, const char *module_digest, char out[65]);
/* what identifies the build in digests, plans and reports */
const char *api_build(void);

#endif

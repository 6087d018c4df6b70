/* Job requests (api.md): JSON text -> struct, canonical form, digest.
 *
 * Decoding is strict: unknown fields, wrong types, `1.0` for an integer, duplicate keys and trailing bytes
 * are refused with a JSON pointer. What api.md describes but this build does not do yet is
 * ERROR_NOT_AVAILABLE (422). */
#ifndef TOAST_API_REQUEST_H
#define TOAST_API_REQUEST_H

#include "cost/machine.h"

enum api_planner {
    API_PLANNER_AUTO,
    API_PLANNER_MCTS,
    API_PLANNER_BASELINES,
    API_PLANNER_PROPAGATE,
    API_PLANNER_CFN
};
enum {
    API_OUTPUT_ANNOTATED = 1,
    API_OUTPUT_MANUAL = 2,
    API_OUTPUT_LOCAL = 4,
    API_OUTPUT_REPORT = 8,
    API_OUTPUT_PLAN = 16,
    API_OUTPUT_PROBLEM = 32
};
enum { API_MAX_CONSTRAINTS = 1000, API_MAX_JSON_BYTES = 1 << 20, API_MAX_JSON_KEYS = 20000 };

struct api_constraint {  /* {"argument": "params/<star>/wq", "dims": [["model"], [], null]} */
    const char *pattern; /* fnmatch over argument (or result) names */
    uint8_t is_result;
    uint32_t rank;
    struct {
        uint8_t open, count;
        const char *axes[MESH_MAX_AXES];
    } dims[16];
};
struct api_decision { /* of constraints_from_plan and plan.json */
    const char *group, *axis, *bits, *scope;
};
struct api_factor {
    uint32_t op, factor;
    uint32_t axis_count;
    const char *axes[MESH_MAX_AXES];
};
struct api_overrides { /* device object; 0 = the catalogue's */
    int64_t memory_bytes;
    double rate_flops[COST_RATES], memory_bytes_per_s;
};

struct api_request {
    char module_digest[65]; /* "" when inline or sent beside the request */
    const char *module_inline;
    size_t module_inline_size; /* NULL: none */
    struct mesh mesh;
    char device[64];
    struct api_overrides overrides;
    /* "name" or "name@version" that someone must still look up (api/profile.h); "" otherwise */
    char profile_ref[80];
    const struct api_profile *profile; /* NULL: none; in arena */
    int64_t memory_limit_bytes;        /* 0: the device's, less 10 % */
    enum api_planner planner;
    struct api_constraint *constraints;
    uint32_t constraint_count;
    const char **argument_names;
    uint32_t argument_name_count;
    struct {
        const char *where;
        int64_t trips;
    } *trip_counts;
    uint32_t trip_count_count;
    uint32_t rollouts;    /* 0: by module size */
    double seconds;       /* 0: no limit */
    uint32_t parallelism; /* 16 */
    uint64_t seed;        /* 1 */
    uint32_t outputs;     /* API_OUTPUT_*; default all but the problem */
    bool proof, dry_run, no_baselines;
    bool deadline_fail;  /* on_deadline */
    double deadline_s;   /* 0: none */
    struct arena *arena; /* owns strings and lists */
    int priority;        /* 0 to 9, more is earlier; never part of the digest */
    char *labels;        /* JSON object text or NULL; in arena; never part of the digest */
    /* sorted compact JSON without labels, priority and inline module, with "module": digest when known; in
     * arena */
    char *canonical;
};

/* Text of a request -> struct (owned). module_digest may be given (hex) for a module sent beside the
 * request: it is then what "module" means (and "module" must be absent or equal). A request without any
 * module is ERROR_INVALID_REQUEST /module unless module_optional. ERROR_INVALID_JSON (with line, column),
 * ERROR_INVALID_REQUEST, ERROR_INVALID_MESH, ERROR_UNKNOWN_DEVICE, ERROR_NOT_AVAILABLE with pointer. */
enum error_code api_request_parse(const char *json, size_t size, const char *module_digest,
                                  bool module_optional, struct api_request **out,
                                  struct error *e) BASE_CHECKED;
void api_request_destroy(struct api_request *r); /* NULL is fine */

/* H(module digest, canonical request, build): equal requests have equal digests. */
void api_request_digest(const struct api_request *r, const char *module_digest, char out[65]);
/* what identifies the build in digests, plans and reports */
const char *api_build(void);

#endif

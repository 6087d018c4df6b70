/* What a planning job is asked for, as plain structs. Whoever decodes a request (api/request.h) fills them;
 * everything in planner/ takes them as they are.
 *
 * A request that stands here has been checked for shape: the mesh is one that mesh_check takes, the device is
 * in the catalogue, every axis that a constraint names is on the mesh. Nothing in it has been compared with a
 * module yet: whether a constraint fits any argument is found out by planner_job_create.
 *
 * Every pointer is borrowed from whoever made the request and must outlive what is made from it. */
#ifndef TOAST_PLANNER_REQUEST_H
#define TOAST_PLANNER_REQUEST_H

#include "analysis/nda.h"
#include "cost/machine.h"
#include "ir/attrs.h"
#include "segments/compose.h"

enum planner_method {
    PLANNER_AUTO,      /* the search, then a quick run of the network: the better plan */
    PLANNER_MCTS,      /* the search alone */
    PLANNER_BASELINES, /* the best of the experts' plans */
    PLANNER_PROPAGATE, /* the constraints, completed by propagation; nothing is searched */
    PLANNER_CFN,       /* the search, then the network with all its work and a bound */
    PLANNER_SEGMENTS   /* the experts' plans, then one choice a segment (segments/compose.h) */
};

/* what becomes of shardings that the module brings (sdy.sharding, sdy.sharding_constraint) */
enum planner_annotations {
    PLANNER_ANNOTATIONS_PIN,      /* kept: no plan changes them */
    PLANNER_ANNOTATIONS_BASELINE, /* completed by propagation, they race as the expert called `yours` */
    PLANNER_ANNOTATIONS_IGNORE    /* dropped, with a warning */
};

/* bits of planner_request.outputs */
enum planner_output {
    PLANNER_OUTPUT_ANNOTATED = 1,
    PLANNER_OUTPUT_MANUAL = 2,
    PLANNER_OUTPUT_LOCAL = 4,
    PLANNER_OUTPUT_REPORT = 8,
    PLANNER_OUTPUT_PLAN = 16,
    PLANNER_OUTPUT_PROBLEM = 32,
    PLANNER_OUTPUT_SEGMENTS = 64 /* programs to measure a profile with (planner/archive.h) */
};

/* a profile's name is at most 63 bytes, its version at most 9 digits */
enum { PLANNER_PROFILE_REF_SIZE = 80 };
/* further plans of one job: each is written in full, some megabytes of text for a large module */
enum { PLANNER_MAX_ALTERNATIVES = 16 };

/* what of a run has its own part of the time that was asked for, in this order; the search's own is
 * search_run's, between the first two */
enum planner_share { PLANNER_SHARE_EXPERTS, PLANNER_SHARE_NETWORK, PLANNER_SHARE_REPORT };

struct planner_plan;        /* planner/plan.h */
struct planner_constraint { /* {"argument": "params/<star>/wq", "dims": [["model"], [], null]} */
    const char *pattern;    /* fnmatch over argument (or result) names */
    const char *pointer;    /* where it stands in the request, for errors */
    uint8_t is_result;
    uint8_t exact; /* pattern is one name, as it stands */
    /* a plan.json's: what the file calls the arguments (results), by number; NULL: nothing. Where the module
     * has no such name the pattern is of these: names that the request gave */
    const char *const *names;
    uint32_t name_count;
    uint32_t rank;
    struct {
        uint8_t open, count;             /* open: this dimension is left to the planner */
        const char *axes[MESH_MAX_AXES]; /* names, major first */
    } dims[IR_MAX_RANK];
};

struct planner_overrides { /* 0: the catalogue's (or the profile's) */
    int64_t memory_bytes;
    double rate_flops[COST_RATES], memory_bytes_per_s;
    bool has_compiler;
    uint8_t compiler; /* enum cost_compiler: what runs the plans */
};

/* What was measured on somebody's own machines (api/profile.h has the text form). */
struct planner_profile {
    char ref[PLANNER_PROFILE_REF_SIZE];                /* "name@version", "name", or "" */
    double rate_flops[COST_RATES], memory_bytes_per_s; /* achieved, not peak; 0: not measured */
    struct cost_table *tables;                         /* of collectives */
    uint32_t table_count;
    struct segments_timings
        timings; /* of programs of segments; count 0: none. Method segments needs no more */
};

struct planner_request {
    struct mesh mesh;
    char device[64]; /* a name of the catalogue */
    char entry[128]; /* the function that is planned; "": as ir_prepare chooses */
    struct planner_overrides overrides;
    /* of a profile that nobody has looked up: such a request is refused by planner_machine_create; else "" */
    char profile_ref[PLANNER_PROFILE_REF_SIZE];
    const struct planner_profile *profile; /* NULL: none */
    int64_t memory_limit_bytes;            /* of one device; 0: the device's, less 10 % */
    enum planner_method method;
    enum planner_annotations annotations;
    const struct planner_plan *given; /* where the constraints come from: it races, too; NULL: none */
    struct planner_constraint *constraints;
    uint32_t constraint_count;
    struct nda_options
        analysis;          /* names of arguments and trip counts of loops that the module does not say */
    int64_t combine_bytes; /* collectives are joined up to this; 0: SPMD_COMBINE_BYTES; 1: never */
    uint32_t rollouts;     /* 0: by module size */
    uint32_t parallelism;  /* search tasks in flight; 16 */
    uint64_t seed;         /* 1 */
    uint32_t outputs;      /* of enum planner_output; all but problem, segments */
    uint32_t alternatives; /* further plans wanted; at most PLANNER_MAX_ALTERNATIVES */
    char referee[16];  /* compiler that judges the plans ("xla_gpu"); "": none. Its worker's work, not ours */
    bool no_overlap;   /* collectives block computation, whatever the backend does */
    bool proof;        /* run original and sharded modules and compare */
    bool no_baselines; /* do not start the search from the experts' plans */
    /* ablation: collectives by bytes over bandwidth, products by FLOPs, nothing else (planner/machine.h) */
    bool volume_price;
    bool no_fold; /* the search prices every plan on the whole program */
    /* The job may use so many threads for what can be done at once; 0: one. No result depends on it. */
    uint32_t threads;
    /* told when a stage of the job begins, by the thread that is in it: a job reads no clock, its caller may.
     * name: static text, "analysis" .. ; NULL: nobody listens */
    void (*stage)(const char *name, void *user);
    void *stage_user;
    /* is that part of the time over? What is not done then is left out, and the report says what. Any thread
     * may ask; NULL: no time was asked for */
    bool (*late)(enum planner_share share, void *user);
    void *late_user;
};
/* the job enters a stage */
static inline void planner_stage(const struct planner_request *request, const char *name)
{
    if (request->stage)
        request->stage(name, request->stage_user);
}

static inline bool planner_late(const struct planner_request *request, enum planner_share share)
{
    return request->late && request->late(share, request->late_user);
}

#endif

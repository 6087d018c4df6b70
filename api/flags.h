/* Command-line flags of `toast plan` and `toast submit` -> the JSON of a job request. Flags are only put
 * in their place here; what they may say is judged by the one decoder of requests (api/request.h), so
 * that the command line and the service refuse the same things in the same words. */
#ifndef TOAST_API_FLAGS_H
#define TOAST_API_FLAGS_H

#include "api/request.h"

struct api_flags {
    /* JSON of --request, or NULL: what flags override */
    const char *request;
    size_t request_size;
    const char *mesh; /* "data=4,model=2" */
    const char *device, *backend, *overlap, *fold, *price;
    const char *planner;
    const char *annotations, *roles, *combine_bytes;
    const char *entry;   /* a function's name */
    const char *outputs; /* "plan,report" */
    const char *alternatives;
    const char *profile; /* JSON of --profile, or NULL */
    size_t profile_size;
    const char *memory_limit, *devices_per_host, *rollouts, *seconds, *seed, *parallelism;
    const char *pins[64];
    uint32_t pin_count; /* "params/<star>/wq=model,-,?" */
    bool no_baselines, proof;
};

/* One row a flag: FLAG_VALUE(field, "--name", "VALUE", "help"). Shared by the parser and --help. */
#define API_FLAG_TABLE(FLAG_VALUE)                                                                           \
    FLAG_VALUE(mesh, "--mesh", "AXES", "mesh axes, outermost first: data=4,model=2")                         \
    FLAG_VALUE(device, "--device", "NAME", "device of the catalogue: a100-40, h100, tpu-v5e ..")             \
    FLAG_VALUE(backend, "--backend", "NAME",                                                                 \
               "compiler that runs the plan: xla_gpu | xla_tpu | xla_cpu; default: the device's")            \
    FLAG_VALUE(fold, "--fold", "F", "auto: the search prices repeated layers once, where checked | off")     \
    FLAG_VALUE(price, "--price", "P",                                                                        \
               "full | volume: an ablation, bytes over bandwidth and FLOPs, nothing else")                   \
    FLAG_VALUE(overlap, "--overlap", "O", "auto: as the backend runs collectives | none: they hide nothing") \
    FLAG_VALUE(planner, "--planner", "P", "auto | mcts | cfn | segments | baselines | propagate")            \
    FLAG_VALUE(annotations, "--annotations", "A",                                                            \
               "the module's own shardings: pin | baseline (race as `yours`) | ignore")                      \
    FLAG_VALUE(roles, "--roles", "LIST", "what arguments are: 'params/*=parameter,kv/*=cache'")              \
    FLAG_VALUE(combine_bytes, "--combine-bytes", "SIZE", "collectives are joined up to this; 1: never")      \
    FLAG_VALUE(entry, "--entry", "FUNC",                                                                     \
               "the function that is planned; default: @main, or the only public one")                       \
    FLAG_VALUE(memory_limit, "--memory-limit", "SIZE",                                                       \
               "per device, as 36GiB; default: the device's less 10 %")                                      \
    FLAG_VALUE(devices_per_host, "--devices-per-host", "N", "how many devices share a host's fast links")    \
    FLAG_VALUE(rollouts, "--rollouts", "N", "search budget; default by module size")                         \
    FLAG_VALUE(seconds, "--seconds", "S", "how long the run may take (cut short, it is not reproducible)")   \
    FLAG_VALUE(seed, "--seed", "N", "seed of the search; default 1")                                         \
    FLAG_VALUE(parallelism, "--parallelism", "N", "search tasks in flight per epoch, 1 to 256; default 16")  \
    FLAG_VALUE(alternatives, "--alternatives", "K",                                                          \
               "further plans that really differ, best first; 0 to 16, default 0")                           \
    FLAG_VALUE(outputs, "--outputs", "LIST",                                                                 \
               "of annotated,manual,local,report,plan,problem,segments; default: all but the last two")

/* Tries to take argv[*i] (and its value). 1: taken, *i advanced to its last word; 0: not one of these
 * flags; -1: the value is missing (message in e). Knows --pin, --no-baselines, --proof beside the table. */
int api_flags_take(struct api_flags *flags, int argc, char **argv, int *i, struct error *e);
void api_flags_help(struct text *out);
/* request JSON (owned). ERROR_USAGE for what cannot be put into a request at all, naming the flag. */
enum error_code api_flags_request(const struct api_flags *flags, char **json, struct error *e) BASE_CHECKED;

#endif

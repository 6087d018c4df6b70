/* Which plan a subcommand (lower, price, prove) works on: the one of a plan.json, of a list of decisions,
 * of a named baseline, or a random one of a seed, some of its dimensions cut otherwise (--cut); and with it
 * the analysis and the context it stands on. Nothing is priced here. */
#ifndef TOAST_CLI_CHOOSE_H
#define TOAST_CLI_CHOOSE_H

#include "cost/machine.h"
#include "spmd/local.h"

struct cli_choice {
    const char *plan, *mesh, *decisions, *baseline, *seed; /* option values; NULL when not given */
    const char *cut;                                       /* edits it: "ffn@model,heads@" */
    const char *device, *memory_limit, *devices_per_host;
    const char *annotations;   /* pin, baseline or ignore, without --plan; NULL: ignore */
    const char *combine_bytes; /* over the walk's */
    const char *entry;         /* the function, for cli_prepare_module */
    struct mesh axes;          /* the mesh of --mesh; the context refers to it */
    struct nda *nda;           /* the rest: owned, filled by cli_choose */
    struct plan_context *context;
    struct plan chosen;
    struct spmd_options walk;   /* without --plan: the default, axes ordered by the device's links */
    char device_name[64];       /* of --device or the file; "" when neither names one */
    int64_t memory_limit_bytes; /* of one device; 0: the device's own */
};

/* the place of an option's value ("--mesh" ..), or NULL when it is none of these */
const char **cli_choice_option(struct cli_choice *choice, const char *name);
/* a decision as `toast` prints it: "update:sequence[10]@model". ERROR_INVALID_PLAN. text is overwritten. */
enum error_code cli_decision_parse(const struct plan_context *context, char *text, struct plan_decision *out,
                                   struct error *e) BASE_CHECKED;
/* Analyses a prepared program (borrowed; must outlive *choice) and makes the plan. ERROR_USAGE when the
 * options contradict each other; else what the parts give. cli_choice_release in any case. */
enum error_code cli_choose(struct cli_choice *choice, const struct ir_program *prepared,
                           struct error *e) BASE_CHECKED;
void cli_choice_release(struct cli_choice *choice);

#endif

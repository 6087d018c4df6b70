/* toulbar2 (Debian's package) as an exact solver of the network without its usage limit: the problem goes
 * into a file of its wcsp format, a process of its own solves it. */
#ifndef TOAST_CFN_TOULBAR2_H
#define TOAST_CFN_TOULBAR2_H

#include "cfn/model.h"

struct cfn_toulbar2 {
    char program[512], directory[512]; /* directory: private, removed by close */
};

/* Finds the program in PATH and makes the directory under TMPDIR (/tmp). ERROR_NOT_AVAILABLE: toulbar2 is not
 * installed. ERROR_IO. cfn_toulbar2_close in any case. */
enum error_code cfn_toulbar2_open(struct cfn_toulbar2 *toulbar2, struct error *e) BASE_CHECKED;
void cfn_toulbar2_close(struct cfn_toulbar2 *toulbar2); /* zeroed is fine */

struct cfn_toulbar2_run {
    double seconds;      /* of processor time; 0: not limited */
    uint64_t backtracks; /* 0: not limited */
    uint64_t seed;
    bool (*stop)(void *user); /* asked ten times a second; true kills the run; may be NULL */
    void *user;
};

enum cfn_toulbar2_result {
    CFN_TOULBAR2_NONE,    /* nothing found within the limits, or everything is forbidden */
    CFN_TOULBAR2_FOUND,   /* best so far in value */
    CFN_TOULBAR2_OPTIMAL, /* proved */
};

/* unary: costs by padded value (m->offset), CFN_INFINITE or more = forbidden. value (m->node_count) is set
 * when something was found. ERROR_IO. */
enum error_code cfn_toulbar2_solve(const struct cfn_toulbar2 *toulbar2, const struct cfn_model *model,
                                   const int64_t *unary, const struct cfn_toulbar2_run *run, int32_t *value,
                                   enum cfn_toulbar2_result *result, struct error *e) BASE_CHECKED;

#endif

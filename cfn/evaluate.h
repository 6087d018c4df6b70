/* The referee: what an assignment costs and uses, straight from the problem, in 128 bits. It shares nothing
 * with the solver but struct cfn_problem, and every answer passes it before it is shown. */
#ifndef TOAST_CFN_EVALUATE_H
#define TOAST_CFN_EVALUATE_H

#include "cfn/problem.h"

#include <stdbool.h>

struct cfn_verdict {
    __int128 cost;
    __int128 peak;     /* greatest usage at any time */
    int64_t peak_time; /* first time of the peak; 0 when nothing is ever alive */
    bool feasible;
    int64_t violated_time;   /* first time above the limit; only when not feasible */
    __int128 violated_usage; /* the usage there */
};

/* values: one index per node. ERROR_INVALID_REQUEST when one is out of its node's range. */
enum error_code cfn_evaluate(const struct cfn_problem *problem, const int32_t *values,
                             struct cfn_verdict *out, struct error *e) BASE_CHECKED;

/* "[0, 2, 1]", the last line of text that begins with '['; exactly p->node_count numbers, owned.
 * ERROR_INVALID_JSON, ERROR_INVALID_REQUEST. */
enum error_code cfn_solution_read(const struct cfn_problem *problem, const char *text, size_t size,
                                  int32_t **values, struct error *e) BASE_CHECKED;

/* decimal digits; out has room for 48 bytes; returns out */
char *cfn_format_wide(__int128 value, char *out);

#endif

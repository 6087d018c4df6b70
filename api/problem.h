/* Contest problems (cost-function networks) over the service: what a client may ask for, and the answers
 * as JSON. Costs and usages pass 64 bits and are written exactly, as integers of any length. */
#ifndef TOAST_API_PROBLEM_H
#define TOAST_API_PROBLEM_H

#include "cfn/best.h"

struct api_problem_request {
    uint64_t units; /* of work (cfn/solve.h), so that the answer depends on no clock */
    uint64_t seed;
    double seconds; /* after which the best so far is taken; 0: not cut */
};

enum { API_PROBLEM_UNITS = 20000 }; /* about 20 s of two workers */

/* one query parameter (units, seconds, seed); value "" keeps the default. ERROR_MALFORMED with pointer. */
void api_problem_request_init(struct api_problem_request *problem_request);
enum error_code api_problem_request_set(struct api_problem_request *problem_request, const char *name,
                                        const char *value, struct error *e) BASE_CHECKED;
/* canonical JSON, and back; owned text */
char *api_problem_request_json(const struct api_problem_request *problem_request);
enum error_code api_problem_request_parse(const char *json, size_t size, struct api_problem_request *out,
                                          struct error *e) BASE_CHECKED;

/* solution.json: status, cost, bound, gap, peak, values; or the verdict when infeasible. Owned text. */
char *api_solution_json(const struct cfn_problem *problem, const struct cfn_answer *answer, uint64_t seed);
/* progress of a job: stage, fraction, and of the best that is known cost and bound when there are some.
 * Owned text. */
char *api_problem_progress_json(const struct cfn_session *session, const struct cfn_best *best,
                                const char *stage);
/* what api_error_json wrote, back; ERROR_INTERNAL when it is not that */
void api_error_parse(const char *json, struct error *e);

#endif

/* Why not split: for every dimension that a plan leaves whole although much of the memory or time depends
 * on it, what is in the way (struct report_whole). */
#ifndef TOAST_REPORT_WHOLE_H
#define TOAST_REPORT_WHOLE_H

#include "report/report.h"

/* Fills report->whole (in the report's arena) and adds a warning for a batch that no axis divides
 * and for an axis that splits nothing. local: of
 * the plan, with what is alive at its peak and the times of its steps. priced: the best try is measured,
 * which takes many walks (not for answers that must be quick), until control (may be NULL)
 * says stop. Errors: of the walk. */
enum error_code report_find_whole(const struct plan_context *context, struct evaluator_session *session,
                                  const struct plan *plan, const struct spmd_local *local,
                                  const struct price_held *held, const int64_t *step_times, bool priced,
                                  const struct search_control *control, struct report *report,
                                  struct error *e) BASE_CHECKED;
/* Is a plan of this cost as good as the one of the least? To 1e-6, as a report prints six digits: among such
 * plans the one with less memory, then the plainer one is the answer (planner/race.c). */
static inline bool report_costs_the_same(struct cost cost, struct cost least)
{
    return cost.over_steps == least.over_steps && (double)cost.c <= (1 + 1e-6) * (double)least.c;
}
/* Is the group a number of arrays that lie side by side in one (queries, keys and values of one matrix), each
 * sliced out by itself? */
bool report_sliced_apart(const struct nda *n, uint32_t group);
/* its section of report.txt */
void report_text_whole(const struct report *report, struct text *out);
const char *report_reason_name(enum report_reason reason); /* "does_not_divide" */

#endif

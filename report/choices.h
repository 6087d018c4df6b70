/* The factors of a network's plan as its reader thinks of them: by group of dimensions and mesh axis, each
 * with its worth (struct report_choice). Plans of decisions have none. */
#ifndef TOAST_REPORT_CHOICES_H
#define TOAST_REPORT_CHOICES_H

#include "report/report.h"

/* Fills report->choices from report->plan.factors (in the report's arena). *cell_choice: the choice behind
 * each cell (space, axis) of the plan, or -1; owned, NULL where the plan has no factors. Errors: of the walk.
 * */
enum error_code report_choices(const struct plan_context *context, struct evaluator_session *session,
                               const struct plan *plan, struct report *report, int **cell_choice,
                               struct error *e) BASE_CHECKED;

#endif

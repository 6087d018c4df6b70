/* What somebody can do whose best plan does not fit: what the peak is made of, and what would take away
 * enough of it (struct report_advice). */
#ifndef TOAST_REPORT_ADVICE_H
#define TOAST_REPORT_ADVICE_H

#include "report/report.h"

/* Fills report->advice from what is alive at the peak. local: of the plan. */
void report_find_advice(const struct plan_context *context, const struct spmd_local *local,
                        const struct price_held *held, struct report *report);
/* its section of report.txt; appends nothing where the plan fits */
void report_text_advice(const struct report *report, struct text *out);
/* one sentence a way out, for the page as well; as many lines as there are */
void report_advice_lines(const struct report *report, struct text *out);

#endif

/* Inside the report: weights and activations by class, as text. */
#ifndef TOAST_REPORT_CLASSES_H
#define TOAST_REPORT_CLASSES_H

#include "report/report.h"

void report_text_classes(const struct report *report, struct text *text);
/* lines that say whether equal layers are split alike, and what that would cost; none of a plan of decisions
 */
void report_unlike_text(const struct report *report, struct text *text);

#endif

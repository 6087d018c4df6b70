/* Inside the report: weights and activations by class, as text. */
#ifndef TOAST_REPORT_CLASSES_H
#define TOAST_REPORT_CLASSES_H

#include "report/report.h"

void report_text_classes(const struct report *report, struct text *text);

#endif

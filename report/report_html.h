/* Inside report/: the parts of report.html, each of which appends a section to the page. Every picture
 * stands beside a table of its numbers; a section that has nothing to show appends nothing. */
#ifndef TOAST_REPORT_REPORT_HTML_H
#define TOAST_REPORT_REPORT_HTML_H

#include "report/html.h"
#include "report/report.h"

/* report_html.c cuts tables at so many bytes of page: the whole stays under 2 MB whatever the module is */
enum { REPORT_HTML_ROOM = 1500000 };

/* report_html.c */
bool report_html_fits(const struct report *report, const struct price *price);

/* report_html_time.c */
void report_html_time(const struct report *report, struct text *text);    /* where a step's time goes */
void report_html_against(const struct report *report, struct text *text); /* this plan and the experts' */
void report_html_search(const struct report *report, struct text *text);
void report_html_lanes(const struct report *report, struct text *text); /* report_html_lanes.c */
void report_html_decisions(const struct report *report, struct text *text);
void report_html_communication(const struct report *report, struct text *text);
/* alternatives_text.c: further plans and in what they differ */
void report_html_alternatives(const struct report *report, struct text *text);
void report_html_referee(const struct report *report, struct text *text); /* what the compiler said of them */
void report_html_whole(const struct report *report, struct text *text);   /* whole_text.c: why not split */
/* report_html_memory.c */
void report_html_memory(const struct report *report, struct text *text);
void report_html_peak(const struct report *report, struct text *text);
/* report_html_mesh.c: bytes that a device sends over each mesh axis */
void report_html_mesh(const struct report *report, struct text *text);
/* report_html_shards.c: which dimension of which tensor over which axis */
void report_html_shards(const struct report *report, struct text *text);
void report_html_boundary(const struct report *report, struct text *text); /* every argument and result */

#endif

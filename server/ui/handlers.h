/* The pages under /ui, as server/routes.def names them: one file a page. Each replies exactly once, with
 * HTML, a redirect or a file that pages load. */
#ifndef TOAST_SERVER_UI_HANDLERS_H
#define TOAST_SERVER_UI_HANDLERS_H

struct exchange;

void handle_ui_jobs_post(struct exchange *x);
void handle_ui_job_post(struct exchange *x);
void handle_ui_compare(struct exchange *x);
void handle_ui_job(struct exchange *x);
void handle_ui_jobs(struct exchange *x);
void handle_ui_root(struct exchange *x);
void handle_ui_login(struct exchange *x);
void handle_ui_new(struct exchange *x);
void handle_ui_new_post(struct exchange *x);
void handle_ui_overview(struct exchange *x);
void handle_ui_css(struct exchange *x);
void handle_ui_js(struct exchange *x);
void handle_ui_what_if(struct exchange *x);
void handle_ui_what_if_post(struct exchange *x);
void handle_ui_workers(struct exchange *x);
void handle_ui_workers_post(struct exchange *x);

#endif

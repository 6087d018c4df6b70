/* The pages under /ui, as server/routes.def names them: one file a page. Each replies exactly once, with
 * HTML, a redirect or a file that pages load. */
#ifndef TOAST_SERVER_UI_HANDLERS_H
#define TOAST_SERVER_UI_HANDLERS_H

struct exchange;

void handle_ui_jobs_post(struct exchange *exchange);
void handle_ui_job_post(struct exchange *exchange);
void handle_ui_compare(struct exchange *exchange);
void handle_ui_job(struct exchange *exchange);
void handle_ui_jobs(struct exchange *exchange);
void handle_ui_root(struct exchange *exchange);
void handle_ui_login(struct exchange *exchange);
void handle_ui_new(struct exchange *exchange);
void handle_ui_new_post(struct exchange *exchange);
void handle_ui_overview(struct exchange *exchange);
void handle_ui_css(struct exchange *exchange);
void handle_ui_js(struct exchange *exchange);
void handle_ui_what_if(struct exchange *exchange);
void handle_ui_what_if_post(struct exchange *exchange);
void handle_ui_workers(struct exchange *exchange);
void handle_ui_workers_post(struct exchange *exchange);

#endif

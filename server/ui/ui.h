/* Inside server/: the dashboard under /ui. One page a file; all are plain HTML that works without script.
 * Client text goes through html_add or html_text (report/html.h), never through text_printf.
 *
 * A page is ui_begin, its content, ui_end. What changes while one looks stands between ui_live and
 * ui_live_end: ui.js fetches the page again (with ?part=live only that region) when an event comes or time
 * has passed, and puts it there. Without script the page reloads itself. */
#ifndef TOAST_SERVER_UI_H
#define TOAST_SERVER_UI_H

#include "api/look.h"
#include "report/html.h"
#include "server/resources/history.h"
#include "server/resources/job_body.h"
#include "server/resources/resources.h"

/* where one is; the navigation marks it */
enum ui_place { UI_NOWHERE, UI_OVERVIEW, UI_JOBS, UI_WORKERS, UI_COMPARE };

struct ui_page {
    struct exchange *exchange;
    struct text text;
    bool part;      /* only the live region is wanted */
    size_t live_at; /* where it begins in t */
    int refresh_s;  /* reload without script; 0: the page does not change any more */
};

/* ---- page.c ---- */
void ui_begin(struct ui_page *page, struct exchange *exchange, enum ui_place place, const char *title,
              int refresh_s);
/* events: an event stream that says when to look again, or NULL */
void ui_live(struct ui_page *page, const char *events);
void ui_live_end(struct ui_page *page);
void ui_end(struct ui_page *page, int status); /* sends it; p is released */
/* a page that says what went wrong, instead of the page begun (p may be NULL); nobody known: to /ui/login */
void ui_problem(struct exchange *exchange, struct ui_page *page, const struct error *e);
/* a refusal of a request for a page is a page as well; false: it was for none (struct http_hooks, problem) */
bool ui_refuse(struct exchange *exchange, const struct error *e);
void ui_redirect(struct exchange *exchange, const char *where);
bool ui_may(const struct exchange *exchange, enum queue_role role);
/* <form method="post"> to a path of ours, with the session's token; the caller closes it */
void ui_form(struct ui_page *page, const char *path, const char *class);
/* field of the posted form (owned), NULL: absent; n-th of several with this name */
char *ui_field(struct exchange *exchange, const char *name, size_t nth);

/* ---- parts.c ---- */
long long ui_now_ms(void);
void ui_state(struct text *text, const char *state);
/* "3 min ago" in a <time>; "–" for 0 */
void ui_ago(struct text *text, long long ms, long long now_ms);
void ui_duration(long long ms, char out[32]);
void ui_tile(struct text *text, const char *name, const char *value, const char *note);
void ui_card(struct text *text, const char *id, const char *title, bool wide);
void ui_card_end(struct text *text);
/* a bar of a share 0..1, with its value for those who do not see it */
void ui_meter(struct text *text, const char *name, double share, bool bad);
void ui_labels(struct text *text, const char *json);
/* link to a job, its id shortened to the part that differs */
void ui_job_link(struct text *text, const char *id);
/* "&name=value", percent-encoded; nothing when the value is empty */
void ui_query(struct text *text, const char *name, const char *value);
/* the JSON of an artifact of the job, parsed (owned); NULL: there is none */
struct look *ui_artifact(struct exchange *exchange, const struct queue_fields *job, const char *name);
struct look *ui_field_look(const struct queue_fields *job, const char *name);

/* ---- job_live.c: the parts of a job's page that change ---- */
struct ui_job {
    const char *id;
    struct queue_fields fields;
    struct history history;
    struct queue_held_list held;
    struct look *progress, *report; /* report: NULL until the end */
    long long now_ms;
};
void ui_job_summary(struct ui_page *page, const struct ui_job *j);
void ui_job_search(struct ui_page *page, const struct ui_job *j);
void ui_job_tasks(struct ui_page *page, const struct ui_job *j);
void ui_job_events(struct ui_page *page, const struct ui_job *j);
void ui_job_artifacts(struct ui_page *page, const struct ui_job *j);

/* ---- job_step.c: the plan's step on one device; nothing before there is a report ---- */
void ui_job_lanes(struct ui_page *page, const struct ui_job *j);
void ui_job_memory(struct ui_page *page, const struct ui_job *j);

/* ---- layer.c, scatter.c: one layer as tiles and arrows; every plan that was priced; nothing before there
 * is a report ---- */
void ui_job_layer(struct ui_page *page, const struct ui_job *j);
void ui_job_scatter(struct ui_page *page, const struct ui_job *j);

/* ---- gantt.c: which worker did which task when ---- */
void ui_job_gantt(struct ui_page *page, const struct ui_job *j);

/* ---- rates.c: rates of the last hour, as this server has seen the counters ---- */
struct rates;
struct rates *rates_create(void);
void rates_destroy(struct rates *rates); /* NULL is fine */
/* once a second; keeps one sample in ten seconds */
void rates_sample(struct rates *rates, struct queue *queue);
enum { RATES_MAX = 360 };
struct rate {
    double minutes_ago, jobs_per_min, rollouts_per_min;
};
/* oldest first; at most RATES_MAX */
size_t rates_read(struct rates *rates, struct rate out[RATES_MAX]);

#endif

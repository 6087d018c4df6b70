/* /ui/jobs: the caller's jobs, newest first, by state, label and time; several cancelled or started again at
 * once. */
#include "server/resources/archive.h"
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

#include <time.h>

enum { PAGE = 50 };

static const char *const states[] = {"queued",    "validating", "running",   "finalizing", "cancelling",
                                     "succeeded", "failed",     "cancelled", "expired",    "dead"};

struct listing {
    char state[32], label[200], token[80];
    char from[24], until[24];    /* as the form has them: 2026-11-21T03:04, UTC; "" for none */
    long long from_ms, until_ms; /* created in [from, until); 0: no limit */
    long long now_ms;
    size_t shown;
};

static bool filtered(const struct listing *l)
{
    return l->state[0] || l->label[0] || l->from[0] || l->until[0];
}

/* A time of the form (a day, minutes or seconds, all UTC) or one as the API takes it; `shown` becomes what
 * the form shows. */
static enum error_code read_time(const struct exchange *x, const char *name, char shown[24], long long *ms,
                                 struct error *e)
{
    char text[48] = "", whole[72];
    if (!request_query(x, name, text, sizeof text) || !text[0])
        return ERROR_OK;
    size_t n = strlen(text);
    snprintf(whole, sizeof whole, "%s%s", text,
             n == 10   ? "T00:00:00Z"
             : n == 16 ? ":00Z"
             : n == 19 ? "Z"
                       : "");
    if (!list_time_parse(whole, ms))
        return error_set_pointer(e, ERROR_MALFORMED, name, "a time is given as 2026-11-21T03:04, in UTC");
    time_t s = (time_t)(*ms / 1000);
    struct tm parts;
    gmtime_r(&s, &parts);
    strftime(shown, 24, "%Y-%m-%dT%H:%M", &parts);
    return ERROR_OK;
}

static enum error_code read_filter(const struct exchange *x, struct listing *l, struct error *e)
{
    request_query(x, "state", l->state, sizeof l->state);
    request_query(x, "label", l->label, sizeof l->label);
    request_query(x, "before", l->token, sizeof l->token);
    enum error_code code = read_time(x, "created_after", l->from, &l->from_ms, e);
    return code == ERROR_OK ? read_time(x, "created_before", l->until, &l->until_ms, e) : code;
}

/* the filter as it stands in addresses */
static void write_query(struct text *t, const struct listing *l)
{
    ui_query(t, "state", l->state);
    ui_query(t, "label", l->label);
    ui_query(t, "created_after", l->from);
    ui_query(t, "created_before", l->until);
}

static void write_filter(struct text *t, const struct listing *l)
{
    text_add(t, "<form class=\"filter\" method=\"get\" action=\"/ui/jobs\" role=\"search\"><label>State "
                "<select name=\"state\">"
                "<option value=\"\">any</option>");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        html_add(t, strcmp(states[i], l->state) == 0 ? "<option selected>%s</option>" : "<option>%s</option>",
                 states[i]);
    html_add(t,
             "</select></label><label>Label <input name=\"label\" value=\"%s\" placeholder=\"team=speech\" "
             "autocomplete=\"off\" "
             "spellcheck=\"false\"></label>",
             l->label);
    html_add(t,
             "<label>Created from <input type=\"datetime-local\" name=\"created_after\" value=\"%s\"></label>"
             "<label>before <input type=\"datetime-local\" name=\"created_before\" value=\"%s\"></label>"
             "<span class=\"note\">UTC</span><button>Show</button>",
             l->from, l->until);
    if (filtered(l))
        text_add(t, "<a href=\"/ui/jobs\">All jobs</a>");
    text_add(t, "</form>");
}

static void write_result(struct text *t, const struct look *progress)
{
    char step[32], peak[32];
    const struct look *best = look_get(progress, "best");
    double speedup = look_number(look_get(progress, "speedup_vs_best_baseline"));
    if (!best) {
        text_add(
            t, "<td class=\"num\" data-name=\"Best step\">–</td><td class=\"num\" data-name=\"Peak\">–</td>");
        return;
    }
    html_format_time(look_number(look_get(best, "step_ps")), step);
    html_format_bytes(look_number(look_get(best, "peak_bytes")), peak);
    html_add(t, "<td class=\"num\" data-name=\"Best step\">%s", step);
    if (speedup > 0)
        html_add(t, " <span class=\"note\">%.2f× experts</span>", speedup);
    html_add(t, "</td><td class=\"num\" data-name=\"Peak\">%s", peak);
    if (!look_true(look_get(best, "fits")))
        text_add(t, " <span class=\"badge bad\">over</span>");
    text_add(t, "</td>");
}

static void write_row(struct ui_page *p, const struct listing *l, const char *id,
                      const struct queue_fields *job)
{
    struct text *t = &p->t;
    struct look *progress = ui_field_look(job, "progress");
    long long created = queue_number(job, "created"), ended = queue_number(job, "finished");
    bool over = job_ended(job);
    char took[32], share[16];
    double fraction = over ? 1 : look_number(look_get(progress, "fraction"));
    ui_duration((ended ? ended : l->now_ms) - created, took);
    snprintf(share, sizeof share, "%.0f %%", fraction * 100);
    text_add(t, "<tr>");
    if (ui_may(p->x, QUEUE_ROLE_SUBMIT))
        html_add(t,
                 "<td class=\"pick\"><input type=\"checkbox\" name=\"id\" value=\"%s\" aria-label=\"Choose "
                 "job %s\"></td>",
                 id, id);
    text_add(t, "<td data-name=\"Job\">");
    ui_job_link(t, id);
    text_add(t, "<div class=\"labels\">");
    ui_labels(t, queue_field(job, "labels"));
    text_add(t, "</div></td><td data-name=\"State\">");
    ui_state(t, queue_field(job, "state"));
    html_add(t, "</td><td data-name=\"Progress\" class=\"progress\"><span class=\"note\">%s</span>",
             over                                        ? "ended"
             : look_text(look_get(progress, "stage"))[0] ? look_text(look_get(progress, "stage"))
                                                         : "waiting");
    ui_meter(t, share, fraction, false);
    text_add(t, "</td>");
    write_result(t, progress);
    text_add(t, "<td class=\"num\" data-name=\"Created\">");
    ui_ago(t, created, l->now_ms);
    html_add(t,
             "</td><td class=\"num\" data-name=\"Took\">%s</td><td data-name=\"Raw\"><a href=\"/v1/jobs/%s\" "
             "aria-label=\"Job %s as "
             "JSON\">JSON</a></td></tr>\n",
             took, id, id);
    look_release(progress);
}

static void write_table(struct ui_page *p, const struct listing *l, const struct text *rows)
{
    struct text *t = &p->t;
    if (l->shown == 0) {
        html_add(t,
                 "<section class=\"card empty\"><h2>%s</h2><p>%s</p><pre><code>curl -F module=@model.mlir.gz "
                 "\\\n     -F "
                 "'request={\"mesh\":{\"axes\":[{\"name\":\"data\",\"size\":8}]},\"device\":\"a100-40\"}' "
                 "\\\n     %s/v1/jobs</code></pre>"
                 "</section>",
                 filtered(l) ? "No job is like that" : "No jobs yet",
                 "A job begins with a module and a mesh:", "http://127.0.0.1:8080");
        return;
    }
    bool may = ui_may(p->x, QUEUE_ROLE_SUBMIT);
    if (may)
        ui_form(p, "/ui/jobs", "bulk");
    text_add(t, "<div class=\"card flush\"><table class=\"jobs stack\"><thead><tr>");
    if (may)
        text_add(t, "<td class=\"pick\"></td>");
    text_add(t, "<th>Job</th><th>State</th><th>Progress</th><th class=\"num\">Best step</th><th "
                "class=\"num\">Peak</th><th class=\"num\">"
                "Created</th><th class=\"num\">Took</th><th>Raw</th></tr></thead><tbody>\n");
    text_add_n(t, rows->at, rows->size);
    text_add(t, "</tbody></table></div>");
    if (may)
        text_add(t, "<div class=\"actions\"><span class=\"muted\">Chosen jobs:</span><button name=\"action\" "
                    "value=\"cancel\">Cancel, keep "
                    "the best plan</button><button name=\"action\" value=\"retry\">Start "
                    "again</button><button class=\"danger\" "
                    "name=\"action\" value=\"delete\">Delete</button></div></form>");
}

/* "team=speech" -> one pair; false: it is not of this form */
static bool split_label(char *label, struct queue_pair *out)
{
    char *equals = strchr(label, '=');
    if (!equals || equals == label)
        return false;
    *equals = 0;
    *out = (struct queue_pair){label, equals + 1};
    return true;
}

static enum error_code read_page(struct exchange *x, struct listing *l, struct queue_page *page,
                                 struct error *e)
{
    char label[200], *end;
    struct queue_pair pair;
    struct queue_filter f = {.tenant = x->tenant,
                             .state = l->state[0] ? l->state : NULL,
                             .from_ms = l->from_ms,
                             .until_ms = l->until_ms};
    snprintf(label, sizeof label, "%s", l->label);
    if (label[0]) {
        if (!split_label(label, &pair))
            return error_set_pointer(e, ERROR_MALFORMED, "label", "a label is given as name=value");
        f.labels = &pair;
        f.label_count = 1;
    }
    if (l->token[0]) { /* only a position in the caller's own list: nothing to protect */
        f.before_ms = strtoll(l->token, &end, 10);
        if (f.before_ms <= 0 || *end != '-' || !queue_id_valid(end + 1))
            return error_set_pointer(e, ERROR_MALFORMED, "before", "this is no place in the list");
        snprintf(f.before_id, sizeof f.before_id, "%s", end + 1);
    }
    struct queue *q = pool_take(x->server);
    enum error_code code = queue_list(q, &f, PAGE, page, e);
    pool_give(x->server, q);
    return code;
}

static void write_pages(struct text *t, const struct listing *l, const struct queue_page *page)
{
    struct text query = {0};
    if (!l->token[0] && !page->more)
        return;
    text_add(t, "<nav class=\"pages\" aria-label=\"Pages\">");
    write_query(&query, l);
    const char *filter = query.at ? query.at : "";
    if (l->token[0])
        html_add(t, "<a href=\"/ui/jobs%s%s\">Newest</a>", filter[0] ? "?" : "", filter[0] ? filter + 1 : "");
    if (page->more)
        html_add(t, "<a rel=\"next\" href=\"/ui/jobs?before=%lld-%s%s\">Older</a>", page->last_ms,
                 page->last_id, filter);
    text_add(t, "</nav>");
    text_release(&query);
}

/* what a form did (actions.c); the words are ours, only the numbers come from the address */
static void write_done(struct ui_page *p)
{
    char action[16] = "", done[16] = "0", refused[16] = "0";
    if (!request_query(p->x, "action", action, sizeof action))
        return;
    request_query(p->x, "done", done, sizeof done);
    request_query(p->x, "refused", refused, sizeof refused);
    long good = strtol(done, NULL, 10), bad = strtol(refused, NULL, 10);
    const char *verb = strcmp(action, "retry") == 0    ? "started again"
                       : strcmp(action, "delete") == 0 ? "deleted"
                                                       : "cancelled";
    if (good + bad == 0)
        text_add(&p->t, "<p class=\"said bad\" role=\"status\">No job was chosen.</p>");
    else if (bad)
        html_add(&p->t, "<p class=\"said bad\" role=\"status\">%ld %s, %ld could not be.</p>", good, verb,
                 bad);
    else
        html_add(&p->t, "<p class=\"said\" role=\"status\">%ld %s.</p>", good, verb);
}

void handle_ui_jobs(struct exchange *x)
{
    struct listing l = {.now_ms = ui_now_ms()};
    struct queue_page page = {0};
    struct ui_page p;
    struct error e;
    enum error_code code = read_filter(x, &l, &e);
    if (code == ERROR_OK)
        code = read_page(x, &l, &page, &e);
    if (code != ERROR_OK) {
        ui_problem(x, NULL, &e);
        return;
    }
    ui_begin(&p, x, UI_JOBS, "Jobs", 5);
    text_add(&p.t, "<header class=\"top\"><h1>Jobs</h1>");
    if (ui_may(x, QUEUE_ROLE_SUBMIT))
        text_add(&p.t, "<a class=\"button\" href=\"/ui/new\">New job</a>");
    text_add(&p.t, "</header>");
    write_done(&p);
    write_filter(&p.t, &l);
    ui_live(&p, NULL);
    struct ui_page rows = {.x = x};
    for (size_t i = 0; i < page.count; i++) {
        const char *name = queue_field(&page.at[i].fields, "name");
        if (archive_expand(x->server->store, &page.at[i].fields, &e) != ERROR_OK)
            continue; /* it cannot be read; its own page shows why */
        write_row(&rows, &l, name[0] ? name : page.at[i].id, &page.at[i].fields);
        l.shown++;
    }
    write_table(&p, &l, &rows.t);
    write_pages(&p.t, &l, &page);
    ui_live_end(&p);
    text_release(&rows.t);
    queue_page_release(&page);
    ui_end(&p, 200);
}

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

static bool filtered(const struct listing *listing)
{
    return listing->state[0] || listing->label[0] || listing->from[0] || listing->until[0];
}

/* A time of the form (a day, minutes or seconds, all UTC) or one as the API takes it; `shown` becomes what
 * the form shows. */
static enum error_code read_time(const struct exchange *exchange, const char *name, char shown[24],
                                 long long *ms, struct error *e)
{
    char text[48] = "", whole[72];
    if (!request_query(exchange, name, text, sizeof text) || !text[0])
        return ERROR_OK;
    size_t n = strlen(text);
    snprintf(whole, sizeof whole, "%s%s", text,
             n == 10   ? "T00:00:00Z"
             : n == 16 ? ":00Z"
             : n == 19 ? "Z"
                       : "");
    if (!list_time_parse(whole, ms))
        return error_set_pointer(e, ERROR_MALFORMED, name, "a time is given as 2026-11-21T03:04, in UTC");
    time_t seconds = (time_t)(*ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(shown, 24, "%Y-%m-%dT%H:%M", &parts);
    return ERROR_OK;
}

static enum error_code read_filter(const struct exchange *exchange, struct listing *listing, struct error *e)
{
    request_query(exchange, "state", listing->state, sizeof listing->state);
    request_query(exchange, "label", listing->label, sizeof listing->label);
    request_query(exchange, "before", listing->token, sizeof listing->token);
    enum error_code code = read_time(exchange, "created_after", listing->from, &listing->from_ms, e);
    return code == ERROR_OK ? read_time(exchange, "created_before", listing->until, &listing->until_ms, e)
                            : code;
}

/* the filter as it stands in addresses */
static void write_query(struct text *text, const struct listing *listing)
{
    ui_query(text, "state", listing->state);
    ui_query(text, "label", listing->label);
    ui_query(text, "created_after", listing->from);
    ui_query(text, "created_before", listing->until);
}

static void write_filter(struct text *text, const struct listing *listing)
{
    text_add(text, "<form class=\"filter\" method=\"get\" action=\"/ui/jobs\" role=\"search\"><label>State "
                   "<select name=\"state\">"
                   "<option value=\"\">any</option>");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        html_add(text,
                 strcmp(states[i], listing->state) == 0 ? "<option selected>%s</option>"
                                                        : "<option>%s</option>",
                 states[i]);
    html_add(text,
             "</select></label><label>Label <input name=\"label\" value=\"%s\" placeholder=\"team=speech\" "
             "autocomplete=\"off\" "
             "spellcheck=\"false\"></label>",
             listing->label);
    html_add(text,
             "<label>Created from <input type=\"datetime-local\" name=\"created_after\" value=\"%s\"></label>"
             "<label>before <input type=\"datetime-local\" name=\"created_before\" value=\"%s\"></label>"
             "<span class=\"note\">UTC</span><button>Show</button>",
             listing->from, listing->until);
    if (filtered(listing))
        text_add(text, "<a href=\"/ui/jobs\">All jobs</a>");
    text_add(text, "</form>");
}

static void write_result(struct text *text, const struct look *progress)
{
    char step[32], peak[32];
    const struct look *best = look_get(progress, "best");
    double speedup = look_number(look_get(progress, "speedup_vs_best_baseline"));
    if (!best) {
        text_add(
            text,
            "<td class=\"num\" data-name=\"Best step\">–</td><td class=\"num\" data-name=\"Peak\">–</td>");
        return;
    }
    html_format_time(look_number(look_get(best, "step_ps")), step);
    html_format_bytes(look_number(look_get(best, "peak_bytes")), peak);
    html_add(text, "<td class=\"num\" data-name=\"Best step\">%s", step);
    if (speedup > 0)
        html_add(text, " <span class=\"note\">%.2f× experts</span>", speedup);
    html_add(text, "</td><td class=\"num\" data-name=\"Peak\">%s", peak);
    if (!look_true(look_get(best, "fits")))
        text_add(text, " <span class=\"badge bad\">over</span>");
    text_add(text, "</td>");
}

static void write_row(struct ui_page *page, const struct listing *listing, const char *id,
                      const struct queue_fields *job)
{
    struct text *text = &page->text;
    struct look *progress = ui_field_look(job, "progress");
    long long created = queue_number(job, "created"), ended = queue_number(job, "finished");
    bool over = job_ended(job);
    char took[32], share[16];
    double fraction = over ? 1 : look_number(look_get(progress, "fraction"));
    ui_duration((ended ? ended : listing->now_ms) - created, took);
    snprintf(share, sizeof share, "%.0f %%", fraction * 100);
    text_add(text, "<tr>");
    if (ui_may(page->exchange, QUEUE_ROLE_SUBMIT))
        html_add(text,
                 "<td class=\"pick\"><input type=\"checkbox\" name=\"id\" value=\"%s\" aria-label=\"Choose "
                 "job %s\"></td>",
                 id, id);
    text_add(text, "<td data-name=\"Job\">");
    ui_job_link(text, id);
    text_add(text, "<div class=\"labels\">");
    ui_labels(text, queue_field(job, "labels"));
    text_add(text, "</div></td><td data-name=\"State\">");
    ui_state(text, queue_field(job, "state"));
    html_add(text, "</td><td data-name=\"Progress\" class=\"progress\"><span class=\"note\">%s</span>",
             over                                        ? "ended"
             : look_text(look_get(progress, "stage"))[0] ? look_text(look_get(progress, "stage"))
                                                         : "waiting");
    ui_meter(text, share, fraction, false);
    text_add(text, "</td>");
    write_result(text, progress);
    text_add(text, "<td class=\"num\" data-name=\"Created\">");
    ui_ago(text, created, listing->now_ms);
    html_add(text,
             "</td><td class=\"num\" data-name=\"Took\">%s</td><td data-name=\"Raw\"><a href=\"/v1/jobs/%s\" "
             "aria-label=\"Job %s as "
             "JSON\">JSON</a></td></tr>\n",
             took, id, id);
    look_release(progress);
}

static void write_table(struct ui_page *page, const struct listing *listing, const struct text *rows)
{
    struct text *text = &page->text;
    if (listing->shown == 0) {
        html_add(text,
                 "<section class=\"card empty\"><h2>%s</h2><p>%s</p><pre><code>curl -F module=@model.mlir.gz "
                 "\\\n     -F "
                 "'request={\"mesh\":{\"axes\":[{\"name\":\"data\",\"size\":8}]},\"device\":\"a100-40\"}' "
                 "\\\n     %s/v1/jobs</code></pre>"
                 "</section>",
                 filtered(listing) ? "No job is like that" : "No jobs yet",
                 "A job begins with a module and a mesh:", "http://127.0.0.1:8080");
        return;
    }
    bool may = ui_may(page->exchange, QUEUE_ROLE_SUBMIT);
    if (may)
        ui_form(page, "/ui/jobs", "bulk");
    text_add(text, "<div class=\"card flush\"><table class=\"jobs stack\"><thead><tr>");
    if (may)
        text_add(text, "<td class=\"pick\"></td>");
    text_add(text, "<th>Job</th><th>State</th><th>Progress</th><th class=\"num\">Best step</th><th "
                   "class=\"num\">Peak</th><th class=\"num\">"
                   "Created</th><th class=\"num\">Took</th><th>Raw</th></tr></thead><tbody>\n");
    text_add_n(text, rows->at, rows->size);
    text_add(text, "</tbody></table></div>");
    if (may)
        text_add(text,
                 "<div class=\"actions\"><span class=\"muted\">Chosen jobs:</span><button name=\"action\" "
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

static enum error_code read_page(struct exchange *exchange, struct listing *listing, struct queue_page *page,
                                 struct error *e)
{
    char label[200], *end;
    struct queue_pair pair;
    struct queue_filter filter = {.tenant = exchange->tenant,
                                  .state = listing->state[0] ? listing->state : NULL,
                                  .from_ms = listing->from_ms,
                                  .until_ms = listing->until_ms};
    snprintf(label, sizeof label, "%s", listing->label);
    if (label[0]) {
        if (!split_label(label, &pair))
            return error_set_pointer(e, ERROR_MALFORMED, "label", "a label is given as name=value");
        filter.labels = &pair;
        filter.label_count = 1;
    }
    if (listing->token[0]) { /* only a position in the caller's own list: nothing to protect */
        filter.before_ms = strtoll(listing->token, &end, 10);
        if (filter.before_ms <= 0 || *end != '-' || !queue_id_valid(end + 1))
            return error_set_pointer(e, ERROR_MALFORMED, "before", "this is no place in the list");
        snprintf(filter.before_id, sizeof filter.before_id, "%s", end + 1);
    }
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_list(queue, &filter, PAGE, page, e);
    pool_give(exchange->server, queue);
    return code;
}

static void write_pages(struct text *text, const struct listing *listing, const struct queue_page *page)
{
    struct text query = {0};
    if (!listing->token[0] && !page->more)
        return;
    text_add(text, "<nav class=\"pages\" aria-label=\"Pages\">");
    write_query(&query, listing);
    const char *filter = query.at ? query.at : "";
    if (listing->token[0])
        html_add(text, "<a href=\"/ui/jobs%s%s\">Newest</a>", filter[0] ? "?" : "",
                 filter[0] ? filter + 1 : "");
    if (page->more)
        html_add(text, "<a rel=\"next\" href=\"/ui/jobs?before=%lld-%s%s\">Older</a>", page->last_ms,
                 page->last_id, filter);
    text_add(text, "</nav>");
    text_release(&query);
}

/* what a form did (actions.c); the words are ours, only the numbers come from the address */
static void write_done(struct ui_page *page)
{
    char action[16] = "", done[16] = "0", refused[16] = "0";
    if (!request_query(page->exchange, "action", action, sizeof action))
        return;
    request_query(page->exchange, "done", done, sizeof done);
    request_query(page->exchange, "refused", refused, sizeof refused);
    long good = strtol(done, NULL, 10), bad = strtol(refused, NULL, 10);
    const char *verb = strcmp(action, "retry") == 0    ? "started again"
                       : strcmp(action, "delete") == 0 ? "deleted"
                                                       : "cancelled";
    if (good + bad == 0)
        text_add(&page->text, "<p class=\"said bad\" role=\"status\">No job was chosen.</p>");
    else if (bad)
        html_add(&page->text, "<p class=\"said bad\" role=\"status\">%ld %s, %ld could not be.</p>", good,
                 verb, bad);
    else
        html_add(&page->text, "<p class=\"said\" role=\"status\">%ld %s.</p>", good, verb);
}

void handle_ui_jobs(struct exchange *exchange)
{
    struct listing listing = {.now_ms = ui_now_ms()};
    struct queue_page page = {0};
    struct ui_page ui_page;
    struct error e;
    enum error_code code = read_filter(exchange, &listing, &e);
    if (code == ERROR_OK)
        code = read_page(exchange, &listing, &page, &e);
    if (code != ERROR_OK) {
        ui_problem(exchange, NULL, &e);
        return;
    }
    ui_begin(&ui_page, exchange, UI_JOBS, "Jobs", 5);
    text_add(&ui_page.text, "<header class=\"top\"><h1>Jobs</h1>");
    if (ui_may(exchange, QUEUE_ROLE_SUBMIT))
        text_add(&ui_page.text, "<a class=\"button\" href=\"/ui/new\">New job</a>");
    text_add(&ui_page.text, "</header>");
    write_done(&ui_page);
    write_filter(&ui_page.text, &listing);
    ui_live(&ui_page, NULL);
    struct ui_page rows = {.exchange = exchange};
    for (size_t i = 0; i < page.count; i++) {
        const char *name = queue_field(&page.at[i].fields, "name");
        if (archive_expand(exchange->server->store, &page.at[i].fields, &e) != ERROR_OK)
            continue; /* it cannot be read; its own page shows why */
        write_row(&rows, &listing, name[0] ? name : page.at[i].id, &page.at[i].fields);
        listing.shown++;
    }
    write_table(&ui_page, &listing, &rows.text);
    write_pages(&ui_page.text, &listing, &page);
    ui_live_end(&ui_page);
    text_release(&rows.text);
    queue_page_release(&page);
    ui_end(&ui_page, 200);
}

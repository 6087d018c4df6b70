/* /ui/jobs: the caller's jobs, newest first, by state, label, time and words; what is shown can be put in
 * another order; several are cancelled or started again at once, two are compared. */
#include "server/resources/archive.h"
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

#include <strings.h>
#include <time.h>

enum {
    PAGE = 50,
    SEARCHED = 1000 /* jobs that a search looks through, from the newest on: some 20 ms of Redis' time */
};

static const char *const states[] = {"queued",    "validating", "running",   "finalizing", "cancelling",
                                     "succeeded", "failed",     "cancelled", "expired",    "dead"};

struct listing {
    char state[32], label[200], token[80];
    char words[100], sort[16];   /* what a row must have; the column that rows are ordered by, "" for age */
    char from[24], until[24];    /* as the form has them: 2026-11-21T03:04, UTC; "" for none */
    long long from_ms, until_ms; /* created in [from, until); 0: no limit */
    long long now_ms;
    size_t shown;
};

/* a row of the table, and what it can be ordered by */
struct row {
    struct text html;
    double step, peak, took;
    char about[200];
    size_t place; /* by age */
};

static bool filtered(const struct listing *listing)
{
    return listing->state[0] || listing->label[0] || listing->from[0] || listing->until[0] ||
           listing->words[0];
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
    request_query(exchange, "q", listing->words, sizeof listing->words);
    for (char *at = listing->words; *at; at++)
        *at = *at == '+' ? ' ' : *at; /* as browsers' forms send a space */
    request_query(exchange, "sort", listing->sort, sizeof listing->sort);
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
    ui_query(text, "q", listing->words);
    ui_query(text, "sort", listing->sort);
}

static const char *const orders[][2] = {
    {"", "newest"}, {"step", "best step"}, {"peak", "peak"}, {"took", "took"}, {"about", "mesh, device"}};

static void write_sort(struct text *text, const struct listing *listing)
{
    text_add(text, "<label>Order <select name=\"sort\">");
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        html_add(text, "<option value=\"%s\"%s>%s</option>", orders[i][0],
                 strcmp(orders[i][0], listing->sort) == 0 ? " selected" : "", orders[i][1]);
    text_add(text, "</select></label>");
}

static void write_filter(struct text *text, const struct listing *listing)
{
    text_add(text,
             "<form class=\"filter\" method=\"get\" action=\"/ui/jobs\" role=\"search\"><label>Search <input "
             "type=\"search\" name=\"q\" value=\"");
    html_text(text, listing->words);
    text_add(text, "\" placeholder=\"h100, model=8, name\" autocomplete=\"off\" spellcheck=\"false\"></label>"
                   "<label>State <select name=\"state\"><option value=\"\">any</option>");
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
             "<span class=\"note\">UTC</span>",
             listing->from, listing->until);
    write_sort(text, listing);
    text_add(text, "<button>Show</button>");
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
    html_add(text, "</td><td data-name=\"For\" class=\"long\">%s</td>", queue_field(job, "about"));
    html_add(text, "<td data-name=\"Progress\" class=\"progress\"><span class=\"note\">%s</span>",
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
    text_add(text,
             "<th>Job</th><th>State</th><th>For</th><th>Progress</th><th class=\"num\">Best step</th><th "
             "class=\"num\">Peak</th><th class=\"num\">"
             "Created</th><th class=\"num\">Took</th><th>Raw</th></tr></thead><tbody>\n");
    text_add_n(text, rows->at, rows->size);
    text_add(text, "</tbody></table></div>");
    if (may)
        text_add(text,
                 "<div class=\"actions\"><span class=\"muted\">Chosen jobs:</span><button name=\"action\" "
                 "value=\"cancel\">Cancel, keep "
                 "the best plan</button><button name=\"action\" value=\"retry\">Start "
                 "again</button><button name=\"action\" value=\"compare\">Compare two</button><button "
                 "class=\"danger\" "
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
    if (strcmp(action, "compare") == 0) {
        text_add(&page->text,
                 "<p class=\"said bad\" role=\"status\">Choose two jobs, or up to eight, to compare.</p>");
        return;
    }
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

/* ---- rows ---- */

static int by_order(const void *left, const void *right, void *user)
{
    const struct row *row = left, *other = right;
    const char *sort = user;
    if (strcmp(sort, "about") == 0 && strcmp(row->about, other->about) != 0)
        return strcmp(row->about, other->about);
    double one = strcmp(sort, "step") == 0 ? row->step : strcmp(sort, "peak") == 0 ? row->peak : row->took;
    double two = strcmp(sort, "step") == 0   ? other->step
                 : strcmp(sort, "peak") == 0 ? other->peak
                                             : other->took;
    if (strcmp(sort, "about") != 0 && one != two)
        return one < two ? -1 : 1;
    return row->place < other->place ? -1 : row->place > other->place;
}

static bool has_word(const char *text, const char *word, size_t size)
{
    for (; *text; text++)
        if (strncasecmp(text, word, size) == 0)
            return true;
    return false;
}

/* every word stands in the job's name, mesh and device, labels, state, module or who found its plan */
static bool matches(const char *words, const char *name, const struct queue_fields *job)
{
    const char *const places[] = {name,
                                  queue_field(job, "about"),
                                  queue_field(job, "labels"),
                                  queue_field(job, "state"),
                                  queue_field(job, "module"),
                                  queue_field(job, "progress")};
    for (const char *at = words; *at;) {
        size_t size = strcspn(at, " ");
        bool found = size == 0;
        for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
            found = has_word(places[i], at, size);
        if (!found)
            return false;
        at += size + (at[size] == ' ');
    }
    return true;
}

static void make_row(struct exchange *exchange, const struct listing *listing, const char *name,
                     const struct queue_fields *job, struct row *out)
{
    struct ui_page page = {.exchange = exchange};
    struct look *progress = ui_field_look(job, "progress");
    const struct look *best = look_get(progress, "best");
    long long created = queue_number(job, "created"), ended = queue_number(job, "finished");
    write_row(&page, listing, name, job);
    *out = (struct row){.html = page.text,
                        .step = best ? look_number(look_get(best, "step_ps")) : 1e30, /* none: last */
                        .peak = best ? look_number(look_get(best, "peak_bytes")) : 1e30,
                        .took = (double)((ended ? ended : listing->now_ms) - created),
                        .place = listing->shown};
    snprintf(out->about, sizeof out->about, "%s", queue_field(job, "about"));
    look_release(progress);
}

/* Rows of a page; with words of as many pages as it takes, up to SEARCHED jobs. last: the page that ends
 * it. */
static enum error_code collect(struct exchange *exchange, struct listing *listing, struct row rows[PAGE],
                               struct queue_page *last, struct error *e)
{
    char shown_id[QUEUE_ID_SIZE] = "";
    long long shown_ms = 0;
    for (size_t looked = 0;;) {
        TRY(read_page(exchange, listing, last, e));
        for (size_t i = 0; i < last->count; i++) {
            struct error unread;
            const char *name = queue_field(&last->at[i].fields, "name");
            if (archive_expand(exchange->server->store, &last->at[i].fields, &unread) != ERROR_OK)
                continue; /* it cannot be read; its own page shows why */
            name = name[0] ? name : last->at[i].id;
            if (!matches(listing->words, name, &last->at[i].fields))
                continue;
            if (listing->shown == PAGE) { /* what follows the last row shown is on the next page */
                last->more = true;
                last->last_ms = shown_ms;
                snprintf(last->last_id, sizeof last->last_id, "%s", shown_id);
                return ERROR_OK;
            }
            shown_ms = queue_number(&last->at[i].fields, "created");
            snprintf(shown_id, sizeof shown_id, "%s", last->at[i].id);
            make_row(exchange, listing, name, &last->at[i].fields, &rows[listing->shown]);
            listing->shown++;
        }
        looked += last->count;
        if (!listing->words[0] || !last->more || listing->shown == PAGE || looked >= SEARCHED)
            return ERROR_OK;
        snprintf(listing->token, sizeof listing->token, "%lld-%s", last->last_ms, last->last_id);
        queue_page_release(last);
    }
}

void handle_ui_jobs(struct exchange *exchange)
{
    struct listing listing = {.now_ms = ui_now_ms()};
    struct queue_page page = {0};
    struct ui_page ui_page;
    struct error e;
    struct row rows[PAGE];
    struct text table = {0};
    enum error_code code = read_filter(exchange, &listing, &e);
    if (code == ERROR_OK)
        code = collect(exchange, &listing, rows, &page, &e);
    if (code == ERROR_OK && listing.sort[0] && listing.shown)
        qsort_r(rows, listing.shown, sizeof *rows, by_order, listing.sort);
    for (size_t i = 0; i < listing.shown; i++) {
        text_add_n(&table, rows[i].html.at, rows[i].html.size);
        text_release(&rows[i].html);
    }
    if (code != ERROR_OK) {
        text_release(&table);
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
    write_table(&ui_page, &listing, &table);
    write_pages(&ui_page.text, &listing, &page);
    ui_live_end(&ui_page);
    text_release(&table);
    queue_page_release(&page);
    ui_end(&ui_page, 200);
}

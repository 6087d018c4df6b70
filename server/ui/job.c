/* /ui/jobs/ID: one job. The parts that change while one looks are in job_live.c; here is the frame, the
 * request, and what one can do with the job. */
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

static void release(struct ui_job *j)
{
    queue_fields_release(&j->fields);
    history_release(&j->history);
    queue_held_release(&j->held);
    look_release(j->progress);
    look_release(j->report);
}

static enum error_code load(struct exchange *exchange, struct ui_job *j, char id[QUEUE_ID_SIZE],
                            struct error *e)
{
    enum error_code code = job_load(exchange, exchange->params[0], id, &j->fields, e);
    if (code != ERROR_OK)
        return code;
    j->id = exchange->params[0];
    j->now_ms = ui_now_ms();
    j->progress = ui_field_look(&j->fields, "progress");
    j->report = ui_artifact(exchange, &j->fields, "report.json");
    struct queue *queue = pool_take(exchange->server);
    code = history_read(exchange->server->store, queue, id, &j->fields, &j->history, e);
    if (code == ERROR_OK && !job_ended(&j->fields))
        code = queue_held_tasks(queue, id, &j->held, e);
    pool_give(exchange->server, queue);
    return code;
}

/* the request as it is understood, indented; owned */
static char *request_text(struct exchange *exchange, const struct ui_job *j)
{
    struct store_view view;
    if (store_get(exchange->server->store, queue_field(&j->fields, "request"), &view, NULL) != ERROR_OK)
        return mem_strdup("{}");
    struct look *request = look_parse(view.bytes, view.size);
    char *text = look_pretty(request);
    look_release(request);
    store_view_release(&view);
    return text;
}

static void action(struct ui_page *page, const char *value, const char *class, const char *text)
{
    html_add(&page->text, "<button class=\"%s\" name=\"action\" value=\"%s\">%s</button>", class, value,
             text);
}

static void write_actions(struct ui_page *page, const struct ui_job *j)
{
    const char *state = queue_field(&j->fields, "state");
    char path[128];
    text_add(&page->text, "<div class=\"actions\">");
    if (ui_may(page->exchange, QUEUE_ROLE_SUBMIT)) {
        snprintf(path, sizeof path, "/ui/jobs/%s", j->id);
        ui_form(page, path, "inline");
        if (!job_ended(&j->fields)) {
            action(page, "cancel", "", "Cancel, keep the best plan");
            action(page, "discard", "danger", "Cancel, keep nothing");
        } else {
            if (strcmp(state, "failed") == 0 || strcmp(state, "dead") == 0)
                action(page, "retry", "", "Start again");
            action(page, "delete", "danger", "Delete");
        }
        html_add(&page->text, "</form><a class=\"button\" href=\"/ui/new?from=%s\">Clone with edits</a>",
                 j->id);
    }
    if (j->report)
        html_add(&page->text, "<a class=\"button\" href=\"/ui/what-if?job=%s\">What if</a>", j->id);
    html_add(&page->text,
             "<a class=\"button\" href=\"/ui/compare?jobs=%s\">Compare</a><a class=\"button\" "
             "href=\"/v1/jobs/%s\">JSON</a></div>",
             j->id, j->id);
}

/* single quotes for a shell: ' becomes '\'' */
static void add_quoted(struct text *text, const char *string)
{
    text_add_char(text, '\'');
    for (; *string; string++) {
        if (*string == '\'')
            text_add(text, "'\\''");
        else
            text_add_char(text, *string);
    }
    text_add_char(text, '\'');
}

static void write_request(struct ui_page *page, const struct ui_job *j)
{
    struct text *text = &page->text, curl = {0};
    const char *host = request_header(page->exchange, "Host");
    char *request = request_text(page->exchange, j);
    struct look *parsed = look_parse(request, strlen(request));
    char *compact = look_compact(parsed);
    text_printf(
        &curl, "curl -X POST http://%s/v1/jobs \\\n     %s-H 'Content-Type: application/json' \\\n     -d ",
        host ? host : "127.0.0.1:8080",
        page->exchange->csrf[0] || page->exchange->key_id[0] ? "-H \"Authorization: Bearer $TOAST_KEY\" "
                                                             : "");
    add_quoted(&curl, compact);
    ui_card(text, "request", "Request", true);
    text_add(text,
             "<div class=\"columns\"><div><h3>As it is understood</h3><pre tabindex=\"0\" role=\"region\" "
             "aria-label=\"Request\"><code>");
    html_text(text, request);
    text_add(text, "</code></pre></div><div><h3>As a command <button type=\"button\" class=\"quiet\" "
                   "data-copy=\"curl\" hidden>Copy</button></h3>"
                   "<pre tabindex=\"0\" role=\"region\" aria-label=\"curl command\"><code id=\"curl\">");
    html_text(text, curl.at);
    text_add(text, "</code></pre><table class=\"facts\"><tbody>");
    html_add(text,
             "<tr><td>Module</td><td class=\"long\"><a class=\"mono\" "
             "href=\"/v1/modules/sha256:%s\">%.16s…</a></td></tr>",
             queue_field(&j->fields, "module"), queue_field(&j->fields, "module"));
    html_add(text, "<tr><td>Request digest</td><td class=\"long mono\">%.16s…</td></tr>",
             queue_field(&j->fields, "digest"));
    html_add(text, "<tr><td>Build</td><td class=\"long mono\">%s</td></tr>",
             queue_field(&j->fields, "build"));
    html_add(text, "<tr><td>Fence</td><td>%lld</td></tr>", queue_number(&j->fields, "fence"));
    text_add(text, "</tbody></table></div></div>");
    ui_card_end(text);
    free(request);
    free(compact);
    look_release(parsed);
    text_release(&curl);
}

void handle_ui_job(struct exchange *exchange)
{
    struct ui_job j = {0};
    struct ui_page page;
    struct error e;
    char id[QUEUE_ID_SIZE], title[140], events[160];
    enum error_code code = load(exchange, &j, id, &e);
    if (code != ERROR_OK) {
        release(&j);
        ui_problem(exchange, NULL, &e);
        return;
    }
    bool ended = job_ended(&j.fields);
    snprintf(title, sizeof title, "Job %.80s", j.id);
    snprintf(events, sizeof events, "/v1/jobs/%.80s/events", j.id);
    ui_begin(&page, exchange, UI_JOBS, title, ended ? 0 : 3);
    html_add(&page.text,
             "<p class=\"crumbs\"><a href=\"/ui/jobs\">Jobs</a></p><header class=\"top\"><h1 "
             "class=\"mono\">%s</h1></header>",
             j.id);
    ui_live(&page, ended ? NULL : events);
    ui_job_summary(&page, &j);
    write_actions(&page, &j);
    text_add(&page.text, "<div class=\"columns\"><div class=\"column\">");
    ui_job_search(&page, &j);
    ui_job_layer(&page, &j);
    ui_job_lanes(&page, &j);
    ui_job_artifacts(&page, &j);
    text_add(&page.text, "</div><div class=\"column\">");
    ui_job_tasks(&page, &j);
    ui_job_memory(&page, &j);
    ui_job_scatter(&page, &j);
    ui_job_events(&page, &j);
    text_add(&page.text, "</div>");
    ui_job_gantt(&page, &j);
    text_add(&page.text, "</div>");
    ui_live_end(&page);
    if (!exchange->replied)
        write_request(&page, &j);
    release(&j);
    ui_end(&page, 200);
}

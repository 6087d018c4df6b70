/* /ui/new: a job from a request that was typed or taken from another job. It goes through job_submit, so
 * that the same is refused, with the same words, as by POST /v1/jobs. */
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

static const char example[] =
    "{\n  \"module\": \"sha256:…\",\n  \"mesh\": {\"axes\": [{\"name\": \"data\", \"size\": 8}]},\n"
    "  \"device\": \"a100-40\"\n}";

/* the request of another job with its labels, indented; owned; NULL: there is no such job */
static char *request_of(struct exchange *exchange, const char *name)
{
    struct queue_fields job;
    struct store_view view;
    char id[QUEUE_ID_SIZE], *text = NULL;
    if (job_load(exchange, name, id, &job, NULL) != ERROR_OK)
        return NULL;
    if (store_get(exchange->server->store, queue_field(&job, "request"), &view, NULL) == ERROR_OK) {
        struct look *request = look_parse(view.bytes, view.size), *labels = ui_field_look(&job, "labels");
        char *pretty = look_pretty(request), *tags = look_count(labels) ? look_compact(labels) : NULL;
        size_t n = strlen(pretty);
        if (tags && n > 2 &&
            pretty[n - 1] == '}') /* labels are kept apart, because they do not change the result */
            text = mem_printf("%.*s,\n  \"labels\": %s\n}", (int)(n - 2), pretty, tags);
        else
            text = mem_strdup(pretty);
        free(pretty);
        free(tags);
        look_release(request);
        look_release(labels);
        store_view_release(&view);
    }
    queue_fields_release(&job);
    return text;
}

static void show(struct exchange *exchange, const char *request, const struct error *e)
{
    struct ui_page page;
    ui_begin(&page, exchange, UI_JOBS, "New job", 0);
    text_add(&page.text, "<p class=\"crumbs\"><a href=\"/ui/jobs\">Jobs</a></p><header class=\"top\"><h1>New "
                         "job</h1></header>");
    if (e) {
        html_add(&page.text, "<section class=\"notice\" role=\"alert\"><h2>%s</h2><p>%s</p>",
                 error_code_text(e->code), e->message);
        if (e->pointer[0])
            html_add(&page.text, "<p>At <code>%s</code>.</p>", e->pointer);
        if (e->line)
            html_add(&page.text, "<p>At line %d, column %d.</p>", e->line, e->column);
        text_add(&page.text, "</section>");
    }
    ui_form(&page, "/ui/new", "card");
    text_add(&page.text,
             "<label for=\"request\"><h2>Request</h2></label><p class=\"muted\">JSON as for <code>POST "
             "/v1/jobs</code>; the module by "
             "its digest. A module that is not here yet goes to <code>PUT /v1/modules</code> first, or "
             "with curl in one step.</p>"
             "<textarea id=\"request\" name=\"request\" rows=\"22\" spellcheck=\"false\" "
             "class=\"mono\" required>\n");
    html_text(&page.text, request);
    text_add(&page.text, "</textarea><div class=\"actions\"><button class=\"primary\">Submit</button><a "
                         "href=\"/ui/jobs\">Back</a></div></form>");
    ui_end(&page, e ? error_code_http_status(e->code) : 200);
}

void handle_ui_new(struct exchange *exchange)
{
    char from[80] = "";
    request_query(exchange, "from", from, sizeof from);
    char *request = from[0] ? request_of(exchange, from) : NULL;
    struct error e;
    if (from[0] && !request) {
        error_set(&e, ERROR_NOT_FOUND, "there is no such job, or its request is no longer kept");
        ui_problem(exchange, NULL, &e);
        return;
    }
    show(exchange, request ? request : example, NULL);
    free(request);
}

void handle_ui_new_post(struct exchange *exchange)
{
    char *request = ui_field(exchange, "request", 0), id[QUEUE_ID_SIZE], where[64];
    struct error e;
    enum error_code code = request
                               ? job_submit(exchange, request, strlen(request), id, &e)
                               : error_set_pointer(&e, ERROR_MALFORMED, "request", "the form has no request");
    if (code != ERROR_OK) {
        e.code = code;
        show(exchange, request ? request : "", &e);
    } else {
        snprintf(where, sizeof where, "/ui/jobs/%s", id);
        ui_redirect(exchange, where);
    }
    free(request);
}

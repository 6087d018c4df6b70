/* /ui/what-if?job=ID: the job's plan to edit, and what the edited one costs; nothing is searched (what_if.h).
 */
#include "server/resources/what_if.h"
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

/* what a person edits: all of plan.json but what follows from the rest */
static bool edited(const char *member)
{
    static const char *const derived[] = {"arguments", "results",      "hash",
                                          "found_by",  "reproducible", "build"};
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
        if (strcmp(member, derived[i]) == 0)
            return false;
    return true;
}

/* the body of a POST /v1/price for the job's plan; owned; NULL: the job has no plan */
static char *request_of(struct exchange *exchange, const struct queue_fields *job)
{
    struct look *plan = ui_artifact(exchange, job, "plan.json");
    struct text text = {0};
    size_t shown = 0;
    if (!plan)
        return NULL;
    text_printf(&text, "{\"module\":\"sha256:%s\",\"report\":false,\"plan\":{", queue_field(job, "module"));
    for (size_t i = 0; i < look_count(plan); i++) {
        if (!edited(look_key(plan, i)))
            continue;
        char *value = look_compact(look_value(plan, i));
        /* the names are plan.json's own and need no escapes */
        text_printf(&text, "%s\"%s\":%s", shown++ ? "," : "", look_key(plan, i), value);
        free(value);
    }
    text_add(&text, "}}");
    struct look *whole = look_parse(text.at, text.size);
    char *pretty = look_pretty(whole);
    look_release(whole);
    look_release(plan);
    text_release(&text);
    return pretty;
}

static void row(struct text *text, const char *name, html_format *format, double now, double before)
{
    char value[32], was[32];
    format(now, value);
    format(before, was);
    html_add(
        text,
        "<tr><th scope=\"row\">%s</th><td class=\"num\">%s</td><td class=\"num\">%s</td><td class=\"num\">",
        name, value, before > 0 ? was : "–");
    if (before > 0)
        html_add(text, "%+.2f %%", 100 * (now - before) / before);
    text_add(text, "</td></tr>");
}

static void write_answer(struct ui_page *page, const struct look *answer, const struct look *report)
{
    struct text *text = &page->text;
    const struct look *price = look_get(answer, "price"), *before = look_get(report, "summary");
    bool fits = look_true(look_get(price, "fits"));
    html_add(text,
             "<section class=\"card\" role=\"status\"><h2>Price <span class=\"badge "
             "%s\">%s</span></h2><table class=\"compare\"><thead><tr>"
             "<td></td><th scope=\"col\" class=\"num\">edited</th><th scope=\"col\" class=\"num\">the job's "
             "plan</th><th scope=\"col\" "
             "class=\"num\">change</th></tr></thead><tbody>",
             fits ? "good" : "bad", fits ? "fits" : "does not fit");
    row(text, "Step time", html_format_time, look_number(look_get(price, "step_ps")),
        look_number(look_get(before, "step_ps")));
    row(text, "Peak memory a device", html_format_bytes, look_number(look_get(price, "peak_bytes")),
        look_number(look_get(before, "peak_bytes")));
    row(text, "Cost", html_format_number, look_number(look_get(price, "cost")),
        look_number(look_get(before, "cost")));
    text_add(text, "</tbody></table></section>");
}

static void show(struct exchange *exchange, const char *request, const struct look *answer,
                 const struct error *e)
{
    struct ui_page page;
    struct queue_fields job;
    char id[QUEUE_ID_SIZE], name[80] = "", path[120];
    request_query(exchange, "job", name, sizeof name);
    /* a name that was found consists of characters that may stand in a path */
    bool known = job_load(exchange, name, id, &job, NULL) == ERROR_OK;
    ui_begin(&page, exchange, UI_JOBS, "What if", 0);
    if (known)
        html_add(&page.text,
                 "<p class=\"crumbs\"><a href=\"/ui/jobs\">Jobs</a> / <a class=\"mono\" "
                 "href=\"/ui/jobs/%s\">%s</a></p>",
                 name, name);
    text_add(&page.text, "<header class=\"top\"><h1>What if</h1></header>");
    if (e) {
        html_add(&page.text, "<section class=\"notice\" role=\"alert\"><h2>%s</h2><p>%s</p>",
                 error_code_text(e->code), e->message);
        if (e->pointer[0])
            html_add(&page.text, "<p>At <code>%s</code>.</p>", e->pointer);
        text_add(&page.text, "</section>");
    } else if (answer) {
        struct look *report = known ? ui_artifact(exchange, &job, "report.json") : NULL;
        write_answer(&page, answer, report);
        look_release(report);
    }
    snprintf(path, sizeof path, "/ui/what-if%s%s", known ? "?job=" : "", known ? name : "");
    ui_form(&page, path, "card");
    text_add(&page.text,
             "<label for=\"request\"><h2>Plan</h2></label><p class=\"muted\">JSON as for <code>POST "
             "/v1/price</code>. Drop, add or "
             "reorder decisions; or put <code>\"baseline\"</code> in the plan's place.</p><textarea "
             "id=\"request\" name=\"request\" "
             "rows=\"24\" spellcheck=\"false\" class=\"mono\" required>\n");
    html_text(&page.text, request);
    text_add(&page.text,
             "</textarea><div class=\"actions\"><button class=\"primary\">Price</button></div></form>");
    queue_fields_release(&job);
    ui_end(&page, e ? error_code_http_status(e->code) : 200);
}

void handle_ui_what_if(struct exchange *exchange)
{
    struct queue_fields job;
    struct error e;
    char id[QUEUE_ID_SIZE], name[80] = "", *request;
    request_query(exchange, "job", name, sizeof name);
    enum error_code code = job_load(exchange, name, id, &job, &e);
    if (code != ERROR_OK) {
        ui_problem(exchange, NULL, &e);
        return;
    }
    request = request_of(exchange, &job);
    queue_fields_release(&job);
    if (request) {
        show(exchange, request, NULL, NULL);
    } else {
        error_set(&e, ERROR_NO_PLAN_YET, "the job has no plan");
        ui_problem(exchange, NULL, &e);
    }
    free(request);
}

/* the child has priced it, or has not */
static void again(struct exchange *exchange)
{
    struct what_if_result *what_if_result = exchange->errand->what_if;
    char *request = ui_field(exchange, "request", 0);
    struct look *answer =
        what_if_result->json ? look_parse(what_if_result->json, strlen(what_if_result->json)) : NULL;
    show(exchange, request ? request : "", answer,
         what_if_result->error.code != ERROR_OK ? &what_if_result->error : NULL);
    look_release(answer);
    free(request);
}

void handle_ui_what_if_post(struct exchange *exchange)
{
    char *request = ui_field(exchange, "request", 0);
    struct error e = {0};
    enum error_code code = request
                               ? what_if_begin_json(exchange, request, strlen(request), again, &e)
                               : error_set_pointer(&e, ERROR_MALFORMED, "request", "the form has no request");
    if (code != ERROR_OK) {
        e.code = code;
        show(exchange, request ? request : "", NULL, &e);
    }
    free(request);
}

/* /ui/what-if?job=ID: the job's plan to edit, and what the edited one costs; nothing is searched (what_if.h).
 * With &dimension=NAME that dimension's axes are ticked instead (cut.h). */
#include "server/resources/what_if.h"
#include "server/ui/cut.h"
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

/* the body of a POST /v1/price for the job's plan, with the dimension cut as the form says ("": none);
 * owned */
static char *request_of(struct exchange *exchange, const struct queue_fields *job, const struct look *plan,
                        const char *dimension)
{
    struct text text = {0};
    size_t shown = 0;
    text_printf(&text, "{\"module\":\"sha256:%s\",\"report\":false,", queue_field(job, "module"));
    if (dimension[0])
        ui_cut_json(exchange, plan, dimension, &text);
    text_add(&text, "\"plan\":{");
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

/* the job that the page is of, and what it is asked */
struct question {
    char name[80], dimension[160]; /* "": none */
    struct queue_fields job;
    struct look *plan; /* owned; NULL: there is none */
    bool known;
};

static enum error_code open_question(struct exchange *exchange, struct question *question, struct error *e)
{
    char id[QUEUE_ID_SIZE];
    *question = (struct question){.name = ""};
    request_query(exchange, "job", question->name, sizeof question->name);
    request_query(exchange, "dimension", question->dimension, sizeof question->dimension);
    enum error_code code = job_load(exchange, question->name, id, &question->job, e);
    question->known = code == ERROR_OK;
    question->plan = question->known ? ui_artifact(exchange, &question->job, "plan.json") : NULL;
    if (question->known && question->plan && question->dimension[0] &&
        !ui_cut_known(question->plan, question->dimension))
        code = error_set(e, ERROR_NOT_FOUND, "no argument of the plan has a dimension '%.80s'",
                         question->dimension);
    return code;
}

static void close_question(struct question *question)
{
    look_release(question->plan);
    queue_fields_release(&question->job);
}

static void write_problem(struct text *text, const struct error *e)
{
    html_add(text, "<section class=\"notice\" role=\"alert\"><h2>%s</h2><p>%s</p>", error_code_text(e->code),
             e->message);
    if (e->pointer[0])
        html_add(text, "<p>At <code>%s</code>.</p>", e->pointer);
    text_add(text, "</section>");
}

static void write_request(struct ui_page *page, const char *path, const char *request)
{
    ui_form(page, path, "card");
    text_add(&page->text,
             "<label for=\"request\"><h2>Plan</h2></label><p class=\"muted\">JSON as for <code>POST "
             "/v1/price</code>. Drop, add or "
             "reorder decisions; or put <code>\"baseline\"</code> in the plan's place.</p><textarea "
             "id=\"request\" name=\"request\" "
             "rows=\"24\" spellcheck=\"false\" class=\"mono\" required>\n");
    html_text(&page->text, request);
    text_add(&page->text,
             "</textarea><div class=\"actions\"><button class=\"primary\">Price</button></div></form>");
}

/* again: the boxes as they were posted */
static void show(struct exchange *exchange, const struct question *question, const char *request, bool again,
                 const struct look *answer, const struct error *e)
{
    struct ui_page page;
    struct text path = {0};
    ui_begin(&page, exchange, UI_JOBS, "What if", 0);
    /* the name of a job that was found consists of characters that may stand in a path */
    text_printf(&path, "/ui/what-if%s%s", question->known ? "?job=" : "",
                question->known ? question->name : "");
    if (question->known)
        html_add(&page.text,
                 "<p class=\"crumbs\"><a href=\"/ui/jobs\">Jobs</a> / <a class=\"mono\" "
                 "href=\"/ui/jobs/%s\">%s</a></p>",
                 question->name, question->name);
    text_add(&page.text, "<header class=\"top\"><h1>What if</h1></header>");
    if (e) {
        write_problem(&page.text, e);
    } else if (answer) {
        struct look *report = question->known ? ui_artifact(exchange, &question->job, "report.json") : NULL;
        write_answer(&page, answer, report);
        look_release(report);
    }
    size_t without = path.size;
    if (question->dimension[0] && question->plan && ui_cut_known(question->plan, question->dimension)) {
        ui_query(&path, "dimension", question->dimension);
        ui_cut_card(&page, question->plan, path.at, question->dimension, again);
        path.at[without] = 0;
    }
    write_request(&page, path.at, request);
    text_release(&path);
    ui_end(&page, e ? error_code_http_status(e->code) : 200);
}

void handle_ui_what_if(struct exchange *exchange)
{
    struct question question;
    struct error e;
    enum error_code code = open_question(exchange, &question, &e);
    if (code == ERROR_OK && !question.plan)
        code = error_set(&e, ERROR_NO_PLAN_YET, "the job has no plan");
    if (code != ERROR_OK) {
        ui_problem(exchange, NULL, &e);
    } else {
        char *request = request_of(exchange, &question.job, question.plan, "");
        show(exchange, &question, request, false, NULL, NULL);
        free(request);
    }
    close_question(&question);
}

/* what was posted: the text, or the job's plan with the ticked axes; owned; NULL: neither */
static char *posted_request(struct exchange *exchange, const struct question *question)
{
    char *dimension = ui_field(exchange, "dimension", 0), *request = NULL;
    if (!dimension)
        request = ui_field(exchange, "request", 0);
    else if (question->plan)
        request = request_of(exchange, &question->job, question->plan, dimension);
    free(dimension);
    return request;
}

static bool by_boxes(struct exchange *exchange)
{
    char *dimension = ui_field(exchange, "dimension", 0);
    free(dimension);
    return dimension != NULL;
}

/* the child has priced it, or has not */
static void again(struct exchange *exchange)
{
    struct what_if_result *what_if_result = exchange->errand->what_if;
    struct question question;
    struct error e;
    (void)open_question(exchange, &question, &e); /* a job that is gone by now: the answer without it */
    char *request = posted_request(exchange, &question);
    struct look *answer =
        what_if_result->json ? look_parse(what_if_result->json, strlen(what_if_result->json)) : NULL;
    show(exchange, &question, request ? request : "", by_boxes(exchange), answer,
         what_if_result->error.code != ERROR_OK ? &what_if_result->error : NULL);
    look_release(answer);
    free(request);
    close_question(&question);
}

void handle_ui_what_if_post(struct exchange *exchange)
{
    struct question question;
    struct error e = {0};
    (void)open_question(exchange, &question, &e); /* a text is priced without a job, too */
    char *request = posted_request(exchange, &question);
    enum error_code code = request
                               ? what_if_begin_json(exchange, request, strlen(request), again, &e)
                               : error_set_pointer(&e, ERROR_MALFORMED, "request", "the form has no request");
    if (code != ERROR_OK) {
        e.code = code;
        show(exchange, &question, request ? request : "", by_boxes(exchange), NULL, &e);
    }
    free(request);
    close_question(&question);
}

/* The frame around every page, forms, refusals, and the two files that pages load. Nothing inline and
 * nothing from elsewhere is ever sent (Content-Security-Policy below). See ui.h. */
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

#include "base/hash.h"
#include "server/http/form.h"

extern const unsigned char server_ui_css[], server_ui_js[];
extern const size_t server_ui_css_size, server_ui_js_size;

/* Nothing inline, nothing from elsewhere. data: pictures are those that a page offers to save. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

bool ui_may(const struct exchange *exchange, enum queue_role role)
{
    return (unsigned)exchange->role >= (unsigned)role;
}

static void write_nav(struct text *text, enum ui_place place)
{
    static const struct {
        enum ui_place place;
        const char *path, *name;
    } links[] = {{UI_OVERVIEW, "/ui", "Overview"},
                 {UI_JOBS, "/ui/jobs", "Jobs"},
                 {UI_WORKERS, "/ui/workers", "Workers"},
                 {UI_COMPARE, "/ui/compare", "Compare"}};
    text_add(text, "<nav class=\"main\" aria-label=\"Main\">");
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        html_add(text,
                 links[i].place == place ? "<a href=\"%s\" aria-current=\"page\">%s</a>"
                                         : "<a href=\"%s\">%s</a>",
                 links[i].path, links[i].name);
    text_add(text, "</nav>");
}

static void write_who(struct ui_page *page)
{
    struct exchange *exchange = page->exchange;
    if (exchange->role == QUEUE_ROLE_NONE)
        return;
    html_add(&page->text, "<div class=\"who\"><span>%s</span> <span class=\"badge\">%s</span>",
             exchange->tenant,
             ui_may(exchange, QUEUE_ROLE_SUBMIT) ? queue_role_text(exchange->role) : "read only");
    if (exchange->csrf[0]) {
        ui_form(page, "/ui/session/end", "inline");
        text_add(&page->text, "<button class=\"quiet\">Sign out</button></form>");
    }
    text_add(&page->text, "</div>");
}

void ui_begin(struct ui_page *page, struct exchange *exchange, enum ui_place place, const char *title,
              int refresh_s)
{
    char part[16] = "";
    request_query(exchange, "part", part, sizeof part);
    *page = (struct ui_page){.exchange = exchange, .part = strcmp(part, "live") == 0, .refresh_s = refresh_s};
    text_add(
        &page->text,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">");
    html_add(&page->text,
             "<title>%s · TOAST</title><link rel=\"stylesheet\" href=\"/ui/ui.css\"><link rel=\"icon\" "
             "href=\"data:,\"><script src=\"/ui/ui.js\" defer></script>",
             title);
    if (refresh_s)
        html_add(&page->text, "<noscript><meta http-equiv=\"refresh\" content=\"%d\"></noscript>", refresh_s);
    text_add(&page->text, "</head><body><a class=\"skip\" href=\"#main\">Skip to content</a><header "
                          "class=\"bar\"><a class=\"brand\" "
                          "href=\"/ui\">TOAST</a>");
    if (exchange->role != QUEUE_ROLE_NONE)
        write_nav(&page->text, place);
    write_who(page);
    text_add(&page->text, "</header>\n<main id=\"main\" tabindex=\"-1\">");
}

void ui_live(struct ui_page *page, const char *events)
{
    html_add(&page->text, "<div id=\"live\" data-every=\"%d\"", page->refresh_s);
    if (events)
        html_add(&page->text, " data-events=\"%s\"", events);
    text_add(&page->text, ">");
    page->live_at = page->text.size;
}

/* Referrer-Policy: with no-referrer browsers would send "Origin: null" with our own forms as well */
static void send_page(struct exchange *exchange, int status, const char *at, size_t size)
{
    struct header extra[] = {{"Content-Security-Policy", policy},
                             {"Referrer-Policy", "same-origin"},
                             {"Cache-Control", "no-store"},
                             {"Vary", "Cookie"}};
    if (status < 400 && !reply_room(exchange, size)) /* a refusal is never refused */
        return;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)at, MHD_RESPMEM_MUST_COPY);
    reply_response(exchange, status, response, "text/html; charset=utf-8", extra, 4);
}

void ui_live_end(struct ui_page *page)
{
    if (!page->part)
        text_add(&page->text, "</div>");
    else if (page->live_at)
        send_page(page->exchange, 200, page->text.at + page->live_at, page->text.size - page->live_at);
}

void ui_end(struct ui_page *page, int status)
{
    if (!page->exchange->replied) {
        text_add(&page->text, "</main></body></html>\n");
        send_page(page->exchange, status, page->text.at, page->text.size);
    }
    text_release(&page->text);
}

void ui_redirect(struct exchange *exchange, const char *where)
{
    struct header extra = {"Location", where};
    reply_empty(exchange, 303, &extra, 1);
}

void ui_problem(struct exchange *exchange, struct ui_page *begun, const struct error *e)
{
    int status = error_code_http_status(e->code);
    struct ui_page page;
    if (begun)
        text_release(&begun->text);
    if (exchange->replied)
        return;
    if (status == 401 && strcmp(exchange->method, "POST") != 0) {
        ui_redirect(exchange, "/ui/login");
        return;
    }
    ui_begin(&page, exchange, UI_NOWHERE, error_code_text(e->code), status == 503 ? 5 : 0);
    html_add(&page.text,
             "<header class=\"top\"><h1>%s</h1><span class=\"badge bad\">%d</span></header><section "
             "class=\"notice\"><p>%s</p>",
             status == 404   ? "There is no such page or job"
             : status == 403 ? "That is not allowed"
             : status == 503 ? "The service cannot answer now"
                             : "That did not work",
             status, e->message);
    if (e->pointer[0])
        html_add(&page.text, "<p>At <code>%s</code>.</p>", e->pointer);
    html_add(&page.text, "</section><p><a href=\"/ui\">Overview</a> · request <code>%s</code></p>",
             exchange->request_id);
    ui_end(&page, status);
}

static bool wants_page(const struct exchange *exchange)
{
    bool ours =
        strncmp(exchange->path, "/ui", 3) == 0 && (exchange->path[3] == 0 || exchange->path[3] == '/');
    return ours && strcmp(exchange->path, "/ui/session") != 0;
}

bool ui_refuse(struct exchange *exchange, const struct error *e)
{
    if (!wants_page(exchange))
        return false;
    ui_problem(exchange, NULL, e);
    return true;
}

void ui_form(struct ui_page *page, const char *path, const char *class)
{
    html_add(&page->text, "<form method=\"post\" class=\"%s\" action=\"%s", class, path);
    if (page->exchange->csrf[0]) /* in the query: it is checked before a body is read */
        html_add(&page->text, "%scsrf=%s", strchr(path, '?') ? "&" : "?", page->exchange->csrf);
    text_add(&page->text, "\">");
}

char *ui_field(struct exchange *exchange, const char *name, size_t nth)
{
    const char *body = exchange->body.memory.at ? exchange->body.memory.at : "";
    size_t size = exchange->body.memory.size, length = strlen(name);
    if (!exchange->content_type || !form_is_type(exchange->content_type))
        return NULL;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(body + at, '&', size - at);
        size_t n = end ? (size_t)(end - body) - at : size - at;
        if (n > length && memcmp(body + at, name, length) == 0 && body[at + length] == '=' && nth-- == 0)
            return form_field(body + at, n, name);
        at += n + 1;
    }
    return NULL;
}

/* ---- the files that pages load ---- */

static void send_file(struct exchange *exchange, const char *media_type, const void *bytes, size_t size)
{
    uint8_t digest[32];
    char hex[65], etag[70];
    sha256_bytes(bytes, size, digest);
    sha256_format(digest, hex);
    snprintf(etag, sizeof etag, "\"%s\"", hex);
    if (reply_not_modified(exchange, etag, "no-cache"))
        return;
    struct header extra[] = {{"ETag", etag}, {"Cache-Control", "no-cache"}};
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
    reply_response(exchange, 200, response, media_type, extra, 2);
}

void handle_ui_css(struct exchange *exchange)
{
    send_file(exchange, "text/css; charset=utf-8", server_ui_css, server_ui_css_size);
}

void handle_ui_js(struct exchange *exchange)
{
    send_file(exchange, "text/javascript; charset=utf-8", server_ui_js, server_ui_js_size);
}

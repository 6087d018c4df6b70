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

bool ui_may(const struct exchange *x, enum queue_role role)
{
    return (unsigned)x->role >= (unsigned)role;
}

static void write_nav(struct text *t, enum ui_place place)
{
    static const struct {
        enum ui_place place;
        const char *path, *name;
    } links[] = {{UI_OVERVIEW, "/ui", "Overview"},
                 {UI_JOBS, "/ui/jobs", "Jobs"},
                 {UI_WORKERS, "/ui/workers", "Workers"},
                 {UI_COMPARE, "/ui/compare", "Compare"}};
    text_add(t, "<nav class=\"main\" aria-label=\"Main\">");
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        html_add(t,
                 links[i].place == place ? "<a href=\"%s\" aria-current=\"page\">%s</a>"
                                         : "<a href=\"%s\">%s</a>",
                 links[i].path, links[i].name);
    text_add(t, "</nav>");
}

static void write_who(struct ui_page *p)
{
    struct exchange *x = p->x;
    if (x->role == QUEUE_ROLE_NONE)
        return;
    html_add(&p->t, "<div class=\"who\"><span>%s</span> <span class=\"badge\">%s</span>", x->tenant,
             ui_may(x, QUEUE_ROLE_SUBMIT) ? queue_role_text(x->role) : "read only");
    if (x->csrf[0]) {
        ui_form(p, "/ui/session/end", "inline");
        text_add(&p->t, "<button class=\"quiet\">Sign out</button></form>");
    }
    text_add(&p->t, "</div>");
}

void ui_begin(struct ui_page *p, struct exchange *x, enum ui_place place, const char *title, int refresh_s)
{
    char part[16] = "";
    request_query(x, "part", part, sizeof part);
    *p = (struct ui_page){.x = x, .part = strcmp(part, "live") == 0, .refresh_s = refresh_s};
    text_add(
        &p->t,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">");
    html_add(&p->t,
             "<title>%s · TOAST</title><link rel=\"stylesheet\" href=\"/ui/ui.css\"><link rel=\"icon\" "
             "href=\"data:,\"><script src=\"/ui/ui.js\" defer></script>",
             title);
    if (refresh_s)
        html_add(&p->t, "<noscript><meta http-equiv=\"refresh\" content=\"%d\"></noscript>", refresh_s);
    text_add(&p->t, "</head><body><a class=\"skip\" href=\"#main\">Skip to content</a><header "
                    "class=\"bar\"><a class=\"brand\" "
                    "href=\"/ui\">TOAST</a>");
    if (x->role != QUEUE_ROLE_NONE)
        write_nav(&p->t, place);
    write_who(p);
    text_add(&p->t, "</header>\n<main id=\"main\" tabindex=\"-1\">");
}

void ui_live(struct ui_page *p, const char *events)
{
    html_add(&p->t, "<div id=\"live\" data-every=\"%d\"", p->refresh_s);
    if (events)
        html_add(&p->t, " data-events=\"%s\"", events);
    text_add(&p->t, ">");
    p->live_at = p->t.size;
}

/* Referrer-Policy: with no-referrer browsers would send "Origin: null" with our own forms as well */
static void send_page(struct exchange *x, int status, const char *at, size_t size)
{
    struct header extra[] = {{"Content-Security-Policy", policy},
                             {"Referrer-Policy", "same-origin"},
                             {"Cache-Control", "no-store"},
                             {"Vary", "Cookie"}};
    struct MHD_Response *r =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)at, MHD_RESPMEM_MUST_COPY);
    reply_response(x, status, r, "text/html; charset=utf-8", extra, 4);
}

void ui_live_end(struct ui_page *p)
{
    if (!p->part)
        text_add(&p->t, "</div>");
    else if (p->live_at)
        send_page(p->x, 200, p->t.at + p->live_at, p->t.size - p->live_at);
}

void ui_end(struct ui_page *p, int status)
{
    if (!p->x->replied) {
        text_add(&p->t, "</main></body></html>\n");
        send_page(p->x, status, p->t.at, p->t.size);
    }
    text_release(&p->t);
}

void ui_redirect(struct exchange *x, const char *where)
{
    struct header extra = {"Location", where};
    reply_empty(x, 303, &extra, 1);
}

void ui_problem(struct exchange *x, struct ui_page *begun, const struct error *e)
{
    int status = error_code_http_status(e->code);
    struct ui_page p;
    if (begun)
        text_release(&begun->t);
    if (x->replied)
        return;
    if (status == 401 && strcmp(x->method, "POST") != 0) {
        ui_redirect(x, "/ui/login");
        return;
    }
    ui_begin(&p, x, UI_NOWHERE, error_code_text(e->code), status == 503 ? 5 : 0);
    html_add(&p.t,
             "<header class=\"top\"><h1>%s</h1><span class=\"badge bad\">%d</span></header><section "
             "class=\"notice\"><p>%s</p>",
             status == 404   ? "There is no such page or job"
             : status == 403 ? "That is not allowed"
             : status == 503 ? "The service cannot answer now"
                             : "That did not work",
             status, e->message);
    if (e->pointer[0])
        html_add(&p.t, "<p>At <code>%s</code>.</p>", e->pointer);
    html_add(&p.t, "</section><p><a href=\"/ui\">Overview</a> · request <code>%s</code></p>", x->request_id);
    ui_end(&p, status);
}

static bool wants_page(const struct exchange *x)
{
    bool ours = strncmp(x->path, "/ui", 3) == 0 && (x->path[3] == 0 || x->path[3] == '/');
    return ours && strcmp(x->path, "/ui/session") != 0;
}

bool ui_refuse(struct exchange *x, const struct error *e)
{
    if (!wants_page(x))
        return false;
    ui_problem(x, NULL, e);
    return true;
}

void ui_form(struct ui_page *p, const char *path, const char *class)
{
    html_add(&p->t, "<form method=\"post\" class=\"%s\" action=\"%s", class, path);
    if (p->x->csrf[0]) /* in the query: it is checked before a body is read */
        html_add(&p->t, "%scsrf=%s", strchr(path, '?') ? "&" : "?", p->x->csrf);
    text_add(&p->t, "\">");
}

char *ui_field(struct exchange *x, const char *name, size_t nth)
{
    const char *body = x->body.memory.at ? x->body.memory.at : "";
    size_t size = x->body.memory.size, length = strlen(name);
    if (!x->content_type || !form_is_type(x->content_type))
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

static void send_file(struct exchange *x, const char *media_type, const void *bytes, size_t size)
{
    uint8_t digest[32];
    char hex[65], etag[70];
    sha256_bytes(bytes, size, digest);
    sha256_format(digest, hex);
    snprintf(etag, sizeof etag, "\"%s\"", hex);
    if (reply_not_modified(x, etag, "no-cache"))
        return;
    struct header extra[] = {{"ETag", etag}, {"Cache-Control", "no-cache"}};
    struct MHD_Response *r =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
    reply_response(x, 200, r, media_type, extra, 2);
}

void handle_ui_css(struct exchange *x)
{
    send_file(x, "text/css; charset=utf-8", server_ui_css, server_ui_css_size);
}

void handle_ui_js(struct exchange *x)
{
    send_file(x, "text/javascript; charset=utf-8", server_ui_js, server_ui_js_size);
}

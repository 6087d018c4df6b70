/* /ui/login: the form in which a key is traded for a session (server/access/session.c checks it), and / which
 * leads to the dashboard. The key is never shown again. */
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

/* whoever types the address alone wants the dashboard */
void handle_ui_root(struct exchange *exchange)
{
    ui_redirect(exchange, "/ui");
}

void handle_ui_login(struct exchange *exchange)
{
    struct ui_page page;
    char failed[8] = "";
    request_query(exchange, "failed", failed, sizeof failed);
    ui_begin(&page, exchange, UI_NOWHERE, "Sign in", 0);
    text_add(&page.text, "<section class=\"card login\"><h1>Sign in</h1>");
    if (failed[0])
        text_add(&page.text,
                 "<p class=\"said bad\" role=\"alert\">This key is not known here, was revoked, or has "
                 "expired.</p>");
    if (exchange->role != QUEUE_ROLE_NONE && !exchange->csrf[0])
        text_add(&page.text,
                 "<p class=\"muted\">This service has no keys: everybody who reaches it is let in. <a "
                 "href=\"/ui\">Overview</a></p>");
    text_add(&page.text,
             "<form method=\"post\" action=\"/ui/session\"><label for=\"key\">API key</label><input "
             "id=\"key\" name=\"key\" "
             "type=\"password\" autocomplete=\"current-password\" required "
             "spellcheck=\"false\"><button class=\"primary\">Sign "
             "in</button></form><p class=\"muted\">A key is made with <code>toast keys add</code>. The "
             "session ends after eight hours, "
             "or with the key.</p></section>");
    ui_end(&page, 200);
}

/* The small parts that pages share: times, states, bars, cards, links. Each appends HTML to a text; client
 * text is escaped here. See ui.h. */
#include "server/ui/ui.h"

#include <time.h>

long long ui_now_ms(void)
{
    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    return when.tv_sec * 1000LL + when.tv_nsec / 1000000;
}

void ui_state(struct text *text, const char *state)
{
    static const char *const classes[][2] = {
        {"succeeded", "good"},  {"failed", "bad"},      {"dead", "bad"},
        {"expired", "bad"},     {"running", "busy"},    {"validating", "busy"},
        {"finalizing", "busy"}, {"cancelling", "warn"}, {"cancelled", "warn"}};
    const char *class = "";
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i][0], state) == 0)
            class = classes[i][1];
    html_add(text, "<span class=\"badge %s\">%s</span>", class, state);
}

void ui_duration(long long ms, char out[32])
{
    if (ms < 0)
        ms = 0;
    if (ms < 1000)
        snprintf(out, 32, "%lld ms", ms);
    else if (ms < 60000)
        snprintf(out, 32, "%.1f s", (double)ms / 1000);
    else if (ms < 3600000)
        snprintf(out, 32, "%lld min %lld s", ms / 60000, ms / 1000 % 60);
    else if (ms < 86400000)
        snprintf(out, 32, "%lld h %lld min", ms / 3600000, ms / 60000 % 60);
    else
        snprintf(out, 32, "%lld d %lld h", ms / 86400000, ms / 3600000 % 24);
}

void ui_ago(struct text *text, long long ms, long long now_ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    char when[32], ago[32];
    if (ms <= 0) {
        text_add(text, "–");
        return;
    }
    gmtime_r(&seconds, &parts);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    long long passed = now_ms - ms > 0 ? (now_ms - ms) / 1000 : 0;
    if (passed < 60)
        snprintf(ago, sizeof ago, "%lld s ago", passed);
    else if (passed < 3600)
        snprintf(ago, sizeof ago, "%lld min ago", passed / 60);
    else if (passed < 86400)
        snprintf(ago, sizeof ago, "%lld h ago", passed / 3600);
    else
        snprintf(ago, sizeof ago, "%lld d ago", passed / 86400);
    html_add(text, "<time datetime=\"%s\" title=\"%s\">%s</time>", when, when, ago);
}

void ui_tile(struct text *text, const char *name, const char *value, const char *note)
{
    html_add(text, "<div class=\"tile\"><dt>%s</dt><dd", name);
    html_add(text,
             strlen(value) > 14 ? " class=\"small\">%s<span class=\"note\">%s</span></dd></div>"
                                : ">%s<span class=\"note\">%s</span></dd></div>",
             value, note);
}

void ui_card(struct text *text, const char *id, const char *title, bool wide)
{
    html_add(text, "<section class=\"card%s\" id=\"%s\"><h2>%s</h2>", wide ? " wide" : "", id, title);
}

void ui_card_end(struct text *text)
{
    text_add(text, "</section>\n");
}

void ui_meter(struct text *text, const char *name, double share, bool bad)
{
    double width = share < 0 ? 0 : share > 1 ? 100 : share * 100;
    html_add(text,
             "<svg class=\"meter\" role=\"img\" aria-label=\"%s: %.0f %%\" viewBox=\"0 0 100 6\" "
             "preserveAspectRatio=\"none\">",
             name, width);
    html_add(text,
             "<rect class=\"trough\" width=\"100\" height=\"6\"/><rect class=\"c%d\" width=\"%.1f\" "
             "height=\"6\"/></svg>",
             bad ? 3 : 0, width);
}

void ui_labels(struct text *text, const char *json)
{
    struct look *labels = look_parse(json, strlen(json));
    for (size_t i = 0; i < look_count(labels); i++)
        html_add(text, "<span class=\"label\">%s=%s</span> ", look_key(labels, i),
                 look_text(look_value(labels, i)));
    look_release(labels);
}

void ui_job_link(struct text *text, const char *id)
{
    size_t n = strlen(id);
    html_add(text, "<a class=\"mono\" href=\"/ui/jobs/%s\" title=\"%s\">", id, id);
    html_add(text, n > 12 ? "j_…%s</a>" : "%s</a>", n > 12 ? id + n - 8 : id);
}

struct look *ui_artifact(struct exchange *exchange, const struct queue_fields *job, const char *name)
{
    struct job_artifact other_job_artifact;
    struct store_view view;
    struct look *out = NULL;
    if (job_artifact(job, name, &other_job_artifact) &&
        store_get(exchange->server->store, other_job_artifact.digest, &view, NULL) == ERROR_OK) {
        out = look_parse(view.bytes, view.size);
        store_view_release(&view);
    }
    return out;
}

struct look *ui_field_look(const struct queue_fields *job, const char *name)
{
    const char *json = queue_field(job, name);
    return look_parse(json, strlen(json));
}

void ui_query(struct text *text, const char *name, const char *value)
{
    if (!value[0])
        return;
    text_printf(text, "&%s=", name);
    for (; *value; value++) {
        unsigned char byte = (unsigned char)*value;
        if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
            byte == '-' || byte == '.' || byte == '_')
            text_add_char(text, (char)byte);
        else
            text_printf(text, "%%%02X", byte);
    }
}

/* GET /v1/jobs: pages of the caller's jobs by state, label and time, newest first. A page token is sealed
 * for the tenant and the filter (page_token.h); the server keeps no cursor. */
#include "server/resources/archive.h"
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "base/encode.h"

#include "server/resources/job_body.h"
#include "server/resources/page_token.h"

#include <ctype.h>
#include <time.h>

enum { LABELS_MAX = 8, LABEL_SIZE = 1100, PAGE_DEFAULT = 50, PAGE_MAX = 1000 };

struct listing {
    struct queue_filter filter;
    char state[32], secret[65];
    struct queue_pair labels[LABELS_MAX];
    char *texts[LABELS_MAX]; /* "name\0value", owned; labels point into them */
    struct text scope;       /* what a page token is for */
    size_t size;
};

static void listing_release(struct listing *l)
{
    for (int i = 0; i < LABELS_MAX; i++)
        free(l->texts[i]);
    text_release(&l->scope);
}

/* ---- times ---- */

static bool digits(const char **at, int count, int low, int high, int *out)
{
    *out = 0;
    for (int i = 0; i < count; i++, ++*at) {
        if (!isdigit((unsigned char)**at))
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return *out >= low && *out <= high;
}

static bool literal(const char **at, const char *any)
{
    return **at && strchr(any, **at) ? (++*at, true) : false;
}

bool list_time_parse(const char *at, long long *ms)
{
    struct tm t = {0};
    int year, month, hours, minutes, scale = 100, sign;
    if (!digits(&at, 4, 1970, 9999, &year) || !literal(&at, "-") || !digits(&at, 2, 1, 12, &month) ||
        !literal(&at, "-") || !digits(&at, 2, 1, 31, &t.tm_mday) || !literal(&at, "Tt") ||
        !digits(&at, 2, 0, 23, &t.tm_hour) || !literal(&at, ":") || !digits(&at, 2, 0, 59, &t.tm_min) ||
        !literal(&at, ":") || !digits(&at, 2, 0, 60, &t.tm_sec))
        return false;
    t.tm_year = year - 1900;
    t.tm_mon = month - 1;
    *ms = 0;
    if (literal(&at, "."))
        for (bool any = false; isdigit((unsigned char)*at) || !any; any = true, scale /= 10) {
            if (!isdigit((unsigned char)*at))
                return false;
            *ms += (*at++ - '0') * scale;
        }
    *ms += (long long)timegm(&t) * 1000;
    if (literal(&at, "Zz"))
        return !*at;
    sign = *at == '-' ? -1 : 1;
    if (!literal(&at, "+-") || !digits(&at, 2, 0, 23, &hours) || !literal(&at, ":") ||
        !digits(&at, 2, 0, 59, &minutes) || *at)
        return false;
    *ms -= sign * (hours * 60LL + minutes) * 60000;
    return true;
}

static enum error_code take_time(const struct exchange *x, const char *name, long long *ms, struct error *e)
{
    char text[48];
    if (!request_query(x, name, text, sizeof text) || list_time_parse(text, ms))
        return ERROR_OK;
    return error_set_pointer(e, ERROR_MALFORMED, name, "%s must be a time such as 2026-11-21T03:04:05Z",
                             name);
}

/* ---- the rest of a query ---- */

static enum error_code take_state(const struct exchange *x, struct listing *l, struct error *e)
{
    static const char *const states[] = {"queued",    "validating", "running", "finalizing", "cancelling",
                                         "succeeded", "failed",     "expired", "cancelled",  "dead"};
    if (!request_query(x, "state", l->state, sizeof l->state))
        return ERROR_OK;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(l->state, states[i]) == 0) {
            l->filter.state = l->state;
            return ERROR_OK;
        }
    return error_set_pointer(
        e, ERROR_MALFORMED, "state",
        "state is one of queued, validating, running, finalizing, cancelling, succeeded, failed, "
        "expired, cancelled, dead");
}

/* label=name=value, percent-encoded, any number of times: all must be there */
static enum error_code take_labels(const struct exchange *x, struct listing *l, struct error *e)
{
    for (const char *at = x->query; *at;) {
        size_t n = strcspn(at, "&"), out = 0;
        const char *value = at + 6;
        if (n >= 6 && strncmp(at, "label=", 6) == 0) {
            if (l->filter.label_count == LABELS_MAX || n > LABEL_SIZE)
                return error_set_pointer(e, ERROR_MALFORMED, "label", "at most %d labels of %d bytes",
                                         LABELS_MAX, LABEL_SIZE);
            char *text = l->texts[l->filter.label_count] = mem_zalloc(n + 1, 1);
            for (const char *c = value; c < at + n; c++) {
                int byte = *c == '%'   ? encode_from_percent(c, (size_t)(at + n - c))
                           : *c == '+' ? ' '
                                       : (unsigned char)*c;
                if (byte <= 0)
                    return error_set_pointer(e, ERROR_MALFORMED, "label",
                                             "a percent escape in label is not whole");
                text[out++] = (char)byte;
                c += *c == '%' ? 2 : 0;
            }
            char *equals = strchr(text, '=');
            if (!equals)
                return error_set_pointer(e, ERROR_MALFORMED, "label", "a label is given as label=name=value");
            *equals = 0;
            l->labels[l->filter.label_count++] = (struct queue_pair){text, equals + 1};
        }
        at += n + (at[n] == '&');
    }
    l->filter.labels = l->labels;
    return ERROR_OK;
}

static enum error_code take_secret(struct exchange *x, char out[65], struct error *e)
{
    struct server *s = x->server;
    enum error_code code = ERROR_OK;
    pthread_mutex_lock(&s->resources->secret_lock);
    snprintf(out, 65, "%s", s->resources->secret);
    pthread_mutex_unlock(&s->resources->secret_lock);
    if (out[0])
        return ERROR_OK;
    struct queue *q = pool_take(s);
    code = queue_secret(q, out, e);
    pool_give(s, q);
    if (code != ERROR_OK)
        return code;
    pthread_mutex_lock(&s->resources->secret_lock);
    snprintf(s->resources->secret, sizeof s->resources->secret, "%s", out);
    pthread_mutex_unlock(&s->resources->secret_lock);
    return ERROR_OK;
}

static enum error_code take_position(struct exchange *x, struct listing *l, struct error *e)
{
    char token[PAGE_TOKEN_SIZE + 8], id[PAGE_ID_SIZE];
    const struct queue_filter *f = &l->filter;
    text_printf(&l->scope, "jobs\n%s\n%s\n%lld\n%lld\n", x->tenant, l->state, f->from_ms, f->until_ms);
    for (size_t i = 0; i < f->label_count; i++)
        text_printf(&l->scope, "%zu %s\n%zu %s\n", strlen(f->labels[i].name), f->labels[i].name,
                    strlen(f->labels[i].value), f->labels[i].value);
    enum error_code code = take_secret(x, l->secret, e);
    if (code != ERROR_OK || request_query_empty(x, "page_token") || /* a client's loop begins with it */
        !request_query(x, "page_token", token, sizeof token))
        return code;
    if (!page_token_read(l->secret, l->scope.at, token, &l->filter.before_ms, id))
        return error_set_pointer(e, ERROR_MALFORMED, "page_token",
                                 "this page_token is not one that the service gave you for this filter");
    snprintf(l->filter.before_id, sizeof l->filter.before_id, "%.28s", id);
    return ERROR_OK;
}

static enum error_code take_query(struct exchange *x, struct listing *l, struct error *e)
{
    char number[16], *end;
    l->filter.tenant = x->tenant;
    l->size = PAGE_DEFAULT;
    if (request_query(x, "page_size", number, sizeof number)) {
        long value = strtol(number, &end, 10);
        if (!isdigit((unsigned char)number[0]) || *end || value < 1)
            return error_set_pointer(e, ERROR_MALFORMED, "page_size",
                                     "page_size must be a number from 1 to %d", PAGE_MAX);
        l->size = value > PAGE_MAX ? PAGE_MAX : (size_t)value;
    }
    enum error_code code = take_state(x, l, e);
    if (code == ERROR_OK)
        code = take_labels(x, l, e);
    if (code == ERROR_OK)
        code = take_time(x, "created_after", &l->filter.from_ms, e);
    if (code == ERROR_OK)
        code = take_time(x, "created_before", &l->filter.until_ms, e);
    return code == ERROR_OK ? take_position(x, l, e) : code;
}

/* ---- the page ---- */

static void add_jobs(struct exchange *x, struct queue_page *page, struct text *t)
{
    struct error e;
    size_t shown = 0;
    for (size_t i = 0; i < page->count; i++) {
        struct queue_listed *l = &page->at[i];
        if (archive_expand(x->server->store, &l->fields, &e) != ERROR_OK)
            continue; /* its blob cannot be read; GET of the job itself gives the error */
        text_add(t, shown++ ? "," : "");
        job_body(l->id, &l->fields, t);
    }
}

void handle_job_list(struct exchange *x)
{
    struct listing l = {0};
    struct error e;
    struct queue_page page = {0};
    struct text t = {0};
    char token[PAGE_TOKEN_SIZE] = "";
    enum error_code code = take_query(x, &l, &e);
    if (code == ERROR_OK) {
        struct queue *q = pool_take(x->server);
        code = queue_list(q, &l.filter, l.size, &page, &e);
        pool_give(x->server, q);
    }
    if (code != ERROR_OK) {
        e.code = code;
        reply_problem(x, &e);
        listing_release(&l);
        return;
    }
    text_add(&t, "{\"jobs\":[");
    add_jobs(x, &page, &t);
    if (page.more)
        page_token_make(l.secret, l.scope.at, page.last_ms, page.last_id, token);
    text_printf(&t, "],\"next_page_token\":\"%s\"}", token);
    queue_page_release(&page);
    listing_release(&l);
    reply_json(x, 200, &t, NULL, 0);
}

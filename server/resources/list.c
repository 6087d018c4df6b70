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

static void listing_release(struct listing *listing)
{
    for (int i = 0; i < LABELS_MAX; i++)
        free(listing->texts[i]);
    text_release(&listing->scope);
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
    struct tm tm = {0};
    int year, month, hours, minutes, scale = 100, sign;
    if (!digits(&at, 4, 1970, 9999, &year) || !literal(&at, "-") || !digits(&at, 2, 1, 12, &month) ||
        !literal(&at, "-") || !digits(&at, 2, 1, 31, &tm.tm_mday) || !literal(&at, "Tt") ||
        !digits(&at, 2, 0, 23, &tm.tm_hour) || !literal(&at, ":") || !digits(&at, 2, 0, 59, &tm.tm_min) ||
        !literal(&at, ":") || !digits(&at, 2, 0, 60, &tm.tm_sec))
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    *ms = 0;
    if (literal(&at, "."))
        for (bool any = false; isdigit((unsigned char)*at) || !any; any = true, scale /= 10) {
            if (!isdigit((unsigned char)*at))
                return false;
            *ms += (*at++ - '0') * scale;
        }
    *ms += (long long)timegm(&tm) * 1000;
    if (literal(&at, "Zz"))
        return !*at;
    sign = *at == '-' ? -1 : 1;
    if (!literal(&at, "+-") || !digits(&at, 2, 0, 23, &hours) || !literal(&at, ":") ||
        !digits(&at, 2, 0, 59, &minutes) || *at)
        return false;
    *ms -= sign * (hours * 60LL + minutes) * 60000;
    return true;
}

static enum error_code take_time(const struct exchange *exchange, const char *name, long long *ms,
                                 struct error *e)
{
    char text[48];
    if (!request_query(exchange, name, text, sizeof text) || list_time_parse(text, ms))
        return ERROR_OK;
    return error_set_pointer(e, ERROR_MALFORMED, name, "%s must be a time such as 2026-11-21T03:04:05Z",
                             name);
}

/* ---- the rest of a query ---- */

static enum error_code take_state(const struct exchange *exchange, struct listing *listing, struct error *e)
{
    static const char *const states[] = {"queued",    "validating", "running", "finalizing", "cancelling",
                                         "succeeded", "failed",     "expired", "cancelled",  "dead"};
    if (!request_query(exchange, "state", listing->state, sizeof listing->state))
        return ERROR_OK;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(listing->state, states[i]) == 0) {
            listing->filter.state = listing->state;
            return ERROR_OK;
        }
    return error_set_pointer(
        e, ERROR_MALFORMED, "state",
        "state is one of queued, validating, running, finalizing, cancelling, succeeded, failed, "
        "expired, cancelled, dead");
}

/* label=name=value, percent-encoded, any number of times: all must be there */
static enum error_code take_labels(const struct exchange *exchange, struct listing *listing, struct error *e)
{
    for (const char *at = exchange->query; *at;) {
        size_t n = strcspn(at, "&"), out = 0;
        const char *value = at + 6;
        if (n >= 6 && strncmp(at, "label=", 6) == 0) {
            if (listing->filter.label_count == LABELS_MAX || n > LABEL_SIZE)
                return error_set_pointer(e, ERROR_MALFORMED, "label", "at most %d labels of %d bytes",
                                         LABELS_MAX, LABEL_SIZE);
            char *text = listing->texts[listing->filter.label_count] = mem_zalloc(n + 1, 1);
            for (const char *cursor = value; cursor < at + n; cursor++) {
                int byte = *cursor == '%'   ? encode_from_percent(cursor, (size_t)(at + n - cursor))
                           : *cursor == '+' ? ' '
                                            : (unsigned char)*cursor;
                if (byte <= 0)
                    return error_set_pointer(e, ERROR_MALFORMED, "label",
                                             "a percent escape in label is not whole");
                text[out++] = (char)byte;
                cursor += *cursor == '%' ? 2 : 0;
            }
            char *equals = strchr(text, '=');
            if (!equals)
                return error_set_pointer(e, ERROR_MALFORMED, "label", "a label is given as label=name=value");
            *equals = 0;
            listing->labels[listing->filter.label_count++] = (struct queue_pair){text, equals + 1};
        }
        at += n + (at[n] == '&');
    }
    listing->filter.labels = listing->labels;
    return ERROR_OK;
}

static enum error_code take_secret(struct exchange *exchange, char out[65], struct error *e)
{
    struct server *server = exchange->server;
    enum error_code code = ERROR_OK;
    pthread_mutex_lock(&server->resources->secret_lock);
    snprintf(out, 65, "%s", server->resources->secret);
    pthread_mutex_unlock(&server->resources->secret_lock);
    if (out[0])
        return ERROR_OK;
    struct queue *queue = pool_take(server);
    code = queue_secret(queue, out, e);
    pool_give(server, queue);
    if (code != ERROR_OK)
        return code;
    pthread_mutex_lock(&server->resources->secret_lock);
    snprintf(server->resources->secret, sizeof server->resources->secret, "%s", out);
    pthread_mutex_unlock(&server->resources->secret_lock);
    return ERROR_OK;
}

static enum error_code take_position(struct exchange *exchange, struct listing *listing, struct error *e)
{
    char token[PAGE_TOKEN_SIZE + 8], id[PAGE_ID_SIZE];
    const struct queue_filter *filter = &listing->filter;
    text_printf(&listing->scope, "jobs\n%s\n%s\n%lld\n%lld\n", exchange->tenant, listing->state,
                filter->from_ms, filter->until_ms);
    for (size_t i = 0; i < filter->label_count; i++)
        text_printf(&listing->scope, "%zu %s\n%zu %s\n", strlen(filter->labels[i].name),
                    filter->labels[i].name, strlen(filter->labels[i].value), filter->labels[i].value);
    enum error_code code = take_secret(exchange, listing->secret, e);
    if (code != ERROR_OK ||
        request_query_empty(exchange, "page_token") || /* a client's loop begins with it */
        !request_query(exchange, "page_token", token, sizeof token))
        return code;
    if (!page_token_read(listing->secret, listing->scope.at, token, &listing->filter.before_ms, id))
        return error_set_pointer(e, ERROR_MALFORMED, "page_token",
                                 "this page_token is not one that the service gave you for this filter");
    snprintf(listing->filter.before_id, sizeof listing->filter.before_id, "%.28s", id);
    return ERROR_OK;
}

static enum error_code take_query(struct exchange *exchange, struct listing *listing, struct error *e)
{
    char number[16], *end;
    listing->filter.tenant = exchange->tenant;
    listing->size = PAGE_DEFAULT;
    if (request_query(exchange, "page_size", number, sizeof number)) {
        long value = strtol(number, &end, 10);
        if (!isdigit((unsigned char)number[0]) || *end || value < 1)
            return error_set_pointer(e, ERROR_MALFORMED, "page_size",
                                     "page_size must be a number from 1 to %d", PAGE_MAX);
        listing->size = value > PAGE_MAX ? PAGE_MAX : (size_t)value;
    }
    enum error_code code = take_state(exchange, listing, e);
    if (code == ERROR_OK)
        code = take_labels(exchange, listing, e);
    if (code == ERROR_OK)
        code = take_time(exchange, "created_after", &listing->filter.from_ms, e);
    if (code == ERROR_OK)
        code = take_time(exchange, "created_before", &listing->filter.until_ms, e);
    return code == ERROR_OK ? take_position(exchange, listing, e) : code;
}

/* ---- the page ---- */

static void add_jobs(struct exchange *exchange, struct queue_page *page, struct text *text)
{
    struct error e;
    size_t shown = 0;
    for (size_t i = 0; i < page->count; i++) {
        struct queue_listed *listed = &page->at[i];
        if (archive_expand(exchange->server->store, &listed->fields, &e) != ERROR_OK)
            continue; /* its blob cannot be read; GET of the job itself gives the error */
        text_add(text, shown++ ? "," : "");
        job_body(listed->id, &listed->fields, text);
    }
}

void handle_job_list(struct exchange *exchange)
{
    struct listing listing = {0};
    struct error e;
    struct queue_page page = {0};
    struct text text = {0};
    char token[PAGE_TOKEN_SIZE] = "";
    enum error_code code = take_query(exchange, &listing, &e);
    if (code == ERROR_OK) {
        struct queue *queue = pool_take(exchange->server);
        code = queue_list(queue, &listing.filter, listing.size, &page, &e);
        pool_give(exchange->server, queue);
    }
    if (code != ERROR_OK) {
        e.code = code;
        reply_problem(exchange, &e);
        listing_release(&listing);
        return;
    }
    text_add(&text, "{\"jobs\":[");
    add_jobs(exchange, &page, &text);
    if (page.more)
        page_token_make(listing.secret, listing.scope.at, page.last_ms, page.last_id, token);
    text_printf(&text, "],\"next_page_token\":\"%s\"}", token);
    queue_page_release(&page);
    listing_release(&listing);
    reply_json(exchange, 200, &text, NULL, 0);
}

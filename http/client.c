/* HTTP over libcurl; see client.h. Sets NOSIGNAL (ignoring SIGPIPE is the business of the process), uses no
 * proxies of the environment and follows no redirects: a request goes to the
 * address that it names, or fails. */
#include "http/client.h"

#include "base/memory.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void http_client_start(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct transfer {
    struct text body;
    size_t max_bytes;
    bool too_large;
    struct http_reply *reply;
};

static size_t take_body(char *bytes, size_t one, size_t count, void *user)
{
    struct transfer *t = user;
    size_t size = one * count;
    if (t->body.size + size > t->max_bytes) {
        t->too_large = true;
        return 0;
    }
    text_add_n(&t->body, bytes, size);
    return size;
}

static void keep_header(const char *line, size_t size, const char *name, char *out, size_t room)
{
    size_t n = strlen(name);
    if (size <= n || strncasecmp(line, name, n) != 0)
        return;
    line += n;
    size -= n;
    while (size && (*line == ' ' || *line == '\t')) {
        line++;
        size--;
    }
    while (size && (line[size - 1] == '\r' || line[size - 1] == '\n'))
        size--;
    snprintf(out, room, "%.*s", (int)size, line);
}

static size_t take_header(char *bytes, size_t one, size_t count, void *user)
{
    struct http_reply *r = ((struct transfer *)user)->reply;
    size_t size = one * count;
    keep_header(bytes, size, "location:", r->location, sizeof r->location);
    keep_header(bytes, size, "content-type:", r->content_type, sizeof r->content_type);
    keep_header(bytes, size, "retry-after:", r->retry_after, sizeof r->retry_after);
    return size;
}

static struct curl_slist *header(struct curl_slist *list, const char *name, const char *value)
{
    char *line = mem_printf("%s: %s", name, value);
    list = curl_slist_append(list, line);
    free(line);
    return list;
}

static _Thread_local const char *trace_parent;

void http_client_trace(const char *traceparent)
{
    trace_parent = traceparent;
}

static struct curl_slist *headers_of(const struct http_request *r)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no round trip before the body */
    if (r->token) {
        char *bearer = mem_printf("Bearer %s", r->token);
        list = header(list, "Authorization", bearer);
        free(bearer);
    }
    if (r->body)
        list = header(list, "Content-Type", r->content_type ? r->content_type : "application/octet-stream");
    if (r->body && r->content_encoding)
        list = header(list, "Content-Encoding", r->content_encoding);
    if (r->prefer)
        list = header(list, "Prefer", r->prefer);
    if (r->accept)
        list = header(list, "Accept", r->accept);
    const char *trace = trace_parent && *trace_parent ? trace_parent : getenv("TRACEPARENT");
    if (trace && strlen(trace) < 100 && strspn(trace, "0123456789abcdef-") == strlen(trace))
        list = header(list, "traceparent", trace);
    return list;
}

static void set_options(CURL *curl, const struct http_request *r, struct curl_slist *headers,
                        struct transfer *t)
{
    curl_easy_setopt(curl, CURLOPT_URL, r->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, r->timeout_s ? r->timeout_s : 60L);
    if (r->stall_s) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, r->stall_s);
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
    if (r->body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_size);
    }
    if (strcmp(r->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method);
}

enum error_code http_exchange(const struct http_request *r, struct http_reply *out, struct error *e)
{
    *out = (struct http_reply){0};
    if (strncmp(r->url, "http://", 7) != 0 && strncmp(r->url, "https://", 8) != 0)
        return error_set(e, ERROR_USAGE, "the address must begin with http:// or https://");
    CURL *curl = curl_easy_init();
    if (!curl)
        return error_set(e, ERROR_INTERNAL, "libcurl could not be started");
    struct transfer t = {.max_bytes = r->max_reply_bytes ? r->max_reply_bytes : 64u << 20, .reply = out};
    struct curl_slist *headers = headers_of(r);
    set_options(curl, r, headers, &t);
    CURLcode result = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (t.too_large || result != CURLE_OK) {
        text_release(&t.body);
        return t.too_large
                   ? error_set(e, ERROR_TOO_LARGE, "the reply is longer than %zu bytes", t.max_bytes)
                   : error_set(e, ERROR_UNAVAILABLE, "%.300s: %s", r->url, curl_easy_strerror(result));
    }
    text_add_n(&t.body, "", 0);
    out->status = (int)status;
    out->body = t.body.at ? t.body.at : mem_strdup("");
    out->size = t.body.size;
    return ERROR_OK;
}

void http_reply_release(struct http_reply *r)
{
    free(r->body);
    *r = (struct http_reply){0};
}

/* HTTP over libcurl; see client.h. Sets NOSIGNAL (ignoring SIGPIPE is the business of the process), uses no
 * proxies of the environment and follows no redirects: a request goes to the
 * address that it names, or fails. */
#include "http/client.h"

#include "base/memory.h"
#include "http/address.h"

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
    bool too_large, refused;
    struct http_reply *reply;
};

static size_t take_body(char *bytes, size_t one, size_t count, void *user)
{
    struct transfer *transfer = user;
    size_t size = one * count;
    if (transfer->body.size + size > transfer->max_bytes) {
        transfer->too_large = true;
        return 0;
    }
    text_add_n(&transfer->body, bytes, size);
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
    struct http_reply *reply = ((struct transfer *)user)->reply;
    size_t size = one * count;
    keep_header(bytes, size, "location:", reply->location, sizeof reply->location);
    keep_header(bytes, size, "content-type:", reply->content_type, sizeof reply->content_type);
    keep_header(bytes, size, "retry-after:", reply->retry_after, sizeof reply->retry_after);
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

static struct curl_slist *headers_of(const struct http_request *request)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no round trip before the body */
    if (request->token) {
        char *bearer = mem_printf("Bearer %s", request->token);
        list = header(list, "Authorization", bearer);
        free(bearer);
    }
    if (request->body)
        list = header(list, "Content-Type",
                      request->content_type ? request->content_type : "application/octet-stream");
    if (request->body && request->content_encoding)
        list = header(list, "Content-Encoding", request->content_encoding);
    if (request->prefer)
        list = header(list, "Prefer", request->prefer);
    if (request->accept)
        list = header(list, "Accept", request->accept);
    for (const struct http_header *each = request->headers; each && each->name; each++)
        list = header(list, each->name, each->value);
    const char *trace = trace_parent && *trace_parent ? trace_parent : getenv("TRACEPARENT");
    if (trace && strlen(trace) < 100 && strspn(trace, "0123456789abcdef-") == strlen(trace))
        list = header(list, "traceparent", trace);
    return list;
}

/* decides on the address that is really dialled: a name may say another one each time it is asked */
static curl_socket_t open_public(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *transfer = user;
    if (purpose != CURLSOCKTYPE_IPCXN || !http_address_public(&address->addr)) {
        transfer->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void set_options(CURL *curl, const struct http_request *request, struct curl_slist *headers,
                        struct transfer *transfer)
{
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, request->timeout_s ? request->timeout_s : 60L);
    if (request->public_only) {
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_public);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, transfer);
    }
    if (request->stall_s) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request->stall_s);
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    if (request->body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    }
    if (strcmp(request->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

enum error_code http_exchange(const struct http_request *request, struct http_reply *out, struct error *e)
{
    *out = (struct http_reply){0};
    if (strncmp(request->url, "http://", 7) != 0 && strncmp(request->url, "https://", 8) != 0)
        return error_set(e, ERROR_USAGE, "the address must begin with http:// or https://");
    CURL *curl = curl_easy_init();
    if (!curl)
        return error_set(e, ERROR_INTERNAL, "libcurl could not be started");
    struct transfer transfer = {.max_bytes = request->max_reply_bytes ? request->max_reply_bytes : 64u << 20,
                                .reply = out};
    struct curl_slist *headers = headers_of(request);
    set_options(curl, request, headers, &transfer);
    CURLcode result = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (transfer.too_large || result != CURLE_OK) {
        text_release(&transfer.body);
        if (transfer.refused)
            return error_set(e, ERROR_FORBIDDEN, "%.300s: the address is of a private network", request->url);
        return transfer.too_large
                   ? error_set(e, ERROR_TOO_LARGE, "the reply is longer than %zu bytes", transfer.max_bytes)
                   : error_set(e, ERROR_UNAVAILABLE, "%.300s: %s", request->url, curl_easy_strerror(result));
    }
    text_add_n(&transfer.body, "", 0);
    out->status = (int)status;
    out->body = transfer.body.at ? transfer.body.at : mem_strdup("");
    out->size = transfer.body.size;
    return ERROR_OK;
}

void http_reply_release(struct http_reply *reply)
{
    free(reply->body);
    *reply = (struct http_reply){0};
}

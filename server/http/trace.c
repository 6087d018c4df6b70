/* Which request caused what, for logs: request ids, W3C trace context (https://www.w3.org/TR/trace-
 * context/), one line of JSON a request. A client's ids are taken over only when they are well-formed;
 * secrets (keys, cookies, queries) are never logged. */
#include "server/http/request.h"

#include "base/log.h"
#include "server/http/headers.h"

#include <sys/random.h>

void trace_begin(struct exchange *exchange)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *id = request_header(exchange, "X-Request-Id"),
               *parent = request_header(exchange, "traceparent");
    uint64_t random[3];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        memset(random, 1, sizeof random);
    bool given = header_traceparent_valid(parent);
    char trace[33];
    snprintf(trace, sizeof trace, "%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    snprintf(exchange->trace, sizeof exchange->trace, "00-%.32s-%016llx-%.2s", given ? parent + 3 : trace,
             (unsigned long long)random[2] | 1, given ? parent + 53 : "00");
    if (id && id[0] && strlen(id) < sizeof exchange->request_id && strspn(id, known) == strlen(id))
        snprintf(exchange->request_id, sizeof exchange->request_id, "%s", id);
}

void trace_log(const struct exchange *exchange, double seconds)
{
    struct text text = {0};
    const char *route = exchange->route ? exchange->route->pattern : "none";
    if (!exchange->server->log_requests)
        return;
    text_add(&text, "\"method\":");
    log_json_string(&text, exchange->method, strlen(exchange->method));
    text_printf(&text, ",\"route\":\"%s\",\"status\":%d,\"ms\":%.3f,\"received_bytes\":%zu", route,
                exchange->status ? exchange->status : STATUS_LOST, seconds * 1e3, exchange->body.received);
    if (!exchange->streaming)
        text_printf(&text, ",\"bytes\":%zu", exchange->reply_bytes);
    text_add(&text, ",\"tenant\":");
    log_json_string(&text, exchange->tenant, strlen(exchange->tenant));
    text_add(&text, ",\"request_id\":");
    log_json_string(&text, exchange->request_id, strlen(exchange->request_id));
    text_printf(&text, ",\"trace_id\":\"%.32s\"", exchange->trace[0] ? exchange->trace + 3 : "");
    log_members("request", text.at);
    text_release(&text);
}

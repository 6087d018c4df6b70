/* Which request caused what, for logs: request ids, W3C trace context (https://www.w3.org/TR/trace-
 * context/), one line of JSON a request. A client's ids are taken over only when they are well-formed;
 * secrets (keys, cookies, queries) are never logged. */
#include "server/http/request.h"

#include "base/log.h"
#include "server/http/headers.h"

#include <sys/random.h>

void trace_begin(struct exchange *x)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *id = request_header(x, "X-Request-Id"), *parent = request_header(x, "traceparent");
    uint64_t random[3];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        memset(random, 1, sizeof random);
    bool given = header_traceparent_valid(parent);
    char trace[33];
    snprintf(trace, sizeof trace, "%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    snprintf(x->trace, sizeof x->trace, "00-%.32s-%016llx-%.2s", given ? parent + 3 : trace,
             (unsigned long long)random[2] | 1, given ? parent + 53 : "00");
    if (id && id[0] && strlen(id) < sizeof x->request_id && strspn(id, known) == strlen(id))
        snprintf(x->request_id, sizeof x->request_id, "%s", id);
}

void trace_log(const struct exchange *x, double seconds)
{
    struct text m = {0};
    const char *route = x->route ? x->route->pattern : "none";
    if (!x->server->log_requests)
        return;
    text_add(&m, "\"method\":");
    log_json_string(&m, x->method, strlen(x->method));
    text_printf(&m, ",\"route\":\"%s\",\"status\":%d,\"ms\":%.3f,\"received_bytes\":%zu", route,
                x->status ? x->status : STATUS_LOST, seconds * 1e3, x->body.received);
    if (!x->streaming)
        text_printf(&m, ",\"bytes\":%zu", x->reply_bytes);
    text_add(&m, ",\"tenant\":");
    log_json_string(&m, x->tenant, strlen(x->tenant));
    text_add(&m, ",\"request_id\":");
    log_json_string(&m, x->request_id, strlen(x->request_id));
    text_printf(&m, ",\"trace_id\":\"%.32s\"", x->trace[0] ? x->trace + 3 : "");
    log_members("request", m.at);
    text_release(&m);
}

/* What the HTTP library refuses by itself, before or instead of calling us: a request line, headers,
 * lengths and chunks that it cannot read or that do not fit its memory. It answers these with HTML and has
 * no option for that, but it queues its answers through its public function MHD_queue_response, and a
 * shared library's call of a public function goes to the program's own definition where there is one (ELF
 * gABI, chapter 5, "Shared Object Dependencies": the executable comes first). This is that definition.
 * What it is given is never one of ours (they go through refusal_pass): it is replaced by a problem,
 * written to the socket at once because the library would write the head of some of its refusals twice,
 * and the connection is closed. Where the library is bound otherwise its HTML comes back, which
 * test_bad_input.py would tell. */
#include "server/http/raw.h"
#include "server/http/reply.h"

#include "api/bodies.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

typedef enum MHD_Result queue_function(struct MHD_Connection *, unsigned, struct MHD_Response *);

/* taken from the socket, so that closing it does not reset what we have answered */
enum { UNREAD_MAX = 1 << 20 };

static void (*answer)(struct MHD_Connection *c, const struct error *e);

void refusal_install(void (*refuse)(struct MHD_Connection *connection, const struct error *e))
{
    answer = refuse;
}

enum MHD_Result refusal_pass(struct MHD_Connection *connection, unsigned status,
                             struct MHD_Response *response)
{
    static _Atomic(queue_function *) library;
    queue_function *f = atomic_load(&library);
    if (!f) {
        *(void **)&f = dlsym(RTLD_NEXT, "MHD_queue_response");
        BASE_CHECK(f);
        atomic_store(&library, f);
    }
    return f(connection, status, response);
}

static void explain(unsigned status, struct error *e)
{
    switch (status) {
    case 413:
        error_set(e, ERROR_TOO_LARGE, "the request's length is beyond what is taken here; see /v1/limits");
        break;
    case 414:
        error_set(e, ERROR_URI_TOO_LONG, "the request's address is longer than %d bytes", LIMIT_URI);
        break;
    case 431:
        error_set(e, ERROR_HEADERS_TOO_LARGE, "the request's headers take more than %d bytes", LIMIT_HEADERS);
        break;
    case 500: error_set(e, ERROR_INTERNAL, "the request could not be answered"); break;
    case 505: error_set(e, ERROR_HTTP_VERSION, "only HTTP/1.1 and HTTP/1.0 are spoken here"); break;
    default:
        error_set(
            e, ERROR_MALFORMED,
            "the request line, a header, the Content-Length or a chunk is not what HTTP/1.1 (RFC 9112) says");
    }
}

/* the client may be gone or not reading, so nothing here waits: what does not fit is not sent */
void refusal_send(int fd, const struct error *e, const char *request_id)
{
    unsigned status = (unsigned)error_code_http_status(e->code);
    char *body = api_problem_json(e, (int)status, NULL, request_id), waste[4096];
    struct text text = {0};
    text_printf(
        &text,
        "HTTP/1.1 %u %s\r\nContent-Type: application/problem+json\r\nX-Content-Type-Options: nosniff\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: %zu\r\n",
        status, MHD_get_reason_phrase_for(status), strlen(body));
    if (request_id)
        text_printf(&text, "X-Request-Id: %s\r\n", request_id);
    text_printf(&text, "\r\n%s", body);
    ssize_t n = send(fd, text.at, text.size, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    for (size_t taken = 0; n > 0 && taken < UNREAD_MAX; taken += (size_t)n)
        n = raw_receive(fd, waste, sizeof waste, MSG_DONTWAIT);
    text_release(&text);
    free(body);
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response)
{
    struct error e = {0};
    (void)response;
    explain(status, &e);
    answer(connection, &e);
    return MHD_NO; /* closes the connection */
}

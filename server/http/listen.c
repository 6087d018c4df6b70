/* The socket on which the server listens: from the text of --listen to a descriptor. Addresses are numeric;
 * no name is ever looked up. */
#include "server/http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { BACKLOG = 1024 }; /* connections that wait in the kernel */

static enum error_code parse_listen(const char *text, struct sockaddr_storage *out, socklen_t *size,
                                    bool *loopback, struct error *e)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    char *end;
    long port = colon ? strtol(colon + 1, &end, 10) : -1;
    size_t n = colon ? (size_t)(colon - text) : 0;
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    *out = (struct sockaddr_storage){0};
    if (n && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (port < 0 || port > 65535 || *end || end == colon + 1 || n >= sizeof host)
        return error_set(e, ERROR_USAGE,
                         "the address to listen on must be ADDRESS:PORT, for example 127.0.0.1:8080");
    snprintf(host, sizeof host, "%.*s", (int)n, text);
    const char *name = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, name, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *size = sizeof *v4;
        *loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
        return ERROR_OK;
    }
    if (inet_pton(AF_INET6, name, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        *size = sizeof *v6;
        *loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        return ERROR_OK;
    }
    return error_set(e, ERROR_USAGE,
                     "the address to listen on must be numeric, for example 127.0.0.1:8080 or [::1]:8080");
}

enum error_code listen_open(const char *address, int *fd, int *port, bool *loopback, struct error *e)
{
    struct sockaddr_storage sockaddr_storage;
    socklen_t size = 0;
    int one = 1;
    enum error_code code = parse_listen(address, &sockaddr_storage, &size, loopback, e);
    if (code != ERROR_OK)
        return code;
    *fd = socket(sockaddr_storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(*fd, (struct sockaddr *)&sockaddr_storage, size) != 0 || listen(*fd, BACKLOG) != 0 ||
        getsockname(*fd, (struct sockaddr *)&sockaddr_storage, &size) != 0)
        return error_set(e, ERROR_UNAVAILABLE, "cannot listen on %s: %s", address, strerror(errno));
    *port =
        ntohs(sockaddr_storage.ss_family == AF_INET ? ((struct sockaddr_in *)&sockaddr_storage)->sin_port
                                                    : ((struct sockaddr_in6 *)&sockaddr_storage)->sin6_port);
    return ERROR_OK;
}

/* Addresses that a stranger names: what an URL says, and which addresses of the network are somebody's
 * own. */
#ifndef TOAST_HTTP_ADDRESS_H
#define TOAST_HTTP_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/socket.h>

struct http_address {
    char scheme[8],
        host[256]; /* lower case; a name, or an address as libcurl writes it (127.1 is 127.0.0.1) */
    int port;      /* the scheme's own where none is said */
};
/* As libcurl will understand it. ERROR_USAGE: no http(s) address, or one with a user, a password or a
 * fragment. */
enum error_code http_address_parse(const char *url, struct http_address *out, struct error *e) BASE_CHECKED;
/* Whether the address is for everybody to reach: not loopback, link-local, of a private network, shared,
 * multicast, reserved; of an IPv4 address within an IPv6 one the IPv4 one counts (RFC 6890). */
bool http_address_public(const struct sockaddr *address);

#endif

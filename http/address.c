/* See address.h. URLs are taken apart by libcurl itself, so that what is checked is what is dialled. */
#include "http/address.h"

#include <ctype.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take(CURLU *url, CURLUPart part, unsigned flags, char *out, size_t room)
{
    char *text = NULL;
    bool good = curl_url_get(url, part, &text, flags) == CURLUE_OK && text && strlen(text) < room;
    if (good)
        snprintf(out, room, "%s", text);
    curl_free(text);
    return good;
}

static bool has(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool there = curl_url_get(url, part, &text, 0) == CURLUE_OK && text;
    curl_free(text);
    return there;
}

enum error_code http_address_parse(const char *text, struct http_address *out, struct error *e)
{
    CURLU *url = curl_url();
    char port[8] = "";
    *out = (struct http_address){0};
    bool good = url && curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER) == CURLUE_OK &&
                take(url, CURLUPART_SCHEME, 0, out->scheme, sizeof out->scheme) &&
                take(url, CURLUPART_HOST, 0, out->host, sizeof out->host) &&
                take(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, sizeof port) && out->host[0] &&
                !has(url, CURLUPART_FRAGMENT) && !has(url, CURLUPART_USER) && !has(url, CURLUPART_PASSWORD);
    good = good && (strcmp(out->scheme, "https") == 0 || strcmp(out->scheme, "http") == 0);
    curl_url_cleanup(url);
    out->port = atoi(port);
    for (char *at = out->host; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return good ? ERROR_OK
                : error_set(e, ERROR_USAGE,
                            "an address https://host/path without a user or a fragment is needed");
}

static bool public4(uint32_t a)
{
    static const struct {
        uint32_t net;
        int bits;
    } reserved[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},  {0xa9fe0000, 16},
                    {0xac100000, 12}, {0xc0000000, 24}, {0xc0000200, 24}, {0xc0586300, 24}, {0xc0a80000, 16},
                    {0xc6120000, 15}, {0xc6336400, 24}, {0xcb007100, 24}, {0xe0000000, 3}};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if ((a ^ reserved[i].net) >> (32 - reserved[i].bits) == 0)
            return false;
    return true;
}

static uint32_t four(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool public6(const unsigned char a[16])
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
                               translated[12] = {0, 0x64, 0xff, 0x9b}, none[12] = {0};
    if (memcmp(a, mapped, 12) == 0 || memcmp(a, translated, 12) == 0 || memcmp(a, none, 12) == 0)
        return public4(four(a + 12)); /* :: and ::1 are of 0.0.0.0/8 */
    if (a[0] == 0x20 && a[1] == 0x02)
        return public4(four(a + 2)); /* 6to4 */
    return (a[0] & 0xe0) == 0x20 && !(a[0] == 0x20 && a[1] == 0x01 && (a[2] & 0xfe) == 0) &&
           !(a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8);
}

bool http_address_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return public4(ntohl(in.sin_addr.s_addr));
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, address, sizeof in);
        return public6(in.sin6_addr.s6_addr);
    }
    return false;
}

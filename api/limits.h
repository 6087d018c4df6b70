/* Limits that the server keeps and /v1/limits shows: one table. Those of requests are in api/request.h and
 * api/profile.h. */
#ifndef TOAST_API_LIMITS_H
#define TOAST_API_LIMITS_H

#include <stddef.h>

enum {
    LIMIT_URI = 8 << 10,
    LIMIT_HEADERS = 16 << 10,
    LIMIT_JSON = 1 << 20,
    LIMIT_MODULE = 512 << 20,
    LIMIT_TENANT_MODULES = 100000, /* a reference takes some 130 bytes of Redis */
};

static const size_t LIMIT_PROBLEM = (size_t)2 << 30; /* a contest file, decoded; streamed */

#endif

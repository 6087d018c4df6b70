/* What the server takes at most, and /v1/limits shows. What a request may hold is in api/request.h and
 * api/profile.h, a plan.json in api/plan_file.h. */
#ifndef TOAST_API_LIMITS_H
#define TOAST_API_LIMITS_H

#include <stddef.h>

enum {
    /* bytes */
    LIMIT_URI = 8 << 10,
    LIMIT_HEADERS = 16 << 10,
    LIMIT_PUBLIC = 4 << 10,        /* a body from somebody who has shown no key: a form with one */
    LIMIT_JSON = 1 << 20,          /* 1000 patterns of 1000 bytes */
    LIMIT_MODULE = 512 << 20,      /* text, unpacked; also what the command line reads */
    LIMIT_TENANT_MODULES = 100000, /* a reference takes some 130 bytes of Redis */
};

static const size_t LIMIT_PROBLEM = (size_t)2 << 30; /* a contest file, decoded; streamed */

#endif

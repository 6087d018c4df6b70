/* Between server/resources/what_if.c and its child: descriptors (ALIVE is a pipe that closes when the child
 * has ended), and the head of the answer. Both are the same program. */
#ifndef TOAST_SERVER_WHAT_IF_CHILD_H
#define TOAST_SERVER_WHAT_IF_CHILD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WHAT_IF_REQUEST = 3,
    WHAT_IF_PLAN,
    WHAT_IF_MODULE,
    WHAT_IF_ANSWER,
    WHAT_IF_IMAGE,
    WHAT_IF_ALIVE,
    WHAT_IF_DESCRIPTORS
};
enum {                      /* exit status without an answer */
       WHAT_IF_BROKEN = 70, /* it could not work here: no memory to begin in, not confined, no descriptors */
       WHAT_IF_NO_IMAGE = 71, /* the image is none of this build */
       WHAT_IF_MEMORY = 72,   /* it came to its limit of memory */
};

#define WHAT_IF_MAGIC UINT64_C(0x46492d5441485754)
/* then JSON text when error.code is ERROR_OK */
struct what_if_answer {
    uint64_t magic;
    struct error error;
};

/* How a child without a whole answer ended, as wait4 says it. */
struct what_if_end {
    int status;
    double cpu_s;
    bool late;       /* it was ended by us, RUN_S after its start */
    bool oom_killed; /* the host's out-of-memory killer struck meanwhile */
    size_t memory_bytes;
};
/* What became of the request, by evidence: ERROR_RESOURCE only where a limit was reached, ERROR_INTERNAL for
 * what the child did to itself, ERROR_HOST and ERROR_UNAVAILABLE (503) for what was done to it. Sets *e,
 * returns its code. */
enum error_code what_if_judge(const struct what_if_end *end, int seconds, struct error *e);

#endif

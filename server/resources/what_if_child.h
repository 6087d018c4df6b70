/* Between server/resources/what_if.c and its child: descriptors (ALIVE is a pipe that closes when the child
 * has ended), and the head of the answer. Both are the same program. */
#ifndef TOAST_SERVER_WHAT_IF_CHILD_H
#define TOAST_SERVER_WHAT_IF_CHILD_H

#include "base/error.h"

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
enum {
    WHAT_IF_BROKEN = 70,
    WHAT_IF_NO_IMAGE = 71
}; /* exit status without an answer; the image is none of this build */

#define WHAT_IF_MAGIC UINT64_C(0x46492d5441485754)
/* then JSON text when error.code is ERROR_OK */
struct what_if_answer {
    uint64_t magic;
    struct error error;
};

#endif

/* Inside queue/: the digits of ids and secrets, and random bytes for them. */
#ifndef TOAST_QUEUE_IDS_H
#define TOAST_QUEUE_IDS_H

#include <stddef.h>

extern const char ids_digits[33]; /* Crockford's base 32, and a NUL */
/* fills out from the kernel's generator; waits until it has been seeded, never fails */
void ids_random(void *out, size_t size);

#endif

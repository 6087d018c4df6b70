/* The same work in several threads at once, when the caller goes on only after all of it. */
#ifndef TOAST_BASE_THREADS_H
#define TOAST_BASE_THREADS_H

#include <stdint.h>

enum { THREADS_MOST = 64 };
/* Calls work(user, 0) .. work(user, count - 1), each once: number 0 in the caller's thread, the others beside
 * it, or after it where no thread can be had. Returns when all have. count: 1 to THREADS_MOST. What the calls
 * share they must not change without a lock; a result must not depend on which of them is faster. */
void threads_run(uint32_t count, void (*work)(void *user, uint32_t number), void *user);

/* Calls one(user, number, i) for every i below count, each once, in threads 0 .. threads - 1. Thread `number`
 * takes i = number, number + threads, .. in order, so that it meets again what it had in an earlier call of
 * as many; when it has no more, it takes the last that another has left. */
void threads_share(uint32_t threads, uint32_t count, void (*one)(void *user, uint32_t number, uint32_t i),
                   void *user);

#endif

/* A private redis-server under virtual time: a unix socket in a scratch folder, no persistence, the clock of
 * clock.c. One per process of the simulation. Ends the process when it cannot be had: nothing can be said
 * without it. */
#ifndef TOAST_TESTS_SIMULATION_ENGINE_H
#define TOAST_TESTS_SIMULATION_ENGINE_H

#include <hiredis/hiredis.h>
#include <stdint.h>

void engine_start(void);
void engine_stop(void);
/* Redis' wall clock */
void engine_set_us(int64_t now_us);
/* the connection; blocking, never disturbed */
redisContext *engine_context(void);
/* everything but the function library is forgotten */
void engine_flush(void);
/* ends the process with a message */
void __attribute__((noreturn, format(printf, 1, 2))) engine_die(const char *format, ...);

#endif

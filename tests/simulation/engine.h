/* What answers the simulation's requests, one per process of it: a private redis-server under virtual time
 * (clock.c; a unix socket in a scratch folder, no persistence), or its stand-in within this process (mini.h),
 * which is many times as fast, or both, each reply of one compared with the other's. Ends the process when it
 * cannot be had, or when the two differ: nothing can be said then.
 *
 * Several worlds share a redis-server, each a lane with a database of its own. A lane runs until it wants an
 * answer; when all of them do, everything goes out with one write: most of the time would else be spent in
 * switching between two processes. The stand-in has one lane. */
#ifndef TOAST_TESTS_SIMULATION_ENGINE_H
#define TOAST_TESTS_SIMULATION_ENGINE_H

#include <hiredis/hiredis.h>
#include <stdint.h>

enum { ENGINE_LANES = 32 };
enum engine_kind { ENGINE_MINI, ENGINE_REDIS, ENGINE_BOTH };

void engine_start(enum engine_kind kind);
void engine_stop(void);
/* of ENGINE_BOTH: every key of the lane's world, its value and when it expires; else nothing */
void engine_compare(void);
/* ends the process with a message */
void __attribute__((noreturn, format(printf, 1, 2))) engine_die(const char *format, ...);

/* Calls run(lane, user) for each lane from 0 on, interleaved (the stand-in: for lane 0 alone); returns when
 * all have. Outside of it everything
 * is lane 0. */
void engine_run(int lanes, void (*run)(int lane, void *user), void *user);
int engine_lane(void);

/* An exchange of the running lane: begin, append commands, then take their replies (owned). */
void engine_begin(int64_t now_us); /* Redis' wall clock meanwhile */
void engine_append(int argc, const char **argv, const size_t *sizes);
void engine_exchange(redisReply **replies, size_t count);
/* one command */
redisReply *engine_command(int argc, const char **argv);
/* everything in the lane's database is forgotten */
void engine_flush(void);

#endif

/* A Redis without a process: the commands that the queue's library and client code use, over plain vectors,
 * and the library in the interpreter that Redis has inside (Lua 5.1). It is what makes a million schedules a
 * matter of minutes; what it answers is held against a real redis-server, reply by reply and key by key
 * (engine.h ENGINE_BOTH).
 *
 * As Redis 7.0 documents its commands; what nobody here uses is missing and ends the process with its name.
 * One world at a time, one thread. */
#ifndef TOAST_TESTS_SIMULATION_MINI_H
#define TOAST_TESTS_SIMULATION_MINI_H

#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdint.h>

void mini_start(void);
void mini_stop(void);
/* the wall clock from now on; what expires does so when it is looked at */
void mini_clock(int64_t now_us);
/* -> the reply, as hiredis would give it (owned; freeReplyObject). sizes NULL: strings. FCALL and FUNCTION
 * LOAD|FLUSH run and load a library; FLUSHDB leaves it. */
redisReply *mini_command(int argc, const char **argv, const size_t *sizes);

#endif

/* One connection to Redis that heals itself: reconnects, and loads our function library where it is missing.
 *
 * NULL replies, error replies and nil are three things: the first two become errors here, nil reaches the
 * caller. Processes must ignore SIGPIPE. A connection belongs to one thread at a time. Sources: hiredis 0.14
 * README; Redis 7.0 "Redis Functions". */
#ifndef TOAST_QUEUE_REDIS_H
#define TOAST_QUEUE_REDIS_H

#include "base/error.h"

#include <hiredis/hiredis.h>
#include <stddef.h>

/* address: "unix:/path/redis.sock" or "redis://[[user]:password@]host:port". Checked here (ERROR_USAGE); the
 * connection is made by the first command, so that a process can start before Redis does. create/destroy;
 * destroy takes NULL. */
struct redis;
enum error_code redis_create(const char *address, struct redis **out, struct error *e) BASE_CHECKED;
void redis_destroy(struct redis *redis);

/* argv with sizes -> reply (owned; freeReplyObject). Reconnects when the last command broke the
 * connection, but never repeats a command by itself: a lost reply is ambiguous and only the caller knows
 * that its command is idempotent. ERROR_UNAVAILABLE (cannot connect, broken, timeout of 5 s, Redis still
 * loading, out of memory, read only; at once, without waiting, where another call of this process has just
 * waited in vain: a process talks to one Redis), ERROR_INTERNAL (any other error reply: our bug). */
enum error_code redis_command(struct redis *redis, int argc, const char **argv, const size_t *sizes,
                              redisReply **out, struct error *e) BASE_CHECKED;

/* Calls function `name` of our library (queue/library.lua) with key {t} and the arguments, several times
 * in one round trip: with appendfsync always one fsync of Redis then serves them all. Each call has an
 * answer of its own: `reply` (owned), or code and error as of redis_command. Loads the library when Redis
 * does not know it, and calls again what had no answer when the connection broke: every function is
 * idempotent. / */
struct redis_call {
    int argc;
    const char **argv; /* borrowed, like the sizes */
    const size_t *sizes;
    redisReply *reply;
    enum error_code code;
    struct error error;
    bool answered; /* false before the call */
};
void redis_calls(struct redis *redis, const char *name, struct redis_call *calls, size_t count);
/* one call */
enum error_code redis_call(struct redis *redis, const char *name, int argc, const char **argv,
                           const size_t *sizes, redisReply **out, struct error *e) BASE_CHECKED;

const char *redis_library_version(const struct redis *redis);

/* times the connection was made again */
unsigned long redis_reconnects(const struct redis *redis);
unsigned long redis_reconnects_total(void); /* of all connections of this process */

#endif

/* See redis.h. After any error a hiredis context is dead: it is freed at once and made anew by the next
 * command. */
#include "queue/redis.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char queue_library_text[]; /* queue/library*.lua, by toast_embed */

enum { CONNECT_MS = 2000, REPLY_MS = 5000 }; /* REPLY_MS must exceed the longest BLOCK (queue.c: 1 s) */

/* A Redis that takes connections and does not answer (stopped, its disk stuck, behind a network that
 * swallows all) costs each call its whole time limit, and the threads that call serve others too. So the
 * first call that failed after SILENT_MS says so to the whole process: from then on one call every
 * PROBE_EVERY_MS asks with PING and a short limit, and all others are refused at once, until PING is
 * answered. */
enum { SILENT_MS = CONNECT_MS - 100, PROBE_MS = 500, PROBE_EVERY_MS = 1000 };

static atomic_llong probe_at_ms; /* when to ask next; 0: Redis answers, or says at once that it is gone */
static atomic_ulong reconnects;  /* a statistic of the process */

struct redis {
    redisContext *context;  /* NULL: not connected */
    char *unix_path, *host; /* one of them */
    char *user, *password;  /* NULL: none; a user has a password */
    int port;
    unsigned long connects;
};

/* USER:PASSWORD; without USER Redis' own default; without PASSWORD that of the environment */
static void take_credentials(struct redis *redis, const char *text, size_t size)
{
    const char *colon = memchr(text, ':', size);
    size_t user = colon ? (size_t)(colon - text) : size;
    if (user)
        redis->user = mem_strndup(text, user);
    redis->password = colon ? mem_strndup(colon + 1, size - user - 1) : NULL;
}

static pthread_once_t version_found = PTHREAD_ONCE_INIT;
static char version[13]; /* of the function library: first digits of its SHA-256 */

static void find_version(void)
{
    uint8_t digest[32];
    char hex[65];
    sha256_bytes(queue_library_text, strlen((const char *)queue_library_text), digest);
    sha256_format(digest, hex);
    snprintf(version, sizeof version, "%.12s", hex);
}

enum error_code redis_create(const char *address, struct redis **out, struct error *e)
{
    struct redis *redis = mem_zalloc(1, sizeof *redis);
    pthread_once(&version_found, find_version);
    if (strncmp(address, "unix:", 5) == 0 && address[5]) {
        redis->unix_path = mem_strdup(address + 5);
    } else if (strncmp(address, "redis://", 8) == 0) {
        const char *host = address + 8, *at = strrchr(host, '@');
        if (at)
            take_credentials(redis, host, (size_t)(at - host));
        host = at ? at + 1 : host;
        const char *colon = strrchr(host, ':');
        redis->host = colon ? mem_strndup(host, (size_t)(colon - host)) : mem_strdup(host);
        redis->port = colon ? atoi(colon + 1) : 6379;
    }
    if (!redis->unix_path && (!redis->host || !redis->host[0] || redis->port <= 0 || redis->port > 65535)) {
        redis_destroy(redis);
        return error_set(e, ERROR_USAGE,
                         "the Redis address must be unix:PATH or redis://[[USER]:PASSWORD@]HOST:PORT");
    }
    enum error_code code =
        redis->password ? ERROR_OK : secret_read("TOAST_REDIS_PASSWORD", &redis->password, e);
    if (code != ERROR_OK) {
        redis_destroy(redis);
        return code;
    }
    if (redis->user && !redis->password)
        redis->password = mem_strdup("");
    *out = redis;
    return ERROR_OK;
}

void redis_destroy(struct redis *redis)
{
    if (!redis)
        return;
    if (redis->context)
        redisFree(redis->context);
    free(redis->unix_path);
    free(redis->host);
    free(redis->user);
    free(redis->password);
    free(redis);
}

unsigned long redis_reconnects_total(void)
{
    return atomic_load(&reconnects);
}

unsigned long redis_reconnects(const struct redis *redis)
{
    return redis->connects > 1 ? redis->connects - 1 : 0;
}

static void drop(struct redis *redis)
{
    if (redis->context)
        redisFree(redis->context);
    redis->context = NULL;
}

static void limit_replies(struct redis *redis, int ms)
{
    redisSetTimeout(redis->context, (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000});
}

static enum error_code connect_within(struct redis *redis, int ms, struct error *e)
{
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    redis->context = redis->unix_path ? redisConnectUnixWithTimeout(redis->unix_path, limit)
                                      : redisConnectWithTimeout(redis->host, redis->port, limit);
    if (!redis->context || redis->context->err) {
        error_set(e, ERROR_UNAVAILABLE, "Redis cannot be reached: %s",
                  redis->context ? redis->context->errstr : "no memory");
        drop(redis);
        return ERROR_UNAVAILABLE;
    }
    fcntl(redis->context->fd, F_SETFD, FD_CLOEXEC); /* not for the children of a worker */
    limit_replies(redis, ms);
    if (redis->password) {
        redisReply *reply = redis->user
                                ? redisCommand(redis->context, "AUTH %s %s", redis->user, redis->password)
                                : redisCommand(redis->context, "AUTH %s", redis->password);
        bool good = reply && reply->type != REDIS_REPLY_ERROR;
        if (reply)
            freeReplyObject(reply);
        if (!good) {
            drop(redis);
            return error_set(e, ERROR_UNAVAILABLE, "Redis refuses the user or the password");
        }
    }
    if (redis->connects++)
        atomic_fetch_add(&reconnects, 1);
    return ERROR_OK;
}

/* a call that began then has failed */
static void note_failure(long long began_ms)
{
    long long none = 0, now = clock_ms();
    if (now - began_ms >= SILENT_MS)
        atomic_compare_exchange_strong(&probe_at_ms, &none, now);
}

/* while Redis is silent: this call asks, or another one does */
static enum error_code probe(struct redis *redis, long long due, struct error *e)
{
    long long now = clock_ms();
    if (now < due || !atomic_compare_exchange_strong(&probe_at_ms, &due, now + PROBE_EVERY_MS))
        return error_set(e, ERROR_UNAVAILABLE, "Redis does not answer");
    drop(redis); /* what it had in flight may still come */
    enum error_code code = connect_within(redis, PROBE_MS, e);
    redisReply *reply = code == ERROR_OK ? redisCommand(redis->context, "PING") : NULL;
    if (!reply) {
        drop(redis);
        return error_set(e, ERROR_UNAVAILABLE, "Redis does not answer");
    }
    freeReplyObject(reply);
    limit_replies(redis, REPLY_MS);
    atomic_store(&probe_at_ms, 0);
    return ERROR_OK;
}

static enum error_code connect_now(struct redis *redis, struct error *e)
{
    long long due = atomic_load(&probe_at_ms), began;
    if (due)
        return probe(redis, due, e);
    if (redis->context)
        return ERROR_OK;
    began = clock_ms();
    enum error_code code = connect_within(redis, CONNECT_MS, e);
    if (code == ERROR_OK)
        limit_replies(redis, REPLY_MS);
    else
        note_failure(began);
    return code;
}

/* what an error reply means to a caller; Redis' text is our own scripts' or Redis' own, never a client's */
static enum error_code judge(const redisReply *reply, struct error *e)
{
    static const char *const passing[] = {"LOADING",    "OOM",        "READONLY", "MISCONF",
                                          "BUSY",       "NOAUTH",     "NOPERM",   "CLUSTERDOWN",
                                          "MASTERDOWN", "NOREPLICAS", "TRYAGAIN"};
    if (strstr(reply->str, "OOM command not allowed"))
        return error_set(e, ERROR_UNAVAILABLE,
                         "Redis is out of memory; jobs are taken again when space is free");
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strncmp(reply->str, passing[i], strlen(passing[i])) == 0)
            return error_set(e, ERROR_UNAVAILABLE, "Redis cannot serve now: %.200s", reply->str);
    return error_set(e, ERROR_INTERNAL, "Redis refused a command: %.200s", reply->str);
}

enum error_code redis_command(struct redis *redis, int argc, const char **argv, const size_t *sizes,
                              redisReply **out, struct error *e)
{
    enum error_code code = connect_now(redis, e);
    if (code != ERROR_OK)
        return code;
    long long began = clock_ms();
    redisReply *reply = redisCommandArgv(redis->context, argc, argv, sizes);
    if (!reply) {
        note_failure(began);
        error_set(e, ERROR_UNAVAILABLE, "the connection to Redis broke: %s", redis->context->errstr);
        drop(redis);
        return ERROR_UNAVAILABLE;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        code = judge(reply, e);
        freeReplyObject(reply);
        return code;
    }
    *out = reply;
    return ERROR_OK;
}

/* The library's text names itself and its functions by version, so that two builds stand side by side. */
static enum error_code load_library(struct redis *redis, struct error *e)
{
    char *text = mem_printf("#!lua name=toast_%s\nlocal V = '%s'\n%s", version, version,
                            (const char *)queue_library_text);
    const char *argv[] = {"FUNCTION", "LOAD", "REPLACE", text};
    redisReply *reply = NULL;
    enum error_code code = redis_command(redis, 4, argv, NULL, &reply, e);
    free(text);
    if (code == ERROR_OK)
        freeReplyObject(reply);
    return code;
}

const char *redis_library_version(const struct redis *redis)
{
    return version;
}

static void append_call(struct redis *redis, const char *function, const struct redis_call *redis_call)
{
    enum { FIXED = 4 };
    const char *head[FIXED] = {"FCALL", function, "1", "{t}"};
    const char **all = mem_alloc((size_t)(redis_call->argc + FIXED) * sizeof *all);
    size_t *sizes = mem_alloc((size_t)(redis_call->argc + FIXED) * sizeof *sizes);
    for (int i = 0; i < redis_call->argc + FIXED; i++) {
        all[i] = i < FIXED ? head[i] : redis_call->argv[i - FIXED];
        sizes[i] = i >= FIXED && redis_call->sizes ? redis_call->sizes[i - FIXED] : strlen(all[i]);
    }
    BASE_CHECK(redisAppendCommandArgv(redis->context, redis_call->argc + FIXED, all, sizes) == REDIS_OK);
    free(sizes);
    free(all);
}

/* a reply of Redis (taken) to this call; false: it does not know the function */
static bool take_answer(struct redis_call *redis_call, redisReply *reply)
{
    redis_call->answered = true;
    redis_call->code = ERROR_OK;
    if (reply->type != REDIS_REPLY_ERROR) {
        redis_call->reply = reply;
        return true;
    }
    redis_call->code = judge(reply, &redis_call->error);
    redis_call->answered =
        redis_call->code != ERROR_INTERNAL || !strstr(redis_call->error.message, "Function not found");
    freeReplyObject(reply);
    return redis_call->answered;
}

/* Everything that has no answer yet goes out, then the answers come in. ERROR_OK: they all came; *known
 * false: some said that the function is not there. */
static enum error_code round_trip(struct redis *redis, const char *function, struct redis_call *calls,
                                  size_t count, bool *known, struct error *e)
{
    enum error_code code = connect_now(redis, e);
    if (code != ERROR_OK)
        return code;
    long long began = clock_ms();
    for (size_t i = 0; i < count; i++)
        if (!calls[i].answered)
            append_call(redis, function, &calls[i]);
    *known = true;
    for (size_t i = 0; i < count; i++) {
        void *reply = NULL;
        if (calls[i].answered)
            continue;
        if (redisGetReply(redis->context, &reply) != REDIS_OK || !reply) {
            note_failure(began);
            error_set(e, ERROR_UNAVAILABLE, "the connection to Redis broke: %s", redis->context->errstr);
            drop(redis);
            return ERROR_UNAVAILABLE;
        }
        *known &= take_answer(&calls[i], reply);
    }
    return ERROR_OK;
}

void redis_calls(struct redis *redis, const char *name, struct redis_call *calls, size_t count)
{
    char *function = mem_printf("toast_%s_%s", name, version);
    struct error why = {0};
    enum error_code code = ERROR_OK;
    bool known = false;
    for (int attempt = 0; attempt < 3 && !known; attempt++) {
        code = round_trip(redis, function, calls, count, &known, &why);
        if (code == ERROR_OK && !known)
            code = load_library(redis, &why);
        else if (code != ERROR_OK)
            known = false;
        if (code != ERROR_OK && (code != ERROR_UNAVAILABLE || redis->context))
            break; /* refused by a Redis that answers */
    }
    free(function);
    for (size_t i = 0; i < count; i++)
        /* else it says itself that the function is not there */
        if (!calls[i].answered && code != ERROR_OK) {
            calls[i].code = code;
            calls[i].error = why;
        }
}

enum error_code redis_call(struct redis *redis, const char *name, int argc, const char **argv,
                           const size_t *sizes, redisReply **out, struct error *e)
{
    struct redis_call redis_call = {.argc = argc, .argv = argv, .sizes = sizes};
    redis_calls(redis, name, &redis_call, 1);
    if (redis_call.code == ERROR_OK)
        *out = redis_call.reply;
    else if (e)
        *e = redis_call.error;
    return redis_call.code;
}

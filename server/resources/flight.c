/* Idempotency keys of requests that this server is receiving or working on: a second request with the same
 * key is refused at once with ERROR_IN_FLIGHT. What is remembered after the answer is in Redis (submit in
 * queue/library_jobs.lua), which alone decides that one key makes one job, also between servers. */
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "base/hash.h"

struct flights {
    pthread_mutex_t lock;
    VEC(struct exchange *) under_way;
};

struct flights *flights_create(void)
{
    struct flights *flights = mem_zalloc(1, sizeof *flights);
    pthread_mutex_init(&flights->lock, NULL);
    return flights;
}

void flights_destroy(struct flights *flights)
{
    if (!flights)
        return;
    VEC_FREE(&flights->under_way);
    pthread_mutex_destroy(&flights->lock);
    free(flights);
}

/* 1 to 255 printable characters, with or without quotes around them (RFC 9651 strings without escapes) */
static enum error_code take_key(struct exchange *exchange, const char *text, struct error *e)
{
    size_t n = strlen(text);
    uint8_t digest[32];
    bool good = true;
    if (n >= 2 && text[0] == '"' && text[n - 1] == '"') {
        text++;
        n -= 2;
    }
    for (size_t i = 0; i < n; i++)
        good &= text[i] > 0x20 && text[i] < 0x7f && text[i] != '"' && text[i] != '\\';
    if (!good || n < 1 || n > 255)
        return error_set_pointer(e, ERROR_MALFORMED, "Idempotency-Key",
                                 "an Idempotency-Key has 1 to 255 printable characters, no spaces, quotes or "
                                 "backslashes");
    sha256_bytes(text, n, digest);
    sha256_format(digest, exchange->errand->key);
    return ERROR_OK;
}

enum error_code flight_begin(struct exchange *exchange, struct error *e)
{
    const char *text = request_header(exchange, "Idempotency-Key");
    struct flights *flights = exchange->server->resources->flights;
    if (!text)
        return ERROR_OK;
    enum error_code code = take_key(exchange, text, e);
    if (code != ERROR_OK)
        return code;
    pthread_mutex_lock(&flights->lock);
    for (size_t i = 0; i < flights->under_way.count && code == ERROR_OK; i++) {
        const struct exchange *other = flights->under_way.at[i];
        if (strcmp(other->errand->key, exchange->errand->key) == 0 &&
            strcmp(other->tenant, exchange->tenant) == 0)
            code = error_set(
                e, ERROR_IN_FLIGHT,
                "a request with this Idempotency-Key is under way; ask again when it has its answer");
    }
    if (code == ERROR_OK) {
        VEC_PUSH(&flights->under_way, exchange);
        exchange->errand->in_flight = true;
    }
    pthread_mutex_unlock(&flights->lock);
    return code;
}

void flight_end(struct exchange *exchange)
{
    struct flights *flights = exchange->server->resources->flights;
    if (!exchange->errand->in_flight)
        return;
    pthread_mutex_lock(&flights->lock);
    for (size_t i = 0; i < flights->under_way.count; i++)
        if (flights->under_way.at[i] == exchange) {
            flights->under_way.at[i] = flights->under_way.at[--flights->under_way.count];
            break;
        }
    pthread_mutex_unlock(&flights->lock);
    exchange->errand->in_flight = false;
}

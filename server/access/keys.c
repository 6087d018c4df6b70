/* The table of keys. It is read from Redis when its version changes (looked at once a second), so that a
 * request costs no question to Redis and a revoked key works for a second at most. Redis out of reach for
 * MAX_AGE_MS: the table is not usable any more, and nobody is let in. Secrets are never here, only their
 * digests. */
#include "server/access/access.h"

#include "base/encode.h"
#include "base/hash.h"

#include <time.h>

enum { MAX_AGE_MS = 20000 }; /* a restart of Redis takes less; a revoked key must not live longer than that */

struct keys {
    bool closed;
    pthread_rwlock_t lock; /* of what follows */
    struct queue_keys keys;
    long long version;
    bool known;
    long long read_ms; /* monotonic: when the keys were last known to be these */
};

static long long now_ms(clockid_t clock)
{
    struct timespec when;
    clock_gettime(clock, &when);
    return when.tv_sec * 1000LL + when.tv_nsec / 1000000;
}

struct keys *keys_create(bool closed)
{
    struct keys *keys = mem_zalloc(1, sizeof *keys);
    keys->closed = closed;
    pthread_rwlock_init(&keys->lock, NULL);
    return keys;
}

void keys_destroy(struct keys *keys)
{
    if (!keys)
        return;
    pthread_rwlock_destroy(&keys->lock);
    queue_keys_release(&keys->keys);
    free(keys);
}

/* The version is read first: a change in between is read again the next time. Only one thread refreshes. */
enum error_code keys_refresh(struct keys *table, struct queue *queue, struct error *e)
{
    long long version;
    struct queue_keys keys = {0};
    enum error_code code = queue_keys_version(queue, &version, e);
    bool changed = code == ERROR_OK && (!table->known || version != table->version);
    if (changed)
        code = queue_keys_list(queue, &keys, e);
    if (code != ERROR_OK)
        return code;
    pthread_rwlock_wrlock(&table->lock);
    if (changed) {
        queue_keys_release(&table->keys);
        table->keys = keys;
        table->version = version;
        table->known = true;
    }
    table->read_ms = now_ms(CLOCK_MONOTONIC);
    pthread_rwlock_unlock(&table->lock);
    return ERROR_OK;
}

bool keys_any(struct keys *keys)
{
    pthread_rwlock_rdlock(&keys->lock);
    bool any = keys->keys.count > 0;
    pthread_rwlock_unlock(&keys->lock);
    return any;
}

bool keys_required(struct keys *keys)
{
    return keys->closed || keys_any(keys);
}

static int by_id(const void *left, const void *right)
{
    return strcmp(left, ((const struct queue_key *)right)->id);
}

/* The id is public and finds the record; the secret takes part only in a digest that is compared in constant
 * time. */
bool keys_find_digest(struct keys *keys, const char *id, const unsigned char digest[32],
                      struct queue_key *out)
{
    bool good = false;
    pthread_rwlock_rdlock(&keys->lock);
    const struct queue_key *k =
        keys->keys.count ? bsearch(id, keys->keys.at, keys->keys.count, sizeof *keys->keys.at, by_id) : NULL;
    if (k && encode_equal_bytes(k->digest, digest, sizeof k->digest) &&
        (k->expires_ms == 0 || k->expires_ms > now_ms(CLOCK_REALTIME))) {
        *out = *k;
        good = true;
    }
    pthread_rwlock_unlock(&keys->lock);
    return good;
}

bool keys_find(struct keys *keys, const char *text, struct queue_key *out)
{
    char id[QUEUE_KEY_ID_SIZE];
    unsigned char digest[32];
    if (!queue_key_id(text, id))
        return false;
    sha256_bytes(text, strlen(text), digest);
    return keys_find_digest(keys, id, digest, out);
}

bool keys_usable(struct keys *keys)
{
    pthread_rwlock_rdlock(&keys->lock);
    bool good = keys->known && now_ms(CLOCK_MONOTONIC) - keys->read_ms <= MAX_AGE_MS;
    pthread_rwlock_unlock(&keys->lock);
    return good;
}

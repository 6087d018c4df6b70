/* Rates of the last hour. The counters in Redis only grow; their differences over ten seconds are the
 * rates. They are kept in this process alone, so the picture begins with the server's start. See ui.h. */
#include "server/ui/ui.h"

#include <time.h>

enum { EVERY_MS = 10000 };

struct sample {
    long long at_ms, ended, rollouts;
};

struct rates {
    pthread_mutex_t lock;
    struct sample ring[RATES_MAX + 1];
    size_t next, count;
};

struct rates *rates_create(void)
{
    struct rates *h = mem_zalloc(1, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

void rates_destroy(struct rates *h)
{
    if (h)
        pthread_mutex_destroy(&h->lock);
    free(h);
}

static long long monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static const struct sample *nth(const struct rates *h, size_t i) /* 0: the oldest */
{
    return &h->ring[(h->next + RATES_MAX + 1 - h->count + i) % (RATES_MAX + 1)];
}

void rates_sample(struct rates *h, struct queue *q)
{
    struct queue_fields n;
    struct sample s = {.at_ms = monotonic_ms()};
    if (h->count &&
        s.at_ms - nth(h, h->count - 1)->at_ms < EVERY_MS) /* read without the lock: no other thread writes */
        return;
    if (queue_counters(q, &n, NULL) != ERROR_OK)
        return;
    s.rollouts = queue_number(&n, "rollouts");
    s.ended = queue_number(&n, "jobs:succeeded") + queue_number(&n, "jobs:failed") +
              queue_number(&n, "jobs:cancelled") + queue_number(&n, "jobs:expired") +
              queue_number(&n, "jobs:dead");
    queue_fields_release(&n);
    pthread_mutex_lock(&h->lock);
    h->ring[h->next] = s;
    h->next = (h->next + 1) % (RATES_MAX + 1);
    h->count += h->count < RATES_MAX + 1;
    pthread_mutex_unlock(&h->lock);
}

static double per_minute(long long before, long long after, long long ms)
{
    return after > before && ms > 0 ? (double)(after - before) * 60000.0 / (double)ms : 0;
}

size_t rates_read(struct rates *h, struct rate out[RATES_MAX])
{
    long long now = monotonic_ms();
    size_t count = 0;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 1; i < h->count; i++) {
        const struct sample *a = nth(h, i - 1), *b = nth(h, i);
        long long ms = b->at_ms - a->at_ms;
        out[count++] = (struct rate){(double)(now - b->at_ms) / 60000, per_minute(a->ended, b->ended, ms),
                                     per_minute(a->rollouts, b->rollouts, ms)};
    }
    pthread_mutex_unlock(&h->lock);
    return count;
}

/* Rates of the last hour. The counters in Redis only grow; their differences over ten seconds are the
 * rates. They are kept in this process alone, so the picture begins with the server's start. See ui.h. */
#include "server/ui/ui.h"

#include "base/clock.h"

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
    struct rates *rates = mem_zalloc(1, sizeof *rates);
    pthread_mutex_init(&rates->lock, NULL);
    return rates;
}

void rates_destroy(struct rates *rates)
{
    if (rates)
        pthread_mutex_destroy(&rates->lock);
    free(rates);
}

static const struct sample *nth(const struct rates *rates, size_t i) /* 0: the oldest */
{
    return &rates->ring[(rates->next + RATES_MAX + 1 - rates->count + i) % (RATES_MAX + 1)];
}

void rates_sample(struct rates *rates, struct queue *queue)
{
    struct queue_fields n;
    struct sample sample = {.at_ms = clock_ms()};
    if (rates->count && sample.at_ms - nth(rates, rates->count - 1)->at_ms <
                            EVERY_MS) /* read without the lock: no other thread writes */
        return;
    if (queue_counters(queue, &n, NULL) != ERROR_OK)
        return;
    sample.rollouts = queue_number(&n, "rollouts");
    sample.ended = queue_number(&n, "jobs:succeeded") + queue_number(&n, "jobs:failed") +
                   queue_number(&n, "jobs:cancelled") + queue_number(&n, "jobs:expired") +
                   queue_number(&n, "jobs:dead");
    queue_fields_release(&n);
    pthread_mutex_lock(&rates->lock);
    rates->ring[rates->next] = sample;
    rates->next = (rates->next + 1) % (RATES_MAX + 1);
    rates->count += rates->count < RATES_MAX + 1;
    pthread_mutex_unlock(&rates->lock);
}

static double per_minute(long long before, long long after, long long ms)
{
    return after > before && ms > 0 ? (double)(after - before) * 60000.0 / (double)ms : 0;
}

size_t rates_read(struct rates *rates, struct rate out[RATES_MAX])
{
    long long now = clock_ms();
    size_t count = 0;
    pthread_mutex_lock(&rates->lock);
    for (size_t i = 1; i < rates->count; i++) {
        const struct sample *sample = nth(rates, i - 1), *other_sample = nth(rates, i);
        long long ms = other_sample->at_ms - sample->at_ms;
        out[count++] = (struct rate){(double)(now - other_sample->at_ms) / 60000,
                                     per_minute(sample->ended, other_sample->ended, ms),
                                     per_minute(sample->rollouts, other_sample->rollouts, ms)};
    }
    pthread_mutex_unlock(&rates->lock);
    return count;
}

/* Ids of jobs: made from the clock and random numbers, or from a name that a client chose. Pure but for these
 * two sources; Redis is not asked, so an id may be of a job that is not there. See queue.h. */
#include "queue/ids.h"

#include "base/hash.h"
#include "queue/queue.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { TIME_DIGITS = 10, RANDOM_DIGITS = 16 }; /* 50 bits of ms since 1970, 80 random bits */

const char ids_digits[33] = "0123456789abcdefghjkmnpqrstvwxyz";

void ids_random(void *out, size_t size)
{
    for (size_t have = 0; have < size;) {
        ssize_t n = getrandom((char *)out + have, size - have, 0);
        have += n > 0 ? (size_t)n : 0;
    }
}

/* the number after, in digits; the largest has none and stays */
static void count_up(unsigned char digits[RANDOM_DIGITS])
{
    for (int i = RANDOM_DIGITS; i-- > 0;)
        if (++digits[i] < 32)
            return;
        else
            digits[i] = 0;
    memset(digits, 31, RANDOM_DIGITS);
}

void queue_new_id(char out[QUEUE_ID_SIZE])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t last_ms;
    static unsigned char digits[RANDOM_DIGITS];
    struct timespec when;
    pthread_mutex_lock(&lock);
    /* read by who has the lock: another thread's later time must not come first */
    clock_gettime(CLOCK_REALTIME, &when);
    uint64_t ms = (uint64_t)when.tv_sec * 1000 + (uint64_t)when.tv_nsec / 1000000;
    if (ms == last_ms) {
        count_up(digits);
    } else {
        last_ms = ms;
        ids_random(digits, sizeof digits);
        for (int i = 0; i < RANDOM_DIGITS; i++)
            digits[i] &= 31;
    }
    memcpy(out, "j_", 2);
    for (int i = 0; i < TIME_DIGITS; i++)
        out[2 + i] = ids_digits[ms >> (5 * (TIME_DIGITS - 1 - i)) & 31];
    for (int i = 0; i < RANDOM_DIGITS; i++)
        out[2 + TIME_DIGITS + i] = ids_digits[digits[i]];
    out[QUEUE_ID_SIZE - 1] = 0;
    pthread_mutex_unlock(&lock);
}

bool queue_id_valid(const char *id)
{
    return strlen(id) == QUEUE_ID_SIZE - 1 && strncmp(id, "j_", 2) == 0 &&
           strspn(id + 2, ids_digits) == QUEUE_ID_SIZE - 3;
}

void queue_named_id(const char *tenant, const char *name, char out[QUEUE_ID_SIZE])
{
    uint8_t raw[32];
    struct sha256 *sha = sha256_create();
    sha256_add(sha, tenant, strlen(tenant) + 1); /* with the NUL: no other split gives the same bytes */
    sha256_add(sha, name, strlen(name));
    sha256_finish(sha, raw);
    memcpy(out, "c_", 2);
    for (int i = 0; i < 26; i++) /* 130 bits */
        out[2 + i] = ids_digits[(raw[i * 5 / 8] << 8 | raw[i * 5 / 8 + 1]) >> (11 - i * 5 % 8) & 31];
    out[28] = 0;
}

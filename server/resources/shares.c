/* See shares.h. A tenant is charged when its work begins, with what its last one took, and corrected at
 * the end, so that a burst of one tenant does not take all threads before the first of them has ended. A
 * tenant that has nothing here is kept, for what it has used up to now, until there are many: then the
 * oldest such leaves. */
#include "server/resources/shares.h"

#include <stdio.h>
#include <string.h>

enum {
    FIRST_US = 100000,
    IDLE_MAX = 256
}; /* a price of a middling module; tenants without work that are remembered */

void shares_release(struct shares *shares)
{
    VEC_FREE(&shares->at);
}

static struct share *find(const struct shares *shares, const char *tenant)
{
    for (size_t i = 0; i < shares->at.count; i++)
        if (strcmp(shares->at.at[i].tenant, tenant) == 0)
            return &shares->at.at[i];
    return NULL;
}

static bool present(const struct share *share)
{
    return share->waiting || share->running;
}

/* the least virtual time of those that have work; `otherwise` when nobody has */
static long long least_us(const struct shares *shares, long long otherwise)
{
    long long least = -1;
    for (size_t i = 0; i < shares->at.count; i++) {
        const struct share *share = &shares->at.at[i];
        if (present(share) && (least < 0 || share->time_us < least))
            least = share->time_us;
    }
    return least < 0 ? otherwise : least;
}

static void forget_one(struct shares *shares)
{
    for (size_t i = 0; i < shares->at.count; i++)
        if (!present(&shares->at.at[i])) {
            shares->at.count--;
            memmove(&shares->at.at[i], &shares->at.at[i + 1], (shares->at.count - i) * sizeof *shares->at.at);
            return;
        }
}

int shares_wait(struct shares *shares, const char *tenant)
{
    struct share *share = find(shares, tenant);
    if (!share) {
        struct share fresh = {.charge_us = FIRST_US};
        snprintf(fresh.tenant, sizeof fresh.tenant, "%s", tenant);
        if (shares->at.count >= IDLE_MAX)
            forget_one(shares);
        VEC_PUSH(&shares->at, fresh);
        share = &shares->at.at[shares->at.count - 1];
    }
    if (!present(share)) {
        long long least = least_us(shares, share->time_us);
        share->time_us = share->time_us > least ? share->time_us : least;
    }
    return share->waiting++;
}

const char *shares_next(struct shares *shares)
{
    struct share *best = NULL;
    for (size_t i = 0; i < shares->at.count; i++) {
        struct share *share = &shares->at.at[i];
        if (share->waiting && (!best || share->time_us < best->time_us))
            best = share;
    }
    if (!best)
        return NULL;
    best->waiting--;
    best->running++;
    best->time_us += best->charge_us;
    return best->tenant;
}

long long shares_charge(const struct shares *shares, const char *tenant)
{
    const struct share *share = find(shares, tenant);
    return share ? share->charge_us : 0;
}

void shares_done(struct shares *shares, const char *tenant, long long charged_us, long long took_us)
{
    struct share *share = find(shares, tenant);
    if (!share)
        return;
    share->running--;
    share->time_us += took_us - charged_us;
    share->charge_us = took_us;
}

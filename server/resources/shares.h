/* Whose turn it is among tenants that share the threads of this server: the same rule as for jobs
 * (docs/service.md, "How a job runs"). A tenant's virtual time grows by the time that its work holds a
 * thread; whoever has least goes first. Who comes, or comes back, starts where the least served of those
 * present is. Knows no work, only names and times. */
#ifndef TOAST_SERVER_SHARES_H
#define TOAST_SERVER_SHARES_H

#include "base/memory.h"
#include "queue/keys.h"

#include <stdlib.h>

struct share {
    char tenant[QUEUE_TENANT_SIZE];
    long long time_us;   /* virtual */
    long long charge_us; /* what the last work took: the next one is charged that when it begins */
    int waiting, running;
};

/* Zeroed is empty. Not for several threads at once: the caller has a lock. */
struct shares {
    VEC(struct share) at;
};

void shares_release(struct shares *shares);
/* a work of the tenant comes; -> how many of it waited before */
int shares_wait(struct shares *shares, const char *tenant);
/* Of the tenants with waiting work the one whose turn it is, whose work then runs; NULL: none waits. Valid
 * until the next call. */
const char *shares_next(struct shares *shares);
/* a work of the tenant has run for so long; charged_us: what share_charge said when it began */
void shares_done(struct shares *shares, const char *tenant, long long charged_us, long long took_us);
/* what shares_next has charged the tenant for its work */
long long shares_charge(const struct shares *shares, const char *tenant);

#endif

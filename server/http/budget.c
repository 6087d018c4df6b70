/* One budget for the bytes that bodies and replies of all exchanges take in memory. A body takes its share as
 * it arrives, not as it is announced, so that who only announces takes nothing; a reply before it is queued.
 * Of who came with a key, a tenant's requests take half of it at most, so that others find the other half;
 * a tenant's count has one of BUDGET_TENANTS places, which few share. Promises: the sum never exceeds the
 * budget, and what an exchange holds is given back with it, whoever ended it. Never waits: who finds nothing
 * left is refused with 503 and may come again. */
#include "server/http/http.h"

/* FNV-1a */
static atomic_size_t *place_of(struct exchange *exchange)
{
    uint32_t hash = UINT32_C(2166136261);
    for (const char *at = exchange->tenant; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT32_C(16777619);
    return &exchange->server->held_by[hash % BUDGET_TENANTS];
}

/* the same bytes of the tenant's share; before it is known whose they are they are nobody's */
static enum error_code share_reach(struct exchange *exchange, size_t bytes, struct error *e)
{
    if (!exchange->key_id[0] || bytes <= exchange->share)
        return ERROR_OK;
    size_t more = bytes - exchange->share;
    atomic_size_t *place = place_of(exchange);
    if (atomic_fetch_add(place, more) + more > exchange->server->budget / 2) {
        atomic_fetch_sub(place, more);
        return error_set(e, ERROR_UNAVAILABLE,
                         "too many bytes of your requests and replies are under way here; try again");
    }
    exchange->share = bytes;
    return ERROR_OK;
}

enum error_code budget_reach(struct exchange *exchange, size_t bytes, struct error *e)
{
    struct server *server = exchange->server;
    if (bytes <= exchange->held)
        return ERROR_OK;
    enum error_code code = share_reach(exchange, bytes, e);
    if (code != ERROR_OK)
        return code;
    size_t more = bytes - exchange->held;
    if (atomic_fetch_add(&server->held, more) + more > server->budget) {
        atomic_fetch_sub(&server->held, more);
        return error_set(e, ERROR_UNAVAILABLE,
                         "too many bytes of requests and replies are under way here; try again");
    }
    exchange->held = bytes;
    return ERROR_OK;
}

void budget_release(struct exchange *exchange)
{
    atomic_fetch_sub(&exchange->server->held, exchange->held);
    if (exchange->share)
        atomic_fetch_sub(place_of(exchange), exchange->share);
    exchange->held = exchange->share = 0;
}

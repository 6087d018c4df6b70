/* One budget for the bytes that bodies and replies of all exchanges take in memory. A body takes its share as
 * it arrives, not as it is announced, so that who only announces takes nothing; a reply before it is queued.
 * Promises: the sum never exceeds the budget, and what an exchange holds is given back with it, whoever ended
 * it. Never waits: who finds nothing left is refused with 503 and may come again. */
#include "server/http/http.h"

enum error_code budget_reach(struct exchange *exchange, size_t bytes, struct error *e)
{
    struct server *server = exchange->server;
    if (bytes <= exchange->held)
        return ERROR_OK;
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
    exchange->held = 0;
}

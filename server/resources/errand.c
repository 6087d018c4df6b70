/* What the handlers of this folder remember of an exchange: made when it begins, released when it ends,
 * whoever ended it. See resources.h. */
#include "server/resources/resources.h"
#include "server/resources/what_if.h"

void errand_begin(struct exchange *exchange)
{
    exchange->errand = mem_zalloc(1, sizeof *exchange->errand);
}

void errand_end(struct exchange *exchange)
{
    flight_end(exchange);
    what_if_release(exchange->errand->what_if);
    submission_destroy(exchange->errand->submission);
    free(exchange->errand);
    exchange->errand = NULL;
}

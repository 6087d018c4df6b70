/* What the handlers of this folder remember of an exchange: made when it begins, released when it ends,
 * whoever ended it. See resources.h. */
#include "server/resources/resources.h"
#include "server/resources/what_if.h"

void errand_begin(struct exchange *x)
{
    x->errand = mem_zalloc(1, sizeof *x->errand);
}

void errand_end(struct exchange *x)
{
    flight_end(x);
    what_if_release(x->errand->what_if);
    submission_destroy(x->errand->submission);
    free(x->errand);
    x->errand = NULL;
}

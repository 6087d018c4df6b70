/* The best that a session knows, apart from it: what a job that starts over keeps. The session itself
 * begins anew and does not see it, so that a search that runs to its end gives what it would have given at
 * first; whoever shows or writes an answer takes the better of the two. */
#ifndef TOAST_CFN_BEST_H
#define TOAST_CFN_BEST_H

#include "cfn/session.h"

struct cfn_best {
    int32_t *values; /* owned, feasible; NULL: none is known */
    __int128 cost;   /* of values, the referee's */
    bool has_bound;
    __int128 bound; /* no feasible assignment costs less */
};

/* of the answer and the search at hand */
enum error_code cfn_best_of(const struct cfn_session *session, struct cfn_best *out,
                            struct error *e) BASE_CHECKED;
/* `into` gets what is better of `from`: the cheaper assignment (its own when they cost the same), the
 * higher bound. `from` is released. -> whether that changed anything */
bool cfn_best_merge(struct cfn_best *into, struct cfn_best *from);
void cfn_best_release(struct cfn_best *best); /* zeroed is fine */

/* as bytes (appended), and back: of the same problem. ERROR_INVALID_REQUEST: not its bytes, or not
 * feasible. */
void cfn_best_write(const struct cfn_best *best, const struct cfn_problem *problem, struct text *out);
enum error_code cfn_best_read(const struct cfn_problem *problem, const void *bytes, size_t size,
                              struct cfn_best *out, struct error *e) BASE_CHECKED;

/* Into the answer of a session that is over, where it is better; an answer that came so is not
 * reproducible. */
enum error_code cfn_best_offer(const struct cfn_best *best, struct cfn_session *session,
                               struct error *e) BASE_CHECKED;

#endif

/* Whether a job's search prices plans on the folded program (cost/price.h), and how well that does. */
#ifndef TOAST_PLANNER_FOLD_H
#define TOAST_PLANNER_FOLD_H

#include "cost/price.h"

struct planner_fold {
    uint32_t layers, kept;   /* layers 0: nothing repeats; kept 0: not folded */
    uint32_t checked;        /* experts' plans priced both ways */
    double worst;            /* of them: relative error of step time or peak, the larger; of the best try */
    uint32_t random, beyond; /* random plans priced both ways; those of them more than 0.5 % apart */
};
/* Folds the evaluator (which nobody uses yet) where the program repeats, the experts' best plans have
 * nearly the
 * same price both ways, and so have most random plans: the fewest layers that do. A pure function of the
 * evaluator, whatever the threads (1 to SEARCH_THREADS).
 * sessions: NULL, or one a thread, NULL before: where the evaluator is folded, sessions of it that know these
 * prices, for search_options.sessions; owned by the caller. */
enum error_code planner_fold_choose(struct evaluator *evaluator, uint32_t threads,
                                    struct evaluator_session **sessions, struct planner_fold *out,
                                    struct error *e) BASE_CHECKED;

#endif

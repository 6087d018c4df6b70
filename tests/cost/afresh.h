/* What tests of evaluations compare with: a plan walked and priced with nothing remembered. */
#ifndef TOAST_TESTS_COST_AFRESH_H
#define TOAST_TESTS_COST_AFRESH_H

#include "cost/internal.h"
#include "subject.h"
#include "support.h"

/* identity: of what was walked (cost/equal.c); NULL: not asked for */
static inline struct price price_afresh(const struct subject *subject, const struct plan *plan,
                                        struct hash128 *identity)
{
    struct spmd_local local = {0};
    struct price_scratch *scratch = NULL;
    struct price out;
    struct error e;
    ASSERT_OK(spmd_walk(subject->context, plan, evaluator_options(subject->evaluator), &local, &e), &e);
    if (identity)
        *identity = price_identity(&local);
    price_local(&local, &subject->machine, &scratch, NULL, &out);
    price_scratch_destroy(scratch);
    spmd_local_release(&local);
    return out;
}

#endif

/* One layout of the mesh's axes while configurations are chosen for it: what tables (priced.c), the choice by
 * them (solve.c) and whole prices of plans whose equal segments are alike (alike.c) share. */
#ifndef TOAST_SEGMENTS_CHOICE_H
#define TOAST_SEGMENTS_CHOICE_H

#include "segments/compose.h"

struct segments_choice {
    const struct evaluator *evaluator;    /* borrowed */
    const struct segments_budget *budget; /* borrowed */
    struct evaluator_session *session;    /* all below: owned */
    struct segments *segments;
    struct segments_tables tables;
    uint32_t outer, inner;
    uint32_t *base, *now, *best;         /* configuration of each segment; best: of the answer */
    bool has_best;                       /* the answer is of this layout */
    bool tight;                          /* a plan that the tables chose did not fit */
    int64_t base_ps, base_bytes, now_ps; /* whole prices */
    struct plan plan;                    /* of `now`, when that was priced last */
};

/* Strategies on the axes of `inner`, the base (data parallel) on the others of `all`. *out: owned */
void segments_choice_open(const struct evaluator *evaluator, const struct segments_budget *budget,
                          uint64_t prices, uint32_t all, uint32_t inner, struct segments_choice *out);
void segments_choice_close(struct segments_choice *choice);
/* the tables, by whole prices around `base`: of it what is composed is the whole price. alone: the kinds' of
 * one segment that deviates, not of all. ERROR_CANCELLED; as evaluator_price */
enum error_code segments_choice_tables(struct segments_choice *choice, bool alone,
                                       struct error *e) BASE_CHECKED;
/* the whole price of `now`; ERROR_CANCELLED; as evaluator_price */
enum error_code segments_choice_price(struct segments_choice *choice, struct price *price, struct cost *cost,
                                      struct error *e) BASE_CHECKED;
/* `now`, with its whole price, becomes the answer */
void segments_choice_keep(struct segments_choice *choice, const struct price *price, struct cost cost,
                          bool proved, struct segments_answer *out);
/* Better answers of this layout by whole prices alone (alike.c); nothing where the answer is another's.
 * ERROR_CANCELLED; as evaluator_price. */
enum error_code segments_choice_alike(struct segments_choice *choice, struct segments_answer *out,
                                      struct error *e) BASE_CHECKED;

#endif

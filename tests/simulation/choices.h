/* The one source of everything that is not determined in a simulated run: a list of numbers. A seed makes
 * one; a list given again makes the same run; a shorter or smaller list that still fails is the shorter
 * schedule, because 0 means everywhere "nothing unusual" and a list that is over means that the trouble is
 * over. Knows nothing of what is chosen. */
#ifndef TOAST_TESTS_SIMULATION_CHOICES_H
#define TOAST_TESTS_SIMULATION_CHOICES_H

#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

typedef VEC(uint32_t) choice_list; /* owned by who made it */

struct choices {        /* zeroed: an empty list to be replayed needs `replay` only */
    uint64_t state;     /* of the generator */
    bool replay;        /* numbers come from the list */
    choice_list list;   /* what was chosen, or is to be */
    size_t taken, most; /* most: so many are made; then all are 0 */
};

uint32_t choices_random(struct choices *choices);
bool choices_over(const struct choices *choices);
/* 0 to n - 1; 0 when the list is over */
uint32_t choose(struct choices *choices, uint32_t n);
/* one in n, never when the list is over */
bool choose_rarely(struct choices *choices, uint32_t n);

/* Whether a run of this list still fails; the caller's. */
typedef bool choices_fail(const choice_list *list, void *user);
/* Makes list as short and its numbers as small as at most `runs` runs find, while it fails. */
void choices_shrink(choice_list *list, choices_fail *fails, void *user, int runs);
/* "3.0.0.17", as choices_parse reads it; owned */
char *choices_text(const choice_list *list);
void choices_parse(const char *text, choice_list *out);

#endif

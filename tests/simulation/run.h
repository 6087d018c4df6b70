/* Simulated runs: one schedule from a seed or a list of choices; a search for a failing one; the shortest
 * schedule that fails. One engine.h for all of them. */
#ifndef TOAST_TESTS_SIMULATION_RUN_H
#define TOAST_TESTS_SIMULATION_RUN_H

#include "choices.h"
#include "wire.h"

struct run_report {
    bool failed;
    char failure[512]; /* what was wrong */
    char *story;       /* owned; of the run that failed, "" where it was not asked for */
    choice_list list;  /* its choices; owned */
    int steps;
    long long virtual_ms;
};
void run_report_release(struct run_report *report);

/* Before the first run: the library is loaded, changed by the plant where there is one (NULL: none). */
void run_prepare(const struct wire_plant *plant);
/* Runs seeds from `first` on, several at a time, as long as go_on says so (NULL: all); a failing one ends it.
 * -> how many were run. *failing: the failing one of the lowest seed, 0 when there is none. */
struct run_search {
    uint64_t first;
    long long count;
    bool (*go_on)(void *user);
    void *user;
    long long done, steps, virtual_ms; /* out */
    uint64_t failing;                  /* out */
};
void run_search(struct run_search *search);
/* telling: with a story */
void run_seed(uint64_t seed, bool telling, struct run_report *out);
void run_list(const choice_list *list, bool telling, struct run_report *out);
/* A failing report becomes that of the shortest schedule that at most `runs` runs find. */
void run_shrink(struct run_report *report, int runs);

/* Bugs that are planted in the library on its way into Redis: what the simulation must find. */
extern const struct wire_plant run_plants[];
extern const int run_plant_count;
const struct wire_plant *run_plant(const char *name); /* NULL: there is none */

#endif

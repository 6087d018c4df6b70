/* The search for a list of constraints, between its files. Internal to spmd/. */
#ifndef TOAST_SPMD_CONSTRAINTS_FIND_H
#define TOAST_SPMD_CONSTRAINTS_FIND_H

#include "spmd/constraints.h"

#include "analysis/fold.h"
#include "spmd/forms.h"

struct candidate {
    struct propagate_constraint constraint;
    uint64_t class_key;
    uint32_t class_index;
};

/* what some choice of candidates comes to */
struct moved {
    int64_t bytes,
        deferred; /* deferred: by somebody who adds partial sums as the plan does; 0: is the same */
    uint32_t astray,
        blurred; /* products and the like: split otherwise, or not as XLA sees them; the latter */
};

struct finder {
    const struct plan_context *context;
    const struct plan *plan;
    const struct nda *n;
    const struct mesh *mesh;
    const struct spmd_options *options;
    struct spmd_options
        compiler; /* the same, but XLA has no partial values: each is reduced where it is made */
    struct spmd_forms *forms;
    struct propagate *propagate;
    struct spmd_local local;
    struct plan made;
    uint32_t *slot_space;
    uint32_t *use_start, *uses; /* use slots by value */
    VEC(struct candidate) candidates;
    struct propagate_constraint *list;
    bool *on;
    uint32_t class_count;
    int64_t effort, left;     /* ops that may be visited, and may still be */
    bool (*late)(void *user); /* struct spmd_constraints_limits */
    void *late_user;
    bool over;        /* late: no run more */
    struct moved now; /* what stands comes to */
    bool sums;        /* partial sums that are reduced where they are made cost */
    uint32_t runs;
    const struct fold *known; /* of the program, for who wants one; NULL */
    /* of a program with layers left out (constraints_fold.c); else NULL */
    const struct fold *fold;
    const uint8_t *gone; /* by space: it is not there */
    uint32_t *tied;      /* by candidate: the one that it goes with, no later one */
    int64_t run_ops;     /* that a run visits */
};

/* zeroed but for context, plan, options, effort, and of a fold what it has; then with its candidates, and
 * none of them on */
enum error_code constraints_open(struct finder *finder, struct error *e) BASE_CHECKED;
/* the list as it stands keeps its uses: of what is on they are the caller's */
void constraints_close(struct finder *finder);
/* what the list as it stands moves. most: NULL, or no more need be known than that it is more than that */
enum error_code constraints_measure(struct finder *finder, const struct moved *most, struct moved *moved,
                                    struct error *e) BASE_CHECKED;
bool constraints_good(const struct moved *moved, const struct moved *most);
/* finder->on, finder->now, and out but for its list */
enum error_code constraints_search(struct finder *finder, struct spmd_constraints *out,
                                   struct error *e) BASE_CHECKED;
/* constraints_worth.c: worth_bytes of what is on, as far as runs are afforded; what is on stays */
enum error_code constraints_weigh(struct finder *finder, struct error *e) BASE_CHECKED;
/* constraints_fold.c: of a deep program the choice that is found on its fold, where that is as good a choice
 * on the whole (*found), and what it comes to. Equal layers are decided alike, by as many runs at any
 * depth. */
enum error_code constraints_on_fold(struct finder *finder, const struct moved *most, bool *found,
                                    struct error *e) BASE_CHECKED;

#endif

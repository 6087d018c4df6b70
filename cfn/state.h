/* A point that changes by sets of nodes: its cost and usage follow in time proportional to the change (and
 * one sweep over the retained times when usage moved), and the last change can be taken back. */
#ifndef TOAST_CFN_STATE_H
#define TOAST_CFN_STATE_H

#include "cfn/model.h"

struct cfn_state {
    const struct cfn_model *m; /* borrowed */
    struct cfn_point at;       /* read it; values change through the functions below */
    int64_t *step; /* usage changes at each time, time_count + 1: usage is base plus their running sum */
    int32_t *former, *stamp; /* by node, of the change being priced */
    int32_t now;
    struct {
        int64_t cost, worst;
        int32_t forbidden;
    } before;
    uint64_t work;
};

void cfn_state_create(const struct cfn_model *m, struct cfn_state *s);
void cfn_state_release(struct cfn_state *s);
void cfn_state_load(struct cfn_state *s, const struct cfn_point *p);
/* s->at.value already has the new values of nodes[0..count), old[] their former ones: brings cost and usage
 * up to date */
void cfn_state_commit(struct cfn_state *s, const int32_t *nodes, const int32_t *old, int32_t count);
/* undoes the last commit of the same arguments, values too */
void cfn_state_revert(struct cfn_state *s, const int32_t *nodes, const int32_t *old, int32_t count);
/* the usage at each time; out: time_count */
void cfn_state_profile(const struct cfn_state *s, int64_t *out);

#endif

/* A point that changes by sets of nodes: its cost and usage follow in time proportional to the change, or in
 * one sweep over the retained times when many nodes moved, and the last change can be taken back. */
#ifndef TOAST_CFN_STATE_H
#define TOAST_CFN_STATE_H

#include "cfn/model.h"
#include "cfn/usage.h"

struct cfn_state {
    const struct cfn_model *model; /* borrowed */
    struct cfn_point at;           /* read it; values change through the functions below */
    int64_t *step; /* usage changes at each time, time_count + 1: usage is base plus their running sum */
    struct cfn_usage usage; /* the same as a tree; behind by the last commit while `swept` */
    bool swept;
    int32_t *former, *stamp; /* by node, of the change being priced */
    int32_t now;
    struct {
        int64_t cost, worst;
        int32_t forbidden;
    } before;
    uint64_t work;
    bool (*stop)(void *user); /* asked by long operations on the state; may be NULL */
    void *user;
};

void cfn_state_create(const struct cfn_model *model, struct cfn_state *state);
void cfn_state_release(struct cfn_state *state);
void cfn_state_load(struct cfn_state *state, const struct cfn_point *point);
/* s->at.value already has the new values of nodes[0..count), old[] their former ones: brings cost and usage
 * up to date */
void cfn_state_commit(struct cfn_state *state, const int32_t *nodes, const int32_t *old, int32_t count);
/* undoes the last commit of the same arguments, values too */
void cfn_state_revert(struct cfn_state *state, const int32_t *nodes, const int32_t *old, int32_t count);
/* Gives one node another value. Not undone by revert. */
void cfn_state_move(struct cfn_state *state, int32_t node, int32_t value);
/* whether one node could take another value within the limit, now that the point is */
bool cfn_state_fits(struct cfn_state *state, int32_t node, int32_t value);
/* brings s->usage up to date */
void cfn_state_sync(struct cfn_state *state);

#endif

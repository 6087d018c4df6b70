/* What the parts of stage_roles share (analysis only): what is known of values, arguments and colors while
 * roles are found. */
#ifndef TOAST_ANALYSIS_ROLES_H
#define TOAST_ANALYSIS_ROLES_H

#include "analysis/stages.h"

struct facts {        /* of a color */
    double flops;     /* of forward contractions that have it in their result */
    uint32_t results; /* how many these are */
    uint32_t parameter_dims;
    uint8_t contracted, produced; /* in a forward contraction; by one from a parameter */
    uint8_t seen;                 /* in a result that is no state, or reduced on the way to one */
    uint8_t kept;                 /* in a result that is state */
    uint8_t given;                /* in an argument that is no state */
    uint8_t lookup, gather_batch, parameter_batch, attention, shardable, dominated;
    uint8_t square; /* two dimensions of one parameter */
};

struct roles {
    struct nda *n;
    /* of each value; forward: of each value needed for untied results */
    uint8_t *direct, *reaches, *forward;
    uint8_t *metrics; /* of each result: made of gradients; NULL: none is */
    /* of each value: the forward pass is not followed back through it */
    uint8_t *ends;
    uint8_t *apart; /* of each value: it depends on no example */
    struct facts *facts;
    uint8_t *batch; /* of each color: it is a batch; none while they are unknown */
    bool train;
};

/* roles_values.c: direct, reaches, forward of all values, from what is state and where the forward pass
 * ends */
void roles_flow(struct roles *r);
/* apart, and roles_flow again; known: the batch is */
void roles_set_apart(struct roles *r, bool known);
/* arguments[].role */
void roles_of_arguments(struct roles *r);
/* roles_facts.c: facts of all colors, added to what is there */
void roles_collect_facts(struct roles *r);

#endif

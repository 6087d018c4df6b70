/* Roles: what arguments are for, what colors do, and what groups are called. Internal to stage_roles
 * (roles.c).
 *
 * Everything comes from dataflow, so that roles are the same for JAX, PyTorch and hand-written modules;
 * what an argument is for is then put to the vote of names and donation (roles_vote.c), and the request has
 * the last word. Roles guide: which decisions are offered, expert plans, labels. A wrong role makes a
 * search longer or a label odd; it never makes a plan wrong.
 *
 *   step  file                in                             out
 *   1     roles_values.c      spaces                         of each value: direct, met, reaches, ..
 *   2     roles_gradients.c   spaces, contractions           is this result made of a gradient of that one?
 *   3     roles_state.c       direct, gradients              arguments[].becomes; metrics; train or not
 *   4     roles_arguments.c   values, state, batches         arguments[].role
 *         roles_vote.c       names, donation, the request   the same, where dataflow is outvoted
 *   5     roles_facts.c       forward, roles of arguments    facts of each color
 *   6     roles_batch.c       facts                          the vote: which colors are batches
 *   7     roles_colors.c      facts, batches                 colors[].roles, groups[].roles
 *   8     roles_terms.c       forward, facts, colors         the field's terms of colors without role
 *   9     roles_labels.c      groups[].roles, facts, terms   groups[].label
 *
 *   values ---> state ---> arguments ---> facts ---> batch ---> colors ---> labels
 *     ^           |            ^                       |
 *     |           |            |                       |  What is data and what is a weight depends on the
 *     +-----------+            +-----------------------+  batch, and the batch on the facts: 4 and 5 run
 *       state found: what                                 again once the batch is known, and for each round
 *       depends on examples                               of the vote that changes the forward pass.
 *       is asked again
 */
#ifndef TOAST_ANALYSIS_ROLES_H
#define TOAST_ANALYSIS_ROLES_H

#include "analysis/stages.h"

/* Pairs of argument and result, or results, that are tried as gradients before giving up; each costs a few
 * passes over the program. Chosen, not tuned. */
enum { ROLES_MOST_TRIED = 64 };

/* What is known of a color. Counts and flags only grow while the facts are collected. */
struct facts {
    double flops;            /* of forward contractions that have it in their result */
    uint32_t results;        /* how many these are */
    uint32_t parameter_dims; /* dimensions of parameters that have it */
    uint8_t contracted;      /* a forward contraction sums over it */
    uint8_t produced;        /* a forward contraction brings it from a parameter into its result */
    uint8_t wide;            /* on a side of a parameter that is no bottleneck (an adapter's rank is one) */
    uint8_t seen;            /* in a result that is no state, or reduced on the way to one */
    uint8_t kept;            /* in a result that is state */
    uint8_t given;           /* on an argument that is data */
    uint32_t argument_dims;  /* dimensions of arguments that have it */
    uint8_t lookup;          /* looked up in a parameter; mark_vocabulary makes it "is the vocabulary" */
    uint8_t gather_batch;    /* index dimension of a gather from what is no parameter and does not have it */
    uint8_t found;           /* a row of a parameter that is looked up in has it */
    uint8_t looked_up;       /* index dimension of a gather from a parameter: of tokens */
    uint8_t parameter_batch; /* batch dimension of a dot with a parameter */
    uint8_t attention;       /* in the result of a contraction of two operands that are no parameters */
    uint8_t beside;          /* a batch dimension of such a contraction */
    uint8_t chosen;          /* compared with its own positions: a choice among them, one hot */
    uint8_t weighed;         /* the forward pass takes the greatest along it, as a softmax does */
    uint8_t stacked;         /* on a parameter of three dimensions or more */
    uint8_t cached;          /* on an argument that is a cache */
    uint8_t written;         /* what is narrower or at an index is written into a tensor along it */
    uint8_t shardable;       /* some factor of it can be sharded */
    uint8_t dominated;       /* minor to another model color on one parameter (keys, not heads) */
    uint8_t square;          /* two dimensions of one parameter have it */
};

/* What the steps share. Arrays of bytes have one entry a value unless their comment says otherwise; the
 * struct owns them. */
struct roles {
    struct nda *n;
    const struct nda_options *options; /* NULL: none */
    uint8_t *dataflow;                 /* of each argument: the role before names and the request had a say */
    uint8_t *direct, *reaches, *forward, *apart; /* roles_values.c */
    uint8_t *met;                                /* roles_values.c; none while batches are unknown */
    uint8_t *ends;                               /* the forward pass is not followed back through it */
    uint8_t *metrics;    /* of each result: made of gradients, and no state; NULL: none is */
    struct facts *facts; /* of each color */
    uint8_t *batch;      /* of each color: it is a batch; none while they are unknown */
    bool train;          /* the module is a train step */
    bool mixture;        /* some color is experts' */
};

/* ---- small questions of several steps */
/* size of the color's first factor */
static inline int64_t roles_color_size(const struct nda *n, uint32_t color)
{
    return n->factors[n->color_factors[n->colors[color].factors]].size;
}
/* some dimension of the argument has one of the colors (a byte a color) */
static inline bool roles_argument_has(const struct nda *n, uint32_t argument, const uint8_t *colors)
{
    const struct nda_space *space = &n->spaces[n->arguments[argument].space];
    for (uint32_t factor = 0; factor < space->factor_count; factor++)
        if (colors[n->factors[space->factors + factor].color])
            return true;
    return false;
}

/* ---- step 1: roles_values.c */
/* Adds to direct, met, reaches and forward what follows from arguments[].becomes, metrics, ends and apart. */
void roles_flow(struct roles *roles);
/* Sets apart, and calls roles_flow. Examples are the arguments that are no state; batch_known: of those the
 * ones that hold a batch, and all state of what is no train step. */
void roles_set_apart(struct roles *roles, bool batch_known);
/* values that depend on none of the arguments that are marked (a byte each); a byte a value (owned) */
uint8_t *roles_independent_of(const struct nda *n, const uint8_t *arguments);
/* Values that are parameters (by arguments[].role), moved, or made of parameters only: what a weight becomes
 * before it meets an example (dequantised, normalised, merged with its adapters, made complex) is a weight
 * still, but not what is there once for each example (batch: of each color; NULL: none is one). A byte a
 * value (owned). */
uint8_t *roles_weight_values(const struct nda *n, const uint8_t *batch);

/* ---- step 2: roles_gradients.c */
/* What a gradient looks like is symmetric in its two factors: x' y is one of weights x applied to examples y
 * as well. How much is asked for depends on what else is known of argument and result. */
enum roles_evidence {
    /* argument and result are donated to each other: the dataflow is enough */
    ROLES_TIED,
    /* not tied: the gradient sums all examples up, and the examples are computed, as weights are not */
    ROLES_COMPUTED,
    /* not tied, a model of one layer: instead of computed, nothing else sums over the examples */
    ROLES_GIVEN
};
/* which ops lead from what a result is made of to it */
enum roles_ops { ROLES_ELEMENTWISE, ROLES_OR_MOVED, ROLES_ANY };
/* values that a result is made of by these ops; a byte a value (owned) */
uint8_t *roles_made_of(const struct nda *n, uint32_t result, enum roles_ops by);
/* a contraction (or reduction) sums over a factor of one of the colors / its result has one of the colors */
bool roles_sums(const struct nda *n, const struct nda_space *space, const uint8_t *colors);
bool roles_leaves(const struct nda *n, const struct nda_space *space, const uint8_t *colors);
/* The result is made of a gradient of the argument. examples: out, a byte a color (color_count + 1 bytes, the
 * caller's): the colors of the examples, when true. */
bool roles_is_gradient(const struct nda *n, uint32_t argument, uint32_t result, enum roles_evidence evidence,
                       uint8_t *examples);
/* ... and by elementwise ops of the argument itself: its next value */
bool roles_is_update(const struct nda *n, uint32_t argument, uint32_t result, enum roles_evidence evidence,
                     uint8_t *examples);
/* Some argument becomes (arguments[].becomes) its update or its gradient; the first one gives examples. */
bool roles_find_update(const struct nda *n, const uint8_t *direct, uint8_t *examples);

/* ---- step 3: roles_state.c */
/* Fills arguments[].becomes and updated where nothing is tied: updates, else gradients. Returns whether a
 * gradient was found at all, of tied state too. */
bool roles_find_state(struct nda *n, const uint8_t *direct);
/* some state feeds a contraction, other state of its shape reaches none: weights and their moments */
bool roles_has_moments(const struct nda *n, const uint8_t *direct, const uint8_t *reaches);
/* Results that are no state and yet made of gradients (their norm); a byte a result (owned). After
 * roles_find_state found one: more is state now, so that the examples are looked for again. */
uint8_t *roles_metrics(const struct nda *n, const uint8_t *direct);

/* ---- steps 4 to 9, each after the one before it */
void roles_of_arguments(struct roles *roles); /* arguments[].role */
/* after roles_of_arguments: names and the request. Ends with the roles that hold. */
void roles_vote(struct roles *roles);
/* a warning for every argument on which the voters differ, and for patterns that match nothing */
void roles_tell_votes(const struct roles *roles);
void roles_collect_facts(struct roles *roles); /* adds to facts */
void roles_find_facts(struct roles *roles);    /* steps 4 and 5 anew, from empty facts */
bool roles_find_batches(struct roles *roles);  /* batch; false: there is none */
void roles_of_colors(struct roles *roles);     /* colors[].roles, groups[].roles */
/* of each color, what the field calls what it does, or NULL (the array owned, the words static) */
const char **roles_terms(const struct roles *roles);
void roles_label_groups(struct roles *roles); /* groups[].label */

#endif

/* A module as a cost-function network: a node for every space of the analysis, whose values are its legal
 * shardings; costs in picoseconds, usages in bytes on one device. docs/cfn.md has the idea and the tests.
 *
 *   node cost    time of the op under its sharding, times the trips of the loops around it
 *   edge cost    collectives from the form in which a value is made to the form in which a use wants it
 *   usage        bytes of the results, from where they are made to their last use; limit: the machine's
 *
 * Two kinds of network. A *heuristic* one is priced as it is, to find plans (which the walk then prices).
 * The *admissible* one is a relaxation: its optimum, hence its certified bound, is at most the step time of
 * every plan that fits:
 *   - a node costs what its FLOPs alone take;
 *   - an edge costs the bytes that a device does not hold at the fastest rate of any group, divided by the
 *     number of uses of the value; nothing where the walk may defer a partial, make the value again or
 *     leave the use out;
 *   - memory counts arguments alone.
 * Its bound is only given when no sharding was left out (struct plan_cfn_answer.has_bound).
 *
 * Nothing here reads a clock or is random beyond the seed: equal modules, machines and budgets give equal
 * answers. */
#ifndef TOAST_PLAN_CFN_PLAN_CFN_H
#define TOAST_PLAN_CFN_PLAN_CFN_H

#include "cfn/solve.h"
#include "cost/price.h"

enum plan_cfn_kind {
    PLAN_CFN_SHARED, /* heuristic: an edge costs its reshard divided by the uses of the value */
    PLAN_CFN_MOVING, /* the same without the time of local slices, which often fuse */
    PLAN_CFN_FULL,   /* heuristic: every use pays for its reshard */
    PLAN_CFN_ADMISSIBLE
};

struct plan_cfn;
/* The evaluator must outlive it. ERROR_UNSUPPORTED_MODULE as of spmd_walk; ERROR_TOO_LARGE: above 2^28
 * matrix entries. */
enum error_code plan_cfn_create(const struct evaluator *evaluator, enum plan_cfn_kind kind,
                                struct plan_cfn **out, struct error *e) BASE_CHECKED;
/* The same with one node for what repeats in every layer, where the evaluator is folded: all layers but the
 * first and the last are split alike. Such a network is no relaxation. */
enum error_code plan_cfn_create_folded(const struct evaluator *evaluator, enum plan_cfn_kind kind,
                                       struct plan_cfn **out, struct error *e) BASE_CHECKED;
/* makes it the network of another kind: the same nodes and values, other costs, usages and edges; the
 * machine's limit */
enum error_code plan_cfn_switch(struct plan_cfn *n, enum plan_cfn_kind kind, struct error *e) BASE_CHECKED;
void plan_cfn_destroy(struct plan_cfn *n);
const struct cfn_problem *plan_cfn_problem(const struct plan_cfn *n); /* borrowed */
void plan_cfn_set_limit(struct plan_cfn *n, int64_t bytes);
bool plan_cfn_complete(const struct plan_cfn *n); /* no sharding was left out of any node */
/* values: one a node -> the plan that they say; the plan must be initialised */
void plan_cfn_plan(const struct plan_cfn *n, const int32_t *values, struct plan *out);
/* The problem as contest JSON, one line. */
void plan_cfn_write(const struct plan_cfn *n, const char *name, struct text *out);

struct plan_cfn_budget {
    uint64_t passes,
        /* work of each round, in passes over all edges of the network (8 to 10,000 units of the solver in
         * all); 0: 2000 */
        seed;
    /* only a plan, and of the heuristic networks only those that promise one */
    bool quick;
    /* of a plan found otherwise, borrowed; a quick run that is behind it ends; may be NULL */
    const struct cost *known;
    int threads;                   /* 1 or 2; the answer is the same */
    bool (*cancelled)(void *user); /* may be NULL */
    void *user;
};
struct plan_cfn_answer {
    struct plan_factors factors; /* beyond the pins; owned */
    struct hash128 hash;
    struct price price; /* by the walk */
    struct cost cost;
    uint32_t rounds;
    bool has_bound;
    int64_t bound_ps; /* no plan that fits takes less */
};
/* Solves the heuristic networks, prices each answer by the walk and lowers the memory limit of the next
 * round where it did not fit; keeps the best by cost_compare, with equal layers split equally where that
 * costs at most 1 % more (level.c). Then the admissible network's bound, unless
 * quick. Equal inputs give equal answers. ERROR_CANCELLED. Release in any case. */
enum error_code plan_cfn_solve(const struct evaluator *evaluator, const struct plan_cfn_budget *budget,
                               struct plan_cfn_answer *out, struct error *e) BASE_CHECKED;
void plan_cfn_answer_release(struct plan_cfn_answer *cfn_answer);
/* What it would cost to split equal layers equally. Two ops, or arguments, are alike that are and lie alike
 * for one, two, four or eight steps of dataflow; of the four plans that give each what most of its like have,
 * the cheapest one that is not the plan. Of any planner's plan. */
struct plan_cfn_alike {
    uint32_t others; /* arguments and contractions that it splits otherwise; 0: equal layers are alike */
    struct price price;
    struct cost cost;
};
/* session: any of the context's evaluator. Errors are evaluator_price's. */
enum error_code plan_cfn_alike(const struct plan_context *context, struct evaluator_session *session,
                               const struct plan *plan, struct plan_cfn_alike *out,
                               struct error *e) BASE_CHECKED;
/* Position-independent bytes (*bytes owned) and back: the factors are applied and the plan priced again,
 * so that what came over a network cannot claim another price. ERROR_INTERNAL: not such bytes, or of
 * another problem. */
void plan_cfn_answer_write(const struct plan_cfn_answer *cfn_answer, unsigned char **bytes, size_t *size);
enum error_code plan_cfn_answer_read(const struct evaluator *evaluator, const void *bytes, size_t size,
                                     struct plan_cfn_answer *out, struct error *e) BASE_CHECKED;

#endif

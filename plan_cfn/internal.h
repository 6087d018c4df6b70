/* What the files of plan_cfn/ share: the network, and where each part of it is made. */
#ifndef TOAST_PLAN_CFN_INTERNAL_H
#define TOAST_PLAN_CFN_INTERNAL_H

#include "plan_cfn/plan_cfn.h"

#include "base/memory.h"
#include "cost/estimate.h"
#include "spmd/forms.h"

enum {
    PLAN_CFN_MAX_OPTIONS = 64,      /* shardings of a node */
    PLAN_CFN_MAX_ENTRIES = 1 << 28, /* of all matrices together */
};
#define PLAN_CFN_FORBIDDEN INT64_C(1000000000000000000)

struct plan_cfn {
    const struct plan_context *context; /* borrowed, as the next three */
    const struct nda *nda;
    const struct mesh *mesh;
    const struct cost_machine *machine;
    enum plan_cfn_kind kind;
    struct spmd_forms *forms;
    const struct cost_estimate *estimate; /* the evaluator's */
    bool cut;                             /* some node has fewer options than it might */

    uint32_t *node_of;  /* per space: node, NDA_NONE: its value can be had in any form */
    uint32_t *space_of; /* per node; of several alike the one that stands for them */
    uint32_t *like;     /* per space: the one that stands for it (layers.c); NULL: each for itself */
    struct plan_cfn_spaces *shared; /* per node, with like */
    uint32_t *first_option;         /* per node and one more: range of options */
    VEC(struct plan_cell) cells;    /* options x axes */
    uint32_t *slot_space;           /* per slot */
    uint32_t *uses;                 /* per program value: operand slots of nodes */
    int64_t *trips;                 /* per space: product of the loops around it */
    uint8_t *may_be_partial;        /* per program value: some plan leaves it partial */
    struct cfn_problem problem;
};

/* the spaces that are one node */
struct plan_cfn_spaces {
    uint32_t count, together; /* so many of them hold memory at a time, at most */
    struct cost_life life;    /* .. when that is so */
};

static inline uint32_t plan_cfn_like(const struct plan_cfn *n, uint32_t space)
{
    return n->like ? n->like[space] : space;
}
static inline const struct plan_cell *plan_cfn_option(const struct plan_cfn *n, uint32_t node,
                                                      uint32_t option)
{
    return n->cells.at + (size_t)(n->first_option[node] + option) * n->mesh->axis_count;
}
static inline uint32_t plan_cfn_domain(const struct plan_cfn *n, uint32_t node)
{
    return n->first_option[node + 1] - n->first_option[node];
}

/* options.c: the legal shardings of every space; node_of, space_of, first_option, cells, cut */
void plan_cfn_options(struct plan_cfn *n);
/* edges.c: problem.edges, matrices, entries */
enum error_code plan_cfn_edges(struct plan_cfn *n, struct error *e) BASE_CHECKED;
/* memory.c: intervals and usages */
void plan_cfn_memory(struct plan_cfn *n);
struct cost_life plan_cfn_life(const struct plan_cfn *n, uint32_t space);
/* layers.c, before the nodes are made: spaces of layers that are alike become one. Where pins tell layers
 * apart each stays its own. */
void plan_cfn_share(struct plan_cfn *n, const struct fold *fold);
/* .. how many a node stands for, and when those hold memory; the kind's */
void plan_cfn_count_shared(struct plan_cfn *n);
/* .. of edges between the same nodes one, with the costs of all; those from a node to itself are its costs */
enum error_code plan_cfn_share_edges(struct plan_cfn *n, struct error *e) BASE_CHECKED;
/* level.c: a plan in which equal layers are split equally in place of the given one, with its price and cost,
 * where it fits as well and costs at most 1 % more */
enum error_code plan_cfn_level(const struct plan_context *context, struct evaluator_session *session,
                               struct plan *plan, struct price *price, struct cost *cost,
                               struct error *e) BASE_CHECKED;

#endif

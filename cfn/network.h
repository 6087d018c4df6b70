/* The network under reduction: super-nodes with unary costs and usage items, one link per joined pair.
 *
 *     cost  = constant + SUM unary(u, value) + SUM link table(value, value)
 *     usage at retained time t = base[t] + SUM over items with left <= t < right of use[value]
 *
 * A super-node keeps the number of the problem's node it grew from; what was merged into it is known to the
 * undo stack only. Every rule in reduce.h keeps the optimum, or sets `wiped` when no answer without infinite
 * costs exists. */
#ifndef TOAST_CFN_NETWORK_H
#define TOAST_CFN_NETWORK_H

#include "base/memory.h"
#include "cfn/problem.h"
#include "cfn/table.h"
#include "cfn/undo.h"

struct cfn_link {
    int32_t first, second;
    struct cfn_table *table; /* rows of first, columns of second; NULL: removed */
};

struct cfn_item {
    int32_t left, right; /* retained times */
    int64_t *use;        /* by value, least 0; owned */
};

struct cfn_super {
    int32_t size;       /* values; 0: not alive */
    bool queued, stale; /* in the worklist; to be looked at for dominance */
    int64_t *unary;     /* owned */
    VEC(int32_t) links;
    VEC(struct cfn_item) items; /* ascending (left, right), no two equal */
};

struct cfn_network {
    const struct cfn_problem *problem; /* borrowed */
    struct cfn_super *nodes;           /* problem->node_count */
    VEC(struct cfn_link) links;
    struct cfn_tables tables;
    struct cfn_undo undo;
    VEC(int32_t) queue;
    size_t queue_head;
    int64_t constant;
    int32_t time_count; /* retained times */
    int64_t *base;      /* usage there that no choice changes */
    int64_t limit;
    uint64_t implied_work; /* spent on times that any other implies (implied.h) */
    bool wiped;
    bool lowered;       /* costs were capped to fit 64 bits: the optimum is a lower bound only */
    bool changed_usage; /* base grew or items changed since the last memory pruning */
};

void cfn_network_destroy(struct cfn_network *n);

void cfn_network_push(struct cfn_network *n, int32_t node); /* onto the worklist, once */
/* joins one and other with a table (rows of one); reference taken over; added to the link that is there */
void cfn_network_connect(struct cfn_network *n, int32_t one, int32_t other, struct cfn_table *table);
void cfn_network_cut(struct cfn_network *n, int32_t link);
/* keeps the values listed (ascending old numbers) */
void cfn_network_keep(struct cfn_network *n, int32_t node, const int32_t *kept, int32_t count);
void cfn_network_remove(struct cfn_network *n, int32_t node); /* no links left */
/* adds an item (use taken over), its minimum to base; equal (left, right) summed */
void cfn_network_add_item(struct cfn_network *n, int32_t node, struct cfn_item item);

/* a link seen from one of its ends: entry(own value a, other's value b) = at[a * own + b * step] */
struct cfn_view {
    int32_t other;
    int32_t size; /* of other */
    size_t own, step;
    const int64_t *at;
    const struct cfn_table *table;
    bool turned; /* own values are the table's columns */
};
struct cfn_view cfn_network_view(const struct cfn_network *n, int32_t node, int32_t link);

#endif

/* A model with fewer values: those of a leaf of the proof, so that a pass touches no table entry of what is
 * out of the question. Nodes, times and links are those of the model that it was made of, and so is the
 * order in which passes visit nodes; only rows are shorter:
 *
 *     of        0 1 2 3 4 5 6        mask   0 1 1 0 1 0 1
 *     model     0     1   2          value  0 3 5            where they stand in `of`
 *
 * Costs are the same, entry by entry, so whatever bounds the one bounds the other's assignments of what is
 * left. Owned tables; one thread at a time. */
#ifndef TOAST_CFN_NARROW_H
#define TOAST_CFN_NARROW_H

#include "cfn/clusters.h"

struct cfn_narrow {
    const struct cfn_model *of; /* borrowed; NULL: none */
    struct cfn_model model;
    int32_t *value;      /* by padded value: its number at the same node of `of` */
    int64_t *use;        /* of the items; the next one, too */
    int64_t *exact;      /* of the links, where model.rows has the rows of their lower nodes */
    uint32_t *first_arc; /* of the model, once it is folded */
    uint64_t work;       /* table entries that it took */
};

/* Without what the mask (by padded value of `of`, not 0: gone) names; every node keeps a value. */
void cfn_narrow_create(const struct cfn_model *of, const uint8_t *mask, struct cfn_narrow *out);
void cfn_narrow_release(struct cfn_narrow *narrow); /* zeroed is fine */
/* Messages of `of`, as a backward pass leaves them, become the narrow model's; and back, where what is gone
 * stays as it was. */
void cfn_narrow_messages(const struct cfn_narrow *narrow, const double *whole, double *message);
void cfn_narrow_widen(const struct cfn_narrow *narrow, const double *message, double *whole);

/* The narrow model of what clusters relax: beside fewer values of a cluster's middle node less is owed for
 * what it moved, and its third link gets the difference back. Exact, as the whole model's tables are. */
void cfn_narrow_complete(struct cfn_narrow *narrow, const struct cfn_clusters *clusters);

/* Links of nodes with one value become costs of their other ends, and go: passes share a node's costs among
 * links that may still say something. Exact; after cfn_narrow_complete, which wants all links. */
void cfn_narrow_fold(struct cfn_narrow *narrow);

#endif

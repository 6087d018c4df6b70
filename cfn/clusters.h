/* Clusters of three nodes over a model, for its bound. TRW-S bounds each link by itself, and what goes round
 * a cycle escapes it. A cluster moves costs between the three links of a triangle; where a cycle of four has
 * no triangle a chord, a link of zeros, makes two:
 *
 *       0 --- 1          cluster (0, 1, 2) on links 01, 12, 02
 *       |   / |          cluster (1, 2, 3) on links 12, 23, 13
 *       |  /  |          12 is a chord
 *       2 --- 3
 *
 *     moved[01](a, b) + moved[12](b, c) + moved[02](a, c) <= 0      for all a, b, c, in integers
 *
 * The relaxed model has the nodes, values and items of the model and every link's table with what clusters
 * moved to it: no assignment within the limit costs more there, so that its bounds are the model's, whatever
 * was moved. Beyond the limit some cost a penalty more, as much as anything can cost: pairs of values that
 * leave too little room for everyone else (conflicts.h). It is finite: a value may exclude all of another
 * node's, and infinite costs that come from passes, not from tables, leave nothing of a sum. */
#ifndef TOAST_CFN_CLUSTERS_H
#define TOAST_CFN_CLUSTERS_H

#include "cfn/conflicts.h"

enum { CFN_CLUSTER_LINKS = 3 };
#define CFN_MOST_MOVED                                                                                       \
    (INT64_C(1) << 51) /* to an entry of the first two links; twice that to one of the third */

struct cfn_cluster {
    int32_t node[CFN_CLUSTER_LINKS]; /* ascending */
    int32_t link[CFN_CLUSTER_LINKS]; /* 01, 12, 02 */
    size_t moved[CFN_CLUSTER_LINKS]; /* where their tables begin */
};

struct cfn_relaxed_link {
    int32_t first, second;     /* nodes, ascending */
    const struct cfn_arc *arc; /* of the model, at first; NULL: a chord */
    const uint8_t *never;      /* of conflicts, by values of first and second; NULL: none */
    bool clustered;            /* or with conflicts: it has a table of its own */
    size_t table;   /* of such a link: where its entries begin in `exact`, and in scratch of that size */
    size_t columns; /* where they begin in columns; rows stand at `table` */
};

struct cfn_clusters {
    const struct cfn_model *model; /* borrowed */
    struct cfn_model relaxed;
    struct cfn_relaxed_link *links; /* relaxed.link_count */
    struct cfn_conflicts conflicts;
    int64_t penalty; /* of a conflict */
    struct cfn_cluster *at;
    int32_t count;
    size_t moved_count, entry_count, column_count;
    int64_t *moved; /* rows of the first node, padded to whole vectors as the second's values are */
    int64_t *exact; /* the relaxed tables of clustered links, laid out alike */
    float *columns;
    uint64_t cells; /* that a sweep over all clusters touches */
};

/* Without clusters where there are no short cycles; the cheapest where a sweep over all would touch more than
 * most_cells. excludes: pairs of values that do not fit beside each other pay a penalty, on links of their
 * own where there are none. Everything moved is 0. */
void cfn_clusters_create(const struct cfn_model *model, double most_cells, bool excludes,
                         struct cfn_clusters *clusters);
void cfn_clusters_release(struct cfn_clusters *clusters);
/* the relaxed tables from what was moved */
void cfn_clusters_load(struct cfn_clusters *clusters);
/* whether what was moved is as it has to be: no cluster gives more than it takes, anywhere */
bool cfn_clusters_valid(const struct cfn_clusters *clusters);

#endif

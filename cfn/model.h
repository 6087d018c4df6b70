/* The reduced network laid out for the search: dense node numbers in the problem's order, both orientations
 * of each distinct table in float (rounded down) and padded rows, exact int64 tables beside them. Immutable;
 * shared by workers.
 *
 * Compressed rows (CSR): the arcs of node i are arcs[first_arc[i] .. first_arc[i + 1]), its items likewise.
 *
 *       first_arc   0      2         5   ..        a link appears twice, once from each end
 *                   |      |         |
 *       arcs        1  4 | 0  2  4 | 1 ..          by node, each ascending in `other`
 *
 * Arrays by value are padded to whole vectors: value a of node i stands at offset[i] + a, a < size[i] <=
 * width[i].
 *
 *       unary       c c c c c - - -  c c - - - - - -  ..       - padding, infinite; value_count in all
 *                   ^offset[0]       ^offset[1]
 *
 * A point is an assignment of the model's nodes with its exact cost and its worst violation. */
#ifndef TOAST_CFN_MODEL_H
#define TOAST_CFN_MODEL_H

#include "cfn/network.h"

struct cfn_arc {
    int32_t other;
    uint32_t link;
    int32_t row_width, column_width; /* padded sizes of other and of the node itself */
    const float *rows;               /* by the node's value, over other's values */
    const float *columns;            /* by other's value, over the node's values */
    const int64_t *exact;            /* entry(a, b) = exact[a * own + b * step] */
    size_t own, step;
};

struct cfn_model_item {
    int32_t left, right;
    const int64_t *use; /* of the network */
};

struct cfn_model {
    const struct cfn_network *network; /* borrowed; must outlive the model */
    int32_t node_count, link_count, time_count;
    int32_t largest; /* greatest padded size */
    int64_t constant, limit;
    const int64_t *base;
    int32_t *node;                    /* the network's number */
    int32_t *size, *width;            /* values; padded */
    size_t *offset;                   /* of the node's row in arrays over all values, in padded widths */
    size_t value_count;               /* length of such arrays */
    int64_t *unary;                   /* such an array; CFN_INFINITE in the padding */
    uint32_t *first_arc, *first_item; /* node_count + 1 */
    struct cfn_arc *arcs;             /* by node, ascending other */
    struct cfn_model_item *items;
    size_t *message_offset; /* by link: room for the wider end */
    size_t message_count;
    uint64_t table_work, forest_work; /* entries one pass over all links, over all nodes touches */
    float *rows;                      /* all tables */
};

/* the greatest float not above c; CFN_HUGE of what is infinite */
float cfn_round_down(int64_t c);
void cfn_model_create(const struct cfn_network *n, struct cfn_model *out);
void cfn_model_release(struct cfn_model *model);

struct cfn_point {
    int32_t *value;    /* by model node; owned */
    int64_t cost;      /* constant included, infinite entries left out */
    int32_t forbidden; /* number of infinite entries */
    int64_t worst;     /* greatest usage minus limit over retained times; INT64_MIN without any */
};

void cfn_point_create(const struct cfn_model *model, struct cfn_point *point); /* all values 0; evaluate it */
void cfn_point_release(struct cfn_point *point);
void cfn_point_copy(const struct cfn_model *model, struct cfn_point *to, const struct cfn_point *from);
/* cost, forbidden and worst from the values; profile (time_count + 1, may not be NULL) becomes the usage at
 * each time */
void cfn_point_evaluate(const struct cfn_model *model, struct cfn_point *point, int64_t *profile);
static inline bool cfn_point_feasible(const struct cfn_point *point)
{
    return point->forbidden == 0 && point->worst <= 0;
}

/* cost change of giving node the value a; *forbidden changes with it */
int64_t cfn_point_flip_cost(const struct cfn_model *model, const struct cfn_point *point, int32_t node,
                            int32_t a, int32_t *forbidden);
/* table entries that evaluating a point counts as */
static inline uint64_t cfn_point_work(const struct cfn_model *model)
{
    return model->forest_work + (uint64_t)model->time_count * 2;
}
/* values of all of the problem's nodes */
void cfn_point_expand(const struct cfn_model *model, const struct cfn_point *point, int32_t *values);

#endif

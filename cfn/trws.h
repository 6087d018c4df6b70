/* Sequential tree-reweighted message passing (TRW-S; Kolmogorov, PAMI 2006) over unary costs that may carry
 * usage penalties: a lower bound, and messages for rounding. Messages survive changes of the penalties. */
#ifndef TOAST_CFN_TRWS_H
#define TOAST_CFN_TRWS_H

#include "cfn/narrow.h"

struct cfn_trws {
    const struct cfn_model *model; /* borrowed */
    /* whose model this is; values are then told and asked for by the numbers of what it was made of. NULL:
     * model's own; borrowed */
    const struct cfn_narrow *narrow;
    double *message;        /* one per link, towards the node visited later in the running pass */
    double *unary;          /* costs with penalties; m->value_count */
    double *belief, *share; /* scratch of one node */
    const uint8_t *dropped; /* by padded value, not 0: costs drop_cost more; NULL: none; borrowed */
    /* 0 or more. Far above all costs it forbids, and 10^30 would, too; but messages add and take off shares
     * of it, and what is left of a sum with 10^30 in double is good to 10^14. */
    double drop_cost;
    bool notes;     /* passes note what they round: */
    bool infinite;  /* something at or above 10^29 was among it */
    double noted;   /* the sum of the magnitudes */
    double *prices; /* running sums of lambda, time_count + 1: prices[t + 1] >= prices[t] */
};

void cfn_trws_create(const struct cfn_model *model, struct cfn_trws *trws);
void cfn_trws_release(struct cfn_trws *trws);
/* on to a model with the same nodes and the same first links, and perhaps others; messages come along */
void cfn_trws_move(struct cfn_trws *trws, const struct cfn_model *to);
/* on to a narrow model of the one at hand, with messages that the caller fills in; NULL: back to that */
void cfn_trws_narrow(struct cfn_trws *trws, const struct cfn_narrow *narrow);
/* lambda (time_count, >= 0, cost per unit of usage; NULL: none) becomes prices and unary */
void cfn_trws_price(struct cfn_trws *trws, const double *lambda);
/* a forward and a backward pass; the bound as computed, without certificate, of the whole problem */
double cfn_trws_iterate(struct cfn_trws *trws);
/* The same, and for each padded value what an assignment with it costs at least (CFN_HUGE or so: none);
 * out: m->value_count. What comes later in the pass is not in it: it may be below the bound. */
double cfn_trws_marginals(struct cfn_trws *trws, double *out);
/* The same as cfn_trws_iterate, and for links with an offset what is left of their tables, none below 0 but
 * for rounding: rows of the lower node, padded as the higher's values are. offset: by link, SIZE_MAX: not
 * wanted. */
double cfn_trws_residuals(struct cfn_trws *trws, const size_t *offset, float *out);
/* A pass whose bound is never above the optimum: long double, exact tables, minus a bound on all rounding
 * errors. The result is a cost: rounded up to an integer where that is safe. */
int64_t cfn_trws_certify(struct cfn_trws *trws);
/* A pass as cfn_trws_iterate whose bound is certified, too, in double over the float tables: lower by a part
 * in 10^7 or so. INT64_MIN: something stands for infinite cost; cfn_trws_certify does for all. Counts as two
 * single passes. */
int64_t cfn_trws_certify_quickly(struct cfn_trws *trws);
/* Certified: no assignment with value a of node i costs less than out[m->offset[i] + a]; INT64_MAX: there is
 * none. out: m->value_count; what a narrow model leaves out stays as it was there. Messages stay as they are.
 * -> single passes that it counts as. */
int cfn_trws_certify_values(struct cfn_trws *trws, int64_t *out);
/* values node by node: unary, rows of earlier neighbours as they were fixed, messages of later ones */
void cfn_trws_round(struct cfn_trws *trws, int32_t *value);
/* costs with `scale` times the penalties of prices, in float, for moves; out: m->value_count */
void cfn_price_unary(const struct cfn_model *model, const double *prices, double scale, float *out);
/* the same of one node; out as there */
void cfn_price_node(const struct cfn_model *model, const double *prices, double scale, int32_t i, float *out);
/* table entries that pricing every value counts as: an item adds a penalty to some 16 values */
static inline uint64_t cfn_price_work(const struct cfn_model *model)
{
    return model->value_count + model->first_item[model->node_count] * 16ull;
}
/* a certificate counts as so many single passes: long double, exact tables, no vector instructions */
enum { CFN_CERTIFY_PASSES = 12 };

#endif

/* TRW-S (V. Kolmogorov, "Convergent tree-reweighted message passing for energy minimization", IEEE PAMI
 * 28(10), 2006, doi 10.1109/TPAMI.2006.200). Nodes are visited in their order and back; each sends a share
 * of its belief to the neighbours on the other side, as messages in both directions of a link share one
 * array:
 *
 *   forward    1 -> 2 -> 3 -> 4
 *   backward   1 <- 2 <- 3 <- 4
 *
 *   gather     belief[a] = unary[a] + all messages to a, less its minimum
 *   send       message[b] = min over a of gamma * belief[a] - message[a] + table[a][b], less its minimum
 *
 * The minima that were subtracted add up to a lower bound that no pass lowers (but for rounding). gamma is
 * one over the greater number of links to either side, so that the shares of a node never sum to more than
 * it has.
 *
 * Fast passes are in double over float tables that were rounded down. The certificate is a backward pass of
 * its own in long double over the exact tables: for any messages and any lambda >= 0 the sum is a valid
 * bound, and every operation's magnitude is noted, so that what rounding can have added is taken off.
 * Messages are as they were afterwards.
 *
 * A fast pass certifies as well, when the magnitudes of its operations are noted: float tables are at or
 * below the exact ones. What it gives away is a rounding of each table entry, one part in 10^7; and it says
 * nothing where anything stands for infinite cost, as what is left of a sum with 10^30 in double is
 * anything. */
#include "cfn/trws.h"

#include "cfn/kernel.h"

#include <float.h>
#include <stdlib.h>

enum { QUICK_VALUES_PASSES = 4 }; /* two, with notes */

static const double huge = 1e29; /* at or above it a value stands for infinite cost */

void cfn_trws_create(const struct cfn_model *model, struct cfn_trws *trws)
{
    *trws = (struct cfn_trws){.model = model, .drop_cost = (double)CFN_HUGE};
    trws->message = mem_zalloc(model->message_count + 16, sizeof *trws->message);
    trws->unary = mem_zalloc(model->value_count + 16, sizeof *trws->unary);
    trws->belief = mem_zalloc((size_t)model->largest + 16, sizeof *trws->belief);
    trws->share = mem_zalloc((size_t)model->largest + 16, sizeof *trws->share);
    trws->prices = mem_zalloc((size_t)model->time_count + 1, sizeof *trws->prices);
    cfn_trws_price(trws, NULL);
}

void cfn_trws_move(struct cfn_trws *trws, const struct cfn_model *to)
{
    const struct cfn_model *from = trws->model;
    double *message = mem_zalloc(to->message_count + 16, sizeof *message);
    for (int32_t k = 0; k < from->link_count && k < to->link_count; k++) {
        size_t end = k + 1 < from->link_count ? from->message_offset[k + 1] : from->message_count;
        memcpy(message + to->message_offset[k], trws->message + from->message_offset[k],
               (end - from->message_offset[k]) * sizeof *message);
    }
    free(trws->message);
    trws->message = message;
    trws->model = to;
}

void cfn_trws_release(struct cfn_trws *trws)
{
    free(trws->message);
    free(trws->unary);
    free(trws->belief);
    free(trws->share);
    free(trws->prices);
    *trws = (struct cfn_trws){0};
}

void cfn_trws_narrow(struct cfn_trws *trws, const struct cfn_narrow *narrow)
{
    trws->model = narrow ? &narrow->model : trws->narrow ? trws->narrow->of : trws->model;
    trws->narrow = narrow;
}

/* where arrays by padded value, that callers give and get, have value a of node i */
static size_t told_at(const struct cfn_trws *trws, int32_t i, int32_t a)
{
    size_t at = trws->model->offset[i] + (size_t)a;
    return trws->narrow ? trws->narrow->of->offset[i] + (size_t)trws->narrow->value[at] : at;
}

static bool is_dropped(const struct cfn_trws *trws, int32_t i, int32_t a)
{
    return trws->dropped && a < trws->model->size[i] && trws->dropped[told_at(trws, i, a)];
}

void cfn_trws_price(struct cfn_trws *trws, const double *lambda)
{
    const struct cfn_model *model = trws->model;
    trws->prices[0] = 0;
    for (int32_t k = 0; k < model->time_count; k++)
        trws->prices[k + 1] = trws->prices[k] + (lambda ? lambda[k] : 0);
    for (int32_t i = 0; i < model->node_count; i++) {
        double *c = trws->unary + model->offset[i];
        for (int32_t a = 0; a < model->width[i]; a++) {
            int64_t exact = model->unary[model->offset[i] + (size_t)a];
            c[a] = cfn_infinite(exact) ? (double)CFN_HUGE : (double)exact;
            c[a] += is_dropped(trws, i, a) ? trws->drop_cost : 0;
        }
        for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++) {
            double price = trws->prices[model->items[k].right] - trws->prices[model->items[k].left];
            for (int32_t a = 0; a < model->size[i] && price > 0; a++)
                c[a] += price * (double)model->items[k].use[a];
        }
    }
}

CFN_KERNEL static void add_message(double *restrict sum, const double *restrict message, int32_t width)
{
    for (int32_t a = 0; a < width; a++)
        sum[a] += message[a];
}

/* out[b] = min over a of share[a] + rows[a][b] */
CFN_KERNEL static void min_plus(double *restrict out, const double *restrict share, int32_t size,
                                const float *restrict rows, int32_t width)
{
    for (int32_t b = 0; b < width; b++)
        out[b] = share[0] + (double)rows[b];
    for (int32_t a = 1; a < size; a++) {
        const float *row = rows + (size_t)a * (size_t)width;
        double s = share[a];
        for (int32_t b = 0; b < width; b++) {
            double c = s + (double)row[b];
            out[b] = c < out[b] ? c : out[b];
        }
    }
}

static double least(const double *at, int32_t size)
{
    double best = at[0];
    for (int32_t a = 1; a < size; a++)
        best = at[a] < best ? at[a] : best;
    return best;
}

/* ---- what fast passes note: the sum of the magnitudes of all that was rounded ---- */

static double most_of(const double *at, int32_t size)
{
    double most = 0;
    for (int32_t a = 0; a < size; a++) {
        double x = at[a] < 0 ? -at[a] : at[a];
        most = x > most ? x : most;
    }
    return most;
}

/* `operations` roundings, each of something at most as large as `most` */
static void note(struct cfn_trws *trws, double most, double operations)
{
    trws->noted += most * operations;
    trws->infinite = trws->infinite || !(most < huge);
}

/* A sum of costs and penalties never exceeds what they come to and twice the costs: penalties are not
 * negative. */
static double most_priced(const struct cfn_trws *trws, int32_t i)
{
    const struct cfn_model *model = trws->model;
    double most = 0;
    for (int32_t a = 0; a < model->size[i]; a++) {
        int64_t exact = model->unary[model->offset[i] + (size_t)a];
        double x = exact < 0 ? -(double)exact : (double)exact;
        most = x > most ? x : most;
    }
    return 2 * most + most_of(trws->unary + model->offset[i], model->size[i]);
}

/* unary plus all messages into t->belief, less its minimum, which is returned; *gamma as in the paper */
static double gather(struct cfn_trws *trws, int32_t i, double *gamma)
{
    const struct cfn_model *model = trws->model;
    int32_t width = model->width[i], earlier = 0;
    memcpy(trws->belief, trws->unary + model->offset[i], (size_t)width * sizeof *trws->belief);
    if (trws->notes)
        note(trws, most_priced(trws, i), model->first_item[i + 1] - model->first_item[i] + 4);
    for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
        const double *message = trws->message + model->message_offset[model->arcs[k].link];
        earlier += model->arcs[k].other < i;
        add_message(trws->belief, message, width);
        if (trws->notes)
            note(trws, most_of(trws->belief, model->size[i]) + most_of(message, model->size[i]), 2);
    }
    int32_t later = (int32_t)(model->first_arc[i + 1] - model->first_arc[i]) - earlier;
    *gamma = 1.0 / (later > earlier ? later : earlier > 0 ? earlier : 1);
    double low = least(trws->belief, model->size[i]);
    for (int32_t a = 0; a < model->size[i]; a++)
        trws->belief[a] -= low;
    return low;
}

/* sends node i's share over one arc; returns what was subtracted */
static double send(struct cfn_trws *trws, int32_t i, const struct cfn_arc *arc, double gamma)
{
    const struct cfn_model *model = trws->model;
    double *message = trws->message + model->message_offset[arc->link];
    if (trws->notes)
        note(trws, most_of(trws->belief, model->size[i]) + most_of(message, model->size[i]), 8);
    for (int32_t a = 0; a < model->size[i]; a++)
        trws->share[a] = gamma * trws->belief[a] - message[a];
    min_plus(message, trws->share, model->size[i], arc->rows, arc->row_width);
    if (trws->notes) /* the winning sums' table entries are at most as large as these two */
        note(trws, most_of(trws->share, model->size[i]) + most_of(message, model->size[arc->other]), 8);
    double low = least(message, model->size[arc->other]);
    for (int32_t b = 0; b < model->size[arc->other]; b++)
        message[b] -= low;
    return low;
}

/* what a link keeps beside a value of its other end */
CFN_KERNEL static void left_over(float *restrict out, const double *restrict share,
                                 const float *restrict column, double sent, int32_t size)
{
    for (int32_t a = 0; a < size; a++)
        out[a] = (float)(share[a] + (double)column[a] - sent);
}

static void pass_forward(struct cfn_trws *trws)
{
    const struct cfn_model *model = trws->model;
    for (int32_t i = 0; i < model->node_count; i++) {
        double gamma;
        gather(trws, i, &gamma);
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++)
            if (model->arcs[k].other > i)
                send(trws, i, &model->arcs[k], gamma);
    }
}

/* SUM lambda_t (limit - base_t) */
static long double usage_constant(const struct cfn_trws *trws, long double *size)
{
    long double sum = 0;
    for (int32_t k = 0; k < trws->model->time_count; k++) {
        long double lambda = (long double)trws->prices[k + 1] - (long double)trws->prices[k];
        long double term = lambda * (long double)(trws->model->limit - trws->model->base[k]);
        sum += term;
        *size += term < 0 ? -term : term;
    }
    return sum;
}

double cfn_trws_residuals(struct cfn_trws *trws, const size_t *offset, float *out)
{
    const struct cfn_model *model = trws->model;
    long double size = 0;
    double bound = (double)model->constant - (double)usage_constant(trws, &size), gamma;
    pass_forward(trws);
    for (int32_t i = model->node_count; i-- > 0;) {
        bound += gather(trws, i, &gamma);
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1] && model->arcs[k].other < i; k++) {
            const struct cfn_arc *arc = &model->arcs[k];
            double low = send(trws, i, arc, gamma);
            bound += low;
            if (!offset || offset[arc->link] == SIZE_MAX)
                continue;
            const double *message = trws->message + model->message_offset[arc->link];
            float *row = out + offset[arc->link];
            for (int32_t b = 0; b < model->size[arc->other]; b++, row += arc->column_width)
                left_over(row, trws->share, arc->columns + (size_t)b * (size_t)arc->column_width,
                          message[b] + low, model->size[i]);
        }
    }
    return bound;
}

double cfn_trws_iterate(struct cfn_trws *trws)
{
    return cfn_trws_residuals(trws, NULL, NULL);
}

/* With x_i = a fixed the cost is at least what the forward pass subtracted before it came to i, what the
 * backward pass subtracted from i's far side, and the belief of i at a when the backward pass gathers it
 * there. What later nodes sent past i does not count: it stands in messages that i's belief has not seen. */
struct split {
    long double *before; /* by node: all that a forward pass subtracted at earlier nodes */
    long double *sent;   /* by node: subtracted from messages that came to it in the backward pass */
    long double after;   /* gathered at later nodes, and sent among them */
};

static void split_create(const struct cfn_model *model, struct split *split)
{
    *split = (struct split){.before = mem_zalloc((size_t)model->node_count + 1, sizeof *split->before),
                            .sent = mem_zalloc((size_t)model->node_count + 1, sizeof *split->sent)};
}

static void split_release(struct split *split)
{
    free(split->before);
    free(split->sent);
}

double cfn_trws_marginals(struct cfn_trws *trws, double *out)
{
    const struct cfn_model *model = trws->model;
    struct split split;
    long double size = 0, before = 0, constant = (long double)model->constant - usage_constant(trws, &size);
    double gamma;
    split_create(model, &split);
    for (int32_t i = 0; i < model->node_count; i++) {
        split.before[i] = before;
        before += gather(trws, i, &gamma);
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++)
            if (model->arcs[k].other > i)
                before += send(trws, i, &model->arcs[k], gamma);
    }
    long double bound = constant;
    for (int32_t i = model->node_count; i-- > 0;) {
        double low = gather(trws, i, &gamma);
        bound += low;
        split.after += split.sent[i];
        long double rest = constant + split.before[i] + split.after + low;
        for (int32_t a = 0; a < model->size[i]; a++)
            out[model->offset[i] + (size_t)a] = (double)(rest + (long double)trws->belief[a]);
        split.after += low;
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1] && model->arcs[k].other < i; k++) {
            double part = send(trws, i, &model->arcs[k], gamma);
            bound += part;
            split.sent[model->arcs[k].other] += part;
        }
    }
    split_release(&split);
    return (double)bound;
}

/* ---- the certified pass ---- */

/* `bound` with the sum of the magnitudes of everything that was rounded on the way to it */
struct careful {
    long double bound, rounded;
    long double *belief, *share, *message; /* message: of all links */
};

static long double magnitude(const long double *at, int32_t size)
{
    long double most = 0;
    for (int32_t a = 0; a < size; a++) {
        long double x = at[a] < 0 ? -at[a] : at[a];
        most = x < (long double)huge && x > most ? x : most;
    }
    return most;
}

static long double careful_gather(struct cfn_trws *trws, struct careful *careful, int32_t i)
{
    const struct cfn_model *model = trws->model;
    int32_t size = model->size[i];
    uint32_t degree = model->first_arc[i + 1] - model->first_arc[i];
    long double most = 0, low = LDBL_MAX, x;
    for (int32_t a = 0; a < size; a++) {
        int64_t exact = model->unary[model->offset[i] + (size_t)a];
        careful->belief[a] = cfn_infinite(exact) ? (long double)CFN_HUGE : (long double)exact;
        careful->belief[a] += is_dropped(trws, i, a) ? (long double)trws->drop_cost : 0;
    }
    most += magnitude(careful->belief, size);
    for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++) {
        long double price = (long double)trws->prices[model->items[k].right] -
                            (long double)trws->prices[model->items[k].left];
        for (int32_t a = 0; a < size; a++)
            careful->belief[a] += price * (long double)model->items[k].use[a];
        x = magnitude(careful->belief, size);
        most = x > most ? x : most;
    }
    for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
        const long double *message = careful->message + model->message_offset[model->arcs[k].link];
        for (int32_t a = 0; a < size; a++)
            careful->belief[a] += message[a];
        x = magnitude(careful->belief, size) + magnitude(message, size);
        most = x > most ? x : most;
    }
    for (int32_t a = 0; a < size; a++)
        low = careful->belief[a] < low ? careful->belief[a] : low;
    for (int32_t a = 0; a < size; a++)
        careful->belief[a] -= low;
    careful->rounded += most * (long double)(degree + model->first_item[i + 1] - model->first_item[i] + 4);
    return low;
}

static long double careful_send(struct cfn_trws *trws, struct careful *careful, int32_t i,
                                const struct cfn_arc *arc, long double gamma)
{
    const struct cfn_model *model = trws->model;
    long double *message = careful->message + model->message_offset[arc->link], most, low = LDBL_MAX;
    int32_t size = model->size[i], other = model->size[arc->other];
    most = magnitude(careful->belief, size) + magnitude(message, size);
    for (int32_t a = 0; a < size; a++)
        careful->share[a] = gamma * careful->belief[a] - message[a];
    for (int32_t b = 0; b < other; b++) {
        long double best = LDBL_MAX;
        for (int32_t a = 0; a < size; a++) {
            int64_t exact = arc->exact[(size_t)a * arc->own + (size_t)b * arc->step];
            long double x =
                careful->share[a] + (cfn_infinite(exact) ? (long double)CFN_HUGE : (long double)exact);
            best = x < best ? x : best;
        }
        message[b] = best;
        low = best < low ? best : low;
    }
    /* the winning sums' tables entries are at most |best| + |share| large */
    most += magnitude(message, other) + magnitude(careful->share, size);
    for (int32_t b = 0; b < other; b++)
        message[b] -= low;
    careful->rounded += most * 8;
    return low;
}

static void careful_create(const struct cfn_trws *trws, struct careful *careful)
{
    const struct cfn_model *model = trws->model;
    *careful = (struct careful){0};
    careful->belief = mem_zalloc((size_t)model->largest, sizeof *careful->belief);
    careful->share = mem_zalloc((size_t)model->largest, sizeof *careful->share);
    careful->message = mem_zalloc(model->message_count + 1, sizeof *careful->message);
    for (size_t i = 0; i < model->message_count; i++)
        careful->message[i] = (long double)trws->message[i];
    careful->bound = (long double)model->constant - usage_constant(trws, &careful->rounded);
}

static void careful_release(struct careful *careful)
{
    free(careful->belief);
    free(careful->share);
    free(careful->message);
}

/* rounded down so that the shares never sum to more than the belief */
static long double careful_gamma(const struct cfn_model *model, int32_t i)
{
    uint32_t degree = model->first_arc[i + 1] - model->first_arc[i], earlier = 0;
    for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++)
        earlier += model->arcs[k].other < i;
    uint32_t parts = earlier > degree - earlier ? earlier : degree - earlier;
    return parts ? (1 - 4 * LDBL_EPSILON) / (long double)parts : 0;
}

static long double counted(struct careful *careful, long double part)
{
    careful->rounded += part < 0 ? -part : part;
    return part;
}

/* Each sum of p parts errs by at most p epsilon times their magnitudes; running totals have node + link parts
 * a pass. */
static int64_t careful_cost(const struct cfn_model *model, const struct careful *careful, long double bound,
                            int passes)
{
    long double parts =
        (long double)passes * (long double)(model->node_count + model->link_count + model->time_count + 16);
    long double size = bound < 0 ? -bound : bound;
    bound -= 2 * LDBL_EPSILON * (careful->rounded * 4 + parts * (size + careful->rounded / parts + 1));
    if (!(bound > -9e18L && bound < 9e18L))
        return bound > 0 ? INT64_MAX : INT64_MIN;
    int64_t whole = (int64_t)bound; /* towards zero; costs are integers, so a bound may be rounded up */
    return whole + ((long double)whole < bound);
}

/* What was noted on the way to a bound is taken off: each rounding in double errs by half an epsilon of what
 * it rounded, and sums in long double by one a part. Sums are no larger than all that was noted. */
static int64_t noted_cost(const struct cfn_trws *trws, long double bound)
{
    const struct cfn_model *model = trws->model;
    long double parts = 2 * (long double)(model->node_count + model->link_count + model->time_count + 16),
                noted = (long double)trws->noted;
    bound -= 8 * DBL_EPSILON * noted + 2 * LDBL_EPSILON * parts * (noted + 1);
    if (!(bound > -9e18L && bound < 9e18L))
        return INT64_MIN;
    int64_t whole = (int64_t)bound;
    return whole + ((long double)whole < bound);
}

static void begin_notes(struct cfn_trws *trws)
{
    long double size =
        trws->model->constant < 0 ? -(long double)trws->model->constant : (long double)trws->model->constant;
    (void)usage_constant(trws, &size);
    trws->noted = 2 * (double)size;
    trws->notes = true;
    trws->infinite = false;
}

int64_t cfn_trws_certify_quickly(struct cfn_trws *trws)
{
    const struct cfn_model *model = trws->model;
    long double size = 0, bound = (long double)model->constant - usage_constant(trws, &size);
    pass_forward(trws);
    begin_notes(trws);
    for (int32_t i = model->node_count; i-- > 0;) {
        double gamma;
        bound += gather(trws, i, &gamma);
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1] && model->arcs[k].other < i; k++)
            bound += send(trws, i, &model->arcs[k], gamma);
    }
    trws->notes = false;
    return trws->infinite ? INT64_MIN : noted_cost(trws, bound);
}

/* false: something stands for infinite cost; messages are as they were in any case */
static bool quick_values(struct cfn_trws *trws, int64_t *out)
{
    const struct cfn_model *model = trws->model;
    double *least_cost = mem_zalloc(model->value_count + 1, sizeof *least_cost),
           *kept = mem_alloc((model->message_count + 1) * sizeof *kept);
    memcpy(kept, trws->message, model->message_count * sizeof *kept);
    begin_notes(trws);
    (void)cfn_trws_marginals(trws, least_cost);
    trws->notes = false;
    memcpy(trws->message, kept, model->message_count * sizeof *kept);
    for (int32_t i = 0; i < model->node_count && !trws->infinite; i++)
        for (int32_t a = 0; a < model->size[i]; a++) {
            size_t at = model->offset[i] + (size_t)a;
            double size = least_cost[at] < 0 ? -least_cost[at] : least_cost[at];
            out[told_at(trws, i, a)] =
                noted_cost(trws, (long double)least_cost[at] - DBL_EPSILON * (long double)size);
        }
    free(kept);
    free(least_cost);
    return !trws->infinite;
}

int64_t cfn_trws_certify(struct cfn_trws *trws)
{
    const struct cfn_model *model = trws->model;
    struct careful careful;
    double *kept = mem_alloc((model->message_count + 1) * sizeof *kept);
    memcpy(kept, trws->message, model->message_count * sizeof *kept);
    pass_forward(trws);
    careful_create(trws, &careful);
    memcpy(trws->message, kept, model->message_count * sizeof *kept); /* as a backward pass leaves them */
    free(kept);
    for (int32_t i = model->node_count; i-- > 0;) {
        long double gamma = careful_gamma(model, i);
        careful.bound += counted(&careful, careful_gather(trws, &careful, i));
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1] && model->arcs[k].other < i; k++)
            careful.bound += counted(&careful, careful_send(trws, &careful, i, &model->arcs[k], gamma));
    }
    int64_t bound = careful_cost(model, &careful, careful.bound, 1);
    careful_release(&careful);
    return bound == INT64_MAX ? INT64_MIN : bound;
}

static void careful_forward(struct cfn_trws *trws, struct careful *careful, struct split *split)
{
    const struct cfn_model *model = trws->model;
    long double before = 0;
    for (int32_t i = 0; i < model->node_count; i++) {
        long double gamma = careful_gamma(model, i);
        split->before[i] = before;
        before += counted(careful, careful_gather(trws, careful, i));
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++)
            if (model->arcs[k].other > i)
                before += counted(careful, careful_send(trws, careful, i, &model->arcs[k], gamma));
    }
}

int cfn_trws_certify_values(struct cfn_trws *trws, int64_t *out)
{
    const struct cfn_model *model = trws->model;
    if (quick_values(trws, out))
        return QUICK_VALUES_PASSES;
    struct careful careful;
    struct split split;
    long double *least = mem_zalloc(model->value_count + 1, sizeof *least);
    careful_create(trws, &careful);
    split_create(model, &split);
    careful_forward(trws, &careful, &split);
    for (int32_t i = model->node_count; i-- > 0;) {
        long double gamma = careful_gamma(model, i),
                    low = counted(&careful, careful_gather(trws, &careful, i));
        split.after += split.sent[i];
        for (int32_t a = 0; a < model->size[i]; a++)
            least[model->offset[i] + (size_t)a] =
                careful.bound + split.before[i] + split.after + low + careful.belief[a];
        split.after += low;
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1] && model->arcs[k].other < i; k++)
            split.sent[model->arcs[k].other] +=
                counted(&careful, careful_send(trws, &careful, i, &model->arcs[k], gamma));
    }
    for (int32_t i = 0; i < model->node_count; i++)
        for (int32_t a = 0; a < model->size[i]; a++)
            out[told_at(trws, i, a)] = careful_cost(model, &careful, least[model->offset[i] + (size_t)a], 2);
    split_release(&split);
    careful_release(&careful);
    free(least);
    return 2 * CFN_CERTIFY_PASSES;
}

void cfn_trws_round(struct cfn_trws *trws, int32_t *value)
{
    const struct cfn_model *model = trws->model;
    for (int32_t i = 0; i < model->node_count; i++) {
        memcpy(trws->belief, trws->unary + model->offset[i], (size_t)model->width[i] * sizeof *trws->belief);
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            const struct cfn_arc *arc = &model->arcs[k];
            if (arc->other > i) {
                add_message(trws->belief, trws->message + model->message_offset[arc->link], model->width[i]);
                continue;
            }
            const float *row = arc->columns + (size_t)value[arc->other] * (size_t)arc->column_width;
            for (int32_t a = 0; a < model->size[i]; a++)
                trws->belief[a] += (double)row[a];
        }
        value[i] = 0;
        for (int32_t a = 1; a < model->size[i]; a++)
            if (trws->belief[a] < trws->belief[value[i]])
                value[i] = a;
    }
    for (int32_t i = 0; i < model->node_count && trws->narrow; i++)
        value[i] = trws->narrow->value[model->offset[i] + (size_t)value[i]];
}

void cfn_price_node(const struct cfn_model *model, const double *prices, double scale, int32_t i, float *out)
{
    float *c = out + model->offset[i];
    for (int32_t a = 0; a < model->width[i]; a++) {
        int64_t exact = model->unary[model->offset[i] + (size_t)a];
        c[a] = cfn_infinite(exact) ? CFN_HUGE : (float)exact;
    }
    for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++) {
        double price = scale * (prices[model->items[k].right] - prices[model->items[k].left]);
        for (int32_t a = 0; a < model->size[i] && price > 0; a++)
            c[a] += (float)(price * (double)model->items[k].use[a]);
    }
}

void cfn_price_unary(const struct cfn_model *model, const double *prices, double scale, float *out)
{
    for (int32_t i = 0; i < model->node_count; i++)
        cfn_price_node(model, prices, scale, i, out);
}

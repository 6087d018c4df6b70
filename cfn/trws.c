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
 * Messages are as they were afterwards. */
#include "cfn/trws.h"

#include "cfn/kernel.h"

#include <float.h>
#include <stdlib.h>

static const double huge = 1e29; /* at or above it a value stands for infinite cost */

void cfn_trws_create(const struct cfn_model *m, struct cfn_trws *t)
{
    *t = (struct cfn_trws){.m = m};
    t->message = mem_zalloc(m->message_count + 16, sizeof *t->message);
    t->unary = mem_zalloc(m->value_count + 16, sizeof *t->unary);
    t->belief = mem_zalloc((size_t)m->largest + 16, sizeof *t->belief);
    t->share = mem_zalloc((size_t)m->largest + 16, sizeof *t->share);
    t->prices = mem_zalloc((size_t)m->time_count + 1, sizeof *t->prices);
    cfn_trws_price(t, NULL);
}

void cfn_trws_release(struct cfn_trws *t)
{
    free(t->message);
    free(t->unary);
    free(t->belief);
    free(t->share);
    free(t->prices);
    *t = (struct cfn_trws){0};
}

static bool is_dropped(const struct cfn_trws *t, int32_t i, int32_t a)
{
    return t->dropped && t->dropped[t->m->offset[i] + (size_t)a];
}

void cfn_trws_price(struct cfn_trws *t, const double *lambda)
{
    const struct cfn_model *m = t->m;
    t->prices[0] = 0;
    for (int32_t k = 0; k < m->time_count; k++)
        t->prices[k + 1] = t->prices[k] + (lambda ? lambda[k] : 0);
    for (int32_t i = 0; i < m->node_count; i++) {
        double *c = t->unary + m->offset[i];
        for (int32_t a = 0; a < m->width[i]; a++) {
            int64_t exact = m->unary[m->offset[i] + (size_t)a];
            c[a] = cfn_infinite(exact) || is_dropped(t, i, a) ? (double)CFN_HUGE : (double)exact;
        }
        for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
            double price = t->prices[m->items[k].right] - t->prices[m->items[k].left];
            for (int32_t a = 0; a < m->size[i] && price > 0; a++)
                c[a] += price * (double)m->items[k].use[a];
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

/* unary plus all messages into t->belief, less its minimum, which is returned; *gamma as in the paper */
static double gather(struct cfn_trws *t, int32_t i, double *gamma)
{
    const struct cfn_model *m = t->m;
    int32_t width = m->width[i], earlier = 0;
    memcpy(t->belief, t->unary + m->offset[i], (size_t)width * sizeof *t->belief);
    for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++) {
        earlier += m->arcs[k].other < i;
        add_message(t->belief, t->message + m->message_offset[m->arcs[k].link], width);
    }
    int32_t later = (int32_t)(m->first_arc[i + 1] - m->first_arc[i]) - earlier;
    *gamma = 1.0 / (later > earlier ? later : earlier > 0 ? earlier : 1);
    double low = least(t->belief, m->size[i]);
    for (int32_t a = 0; a < m->size[i]; a++)
        t->belief[a] -= low;
    return low;
}

/* sends node i's share over one arc; returns what was subtracted */
static double send(struct cfn_trws *t, int32_t i, const struct cfn_arc *arc, double gamma)
{
    const struct cfn_model *m = t->m;
    double *message = t->message + m->message_offset[arc->link];
    for (int32_t a = 0; a < m->size[i]; a++)
        t->share[a] = gamma * t->belief[a] - message[a];
    min_plus(message, t->share, m->size[i], arc->rows, arc->row_width);
    double low = least(message, m->size[arc->other]);
    for (int32_t b = 0; b < m->size[arc->other]; b++)
        message[b] -= low;
    return low;
}

static void pass_forward(struct cfn_trws *t)
{
    const struct cfn_model *m = t->m;
    for (int32_t i = 0; i < m->node_count; i++) {
        double gamma;
        gather(t, i, &gamma);
        for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++)
            if (m->arcs[k].other > i)
                send(t, i, &m->arcs[k], gamma);
    }
}

/* SUM lambda_t (limit - base_t) */
static long double usage_constant(const struct cfn_trws *t, long double *size)
{
    long double sum = 0;
    for (int32_t k = 0; k < t->m->time_count; k++) {
        long double lambda = (long double)t->prices[k + 1] - (long double)t->prices[k];
        long double term = lambda * (long double)(t->m->limit - t->m->base[k]);
        sum += term;
        *size += term < 0 ? -term : term;
    }
    return sum;
}

double cfn_trws_iterate(struct cfn_trws *t)
{
    const struct cfn_model *m = t->m;
    long double size = 0;
    double bound = (double)m->constant - (double)usage_constant(t, &size), gamma;
    pass_forward(t);
    for (int32_t i = m->node_count; i-- > 0;) {
        bound += gather(t, i, &gamma);
        for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1] && m->arcs[k].other < i; k++)
            bound += send(t, i, &m->arcs[k], gamma);
    }
    return bound;
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

static long double careful_gather(struct cfn_trws *t, struct careful *c, int32_t i)
{
    const struct cfn_model *m = t->m;
    int32_t size = m->size[i];
    uint32_t degree = m->first_arc[i + 1] - m->first_arc[i];
    long double most = 0, low = LDBL_MAX, x;
    for (int32_t a = 0; a < size; a++) {
        int64_t exact = m->unary[m->offset[i] + (size_t)a];
        bool never = cfn_infinite(exact) || is_dropped(t, i, a);
        c->belief[a] = never ? (long double)CFN_HUGE : (long double)exact;
    }
    most += magnitude(c->belief, size);
    for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
        long double price =
            (long double)t->prices[m->items[k].right] - (long double)t->prices[m->items[k].left];
        for (int32_t a = 0; a < size; a++)
            c->belief[a] += price * (long double)m->items[k].use[a];
        x = magnitude(c->belief, size);
        most = x > most ? x : most;
    }
    for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++) {
        const long double *message = c->message + m->message_offset[m->arcs[k].link];
        for (int32_t a = 0; a < size; a++)
            c->belief[a] += message[a];
        x = magnitude(c->belief, size) + magnitude(message, size);
        most = x > most ? x : most;
    }
    for (int32_t a = 0; a < size; a++)
        low = c->belief[a] < low ? c->belief[a] : low;
    for (int32_t a = 0; a < size; a++)
        c->belief[a] -= low;
    c->rounded += most * (long double)(degree + m->first_item[i + 1] - m->first_item[i] + 4);
    return low;
}

static long double careful_send(struct cfn_trws *t, struct careful *c, int32_t i, const struct cfn_arc *arc,
                                long double gamma)
{
    const struct cfn_model *m = t->m;
    long double *message = c->message + m->message_offset[arc->link], most, low = LDBL_MAX;
    int32_t size = m->size[i], other = m->size[arc->other];
    most = magnitude(c->belief, size) + magnitude(message, size);
    for (int32_t a = 0; a < size; a++)
        c->share[a] = gamma * c->belief[a] - message[a];
    for (int32_t b = 0; b < other; b++) {
        long double best = LDBL_MAX;
        for (int32_t a = 0; a < size; a++) {
            int64_t exact = arc->exact[(size_t)a * arc->own + (size_t)b * arc->step];
            long double x = c->share[a] + (cfn_infinite(exact) ? (long double)CFN_HUGE : (long double)exact);
            best = x < best ? x : best;
        }
        message[b] = best;
        low = best < low ? best : low;
    }
    /* the winning sums' tables entries are at most |best| + |share| large */
    most += magnitude(message, other) + magnitude(c->share, size);
    for (int32_t b = 0; b < other; b++)
        message[b] -= low;
    c->rounded += most * 8;
    return low;
}

int64_t cfn_trws_certify(struct cfn_trws *t)
{
    const struct cfn_model *m = t->m;
    struct careful c = {0};
    c.belief = mem_zalloc((size_t)m->largest, sizeof *c.belief);
    c.share = mem_zalloc((size_t)m->largest, sizeof *c.share);
    c.message = mem_zalloc(m->message_count + 1, sizeof *c.message);
    double *kept = mem_alloc((m->message_count + 1) * sizeof *kept);
    memcpy(kept, t->message, m->message_count * sizeof *kept);
    pass_forward(t);
    for (size_t i = 0; i < m->message_count; i++)
        c.message[i] = (long double)t->message[i];
    memcpy(t->message, kept, m->message_count * sizeof *kept); /* as a backward pass leaves them */
    free(kept);
    c.bound = (long double)m->constant - usage_constant(t, &c.rounded);
    for (int32_t i = m->node_count; i-- > 0;) {
        uint32_t degree = m->first_arc[i + 1] - m->first_arc[i], earlier = 0;
        for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++)
            earlier += m->arcs[k].other < i;
        uint32_t parts = earlier > degree - earlier ? earlier : degree - earlier;
        /* rounded down so that the shares never sum to more than the belief */
        long double gamma = parts ? (1 - 4 * LDBL_EPSILON) / (long double)parts : 0, part;
        c.bound += part = careful_gather(t, &c, i);
        c.rounded += part < 0 ? -part : part;
        for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1] && m->arcs[k].other < i; k++) {
            c.bound += part = careful_send(t, &c, i, &m->arcs[k], gamma);
            c.rounded += part < 0 ? -part : part;
        }
    }
    /* each sum of p parts errs by at most p epsilon times their magnitudes; running totals have node + link
     * parts */
    long double parts = (long double)(m->node_count + m->link_count + m->time_count + 16);
    long double size = c.bound < 0 ? -c.bound : c.bound;
    long double bound = c.bound - 2 * LDBL_EPSILON * (c.rounded * 4 + parts * (size + c.rounded / parts + 1));
    free(c.belief);
    free(c.share);
    free(c.message);
    if (!(bound > -9e18L && bound < 9e18L))
        return INT64_MIN;
    int64_t whole = (int64_t)bound; /* towards zero; costs are integers, so a bound may be rounded up */
    return whole + ((long double)whole < bound);
}

void cfn_trws_round(struct cfn_trws *t, int32_t *value)
{
    const struct cfn_model *m = t->m;
    for (int32_t i = 0; i < m->node_count; i++) {
        memcpy(t->belief, t->unary + m->offset[i], (size_t)m->width[i] * sizeof *t->belief);
        for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++) {
            const struct cfn_arc *arc = &m->arcs[k];
            if (arc->other > i) {
                add_message(t->belief, t->message + m->message_offset[arc->link], m->width[i]);
                continue;
            }
            const float *row = arc->columns + (size_t)value[arc->other] * (size_t)arc->column_width;
            for (int32_t a = 0; a < m->size[i]; a++)
                t->belief[a] += (double)row[a];
        }
        value[i] = 0;
        for (int32_t a = 1; a < m->size[i]; a++)
            if (t->belief[a] < t->belief[value[i]])
                value[i] = a;
    }
}

void cfn_price_unary(const struct cfn_model *m, const double *prices, double scale, float *out)
{
    for (int32_t i = 0; i < m->node_count; i++) {
        float *c = out + m->offset[i];
        for (int32_t a = 0; a < m->width[i]; a++) {
            int64_t exact = m->unary[m->offset[i] + (size_t)a];
            c[a] = cfn_infinite(exact) ? CFN_HUGE : (float)exact;
        }
        for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
            double price = scale * (prices[m->items[k].right] - prices[m->items[k].left]);
            for (int32_t a = 0; a < m->size[i] && price > 0; a++)
                c[a] += (float)(price * (double)m->items[k].use[a]);
        }
    }
}

/* Best-first branch and bound under multipliers. Depth first (branch.c) wants cheap bounds and many nodes;
 * here a bound is a TRW-S certificate of a few milliseconds under multipliers of its own, and the tree stays
 * small.
 *
 *   fix       two careful passes say of every value at once what an answer with it costs at least; what
 *             reaches the best answer goes (reduced-cost fixing, G. Dantzig, R. Fulkerson, S. Johnson 1954);
 *             again in each phase, as answers and multipliers get better
 *   begin     probe what is left, where that is not too much: hold the value, bound the rest (probing,
 *             M. Savelsbergh 1994)
 *   narrow    the leaf of least bound to its own values (narrow.h), and again when some of them went
 *   refine    it, from the multipliers and messages that gave its bound: some steps
 *             further, from which its children start, and its values again by what a pass certifies
 *   expand    it, on the node whose branching raised the least bound of the children most so far
 *             (pseudo-costs, M. Benichou et al. 1971), or promises to in this leaf, among those with two
 *             likely values or more; one child for what uses little and one for what uses much; where
 *             usage does not matter one for each value near the leaf's bound, and one for all others
 *   prune     values that do not fit beside everyone else's least usage; children at or above the best answer
 *   raise     w->bound to the least bound of all leaves, of those too that another worker has, or to the
 *             best answer when none is left
 *
 * Bounds are certified ones throughout, so the result is a proof. Multipliers, messages and prices are left
 * as they were found. Interrupted work is dropped whole: a leaf is either expanded or as it was. */
#include "cfn/prove.h"

#include "base/memory.h"
#include "cfn/dive.h"
#include "cfn/dual.h"
#include "cfn/fits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBE_STEPS = 3, /* of the multipliers, for each value of the root: there are many */
    CHILD_STEPS = 6, /* for each child of a leaf: it stays */
    LEAF_STEPS = 12, /* for a leaf before it is branched on */
    END_PASSES = 2,  /* under a leaf's best multipliers, before its certificate */
    MOST_LEAVES = 1 << 16,
    FIX_PASSES = 4,     /* under the best multipliers, before what they say of each value is certified */
    ANSWER_PASSES = 40, /* where branching is for answers, from messages that are all 0 */
    FIX_ROUNDS = 3,     /* of it, at the root: with fewer values bounds are higher */
    FIX_SHARE = 50,     /* of the values: a round that drops fewer than one in so many is the last */
};
static const size_t most_mask_bytes = (size_t)48 << 20;   /* of a job's blob between two phases */
static const uint64_t most_table_work = 400000;           /* entries a pass; then a child costs some 5 ms */
static const size_t most_values = 16384;                  /* the root alone takes a certificate for each */
static const double first_level = 0.15, level_down = 0.6; /* of the gap; after a step that did not help */
/* of the gap: what is paid for likely values differs by more, or they are parted value by value; of what it
 * differs by: the worth of a node whose likely values were not taken in turn */
static const double worth_parting = 0.005, unparted_share = 0.1;
/* Of what a leaf promises of a node: it counts so much at least, whatever other leaves gained there. A node
 * that parts little in one leaf may part another's whole gap. */
static const double promise_share = 0.3;
static const double gain_kept = 0.7, gain_new = 0.3; /* of a node's running mean */
/* What children gain counts as the least of them and this share of their mean. Of a leaf's gap to the best
 * answer: how near its bound a value is likely in the leaf's best answer, and has a child of its own. */
static const double mean_share = 0.1, likely_share = 0.05, alone_share = 0.1;

struct proving { /* scratch of one phase */
    struct cfn_worker *worker;
    const struct cfn_model *model;
    const struct cfn_model *whole;           /* that bounds are of: the model, or what clusters relax it to */
    struct cfn_narrow narrow;                /* of the leaf at hand */
    double *message;                         /* of the root, as the phase found them */
    double *whole_message;                   /* of the leaf, of the whole model */
    double *leaf_message, *leaf_multipliers; /* where bounds of the leaf's children start from */
    const double *from_message, *from_multipliers; /* where bounds start from: the root's or the leaf's */
    double *centre, *g;                            /* multipliers: best of this leaf, direction */
    double *centre_message;                        /* that gave the best bound of this leaf */
    int32_t *taken;                                /* by padded value: steps of the leaf that suggest it */
    int64_t *least;                                /* usage at each time with every node at its least */
    uint8_t *child, *leaf;
    int32_t *part; /* by value of the node at hand: values of equal number are one child together */
    double *paid;  /* by value of the node at hand: what its usage costs under the leaf's multipliers */
    int64_t *child_bound;
    int64_t *value_bound; /* by padded value: no answer with it costs less */
    bool for_answers;     /* a tree that proves nothing */
};

static double probe_work(const struct cfn_model *model, double values)
{
    return 2.0 * (PROBE_STEPS + END_PASSES) * (double)model->table_work * values;
}

double cfn_prove_probe_work(const struct cfn_model *model)
{
    return cfn_prove_suits(model) ? probe_work(model, (double)model->value_count) : HUGE_VAL;
}

double cfn_prove_leaf_work(const struct cfn_model *model)
{
    return 2.0 * (LEAF_STEPS + 2 * CHILD_STEPS + 3 * END_PASSES) * (double)model->table_work;
}

bool cfn_prove_suits(const struct cfn_model *model)
{
    return model->table_work <= most_table_work && model->value_count <= most_values;
}

/* values that do not fit beside everything else's least go; false: nothing fits */
static bool drop_what_does_not_fit(struct proving *proving, uint8_t *mask)
{
    return cfn_fits_drop(proving->model, mask, proving->least, &proving->worker->work);
}

/* ---- the bound of a leaf ---- */

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

static double direction(struct proving *proving)
{
    const struct cfn_model *model = proving->model;
    const int64_t *usage = proving->worker->profile;
    double limit = model->limit > 0 ? (double)model->limit : 1, length = 0;
    for (int32_t time = 0; time < model->time_count;) {
        int32_t peak = time;
        proving->g[time] = 0;
        if (usage[time] <= model->limit) {
            if (proving->centre[time] > 0)
                proving->g[time] = greater((double)(usage[time] - model->limit) / limit, CFN_STEP_SLACK);
            length += proving->g[time] * proving->g[time];
            time++;
            continue;
        }
        for (; time < model->time_count && usage[time] > model->limit; time++) {
            proving->g[time] = 0;
            peak = usage[time] > usage[peak] ? time : peak;
        }
        proving->g[peak] = less((double)(usage[peak] - model->limit) / limit, CFN_STEP_EXCESS);
        length += proving->g[peak] * proving->g[peak];
    }
    return length;
}

static double one_pass(struct proving *proving)
{
    proving->worker->work +=
        2 * proving->worker->trws.model->table_work + 2 * proving->worker->trws.model->forest_work;
    return cfn_trws_iterate(&proving->worker->trws);
}

/* the assignment that the passes suggest; recorded when it is an answer */
static void take_point(struct proving *proving)
{
    struct cfn_worker *worker = proving->worker;
    cfn_trws_round(&worker->trws, worker->point.value);
    for (int32_t i = 0; i < proving->model->node_count; i++)
        proving->taken[proving->model->offset[i] + (size_t)worker->point.value[i]]++;
    cfn_point_evaluate(proving->model, &worker->point, worker->profile);
    worker->work += cfn_point_work(proving->model);
    if (cfn_point_feasible(&worker->point) && worker->point.cost < worker->best.cost)
        cfn_worker_record(worker, &worker->point);
}

/* certified; steps of the multipliers from the root's */
static int64_t bound_of(struct proving *proving, const uint8_t *mask, int steps)
{
    struct cfn_worker *worker = proving->worker;
    const struct cfn_model *model = proving->model;
    double limit = model->limit > 0 ? (double)model->limit : 1, best = -HUGE_VAL, level = first_level;
    size_t times = (size_t)model->time_count * sizeof(double),
           messages = worker->trws.model->message_count * sizeof(double);
    worker->trws.dropped = mask;
    memcpy(worker->trws.message, proving->from_message, messages);
    memcpy(proving->centre_message, proving->from_message, messages);
    memcpy(worker->lambda, proving->from_multipliers, times);
    memcpy(proving->centre, proving->from_multipliers, times);
    for (int k = 0; k < steps; k++) {
        cfn_trws_price(&worker->trws, worker->lambda);
        double bound = one_pass(proving);
        if (bound > best) {
            best = bound;
            memcpy(proving->centre, worker->lambda, times);
            memcpy(proving->centre_message, worker->trws.message, messages);
        } else {
            level *= level_down;
        }
        double gap = (double)worker->best.cost - best;
        if (gap < 0)
            break;
        take_point(proving);
        double length = direction(proving);
        if (length <= 0)
            continue; /* more passes under the same prices */
        for (int32_t time = 0; time < model->time_count; time++)
            worker->lambda[time] = greater(proving->centre[time] + level * gap * proving->g[time] /
                                                                       ((length + CFN_STEP_LENGTH) * limit),
                                           0);
    }
    cfn_trws_price(&worker->trws, proving->centre);
    memcpy(worker->trws.message, proving->centre_message, messages);
    for (int k = 0; k + 1 < END_PASSES; k++)
        one_pass(proving);
    int64_t bound = cfn_dual_bound(worker);
    memcpy(proving->centre_message, worker->trws.message, messages);
    if (worker->fixes && steps == CHILD_STEPS && bound < worker->best.cost)
        cfn_dive_land(worker);
    return bound;
}

/* ---- the tree ---- */

static void each_alone(struct proving *proving)
{
    for (int32_t a = 0; a < proving->model->largest; a++)
        proving->part[a] = a;
}

static int32_t values_left(const struct cfn_model *model, const uint8_t *mask, int32_t i)
{
    int32_t left = 0;
    for (int32_t a = 0; a < model->size[i]; a++)
        left += !mask[model->offset[i] + (size_t)a];
    return left;
}

/* the child of node i that has the value a, and all of its part */
static void fix(const struct proving *proving, const uint8_t *from, uint8_t *to, int32_t i, int32_t a)
{
    const struct cfn_model *model = proving->model;
    memcpy(to, from, model->value_count);
    for (int32_t b = 0; b < model->size[i]; b++)
        if (proving->part[a] != proving->part[b])
            to[model->offset[i] + (size_t)b] = 1;
}

/* whether an earlier value stands for the child that has a, too */
static bool is_covered(const struct proving *proving, const uint8_t *leaf, int32_t i, int32_t a)
{
    for (int32_t b = 0; b < a; b++)
        if (proving->part[a] == proving->part[b] && !leaf[proving->model->offset[i] + (size_t)b])
            return true;
    return false;
}

static void add_leaf(struct proving *proving, const uint8_t *mask, int64_t bound)
{
    struct cfn_leaves *leaves = &proving->worker->leaves;
    cfn_leaves_reserve(proving->model, leaves, leaves->count + 1);
    memcpy(leaves->mask + (size_t)leaves->count * proving->model->value_count, mask,
           proving->model->value_count);
    leaves->started[leaves->count] = 0;
    leaves->bound[leaves->count++] = bound;
}

static size_t start_size(const struct proving *proving)
{
    return (size_t)proving->model->time_count + proving->whole->message_count;
}

/* what bound_of has ended with becomes the last leaf's start */
static void keep_start(struct proving *proving)
{
    struct cfn_leaves *leaves = &proving->worker->leaves;
    size_t times = (size_t)proving->model->time_count;
    float *start = cfn_leaves_start(leaves, leaves->count - 1, start_size(proving));
    if (!start)
        return;
    for (size_t time = 0; time < times; time++)
        start[time] = (float)proving->centre[time];
    cfn_narrow_widen(&proving->narrow, proving->centre_message, proving->whole_message);
    for (size_t k = 0; k < proving->whole->message_count; k++)
        start[times + k] = (float)proving->whole_message[k];
    leaves->started[leaves->count - 1] = 1;
}

/* Bounds of the children on node i into p->child_bound (INT64_MAX: none); what they gain, the least and a
 * little of the mean: the tree's bound is that of its least leaf. Runs on past the phase's end; worth nothing
 * when w->stopped is set. */
static double try_node(struct proving *proving, const uint8_t *leaf, int64_t leaf_bound, int32_t i, int steps,
                       bool keep)
{
    const struct cfn_model *model = proving->model;
    double sum = 0, lowest = HUGE_VAL, top = (double)proving->worker->best.cost - (double)leaf_bound;
    int32_t left = 0;
    for (int32_t a = 0; a < model->size[i]; a++) {
        proving->child_bound[a] = INT64_MAX;
        (void)cfn_worker_done(proving->worker); /* asks whether to stop */
        if (leaf[model->offset[i] + (size_t)a] || proving->worker->stopped || is_covered(proving, leaf, i, a))
            continue;
        fix(proving, leaf, proving->child, i, a);
        if (drop_what_does_not_fit(proving, proving->child)) {
            int64_t bound = bound_of(proving, proving->child, steps);
            proving->child_bound[a] = bound > leaf_bound ? bound : leaf_bound;
            if (keep && proving->child_bound[a] < proving->worker->best.cost) {
                add_leaf(proving, proving->child, proving->child_bound[a]);
                keep_start(proving);
            }
        }
        double gain =
            proving->child_bound[a] == INT64_MAX ? top : (double)proving->child_bound[a] - (double)leaf_bound;
        sum += gain < top ? gain : top;
        lowest = gain < lowest ? gain : lowest;
        left++;
    }
    return left ? lowest + mean_share * sum / left : 0;
}

/* ---- values that no better answer has ---- */

/* Certified values of the mask that reach the best answer go from it; -> how many */
static int32_t drop_by_value(struct proving *proving, uint8_t *mask)
{
    const struct cfn_model *model = proving->model;
    int32_t dropped = 0;
    int passes = cfn_trws_certify_values(&proving->worker->trws, proving->value_bound);
    proving->worker->work += (uint64_t)passes * proving->worker->trws.model->table_work;
    for (int32_t i = 0; i < model->node_count; i++)
        for (int32_t a = 0; a < model->size[i]; a++) {
            size_t at = model->offset[i] + (size_t)a;
            if (!mask[at] && proving->value_bound[at] >= proving->worker->best.cost) {
                mask[at] = 1;
                dropped++;
            }
        }
    return dropped;
}

/* Drops them from the mask, under the root's multipliers and messages; -> how many. Without the time for a
 * pass after it, what is dropped is right all the same. */
static int32_t fix_once(struct proving *proving, uint8_t *mask)
{
    struct cfn_worker *worker = proving->worker;
    worker->trws.dropped = mask;
    memcpy(worker->trws.message, proving->message, worker->trws.model->message_count * sizeof(double));
    cfn_trws_price(&worker->trws, worker->best_lambda);
    for (int k = 0; k < FIX_PASSES; k++)
        one_pass(proving);
    return drop_by_value(proving, mask);
}

static int32_t all_left(const struct cfn_model *model, const uint8_t *mask)
{
    int32_t left = 0;
    for (int32_t i = 0; i < model->node_count; i++)
        left += values_left(model, mask, i);
    return left;
}

static bool empty(const struct cfn_model *model, const uint8_t *mask)
{
    for (int32_t i = 0; i < model->node_count; i++)
        if (!values_left(model, mask, i))
            return true;
    return false;
}

/* at the root; false: no better answer is left */
static bool fix_root(struct proving *proving)
{
    const struct cfn_model *model = proving->model;
    struct cfn_leaves *leaves = &proving->worker->leaves;
    int32_t left = all_left(model, proving->leaf), dropped = left;
    for (int k = 0; k < FIX_ROUNDS && dropped > left / FIX_SHARE && !proving->worker->stopped; k++) {
        left = all_left(model, proving->leaf);
        dropped = fix_once(proving, proving->leaf);
        if (!drop_what_does_not_fit(proving, proving->leaf) || empty(model, proving->leaf))
            return false;
        (void)cfn_worker_done(proving->worker); /* asks whether to stop */
    }
    for (int32_t i = 0; i < model->node_count; i++)
        leaves->gain[i] = -1; /* not tried */
    return true;
}

/* What no leaf has is out of the question; what else cannot be in a better answer goes from all leaves. */
static void fix_leaves(struct proving *proving)
{
    const struct cfn_model *model = proving->model;
    struct cfn_leaves *leaves = &proving->worker->leaves;
    size_t size = model->value_count;
    int32_t kept = 0;
    if (!leaves->count)
        return;
    memcpy(proving->leaf, leaves->mask, size);
    for (int32_t k = 1; k < leaves->count; k++)
        for (size_t a = 0; a < size; a++)
            proving->leaf[a] &= leaves->mask[(size_t)k * size + a];
    if (!fix_once(proving, proving->leaf))
        return;
    for (int32_t k = 0; k < leaves->count; k++) {
        uint8_t *mask = leaves->mask + (size_t)k * size;
        for (size_t a = 0; a < size; a++)
            mask[a] |= proving->leaf[a];
        if (empty(model, mask))
            continue;
        cfn_leaves_move(model, leaves, kept++, k);
    }
    leaves->count = kept;
}

/* The root without the values that cannot beat the best answer: fixed, and probed where that takes at most
 * `most` table entries; first estimates of what nodes give. */
static void begin(struct proving *proving, double most)
{
    struct cfn_worker *worker = proving->worker;
    const struct cfn_model *model = proving->model;
    cfn_leaves_reserve(model, &worker->leaves, 1);
    memset(proving->leaf, 0, model->value_count);
    bool fits = drop_what_does_not_fit(proving, proving->leaf);
    if (fits && worker->fixes)
        fits = fix_root(proving);
    bool probes = probe_work(model, (double)all_left(model, proving->leaf)) < most;
    for (int32_t i = 0; i < model->node_count && fits && probes && !worker->stopped; i++) {
        worker->leaves.gain[i] = try_node(proving, proving->leaf, worker->bound, i, PROBE_STEPS, false);
        for (int32_t a = 0; a < model->size[i] && !worker->stopped; a++)
            if (proving->child_bound[a] >= worker->best.cost)
                proving->leaf[model->offset[i] + (size_t)a] = 1;
        fits = values_left(model, proving->leaf, i) > 0;
    }
    if (worker->stopped)
        return;
    if (fits)
        add_leaf(proving, proving->leaf, worker->bound);
    worker->leaves.begun = true;
}

/* what the usage of each value of node i costs under the multipliers at hand */
static void pay(const struct proving *proving, int32_t i)
{
    const struct cfn_model *model = proving->model;
    const double *prices = proving->worker->trws.prices;
    memset(proving->paid, 0, (size_t)model->size[i] * sizeof *proving->paid);
    for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++) {
        double price = prices[model->items[k].right] - prices[model->items[k].left];
        for (int32_t a = 0; a < model->size[i]; a++)
            proving->paid[a] += price * (double)model->items[k].use[a];
    }
}

/* What branching on node i may give, by the leaf at hand alone: by how much the values that may be in the
 * leaf's best answer differ in what is paid for their usage, and how far from either end steps put it on
 * average. A bound under multipliers is of answers that keep the limit on average, some within it and some
 * beyond; that is where they part. 0: one value is likely, and its child would be where the leaf is. */
static double promised_gain(const struct proving *proving, int32_t i, double likely)
{
    const struct cfn_model *model = proving->model;
    double low = HUGE_VAL, high = -HUGE_VAL, paid = 0, steps = 0;
    pay(proving, i);
    for (int32_t a = 0; a < model->size[i]; a++) {
        size_t at = model->offset[i] + (size_t)a;
        paid += proving->taken[at] * proving->paid[a];
        steps += proving->taken[at];
        if (proving->leaf[at] || (double)proving->value_bound[at] > likely)
            continue;
        low = less(low, proving->paid[a]);
        high = greater(high, proving->paid[a]);
    }
    if (!(high > low))
        return 0;
    double mean = steps > 0 ? paid / steps : low, parted = less(mean - low, high - mean);
    return greater(parted, 0) + unparted_share * (high - low);
}

static int32_t likely_values(const struct proving *proving, int32_t i, double likely)
{
    int32_t count = 0;
    for (int32_t a = 0; a < proving->model->size[i]; a++) {
        size_t at = proving->model->offset[i] + (size_t)a;
        count += !proving->leaf[at] && (double)proving->value_bound[at] <= likely;
    }
    return count;
}

/* Nodes with one likely value come after all others. */
static double node_score(const struct proving *proving, int32_t i, double bound)
{
    const struct cfn_model *model = proving->model;
    double best = (double)proving->worker->best.cost, gap = best - bound, likely = bound + likely_share * gap,
           sum = 0, gain = proving->worker->leaves.gain[i];
    if (!proving->worker->fixes)
        return gain;
    for (int32_t a = 0; a < model->size[i]; a++)
        if (!proving->leaf[model->offset[i] + (size_t)a])
            sum += greater(less((double)proving->value_bound[model->offset[i] + (size_t)a], best), bound) -
                   bound;
    double mean = sum / values_left(model, proving->leaf, i);
    double promise = less(promised_gain(proving, i, likely), gap);
    gain = gain < 0 ? promise : proving->for_answers ? gain : greater(gain, promise_share * promise);
    return gain + mean_share * mean - (likely_values(proving, i, likely) < 2 ? gap : 0);
}

static int32_t choose_node(const struct proving *proving, int64_t bound)
{
    int32_t chosen = -1;
    double best = 0;
    for (int32_t i = 0; i < proving->model->node_count; i++) {
        if (values_left(proving->model, proving->leaf, i) <= 1)
            continue;
        double score = node_score(proving, i, (double)bound);
        if (chosen < 0 || score > best) {
            chosen = i;
            best = score;
        }
    }
    return chosen;
}

/* By usage: what is paid for the likely values is parted where it has its greatest step; two children.
 * false: they differ by next to nothing in it. */
static bool part_by_usage(struct proving *proving, int32_t node, int64_t bound)
{
    const struct cfn_model *model = proving->model;
    double gap = (double)proving->worker->best.cost - (double)bound,
           likely = (double)bound + likely_share * gap, widest = 0, from = 0;
    pay(proving, node);
    for (int32_t a = 0; a < model->size[node]; a++) { /* the step from a's up to the next */
        size_t at = model->offset[node] + (size_t)a;
        double next = HUGE_VAL;
        if (proving->leaf[at] || (double)proving->value_bound[at] > likely)
            continue;
        for (int32_t b = 0; b < model->size[node]; b++) {
            size_t other = model->offset[node] + (size_t)b;
            if (!proving->leaf[other] && (double)proving->value_bound[other] <= likely &&
                proving->paid[b] > proving->paid[a])
                next = less(next, proving->paid[b]);
        }
        if (next < HUGE_VAL && next - proving->paid[a] > widest) {
            widest = next - proving->paid[a];
            from = proving->paid[a];
        }
    }
    for (int32_t a = 0; a < model->size[node]; a++)
        proving->part[a] = proving->paid[a] > from + widest / 2;
    return widest > worth_parting * gap;
}

/* Where likely values differ in what is paid for usage: by that. Otherwise the least value, and those that
 * come near the leaf's bound, have a child each, the others one together. */
static void part_values(struct proving *proving, int32_t node, int64_t bound)
{
    const struct cfn_model *model = proving->model;
    const int64_t *value_bound = proving->value_bound + model->offset[node];
    double best = (double)proving->worker->best.cost,
           near = (double)bound + alone_share * (best - (double)bound);
    int32_t least = -1;
    if (proving->worker->fixes && part_by_usage(proving, node, bound))
        return;
    each_alone(proving);
    if (!proving->worker->fixes)
        return;
    for (int32_t a = 0; a < model->size[node]; a++) {
        if (proving->leaf[model->offset[node] + (size_t)a])
            continue;
        proving->part[a] = (double)value_bound[a] < near ? a : -1;
        least = least < 0 || value_bound[a] < value_bound[least] ? a : least;
    }
    proving->part[least] = least; /* a child of all values would be the leaf again */
}

/* every node has one value: the leaf is an answer, or none */
static void settle_leaf(struct proving *proving)
{
    struct cfn_worker *worker = proving->worker;
    for (int32_t i = 0; i < proving->model->node_count; i++)
        for (int32_t a = 0; a < proving->model->size[i]; a++)
            if (!proving->leaf[proving->model->offset[i] + (size_t)a])
                worker->point.value[i] = a;
    cfn_point_evaluate(proving->model, &worker->point, worker->profile);
    if (cfn_point_feasible(&worker->point) && worker->point.cost < worker->best.cost)
        cfn_worker_record(worker, &worker->point);
}

static void start_from_root(struct proving *proving)
{
    proving->from_message = proving->message;
    proving->from_multipliers = proving->worker->best_lambda;
}

/* Bounds are of the leaf's own values from here on, and start from the leaf's messages of the whole model. */
static void narrow_to_leaf(struct proving *proving)
{
    struct cfn_worker *worker = proving->worker;
    cfn_trws_narrow(&worker->trws, NULL);
    cfn_narrow_release(&proving->narrow);
    cfn_narrow_create(proving->whole, proving->leaf, &proving->narrow);
    if (worker->clusters)
        cfn_narrow_complete(&proving->narrow, worker->clusters);
    cfn_narrow_fold(&proving->narrow);
    worker->work += proving->narrow.work;
    cfn_trws_narrow(&worker->trws, &proving->narrow);
    cfn_narrow_messages(&proving->narrow, proving->whole_message, proving->leaf_message);
    proving->from_message = proving->leaf_message;
    proving->from_multipliers = proving->leaf_multipliers;
}

/* where its own bound came from, when that was kept; the root's otherwise */
static void start_from_leaf(struct proving *proving, int32_t at)
{
    const struct cfn_leaves *leaves = &proving->worker->leaves;
    size_t times = (size_t)proving->model->time_count;
    if (proving->worker->fixes && leaves->started[at] && leaves->start_size == start_size(proving)) {
        const float *start = leaves->start + (size_t)at * leaves->start_size;
        for (size_t time = 0; time < times; time++)
            proving->leaf_multipliers[time] = (double)start[time];
        for (size_t k = 0; k < proving->whole->message_count; k++)
            proving->whole_message[k] = (double)start[times + k];
    } else {
        memcpy(proving->leaf_multipliers, proving->worker->best_lambda, times * sizeof(double));
        memcpy(proving->whole_message, proving->message, proving->whole->message_count * sizeof(double));
    }
    narrow_to_leaf(proving);
}

/* The leaf again before it is branched on: its own multipliers and messages, from which its children start,
 * and what those say of each value. Its bound; INT64_MAX: it has no better answer. */
static int64_t refine_leaf(struct proving *proving, int64_t bound)
{
    struct cfn_worker *worker = proving->worker;
    const struct cfn_model *model = proving->model;
    memset(proving->taken, 0, model->value_count * sizeof *proving->taken);
    int64_t own = bound_of(proving, proving->leaf, LEAF_STEPS);
    memcpy(proving->leaf_multipliers, proving->centre, (size_t)model->time_count * sizeof(double));
    cfn_narrow_widen(&proving->narrow, proving->centre_message, proving->whole_message);
    if (own >= worker->best.cost)
        return INT64_MAX;
    drop_by_value(proving, proving->leaf);
    if (!drop_what_does_not_fit(proving, proving->leaf) || empty(model, proving->leaf))
        return INT64_MAX;
    narrow_to_leaf(proving);
    return own > bound ? own : bound;
}

/* the leaf of least bound becomes its children; when told to stop in between, it stays as it was */
static void expand(struct proving *proving)
{
    struct cfn_worker *worker = proving->worker;
    struct cfn_leaves *leaves = &worker->leaves;
    const struct cfn_model *model = proving->model;
    int32_t at = cfn_leaves_least(leaves), count = leaves->count;
    int64_t bound = leaves->bound[at];
    memcpy(proving->leaf, leaves->mask + (size_t)at * model->value_count, model->value_count);
    start_from_leaf(proving, at);
    if (worker->fixes)
        bound = refine_leaf(proving, bound);
    int32_t node = bound == INT64_MAX ? -1 : choose_node(proving, bound);
    if (node >= 0)
        part_values(proving, node, bound);
    double gain = node < 0 ? 0 : try_node(proving, proving->leaf, bound, node, CHILD_STEPS, true);
    cfn_trws_narrow(&worker->trws, NULL);
    start_from_root(proving);
    if (worker->stopped) {
        leaves->count = count;
        return;
    }
    cfn_leaves_move(model, leaves, at, --leaves->count);
    if (node < 0) {
        if (bound != INT64_MAX)
            settle_leaf(proving);
        return;
    }
    leaves->gain[node] = leaves->gain[node] < 0 ? gain : gain_kept * leaves->gain[node] + gain_new * gain;
}

static void raise_bound(struct cfn_worker *worker, int64_t best)
{
    const struct cfn_leaves *leaves = &worker->leaves;
    int64_t bound = cfn_leaves_bound(leaves);
    if (leaves->shared && leaves->elsewhere < bound)
        bound = leaves->elsewhere;
    bound = bound < best ? bound : best;
    worker->bound = bound > worker->bound ? bound : worker->bound;
}

void cfn_prove_join(struct cfn_worker *worker, struct cfn_worker *other, int64_t best)
{
    cfn_leaves_join(worker->model, &worker->leaves, &other->leaves);
    raise_bound(worker, best);
}

static void prove_phase(struct cfn_worker *worker, double probing, bool for_answers)
{
    const struct cfn_model *model = worker->model;
    size_t times = (size_t)model->time_count + 1;
    struct proving proving = {.worker = worker, .model = model, .for_answers = for_answers};
    if (!worker->has_best || worker->bound == INT64_MIN)
        return;
    proving.message = mem_alloc((worker->trws.model->message_count + 1) * sizeof *proving.message);
    proving.whole = worker->trws.model;
    proving.whole_message = mem_zalloc(worker->trws.model->message_count + 1, sizeof *proving.message);
    proving.leaf_message = mem_alloc((worker->trws.model->message_count + 1) * sizeof *proving.message);
    proving.leaf_multipliers = mem_zalloc(times, sizeof *proving.centre);
    proving.centre_message = mem_alloc((worker->trws.model->message_count + 1) * sizeof *proving.message);
    proving.taken = mem_zalloc(model->value_count + 1, sizeof *proving.taken);
    proving.centre = mem_zalloc(times, sizeof *proving.centre);
    proving.g = mem_zalloc(times, sizeof *proving.g);
    proving.least = mem_zalloc(times, sizeof *proving.least);
    proving.part = mem_zalloc((size_t)model->largest + 1, sizeof *proving.part);
    proving.paid = mem_zalloc((size_t)model->largest + 1, sizeof *proving.paid);
    each_alone(&proving);
    proving.child = mem_zalloc(model->value_count + 1, 1);
    proving.leaf = mem_zalloc(model->value_count + 1, 1);
    proving.child_bound = mem_zalloc((size_t)model->largest + 1, sizeof *proving.child_bound);
    proving.value_bound = mem_zalloc(model->value_count + 1, sizeof *proving.value_bound);
    memcpy(proving.message, worker->trws.message,
           worker->trws.model->message_count * sizeof *proving.message);
    worker->trws.drop_cost = cfn_worker_drop_cost(worker);
    start_from_root(&proving);
    if (!worker->leaves.begun)
        begin(&proving, probing);
    else if (worker->fixes)
        fix_leaves(&proving);
    while (worker->leaves.begun && worker->leaves.count && !cfn_worker_done(worker) &&
           worker->leaves.count < MOST_LEAVES &&
           (size_t)worker->leaves.count * model->value_count < most_mask_bytes)
        expand(&proving);
    if (worker->leaves.begun)
        raise_bound(worker, worker->best.cost);
    worker->trws.dropped = NULL;
    cfn_narrow_release(&proving.narrow);
    memcpy(worker->trws.message, proving.message,
           worker->trws.model->message_count * sizeof *proving.message);
    cfn_trws_price(&worker->trws, worker->best_lambda);
    free(proving.message);
    free(proving.whole_message);
    free(proving.leaf_message);
    free(proving.leaf_multipliers);
    free(proving.centre_message);
    free(proving.taken);
    free(proving.centre);
    free(proving.g);
    free(proving.least);
    free(proving.part);
    free(proving.paid);
    free(proving.child);
    free(proving.leaf);
    free(proving.child_bound);
    free(proving.value_bound);
}

void cfn_prove_for_answers(struct cfn_worker *worker)
{
    struct cfn_trws *trws = &worker->trws;
    cfn_trws_price(trws, worker->best_lambda);
    for (int k = 0; k < ANSWER_PASSES; k++)
        (void)cfn_trws_iterate(trws);
    worker->work += ANSWER_PASSES * (2 * trws->model->table_work + worker->model->forest_work);
    prove_phase(worker, 0, true);
}

void cfn_prove_phase(struct cfn_worker *worker, double probing)
{
    prove_phase(worker, probing, false);
}

/* Times that others imply, found twice over.
 *
 * Neighbours: one walk over the times with `drift`, the difference in usage between the running time and the
 * last one kept, by node and value; what begins or ends in between is all that changes it. In both
 * directions: the running time goes, or the kept one does. Repeated until nothing goes.
 *
 *       kept                 t
 *       |----- item of i ----X          drift_i(a) = -use(a)
 *                     X--- item of j    drift_j(b) = +use(b)
 *
 * Any: being implied is transitive, so it is enough to look at the times that are not implied themselves (a
 * skyline: H. Kung, F. Luccio, F. Preparata, "On finding the maxima of a set of vectors", 1975). Usages of
 * SAMPLES random assignments turn nearly all pairs down at the first look: an implied time is below the other
 * in each of them. Whoever passes is checked exactly. Times come in falling order of their sampled usage, so
 * that a time meets all that could imply it; of equal times the first stays. */
#include "cfn/implied.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_WALKS = 4, /* over all times, by neighbours */
    SAMPLES = 32,
    SEED = 0x71e5, /* of the samples: the same in every process */
};
/* pairs looked at, and items and uses compared in exact checks, by all calls on one network: 0.2 to 0.4 s */
static const uint64_t most_work = UINT64_C(1) << 27;

/* ---- by neighbours ---- */

struct turn { /* an item begins or ends at a time */
    int32_t time, node;
    const int64_t *use;
    int64_t sign;
};

struct drift {
    int64_t **by_value;  /* by node; NULL: nothing of it has turned */
    int64_t *high, *low; /* greatest and least over the values of a node */
    int32_t *touched, count;
    int64_t up, down; /* sums of high and of low over the nodes */
};

static int turn_order(const void *left, const void *right)
{
    const struct turn *turn = left, *other_turn = right;
    if (turn->time != other_turn->time)
        return turn->time < other_turn->time ? -1 : 1;
    return (turn->node > other_turn->node) - (turn->node < other_turn->node);
}

static void drift_reset(struct drift *drift)
{
    for (int32_t k = 0; k < drift->count; k++) {
        int32_t node = drift->touched[k];
        free(drift->by_value[node]);
        drift->by_value[node] = NULL;
        drift->high[node] = drift->low[node] = 0;
    }
    drift->count = 0;
    drift->up = drift->down = 0;
}

static void drift_add(const struct cfn_network *n, struct drift *drift, const struct turn *turn)
{
    int32_t size = n->nodes[turn->node].size;
    int64_t high = INT64_MIN, low = INT64_MAX;
    if (!drift->by_value[turn->node]) {
        drift->by_value[turn->node] = mem_zalloc((size_t)size, sizeof **drift->by_value);
        drift->touched[drift->count++] = turn->node;
    }
    for (int32_t a = 0; a < size; a++) {
        int64_t now = drift->by_value[turn->node][a] += turn->sign * turn->use[a];
        high = now > high ? now : high;
        low = now < low ? now : low;
    }
    drift->up += high - drift->high[turn->node];
    drift->down += low - drift->low[turn->node];
    drift->high[turn->node] = high;
    drift->low[turn->node] = low;
}

/* one walk; -> how many times it marked */
static int32_t walk(const struct cfn_network *n, const struct turn *turns, size_t turn_count,
                    struct drift *drift, bool *implied)
{
    int32_t kept = -1, marked = 0;
    size_t at = 0;
    for (int32_t time = 0; time < n->time_count; time++) {
        for (; at < turn_count && turns[at].time <= time; at++)
            if (kept >= 0)
                drift_add(n, drift, &turns[at]);
        if (implied[time])
            continue;
        int64_t more = kept >= 0 ? n->base[time] - n->base[kept] : 0;
        if (kept >= 0 && more + drift->up <= 0) {
            implied[time] = true;
            marked++;
            continue;
        }
        if (kept >= 0 && more + drift->down >= 0) {
            implied[kept] = true;
            marked++;
        }
        kept = time;
        drift_reset(drift);
    }
    drift_reset(drift);
    return marked;
}

/* where items begin and end, ascending; owned */
static struct turn *turns_of(const struct cfn_network *n, size_t *count)
{
    uint32_t nodes = n->problem->node_count;
    size_t item_count = 0;
    *count = 0;
    for (uint32_t i = 0; i < nodes; i++)
        item_count += n->nodes[i].size ? n->nodes[i].items.count : 0;
    struct turn *turns = mem_alloc((2 * item_count + 1) * sizeof *turns);
    for (uint32_t i = 0; i < nodes; i++)
        for (size_t k = 0; n->nodes[i].size && k < n->nodes[i].items.count; k++) {
            const struct cfn_item *item = &n->nodes[i].items.at[k];
            turns[(*count)++] = (struct turn){item->left, (int32_t)i, item->use, 1};
            turns[(*count)++] = (struct turn){item->right, (int32_t)i, item->use, -1};
        }
    qsort(turns, *count, sizeof *turns, turn_order);
    return turns;
}

int32_t cfn_implied_by_neighbours(const struct cfn_network *n, bool *implied)
{
    size_t nodes = (size_t)n->problem->node_count + 1, count;
    struct turn *turns = turns_of(n, &count);
    struct drift drift = {.by_value = mem_zalloc(nodes, sizeof *drift.by_value),
                          .high = mem_zalloc(nodes, sizeof *drift.high),
                          .low = mem_zalloc(nodes, sizeof *drift.low),
                          .touched = mem_alloc(nodes * sizeof *drift.touched)};
    int32_t all = 0, marked = 1;
    for (int k = 0; k < MOST_WALKS && marked; k++)
        all += marked = walk(n, turns, count, &drift, implied);
    free(turns);
    free(drift.by_value);
    free(drift.high);
    free(drift.low);
    free(drift.touched);
    return all;
}

/* ---- by any ---- */

struct sampled {
    double total; /* of usage */
    int32_t time;
};

struct skyline {
    const struct cfn_network *n;
    int64_t *usage; /* SAMPLES a time */
    struct sampled *order;
    int32_t *kept, kept_count;
    struct span { /* every item, by node: one row, because exact checks look at all of them */
        int32_t left, right, node;
        const int64_t *use;
    } *spans;
    size_t span_count;
    int64_t *difference; /* by value of one node */
    uint64_t work;
};

static int sampled_order(const void *left, const void *right)
{
    const struct sampled *sampled = left, *other_sampled = right;
    if (sampled->total != other_sampled->total)
        return sampled->total > other_sampled->total ? -1 : 1;
    return (sampled->time > other_sampled->time) - (sampled->time < other_sampled->time);
}

static void list_spans(struct skyline *skyline)
{
    const struct cfn_network *n = skyline->n;
    size_t count = 0;
    for (uint32_t i = 0; i < n->problem->node_count; i++)
        count += n->nodes[i].size ? n->nodes[i].items.count : 0;
    skyline->spans = mem_alloc((count + 1) * sizeof *skyline->spans);
    for (uint32_t i = 0; i < n->problem->node_count; i++)
        for (size_t k = 0; n->nodes[i].size && k < n->nodes[i].items.count; k++) {
            const struct cfn_item *item = &n->nodes[i].items.at[k];
            skyline->spans[skyline->span_count++] =
                (struct span){item->left, item->right, (int32_t)i, item->use};
        }
}

static void sample(struct skyline *skyline)
{
    const struct cfn_network *n = skyline->n;
    struct rng rng = {SEED};
    size_t times = (size_t)n->time_count, value[SAMPLES];
    for (size_t i = 0; i < skyline->span_count; i++) {
        const struct span *span = &skyline->spans[i];
        if (i == 0 || span->node != skyline->spans[i - 1].node)
            for (int k = 0; k < SAMPLES; k++)
                value[k] = (size_t)rng_below(&rng, (uint64_t)n->nodes[span->node].size);
        for (size_t k = 0; k < SAMPLES; k++) {
            skyline->usage[(size_t)span->left * SAMPLES + k] += span->use[value[k]];
            skyline->usage[(size_t)span->right * SAMPLES + k] -= span->use[value[k]];
        }
    }
    for (size_t at = SAMPLES; at < times * SAMPLES; at++)
        skyline->usage[at] += skyline->usage[at - SAMPLES];
    for (size_t at = 0; at < times * SAMPLES; at++)
        skyline->usage[at] += n->base[at / SAMPLES];
}

static bool may_imply(const struct skyline *skyline, int32_t kept, int32_t time)
{
    const int64_t *most = skyline->usage + (size_t)kept * SAMPLES,
                  *usage = skyline->usage + (size_t)time * SAMPLES;
    int k = 0;
    while (k < SAMPLES && usage[k] <= most[k])
        k++;
    return k == SAMPLES;
}

/* the most that a node uses more at one time than at the other; spans of the node from `at` on, *at moves
 * past them */
static int64_t greatest_difference(struct skyline *skyline, size_t *at, int32_t kept, int32_t time)
{
    int32_t node = skyline->spans[*at].node, size = skyline->n->nodes[node].size;
    int64_t most = INT64_MIN;
    bool any = false;
    for (; *at < skyline->span_count && skyline->spans[*at].node == node; (*at)++) {
        const struct span *span = &skyline->spans[*at];
        int sign = (span->left <= time && time < span->right) - (span->left <= kept && kept < span->right);
        if (!sign)
            continue;
        if (!any)
            memset(skyline->difference, 0, (size_t)size * sizeof *skyline->difference);
        any = true;
        skyline->work += (uint64_t)size;
        for (int32_t a = 0; a < size; a++)
            skyline->difference[a] += sign * span->use[a];
    }
    for (int32_t a = 0; a < size && any; a++)
        most = skyline->difference[a] > most ? skyline->difference[a] : most;
    return any ? most : 0;
}

static bool implies(struct skyline *skyline, int32_t kept, int32_t time)
{
    const struct cfn_network *n = skyline->n;
    int64_t more = n->base[time] - n->base[kept];
    for (size_t at = 0; at < skyline->span_count;)
        more += greatest_difference(skyline, &at, kept, time);
    skyline->work += skyline->span_count;
    return more <= 0;
}

/* marks what the kept imply; the others are kept */
static int32_t sweep(struct skyline *skyline, int32_t count, bool *implied)
{
    int32_t marked = 0;
    for (int32_t at = 0; at < count && skyline->work < most_work; at++) {
        int32_t time = skyline->order[at].time;
        for (int32_t k = 0; k < skyline->kept_count && !implied[time]; k++) {
            skyline->work += 2;
            if (may_imply(skyline, skyline->kept[k], time) && implies(skyline, skyline->kept[k], time))
                implied[time] = true;
        }
        if (implied[time])
            marked++;
        else
            skyline->kept[skyline->kept_count++] = time;
    }
    return marked;
}

int32_t cfn_implied_by_any(struct cfn_network *n, bool *implied)
{
    size_t times = (size_t)n->time_count + 1;
    int32_t count = 0, largest = 1;
    if ((uint64_t)n->time_count * SAMPLES + n->implied_work > most_work)
        return 0;
    for (uint32_t i = 0; i < n->problem->node_count; i++)
        largest = n->nodes[i].size > largest ? n->nodes[i].size : largest;
    struct skyline skyline = {.n = n,
                              .work = n->implied_work + times * SAMPLES,
                              .usage = mem_zalloc(times * SAMPLES, sizeof *skyline.usage),
                              .order = mem_alloc(times * sizeof *skyline.order),
                              .kept = mem_alloc(times * sizeof *skyline.kept),
                              .difference = mem_alloc((size_t)largest * sizeof *skyline.difference)};
    list_spans(&skyline);
    sample(&skyline);
    for (int32_t time = 0; time < n->time_count; time++) {
        double total = 0;
        for (size_t k = 0; k < SAMPLES; k++)
            total += (double)skyline.usage[(size_t)time * SAMPLES + k];
        if (!implied[time])
            skyline.order[count++] = (struct sampled){total, time};
    }
    qsort(skyline.order, (size_t)count, sizeof *skyline.order, sampled_order);
    int32_t marked = sweep(&skyline, count, implied);
    n->implied_work = skyline.work;
    free(skyline.usage);
    free(skyline.order);
    free(skyline.kept);
    free(skyline.spans);
    free(skyline.difference);
    return marked;
}

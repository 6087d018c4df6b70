/* Which times count, and which values can never fit. Usage only rises at a start and only falls at an end,
 * so between a start and the next end it is highest: one time for each such stretch is enough.
 *
 *   time       0  1  2  3  4  5  6  7  8  9
 *   node 0     [-----------------)
 *   node 1           [-----)
 *   node 2                    [-----------)
 *   retained         2        5                 a start with an end next
 *
 * A retained time is forgotten when everybody's greatest usage there stays within the limit, or when another
 * implies it (implied.h); a value is dropped when it exceeds the limit with everything else at its least.
 * The largest base usage over a stretch is a sparse table of range maxima (M. Bender and M. Farach-Colton,
 * "The LCA problem revisited", 2000): two lookups a question. */
#include "cfn/timeline.h"

#include "cfn/implied.h"

#include <stdlib.h>
#include <string.h>

/* 2^61: four such sums, with base, items and a limit among them, still fit 64 bits */
#define MOST_USAGE (INT64_MAX / 4)

struct event {
    int64_t time;
    bool start;
};

static int event_order(const void *left, const void *right)
{
    const struct event *event = left, *other_event = right;
    if (event->time != other_event->time)
        return event->time < other_event->time ? -1 : 1;
    return (int)event->start - (int)other_event->start; /* ends first: intervals are half-open */
}

/* first index with times[index] >= time */
static int32_t position(const int64_t *times, int32_t count, int64_t time)
{
    int32_t low = 0, high = count;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (times[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* times at which a start is followed by an end; owned */
static int64_t *candidate_times(const struct cfn_problem *problem, int32_t *count)
{
    struct event *events = mem_zalloc((size_t)problem->node_count * 2 + 1, sizeof *events);
    int64_t *times = mem_zalloc((size_t)problem->node_count + 1, sizeof *times);
    size_t event_count = 0;
    for (uint32_t i = 0; i < problem->node_count && problem->has_limit; i++) {
        if (problem->nodes[i].lower >= problem->nodes[i].upper)
            continue;
        events[event_count++] = (struct event){problem->nodes[i].lower, true};
        events[event_count++] = (struct event){problem->nodes[i].upper, false};
    }
    qsort(events, event_count, sizeof *events, event_order);
    *count = 0;
    for (size_t i = 0; i + 1 < event_count; i++)
        if (events[i].start && !events[i + 1].start)
            times[(*count)++] = events[i].time;
    free(events);
    return times;
}

enum error_code cfn_timeline_load(struct cfn_network *n, struct error *e)
{
    const struct cfn_problem *problem = n->problem;
    int64_t *times = candidate_times(problem, &n->time_count);
    __int128 total = 0;
    n->base = mem_zalloc((size_t)n->time_count + 1, sizeof *n->base);
    for (uint32_t i = 0; i < problem->node_count && n->time_count; i++) {
        struct cfn_item item = {position(times, n->time_count, problem->nodes[i].lower),
                                position(times, n->time_count, problem->nodes[i].upper), NULL};
        int32_t size = problem->nodes[i].domain;
        int64_t most = 0;
        if (item.left >= item.right)
            continue;
        item.use = mem_alloc((size_t)size * sizeof *item.use);
        for (int32_t a = 0; a < size; a++) {
            int64_t u = problem->usages[problem->nodes[i].first_value + (uint64_t)a];
            item.use[a] = u > problem->limit && problem->limit < INT64_MAX ? problem->limit + 1 : u;
            most = item.use[a] > most ? item.use[a] : most;
        }
        total += most;
        if (total > MOST_USAGE) {
            free(item.use);
            free(times);
            return error_set(e, ERROR_RESOURCE, "usages sum beyond 2^61: give them in a larger unit");
        }
        cfn_network_add_item(n, (int32_t)i, item);
    }
    free(times);
    n->changed_usage = true;
    return ERROR_OK;
}

/* for each time the greatest usage that choices could reach; owned */
static int64_t *greatest_usage(const struct cfn_network *n)
{
    int64_t *most = mem_zalloc((size_t)n->time_count + 1, sizeof *most);
    for (uint32_t i = 0; i < n->problem->node_count; i++) {
        const struct cfn_super *super = &n->nodes[i];
        for (size_t k = 0; super->size && k < super->items.count; k++) {
            int64_t top = 0;
            for (int32_t a = 0; a < super->size; a++)
                top = super->items.at[k].use[a] > top ? super->items.at[k].use[a] : top;
            most[super->items.at[k].left] += top;
            most[super->items.at[k].right] -= top;
        }
    }
    for (int32_t time = 0, previous = 0; time < n->time_count; previous = time++)
        most[time] += time ? most[previous] : 0;
    for (int32_t time = 0; time < n->time_count; time++)
        most[time] += n->base[time];
    return most;
}

/* forgets the times marked; true when there was one */
static bool forget(struct cfn_network *n, const bool *gone)
{
    int32_t *moved = mem_zalloc((size_t)n->time_count + 1, sizeof *moved), left = 0;
    for (int32_t time = 0; time < n->time_count; time++) {
        moved[time] = left;
        n->base[left] = n->base[time];
        left += !gone[time];
    }
    moved[n->time_count] = left;
    for (uint32_t i = 0; i < n->problem->node_count && left < n->time_count; i++) {
        struct cfn_super *super = &n->nodes[i];
        size_t count = super->items.count;
        struct cfn_item *old = super->items.at;
        if (!count)
            continue;
        memset(&super->items, 0, sizeof super->items);
        for (size_t k = 0; k < count; k++)
            cfn_network_add_item(n, (int32_t)i,
                                 (struct cfn_item){moved[old[k].left], moved[old[k].right], old[k].use});
        free(old);
        cfn_network_push(n, (int32_t)i); /* fewer items: more may dominate, or be eliminated */
    }
    bool any = left < n->time_count;
    n->time_count = left;
    free(moved);
    return any;
}

void cfn_timeline_shrink(struct cfn_network *n, bool imply)
{
    int64_t *most = greatest_usage(n);
    bool *gone = mem_zalloc((size_t)n->time_count + 1, sizeof *gone);
    for (int32_t time = 0; time < n->time_count; time++)
        gone[time] = most[time] <= n->limit;
    free(most);
    if (imply)
        cfn_implied_by_neighbours(n, gone);
    (void)forget(n, gone);
    free(gone);
}

bool cfn_timeline_shrink_all(struct cfn_network *n)
{
    bool *gone = mem_zalloc((size_t)n->time_count + 1, sizeof *gone);
    cfn_implied_by_any(n, gone);
    bool any = forget(n, gone);
    free(gone);
    return any;
}

/* range maximum of base: level[k][t] = max of base[t .. t + 2^k) */
struct range_max {
    int64_t *level[32];
    int32_t levels;
};

static void range_max_init(struct range_max *range_max, const int64_t *base, int32_t count)
{
    range_max->levels = 0;
    for (int32_t width = 1; width <= count; width *= 2) {
        int64_t *at = mem_alloc((size_t)count * sizeof *at);
        for (int32_t t = 0; t + width <= count; t++) {
            const int64_t *below = range_max->levels ? range_max->level[range_max->levels - 1] : base;
            int64_t a = below[t], b = range_max->levels ? below[t + width / 2] : a;
            at[t] = a > b ? a : b;
        }
        range_max->level[range_max->levels++] = at;
    }
}

static int64_t range_max_get(const struct range_max *range_max, int32_t left, int32_t right)
{
    int32_t k = 31 - __builtin_clz((unsigned)(right - left));
    int64_t a = range_max->level[k][left], b = range_max->level[k][right - (1 << k)];
    return a > b ? a : b;
}

static int time_order(const void *left, const void *right)
{
    int32_t x = *(const int32_t *)left, y = *(const int32_t *)right;
    return (x > y) - (x < y);
}

/* Does value a keep within the limit with everything else at its least? cuts: the items' ends, ascending. */
static bool value_fits(const struct cfn_network *n, const struct cfn_super *super, int32_t a,
                       const struct range_max *range_max, const int32_t *cuts, size_t cut_count,
                       int64_t *change)
{
    int64_t usage = 0;
    memset(change, 0, cut_count * sizeof *change);
    for (size_t k = 0; k < super->items.count; k++) {
        const struct cfn_item *item = &super->items.at[k];
        const int32_t *l = bsearch(&item->left, cuts, cut_count, sizeof *cuts, time_order);
        const int32_t *h = bsearch(&item->right, cuts, cut_count, sizeof *cuts, time_order);
        change[l - cuts] += item->use[a];
        change[h - cuts] -= item->use[a];
    }
    for (size_t c = 0; c + 1 < cut_count; c++) {
        usage += change[c];
        if (usage + range_max_get(range_max, cuts[c], cuts[c + 1]) > n->limit)
            return false;
    }
    return true;
}

static bool prune_node(struct cfn_network *n, int32_t node, const struct range_max *range_max)
{
    struct cfn_super *super = &n->nodes[node];
    size_t count = 0, cut_count = 0;
    int32_t *cuts = mem_alloc(super->items.count * 2 * sizeof *cuts), kept_count = 0;
    int64_t *change = mem_alloc(super->items.count * 2 * sizeof *change);
    int32_t *kept = mem_alloc((size_t)super->size * sizeof *kept);
    for (size_t k = 0; k < super->items.count; k++) {
        cuts[count++] = super->items.at[k].left;
        cuts[count++] = super->items.at[k].right;
    }
    qsort(cuts, count, sizeof *cuts, time_order);
    for (size_t k = 0; k < count; k++)
        if (k == 0 || cuts[k] != cuts[k - 1])
            cuts[cut_count++] = cuts[k];
    for (int32_t a = 0; a < super->size; a++)
        if (value_fits(n, super, a, range_max, cuts, cut_count, change))
            kept[kept_count++] = a;
    bool dropped = kept_count < super->size;
    if (dropped)
        cfn_network_keep(n, node, kept, kept_count);
    free(cuts);
    free(change);
    free(kept);
    return dropped;
}

bool cfn_timeline_prune(struct cfn_network *n)
{
    struct range_max range_max;
    bool any = false;
    n->changed_usage = false;
    range_max_init(&range_max, n->base, n->time_count);
    for (uint32_t i = 0; i < n->problem->node_count && !n->wiped; i++)
        if (n->nodes[i].size && n->nodes[i].items.count)
            any = prune_node(n, (int32_t)i, &range_max) || any;
    for (int32_t k = 0; k < range_max.levels; k++)
        free(range_max.level[k]);
    return any;
}

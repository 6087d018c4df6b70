/* For each time what every value uses there above its node's least; a pair of nodes is looked at when its two
 * greatest exceed what is left at some time, and then value by value at all such times. Equal shares stay in
 * the order of nodes. */
#include "cfn/conflicts.h"

#include "cfn/kernel.h"

#include <stdlib.h>

static const size_t most_uses = (size_t)1 << 21;     /* times x values: 16 MiB while pairs are looked for */
static const uint64_t most_work = UINT64_C(1) << 24; /* looking ends there: sixteen units */

struct looking { /* scratch */
    const struct cfn_model *model;
    int64_t *above;    /* by time, then by padded value: usage above the node's least */
    int64_t *greatest; /* by time, then by node: the greatest of those */
    int64_t *left;     /* by time: what the limit leaves beside everyone's least */
    VEC(struct cfn_conflict) found;
    VEC(uint8_t) never;
    uint64_t work;
};

static int64_t *above_of(const struct looking *looking, int32_t time, int32_t node)
{
    return looking->above + (size_t)time * looking->model->value_count + looking->model->offset[node];
}

static int64_t *greatest_of(const struct looking *looking, int32_t time, int32_t node)
{
    return looking->greatest + (size_t)time * (size_t)looking->model->node_count + (size_t)node;
}

static void fill_node(struct looking *looking, int32_t node)
{
    const struct cfn_model *model = looking->model;
    for (uint32_t k = model->first_item[node]; k < model->first_item[node + 1]; k++)
        for (int32_t time = model->items[k].left; time < model->items[k].right; time++)
            for (int32_t a = 0; a < model->size[node]; a++)
                above_of(looking, time, node)[a] += model->items[k].use[a];
    for (int32_t time = 0; time < model->time_count; time++) {
        int64_t *above = above_of(looking, time, node), least = above[0], most = above[0];
        for (int32_t a = 1; a < model->size[node]; a++) {
            least = above[a] < least ? above[a] : least;
            most = above[a] > most ? above[a] : most;
        }
        for (int32_t a = 0; a < model->size[node]; a++)
            above[a] -= least;
        looking->left[time] -= least;
        *greatest_of(looking, time, node) = most - least;
    }
}

static void fill(struct looking *looking)
{
    const struct cfn_model *model = looking->model;
    size_t times = (size_t)model->time_count;
    looking->above = mem_zalloc(times * model->value_count + 1, sizeof *looking->above);
    looking->greatest = mem_zalloc(times * (size_t)model->node_count + 1, sizeof *looking->greatest);
    looking->left = mem_zalloc(times + 1, sizeof *looking->left);
    for (int32_t time = 0; time < model->time_count; time++)
        looking->left[time] = model->limit - model->base[time];
    for (int32_t i = 0; i < model->node_count; i++)
        fill_node(looking, i);
    looking->work += times * model->value_count;
}

/* Marks what excludes each other at one time. */
static void mark(struct looking *looking, int32_t time, int32_t one, int32_t other, uint8_t *never)
{
    const struct cfn_model *model = looking->model;
    const int64_t *first = above_of(looking, time, one), *second = above_of(looking, time, other);
    int64_t left = looking->left[time];
    for (int32_t a = 0; a < model->size[one]; a++)
        for (int32_t b = 0; b < model->size[other]; b++)
            never[(size_t)a * (size_t)model->size[other] + (size_t)b] |= first[a] + second[b] > left;
    looking->work += (uint64_t)model->size[one] * (uint64_t)model->size[other];
}

static void look_at(struct looking *looking, int32_t one, int32_t other, double least_share)
{
    const struct cfn_model *model = looking->model;
    size_t size = (size_t)model->size[one] * (size_t)model->size[other], begin = looking->never.count;
    int64_t count = 0;
    for (int32_t time = 0; time < model->time_count; time++) {
        int64_t first = *greatest_of(looking, time, one), second = *greatest_of(looking, time, other);
        if (first == 0 || second == 0 || first + second <= looking->left[time])
            continue; /* what one does by itself, reductions have seen */
        while (looking->never.count < begin + size)
            VEC_PUSH(&looking->never, 0);
        mark(looking, time, one, other, looking->never.at + begin);
    }
    looking->work += (uint64_t)model->time_count;
    for (size_t k = begin; k < looking->never.count; k++)
        count += looking->never.at[k];
    if ((double)count > 0 && (double)count >= least_share * (double)size)
        VEC_PUSH(&looking->found, ((struct cfn_conflict){one, other, begin, (double)count / (double)size}));
    else
        looking->never.count = begin;
}

static int by_share(const void *left, const void *right)
{
    const struct cfn_conflict *x = left, *y = right;
    return x->share != y->share ? (x->share > y->share ? -1 : 1)
           : x->one != y->one   ? x->one - y->one
                                : x->other - y->other;
}

void cfn_conflicts_create(const struct cfn_model *model, double least_share, double most_entries,
                          struct cfn_conflicts *conflicts)
{
    struct looking looking = {.model = model};
    *conflicts = (struct cfn_conflicts){0};
    if ((size_t)model->time_count * model->value_count > most_uses)
        return;
    fill(&looking);
    for (int32_t i = 0; i < model->node_count && looking.work < most_work; i++)
        for (int32_t j = i + 1; j < model->node_count && looking.work < most_work; j++)
            look_at(&looking, i, j, least_share);
    if (looking.found.count)
        qsort(looking.found.at, looking.found.count, sizeof *looking.found.at, by_share);
    for (size_t k = 0; k < looking.found.count; k++) {
        most_entries -= (double)model->size[looking.found.at[k].one] * model->size[looking.found.at[k].other];
        if (most_entries < 0)
            break;
        conflicts->count++;
    }
    conflicts->at = looking.found.at;
    conflicts->never = looking.never.at;
    conflicts->work = looking.work;
    free(looking.above);
    free(looking.greatest);
    free(looking.left);
}

void cfn_conflicts_release(struct cfn_conflicts *conflicts)
{
    free(conflicts->at);
    free(conflicts->never);
    *conflicts = (struct cfn_conflicts){0};
}

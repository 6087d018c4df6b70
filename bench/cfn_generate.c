/* bench_cfn_generate: a contest problem to tune and test on, as JSON on standard output.
 *
 *   bench_cfn_generate [--nodes N] [--layers N] [--values N] [--crosscuts] [--tightness X] [--seed N]
 *
 * Layered chains with skip edges, as partitioned training steps have: each layer is a chain of nodes of a few
 * kinds, each kind with its table of resharding costs; every layer begins with a copy of the one before;
 * forward nodes live until their mirror image late in the sequence. --crosscuts forces equal values between
 * copies of a node (10^18 elsewhere). The limit is `tightness` (1.1) times the peak of the assignment of
 * least usage. */
#include "base/hash.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
    int nodes, layers, values;
    double tightness;
    int crosscuts;
    uint64_t seed;
};

enum { KINDS = 12, MAX_VALUES = 64 };
static const long long forbidden = 1000000000000000000;

struct kind {
    int values;
    long long cost[MAX_VALUES], usage[MAX_VALUES];
};

static struct kind make_kind(struct rng *r, int values)
{
    struct kind k = {.values = 1 + (int)rng_below(r, (uint64_t)values)};
    long long bytes = 1ll << (10 + rng_below(r, 14));
    for (int a = 0; a < k.values; a++) {
        long long parts = 1ll << rng_below(r, 5); /* split into 1 to 16: less usage, more cost to gather */
        k.usage[a] = bytes / parts;
        k.cost[a] = rng_below(r, 3) ? 0 : bytes * (parts - 1) / 16;
    }
    return k;
}

/* changing the layout moves bytes; the same layout is free */
static void print_edge(struct rng *r, const struct kind *a, const struct kind *b, uint64_t salt)
{
    for (int x = 0; x < a->values; x++)
        for (int y = 0; y < b->values; y++) {
            uint64_t h = hash_combine(hash_combine(salt, (uint64_t)x), (uint64_t)y);
            long long bytes = a->usage[x] > b->usage[y] ? a->usage[x] : b->usage[y];
            long long cost = h % 3 == 0 ? 0 : bytes * (long long)(1 + h % 7);
            printf("%s%lld", x || y ? "," : "", cost);
        }
    (void)r;
}

static void print_equal(const struct kind *a)
{
    for (int x = 0; x < a->values; x++)
        for (int y = 0; y < a->values; y++)
            printf("%s%lld", x || y ? "," : "", x == y ? 0 : forbidden);
}

struct edge {
    int first, second, equal;
};

static void print_problem(const struct shape *s)
{
    struct rng r = {s->seed};
    int width = s->nodes / s->layers > 2 ? s->nodes / s->layers : 2, n = width * s->layers;
    struct kind kinds[KINDS];
    int *kind = mem_zalloc((size_t)n, sizeof *kind), *lower = mem_zalloc((size_t)n, sizeof *lower);
    int *upper = mem_zalloc((size_t)n, sizeof *upper);
    long long *change = mem_zalloc((size_t)n * 2 + 2, sizeof *change), peak = 0, usage = 0;
    VEC(struct edge) edges = {0};
    for (int k = 0; k < KINDS; k++)
        kinds[k] = make_kind(&r, s->values);
    for (int i = 0; i < n; i++) {
        int in_layer = i % width, mirror = 2 * n - 1 - i;
        kind[i] = i < width ? (int)rng_below(&r, KINDS) : kind[i - width];
        lower[i] = i;
        upper[i] = rng_below(&r, 4) == 0 && i < n ? mirror : i + 1 + (int)rng_below(&r, 8);
        upper[i] = upper[i] < 2 * n ? upper[i] : 2 * n;
        if (i > 0)
            VEC_PUSH(&edges, ((struct edge){i - 1, i, 0}));
        if (in_layer > 4 && rng_below(&r, 3) == 0)
            VEC_PUSH(&edges, ((struct edge){i - 2 - (int)rng_below(&r, 3), i, 0}));
        if (i >= width && s->crosscuts && rng_below(&r, 4))
            VEC_PUSH(&edges, ((struct edge){i - width, i, 1}));
        long long least = kinds[kind[i]].usage[0];
        for (int a = 1; a < kinds[kind[i]].values; a++)
            least = kinds[kind[i]].usage[a] < least ? kinds[kind[i]].usage[a] : least;
        change[lower[i]] += least;
        change[upper[i]] -= least;
    }
    for (int t = 0; t <= 2 * n; t++) {
        usage += change[t];
        peak = usage > peak ? usage : peak;
    }
    printf("{\"problem\":{\"name\":\"generated-%llu\",\"edges\":{\"nodes\":[", (unsigned long long)s->seed);
    for (size_t e = 0; e < edges.count; e++)
        printf("%s[%d,%d]", e ? "," : "", edges.at[e].first, edges.at[e].second);
    printf("],\"costs\":[");
    for (size_t e = 0; e < edges.count; e++) {
        const struct edge *at = &edges.at[e];
        printf(e ? ",[" : "[");
        if (at->equal)
            print_equal(&kinds[kind[at->first]]);
        else
            print_edge(&r, &kinds[kind[at->first]], &kinds[kind[at->second]],
                       hash_combine((uint64_t)kind[at->first], (uint64_t)kind[at->second]));
        printf("]");
    }
    printf("]},\"nodes\":{\"intervals\":[");
    for (int i = 0; i < n; i++)
        printf("%s[%d,%d]", i ? "," : "", lower[i], upper[i]);
#define LISTS(field)                                                                                         \
    for (int i = 0; i < n; i++)                                                                              \
        for (int a = 0; a < kinds[kind[i]].values; a++)                                                      \
            printf("%s%lld%s",                                                                               \
                   a   ? ","                                                                                 \
                   : i ? ",["                                                                                \
                       : "[",                                                                                \
                   kinds[kind[i]].field[a], a + 1 == kinds[kind[i]].values ? "]" : "");
    printf("],\"costs\":[");
    LISTS(cost)
    printf("],\"usages\":[");
    LISTS(usage)
#undef LISTS
    printf("]},\"usage_limit\":%lld}}\n", (long long)(s->tightness * (double)peak));
    VEC_FREE(&edges);
    free(kind);
    free(lower);
    free(upper);
    free(change);
}

int main(int argc, char **argv)
{
    struct shape s = {.nodes = 2000, .layers = 20, .values = 10, .tightness = 1.1, .seed = 1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--crosscuts") == 0) {
            s.crosscuts = 1;
            continue;
        }
        double x = i + 1 < argc ? atof(argv[i + 1]) : -1;
        if (strcmp(argv[i], "--nodes") == 0 && x >= 2 && x <= 1e6)
            s.nodes = (int)x;
        else if (strcmp(argv[i], "--layers") == 0 && x >= 1 && x <= 1e5)
            s.layers = (int)x;
        else if (strcmp(argv[i], "--values") == 0 && x >= 1 && x <= MAX_VALUES)
            s.values = (int)x;
        else if (strcmp(argv[i], "--tightness") == 0 && x >= 1 && x < 100)
            s.tightness = x;
        else if (strcmp(argv[i], "--seed") == 0 && x >= 0)
            s.seed = (uint64_t)x;
        else
            return fprintf(stderr,
                           "usage: bench_cfn_generate [--nodes N] [--layers N] [--values N] [--crosscuts] "
                           "[--tightness X] [--seed N]\n"),
                   2;
        i++;
    }
    print_problem(&s);
    return 0;
}

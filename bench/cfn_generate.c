/* bench_cfn_generate: a contest problem to tune and test on, as JSON on standard output.
 *
 *   bench_cfn_generate [--nodes N] [--layers N] [--values N] [--kinds N] [--least-values N]
 *                      [--shape chain|tree|hubs|random|grid|core] [--classes N] [--crosscuts] [--forbid X]
 *                      [--node-forbid X] [--tightness X] [--seed N]
 *
 * What partitioned training steps look like, in several shapes:
 *
 *     chain    layers of nodes in a row with short skips (the contest's kind)
 *     tree     every node joined to one before it: reductions do the rest
 *     hubs     a chain, and a few nodes (weights used everywhere) joined to hundreds
 *     random   three edges for two nodes anywhere: wide, nothing eliminates
 *     grid     layers side by side, each node joined to its like in the next
 *     core     short layers, chains with skips, most nodes joined to their like in the next layer: what
 *              reductions leave of the contest's hard instances. Values are of --classes classes (which axis
 *              a layer is split by): changing between them is dear, so answers share a class, and each class
 *              is a valley of its own. Here usage and cost of a value are drawn one by one
 *
 * Nodes are of a few kinds, each pair of kinds with its table of resharding costs; every layer is a copy of
 * the one before; a quarter of the nodes live until their mirror image late in the sequence. --crosscuts
 * forces equal values between copies of a node (10^18 elsewhere), --forbid puts 10^18 into that share of the
 * tables' entries and --node-forbid of the nodes' (never where values are equal, nor at the value of least
 * usage). The limit is `tightness` (1.1) times the peak of the assignment of least usage; 0: none. */
#include "base/hash.h"
#include "base/memory.h"
#include "bench/usage.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KINDS = 64, MAX_VALUES = 200, HUBS = 8, CLASS_CHANGE = 8 };
enum form { CHAIN, TREE, HUB, RANDOM, GRID, CORE, FORMS };
static const char *const form_names[] = {"chain", "tree", "hubs", "random", "grid", "core"};
static const long long forbidden = 1000000000000000000;

struct shape {
    int nodes, layers, values, least_values, kinds, classes;
    double tightness, forbid, node_forbid;
    int crosscuts;
    enum form form;
    uint64_t seed;
};

struct kind {
    int values;
    long long cost[MAX_VALUES], usage[MAX_VALUES];
    int least; /* the value of least usage */
};

struct edge {
    int first, second, equal;
};

struct made {
    const struct shape *shape;
    struct rng rng;
    int n, width;
    int *kind, *lower, *upper;
    struct kind kinds[MAX_KINDS];
    VEC(struct edge) edges;
    struct {
        char *text; /* of the table between two kinds, or (equal) between a kind and itself */
        size_t size;
    } tables[2][MAX_KINDS][MAX_KINDS];
};

/* ---- what it is made of ---- */

static void make_kind(struct made *made, struct kind *k)
{
    const struct shape *shape = made->shape;
    int least = shape->least_values < shape->values ? shape->least_values : shape->values;
    k->values = least + (int)rng_below(&made->rng, (uint64_t)shape->values - (uint64_t)least + 1);
    long long bytes = 1ll << (10 + rng_below(&made->rng, 14));
    k->least = 0;
    for (int a = 0; a < k->values; a++) {
        /* split into 1 to 16: less usage, dearer to gather */
        long long parts = 1ll << rng_below(&made->rng, 5);
        k->usage[a] = bytes / parts;
        k->cost[a] = rng_below(&made->rng, 3) ? 0 : bytes * (parts - 1) / 16;
        if (shape->form == CORE) {
            k->usage[a] = bytes / parts + (long long)rng_below(&made->rng, (uint64_t)bytes);
            k->cost[a] = (long long)rng_below(&made->rng, (uint64_t)bytes) * parts / 4;
        }
        k->least = k->usage[a] < k->usage[k->least] ? a : k->least;
    }
    for (int a = 0; a < k->values; a++)
        if (a != k->least && rng_unit(&made->rng) < shape->node_forbid)
            k->cost[a] = forbidden;
}

static void make_nodes(struct made *made)
{
    const struct shape *shape = made->shape;
    made->width = shape->nodes / shape->layers > 2 ? shape->nodes / shape->layers : 2;
    made->n = made->width * shape->layers;
    made->kind = mem_zalloc((size_t)made->n, sizeof *made->kind);
    made->lower = mem_zalloc((size_t)made->n, sizeof *made->lower);
    made->upper = mem_zalloc((size_t)made->n, sizeof *made->upper);
    for (int k = 0; k < shape->kinds; k++)
        make_kind(made, &made->kinds[k]);
    for (int i = 0; i < made->n; i++) {
        int mirror = 2 * made->n - 1 - i, end = i + 1 + (int)rng_below(&made->rng, 8);
        made->kind[i] = i < made->width ? (int)rng_below(&made->rng, (uint64_t)shape->kinds)
                                        : made->kind[i - made->width];
        made->lower[i] = i;
        made->upper[i] = rng_below(&made->rng, 4) == 0 ? mirror : end < 2 * made->n ? end : 2 * made->n;
    }
}

static void join(struct made *made, int first, int second, int equal)
{
    if (first != second)
        VEC_PUSH(&made->edges, ((struct edge){first, second, equal}));
}

static void join_node(struct made *made, int i)
{
    int in_layer = i % made->width;
    switch (made->shape->form) {
    case TREE: join(made, (int)rng_below(&made->rng, (uint64_t)i), i, 0); return;
    case RANDOM:
        for (int k = 0; k < 1 + (i & 1); k++)
            join(made, (int)rng_below(&made->rng, (uint64_t)i), i, 0);
        return;
    case GRID:
        if (in_layer > 0)
            join(made, i - 1, i, 0);
        if (i >= made->width)
            join(made, i - made->width, i, 0);
        return;
    case CORE:
        if (i >= made->width && rng_below(&made->rng, 4))
            join(made, i - made->width, i, 0);
        break;
    case HUB:
        if (i >= HUBS && rng_below(&made->rng, 4) == 0)
            join(made, (int)rng_below(&made->rng, HUBS), i, 0);
        break;
    case CHAIN:
    case FORMS: break;
    }
    join(made, i - 1, i, 0);
    if (in_layer > 4 && rng_below(&made->rng, 3) == 0)
        join(made, i - 2 - (int)rng_below(&made->rng, 3), i, 0);
}

static void make_edges(struct made *made)
{
    for (int i = 1; i < made->n; i++) {
        join_node(made, i);
        if (i >= made->width && made->shape->crosscuts && rng_below(&made->rng, 4))
            join(made, i - made->width, i, 1);
    }
}

/* the peak of least usages */
static long long least_peak(const struct made *made)
{
    long long *change = mem_zalloc((size_t)made->n * 2 + 2, sizeof *change), peak = 0, usage = 0;
    for (int i = 0; i < made->n; i++) {
        const struct kind *k = &made->kinds[made->kind[i]];
        change[made->lower[i]] += k->usage[k->least];
        change[made->upper[i]] -= k->usage[k->least];
    }
    for (int t = 0; t <= 2 * made->n; t++) {
        usage += change[t];
        peak = usage > peak ? usage : peak;
    }
    free(change);
    return peak;
}

/* ---- as JSON ---- */

/* changing the layout moves bytes; every third change is free */
static long long table_entry(const struct made *made, const struct kind *kind, const struct kind *other_kind,
                             int x, int y, uint64_t salt)
{
    uint64_t h = hash_combine(hash_combine(salt, (uint64_t)x), (uint64_t)y);
    long long bytes = kind->usage[x] > other_kind->usage[y] ? kind->usage[x] : other_kind->usage[y];
    int classes = made->shape->classes;
    bool allowed = (x == kind->least && y == other_kind->least) || x == y;
    if (!allowed && (double)(h >> 40) < made->shape->forbid * (double)(1 << 24))
        return forbidden;
    if (made->shape->form == CORE && x % classes != y % classes)
        return bytes * (long long)(CLASS_CHANGE + h % 7);
    return h % 3 == 0 ? 0 : bytes * (long long)(1 + h % 7);
}

static void print_table(struct made *made, const struct edge *e)
{
    int a = made->kind[e->first], b = made->kind[e->second];
    if (!made->tables[e->equal][a][b].text) {
        FILE *file = open_memstream(&made->tables[e->equal][a][b].text, &made->tables[e->equal][a][b].size);
        for (int x = 0; x < made->kinds[a].values; x++)
            for (int y = 0; y < made->kinds[b].values; y++)
                fprintf(file, "%s%lld", x || y ? "," : "",
                        e->equal ? (x == y ? 0 : forbidden)
                                 : table_entry(made, &made->kinds[a], &made->kinds[b], x, y,
                                               hash_combine((uint64_t)a, (uint64_t)b)));
        fclose(file);
    }
    fwrite(made->tables[e->equal][a][b].text, 1, made->tables[e->equal][a][b].size, stdout);
}

static void print_edges(struct made *made)
{
    printf("{\"problem\":{\"name\":\"generated-%s-%llu\",\"edges\":{\"nodes\":[",
           form_names[made->shape->form], (unsigned long long)made->shape->seed);
    for (size_t e = 0; e < made->edges.count; e++)
        printf("%s[%d,%d]", e ? "," : "", made->edges.at[e].first, made->edges.at[e].second);
    printf("],\"costs\":[");
    for (size_t e = 0; e < made->edges.count; e++) {
        printf(e ? ",[" : "[");
        print_table(made, &made->edges.at[e]);
        printf("]");
    }
    printf("]},");
}

static void print_lists(const struct made *made, const char *name, bool usage)
{
    printf("\"%s\":[", name);
    for (int i = 0; i < made->n; i++) {
        const struct kind *k = &made->kinds[made->kind[i]];
        printf(i ? ",[" : "[");
        for (int a = 0; a < k->values; a++)
            printf(a ? ",%lld" : "%lld", usage ? k->usage[a] : k->cost[a]);
        printf("]");
    }
    printf("]");
}

static void print_problem(const struct shape *shape)
{
    struct made *made = mem_zalloc(1, sizeof *made);
    made->shape = shape;
    made->rng = (struct rng){shape->seed};
    make_nodes(made);
    make_edges(made);
    print_edges(made);
    printf("\"nodes\":{\"intervals\":[");
    for (int i = 0; i < made->n; i++)
        printf("%s[%d,%d]", i ? "," : "", made->lower[i], made->upper[i]);
    printf("],");
    print_lists(made, "costs", false);
    printf(",");
    print_lists(made, "usages", true);
    printf("}");
    if (shape->tightness > 0)
        printf(",\"usage_limit\":%lld", (long long)(shape->tightness * (double)least_peak(made)));
    printf("}}\n");
    for (int k = 0; k < 2 * MAX_KINDS * MAX_KINDS; k++)
        free((&made->tables[0][0][0])[k].text);
    VEC_FREE(&made->edges);
    free(made->kind);
    free(made->lower);
    free(made->upper);
    free(made);
}

/* ---- the command line ---- */

static int parse_shape(const char *name, struct shape *shape)
{
    for (int f = 0; f < FORMS; f++)
        if (strcmp(name, form_names[f]) == 0) {
            shape->form = (enum form)f;
            return 1;
        }
    return 0;
}

static int parse_option(const char *name, double x, struct shape *shape)
{
    const struct {
        const char *name;
        double least, most;
        int *whole;
        double *real;
    } options[] = {
        {"--nodes", 2, 1e6, &shape->nodes, NULL},
        {"--layers", 1, 1e5, &shape->layers, NULL},
        {"--values", 1, MAX_VALUES, &shape->values, NULL},
        {"--least-values", 1, MAX_VALUES, &shape->least_values, NULL},
        {"--classes", 1, MAX_VALUES, &shape->classes, NULL},
        {"--kinds", 1, MAX_KINDS, &shape->kinds, NULL},
        {"--tightness", 0, 100, NULL, &shape->tightness},
        {"--forbid", 0, 1, NULL, &shape->forbid},
        {"--node-forbid", 0, 1, NULL, &shape->node_forbid},
    };
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        if (strcmp(name, options[k].name) || !(x >= options[k].least && x <= options[k].most))
            continue;
        if (options[k].whole)
            *options[k].whole = (int)x;
        else
            *options[k].real = x;
        return 1;
    }
    if (strcmp(name, "--seed") || x < 0)
        return 0;
    shape->seed = (uint64_t)x;
    return 1;
}

static const char help[] =
    "usage: bench_cfn_generate [--nodes N] [--layers N] [--values N] [--kinds N] [--shape "
    "chain|tree|hubs|random|grid|core]\n"
    "                          [--least-values N] [--classes N] [--crosscuts] [--forbid X] [--node-forbid X] "
    "[--tightness X] [--seed N]\n"
    "\n"
    "Writes a contest problem as JSON on standard output, as partitioned training steps look, to tune and "
    "measure the solver.\n"
    "\n"
    "  --nodes N        2 to 1,000,000; default 2000        --layers N   default 20\n"
    "  --values N       a node has at most; default 10      --kinds N    of nodes; default 12\n"
    "  --least-values N it has at least; default 1          --classes N  of a core's values; default 4\n"
    "  --crosscuts      equal values between copies of a node\n"
    "  --forbid X       share of the tables' entries that is forbidden; --node-forbid X of the nodes' "
    "values\n"
    "  --tightness X    limit over the least peak; default 1.1; 0: no limit\n"
    "\n"
    "example:\n"
    "  build/release/bin/bench_cfn_generate --nodes 30000 --shape hubs --forbid 0.2 > hubs.json\n";

int main(int argc, char **argv)
{
    struct shape shape = {.nodes = 2000,
                          .layers = 20,
                          .values = 10,
                          .least_values = 1,
                          .kinds = 12,
                          .classes = 4,
                          .tightness = 1.1,
                          .seed = 1};
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--crosscuts") == 0) {
            shape.crosscuts = 1;
            continue;
        }
        if (!(strcmp(argv[i], "--shape") == 0 ? parse_shape(value, &shape)
                                              : parse_option(argv[i], *value ? atof(value) : -1, &shape)))
            usage_refuse(argv[i], "no such option, or not with this value");
        i++;
    }
    print_problem(&shape);
    return ferror(stdout) != 0;
}

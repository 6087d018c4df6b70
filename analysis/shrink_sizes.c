/* How much each group of a program's dimensions is divided by; see shrink.h.
 *
 * A group that is in no product is divided by the least divisor that makes it small; a free one that none
 * does (a prime number of rows) has as many elements as are small. Groups in products are
 * divided prime by prime: a step multiplies the divisor of one group, then, as long as some product is out of
 * balance, that of one on its other side, the largest first; what cannot be balanced is taken back and tried
 * otherwise. */
#include "analysis/shrink.h"

#include "base/divide.h"
#include "base/memory.h"

#include <stdlib.h>

enum {
    MAX_DIVISOR = 1 << 20, /* divisors that are tried; larger dimensions stay larger */
    MAX_STEPS = 20000      /* multiplications while one prime is tried */
};

struct chooser {
    const struct nda_shrink *shrink;
    int64_t cap;
    uint32_t *first, *classes;  /* by group: its classes are classes[first[group] .. first[group + 1]) */
    uint32_t *begin, *products; /* by group: the products that it is in, likewise */
    int64_t *divisor;           /* by group */
    int64_t *taken;             /* by group that is free: its size; 0: it is divided */
    VEC(uint32_t) done;         /* groups that were multiplied since the step began */
    uint32_t steps;
};

/* Divisors of a group, judged by its classes: whether each keeps 2 elements or more on a device (1 where the
 * cap is 1: what is split then has as many elements as devices), and whether none has more than the cap. */
struct trial {
    bool possible, small;
};

static struct trial try_divisor(const struct chooser *chooser, uint32_t group, int64_t divisor)
{
    int64_t least = chooser->cap < 2 ? 1 : 2;
    struct trial trial = {true, true};
    for (uint32_t i = chooser->first[group]; i < chooser->first[group + 1]; i++) {
        const struct nda_shrink_class *class = &chooser->shrink->classes[chooser->classes[i]];
        int64_t size = nda_shrink_size(class, divisor), local = size / class->shards;
        trial.possible =
            trial.possible && (divisor == 1 || (size >= 2 && size >= class->least && local >= least));
        trial.small = trial.small && local <= chooser->cap;
    }
    return trial;
}

static void choose_alone(struct chooser *chooser, uint32_t group)
{
    int64_t divides = chooser->shrink->divides[group];
    for (int64_t divisor = 1; divisor <= divides && divisor <= MAX_DIVISOR; divisor++) {
        if (divides % divisor)
            continue;
        struct trial trial = try_divisor(chooser, group, divisor);
        if (!trial.possible)
            return;
        chooser->divisor[group] = divisor;
        if (trial.small)
            return;
    }
}

static void choose_freely(struct chooser *chooser, uint32_t group)
{
    const struct nda_shrink_class *class = &chooser->shrink->classes[chooser->classes[chooser->first[group]]];
    int64_t local = chooser->cap < 2 && class->shards == 1 ? 2 : chooser->cap;
    int64_t size = local * class->shards;
    while (size < class->least)
        size += class->shards;
    if (size < class->size)
        chooser->taken[group] = size;
}

/* ---- products ---- */
/* the most elements that a class of the group has now */
static int64_t largest(const struct chooser *chooser, uint32_t group)
{
    int64_t most = 0;
    for (uint32_t i = chooser->first[group]; i < chooser->first[group + 1]; i++) {
        int64_t size =
            nda_shrink_size(&chooser->shrink->classes[chooser->classes[i]], chooser->divisor[group]);
        most = size > most ? size : most;
    }
    return most;
}

static int64_t side_divisor(const struct chooser *chooser, uint32_t first, uint32_t count)
{
    int64_t product = 1;
    for (uint32_t i = first; i < first + count; i++)
        product *= chooser->divisor[chooser->shrink->members[i]];
    return product;
}

static bool multiply(struct chooser *chooser, uint32_t group, int64_t prime);

static void take_back(struct chooser *chooser, size_t mark, int64_t prime)
{
    while (chooser->done.count > mark)
        chooser->divisor[chooser->done.at[--chooser->done.count]] /= prime;
}

/* multiplies some group among `count` members from `first` on, the largest that can be */
static bool multiply_one(struct chooser *chooser, uint32_t first, uint32_t count, int64_t prime)
{
    bool tried[64] = {false};
    size_t mark = chooser->done.count;
    for (uint32_t attempt = 0; attempt < count && count <= 64; attempt++) {
        uint32_t best = NDA_NONE;
        for (uint32_t i = 0; i < count; i++)
            if (!tried[i] &&
                (best == NDA_NONE || largest(chooser, chooser->shrink->members[first + i]) >
                                         largest(chooser, chooser->shrink->members[first + best])))
                best = i;
        tried[best] = true;
        if (multiply(chooser, chooser->shrink->members[first + best], prime))
            return true;
        take_back(chooser, mark, prime);
    }
    return false;
}

static bool balance(struct chooser *chooser, const struct nda_shrink_product *product, int64_t prime)
{
    for (;;) {
        int64_t left = side_divisor(chooser, product->first, product->left),
                right = side_divisor(chooser, product->first + product->left, product->right);
        if (left == right)
            return true;
        if (left < right ? !multiply_one(chooser, product->first, product->left, prime)
                         : !multiply_one(chooser, product->first + product->left, product->right, prime))
            return false;
    }
}

/* false: not possible, and what was multiplied meanwhile is still to be taken back */
static bool multiply(struct chooser *chooser, uint32_t group, int64_t prime)
{
    int64_t divisor = chooser->divisor[group] * prime;
    if (++chooser->steps > MAX_STEPS || chooser->shrink->divides[group] % divisor ||
        !try_divisor(chooser, group, divisor).possible)
        return false;
    chooser->divisor[group] = divisor;
    VEC_PUSH(&chooser->done, group);
    for (uint32_t i = chooser->begin[group]; i < chooser->begin[group + 1]; i++)
        if (!balance(chooser, &chooser->shrink->products[chooser->products[i]], prime))
            return false;
    return true;
}

/* one prime more for the group, the smallest that can be */
static bool choose_prime(struct chooser *chooser, uint32_t group)
{
    int64_t left = chooser->shrink->divides[group] / chooser->divisor[group];
    for (int64_t prime = 2; prime <= left && prime <= MAX_DIVISOR; prime++) {
        if (left % prime)
            continue;
        chooser->done.count = 0;
        chooser->steps = 0;
        if (multiply(chooser, group, prime))
            return true;
        take_back(chooser, 0, prime);
        while (left % prime == 0)
            left /= prime;
    }
    return false;
}

static void choose_together(struct chooser *chooser, uint32_t group)
{
    while (!try_divisor(chooser, group, chooser->divisor[group]).small && choose_prime(chooser, group)) {
    }
}

/* ---- all groups ---- */
static void index_classes(struct chooser *chooser)
{
    const struct nda_shrink *shrink = chooser->shrink;
    uint32_t count = shrink->class_count, *next = mem_zalloc((size_t)count + 2, sizeof *next);
    chooser->first = mem_zalloc((size_t)count + 2, sizeof *chooser->first);
    chooser->classes = mem_alloc(sizeof *chooser->classes * ((size_t)count + 1));
    for (uint32_t i = 0; i < count; i++)
        chooser->first[shrink->classes[i].group + 1]++;
    for (uint32_t i = 0; i < count; i++)
        next[i + 1] = chooser->first[i + 1] += chooser->first[i];
    for (uint32_t i = 0; i < count; i++)
        chooser->classes[next[shrink->classes[i].group]++] = i;
    free(next);
}

static void index_products(struct chooser *chooser)
{
    const struct nda_shrink *shrink = chooser->shrink;
    uint32_t count = shrink->class_count, total = 0, *next = mem_zalloc((size_t)count + 2, sizeof *next);
    chooser->begin = mem_zalloc((size_t)count + 2, sizeof *chooser->begin);
    for (uint32_t p = 0; p < shrink->product_count; p++) {
        const struct nda_shrink_product *product = &shrink->products[p];
        for (uint32_t i = 0; i < product->left + product->right; i++, total++)
            chooser->begin[shrink->members[product->first + i] + 1]++;
    }
    chooser->products = mem_alloc(sizeof *chooser->products * ((size_t)total + 1));
    for (uint32_t i = 0; i < count; i++)
        next[i + 1] = chooser->begin[i + 1] += chooser->begin[i];
    for (uint32_t p = 0; p < shrink->product_count; p++) {
        const struct nda_shrink_product *product = &shrink->products[p];
        for (uint32_t i = 0; i < product->left + product->right; i++)
            chooser->products[next[shrink->members[product->first + i]]++] = p;
    }
    free(next);
}

void nda_shrink_sizes(const struct nda_shrink *shrink, int64_t cap, int64_t *sizes)
{
    uint32_t count = shrink->class_count;
    struct chooser chooser = {.shrink = shrink,
                              .cap = cap,
                              .divisor = mem_alloc(sizeof *chooser.divisor * ((size_t)count + 1)),
                              .taken = mem_zalloc((size_t)count + 1, sizeof *chooser.taken)};
    index_classes(&chooser);
    index_products(&chooser);
    for (uint32_t group = 0; group < count; group++)
        chooser.divisor[group] = 1;
    for (uint32_t group = 0; group < count; group++)
        if (chooser.first[group] == chooser.first[group + 1])
            continue;
        else if (chooser.begin[group] == chooser.begin[group + 1])
            choose_alone(&chooser, group);
        else
            choose_together(&chooser, group);
    for (uint32_t group = 0; group < count; group++)
        if (shrink->free[group] && !try_divisor(&chooser, group, chooser.divisor[group]).small)
            choose_freely(&chooser, group);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t group = shrink->classes[i].group;
        sizes[i] = chooser.taken[group] ? chooser.taken[group]
                                        : nda_shrink_size(&shrink->classes[i], chooser.divisor[group]);
    }
    free(chooser.taken);
    free(chooser.first);
    free(chooser.classes);
    free(chooser.begin);
    free(chooser.products);
    free(chooser.divisor);
    VEC_FREE(&chooser.done);
}

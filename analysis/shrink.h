/* Which dimensions of a program can be made smaller, and which of them only together.
 *
 *   class   atoms that are one dimension: factors tie them, so do values, loops and donation. All of a class
 *           have one size and shrink to one size.
 *   group   classes whose sizes one op adds or compares (the parts of a concatenate, a slice and what it is
 *           cut from): they are divided by one number, so that sums and offsets stay what they were.
 *
 *   product two lists of groups whose divisors have one product: what a reshape joins or takes apart without
 *           tying it (height and width of an image flattened for attention, 16 x 16 to 256, which windows
 *           keep from being cut; 1024 x 2 to 2048 where a running sum follows).
 *
 *   shift   a class that lacks a few elements of another of its group (512 tokens, 511 that have a next one),
 *           or has a few more (256 patches and 5 tokens): it keeps its distance from what is divided.
 *
 * A group's divisor divides the sizes of all of its classes and all offsets (starts of slices, pads), keeps
 * every size at 2 or more, and leaves each atom divisible by the devices it is split over. What an attribute
 * fixes (kernels, k of top_k, custom calls) stays whole, and the op that has it is remembered.
 *
 * Pure; the result depends on program and shards alone. */
#ifndef TOAST_ANALYSIS_SHRINK_H
#define TOAST_ANALYSIS_SHRINK_H

#include "analysis/nda.h"

struct nda_shrink_class {
    int64_t size;
    int64_t shards; /* devices that split it: the least common multiple over its uses */
    int64_t
        less; /* elements that it lacks of what is divided; below 0: has more (analysis/shrink_shifts.h) */
    int64_t least;  /* elements that it keeps */
    uint32_t group; /* index of a class */
    uint32_t atom;  /* its first atom, of nda->atoms */
};
struct nda_shrink_product {
    uint32_t op;                 /* that demands it */
    uint32_t first, left, right; /* of members: `left` groups, then `right` groups */
};
struct nda_shrink {
    const struct nda *nda; /* borrowed */
    uint32_t *class_of;    /* [atom of nda->atoms]; owned */
    struct nda_shrink_class *classes;
    uint32_t class_count;
    int64_t *divides;  /* [group]: its divisor divides this; owned */
    uint32_t *kept_by; /* [group]: the first op that keeps it whole; NDA_NONE: none does; owned */
    bool *free;        /* [group]: one class that no op relates to a size, so that it can have any; owned */
    struct nda_shrink_product *products;
    uint32_t product_count;
    uint32_t *members; /* groups */
};

/* the size of a class whose group is divided by this */
static inline int64_t nda_shrink_size(const struct nda_shrink_class *class, int64_t divisor)
{
    return (class->size + class->less) / divisor - class->less;
}

/* shards: for each atom of nda->atoms the devices that split it, 1 or more. Owned (nda_shrink_release). */
void nda_shrink_create(const struct nda *n, const int64_t *shards, struct nda_shrink *out);
void nda_shrink_release(struct nda_shrink *shrink);
/* sizes[class], caller's room: each divided as little as leaves at most `cap` elements on a device (1 or
 * more), or as much as can be where that cannot be (analysis/shrink_sizes.c) */
void nda_shrink_sizes(const struct nda_shrink *shrink, int64_t cap, int64_t *sizes);

/* The constant that a loop's condition compares its counter with, where that alone ends the loop: an op;
 * NDA_NONE: none. *stride: what the counter grows by. */
uint32_t nda_trip_bound(const struct nda *n, uint32_t loop, int64_t *stride);

#endif

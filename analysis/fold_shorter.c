/* The places of a program with fewer layers (fold.h), made of a fold's: what a price of many layers is told
 * from.
 *
 *   the fold's      0 1 | 2 3 4 .. 93 | 94 95      92 layers are gone
 *   shorter by 84   0 1 | 2 3 .. 9    | 10 11      the first 8 of them are; the last two follow at once
 *
 * The layers that stay are the same, so that the fold's walk is the shorter program's, too. */
#include "analysis/fold_internal.h"

#include <stdlib.h>
#include <string.h>

/* of the layers that are gone; few, and enough for what is put off to settle */
static const uint32_t COPIES[FOLD_SHORTER] = {4, 8};

/* over the layers that are left out */
static uint32_t far_on(const uint32_t *next, uint32_t node, uint32_t by)
{
    for (; node != NDA_NONE && by > 0; by--)
        node = next[node];
    return node;
}

static void shorten_layers(const struct fold_places *from, uint32_t node_count, uint32_t left_out,
                           struct fold_places *out)
{
    int32_t end = out->until, behind = from->until;
    for (uint32_t node = 0; node < node_count; node++) {
        int32_t layer = from->layer[node];
        out->next[node] = layer == end - 1 ? far_on(from->next, node, left_out + 1) : from->next[node];
        out->before[node] = layer == behind ? far_on(from->before, node, left_out + 1) : from->before[node];
        out->layer[node] = layer == FOLD_NO_LAYER || layer < end ? layer
                           : layer < behind                      ? FOLD_NO_LAYER
                                                                 : layer - (int32_t)left_out;
    }
}

/* what is left out has no position */
static void shorten_positions(const struct fold_places *from, struct fold_places *out)
{
    for (uint32_t position = 0; position < from->positions; position++) {
        int32_t layer = from->layer[from->at[position]];
        if (layer == FOLD_NO_LAYER || layer < out->until || layer >= from->until)
            out->at[out->positions++] = from->at[position];
    }
    uint32_t *shorter = mem_zalloc((size_t)from->positions + 1, sizeof *shorter);
    for (uint32_t position = 0; position < out->positions; position++)
        shorter[from->position[out->at[position]]] = position;
    for (uint32_t op = 0; op < from->op_count; op++)
        out->position[op] = shorter[from->position[op]];
    free(shorter);
}

static void shorten(const struct fold_places *from, uint32_t node_count, uint32_t copies,
                    struct fold_places *out)
{
    uint32_t left_out = (uint32_t)(from->until - from->from) - copies;
    *out = *from;
    out->until = from->from + (int32_t)copies;
    out->positions = 0;
    out->layer = mem_alloc(((size_t)node_count + 1) * sizeof *out->layer);
    out->next = mem_alloc(((size_t)node_count + 1) * sizeof *out->next);
    out->before = mem_alloc(((size_t)node_count + 1) * sizeof *out->before);
    out->position = mem_alloc(((size_t)from->op_count + 1) * sizeof *out->position);
    out->at = mem_alloc(((size_t)from->positions + 1) * sizeof *out->at);
    shorten_layers(from, node_count, left_out, out);
    shorten_positions(from, out);
}

void fold_shorten(struct fold *fold, uint32_t node_count)
{
    fold->deep = true;
    for (int i = 0; i < FOLD_SHORTER; i++) {
        fold->shorter[i].copies = COPIES[i];
        shorten(&fold->places, node_count, COPIES[i], &fold->shorter[i].places);
    }
}

void fold_shorter_release(struct fold *fold)
{
    for (int i = 0; i < FOLD_SHORTER && fold->deep; i++) {
        const struct fold_places *places = &fold->shorter[i].places;
        free(places->layer);
        free(places->next);
        free(places->before);
        free(places->position);
        free(places->at);
    }
}

/* Conflicts, boxes, compatibility sets (TOAST (Alabed et al., 2025), sections 3.3 to 3.5).
 *
 *      definition   x : [.. N .. O ..]      a conflict: N and O have one color
 *                       |      |
 *                       M      M            a box; crossed when M also leads N ~> R or O ~> L
 *                       v      v
 *      use          x : [.. L .. R ..]      a conflict
 *
 * A conflict is a pair of factors of one color on one tensor, counted once a space. A box is a definition's
 * conflict (N, O) with a use's (L, R), N -> L and O -> R; it joins the two unless a path of M goes across
 * (N ~> R or O ~> L). Paths: factors are numbered in program order and M goes upward, so one backward pass
 * over a color's factors answers 256 targets at once with a bit each. Sets: union-find with parity over
 * conflicts; parity 1 = the two keep opposite factors. */
#include "analysis/stages.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 4,
    BLOCK_BITS = 64 * BLOCK
}; /* words and bits of one backward pass; half a cache line, not tuned */

struct box {
    uint32_t n, o, l, r; /* factors */
    uint32_t def, use;   /* conflicts */
    uint8_t crossed;
};

struct work {
    struct nda *n;
    VEC(struct nda_conflict) conflicts;
    uint32_t *first; /* conflicts of each space */
    VEC(struct box) boxes;
    uint32_t *out_first, *out; /* M by source */
    uint32_t *position;        /* of each factor within its color */
};

static uint32_t find_conflict(const struct work *w, uint32_t space, uint32_t x, uint32_t y)
{
    uint32_t a = x < y ? x : y, b = x < y ? y : x;
    for (uint32_t i = w->first[space]; i < w->first[space + 1]; i++)
        if (w->conflicts.at[i].a == a && w->conflicts.at[i].b == b)
            return i;
    return NDA_NONE;
}

static void slot_conflicts(struct work *w, uint32_t space, uint32_t slot)
{
    struct nda *n = w->n;
    uint32_t count = nda_atom_count(n, n->slots[slot].value);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            uint32_t x = nda_slot_factor(n, slot, i), y = nda_slot_factor(n, slot, j);
            if (x == NDA_NONE || y == NDA_NONE || x == y || n->factors[x].color != n->factors[y].color)
                continue;
            w->first[space + 1] = (uint32_t)w->conflicts.count;
            if (find_conflict(w, space, x, y) == NDA_NONE)
                VEC_PUSH(&w->conflicts,
                         ((struct nda_conflict){.a = x < y ? x : y, .b = x < y ? y : x, .slot = slot}));
            n->factors[x].conflicted = n->factors[y].conflicted = 1;
        }
}

static void find_conflicts(struct work *w)
{
    struct nda *n = w->n;
    w->first = mem_zalloc((size_t)n->space_count + 2, sizeof *w->first);
    for (uint32_t s = 0; s < n->space_count; s++) {
        w->first[s] = (uint32_t)w->conflicts.count;
        for (uint32_t k = n->spaces[s].slots; k < n->spaces[s].slots + n->spaces[s].slot_count; k++)
            slot_conflicts(w, s, k);
        w->first[s + 1] = (uint32_t)w->conflicts.count;
    }
}

static void add_box(struct work *w, struct box b)
{
    for (size_t i = w->boxes.count; i > 0 && w->boxes.at[i - 1].use == b.use; i--) {
        const struct box *other = &w->boxes.at[i - 1];
        if (other->def == b.def && other->n == b.n && other->l == b.l)
            return; /* x * x uses x twice in the same way */
    }
    VEC_PUSH(&w->boxes, b);
}

/* the boxes of one use: every pair of atoms that conflict where the value is defined */
static void slot_boxes(struct work *w, uint32_t space, uint32_t slot)
{
    struct nda *n = w->n;
    uint32_t value = n->slots[slot].value, def = n->value_def_slot[value], count = nda_atom_count(n, value);
    if (def == NDA_NONE)
        return;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            struct box b = {.n = nda_slot_factor(n, def, i),
                            .o = nda_slot_factor(n, def, j),
                            .l = nda_slot_factor(n, slot, i),
                            .r = nda_slot_factor(n, slot, j)};
            if (b.n == NDA_NONE || b.o == NDA_NONE || b.l == NDA_NONE || b.r == NDA_NONE)
                continue;
            b.def = find_conflict(w, n->factors[b.n].space, b.n, b.o);
            b.use = find_conflict(w, space, b.l, b.r);
            if (b.def != NDA_NONE && b.use != NDA_NONE)
                add_box(w, b);
        }
}

static void find_boxes(struct work *w)
{
    struct nda *n = w->n;
    for (uint32_t s = 0; s < n->space_count; s++)
        for (uint32_t k = n->spaces[s].slots; k < n->spaces[s].slots + n->spaces[s].slot_count; k++)
            if (!n->slots[k].is_result)
                slot_boxes(w, s, k);
}

static void edges_by_source(struct work *w)
{
    struct nda *n = w->n;
    w->out_first = mem_zalloc((size_t)n->factor_count + 2, sizeof *w->out_first);
    w->out = mem_alloc(sizeof *w->out * ((size_t)n->edge_count + 1));
    for (uint32_t i = 0; i < n->edge_count; i++)
        w->out_first[n->edge_from[i] + 1]++;
    for (uint32_t i = 0; i < n->factor_count; i++)
        w->out_first[i + 1] += w->out_first[i];
    for (uint32_t i = 0; i < n->edge_count; i++)
        w->out[w->out_first[n->edge_from[i]]++] = n->edge_to[i];
    for (uint32_t i = n->factor_count; i > 0; i--)
        w->out_first[i] = w->out_first[i - 1];
    w->out_first[0] = 0;
}

/* Marks the boxes [first, end) of one color that a path crosses; at most BLOCK_BITS / 2 boxes. Target
 * bits: box k has bit 2k for L and 2k + 1 for R. reach: BLOCK words for each factor of the color. */
static void cross_block(struct work *w, size_t first, size_t end, uint64_t *reach)
{
    struct nda *n = w->n;
    const struct nda_color *color = &n->colors[n->factors[w->boxes.at[first].n].color];
    const uint32_t *factors = n->color_factors + color->factors;
    uint32_t low = NDA_NONE, high = 0;
    for (size_t i = first; i < end; i++) {
        const struct box *b = &w->boxes.at[i];
        uint32_t source = w->position[b->n < b->o ? b->n : b->o],
                 target = w->position[b->l > b->r ? b->l : b->r];
        low = source < low ? source : low;
        high = target > high ? target : high;
    }
    memset(reach + (size_t)low * BLOCK, 0, (size_t)(high - low + 1) * BLOCK * sizeof *reach);
    for (size_t i = first; i < end; i++) {
        size_t l = 2 * (i - first), r = l + 1;
        reach[(size_t)w->position[w->boxes.at[i].l] * BLOCK + l / 64] |= (uint64_t)1 << l % 64;
        reach[(size_t)w->position[w->boxes.at[i].r] * BLOCK + r / 64] |= (uint64_t)1 << r % 64;
    }
    for (uint32_t k = high + 1; k-- > low;) {
        uint64_t *mine = reach + (size_t)k * BLOCK;
        for (uint32_t x = w->out_first[factors[k]]; x < w->out_first[factors[k] + 1]; x++) {
            uint32_t to = w->position[w->out[x]];
            for (uint32_t j = 0; to <= high && j < BLOCK; j++)
                mine[j] |= reach[(size_t)to * BLOCK + j];
        }
    }
    for (size_t i = first; i < end; i++) {
        struct box *b = &w->boxes.at[i];
        size_t l = 2 * (i - first), r = l + 1;
        bool n_to_r = reach[(size_t)w->position[b->n] * BLOCK + r / 64] >> r % 64 & 1;
        bool o_to_l = reach[(size_t)w->position[b->o] * BLOCK + l / 64] >> l % 64 & 1;
        b->crossed = n_to_r || o_to_l;
    }
}

static int by_color(const void *x, const void *y)
{
    const struct box *a = x, *b = y;
    /* def holds the color while sorting; uses and then factors keep program order */
    if (a->def != b->def)
        return a->def < b->def ? -1 : 1;
    if (a->use != b->use)
        return a->use < b->use ? -1 : 1;
    return a->n != b->n ? (a->n < b->n ? -1 : 1) : a->l < b->l ? -1 : a->l > b->l;
}

static void find_crossed(struct work *w)
{
    struct nda *n = w->n;
    uint64_t *reach;
    size_t widest = 0;
    w->position = mem_alloc(sizeof *w->position * ((size_t)n->factor_count + 1));
    for (uint32_t c = 0; c < n->color_count; c++) {
        for (uint32_t i = 0; i < n->colors[c].factor_count; i++)
            w->position[n->color_factors[n->colors[c].factors + i]] = i;
        if (n->colors[c].factor_count > widest)
            widest = n->colors[c].factor_count;
    }
    reach = mem_alloc((widest + 1) * BLOCK * sizeof *reach);
    for (size_t i = 0; i < w->boxes.count; i++)
        w->boxes.at[i].def = n->factors[w->boxes.at[i].n].color;
    if (w->boxes.count)
        qsort(w->boxes.at, w->boxes.count, sizeof *w->boxes.at, by_color);
    for (size_t i = 0, end; i < w->boxes.count; i = end) {
        for (end = i;
             end < w->boxes.count && end - i < BLOCK_BITS / 2 && w->boxes.at[end].def == w->boxes.at[i].def;)
            end++;
        cross_block(w, i, end, reach);
    }
    for (size_t i = 0; i < w->boxes.count; i++)
        w->boxes.at[i].def =
            find_conflict(w, n->factors[w->boxes.at[i].n].space, w->boxes.at[i].n, w->boxes.at[i].o);
    free(reach);
}

/* union-find with parity: parity[i] is relative to parent[i] */
static uint32_t find_parity(uint32_t *parent, uint8_t *parity, uint32_t i, uint8_t *out)
{
    uint32_t root = i;
    uint8_t p = 0;
    while (parent[root] != root) {
        p ^= parity[root];
        root = parent[root];
    }
    *out = p;
    while (parent[i] != root && i != root) { /* compress */
        uint32_t next = parent[i];
        uint8_t q = parity[i];
        parent[i] = root;
        parity[i] = p;
        p ^= q;
        i = next;
    }
    return root;
}

static void join_boxes(struct work *w, uint32_t *parent, uint8_t *parity, uint8_t *inconsistent)
{
    for (size_t i = 0; i < w->boxes.count; i++) {
        const struct box *b = &w->boxes.at[i];
        uint8_t pd, pu, p;
        uint32_t d, u;
        if (b->crossed) {
            w->n->crossed_boxes++;
            continue;
        }
        w->n->boxes++;
        p = (b->n == w->conflicts.at[b->def].a) != (b->l == w->conflicts.at[b->use].a);
        d = find_parity(parent, parity, b->def, &pd);
        u = find_parity(parent, parity, b->use, &pu);
        if (d == u) {
            inconsistent[d] |= (pd ^ pu) != p;
            continue;
        }
        if (d > u) { /* the first conflict stays root */
            uint32_t t = d;
            d = u;
            u = t;
        }
        parent[u] = d;
        parity[u] = pd ^ pu ^ p;
        inconsistent[d] |= inconsistent[u];
    }
}

static void number_sets(struct work *w, uint32_t *parent, uint8_t *parity, const uint8_t *inconsistent)
{
    struct nda *n = w->n;
    uint32_t *number = mem_alloc(sizeof *number * (w->conflicts.count + 1));
    n->conflict_count = (uint32_t)w->conflicts.count;
    n->conflicts = arena_alloc(n->arena, sizeof *n->conflicts * (w->conflicts.count + 1));
    n->sets = arena_alloc(n->arena, sizeof *n->sets * (w->conflicts.count + 1));
    for (uint32_t i = 0; i < n->conflict_count; i++) {
        struct nda_conflict k = w->conflicts.at[i];
        uint32_t root = find_parity(parent, parity, i, &k.flipped);
        if (root == i) {
            number[i] = n->set_count;
            n->sets[n->set_count++] =
                (struct nda_set){.color = n->factors[k.a].color, .inconsistent = inconsistent[i]};
            n->colors[n->factors[k.a].color].set_count++;
        }
        k.set = number[root];
        n->sets[k.set].conflict_count++;
        n->conflicts[i] = k;
    }
    free(number);
}

void stage_conflicts(struct nda *n)
{
    struct work w = {.n = n};
    uint32_t *parent;
    uint8_t *parity, *inconsistent;
    find_conflicts(&w);
    find_boxes(&w);
    edges_by_source(&w);
    find_crossed(&w);
    parent = set_create((uint32_t)w.conflicts.count);
    parity = mem_zalloc(w.conflicts.count + 1, 1);
    inconsistent = mem_zalloc(w.conflicts.count + 1, 1);
    join_boxes(&w, parent, parity, inconsistent);
    number_sets(&w, parent, parity, inconsistent);
    free(parent);
    free(parity);
    free(inconsistent);
    VEC_FREE(&w.conflicts);
    VEC_FREE(&w.boxes);
    free(w.first);
    free(w.out_first);
    free(w.out);
    free(w.position);
}

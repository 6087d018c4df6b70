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

static uint32_t find_conflict(const struct work *work, uint32_t space, uint32_t x, uint32_t y)
{
    uint32_t a = x < y ? x : y, b = x < y ? y : x;
    for (uint32_t i = work->first[space]; i < work->first[space + 1]; i++)
        if (work->conflicts.at[i].a == a && work->conflicts.at[i].b == b)
            return i;
    return NDA_NONE;
}

static void slot_conflicts(struct work *work, uint32_t space, uint32_t slot)
{
    struct nda *n = work->n;
    uint32_t count = nda_atom_count(n, n->slots[slot].value);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            uint32_t x = nda_slot_factor(n, slot, i), y = nda_slot_factor(n, slot, j);
            if (x == NDA_NONE || y == NDA_NONE || x == y || n->factors[x].color != n->factors[y].color)
                continue;
            work->first[space + 1] = (uint32_t)work->conflicts.count;
            if (find_conflict(work, space, x, y) == NDA_NONE)
                VEC_PUSH(&work->conflicts,
                         ((struct nda_conflict){.a = x < y ? x : y, .b = x < y ? y : x, .slot = slot}));
            n->factors[x].conflicted = n->factors[y].conflicted = 1;
        }
}

static void find_conflicts(struct work *work)
{
    struct nda *n = work->n;
    work->first = mem_zalloc((size_t)n->space_count + 2, sizeof *work->first);
    for (uint32_t space = 0; space < n->space_count; space++) {
        work->first[space] = (uint32_t)work->conflicts.count;
        for (uint32_t k = n->spaces[space].slots; k < n->spaces[space].slots + n->spaces[space].slot_count;
             k++)
            slot_conflicts(work, space, k);
        work->first[space + 1] = (uint32_t)work->conflicts.count;
    }
}

static void add_box(struct work *work, struct box box)
{
    for (size_t i = work->boxes.count; i > 0 && work->boxes.at[i - 1].use == box.use; i--) {
        const struct box *other = &work->boxes.at[i - 1];
        if (other->def == box.def && other->n == box.n && other->l == box.l)
            return; /* x * x uses x twice in the same way */
    }
    VEC_PUSH(&work->boxes, box);
}

/* the boxes of one use: every pair of atoms that conflict where the value is defined */
static void slot_boxes(struct work *work, uint32_t space, uint32_t slot)
{
    struct nda *n = work->n;
    uint32_t value = n->slots[slot].value, def = n->value_def_slot[value], count = nda_atom_count(n, value);
    if (def == NDA_NONE)
        return;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            struct box box = {.n = nda_slot_factor(n, def, i),
                              .o = nda_slot_factor(n, def, j),
                              .l = nda_slot_factor(n, slot, i),
                              .r = nda_slot_factor(n, slot, j)};
            if (box.n == NDA_NONE || box.o == NDA_NONE || box.l == NDA_NONE || box.r == NDA_NONE)
                continue;
            box.def = find_conflict(work, n->factors[box.n].space, box.n, box.o);
            box.use = find_conflict(work, space, box.l, box.r);
            if (box.def != NDA_NONE && box.use != NDA_NONE)
                add_box(work, box);
        }
}

static void find_boxes(struct work *work)
{
    struct nda *n = work->n;
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t k = n->spaces[space].slots; k < n->spaces[space].slots + n->spaces[space].slot_count;
             k++)
            if (!n->slots[k].is_result)
                slot_boxes(work, space, k);
}

static void edges_by_source(struct work *work)
{
    struct nda *n = work->n;
    work->out_first = mem_zalloc((size_t)n->factor_count + 2, sizeof *work->out_first);
    work->out = mem_alloc(sizeof *work->out * ((size_t)n->edge_count + 1));
    for (uint32_t i = 0; i < n->edge_count; i++)
        work->out_first[n->edge_from[i] + 1]++;
    for (uint32_t i = 0; i < n->factor_count; i++)
        work->out_first[i + 1] += work->out_first[i];
    for (uint32_t i = 0; i < n->edge_count; i++)
        work->out[work->out_first[n->edge_from[i]]++] = n->edge_to[i];
    for (uint32_t i = n->factor_count; i > 0; i--)
        work->out_first[i] = work->out_first[i - 1];
    work->out_first[0] = 0;
}

/* Marks the boxes [first, end) of one color that a path crosses; at most BLOCK_BITS / 2 boxes. Target
 * bits: box k has bit 2k for L and 2k + 1 for R. reach: BLOCK words for each factor of the color. */
static void cross_block(struct work *work, size_t first, size_t end, uint64_t *reach)
{
    struct nda *n = work->n;
    const struct nda_color *color = &n->colors[n->factors[work->boxes.at[first].n].color];
    const uint32_t *factors = n->color_factors + color->factors;
    uint32_t low = NDA_NONE, high = 0;
    for (size_t i = first; i < end; i++) {
        const struct box *box = &work->boxes.at[i];
        uint32_t source = work->position[box->n < box->o ? box->n : box->o],
                 target = work->position[box->l > box->r ? box->l : box->r];
        low = source < low ? source : low;
        high = target > high ? target : high;
    }
    memset(reach + (size_t)low * BLOCK, 0, (size_t)(high - low + 1) * BLOCK * sizeof *reach);
    for (size_t i = first; i < end; i++) {
        size_t l = 2 * (i - first), r = l + 1;
        reach[(size_t)work->position[work->boxes.at[i].l] * BLOCK + l / 64] |= (uint64_t)1 << l % 64;
        reach[(size_t)work->position[work->boxes.at[i].r] * BLOCK + r / 64] |= (uint64_t)1 << r % 64;
    }
    for (uint32_t k = high + 1; k-- > low;) {
        uint64_t *mine = reach + (size_t)k * BLOCK;
        for (uint32_t x = work->out_first[factors[k]]; x < work->out_first[factors[k] + 1]; x++) {
            uint32_t to = work->position[work->out[x]];
            for (uint32_t j = 0; to <= high && j < BLOCK; j++)
                mine[j] |= reach[(size_t)to * BLOCK + j];
        }
    }
    for (size_t i = first; i < end; i++) {
        struct box *box = &work->boxes.at[i];
        size_t l = 2 * (i - first), r = l + 1;
        bool n_to_r = reach[(size_t)work->position[box->n] * BLOCK + r / 64] >> r % 64 & 1;
        bool o_to_l = reach[(size_t)work->position[box->o] * BLOCK + l / 64] >> l % 64 & 1;
        box->crossed = n_to_r || o_to_l;
    }
}

static int by_color(const void *x, const void *y)
{
    const struct box *box = x, *other_box = y;
    /* def holds the color while sorting; uses and then factors keep program order */
    if (box->def != other_box->def)
        return box->def < other_box->def ? -1 : 1;
    if (box->use != other_box->use)
        return box->use < other_box->use ? -1 : 1;
    return box->n != other_box->n  ? (box->n < other_box->n ? -1 : 1)
           : box->l < other_box->l ? -1
                                   : box->l > other_box->l;
}

static void find_crossed(struct work *work)
{
    struct nda *n = work->n;
    uint64_t *reach;
    size_t widest = 0;
    work->position = mem_alloc(sizeof *work->position * ((size_t)n->factor_count + 1));
    for (uint32_t color = 0; color < n->color_count; color++) {
        for (uint32_t i = 0; i < n->colors[color].factor_count; i++)
            work->position[n->color_factors[n->colors[color].factors + i]] = i;
        if (n->colors[color].factor_count > widest)
            widest = n->colors[color].factor_count;
    }
    reach = mem_alloc((widest + 1) * BLOCK * sizeof *reach);
    for (size_t i = 0; i < work->boxes.count; i++)
        work->boxes.at[i].def = n->factors[work->boxes.at[i].n].color;
    if (work->boxes.count)
        qsort(work->boxes.at, work->boxes.count, sizeof *work->boxes.at, by_color);
    for (size_t i = 0, end; i < work->boxes.count; i = end) {
        for (end = i; end < work->boxes.count && end - i < BLOCK_BITS / 2 &&
                      work->boxes.at[end].def == work->boxes.at[i].def;)
            end++;
        cross_block(work, i, end, reach);
    }
    for (size_t i = 0; i < work->boxes.count; i++)
        work->boxes.at[i].def = find_conflict(work, n->factors[work->boxes.at[i].n].space,
                                              work->boxes.at[i].n, work->boxes.at[i].o);
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

static void join_boxes(struct work *work, uint32_t *parent, uint8_t *parity, uint8_t *inconsistent)
{
    for (size_t i = 0; i < work->boxes.count; i++) {
        const struct box *box = &work->boxes.at[i];
        uint8_t pd, pu, p;
        uint32_t d, u;
        if (box->crossed) {
            work->n->crossed_boxes++;
            continue;
        }
        work->n->boxes++;
        p = (box->n == work->conflicts.at[box->def].a) != (box->l == work->conflicts.at[box->use].a);
        d = find_parity(parent, parity, box->def, &pd);
        u = find_parity(parent, parity, box->use, &pu);
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

static void keep_boxes(struct work *work)
{
    struct nda *n = work->n;
    n->box_list = arena_alloc(n->arena, sizeof *n->box_list * (work->boxes.count + 1));
    n->box_count = (uint32_t)work->boxes.count;
    for (uint32_t i = 0; i < n->box_count; i++) {
        const struct box *box = &work->boxes.at[i];
        n->box_list[i] =
            (struct nda_box){.n = box->n, .o = box->o, .l = box->l, .r = box->r, .crossed = box->crossed};
    }
}

static void number_sets(struct work *work, uint32_t *parent, uint8_t *parity, const uint8_t *inconsistent)
{
    struct nda *n = work->n;
    uint32_t *number = mem_alloc(sizeof *number * (work->conflicts.count + 1));
    n->conflict_count = (uint32_t)work->conflicts.count;
    n->conflicts = arena_alloc(n->arena, sizeof *n->conflicts * (work->conflicts.count + 1));
    n->sets = arena_alloc(n->arena, sizeof *n->sets * (work->conflicts.count + 1));
    for (uint32_t i = 0; i < n->conflict_count; i++) {
        struct nda_conflict k = work->conflicts.at[i];
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
    struct work work = {.n = n};
    uint32_t *parent;
    uint8_t *parity, *inconsistent;
    find_conflicts(&work);
    find_boxes(&work);
    edges_by_source(&work);
    find_crossed(&work);
    parent = set_create((uint32_t)work.conflicts.count);
    parity = mem_zalloc(work.conflicts.count + 1, 1);
    inconsistent = mem_zalloc(work.conflicts.count + 1, 1);
    join_boxes(&work, parent, parity, inconsistent);
    number_sets(&work, parent, parity, inconsistent);
    keep_boxes(&work);
    free(parent);
    free(parity);
    free(inconsistent);
    VEC_FREE(&work.conflicts);
    VEC_FREE(&work.boxes);
    free(work.first);
    free(work.out_first);
    free(work.out);
    free(work.position);
}

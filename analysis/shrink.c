/* Which dimensions shrink together; see shrink.h. Two union-finds over atoms: one joins what is one
 * dimension (classes), the other what needs one divisor (groups); products of divisors that a reshape demands
 * are listed beside them. Each family of ops says what its attributes demand; what none of them speaks of and
 * no factor ties stays whole, and the op that keeps it so is remembered. */
#include "analysis/shrink.h"

#include "analysis/shrink_finder.h"
#include "analysis/stages.h"
#include "base/divide.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FEW = 32 }; /* elements that stay beside what is made smaller; chosen */

const struct ir_type *shrink_slot_type(const struct shrink_finder *finder, uint32_t k)
{
    return ir_value_type(finder->n->program, finder->n->slots[finder->space->slots + k].value);
}

int64_t shrink_dim_size(const struct shrink_finder *finder, uint32_t k, uint32_t dim)
{
    return ir_type_dims(finder->n->program, shrink_slot_type(finder, k))[dim];
}

/* the atoms of a dim of the space's slot k; false: none (a dim of one element) */
bool shrink_dim_atoms(const struct shrink_finder *finder, uint32_t k, uint32_t dim, struct shrink_range *out)
{
    uint32_t value = finder->n->slots[finder->space->slots + k].value;
    bool found = false;
    for (uint32_t at = finder->n->value_atoms[value]; at < finder->n->value_atoms[value + 1]; at++)
        if (finder->n->atoms[at].dim == dim) {
            out->last = at;
            if (!found)
                out->first = at;
            found = true;
        }
    return found;
}

/* no factor that can be told to be one with another's is behind the atom */
bool shrink_is_loose(const struct shrink_finder *finder, uint32_t k, uint32_t atom)
{
    uint32_t slot = finder->space->slots + k, value = finder->n->slots[slot].value;
    uint32_t factor = nda_slot_factor(finder->n, slot, atom - finder->n->value_atoms[value]);
    return factor == NDA_NONE || finder->n->factors[factor].kind == NDA_REPLICATE ||
           finder->n->factors[factor].kind == NDA_WINDOWED;
}

void shrink_keep_atom(struct shrink_finder *finder, uint32_t at)
{
    if (finder->kept[at] == NDA_NONE)
        finder->kept[at] = finder->space->op == NDA_NONE ? 0 : finder->space->op;
}

static void keep_range(struct shrink_finder *finder, struct shrink_range range)
{
    for (uint32_t at = range.first; at <= range.last; at++)
        shrink_keep_atom(finder, at);
}

static void keep_slot(struct shrink_finder *finder, uint32_t k, bool all)
{
    uint32_t value = finder->n->slots[finder->space->slots + k].value;
    for (uint32_t at = finder->n->value_atoms[value]; at < finder->n->value_atoms[value + 1]; at++)
        if (all || shrink_is_loose(finder, k, at))
            shrink_keep_atom(finder, at);
}

void shrink_keep_space(struct shrink_finder *finder, bool all)
{
    for (uint32_t k = 0; k < finder->space->slot_count; k++)
        keep_slot(finder, k, all);
}

/* ---- dimensions that are one ---- */
static void join_ranges(struct shrink_finder *finder, struct shrink_range a, struct shrink_range b)
{
    if (a.last - a.first != b.last - b.first) {
        keep_range(finder, a);
        keep_range(finder, b);
        return;
    }
    for (uint32_t i = 0; i <= a.last - a.first; i++) {
        if (finder->n->atoms[a.first + i].size == finder->n->atoms[b.first + i].size) {
            set_join(finder->parent, a.first + i, b.first + i);
        } else {
            shrink_keep_atom(finder, a.first + i);
            shrink_keep_atom(finder, b.first + i);
        }
    }
}

/* one dimension of two slots, although the rule leaves it to each */
void shrink_join_dims(struct shrink_finder *finder, uint32_t k, uint32_t l, uint32_t dim)
{
    struct shrink_range a, b;
    if (shrink_dim_atoms(finder, k, dim, &a) && shrink_dim_atoms(finder, l, dim, &b))
        join_ranges(finder, a, b);
}

static void join_values(struct shrink_finder *finder, uint32_t v, uint32_t w)
{
    const uint32_t *atoms = finder->n->value_atoms;
    if (atoms[v] < atoms[v + 1] && atoms[w] < atoms[w + 1])
        join_ranges(finder, (struct shrink_range){atoms[v], atoms[v + 1] - 1},
                    (struct shrink_range){atoms[w], atoms[w + 1] - 1});
}

static void join_factors(struct shrink_finder *finder)
{
    uint32_t first[NDA_MAX_FACTORS];
    memset(first, 0xff, sizeof first);
    for (uint32_t k = 0; k < finder->space->slot_count; k++) {
        const struct nda_slot *slot = &finder->n->slots[finder->space->slots + k];
        for (uint32_t i = 0; i < nda_atom_count(finder->n, slot->value); i++) {
            uint8_t factor = finder->n->factor_of[slot->map + i];
            uint32_t at = finder->n->value_atoms[slot->value] + i;
            if (factor == NDA_NO_FACTOR)
                continue;
            if (first[factor] == NDA_NONE)
                first[factor] = at;
            else
                set_join(finder->parent, first[factor], at);
        }
    }
}

/* ---- dimensions of one divisor ---- */
void shrink_relate_begin(struct shrink_finder *finder)
{
    finder->dims.count = 0;
}

/* false: the dim is one element and cannot be divided, so that its partners stay whole */
bool shrink_relate_dim(struct shrink_finder *finder, uint32_t k, uint32_t dim)
{
    struct shrink_range range;
    if (!shrink_dim_atoms(finder, k, dim, &range))
        return false;
    VEC_PUSH(&finder->dims, range);
    return true;
}

/* Of every dim one atom is divided, its outermost or its innermost, whichever have more in common; offset:
 * the divisor divides it, too. */
void shrink_relate_end(struct shrink_finder *finder, bool possible, int64_t offset)
{
    int64_t outer = offset, inner = offset;
    for (size_t i = 0; i < finder->dims.count && possible; i++) {
        outer = common_divisor(outer, finder->n->atoms[finder->dims.at[i].first].size);
        inner = common_divisor(inner, finder->n->atoms[finder->dims.at[i].last].size);
    }
    for (size_t i = 0; i < finder->dims.count; i++) {
        struct shrink_range range = finder->dims.at[i];
        uint32_t at = outer >= inner ? range.first : range.last,
                 to = outer >= inner ? finder->dims.at[0].first : finder->dims.at[0].last;
        for (uint32_t other = range.first; other <= range.last; other++)
            if (!possible || other != at)
                shrink_keep_atom(finder, other);
        if (possible) {
            finder->divided[at] |= finder->dims.count > 1;
            set_join(finder->group, at, to);
            finder->divides[at] = common_divisor(finder->divides[at], offset);
        }
    }
}

/* a dim of one atom that lacks a few elements of several, whose divisors together are that atom's */
static void relate_shifted_product(struct shrink_finder *finder, uint32_t one, int64_t less,
                                   struct shrink_range several)
{
    VEC_PUSH(&finder->products,
             ((struct nda_shrink_product){finder->space->op, (uint32_t)finder->members.count, 1,
                                          several.last - several.first + 1}));
    VEC_PUSH(&finder->members, one);
    for (uint32_t at = several.first; at <= several.last; at++)
        VEC_PUSH(&finder->members, at);
    VEC_PUSH(&finder->shifts, ((struct nda_shrink_shift){finder->space->op, NDA_NONE, one, less}));
}

/* Has the dim of slot `small` all but a few elements of the other? Then they keep that distance. */
static bool relate_shift(struct shrink_finder *finder, uint32_t large, uint32_t large_dim, uint32_t small,
                         uint32_t small_dim)
{
    struct shrink_range part, range;
    int64_t n = shrink_dim_size(finder, large, large_dim), m = shrink_dim_size(finder, small, small_dim);
    if (!nda_shrink_is_shift(n, m) || !shrink_dim_atoms(finder, large, large_dim, &range) ||
        !shrink_dim_atoms(finder, small, small_dim, &part) ||
        (range.first != range.last && part.first != part.last))
        return false;
    if (part.first != part.last) {
        relate_shifted_product(finder, range.first, m - n, part);
    } else if (range.first != range.last) {
        relate_shifted_product(finder, part.first, n - m, range);
    } else {
        set_join(finder->group, range.first, part.first);
        VEC_PUSH(&finder->shifts,
                 ((struct nda_shrink_shift){finder->space->op, range.first, part.first, n - m}));
    }
    return true;
}

/* Has a dim half of the other's elements and one, as a Fourier transform of real numbers has of frequencies?
 * Then they stay so: where the other is two halves, one more than a half has. */
static bool relate_half(struct shrink_finder *finder, uint32_t k, uint32_t dim, uint32_t l, uint32_t other)
{
    struct shrink_range whole, half;
    int64_t n = shrink_dim_size(finder, k, dim), m = shrink_dim_size(finder, l, other);
    if (m < 3 || n != 2 * (m - 1) || !shrink_dim_atoms(finder, k, dim, &whole) ||
        !shrink_dim_atoms(finder, l, other, &half) || half.first != half.last)
        return false;
    if (whole.first == whole.last) {
        finder->divided[whole.last] = true;
        finder->divides[whole.last] = common_divisor(finder->divides[whole.last], n / 2);
    } else if (whole.first + 1 == whole.last && finder->n->atoms[whole.first].size == 2) {
        shrink_keep_atom(finder, whole.first);
    } else {
        return false;
    }
    set_join(finder->group, whole.last, half.first);
    VEC_PUSH(&finder->shifts, ((struct nda_shrink_shift){finder->space->op, whole.last, half.first, -1}));
    return true;
}

/* A few elements of a dimension that no divisor goes with (registers among tokens): they stay as many,
 * wherever they begin, and the dimension has no fewer. */
static bool relate_few(struct shrink_finder *finder, uint32_t large, uint32_t large_dim, uint32_t small,
                       uint32_t small_dim, int64_t offset)
{
    struct shrink_range part, range;
    int64_t n = shrink_dim_size(finder, large, large_dim), m = shrink_dim_size(finder, small, small_dim);
    if (m < 2 || m > MOST_FEW || common_divisor(common_divisor(n, m), offset) > 1 ||
        !shrink_dim_atoms(finder, large, large_dim, &range) ||
        !shrink_dim_atoms(finder, small, small_dim, &part) || range.first != range.last ||
        !shrink_is_loose(finder, small, part.first))
        return false;
    keep_range(finder, part);
    if (finder->least[range.first] < m)
        finder->least[range.first] = m;
    return true;
}

/* a dim of a large tensor and the dim of what is a part of it */
static void relate_part(struct shrink_finder *finder, uint32_t large, uint32_t large_dim, uint32_t small,
                        uint32_t small_dim, int64_t offset, bool possible)
{
    struct shrink_range part, range;
    if (shrink_dim_size(finder, small, small_dim) == 1)
        return; /* one element of it, wherever that is */
    if (shrink_dim_atoms(finder, small, small_dim, &part) &&
        shrink_dim_atoms(finder, large, large_dim, &range) && possible &&
        !shrink_is_loose(finder, small, part.first)) {
        for (uint32_t at = range.first; at <= range.last; at++) /* a piece: tied; how many there are is not */
            if (shrink_is_loose(finder, large, at))
                shrink_keep_atom(finder, at);
        return;
    }
    shrink_relate_begin(finder);
    bool both = shrink_relate_dim(finder, large, large_dim);
    both = shrink_relate_dim(finder, small, small_dim) && both;
    shrink_relate_end(finder, both && possible, offset);
}

/* ---- families ---- */
/* the next dimension of more than one element */
static uint32_t skip_ones(const struct shrink_finder *finder, uint32_t k, uint32_t dim)
{
    while (dim < shrink_slot_type(finder, k)->rank && shrink_dim_size(finder, k, dim) == 1)
        dim++;
    return dim;
}

/* adds what no factor ties of the dims [from, to) of slot k to the product that is open; how many */
static uint32_t product_side(struct shrink_finder *finder, uint32_t k, uint32_t from, uint32_t to)
{
    uint32_t value = finder->n->slots[finder->space->slots + k].value, count = 0;
    for (uint32_t at = finder->n->value_atoms[value]; at < finder->n->value_atoms[value + 1]; at++)
        if (finder->n->atoms[at].dim >= from && finder->n->atoms[at].dim < to &&
            shrink_is_loose(finder, k, at)) {
            VEC_PUSH(&finder->members, at);
            count++;
        }
    return count;
}

/* Dims of the operand and of the result that hold the same elements: what factors tie cancels, and the rest
 * of either side has one product. */
static void find_product(struct shrink_finder *finder, const uint32_t from[2], const uint32_t to[2])
{
    struct nda_shrink_product product = {.op = finder->space->op, .first = (uint32_t)finder->members.count};
    product.left = product_side(finder, 0, from[0], to[0]);
    product.right = product_side(finder, 1, from[1], to[1]);
    if (product.left && product.right) {
        VEC_PUSH(&finder->products, product);
        return;
    }
    for (size_t i = product.first; i < finder->members.count; i++)
        shrink_keep_atom(finder, finder->members.at[i]);
    finder->members.count = product.first;
}

static void find_reshape(struct shrink_finder *finder)
{
    uint32_t rank[2] = {shrink_slot_type(finder, 0)->rank, shrink_slot_type(finder, 1)->rank},
             at[2] = {skip_ones(finder, 0, 0), skip_ones(finder, 1, 0)};
    while (at[0] < rank[0] && at[1] < rank[1]) {
        uint32_t from[2] = {at[0], at[1]};
        int64_t size[2] = {1, 1};
        for (uint32_t k = 0; k < 2; k++) {
            size[k] = shrink_dim_size(finder, k, at[k]);
            at[k] = skip_ones(finder, k, at[k] + 1);
        }
        while (size[0] != size[1]) {
            uint32_t k = size[0] > size[1];
            if (at[k] >= rank[k]) {
                shrink_keep_space(finder, false); /* empty tensors */
                return;
            }
            size[k] *= shrink_dim_size(finder, k, at[k]);
            at[k] = skip_ones(finder, k, at[k] + 1);
        }
        find_product(finder, from, at);
    }
}

static void find_slice(struct shrink_finder *finder)
{
    struct ir_dims start, stride;
    if (ir_dims(finder->n->program, finder->space->op, "start_indices", &start) != 0 ||
        ir_dims(finder->n->program, finder->space->op, "strides", &stride) != 0) {
        shrink_keep_space(finder, false);
        return;
    }
    for (uint32_t dim = 0; dim < start.count; dim++) {
        int64_t n = shrink_dim_size(finder, 0, dim), m = shrink_dim_size(finder, 1, dim);
        bool plain = stride.at[dim] == 1;
        if (n != m && !(plain && relate_shift(finder, 0, dim, 1, dim)) &&
            !(plain && start.at[dim] == 0 && relate_half(finder, 0, dim, 1, dim)) &&
            !(plain && relate_few(finder, 0, dim, 1, dim, start.at[dim])))
            relate_part(finder, 0, dim, 1, dim, start.at[dim], start.at[dim] + m * stride.at[dim] <= n);
    }
}

static void find_pad(struct shrink_finder *finder)
{
    struct ir_dims low, high, interior;
    uint32_t op = finder->space->op;
    if (ir_dims(finder->n->program, op, "edge_padding_low", &low) != 0 ||
        ir_dims(finder->n->program, op, "edge_padding_high", &high) != 0 ||
        ir_dims(finder->n->program, op, "interior_padding", &interior) != 0) {
        shrink_keep_space(finder, false);
        return;
    }
    for (uint32_t dim = 0; dim < low.count; dim++) {
        bool plain = low.at[dim] >= 0 && high.at[dim] >= 0;
        if (low.at[dim] == 0 && high.at[dim] == 0 && interior.at[dim] == 0)
            continue;
        bool cuts = low.at[dim] <= 0 && high.at[dim] <= 0 && interior.at[dim] == 0;
        if (cuts) { /* a slice */
            if (!relate_shift(finder, 0, dim, 2, dim))
                relate_part(finder, 0, dim, 2, dim, -low.at[dim], true);
            continue;
        }
        if (!plain || interior.at[dim] != 0) {
            shrink_relate_begin(finder);
            shrink_relate_dim(finder, 0, dim);
            shrink_relate_dim(finder, 2, dim);
            shrink_relate_end(finder, false, 0);
        } else if (!relate_shift(finder, 2, dim, 0, dim) &&
                   !(low.at[dim] == 0 && relate_half(finder, 2, dim, 0, dim)) &&
                   !relate_few(finder, 2, dim, 0, dim, low.at[dim])) {
            relate_part(finder, 2, dim, 0, dim, low.at[dim], true);
        }
    }
}

void shrink_keep_dim(struct shrink_finder *finder, uint32_t k, uint32_t dim)
{
    struct shrink_range range;
    if (shrink_dim_atoms(finder, k, dim, &range))
        keep_range(finder, range);
}

/* Parts that are alike, of what is taken apart into as many of them (queries, keys and values): each part is
 * one of the pieces. */
static bool join_pieces(struct shrink_finder *finder, uint32_t parts, uint32_t along)
{
    struct shrink_range whole, part;
    if (!shrink_dim_atoms(finder, parts, along, &whole) || whole.first == whole.last ||
        finder->n->atoms[whole.first].size != parts)
        return false;
    for (uint32_t k = 0; k < parts; k++) {
        if (!shrink_dim_atoms(finder, k, along, &part) ||
            part.last - part.first + 1 != whole.last - whole.first)
            return false;
        for (uint32_t i = 0; i <= part.last - part.first; i++)
            if (finder->n->atoms[part.first + i].size != finder->n->atoms[whole.first + 1 + i].size)
                return false;
    }
    for (uint32_t k = 0; k < parts && shrink_dim_atoms(finder, k, along, &part); k++)
        join_ranges(finder, part, (struct shrink_range){whole.first + 1, whole.last});
    shrink_keep_atom(finder, whole.first);
    return true;
}

static void find_concatenate(struct shrink_finder *finder)
{
    uint32_t along = (uint32_t)ir_int(finder->n->program, finder->space->op, "dimension", 0);
    bool possible = true;
    uint32_t most = 0, parts = finder->space->slot_count - 1;
    for (uint32_t k = 1; k < parts; k++)
        most = shrink_dim_size(finder, k, along) > shrink_dim_size(finder, most, along) ? k : most;
    if (parts > 1 && relate_shift(finder, parts, along, most, along)) {
        for (uint32_t k = 0; k < parts; k++)
            if (k != most)
                shrink_keep_dim(finder, k, along);
        return;
    }
    if (join_pieces(finder, parts, along))
        return;
    shrink_relate_begin(finder);
    for (uint32_t k = 0; k < finder->space->slot_count; k++)
        possible = shrink_relate_dim(finder, k, along) && possible;
    shrink_relate_end(finder, possible, 0);
}

/* slot `large` and slot `small`, of which each dim is as large or a window */
static void find_windows(struct shrink_finder *finder, uint32_t large, uint32_t small)
{
    for (uint32_t dim = 0; dim < shrink_slot_type(finder, large)->rank; dim++)
        if (shrink_dim_size(finder, large, dim) != shrink_dim_size(finder, small, dim))
            relate_part(finder, large, dim, small, dim, 0, true);
}

/* window: the dims of slot `small` that lie in those dims of slot 0 which `not_window` says no of */
static void find_indexed(struct shrink_finder *finder, uint32_t small, const struct ir_dims *window,
                         const struct ir_dims *without, const struct ir_dims *batch)
{
    uint32_t next = 0;
    keep_slot(finder, 1, false);
    for (uint32_t dim = 0; dim < shrink_slot_type(finder, 0)->rank; dim++) {
        if (ir_dims_has(without, dim) || ir_dims_has(batch, dim) || next >= window->count)
            continue;
        uint32_t at = (uint32_t)window->at[next++];
        if (shrink_dim_size(finder, 0, dim) != shrink_dim_size(finder, small, at))
            relate_part(finder, 0, dim, small, at, 0, true);
    }
}

static void find_gather(struct shrink_finder *finder)
{
    struct ir_gather gather;
    if (ir_gather(finder->n->program, finder->space->op, &gather) != 0)
        shrink_keep_space(finder, false);
    else
        find_indexed(finder, 2, &gather.offset_dims, &gather.collapsed_dims, &gather.operand_batch);
}

static void find_scatter(struct shrink_finder *finder)
{
    struct ir_scatter scatter;
    uint32_t op = finder->space->op;
    if (ir_scatter(finder->n->program, op, &scatter) != 0 || scatter.input_count != 1 ||
        finder->space->slot_count != 4) {
        shrink_keep_space(finder, false);
        return;
    }
    for (uint32_t dim = 0; dim < shrink_slot_type(finder, 2)->rank; dim++) {
        struct shrink_range range;
        if (!ir_dims_has(&scatter.update_window_dims, dim) && shrink_dim_atoms(finder, 2, dim, &range))
            for (uint32_t at = range.first; at <= range.last; at++)
                if (shrink_is_loose(finder, 2, at))
                    shrink_keep_atom(finder, at);
    }
    find_indexed(finder, 2, &scatter.update_window_dims, &scatter.inserted_window_dims, &scatter.input_batch);
}

/* every dim of every slot is the first one's */
static void find_alike(struct shrink_finder *finder, uint32_t slots)
{
    for (uint32_t k = 1; k < slots; k++)
        for (uint32_t dim = 0;
             dim < shrink_slot_type(finder, 0)->rank && dim < shrink_slot_type(finder, k)->rank; dim++)
            shrink_join_dims(finder, 0, k, dim);
}

static void find_constant(struct shrink_finder *finder)
{
    const struct ir_attr *value = ir_attr_find(finder->n->program, finder->space->op, "value");
    if (!value || value->kind != IR_ATTR_DENSE)
        shrink_keep_space(finder, true);
}

/* sizes in the attributes of a rule or of groups of features cannot be told apart from other numbers */
static void find_custom_call(struct shrink_finder *finder)
{
    shrink_keep_space(finder, finder->n->given_rule_count > 0 ||
                                  ir_attr_find(finder->n->program, finder->space->op, "sdy.sharding_rule"));
}

/* as many as were asked for stay there to be found */
static void find_top_k(struct shrink_finder *finder)
{
    uint32_t last = shrink_slot_type(finder, 0)->rank - 1;
    int64_t n = shrink_dim_size(finder, 0, last), divisor = n / shrink_dim_size(finder, 1, last);
    struct shrink_range range;
    while (n % divisor)
        divisor--;
    for (uint32_t k = 1; k < finder->space->slot_count; k++)
        shrink_keep_dim(finder, k, last);
    if (shrink_dim_atoms(finder, 0, last, &range)) {
        shrink_relate_begin(finder);
        shrink_relate_dim(finder, 0, last);
        shrink_relate_end(finder, true, divisor);
    }
}

/* a square matrix: one class */
static void find_cholesky(struct shrink_finder *finder)
{
    uint32_t rank = shrink_slot_type(finder, 0)->rank;
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t dim = rank - 2; dim < rank; dim++) {
            struct shrink_range a, b;
            if (shrink_dim_atoms(finder, 0, rank - 2, &a) && shrink_dim_atoms(finder, k, dim, &b))
                join_ranges(finder, a, b);
        }
}

/* As many frequencies as positions, or, of real numbers, half of them and one. fft_length is written anew. */
static void find_fft(struct shrink_finder *finder)
{
    uint32_t last = shrink_slot_type(finder, 0)->rank - 1;
    struct ir_dims lengths;
    if (ir_dims(finder->n->program, finder->space->op, "fft_length", &lengths) != 0 || lengths.count != 1)
        shrink_keep_space(finder, false);
    else if (shrink_dim_size(finder, 0, last) == shrink_dim_size(finder, 1, last))
        shrink_join_dims(finder, 0, 1, last);
    else if (!relate_half(finder, 0, last, 1, last) && !relate_half(finder, 1, last, 0, last))
        shrink_keep_space(finder, false);
}

static void find_family(struct shrink_finder *finder)
{
    const struct ir_op *op = &finder->n->program->ops[finder->space->op];
    switch (ir_opcode_family(op->code)) {
    case IR_FAMILY_SLICE: find_slice(finder); return;
    case IR_FAMILY_PAD: find_pad(finder); return;
    case IR_FAMILY_CONCATENATE: find_concatenate(finder); return;
    case IR_FAMILY_GATHER: find_gather(finder); return;
    case IR_FAMILY_SCATTER: find_scatter(finder); return;
    case IR_FAMILY_DYNAMIC_SLICE: find_windows(finder, 0, finder->space->slot_count - 1); return;
    case IR_FAMILY_DYNAMIC_UPDATE: find_windows(finder, 0, 1); return;
    case IR_FAMILY_CONSTANT: find_constant(finder); return;
    case IR_FAMILY_CONVOLUTION: shrink_find_convolution(finder); return;
    case IR_FAMILY_REDUCE_WINDOW: shrink_find_reduce_window(finder); return;
    case IR_FAMILY_CUSTOM_CALL: find_custom_call(finder); return;
    case IR_FAMILY_REVERSE: find_alike(finder, finder->space->slot_count); return;
    case IR_FAMILY_REDUCE: find_alike(finder, op->operand_count / 2); return;
    case IR_FAMILY_RESHAPE: find_reshape(finder); return;
    case IR_FAMILY_SORT:
        if (op->code == IR_SORT)
            find_alike(finder, finder->space->slot_count);
        else
            find_top_k(finder);
        return;
    case IR_FAMILY_LINALG:
        if (op->code == IR_CHOLESKY)
            find_cholesky(finder);
        else if (op->code == IR_FFT)
            find_fft(finder);
        else
            shrink_keep_space(finder, false);
        return;
    case IR_FAMILY_RNG:
        keep_slot(finder, 0, false); /* the state, or what `rng` draws between */
        if (op->code != IR_RNG_BIT_GENERATOR)
            shrink_keep_space(finder, false);
        return;
    case IR_FAMILY_ELEMENTWISE:
    case IR_FAMILY_IOTA:
    case IR_FAMILY_BROADCAST:
    case IR_FAMILY_TRANSPOSE:
    case IR_FAMILY_DOT:
    case IR_FAMILY_BATCH_NORM:
    case IR_FAMILY_BITCAST:
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILY_COLLECTIVE:
    case IR_FAMILY_SHARDY:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILIES: shrink_keep_space(finder, false); return;
    }
}

/* the op that makes a value, or in whose region it comes in */
static uint32_t owner(const struct ir_program *program, uint32_t value)
{
    uint32_t op = program->values[value].op;
    return op != IR_NONE ? op : program->regions[program->blocks[program->values[value].block].region].op;
}

static void find_all(struct shrink_finder *finder)
{
    const struct nda *n = finder->n;
    for (uint32_t space = 0; space < n->space_count; space++) {
        finder->space = &n->spaces[space];
        join_factors(finder);
        if (finder->space->kind == NDA_SPACE_OP)
            find_family(finder);
        else
            shrink_keep_space(finder, false);
        if (finder->space->kind == NDA_SPACE_LOOP_END)
            join_values(
                finder,
                n->slots[n->spaces[n->op_space[finder->space->op] + finder->space->index].slots].value,
                n->slots[finder->space->slots].value);
    }
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].tied_result != NDA_NONE)
            join_values(finder, n->arguments[i].value,
                        n->slots[n->spaces[n->result_spaces[n->arguments[i].tied_result]].slots].value);
    for (uint32_t value = 0; value < n->program->value_count; value++)
        for (uint32_t at = n->value_atoms[value]; at < n->value_atoms[value + 1]; at++)
            if (n->value_def_slot[value] == NDA_NONE && finder->kept[at] == NDA_NONE)
                finder->kept[at] = owner(n->program, value); /* within ops that are one to us */
}

/* ---- classes and groups out of the atoms ---- */
static void number_classes(struct shrink_finder *finder, uint32_t atoms, const int64_t *shards,
                           struct nda_shrink *out)
{
    out->class_of = mem_alloc(sizeof *out->class_of * ((size_t)atoms + 1));
    out->classes = mem_zalloc((size_t)atoms + 1, sizeof *out->classes);
    for (uint32_t at = 0; at < atoms; at++) {
        uint32_t root = set_find(finder->parent, at);
        if (root == at) {
            out->classes[out->class_count] =
                (struct nda_shrink_class){.size = finder->n->atoms[at].size, .shards = 1, .atom = at};
            out->class_of[at] = out->class_count++;
        }
        out->class_of[at] = out->class_of[root];
        struct nda_shrink_class *class = &out->classes[out->class_of[at]];
        class->shards = common_multiple(class->shards, shards[at]);
        class->least = class->least < finder->least[at] ? finder->least[at] : class->least;
        set_join(finder->group, root, at);
    }
}

/* is the atom in the op's product by what it lacks (relate_shifted_product)? */
static bool lacks_of_several(const struct shrink_finder *finder, uint32_t op, uint32_t atom)
{
    for (size_t i = 0; i < finder->shifts.count; i++)
        if (finder->shifts.at[i].large == NDA_NONE && finder->shifts.at[i].op == op &&
            finder->shifts.at[i].small == atom)
            return true;
    return false;
}

/* What a class lacks; what is also in a product, or split over devices, cannot keep its distance. */
static void place_shifts(struct shrink_finder *finder, uint32_t atoms, struct nda_shrink *out)
{
    bool *divided = mem_zalloc((size_t)out->class_count + 1, sizeof *divided);
    uint32_t *refused = mem_alloc(sizeof *refused * ((size_t)out->class_count + 1));
    for (uint32_t at = 0; at < atoms; at++)
        divided[out->class_of[at]] |= finder->divided[at];
    for (size_t i = 0; i < finder->products.count; i++) {
        const struct nda_shrink_product *product = &finder->products.at[i];
        for (uint32_t k = 0; k < product->left + product->right; k++)
            if (!lacks_of_several(finder, product->op, finder->members.at[product->first + k]))
                divided[out->class_of[finder->members.at[product->first + k]]] = true;
    }
    for (uint32_t i = 0; i < out->class_count; i++)
        divided[i] |= out->classes[i].shards > 1;
    nda_shrink_place_shifts(finder->shifts.at, finder->shifts.count, divided, out, refused);
    for (uint32_t i = 0; i < out->class_count; i++)
        if (refused[i] != NDA_NONE && finder->kept[out->classes[i].atom] == NDA_NONE)
            finder->kept[out->classes[i].atom] = refused[i];
    free(divided);
    free(refused);
}

static void number_groups(struct shrink_finder *finder, uint32_t atoms, struct nda_shrink *out)
{
    out->divides = mem_zalloc((size_t)out->class_count + 1, sizeof *out->divides);
    out->kept_by = mem_alloc(sizeof *out->kept_by * ((size_t)out->class_count + 1));
    memset(out->kept_by, 0xff, sizeof *out->kept_by * out->class_count);
    for (uint32_t i = 0; i < out->class_count; i++) {
        struct nda_shrink_class *class = &out->classes[i];
        class->group = out->class_of[set_find(finder->group, class->atom)];
        out->divides[class->group] =
            common_divisor(out->divides[class->group],
                           class->size % class->shards ? 1 : (class->size + class->less) / class->shards);
    }
    for (uint32_t at = 0; at < atoms; at++) {
        uint32_t group = out->classes[out->class_of[at]].group;
        int64_t *divides = &out->divides[group];
        *divides = finder->kept[at] != NDA_NONE ? 1 : common_divisor(*divides, finder->divides[at]);
        if (finder->kept[at] < out->kept_by[group])
            out->kept_by[group] = finder->kept[at];
    }
}

/* a group of one class that is whole for nobody's sake, in no ratio, and as it is on every device */
static void find_free(const struct shrink_finder *finder, uint32_t atoms, struct nda_shrink *out)
{
    uint32_t *classes = mem_zalloc((size_t)out->class_count + 1, sizeof *classes);
    out->free = mem_zalloc((size_t)out->class_count + 1, sizeof *out->free);
    for (uint32_t i = 0; i < out->class_count; i++)
        classes[out->classes[i].group]++;
    for (uint32_t i = 0; i < out->class_count; i++) {
        const struct nda_shrink_class *class = &out->classes[i];
        out->free[class->group] =
            classes[class->group] == 1 && class->less == 0 && class->size % class->shards == 0;
    }
    for (uint32_t at = 0; at < atoms; at++)
        if (finder->kept[at] != NDA_NONE || finder->divides[at] || finder->divided[at])
            out->free[out->classes[out->class_of[at]].group] = false;
    for (size_t i = 0; i < finder->members.count; i++)
        out->free[out->classes[out->class_of[finder->members.at[i]]].group] = false;
    free(classes);
}

/* products of atoms -> products of the groups that they are in */
static void number_products(struct shrink_finder *finder, struct nda_shrink *out)
{
    out->product_count = (uint32_t)finder->products.count;
    out->products = mem_alloc(sizeof *out->products * (finder->products.count + 1));
    out->members = mem_alloc(sizeof *out->members * (finder->members.count + 1));
    for (uint32_t i = 0; i < out->product_count; i++)
        out->products[i] = finder->products.at[i];
    for (size_t i = 0; i < finder->members.count; i++)
        out->members[i] = out->classes[out->class_of[finder->members.at[i]]].group;
}

void nda_shrink_create(const struct nda *n, const int64_t *shards, struct nda_shrink *out)
{
    uint32_t atoms = n->value_atoms[n->program->value_count];
    struct shrink_finder finder = {.n = n,
                                   .parent = set_create(atoms),
                                   .group = set_create(atoms),
                                   .kept = mem_alloc(sizeof *finder.kept * ((size_t)atoms + 1)),
                                   .divides = mem_zalloc((size_t)atoms + 1, sizeof *finder.divides),
                                   .least = mem_zalloc((size_t)atoms + 1, sizeof *finder.least),
                                   .divided = mem_zalloc((size_t)atoms + 1, sizeof *finder.divided)};
    memset(finder.kept, 0xff, sizeof *finder.kept * atoms); /* NDA_NONE */
    *out = (struct nda_shrink){.nda = n};
    find_all(&finder);
    number_classes(&finder, atoms, shards, out);
    place_shifts(&finder, atoms, out);
    number_groups(&finder, atoms, out);
    find_free(&finder, atoms, out);
    number_products(&finder, out);
    free(finder.parent);
    free(finder.group);
    free(finder.kept);
    free(finder.divides);
    free(finder.least);
    free(finder.divided);
    VEC_FREE(&finder.shifts);
    VEC_FREE(&finder.dims);
    VEC_FREE(&finder.products);
    VEC_FREE(&finder.members);
}

void nda_shrink_release(struct nda_shrink *shrink)
{
    free(shrink->class_of);
    free(shrink->classes);
    free(shrink->divides);
    free(shrink->kept_by);
    free(shrink->free);
    free(shrink->products);
    free(shrink->members);
    *shrink = (struct nda_shrink){0};
}

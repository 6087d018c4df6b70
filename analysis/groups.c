/* Groups: colors that decisions treat alike, mostly the same dimension in every layer (TOAST (Alabed et al.,
 * 2025), section 4.4).
 *
 * A color's key is the multiset of (op kind, operand, dimension, rank, size) over all uses of its factors;
 * colors of equal keys are a group. Neighbours are not looked at: that would tell the first and last layers
 * from the rest. Members of a group that meet in one tensor cannot both have an axis there: they are split by
 * position, the same way in every layer. */
#include "analysis/stages.h"
#include "base/hash.h"

#include <stdlib.h>

static uint64_t *color_keys(const struct nda *n)
{
    uint64_t *keys = mem_zalloc((size_t)n->color_count + 1, sizeof *keys);
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        uint64_t kind = hash_combine(
            sp->kind,
            sp->kind == NDA_SPACE_OP ? ir_opcode_number((enum ir_opcode)n->program->ops[sp->op].code) : 0);
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
            uint32_t value = n->slots[k].value, rank = ir_value_type(n->program, value)->rank;
            if (n->slots[k].is_result && sp->kind != NDA_SPACE_ARGUMENT)
                continue;
            for (uint32_t i = 0; i < nda_atom_count(n, value); i++) {
                const struct nda_atom *atom = &nda_atoms(n, value)[i];
                uint32_t factor_index = nda_slot_factor(n, k, i);
                uint64_t h = hash_combine(kind, n->slots[k].operand);
                if (factor_index == NDA_NONE)
                    continue;
                h = hash_combine(h, rank * 4096u + atom->dim * 64u + atom->level);
                keys[n->factors[factor_index].color] += hash_combine(h, (uint64_t)atom->size);
            }
        }
    }
    for (uint32_t color = 0; color < n->color_count; color++) /* unused results have no uses at all */
        keys[color] =
            hash_combine(keys[color], (uint64_t)n->factors[n->color_factors[n->colors[color].factors]].size);
    return keys;
}

struct keyed {
    uint64_t key;
    uint32_t color;
};

static int by_key(const void *x, const void *y)
{
    const struct keyed *keyed = x, *other_keyed = y;
    return keyed->key != other_keyed->key      ? (keyed->key < other_keyed->key ? -1 : 1)
           : keyed->color < other_keyed->color ? -1
                                               : keyed->color > other_keyed->color;
}

/* groups numbered by their first color */
static void number_groups(struct nda *n, const uint64_t *keys)
{
    struct keyed *sorted = mem_alloc(sizeof *sorted * ((size_t)n->color_count + 1));
    uint32_t *leader = mem_alloc(sizeof *leader * ((size_t)n->color_count + 1));
    for (uint32_t color = 0; color < n->color_count; color++)
        sorted[color] = (struct keyed){keys[color], color};
    qsort(sorted, n->color_count, sizeof *sorted, by_key);
    for (uint32_t i = 0; i < n->color_count; i++)
        leader[sorted[i].color] =
            i > 0 && sorted[i].key == sorted[i - 1].key ? leader[sorted[i - 1].color] : sorted[i].color;
    n->group_count = 0;
    for (uint32_t color = 0; color < n->color_count; color++)
        n->colors[color].group = leader[color] == color ? n->group_count++ : n->colors[leader[color]].group;
    free(sorted);
    free(leader);
}

/* Splits groups whose members meet in one tensor: a color's key takes in how many others of its group
 * stand before it on the first tensor where it meets one (transposes and gradients come later and have
 * them the other way round). Returns whether some group was split. */
static bool split_met(struct nda *n, uint64_t *keys)
{
    /* 0: met none; 1 + number before it */
    uint32_t *rank = mem_zalloc((size_t)n->color_count + 1, sizeof *rank);
    bool split = false;
    for (uint32_t k = 0; k < n->slot_count; k++) {
        uint32_t count = nda_atom_count(n, n->slots[k].value);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t x = nda_slot_factor(n, k, i), before = 0, met = 0;
            if (x == NDA_NONE || rank[n->factors[x].color])
                continue;
            for (uint32_t j = 0; j < count; j++) {
                uint32_t y = nda_slot_factor(n, k, j);
                bool other = y != NDA_NONE && n->factors[y].color != n->factors[x].color &&
                             n->colors[n->factors[y].color].group == n->colors[n->factors[x].color].group;
                met += other;
                before += other && j < i;
            }
            if (met)
                rank[n->factors[x].color] = 1 + before;
        }
    }
    for (uint32_t color = 0; color < n->color_count; color++) {
        split |= rank[color] > 1;
        if (rank[color] > 1)
            keys[color] = hash_combine(keys[color], rank[color]);
    }
    free(rank);
    return split;
}

static int64_t commonest_size(const struct nda *n, const struct nda_group *group)
{
    int64_t size[16];
    uint32_t votes[16], kinds = 0, best = 0;
    for (uint32_t i = 0; i < group->color_count; i++) {
        const struct nda_color *color = &n->colors[n->group_colors[group->colors + i]];
        for (uint32_t k = 0; k < color->factor_count; k++) {
            int64_t s = n->factors[n->color_factors[color->factors + k]].size;
            uint32_t j = 0;
            while (j < kinds && size[j] != s)
                j++;
            if (j == kinds && kinds < 16) {
                size[kinds] = s;
                votes[kinds++] = 0;
            }
            if (j < kinds)
                votes[j]++;
        }
    }
    for (uint32_t j = 1; j < kinds; j++)
        if (votes[j] > votes[best])
            best = j;
    return kinds ? size[best] : 0;
}

static void measure(const struct nda *n, const uint64_t *keys, struct nda_group *group)
{
    group->size = group->least_size = group->most_size = commonest_size(n, group);
    for (uint32_t i = 0; i < group->color_count; i++) {
        uint32_t index = n->group_colors[group->colors + i];
        const struct nda_color *color = &n->colors[index];
        group->bundled |= keys[index] != keys[n->group_colors[group->colors]];
        for (uint32_t k = 0; k < color->factor_count; k++) {
            int64_t size = n->factors[n->color_factors[color->factors + k]].size;
            group->least_size = size < group->least_size ? size : group->least_size;
            group->most_size = size > group->most_size ? size : group->most_size;
        }
    }
}

void stage_groups(struct nda *n)
{
    uint64_t *keys = color_keys(n);
    uint32_t next = 0;
    number_groups(n, keys);
    for (int round = 0; round < 8 && split_met(n, keys); round++)
        number_groups(n, keys);
    stage_bundles(n);
    n->groups = arena_alloc(n->arena, sizeof *n->groups * ((size_t)n->group_count + 1));
    n->group_colors = arena_alloc(n->arena, sizeof *n->group_colors * ((size_t)n->color_count + 1));
    for (uint32_t color = 0; color < n->color_count; color++)
        n->groups[n->colors[color].group].color_count++;
    for (uint32_t group = 0; group < n->group_count; group++) {
        n->groups[group].colors = next;
        next += n->groups[group].color_count;
        n->groups[group].color_count = 0;
    }
    for (uint32_t color = 0; color < n->color_count; color++) {
        struct nda_group *group = &n->groups[n->colors[color].group];
        n->group_colors[group->colors + group->color_count++] = color;
        group->factor_count += n->colors[color].factor_count;
        group->touches_argument |= n->colors[color].touches_argument;
    }
    for (uint32_t group = 0; group < n->group_count; group++)
        measure(n, keys, &n->groups[group]);
    free(keys);
}

/* Groups of a module that has too many to decide one by one: hundreds of tables or towers, no two of one
 * size, would be hundreds of decisions, where an expert means one ("split every table by its rows").
 *
 * Groups that look alike but for their sizes become one, on the first level that leaves few enough:
 *
 *   sizes within a power of two | any sizes | and any number of uses, of groups without conflicts
 *
 * From the first level on it doesn't matter which operand of a concatenation somebody is. Two that meet in
 * one tensor stay apart: of a chain of widths every other one is one group, the rest another, as of equal
 * widths an expert would have it. A decision shards those of a group that the axis divides, as of any. */
#include "analysis/stages.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* of the groups on arguments; an expert's plan has at most 64 decisions, over two axes or more, and the
     * largest model of the corpus 69 groups. Chosen, not tuned */
    MOST_GROUPS = 96,
    LEVELS = 3
};

struct use {
    uint64_t key;
    uint32_t group;
};

struct meeting {
    uint32_t group, other;
};

struct bundles {
    struct nda *n;
    uint64_t *keys;       /* of each group */
    uint8_t *conflicting; /* a color of the group is in conflicts */
    uint32_t *bundle;     /* of each group; its number among those of its key until the end */
    uint32_t count;
};

static uint64_t size_class(int64_t size, int level)
{
    return level == 0 ? 64u - (uint64_t)__builtin_clzll((uint64_t)size | 1) : 0;
}

/* what each group's elements are used as */
static struct use *list_uses(const struct bundles *bundles, int level, size_t *count)
{
    const struct nda *n = bundles->n;
    VEC(struct use) uses = {0};
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        uint32_t code = sp->kind == NDA_SPACE_OP ? n->program->ops[sp->op].code : 0;
        uint64_t kind =
            hash_combine(sp->kind, sp->kind == NDA_SPACE_OP ? ir_opcode_number((enum ir_opcode)code) : 0);
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
            uint32_t value = n->slots[k].value, rank = ir_value_type(n->program, value)->rank;
            bool numbered = code != IR_CONCATENATE && sp->kind != NDA_SPACE_ARGUMENT;
            if (n->slots[k].is_result && sp->kind != NDA_SPACE_ARGUMENT)
                continue;
            for (uint32_t i = 0; i < nda_atom_count(n, value); i++) {
                const struct nda_atom *atom = &nda_atoms(n, value)[i];
                uint32_t factor = nda_slot_factor(n, k, i);
                if (factor == NDA_NONE)
                    continue;
                uint64_t h = hash_combine(kind, numbered ? n->slots[k].operand : 0);
                h = hash_combine(h, rank * 4096u + atom->dim * 64u + atom->level);
                struct use use = {hash_combine(h, size_class(atom->size, level)),
                                  n->colors[n->factors[factor].color].group};
                VEC_PUSH(&uses, use);
            }
        }
    }
    *count = uses.count;
    return uses.at;
}

static int by_use(const void *x, const void *y)
{
    const struct use *one = x, *other = y;
    return one->group != other->group ? (one->group < other->group ? -1 : 1)
                                      : (one->key > other->key) - (one->key < other->key);
}

/* Groups have more and fewer members, and those of one equal uses: how often a member has each counts. */
static void key_groups(struct bundles *bundles, const uint32_t *members, int level)
{
    size_t count;
    struct use *uses = list_uses(bundles, level, &count);
    memset(bundles->keys, 0, sizeof *bundles->keys * bundles->n->group_count);
    if (count)
        qsort(uses, count, sizeof *uses, by_use);
    for (size_t first = 0, end; first < count; first = end) {
        uint32_t group = uses[first].group;
        for (end = first + 1; end < count && by_use(&uses[first], &uses[end]) == 0;)
            end++;
        bool counted = level + 1 < LEVELS || bundles->conflicting[group];
        uint64_t times = counted ? (end - first) / members[group] : 0;
        bundles->keys[group] += hash_combine(uses[first].key, times);
    }
    for (uint32_t group = 0; group < bundles->n->group_count; group++)
        bundles->keys[group] = hash_combine(bundles->keys[group], bundles->conflicting[group]);
    free(uses);
}

static int by_meeting(const void *x, const void *y)
{
    const struct meeting *one = x, *other = y;
    return one->group != other->group ? (one->group < other->group ? -1 : 1)
                                      : (one->other > other->other) - (one->other < other->other);
}

/* groups of equal keys in one tensor, each pair from both ends, by group */
static struct meeting *list_meetings(const struct bundles *bundles, size_t *count)
{
    const struct nda *n = bundles->n;
    VEC(struct meeting) meetings = {0};
    for (uint32_t k = 0; k < n->slot_count; k++) {
        uint32_t atoms = nda_atom_count(n, n->slots[k].value);
        for (uint32_t i = 0; i < atoms; i++)
            for (uint32_t j = 0; j < atoms; j++) {
                uint32_t x = nda_slot_factor(n, k, i), y = nda_slot_factor(n, k, j);
                if (x == NDA_NONE || y == NDA_NONE)
                    continue;
                struct meeting met = {n->colors[n->factors[x].color].group,
                                      n->colors[n->factors[y].color].group};
                if (met.group != met.other && bundles->keys[met.group] == bundles->keys[met.other])
                    VEC_PUSH(&meetings, met);
            }
    }
    if (meetings.count)
        qsort(meetings.at, meetings.count, sizeof *meetings.at, by_meeting);
    *count = meetings.count;
    return meetings.at;
}

/* the least number that none has whom the group meets */
static uint32_t free_number(const struct bundles *bundles, const struct meeting *met, size_t count,
                            uint8_t *taken)
{
    uint32_t number = 0;
    for (size_t i = 0; i < count; i++)
        if (met[i].other < met[i].group)
            taken[bundles->bundle[met[i].other]] = 1;
    while (taken[number])
        number++;
    for (size_t i = 0; i < count; i++)
        taken[bundles->bundle[met[i].other]] = 0;
    return number;
}

static void number_apart(struct bundles *bundles)
{
    uint32_t groups = bundles->n->group_count;
    uint8_t *taken = mem_zalloc((size_t)groups + 1, 1);
    size_t count;
    struct meeting *met = list_meetings(bundles, &count);
    memset(bundles->bundle, 0, sizeof *bundles->bundle * groups);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && met[end].group == met[first].group;)
            end++;
        bundles->bundle[met[first].group] = free_number(bundles, met + first, end - first, taken);
    }
    free(met);
    free(taken);
}

static int by_key(const void *x, const void *y)
{
    const struct use *one = x, *other = y;
    return one->key != other->key ? (one->key < other->key ? -1 : 1)
                                  : (one->group > other->group) - (one->group < other->group);
}

/* bundles numbered by their first group */
static void join(struct bundles *bundles)
{
    uint32_t groups = bundles->n->group_count;
    struct use *sorted = mem_alloc(sizeof *sorted * ((size_t)groups + 1));
    uint32_t *leader = mem_alloc(sizeof *leader * ((size_t)groups + 1));
    for (uint32_t group = 0; group < groups; group++)
        sorted[group] = (struct use){hash_combine(bundles->keys[group], bundles->bundle[group]), group};
    qsort(sorted, groups, sizeof *sorted, by_key);
    for (uint32_t i = 0; i < groups; i++)
        leader[sorted[i].group] =
            i > 0 && sorted[i].key == sorted[i - 1].key ? leader[sorted[i - 1].group] : sorted[i].group;
    bundles->count = 0;
    for (uint32_t group = 0; group < groups; group++)
        bundles->bundle[group] = leader[group] == group ? bundles->count++ : bundles->bundle[leader[group]];
    free(sorted);
    free(leader);
}

/* of those that groups or bundles of `count` would be: on arguments */
static uint32_t on_arguments(const struct nda *n, const uint32_t *bundle, uint32_t count)
{
    uint8_t *seen = mem_zalloc((size_t)count + 1, 1);
    uint32_t found = 0;
    for (uint32_t color = 0; color < n->color_count; color++) {
        uint32_t number = bundle ? bundle[n->colors[color].group] : n->colors[color].group;
        found += n->colors[color].touches_argument && !seen[number];
        seen[number] |= n->colors[color].touches_argument;
    }
    free(seen);
    return found;
}

void stage_bundles(struct nda *n)
{
    n->kind_count = n->group_count;
    if (on_arguments(n, NULL, n->group_count) <= MOST_GROUPS)
        return;
    struct bundles bundles = {.n = n,
                              .keys = mem_alloc(sizeof *bundles.keys * n->group_count),
                              .conflicting = mem_zalloc(n->group_count, 1),
                              .bundle = mem_alloc(sizeof *bundles.bundle * n->group_count)};
    uint32_t *members = mem_zalloc(n->group_count, sizeof *members);
    for (uint32_t color = 0; color < n->color_count; color++) {
        members[n->colors[color].group]++;
        bundles.conflicting[n->colors[color].group] |= n->colors[color].set_count > 0;
    }
    for (int level = 0; level < LEVELS; level++) {
        key_groups(&bundles, members, level);
        number_apart(&bundles);
        join(&bundles);
        if (on_arguments(n, bundles.bundle, bundles.count) <= MOST_GROUPS)
            break;
    }
    for (uint32_t color = 0; color < n->color_count; color++)
        n->colors[color].group = bundles.bundle[n->colors[color].group];
    n->group_count = bundles.count;
    free(members);
    free(bundles.keys);
    free(bundles.conflicting);
    free(bundles.bundle);
}

/* The factors of every space: each factor of its rule taken apart into atoms; then M, from every definition
 * to its uses, and the colors that M and the ties of loops and donation join. */
#include "analysis/stages.h"

#include <stdlib.h>
#include <string.h>

struct factors {
    struct nda *n;
    struct rule rule;
    const uint8_t *flow_off;
    VEC(struct nda_factor) factors;
    VEC(uint8_t) maps;
    uint32_t space, first; /* the space at work and its first factor */
};

void nda_warn(struct nda *n, uint32_t op, const char *sentence)
{
    const struct ir_op *ir_op = &n->program->ops[op];
    const char *where = ir_string(n->program, ir_op->location);
    if ((n->warning_count & (n->warning_count + 1)) == 0) { /* room is the next power of two */
        char **more = arena_alloc(n->arena, sizeof *more * ((size_t)n->warning_count * 2 + 2));
        if (n->warning_count)
            memcpy(more, n->warnings, sizeof *more * n->warning_count);
        n->warnings = more;
    }
    n->warnings[n->warning_count++] =
        ir_op->line
            ? arena_printf(n->arena, "%.80s at %u:%u%s%.100s%s %s", ir_op_name(n->program, op), ir_op->line,
                           ir_op->column, *where ? " (" : "", where, *where ? ")" : "", sentence)
            : arena_printf(n->arena, "%.80s %s", ir_op_name(n->program, op), sentence);
}

/* The atoms of a part: numbered within the value; those of a dimension stand together, major first. */
static uint32_t part_atoms(const struct factors *factors, const struct rule_part *part, uint32_t *first)
{
    uint32_t value = factors->rule.slots.at[part->slot].value, count = nda_atom_count(factors->n, value),
             taken = 0;
    const struct nda_atom *atoms = nda_atoms(factors->n, value);
    int64_t inner = 1;
    *first = 0;
    for (uint32_t i = count; i-- > 0;) {
        if (atoms[i].dim != part->dim)
            continue;
        if (inner >= part->lo && inner * atoms[i].size <= part->hi) {
            *first = i;
            taken++;
        }
        inner *= atoms[i].size;
    }
    return taken;
}

static uint8_t *slot_map(struct factors *factors, uint32_t slot)
{
    return factors->maps.at + factors->n->slots[factors->n->spaces[factors->space].slots + slot].map;
}

/* room for `count` more factors in the space; replicated ones are left out (no factor) when there is none */
static int take_factors(struct factors *factors, uint32_t count, enum nda_factor_kind kind)
{
    uint32_t local = (uint32_t)factors->factors.count - factors->first;
    if (local + count <= NDA_MAX_FACTORS)
        return (int)local;
    return kind == NDA_REPLICATE || kind == NDA_WINDOWED ? -1 : -2;
}

/* of a rule with an empty tensor nothing is split: there is no element to gain by it */
static bool holds_nothing(const struct rule *rule)
{
    for (size_t i = 0; i < rule->slots.count; i++)
        for (uint32_t dim = 0; dim < rule->slots.at[i].rank; dim++)
            if (rule->slots.at[i].dims[dim] == 0)
                return true;
    return false;
}

static void push_factors(struct factors *factors, const struct rule_part *part, enum nda_factor_kind kind,
                         enum nda_reducer reducer)
{
    uint32_t first, count = part_atoms(factors, part, &first);
    const struct nda_atom *atoms = nda_atoms(factors->n, factors->rule.slots.at[part->slot].value);
    bool shardable = kind != NDA_WINDOWED && !holds_nothing(&factors->rule);
    /* an index or a block cannot be told apart into positions of several atoms */
    if (count > 1 && (kind == NDA_LOOKUP || kind == NDA_UPDATE)) {
        kind = NDA_REPLICATE;
        reducer = NDA_REDUCE_NONE;
    }
    for (uint32_t k = 0; k < count; k++)
        VEC_PUSH(&factors->factors, ((struct nda_factor){.size = atoms[first + k].size,
                                                         .space = factors->space,
                                                         .kind = (uint8_t)kind,
                                                         .reducer = (uint8_t)reducer,
                                                         .shardable = shardable && kind != NDA_REPLICATE}));
}

static void map_part(struct factors *factors, const struct rule_part *part, uint32_t local)
{
    uint32_t first, count = part_atoms(factors, part, &first);
    for (uint32_t k = 0; k < count; k++)
        slot_map(factors, part->slot)[first + k] = (uint8_t)(local + k);
}

/* 0, or -1 when the space has too many factors */
static int expand_factor(struct factors *factors, uint32_t f)
{
    const struct rule_factor *factor = &factors->rule.factors.at[f];
    bool off = factor->link != RULE_NO_LINK && factors->flow_off[factor->flow];
    int local = -1;
    bool named = false;
    for (size_t i = 0; i < factors->rule.parts.count; i++) {
        const struct rule_part *part = &factors->rule.parts.at[i];
        uint32_t first;
        if (part->factor != f)
            continue;
        if (!named || off) {
            local =
                take_factors(factors, part_atoms(factors, part, &first), off ? NDA_REPLICATE : factor->kind);
            if (local == -2)
                return -1;
            if (local >= 0)
                push_factors(factors, part, off ? NDA_REPLICATE : factor->kind,
                             off ? NDA_REDUCE_NONE : factor->reducer);
            named = true;
        }
        if (local >= 0)
            map_part(factors, part, (uint32_t)local);
    }
    return 0;
}

/* atoms that no part ended up with (a part may be finer than the atoms when its link is off) */
static void replicate_rest(struct factors *factors)
{
    const struct nda_space *sp = &factors->n->spaces[factors->space];
    for (uint32_t slot = sp->slots; slot < sp->slots + sp->slot_count; slot++) {
        uint32_t value = factors->n->slots[slot].value;
        for (uint32_t k = 0; k < nda_atom_count(factors->n, value); k++) {
            uint8_t *factor = factors->maps.at + factors->n->slots[slot].map + k;
            int local;
            if (*factor != NDA_NO_FACTOR || (local = take_factors(factors, 1, NDA_REPLICATE)) < 0)
                continue;
            *factor = (uint8_t)local;
            VEC_PUSH(&factors->factors, ((struct nda_factor){.size = nda_atoms(factors->n, value)[k].size,
                                                             .space = factors->space,
                                                             .kind = NDA_REPLICATE}));
        }
    }
}

static enum error_code factors_of_space(struct factors *factors, struct error *e)
{
    struct nda_space *sp = &factors->n->spaces[factors->space];
    const struct ir_op *op = &factors->n->program->ops[sp->op];
    factors->first = sp->factors = (uint32_t)factors->factors.count;
    for (uint32_t slot = sp->slots; slot < sp->slots + sp->slot_count; slot++) {
        factors->n->slots[slot].map = (uint32_t)factors->maps.count;
        factors->n->slots[slot].factors = factors->first;
        for (uint32_t k = nda_atom_count(factors->n, factors->n->slots[slot].value); k > 0; k--)
            VEC_PUSH(&factors->maps, NDA_NO_FACTOR);
        if (factors->n->slots[slot].is_result)
            factors->n->value_def_slot[factors->n->slots[slot].value] = slot;
    }
    for (uint32_t f = 0; f < factors->rule.factors.count; f++)
        if (expand_factor(factors, f) != 0)
            return error_set_at(
                e, ERROR_UNSUPPORTED_MODULE, (int)op->line, (int)op->column,
                "%.60s has more than %d factors (dimensions that can be sharded on their own)",
                ir_op_name(factors->n->program, sp->op), NDA_MAX_FACTORS);
    replicate_rest(factors);
    sp->factor_count = (uint32_t)factors->factors.count - factors->first;
    if (factors->rule.warning && sp->factor_count)
        nda_warn(factors->n, sp->op, factors->rule.warning);
    return ERROR_OK;
}

static void add_edges(struct nda *n)
{
    size_t room = 0;
    for (uint32_t slot = 0; slot < n->slot_count; slot++)
        room += n->slots[slot].is_result ? 0 : nda_atom_count(n, n->slots[slot].value);
    n->edge_from = arena_alloc(n->arena, sizeof *n->edge_from * (room + 1));
    n->edge_to = arena_alloc(n->arena, sizeof *n->edge_to * (room + 1));
    for (uint32_t sp = 0; sp < n->space_count; sp++) {
        for (uint32_t slot = n->spaces[sp].slots; slot < n->spaces[sp].slots + n->spaces[sp].slot_count;
             slot++) {
            uint32_t value = n->slots[slot].value, def = n->value_def_slot[value];
            if (n->slots[slot].is_result || def == NDA_NONE)
                continue;
            for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
                uint32_t from = nda_slot_factor(n, def, k), to = nda_slot_factor(n, slot, k);
                if (from == NDA_NONE || to == NDA_NONE)
                    continue;
                n->edge_from[n->edge_count] = from;
                n->edge_to[n->edge_count++] = to;
            }
        }
    }
}

enum error_code stage_factors(struct nda *n, const uint8_t *flow_off, struct error *e)
{
    struct factors factors = {.n = n, .flow_off = flow_off};
    enum error_code code = ERROR_OK;
    n->value_def_slot =
        arena_alloc(n->arena, sizeof *n->value_def_slot * ((size_t)n->program->value_count + 1));
    for (uint32_t value = 0; value < n->program->value_count; value++)
        n->value_def_slot[value] = NDA_NONE;
    for (factors.space = 0; factors.space < n->space_count && code == ERROR_OK; factors.space++) {
        rule_run(&factors.rule, n, factors.space);
        code = factors_of_space(&factors, e);
    }
    n->factor_count = (uint32_t)factors.factors.count;
    n->factors = arena_alloc(n->arena, sizeof *n->factors * (factors.factors.count + 1));
    n->factor_of = arena_alloc(n->arena, factors.maps.count + 1);
    if (factors.factors.count)
        memcpy(n->factors, factors.factors.at, sizeof *n->factors * factors.factors.count);
    if (factors.maps.count)
        memcpy(n->factor_of, factors.maps.at, factors.maps.count);
    VEC_FREE(&factors.factors);
    VEC_FREE(&factors.maps);
    rule_release(&factors.rule);
    if (code == ERROR_OK)
        add_edges(n);
    return code;
}

static void join_slots(struct nda *n, uint32_t *parent, uint32_t slot, uint32_t b)
{
    uint32_t count = nda_atom_count(n, n->slots[slot].value);
    if (count != nda_atom_count(n, n->slots[b].value))
        return;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t x = nda_slot_factor(n, slot, k), y = nda_slot_factor(n, b, k);
        if (x != NDA_NONE && y != NDA_NONE && n->factors[x].size == n->factors[y].size)
            set_join(parent, x, y);
    }
}

void stage_colors(struct nda *n)
{
    uint32_t *parent = set_create(n->factor_count),
             *number = mem_alloc(sizeof *number * ((size_t)n->factor_count + 1));
    for (uint32_t i = 0; i < n->edge_count; i++)
        set_join(parent, n->edge_from[i], n->edge_to[i]);
    for (uint32_t space = 0; space < n->space_count; space++) /* back edges of loops tie colors only */
        if (n->spaces[space].kind == NDA_SPACE_LOOP_END)
            join_slots(n, parent, n->spaces[n->op_space[n->spaces[space].op] + n->spaces[space].index].slots,
                       n->spaces[space].slots);
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].tied_result != NDA_NONE)
            join_slots(n, parent, n->spaces[n->arguments[i].space].slots,
                       n->spaces[n->result_spaces[n->arguments[i].tied_result]].slots);
    for (uint32_t i = 0; i < n->factor_count; i++) {
        uint32_t root = set_find(parent, i);
        if (root == i)
            number[i] = n->color_count++;
        n->factors[i].color = number[root];
    }
    n->colors = arena_alloc(n->arena, sizeof *n->colors * ((size_t)n->color_count + 1));
    n->color_factors = arena_alloc(n->arena, sizeof *n->color_factors * ((size_t)n->factor_count + 1));
    for (uint32_t i = 0; i < n->factor_count; i++)
        n->colors[n->factors[i].color].factor_count++;
    for (uint32_t color = 0, next = 0; color < n->color_count; color++) {
        n->colors[color].factors = next;
        next += n->colors[color].factor_count;
        n->colors[color].factor_count = 0;
    }
    for (uint32_t i = 0; i < n->factor_count; i++) {
        struct nda_color *color = &n->colors[n->factors[i].color];
        n->color_factors[color->factors + color->factor_count++] = i;
        color->touches_argument |= n->spaces[n->factors[i].space].kind == NDA_SPACE_ARGUMENT;
    }
    free(parent);
    free(number);
}

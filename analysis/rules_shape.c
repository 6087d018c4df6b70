/* Rules of the ops that move elements without computing: broadcast, transpose, reshape, slices, pads. What
 * cannot be moved shard by shard is replicated; nothing here asks for communication. */
#include "analysis/rule.h"

void rule_constant(struct rule *rule)
{
    const struct ir_attr *value = ir_attr_find(rule->program, rule->op, "value");
    /* a splat is the same on every shard; other constants are whole everywhere and a sharded use takes its
     * slice */
    if (value && value->kind == IR_ATTR_DENSE && rule->program->constants[value->first].splat)
        rule_elementwise(rule);
}

/* along its own dimension a shard counts from its offset */
void rule_iota(struct rule *rule)
{
    rule_elementwise(rule);
}

void rule_broadcast(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0), rank = rule->slots.at[result].rank;
    int64_t from[IR_MAX_RANK];
    struct ir_dims dims;
    for (uint32_t d = 0; d < IR_MAX_RANK; d++)
        from[d] = -1;
    if (rule->program->ops[rule->op].code == IR_BROADCAST) {
        for (uint32_t i = 0; i < rule->slots.at[0].rank; i++)
            from[rank - rule->slots.at[0].rank + i] = i;
    } else if (ir_dims(rule->program, rule->op, "broadcast_dimensions", &dims) == 0) {
        for (uint32_t i = 0; i < dims.count; i++)
            if (dims.at[i] >= 0 && dims.at[i] < rank)
                from[dims.at[i]] = i;
    }
    for (uint32_t dim = 0; dim < rank; dim++) {
        uint32_t f = rule_factor(rule, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(rule, result, dim));
        if (from[dim] >= 0)
            rule_put(rule, f, 0, from[dim]); /* 1 -> n: nothing is put, the factor is the result's alone */
        rule_put(rule, f, result, dim);
    }
}

void rule_transpose(struct rule *rule)
{
    struct ir_dims dims;
    if (ir_dims(rule->program, rule->op, "permutation", &dims) != 0)
        return;
    for (uint32_t d = 0; d < dims.count; d++)
        rule_tie(rule, 0, dims.at[d], rule_result_slot(rule, 0), d);
}

/* One group of a reshape: operand dims and result dims with equal products, size-1 dims left out, major
 * first. Every segment between neighbouring cut points of both sides lies in one dim of each and is one
 * factor. */
struct side {
    uint32_t slot, count;
    /* inner: product of the dims after it */
    int64_t dim[IR_MAX_RANK], size[IR_MAX_RANK], inner[IR_MAX_RANK];
};

static void put_segment(struct rule *rule, uint32_t factor, const struct side *side, int64_t lo, int64_t hi)
{
    for (uint32_t i = 0; i < side->count; i++)
        if (lo >= side->inner[i] && hi <= side->inner[i] * side->size[i])
            rule_put_part(rule, factor, side->slot, side->dim[i], lo / side->inner[i], hi / side->inner[i]);
}

static void reshape_group(struct rule *rule, struct side *side, struct side *other_side)
{
    int64_t cuts[2 * IR_MAX_RANK + 1];
    uint32_t count = 0, link;
    struct side *sides[2] = {side, other_side};
    if (side->count == 1 && other_side->count == 1) {
        rule_tie(rule, side->slot, side->dim[0], other_side->slot, other_side->dim[0]);
        return;
    }
    for (uint32_t k = 0; k < 2; k++) {
        int64_t inner = 1;
        for (uint32_t i = sides[k]->count; i-- > 0;) {
            sides[k]->inner[i] = inner;
            cuts[count++] = inner;
            inner *= sides[k]->size[i];
        }
        if (k == 1)
            cuts[count++] = inner;
    }
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = i; j > 0 && cuts[j - 1] > cuts[j]; j--) {
            int64_t t = cuts[j];
            cuts[j] = cuts[j - 1];
            cuts[j - 1] = t;
        }
    for (uint32_t i = 1; i < count; i++)
        if (cuts[i] % cuts[i - 1])
            return; /* 6x4 to 8x3: nothing is tied */
    link = rule_link(rule);
    for (uint32_t i = count; i-- > 1;) {
        uint32_t f;
        if (cuts[i] == cuts[i - 1])
            continue;
        f = rule_linked_factor(rule, link, NDA_PARALLEL, NDA_REDUCE_NONE, cuts[i] / cuts[i - 1]);
        put_segment(rule, f, side, cuts[i - 1], cuts[i]);
        put_segment(rule, f, other_side, cuts[i - 1], cuts[i]);
    }
}

static uint32_t skip_ones(const struct rule *rule, uint32_t slot, uint32_t dim)
{
    while (dim < rule->slots.at[slot].rank && rule->slots.at[slot].dims[dim] == 1)
        dim++;
    return dim;
}

static int64_t take_dim(const struct rule *rule, struct side *side, uint32_t *next)
{
    int64_t size = rule_size(rule, side->slot, *next);
    side->dim[side->count] = *next;
    side->size[side->count++] = size;
    *next = skip_ones(rule, side->slot, *next + 1);
    return size;
}

void rule_reshape(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0), i = skip_ones(rule, 0, 0), j = skip_ones(rule, result, 0);
    uint32_t rank_a = rule->slots.at[0].rank, rank_b = rule->slots.at[result].rank;
    while (i < rank_a && j < rank_b) {
        struct side side = {.slot = 0}, other_side = {.slot = result};
        int64_t pa = take_dim(rule, &side, &i), pb = take_dim(rule, &other_side, &j);
        while (pa != pb) {
            if (pa < pb ? i >= rank_a : j >= rank_b)
                return; /* empty tensors */
            if (pa < pb)
                pa *= take_dim(rule, &side, &i);
            else
                pb *= take_dim(rule, &other_side, &j);
        }
        reshape_group(rule, &side, &other_side);
    }
}

void rule_bitcast(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0), rank = rule->slots.at[0].rank;
    if (rule->slots.at[result].rank < rank)
        rank = rule->slots.at[result].rank;
    for (uint32_t dim = 0; dim < rank; dim++)
        rule_tie(rule, 0, dim, result, dim);
}

/* A slice or pad at multiples of its own size p (the parts of a fused QKV): the dimension of size n is [n
 * / p, p], whose minor part is parallel with the whole of the small side; what is major is replicated. */
static void tie_piece(struct rule *rule, uint32_t large, uint32_t small, int64_t dim)
{
    int64_t n = rule_size(rule, large, dim), p = rule_size(rule, small, dim);
    uint32_t link = rule_link(rule), major, minor;
    major = rule_linked_factor(rule, link, NDA_REPLICATE, NDA_REDUCE_NONE, n / p);
    minor = rule_linked_factor(rule, link, NDA_PARALLEL, NDA_REDUCE_NONE, p);
    rule_put_part(rule, major, large, dim, p, n);
    rule_put_part(rule, minor, large, dim, 1, p);
    rule_put_part(rule, minor, small, dim, 1, p);
    rule->factors.at[minor].piece = rule->factors.at[major].piece = 1;
}

void rule_slice(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0);
    struct ir_dims start, stride;
    if (ir_dims(rule->program, rule->op, "start_indices", &start) != 0 ||
        ir_dims(rule->program, rule->op, "strides", &stride) != 0)
        return;
    for (uint32_t d = 0; d < start.count; d++) {
        int64_t n = rule_size(rule, 0, d), m = rule_size(rule, result, d);
        if (n == m)
            rule_tie(rule, 0, d, result, d);
        else if (stride.at[d] == 1 && m > 1 && start.at[d] % m == 0 && n % m == 0)
            tie_piece(rule, 0, result, d);
    }
}

void rule_pad(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0);
    struct ir_dims low, high, interior;
    if (ir_dims(rule->program, rule->op, "edge_padding_low", &low) != 0 ||
        ir_dims(rule->program, rule->op, "edge_padding_high", &high) != 0 ||
        ir_dims(rule->program, rule->op, "interior_padding", &interior) != 0)
        return;
    for (uint32_t d = 0; d < low.count; d++) {
        int64_t m = rule_size(rule, 0, d), n = rule_size(rule, result, d);
        if (interior.at[d] != 0 || low.at[d] < 0 || high.at[d] < 0)
            continue;
        if (low.at[d] == 0 && high.at[d] == 0)
            rule_tie(rule, 0, d, result, d);
        else if (m > 1 && low.at[d] % m == 0 && n % m == 0)
            tie_piece(rule, result, 0, d);
    }
}

void rule_concatenate(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0);
    int64_t along = ir_int(rule->program, rule->op, "dimension", 0);
    for (uint32_t dim = 0; dim < rule->slots.at[result].rank; dim++) {
        uint32_t f;
        if (dim == along)
            continue;
        f = rule_factor(rule, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(rule, result, dim));
        for (uint32_t s = 0; s < rule->slots.count; s++)
            rule_put(rule, f, s, dim);
    }
    if (rule_is_stack(rule, along)) {
        int64_t n = rule_size(rule, result, along), m = rule_size(rule, 0, along);
        uint32_t link = rule_link(rule);
        uint32_t major = rule_linked_factor(rule, link, NDA_REPLICATE, NDA_REDUCE_NONE, n / m);
        uint32_t minor = rule_linked_factor(rule, link, NDA_PARALLEL, NDA_REDUCE_NONE, m);
        rule_put_part(rule, major, result, along, m, n);
        for (uint32_t s = 0; s < rule->slots.count; s++)
            rule_put_part(rule, minor, s, along, 1, m);
    }
}

bool rule_is_stack(const struct rule *rule, int64_t along)
{
    int64_t m = rule_size(rule, 0, along);
    for (uint32_t operand = 1; operand < rule->operand_count; operand++)
        if (rule_size(rule, operand, along) != m)
            return false;
    return m > 1 && rule->operand_count >= 3;
}

void rule_reverse(struct rule *rule)
{
    struct ir_dims dims;
    if (ir_dims(rule->program, rule->op, "dimensions", &dims) != 0)
        return;
    for (uint32_t dim = 0; dim < rule->slots.at[0].rank; dim++)
        if (rule_has(&dims, dim) < 0)
            rule_tie(rule, 0, dim, rule_result_slot(rule, 0), dim);
}

/* lookups give a partial result: the shard that has the row gives it, all others 0 */
static enum nda_reducer lookup_reducer(const struct rule *rule)
{
    return ir_value_type(rule->program, rule->slots.at[0].value)->element == IR_I1 ? NDA_REDUCE_OR
                                                                                   : NDA_REDUCE_ADD;
}

void rule_dynamic_slice(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0);
    for (uint32_t dim = 0; dim < rule->slots.at[0].rank; dim++) {
        int64_t n = rule_size(rule, 0, dim), m = rule_size(rule, result, dim);
        if (n == m)
            rule_tie(rule, 0, dim, result, dim);
        else if (m == 1)
            rule_put(rule, rule_factor(rule, NDA_LOOKUP, lookup_reducer(rule), n), 0, dim);
    }
}

void rule_dynamic_update(struct rule *rule)
{
    uint32_t result = rule_result_slot(rule, 0);
    for (uint32_t dim = 0; dim < rule->slots.at[0].rank; dim++) {
        int64_t n = rule_size(rule, 0, dim), m = rule_size(rule, 1, dim);
        uint32_t f = rule_factor(rule, n == m ? NDA_PARALLEL : NDA_UPDATE, NDA_REDUCE_NONE, n);
        rule_put(rule, f, 0, dim);
        rule_put(rule, f, 1, dim); /* ignored where the update is narrower */
        rule_put(rule, f, result, dim);
    }
}

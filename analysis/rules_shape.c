/* Rules of the ops that move elements without computing: broadcast, transpose, reshape, slices, pads. What
 * cannot be moved shard by shard is replicated; nothing here asks for communication. */
#include "analysis/rule.h"

void rule_constant(struct rule *r)
{
    const struct ir_attr *value = ir_attr_find(r->program, r->op, "value");
    /* a splat is the same on every shard; other constants are whole everywhere and a sharded use takes its
     * slice */
    if (value && value->kind == IR_ATTR_DENSE && r->program->constants[value->first].splat)
        rule_elementwise(r);
}

/* along its own dimension a shard counts from its offset */
void rule_iota(struct rule *r)
{
    rule_elementwise(r);
}

void rule_broadcast(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0), rank = r->slots.at[result].rank;
    int64_t from[IR_MAX_RANK];
    struct ir_dims dims;
    for (uint32_t d = 0; d < IR_MAX_RANK; d++)
        from[d] = -1;
    if (r->program->ops[r->op].code == IR_BROADCAST) {
        for (uint32_t i = 0; i < r->slots.at[0].rank; i++)
            from[rank - r->slots.at[0].rank + i] = i;
    } else if (ir_dims(r->program, r->op, "broadcast_dimensions", &dims) == 0) {
        for (uint32_t i = 0; i < dims.count; i++)
            if (dims.at[i] >= 0 && dims.at[i] < rank)
                from[dims.at[i]] = i;
    }
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t f = rule_factor(r, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(r, result, d));
        if (from[d] >= 0)
            rule_put(r, f, 0, from[d]); /* 1 -> n: nothing is put, the factor is the result's alone */
        rule_put(r, f, result, d);
    }
}

void rule_transpose(struct rule *r)
{
    struct ir_dims dims;
    if (ir_dims(r->program, r->op, "permutation", &dims) != 0)
        return;
    for (uint32_t d = 0; d < dims.count; d++)
        rule_tie(r, 0, dims.at[d], rule_result_slot(r, 0), d);
}

/* One group of a reshape: operand dims and result dims with equal products, size-1 dims left out, major
 * first. Every segment between neighbouring cut points of both sides lies in one dim of each and is one
 * factor. */
struct side {
    uint32_t slot, count;
    /* inner: product of the dims after it */
    int64_t dim[IR_MAX_RANK], size[IR_MAX_RANK], inner[IR_MAX_RANK];
};

static void put_segment(struct rule *r, uint32_t factor, const struct side *s, int64_t lo, int64_t hi)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (lo >= s->inner[i] && hi <= s->inner[i] * s->size[i])
            rule_put_part(r, factor, s->slot, s->dim[i], lo / s->inner[i], hi / s->inner[i]);
}

static void reshape_group(struct rule *r, struct side *a, struct side *b)
{
    int64_t cuts[2 * IR_MAX_RANK + 1];
    uint32_t count = 0, link;
    struct side *sides[2] = {a, b};
    if (a->count == 1 && b->count == 1) {
        rule_tie(r, a->slot, a->dim[0], b->slot, b->dim[0]);
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
    link = rule_link(r);
    for (uint32_t i = count; i-- > 1;) {
        uint32_t f;
        if (cuts[i] == cuts[i - 1])
            continue;
        f = rule_linked_factor(r, link, NDA_PARALLEL, NDA_REDUCE_NONE, cuts[i] / cuts[i - 1]);
        put_segment(r, f, a, cuts[i - 1], cuts[i]);
        put_segment(r, f, b, cuts[i - 1], cuts[i]);
    }
}

static uint32_t skip_ones(const struct rule *r, uint32_t slot, uint32_t dim)
{
    while (dim < r->slots.at[slot].rank && r->slots.at[slot].dims[dim] == 1)
        dim++;
    return dim;
}

static int64_t take_dim(const struct rule *r, struct side *s, uint32_t *next)
{
    int64_t size = rule_size(r, s->slot, *next);
    s->dim[s->count] = *next;
    s->size[s->count++] = size;
    *next = skip_ones(r, s->slot, *next + 1);
    return size;
}

void rule_reshape(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0), i = skip_ones(r, 0, 0), j = skip_ones(r, result, 0);
    uint32_t rank_a = r->slots.at[0].rank, rank_b = r->slots.at[result].rank;
    while (i < rank_a && j < rank_b) {
        struct side a = {.slot = 0}, b = {.slot = result};
        int64_t pa = take_dim(r, &a, &i), pb = take_dim(r, &b, &j);
        while (pa != pb) {
            if (pa < pb ? i >= rank_a : j >= rank_b)
                return; /* empty tensors */
            if (pa < pb)
                pa *= take_dim(r, &a, &i);
            else
                pb *= take_dim(r, &b, &j);
        }
        reshape_group(r, &a, &b);
    }
}

void rule_bitcast(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0), rank = r->slots.at[0].rank;
    if (r->slots.at[result].rank < rank)
        rank = r->slots.at[result].rank;
    for (uint32_t d = 0; d < rank; d++)
        rule_tie(r, 0, d, result, d);
}

/* A slice or pad at multiples of its own size p (the parts of a fused QKV): the dimension of size n is [n
 * / p, p], whose minor part is parallel with the whole of the small side; what is major is replicated. */
static void tie_piece(struct rule *r, uint32_t large, uint32_t small, int64_t dim)
{
    int64_t n = rule_size(r, large, dim), p = rule_size(r, small, dim);
    uint32_t link = rule_link(r), major, minor;
    major = rule_linked_factor(r, link, NDA_REPLICATE, NDA_REDUCE_NONE, n / p);
    minor = rule_linked_factor(r, link, NDA_PARALLEL, NDA_REDUCE_NONE, p);
    rule_put_part(r, major, large, dim, p, n);
    rule_put_part(r, minor, large, dim, 1, p);
    rule_put_part(r, minor, small, dim, 1, p);
    r->factors.at[minor].piece = r->factors.at[major].piece = 1;
}

void rule_slice(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0);
    struct ir_dims start, stride;
    if (ir_dims(r->program, r->op, "start_indices", &start) != 0 ||
        ir_dims(r->program, r->op, "strides", &stride) != 0)
        return;
    for (uint32_t d = 0; d < start.count; d++) {
        int64_t n = rule_size(r, 0, d), m = rule_size(r, result, d);
        if (n == m)
            rule_tie(r, 0, d, result, d);
        else if (stride.at[d] == 1 && m > 1 && start.at[d] % m == 0 && n % m == 0)
            tie_piece(r, 0, result, d);
    }
}

void rule_pad(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0);
    struct ir_dims low, high, interior;
    if (ir_dims(r->program, r->op, "edge_padding_low", &low) != 0 ||
        ir_dims(r->program, r->op, "edge_padding_high", &high) != 0 ||
        ir_dims(r->program, r->op, "interior_padding", &interior) != 0)
        return;
    for (uint32_t d = 0; d < low.count; d++) {
        int64_t m = rule_size(r, 0, d), n = rule_size(r, result, d);
        if (interior.at[d] != 0 || low.at[d] < 0 || high.at[d] < 0)
            continue;
        if (low.at[d] == 0 && high.at[d] == 0)
            rule_tie(r, 0, d, result, d);
        else if (m > 1 && low.at[d] % m == 0 && n % m == 0)
            tie_piece(r, result, 0, d);
    }
}

void rule_concatenate(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0);
    int64_t along = ir_int(r->program, r->op, "dimension", 0);
    for (uint32_t d = 0; d < r->slots.at[result].rank; d++) {
        uint32_t f;
        if (d == along)
            continue;
        f = rule_factor(r, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(r, result, d));
        for (uint32_t s = 0; s < r->slots.count; s++)
            rule_put(r, f, s, d);
    }
    if (rule_is_stack(r, along)) {
        int64_t n = rule_size(r, result, along), m = rule_size(r, 0, along);
        uint32_t link = rule_link(r);
        uint32_t major = rule_linked_factor(r, link, NDA_REPLICATE, NDA_REDUCE_NONE, n / m);
        uint32_t minor = rule_linked_factor(r, link, NDA_PARALLEL, NDA_REDUCE_NONE, m);
        rule_put_part(r, major, result, along, m, n);
        for (uint32_t s = 0; s < r->slots.count; s++)
            rule_put_part(r, minor, s, along, 1, m);
    }
}

bool rule_is_stack(const struct rule *r, int64_t along)
{
    int64_t m = rule_size(r, 0, along);
    for (uint32_t s = 1; s < r->operand_count; s++)
        if (rule_size(r, s, along) != m)
            return false;
    return m > 1 && r->operand_count >= 3;
}

void rule_reverse(struct rule *r)
{
    struct ir_dims dims;
    if (ir_dims(r->program, r->op, "dimensions", &dims) != 0)
        return;
    for (uint32_t d = 0; d < r->slots.at[0].rank; d++)
        if (rule_has(&dims, d) < 0)
            rule_tie(r, 0, d, rule_result_slot(r, 0), d);
}

/* lookups give a partial result: the shard that has the row gives it, all others 0 */
static enum nda_reducer lookup_reducer(const struct rule *r)
{
    return ir_value_type(r->program, r->slots.at[0].value)->element == IR_I1 ? NDA_REDUCE_OR : NDA_REDUCE_ADD;
}

void rule_dynamic_slice(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0);
    for (uint32_t d = 0; d < r->slots.at[0].rank; d++) {
        int64_t n = rule_size(r, 0, d), m = rule_size(r, result, d);
        if (n == m)
            rule_tie(r, 0, d, result, d);
        else if (m == 1)
            rule_put(r, rule_factor(r, NDA_LOOKUP, lookup_reducer(r), n), 0, d);
    }
}

void rule_dynamic_update(struct rule *r)
{
    uint32_t result = rule_result_slot(r, 0);
    for (uint32_t d = 0; d < r->slots.at[0].rank; d++) {
        int64_t n = rule_size(r, 0, d), m = rule_size(r, 1, d);
        uint32_t f = rule_factor(r, n == m ? NDA_PARALLEL : NDA_UPDATE, NDA_REDUCE_NONE, n);
        rule_put(r, f, 0, d);
        rule_put(r, f, 1, d); /* ignored where the update is narrower */
        rule_put(r, f, result, d);
    }
}

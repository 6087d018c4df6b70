/* A rule: the factors of one space, before refinement into atoms (docs/design/analysis.md).
 * A rule's factor is local to its op and may still be cut; nda.h's factors are what it is cut into.
 *
 * A rule names factors and says which *part* of which dimension of which slot each is in. A part is a
 * range of suffix products [lo, hi) of a dimension: [1, n) is the whole of a dimension of size n, [p, n)
 * what is major of a piece of p, [1, p) the piece itself. Parts of one factor have equal hi / lo. Factors
 * whose parts are not whole dimensions stand in a *link*: refinement may find that the cut points they
 * need form no divisor chain; then the whole link is off and its parts are replicated, each on its own
 * (one factor alone is off when it has a windowed dimension; pieces are off where a concatenate joins such
 * dimensions). What a rule leaves out is replicated too, one factor a tensor.
 *
 * The same rule code runs twice, in the same order: once to collect what flows into what (atoms.c), once
 * to make factors (space_factors.c). It must not depend on anything but the program. */
#ifndef TOAST_ANALYSIS_RULE_H
#define TOAST_ANALYSIS_RULE_H

#include "analysis/nda.h"
#include "ir/attrs.h"

enum { RULE_NO_FACTOR = UINT32_MAX, RULE_NO_LINK = UINT32_MAX };

struct rule_slot {
    const int64_t *dims;     /* borrowed from the program */
    uint32_t value, covered; /* covered: a bit for each dimension that has its parts */
    uint16_t operand;
    uint8_t is_result, rank;
};
struct rule_factor {
    int64_t size;
    uint32_t link, flow; /* flow: number of the linked factor within the program */
    uint8_t kind, reducer;
    uint8_t piece; /* of a slice or pad at multiples of its size */
};
struct rule_part {
    int64_t lo, hi;
    uint32_t factor, slot;
    uint8_t dim;
};
struct rule {
    const struct ir_program *program;
    const struct nda *nda;         /* for the rules that are given beside the program's own */
    uint32_t op, operand_count;    /* slots [0, operand_count) are operands, then results */
    uint32_t next_link, next_flow; /* links and linked factors opened so far in the program */
    VEC(struct rule_slot) slots;
    VEC(struct rule_factor) factors;
    VEC(struct rule_part) parts;
    const char *warning; /* why the op is replicated; NULL: nothing to say */
};

/* Clears the rule and takes the slots of a space of `n` (spaces and slots must be there), runs the rule of
 * its kind or family and replicates what it left out. */
void rule_run(struct rule *rule, const struct nda *n, uint32_t space);
void rule_release(struct rule *rule);

/* ---------------------------------------------------------------- for the rules of the families */
/* a new factor; RULE_NO_FACTOR (ignored by the put functions) for sizes below 2 */
uint32_t rule_factor(struct rule *rule, enum nda_factor_kind kind, enum nda_reducer reducer, int64_t size);
uint32_t rule_linked_factor(struct rule *rule, uint32_t link, enum nda_factor_kind kind,
                            enum nda_reducer reducer, int64_t size);
uint32_t rule_link(struct rule *rule);
/* the whole dimension is in the factor; ignored when it has another size (it is replicated then) */
void rule_put(struct rule *rule, uint32_t factor, uint32_t slot, int64_t dim);
void rule_put_part(struct rule *rule, uint32_t factor, uint32_t slot, int64_t dim, int64_t lo, int64_t hi);
/* a parallel factor of two dimensions of equal size */
void rule_tie(struct rule *rule, uint32_t slot_a, int64_t dim_a, uint32_t slot_b, int64_t dim_b);
/* same-shape slots are parallel in every dimension; slots of rank 0 beside others are left alone */
void rule_elementwise(struct rule *rule);
static inline enum ir_element rule_element(const struct rule *rule, uint32_t slot)
{
    return (enum ir_element)ir_value_type(rule->program, rule->slots.at[slot].value)->element;
}
static inline int64_t rule_size(const struct rule *rule, uint32_t slot, int64_t dim)
{
    return slot < rule->slots.count && dim >= 0 && dim < rule->slots.at[slot].rank
               ? rule->slots.at[slot].dims[dim]
               : 1;
}
static inline uint32_t rule_result_slot(const struct rule *rule, uint32_t i)
{
    return rule->operand_count + i;
}
static inline uint32_t rule_result_count(const struct rule *rule)
{
    return (uint32_t)rule->slots.count - rule->operand_count;
}
/* a concatenate of three or more equal parts (as in the gradient of a fused QKV), which may be refined
 * like a reshape */
bool rule_is_stack(const struct rule *rule, int64_t along);
/* NDA_REDUCE_NONE: opaque, or bits of integers, which no collective combines (XLA: "Unsupported
 * reduction") */
enum nda_reducer rule_reducer(enum ir_opcode body, enum ir_element element);
static inline int rule_has(const struct ir_dims *list, int64_t dim) /* position, -1: not in it */
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i] == dim)
            return (int)i;
    return -1;
}

void rule_broadcast(struct rule *rule);
void rule_transpose(struct rule *rule);
void rule_reshape(struct rule *rule);
void rule_bitcast(struct rule *rule);
void rule_iota(struct rule *rule);
void rule_constant(struct rule *rule);
void rule_slice(struct rule *rule);
void rule_pad(struct rule *rule);
void rule_concatenate(struct rule *rule);
void rule_reverse(struct rule *rule);
void rule_dynamic_slice(struct rule *rule);
void rule_dynamic_update(struct rule *rule);
void rule_dot(struct rule *rule);
void rule_convolution(struct rule *rule);
void rule_reduce(struct rule *rule);
void rule_reduce_window(struct rule *rule);
void rule_batch_norm(struct rule *rule);
void rule_gather(struct rule *rule);
void rule_scatter(struct rule *rule);
void rule_sort(struct rule *rule);
void rule_linalg(struct rule *rule);
void rule_custom_call(struct rule *rule);
/* the rule that the op itself states (sdy.sharding_rule), else the one given for its target.
 * misfits: it has other tensors, dimensions or sizes than the op; nothing is done */
enum rule_fit { RULE_NONE, RULE_FITS, RULE_MISFITS };
enum rule_fit rule_given(struct rule *rule);

#endif

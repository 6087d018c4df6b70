/* What propagation knows of each space before any sharding: its rule as Shardy writes it, over whole
 * dimensions.
 *
 *     dot       x[i, k] w[k, j] -> y[i, j]     a factor is in one dim of a tensor, or in none
 *     reshape   x[i*j] -> y[i, j]              several factors are in one dim, major ones have lower numbers
 *
 * Where our analysis keeps atoms apart a dimension is one factor here (a fused query-key-value dimension of 3
 * x heads x width is one), because XLA shards dimensions. Slices, pads and concatenations pass a sharding of
 * the dimension that they change. Read only after it is made; borrowed from the analysis: nothing. Source:
 * the sharding rules of Shardy (docs/forms.md). */
#ifndef TOAST_SPMD_PROPAGATE_RULE_H
#define TOAST_SPMD_PROPAGATE_RULE_H

#include "spmd/local.h"

enum propagate_kind { PROPAGATE_PASS, PROPAGATE_REDUCED, PROPAGATE_OTHER, PROPAGATE_BLOCKED };
enum { PROPAGATE_NO_DIM = 255 };

struct propagate_factor {
    int64_t size;
    uint8_t kind; /* enum propagate_kind */
};
struct propagate_rules {
    struct propagate_factor *factors; /* of all spaces */
    uint32_t *factor_start;           /* [space], and their end */
    uint32_t *dim_start;              /* [slot]: of its factors' dims */
    uint8_t *dims; /* [dim_start + factor]: the dim that holds the factor; PROPAGATE_NO_DIM */
};

/* gone: by space, those that are not there and have no factors; NULL: none */
void propagate_rules_create(const struct nda *n, const uint8_t *gone, struct propagate_rules *out);
void propagate_rules_release(struct propagate_rules *rules); /* zeroed is fine */

static inline uint32_t propagate_rules_count(const struct propagate_rules *rules, uint32_t space)
{
    return rules->factor_start[space + 1] - rules->factor_start[space];
}

#endif

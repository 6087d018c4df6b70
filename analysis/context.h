/* What plans are made against: what follows from module, mesh and pins alone. Internal to analysis/.
 *
 * Filled by plan_context_create (plan.c) in the order of the declarations at the end, immutable from then on
 * and shared by threads. No plan ever changes it. */
#ifndef TOAST_ANALYSIS_CONTEXT_H
#define TOAST_ANALYSIS_CONTEXT_H

#include "analysis/plan.h"

/* A factor that decisions of its group can shard. allowed: (bits & mask) == value, from the conflicts it is
 * in. */
struct plan_candidate {
    int64_t size;
    uint32_t space, factor_index;
    uint32_t partner; /* space tied to this one, whose cells stay equal; NDA_NONE */
    uint16_t mask, value;
    uint8_t factor; /* of the space */
    uint8_t partner_factor;
    uint8_t divides; /* bit a: the size of axis a divides size */
    uint8_t update;  /* in scope `update` */
    uint8_t stacked; /* in scope `stacked` */
};

struct plan_context {
    const struct nda *n; /* borrowed */
    struct mesh mesh;
    struct plan start;
    uint32_t *group_first; /* candidates of group g: [group_first[g], group_first[g + 1]) */
    struct plan_candidate *candidates;
    /* of a thin plan's context (thin.h), by candidate, axis and position: what its cell and those that stay
     * unset add to the hash; NULL: all are set */
    struct hash128 *words;
    uint32_t *partner;    /* of each factor: the tied one, NDA_NONE */
    uint16_t *kept;       /* of each factor: resolution bits under which its conflicts keep it */
    uint8_t *closed;      /* of each factor: a pin forbids further axes */
    uint8_t *update;      /* of each space: in scope `update` */
    uint8_t *stacked;     /* of each factor: in scope `stacked` */
    struct hash128 *word; /* of each factor */
    struct hash128 axis_word[MESH_MAX_AXES][MESH_MAX_AXES]; /* [axis][position], odd */
    struct plan_decision *decisions;
    uint32_t decision_count, pruned_count;
    struct plan_decision *regathers;
    uint32_t regather_count;
};

/* hash of one cell: a product, so that the XOR over cells is not linear in factors and axes */
static inline struct hash128 plan_cell_word(const struct plan_context *context, uint32_t factor_index,
                                            uint32_t axis, uint32_t position)
{
    struct hash128 hash = context->word[factor_index], k = context->axis_word[axis][position];
    return (struct hash128){hash.hi * k.hi, hash.lo * k.lo};
}

/* product of the axes on a factor; *position: how many they are */
static inline int64_t plan_shards(const struct plan_context *context, const struct plan_cell *cells,
                                  uint8_t factor, uint32_t *position)
{
    int64_t shards = 1;
    *position = 0;
    for (uint32_t axis = 0; axis < context->mesh.axis_count; axis++)
        if (cells[axis].factor == factor) {
            shards *= context->mesh.axes[axis].size;
            ++*position;
        }
    return shards;
}

void context_words(struct plan_context *context);
void context_partners(struct plan_context *context, const struct plan_pin *pins, uint32_t pin_count);
void context_update_scope(struct plan_context *context);
void context_stacked_scope(struct plan_context *context); /* after context_partners */
void context_candidates(struct plan_context *context);
void context_decisions(struct plan_context *context);
void context_regathers(struct plan_context *context);
struct hash128 context_regather_word(uint32_t argument, uint32_t axis); /* of the plan's hash */
struct hash128 context_whole_word(uint32_t group, uint32_t axis);       /* likewise */
enum error_code context_pins(struct plan_context *context, const struct plan_pin *pins, uint32_t count,
                             struct error *e) BASE_CHECKED;

#endif

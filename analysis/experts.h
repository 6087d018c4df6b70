/* How expert plans are made (baselines.c) and varied (variants.c). Internal to analysis/. */
#ifndef TOAST_ANALYSIS_EXPERTS_H
#define TOAST_ANALYSIS_EXPERTS_H

#include "analysis/context.h"

enum strategy {
    REPLICATED,
    BATCH,
    FSDP,
    FSDP_LARGE,
    ZERO1,
    ZERO2,
    MEGATRON,
    SEQUENCE,
    EDGE,
    EXPERT,
    STACKED,
    STRATEGIES
};
enum {
    MOST_GROUPS = 6, /* of the model's that are laid out alone; chosen, not tuned */
    EXPERT_LAYOUTS = 32
};

/* what one axis does: a strategy, or two */
struct layout {
    uint8_t first, second; /* enum strategy; REPLICATED: nothing */
    bool other;            /* the other side of all conflicts of a sequence */
};
extern const struct layout expert_layouts[EXPERT_LAYOUTS];

struct builder {
    const struct plan_context *context;
    struct plan plan;
    struct plan_baseline *out;
    bool works[STRATEGIES + MOST_GROUPS]; /* the module has what the strategy needs */
    uint32_t groups[MOST_GROUPS];         /* strategy STRATEGIES + i: this group of MODEL_ROLES alone */
    uint32_t group_count;
    struct layout layouts[MESH_MAX_AXES]; /* of each axis */
    uint8_t order[MESH_MAX_AXES];         /* the mesh's axes as they are decided, and named */
    /* of sequence, batch and groups alone: classes of conflicts of the group that has most */
    uint32_t bits[STRATEGIES + MOST_GROUPS];
    uint32_t sides[MESH_MAX_AXES]; /* of each axis, for the strategy that expert_sided names */
    bool regather[MESH_MAX_AXES];
};

void expert_init(struct builder *builder,
                 const struct plan_context *context); /* plan: released by the caller */
/* the plan of the layouts in that order, sides and regathers, into plan and out */
void expert_build(struct builder *builder);
/* has the module what the layout of that number needs? */
bool expert_works(const struct builder *builder, uint32_t layout);
/* the strategy of a layout whose conflicts' sides are chosen: the sequence's, else the first that has any */
uint8_t expert_sided(const struct builder *builder, struct layout layout);
/* sides of conflicts, i below bits + 2: none, all at once, then each class alone */
uint32_t expert_side(uint32_t bits, uint32_t i);
/* layouts, order, sides and regathers by name */
enum error_code expert_parse(struct builder *builder, const char *name, struct error *e) BASE_CHECKED;

#endif

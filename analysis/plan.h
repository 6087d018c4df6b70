/* Mesh, decisions, plans: the one currency between planners, the price, the writers and a person's edits.
 *
 * A plan says, for each space and mesh axis, which factor of the space the axis shards (at most one), and
 * in which position among the axes of that factor (0 = major). Equal plans have equal bytes and equal
 * hash, whatever order of decisions made them.
 *
 *     cells          axis 0 "data"        axis 1 "model"
 *     space 0        factor 0, pos 0      -                  - : NDA_NO_FACTOR, the axis shards nothing here
 *     space 1        factor 2, pos 0      factor 2, pos 1    one factor over both axes, data major
 *     space 2        factor 0, pos 0      factor 1, pos 0    two factors
 *
 * Sizes in elements or devices, bandwidths in bytes per second, latencies in picoseconds. A plan owns its
 * arrays; an nda, a mesh and a context are borrowed. Source: TOAST (Alabed et al., 2025), sections 4.2 and
 * 4.4; docs/design/planner.md. */
#ifndef TOAST_ANALYSIS_PLAN_H
#define TOAST_ANALYSIS_PLAN_H

#include "analysis/nda.h"
#include "base/hash.h"
#include "ir/attrs.h"

enum { MESH_MAX_AXES = 8, MESH_MAX_DEVICES = 1 << 20 };

struct mesh_axis {
    char name[64];
    int64_t size;
    int64_t link_bytes_per_s; /* 0: from the device; per device and direction */
    int64_t link_latency_ps;  /* 0: from the device */
};
struct mesh {
    struct mesh_axis axes[MESH_MAX_AXES];
    uint32_t axis_count;
    int64_t devices_per_host; /* 0: from the device */
};
int64_t mesh_devices(const struct mesh *mesh);
/* devices between neighbours along the axis, which are numbered with the last axis innermost */
int64_t mesh_axis_stride(const struct mesh *mesh, uint32_t axis);
/* "data=4,model=2". ERROR_INVALID_MESH: zero, negative or duplicate axis, more than 8, product above 2^20,
 * bad name (names: [A-Za-z_][A-Za-z0-9_]*), each saying which. Also checks a mesh filled by others. */
enum error_code mesh_parse(const char *text, struct mesh *out, struct error *e) BASE_CHECKED;
enum error_code mesh_check(const struct mesh *mesh, struct error *e) BASE_CHECKED;
int mesh_axis_find(const struct mesh *mesh, const char *name); /* -1: none */

struct plan_cell {
    uint8_t factor, position;
}; /* factor NDA_NO_FACTOR: this axis shards nothing here */
struct plan {
    uint32_t axis_count, space_count, argument_count, group_count;
    struct plan_cell *cells; /* [space * axis_count + axis]; owned */
    /* [argument]: bit a: what is gathered of it over axis a is let go between distant uses and gathered
     * again; owned */
    uint8_t *regather;
    /* [group]: bit a: sums over axis a (gradients) that an update shards in this group over it are reduced
     * whole, and cut where the update reads them; owned */
    uint8_t *whole;
    /* XOR of a word per (factor, position, axis), per (argument, axis) gathered again and per (group, axis)
     * reduced whole */
    struct hash128 hash;
};
void plan_init(struct plan *plan, const struct nda *n, const struct mesh *mesh); /* nothing sharded; hash 0 */
void plan_init_copy(struct plan *plan, const struct plan *from);                 /* both in one */
/* both initialised for the same nda, mesh */
void plan_copy(struct plan *to, const struct plan *from);
void plan_release(struct plan *plan);
static inline const struct plan_cell *plan_space(const struct plan *plan, uint32_t space)
{
    return plan->cells + (size_t)space * plan->axis_count;
}
struct hash128 plan_hash_full(const struct plan *plan, const struct nda *n); /* from scratch, for tests */
/* product of the axes on a factor */
int64_t plan_factor_shards(const struct plan *plan, const struct mesh *mesh, uint32_t space, uint32_t factor);

/* REGATHER and WHOLE shard nothing (bits are 0). REGATHER: the parameters that this group shards over this
 * axis by then are gathered again. WHOLE: gradients that the update shards in this group over this axis are
 * all_reduced and kept whole until the update reads them (ZeRO-1), not reduce_scattered where they are made;
 * no effect while no optimizer state is sharded so. STACKED: only where the group's dimension stacks weights
 * (analysis/stacked.c), so that examples keep the axis elsewhere. */
enum plan_scope {
    PLAN_SCOPE_ALL,
    PLAN_SCOPE_UPDATE,
    PLAN_SCOPE_REGATHER,
    PLAN_SCOPE_WHOLE,
    PLAN_SCOPE_STACKED,
    PLAN_SCOPES
};
/* bit i: class i of the group */
struct plan_decision {
    uint32_t group;
    uint32_t bits;
    uint8_t axis;
    uint8_t scope;
};

/* A pinned sharding: dims[d] is a list of axes (major first), replicated (count 0) or open. */
struct plan_pin {
    uint32_t is_result, index; /* argument or result number; for constraints in the body: value */
    uint32_t value;            /* NDA_NONE unless an sdy.sharding_constraint's operand */
    uint32_t rank;
    /* who asked for it, in errors: a JSON pointer (borrowed until the context stands), or NULL: the module,
     * there */
    const char *pointer;
    uint32_t line, column;
    struct {
        uint8_t open, count, axes[MESH_MAX_AXES];
    } dims[IR_MAX_RANK];
};

/* What plans are made against; immutable once created, shared by threads. */
struct plan_context;
/* pins may be empty. ERROR_INVALID_CONSTRAINT (with the pin's pointer, or its line and column): indivisible
 * dimension, axis twice, rank; says which argument, dimension and size. */
enum error_code plan_context_create(const struct nda *n, const struct mesh *mesh, const struct plan_pin *pins,
                                    uint32_t pin_count, struct plan_context **out,
                                    struct error *e) BASE_CHECKED;
void plan_context_destroy(struct plan_context *context);
/* The same context over a view of its analysis (analysis/fold.h), for walks alone. Owned, free(); context and
 * n must outlive it. */
struct plan_context *plan_context_view(const struct plan_context *context, const struct nda *n);
const struct nda *plan_context_nda(const struct plan_context *context);
const struct mesh *plan_context_mesh(const struct plan_context *context);
/* the plan that the pins alone give: where every replay starts */
const struct plan *plan_context_start(const struct plan_context *context);
/* decisions offered (touch an argument or are batch or sequence; change at least min_effect factors when
 * taken alone), in a fixed order */
const struct plan_decision *plan_context_decisions(const struct plan_context *context, uint32_t *count);

/* how many others there are that were left out: of groups that are on no argument, or with too little or
 * no effect */
uint32_t plan_context_pruned(const struct plan_context *context);

/* decisions of scope regather: every axis and every group with a parameter's dim in it, in a fixed order;
 * less memory for more communication, so only worth trying where memory binds */
const struct plan_decision *plan_context_regathers(const struct plan_context *context, uint32_t *count);

/* Is this space in scope update: of the optimizer's state, or of ops that only its update uses? */
bool plan_context_updates(const struct plan_context *context, uint32_t space);

/* Does the group's dimension stack weights (scope stacked), in a part of the places that it could split? */
bool plan_context_stacks(const struct plan_context *context, uint32_t group);

/* Appends a decision (docs/design/planner.md has the rules). Returns how many factors (scope regather:
 * arguments; scope whole: 1) changed; 0 = no effect. */
uint32_t plan_apply(const struct plan_context *context, struct plan *plan, struct plan_decision decision);
/* start + decisions in order; drops those without effect from the list (count updated) */
void plan_replay(const struct plan_context *context, struct plan_decision *list, uint32_t *count,
                 struct plan *plan);
/* Completes the pins: every pinned axis goes to all factors of its color that can take it, pins in
 * program order. plan starts as a copy of plan_context_start. Returns how many factors changed. (planner
 * `propagate`) */
uint32_t plan_propagate(const struct plan_context *context, struct plan *plan);
/* makes the completed pins what every replay starts from; before the context is shared */
void plan_context_complete(struct plan_context *context);
/* One factor of one space: plan.json's `factors`, random plans of the proof. Returns 1 if applied, 0 if
 * not allowed (axis used, does not divide, not shardable). Loop ties and donation ties are kept by
 * applying to all tied factors. */
uint32_t plan_apply_factor(const struct plan_context *context, struct plan *plan, uint32_t space,
                           uint32_t factor, uint32_t axis);
/* The same on the axis_count cells of one space alone, which begin as plan_context_start's: for planners
 * that choose a space's cells at once. The space it is tied to (plan_tied_factor) then has the same. */
uint32_t plan_extend_cells(const struct plan_context *context, struct plan_cell *cells, uint32_t space,
                           uint32_t factor, uint32_t axis);
uint32_t plan_tied_factor(const struct plan_context *context, uint32_t factor_index); /* NDA_NONE: free */

/* The cells that a plan has beyond the context's start, as single factors: applied in order to the start
 * they give them again. */
struct plan_factor {
    uint32_t space;
    uint8_t factor, axis;
};
struct plan_factors {
    struct plan_factor *at;
    uint32_t count;
}; /* at: owned (free) */
void plan_factors_list(const struct plan_context *context, const struct plan *plan, struct plan_factors *out);
/* appends the factors to *plan; false when one of them has no effect (then *plan is not the plan they were
 * listed from) */
bool plan_factors_apply(const struct plan_context *context, const struct plan_factor *at, uint32_t count,
                        struct plan *plan);
/* a seeded random plan for the proof: a mix of decisions and single factors; changes at least one factor
 * when possible */
void plan_random(const struct plan_context *context, struct rng *rng, struct plan *plan);

/* "batch@data", "seq[1]@model", "update:embed@data", "regather:embed@data", "whole:embed@data",
 * "stacked:experts@data" */
void plan_decision_text(const struct plan_context *context, struct plan_decision decision, struct text *out);
const char *plan_scope_name(uint8_t scope); /* "all", "update", "regather", "whole", "stacked" */
/* inverse, by group label and axis name; ERROR_INVALID_PLAN */
enum error_code plan_decision_find(const struct plan_context *context, const char *group, const char *axis,
                                   const char *bits, const char *scope, struct plan_decision *out,
                                   struct error *e) BASE_CHECKED;

/* Named expert plans, built from roles (docs/design/planner.md): "replicated", "batch:data",
 * "fsdp:data+megatron:model", "edge:data+batch:data" (both on one axis, the edges first),
 * "stacked:data+batch:data" (the experts' products by expert, the rest by examples) .. without
 * duplicates by plan hash, at most 176: every combination over one or two axes; over more, one strategy on
 * all axes, then at most three on runs of neighbouring axes, the usual layouts first, and one strategy on
 * some of them. */
enum { PLAN_BASELINE_LIST = 64 }; /* decisions of one expert plan at most; chosen, not tuned */
struct plan_baseline {
    char name[160];
    struct plan_decision decisions[PLAN_BASELINE_LIST];
    uint32_t count;
};
struct plan_baseline *plan_baselines(const struct plan_context *context, uint32_t *count); /* owned (free) */
/* Plans around the one of that name. turn < number of axes: with another layout of that axis (one strategy or
 * two), another side of the sequence's conflicts ("sequence[1]:data"), or regather turned over (again:
 * layouts and sides also with it turned over); turn = number of axes: the same of all axes that are alike at
 * once, or two axes exchanged; one more: layouts of one axis that is then decided before all others or behind
 * them, where both are after the same dimensions and get others so. At most 256, none twice, the plan itself
 * not among them. Owned (free); none
 * for a name that is no baseline's. */
struct plan_baseline *plan_baseline_variants(const struct plan_context *context, const char *name,
                                             uint32_t turn, bool again, uint32_t *count);
/* The plan of that name with what two others around it change, at once. false: both change the same axis, or
 * a name is no baseline's. */
bool plan_baseline_join(const struct plan_context *context, const char *name, const char *one,
                        const char *other, struct plan_baseline *out);
enum error_code plan_baseline_find(const struct plan_context *context, const char *name,
                                   struct plan_baseline *out, struct error *e) BASE_CHECKED;

/* Sharding of an argument's or result's dims at the function boundary (contiguous blocks), from a plan. */
struct plan_sharding {
    uint32_t rank;
    struct {
        uint8_t count, axes[MESH_MAX_AXES];
    } dims[IR_MAX_RANK];
};
void plan_boundary_sharding(const struct plan_context *context, const struct plan *plan, uint32_t space,
                            struct plan_sharding *out);
/* the same of the value in one of the space's slots, as the space's op has it */
void plan_slot_sharding(const struct plan_context *context, const struct plan *plan, uint32_t space,
                        uint32_t slot, struct plan_sharding *out);

#endif

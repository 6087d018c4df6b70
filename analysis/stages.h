/* The stages of nda_create, in order; each fills the fields of struct nda that its comment names.
 * Internal. */
#ifndef TOAST_ANALYSIS_STAGES_H
#define TOAST_ANALYSIS_STAGES_H

#include "analysis/rule.h"

/* union-find: parent[i] == i at roots; the smaller index stays root, so roots are the first members */
uint32_t set_find(uint32_t *parent, uint32_t i);
void set_join(uint32_t *parent, uint32_t a, uint32_t b);
uint32_t *set_create(uint32_t count); /* owned (free) */

/* spaces, slots (without maps), op_space, op_space_count, op_end_space, arguments (value, space),
 * result_spaces */
enum error_code stage_spaces(struct nda *n, struct error *e) BASE_CHECKED;
/* arguments[].tied_result */
void stage_ties(struct nda *n);
/* atoms, value_atoms; gives which linked factors are off: a byte a flow (owned) */
uint8_t *stage_atoms(struct nda *n);
/* factors, factor_of, slot maps, value_def_slot, edges, warnings of the rules */
enum error_code stage_factors(struct nda *n, const uint8_t *flow_off, struct error *e) BASE_CHECKED;
/* colors, color_factors, factor->color */
void stage_colors(struct nda *n);
/* conflicts, boxes, crossed_boxes, sets (flipped and class left for stage_classes) */
void stage_conflicts(struct nda *n);
/* groups, group_colors; touches_argument */
void stage_groups(struct nda *n);
/* classes; orientation of sets; bits of groups */
void stage_classes(struct nda *n);
/* roles of arguments and colors; labels of groups */
void stage_roles(struct nda *n);
/* direct: of each value, it feeds a contraction or lookup, moved or made into another weight only;
 * reaches: it reaches one at all */
bool stage_is_train_step(const struct nda *n, const uint8_t *direct, const uint8_t *reaches);
/* what a result is made of, by elementwise ops only or by any; a byte a value (owned) */
uint8_t *stage_made_of(const struct nda *n, uint32_t result, bool elementwise);
/* What a gradient looks like is symmetric in its two factors: x' y is one of weights x applied to examples
 * y as well. For what is not tied to its result more is asked: that the examples are summed up in the
 * gradient, and that they are activations (computed, which weights are not); or, in a model of one layer,
 * that nothing else sums over them. */
enum stage_evidence { STAGE_TIED, STAGE_COMPUTED, STAGE_GIVEN };
/* the result is made of a gradient of the argument; examples: a byte a color (count + 1), those of the
 * examples when true */
bool stage_is_gradient(const struct nda *n, uint32_t argument, uint32_t result, enum stage_evidence evidence,
                       uint8_t *examples);
/* and it is the argument, moved by that */
bool stage_is_update(const struct nda *n, uint32_t argument, uint32_t result, enum stage_evidence evidence,
                     uint8_t *examples);
/* some argument becomes its update, or its gradient */
bool stage_find_update(const struct nda *n, const uint8_t *direct, uint8_t *examples);
/* arguments[].becomes where nothing is tied: updates, else gradients; returns whether there are any */
bool stage_find_state(struct nda *n, const uint8_t *direct);
/* results that are no state and yet made of gradients (their norm): a byte a result (owned); train steps
 * only */
uint8_t *stage_metrics(const struct nda *n, const uint8_t *direct);
bool stage_is_contraction(const struct nda *n, uint32_t op);
/* values that depend on none of the arguments that are marked (a byte each); a byte a value (owned) */
uint8_t *stage_independent_of(const struct nda *n, const uint8_t *arguments);
/* values that are parameters (by role), moved, or made of parameters only; a byte a value (owned) */
uint8_t *stage_weight_values(const struct nda *n);
/* the space hands elements on: shape ops, converts, loops, branches, barriers */
bool stage_moves_only(const struct nda *n, const struct nda_space *sp);
void stage_argument_names(struct nda *n, const struct nda_options *options);
void stage_trip_counts(struct nda *n, const struct nda_options *options);

/* one sentence, prefixed with the op's name and position: "stablehlo.map at 12:3 has no sharding rule:
 * replicated" */
void nda_warn(struct nda *n, uint32_t op, const char *sentence);

#endif

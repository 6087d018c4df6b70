/* The stages of nda_create. Each fills the fields of struct nda that its comment names and may read those of
 * the stages before it; none is called twice. Internal to analysis/.
 *
 *   spaces -> trip counts -> ties -> atoms -> factors -> colors -> conflicts -> groups -> classes -> roles
 *          -> argument names
 *
 * Sources: TOAST (Alabed et al., 2025), section 3; docs/design/analysis.md. */
#ifndef TOAST_ANALYSIS_STAGES_H
#define TOAST_ANALYSIS_STAGES_H

#include "analysis/rule.h"
#include "base/sets.h"

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
/* conflicts, box_list, boxes, crossed_boxes, sets (flipped and class left for stage_classes) */
void stage_conflicts(struct nda *n);
/* groups, group_colors; touches_argument */
void stage_groups(struct nda *n);
/* numbers of groups in colors, group_count and kind_count, where there are too many to decide one by one */
void stage_bundles(struct nda *n);
/* classes; orientation of sets; bits of groups */
void stage_classes(struct nda *n);
/* roles of arguments and colors; labels of groups */
void stage_roles(struct nda *n, const struct nda_options *options);
/* the space hands elements on: shape ops, converts, loops, branches, barriers */
bool stage_moves_only(const struct nda *n, const struct nda_space *sp);
void stage_argument_names(struct nda *n, const struct nda_options *options);
/* the name that request or module gives argument i, whatever its role; NULL: none (in the nda's arena) */
const char *stage_given_name(const struct nda *n, uint32_t i, const struct nda_options *options);
/* ERROR_INVALID_REQUEST: options name a loop that the module has not, or another count than its condition
 * gives */
enum error_code stage_trip_counts(struct nda *n, const struct nda_options *options,
                                  struct error *e) BASE_CHECKED;

/* one sentence, prefixed with the op's name and position: "stablehlo.map at 12:3 has no sharding rule:
 * replicated" */
void nda_warn(struct nda *n, uint32_t op, const char *sentence);

#endif

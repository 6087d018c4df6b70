/* GSPMD's shardings, `mhlo.sharding` of arguments, results and custom calls @Sharding, as pins: what JAX
 * without Shardy and PyTorch/XLA write. They name no axes but which device holds which tile;
 * devices are numbered as the posted mesh has them, the last axis innermost, and every axis that tells tiles
 * apart is found from that. */
#ifndef TOAST_PLANNER_GSPMD_H
#define TOAST_PLANNER_GSPMD_H

#include "analysis/plan.h"

/* Fills pin's rank and dims from text (HloSharding's: "{replicated}", "{devices=[4,1,2]<=[8]
 * last_tile_dim_replicate}", "{devices=[2,2]0,2,1,3}"); a dimension that config
 * ("unspecified_dims=[0,1]", may be NULL) names is open. rank: the tensor's. NULL, or why it cannot be taken
 * over: a static string. */
const char *planner_gspmd_read(const char *text, const char *config, uint32_t rank, const struct mesh *mesh,
                               struct plan_pin *pin);
/* whether config leaves each of rank dimensions open, so that nothing is said */
bool planner_gspmd_is_open(const char *config, uint32_t rank);

#endif

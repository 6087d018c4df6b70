/* Other plans beside the one that a report is of: what each costs and in what it differs. A planner
 * chooses them (planner/alternatives.c); here is what a report says of them, found by comparing two
 * reports. Pure. */
#ifndef TOAST_REPORT_ALTERNATIVES_H
#define TOAST_REPORT_ALTERNATIVES_H

#include "cost/price.h"

struct report;

/* arguments of one class (names that differ in numbers alone) that the alternative shards otherwise */
struct report_class {
    char pattern[160]; /* "params/layers/<star>/wq" */
    char spec[288], other_spec[288];
    uint32_t count; /* arguments */
    int64_t bytes;  /* of them all on one device, under the plan */
};
/* all collectives of one kind over the same axes, a step */
struct report_traffic {
    uint8_t kind; /* enum spmd_step_kind */
    uint8_t axis_count, axes[MESH_MAX_AXES];
    int64_t count, bytes, time_ps;                   /* of the plan */
    int64_t other_count, other_bytes, other_time_ps; /* of the alternative */
};
struct report_alternative {
    char found_by[160];
    struct hash128 hash;
    struct price price;
    struct cost cost;
    /* shares of bytes that it shards otherwise than the plan does (planner/distance.h) */
    double argument_share, result_share;
    double nearest_share; /* the least difference to the plan and the alternatives before it */
    /* of the whole alternative, where it was asked for; else "" */
    char proof_status[16];
    char **added, **dropped; /* texts of decisions that only the alternative, only the plan has */
    uint32_t added_count, dropped_count;
    struct report_class *classes; /* most bytes first */
    uint32_t class_count;
    struct report_traffic *traffic; /* where both differ, largest difference of time first */
    uint32_t traffic_count;
};
/* plan, other: whole reports of one evaluator. *out: the lists are made in the arena of `plan`, all else
 * is the caller's. */
void report_alternative_describe(struct report *plan, const struct report *other,
                                 struct report_alternative *out);

/* the section of report.txt; nothing where no alternatives were asked for */
void report_alternatives_text(const struct report *report, struct text *out);

#endif

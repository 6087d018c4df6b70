/* Tables of segments, and the choice of a configuration for every segment that they say is best.
 *
 * A configuration of a segment is a strategy for each of its blocks, as a number in mixed radix, the first
 * block's digit the major one. Tables are differences to a *base*: first the plan in which every block takes
 * the batch, else its rows (data parallel); where the chosen plan's whole price is further than a fiftieth of
 * a step from what was composed, that plan, at most twice:
 *
 *     time(plan) ~ base + SUM over segments of time[kind][configuration]
 *                       + SUM over crossing dependences of reshard[pair][strategy][strategy]
 *     memory(plan) ~ base + SUM over segments of memory[kind][configuration]   (CFP's equations 8, 9)
 *
 * Source of the tables here: the walk's price of the whole program in which all segments of a kind deviate
 * from the base to one configuration, each segment's share of the difference (without the reshards between
 * them), and in which the two blocks of a crossing dependence deviate; what the two cost beyond their
 * deviations one by one, in the same place, is the reshard, 0 where either is the base's. Around a base whose
 * equal segments are alike the sum is exact, but for rounding, for every plan in which one kind deviates.
 * The number of prices is that of CFP's equation 7. Beside these, tables of a segment that deviates alone are
 * solved, of which the sum is exact for it.
 *
 * The sum's minimum under the memory limit is a contest problem: a node a segment, a value a configuration,
 * an edge for every two segments with dependences between them. cfn/ solves it and says whether that is
 * proved.
 *
 * The other source is a profile: times of the segments' own programs (programs.h) on somebody's devices.
 * Then the base is 0, a table's entry is what was measured, and a profile that lacks one is refused.
 *
 * Nothing reads a clock; equal inputs give equal tables and answers. Source: CFP, sections 4.2 and 4.4. */
#ifndef TOAST_SEGMENTS_COMPOSE_H
#define TOAST_SEGMENTS_COMPOSE_H

#include "plan_cfn/plan_cfn.h"
#include "segments/segments.h"

struct segments_tables {
    const struct segments *segments; /* borrowed */
    int64_t base_ps, base_bytes;     /* step time and peak of the base */
    int64_t **time_ps, **bytes;      /* [kind][configuration]: difference to the base */
    int64_t **computation_ps;        /* likewise, of time_ps; where has_parts */
    bool has_parts;                  /* all times of a profile are known in parts */
    int64_t **reshard_ps; /* [pair][strategy of the earlier block * strategies of the later + its] */
};
/* room for the kinds' and pairs' tables, all 0; owned */
void segments_tables_create(const struct segments *segments, struct segments_tables *out);
void segments_tables_release(struct segments_tables *tables);

enum { SEGMENTS_DIGEST_SIZE = 33 }; /* 32 hexadecimal digits and NUL: half of a SHA-256 */

/* ---- what was measured (measured.c) ---- */

struct segments_timing {
    char digest[SEGMENTS_DIGEST_SIZE]; /* of a program */
    int64_t time_ps, peak_bytes;       /* of one run; on a device */
    int64_t computation_ps;            /* of time_ps, the rest is communication; -1: it is not said */
};
struct segments_timings {
    const struct segments_timing *at; /* ascending digests, each once */
    uint32_t count;
    int64_t devices; /* they ran on; 0: it is not said */
};

/* ---- layouts and configurations (layout.c) ---- */

enum { SEGMENTS_LAYOUTS = 3, SEGMENTS_LIMIT_ROUNDS = 3 };
/* Which axes (bits) strategies split over, one entry a layout: the last axis, all of them together, the first
 * one; batch on the others of *all. CFP's is the first of the list: it maps the batch to the outer axes. */
uint32_t segments_layouts(const struct mesh *mesh, uint32_t *all, uint32_t inner[SEGMENTS_LAYOUTS]);
/* The segments for strategies over these axes: the longest windows whose programs (CFP's equation 7) keep the
 * budget, 0: 2048; and whose tables by price keep `prices`, 0: as many as they take. Where even windows of
 * one block do not, these. *out: owned. */
void segments_of_layout(const struct nda *n, const struct mesh *mesh, uint32_t inner, uint64_t programs,
                        uint64_t prices, struct segments **out);
/* whole prices that tables made once, and the plans that they choose, take at most */
uint64_t segments_prices(const struct segments *segments);
/* strategy of a segment's block (number within it) in a configuration; 0 of a block that has none */
uint32_t segments_digit(const struct segments *segments, uint32_t segment, uint64_t configuration,
                        uint32_t block);
/* the configuration with another strategy of that block */
uint32_t segments_with_digit(const struct segments *segments, uint32_t segment, uint32_t configuration,
                             uint32_t block, uint32_t digit);
/* the base's configuration of every segment */
void segments_base(const struct segments *segments, uint32_t *configurations);
/* The plan of a configuration a segment: on each axis of `outer` every block takes the base's strategy, on
 * those of `inner` its own. Bits are axes. The plan must be initialised. */
void segments_plan(const struct segments *segments, const struct plan_context *context, uint32_t outer,
                   uint32_t inner, const uint32_t *configurations, struct plan *out);

/* ---- tables ---- */

/* the reshards in segments_composed_ps */
int64_t segments_reshards_ps(const struct segments_tables *tables, const uint32_t *configurations);
/* what the tables say of one configuration a segment: CFP's equations 8 and 9 */
int64_t segments_composed_ps(const struct segments_tables *tables, const uint32_t *configurations);
int64_t segments_composed_bytes(const struct segments_tables *tables, const uint32_t *configurations);
/* the computation in segments_composed_ps (reshards are communication); -1: not known */
int64_t segments_composed_computation_ps(const struct segments_tables *tables,
                                         const uint32_t *configurations);
/* The network of the tables under a limit of bytes on a device; costs and usages are shifted to be 0 at
 * least. *shift_ps: what the problem's cost lacks of the composed time. Owned by the caller
 * (cfn_problem_release). false: even the least memory is above the limit; the problem's limit then is that
 * least memory. */
bool segments_problem(const struct segments_tables *tables, int64_t limit_bytes, struct cfn_problem *out,
                      int64_t *shift_ps);

struct segments_budget {
    uint64_t seed;
    uint64_t programs; /* prices a layout of the axes may take; 0: 2048. Segments are cut until that holds */
    uint64_t prices;   /* 0: as many as it takes. Else no more in all: tables once a layout, its segments
                        * cut until they cost their share, nothing where they cannot; no plans beyond
                        * the tables' */
    int threads;       /* 1 or 2; the answer is the same */
    const struct segments_timings *timings; /* NULL: tables by price. Borrowed */
    bool (*cancelled)(void *user);          /* may be NULL */
    void *user;
};
struct segments_answer {
    struct plan_cfn_answer plan; /* the best plan by the whole walk's price; rounds, no bound */
    uint32_t blocks, segments, kinds;
    uint64_t programs; /* CFP's equation 7, of the layout that won */
    uint32_t inner;    /* axes that strategies split over; batch on the others */
    int64_t composed_ps, composed_bytes;
    int64_t computation_ps; /* in composed_ps, the rest is communication; -1: not known */
    uint32_t measured;      /* programs whose times the tables are made of; 0: tables by price */
    bool proved;            /* no choice of configurations has a lower composed time under the limit */
    bool mixed;             /* segments of one kind have different configurations */
};
/* Tables from times: one entry for every program of the module, as segments_programs_create numbers them.
 * ERROR_INVALID_REQUEST, pointer /device/profile/..: another number of devices; a program without a time, by
 * its name, or all of them (another module, mesh or build). Else as segments_program_write. */
enum error_code segments_tables_measured(const struct plan_context *context,
                                         const struct segments_timings *timings,
                                         struct segments_tables *tables, struct error *e) BASE_CHECKED;
/* All layouts of the mesh's axes: strategies on the last axis and the base on the others, strategies on all
 * axes together, strategies on the first. Each layout's answer is priced by the whole walk, the limit
 * lowered where it did not fit (three rounds); the best by cost_compare wins. With times one layout,
 * CFP's, and what fits wins, the least composed time first. A module without blocks: the pins alone.
 * ERROR_CANCELLED; as evaluator_price, cfn_solve, segments_tables_measured. Release in any case. */
enum error_code segments_solve(const struct evaluator *evaluator, const struct segments_budget *budget,
                               struct segments_answer *out, struct error *e) BASE_CHECKED;
void segments_answer_release(struct segments_answer *answer);
/* Position-independent bytes (*bytes owned) and back; the plan is priced again, the rest is for the report.
 * ERROR_INTERNAL: not such bytes, or of another problem. */
void segments_answer_write(const struct segments_answer *answer, unsigned char **bytes, size_t *size);
bool segments_answer_is(const void *bytes, size_t size); /* written by segments_answer_write */
enum error_code segments_answer_read(const struct evaluator *evaluator, const void *bytes, size_t size,
                                     struct segments_answer *out, struct error *e) BASE_CHECKED;

#endif

/* The report of a plan: what it costs, where time and memory go, which decision is worth how much, what
 * the experts' plans cost. First as structs (report.c); as text and as a page for people (report_text.c,
 * report_html.c); as JSON by api/encode.h.
 *
 * Pure: no clock, host, thread or worker count enters it; equal inputs give an equal report. It never
 * searches: the plan comes in, and it and some variants of it are walked and priced. Times are
 * picoseconds, sizes bytes of one device, both of one step of the program. */
#ifndef TOAST_REPORT_REPORT_H
#define TOAST_REPORT_REPORT_H

#include "emit/emit.h"
#include "mcts/search.h"
#include "report/alternatives.h"
#include "report/lanes.h"
#include "report/referee.h"
#include "report/taken.h"
#include "spmd/constraints.h"

struct report_collective { /* one row a (kind, axes, bytes, source line, decision) */
    uint8_t kind;          /* enum spmd_step_kind */
    uint8_t axis_count, axes[MESH_MAX_AXES];
    /* result bytes per device of one collective (a tuple op: of all its members) */
    int64_t bytes;
    int64_t count;         /* times it runs in a step, trip counts included */
    int64_t members;       /* tensors in one collective: 1, or the members of a tuple op */
    int64_t *member_bytes; /* of each */
    int64_t time_ps;       /* count included */
    int64_t exposed_ps;    /* of it, how long computation stood still for it */
    const char *algorithm;
    char location[160]; /* "file:line", or "line N" of the module's text */
    /* index of the plan's decision behind it, the first axis's that has one; -1: none */
    int decision;
    /* what is behind each of its axes: decisions, where there is none choices; "batch@data+model",
     * "batch@data, ffn@model"; "a pin": neither */
    const char *cause;
};
struct report_tensor { /* alive at the peak: one, or several alike */
    char name[160];    /* of several arguments with * for what differs */
    char type[96];
    char location[160];
    int64_t bytes; /* of all of them */
    uint32_t count;
    bool gathered; /* what a collective gathered of them, which is alive beside them */
};
struct report_decision {
    struct plan_decision decision;
    char text[160];   /* "update:embed@data" */
    int64_t worth_ps; /* how much longer a step takes when this decision alone is left out; may be negative */
};
/* The factors of a network's plan that split dimensions of one group over one axis: what a decision would do,
 * where it does it. */
struct report_choice {
    uint32_t group;
    uint8_t axis;
    char text[160];   /* "ffn@model" */
    uint32_t factors; /* of the plan */
    uint32_t offered; /* factors of the group that could be split over the axis, split or not */
    bool measured;    /* worth_ps is; of more than fifty those with most factors are */
    int64_t worth_ps; /* how much longer a step takes without them */
    bool missed;      /* the plan without them is better, by 0.1 % at least; the rest is that plan's */
    struct cost cost;
    struct hash128 hash;
    int64_t step_ps, peak_bytes;
};
struct report_conflict { /* one class of compatibility sets that are resolved alike (analysis/nda.h) */
    char group[64];
    uint32_t bit, sets, conflicts; /* bit of the group's resolution string */
    /* the first decision that shards the group; -1: none does, and no side is chosen once for all */
    int decision;
    bool by_choices; /* factors shard it (report_choice): op by op, on either side */
    uint8_t side;
    /* price with this bit turned over, where a side was chosen and there was time */
    bool priced;
    int64_t other_step_ps, other_peak_bytes;
};
struct report_baseline {
    char name[160];
    struct price price;
    struct cost cost;
    bool estimated; /* far from the best: priced on the folded program alone */
};
struct report_argument {
    uint32_t index;
    const char *name; /* borrowed from the nda */
    int role;         /* enum nda_role; -1 for results */
    uint8_t role_by;  /* enum nda_voter */
    char type[96];    /* "bf16[256128,2048]" */
    struct plan_sharding sharding;
    /* bit a: what is gathered of it over axis a is let go between distant uses */
    uint8_t regather;
    char spec[256]; /* "PartitionSpec('model', 'data')" */
    int64_t bytes_per_device;
};

struct report_kind { /* arguments that are named alike up to numbers, of one type, role and sharding */
    const struct report_argument *first;
    char pattern[160]; /* the name, * for each number */
    uint32_t count, order;
    int64_t bytes; /* of all, of one device */
};

/* Why a dimension stays whole of which much of the memory or time depends. */
enum report_reason {
    REPORT_DOES_NOT_DIVIDE,
    REPORT_CONFLICT_LOST, /* other dimensions of the same tensors have the axes */
    REPORT_NO_RULE,       /* an op takes it whole, or nothing that is offered changes anything */
    REPORT_NO_GAIN,
    REPORT_MISSED, /* the best try is better than the plan: the search ended before it */
    REPORT_NOT_TRIED
};
struct report_try { /* a plan that splits what is whole */
    bool first;     /* before the plan's decisions, else behind them */
    struct plan_decision decision;
    char text[160];            /* "vocab@model" */
    struct report_reach reach; /* what it splits of what was whole */
    char displaced[160];       /* what loses the axis (report/taken.h); "": nothing */
    struct cost cost;
    struct hash128 hash;
    int64_t step_ps, peak_bytes;
};
struct report_whole { /* dimensions that look alike are one (a group) */
    uint32_t group;
    char label[64];
    int64_t size;
    double memory, time; /* parts of the peak and of the step that have it whole, 0 to 1 */
    bool partly;         /* some axis splits it in other tensors or ops */
    char example[300];   /* the largest tensor alive at the peak that has it whole; "": none */
    enum report_reason reason;
    char sizes[300];            /* what does not divide, and the nearest sizes that do; "" */
    char op[64], location[160]; /* NO_RULE: the op in the way; "" */
    char taken[300];            /* who has the axes where it is whole (report/taken.h); "" */
    bool tried;
    bool takes_turn; /* a try behind the plan's decisions splits more than a trifle */
    struct report_try best;
};
/* How weights and activations lie in this plan, in the best expert's that is another, in the module's own. */
enum report_layout { REPORT_OURS, REPORT_EXPERT, REPORT_YOURS, REPORT_LAYOUTS };
struct
    report_layout_row { /* tensors of one kind, name (numbers apart), type and layout in each of the plans */
    bool weight;        /* a parameter; else what a contraction makes */
    char name[160], type[96];
    uint32_t count;
    int64_t bytes;                    /* of all, unsplit */
    char layouts[REPORT_LAYOUTS][96]; /* "[data, -, model]": axes of each dimension; "": no such plan */
    bool same_axes[REPORT_LAYOUTS];   /* as ours, but for the order of a dimension's axes */
    const char *only;                 /* weights: the argument, where count is 1; borrowed from the nda */
};
/* What holds memory at the peak. */
enum report_part {
    REPORT_PART_PARAMETERS,
    REPORT_PART_OPTIMIZER,
    REPORT_PART_DATA,     /* data and caches */
    REPORT_PART_GATHERED, /* arguments in another form than they are stored in */
    REPORT_PART_MADE,     /* activations, gradients, temporaries */
    REPORT_PARTS
};
/* A larger mesh that was tried (planner/larger.c): the plan of a name fits on it; mesh "": none of the
 * nearest did on up to `devices`. */
struct report_larger {
    char mesh[160],
        plan[160]; /* "data=8,model=4"; an expert's name, "": the decisions of the report's plan */
    int64_t devices, step_ps, peak_bytes;
};
struct report_advice { /* of a plan that does not fit; estimates that scale one part and leave the others */
    int64_t parts[REPORT_PARTS];
    int64_t kept_bytes;                         /* of arguments: what no rematerialisation takes away */
    int64_t batch_bytes;                        /* of what has the batch in it, parameters apart */
    int64_t device_bytes;                       /* memory of a device */
    int64_t devices;                            /* fewest, if all that is held were split over them */
    struct report_larger larger;                /* devices 0: not tried */
    int64_t batch, smaller_batch, batch_shards; /* 0: there is none; none is small enough */
    /* planner/smaller.c: this plan was priced with the smaller batch, or with the least that can be cut
     * (batch_least) where none fits; else smaller_batch is an estimate */
    bool batch_tried;
    int64_t batch_least, batch_step_ps, batch_peak_bytes;
};
enum { REPORT_NEAR_ARGUMENTS = 4, REPORT_NAMED_USES = 16 };
struct report_use {
    const char *op, *location, *name; /* as of a constraint */
};
/* A value that a user constrains (with_sharding_constraint), so that specs of arguments and results are
 * enough. */
struct report_constraint {
    uint32_t value; /* of the prepared program */
    /* that makes it; "argument", "loop value" (what a loop carries), "loop input" (what it only reads) */
    const char *op;
    /* of the op, or of the loop: "file:line", or "line N" of the module's text; an argument's name */
    const char *location;
    const char *name; /* of the op, or of the loop, as compilers give it: "jit(step)/mul"; "": none */
    uint32_t result;  /* which of the op's; which of those that the loop's body takes */
    /* which of the values of this type that such ops of this location make, whose names end alike, counted
     * from 0 in program order, and of how many */
    uint32_t occurrence, alike;
    const char *type;
    struct plan_sharding sharding;
    const char *spec;
    /* what it is made of without a contraction in between; borrowed from the nda */
    const char *arguments[REPORT_NEAR_ARGUMENTS];
    uint32_t argument_count;
    int64_t worth_bytes; /* what XLA moves more without it; -1: not known */
    bool at_uses;        /* only what these read is constrained, at most REPORT_NAMED_USES of them named */
    struct report_use *uses;
    uint32_t use_count;
};

/* A partial sum that is kept as summands until others were added (emit/emit.h), named as constraints are */
struct report_sum {
    struct report_constraint value;
    struct emit_sum sum;
};

/* What of a plan specs of arguments and results do not say. */
struct report_unsaid {
    struct spmd_constraints list;
    struct emit_sums sums; /* none where the list moves no more than the plan */
    uint32_t grouped;      /* how many of the list are spmd_emit_add_grouped's, last */
};

/* planner segments: what its tables say of its plan, and what the whole walk says (segments/compose.h) */
struct report_segments {
    bool present;
    uint32_t blocks, segments, kinds;
    uint64_t programs; /* prices or times that the tables took */
    uint32_t measured; /* times of a profile among them: all, or none */
    uint32_t inner;    /* bits: axes that blocks choose for; every block's rows are on the others */
    int64_t composed_ps, composed_bytes, step_ps, peak_bytes;
    int64_t computation_ps; /* in composed_ps, the rest is communication; -1: not measured apart */
    bool proved, mixed;
};

/* the fold on which the search priced plans (planner/fold.h); layers 0: nothing repeats */
struct report_fold {
    uint32_t layers, kept;   /* kept 0: not folded */
    uint32_t checked;        /* plans that were priced both ways */
    double worst;            /* of them: relative error of step time or peak */
    uint32_t random, beyond; /* random plans; those of them more than 0.5 % apart */
};

struct report {
    const struct evaluator *evaluator; /* borrowed */
    struct search_plan plan;
    struct price price;
    struct cost cost;
    int64_t memory_limit_bytes;
    struct report_argument *arguments, *results;
    uint32_t argument_count, result_count;
    struct report_baseline *baselines;
    uint32_t baseline_count;
    struct report_collective *collectives;
    uint32_t collective_count;
    int64_t time_by_kind[SPMD_RESULT + 1]; /* of collectives, by step kind */
    struct report_lanes lanes;             /* when it computes and communicates */
    struct report_kernel *kernels;         /* .. kernel by kernel */
    uint32_t kernel_count;
    /* bytes alive over the program: at most 512 points, each the highest of the steps it stands for */
    int64_t *timeline;
    uint32_t timeline_count, timeline_steps;
    /* alive at the peak (place price.peak_step of the timeline_steps kernels): most bytes first, at most 20
     * rows */
    struct report_tensor *at_peak;
    uint32_t at_peak_count;
    struct report_decision *decisions;
    uint32_t decision_count;
    struct report_choice *choices; /* of a plan with factors, most worth first */
    uint32_t choice_count;
    struct report_conflict *conflicts;
    uint32_t conflict_count;
    struct report_advice advice; /* where smallest_budget_bytes is not 0 */
    struct report_whole *whole;  /* most memory or time first */
    uint32_t whole_count;
    struct report_layout_row *classes; /* report_add_classes: weights first, the larger first */
    uint32_t class_count;
    char class_expert[160]; /* the expert's name; "": every expert's plan is this one */
    /* arguments and contractions that lie otherwise than most of their like, in a plan of factors (one of
     * decisions splits all layers alike), and what a step takes with them alike; 0: none */
    uint32_t unlike;
    int64_t alike_step_ps, alike_peak_bytes;
    bool has_yours;
    struct search_state search;
    /* decisions offered to the search, and left out (plan_context_pruned) */
    uint32_t offered, pruned;
    struct report_fold fold;
    char **warnings;
    uint32_t warning_count;
    /* planner cfn, where no sharding was left out of the network */
    bool has_bound;
    int64_t bound_ps; /* no plan that fits takes less (plan_cfn/plan_cfn.h) */
    /* report_add_constraints; bytes that XLA moves by our model: of the plan; with the shardings of
     * arguments and results alone; with the list; with the list and the sums; with every candidate, as the
     * annotated module has them */
    bool has_constraints;
    struct report_constraint *constraints;
    uint32_t constraint_count, constraint_candidates;
    struct report_sum *sums;
    uint32_t sum_count;
    int64_t moved_plan_bytes, moved_specs_bytes, moved_list_bytes, moved_sums_bytes, moved_annotated_bytes;
    struct report_segments segments;
    /* where they were asked for: the best plans that differ in at least `alternatives_apart` of the bytes */
    struct report_alternative *alternatives;
    uint32_t alternative_count, alternatives_wanted;
    double alternatives_apart;
    struct report_referee referee;            /* where the request asked for one */
    int64_t smallest_budget_bytes;            /* the memory limit that this plan needs; 0 when it fits */
    char proof_status[16], proof_reason[480]; /* verify_status_text */
    double proof_max_error;
    char module_digest[65];
    uint64_t seed;
    bool reproducible;
    uint32_t cut; /* of enum report_cut */
    /* planner `propagate`: replays start from the completed pins */
    bool pins_completed;
    /* the module brings shardings of its own, and they are no pins */
    bool no_module_pins;
    struct arena *arena; /* owns everything above that is not borrowed */
};

/* X(bit, name): what of a run the time that was asked for cut short or left out, in the order of the run */
#define REPORT_CUTS(X)                                                                                       \
    X(EXPERTS, "experts")           /* some were not priced, or not climbed from */                          \
    X(SEARCH, "search")             /* ended early */                                                        \
    X(NETWORK, "network")           /* did not race */                                                       \
    X(CONFLICTS, "conflicts")       /* some have no price of their other side */                             \
    X(WHOLE, "why not split")       /* some dimensions were not tried */                                     \
    X(CONSTRAINTS, "constraints")   /* no list was sought */                                                 \
    X(ADVICE, "advice")             /* larger meshes and smaller batches */                                  \
    X(ALTERNATIVES, "alternatives") /* none were chosen */                                                   \
    X(PROOF, "proof")               /* not run */
enum report_cut {
#define REPORT_CUT_NUMBER(bit, name) REPORT_CUT_##bit##_NUMBER,
    REPORT_CUTS(REPORT_CUT_NUMBER) REPORT_CUT_COUNT,
#undef REPORT_CUT_NUMBER
#define REPORT_CUT_BIT(bit, name) REPORT_CUT_##bit = 1 << REPORT_CUT_##bit##_NUMBER,
    REPORT_CUTS(REPORT_CUT_BIT)
#undef REPORT_CUT_BIT
};
const char *report_cut_name(uint32_t number); /* of the bit 1 << number */
/* is the time over? Then the report says what was left out for it. control: may be NULL */
bool report_cut_short(struct report *report, const struct search_control *control, enum report_cut what);
/* "search, constraints" */
void report_cuts_text(const struct report *report, char *out, size_t room);

/* plan: borrowed during the call; its decisions replay in order from the context's pins. search and state are
 * NULL of a plan that no search found. control (may be NULL): when it says stop, no more other sides and
 * tries are priced, and report->cut says so. *out: owned; refers to evaluator. Errors: of the walk
 * (spmd_walk), with the op's position. */
enum error_code report_create(const struct evaluator *evaluator, const struct search *search,
                              const struct search_state *state, const struct search_plan *plan,
                              const struct search_control *control, struct report **out,
                              struct error *e) BASE_CHECKED;
/* The same with no more than plan.json says: price, memory limit, arguments, results, decisions and what
 * they are worth. */
enum error_code report_create_plan(const struct evaluator *evaluator, const struct search_plan *plan,
                                   struct report **out, struct error *e) BASE_CHECKED;
void report_destroy(struct report *report); /* NULL is fine */
/* a further row among the baselines: another planner's plan */
void report_add_warning(struct report *report, const char *text);
void report_add_baseline(struct report *report, const char *name, const struct price *price,
                         struct cost cost);
/* report.txt: fits a terminal of 110 columns */
void report_text(const struct report *report, struct text *out);
/* report.html: one file, under 2 MB, that needs nothing else (report/html.h) */
void report_html(const struct report *report, struct text *out);

/* What of the plan specs do not say (spmd/constraints.h), which needs no report: it may be found while one is
 * made. limits may be NULL. *out: owned, for report_add_constraints and report_unsaid_release. Errors: of
 * spmd_constraints_find; ERROR_INTERNAL: the plan's decisions do not replay to its hash. */
enum error_code report_find_constraints(const struct evaluator *evaluator, const struct search_plan *plan,
                                        const struct spmd_constraints_limits *limits,
                                        struct report_unsaid *out, struct error *e) BASE_CHECKED;
void report_unsaid_release(struct report_unsaid *found); /* zeroed is fine */
/* report->constraints and sums; found: of the report's plan, borrowed during the call */
void report_add_constraints(struct report *report, const struct report_unsaid *found);
/* Finds report->classes and what is unlike; after all baselines were added. yours: the plan of the module's
 * own shardings, or NULL; borrowed during the call. Errors are evaluator_price's. */
enum error_code report_add_classes(struct report *report, const struct search_plan *yours,
                                   struct error *e) BASE_CHECKED;
/* report->at_peak; held: at the peak of local */
void report_find_peak(const struct nda *n, const struct spmd_local *local, const struct price_held *held,
                      struct report *report);
/* their section of report.txt */
void report_text_constraints(const struct report *report, struct text *out);

/* a row that is another planner's plan, no expert's */
bool report_is_planner(const char *name);

/* shared by text, JSON and the command line */
const char *report_kind_name(uint8_t kind); /* "all_gather" */
const char *report_role_name(int role);     /* "parameter"; "result" for -1 */
/* what a group of dimensions is: "dimension 3 of params/up_2_0/c1 bf16[3,3,7168,3584] and of 12 more":
 * the largest argument that has it, a weight if one does, and how many of its kind there are beside it */
void report_dimension(const struct nda *n, uint32_t group, char *out, size_t room);
void report_bytes(int64_t bytes, char out[32]); /* "36.4 GB" */
void report_time(int64_t ps, char out[32]);     /* "412 ms" */
/* what the plan's cost says: a step time beside one device's, or one and what memory over the limit adds */
void report_cost_note(const struct report *report, char *out, size_t room);
enum { REPORT_PARTS_SIZE = 112 };
/* " (computation 8 ms, communication 4 ms)" of what was composed; "": not measured apart */
void report_segments_parts(const struct report_segments *it, char out[REPORT_PARTS_SIZE]);
/* "saves 412 ms", "costs 3 us", "saves no time" */
void report_worth(int64_t ps, char out[48]);
/* the arguments by kind, most bytes first; owned, refers to the report */
struct report_kind *report_kinds(const struct report *report, uint32_t *count);
/* a name with * in place of each number that counts layers and the like, `h/0`, `layer_07` or `l7/w1`, not
 * that of `w1` */
void report_pattern(const char *name, char *out, size_t room);
/* the baselines, best first; owned */
struct report_baseline *report_baselines_sorted(const struct report *report);
/* the same without experts whose price is that of one before, in all its parts; owned */
struct report_baseline *report_baselines_distinct(const struct report *report, uint32_t *count);
/* How many bits of the i-th conflict's group are as undecided as it is, together in sum; 1 where a side is
 * chosen, 0 where one before has it. */
uint32_t report_conflicts_alike(const struct report *report, uint32_t i, struct report_conflict *sum);
void report_type(const struct ir_program *program, uint32_t value, char *out, size_t room); /* "bf16[8,16]" */
/* the command that asks the compiler itself: "toast-referee --target h100 FOLDER" (report/confirm.c) */
void report_confirming(const struct report *report, const char *folder, char *out, size_t room);
void report_spec(const struct plan_sharding *sharding, const struct mesh *mesh, char *out, size_t room);
/* "data,model" */
void report_axes(const struct mesh *mesh, const uint8_t *axes, uint32_t count, char *out, size_t room);
/* the same for people: where the location is but a name, the file that its calls lead to, if any */
void report_where(const struct ir_program *program, uint32_t op, char *out, size_t room);
/* a place, short: without the folders that packages are installed in, its end where it is longer than room */
void report_place(const char *location, char *out, size_t room);
/* are two locations one place of the source? Lines of the module's text ("line N") say nothing of that: each
 * layer has its own, so they are taken for one. */
bool report_same_place(const char *one, const char *other);
/* < 0: this place stands first; of lines of the text the lower number */
int report_compare_places(const char *one, const char *other);
void report_location(const struct ir_program *program, uint32_t op, char *out, size_t room);
/* names of the groups (analysis/nda.h) that a dimension of an argument consists of, outermost first, into out
 * (borrowed from the nda); how many, at most room */
uint32_t report_dim_groups(const struct nda *n, uint32_t argument, uint32_t dim, const char **out,
                           uint32_t room);
void report_arguments(const struct plan_context *context, const struct plan *plan, struct arena *arena,
                      bool results, struct report_argument **out, uint32_t *count);

#endif

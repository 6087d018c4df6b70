/* Named dimension analysis (NDA): what in a program can be sharded, what must be sharded together, and where
 * two ways of sharding exclude each other.
 *
 * Input: a prepared program (ir/prepare.h) with one function @main. Output: the immutable struct nda below.
 * It promises the same result for the same program, in time and memory near linear in its size. It never
 * changes the program, and it knows nothing of meshes, plans or prices (plan.h).
 *
 * The words, from the program down:
 *
 *   space    One iteration space: the loop nest of one op, which a plan shards on its own. Most ops have one;
 *            a function argument is a space with a result only, a function result one with an operand only;
 *            `case`, `if` and `optimization_barrier` have one a carried value, `while` two (BEGIN: init ->
 *            arguments of condition and body; END: body result -> while result).
 *   factor   One loop of a space (Shardy's word for it in a sharding rule: the letters of
 *            ([i, k], [k, j]) -> ([i, j])). It stands in at most one place of every tensor of the space;
 *            sharding it over an axis shards all of these places. Our factors are *atomic*: a rule
 *            (rule.h) has its own factors, local to the op, which refinement (atoms.c) splits where
 *            reshapes need it. Two numbers name a factor:
 *              factor index    into nda->factors, over the whole program, uint32_t, NDA_NONE for none
 *              factor number   within its space, uint8_t, NDA_NO_FACTOR for none; what plans hold
 *            factor index = spaces[s].factors + factor number.
 *   slot     One tensor of a space: an operand or a result. For each atom of its value it says which
 *            factor number of the space the atom belongs to.
 *   atom     A piece of a dimension that is never cut further. Every dimension of every value is a list of
 *            atoms, major first (a dimension of size 1 has none), the same at its definition and at all
 *            uses; a value's atoms are numbered 0.. over all its dimensions in order.
 *   edge     of M: from a factor of the space that defines a value to the factor of a space that uses it, at
 *            the same atom.
 *   color    The factors that are connected by M, by loop ties and by donation ties.
 *   conflict Two factors of one color on one slot: only one of the two can have the axis.
 *   set, class, group   Conflicts that must be resolved together; sets that look alike; colors that look
 *            alike. A decision (plan.h) shards a group and resolves its classes, a bit each.
 *
 *      value %w: f32[256x32]          space of a dot             space of the next op
 *      dims      [0]    [1]           factors  0=i  1=k  2=j
 *      atoms      0      1    --M-->  slot %w:  i    k            ...
 *                                     slot %y:       k    j
 *                                     slot %z:  i         j  --M-->  its factors 0, 1
 *
 * The paper calls our factor a dimension name (what its names come to when those that its identities I join
 * are one); M, colors and conflicts are its words. Source: TOAST (Alabed et al., 2025), sections 3.1 to 3.6
 * and 4.4; docs/design/analysis.md. */
#ifndef TOAST_ANALYSIS_NDA_H
#define TOAST_ANALYSIS_NDA_H

#include "ir/program.h"

enum { NDA_NONE = UINT32_MAX, NDA_NO_FACTOR = 255, NDA_MAX_FACTORS = 64 };

/* What sharding a factor does. */
enum nda_factor_kind {
    NDA_PARALLEL,    /* sharded operand gives sharded result */
    NDA_CONTRACTING, /* partial result, combined by `reducer` */
    /* vocabulary of gather (masked partial sum) / scatter (masked, not partial); dynamic_slice width 1 */
    NDA_LOOKUP,
    /* touched dimension of dynamic_update_slice held by operand and result: masked update, no
     * communication */
    NDA_UPDATE,
    NDA_WINDOWED, /* spatial: needs neighbours; cannot be sharded yet */
    NDA_REPLICATE /* cannot be sharded; operand gathered first */
};
enum nda_reducer {
    NDA_REDUCE_NONE,
    NDA_REDUCE_ADD,
    NDA_REDUCE_MULTIPLY,
    NDA_REDUCE_MAX,
    NDA_REDUCE_MIN,
    NDA_REDUCE_AND,
    NDA_REDUCE_OR
};

enum nda_space_kind {
    NDA_SPACE_OP,
    NDA_SPACE_ARGUMENT,
    NDA_SPACE_RESULT,
    NDA_SPACE_LOOP_BEGIN,
    NDA_SPACE_LOOP_END,
    NDA_SPACE_BRANCH,
    NDA_SPACE_BARRIER
};

struct nda_factor { /* one loop of one space */
    int64_t size;
    uint32_t space;
    uint32_t color;
    uint8_t kind; /* enum nda_factor_kind */
    /* enum nda_reducer: of contracting; of lookups whose result is partial (gather, dynamic_slice) */
    uint8_t reducer;
    uint8_t shardable;  /* kind can be lowered today and the space's op family is built */
    uint8_t conflicted; /* in some conflict */
};

struct nda_slot {
    uint32_t value;   /* value of the program */
    uint32_t map;     /* first entry of nda->factor_of for this slot: one byte an atom of the value */
    uint32_t factors; /* first factor of the slot's space */
    uint16_t operand; /* which operand or result of the op (for carried values: 0) */
    uint8_t is_result;
};

struct nda_space {
    uint32_t op;                    /* op of the program; for arguments and results the func.func */
    uint32_t index;                 /* argument, result or carried-value number */
    uint8_t kind;                   /* enum nda_space_kind */
    uint32_t factors, factor_count; /* range of nda->factors: factor number f has index factors + f */
    uint32_t slots, slot_count;     /* range of nda->slots: operands first, then results */
};

struct nda_atom {
    int64_t size;
    uint8_t dim;
    uint8_t level;
}; /* level 0 = outermost atom of its dim */

struct nda_conflict {
    uint32_t a, b; /* factors (indices), a < b, on one slot */
    uint32_t slot, set;
    uint8_t flipped;
};
/* side 0 of the set keeps factor a sharded (b when flipped); side 1 the other */
struct nda_set {
    uint32_t color, class_index;
    uint8_t flipped; /* of the class's orientation */
    uint32_t conflict_count;
    uint8_t inconsistent; /* equals its own mirror: replicated in conflict */
};
/* A definition's conflict (n, o) and a use's (l, r), factors all, with n -> l and o -> r in M. It joins the
 * two into one set unless a path of M crosses it: n ~> r or o ~> l. */
struct nda_box {
    uint32_t n, o, l, r;
    uint8_t crossed;
};
struct nda_class {
    uint32_t color_group, set_count, bit; /* bit position within its color group's string */
};

enum nda_role { NDA_ROLE_PARAMETER, NDA_ROLE_OPTIMIZER, NDA_ROLE_DATA, NDA_ROLE_CACHE };
/* who decided a role: what is made of the argument, that it is donated, its name, the request */
enum nda_voter { NDA_BY_DATAFLOW, NDA_BY_DONATION, NDA_BY_NAME, NDA_BY_REQUEST };
const char *nda_role_name(enum nda_role role);    /* "parameter" */
const char *nda_voter_name(enum nda_voter voter); /* "dataflow" */
struct nda_argument {
    uint32_t value, space;
    uint8_t role;         /* enum nda_role */
    uint8_t role_by;      /* enum nda_voter */
    uint32_t tied_result; /* result it is donated to; NDA_NONE */
    /* tied_result; without one the result that is its update or gradient; NDA_NONE */
    uint32_t becomes;
    uint8_t updated;  /* becomes is its next value (tied or update), no gradient */
    const char *name; /* docs/analysis.md, Argument names; borrowed from the nda's arena */
};

/* What a color does (docs/analysis.md, Roles); a bit set. */
enum {
    NDA_COLOR_BATCH = 1,
    NDA_COLOR_SEQUENCE = 2,
    NDA_COLOR_MODEL = 4,
    NDA_COLOR_EDGE = 8,
    NDA_COLOR_EXPERT = 16,
    NDA_COLOR_VOCABULARY = 32
};

struct nda_color {
    uint32_t factors, factor_count; /* range of nda->color_factors, in program order */
    uint32_t group;
    uint32_t set_count;
    uint8_t touches_argument;
    uint32_t roles;
};
struct nda_group {
    uint32_t colors, color_count; /* range of nda->group_colors */
    /* "batch", "sequence", "ffn" .. unique within the module, stable */
    const char *label;
    /* classes of conflicts among its colors = length of a decision's string */
    uint32_t bits;
    uint32_t factor_count;
    int64_t size; /* factors over all colors; commonest factor size */
    /* of its factors; they differ where a module's groups are so many that those of other sizes are one
     * (bundles.c), or a color has several */
    int64_t least_size, most_size;
    uint8_t bundled; /* its colors do not all look alike */
    uint8_t touches_argument;
    uint32_t roles;
};

struct nda {
    const struct ir_program *program; /* borrowed */
    uint32_t function, block;         /* @main and its body */
    /* program order: arguments, ops (bodies nested), results */
    struct nda_space *spaces;
    uint32_t space_count;
    struct nda_slot *slots;
    uint32_t slot_count;
    uint8_t *factor_of; /* [slot.map + atom] -> local factor */
    struct nda_factor *factors;
    uint32_t factor_count;
    /* value v: atoms[value_atoms[v] .. value_atoms[v+1]) */
    struct nda_atom *atoms;
    uint32_t *value_atoms;
    /* first space of each op; NDA_NONE (func, return, module) */
    uint32_t *op_space;
    uint32_t *op_space_count;
    /* of a while: its first LOOP_END space (as many as BEGIN); NDA_NONE of others */
    uint32_t *op_end_space;
    /* slot that defines each value; NDA_NONE */
    uint32_t *value_def_slot;
    /* M, as factor indices; def -> use, program order */
    uint32_t *edge_from, *edge_to;
    uint32_t edge_count;
    struct nda_conflict *conflicts;
    uint32_t conflict_count;
    struct nda_set *sets;
    uint32_t set_count;
    struct nda_class *classes;
    uint32_t class_count;
    struct nda_color *colors;
    uint32_t color_count;
    uint32_t *color_factors;
    struct nda_group *groups;
    uint32_t group_count;
    uint32_t kind_count; /* groups, had none been joined with others of other sizes */
    uint32_t *group_colors;
    struct nda_argument *arguments;
    uint32_t argument_count;
    uint32_t result_count;
    const char **result_names;
    uint32_t *result_spaces;
    struct nda_box *box_list; /* by color, then in program order of the uses */
    uint32_t box_count;
    uint32_t crossed_boxes, boxes; /* of these */
    /* per op: iterations of a while (1 otherwise); 0 = unknown, treated as 1 + warning */
    int64_t *trip_count;
    /* of the options, copied */
    struct nda_given_rule *given_rules;
    uint32_t given_rule_count;
    /* one sentence each, with the op's position */
    char **warnings;
    uint32_t warning_count;
    struct arena *arena; /* owns all of the above */
};

struct nda_trip_count {
    const char *where; /* "while@file:line" */
    int64_t trips;
};
/* {"params/<star>", parameter}; of those that match an argument the last holds */
struct nda_role_choice {
    const char *pattern; /* fnmatch over names as they are given; NULL: the argument of that number */
    uint32_t argument;
    uint8_t role; /* enum nda_role */
};
/* How custom calls of a target may be split: Shardy's notation, "([i, j], [i])->([i, j]) {i=8, j=16}". A rule
 * that the op brings itself comes first. */
struct nda_given_rule {
    const char *target, *text;
};
struct nda_options {
    const struct nda_given_rule *rules;
    uint32_t rule_count;
    const struct nda_role_choice *roles;
    uint32_t role_count;
    const char *const *argument_names;
    uint32_t argument_name_count; /* of the request; may be 0 */
    const struct nda_trip_count *trip_counts;
    uint32_t trip_count_count;
};

/* Runs the whole analysis. options may be NULL. Time and memory near linear in the program. Errors:
 * ERROR_UNSUPPORTED_MODULE (more than 64 factors in one op) with the op's position; ERROR_INVALID_REQUEST for
 * options' trip counts that name no loop, or contradict one's condition. */
enum error_code nda_create(const struct ir_program *prepared, const struct nda_options *options,
                           struct nda **out, struct error *e) BASE_CHECKED;
void nda_destroy(struct nda *n); /* NULL is fine */

/* atoms of a value */
static inline uint32_t nda_atom_count(const struct nda *n, uint32_t value)
{
    return n->value_atoms[value + 1] - n->value_atoms[value];
}
static inline const struct nda_atom *nda_atoms(const struct nda *n, uint32_t value)
{
    return n->atoms + n->value_atoms[value];
}

/* index of the factor that a slot's atom belongs to; NDA_NONE: the atom is in no factor */
static inline uint32_t nda_slot_factor(const struct nda *n, uint32_t slot, uint32_t atom)
{
    uint8_t f = n->factor_of[n->slots[slot].map + atom];
    return f == NDA_NO_FACTOR ? (uint32_t)NDA_NONE : n->slots[slot].factors + f;
}

/* color of that factor; NDA_NONE: the atom is in no factor */
static inline uint32_t nda_slot_color(const struct nda *n, uint32_t slot, uint32_t atom)
{
    uint32_t factor_index = nda_slot_factor(n, slot, atom);
    return factor_index == NDA_NONE ? (uint32_t)NDA_NONE : n->factors[factor_index].color;
}
/* the op is a dot or a convolution */
bool nda_is_contraction(const struct nda *n, uint32_t op);

/* arguments, ops, terminators of loop regions, results: what the tables call operations */
uint32_t nda_operation_count(const struct nda *n);

/* The rule of one op as text, for golden tests and `toast analyze`: "([i, k], [k, j]) -> ([i, j]) {i=256,
 * k=32 add, j=64}" */
void nda_rule_text(const struct nda *n, uint32_t space, struct text *out);
/* "argument 0", "stablehlo.add", "loop begin 1" */
void nda_space_label(const struct nda *n, uint32_t space, struct text *out);

#endif

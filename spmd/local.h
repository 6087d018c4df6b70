/* The local program: what one device executes, as a list of steps in order.
 *
 * One walk (spmd_walk) turns program + plan into it; cost/ prices its steps, emit.h writes its steps as
 * StableHLO. Nothing else decides where a collective goes. The walk is a pure function of (program, plan,
 * options).
 *
 *     value 0: %argument 0, [{data}, {}]        arguments first, in boundary form
 *     value 1: %argument 1, [{model}, {}]
 *     step 0   ALL_GATHER model   operand 1  -> value 2      another version of %argument 1, replicated
 *     step 1   OP dot             operands 0, 2 -> value 3   a version of the dot's result, [{data}, {}]
 *     step 2   RESULT             operand 3                  always last
 *
 * Protocol of the steps (checked by spmd_local_check):
 * - Values 0 .. argument_count - 1 are the arguments in boundary form; every other value is a result of
 *   exactly one step: values results .. results + result_count, in order. `value.step` is that step
 *   (SPMD_NONE: arguments).
 * - Every operand is defined by an earlier step that is in scope: of the same region or of a region around
 *   it.
 * - A collective and a SLICE have one operand and one result of the same origin; what moves is the
 *   difference of the two forms. Collectives that share `combined` stand next to each other, are of one
 *   kind, axes, reducer and element type, and do not depend on each other: one tuple op.
 * - A MASK has one operand and one result of the same origin: axes replicated in the one are partial in
 *   the other. With `mask_initial` all devices but the first of the group over these axes replace the
 *   value by zeros (a product's by ones); without, the value is a partial as it is (zeros of a sum; any
 *   value under max, min, and, or).
 * - SPMD_OP: operands are the program op's operands, results its results, one to one. `cells` are the
 *   axis_count cells in force (they can differ from the plan's); of an optimization_barrier (one space per
 *   value) SPMD_NONE. An op may have no step (its value was not wanted) or several (rematerialised in
 *   several forms), and a cheap op (constant, iota, broadcast, ..) stands where it is first wanted, not at
 *   its place in the program.
 * - SPMD_LOOP of a while with n carried values: operands = n inits; results = 2n block arguments: the cond
 *   block's n, then the body block's n, all aliases of the carried buffers and in the carried form. The
 *   cond's steps follow, then SPMD_LOOP_BODY (operand = the predicate), the body's steps, SPMD_LOOP_END
 *   (operands = n body results, results = n while results, all in the carried form). Origins of block
 *   arguments are the program's block arguments. A carried value may be partial: its initial value comes
 *   from a MASK, the body passes it on, and it is reduced after the loop.
 * - SPMD_BRANCH of a case / if: operand = the index or predicate; then the first region's steps,
 *   SPMD_BRANCH_NEXT (operands = that region's results), the next region's .., SPMD_BRANCH_END (operands =
 *   the last region's results; results = the op's results). A single region has BRANCH_END only. Regions
 *   have no block arguments.
 * - `trips` and `depth` of LOOP, BRANCH and their END are those around the loop; of LOOP_BODY and
 *   BRANCH_NEXT inside. */
#ifndef TOAST_SPMD_LOCAL_H
#define TOAST_SPMD_LOCAL_H

#include "analysis/plan.h"

/* The form of a value is its sharding; the word means nothing else here. Per mesh axis it says in which atom
 * the value is sharded, or that it is replicated, or partial with a reducer. Entries from axis_count on are
 * SPMD_REPLICATED, 0. Whole dims: at[a] = SPMD_WHOLE + dim cuts what the axes on the dim's atoms leave
 * (consecutive indices: the form is in blocks without it) into consecutive blocks, wherever the atoms'
 * borders are. Only the function's arguments and results are stored so: an argument's whole-dim axes leave
 * by ALL_GATHER (or ALL_TO_ALL to another dim) before anything else reads it, a result's come last, by SLICE
 * (or ALL_TO_ALL).
 *
 *   a value [64, 32] with atoms 0: dim 0 (8), 1: dim 0 (8), 2: dim 1 (32); mesh data=2, model=4, pipe=2
 *
 *                 data       model        pipe
 *     at          0          2            SPMD_REPLICATED      rows in 2 blocks, columns in 4: [32, 8]
 *     at          0          0            SPMD_REPLICATED      position 0, 1: data cuts first: [8, 32]
 *     at          1          REPLICATED   SPMD_REPLICATED      the inner factor of the rows: every device
 *                                                              holds 4 rows of each 8: [32, 32]
 *     at          0          PARTIAL+ADD  SPMD_REPLICATED      the 4 devices along model hold summands */
enum {
    SPMD_WHOLE = 192,      /* + dim; what is below it is an atom */
    SPMD_PARTIAL = 240,    /* + enum nda_reducer; SPMD_WHOLE + IR_MAX_RANK is below it */
    SPMD_REPLICATED = 255, /* a form of no sharding is all ones, which compares fast */
    SPMD_NO_ATOM = 255     /* spmd_step.atom, to_atom: the kind of step has none */
};
struct spmd_form {
    /* atom index, SPMD_WHOLE + dim, SPMD_PARTIAL + reducer or SPMD_REPLICATED */
    uint8_t at[MESH_MAX_AXES];
    /* among the axes on that atom or whole dim, 0 = major; 0 elsewhere */
    uint8_t position[MESH_MAX_AXES];
};
extern const struct spmd_form spmd_form_none; /* replicated on every axis */

static inline bool spmd_is_whole(uint8_t at)
{
    return at >= SPMD_WHOLE && at < SPMD_PARTIAL;
}

/* A device-local value. `origin` is the program value it is a version of (its atoms and element type). */
struct spmd_value {
    uint32_t origin;
    uint32_t step; /* that defines it; SPMD_NONE for arguments */
    struct spmd_form form;
    int64_t bytes; /* on one device */
};
enum { SPMD_NONE = UINT32_MAX };

enum spmd_step_kind {
    SPMD_OP, /* a program op at local shapes: `op`, one result value per op result */
    /* ALL_GATHER .. PERMUTE are the collectives and stand together (spmd_step_is_collective):
     * axes leave `atom`, whose minor-most axes they are: operand sharded, result not */
    SPMD_ALL_GATHER,
    SPMD_ALL_REDUCE,     /* partial(reducer) -> replicated */
    SPMD_REDUCE_SCATTER, /* partial(reducer) -> sharded in `to_atom`, as its minor-most axes */
    SPMD_ALL_TO_ALL,     /* axes, minor-most on `atom`, become minor-most on `to_atom` */
    /* collective_permute: the same axes shard other atoms or positions, local shape unchanged */
    SPMD_PERMUTE,
    /* replicated -> sharded, minor-most on `to_atom`: each device keeps its block; local */
    SPMD_SLICE,
    /* replicated -> partial(reducer): counts once in what the loop adds to it; local */
    SPMD_MASK,
    SPMD_LOOP,      /* opens a while */
    SPMD_LOOP_BODY, /* separates cond from body */
    SPMD_LOOP_END,
    SPMD_BRANCH, /* case / if */
    SPMD_BRANCH_NEXT,
    SPMD_BRANCH_END,
    SPMD_RESULT /* function results: the last step; operands in the boundary's form */
};

/* A collective over several axes in one step moves over the product of the axes, in the order listed
 * (major first); a reshard that goes axis by axis is several steps. */
struct spmd_step {
    uint8_t kind;    /* enum spmd_step_kind */
    uint8_t reducer; /* enum nda_reducer, of reductions */
    uint8_t axis_count, axes[MESH_MAX_AXES];
    /* of the operand's origin, or SPMD_WHOLE + dim; SPMD_NO_ATOM where the kind has none */
    uint8_t atom, to_atom;
    /* SPMD_OP with a contracting factor: only the first device of the group (over the axes on such
     * factors) keeps operand / init, the others the reducer's identity; SPMD_MASK: likewise, over `axes` */
    uint8_t mask_initial;
    uint8_t rematerialised; /* a further version of `op` in another form */
    /* program op; of a reduction the op whose partial it completes, of other reshards the use that wanted
     * another form */
    uint32_t op;
    /* SPMD_OP: first of local->cells, mesh->axis_count entries; else SPMD_NONE */
    uint32_t cells;
    uint32_t operands, operand_count; /* range of local->operands (spmd value indices) */
    uint32_t results, result_count;   /* spmd value indices results .. results + count */
    /* collectives emitted as one tuple op share this id (1..); 0 = alone */
    uint32_t combined;
    uint32_t depth; /* loops and branches around it */
    /* space whose cells wanted this collective (for the report); NDA_NONE */
    uint32_t decision_space;
    int64_t trips; /* product of the trip counts of the loops around it */
};

enum { SPMD_COMBINE_BYTES = 32 << 20 }; /* XLA's order of size for combining all_reduces */
struct spmd_options {                   /* the walk's choices; part of plan.json */
    int64_t combine_bytes;              /* 0: SPMD_COMBINE_BYTES; 1: never */
    /* axis numbers, slowest link first; all 0: mesh order, all links alike */
    uint8_t axis_order[MESH_MAX_AXES];
    /* 0 never (kept from first to last use), 1 gathered again for distant uses */
    uint8_t regather;
    uint8_t defer_partials; /* 1: partials pass through linear ops (default) */
    /* 1: collectives and sums are written so that a compiler that lays arrays out by them (XLA:GPU) leaves
     * them as they are: of emission alone */
    uint8_t keep_layouts;
    uint8_t gather_everything; /* tests only: every operand replicated before every op */
};
struct spmd_options spmd_default_options(const struct mesh *mesh);
static inline int64_t spmd_combine_bytes(const struct spmd_options *options)
{
    return options->combine_bytes ? options->combine_bytes : SPMD_COMBINE_BYTES;
}

struct spmd_scratch; /* tables of the module and working memory, kept between walks */

struct spmd_local {
    const struct nda *nda;   /* borrowed */
    const struct mesh *mesh; /* borrowed */
    struct spmd_options options;
    struct spmd_step *steps;
    uint32_t step_count;
    uint32_t step_room;
    struct spmd_value *values;
    uint32_t value_count;
    uint32_t value_room;
    uint32_t *operands;
    uint32_t operand_count;
    uint32_t operand_room;
    struct plan_cell *cells;
    uint32_t cell_count;
    uint32_t cell_room;
    /* values 0 .. argument_count - 1 are the function's arguments in boundary form */
    uint32_t argument_count;
    /* program ops that no lowering supports, so that a sharded operand had to be gathered before them */
    uint32_t *replicated_ops;
    uint32_t replicated_op_count, replicated_op_room;
    uint8_t order;                /* enum cost_order that price_reorder put the steps into; 0: as walked */
    struct spmd_scratch *scratch; /* owned */
};

/* devices that the form of a value (an index) splits this atom of its origin over, or the whole dim it is in;
 * 1: none */
int64_t spmd_atom_devices(const struct spmd_local *local, uint32_t value, uint32_t atom);
/* a step's operand: its value index, and the value itself (borrowed until the local program grows) */
static inline uint32_t spmd_operand(const struct spmd_local *local, const struct spmd_step *step, uint32_t i)
{
    return local->operands[step->operands + i];
}
static inline const struct spmd_value *spmd_operand_value(const struct spmd_local *local,
                                                          const struct spmd_step *step, uint32_t i)
{
    return &local->values[spmd_operand(local, step, i)];
}
/* the step made last; there must be one */
static inline struct spmd_step *spmd_last_step(const struct spmd_local *local)
{
    return &local->steps[local->step_count - 1];
}
/* moves data between devices */
static inline bool spmd_kind_is_collective(enum spmd_step_kind kind)
{
    return kind >= SPMD_ALL_GATHER && kind <= SPMD_PERMUTE;
}
static inline bool spmd_step_is_collective(const struct spmd_step *step)
{
    return spmd_kind_is_collective((enum spmd_step_kind)step->kind);
}

/* Reusable: spmd_walk clears and refills *out (zeroed at first), so that a search allocates nothing per
 * evaluation. One struct serves one thread. It must be released before the nda it was used with is
 * destroyed. ERROR_UNSUPPORTED_MODULE: an op with regions that is neither known control flow nor one
 * opaque op, with position. */
enum error_code spmd_walk(const struct plan_context *context, const struct plan *plan,
                          const struct spmd_options *options, struct spmd_local *out,
                          struct error *e) BASE_CHECKED;
void spmd_local_rest(struct spmd_local *local); /* lets go of what only a next walk would need */
void spmd_local_release(struct spmd_local *local);

/* The protocol above, forms, bytes and scopes. ERROR_INTERNAL naming the first step that breaks it. For
 * tests. */
enum error_code spmd_local_check(const struct spmd_local *local, struct error *e) BASE_CHECKED;

/* Puts the steps in this order: a permutation of 0 .. step_count that keeps the protocol above. */
void spmd_local_reorder(struct spmd_local *local, const uint32_t *order);

/* local sizes of an origin's dims under a form; rank entries */
void spmd_local_dims(const struct nda *n, const struct mesh *mesh, uint32_t origin,
                     const struct spmd_form *form, int64_t *dims);
int64_t spmd_local_bytes(const struct nda *n, const struct mesh *mesh, uint32_t origin,
                         const struct spmd_form *form);
bool spmd_form_equal(const struct spmd_form *one, const struct spmd_form *other);
/* the function's boundary: argument or result space -> form of its value (contiguous blocks of dims) */
void spmd_boundary_form(const struct plan_context *context, const struct plan *plan, uint32_t space,
                        struct spmd_form *out);

/* "[{data}, {}] partial add {model}" */
void spmd_form_text(const struct spmd_local *local, uint32_t value, struct text *out);
/* the whole local program, one step a line, for goldens and debugging */
void spmd_local_text(const struct spmd_local *local, struct text *out);
const char *spmd_step_kind_name(enum spmd_step_kind k); /* "all_gather" */
/* one sentence for replicated_ops[i], with the op's name and position */
void spmd_warning_text(const struct spmd_local *local, uint32_t i, struct text *out);

/* Collectives by kind and axes: what the report shows and the tests count in emitted text. A combined
 * tuple counts once. */
/* bytes = result bytes per device, x trips */
struct spmd_collective_sum {
    uint8_t kind, axis_count, axes[MESH_MAX_AXES];
    int64_t count, bytes;
};
uint32_t spmd_collective_sums(const struct spmd_local *local, struct spmd_collective_sum *out, uint32_t room);

#endif

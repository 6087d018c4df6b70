/* The local program: what one device executes, as a list of steps in order.
 *
 * One walk (spmd_walk) turns program + plan into it; cost/ prices its steps, emit.h writes its steps as StableHLO.
 * Nothing else decides where a collective goes. The walk is a pure function of (program, plan, options). */
#ifndef TOAST_SPMD_LOCAL_H
#define TOAST_SPMD_LOCAL_H

#include "analysis/plan.h"

/* Form of a value: per mesh axis, the atom it is sharded in, replicated, or partial with a reducer. */
enum { SPMD_REPLICATED = 255, SPMD_PARTIAL = 240 };   /* at[a] = SPMD_PARTIAL + enum nda_reducer */
struct spmd_form {
    uint8_t at[MESH_MAX_AXES];         /* atom index, SPMD_REPLICATED or SPMD_PARTIAL + reducer */
    uint8_t position[MESH_MAX_AXES];   /* among the axes on that atom, 0 = major; 0 elsewhere */
};

/* A device-local value. `origin` is the program value it is a version of (its atoms and element type). */
struct spmd_value {
    uint32_t origin;
    struct spmd_form form;
    int64_t bytes;          /* on one device */
    uint32_t step;          /* that defines it; SPMD_NONE for arguments (and for block arguments: the step that opens the region) */
};
enum { SPMD_NONE = UINT32_MAX };

enum spmd_step_kind {
    SPMD_OP,              /* a program op at local shapes: `op`, one result value per op result */
    SPMD_ALL_GATHER,      /* axes leave atoms: operand sharded, result not */
    SPMD_ALL_REDUCE,      /* partial(reducer) -> replicated */
    SPMD_REDUCE_SCATTER,  /* partial(reducer) -> sharded in `to_atom` */
    SPMD_ALL_TO_ALL,      /* axes move from `atom` to `to_atom` */
    SPMD_PERMUTE,         /* collective_permute: the blocks' order changes, shapes do not */
    SPMD_SLICE,           /* replicated -> sharded: each device keeps its block; no communication */
    SPMD_LOOP,            /* opens a while: operands = carried inits; its regions' steps follow until SPMD_LOOP_END */
    SPMD_LOOP_BODY,       /* separates cond from body; operands = cond's result (replicated) */
    SPMD_LOOP_END,        /* operands = body results; results = while results */
    SPMD_BRANCH,          /* case / if: operands = predicate (replicated); regions separated by SPMD_BRANCH_NEXT */
    SPMD_BRANCH_NEXT,     /* operands = the branch's results */
    SPMD_BRANCH_END,      /* operands = the last branch's results; results = the op's results */
    SPMD_RESULT           /* function results: the last step; operands in the boundary's form */
};

/* A collective over several axes in one step moves over the product of the axes, in the order listed (major first);
 * a reshard that should go axis by axis (slow first on gather ..) is several steps. */
struct spmd_step {
    uint8_t kind;                      /* enum spmd_step_kind */
    uint8_t reducer;                   /* enum nda_reducer, of reductions */
    uint8_t axis_count, axes[MESH_MAX_AXES];
    uint8_t atom, to_atom;             /* of the operand's origin; gather: atom; reduce_scatter: to_atom; all_to_all: both */
    uint32_t op;                       /* program op it stands for, or that caused it (the use that wanted another form) */
    uint32_t cells;                    /* SPMD_OP: first of local->cells, axis_count_of_mesh entries: the plan cells in force for this op
                                          (a cell the walk overrode, e.g. ignored for a passing partial, is changed here) */
    uint32_t operands, operand_count;  /* range of local->operands (spmd value indices); combined collectives have several */
    uint32_t results, result_count;    /* spmd value indices results .. results + count */
    uint32_t combined;                 /* collectives emitted as one tuple op share this id (1..); 0 = alone */
    int64_t trips;                     /* product of the trip counts of the loops around it */
    uint32_t depth;                    /* loops and branches around it */
    uint32_t decision_space;           /* space whose cells wanted this collective (for the report); NDA_NONE */
    uint8_t mask_initial;              /* SPMD_OP with a contracting factor: only the first device of the group keeps operand/init */
    uint8_t rematerialised;            /* a clone of `op` in another form (hoisted gather, cheap op recomputed) */
};

struct spmd_options {                  /* the walk's choices; part of plan.json */
    int64_t combine_bytes;             /* 0: 32 MiB */
    uint8_t axis_order[MESH_MAX_AXES]; /* axis numbers, slowest link first; all 0: mesh order */
    uint8_t regather;                  /* 0 never (kept from first to last use), 1 per region */
    uint8_t defer_partials;            /* 1: partials pass through linear ops (default) */
    uint8_t gather_everything;         /* tests only: every operand replicated before every op */
};
struct spmd_options spmd_default_options(const struct mesh *m);

struct spmd_local {
    const struct nda *nda;             /* borrowed */
    const struct mesh *mesh;           /* borrowed */
    struct spmd_options options;
    struct spmd_step *steps;           uint32_t step_count;      uint32_t step_room;
    struct spmd_value *values;         uint32_t value_count;     uint32_t value_room;
    uint32_t *operands;                uint32_t operand_count;   uint32_t operand_room;
    struct plan_cell *cells;           uint32_t cell_count;      uint32_t cell_room;
    uint32_t argument_count;           /* values 0 .. argument_count are the function's arguments in boundary form */
    char **warnings;                   uint32_t warning_count;   /* owned; replicated factors and why, with positions */
};

/* Reusable: spmd_walk clears and refills *out (zeroed at first), so that a search allocates nothing per evaluation. */
enum error_code spmd_walk(const struct plan_context *c, const struct plan *p, const struct spmd_options *options,
                          struct spmd_local *out, struct error *e) BASE_CHECKED;
void spmd_local_release(struct spmd_local *l);

/* local sizes of an origin's dims under a form; rank entries */
void spmd_local_dims(const struct nda *n, const struct mesh *m, uint32_t origin, const struct spmd_form *f, int64_t *dims);
int64_t spmd_local_bytes(const struct nda *n, const struct mesh *m, uint32_t origin, const struct spmd_form *f);
bool spmd_form_equal(const struct spmd_form *a, const struct spmd_form *b);
void spmd_form_text(const struct spmd_local *l, uint32_t value, struct text *out);   /* "[{data}, {}] partial add {model}" */
/* the whole local program, one step a line, for goldens and debugging */
void spmd_local_text(const struct spmd_local *l, struct text *out);

/* Collectives by kind and axes: what the report shows and the tests count in emitted text. A combined tuple counts once. */
struct spmd_collective_sum { uint8_t kind, axis_count, axes[MESH_MAX_AXES]; int64_t count, bytes; };  /* bytes = result bytes per device, x trips */
uint32_t spmd_collective_sums(const struct spmd_local *l, struct spmd_collective_sum *out, uint32_t room);

#endif

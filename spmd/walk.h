/* clang-format off */
/* What the files of the walk share. Only files of spmd/ include it; other folders use local.h and forms.h.
 *
 *   program + plan
 *        |
 *        v
 *   facts table      walk_table.c    what no plan changes: spaces, uses, sizes, loops; kept between walks
 *        |           walk_facts.c    its part about single ops: cheap? lazy? does a partial pass?
 *        v
 *   deferral         defer.c         which partial values stay partial through the ops that use them
 *        |
 *        v
 *   ops in order     walk.c          drives; arguments, barriers and results are its own
 *        |           walk_control.c  loops and branches: opens a region, calls walk.c for its block
 *        |
 *        |   for each op:
 *        |     cells                 form.c          which factor of the op each mesh axis cuts, and from
 *        |       |                                   these the forms of operands and results
 *        |       v
 *        |     op's step             walk_ops.c      brings the operands, adds the step, completes partials
 *        |       | "operand v in form f"
 *        |       v
 *        |     obtain                walk_obtain.c   a version of v in form f: found, resharded from another
 *        |       |                                   version, or computed again in form f
 *        |       v
 *        |     reshard               reshard.c       the cheapest known steps between two forms
 *        |       |
 *        |       v
 *        |     combine               combine.c       joins small collectives into tuple ops
 *        v
 *   dead steps       dead_steps.c    steps whose results nothing uses in the end go
 *        |
 *        v
 *   local program    local.h         local_text.c prints it, walk_check.c checks it without using the walk
 *
 * forms.c offers form.c and reshard.c to planners that price without a walk.
 *
 * The versions of a program value v are a list, newest first; each is a value of the local program in a form
 * of its own. A version made inside a loop or branch leaves the list when the region closes (scratch.undo).
 *
 *   scratch.head[v] --> version 17            --next--> version 9               --next--> SPMD_NONE
 *                       gathered, replicated            as made: dim 0 over data
 *
 * Promises: one walk is a pure function of (program, plan, options); it allocates only where a module needs
 * more room than any before. Never: read or write files, print, use a clock, or change the program or the
 * plan. A walk belongs to one thread. Impossible states end the process (BASE_CHECK); a module that cannot
 * be walked is refused by walk_table_create before the first step. */
/* clang-format on */
#ifndef TOAST_SPMD_WALK_H
#define TOAST_SPMD_WALK_H

#include "spmd/local.h"

#include <string.h>

/* How a partial value passes through an op (docs/design/planner.md). */
enum walk_pass {
    WALK_PASS_NONE,
    WALK_PASS_LAYOUT, /* transpose, reshape, slice: any reducer */
    WALK_PASS_NEGATE, /* sums only: negate, a sum or broadcast over dims of one element */
    WALK_PASS_ADD,    /* add, subtract: both operands partial sums */
    WALK_PASS_SCALE,  /* multiply either operand, divide the first, by a value replicated on the axis */
    WALK_PASS_SELECT, /* both branches partial, or one and zero; predicate replicated on the axis */
    /* both operands partial by the same reducer */
    WALK_PASS_MAX,
    WALK_PASS_MIN,
    WALK_PASS_AND,
    WALK_PASS_OR,
    WALK_PASS_UPDATE, /* dynamic_update_slice: operand and update partial alike */
    /* widening convert of what a sum adds up: only where its result stays partial, too */
    WALK_PASS_WIDEN,
    WALK_PASS_INITIAL, /* a while: operands become its carried values */
    /* return of a while's body: operands become the carried values and the while's results */
    WALK_PASS_CARRY
};

enum {
    WALK_LAZY = 1,   /* made where it is first wanted, in the form wanted */
    WALK_CHEAP = 2,  /* its value can be made in any form without communication */
    WALK_REMAKE = 4, /* may be recomputed in another form: a pure unary move or convert */
    /* has an init or operand that counts once (and is not the reducer's identity) */
    WALK_MASK = 8,
    WALK_UNSUPPORTED = 16,    /* family is not lowered: gathering its operands is worth a warning */
    WALK_PARTIAL_LOOKUP = 32, /* lookup factors give partial sums (gather, dynamic_slice) */
    WALK_ZERO = 64            /* result is a splat of zeros */
};

struct walk_op {
    uint32_t space;   /* of ordinary ops; NDA_NONE */
    uint32_t control; /* index of table->controls; NDA_NONE */
    /* reachable: stands in @main or a control region, not in a reducer */
    uint8_t flags, pass, family, reachable;
    /* the op's own, of what is reachable: whole records of ops are far apart */
    uint32_t operands, operand_count, results, result_count;
};

/* what the inner loops look up of a slot, which whole records have apart */
struct walk_slot {
    uint32_t space, map; /* of its space; first entry of nda->factor_of */
    uint32_t atoms;      /* of its value: so many entries */
};

struct walk_carried {
    uint32_t begin, end; /* spaces of a while's carried value; branch: end only */
    /* slot that stands for the form: body argument; op's result; NDA_NONE: replicated */
    uint32_t begin_slot, end_slot;
    uint32_t argument; /* while: the body's argument; branch: NDA_NONE */
    uint32_t result;   /* while: the op's result; branch: NDA_NONE */
    uint32_t returned; /* while: program operand index of what the body returns; branch: NDA_NONE */
    uint8_t steers;    /* the condition reads it */
};
struct walk_control {
    uint32_t op;
    uint32_t carried, carried_count; /* range of table->carried */
    /* range of table->captures: program operand indices inside, defined outside */
    uint32_t captures, capture_count;
};

/* in factor_ok, one byte a factor: the inner loops look up many factors, and whole records of them are far
 * apart */
enum { WALK_FACTOR_OK = 1, WALK_FACTOR_PARALLEL = 2 };

struct walk_table {
    const struct nda *nda; /* what it was made for */
    const struct ir_program *program;
    uint32_t space_count, value_count;
    struct walk_op *ops; /* per program op */
    /* per factor: may be sharded (shardable and soundly mapped): 0 or WALK_FACTOR_* */
    uint8_t *factor_ok;
    int64_t *value_bytes; /* per program value, whole */
    /* per program value: parameter that it is in another layout or type; NDA_NONE */
    uint32_t *weight_of;
    /* per program value: entry of carried whose body argument it is; NDA_NONE */
    uint32_t *carried_of;
    /* per block: product of the trip counts around it, at most WALK_MOST_TRIPS */
    int64_t *block_trips;
    uint32_t *operand_slot; /* per program operand: slot, or NDA_NONE (wanted replicated) */
    uint32_t *operand_op;   /* per program operand: op */
    struct walk_slot *slots;
    /* value v: uses[use_start[v] .. use_start[v + 1]) program operand indices in order */
    uint32_t *use_start, *uses;
    /* ops with factors that give partials, one result */
    uint32_t *sources;
    uint32_t source_count;
    struct walk_control *controls;
    uint32_t control_count, control_room;
    struct walk_carried *carried;
    uint32_t carried_count, carried_room;
    uint32_t *captures;
    uint32_t capture_count, capture_room;
};

/* a candidate of the deferral */
struct walk_partial {
    uint32_t value;
    /* masks of axes: partial by its own op; partial; stays so for its uses */
    uint8_t own, part, keep, reducer;
    int64_t before, after; /* bytes reduced without and with deferral, per component */
};

struct walk_pending { /* an all_reduce not yet placed */
    uint32_t operand, result, op, space;
    uint8_t reducer, axis_count, axes[MESH_MAX_AXES];
    uint16_t element;
};

/* What forms of arguments and results were (boundary.c). */
enum { BOUNDARY_WAYS = 4 }; /* cells whose forms a class knows */
struct walk_boundary_form {
    struct plan_cell cells[MESH_MAX_AXES];
    struct spmd_form form;
    bool known;
};
struct walk_boundary {
    uint32_t *class_of, class_count;  /* of arguments, then results: those that are alike */
    struct walk_boundary_form *forms; /* BOUNDARY_WAYS a class */
    int64_t sizes[MESH_MAX_AXES];     /* of the axes that they are known for */
};

struct spmd_scratch {
    struct walk_table table;
    bool lent; /* the table's arrays are another's */
    bool ready;
    uint32_t *head; /* per program value: newest version, SPMD_NONE */
    /* per spmd value: older version of the same */
    uint32_t *next;
    uint32_t next_room; /* of next and used */
    uint32_t *used;     /* per spmd value: walk.dots at its last use */
    uint8_t *keep;      /* per program value: axes on which it stays partial */
    uint8_t *part_of;   /* per program value: axes partial by passing (of list values) */
    uint32_t *list_at;  /* per program value: index in partials + 1; 0 */
    VEC(struct walk_partial) partials;
    VEC(uint32_t) components; /* of them: disjoint sets (base/sets.h) of those that pass into one another */
    VEC(uint32_t) queue;
    VEC(uint32_t) undo;  /* program values that got a version in an open region */
    VEC(uint32_t) stack; /* operands of steps being made */
    VEC(struct walk_pending) pending;
    VEC(uint32_t) suspects; /* steps that may have become dead */
    VEC(uint32_t) remap;
    struct walk_boundary boundary;
};

struct walk {
    const struct plan_context *context;
    const struct plan *plan;
    const struct nda *nda;
    const struct ir_program *program;
    const struct mesh *mesh;
    struct spmd_local *local;
    struct spmd_scratch *scratch;
    const struct walk_table *table;
    uint32_t axes;
    int64_t size[MESH_MAX_AXES];
    uint8_t slow_first[MESH_MAX_AXES]; /* axis numbers by speed of their links, slowest first */
    int64_t combine_bytes;
    bool deferring; /* some value stays partial */
    bool regathers; /* some gathered value may be let go */
    bool wholes;    /* some gradients stay whole until the update */
    uint32_t depth;
    int64_t trips;
    uint32_t next_combined;
    uint32_t run, run_end; /* gathers side by side: how many, and the step right after them */
    int64_t run_bytes;
    uint32_t dots; /* dots and convolutions so far */
};

/* trip counts beyond it weigh alike: bytes x trips stays below 2^62 */
enum { WALK_MOST_TRIPS = 1 << 16 };
enum { WALK_DEPTH = 5 }; /* how many ops a remade value, or the search for what a use wants, may reach */

/* the two halves of a form as words: what the inner loops compare */
static inline uint64_t walk_form_at(const struct spmd_form *form)
{
    uint64_t x;
    memcpy(&x, form->at, sizeof x);
    return x;
}
static inline bool walk_form_is_none(const struct spmd_form *form)
{
    return walk_form_at(form) == UINT64_MAX;
}
static inline bool walk_form_same(const struct spmd_form *one, const struct spmd_form *other)
{
    uint64_t x, y;
    memcpy(&x, one->position, sizeof x);
    memcpy(&y, other->position, sizeof y);
    return walk_form_at(one) == walk_form_at(other) && x == y;
}

/* ---- walk_table.c */
enum error_code walk_table_create(const struct nda *n, struct walk_table *table,
                                  struct error *e) BASE_CHECKED;
void walk_table_release(struct walk_table *table);
/* walk.c: the local program is walked with this table, which outlives it */
void walk_lend_table(const struct walk_table *table, struct spmd_local *local);
/* ---- walk_facts.c: ops[].flags, pass, and sources; after spaces, factors, bytes */
void walk_table_ops(struct walk_table *table, const struct nda *n);
/* pass of the converts whose results are added up in a wider type (WALK_PASS_WIDEN); after uses and loops */
void walk_table_widening(struct walk_table *table, const struct nda *n);

/* ---- form.c */
void walk_drop_cell(const struct walk *walk, struct plan_cell *cells, uint32_t axis);
/* cells of an ordinary op's space: the plan's, without factors that may not be sharded */
static inline void walk_space_cells(const struct walk *walk, uint32_t space, struct plan_cell *cells)
{
    const struct plan_cell *planned = plan_space(walk->plan, space);
    uint32_t factors = walk->nda->spaces[space].factors, unsound = 0;
    for (uint32_t axis = 0; axis < walk->axes; axis++) {
        cells[axis] = planned[axis];
        unsound |= (uint32_t)(planned[axis].factor != NDA_NO_FACTOR &&
                              !walk->table->factor_ok[factors + planned[axis].factor])
                   << axis;
    }
    for (uint32_t axis = 0; unsound >> axis; axis++)
        if (unsound >> axis & 1)
            walk_drop_cell(walk, cells, axis);
}
/* atom of a slot's value that this factor of the space is in, or SPMD_REPLICATED */
static inline uint8_t walk_slot_atom(const struct walk *walk, const struct walk_slot *slot, uint8_t factor)
{
    const uint8_t *map = walk->nda->factor_of + slot->map;
    for (uint32_t i = 0; i < slot->atoms; i++)
        if (map[i] == factor)
            return (uint8_t)i;
    return SPMD_REPLICATED;
}
/* operand slot: sharded where the factor is in it, else replicated */
static inline void walk_slot_form(const struct walk *walk, uint32_t slot, const struct plan_cell *cells,
                                  struct spmd_form *form)
{
    const struct walk_slot *walk_slot = &walk->table->slots[slot];
    *form = spmd_form_none;
    for (uint32_t axis = 0; axis < walk->axes; axis++) {
        if (cells[axis].factor == NDA_NO_FACTOR)
            continue;
        form->at[axis] = walk_slot_atom(walk, walk_slot, cells[axis].factor);
        form->position[axis] = form->at[axis] == SPMD_REPLICATED ? 0 : cells[axis].position;
    }
}
/* result slot: also partial where a contracting or lookup factor is not in it */
void walk_result_form(const struct walk *walk, uint32_t op, uint32_t slot, const struct plan_cell *cells,
                      struct spmd_form *form);
/* cells that make the op give its result (slot) in form; returns the mask of axes that it cannot, left
 * replicated */
uint32_t walk_cells_for(const struct walk *walk, uint32_t op, uint32_t slot, const struct spmd_form *form,
                        struct plan_cell *cells);
int64_t walk_bytes(const struct walk *walk, uint32_t origin, const struct spmd_form *form);
void walk_form_unwhole(struct spmd_form *form, uint32_t axes); /* axes on whole dims become replicated */
/* axis becomes replicated, positions close up */
void walk_form_drop(struct spmd_form *form, uint32_t axes, uint32_t axis);
uint32_t walk_partial_mask(const struct spmd_form *form, uint32_t axes);

/* ---- reshard.c */
struct reshard_step {
    uint8_t kind, reducer, axis_count, atom, to_atom, axes[MESH_MAX_AXES];
    struct spmd_form after;
};
/* room for five steps an axis (reshard.c has few phases, each of which takes an axis once); a sequence that
 * needed more would end the process where the step is added */
enum { RESHARD_MAX_STEPS = 5 * MESH_MAX_AXES };
struct reshard {
    struct reshard_step steps[RESHARD_MAX_STEPS];
    uint32_t count;
    int64_t price; /* bytes each device receives, plus a latency's worth a collective */
};
/* the cheapest sequence found from one form of `origin` to another; `to` may be partial only where `from`
 * is */
void walk_reshard(const struct walk *walk, uint32_t origin, const struct spmd_form *from,
                  const struct spmd_form *to, struct reshard *out);

/* ---- defer.c */
void walk_defer(struct walk *walk);

/* ---- walk_obtain.c */
uint32_t walk_new_value(struct walk *walk, uint32_t origin, const struct spmd_form *form);
void walk_add_version(struct walk *walk, uint32_t value);
struct spmd_step *walk_new_step(struct walk *walk, enum spmd_step_kind kind, uint32_t op);
/* the version of program value v in this form, made if missing; op and space want it */
uint32_t walk_obtain(struct walk *walk, uint32_t v, const struct spmd_form *form, uint32_t op,
                     uint32_t space);
/* Is what a loop wants of v, which stands before it, gathered in every iteration instead of kept for the
 * whole loop? Where the walk's option, or for a parameter the plan, says that gathered values are let go. */
bool walk_gathers_inside(const struct walk *walk, uint32_t v, const struct spmd_form *form);
/* the steps of a reshard of version `from`; returns the last result. Reductions are charged to the op that
 * left the partial, everything else to the use. */
uint32_t walk_emit_reshard(struct walk *walk, const struct reshard *reshard, uint32_t from, uint32_t op,
                           uint32_t space);

/* ---- walk_ops.c */
/* emits the step of an ordinary op with these cells, its operands first */
void walk_emit_op(struct walk *walk, uint32_t op, const struct plan_cell *cells);
/* completes a partial that no use takes as it is, in the form in which its first use wants it */
void walk_reduce_result(struct walk *walk, uint32_t value);
/* cells in force of an op: the plan's less what passing partials override */
void walk_op_cells(const struct walk *walk, uint32_t op, struct plan_cell *cells);
/* form in which program operand index u is wanted */
void walk_wanted(const struct walk *walk, uint32_t u, uint32_t depth, struct spmd_form *form);
/* form of a carried value from the loop's begin to its end, of a branch's result in all regions */
void walk_carried_form(const struct walk *walk, const struct walk_carried *carried, struct spmd_form *form);
/* the same, partial only where program value v, which becomes it, stays so by itself: what is wanted of v */
void walk_initial_form(const struct walk *walk, const struct walk_carried *carried, uint32_t v,
                       struct spmd_form *form);
/* axes on which program value v stays partial are so in form */
void walk_keep_partial(const struct walk *walk, uint32_t v, struct spmd_form *form);
void walk_close_region(struct walk *walk, uint32_t undo); /* forgets the versions made since */
/* stack from base on -> step, popped */
void walk_push_operands(struct walk *walk, struct spmd_step *step, uint32_t base);

/* ---- combine.c */
/* false: not held back, emit it now */
bool walk_hold(struct walk *walk, const struct walk_pending *pending);
void walk_flush(struct walk *walk);
/* the newest step joins the gathers before it if it may */
void walk_combine_last(struct walk *walk);
void walk_settle(struct walk *walk, uint32_t value); /* places a pending value's bucket */
enum { WALK_PENDING = UINT32_MAX - 1 };              /* value.step of a pending value */

/* ---- walk_control.c */
void walk_while(struct walk *walk, uint32_t op);
void walk_branch(struct walk *walk, uint32_t op);
void walk_block(struct walk *walk, uint32_t block); /* walk.c: all ops but the terminator */
/* boundary.c: spmd_boundary_form, found once for spaces that are alike; walk_ready_boundary: of a walk that
 * has its scratch, before any is asked for */
void walk_ready_boundary(struct walk *walk);
void walk_boundary_form(const struct walk *walk, uint32_t space, struct spmd_form *form);
void walk_boundary_release(struct walk_boundary *boundary);
/* ---- walk.c: slow_first from the options */
void walk_order_axes(struct walk *walk, const struct spmd_options *options);

/* ---- dead_steps.c */
/* steps of suspects without uses, and what only they used */
void walk_remove_dead(struct walk *walk);

#endif

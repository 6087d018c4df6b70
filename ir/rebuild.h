/* One rebuild of a program: a walk over the blocks of the old one that appends to the builder of a new one.
 * Shared by prepare.c (modules, ops, regions), inline.c (what the first rebuild does to a block) and clone.c
 * (the second).
 *
 *     old program  --walk in order-->  builder  -->  new program
 *     value v      ----- map[v] ---->  value of the new program
 *
 * A program is never changed in place: `p` is only read. */
#ifndef TOAST_IR_REBUILD_H
#define TOAST_IR_REBUILD_H

#include "ir/build.h"
#include "ir/program.h"

enum {
    /* Calls nest at most this deep while they are inlined, as inlining recurses: hostile text could otherwise
     * overflow the stack. */
    IR_CALL_DEPTH = 64,
    /* A constant-derived value made of more ops than this (with repetition) is computed once instead of at
     * each use: a chain of n such values would else be cloned into n * n / 2 ops, and recurse n deep. */
    IR_CLONE_LIMIT = 64
};

typedef VEC(uint32_t) ir_id_list;
typedef VEC(struct ir_attr) ir_attr_list;

struct ir_rebuild {
    const struct ir_program *program; /* the old program, borrowed */
    struct ir_builder *builder;       /* the new one so far */
    uint32_t *map;                    /* old value -> new value */
    uint64_t made;                    /* ops so far */
    uint32_t entry;                   /* the function that is kept, as a public @main */
    /* of the first rebuild: functions that are being inlined, outermost first */
    uint32_t stack[IR_CALL_DEPTH], depth;
    uint32_t calls[IR_CALL_DEPTH]; /* the locations of their calls, of the builder */
    /* of the second rebuild; live is NULL during the first, and that is how the two are told apart */
    uint32_t *same; /* by value: the value that it always equals (invariants.h) */
    uint8_t *live;  /* by op */
    uint8_t *clone; /* by op: its value is made anew for each use */
};

/* ---- prepare.c */
/* does the op lose operand, result and block argument i, because a loop carries it unchanged? */
bool ir_rebuild_drops(const struct ir_rebuild *rebuild, uint32_t op, uint32_t i);
/* where the new op comes from that stands for an op of the old program: inside a call, called there */
struct ir_position ir_rebuild_position(struct ir_rebuild *rebuild, uint32_t op);
/* Appends the op with these operands (values of the new program) and its regions; its results enter the map.
 * ERROR_MODULE_TOO_LARGE when inlining makes the program grow without measure; ERROR_UNSUPPORTED_MODULE for a
 * region of several blocks. */
enum error_code ir_rebuild_copy_op(struct ir_rebuild *rebuild, uint32_t op, const uint32_t *operands,
                                   struct error *e) BASE_CHECKED;

/* ---- inline.c: appends the ops of a block, calls replaced by what they call */
enum error_code ir_inline_block(struct ir_rebuild *rebuild, uint32_t block, bool keep_terminator,
                                struct error *e) BASE_CHECKED;

/* ---- clone.c */
/* Sets live[op] for every op whose effect or result reaches the outside of the module op `root`. Needs
 * r->same. */
void ir_clone_mark_live(const struct ir_rebuild *rebuild, uint32_t root, uint8_t *live);
/* Sets clone[op] for every op whose value is made anew for each use. r->same may be NULL. */
void ir_clone_mark_clones(const struct ir_rebuild *rebuild, uint8_t *clone);
/* appends the live ops of a block; clones are made where they are used */
enum error_code ir_clone_block(struct ir_rebuild *rebuild, uint32_t block, struct error *e) BASE_CHECKED;

#endif

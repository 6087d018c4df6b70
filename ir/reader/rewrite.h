/* Pretty StableHLO text -> MLIR's generic form, which MLIR parses without knowing any dialect, in one pass.
 *
 *     user's text                                     s->out
 *     %1 = stablehlo.add %0, %a : tensor<4xf32>  -->  "stablehlo.add"(%0, %a) : (tensor<4xf32>, ..
 *          |
 *          +- forms.c     an op without regions: a row of a table
 *          +- special.c   ops with regions, func, module
 *          +- rewrite.c   an op that is in generic form already
 *
 * Operands and attributes of the op being read are collected in s->operands and s->attrs, because the
 * pretty form has them in another order than the generic one. What a pass leaves behind is in struct scan
 * (scan.h). Errors leave by s->escape with the place in the user's text. */
#ifndef TOAST_IR_READER_REWRITE_H
#define TOAST_IR_READER_REWRITE_H

#include "ir/reader/scan.h"

/* The whole text into s->out; leaves by s->escape on errors. */
void rewrite_text(struct scan *scan);
/* The offset in the user's text that an offset in s->out comes from; only after a run with s->tracing. */
uint32_t rewrite_origin(const struct scan *scan, size_t out);

/* ---------------------------------------------------------------- between the files of the rewriter */

/* statements up to and with the `}` that closes the region whose `{` was just read */
void rewrite_region(struct scan *scan);
void rewrite_statement(struct scan *scan);
void rewrite_generic_rest(struct scan *scan, bool is_module); /* of a generic op, from its `(` */
/* The rest of a pretty op whose name was read; false when this file knows no pretty form of that name.
 * forms.c: ops without regions, by a table. */
bool form_rewrite(struct scan *scan, struct span name, const char *full);
/* has an op of this full name a row in the table? */
bool form_known(struct scan *scan, const char *full);
/* special.c: the same for ops with regions, functions and modules */
bool special_rewrite(struct scan *scan, struct span name, const char *full);

/* attributes of the op being read: name, then text is appended to s->attrs */
void attr_begin(struct scan *scan, const char *name);
void attr_add(struct scan *scan, const char *text);
void attr_copy(struct scan *scan, struct span from);
void attr_symbol_name(struct scan *scan, struct span symbol); /* `@a` -> "a" */
void attr_dictionary(struct scan *scan, struct span braces);  /* entries of `{..}`; an empty span is fine */
void attr_ints(struct scan *scan, const char *name);          /* `[1, 2]` -> array<i64: 1, 2>, or an alias */
void list_dot(struct scan *scan);                             /* lists.c */
void list_slice(struct scan *scan);
void list_convolution(struct scan *scan);
void attr_flush(struct scan *scan);             /* writes ` {..}` when there is any */
struct span take_dictionary(struct scan *scan); /* `{..}` if it comes next, else empty */
bool span_is_blank(const struct scan *scan, struct span span);

void operand_list(struct scan *scan);        /* `%a, %b` to s->operands; maybe none */
void write_operands(struct scan *scan);      /* `(%a, %b)` */
void write_function_type(struct scan *scan); /* reads `: fn`, writes ` : fn` */
void write_block_arg(struct scan *scan, struct span value, struct span type, uint32_t loc, bool first);
size_t op_begin(struct scan *scan, uint32_t at); /* a new op in text order; its index */

#endif

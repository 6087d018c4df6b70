/* MLIR's module -> the program image's builder. */
#ifndef TOAST_IR_READER_WALK_H
#define TOAST_IR_READER_WALK_H

#include "ir/build.h"
#include "ir/reader/scan.h"

/* Starts MLIR, before the sandbox. */
void walk_start(void);

/* Parses s->out with MLIR and walks what it gives; the rewritten text is freed on the way. Leaves by
 * s->escape with the user's position on errors (s->tracing: MLIR's complaint mapped back; else the caller
 * runs again with it). */
struct ir_builder *walk_text(struct scan *s);

/* file or name of `loc(..)` at an offset, to out; false when it says nothing */
bool location_resolve(struct scan *s, uint32_t loc, bool name_first, struct text *out);

/* a constant `dense<"0x..">`, decoded straight from the user's text */
struct ir_attr walk_hex(struct scan *s, struct ir_builder *b, struct span digits, uint32_t type);

#endif

/* MLIR's module -> the builder of a program (ir/build.h): the second half of toast-read. */
#ifndef TOAST_IR_READER_WALK_H
#define TOAST_IR_READER_WALK_H

#include "ir/build.h"
#include "ir/reader/scan.h"

/* Starts MLIR, before the sandbox. */
void walk_start(void);

/* Parses s->out with MLIR and walks the result. s->out is freed as soon as MLIR has read it. Errors leave by
 * s->escape. Their position is the user's when s->tracing is on; otherwise the caller runs once more with
 * tracing. The builder is owned by the caller. */
struct ir_builder *walk_text(struct scan *scan);

/* The file or name of the `loc(..)` at an offset, appended to out; false when it says nothing. name_first:
 * prefer a name (arguments) to a file (ops). */
bool location_resolve(struct scan *scan, uint32_t loc, bool name_first, struct text *out);

/* All location aliases as locations of the builder, in the order of their definitions. */
void location_aliases(struct scan *scan, struct ir_builder *builder);
/* The `loc(..)` at an offset, of the builder; 0 when nothing of it is understood. After location_aliases. */
uint32_t location_whole(struct scan *scan, struct ir_builder *builder, uint32_t loc);

/* the elements of a constant `dense<"0x..">`, decoded from the digits in the user's text */
struct ir_attr walk_hex(struct scan *scan, struct ir_builder *builder, struct span digits, uint32_t type);

#endif

/* A part of a program as a program of its own: the ops of a segment in one @main, what they take from outside
 * as its arguments, what the outside takes from them as its results; or values alone, handed through.
 *
 *     program    %a ..  op0  [op1  op2]  op3  [op4]  op5      a segment is a set of intervals of the order
 *     piece      (what op1, op2, op4 read of %a, op0, op3) -> (what op3, op5, @main's end read of them)
 *
 * Forward and backward ops of a segment stand in one piece; what lies between them (the loss) is cut, so that
 * the gradient that comes back is an argument. Constants come along, whoever owns them. Order of arguments:
 * first use; of results: the program's. So equal segments of one module, or of a deeper one, give equal
 * pieces. Names, locations and donation stay behind. Pure. Source: CFP, section 4.2. */
#ifndef TOAST_SEGMENTS_PIECE_H
#define TOAST_SEGMENTS_PIECE_H

#include "analysis/nda.h"

struct segments_piece {
    struct ir_program program;     /* owned; as good as prepared */
    struct nda *nda;               /* its analysis; owned */
    uint32_t *op_from;             /* per op of the piece: the program's op; IR_NONE: made here */
    uint32_t *arguments, *results; /* values of the program */
    uint32_t argument_count, result_count;
};
/* members: per op of the program, what stands in @main's own block alone counts; an op with regions comes
 * whole. *out is empty after an error, which is nda_create's. */
enum error_code segments_piece_create(const struct nda *n, const uint8_t *members, struct segments_piece *out,
                                      struct error *e) BASE_CHECKED;
/* a program that returns its arguments: these values */
enum error_code segments_piece_values(const struct nda *n, const uint32_t *values, uint32_t count,
                                      struct segments_piece *out, struct error *e) BASE_CHECKED;
void segments_piece_release(struct segments_piece *piece); /* zeroed is fine */

/* An op of @main's own block that is made of nothing but constants: cheap, and every piece has its own. known
 * is per op what was found: 1 it is, 2 it is not, 0 (at first) not looked at. */
bool segments_is_constant(const struct nda *n, uint8_t *known, uint32_t op);

#endif

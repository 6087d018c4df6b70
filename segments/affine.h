/* Which elements of an earlier tensor an element of a later one depends on: CFP's affine expressions (section
 * 3.2, CFP's equation 1, table 1), and the test whether a split of the one is a split of the other (CFP's
 * CFP's equation 2).
 *
 * An expression writes every index of the source as a mixed-radix number, major digit first. A digit is a
 * piece of an index of the result, (a / divide) mod size, or `*`: any value below size.
 *
 *     source dim of size B*S from results (b, h, s, d)    digits  b[B] s[S]      the paper's  S b + s
 *     source dims B, S from a result dim i of size B*S    i/S[B]  and  i%S[S]    i / S  and  i % S
 *     contracted, broadcast into                          *[K]
 *
 * Composing two expressions cuts digits where the other one cuts the index; a cut that no whole number makes
 * gives `*` for the digit, which is always true. Plain data of fixed size; nothing here fails or allocates.
 * */
#ifndef TOAST_SEGMENTS_AFFINE_H
#define TOAST_SEGMENTS_AFFINE_H

#include "analysis/nda.h"
#include "ir/attrs.h"

enum { AFFINE_DIGITS = 16, AFFINE_ANY = 255 };

struct affine_digit {
    uint8_t dim; /* of the result; AFFINE_ANY: `*` */
    int64_t divide, size;
};
struct affine_index { /* one index of the source, major digit first; none: size 1 */
    uint8_t count;
    struct affine_digit digits[AFFINE_DIGITS];
};
struct affine {
    uint32_t result_rank, source_rank;
    int64_t sizes[IR_MAX_RANK]; /* of the result's dims */
    struct affine_index at[IR_MAX_RANK];
};

/* every element depends on itself: where propagation starts */
void affine_identity(const int64_t *sizes, uint32_t rank, struct affine *out);
/* From a result slot of a space to one of its operand slots, as the analysis's factors have it: all rows of
 * table 1, and whatever else has factors. */
void affine_of_slots(const struct nda *n, uint32_t result_slot, uint32_t operand_slot, struct affine *out);
/* later: result -> middle, earlier: middle -> source; *out: result -> source. May not alias. */
void affine_compose(const struct affine *later, const struct affine *earlier, struct affine *out);
/* CFP's equation 2 for one index of the source: the dim of the result whose split in `devices` parts splits
 * this index in as many, every part of the result depending on one part of the source. -1: there is none. */
int affine_splits(const struct affine *expression, uint32_t index, int64_t devices);
/* "(a0, a1, a2) -> (a0*32 + a2, *)" */
void affine_text(const struct affine *expression, struct text *out);

#endif

/* The programs that a profile is measured with: one a segment and configuration, one a pair of crossing
 * blocks and their strategies; as many as CFP's equation 7 says.
 *
 *     kind 1, configuration 17   ops of its example segment, sharded as where it alone leaves the base
 *     pair 0, strategies 2 x 1   what passes between the two blocks: in the one's form, then in the other's
 *
 * A program's module is the manual form (device-local, explicit collectives, global signature). Its digest is
 * that of the module's text, so a deeper model, a stage or another job with the same segment on the same mesh
 * finds what was measured; the original of each (its `segment`) is the same ops without a mesh, and the
 * program can be proved equal to it. The layout of the axes is CFP's: batch on the outer axes, any side on
 * the last.
 *
 * How values stand at a piece's boundary: an argument of the whole module as its plan says, another one as
 * the block that reads it first wants it, a result as the op that makes it leaves it.
 *
 * Pure; depends on the module, the mesh and the pins, on no device. Source: CFP, sections 4.2 and 4.3. */
#ifndef TOAST_SEGMENTS_PROGRAMS_H
#define TOAST_SEGMENTS_PROGRAMS_H

#include "segments/compose.h"
#include "segments/piece.h"
#include "spmd/local.h"

struct segments_program {
    bool is_pair;
    uint32_t of;     /* kind, or pair */
    uint32_t number; /* configuration; of a pair: earlier block's strategy * later block's strategies + its */
};
struct segments_original { /* of a kind or a pair */
    struct segments_piece piece;
    struct plan_context *context; /* of the piece on the mesh */
    uint32_t segments[2];         /* instances that it is cut from: of a kind one, of a pair two */
    uint32_t blocks[2];           /* of a pair */
    char digest[SEGMENTS_DIGEST_SIZE];
};
struct segments_readers { /* who reads a value: operand slots readers[start[v] .. start[v + 1]), by space */
    uint32_t *space_of_slot, *start, *slots;
};
struct segments_programs {
    const struct plan_context *context; /* of the whole module; borrowed */
    struct segments_readers readers;
    struct segments *segments; /* owned */
    uint32_t outer, inner;     /* axes, as in segments_plan */
    uint32_t *base, *now;      /* configuration of each segment */
    struct plan whole;         /* scratch: a plan of the whole module */
    struct segments_original *kinds, *pairs;
    struct segments_program *at; /* kinds, then pairs, numbers ascending */
    uint32_t count;              /* segments->programs */
};
/* ERROR_NOT_AVAILABLE: nothing to measure (a mesh of one device, a module without contractions); else as
 * nda_create. *out is empty after an error. */
enum error_code segments_programs_create(const struct plan_context *context, struct segments_programs *out,
                                         struct error *e) BASE_CHECKED;
void segments_programs_release(struct segments_programs *programs); /* zeroed is fine */

/* the kind or pair that program i is of */
const struct segments_original *segments_original_of(const struct segments_programs *programs, uint32_t i);
/* The original under program i's plan, walked; release both in any case (*plan, *local zeroed before). */
enum error_code segments_program_walk(struct segments_programs *programs, uint32_t i, struct plan *plan,
                                      struct spmd_local *local, struct error *e) BASE_CHECKED;
/* Its module and digest. text: appended to. ERROR_UNSUPPORTED_MODULE: an op that cannot be written. */
enum error_code segments_program_write(struct segments_programs *programs, uint32_t i, struct text *text,
                                       char digest[SEGMENTS_DIGEST_SIZE], struct error *e) BASE_CHECKED;
/* "kind 1, configuration 17 (rows, columns, contracted, rows)", "pair 0, strategies rows x columns" */
void segments_program_text(const struct segments_programs *programs, uint32_t i, struct text *out);
void segments_digest(const char *text, size_t size, char digest[SEGMENTS_DIGEST_SIZE]);

#endif

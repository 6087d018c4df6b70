/* What a value takes in a memory of tiles, beyond its elements.
 *
 * libtpu stores the two innermost dimensions of its layout in tiles of 8 x 128 elements: the last one is
 * rounded up to 128 lanes, the other one to 8 rows (to 4 or 2 where it has no more, and elements of less than
 * 32 bits stand in one word). It lays arrays out so that little is lost, and so does the price: of all pairs
 * of dimensions those two are innermost that take least. Nothing is lost where one dimension is a multiple of
 * 128 and another one of 8; 96 channels of a convolution net take the room of 128.
 * What a product with batches makes or reads, and what is computed elementwise of that, has its batch
 * dimensions outside: 197 queries and keys take the room of 200 and 256 whatever the batch.
 *
 * All_reduces that are combined stand in one array of one row (emit/collective.c), which takes a whole tile's
 * least rows: as many as elements fit into a word of 32 bits.
 *
 * Bits of a mask that a kernel stores stand in words along its outermost dimension.
 *
 * Source: libtpu 0.0.51, layouts `T(8,128)(2,1)` and sizes in its buffer assignments; fusions that
 * write u8[512,5120] for a mask of 2 x 512 x 5,120, u32[16,32,256] for one of 32 x 16 x 32 x 256. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, WORD_BITS = 32, LEAST_BYTES = 1 << 16 /* less is not looked at */ };

static int64_t round_up(int64_t size, int64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static int64_t rows_of(int64_t size, int64_t packed)
{
    int64_t rows = ROWS;
    while (rows / 2 >= size && rows / 2 >= packed)
        rows /= 2;
    return rows;
}

/* elements that the pair of innermost dimensions takes which takes least, of all that are not outside */
static int64_t tiled_elements(const int64_t *dims, uint32_t rank, int64_t elements, int64_t packed,
                              uint8_t outer)
{
    int64_t least = INT64_MAX;
    for (uint32_t lane = 0; lane < rank; lane++)
        for (uint32_t row = 0; row < rank; row++) {
            if (lane == row || (outer >> lane & 1) || (outer >> row & 1))
                continue;
            int64_t outer = elements / dims[lane] / dims[row];
            int64_t taken =
                outer * round_up(dims[lane], TILE_LANES) * round_up(dims[row], rows_of(dims[row], packed));
            least = taken < least ? taken : least;
        }
    return least;
}

/* Bits of a mask stand in one word along its outermost dimension, where that is no longer than a word: bytes
 * beyond its elements, which are fewer. */
static int64_t packed_mask(const int64_t *dims, uint32_t rank, int64_t elements)
{
    int64_t word = 8;
    while (word < dims[0])
        word *= 2;
    return rank < 3 || word > WORD_BITS ? 0 : elements / dims[0] * (word / 8) - elements;
}

static int64_t tile_padding(const struct price_scratch *scratch, const struct spmd_local *local,
                            uint32_t value)
{
    const struct spmd_value *of = &local->values[value];
    const struct ir_type *type = ir_value_type(local->nda->program, of->origin);
    if (type->kind != IR_TYPE_TENSOR || type->rank < 2 || of->bytes < LEAST_BYTES)
        return 0;
    int64_t dims[IR_MAX_RANK], elements = 1;
    unsigned bits = ir_element_bits((enum ir_element)type->element);
    spmd_local_dims(local->nda, local->mesh, of->origin, &of->form, dims);
    for (uint32_t i = 0; i < type->rank; i++)
        elements *= dims[i];
    if (elements <= 0)
        return 0;
    if (type->element == IR_I1)
        return of->step == SPMD_NONE ? 0 : packed_mask(dims, type->rank, elements);
    const struct spmd_step *by = of->step == SPMD_NONE ? NULL : &local->steps[of->step];
    uint8_t outer = by && by->kind == SPMD_OP ? step_info(scratch, by)->outer : 0;
    int64_t taken = tiled_elements(dims, type->rank, elements, bits < WORD_BITS ? WORD_BITS / bits : 1,
                                   type->rank - __builtin_popcount(outer) < 2 ? 0 : outer);
    return taken == elements ? 0
                             : (int64_t)((double)of->bytes / (double)elements * (double)(taken - elements));
}

int64_t price_innermost_size(const struct spmd_local *local, uint32_t value)
{
    int64_t dims[IR_MAX_RANK];
    const struct spmd_value *of = &local->values[value];
    uint16_t rank = ir_value_type(local->nda->program, of->origin)->rank;
    if (rank < 2)
        return value_elements(local, value);
    spmd_local_dims(local->nda, local->mesh, of->origin, &of->form, dims);
    return dims[rank - 1];
}

uint32_t price_scattered_dim(const struct spmd_local *local, const struct spmd_step *step)
{
    return spmd_is_whole(step->to_atom)
               ? (uint32_t)(step->to_atom - SPMD_WHOLE)
               : nda_atoms(local->nda, local->values[step->results].origin)[step->to_atom].dim;
}

bool price_scatters_lanes(const struct price_scratch *scratch, const struct spmd_local *local,
                          const struct spmd_step *step)
{
    const struct ir_type *type = ir_value_type(local->nda->program, local->values[step->results].origin);
    int64_t bits = ir_element_bits((enum ir_element)type->element);
    return scratch->tiled && (type->rank == 1 || price_scattered_dim(local, step) + 1 == type->rank) &&
           price_innermost_size(local, step->results) * bits % (TILE_LANES * WORD_BITS) != 0;
}

void price_tile(struct price_scratch *scratch, const struct spmd_local *local)
{
    GROW(scratch->padding, scratch->padding_room, local->value_count + 1);
    for (uint32_t value = 0; value < local->value_count; value++)
        scratch->padding[value] = tile_padding(scratch, local, value);
}

uint8_t price_flat(const struct price_scratch *scratch, const struct spmd_local *local,
                   const struct spmd_step *step)
{
    if (!scratch->tiled || !step->combined || step->kind != SPMD_ALL_REDUCE)
        return 0;
    const struct ir_type *type = ir_value_type(local->nda->program, local->values[step->results].origin);
    unsigned bits = ir_element_bits((enum ir_element)type->element);
    return bits == WORD_BITS / 2 ? 1 : bits == WORD_BITS / 4 ? 2 : 0;
}

/* ---------------------------------------------------------------- what no tile has, once a program */
static uint8_t bits_of_dims(const struct ir_dims *dims)
{
    uint8_t bits = 0;
    for (uint32_t i = 0; i < dims->count; i++)
        bits |= (uint8_t)(dims->at[i] < 8 ? 1u << dims->at[i] : 0);
    return bits;
}

/* the operand's dimensions that become those of the result in `bits`, of a transpose; or back */
static uint8_t transposed(const struct ir_program *program, uint32_t op, uint8_t bits, bool back)
{
    struct ir_dims to;
    uint8_t found = 0;
    if (ir_dims(program, op, "permutation", &to) != 0)
        return 0;
    for (uint32_t i = 0; i < to.count && i < 8; i++) {
        uint32_t from = (uint32_t)to.at[i];
        found |= (uint8_t)(back ? (bits >> i & 1) << from : (bits >> from & 1) << i);
    }
    return found;
}

static void add_outer(struct price_program *out, uint32_t value, uint8_t bits)
{
    uint32_t by = out->nda->program->values[value].op;
    if (by != IR_NONE && out->nda->program->ops[by].result_count == 1)
        out->ops[by].outer |= bits;
}

/* of an op's operands, from what is known of its result, and of its result, from its operands */
static void pass_outer(struct price_program *out, uint32_t op, bool back)
{
    const struct ir_program *program = out->nda->program;
    enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[op].code);
    if (family != IR_FAMILY_ELEMENTWISE && family != IR_FAMILY_TRANSPOSE)
        return;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint32_t operand = ir_operand(program, op, i), by = program->values[operand].op;
        uint8_t bits = back ? out->ops[op].outer : by == IR_NONE ? 0 : out->ops[by].outer;
        bits = family == IR_FAMILY_TRANSPOSE ? transposed(program, op, bits, back) : bits;
        if (back)
            add_outer(out, operand, bits);
        else
            out->ops[op].outer |= bits;
    }
}

void price_find_outer(struct price_program *out)
{
    const struct ir_program *program = out->nda->program;
    struct ir_dot dot;
    for (uint32_t op = 0; op < program->op_count; op++)
        if (out->ops[op].batch_dims && ir_dot(program, op, &dot) == 0) {
            out->ops[op].outer |= (uint8_t)((1u << out->ops[op].batch_dims) - 1);
            add_outer(out, ir_operand(program, op, 0), bits_of_dims(&dot.lhs_batch));
            add_outer(out, ir_operand(program, op, 1), bits_of_dims(&dot.rhs_batch));
        }
    for (uint32_t op = program->op_count; op-- > 0;)
        pass_outer(out, op, true);
    for (uint32_t op = 0; op < program->op_count; op++)
        pass_outer(out, op, false);
}

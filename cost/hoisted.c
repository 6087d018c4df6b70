/* What libtpu makes once before a loop: the narrower elements of stacked weights.
 *
 *     loop over layers: dynamic_slice f32 [8, d, f] --> f32 [1, d, f] --> convert bf16 --> product
 *     libtpu            convert bf16 [8, d, f]  |  loop over layers: dynamic_slice bf16 [1, d, f] --> product
 *
 * What a loop hands on as it is, and reads through slices that are converted alone, is converted as a whole
 * before the loop, and once for all loops that read the same: the array lives until the last of them ends.
 *
 * Source: libtpu 0.0.51's final modules of scanned layers, whose `while` ops carry bf16 stacks that
 * converts of the entry computation make of the float32 parameters. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

/* An array that is made before a loop, of the value's elements in so many bits. */
struct hoisted {
    uint32_t value, bits;
    int64_t bytes;
    struct live_range live_range;
};

struct price_hoists {
    VEC(struct hoisted) arrays;
    uint32_t *carriers; /* per value: the carried value that it is a slice of, as a number above base */
    size_t carrier_room;
    uint8_t *narrowed; /* per carried value of a loop: bits of what its slices are converted to, or .. */
    size_t narrowed_room;
};
enum { NOT_HOISTED = 1 }; /* .. something reads it as it is; 0: nothing does */

/* bits of the narrower elements that a step makes of a slice of what is carried; 0: it hands the slice on;
 * NOT_HOISTED: else */
static unsigned narrowed_by(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *step, uint32_t operand)
{
    const struct ir_program *program = local->nda->program;
    if (step->kind != SPMD_OP || operand != 0 || step->result_count != 1)
        return NOT_HOISTED;
    enum ir_opcode code = (enum ir_opcode)program->ops[step->op].code;
    enum ir_family family = ir_opcode_family(code);
    if (family == IR_FAMILY_DYNAMIC_SLICE || family == IR_FAMILY_SLICE || family == IR_FAMILY_RESHAPE)
        return 0;
    uint32_t from = local->operands[step->operands];
    const struct ir_type *wide = ir_value_type(program, local->values[from].origin),
                         *narrow = ir_value_type(program, local->values[step->results].origin);
    unsigned bits = ir_element_bits((enum ir_element)narrow->element);
    bool is_narrowed =
        code == IR_CONVERT && ir_element_bits((enum ir_element)wide->element) > bits && bits > 1;
    return is_narrowed && step_info(scratch, step)->class == OP_CHEAP ? bits : NOT_HOISTED;
}

/* base: carried values of the loops before */
static void read_body(struct price_scratch *scratch, const struct spmd_local *local, uint32_t loop,
                      uint32_t base)
{
    const struct spmd_step *entry = &local->steps[loop], *end = &local->steps[scratch->loop_end[loop]];
    uint32_t n = entry->operand_count, body = entry->results + n, *carriers = scratch->hoists->carriers;
    uint8_t *narrowed = scratch->hoists->narrowed;
    memset(narrowed, 0, n);
    for (uint32_t c = 0; c < n && c < end->operand_count; c++)
        carriers[body + c] = local->operands[end->operands + c] == body + c ? base + c + 1 : 0;
    for (uint32_t i = loop + 1; i < scratch->loop_end[loop]; i++) {
        const struct spmd_step *step = &local->steps[i];
        for (uint32_t operand = 0; operand < step->operand_count; operand++) {
            uint32_t carrier = carriers[local->operands[step->operands + operand]];
            uint8_t *by = carrier > base ? &narrowed[carrier - base - 1] : NULL;
            if (!by || *by == NOT_HOISTED)
                continue;
            unsigned bits = narrowed_by(scratch, local, step, operand);
            if (!bits)
                carriers[step->results] = carrier;
            else
                *by = !*by || *by == bits ? (uint8_t)bits : NOT_HOISTED;
        }
    }
}

static void add_hoisted(struct price_hoists *hoists, struct hoisted fresh)
{
    for (size_t i = 0; i < hoists->arrays.count; i++)
        if (hoists->arrays.at[i].value == fresh.value && hoists->arrays.at[i].bits == fresh.bits) {
            hoists->arrays.at[i].live_range.until = fresh.live_range.until;
            return;
        }
    VEC_PUSH(&hoists->arrays, fresh);
}

static void hoist_from(struct price_scratch *scratch, const struct spmd_local *local, uint32_t time,
                       uint32_t base)
{
    uint32_t loop = scratch->line[time].step, until = scratch->at[scratch->loop_end[loop]] + 1;
    const struct spmd_step *entry = &local->steps[loop];
    struct price_hoists *hoists = scratch->hoists;
    GROW(hoists->narrowed, hoists->narrowed_room, entry->operand_count + 1);
    read_body(scratch, local, loop, base);
    for (uint32_t c = 0; c < entry->operand_count; c++) {
        uint32_t init = local->operands[entry->operands + c], bits = hoists->narrowed[c];
        if (bits <= NOT_HOISTED)
            continue;
        const struct ir_type *type = ir_value_type(local->nda->program, local->values[init].origin);
        int64_t bytes = stored_bytes(scratch, local, init) / ir_element_bits((enum ir_element)type->element);
        add_hoisted(hoists, (struct hoisted){init, bits, bytes * bits, {time, until}});
    }
}

static struct price_hoists *begin_hoists(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (!scratch->hoists)
        scratch->hoists = mem_zalloc(1, sizeof *scratch->hoists);
    struct price_hoists *hoists = scratch->hoists;
    GROW(hoists->carriers, hoists->carrier_room, local->value_count);
    memset(hoists->carriers, 0, local->value_count * sizeof *hoists->carriers);
    hoists->arrays.count = 0;
    return hoists;
}

void price_place_hoisted(struct price_scratch *scratch, const struct spmd_local *local)
{
    struct price_hoists *hoists = NULL; /* of no loop */
    for (uint32_t time = 0, carried = 0; time < scratch->kernel_count; time++) {
        const struct spmd_step *step = step_at(scratch, local, time);
        if (step->kind != SPMD_LOOP)
            continue;
        hoists = hoists ? hoists : begin_hoists(scratch, local);
        hoist_from(scratch, local, time, carried);
        carried += step->operand_count;
    }
    for (size_t i = 0; hoists && i < hoists->arrays.count; i++) {
        const struct hoisted *hoisted = &hoists->arrays.at[i];
        add_range(scratch, 0, hoisted->bytes, hoisted->live_range);
        price_heap_add(scratch, NDA_NONE, hoisted->bytes, hoisted->live_range);
    }
}

void price_hoists_destroy(struct price_hoists *hoists)
{
    if (!hoists)
        return;
    VEC_FREE(&hoists->arrays);
    free(hoists->carriers);
    free(hoists->narrowed);
    free(hoists);
}

/* What a price depends on of a local program, as 128 bits: plans of different cells often walk to the same
 * steps, and one of these is priced for all of them (evaluator.c).
 *
 * Words are multiplied in pairs, each pair with numbers of its place, and the halves of the products added
 * up: no multiplication waits for the one before it, so that this takes a fiftieth of a pricing. Two programs
 * that differ are taken for one with a chance of about 2^-64, as are two plans (analysis/plan.h). */
#include "cost/internal.h"

#include <string.h>

struct mixer {
    uint64_t place; /* of the next pair */
    struct hash128 sum;
};

static inline void mix(struct mixer *mixer, uint64_t one, uint64_t other)
{
    mixer->place += HASH_GOLDEN;
    unsigned __int128 product =
        (unsigned __int128)(one ^ mixer->place) * (other ^ (mixer->place * 0xd1342543de82ef95u));
    mixer->sum.lo += (uint64_t)product ^ one;
    mixer->sum.hi = (mixer->sum.hi << 9 | mixer->sum.hi >> 55) + ((uint64_t)(product >> 64) ^ other);
}

static uint64_t pair(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

static uint64_t word_of(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* of what an op's cells say the price sees whether there is a factor (roofline.c) */
static uint8_t sharded_axes(const struct spmd_local *local, const struct spmd_step *step)
{
    uint8_t axes = 0;
    for (uint32_t axis = 0; step->cells != SPMD_NONE && axis < local->mesh->axis_count; axis++)
        axes |= (uint8_t)((local->cells[step->cells + axis].factor != NDA_NO_FACTOR) << axis);
    return axes;
}

static uint64_t kinds_of(const struct spmd_local *local, const struct spmd_step *step)
{
    return step->kind | (uint64_t)step->reducer << 8 | (uint64_t)step->axis_count << 16 |
           (uint64_t)step->atom << 24 | (uint64_t)step->to_atom << 32 | (uint64_t)step->mask_initial << 40 |
           (uint64_t)step->rematerialised << 48 | (uint64_t)sharded_axes(local, step) << 56;
}

static uint64_t axes_of(const struct spmd_step *step)
{
    _Static_assert(sizeof step->axes == sizeof(uint64_t), "axes are one word");
    uint64_t word = 0;
    for (uint32_t i = 0; i < step->axis_count; i++)
        word |= (uint64_t)step->axes[i] << 8 * i;
    return word;
}

struct hash128 price_identity(const struct spmd_local *local)
{
    struct mixer mixer = {0, {local->step_count, local->value_count}};
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        mix(&mixer, kinds_of(local, step), axes_of(step));
        mix(&mixer, pair(step->op, step->combined), pair(step->results, step->result_count));
        mix(&mixer, pair(step->operand_count, step->depth), (uint64_t)step->trips);
        for (uint32_t operand = 0; operand < step->operand_count; operand += 2)
            mix(&mixer, spmd_operand(local, step, operand),
                operand + 1 < step->operand_count ? spmd_operand(local, step, operand + 1) : SPMD_NONE);
    }
    for (uint32_t i = 0; i < local->value_count; i++) {
        const struct spmd_value *value = &local->values[i];
        _Static_assert(sizeof value->form == 16, "a form is two words");
        mix(&mixer, word_of(value->form.at), word_of(value->form.position));
        mix(&mixer, pair(value->origin, value->step), (uint64_t)value->bytes);
    }
    return (struct hash128){hash_mix(mixer.sum.hi), hash_mix(mixer.sum.lo)};
}

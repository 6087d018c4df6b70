/* Plans as arrays of cells, their hashes and boundary shardings.
 *
 * The hash of a plan is the XOR of a word a cell, so that setting a cell updates it in one step, and equal
 * cells give an equal hash whatever decisions made them. */
#include "analysis/context.h"

#include <stdlib.h>
#include <string.h>

void plan_init(struct plan *plan, const struct nda *n, const struct mesh *mesh)
{
    size_t count = (size_t)n->space_count * mesh->axis_count;
    plan->axis_count = mesh->axis_count;
    plan->space_count = n->space_count;
    plan->hash = (struct hash128){0, 0};
    plan->cells = mem_alloc((count + 1) * sizeof *plan->cells);
    plan->cells[0] = (struct plan_cell){NDA_NO_FACTOR, 0};
    for (size_t done = 1, more; done < count; done += more) { /* as many again as there are */
        more = done < count - done ? done : count - done;
        memcpy(plan->cells + done, plan->cells, more * sizeof *plan->cells);
    }
    plan->argument_count = n->argument_count;
    plan->group_count = n->group_count;
    plan->regather = mem_zalloc((size_t)n->argument_count + 1, 1);
    plan->whole = mem_zalloc((size_t)n->group_count + 1, 1);
}

void plan_copy(struct plan *to, const struct plan *from)
{
    BASE_CHECK(to->axis_count == from->axis_count && to->space_count == from->space_count &&
               to->argument_count == from->argument_count && to->group_count == from->group_count);
    memcpy(to->cells, from->cells, (size_t)from->space_count * from->axis_count * sizeof *from->cells);
    memcpy(to->regather, from->regather, from->argument_count);
    memcpy(to->whole, from->whole, from->group_count);
    to->hash = from->hash;
}

void plan_init_copy(struct plan *plan, const struct plan *from)
{
    *plan = *from;
    plan->cells = mem_alloc(((size_t)from->space_count * from->axis_count + 1) * sizeof *plan->cells);
    plan->regather = mem_alloc((size_t)from->argument_count + 1);
    plan->whole = mem_alloc((size_t)from->group_count + 1);
    plan_copy(plan, from);
}

void plan_release(struct plan *plan)
{
    free(plan->cells);
    free(plan->regather);
    free(plan->whole);
    *plan = (struct plan){0};
}

/* words depend on nothing but numbers, so that a plan has the same hash in every process */
static struct hash128 factor_word(uint32_t factor_index)
{
    return hash_word(0x706c616e00000000u + factor_index);
}

static struct hash128 axis_word(uint32_t axis, uint32_t position)
{
    struct hash128 hash = hash_word(0x617869730000u + axis * MESH_MAX_AXES + position);
    return (struct hash128){hash.hi | 1, hash.lo | 1};
}

struct hash128 context_regather_word(uint32_t argument, uint32_t axis)
{
    return hash_word(0x7265676174680000u + (uint64_t)argument * MESH_MAX_AXES + axis);
}

struct hash128 context_whole_word(uint32_t group, uint32_t axis)
{
    return hash_word(0x77686f6c65000000u + (uint64_t)group * MESH_MAX_AXES + axis);
}

void context_words(struct plan_context *context)
{
    context->word = mem_alloc(sizeof *context->word * ((size_t)context->n->factor_count + 1));
    for (uint32_t i = 0; i < context->n->factor_count; i++)
        context->word[i] = factor_word(i);
    for (uint32_t axis = 0; axis < MESH_MAX_AXES; axis++)
        for (uint32_t k = 0; k < MESH_MAX_AXES; k++)
            context->axis_word[axis][k] = axis_word(axis, k);
}

struct hash128 plan_hash_full(const struct plan *plan, const struct nda *n)
{
    struct hash128 hash = {0, 0};
    for (uint32_t space = 0; space < plan->space_count; space++)
        for (uint32_t axis = 0; axis < plan->axis_count; axis++) {
            struct plan_cell cell = plan_space(plan, space)[axis];
            struct hash128 w, k;
            if (cell.factor == NDA_NO_FACTOR)
                continue;
            w = factor_word(n->spaces[space].factors + cell.factor);
            k = axis_word(axis, cell.position);
            hash = hash128_xor(hash, (struct hash128){w.hi * k.hi, w.lo * k.lo});
        }
    for (uint32_t i = 0; i < plan->argument_count; i++)
        for (uint32_t axis = 0; axis < plan->axis_count; axis++)
            if (plan->regather[i] >> axis & 1)
                hash = hash128_xor(hash, context_regather_word(i, axis));
    for (uint32_t i = 0; i < plan->group_count; i++)
        for (uint32_t axis = 0; axis < plan->axis_count; axis++)
            if (plan->whole[i] >> axis & 1)
                hash = hash128_xor(hash, context_whole_word(i, axis));
    return hash;
}

int64_t plan_factor_shards(const struct plan *plan, const struct mesh *mesh, uint32_t space, uint32_t factor)
{
    int64_t shards = 1;
    for (uint32_t axis = 0; axis < plan->axis_count; axis++)
        if (plan_space(plan, space)[axis].factor == factor)
            shards *= mesh->axes[axis].size;
    return shards;
}

/* Orders a dim's axes: first those that give blocks of whole atoms' pieces, each dividing what is left of
 * the outermost atom that is not used up (a use has them as they are, or nearly); behind them those that
 * cut the dim across its atoms' borders. The latter are left out where the dim does not divide: the value
 * is replicated over them at the boundary. */
static void place_axes(const struct nda *n, const struct mesh *mesh, uint32_t value,
                       struct plan_sharding *sharding, uint32_t dim)
{
    uint32_t count = nda_atom_count(n, value), atom = 0, kept = 0, across_count = 0;
    uint8_t across[MESH_MAX_AXES];
    int64_t whole = ir_type_dims(n->program, ir_value_type(n->program, value))[dim];
    const struct nda_atom *atoms = nda_atoms(n, value);
    while (atom < count && atoms[atom].dim != dim)
        atom++;
    int64_t left = atom < count ? atoms[atom].size : 1;
    for (uint32_t i = 0; i < sharding->dims[dim].count; i++) {
        int64_t size = mesh->axes[sharding->dims[dim].axes[i]].size;
        while (left == 1 && atom + 1 < count && atoms[atom + 1].dim == dim)
            left = atoms[++atom].size;
        if (left % size != 0) {
            across[across_count++] = sharding->dims[dim].axes[i];
            continue;
        }
        left /= size;
        whole /= size;
        sharding->dims[dim].axes[kept++] = sharding->dims[dim].axes[i];
    }
    for (uint32_t i = 0; i < across_count; i++) {
        int64_t size = mesh->axes[across[i]].size;
        if (whole % size != 0)
            continue;
        whole /= size;
        sharding->dims[dim].axes[kept++] = across[i];
    }
    sharding->dims[dim].count = (uint8_t)kept;
}

void plan_boundary_sharding(const struct plan_context *context, const struct plan *plan, uint32_t space,
                            struct plan_sharding *out)
{
    plan_slot_sharding(context, plan, space, context->n->spaces[space].slots, out);
}

void plan_slot_sharding(const struct plan_context *context, const struct plan *plan, uint32_t space,
                        uint32_t slot, struct plan_sharding *out)
{
    const struct nda *n = context->n;
    uint32_t value = n->slots[slot].value;
    const struct ir_type *type = ir_value_type(n->program, value);
    memset(out, 0, sizeof *out);
    out->rank = type->kind == IR_TYPE_TENSOR ? type->rank : 0;
    for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
        uint8_t factor = n->factor_of[n->slots[slot].map + k], dim = nda_atoms(n, value)[k].dim;
        for (uint32_t position = 0; factor != NDA_NO_FACTOR && position < plan->axis_count; position++)
            for (uint32_t axis = 0; axis < plan->axis_count; axis++)
                if (plan_space(plan, space)[axis].factor == factor &&
                    plan_space(plan, space)[axis].position == position)
                    out->dims[dim].axes[out->dims[dim].count++] = (uint8_t)axis;
    }
    for (uint32_t dim = 0; dim < out->rank; dim++)
        if (out->dims[dim].count)
            place_axes(n, &context->mesh, value, out, dim);
}

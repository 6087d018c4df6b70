/* Plans as arrays of cells, their hashes and boundary shardings.
 *
 * The hash of a plan is the XOR of a word a cell, so that setting a cell updates it in one step, and equal
 * cells give an equal hash whatever decisions made them. */
#include "analysis/context.h"

#include <stdlib.h>
#include <string.h>

void plan_init(struct plan *p, const struct nda *n, const struct mesh *m)
{
    size_t bytes = (size_t)n->space_count * m->axis_count * sizeof *p->cells;
    p->axis_count = m->axis_count;
    p->space_count = n->space_count;
    p->hash = (struct hash128){0, 0};
    p->cells = mem_alloc(bytes + 1);
    for (size_t i = 0; i < (size_t)n->space_count * m->axis_count; i++)
        p->cells[i] = (struct plan_cell){NDA_NO_FACTOR, 0};
    p->argument_count = n->argument_count;
    p->regather = mem_zalloc((size_t)n->argument_count + 1, 1);
}

void plan_copy(struct plan *to, const struct plan *from)
{
    BASE_CHECK(to->axis_count == from->axis_count && to->space_count == from->space_count &&
               to->argument_count == from->argument_count);
    memcpy(to->cells, from->cells, (size_t)from->space_count * from->axis_count * sizeof *from->cells);
    memcpy(to->regather, from->regather, from->argument_count);
    to->hash = from->hash;
}

void plan_release(struct plan *p)
{
    free(p->cells);
    free(p->regather);
    *p = (struct plan){0};
}

/* words depend on nothing but numbers, so that a plan has the same hash in every process */
static struct hash128 factor_word(uint32_t factor_index)
{
    return hash_word(0x706c616e00000000u + factor_index);
}

static struct hash128 axis_word(uint32_t axis, uint32_t position)
{
    struct hash128 w = hash_word(0x617869730000u + axis * MESH_MAX_AXES + position);
    return (struct hash128){w.hi | 1, w.lo | 1};
}

struct hash128 context_regather_word(uint32_t argument, uint32_t axis)
{
    return hash_word(0x7265676174680000u + (uint64_t)argument * MESH_MAX_AXES + axis);
}

void context_words(struct plan_context *c)
{
    c->word = mem_alloc(sizeof *c->word * ((size_t)c->n->factor_count + 1));
    for (uint32_t i = 0; i < c->n->factor_count; i++)
        c->word[i] = factor_word(i);
    for (uint32_t a = 0; a < MESH_MAX_AXES; a++)
        for (uint32_t k = 0; k < MESH_MAX_AXES; k++)
            c->axis_word[a][k] = axis_word(a, k);
}

struct hash128 plan_hash_full(const struct plan *p, const struct nda *n)
{
    struct hash128 h = {0, 0};
    for (uint32_t s = 0; s < p->space_count; s++)
        for (uint32_t a = 0; a < p->axis_count; a++) {
            struct plan_cell cell = plan_space(p, s)[a];
            struct hash128 w, k;
            if (cell.factor == NDA_NO_FACTOR)
                continue;
            w = factor_word(n->spaces[s].factors + cell.factor);
            k = axis_word(a, cell.position);
            h = hash128_xor(h, (struct hash128){w.hi * k.hi, w.lo * k.lo});
        }
    for (uint32_t i = 0; i < p->argument_count; i++)
        for (uint32_t a = 0; a < p->axis_count; a++)
            if (p->regather[i] >> a & 1)
                h = hash128_xor(h, context_regather_word(i, a));
    return h;
}

int64_t plan_factor_shards(const struct plan *p, const struct mesh *m, uint32_t space, uint32_t factor)
{
    int64_t shards = 1;
    for (uint32_t a = 0; a < p->axis_count; a++)
        if (plan_space(p, space)[a].factor == factor)
            shards *= m->axes[a].size;
    return shards;
}

/* Orders a dim's axes: first those that give blocks of whole atoms' pieces, each dividing what is left of
 * the outermost atom that is not used up (a use has them as they are, or nearly); behind them those that
 * cut the dim across its atoms' borders. The latter are left out where the dim does not divide: the value
 * is replicated over them at the boundary. */
static void place_axes(const struct nda *n, const struct mesh *m, uint32_t value, struct plan_sharding *s,
                       uint32_t dim)
{
    uint32_t count = nda_atom_count(n, value), atom = 0, kept = 0, across_count = 0;
    uint8_t across[MESH_MAX_AXES];
    int64_t whole = ir_type_dims(n->program, ir_value_type(n->program, value))[dim];
    const struct nda_atom *atoms = nda_atoms(n, value);
    while (atom < count && atoms[atom].dim != dim)
        atom++;
    int64_t left = atom < count ? atoms[atom].size : 1;
    for (uint32_t i = 0; i < s->dims[dim].count; i++) {
        int64_t size = m->axes[s->dims[dim].axes[i]].size;
        while (left == 1 && atom + 1 < count && atoms[atom + 1].dim == dim)
            left = atoms[++atom].size;
        if (left % size != 0) {
            across[across_count++] = s->dims[dim].axes[i];
            continue;
        }
        left /= size;
        whole /= size;
        s->dims[dim].axes[kept++] = s->dims[dim].axes[i];
    }
    for (uint32_t i = 0; i < across_count; i++) {
        int64_t size = m->axes[across[i]].size;
        if (whole % size != 0)
            continue;
        whole /= size;
        s->dims[dim].axes[kept++] = across[i];
    }
    s->dims[dim].count = (uint8_t)kept;
}

void plan_boundary_sharding(const struct plan_context *c, const struct plan *p, uint32_t space,
                            struct plan_sharding *out)
{
    const struct nda *n = c->n;
    uint32_t slot = n->spaces[space].slots, value = n->slots[slot].value;
    const struct ir_type *t = ir_value_type(n->program, value);
    memset(out, 0, sizeof *out);
    out->rank = t->kind == IR_TYPE_TENSOR ? t->rank : 0;
    for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
        uint8_t factor = n->factor_of[n->slots[slot].map + k], dim = nda_atoms(n, value)[k].dim;
        for (uint32_t position = 0; factor != NDA_NO_FACTOR && position < p->axis_count; position++)
            for (uint32_t a = 0; a < p->axis_count; a++)
                if (plan_space(p, space)[a].factor == factor && plan_space(p, space)[a].position == position)
                    out->dims[dim].axes[out->dims[dim].count++] = (uint8_t)a;
    }
    for (uint32_t d = 0; d < out->rank; d++)
        if (out->dims[d].count)
            place_axes(n, &c->mesh, value, out, d);
}

/* Rules over whole dimensions: pointwise where an op keeps its dims, by greatest common divisors for
 * reshapes, else from the analysis' factors, those of a dim's atoms taken together. */
#include "spmd/propagate_rule.h"

#include "base/divide.h"
#include "ir/counted.h"

#include <stdlib.h>
#include <string.h>

struct making {
    const struct nda *n;
    struct propagate_rules *rules;
    const struct nda_space *space;
    uint32_t index;
    struct propagate_factor factors[NDA_MAX_FACTORS];
    uint32_t count;
    /* of each slot of the space, NDA_MAX_FACTORS apart */
    uint8_t *dims;
    uint32_t dims_room;
    VEC(struct propagate_factor) all_factors;
    VEC(uint8_t) all_dims;
};

static const struct ir_type *type_of(const struct making *making, uint32_t k)
{
    return ir_value_type(making->n->program, making->n->slots[making->space->slots + k].value);
}

static uint32_t rank_of(const struct making *making, uint32_t k)
{
    const struct ir_type *type = type_of(making, k);
    return type->kind == IR_TYPE_TENSOR ? type->rank : 0;
}

static const int64_t *sizes_of(const struct making *making, uint32_t k)
{
    return ir_type_dims(making->n->program, type_of(making, k));
}

static uint8_t *dim_of(struct making *making, uint32_t k, uint32_t factor)
{
    return &making->dims[(size_t)k * NDA_MAX_FACTORS + factor];
}

/* NDA_MAX_FACTORS: no room, nothing passes there */
static uint32_t add_factor(struct making *making, int64_t size, enum propagate_kind kind)
{
    if (making->count == NDA_MAX_FACTORS)
        return NDA_MAX_FACTORS;
    making->factors[making->count] = (struct propagate_factor){size, (uint8_t)kind};
    return making->count++;
}

static void put(struct making *making, uint32_t k, uint32_t factor, uint32_t dim)
{
    if (factor < NDA_MAX_FACTORS)
        *dim_of(making, k, factor) = (uint8_t)dim;
}

/* ---- dims that stay where they are ---- */

/* what becomes of a dim that an op does not leave as long as it was */
static enum propagate_kind changed_kind(enum ir_family family)
{
    if (family == IR_FAMILY_DYNAMIC_SLICE)
        return PROPAGATE_BLOCKED;
    return family == IR_FAMILY_DYNAMIC_UPDATE ? PROPAGATE_PASS : PROPAGATE_OTHER;
}

static void make_pointwise(struct making *making, enum ir_family family)
{
    uint32_t slots = making->space->slot_count, last = slots - 1, rank = rank_of(making, last);
    for (uint32_t dim = 0; dim < rank; dim++) {
        int64_t size = sizes_of(making, last)[dim];
        bool same = true;
        for (uint32_t k = 0; k < slots; k++)
            same &= rank_of(making, k) != rank || sizes_of(making, k)[dim] == size;
        enum propagate_kind kind = same ? PROPAGATE_PASS : changed_kind(family);
        uint32_t factor = add_factor(making, size, kind);
        for (uint32_t k = 0; k < slots; k++) /* an update is not split where it is a part */
            if (rank_of(making, k) == rank &&
                (family != IR_FAMILY_DYNAMIC_UPDATE || same || sizes_of(making, k)[dim] == size))
                put(making, k, factor, dim);
    }
}

/* ---- reshapes ---- */

/* one side of a reshape while it is walked */
struct walker {
    const int64_t *sizes;
    uint32_t rank, slot, dim;
    int64_t dims, factors; /* products of the sizes so far */
};

static void skip_ones(struct walker *walker)
{
    while (walker->dim < walker->rank && walker->sizes[walker->dim] == 1)
        walker->dim++;
}

static int64_t open_dim(struct walker *walker)
{
    if (walker->dim < walker->rank && walker->dims == walker->factors)
        walker->dims *= walker->sizes[walker->dim];
    return walker->dims / walker->factors;
}

static void take(struct making *making, struct walker *walker, uint32_t factor, int64_t size)
{
    put(making, walker->slot, factor, walker->dim);
    walker->factors *= size;
    if (walker->dims == walker->factors)
        walker->dim++;
}

/* of the side that is behind: what brings it level, else what leaves the common divisor for later */
static int64_t catch_up(int64_t next, int64_t divisor, const struct walker *behind,
                        const struct walker *ahead)
{
    int64_t lead = ahead->factors / behind->factors;
    if (ahead->factors % behind->factors == 0 && next % lead == 0)
        return lead;
    return next > divisor ? next / divisor : next;
}

static void make_reshape(struct making *making)
{
    uint32_t last = making->space->slot_count - 1;
    struct walker in = {sizes_of(making, 0), rank_of(making, 0), 0, 0, 1, 1};
    struct walker out = {sizes_of(making, last), rank_of(making, last), last, 0, 1, 1};
    for (skip_ones(&in), skip_ones(&out); in.dim < in.rank || out.dim < out.rank;
         skip_ones(&in), skip_ones(&out)) {
        int64_t next_in = open_dim(&in), next_out = open_dim(&out);
        int64_t divisor = common_divisor(next_in, next_out);
        struct walker *behind = in.factors <= out.factors ? &in : &out;
        int64_t next = behind == &in ? next_in : next_out;
        if (in.dim == in.rank || out.dim == out.rank || next <= 0)
            return;
        if (in.factors == out.factors && divisor > 1) {
            uint32_t factor = add_factor(making, divisor, PROPAGATE_PASS);
            take(making, &in, factor, divisor);
            take(making, &out, factor, divisor);
        } else if (in.factors == out.factors) {
            take(making, &in, add_factor(making, next_in, PROPAGATE_PASS), next_in);
            take(making, &out, add_factor(making, next_out, PROPAGATE_PASS), next_out);
        } else {
            next = catch_up(next, divisor, behind, behind == &in ? &out : &in);
            take(making, behind, add_factor(making, next, PROPAGATE_PASS), next);
        }
    }
}

/* ---- from the analysis ---- */

static enum propagate_kind kind_of(const struct making *making, uint8_t factor, enum ir_family family)
{
    switch ((enum nda_factor_kind)making->n->factors[making->space->factors + factor].kind) {
    case NDA_PARALLEL:
    case NDA_UPDATE: return PROPAGATE_PASS;
    case NDA_CONTRACTING: return PROPAGATE_REDUCED;
    /* what a scatter writes into stays split */
    case NDA_LOOKUP: return family == IR_FAMILY_SCATTER ? PROPAGATE_PASS : PROPAGATE_REDUCED;
    case NDA_WINDOWED: return PROPAGATE_OTHER;
    case NDA_REPLICATE: break;
    }
    return family == IR_FAMILY_SORT ? PROPAGATE_OTHER : PROPAGATE_BLOCKED;
}

/* the analysis' factors of a dim's atoms, major first; how many, 0 where an atom has none */
static uint32_t atoms_of(const struct making *making, uint32_t k, uint32_t dim, uint8_t *out)
{
    const struct nda *n = making->n;
    const struct nda_slot *slot = &n->slots[making->space->slots + k];
    uint32_t count = 0;
    for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++) {
        if (nda_atoms(n, slot->value)[i].dim != dim)
            continue;
        if (n->factor_of[slot->map + i] == NDA_NO_FACTOR)
            return 0;
        out[count++] = n->factor_of[slot->map + i];
    }
    return count;
}

/* Dims of the operand that the index vectors count along (ir/counted.h) are a batch to us. Shardy only knows
 * batching dims that are called so: to it the operand's is looked up in; nothing passes to the vectors. */
static struct ir_dims counted_dims(const struct making *making, enum ir_family family)
{
    const struct ir_program *program = making->n->program;
    uint32_t op = making->space->op;
    struct ir_dims counted, out = {.count = 0};
    struct ir_gather gather, own;
    struct ir_scatter scatter, own_scatter;
    if (family == IR_FAMILY_GATHER && ir_gather_counted(program, op, &gather, &counted) == 0 &&
        ir_gather(program, op, &own) == 0) {
        for (uint32_t i = 0; i < gather.operand_batch.count; i++)
            if (!ir_dims_has(&own.operand_batch, gather.operand_batch.at[i]))
                out.at[out.count++] = gather.operand_batch.at[i];
    } else if (family == IR_FAMILY_SCATTER && ir_scatter_counted(program, op, &scatter, &counted) == 0 &&
               ir_scatter(program, op, &own_scatter) == 0) {
        for (uint32_t i = 0; i < scatter.input_batch.count; i++)
            if (!ir_dims_has(&own_scatter.input_batch, scatter.input_batch.at[i]))
                out.at[out.count++] = scatter.input_batch.at[i];
    }
    return out;
}

struct known {
    uint8_t atoms[NDA_MAX_FACTORS];
    uint32_t count;
    bool counted; /* the operand's (a scatter's result's) side of a counted dim */
};

static enum propagate_kind kind_of_known(const struct making *making, const struct known *known,
                                         enum ir_family family)
{
    if (known->counted)
        return family == IR_FAMILY_SCATTER ? PROPAGATE_PASS : PROPAGATE_REDUCED;
    return kind_of(making, known->atoms[0], family);
}

static void make_from_analysis(struct making *making, enum ir_family family)
{
    static const uint32_t room = NDA_MAX_FACTORS;
    struct known *known = mem_zalloc(room, sizeof *known);
    struct ir_dims counted = counted_dims(making, family);
    uint32_t last = making->space->slot_count - 1;
    for (uint32_t k = 0; k < making->space->slot_count; k++)
        for (uint32_t dim = 0; dim < rank_of(making, k); dim++) {
            struct known here = {.count = 0};
            here.count = atoms_of(making, k, dim, here.atoms);
            here.counted =
                (k == 0 || (k == last && family == IR_FAMILY_SCATTER)) && ir_dims_has(&counted, dim);
            uint32_t factor = 0;
            while (factor < making->count &&
                   (known[factor].count != here.count || known[factor].counted != here.counted ||
                    *dim_of(making, k, factor) != PROPAGATE_NO_DIM ||
                    memcmp(known[factor].atoms, here.atoms, here.count) != 0))
                factor++;
            if (here.count && factor == making->count &&
                add_factor(making, sizes_of(making, k)[dim], kind_of_known(making, &here, family)) < room)
                known[factor] = here;
            if (here.count && factor < making->count)
                put(making, k, factor, dim);
        }
    free(known);
}

/* ---- all of them ---- */

static void make(struct making *making)
{
    const struct nda_space *space = making->space;
    enum ir_family family = space->kind == NDA_SPACE_OP
                                ? ir_opcode_family(making->n->program->ops[space->op].code)
                                : IR_FAMILY_ELEMENTWISE;
    making->count = 0;
    MEM_GROW(making->dims, making->dims_room, space->slot_count * NDA_MAX_FACTORS + 1);
    memset(making->dims, PROPAGATE_NO_DIM, (size_t)space->slot_count * NDA_MAX_FACTORS);
    if (!space->slot_count)
        return;
    if (family == IR_FAMILY_RESHAPE)
        make_reshape(making);
    else if (family == IR_FAMILY_ELEMENTWISE || family == IR_FAMILY_SLICE || family == IR_FAMILY_PAD ||
             family == IR_FAMILY_CONCATENATE || family == IR_FAMILY_REVERSE ||
             family == IR_FAMILY_DYNAMIC_SLICE || family == IR_FAMILY_DYNAMIC_UPDATE)
        make_pointwise(making, family);
    else if (family != IR_FAMILY_CONSTANT && family != IR_FAMILY_IOTA)
        make_from_analysis(making, family);
}

static void keep(struct making *making)
{
    for (uint32_t f = 0; f < making->count; f++)
        VEC_PUSH(&making->all_factors, making->factors[f]);
    for (uint32_t k = 0; k < making->space->slot_count; k++) {
        making->rules->dim_start[making->space->slots + k] = (uint32_t)making->all_dims.count;
        for (uint32_t f = 0; f < making->count; f++)
            VEC_PUSH(&making->all_dims, *dim_of(making, k, f));
    }
}

void propagate_rules_create(const struct nda *n, const uint8_t *gone, struct propagate_rules *out)
{
    struct making *making = mem_zalloc(1, sizeof *making);
    making->n = n;
    making->rules = out;
    out->factor_start = mem_zalloc((size_t)n->space_count + 1, sizeof *out->factor_start);
    out->dim_start = mem_zalloc((size_t)n->slot_count + 1, sizeof *out->dim_start);
    for (uint32_t space = 0; space < n->space_count; space++) {
        making->space = &n->spaces[space];
        if (!gone || !gone[space]) {
            make(making);
            keep(making);
        }
        out->factor_start[space + 1] = (uint32_t)making->all_factors.count;
    }
    VEC_PUSH(&making->all_dims, PROPAGATE_NO_DIM); /* never empty */
    VEC_PUSH(&making->all_factors, (struct propagate_factor){0});
    out->factors = making->all_factors.at;
    out->dims = making->all_dims.at;
    free(making->dims);
    free(making);
}

void propagate_rules_release(struct propagate_rules *rules)
{
    free(rules->factors);
    free(rules->factor_start);
    free(rules->dim_start);
    free(rules->dims);
    memset(rules, 0, sizeof *rules);
}

/* Annotated ops on arrays of atoms.
 *
 * Where a plan shards an inner factor of a dim (a fused QKV's heads, the sequence of [batch * sequence, ..]),
 * no sharding of the dim itself says so, and XLA would gather around every op whose operands are constrained
 * in pieces. Such an op is written on its operands and results as arrays of their atoms, where each factor is
 * a dim of its own. Families that the flattened dims of models go through are handled; others stay on whole
 * dims, between reshapes. */
#include "emit/lower.h"

#include <stdio.h>
#include <string.h>

struct span { /* atoms of one dim */
    uint32_t first, count;
};

static struct span span_of(const struct emit *e, uint32_t value, int64_t dim)
{
    const struct nda_atom *atoms = nda_atoms(e->nda, value);
    struct span span = {0};
    for (uint32_t i = nda_atom_count(e->nda, value); i-- > 0;)
        if (atoms[i].dim == dim) {
            span.first = i;
            span.count++;
        }
    return span;
}

static bool same_span(const struct emit *e, uint32_t x, struct span sx, uint32_t y, struct span sy)
{
    if (sx.count != sy.count)
        return false;
    for (uint32_t i = 0; i < sx.count; i++)
        if (nda_atoms(e->nda, x)[sx.first + i].size != nda_atoms(e->nda, y)[sy.first + i].size)
            return false;
    return true;
}

static bool same_atoms(const struct emit *e, uint32_t x, uint32_t y)
{
    struct span all_x = {0, nda_atom_count(e->nda, x)}, all_y = {0, nda_atom_count(e->nda, y)};
    return same_span(e, x, all_x, y, all_y);
}

static uint32_t operand(const struct emit *e, const struct lower_op *lower, uint32_t i)
{
    return ir_operand(e->program, lower->op, i);
}

static uint32_t result(const struct emit *e, const struct lower_op *lower)
{
    return ir_result(e->program, lower->op, 0);
}

static void add_span(struct ir_dims *list, struct span span)
{
    for (uint32_t i = 0; i < span.count && list->count < IR_MAX_RANK; i++)
        list->at[list->count++] = span.first + i;
}

/* ---------------------------------------------------------------- one function a family: can it be, and how
 */
static bool elementwise(struct emit *e, struct lower_op *lower)
{
    for (uint32_t i = 0; i < lower->in_count; i++)
        if (ir_value_type(e->program, operand(e, lower, i))->rank &&
            !same_atoms(e, operand(e, lower, i), result(e, lower)))
            return false;
    return true;
}

static bool transpose(struct emit *e, struct lower_op *lower)
{
    struct ir_dims order, atoms = {.count = 0};
    if (ir_dims(e->program, lower->op, "permutation", &order) != 0)
        return false;
    for (uint32_t d = 0; d < order.count; d++) {
        struct span from = span_of(e, operand(e, lower, 0), order.at[d]),
                    to = span_of(e, result(e, lower), d);
        if (!same_span(e, operand(e, lower, 0), from, result(e, lower), to))
            return false;
        add_span(&atoms, from);
    }
    lower_set_ints(e, lower, "permutation", atoms.at, atoms.count);
    return atoms.count == nda_atom_count(e->nda, result(e, lower));
}

static bool broadcast(struct emit *e, struct lower_op *lower)
{
    struct ir_dims map, atoms = {.count = 0};
    if (e->program->ops[lower->op].code != IR_BROADCAST_IN_DIM ||
        ir_dims(e->program, lower->op, "broadcast_dimensions", &map) != 0)
        return false;
    for (uint32_t d = 0; d < map.count; d++) {
        struct span from = span_of(e, operand(e, lower, 0), d), to = span_of(e, result(e, lower), map.at[d]);
        if (from.count && !same_span(e, operand(e, lower, 0), from, result(e, lower), to))
            return false;
        if (from.count)
            add_span(&atoms, to);
    }
    lower_set_ints(e, lower, "broadcast_dimensions", atoms.at, atoms.count);
    return atoms.count == nda_atom_count(e->nda, operand(e, lower, 0));
}

static bool reduce(struct emit *e, struct lower_op *lower)
{
    struct ir_dims dims, atoms = {.count = 0};
    if (lower->in_count != 2 || ir_dims(e->program, lower->op, "dimensions", &dims) != 0)
        return false;
    for (uint32_t i = 0; i < dims.count; i++)
        add_span(&atoms, span_of(e, operand(e, lower, 0), dims.at[i]));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < nda_atom_count(e->nda, operand(e, lower, 0)); i++) {
        const struct nda_atom *atom = &nda_atoms(e->nda, operand(e, lower, 0))[i];
        bool gone = false;
        for (uint32_t k = 0; k < atoms.count; k++)
            gone |= atoms.at[k] == i;
        if (!gone && (kept >= nda_atom_count(e->nda, result(e, lower)) ||
                      nda_atoms(e->nda, result(e, lower))[kept++].size != atom->size))
            return false;
    }
    lower_set_ints(e, lower, "dimensions", atoms.at, atoms.count);
    return kept == nda_atom_count(e->nda, result(e, lower));
}

void annotate_add_dims(struct text *text, const char *name, const struct ir_dims *list)
{
    if (!list->count)
        return;
    text_printf(text, "%s%s = [", text->at[text->size - 1] == '<' ? "" : ", ", name);
    for (uint32_t i = 0; i < list->count; i++)
        text_printf(text, "%s%lld", i ? ", " : "", (long long)list->at[i]);
    text_add(text, "]");
}

void annotate_set_dot(struct emit *e, struct lower_op *lower, const struct ir_dot *dot)
{
    struct text text = {0};
    text_add(&text, "#stablehlo.dot<");
    annotate_add_dims(&text, "lhs_batching_dimensions", &dot->lhs_batch);
    annotate_add_dims(&text, "rhs_batching_dimensions", &dot->rhs_batch);
    annotate_add_dims(&text, "lhs_contracting_dimensions", &dot->lhs_contract);
    annotate_add_dims(&text, "rhs_contracting_dimensions", &dot->rhs_contract);
    text_add(&text, ">");
    emit_attr_set(e, lower->attrs, &lower->attr_count, "dot_dimension_numbers",
                  ir_build_text(e->builder, text.at));
    text_release(&text);
}

/* dims of one operand as atoms; the other operand's must be cut alike */
static bool paired(const struct emit *e, const struct lower_op *lower, const struct ir_dims *lhs,
                   const struct ir_dims *rhs, struct ir_dims *lhs_atoms, struct ir_dims *rhs_atoms)
{
    for (uint32_t i = 0; i < lhs->count; i++) {
        struct span span = span_of(e, operand(e, lower, 0), lhs->at[i]),
                    other_span = span_of(e, operand(e, lower, 1), rhs->at[i]);
        if (!same_span(e, operand(e, lower, 0), span, operand(e, lower, 1), other_span))
            return false;
        add_span(lhs_atoms, span);
        add_span(rhs_atoms, other_span);
    }
    return true;
}

/* free atoms of operand i follow each other in the result, from *at on */
static bool free_atoms(const struct emit *e, const struct lower_op *lower, uint32_t i,
                       const struct ir_dims *batch, const struct ir_dims *contract, uint32_t *at)
{
    uint32_t value = operand(e, lower, i), count = nda_atom_count(e->nda, result(e, lower));
    for (uint32_t k = 0; k < nda_atom_count(e->nda, value); k++) {
        if (ir_dims_has(batch, k) || ir_dims_has(contract, k))
            continue;
        if (*at >= count || nda_atoms(e->nda, result(e, lower))[*at].size != nda_atoms(e->nda, value)[k].size)
            return false;
        ++*at;
    }
    return true;
}

static bool dot(struct emit *e, struct lower_op *lower)
{
    struct ir_dot dot, other_dot = {.lhs_batch = {.count = 0}};
    if (e->program->ops[lower->op].code != IR_DOT_GENERAL || ir_dot(e->program, lower->op, &dot) != 0 ||
        !paired(e, lower, &dot.lhs_batch, &dot.rhs_batch, &other_dot.lhs_batch, &other_dot.rhs_batch) ||
        !paired(e, lower, &dot.lhs_contract, &dot.rhs_contract, &other_dot.lhs_contract,
                &other_dot.rhs_contract))
        return false;
    uint32_t at = other_dot.lhs_batch.count;
    if (!free_atoms(e, lower, 0, &other_dot.lhs_batch, &other_dot.lhs_contract, &at) ||
        !free_atoms(e, lower, 1, &other_dot.rhs_batch, &other_dot.rhs_contract, &at) ||
        at != nda_atom_count(e->nda, result(e, lower)))
        return false;
    annotate_set_dot(e, lower, &other_dot);
    return true;
}

/* product of the inner atoms of a span: what a position along its first atom counts */
static int64_t piece_of(const struct emit *e, uint32_t value, struct span span)
{
    int64_t piece = 1;
    for (uint32_t i = 1; i < span.count; i++)
        piece *= nda_atoms(e->nda, value)[span.first + i].size;
    return piece;
}

/* a slice of a dim of several atoms takes whole pieces along the first; o->out gets the sizes before 1s go */
static bool slice(struct emit *e, struct lower_op *lower)
{
    static const char *const names[3] = {"start_indices", "limit_indices", "strides"};
    struct ir_dims given[3], atoms[3] = {{.count = 0}, {.count = 0}, {.count = 0}};
    uint32_t value = operand(e, lower, 0);
    for (int i = 0; i < 3; i++)
        if (ir_dims(e->program, lower->op, names[i], &given[i]) != 0)
            return false;
    for (uint32_t d = 0; d < given[0].count; d++) {
        struct span span = span_of(e, value, d);
        int64_t piece = piece_of(e, value, span);
        if (span.count > 1 && (given[2].at[d] != 1 || given[0].at[d] % piece || given[1].at[d] % piece))
            return false;
        for (uint32_t i = 0; i < span.count; i++) {
            uint32_t k = atoms[0].count;
            atoms[0].count = atoms[1].count = atoms[2].count = k + 1;
            atoms[0].at[k] = i ? 0 : given[0].at[d] / piece;
            atoms[1].at[k] = i ? nda_atoms(e->nda, value)[span.first + i].size : given[1].at[d] / piece;
            atoms[2].at[k] = i ? 1 : given[2].at[d];
            lower->out[0].dims[k] = (atoms[1].at[k] - atoms[0].at[k] + atoms[2].at[k] - 1) / atoms[2].at[k];
        }
    }
    lower->out[0].rank = atoms[0].count;
    for (int i = 0; i < 3; i++)
        lower_set_ints(e, lower, names[i], atoms[i].at, atoms[i].count);
    return true;
}

static struct span inner_of(struct span span)
{
    return (struct span){span.first + 1, span.count - 1};
}

/* Operands lie behind each other along the first atom of the dim: each is whole pieces of the inner ones, or
 * one piece without that first atom. */
static bool concatenate(struct emit *e, struct lower_op *lower)
{
    uint32_t dim = (uint32_t)ir_int(e->program, lower->op, "dimension", 0), to = result(e, lower);
    struct span joined = span_of(e, to, dim);
    if (!joined.count)
        return false;
    for (uint32_t i = 0; i < lower->in_count; i++) {
        uint32_t part = operand(e, lower, i);
        for (uint32_t d = 0; d < ir_value_type(e->program, to)->rank; d++)
            if (d != dim && !same_span(e, part, span_of(e, part, d), to, span_of(e, to, d)))
                return false;
        struct span span = span_of(e, part, dim);
        bool pieces = span.count == joined.count && same_span(e, part, inner_of(span), to, inner_of(joined)),
             one = span.count + 1 == joined.count && same_span(e, part, span, to, inner_of(joined));
        if (!pieces && !one)
            return false;
    }
    lower_set_int(e, lower, "dimension", joined.first);
    return true;
}

void annotate_join_pieces(struct emit *e, struct lower_op *lower)
{
    if (e->program->ops[lower->op].code != IR_CONCATENATE)
        return;
    struct span joined = span_of(e, result(e, lower), ir_int(e->program, lower->op, "dimension", 0));
    for (uint32_t i = 0; i < lower->in_count; i++) {
        struct emit_tensor *in = &lower->in[i];
        if (in->rank == lower->out[0].rank)
            continue;
        int64_t dims[EMIT_MAX_RANK];
        for (uint32_t d = 0; d < lower->out[0].rank; d++)
            dims[d] = d == joined.first ? 1 : lower->out[0].dims[d];
        *in = emit_reshape(e, *in, lower->out[0].rank, dims);
    }
}

static bool prepare(struct emit *e, struct lower_op *lower)
{
    enum ir_family family = ir_opcode_family((enum ir_opcode)e->program->ops[lower->op].code);
    if (family == IR_FAMILY_ELEMENTWISE)
        return elementwise(e, lower);
    if (family == IR_FAMILY_TRANSPOSE)
        return transpose(e, lower);
    if (family == IR_FAMILY_BROADCAST)
        return broadcast(e, lower);
    if (family == IR_FAMILY_REDUCE)
        return reduce(e, lower);
    if (family == IR_FAMILY_DOT)
        return dot(e, lower);
    if (family == IR_FAMILY_SLICE)
        return slice(e, lower);
    if (e->program->ops[lower->op].code == IR_CONCATENATE)
        return concatenate(e, lower);
    return family == IR_FAMILY_RESHAPE && same_atoms(e, operand(e, lower, 0), result(e, lower));
}

static bool few_atoms(const struct emit *e, uint32_t value)
{
    return ir_value_type(e->program, value)->kind == IR_TYPE_TENSOR &&
           nda_atom_count(e->nda, value) <= IR_MAX_RANK;
}

bool annotate_in_atoms(struct emit *e, struct lower_op *lower)
{
    struct lower_op as_was = *lower;
    struct emit_tensor out = lower->out_count == 1 ? lower->out[0] : (struct emit_tensor){.rank = 0};
    if (lower->out_count != 1 || !few_atoms(e, result(e, lower)))
        return false;
    for (uint32_t i = 0; i < lower->in_count; i++)
        if (!few_atoms(e, operand(e, lower, i)))
            return false;
    lower->out[0].rank = nda_atom_count(e->nda, result(e, lower));
    for (uint32_t i = 0; i < lower->out[0].rank; i++)
        lower->out[0].dims[i] = nda_atoms(e->nda, result(e, lower))[i].size;
    if (prepare(e, lower))
        return true;
    *lower = as_was;
    lower->out[0] = out;
    return false;
}

/* Roles, step 8: what the field calls a dimension that has no role, by what the forward pass does with it.
 *
 *   layers      stacks parameters, one of which every iteration of a loop takes
 *   head_dim    contracted by attention, or passed on by it, on a parameter that has heads, too
 *   capacity    of activations, beside the experts that a product goes through one by one
 *   microbatches  what the batch is cut into by a loop that takes one in every iteration
 *   top_k       how many of the greatest are taken
 *   experts     what these are taken from, where it is as many as the experts
 *   embed       made and summed up by products, on half as many parameters as the commonest: a second stream
 *   channels    of convolutions; features that no product made; hidden between two products
 *   classes     made by a product with a parameter, and the greatest of them is asked for (a softmax)
 *   rows        looked up in
 *   window      that a convolution slides, spatial: along which it does
 *
 * Labels alone come of it: no plan depends on a term. One pass over the spaces, and two over those that cut a
 * dimension into parts or join parts, which are called as the whole is (queries, keys and values of one
 * matrix). Nothing is named for its size or after an argument's name. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

struct terms {
    const struct roles *roles;
    const struct nda *n;
    const uint8_t *weight; /* of each value: it is made of parameters alone */
    uint16_t *signs;       /* of each color: SIGN_.. */
    bool one_by_one;       /* some attention goes through heads so; none does where all share one key */
};

enum {
    SIGN_LAYERS = 1,
    SIGN_INNER = 2,    /* a product of activations that goes through heads one by one sums or keeps it */
    SIGN_BESIDE = 4,   /* on a parameter that has heads */
    SIGN_CAPACITY = 8, /* of activations in a product that goes through experts one by one */
    SIGN_TAKEN = 16,   /* top_k makes it */
    SIGN_TAKEN_FROM = 32,
    SIGN_ROWS = 64,
    SIGN_CHANNELS = 128, /* a convolution sums it up or makes it */
    SIGN_WINDOW = 256,
    SIGN_SPATIAL = 512,
    SIGN_FED = 1024,    /* summed up by a product with a parameter */
    SIGN_AROUND = 2048, /* outside of the batch in one dimension of data */
    SIGN_KEPT = 4096    /* every iteration of a loop writes one of it */
};

enum { FEW_PARAMETERS = 6 }; /* on fewer no stream of activations is told from a layer's width; not tuned */

static bool is_beside(const struct roles *roles, uint32_t color)
{
    const struct facts *facts = &roles->facts[color];
    return facts->beside && facts->parameter_dims && !roles->batch[color] &&
           !(roles->n->colors[color].roles & (NDA_COLOR_EXPERT | NDA_COLOR_SEQUENCE));
}

static bool is_heads(const struct terms *terms, uint32_t color)
{
    return terms->one_by_one
               ? is_beside(terms->roles, color)
               : terms->roles->facts[color].attention && terms->n->colors[color].roles & NDA_COLOR_MODEL;
}

/* marks the colors of a dimension of what stands in a slot */
static void mark_dim(const struct terms *terms, uint32_t slot, int64_t dim, uint16_t sign)
{
    uint32_t value = terms->n->slots[slot].value;
    for (uint32_t k = 0; k < nda_atom_count(terms->n, value); k++) {
        uint32_t color = nda_slot_color(terms->n, slot, k);
        if (color != NDA_NONE && nda_atoms(terms->n, value)[k].dim == dim)
            terms->signs[color] |= sign;
    }
}

/* marks what stands outside of a batch in one dimension */
static void mark_around_batch(const struct terms *terms, uint32_t slot, uint16_t sign)
{
    const struct nda *n = terms->n;
    const struct nda_atom *atoms = nda_atoms(n, n->slots[slot].value);
    for (uint32_t k = 1; k < nda_atom_count(n, n->slots[slot].value); k++) {
        uint32_t outer = nda_slot_color(n, slot, k - 1), inner = nda_slot_color(n, slot, k);
        if (outer != NDA_NONE && inner != NDA_NONE && atoms[k - 1].dim == atoms[k].dim &&
            terms->roles->batch[inner])
            terms->signs[outer] |= sign;
    }
}

static bool is_in_loop(const struct ir_program *program, uint32_t op)
{
    for (uint32_t block = program->ops[op].block; block != IR_NONE;) {
        uint32_t around = program->regions[program->blocks[block].region].op;
        if (program->ops[around].code == IR_WHILE)
            return true;
        block = program->ops[around].block;
    }
    return false;
}

/* one of what is stacked, in every iteration */
static void slice_signs(const struct terms *terms, const struct nda_space *sp)
{
    struct ir_dims sizes;
    const struct ir_program *program = terms->n->program;
    if (!is_in_loop(program, sp->op) || ir_dims(program, sp->op, "slice_sizes", &sizes) != 0)
        return;
    for (uint32_t dim = 0; dim < sizes.count; dim++)
        if (sizes.at[dim] == 1)
            mark_dim(terms, sp->slots, dim, SIGN_LAYERS);
}

/* one of what a loop keeps, in every iteration: activations for the backward pass */
static void update_signs(const struct terms *terms, const struct nda_space *sp)
{
    const struct ir_program *program = terms->n->program;
    const struct ir_type *type = ir_value_type(program, terms->n->slots[sp->slots + 1].value);
    if (!is_in_loop(program, sp->op))
        return;
    for (uint32_t dim = 0; dim < type->rank; dim++)
        if (ir_type_dims(program, type)[dim] == 1)
            mark_dim(terms, sp->slots, dim, SIGN_KEPT);
}

/* operands of the product that have the factor, as bits */
static uint32_t operands_with(const struct nda *n, const struct nda_space *sp, uint32_t factor)
{
    uint32_t in = 0;
    for (uint32_t slot = 0; slot < 2; slot++)
        for (uint32_t k = 0; k < nda_atom_count(n, n->slots[sp->slots + slot].value); k++)
            if (nda_slot_factor(n, sp->slots + slot, k) == factor)
                in |= 1u << slot;
    return in;
}

static void dot_signs(const struct terms *terms, const struct nda_space *sp)
{
    const struct nda *n = terms->n;
    bool weights[2] = {terms->weight[n->slots[sp->slots].value],
                       terms->weight[n->slots[sp->slots + 1].value]};
    bool heads = false, experts = false;
    for (uint32_t factor = sp->factors; factor < sp->factors + sp->factor_count; factor++) {
        bool one_by_one = operands_with(n, sp, factor) == 3 && n->factors[factor].kind != NDA_CONTRACTING;
        heads |= (one_by_one || !terms->one_by_one) && is_heads(terms, n->factors[factor].color);
        experts |= one_by_one && n->colors[n->factors[factor].color].roles & NDA_COLOR_EXPERT;
    }
    for (uint32_t factor = sp->factors; factor < sp->factors + sp->factor_count; factor++) {
        uint32_t color = n->factors[factor].color, in = operands_with(n, sp, factor);
        bool fed = in == 3 && n->factors[factor].kind == NDA_CONTRACTING && weights[0] != weights[1];
        bool alone = (in != 3 || n->factors[factor].kind == NDA_CONTRACTING) && !is_heads(terms, color);
        terms->signs[color] |= heads && alone && !weights[0] && !weights[1] ? SIGN_INNER : 0;
        terms->signs[color] |= fed ? SIGN_FED : 0;
        terms->signs[color] |=
            experts && in != 3 && in && !weights[in - 1] && weights[2 - in] ? SIGN_CAPACITY : 0;
    }
}

static void convolution_signs(const struct terms *terms, const struct nda_space *sp)
{
    struct ir_conv conv;
    uint32_t result = sp->slots + sp->slot_count - 1;
    if (ir_conv(terms->n->program, sp->op, &conv) != 0)
        return;
    mark_dim(terms, sp->slots, conv.input_feature, SIGN_CHANNELS);
    mark_dim(terms, result, conv.output_feature, SIGN_CHANNELS);
    for (uint32_t i = 0; i < conv.input_spatial.count; i++) {
        mark_dim(terms, sp->slots, conv.input_spatial.at[i], SIGN_SPATIAL);
        mark_dim(terms, sp->slots + 1, conv.kernel_spatial.at[i], SIGN_WINDOW);
        mark_dim(terms, result, conv.output_spatial.at[i], SIGN_SPATIAL);
    }
}

static void lookup_signs(const struct terms *terms, const struct nda_space *sp)
{
    bool table = terms->weight[terms->n->slots[sp->slots].value];
    for (uint32_t factor = sp->factors; table && factor < sp->factors + sp->factor_count; factor++)
        if (terms->n->factors[factor].kind == NDA_LOOKUP)
            terms->signs[terms->n->factors[factor].color] |= SIGN_ROWS;
}

static void top_k_signs(const struct terms *terms, const struct nda_space *sp)
{
    int64_t last = ir_value_type(terms->n->program, terms->n->slots[sp->slots].value)->rank - 1;
    mark_dim(terms, sp->slots, last, SIGN_TAKEN_FROM);
    for (uint32_t slot = sp->slots + 1; slot < sp->slots + sp->slot_count; slot++)
        mark_dim(terms, slot, last, SIGN_TAKEN);
}

static bool takes_greatest(const struct ir_program *program, uint32_t op)
{
    const struct ir_attr *target = ir_attr_find(program, op, "call_target_name");
    return program->ops[op].code == IR_CHLO_TOP_K ||
           (program->ops[op].code == IR_CUSTOM_CALL && target && target->kind == IR_ATTR_STRING &&
            strcmp(ir_string(program, target->first), "mhlo.topk") == 0);
}

static void argument_signs(const struct terms *terms, const struct nda_space *sp)
{
    bool heads = false;
    if (terms->n->arguments[sp->index].role == NDA_ROLE_DATA)
        mark_around_batch(terms, sp->slots, SIGN_AROUND);
    if (terms->n->arguments[sp->index].role != NDA_ROLE_PARAMETER)
        return;
    for (uint32_t factor = sp->factors; factor < sp->factors + sp->factor_count; factor++)
        heads |= is_heads(terms, terms->n->factors[factor].color);
    for (uint32_t factor = sp->factors; heads && factor < sp->factors + sp->factor_count; factor++)
        terms->signs[terms->n->factors[factor].color] |= SIGN_BESIDE;
}

static bool is_forward(const struct terms *terms, const struct nda_space *sp)
{
    for (uint32_t slot = sp->slots; slot < sp->slots + sp->slot_count; slot++)
        if (terms->n->slots[slot].is_result && terms->roles->forward[terms->n->slots[slot].value])
            return true;
    return false;
}

static void find_signs(const struct terms *terms)
{
    const struct nda *n = terms->n;
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        uint32_t code = n->program->ops[sp->op].code;
        if (sp->kind == NDA_SPACE_ARGUMENT)
            argument_signs(terms, sp);
        if (sp->kind == NDA_SPACE_OP && code == IR_DYNAMIC_UPDATE_SLICE)
            update_signs(terms, sp);
        if (sp->kind != NDA_SPACE_OP || !is_forward(terms, sp))
            continue;
        if (code == IR_CONVOLUTION)
            convolution_signs(terms, sp);
        else if (nda_is_contraction(n, sp->op) && sp->slot_count == 3)
            dot_signs(terms, sp);
        else if (code == IR_DYNAMIC_SLICE)
            slice_signs(terms, sp);
        else if (code == IR_GATHER)
            lookup_signs(terms, sp);
        else if (takes_greatest(n->program, sp->op))
            top_k_signs(terms, sp);
    }
}

/* ---------------------------------------------------------------- terms */
static const char *width_term(const struct facts *facts, uint16_t signs, uint32_t commonest)
{
    bool summed = facts->contracted, made = facts->produced;
    uint32_t dims = facts->parameter_dims;
    if (!dims)
        return NULL;
    return made && summed && dims >= FEW_PARAMETERS && dims * 2 >= commonest ? "embed"
           : signs & SIGN_CHANNELS                                           ? "channels"
           : made && summed                                                  ? "hidden"
           : signs & SIGN_FED                                                ? "features"
           : made && facts->weighed                                          ? "classes"
                                                                             : NULL;
}

static const char *term_of(const struct terms *terms, uint32_t color, uint32_t commonest, int64_t experts)
{
    const struct facts *facts = &terms->roles->facts[color];
    uint16_t signs = terms->signs[color];
    uint32_t roles = terms->n->colors[color].roles;
    bool data = facts->given || terms->roles->batch[color];
    if (signs & SIGN_TAKEN && !data && !facts->parameter_dims && !(roles & ~(uint32_t)NDA_COLOR_EDGE))
        return "top_k";
    if (signs & SIGN_INNER && signs & SIGN_BESIDE && !facts->beside && !(roles & ~(uint32_t)NDA_COLOR_MODEL))
        return "head_dim";
    if (!roles && signs & SIGN_SPATIAL && !facts->parameter_dims && !terms->roles->batch[color])
        return "spatial";
    if (!roles && !facts->parameter_dims && signs & SIGN_AROUND && signs & SIGN_LAYERS &&
        !terms->roles->batch[color])
        return "microbatches";
    if (roles || data)
        return !roles && facts->parameter_dims ? width_term(facts, signs, commonest) : NULL;
    if (signs & SIGN_LAYERS && facts->parameter_dims && !facts->contracted && !facts->produced)
        return "layers";
    if (signs & SIGN_CAPACITY && !facts->parameter_dims)
        return "capacity";
    if (signs & SIGN_TAKEN_FROM && facts->produced && !facts->contracted &&
        roles_color_size(terms->n, color) == experts)
        return "experts";
    const char *width = width_term(facts, signs, commonest);
    return width                                          ? width
           : signs & SIGN_ROWS && facts->parameter_dims   ? "rows"
           : signs & SIGN_WINDOW && facts->parameter_dims ? "window"
                                                          : NULL;
}

/* What a loop keeps of each of the layers that it goes through is stacked as they are. */
static void name_kept(const struct terms *terms, const char **found)
{
    const struct nda *n = terms->n;
    for (uint32_t color = 0; color < n->color_count; color++)
        for (uint32_t other = 0; !found[color] && terms->signs[color] & SIGN_KEPT &&
                                 !n->colors[color].roles && other < n->color_count;
             other++)
            if (found[other] && strcmp(found[other], "layers") == 0 &&
                roles_color_size(n, other) == roles_color_size(n, color))
                found[color] = "layers";
}

const char **roles_terms(const struct roles *roles)
{
    const struct nda *n = roles->n;
    const char **found = mem_zalloc((size_t)n->color_count + 1, sizeof *found);
    uint8_t *weight = roles_weight_values(n, roles->batch);
    struct terms terms = {.roles = roles, .n = n, .weight = weight};
    uint32_t commonest = 0;
    int64_t experts = 0;
    terms.signs = mem_zalloc((size_t)n->color_count + 1, sizeof *terms.signs);
    for (uint32_t color = 0; color < n->color_count; color++)
        terms.one_by_one |= is_beside(roles, color);
    find_signs(&terms);
    for (uint32_t color = 0; color < n->color_count; color++) {
        uint32_t dims = roles->facts[color].parameter_dims;
        commonest = dims > commonest ? dims : commonest;
        experts = n->colors[color].roles & NDA_COLOR_EXPERT ? roles_color_size(n, color) : experts;
    }
    for (uint32_t color = 0; color < n->color_count; color++)
        found[color] = term_of(&terms, color, commonest, experts);
    name_kept(&terms, found);
    free(terms.signs);
    free(weight);
    return found;
}

/* Roles, first part: which values reach a contraction, which the forward pass needs, which depend on no
 * example; from these the roles of arguments. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

bool stage_is_contraction(const struct nda *n, uint32_t op)
{
    enum ir_family f = ir_opcode_family(n->program->ops[op].code);
    return f == IR_FAMILY_DOT || f == IR_FAMILY_CONVOLUTION;
}

bool stage_moves_only(const struct nda *n, const struct nda_space *sp)
{
    enum ir_opcode code;
    enum ir_family f;
    if (sp->kind != NDA_SPACE_OP)
        return sp->kind != NDA_SPACE_ARGUMENT && sp->kind != NDA_SPACE_RESULT;
    code = n->program->ops[sp->op].code;
    f = ir_opcode_family(code);
    return code == IR_CONVERT || f == IR_FAMILY_BROADCAST || f == IR_FAMILY_TRANSPOSE ||
           f == IR_FAMILY_RESHAPE || f == IR_FAMILY_SLICE || f == IR_FAMILY_DYNAMIC_SLICE ||
           f == IR_FAMILY_CONCATENATE || f == IR_FAMILY_SHARDY;
}

/* one step backward over a space; returns whether something became known */
static bool flow_back(struct roles *r, const struct nda_space *sp, const uint8_t *untied)
{
    struct nda *n = r->n;
    bool contraction = sp->kind == NDA_SPACE_OP && stage_is_contraction(n, sp->op), direct = false,
         reaches = contraction;
    bool forward = sp->kind == NDA_SPACE_RESULT && untied[sp->index], changed = false,
         moves = stage_moves_only(n, sp);
    bool gather = sp->kind == NDA_SPACE_OP && n->program->ops[sp->op].code == IR_GATHER;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        uint32_t v = n->slots[k].value;
        if (!n->slots[k].is_result)
            continue;
        direct |= (moves || r->apart[v]) && r->direct[v];
        reaches |= r->reaches[v];
        forward |= r->forward[v];
    }
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        uint32_t v = n->slots[k].value;
        uint8_t d = direct || contraction || (gather && n->slots[k].operand == 0);
        if (n->slots[k].is_result)
            continue;
        changed |=
            (d && !r->direct[v]) || (reaches && !r->reaches[v]) || (forward && !r->ends[v] && !r->forward[v]);
        r->direct[v] |= d;
        r->reaches[v] |= reaches;
        r->forward[v] |= forward && !r->ends[v];
    }
    return changed;
}

/* around a loop: what the next iteration needs, the last operation of the body gives */
static bool flow_around(struct roles *r, uint32_t begin, uint32_t end)
{
    const struct nda *n = r->n;
    uint32_t arg = n->slots[n->spaces[begin].slots + 2].value, last = n->slots[n->spaces[end].slots].value;
    bool changed = (r->reaches[arg] && !r->reaches[last]) || (r->forward[arg] && !r->forward[last]);
    r->reaches[last] |= r->reaches[arg];
    r->forward[last] |= r->forward[arg];
    return changed;
}

void roles_flow(struct roles *r)
{
    struct nda *n = r->n;
    uint8_t *untied = mem_alloc((size_t)n->result_count + 1);
    bool changed = true;
    memset(untied, 1, (size_t)n->result_count + 1);
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes != NDA_NONE)
            untied[n->arguments[i].becomes] = 0;
    for (uint32_t i = 0; i < n->result_count && r->metrics; i++)
        untied[i] &= !r->metrics[i];
    /* loops nest no deeper in practice; more is only blurrier */
    for (int round = 0; round < 16 && changed; round++) {
        bool loops = false;
        changed = false;
        for (uint32_t s = n->space_count; s-- > 0;)
            flow_back(r, &n->spaces[s], untied);
        for (uint32_t s = 0; s < n->space_count; s++)
            if (n->spaces[s].kind == NDA_SPACE_LOOP_END) {
                loops = true;
                changed |= flow_around(r, n->op_space[n->spaces[s].op] + n->spaces[s].index, s);
            }
        changed &= loops;
    }
    free(untied);
}

static bool holds_batch(const struct roles *r, uint32_t argument)
{
    const struct nda_space *sp = &r->n->spaces[r->n->arguments[argument].space];
    for (uint32_t f = 0; f < sp->factor_count; f++)
        if (r->batch[r->n->factors[sp->factors + f].color])
            return true;
    return false;
}

/* Examples are what is not tied to state; once the batch is known, of untied arguments those that hold it. */
void roles_set_apart(struct roles *r, bool known)
{
    struct nda *n = r->n;
    uint8_t *examples = mem_zalloc((size_t)n->argument_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        bool tied = n->arguments[i].becomes != NDA_NONE;
        examples[i] = tied ? known && !r->train : !known || holds_batch(r, i);
    }
    free(r->apart);
    r->apart = stage_independent_of(n, examples);
    free(examples);
    roles_flow(r);
}

/* every dimension of the argument is one of trained weights too: a weight that is not trained (adapters'
 * base) */
static bool dims_of_weights(const struct roles *r, uint32_t argument, const uint8_t *color)
{
    const struct nda *n = r->n;
    const struct nda_space *sp = &n->spaces[n->arguments[argument].space];
    for (uint32_t f = 0; f < sp->factor_count; f++)
        if (!color[n->factors[sp->factors + f].color])
            return false;
    return true;
}

static uint8_t *colors_of_weights(const struct nda *n)
{
    uint8_t *color = mem_zalloc((size_t)n->color_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        for (uint32_t f = 0; f < sp->factor_count && n->arguments[i].role == NDA_ROLE_PARAMETER; f++)
            color[n->factors[sp->factors + f].color] = 1;
    }
    return color;
}

/* floats, complex numbers and quantized weights; wider integers are indices and counts */
static bool weight_element(enum ir_element e)
{
    return ir_element_is_float(e) || e == IR_C64 || e == IR_C128 || (ir_element_bits(e) <= 8 && e != IR_I1);
}

/* of a tied argument of a train step: it is needed for the loss, and for a contraction */
static bool is_trained(const struct roles *r, const struct nda_argument *a)
{
    return r->reaches[a->value] && r->forward[a->value] &&
           weight_element((enum ir_element)ir_value_type(r->n->program, a->value)->element);
}

void roles_of_arguments(struct roles *r)
{
    struct nda *n = r->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        struct nda_argument *a = &n->arguments[i];
        const struct ir_type *t = ir_value_type(n->program, a->value);
        bool weight = t->kind == IR_TYPE_TENSOR && weight_element((enum ir_element)t->element) &&
                      t->rank > 0 && (r->direct[a->value] || t->rank == 1) && !holds_batch(r, i);
        if (a->becomes != NDA_NONE)
            a->role = !r->train ? NDA_ROLE_CACHE : is_trained(r, a) ? NDA_ROLE_PARAMETER : NDA_ROLE_OPTIMIZER;
        else
            a->role = !r->train && weight ? NDA_ROLE_PARAMETER : NDA_ROLE_DATA;
    }
    uint8_t *color = colors_of_weights(n);
    for (uint32_t i = 0; i < n->argument_count && r->train; i++) {
        struct nda_argument *a = &n->arguments[i];
        const struct ir_type *t = ir_value_type(n->program, a->value);
        if (a->role == NDA_ROLE_DATA && t->kind == IR_TYPE_TENSOR && t->rank > 1 && r->direct[a->value] &&
            weight_element((enum ir_element)t->element) && dims_of_weights(r, i, color))
            a->role = NDA_ROLE_PARAMETER;
    }
    free(color);
}

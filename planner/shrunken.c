/* The local program of a plan over a smaller program; see shrunken.h. */
#include "planner/shrunken.h"

#include "base/divide.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the local program splits ---- */
int64_t *planner_shrink_shards(const struct spmd_local *local)
{
    const struct nda *n = local->nda;
    uint32_t atoms = n->value_atoms[n->program->value_count];
    int64_t *shards = mem_alloc(sizeof *shards * ((size_t)atoms + 1));
    for (uint32_t i = 0; i < atoms; i++)
        shards[i] = 1;
    for (uint32_t i = 0; i < local->value_count; i++) {
        uint32_t origin = local->values[i].origin, first = n->value_atoms[origin];
        for (uint32_t k = 0; k < nda_atom_count(n, origin); k++)
            shards[first + k] = common_multiple(shards[first + k], spmd_atom_devices(local, i, k));
    }
    return shards;
}

/* ---- is it the same to the analysis? ---- */
static bool same_ops(const struct ir_program *a, const struct ir_program *b)
{
    bool same = a->op_count == b->op_count && a->value_count == b->value_count;
    for (uint32_t op = 0; same && op < a->op_count; op++)
        same = a->ops[op].code == b->ops[op].code && a->ops[op].results == b->ops[op].results &&
               a->ops[op].operand_count == b->ops[op].operand_count;
    return same;
}

/* the first value whose dimensions fall apart otherwise; IR_NONE: none does */
static uint32_t other_atoms(const struct nda *a, const struct nda *b, const int64_t *sizes)
{
    for (uint32_t value = 0; value < a->program->value_count; value++) {
        if (a->value_atoms[value + 1] != b->value_atoms[value + 1])
            return value;
        for (uint32_t i = a->value_atoms[value]; i < a->value_atoms[value + 1]; i++)
            if (a->atoms[i].dim != b->atoms[i].dim || b->atoms[i].size != sizes[i])
                return value;
    }
    return IR_NONE;
}

/* the op that makes a value; of an argument, the one that it is an argument of */
static uint32_t maker(const struct ir_program *program, uint32_t value)
{
    uint32_t op = program->values[value].op;
    return op != IR_NONE ? op : program->regions[program->blocks[program->values[value].block].region].op;
}

static bool same_space(const struct nda *a, const struct nda *b, uint32_t space)
{
    const struct nda_space *one = &a->spaces[space], *other = &b->spaces[space];
    if (one->op != other->op || one->factors != other->factors || one->factor_count != other->factor_count ||
        one->slots != other->slots || one->slot_count != other->slot_count)
        return false;
    for (uint32_t f = one->factors; f < one->factors + one->factor_count; f++)
        if (a->factors[f].kind != b->factors[f].kind || a->factors[f].reducer != b->factors[f].reducer ||
            a->factors[f].shardable != b->factors[f].shardable)
            return false;
    for (uint32_t slot = one->slots; slot < one->slots + one->slot_count; slot++)
        if (a->slots[slot].value != b->slots[slot].value || a->slots[slot].map != b->slots[slot].map ||
            memcmp(a->factor_of + a->slots[slot].map, b->factor_of + b->slots[slot].map,
                   nda_atom_count(a, a->slots[slot].value)) != 0)
            return false;
    return true;
}

static enum error_code same_analysis(const struct nda *a, const struct nda *b, const int64_t *sizes,
                                     struct error *e)
{
    if (!same_ops(a->program, b->program) || a->space_count != b->space_count)
        return error_set(e, ERROR_NOT_AVAILABLE, "at smaller sizes it has other ops");
    uint32_t value = other_atoms(a, b, sizes), op = value == IR_NONE ? IR_NONE : maker(a->program, value);
    if (op != IR_NONE)
        return error_set(e, ERROR_NOT_AVAILABLE,
                         "at smaller sizes the dimensions of %.60s at line %u fall apart otherwise",
                         ir_op_name(a->program, op), a->program->ops[op].line);
    for (uint32_t space = 0; space < a->space_count; space++)
        if (!same_space(a, b, space))
            return error_set(e, ERROR_NOT_AVAILABLE, "at smaller sizes %.60s at line %u has another rule",
                             ir_op_name(a->program, a->spaces[space].op),
                             a->program->ops[a->spaces[space].op].line);
    return ERROR_OK;
}

static enum error_code analyse(const struct nda *n, const int64_t *sizes, bool widen,
                               struct planner_shrunken *out, struct error *e)
{
    struct nda_options options = {.rules = n->given_rules, .rule_count = n->given_rule_count};
    TRY(planner_shrink_program(n, sizes, widen, &out->program, e));
    TRY(nda_create(&out->program, &options, &out->nda, e));
    return same_analysis(n, out->nda, sizes, e);
}

enum error_code planner_shrunken_create(const struct nda_shrink *shrink, const int64_t *sizes, bool widen,
                                        const struct plan_context *context, const struct spmd_local *local,
                                        struct planner_shrunken *out, struct error *e)
{
    const struct nda *n = shrink->nda;
    uint32_t count = n->value_atoms[n->program->value_count];
    int64_t *atoms = mem_alloc(sizeof *atoms * ((size_t)count + 1));
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        atoms[i] = sizes[shrink->class_of[i]];
    enum error_code code = analyse(n, atoms, widen, out, e);
    free(atoms);
    if (code != ERROR_OK) {
        planner_shrunken_release(out);
        return code;
    }
    out->context = plan_context_view(context, out->nda);
    out->local = *local;
    out->local.nda = out->nda;
    out->local.scratch = NULL;
    return ERROR_OK;
}

void planner_shrunken_release(struct planner_shrunken *shrunken)
{
    free(shrunken->context);
    nda_destroy(shrunken->nda);
    ir_program_release(&shrunken->program);
    memset(shrunken, 0, sizeof *shrunken);
}

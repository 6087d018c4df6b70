/* The module of somebody who writes a few constraints into the model: a copy of the prepared program in which
 * each constrained value is read through an sdy.sharding_constraint, by all its uses or by those it is meant
 * for.
 * Never adds a constraint of its own. */
#include "emit/build.h"

#include <stdlib.h>

struct constrained {
    const struct propagate_constraint *list;
    uint32_t count;
    uint32_t *first;  /* per program value: its first constraint of the list; IR_NONE */
    uint32_t *of_use; /* per slot: the constraint that it reads through; IR_NONE */
    uint32_t *built;  /* per constraint: what it gives */
};

static uint32_t *nothing(uint32_t count)
{
    uint32_t *at = mem_alloc(((size_t)count + 1) * sizeof *at);
    for (uint32_t i = 0; i < count; i++)
        at[i] = IR_NONE;
    return at;
}

struct constrained *constrained_create(const struct emit *e, const struct propagate_constraint *list,
                                       uint32_t count)
{
    struct constrained *constrained = mem_zalloc(1, sizeof *constrained);
    constrained->list = list;
    constrained->count = count;
    constrained->first = nothing(e->program->value_count);
    constrained->of_use = nothing(e->nda->slot_count);
    constrained->built = nothing(count);
    for (uint32_t i = count; i-- > 0;) {
        constrained->first[list[i].value] = i;
        for (uint32_t k = 0; list[i].uses && k < list[i].use_count; k++)
            constrained->of_use[list[i].uses[k]] = i;
    }
    return constrained;
}

void constrained_destroy(struct constrained *constrained)
{
    if (!constrained)
        return;
    free(constrained->first);
    free(constrained->of_use);
    free(constrained->built);
    free(constrained);
}

static uint32_t build(struct emit *e, const struct propagate_constraint *constraint, uint32_t copy)
{
    struct text sharding = {0};
    text_add(&sharding, "#sdy.sharding");
    (void)emit_sharding_text(e, constraint->value, &constraint->form, &sharding);
    struct ir_attr attr = ir_build_named(e->builder, "sharding", ir_build_text(e->builder, sharding.at));
    uint32_t type = ir_build_copy_type(e->builder, e->program, e->program->values[constraint->value].type);
    e->moved = constraint->value;
    uint32_t op = emit_op(e, "sdy.sharding_constraint", &copy, 1, &type, 1, &attr, 1);
    e->moved = IR_NONE;
    text_release(&sharding);
    return ir_builder_result(e->builder, op, 0);
}

bool constrained_forms(struct emit *e, uint32_t op, struct ir_attr *out)
{
    const struct ir_op *at = &e->program->ops[op];
    uint32_t space = e->nda->op_space[op];
    bool any = false;
    if (!e->forms || space == NDA_NONE || e->nda->spaces[space].kind != NDA_SPACE_OP)
        return false;
    struct text text = {0};
    text_add(&text, "#sdy.sharding_per_value<[");
    for (uint32_t i = 0; i < at->result_count; i++) {
        text_add(&text, i ? ", " : "");
        const struct ir_type *type = ir_value_type(e->program, at->results + i);
        emit_numbered_sharding_text(e, type->kind == IR_TYPE_TENSOR ? type->rank : 0,
                                    &e->forms[at->results + i], &text);
        any |= !spmd_form_equal(&e->forms[at->results + i], &spmd_form_none);
    }
    text_add(&text, "]>");
    *out = ir_build_named(e->builder, "sdy.sharding", ir_build_text(e->builder, text.at));
    text_release(&text);
    return any;
}

void emit_copied(struct emit *e, uint32_t value, uint32_t copy)
{
    const struct constrained *constrained = e->constrained;
    e->copied[value] = copy;
    if (!constrained)
        return;
    /* the constraints of one value stand together, that of its definition first */
    for (uint32_t i = constrained->first[value];
         i < constrained->count && constrained->list[i].value == value; i++) {
        constrained->built[i] = build(e, &constrained->list[i], e->copied[value]);
        if (!constrained->list[i].uses)
            e->copied[value] = constrained->built[i];
    }
}

uint32_t emit_copied_use(const struct emit *e, uint32_t op, uint32_t i)
{
    uint32_t copy = e->copied[ir_operand(e->program, op, i)], space = e->nda->op_space[op];
    if (!e->constrained || space == NDA_NONE || e->nda->spaces[space].kind != NDA_SPACE_OP)
        return copy;
    uint32_t constraint = e->constrained->of_use[e->nda->spaces[space].slots + i];
    return constraint == IR_NONE ? copy : e->constrained->built[constraint];
}

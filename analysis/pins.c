/* Pinned shardings: the cells that they fix in the context's start plan, and the factors that they close to
 * further axes. A pin that cannot be kept is an error that says which dimension and why; none is ever
 * dropped. */
#include "analysis/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pin_place {
    const struct plan_pin *pin;
    uint32_t space, slot;
};

static enum error_code refuse_pin(const struct plan_pin *pin, struct error *e, const char *sentence)
{
    if (pin->pointer)
        return error_set_pointer(e, ERROR_INVALID_CONSTRAINT, pin->pointer, "%s", sentence);
    return error_set_at(e, ERROR_INVALID_CONSTRAINT, (int)pin->line, (int)pin->column, "%s", sentence);
}

static enum error_code refuse(const struct plan_context *context, const struct pin_place *at, struct error *e,
                              const char *what, uint32_t dim, int64_t size)
{
    char who[160], sentence[400];
    const struct nda *n = context->n;
    if (at->pin->value != NDA_NONE)
        snprintf(who, sizeof who, "a value");
    else if (at->pin->is_result)
        snprintf(who, sizeof who, "result %u", at->pin->index);
    else
        snprintf(who, sizeof who, "argument %u (%.120s)", at->pin->index, n->arguments[at->pin->index].name);
    snprintf(sentence, sizeof sentence, "the sharding pinned on %s %s (dimension %u of size %lld)", who, what,
             dim, (long long)size);
    return refuse_pin(at->pin, e, sentence);
}

/* the slot that a pin is about; a sharding_constraint's own space when there is one, else the definition */
static bool find_place(const struct nda *n, struct pin_place *at)
{
    const struct plan_pin *pin = at->pin;
    if (pin->value == NDA_NONE) {
        if (pin->index >= (pin->is_result ? n->result_count : n->argument_count))
            return false;
        at->space = pin->is_result ? n->result_spaces[pin->index] : n->arguments[pin->index].space;
        at->slot = n->spaces[at->space].slots;
        return true;
    }
    if (pin->value >= n->program->value_count || n->value_def_slot[pin->value] == NDA_NONE)
        return false;
    at->slot = n->value_def_slot[pin->value];
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        bool owns = at->slot >= sp->slots && at->slot < sp->slots + sp->slot_count;
        bool constrains = sp->kind == NDA_SPACE_OP && sp->slot_count &&
                          n->program->ops[sp->op].code == IR_SDY_SHARDING_CONSTRAINT &&
                          n->slots[sp->slots].value == pin->value;
        if (owns)
            at->space = space;
        if (constrains) {
            at->space = space;
            at->slot = sp->slots;
            return true;
        }
    }
    return true;
}

/* why the axes pinned on a dimension do not go onto its atoms */
static const char *why_not(const struct plan_context *context, const struct pin_place *at, uint32_t dim,
                           int64_t size)
{
    int64_t left = size;
    for (uint32_t i = 0; i < at->pin->dims[dim].count; i++) {
        uint32_t axis = at->pin->dims[dim].axes[i];
        int64_t devices = axis < context->mesh.axis_count ? context->mesh.axes[axis].size : 0;
        if (devices == 0 || left == 0 || left % devices != 0)
            return "does not divide it evenly";
        left /= devices;
    }
    return "divides it, but not the parts in which the module uses it (reshapes take it apart)";
}

/* Axes of one dimension, major first: an atom takes axes while they divide it, then the next atom goes on. */
static enum error_code pin_dim(struct plan_context *context, const struct pin_place *at, uint32_t dim,
                               struct error *e)
{
    const struct nda *n = context->n;
    uint32_t value = n->slots[at->slot].value, count = nda_atom_count(n, value), k = 0, done = 0;
    const struct nda_atom *atoms = nda_atoms(n, value);
    int64_t size = ir_type_dims(n->program, ir_value_type(n->program, value))[dim];
    while (k < count && atoms[k].dim != dim)
        k++;
    while (done < at->pin->dims[dim].count) {
        uint32_t axis = at->pin->dims[dim].axes[done], factor_index;
        if (axis >= context->mesh.axis_count)
            return refuse(context, at, e, "uses an axis that the mesh does not have", dim, size);
        if (context->mesh.axes[axis].size == 1) {
            done++;
            continue;
        }
        if (k == count || atoms[k].dim != dim)
            return refuse(context, at, e, why_not(context, at, dim, size), dim, size);
        factor_index = nda_slot_factor(n, at->slot, k);
        if (plan_space(&context->start, at->space)[axis].factor != NDA_NO_FACTOR) {
            if (plan_space(&context->start, at->space)[axis].factor ==
                n->factor_of[n->slots[at->slot].map + k]) {
                done++; /* the tied argument or result said the same */
                continue;
            }
            return refuse(context, at, e,
                          "uses an axis twice, or differs from what is pinned on its tied result", dim, size);
        }
        if (factor_index == NDA_NONE || !plan_apply_factor(context, &context->start, at->space,
                                                           factor_index - n->spaces[at->space].factors, axis))
            k++;
        else
            done++;
    }
    return ERROR_OK;
}

static enum error_code pin_one(struct plan_context *context, const struct pin_place *at, struct error *e)
{
    const struct ir_type *type = ir_value_type(context->n->program, context->n->slots[at->slot].value);
    uint32_t rank = type->kind == IR_TYPE_TENSOR ? type->rank : 0, seen = 0;
    if (at->pin->rank != rank)
        return refuse(context, at, e, "has another rank than the tensor", at->pin->rank, rank);
    for (uint32_t dim = 0; dim < rank; dim++)
        for (uint32_t i = 0; i < at->pin->dims[dim].count; i++) {
            uint32_t bit = 1u << (at->pin->dims[dim].axes[i] & 31);
            if (seen & bit)
                return refuse(context, at, e, "uses an axis twice", dim,
                              ir_type_dims(context->n->program, type)[dim]);
            seen |= bit;
        }
    for (uint32_t dim = 0; dim < rank; dim++) {
        enum error_code code = pin_dim(context, at, dim, e);
        if (code != ERROR_OK)
            return code;
    }
    return ERROR_OK;
}

static void close_dims(struct plan_context *context, const struct pin_place *at)
{
    const struct nda *n = context->n;
    uint32_t value = n->slots[at->slot].value;
    for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
        uint32_t factor_index = nda_slot_factor(n, at->slot, k);
        if (factor_index == NDA_NONE || at->pin->dims[nda_atoms(n, value)[k].dim].open)
            continue;
        context->closed[factor_index] = 1;
        if (context->partner[factor_index] != NDA_NONE)
            context->closed[context->partner[factor_index]] = 1;
    }
}

enum error_code context_pins(struct plan_context *context, const struct plan_pin *pins, uint32_t count,
                             struct error *e)
{
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < count && code == ERROR_OK; i++) {
        struct pin_place at = {.pin = &pins[i], .space = NDA_NONE};
        if (pins[i].rank > 16 || !find_place(context->n, &at))
            return refuse_pin(&pins[i], e, "the pin names no tensor of the module");
        code = pin_one(context, &at, e);
    }
    /* closed at the end: a tied pair may be pinned on both of its ends */
    for (uint32_t i = 0; i < count && code == ERROR_OK; i++) {
        struct pin_place at = {.pin = &pins[i], .space = NDA_NONE};
        if (find_place(context->n, &at))
            close_dims(context, &at);
    }
    return code;
}

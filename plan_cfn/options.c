/* The values of every node: the ways to shard a space on top of the pins.
 *
 * Every axis takes one factor of the space or none, by the rules of plan_extend_cells; two axes on one
 * factor stand in the mesh's order. Where that would be more than PLAN_CFN_MAX_OPTIONS, neighbouring axes go
 * together (at most three groups) and only the factors of the colors that cover the most bytes count; the
 * network then is not complete.
 *
 *   mesh data, model; factors i, j      -  | i@model | j@model | i@data | i@data,model | i@data j@model | ..
 *
 * Option 0 is the pins alone. Depth first over the groups, so that equal modules have equal options in equal
 * order. */
#include "plan_cfn/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BUNDLES = 3 };

struct enumeration {
    struct plan_cfn *n;
    uint32_t space, bundles, factor_count;
    uint8_t bundle[MESH_MAX_AXES][MESH_MAX_AXES], bundle_size[MESH_MAX_AXES];
    uint8_t factors[NDA_MAX_FACTORS];
};

/* bytes of the values that each color's factors stand in */
static double *weigh_colors(const struct nda *nda)
{
    double *weight = mem_zalloc((size_t)nda->color_count + 1, sizeof *weight);
    for (uint32_t space = 0; space < nda->space_count; space++)
        for (uint32_t k = nda->spaces[space].slots;
             k < nda->spaces[space].slots + nda->spaces[space].slot_count; k++) {
            const struct nda_slot *slot = &nda->slots[k];
            const struct ir_type *type = ir_value_type(nda->program, slot->value);
            uint32_t atoms = nda->value_atoms[slot->value + 1] - nda->value_atoms[slot->value];
            for (uint32_t i = 0; i < atoms && type->kind == IR_TYPE_TENSOR; i++) {
                uint8_t f = nda->factor_of[slot->map + i];
                if (f != NDA_NO_FACTOR)
                    weight[nda->factors[slot->factors + f].color] +=
                        (double)ir_type_bytes(nda->program, type);
            }
        }
    return weight;
}

static void bundle_axes(struct enumeration *enumeration)
{
    const struct mesh *mesh = enumeration->n->mesh;
    uint8_t real[MESH_MAX_AXES];
    uint32_t count = 0;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (mesh->axes[axis].size > 1)
            real[count++] = (uint8_t)axis;
    enumeration->bundles = count < MAX_BUNDLES ? count : MAX_BUNDLES;
    enumeration->n->cut |= count > MAX_BUNDLES;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t b = i * enumeration->bundles / count;
        enumeration->bundle[b][enumeration->bundle_size[b]++] = real[i];
    }
}

static bool some_axis_fits(const struct plan_cfn *n, uint32_t space, uint32_t factor)
{
    const struct plan_cell *start = plan_space(plan_context_start(n->context), space);
    for (uint32_t axis = 0; axis < n->mesh->axis_count; axis++) {
        struct plan_cell cells[MESH_MAX_AXES];
        memcpy(cells, start, n->mesh->axis_count * sizeof *cells);
        if (n->mesh->axes[axis].size > 1 && plan_extend_cells(n->context, cells, space, factor, axis))
            return true;
    }
    return false;
}

/* the factors of the space that some axis can shard, heaviest color first, as many as the options allow */
static void choose_factors(struct enumeration *enumeration, const double *weight)
{
    const struct nda *nda = enumeration->n->nda;
    const struct nda_space *space = &nda->spaces[enumeration->space];
    uint32_t room = 0, total = 0, product;
    do {
        room++;
        product = 1;
        for (uint32_t b = 0; b < enumeration->bundles; b++)
            product *= room + 2;
    } while (product <= PLAN_CFN_MAX_OPTIONS && room < NDA_MAX_FACTORS);
    enumeration->factor_count = 0;
    for (uint32_t factor = 0; factor < space->factor_count; factor++) {
        if (!some_axis_fits(enumeration->n, enumeration->space, factor))
            continue;
        uint32_t at = enumeration->factor_count < room ? enumeration->factor_count++ : room - 1;
        double mine = weight[nda->factors[space->factors + factor].color];
        enumeration->n->cut |= ++total > room;
        if (total > room && mine <= weight[nda->factors[space->factors + enumeration->factors[at]].color])
            continue;
        for (; at > 0 && weight[nda->factors[space->factors + enumeration->factors[at - 1]].color] < mine;
             at--)
            enumeration->factors[at] = enumeration->factors[at - 1];
        enumeration->factors[at] = (uint8_t)factor;
    }
}

static void enumerate(struct enumeration *enumeration, const struct plan_cell *cells, uint32_t bundle)
{
    struct plan_cfn *n = enumeration->n;
    uint32_t axes = n->mesh->axis_count;
    if (bundle == enumeration->bundles) {
        for (uint32_t axis = 0; axis < axes; axis++)
            VEC_PUSH(&n->cells, cells[axis]);
        return;
    }
    enumerate(enumeration, cells, bundle + 1);
    for (uint32_t i = 0; i < enumeration->factor_count; i++) {
        struct plan_cell more[MESH_MAX_AXES];
        uint32_t taken = 0, closed = 0;
        memcpy(more, cells, axes * sizeof *more);
        for (uint32_t k = 0; k < enumeration->bundle_size[bundle]; k++) {
            uint32_t axis = enumeration->bundle[bundle][k];
            if (cells[axis].factor != NDA_NO_FACTOR)
                closed++;
            else
                taken +=
                    plan_extend_cells(n->context, more, enumeration->space, enumeration->factors[i], axis);
        }
        if (taken && taken + closed == enumeration->bundle_size[bundle])
            enumerate(enumeration, more, bundle + 1);
    }
}

static bool needs_no_node(const struct plan_cfn *n, const struct nda_space *space)
{
    return space->kind == NDA_SPACE_OP && spmd_forms_freedom(n->forms, space->op) == SPMD_FREE;
}

void plan_cfn_options(struct plan_cfn *n)
{
    const struct nda *nda = n->nda;
    const struct plan *start = plan_context_start(n->context);
    double *weight = weigh_colors(nda);
    struct enumeration enumeration = {.n = n};
    uint32_t nodes = 0;
    bundle_axes(&enumeration);
    n->node_of = mem_alloc(((size_t)nda->space_count + 1) * sizeof *n->node_of);
    n->space_of = mem_alloc(((size_t)nda->space_count + 1) * sizeof *n->space_of);
    n->first_option = mem_alloc(((size_t)nda->space_count + 1) * sizeof *n->first_option);
    for (uint32_t space = 0; space < nda->space_count; space++) {
        n->node_of[space] = NDA_NONE;
        if (plan_cfn_like(n, space) != space || needs_no_node(n, &nda->spaces[space]))
            continue;
        n->node_of[space] = nodes;
        n->space_of[nodes] = space;
        n->first_option[nodes++] = (uint32_t)(n->cells.count / start->axis_count);
        enumeration.space = space;
        choose_factors(&enumeration, weight);
        enumerate(&enumeration, plan_space(start, space), 0);
    }
    n->first_option[nodes] = (uint32_t)(n->cells.count / start->axis_count);
    n->problem.node_count = nodes;
    for (uint32_t space = 0; space < nda->space_count; space++)
        n->node_of[space] = n->node_of[plan_cfn_like(n, space)];
    free(weight);
}

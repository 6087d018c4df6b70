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

/* bytes of the values that each color's names stand in */
static double *weigh_colors(const struct nda *a)
{
    double *weight = mem_zalloc((size_t)a->color_count + 1, sizeof *weight);
    for (uint32_t s = 0; s < a->space_count; s++)
        for (uint32_t k = a->spaces[s].slots; k < a->spaces[s].slots + a->spaces[s].slot_count; k++) {
            const struct nda_slot *slot = &a->slots[k];
            const struct ir_type *t = ir_value_type(a->program, slot->value);
            uint32_t atoms = a->value_atoms[slot->value + 1] - a->value_atoms[slot->value];
            for (uint32_t i = 0; i < atoms && t->kind == IR_TYPE_TENSOR; i++) {
                uint8_t f = a->factor_of[slot->map + i];
                if (f != NDA_NO_FACTOR)
                    weight[a->names[slot->names + f].color] += (double)ir_type_bytes(a->program, t);
            }
        }
    return weight;
}

static void bundle_axes(struct enumeration *x)
{
    const struct mesh *m = x->n->mesh;
    uint8_t real[MESH_MAX_AXES];
    uint32_t count = 0;
    for (uint32_t a = 0; a < m->axis_count; a++)
        if (m->axes[a].size > 1)
            real[count++] = (uint8_t)a;
    x->bundles = count < MAX_BUNDLES ? count : MAX_BUNDLES;
    x->n->cut |= count > MAX_BUNDLES;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t b = i * x->bundles / count;
        x->bundle[b][x->bundle_size[b]++] = real[i];
    }
}

static bool some_axis_fits(const struct plan_cfn *n, uint32_t space, uint32_t factor)
{
    const struct plan_cell *start = plan_space(plan_context_start(n->context), space);
    for (uint32_t a = 0; a < n->mesh->axis_count; a++) {
        struct plan_cell cells[MESH_MAX_AXES];
        memcpy(cells, start, n->mesh->axis_count * sizeof *cells);
        if (n->mesh->axes[a].size > 1 && plan_extend_cells(n->context, cells, space, factor, a))
            return true;
    }
    return false;
}

/* the factors of the space that some axis can shard, heaviest color first, as many as the options allow */
static void choose_factors(struct enumeration *x, const double *weight)
{
    const struct nda *a = x->n->nda;
    const struct nda_space *s = &a->spaces[x->space];
    uint32_t room = 0, total = 0, product;
    do {
        room++;
        product = 1;
        for (uint32_t b = 0; b < x->bundles; b++)
            product *= room + 2;
    } while (product <= PLAN_CFN_MAX_OPTIONS && room < NDA_MAX_FACTORS);
    x->factor_count = 0;
    for (uint32_t f = 0; f < s->name_count; f++) {
        if (!some_axis_fits(x->n, x->space, f))
            continue;
        uint32_t at = x->factor_count < room ? x->factor_count++ : room - 1;
        double mine = weight[a->names[s->names + f].color];
        x->n->cut |= ++total > room;
        if (total > room && mine <= weight[a->names[s->names + x->factors[at]].color])
            continue;
        for (; at > 0 && weight[a->names[s->names + x->factors[at - 1]].color] < mine; at--)
            x->factors[at] = x->factors[at - 1];
        x->factors[at] = (uint8_t)f;
    }
}

static void enumerate(struct enumeration *x, const struct plan_cell *cells, uint32_t bundle)
{
    struct plan_cfn *n = x->n;
    uint32_t axes = n->mesh->axis_count;
    if (bundle == x->bundles) {
        for (uint32_t a = 0; a < axes; a++)
            VEC_PUSH(&n->cells, cells[a]);
        return;
    }
    enumerate(x, cells, bundle + 1);
    for (uint32_t i = 0; i < x->factor_count; i++) {
        struct plan_cell more[MESH_MAX_AXES];
        uint32_t taken = 0, closed = 0;
        memcpy(more, cells, axes * sizeof *more);
        for (uint32_t k = 0; k < x->bundle_size[bundle]; k++) {
            uint32_t axis = x->bundle[bundle][k];
            if (cells[axis].factor != NDA_NO_FACTOR)
                closed++;
            else
                taken += plan_extend_cells(n->context, more, x->space, x->factors[i], axis);
        }
        if (taken && taken + closed == x->bundle_size[bundle])
            enumerate(x, more, bundle + 1);
    }
}

static bool needs_no_node(const struct plan_cfn *n, const struct nda_space *s)
{
    return s->kind == NDA_SPACE_OP && spmd_forms_freedom(n->forms, s->op) == SPMD_FREE;
}

void plan_cfn_options(struct plan_cfn *n)
{
    const struct nda *a = n->nda;
    const struct plan *start = plan_context_start(n->context);
    double *weight = weigh_colors(a);
    struct enumeration x = {.n = n};
    uint32_t nodes = 0;
    bundle_axes(&x);
    n->node_of = mem_alloc(((size_t)a->space_count + 1) * sizeof *n->node_of);
    n->space_of = mem_alloc(((size_t)a->space_count + 1) * sizeof *n->space_of);
    n->first_option = mem_alloc(((size_t)a->space_count + 1) * sizeof *n->first_option);
    for (uint32_t s = 0; s < a->space_count; s++) {
        n->node_of[s] = NDA_NONE;
        if (needs_no_node(n, &a->spaces[s]))
            continue;
        n->node_of[s] = nodes;
        n->space_of[nodes] = s;
        n->first_option[nodes++] = (uint32_t)(n->cells.count / start->axis_count);
        x.space = s;
        choose_factors(&x, weight);
        enumerate(&x, plan_space(start, s), 0);
    }
    n->first_option[nodes] = (uint32_t)(n->cells.count / start->axis_count);
    n->problem.node_count = nodes;
    free(weight);
}
